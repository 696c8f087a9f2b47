"""What functions of elements take on this machine: the exponential, sines, powers, of each type.

They differ more than all else that NumPy does: with vectors of a good library by a factor of ten from without, and from
one type to another as much. Each is measured the first time that somebody asks for it, on few enough elements to stay
near, and kept in the user's cache folder with what else is known of the machine.

Invariant: where it was kept, each process finds the same; nothing is measured that is not one of `FUNCTIONS`.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import numpy as np

from slinky.kept import replace_json
from slinky.sched.machines import kept_path, least_seconds, rounded

FUNCTIONS = frozenset(
    ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin",
     "arccos", "arctan", "arctan2", "hypot", "power", "cbrt", "logaddexp"]
)  # fmt: skip
"""The functions that are more than arithmetic, by the names that NumPy gives them."""

USUAL_SECONDS = 4e-9
"""What such a function takes for an element where nothing is measured."""

_ELEMENTS = 4096
_ARITHMETIC = "add"
"""What is taken off: to call NumPy, and to read and write the elements."""

_measured: dict[tuple[str | None, str], float] = {}
"""What this process knows: by the folder that it is kept in, and the key there."""


def element_seconds(name: str, dtype: np.dtype[Any]) -> float:
    """What NumPy takes for an element of a function of this name, beside what an addition takes; 0 of all others.

    `dtype` is that of the result; where it is not one of numbers, `USUAL_SECONDS`.
    """
    if name not in FUNCTIONS:
        return 0.0
    if dtype.kind not in "fc":
        return USUAL_SECONDS
    folder = os.environ.get("SLINKY_CACHE")
    key = f"{name}:{dtype.str[1:]}"
    if (folder, key) not in _measured:
        path = kept_path(folder, "functions")
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            _measured.update({(folder, each): abs(float(value)) for each, value in kept.items()})
        if (folder, key) not in _measured:
            more = _seconds(name, dtype) - _seconds(_ARITHMETIC, dtype)
            _measured[folder, key] = rounded(max(more / _ELEMENTS, 1e-11))
            with contextlib.suppress(OSError):  # it is measured again next time
                replace_json(path, {each: value for (where, each), value in _measured.items() if where == folder})
    return _measured[folder, key]


def usual_seconds(name: str, _: np.dtype[Any]) -> float:
    """The same for a machine that is not this one."""
    return USUAL_SECONDS if name in FUNCTIONS else 0.0


def _seconds(name: str, dtype: np.dtype[Any]) -> float:
    """To call a function on a few thousand elements."""
    function: np.ufunc = getattr(np, name)
    given = [np.linspace(0.1, 0.9, _ELEMENTS).astype(dtype)] * function.nin
    result = np.empty_like(given[0])
    try:
        return least_seconds(lambda: function(*given, out=result))
    except TypeError:  # there is none of complex numbers
        return _ELEMENTS * USUAL_SECONDS
