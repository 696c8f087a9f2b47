"""The lines that compute one element of a formula: a line for each of its steps.

Idea. What stands around them, loops of any kind, says where the element is (`Place`); how elements of arrays are read
and written there is all that the lines differ by.

Invariant: each line computes what NumPy's loop of these dtypes computes, to the last bit: a ufunc of which that is not
known has no line here (`UnknownError`). The text is compiled without contraction, with integers that wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import attrs
import numpy as np

from slinky.ir.formulas import (
    CLIP,
    Apply,
    Argument,
    Choose,
    Constant,
    Convert,
    Coordinate,
    Element,
    Formula,
    Operand,
    Result,
    argument_types,
)
from slinky.ir.formulas import Step as FormulaStep
from slinky.native import lanes
from slinky.native.clipping import clip_before, clipped_conversions, without_clips
from slinky.native.dividing import clipped
from slinky.native.functions import function_of_step
from slinky.native.operators import (
    UnknownError,
    applied,
    cast_text,
    chosen_text,
    clip_text,
    constant_text,
    element_text,
    power_text,
    type_of,
)
from slinky.native.parts import live_steps


def steps_apart(formula: Formula) -> set[int]:
    """The steps that NumPy computes in any case: what C does not know, and functions of what is the same for many
    elements."""
    dims = formula.dims_of_steps()
    found = set()
    for number in live_steps(formula):
        is_small = function_of_step(formula.steps[number]) is not None and len(dims[number]) < formula.rank
        if is_small or not is_known(formula, number):
            found.add(number)
    return found


def is_known(formula: Formula, number: int) -> bool:
    """Whether C computes a step of a formula as NumPy does."""
    step = formula.steps[number]
    try:
        for operand in step.operands:
            type_of(formula.dtype_of(operand))
            if isinstance(operand, Constant):
                constant_text(operand.value)
        return function_of_step(step) is not None or bool(
            values_of(step, [("", formula.dtype_of(each)) for each in step.operands])
        )
    except UnknownError:
        return False


@attrs.frozen
class Place:
    """Where along the innermost dimension an element is, and whether elements follow each other there in all arrays, or
    in which."""

    text: str
    is_dense: bool
    dense: frozenset[str] = frozenset()
    first: str = ""
    """Where along the dimension the loop begins: what is to be added to this place there."""
    in_lanes: bool = False
    """Whether what is narrow is an integer of 32 bits there (`lanes`)."""


class Elements:
    """Elements of the results of a formula. The outputs are named and numbered behind the inputs.

    Raises `UnknownError` if NumPy must compute some of it.
    """

    def __init__(self, formula: Formula, results: Sequence[Operand]) -> None:
        self.formula = formula
        self.results = results
        self.rank = max(formula.rank, 1)
        self.arguments = {key: f"k{n}" for n, key in enumerate(argument_types(formula))}
        self.inputs = [f"a{k}" for k in range(len(formula.inputs))]
        self.outputs = ["o", *(f"o{k}" for k in range(1, len(results)))]
        self.names = [*self.inputs, *self.outputs]
        if steps_apart(formula):
            raise UnknownError
        self._dtypes = list(self._dtypes_of_arrays())
        self.live = live_steps(formula) if results == (formula.result,) else list(range(len(formula.steps)))
        self.functions = {n: found for n in self.live if (found := function_of_step(formula.steps[n])) is not None}
        self.clipped = {} if self.functions else clipped_conversions(formula, self.live)
        self.live = without_clips(formula, self.live, self.clipped, results)
        self.taken = {*results, *(operand for n in self.live for operand in formula.steps[n].operands)}
        """What somebody takes: of a step with several results it may be one alone."""

    def dtype(self, k: int) -> np.dtype[Any]:
        """The dtype of an array."""
        return self._dtypes[k]

    def _dtypes_of_arrays(self) -> Iterator[np.dtype[Any]]:
        """The dtype of each array. Raises `UnknownError` where nothing says that of an input."""
        operands = [*(operand for step in self.formula.steps for operand in step.operands), self.formula.result]
        given = {each.input: each.dtype for each in reversed(operands) if isinstance(each, Element)}
        for k in range(len(self.inputs)):
            if k not in given:
                raise UnknownError
            yield given[k]
        yield from map(self.formula.dtype_of, self.results)

    def steps(self, steps: Sequence[int], moving: set[str], place: Place, wanted: Sequence[Operand]) -> Iterator[str]:
        """The elements that some steps take, and others that are wanted; and the steps."""
        operands = [*(each for number in steps for each in self.formula.steps[number].operands), *wanted]
        operands += [self.clipped[number].value for number in steps if number in self.clipped]
        taken = {f"a{each.input}" for each in operands if isinstance(each, Element)}
        for k, name in enumerate(self.inputs):
            if name in taken & moving:
                element = element_text(self._element(k, place), self.dtype(k))
                is_widened = place.in_lanes and lanes.is_narrow(self.dtype(k))
                of = "int32_t" if is_widened else type_of(self.dtype(k))
                yield f"const {of} {name}_ = {element};"
        for number in steps:
            step = self.formula.steps[number]
            given = [(self.operand(operand), self.formula.dtype_of(operand)) for operand in step.operands]
            for k, name, to in self._floats_of_integers(number):
                yield f"const {type_of(to)} {name} = {cast_text(*given[k], to)};"
                given[k] = (name, to)
            if isinstance(step, Coordinate):
                values = [self._coordinate(step, place)]
            elif isinstance(step, Convert) and number in self.clipped:
                values = [self._clipped(number, step)]
            elif isinstance(step, Convert) and clip_before(self.formula, step.operand) is not None:
                values = [cast_text(*given[0], step.dtype, is_limited=True)]
            else:
                values = values_of(step, given)
            for output, (value, dtype) in enumerate(zip(values, step.results, strict=True)):
                result = Result(number, output)
                is_taken = len(values) == 1 or result in self.taken
                yield f"const {type_of(dtype)} {name_of(result)} = {value};" if is_taken else f"(void){value};"

    def _floats_of_integers(self, number: int) -> Iterator[tuple[int, str, np.dtype[Any]]]:
        """The operands of a step that take a variable of their own to become floats: where GCC sees in one line that an
        integer is converted, it takes 0 less that for the negative, of which the zero has another sign."""
        step = self.formula.steps[number]
        if not isinstance(step, Apply):
            return
        for k, (operand, to) in enumerate(zip(step.operands, step.dtypes, strict=False)):
            if to.kind == "f" and self.formula.dtype_of(operand).kind != "f" and not isinstance(operand, Constant):
                yield k, f"t{number}_of{k}", to

    def _element(self, k: int, place: Place) -> str:
        """The element of an array at a place along the innermost dimension."""
        name = self.names[k]
        if place.in_lanes and lanes.is_narrow(self.dtype(k)):
            return f"w_{name}[j]"
        if place.is_dense or name in place.dense:
            return f"v_{name}[{place.text}]"
        of = f"const {type_of(self.dtype(k))}" if k < len(self.inputs) else type_of(self.dtype(k))
        along = place.text if place.text.isidentifier() else f"({place.text})"
        return f"*({of} *)(r_{name} + {along} * s_{name}_{self.rank - 1})"

    def stores(self, place: Place) -> Iterator[str]:
        """What puts results to where they belong."""
        for k, result in enumerate(self.results, len(self.inputs)):
            yield f"{self._element(k, place)} = {self.operand(result)};"

    def _clipped(self, number: int, step: Convert) -> str:
        """A conversion of what is clipped before."""
        found = self.clipped[number]
        value = cast_text(self.operand(found.value), self.formula.dtype_of(found.value), found.dtype)
        return clipped(value, found.dtype, step.dtype, (f"low{number}", f"high{number}"))

    def _coordinate(self, step: Coordinate, place: Place) -> str:
        along = f"{place.first}{place.text}" if step.dim == self.rank - 1 else f"i{step.dim}"
        return f"first{step.dim} + {along}"

    def operand(self, operand: Operand) -> str:
        """What stands for an operand."""
        match operand:
            case Element(input=k):
                return f"a{k}_"
            case Result():
                return name_of(operand)
            case Argument(name=name, dtype=dtype):
                return self.arguments[name, dtype]
            case Constant(value=value):
                return constant_text(value)
            case _:
                assert_never(operand)


def name_of(result: Result) -> str:
    return f"t{result.step}" + (f"_{result.output}" if result.output else "")


def values_of(step: FormulaStep, given: Sequence[tuple[str, np.dtype[Any]]]) -> list[str]:
    """What a step of one element gives; its operands as they stand, with their dtypes."""
    match step:
        case Apply(ufunc=ufunc, dtypes=dtypes):
            operands = [cast_text(text, own, to) for (text, own), to in zip(given, dtypes, strict=False)]
            if ufunc is np.power:
                return [power_text(operands[0], step.operands[1], dtypes)]
            if ufunc is CLIP and dtypes[-1].kind == "f" and set(dtypes) == {dtypes[-1]}:
                return [clip_text(operands, step.operands[1:], dtypes[-1])]
            return applied(ufunc, operands, dtypes)
        case Convert(dtype=dtype):
            return [cast_text(*given[0], dtype)]
        case Choose(dtype=dtype):
            return [chosen_text([text for text, _ in given], dtype)]
        case Coordinate():
            return [""]
        case _:
            assert_never(step)
