"""Calls of few elements in C: loops of known length in their place, small buffers in registers, states updated in
place; tails, and schedules that may not have it."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import FLAGS, is_whole, needs_compiler, run_in_c
from hypothesis import settings

import slinky as sl
from slinky.native import compiling
from slinky.native.states import states_in_place

Array = np.ndarray[Any, Any]
pytestmark = [needs_compiler, pytest.mark.usefixtures("quick_libraries")]


def product(dtype: Any = np.float32) -> sl.Pipeline:
    """A product of matrices, as products and their sums."""
    s = sl.dims("m k n")
    a, b = sl.Tensor(s.m, s.k, dtype=dtype, name="a"), sl.Tensor(s.k, s.n, dtype=dtype, name="b")
    return (a * b).named("product").sum(s.k, reassociate=True).named("c").pipeline


def tiled(p: sl.Pipeline, rows: int, columns: int, width: int, *, tail: str = "clamp") -> sl.Pipeline:
    """Tiles of sums, in which one product at a time is added to each."""
    p, (outer, _, _) = sl.split_loop(p, "sum.m", rows, rc=True)
    p = sl.reorder_loops(sl.split_loop(p, "sum.n", columns), outer)
    p = sl.split_reduction(p, "sum", "k", 1)
    p = sl.split_loop(p, "sum_update.m", 1)
    p, (inner, _, _) = sl.split_loop(p, "sum_update.n", width, tail=tail, rc=True)
    return sl.store_at(sl.compute_at(p, "multiply", inner), "alloc product", inner)


def operands(m: int, k: int, n: int, dtype: Any = np.float32) -> list[Array]:
    generator = np.random.default_rng([m, k, n])
    return [generator.integers(-4, 5, shape).astype(dtype) for shape in ((m, k), (k, n))]


def summed_in_order(a: Array, b: Array) -> Array:
    """The sums of products, one after the other."""
    total = np.zeros((a.shape[0], b.shape[1]), np.result_type(a, b))
    for k in range(a.shape[1]):
        total = (total + a[:, k : k + 1] * b[k : k + 1]).astype(total.dtype)
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_tiles_of_a_product_and_their_tails(dtype: Any) -> None:
    p = tiled(product(dtype), 3, 8, 4)
    plan = p.compile(backend="native")
    for m, k, n in itertools.product((1, 3, 7), (1, 5), (3, 4, 8, 21)):
        a, b = operands(m, k, n, dtype)
        out = np.full((m, n), -7, a.dtype if dtype != np.int32 else p.program.outputs[0].dtype)
        plan(a, b, out)
        assert np.array_equal(out, summed_in_order(a, b)), (m, k, n)


def test_floats_are_added_in_the_order_of_the_program() -> None:
    """Bit for bit what the program says, though compilers might like another order."""
    p = tiled(product(), 3, 8, 4)
    generator = np.random.default_rng(3)
    a, b = (generator.normal(size=shape).astype(np.float32) for shape in ((10, 33), (33, 19)))
    outs = [np.empty((10, 19), np.float32) for _ in range(2)]
    p.compile(backend="native")(a, b, outs[0])
    p(a, b, outs[1])
    assert outs[0].tobytes() == outs[1].tobytes() == summed_in_order(a, b).tobytes()


def test_whole_tiles_are_loops_of_known_length() -> None:
    """The text has a function of calls for the edges alone, and the tile is an array of the function."""
    text = tiled(product(), 6, 16, 8).to_c()
    assert "_Alignas(64) float partial_window_here[96];" in text
    assert "_Alignas(64) float product_here[8];" in text
    assert "slinky_vectors(8)" in text
    assert "#pragma GCC unroll 6" in text
    tile = text[text.index("partial_window_here[96]") : text.index("else {", text.index("partial_window_here[96]"))]
    assert "slinky_sum_update" not in tile
    assert "slinky_min" not in tile


def test_elements_that_do_not_follow_each_other() -> None:
    p = tiled(product(), 3, 8, 4)
    plan = p.compile(backend="native")
    a, b = operands(9, 6, 17)
    for left, right in ((np.asfortranarray(a), b), (a, np.asfortranarray(b)), (a[::-1], b[:, ::-1]), (a, b[::2, ::3])):
        right = right if len(right) == left.shape[1] else np.repeat(right, 2, 0)[: left.shape[1], ::2]
        out = np.zeros((right.shape[1], len(left)), np.float32).T
        plan(left, right, out)
        assert np.array_equal(out, summed_in_order(left, right))


def test_tiles_on_threads() -> None:
    """Tiles of an iteration that a thread runs know as much as others."""
    p = tiled(product(), 3, 8, 4)
    p = sl.parallelize_loop(p, "for n", 2)
    a, b = operands(11, 7, 45)
    out = np.empty((11, 45), np.float32)
    p.compile(backend="native")(a, b, out)
    assert np.array_equal(out, summed_in_order(a, b))


def test_an_update_that_is_done_twice_keeps_two_states() -> None:
    """Where tails shift, some sums are made twice of the same state: one state would be added to twice."""
    p = sl.split_reduction(product(), "sum", "k", 1)
    twice = sl.split_loop(p, "sum_update.n", 8, tail="shift")
    assert states_in_place(p.program) == {"partial"}
    assert states_in_place(twice.program) == set()
    a, b = operands(5, 6, 13)
    out = np.empty((5, 13), np.float32)
    twice.compile(backend="native")(a, b, out)
    assert np.array_equal(out, summed_in_order(a, b))


def test_a_loop_that_repeats_updates_keeps_two_states() -> None:
    """What is proved is that no iteration comes to an element again."""
    p = tiled(product(), 4, 8, 4)
    assert states_in_place(p.program) == {"partial"}
    overlapping = sl.split_reduction(product(), "sum", "k", 1)
    overlapping = sl.split_loop(overlapping, "sum_init.n", 8, tail="shift")
    assert states_in_place(overlapping.program) == set()


def test_buffers_that_are_taken_over_share_their_memory() -> None:
    """A call that works in place takes the array of what it reads: neither is an array of the function alone."""
    (x,) = sl.variables("x")
    a, b, c, d = (sl.BufferExpr(name, np.float64, 1) for name in "abcd")
    sl.arithmetic(a[x] + 1, b[x], name="first")
    sl.arithmetic(b[x] * 2, c[x], name="second")
    sl.arithmetic(c[x] - b[x], d[x], name="third")
    p = sl.build_pipeline([a], [d])
    p, (loop, _, _) = sl.split_loop(p, "third.x", 4, rc=True)
    for name, buffer in (("second", "c"), ("first", "b")):
        p = sl.store_at(sl.compute_at(p, name, loop), f"alloc {buffer}", loop)
    for n in (1, 4, 10, 33):
        values, out = np.arange(n, dtype=float), np.empty(n)
        p.compile(backend="native")(values, out)
        assert np.array_equal(out, values + 1)


def test_windows_that_go_on_are_kept_from_one_iteration_to_the_next() -> None:
    """A buffer that the program makes before a loop is not made anew in it."""
    y, x = sl.variables("y x")
    a, mid, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x] * 2 + 1, mid[y, x], name="first")
    sl.arithmetic(mid[y - 1, x] + mid[y + 1, x], out[y, x], name="last")
    p = sl.build_pipeline([a], [out])
    p, (tiles, _, _) = sl.split_loop(p, "last.x", 4, rc=True)
    p, (rows, _, _) = sl.split_loop(p, "last.y", 1, rc=True)
    p = sl.slide_window(sl.compute_at(p, "first", rows), "first", rows)
    p = sl.store_at(p, "alloc mid", tiles)
    values = np.random.default_rng(0).random((12, 11), np.float32)
    result = np.empty((10, 11), np.float32)
    p.compile(backend="native")(values, sl.Buffer(result, min=(1, 0)))
    assert np.array_equal(result, (values[:-2] * 2 + 1) + (values[2:] * 2 + 1))


# ----------------------------------------------------------------------------------------------------------------
# vectorize
# ----------------------------------------------------------------------------------------------------------------


def line() -> sl.Pipeline:
    """An operation on elements of a row."""
    (x,) = sl.variables("x")
    a, out = sl.BufferExpr("a", np.float32, 1), sl.BufferExpr("out", np.float32, 1)
    sl.arithmetic(a[x] * 2 + 1, out[x], name="line")
    return sl.build_pipeline([a], [out])


def test_a_dimension_and_a_loop_over_elements_become_vectors() -> None:
    direct, made = sl.vectorize(line(), "line.x", 8, rc=True)
    again = sl.vectorize(sl.split_loop(line(), "line.x", 1), "for x", 8)
    assert str(direct) == str(again)
    assert "for x in out.x.min..out.x.max step 8:\n    out[x .. x + 7] = line(a[x .. x + 7])" in str(direct)
    assert str(sl.absorb_loop(direct, made.loop)) == str(line())
    assert 'p = sl.vectorize(p, "for x", 8)' in str(again.history())
    for n in (1, 7, 8, 30):
        values, out = np.arange(n, dtype=np.float32), np.empty(n, np.float32)
        for p in (direct, again):
            p.compile(backend="native")(values, out)
            assert np.array_equal(out, values * 2 + 1)
    assert "slinky_vectors(8)" in direct.to_c()


def test_a_loop_over_part_of_a_row_ends_where_it_did() -> None:
    """The last vector goes no further than the loop, though its call could."""
    p = sl.split_loop(line(), "line.x", 1)
    p, (before, _) = sl.cut_loop(p, "for x", sl.BufferExpr("out", np.float32, 1).dim(0).min + 5, rc=True)
    p = sl.vectorize(p, before, 4)
    values, out = np.arange(13, dtype=np.float32), np.empty(13, np.float32)
    stats = p.run(values, out, checked=True)
    assert stats.elements == {"line": 13}
    assert np.array_equal(out, values * 2 + 1)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (lambda y, x: (x, y), lambda a: a.T),
        (lambda y, x: (19 - x, y), lambda a: a[::-1].T),
        (lambda y, x: (y, 19 - x), lambda a: a[:, ::-1]),
        (lambda y, x: (y, 2 * x), lambda a: a[:, ::2]),
        (lambda y, x: (x, x), lambda a: np.broadcast_to(a.diagonal(), a.shape)),
        (lambda y, x: (y, 3), lambda a: np.broadcast_to(a[:, 3:4], a.shape)),
        (lambda y, x: (y, x), lambda a: a),
    ],
)
def test_vectors_of_what_is_seen_along_other_axes(index: Any, expected: Any) -> None:
    """That elements follow each other in an array does not say that they do where it is seen otherwise."""
    y, x = sl.variables("y x")
    a, seen, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "seen", "out"))
    sl.copies.copy(a[index(y, x)], seen[y, x], name="look")
    sl.arithmetic(seen[y, x] * 2 + 1, out[y, x], name="line")
    p = sl.build_pipeline([a], [out])
    assert "look(" not in str(p)
    p = sl.vectorize(sl.split_loop(p, "line.y", 1), "line.x", 8)
    values = np.random.default_rng(0).standard_normal((20, 20), np.float32)
    right = expected(values) * 2 + 1
    for order in "CF":
        for layout in "CF":
            found = np.zeros(right.shape, np.float32, layout)  # type: ignore[call-overload]
            p.compile(backend="native")(np.asarray(values, order=order), found)  # type: ignore[call-overload]
            assert np.array_equal(found, right)


def _turned(given: Array, result: Array) -> None:
    result[...] = -given


def refused(rewrite: Any) -> str:
    with pytest.raises(sl.SchedulingError) as caught:
        rewrite()
    return str(caught.value.reason)


def test_what_vectorize_refuses() -> None:
    y, x = sl.variables("y x")
    a, b, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "b", "out"))
    sl.arithmetic(a[y, x] + 1, b[y, x], name="more")
    sl.Func(_turned, [b[y, x]], [out[y, x]], name="less")
    p = sl.build_pipeline([a], [out])
    assert refused(lambda: sl.vectorize(p, "less.x", 4)) == "less is no arithmetic that C knows"
    assert (
        refused(lambda: sl.vectorize(p, "more.y", 4)) == "elements of more follow each other along x, and not along y"
    )
    by_rows = sl.split_loop(sl.split_loop(p, "more.y", 1), "more.x", 1)
    assert refused(lambda: sl.vectorize(by_rows, "for y", 4)) == "the body of loop y is not just one call"
    by_two = sl.split_loop(p, "more.x", 2)
    assert refused(lambda: sl.vectorize(by_two, "for x", 4)) == "an iteration of loop x is not one element of more"
    sums = sl.split_reduction(product(), "sum", "k", 1)
    assert refused(lambda: sl.vectorize(sums, "for k", 4)) == "each piece of sum_update goes on from the one before it"
    for width in (0, 1, 3, 128, "4", 4.0, True):
        with pytest.raises(sl.OperationError, match="width must be one of 2, 4, 8, 16, 32, 64, got"):
            sl.vectorize(p, "more.x", width)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------------
# Any schedule
# ----------------------------------------------------------------------------------------------------------------


def any_schedule(seed: int) -> tuple[sl.Pipeline, tuple[int, int, int]]:
    """Sums of products in tiles drawn at random, or in none, and sizes for it."""
    choose = random.Random(seed)
    dtype = choose.choice([np.float32, np.float64, np.int16])
    p = sl.split_reduction(product(dtype), "sum", "k", 1) if choose.random() < 0.4 else None
    if p is None:
        p, (loop, _, _) = sl.split_loop(
            product(dtype), choose.choice(["sum.m", "sum.n"]), choose.randint(1, 9), rc=True
        )
        if choose.random() < 0.5:
            p = sl.parallelize_loop(p, loop, 2)
        p = sl.split_reduction(p, "sum", "k", 1)
    for _ in range(choose.randint(1, 4)):
        func = choose.choice(["sum_update", "sum_update", "sum_init", "sum_finish", "multiply"])
        where = choose.choice([f"{func}.m", f"{func}.n", "for k", "for m", "for n"])
        try:
            p, cursors = sl.split_loop(
                p, where, choose.randint(1, 6), tail=choose.choice(["clamp", "cut", "shift"]), rc=True
            )
            if choose.random() < 0.2:
                p = sl.vectorize(p, cursors.outer, choose.choice([2, 4, 8]))
            elif choose.random() < 0.5:
                p = sl.store_at(sl.compute_at(p, "multiply", cursors.outer), "alloc product", cursors.outer)
            elif choose.random() < 0.3:
                p = sl.unroll_loop(p, cursors.inner)
        except sl.SlinkyError:
            continue
    return p, tuple(choose.randint(1, 14) for _ in range(3))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(settings().max_examples // 2))
def test_any_schedule_gives_what_the_interpreter_gives(seed: int) -> None:
    p, (m, k, n) = any_schedule(seed)
    a, b = operands(m, k, n, p.program.inputs[0].dtype)
    outs = [np.zeros((m, n), p.program.outputs[0].dtype) for _ in range(2)]
    p.run(a, b, outs[0], backend="interpreter", checked=True)
    p.compile(backend="native")(a, b, outs[1])
    assert outs[0].tobytes() == outs[1].tobytes(), str(p)


@pytest.mark.parametrize("seed", range(100, 100 + settings().max_examples // 5))
def test_any_schedule_as_a_file_of_c(seed: int, tmp_path: Path) -> None:
    p, (m, k, n) = any_schedule(seed)
    if not is_whole(p.to_c()):
        pytest.skip("not all of it is C")
    a, b = operands(m, k, n, p.program.inputs[0].dtype)
    out = np.zeros((m, n), p.program.outputs[0].dtype)
    p.run(a, b, out)
    given = [sl.Buffer(each) for each in (a, b)]
    status, found = run_in_c(p, given, sl.Buffer(np.zeros_like(out)), {}, ["gcc", *FLAGS], tmp_path)
    assert status == 0
    assert np.array_equal(found, out), str(p)


def test_loops_of_known_length_are_asked_to_be_vectors(tmp_path: Path) -> None:
    """Without that, GCC takes such loops apart, and keeps nothing in registers."""
    made_by = compiling.compiler()
    assert made_by is not None
    source = tmp_path / "tiles.c"
    source.write_text(tiled(product(), 6, 16, 8).to_c())
    flags = [flag for flag in compiling.FLAGS if flag != "-shared"]
    told = subprocess.run([*made_by.command, *flags, "-E", str(source)], capture_output=True, text=True, check=True)
    assert re.search(r"#pragma omp simd simdlen ?\(8\)", told.stdout)
