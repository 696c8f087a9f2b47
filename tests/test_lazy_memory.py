"""What lazy arrays were computed of is gone as soon as nobody can ask for it: nothing waits for the collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.frontend.nodes import Node, Source

Array = np.ndarray[Any, Any]


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only counts of references let go of what is made."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def windows(x: Any) -> Any:
    return ((x[1:] + x[:-1]) * 2)[3:9]


def extrema(x: Any) -> Any:
    return x / x.max() - x.min()


def assigned(x: Any) -> Any:
    y = x.copy()
    y[1:-1] += x[2:]
    return np.concatenate([y, y[::-1]], axis=1)


def several(x: Any) -> Any:
    whole, part = np.modf(x * 3)
    return whole - part


def nodes() -> list[Any]:
    """Nodes that are there, and what holds arrays for them."""
    return [each for each in gc.get_objects() if type(each) in (Node, Source)]


@pytest.mark.parametrize("function", [windows, extrema, assigned, several])
@pytest.mark.usefixtures("no_collector")
def test_arrays_are_gone_with_what_was_made_of_them(function: Callable[[Any], Any]) -> None:
    source = np.arange(400.0).reshape(20, 20) - 7
    before = len(nodes())
    lazy = function(sl.lazy(source))
    np.testing.assert_array_equal(np.asarray(lazy), function(source))
    assert len(nodes()) > before
    held = weakref.ref(source)
    del lazy, source
    assert held() is None
    assert len(nodes()) == before


@pytest.mark.usefixtures("no_collector")
def test_results_that_are_read_stay_as_they_are() -> None:
    """A result that nobody held for a while is one of the same node again."""
    lazy = sl.lazy(np.arange(100.0).reshape(10, 10))
    whole, part = np.modf(lazy / 3)
    want = np.modf(np.arange(100.0).reshape(10, 10) / 3)
    np.testing.assert_array_equal(np.asarray(part), want[1])
    del part
    np.testing.assert_array_equal(np.asarray(whole + 1), want[0] + 1)
    node = whole._view.result.node
    assert node.results[0] is whole._view.result
    assert [result.number for result in node.results] == [0, 1]
    assert all(result.node is node for result in node.results)
