"""The text of programs: what a user reads is what the graph says. The first examples, and other kinds of graph."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from textwrap import dedent
from typing import Any

import attrs
import handmade
import numpy as np
import pytest

import slinky as sl
from slinky.ir.statements import SERIAL, For, If, Parallel, Pass, ScalarParameter
from slinky.symbolic.expressions import as_expr, variable
from slinky.symbolic.intervals import Interval

y, x, i, j = sl.variables("y x i j")
interval = sl.interval


def buffers(names: str, rank: int, dtype: object = np.float32) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, dtype, rank) for name in names.split()]


def nothing(*arrays: np.ndarray) -> None:
    """A callback that is never run."""


def elementwise() -> sl.Pipeline:
    inp, intm, out = buffers("inp intm out", 1, np.int32)
    sl.Func(nothing, [inp[x]], [intm[x]], name="mul")
    sl.Func(nothing, [intm[x]], [out[x]], name="add")
    return sl.build_pipeline([inp], [out])


def stencil() -> sl.Pipeline:
    inp, intm, out = buffers("inp intm out", 2, np.int16)
    sl.Func(nothing, [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(nothing, [intm[interval(y - 1, y + 1), interval(x - 1, x + 1)]], [out[y, x]], name="stencil")
    return sl.build_pipeline([inp], [out])


def matmul() -> sl.Pipeline:
    a, b, c, ab, abc = buffers("a b c ab abc", 2)
    k_ab, k_abc = a.dim(1).bounds, c.dim(0).bounds
    sl.Func(np.matmul, [a[i, k_ab], b[k_ab, j]], [ab[i, j]], name="matmul_ab")
    sl.Func(np.matmul, [ab[i, k_abc], c[k_abc, j]], [abc[i, j]], name="matmul_abc")
    return sl.build_pipeline([a, b, c], [abc])


def matmul_of_whole_dimensions() -> sl.Pipeline:
    a, b, c, ab, abc = buffers("a b c ab abc", 2)
    sl.Func(np.matmul, [a[i, :], b[:, j]], [ab[i, j]])
    sl.Func(np.matmul, [ab[i, :], c[:, j]], [abc[i, j]])
    return sl.build_pipeline([a, b, c], [abc])


def several_consumers() -> sl.Pipeline:
    inp, intm, wide, out = buffers("inp intm wide out", 1)
    sl.Func(np.negative, [inp[x]], [intm[x]])
    sl.Func(nothing, [intm[interval(x - 2, x)]], [wide[x]], name="left")
    sl.Func(np.add, [wide[x], intm[x + 1]], [out[x]])
    return sl.build_pipeline([inp], [out])


def several_outputs() -> sl.Pipeline:
    inp, low, high, out = buffers("inp low high out", 1)
    sl.Func(nothing, [inp[interval(2 * x, 2 * x + 1)]], [low[x], high[x]], name="halves")
    sl.Func(nothing, [low[interval(x - 1, x + 1)]], [out[x]], name="smooth")
    return sl.build_pipeline([inp], [low, out])


def softmax() -> sl.Pipeline:
    inp, power, out = buffers("inp power out", 2)
    (total,) = buffers("total", 1)
    sl.Func(np.exp, [inp[y, x]], [power[y, x]])
    sl.Func(nothing, [power[y, :]], [total[y]], name="sum")
    sl.Func(nothing, [power[y, x], total[y]], [out[y, x]], name="divide")
    return sl.build_pipeline([inp], [out], name="softmax")


def total_of_a_chain() -> sl.Pipeline:
    inp, padded, edges = buffers("inp padded edges", 2)
    (out,) = buffers("out", 1)
    sl.Func(nothing, [inp[y, x]], [padded[y, x]], name="scale")
    sl.Func(nothing, [padded[y, interval(x, x + 1)]], [edges[y, x]], name="difference")
    sl.Func(nothing, [edges[y, :]], [out[y]], name="total")
    return sl.build_pipeline([inp], [out])


def scalars() -> sl.Pipeline:
    inp, intm, out = buffers("inp intm out", 1)
    r = sl.scalar("r")
    sl.Func(nothing, [inp[x]], [intm[x]], name="scale", arguments={"gain": sl.scalar("gain"), "at": 0.5})
    sl.Func(nothing, [intm[interval(x - r, x + r)]], [out[x]], name="blur", arguments={"width": 2 * r + 1})
    return sl.build_pipeline([inp], [out], require=[r >= 0])


def constants() -> sl.Pipeline:
    inp, out = buffers("inp out", 1)
    weights = sl.constant("weights", np.array([1, 2, 1], np.float32), min=(-1,))
    sl.Func(nothing, [inp[interval(x - 1, x + 1)], weights[:]], [out[x]], name="convolve")
    return sl.build_pipeline([inp], [out])


def padded_extent() -> sl.Pipeline:
    inp, intm, out = buffers("inp intm out", 2)
    sl.Func(nothing, [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(nothing, [intm[y, interval(x - 1, x + 1)]], [out[y, x]], name="blur")
    width = intm.dim(1)
    width.extent = width.extent + 3
    return sl.build_pipeline([inp], [out])


def constraints() -> sl.Pipeline:
    inp, out = buffers("inp out", 2, np.uint8)
    sl.Func(np.invert, [inp[y, x]], [out[y, x]])
    inp.dim(0).min = 0
    out.dim(1).extent = inp.dim(1).extent
    out.dim(1).stride = 1
    return sl.build_pipeline([inp], [out])


def no_inputs() -> sl.Pipeline:
    (out,) = buffers("out", 0, np.int64)
    sl.Func(nothing, [], [out[()]], name="answer")
    return sl.build_pipeline([], [out])


def strides_and_dilations() -> sl.Pipeline:
    inp, coarse, out = buffers("inp coarse out", 1)
    sl.Func(nothing, [inp[interval(3 * x - 2, 3 * x + 2)]], [coarse[x]], name="shrink")
    sl.Func(nothing, [coarse[x // 2]], [out[x]], name="grow")
    return sl.build_pipeline([inp], [out])


def text_of(text: str) -> str:
    return dedent(text).strip()


PROGRAMS = {
    elementwise: """
        pipeline add(inp: int32[1]) -> (out: int32[1]):
          check inp.x.min <= out.x.min
          check out.x.max <= inp.x.max
          alloc intm: int32[out.x.min..out.x.max]
          intm[:] = mul(inp[:])
          out[:] = add(intm[:])
        """,
    stencil: """
        pipeline stencil(inp: int16[2]) -> (out: int16[2]):
          check inp.y.min <= out.y.min - 1
          check out.y.max <= inp.y.max - 1
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc intm: int16[out.y.min - 1 .. out.y.max + 1, out.x.min - 1 .. out.x.max + 1]
          intm[:, :] = add(inp[:, :])
          out[:, :] = stencil(intm[:, :])
        """,
    matmul: """
        pipeline matmul_abc(a: float32[2], b: float32[2], c: float32[2]) -> (abc: float32[2]):
          check a.i.min <= abc.i.min
          check abc.i.max <= a.i.max
          check b.dim(0).min <= a.dim(1).min
          check a.dim(1).max <= b.dim(0).max
          check b.j.min <= c.dim(0).min
          check c.dim(0).max <= b.j.max
          check c.j.min <= abc.j.min
          check abc.j.max <= c.j.max
          alloc ab: float32[abc.i.min..abc.i.max, c.dim(0).min..c.dim(0).max]
          ab[:, :] = matmul_ab(a[:, :], b[a.dim(1).min..a.dim(1).max, :])
          abc[:, :] = matmul_abc(ab[:, :], c[:, :])
        """,
    matmul_of_whole_dimensions: """
        pipeline matmul_1(a: float32[2], b: float32[2], c: float32[2]) -> (abc: float32[2]):
          check a.i.min <= abc.i.min
          check abc.i.max <= a.i.max
          check c.j.min <= abc.j.min
          check abc.j.max <= c.j.max
          alloc ab: float32[abc.i.min..abc.i.max, b.j.min..b.j.max]
          ab[:, :] = matmul(a[:, :], b[:, :])
          abc[:, :] = matmul_1(ab[:, :], c[:, :])
        """,
    several_consumers: """
        pipeline add(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 2
          check out.x.max <= inp.x.max - 1
          alloc intm: float32[out.x.min - 2 .. out.x.max + 1]
          intm[:] = negative(inp[:])
          alloc wide: float32[out.x.min..out.x.max]
          wide[:] = left(intm[out.x.min - 2 .. out.x.max])
          out[:] = add(wide[:], intm[out.x.min + 1 .. out.x.max + 1])
        """,
    several_outputs: """
        pipeline halves(inp: float32[1]) -> (low: float32[1], out: float32[1]):
          check inp.x.min <= 2*low.x.min
          check 2*low.x.max <= inp.x.max - 1
          check low.x.min <= out.x.min - 1
          check out.x.max <= low.x.max - 1
          alloc high: float32[low.x.min..low.x.max]
          low[:], high[:] = halves(inp[2*low.x.min .. 2*low.x.max + 1])
          out[:] = smooth(low[out.x.min - 1 .. out.x.max + 1])
        """,
    softmax: """
        pipeline softmax(inp: float32[2]) -> (out: float32[2]):
          check inp.y.min <= out.y.min
          check out.y.max <= inp.y.max
          check inp.x.min <= out.x.min
          check out.x.max <= inp.x.max
          alloc power: float32[out.y.min..out.y.max, out.x.min..out.x.max]
          power[:, :] = exp(inp[:, :])
          alloc total: float32[out.y.min..out.y.max]
          total[:] = sum(power[:, :])
          out[:, :] = divide(power[:, :], total[:])
        """,
    total_of_a_chain: """
        pipeline total(inp: float32[2]) -> (out: float32[1]):
          check inp.y.min <= out.y.min
          check out.y.max <= inp.y.max
          alloc padded: float32[out.y.min..out.y.max, inp.x.min..inp.x.max]
          padded[:, :] = scale(inp[:, :])
          alloc edges: float32[out.y.min..out.y.max, inp.x.min .. inp.x.max - 1]
          edges[:, :] = difference(padded[:, :])
          out[:] = total(edges[:, :])
        """,
    scalars: """
        pipeline blur(inp: float32[1], gain, r) -> (out: float32[1]):
          check 0 <= r
          check inp.x.min + r <= out.x.min
          check out.x.max + r <= inp.x.max
          alloc intm: float32[out.x.min - r .. out.x.max + r]
          intm[:] = scale(inp[:], gain=gain, at=0.5)
          out[:] = blur(intm[:], width=2*r + 1)
        """,
    constants: """
        pipeline convolve(inp: float32[1]) -> (out: float32[1]):
          constant weights: float32[-1..1]
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          out[:] = convolve(inp[out.x.min - 1 .. out.x.max + 1], weights[:])
        """,
    padded_extent: """
        pipeline blur(inp: float32[2]) -> (out: float32[2]):
          check inp.y.min <= out.y.min
          check out.y.max <= inp.y.max
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 4
          alloc intm: float32[out.y.min..out.y.max, out.x.min - 1 .. out.x.max + 4]
          intm[:, :] = add(inp[:, :])
          out[:, :] = blur(intm[:, out.x.min - 1 .. out.x.max + 1])
        """,
    constraints: """
        pipeline invert(inp: uint8[2]) -> (out: uint8[2]):
          check 0 == inp.y.min
          check inp.x.max + out.x.min == inp.x.min + out.x.max
          check 1 == out.x.stride
          check inp.y.min <= out.y.min
          check out.y.max <= inp.y.max
          check inp.x.min <= out.x.min
          check out.x.max <= inp.x.max
          out[:, :] = invert(inp[:, :])
        """,
    no_inputs: """
        pipeline answer() -> (out: int64[0]):
          out[] = answer()
        """,
    strides_and_dilations: """
        pipeline grow(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= 3*(out.x.min // 2) - 2
          check 3*(out.x.max // 2) <= inp.x.max - 2
          alloc coarse: float32[out.x.min // 2 .. out.x.max // 2]
          coarse[:] = shrink(inp[3*(out.x.min // 2) - 2 .. 3*(out.x.max // 2) + 2])
          out[:] = grow(coarse[:])
        """,
}


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_the_program_of_a_graph(make: object) -> None:
    pipeline = make()
    assert str(pipeline) == text_of(PROGRAMS[make])
    pipeline.verify()


def test_loops_folds_conditions_and_workers() -> None:
    r = sl.scalar("r")
    program = handmade.stencil().program
    add = handmade.calls_of(program)["add"]
    call = handmade.over(add, (handmade.at(handmade.row + 1), handmade.wide_x))
    folded = attrs.evolve(handmade.alloc(program), folds=(3 * r, None))
    rows = handmade.out_y
    empty = For(variable("v"), rows, as_expr(1), SERIAL, ())
    body = (
        folded,
        For(handmade.row, Interval(rows.min - 2, rows.max), as_expr(1), SERIAL, (call,)),
        For(handmade.row, rows, as_expr(2), Parallel(), (If(handmade.row <= r, (call,), (Pass(),)),)),
        For(handmade.row, rows, r + 1, Parallel(4), (If(handmade.row <= r, (call,)), empty)),
    )
    assert str(handmade.with_body(attrs.evolve(program, scalars=(ScalarParameter("r"),)), body)) == text_of(
        """
        pipeline stencil(inp: int64[2], r) -> (out: int64[2]):
          check inp.y.min <= out.y.min - 1
          check out.y.max <= inp.y.max - 1
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc intm: int64[out.y.min - 1 .. out.y.max + 1 fold 3*r, out.x.min - 1 .. out.x.max + 1]
          for row in out.y.min - 2 .. out.y.max:
            intm[row + 1, :] = add(inp[row + 1, :])
          for row in out.y.min..out.y.max step 2 parallel:
            if row <= r:
              intm[row + 1, :] = add(inp[row + 1, :])
            else:
              pass
          for row in out.y.min..out.y.max step r + 1 parallel 4:
            if row <= r:
              intm[row + 1, :] = add(inp[row + 1, :])
            for v in out.y.min..out.y.max:
              pass
        """
    )


def test_the_stencil_by_rows() -> None:
    assert str(handmade.by_rows()).splitlines()[5:] == [
        "  alloc intm: int64[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]",
        "  for row in out.y.min - 2 .. out.y.max:",
        "    intm[row + 1, :] = add(inp[row + 1, :])",
        "    out[row, :] = stencil(intm[row - 1 .. row + 1, :])",
    ]


def test_an_empty_program() -> None:
    program = attrs.evolve(handmade.stencil().program, body=())
    assert str(sl.Pipeline(program)) == "pipeline stencil(inp: int64[2]) -> (out: int64[2]):\n  pass"


def test_arguments_that_are_not_expressions() -> None:
    (out,) = buffers("out", 1)
    arguments = {
        "gain": 0.5,
        "single": np.float32(0.25),
        "mode": "edge",
        "flag": True,
        "nothing": None,
        "sizes": (1, 2),
        "names": ["a"],
        "table": np.zeros((2, 3), np.int8),
        "other": {1: 2},
    }
    sl.Func(nothing, [], [out[x]], name="f", arguments=arguments)
    assert str(sl.build_pipeline([], [out])).splitlines()[1] == (
        "  out[:] = f(gain=0.5, single=0.25, mode='edge', flag=True, nothing=None, sizes=(1, 2), names=['a'], "
        "table=<int8 array of shape (2, 3)>, other=<dict>)"
    )


def test_equal_graphs_make_equal_programs_with_identities_of_their_own() -> None:
    first, second = stencil().program, stencil().program
    assert str(stencil()) == str(stencil())
    assert [s.id for s in first.body] != [s.id for s in second.body]
    assert stencil().same_program(stencil())


def test_programs_that_say_the_same() -> None:
    def build(callback: Any = np.add, weights: Any = (1.0, 2.0), gain: Any = 0.5, name: str = "f") -> sl.Pipeline:
        inp, out = buffers("inp out", 1)
        given = sl.constant("weights", np.array(weights))
        sl.Func(callback, [inp[x], given[:]], [out[x]], arguments={"gain": gain}, name=name)
        return sl.build_pipeline([inp], [out])

    p = build()
    assert p.same_program(build())
    assert pickle.loads(pickle.dumps(p)).same_program(p)
    assert sl.split_loop(p, "f.x", 4).same_program(sl.split_loop(build(), "f.x", 4))
    for other in (build(np.subtract), build(weights=(1.0, 3.0)), build(gain=0.25), build(name="g"), build(gain=[0.5])):
        assert not p.same_program(other)
        assert not other.same_program(p)
    assert not p.same_program(sl.split_loop(p, "f.x", 4))
    tables = build(gain=np.arange(3)), build(gain=np.arange(3))
    assert tables[0].same_program(tables[0])
    assert tables[0].same_program(tables[1])
    assert not tables[0].same_program(build(gain=np.arange(4)))
    assert not tables[0].same_program(build(gain=np.arange(3.0)))
    with pytest.raises(sl.ArgumentError, match="expects a pipeline, got 3"):
        p.same_program(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "bounds"),
    [
        ({"min": 0}, "0 .. inp.x.max - 1"),
        ({"max": 9}, "inp.x.min + 1 .. 9"),
        ({"extent": 10}, "inp.x.min + 1 .. inp.x.min + 10"),
        ({"min": 0, "max": 9}, "0..9"),
        ({"min": 2, "extent": 10}, "2..11"),
        ({"max": 9, "extent": 10}, "0..9"),
        ({"min": 0, "max": 9, "extent": 10}, "0..9"),
    ],
)
def test_bounds_assigned_to_an_intermediate_that_is_read_whole(fields: dict[str, int], bounds: str) -> None:
    """What is not assigned is as much as the input allows."""
    inp, intm = buffers("inp intm", 1)
    (out,) = buffers("out", 0)
    sl.Func(nothing, [inp[interval(x - 1, x + 1)]], [intm[x]], name="blur")
    sl.Func(nothing, [intm[:]], [out[()]], name="total")
    for field, value in fields.items():
        setattr(intm.dim(0), field, value)
    lines = str(sl.build_pipeline([inp], [out])).splitlines()
    assert lines[-3] == f"  alloc intm: float32[{bounds}]"
    assert len(lines) <= 6  # checks of what is read of the input; nothing more is asked for


def test_an_extent_changed_of_an_intermediate_that_is_read_whole() -> None:
    inp, intm = buffers("inp intm", 1)
    (out,) = buffers("out", 0)
    sl.Func(nothing, [inp[x]], [intm[x]], name="copy")
    sl.Func(nothing, [intm[:]], [out[()]], name="total")
    intm.dim(0).min = intm.dim(0).min + 1
    intm.dim(0).extent = intm.dim(0).extent - 2
    assert str(sl.build_pipeline([inp], [out])) == text_of(
        """
        pipeline total(inp: float32[1]) -> (out: float32[0]):
          alloc intm: float32[inp.x.min + 1 .. inp.x.max - 1]
          intm[:] = copy(inp[:])
          out[] = total(intm[:])
        """
    )


def test_the_order_in_which_funcs_are_made_does_not_matter() -> None:
    inp, intm, out = buffers("inp intm out", 1, np.int32)
    sl.Func(nothing, [intm[x]], [out[x]], name="add")
    sl.Func(nothing, [inp[x]], [intm[x]], name="mul")
    assert str(sl.build_pipeline([inp], [out])) == text_of(PROGRAMS[elementwise])


def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    code = "import test_printed_programs as t; print(*(make() for make in t.PROGRAMS), sep='\\n')"
    here = os.path.dirname(__file__)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=here, env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE, text=True,
        )
        for seed in ("0", "1", "2", "77")
    ]  # fmt: skip
    texts = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    texts.add("\n".join(map(str, (make() for make in PROGRAMS))) + "\n")  # whatever the seed is here
    assert len(texts) == 1
    assert texts.pop().startswith("pipeline add(")
