"""Blocks that use a copy of what they touch of a buffer."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from scheduled import by_rows, compare, picture, refusal, stencil, stencils
from test_calls import diamond
from test_primitives import same

import slinky as sl
from slinky.ir.copies import with_func, with_identity, with_interval, with_names, with_operands
from slinky.ir.operations import CopySource
from slinky.ir.statements import fresh_identity
from slinky.symbolic.intervals import Interval, point

y, x = sl.variables("y x")
OUT = sl.BufferExpr("out", np.int16, 2)


def agree(before: sl.Pipeline, after: sl.Pipeline, margin: int = 1, **scalars: int) -> None:
    """Both give the same for pictures of several sizes and places, checked and by plan."""
    for height, width, origin in ((7, 5, (0, 0)), (1, 1, (-3, 2)), (0, 4, (0, 0)), (5, 13, (-2, -7))):
        image, out = picture(height, width, margin, origin)
        compare(before, after, [image], [out], **scalars)


def test_what_a_block_reads_is_loaded() -> None:
    before = sl.split_loop(stencil(), "stencil.y", 4)
    p, (alloc, load, block, store) = sl.stage_buffer(before, "stencil", "intm", rc=True)
    same(
        p,
        """
        alloc intm: int16[out.y.min - 1 .. out.y.max + 1, out.x.min - 1 .. out.x.max + 1]
        intm[:, :] = add(inp[:, :])
        for y in out.y.min..out.y.max step 4:
          alloc intm_1: int16[y - 1 .. min(out.y.max + 1, y + 4), out.x.min - 1 .. out.x.max + 1]
          intm_1[:, :] = load(intm[:, :])
          out[y .. y + 3, :] = stencil(intm_1[y - 1 .. y + 4, :])
        """,
    )
    assert (alloc.name(), load.outputs(), block, bool(store)) == (
        "intm_1", ("intm_1",), p.forward(before.find("stencil")).as_block(), False
    )  # fmt: skip
    assert alloc.next() == load
    assert load.next() == block[0]
    assert str(p.history()).splitlines()[-1] == 'p = sl.stage_buffer(p, "stencil", "intm")'
    agree(before, p)


def test_what_a_block_writes_is_stored() -> None:
    before = sl.split_loop(stencil(), "stencil.y", 4)
    p, (alloc, load, block, store) = sl.stage_buffer(before, "stencil", "out", rc=True)
    assert str(p.find("for y").body()[:]) == str(p.find("for y").body())
    assert (alloc.name(), bool(load), store.inputs(), store.outputs()) == ("out_1", False, ("out_1",), ("out",))
    assert block[0].next() == store
    assert "out[y .. min(out.y.max, y + 3), :] = store(out_1[:, :])" in str(p)
    agree(before, p)
    q = sl.stage_buffer(before, "for y", "out")
    assert "out_1[y .. y + 3, :] = stencil(intm[y - 1 .. y + 4, :])" in str(q)
    assert str(q).endswith("  out[:, :] = store(out_1[:, :])")
    agree(before, q)


def test_what_a_block_writes_and_reads_is_not_loaded() -> None:
    before = sl.split_loop(stencil(), "stencil.y", 4)
    p, cursors = sl.stage_buffer(before, "add .. for y", "intm", rc=True)
    assert not cursors.load
    assert cursors.store.name() == "store"
    assert "intm[:, :] = store(intm_1[:, :])" in str(p)
    agree(before, p)
    q = sl.remove_call(p, "store")
    assert "intm[" not in str(q)
    assert q.find("alloc intm_1").name() == "intm_1"
    agree(before, q)


def test_of_a_window_that_slides_what_is_there_is_loaded() -> None:
    """And only the new row is stored."""
    p, loop, _ = by_rows(stencil())
    q, (alloc, load, _, store) = sl.stage_buffer(p, loop.body(), "intm", rc=True)
    assert str(load.region("intm")[0]) == "max(out.y.min - 1, y - 1) .. y"
    assert str(store.region("intm")[0]) == "y + 1"
    assert alloc.parent() == q.forward(loop)
    agree(p, q)
    for pattern, buffer in (("stencil", "intm"), ("add", "intm"), ("add", "inp"), ("stencil", "out")):
        agree(p, sl.stage_buffer(q, pattern, "intm_1" if buffer == "intm" else buffer))


def test_a_region_that_is_given() -> None:
    before = sl.split_loop(stencil(), "stencil.y", 4)
    rows, columns = OUT.dim(0), OUT.dim(1)
    whole = [sl.interval(rows.min - 1, rows.max + 1), sl.interval(columns.min - 1, columns.max + 1)]
    p = sl.stage_buffer(before, "for y", "intm", whole)
    assert "intm_1[:, :] = load(intm[:, :])\n  for y" in str(p)
    agree(before, p)
    assert "[sl.interval(" in str(p.history()).splitlines()[-1]
    k = sl.scalar("k")
    wide = [sl.interval(sl.minimum(rows.min - 1, k), rows.max + 1), whole[1]]
    assert refusal(lambda: sl.stage_buffer(before, "for y", "intm", wide)).startswith(
        "not shown that load finds all of"
    )
    in_loop = before.find("for y")._loop.variable
    tile = [sl.interval(in_loop - 1, sl.minimum(in_loop + 4, rows.max + 1)), whole[1]]
    assert str(sl.stage_buffer(before, "stencil", "intm", tile)) == str(sl.stage_buffer(before, "stencil", "intm"))


def test_what_is_staged_can_have_a_layout() -> None:
    before = sl.split_loop(stencil(), "stencil.y", 4)
    p = sl.set_layout(sl.stage_buffer(before, "stencil", "intm"), "alloc intm_1", ["x", "y"])
    agree(before, p)


def test_iterations_that_run_at_the_same_time_have_copies_of_their_own() -> None:
    before = sl.split_loop(stencil(), "stencil.y", 2)
    for buffer in ("intm", "out"):
        p = sl.parallelize_loop(sl.stage_buffer(before, "stencil", buffer), "for y")
        agree(before, p)
        agree(before, sl.stage_buffer(sl.parallelize_loop(before, "for y"), "stencil", buffer))
    outside = sl.stage_buffer(sl.parallelize_loop(before, "for y"), "for y", "out")
    agree(before, outside)


def test_a_copy_that_is_read_past_is_gone() -> None:
    """`alias_copy` undoes what only loads, and what only stores."""
    before = sl.split_loop(stencil(), "stencil.y", 4)
    assert str(sl.alias_copy(sl.stage_buffer(before, "stencil", "intm"), "load")) == str(before)
    p = sl.alias_copy(sl.stage_buffer(before, "for y", "out"), "store")
    assert "alloc out_1" not in str(p)
    agree(before, p)
    slid, loop, _ = by_rows(stencil())
    both = sl.stage_buffer(slid, loop.body(), "intm")
    assert "load reads intm, and writes intm_1" in refusal(lambda: sl.alias_copy(both, "store"))


def test_constants_and_what_has_no_dimensions() -> None:
    table = sl.constant("table", np.array([3, 1, 4, 1, 5]))
    out, sums = sl.BufferExpr("out", np.int64, 1), sl.BufferExpr("sums", np.int64, 0)
    sl.Func(lambda t, o: np.copyto(o, t.sum()), [table[:]], [sums[()]], name="sum")
    sl.Func(lambda s, t, o: np.copyto(o, t[: len(o)] + s), [sums[()], table[x]], [out[x]], name="add")
    p = sl.build_pipeline([], [out])
    q = sl.stage_buffer(sl.stage_buffer(p, "sum .. add", "table"), "add", "sums")
    assert "load(table[" in str(q)
    assert "sums_1[] = load_1(sums[])" in str(q)
    expected, found = np.zeros(4, np.int64), np.zeros(4, np.int64)
    p(expected)
    q.run(found, checked=True)
    np.testing.assert_array_equal(found, expected)


def test_of_what_a_block_writes_in_part_the_rest_is_loaded() -> None:
    before = diamond()
    p = sl.cut_call(sl.cut_call(before, "start.x", 3), "start.x #1", 6)
    q = sl.stage_buffer(p, "start #1 .. near = _", "low")
    assert str(q.find("load").region("low")[0].min) == "out.dim(0).min - 1"
    assert q.find("store").region("low")[0].min == q.find("start #1").region("low_1")[0].min
    for extent in (0, 1, 5, 11):
        data = sl.Buffer(np.arange(20), min=(-3,))
        expected, found = (sl.Buffer(np.zeros(extent, np.int64), min=(-1,)) for _ in range(2))
        before(data, expected)
        q.run(data, found, checked=True)
        np.testing.assert_array_equal(found.array, expected.array)


def test_a_loop_over_a_dimension_without_a_name_has_one() -> None:
    a, out = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("out", np.int64, 0)
    sl.Func(lambda s, o: np.copyto(o, s.sum()), [a[sl.interval(0, 9)]], [out[()]], name="sum")
    p = sl.split_loop(sl.stage_buffer(sl.build_pipeline([a], [out]), "sum", "a"), "load.d0", 3)
    assert "for d0 in 0..9 step 3:\n    a_1[d0 .. d0 + 2] = load(a[d0 .. d0 + 2])" in str(p)
    found = np.zeros((), np.int64)
    p.run(np.arange(10), found, checked=True)
    assert found == 45


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_stage_buffer_refuses() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 4)
    assert refusal(lambda: sl.stage_buffer(p, "stencil", "inp")) == "the block neither reads nor writes inp"
    assert refusal(lambda: sl.stage_buffer(p, "stencil", "nothing")) == (
        "there is no buffer 'nothing' where the block begins"
    )
    assert refusal(lambda: sl.stage_buffer(p, "alloc intm .. add", "intm")) == (
        "there is no buffer 'intm' where the block begins"
    )
    for region in (3, [3, 4], [sl.interval(0, 3)]):
        with pytest.raises(sl.OperationError, match=r"the region must be a list of 2 intervals, such as sl\.interval"):
            sl.stage_buffer(p, "stencil", "intm", region)  # type: ignore[arg-type]
    with pytest.raises(sl.OperationError, match="the region names unknown"):
        sl.stage_buffer(p, "stencil", "intm", [sl.interval(0, sl.variables("unknown")[0])] * 2)
    with pytest.raises(sl.OperationError, match="the buffer to stage is given by its name, got 3"):
        sl.stage_buffer(p, "stencil", 3)  # type: ignore[arg-type]


def test_a_region_that_is_too_small() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 4)
    rows, columns = OUT.dim(0).bounds, OUT.dim(1).bounds
    assert refusal(lambda: sl.stage_buffer(p, "for y", "intm", [rows, columns])).startswith(
        "stencil does not find all of intm_1["
    )
    top = sl.interval(rows.min, rows.min)
    assert refusal(lambda: sl.stage_buffer(p, "for y", "out", [top, columns])).startswith("store does not find all of")


def test_only_copies_to_the_same_coordinates_pass() -> None:
    """A load that is shifted, limited, or goes to what stands for nothing, gives other values."""
    p = sl.stage_buffer(sl.split_loop(stencil(), "stencil.y", 4), "stencil", "intm")
    load = p.find("load")._call

    def with_operation(**changes: Any) -> Any:
        return attrs.evolve(load.func, operation=attrs.evolve(load.func.operation, **changes))

    (source,) = load.func.operation.sources
    dims = load.func.operation.dims
    shifted = CopySource((dims[0] + 1, dims[1]), source.edges, source.boundaries)
    limited = CopySource(source.index, (point(3), None), source.boundaries)
    forged = [with_operation(sources=(s,)) for s in (shifted, limited)]
    forged += [with_operation(fill=3), with_operation(implementation=lambda a, b: None), with_operation()]
    for func in forged:
        edit = sl.edit(p)
        edit.replace("load", with_func(load, func))
        assert "would give intm_1 other values" in refusal(edit.finish)
    edit = sl.edit(p)
    edit.replace("load", with_operands(load, ("inp",), load.writes))
    assert "would give intm_1 other values" in refusal(edit.finish)
    edit = sl.edit(p)
    alloc = edit.copy("alloc intm_1")[0]
    edit.insert(p.find("load").before(), attrs.evolve(alloc, id=alloc.id + 10**9))
    edit.replace("stencil", with_names(edit.statement("stencil"), {"intm_1": alloc.buffer}))
    assert "would give out other values" in refusal(edit.finish)


def test_programs_of_several_stages() -> None:
    p = sl.split_loop(stencils(3), "s3.y", 3)
    for call in ("s2", "s1", "add"):
        p = sl.compute_at(p, call, "for y")
    before = p
    for block, buffer in (("s1 .. s2", "b1"), ("add", "inp"), ("s3", "out"), ("s2 .. s3", "b2")):
        p = sl.stage_buffer(p, block, buffer)
    agree(before, p, margin=3)


def two_outputs_of_which_one_is_stored() -> sl.Pipeline:
    """`f` writes `b` and `c` by way of copies, the end of `c` alone directly, and what it has to do for that twice."""
    (i,) = sl.variables("i")
    a, b, c, o = (sl.BufferExpr(name, np.int64, 1) for name in "abco")

    def f(source: np.ndarray, more: np.ndarray, most: np.ndarray) -> None:
        np.add(source, 1, out=more)
        np.multiply(source, 10, out=most)

    sl.Func(f, [a[i]], [b[i], c[i]], name="f")
    sl.Func(np.add, [b[i], c[i]], [o[i]])
    p = sl.cut_call(sl.build_pipeline([a], [o]), "f.i", 3)
    first, second = p.find_all("f")
    edit = sl.edit(p)
    one, other = edit.statement(first), edit.statement(second)
    edit.replace(first, with_interval(one, 0, Interval(one.box[0].min, other.box[0].max)))
    p = sl.stage_buffer(sl.stage_buffer(edit.finish("compute_all"), first, "b"), first, "c")
    return sl.remove_call(sl.cut_call(p, "store_1.i", 3), "store_1 #1")


def test_a_store_that_moves_ends_no_call_of_which_others_need_another_output() -> None:
    """`compute_root` ends all who write what the call writes; one that writes more may be missed."""
    p = two_outputs_of_which_one_is_stored()
    assert "does not find all of c[" in refusal(lambda: sl.compute_root(p, "store"))
    assert len(sl.compute_root(p, "f").find_all("f")) == 2


def test_an_output_that_nobody_else_writes_is_missed_too() -> None:
    """The same of an output of the pipeline, which no call reads."""
    (i,) = sl.variables("i")
    a, b, c, o = (sl.BufferExpr(name, np.int64, 1) for name in "abco")
    sl.Func(lambda s, m, n: (np.add(s, 1, out=m), np.multiply(s, 10, out=n)), [a[i]], [b[i], c[i]], name="f")
    sl.Func(np.negative, [b[i]], [o[i]])
    p = sl.build_pipeline([a], [o, c])
    edit = sl.edit(p)
    (call,) = p.find_all("f")
    edit.insert(call.after(), with_identity(edit.statement(call), fresh_identity()))
    p = sl.stage_buffer(edit.finish("compute_twice"), "f #0", "b")
    p = sl.stage_buffer(p, "f #0", "c")
    p = sl.remove_call(p, "store_1")
    assert "output c" in refusal(lambda: sl.compute_root(p, "store"))
