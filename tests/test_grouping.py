"""Which calls automatic schedules take together, along which dimension, and what they do where that is refused."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from judge_hook import resting
from scheduled import compare, copy, stencils, sum_3x3

import slinky as sl
from slinky.ir.statements import Program
from slinky.sched import choices, grouping
from slinky.sched.costs import Costs
from slinky.sched.legality import reads
from slinky.sched.small_runs import unwritten_read

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
LAPTOP = sl.Machine()


def pictures(*names: str) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, np.int32, 2) for name in names]


def image(height: int, width: int) -> sl.Buffer:
    return sl.Buffer(np.random.default_rng(height).integers(0, 100, (height, width)).astype(np.int32))


def nothing(height: int, width: int) -> sl.Buffer:
    return sl.Buffer(np.zeros((height, width), np.int32))


def saved(p: sl.Pipeline, inputs: Sequence[sl.Buffer], outputs: Sequence[sl.Buffer], workers: int) -> sl.Pipeline:
    """The schedule, which gives the same on small arrays, too, in less than a fifth of the memory, each worker."""
    q: sl.Pipeline = sl.auto_schedule(p, *inputs, *outputs, workers=workers, machine=LAPTOP)
    compare(p, q, inputs, outputs, threads=workers)
    before, after = (r.memory(*inputs, *outputs, threads=workers).program_bytes for r in (p, q))
    assert after * 5 < before * workers
    return q


def along(q: sl.Pipeline) -> set[str]:
    """The dimensions along which there are strips."""
    return {d.computed.split(" along ")[1].split(" ")[0] for d in sl.explain(q).decisions if " along " in d.computed}


def test_strips_are_of_whole_rows_where_columns_would_hold_less() -> None:
    """Columns are shorter than rows here, but a strip of them is as many pieces of memory as there are rows."""
    p = stencils(3)
    shape, inner = (900, 2400), sl.Buffer(np.zeros((894, 2394), np.int16), min=(3, 3))
    for given in (shape, shape[::-1]):
        out = inner if given == shape else sl.Buffer(np.zeros((2394, 894), np.int16), min=(3, 3))
        assert along(sl.auto_schedule(p, given, out, workers=1, machine=LAPTOP)) == {"y"}


def test_strips_are_of_columns_where_rows_do_not_go() -> None:
    inp, mid, out = pictures("inp", "mid", "out")
    sl.Func(copy, [inp[y, x]], [mid[y, x]], name="copied")
    sl.Func(lambda a, o: np.cumsum(a, axis=0, out=o), [mid[y, x]], [out[y, x]], whole=["y"], name="sums")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    q = saved(p, [image(2000, 1500)], [nothing(2000, 1500)], 1)
    assert along(q) == {"x"}


def edges() -> sl.Pipeline:
    """Three outputs over shared intermediates; one of them is read by a func, too."""
    inp, soft, dx, dy, length, total, smooth = pictures("inp", "soft", "dx", "dy", "length", "total", "smooth")
    sl.Func(sum_3x3, [window(inp)], [soft[y, x]], name="soften")
    sl.Func(across, [soft.extended("nearest")[y, sl.interval(x - 1, x + 1)]], [dx[y, x]], name="dx")
    sl.Func(down, [soft.extended("nearest")[sl.interval(y - 1, y + 1), x]], [dy[y, x]], name="dy")
    sl.Func(np.maximum, [dx[y, x], dy[y, x]], [length[y, x]], name="length")
    sl.Func(np.add, [dx[y, x], dy[y, x]], [total[y, x]], name="total")
    sl.Func(sum_3x3, [window(length)], [smooth[y, x]], name="smooth")
    outputs = [length, total, smooth]
    return sl.build_pipeline([inp], outputs, require=[sl.same_shape(inp, out) for out in outputs])


def window(buffer: sl.BufferExpr) -> Any:
    return buffer.extended("nearest")[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]


def across(source: Array, target: Array) -> None:
    np.subtract(source[:, 2:], source[:, :-2], out=target)


def down(source: Array, target: Array) -> None:
    np.subtract(source[2:], source[:-2], out=target)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_output_that_others_read_does_not_keep_all_out_of_the_loops(workers: int) -> None:
    """It is not computed in the loop of what reads it; then it has one of its own, with all that it reads."""
    q = saved(edges(), [image(1100, 1000)], [nothing(1100, 1000) for _ in range(3)], workers)
    decisions = {d.func: d for d in sl.explain(q).decisions}
    assert all(d.computed != "at once" for d in decisions.values())
    assert decisions["length"].stored == "in full"


def hard_to_slide() -> sl.Pipeline:
    """Nothing says how large the output is beside the input, so it is not shown that the upper copy slides."""
    inp, twice, once, out = pictures("inp", "twice", "once", "out")
    sl.Func(doubled, [inp[y // 2, x // 2]], [twice[y, x]], pass_buffers=True, name="double")
    sl.Func(sum_3x3, [window(twice)], [once[y, x]], name="first")
    sl.Func(sum_3x3, [window(once)], [out[y, x]], name="second")
    return sl.build_pipeline([inp], [out])


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_slide_is_held_by_strips_even_so(workers: int) -> None:
    q = saved(hard_to_slide(), [image(600, 500)], [nothing(1200, 1000)], workers)
    reasons = {d.func: d.reason for d in sl.explain(q).decisions}
    assert reasons["nearest"].startswith("computed again where strips overlap: ")


def test_refusals_are_put_into_words_when_somebody_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules are refused many steps, and an example of what would be wrong takes longest of all to find."""
    searched: list[str] = []

    def search(program: Program, buffer: str, call: int) -> Any:
        searched.append(buffer)
        return unwritten_read(program, buffer, call)

    monkeypatch.setattr(reads, "unwritten_read", search)
    with resting():
        q = sl.auto_schedule(hard_to_slide(), image(600, 500), nothing(1200, 1000), workers=1, machine=sl.Machine())
    assert not searched
    explanation = sl.explain(q)
    said = str(explanation)
    assert searched
    assert "computed again where strips overlap: " in said
    assert str(pickle.loads(pickle.dumps(explanation))) == said
    assert pickle.loads(pickle.dumps(explanation)) == explanation


def doubled(source: sl.Buffer, target: sl.Buffer) -> None:
    rows, columns = (np.arange(n) + low for n, low in zip(target.array.shape, target.min, strict=True))
    target.array[...] = source.array[np.ix_(rows // 2 - source.min[0], columns // 2 - source.min[1])]


def _chain(count: int) -> sl.Pipeline:
    buffers = pictures(*(f"b{k}" for k in range(count + 1)))
    for k in range(count):
        sl.Func(sum_3x3, [buffers[k][sl.interval(y - 1, y + 1), x]], [buffers[k + 1][y, x]], name=f"f{k}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def test_calls_are_grouped_once_where_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    grown, inside = grouping._Grower.grown, Costs.inside
    looked_at: list[int] = []

    def counted(grower: Any) -> Any:
        made.append(grower)
        return grown(grower)

    def noted(costs: Costs, flow: Any, height: int, live: float) -> float:
        looked_at.append(height)
        return inside(costs, flow, height, live)

    flows: list[object] = []
    flow_of = choices.flow_of

    def followed(track: Any) -> Any:
        flows.append(track.strips.dim)
        return flow_of(track)

    monkeypatch.setattr(grouping._Grower, "grown", counted)
    monkeypatch.setattr(choices, "flow_of", followed)
    monkeypatch.setattr(Costs, "inside", noted)
    sl.auto_schedule(_chain(24), (1048, 1000), machine=LAPTOP, workers=1)
    assert len(made) == 1
    assert len(looked_at) <= 24 * 25  # of each group along two dimensions; up to eight heights would be 78 each
    assert flows.count("x") < flows.count("y")  # some columns begin so many lines that nothing else need be known


JOINED = {
    "below": lambda a, b: np.concatenate([a, b]),
    "beside": lambda a, b: np.concatenate([a, b], 1),
    "in pairs": lambda a, b: np.stack([b, a], -1),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("joined", JOINED.values(), ids=JOINED)
def test_calls_that_write_parts_of_one_buffer_come_together(joined: Any, workers: int) -> None:
    """As long as one of them is not in the loop, all of the buffer is there."""

    def function(x: Any) -> Any:
        both = joined(x[1:] + x[:-1], x[1:] - x[:-1])
        return (both[:, 1:] + both[:, :-1]) * both[:, 1:]

    given = image(700, 500)
    p = sl.jit(function).pipeline(given.array)
    q = saved(p, [given], [sl.Buffer(np.zeros_like(function(given.array)))], workers)
    computed = {d.func: d.computed for d in sl.explain(q).decisions}
    assert all(" along " in each for each in computed.values()), computed


def test_a_call_that_reads_what_it_writes_stays_where_it_is() -> None:
    """Rows are written one after the other, each from those before: nothing of that is computed in the strips of what
    reads it, but for the last row."""

    def function(x: Any) -> Any:
        y = x * 2
        y[1:-1] = y[:-2] + y[2:]
        y[0] = y[1] * 2
        return y * y

    given = image(300, 200)
    p = sl.jit(function).pipeline(given.array)
    out = sl.Buffer(np.zeros_like(given.array))
    q: sl.Pipeline = sl.auto_schedule(p, given, out, workers=1, machine=LAPTOP)
    compare(p, q, [given], [out])
    q(given, out)
    np.testing.assert_array_equal(out.array, function(given.array))
