"""What users give as options, told apart: no question here raises an error of its own, whatever it is asked of.

What is read of it (`as_dtype`) raises one kind of error, so that whoever asks can say where that was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from types import ModuleType
from typing import Any, TypeGuard, cast

import numpy as np


def is_one_of(given: object, names: Iterable[str]) -> bool:
    """Whether what a user gave is one of some names. (An array, asked for by `in`, raises an error of its own.)"""
    return isinstance(given, str) and given in names


def is_flag(given: object) -> TypeGuard[bool | np.bool_]:
    """Whether what a user gave is a truth value. (An array or an expression raises an error where `if` asks it.)"""
    return isinstance(given, (bool, np.bool_))


def is_line(given: object) -> TypeGuard[str]:
    """Whether what a user gave is a text that stands in one line, and is not empty."""
    return isinstance(given, str) and bool(given.strip()) and given.isprintable()


def is_module(given: object) -> TypeGuard[ModuleType]:
    """Whether what a user's function has is a module. (Some objects raise an error where they are asked for their
    class, such as those that stand for another one which is not there yet.)"""
    return issubclass(type(given), ModuleType)


def is_iterable(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether what a user gave has elements. (An array without axes is `Iterable`, and raises an error for them.)"""
    return isinstance(given, Iterable) and np.iterable(given)


def is_listed(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether what a user gave has elements in an order: sets have none, and who gives a text or a dictionary where one
    counts means something else."""
    return is_iterable(given) and not isinstance(given, (str, bytes, bytearray, Mapping, Set))


def as_dtype(given: Any) -> np.dtype[Any]:
    """The dtype that a user gave.

    Raises `TypeError` for what is none, of which NumPy raises errors of many kinds.
    """
    try:
        found: np.dtype[Any] = np.dtype(given)
    except Exception as error:
        raise TypeError(str(error)) from None
    return found


def as_float(given: object) -> float | None:
    """The float that a user gave, as one or as an integer that floats hold; None for anything else."""
    is_number = isinstance(given, (float, np.floating, int, np.integer))
    if not is_number or isinstance(given, (bool, np.timedelta64)):
        return None
    try:
        return float(cast(float, given))
    except OverflowError:
        return None
