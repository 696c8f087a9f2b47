"""How the model's order of schedules is compared with the measured one: what is drawn, and what is made of it."""

from __future__ import annotations

import math
import os
from unittest import mock

import attrs
import numpy as np
import pytest
from scipy import stats

import slinky as sl

with mock.patch.dict(os.environ):  # benchmarks limit the threads of their own process
    from benchmarks import apps
    from benchmarks.apps import order, tuning

pytestmark = pytest.mark.long

LAPTOP = sl.Machine()


def test_rank_correlation_is_that_of_scipy() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        first, second = (random.integers(0, 6, 9).tolist() for _ in range(2))
        if len({*first}) > 1 < len({*second}):
            assert order.spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert order.spearman([1, 2, 3], [10, 20, 300]) == 1
    assert order.spearman([1, 2, 3], [3, 2, 1]) == -1
    assert math.isnan(order.spearman([1, 1], [1, 2]))


@pytest.mark.parametrize("name", ["blur", "harris"])
def test_schedules_that_are_drawn(name: str) -> None:
    """All different, the same each time, the unscheduled program among them; and all are right."""
    app = apps.load(name)
    p, arrays = app.build(), app.arrays(app.small[1])
    found = order.drawn(p, arrays, LAPTOP, 8)
    texts = [str(each.pipeline) for each in found]
    assert len({*texts}) == len(texts) == 8
    assert texts[0] == str(p)
    assert texts == [str(each.pipeline) for each in order.drawn(p, arrays, LAPTOP, 8)]
    assert all(each.predicted > 0 for each in found)
    right = app.as_written(*arrays[:-1])
    order.measure(found, arrays, 0)
    for each in found:
        each.pipeline(*arrays)
        result = arrays[-1].array if isinstance(arrays[-1], sl.Buffer) else arrays[-1]
        np.testing.assert_allclose(result, right, rtol=app.tolerance, atol=app.tolerance)
        assert len(each.seconds) == order.ROUNDS
    assert len(list(order.lines(found))) == 8


def test_heights_and_groups_are_as_asked() -> None:
    app = apps.load("harris")
    p, arrays = app.build(), app.arrays(app.small[1])
    for members, height in ((64, 4), (2, 8)):
        q = order.as_asked(p, arrays, LAPTOP, members, height)
        loops = q.find_all("for _")
        assert {str(loop.step()) for loop in loops} == {str(height)}
        assert all(len(loop.find_all("_ = _")) <= members for loop in loops)
    assert not order.as_asked(p, arrays, LAPTOP, 1, 4).find_all("for _")


def test_what_is_tuned_takes_turns_with_the_schedule_by_hand() -> None:
    app = apps.load("blur")
    found = tuning.tuned_over_by_hand(attrs.evolve(app, full=app.small[1], chosen=app.smallest), 0)
    assert 0 < found.least <= found.speed <= found.most
    assert str(found).startswith("tuned over by hand ")
    assert len(sl.explain(found.found).measured) == 3
