"""The functions that the lines of a C file call: of formulas, of reductions, of copies, and of others.

Invariant: each is printed once, under one name, before what calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager

from slinky.ir.combined import formula_of
from slinky.ir.formulas import Element, Formula, Result
from slinky.ir.operations import Copy
from slinky.ir.reducing import combined_of
from slinky.ir.statements import LoweredFunc
from slinky.native.adapters import BUFFER
from slinky.native.c_functions import CFunction
from slinky.native.copying import Copier, copier
from slinky.native.embedding import Adapter, CFunctions, c_function_of
from slinky.native.integers import UnprintableError
from slinky.native.kernels import KernelFunction, has_function, kernel_function
from slinky.native.names import in_ascii
from slinky.native.reducing import Reducer, reducer


class Kernels:
    """The functions of formulas, each once, for arrays of so many dimensions at most, its `rank`."""

    def __init__(self) -> None:
        self._names: dict[tuple[Formula, bool, tuple[int, ...]], str] = {}
        self._others: dict[Hashable, str] = {}
        self._reducers: dict[object, Reducer] = {}
        self._copiers: dict[object, Copier] = {}
        self._spread: dict[Formula, str] = {}
        self._formulas: dict[str, Formula] = {}
        self._apart: set[Formula] = set()
        self._texts: dict[str, KernelFunction] = {}
        self._calls: Counter[str] = Counter()
        self.functions = CFunctions()
        self._before: dict[str, None] = {}
        self.rank = 1

    def name_of(self, func: LoweredFunc, *, streams: bool = False, ahead: tuple[int, ...] = ()) -> str:
        """The function for what a func computes, to be called once more; for an array that `streams`, if it is large,
        and for inputs of which memory `ahead` is asked for.

        Raises `UnprintableError` if there is none.
        """
        formula = formula_of(func)
        if formula is None:
            raise UnprintableError(f"{func.name} is a callback")
        found = self._names.get((formula, streams, ahead))
        if found is None:
            found = f"slinky_{in_ascii(func.name)}_{len(self._texts) + 1}"
            spread = self._spread.setdefault(formula, f"{found}_spread")
            text = kernel_function(formula, found, streams=streams, ahead=ahead, spread=spread)
            if text is None:
                raise UnprintableError(f"{func.name} has no text in C")
            self._names[formula, streams, ahead] = found
            self._formulas[found] = formula
            self._texts[found] = text
        self.rank = max(self.rank, formula.rank, *(len(axes) for axes in formula.inputs), 1)
        self._calls[found] += 1
        return found

    def name_of_joined(self, formula: Formula, results: tuple[Result, ...], title: str) -> str | None:
        """The function that computes several results of a formula, to be called once more; None if there is none."""
        found = self.name_of_other((formula, results), title, lambda name: kernel_function(formula, name, results))
        if found is not None:
            self._formulas[found] = formula
        self.rank = max(self.rank, formula.rank, *(len(axes) for axes in formula.inputs), 1)
        return found

    def name_of_other(self, key: Hashable, title: str, made: Callable[[str], KernelFunction | None]) -> str | None:
        """The function that is known by a key, to be called once more, `made` of its name; None if there is none."""
        found = self._others.get(key)
        if found is None:
            found = f"slinky_{in_ascii(title)}_{len(self._texts) + 1}"
            text = made(found)
            if text is None:
                return None
            self._others[key] = found
            self._texts[found] = text
        self._calls[found] += 1
        return found

    def adapter_of(self, func: LoweredFunc, function: CFunction, *, by_address: bool) -> Adapter:
        """What calls a function in C that a func runs, to be called once more; by its address, if that is possible."""
        complaint = function.signature.complaint(
            [(port.dtype, port.rank) for port in func.inputs],
            [(port.dtype, port.rank) for port in func.outputs],
            dict(func.operation.arguments),
        )
        if complaint is not None:
            raise UnprintableError(f"{func.name}: {function.name} {complaint}")
        self.rank = max(self.rank, *(operand.rank for operand in function.operands))
        found = self.functions.adapter(function, minima=func.operation.pass_buffers, by_address=by_address)
        self._calls[found.name] += 1
        return found

    def reducer_of(self, func: LoweredFunc) -> Reducer:
        """The function for a reduction, to be called once more. Raises `UnprintableError` if there is none."""
        combined = combined_of(func)
        if combined is None:
            raise UnprintableError(f"{func.name} is a callback")
        ranks, dtypes = (func.inputs[0].seen_rank,), (func.inputs[0].dtype, func.outputs[0].dtype)
        key = (combined, *ranks, *dtypes)
        found = self._reducers.get(key)
        if found is None:
            name = f"slinky_{in_ascii(func.name)}_{len(self._texts) + 1}"
            found = reducer(combined, *ranks, *dtypes, name)
            if found is None:
                raise UnprintableError(f"{func.name} has no text in C")
            self._reducers[key] = found
            self._texts[name] = found.function
        self.rank = max(self.rank, *ranks)
        self._calls[found.name] += 1
        return found

    def copier_of(self, func: LoweredFunc) -> Copier:
        """The function for a copy, to be called once more. Raises `UnprintableError` if there is none."""
        copy, dtype, ranks = func.operation, func.outputs[0].dtype, [port.seen_rank for port in func.inputs]
        assert isinstance(copy, Copy)  # who asks knows it
        found = self._copiers.get((copy, dtype))
        if found is None:
            found = copier(copy, ranks, dtype, func.name, f"slinky_{in_ascii(func.name)}_{len(self._texts) + 1}")
            self._copiers[copy, dtype] = found
            self._texts[found.name] = found.function
        self.rank = max(self.rank, *ranks, len(copy.dims))
        self._calls[found.name] += 1
        return found

    def knows(self, func: LoweredFunc) -> bool:
        """Whether there is a text for what a func computes."""
        before = self._calls.copy()
        try:
            formula = formula_of(func)
            if formula is not None:
                return has_function(formula)
            if combined_of(func) is not None:
                self.reducer_of(func)
            elif isinstance(func.operation, Copy):
                self.copier_of(func)
            else:
                return c_function_of(func) is not None
        except UnprintableError:
            return False
        finally:
            self._calls = before
        return True

    def see(self, formula: Formula, called: Iterable[str]) -> None:
        """A formula stands in the place of a call; its lines call some functions."""
        self.rank = max(self.rank, formula.rank, *(len(axes) for axes in formula.inputs), 1)
        self._before.update(dict.fromkeys(called))

    def see_apart(self, formula: Formula) -> None:
        """Elements of what functions of a formula are given may lie apart, and nobody asks before they are called."""
        self._apart.add(formula)

    def count(self) -> Counter[str]:
        """How often each function is called so far."""
        return self._calls.copy()

    def set_count(self, count: Counter[str]) -> None:
        """Forget calls since then."""
        self._calls = count.copy()

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Calls that count only if there is a text for all that goes with them."""
        before = self._calls.copy()
        try:
            yield
        except UnprintableError:
            self._calls = before
            raise

    def _text(self, name: str, *, apart: bool) -> KernelFunction:
        found = self._texts[name]
        is_general = apart or self._formulas.get(name) in self._apart
        return found.general() if is_general and found.general is not None else found

    def _called(self) -> set[str]:
        return {name for name, count in self._calls.items() if count}

    def buffers(self) -> str:
        """What is to stand before the functions: what an array is to those whose source is there."""
        return f"\n{BUFFER.format(rank=self.rank)}" if self.functions.takes_buffers(self._called()) else ""

    def texts(self, *, apart: bool = True) -> list[str]:
        """The functions that are called. Those that are called from several places are compiled only once. Unless
        elements may lie `apart`, they are for arrays of which they do not, where that is asked."""
        taken = {name: self._text(name, apart=apart) for name in self._texts if self._calls[name]}
        before = self._before | dict.fromkeys(text for each in taken.values() for text in each.called)
        others = self.functions.texts(self._called(), self.rank)
        own = (each.own + "slinky_shared " * (self._calls[n] > 1) + each.text for n, each in taken.items())
        return [*others, *before, *own]


def operand_sizes(formula: Formula) -> list[int]:
    """The bytes of an element of each input, and of the output."""
    found = [1] * len(formula.inputs)
    operands = [*(operand for step in formula.steps for operand in step.operands), formula.result]
    for each in operands:
        if isinstance(each, Element):
            found[each.input] = each.dtype.itemsize
    return [*found, formula.dtype_of(formula.result).itemsize]
