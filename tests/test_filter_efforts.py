"""What filters take, as schedules are told: long for an element, and once more for the halo of each strip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl
from benchmarks.first import filters
from slinky.frontend.ndimage.efforts import EFFORTS, effort_of_each
from slinky.ir.statements import Call, For, walk
from slinky.pipeline import Pipeline
from slinky.sched.machines import Machine
from slinky.sched.relations import relations
from slinky.sched.tracks import work_of

ndimage = pytest.importorskip("scipy.ndimage")

DISK = np.hypot(*np.mgrid[-3:4, -3:4]) <= 3.5
SHAPE = (1024, 768)
FILTERS: dict[str, Callable[[Any], Any]] = {
    "binary_dilation": lambda a: sl.ndimage.binary_dilation(a > 0, iterations=1),
    "binary_erosion": lambda a: sl.ndimage.binary_erosion(a > 0, DISK),
    "binary_hit_or_miss": lambda a: sl.ndimage.binary_hit_or_miss(a > 0, DISK),
    "correlate": lambda a: sl.ndimage.correlate(a, DISK * 1.0),
    "generic_filter": lambda a: sl.ndimage.generic_filter(a, np.ptp, 3),
    "grey_dilation": lambda a: sl.ndimage.grey_dilation(a, structure=DISK * 1.0),
    "grey_erosion": lambda a: sl.ndimage.grey_erosion(a, structure=DISK * 1.0),
    "maximum_filter": lambda a: sl.ndimage.maximum_filter(a, footprint=DISK),
    "maximum_filter1d": lambda a: sl.ndimage.maximum_filter1d(a, 9, 0),
    "minimum_filter": lambda a: sl.ndimage.minimum_filter(a, footprint=DISK),
    "minimum_filter1d": lambda a: sl.ndimage.minimum_filter1d(a, 9, 0),
    "rank_filter": lambda a: sl.ndimage.median_filter(a, 5),
}
IMAGE = np.zeros(SHAPE, np.float32)


def traced(function: Callable[[Any], Any]) -> Pipeline:
    return sl.jit(native=False)(function).pipeline(IMAGE)


def height(p: Pipeline) -> int:
    """How high the strips are in which a schedule computes its last call: all where there are none."""
    loops = [each for each in walk(p.program.body) if isinstance(each, For)]
    inside = [loop for loop in loops if any(isinstance(each, Call) for each in walk(loop.body))]
    return min([int(str(loop.step)) for loop in inside], default=SHAPE[0])


@pytest.mark.parametrize("name", FILTERS)
def test_filters_say_what_they_take(name: str) -> None:
    found = relations(traced(FILTERS[name]), IMAGE)
    told = [call.effort for call in found.calls if call.effort is not None and call.effort.each]
    assert told, "no call says what it takes"
    one = effort_of_each(name, 1)
    assert one is not None
    for effort in told:
        assert effort.each >= one
        assert effort.computed >= effort.each * IMAGE.size


def test_what_is_told_of_is_there() -> None:
    assert all(hasattr(ndimage, name) for name in EFFORTS)
    assert effort_of_each("no such filter", 9) is None


def test_a_larger_window_takes_longer() -> None:
    small, large = (effort_of_each("rank_filter", count) for count in (9, 25))
    assert small is not None
    assert large is not None
    assert large > 2 * small


def test_strips_compute_their_halo_once_more() -> None:
    found = relations(traced(lambda a: sl.ndimage.median_filter(a, (5, 3))), IMAGE)
    call = next(call for call in found.calls if call.effort is not None and call.effort.each)
    along = {strips.dim: work_of(call, strips).computed_again for strips in call.strips}
    assert call.effort is not None
    assert along["y"] == pytest.approx(4 * call.effort.each * (SHAPE[1] + 2))
    assert along["x"] == pytest.approx(2 * call.effort.each * (SHAPE[0] + 4))
    assert work_of(call, None).computed_again == 0


def test_strips_of_a_filter_are_higher_the_more_its_halo_takes() -> None:
    machine = Machine(near_bytes=1 << 18, shared_bytes=1 << 20, call_seconds=1e-7)

    def found(function: Callable[[Any], Any]) -> int:
        return height(sl.auto_schedule(traced(function), IMAGE, machine=machine, workers=1))

    cheap = found(lambda a: (a - sl.ndimage.gaussian_filter1d(a, 2, 0)) * 2 + 1)
    dear = found(lambda a: (a - sl.ndimage.median_filter(a, 17)) * 2 + 1)
    assert cheap < dear


def test_tasks_of_many_windows_have_strips_that_are_shown_to_slide() -> None:
    """Where windows span more rows than strips of tasks have, they would be computed again in each strip."""
    image = np.zeros((2048, 2048))
    p = sl.jit(native=False)(filters).pipeline(image)
    machine = Machine(cores=2)
    scheduled = sl.auto_schedule(p, image, machine=machine, workers=2)
    explained = str(sl.explain(scheduled))
    assert "in 4 tasks" in explained
    assert "computed again" not in explained
    assert height(scheduled) >= 22


@pytest.mark.parametrize("said", [-1, "much", None, np.nan])
def test_what_callbacks_say_that_is_no_effort_is_not_heard(said: Any) -> None:
    """Attributes of these names may mean something else to their authors."""

    class Doubled:
        operations = effort_of_each = said

        def __call__(self, a: Any, out: Any) -> None:
            np.multiply(a, 2, out=out)

    (y,) = sl.variables("y")
    given, out = (sl.BufferExpr(name, np.float32, 1) for name in ("given", "out"))
    sl.Func(Doubled(), [given[y]], [out[y]])
    p = sl.build_pipeline([given], [out])
    (call,) = relations(p, np.zeros(1 << 20, np.float32)).calls
    assert call.effort is None
    assert call.operations.count() == 1
