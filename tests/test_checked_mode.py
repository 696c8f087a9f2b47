"""Checked mode finds what is wrong with a program, and says which call, which element and why."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import alloc, at, by_rows, calls_of, mode, out_x, out_y, over, picture, row, stencil, wide_x, with_body
from hypothesis import given
from hypothesis import strategies as st

import slinky as sl
from slinky.cursors.editing import Edit
from slinky.ir.copies import with_func, with_mode
from slinky.ir.statements import SERIAL, Call, For
from slinky.runtime import interpreter
from slinky.runtime.races import LoopRun
from slinky.runtime.shadow import Shadow
from slinky.symbolic.expressions import as_expr, variable
from slinky.symbolic.intervals import Interval


def test_a_right_schedule_passes() -> None:
    inp, out, right = picture(8, 5)
    statistics = by_rows().run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)
    assert statistics.program_bytes == 3 * 7 * 8
    assert statistics.elements == {"add": 10 * 7, "stencil": 8 * 5}
    assert statistics.calls == {"add": 10, "stencil": 8}


@pytest.mark.parametrize("fold", [1, 2])
def test_a_fold_too_small(fold: int) -> None:
    inp, out, _ = picture(8, 5)
    with pytest.raises(sl.OverwrittenReadError) as caught:
        by_rows(fold=fold).run(inp, out, checked=True)
    assert str(caught.value) == (
        "stencil[0, 0..4] reads intm[-1..1, -1..5]: element [-1, -1] was overwritten by element [1, -1], "
        "which shares its storage"
    )
    assert caught.value.__notes__ == ["in the call stencil[0, 0..4] of pipeline stencil"]


def test_a_larger_fold_is_right_too() -> None:
    inp, out, right = picture(8, 5)
    by_rows(fold=4).run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)


def test_a_read_before_the_write() -> None:
    inp, out, _ = picture(8, 5)
    with pytest.raises(sl.UninitializedReadError) as caught:
        by_rows(produced=at(row)).run(inp, out, checked=True)
    assert str(caught.value) == "stencil[0, 0..4] reads intm[-1..1, -1..5]: element [1, -1] was never written"


def test_a_warm_up_too_short() -> None:
    inp, out, _ = picture(8, 5)
    with pytest.raises(sl.UninitializedReadError) as caught:
        by_rows(start=-1).run(inp, out, checked=True)
    assert str(caught.value) == "stencil[0, 0..4] reads intm[-1..1, -1..5]: element [-1, -1] was never written"


def test_a_produced_region_too_small() -> None:
    program = stencil().program
    calls = calls_of(program)
    narrow = over(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), Interval(out_x.min, out_x.max + 1)))
    wrong = with_body(program, (alloc(program), narrow, over(calls["stencil"], (out_y, out_x))))
    inp, out, _ = picture(3, 4)
    with pytest.raises(sl.UninitializedReadError) as caught:
        wrong.run(inp, out, checked=True)
    assert str(caught.value) == "stencil[0..2, 0..3] reads intm[-1..3, -1..4]: element [-1, -1] was never written"


@pytest.mark.parametrize("checked", [True, False])
def test_a_buffer_too_small(checked: bool) -> None:
    program = stencil().program
    calls = calls_of(program)
    short = attrs.evolve(alloc(program), box=(Interval(out_y.min, out_y.max + 1), wide_x))
    body = (short, over(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    wrong = with_body(program, (*body, over(calls["stencil"], (out_y, out_x))))
    inp, out, _ = picture(3, 4)
    with pytest.raises(sl.ExecutionError) as caught:
        wrong.run(inp, out, checked=checked)
    assert str(caught.value) == "intm[-1..3, -1..4] leaves the buffer, which holds [0..3, -1..4]"
    assert caught.value.__notes__ == ["in the call stencil[0..2, 0..3] of pipeline stencil"]


def test_an_access_that_says_less_than_the_callback_reads() -> None:
    program = stencil().program
    calls = calls_of(program)
    func = calls["stencil"].func
    dim_y, dim_x = func.dims
    read = attrs.evolve(func.inputs[0], box=(at(dim_y, dim_y + 1), at(dim_x - 1, dim_x + 1)))
    lying = with_func(calls["stencil"], attrs.evolve(func, inputs=(read,)))
    first = (alloc(program), over(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    inp, out, _ = picture(3, 4)
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        with_body(program, (*first, over(lying, (out_y, out_x)))).run(inp, out, checked=True)
    assert caught.value.__notes__ == ["in the call stencil[0..2, 0..3] of pipeline stencil"]


def test_an_output_that_is_not_fully_written() -> None:
    program = stencil().program
    calls = calls_of(program)
    first = (alloc(program), over(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    but_the_last_row = over(calls["stencil"], (Interval(out_y.min, out_y.max - 1), out_x))
    wrong = with_body(program, (*first, but_the_last_row))
    inp, out, _ = picture(3, 4)
    with pytest.raises(sl.UninitializedReadError) as caught:
        wrong.run(inp, out, checked=True)
    assert str(caught.value) == "element [2, 0] of output out was never written"


def test_an_output_that_another_func_reads_too_early() -> None:
    y, x = sl.variables("y x")
    inp, low, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "low", "out"))
    sl.Func(np.negative, [inp[y, x]], [low[y, x]], name="negate")
    sl.Func(np.add, [low[y - 1, x], low[y, x]], [out[y, x]], name="pairs")
    program = sl.build_pipeline([inp], [low, out]).program
    first, second = (s for s in program.body if isinstance(s, Call))
    wrong = with_body(program, (second, first))
    arrays = [np.ones((4, 2), np.int64), np.ones((4, 2), np.int64)]
    with pytest.raises(sl.UninitializedReadError) as caught:
        wrong.run(*arrays, sl.Buffer(np.ones((3, 2), np.int64), min=(1, 0)), checked=True)
    assert str(caught.value) == "pairs[1..3, 0..1] reads low[0..2, 0..1]: element [0, 0] was never written"


@pytest.mark.parametrize("pass_buffers", [False, True])
def test_a_callback_that_writes_its_input(pass_buffers: bool) -> None:
    def spoil(source: object, target: object) -> None:
        arrays = [a.array if isinstance(a, sl.Buffer) else a for a in (source, target)]
        arrays[1][...] = arrays[0]
        arrays[0][-1] += 1

    (x,) = sl.variables("x")
    inp, out = sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    sl.Func(spoil, [inp[x]], [out[x]], name="spoil", pass_buffers=pass_buffers, writable_inputs=True)
    pipeline = sl.build_pipeline([inp], [out])
    with pytest.raises(sl.CallbackError, match=r"^the callback of spoil\[0..4\] wrote to one of its inputs"):
        pipeline.run(np.arange(5), np.zeros(5, np.int64), checked=True)


def test_a_fold_below_one_is_refused_when_it_is_known() -> None:
    inp, out, _ = picture(8, 5)
    with pytest.raises(sl.ExecutionError, match=r"^dimension y of intm is folded by 0; needs 1 or more$"):
        by_rows(fold=0).run(inp, out)


# Callbacks that leave elements alone ----------------------------------------------------------------------------------


def rebinds(source: np.ndarray, target: np.ndarray) -> None:
    """Makes a new array and forgets it."""
    target = source.copy()  # noqa: F841


def writes_half(source: np.ndarray, target: np.ndarray) -> None:
    """The first half."""
    half = len(target) // 2
    target[:half] = source[:half]


@pytest.mark.parametrize("is_output", [True, False])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.complex64, "datetime64[s]"])
@pytest.mark.parametrize(("callback", "element"), [(rebinds, 0), (writes_half, 20)])
def test_a_callback_that_does_not_write_its_output(callback: Any, element: int, dtype: Any, is_output: bool) -> None:
    (x,) = sl.variables("x")
    a, b, c = (sl.BufferExpr(name, dtype, 1) for name in "abc")
    sl.Func(callback, [a[x]], [b[x]], name="f")
    sl.Func(np.copyto if is_output else lambda s, t: np.copyto(t, s), [b[x]], [c[x]], name="g")
    p = sl.build_pipeline([a], [b] if is_output else [c])
    source, result = np.arange(40).astype(dtype), np.zeros(40, dtype)
    with pytest.raises(sl.CallbackError) as refused:
        p.run(source, result, checked=True)
    assert str(refused.value) == (
        f"the callback of f[0..39] did not write all of b: element [{element}], for one, is what it was before"
    )


def test_one_element_of_a_large_output_that_is_not_written() -> None:
    y, x = sl.variables("y x")
    a, b = (sl.BufferExpr(name, np.float64, 2) for name in "ab")

    def all_but_one(source: np.ndarray, target: np.ndarray) -> None:
        target[...] = np.where(source == 77, target, source)

    sl.Func(all_but_one, [a[y, x]], [b[x, y]], name="f")
    p = sl.build_pipeline([a], [b])
    with pytest.raises(sl.CallbackError, match=r"did not write all of b: element \[7, 7\]"):
        p.run(np.arange(100.0).reshape(10, 10), np.zeros((10, 10)), checked=True)


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float64, np.longdouble, "U3", "i4,f8"])
def test_whatever_is_written_is_no_mistake(dtype: Any) -> None:
    """Small types are what they were by chance now and then."""
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, dtype, 1) for name in "ab")
    sl.Func(lambda s, t: np.copyto(t, s), [a[x]], [b[x]], name="f")
    p = sl.build_pipeline([a], [b])
    for count in (1, 3, 1000):
        for value in (0, 1):
            result = np.empty(count, dtype)
            p.run(np.full(count, value).astype(dtype), result, checked=True)
            assert (result == np.full(count, value).astype(dtype)).all()


# Iterations of parallel loops that touch the same elements ------------------------------------------------------------


def forced(p: sl.Pipeline, loop: str, workers: int | None = 1) -> sl.Pipeline:
    """A pipeline with a loop marked parallel that no primitive would mark, or unmarked."""
    edit = Edit(p._version)
    edit.update(with_mode(p.find(loop)._loop, mode(workers)))
    return sl.Pipeline(edit.finish("by_force"))


def race_of(p: sl.Pipeline, *arguments: object) -> str:
    """What checked mode says of a race. The values are right: the same program runs through in order."""
    with pytest.raises(sl.RaceError) as caught:
        p.run(*arguments, checked=True, threads=1)
    return str(caught.value)


def test_an_element_of_an_output_that_two_iterations_write() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 4, tail="shift")
    inp, out, right = picture(6, 5)
    p.run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)
    assert race_of(forced(p, "for y"), inp, out) == (
        "stencil[2..5, 0..4] writes out[2..5, 0..4]: element [2, 0] was written in the iteration y = 0, "
        "and this is y = 4, of the parallel loop y"
    )


def test_a_loop_in_order_may_write_an_element_twice_in_each_parallel_iteration() -> None:
    p = sl.split_loop(stencil(), "stencil.x", 4, names="tile")
    p = sl.split_loop(p, "stencil.y", 4, tail="shift")
    p = sl.parallelize_loop(p, "for tile", 2)
    inp, out, right = picture(6, 11)
    p.run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)


def test_an_element_of_an_intermediate_that_two_iterations_write() -> None:
    p = sl.compute_at(sl.split_loop(stencil(), "stencil.y", 4), "add", "for y")
    inp, out, _ = picture(6, 5)
    p.run(inp, out, checked=True)
    assert race_of(forced(p, "for y"), inp, out) == (
        "add[3..6, -1..5] writes intm[3..6, -1..5]: element [3, -1] was written in the iteration y = 0, "
        "and this is y = 4, of the parallel loop y"
    )
    own = sl.store_at(p, "alloc intm", "for y")
    forced(own, "for y").run(inp, out, checked=True, threads=2)


def test_an_element_that_an_iteration_reads_and_another_one_writes() -> None:
    """Rows that lie one apart: each iteration reads what the one before it has written."""
    slid = by_rows(fold=None)
    inp, out, _ = picture(6, 5)
    slid.run(inp, out, checked=True)
    assert race_of(forced(slid, "for row"), inp, out) == (
        "stencil[0, 0..4] reads intm[-1..1, -1..5]: element [-1, -1] was written in the iteration row = -2, "
        "and this is row = 0, of the parallel loop row"
    )


def test_an_element_that_an_iteration_writes_after_another_one_has_read_it() -> None:
    """All is written before the loop, and each row again in the iteration before the one that reads it last."""
    program = stencil().program
    add, stencil_call = calls_of(program)["add"], calls_of(program)["stencil"]
    before = over(add, (Interval(out_y.min - 1, out_y.max + 1), wide_x))
    again = over(add, (at(row - 1), wide_x))
    loop = For(row, out_y, as_expr(1), SERIAL, (over(stencil_call, (at(row), out_x)), again))
    p = with_body(program, (alloc(program), before, loop))
    inp, out, right = picture(6, 5)
    p.run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)
    assert race_of(forced(p, "for row"), inp, out) == (
        "add[0, -1..5] writes intm[0, -1..5]: element [0, -1] was read in the iteration row = 0, "
        "and this is row = 1, of the parallel loop row"
    )


def test_iterations_in_another_order_than_that_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    p = forced(sl.split_loop(stencil(), "stencil.y", 4, tail="shift"), "for y")
    inp, out, _ = picture(6, 5)
    in_order = interpreter.run_parallel
    monkeypatch.setattr(interpreter, "run_parallel", lambda values, body, _: in_order(values[::-1], body, 1))
    assert "element [2, 0] was written in the iteration y = 4, and this is y = 0, of the" in race_of(p, inp, out)


def nest(*workers: int | None) -> sl.Pipeline:
    """The stencil in two nested loops over rows, of which the inner one repeats what the outer one says."""
    program = stencil().program
    add, stencil_call = calls_of(program)["add"], calls_of(program)["stencil"]
    before = over(add, (Interval(out_y.min - 1, out_y.max + 1), wide_x))
    again = variable("again")
    inner = For(again, Interval(0, 1), as_expr(1), mode(workers[1]), (over(stencil_call, (at(row), out_x)),))
    return with_body(program, (alloc(program), before, For(row, out_y, as_expr(1), mode(workers[0]), (inner,))))


def test_a_reader_in_another_iteration_further_out_is_not_forgotten() -> None:
    """Of three readers, the first alone is in no order with who writes."""
    rows, columns, others, again = (LoopRun(variable) for variable in ("y", "x", "x", "x"))
    shadow, box = Shadow("b", ((0, 0),), (None,)), ((0, 0),)
    shadow.write(box, "make", ())
    for iteration in (((rows, 0), (columns, 0)), ((rows, 1), (others, 0)), ((rows, 1), (others, 1))):
        shadow.read(box, "use", iteration)
    with pytest.raises(
        sl.RaceError, match="was read in the iteration y = 0, and this is y = 1, of the parallel loop y"
    ):
        shadow.write(box, "make", ((rows, 1), (again, 0)))


def test_nested_parallel_loops() -> None:
    """Only iterations of one run of a loop are in no order: the inner one runs anew in each of the outer one."""
    inp, out, right = picture(6, 5)
    nest(1, None).run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)
    for outer, text in ((None, "again"), (1, "row = 0, again")):
        assert race_of(nest(outer, 1), inp, out) == (
            f"stencil[0, 0..4] writes out[0, 0..4]: element [0, 0] was written in the iteration {text} = 0, "
            f"and this is {text} = 1, of the parallel loop again"
        )


def access() -> st.SearchStrategy[Any]:
    """A read, a write, or a parallel loop: what its iterations do, one after the other."""
    leaves = st.sampled_from(["read", "read", "read", "write"])
    block = st.recursive(
        leaves, lambda inner: st.lists(st.lists(inner, max_size=3), min_size=1, max_size=3), max_leaves=12
    )
    return st.lists(block, min_size=1, max_size=4)


@given(access())
def test_a_race_is_found_whoever_the_many_are_that_read(block: list[Any]) -> None:
    """Not all who read an element are kept. Against all pairs of accesses that have a parallel loop in common."""
    shadow = Shadow("b", (), ())
    everything: list[tuple[str, tuple[Any, ...]]] = []
    shadow.write((), "before", ())

    def run(block: list[Any], around: tuple[Any, ...]) -> None:
        for item in block:
            if isinstance(item, str):
                everything.append((item, around))
                (shadow.read if item == "read" else shadow.write)((), item, around)
            else:
                loop = LoopRun("v")
                for value, body in enumerate(item):
                    run(body, (*around, (loop, value)))

    try:
        run(block, ())
    except sl.RaceError:
        found = True
    else:
        found = False
    pairs = itertools.combinations(everything, 2)
    assert found == any("write" in (a, b) and unordered(first, second) for (a, first), (b, second) in pairs)


def unordered(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether there is a run of a loop of which two places lie in different iterations."""
    return any(run is other and value != there for run, value in a for other, there in b)


@pytest.mark.parametrize("minimum", [2**63 - 5, -(2**63), 2**64])
@pytest.mark.parametrize("factor", [3, 2])
def test_coordinates_of_more_than_64_bits(minimum: int, factor: int) -> None:
    """A buffer of few elements may have any coordinates, also where it is folded."""

    def neighbours(source: Any, target: Any) -> None:
        target[...] = source[:-2] + source[2:]

    (x,) = sl.variables("x")
    a, b, c = (sl.BufferExpr(name, np.int64, 1) for name in "abc")
    sl.Func(neighbours, [a[sl.interval(x - 1, x + 1)]], [b[x]], name="f")
    sl.Func(neighbours, [b[sl.interval(x - 1, x + 1)]], [c[x]], name="g")
    p = sl.split_loop(sl.build_pipeline([a], [c]), "g.x", factor)
    p = sl.slide_window(sl.compute_at(p, "f", "for x"), "f", "for x")
    p = sl.fold_storage(p, "alloc b", "x")
    source, result = sl.Buffer(np.arange(14), min=(minimum - 2,)), np.zeros(10, np.int64)
    p.run(source, sl.Buffer(result, min=(minimum,)), checked=True)
    assert result.tolist() == [4 * k + 8 for k in range(10)]
