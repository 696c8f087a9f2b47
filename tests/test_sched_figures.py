"""What schedules are for, in numbers: the elements computed and the memory of intermediates, exactly."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scheduled import add_1, by_rows, compare, copy, line, picture, signal, stencil, stencils, weigh

import slinky as sl

H, W = 30, 20
SIZES = [(30, 20), (1, 1), (2, 3), (7, 5), (13, 1), (0, 4), (4, 0)]
STEPS = [1, 2, 3, 4]


def slide_chain(p: sl.Pipeline, last: str, dim: str, step: Any, warmup: str = "earlier") -> sl.Pipeline:
    """A chain of funcs, all computed in a loop of the last one, slid and folded.

    Only the last call is found by name. A producer stands right before the allocation of what is computed from it, so
    the others are found by going back.
    """
    p, (loop, _, _) = sl.split_loop(p, p.find(last).dim(dim), step, rc=True)
    producer = loop.prev()
    while isinstance(producer, sl.CallCursor):
        p, ((alloc,), _, call) = sl.compute_at(p, producer, loop, rc=True)
        p = sl.slide_window(p, call, loop, warmup=warmup)
        p, (alloc,) = sl.fold_storage(p, alloc, dim, rc=True)
        producer = alloc.prev()
    return p


@functools.cache
def three_stencils_by_rows(step: int, warmup: str) -> tuple[sl.Pipeline, sl.Pipeline]:
    """Three stencils, and them by rows; made once, whatever sizes they run on."""
    plain = stencils(3)
    return plain, slide_chain(plain, "out = _", "y", step, warmup)


# Stencils by rows -----------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_chain_of_stencils_by_rows_keeps_a_window_of_each_intermediate(count: int, step: int) -> None:
    plain = stencils(count)
    p = slide_chain(plain, "out = _", "y", step)
    assert [alloc.storage()[0] for alloc in p.find_all("alloc _")] == [sl.interval(0, step + 1).extent] * count
    inp, out = picture(H, W, count)
    _, after = compare(plain, p, [inp], [out])
    assert after.program_bytes == 2 * sum((step + 2) * (W + 2 * k) for k in range(1, count + 1))
    assert after.elements["add"] == (H + 2 * count) * (W + 2 * count)
    for k in range(1, count + 1):
        margin = 2 * (count - k)
        assert after.elements[f"s{k}"] == (H + margin) * (W + margin)


@pytest.mark.parametrize("step", STEPS)
def test_the_stencil_of_the_first_page(step: int) -> None:
    p, _, alloc = by_rows(stencil(), step)
    assert str(alloc.storage()[0]) == str(step + 2)
    inp, out = picture(H, W, 1)
    _, after = compare(stencil(), p, [inp], [out])
    assert after.program_bytes == (W + 2) * (step + 2) * inp.array.itemsize
    assert after.elements == {"add": (W + 2) * (H + 2), "stencil": W * H}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("origin", [(0, 0), (-7, -40), (5, 3)])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("warmup", ["earlier", "first"])
def test_sizes_and_coordinates_of_every_kind(size: tuple[int, int], origin: tuple[int, int], warmup: str) -> None:
    for step in (1, 2, 3, 5):
        plain, p = three_stencils_by_rows(step, warmup)
        inp, out = picture(*size, 3, origin)
        before, after = compare(plain, p, [inp], [out])
        if min(size) == 0:
            assert all(after.elements[name] <= count for name, count in before.elements.items())
        else:
            assert after.elements == before.elements
            rows = [min(step + 2, size[0] + 2 * k) for k in (1, 2, 3)]
            first_window = 2 * sum((size[1] + 2 * k) * (size[0] + 2 * k) for k in (1, 2, 3))
            exact = 2 * sum(r * (size[1] + 2 * k) for r, k in zip(rows, (1, 2, 3), strict=True))
            assert after.program_bytes <= first_window
            if warmup == "earlier":
                assert after.program_bytes == exact


# Two nested loops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step_y", [1, 2, 4])
@pytest.mark.parametrize("step_x", [1, 3])
def test_sliding_in_two_nested_loops_computes_no_element_twice(step_y: int, step_x: int) -> None:
    plain = stencil()
    p, (rows, inner, _) = sl.split_loop(plain, "stencil.y", step_y, rc=True)
    p, (columns, _, _) = sl.split_loop(p, inner.call().dim("x"), step_x, rc=True)
    producer = p.forward(rows).prev()
    p, ((alloc,), _, call) = sl.compute_at(p, producer, columns, rc=True)
    p = sl.slide_window(p, call, rows)
    p = sl.slide_window(p, call, columns)
    p = sl.fold_storage(p, alloc, "y")
    for size in ((H, W), (1, 1), (7, 5), (13, 11)):
        inp, out = picture(*size, 1)
        before, after = compare(plain, p, [inp], [out])
        assert after.elements == before.elements
        assert after.program_bytes == 2 * min(step_y + 2, size[0] + 2) * (size[1] + 2)


# Symbolic steps and radii ---------------------------------------------------------------------------------------------


def column_filter() -> sl.Pipeline:
    """`add`, then the sum of a column of `2 * r + 1` elements, r a scalar."""
    y, x = sl.variables("y x")
    r = sl.scalar("r")
    inp, intm, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "intm", "out"))

    def column(source: np.ndarray, target: np.ndarray, r: int) -> None:
        assert source.shape[0] == target.shape[0] + 2 * r
        target[...] = sum((k + 1) * source[k : k + len(target)] for k in range(2 * r + 1))

    sl.Func(add_1, [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(column, [intm[sl.interval(y - r, y + r), x]], [out[y, x]], name="column", arguments={"r": r})
    return sl.build_pipeline([inp], [out])


@pytest.mark.parametrize("symbolic_step", [True, False])
def test_symbolic_steps_and_radii_are_as_exact(symbolic_step: bool) -> None:
    plain = column_filter()
    for s in (1, 2, 3, 5):
        p = slide_chain(plain, "out = _", "y", sl.scalar("s") if symbolic_step else s)
        for r in (0, 1, 2, 4):
            height, width = 17, 5
            rng = np.random.default_rng(r)
            inp = sl.Buffer(rng.integers(0, 9, (height + 2 * r, width)).astype(np.int16), min=(-r, 0))
            out = sl.Buffer(np.zeros((height, width), np.int16))
            scalars = {"r": r, "s": s} if symbolic_step else {"r": r}
            _, after = compare(plain, p, [inp], [out], **scalars)
            assert after.elements == {"add": (height + 2 * r) * width, "column": height * width}
            assert after.program_bytes == 2 * width * min(s + 2 * r, height + 2 * r)


@pytest.mark.parametrize("step", [1, 4, sl.scalar("s")])
def test_pieces_of_what_is_smaller_by_a_scalar_slide_and_are_folded(step: Any) -> None:
    """Each element of the output is the sum of `r` of the intermediate, and of the first of the next."""
    (x,) = sl.variables("x")
    r = sl.scalar("r")
    inp, intm, out = (sl.BufferExpr(name, np.int16, 1) for name in ("inp", "intm", "out"))

    def shrink(source: np.ndarray, target: np.ndarray, r: int) -> None:
        target[...] = sum((k + 1) * source[k : k + r * len(target) : r][: len(target)] for k in range(r + 1))

    sl.Func(add_1, [inp[x]], [intm[x]], name="add")
    sl.Func(shrink, [intm[sl.interval(r * x, r * x + r)]], [out[x]], name="shrink", arguments={"r": r})
    plain = sl.build_pipeline([inp], [out], require=[r >= 1])
    p = sl.split_loop(plain, "shrink.x", step)
    p, made = sl.compute_at(p, "add", "for x", rc=True)
    own = sl.store_at(p, made.alloc, made.loop)
    p = sl.fold_storage(sl.slide_window(p, made.call, made.loop), made.alloc, "x")
    for rate in (1, 2, 3):
        scalars = {"r": rate, **({"s": 5} if isinstance(step, sl.Expr) else {})}
        many = scalars.get("s", step)
        given = sl.Buffer(np.random.default_rng(rate).integers(0, 9, 20 * rate).astype(np.int16), min=(-3 * rate,))
        target = sl.Buffer(np.zeros(14, np.int16), min=(-2,))
        compare(plain, own, [given], [target], **scalars)
        _, after = compare(plain, p, [given], [target], **scalars)
        assert after.elements == {"add": 14 * rate + 1, "shrink": 14}
        assert after.program_bytes == 2 * (many * rate + 1)


def test_a_symbolic_step_becomes_a_parameter_that_is_checked() -> None:
    p, _, alloc = by_rows(stencil(), sl.scalar("s"))
    assert [a.name() for a in p.args()] == ["inp", "out", "s"]
    assert str(alloc.storage()[0]) == "s + 2"
    inp, out = picture(H, W, 1)
    for s in (1, 2, 7, 30, 1000):
        _, after = compare(stencil(), p, [inp], [out], s=s)
        assert after.elements == {"add": (W + 2) * (H + 2), "stencil": W * H}
        assert after.program_bytes == 2 * (W + 2) * min(s + 2, H + 2)
    with pytest.raises(sl.CheckFailedError, match="1 <= s"):
        p.run(inp, out, s=0)


# Several consumers ----------------------------------------------------------------------------------------------------


def branches() -> sl.Pipeline:
    """`r` goes into `p` by a window of radius 1, into `q` by one of radius 2, and into `out` as it is."""
    (x,) = sl.variables("x")
    inp, r, p, q, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "r", "p", "q", "out"))

    def window(buffer: sl.BufferExpr, radius: int) -> Any:
        return buffer[sl.interval(x - radius, x + radius)]

    sl.Func(weigh(0), [inp[x]], [r[x]], name="fr")
    sl.Func(weigh(1), [window(r, 1)], [p[x]], name="fp")
    sl.Func(weigh(2), [window(r, 2)], [q[x]], name="fq")
    sl.Func(weigh(1, 2, 0), [window(p, 1), window(q, 2), r[x]], [out[x]], name="fo")
    return sl.build_pipeline([inp], [out])


def slide_in_order(p: sl.Pipeline, last: str, order: list[str], step: int, fold: bool = True) -> sl.Pipeline:
    """Compute producers, by name, in the loop of the last func; slide, and fold what is not an output."""
    p, (loop, _, _) = sl.split_loop(p, f"{last}.x", step, rc=True)
    for name in order:
        p, (allocs, _, call) = sl.compute_at(p, name, loop, rc=True)
        p = sl.slide_window(p, call, loop)
        for alloc in allocs if fold else ():
            p = sl.fold_storage(p, alloc, "x")
    return p


@pytest.mark.parametrize("order", [["fq", "fp", "fr"], ["fp", "fq", "fr"]])
@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_branches_of_different_radius(step: int, order: list[str]) -> None:
    plain = branches()
    p = slide_in_order(plain, "fo", order, step)
    for first, last in ((0, 30), (0, 0), (-5, 7), (3, 2)):
        before, after = compare(plain, p, [line(first - 4, last + 4)], [line(first, last)])
        assert after.elements == before.elements
    folds = {alloc.name(): str(alloc.storage()[0]) for alloc in p.find_all("alloc _")}
    assert folds["q"] == str(step + 4)
    assert folds["p"] == str(step + 2)


def test_the_warm_up_of_branches_is_the_longest_not_the_sum() -> None:
    """`q` needs 4 iterations before the first, `p` needs 2; `r`, read by both, needs 8 of the way through `q`."""
    plain = branches()
    p = slide_in_order(plain, "fo", ["fp", "fq"], 1)
    assert str(p.find("for x").bounds().min) == "out.dim(0).min - 4"
    p = slide_in_order(plain, "fo", ["fq", "fp"], 1)
    assert str(p.find("for x").bounds().min) == "out.dim(0).min - 4"
    p = slide_in_order(plain, "fo", ["fq", "fp", "fr"], 1)
    assert str(p.find("for x").bounds().min) == "out.dim(0).min - 8"


def pyramid() -> sl.Pipeline:
    """`u` is `v` at half the size; `out` reads `u` around half of x, and `v` around x."""
    (x,) = sl.variables("x")
    inp, v, u, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "v", "u", "out"))

    def down(fine: np.ndarray, coarse: np.ndarray) -> None:
        n = len(coarse)
        assert n > 0
        coarse[...] = fine[0 : 2 * n - 1 : 2] + 2 * fine[1 : 2 * n : 2] + 3 * fine[2 : 2 * n + 1 : 2]

    def up(coarse: sl.Buffer, fine: sl.Buffer, target: sl.Buffer) -> None:
        assert len(target.array) > 0
        for k in range(len(target.array)):
            at = (target.min[0] + k) // 2 - coarse.min[0]
            target.array[k] = coarse.array[at] + 3 * coarse.array[at + 1] + fine.array[k] + 5 * fine.array[k + 2]

    sl.Func(weigh(0), [inp[x]], [v[x]], name="fv")
    sl.Func(down, [v[sl.interval(2 * x - 1, 2 * x + 1)]], [u[x]], name="fu")
    skip = [u[sl.interval(x // 2, x // 2 + 1)], v[sl.interval(x - 1, x + 1)]]
    sl.Func(up, skip, [out[x]], name="fo", pass_buffers=True)
    return sl.build_pipeline([inp], [out])


@pytest.mark.parametrize("step", [1, 2, 3, 4, 7])
def test_a_skip_connection_over_a_pyramid_level(step: int) -> None:
    plain = pyramid()
    p = slide_in_order(plain, "fo", ["fu", "fv"], step)
    assert all(alloc.storage()[0] is not None for alloc in p.find_all("alloc _"))
    for first, last in ((0, 30), (-3, 27), (5, 35), (4, 4), (-1, -1), (0, -1)):
        before, after = compare(plain, p, [line(first - 40, last + 40)], [line(first, last)])
        assert after.elements == before.elements
    # What is live is a few elements at each level, however long the signal is.
    _, after = compare(plain, p, [line(-40, 1040)], [line(0, 1000)])
    assert after.program_bytes <= 4 * (2 * step + 10)


def an_output_that_is_also_read() -> sl.Pipeline:
    """`o1` and `o2` are outputs; `o2` is computed from `o1`."""
    (x,) = sl.variables("x")
    inp, t, o1, o2 = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "t", "o1", "o2"))
    sl.Func(weigh(0), [inp[x]], [t[x]], name="ft")
    sl.Func(weigh(1), [t[sl.interval(x - 1, x + 1)]], [o1[x]], name="f1")
    sl.Func(weigh(1), [o1[sl.interval(x - 1, x + 1)]], [o2[x]], name="f2")
    return sl.build_pipeline([inp], [o1, o2])


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_output_that_another_func_also_reads(step: int) -> None:
    plain = an_output_that_is_also_read()
    p = slide_in_order(plain, "f2", ["f1"], step)
    (loop,) = p.find_all("for _")
    assert [call.name() for call in loop.body()] == ["f1", "f2"]
    for first, last in ((-1, 31), (-4, 40), (-1, 33), (-30, 31)):
        outputs = [line(first, last), line(0, 30)]
        before, after = compare(plain, p, [line(-50, 50)], outputs)
        assert after.elements == before.elements


# Peeling the first window ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_first_window_can_be_peeled(step: int) -> None:
    plain = stencil()
    p, (loop, _, _) = sl.split_loop(plain, "stencil.y", step, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, loop.prev(), loop, rc=True)
    p = sl.slide_window(p, call, loop, warmup="first")
    p = sl.fold_storage(p, alloc, "y")
    assert str(p.forward(alloc).storage()[0]) == str(step + 2)
    assert str(p).count("select(") == 2
    assert p.forward(loop).bounds() == loop.bounds()
    peeled, (first, second) = sl.cut_loop(p, loop, loop.bounds().min + step, rc=True)
    assert "select(" not in str(peeled)
    assert first.next() == second
    assert peeled.forward(call).parent() == first
    for size in SIZES:
        inp, out = picture(*size, 1)
        before, after = compare(plain, p, [inp], [out])
        assert after.elements == before.elements or min(size) == 0
        before, after = compare(plain, peeled, [inp], [out])
        assert after.elements == before.elements or min(size) == 0


# Parallel tiles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warmup", ["earlier", "first"])
@pytest.mark.parametrize("tile", [1, 8, 11])
def test_parallel_tiles_have_a_window_each(tile: int, warmup: str) -> None:
    plain = stencil()
    p, (tiles, inner, _) = sl.split_loop(plain, "stencil.y", tile, names="tile", rc=True)
    p, (rows, _, _) = sl.split_loop(p, inner, 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, p.forward(tiles).prev(), rows, rc=True)
    p = sl.store_at(p, alloc, tiles)
    p = sl.slide_window(p, call, rows, warmup=warmup)
    p = sl.fold_storage(p, alloc, "y")
    p, (tiles,) = sl.parallelize_loop(p, tiles, rc=True)
    assert tiles.workers() == 0
    assert p.forward(alloc).parent() == tiles
    window = 2 * (W + 2) * 3
    inp, out = picture(H, W, 1)
    count = -(-H // tile)
    for threads in (1, 2, 8):
        before, after = compare(plain, p, [inp], [out], threads=threads)
        assert after.elements["add"] == (H + 2 * count) * (W + 2)
        assert after.elements["stencil"] == before.elements["stencil"]
        assert window <= after.program_bytes <= threads * window
    assert p.memory(inp, out, threads=1).program_bytes == window
    for size in SIZES:
        compare(plain, p, *([b] for b in picture(*size, 1)), threads=2)


def test_sliding_in_a_parallel_tile_keeps_the_number_of_workers() -> None:
    p, (tiles, inner, _) = sl.split_loop(stencil(), "stencil.y", 8, names="tile", rc=True)
    p, (rows, _, _) = sl.split_loop(p, inner, 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "add", rows, rc=True)
    p = sl.store_at(p, alloc, tiles)
    p = sl.parallelize_loop(p, tiles, 3)
    p = sl.slide_window(p, call, rows)
    p = sl.fold_storage(p, alloc, "y")
    assert p.forward(tiles).workers() == 3
    assert "  for tile in out.y.min..out.y.max step 8 parallel 3:\n" in str(p)


# The grid of tiles ----------------------------------------------------------------------------------------------------


def test_the_grid_of_pieces_stays_where_it_was() -> None:
    """Pieces of three rows stay rows 0..2, 3..5, ..., whatever was added before them."""
    calls: list[tuple[str, Any]] = []
    p, _, _ = by_rows(stencil(), 3)
    inp, out = picture(10, 4, 1)
    p.run(inp, out, hooks=sl.Hooks(call_begin=lambda func, box: calls.append((func, box[0]))))
    assert [box for func, box in calls if func == "stencil"] == [(0, 2), (3, 5), (6, 8), (9, 9)]
    assert [box for func, box in calls if func == "add"] == [(-1, 0), (1, 3), (4, 6), (7, 9), (10, 10)]


def test_a_window_longer_than_the_step_warms_up_in_whole_steps() -> None:
    plain = signal(0, 6)
    for step in (1, 3, 4, 13):
        p = slide_chain(plain, "out = _", "x", step)
        added = -(-12 // step) * step
        assert str(p.find("for x").bounds().min) == f"out.dim(0).min - {added}"
        before, after = compare(plain, p, [line(-6, 46)], [line(0, 40)])
        assert after.elements == before.elements
        assert after.program_bytes == 4 * min(step + 12, 53)


def test_a_copy_through_folded_storage_keeps_every_value() -> None:
    """What a fold keeps is what was written, not only what a sum hides."""
    (x,) = sl.variables("x")
    inp, b, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "b", "out"))

    def last_of_window(source: np.ndarray, target: np.ndarray) -> None:
        target[...] = 1000 * source[:-2] + source[2:]

    sl.Func(copy, [inp[x]], [b[x]], name="copy")
    sl.Func(last_of_window, [b[sl.interval(x - 2, x)]], [out[x]], name="ends")
    plain = sl.build_pipeline([inp], [out])
    for step in (1, 2, 5):
        before, after = compare(plain, slide_chain(plain, "out = _", "x", step), [line(-2, 60)], [line(0, 60)])
        assert after.elements == before.elements
