"""Assignments to elements that are found by values, in calls whose traces are good for these alone: they are written
to the array itself if nobody else sees it, and are what NumPy has for whoever does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from traced import assert_same, image, jit

import slinky as sl
from slinky.frontend.fancy_indexing import _Assign

pytestmark = pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")


def anomalies(x: Any, month: Any) -> Any:
    """What each month differs from its mean, by the places of its rows."""
    found = np.empty_like(x)
    for m in range(12):
        rows = np.where(month == m)[0]
        found[rows] = x[rows] - x[rows].mean(axis=0)
    return found


def test_places_that_come_of_small_arguments_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call knows the rows as later ones do, and none of them runs whole."""
    x, month = image(60, 70, dtype=np.float64), np.arange(60) % 12
    whole = []
    monkeypatch.setattr("slinky.frontend.fancy_indexing._is_written_now", lambda *given: bool(whole.append(given)))
    traced = jit(anomalies)
    assert_same(traced(x, month), anomalies(x, month))
    assert not whole
    assert_same(traced(x, month[::-1].copy()), anomalies(x, month[::-1]))


def pushed(x: Any, rounds: int = 12) -> Any:
    """What is beyond a limit goes back, and where it came from."""
    found = x * 1.0
    total = found * 0.5
    for k in range(rounds):
        y, z = np.nonzero(found > 2 + 0.1 * k)
        found[y, z] = found[y, z] - 1.0
        total[y] = total[y] + k
    return found, total


def test_nothing_is_copied_that_nobody_else_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first assignment makes an array, for something else is still to be computed of the one before; others write
    to it."""
    made, makes = [], _Assign.__call__

    def counted(self: Any, array: Any, *given: Any) -> Any:
        made.append(array.shape)
        return makes(self, array, *given)

    monkeypatch.setattr(_Assign, "__call__", counted)
    x = image(50, 80, dtype=np.float64) * 3
    assert_same(jit(pushed)(x), pushed(x))
    assert made == [x.shape]


STEPS: list[Callable[[dict[str, Any]], None]] = [
    lambda s: s.update(alias=s["found"]),
    lambda s: s.update(copy=s["found"].copy()),
    lambda s: s.update(copy=+s["found"]),
    lambda s: s.update(alias=s["found"][1:]),
    lambda s: s.update(alias=s["found"].T),
    lambda s: s.update(copy=s["found"] + 1),
    lambda s: s.update(copy=np.sort(s["found"], axis=0)),
    lambda s: s.update(found=s["copy"]),
    lambda s: s.update(copy=s["copy"] * s["found"].shape[0]),
    lambda s: s["kept"].append(s["found"].sum()),
    lambda s: s["kept"].append(float(s["found"].max())),
    lambda s: s["kept"].append(s["found"] * 2),
    lambda s: s["kept"].append(np.asarray(s["found"]) * 1),
    lambda s: _assign(s["found"], s["found"] > 3),
    lambda s: _assign(s["found"], s["copy"] > 2),
    lambda s: _assign(s["alias"], s["alias"] > 1),
    lambda s: _assign(s["copy"], s["found"] < 2),
    lambda s: s["found"].__setitem__((slice(None), 0), 1.0),
    lambda s: s["found"].__iadd__(0.5),
    lambda s: s["found"].__setitem__(np.nonzero(s["found"][:, 0] > 1)[0], s["found"][0] * 1),
    lambda s: s["found"].__setitem__(np.argsort(s["found"][:, 0]), s["found"] * 1),
    lambda s: s["found"].__setitem__(np.argsort(s["found"][:, 0]), s["found"]),
    lambda s: _fails(s["found"]),
]


def _assign(array: Any, where: Any) -> None:
    places = np.nonzero(where)
    array[places] = array[places] - 0.75


def _fails(array: Any) -> None:
    try:
        array[np.nonzero(array[:, 0] > 0)[0] + 1000] = 5.0
    except IndexError:
        array[0, 0] = -1.0


@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=3, max_size=9), st.booleans())
@example([13, 3, 15], True)
@example([13, 4, 15, 13], False)
@example([13, 1, 13, 7, 16], True)
def test_random_programs_that_assign_at_once(steps: list[int], is_forced_first: bool) -> None:
    """Aliases see what is written, copies do not, whatever was asked for in between."""

    def run(x: Any) -> Any:
        s: dict[str, Any] = {"found": x * 1.0, "kept": []}
        s["alias"], s["copy"] = s["found"][::1], s["found"] - 1.0
        if is_forced_first:
            s["kept"].append(float(s["found"][0, 0]))
        for step in steps:
            STEPS[step](s)
        return s["found"], s["alias"] * 1, s["copy"], [np.asarray(each) for each in s["kept"]]

    x = image(7, 6, dtype=np.float64) * 5
    expected = run(x)
    traced = jit(run)
    for _ in range(2):
        assert_same(traced(x), expected)


def test_elements_that_a_mask_has_chosen() -> None:
    """What was chosen is nobody else's, and is not written to: what is written is a copy."""

    def f(x: Any) -> Any:
        chosen = x[x > 3]
        chosen[np.nonzero(chosen > 5)[0]] = 0.5
        y, z = np.nonzero(x > 4)
        y[np.nonzero(z > 1)[0]] = -1
        return chosen, y, z

    x = image(9, 8, dtype=np.float64) * 5
    traced = jit(f)
    for _ in range(2):
        assert_same(traced(x), f(x))


def test_arguments_stay_as_they_are() -> None:
    def f(x: Any) -> Any:
        top = float(x.max())
        x = x.copy()
        x[np.nonzero(x > 0.5 * top)[0]] = top
        return x

    x = image(9, 8, dtype=np.float64)
    before, expected = x.copy(), f(x)
    assert_same(jit(f)(x), expected)
    assert_same(x, before)


def test_what_is_not_understood_is_computed_at_each_call() -> None:
    """Unless values were asked for before it."""

    def fitted(x: Any, is_asked: bool) -> Any:
        scale = float(x.max()) if is_asked else 2.0
        return np.polyfit(x[0], x[1], 2) * scale

    for is_asked in (False, True):
        traced = jit(fitted)
        for x in (image(9, 8, dtype=np.float64), image(9, 8, dtype=np.float64)[::-1, ::-1] * 3):
            assert_same(traced(np.ascontiguousarray(x), is_asked), fitted(x, is_asked))
    assert "polyfit is not understood" in jit(fitted).explain(image(9, 8, dtype=np.float64), False)


def test_rows_of_what_is_not_understood_are_left_to_numpy() -> None:
    """Each of them takes longer to trace than the one before, for what it takes is computed again."""

    def winsorised(x: Any, columns: int) -> Any:
        found = x.copy()
        for k in range(columns):
            found[found[:, k] < 0.2, k] = 0.2
        return found

    x = image(200, 60, dtype=np.float64) / 50
    for columns, is_left in ((5, False), (12, True)):
        traced = sl.jit(winsorised, native=False)
        assert ("others that are not understood" in traced.explain(x, columns)) == is_left
        assert_same(traced(x, columns), winsorised(x, columns))
    whole = jit(winsorised)
    assert_same(whole(x, 12), winsorised(x, 12))
    assert "others that are not understood" not in whole.explain(x, 12)


def test_what_fails_is_what_numpy_raises() -> None:
    """Errors are NumPy's, and what was written before stays."""

    def f(x: Any) -> Any:
        found = x * 2
        rows = np.nonzero(x[:, 0] > -1)[0]
        try:
            found[rows] = np.ones(3)
        except ValueError as error:
            return found, str(error)
        return found, ""

    x = image(5, 4, dtype=np.float64)
    want, text = f(x)
    got, its = jit(f)(x)
    assert_same(got, want)
    assert its == text


def test_strict_functions_are_refused_as_before() -> None:
    with pytest.raises(sl.TracingError, match="assign is not understood"):
        jit(pushed, strict=True)(image(20, 20, dtype=np.float64) * 3)
