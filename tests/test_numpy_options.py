"""Calls of NumPy's functions with options that are rare give under `sl.jit` what NumPy gives."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from numpy_options import Case, cases, fault, known_functions, methods
from traced import MACHINE, PIECES, assert_same, image, jit


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


def test_a_border_that_numpy_leaves_as_memory_is_has_a_value() -> None:
    """Zeros, in every run alike: what a call has not written, checked runs tell, and so it is written."""
    x = image(50, 60)
    padded = jit(lambda a: np.pad(a, ((1, 2), (0, 3)), mode="empty"))
    assert_same(padded(x), np.pad(x, ((1, 2), (0, 3))))
    pipeline = padded.pipeline(x)
    assert "whole" not in str(pipeline)
    assert np.array_equal(pipeline.run(x, checked=True).outputs[0], padded(x))
    for around in (lambda a: np.pad(a, 2, mode="empty")[2:-2, 2:-2] * 2, lambda a: np.pad(a, 0, "empty")):
        assert_same(jit(around)(x), around(x))
    for mode in ("empty", "edge"):
        with pytest.raises(ValueError, match=f"unsupported keyword arguments for mode '{mode}'"):
            jit(lambda a, mode=mode: np.pad(a, 1, mode=mode, constant_values=0))(x)
