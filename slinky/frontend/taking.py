"""Elements that integers choose along an axis, some rows of indices at a time.

Idea. `np.take` converts its indices to the integers of the machine before it begins: of bytes, it makes eight times
their memory. And it makes an array of what it finds, which is then written to where it belongs. Of some rows at a time
both are small, and stay in the cache. Of a table that is part of another array, it makes a copy first, which is more
than what is found where there are few indices: an index chooses the same of it.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

_AT_A_TIME = 1 << 16
"""So many elements are found at a time, or one row."""


@attrs.frozen
class Taking:
    """`np.take` along an axis."""

    axis: int
    mode: str

    def __call__(self, table: Any, indices: Any) -> Any:
        if self._are_few(table, indices):
            return table[(*(slice(None),) * self.axis, indices)]
        return np.take(table, indices, self.axis, mode=self.mode)  # type: ignore[call-overload]

    def _are_few(self, table: Any, indices: Any) -> bool:
        """Whether indices choose less of a table with gaps than there is, and an index takes them as `np.take` does."""
        return (
            self.mode == "raise"
            and not table.flags.c_contiguous
            and indices.ndim > 0
            and indices.size < table.shape[self.axis]
            and np.can_cast(indices.dtype, np.intp)
            and indices.dtype != np.bool_
        )

    def into(self, target: Any, table: Any, indices: Any) -> None:
        """Write what it gives."""
        count = indices.shape[0] if indices.ndim else 1
        rows = max(1, _AT_A_TIME * count // max(target.size, 1))
        if count <= rows:
            target[...] = self(table, indices)
            return
        before = (slice(None),) * self.axis
        for start in range(0, count, rows):
            some = slice(start, start + rows)
            target[(*before, some)] = self(table, indices[some])
