"""What users give as options, told apart: no question here raises an error of its own, whatever it is asked of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np


def is_one_of(given: object, names: Iterable[str]) -> bool:
    """Whether what a user gave is one of some names. (An array, asked for by `in`, raises an error of its own.)"""
    return isinstance(given, str) and given in names


def is_flag(given: object) -> TypeGuard[bool | np.bool_]:
    """Whether what a user gave is a truth value. (An array or an expression raises an error where `if` asks it.)"""
    return isinstance(given, (bool, np.bool_))


def is_iterable(given: object) -> TypeGuard[Iterable[Any]]:
    """Whether what a user gave has elements. (An array without axes is `Iterable`, and raises an error for them.)"""
    return isinstance(given, Iterable) and np.iterable(given)
