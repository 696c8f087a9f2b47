"""What computes a formula on arrays: calls of its ufuncs, a block of elements at a time.

Idea. A formula becomes the text of a Python function, once: a line for each step, which writes into an array that is
made for it, or into one whose contents nobody needs any more, and the last step writes the output itself. What is the
same along a dimension is computed once for it, as NumPy's broadcasting has it. Where many elements are asked for, it
runs block after block, so that what the steps hand on stays in the cache, whatever the schedule; a single step hands
nothing on. How large blocks are follows from how much a formula has at hand: a block costs some views and calls, which
is as much as NumPy takes for thousands of elements, so formulas of two or three steps have large blocks.

Invariant: a step writes into an array only if it is the last that reads what was there; the output is written by the
very last step alone, so it may be the memory of an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, assert_never
from weakref import WeakKeyDictionary

import numpy as np

from slinky.errors import NumberError
from slinky.ir.formulas import (
    Apply,
    Argument,
    Axis,
    Choose,
    Constant,
    Convert,
    Coordinate,
    Element,
    Formula,
    Operand,
    Result,
    Step,
)
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.careful import careful

BLOCK_BYTES = 5 << 19
"""How much a block has at hand at most: its inputs, what its steps hand on, and its output."""

_LIMITS = np.iinfo(np.int64)

_carriers: WeakKeyDictionary[Formula, Callable[..., None]] = WeakKeyDictionary()


def formula_carrier(formula: Formula) -> Callable[..., None]:
    """The function that computes a formula: called with its inputs and its output, and its arguments by name."""
    found = _carriers.get(formula)
    if found is None:
        found = _carrier(formula)
        found = _carriers[formula] = _ignoring(found, formula.ignored) if formula.ignored else found
    return found


def _ignoring(carrier: Callable[..., None], errors: Sequence[str]) -> Callable[..., None]:
    """The same function, which says nothing of some floating-point errors."""
    settings: Any = dict.fromkeys(errors, "ignore")

    def formula_ignoring_errors(*operands: Any, **arguments: Any) -> None:
        with np.errstate(**settings):
            carrier(*operands, **arguments)

    formula_ignoring_errors.__doc__ = carrier.__doc__
    return formula_ignoring_errors


def _carrier(formula: Formula) -> Callable[..., None]:
    text = _Text(formula)
    space = dict(text.names)
    exec(compile(text.whole(), "<formula>", "exec"), space)
    steps: Callable[..., None] = space["formula"]
    views = [_view(axes, formula.rank) for axes in formula.inputs]
    if len(text.lines) == 1 and not any(views) and not formula.has_coordinates():
        steps.__doc__ = text.whole()
        return steps

    hands_on, at_hand = len(text.lines) > 1, text.bytes_at_hand()

    def by_blocks(arrays: Sequence[Array], output: Array, first: Sequence[int], arguments: dict[str, Any]) -> None:
        shape = output.shape
        for place in _kept_blocks(shape, max(BLOCK_BYTES // at_hand, 1)):
            parts = [array[place if array.shape == shape else _part_of(array, place)] for array in arrays]
            begin = [low + (part.start or 0) for low, part in zip(first, place, strict=bool(first))]
            steps(*parts, output[place], *begin, **arguments)

    def formula_of_arrays(*operands: Array, **arguments: Any) -> None:
        if any(views):
            operands = (*map(_seen, views, operands[:-1]), operands[-1])
        if not hands_on or operands[-1].size * at_hand <= BLOCK_BYTES:
            steps(*operands, **arguments)
        else:
            by_blocks(operands[:-1], operands[-1], (), arguments)

    asked = sorted(formula.asked_dims())

    def formula_of_buffers(*operands: Any, **arguments: Any) -> None:
        require_coordinates(operands[-1], asked)
        arrays = [_seen(view, operand.array) for view, operand in zip(views, operands, strict=False)]
        by_blocks(arrays, operands[-1].array, operands[-1].min, arguments)

    found = formula_of_buffers if formula.has_coordinates() else formula_of_arrays
    found.__doc__ = text.whole()
    return found


def require_coordinates(output: Buffer, asked: Iterable[int]) -> None:
    """Raise `NumberError` where elements of an output have coordinates along these dimensions that no int64 holds."""
    for d in asked:
        first = output.min[d]
        last = first + output.array.shape[d] - 1
        if first < _LIMITS.min or last > _LIMITS.max:
            raise NumberError(
                f"coordinates along dimension {d}: expected values of int64 ({_LIMITS.min}..{_LIMITS.max}), as which "
                f"arithmetic takes them, got {first}..{last}"
            )


def blocks(shape: tuple[int, ...], most: int) -> Iterator[tuple[slice, ...]]:
    """Boxes of an array of this shape, of so many elements at most, if they are not one element wide."""
    if math.prod(shape) <= most:
        yield (slice(None),) * len(shape)
        return
    axis = next(d for d, extent in enumerate(shape) if extent > 1)
    inner = math.prod(shape[axis + 1 :])
    count = max(most // inner, 1)
    for start in range(0, shape[axis], count):
        extent = min(count, shape[axis] - start)
        is_one = extent == 1
        for rest in blocks((1,) * (axis + 1) + shape[axis + 1 :], most) if is_one else [(slice(None),) * len(shape)]:
            yield (*rest[:axis], slice(start, start + extent), *rest[axis + 1 :])


@lru_cache(maxsize=64)
def _kept_blocks(shape: tuple[int, ...], most: int) -> tuple[tuple[slice, ...], ...]:
    """The same, kept: strips have the same few shapes over and over."""
    return tuple(blocks(shape, most))


def _part_of(array: Array, place: tuple[slice, ...]) -> tuple[slice, ...]:
    """What a block takes of an operand, which may be the same along some dimensions."""
    return tuple(part if extent > 1 else slice(None) for part, extent in zip(place, array.shape, strict=True))


def _seen(view: Callable[[Array], Array] | None, array: Array) -> Array:
    return array if view is None else view(array)


def _view(axes: tuple[Axis | None, ...], rank: int) -> Callable[[Array], Array] | None:
    """What makes of the region of an input an array along all dimensions; None where it is one."""
    if axes == tuple(Axis(d) for d in range(rank)):
        return None
    index = tuple(0 if axis is None else slice(None, None, axis.step) for axis in axes)
    dims = [axis.dim for axis in axes if axis is not None]
    order = sorted(range(len(dims)), key=dims.__getitem__)
    spread = tuple(slice(None) if d in dims else None for d in range(rank))

    def view(array: Array) -> Array:
        return array[index].transpose(order)[spread]

    return view


class _Text:
    """A formula as the lines of a Python function, and what these name."""

    def __init__(self, formula: Formula) -> None:
        self._formula = formula
        self._dims = formula.dims_of_steps()
        self._last_read = _last_reads(formula)
        self._taken = frozenset(formula.arguments())
        known: dict[str, Any] = {"empty": np.empty, "copyto": np.copyto, "where": np.where, "arange": np.arange}
        self.names = {self._free_name(name): function for name, function in known.items()}
        self._output = self._free_name("o")
        self._texts: dict[tuple[int, int], str] = {}
        self._free: list[tuple[str, np.dtype[Any], frozenset[int]]] = []
        self._own: dict[str, tuple[np.dtype[Any], frozenset[int]]] = {}
        self.lines: list[str] = []
        for number, step in enumerate(formula.steps):
            self._add(number, step)
        result = formula.result
        if not (isinstance(result, Result) and self._texts[result.step, result.output] == self._output):
            self.lines.append(f"{self._output}[...] = {self._operand(result)}")

    def whole(self) -> str:
        """The text of the function."""
        formula = self._formula
        inputs = [self._free_name(f"a{k}") for k in range(len(formula.inputs))]
        first = [self._free_name(f"first_{d}") for d in range(formula.rank)] if formula.has_coordinates() else []
        arguments = ["*", *formula.arguments()] if formula.arguments() else []
        head = f"def formula({', '.join([*inputs, self._output, *first, *arguments])}):"
        return "\n    ".join([head, *self.lines]) + "\n"

    def bytes_at_hand(self) -> int:
        """What an element of the output takes of the inputs, of what steps hand on, and of the output itself.

        What is the same along a dimension is not counted.
        """
        formula = self._formula
        given = {
            operand.input: operand.dtype.itemsize
            for step in formula.steps
            for operand in step.operands
            if isinstance(operand, Element) and len(formula.dims_of(operand, self._dims)) == formula.rank
        }
        own = {
            name: formula.steps[step].results[output].itemsize
            for (step, output), name in self._texts.items()
            if name != self._output and len(self._dims[step]) == formula.rank
        }
        return sum(given.values()) + sum(own.values()) + formula.dtype_of(formula.result).itemsize

    # Lines --------------------------------------------------------------------------------------------------------

    def _add(self, number: int, step: Step) -> None:
        if not any((number, k) in self._last_read for k in range(len(step.results))):
            return
        operands = [self._operand(operand) for operand in step.operands]
        match step:
            case Apply(ufunc=ufunc):
                self._leave(number, step)
                targets = [self._target(number, k) for k in range(ufunc.nout)]
                self._leave_unread(number, targets)
                outs = targets[0] if len(targets) == 1 else f"({', '.join(targets)})"
                signature = "" if self._formula.is_resolved(step) else f", signature={self._name('loop', step.dtypes)}"
                called = self._name(ufunc.__name__, careful(ufunc))
                self.lines.append(f"{called}({', '.join(operands)}, out={outs}{signature})")
            case Convert():
                target = self._target(number, 0)
                self.lines.append(f"{self._name('copyto', np.copyto)}({target}, {operands[0]}, casting='unsafe')")
                self._leave(number, step)
            case Choose():
                self._leave(number, step)
                self._keep(number, f"{self._name('where', np.where)}({', '.join(operands)})")
            case Coordinate(dim=d):
                spread = "".join(", None" for _ in range(d + 1, self._formula.rank))
                first = self._free_name(f"first_{d}")
                ends = f"{first}, {first} + {self._output}.shape[{d}]"
                index = f"[{', '.join(['None'] * d + [':'])}{spread}]" if self._formula.rank > 1 else ""
                called = self._name("arange", np.arange)
                self._keep(number, f"{called}({ends}, dtype={self._name('dtype', step.dtype)}){index}")
            case _:
                assert_never(step)

    def _keep(self, number: int, value: str) -> None:
        """A line that gives a step's result a name."""
        name = self._free_name(f"t{number}")
        self._texts[number, 0] = name
        self.lines.append(f"{name} = {value}")

    def _target(self, number: int, output: int) -> str:
        """Where a step writes: the output, an array that is free, or a new one."""
        formula, step, dims = self._formula, self._formula.steps[number], self._dims[number]
        dtype = step.results[output]
        is_last = number == len(formula.steps) - 1 and formula.result == Result(number, output)
        if is_last and len(dims) == formula.rank:
            name = self._output
        else:
            name = next((each for each, *kind in self._free if kind == [dtype, dims]), "")
            if name:
                self._free = [each for each in self._free if each[0] != name]
            else:
                name = self._free_name(f"t{number}" + (f"_{output}" if output else ""))
                empty, kind = self._name("empty", np.empty), self._name("dtype", dtype)
                self.lines.append(f"{name} = {empty}({self._shape(dims)}, {kind})")
            self._own[name] = (dtype, dims)
        self._texts[number, output] = name
        return name

    def _leave_unread(self, number: int, targets: Sequence[str]) -> None:
        """Of several results, nobody may read some."""
        for output, name in enumerate(targets):
            if (number, output) not in self._last_read:
                self._free.append((name, *self._own[name]))

    def _leave(self, number: int, step: Step) -> None:
        """From this step on, what it is the last to read is not needed."""
        for operand in dict.fromkeys(step.operands):
            if isinstance(operand, Result) and self._last_read[operand.step, operand.output] == number:
                name = self._texts[operand.step, operand.output]
                if name in self._own:
                    self._free.append((name, *self._own[name]))

    def _shape(self, dims: frozenset[int]) -> str:
        rank = self._formula.rank
        if len(dims) == rank:
            return f"{self._output}.shape"
        extents = [f"{self._output}.shape[{d}]" if d in dims else "1" for d in range(rank)]
        return f"({', '.join(extents)}{',' if rank == 1 else ''})"

    # Operands -----------------------------------------------------------------------------------------------------

    def _operand(self, operand: Operand) -> str:
        match operand:
            case Element(input=number):
                return self._free_name(f"a{number}")
            case Result(step=number, output=output):
                return self._texts[number, output]
            case Argument(name=name, dtype=dtype):
                return f"{self._name(dtype.name, dtype.type)}({name})"
            case Constant(value=value):
                return self._name("constant", value)
            case _:
                assert_never(operand)

    def _name(self, wanted: str, value: Any) -> str:
        """A name by which a line speaks of a value."""
        for name, known in self.names.items():
            if known is value or (isinstance(value, np.dtype) and isinstance(known, np.dtype) and known == value):
                return name
        name = self._free_name(f"{wanted}_{len(self.names)}")
        self.names[name] = value
        return name

    def _free_name(self, wanted: str) -> str:
        """A name that no argument has: these are given by name, so they keep theirs."""
        while wanted in self._taken:
            wanted += "_"
        return wanted


def _last_reads(formula: Formula) -> dict[tuple[int, int], int]:
    """The last step that reads a result; what is read by nobody is not there, and what is written comes after all."""
    found: dict[tuple[int, int], int] = {}
    if isinstance(formula.result, Result):
        found[formula.result.step, formula.result.output] = len(formula.steps)
    for number in reversed(range(len(formula.steps))):
        step = formula.steps[number]
        if any((number, k) in found for k in range(len(step.results))):
            for operand in step.operands:
                if isinstance(operand, Result):
                    found.setdefault((operand.step, operand.output), number)
    return found
