"""Cursors: kinds, navigation, patterns, printing, and equality."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scheduled import by_rows, stencil, stencils, weigh

import slinky as sl


@pytest.fixture
def p() -> sl.Pipeline:
    """The stencil by rows, slid and folded."""
    return by_rows(stencil())[0]


def with_an_if(p: sl.Pipeline) -> sl.Pipeline:
    """The program with its loop inside both branches of an `if`; built by hand, for no primitive makes one."""
    import attrs

    from slinky.ir.copies import with_fresh_identities
    from slinky.ir.statements import If
    from slinky.symbolic.expressions import metadata

    program = p.program
    loop = program.body[-1]
    choice = If(metadata("out", 1, "max") >= 100, (loop,), (with_fresh_identities(loop),))
    return sl.Pipeline(attrs.evolve(program, body=(*program.body[:-1], choice)))


# Kinds ----------------------------------------------------------------------------------------------------------------


def test_an_allocation(p: sl.Pipeline) -> None:
    alloc = p.find("alloc intm")
    assert isinstance(alloc, sl.AllocCursor)
    assert (alloc.name(), alloc.dims()) == ("intm", ("y", "x"))
    assert str(alloc.bounds("y")) == str(alloc.bounds(0)) == str(alloc.bounds(-2))
    assert [str(e) for e in alloc.shape()] == [
        "out.dim(0).max - out.dim(0).min + 3",
        "out.dim(1).max - out.dim(1).min + 3",
    ]
    assert [str(fold) for fold in alloc.storage()] == ["3", "None"]


def test_a_call(p: sl.Pipeline) -> None:
    call = p.find("stencil")
    assert isinstance(call, sl.CallCursor)
    assert (call.name(), call.func(), call.inputs(), call.outputs()) == ("stencil", "stencil", ("intm",), ("out",))
    assert [d.name() for d in call.dims()] == ["y", "x"]
    assert call.dim("x") == call.dim(1) == call.dims()[1]
    assert str(call.region("intm")[0]) == "y - 1 .. y + 1"
    assert str(call.region("out")[0]) == "y"
    with pytest.raises(sl.InvalidCursorError, match=r"does not touch buffer 'inp'; it touches out, intm"):
        call.region("inp")


def test_a_loop(p: sl.Pipeline) -> None:
    loop = p.find("for y")
    assert isinstance(loop, sl.LoopCursor)
    assert (loop.name(), str(loop.bounds()), str(loop.step()), loop.workers()) == (
        "y",
        "out.y.min - 2 .. out.y.max",
        "1",
        None,
    )
    assert [type(s) for s in loop.body()] == [sl.CallCursor, sl.CallCursor]


def test_an_if_and_its_two_blocks(p: sl.Pipeline) -> None:
    q = with_an_if(p)
    q.verify()
    choice = q.find("if _")
    assert isinstance(choice, sl.IfCursor)
    assert str(choice.condition()) == "100 <= out.dim(1).max"
    assert choice.body()[0].parent() == choice
    assert choice.orelse()[0] == q.find("for y #1")
    assert choice.orelse()[0].prev() == sl.InvalidCursor()
    assert str(choice.orelse()).count("\n> ") == 1
    gap = choice.after()
    assert gap.anchor() == choice
    assert str(gap).endswith("stencil(intm[y - 1 .. y + 1, :])\n>   (here)")


def test_a_check_and_an_absent_else() -> None:
    p = stencil()
    check = p.find("check _")
    assert isinstance(check, sl.CheckCursor)
    assert str(check.condition()) == "inp.dim(0).min <= out.dim(0).min - 1"
    assert repr(check) == "<CheckCursor check inp.y.min <= out.y.min - 1>"


def test_a_pass() -> None:
    (x,) = sl.variables("x")
    a, b = sl.BufferExpr("a", np.int32, 1), sl.BufferExpr("b", np.int32, 1)
    sl.Func(weigh(0), [a[x]], [b[x]], name="f")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [b]), "f.x", 1, rc=True)
    import attrs

    from slinky.ir.statements import Pass

    program = p.program
    q = sl.Pipeline(attrs.evolve(program, body=(*program.body, Pass())))
    assert isinstance(q.find("pass"), sl.PassCursor)
    assert repr(q.find("pass")) == "<PassCursor pass>"
    assert q.find("pass").prev().name() == loop.name()


def test_dimensions(p: sl.Pipeline) -> None:
    dim = p.find("stencil.x")
    assert isinstance(dim, sl.DimCursor)
    assert (dim.name(), dim.position(), str(dim.bounds())) == ("x", 1, "out.x.min..out.x.max")
    assert dim.call() == dim.parent() == p.find("stencil")
    with pytest.raises(sl.InvalidCursorError, match="func stencil has no dimension 'z'; its dimensions are y, x"):
        p.find("stencil").dim("z")
    with pytest.raises(sl.InvalidCursorError, match="has no dimension 2"):
        p.find("stencil").dim(2)
    with pytest.raises(sl.InvalidCursorError, match="has no dimension True"):
        p.find("stencil").dim(True)


def test_expressions(p: sl.Pipeline) -> None:
    loop, call, alloc = p.find("for y"), p.find("stencil"), p.find("alloc intm")
    assert [e.role() for e in loop.expressions()] == ["min", "max", "step"]
    assert [e.role() for e in call.expressions()] == ["y.min", "y.max", "x.min", "x.max"]
    assert [e.role() for e in alloc.expressions()] == ["y.min", "y.max", "x.min", "x.max", "y.fold"]
    assert [e.role() for e in p.find("check _").expressions()] == ["condition"]
    fold = alloc.expression("y.fold")
    assert isinstance(fold, sl.ExprCursor)
    assert (str(fold.value()), fold.parent(), fold.role()) == ("3", alloc, "y.fold")
    assert loop.expression("min").value() is loop.bounds().min
    assert isinstance(alloc.expression("x.fold"), sl.InvalidCursor)
    assert isinstance(loop.expression("nonsense"), sl.InvalidCursor)


def test_parameters() -> None:
    p, _, _ = by_rows(stencil(), sl.scalar("s"))
    assert [(a.kind(), a.name()) for a in p.args()] == [("input", "inp"), ("output", "out"), ("scalar", "s")]
    (x,) = sl.variables("x")
    a, b, c = sl.BufferExpr("a", np.int32, 1), sl.BufferExpr("b", np.int32, 1), sl.constant("c", [1, 2, 3])
    sl.Func(lambda *_: None, [a[x], c[:]], [b[x]], name="f")
    q = sl.build_pipeline([a], [b])
    assert [(arg.kind(), arg.name()) for arg in q.args()][-1] == ("constant", "c")
    assert isinstance(p.args()[0], sl.ArgCursor)


# Navigation -----------------------------------------------------------------------------------------------------------


def test_steps_along_a_block_and_between_blocks(p: sl.Pipeline) -> None:
    add, call, loop, alloc = p.find("add"), p.find("stencil"), p.find("for y"), p.find("alloc intm")
    assert add.next() == call
    assert call.prev() == add
    assert add.parent() == call.parent() == loop
    assert loop.prev() == alloc
    assert alloc.next() == loop
    assert alloc.prev(4) == p.find("check _ #0")
    assert p.find("check _").next(5) == loop


def test_steps_off_the_edge_lead_nowhere(p: sl.Pipeline) -> None:
    loop = p.find("for y")
    nowhere = loop.next()
    assert isinstance(nowhere, sl.InvalidCursor)
    assert not nowhere
    assert loop
    edges = [
        loop.parent(),
        loop.prev(6),
        loop.next(2),
        p.find("add").prev(),
        p.find("stencil").next(),
        p.body().parent(),
    ]
    assert all(isinstance(edge, sl.InvalidCursor) for edge in edges)
    assert all(edge == nowhere for edge in edges)


def test_nowhere_takes_every_step(p: sl.Pipeline) -> None:
    nowhere: Any = p.find("for y").next()
    steps = [
        nowhere.parent(), nowhere.next(), nowhere.prev(3), nowhere.before(), nowhere.after(), nowhere.body(),
        nowhere.orelse(), nowhere.as_block(), nowhere.expand(1, 2), nowhere.anchor(), nowhere.dim("y"), nowhere.call(),
        nowhere.expression("min"), nowhere.body()[0], nowhere.body()[1:], nowhere.find("for _"),
    ]  # fmt: skip
    assert all(step is nowhere for step in steps)
    assert list(nowhere) == []
    assert len(nowhere) == 0
    assert nowhere.find_all("for _") == ()
    assert not nowhere.is_ancestor_of(p.find("add"))
    assert (repr(nowhere), str(nowhere)) == ("<InvalidCursor>", "(no place)")
    with pytest.raises(sl.InvalidCursorError, match="stands for no place"):
        p.forward(nowhere)


def test_blocks_are_sequences(p: sl.Pipeline) -> None:
    body = p.body()
    assert len(body) == 6
    assert body[-1] == p.find("for y")
    assert list(body)[4] == body[4] == p.find("alloc intm")
    assert body[4:] == body[4].expand(after=1)
    assert body[:] == body
    assert list(body[1:3]) == [body[1], body[2]]
    for wrong in (6, -7):
        with pytest.raises(sl.InvalidCursorError, match=f"a block of 6 statements has no statement {wrong}"):
            body[wrong]
    for empty in (slice(2, 2), slice(7, 9), slice(0, 4, 2), slice(None, None, 0), slice(None, None, -1)):
        with pytest.raises(sl.InvalidCursorError, match="has no part slice"):
            body[empty]


def test_blocks_grow_as_far_as_there_are_statements(p: sl.Pipeline) -> None:
    loop = p.find("for y")
    block = loop.as_block()
    assert len(block) == 1
    assert block.as_block() == block
    assert block.expand(before=1) == loop.expand(before=1) == p.body()[4:]
    assert block.expand(100, 100) == p.body()
    assert block.expand() == block
    assert (block.before(), block.after()) == (loop.before(), loop.after())
    assert loop.body().parent() == loop


def test_gaps(p: sl.Pipeline) -> None:
    add = p.find("add")
    before, after = add.before(), add.after()
    assert isinstance(before, sl.GapCursor)
    assert (before.is_before(), after.is_before()) == (True, False)
    assert before.anchor() == after.anchor() == add
    assert before.parent() == add.parent()
    assert before != after
    assert after != add.next().before(), "a gap belongs to its anchor, not to the place alone"
    assert isinstance(p.find("for y").before().parent(), sl.InvalidCursor)


def test_what_lies_inside_what(p: sl.Pipeline) -> None:
    loop, add, alloc = p.find("for y"), p.find("add"), p.find("alloc intm")
    inside = [add, add.dim("y"), add.before(), add.as_block(), add.expression("y.min"), loop, loop.body()]
    assert all(loop.is_ancestor_of(place) for place in inside)
    assert not loop.is_ancestor_of(alloc)
    assert not add.is_ancestor_of(loop)
    assert p.body().is_ancestor_of(add)
    assert not loop.body().is_ancestor_of(loop)
    assert not loop.is_ancestor_of(p.args()[0])


# Patterns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("for y", ["for y in out.y.min - 2 .. out.y.max:"]),
        ("for _", ["for y in out.y.min - 2 .. out.y.max:"]),
        ("alloc _", ["alloc intm: int16[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]"]),
        ("intm", ["alloc intm: int16[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]"]),
        ("stencil", ["out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("intm = _", ["intm[y + 1, :] = add(inp[y + 1, :])"]),
        ("_(intm)", ["out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("_(inp)", ["intm[y + 1, :] = add(inp[y + 1, :])"]),
        ("_ = _", ["intm[y + 1, :] = add(inp[y + 1, :])", "out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("_(_)", ["intm[y + 1, :] = add(inp[y + 1, :])", "out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("_ = _ #1", ["out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("_ = _#0", ["intm[y + 1, :] = add(inp[y + 1, :])"]),
        ("  check  _  #  3 ", ["check out.x.max <= inp.x.max - 1"]),
        ("stencil.y", ["stencil.y of: out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("_.y #1", ["stencil.y of: out[y, :] = stencil(intm[y - 1 .. y + 1, :])"]),
        ("y", ["for y in out.y.min - 2 .. out.y.max:"]),
        ("for yy", []),
        ("for y #1", []),
        ("alloc out", []),
        ("if _", []),
        ("pass", []),
    ],
)
def test_patterns(p: sl.Pipeline, pattern: str, found: list[str]) -> None:
    assert [c.describe() for c in p.find_all(pattern)] == found
    if found:
        assert p.find(pattern).describe() == found[0]
    else:
        with pytest.raises(sl.PatternError, match="nothing matches"):
            p.find(pattern)


@pytest.mark.parametrize(
    "wrong", ["", " ", "for", "for y z", "y #", "y #-1", "y #1 #2", "f(x)", "a.b.c", "1", "for 1", "#1", "b = f"]
)
def test_patterns_that_are_not_understood(p: sl.Pipeline, wrong: str) -> None:
    message = "cannot understand the pattern" if wrong != "for" else "nothing matches"
    with pytest.raises(sl.PatternError, match=message):
        p.find(wrong)


def test_patterns_that_are_no_text(p: sl.Pipeline) -> None:
    with pytest.raises(sl.PatternError, match="a pattern is a text such as 'for y', got 3"):
        p.find(3)  # type: ignore[arg-type]
    with pytest.raises(sl.PatternError, match="the pattern '_' alone names no kind of statement"):
        p.find("_")


def test_a_pattern_that_finds_nothing_says_what_there_is(p: sl.Pipeline) -> None:
    with pytest.raises(sl.PatternError) as caught:
        p.find("blur")
    assert str(caught.value) == (
        "nothing matches 'blur' in pipeline stencil; it has funcs: add, stencil; buffers: intm; loops: y"
    )
    with pytest.raises(sl.PatternError) as caught:
        p.find("stencil.z")
    assert str(caught.value) == ("nothing matches 'stencil.z' in pipeline stencil; stencil has the dimensions y, x")


def func_like_a_buffer() -> sl.Pipeline:
    """A func `mid` that produces the buffer `mid`, and is read in a loop `mid`."""
    (x,) = sl.variables("x")
    inp, mid, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "mid", "out"))
    sl.Func(weigh(0), [inp[x]], [mid[x]], name="mid")
    sl.Func(weigh(1), [mid[sl.interval(x - 1, x + 1)]], [out[x]], name="last")
    return sl.build_pipeline([inp], [out])


def test_a_bare_name_that_means_several_things() -> None:
    p = func_like_a_buffer()
    with pytest.raises(sl.PatternError) as caught:
        p.find("mid")
    assert str(caught.value) == ("the name 'mid' could mean several things: 'mid(_)' (1); 'alloc mid' (1); say which")
    assert isinstance(p.find("alloc mid"), sl.AllocCursor)
    assert isinstance(p.find("mid = _"), sl.CallCursor)
    p = sl.split_loop(p, "last.x", 1)
    assert isinstance(sl.compute_at(p, "mid", "for x").find("mid.x"), sl.DimCursor), "a call is asked for, so it is one"


def test_patterns_find_inside_a_place() -> None:
    p = sl.split_loop(sl.split_loop(stencils(2), "s2.y", 4), "s1.y", 4, names="z")
    outer, other = p.find("for z"), p.find("for y")
    assert outer.find("_ = _").name() == "s1"
    assert other.find("_ = _").name() == "s2"
    assert outer.find("for _") == outer
    assert outer.body().find_all("for _") == ()
    assert [c.name() for c in p.body()[-3:].find_all("_ = _")] == ["s1", "s2"]
    assert outer.find("s1").find("s1.x") == p.find("s1.x")
    assert p.args()[0].find_all("s1") == ()
    with pytest.raises(sl.PatternError, match="cannot understand"):
        outer.find("for 1")


# Printing, equality ---------------------------------------------------------------------------------------------------


def test_print_a_statement_a_block_and_a_gap(p: sl.Pipeline) -> None:
    assert str(p.find("add")) == (
        "  pipeline stencil(inp: int16[2]) -> (out: int16[2]):\n"
        "    check inp.y.min <= out.y.min - 1\n"
        "    check out.y.max <= inp.y.max - 1\n"
        "    check inp.x.min <= out.x.min - 1\n"
        "    check out.x.max <= inp.x.max - 1\n"
        "    alloc intm: int16[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]\n"
        "    for y in out.y.min - 2 .. out.y.max:\n"
        ">     intm[y + 1, :] = add(inp[y + 1, :])\n"
        "      out[y, :] = stencil(intm[y - 1 .. y + 1, :])"
    )
    block = str(p.find("for y").body())
    assert [line for line in block.splitlines() if line.startswith(">")] == [
        ">     intm[y + 1, :] = add(inp[y + 1, :])",
        ">     out[y, :] = stencil(intm[y - 1 .. y + 1, :])",
    ]
    assert str(p.find("add").after()).splitlines()[-2:] == [
        ">     (here)",
        "      out[y, :] = stencil(intm[y - 1 .. y + 1, :])",
    ]
    assert str(p.find("for y").before()).splitlines()[-4] == ">   (here)"
    assert str(p.find("for y").after()).splitlines()[-1] == ">   (here)"


def test_print_a_dimension_an_expression_and_a_parameter(p: sl.Pipeline) -> None:
    call = p.find("stencil")
    assert str(call.dim("y")) == f"{call}\n(its dimension y)"
    assert str(call.expression("y.min")) == f"{call}\n(its y.min: y)"
    assert str(p.find("alloc intm").expression("y.max")).endswith("\n(its y.max: out.y.max + 1)")
    assert str(p.args()[0]).startswith("> pipeline stencil(inp: int16[2]) -> (out: int16[2]):\n    check ")


def test_print_shows_the_surroundings_of_a_long_program_only() -> None:
    p = stencils(20)
    lines = str(p.find("s10")).splitlines()
    assert lines[0] == "  pipeline stencils(inp: int16[2]) -> (out: int16[2]):"
    assert lines[1].startswith("    ... (")
    assert lines[-1].startswith("    ... (")
    assert len(lines) == 1 + 1 + 8 + 1 + 8 + 1
    assert sum(line.startswith(">") for line in lines) == 1


def test_repr_is_one_short_line(p: sl.Pipeline) -> None:
    call = p.find("stencil")
    expected = {
        call: "<CallCursor out[y, :] = stencil(intm[y - 1 .. y + 1, :])>",
        call.parent(): "<LoopCursor for y in out.y.min - 2 .. out.y.max:>",
        call.before(): "<GapCursor before: out[y, :] = stencil(intm[y - 1 .. y + 1, :])>",
        call.as_block(): "<BlockCursor of 1 statement: out[y, :] = stencil(intm[y - 1 .. y + 1, :])>",
        p.body(): "<BlockCursor of 6 statements from: check inp.y.min <= out.y.min - 1>",
        call.dim(0): "<DimCursor stencil.y of: out[y, :] = stencil(intm[y - 1 .. y + 1, :])>",
        call.parent().expression("min"): "<ExprCursor min = out.y.min - 2 of: for y in out.y.min - 2 .. out.y.max:>",
        p.args()[0]: "<ArgCursor input inp: int16[2]>",
    }
    assert {c: repr(c) for c in expected} == expected


def test_cursors_are_equal_if_they_mean_the_same_place_of_the_same_version(p: sl.Pipeline) -> None:
    one, two = p.find("add"), p.find("intm = _")
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two, p.find("stencil"), one.before(), one.as_block(), one.dim(0), one.dim("y")}) == 5
    later = sl.rename(p, "other")
    assert later.find("add") != one
    assert later.forward(one) == later.find("add")
    assert one != stencil().find("add")
    assert one != "add"
    assert sl.InvalidCursor() == sl.InvalidCursor()


def test_cursors_show_no_internal_nodes(p: sl.Pipeline) -> None:
    """What cursors answer is cursors, expressions, intervals, numbers and names."""
    from slinky.ir import statements

    nodes = tuple(c for c in vars(statements).values() if isinstance(c, type) and c.__module__ == statements.__name__)
    places = [
        p.find("alloc _"),
        p.find("add"),
        p.find("for _"),
        p.find("check _"),
        p.body(),
        p.find("add.y"),
        p.args()[0],
    ]
    for place in places:
        for name in dir(place):
            if not name.startswith("_") and name not in ("forward_to",):
                try:
                    answer = getattr(place, name)()
                except TypeError:
                    continue
                assert not isinstance(answer, nodes), name


def test_pipelines_and_cursors_never_change(p: sl.Pipeline) -> None:
    with pytest.raises(AttributeError, match="a pipeline never changes"):
        p.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        p.find("add")._id = 3


# Wrong use ------------------------------------------------------------------------------------------------------------


def test_an_invalid_cursor_has_nothing_of_a_place(p: sl.Pipeline) -> None:
    nowhere = p.find("stencil").next().next()
    asked = (
        "name",
        "bounds",
        "step",
        "func",
        "inputs",
        "outputs",
        "region",
        "regions",
        "dtype",
        "rank",
        "shape",
        "dims",
    )
    for name in (*asked, "storage", "text"):
        with pytest.raises(sl.InvalidCursorError, match=f"^an InvalidCursor stands for no place, so it has no {name};"):
            getattr(nowhere, name)()
        assert not hasattr(nowhere, name)


def test_counts_and_indices_are_integers(p: sl.Pipeline) -> None:
    loop = p.find("for y")
    wrong: Any = "a"
    for use, what in (
        (lambda: loop.next(wrong), "the distance"),
        (lambda: loop.prev(wrong), "the distance"),
        (lambda: loop.expand(wrong), "how far before"),
        (lambda: loop.expand(0, wrong), "how far after"),
        (lambda: p.body()[wrong], "the index into a block"),
        (lambda: p.body()[wrong:], "an end of a slice"),
    ):
        with pytest.raises(sl.OperationError, match=f"^{what} must be an integer, got 'a'$"):
            use()
    assert p.body()[np.int64(0)] == p.body()[0]


def test_a_block_never_shrinks_to_nothing(p: sl.Pipeline) -> None:
    loop, whole = p.find("for y"), p.body()
    assert whole.expand(-1, -1) == whole[1:-1]
    with pytest.raises(sl.InvalidCursorError, match="nothing is left of the block of 1 statement"):
        loop.expand(-1, 0)
    with pytest.raises(sl.InvalidCursorError, match="nothing is left of the block"):
        whole.expand(-len(whole), 0)


def test_names_of_all_alphabets_are_found() -> None:
    (é,) = sl.variables("é")
    inp, mid, out = (sl.BufferExpr(name, np.int32, 1) for name in ("вход", "βuffer", "出"))
    sl.Func(np.negative, [inp[é]], [mid[é]], name="минус")
    sl.Func(np.negative, [mid[é]], [out[é]], name="last")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "last.é", 4, rc=True)
    assert p.find("for é") == loop
    assert p.find("минус") == p.find("βuffer = _") == p.find("alloc βuffer").next()
    assert p.find("_(βuffer)") == loop.body()[0]
    assert str(p.find("минус.é")) == str(p.find("минус").dim("é"))
    q = sl.compute_at(p, "минус", "for é")
    source, target = np.arange(9, dtype=np.int32), np.zeros(9, np.int32)
    assert np.array_equal(q(source, target), source)


def test_a_copy_of_a_pipeline_is_the_pipeline(p: sl.Pipeline) -> None:
    p.compile()
    assert copy.copy(p) is copy.deepcopy(p) is p
    assert copy.deepcopy([p, p.find("for y")]) == [p, p.find("for y")]
