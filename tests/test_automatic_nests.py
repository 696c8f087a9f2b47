"""Reductions that automatic schedules take to pieces inside of strips, with all that is computed for them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slinky as sl
from benchmarks.apps import load
from slinky.sched.nests import Nest
from slinky.sched.relations import Strips
from slinky.sched.tracks import Track

Array = np.ndarray[Any, Any]
y, x, s = sl.variables("y x s")
LEVELS = 40

NARROW = sl.Machine(
    near_bytes=1 << 13,
    shared_bytes=1 << 16,
    near_bandwidth=6e10,
    shared_bandwidth=2e9,
    memory_bandwidth=2e8,
    call_seconds=1e-6,
)
"""Of caches that hold few rows of many levels, and calls that are cheap."""


def level(source: sl.Buffer, target: sl.Buffer) -> None:
    """Each level: sums of three rows, by the number of the level."""
    rows = source.array[:-2] - source.array[1:-1] + source.array[2:]
    for number, result in enumerate(target.array, start=target.min[0]):
        np.multiply(rows, number % 7 - 3, out=result)


def soften(source: Array, target: Array) -> None:
    """Sums of what is above, below and to the left, of each level."""
    np.add(source[:, :-2, 1:-1], source[:, 2:, 1:-1], out=target)
    target += source[:, 1:-1, :-2]


def levels(levels: int = LEVELS, **settings: Any) -> sl.Pipeline:
    """Levels of a picture, softened, and the sum of all."""
    inp, out = sl.BufferExpr("inp", np.int64, 2), sl.BufferExpr("out", np.int64, 2)
    made, soft, total = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("made", 3), ("soft", 3), ("total", 2)))
    around = sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)
    sl.Func(level, [inp.extended("nearest")[sl.interval(y - 1, y + 1), x]], [made[s, y, x]], pass_buffers=True)
    sl.Func(soften, [made[s, *around]], [soft[s, y, x]])
    sl.reductions.sum(soft[sl.interval(0, levels - 1), y, x], total[y, x], **settings)
    sl.Func(np.negative, [total[y, x]], [out[y, x]], name="last")
    return sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])


def picture(height: int, width: int) -> Array:
    return np.random.default_rng(height).integers(-99, 100, (height, width))


def scheduled(p: sl.Pipeline, *arrays: object, **options: Any) -> sl.Pipeline:
    found: sl.Pipeline = sl.auto_schedule(p, *arrays, machine=NARROW, **options)
    return found


def computed(q: sl.Pipeline) -> dict[str, str]:
    return {decision.func: decision.computed for decision in sl.explain(q).decisions}


@pytest.mark.sweep
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("made_for", [(96, 64), (61, 53)])
def test_levels_are_summed_up_in_pieces_inside_of_strips(made_for: tuple[int, int], workers: int) -> None:
    p = levels()
    q = scheduled(p, made_for, made_for, workers=workers)
    found = computed(q)
    assert all(found[name].endswith(f" of {LEVELS} along z") for name in ("level", "soften"))
    assert " along z" not in found["sum"] + found["last"]
    assert [loop.name() for loop in sl.enclosing_loops(q, "soften")][-1] == "z"
    assert len(sl.enclosing_loops(q, "soften")) == len(sl.enclosing_loops(q, "last")) + 1
    assert q.memory(made_for, made_for).program_bytes * 20 < p.memory(made_for, made_for).program_bytes
    for shape in (made_for, (1, 1), (2, 7), (13, 5), (97, 31)):
        image, right, out = picture(*shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        p(image, right)
        for settings in ({"checked": True}, {"threads": workers}):
            out[...] = 99
            q.run(image, out, **settings)
            np.testing.assert_array_equal(out, right)


def test_what_a_nest_holds_is_what_its_schedule_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rows that strips need at the most, and the levels that pieces need."""
    seen: list[tuple[Nest, Track, int, int]] = []
    live = Nest.live

    def noted(self: Nest, track: Track, height: int, piece: int) -> float:
        seen.append((self, track, height, piece))
        return live(self, track, height, piece)

    monkeypatch.setattr(Nest, "live", noted)
    p, shape = levels(), (96, 64)
    q = scheduled(p, shape, shape, workers=1)
    height, piece = (int(computed(q)["soften"].split(", ")[k].split(" ")[0]) for k in (0, 1))
    (nest, track), *_ = [(n, t) for n, t, h, k in seen if (h, k) == (height, piece) and len(t.members) == 4]
    outputs = height * 8 * shape[1]
    assert live(nest, track, height, piece) - outputs == pytest.approx(q.memory(shape, shape).program_bytes, rel=0.02)


@pytest.mark.parametrize("extent", [2, 3, 5, 40, 49])
def test_pieces_are_halves_and_quarters_of_what_is_reduced(extent: int) -> None:
    nest = Nest(0, Strips("z", None, 0, extent, 1, ()), (), 0.0)
    pieces = list(nest.pieces())
    assert pieces[0] == (extent + 1) // 2
    assert pieces[-1] == 1
    assert pieces == sorted(set(pieces), reverse=True)
    assert all(nest.count(piece) * piece >= extent > (nest.count(piece) - 1) * piece for piece in pieces)


def test_a_sum_that_may_not_be_taken_to_pieces_is_not() -> None:
    """Of floating point numbers the sum depends on the order."""
    inp, out = sl.BufferExpr("inp", np.float32, 3), sl.BufferExpr("out", np.float32, 2)
    twice = sl.BufferExpr("twice", np.float32, 3)
    sl.Func(lambda a, o: np.add(a, a, out=o), [inp[s, y, x]], [twice[s, y, x]], name="twice")
    sl.reductions.sum(twice[sl.interval(0, LEVELS - 1), y, x], out[y, x])
    p = sl.build_pipeline([inp], [out])
    q = scheduled(p, (LEVELS, 96, 64), (96, 64), workers=1)
    assert "split_reduction" not in str(q.history())


def test_what_others_read_too_is_not_computed_in_pieces() -> None:
    """All of what is read for a sum and elsewhere is there in full."""
    inp, out = sl.BufferExpr("inp", np.int64, 3), sl.BufferExpr("out", np.int64, 3)
    twice, total = sl.BufferExpr("twice", np.int64, 3), sl.BufferExpr("total", np.int64, 2)
    sl.Func(lambda a, o: np.add(a, a, out=o), [inp[s, y, x]], [twice[s, y, x]], name="twice")
    sl.reductions.sum(twice[sl.interval(0, LEVELS - 1), y, x], total[y, x])
    sl.Func(lambda a, t, o: np.subtract(a, t, out=o), [twice[s, y, x], total[y, x]], [out[s, y, x]], name="rest")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out), sl.equal(inp.dim(0).extent, LEVELS)])
    shapes = (LEVELS, 96, 64), (LEVELS, 96, 64)
    q = scheduled(p, *shapes, workers=1)
    assert "along z" not in computed(q)["twice"]
    image = np.random.default_rng(0).integers(-9, 10, shapes[0])
    np.testing.assert_array_equal(q(image), p(image))


@pytest.mark.parametrize("workers", [1, 2])
def test_non_local_means(workers: int) -> None:
    """The offsets are taken by few at a time, as one would by hand, and less is held for it."""
    app = load("nl_means")
    p, arrays = app.build(), app.arrays((384, 640))
    server = sl.Machine(near_bytes=1 << 20, shared_bytes=36 << 20, near_bandwidth=4e10, shared_bandwidth=2.3e10)
    q = sl.auto_schedule(p, *arrays, workers=workers, machine=server)
    assert "sl.split_reduction(" in str(q.history())
    assert computed(q)["weigh"].endswith(" of 49 along d1")
    assert q.memory(*arrays).program_bytes * 20 < p.memory(*arrays).program_bytes
    small = app.arrays((37, 41))
    np.testing.assert_allclose(q(small[0]), p(small[0]), rtol=app.tolerance, atol=app.tolerance)


def test_a_reduction_of_what_is_seen_past_a_copy_has_no_strips_of_its_own() -> None:
    """Windows as a view with a dimension more: of the buffer, other axes are read than the callback reduces."""
    d = sl.dims("i m k w")
    signal = sl.Tensor(d.i, d.m, dtype=np.int64).set(picture(303, 40))
    windows = signal.to(d.k, d.w, d.m, constraints=[(d.i, d.k * 3 + d.w * 2), (sl.size(d.w), 2)])
    largest = windows.max(d.w)
    p, a = largest.pipeline, picture(303, 40)
    assert not [strips for call in sl.relations(p, a, (101, 40)).calls for strips in call.strips if strips.is_reduced]
    np.testing.assert_array_equal(largest.numpy(), np.maximum(a[:301:3], a[2::3]))
