"""How the second judge shows a rewrite again: the steps that made a program, and a script that takes them.

Programs cannot be written to a file, so a script makes the first one anew. Where it is one of `random_graphs`, its
stages are plain data that the callbacks carry, and the script is complete. Of any other program the script runs the
test again, which stops at the same rewrite: all tests draw the same examples each time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge_evaluation import Values, metadata_key, scalar_key
from judge_geometry import what_runs

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import BlockCursor, DimCursor, StatementCursor, statement_cursor
from slinky.ir.statements import Call, Program, Statement, walk
from slinky.pipeline import Pipeline
from slinky.symbolic.nodes import Expr


@dataclass(frozen=True, slots=True)
class Step:
    """A rewrite as text, and the one before it."""

    before: Step | None
    text: str

    def all(self) -> list[str]:
        """The texts of all rewrites up to this one."""
        texts: list[str] = []
        step: Step | None = self
        while step is not None:
            texts.append(step.text)
            step = step.before
        return texts[::-1]


def step_of(program: Program, operation: str, arguments: Mapping[str, Any]) -> str:
    """A rewrite as Python. Places are given by number, in program order (see `place`)."""
    order = [statement.id for statement in walk(program.body)]
    shown: list[str] = []
    for name, value in arguments.items():
        if name != "rc":
            shown.append(f"{name}={_argument(order, value)}")
    return f"{operation}(p, {', '.join(shown)})" if shown else f"{operation}(p)"


def _argument(order: list[int], value: object) -> str:
    match value:
        case Expr():
            return f'expression(p, "{value}")'
        case BlockCursor(_first=first, _last=last):
            return f"({_place(order, first)}, {_place(order, last)})"
        case DimCursor(_id=identity, _dim=dim):
            return f"{_place(order, identity)}.dim({dim})"
        case StatementCursor(_id=identity):
            return _place(order, identity)
        case Cursor():
            return f"... # {value!r}"
        case tuple() | list():
            return f"({''.join(_argument(order, each) + ', ' for each in value)})"
    return repr(value)


def _place(order: list[int], identity: int) -> str:
    return f"place(p, {order.index(identity)})" if identity in order else f"... # statement {identity}"


# ----------------------------------------------------------------------------------------------------------------
# For scripts
# ----------------------------------------------------------------------------------------------------------------


def place(p: Pipeline, number: int) -> Any:
    """The cursor to the statement with this number in program order."""
    statements: list[Statement] = [*walk(p.program.body)]
    return statement_cursor(p._version, statements[number].id)


def expression(p: Pipeline, text: str) -> Any:
    """The expression that a text stands for in a pipeline."""
    import slinky as sl

    names: dict[str, Any] = {"min": sl.minimum, "max": sl.maximum, "select": sl.select}
    names |= {b.name: sl.BufferExpr(b.name, b.dtype, b.rank) for b in (*p.program.inputs, *p.program.outputs)}
    names |= {s.name: sl.scalar(s.name) for s in p.program.scalars}
    names |= {c.variable.name: c.variable for c in walk(p.program.body) if hasattr(c, "variable")}
    for _ in range(20):
        try:
            return eval(text, names)
        except NameError as error:  # a scalar that the pipeline does not have yet
            names[error.name] = sl.scalar(error.name)
    raise NameError(text)


def script_of(program: Program, step: Step, values: Values, order: str) -> str:
    """A script that does a rewrite again."""
    callbacks = {s.func.name: what_runs(s.func)[0] for s in walk(program.body) if isinstance(s, Call)}
    stages = [callback.stage for callback in callbacks.values() if hasattr(callback, "stage")]
    if not stages or len(stages) != len(callbacks):
        return _script_of_the_test(step)
    arrays = []
    for parameters in (program.inputs, program.outputs):
        boxes = {p.name: _box(p.name, p.rank, values) for p in parameters}
        arrays.append({name: f"Array({box!r}, {((0, 0),) * len(box)!r})" for name, box in boxes.items()})
    inputs, outputs = ("{" + ", ".join(f"{n!r}: {a}" for n, a in each.items()) + "}" for each in arrays)
    steps = "\n".join(f"before, p = p, {text}" for text in step.all())
    return f"""\
# From the directory of the tests.
from judge_running import Run
from judge_scripts import expression, place
from random_graphs import Array, Fixed, Graph, Read, Stage, Whole, Window, Write, build
from second_judge import judge
from slinky import *

stages = {tuple(sorted(stages, key=lambda stage: int(stage.name.strip("f") or 0)))!r}
p = build(Graph({inputs}, stages, {outputs}, radius={values.get(scalar_key("radius"), 0)}))
{steps}
print(before, p, sep="\\n\\n")
values = {values!r}
for program in (before.program, p.program):
    run = Run(program, values, {order!r})
    run.follow()
    print({{output.name: run.output(output.name)[..., 0] for output in program.outputs}}, run.elements)
judge(before.program, p.program)
"""


def _box(buffer: str, rank: int, values: Values) -> tuple[tuple[int, int], ...]:
    ends = [[values[metadata_key(buffer, d, end)] for end in ("min", "max")] for d in range(rank)]
    return tuple((lo, hi) for lo, hi in ends)


def _script_of_the_test(step: Step) -> str:
    test = os.environ.get("PYTEST_CURRENT_TEST", "tests").rpartition(" ")[0] or "tests"
    steps = "\n".join(f"#   p = {text}" for text in step.all())
    return f"""\
# The pipeline is made by the test, which draws the same examples each time: it stops at the same rewrite.
# The steps that led there:
{steps}
import pytest

raise SystemExit(pytest.main([{test!r}, "-x"]))
"""
