"""Pipelines as JSON and back: the same program, text and runs; any other text is refused, and the error says where."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs, many_dimensions
from random_schedules import Chain
from round_trips import again, callbacks_of
from scheduled import add_1, by_rows, picture, stencil, sum_3x3
from test_documents import DOCUMENTS, python_blocks

import slinky as sl
from slinky import ir
from slinky.ir.statements import KINDS, Alloc, Call, ScalarParameter, walk
from slinky.symbolic.expressions import as_expr, variable

CALLBACKS = {"add_1": add_1, "sum_3x3": sum_3x3}

# ----------------------------------------------------------------------------------------------------------------
# Round trips
# ----------------------------------------------------------------------------------------------------------------


def test_what_is_read_is_the_program_that_was_written() -> None:
    p, _, _ = by_rows(stencil())
    q = sl.Pipeline.from_json(p.to_json(), CALLBACKS)
    assert str(q) == str(p)
    assert q.same_program(p)
    assert q.program.body[0] == p.program.body[0]
    assert q.program.body[0].id != p.program.body[0].id
    assert not q.history()


def test_what_is_read_runs_as_what_was_written() -> None:
    p, _, _ = by_rows(stencil())
    q = sl.Pipeline.from_json(p.to_json(), CALLBACKS)
    source, target = picture(11, 7, 1)
    other = sl.Buffer(np.zeros_like(target.array), target.min)
    first, second = p.run(source, target), q.run(source, other, checked=True)
    assert np.array_equal(target.array, other.array)
    assert (first.calls, first.elements, first.program_bytes) == (second.calls, second.elements, second.program_bytes)


def test_a_pipeline_in_a_func_that_reads_past_a_copy_comes_back() -> None:
    """It takes arrays of the rank that it sees, whatever that of the buffer is that they are of."""
    y, x = sl.variables("y x")
    given, made, rows, out = (sl.BufferExpr(n, np.int64, 2) for n in ("given", "made", "rows", "out"))
    row = sl.BufferExpr("row", np.int64, 1)
    sl.Func(np.negative, [given[y, x]], [made[y, x]], name="minus")
    inner = sl.build_pipeline([given], [made])
    sl.copies.broadcast(row, rows)
    inner.as_func([rows], [out], "inner")
    p = sl.build_pipeline([row], [out])
    assert "inner(view(row[:], [x]))" in str(p)
    q = sl.Pipeline.from_json(p.to_json(), {"negative": np.negative})
    assert q.same_program(p)
    assert q(np.arange(3), np.empty((2, 3), np.int64)).tolist() == [[0, -1, -2]] * 2


def test_one_program_has_one_text_whoever_built_it() -> None:
    assert stencil().to_json() == stencil().to_json()
    p, _, _ = by_rows(stencil())
    assert p.to_json() == by_rows(stencil())[0].to_json() != stencil().to_json()


def test_what_is_read_can_be_scheduled_and_written_again() -> None:
    q = sl.Pipeline.from_json(stencil().to_json(), CALLBACKS)
    scheduled, _, _ = by_rows(q)
    expected, _, _ = by_rows(stencil())
    assert str(scheduled) == str(expected)
    assert scheduled.to_json() == expected.to_json()
    assert len(scheduled.history()) == len(expected.history())


def test_arithmetic_of_times_comes_back() -> None:
    """Signatures of ufuncs cannot say units."""
    (x,) = sl.variables("x")
    times, gaps = sl.BufferExpr("times", "M8[s]", 1), sl.BufferExpr("gaps", "m8[s]", 1)
    sl.arithmetic((times[x] - times[x - 1]) * 2, gaps[x], name="gaps")
    p = sl.build_pipeline([times], [gaps])
    q = sl.Pipeline.from_json(p.to_json())
    assert q.same_program(p)
    given = np.array([0, 1, 3], "M8[s]")
    np.testing.assert_array_equal(q(given).array, np.diff(given) * 2)


def test_arithmetic_that_writes_what_it_sees_along_other_axes_comes_back() -> None:
    """What its formula says of the dimensions is of those that it sees, not of those of the buffer."""
    y, x = sl.variables("y x")
    a, turned, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "turned", "out"))
    sl.arithmetic(a[y, x] + a[y - 1, 2 * x] * a[2, x], turned[y, x], name="term")
    sl.copies.copy(turned[x, 2 - y], out[y, x])
    p = sl.build_pipeline([a], [out])
    assert "view(out[:, :], [-x + 2, y]) = term(" in str(p)
    again(p)
    text = p.to_json()
    with pytest.raises(sl.FormatError, match="how an axis of a formula moves is not what its port reads"):
        sl.Pipeline.from_json(text.replace('{"dim": 1, "step": 2}', '{"dim": 1, "step": 3}'), {})


SEVERAL = (graphs(max_stages=4), image_graphs(max_stages=4), many_dimensions(max_stages=2))


@pytest.mark.long
@given(st.one_of(*SEVERAL), st.integers(0, 2**32), st.integers(0, 14))
@settings(max_examples=settings().max_examples)
def test_every_program_of_random_schedules_comes_back(graph: Graph, seed: int, steps: int) -> None:
    chain = Chain(build(graph, alias=seed % 2 == 0), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    again(chain.pipeline)
    again(random.Random(seed).choice(chain.versions)[0])


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if python_blocks(d)], ids=lambda path: str(path.relative_to(path.parent.parent))
)
def test_every_program_of_the_documents_comes_back(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sl.Pipeline] = []
    begin = sl.Pipeline.__init__

    def noted(self: sl.Pipeline, program: Any) -> None:
        begin(self, program)
        made.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(sl.Pipeline, "__init__", noted)
        namespace: dict[str, object] = {"__name__": "document"}
        for _, block in python_blocks(document):
            if ">>>" not in block:
                exec(compile(block, str(document), "exec"), namespace)
    for p in made:
        again(p)


def one_of_each_kind() -> sl.Pipeline:
    """A program with every kind of statement, mode and memory, and with layouts and folds."""
    i = variable("i")
    p = stencil()
    checks = [s for s in p.program.body if isinstance(s, ir.Check)]
    alloc = next(s for s in p.program.body if isinstance(s, Alloc))
    calls = [s for s in p.program.body if isinstance(s, Call)]
    other = attrs.evolve(alloc, buffer="other", layout=ir.Layout((None, sl.scalar("stride")), 64), id=-1)
    folded = attrs.evolve(alloc, buffer="folded", folds=(sl.scalar("rows"), None), id=-2)
    guest = attrs.evolve(alloc, buffer="guest", memory=ir.Within("intm"), id=-3)
    one = ir.For(i, sl.interval(0, 3), as_expr(1), ir.Parallel(sl.scalar("rows")), (ir.Pass(),))
    many = ir.For(i, sl.interval(0, 3), sl.scalar("rows"), ir.Parallel(), (ir.Pass(),))
    choice = ir.If(sl.scalar("rows") >= 3, (one,), (many,))
    scalars = (ScalarParameter("rows"), ScalarParameter("stride"))
    body = (*checks, alloc, other, folded, guest, choice, *calls)
    return sl.Pipeline(attrs.evolve(p.program, body=body, scalars=scalars))


def test_every_kind_of_statement_mode_and_memory_comes_back() -> None:
    p = one_of_each_kind()
    assert {type(s) for s in walk(p.program.body)} == set(KINDS)
    again(p)


# ----------------------------------------------------------------------------------------------------------------
# Values, dtypes, arrays, operations
# ----------------------------------------------------------------------------------------------------------------


def with_arguments(**arguments: Any) -> sl.Pipeline:
    """A pipeline whose callback is given these arguments."""
    (i,) = sl.variables("i")
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    sl.Func(lambda a, b, **_: np.copyto(b, a), [inp[i]], [out[i]], name="pass_on", arguments=arguments)
    return sl.build_pipeline([inp], [out])


def arguments_of(p: sl.Pipeline) -> dict[str, Any]:
    """What the only callback of a pipeline is given."""
    (call,) = [s for s in walk(p.program.body) if isinstance(s, Call)]
    return dict(call.func.operation.arguments)


STRUCTURE = np.dtype([("x", "<i4"), ("y", "<f8", (2, 3)), (("a title", "z"), [("deep", "u1")])], align=True)

VALUES = [
    None, True, 0, -1, 2**63, 2**64 - 1, -(10**30), 10**900, 1.5, -0.0, 5e-324, float("nan"), float("inf"),
    -float("inf"), 1 - 2j, complex(float("nan"), -float("inf")), "", "text\n\x00\ud800é", b"\x00\xff", (), [],
    (1, [2, {"a": (None,)}]), {}, {1: "one", (2, 3): [4]}, slice(1, None, -1), np.dtype(np.float32), STRUCTURE,
    np.int8(-3), np.bool_(True),
    np.float32("nan"), np.longdouble(1) / 3, np.datetime64("2020-01-01", "25s"), np.str_("é"), np.bytes_(b"a\x00b"),
    np.zeros((), STRUCTURE)[()], np.arange(6, dtype=">i2").reshape(2, 3), np.empty((0, 3)), np.array([np.nan, -0.0]),
    np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0).copy("K"), np.array("text"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_values_come_back_with_their_type_and_bits(value: Any) -> None:
    p = with_arguments(value=value)
    found = arguments_of(again(p))["value"]
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    if isinstance(value, (np.ndarray, np.generic)):
        assert found.dtype == value.dtype
        assert found.tobytes() == value.tobytes()
        assert found.size == 0 or found.strides == value.strides


def test_arguments_of_scalars_expressions_and_callbacks_come_back() -> None:
    n = sl.scalar("n")
    (i,) = sl.variables("i")
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    arguments = {"n": n, "twice": 2 * n + inp.dim(0).max, "factor": sl.scalar("factor", float), "by": [np.add, sum_3x3]}
    sl.Func(add_1, [inp[i]], [out[i]], arguments=arguments)
    p = sl.build_pipeline([inp], [out])
    q = sl.Pipeline.from_json(p.to_json(), {**CALLBACKS, "add": np.add})
    assert q.same_program(p)
    found = arguments_of(q)
    assert found["twice"] is arguments["twice"]
    assert found["by"] == [np.add, sum_3x3]
    assert found["factor"] == arguments["factor"]


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, np.array([None]), np.zeros(2, np.dtype("O")), range(3)], ids="abcde"
)
def test_what_cannot_be_written_is_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(sl.FormatError, match="func pass_on: ") as caught:
        with_arguments(value=value).to_json({"f": lambda: None})
    assert caught.value.where == "func pass_on"
    assert "cannot be written" in str(caught.value)


def test_values_that_nest_without_end_are_refused() -> None:
    value: list[Any] = []
    value.append(value)
    p = with_arguments(value=value)
    with pytest.raises(sl.FormatError, match="values nest at most 50 deep"):
        p.to_json(callbacks_of(p))


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        (np.float32, np.nan), (np.float64, -np.inf), (np.uint64, 2**64 - 1), (np.int64, -(2**63)), (np.complex64, 1j),
        (np.bool_, True), ("M8[s]", np.datetime64("2020-01-01", "s")), ("S3", b"ab"),
    ],
)  # fmt: skip
def test_what_copies_fill_with_comes_back(dtype: Any, fill: Any) -> None:
    y, x = sl.variables("y x")
    inp, out = sl.BufferExpr("inp", dtype, 2), sl.BufferExpr("out", dtype, 2)
    sl.copies.copy(inp[y - 1, x // 2], out[y, x], outside=fill)
    p = sl.build_pipeline([inp], [out])
    q = again(p)
    source = np.zeros((3, 4), dtype)
    targets = [np.empty((6, 9), dtype) for _ in range(2)]
    results = [r(source, target) for r, target in zip((p, q), targets, strict=True)]
    assert results[0].tobytes() == results[1].tobytes()


def test_structured_buffers_and_constants_come_back() -> None:
    y, x = sl.variables("y x")
    pixel = np.dtype([("r", "<u2"), ("g", "<u2"), ("alpha", "<f4")])
    inp, out = sl.BufferExpr("inp", pixel, 2), sl.BufferExpr("out", pixel, 2)
    weights = sl.constant("weights", np.arange(6.0).reshape(2, 3).T.astype(">f8"), min=(-1, 0))
    sl.Func(add_1, [inp[y, x], weights[:, :]], [out[y, x]], name="weigh")
    p = sl.build_pipeline([inp], [out])
    q = again(p)
    (before,), (after,) = p.program.constants, q.program.constants
    assert np.array_equal(before.array, after.array)
    assert before.array.strides == after.array.strides
    assert not after.array.flags.writeable


def test_functions_that_return_their_results_come_back_by_their_own_name() -> None:
    (i,) = sl.variables("i")
    inp, low, high = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "low", "high"))

    def halves(a: Any) -> Any:
        return a / 2, a - a / 2

    sl.Func(sl.returns(halves), [inp[i]], [low[i], high[i]])
    p = sl.build_pipeline([inp], [low, high])
    text = p.to_json()
    assert json.loads(text)["callbacks"] == ["halves"]
    q = sl.Pipeline.from_json(text, {"halves": halves})
    assert q.same_program(p)
    assert [list(r) for r in q(np.array([3.0, 5.0]))] == [[1.5, 2.5], [1.5, 2.5]]


# ----------------------------------------------------------------------------------------------------------------
# Callbacks
# ----------------------------------------------------------------------------------------------------------------


def test_missing_callbacks_are_listed_all_at_once() -> None:
    text = stencil().to_json()
    with pytest.raises(sl.MissingCallbackError) as caught:
        sl.Pipeline.from_json(text)
    assert caught.value.names == ("add_1", "sum_3x3")
    assert str(caught.value) == "from_json() needs 2 more callbacks, by name: callbacks={'add_1': ..., 'sum_3x3': ...}"
    with pytest.raises(sl.MissingCallbackError, match=r"needs 1 more callback, by name: .*'add_1'"):
        sl.Pipeline.from_json(text, {"sum_3x3": sum_3x3, "others": add_1})


def test_callbacks_without_a_name_are_refused_and_can_be_named() -> None:
    p = with_arguments()
    with pytest.raises(sl.FormatError, match=r"func pass_on: .*lambda.* has no name .*to_json\(callbacks="):
        p.to_json()
    (function,) = callbacks_of(p).values()
    text = p.to_json({"pass_on": function})
    assert sl.Pipeline.from_json(text, {"pass_on": function}).same_program(p)


def test_two_callbacks_of_one_name_are_refused_and_can_be_named() -> None:
    def scaled(by: int) -> Callable[..., None]:
        def scale(a: Any, b: Any) -> None:
            np.multiply(a, by, out=b)

        return scale

    (i,) = sl.variables("i")
    inp, between, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "between", "out"))
    two, three = scaled(2), scaled(3)
    sl.Func(two, [inp[i]], [between[i]], name="double")
    sl.Func(three, [between[i]], [out[i]], name="triple")
    p = sl.build_pipeline([inp], [out])
    with pytest.raises(sl.FormatError, match=r"func triple: its callback is called 'scale', as .* func double"):
        p.to_json()
    text = p.to_json({"scale_3": three})
    q = sl.Pipeline.from_json(text, {"scale": two, "scale_3": three})
    assert list(q(np.arange(3, dtype=np.int32))) == [0, 6, 12]


def test_methods_and_partial_functions_are_found_among_those_given() -> None:
    class Kernel:
        def run(self, a: Any, b: Any) -> None:
            np.copyto(b, a)

    kernel, bound = Kernel(), functools.partial(np.add, 1)
    (i,) = sl.variables("i")
    inp, between, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "between", "out"))
    sl.Func(kernel.run, [inp[i]], [between[i]])
    sl.Func(bound, [between[i]], [out[i]], name="bound")
    p = sl.build_pipeline([inp], [out])
    names = {"copied": kernel.run, "one_more": bound}
    text = p.to_json(names)
    assert json.loads(text)["callbacks"] == ["copied", "one_more"]
    assert sl.Pipeline.from_json(text, names).same_program(p)


@pytest.mark.parametrize("given", [[add_1], {1: add_1}, {"": add_1}, {"add_1": None}], ids="abcd")
def test_what_is_no_dictionary_of_callbacks_is_refused(given: Any) -> None:
    with pytest.raises(sl.ArgumentError, match=r"to_json\(\): "):
        stencil().to_json(given)
    with pytest.raises(sl.ArgumentError, match=r"from_json\(\): "):
        sl.Pipeline.from_json(stencil().to_json(), given)
