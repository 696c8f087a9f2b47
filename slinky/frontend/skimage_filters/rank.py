"""The filters of `skimage.filters.rank`, on arrays, buffers and lazy arrays.

They are as those of `sl.skimage_filters`, and have names of their own, for some of them are called like these.
"""

from __future__ import annotations

from typing import Any

from slinky.frontend.skimage_filters.delegating import delegate
from slinky.frontend.skimage_filters.table import TABLE, WHOLE

__all__ = sorted(name.removeprefix("rank.") for name in (*TABLE, *WHOLE) if name.startswith("rank."))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = delegate(f"rank.{name}")
    return found


def __dir__() -> list[str]:
    return __all__
