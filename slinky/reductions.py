"""Funcs that reduce, and declare how: sums, products, extrema, means, variances, matrix products, softmax.

Each function makes a func of the graph that computes what its NumPy namesake does, and that `split_reduction` can take
to pieces: what it reads need then never be there in full. Reduced is what an access reads whole, or over an interval
without the target's variables; its names are those of the axes, `z`, `y`, `x` from the last one back (`d0`, `d1`, ...
beyond rank 3).

    total = sl.reductions.sum(image[y, :], sums[y])          # a sum of each row
    p = sl.split_reduction(sl.build_pipeline([image], [sums]), "sum", "x", 4096)

By pieces, integers, extrema and logic give what they give at once (of zeros of both signs, or of several NaNs, an
extremum may be another one). Floats are added in another order, and rounded elsewhere: nothing is taken to pieces there
unless `reassociate=True` says that this is all right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from slinky.errors import GraphError, cited
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.graph.reductions import Reduction
from slinky.ir.given import is_listed
from slinky.ir.reducing import Reducing
from slinky.reducing_stages import Combine, Dot, Place, SoftmaxDot, Variance, finish_alone, kept
from slinky.symbolic.expressions import Expr, Scalar, Variable, is_integer, linear
from slinky.symbolic.intervals import box_symbols

__all__ = ["argmax", "argmin", "dot", "mean", "reduce", "softmax_dot", "sum", "var"]

Array = np.ndarray[Any, Any]

_REDUCED: dict[np.ufunc, str] = {
    np.add: "add",
    np.multiply: "multiply",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.logical_and: "logical_and",
    np.logical_or: "logical_or",
    np.logical_xor: "logical_xor",
    np.bitwise_and: "bitwise_and",
    np.bitwise_or: "bitwise_or",
    np.bitwise_xor: "bitwise_xor",
    np.gcd: "gcd",
    np.logaddexp: "logaddexp",
    np.logaddexp2: "logaddexp2",
    np.hypot: "hypot",
}


def reduce(
    ufunc: np.ufunc,
    source: Access,
    target: Access,
    *,
    name: str | None = None,
    reassociate: bool = False,
    over: Sequence[str] | None = None,
) -> Func:
    """Combine elements by a ufunc, as `ufunc.reduce` does: `add`, `multiply`, `maximum`, `minimum`, `logical_and`,
    `logical_or`, `logical_xor`, `bitwise_and`, `bitwise_or`, `bitwise_xor`, `gcd`, `logaddexp`, `logaddexp2`, `hypot`.

    Parameters: an access of the source, in which what is reduced stands as `:` or an interval; an access of the target
    with the other dimensions, in the same order; the `name` of the func; `reassociate`, whether floats may be added or
    multiplied in another order; `over`, names for what is reduced, in order, instead of those of the axes. All is
    computed in the dtype of the target.

        >>> import slinky as sl, numpy as np
        >>> y = sl.variables("y")[0]
        >>> a, s = sl.BufferExpr("a", np.float32, 2), sl.BufferExpr("s", np.float32, 1)
        >>> sl.reductions.reduce(np.maximum, a[y, :], s[y])
        <Func s[y] = maximum(a[y, :])>

    Of no elements there is no extremum: a run then fails, as NumPy does, whether it takes pieces or not.

    Raises `GraphError` for another ufunc, accesses that do not fit, extrema of what has no largest value, a target of
    the logical ones that is not bool, or dtypes that the ufunc does not take.
    """
    if not isinstance(cast(object, ufunc), np.ufunc) or ufunc not in _REDUCED:
        raise GraphError(f"reduce() knows {', '.join(_REDUCED.values())}, got {cited(ufunc)}")
    axes = _reduced_axes(_REDUCED[ufunc], source, target)
    dtype = target.buffer.dtype
    if ufunc in (np.maximum, np.minimum) and not np.can_cast(source.buffer.dtype, dtype, "equiv"):
        raise GraphError(
            f"{_REDUCED[ufunc]}(): {source.buffer.name!r} is {source.buffer.dtype}, and its extrema are not {dtype}"
        )
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor) and dtype != np.bool_:
        raise GraphError(f"{_REDUCED[ufunc]}() gives bools, and {target.buffer.name!r} is {dtype}")
    combine = kept(Combine, ufunc, axes, _identity(ufunc, dtype))
    try:
        ufunc.resolve_dtypes((dtype, dtype, dtype))
    except TypeError as error:
        raise GraphError(f"{_REDUCED[ufunc]}() of {dtype}: {error}") from None
    _require_told(_REDUCED[ufunc], ufunc, dtype)
    is_extremum = ufunc in (np.maximum, np.minimum)
    is_rounded = dtype.kind in "fc" and not is_extremum
    return Func(
        Reducing(_REDUCED[ufunc], ufunc.reduce, axes, (("axis", axes), ("dtype", dtype))),
        [source],
        [target],
        _REDUCED[ufunc] if name is None else name,
        reduction=Reduction(
            _over(source, axes, over),
            [_state("partial", dtype, target)],
            combine.init,
            combine.take_one_more if is_extremum else combine.update,
            combine.finish_unless_none if is_extremum else finish_alone,
            merge=combine.merge_some if is_extremum else combine.merge,
            positions=is_extremum,
            exact=not is_rounded,
            reassociate=reassociate,
            combine=ufunc,
        ),
    )


def sum(source: Access, target: Access, *, name: str | None = "sum", reassociate: bool = False) -> Func:
    """Add elements, as `np.sum` does in the dtype of the target. `reduce` says what the parameters are.

        >>> import slinky as sl, numpy as np
        >>> a, s = sl.BufferExpr("a", np.uint8, 2), sl.BufferExpr("s", np.int64, 0)
        >>> sl.reductions.sum(a[:, :], s[()])
        <Func s[] = sum(a[:, :])>

    Raises `GraphError` for accesses that do not fit.
    """
    return reduce(np.add, source, target, name=name, reassociate=reassociate)


def _identity(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """What a ufunc gives of no elements, or what changes nothing where NumPy gives nothing."""
    if ufunc is np.bitwise_and:  # all bits, also of what has no negative numbers
        return np.invert(np.zeros((), dtype))
    if ufunc not in (np.maximum, np.minimum):
        return ufunc.identity
    largest = ufunc is np.minimum
    match dtype.kind:
        case "b":
            return largest
        case "i" | "u":
            limits = np.iinfo(dtype)
            return limits.max if largest else limits.min
        case "f":
            return np.inf if largest else -np.inf
    raise GraphError(f"{ufunc.__name__}() of {dtype} has no largest and least value to begin with")


def mean(
    source: Access,
    target: Access,
    *,
    name: str | None = "mean",
    reassociate: bool = False,
    over: Sequence[str] | None = None,
) -> Func:
    """The mean of elements, as `np.mean` gives it in the dtype of the target, a float.

        >>> import slinky as sl, numpy as np
        >>> y = sl.variables("y")[0]
        >>> a, m = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("m", np.float64, 1)
        >>> sl.reductions.mean(a[y, :], m[y], reassociate=True)
        <Func m[y] = mean(a[y, :])>

    Raises `GraphError` for accesses that do not fit, or a target that holds no floats.
    """
    axes = _reduced_axes("mean", source, target)
    dtype = _float_target("mean", target)
    _require_told("mean", np.add, dtype)
    combine = kept(Combine, np.add, axes, 0)
    return Func(
        Reducing("mean", np.mean, axes, (("axis", axes), ("dtype", dtype))),
        [source],
        [target],
        "mean" if name is None else name,
        reduction=Reduction(
            _over(source, axes, over),
            [_state("partial", dtype, target)],
            combine.init,
            combine.take_one_more,
            combine.divide,
            merge=combine.merge_some,
            positions=True,
            exact=False,
            reassociate=reassociate,
        ),
    )


def var(source: Access, target: Access, *, ddof: int = 0, name: str | None = "var", reassociate: bool = False) -> Func:
    """The variance of elements, as `np.var` gives it in the dtype of the target, a float; `ddof` as there.

    By pieces, it is put together of theirs (Chan, Golub and LeVeque, *Updating formulae and a pairwise algorithm for
    computing sample variances*, 1979), which loses no digits.

        >>> import slinky as sl, numpy as np
        >>> y = sl.variables("y")[0]
        >>> a, v = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("v", np.float64, 1)
        >>> sl.reductions.var(a[y, :], v[y], ddof=1, reassociate=True)
        <Func v[y] = var(a[y, :])>

    Raises `GraphError` for accesses that do not fit, or a target that holds no floats.
    """
    axes = _reduced_axes("var", source, target)
    dtype = _float_target("var", target)
    _require_told("var", np.add, dtype)
    if not is_integer(ddof):
        raise GraphError(f"var(): ddof must be an integer, got {cited(ddof)}")

    stages = kept(Variance, axes, dtype, int(ddof))
    return Func(
        Reducing("var", np.var, axes, (("axis", axes), ("ddof", int(ddof)), ("dtype", dtype))),
        [source],
        [target],
        "var" if name is None else name,
        reduction=Reduction(
            _over(source, axes),
            [_state("mean", dtype, target), _state("squares", dtype, target)],
            stages.init,
            stages.update,
            stages.finish,
            merge=stages.merge,
            positions=True,
            exact=False,
            reassociate=reassociate,
        ),
    )


def argmax(source: Access, target: Access, *, name: str | None = "argmax", over: Sequence[str] | None = None) -> Func:
    """The place of the first largest element along one axis, as `np.argmax` gives it: from 0 on.

        >>> import slinky as sl, numpy as np
        >>> y = sl.variables("y")[0]
        >>> a, i = sl.BufferExpr("a", np.float32, 2), sl.BufferExpr("i", np.intp, 1)
        >>> sl.reductions.argmax(a[y, :], i[y])
        <Func i[y] = argmax(a[y, :])>

    Raises `GraphError` for accesses that do not fit, several reduced axes, or a target that is not `np.intp`.
    """
    return _place("argmax", np.argmax, np.greater, source, target, name, over)


def argmin(source: Access, target: Access, *, name: str | None = "argmin", over: Sequence[str] | None = None) -> Func:
    """The place of the first least element along one axis, as `np.argmin` gives it: from 0 on.

        >>> import slinky as sl, numpy as np
        >>> y = sl.variables("y")[0]
        >>> a, i = sl.BufferExpr("a", np.float32, 2), sl.BufferExpr("i", np.intp, 1)
        >>> sl.reductions.argmin(a[y, :], i[y])
        <Func i[y] = argmin(a[y, :])>

    Raises `GraphError` for accesses that do not fit, several reduced axes, or a target that is not `np.intp`.
    """
    return _place("argmin", np.argmin, np.less, source, target, name, over)


def _place(
    what: str,
    find: Callable[..., Any],
    is_better: np.ufunc,
    source: Access,
    target: Access,
    name: str | None,
    over: Sequence[str] | None,
) -> Func:
    axes = _reduced_axes(what, source, target)
    if len(axes) != 1 or target.buffer.dtype != np.intp:
        raise GraphError(f"{what}() is along one axis, and gives np.intp: got {source} and {target.buffer.dtype}")
    (axis,) = axes
    stages = kept(Place, what, find, is_better, axis, source.buffer.dtype.kind in "fcmM")
    return Func(
        stages.whole,
        [source],
        [target],
        what if name is None else name,
        reduction=Reduction(
            _over(source, axes, over),
            [_state("best", source.buffer.dtype, target), _state("place", np.dtype(np.intp), target)],
            stages.init,
            stages.update,
            stages.finish,
            merge=stages.merge,
            positions=True,
        ),
    )


def dot(a: Access, b: Access, target: Access, *, name: str | None = "dot", reassociate: bool = False) -> Func:
    """The product of two matrices, `target[i, j] = dot(a[i, :], b[:, j])`, as `np.matmul` gives it.

    The name of what is reduced is `k`.

        >>> import slinky as sl, numpy as np
        >>> i, j = sl.variables("i j")
        >>> a, b, c = (sl.BufferExpr(name, np.float32, 2) for name in "abc")
        >>> sl.reductions.dot(a[i, :], b[:, j], c[i, j], reassociate=True)
        <Func c[i, j] = dot(a[i, :], b[:, j])>

    By pieces, `a` and `b` must be known to be as long as each other: where the pipeline is made, by
    `require=[sl.equal(a.dim(1).extent, b.dim(0).extent)]`.

    Raises `GraphError` for accesses that are no such product, or dtypes that differ.
    """
    _matrices("dot", a, b, target)
    dtype = target.buffer.dtype

    stages = kept(Dot)
    return Func(
        stages.whole,
        [a, b],
        [target],
        "dot" if name is None else name,
        reduction=Reduction(
            {"k": (1, 0)},
            [_state("partial", dtype, target)],
            stages.init,
            stages.update,
            finish_alone,
            merge=stages.merge,
            exact=dtype.kind in "biu",
            reassociate=reassociate,
        ),
    )


def softmax_dot(
    scores: Access, values: Access, target: Access, *, name: str | None = "softmax_dot", reassociate: bool = False
) -> Func:
    """Means of `values[k, j]`, weighted by the softmax over `k` of `scores[i, k]`: the second half of attention.

    The name of what is reduced is `k`. By pieces, weights are relative to the largest score so far, and what there is
    is scaled when a larger one comes (Milakov and Gimelshein, *Online normalizer calculation for softmax*, 2018), so
    that scores need never be there in full.

        >>> import slinky as sl, numpy as np
        >>> i, j = sl.variables("i j")
        >>> s, v, o = (sl.BufferExpr(name, np.float32, 2) for name in "svo")
        >>> sl.reductions.softmax_dot(s[i, :], v[:, j], o[i, j], reassociate=True)
        <Func o[i, j] = softmax_dot(s[i, :], v[:, j])>

    A row of scores that are all `-inf` gives NaN, as softmax does.

    Raises `GraphError` for accesses that are no such product, dtypes that differ, or that are no floats.
    """
    _matrices("softmax_dot", scores, values, target)
    dtype = _float_target("softmax_dot", target)
    i = scores.box[0]
    assert i is not None

    stages = kept(SoftmaxDot)
    row = BufferExpr("largest", dtype, 1), BufferExpr("weight", dtype, 1)
    return Func(
        stages.whole,
        [scores, values],
        [target],
        "softmax_dot" if name is None else name,
        reduction=Reduction(
            {"k": (1, 0)},
            [_state("total", dtype, target), *(Access(buffer, (i,)) for buffer in row)],
            stages.init,
            stages.update,
            stages.finish,
            merge=stages.merge,
            exact=False,
            reassociate=reassociate,
        ),
    )


# ----------------------------------------------------------------------------------------------------------------
# Accesses
# ----------------------------------------------------------------------------------------------------------------


def _reduced_axes(what: str, source: Access, target: Access) -> tuple[int, ...]:
    """The axes of a source that a target has not. Raises `GraphError` where the others are not those of the target."""
    for access in (source, target):
        if not isinstance(access, Access):
            raise GraphError(f"{what}() takes accesses, such as a[y, :] and s[y], got {cited(access)}")
    wanted = [i.min for i in target.box if i is not None]
    for e in box_symbols([i for i in source.box if i is not None]):
        if isinstance(e, Variable) and not isinstance(e, Scalar) and e not in wanted:
            raise GraphError(f"{what}(): {e} is no dimension of {target}; write : for what is reduced")
    axes: list[int] = []
    others: list[Expr] = []
    for axis, i in enumerate(source.box):
        moving = [] if i is None else [s for s in box_symbols([i]) if s in wanted]
        if not moving:
            axes.append(axis)
            continue
        assert i is not None
        if i.min is not i.max or len(moving) != 1 or dict(linear(i.min)[1]).get(moving[0]) != 1:
            raise GraphError(f"{what}(): dimension {axis} of {source} must be a point such as {moving[0]}, or reduced")
        others.append(moving[0])
    if others != wanted:
        raise GraphError(
            f"{what}(): what {source} does not reduce must be the dimensions of {target}, in this order; what is "
            f"reduced stands as : or an interval"
        )
    if not axes:
        raise GraphError(f"{what}(): {source} reduces nothing; write : for what is reduced")
    return tuple(axes)


def _over(source: Access, axes: Sequence[int], given: Sequence[str] | None = None) -> dict[str, int]:
    if given is not None:
        own = list(given) if is_listed(given) else []
        if len(own) != len(axes) or not all(isinstance(name, str) for name in own) or len(set(own)) != len(axes):
            raise GraphError(f"what {source} reduces has {len(axes)} different names, got {cited(given)}")
        return dict(zip(own, axes, strict=True))
    rank = source.buffer.rank
    names = ("z", "y", "x")[-rank:] if rank <= 3 else tuple(f"d{d}" for d in range(rank))
    return {names[axis]: axis for axis in axes}


def _state(name: str, dtype: np.dtype[Any], target: Access) -> Access:
    """A state along all dimensions of a target."""
    return Access(BufferExpr(name, dtype, target.buffer.rank), target.box)


def _float_target(what: str, target: Access) -> np.dtype[Any]:
    dtype = target.buffer.dtype
    if dtype.kind != "f":
        raise GraphError(f"{what}() gives floats, and {target.buffer.name!r} is {dtype}")
    return dtype


def _require_told(what: str, ufunc: np.ufunc, dtype: np.dtype[Any]) -> None:
    """Refuse a dtype that NumPy's reductions cannot be told: one of another byte order, or with a unit of time."""
    loop = (dtype, dtype, dtype)
    try:
        ufunc.resolve_dtypes(loop, signature=loop)
    except TypeError:
        raise GraphError(
            f"{what}() of {dtype}: NumPy's reductions are told neither another byte order nor a unit of time"
        ) from None


def _matrices(what: str, a: Access, b: Access, target: Access) -> None:
    """Raise `GraphError` unless these are `a[i, :]`, `b[:, j]` and `c[i, j]` of one dtype."""
    for access in (a, b, target):
        if not isinstance(access, Access):
            raise GraphError(f"{what}() takes accesses, such as a[i, :], b[:, j] and c[i, j], got {cited(access)}")
    is_product = (
        len(a.box) == len(b.box) == len(target.box) == 2
        and None not in (a.box[0], b.box[1], *target.box)
        and a.box[0] == target.box[0]
        and b.box[1] == target.box[1]
    )
    if not is_product:
        raise GraphError(f"{what}(): {target} is no product of {a} and {b}; write c[i, j] of a[i, :] and b[:, j]")
    dtypes = {access.buffer.dtype for access in (a, b, target)}
    if len(dtypes) != 1:
        raise GraphError(f"{what}() takes one dtype, got {', '.join(sorted(map(str, dtypes)))}")
