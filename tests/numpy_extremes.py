"""What random programs of NumPy are made of at the ends of dtypes, and in larger arrays.

Idea. Small numbers, whose sums are exact, say whether the right elements are combined. They do not say what becomes of
NaN, infinities, zeros of both signs, subnormal numbers, and the least and greatest integers, which each loop in C must
treat as NumPy does. Half of the elements of these arrays are such; others are random bits. Sizes lie around those at
which loops change: vectors, and the 256 columns of a tile. Arrays may have elements that are not aligned, or be such
that nobody may write to them.

Invariant: with `exact=True`, each line has NumPy's bits, for it gives the same each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy_templates import STATEMENTS, TEMPLATES, Material, Template

Array = np.ndarray[Any, Any]

_BY_LIBRARY = re.compile(r"1j|0j|complex|fft|linalg|dot|@|einsum|inner|corr|cov|convolve|mat|vec|kron|angle")
"""Lines whose sums have an order of their own wherever an array lies in memory, and complex numbers."""
_ENDLESS = re.compile(r"wrap|bincount|index")
"""Lines that NumPy itself needs years or all memory for, if integers are large."""
_EITHER_ZERO = re.compile(r"max|min|sort|median|percentile|quantile|ptp|partition|unique|isin|digitize|outer|set")
"""What gives either of two zeros that are equal: NumPy's own choice depends on where in an array they are."""


def extreme_array(dtype: str, shape: Sequence[int], seed: int) -> Array:
    """An array of numbers at the ends of a dtype, and of random bits, some with layouts of their own."""
    of = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    layout = seed % 7
    full = [2 * n if layout == 1 and n else n for n in shape]
    bits = rng.integers(0, 256, (*full, of.itemsize), np.uint8)
    random = np.ascontiguousarray(bits).view(of)[..., 0] if of.kind != "b" else bits[..., 0] > 127
    array = np.where(rng.random(full) < 0.6, rng.choice(_ends(of), full), random).astype(of)
    match layout:
        case 1:
            array = array[tuple(slice(None, None, 2) if n else slice(None) for n in shape)]
        case 2:
            array = np.asfortranarray(array)
        case 3 if array.ndim:
            array = array[::-1]
        case 4 if array.ndim:
            array = array[..., ::-1]
        case 5:
            moved = np.zeros(array.nbytes + 1, np.uint8)[1:].view(of).reshape(array.shape)
            moved[...] = array
            array = moved
        case 6:
            array.flags.writeable = False
    return array


def _ends(dtype: np.dtype[Any]) -> Array:
    """Numbers at the ends of a dtype, and small ones."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        ends = [
            limits.max,
            limits.tiny,
            limits.smallest_subnormal,
            limits.eps,
            np.inf,
            np.float64(0.0),
            0.5,
            1.5,
            2.5,
            3,
        ]
        found = np.array(ends, dtype)
        return np.concatenate([found, -found, np.array([np.nan, 127, 128, 255, 256, 32768, 65504], dtype)])
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, most, most - 1, most // 2, least, least + 1]
    return np.array(ends + [-1, -2, -7, -64] * (least < 0), dtype)


def _exact(templates: Sequence[Template]) -> tuple[Template, ...]:
    """The same lines, whatever they round: as one piece, functions have NumPy's bits."""
    found = (each for each in templates if not _BY_LIBRARY.search(each.text) and not _ENDLESS.search(each.text))
    return tuple(attrs.evolve(each, rounds=False, sharp=False) for each in found)


def tells_zeros_apart(source: str) -> bool:
    """Whether a program gives zeros the signs that NumPy gives them."""
    return not _EITHER_ZERO.search(source)


EXTREMES = Material(
    dtypes=("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
            "float32", "float64", "float64"),
    sizes=(0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 257, 300),
    most=5000,
    made=extreme_array,
    templates=_exact(TEMPLATES),
    statements=_exact(STATEMENTS),
    numbers=("0", "1", "2", "-1", "3", "0.5", "1.5", "-0.25", "True", "-0.0", "np.nan", "np.inf", "127", "-128",
             "65536", "np.float16(3)", "np.float32(1.25)", "np.int16(3)", "np.float64(0.125)", "np.uint8(2)"),
    are_extreme=True,
)  # fmt: skip
