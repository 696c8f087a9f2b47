"""Statements made by hand: what a user wrote, as statements that everything else can rely on.

Invariant: a statement that `validated` returns has in each field a value of the field's type, as many intervals,
dimensions and operands as belong together, and no empty block. Whether it means anything where it is placed is not
asked here.
"""

from __future__ import annotations

import keyword
from typing import Any

import attrs
import numpy as np

from slinky.errors import ProgramError, cited
from slinky.ir.copies import with_fields
from slinky.ir.statements import (
    KINDS,
    Alloc,
    Call,
    Heap,
    Layout,
    LoweredFunc,
    Parallel,
    Pass,
    Pipelined,
    Serial,
    Statement,
    Within,
    blocks_of,
)
from slinky.symbolic.expressions import (
    FALSE,
    TRUE,
    Condition,
    Scalar,
    Variable,
    as_expr,
    constant_value,
    is_integer,
    is_power_of_two,
)
from slinky.symbolic.intervals import Interval

DEEPEST = 100
"""How deep the statements that are placed at once may nest: programs are walked as deep."""


def validated(given: object, depth: int = 0) -> Statement:
    """A statement, and all inside it, with integers made expressions; an empty block becomes a `pass`.

    Raises `ProgramError` saying which field of which statement holds what it cannot hold.
    """
    if not isinstance(given, KINDS):
        raise ProgramError(f"expected a statement of slinky.ir, got {cited(given)}")
    if depth > DEEPEST:
        raise ProgramError(f"statements nest at most {DEEPEST} deep")
    what = type(given).__name__
    fields: dict[str, Any] = {}
    for field in attrs.fields(type(given)):
        old = getattr(given, field.name)
        new = _of_type(str(field.type), old, f"{field.name} of {what}", depth)
        if new is not old:
            fields[field.name] = new
    statement: Statement = with_fields(given, **fields)
    _require_lengths(statement)
    if any(field == "body" and not block for field, block in blocks_of(statement)):
        statement = with_fields(statement, body=(Pass(),))
    return statement


def _of_type(kind: str, value: Any, what: str, depth: int) -> Any:
    """A value of a field, as its type asks."""
    match kind:
        case "Expr":
            return _expr(value, what)
        case "Condition":
            if isinstance(value, (bool, np.bool_)):
                return TRUE if value else FALSE
            return _instance(value, Condition, what, "a condition, such as x >= 0")
        case "Interval":
            return _instance(value, Interval, what, "an interval, such as sl.interval(0, 3)")
        case "Box":
            return _tuple(value, what, lambda i: _instance(i, Interval, what, "intervals"))
        case "tuple[Expr | None, ...]":
            return _tuple(value, what, lambda e: None if e is None else _expr(e, what))
        case "BufferName":
            return _name(value, what)
        case "tuple[BufferName, ...]":
            return _tuple(value, what, lambda name: _name(name, what))
        case "tuple[str, ...]":
            return _tuple(value, what, lambda name: _instance(name, str, what, "names"))
        case "LoopVariable":
            variable = _instance(value, Variable, what, "a variable, such as sl.variables('y')[0]")
            if isinstance(variable, Scalar):
                raise ProgramError(f"{what} must be a variable, got the scalar {variable}")
            _name(variable.name, what)
            return variable
        case "np.dtype[Any]":
            try:
                return np.dtype(value)
            except TypeError:
                raise ProgramError(f"{what} must be a dtype, got {cited(value)}") from None
        case "Mode":
            return _mode(value, what)
        case "Layout | None":
            return None if value is None else _layout(value, what)
        case "Memory":
            if isinstance(value, Within):
                _name(value.host, what)
                return value
            return _instance(value, Heap, what, "a memory, such as ir.Heap() or ir.Within('b')")
        case "LoweredFunc":
            return _instance(value, LoweredFunc, what, "the func of a call, as call.func")
        case "Block":
            return _tuple(value, what, lambda inner: validated(inner, depth + 1))
        case "str":
            return _instance(value, str, what, "a text")
        case "int":
            return _instance(value, int, what, "an identity")
    raise AssertionError(f"{what}: nobody knows how to check a {kind}")


def _instance(value: Any, kind: type, what: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise ProgramError(f"{what} must be {expected}, got {cited(value)}")
    return value


def _expr(value: Any, what: str) -> Any:
    try:
        return as_expr(value)
    except TypeError:
        raise ProgramError(f"{what} must be an integer or an expression, got {cited(value)}") from None


def _tuple(values: Any, what: str, each: Any) -> Any:
    if not isinstance(values, (tuple, list)):
        raise ProgramError(f"{what} must be a tuple, got {cited(values)}")
    new = tuple(each(value) for value in values)
    return values if isinstance(values, tuple) and all(a is b for a, b in zip(new, values, strict=True)) else new


def _name(value: Any, what: str) -> Any:
    if not isinstance(value, str) or not value.isidentifier() or keyword.iskeyword(value) or value == "_":
        raise ProgramError(f"{what} must be called by an identifier of Python, got {cited(value)}")
    return value


def _mode(value: Any, what: str) -> Any:
    if not isinstance(value, (Serial, Parallel, Pipelined)):
        raise ProgramError(f"{what} must be ir.SERIAL or ir.Parallel() or ir.Pipelined((1, 1), 2), got {cited(value)}")
    workers = None if isinstance(value, Serial) else value.workers
    count = None if workers is None else constant_value(workers)
    if count is not None and count < 1:
        raise ProgramError(f"{what}: the number of workers must be 1 or more, got {count}")
    return value


def _layout(value: Any, what: str) -> Any:
    layout = _instance(value, Layout, what, "None or a layout, such as ir.Layout((None, None), 64)")
    strides = _tuple(layout.strides, what, lambda e: None if e is None else _expr(e, what))
    if not is_power_of_two(layout.alignment):
        raise ProgramError(f"{what}: an alignment is a power of two, got {cited(layout.alignment)}")
    blocks = _tuple(layout.blocks, what, lambda length: None if length is None else _block_length(length, what))
    return attrs.evolve(layout, strides=strides, alignment=int(layout.alignment), blocks=blocks)


def _block_length(value: Any, what: str) -> int:
    if not is_integer(value) or value < 1:
        raise ProgramError(f"{what}: a block has 1 coordinate or more, got {cited(value)}")
    return int(value)


def _require_lengths(statement: Statement) -> None:
    """Check that what belongs together has one length."""
    if isinstance(statement, Alloc) and not len(statement.box) == len(statement.dims) == len(statement.folds):
        counts = f"{len(statement.dims)} dimensions, {len(statement.box)} intervals, {len(statement.folds)} folds"
        raise ProgramError(f"an Alloc needs as many of each, got {counts}")
    if isinstance(statement, Alloc) and statement.layout is not None:
        if len(statement.layout.strides) != len(statement.dims):
            counts = f"{len(statement.dims)} dimensions, {len(statement.layout.strides)} strides"
            raise ProgramError(f"an Alloc needs as many of each, got {counts}")
        if statement.layout.blocks and len(statement.layout.blocks) != len(statement.dims):
            counts = f"{len(statement.dims)} dimensions, {len(statement.layout.blocks)} lengths of blocks"
            raise ProgramError(f"an Alloc needs as many of each, got {counts}")
    if isinstance(statement, Call):
        func = statement.func
        for has, needs, name in (
            (statement.box, func.dims, "intervals in its box"),
            (statement.reads, func.inputs, "buffers to read"),
            (statement.writes, func.outputs, "buffers to write"),
        ):
            if len(has) != len(needs):
                raise ProgramError(f"a Call of {func.name} needs {len(needs)} {name}, got {len(has)}")
