"""Where a copy must be made: each condition of `alias_copy` and `split_boundary`, alone.

And what becomes of the limits of funcs that write past a copy, past a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from test_aliasing import IMAGE, OTHER, agree, buffers, negative, refusal, three_rows, x, y

import slinky as sl
from slinky.ir.copies import with_names


def unaliased(
    inputs: list[sl.BufferExpr], *outputs: sl.BufferExpr, require: Sequence[sl.Condition] = ()
) -> sl.Pipeline:
    return sl.build_pipeline(inputs, list(outputs), alias=False, require=require)


# Reading the source ---------------------------------------------------------------------------------------------------


def read_of(make: Callable[[sl.BufferExpr, sl.BufferExpr], object]) -> sl.Pipeline:
    """The negative of what a copy of an input gives."""
    a, t, b = buffers("a t b")
    make(a, t)
    negative(t, b, "negative")
    return unaliased([a], b)


def aligned(a: sl.BufferExpr, t: sl.BufferExpr) -> None:
    sl.copies.transpose(a, t, name="copy")
    t.alignment = 64


READING: dict[str, tuple[Callable[[sl.BufferExpr, sl.BufferExpr], object], str]] = {
    "rows that are repeated": (
        lambda a, t: sl.copies.copy(a[y // 2, x], t[y, x], name="copy"),
        "negative cannot be given t as a view of the source",
    ),
    "a layout": (aligned, "t has strides or an alignment that are asked for, which a has not"),
}


@pytest.mark.parametrize("case", READING)
def test_the_source_is_not_read(case: str) -> None:
    make, reason = READING[case]
    assert refusal(lambda: sl.alias_copy(read_of(make), "copy")) == reason


@pytest.mark.parametrize("known", ["first", "last", "both"])
def test_what_is_read_lies_within_both_edges(known: str) -> None:
    a, t, b = buffers("a t b", 1)
    sl.copies.copy(a[x], t[x], outside=5, name="copy")
    negative(t, b, "negative")
    first, last = a.dim(0).min <= b.dim(0).min, b.dim(0).max <= a.dim(0).max
    p = unaliased([a], b, require={"first": [first], "last": [last], "both": [first, last]}[known])
    if known == "both":
        assert str(sl.alias_copy(p, "copy")).endswith("  b[:] = negative(a[:])")
    else:
        reason = refusal(lambda: sl.alias_copy(p, "copy"))
        assert reason == "not shown that all that negative reads of t lies within the edges of a"


def test_a_part_of_what_is_read_is_no_source() -> None:
    a, b, t, out = buffers("a b t out")
    sl.copies.concatenate([a, b], t)
    negative(t, out, "negative")
    p = sl.split_boundary(unaliased([a, b], out), "concatenate")
    reason = refusal(lambda: sl.alias_copy(p, "concatenate #0"))
    assert reason == "t is written by others than concatenate, too"


def test_another_part_of_the_same_source_is_another_source() -> None:
    """Both parts read `a`, each at other places."""
    a, t, out = buffers("a t out")
    sl.copies.concatenate([a, a], t)
    negative(t, out, "negative")
    p = sl.split_boundary(unaliased([a], out), "concatenate")
    assert len({call._call.func for call in p.find_all("concatenate")}) == 2
    for number in range(2):
        reason = refusal(lambda n=number: sl.alias_copy(p, f"concatenate #{n}"))
        assert reason == "t is written by others than concatenate, too"


# Writing the target ---------------------------------------------------------------------------------------------------


def pairs() -> sl.Pipeline:
    """A func with two outputs, of which one is copied."""
    a, t, u, out = buffers("a t u out")
    sl.Func(lambda source, one, other: None, [a[y, x]], [t[y, x], u[y, x]], name="make")
    sl.copies.transpose(t, out, name="copy")
    return unaliased([a], out, u)


def whole_rows() -> sl.Pipeline:
    """Running sums of rows, which are computed whole, turned round."""
    a, t, out = buffers("a t out")
    sl.Func(lambda source, sums: np.cumsum(source, axis=1, out=sums), [a[y, x]], [t[y, x]], whole=[x], name="sums")
    sl.copies.flip(t, out, axes=1, name="copy")
    return unaliased([a], out)


def whole_pieces() -> sl.Pipeline:
    a, t, out = buffers("a t out")
    negative(a, t, "make")
    t.dim(1).multiple = 4
    sl.copies.transpose(t, out, name="copy")
    return unaliased([a], out)


def diagonal() -> sl.Pipeline:
    (a, t), (out,) = buffers("a t"), buffers("out", 1)
    negative(a, t, "make")
    sl.copies.copy(t[x, x], out[x], name="copy")
    return unaliased([a], out)


def with_a_layout() -> sl.Pipeline:
    a, t, out = buffers("a t out")
    negative(a, t, "make")
    t.alignment = 64
    sl.copies.transpose(t, out, name="copy")
    return unaliased([a], out)


def beyond_edges() -> sl.Pipeline:
    """Of rows that are computed, some lie beyond what a copy takes for the edges."""
    a, t, out, sums = buffers("a t out sums")
    t.dim(0).domain = sl.interval(0, 3)
    negative(a, t, "make")
    sl.copies.copy(t[y, x], out[y, x], outside=5, name="copy")
    sl.Func(three_rows, [t[sl.interval(y - 1, y + 1), x]], [sums[y, x]], name="rows")
    return unaliased([a], out, sums)


def more_than_its_part() -> sl.Pipeline:
    """Of rows that are computed, not all are part of an assembly."""
    a, t, u, out, sums = buffers("a t u out sums")
    negative(a, t, "make_t")
    negative(a, u, "make_u")
    sl.copies.concatenate([t, u], out, name="copy")
    sl.Func(three_rows, [t[sl.interval(y - 1, y + 1), x]], [sums[y, x]], name="rows")
    return sl.split_boundary(unaliased([a], out, sums), "copy")


def one_of_another() -> sl.Pipeline:
    """A stack of something and of what is made of it."""
    (a, t, u), (out,) = buffers("a t u"), buffers("out", 3)
    negative(a, t, "make")
    negative(t, u, "again")
    sl.copies.stack([t, u], out, name="copy")
    return sl.alias_copy(sl.split_boundary(unaliased([a], out), "copy"), "copy #1")


WRITING: dict[str, tuple[Callable[[], sl.Pipeline], str]] = {
    "a func with two outputs": (pairs, "make cannot write out as it is"),
    "whole rows, turned round": (whole_rows, "sums cannot write out as it is"),
    "whole pieces": (whole_pieces, "make computes whole pieces of t, which out may have not"),
    "some elements only": (diagonal, "elements of t do not stand for one of out each"),
    "a layout": (with_a_layout, "t has strides or an alignment that are asked for, which out has not"),
    "beyond the edges": (beyond_edges, "not shown that all of t lies within the edges that the copy has"),
    "more than a part": (
        more_than_its_part,
        "not shown that all of t has its place in what the copy writes of out",
    ),
    "who writes what he would read": (one_of_another, "again reads t, and writes out"),
}


IN_PLACE = "nor can out be written in its place: "


@pytest.mark.parametrize("case", WRITING)
def test_the_target_is_not_written(case: str) -> None:
    make, reason = WRITING[case]
    told = refusal(lambda: sl.alias_copy(make(), "copy #0" if "part" in case else "copy"))
    assert (
        told
        == f"out is an output of the pipeline, which must be written; nor can out be written in its place: {reason}"
    )


# What sees its buffers by views ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [sl.copies.transpose, sl.copies.flip])
def test_a_copy_of_an_input_that_writes_past_another_stays(turn: Callable[..., Any]) -> None:
    a, t, out = buffers("a t out")
    sl.copies.copy(a[y - 1, x], t[y, x], name="down")
    turn(t, out, name="turn")
    p = sl.alias_copy(unaliased([a], out), "turn")
    assert "view(out[:, :], [" in str(p)
    assert "]) = down(" in str(p)
    assert refusal(lambda: sl.alias_copy(p, "down")) == "out is an output of the pipeline, which must be written"


@pytest.mark.parametrize("turn", [sl.copies.transpose, sl.copies.flip])
def test_who_makes_the_source_of_a_copy_that_writes_past_another_writes_past_both(turn: Callable[..., Any]) -> None:
    a, s, t, out = buffers("a s t out")
    negative(a, s, "make")
    sl.copies.copy(s[y - 1, x], t[y, x], name="down")
    turn(t, out, name="turn")
    before = unaliased([a], out)
    p = sl.alias_copy(sl.alias_copy(before, "turn"), "down")
    assert [call.name() for call in p.find_all("_ = _")] == ["make"]
    image = sl.Buffer(np.arange(12).reshape(3, 4), min=(2, -1))
    expected = before(image)
    for how in ({}, {"backend": "interpreter"}, {"checked": True}):
        found = sl.Buffer.like(expected)
        assert p.run(image, found, **how).allocations == 0
        np.testing.assert_array_equal(found.array, expected.array)


def test_a_copy_whose_elements_writes_past_another_several_times_stays() -> None:
    """Of what is repeated, no element of the target stands for one of the source."""
    a, s, out = buffers("a s out")
    (line,) = buffers("line", 1)
    sl.Func(np.negative, [a[y, x]], [s[y, x]], name="make")
    sl.copies.copy(s[y, 0], line[y], name="first")
    sl.copies.copy(line[y], out[y, x], name="repeat")
    assert "do not stand for one" in refusal(lambda: sl.alias_copy(unaliased([a], out), "repeat"))


def test_a_copy_that_reads_past_another_is_not_split() -> None:
    a, t, u, out = buffers("a t u out")
    negative(a, t, "make")
    sl.copies.transpose(t, u)
    sl.copies.pad(u, out, 1, 1)
    p = sl.alias_copy(unaliased([a], out), "transpose")
    assert refusal(lambda: sl.split_boundary(p, "pad")) == "pad sees its buffers by views"


def test_a_copy_that_is_shown_to_copy_nothing_is_not_split() -> None:
    """All of its pieces would be left out, and with them who writes what others name."""
    (a,), (t, out) = buffers("a"), buffers("t out", 1)
    t.dim(0).min, t.dim(0).max = 3, 2
    sl.copies.copy(a[x, 0], t[x], outside=7, name="copy")
    sl.Func(lambda s, o: np.copyto(o, 5), [t[:]], [out[x]], name="fill")
    p = unaliased([a], out)
    assert refusal(lambda: sl.split_boundary(p, "copy")) == "copy is shown to copy nothing"


def with_two_buffers_of_one_name(outputs: int) -> sl.Pipeline:
    """A copy in one loop, of a buffer that has the name of another one in the loop where the copy is read."""

    def negatives(source: np.ndarray, *targets: np.ndarray) -> None:
        for target in targets:
            np.negative(source, out=target)

    a, s, more, t, u, out = buffers("a s more t u out", 1)
    sl.Func(negatives, [a[x]], [s[x], more[x]][:outputs], name="make")
    sl.copies.copy(s[x], t[x], name="copy")
    sl.Func(np.square, [a[x]], [u[x]], name="other")
    sl.Func(np.add, [t[x], u[x]], [out[x]], name="add")
    p = sl.split_loop(sl.split_loop(unaliased([a], out), "add.x", 2), "copy.x", 2)
    for func, loop in (("make", "for x #0"), ("other", "for x #1")):
        p, at = sl.compute_at(p, func, loop, rc=True)
        for alloc in at.allocs:
            p = sl.store_at(p, alloc, at.loop)
    edit = sl.edit(p)
    edit.replace("alloc u", attrs.evolve(edit.statement(p.find("alloc u")), buffer="s"))
    for func in ("other", "add"):
        edit.replace(func, with_names(edit.statement(p.find(func)), {"u": "s"}))
    return edit.finish("rename_a_buffer")


def test_a_reader_for_which_the_name_of_the_source_is_another_buffers() -> None:
    """It is buffers that are copied: their names may mean something else elsewhere."""
    p = with_two_buffers_of_one_name(1)
    assert len(p.find_all("alloc s")) == 2
    q = sl.alias_copy(p, "copy")
    assert q.find("make").outputs() == ("t",)
    assert q.find("add").inputs() == ("t", "s")
    agree(p, q, [np.arange(7)], [np.zeros(7, np.int64)])
    reason = refusal(lambda: sl.alias_copy(with_two_buffers_of_one_name(2), "copy"))
    assert (
        reason
        == "s is another buffer where add reads t; nor can t be written in its place: make cannot write t as it is"
    )


# Limits ---------------------------------------------------------------------------------------------------------------


LOWER, UPPER = "a.y.min <= y", "y <= a.y.max + b.y.max - b.y.min + 1"


@pytest.mark.parametrize(
    ("turn", "shape", "of_the_first", "of_the_second"),
    [
        (lambda v, w: sl.copies.transpose(v, w, name="turn"), (5, 7), LOWER, UPPER),
        (lambda v, w: sl.copies.flip(v, w, axes=0, name="turn"), (7, 5), UPPER, LOWER),
    ],
    ids=["transpose", "flip"],
)
def test_parts_are_parts_of_what_is_written_in_the_end(
    turn: Callable[[sl.BufferExpr, sl.BufferExpr], Any], shape: tuple[int, int], of_the_first: str, of_the_second: str
) -> None:
    """Each producer is limited along its own dimension, whichever that of the output is, and forward or backward."""
    a, b, t, u, v, out = buffers("a b t u v out")
    negative(a, t, "make_t")
    negative(b, u, "make_u")
    sl.copies.concatenate([t, u], v)
    turn(v, out)
    p = unaliased([a, b], out)
    q = sl.split_boundary(p, "concatenate")
    for _ in range(2):
        q = sl.alias_copy(q, "concatenate #0")
    q = sl.alias_copy(q, "turn")
    first, second = str(q).splitlines()[-2:]
    assert " = make_t(" in first
    assert first.endswith(f" where {of_the_first}")
    assert " = make_u(" in second
    assert second.endswith(f" where {of_the_second}")
    agree(p, q, [IMAGE, OTHER], [np.zeros(shape, np.int64)])


@pytest.mark.parametrize(("name", "limit"), [("make_t", "y <= a.y.max"), ("make_u", "a.y.max + 1 <= y")])
def test_an_output_is_written_by_parts_wherever_these_are_computed(name: str, limit: str) -> None:
    """In a loop over windows each producer is asked for rows that the other one gives."""
    a, b, t, u, out, sums = buffers("a b t u out sums")
    negative(a, t, "make_t")
    sl.Func(np.square, [b[y, x]], [u[y, x]], name="make_u")
    sl.copies.concatenate([t, u], out)
    sl.Func(three_rows, [out[sl.interval(y - 1, y + 1), x]], [sums[y, x]], name="rows")
    p = unaliased([a, b], out, sums)
    q = sl.split_boundary(p, "concatenate")
    for _ in range(2):
        q = sl.alias_copy(q, "concatenate #0")
    q, loops = sl.split_loop(q, "rows.y", 1, rc=True)
    q = sl.compute_at(q, name, loops.outer)
    assert f"] = {name}(" in str(q)
    assert f") where {limit}\n    sums[y, :] = rows(" in str(q)
    found = []
    for pipeline in (p, q):
        joined, summed = np.zeros((7, 5), np.int64), sl.Buffer(np.zeros((5, 5), np.int64), min=(1, 0))
        pipeline.run(IMAGE, OTHER, joined, summed, checked=True)
        found.append((joined, summed.array))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
