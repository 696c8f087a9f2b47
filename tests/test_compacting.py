"""Folds where the system cannot map memory twice: windows move on in plain memory, which is a few folds long."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import by_rows, picture
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, graphs, many_dimensions
from test_plan_properties import check_agreement

import slinky as sl
from slinky.ir.statements import Alloc, Block, Call, For, blocks_of
from slinky.runtime import arena, compacting, mirrored, storage
from slinky.runtime.codegen.moving import moves
from slinky.runtime.compacting import Compacting
from slinky.symbolic.expressions import constant

Array = np.ndarray


@pytest.fixture
def unmapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """No memory is mapped twice. A warning that something is stored in full would be an error."""
    monkeypatch.setattr(mirrored, "available", lambda: False)
    monkeypatch.setattr(storage, "_warned", False)


# Windows --------------------------------------------------------------------------------------------------------------


class Model:
    """A fold as the program means it: whoever writes a coordinate overwrites those that lie a fold away."""

    def __init__(self, fold: int) -> None:
        self.fold = fold
        self.rows: dict[int, int] = {}

    def write(self, first: int, values: list[int]) -> None:
        for c, value in enumerate(values, first):
            self.rows = {k: v for k, v in self.rows.items() if (k - c) % self.fold}
            self.rows[c] = value


def moving(fold: int, rows: int, width: int = 3) -> tuple[Any, Any]:
    memory = np.empty(rows * width * 8, np.uint8)
    return Compacting(memory, np.dtype(np.int64), (10**6, width), 0, fold, rows).windows()


@given(st.integers(1, 6), st.integers(0, 9), st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), max_size=60))
def test_a_window_that_slides_on_shows_what_was_written(fold: int, more: int, steps: list[tuple[int, int]]) -> None:
    """In each step some rows are written ahead, and all that are alive are read: together no more than the fold."""
    window, reading = moving(fold, 2 * fold + more)
    model = Model(fold)
    end = -7
    for number, (ahead, back) in enumerate(steps):
        ahead = min(ahead, fold)
        if ahead:
            values = [100 * number + k for k in range(ahead)]
            window(end, ahead)[...] = np.array(values)[:, None]
            model.write(end, values)
            end += ahead
        first = end - min(back, fold)
        known = [c for c in range(first, end) if c in model.rows]
        if known:
            view = reading(known[0], end - known[0])
            np.testing.assert_array_equal(view, [[model.rows[c]] * 3 for c in range(known[0], end)])
            assert not view.flags.writeable


@pytest.mark.parametrize("first", [-1000, -1, 0, 5, 77])
def test_a_window_that_begins_anew_elsewhere(first: int) -> None:
    """As in the next tile, or the next run: all that an iteration reads, it has written, in any order."""
    window, reading = moving(4, 8)
    window(20, 4)[...] = 1
    for c in (first + 2, first, first + 3, first + 1):
        window(c, 1)[...] = c
    np.testing.assert_array_equal(reading(first, 4)[:, 0], range(first, first + 4))


def test_a_window_of_nothing_moves_nothing() -> None:
    window, reading = moving(3, 6)
    window(0, 3)[...] = 7
    for first in (-50, 0, 3, 10**5):
        assert reading(first, 0).shape == (0, 3)
        assert reading(first, -2).shape == (0, 3)
    assert (reading(0, 3) == 7).all()


def test_a_window_that_is_longer_than_its_fold_is_refused() -> None:
    window, _ = moving(3, 12)
    with pytest.raises(sl.ExecutionError, match="a window of 4 rows is longer than its fold of 3"):
        window(10, 4)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_rows_lie_one_behind_the_other_whichever_dimension_is_folded(dim: int) -> None:
    shape = (30, 31, 32)
    rows = Compacting(np.empty(10**5, np.uint8), np.dtype(np.int16), shape, dim, 2, 8)
    window, _ = rows.windows()
    view = window(3, 2)
    assert view.shape == tuple(2 if d == dim else n for d, n in enumerate(shape))
    assert view.strides[dim] == 2 * 30 * 31 * 32 // shape[dim] == rows.nbytes // 8


# Pipelines ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unmapped")
def test_a_run_takes_a_few_folds_of_memory() -> None:
    inp, out, right = picture(60, 4096)
    p = by_rows()
    statistics = p.run(inp, out)
    np.testing.assert_array_equal(out, right)
    assert statistics.program_bytes == 3 * 4098 * 8
    assert statistics.peak_bytes == 4 * 3 * 4098 * 8
    assert p.memory(inp, out) == sl.Memory(3 * 4098 * 8, 4 * 3 * 4098 * 8)
    out[...] = 0
    run = p.bind(inp, out)
    for _ in range(3):
        run()
        np.testing.assert_array_equal(out, right)
        out[...] = 0


@pytest.mark.usefixtures("unmapped")
def test_a_buffer_that_is_hardly_longer_than_its_fold_is_stored_in_full() -> None:
    p = by_rows()
    for height, rows in ((10, 12), (9, 11), (1, 3), (11, 12)):  # two more than the output has, but 12 at most
        inp, out, right = picture(height, 4096)
        assert p.run(inp, out).peak_bytes == rows * 4098 * 8
        np.testing.assert_array_equal(out, right)


def stencils(parts: tuple[int, ...], read_at_once: bool, count: int = 3) -> sl.Pipeline:
    """A chain in which each func reads the rows at some distances: each by an access of its own, or all as one."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", np.int64, 2) for n in range(count + 1)]
    reach = max(map(abs, parts))

    def add(*operands: Array) -> None:
        *sources, target = operands
        if read_at_once:
            (source,) = sources
            sources = [source[reach + k : reach + k + len(target)] for k in parts]
        target[...] = sum((n + 2) * s for n, s in enumerate(sources))

    for n, (source, target) in enumerate(itertools.pairwise(buffers)):
        reads = [source[sl.interval(y - reach, y + reach), x]] if read_at_once else [source[y + k, x] for k in parts]
        sl.Func(add, reads, [target[y, x]], name=f"s{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


@pytest.mark.usefixtures("unmapped")
@pytest.mark.sweep(2)
@pytest.mark.parametrize("parts", [(-1, 1), (-1, 0, 1), (1, -1), (-2, 2), (0, -3)])
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("height", [1, 2, 31, 64])
def test_chains(parts: tuple[int, ...], at_once: bool, rows: int, height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls with several windows of one buffer, too, whose rows must not move between one window and the next."""
    p = stencils(parts, at_once)
    reach = 3 * max(map(abs, parts))
    image = sl.Buffer(np.random.default_rng(0).integers(0, 99, (height + 2 * reach, 7)), min=(-reach - 4, 3))
    right, out = (sl.Buffer(np.zeros((height, 7), np.int64), min=(-4, 3)) for _ in range(2))
    p(image, right)
    q = sl.line_buffer(p, "s2", "y", rows)
    for folds in (4, 2):
        monkeypatch.setattr(compacting, "FOLDS", folds)
        monkeypatch.setattr(compacting, "_MOST_ROWS", 1)
        q.compile().release()
        out.array[...] = -1
        found = q.run(image, out)
        np.testing.assert_array_equal(out.array, right.array)
        assert q.memory(image, out) == sl.Memory(found.program_bytes, found.peak_bytes)
        assert found.peak_bytes <= folds * found.program_bytes
        out.array[...] = -1
        q(image, out)
        np.testing.assert_array_equal(out.array, right.array)


@pytest.mark.usefixtures("unmapped")
def test_a_window_that_stays_while_another_loop_runs() -> None:
    """The rows that a loop over columns reads are those of the row around it."""
    p = sl.line_buffer(stencils((-1, 1), True, 2), "s1", "y", 1)
    p = sl.split_loop(p, "s1.x", 2)
    image = sl.Buffer(np.random.default_rng(0).integers(0, 99, (104, 7)), min=(-2, 0))
    right, out = (sl.Buffer(np.zeros((100, 7), np.int64)) for _ in range(2))
    stencils((-1, 1), True, 2)(image, right)
    p(image, out)
    np.testing.assert_array_equal(out.array, right.array)
    assert p.memory(image, out).peak_bytes < 100 * 7 * 8


@pytest.mark.usefixtures("unmapped")
def test_threads_that_read_a_buffer_while_nobody_writes_it() -> None:
    p = sl.line_buffer(stencils((-1, 1), True, 2), "s1", "y", 1)
    p, (columns, _, _) = sl.split_loop(p, "s1.x", 2, rc=True)
    p = sl.parallelize_loop(p, columns, workers=2)
    image = sl.Buffer(np.random.default_rng(0).integers(0, 99, (104, 70)), min=(-2, 0))
    right, out = (sl.Buffer(np.zeros((100, 70), np.int64)) for _ in range(2))
    stencils((-1, 1), True, 2)(image, right)
    for _ in range(3):
        out.array[...] = -1
        p(image, out)
        np.testing.assert_array_equal(out.array, right.array)
    assert p.memory(image, out).peak_bytes < 100 * 70 * 8


def test_stages_that_share_a_buffer_leave_it_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored, "available", lambda: False)
    inp, out, right = picture(60, 4096)
    staged = sl.pipeline_loop(by_rows(), "for row")
    monkeypatch.setattr(storage, "_warned", False)
    with pytest.warns(RuntimeWarning, match="cannot map memory twice: folded buffers are stored unfolded"):
        statistics = staged.run(inp, out)
    assert statistics.peak_bytes == 62 * 4098 * 8
    np.testing.assert_array_equal(out, right)


def buffers_of(p: sl.Pipeline) -> dict[str, tuple[Alloc, Block]]:
    """The allocations of a pipeline by their names, each with its block."""
    found: dict[str, tuple[Alloc, Block]] = {}

    def visit(block: Block) -> None:
        for statement in block:
            if isinstance(statement, Alloc):
                found[statement.buffer] = statement, block
            for _, inner in blocks_of(statement):
                visit(inner)

    visit(p.program.body)
    return found


def test_two_folds_leave_a_buffer_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What moves on are the rows along one dimension."""
    y, x = sl.variables("y x")
    a, b, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "b", "out"))
    sl.Func(np.negative, [a[y, x]], [b[y, x]], name="first")

    def add(source: Array, target: Array) -> None:
        target[...] = source[1:, 1:] + source[:-1, :-1]

    sl.Func(add, [b[sl.interval(y - 1, y), sl.interval(x - 1, x)]], [out[y, x]], name="second")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "second.y", 1)
    p, (loop, _, _) = sl.split_loop(p, "second.x", 1, rc=True)
    p = sl.compute_at(p, "first", loop)
    folds = (constant(2), constant(2))
    body = [attrs.evolve(each, folds=folds) if isinstance(each, Alloc) else each for each in p.program.body]
    p = sl.Pipeline(attrs.evolve(p.program, body=tuple(body)))
    monkeypatch.setattr(mirrored, "available", lambda: False)
    monkeypatch.setattr(storage, "_warned", True)
    assert not moves(*buffers_of(p)["b"])
    image, found = np.arange(42).reshape(6, 7), np.zeros((5, 6), np.int64)
    p(sl.Buffer(image, min=(-1, -1)), found)
    np.testing.assert_array_equal(found, -image[1:, 1:] - image[:-1, :-1])


@pytest.mark.usefixtures("unmapped")
def test_a_buffer_that_a_call_reads_and_writes_stays_where_it_is() -> None:
    """The windows that the call has been given of what it reads would be void when what it writes moves on."""
    s = sl.dims("m k")
    p = sl.Tensor(s.m, s.k, dtype=np.int64, name="t").sum(s.k).named("sums").pipeline
    alloc, block = buffers_of(sl.split_reduction(p, "sum", "k", 1))["partial"]
    assert alloc.folds[0] is not None
    assert not moves(alloc, block)


@pytest.mark.usefixtures("unmapped")
def test_stages_in_a_loop_share_a_buffer_too() -> None:
    """Wherever the loop stands behind the allocation."""
    p, (_, rows, _) = sl.split_loop(by_rows(), "for row", 4, rc=True)
    whole = sl.unfold_storage(p, "alloc intm", "y")
    alloc, block = buffers_of(sl.pipeline_loop(whole, rows))["intm"]
    folded = attrs.evolve(alloc, folds=(constant(8), None))
    assert not moves(folded, tuple([folded if each is alloc else each for each in block]))
    assert moves(*buffers_of(p)["intm"])


@pytest.mark.usefixtures("unmapped")
def test_stages_that_only_read_a_buffer_let_it_move() -> None:
    """Nobody writes it meanwhile, so it lies still."""
    p = sl.line_buffer(stencils((-1, 1), True, 3), "s2", "y", 1)
    alloc, block = buffers_of(sl.pipeline_loop(sl.unfold_storage(p, "alloc b2", "y"), "for y"))["b2"]
    stages = [each for each in block if isinstance(each, For)]
    (loop,) = stages
    readers = tuple([each for each in loop.body if isinstance(each, Call) and alloc.buffer not in each.writes])
    folded = attrs.evolve(alloc, folds=(constant(8), None))
    assert not moves(folded, (folded, loop))
    assert moves(folded, (folded, attrs.evolve(loop, body=readers)))


def test_one_row_has_nowhere_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes it: so it takes one row, and not all of them."""
    monkeypatch.setattr(mirrored, "available", lambda: False)
    p = sl.pipeline_loop(sl.unfold_storage(by_rows(), "alloc intm", "y"), "for row")
    alloc, block = buffers_of(p)["intm"]
    for rows in (1, 2):
        folded = attrs.evolve(alloc, folds=(constant(rows), None))
        assert moves(folded, tuple([folded if each is alloc else each for each in block])) == (rows == 1)


def test_where_there_is_no_room_to_try_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for the memory says that there is none."""

    def no_room() -> bool:
        raise OSError("no room")

    monkeypatch.setattr(mirrored, "available", no_room)
    assert not moves(*buffers_of(by_rows())["intm"])


def every_room_is_small(dtype: np.dtype, shape: tuple[int, ...], dim: int, fold: int) -> int | None:
    """In place of `compacting.room`, which leaves small buffers in full: the least room that there may be."""
    return (2 * fold if fold > 1 else 1) if storage.row_bytes(dtype, shape, dim) else None


@pytest.mark.long
@given(
    st.one_of(graphs(max_stages=5), graphs(max_stages=5), many_dimensions(max_stages=2)),
    st.integers(0, 2**32),
    st.integers(0, 16),
)
@settings(max_examples=settings().max_examples * 2)
def test_plan_and_interpreter_agree(graph: Graph, seed: int, steps: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mirrored, "available", lambda: False)
        patch.setattr(storage, "_warned", True)
        patch.setattr(arena, "room", every_room_is_small)
        check_agreement(graph, seed, steps)
