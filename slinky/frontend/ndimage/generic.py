"""Filters by a function of a user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.kernels import Kernel, rank_of
from slinky.frontend.ndimage.steps import (
    Array,
    Fixed,
    all_axes,
    applied,
    axis_name,
    each_of,
    fixed,
    in_rank,
    local_filter,
    origins_in_rank,
    run,
    scipy_ndimage,
    window,
)


@attrs.frozen
class _Window:
    """A function of the elements under a footprint."""

    function: Any
    footprint: Fixed
    origin: tuple[int, ...]
    dtype: np.dtype[Any]
    arguments: tuple[Any, ...] = attrs.field(eq=False)
    keywords: Mapping[str, Any] = attrs.field(eq=False)

    def __call__(self, piece: Array) -> Any:
        return scipy_ndimage().generic_filter(
            piece,
            self.function,
            footprint=self.footprint.array,
            output=self.dtype,
            mode="nearest",
            origin=self.origin,
            extra_arguments=self.arguments,
            extra_keywords=dict(self.keywords),
        )


@local_filter
def generic_filter(
    input: Any,
    function: Callable[..., Any],
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
) -> Any:
    """A function of the elements in a window, as `scipy.ndimage.generic_filter` applies it.

    The function must have no state: of pieces, windows are computed in another order, some more than once.
    """
    rank = rank_of(input)
    chosen = all_axes(axes, rank)
    own = np.ones(each_of(size, len(chosen)), bool) if footprint is None else np.array(footprint, bool)
    own = in_rank(own, chosen, rank)
    origins = origins_in_rank(origin, chosen, rank)
    step = _Window(
        function, fixed(own), tuple(origins), output.dtype, tuple(extra_arguments), dict(extra_keywords or {})
    )
    halo = tuple(map(window, own.shape, origins))
    return applied(input, step, "generic_filter", output, halo=halo, modes=[mode] * rank, cval=cval)


@attrs.frozen
class _Lines:
    """A function of whole lines."""

    function: Any
    size: int
    axis: int
    dtype: np.dtype[Any]
    mode: str
    cval: Any
    origin: int
    arguments: tuple[Any, ...] = attrs.field(eq=False)
    keywords: Mapping[str, Any] = attrs.field(eq=False)

    def __call__(self, lines: Array) -> Any:
        return scipy_ndimage().generic_filter1d(
            lines,
            self.function,
            self.size,
            self.axis,
            self.dtype,
            self.mode,
            self.cval,
            self.origin,
            self.arguments,
            dict(self.keywords),
        )


@local_filter
def generic_filter1d(
    input: Any,
    function: Callable[..., Any],
    filter_size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Any:
    """A function of lines, as `scipy.ndimage.generic_filter1d` applies it.

    The function is given whole lines, and may do with them what it likes; so the axis is computed whole.
    """
    rank = rank_of(input)
    axis = axis % rank
    lines = _Lines(
        function,
        int(filter_size),
        axis,
        output.dtype,
        mode,
        cval,
        int(origin),
        tuple(extra_arguments),
        dict(extra_keywords or {}),
    )
    name = axis_name("generic", axis, rank)
    return run(Kernel(lines, name, whole=(axis,), dtype=output.dtype), (input,), output)


__all__ = ["generic_filter", "generic_filter1d"]
