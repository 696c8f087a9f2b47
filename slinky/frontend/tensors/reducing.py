"""Reductions of tensors: which node each is, with the dtype that NumPy gives.

Invariant: what `slinky.reductions` would refuse is refused here, where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import methodcaller
from typing import Any, Literal

import numpy as np

from slinky import reductions
from slinky.errors import GraphError, TensorError, TensorSizeError, cited
from slinky.frontend.tensors.dimensions import listed
from slinky.frontend.tensors.equations import Sizes
from slinky.frontend.tensors.nodes import Elementwise, Node, Reduced
from slinky.graph.buffers import BufferExpr
from slinky.symbolic.expressions import Variable

_SHORT: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}
_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


def along(source: Node, over: Sequence[object], what: str) -> tuple[Variable, ...]:
    """The dimensions that are named, in the order of the tensor; all if none is.

    Raises `TensorError` for what is no dimension of it.
    """
    for each in over:
        if not any(each is dim for dim in source.dims):
            raise TensorError(
                f"{what} is along dimensions of {source.title}, [{listed(source.dims)}], got {listed([each])}"
            )
    return tuple(dim for dim in source.dims if dim in over or not over)


def converted(source: Node, dtype: np.dtype[Any]) -> Node:
    """The elements as elements of another dtype."""
    return Elementwise("astype", methodcaller("astype", dtype), [source])


def combined(source: Node, ufunc: object, over: Sequence[object], what: str, *, reassociate: bool = False) -> Node:
    """Elements combined by a ufunc; `what` is what the user calls that.

    Raises `TensorError` for what is no associative ufunc, or does not take the elements.
    """
    _require_flag(reassociate, what)
    if not isinstance(ufunc, np.ufunc):
        raise TensorError(f"reduce() takes a ufunc, such as np.maximum, got {cited(ufunc)}")
    dims = along(source, over, what)
    if ufunc in _LOGICAL and source.dtype != bool:
        source = converted(source, np.dtype(bool))
    try:
        dtype = np.asarray(ufunc.reduce(np.ones(1, source.dtype))).dtype
        elements, total = BufferExpr("elements", source.dtype, 1), BufferExpr("total", dtype, 0)
        reductions.reduce(ufunc, elements[:], total[()])
    except (TypeError, ValueError) as error:
        raise TensorError(f"np.{ufunc.__name__} does not reduce {source.title} of {source.dtype}: {error}") from None
    if not dims:
        return converted(source, dtype)
    name = _SHORT.get(ufunc, ufunc.__name__)
    return Reduced("reduce", source, dims, dtype, name, ufunc=ufunc, reassociate=reassociate)


def averaged(source: Node, over: Sequence[object], *, reassociate: bool) -> Node:
    """The mean of elements. Raises `TensorError` for those that are no real numbers."""
    _require_flag(reassociate, "mean")
    dims = along(source, over, "mean")
    if source.dtype.kind not in "biuf":
        raise TensorError(f"mean() takes real numbers, and {source.title} is {source.dtype}")
    dtype = source.dtype.newbyteorder("=") if source.dtype.kind == "f" else np.dtype(np.float64)
    if not dims:
        return converted(source, dtype)
    if dtype == np.float16:  # NumPy adds these in float32
        wide = converted(source, np.dtype(np.float32))
        return converted(Reduced("mean", wide, dims, wide.dtype, "mean", reassociate=reassociate), dtype)
    return Reduced("mean", source, dims, dtype, "mean", reassociate=reassociate)


def require_elements(nodes: Iterable[Node], sizes: Sizes) -> None:
    """Raises `TensorSizeError` where a node is the largest of no elements, say, of which there is none."""
    for node in nodes:
        if not isinstance(node, Reduced) or node.kind == "mean" or (node.ufunc and node.ufunc.identity is not None):
            continue
        (source,) = node.operands
        empty = [u.of for u, n in zip(source.sizes, sizes.of(source.sizes), strict=True) if n == 0]
        if empty and all(sizes.of(node.sizes)):
            raise TensorSizeError(
                f"{node.title} is along {listed(node.over)}, where {source.title} has no elements ({empty[0]} == 0), "
                f"and {node.operation} of none has no identity"
            )


def _require_flag(reassociate: object, what: str) -> None:
    if not isinstance(reassociate, (bool, np.bool_)):
        raise TensorError(f"reassociate of {what}() must be True or False, got {cited(reassociate)}")


def placed(kind: Literal["argmax", "argmin"], source: Node, over: object) -> Node:
    """The place of the first extremum along a dimension.

    Raises `TensorError` for elements that have no order.
    """
    dims = along(source, (over,), kind)
    elements, place = BufferExpr("elements", source.dtype, 1), BufferExpr("place", np.intp, 0)
    try:
        (reductions.argmax if kind == "argmax" else reductions.argmin)(elements[:], place[()])
    except GraphError as error:
        raise TensorError(str(error)) from None
    return Reduced(kind, source, dims, np.dtype(np.intp), kind)
