"""What an element of a function's result reads along one axis of its arrays.

The result is made of blocks: `p` elements of it for every `q` elements of the array, where the rate is `p/q`. Element
`o` reads the block that it stands for, `q*(o//p) .. q*(o//p) + q - 1`, and the halo on both sides of it.

Invariant: `extent`, `first` and `interval` say the same, of NumPy's arrays and of buffers of a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import attrs

from slinky.errors import DeclarationError, cited
from slinky.symbolic.expressions import Expr, as_expr
from slinky.symbolic.intervals import Interval

Size: TypeAlias = "Callable[[Any], Any] | int | None"
"""How long a result is along a whole axis: as the array (None), so many elements, or a function of the array's."""


@attrs.frozen
class AxisWindow:
    """What one element of the result reads along an axis: `before` and `after` its block, or all (`whole`).

    `boundary` is the rule beyond the edges of the array, None where nothing is read there.
    """

    before: int = 0
    after: int = 0
    rate: Fraction = Fraction(1)
    whole: bool = False
    boundary: str | None = None
    size: Size = None

    @property
    def made(self) -> int:
        """Elements of the result in a block."""
        return self.rate.numerator

    @property
    def taken(self) -> int:
        """Elements of the array in a block, without the halo."""
        return self.rate.denominator

    @property
    def is_point(self) -> bool:
        """Whether an element reads the one at the same place, and nothing else."""
        return not self.whole and not self.before and not self.after and self.rate == 1

    @property
    def is_extended(self) -> bool:
        """Whether it reads beyond the edges of the array."""
        return self.boundary is not None and not self.whole and bool(self.before or self.after or self.taken > 1)

    @property
    def first(self) -> int:
        """Where the result begins if the array begins at 0: without a boundary, at the first window that is inside."""
        return 0 if self.whole or self.is_extended else self.made * -(-self.before // self.taken)

    def extent(self, n: int) -> int:
        """How long the result is along this axis for an array of `n` elements."""
        if self.whole:
            return n if self.size is None else _elements(self.size(n), n) if callable(self.size) else int(self.size)
        if self.is_extended:
            return self.made * -(-n // self.taken)
        last = (n - self.taken - self.after) // self.taken
        return self.made * max(last - -(-self.before // self.taken) + 1, 0)

    def padding(self, n: int) -> tuple[int, int]:
        """How many elements beyond an array of `n` are read before and after it, all in all (negative: fewer)."""
        if self.whole:
            return 0, 0
        blocks = self.extent(n) // self.made
        start = self.first // self.made * self.taken - self.before
        return -start, start + self.read(blocks) - n

    def read(self, blocks: int) -> int:
        """How many elements of the array so many blocks read."""
        return blocks * self.taken + self.before + self.after

    def interval(self, at: Expr) -> Interval:
        """What the element at a coordinate reads."""
        block = (at if self.made == 1 else at // self.made) * self.taken
        return Interval(as_expr(block - self.before), as_expr(block + (self.taken - 1 + self.after)))


def _elements(said: Any, n: int) -> int:
    """How many elements a function says that a result has. Raises `DeclarationError` for what is no such number."""
    try:
        if (found := int(said)) == said and found >= 0:
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    raise DeclarationError(f"size says how many elements a result has, 0 or more; of {n} it makes {cited(said)}")
