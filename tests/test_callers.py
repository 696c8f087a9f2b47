"""Warnings are ascribed to the lines of whoever calls slinky."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import numbers, plane

import slinky as sl
from slinky.callers import level

pytestmark = pytest.mark.usefixtures("quick_libraries")


def ascribed(function: Any) -> list[tuple[str, int]]:
    """The files and lines that the warnings of a call are ascribed to, from the line of the call on."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        function()
    begin = inspect.getsourcelines(function)[1]
    return [(each.filename, each.lineno - begin) for each in told]


@needs_compiler
@pytest.mark.parametrize("stages", [1, 3])
def test_what_c_divides_by_is_told_of_where_it_is_called(stages: int) -> None:
    """As NumPy says it at the line that divides."""
    y, x = sl.variables("y x")
    planes = [plane(name, np.float32) for name in "abcd"[: stages + 1]]
    for n in range(stages):
        sl.arithmetic(1 / planes[n][y, x], planes[n + 1][y, x], name=f"f{n}")
    p = sl.build_pipeline([planes[0]], [planes[-1]])
    plan = p.compile(backend="native")
    zeros = np.zeros((4, 5), np.float32)
    bound = sl.split_loop(p, f"f{stages - 1}.y", 2).compile(backend="native").bind([zeros, zeros.copy()], {})
    for function in (lambda: plan(zeros, zeros.copy()), lambda: bound()):
        assert ascribed(function)
        assert set(ascribed(function)) == {(__file__, 0)}


@needs_compiler
def test_traced_functions_tell_of_the_line_that_calls_them() -> None:
    traced = sl.jit(smallest=0, workers=1, machine=sl.Machine(), native=True)(lambda a: 1 / a[1:] + a[:-1])
    zeros = np.zeros((4, 5))
    assert set(ascribed(lambda: traced(zeros))) == {(__file__, 0)}
    assert not ascribed(lambda: traced(numbers((4, 5), np.float64) + 10))


def test_the_level_is_that_of_the_caller() -> None:
    assert level() == 1
    names: dict[str, Any] = {"level": level}
    exec(compile("def printed(): return level()", "<plan 3>", "exec"), names)
    assert names["printed"]() == 2
