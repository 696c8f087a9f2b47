"""Texts that are no pipelines are refused, and the error says where; whatever a text says, no callback runs."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build
from random_schedules import Chain
from round_trips import callbacks_of
from scheduled import add_1, by_rows, stencil
from test_json import CALLBACKS, SEVERAL, one_of_each_kind, with_arguments

import slinky as sl

y = sl.variables("y")[0]

# ----------------------------------------------------------------------------------------------------------------
# Texts that are refused
# ----------------------------------------------------------------------------------------------------------------


def changed(change: Callable[[dict[str, Any]], Any], p: sl.Pipeline | None = None) -> str:
    """The text of a pipeline, with a change made to what it says."""
    document = json.loads((p or by_rows(stencil())[0]).to_json())
    change(document)
    return json.dumps(document)


def put(value: Any, *path: Any) -> Callable[[dict[str, Any]], Any]:
    """A change: another value at a place."""

    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


def add_expression(*entry: Any) -> Callable[[dict[str, Any]], Any]:
    """A change: one more expression, which nobody asks for."""
    return lambda document: document["expressions"].append(list(entry))


NESTED = {"kind": "If", "condition": 3, "body": []}
for _ in range(200):
    NESTED = {"kind": "If", "condition": 3, "body": [NESTED]}

DEEP: Any = 0
for _ in range(60):
    DEEP = {"list": [DEEP]}

CALL = ("program", "body", 5, "body", 0)

HOSTILE: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (put("other", "format"), "the document: it is no pipeline of slinky"),
    (put(2, "version"), "the document: it has version 2 of the format; this slinky reads version 1"),
    (put(True, "version"), "it has version True"),
    (lambda d: d.pop("funcs"), "the document: 'funcs' is missing"),
    (put([], "more"), "the document: 'more' is not known here"),
    (put({}, "callbacks"), "callbacks: expected a list, got an object"),
    (put([], "callbacks"), "funcs[0].operation.function: the callback 'add_1' is not listed in 'callbacks'"),
    (add_expression(), "expected an expression"),
    (add_expression("import", "os"), "]: expected an expression, such as ['constant', 0], got the kind 'import'"),
    (add_expression("constant", 1.5), "expected an integer, got 1.5"),
    (add_expression("constant", True), "expected an integer, got true"),
    (add_expression("constant", 2**128), "an integer of an expression has at most 128 bits"),
    (add_expression("constant", 1, 2), "expected a list of 2, got 3"),
    (add_expression("variable", "x); import os; ("), "expected a name such as 'y' or 'blur.y'"),
    (add_expression("scalar", "lambda"), "expected a name that is an identifier of Python, got 'lambda'"),
    (add_expression("metadata", "inp", -1, "min"), "expected 0 or more, got -1"),
    (add_expression("metadata", "inp", 0, "__class__"), "buffers know no '__class__' of a dimension"),
    (add_expression("quotient", 0, 1000), "there is no number 1000 among the 33 expressions that were read"),
    (lambda d: d["expressions"].append(["max", len(d["expressions"])]), "there is no number"),
    (lambda d: d["expressions"].extend([["constant", 0], ["quotient", 0, len(d["expressions"])]]), "divides by zero"),
    (add_expression("product", 0), "a product is of two or more factors"),
    (add_expression("min"), "a smallest or largest is of one or more parts"),
    (add_expression("select", 0, 0, 0), "expected a condition, got the expression 0"),
    (put("object", "program", "inputs", 0, "dtype"), "program.inputs[0].dtype: expected a dtype, such as '<i2'"),
    (put("|O8", "program", "inputs", 0, "dtype"), "expected a dtype, such as '<i2', got '|O8'"),
    (put("<i7", "program", "inputs", 0, "dtype"), "NumPy knows no such dtype"),
    (put("<U0", "program", "inputs", 0, "dtype"), "inputs[0].dtype: the elements of a dtype take a byte or more"),
    (put({"of": "<i2", "shape": [10**30]}, "program", "inputs", 0, "dtype"), "NumPy knows no such dtype"),
    (put({"of": "<i2", "shape": [2]}, "program", "inputs", 0, "dtype"),
     "program: inp has the dtype ('<i2', (2,)), whose elements are arrays"),
    (put("inp]: x\nimport os", "program", "name"), "expected a name that is an identifier of Python"),
    (put("import", "program", "inputs", 0, "name"), "a parameter needs a name that is an identifier"),
    (put(["y", "y"], "program", "inputs", 0, "dims"), "the dimensions of inp need a name or a number each"),
    (put(["y"], "program", "inputs", 0, "dims"), "is not in scope"),
    (put({"kind": "Evil"}, "program", "body", 0),
     "program.body[0]: expected one of Alloc, Call, For, If, Check, Pass, got the kind 'Evil'"),
    (put([], "program", "body"), "no statement writes output 'out'"),
    (put([NESTED], "program", "body"), "statements nest at most 100 deep"),
    (put(9, *CALL, "func"), "program.body[5].body[0].func: there is no number 9 among the 2 funcs"),
    (put(["nobody"], *CALL, "reads"), "buffer 'nobody' is not in scope"),
    (put(["inp"], *CALL, "writes"), "call of add: it writes 'inp', which may only be read"),
    (put([], *CALL, "box"), "a Call of add needs 2 intervals in its box, got 0"),
    (put(3, "program", "body", 5, "step"), "expected an integer expression, got the expression 3"),
    (put(0, "program", "body", 5, "variable"), "expected a variable, got the expression 0"),
    (put({"kind": "Serial", "workers": 1}, "program", "body", 5, "mode"), "mode: 'workers' is not known here"),
    (put({"kind": "Within", "host": "nobody"}, "program", "body", 4, "memory"), "'nobody', which is not allocated"),
    (put({"strides": [None], "alignment": 3}, "program", "body", 4, "layout"), "an alignment is a power of two, got 3"),
    (put("add.y", "funcs", 0, "dims"), "funcs[0].dims: expected a list, got 'add.y'"),
    (put("a b", "funcs", 0, "name"), "a func needs a name that is an identifier of Python"),
    (put([], "funcs", 0, "outputs"), "it produces nothing"),
    (put([0, 0], "funcs", 0, "outputs", 0, "dims"), "positions of the func's 2 dimensions, each once at most"),
    (put([0, 7], "funcs", 0, "outputs", 0, "dims"), "positions of the func's 2 dimensions"),
    (put([[5, [0, 0]]], "funcs", 0, "whole"), "whole dimensions are positions"),
    (put([[0, 0]], "funcs", 0, "multiples"), "a multiple is 1 or more"),
    (put([["a-b", 1]], "funcs", 0, "operation", "arguments"), "arguments have names"),
    (put([["a", {"eval": "1"}]], "funcs", 0, "operation", "arguments"), "there are no values of the kind 'eval'"),
    (put([["a", {"array": {"dtype": "<i2", "shape": [3], "data": "AAAA"}}]], "funcs", 0, "operation", "arguments"),
     "an array of this shape has 6 bytes, got 3"),
    (put([["a", {"array": {"dtype": "<i2", "shape": [10**40, 0], "data": ""}}]], "funcs", 0, "operation", "arguments"),
     "NumPy makes no such array"),
    (put([["a", {"bytes": "no base"}]], "funcs", 0, "operation", "arguments"), "expected bytes in base 64"),
    (put([["a", DEEP]], "funcs", 0, "operation", "arguments"), "values nest at most 50 deep"),
    (put([["a", {"float": "1e5"}]], "funcs", 0, "operation", "arguments"), "expected 'nan', 'inf' or '-inf'"),
    (put([["a", {"dict": [[[], 1]]}]], "funcs", 0, "operation", "arguments"), "expected a value"),
    (put([["a", {"dict": [[{"list": []}, 1]]}]], "funcs", 0, "operation", "arguments"), "a list cannot be a key"),
    (put([["a", {"expression": 24}]], "funcs", 0, "operation", "arguments"), "variable add.y is not in scope"),
    (put([[0, [0, 24]]], "funcs", 0, "whole"), "variable add.y is not in scope"),
    (put({"dims": [24, 25], "index": [24, 27], "box": [[24, 24], [25, 25]]}, "funcs", 0, "inputs", 0, "view"),
     "a view is not shown to lie in what its port reads or writes, at 'stencil.y'"),
    (put({"dims": [24, 25], "index": [24, 25], "box": [[24, 27], [25, 25]]}, "funcs", 0, "inputs", 0, "view"),
     "a view is not shown to lie in what its port reads or writes, at 'add.y'"),
    (put({"dims": [24, 25], "index": [25, 24], "box": [[24, 24], [25, 25]]}, "funcs", 0, "inputs", 0, "view"),
     "a view is not shown to lie in what its port reads or writes, at 'add.x'"),
    (put({"dims": [24], "index": [24, 24], "box": []}, "funcs", 0, "inputs", 0, "view"), "a view has an index for"),
    (put([["a", {"scalar": "z"}]], "funcs", 0, "operation", "arguments"), "scalar z is not a parameter"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=lambda given: given if isinstance(given, str) else "")
def test_a_text_that_says_something_wrong_is_refused_and_says_where(change: Any, message: str) -> None:
    with pytest.raises(sl.FormatError) as caught:
        sl.Pipeline.from_json(changed(change), CALLBACKS)
    assert message in str(caught.value)
    assert caught.value.where
    assert pickle.loads(pickle.dumps(caught.value)).where == caught.value.where


@pytest.mark.parametrize(("given", "message"), [
    ("sin", "what combines elements is a ufunc of two of them, got sin"),
    ("divmod", "what combines elements is a ufunc of two of them, got divmod"),
])  # fmt: skip
def test_what_combines_elements_is_a_ufunc_of_two(given: str, message: str) -> None:
    a, total = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("total", np.int64, 1)
    sl.reductions.sum(a[y, :], total[y])
    whole = sl.build_pipeline([a], [total])
    for p in (whole, sl.split_reduction(whole, "sum", "x", 1)):
        named = callbacks_of(p)
        text = p.to_json(named)
        assert sl.Pipeline.from_json(text, named).to_json(named) == text
        assert '"combine": "add"' in text
        with pytest.raises(sl.FormatError, match=message):
            sl.Pipeline.from_json(text.replace('"combine": "add"', f'"combine": "{given}"'), named)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no JSON: Expecting value, at line 1, column 1"),
        ("{\n  'format'", "at line 2, column 3"),
        ("null", "it is no pipeline of slinky"),
        ("[]", "it is no pipeline of slinky"),
        (b"\xff\xfe\xfd", "this is no JSON: "),
        ("[" * 100_000, "the text nests too deep"),
        ("[" * 100_000 + "]" * 100_000, "the text nests too deep"),
        ('{"format": NaN}', "this is no JSON: NaN is no number"),
        ('{"version": 1, "version": 1}', "an object has the key 'version' twice"),
        ("9" * 10_000, "this is no JSON: "),
        (None, "from_json() expects the text that to_json() wrote, got NoneType"),
    ],
    ids=lambda given: repr(given)[:30],
)
def test_what_is_no_text_of_a_pipeline_is_refused(text: Any, message: str) -> None:
    with pytest.raises(sl.FormatError) as caught:
        sl.Pipeline.from_json(text, CALLBACKS)
    assert message in str(caught.value)


def test_a_text_that_ends_early_is_refused_wherever_it_ends() -> None:
    text = by_rows(stencil())[0].to_json().rstrip()
    for length in range(0, len(text), 7):
        with pytest.raises(sl.FormatError, match="this is no JSON: "):
            sl.Pipeline.from_json(text[:length], CALLBACKS)


def grown(kind: str, count: int) -> Callable[[dict[str, Any]], Any]:
    """A change: expressions that are short in the text and would be long when they are put into each other."""

    def change(document: dict[str, Any]) -> None:
        table = document["expressions"]
        for _ in range(count):
            last = len(table) - 1
            table.append(["variable", f"v{last}"])
            match kind:
                case "sum":
                    table.append(["sum", 0, [[last, 3], [last + 1, 1]]])
                case "min":
                    table.append(["min", last, last + 1])
                case "and":
                    table.append(["nonnegative", last + 1])
                    table.append(["and", last, last + 2])

    return change


@pytest.mark.parametrize("kind", ["sum", "min", "and"])
def test_a_short_text_makes_no_long_expressions(kind: str) -> None:
    start = add_expression("nonnegative", 0) if kind == "and" else add_expression("variable", "w")

    def change(document: dict[str, Any]) -> None:
        start(document)
        grown(kind, 3000)(document)

    with pytest.raises(sl.FormatError, match="grows when it is brought into its canonical form"):
        sl.Pipeline.from_json(changed(change), CALLBACKS)


def test_expressions_that_nest_deeper_than_the_limit_are_refused_both_ways() -> None:
    def change(document: dict[str, Any]) -> None:
        table = document["expressions"]
        table += [["scalar", "n"], ["quotient", 0, len(table)]]
        n = len(table) - 2
        for _ in range(5_001):
            table += [["sum", 1, [[len(table) - 1, 1]]], ["quotient", len(table), n]]

    with pytest.raises(sl.FormatError, match="expressions nest at most 10000 deep"):
        sl.Pipeline.from_json(changed(change), CALLBACKS)
    n = sl.scalar("n")
    deep: Any = n
    for _ in range(5_001):
        deep = (deep + 1) // n
    with pytest.raises(sl.FormatError, match="expressions nest at most 10000 deep"):
        with_arguments(deep=deep).to_json({"f": add_1})


# ----------------------------------------------------------------------------------------------------------------
# Any other text
# ----------------------------------------------------------------------------------------------------------------


def read_any(text: str | bytes, names: set[str]) -> sl.Pipeline | None:
    """What is read of a text, if anything; it then is as good as any other pipeline."""
    callbacks = {name: Named(name) for name in names}
    try:
        p = sl.Pipeline.from_json(text, callbacks)
    except (sl.FormatError, sl.MissingCallbackError):
        return None
    p.verify()
    assert str(p)
    again = sl.Pipeline.from_json(p.to_json(callbacks), callbacks)
    assert str(again) == str(p)
    assert again.same_program(p)
    return p


@attrs.frozen
class Named:
    """A callback that is only compared."""

    name: str

    def __call__(self, *_: Any, **__: Any) -> None:
        raise AssertionError("a callback was called")


OTHER: list[Any] = [
    None, True, 0, 1, -1, 5, 2**70, 1e9, "", "x", "inp", "out", "<i4", [], [0], [0, 0], {}, {"kind": "Pass"},
    {"kind": "Serial"}, {"float": "nan"},
]  # fmt: skip


def mutated(document: Any, draw: random.Random) -> Any:
    """A document with a change at one place: another value, one from another place, or one more or less."""
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        value = waiting.pop()
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        places += [(value, key) for key in keys]
        waiting += [value[key] for key in keys]
    holder, key = draw.choice(places)
    other, place = draw.choice(places)
    match draw.choice(["other", "number", "from", "from", "without", "twice"]):
        case "other":
            holder[key] = copy.deepcopy(draw.choice(OTHER))
        case "number" if type(holder[key]) is int:
            holder[key] += draw.choice([-2, -1, 1, 2])
        case "from":
            holder[key] = copy.deepcopy(other[place])
        case "without":
            del holder[key]
        case "twice" if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
    return document


@pytest.mark.long
@given(st.one_of(*SEVERAL), st.integers(0, 2**32), st.integers(0, 8), st.integers(1, 3))
@settings(max_examples=settings().max_examples)
def test_a_changed_text_is_refused_or_is_a_program(graph: Graph, seed: int, steps: int, changes: int) -> None:
    draw = random.Random(seed)
    chain = Chain(build(graph), draw.choice)
    for _ in range(steps):
        chain.step()
    names = callbacks_of(chain.pipeline)
    text = chain.pipeline.to_json(names)
    for _ in range(10):
        document = json.loads(text)
        for _ in range(changes):
            document = mutated(document, draw)
        read_any(json.dumps(document), set(names))


@given(st.data())
def test_a_text_with_other_letters_is_refused_or_is_a_program(data: st.DataObject) -> None:
    text = one_of_each_kind().to_json()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    put = data.draw(st.text(alphabet='0123456789[]{}",:-.e\\ntfxy ', max_size=6))
    read_any(text[:start] + put + text[end:], set(CALLBACKS))
