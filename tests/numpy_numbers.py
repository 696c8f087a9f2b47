"""What random programs are made of whose functions are given numbers beside arrays, and compute with them.

Idea. Numbers are told to a trace at each call, or are what it is good for. So they have kinds, Python's and NumPy's,
are computed with by operators, by functions of Python's and by ufuncs, meet arrays, and say where slices end and what
is done. Later calls are given others.

Invariant: an argument stays of its kind, and is another number for another seed, mostly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy_programs import SMALL_NUMBERS, made_array
from numpy_templates import NUMBERS_AMONG_ARRAYS, NUMBERS_IN_STATEMENTS, STATEMENTS, TEMPLATES

KINDS: dict[str, Any] = {
    "a float": float,
    "an int": int,
    "a bool": bool,
    "np.float64": np.float64,
    "np.float32": np.float32,
    "np.int64": np.int64,
    "np.uint8": np.uint8,
}
"""What makes numbers, by what `numbered` calls their dtypes."""

_VALUES = (0.0, 1.0, 2.0, 3.0, 0.5, 0.25, 1.5, 4.0, -1.0, -2.0, -0.5, -0.0, -2.25)


def numbered(dtype: str, shape: Sequence[int], seed: int) -> Any:
    """An array of small numbers, or a number of a kind."""
    if dtype not in KINDS:
        return made_array(dtype, shape, seed)
    value = _VALUES[seed % len(_VALUES)]
    return KINDS[dtype](abs(value) if dtype == "np.uint8" else value)


NUMBERED = attrs.evolve(
    SMALL_NUMBERS,
    made=numbered,
    templates=(*TEMPLATES, *NUMBERS_AMONG_ARRAYS),
    statements=(*STATEMENTS, *NUMBERS_IN_STATEMENTS),
    scalars=tuple(KINDS),
)
"""The same arrays and lines, and numbers."""
