"""Arithmetic of ufuncs that slinky understands: what an `Expression` computes, element by element.

Idea. A formula is a list of steps, each a ufunc, a conversion or a choice between two values, of elements of inputs, of
results of earlier steps, of constants and of arguments. It is a graph written down in the order in which it can be
computed, so whoever reads it, to run it or to print it as loops, goes through it once and never has to recurse. The
dtypes of each step were taken when the formula was made: what runs it converts operands to these, and decides nothing.

Invariant: a step speaks of earlier steps alone. An element of the result depends on the elements of the inputs at its
own place and on nothing else, so a formula can be computed over any box, in any order, and in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, assert_never

import attrs
import numpy as np

try:
    from numpy._core import umath as _umath
except ImportError:  # NumPy before 2.0
    from numpy.core import umath as _umath  # type: ignore[no-redef]

_INT64 = np.dtype(np.int64)
CLIP: np.ufunc = getattr(_umath, "clip")  # noqa: B009  (its stub does not know it)
"""What `np.clip` computes, as a ufunc."""


ERRORS = ("divide", "invalid", "over", "under")
"""Errors of floating-point arithmetic, in the words of `np.errstate`."""


def ufunc_of_numpy(name: str) -> np.ufunc | None:
    """NumPy's ufunc of a name, if it has one that works on elements."""
    found = CLIP if name == "clip" else getattr(np, name, None)
    return found if isinstance(found, np.ufunc) and found.signature is None else None


@attrs.frozen
class Element:
    """The element of an input of a dtype, by its number."""

    input: int
    dtype: np.dtype[Any]


@attrs.frozen
class Result:
    """What an earlier step gave, by its number; of a ufunc of several results, the `output`-th."""

    step: int
    output: int = 0


@attrs.frozen
class Argument:
    """A number known when the pipeline runs, by the name of the operation's argument, converted to a dtype."""

    name: str
    dtype: np.dtype[Any]


@attrs.frozen(eq=False)
class Constant:
    """A number, as an element of a dtype. Equal are those of the same bits."""

    value: Any

    @property
    def bits(self) -> tuple[np.dtype[Any], bytes]:
        """What it is, so that NaN is equal to itself and 0.0 is not equal to -0.0."""
        return self.value.dtype, self.value.tobytes()

    def __eq__(self, other: object) -> bool:
        return self.bits == other.bits if isinstance(other, Constant) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.bits)


Operand: TypeAlias = Element | Result | Argument | Constant
"""What a step takes."""


@attrs.frozen
class Apply:
    """A ufunc of elements; `dtypes` are those of the loop that computes it, operands first and then results."""

    ufunc: np.ufunc
    operands: tuple[Operand, ...]
    dtypes: tuple[np.dtype[Any], ...]

    @property
    def results(self) -> tuple[np.dtype[Any], ...]:
        """The dtypes of what it gives."""
        return self.dtypes[self.ufunc.nin :]


@attrs.frozen
class Convert:
    """The operand as an element of another dtype, as `astype` has it."""

    operand: Operand
    dtype: np.dtype[Any]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What it takes."""
        return (self.operand,)

    @property
    def results(self) -> tuple[np.dtype[Any], ...]:
        """The dtype of what it gives."""
        return (self.dtype,)


@attrs.frozen
class Choose:
    """One of two values of the same dtype: the first where a condition holds, else the second."""

    condition: Operand
    chosen: Operand
    otherwise: Operand
    dtype: np.dtype[Any]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What it takes."""
        return (self.condition, self.chosen, self.otherwise)

    @property
    def results(self) -> tuple[np.dtype[Any], ...]:
        """The dtype of what it gives."""
        return (self.dtype,)


@attrs.frozen
class Coordinate:
    """The coordinate of the element along a dimension of the func."""

    dim: int
    dtype: np.dtype[Any] = _INT64

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Nothing."""
        return ()

    @property
    def results(self) -> tuple[np.dtype[Any], ...]:
        """The dtype of what it gives."""
        return (self.dtype,)


Step: TypeAlias = Apply | Convert | Choose | Coordinate
"""What a formula is made of."""


def with_operands(step: Step, of: Callable[[Operand], Operand]) -> Step:
    """A step that takes others for its operands."""
    match step:
        case Apply(operands=operands):
            return attrs.evolve(step, operands=tuple(map(of, operands)))
        case Convert(operand=operand):
            return attrs.evolve(step, operand=of(operand))
        case Choose(condition=condition, chosen=chosen, otherwise=otherwise, dtype=dtype):
            return Choose(of(condition), of(chosen), of(otherwise), dtype)
        case Coordinate():
            return step
        case _:
            assert_never(step)


@attrs.frozen
class Axis:
    """How an axis of an input moves with a dimension of the func: by `step` coordinates for each of it."""

    dim: int
    step: int = 1


@attrs.frozen
class Formula:
    """Steps of arithmetic, over a func's `rank` dimensions, the last of which gives what is written.

    `inputs` says of each axis of each input what it moves with; None: it has one coordinate only. With `result` being
    no step, the formula writes an element of an input or a number as it is. `ignored` are the floating-point errors, of
    `ERRORS`, of which nothing is said, whatever `np.errstate` says when it runs.
    """

    rank: int
    inputs: tuple[tuple[Axis | None, ...], ...]
    steps: tuple[Step, ...]
    result: Operand
    ignored: tuple[str, ...] = ()

    def dims_of_steps(self) -> tuple[frozenset[int], ...]:
        """Along which dimensions what each step gives may differ."""
        found: list[frozenset[int]] = []
        for step in self.steps:
            own = {step.dim} if isinstance(step, Coordinate) else set()
            found.append(frozenset(own).union(*(self.dims_of(operand, found) for operand in step.operands)))
        return tuple(found)

    def dims_of(self, operand: Operand, steps: Sequence[frozenset[int]]) -> frozenset[int]:
        """Along which dimensions an operand may differ, given those of steps before."""
        match operand:
            case Element(input=number):
                return frozenset(axis.dim for axis in self.inputs[number] if axis is not None)
            case Result(step=number):
                return steps[number]
        return frozenset()

    def dtype_of(self, operand: Operand) -> np.dtype[Any]:
        """The dtype of an operand."""
        match operand:
            case Element(dtype=dtype) | Argument(dtype=dtype):
                return dtype
            case Constant(value=value):
                found: np.dtype[Any] = value.dtype
                return found
            case Result(step=number, output=output):
                return self.steps[number].results[output]

    def is_resolved(self, step: Apply) -> bool:
        """Whether NumPy by itself takes the loop of these dtypes for what the step takes."""
        given = (*map(self.dtype_of, step.operands), *(None,) * step.ufunc.nout)
        try:
            return step.ufunc.resolve_dtypes(given) == step.dtypes
        except TypeError:
            return False

    def has_coordinates(self) -> bool:
        """Whether it asks where its elements are."""
        return bool(self.asked_dims())

    def asked_dims(self) -> set[int]:
        """The dimensions of which coordinates are elements."""
        return {step.dim for step in self.steps if isinstance(step, Coordinate)}

    def arguments(self) -> Iterable[str]:
        """The names of the arguments that it takes, each once."""
        operands = (operand for step in self.steps for operand in step.operands)
        return dict.fromkeys(each.name for each in (*operands, self.result) if isinstance(each, Argument))


def argument_types(formula: Formula) -> list[tuple[str, np.dtype[Any]]]:
    """The arguments of a formula, by name, with their dtypes; one that is used as two stands there twice."""
    operands = [*(operand for step in formula.steps for operand in step.operands), formula.result]
    return list(dict.fromkeys((each.name, each.dtype) for each in operands if isinstance(each, Argument)))
