"""The records of cursors that operations return: what they hold, in which order, and how they are asked."""

from __future__ import annotations

from typing import Any

import pytest

import examples
import slinky as sl


def two_outputs(*others: str) -> sl.Pipeline:
    """A func with outputs a and b, both read by one that is split by x; a, b or both may be outputs of the pipeline."""
    x = sl.variables("x")[0]
    inp, a, b, out = (sl.BufferExpr(name, "int32", 1) for name in ("inp", "a", "b", "out"))
    sl.Func(lambda source, one, two: None, [inp[x]], [a[x], b[x]], name="both")
    sl.Func(lambda one, two, target: None, [a[sl.interval(x - 1, x)], b[x]], [out[x]], name="join")
    named = {"a": a, "b": b}
    return sl.split_loop(sl.build_pipeline([inp], [*(named[name] for name in others), out]), "join.x", 1)


# What the primitives return -------------------------------------------------------------------------------------------


def test_operations_on_a_call_return_its_allocs_the_loop_and_the_call() -> None:
    p = two_outputs()
    for operation in (sl.compute_at, sl.slide_window):
        p, record = operation(p, "both", "for x", rc=True)
        assert record.fields() == ("allocs", "loop", "call")
        assert record.allocs == (p.find("alloc a"), p.find("alloc b"))
        assert (record.loop, record.call) == (p.find("for x"), p.find("both"))
    p, record = sl.compute_root(p, record.call, rc=True)
    assert record.fields() == ("allocs", "call")
    assert record.allocs == (p.find("alloc a"), p.find("alloc b"))
    assert record.call == p.find("both")


def test_operations_on_an_alloc_return_the_loop_and_the_alloc() -> None:
    p = sl.compute_at(two_outputs(), "both", "for x")
    p, record = sl.store_at(p, "alloc b", "for x", rc=True)
    assert record.fields() == ("loop", "alloc")
    assert (record.loop, record.alloc) == (p.find("for x"), p.find("alloc b"))


def test_an_output_of_the_pipeline_has_no_allocation() -> None:
    p, record = sl.compute_at(two_outputs("a", "b"), "both", "for x", rc=True)
    assert record.allocs == ()
    assert isinstance(record.alloc, sl.InvalidCursor)
    p, record = sl.compute_at(two_outputs("a"), "both", "for x", rc=True)
    assert record.allocs == (p.find("alloc b"),)
    assert record.alloc == p.find("alloc b")


def test_what_is_returned_stands_in_program_order() -> None:
    p = sl.compute_at(two_outputs(), "both", "for x")
    p = sl.reorder_statements(p, p.find("alloc a").expand(after=1))
    p, record = sl.slide_window(p, "both", "for x", rc=True)
    assert [cursor.describe().split(":")[0] for cursor in (*record.allocs, record.loop, record.call)] == [
        "alloc b",
        "alloc a",
        "for x in out.x.min - 1 .. out.x.max",
        "a[x], b[x] = both(inp[x])",
    ]


# Asking a record ------------------------------------------------------------------------------------------------------


def test_the_singular_of_a_tuple_asks_for_its_only_cursor() -> None:
    p, fused = sl.compute_at(two_outputs(), "both", "for x", rc=True)
    with pytest.raises(sl.PatternError, match=r"^ComputeAtCursors has 2 allocs, so none is 'the' alloc: .*alloc a: "):
        _ = fused.alloc
    with pytest.raises(sl.PatternError, match="2 allocs"):
        _ = fused["alloc"]
    p, fused = sl.compute_at(sl.split_loop(examples.blur(), "blur.x", 8), "scale", "for x", rc=True)
    assert fused.alloc == fused.allocs[0] == fused["alloc"] == p.find("alloc scaled")


def test_index_by_position_name_and_slice() -> None:
    _, record = sl.split_loop(examples.blur(), "blur.x", 8, rc=True)
    outer, inner, tail = record
    assert record["outer"] == record[0] == record[-3] == outer
    assert record["inner"] == inner
    assert not record["tail"]
    assert record[:2] == (outer, inner)
    assert record[::-1] == (tail, inner, outer)
    assert record[5:] == ()


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("outre", "SplitLoopCursors has no cursor 'outre'; it has outer, inner, tail"),
        (3, "SplitLoopCursors has no cursor 3; it has outer, inner, tail"),
        (-4, "SplitLoopCursors has no cursor -4; it has outer, inner, tail"),
        (1.0, "SplitLoopCursors is indexed by a position, a name or a slice, got 1.0"),
        (None, "SplitLoopCursors is indexed by a position, a name or a slice, got None"),
        (slice(0, 2, 0), "SplitLoopCursors has no part slice(0, 2, 0): slice step cannot be zero"),
        (
            slice("outer", "tail"),
            "SplitLoopCursors has no part slice('outer', 'tail', None): "
            "slice indices must be integers or None or have an __index__ method",
        ),
    ],
)
def test_a_cursor_that_a_record_does_not_have(index: Any, message: str) -> None:
    _, record = sl.split_loop(examples.blur(), "blur.x", 8, rc=True)
    with pytest.raises(sl.SlinkyError) as caught:
        _ = record[index]
    assert str(caught.value) == message
    assert isinstance(caught.value, LookupError if isinstance(index, (str, int)) else TypeError)


def test_an_attribute_that_a_record_does_not_have() -> None:
    _, record = sl.split_loop(examples.blur(), "blur.x", 8, rc=True)
    assert not hasattr(record, "loop")
    with pytest.raises(sl.InvalidCursorError, match="SplitLoopCursors has no cursor 'loop'; it has outer, inner, tail"):
        _ = record.loop
    _, nothing = sl.simplify(examples.blur(), rc=True)
    assert (len(nothing), tuple(nothing), nothing[:]) == (0, (), ())
    with pytest.raises(sl.PatternError, match="SimplifyCursors has no cursor 0; it has none"):
        _ = nothing[0]
