"""How much a callback does, as far as its code tells: how many operations it writes down, and which of them in loops.
(What these do to arrays its source tells, where there is one: see `efforts`.)

What a call costs that computes little is the time of the NumPy calls that its callback makes. A callback that is one
NumPy call makes one; one that is written in Python makes about as many as there are calls and operators in its code and
in that of the functions that it calls. Its loops go as often as nobody knows; so these operations are counted apart.

A callback that multiplies matrices runs on all cores by itself, by the library that NumPy does it with: then several of
them at a time are no faster than one after the other. Its code tells that, too.

Invariant: no callback is run, and nothing rests on these counts but how good a schedule is.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType
from typing import assert_never
from weakref import WeakKeyDictionary

import attrs

from slinky.ir.operations import Accumulation, Callback, Copy, Expression, Nested, Operation
from slinky.ir.statements import Call, LoweredFunc, walk

TURNS = 4
"""How often a loop goes of which nothing is known."""

_DEEPEST = 3
"""How many functions deep calls are followed."""

_COPY = 4
"""The operations of a copy, some of whose pieces lie at an edge; and of other things that slinky does itself."""


@attrs.frozen
class Operations:
    """How many operations a callback makes on all that it computes, and how many on each part of it.

    A loop over something that the callback was given, or made of it, goes part by part: planes, rows, colours. Any
    other, as that over the taps of a stencil, goes over everything again in each turn.
    """

    once: int
    each_turn: int = 0
    """In one turn of all of its outermost loops over parts."""

    def count(self, turns: int = TURNS) -> int:
        """How many it makes if there are so many parts."""
        return self.once + self.each_turn * turns

    @property
    def over_all(self) -> int:
        """How many times as much as it computes its operations write: those of all turns on parts, once."""
        return self.once + self.each_turn


def operations_of(operation: Operation) -> Operations:
    """What the code of an operation tells. Of what is not written in Python it is one, unless the callback has an
    attribute `operations` that says how many, or which."""
    match operation:
        case Callback():
            said = getattr(operation.function, "operations", None)
            if isinstance(said, Operations):
                return said
            if type(said) is int and said > 0:
                return Operations(said)
            known = _KNOWN.get(operation.function) if isinstance(operation.function, FunctionType) else None
            return known or _of(operation.function, ())
        case Copy():
            return Operations(_COPY)
        case Nested():
            calls = [s.func for s in walk(operation.program.body) if isinstance(s, Call)]
            return Operations(sum(operations_of(func.operation).count() for func in calls) or 1)
        case Accumulation():
            return Operations(_COPY)
        case Expression():
            return Operations(max(len(operation.formula.steps), 1))
        case _:
            assert_never(operation)


def has_threads(operation: Operation) -> bool:
    """Whether an operation multiplies matrices, so that it runs on all cores by itself, as far as its code tells.

    A callback with an attribute `has_threads` says it by itself.
    """
    match operation:
        case Callback():
            said = getattr(operation.function, "has_threads", None)
            return bool(said) if said is not None else _multiplies(operation.function, ())
        case Nested():
            return any(has_threads(s.func.operation) for s in walk(operation.program.body) if isinstance(s, Call))
        case _:
            return False


def reads_in_order(func: LoweredFunc) -> bool:
    """Whether the bits of what a func gives depend on the order in which its operands lie in memory, as sums of floats
    do in NumPy. A callback with an attribute `reads_in_order` says so."""
    dtypes = [*(port.dtype for port in func.inputs), *(port.dtype for port in func.outputs)]
    if not any(dtype.kind in "fc" for dtype in dtypes):
        return False
    match func.operation:
        case Callback():
            return bool(getattr(func.operation.function, "reads_in_order", False))
        case Nested():
            return any(reads_in_order(s.func) for s in walk(func.operation.program.body) if isinstance(s, Call))
        case _:
            return False


def _multiplies(called: object, around: tuple[FunctionType, ...]) -> bool:
    """Whether something that is called multiplies matrices, by functions that are looked at already."""
    while isinstance(called, functools.partial):
        called = called.func
    function = getattr(called, "__func__", called)
    if function in around or len(around) >= _DEEPEST:
        return False
    if not isinstance(function, FunctionType) or is_of_numpy(function):
        return getattr(function, "__name__", "") in _PRODUCTS
    found = names = None
    for instruction in dis.get_instructions(function.__code__):
        if instruction.argrepr in ("@", "@=") or (
            instruction.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")) and instruction.argval in _PRODUCTS
        ):
            return True
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
            names = _names(function) if names is None else names
            found = names.get(instruction.argval)
            if isinstance(found, FunctionType) and _multiplies(found, (*around, function)):
                return True
    return False


_PRODUCTS = frozenset({"matmul", "dot", "vdot", "inner", "tensordot", "multi_dot"})
"""The functions that NumPy leaves to a library of products of matrices."""


def _names(function: FunctionType) -> dict[str, object]:
    """What the names of a function's code mean that are not its own."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**function.__globals__, **{name: content(cell) for name, cell in cells}}


def _of(called: object, around: tuple[FunctionType, ...]) -> Operations:
    """The operations of something that is called, by functions that are looked at already."""
    while isinstance(called, functools.partial):
        called = called.func
    function = getattr(called, "__func__", called)
    if not isinstance(function, FunctionType) or function in around or len(around) >= _DEEPEST or is_of_numpy(function):
        return Operations(1)
    return _counted(function, (*around, function))


def _counted(function: FunctionType, around: tuple[FunctionType, ...]) -> Operations:
    """The operations in the code of a function."""
    counted = _in_code(function.__code__, _names(function), around)
    operations = attrs.evolve(counted, once=max(counted.once, 1))
    if around == (function,):
        _KNOWN[function] = operations
    return operations


def _in_code(code: CodeType, names: Mapping[str, object], around: tuple[FunctionType, ...]) -> Operations:
    """The operations in code in which names mean this; functions and generators that it makes are not looked into."""
    once = each_turn = 0
    loops: list[tuple[int, bool]] = []
    instructions = list(dis.get_instructions(code))
    for number, instruction in enumerate(instructions):
        loops = [(end, by_parts) for end, by_parts in loops if instruction.offset < end]
        found = 0
        if instruction.opname == "FOR_ITER":
            loops.append((instruction.argval, _is_of_something_given(instructions, number)))
        elif instruction.opname.startswith(_OPERATORS):
            found = 1
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
            named = names.get(instruction.argval)
            found = _of(named, around).count() if isinstance(named, FunctionType) else 0
        if loops and loops[0][1]:
            each_turn += found * TURNS ** (len(loops[:2]) - 1)
        else:
            once += found * TURNS ** len(loops[:2])
    return Operations(once, each_turn)


def _is_of_something_given(instructions: Sequence[dis.Instruction], at: int) -> bool:
    """Whether what a loop goes over, which begins with this instruction, is told by the variables of its function."""
    missing = 1
    for instruction in reversed(instructions[: at - 1]):  # what GET_ITER takes, back to where it was begun
        if instruction.opname.startswith("LOAD_FAST"):
            return True
        missing -= dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if missing <= 0:
            break
    return False


_OPERATORS = ("CALL", "BINARY_OP", "STORE_SUBSCR", "UNARY_", "COMPARE_OP")
"""How the instructions begin that may be calls of NumPy which compute something; slices do not."""

_KNOWN: WeakKeyDictionary[FunctionType, Operations] = WeakKeyDictionary()
"""The callbacks that were looked at."""


def content(cell: object) -> object:
    """What a variable of a function around holds; None where it holds nothing yet."""
    try:
        return getattr(cell, "cell_contents", None)
    except ValueError:
        return None


def is_of_numpy(function: FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] in ("numpy", "scipy", "slinky")
