"""Dimensions as users give them: by position, those below 0 from the end."""

from __future__ import annotations

import operator
from typing import Any

from slinky.errors import GraphError, cited
from slinky.ir.given import is_listed
from slinky.symbolic.expressions import is_integer


def chosen_dimensions(given: object, rank: int, what: str) -> list[int]:
    """The dimensions that None for all, a position, or a list of these stand for, in the order in which they are given.

    Raises `GraphError` if there is no such dimension.
    """
    if given is None:
        return list(range(rank))
    return listed_dimensions([given] if is_integer(given) else given, rank, what)


def listed_dimensions(given: object, rank: int, what: str) -> list[int]:
    """The dimensions that a list of positions stands for, in the order in which they are given.

    Raises `GraphError` for anything else.
    """
    if not is_listed(given):
        raise GraphError(f"{what} must be a list, such as [0], got {cited(given)}")
    return [_position(each, rank, what) for each in given]


def _position(given: Any, rank: int, what: str) -> int:
    if not is_integer(given) or not -rank <= given < rank:
        there_are = f"0 to {rank - 1}" if rank else "none"
        raise GraphError(f"{what} are {there_are}, got {cited(given)}")
    return operator.index(given) % rank
