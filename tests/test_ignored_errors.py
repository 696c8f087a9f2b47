"""Arithmetic that says nothing of some floating-point errors, as what stands in a block of `np.errstate`."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from traced import PIECES, assert_same, for_c, jit

import slinky as sl
from slinky.ir.formulas import ERRORS

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
BACKENDS = ["python", pytest.param("native", marks=needs_compiler), "interpreter"]


def planes(*shape: int) -> tuple[Array, Array]:
    """Numbers that are divided by zero here and there, 0/0 among them."""
    a, b = np.random.default_rng(sum(shape)).integers(0, 3, (2, *shape)).astype(np.float64)
    return a, b


def told(function: Any, *arrays: Any) -> list[str]:
    """What is said of floating-point errors, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arrays)
    return sorted({str(each.message).partition(" encountered")[0] for each in caught})


def index(near: Any, red: Any) -> Any:
    """A ratio, and another value where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (near - red) / (near + red - 2)
        return np.where(np.isfinite(ratio), ratio, -1) * 2


def ratios(*ignored: str) -> sl.Pipeline:
    """Two quotients of the same arrays, the first of which says nothing of some errors."""
    a, b, first, second = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "b", "first", "second"))
    sl.arithmetic((a[y, x] - 1) / (b[y, x] - 1) + 1, first[y, x], name="quiet", ignored=ignored)
    sl.arithmetic(a[y, x] * np.float64(1e308) + b[y, x], second[y, x], name="loud")
    return sl.build_pipeline([a, b], [first, second])


@pytest.mark.parametrize("make", [lambda f: jit(f, machine=PIECES), for_c], ids=["python", "for C"])
def test_what_ignores_the_same_is_one_func(make: Any) -> None:
    """A block is as much one func as arithmetic outside of one, and what follows it is another one."""
    a, b = planes(60, 70)
    traced = make(index)
    assert [call.name() for call in traced.pipeline(a, b).find_all("_ = _")] == ["multiply"]
    assert_same(traced(a, b), index(a, b))
    assert told(traced, a, b) == []

    def after(near: Any, red: Any) -> Any:
        return index(near, red) / (red - 1)

    traced = make(after)
    assert len(traced.pipeline(a, b).find_all("_ = _")) == 2
    with np.errstate(all="ignore"):
        want = after(a, b)
        assert_same(traced(a, b), want)
    assert told(traced, a, b) == told(after, a, b) == ["divide by zero"]


def test_what_is_read_elsewhere_too_keeps_its_errors() -> None:
    """For C, what is computed again by those that read its neighbours ignores what they ignore."""

    def f(near: Any, red: Any) -> Any:
        with np.errstate(over="ignore"):
            product = near * red
        return product[1:] - product[:-1]

    a = b = np.full((40, 60), 1e200)
    traced = for_c(f)
    assert len(traced.pipeline(a, b).find_all("_ = _")) == 2
    assert told(traced, a, b) == told(f, a, b) == ["invalid value"]
    assert len(for_c(lambda near, red: (near * red)[1:] - (near * red)[:-1]).pipeline(a, b).find_all("_ = _")) == 1


@pytest.mark.parametrize("native", [False, pytest.param(True, marks=needs_compiler)])
def test_errors_of_the_others_are_told(native: bool) -> None:
    """What is raised around a function is raised of operations outside of its blocks alone."""

    def f(near: Any, red: Any) -> Any:
        return index(near, red), near * 2, near / (red + 1)

    a, b = planes(50, 80)
    traced = sl.jit(native=native, workers=1, smallest=0, machine=PIECES)(f)
    with np.errstate(all="raise"):
        assert_same(traced(a, b), f(a, b))
        with pytest.raises(FloatingPointError, match="divide by zero"):
            traced(a + 1, b * 0 - 1)
    assert told(traced, a + 1, b * 0 - 1) == ["divide by zero"]


@pytest.mark.parametrize("native", [False, pytest.param(True, marks=needs_compiler)])
def test_settings_that_ask_for_more_hold(native: bool) -> None:
    """A block that warns, where what is around it ignores, is told of its errors, and of no others."""

    def f(near: Any, red: Any) -> Any:
        quiet = near / red
        with np.errstate(divide="warn"):
            return near / (red - 1) + 1, quiet

    a, b = planes(50, 80)
    traced = sl.jit(native=native, workers=1, smallest=0, machine=PIECES)(f)
    with np.errstate(all="ignore"):
        assert told(f, a, b) == told(traced, a, b) == told(traced, a, b) == ["divide by zero"]


def test_masked_operations_ignore_errors_too() -> None:
    """What no formula has, as ufuncs with `where`, says nothing either, and about other errors what is set then."""

    def f(near: Any, red: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.divide(near, red, out=np.zeros(near.shape), where=near > 0)

    a, b = planes(40, 60)
    traced = jit(f, machine=PIECES)
    assert_same(traced(a, b), f(a, b))
    assert told(traced, a, b) == told(f, a, b) == []
    a[:] = b[:] = np.inf
    assert told(traced, a, b) == told(f, a, b) == ["invalid value"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("ignored", [(), ("divide",), ("invalid",), ("divide", "invalid"), ("over",)], ids=str)
def test_a_func_is_silent_about_its_own_errors(backend: str, ignored: tuple[str, ...]) -> None:
    """Each func by itself, and in strips of a loop in which the other one stands."""
    p = ratios(*ignored)
    a, b = planes(30, 40)
    own = {"divide": "divide by zero", "invalid": "invalid value"}
    want = sorted({"overflow"} | {own[each] for each in own if each not in ignored})
    strips = sl.fuse_loops(sl.split_loop(sl.split_loop(p, "quiet.y", 1), "loud.y", 1), "for y", "for y #1")
    for q in (p, strips):
        first, second = np.zeros_like(a), np.zeros_like(a)

        def run(q: sl.Pipeline = q, first: Array = first, second: Array = second) -> None:
            q.run(a, b, first, second, backend=backend)
            if backend != "interpreter":  # which has no plans
                q.compile(backend=backend)(a, b, first, second)

        assert told(run) == want
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(first, (a - 1) / (b - 1) + 1)
            np.testing.assert_array_equal(second, a * 1e308 + b)
        settings: Any = {each: "raise" if each in ignored and each != "over" else "ignore" for each in ERRORS}
        with np.errstate(**settings):
            q.run(a, b, first, second, backend=backend)


@needs_compiler
def test_errors_that_were_there_before_stay() -> None:
    """In C, a func that ignores errors of a kind keeps those that another one has had, and forgets its own."""
    a, b, first, second = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "b", "first", "second"))
    sl.arithmetic(a[y, x] / b[y, x], first[y, x], name="loud")
    sl.arithmetic(first[y, x] * 0 + a[y, x] / (b[y, x] - 1), second[y, x], name="quiet", ignored=["divide", "invalid"])
    p = sl.split_loop(sl.build_pipeline([a, b], [second]), "quiet.y", 1)
    p = sl.store_at(sl.compute_at(p, "loud", "for y"), "alloc first", "for y")
    ones = np.ones((5, 40))
    for row, want in ((0, ["divide by zero"]), (None, [])):
        divisors = ones + 1
        if row is not None:
            divisors[row] = 0
        second_values = np.zeros_like(ones)
        divisors[3:] = 1
        assert told(lambda d=divisors, s=second_values: p.run(ones, d, s, backend="native")) == want
        assert told(lambda d=divisors, s=second_values: p.compile(backend="native")(ones, d, s)) == want


@needs_compiler
def test_lines_of_few_elements() -> None:
    """In C, a func that ignores errors does so in tiles, too, where others are lines of the loop."""
    a, b, first, second = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "b", "first", "second"))
    sl.arithmetic(a[y, x] / b[y, x], first[y, x], name="quiet", ignored=["divide", "invalid"])
    sl.arithmetic(first[y, x] + 1, second[y, x], name="rest")
    p = sl.split_loop(sl.split_loop(sl.build_pipeline([a, b], [second]), "rest.y", 1), "rest.x", 8)
    p = sl.store_at(sl.compute_at(p, "quiet", "for x"), "alloc first", "for x")
    values, divisors = planes(6, 43)
    got = np.zeros_like(values)
    assert told(lambda: p.run(values, divisors, got, backend="native")) == []
    assert told(lambda: p.compile(backend="native")(values, divisors, got)) == []
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, values / divisors + 1)


def test_written_down() -> None:
    """As JSON and as Python, a func ignores what it did."""
    p = ratios("invalid", "divide")
    assert sl.Pipeline.from_json(p.to_json()).same_program(p)
    assert not ratios("divide").same_program(p)
    space: dict[str, Any] = {}
    exec(p.to_graph_code(), space)
    assert "ignored=('divide', 'invalid')" in p.to_graph_code()
    assert any(isinstance(made, sl.Pipeline) and made.same_program(p) for made in space.values())
    for given in ('["divide", "zero"]', '["invalid", "divide"]', '["divide", "divide"]', '"divide"'):
        written = json.dumps(json.loads(p.to_json())).replace('["divide", "invalid"]', given)
        with pytest.raises(sl.FormatError):
            sl.Pipeline.from_json(written)


@pytest.mark.parametrize("given", ["divide", ["zero"], [None], 3, ["divide", []]], ids=repr)
def test_what_is_no_error(given: Any) -> None:
    a, b = (sl.BufferExpr(name, np.float64, 2) for name in "ab")
    with pytest.raises(sl.GraphError, match="arithmetic\\(\\) ignores errors of 'divide', 'invalid', 'over', 'under'"):
        sl.arithmetic(a[y, x] / 2, b[y, x], ignored=given)
