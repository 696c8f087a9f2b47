"""Copies that slinky understands: pad, assemble, transpose, reshape.

Each function makes a func that copies to a buffer of the graph, and returns it. What a copy does is known, so it needs
no callback, it moves whole rectangles at a time, and reads no more than it moves. The coordinates of a target start
where those of its source do, unless said otherwise; its domain (`dim(d).domain`) is all that the function gives.

    padded = sl.BufferExpr("padded", np.float32, 2)
    sl.copies.pad(image, padded, 2, 2, mode="reflect")

For funcs that read beyond the edges of a buffer, `buffer.extended(...)` is shorter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from slinky.errors import GraphError, cited
from slinky.graph.axes import chosen_dimensions, listed_dimensions
from slinky.graph.boundaries import NUMPY_RULES, RULES, fill_value
from slinky.graph.buffers import Access, BufferExpr, valid_name
from slinky.graph.copying import CopyFunc, Source
from slinky.graph.funcs import Func
from slinky.ir.given import is_iterable, is_listed, is_one_of
from slinky.ir.operations import Boundary
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    ExprLike,
    as_expr,
    constant,
    constant_value,
    equal,
    maximum,
    variable,
)
from slinky.symbolic.intervals import Interval, point

__all__ = [
    "broadcast",
    "concatenate",
    "copy",
    "flip",
    "pad",
    "reshape",
    "roll",
    "stack",
    "transpose",
]

Amounts: TypeAlias = "ExprLike | Sequence[ExprLike]"
"""One amount for all dimensions, or one for each."""


def copy(
    source: Access,
    target: Access,
    *,
    outside: object = None,
    implementation: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Func:
    """Copy an element for each point of a target.

    Parameters:

    * `source`: an access whose dimensions are points: sums of multiples of the target's variables, also divided
      (`//`, `%`) by numbers or scalars: `a[y - 1, x]`, `a[x, y]`, `a[2*y, x // 2]`, `a[y // 8, y % 8]`.
    * `target`: an access with plain variables.
    * `outside`: what is copied where the source has no element: None, nothing, so that the source must have all that
      is read; a number or a scalar of the pipeline; an access of another buffer, which must have all that is read; or a
      boundary rule (see `BufferExpr.extended`) for all dimensions.
    * `implementation`: a function that does it, called with the arrays of the source (and of the other buffer), then
      the target: each is just what the copy of a box reads and writes.
    * `name`: of the func, by default `copy`.

    >>> (y, x), (a, b) = variables("y x"), (BufferExpr(n, "f4", 2) for n in "ab")
    >>> copy(a[x, y], b[y, x])
    <Func b[y, x] = copy(a[x, y])>

    Raises `GraphError` for what is no access, an index that is no such point, or dtypes that differ.
    """
    for access in (source, target):
        if not isinstance(access, Access):
            raise GraphError(f"copy() takes accesses, such as a[y - 1, x] and b[y, x], got {cited(access)}")
    buffer = source.buffer
    unlimited, domain = (None,) * buffer.rank, tuple(buffer.dim(d).domain for d in range(buffer.rank))
    edges: tuple[Interval | None, ...] = unlimited if outside is None else domain
    boundaries: tuple[Boundary | None, ...] = unlimited
    sources, fill = [], None
    if isinstance(outside, Access):
        other = outside.buffer.rank
        sources = [Source(outside, (None,) * other, (None,) * other)]
    elif isinstance(outside, str):
        if outside not in RULES:
            raise GraphError(f"there is no boundary rule {outside!r}; the rules are {', '.join(map(repr, RULES))}")
        boundaries = (RULES[outside],) * buffer.rank
        fill = fill_value(0, buffer.dtype, f"{buffer.name!r}") if RULES[outside] is None else None
    elif outside is not None:
        fill = fill_value(outside, target.buffer.dtype, f"{target.buffer.name!r}")
    first = Source(source, edges, boundaries)
    return _func([first, *sources], target, name, "copy", fill=fill, implementation=implementation)


def pad(
    source: BufferExpr,
    target: BufferExpr,
    before: Amounts,
    after: Amounts,
    *,
    mode: str = "constant",
    value: object = 0,
    name: str | None = None,
) -> Func:
    """Copy a buffer with elements added at its ends, as `np.pad` does.

    Parameters: how many elements come `before` the first and `after` the last, integers or expressions of scalars, one
    for all dimensions or one for each; `mode`, by the names of `np.pad`: `"constant"`, `"edge"`, `"symmetric"`,
    `"reflect"`, `"wrap"` (`BufferExpr.extended` has a table); `value`, that of `"constant"`.

    >>> a, b = BufferExpr("a", "f4", 1), BufferExpr("b", "f4", 1)
    >>> pad(a, b, 2, 1, mode="edge")
    <Func b[x] = pad(a[max(a.dim(0).domain_min, min(a.dim(0).domain_max, x - 2)) .. \
min(a.dim(0).domain_max, max(a.dim(0).domain_min, x - 2))])>

    Raises `GraphError` for an unknown mode, ranks or dtypes that differ, or amounts that do not fit.
    """
    _same_rank("pad", source, target)
    lows, highs = (_amounts(given, source.rank, what) for given, what in ((before, "before"), (after, "after")))
    if not is_one_of(mode, NUMPY_RULES):
        raise GraphError(f"pad() knows the modes {', '.join(map(repr, NUMPY_RULES))} of np.pad, got {cited(mode)}")
    rule = NUMPY_RULES[mode]
    dims = _dims(target)
    domain = [source.dim(d).domain for d in range(source.rank)]
    whole = {
        d: Interval(i.min, i.max + low + high) for d, (i, low, high) in enumerate(zip(domain, lows, highs, strict=True))
    }
    access = Access(source, tuple(point(dim - low) for dim, low in zip(dims, lows, strict=True)))
    fill = fill_value(value, target.dtype, f"{target.name!r}") if rule is None else None
    padded = Source(access, tuple(domain), (rule,) * source.rank)
    return _func([padded], _access(target, dims), name, "pad", fill=fill, domains=whole)


def concatenate(sources: Sequence[BufferExpr], target: BufferExpr, *, axis: int = 0, name: str | None = None) -> Func:
    """Copy buffers one behind the other along a dimension, as `np.concatenate` does.

    Along the `axis` each begins where the one before ends, whatever its coordinates; in the other dimensions the
    coordinates are those of the target, and each source must have all that is asked for.

    >>> a, b, c = (BufferExpr(n, "f4", 2) for n in "abc")
    >>> concatenate([a, b], c).dims
    (<y>, <x>)

    Raises `GraphError` where there is no source, ranks or dtypes differ, or there is no such axis.
    """
    sources = _buffers("concatenate", sources)
    for source in sources:
        _same_rank("concatenate", source, target)
    axis = _axis("concatenate", axis, target.rank)
    dims = _dims(target)
    start = sources[0].dim(axis).domain.min
    end, found = start, []
    for source in sources:
        own = source.dim(axis).domain
        index = [point(dim + (own.min - end) if d == axis else dim) for d, dim in enumerate(dims)]
        edges = tuple(own if d == axis else None for d in range(target.rank))
        found.append(Source(Access(source, tuple(index)), edges, (None,) * target.rank))
        end = end + own.extent
    whole = Interval(start, end - 1)
    return _func(found, _access(target, dims), name, "concatenate", given={axis: whole})


def stack(sources: Sequence[BufferExpr], target: BufferExpr, *, axis: int = 0, name: str | None = None) -> Func:
    """Copy buffers to a new dimension, one for each coordinate from 0, as `np.stack` does.

    >>> a, b, c = BufferExpr("a", "f4", 1), BufferExpr("b", "f4", 1), BufferExpr("c", "f4", 2)
    >>> stack([a, b], c, axis=1)
    <Func c[y, x] = stack(a[y], b[y])>

    Raises `GraphError` where there is no source, ranks do not fit or dtypes differ, or there is no such axis.
    """
    sources = _buffers("stack", sources)
    _check_buffers("stack", target)
    axis = _axis("stack", axis, target.rank)
    for source in sources:
        if source.rank != target.rank - 1:
            raise GraphError(
                f"stack(): {source.name!r} has rank {source.rank}; to make {target.name!r} of rank {target.rank}, "
                f"it needs rank {target.rank - 1}"
            )
    dims = _dims(target)
    others = tuple(point(dim) for d, dim in enumerate(dims) if d != axis)
    found = [
        Source(Access(s, others), (None,) * s.rank, (None,) * s.rank, ((dims[axis], point(number)),))
        for number, s in enumerate(sources)
    ]
    whole = Interval(constant(0), constant(len(sources) - 1))
    return _func(found, _access(target, dims), name, "stack", given={axis: whole})


def transpose(
    source: BufferExpr,
    target: BufferExpr,
    *,
    axes: Sequence[int] | None = None,
    implementation: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Func:
    """Copy with the dimensions in another order, as `np.transpose` does: by default, reversed.

    `implementation` is as of `copy`.

    >>> a, b = BufferExpr("a", "f4", 2), BufferExpr("b", "f4", 2)
    >>> transpose(a, b)
    <Func b[y, x] = transpose(a[x, y])>

    Raises `GraphError` where ranks or dtypes differ, or the axes are no permutation.
    """
    _same_rank("transpose", source, target)
    order = list(range(source.rank))[::-1] if axes is None else _given_axes("transpose", axes, source.rank)
    if sorted(order) != list(range(source.rank)):
        raise GraphError(f"transpose(): the axes of {source.name!r} are 0 to {source.rank - 1}, each once, got {axes}")
    dims = _dims(target)
    index = tuple(point(dims[order.index(d)]) for d in range(source.rank))
    return _plain(Access(source, index), _access(target, dims), name, "transpose", implementation=implementation)


def broadcast(
    source: BufferExpr,
    target: BufferExpr,
    *,
    axes: Sequence[int] | None = None,
    implementation: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Func:
    """Copy the same elements again and again, as `np.broadcast_to` does.

    `axes` are the dimensions of the target along which nothing changes: those that the source lacks (by default the
    first ones), or, where the ranks are the same, those of which it has the first element read. `implementation` is as
    of `copy`.

    >>> row, image = BufferExpr("row", "f4", 1), BufferExpr("image", "f4", 2)
    >>> broadcast(row, image)
    <Func image[y, x] = broadcast(row[x])>

    Raises `GraphError` where ranks do not fit or dtypes differ.
    """
    _check_buffers("broadcast", source, target)
    missing = target.rank - source.rank
    chosen = list(range(missing)) if axes is None else _given_axes("broadcast", axes, target.rank)
    same = missing == 0
    if len(set(chosen)) != len(chosen) or not (same or len(chosen) == missing):
        raise GraphError(
            f"broadcast(): from rank {source.rank} of {source.name!r} to rank {target.rank} of {target.name!r} there "
            f"are {missing} new axes, got {chosen}"
        )
    dims = _dims(target)
    index = [
        point(source.dim(d).domain.min if d in chosen else dim) for d, dim in enumerate(dims) if same or d not in chosen
    ]
    return _plain(Access(source, tuple(index)), _access(target, dims), name, "broadcast", implementation=implementation)


def reshape(source: BufferExpr, target: BufferExpr, shape: Sequence[ExprLike], *, name: str | None = None) -> Func:
    """Copy to other dimensions, element after element in the order of rows, as `np.reshape` does.

    `shape` are the extents of the target, integers or expressions of scalars and of buffers' extents; one may be -1,
    for as much as is left. The coordinates of the target start at 0.

    >>> a, b = BufferExpr("a", "f4", 2), BufferExpr("b", "f4", 1)
    >>> a.dim(1).bounds = Interval(0, 9)
    >>> reshape(a, b, [-1]).dims
    (<x>,)

    Raises `GraphError` where the shape does not fit the rank of the target, or dtypes differ.
    """
    _check_buffers("reshape", source, target)
    domain = [source.dim(d).domain for d in range(source.rank)]
    extents = _extents(source, target, shape, [i.extent for i in domain])
    dims = _dims(target)
    flat: Expr = constant(0)
    for dim, extent in zip(dims, extents, strict=True):
        flat = flat * extent + dim
    index: list[Interval] = []
    size: Expr = constant(1)
    for d in reversed(range(source.rank)):
        own = _known_extent(source, d)
        place = flat // size
        index.insert(0, point(domain[d].min + (place if d == 0 else place % own)))
        size = size * own
    whole = {d: Interval(constant(0), extent - 1) for d, extent in enumerate(extents)}
    count = math.prod(extents, start=constant(1))
    fits = equal(math.prod((i.extent for i in domain), start=constant(1)), count)
    what = f"{source.name}, reshaped, must have as many elements as {target.name}: {count}"
    edges = tuple(None if d == 0 else i for d, i in enumerate(domain))  # remainders lie between them
    reshaped = Source(Access(source, tuple(index)), edges, (None,) * source.rank)
    return _func([reshaped], _access(target, dims), name, "reshape", given=whole, requires={fits: what})


def flip(
    source: BufferExpr,
    target: BufferExpr,
    *,
    axes: int | Sequence[int] | None = None,
    implementation: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Func:
    """Copy with the elements in reverse order along some dimensions, by default all, as `np.flip` does.

    `implementation` is as of `copy`.

    >>> a, b = BufferExpr("a", "f4", 1), BufferExpr("b", "f4", 1)
    >>> flip(a, b)
    <Func b[x] = flip(a[a.dim(0).domain_max + a.dim(0).domain_min - x])>

    Raises `GraphError` where ranks or dtypes differ, or there is no such axis.
    """
    _same_rank("flip", source, target)
    chosen = _axes("flip", axes, target.rank)
    dims = _dims(target)
    domain = [source.dim(d).domain for d in range(source.rank)]
    index = tuple(point(domain[d].min + domain[d].max - dim if d in chosen else dim) for d, dim in enumerate(dims))
    domains = {d: domain[d] for d in chosen}
    return _plain(
        Access(source, index), _access(target, dims), name, "flip", domains=domains, implementation=implementation
    )


def roll(
    source: BufferExpr,
    target: BufferExpr,
    shift: Amounts,
    *,
    axes: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Func:
    """Copy with the elements moved along some dimensions, by default all; what leaves one end comes in at the other.

    As `np.roll` with axes: `shift` is an integer or an expression of scalars, one for all `axes` or one for each.

    >>> a, b = BufferExpr("a", "f4", 1), BufferExpr("b", "f4", 1)
    >>> roll(a, b, 3).dims
    (<x>,)

    Raises `GraphError` where ranks or dtypes differ, or there is no such axis.
    """
    _same_rank("roll", source, target)
    chosen = _axes("roll", axes, target.rank)
    by = dict(zip(chosen, _amounts(shift, len(chosen), "shift"), strict=True))
    dims = _dims(target)
    domain = [source.dim(d).domain for d in range(source.rank)]
    index = tuple(point(dim - by[d] if d in by else dim) for d, dim in enumerate(dims))
    edges = tuple(domain[d] if d in by else None for d in range(source.rank))
    rules = tuple(Boundary.WRAP if d in by else None for d in range(source.rank))
    rolled = Source(Access(source, index), edges, rules)
    return _func([rolled], _access(target, dims), name, "roll", given={d: domain[d] for d in chosen})


# ----------------------------------------------------------------------------------------------------------------
# What they have in common
# ----------------------------------------------------------------------------------------------------------------


def _func(
    sources: Sequence[Source],
    target: Access,
    name: str | None,
    default: str,
    *,
    fill: Any = None,
    implementation: Callable[..., Any] | None = None,
    given: Mapping[int, Interval] | None = None,
    requires: Mapping[Condition, str] | None = None,
    domains: Mapping[int, Interval] | None = None,
) -> Func:
    """The func of a copy. The target has these domains then, by dimension, by default where elements are `given`."""
    if implementation is not None and not callable(implementation):
        raise GraphError(f"the implementation of a copy must be callable, got {cited(implementation)}")
    func = CopyFunc(
        sources,
        target,
        default if name is None else valid_name(name, "a func"),
        named=name is not None,
        fill=fill,
        implementation=implementation,
        given=given,
        requires=requires,
    )
    for d, i in {**(given or {}), **(domains or {})}.items():
        target.buffer.dim(d).domain = i
    return func


def _plain(
    source: Access,
    target: Access,
    name: str | None,
    default: str,
    *,
    domains: Mapping[int, Interval] | None = None,
    implementation: Callable[..., Any] | None = None,
) -> Func:
    """The func of a copy from a buffer that has all that is read."""
    rank = source.buffer.rank
    whole = Source(source, (None,) * rank, (None,) * rank)
    return _func([whole], target, name, default, domains=domains, implementation=implementation)


def _dims(target: BufferExpr) -> list[Expr]:
    """Variables for the dimensions of a target."""
    names = ("z", "y", "x")[-target.rank :] if 0 < target.rank <= 3 else [f"d{d}" for d in range(target.rank)]
    return [variable(name) for name in names]


def _access(target: BufferExpr, dims: Iterable[Expr]) -> Access:
    return Access(target, tuple(map(point, dims)))


def _check_buffers(what: str, *given: object) -> None:
    for buffer in given:
        if not isinstance(buffer, BufferExpr):
            raise GraphError(f"{what}() takes buffers, sl.BufferExpr, got {cited(buffer)}")


def _same_rank(what: str, source: BufferExpr, target: BufferExpr) -> None:
    _check_buffers(what, source, target)
    if source.rank != target.rank:
        raise GraphError(
            f"{what}(): {source.name!r} and {target.name!r} must have one rank, got {source.rank} and {target.rank}"
        )


def _buffers(what: str, given: object) -> list[BufferExpr]:
    if isinstance(given, BufferExpr) or not is_listed(given) or not (found := list(given)):
        raise GraphError(f"{what}() takes a list of buffers, one or more, got {cited(given)}")
    _check_buffers(what, *found)
    return found


def _axis(what: str, axis: object, rank: int) -> int:
    return _given_axes(what, [axis], rank)[0]


def _given_axes(what: str, axes: object, rank: int) -> list[int]:
    return listed_dimensions(axes, rank, _axes_of(what, rank))


def _axes(what: str, axes: object, rank: int) -> list[int]:
    found = chosen_dimensions(axes, rank, _axes_of(what, rank))
    if len(set(found)) != len(found):
        raise GraphError(f"{what}(): an axis stands twice in {axes!r}")
    return found


def _axes_of(what: str, rank: int) -> str:
    return f"{what}(): the axes of a buffer of rank {rank}"


def _amounts(given: object, count: int, what: str) -> list[Expr]:
    """One amount for each dimension."""
    if is_iterable(given) and not is_listed(given):
        raise GraphError(f"{what} is one amount, or a list of one for each of {count} dimensions, got {cited(given)}")
    amounts = list(given) if is_listed(given) else list(itertools.repeat(given, count))
    if len(amounts) != count:
        raise GraphError(f"{what} is one amount, or one for each of {count} dimensions, got {cited(given)}")
    try:
        return [as_expr(amount) for amount in amounts]
    except TypeError as error:
        raise GraphError(f"{what}: {error}") from None


def _known_extent(source: BufferExpr, d: int) -> Expr:
    """The extent of a dimension, a number where it was assigned as one; 1 where it is empty, for it is divided by."""
    assigned = {field: e for (dim, field), e in source.assigned.items() if dim == d}
    if "min" in assigned and "max" in assigned:
        return maximum(assigned["max"] - assigned["min"] + 1, 1)
    return maximum(assigned.get("extent", source.dim(d).domain.extent), 1)


def _extents(source: BufferExpr, target: BufferExpr, shape: Sequence[ExprLike], own: Sequence[Expr]) -> list[Expr]:
    """The extents of a reshaped buffer."""
    found = _amounts(shape, target.rank, "shape")
    unknown = [d for d, e in enumerate(found) if constant_value(e) == -1]
    least = min([constant_value(e) or 0 for e in found], default=0)
    if least < -1:
        raise GraphError(f"reshape(): an extent is 0 or more, or -1 for what is left, got {least}")
    if len(unknown) > 1:
        raise GraphError(f"reshape(): one extent can be -1, got {list(shape)}")
    if unknown:
        total: Expr = constant(1)
        for d in range(source.rank):
            total = total * _known_extent(source, d)
        for d, e in enumerate(found):
            total = total if d in unknown else total // maximum(e, 1)  # where it is 0, all is empty
        found[unknown[0]] = total
    return found
