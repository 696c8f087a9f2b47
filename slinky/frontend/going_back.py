"""Which elements that code takes of an array go back into one, and are nowhere else in between.

Idea. `x[m] *= 2` takes some elements, multiplies them, and puts them back; so does `out[m] = np.log(x[m]) + 1`. The
instructions of such a statement say so: what the subscript gives is an operand of operators and ufuncs alone, and what
comes of these is stored by another subscript. So the statement is gone through with a stack of what its instructions
leave there, and of each subscript it is known what must be true of others for this to hold.

Invariant: where `go_back` says so, no code but that of operators and ufuncs sees what the subscript gives, nor what
these give for it, until an array is assigned to that is lazy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from dis import Instruction
from functools import lru_cache
from inspect import CO_GENERATOR, CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FrameType, FunctionType
from typing import Any

import attrs
import numpy as np

from slinky.frontend.indexed import IndexedArray
from slinky.frontend.paths import FOR_A_CALL
from slinky.frontend.places import begin_of, instructions_of
from slinky.frontend.reals import Real
from slinky.frontend.sizes import Size
from slinky.ir.given import is_module


@attrs.frozen
class Need:
    """What must hold that elements go back: these local variables are lazy arrays, these are numbers or arrays, and
    these attributes of globals are ufuncs of NumPy's."""

    arrays: frozenset[str] = frozenset()
    operands: frozenset[str] = frozenset()
    ufuncs: frozenset[tuple[str, str]] = frozenset()

    def __or__(self, other: Need) -> Need:
        return Need(self.arrays | other.arrays, self.operands | other.operands, self.ufuncs | other.ufuncs)


def go_back(frame: FrameType, lazy: type) -> bool:
    """Whether the elements that a frame's subscript takes of an array of the class `lazy` go back into such an array,
    by operators and ufuncs alone."""
    need = _needs(frame.f_code).get(begin_of(frame))
    if need is None:
        return False
    if need.arrays or need.operands:
        local = _locals_of(frame)
        if not all(type(local.get(name)) is lazy for name in need.arrays):
            return False
        if not all(_is_operand(local.get(name), lazy) for name in need.operands):
            return False
    return all(_is_ufunc(frame.f_globals, *names) for names in need.ufuncs)


def is_of_elements(function: Any, lazy: type) -> bool:
    """Whether a function gives what operators, and ufuncs of NumPy's, make of its one argument and of numbers, and does
    nothing else."""
    if isinstance(function, np.ufunc):
        return function.nin == function.nout == 1
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    if code.co_argcount != 1 or code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR):
        return False
    found, stack, places = None, _Stack(), iter(instructions_of(code))
    for each in places:
        if each.opname in ("RETURN_VALUE", "RETURN_CONST"):
            found = _Constant() if each.opname == "RETURN_CONST" else stack.pop()
            break
        if each.is_jump_target or each.opname not in _OF_ELEMENTS or each.argrepr == "[]":
            return False
        if each.opname == "LOAD_DEREF":
            stack.append(_Constant() if _is_cell_of_number(function, each.argval, lazy) else _Other())
        elif each.opname == "LOAD_GLOBAL" and _is_operand(_global_of(function, each.argval), lazy):
            _marked(stack, each, _Constant())
        elif each.opname == "LOAD_ATTR" and _is_number_of(function, stack, each.argval):
            stack[-1] = _Constant()
        else:
            _STEPS[each.opname](stack, each)
    need = None if stack or next(places, None) else _need_of_operand(found)
    return (
        need is not None
        and not need.arrays
        and need.operands <= {code.co_varnames[0]}
        and all(_is_ufunc(function.__globals__, *names) for names in need.ufuncs)
    )


def _is_cell_of_number(function: FunctionType, name: str, lazy: type) -> bool:
    """Whether a function finds an operand by the name of a variable of a function around it."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return name in cells and _is_operand(cells[name].cell_contents, lazy)
    except ValueError:
        return False  # it has no value yet


def _global_of(function: FunctionType, name: str) -> Any:
    """What a function finds by the name of a global; None where it finds none."""
    try:
        return function.__globals__[name]
    except KeyError:
        return None


def _is_number_of(function: FunctionType, stack: _Stack, name: str) -> bool:
    """Whether what is on top of the stack is a module that has a number by a name, as NumPy has `pi`."""
    top = stack[-1] if stack else None
    owner = _global_of(function, top.name) if isinstance(top, _Global) else None
    having = _HAVING_NUMBERS.get(owner.__name__) if is_module(owner) else None
    return type(vars(having).get(name) if having else None) is float


_HAVING_NUMBERS = {"math": math, "numpy": np}
"""Modules with numbers that nobody changes, by their names."""


def _locals_of(frame: FrameType) -> Mapping[str, Any]:
    """The local variables of a function. What is made to tell them, before Python 3.13, is held by the frame, and so
    would be all that they are, if it was not emptied."""
    code = frame.f_code
    if not code.co_flags & CO_OPTIMIZED or not _MAKING_LOCALS.isdisjoint(code.co_names):
        return {}
    told = frame.f_locals
    found = dict(told)
    if sys.version_info < (3, 13):
        told.clear()
    return found


_MAKING_LOCALS = frozenset(["dir", "eval", "exec", "locals", "vars"])


def _is_operand(value: Any, lazy: type) -> bool:
    """Whether something leaves it to lazy arrays what operators do with both."""
    return type(value) in (lazy, Real, Size, bool, int, float, complex, np.ndarray, IndexedArray) or (
        isinstance(value, np.generic)
    )


def _is_ufunc(names: Mapping[str, Any], module: str, name: str) -> bool:
    """Whether a function with these globals comes to a ufunc of NumPy's by the name of a module and that in it."""
    try:
        found = names[module]
    except KeyError:
        return False
    is_numpy = is_module(found) and found.__name__ == "numpy"
    return is_numpy and isinstance(getattr(np, name, None), np.ufunc)


# ----------------------------------------------------------------------------------------------------------------
# What instructions leave on the stack
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _Constant:
    """A number."""


@attrs.frozen(eq=False)
class _Local:
    """What a local variable holds."""

    name: str


@attrs.frozen(eq=False)
class _Global:
    """What a global is."""

    name: str


@attrs.frozen(eq=False)
class _Attribute:
    """An attribute of something."""

    owner: Any
    name: str


@attrs.frozen(eq=False)
class _Part:
    """What a subscript gives, by the offset of the instruction."""

    offset: int
    array: Any


@attrs.frozen(eq=False)
class _Computed:
    """What an operator gives of one or two, or a function."""

    operands: tuple[Any, ...]
    function: Any = None


@attrs.frozen(eq=False)
class _Other:
    """Something else."""


@lru_cache(maxsize=1024)
def _needs(code: CodeType) -> Mapping[int, Need]:
    """By the offset of a subscript, what must hold that what it gives goes back."""
    found: dict[int, Need] = {}
    stack = _Stack()
    for each in instructions_of(code):
        if each.is_jump_target:
            stack.clear()
        step = _STEPS.get(each.opname)
        if each.opname == "STORE_SUBSCR":
            value, array, _ = stack.top(3)
            found.update(_going_back(value, array, Need(), stack.copied))
        elif step is None:
            stack.clear()  # of what is below, nothing is known any more
        else:
            step(stack, each)
    return found


class _Stack(list[Any]):
    """What is known to be on the stack, and below that is anything; what is there twice is `copied`."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: set[Any] = set()
        self.is_named = False
        """Whether what is called next is given something by name."""

    def pop(self, _: Any = -1) -> Any:
        """What is on top."""
        return super().pop() if self else _Other()

    def top(self, count: int) -> tuple[Any, ...]:
        """Take so many from the top, in their order."""
        return tuple([self.pop() for _ in range(count)][::-1])


def _going_back(value: Any, target: Any, need: Need, copied: Container[Any]) -> Iterator[tuple[int, Need]]:
    """The subscripts whose elements are operands of what is stored in an array, and nowhere else, with what must
    hold."""
    if value in copied:
        return
    match value:
        case _Part(offset, array):
            if array is target:
                yield offset, need  # which is that lazy array
            elif isinstance(target, _Local):
                yield offset, need | Need(arrays=frozenset([target.name]))
        case _Computed(operands, function):
            own = Need() if function is None else _need_of_function(function)
            if own is None:
                return
            for k, operand in enumerate(operands):
                others = operands[:k] if function is None else (*operands[:k], *operands[k + 1 :])
                needed = need | own
                for other in others:  # which may be asked first what is to be done
                    its = _need_of_operand(other)
                    if its is None:
                        break
                    needed |= its
                else:
                    yield from _going_back(operand, target, needed, copied)


def _need_of_operand(value: Any) -> Need | None:
    """What must hold that something leaves it to lazy arrays what is done with both; None where it may not."""
    match value:
        case _Constant():
            return Need()
        case _Local(name):
            return Need(operands=frozenset([name]))
        case _Part(_, _Local(name)):
            return Need(arrays=frozenset([name]))
        case _Computed(operands, function):
            needs = [_need_of_operand(each) for each in operands]
            if function is not None:
                needs.append(_need_of_function(function))
            found = Need()
            for each in needs:
                if each is None:
                    return None
                found |= each
            return found
        case _:
            return None


def _need_of_function(function: Any) -> Need | None:
    match function:
        case _Attribute(_Global(module), name):
            return Need(ufuncs=frozenset([(module, name)]))
        case _:
            return None


# Steps, by the names of instructions ----------------------------------------------------------------------------


def _nothing(stack: _Stack, each: Instruction) -> None:
    pass


def _constant(stack: _Stack, each: Instruction) -> None:
    stack.append(_Constant() if type(each.argval) in (bool, int, float, complex) else _Other())


def _local(stack: _Stack, each: Instruction) -> None:
    stack.extend(map(_Local, each.argval if type(each.argval) is tuple else (each.argval,)))


def _marked(stack: _Stack, each: Instruction, value: Any, *, has_mark: bool = True) -> None:
    """Push what is called soon, if its instruction says so, with what is beside it then: either may be below."""
    stack.extend([value, value] if has_mark and (each.arg or 0) & FOR_A_CALL else [value])


def _global(stack: _Stack, each: Instruction) -> None:
    _marked(stack, each, _Global(each.argval))


def _attribute(stack: _Stack, each: Instruction) -> None:
    _marked(stack, each, _Attribute(stack.pop(), each.argval), has_mark=sys.version_info >= (3, 12))


def _method(stack: _Stack, each: Instruction) -> None:
    stack.extend([_Attribute(stack.pop(), each.argval)] * 2)


def _names(stack: _Stack, each: Instruction) -> None:
    stack.is_named = True


def _called(stack: _Stack, each: Instruction) -> None:
    operands = stack.top(each.argval)
    one, other = stack.top(2)
    function = one if isinstance(one, _Attribute) else other
    is_known = isinstance(function, _Attribute) and not stack.is_named
    stack.append(_Computed(operands, function) if is_known else _Other())
    stack.is_named = False


def _copied(stack: _Stack, each: Instruction) -> None:
    value = stack[-each.argval] if each.argval <= len(stack) else _Other()
    stack.copied.add(value)
    stack.append(value)


def _swapped(stack: _Stack, each: Instruction) -> None:
    if each.argval > len(stack):
        stack.clear()
    else:
        stack[-1], stack[-each.argval] = stack[-each.argval], stack[-1]


def _operator(stack: _Stack, each: Instruction) -> None:
    if each.argrepr == "[]":
        _subscript(stack, each)
    else:
        stack.append(_Computed(stack.top(2)))


def _subscript(stack: _Stack, each: Instruction) -> None:
    array, _ = stack.top(2)
    stack.append(_Part(each.offset, array))


def _unary(stack: _Stack, each: Instruction) -> None:
    stack.append(_Computed(stack.top(1)))


def _dropped(stack: _Stack, each: Instruction) -> None:
    stack.pop()


def _other(count: int | None) -> Callable[[_Stack, Instruction], None]:
    """What takes so many from the stack, or as many as it says, and leaves something else."""

    def step(stack: _Stack, each: Instruction) -> None:
        stack.top(each.argval if count is None else count)
        stack.append(_Other())

    return step


_STEPS: dict[str, Callable[[_Stack, Instruction], None]] = {
    **dict.fromkeys(["CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL", "RESUME"], _nothing),
    **dict.fromkeys(["LOAD_CONST", "LOAD_SMALL_INT"], _constant),
    **dict.fromkeys(
        ["LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
         "LOAD_FAST_BORROW_LOAD_FAST_BORROW"],
        _local,
    ),
    **dict.fromkeys(["LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF", "PUSH_NULL"], _other(0)),
    **dict.fromkeys(["BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE"], _other(None)),
    **dict.fromkeys(["COMPARE_OP", "CONTAINS_OP", "IS_OP"], _other(2)),
    **dict.fromkeys(["UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_POSITIVE"], _unary),
    "BINARY_SLICE": _other(3),
    "UNARY_NOT": _other(1),
    "LOAD_GLOBAL": _global,
    "LOAD_ATTR": _attribute,
    "LOAD_METHOD": _method,
    "KW_NAMES": _names,
    "CALL": _called,
    "COPY": _copied,
    "SWAP": _swapped,
    "BINARY_OP": _operator,
    "BINARY_SUBSCR": _subscript,
    "POP_TOP": _dropped,
}  # fmt: skip

_OF_ELEMENTS = frozenset(
    ["BINARY_OP", "CACHE", "CALL", "COPY_FREE_VARS", "EXTENDED_ARG", "LOAD_ATTR", "LOAD_CONST", "LOAD_DEREF",
     "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
     "LOAD_GLOBAL", "LOAD_METHOD", "LOAD_SMALL_INT", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME",
     "UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_POSITIVE"]
)  # fmt: skip
"""Instructions whose results are all used by what comes after them."""
