"""Windows that move on by quotients and products of scalars slide, and are folded to what a step needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl

PLACES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "y // den": lambda y, num, den: y // den,
    "2 * (y // den)": lambda y, num, den: 2 * (y // den),
    "num * y // den": lambda y, num, den: num * y // den,
    "num * y // 3": lambda y, num, den: num * y // 3,
    "num * (y // 4)": lambda y, num, den: num * (y // 4),
    "num * (y // den)": lambda y, num, den: num * (y // den),
}
WIDTH = 2


def resampled(place: Callable[[Any, Any, Any], Any], given: tuple[int, int]) -> sl.Pipeline:
    """Sums of windows that begin at places of an array plus one; the callback knows the scalars."""
    y, _ = sl.variables("y x")
    inp, plus, out = (sl.BufferExpr(name, np.int64, rank=1) for name in ("inp", "plus", "out"))
    num, den = sl.scalar("num"), sl.scalar("den")
    first = place(y, num, den)

    def sums(a: sl.Buffer, out: sl.Buffer) -> None:
        for k in range(out.array.size):
            start = place(out.min[0] + k, *given) - a.min[0]
            out.array[k] = a.array[start : start + WIDTH].sum()

    sl.Func(lambda a, out: np.add(a, 1, out=out), inputs=[inp[y]], outputs=[plus[y]], name="plus_one")
    window = sl.interval(first, first + WIDTH - 1)
    sl.Func(sums, inputs=[plus[window]], outputs=[out[y]], name="sums", pass_buffers=True)
    return sl.build_pipeline([inp], [out], require=[num >= 0, den >= 1])


@pytest.mark.parametrize("warmup", ["earlier", "first"])
@pytest.mark.parametrize(("step", "place"), [(s, p) for p in PLACES for s in (1, 4)])
@pytest.mark.parametrize("given", [(3, 2), (1, 5), (0, 1)])
def test_windows_of_resampled_arrays_slide_and_fold(place: str, step: int, warmup: str, given: tuple[int, int]) -> None:
    p = resampled(PLACES[place], given)
    p = sl.split_loop(p, "sums.y", step)
    p = sl.compute_at(p, "plus_one", "for y")
    p = sl.slide_window(p, "plus_one", "for y", warmup=warmup)
    p = sl.fold_storage(p, "plus", "y")
    num, den = given
    inp = np.arange(1000)
    out = np.zeros(40, np.int64)
    statistics = p.run(inp, out, num=num, den=den, checked=True)
    places = [PLACES[place](y, num, den) for y in range(40)]
    assert out.tolist() == [int(inp[at : at + WIDTH].sum()) + WIDTH for at in places]
    longest = max(places[min(y + step, 39)] - places[y] for y in range(40))
    assert statistics.program_bytes <= 8 * (2 * longest + WIDTH)
    assert statistics.elements["plus_one"] == places[-1] + WIDTH - places[0]
