"""The twelve applications: every pipeline gives what NumPy as written does, and schedules by hand save memory."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any
from unittest import mock

import attrs
import judge_hook
import numpy as np
import pytest

import slinky as sl

with mock.patch.dict(os.environ):  # benchmarks limit the threads of their own process
    from benchmarks import apps
    from benchmarks.apps import tuning
    from benchmarks.apps.app import App, Setting, Size
    from benchmarks.harness import Row

pytestmark = pytest.mark.long


@cache
def whole(name: str) -> sl.Pipeline:
    """The pipeline as described."""
    return apps.load(name).build()


def by_hand(app: App, setting: Setting) -> sl.Pipeline:
    """The pipeline as scheduled. The second judge looks at all of a program after each of its rewrites, which takes
    minutes where there are a hundred for 32 stages: he rests there."""
    with judge_hook.resting() if app.name == "stencil_chain" else nullcontext():
        return app.by_hand(whole(app.name), setting)


def array_of(target: np.ndarray[Any, Any] | sl.Buffer) -> np.ndarray[Any, Any]:
    return target.array if isinstance(target, sl.Buffer) else target


def assert_right(app: App, p: sl.Pipeline, sizes: Sequence[Size]) -> None:
    """It gives what NumPy gives, and keeps all its promises."""
    for size in sizes:
        *inputs, target = app.arrays(size)
        right = app.as_written(*inputs)
        found = array_of(target)
        assert (found.shape, found.dtype) == (right.shape, right.dtype)
        assert found.size > 300
        for checked in (False, True):
            found.fill(0)
            p.run(*inputs, target, checked=checked)
            np.testing.assert_allclose(found, right, rtol=app.tolerance, atol=app.tolerance)


@pytest.mark.parametrize("name", apps.NAMES)
def test_as_described(name: str) -> None:
    assert_right(apps.load(name), whole(name), apps.load(name).small)


@pytest.mark.parametrize("name", apps.NAMES)
def test_by_hand(name: str) -> None:
    app = apps.load(name)
    p = by_hand(app, app.smallest)
    assert_right(app, p, app.small)
    *inputs, target = app.arrays(app.small[0])
    final = p.run(*inputs, target).calls
    assert max(final.values()) > 2, "the pieces are so large that nothing is tested"


TINY = sl.Machine(near_bytes=1 << 12, shared_bytes=1 << 13, memory_bandwidth=1e7, call_seconds=1e-6)
"""A machine on which small pictures are large, and calls cost nothing, so that there is much to schedule."""


@pytest.mark.parametrize("name", apps.NAMES)
def test_automatic(name: str) -> None:
    app = apps.load(name)
    with judge_hook.resting():  # see `by_hand`
        p = sl.auto_schedule(whole(name), *app.arrays(app.small[0]), workers=1, machine=TINY)
    assert_right(app, p, app.small[:1])


@pytest.mark.parametrize("name", apps.NAMES)
def test_the_schedule_that_is_measured_takes_less_memory(name: str) -> None:
    app = apps.load(name)
    assert app.chosen in app.settings
    p = by_hand(app, app.chosen)
    *inputs, target = app.arrays(app.quick)
    p.run(*inputs, target)
    tracemalloc.start()
    try:
        right = app.as_written(*inputs)
        written = tracemalloc.get_traced_memory()[1] - right.nbytes
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        statistics = p.run(*inputs, target)
        inside = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(array_of(target), right, rtol=app.tolerance, atol=app.tolerance)
    assert statistics.peak_bytes + inside < written


def test_pictures_have_something_to_see() -> None:
    for name in apps.NAMES:
        app = apps.load(name)
        *inputs, _ = app.arrays(app.small[0])
        assert len(np.unique(app.as_written(*inputs))) > 20, name


def test_an_automatic_schedule_has_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def auto_schedule(p: sl.Pipeline, *arrays: Any, workers: int | None = None) -> sl.Pipeline:
        asked.append(workers)
        return sl.line_buffer(p, "blur_y", "y", 8)

    monkeypatch.setattr(sl, "auto_schedule", auto_schedule, raising=False)
    sides = apps.sides(apps.load("blur"), (40, 50))
    assert [side.name for side in sides] == list(apps.COLUMNS)
    assert asked == [1]
    results = [np.array(side.run()) for side in sides]
    assert all(np.array_equal(results[0], result) for result in results[1:])


def row(case: str, side: str, milliseconds: float, written: float, peak: int | None) -> Row:
    return Row(case, side, milliseconds / 1e3, milliseconds / written, None, peak)


def test_the_table_has_means_and_the_worst() -> None:
    rows = [
        *(
            row("one", side, time, 8, peak)
            for side, time, peak in zip(apps.COLUMNS, (8, 4, 2, 1), (9, 8, 7, 6), strict=True)
        ),
        *(row("two", side, time, 8, None) for side, time in zip(apps.COLUMNS, (8, 8, 8, 2), strict=True)),
    ]
    for found in rows:
        found.all_ratios = {other.side: found.seconds / other.seconds for other in rows if other.case == found.case}
    text = apps.table(rows)
    assert "| one | 8 ms | 4 ms (2.00×) | 2 ms (4.00×) | 1 ms (8.00×) |" in text
    assert "| geometric mean | | 1.41× | 2.00× | 5.66× |" in text
    assert "| worst | | 1.00× | 1.00× | 4.00× |" in text
    assert "automatic over by hand: geometric mean 2.83, worst 2.00 (one)" in text
    assert "automatic over not scheduled: geometric mean 4.00, worst 4.00 (one)" in text
    without = apps.table([found for found in rows if found.side != "automatic"])
    assert "| one | 8 ms | 4 ms (2.00×) | 2 ms (4.00×) |" in without
    assert "automatic" not in without


def test_tuning_measures_every_setting() -> None:
    app = apps.load("blur")
    found = tuning.measure(attrs.evolve(app, full=(50, 60)), 0)
    assert tuple(found) == app.settings
    assert all(seconds > 0 for seconds in found.values())
