"""Kernels with the axes of their arrays in reverse (see `slinky.frontend.columns`).

Idea. What a kernel reads along each axis is said by its windows, which are taken in reverse. Its function is called
with the transposes of the pieces, which are views, and gives the transpose of the result; what it says of itself as
arithmetic stays the same arithmetic, in the same order.

Invariant: a kernel in reverse gives, for transposes, the transpose of what the kernel gives, in every bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.frontend.kernels import Array, Kernel, Understood


@attrs.frozen
class OfTransposes(Understood):
    """A function of arrays of a rank, called with their transposes."""

    function: Callable[..., Any]
    rank: int

    def __call__(self, *pieces: Array, **named: Any) -> Array:
        return np.asarray(self.function(*(piece.T for piece in pieces), **named)).T

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece, if that is said."""
        found: float | None = getattr(self.function, "effort_of_each", None)
        return found

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes line by line, if that is said."""
        found: int | None = getattr(self.function, "axis_of_lines", None)
        return None if found is None else self.rank - 1 - found

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """The same as arithmetic, if the function says that."""
        function: object = self.function
        return function.term(lambda place: at(place[::-1]), rank, dtype) if isinstance(function, Understood) else None


def reversed_kernel(kernel: Kernel, rank: int) -> Kernel | None:
    """A kernel for the transposes of arrays of a rank; None where its function takes its arrays in a way of its own."""
    if kernel.is_elementwise:
        return kernel
    if kernel.output is not None or kernel.arrays is not None:
        return None
    windows = kernel.windows(rank)[::-1]
    near = None if kernel.near_form is None else reversed_kernel(kernel.near_form, rank)
    return attrs.evolve(
        kernel,
        function=OfTransposes(kernel.function, rank),
        halo=tuple((window.before, window.after) for window in windows),
        axes=None,
        whole=tuple(d for d, window in enumerate(windows) if window.whole),
        rate=tuple(window.rate for window in windows),
        boundary=tuple(window.boundary for window in windows),
        near_form=near,
    )
