"""The source that plans run: what stands in it and what does not, names, and where arrays begin."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import numpy as np
import pytest
from handmade import by_the_program
from planned import by_rows, chain, in_pieces

import slinky as sl
from slinky.ir.operations import Callback
from slinky.ir.statements import Alloc, BufferParameter, Call, InputPort, LoweredFunc, OutputPort, Program
from slinky.symbolic.expressions import metadata, variable
from slinky.symbolic.intervals import Interval, point

# Source ---------------------------------------------------------------------------------------------------------------


def test_the_source_of_the_stencil() -> None:
    assert by_rows().to_python() == STENCIL


STENCIL = """\
# pipeline stencil(inp: int64[2]) -> (out: int64[2]):
def run_stencil(arena, inp, inp_min, out, out_min):
    inp_read_only = read_only(inp)
    inp_y_min, inp_x_min = inp_min
    inp_y_size, inp_x_size = inp.shape
    inp_y_max = inp_y_min + inp_y_size - 1
    inp_x_max = inp_x_min + inp_x_size - 1
    out_y_min, out_x_min = out_min
    out_y_size, out_x_size = out.shape
    out_y_max = out_y_min + out_y_size - 1
    out_x_max = out_x_min + out_x_size - 1
    if out_y_min <= inp_y_min:
        check_failed()
    if inp_y_max <= out_y_max:
        check_failed()
    if out_x_min <= inp_x_min:
        check_failed()
    if inp_x_max <= out_x_max:
        check_failed()
    (intm_windows,) = arena.rings
    intm_window = intm_windows[out_y_max - out_y_min + 3, out_x_max - out_x_min + 3, 3]
    intm_read_only = intm_window.read_only
    inp_x = inp_read_only[:, out_x_min - inp_x_min - 1 : out_x_max - inp_x_min + 2]
    inp_y = 1 - inp_y_min
    inp_y_end = 2 - inp_y_min
    intm_y = 2 - out_y_min
    for y in range(out_y_min - 2, out_y_min):  # before the steady state
        if (result := add(inp_x[y + inp_y : y + inp_y_end], written := intm_window(y + intm_y, 1))) is not None:
            check_result(result, written)
    out_y_end = 1 - out_y_min
    for y, intm_y_1, intm_y_2 in zip(
        range(out_y_min, out_y_max + 1),
        intm_window.onward(2, 1),
        intm_read_only.onward(0, 3),
    ):
        if (result := add(inp_x[y + inp_y : y + inp_y_end], intm_y_1)) is not None:
            check_result(result, intm_y_1)
        if (result := stencil(intm_y_2, written := out[y - out_y_min : y + out_y_end])) is not None:
            check_result(result, written)
"""


def test_the_steady_state_of_a_loop_has_no_clamps_and_no_questions() -> None:
    source = by_rows(8).to_python()
    loops = [loop for loop in ast.walk(ast.parse(source)) if isinstance(loop, ast.For)]
    before, steady, after = (ast.unparse(loop) for loop in loops)
    assert "min(" not in steady
    assert "max(" not in steady
    assert steady.count("if ") == steady.count("is not None") == 2
    assert "stencil(" not in before
    assert "add(" in before
    assert "stencil(" in after


def test_whole_buffers_are_passed_as_they_are() -> None:
    assert "    f1(b1, out=b2)\n" in chain(np.negative, np.negative).to_python()


def test_what_does_not_change_is_computed_outside_the_loop() -> None:
    source = in_pieces(chain(np.negative, np.square), 2, 16).to_python()
    steady = next(loop for loop in ast.walk(ast.parse(source)) if isinstance(loop, ast.For))
    assert ast.unparse(steady).splitlines()[1:] == [
        "    b2_i = b2[i:i + 16]",
        "    b1 = b2_i if b2_is_contiguous else b1_arrays[16]",
        "    f0(b0[i:i + 16], out=b1)",
        "    f1(b1, out=b2_i)",
    ]


AT_ORIGIN = """\
# pipeline f1(b0: float64[1]) -> (b2: float64[1]):
def run_f1(arena, b0, b2):
    (b0_i_size,) = b0.shape
    (b2_i_size,) = b2.shape
    b2_is_contiguous = b2.flags.carray
    if b0_i_size < b2_i_size:
        check_failed()
    b1_i_size = min(b2_i_size, 16)
    (b1_arrays,) = arena[8 * b1_i_size]
    i_range = range(0, b2_i_size, 16)
    i_rest = b2_i_size // 16
    for i in i_range[:i_rest]:
        b2_i = b2[i : i + 16]
        b1 = b2_i if b2_is_contiguous else b1_arrays[16]
        f0(b0[i : i + 16], out=b1)
        f1(b1, out=b2_i)
    for i in i_range[i_rest:]:  # after the steady state
        b2_i_1 = b2[i:b2_i_size]
        b1_1 = b2_i_1 if b2_is_contiguous else b1_arrays[b2_i_size - i]
        f0(b0[i:b2_i_size], out=b1_1)
        f1(b1_1, out=b2_i_1)
"""


def test_the_source_has_no_coordinates_where_all_arrays_begin_at_the_origin() -> None:
    assert in_pieces(chain(np.negative, np.square), 2, 16).to_python() == AT_ORIGIN


@pytest.mark.parametrize("at", [0, 5, -7])
def test_arrays_may_begin_anywhere(at: int) -> None:
    p = in_pieces(chain(np.negative, np.exp), 2, 16)
    source, target = sl.Buffer(np.arange(40.0), min=(at - 3,)), sl.Buffer(np.zeros(37), min=(at,))
    right = np.exp(-source.array[3:])
    for _ in range(2):
        assert p(source, target) is target
        np.testing.assert_array_equal(target.array, right)
        target.array[...] = 0
    statistics = p.run(source, target)
    np.testing.assert_array_equal(target.array, right)
    right_statistics = p.run(source, target, backend="interpreter")
    assert by_the_program(statistics) == by_the_program(right_statistics)
    assert p.memory(source, target) == sl.Memory(statistics.program_bytes, statistics.peak_bytes) == sl.Memory(128, 0)
    plain = np.zeros(40)
    p(source.array, plain)
    np.testing.assert_array_equal(plain, np.exp(-source.array))


@pytest.mark.parametrize("at", [0, 5])
def test_errors_say_the_same_wherever_arrays_begin(at: int) -> None:
    def fail(source: np.ndarray, target: np.ndarray) -> None:
        if source[0] >= 32:
            raise ValueError("no")
        target[...] = source

    p = in_pieces(chain(fail, np.negative), 2, 16)

    def at_place(array: np.ndarray) -> Any:
        return sl.Buffer(array, min=(at,)) if at else array

    for backend in ("python", "interpreter"):
        source, target = at_place(np.arange(40.0)), at_place(np.zeros(40))
        with pytest.raises(ValueError, match="no") as caught:
            p.run(source, target, backend=backend)
        assert caught.value.__notes__ == [f"in the call f0[{at + 32}..{at + 39}] of pipeline f1"]
        with pytest.raises(sl.CheckFailedError) as refused:
            p.run(at_place(np.zeros(39)), target, backend=backend)
        assert str(refused.value).startswith(
            f"pipeline f1 requires b2.i.max <= b0.i.max, got b0.i.max = {at + 38}, b2.i.max = {at + 39}"
        )


def test_a_pipeline_that_cannot_begin_at_the_origin() -> None:
    """Its source is that for arrays anywhere, and arrays at the origin are refused as the interpreter does."""
    p = by_rows()
    assert "out_y_min" in p.to_python()
    inp, out = np.zeros((8, 8), np.int64), np.zeros((8, 8), np.int64)
    messages = set()
    for backend in ("python", "interpreter"):
        with pytest.raises(sl.CheckFailedError) as refused:
            p.run(inp, out, backend=backend)
        messages.add(str(refused.value))
    with pytest.raises(sl.CheckFailedError) as refused:
        p(inp, out)
    assert messages == {str(refused.value)}


def test_the_ends_of_a_piece_are_computed_once() -> None:
    source = in_pieces(chain(np.negative, np.square), 2, 16, workers=2).to_python()
    body = next(f for f in ast.walk(ast.parse(source)) if isinstance(f, ast.FunctionDef) and f.name == "for_i")
    assert ast.unparse(body).splitlines()[1:] == [
        "    arena_1 = i_arenas.take()",
        "    b1_i_max_1 = min(b1_i_max, i + 15)",
        "    b1_arrays, = arena_1[8 * (b1_i_max_1 - i + 1)]",
        "    b2_i = b2[i:b1_i_max_1 + 1]",
        "    b1 = b2_i if b2_is_contiguous else b1_arrays[b1_i_max_1 - i + 1]",
        "    f0(b0[i:b1_i_max_1 + 1], out=b1)",
        "    f1(b1, out=b2_i)",
        "    i_arenas.give(arena_1)",
    ]


HOSTILE = [
    "x; import os",
    "def",
    "a\nb",
    "0",
    "print",
    "résumé",
    "ﬁ",
    "fi",
    "",
    "\ud800",
    "arena",
    "result",
    "a b",
    "a_b",
]


@pytest.mark.parametrize(("source", "middle", "target"), list(itertools.permutations(HOSTILE, 3))[::37])
def test_names_of_any_kind(source: str, middle: str, target: str) -> None:
    """Programs made by hand may call things as they like."""
    dim = variable(f"{middle}.{source}")

    box = (Interval(metadata(target, 0, "min"), metadata(target, 0, "max")),)
    dtype = np.dtype(np.int64)

    def call(name: str, read: str, written: str) -> Call:
        ports = (InputPort((point(dim),), dtype),), (OutputPort((0,), dtype),)
        return Call(LoweredFunc(name, Callback(np.negative), (dim,), *ports), box, (read,), (written,))

    body = (
        Alloc(middle, dtype, (source,), box, (None,)),
        call(target, source, middle),
        call("check_failed", middle, target),
    )
    given, result = BufferParameter(source, dtype, ("def",)), BufferParameter(target, dtype, ("x; y",))
    pipeline = sl.Pipeline(Program(source, (given,), (result,), (), (), body))
    ast.parse(pipeline.to_python())
    out = np.zeros(5, np.int64)
    pipeline(np.arange(5), out)
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert pipeline.run(np.arange(5), out).calls == dict.fromkeys((target, "check_failed"), 1)


def test_more_loops_than_python_can_nest() -> None:
    (i,) = sl.variables("i")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(np.negative, [a[i]], [b[i]], name="f")
    p = sl.build_pipeline([a], [b])
    for factor in [2**k for k in reversed(range(21))]:
        p = sl.split_loop(p, "f.i", factor)
    out = np.zeros(37, np.int64)
    assert p(np.arange(37), out).tolist() == [-n for n in range(37)]
    assert p.run(np.arange(37), out).elements == {"f": 37}
