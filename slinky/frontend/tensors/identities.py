"""What stands for a node or a size in pickles and deep copies.

Invariant: what stands there several times, because several tensors have to do with it, comes again once.
"""

from __future__ import annotations

from typing import Any


class Identity:
    """Itself in one pickle or copy, however often it stands there; `made` is what was made again for it."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Identity, ()
