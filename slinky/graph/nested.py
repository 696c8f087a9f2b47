"""Funcs that are pipelines: a program that is there already, as one operation of another graph.

Idea. What such a func reads for a point of its outputs is what the statements of the program touch where its outputs
are that point: nobody has to say it. Over a box it is given just the region that follows, so whatever the program
requires of its inputs must hold for such a region.

Invariant: of a `PipelineFunc`, all that the program checks holds in each call, but for what it asks of scalars; and no
func in the program speaks of the ends of a buffer that the func has only a part of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slinky.errors import GraphError, cited
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.ir.effects import calls_in
from slinky.ir.given import as_float, is_iterable
from slinky.ir.nesting import read_regions, symbols_of_func
from slinky.ir.operations import FloatScalar, Nested
from slinky.ir.printer import expression_text
from slinky.ir.regions import parameter_box
from slinky.ir.scopes import program_scope
from slinky.ir.statements import BufferParameter, Check, Program, walk
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.expressions import (
    Expr,
    Metadata,
    Scalar,
    Variable,
    as_expr,
    equal,
    is_integer,
    metadata,
    scalar,
    variable,
)
from slinky.symbolic.intervals import Interval, box_symbols, not_empty
from slinky.symbolic.proofs import facts, prove
from slinky.symbolic.traversal import substitute, symbols


class PipelineFunc(Func):
    """A func whose operation is a program."""

    def __init__(
        self,
        program: Program,
        inputs: Iterable[BufferExpr],
        outputs: Iterable[BufferExpr],
        name: str | None,
        arguments: Mapping[str, Any] | None,
    ) -> None:
        title = program.name if name is None else name
        reading = _Reading(program, f"func {cited(title)}")
        sources = reading.fitting(inputs, program.inputs, "inputs")
        targets = reading.fitting(outputs, program.outputs, "outputs")
        given = reading.scalars(arguments)
        self.program = program
        super().__init__(
            _no_callback,
            reading.accesses(sources, given),
            [Access(b, tuple(map(_point, dims))) for b, dims in zip(targets, reading.output_dims, strict=True)],
            title,
            arguments=given,
            whole=reading.whole,
        )
        self.named = name is not None

    def lowered_operation(self) -> Nested:
        """The program, with its scalars as arguments."""
        return Nested(program=self.program, arguments=tuple(self.arguments.items()))


def _no_callback(*_: object) -> None:
    raise AssertionError("a func that is a pipeline runs no callback of its own")


def _point(dim: Variable) -> Interval:
    return Interval(dim, dim)


class _Reading:
    """What a program says of itself, as a func."""

    def __init__(self, program: Program, what: str) -> None:
        self.program = program
        self.what = what
        self.known = program_scope(program).known
        self.boxes = {p.name: parameter_box(p.name, p.rank) for p in (*program.inputs, *program.outputs)}
        self.output_dims = self._dims()
        self.whole = self._whole()
        self.regions = read_regions(program)

    def fail(self, why: str) -> GraphError:
        """The refusal to be a func, for a reason."""
        return GraphError(f"{self.what}: {why}")

    def fitting(self, given: object, parameters: Sequence[BufferParameter], which: str) -> list[BufferExpr]:
        """The buffers that stand for parameters. Raises `GraphError` where they do not fit."""
        names = ", ".join(p.name for p in parameters)
        if isinstance(given, (str, BufferExpr)) or not is_iterable(given):
            raise self.fail(f"its {which} must be a list of buffers, for {names}, got {cited(given)}")
        buffers = list(given)
        if len(buffers) != len(parameters) or not all(isinstance(b, BufferExpr) for b in buffers):
            raise self.fail(
                f"the {which} of {self.program.name} are {names}; got {len(buffers)} for them: {cited(buffers)}"
            )
        for b, p in zip(buffers, parameters, strict=True):
            if (b.rank, b.dtype) != (p.rank, p.dtype):
                raise self.fail(f"{p.name} is {p.dtype}[{p.rank}], and {b.name!r} is {b.dtype}[{b.rank}]")
        return buffers

    def scalars(self, arguments: object) -> dict[str, Any]:
        """The value of each scalar of the program: by default, a scalar of the same name of the graph."""
        if arguments is not None and not isinstance(arguments, Mapping):
            raise self.fail(f"arguments must be a dictionary, values by name, got {cited(arguments)}")
        given = dict(arguments or {})
        integers, floats = ({each.name for each in group} for group in (self.program.scalars, self.program.floats))
        for name in given:
            if name not in integers | floats:
                raise self.fail(f"{self.program.name} has no scalar {name!r}")
        for name, value in given.items():
            if name in integers and not isinstance(value, Expr) and not is_integer(value):
                raise self.fail(f"the scalar {name} is an integer, got {cited(value)}")
            if name in floats and not isinstance(value, FloatScalar) and as_float(value) is None:
                raise self.fail(f"the scalar {name} is a float, got {cited(value)}")
        found: dict[str, Any] = {s.name: given.get(s.name, scalar(s.name)) for s in self.program.scalars}
        found.update({f.name: given.get(f.name, FloatScalar(f.name)) for f in self.program.floats})
        return found

    # Dimensions ---------------------------------------------------------------------------------------------------

    def _dims(self) -> list[list[Variable]]:
        """The variables of each output: one for dimensions that are shown to have the same bounds."""
        found: list[list[Variable]] = []
        known: list[tuple[Interval, Variable]] = []
        for p in self.program.outputs:
            own: list[Variable] = []
            for i, name in zip(self.boxes[p.name], p.dims, strict=True):
                same = (v for j, v in known if v not in own and self._are_same(i, j))
                dim = next(same, None)
                if dim is None:
                    wanted = name if name.isidentifier() else f"d{len(known)}"
                    taken = {v.name for _, v in known}
                    dim = variable(wanted if wanted not in taken else f"{p.name}_{wanted}")
                    known.append((i, dim))
                own.append(dim)
            found.append(own)
        return found

    def _are_same(self, i: Interval, j: Interval) -> bool:
        return prove(equal(i.min, j.min), self.known) and prove(equal(i.max, j.max), self.known)

    def _whole(self) -> list[Variable]:
        """The dimensions that funcs of the program compute whole which write the outputs, and those of whose ends funcs
        in it speak."""
        found: dict[Variable, None] = {}
        spoken = {s for call in calls_in(self.program.body) for s in symbols_of_func(call.func)}
        for p, dims in zip(self.program.outputs, self.output_dims, strict=True):
            for i, dim in zip(self.boxes[p.name], dims, strict=True):
                if not box_symbols([i]).isdisjoint(spoken):
                    found[dim] = None
            for call in calls_in(self.program.body):
                for buffer, port in zip(call.writes, call.func.outputs, strict=True):
                    if buffer == p.name:
                        found.update((dims[port.dims.index(d)], None) for d, _ in call.func.whole if d in port.dims)
        return list(found)

    # What is read ---------------------------------------------------------------------------------------------------

    def accesses(self, sources: Sequence[BufferExpr], given: Mapping[str, Any]) -> list[Access]:
        """What the func reads for a point. Raises `GraphError` where the program requires more."""
        taken_whole = self._taken_whole()
        outside: dict[Expr, Expr] = {
            scalar(name): as_expr(value) for name, value in given.items() if not isinstance(value, (FloatScalar, float))
        }
        for p, b in zip(self.program.inputs, sources, strict=True):
            for d in range(p.rank):
                if (p.name, d) in taken_whole:
                    own = b.dim(d)
                    outside.update({metadata(p.name, d, "min"): own.min, metadata(p.name, d, "max"): own.max})
        at_point: dict[Expr, Expr] = {}
        for p, dims in zip(self.program.outputs, self.output_dims, strict=True):
            for i, dim in zip(self.boxes[p.name], dims, strict=True):
                at_point.update({i.min: dim, i.max: dim})
        points: dict[str, list[Interval | None]] = {}
        for p in self.program.inputs:
            if p.name not in self.regions:
                raise self.fail(f"{self.program.name} does not read {p.name}")
            points[p.name] = [
                None
                if (p.name, d) in taken_whole
                else Interval(*(simplify(substitute(e, at_point), self.known) for e in (i.min, i.max)))
                for d, i in enumerate(self.regions[p.name])
            ]
        self._require_still(taken_whole, points)
        self._require_checks(points)
        return [
            Access(b, tuple(None if i is None else _substituted(i, outside) for i in points[p.name]))
            for p, b in zip(self.program.inputs, sources, strict=True)
        ]

    def _taken_whole(self) -> set[tuple[str, int]]:
        """The dimensions of inputs of which all is read, whatever is computed."""
        return {
            (p.name, d)
            for p in self.program.inputs
            for d, (i, own) in enumerate(zip(self.regions.get(p.name, ()), self.boxes[p.name], strict=False))
            if i == own
        }

    def _require_still(
        self, taken_whole: set[tuple[str, int]], points: Mapping[str, Sequence[Interval | None]]
    ) -> None:
        """Raise `GraphError` where it matters where an input ends of which a part is given."""
        inputs = {p.name for p in self.program.inputs}
        for call in calls_in(self.program.body):
            for s in symbols_of_func(call.func):
                if isinstance(s, Metadata) and s.buffer in inputs and (s.buffer, s.dim) not in taken_whole:
                    raise self.fail(
                        f"{call.func.name} in it speaks of the ends of {s.buffer}, and a call would be given a part"
                    )
        for name, box in points.items():
            for s in box_symbols([i for i in box if i is not None]):
                if isinstance(s, Metadata) and (s.buffer, s.dim) not in taken_whole:
                    raise self.fail(f"what it reads of {name} depends on {s}")

    def _require_checks(self, points: Mapping[str, Sequence[Interval | None]]) -> None:
        """Raise `GraphError` for a check of the program that is not shown to hold of the regions that a call reads."""
        own: dict[Expr, Interval] = {}
        outputs: list[Interval] = []
        for p, dims in zip(self.program.outputs, self.output_dims, strict=True):
            for i, dim in zip(self.boxes[p.name], dims, strict=True):
                own.setdefault(dim, i)
                outputs.append(i)
        of_outputs = {e: end for p, dims in zip(self.program.outputs, self.output_dims, strict=True)
                      for i, dim in zip(self.boxes[p.name], dims, strict=True)
                      for e, end in ((i.min, own[dim].min), (i.max, own[dim].max))}  # fmt: skip
        known = facts(not_empty(tuple(outputs)), *self._of_scalars())
        values: dict[Expr, Expr] = dict(of_outputs)
        for name, box in points.items():
            for d, point in enumerate(box):
                if point is not None:
                    lo = bounds(point.min, own, known).min
                    hi = bounds(point.max, own, known).max
                    values[metadata(name, d, "min")], values[metadata(name, d, "max")] = lo, hi
        for check in (s for s in walk(self.program.body) if isinstance(s, Check)):
            condition = check.condition
            if all(isinstance(s, Scalar) for s in symbols(condition)):
                continue
            if not prove(substitute(condition, values), known):
                text = expression_text(self.program, condition)
                raise self.fail(f"{self.program.name} checks {text}, which does not follow for a part of its inputs")

    def _of_scalars(self) -> list[Any]:
        checks = (s.condition for s in self.program.body if isinstance(s, Check))
        return [c for c in checks if all(isinstance(s, Scalar) for s in symbols(c))]


def _substituted(i: Interval, values: Mapping[Expr, Expr]) -> Interval:
    return Interval(substitute(i.min, values), substitute(i.max, values))
