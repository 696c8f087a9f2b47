"""Dimensions of which a func cannot compute a part: rewrites keep them whole, or refuse."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slinky as sl
from slinky.cursors.editing import Edit
from slinky.ir.statements import Alloc, Call
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, SAME_ORDER, Kept
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")

REASON = "softmax computes x whole, and would compute part of it here"


def softmax(source: np.ndarray, target: np.ndarray) -> None:
    """Along the last axis, all of it: of a part of a row it gives something else, and nothing fails."""
    np.exp(source - source.max(axis=-1, keepdims=True), out=target)
    target /= target.sum(axis=-1, keepdims=True)


def buffers(*names: str) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, np.float64, 2) for name in names]


def double(source: np.ndarray, target: np.ndarray) -> None:
    np.multiply(source, 2, out=target)


def head_and_tail(**options: Any) -> sl.Pipeline:
    """Doubled, softmax of it, and its neighbours summed."""
    inp, doubled, soft, out = buffers("inp", "doubled", "soft", "out")
    sl.Func(double, [inp[y, x]], [doubled[y, x]], name="double")
    sl.Func(softmax, [doubled[y, x]], [soft[y, x]], name="softmax", **options)
    sl.Func(np.add, [soft[y, x - 1], soft[y, x]], [out[y, x]], name="pairs")
    return sl.build_pipeline([inp], [out])


def run(p: sl.Pipeline, shape: tuple[int, int], **options: Any) -> np.ndarray:
    source = np.random.default_rng(0).normal(size=shape)
    target = sl.Buffer(np.zeros((shape[0], shape[1] - 1)), min=(0, 1))
    p.run(source, target, **options)
    return target.array


def expected(shape: tuple[int, int]) -> np.ndarray:
    source = 2 * np.random.default_rng(0).normal(size=shape)
    e = np.exp(source - source.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e[:, :-1] + e[:, 1:]


def test_the_program_says_so() -> None:
    assert (
        str(head_and_tail(whole=["x"]))
        == """\
pipeline pairs(inp: float64[2]) -> (out: float64[2]):
  whole softmax.x
  check inp.x.min <= out.x.min - 1
  check out.x.max <= inp.x.max
  check inp.y.min <= out.y.min
  check out.y.max <= inp.y.max
  alloc doubled: float64[out.y.min..out.y.max, inp.x.min..inp.x.max]
  doubled[:, :] = double(inp[:, :])
  alloc soft: float64[out.y.min..out.y.max, inp.x.min..inp.x.max]
  soft[:, :] = softmax(doubled[:, :])
  out[:, :] = pairs(soft[:, out.x.min - 1 .. out.x.max - 1], soft[:, :])"""
    )


@pytest.mark.parametrize("whole", [["x"], [x], (x, "x"), iter(["x"])])
def test_all_that_the_inputs_allow_is_computed_whatever_is_read(whole: Any) -> None:
    p = head_and_tail(whole=whole)
    np.testing.assert_allclose(run(p, (4, 7), checked=True), expected((4, 7)))
    source = np.random.default_rng(0).normal(size=(4, 7))
    part = sl.Buffer(np.zeros((4, 2)), min=(0, 3))
    p(source, part)
    np.testing.assert_allclose(part.array, expected((4, 7))[:, 2:4])


def test_all_that_several_inputs_allow_is_computed_also_of_what_is_made_of_it() -> None:
    a, b, c, d, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "b", "c", "d", "out"))
    sl.Func(lambda one, half, target: np.add(one, np.repeat(half, 2), out=target), [a[x], b[x // 2]], [c[x]], name="f")
    sl.Func(np.negative, [c[x]], [d[x]], name="g")
    sl.Func(lambda source, target: np.copyto(target, source.sum()), [d[:]], [out[x]], name="h")
    p = sl.build_pipeline([a, b], [out])
    allowed = "max(a.x.min, 2*b.x.min) .. min(a.x.max, 2*b.x.max + 1)"
    assert f"  alloc c: int64[{allowed}]\n" in str(p)
    assert f"  alloc d: int64[{allowed}]\n" in str(p)
    result = p(np.arange(9), sl.Buffer(np.arange(3), min=(1,)), np.zeros(2, np.int64))
    np.testing.assert_array_equal(result, -(np.arange(2, 8) + np.repeat(np.arange(3), 2)).sum())


def test_bounds_may_be_assigned_instead() -> None:
    inp, soft, out = buffers("inp", "soft", "out")
    sl.Func(softmax, [inp[y, :]], [soft[y, x]], name="softmax", whole=["x"])
    sl.Func(np.negative, [soft[y, x]], [out[y, x]], name="negate")
    with pytest.raises(sl.GraphError, match="nothing determines dimension 1 of 'soft': its producer computes it"):
        sl.build_pipeline([inp], [out])
    soft.dim(1).bounds = inp.dim(1).bounds
    p = sl.build_pipeline([inp], [out])
    source = np.random.default_rng(0).normal(size=(3, 6))
    right = np.zeros((3, 6))
    softmax(source, right)
    np.testing.assert_allclose(p(source, np.zeros((3, 4))), -right[:, :4])
    with pytest.raises(sl.CheckFailedError, match=r"dimension 1 of soft is assigned .*, which must contain"):
        p(source, np.zeros((3, 7)))


def test_of_an_output_of_the_pipeline_its_bounds_are_all() -> None:
    inp, out, low = buffers("inp", "out", "low")
    sl.Func(softmax, [inp[y, :]], [out[y, x]], name="softmax", whole=["x"])
    sl.Func(np.negative, [out[y, x]], [low[y, x]], name="negate")
    p = sl.build_pipeline([inp], [out, low])
    assert "whole softmax.x" in str(p)
    p = sl.split_loop(p, "negate.x", 2)
    with pytest.raises(sl.SchedulingError, match=REASON):
        sl.compute_at(p, "softmax", "for x")
    p = sl.split_loop(p, "softmax.y", 2)
    source, right = np.random.default_rng(0).normal(size=(5, 6)), np.zeros((5, 6))
    softmax(source, right)
    soft, negative = p(source, np.zeros((5, 6)), np.zeros((5, 3)))
    np.testing.assert_allclose(soft, right)
    np.testing.assert_allclose(negative, -right[:, :3])


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["clamp", "cut", "shift", "perfect"])
def test_the_dimension_cannot_be_split(tail: str) -> None:
    with pytest.raises(sl.SchedulingError) as refused:
        sl.split_loop(head_and_tail(whole=["x"]), "softmax.x", 2, tail=tail)
    assert refused.value.reason == REASON
    assert refused.value.hint == "split another dimension of it"
    assert "softmax(doubled" in str(refused.value)


def test_there_is_no_other_dimension_to_split() -> None:
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "b"))
    sl.Func(lambda s, o: np.cumsum(s, out=o), [a[x]], [b[x]], name="running", whole=["x"])
    with pytest.raises(sl.SchedulingError, match="running computes x whole") as refused:
        sl.split_loop(sl.build_pipeline([a], [b]), "running.x", 2)
    assert refused.value.hint == ""


def test_it_cannot_be_computed_in_a_loop_over_the_dimension() -> None:
    p = sl.split_loop(head_and_tail(whole=["x"]), "pairs.y", 2)
    p, (columns, _, _) = sl.split_loop(p, "pairs.x", 2, rc=True)
    with pytest.raises(sl.SchedulingError) as refused:
        sl.compute_at(p, "softmax", columns)
    assert refused.value.reason == REASON
    assert refused.value.hint == "compute it at loop y"
    p = sl.compute_at(p, "softmax", "for y")
    np.testing.assert_allclose(run(p, (5, 7), checked=True), expected((5, 7)))
    q = sl.split_loop(head_and_tail(whole=["x"]), "pairs.x", 2)
    with pytest.raises(sl.SchedulingError) as refused:
        sl.compute_at(q, "softmax", "for x")
    assert refused.value.hint == "leave it before loop x"
    q = sl.reorder_loops(sl.split_loop(q, "pairs.y", 2), "for x")
    np.testing.assert_allclose(run(sl.compute_at(q, "softmax", "for y"), (5, 7)), expected((5, 7)))
    r = sl.split_loop(sl.split_loop(head_and_tail(whole=["x"]), "pairs.x", 2), "pairs.y", 2)
    with pytest.raises(sl.SchedulingError) as refused:
        sl.compute_at(r, "softmax", "for y")  # an iteration of the loop around it needs but two columns
    assert refused.value.hint == "leave it before loop x"


def test_no_edit_narrows_it() -> None:
    """Whatever makes a call compute less, or its buffer smaller, must end in a refusal."""
    version = head_and_tail(whole=["x"])._version
    call, alloc = (version.statement(version.named((kind, "soft"))[0]) for kind in ("write", "alloc"))
    assert isinstance(call, Call)
    assert isinstance(alloc, Alloc)
    rows, columns = call.box
    for narrower in (Interval(columns.min + 1, columns.max), Interval(columns.min, sl.minimum(columns.max, 7))):
        for statement in (call, alloc):
            edit = Edit(version)
            edit.update(attrs.evolve(statement, box=(rows, narrower)))
            with pytest.raises(sl.SchedulingError, match=REASON):
                settle(edit, "narrow", Kept(SAME_ORDER, ALL_BUT_CHECKS))
    edit = Edit(version)
    edit.update(attrs.evolve(call, box=(Interval(rows.min, rows.min), columns)))
    settle(edit, "narrow", Kept(SAME_ORDER, ALL_BUT_CHECKS))


def test_what_it_reads_can_be_computed_by_parts() -> None:
    p = sl.split_loop(head_and_tail(whole=["x"]), "double.x", 2)
    np.testing.assert_allclose(run(p, (4, 7), checked=True), expected((4, 7)))


# What is kept ---------------------------------------------------------------------------------------------------------


def by_rows() -> sl.Pipeline:
    p, (rows, _, _) = sl.split_loop(head_and_tail(whole=["x"]), "pairs.y", 2, rc=True)
    p, ((alloc,), _, _) = sl.compute_at(p, "softmax", rows, rc=True)
    p = sl.store_at(p, alloc, rows)
    p, ((alloc,), _, _) = sl.compute_at(p, "double", rows, rc=True)
    return sl.store_at(p, alloc, rows)


def test_a_buffer_that_is_sunk_keeps_the_dimension() -> None:
    p = by_rows()
    assert "alloc soft: float64[y .. min(out.y.max, y + 1), inp.x.min..inp.x.max]" in str(p)
    np.testing.assert_allclose(run(p, (5, 7), checked=True), expected((5, 7)))
    np.testing.assert_allclose(run(sl.parallelize_loop(p, "for y"), (5, 7)), expected((5, 7)))
    p = sl.compute_root(sl.lift_alloc(p, "alloc doubled"), "double")
    p = sl.compute_root(sl.lift_alloc(p, "alloc soft"), "softmax")
    np.testing.assert_allclose(run(p, (5, 7), checked=True), expected((5, 7)))


def test_a_window_of_rows_slides() -> None:
    inp, soft, out = buffers("inp", "soft", "out")
    sl.Func(softmax, [inp[y, x]], [soft[y, x]], name="softmax", whole=["x"])
    sl.Func(np.add, [soft[y - 1, x], soft[y, x]], [out[y, x]], name="pairs")
    p = sl.build_pipeline([inp], [out])
    p, (rows, _, _) = sl.split_loop(p, "pairs.y", 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "softmax", rows, rc=True)
    p = sl.slide_window(p, call, rows)
    p = sl.fold_storage(p, alloc, "y")
    source, right = np.random.default_rng(0).normal(size=(5, 600)), np.zeros((5, 600))
    softmax(source, right)
    for checked in (False, True):
        part = sl.Buffer(np.zeros((4, 9)), min=(1, 5))
        p.run(source, part, checked=checked)
        np.testing.assert_allclose(part.array, right[:-1, 5:14] + right[1:, 5:14])


def test_a_program_is_the_same_only_if_the_same_is_whole() -> None:
    p = head_and_tail(whole=["x"])
    assert p.same_program(head_and_tail(whole=[x]))
    assert not p.same_program(head_and_tail())
    assert not p.same_program(head_and_tail(whole=["x", "y"]))
    copied = pickle.loads(pickle.dumps(p))
    assert str(copied) == str(p)
    with pytest.raises(sl.SchedulingError, match="softmax computes x whole"):
        sl.split_loop(copied, "softmax.x", 2)


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        ("x", r"^func 'softmax': whole must be a list of dimensions, such as \['x'\], got 'x'$"),
        (x, r"whole must be a list of dimensions, such as \['x'\], got "),
        (3, r"whole must be a list of dimensions, such as \['x'\], got 3"),
        (["z"], r"^func 'softmax' cannot compute z whole: its dimensions are y, x$"),
        ([1], r"cannot compute 1 whole: its dimensions are y, x"),
        (sl.variables("z"), r"cannot compute z whole"),
    ],
)
def test_what_whole_may_be(whole: Any, message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        head_and_tail(whole=whole)


# Any schedule ---------------------------------------------------------------------------------------------------------

Step = Callable[[sl.Pipeline, Any], sl.Pipeline]


def steps() -> list[Step]:
    """Rewrites, each with a choice of funcs, dimensions and loops that `pick` makes."""
    funcs, dims = ["double", "softmax", "pairs"], ["y", "x"]
    return [
        lambda p, pick: sl.split_loop(p, f"{pick(funcs)}.{pick(dims)}", pick([1, 2, 3]), tail=pick(["clamp", "cut"])),
        lambda p, pick: sl.compute_at(p, pick(funcs[:2]), pick(p.find_all("for _"))),
        lambda p, pick: sl.compute_at(p, pick(funcs[:2]), pick(p.find_all("for _"))),
        lambda p, pick: sl.store_at(p, f"alloc {pick(['doubled', 'soft'])}", pick(p.find_all("for _"))),
        lambda p, pick: sl.slide_window(p, pick(funcs[:2]), pick(p.find_all("for _"))),
        lambda p, pick: sl.lift_alloc(p, f"alloc {pick(['doubled', 'soft'])}"),
        lambda p, pick: sl.reorder_loops(p, pick(p.find_all("for _"))),
        lambda p, pick: sl.compute_root(p, pick(funcs[:2])),
        lambda p, pick: sl.fold_storage(p, f"alloc {pick(['doubled', 'soft'])}", pick(dims)),
        lambda p, pick: sl.cut_loop(p, pick(p.find_all("for _")), pick([1, 2, 4])),
        lambda p, pick: sl.simplify(p),
    ]


@given(st.data())
def test_any_schedule_computes_rows_as_a_whole(data: st.DataObject) -> None:
    p = head_and_tail(whole=["x"])

    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    for _ in range(data.draw(st.integers(1, 7))):
        step = pick(steps())
        try:
            if "find_all" in step.__code__.co_names and not p.find_all("for _"):
                continue
            p = step(p, pick)
        except (sl.SchedulingError, sl.PatternError):
            continue
    p.verify()
    for shape in ((5, 7), (1, 2)):
        np.testing.assert_allclose(run(p, shape, checked=True), expected(shape))
        np.testing.assert_allclose(run(p, shape), expected(shape))


def test_bounds_that_are_those_of_another_intermediate() -> None:
    inp, doubled, soft, out = buffers("inp", "doubled", "soft", "out")
    sl.Func(double, [inp[y, x]], [doubled[y, x]], name="double")
    doubled.dim(1).bounds = inp.dim(1).bounds
    sl.Func(softmax, [doubled[y, :]], [soft[y, x]], name="softmax", whole=["x"])
    soft.dim(1).bounds = doubled.dim(1).bounds
    sl.Func(np.add, [soft[y, x - 1], soft[y, x]], [out[y, x]], name="pairs")
    p, (rows, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "pairs.y", 2, rc=True)
    p = sl.compute_at(p, "softmax", rows)
    np.testing.assert_allclose(run(p, (5, 7), checked=True), expected((5, 7)))
    with pytest.raises(sl.SchedulingError, match=REASON):
        sl.split_loop(p, "softmax.x", 2)


def test_what_is_whole_is_part_of_a_func() -> None:
    def of(whole: list[str]) -> sl.Pipeline:
        inp, out = buffers("inp", "out")
        sl.Func(softmax, [inp[y, x]], [out[y, x]], name="softmax", whole=whole)
        return sl.build_pipeline([inp], [out])

    assert of(["x"]).same_program(of(["x"]))
    assert not of(["x"]).same_program(of([]))
