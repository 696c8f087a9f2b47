"""Do two programs say the same? Whatever the identities of their statements, and whoever built them.

Statements are equal when they say the same of the same funcs, which are objects like no other: two builds of one graph
have funcs of their own. So of all funcs that say the same, in either program, one is put in the place of all.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from slinky.ir.copies import rewritten, with_func
from slinky.ir.families import relatives
from slinky.ir.operations import Reduction
from slinky.ir.statements import Call, ConstantBuffer, LoweredFunc, Program, Statement


def say_the_same(a: Program, b: Program) -> bool:
    """Whether two programs are equal but for identities. Callbacks and arguments are compared as Python does."""
    if a == b:
        return True
    if list(map(_said_of_constant, a.constants)) != list(map(_said_of_constant, b.constants)):
        return False
    known: dict[LoweredFunc, LoweredFunc] = {}
    different: list[tuple[tuple[object, ...], LoweredFunc]] = []

    def with_one_func(statement: Statement) -> Statement:
        if not isinstance(statement, Call):
            return statement
        func = statement.func
        if func not in known:
            said = _said_of_func(func)
            known[func] = next((other for others, other in different if others == said), func)
            if known[func] is func:
                different.append((said, func))
        return with_func(statement, known[func])

    bodies = [tuple(rewritten(statement, with_one_func) for statement in program.body) for program in (a, b)]
    return attrs.evolve(a, body=bodies[0]) == attrs.evolve(b, constants=a.constants, body=bodies[1])


def _said_of_func(func: LoweredFunc) -> tuple[object, ...]:
    others = tuple((name, _said_alone(relative)) for name, relative in relatives(func).items())
    return (func.variant, others, tuple(map(_said_alone, func.fusions)))


def _said_alone(func: LoweredFunc) -> tuple[object, ...]:
    operation = func.operation
    said = tuple(_said(getattr(operation, field.name)) for field in attrs.fields(type(operation)))
    return (
        func.name,
        func.dims,
        func.inputs,
        func.outputs,
        func.whole,
        func.multiples,
        func.part,
        func.known,
        type(operation),
        said,
        _said(func.reduction),
    )


def _said(value: Any) -> Any:
    """A part of an operation, to be compared."""
    if isinstance(value, Reduction):
        return tuple(_said(getattr(value, field.name)) for field in attrs.fields(Reduction))
    return tuple(map(_said, value)) if isinstance(value, tuple) else _Value(value)


def _said_of_constant(constant: ConstantBuffer) -> tuple[object, ...]:
    array = constant.array
    return constant.name, constant.min, constant.dims, array.dtype, array.shape, array.tobytes()


@attrs.frozen(eq=False)
class _Value:
    """A part of an operation, such as a callback or an argument, to be compared by what it says."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Value):
            return NotImplemented
        return _are_equal(self.value, other.value)


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two values are the same: by Python's word, and of numbers and arrays by their bits, NaN or not."""
    if a is b:
        return True
    if type(a) is not type(b):
        return (a == b) is True
    match a:
        case Program():
            return say_the_same(a, b)
        case np.ndarray() | np.generic():
            return bool(a.dtype == b.dtype) and a.shape == b.shape and a.tobytes() == b.tobytes()
        case float() | complex():
            return bool(a == b) or repr(a) == repr(b)
        case list() | tuple():
            return len(a) == len(b) and all(map(_are_equal, a, b))
        case dict():
            return list(a) == list(b) and all(map(_are_equal, a.values(), b.values()))
    return (a == b) is True
