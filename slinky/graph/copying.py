"""Funcs that copy, and buffers that are extended beyond their edges.

Idea. A copy is a func like any other: what it reads of each source is an interval per dimension, as a function of its
dimensions, so that bounds inference, legality and scheduling see a window and no copy. For one source coordinate i and
edges lo..hi these intervals are, with i from a to b over a box,

* between edges, nothing beyond: `max(a, lo) .. min(b, hi)`, which may be empty; where each s-th coordinate is copied
  alone, `i = d // s`, `a` is rounded up: windows beside each other share no element then, and need not slide;
* `NEAREST`: `max(lo, min(a, hi)) .. min(hi, max(b, lo))`;
* `REFLECT`: `max(lo, min(a, 2*hi + 1 - b)) .. min(hi, max(b, 2*lo - 1 - a))`, `MIRROR` without the ones;
* `REFLECT` where nobody goes further than `before` the first and `behind` the last element (`Depths`):
  `max(lo, min(a, hi + 1 - behind)) .. min(hi, max(b, lo - 1 + before))`, `MIRROR` without the ones;
* `WRAP`: all of `lo..hi`.

Invariant: these hold every element that the copy takes from the source. A window that lies inside is read as it is; one
that crosses an edge once needs what lies as deep inside of the edge as it lies beyond; where it is reflected more than
once, both ends reach the other edge, and the interval is all of `lo..hi`. Where it is known how deep that is at most,
each end of the interval moves with one end of the window alone: so windows of windows stay short, and slide and fold.
It may hold a few elements more than the others then, where a window ends next to an edge and does not cross it.

Where a source with a boundary rule has no elements at all, the pipeline asks for outputs without elements: a check says
so, and what is copied then is seen by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from slinky.errors import GraphError
from slinky.graph.boundaries import RULES, Rules
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.ir.operations import Boundary, Copy, CopySource
from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    FloorDivide,
    Product,
    Sum,
    Variable,
    linear,
    linear_sum,
    maximum,
    minimum,
    product,
    variable,
)
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.traversal import symbols

Depths: TypeAlias = "tuple[int | None, int | None]"
"""How far before its first and behind its last element a source is read at most; None where that is not known."""

UNKNOWN: Depths = (None, None)


@attrs.frozen(eq=False)
class Source:
    """Where elements come from: the points of a buffer, and per dimension its edges, if there is a limit, and what is
    beyond them. Only where each of `where` lies in its interval."""

    access: Access
    edges: tuple[Interval | None, ...]
    boundaries: tuple[Boundary | None, ...]
    where: tuple[tuple[Expr, Interval], ...] = ()


class CopyFunc(Func):
    """A func that copies: each element of the target is that of the first source that gives it, else the fill.

    `given` are the bounds of the target, by dimension, outside of which no source gives anything and nothing fills.
    `requires` are conditions, each with what it is for, that must hold if any element is asked for.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        target: Access,
        name: str,
        *,
        named: bool,
        fill: Any = None,
        implementation: Any = None,
        given: Mapping[int, Interval] | None = None,
        requires: Mapping[Condition, str] | None = None,
    ) -> None:
        for source in sources:
            if source.access.buffer.dtype != target.buffer.dtype:
                raise GraphError(
                    f"copy {name!r}: {source.access.buffer.name!r} is {source.access.buffer.dtype} and "
                    f"{target.buffer.name!r} is {target.buffer.dtype}; a copy changes no dtype"
                )
        self.sources = tuple(sources)
        self.fill = fill
        self.implementation = implementation
        self.given = dict(given or {})
        self.requires = dict(requires or {})
        dims = {i.min for i in target.box if i is not None}
        for source in sources:
            for d, i in enumerate(source.access.box):
                _check_index(i, dims, f"copy {name!r}: dimension {d} of {source.access}")
        accesses = self.inputs_within([[UNKNOWN] * len(s.edges) for s in self.sources])
        super().__init__(_no_callback, accesses, [target], name)
        self.named = named

    def inputs_within(self, depths: Sequence[Sequence[Depths]]) -> list[Access]:
        """What it reads of each source, where nobody goes further beyond the edges along each dimension than this."""
        return [Access(s.access.buffer, _region(s, own)) for s, own in zip(self.sources, depths, strict=True)]

    @property
    def may_read_nothing(self) -> bool:
        """A source that is beyond its edges gives nothing."""
        return True

    def lowered_operation(self) -> Copy:
        """The copy, with all that is not known before the run as parameters."""
        parameters = _Parameters(set(self.dims))
        sources = tuple(
            CopySource(
                tuple(parameters.index(i.min) for i in s.access.box if i is not None),
                tuple(None if i is None else parameters.ends(i) for i in s.edges),
                s.boundaries,
                tuple((parameters.index(e), parameters.ends(i)) for e, i in s.where),
            )
            for s in self.sources
        )
        arguments = tuple((v.name, e) for e, v in parameters.found.items())
        is_argument = isinstance(self.fill, Expr) or hasattr(self.fill, "name")
        return Copy(
            arguments=(*arguments, ("fill", self.fill)) if is_argument else arguments,
            dims=self.dims,
            sources=sources,
            fill=self.fill,
            implementation=self.implementation,
        )


def _no_callback(*_: object) -> None:
    raise AssertionError("a copy runs no callback of its func")


def _check_index(i: Interval | None, dims: set[Expr], where: str) -> None:
    """Refuse what is no point, or no sum of multiples and quotients of the target's dimensions."""
    if i is None or i.min is not i.max:
        raise GraphError(f"{where} must be a point, such as y - 1, got {':' if i is None else i}")
    waiting = [i.min]
    while waiting:
        e = waiting.pop()
        if symbols(e).isdisjoint(dims) or isinstance(e, Variable):
            continue
        match e:
            case Sum(terms=terms):
                waiting.extend(atom for atom, _ in terms)
                continue
            case Product(factors=factors) if sum(not symbols(f).isdisjoint(dims) for f in factors) == 1:
                waiting.extend(factors)
                continue
            case FloorDivide(numerator=numerator, denominator=denominator) if symbols(denominator).isdisjoint(dims):
                waiting.append(numerator)
                continue
        raise GraphError(
            f"{where}: a copy understands sums of multiples of dimensions, // and % by what does not depend on them, "
            f"got {e}; clamps at edges are said by `outside` or `extended`"
        )


class _Parameters:
    """Variables that stand for what is known when a copy runs."""

    def __init__(self, dims: set[Variable]) -> None:
        self._dims: set[Expr] = set(dims)
        self._taken = {dim.name for dim in dims} | {"fill"}
        self.found: dict[Expr, Variable] = {}

    def of(self, e: Expr) -> Expr:
        """What stands for a value."""
        if isinstance(e, Constant):
            return e
        if e not in self.found:
            name = next(n for k in range(len(self._taken) + 1) if (n := f"value_{k}") not in self._taken)
            self._taken.add(name)
            self.found[e] = variable(name)
        return self.found[e]

    def ends(self, i: Interval) -> Interval:
        """An interval of values."""
        return Interval(self.of(i.min), self.of(i.max))

    def index(self, e: Expr) -> Expr:
        """An index, with parameters for all that does not depend on the dimensions."""
        if e in self._dims:
            return e
        if symbols(e).isdisjoint(self._dims):
            return self.of(e)
        match e:
            case Sum(constant=constant, terms=terms):
                return linear_sum(constant, [(self.index(atom), factor) for atom, factor in terms])
            case Product(factors=factors):
                return product(tuple(map(self.index, factors)))
            case FloorDivide(numerator=numerator, denominator=denominator):
                return self.index(numerator) // self.index(denominator)
            case _:
                raise AssertionError(f"{e} is no index of a copy")


def _region(source: Source, depths: Sequence[Depths]) -> tuple[Interval | None, ...]:
    """What a copy reads of a source, as a function of its dimensions."""
    return tuple(
        i
        if i is None or edges is None
        else _between(i.min, edges, source.where)
        if boundary is None
        else beyond(i.min, edges, boundary, own)
        for i, edges, boundary, own in zip(source.access.box, source.edges, source.boundaries, depths, strict=True)
    )


def _between(at: Expr, edges: Interval, where: Sequence[tuple[Expr, Interval]]) -> Interval:
    """What is read between edges alone. Where only each s-th coordinate is copied, none that lies before the first one
    of these is read, and a coordinate in between reads nothing."""
    offset, terms = linear(at)
    first, last = [], []
    for atom, factor in terms:
        below, above = _quotients(atom, where)
        first.append((above if factor > 0 else below, factor))
        last.append((below if factor > 0 else above, factor))
    return Interval(maximum(linear_sum(offset, first), edges.min), minimum(linear_sum(offset, last), edges.max))


def _quotients(atom: Expr, where: Sequence[tuple[Expr, Interval]]) -> tuple[Expr, Expr]:
    """A quotient, rounded down and up to one that something is copied for: where a remainder must be a number, to one
    that leaves it."""
    match atom:
        case FloorDivide(numerator=numerator, denominator=Constant(value=step)) if step > 0:
            remainder = numerator % step
            for e, interval in where:
                wanted = remainder - e if isinstance(remainder - e, Constant) else remainder + e
                if interval == point(0) and isinstance(wanted, Constant) and 0 <= wanted.value < step:
                    return (numerator - wanted) // step, (numerator - wanted + (step - 1)) // step
    return atom, atom


def beyond(at: Expr, edges: Interval, boundary: Boundary | None, depths: Depths) -> Interval:
    """What is read between the edges of a dimension for a coordinate, by a boundary rule, where nobody goes further
    beyond the edges than these depths: of some coordinates side by side, all from the first minimum on to the last
    maximum."""
    lo, hi = edges.min, edges.max
    match boundary:
        case None:
            return Interval(maximum(at, lo), minimum(at, hi))
        case Boundary.NEAREST:
            return Interval(maximum(lo, minimum(at, hi)), minimum(hi, maximum(at, lo)))
        case Boundary.WRAP:
            return edges
        case Boundary.REFLECT | Boundary.MIRROR:
            twice = int(boundary is Boundary.REFLECT)
            before, behind = depths
            first = 2 * hi + twice - at if behind is None else hi + twice - behind
            last = 2 * lo - twice - at if before is None else lo - twice + before
            return Interval(
                maximum(lo, at if behind == 0 else minimum(at, first)),
                minimum(hi, at if before == 0 else maximum(at, last)),
            )


# ----------------------------------------------------------------------------------------------------------------
# Extended buffers
# ----------------------------------------------------------------------------------------------------------------


class Extension(BufferExpr):
    """A buffer together with what is beyond its edges: a copy, as far as it is read."""

    def __init__(self, source: BufferExpr, rules: Rules, fill: Any, name: str, kind: str) -> None:
        super().__init__(name, source.dtype, source.rank)
        self.rules = rules
        self.extended_dims = frozenset(d for d, rule in enumerate(rules) if rule is not None)
        dims = [variable(f"d{d}") for d in range(source.rank)]
        for d in self.extended_dims:
            self.dim(d).domain = source.dim(d).domain
        edges = tuple(None if rule is None else source.dim(d).domain for d, rule in enumerate(rules))
        boundaries = tuple(None if rule is None else RULES[rule] for rule in rules)
        CopyFunc(
            [Source(Access(source, tuple(map(point, dims))), edges, boundaries)],
            Access(self, tuple(map(point, dims))),
            kind,
            named=False,
            fill=fill,
        )


def extension(source: BufferExpr, rules: Rules, fill: Any) -> Extension:
    """The buffer extended by these rules; the same one for the same rules."""
    key = (rules, None if fill is None else str(fill))
    known = source.extensions.get(key)
    if known is None:
        kind = "_".join(dict.fromkeys(rule.replace("-", "_") for rule in rules if rule is not None))
        name = f"{source.name}_{kind}"
        taken = {e.name for e in source.extensions.values()}
        count = 1
        while name in taken:
            name, count = f"{source.name}_{kind}_{count}", count + 1
        known = source.extensions[key] = Extension(source, rules, fill, name, kind)
    assert isinstance(known, Extension)
    return known
