"""Loops over dimensions that funcs declare to reduce, as annotations: piece by piece, with the producers inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from annotated import HEIGHT as QUERIES
from annotated import KEYS, Case, buffers, case, flash_attention, numbers, x, y

import slinky as sl

i, k = sl.variables("i k")

COLUMNS = 5
"""Of the values."""


def row_sums() -> Case:
    """The sums of rows of which something was made first."""
    inp, squared = buffers("inp squared")
    (sums,) = buffers("sums", 1)
    funcs = (
        sl.Func(np.square, [inp[y, x]], [squared[y, x]], name="square"),
        sl.reductions.sum(squared[y, :], sums[y], name="total"),
    )
    plane = numbers(QUERIES, KEYS)
    return case([inp], [sums], funcs, [plane], [(plane**2).sum(axis=1)])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("keys", [1, 4, 5, 17, 64])
@pytest.mark.parametrize("queries", [1, 3, 13, 20])
def test_attention_by_blocks_of_queries_and_keys(queries: int, keys: int, workers: int | None) -> None:
    """Of scores there is a block, of what is known so far two steps; each score is computed once."""
    made = flash_attention()
    made.funcs["means"].loops([sl.loop(i, queries, workers=workers), (k, keys)])
    p = made.build()
    after = made.run(p)
    assert after.elements["score"] == QUERIES * KEYS
    rows, columns = min(queries, QUERIES), min(keys, KEYS)
    held = 8 * (rows * columns + 2 * rows * (COLUMNS + 1 + 1))
    tasks = min(workers or 1, -(-QUERIES // rows))
    assert after.program_bytes <= tasks * held
    assert tasks > 1 or after.program_bytes == held
    assert [loop.name() for loop in sl.enclosing_loops(p, "score")] == ["i", "k"]


def test_it_is_what_the_primitives_make() -> None:
    made = flash_attention()
    by_hand = sl.split_loop(made.build(), "means.i", 4)
    by_hand, pieces = sl.split_reduction(by_hand, "means", "k", 5, rc=True)
    by_hand = sl.store_at(sl.compute_at(by_hand, "score", pieces.loop), "alloc scores", pieces.loop)
    made.funcs["means"].loops([(i, 4), (k, 5)])
    assert made.build().same_program(by_hand)


def test_loops_behind_it_in_the_list_are_inside() -> None:
    """Blocks of queries in blocks of keys: what is known so far is there for all queries."""
    made = flash_attention()
    made.funcs["means"].loops([(k, 5), (i, 4)])
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "score")] == ["k", "i"]
    assert [loop.name() for loop in sl.enclosing_loops(p, "alloc weight")] == []
    after = made.run(p)
    assert after.elements["score"] == QUERIES * KEYS
    assert after.program_bytes == 8 * (4 * 5 + 2 * QUERIES * (COLUMNS + 2))


def test_the_only_loop() -> None:
    made = row_sums()
    made.funcs["total"].loops([(x, 4)])
    after = made.run(made.build())
    assert after.elements["square"] == QUERIES * KEYS
    assert after.program_bytes == 8 * (4 * QUERIES + 2 * QUERIES)


@pytest.mark.parametrize("place", ["rows", "pieces"])
def test_a_producer_at_the_loop_over_pieces_or_further_out(place: str) -> None:
    made = row_sums()
    rows, pieces = sl.loop(y, 3), sl.loop(x, 4)
    made.funcs["total"].loops([rows, pieces])
    made.funcs["square"].compute_at(made.funcs["total"], rows if place == "rows" else x)
    p = made.build()
    found = [loop.name() for loop in sl.enclosing_loops(p, "square")]
    assert found == {"rows": ["y"], "pieces": ["y", "x"]}[place]
    assert made.run(p).elements["square"] == QUERIES * KEYS


def test_a_reduction_in_the_loop_of_its_reader() -> None:
    """Rows divided by their sums, which are summed piece by piece in each strip."""
    inp, squared, out = buffers("inp squared out", 2, np.float64)
    (sums,) = buffers("sums", 1, np.float64)
    funcs = (
        sl.Func(np.square, [inp[y, x]], [squared[y, x]], name="square"),
        sl.reductions.sum(squared[y, inp.dim(1).bounds], sums[y], name="total", reassociate=True),
        sl.Func(lambda s, n, t: np.divide(s, n[:, None], out=t), [inp[y, x], sums[y]], [out[y, x]], name="divide"),
    )
    plane = numbers(13, 10, dtype=np.float64) + 20
    made = case([inp], [out], funcs, [plane], [plane / (plane**2).sum(axis=1, keepdims=True)])
    funcs[1].loops([(x, 4)])
    funcs[2].loops([(y, 3)])
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "square")] == ["y", "x"]
    after = made.run(p)
    assert after.elements["square"] == 13 * 10
    assert after.program_bytes == 8 * (3 + 2 * 3 + 3 * 4)


def test_rounding_that_nobody_allowed_is_refused() -> None:
    values, total = sl.BufferExpr("values", np.float32, 1), sl.BufferExpr("total", np.float32, 0)
    func = sl.reductions.sum(values[:], total[()])
    func.loops([(x, 64)])
    with pytest.raises(sl.AnnotationError) as caught:
        sl.build_pipeline([values], [total])
    assert caught.value.annotation == "loops([sl.loop(x, step=64)])"
    assert "sum gives other bits by pieces" in str(caught.value)


def test_a_dimension_of_the_outputs_goes_before_a_reduced_one_of_its_name() -> None:
    """A sum over columns, which the ready-made reductions call x, of which each row has a place called x."""
    inp, sums = sl.BufferExpr("inp", np.int64, 2), sl.BufferExpr("sums", np.int64, 1)
    func = sl.reductions.sum(inp[x, :], sums[x])
    func.loops([(x, 4)])
    p = sl.build_pipeline([inp], [sums])
    assert [step.split("(")[0] for step in str(p.history()).splitlines()[1:]] == ["p = sl.split_loop"]


def test_what_a_loop_over_pieces_cannot_be() -> None:
    made = row_sums()
    total: Any = made.funcs["total"]
    square: Any = made.funcs["square"]
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: total.loops([sl.loop(x, 4, workers=2)]), "x is reduced, each piece goes on from the one before"),
        (lambda: total.loops([sl.loop(x, 4, tail="cut")]), "a step alone, but tail was given"),
        (lambda: total.loops([sl.loop(x, 4, align=4)]), "a step alone, but align was given"),
        (lambda: total.loops([k]), "k is none of its dimensions, which are y, x (reduced)"),
        (lambda: square.loops([k]), "k is none of its dimensions, which are y, x"),
        (lambda: square.compute_at(total, k), "k is no dimension of func 'total', which has y, x (reduced)"),
    ]
    for attempt, words in wrong:
        with pytest.raises(sl.GraphError) as caught:
            attempt()
        assert words in str(caught.value)
    total.loops([(x, 4), y, (x, 2)])
    with pytest.raises(sl.AnnotationError, match="total_update does not say how it reduces"):
        made.build()


def test_the_graph_as_python_has_the_loops() -> None:
    made = row_sums()
    made.funcs["total"].loops([(y, 3), (x, 4)])
    assert 'p = sl.split_reduction(p, "total", "x", 4)' in str(made.build().history())
