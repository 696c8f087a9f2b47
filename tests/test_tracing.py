"""`sl.jit` and `sl.lazy`: NumPy functions that run as pipelines give what NumPy gives."""

from __future__ import annotations

import doctest
import gc
import threading
import types
import warnings
import weakref
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from traced import MACHINE, assert_same, assert_traced, image, jit, kept

import slinky as sl
from slinky.frontend import tracing
from slinky.frontend.reading import Reads

SHAPES = [(1, 1), (2, 3), (7, 5), (13, 11), (64, 3)]
DTYPES = ["bool", "uint8", "int16", "int64", "float32", "float64", "complex64"]


def sharpen(photo: Any, amount: float = 1.5) -> Any:
    padded = np.pad(photo, 1, mode="edge")
    soft = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
    return np.clip(photo + amount * (photo - soft), 0, 1)


def test_one_trace_serves_all_sizes() -> None:
    sharp = jit(sharpen)
    for shape in SHAPES:
        assert_traced(sharp, image(*shape))


def test_a_pipeline_is_an_ordinary_one_that_reads_windows() -> None:
    sharp = jit(sharpen)
    p = sharp.pipeline(image(20, 30))
    assert type(p) is sl.Pipeline
    assert "check" in str(p)
    pipeline_of_rows = sl.auto_schedule(p, (2000, 3000), (2000, 3000), workers=1, machine=MACHINE, float_0=1.5)
    unscheduled = p.memory((2000, 3000), (2000, 3000), float_0=1.5).program_bytes
    assert pipeline_of_rows.memory((2000, 3000), (2000, 3000), float_0=1.5).program_bytes < unscheduled / 5


def test_it_runs_checked() -> None:
    photo = image(17, 9)
    p = jit(sharpen).pipeline(photo)
    result = np.empty_like(photo)
    p.run(photo, result, float_0=1.5, checked=True)
    assert_same(result, sharpen(photo))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [
    lambda x: x + 1,
    lambda x: x * 2.5,
    lambda x: x.astype("c16") / 3,
    lambda x: np.maximum(x, x[::-1]),
    lambda x: (x == x.max(), x.min(axis=0), np.abs(x)),
    lambda x: x.sum(),
    lambda x: x.any(axis=1, keepdims=True),
    lambda x: np.where(x > 1, x, 1),
    lambda x: x.T[::2],
    lambda x: np.concatenate([x, x[:1]]),
    lambda x: x[..., None] * x[:, None],
    lambda x: ~(x != 0),
])  # fmt: skip
def test_dtypes_are_those_of_numpy(function: Any, dtype: str) -> None:
    for shape in [(1, 1), (7, 3)]:
        assert_traced(jit(function), image(*shape, dtype=dtype))


@pytest.mark.parametrize("number", [2, -1, 2.5, True, np.float64(0.1), np.int8(3), np.float32(2), 1j])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64"])
def test_numbers_are_weak_or_strong_as_in_numpy(number: Any, dtype: str) -> None:
    array = image(5, dtype=dtype)
    for function in (lambda x: x + number, lambda x: number * x, lambda x: x == number):
        try:
            want = function(array)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                jit(function)(array)
        else:
            assert_same(jit(function)(array), want)


def test_results_may_stand_in_containers() -> None:
    Pair = namedtuple("Pair", "low high")

    def ends(x: Any) -> Any:
        return {"ends": Pair(x.min(), x.max()), "list": [x + 1, (x * 2, "text", 3)], "none": None, "rows": x.shape[0]}

    traced = jit(ends)
    for n in (3, 8):
        assert_same(traced(image(n, 2)), ends(image(n, 2)))
    assert kept(traced) == 1


def test_results_that_are_arguments_are_the_arguments_or_views_of_them() -> None:
    traced = jit(lambda x: (x, x[1:, ::-1], x + 1))
    for n in (4, 9):
        x = image(n, 3)
        same, view, _ = traced(x)
        assert same is x
        assert view.base is not None
        assert np.shares_memory(view, x)
        assert_same(view, x[1:, ::-1])


def test_scalars_come_back_as_scalars() -> None:
    traced = jit(lambda x: (x.sum(), x[0, 0], x[..., 0, 0], x.sum() + 1, x.max(axis=0)[1] * 2))
    assert_same(traced(image(3, 4)), traced.__wrapped__(image(3, 4)))


def test_arrays_without_elements_and_without_axes() -> None:
    traced = jit(lambda x: (x * 2, x.sum(), x + x.sum()))
    for array in (image(0, 3), image(3, 0), image(3, 3), np.float32(2) + np.zeros(()), np.array(2.5)):
        assert_same(traced(array), traced.__wrapped__(array))


def test_slices_that_leave_nothing() -> None:
    traced = jit(lambda x: (x[3:] * 2, x[:3].sum(axis=0)))
    for n in (9, 4, 3, 2, 1):
        assert_same(traced(image(n, 2)), traced.__wrapped__(image(n, 2)))


def test_there_is_no_pipeline_of_arrays_without_elements() -> None:
    traced = jit(lambda x: (x[3:] * 2).sum(axis=0) + np.sort(x, axis=0).sum(axis=0))
    for array in (image(0, 2), image(3, 2)):
        with pytest.raises(sl.TracingError, match="no elements"):
            traced.pipeline(array)
        assert traced.explain(array)
    assert traced.pipeline(image(5, 2))


def test_layouts_of_arguments() -> None:
    traced = jit(lambda x: x * 2 + x[::-1])
    for array in (image(6, 4)[::-1], image(6, 4).T, np.asfortranarray(image(6, 4)), image(12, 8)[::2, ::2],
                  np.broadcast_to(image(4), (6, 4))):  # fmt: skip
        assert_traced(traced, array)


def test_in_place_code_makes_new_values() -> None:
    def smooth(x: Any, times: int) -> Any:
        y = x.copy()
        for _ in range(times):
            y[1:-1] = (y[:-2] + y[2:]) / 2
        y += 1
        y[::2, 0] = 7
        np.multiply(y, 2, out=y)
        row = y[0]
        row -= 3
        return y, row

    traced = jit(smooth)
    for n in (8, 5):
        array = image(n, 3)
        before = array.copy()
        assert_same(traced(array, 2), smooth(array, 2))
        assert_same(array, before)


def test_writing_keeps_the_dtype_and_casts_as_numpy() -> None:
    def write(x: Any) -> Any:
        y = x.astype(np.int16)
        y[1:] = x[1:] / 3
        y[0] = 2.9
        y[y > 3] = -1
        return y

    assert_traced(jit(write), image(7))

    def add_float(x: Any) -> Any:
        y = x.copy()
        y += 0.5
        return y

    with pytest.raises(np._core._exceptions._UFuncOutputCastingError):
        jit(add_float)(image(4, dtype=np.int16))


def test_views_see_what_is_written() -> None:
    def views(x: Any) -> Any:
        y = x * 1
        part, turned = y[1:], y.T
        part *= 2
        turned[0] = 5
        return y, part, turned

    assert_traced(jit(views), image(4, 3))


def test_a_trace_that_is_kept_calls_the_function_no_more() -> None:
    calls = 0

    def double(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * 2

    traced = jit(double)
    for _ in range(3):
        traced(image(4))
    assert (calls, kept(traced)) == (3, 0)  # what it counts is state, so that it is called each time
    kept_one = jit(lambda x: x * 2)
    for _ in range(3):
        kept_one(image(4))
    assert kept(kept_one) == 1


def test_results_that_are_written_in_parts_and_read_by_each_other() -> None:
    def parts(x: Any) -> Any:
        positive = np.absolute(x)
        y = np.pad(positive, 1, mode="reflect")
        y[2:] = np.float64(0.1)
        return y, y[:3], np.concatenate([y, positive])

    assert_traced(jit(parts), image(3, dtype=np.uint8))
    assert_traced(jit(lambda x: (np.add.reduce(x), x.sum())), np.array(True))


# What is asked -------------------------------------------------------------------------------------------------


def test_questions_to_sizes_are_guards() -> None:
    def half(x: Any) -> Any:
        return x[:4] * 2 if x.shape[0] > 4 else x + 1

    traced = jit(half)
    for n in (7, 3, 9, 4, 100):
        assert_same(traced(image(n)), half(image(n)))
    assert kept(traced) == 2


def test_broadcasting_one_against_many_is_a_guard() -> None:
    traced = jit(lambda a, b: a + b)
    for a, b in [
        ((3, 4), (3, 4)),
        ((5, 4), (5, 4)),
        ((3, 4), (1, 4)),
        ((1, 4), (6, 4)),
        ((3, 4), (4,)),
        ((3, 1), (1, 7)),
    ]:
        assert_same(traced(image(*a), image(*b)), image(*a) + image(*b))
    with pytest.raises(ValueError, match="could not be broadcast"):
        traced(image(3, 4), image(3, 5))


def test_lengths_count_in_arithmetic() -> None:
    traced = jit(lambda x: (x.sum(axis=0) / x.shape[0], x[: x.shape[0] // 2], x * len(x), x / x.size))
    for n in (6, 7, 6, 12):
        assert_same(traced(image(n, 2)), traced.__wrapped__(image(n, 2)))


def test_loops_over_lengths() -> None:
    def rows(x: Any) -> Any:
        total = x[0] * 0
        for k in range(x.shape[0]):
            total = total + x[k] * k
        return total

    traced = jit(rows)
    for n in (3, 5, 3):
        assert_same(traced(image(n, 4)), rows(image(n, 4)))
    assert kept(traced) == 2


def test_numbers_are_part_of_the_kind_and_need_no_new_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    lowered = tracing.lowered
    monkeypatch.setattr(tracing, "lowered", lambda *a: built.append(1) or lowered(*a))
    traced = jit(lambda x, amount: np.exp2(x * amount) + 0.125)
    for amount in (0.5, 1.5, -2.0, np.nan, -0.0):
        assert_same(traced(image(5), amount), traced.__wrapped__(image(5), amount))
    assert len(built) == 1


# What is outside -----------------------------------------------------------------------------------------------

FACTOR = 2
WEIGHTS = np.array([1.0, 2.0, 3.0])
TABLE = {"gain": 3.0}


def _scaled(x: Any) -> Any:
    return x * FACTOR + WEIGHTS.sum() * TABLE["gain"]


def test_globals_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = jit(lambda x: _scaled(x) + WEIGHTS)
    assert_traced(traced, image(3))
    assert_traced(traced, image(3))
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert_traced(traced, image(3))
    WEIGHTS[1] += 1
    assert_traced(traced, image(3))
    monkeypatch.setitem(TABLE, "gain", 0.5)
    assert_traced(traced, image(3))


def test_closures_and_defaults_are_watched() -> None:
    amount = 2.0

    def scale(x: Any, offset: float = 1) -> Any:
        return x * amount + offset

    traced = jit(scale)
    assert_traced(traced, image(3))
    amount = 3.0
    assert_traced(traced, image(3))
    scale.__defaults__ = (7,)
    assert_traced(traced, image(3))


class Counter:
    """Something with a state."""

    def __init__(self) -> None:
        self.calls = 0

    def next(self) -> int:
        self.calls += 1
        return self.calls


def test_state_that_cannot_be_followed_is_traced_at_each_call() -> None:
    counter = Counter()
    traced = jit(lambda x: x * counter.next())
    assert [int(traced(np.array([1.0, 1.0]))[0]) for _ in range(3)] == [1, 2, 3]
    assert "traced at each call" in traced.explain(np.ones(2))


def test_methods_can_be_decorated() -> None:
    class Scaler:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @sl.jit(smallest=0, workers=1, machine=MACHINE)
        def scaled(self, x: Any) -> Any:
            return x * self.factor

    scaler = Scaler(2)
    assert_same(scaler.scaled(image(3)), image(3) * 2)
    scaler.factor = 3
    assert_same(scaler.scaled(image(3)), image(3) * 3)


def test_arrays_made_in_the_function_and_changed_there() -> None:
    def weighted(x: Any) -> Any:
        weights = np.ones(3)
        first = x * weights
        weights[0] = 5
        return first, x * weights

    assert_traced(jit(weighted), image(4, 3))


# What forces, what is not understood, what is refused -----------------------------------------------------------------


def test_forcing_computes_and_warns_once() -> None:
    def normal(x: Any) -> Any:
        if x.max() > 10:
            x = x / float(x.max())
        return x + x[x > 0].sum()

    traced = jit(normal)
    with pytest.warns(sl.ForcedValueWarning, match=r"bool\(\) asks for values in .*test_tracing.py, line"):
        assert_same(traced(image(5, 5)), normal(image(5, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (5, 1):
            assert_same(traced(image(n, 2) / 40), normal(image(n, 2) / 40))
    assert kept(traced) == 0


def test_what_is_not_understood_runs_whole_and_is_told() -> None:
    traced = jit(lambda x: np.linalg.svd(x * 2, full_matrices=False)[1] + 1)
    for n in (4, 4, 6):
        assert_same(traced(image(n, 3)), traced.__wrapped__(image(n, 3)), rounded=True)
    assert "at once: linalg.svd is not understood" in traced.explain(image(4, 3))
    assert "linalg_svd" in str(traced.pipeline(image(4, 3)))


def test_strict_refuses_with_name_and_line() -> None:
    traced = jit(lambda x: np.linalg.inv(x), strict=True)
    with pytest.raises(sl.TracingError, match=r"linalg.inv is not understood, in .*test_tracing.py, line \d+"):
        traced(image(3, 3))


def test_a_fence_whose_result_changes_shape_is_found() -> None:
    def rare(x: Any) -> Any:
        return np.kron(x, x[:2])

    traced = jit(rare)
    for n in (5, 5, 8):
        assert_same(traced(image(n)), rare(image(n)))


def test_what_changes_its_dtype_with_values_is_called_as_it_is() -> None:
    traced = jit(lambda x: np.linalg.eigvals(x) * 2)
    real, turning = np.array([[2.0, 0.0], [0.0, 3.0]]), np.array([[0.0, -1.0], [1.0, 0.0]])
    for array in (real, turning, real, turning):
        assert_same(traced(array), np.linalg.eigvals(array) * 2)
    assert "when it was traced" in traced.explain(turning)


def test_random_numbers_are_refused() -> None:
    random = np.random.default_rng(0)
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x: x + np.random.default_rng(0).random(3))(image(3))
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x: x + random.random(3))(image(3))
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x, source: x + source.random(3))(image(3), random)


def test_modules_of_closures_are_watched() -> None:
    settings = types.ModuleType("settings")
    settings.__dict__["gain"] = 2.0
    library = np
    traced = jit(lambda x: x * settings.gain)
    assert_traced(traced, image(3))
    settings.__dict__["gain"] = 3.0
    assert_traced(traced, image(3))
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x: x + library.random.random(3))(image(3))


def test_what_may_draw_random_numbers_is_traced_at_each_call() -> None:
    stats = pytest.importorskip("scipy.stats")
    noisy = jit(lambda x: x + stats.norm.rvs(size=3))
    assert not np.array_equal(noisy(image(3)), noisy(image(3)))
    assert kept(noisy) == 0


def test_writing_to_an_argument_is_refused() -> None:
    def zero(x: Any) -> Any:
        x[0] = 0
        return x

    array = image(4)
    before = array.copy()
    with pytest.raises(sl.TracingError, match="writes to its argument x"):
        jit(zero)(array)
    with pytest.raises(sl.TracingError, match="writes to its argument x"):
        jit(lambda x: np.add(x, 1, out=x.T))(array)
    assert_same(array, before)


def test_generators_are_refused() -> None:
    def rows(x: Any) -> Any:
        yield x

    with pytest.raises(sl.TracingError, match="returns its results"):
        sl.jit(rows)


def test_what_it_cannot_return_lazily_is_called_as_it_is() -> None:
    traced = jit(lambda x: (row * 2 for row in x))
    assert_same(list(traced(image(3, 2))), list(image(3, 2) * 2))


@pytest.mark.parametrize("array", [
    np.array([1, 2], object), np.ma.masked_array([1.0, 2.0], [True, False]), np.arange(3).astype(">i4"),
    np.array(["2020-01-01"], "M8[D]"), 3.0, [1.0, 2.0],
])  # fmt: skip
def test_arrays_of_other_kinds_are_given_as_they_are(array: Any) -> None:
    given = []
    jit(lambda x: given.append(x))(array)
    assert given[0] is array


def test_errors_of_the_function_propagate() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jit(fail)(image(3))
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda x: x[5])(image(3))
    with pytest.raises(ValueError, match="diff requires input that is at least one dimensional"):
        jit(lambda x: np.diff(np.squeeze(x)))(image(1))
    with pytest.raises(np.exceptions.AxisError):
        jit(lambda x: x.sum(axis=2))(image(3))
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        jit(lambda x: x**-1)(image(3, dtype=np.int64))


def test_floating_point_errors_are_handled_as_where_the_operation_stands() -> None:
    def divided(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1 / x

    traced = jit(divided)
    with pytest.raises(FloatingPointError):
        traced(np.array([1.0, 0.0]))
    assert_same(traced(np.array([1.0, 2.0])), np.array([1.0, 0.5]))
    ratio = jit(lambda x: 1 / x)
    with np.errstate(divide="ignore"):
        assert_same(ratio(np.array([0.0, 2.0])), np.array([np.inf, 0.5]))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ratio(np.array([0.0, 2.0]))


def test_functions_call_each_other_and_themselves() -> None:
    inner = jit(lambda x: x * 2)

    @sl.jit(smallest=0, workers=1, machine=MACHINE)
    def power(x: Any, n: int) -> Any:
        return inner(x) if n == 0 else power(x, n - 1) + x

    assert_same(power(image(3), 4), image(3) * 2 + image(3) + image(3) + image(3) + image(3))
    assert kept(power) == 1


def test_threads() -> None:
    sharp = jit(sharpen)
    photos = [image(n, 11) for n in range(3, 15)]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = sharp(photos[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(photos))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, photo in enumerate(photos):
        assert_same(found[k], sharpen(photo))


def test_small_arrays_are_given_as_they_are() -> None:
    given = []
    sl.jit(lambda x: given.append(type(x)))(image(3))
    assert given == [np.ndarray]


# Lazy arrays ---------------------------------------------------------------------------------------------------


def test_a_window_of_a_lazy_array_computes_what_it_needs() -> None:
    big = sl.lazy(np.ones((400, 500)))
    soft = (big[1:] + big[:-1]) * 2
    window = soft[100:110, 20:30]
    p = tracing.PLANS.of(tracing.in_order([window.view.result]), [window.view], "t", {})
    statistics = p.pipeline.run(np.ones((400, 500)))
    assert max(statistics.elements.values()) == 100
    assert_same(np.asarray(window), np.full((10, 10), 4.0))


def test_a_lazy_array_does_not_see_what_is_written_to_its_source() -> None:
    source = image(50, 50)
    expected = source * 2
    lazy = sl.lazy(source) * 2
    source[...] = 0
    assert_same(np.asarray(lazy), expected)


def test_lazy_arrays_of_other_things_are_refused() -> None:
    with pytest.raises(sl.TracingError, match="arrays of numbers"):
        sl.lazy(np.array(["a"]))


# What random programs found --------------------------------------------------------------------------------------


def _copied_to(a: Any) -> Any:
    v = a % 3
    np.copyto(v, a)
    return v + 1


def _filled_through_a_view(a: Any) -> Any:
    n = np.nan_to_num(a)
    np.ravel(n).fill(0)
    return n


def _masked(a: Any) -> Any:
    return np.add(a, a, where=a != a, out=np.ones_like(a))


def _written_where_it_asked(a: Any) -> Any:
    v = np.ascontiguousarray(a * 2)
    for j in range(v.shape[0]):
        v[j] = v[j] + j
    return v


def _sizes_in_numpy(a: Any) -> Any:
    n = a.shape[0]
    return np.arange(n), np.linspace(0, 1, n), np.full(3, n), np.float32(2) * n, np.ones(3, "f4") * n, np.array([n, 1])


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    "function",
    [
        _copied_to,
        _filled_through_a_view,
        _masked,
        _written_where_it_asked,
        _sizes_in_numpy,
        lambda a: np.where(a > -1, a, -1),
        lambda a: np.arange(a.size).reshape(a.shape) + a,
    ],
)
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_values_dtypes_and_memory_are_numpys(function: Any, dtype: str) -> None:
    traced = jit(function)
    for n in (6, 4, 6):
        assert_same(traced(image(n, 3, dtype=dtype)), function(image(n, 3, dtype=dtype)))


# What does not hand over by itself -------------------------------------------------------------------------------


def _helped(x: Any) -> Any:
    return np.asarray(x) * np.ones(x.shape, np.float32)


def _stencil_as_written(x: Any) -> Any:
    x = np.asarray(x)
    out = np.zeros(x.shape, dtype=x.dtype)
    out[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]
    rows = np.arange(x.shape[0])[:, None] * np.ones((1, x.shape[1]))
    return _helped(out), rows, np.full(x.shape[:1], 2), np.arange(1, x.shape[1] + 1, 2), np.empty_like(x).shape


def test_arrays_made_of_sizes_are_lazy() -> None:
    traced = jit(_stencil_as_written)
    for shape in [(5, 4), (9, 7), (3, 3), (4, 5)]:
        assert_same(traced(image(*shape)), _stencil_as_written(image(*shape)))
    assert kept(traced) == 1
    assert "asks for values" not in traced.explain(image(5, 4))


MODE = 1


def _set_mode(value: int) -> None:
    global MODE
    MODE = value


def test_functions_that_set_globals_see_them() -> None:
    def function(x: Any) -> Any:
        _set_mode(3)
        return np.asarray(x * MODE)

    traced = jit(function)
    with pytest.warns(sl.ForcedValueWarning):
        assert_same(traced(image(3)), image(3) * 3)
    _set_mode(1)
    assert_same(traced(image(3)), image(3) * 3)


def test_functions_that_check_for_arrays() -> None:
    def strict(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or not isinstance(x.sum(), np.floating) or not isinstance(x.shape[0], int):
            raise TypeError("an array is needed")
        return x + 1

    assert_traced(jit(strict), image(3, 4))


def test_programs_of_very_many_operations_are_called_as_they_are() -> None:
    def rows(x: Any) -> Any:
        return np.stack([row * 2 for row in x])

    traced = jit(rows)
    for n in (3, 900):
        assert_same(traced(image(n, 2)), rows(image(n, 2)))
    assert "more than 200" in traced.explain(image(900, 2))


def test_einsum_that_is_a_view() -> None:
    def turned(x: Any) -> Any:
        y = np.pad(x, 1)
        np.einsum("ij->ji", y).fill(-1)
        return y, x[1:, :0].sum()

    for shape in ((3, 4), (1, 2)):
        assert_same(jit(turned)(image(*shape)), turned(image(*shape)))


def test_what_is_kept_holds_no_arguments() -> None:
    traced = jit(lambda x: x[1:] + 1)
    photo = image(8, 8)
    alive = weakref.ref(photo)
    traced(photo)
    del photo
    gc.collect()
    assert kept(traced) == 1
    assert alive() is None


def test_lazy_arrays_that_outlive_their_call_say_so() -> None:
    escaped = []

    def leak(x: Any) -> Any:
        escaped.append(x * 2)
        return x + 1

    traced = jit(leak)
    traced._reads = Reads(lambda x: x)
    traced(image(4))
    with pytest.raises(sl.TracingError, match="outlived the call"):
        np.asarray(escaped[0])


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_a_loop_that_asks_for_values_computes_each_operation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(x: Any) -> Any:
        count = 0
        while True:
            new = (np.roll(x, 1) + x) / 2
            doubled = new * 2
            if float(abs(new - x).max()) < 1:
                return new, doubled, count
            x, count = new, count + 1

    graphs = []
    in_order = tracing.in_order
    monkeypatch.setattr(tracing, "in_order", lambda *a: graphs.append(len(found := in_order(*a))) or found)
    assert_same(jit(settle)(image(9)), settle(image(9)))
    assert len(graphs) > 20
    assert max(graphs) < 12


def test_what_is_computed_twice_is_computed_once() -> None:
    def function(x: Any, amount: float) -> Any:
        return np.exp2(x * amount) - np.exp2(x * 0.5), np.exp2(x * amount).max(axis=0)

    traced = jit(function)
    for amount in (0.25, 0.5):
        assert_same(traced(image(5, 3), amount), function(image(5, 3), amount))
    assert traced.explain(image(5, 3), 0.25).splitlines()[0].count("exp2") == 2
    assert traced.explain(image(5, 3), 0.5).splitlines()[0].count("exp2") == 1


@pytest.mark.parametrize("documented", [sl.jit, sl.lazy])
def test_the_examples_of_docstrings(documented: Any) -> None:
    problems: list[str] = []
    test = doctest.DocTestParser().get_doctest(documented.__doc__, {}, documented.__name__, None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=problems.append)
    assert not problems


def test_what_is_rolled_by_a_little_is_copied_once_for_both_directions() -> None:
    def vorticity(u: Any, v: Any) -> Any:
        return (np.roll(v, -1, 1) - np.roll(v, 1, 1)) - (np.roll(u, -1, 0) - np.roll(u, 1, 0))

    traced = jit(vorticity)
    for shape in [(9, 7), (5, 2), (1, 3), (2, 2)]:
        u, v = image(*shape), image(*shape) * 2
        assert_same(traced(u, v), vorticity(u, v))
    p = traced.pipeline(image(900, 700), image(900, 700))
    assert [len(p.find_all(name)) for name in ("pad", "pad_1")] == [1, 1]
    assert "concatenate" not in str(p)
    schedule = sl.auto_schedule(p, *[(900, 700)] * 3, workers=1, machine=MACHINE)
    assert schedule.memory(*[(900, 700)] * 3).program_bytes < 900 * 700 * 4 / 5


@pytest.mark.parametrize("shift", [-7, -4, -1, 0, 1, 3, 4, 5, 9, (1, -2)])
def test_rolls_by_any_number(shift: Any) -> None:
    axis = (0, 1) if isinstance(shift, tuple) else 0
    traced = jit(lambda x: (np.roll(x, shift, axis) * 2, np.roll(x, shift, axis)))
    for n in (1, 2, 4, 5, 9, 10, 23):
        assert_same(traced(image(n, 3)), traced.__wrapped__(image(n, 3)))


def test_what_is_changed_in_part_is_copied_in_part() -> None:
    def diffuse(x: Any) -> Any:
        y = x.copy()
        y[1:-1] += x[2:] + x[:-2]
        return y

    traced = jit(diffuse)
    for n in (9, 5, 3):
        assert_traced(traced, image(n, 4))
    assert str(traced.pipeline(image(9, 4))).count("alloc") <= 1
    assert "assign_1" not in str(traced.pipeline(image(9, 4)))


def test_the_function_is_called_where_nothing_is_gained() -> None:
    calls = 0

    def smooth(x: Any) -> Any:
        return np.sqrt(x * x + 1) * 0.5 - x

    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return smooth(x)

    counting = sl.jit(workers=1, machine=MACHINE)(counted)
    for shape in [(4, 3), (4, 3), (100, 100), (400, 300)]:
        before = calls
        assert_same(counting(image(*shape)), smooth(image(*shape)))
        assert calls > before
    chosen = sl.jit(workers=1, machine=MACHINE)(sharpen)
    assert "called as it is" in chosen.explain(image(400, 300))
    assert "called as it is" not in chosen.explain(image(2500, 2000))
    assert "called as it is" not in sl.jit(smallest=0, workers=1, machine=MACHINE)(sharpen).explain(image(400, 300))


def test_zeros_keep_their_sign_among_numbers_and_nans_stay() -> None:
    traced = jit(lambda x, a: np.copysign(x, a) + 0 * x)
    for number in (0.0, -0.0, 1.0, -0.0, 0.0, float("nan"), -1.0):
        assert_same(traced(image(5), number), traced.__wrapped__(image(5), number))


def test_scalars_stay_scalars_in_their_own_dtype() -> None:
    assert_traced(jit(lambda x: (x.any().astype(bool), x.max().astype(x.dtype), x.max().astype("f8"))), image(4, 3))


def test_lengths_in_the_middle_of_arithmetic() -> None:
    traced = jit(lambda x: np.sqrt(np.sum(np.square(x), axis=0) / x.shape[0]) + (x.shape[1] - 2) * x[0] ** 2 - 1)
    for shape in [(4, 3), (7, 2), (1, 1)]:
        assert_traced(traced, image(*shape, dtype=np.float64))
