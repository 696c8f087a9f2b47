"""Arithmetic of which C computes a part: a formula whose steps are what NumPy computes, and kernels between these.

Idea. To what runs a formula on arrays (`runtime.formulas`), a kernel is a ufunc: it takes arrays of elements that stand
at the same places, and writes others. So a formula that C does not know as a whole becomes another one, in which what
C knows are steps of several operands and results, each a kernel. Everything else stays, and with it blocks,
broadcasting, and the use of memory that nobody needs any more.

Invariant: each step is computed from the same operands, and by the same means, as in a formula that is C as a whole, or
by NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import attrs
import numpy as np

from slinky.ir.formulas import (
    Apply,
    Argument,
    Axis,
    Constant,
    Coordinate,
    Element,
    Formula,
    Operand,
    Result,
    Step,
    argument_types,
    with_operands,
)
from slinky.native.elements import steps_apart
from slinky.native.functions import function_of_step
from slinky.native.parts import crossing, live_steps, stages

FEWEST_STEPS = 2
"""A kernel of fewer steps is no faster than NumPy's loop, but for functions that are."""


@attrs.frozen(eq=False)
class Fused:
    """A kernel as a ufunc: `run` takes the arrays of its operands and results, and then numbers."""

    nin: int
    nout: int
    dtypes: tuple[np.dtype[Any], ...]
    count_of_arrays: int
    run: Callable[..., None]

    @property
    def __name__(self) -> str:
        """What lines call it."""
        return "kernel"

    def __call__(self, *operands: Any, out: Any) -> None:
        """Write what it computes of the operands into the arrays `out`."""
        targets = out if isinstance(out, tuple) else (out,)
        self.run(*operands[: self.count_of_arrays], *targets, *operands[self.count_of_arrays :])

    def resolve_dtypes(self, given: Sequence[Any]) -> tuple[np.dtype[Any], ...]:
        """Its only loop."""
        assert len(given) == len(self.dtypes)
        return self.dtypes


def fused(formula: Formula, make: Callable[[Formula, Sequence[Result]], Callable[..., None] | None]) -> Formula | None:
    """A formula in which C computes what it knows; None if that gains nothing.

    `make` gives the function of a kernel for several results of a formula.
    """
    live = live_steps(formula)
    apart = steps_apart(formula) | {number for number in live if isinstance(formula.steps[number], Coordinate)}
    while True:
        parts = _Parts(formula, live, apart)
        poor = {number for part in parts.kernels for number in part.steps if not _is_worth(formula, part.steps)}
        rich = {number for part in parts.kernels for number in part.steps if _is_worth(formula, part.steps)}
        if not poor - rich:
            break
        apart |= poor - rich
    return _Writer(parts, make).formula() if parts.kernels else None


def _is_worth(formula: Formula, steps: Iterable[int]) -> bool:
    """Whether a kernel of some steps is faster than NumPy."""
    own = [function_of_step(formula.steps[number]) for number in steps]
    return len(own) >= FEWEST_STEPS or any(each is not None and each.is_faster_alone for each in own)


@attrs.frozen
class _Kernel:
    """Steps that C computes, in order, for some results."""

    stage: int
    steps: tuple[int, ...]
    results: tuple[Result, ...]


class _Parts:
    """A formula cut: `kernels`, in the order in which they run, and the stages of all steps."""

    def __init__(self, formula: Formula, live: Sequence[int], apart: set[int]) -> None:
        self.formula = formula
        self.live = live
        self.apart = apart
        last = [formula.result] if isinstance(formula.result, Result) else []
        self.stage = stages(formula, live, apart, last)
        self.dims = formula.dims_of_steps()
        self.crossing = crossing(formula, live, apart, self.stage, last)
        groups: dict[tuple[int, frozenset[int]], list[Result]] = {}
        for each in self.crossing:
            groups.setdefault((self.stage[each.step], self.dims[each.step]), []).append(each)
        ordered = sorted(groups.items(), key=lambda item: (item[0][0], len(item[0][1])))
        self.kernels = [_Kernel(stage, self._closure(own), tuple(own)) for (stage, _), own in ordered]

    def _closure(self, results: Sequence[Result]) -> tuple[int, ...]:
        """The steps that some results need, and that no other kernel hands on."""
        found: set[int] = set()
        waiting = [each.step for each in results]
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            found.add(number)
            for each in self.formula.steps[number].operands:
                if isinstance(each, Result) and each.step not in self.apart:
                    if each in results or each not in self.crossing:
                        waiting.append(each.step)
        return tuple(sorted(found))


class _Writer:
    """The new formula, from first to last."""

    def __init__(self, parts: _Parts, make: Callable[[Formula, Sequence[Result]], Callable[..., None] | None]) -> None:
        self._parts = parts
        self._make = make
        self._formula = parts.formula
        self._steps: list[Step] = []
        self._new: dict[Result, Result] = {}

    def formula(self) -> Formula | None:
        parts = self._parts
        for stage in range(1 + max(parts.stage.values())):
            for kernel in parts.kernels:
                if kernel.stage == stage and not self._add(kernel):
                    return None
            for number in parts.live:
                if number in parts.apart and parts.stage[number] == stage:
                    self._keep(number)
        return attrs.evolve(self._formula, steps=tuple(self._steps), result=self._operand(self._formula.result))

    def _operand(self, operand: Operand) -> Operand:
        return self._new[operand] if isinstance(operand, Result) else operand

    def _keep(self, number: int) -> None:
        step = with_operands(self._formula.steps[number], self._operand)
        for output in range(len(step.results)):
            self._new[Result(number, output)] = Result(len(self._steps), output)
        self._steps.append(step)

    def _add(self, kernel: _Kernel) -> bool:
        own = _own_formula(self._parts, kernel)
        run = self._make(own.formula, own.results)
        if run is None:
            return False
        numbers = [Argument(name, dtype) for name, dtype in argument_types(own.formula)]
        operands = (*map(self._operand, own.operands), *numbers)
        given = [self._formula.dtype_of(each) for each in (*own.operands, *numbers)]
        dtypes = (*given, *(self._formula.dtype_of(each) for each in kernel.results))
        ufunc = Fused(len(operands), len(kernel.results), dtypes, len(own.operands), run)
        for output, each in enumerate(kernel.results):
            self._new[each] = Result(len(self._steps), output)
        self._steps.append(Apply(cast(np.ufunc, ufunc), operands, dtypes))
        return True


@attrs.frozen
class _Own:
    """A kernel as a formula of its own, the operands that are its inputs, and what it gives."""

    formula: Formula
    operands: tuple[Operand, ...]
    results: tuple[Result, ...]


def _own_formula(parts: _Parts, kernel: _Kernel) -> _Own:
    """Inputs are arrays along all dimensions, of one element along those in which they are the same."""
    formula, place = parts.formula, {number: k for k, number in enumerate(kernel.steps)}
    inputs: dict[Operand, int] = {}

    def moved(operand: Operand) -> Operand:
        match operand:
            case Result(step=number, output=output) if number in place:
                return Result(place[number], output)
            case Element() | Result():
                return Element(inputs.setdefault(operand, len(inputs)), formula.dtype_of(operand))
            case Argument() | Constant():
                return operand

    steps = tuple(with_operands(formula.steps[number], moved) for number in kernel.steps)
    axes = tuple(_axes_of(formula.dims_of(each, parts.dims), formula.rank) for each in inputs)
    results = tuple(Result(place[each.step], each.output) for each in kernel.results)
    return _Own(Formula(formula.rank, axes, steps, results[0]), tuple(inputs), results)


def _axes_of(dims: frozenset[int], rank: int) -> tuple[Axis | None, ...]:
    return tuple(Axis(d) if d in dims else None for d in range(rank))
