"""Changed copies of statements, which never change themselves.

Invariant: a copy has every field of the statement that it was made of, its identity too, but for those that are given:
a field that a kind of statement gains is never lost on the way. Nobody else takes statements apart to build them anew.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import compress, starmap
from typing import Any, TypeAlias, TypeVar, assert_never, cast

import attrs

from slinky.ir.statements import (
    KINDS,
    Alloc,
    Block,
    Call,
    For,
    Heap,
    Layout,
    LoweredFunc,
    Memory,
    Mode,
    Parallel,
    Pipelined,
    Program,
    Serial,
    Statement,
    Within,
    blocks_of,
    fresh_identity,
)
from slinky.symbolic.expressions import Condition, Expr
from slinky.symbolic.intervals import Box, Interval, box_symbols
from slinky.symbolic.traversal import symbols, union_of_symbols

S = TypeVar("S", bound=Statement)
T = TypeVar("T", bound=Statement | Program)

_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in attrs.fields(kind)) for kind in (*KINDS, Program)
}
"""All fields of these kinds of values, each of which has a slot."""


# ----------------------------------------------------------------------------------------------------------------
# What the fields of statements hold
# ----------------------------------------------------------------------------------------------------------------


def _of_one(value: Any, change: Callable[[Any], Any]) -> Any:
    return change(value)


def _of_some(values: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    new = tuple([None if value is None else change(value) for value in values])
    return values if all(a is b for a, b in zip(new, values, strict=True)) else new


def _of_interval(i: Interval, change: Callable[[Any], Any]) -> Interval:
    lo, hi = change(i.min), change(i.max)
    return i if lo is i.min and hi is i.max else Interval(lo, hi)


def _of_box(box: Box, change: Callable[[Any], Any]) -> Box:
    new = tuple([_of_interval(i, change) for i in box])
    return box if all(a is b for a, b in zip(new, box, strict=True)) else new


def _of_mode(mode: Mode, change: Callable[[Any], Any]) -> Mode:
    match mode:
        case Serial() | Parallel(workers=None) | Pipelined(workers=None):
            return mode
        case Parallel(workers=workers) | Pipelined(workers=workers):
            new = change(workers)
            return mode if new is workers else attrs.evolve(mode, workers=new)
        case _:
            assert_never(mode)


def _of_layout(layout: Layout | None, change: Callable[[Any], Any]) -> Layout | None:
    if layout is None:
        return None
    strides = _of_some(layout.strides, change)
    return layout if strides is layout.strides else attrs.evolve(layout, strides=strides)


def _of_memory(memory: Memory, change: Callable[[Any], Any]) -> Memory:
    match memory:
        case Heap():
            return memory
        case Within(host=host):
            new = change(host)
            return memory if new is host else Within(new)
        case _:
            assert_never(memory)


def _listed_one(value: Any) -> tuple[Any, ...]:
    return (value,)


def _listed_some(values: tuple[Any, ...]) -> list[Any]:
    return [value for value in values if value is not None]


def _listed_interval(i: Interval) -> tuple[Any, ...]:
    return (i.min, i.max)


def _listed_box(box: Box) -> list[Any]:
    return [e for i in box for e in (i.min, i.max)]


def _listed_mode(mode: Mode) -> tuple[Any, ...]:
    match mode:
        case Serial() | Parallel(workers=None) | Pipelined(workers=None):
            return ()
        case Parallel(workers=workers) | Pipelined(workers=workers):
            return (workers,)
        case _:
            assert_never(mode)


def _listed_layout(layout: Layout | None) -> list[Any]:
    return [] if layout is None else _listed_some(layout.strides)


Apply: TypeAlias = Callable[[Any, Callable[[Any], Any]], Any]
"""How a change is made to all that a field holds. The result is the very value where nothing changes."""

_HOLDS_EXPRESSIONS: dict[str, Apply] = {
    "Expr": _of_one, "Condition": _of_one, "Interval": _of_interval, "Box": _of_box,
    "tuple[Expr | None, ...]": _of_some, "Mode": _of_mode, "Layout | None": _of_layout,
}  # fmt: skip
_LISTED: dict[Apply, Callable[[Any], Sequence[Any]]] = {
    _of_one: _listed_one, _of_some: _listed_some, _of_interval: _listed_interval, _of_box: _listed_box,
    _of_mode: _listed_mode, _of_layout: _listed_layout,
}  # fmt: skip
"""All that a field holds, in the order in which a change is made to it."""

_SYMBOLS_IN: dict[Apply, Callable[[Any], frozenset[Expr]]] = {
    _of_one: symbols,
    _of_some: lambda values: frozenset().union(*[symbols(value) for value in values if value is not None]),
    _of_interval: lambda i: symbols(i.min) | symbols(i.max),
    _of_box: box_symbols,
    _of_mode: lambda mode: frozenset() if type(mode) is Serial else union_of_symbols(_listed_mode(mode)),
    _of_layout: lambda layout: union_of_symbols(_listed_layout(layout)),
}
"""The symbols in all that a field holds."""

_HOLDS_NAMES: dict[str, Apply] = {
    "BufferName": _of_one, "tuple[BufferName, ...]": _of_some, "Memory": _of_memory,
}  # fmt: skip
_HOLDS_NEITHER = (
    "np.dtype[Any]", "tuple[str, ...]", "LoweredFunc", "LoopVariable", "Block", "str", "int",
)  # fmt: skip


def _fields_holding(holds: dict[str, Apply]) -> dict[type, tuple[tuple[str, Apply], ...]]:
    """For each kind of statement, the fields of some types, as they are annotated, and how changes are made there.

    A field of a type that is not listed at all is an error: nobody knows then what to rename or substitute in it.
    """
    for kind in KINDS:
        for field in attrs.fields(kind):
            if field.type not in (*_HOLDS_EXPRESSIONS, *_HOLDS_NAMES, *_HOLDS_NEITHER):
                raise TypeError(f"field {field.name} of {kind.__name__}: what does a {field.type} hold?")
    return {
        kind: tuple((field.name, holds[field.type]) for field in attrs.fields(kind) if field.type in holds)
        for kind in KINDS
    }


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads some fields of a statement, however many they are."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda statement: tuple([getattr(statement, name) for name in names])


_EXPRESSIONS = _fields_holding(_HOLDS_EXPRESSIONS)
_NAMES = _fields_holding(_HOLDS_NAMES)
_INTERVALS, _BOXES = (
    {kind: tuple(name for name, apply in fields if apply is of) for kind, fields in _EXPRESSIONS.items()}
    for of in (_of_interval, _of_box)
)
_LISTS = {kind: tuple((name, _LISTED[apply]) for name, apply in fields) for kind, fields in _EXPRESSIONS.items()}
_SYMBOLS = {kind: tuple((name, _SYMBOLS_IN[apply]) for name, apply in fields) for kind, fields in _EXPRESSIONS.items()}
_SAID = {kind: (_reader([name for name, _ in fields]), [of for _, of in fields]) for kind, fields in _SYMBOLS.items()}
"""What reads all these fields at once, and how the symbols in each are found."""


# ----------------------------------------------------------------------------------------------------------------
# Copies with one thing changed
# ----------------------------------------------------------------------------------------------------------------


def _changed(given: T, **fields: Any) -> T:
    """A copy with other values of some fields: `attrs.evolve`, in a third of the time."""
    kind: type = type(given)
    copied: T = _copier(kind, tuple(fields))(given, *fields.values())
    return copied


@functools.cache
def _copier(kind: type, given: tuple[str, ...]) -> Callable[..., Any]:
    """The function that copies a value of this kind and is given these fields.

    Every edit copies all statements around it, and the program: so the function is written out, field by field, as
    attrs writes those that make new values.
    """
    slots = {f"set_{name}": vars(kind)[name].__set__ for name in _FIELDS[kind]}
    lines = [f"    set_{name}(new, {name if name in given else f'old.{name}'})" for name in _FIELDS[kind]]
    text = "\n".join([f"def copy(old, {', '.join(given)}):", "    new = make(kind)", *lines, "    return new"])
    names: dict[str, Any] = {"make": object.__new__, "kind": kind, **slots}
    exec(text, names)
    return cast("Callable[..., Any]", names["copy"])


def with_fields(statement: S, **fields: Any) -> S:
    """A copy with other values of some fields, whichever they are."""
    return _changed(statement, **fields) if fields else statement


def with_program_body(program: Program, body: Block) -> Program:
    """A program with another body."""
    return _copier(Program, ("body",))(program, body)  # type: ignore[no-any-return]


def with_program_name(program: Program, name: str) -> Program:
    """A program of another name."""
    return _changed(program, name=name)


def with_box(call: Call, box: Box) -> Call:
    """A call over another box."""
    return _changed(call, box=box)


def with_interval(call: Call, dim: int, i: Interval) -> Call:
    """A call whose box has another interval in one dimension."""
    return _changed(call, box=(*call.box[:dim], i, *call.box[dim + 1 :]))


def with_func(call: Call, func: LoweredFunc) -> Call:
    """A call of another func, on the same operands."""
    return _changed(call, func=func)


def with_operands(call: Call, reads: tuple[str, ...], writes: tuple[str, ...]) -> Call:
    """A call on other buffers."""
    return _changed(call, reads=reads, writes=writes)


def with_range(loop: For, range_: Interval, step: Expr | None = None) -> For:
    """A loop over another range, by another step if one is given."""
    return _changed(loop, range=range_, step=loop.step if step is None else step)


def with_mode(loop: For, mode: Mode) -> For:
    """A loop whose iterations run in another way."""
    return _changed(loop, mode=mode)


def with_variable(loop: For, variable: Expr, body: Block) -> For:
    """A loop with another variable, and the body that speaks of it."""
    return _changed(loop, variable=variable, body=body)


def with_bounds(alloc: Alloc, box: Box, folds: tuple[Expr | None, ...]) -> Alloc:
    """An allocation of another box, folded by other factors."""
    return _changed(alloc, box=box, folds=folds)


def with_folds(alloc: Alloc, folds: tuple[Expr | None, ...]) -> Alloc:
    """An allocation that is folded by other factors."""
    return _copier(Alloc, ("folds",))(alloc, folds)  # type: ignore[no-any-return]


def with_memory(alloc: Alloc, memory: Memory) -> Alloc:
    """An allocation that lies elsewhere."""
    return _changed(alloc, memory=memory)


def with_condition(statement: S, condition: Condition) -> S:
    """An if or a check with another condition."""
    return _changed(statement, condition=condition)


def with_body(loop: For, body: Block) -> For:
    """A loop around another body."""
    return _changed(loop, body=body)


def with_block(statement: S, field: str, block: Block) -> S:
    """A statement with another block, named by its field."""
    return _changed(statement, **{field: block})


def with_identity(statement: S, identity: int) -> S:
    """A statement with another identity. What is inside it keeps its own."""
    return _changed(statement, id=identity)


# ----------------------------------------------------------------------------------------------------------------
# Copies of everything inside
# ----------------------------------------------------------------------------------------------------------------


def with_expressions(statement: S, change: Callable[[Any], Any]) -> S:
    """A statement with a change made to each expression and condition of its own, not of what is inside it.

    The variable of a loop is no expression of it, and the ports of a func are none of a call.
    """
    fields = {}
    for name, apply in _EXPRESSIONS[type(statement)]:
        old = getattr(statement, name)
        new = apply(old, change)
        if new is not old:
            fields[name] = new
    return _changed(statement, **fields) if fields else statement


def with_intervals(statement: S, change: Callable[[Interval], Interval]) -> S:
    """A statement with a change made to each interval of its own, that of a range or one of a box."""
    return _changed(
        statement,
        **{name: change(getattr(statement, name)) for name in _INTERVALS[type(statement)]},
        **{name: tuple(map(change, getattr(statement, name))) for name in _BOXES[type(statement)]},
    )


def expressions_of(statement: Statement) -> list[Expr | Condition]:
    """The expressions and conditions of a statement itself, not of what is inside it or of its func."""
    found: list[Expr | Condition] = []
    for name, listed in _LISTS[type(statement)]:
        found += listed(getattr(statement, name))
    return found


def symbols_of(statement: Statement) -> frozenset[Expr]:
    """The symbols in these."""
    return frozenset().union(*[of(getattr(statement, name)) for name, of in _SYMBOLS[type(statement)]])


def symbols_of_changes(before: S, now: S) -> frozenset[Expr]:
    """The symbols in what a statement says otherwise than one of the same kind."""
    read, symbols_in = _SAID[type(now)]
    said = read(now)
    others = compress(zip(symbols_in, said, strict=True), map(operator.is_not, said, read(before)))
    return frozenset().union(*starmap(operator.call, others))


def with_names(statement: Statement, buffers: Mapping[str, str]) -> Statement:
    """A statement that names other buffers: each that is a key, by its value. What is inside it is as it was."""
    fields = {}
    for name, apply in _NAMES[type(statement)]:
        old = getattr(statement, name)
        new = apply(old, lambda buffer: buffers.get(buffer, buffer))
        if new != old:
            fields[name] = new
    return _changed(statement, **fields) if fields else statement


def rewritten(statement: Statement, change: Callable[[Statement], Statement]) -> Statement:
    """A statement with a change made to everything inside it and then to itself."""
    for field, block in blocks_of(statement):
        new = tuple(rewritten(inner, change) for inner in block)
        if any(a is not b for a, b in zip(new, block, strict=True)):
            statement = with_block(statement, field, new)
    return change(statement)


def with_fresh_identities(statement: Statement) -> Statement:
    """A copy of a statement, all of it with fresh identities."""
    return rewritten(statement, lambda inner: with_identity(inner, fresh_identity()))


def with_buffers(block: Block, buffers: Mapping[str, str]) -> Block:
    """A block whose statements, and all inside them, name other buffers: each that is a key, by its value."""
    return tuple(rewritten(s, lambda inner: with_names(inner, buffers)) for s in block)
