"""Ufuncs that NumPy gets wrong where their output is not contiguous.

Idea. `np.isfinite(x, out=flags[:, 0])` gives wrong flags for 16 elements and more of float32 and float64 (NumPy 2.4, on
processors with AVX2), and so do those that share its loops, which take the elements of an output to be neighbours. But
pieces are written to parts of arrays. So these are called for an array of their own there, and that is copied.

Invariant: what `careful` gives writes what the ufunc gives for the same arrays without `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

_WRONG = (np.isfinite, np.isinf, np.isnan, np.signbit)
"""Of all ufuncs, these: each was tried with inputs and outputs of several layouts."""


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
        if is_plain and where is True:
            self.ufunc(operand, out=out, **keywords)
        else:
            np.copyto(out, self.ufunc(operand, **keywords), where=where)


_careful: dict[Any, Careful] = {ufunc: Careful(ufunc) for ufunc in _WRONG}


def careful(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may be given any part of an array to write to: itself, but for a few ufuncs."""
    return _careful.get(function, function) if isinstance(function, np.ufunc) else function


__all__ = ["Careful", "careful"]
