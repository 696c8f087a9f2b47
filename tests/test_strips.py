"""`sl.strips`: whole pipelines in loops over strips, with the results, the memory and the elements that it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduled import compare, copy, picture, stencils, sum_3x3

import slinky as sl

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]


def pictures(*names: str) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, np.int32, 2) for name in names]


def image(height: int, width: int) -> sl.Buffer:
    return sl.Buffer(np.random.default_rng(height).integers(0, 100, (height, width)).astype(np.int32))


def window(buffer: sl.BufferExpr) -> Any:
    return buffer.extended("nearest")[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]


def nothing(height: int, width: int) -> sl.Buffer:
    return sl.Buffer(np.zeros((height, width), np.int32))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("height", [0, 1, 13, 32])
@pytest.mark.parametrize("rows", [1, 3, 8])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_chain_in_strips(workers: int, rows: int, height: int) -> None:
    p = stencils(2)
    q, made = sl.strips(p, rows, workers, rc=True)
    inp, out = picture(height, 7, 2)
    compare(p, q, [inp], [out], threads=workers)
    assert [call.name() for call in made.calls] == ["add", "s1", "s2"]
    assert [alloc.name() for alloc in made.allocs] == ["b0", "b1"]
    (loop,) = made.loops
    assert str(loop.step()) == str(rows)
    if height == 32:
        held = (rows + 2) * 2 * (11 + 9)
        assert q.memory(inp, out, threads=workers).program_bytes <= workers * held
        elements = q.estimate(inp, out, threads=workers).elements
        before = p.estimate(inp, out).elements
        assert elements["s2"] == before["s2"]
        assert before["s1"] <= elements["s1"] <= before["s1"] + (workers - 1) * 2 * 9
        assert before["add"] <= elements["add"] <= before["add"] + (workers - 1) * 4 * 11


def test_the_program_is_what_one_would_write() -> None:
    p = stencils(1)
    assert sl.strips(p, 4).same_program(sl.line_buffer(p, p.find_all("_ = _")[-1], "y", 4))


@pytest.mark.parametrize("workers", [1, 2])
def test_outputs_share_a_loop_where_they_can(workers: int) -> None:
    inp, soft, a, b = pictures("inp", "soft", "a", "b")
    sl.Func(sum_3x3, [window(inp)], [soft[y, x]], name="soften")
    sl.Func(copy, [soft[y, x]], [a[y, x]], name="copied")
    sl.Func(sum_3x3, [window(soft)], [b[y, x]], name="twice")
    p = sl.build_pipeline([inp], [a, b], require=[sl.same_shape(inp, a), sl.same_shape(inp, b)])
    q, made = sl.strips(p, 4, workers, rc=True)
    outputs = [nothing(40, 20), nothing(40, 20)]
    compare(p, q, [image(40, 20)], outputs, threads=workers)
    assert len(made.loops) == 1
    assert len(made.calls) == 5
    memory = [r.memory(image(40, 20), *outputs, threads=workers).program_bytes for r in (p, q)]
    assert memory[1] * 2 < memory[0] * workers


def test_an_output_that_others_read_has_a_loop_of_its_own() -> None:
    inp, soft, a, b = pictures("inp", "soft", "a", "b")
    sl.Func(copy, [inp[y, x]], [soft[y, x]], name="soften")
    sl.Func(copy, [soft[y, x]], [a[y, x]], name="first")
    sl.Func(sum_3x3, [window(a)], [b[y, x]], name="second")
    p = sl.build_pipeline([inp], [a, b], require=[sl.same_shape(inp, a), sl.same_shape(inp, b)])
    q, made = sl.strips(p, 4, rc=True)
    compare(p, q, [image(30, 20)], [nothing(30, 20), nothing(30, 20)])
    assert len(made.loops) == 2
    assert {"soften", "first", "second"} <= {call.name() for call in made.calls}


def in_one_dimension(*names: str) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, np.int32, 1) for name in names]


def in_fours(source: Array, target: Array) -> None:
    source.reshape(-1, 4).sum(1, out=target)


def on_two_scales(factor: sl.Expr | int = 4) -> sl.Pipeline:
    """Outputs that go through `a` at rates of 1, of 4, and of 1."""
    inp, a, out, down, other = in_one_dimension("inp", "a", "out", "down", "other")
    sl.Func(np.negative, [inp[y]], [a[y]], name="first")
    sl.Func(np.negative, [a[y]], [out[y]], name="neg")
    sl.Func(in_fours, [a[sl.interval(factor * y, factor * y + 3)]], [down[y]], name="down")
    sl.Func(np.square, [a[y]], [other[y]], name="square")
    return sl.build_pipeline([inp], [out, down, other])


def test_outputs_on_different_scales_have_loops_of_their_own() -> None:
    p = on_two_scales()
    q, made = sl.strips(p, 4, rc=True)
    inp = sl.Buffer(np.arange(64, dtype=np.int32))
    results = [sl.Buffer(np.zeros(n, np.int32)) for n in (64, 16, 64)]
    compare(p, q, [inp], results)
    assert [[call.name() for call in loop.find_all("_ = _")] for loop in made.loops] == [["neg", "square"], ["down"]]
    assert q.memory(inp, *results) == p.memory(inp, *results)


def test_outputs_on_scales_that_are_no_numbers() -> None:
    """What moves by as much as a scalar says moves at no rate that is known, which is none like 1."""
    _, made = sl.strips(on_two_scales(sl.scalar("r")), 4, rc=True)
    assert ["down"] in [[call.name() for call in loop.find_all("_ = _")] for loop in made.loops]


@pytest.mark.parametrize("edge", ["nearest", "reflect", "mirror", "wrap"])
def test_outputs_share_a_loop_whatever_is_beyond_the_edges(edge: str) -> None:
    inp, soft, a, b = pictures("inp", "soft", "a", "b")
    sl.Func(copy, [inp[y, x]], [soft[y, x]], name="soften")
    sl.Func(copy, [soft[y, x]], [a[y, x]], name="copied")
    around: Any = soft.extended(edge)[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(sum_3x3, [around], [b[y, x]], name="twice")
    p = sl.build_pipeline([inp], [a, b], require=[sl.same_shape(inp, a), sl.same_shape(inp, b)])
    q, made = sl.strips(p, 4, rc=True)
    compare(p, q, [image(40, 20)], [nothing(40, 20), nothing(40, 20)])
    assert len(made.loops) == 1


def test_outputs_that_share_arguments_alone_share_a_loop() -> None:
    inp, out, down = in_one_dimension("inp", "out", "down")
    sl.Func(np.negative, [inp[y]], [out[y]], name="neg")
    sl.Func(in_fours, [inp[sl.interval(4 * y, 4 * y + 3)]], [down[y]], name="down")
    _, made = sl.strips(sl.build_pipeline([inp], [out, down]), 4, rc=True)
    assert len(made.loops) == 1


def quarter(source: Array, target: Array) -> None:
    height, width = target.shape
    target[...] = source[1 : 2 * height : 2, 1 : 2 * width : 2]


def detail(fine: Array, coarse: Array, target: Array) -> None:
    np.subtract(fine, coarse.sum() // coarse.size, out=target)


def test_the_levels_of_a_pyramid_are_computed_once() -> None:
    """Each level is the difference from the next one, which is read at half the rate."""
    levels, details = pictures("g0", "g1", "g2", "g3"), pictures("l0", "l1", "l2")
    for k in range(3):
        fine, coarse = levels[k].extended("nearest"), levels[k + 1].extended("nearest")
        around: Any = fine[sl.interval(2 * y - 1, 2 * y + 2), sl.interval(2 * x - 1, 2 * x + 2)]
        sl.Func(quarter, [around], [levels[k + 1][y, x]], name=f"down{k + 1}")
        below: Any = coarse[sl.interval(y // 2, (y + 1) // 2), sl.interval(x // 2, (x + 1) // 2)]
        sl.Func(detail, [levels[k][y, x], below], [details[k][y, x]], name=f"detail{k}")
    p = sl.build_pipeline([levels[0]], [*details, levels[3]])
    shapes = [(512, 64), *((512 >> k, 64 >> k) for k in range(4))]
    before, after = (r.estimate(*shapes).elements for r in (p, sl.strips(p, 1)))
    assert after == before


@pytest.mark.parametrize("workers", [1, 2])
def test_rates_and_skips(workers: int) -> None:
    """Half the size and back again, and a difference from what it was made of."""
    inp, half, whole, out = pictures("inp", "half", "whole", "out")
    sl.Func(halved, [inp[sl.interval(2 * y, 2 * y + 1), sl.interval(2 * x, 2 * x + 1)]], [half[y, x]], name="half")
    sl.Func(doubled, [half[y // 2, x // 2]], [whole[y, x]], pass_buffers=True, name="double")
    sl.Func(np.subtract, [inp[y, x], whole[y, x]], [out[y, x]], name="detail")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    q, made = sl.strips(p, 4, workers, rc=True)
    statistics = compare(p, q, [image(48, 20)], [nothing(48, 20)], threads=workers)
    assert [call.name() for call in made.calls] == ["half", "double", "detail"]
    assert statistics[0].elements == statistics[1].elements
    memory = q.memory(image(48, 20), nothing(48, 20), threads=workers).program_bytes
    assert memory == workers * 4 * (3 * 10 + 4 * 20), "four rows may be made of parts of three"


def halved(source: Array, target: Array) -> None:
    target[...] = source[::2, ::2] + source[1::2, 1::2]


def doubled(source: sl.Buffer, target: sl.Buffer) -> None:
    rows, columns = (np.arange(n) + low for n, low in zip(target.array.shape, target.min, strict=True))
    target.array[...] = source.array[np.ix_(rows // 2 - source.min[0], columns // 2 - source.min[1])]


def test_what_is_needed_whole_stays_where_it_was() -> None:
    inp, mid, out = pictures("inp", "mid", "out")
    sl.Func(lambda a, o: np.cumsum(a, axis=0, out=o), [inp[y, x]], [mid[y, x]], whole=["y"], name="sums")
    sl.Func(sum_3x3, [window(mid)], [out[y, x]], name="soften")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    q, made = sl.strips(p, 4, rc=True)
    compare(p, q, [image(30, 20)], [nothing(30, 20)])
    assert [call.name() for call in made.calls] == ["nearest", "soften"]


@pytest.mark.parametrize("workers", [0, True, 1.5])
def test_workers_that_make_no_sense(workers: Any) -> None:
    with pytest.raises(sl.OperationError, match="workers must be an integer of at least 1"):
        sl.strips(stencils(1), 4, workers)


@pytest.mark.parametrize("rows", [0, -4])
def test_rows_that_make_no_sense(rows: int) -> None:
    with pytest.raises(sl.OperationError, match=f"rows must be at least 1, got {rows}"):
        sl.strips(stencils(1), rows)


def two(source: Array, first: Array, second: Array) -> None:
    np.multiply(source, 3, out=first)
    np.subtract(source, 7, out=second)


def two_results(workers: int = 0) -> sl.Pipeline:
    """A func with a second result that nobody reads, and its producer; annotated for some workers."""
    inp, mid, out, other = pictures("inp", "mid", "out", "other")
    sl.Func(np.negative, [inp[y, x]], [mid[y, x]], name="neg")
    func = sl.Func(two, [mid[y, x]], [out[y, x], other[y, x]], name="two")
    if workers:
        func.loops([sl.loop(y, 4, workers=workers) if workers > 1 else sl.loop(y, 4)])
    return sl.build_pipeline([inp], [out])


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_result_that_nobody_reads_is_held_strip_by_strip(workers: int) -> None:
    p = two_results()
    inp, out = image(30, 20), nothing(30, 20)
    most = workers * 2 * (4 * 20) * 4  # strips of two buffers
    automatic = sl.auto_schedule(p, (30, 20), workers=workers, max_bytes=most)
    for q in (sl.strips(p, 4, workers), two_results(workers), automatic):
        compare(p, q, [inp], [out], threads=workers)
        assert q.memory(inp, out, threads=workers).program_bytes <= most


def test_tiles_of_a_result_that_nobody_reads() -> None:
    p = two_results()
    q = sl.parallel_tiles(p, "two", {"y": 8}, 2)
    compare(p, q, [image(30, 20)], [nothing(30, 20)], threads=2)
    assert all(sl.enclosing_loops(q, alloc) for alloc in q.find_all("alloc _"))


def test_pieces_of_a_result_that_nobody_reads_can_be_longer() -> None:
    p = sl.strips(two_results(), 4)
    q, resized = sl.resize_pieces(p, "for y", 8, rc=True)
    compare(p, q, [image(30, 20)], [nothing(30, 20)])
    assert q.find("alloc other").parent() == resized.loop
    assert str(resized.loop.step()) == "8"


def test_rows_that_are_no_number_are_refused_for_several_workers() -> None:
    with pytest.raises(sl.SchedulingError, match="rows must be a number for several workers, got r") as refused:
        sl.strips(stencils(1), sl.scalar("r"), 2)
    assert refused.value.hint == "give a number, as in sl.strips(p, 8, 2), or one worker"


def test_the_history_makes_it_again() -> None:
    p = stencils(2)
    for q in (sl.strips(p, 4), sl.strips(p, 4, 2)):
        for text in (q.history(), q.history().primitives()):
            names = {"p": p}
            exec(str(text), names)
            assert names["p"].same_program(q)
