"""What a function warns of by itself, it warns of at each call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from warnings import warn

import numpy as np
import pytest
from traced import jit

GIVEN = np.linspace(0, 1, 12)


def by_module(x: Any) -> Any:
    warnings.warn("old", DeprecationWarning, stacklevel=1)
    return x * 2


def by_name(x: Any) -> Any:
    if len(x) > 3:
        warn("long", stacklevel=1)
    return x * 2


def imported(x: Any) -> Any:
    import warnings as own

    own.warn_explicit("here", UserWarning, "file", 3)
    return x * 2


def inner(x: Any) -> Any:
    return by_name(x) + by_module(x)


def heard(function: Callable[..., Any]) -> list[tuple[str, type, str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.array_equal(function(GIVEN), getattr(function, "__wrapped__", function)(GIVEN))
    count = len(caught) // 2
    assert [str(each.message) for each in caught[count:]] == [str(each.message) for each in caught[:count]]
    return [(str(each.message), each.category, each.filename, each.lineno) for each in caught[:count]]


@pytest.mark.parametrize("function", [by_module, by_name, imported, inner])
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_what_a_function_warns_of_is_heard_at_each_call(function: Any) -> None:
    want = heard(function)
    assert want
    traced = jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced(GIVEN)
    for _ in range(4):
        assert heard(traced) == want


def test_where_it_does_not_warn_its_trace_is_kept() -> None:
    traced = jit(by_name)
    with pytest.warns(UserWarning, match="long"):
        assert "warnings.warn stands in" in traced.explain(GIVEN)
    assert "traced at each call" not in traced.explain(GIVEN[:2])


def test_warnings_that_are_errors_are_raised() -> None:
    traced = jit(by_module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(DeprecationWarning, match="old"):
                traced(GIVEN)
