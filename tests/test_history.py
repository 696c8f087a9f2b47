"""The schedule that made a pipeline, as text that runs: on the pipeline as it was built, it makes an equal program."""

from __future__ import annotations

import functools
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs
from random_schedules import Chain
from scheduled import signal, stencil, stencils
from symbolic.generators import build as build_expression
from symbolic.generators import random_tree

import slinky as sl
from slinky.cursors.writing import expression_code
from slinky.symbolic.expressions import Expr, as_expr, linear_sum


def replayed(history: object, unscheduled: sl.Pipeline) -> sl.Pipeline:
    """The pipeline that the text of a history makes."""
    names: dict[str, Any] = {"p": unscheduled}
    exec(str(history), names)
    p = names["p"]
    assert isinstance(p, sl.Pipeline)
    return p


def edited(p: sl.Pipeline) -> sl.Pipeline:
    """The pipeline with another name for its buffer, given by hand."""
    editor = sl.edit(p)
    editor.rename_buffer("alloc intm", "between")
    return editor.finish()


def lines(history: object) -> list[str]:
    """The statements of a history, without the imports."""
    return [line for line in str(history).splitlines() if not line.startswith(("import ", "from "))]


# Operations of one's own, in a module ---------------------------------------------------------------------------------


@sl.sched_op("allocs", "loop", "call")
def fuse(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor = "for y", *, slides: bool = True) -> Any:  # type: ignore[assignment]
    """Compute in a loop, only what is new."""
    p, at = sl.compute_at(p, call, loop, rc=True)
    return (sl.slide_window(p, at.call, at.loop) if slides else p), at


@sl.sched_op()
def fuse_all(p: sl.Pipeline, *calls: sl.CallCursor, into: sl.LoopCursor) -> sl.Pipeline:
    """Compute calls in a loop, and fold what they write."""
    for call in calls:
        p, at = fuse(p, call, into, rc=True)
        try:
            p = sl.fold_storage(p, at.alloc, "x")
        except sl.SchedulingError:
            p = sl.fold_storage(p, at.alloc, "y")
    return p


@sl.sched_op()
def renamed_by(p: sl.Pipeline, name: Callable[[str], str], settings: dict[str, Any]) -> sl.Pipeline:
    """Rename by what a function makes of the name."""
    return sl.rename(p, name(p.name) + str(settings["end"]))


def noted(operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that notes its name each time."""

    @functools.wraps(operation)
    def noting(*args: Any, **kwargs: Any) -> Any:
        NOTED.append(operation.__name__)
        return operation(*args, **kwargs)

    return noting


NOTED: list[str] = []


@noted
@sl.sched_op()
def scaled(p: sl.Pipeline, amount: object) -> sl.Pipeline:
    """Rename by an amount."""
    return sl.rename(p, f"scaled_by_{amount}")


def doubled(name: str) -> str:
    """A name, twice."""
    return name + name


# Text -----------------------------------------------------------------------------------------------------------------


def test_a_pipeline_as_it_was_built() -> None:
    p = stencil()
    history = p.history()
    assert (len(history), list(history)) == (0, [])
    assert str(history) == "# pipeline stencil is as it was built: no operation has been applied to it."
    assert repr(history) == "<History of pipeline stencil: no steps>"
    assert replayed(history, p) is p


def test_patterns_stay_as_they_were_given_and_cursors_become_patterns() -> None:
    p = unscheduled = stencils(3)
    p, split = sl.split_loop(p, p.find("s3").dim("y"), sl.scalar("t"), rc=True)
    p, at = sl.compute_at(p, "_(b1)", split.outer, rc=True)
    p = sl.cut_loop(p, at.loop, split.outer.bounds().min + 3)
    p = sl.split_loop(p, p.find_all("for y")[1], 2, tail="cut", names=("a", "b"))
    assert str(p.history()) == (
        "import slinky as sl\n"
        'p = sl.split_loop(p, "s3.y", sl.scalar("t"))\n'
        'p = sl.compute_at(p, "_(b1)", "for y")\n'
        'p = sl.cut_loop(p, "for y", p.args()[1].bounds("y").min + 3)\n'
        'p = sl.split_loop(p, "for y #1", 2, tail="cut", names=("a", "b"))'
    )
    assert replayed(p.history(), unscheduled).same_program(p)
    assert repr(p.history()) == ("<History of pipeline stencils: split_loop, compute_at, cut_loop, split_loop>")


def test_steps_of_a_history() -> None:
    p = sl.compute_at(sl.split_loop(stencils(2), "s2.y", 1), "s1", "for y")
    history = p.history()
    assert [step.operation for step in history] == ["split_loop", "compute_at"]
    assert str(history[-1]) == 'p = sl.compute_at(p, "s1", "for y")'
    assert history[-1].code == 'sl.compute_at(p, "s1", "for y")'
    assert repr(history[0]) == '<Step sl.split_loop(p, "s2.y", 1)>'
    assert history[0].steps == ()
    assert history[:1] == (history[0],)


def test_blocks_are_from_one_statement_to_another() -> None:
    p = unscheduled = stencil()
    p = sl.split_loop(p, "stencil.y", 4, tail="cut")
    two = sl.split_loop(p, "add.y", 4)

    @sl.sched_op()
    def look(p: sl.Pipeline, block: sl.BlockCursor) -> sl.Pipeline:
        """Look at a block, and change something else."""
        return sl.rename(p, "seen")

    loop = two.find("for y")
    assert lines(look(two, loop.expand(after=1)).history())[2:] == [
        '# look(p, "for y #0 .. for y #1")', 'p = sl.rename(p, "seen")'
    ]  # fmt: skip
    assert lines(look(two, loop.body()).history())[2] == '# look(p, "add .. add")'
    assert lines(look(two, "for y .. stencil #1").history())[2] == '# look(p, "for y .. stencil #1")'
    assert replayed(two.history(), unscheduled).same_program(two)


def test_operations_of_ones_own_are_one_line_and_their_steps_are_inside() -> None:
    p = unscheduled = sl.rename(stencils(3), "fused")
    p = sl.split_loop(p, "s3.y", 1)
    loop = p.find("for y")
    p = fuse_all(p, "s2", p.find("s1"), into=loop)
    history = p.history()
    text = (
        "import slinky as sl\n"
        "from test_history import fuse_all\n"
        'p = sl.rename(p, "fused")\n'
        'p = sl.split_loop(p, "s3.y", 1)\n'
        'p = fuse_all(p, "s2", "s1", into="for y")'
    )
    assert str(history) == text
    assert replayed(history, stencils(3)).same_program(p)
    inner = history[-1].steps
    assert [str(step) for step in inner] == [
        'p = fuse(p, "s2", "for y")',
        'p = sl.fold_storage(p, "alloc b2", "y")',
        'p = fuse(p, "s1", "for y")',
        'p = sl.fold_storage(p, "alloc b1", "y")',
    ]
    assert [str(step) for step in inner[0].steps] == [
        'p = sl.compute_at(p, "s2", "for y")', 'p = sl.slide_window(p, "s2", "for y")'
    ]  # fmt: skip
    assert lines(history.primitives())[2:5] == [
        'p = sl.compute_at(p, "s2", "for y")',
        'p = sl.slide_window(p, "s2", "for y")',
        'p = sl.fold_storage(p, "alloc b2", "y")',
    ]
    assert "test_history" not in str(history.primitives())
    assert replayed(history.primitives(), stencils(3)).same_program(p)
    assert unscheduled.history()[0].operation == "rename"


def test_operations_that_no_module_has_are_written_as_their_steps() -> None:
    def fold(p: sl.Pipeline, alloc: sl.AllocCursor, dim: str) -> sl.Pipeline:
        """Fold, and call it so."""
        return sl.fold_storage(sl.rename(p, f"by_{dim}"), alloc, dim)

    by_rows = sl.sched_op()(functools.partial(fold, dim="y"))
    p = fuse(sl.split_loop(stencil(), "stencil.y", 1), "add")
    p = by_rows(p, p.find("alloc intm"))
    assert lines(p.history())[1:] == [
        'p = fuse(p, "add")',
        '# fold(p, "alloc intm")',
        'p = sl.rename(p, "by_y")',
        'p = sl.fold_storage(p, "alloc intm", "y")',
    ]
    assert replayed(p.history(), stencil()).same_program(p)


def test_functions_and_containers_as_arguments() -> None:
    p = renamed_by(stencil(), doubled, {"end": 3, "other": (1, [None, 2.5], "it's")})
    assert str(p.history()).splitlines() == [
        "import test_history",
        "import slinky as sl",
        "from test_history import renamed_by",
        'p = renamed_by(p, test_history.doubled, {"end": 3, "other": (1, [None, 2.5], "it\'s")})',
    ]
    assert replayed(p.history(), stencil()).name == "stencilstencil3"
    p = renamed_by(stencil(), lambda name: "one", {"end": np.int64(2)})
    assert lines(p.history()) == ['# renamed_by(p, <function>, {"end": 2})', 'p = sl.rename(p, "one2")']


def test_an_operation_that_something_is_wrapped_around() -> None:
    p = scaled(stencil(), sl.scalar("amount", float))
    assert lines(p.history()) == ['p = scaled(p, sl.scalar("amount", float))']
    assert replayed(p.history(), stencil()).name == "scaled_by_amount"
    assert NOTED == ["scaled", "scaled"]


def test_an_operation_that_another_one_is_called_like() -> None:
    @sl.sched_op()
    def fuse_all(p: sl.Pipeline) -> sl.Pipeline:
        """Not the one of this module."""
        return sl.rename(p, "other")

    assert lines(fuse_all(stencil()).history()) == ["# fuse_all(p)", 'p = sl.rename(p, "other")']


def test_places_that_no_pattern_of_a_name_finds() -> None:
    @sl.sched_op()
    def look(p: sl.Pipeline, *places: Any) -> sl.Pipeline:
        """Look at places, which are passed as they are."""
        return sl.rename(p, "seen")

    p = sl.split_loop(stencil(), "stencil.y", 4, tail="cut")
    loop, tail = p.find("for y"), p.find("stencil #1")
    places = [
        loop, tail, tail.dim("x"), loop.before(), tail.after(), loop.body(), loop.expand(after=1),
        loop.expression("step"), p.find("check _ #2"), p.args()[1], sl.InvalidCursor(), p.find("alloc intm"),
    ]  # fmt: skip
    (step,) = look(p, *places).history()[1:]
    code = step.code.removeprefix("look(")
    assert code.startswith('p, p.find("for y"), p.find("stencil #1"), p.find("stencil.x #1"), p.find("for y").before()')
    found = eval(f"({code}", {"p": p, "sl": sl})[1:]
    assert list(found) == places


def test_a_place_of_another_pipeline_has_no_text() -> None:
    @sl.sched_op()
    def look(p: sl.Pipeline, place: Any) -> sl.Pipeline:
        """Look at a place."""
        return edited(p)

    p = look(stencil(), signal(1).find("f0"))
    (line,) = lines(p.history())
    assert line.startswith('raise NotImplementedError("look(p, <<CallCursor out[:] = f0(inp[')
    with pytest.raises(NotImplementedError, match="has no text that could be run"):
        replayed(p.history(), stencil())


def test_an_edit_outside_of_operations_says_that_it_has_no_text() -> None:
    p = sl.rename(edited(stencil()), "less")
    assert lines(p.history()) == [
        'raise NotImplementedError("edit(p) has no text that could be run")', 'p = sl.rename(p, "less")'
    ]  # fmt: skip


# What is recorded -----------------------------------------------------------------------------------------------------


def test_what_fails_or_is_not_returned_leaves_nothing() -> None:
    @sl.sched_op()
    def tries(p: sl.Pipeline) -> sl.Pipeline:
        """Try this and that, and take the last."""
        for call in ("s1", "s2"):
            try:
                sl.compute_at(p, call, "for y")
                sl.rename(sl.compute_at(p, call, "for z"), "never")
            except sl.SlinkyError:
                continue
        return sl.compute_at(p, "s2", "for y")

    p = sl.split_loop(stencils(3), "s3.y", 1)
    q = tries(p)
    assert lines(q.history())[1:] == ["# tries(p)", 'p = sl.compute_at(p, "s2", "for y")']
    before = str(q.history())
    with pytest.raises(sl.SlinkyError):
        sl.compute_at(q, "s3", "for y")
    assert str(q.history()) == before
    assert [step.operation for step in p.history()] == ["split_loop"]


def test_an_operation_that_changes_nothing_leaves_nothing() -> None:
    @sl.sched_op()
    def nothing(p: sl.Pipeline) -> sl.Pipeline:
        """Change nothing."""
        return p

    p = sl.split_loop(stencil(), "stencil.y", 1)
    assert nothing(p) is p
    assert len(p.history()) == 1


def test_a_pipeline_that_an_operation_has_passed_on_keeps_its_own_history() -> None:
    """What is made inside of an operation may be in other hands: its history does not change."""
    inside: list[sl.Pipeline] = []

    @sl.sched_op("call")
    def leaks(p: sl.Pipeline) -> Any:
        """Keep what was made."""
        inside.append(sl.rename(p, "leaked"))
        return inside[-1], (inside[-1].find("add"),)

    p, at = leaks(stencil(), rc=True)
    again, _ = leaks(p, rc=True)
    assert [step.operation for step in inside[0].history()] == ["rename"]
    assert [step.operation for step in p.history()] == ["leaks"]
    assert [step.operation for step in again.history()] == ["leaks", "leaks"]
    assert at.call == p.find("add")
    assert p.forward(inside[0].find("add")) == at.call


def test_rc_and_the_order_of_arguments_make_no_difference() -> None:
    p = stencil()
    plain = sl.split_loop(p, "stencil.y", 2, tail="cut")
    with_record, _ = sl.split_loop(p, factor=2, tail="cut", loop="stencil.y", rc=True)
    assert lines(plain.history()) == ['p = sl.split_loop(p, "stencil.y", 2, tail="cut")']
    assert lines(with_record.history()) == ['p = sl.split_loop(p, factor=2, tail="cut", loop="stencil.y")']
    assert replayed(with_record.history(), stencil()).same_program(plain)


def test_a_history_survives_a_pickle() -> None:
    p = fuse(sl.split_loop(stencils(2), "s2.y", 1), "s1", "for y")
    p = sl.cut_loop(p, "for y", p.find("for y").bounds().min + 2)
    p = sl.split_loop(p, p.find("for y #1"), 2)
    q = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(p))))
    assert str(q.history()) == str(p.history())
    assert [step.operation for step in q.history()[1].steps] == ["compute_at", "slide_window"]
    q = sl.rename(q, "copied")
    assert lines(q.history()) == [*lines(p.history()), 'p = sl.rename(p, "copied")']
    assert str(replayed(q.history(), stencils(2))) == str(q)


def test_a_history_keeps_no_version_alive() -> None:
    import gc
    import weakref

    p = stencils(3)
    versions = []
    p, at = sl.split_loop(p, "s3.y", 1, rc=True)
    loop = at.outer
    del at
    for call in ("s2", "s1", "add"):
        p, fused = sl.compute_at(p, p.find(call), p.forward(loop), rc=True)
        p = sl.slide_window(p, fused.call, fused.loop)
        versions.append(weakref.ref(p._version))
        del fused
    p = sl.rename(p, "last")
    gc.collect()
    assert all(version() is None for version in versions)
    assert len(p.history()) == 8


# All schedules --------------------------------------------------------------------------------------------------------


@given(st.one_of(image_graphs(), graphs(max_stages=5)), st.integers(0, 2**32), st.integers(3, 14), st.booleans())
@settings(max_examples=settings().max_examples // 2)
def test_the_history_of_a_random_schedule_makes_its_program(graph: Graph, seed: int, steps: int, whole: bool) -> None:
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    unscheduled, p = chain.versions[0][0], chain.pipeline
    assert len(p.history()) == len(chain.applied)
    assert replayed(p.history(), unscheduled).same_program(p)
    copied = pickle.loads(pickle.dumps(p)) if whole and _can_be_pickled(p) else p
    assert str(copied.history()) == str(p.history())


def _can_be_pickled(p: sl.Pipeline) -> bool:
    try:
        pickle.dumps(p)
    except Exception:
        return False
    return True


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_the_code_of_an_expression_makes_it(seed: int, depth: int) -> None:
    expr = as_expr(build_expression(random_tree(random.Random(seed), depth)))
    for node in (expr, expr <= sl.scalar("n"), sl.equal(expr, sl.scalar("n"))):
        modules: set[str] = set()
        dim = 'sl.BufferExpr("{}", "int8", 2).dim({}).{}'
        code = expression_code(node, lambda *which, dim=dim: dim.format(*which), modules)
        made_anew = pickle.loads(pickle.dumps(node))  # by the same constructors: hardly ever, they find a shorter form
        made = eval(code, {"sl": sl, "slinky": sl})
        assert (as_expr(made) if isinstance(made, int) else made) is made_anew
        assert modules == ({"slinky.symbolic.expressions"} if "slinky.symbolic" in code else set())


@pytest.mark.parametrize("deepened", ["quotients", "choices", "shared", "conditions"])
def test_however_deep_an_expression_is_it_has_code_that_python_reads(deepened: str) -> None:
    n, m = sl.scalar("n"), sl.scalar("m")
    deep = n
    for k in range(1500 if deepened == "quotients" else 150):
        match deepened:
            case "quotients":
                deep = (deep + m) // 3
            case "choices":
                deep = sl.maximum(sl.minimum(deep + m * (k + 2), n * 7 + k) // 3, 2)
            case "shared":
                deep = (deep * deep + m) // (deep + 3)
            case _:
                deep = sl.select(sl.equal(deep, k) | ((deep <= 3) & (n >= deep * 2)), deep + m, deep // 7)
    assert eval(expression_code(deep, lambda *which: "", set()), {"sl": sl, "slinky": sl}) is deep


def test_a_deep_argument_has_code() -> None:
    deep = sl.scalar("n")
    for _ in range(1500):
        deep = (deep + sl.scalar("m")) // 3
    unscheduled = stencil()
    p = sl.split_loop(unscheduled, "stencil.y", sl.maximum(deep, 1))
    assert replayed(p.history(), unscheduled).same_program(p)


@pytest.mark.parametrize("kind", ["sum", "minimum"])
def test_however_long_an_expression_is_it_has_code_that_python_reads(kind: str) -> None:
    scalars = [sl.scalar(f"n{k}") for k in range(3000)]
    expr = linear_sum(1, [(n, 1) for n in scalars]) if kind == "sum" else sl.minimum(*scalars)
    assert eval(expression_code(expr, lambda *which: "", set()), {"sl": sl, "slinky": sl}) is expr


def test_a_fold_by_a_new_scalar_is_one_step() -> None:
    unscheduled = signal(1, 1)
    p = sl.slide_window(sl.compute_at(sl.split_loop(unscheduled, "f1.x", 1), "f0", "for x"), "f0", "for x")
    p = sl.fold_storage(p, "alloc b0", "x", 3 * sl.scalar("n"))
    assert lines(p.history())[-1] == 'p = sl.fold_storage(p, "alloc b0", "x", 3 * sl.scalar("n"))'
    assert lines(p.history().primitives()) == lines(p.history())
    assert replayed(p.history(), unscheduled).same_program(p)


def test_named_arguments_that_are_sequences() -> None:
    @sl.sched_op()
    def look(p: sl.Pipeline, calls: Sequence[sl.CallCursor], pair: tuple[sl.CallCursor, Expr]) -> sl.Pipeline:
        """Look at calls."""
        return sl.rename(p, "seen")

    p = stencil()
    step = look(p, calls=["add", p.find("stencil")], pair=(p.find("add"), 2)).history()[0]
    assert step.code == 'look(p, calls=("add", "stencil"), pair=("add", 2))'


def test_conditions_as_arguments() -> None:
    @sl.sched_op()
    def require(p: sl.Pipeline, *conditions: object) -> sl.Pipeline:
        """Look at conditions."""
        return sl.rename(p, "seen")

    n, m = sl.scalar("n"), sl.scalar("m")
    step = require(stencil(), (n % m <= 3) | ((n <= m) & sl.equal(n, 2 * m)), sl.equal(n, n)).history()[0]
    assert step.code == (
        'require(p, ((sl.scalar("n") <= sl.scalar("m")) & sl.equal(sl.scalar("n"), 2 * sl.scalar("m"))) | '
        '(sl.scalar("n") <= sl.scalar("m") * (sl.scalar("n") // sl.scalar("m")) + 3), sl.equal(0, 0))'
    )


@pytest.mark.parametrize("steps", [3, None, "ab", [3], {"p": 1}, np.zeros(()), [None]])
def test_a_history_is_made_of_steps(steps: Any) -> None:
    with pytest.raises(sl.OperationError, match="a history is made of steps, as other histories have them, got"):
        sl.History("p", steps)
    with pytest.raises(sl.OperationError, match="a history has the name of a pipeline, got 3"):
        sl.History(3, [])  # type: ignore[arg-type]
    history = edited(stencil()).history()
    assert list(sl.History("p", iter(history))) == list(history)
