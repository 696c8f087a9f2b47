"""What an application is made of, so that all of them are run, tuned and tested in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import slinky as sl
from benchmarks.harness import Array

Size = tuple[int, int]
"""Rows and columns of the input."""
Setting = tuple[int, ...]
"""The numbers that a schedule by hand leaves open: rows of a strip, or those and the columns of a tile."""
FEW_ROWS: tuple[Setting, ...] = ((4,), (8,), (16,), (24,), (32,), (48,), (64,))
"""Heights of strips of which one is the best where an element costs little."""


@attrs.frozen(kw_only=True)
class App:
    """An application: a pipeline, the same in NumPy, and the best schedule that a person found for it.

    `build` describes the pipeline, `inputs` makes what it reads at a size, `target` an empty output for these, and
    `as_written` is the whole in NumPy as people write it, whose result is right. `by_hand` schedules a pipeline;
    `chosen` is the fastest of all `settings` on one thread, as `benchmarks.apps.tuning` found it in a minute, or one
    that takes less memory and at most two percent more time. `small` are sizes for tests, which divide by nothing, and
    `smallest` is a setting by which these are cut to several pieces.
    """

    name: str
    about: str
    build: Callable[[], sl.Pipeline]
    inputs: Callable[[Size], list[Array]]
    target: Callable[..., Array | sl.Buffer]
    as_written: Callable[..., Array]
    by_hand: Callable[[sl.Pipeline, Setting], sl.Pipeline]
    settings: tuple[Setting, ...]
    chosen: Setting
    smallest: Setting
    full: Size
    quick: Size
    small: tuple[Size, ...] = ((37, 41), (64, 53))
    tolerance: float = 1e-5

    def arrays(self, size: Size) -> list[Any]:
        """Inputs and an output of this size, in the order in which the pipeline takes them."""
        inputs = self.inputs(size)
        return [*inputs, self.target(*inputs)]

    def scheduled(self) -> sl.Pipeline:
        """The pipeline as scheduled by hand."""
        return self.by_hand(self.build(), self.chosen)


def in_strips(last: str) -> Callable[[sl.Pipeline, Setting], sl.Pipeline]:
    """A schedule that computes what `last` reads in strips of rows of `last`, each row once; it keeps what later strips
    need of it."""

    def by_hand(p: sl.Pipeline, setting: Setting) -> sl.Pipeline:
        return sl.line_buffer(p, last, "y", setting[0])

    return by_hand


def picture(size: Size, *more: int) -> Array:
    """Something between 0 and 1 that is smooth in places, with edges and noise, as pictures are."""
    height, width = size
    y, x = np.ogrid[:height, :width]
    smooth = 0.5 + 0.25 * np.sin(y / 23) * np.cos(x / 31) + 0.15 * ((y // 29 + x // 37) % 2)
    noise = np.random.default_rng(1).random((*size, *more), np.float32) * np.float32(0.1)
    shaped: Array = smooth.astype(np.float32).reshape(*size, *(1 for _ in more)) + noise
    return np.clip(shaped, 0, 1, out=shaped)


def like(source: Array) -> Array:
    """An output as large as the input, and of its type."""
    return np.zeros_like(source)
