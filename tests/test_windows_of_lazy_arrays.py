"""Windows of lazy arrays compute what they need, and when they move, run the same pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import assert_same, image

import slinky as sl
from slinky.frontend import tracing

PHOTO = image(400, 500, dtype=np.float64)


def sharpened(photo: Any) -> Any:
    padded = np.pad(photo, 1, mode="edge")
    soft = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
    return np.sort(np.clip(photo + 1.5 * (photo - soft), 0, 30)[..., None], axis=2)[..., 0]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was built and scheduled since."""
    done: list[str] = []

    def counted(name: str) -> Any:
        real = getattr(tracing, name)

        def count(*given: Any, **options: Any) -> Any:
            done.append(name)
            return real(*given, **options)

        return count

    for name in ("lowered", "scheduled_for"):
        monkeypatch.setattr(tracing, name, counted(name))
    monkeypatch.setattr(tracing, "PLANS", tracing.Plans())
    return done


def test_a_window_that_moves_builds_one_pipeline(built: list[str]) -> None:
    big, whole = sharpened(sl.lazy(PHOTO)), sharpened(PHOTO)
    for y in range(0, 300, 37):
        for x in (0, 1, 100, 399):
            window = slice(y, y + 100), slice(x, x + 101)
            assert_same(np.asarray(big[window]), whole[window])
    assert built == ["lowered", "scheduled_for"]


@pytest.mark.parametrize("window", [
    np.s_[5],
    np.s_[:, 7],
    np.s_[-3:, ::-1],
    np.s_[100:3:-2, 9:200:7],
    np.s_[10:10, 3:4],
    np.s_[3, 4],
    np.s_[None, 390:, ..., 1:],
    np.s_[:],
])  # fmt: skip
def test_windows_of_all_kinds(window: Any) -> None:
    big, whole = sharpened(sl.lazy(PHOTO)), sharpened(PHOTO)
    assert_same(np.asarray(big[window]), np.asarray(whole[window]))
    assert_same(np.asarray(big.T[window]), np.asarray(whole.T[window]))


def test_a_window_computes_what_it_needs_and_no_more() -> None:
    counts: list[int] = []

    @sl.stencil(halo=1, boundary="nearest")
    def spread(a: Any) -> Any:
        counts.append(a.size)
        return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] - a[1:-1, :-2]

    big, whole = spread(spread(sl.lazy(PHOTO)) * 2), spread(spread(PHOTO) * 2)
    for y, x in [(0, 0), (150, 33), (360, 470), (151, 34)]:
        counts.clear()
        assert_same(np.asarray(big[y : y + 40, x : x + 30]), whole[y : y + 40, x : x + 30])
        assert sum(counts) < 2 * 2 * 44 * 34


def test_other_images_and_sizes_take_the_same_pipeline(built: list[str]) -> None:
    for shape in [(400, 500), (390, 300)]:
        photo = image(*shape, dtype=np.float64)
        big, whole = sharpened(sl.lazy(photo)), sharpened(photo)
        for n in (70, 100, 127):
            assert_same(np.asarray(big[9 : 9 + n, 50 : 50 + n]), whole[9 : 9 + n, 50 : 50 + n])
    assert built == ["lowered", "scheduled_for"]
