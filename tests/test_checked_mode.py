"""Checked mode finds what is wrong with a program, and says which call, which element and why."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from handmade import alloc, at, by_rows, funcs, out_x, out_y, picture, row, stencil, wide_x, with_body

import slinky as sl
from slinky.ir.statements import Call, InputAccess
from slinky.symbolic.intervals import Interval


def test_a_right_schedule_passes() -> None:
    inp, out, right = picture(8, 5)
    statistics = by_rows().run(inp, out, checked=True)
    np.testing.assert_array_equal(out, right)
    assert statistics.peak_bytes == 3 * 7 * 8
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
    calls = funcs(program)
    narrow = Call(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), Interval(out_x.min, out_x.max + 1)))
    wrong = with_body(program, (alloc(program), narrow, Call(calls["stencil"], (out_y, out_x))))
    inp, out, _ = picture(3, 4)
    with pytest.raises(sl.UninitializedReadError) as caught:
        wrong.run(inp, out, checked=True)
    assert str(caught.value) == "stencil[0..2, 0..3] reads intm[-1..3, -1..4]: element [-1, -1] was never written"


@pytest.mark.parametrize("checked", [True, False])
def test_a_buffer_too_small(checked: bool) -> None:
    program = stencil().program
    calls = funcs(program)
    short = attrs.evolve(alloc(program), box=(Interval(out_y.min, out_y.max + 1), wide_x))
    body = (short, Call(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    wrong = with_body(program, (*body, Call(calls["stencil"], (out_y, out_x))))
    inp, out, _ = picture(3, 4)
    with pytest.raises(sl.ExecutionError) as caught:
        wrong.run(inp, out, checked=checked)
    assert str(caught.value) == "intm[-1..3, -1..4] leaves the buffer, which holds [0..3, -1..4]"
    assert caught.value.__notes__ == ["in the call stencil[0..2, 0..3] of pipeline stencil"]


def test_an_access_that_says_less_than_the_callback_reads() -> None:
    program = stencil().program
    calls = funcs(program)
    dim_y, dim_x = calls["stencil"].dims
    read = InputAccess("intm", (at(dim_y, dim_y + 1), at(dim_x - 1, dim_x + 1)))
    lying = attrs.evolve(calls["stencil"], inputs=(read,))
    first = (alloc(program), Call(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    inp, out, _ = picture(3, 4)
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        with_body(program, (*first, Call(lying, (out_y, out_x)))).run(inp, out, checked=True)
    assert caught.value.__notes__ == ["in the call stencil[0..2, 0..3] of pipeline stencil"]


def test_an_output_that_is_not_fully_written() -> None:
    program = stencil().program
    calls = funcs(program)
    first = (alloc(program), Call(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    but_the_last_row = Call(calls["stencil"], (Interval(out_y.min, out_y.max - 1), out_x))
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
    sl.Func(spoil, [inp[x]], [out[x]], name="spoil", pass_buffers=pass_buffers)
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
