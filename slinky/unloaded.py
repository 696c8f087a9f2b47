"""Is a value of a kind whose module is loaded when somebody first asks for it? Asked without loading the module.

To name `np.ma.MaskedArray` loads `numpy.ma`, which takes as long as to schedule a pipeline.

Invariant: the answers are those of `isinstance`: nothing is of a kind of a module that is not there.
"""

from __future__ import annotations

import sys


def is_masked(value: object) -> bool:
    """Whether a value is an array with a mask."""
    return _is_any(value, "numpy.ma", "MaskedArray")


def draws_numbers(value: object) -> bool:
    """Whether a value is a generator of random numbers."""
    return _is_any(value, "numpy.random", "Generator", "RandomState")


def is_table(value: object) -> bool:
    """Whether a value is a table of pandas', a column or an index of one."""
    return _is_any(value, "pandas", "DataFrame", "Series", "Index")


def _is_any(value: object, module: str, *names: str) -> bool:
    """Whether a value is of any of these kinds of a module, which may be about to be loaded by another thread."""
    loaded = sys.modules.get(module)
    kinds = [getattr(loaded, name, None) for name in names] if loaded is not None else ()
    return any(kind is not None and isinstance(value, kind) for kind in kinds)
