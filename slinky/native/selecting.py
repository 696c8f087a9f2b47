"""C that finds the element of a rank in a window: medians, and what else a sorted window has at a place.

Idea. The elements of a window are put in order by exchanges whose places are known beforehand, of which those are left
out that the rank does not need. Each exchange is a minimum and a maximum, of many windows at once. The network is
Batcher's odd-even merge sort ("Sorting networks and their applications", 1968). Floats are compared by their bits, as
integers in the same order.

Of a window with NaNs, or with zeros of both signs, which element is the one of the rank depends on who looks for it. So
windows with NaNs or a negative zero are looked at once more, alone, by the steps that SciPy takes (Hoare's selection,
with the first element as pivot); `selected` takes the same ones, so that SciPy can be compared with them.

Invariant: each element is that which `selected` gives for its window, in every bit.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.native.c_functions import CFunction, declared_kernel
from slinky.native.operators import C_TYPES

MOST_ELEMENTS = 128
"""Windows of more are not put in order by a network: its C grows faster than they do."""

MOST_HELD = 1 << 18
"""So many bytes of the lines of windows are held on the stack at most: threads have some that are not much larger."""

_BLOCK = 256
"""So many windows are looked at before it is seen whether one of them must be looked at again."""

_EXCHANGED = 4
"""So many minima and maxima take as long as to write an element."""

_KEYS = {
    np.dtype(np.float32): ("int32_t", "INT32_MAX", "0x7f800000"),
    np.dtype(np.float64): ("int64_t", "INT64_MAX", "0x7ff0000000000000"),
}
"""Of floats, the integers of the same size, the largest of these, and the bits of infinity."""


@attrs.frozen
class Exchange:
    """Two places of which the elements change places if the second is the smaller one; what is not needed of it is left
    out."""

    first: int
    second: int
    has_least: bool
    has_largest: bool


def exchanges(count: int, rank: int) -> tuple[Exchange, ...]:
    """What puts the element of a rank, counted from 0, of so many at the place of this number."""
    needed, found = {rank}, list[Exchange]()
    for first, second in reversed([each for each in _merged(0, _power(count)) if each[1] < count]):
        has_least, has_largest = first in needed, second in needed
        if has_least or has_largest:
            needed |= {first, second}
            found.append(Exchange(first, second, has_least, has_largest))
    return tuple(reversed(found))


def _power(count: int) -> int:
    """The least power of two that is at least a number."""
    return 1 << (count - 1).bit_length()


def _merged(begin: int, count: int) -> Iterator[tuple[int, int]]:
    """The exchanges that sort so many elements, a power of two."""
    if count > 1:
        half = count // 2
        yield from _merged(begin, half)
        yield from _merged(begin + half, half)
        yield from _merge(begin, count, 1)


def _merge(begin: int, count: int, apart: int) -> Iterator[tuple[int, int]]:
    """Those that merge two sorted halves, of the elements that are so far apart."""
    if 2 * apart < count:
        yield from _merge(begin, count, 2 * apart)
        yield from _merge(begin + apart, count, 2 * apart)
        for place in range(begin + apart, begin + count - apart, 2 * apart):
            yield place, place + apart
    else:
        yield begin, begin + apart


def selected(window: Sequence[float], rank: int) -> float:
    """The element of a rank, as SciPy finds it."""
    elements, low, high = list(window), 0, len(window) - 1
    while low < high:
        pivot, left, right = elements[low], low - 1, high + 1
        while True:
            right -= 1
            while elements[right] > pivot:
                right -= 1
            left += 1
            while elements[left] < pivot:
                left += 1
            if left >= right:
                break
            elements[left], elements[right] = elements[right], elements[left]
        if rank <= right - low:
            high = right
        else:
            rank -= right + 1 - low
            low = right + 1
    return elements[low]


_SELECTED = """\
static double {name}_again(double *of, ptrdiff_t high, ptrdiff_t rank)
{{
    ptrdiff_t low = 0;
    while (low < high) {{
        const double pivot = of[low];
        ptrdiff_t left = low - 1, right = high + 1;
        for (;;) {{
            do right--; while (isgreater(of[right], pivot));
            do left++; while (isless(of[left], pivot));
            if (left >= right) break;
            const double moved = of[left];
            of[left] = of[right];
            of[right] = moved;
        }}
        if (rank <= right - low) {{
            high = right;
        }} else {{
            rank -= right + 1 - low;
            low = right + 1;
        }}
    }}
    return of[low];
}}
"""


def has_function(dtype: np.dtype[Any], count: int, lines: int = 1, width: int = 1) -> bool:
    """Whether there is C for windows of so many elements of a dtype, in so many lines as wide as this: SciPy compares
    float64, which hold all of it."""
    is_held = dtype in _KEYS or (dtype.kind in "iu" and dtype.itemsize <= 4)
    held = lines * (_BLOCK + width - 1) * dtype.itemsize if dtype in _KEYS else 0
    return is_held and dtype.isnative and 1 < count <= MOST_ELEMENTS and held <= MOST_HELD


@functools.lru_cache(256)
def rank_function(dtype: np.dtype[Any], footprint: tuple[tuple[int, ...], bytes], rank: int) -> CFunction:
    """The function in C that writes the element of a rank of each window that is inside of an array; of the same
    footprint, its shape and its bools, and rank always the same one."""
    shape, inside = footprint
    places = [tuple(map(int, place)) for place in np.argwhere(np.frombuffer(inside, bool).reshape(shape))]
    told = f"{dtype.str} {shape} {inside.hex()} {rank}"
    name = f"rank_{rank}_of_{len(places)}_{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    source = _Text(name, dtype, shape, places, rank).source()
    arrays = {"a": (dtype, len(shape))}, {"out": (dtype, len(shape))}
    made = sum(each.has_least + each.has_largest for each in exchanges(len(places), rank))
    operations, again = max(made // _EXCHANGED, 1), (rank_function, (dtype, footprint, rank))
    return declared_kernel(source, name, *arrays, dense=1, again=again, operations=operations)


@attrs.frozen
class _Text:
    """The text of such a function, of windows of a shape, of which some `places` count."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    places: Sequence[tuple[int, ...]]
    rank: int

    def source(self) -> str:
        outer = len(self.shape) - 1
        lines = [f"int {self.name}(const slinky_buffer *a, const slinky_buffer *out)", "{"]
        lines.append(f"    const int64_t n = out->extent[{outer}];")
        for d in range(outer):
            lines.append(f"    for (int64_t i{d} = 0; i{d} < out->extent[{d}]; i{d}++)")
        at = "".join(f" + i{d} * {{0}}->stride[{d}]" for d in range(outer))
        lines += ["    {", f"        const char *from = (const char *)a->data{at.format('a')};"]
        lines.append(f"        {self._of} *to = ({self._of} *)((char *)out->data{at.format('out')});")
        for k, row in enumerate(self._rows):
            place = "".join(f" + {i} * a->stride[{d}]" for d, i in enumerate(row) if i)
            lines.append(f"        const {self._of} *row{k} = (const {self._of} *)(from{place});")
        body = self._of_floats() if self.dtype in _KEYS else self._of_integers()
        lines += [f"        {line}" for line in body]
        lines += ["    }", "    return 0;", "}"]
        text = "\n".join(lines) + "\n"
        return _SELECTED.format(name=self.name) + text if self.dtype in _KEYS else text

    @property
    def _of(self) -> str:
        return C_TYPES[self.dtype]

    @property
    def _rows(self) -> list[tuple[int, ...]]:
        """Where the lines of a window begin that have places which count."""
        return [row for row, _ in itertools.groupby(self.places, key=lambda place: place[:-1])]

    def _elements(self) -> Iterator[str]:
        """The elements of the window at x, of lines of this name."""
        rows = self._rows
        for place in self.places:
            yield f"row{rows.index(place[:-1])}[x + {place[-1]}]"

    def _of_integers(self) -> Iterator[str]:
        yield "for (int64_t x = 0; x < n; x++) {"
        yield from (f"    {line}" for line in self._exchanged(self._of, list(self._elements())))
        yield f"    to[x] = {self._last};"
        yield "}"

    def _of_floats(self) -> Iterator[str]:
        key, largest, infinity = _KEYS[self.dtype]
        more, count = self.shape[-1] - 1, len(self.places)
        yield f"for (int64_t begin = 0; begin < n; begin += {_BLOCK}) {{"
        yield f"    const int64_t count = n - begin < {_BLOCK} ? n - begin : {_BLOCK};"
        yield f"    {key} is_seldom = 0, keys[{len(self._rows)}][{_BLOCK + more}];"
        for k in range(len(self._rows)):
            yield f"    for (int64_t x = 0; x < count + {more}; x++) {{"
            yield f"        {key} bits;"
            yield f"        memcpy(&bits, row{k} + begin + x, sizeof bits);"
            yield f"        bits ^= bits < 0 ? {largest} : 0;"
            yield f"        is_seldom |= (bits == -1) | (bits > {infinity}) | (bits < -1 - {infinity});"
            yield f"        keys[{k}][x] = bits;"
            yield "    }"
        yield "    for (int64_t x = 0; x < count; x++) {"
        of_keys = [each.replace("row", "keys[").replace("[x", "][x", 1) for each in self._elements()]
        yield from (f"        {line}" for line in self._exchanged(key, of_keys))
        yield f"        const {key} bits = {self._last} ^ ({self._last} < 0 ? {largest} : 0);"
        yield "        memcpy(to + begin + x, &bits, sizeof bits);"
        yield "    }"
        yield "    for (int64_t x = begin; is_seldom && x < begin + count; x++) {"
        yield f"        double window[{count}];"
        yield "        int is_one = 0;"
        for n, element in enumerate(self._elements()):
            yield f"        window[{n}] = {element};"
        yield f"        for (int k = 0; k < {count}; k++)"
        yield "            is_one |= isnan(window[k]) || (window[k] == 0 && signbit(window[k]));"
        yield f"        if (is_one) to[x] = ({self._of}){self.name}_again(window, {count - 1}, {self.rank});"
        yield "    }"
        yield "}"

    @property
    def _last(self) -> str:
        return f"v{self.rank}"

    def _exchanged(self, of: str, elements: Sequence[str]) -> Iterator[str]:
        """The exchanges; then `v` of the rank is what is looked for."""
        for n, element in enumerate(elements):
            yield f"{of} v{n} = {element};"
        found = exchanges(len(elements), self.rank)
        if any(each.has_least and each.has_largest for each in found):
            yield f"{of} w;"
        for each in found:
            one, other = f"v{each.first}", f"v{each.second}"
            least, largest = f"{one} < {other} ? {one} : {other}", f"{one} < {other} ? {other} : {one}"
            if each.has_least and each.has_largest:
                yield f"w = {least}; {other} = {largest}; {one} = w;"
            elif each.has_least:
                yield f"{one} = {least};"
            else:
                yield f"{other} = {largest};"


__all__ = ["MOST_ELEMENTS", "MOST_HELD", "Exchange", "exchanges", "has_function", "rank_function", "selected"]
