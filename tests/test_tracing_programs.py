"""Random programs of NumPy give traced what they give as they are, on the sizes of their trace and on others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_numpy import DTYPES, arrays_of, draw_program
from traced import assert_same, jit

import slinky as sl


class _Unchanging:
    """What a program is made of cannot be followed, but it does not change."""

    reason = None

    def hold(self) -> bool:
        return True


def _result(function: Any, arrays: list[Any]) -> Any:
    """What comes of a call, or the kind of its error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*(array.copy() for array in arrays))
    except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError) as error:
        return error


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_programs(data: Any) -> None:
    draw = data.draw
    extents = [draw(st.sampled_from([0, 1, 2, 3, 5, 7, 12])) for _ in range(3)]
    others = [draw(st.sampled_from([1, 2, 3, 5, 11])) for _ in range(3)]
    kinds = [(draw(st.sampled_from(DTYPES)), draw(st.integers(0, 3))) for _ in range(draw(st.integers(1, 2)))]
    first, second = (
        [arrays_of(dtype, shape[3 - rank :] if rank else [], seed + k) for k, (dtype, rank) in enumerate(kinds)]
        for seed, shape in ((0, extents), (7, others))
    )
    program = draw_program(draw, [array.copy() for array in first], draw(st.integers(1, 6)))
    traced = jit(lambda *arrays: program(*arrays))
    traced._reads = _Unchanging()
    for arrays in (first, second, first):
        want, got = _result(program, arrays), _result(traced, arrays)
        if isinstance(got, sl.TracingError):
            assert "writes to its argument" in str(got), program
        elif isinstance(want, Exception):
            assert type(got) is type(want), (program, want, got)
        elif program.rounded:
            _assert_near(got, want)
        else:
            assert_same(got, want)


def _assert_near(got: Any, want: Any) -> None:
    """The same dtypes and shapes, and nearly the same values: what is rounded otherwise may be another integer."""
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
        if other.dtype.kind in "fc":
            precise = other.dtype in (np.float64,)
            np.testing.assert_allclose(one, other, rtol=1e-7 if precise else 1e-3, atol=1e-7 if precise else 1e-3)
