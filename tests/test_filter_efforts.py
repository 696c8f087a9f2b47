"""What filters take, as schedules are told: long for an element, and once more for the halo of each strip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl
from benchmarks.first import filters
from slinky.frontend.ndimage.efforts import EFFORTS, effort_of_each
from slinky.frontend.ndimage.lines import is_thin
from slinky.frontend.worth import Estimate
from slinky.ir.statements import Call, For, walk
from slinky.pipeline import Pipeline
from slinky.sched.efforts import found_far
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


def traced(function: Callable[[Any], Any], image: Any = IMAGE) -> Pipeline:
    return sl.jit(native=False)(function).pipeline(image)


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


FAR, NEAR, ALONG_A_ROW = (2500, 2500), (900, 900), (2, 100_000)


@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "takes_longer"),
    [
        (FAR, np.float64, 0, True),
        (FAR, np.float64, 1, False),
        (FAR, np.uint8, 0, True),
        (NEAR, np.float64, 0, False),
        (ALONG_A_ROW, np.float64, 0, False),
        ((3, *FAR), np.float64, 0, False),
        ((3, *FAR), np.float64, 1, True),
        ((2500, 0), np.float64, 0, False),
        (FAR, np.float64, None, False),
        (FAR, np.float64, 2, False),
        (FAR, np.float64, -2, False),
    ],
)
def test_lines_through_many_pages_take_longer(shape: Any, dtype: Any, axis: int | None, takes_longer: bool) -> None:
    array = (shape, np.dtype(dtype))
    assert (found_far(array, array, axis) > 0) == takes_longer


def test_strips_go_through_few_pages() -> None:
    image = np.zeros(FAR)
    p = traced(lambda a: sl.ndimage.maximum_filter1d(a, 5, 0), image)
    call = next(call for call in relations(p, image).calls if call.effort is not None and call.effort.each)
    assert call.effort is not None
    of_y, of_x = (work_of(call, next(s for s in call.strips if s.position == k)).effort for k in (0, 1))
    assert of_y is not None
    assert of_y.computed == pytest.approx(call.effort.each * (FAR[0] + 4) * FAR[1])
    assert of_x == work_of(call, None).effort == call.effort
    assert call.effort.computed > of_y.computed
    assert call.effort.scaled(2).along(0).computed == pytest.approx(2 * of_y.computed)


@pytest.mark.parametrize("name", ["gaussian_filter", "uniform_filter", "maximum_filter"])
def test_threads_share_filters_along_axes(name: str) -> None:
    image = np.zeros((2048, 2048), np.float32)
    p = traced(lambda a: getattr(sl.ndimage, name)(a, 3), image)
    scheduled = sl.auto_schedule(p, image, machine=Machine(cores=2), workers=2)
    assert "in 4 tasks" in str(sl.explain(scheduled))


def test_filters_that_compute_for_most_of_the_time_need_not_be_larger_than_caches() -> None:
    small = {"on_the_way": 10, "held": 20, "least": 4.0, "most": 4.0, "in_c": 4.0}
    assert not Estimate(scheduled=2.0, told=1.0, **small).is_faster(is_tried=False)
    assert Estimate(scheduled=2.0, told=3.0, **small).is_faster(is_tried=False)
    assert not Estimate(scheduled=3.9, told=3.0, **small).is_faster(is_tried=False)


@pytest.mark.parametrize(
    ("rows", "window", "thin"), [(16, 17, True), (64, 17, False), (16, 3, True), (200, 33, False), (3, 3, True)]
)
def test_strips_are_thin_where_scipy_takes_longer_for_their_halo(rows: int, window: int, thin: bool) -> None:
    piece = np.zeros((rows + window - 1, 2048))
    assert is_thin(piece, 0, window, piece.dtype) == thin
    assert not is_thin(piece, 1, window, piece.dtype)


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


@pytest.mark.parametrize("axis", [-1, 7, "y", None, 0.5])
def test_axes_of_lines_that_are_none_are_not_heard(axis: Any) -> None:
    class Doubled:
        effort_of_each, axis_of_lines = 100.0, axis

        def __call__(self, a: Any, out: Any) -> None:
            np.multiply(a, 2, out=out)

    y, x = sl.variables("y x")
    given, out = (sl.BufferExpr(name, np.float64, 2) for name in ("given", "out"))
    sl.Func(Doubled(), [given[y, x]], [out[y, x]])
    p = sl.build_pipeline([given], [out])
    (call,) = relations(p, np.zeros(FAR)).calls
    assert call.effort is not None
    assert call.effort.computed == pytest.approx(100.0 * FAR[0] * FAR[1])
