"""Pipelines of traced functions are named after the functions' own variables; `explain` says what becomes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_traced_functions import CALLS
from traced import assert_same, image, jit

import slinky as sl


def funcs_of(p: Any) -> set[str]:
    """The names of the funcs of a pipeline."""
    return {str(line).split("= ", 1)[1].split("(")[0] for line in str(p).splitlines() if " = " in line}


def halved(values: Any) -> Any:
    doubled = values[::2] * 2
    return doubled - values[1::2]


def test_funcs_and_buffers_are_called_like_variables() -> None:
    def enhance(photo: Any) -> Any:
        padded = np.pad(photo, 1, mode="edge")
        soft = padded[2:, 1:-1] + padded[:-2, 1:-1]
        low = soft.min(axis=0)
        soft = np.sort(soft - low, axis=1)
        return np.cumsum(soft, axis=0)

    p = jit(enhance).pipeline(image(9, 8))
    assert funcs_of(p) == {"padded", "soft", "low", "subtract", "soft_1", "cumsum"}
    assert {"padded_result", "soft_result", "low_result", "soft_result_1"} <= set(str(p).replace("[", " ").split())
    assert p.find("padded").func() == "padded"


def test_helpers_name_their_own_and_hand_on() -> None:
    def both(image_: Any) -> Any:
        rest = halved(image_)
        return np.sort(rest, axis=0)

    p = jit(both).pipeline(image(8, 5))
    assert funcs_of(p) == {"rest", "sort"}  # doubled is part of the arithmetic of rest


def test_names_are_never_those_of_other_values() -> None:
    def several(photo: Any) -> Any:
        first = second = np.sort(photo, axis=0)
        third = np.sort(photo, axis=1)[0]
        fourth = [np.cumsum(photo, axis=0), 3]
        y = np.cumsum(photo, axis=1)
        low, high = photo.min(), photo.max()
        same = np.sort(photo, axis=0)
        for _ in range(3):
            photo = np.sort(photo[::-1] * 2, axis=0)
        return first, second, third, fourth, y, low, high, same, photo

    p = jit(several).pipeline(image(8, 5))
    given = funcs_of(p)
    assert not given & {"first", "second", "third", "fourth", "y", "x", "same"}
    assert "photo_1" in given
    assert len([line for line in str(p).splitlines() if " = " in line]) >= len(given)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_named_is_what_the_variable_holds(name: str) -> None:
    """Whatever a function does inside, the variable's name is that of the value that comes back."""
    function = CALLS[name]

    def kept_in_a_variable(photo: Any) -> Any:
        found = function(photo)
        return found, photo * 2

    traced = jit(kept_in_a_variable)
    array = image(6, 5)
    result = traced(array)[0]
    (trace,) = [trace for kept in traced._traces.by_kind.values() for trace in kept] or [None]
    named = [node for node in trace.nodes if node.name == "found"] if trace is not None else []
    assert not named or isinstance(result, (np.ndarray, np.generic))
    for node in named:
        assert node in {view.result.node for view in trace.outputs}


def test_filters_are_called_like_variables() -> None:
    pytest.importorskip("scipy")

    def enhance(photo: Any) -> Any:
        smooth = sl.ndimage.gaussian_filter(photo, 2, mode="reflect")
        return np.clip(photo + 1.5 * (photo - smooth), 0, 1)

    p = jit(enhance).pipeline(image(20, 17))
    assert "smooth" in funcs_of(p)
    assert p.find("smooth").func() == "smooth"


def test_explain_shows_the_schedule_and_the_lines_that_asked() -> None:
    def ask(photo: Any) -> Any:
        padded = np.pad(photo, 1, mode="edge")
        if photo.shape[0] > 3:
            padded = padded * 2
        return padded[1:] - padded[:-1] + np.linalg.tensorinv(photo[:2, :2], 1).sum()

    text = jit(ask).explain(np.eye(400, 300))
    first = ask.__code__.co_firstlineno
    assert f"good where 4 <= photo.shape[0], asked in {__file__}, line {first + 2}" in text
    assert "at once: linalg.tensorinv is not understood" in text
    assert f"line {first + 4}" in text
    assert "predicted for 1 worker" in text
    assert "padded" in text.split("predicted")[1]


def test_variables_named_like_words_of_python() -> None:
    """An underscore makes a name of a word, and of a number: funcs have one there, too."""

    def f(image: Any) -> Any:
        lambda_ = image.mean(0)
        _if = image + lambda_
        _0 = _if * 2
        from_ = np.sqrt(abs(_0))
        return from_ + _0 + _if

    x = image(5, 6)
    traced = jit(f)
    assert_same(traced(x), f(x), rounded=True)
    named = type(f)(f.__code__, f.__globals__, "class")
    assert_same(jit(named)(x), f(x), rounded=True)
    assert {call.name() for call in traced.pipeline(x).find_all("_ = _")} & {"lambda_", "if_", "from_"}


def test_what_holds_of_all_sizes_is_not_told() -> None:
    """That no extent is negative, nor a sum or a part of some."""
    function = jit(lambda x: np.pad(x, 1)[: x.shape[0] + 1, : x.shape[1] // 2 + 2][1:])
    told = [line for line in function.explain(image(4, 6)).splitlines() if line.startswith("good where")]
    assert not [line for line in told if " -" in line or line.startswith("good where 0 <= ")], told


def test_explain_counts_operations_of_one_name_where_there_are_many() -> None:
    few = jit(lambda x: -(x + 1) + 2)
    assert few.explain(image(5, 6)).splitlines()[0].endswith("is traced: 3 operations: add, negative, add")
    one = jit(lambda x: x + 1)
    assert one.explain(image(5, 6)).splitlines()[0].endswith("is traced: 1 operation: add")

    def many(x: Any) -> Any:
        for k in range(10):
            x = x * 2 + k
        return np.sqrt(x)

    first = jit(many).explain(image(5, 6)).splitlines()[0]
    assert first == "many is traced: 21 operations: multiply (10 times), add (10 times), sqrt"


def test_dimensions_of_reductions_have_the_names_that_their_operands_have() -> None:
    """Rows stay `y` where columns are added up, and columns `x` where rows are."""
    a = np.ones((30, 40))
    rows = str(jit(lambda a: a.sum(axis=1)).pipeline(a))
    assert "check sum_result.y.max == a.y.max" in rows
    assert "a.x" not in rows
    columns = str(jit(lambda a: (a * 2).max(axis=0)).pipeline(a))
    assert "check max_result.x.max == a.x.max" in columns
    kept = str(jit(lambda a: np.sort(a, axis=0).mean(axis=1)).pipeline(a))
    assert "whole sort.y" in kept
    assert "mean_result.y" in kept
