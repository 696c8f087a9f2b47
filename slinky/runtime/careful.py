"""Ufuncs that NumPy gets wrong where arrays are not contiguous.

Idea. `np.isfinite(x, out=flags[:, 0])` gives wrong flags for 16 elements and more of float32 and float64 (NumPy 2.4, on
processors with AVX2), and so do those that share its loops, which take the elements of an output to be neighbours.
`np.negative(a[:, 0], out=b[:, 0])` leaves elements as they were where those of `a` are just 64 bytes apart, or 16, and
those of `b` are no neighbours. But pieces are written to parts of arrays. So these are called for an array of their own
there, and that is copied.

Invariant: what `careful` gives writes what the ufunc gives for the same arrays without `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

_STRIDES = (16, 64)
"""How far the elements are apart of which `negative` leaves some out, in bytes."""


@attrs.frozen
class Careful:
    """One of these ufuncs: called with what it reads, and what it writes."""

    ufunc: np.ufunc

    @property
    def __name__(self) -> str:
        """The name of the ufunc."""
        return self.ufunc.__name__

    def __call__(self, operand: Any, out: Any, where: Any = True, **keywords: Any) -> None:
        is_plain = out.flags.c_contiguous and getattr(operand, "flags", out.flags).c_contiguous
        if where is True and (is_plain or (self.ufunc is np.negative and _is_negated_right(operand, out))):
            self.ufunc(operand, out=out, **keywords)
        else:
            np.copyto(out, self.ufunc(operand, **keywords), where=where)


def _is_negated_right(operand: Any, out: Any) -> bool:
    """Whether no axis is one along which elements are left out, in whatever order NumPy goes."""
    if not isinstance(operand, np.ndarray) or operand.ndim != out.ndim:
        return False
    itemsize = out.itemsize
    return all(o == itemsize or abs(i) not in _STRIDES for i, o in zip(operand.strides, out.strides, strict=True))


_WRONG = (np.isfinite, np.isinf, np.isnan, np.negative, np.signbit)
"""Of all ufuncs, these: each was tried with inputs and outputs of several layouts."""

_careful: dict[Any, Careful] = {ufunc: Careful(ufunc) for ufunc in _WRONG}


def careful(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may be given any part of an array to write to: itself, but for a few ufuncs."""
    return _careful.get(function, function) if isinstance(function, np.ufunc) else function


__all__ = ["Careful", "careful"]
