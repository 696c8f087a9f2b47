"""What the gate asks of an edit beyond the statements that were put in: of who uses what was edited, where it stands.

Each edit is made by hand, with the verbs, and leaves a program that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from test_editing import chain, in_loops, two_outputs
from test_legality import high, loop, low, numbers, refused_as_wrong, same, total, zeros

import slinky as sl
from slinky import ir
from slinky.ir.copies import with_interval
from slinky.ir.operations import Copy
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import Alloc, Call, Check, For, If, LoweredFunc, Program, fresh_identity
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import COPIES_SAY, Kept, Obligation
from slinky.sched.legality.scopes import DEEPEST_NEST
from slinky.symbolic.expressions import Expr, variable
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")
n = sl.scalar("n")


def refused(edit: sl.Editor, reason: str) -> None:
    """Check that what an edit ends in is refused."""
    with pytest.raises(sl.SchedulingError, match=reason):
        edit.finish()


def statements(p: sl.Pipeline) -> dict[str, Any]:
    """The statements at the top of a program, calls by func and allocations by buffer."""
    found: dict[str, Any] = {}
    for s in p.program.body:
        if isinstance(s, Call):
            found[s.func.name] = s
        elif isinstance(s, Alloc):
            found[s.buffer] = s
    return found


def by_hand(program: Program, *body: ir.Statement) -> sl.Pipeline:
    """A program with another body behind its checks."""
    p = sl.Pipeline(attrs.evolve(program, body=(*leading_checks(program), *body)))
    p.verify()
    return p


# Who uses what was edited ---------------------------------------------------------------------------------------------


def two_sources() -> sl.Pipeline:
    """`t = -inp; u = inp * inp; a = t; b = u`."""
    inp, a, b = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "a", "b"))
    t, u = sl.BufferExpr("t", np.float64, 1), sl.BufferExpr("u", np.float64, 1)
    for f, source, target in (("make_t", inp, t), ("make_u", inp, u), ("use_t", t, a), ("use_u", u, b)):
        sl.Func(lambda s, d: np.copyto(d, s, casting="unsafe"), [source[x]], [target[x]], name=f)
    return sl.build_pipeline([inp], [a, b], require=[sl.equal(a.dim(0).min, b.dim(0).min),
                                                     sl.equal(a.dim(0).max, b.dim(0).max)])  # fmt: skip


def test_buffers_do_not_swap_names_under_the_calls_that_use_them() -> None:
    """No call is edited, and yet an allocation would hold what the other one held, under the cursors to both."""
    p = two_sources()
    found = statements(p)
    calls = (found[name] for name in ("make_t", "make_u", "use_t", "use_u"))
    edit = sl.edit(by_hand(p.program, found["t"], found["u"], *calls))
    t, u = edit.statement("alloc t"), edit.statement("alloc u")
    edit.replace("alloc t", attrs.evolve(t, buffer="u"))
    edit.replace(u, attrs.evolve(u, buffer="t"))
    refused(edit, "would give [tu] other values")


def test_a_call_that_moves_does_not_take_another_buffer_of_the_same_name() -> None:
    """Two loops have a `t` of their own, made by different funcs."""
    p = two_sources()
    found = statements(p)
    t, u = found["t"], attrs.evolve(found["u"], buffer="t", dtype=found["t"].dtype)
    make_u = attrs.evolve(found["make_u"], writes=("t",), func=attrs.evolve(found["make_t"].func, name="make_u"))
    use_u = attrs.evolve(found["use_u"], reads=("t",), func=attrs.evolve(found["use_t"].func, name="use_u"))
    first = loop(variable("v"), 0, 0, t, found["make_t"], found["use_t"])
    second = loop(variable("w"), 0, 0, u, make_u, use_u)
    p = by_hand(p.program, first, second)
    edit = sl.edit(p)
    edit.move("use_u", p.find("use_t").after())
    refused(edit, r"use_u\(t\) would give b other values")


def test_what_a_call_is_given_fits_it_also_where_a_reason_keeps_its_values() -> None:
    """As above, but for the reason, and for the other `t`, which holds other elements."""
    p = two_sources()
    found = statements(p)
    t, u = found["t"], attrs.evolve(found["u"], buffer="t", dtype=np.dtype(np.int32))
    make_u, use_u = found["make_u"], found["use_u"]
    (made,), (used,) = make_u.func.outputs, use_u.func.inputs
    making = attrs.evolve(make_u.func, outputs=(attrs.evolve(made, dtype=u.dtype),))
    using = attrs.evolve(use_u.func, inputs=(attrs.evolve(used, dtype=u.dtype),))
    make_u, use_u = attrs.evolve(make_u, writes=("t",), func=making), attrs.evolve(use_u, reads=("t",), func=using)
    first = loop(variable("v"), 0, 0, t, found["make_t"], found["use_t"])
    second = loop(variable("w"), 0, 0, u, make_u, use_u)
    p = by_hand(p.program, first, second)
    edit = sl.edit(p)
    edit.move("use_u", p.find("use_t").after())
    with pytest.raises(sl.SchedulingError, match="use_u takes int32 of rank 1, and t is float64 of rank 1"):
        settle(edit._edit, "move", Kept(COPIES_SAY, (Obligation.VALUES,)))


def test_a_call_does_not_write_another_buffer() -> None:
    """What f made of t goes to b, and b is no worse off as far as its elements are concerned: they are all written."""
    p = two_outputs()
    edit = sl.edit(p)
    call, other = edit.statement("f"), edit.statement("g")
    edit.replace("f", attrs.evolve(call, writes=("b",)))
    edit.replace("g", attrs.evolve(other, writes=("a",)))
    refused(edit, r"f\(t\) would give b other values; it is produced by g\(t\)")


def twice(source: np.ndarray, target: np.ndarray) -> None:
    """Two of each."""
    np.multiply(source, 2, out=target)


def past_a_transpose() -> LoweredFunc:
    """A plain copy of what is transposed, which reads what that was made of: rows for columns."""
    a, b, c = (sl.BufferExpr(name, np.float64, 2) for name in "abc")
    sl.copies.transpose(a, b)
    sl.copies.copy(b[y, x], c[y, x])
    p = sl.alias_copies(sl.build_pipeline([a], [c], alias=False))
    return next(s.func for s in p.program.body if isinstance(s, Call) and s.func.name == "copy")


def into_a_transpose(func: LoweredFunc) -> LoweredFunc:
    """The same copy, but for a view of what it writes: rows for columns."""
    (view,) = (port.view for port in past_a_transpose().inputs)
    (written,) = func.outputs
    return attrs.evolve(func, outputs=(attrs.evolve(written, dims=(1, 0), view=view),))


def if_it_is_positive(func: LoweredFunc) -> LoweredFunc:
    """The same copy, but for other elements, which are 7."""
    assert isinstance(func.operation, Copy)
    source = attrs.evolve(func.operation.sources[0], where=(func.dims[0] >= 1,))
    return attrs.evolve(func, operation=attrs.evolve(func.operation, sources=(source,), fill=7.0))


@pytest.mark.parametrize(
    ("make", "change", "is_plain"),
    [
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x]), lambda func: func, True),
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x]), if_it_is_positive, False),
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x]), lambda _: past_a_transpose(), False),
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x]), into_a_transpose, False),
        (lambda a, b: sl.copies.copy(a[y - 1, x], b[y, x]), lambda func: func, False),
        (lambda a, b: sl.copies.copy(a[x, y], b[y, x]), lambda func: func, False),
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x], outside=7), lambda func: func, False),
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x], outside="wrap"), lambda func: func, False),
        (lambda a, b: sl.copies.copy(a[y, x], b[y, x], implementation=twice), lambda func: func, False),
        (lambda a, b: sl.Func(np.negative, [a[y, x]], [b[y, x]]), lambda func: func, False),
    ],
)
def test_what_stands_for_a_buffer_is_made_of_it_by_a_plain_copy(
    make: Callable[[sl.BufferExpr, sl.BufferExpr], sl.Func],
    change: Callable[[LoweredFunc], LoweredFunc],
    is_plain: bool,
) -> None:
    """A copy of an allocation stands for that. By another func of one buffer, it would hold other elements."""
    a, b = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("b", np.float64, 2)
    make(a, b)
    (call,) = (s for s in sl.build_pipeline([a], [b]).program.body if isinstance(s, Call))
    p = chain()
    edit = sl.edit(p)
    (again,) = edit.copy("alloc t")
    assert isinstance(again, Alloc)
    edit.insert(p.find("f").before(), again, Call(change(call.func), again.box, ("t",), (again.buffer,)))
    edit.replace("f", attrs.evolve(edit.statement("f"), reads=(again.buffer,)))
    if not is_plain:
        refused(edit, r"\(t\) would give t_1 other values")
        return
    q = edit.finish()
    expected, found = np.zeros((3, 4)), np.zeros((3, 4))
    source = sl.Buffer(np.random.default_rng(0).random((5, 4)), min=(-1, 0))
    p(source, expected)
    q.run(source, found, checked=True)
    np.testing.assert_array_equal(found, expected)


def test_what_is_computed_again_stays_within_the_inputs() -> None:
    """The intermediate is larger than what the input has, and so is what is asked of its producer."""
    edit = sl.edit(chain())
    alloc, call = edit.statement("alloc t"), edit.statement("make")
    wider = Interval(call.box[0].min - 1, call.box[0].max)
    edit.replace("alloc t", ir.with_bounds(alloc, (wider, alloc.box[1]), alloc.folds))
    edit.replace("make", ir.with_interval(edit.statement("make"), 0, wider))
    refused(edit, "make does not find all of inp|not shown that make finds all of inp")


def test_a_call_that_asks_for_more_finds_it() -> None:
    """Rows of t that nobody has made, read into rows of `a` that were written before."""
    p = in_loops(chain(), "make")
    edit = sl.edit(p)
    again = edit.copy("f")
    edit.insert(p.find("for y").before(), *again)
    refused(edit, "f does not find all of t")


# Parallel loops around ------------------------------------------------------------------------------------------------


def in_parallel_rows() -> sl.Pipeline:
    """Rows of `a` at the same time, each with rows of `t` of its own."""
    p = sl.store_at(sl.compute_at(in_loops(chain(), "f"), "make", "for y"), "alloc t", "for y")
    return sl.parallelize_loop(p, "for y")


def test_a_buffer_does_not_leave_a_parallel_loop() -> None:
    """No call is edited, and iterations write rows of `t` that others read."""
    p, whole = in_parallel_rows(), chain().find("alloc t").bounds()
    edit = sl.edit(p)
    alloc = edit.statement("alloc t")
    edit.replace("alloc t", ir.with_bounds(alloc, tuple(whole), alloc.folds))
    edit.move("alloc t", p.find("for y").before())
    refused(
        edit, "iterations of loop y write the same elements of t|loop y are not shown to write different parts of t"
    )


def test_a_call_in_a_parallel_loop_does_not_write_what_others_write() -> None:
    p = sl.parallelize_loop(in_loops(chain(), "f"), "for y")
    edit = sl.edit(p)
    call = edit.statement("f")
    edit.replace("f", ir.with_interval(call, 0, Interval(y_of(p), y_of(p) + 1)))
    refused(edit, "iterations of loop y write the same elements of a")


def y_of(p: sl.Pipeline) -> Expr:
    """The variable of the loop over rows."""
    statement = p.find("for y")._loop
    assert isinstance(statement, For)
    return statement.variable


# Checks ---------------------------------------------------------------------------------------------------------------


def test_a_check_in_a_loop_stays_between_its_neighbours() -> None:
    """In front of the call it would refuse arguments before the call has run, and facts would hold too early."""
    program = chain().program
    found = statements(chain())
    check = Check(low("a", 0) <= high("a", 0) + 5, "rows")
    inner = loop(variable("v"), 0, 0, found["f"], check, ir.Pass())
    p = by_hand(program, found["t"], found["make"], inner)
    edit = sl.edit(p)
    place = p.find_all("check _")[-1]
    edit.move(place, p.find("f").before())
    refused(edit, "a check must stay as it is, where it is")
    edit = sl.edit(p)
    edit.move(p.find("f"), place.after())  # which says the same
    refused(edit, "a check must stay as it is, where it is")
    edit = sl.edit(p)
    edit.move(place.next(), place.before())
    assert edit.finish().find("for v")._loop.body[1:] == (ir.Pass(), check)


def test_a_loop_that_is_emptied_and_goes_has_no_checks_that_calls_could_pass() -> None:
    program = chain().program
    found = statements(chain())
    p = by_hand(program, found["t"], found["make"], loop(variable("v"), 0, 0, found["f"], ir.Pass()))
    edit = sl.edit(p)
    edit.move("f", p.find("for v").before())
    edit.delete("for v")
    assert edit.finish().program.body[-3:] == (found["t"], found["make"], found["f"])


def test_no_call_passes_a_check_among_the_other_statements() -> None:
    """Behind it the call would not run where the check fails, in front of it it would: callers may know."""
    program = chain().program
    found = statements(chain())
    check = Check(low("a", 0) <= high("a", 0) + 5, "rows")
    p = by_hand(program, found["t"], check, found["make"], found["f"])
    place = p.find_all("check _")[-1]
    edit = sl.edit(p)
    edit.move("make", place.before())
    refused(edit, "a check must stay as it is, where it is")
    edit = sl.edit(p)
    edit.move("f", p.find("make").before())
    refused(edit, "f does not find all of t")
    edit = sl.edit(p)
    edit.delete(place)
    edit.move("f", p.find("make").before())
    refused(edit, "a check must stay as it is, where it is")
    moved = sl.reorder_statements(p, p.find("alloc t").expand(after=1))
    assert moved.program.body[-4:] == (check, found["t"], found["make"], found["f"])


def test_a_loop_of_which_but_the_range_changes_is_asked_about_what_is_inside() -> None:
    """No call is edited, and yet an element of the output is left out, and what is read may lie further out."""
    p = in_loops(chain(), "f")
    first, last = low("a", 0), high("a", 0)
    for change in ({last: last - 1}, {first: first + 1}):
        edit = sl.edit(p)
        edit.substitute("for y", change)
        refused(edit, "not all of output a is written")
    edit = sl.edit(p)
    edit.substitute("for y", {first: first - 1})
    assert "for y in a.y.min - 1 .. a.y.max:" in str(edit.finish()), "where the output ends, the call does, too"
    p = in_loops(chain(), "make")
    edit = sl.edit(p)
    edit.substitute("for y", {first: first + 1})
    refused(edit, r"f does not find all of t\[")


def test_a_loop_that_changes_and_goes() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.substitute("for y", {high("a", 0): high("a", 0) - 1})
    edit.delete("for y")
    refused(edit, "not all of output a is written")


def test_a_check_says_what_it_said() -> None:
    """Where it stands, by its identity, too: weaker, it would let through what the pipeline was built to refuse."""
    for weaker in (low("inp", 0) <= low("a", 0) + 5, low("inp", 0) <= low("a", 0)):
        p = chain()
        edit = sl.edit(p)
        place = p.find_all("check _")[0]
        edit.replace(place, attrs.evolve(edit.statement(place), condition=weaker))
        refused(edit, "a check must stay as it is, where it is")


# Names ----------------------------------------------------------------------------------------------------------------


def test_a_loop_is_not_called_like_an_input() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.wrap("f", lambda block: loop(variable("inp"), 0, 0, *block))
    refused(edit, "the name 'inp' of a loop means something else already")


@pytest.mark.parametrize("is_around", [True, False])
def test_an_allocation_hides_no_other(is_around: bool) -> None:
    """Whichever of the two was edited."""
    p = in_parallel_rows()
    edit = sl.edit(p)
    other = attrs.evolve(edit.copy("alloc t")[0], buffer="t")
    if is_around:
        edit.insert(
            p.find("for y").before(), ir.with_bounds(other, tuple(chain().find("alloc t").bounds()), other.folds)
        )
    else:
        edit.insert(p.find("f").before(), If(low("a", 0) <= 5, (other, ir.Pass())))
    refused(edit, "another buffer called t is in scope")


def test_loops_nest_only_so_deep() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    for k in range(DEEPEST_NEST):
        edit.wrap("f", lambda block, k=k: loop(variable(f"v{k}"), 0, 0, *block))
    refused(edit, f"nest at most {DEEPEST_NEST} deep")


def test_bounds_of_a_dimension_that_an_input_lacks_mean_nothing() -> None:
    edit = sl.edit(chain())
    alloc = edit.statement("alloc t")
    wide = Interval(alloc.box[0].min, alloc.box[0].max + sl.maximum(high("inp", 2), 0))
    edit.replace("alloc t", ir.with_bounds(alloc, (wide, alloc.box[1]), alloc.folds))
    refused(edit, "means nothing here")


def test_a_call_does_not_stay_behind_its_buffer() -> None:
    """The buffer goes into a loop of its own, or away, or gets another name, and the calls stay."""
    p = chain()
    edit = sl.edit(p)
    edit.delete("alloc t")
    refused(edit, "t is not allocated here")
    edit = sl.edit(p)
    edit.replace("alloc t", attrs.evolve(edit.statement("alloc t"), buffer="v"))
    refused(edit, "t is not allocated here")
    edit = sl.edit(p)
    edit.wrap("alloc t", lambda block: loop(variable("v"), 0, 0, *block))
    refused(edit, "t is not allocated here")


def test_a_variable_goes_with_its_loop() -> None:
    """The loop gets another variable, and the call inside still speaks of the old one."""
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    old = edit.statement("for y")
    edit.replace("for y", attrs.evolve(old, variable=variable("row")))
    refused(edit, "y means nothing here")


def test_a_call_that_leaves_its_loop_leaves_the_variable() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.move("f", p.find("for y").after())
    refused(edit, "y means nothing here")


def test_a_call_that_leaves_its_loop_and_changes_leaves_the_variable() -> None:
    """What is new in it means something there; what was in it does not."""
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.move("f", p.find("for y").after())
    call = edit.statement("f")
    edit.replace("f", with_interval(call, 1, Interval(call.box[1].min, call.box[1].min)))
    refused(edit, "y means nothing here")


def test_what_is_computed_twice_is_right() -> None:
    """It has the same value the second time."""
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    call = attrs.evolve(edit.statement("f"), id=fresh_identity())
    edit.insert(p.find("f").after(), call)
    q = edit.finish()
    source, target = np.arange(18.0).reshape(6, 3), sl.Buffer(np.zeros((4, 3)), min=(1, 0))
    assert q.run(source, target, checked=True).calls == {"make": 1, "f": 8}


# What loops that start earlier read -----------------------------------------------------------------------------------


def shrinking(source: str, behind: int | None = None) -> sl.Pipeline:
    """In a loop over w, what `wide` computes shrinks from both sides: it would be more in iterations before the first.
    There is room for it in the buffer, which was made larger by hand; its source has no more than what is read of it.
    That is `inp`, or `base`, a copy of that. With `behind`, `narrow` is an output that ends at most so far behind
    `out`."""
    w, i, j, k = sl.variables("w i j k")
    names = ("inp", "other", "base", "wide", "narrow", "out")
    inp, other, base, wide, narrow, out = (sl.BufferExpr(name, np.int32, 1) for name in names)
    if source == "base":
        sl.Func(same, [inp[k]], [base[k]], name="base_func")
    sl.Func(same, [(inp if source == "inp" else base)[i]], [wide[i]], name="wide_func")
    sl.Func(same, [other[j]], [narrow[j]], name="narrow_func")
    sl.Func(total, [wide[w], wide[5 - w], narrow[sl.interval(w - 1, w)]], [out[w]], name="join")
    require = [out.dim(0).min >= 0, out.dim(0).max <= 2, out.dim(0).extent >= 1]
    if behind is not None:
        require.append(narrow.dim(0).max <= out.dim(0).max + behind)
    p = sl.build_pipeline([inp, other], [out] if behind is None else [narrow, out], require=require)
    p = sl.compute_at(sl.split_loop(p, "join.w", 1), "wide_func", "for w")
    body = [s for s in p.program.body if not isinstance(s, Check)]
    for n, s in enumerate(body):
        if isinstance(s, Alloc) and s.buffer == "wide":
            body[n] = ir.with_bounds(s, (Interval(-50, 50),), s.folds)
    return by_hand(p.program, *body)


@pytest.mark.parametrize("source", ["inp", "base"])
def test_a_window_that_slides_lets_nobody_read_more(source: str) -> None:
    p = sl.compute_at(shrinking(source), "narrow_func", "for w")
    inputs = numbers(6), numbers(5, min=(-1,)), zeros(3)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.slide_window(p, "narrow_func", "for w"),
        f"wide_func finds all of {source}|wide_func does not find all of {source}",
        *inputs,
        error=sl.ExecutionError,
    )


@pytest.mark.parametrize("source", ["inp", "base"])
def test_an_output_that_is_computed_in_a_loop_lets_nobody_read_more(source: str) -> None:
    """All of `narrow` must be computed, so the loop starts earlier."""
    p = shrinking(source, behind=0)
    inputs = numbers(6), numbers(6, min=(-3,)), zeros(6, min=(-3,)), zeros(3)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.compute_at(p, "narrow_func", "for w"),
        f"wide_func finds all of {source}|wide_func does not find all of {source}",
        *inputs,
        error=sl.ExecutionError,
    )


def test_an_output_that_ends_behind_the_loop_lets_nobody_compute_more() -> None:
    """The loop would have to end later."""
    with pytest.raises(
        sl.SchedulingError, match="loop w would have to run longer, and wide_func is not shown to do no"
    ):
        sl.compute_at(shrinking("inp", behind=3), "narrow_func", "for w")


def test_what_moves_backwards_is_not_cut_off_by_what_the_first_iteration_computes() -> None:
    w, i, j = sl.variables("w i j")
    inp, other, back, narrow, out = (sl.BufferExpr(b, np.int32, 1) for b in ("inp", "other", "back", "narrow", "out"))
    sl.Func(same, [inp[i]], [back[i]], name="back_func")
    sl.Func(same, [other[j]], [narrow[j]], name="narrow_func")
    sl.Func(total, [back[5 - w], narrow[sl.interval(w - 1, w)]], [out[w]], name="join")
    p = sl.split_loop(sl.build_pipeline([inp, other], [out]), "join.w", 1)
    p = sl.compute_at(sl.compute_at(p, "back_func", "for w"), "narrow_func", "for w")
    with pytest.raises(sl.SchedulingError, match=r"what back_func computes .*move.* forward with loop w"):
        sl.slide_window(p, "narrow_func", "for w")


# ----------------------------------------------------------------------------------------------------------------------
# The sides of an if
# ----------------------------------------------------------------------------------------------------------------------


def test_a_call_that_goes_to_the_other_side_of_an_if_is_missed_where_it_was() -> None:
    """The calls stand in the order in which they stood, in the same blocks' statement."""
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "b"))
    sl.Func(np.negative, [a[x]], [b[x]], name="turn")
    p = sl.absorb_loop(sl.split_loop(sl.build_pipeline([a], [b]), "turn.x", 2, tail="cut"), "for x")
    p = sl.specialize(p, p.find("turn").expand(0, 1), b.dim(0).min <= 3)
    (condition,) = [s for s in p.program.body if isinstance(s, If)]
    first = next(call for call in p.find_all("turn") if call._id == condition.orelse[0].id)
    edit = sl.edit(p)
    edit.move(condition.body[-1], first.before())
    refused(edit, "not all of output b is written")
