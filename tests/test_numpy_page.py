"""The page on NumPy functions is made of the tables that calls are dispatched on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from slinky.frontend import functions
from slinky.frontend.tables import EXACT_UFUNCS, TABLE
from tools.numpy_page import page

PAGE = Path(__file__).parent.parent / "docs" / "numpy.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page() + "\n", f"run: python -m tools.numpy_page > {PAGE}"


def test_what_the_tables_name_is_there() -> None:
    assert len(TABLE) > 60
    assert {"sum", "reshape", "sort"} <= set(functions.METHODS)
    newer = {"bitwise_count"}  # not in all versions of NumPy
    assert all(isinstance(getattr(np, name), np.ufunc) for name in EXACT_UFUNCS - newer - {"clip"})
