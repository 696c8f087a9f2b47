"""The second judge finds what is wrong: programs made wrong by hand, one kind of fault each."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import handmade
import numpy as np
import pytest
import second_judge
from handmade import add_1, at, by_rows, out_x, out_y, over, row, stencil, wide_x, with_body
from hypothesis import given
from hypothesis import strategies as st
from judge_evaluation import evaluation, metadata_key, scalar_key, symbol_key, symbols_of
from judge_geometry import mixed, stir, weight
from judge_running import MOST_CALLS, ORDERS, Run
from judge_scripts import Step, script_of
from judge_sizes import holds, sizes_of, top_checks
from random_graphs import Graph, build, graphs, image_graphs
from second_judge import (
    TALLY,
    Outcome,
    WrongRewriteError,
    judge,
    no_fewer_elements,
    no_more_elements,
    others_in_other_pieces,
    same_taken_in,
    same_taken_out,
)

import slinky as sl
from slinky.cursors.editing import Edit
from slinky.ir.operations import Callback
from slinky.ir.statements import Alloc, Call, Check, For, If, Program, Statement
from slinky.symbolic.expressions import as_expr, maximum, metadata, variable
from slinky.symbolic.intervals import Interval, point

y, x = sl.variables("y x")
a_x = sl.BufferExpr("a", np.float64, 2).dim(1)


def changed(p: sl.Pipeline, change: Callable[[Statement], Statement], *, inside: bool = True) -> sl.Pipeline:
    """A pipeline with other statements, one for each; inside loops, too."""

    def of(statement: Statement) -> Statement:
        if inside and isinstance(statement, For):
            statement = attrs.evolve(statement, body=tuple(map(of, statement.body)))
        return change(statement)

    return sl.Pipeline(attrs.evolve(p.program, body=tuple(map(of, p.program.body))))


def change_call(p: sl.Pipeline, name: str, change: Callable[[Call], Statement]) -> sl.Pipeline:
    """A pipeline with another call of a func."""
    return changed(p, lambda s: change(s) if isinstance(s, Call) and s.func.name == name else s)


def change_func(p: sl.Pipeline, name: str, **fields: Any) -> sl.Pipeline:
    """A pipeline with another func."""
    return change_call(p, name, lambda call: attrs.evolve(call, func=attrs.evolve(call.func, **fields)))


def rebound(p: sl.Pipeline, name: str, *buffers: str) -> sl.Pipeline:
    """A pipeline in which a call reads other buffers."""
    return change_call(p, name, lambda call: attrs.evolve(call, reads=buffers))


def halves() -> sl.Pipeline:
    """Two branches, `left - right`."""
    names = ("inp", "other", "left", "right", "out")
    inp, other, left, right, out = (sl.BufferExpr(name, np.int64, 1) for name in names)
    sl.Func(add_1, [inp[x]], [left[x]], name="to_left")
    sl.Func(add_1, [other[x]], [right[x]], name="to_right")
    sl.Func(np.subtract, [left[x], right[x]], [out[x]], name="minus")
    return sl.build_pipeline([inp, other], [out])


def scaled() -> sl.Pipeline:
    """A func with an argument, and one that computes a dimension whole."""
    inp, soft, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "soft", "out"))
    factor = sl.scalar("factor")
    sl.Func(lambda a, b: None, [inp[y, x]], [soft[y, x]], name="softmax", whole=["x"])
    sl.Func(lambda a, b, factor: None, [soft[y, x]], [out[y, x]], name="scale", arguments={"factor": factor})
    return sl.build_pipeline([inp], [out])


def tiled(body: Callable[[Call, Call, Alloc], tuple[Statement, ...]], workers: int | None = None) -> sl.Pipeline:
    """The stencil by rows, with a body of its calls and the allocation; each row's window is computed by itself."""
    program = stencil().program
    calls = handmade.calls_of(program)
    window = over(calls["add"], (at(row - 1, row + 1), wide_x))
    line = over(calls["stencil"], (at(row), out_x))
    statements = body(window, line, handmade.alloc(program))
    loop = For(row, out_y, as_expr(1), handmade.mode(workers), statements)
    is_inside = any(isinstance(s, Alloc) for s in statements)
    return with_body(program, (loop,) if is_inside else (handmade.alloc(program), loop))


def swapped(p: sl.Pipeline) -> sl.Pipeline:
    """The last two statements swapped."""
    *rest, first, second = p.program.body
    return sl.Pipeline(attrs.evolve(p.program, body=(*rest, second, first)))


def transposed(p: sl.Pipeline) -> sl.Pipeline:
    """The output of the adder as if its dimensions were swapped."""
    outputs = tuple(attrs.evolve(o, dims=o.dims[::-1]) for o in handmade.calls_of(p.program)["add"].func.outputs)
    return change_func(p, "add", outputs=outputs)


def without_checks(p: sl.Pipeline) -> sl.Pipeline:
    """The program without its first check."""
    return sl.Pipeline(attrs.evolve(p.program, body=p.program.body[1:]))


def with_statement(p: sl.Pipeline, statement: Statement) -> sl.Pipeline:
    """One more statement at the end."""
    return sl.Pipeline(attrs.evolve(p.program, body=(*p.program.body, statement)))


def part_of(call: Call, d: int, interval: Interval) -> Call:
    """A call over another interval of one dimension."""
    return attrs.evolve(call, box=tuple(interval if k == d else i for k, i in enumerate(call.box)))


def the_call(p: sl.Pipeline, name: str) -> Call:
    """The call of a func."""
    return next(s for s in p.program.body if isinstance(s, Call) and s.func.name == name)


UNWRITTEN = "which nothing has written"
TAKEN = "whose place another element has taken"
ELEMENT = "an element of output out is not what it was"

WRONG: dict[str, tuple[Callable[[], sl.Pipeline], Callable[[sl.Pipeline], sl.Pipeline], str]] = {
    "a producer computes too little": (
        stencil, lambda p: change_call(p, "add", lambda c: part_of(c, 0, at(out_y.min, out_y.max + 1))), UNWRITTEN),
    "an output is not written in full": (
        stencil, lambda p: change_call(p, "stencil", lambda c: part_of(c, 1, at(out_x.min, out_x.max - 1))), ELEMENT),
    "an output is written where it was not": (
        lambda: change_call(stencil(), "stencil", lambda c: part_of(c, 1, at(out_x.min + 1, out_x.max))),
        lambda p: change_call(p, "stencil", lambda c: part_of(c, 1, out_x)), ELEMENT),
    "a fold is too small": (stencil, lambda p: by_rows(fold=2), TAKEN),
    "a fold is zero": (stencil, lambda p: by_rows(fold=0), "is folded by"),
    "statements are swapped": (stencil, swapped, UNWRITTEN),
    "the warm-up is missing": (stencil, lambda p: by_rows(start=-1), UNWRITTEN),
    "a window slides too far": (stencil, lambda p: by_rows(produced=at(row + 2)), TAKEN),
    "a loop takes steps that are too long": (
        by_rows, lambda p: changed(p, lambda s: attrs.evolve(s, step=as_expr(2)) if isinstance(s, For) else s),
        UNWRITTEN),
    "a step is zero": (
        by_rows, lambda p: changed(p, lambda s: attrs.evolve(s, step=as_expr(0)) if isinstance(s, For) else s),
        "the step of loop row is 0"),
    "the wrong operand": (halves, lambda p: rebound(p, "minus", "left", "left"), ELEMENT),
    "operands exchanged": (halves, lambda p: rebound(p, "minus", "right", "left"), ELEMENT),
    "an input for another": (halves, lambda p: rebound(p, "to_left", "other"), ELEMENT),
    "another callback": (stencil, lambda p: change_func(p, "add", operation=Callback(lambda a, b: None)), ELEMENT),
    "another argument": (
        scaled, lambda p: change_func(p, "scale", operation=attrs.evolve(
            the_call(p, "scale").func.operation, arguments=(("factor", sl.scalar("factor") + 1),))), ELEMENT),
    "another region is read": (
        stencil,
        lambda p: change_func(p, "add", inputs=tuple(
            attrs.evolve(i, box=(i.box[0], Interval(i.box[1].min, i.box[1].max + 1)))
            for i in handmade.calls_of(p.program)["add"].func.inputs)),
        "outside of its bounds"),
    "dimensions of an output exchanged": (stencil, transposed, UNWRITTEN),
    "an allocation that is too small": (
        stencil,
        lambda p: changed(p, lambda s: attrs.evolve(s, box=(s.box[0], out_x)) if isinstance(s, Alloc) else s),
        "outside of its bounds"),
    "an allocation inside the loop whose window slides": (
        stencil, lambda p: tiled(lambda add, line, alloc: (alloc, part_of(add, 0, at(row + 1)), line)), UNWRITTEN),
    "iterations in parallel that need each other": (stencil, lambda p: by_rows(fold=None, workers=0), UNWRITTEN),
    "iterations in parallel that share a folded buffer": (
        lambda: tiled(lambda window, line, alloc: (window, line)),
        lambda p: sl.Pipeline(attrs.evolve(
            tiled(lambda window, line, alloc: (window, line), workers=2).program,
            body=tuple(attrs.evolve(s, folds=(as_expr(3), None)) if isinstance(s, Alloc) else s
                       for s in tiled(lambda window, line, alloc: (window, line), workers=2).program.body))),
        "which another iteration has written"),
    "iterations in parallel that write the same": (
        lambda: tiled(lambda window, line, alloc: (window, line)),
        lambda p: tiled(lambda window, line, alloc: (window, line), workers=2),
        r"writes intm\[.*\], which another iteration has written"),
    "a part of a dimension that is computed whole": (
        scaled, lambda p: change_call(p, "softmax", lambda c: part_of(c, 1, at(c.box[1].min, c.box[1].max - 1))),
        "computes a part of dimension"),
    "a condition that holds sometimes": (
        stencil, lambda p: change_call(p, "stencil", lambda c: If(out_y.min <= 0, (c,))), ELEMENT),
    "a later write over what was right": (
        stencil, lambda p: with_statement(p, attrs.evolve(
            the_call(p, "stencil"), func=attrs.evolve(the_call(p, "stencil").func, name="again"))), ELEMENT),
    "a check dropped": (stencil, without_checks, "the check .* is gone"),
    "a check that fails": (
        stencil, lambda p: with_statement(p, Check(out_y.min >= 100, "as nobody asked")), "its check .* fails"),
    "a division by zero": (
        stencil, lambda p: change_call(p, "add", lambda c: part_of(
            c, 0, at(c.box[0].min, c.box[0].max + 0 * row + 1 // (metadata("out", 0, "min") + 3)))),
        "divides by zero"),
    "a buffer that is not in scope": (stencil, lambda p: rebound(p, "stencil", "nowhere"), "is not in scope"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_program_is_found(kind: str) -> None:
    make, spoil, message = WRONG[kind]
    before = make()
    with pytest.raises(WrongRewriteError, match=message):
        judge(before.program, spoil(before).program)


RIGHT: dict[str, tuple[Callable[[], sl.Pipeline], Callable[[sl.Pipeline], sl.Pipeline]]] = {
    "by rows, slid and folded": (stencil, lambda p: by_rows()),
    "a fold that is larger": (stencil, lambda p: by_rows(fold=4)),
    "windows of their own": (stencil, lambda p: tiled(lambda window, line, alloc: (alloc, window, line))),
    "in parallel": (stencil, lambda p: tiled(lambda window, line, alloc: (alloc, window, line), workers=2)),
    "written twice": (stencil, lambda p: with_statement(p, the_call(p, "stencil"))),
    "statements that need nothing of each other swapped": (
        halves, lambda p: sl.reorder_statements(p, p.find("to_left").expand(after=1))),
}  # fmt: skip


@pytest.mark.parametrize("kind", RIGHT)
def test_a_right_program_is_accepted(kind: str) -> None:
    make, rewrite = RIGHT[kind]
    before = make()
    assert judge(before.program, rewrite(before).program) == 3


def test_a_read_of_what_another_iteration_writes_is_a_race_in_any_order() -> None:
    """In one order it finds what has been written, in another it does not: both are wrong."""
    p = by_rows(fold=None, workers=0)
    values = sizes_of(stencil().program)[0]
    wrong = {order: second_judge.run(p.program, values, order).wrong for order in ORDERS}
    assert all("which another iteration has written" in wrong[order] for order in ("forwards", "in lock-step"))
    assert UNWRITTEN in wrong["backwards"]


def test_parallel_iterations_run_in_the_order_that_is_asked_for() -> None:
    """Each iteration is two calls: they are told apart by what the calls leave in a log."""
    p = tiled(lambda window, line, alloc: (alloc, window, line), workers=2)
    values = sizes_of(stencil().program)[0]
    logs = {}
    for order in ORDERS:
        run = Run(p.program, values, order, origins={})
        run.follow()
        assert run.origins is not None
        rows = {(o.call.partition("[")[0], o.element[0]): None for o in run.origins.values() if o.buffer == "out"}
        logs[order] = [at for _, at in rows]
    assert logs["forwards"] == [-3, -2, -1, 0]
    assert logs["backwards"] == [0, -1, -2, -3]
    assert logs["in lock-step"] == [-3, -2, -1, 0]
    assert sorted(logs["shuffled"]) == [-3, -2, -1, 0]
    assert logs["shuffled"] not in (logs["forwards"], logs["backwards"])


# ----------------------------------------------------------------------------------------------------------------
# Counts
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["reorder_loops", "parallelize_loop", "fold_storage", "lift_alloc", "simplify"])
def test_a_primitive_that_keeps_the_work_must_not_compute_more(operation: str) -> None:
    before = stencil()
    after = tiled(lambda window, line, alloc: (window, line))
    assert judge(before.program, after.program, "another") == 3
    with pytest.raises(WrongRewriteError, match=r"add: \d+ elements became \d+"):
        judge(before.program, after.program, operation)


def test_pieces_that_shift_overlap_and_others_do_not() -> None:
    p = stencil()
    shifted = sl.split_loop(p, "stencil.y", 3, tail="shift")
    with pytest.raises(WrongRewriteError, match=r"stencil: .* elements became"):
        judge(p.program, shifted.program, "split_loop", {"tail": "clamp"})


def test_other_pieces_may_overlap_in_another_way_and_no_others_may_compute_more_or_less() -> None:
    """Those of a tail that shifts do: on another grid, it is other elements that are computed twice."""
    a, b, c = (sl.BufferExpr(name, np.int64, 1) for name in "abc")
    sl.Func(np.square, [a[x]], [b[x]], name="square")
    sl.Func(np.negative, [a[x]], [c[x]], name="turn")
    p = sl.split_loop(sl.split_loop(sl.build_pipeline([a], [b, c]), "square.x", 3), "turn.x", 3, tail="shift")
    q = sl.fuse_loops(p, "for x", "for x #1", x - 1)
    computed = []
    for n, each in ((n, each) for n in (4, 7) for each in (p, q)):
        results = np.zeros(n, np.int64), np.zeros(n, np.int64)
        computed.append(each.run(np.arange(n), *results, checked=True).elements["turn"])
        np.testing.assert_array_equal(results, [np.arange(n) ** 2, -np.arange(n)])
    assert computed == [6, 5, 9, 8]

    def outcome(*boxes: tuple[int, int]) -> Outcome:
        count = sum(hi - lo + 1 for lo, hi in boxes)
        return Outcome(calls=Counter(f=len(boxes)), elements=Counter(f=count), boxes={"f": [(box,) for box in boxes]})

    apart, overlapping = outcome((0, 2), (3, 4)), outcome((0, 2), (2, 4))
    assert others_in_other_pieces(apart, overlapping, {}) == others_in_other_pieces(overlapping, apart, {}) == ""
    for fewer in (outcome((0, 3)), outcome((0, 2), (3, 3))):
        assert others_in_other_pieces(apart, fewer, {}) == "f: 5 elements became 4"
    assert others_in_other_pieces(outcome((0, 3)), outcome((0, 4)), {}) == "f: 4 elements became 5"


def test_what_has_become_more_or_less_is_told_by_both_counts() -> None:
    few, many = (Outcome(elements=Counter(f=n, g=2)) for n in (4, 6))
    assert no_more_elements(few, many, {}) == "f: 4 elements became 6"
    assert no_fewer_elements(many, few, {}) == "f: 6 elements became 4"
    assert no_more_elements(many, few, {}) == no_fewer_elements(few, many, {}) == ""


def test_every_primitive_says_what_becomes_of_the_work() -> None:
    from tools.reference import operations

    assert set(second_judge.COUNTS) == {operation.__name__ for operation in operations()}


# ----------------------------------------------------------------------------------------------------------------
# The hook
# ----------------------------------------------------------------------------------------------------------------


def test_rewrites_of_the_package_are_judged() -> None:
    before = TALLY.rewrites["split_loop"]
    sl.split_loop(stencil(), "stencil.y", 2)
    assert TALLY.rewrites["split_loop"] == before + 1


def lie(p: sl.Pipeline, call: sl.CallCursor) -> sl.Pipeline:
    """Compute one row less."""
    edit = Edit(p._version)
    old = p._version.statement(call._id)
    assert isinstance(old, Call)
    edit.update(part_of(old, 0, at(old.box[0].min, old.box[0].max - 1)))
    return sl.Pipeline(edit.finish("lie"))


def test_in_a_pipeline_that_has_nothing_to_give_nothing_runs() -> None:
    """Whose statements would have computed what nobody needs. Where it gives something, they do what they did."""
    plain = Outcome(elements=Counter(turn=5))
    idle = Outcome(idle=Counter(inner=1))
    some = Outcome(elements=Counter(inner=2), inside=Counter(turn=4))
    all_ = Outcome(elements=Counter(inner=2), inside=Counter(turn=5))
    assert same_taken_in(plain, idle, {}) == same_taken_in(plain, all_, {}) == ""
    assert same_taken_out(idle, plain, {}) == same_taken_out(all_, plain, {}) == ""
    assert "turn: 5 elements became 4" in same_taken_in(plain, some, {})
    assert "turn: 4 elements became 5" in same_taken_out(some, plain, {})


def test_operations_of_users_are_judged() -> None:
    with pytest.raises(WrongRewriteError, match=UNWRITTEN):
        sl.sched_op()(lie)(stencil(), "add")


def test_rewrites_inside_an_operation_are_judged_as_well() -> None:
    inner = sl.sched_op()(lie)

    @sl.sched_op()
    def lie_and_return(p: sl.Pipeline) -> sl.Pipeline:
        inner(p, "add")
        return p

    with pytest.raises(WrongRewriteError, match=UNWRITTEN):
        lie_and_return(stencil())


def test_edits_by_hand_are_judged() -> None:
    before = TALLY.rewrites["edit"]
    edit = sl.edit(stencil())
    edit.rename_buffer("alloc intm", "between")
    edit.finish()
    assert TALLY.rewrites["edit"] == before + 1


def test_a_program_that_was_wrong_before_says_nothing_about_a_rewrite() -> None:
    wrong = by_rows(fold=2)
    assert judge(wrong.program, by_rows(fold=1).program) == 0


def test_what_is_known_of_a_program_ends_with_it() -> None:
    p = stencil()
    known = second_judge.known(p.program)
    assert second_judge.known(p.program) is known
    identity = id(p.program)
    del p
    assert identity not in second_judge._known


# ----------------------------------------------------------------------------------------------------------------
# What a failure shows
# ----------------------------------------------------------------------------------------------------------------


def test_a_failure_shows_both_programs_the_sizes_and_where_the_elements_part() -> None:
    p = halves()
    with pytest.raises(WrongRewriteError) as caught:
        judge(p.program, rebound(p, "minus", "left", "left").program, "confuse", {"by": 3})
    text = str(caught.value)
    assert "by confuse(p, by=3)" in text
    assert "out[:] = minus(left[:], right[:])" in text
    assert "out[:] = minus(left[:], left[:])" in text
    assert "out[0].min = -3" in text
    assert "The first element that differs is out[-3]:" in text
    assert "of port 1 it reads right[-3], and left[-3]" in text
    assert "by to_right[-3..0] from other[-3]" in text
    assert "pytest.main(['tests/test_second_judge.py::" in text


def test_the_script_of_a_random_graph_runs() -> None:
    found: list[str] = []

    @given(image_graphs(max_stages=3))
    def collect(graph: Graph) -> None:
        if found:
            return
        p = build(graph)
        loop = sl.split_loop(p, f"{graph.stages[-1].name}.{p.find_all('_._')[-1].name()}", sl.scalar("rows") + 1)
        steps = second_judge.known(loop.program).steps
        assert steps is not None
        values = second_judge.known(loop.program).sizes[0]
        assert values is not None
        found.append(script_of(p.program, steps, values, ORDERS[0]))

    collect()
    done = subprocess.run(
        [sys.executable, "-c", found[0]], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "expression(p, " in found[0]
    assert "step rows + 1:" in done.stdout


def test_steps_are_listed_from_the_first_on() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 2)
    p = sl.compute_at(p, "add", "for y")
    steps = second_judge.known(p.program).steps
    assert isinstance(steps, Step)
    assert steps.all() == [
        "split_loop(p, loop='stencil.y', factor=2)",
        "compute_at(p, call='add', loop='for y')",
    ]


# ----------------------------------------------------------------------------------------------------------------
# Its parts
# ----------------------------------------------------------------------------------------------------------------

NUMBERS = {"a": 3, "b": -2, "c": 0}
a, b, c = (variable(name) for name in NUMBERS)
VALUES = {symbol_key(variable(name)): value for name, value in NUMBERS.items()}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (as_expr(7), 7), (a, 3), (a + 1, 4), (2 * a + 3 * b - 1, -1), (a + b + c, 1), (a * b, -6), (a * a * b, -18),
        (b // 2, -1), (a // b, -2), (a % b, -1), (b % a, 1), (sl.minimum(a, b, c), -2), (sl.maximum(a, b, c), 3),
        (sl.select(a <= b, a, c - 5), -5), (sl.select(c < a, a // 1, a // c), 3),
    ],
)  # fmt: skip
def test_expressions_are_evaluated_as_python_does(expression: Any, value: int) -> None:
    assert evaluation(expression)(VALUES) == value


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (a <= 3, True), (a < 3, False), (sl.equal(c, 0), True), ((a < 0) & (b < 0), False), ((a < 0) | (b < 0), True),
        (~(a < 0), True), ((c > 0) & (a // c > 0), False),
    ],
)  # fmt: skip
def test_conditions_are_evaluated_as_python_does(condition: Any, value: bool) -> None:
    assert evaluation(condition)(VALUES) is value


def test_an_expression_that_shares_its_parts_is_evaluated_part_by_part() -> None:
    shared: Any = a + 0
    value = 3
    for n in range(40):  # as a tree it would have 2**40 nodes
        shared = sl.maximum(shared * b + n, shared * a - n)
        value = max(value * -2 + n, value * 3 - n)
    assert evaluation(shared)(VALUES) == value


def test_symbols_have_keys_of_their_own() -> None:
    same = variable("n"), sl.scalar("n"), metadata("n", 0, "min")
    keys = [symbol_key(same[0]), scalar_key("n"), metadata_key("n", 0, "min")]
    assert [*map(symbol_key, same)] == keys
    assert len({*keys}) == 3
    assert symbols_of(sum(same[1:], same[0]) // 2) == {*keys}


@given(st.one_of(image_graphs(), graphs()))
def test_sizes_are_found_that_pass_all_checks(graph: Graph) -> None:
    program = build(graph).program
    sizes = sizes_of(program)
    assert len(sizes) >= 2
    assert all(holds(condition, values) for values in sizes for condition in top_checks(program))


def test_sizes_differ_in_kind() -> None:
    key = metadata_key("out", 0, "min")
    sizes = sizes_of(stencil().program)
    assert len(sizes) == 3
    assert {values[key] % 2 for values in sizes} == {1}
    assert len({values[key] for values in sizes}) == 3


def test_weights_and_hashes_tell_numbers_apart() -> None:
    assert len({mixed(n, m) for n in range(-20, 20) for m in range(20)}) == 800
    assert len({weight(d, k) for d in range(3) for k in range(1, 50)}) == 147
    hashes = np.arange(1000, dtype=np.uint64)
    stir(hashes)
    assert len({*hashes.tolist()}) == 1000
    assert not (hashes & np.uint64(1)).any()


def variances() -> tuple[sl.Pipeline, sl.Pipeline]:
    """Variances of rows, at once and by pieces of three, with two states."""
    a, s = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("s", np.float64, 1)
    sl.reductions.var(a[y, :], s[y], reassociate=True)
    p = sl.build_pipeline([a], [s])
    return p, sl.split_reduction(p, "var", "x", 3)


@pytest.mark.parametrize(
    ("func", "port", "dim", "change"),
    [
        pytest.param("update", 2, 1, lambda i: Interval(i.min, i.max - 1), id="an element left out"),
        pytest.param("update", 2, 1, lambda i: Interval(maximum(i.min - 1, a_x.min), i.max), id="an element twice"),
        pytest.param("finish", 0, 0, lambda i: point(maximum(i.min - 1, -1)), id="the first state too early"),
        pytest.param("finish", 1, 0, lambda i: point(maximum(i.min - 1, -1)), id="the second state too early"),
    ],
)
def test_pieces_of_reductions(func: str, port: int, dim: int, change: Callable[[Interval], Interval]) -> None:
    """Each element counts once, in every state."""
    p, q = variances()
    judge(p.program, q.program)
    inputs = list(q.find(f"var_{func}")._call.func.inputs)
    box = list(inputs[port].box)
    box[dim] = change(box[dim])
    inputs[port] = attrs.evolve(inputs[port], box=tuple(box))
    with pytest.raises(WrongRewriteError, match="an element of output s is not what it was"):
        judge(p.program, change_func(q, f"var_{func}", inputs=tuple(inputs)).program)


def test_states_of_what_is_computed_whole_are_sums_of_their_own() -> None:
    """Counts of what rows hold, all of them at once: no picture is left out, and none is taken twice."""
    b = sl.variables("b")
    light = sl.BufferExpr("light", np.int64, 2)
    counts, counted = (sl.BufferExpr(name, np.int64, 1) for name in ("counts", "counted"))
    by_rows = sl.Reduction({"y": 0}, [counted[b]], add_1, add_1, add_1)
    everything = light[light.dim(0).bounds, light.dim(1).bounds]
    sl.Func(add_1, [everything], [counts[b]], "count", whole=["b"], reduction=by_rows)
    counts.dim(0).bounds = sl.interval(0, 3)
    p = sl.build_pipeline([light], [counts])
    q = sl.split_reduction(p, "count", "y", 2)
    judge(p.program, q.program)
    (state, pixels) = q.find("count_update")._call.func.inputs
    box = Interval(pixels.box[0].min, pixels.box[0].max - 1), pixels.box[1]
    fewer = change_func(q, "count_update", inputs=(state, attrs.evolve(pixels, box=box)))
    with pytest.raises(WrongRewriteError, match="an element of output counts is not what it was"):
        judge(p.program, fewer.program)


def test_what_is_computed_whole_in_place_reads_by_its_interval_where_it_writes() -> None:
    """A callback that takes rows as they are takes them before it writes: that is its author's word for it."""
    a, made, sums, out = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "made", "sums", "out"))
    sl.Func(np.negative, [a[y, x]], [made[y, x]])
    run = sl.returns(lambda rows: np.cumsum(rows, axis=1))
    sl.Func(run, [made[y, x]], [sums[y, x]], name="run", whole=["x"], in_place=True)
    sl.Func(np.negative, [sums[y, x]], [out[y, x]], name="last", in_place=False)
    sums.dim(1).bounds = a.dim(1).bounds
    p = sl.build_pipeline([a], [out], alias=False)
    q = sl.compute_in_place(p, "run")
    judge(p.program, q.program)
    (port,) = the_call(q, "run").func.inputs
    columns = a.dim(1).bounds
    turned = columns.min + columns.max - port.box[1].min
    inputs = (attrs.evolve(port, box=(port.box[0], point(turned))),)
    apart, over = (change_func(each, "run", inputs=inputs) for each in (p, q))
    with pytest.raises(WrongRewriteError, match="writes sums over made, which it reads elsewhere than at the element"):
        judge(apart.program, over.program)


def test_a_run_that_is_too_long_is_given_up() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 1)
    p = sl.split_loop(p, "stencil.x", 1)
    values = dict(sizes_of(p.program)[0])
    for name, margin in (("out", 0), ("inp", 1)):
        values |= {metadata_key(name, d, "min"): -margin for d in range(2)}
        values |= {metadata_key(name, d, "max"): 40 + margin for d in range(2)}
    outcome = second_judge.run(p.program, values, ORDERS[0])
    assert outcome.is_too_long
    assert MOST_CALLS < 41 * 41


def test_an_element_does_not_depend_on_the_box_that_it_was_computed_with() -> None:
    p = stencil()
    values = sizes_of(p.program)[1]

    def outputs(program: Program) -> Any:
        run = Run(program, values, ORDERS[0])
        run.follow()
        return run.output("out")

    whole = outputs(p.program)
    for size in (1, 2, 3):
        pieces = sl.split_loop(sl.split_loop(p, "stencil.y", size), "stencil.x", 2)
        assert np.array_equal(whole, outputs(pieces.program))
    assert len({*whole.reshape(-1).tolist()}) == whole.size
