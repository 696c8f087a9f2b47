"""Code of NumPy's is followed to its end, or not at all: what is tried in vain leaves nothing in a trace."""

from __future__ import annotations

import gc
import warnings
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from traced import assert_same, image, jit, kept

import slinky as sl
from slinky.frontend.abandoning import ATTEMPTS
from slinky.frontend.arrays import LazyArray, placed
from slinky.frontend.following import followed
from slinky.frontend.free_traces import FREE
from slinky.frontend.tables import NotUnderstoodError
from slinky.frontend.tracing import Trace


def argument(trace: Trace, array: Any) -> LazyArray:
    return placed(trace.source(array, "x", origin=0), trace)


def asks(x: Any) -> Any:
    y = np.asarray(x) * 2
    return y if float(y.max()) > 1 else x


def asks_and_goes_on(x: Any) -> Any:
    try:
        return x * float(x.max())
    except Exception:
        return x


def asks_and_catches_all(x: Any) -> Any:
    try:
        return x * float(x.max())
    except BaseException:
        return x


def calls_what_is_not_understood(x: Any) -> Any:
    return np.linalg.eig(x[:3, :3] * 3)


def uses_a_mask(x: Any) -> Any:
    return (x * 3)[x > 1]


def warns(x: Any) -> Any:
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    return x * 3


def fails(x: Any) -> Any:
    return (x * 3)[:, 9]


def asks_for_memory(x: Any) -> Any:
    return (x * 3).strides


def writes_first(x: Any) -> Any:
    x[0] = 3
    return float(x.sum())


def shares_first(x: Any) -> Any:
    return np.reshape(x, (-1,)), bool(x.any())


def asks_for_sizes_first(x: Any) -> Any:
    return x if x.shape[0] > 3 and x.shape[0] == x.shape[1] + 3 and x.any() else x * 2


def forgets_a_value(x: Any) -> Any:
    np.asarray(x[0]) + 1
    return x * int(np.argmax(x))


IN_VAIN = [
    asks,
    asks_and_goes_on,
    asks_and_catches_all,
    calls_what_is_not_understood,
    uses_a_mask,
    warns,
    fails,
    asks_for_memory,
    writes_first,
    shares_first,
    asks_for_sizes_first,
    forgets_a_value,
]


def state(trace: Trace) -> Any:
    """All that a trace keeps of what was done."""
    lists = trace.reasons, trace.fences, trace.copied, trace.watched
    tables = trace.made, trace.sources, trace.questions.held, trace.questions.roots, trace.questions.known
    flags = trace.abandoned, trace.asked_for_class, trace.asked_for_layout, trace.given_in_c_order
    return [*map(list, lists), *map(list, tables), flags]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", IN_VAIN)
def test_what_is_tried_in_vain_leaves_nothing(function: Any, strict: bool) -> None:
    trace = Trace("trace", strict=strict)
    own = argument(trace, image(7, 4)) * 2
    before, result = state(trace), own._cell.result
    with pytest.raises(NotUnderstoodError):
        followed(function, (own,), {})
    assert state(trace) == before
    assert own._cell.result is result
    assert not own._cell.uncertain
    assert not own._cell.by_layout
    assert ATTEMPTS.depth == 0
    gc.collect()
    assert list(trace.cells) == [own._cell] or set(trace.cells) <= {own._cell}


@pytest.mark.parametrize("function", IN_VAIN)
def test_outside_of_jit_nothing_is_left_either(function: Any) -> None:
    own = sl.lazy(image(7, 4)) * 2
    fences, result = len(FREE.fences), own._cell.result
    with pytest.raises(NotUnderstoodError):
        followed(function, (own,), {})
    assert len(FREE.fences) == fences
    assert own._cell.result is result
    assert not own._cell.uncertain


def asks_inside(x: Any) -> Any:
    return np.average(x, axis=0, weights=np.where(x.any(), 1, 2))


def test_what_fails_inside_of_what_is_followed_is_no_fence_of_its_own() -> None:
    trace = Trace("trace")
    own = argument(trace, image(7, 4)) * 2
    for function in (lambda x: np.cov(x, fweights=x[0]), lambda x: np.corrcoef(x[:, :2, None])):
        before = state(trace)
        with pytest.raises(NotUnderstoodError):
            followed(function, (own,), {})
        assert state(trace) == before
    with pytest.raises(NotUnderstoodError):
        followed(asks_inside, (own,), {})
    assert not trace.fences


def doubled(x: Any) -> Any:
    made = np.empty(x.shape, x.dtype)
    np.multiply(np.asanyarray(x), 2, out=made)
    return np.array(made, copy=None, ndmin=3)


def test_what_is_followed_makes_lazy_arrays_of_any_size() -> None:
    trace = Trace("trace")
    found = followed(doubled, (argument(trace, image(7, 4)),), {})
    assert type(found) is LazyArray
    assert not trace.questions.held
    assert not trace.reasons
    assert_same(found.compute(), image(7, 4)[None] * 2)


def test_the_code_is_rebuilt_once_for_a_trace() -> None:
    trace = Trace("trace")
    own = argument(trace, image(7, 4))
    followed(doubled, (own,), {})
    (first,) = trace.followed.values()
    followed(doubled, (own * 3,), {})
    assert list(trace.followed.values()) == [first]
    assert doubled.__globals__["np"] is np


def test_a_function_that_fails_is_one_fence_with_its_line() -> None:
    def weighted(x: Any) -> Any:
        scaled = x * 2
        spread = np.cov(scaled, fweights=(scaled[0] > 0) + 1)
        return spread + 1

    x = image(4, 6, dtype="float64")
    traced = jit(weighted)
    assert_same(traced(x), weighted(x), rounded=True)
    assert "cov is not understood and computed at once on whole arrays, in " in traced.explain(x)
    assert "asks for values" not in traced.explain(x)
    assert kept(traced) == 1
    with pytest.raises(sl.TracingError, match=r"cov is not understood, in .*test_following.py, line \d+"):
        jit(weighted, strict=True)(x)


def test_what_numpy_warns_of_it_warns_of_at_each_call() -> None:
    def spread(x: Any) -> Any:
        return np.cov(x) + 1

    traced = jit(spread)
    for count in (2, 1, 1):  # as a fence: when it is traced, too
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            traced(image(3, 1))
        assert [str(each.message) for each in caught].count("Degrees of freedom <= 0 for slice") == count


def test_arguments_may_be_written_to_after_an_attempt() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        z = np.cov(y, fweights=abs(y[0]).astype(int) + 1)
        y[0] = 1
        return y, z

    x = image(3, 5, dtype="float64")
    assert_same(jit(function)(x), function(x), rounded=True)


def test_errstate_holds_inside() -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.trapezoid(np.log(x)) + np.polyval([1e308, 1e308], x)[:, 0]

    x = np.array([[0.0, 1, 1e300], [2, 3, 4]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = jit(function)
        for _ in range(3):
            assert_same(traced(x), function(x))


def test_threads_follow_by_themselves() -> None:
    """What one thread follows does not refuse what another one asks for."""
    start, wrong = Barrier(2), []

    def both(asks: bool) -> None:
        x = sl.lazy(image(9, 9, dtype="float64"))
        start.wait()
        for _ in range(50):
            try:
                if asks:
                    float((x * 2).max())
                else:
                    np.unwrap(x)
            except BaseException as error:
                wrong.append(error)

    threads = [Thread(target=both, args=(asks,)) for asks in (False, True)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_names_of_what_is_made() -> None:
    def smooth(x: Any) -> Any:
        straight = np.unwrap(x, axis=0)
        area = np.trapezoid(straight * 2)
        return area + 1

    text = str(jit(smooth).pipeline(image(7, 5, dtype="float64")))
    assert "straight" in text
    assert "area" in text
    assert "ddmod" not in text
