"""`tune`: the fastest of what is tried, in the time that it is given, and nothing harmed on the way.

Time is not measured here: callbacks say how long they take, by a clock of the tests' own.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scheduled import stencils

import examples
import slinky as sl
from slinky.sched import tuning
from slinky.sched.candidates import candidates
from slinky.sched.explaining import Candidate

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]

LAPTOP = sl.Machine()


class Clock:
    """A clock that moves when somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(tuning, "clock", found)
    return found


def two_steps(callback: Callable[..., None]) -> sl.Pipeline:
    """Two funcs on the points of a plane, by the same callback."""
    inp, mid, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "mid", "out"))
    sl.Func(callback, [inp[y, x]], [mid[y, x]], name="one")
    sl.Func(callback, [mid[y, x]], [out[y, x]], name="two")
    return sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])


def taking(clock: Clock, seconds: Callable[[int], float]) -> Callable[..., None]:
    """A callback that adds one, and takes so many seconds for so many rows."""

    def callback(source: Array, target: Array) -> None:
        clock.now += seconds(len(target))
        np.add(source, 1, out=target)

    return callback


def plane(rows: int = 1200, columns: int = 900) -> tuple[Array, Array]:
    """An input, and an output that shall stay as it is."""
    values = np.random.default_rng(0).integers(0, 100, (rows, columns)).astype(np.int32)
    return values, np.full_like(values, -5)


def tuned(p: sl.Pipeline, *arrays: Any, budget_s: float = 100.0, **options: Any) -> sl.Pipeline:
    return sl.tune(p, *arrays, **{"budget_s": budget_s, "workers": 1, "machine": LAPTOP, **options})


# ----------------------------------------------------------------------------------------------------------------
# What is found
# ----------------------------------------------------------------------------------------------------------------


def best_height(rows: int) -> float:
    """Seconds for a piece of so many rows: a call costs as much as 15, and beyond 16 each takes ten times as long."""
    return (15 + rows + 9 * max(rows - 16, 0)) * 1e-4


def test_the_best_height_is_found_from_where_the_model_is_wrong(clock: Clock) -> None:
    p = two_steps(taking(clock, best_height))
    q = tuned(p, *plane())
    assert [str(loop.step()) for loop in q.find_all("for _")] == ["16"]
    measured = sl.explain(q).measured
    assert measured[0].median == min(c.median for c in measured)
    assert [c.median for c in measured] == sorted(c.median for c in measured)
    by_hand = [sl.strips(p, rows) for rows in (8, 16, 32, 64, 128, 256)]
    assert measured[0].median <= min(seconds_of(clock, each) for each in by_hand)


def seconds_of(clock: Clock, p: sl.Pipeline) -> float:
    before = clock.now
    p(*plane())
    return clock.now - before


def test_the_program_as_it_was_wins_where_calls_are_dear(clock: Clock) -> None:
    p = two_steps(taking(clock, lambda rows: 10.0))
    q = tuned(p, *plane())
    assert not q.find_all("for _")
    assert not sl.explain(q).measured[0].is_scheduled


def test_the_table_tells_all_that_ran(clock: Clock) -> None:
    q = tuned(two_steps(taking(clock, best_height)), *plane())
    found = sl.explain(q)
    lines = str(found).splitlines()[-len(found.measured) :]
    assert lines == [str(c) for c in found.measured]
    best = found.measured[0]
    assert lines[0] == f"{best.median * 1e3:.3g} ms in {len(best.seconds)} runs: strips of 16, 1 worker"
    assert sum(line.endswith(": not scheduled") for line in lines) == 1
    assert any(": calls x 1, caches x 1, 1 worker" in line for line in lines)
    assert [d.func for d in found.decisions] == ["one", "two"]
    assert [d.reason for d in found.decisions] == ["sl.strips(p, 16)"] * 2
    assert [(d.computed, d.stored) for d in found.decisions] == [
        ("in loop y", "a window of 16"),
        ("in loop y", "in full"),
    ]
    assert "nan" not in str(found)


def test_each_program_runs_once_before_some_run_in_turns(clock: Clock) -> None:
    """Those that fall behind leave: they have run less often than the fastest one."""
    q = tuned(two_steps(taking(clock, best_height)), *plane())
    measured = sl.explain(q).measured
    runs = [len(c.seconds) for c in measured]
    near = [n for c, n in zip(measured, runs, strict=True) if c.median <= 1.5 * measured[0].median]
    assert min(near) >= 3
    assert {n for c, n in zip(measured, runs, strict=True) if c.median > 1.5 * measured[0].median} == {1}


def test_what_is_hopeless_runs_once(clock: Clock) -> None:
    """Where calls are dear, low strips take many times as long as high ones: they need not be made sure of."""
    count: dict[int, int] = {}

    def callback(source: Array, target: Array) -> None:
        clock.now += 1.0
        count[len(target)] = count.get(len(target), 0) + 1
        np.add(source, 1, out=target)

    q = tuned(two_steps(callback), *plane(256, 8), budget_s=400)
    measured = sl.explain(q).measured
    slow = [c for c in measured if c.median > 3 * measured[0].median]
    assert slow
    assert {len(c.seconds) for c in slow} == {1}
    first = next(c for c in measured if c.rows == 16)
    assert count[16] == 2 * (256 // 16) * len(first.seconds)


@pytest.mark.parametrize("budget", [0.0, 1e-9, 5.0, 60.0])
def test_the_time_is_kept(clock: Clock, budget: float) -> None:
    """But for three candidates, which run three times in any case, and what runs when it is over."""
    q = tuned(two_steps(taking(clock, lambda rows: 0.01)), *plane(100, 100), budget_s=budget)
    measured = sl.explain(q).measured
    once = [c.median for c in measured]
    assert len(measured) >= 3
    assert clock.now <= budget + 2 * max(once) + 4 * sum(sorted(once)[-3:])
    assert budget > 1 or len(measured) == 3


def test_fewer_workers_are_tried() -> None:
    """By a real clock: who wins is not said."""
    q = sl.tune(two_steps(taking(Clock(), lambda rows: 0)), *plane(), budget_s=0.3, workers=2, machine=LAPTOP)
    assert {c.workers for c in sl.explain(q).measured if c.is_scheduled} >= {2}
    given, target = plane()
    q(given, target)
    np.testing.assert_array_equal(target, given + 2)


def test_a_bound_on_memory_is_kept_by_all(clock: Clock) -> None:
    p, arrays = two_steps(taking(clock, best_height)), plane()
    q = tuned(p, *arrays, max_bytes=100_000)
    assert q.memory(*arrays).program_bytes <= 100_000
    for candidate in sl.explain(q).measured:
        assert candidate.is_scheduled
        assert candidate.rows is None or candidate.rows * 900 * 4 <= 100_000
    with pytest.raises(sl.SchedulingError, match="no schedule was found that takes at most 10 bytes"):
        tuned(p, *arrays, max_bytes=10)


def test_stencils_by_a_real_clock() -> None:
    """Windows that slide, and the same result."""
    values = np.random.default_rng(1).integers(0, 50, (700, 500)).astype(np.int16)
    p = stencils(3)
    expected, found = (sl.Buffer(np.zeros((694, 494), np.int16), min=(3, 3)) for _ in range(2))
    p(values, expected)
    q = sl.tune(p, values, found, budget_s=0.2, workers=2, machine=LAPTOP)
    assert not found.array.any()
    q(values, found)
    np.testing.assert_array_equal(found.array, expected.array)


# ----------------------------------------------------------------------------------------------------------------
# What is tried
# ----------------------------------------------------------------------------------------------------------------


def tried(most: int, seconds: Callable[[Candidate], float], count: int, *, as_it_was: bool = True) -> list[Candidate]:
    """The first so many candidates, where each takes so long."""
    ran: list[Candidate] = []

    def best() -> Candidate | None:
        return min(ran, key=lambda c: c.median, default=None)

    for candidate in itertools.islice(candidates(most, best, as_it_was=as_it_was), count):
        ran.append(attrs.evolve(candidate, seconds=(seconds(candidate),)))
    return [attrs.evolve(c, seconds=()) for c in ran]


def test_what_is_near_the_best_comes_first() -> None:
    def near_100(candidate: Candidate) -> float:
        return abs((candidate.rows or 10**6) - 100)

    assert [c.rows for c in tried(1, near_100, 10)] == [None, None, 16, 32, 64, 128, 256, 192, 96, 48]
    assert [c.rows for c in tried(1, lambda c: c.rows or 10**6, 7)] == [None, None, 16, 32, 8, 4, 2]
    quick = Candidate(1, 16.0, 4.0)
    factors = [(c.call_factor, c.cache_factor) for c in tried(1, lambda c: float(c != quick), 5)]
    assert factors == [(1, 1), (1, 1), (1, 1), (4, 1), (0.25, 1)]


def test_all_that_is_usual_comes_in_the_end_and_nothing_twice() -> None:
    found = tried(2, lambda c: 1.0, 1000)
    assert len(found) == len(set(found)) < 100
    assert {(c.workers, c.call_factor, c.cache_factor) for c in found if c.is_scheduled and c.rows is None} >= set(
        itertools.product((1, 2), (1.0, 0.25, 4.0, 16.0), (1.0, 4.0, 0.25))
    )
    assert {(c.workers, c.rows) for c in found if c.rows is not None} >= set(itertools.product((1, 2), (4, 64)))
    assert sum(not c.is_scheduled for c in found) == 1
    assert all(c.is_scheduled for c in tried(2, lambda c: 1.0, 1000, as_it_was=False))


def test_climbing_ends_at_the_edges() -> None:
    """The higher the strips the better, or the lower, without end."""
    for seconds in (lambda c: 1 / (c.rows or 1), lambda c: c.rows or 1e9, lambda c: 1 / c.call_factor):
        found = tried(1, seconds, 1000)
        assert len(found) < 60
        assert all(c.rows is None or 1 <= c.rows <= 1 << 14 for c in found)


# ----------------------------------------------------------------------------------------------------------------
# What goes wrong
# ----------------------------------------------------------------------------------------------------------------


def fails_below(clock: Clock, rows: int) -> Callable[..., None]:
    """A callback that cannot do with fewer rows."""
    inner = taking(clock, best_height)

    def callback(source: Array, target: Array) -> None:
        if len(target) < rows:
            raise ValueError(f"at least {rows} rows are needed")
        inner(source, target)

    return callback


def test_a_schedule_in_which_a_callback_raises_is_left_out(clock: Clock) -> None:
    q = tuned(two_steps(fails_below(clock, 1200)), *plane())
    assert not q.find_all("for _")
    failed = [c for c in sl.explain(q).measured if c.failed]
    assert failed
    assert str(failed[0]).endswith(": ValueError: at least 1200 rows are needed")
    assert str(failed[0]).startswith("failed: ")
    assert all(c.median == float("inf") for c in failed)


def test_a_callback_that_always_raises_ends_tuning(clock: Clock) -> None:
    with pytest.raises(ValueError, match="at least 2000 rows are needed"):
        tuned(two_steps(fails_below(clock, 2000)), *plane())


def test_arguments_that_are_wrong_are_refused_at_once(clock: Clock) -> None:
    p = two_steps(taking(clock, best_height))
    values, target = plane()
    for arguments, words in (((values.astype(float), target), "expected dtype int32"), ((values,) * 2, "overlap")):
        with pytest.raises(sl.ArgumentError, match=words):
            tuned(p, *arguments)
    target.flags.writeable = False
    with pytest.raises(sl.ArgumentError, match="an output must be writable"):
        tuned(p, values, target)
    assert clock.now == 0


def interrupting(clock: Clock, call: int) -> Callable[..., None]:
    """A callback during a call of which somebody presses Ctrl-C, once."""
    inner, calls = taking(clock, best_height), itertools.count(1)

    def callback(source: Array, target: Array) -> None:
        if next(calls) == call:
            raise KeyboardInterrupt
        inner(source, target)

    return callback


@pytest.mark.parametrize("call", [200, 300, 500, 1500])
def test_an_interrupt_keeps_the_best_so_far(clock: Clock, call: int, tmp_path: Path) -> None:
    """And says so; another time it is measured anew, for nothing is kept in the file."""
    p, (values, target) = two_steps(interrupting(clock, call)), plane()
    cache = tmp_path / "tuned.json"
    words = r"^tune: interrupted after .*; keeps the fastest of \d+ schedules so far$"
    with pytest.warns(sl.TuningWarning, match=words):
        q = tuned(p, values, target, cache=cache)
    assert not cache.exists()
    measured = sl.explain(q).measured
    assert measured[0].seconds
    assert measured[0].median == min(c.median for c in measured)
    assert (target == -5).all()
    q(values, target)
    np.testing.assert_array_equal(target, values + 2)


def test_an_interrupt_before_anything_was_measured_is_one(clock: Clock) -> None:
    with pytest.raises(KeyboardInterrupt):
        tuned(two_steps(interrupting(clock, 1)), *plane())


# ----------------------------------------------------------------------------------------------------------------
# What is harmed: nothing
# ----------------------------------------------------------------------------------------------------------------


def outputs_of(kind: str, shape: tuple[int, int]) -> Array:
    """An array that lies in memory in some way."""
    height, width = shape
    match kind:
        case "rows":
            return np.full(shape, -5, np.int32)
        case "columns":
            return np.full(shape, -5, np.int32, order="F")
        case "strided":
            return np.full((height, 3 * width), -5, np.int32)[:, ::3]
        case "backwards":
            return np.full(shape, -5, np.int32)[::-1, ::-1]
        case _:
            return np.full((height, width + 7), -5, np.int32)[:, 7:]


@pytest.mark.parametrize("kind", ["rows", "columns", "strided", "backwards", "padded"])
def test_outputs_stay_as_they_are(clock: Clock, kind: str) -> None:
    """Runs write to others that lie in memory in the same way."""
    seen: set[tuple[int, ...]] = set()

    def callback(source: Array, target: Array) -> None:
        clock.now += best_height(len(target))
        seen.add(target.strides)
        np.add(source, 1, out=target)

    values, _ = plane(300, 40)
    target = outputs_of(kind, (300, 40))
    q = tuned(two_steps(callback), values, target, budget_s=0)
    assert (target == -5).all()
    assert target.strides in seen
    q(values, target)
    np.testing.assert_array_equal(target, values + 2)


def test_outputs_by_name_elsewhere_or_omitted(clock: Clock) -> None:
    values, target = plane(300, 40)
    p = two_steps(taking(clock, best_height))
    there = sl.Buffer(target, min=(3, -2))
    for arrays, named in (
        ((values,), {"out": target}),
        ((values,), {}),
        ((sl.Buffer(values, min=(3, -2)), there), {}),
    ):
        q = tuned(p, *arrays, budget_s=0, **named)
        assert (target == -5).all()
        assert len(sl.explain(q).measured) == 3


def test_what_is_not_a_number_changes_nothing() -> None:
    values = np.full(1000, np.nan, np.float32)
    values[10:20] = np.inf
    out = np.zeros(998, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        q = tuned(examples.blur(), values, sl.Buffer(out, min=(1,)), budget_s=0)
        assert not out.any()
        expected, found = (sl.Buffer(np.zeros(998, np.float32), min=(1,)) for _ in range(2))
        examples.blur()(values, expected)
        q(values, found)
    np.testing.assert_array_equal(found.array, expected.array)


# ----------------------------------------------------------------------------------------------------------------
# What is kept
# ----------------------------------------------------------------------------------------------------------------


def test_what_was_found_is_kept_by_program_sizes_and_machine(clock: Clock, tmp_path: Path) -> None:
    p, (values, target) = two_steps(taking(clock, best_height)), plane()
    cache = tmp_path / "kept" / "tuned.json"
    q = tuned(p, values, target, cache=cache)
    gone = clock.now
    assert gone > 0
    assert str(tuned(p, values, target, cache=cache)) == str(q)
    assert str(tuned(two_steps(taking(clock, best_height)), values, target, cache=cache)) == str(q)
    assert clock.now == gone
    others: list[Callable[[], object]] = [
        lambda: tuned(p, values[:1100], target[:1100], cache=cache),
        lambda: tuned(p, values, cache=cache, out=target),
        lambda: tuned(p, values[:1100], cache=cache, out=target[:1100]),
        lambda: tuned(p, sl.Buffer(values, min=(1, 0)), sl.Buffer(target, min=(1, 0)), cache=cache),
        lambda: tuned(p, values, target, cache=cache, workers=2),
        lambda: tuned(p, values, target, cache=cache, max_bytes=1 << 20),
        lambda: tuned(p, values, target, cache=cache, machine=sl.Machine(near_bytes=1 << 18)),
        lambda: tuned(sl.rename(p, "other"), values, target, cache=cache),
    ]
    for n, other in enumerate(others, start=2):
        gone = clock.now
        other()
        assert clock.now > gone, n
        assert len(json.loads(cache.read_text())) == n
        gone = clock.now
        other()
        assert clock.now == gone, n


SOUND = {"workers": 1, "call_factor": 1.0, "cache_factor": 1, "is_scheduled": True, "rows": None}

WRONG: list[Any] = [
    3, [1, 2], {}, {**SOUND, "workers": 0}, {**SOUND, "rows": True}, {**SOUND, "rows": 2.5}, {**SOUND, "more": 1},
    {**SOUND, "is_scheduled": 1}, {**SOUND, "call_factor": "1"}, {**SOUND, "workers": None},
]  # fmt: skip


@pytest.mark.parametrize("data", [b"[]", b"{", b"\xff\xfe", *(json.dumps({"k": value}).encode() for value in WRONG)])
def test_a_file_that_tune_has_not_written(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_bytes(data)
    values, out = np.zeros(100, np.float32), sl.Buffer(np.zeros(98, np.float32), min=(1,))
    with pytest.raises(sl.OperationError, match=r"tuned\.json does not hold what tune has kept"):
        tuned(examples.blur(), values, out, budget_s=0, cache=path)
    assert path.read_bytes() == data


@pytest.mark.parametrize(("data", "words"), [([], "expected names and values, got []"), ({"k": 3}, "got 3")])
def test_what_is_wrong_with_a_file_is_said(data: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps(data))
    with pytest.raises(sl.OperationError, match=re.escape(words)):
        tuned(examples.blur(), (100,), (98,), budget_s=0, cache=path)


def test_a_file_that_cannot_be_written_is_refused_first(clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    p, (values, target) = two_steps(taking(clock, best_height)), plane()
    before = clock.now
    with pytest.raises(sl.OperationError, match=r"tuned\.json cannot be written: File exists"):
        tuned(p, values, target, cache=tmp_path / "gone" / "tuned.json")
    assert clock.now == before


def test_a_choice_that_cannot_be_kept_is_not_lost(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tuning, "replace_json", full)
    p, (values, target) = two_steps(taking(clock, best_height)), plane()
    with pytest.warns(sl.TuningWarning, match="No space left on device"):
        q = tuned(p, values, target, cache=tmp_path / "tuned.json")
    assert sl.explain(q).measured


@pytest.mark.parametrize("budget", [-1, float("nan"), "long", True])
def test_budgets_that_make_no_sense(budget: Any) -> None:
    with pytest.raises(sl.OperationError, match="tune: budget_s must be a number of seconds, 0 or more"):
        sl.tune(examples.blur(), (10,), (8,), budget_s=budget)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"machine": "this"}, "machine must be a Machine, got 'this'"),
        ({"workers": 0}, "workers must be an integer of at least 1, got 0"),
        ({"max_bytes": "1 MB"}, "max_bytes must be an integer of at least 0, got '1 MB'"),
        ({"cache": 3}, "cache must be the name of a file, got 3"),
    ],
)
def test_options_that_make_no_sense(options: Any, words: str) -> None:
    with pytest.raises(sl.OperationError, match=f"tune: {words}"):
        sl.tune(examples.blur(), (10,), (8,), **options)
    with pytest.raises(sl.OperationError, match="tune: the first argument must be a Pipeline, got str"):
        sl.tune("blur", (10,), (8,), **options)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------------
# What is shown
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The bars that are shown, which write nowhere."""
    tqdm = pytest.importorskip("tqdm")
    made: list[Any] = []

    class Silent(tqdm.tqdm):  # type: ignore[misc,name-defined]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options, file=io.StringIO())
            self.postfixes: list[str] = []
            self.is_closed = False
            made.append(self)

        def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
            self.postfixes.append(s)

        def close(self) -> None:
            self.is_closed = True
            super().close()

    monkeypatch.setattr(tqdm, "tqdm", Silent)
    return made


def test_a_bar_goes_to_the_end_and_says_what_is_best(clock: Clock, bars: list[Any]) -> None:
    q = tuned(two_steps(taking(clock, best_height)), *plane(), budget_s=20, progress=True)
    (bar,) = bars
    assert bar.is_closed
    assert bar.n == bar.total == 20
    best = sl.explain(q).measured[0]
    assert bar.postfixes[-1] == f"best {best.median * 1e3:.3g} ms, of {len(sl.explain(q).measured)}"


def test_a_bar_ends_with_what_is_raised(clock: Clock, bars: list[Any]) -> None:
    with pytest.raises(ValueError, match="rows are needed"):
        tuned(two_steps(fails_below(clock, 2000)), *plane(), progress=True)
    assert bars[0].is_closed
