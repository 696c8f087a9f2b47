"""The boxes of a call in all iterations of the loops around it, and what is counted of them.

Invariant: what is counted is exact, or `TooManyError` is raised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from slinky.runtime.iterations import Nest
from slinky.runtime.lengths import Form
from slinky.runtime.ramps import Array, Number, greatest
from slinky.runtime.spans import Span


class Boxes:
    """The boxes of a call in all iterations.

    Where no loop is one that two dimensions go by, and the call stands in all iterations, sums over iterations are
    products of sums: then `times` is in how many iterations of other loops it stands; else it is None.
    """

    __slots__ = ("dims", "nest", "times")

    def __init__(self, dims: list[Span], nest: Nest) -> None:
        self.dims = dims
        self.nest = nest
        self.times: int | None = None
        if nest.masks:
            return
        times, seen = math.prod(nest.sizes), 0
        for dim in dims:
            own = dim.loops
            if own:
                if own & seen:
                    return
                seen |= own
                if dim.always is None:
                    times //= dim.iterations
        self.times = times

    def conditions(self) -> list[Array]:
        """Where the dimensions are not empty, of those that are empty in some iterations."""
        return [where for where in (dim.condition() for dim in self.dims) if where is not None]

    def calls(self) -> int:
        """In how many iterations no dimension is empty."""
        if self.times is None:
            return self.nest.total(self.conditions())
        number = self.times
        for dim in self.dims:
            number *= dim.count
        return number

    def points(self, forms: Sequence[Form]) -> int:
        """How many points regions of these forms have in all."""
        if self.times is not None:
            number, summed = self.times, 0
            for position, factor, offset in forms:
                if position < 0:
                    number *= max(offset, 0)
                    continue
                dim = self.dims[position]
                if dim.always is not None:
                    number *= max(factor * dim.always + offset, 0)
                elif factor + offset >= 0 and not summed >> position & 1:
                    summed |= 1 << position
                    number *= factor * dim.sum + offset * dim.count
                else:
                    break
            else:
                for position, dim in enumerate(self.dims):
                    if not summed >> position & 1:
                        number *= dim.count
                return number
        return self.sum_of_products([greatest(self.extent(form), 0) for form in forms])

    def extent(self, form: Form) -> Number:
        """How long a region is in each iteration."""
        position, factor, offset = form
        return offset if position < 0 else factor * self.dims[position].extent() + offset

    def sum_of_products(self, extents: Sequence[Number]) -> int:
        """The sum of the products of numbers, over the iterations in which no dimension is empty."""
        return self.nest.total([*self.conditions(), *extents])

    def most(self, value: Number) -> int:
        """The greatest of a value, over the iterations in which no dimension is empty."""
        return self.nest.extremes(0, value, self.conditions())[1]

    def hull(self) -> list[tuple[int, int]]:
        """The smallest box that holds all of them."""
        if self.times is None:
            conditions = self.conditions()
            return [self.nest.extremes(dim.low, dim.high, conditions) for dim in self.dims]
        return [dim.hull() for dim in self.dims]
