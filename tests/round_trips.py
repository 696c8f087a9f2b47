"""A pipeline, written as JSON and read again, with what must hold then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

import slinky as sl
from slinky.ir.returning import Returning
from slinky.ir.statements import Call, walk
from slinky.symbolic.expressions import Node


def callbacks_of(p: sl.Pipeline) -> dict[str, Callable[..., Any]]:
    """A name for each callback of a pipeline: many are lambdas, or called alike."""
    found: list[Callable[..., Any]] = []
    seen: set[int] = set()
    for statement in walk(p.program.body):
        if isinstance(statement, Call):
            found += [f for f in _inside(statement.func, seen) if not any(f is other for other in found)]
    return {f"callback_{k}": f for k, f in enumerate(found)}


def _inside(value: object, seen: set[int]) -> Iterator[Callable[..., Any]]:
    """All callables in a func, whatever it has: operations, reductions, variants."""
    if id(value) in seen or isinstance(value, (Node, type(None))):
        return
    seen.add(id(value))
    if isinstance(value, Returning):
        yield value.function
    elif callable(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _inside(each, seen)
    elif isinstance(value, dict):  # the members of a family
        for each in value.values():
            yield from _inside(each, seen)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from _inside(getattr(value, field.name), seen)


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
