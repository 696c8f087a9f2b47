"""Which calls of a traced function one trace serves: what it asked of sizes, and what it read beside its arguments."""

from __future__ import annotations

import gc
import random
import sys
import threading
import types
import warnings
import weakref
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from traced import MACHINE, assert_same, assert_traced, image, jit, kept, sharpen

import slinky as sl
from slinky.frontend import tracing
from slinky.frontend.kept_traces import Traces

# Sizes and numbers ----------------------------------------------------------------------------------------------------


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


def test_arrays_as_long_as_others_are_lazy() -> None:
    """`np.empty(len(x))` is filled by the pipeline, of whatever length."""

    def turned(points: Any) -> Any:
        found = np.empty((len(points), 2), points.dtype)
        found[:, 0], found[:, 1] = points[:, 0] - points[:, 1], points[:, 0] + points[:, 1]
        return found / (len(points) - 1)

    traced = jit(turned)
    for n in (5, 9, 2):
        assert_traced(traced, image(n, 2))


def test_lengths_in_the_middle_of_arithmetic() -> None:
    traced = jit(lambda x: np.sqrt(np.sum(np.square(x), axis=0) / x.shape[0]) + (x.shape[1] - 2) * x[0] ** 2 - 1)
    for shape in [(4, 3), (7, 2), (1, 5)]:
        assert_traced(traced, image(*shape, dtype=np.float64))
    assert_traced(traced, image(1, 1, dtype=np.float64), traces=2)  # NumPy adds a single column in another order


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


def _helped(x: Any) -> Any:
    return np.asarray(x) * np.ones(x.shape, np.float32)


def _stencil_as_written(x: Any) -> Any:
    x = np.asarray(x)
    out = np.zeros(x.shape, dtype=x.dtype)
    out[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]
    rows = np.arange(x.shape[0])[:, None] * np.ones((1, x.shape[1]))
    return _helped(out), rows, np.full(x.shape[:1], 2), np.arange(1, x.shape[1] + 1, 2), np.empty_like(x).shape


@pytest.mark.parametrize("k", [np.uint8(3), np.int64(3), np.int16(-2), np.float32(0.5), np.float64(0.5), True, 3, 0.5])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sizes_and_scalars_of_numpys_make_what_they_do(k: Any) -> None:
    """Of integers of few bits, one that wraps around; also of floats that are told at each call."""

    def met(x: Any, k: Any) -> Any:
        n = x.shape[0] * 40
        made = [n + k, k + n, n - k, n * k, k * n, n // k, n % k, k // n, n / k, n > k, n == k, divmod(n, k)]
        return x.astype(np.int16) + (n + k), made, np.maximum(n - k, x)

    traced = jit(met)
    for n in (3, 6, 5):
        assert_same(traced(image(n), k), met(image(n), k))
    one = jit(lambda x, k: x * (x.shape[0] + k))
    for each in (k, type(k)(k + 1), k):
        assert_same(one(image(3), each), image(3) * (3 + each))
    assert kept(one) == 1 or not isinstance(k, (float, np.float32))


def test_arrays_made_of_sizes_are_lazy() -> None:
    traced = jit(_stencil_as_written)
    for shape in [(5, 4), (9, 7), (3, 3), (4, 5)]:
        assert_same(traced(image(*shape)), _stencil_as_written(image(*shape)))
    assert kept(traced) == 1
    assert "asks for values" not in traced.explain(image(5, 4))


def test_numbers_are_part_of_the_kind_and_need_no_new_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    lowered = tracing.lowered
    monkeypatch.setattr(tracing, "lowered", lambda *a, **k: built.append(1) or lowered(*a, **k))
    traced = jit(lambda x, amount: np.exp2(x * amount) + 0.125)
    for amount in (0.5, 1.5, -2.0, np.nan, -0.0):
        assert_same(traced(image(5), amount), traced.__wrapped__(image(5), amount))
    assert len(built) == 1


def test_what_is_computed_twice_is_computed_once() -> None:
    """A float that is told at each call is another one than a number, whatever it is now."""

    def function(x: Any, amount: float) -> Any:
        return np.exp2(x * amount) - np.exp2(x * 0.5), np.exp2(x * amount).max(axis=0)

    traced = jit(function)
    for amount in (0.25, 0.5):
        assert_same(traced(image(5, 3), amount), function(image(5, 3), amount))
    assert traced.explain(image(5, 3), 0.25).splitlines()[0].count("exp2") == 2
    assert kept(traced) == 1
    for amount, count in ((0.25, 2), (0.5, 1)):
        fixed = jit(lambda x, amount=amount: function(x, amount))
        assert_same(fixed(image(5, 3)), function(image(5, 3), amount))
        assert fixed.explain(image(5, 3)).splitlines()[0].count("exp2") == count


# What is outside ------------------------------------------------------------------------------------------------------

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


def test_globals_that_hide_builtins_later_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = jit(lambda x: x * abs(-2))
    assert_traced(traced, image(3))
    monkeypatch.setitem(globals(), "abs", lambda number: number)
    assert_traced(traced, image(3))
    monkeypatch.undo()
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
    numbers = iter(range(1, 9))
    traced = jit(lambda x: x * next(numbers))
    assert [int(traced(np.array([1.0, 1.0]))[0]) for _ in range(3)] == [1, 2, 3]
    assert "traced at each call" in traced.explain(np.ones(2))


def test_state_that_changes_changes_once_for_each_call() -> None:
    counter = Counter()
    traced = jit(lambda x: x * counter.next())
    assert [int(traced(np.array([1.0, 1.0]))[0]) for _ in range(9)] == list(range(1, 10))
    assert counter.calls == 9
    assert "called as it is: it sets calls" in traced.explain(np.ones(2))


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


MODE = 1


def _set_mode(value: int) -> None:
    global MODE
    MODE = value


def test_functions_that_set_globals_see_them() -> None:
    def function(x: Any) -> Any:
        _set_mode(3)
        return np.asarray(x * MODE)

    traced = jit(function)
    assert_same(traced(image(3)), image(3) * 3)
    _set_mode(1)
    assert_same(traced(image(3)), image(3) * 3)


# Traces that are kept -------------------------------------------------------------------------------------------------


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


def test_what_is_kept_holds_no_arguments() -> None:
    traced = jit(lambda x: x[1:] + 1)
    photo = image(8, 8)
    alive = weakref.ref(photo)
    traced(photo)
    del photo
    gc.collect()
    assert kept(traced) == 1
    assert alive() is None


def test_a_trace_goes_with_its_function() -> None:
    """What is remembered of statements does not hold it, not even where something runs whole: of that, arguments are
    kept, but not what stood for arrays in them."""
    before = {id(o) for o in gc.get_objects() if type(o) is tracing.Trace}
    traced = jit(lambda x: np.correlate(x[0], x[1], "same") + np.unwrap(x, period=x.shape[0]))
    for height in (4, 4, 5):
        photo = image(height, 8, dtype=np.float64)
        assert_same(traced(photo), traced.__wrapped__(photo))
    assert kept(traced) == 2
    del traced
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is tracing.Trace and id(o) not in before]


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


def test_attributes_of_functions_are_looked_at() -> None:
    def helper(a: Any) -> Any:
        return a * helper.k  # type: ignore[attr-defined]

    helper.k = 1.0  # type: ignore[attr-defined]
    traced = jit(lambda a: helper(a) + 1)
    x = np.ones(3)
    assert_same(traced(x), np.full(3, 2.0))
    helper.k = 3.0  # type: ignore[attr-defined]
    assert_same(traced(x), np.full(3, 4.0))


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_files_are_read_at_each_call(tmp_path: Path) -> None:
    path = tmp_path / "dark.npy"
    traced = jit(lambda a: a * np.load(path))
    for value in (1.0, 9.0):
        np.save(path, np.full(3, value))
        assert_same(traced(np.ones(3)), np.full(3, value))


def test_lists_and_dictionaries_that_are_given_are_changed() -> None:
    def advance(state: Any, log: Any) -> Any:
        state["u"] = state["u"] * 2
        log.append(state["u"].sum())
        return state["u"] + 1

    traced, state, log = jit(advance), {"u": np.ones(3)}, []  # type: ignore[var-annotated]
    for times in (1, 2):
        assert_same(traced(state, log), np.full(3, 2.0**times + 1))
        assert_same(state["u"], np.full(3, 2.0**times))
        assert len(log) == times
    assert "changes a list or dictionary" in traced.explain(state, log)


def test_methods_of_objects_give_what_these_hold() -> None:
    """A method of an object of Python's own is no function that gives the same again."""
    settings, queue, numbers = {"gain": 1.0}, deque([1.0, 2.0, 3.0]), iter([4.0, 5.0, 6.0])
    get, pop, following, join = settings.get, queue.popleft, numbers.__next__, "".join
    x = np.ones(3)
    traced = jit(lambda a: a * get("gain"))
    assert_same([traced(x), traced(x)], [x, x])
    settings["gain"] = 5.0
    assert_same(traced(x), x * 5)
    for draw, values in ((pop, (1.0, 2.0, 3.0)), (following, (4.0, 5.0, 6.0))):
        traced = jit(lambda a, draw=draw: a * draw())
        assert_same([traced(x) for _ in values], [x * value for value in values])
    assert_traced(jit(lambda a: a * len(join(["a", "b"]))), x)  # what cannot change gives the same


def test_numbers_that_python_draws_are_drawn_at_each_call() -> None:
    traced = jit(lambda a: a * random.random())
    drawn = [float(traced(np.ones(3))[0]) for _ in range(3)]
    assert len(set(drawn)) == 3
    draw = random.random
    traced = jit(lambda a: a * draw())
    assert len({float(traced(np.ones(3))[0]) for _ in range(3)}) == 3


def test_what_was_set_about_errors_is_asked_anew() -> None:
    geterr = np.geterr
    x = np.ones(3)
    for told in (lambda a: a * (1 if np.geterr()["divide"] == "warn" else 2), lambda a: a * len(geterr()["divide"])):
        traced = jit(told)
        assert_same(traced(x), told(x))
        with np.errstate(divide="ignore"):
            assert_same(traced(x), told(x))


def test_warnings_are_caught_where_that_stands() -> None:
    """What says what becomes of warnings is called as it is: work is not put off until that is over."""

    def quiet(a: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.nanmean(np.where(a > 2, a, np.nan), axis=0)

    def strict(a: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.sqrt(a - 0.5) + a

    x = np.zeros((3, 4))
    traced = jit(quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert_same(traced(x), quiet(x))
    assert "catch_warnings" in traced.explain(x)
    traced = jit(strict)
    for _ in range(2):
        with pytest.raises(RuntimeWarning, match="sqrt"):
            traced(x)
    assert_same(traced(x + 1), strict(x + 1))
    with pytest.raises(sl.TracingError, match="catch_warnings"):
        jit(quiet, strict=True)(x)


def test_errors_that_are_raised_are_caught_where_they_stand() -> None:
    """What has NumPy raise errors is called as it is: they come while the function can catch them."""

    def caught(a: Any) -> Any:
        with np.errstate(all="raise"):
            try:
                return np.log(a) + a
            except FloatingPointError:
                return a * 7

    traced = jit(caught)
    for x in (np.zeros((2, 2)), np.ones((2, 2))):
        assert_same(traced(x), caught(x))
    assert "errors that are raised" in traced.explain(np.ones((2, 2)))


def test_texts_of_numbers_are_made_anew() -> None:
    def told(a: Any) -> Any:
        return a * len(np.array2string(np.array([1 / 3])))

    traced, x = jit(told), np.ones(3)
    assert_same(traced(x), told(x))
    with np.printoptions(precision=3):
        assert_same(traced(x), told(x))


class Estimate(NamedTuple):
    """What is known, and how well."""

    value: Any
    spread: Any


def test_calls_that_have_been_prepared_look_for_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def update(old: Any, x: Any, dtype: Any, rows: slice, count: Any) -> Any:
        gain = old.spread / (old.spread + 0.5)
        return Estimate(old.value + gain * (x - old.value), (1 - gain) * old.spread), x[rows].astype(dtype) * count

    traced, x = jit(update), image(4, 4)
    given = [
        (Estimate(x, x * x), x, dtype, slice(0, rows), np.int16(count))
        for dtype, rows, count in ((np.float64, 3, 1), (np.float32, 3, 1), (np.float32, 2, 1), (np.float32, 2, 4))
    ]
    for each in given:
        assert_same(traced(*each), update(*each))
    monkeypatch.setattr(type(traced), "_run", pytest.fail)
    for each in given:
        assert_same(traced(*each), update(*each))
        assert type(traced(*each)[0]) is Estimate


def test_functions_with_effects_are_called_without_a_look_at_what_they_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class State:
        def __init__(self) -> None:
            self.field, self.steps = image(4, 4), 0

    class Solver:
        rate = 0.5

        @jit
        def step(self, state: Any) -> None:
            state.field = state.field + self.rate * np.roll(state.field, 1, 0)
            state.steps += 1

        @jit
        def kept(self, held: Any, x: Any) -> Any:
            held["last"] = x * self.rate
            return x + 1

    solver, state, held = Solver(), State(), {"last": image(4, 4)}
    solver.step(state)
    solver.kept(held, image(4, 4))
    solver.kept(held, image(4, 4))
    solver.kept(held, image(4, 4))
    monkeypatch.setattr(Traces, "key", pytest.fail)
    solver.step(state)
    solver.kept(held, image(4, 4))
    expected = image(4, 4)
    for _ in range(2):
        expected = expected + 0.5 * np.roll(expected, 1, 0)
    assert_same(state.field, expected)
    assert state.steps == 2
    assert_same(held["last"], image(4, 4) * 0.5)


def test_functions_that_cease_to_have_effects_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    traced, x = jit(by_helper), image(4, 4)
    for _ in range(2):
        assert_same(traced(x), x + 1)
    assert "it sets count" in traced.explain(x)
    monkeypatch.setitem(globals(), "helper", lambda x: x + 2)
    for _ in range(2):
        assert_same(traced(x), x + 2)
    assert kept(traced) == 1


def counting(x: Any) -> Any:
    """Sets something."""
    counting.count = 1  # type: ignore[attr-defined]
    return x + 1


helper = counting


def by_helper(x: Any) -> Any:
    """Calls something that may be another function later."""
    return helper(x)


def by_gain(module: Any, x: Any) -> Any:
    """By what a module has that it is given."""
    return x * module.gain


def by_table(module: Any, x: Any) -> Any:
    """The same, of an array."""
    return x * module.table


def test_modules_that_are_handed_on_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = types.ModuleType("handed_on")
    monkeypatch.setitem(sys.modules, "handed_on", settings)

    def handed_on(x: Any) -> Any:
        return by_gain(settings, x)

    def by_another_name(x: Any) -> Any:
        own = settings
        return by_table(own, x)

    def by_a_default(x: Any, read: Any = lambda module, x: x * module.table) -> Any:
        return read(settings, x)

    def as_a_default(x: Any, module: Any = settings) -> Any:
        return x * module.gain + by_table(module, x)

    def imported(x: Any) -> Any:
        import handed_on as own  # type: ignore[import-not-found]

        return by_gain(own, x)

    x = image(3)
    for size in (3, 30000):
        for function in (handed_on, by_another_name, by_a_default, as_a_default, imported):
            traced = jit(function)
            for gain in (1.0, 2.0, 2.0, 3.0):
                table = np.full(3 if size == 3 else (size, 3), gain)
                settings.__dict__.update(gain=gain, table=table)
                assert_same(traced(x), function(x))


def test_what_a_loop_asks_for_is_said_once() -> None:
    traced = jit(lambda x: np.stack([x[x > k].sum() for k in range(40)]))
    x = np.arange(60.0)
    with pytest.warns(sl.ForcedValueWarning):
        traced(x)
    (line,) = [line for line in traced.explain(x).splitlines() if line.startswith("traced at each call")]
    assert line.endswith("(40 times)")


def test_other_defaults_by_name_are_seen() -> None:
    def scale(x: Any, *, by: float = 2.0) -> Any:
        return x * by

    function, x = jit(scale), image(6, 5)
    assert_traced(function, x)
    scale.__kwdefaults__ = {"by": 3.0}
    assert_traced(function, x)


def test_attributes_that_were_not_there_are_seen() -> None:
    """Where a function asks whether a module or a function of people's has one."""
    module = types.ModuleType("settings")

    def helper() -> float:
        return 1.0

    def scale(x: Any) -> Any:
        try:
            x = x * module.by
        except AttributeError:
            x = x + 1
        try:
            return x * helper.by  # type: ignore[attr-defined]
        except AttributeError:
            return x - helper()

    function, x = jit(scale), image(6, 5)
    assert_traced(function, x)
    vars(module)["by"] = 3.0
    assert_traced(function, x)
    vars(helper)["by"] = 4.0
    assert_traced(function, x)
