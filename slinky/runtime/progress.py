"""A bar on the terminal that shows the share of the elements that a run has computed. Needs the extra `progress`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from slinky.errors import MissingExtraError
from slinky.runtime import forks
from slinky.runtime.statistics import Hooks, Span


@contextmanager
def progress_hooks(total: int, label: str, further: Hooks) -> Iterator[Hooks]:
    """Hooks that move a bar of this many elements, and then do what `further` does. The bar ends with the context.

    Raises `MissingExtraError` where tqdm is not installed.
    """
    bar = _bar(total, label)
    lock = forks.lock()

    def call_end(_func: str, box: Span) -> None:
        with lock:
            bar.update(math.prod(hi - lo + 1 for lo, hi in box))

    with bar:
        yield further.after(Hooks(call_end=call_end))


def _bar(total: int, label: str) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        raise MissingExtraError("progress=True", "progress", "tqdm") from None
    return tqdm(total=total, desc=label, unit=" elements", unit_scale=True)
