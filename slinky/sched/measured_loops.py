"""What loops in C take on this machine, measured by pipelines that run.

A chain of funcs in strips of one short row is nothing but calls; one of a single operation each, on rows that stay in
the first cache, is reading and writing; one of many operations on these is arithmetic.

Compilers run at the same time as each other, and nothing at the same time as what is measured.

Invariant: where there is no C compiler, nothing is measured, and the values are those of `Machine` without any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import slinky as sl
from slinky.ir.statements import Call, walk
from slinky.runtime.backends import makes_loops_of, prepare
from slinky.runtime.threads import run_parallel
from slinky.sched.machines import Machine, first_level, least_seconds, rounded

_FUNCS = 8
"""How many funcs there are, of which the last alone writes what does not stay in the first cache."""

_OPERATIONS = 16
"""How many operations each has, where these count."""

_SHORT, _MANY_ROWS = 4, 4096
"""How many elements a row has in which only the call counts, and how many rows of these there are."""


def measured_loops(machine: Machine) -> Machine:
    """A machine, with what loops in C take on this one: half a second, with a compiler not asked before."""
    few, many = _pipeline(1), _pipeline(_OPERATIONS)
    calls_in_it = [statement for statement in walk(few.program.body) if isinstance(statement, Call)]
    if not all(makes_loops_of("native", call.func) for call in calls_in_it):
        return machine
    first = first_level()
    width = first // 16
    rows = max(machine.near_bytes // (8 * width), 1)
    cases = ((few, _MANY_ROWS, _SHORT), (many, rows, width), (few, rows, width))
    bound: dict[int, Callable[[], Any]] = {}
    run_parallel(range(len(cases)), lambda k: bound.update({k: _bound(*cases[k])}), len(cases))
    calls, all_of_them, one = (_seconds(bound[k], rows) for k, (_, rows, _) in enumerate(cases))
    more = max(all_of_them - one, one / 100)
    return attrs.evolve(
        machine,
        first_bytes=first,
        loop_call_seconds=rounded(calls),
        loop_bandwidth=rounded(8 * width / max(one - calls, one / 100)),
        loop_operations=rounded(4 * (_OPERATIONS - 1) * width / more),
    )


def _pipeline(operations: int) -> sl.Pipeline:
    """A chain of funcs of so many operations each, row by row, the first of which reads one row again and again."""
    y, x = sl.variables("y x")
    row = sl.BufferExpr("row", np.float32, 1)
    buffers = [sl.BufferExpr(f"rows_{k}", np.float32, 2) for k in range(_FUNCS)]
    for k, (value, target) in enumerate(zip([row[x], *(each[y, x] for each in buffers)], buffers, strict=False)):
        for _ in range(operations):
            value = value * np.float32(0.5)
        sl.arithmetic(value, target[y, x], name=f"func_{k}")
    p = sl.build_pipeline([row], [buffers[-1]])
    return sl.strips(p, 1)


def _bound(p: sl.Pipeline, rows: int, width: int) -> Callable[[], Any]:
    """What runs a pipeline, in so many rows of so many elements."""
    return prepare("native", p.program).bind((np.ones(width, np.float32), np.empty((rows, width), np.float32)), {})


def _seconds(run: Callable[[], Any], rows: int) -> float:
    """How long each func takes for a row, of so many."""
    return least_seconds(run) / (_FUNCS * rows)
