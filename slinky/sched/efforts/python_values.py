"""What Python does with values of which some are arrays without elements: sequences, numbers, built-in functions.

Invariant: nothing of the user's is called, and no loop is longer than a few turns.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.sched.efforts.arrays import UNKNOWN, BufferOnly, ShapeOnly, Unknown
from slinky.sched.efforts.counting import FEW
from slinky.sched.efforts.numpy_functions import Given, Value

TURNS_OF_WHAT_IS_UNKNOWN = 4
"""How many there are of what a loop goes over of which nothing is known."""


@attrs.frozen(eq=False)
class Many:
    """Something to go over, of which the first is known, and how many there are."""

    times: float
    first: Value


def known(value: object) -> Value:
    """A value that a name has, or that is in one: of an array, its shape and dtype; of a list or a dictionary, a copy,
    for nobody else's is changed; of a number of another type, the number. `UNKNOWN` for what may run code of its own.
    """
    kind = type(value)
    if kind in _AS_THEY_ARE or isinstance(value, (ModuleType, FunctionType, type, np.generic, np.dtype, np.ufunc)):
        return value
    if isinstance(value, np.ndarray):
        return ShapeOnly(value.shape, value.dtype)
    if kind is list or kind is dict:
        return kind(value) if len(value) <= _MOST_COPIED else UNKNOWN  # type: ignore[arg-type, call-overload]
    if isinstance(value, tuple):
        return tuple(tuple.__iter__(value))
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, (functools.partial, MethodType)):
        return value
    is_numpys = kind.__module__ == "numpy" and callable(value)  # functions of NumPy's are of a type of its own
    return value if is_numpys or isinstance(value, (BuiltinFunctionType, *_OURS)) else UNKNOWN


_AS_THEY_ARE = frozenset({int, float, bool, str, bytes, complex, type(None), type(...), slice, range, tuple})
_OURS = (ShapeOnly, BufferOnly, Unknown, Many)
_MOST_COPIED = 1024


def first_of(iterated: Value) -> tuple[float, Value]:
    """How many turns a loop has, and what it gives in the first."""
    if isinstance(iterated, ShapeOnly) and iterated.shape:
        return iterated.shape[0], iterated.first()
    if isinstance(iterated, (list, tuple, range, dict, str)):
        return len(iterated), known(next(iter(iterated), UNKNOWN))
    return (iterated.times, iterated.first) if isinstance(iterated, Many) else (TURNS_OF_WHAT_IS_UNKNOWN, UNKNOWN)


def items_of(value: Value) -> list[Value] | None:
    """All that there is to go over; None where that is much, or not known."""
    if isinstance(value, (list, tuple, range, dict)) and len(value) <= FEW:
        return [known(each) for each in value]
    return (
        value.parts(value.shape[0]) if isinstance(value, ShapeOnly) and value.shape and value.shape[0] <= FEW else None
    )


def item_of(whole: Value, index: Value) -> Value:
    """What a subscript gives of what is no array."""
    try:
        if isinstance(whole, dict):
            same = (value for key, value in whole.items() if is_key(key) and is_key(index) and key == index)
            return known(next(same, UNKNOWN))
        if isinstance(whole, (list, tuple, range, str)) and isinstance(index, (int, slice)):
            return known(whole[index])
    except (IndexError, TypeError, ValueError):
        pass
    return UNKNOWN


def is_number(value: Value) -> bool:
    """Whether it is a number with which Python computes at once."""
    return isinstance(value, (int, float, np.integer, np.floating)) and -_MOST < float(value) < _MOST


_MOST = 1 << 62


def is_key(value: object) -> bool:
    """Whether it can be looked up, without code of anybody's."""
    if type(value) is tuple:
        return all(map(is_key, value))
    return type(value) in _KEYS or isinstance(value, (np.generic, FunctionType))


_KEYS = frozenset({int, float, bool, str, bytes, complex, type(None), type(...)})


def distinct(values: list[Value]) -> list[Value]:
    """Each once, where that can be told."""
    return list(dict.fromkeys(values)) if all(map(is_key, values)) else values


def computed(op: ast.operator, one: Value, other: Value) -> Value:
    """What an operator gives of what are no arrays."""
    if isinstance(one, (list, tuple)):
        if isinstance(op, ast.Add) and isinstance(other, (list, tuple)):
            return type(one)((*one, *other))
        return one * max(min(other, FEW), 0) if isinstance(op, ast.Mult) and isinstance(other, int) else UNKNOWN
    function = _ARITHMETIC.get(type(op))
    return UNKNOWN if function is None else _if_numbers(function)([one, other])


def compared(op: ast.cmpop, one: Value, other: Value) -> Value:
    """What a comparison gives of what are no arrays."""
    function = _COMPARISONS.get(type(op))
    if function is None or not all(is_number(v) or v is None for v in (one, other)):
        return UNKNOWN
    try:
        return bool(function(one, other))
    except TypeError:
        return UNKNOWN


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


# Functions ------------------------------------------------------------------------------------------------------------


def _if_numbers(function: Callable[..., Any]) -> Callable[[Given], Value]:
    """A function of numbers, of which the result is known if they are."""

    def of(given: Given) -> Value:
        try:
            return function(*given) if given and all(map(is_number, given)) else UNKNOWN
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN

    return of


def _length(given: Given) -> Value:
    value = given[0] if given else UNKNOWN
    value = value.array if isinstance(value, BufferOnly) else value
    return int(first_of(value)[0]) if isinstance(value, (ShapeOnly, list, tuple, range, dict, str)) else UNKNOWN


def _range(given: Given) -> Value:
    is_known = 1 <= len(given) <= 3 and all(isinstance(n, int) for n in given) and 0 not in given[2:]
    return range(*given) if is_known else UNKNOWN


def _listed(given: Given) -> Value:
    items = items_of(given[0]) if given else []
    return Many(*first_of(given[0])) if items is None else items


def _enumerated(given: Given) -> Value:
    items = items_of(given[0]) if given else []
    if items is None:
        times, first = first_of(given[0])
        return Many(times, (UNKNOWN, first))
    return list(enumerate(items, given[1] if len(given) > 1 and isinstance(given[1], int) else 0))


def _zipped(given: Given) -> Value:
    each = [items for items in map(items_of, given) if items is not None]
    if len(each) == len(given):
        return list(zip(*each, strict=False))
    firsts = [first_of(value) for value in given]
    return Many(min([times for times, _ in firsts]), tuple([first for _, first in firsts]))


def _sorted(given: Given) -> Value:
    found = _listed(given)
    return sorted(found) if isinstance(found, list) and all(map(is_number, found)) else found


def _reversed(given: Given) -> Value:
    found = _listed(given)
    return found[::-1] if isinstance(found, list) else found


_BUILT_IN: dict[object, Callable[[Given], Value]] = {
    len: _length,
    range: _range,
    list: _listed,
    tuple: lambda given: tuple(items_of(given[0]) or ()) if given else (),
    set: lambda given: distinct(items_of(given[0]) or []) if given else [],
    enumerate: _enumerated,
    zip: _zipped,
    sorted: _sorted,
    reversed: _reversed,
    slice: lambda given: slice(*given) if 1 <= len(given) <= 3 else UNKNOWN,
    **{function: _if_numbers(function) for function in (min, max, int, float, bool, abs, round, divmod)},
}
"""What functions of Python's give, but for `sum`, which may go over arrays."""

BUILT_IN = {id(function): gives for function, gives in _BUILT_IN.items()}
"""The same by identity: what is called may have any idea of what it equals."""


def method_called(owner: list[Value] | dict[Any, Value], name: str, given: Given) -> Value:
    """A call of a method of a list or a dictionary."""
    if isinstance(owner, list):
        if name == "append" and given:
            owner.append(given[0])
        return None
    if name == "get":
        return item_of(owner, given[0]) if given else UNKNOWN
    views = {"items": list(owner.items()), "values": list(owner.values()), "keys": list(owner)}
    return views.get(name, UNKNOWN)
