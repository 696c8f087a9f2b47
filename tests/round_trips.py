"""A pipeline, written as JSON and read again, with what must hold then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import slinky as sl
from slinky.ir.families import relatives
from slinky.ir.operations import Callback, Copy
from slinky.ir.returning import Returning
from slinky.ir.statements import Call, LoweredFunc, walk


def callbacks_of(p: sl.Pipeline) -> dict[str, Callable[..., Any]]:
    """A name for each callback of a pipeline: many are lambdas, or called alike."""
    found: list[Callable[..., Any]] = []
    for statement in walk(p.program.body):
        if isinstance(statement, Call):
            for func in _all_of(statement.func):
                found += [f for f in _of(func.operation) if not any(f is other for other in found)]
    return {f"callback_{k}": f for k, f in enumerate(found)}


def _all_of(func: LoweredFunc) -> Iterator[LoweredFunc]:
    """A func, its variants, what it is fused of, and what it may be fused to."""
    for member in relatives(func).values():
        yield member
        parts = () if member.fused is None else (member.fused.first, member.fused.second)
        for other in (*member.fusions, *parts):
            yield from _all_of(other)


def _of(operation: Callback | Copy) -> Iterator[Callable[..., Any]]:
    own = operation.function if isinstance(operation, Callback) else operation.implementation
    for value in (own, *(value for _, value in operation.arguments)):
        if callable(value):
            yield value.function if isinstance(value, Returning) else value


def again(p: sl.Pipeline) -> sl.Pipeline:
    """The pipeline that is read from what was written of another one: it says the same."""
    names = callbacks_of(p)
    text = p.to_json(names)
    q = sl.Pipeline.from_json(text, names)
    assert str(q) == str(p)
    assert q.same_program(p)
    assert p.same_program(q)
    assert q.to_json(names) == text
    q.verify()
    return q
