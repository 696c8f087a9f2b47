"""Arrays in C: what stands for one in a line, and what is known of its dimensions.

An array is a small struct, passed by value: a crop or a window of a ring is another such struct, of which compilers see
through to a few integers in registers.

Invariant: what is known of a dimension holds wherever its text stands; None is what is not known.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import attrs

from slinky.native import sums
from slinky.native.integers import Whole
from slinky.native.sums import Sum

ARRAYS = """\
/* What is called from several places is compiled once, not for each of them. */
#ifdef __GNUC__
#define slinky_shared __attribute__((noinline))
#else
#define slinky_shared
#endif

/* A loop of so many iterations is a vector: for compilers that are asked by -fopenmp-simd. */
#ifdef SLINKY_SIMD
#define slinky_pragma(words) _Pragma(#words)
#define slinky_vectors(length) slinky_pragma(omp simd simdlen(length))
#else
#define slinky_vectors(length)
#endif

/* An array: where its elements are, how many, and how many bytes they lie apart along each dimension; and whether what
   is written to it goes past the caches. */
typedef struct {{ char *data; int64_t extents[{rank}]; int64_t strides[{rank}]; int streams; }} array;

/* The part of an array from one position of a dimension up to, not including, another. */
static inline array slinky_crop(array a, int d, int64_t first, int64_t stop)
{{
    a.data += first * a.strides[d];
    a.extents[d] = stop - first;
    return a;
}}

/* An array without a dimension, at a position of it. */
static inline array slinky_at(array a, int d, int64_t position)
{{
    a.data += position * a.strides[d];
    for (; d + 1 < {rank}; d++) {{
        a.extents[d] = a.extents[d + 1];
        a.strides[d] = a.strides[d + 1];
    }}
    return a;
}}

/* Some rows of a buffer, of which coordinates that lie so many bytes apart, if any, share memory. */
static inline array slinky_rows(array a, int d, int64_t wraps, int64_t first, int64_t count)
{{
    a.data += wraps ? slinky_remainder(first * a.strides[d], wraps) : first * a.strides[d];
    a.extents[d] = count;
    return a;
}}
"""
"""The struct, for so many dimensions, and what gives views."""


@attrs.frozen
class AxisText:
    """A dimension of an array in C, as far as it is known: how many positions it has, how many bytes these lie apart,
    and which dimension it is of the array from outside, of which it has the stride then."""

    extent: Sum | None = None
    stride: int | None = None
    origin: int | None = None


@attrs.frozen
class ArrayText:
    """An array in C; the name of the array from outside that it is of, if it is; the coordinates of its first element,
    if these are asked for; and what is known of its `axes`, of which so many of that array were dropped.

    It is a part of its `base`, if that is known, and begins so many elements behind it along each dimension, as its
    `offsets` say.

    With `rows`, its text is that of one of the rows along each of these dimensions, of which there are so many: how far
    it lies behind the first stands there as `@` and the number of the dimension.
    """

    text: str
    root: str
    rows: tuple[tuple[int, Whole], ...] = ()
    minima: tuple[Whole, ...] = ()
    axes: tuple[AxisText, ...] = ()
    dropped: int = 0
    base: Hashable = None
    offsets: tuple[Sum, ...] = ()

    def axis(self, d: int) -> AxisText:
        """What is known of a dimension."""
        return self.axes[d] if d < len(self.axes) else AxisText(origin=d + self.dropped)

    def cropped(self, d: int, extent: Sum) -> ArrayText:
        """The same, of so many positions in a dimension."""
        axes = [self.axis(e) for e in range(max(d + 1, len(self.axes)))]
        axes[d] = attrs.evolve(axes[d], extent=extent)
        return attrs.evolve(self, axes=tuple(axes))

    def without(self, d: int) -> ArrayText:
        """The same without a dimension."""
        axes = [self.axis(e) for e in range(max(d + 1, len(self.axes)))]
        offsets = [self.offset(e) for e in range(max(d + 1, len(self.offsets)))]
        base = None if self.base is None else (self.base, d, offsets[d])
        return attrs.evolve(
            self,
            axes=(*axes[:d], *axes[d + 1 :]),
            dropped=self.dropped + 1,
            base=base,
            offsets=(*offsets[:d], *offsets[d + 1 :]),
        )

    def offset(self, d: int) -> Sum:
        """How far it begins behind its base along a dimension."""
        return self.offsets[d] if d < len(self.offsets) else sums.number(0)

    def moved(self, d: int, by: Sum) -> ArrayText:
        """The same, beginning further behind its base."""
        offsets = [self.offset(e) for e in range(max(d + 1, len(self.offsets)))]
        offsets[d] += by
        return attrs.evolve(self, offsets=tuple(offsets))

    def seen(self, text: str, factors: Sequence[Sequence[int]], extents: Sequence[Whole]) -> ArrayText:
        """The same along other axes of these extents, as a text: `factors` say, for each of its own dimensions, how far
        a step along each axis goes in it."""
        axes: list[AxisText] = []
        for number, extent in enumerate(extents):
            terms = [(own[number], self.axis(d)) for d, own in enumerate(factors) if own[number]]
            strides = [factor * axis.stride for factor, axis in terms if axis.stride is not None]
            stride = sum(strides) if len(strides) == len(terms) else None
            origin = terms[0][1].origin if stride is None and [factor for factor, _ in terms] == [1] else None
            axes.append(AxisText(extent.sum, stride, origin))
        return ArrayText(text, self.root, axes=tuple(axes))


def axes_of(extents: Sequence[Whole], itemsize: int) -> tuple[AxisText, ...]:
    """What is known of the dimensions of an array without gaps."""
    found: list[AxisText] = []
    stride: int | None = itemsize
    for extent in reversed(extents):
        found.append(AxisText(extent.sum, stride))
        count = extent.sum.number()
        stride = None if stride is None or count is None else stride * count
    return tuple(found[::-1])


def strides_text(extents: Sequence[Whole], itemsize: int) -> list[str]:
    """How many bytes elements of an array without gaps lie apart along each dimension."""
    steps = [str(itemsize)]
    for extent in reversed(extents[1:]):
        steps.insert(0, f"{extent.atom} * {steps[0]}")
    return steps[: len(extents)]


def size_text(extents: Sequence[Whole], itemsize: int) -> str:
    """How many bytes an array takes, computed by `integers.SIZES`."""
    text = str(itemsize)
    for extent in extents:
        text = f"slinky_size({extent.text}, {text})"
    return text
