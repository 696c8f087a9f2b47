"""Finding places: what is not there, funcs named like buffers, blocks, and patterns where an operation asks a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduled import stencils, weigh

import examples
import slinky as sl

GIVEN: list[sl.BlockCursor] = []


@sl.sched_op()
def look(p: sl.Pipeline, block: sl.BlockCursor) -> Any:
    """Note what the argument has become."""
    GIVEN.append(block)
    return p


def given(p: sl.Pipeline, block: Any) -> sl.BlockCursor:
    """What an operation gets that asks for a block."""
    look(p, block)
    return GIVEN.pop()


def named_alike() -> sl.Pipeline:
    """A func `mid` that produces the buffer `mid`, and is read in a loop `mid`."""
    (x,) = sl.variables("x")
    inp, mid, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "mid", "out"))
    sl.Func(weigh(0), [inp[x]], [mid[x]], name="mid")
    sl.Func(weigh(1), [mid[sl.interval(x - 1, x + 1)]], [out[x]], name="last")
    return sl.split_loop(sl.build_pipeline([inp], [out]), "last.x", 1)


def two_loops() -> sl.Pipeline:
    """Two funcs, each in a loop of its own."""
    return sl.split_loop(sl.split_loop(stencils(2), "s2.y", 4), "s1.y", 4, names="z")


# What is not there ----------------------------------------------------------------------------------------------------


def test_what_is_not_there_raises_in_a_place_as_in_a_pipeline() -> None:
    p = two_loops()
    loop = p.find("for z")
    assert loop.find_all("s2") == ()
    with pytest.raises(sl.PatternError) as caught:
        loop.find("s2")
    assert str(caught.value) == (
        "nothing matches 's2' in <LoopCursor for z in out.y.min - 1 .. out.y.max + 1 step 4:>; "
        "it has funcs: s1; loops: z"
    )
    with pytest.raises(sl.PatternError, match=r"^nothing matches 'for _' in <BlockCursor of 1 statement: .*funcs: s1$"):
        loop.body().find("for _")
    with pytest.raises(sl.PatternError, match=r"^nothing matches 's1' in <CheckCursor .*; it has nothing that has a n"):
        p.find("check _").find("s1")
    with pytest.raises(sl.PatternError, match=r"; s1 has the dimensions y, x$"):
        loop.find("s1.q")
    with pytest.raises(sl.PatternError, match=r"^nothing matches 's2.q' in <LoopCursor for z .*; it has funcs: s1; l"):
        loop.find("s2.q")


def test_nothing_is_found_where_there_are_no_statements() -> None:
    p = two_loops()
    loop = p.find("for z")
    places = [loop.before(), loop.expression("min"), p.args()[0]]
    for place, hint in zip(places, ("its parent() or anchor()", "the pipeline", "the pipeline"), strict=True):
        assert place.find_all("s1") == ()
        with pytest.raises(sl.PatternError) as caught:
            place.find("s1")
        assert str(caught.value) == f"nothing matches 's1' in {place!r}, which holds no statements; look in {hint}"
        assert place.find_all("s1 .. s2") == ()
        with pytest.raises(sl.PatternError, match=r"^nothing matches 's1 .. s2' in "):
            place.find("s1 .. s2")
        for find in (place.find, place.find_all):
            with pytest.raises(sl.PatternError, match="cannot understand the pattern 'for 1'"):
                find("for 1")
    nowhere: Any = loop.parent()
    assert nowhere.find("s1") is nowhere


# Funcs named like buffers ---------------------------------------------------------------------------------------------


def test_the_kind_that_is_asked_for_decides_what_a_name_means() -> None:
    p = named_alike()
    p, fused = sl.compute_at(p, "mid", "x", rc=True)
    assert (fused.call.describe(), fused.loop) == ("mid[x - 1 .. x + 1] = mid(inp[x - 1 .. x + 1])", p.find("for x"))
    p = sl.slide_window(p, "mid", "x")
    p = sl.fold_storage(p, "mid", "x")
    assert [str(fold) for fold in p.find("alloc mid").storage()] == ["3"]
    inp, out = np.arange(12, dtype=np.int32), np.zeros(10, np.int32)
    p.run(sl.Buffer(inp, min=(-1,)), out, checked=True)
    np.testing.assert_array_equal(out, inp[:-2] + 2 * inp[1:-1] + 3 * inp[2:])


def test_a_name_alone_that_means_several_things_lists_patterns_that_mean_one() -> None:
    p = named_alike()
    with pytest.raises(sl.PatternError) as caught:
        p.find("mid")
    assert str(caught.value) == ("the name 'mid' could mean several things: 'mid(_)' (1); 'alloc mid' (1); say which")
    with pytest.raises(sl.PatternError, match="could mean several things"):
        p.body().find("mid")
    with pytest.raises(sl.PatternError, match="could mean several things"):
        p.find_all("mid")
    assert isinstance(p.find("mid(_)"), sl.CallCursor)
    assert p.find_all("mid(_) #0") == p.find_all(" mid ( _ ) ") == (p.find("mid = _"),)
    assert isinstance(p.find("alloc mid"), sl.AllocCursor)


def test_a_name_that_means_several_things_but_none_of_the_kind() -> None:
    p = named_alike()
    with pytest.raises(sl.OperationError) as caught:
        sl.parallelize_loop(p, "mid")
    assert str(caught.value) == (
        "parallelize_loop: argument loop: expected a loop, but 'mid' matches <CallCursor mid[:] = mid(inp[:])>"
    )


# Blocks ---------------------------------------------------------------------------------------------------------------


def test_a_pattern_of_a_block() -> None:
    p = examples.two_branches()
    block = p.find("left .. r = _")
    assert [s.describe()[:7] for s in block] == ["l[:] = ", "alloc r", "r[:] = "]
    assert p.find("left..right") == block
    assert p.find("left .. left") == p.find("left").as_block()
    assert p.find("check _ #1 .. alloc _ #1") == p.body()[1:5]
    assert p.find_all("alloc _ .. _ = _") == (p.body()[2:4], p.body()[4:6])
    assert p.body()[3:].find("alloc _ .. join") == p.body()[4:]


def test_a_block_stands_in_one_block() -> None:
    p = two_loops()
    assert p.find("_ = _ .. for y").describe() == "of 4 statements from: b0[:, :] = add(inp[:, :])"
    assert p.find("for z").find("s1 .. s1") == p.find("for z").body()
    for pattern in ("for y .. for z", "add .. s1", "s1 .. s2"):
        first, last = pattern.split(" .. ")
        assert p.find_all(pattern) == ()
        with pytest.raises(sl.PatternError) as caught:
            p.find(pattern)
        assert str(caught.value) == (
            f"nothing matches {pattern!r} in pipeline stencils; "
            f"no {last!r} stands behind a {first!r} in the same block; "
            f"the first ones are {p.find(first)!r} and {p.find(last)!r}"
        )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("left .. ", "cannot understand the pattern ' '"),
        (".. left", "cannot understand the pattern ''"),
        ("left .. alloc r .. right", "cannot understand the pattern ' alloc r .. right'"),
        ("left.x .. right", "a block is from one statement to another, and 'left.x' is a dimension"),
        ("left .. wrong", "nothing matches 'wrong' in pipeline join; it has funcs: left, right, join; buffers: l, r"),
    ],
)
def test_patterns_of_blocks_that_mean_nothing(pattern: str, message: str) -> None:
    with pytest.raises(sl.PatternError) as caught:
        examples.two_branches().find(pattern)
    assert str(caught.value).startswith(message)


def test_patterns_where_an_operation_asks_a_block() -> None:
    p = examples.two_branches()
    assert given(p, "left") == p.find("left").as_block()
    assert given(p, "left .. right") == p.find("left .. right")
    for ends in (("left", "right"), [p.find("left"), "r = _"], ("l = _", p.find("right"))):
        assert given(p, ends) == p.find("left .. right")
    swapped = sl.reorder_statements(p, "left .. alloc r")
    assert swapped.same_program(sl.reorder_statements(p, ("left", "alloc r")))
    assert given(swapped, (p.find("alloc r"), "left")) == swapped.find("alloc r .. left")


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (("right", "left"), sl.OperationError, "expected a block, but <CallCursor l[:] = left(inp[:])> does not stand "
         "behind <CallCursor r[:] = right(inp[:])> in the same block"),
        (("left", "left.x"), sl.OperationError, "expected a statement, but 'left.x' matches <DimCursor left.x of: "),
        (("left", 3), sl.OperationError, "expected a statement or a pattern, got 3"),
        (("left",), sl.OperationError, "expected a block or a pattern, got ('left',)"),
        ("left.x", sl.OperationError, "expected a block, but 'left.x' matches <DimCursor left.x of: "),
        ("wrong", sl.PatternError, "nothing matches 'wrong' in pipeline join"),
        ("right .. left", sl.PatternError, "nothing matches 'right .. left' in pipeline join; no 'left' stands behind"),
    ],
)  # fmt: skip
def test_what_is_no_block(block: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        look(examples.two_branches(), block)
    assert str(caught.value).startswith(f"look: argument block: {message}")


def test_a_block_where_a_statement_is_asked() -> None:
    p = examples.two_branches()
    with pytest.raises(sl.OperationError, match=r"expected a call, but 'left .. right' matches <BlockCursor of 3 stat"):
        sl.compute_root(p, "left .. right")


def test_many_blocks_are_found_by_looking_at_each_end_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from slinky.cursors.versions import Version

    asked = [0]
    position = Version.position

    def counted(version: Version, identity: int) -> int:
        asked[0] += 1
        return position(version, identity)

    p = stencils(300)
    monkeypatch.setattr(Version, "position", counted)
    blocks = p.find_all("alloc _ .. _ = _")
    assert len(blocks) == 300
    assert asked[0] < 2000
    assert [len(block) for block in blocks] == [2] * 300
