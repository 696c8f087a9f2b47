"""Boundary rules: what reads beyond the edges of a buffer give, and the names that people know them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from slinky.errors import GraphError, cited
from slinky.graph.axes import chosen_dimensions
from slinky.ir.given import is_iterable
from slinky.ir.operations import Boundary, FloatScalar
from slinky.symbolic.expressions import Constant, Expr, Scalar, constant
from slinky.symbolic.intervals import Interval
from slinky.unloaded import is_masked

CONSTANT = "constant"

RULES: dict[str, Boundary | None] = {
    CONSTANT: None,
    "grid-constant": None,
    "nearest": Boundary.NEAREST,
    "edge": Boundary.NEAREST,
    "reflect": Boundary.REFLECT,
    "symmetric": Boundary.REFLECT,
    "grid-mirror": Boundary.REFLECT,
    "mirror": Boundary.MIRROR,
    "wrap": Boundary.WRAP,
    "grid-wrap": Boundary.WRAP,
}
"""The rules by the names of `scipy.ndimage`, and NumPy's where these mean one thing only."""

NUMPY_RULES: dict[str, Boundary | None] = {
    CONSTANT: None,
    "edge": Boundary.NEAREST,
    "symmetric": Boundary.REFLECT,
    "reflect": Boundary.MIRROR,
    "wrap": Boundary.WRAP,
}
"""The rules by the names of `np.pad`."""

Rules: TypeAlias = "tuple[str | None, ...]"
"""Per dimension the name of a rule, or None where nothing is read beyond the edges."""


def rules_per_dimension(mode: object, dims: object, rank: int, name: str) -> Rules:
    """The rule of each dimension of a buffer: `mode` is a name for all `dims`, or has one name or None for each of all.

    Raises `GraphError` for unknown names, dimensions that there are not, or where no dimension is left.
    """
    what = f"the boundary of {name!r}"
    if isinstance(mode, str):
        chosen = chosen_dimensions(dims, rank, f"{what}: dims")
        given: Sequence[Any] = [mode if d in chosen else None for d in range(rank)]
    else:
        if dims is not None:
            raise GraphError(f"{what}: give dims together with one mode, or a mode for each dimension, not both")
        if not is_iterable(mode) or len(given := list(mode)) != rank:
            raise GraphError(
                f"{what} is a mode such as 'reflect', or one for each of {rank} dimensions, got {cited(mode)}"
            )
    for each in given:
        if each is not None and not (isinstance(each, str) and each in RULES):
            known = ", ".join(map(repr, RULES))
            raise GraphError(f"{what}: there is no mode {each!r}; the modes are {known}")
    if all(each is None for each in given):
        raise GraphError(f"{what}: no dimension of it is extended")
    return tuple(given)


def fill_value(value: object, dtype: np.dtype[Any], what: str) -> Any:
    """What fills elements of a dtype: a number that it holds, or a scalar of the pipeline.

    Raises `GraphError` for anything else.
    """
    if isinstance(value, FloatScalar) and dtype.kind not in "fc":
        raise GraphError(f"{what} is filled with the float {value}, which {dtype} does not hold")
    if isinstance(value, Scalar) and dtype.kind not in "biufc":
        raise GraphError(f"{what} is filled with the integer {value}, which {dtype} does not hold")
    if isinstance(value, (Scalar, FloatScalar)):
        return value
    if isinstance(value, Constant):
        value = value.value
    if is_masked(value):
        raise GraphError(f"{what} is filled with a number, got {cited(value)}, whose mask would be lost")
    if isinstance(value, Expr):
        raise GraphError(f"{what} is filled with a number or a scalar of the pipeline, got the expression {value}")
    try:
        given = np.asarray(value)
        with np.errstate(all="ignore"):
            held = np.asarray(value, dtype)
        fits = given.ndim == 0 and given.dtype.kind in "biufcmMSUV" and bool(_agree(given, held))
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise GraphError(f"{what} is filled with {cited(value)}, which {dtype} does not hold")
    return held[()]


def held_integers(dtype: np.dtype[Any]) -> Interval | None:
    """The integers that a dtype holds; None if it holds all that a run is given, if only nearly."""
    if dtype.kind == "b":
        return Interval(constant(0), constant(1))
    if dtype.kind not in "iu":
        return None
    limits = np.iinfo(dtype)
    return Interval(constant(int(limits.min)), constant(int(limits.max)))


def _agree(given: Any, held: Any) -> Any:
    """Whether a number is what was given, but for the precision of floats."""
    if held.dtype.kind in "fc" and given.dtype.kind in "biufc":
        return given.dtype.kind != "c" or held.dtype.kind == "c"
    return given == held
