"""Filters by a function of a user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from slinky.frontend.fixed import fixed
from slinky.frontend.kernels import rank_of
from slinky.frontend.ndimage.steps import (
    all_axes,
    applied,
    each_of,
    in_rank,
    local_filter,
    of_lines,
    origins_in_rank,
    run,
    step,
    window,
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
    given = step(
        "generic_filter",
        output,
        function=function,
        footprint=fixed(own),
        origin=tuple(origins),
        extra_arguments=tuple(extra_arguments),
        extra_keywords=dict(extra_keywords or {}),
    )
    halo = tuple(map(window, own.shape, origins))
    return applied(input, given, "generic_filter", output, halo=halo, modes=[mode] * rank, cval=cval)


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
    kernel = of_lines(
        "generic_filter1d",
        output,
        axis,
        rank,
        "generic",
        function=function,
        filter_size=int(filter_size),
        mode=mode,
        cval=cval,
        origin=int(origin),
        extra_arguments=tuple(extra_arguments),
        extra_keywords=dict(extra_keywords or {}),
    )
    return run(kernel, (input,), output)


__all__ = ["generic_filter", "generic_filter1d"]
