"""What refusals say beyond the reason: hints whose code works as given, and examples that are so."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs, run_and_compare
from random_schedules import Chain
from scheduled import by_rows, compare, picture, stencil, stencils
from told_refusals import check_refusal, followed

import slinky as sl
from slinky.sched import remedies

SEEN: Counter[str] = Counter()


def refusal(rewrite: Callable[[], object]) -> sl.SchedulingError:
    with pytest.raises(sl.SchedulingError) as caught:
        rewrite()
    return caught.value


@given(st.one_of(image_graphs(), image_graphs(), graphs(max_stages=5)), st.integers(0, 2**32), st.integers(8, 20))
@settings(max_examples=settings().max_examples // 2)
def hints_are_legal(graph: Graph, seed: int, steps: int) -> None:
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    hints = 0
    for error in chain.errors[-5:]:
        SEEN["refusals"] += 1
        new = check_refusal(error)
        SEEN["examples"] += bool(error.example)
        if new is None:
            continue
        SEEN["hints"] += 1
        hints += 1
        if hints == 1:
            run_and_compare(graph, new)
        SEEN["hints that lead on"] += "(a step only: " not in error.hint


@pytest.mark.long
@pytest.mark.draws
def test_hints_of_random_refusals_are_legal(request: pytest.FixtureRequest) -> None:
    """And many refusals have hints and examples. (A round of `--fuzz` has half a hundred graphs, which may be alike:
    there they are counted once there were many.)"""
    hints_are_legal()
    if request.config.getoption("--fuzz") is not None and SEEN["refusals"] < 1000:
        return
    assert SEEN["hints"] >= SEEN["refusals"] // 10, SEEN
    assert SEEN["examples"] >= SEEN["refusals"] // 20, SEEN
    assert SEEN["hints that lead on"] >= SEEN["hints"] * 3 // 4, SEEN


# Examples -------------------------------------------------------------------------------------------------------------


def rows() -> sl.Pipeline:
    """Three stencils in a row, the second computed in the loop over the rows of the third, and slid."""
    p = sl.compute_at(sl.split_loop(stencils(3), "s3.y", 1), "s2", "for y")
    return sl.slide_window(p, "s2", "for y")


GONE_WRONG: dict[str, Callable[[], object]] = {
    "store what slides": lambda: sl.store_at(rows(), "alloc b2", "for y"),
    "consumers before producers": lambda: sl.compute_root(
        sl.compute_at(sl.compute_at(sl.split_loop(stencils(3), "s3.y", 1), "s2", "for y"), "s1", "for y"), "s2"
    ),
}


@pytest.mark.parametrize("name", GONE_WRONG)
def test_an_example_is_so(name: str) -> None:
    """The program that the primitive would have made reads what is not there, on arrays of these bounds."""
    error = refusal(GONE_WRONG[name])
    sizes = re.findall(r"out\.[yx] = (-?\d+)\.\.(-?\d+)", error.example)
    assert len(sizes) == 2
    (top, bottom), (left, right) = [(int(lo), int(hi)) for lo, hi in sizes]
    image, out = picture(bottom - top + 1, right - left + 1, 3, (top, left))
    would_be = sl.Pipeline(error.place._version)  # type: ignore[attr-defined]
    with pytest.raises(sl.UninitializedReadError) as caught:
        would_be.run(image, out, checked=True)
    reader = re.search(r", (\w+) reads (\w+)\[", error.example)
    assert reader is not None
    assert all(word in str(caught.value) for word in reader.groups())


def test_a_fold_that_is_too_small_loses_what_the_example_says() -> None:
    p, _, alloc = by_rows(stencil())
    error = refusal(lambda: sl.fold_storage(p, alloc, "y", 2))
    assert error.example == (
        "with out.y = 0..0, out.x = 0..0, in iteration y = 0, stencil reads intm[-1, -1], whose place another element "
        "has taken"
    )
    assert error.hint == 'it needs 3, the default:\n  p = sl.fold_storage(p, "alloc intm", "y")'


def test_an_example_with_many_dimensions_says_their_bounds_at_once() -> None:
    dims = sl.variables(" ".join(f"d{k}" for k in range(8)))
    low, between, high = (sl.BufferExpr(name, np.int16, 8) for name in ("low", "between", "what_is_wanted_of_it"))
    sl.Func(np.negative, [low[dims]], [between[dims]], name="minus")
    window = between[sl.interval(dims[0] - 1, dims[0] + 1), *dims[1:]]
    sl.Func(lambda a, o: np.copyto(o, a[1:-1]), [window], [high[dims]], name="middle")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([low], [high]), "middle.d0", 1), "minus", "for d0")
    error = refusal(lambda: sl.fold_storage(p, "alloc between", "d0", 2))
    assert error.example.startswith("with 0..0 in every dimension of the outputs, in iteration d0 = 0, middle reads ")


def test_where_nothing_goes_wrong_there_is_no_example() -> None:
    """An even split is not shown for any size, and nothing is read wrongly."""
    error = refusal(lambda: sl.split_loop(stencils(1), "s1.y", 4, tail="perfect"))
    assert error.example == ""
    assert "not shown" in error.reason


# Hints ----------------------------------------------------------------------------------------------------------------


def test_a_hint_is_a_chain_where_one_step_is_not_enough() -> None:
    p = sl.split_loop(stencils(4), "s4.y", 4)
    error = refusal(lambda: sl.compute_at(p, "add", "for y"))
    assert error.remedy == "\n".join(f'p = sl.compute_at(p, "{func}", "for y")' for func in ("s3", "s2", "s1", "add"))
    assert followed(error).find("add").parent().name() == "y"


def test_places_of_a_hint_are_told_apart() -> None:
    """Two loops have one name: the code of the hint means the right one."""
    p = sl.cut_loop(sl.compute_at(sl.split_loop(stencils(2), "s2.y", 2), "s1", "for y"), "for y", 5)
    second = p.find_all("for y")[1]
    p = sl.split_loop(p, "s2.x #1", 4, names="z")
    error = refusal(lambda: sl.split_loop(p, p.forward(second), 2, tail="shift"))
    assert error.remedy == 'p = sl.split_loop(p, "for y #1", 2)'
    assert len(followed(error).find_all("for y_outer")) == 1


def test_a_hint_that_multiplies_the_work_says_so() -> None:
    p, loop, _ = by_rows(stencil())
    error = refusal(lambda: sl.parallelize_loop(p, loop))
    assert "(on small arrays, it computes 2.0 times as many elements)" in error.hint
    image, out = picture(40, 40, 1)
    before, after = compare(p, followed(error), [image], [out], threads=2)
    assert sum(after.elements.values()) > 1.7 * sum(before.elements.values())
    cheap = refusal(lambda: sl.slide_window(p, "add", loop))
    assert "times as many elements" not in cheap.hint


def in_a_deep_nest() -> sl.Pipeline:
    """The last of three stencils in 21 loops, all but the outermost of one iteration."""
    p = stencils(3)
    for _ in range(21):
        p = sl.split_loop(p, "s3.y", 8)
    return p


def test_the_search_for_a_hint_ends_after_so_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each of the things tried takes long, few are: the first of them all the same."""
    p = sl.compute_at(in_a_deep_nest(), "s2", "for y_14")
    tried: list[str] = []
    apply = remedies._Goal.apply

    def counted(goal: Any, p: sl.Pipeline) -> sl.Pipeline:
        tried.append(goal.operation.__name__)
        return apply(goal, p)

    monkeypatch.setattr(remedies._Goal, "apply", counted)
    error = refusal(lambda: sl.slide_window(p, "s1", "for y_17"))
    assert not error.remedy
    assert 1 <= len(tried) <= 8
    tried.clear()
    assert refusal(lambda: sl.store_at(p, "alloc b1", "for y_20")).remedy.count("\n") == 2
    assert len(tried) <= 6


def test_a_hint_tries_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain is looked for again, deeper, from what was refused."""
    tried: list[str] = []
    apply = remedies._Goal.apply

    def counted(goal: Any, p: sl.Pipeline) -> sl.Pipeline:
        tried.append(f"{id(p)} {goal.code(p)}")
        return apply(goal, p)

    monkeypatch.setattr(remedies._Goal, "apply", counted)
    p = sl.split_loop(stencils(3), "s3.y", 8)
    assert refusal(lambda: sl.compute_at(p, "s1", "for y")).remedy
    assert len(tried) == len(set(tried))


def test_no_hint_is_better_than_one_that_is_refused_in_turn() -> None:
    """A consumer's loop is parallel and the producer writes a buffer outside: nothing that is done now mends that."""
    p = sl.parallelize_loop(sl.split_loop(stencils(1), "s1.y", 1), "for y")
    error = refusal(lambda: sl.compute_at(p, "add", "for y"))
    assert error.remedy == ""
    assert (
        error.hint == "compute it there, and give each iteration its own buffer (store_at), before the loop is parallel"
    )


def test_hints_of_operations_of_ones_own() -> None:
    """The innermost operation has been refused: the hint is for the pipeline that it was given."""

    @sl.sched_op()
    def compute_and_fold(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor) -> Any:
        """Compute a producer in a loop and fold its rows, too few of them."""
        p, fused = sl.compute_at(p, call, loop, rc=True)
        return sl.fold_storage(sl.slide_window(p, fused.call, loop), fused.alloc, "y", 1), ()

    error = refusal(lambda: compute_and_fold(sl.split_loop(stencil(), "stencil.y", 1), "add", "for y"))
    assert (error.operation, error.within) == ("fold_storage", ["compute_and_fold"])
    assert error.remedy == 'p = sl.fold_storage(p, "alloc intm", "y")'
    assert str(followed(error)).count("fold 3") == 1


def test_hints_of_operations_of_slinky_made_of_others() -> None:
    """They are for the pipeline that somebody has, and not for one in the middle."""

    def compute_and_fold(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor, rows: int) -> Any:
        """Compute a producer in a loop and fold its rows."""
        p, fused = sl.compute_at(p, call, loop, rc=True)
        return sl.fold_storage(sl.slide_window(p, fused.call, loop), fused.alloc, "y", rows), ()

    compute_and_fold.__module__ = "slinky.sched.library"
    operation = sl.sched_op()(compute_and_fold)
    error = refusal(lambda: operation(sl.split_loop(stencil(), "stencil.y", 1), "add", "for y", 1))
    assert (error.operation, error.hint) == ("fold_storage", "")
    p = sl.split_loop(stencils(2), "s2.y", 1)
    error = refusal(lambda: operation(p, "add", "for y", 8))
    assert error.operation == "compute_at"
    first, last = error.remedy.splitlines()
    assert last == 'p = sl.compute_and_fold(p, "add", "for y", 8)'
    names = {"p": p, "sl": sl}
    exec(first, names)
    operation(names["p"], "add", "for y", 8)


def test_hints_of_primitives_made_of_others_end_with_these() -> None:
    """A producer that runs ahead by whole windows writes over what is still read: one that slides does not."""
    p = sl.compute_at(sl.split_loop(stencil(), "stencil.y", 2), "add", "for y")
    error = refusal(lambda: sl.prefetch(p, "add", "for y"))
    assert (error.operation, error.within) == ("pipeline_loop", ["prefetch"])
    assert error.remedy == 'p = sl.slide_window(p, "add", "for y")\np = sl.prefetch(p, "add", "for y")'
    assert "pipelined (1, 1) depth 2" in str(check_refusal(error))


def test_hints_of_refusals_in_schedules() -> None:
    p = stencils(1)
    twice = sl.seq(lambda p: sl.split_loop(p, "s1.y", 1), lambda p: sl.compute_at(p, "s1", "for y"))
    error = refusal(lambda: twice(p))
    assert error.reason
    assert error.remedy == ""
    folded = refusal(lambda: sl.seq(lambda p: sl.fold_storage(p, "alloc b0", "y", 1))(p))
    assert folded.remedy == refusal(lambda: sl.fold_storage(p, "alloc b0", "y", 1)).remedy


def test_a_scalar_in_the_code_of_a_hint() -> None:
    p = sl.split_loop(stencils(1), "s1.y", 2)
    error = refusal(lambda: sl.split_loop(p, "for y", sl.scalar("t"), tail="shift"))
    assert error.remedy == 'p = sl.split_loop(p, "for y", sl.scalar("t"))'
    assert [a.name() for a in followed(error).args()] == ["inp", "out", "t"]


def test_a_refusal_that_is_read_later_or_twice_says_the_same() -> None:
    p = sl.split_loop(stencils(2), "s2.y", 1)
    error = refusal(lambda: sl.slide_window(p, "s1", "for y"))
    first = str(error)
    sl.compute_at(p, "s1", "for y")
    assert str(error) == first
    assert len([line for line in first.splitlines() if line.startswith("  p = ")]) == 2
