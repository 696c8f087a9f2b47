"""Calls of NumPy's functions with options that are rare give under `sl.jit` what NumPy gives."""

from __future__ import annotations

import itertools
from functools import partial

from numpy_options import Case, cases, fault, known_functions, methods
from traced import MACHINE, PIECES


def test_calls_with_options_give_what_numpy_gives() -> None:
    for k, case in enumerate(itertools.islice(cases(known_functions() | methods()), 0, None, 151)):
        assert fault(case, machine=PIECES if k % 2 else MACHINE) is None, case


def test_what_differs_is_found() -> None:
    """Functions that are handed on as partial ones see Python's `type`."""
    tells = partial(lambda x: 1 if type(x).__name__ == "LazyArray" else 2)
    one = Case("shape", tells, "float64", "one", lambda x: (x,), None)
    assert fault(one, machine=MACHINE) == "1 in place of 2"
    kinds = Case("kind", partial(lambda x: type(x).__mro__[0].__name__), "float64", "one", lambda x: (x,), None)
    assert fault(kinds, machine=MACHINE) == "'LazyArray' in place of 'ndarray'"
