"""What traced functions do beside returning: it is done once for each call, and no lazy array is left behind."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import slinky as sl
from slinky.frontend import kept_traces
from slinky.frontend.trials import LONG_SECONDS, OFTEN, Trial

Array = np.ndarray[Any, Any]
jit = sl.jit(smallest=0, workers=1)
SIZES = [(9, 7), (400, 300), (700, 700)]


class Optimiser:
    """What counts its steps."""

    def __init__(self) -> None:
        self.steps = 0

    @sl.jit(workers=1)
    def step(self, x: Any) -> Any:
        """One step."""
        self.steps += 1
        return x / self.steps + np.sqrt(x)


@pytest.mark.parametrize("shape", SIZES)
def test_state_of_objects_changes_once_for_each_call(shape: tuple[int, ...]) -> None:
    optimiser, x = Optimiser(), np.ones(shape)
    for k in range(1, 5):
        np.testing.assert_array_equal(optimiser.step(x), x / k + 1)
        assert optimiser.steps == k


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("decorate", [sl.jit(workers=1), jit])
def test_what_a_function_does_is_done_once(shape: tuple[int, ...], decorate: Any) -> None:
    numbers, log, count = itertools.count(1), [], 0

    def taken(x: Any) -> Any:
        return x * next(numbers)

    def noted(x: Any) -> Any:
        log.append(x.shape[0])
        return x + len(log)

    def counted(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    x = np.ones(shape)
    for k in range(1, 5):
        assert decorate(taken)(x)[0, 0] == k
        assert decorate(noted)(x)[0, 0] == 1 + k
        assert len(log) == k
        assert decorate(counted)(x)[0, 0] == k
        assert count == k


def test_code_that_sets_something_is_not_traced() -> None:
    last = None

    def keeping(x: Any) -> Any:
        nonlocal last
        last = x * 2
        return last + 1

    function = jit(keeping)
    np.testing.assert_array_equal(function(np.ones((4, 3))), np.full((4, 3), 3.0))
    assert type(last) is np.ndarray
    assert "it sets last" in function.explain(np.ones((4, 3)))
    with pytest.raises(sl.TracingError, match="it sets last"):
        sl.jit(strict=True, smallest=0)(keeping)(np.ones((4, 3)))


def test_variables_of_the_function_itself_are_no_state() -> None:
    def inner(x: Any) -> Any:
        total: Any = 0

        def add(value: Any) -> None:
            nonlocal total
            total = total + value

        add(x)
        add(x * 2)
        return total

    function = jit(inner)
    np.testing.assert_array_equal(function(np.ones((4, 3))), np.full((4, 3), 3.0))
    assert "is traced" in function.explain(np.ones((4, 3)))


class Model:
    """What keeps arrays by a method, which nobody can follow."""

    mean: Any = None

    def keep(self, value: Any) -> None:
        """Keep it."""
        self.mean = value

    @jit
    def fit(self, x: Any) -> Any:
        """What is left of it."""
        self.keep(x.mean(axis=0))
        return x - self.mean


class Slots:
    """What has no dictionary."""

    __slots__ = ("kept",)


def test_what_an_object_keeps_is_an_array() -> None:
    model, x = Model(), np.arange(12.0).reshape(4, 3)
    for _ in range(3):
        np.testing.assert_array_equal(model.fit(x), x - x.mean(axis=0))
        assert type(model.mean) is np.ndarray
        kept, expected = model.mean, x.mean(axis=0)
        x += 1
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_what_is_kept_of_a_trace_that_asked_for_values_may_be_returned_too() -> None:
    seen: list[Any] = []

    def positive(x: Any) -> Any:
        y = x * 2
        if y.min() < 0:
            y = y - y.min()
        seen.append(y)
        return y + 1, y

    traced, x = jit(positive), np.arange(12.0).reshape(4, 3) - 5
    for k in range(3):
        for found, wanted in zip(traced(x - k), ((x - k) * 2 + 11 + 2 * k, (x - k) * 2 + 10 + 2 * k), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert type(seen[k]) is np.ndarray
        np.testing.assert_array_equal(seen[k], (x - k) * 2 + 10 + 2 * k)


def test_what_is_kept_by_a_trace_that_breaks_off_is_an_array() -> None:
    kept: dict[str, Any] = {}

    def first(x: Any) -> Any:
        kept.setdefault("first", x * 2)
        return x.strides

    x = np.arange(12.0).reshape(4, 3)
    assert jit(first)(x) == (24, 8)
    assert type(kept["first"]) is np.ndarray
    np.testing.assert_array_equal(kept["first"], x * 2)


@pytest.mark.parametrize("kind", [list, collections.deque, dict])
def test_what_is_kept_in_a_container_is_an_array(kind: Any) -> None:
    holder = kind()

    def function(x: Any) -> Any:
        made = x[1:] * 2
        if isinstance(holder, dict):
            holder[len(holder)] = made
        else:
            holder.append(made)
        return x + made[0]

    traced, x = jit(function), np.arange(12.0).reshape(4, 3)
    for k in range(3):
        np.testing.assert_array_equal(traced(x + k), x + k + (x + k)[1] * 2)
        last = holder[len(holder) - 1]
        assert type(last) is np.ndarray
        np.testing.assert_array_equal(last, (x + k)[1:] * 2)


def test_scalars_that_are_kept_are_numbers() -> None:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(x.sum())
        return x * 2

    jit(function)(np.ones((4, 3)))
    assert type(kept[0]) is np.float64
    assert kept[0] == 12


def test_what_cannot_be_replaced_is_a_lazy_array_of_its_values() -> None:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append((x * 2, 1))
        return x + 1

    x = np.ones((4, 3))
    jit(function)(x)
    x[:] = 7
    found = kept[0][0]
    np.testing.assert_array_equal(np.asarray(found), np.full((4, 3), 2.0))
    np.testing.assert_array_equal(np.asarray(found[1:] + x[1:]), np.full((3, 3), 9.0))


def test_caches_by_shape_are_filled_with_arrays() -> None:
    cache: dict[Any, Any] = {}

    def windowed(x: Any) -> Any:
        if x.shape not in cache:
            cache[x.shape] = np.arange(x.shape[0])[:, None] * 2.0
        return x * cache[x.shape]

    function = jit(windowed)
    for shape in [(5, 4), (5, 4), (6, 4), (5, 4)]:
        x = np.ones(shape)
        np.testing.assert_array_equal(function(x), windowed(x))
    assert {type(each) for each in cache.values()} == {np.ndarray}
    assert set(cache) == {(5, 4), (6, 4)}


def test_garbage_is_kept_by_nobody() -> None:
    """What goes round in a circle is not kept, though it is there until somebody looks."""

    def function(x: Any) -> Any:
        def again(k: int) -> Any:
            return again(k - 1) if k else x * 2

        return again(3) + x

    traced = jit(function)
    np.testing.assert_array_equal(traced(np.ones((4, 3))), np.full((4, 3), 3.0))
    assert "is traced" in traced.explain(np.ones((4, 3)))


def test_a_function_that_changes_what_it_reads_is_soon_called_as_it_is() -> None:
    log: list[int] = []

    def function(x: Any) -> Any:
        log.append(1)
        return x.strides[0] * x

    traced, x = jit(function), np.ones((4, 3))
    for _ in range(10):
        np.testing.assert_array_equal(traced(x), x * 24)
    assert 10 <= len(log) <= 10 + kept_traces.MOST_CHANGES


class Registry:
    """What keeps an array in its class."""

    last: Any = None

    @jit
    def note(self, x: Any) -> Any:
        """The last one."""
        type(self).last = x * 2
        return x * 3 + type(self).last


def test_what_a_class_keeps_is_an_array() -> None:
    """A class knows its attributes by more than its dictionary."""
    registry, x = Registry(), np.ones((4, 3))
    for _ in range(5):
        np.testing.assert_array_equal(registry.note(x), x * 5)
        assert type(Registry.last) is np.ndarray


class Once(dict[Any, Any]):
    """Takes each key but once."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if key in self:
            raise KeyError(key)
        super().__setitem__(key, value)


def test_arrays_are_put_past_what_a_container_does() -> None:
    once = Once()

    def function(x: Any) -> Any:
        once[len(once)] = x * 2
        return x + 1

    traced, x = jit(function), np.ones((4, 3))
    for k in range(4):
        np.testing.assert_array_equal(traced(x), x + 1)
        assert len(once) == k + 1
    assert {type(each) for each in once.values()} == {np.ndarray}


def test_sizes_that_are_kept_are_the_numbers_that_they_were() -> None:
    class Windows:
        def __init__(self) -> None:
            self.cache: dict[Any, Any] = {}

        def of(self, n: Any) -> Any:
            if n not in self.cache:
                self.cache[n] = np.hanning(n)
            return self.cache[n]

        @jit
        def apply(self, x: Any) -> Any:
            return np.sqrt(x) * self.of(x.shape[1])

    for _ in range(2):
        windows = Windows()
        for n in (40, 50, 40, 50, 60):
            np.testing.assert_array_equal(windows.apply(np.ones((6, n))), np.ones((6, n)) * np.hanning(n))


COUNT = 1


class Counting:
    """Counts by a global."""

    def more(self) -> None:
        """One more."""
        global COUNT
        COUNT += 1

    def by_name(self) -> None:
        """One more, by another way."""
        globals()["COUNT"] += 1


def test_globals_that_others_set_are_seen() -> None:
    def function(x: Any, counting: Any) -> Any:
        counting.more()
        return np.sqrt(x) * COUNT

    def setting(x: Any) -> Any:
        globals()["COUNT"] = COUNT + 1
        return np.sqrt(x) * COUNT

    x = np.ones((4, 3))
    for decorated in (lambda x: jit(function)(x, Counting()), jit(setting)):
        before = COUNT
        for k in range(1, 8):
            np.testing.assert_array_equal(decorated(x), x * (before + k))
            assert before + k == COUNT


def test_what_breaks_off_is_done_twice_but_once() -> None:
    log: list[int] = []

    class Noting:
        """Has a state."""

        @jit
        def note(self, x: Any, by: float) -> Any:
            log.append(1)
            return x * by + x.strides[0]

    noting, x = Noting(), np.ones((4, 3))
    for k in range(20):
        np.testing.assert_array_equal(noting.note(x, 0.5 + k), x * (0.5 + k) + 24)
    assert 20 <= len(log) <= 20 + kept_traces.MOST_CHANGES


def test_what_raises_errors_is_soon_called_as_it_is() -> None:
    log: list[int] = []

    def failing(x: Any) -> Any:
        log.append(1)
        raise ValueError(f"what {len(x)}")

    function = jit(failing)
    for _ in range(20):
        with pytest.raises(ValueError, match="what 4"):
            function(np.ones((4, 3)))
    assert 20 <= len(log) <= 20 + kept_traces.MOST_CHANGES


def test_methods_are_bound() -> None:
    model = Model()
    assert model.fit == model.fit
    assert model.fit.__name__ == "fit"
    assert model.fit.__self__ is model


# ----------------------------------------------------------------------------------------------------------------
# What is watched
# ----------------------------------------------------------------------------------------------------------------


class Settings:
    """What somebody sets attributes of."""

    gain = 2.0


class Scaler:
    """A class that knows by how much."""

    factor = 2

    @classmethod
    @jit
    def scaled(cls, x: Any) -> Any:
        """So many times as much."""
        return x * cls.factor


def test_classes_that_are_given_are_asked_at_each_call() -> None:
    @jit
    def function(x: Any, settings: Any) -> Any:
        return x * (settings[0] if isinstance(settings, list) else settings).gain

    class Own(Settings):
        """One of them."""

    x = np.ones((4, 3))
    for gain in (2.0, 5.0, 7.0):
        Own.gain = gain
        assert function(x, Own)[0, 0] == gain
        assert function(x, [Own])[0, 0] == gain
    for factor in (2, 3):
        Scaler.factor = factor
        assert Scaler.scaled(x)[0, 0] == factor


@pytest.mark.parametrize("kind", [float, int, str, list, dict])
def test_attributes_of_numbers_and_containers_are_watched(kind: Any) -> None:
    own = type("Own", (kind,), {})
    value = own()
    value.unit = 1.0
    x = np.ones((4, 3))
    outside, inside = jit(lambda x: x * value.unit), jit(lambda x, v: x * v.unit)
    for unit in (1.0, 4.0, 5.0):
        value.unit = unit
        assert outside(x)[0, 0] == inside(x, value)[0, 0] == unit


GAIN = 2.0


class Settings2(dict[str, float]):
    """Says more than what it holds."""

    def gain(self) -> float:
        """By a global."""
        return self["g"] * GAIN


class Pair(NamedTuple):
    """Says more than what it holds, too."""

    g: float

    def gain(self) -> float:
        """By a global."""
        return self.g * GAIN


class Level(enum.IntEnum):
    """The same."""

    LOW = 3

    @property
    def g(self) -> float:
        """By a global."""
        return 3 * GAIN


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (Settings2(g=3.0), lambda v: v.gain()),
        (Pair(3.0), lambda v: v.gain()),
        (Level.LOW, lambda v: v.g),
    ],
)
def test_methods_of_containers_and_numbers_are_asked(value: Any, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((4, 3))
    outside, inside = jit(lambda x: x * read(value)), jit(lambda x, v: x * read(v))
    for gain in (2.0, 5.0, 7.0):
        monkeypatch.setitem(globals(), "GAIN", gain)
        assert outside(x)[0, 0] == inside(x, value)[0, 0] == 3 * gain


def test_keys_of_dictionaries_are_told_apart() -> None:
    function, x = jit(lambda x, d: x * next(iter(d))), np.ones((4, 3), np.int64)
    for key in (1, 1.0, True, np.float32(1), -0.0, 0.0):
        found, expected = function(x, {key: 0}), x * key
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_fields_of_structured_arrays_are_told_apart(names: tuple[str, str]) -> None:
    table = np.array([(2.0, 3.0)], dtype=[("a", "f8"), ("b", "f8")])
    function, x = jit(lambda x: x * table["a"][0]), np.ones((4, 3))
    assert function(x)[0, 0] == 2
    table.dtype.names = names
    for _ in range(2):
        assert function(x)[0, 0] == (2 if names[0] == "a" else 3)


# ----------------------------------------------------------------------------------------------------------------
# Whether it pays
# ----------------------------------------------------------------------------------------------------------------


def traced(trial: Trial, *seconds: float) -> Trial:
    for each in seconds:
        assert not trial.wants_plain
        trial.took(each)
    return trial


def test_traces_in_a_row_are_compared_with_the_function_itself() -> None:
    trial = traced(Trial(), LONG_SECONDS / 2, 0.02, 0.03, 0.02)  # the first one makes plans
    assert trial.wants_plain
    trial.took_plainly(0.01)
    assert not trial.wants_plain
    assert trial.is_plain
    assert not traced(Trial(), 0.02, 0.01, 0.01, 0.01).is_plain


def test_a_long_first_trace_counts() -> None:
    trial = traced(Trial(), 2 * LONG_SECONDS)
    assert trial.wants_plain
    trial.took_plainly(LONG_SECONDS)
    assert trial.is_plain


def test_a_long_first_trace_that_learned_something_does_not_count() -> None:
    trial = Trial()
    trial.took(2 * LONG_SECONDS, learned=True)
    assert not trial.wants_plain
    trial.took(2 * LONG_SECONDS, learned=True)  # what it learns now, it learns each time
    assert trial.wants_plain


def test_what_is_used_again_is_not_in_a_row() -> None:
    trial = traced(Trial(), 0.1, 0.1, 0.1)
    trial.restart()
    assert not traced(trial, 0.1, 0.1, 0.1).wants_plain


def test_what_is_nearly_as_fast_is_looked_at_again_later() -> None:
    trial = traced(Trial(), 0.1, 0.012, 0.012, 0.012)
    trial.took_plainly(0.01)
    assert not trial.is_plain
    for _ in range(20):
        trial.took(0.012)
    assert trial.is_plain
    faster = Trial(calls=4, traced=0.012, plain=0.01)
    for _ in range(20):
        faster.took(0.004)
    assert not faster.is_plain


def test_what_comes_again_and_again_is_traced_all_the_same() -> None:
    trial = Trial()
    trial.took(1.0, is_kept=True)
    assert [trial.is_new("a") for _ in range(OFTEN + 2)] == [True] * (OFTEN - 1) + [False] * 3
    assert trial.is_new("b")
    trial.took(1.0)  # that is not kept
    assert all(trial.is_new("a") for _ in range(2 * OFTEN))


def test_what_is_promised_of_memory_holds_however_slow_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "wants_plain", True)
    monkeypatch.setattr(Trial, "took_plainly", lambda self, seconds: pytest.fail("it was called as it is"))
    function, x = sl.jit(smallest=0, workers=1, max_bytes=1 << 20)(lambda x, t: x * t + 1), np.ones((4, 3))
    for k in range(9):
        np.testing.assert_array_equal(function(x, 0.5 + k), x * (0.5 + k) + 1)


def test_a_float_that_changes_takes_no_memory() -> None:
    """Nor does it keep what comes again from being traced."""
    function, x = jit(lambda x, t: x * t + 1), np.ones((4, 3))
    for k in range(300):
        np.testing.assert_array_equal(function(x, 0.5 + k), x * (0.5 + k) + 1)
    assert len(function._traces.by_kind) <= kept_traces.KEPT_TRACES
    assert len(function._trials) == 1
    for _ in range(20):
        function(x, 0.25)
    assert function._traces.key((x, 0.25), {}) in function._traces.by_kind


def test_so_many_kinds_of_arguments_are_kept() -> None:
    function, x = jit(lambda x, k: x * k + 1), np.ones((4, 3))
    for k in range(kept_traces.KEPT_TRACES + 30):
        np.testing.assert_array_equal(function(x, k), x * k + 1)
    assert len(function._traces.by_kind) == kept_traces.KEPT_TRACES


@functools.lru_cache
def half(count: int) -> int:
    """Kept by whatever it is given."""
    return count // 2


def test_sizes_that_were_computed_for_another_call() -> None:
    """They are of arrays that are none of this one's."""

    def function(x: Array) -> Array:
        return x[: half(x.shape[0])] * 2 + half(x.shape[1])

    x = np.random.default_rng(0).random((12, 20))
    for _ in range(2):
        decorated = jit(function)
        for _ in range(3):
            np.testing.assert_array_equal(decorated(x), function(x), strict=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_large_arrays_in_columns_go_along_columns(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips of rows would begin a line of the cache for each element; where axes cannot be taken in reverse, the
    function is called as it is."""
    calls = 0

    def counted(x: Array) -> Array:
        calls_of()
        return np.sqrt(x) * 2 + x

    def calls_of() -> None:
        nonlocal calls
        calls += 1

    monkeypatch.setattr("slinky.sched.machines.this_machine", sl.Machine)
    monkeypatch.setattr(kept_traces.Reads, "_changes", lambda self, what: None)
    monkeypatch.setattr(kept_traces.Reads, "hold", lambda self: True)
    x = np.random.default_rng(0).random((2100, 2000))

    def flat(x: Array) -> Array:
        calls_of()
        return np.sqrt(x.reshape(-1)) * 2 + 1

    for python, is_known in ((counted, True), (flat, False)):
        function, calls = sl.jit(native=False, workers=workers)(python), 0
        arrays = [(x, True), (x.T, is_known), (x, True), (x[:, ::-1], True), (np.asfortranarray(x), is_known)]
        for turned, traced in arrays:
            before = calls
            found = function(turned)
            after = calls
            expected = python(turned)
            np.testing.assert_array_equal(found, expected)
            assert found.flags.f_contiguous == expected.flags.f_contiguous or turned.strides[1] < 0
            assert after - before == (not traced or before == 0)
            calls = after


def test_trials_change_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is faster."""
    for slow in (0.0, math.inf):
        monkeypatch.setattr(Trial, "took", lambda self, seconds, slow=slow, **_: setattr(self, "traced", slow))
        monkeypatch.setattr(Trial, "wants_plain", property(lambda self: self.traced < math.inf and not self.is_plain))
        monkeypatch.setattr(Trial, "took_plainly", lambda self, seconds: setattr(self, "is_plain", True))
        calls: list[int] = []

        def masked(x: Any, calls: list[int] = calls) -> Any:
            picked = x[x > 1]
            return np.concatenate([picked, picked * 2])

        x, function = np.random.default_rng(0).standard_normal((40, 30)), jit(masked)
        with pytest.warns(sl.ForcedValueWarning):
            first = function(x)
        for found in (first, *(function(x) for _ in range(4))):
            np.testing.assert_array_equal(found, masked(x))


def test_what_is_traced_to_see_whether_it_makes_large_arrays_is_done_once() -> None:
    """That trace was thrown away, and the function was called as it is: what it did was done twice."""
    counts, log, names = np.zeros(3), [], {"calls": 0}
    table = np.arange(256.0)

    def counting(x: Any) -> Any:
        np.add(counts, 1, out=counts)
        log.append(x.ndim)
        names["calls"] += 1
        return x * 2 + counts[0]

    def pairs(x: Any) -> Any:
        log.append(x.ndim)
        return x[:, None, :] - x[None]

    def caught(x: Any) -> Any:
        try:
            return table[(x * 1000).astype(int)] + len(log)
        except IndexError:
            return x - 1

    x = np.random.default_rng(0).random((60, 70))
    traced = sl.jit(counting)
    for call, given in enumerate((x, x, x[:50], x[:40], x[:, :60]), start=1):
        np.testing.assert_array_equal(traced(given), given * 2 + call, strict=True)
        assert (counts[0], len(log), names["calls"]) == (call, call, call)
    traced = sl.jit(pairs)
    for call in range(1, 5):
        log.clear()
        np.testing.assert_array_equal(traced(x), x[:, None, :] - x[None], strict=True)
        assert len(log) == 1, call
    traced = sl.jit(caught)
    for _ in range(3):
        np.testing.assert_array_equal(traced(x), x - 1, strict=True)
