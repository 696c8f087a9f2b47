"""The nest of a pipeline at a glance, and the graph of a tensor as Graphviz: sizes, tails, loops, scratch."""

from __future__ import annotations

import itertools
import re
import sys
import types
from typing import Any

import numpy as np
import pytest
from scheduled import stencil

import slinky as sl

s = sl.dims("m k n x y i")


def program(m: int | None = None, k: int = 0, n: int = 0) -> sl.Tensor:
    """Only positive products, summed over `k`."""
    a = sl.Tensor(s.m, s.k, dtype=np.float32, name="a")
    b = sl.Tensor(s.k, s.n, dtype=np.float32, name="b")
    if m is not None:
        a.set_size(m, k)
        b.set_size(k, n)
    return np.maximum(a * b, 0).named("positive").sum(s.k, reassociate=True).named("c")  # type: ignore[no-any-return]


def tiled(c: sl.Tensor, rows: int, columns: int, piece: int) -> sl.Pipeline:
    p = sl.split_loop(sl.split_loop(c.pipeline, "sum.m", rows), "sum.n", columns)
    p, pieces = sl.split_reduction(p, "sum", "k", piece, rc=True)
    p = sl.compute_at(p, "maximum", pieces.loop)
    return sl.store_at(p, "alloc positive", pieces.loop)  # type: ignore[no-any-return]


def elements(tree: object, buffer: str) -> int:
    """How many elements of scratch a tree says that a buffer takes."""
    (found,) = re.findall(rf"scratch {buffer}: .* ([\d,]+) elements", str(tree))
    return int(found.replace(",", ""))


# Loop trees -----------------------------------------------------------------------------------------------------------


def test_scratch_shrinks_from_all_of_two_dimensions_to_a_tile() -> None:
    c = program(33, 256, 48)
    assert elements(c.loop_tree, "positive") == 33 * 256 * 48
    p, pieces = sl.split_reduction(c.pipeline, "sum", "k", 1, rc=True)
    p = sl.store_at(sl.compute_at(p, "maximum", pieces.loop), "alloc positive", pieces.loop)
    assert elements(c.scheduled(p).loop_tree, "positive") == 1584
    tiles = tiled(c, 8, 32, 1)
    tree = c.scheduled(tiles).loop_tree
    assert elements(tree, "positive") == 256
    assert str(tree).startswith("for m: 33 = 4 x 8 + 1\n  for n: 48 = 1 x 32 + 16\n    scratch partial")
    assert tiles.memory((33, 256), (256, 48)).program_bytes == 4 * (256 + 2 * 256)


@pytest.mark.parametrize("size", [(33, 5, 48), (8, 3, 32), (1, 1, 1), (7, 0, 3), (9, 2, 0)])
def test_the_sizes_of_a_tree_are_those_of_the_run(size: tuple[int, int, int]) -> None:
    m, k, n = size
    p = tiled(program(), 8, 32, 2)
    shapes = (m, k), (k, n)
    tree = sl.loop_tree(p, *shapes)
    hooked: dict[str, int] = {}
    hooks = sl.Hooks(allocate=lambda name, size: hooked.update({name: max(size, hooked.get(name, 0))}))
    p.run(*(np.ones(shape, np.float32) for shape in shapes), hooks=hooks)
    for name, most in hooked.items():
        assert elements(tree, name) == most // 4


def test_without_sizes_there_are_expressions() -> None:
    tree = str(sl.loop_tree(tiled(program(), 8, 32, 1)))
    assert tree.startswith("for m: (c.m.max - c.m.min + 1) by 8\n  for n: (c.n.max - c.n.min + 1) by 32\n    scratch")
    assert str(program().loop_tree).startswith("scratch positive: float32, (c.m.max - c.m.min + 1) x")


def test_a_tail_of_a_tail_is_told() -> None:
    c = program(33, 4, 5)
    p, (_, inner, _) = sl.split_loop(c.pipeline, "sum.m", 8, rc=True)
    p = sl.split_loop(p, inner, 3)
    assert str(sl.loop_tree(p, (33, 4), (4, 5))).splitlines()[2:] == [
        "for m: 33 = 4 x 8 + 1",
        "  for m_1: 8 = 2 x 3 + 2, at the end 1 = 0 x 3 + 1",
        "    c = sum(positive) over m 3, n 5, at the end 1 x 5",
    ]


def test_any_pipeline_has_a_tree() -> None:
    p = stencil()
    p, (rows, _, _) = sl.split_loop(p, "stencil.y", 1, rc=True)
    p, fused = sl.compute_at(p, "add", rows, rc=True)
    p = sl.fold_storage(sl.slide_window(p, fused.call, rows), fused.alloc, "y")
    assert str(sl.loop_tree(p, (6, 7))).splitlines() == [
        "scratch intm: int16, 3 x 7 = 21 elements",
        "for y: 6",
        "  intm = add(inp) over y 1, x 7",
        "  out = stencil(intm) over y 0, x 5, at the end 1 x 5",
    ]
    parallel = sl.parallelize_loop(sl.split_loop(stencil(), "stencil.y", 2), "for y")
    assert "for y: 4 = 2 x 2 in parallel" in str(sl.loop_tree(parallel, (6, 7)))


def test_what_has_no_tree_is_refused() -> None:
    with pytest.raises(sl.OperationError, match="must be a Pipeline, got str"):
        sl.loop_tree("p")  # type: ignore[arg-type]
    with pytest.raises(sl.ArgumentError):
        sl.loop_tree(stencil(), (6, 7, 8))


# Schedules of the program ---------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("order", list(itertools.permutations("mn")), ids="".join)
@pytest.mark.parametrize("tile", [(8, 32, 1), (3, 2, 2), (5, 1, 7), (40, 50, 60)], ids=str)
def test_tiles_of_any_size_in_any_order_give_the_same(tile: tuple[int, int, int], order: tuple[str, ...]) -> None:
    steps = dict(zip("mn", tile[:2], strict=True))
    c = program()
    p = c.pipeline
    for dim in order:
        p = sl.split_loop(p, f"sum.{dim}", steps[dim])
    p = sl.reorder_loops(p, f"for {order[0]}")
    p, pieces = sl.split_reduction(p, "sum", "k", tile[2], rc=True)
    p = sl.store_at(sl.compute_at(p, "maximum", pieces.loop), "alloc positive", pieces.loop)
    for m, k, n in ((33, 7, 48), (1, 1, 1), (8, 5, 3), (7, 0, 2)):
        one = (np.arange(m * k) % 7 - 3).astype(np.float32).reshape(m, k)
        other = (np.arange(k * n) % 5 - 2).astype(np.float32).reshape(k, n)
        out = np.full((m, n), np.nan, np.float32)
        p.run(one, other, out, checked=True)
        np.testing.assert_array_equal(out, np.maximum(one[:, :, None] * other, 0).sum(1))


def test_loops_are_shared_and_parted() -> None:
    c = program(33, 6, 48)
    p, pieces = sl.split_reduction(c.pipeline, "sum", "k", 1, rc=True)
    p = sl.store_at(sl.compute_at(p, "maximum", pieces.loop), "alloc positive", pieces.loop)
    p, (products, _, _) = sl.split_loop(p, "maximum.m", 8, rc=True)
    p, (sums, _, _) = sl.split_loop(p, "sum_update.m", 8, rc=True)
    one, shared = sl.fuse_loops(p, products, sums, rc=True)
    assert elements(c.scheduled(sl.store_at(one, "alloc positive", shared.loop)).loop_tree, "positive") == 8 * 48
    assert str(sl.fission_loop(one, one.find("maximum").after())) == str(p)


# Graphs ---------------------------------------------------------------------------------------------------------------


def test_the_graph_is_graphviz() -> None:
    assert str(program(33, 6, 48).ir).splitlines() == [
        "digraph {",
        "  node [shape=box];",
        r'  n0 [label="a: float32\n[m: 33, k: 6]"];',
        r'  n1 [label="b: float32\n[k: 6, n: 48]"];',
        r'  n2 [label="multiply\n[m: 33, k: 6, n: 48]\nloops: (m, k, n)"];',
        r'  n3 [label="positive = maximum\n[m: 33, k: 6, n: 48]\nloops: (m, k, n)"];',
        r'  n4 [label="sum over k\n[m: 33, n: 48]\nloops: (m, n)"];',
        "  n0 -> n2;",
        "  n1 -> n2;",
        "  n2 -> n3;",
        "  n3 -> n4;",
        "}",
    ]


def test_each_node_says_the_loops_of_its_schedule() -> None:
    c = program()
    labels = str(c.scheduled(tiled(c, 8, 32, 1)).ir)
    assert r"[m, k, n]\nloops: m by 8; n by 32; k; (m, k, n)" in labels
    assert r"sum over k\n[m, n]\nloops: m by 8; n by 32; k; (k_piece, m, n)" in labels


def test_what_is_read_twice_stands_once() -> None:
    x = sl.Tensor(s.x, name="x")
    root = np.sqrt(x)
    text = str((root * root + root.sum()).to(s.y).ir)
    assert text.count('"sqrt') == 1
    assert [line.strip() for line in text.splitlines() if "->" in line] == [
        *("n0 -> n1;", "n1 -> n2;", "n1 -> n2;", "n1 -> n3;", "n2 -> n4;", "n3 -> n4;")
    ]


def test_views_and_tensors_without_names_are_drawn() -> None:
    t = sl.Tensor(np.zeros((3, 4)), name="picture")
    assert r'"picture: float64\n[?: 3, ?: 4]"' in str((t + 1).ir)
    flat = t.to(s.m, s.n).to(s.i, constraints=[(s.i, s.m * sl.size(s.n) + s.n)])
    assert r'"view of [m, n]\n[i: 12]' in str(flat.ir)
    assert str(t.ir).count("->") == 0
    np.testing.assert_array_equal(t.pipeline(np.ones((2, 2))), np.ones((2, 2)))


def test_a_notebook_shows_the_graph_where_graphviz_is(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = program().ir
    monkeypatch.setitem(sys.modules, "graphviz", None)
    assert graph._repr_svg_() is None

    class MissingError(Exception):
        """That there is no program that draws."""

    class Source:
        def __init__(self, text: str) -> None:
            self.text = text

        def pipe(self, **options: Any) -> str:
            if "sqrt" in self.text:
                raise MissingError
            return f"<svg {options['format']} {len(self.text)}>"

    stand_in = types.ModuleType("graphviz")
    vars(stand_in).update(Source=Source, ExecutableNotFound=MissingError)
    monkeypatch.setitem(sys.modules, "graphviz", stand_in)
    assert graph._repr_svg_() == f"<svg svg {len(str(graph))}>"
    assert np.sqrt(sl.Tensor(s.x)).ir._repr_svg_() is None
