"""Arguments with some left out or given by name: made complete, so that everything else sees all arrays in order.

An output that is omitted is allocated here, as large as `following` says. It is returned as the array itself where its
first element is at the origin, as that of an array given is, and as a `Buffer` where it is not: either means to another
pipeline what it meant to this one. The memory of large ones serves later ones when nobody sees them (`reusing`).

Invariant: nothing is allocated, and nobody is told of a bound, before all bounds are known. Arguments that are complete
are not looked at: their checks are made where they always are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.errors import ArgumentError, ExpressionError
from slinky.ir.identifiers import by_names_as_python_reads
from slinky.ir.printer import expression_text
from slinky.ir.regions import parameter_box
from slinky.ir.statements import BufferParameter, Check, Program
from slinky.runtime.arguments import argument_as_buffer, given_values, require, scalar_values
from slinky.runtime.buffers import Array, buffer_at
from slinky.runtime.following import Following, conditions_of, following
from slinky.runtime.layouts import StrideRules, new_array, stride_rules, strides_of
from slinky.runtime.remedies import what_would_say_it
from slinky.runtime.reusing import Results
from slinky.symbolic.expressions import Condition, Expr
from slinky.symbolic.intervals import Box
from slinky.symbolic.traversal import evaluate, symbols

Allocate: TypeAlias = Callable[[BufferParameter, tuple[int, ...], tuple[int, ...]], Array]
"""Makes the array of an output, of a shape and with strides."""


@attrs.frozen
class _Solution:
    """What is known of the omitted outputs before any array is: their bounds, and what is asked of their strides."""

    omitted: tuple[BufferParameter, ...]
    bounds: Following
    boxes: tuple[Box, ...]
    strides: tuple[tuple[StrideRules, ...], ...]


@lru_cache(maxsize=256)
def _solution(conditions: tuple[Condition, ...], omitted: tuple[BufferParameter, ...]) -> _Solution:
    """What follows from conditions. Remembered, for all schedules of a graph check the same."""
    boxes = tuple(parameter_box(p.name, p.rank) for p in omitted)
    rules = tuple(stride_rules(conditions, p) for p in omitted)
    return _Solution(omitted, following(conditions, omitted), boxes, rules)


class Completion:
    """Completes the arguments of a program. What follows for its outputs is found at the first use, and kept."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.parameters = (*program.inputs, *program.outputs)
        self.count = len(self.parameters)
        self._solutions: dict[tuple[str, ...], _Solution] = {}
        self._allocate: Allocate = partial(new_array, make=Results(np.empty, len(program.outputs)))

    def complete(
        self, arrays: Sequence[object], named: Mapping[str, Any], allocate: Allocate | None = None
    ) -> tuple[tuple[object, ...], dict[str, Any]]:
        """All arrays, inputs then outputs, and the scalars by name.

        Raises `ArgumentError` for arguments that are too many, missing, or given twice, and for an omitted output whose
        bounds do not follow.
        """
        named = by_names_as_python_reads(named)
        if len(arrays) == self.count:
            return tuple(arrays), dict(named)
        given = self._by_name(arrays, named)
        scalars = {name: value for name, value in named.items() if name not in given}
        omitted = tuple(p for p in self.program.outputs if p.name not in given)
        if omitted:
            given = {**given, **self._allocated(self._solution(omitted), given, scalars, allocate or self._allocate)}
        return tuple(given[p.name] for p in self.parameters), scalars

    def _by_name(self, arrays: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
        """The arrays that are given, by name."""
        names = [p.name for p in self.parameters]
        given = dict(zip(names, arrays, strict=False))
        twice = [name for name in given if name in named]
        if twice:
            raise ArgumentError(f"argument {twice[0]} is given by position, and by name")
        by_position = len(arrays)
        given.update((name, named[name]) for name in names if name in named)
        missing = [p.name for p in self.program.inputs if p.name not in given]
        some_outputs = by_position > len(self.program.inputs) and any(name not in given for name in names)
        if missing or by_position > self.count or some_outputs:
            what = f"pipeline {self.program.name} takes {self.count} arrays ({', '.join(names)}), got {by_position}"
            by_name = [name for name in names if name in named]
            what += f" and {', '.join(by_name)} by name" if by_name else ""
            if missing and by_position < self.count:
                what += f"; {missing[0]} is missing"
            elif some_outputs:
                what += f"; outputs are given all, or none, or some by name, as in {self._some_by_name(given)}"
            raise ArgumentError(what)
        return given

    def _some_by_name(self, given: Mapping[str, object]) -> str:
        inputs = [p.name for p in self.program.inputs]
        outputs = [f"{p.name}={p.name}" for p in self.program.outputs if p.name in given]
        return f"p({', '.join([*inputs, *outputs])})"

    # What follows -------------------------------------------------------------------------------------------------

    def _solution(self, omitted: tuple[BufferParameter, ...]) -> _Solution:
        key = tuple(p.name for p in omitted)
        found = self._solutions.get(key)
        if found is None:
            found = self._solutions[key] = _solution(conditions_of(self.program), omitted)
        if found.bounds.missing:
            raise ArgumentError(self._does_not_follow(found))
        return found

    def _does_not_follow(self, solution: _Solution) -> str:
        """Which end of which dimension does not follow, and what would say it."""
        missing = solution.bounds.missing
        first = missing[0]
        boxes = zip(solution.omitted, solution.boxes, strict=True)
        name = next(p.name for p, box in boxes if any(first in (i.min, i.max) for i in box))
        *others, last = (expression_text(self.program, end) for end in missing)
        ends = f"{', '.join(others)} and {last}" if others else last
        verb = "do" if len(missing) > 1 else "does"
        return (
            f"output {name} was omitted, but {ends} {verb} not follow from the arrays given and what pipeline "
            f"{self.program.name} requires; {what_would_say_it(self.program, solution.omitted, missing)}, "
            f"or give the array"
        )

    # Arrays -------------------------------------------------------------------------------------------------------

    def _allocated(
        self, solution: _Solution, given: Mapping[str, object], scalars: Mapping[str, object], allocate: Allocate
    ) -> dict[str, object]:
        """The omitted outputs: arrays, or buffers where their first element is not at the origin."""
        values = scalar_values(self.program, scalars)
        for parameter in self.parameters:
            if parameter.name in given:
                values.update(given_values(parameter.name, argument_as_buffer(parameter, given[parameter.name])))
        try:
            for end, value in solution.bounds.values:
                values[end] = evaluate(value, values)
        except ExpressionError:
            self._require_what_is_known(values)
            raise
        boxes = [tuple((values[i.min], values[i.max]) for i in box) for box in solution.boxes]
        for parameter, box in zip(solution.omitted, boxes, strict=True):
            self._require_extents(parameter, box, values)
        found: dict[str, object] = {}
        for parameter, box, rules in zip(solution.omitted, boxes, solution.strides, strict=True):
            shape = tuple(hi - lo + 1 for lo, hi in box)
            origin = tuple(lo for lo, _ in box)
            array = allocate(parameter, shape, strides_of(parameter, rules, shape, values))
            buffer = buffer_at(array, origin)
            values.update(given_values(parameter.name, buffer))  # strides of others may be told in terms of these
            found[parameter.name] = buffer if any(origin) else array
        return found

    def _require_extents(
        self, parameter: BufferParameter, box: Sequence[tuple[int, int]], values: Mapping[Expr, int]
    ) -> None:
        """Raise `ArgumentError` where even the largest box is none."""
        for (lo, hi), dim in zip(box, parameter.dims, strict=True):
            if hi < lo - 1:
                self._require_what_is_known(values)
                raise ArgumentError(
                    f"output {parameter.name} was omitted, and the arrays given are too small for any: "
                    f"along {dim} it would begin at {lo} and end at {hi}"
                )

    def _require_what_is_known(self, values: Mapping[Expr, int]) -> None:
        """Make the checks that name nothing of omitted outputs: they say better than others what is wrong."""
        boxes = (parameter_box(p.name, p.rank) for p in self.program.outputs)
        unknown = {end for box in boxes for i in box for end in (i.min, i.max)}
        for statement in self.program.body:
            if isinstance(statement, Check):
                named = symbols(statement.condition)
                if named <= values.keys() and named.isdisjoint(unknown):
                    require(self.program, statement, values)
