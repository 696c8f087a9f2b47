"""The local functions of `skimage.filters`, `exposure`, `color` and `morphology`, on arrays, buffers and lazy arrays.

Names, signatures and results are scikit-image's. On arrays, its functions are called. On a buffer of a graph
(`sl.BufferExpr`) a filter makes funcs, and returns the buffer that they write; in a function that `sl.jit` traces it
runs by pieces:

    edges = sl.skimage_filters.sobel(sl.skimage_filters.gaussian(image, 2))

Those of `skimage.filters.rank` are in `sl.skimage_filters.rank`.

What needs all of an image (thresholds, histograms) is here by its name, too: on lazy arrays it runs whole, on buffers
it is refused with the reason. `PIECES` says what holds for each function by pieces. Which functions there are, and what
they take, scikit-image says: it is asked for when one is first looked at, `pip install 'slinky[skimage]'`.
"""

from __future__ import annotations

import importlib
from typing import Any

from slinky.frontend.ndimage.table import Pieces
from slinky.frontend.skimage_filters.delegating import delegate
from slinky.frontend.skimage_filters.table import PIECES, TABLE, WHOLE

_NAMES = sorted(name for name in (*TABLE, *WHOLE) if "." not in name)

__all__ = ["PIECES", "Pieces", "rank", *_NAMES]


def __getattr__(name: str) -> Any:
    if name == "rank":
        return importlib.import_module(f"{__name__}.rank")
    if name not in TABLE and name not in WHOLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = delegate(name)
    return found


def __dir__() -> list[str]:
    return __all__
