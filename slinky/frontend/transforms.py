"""Handlers of Fourier transforms along several axes, one after the other, and of what brings the origin to the middle.

Invariant: each is what NumPy computes, operation by operation, so that the bits are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, Value
from slinky.frontend.calling import call_function
from slinky.frontend.functions import WHOLE_AXES
from slinky.frontend.given import as_lazy
from slinky.frontend.rearranging import COPY, roll
from slinky.frontend.tables import TOLERANCE, NotUnderstoodError, understood

Along = tuple[Callable[..., Any], int, Any]
"""A transform, its axis, and how many elements there are along it in the end, if that is said."""


def _register_transforms() -> None:
    def handler(order: Callable[[list[tuple[int, Any]]], list[Along]], default: Any) -> Callable[..., Any]:
        def of_array(a: Value, s: Any = None, axes: Any = default, norm: Any = None) -> LazyArray:
            found = as_lazy(a)
            for transform, axis, count in order(_pairs(found, s, axes)):
                found = call_function(transform, (found, count, axis, norm), {})
            return found

        return of_array

    fft, ifft, rfft, irfft = np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft
    orders: dict[str, Callable[[list[tuple[int, Any]]], list[Along]]] = {
        "fft": lambda pairs: [(fft, *each) for each in reversed(pairs)],
        "ifft": lambda pairs: [(ifft, *each) for each in reversed(pairs)],
        "rfft": lambda pairs: [(rfft, *pairs[-1]), *((fft, *each) for each in reversed(pairs[:-1]))],
        "irfft": lambda pairs: [*((ifft, *each) for each in pairs[:-1]), (irfft, *pairs[-1])],
    }
    for name, order in orders.items():
        for ending, default in (("2", (-2, -1)), ("n", None)):
            function = getattr(np.fft, name + ending)
            understood(function, how=WHOLE_AXES, exactness=TOLERANCE)(handler(order, default))


def _pairs(array: LazyArray, s: Any, axes: Any) -> list[tuple[int, Any]]:
    """The axes of a transform in their order, with the numbers of elements that are asked for."""
    if axes is None and s is not None:
        raise NotUnderstoodError("axes that are not said")  # NumPy warns of that
    rank = len(array._shape)
    given = list(range(rank)) if axes is None else list(map(operator.index, axes))
    if any(not -rank <= axis < rank for axis in given):
        raise NotUnderstoodError("axes")  # NumPy says so
    places = [axis % rank for axis in given]
    counts = [None] * len(given) if s is None else list(s)
    if not given or len(counts) != len(given) or len(set(places)) != len(given) or (s is not None and None in counts):
        raise NotUnderstoodError("shapes")  # NumPy says what is wrong with them
    return [(d, array._shape[d] if n == -1 else n) for d, n in zip(places, counts, strict=True)]


_register_transforms()


def _register_shifts() -> None:
    def handler(is_back: bool) -> Callable[..., Any]:
        def of_array(x: Value, axes: Any = None) -> LazyArray:
            array = as_lazy(x)
            rank = len(array._shape)
            given = range(rank) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
            places = tuple(map(operator.index, given))
            if not rank or any(not -rank <= axis < rank for axis in places):
                raise NotUnderstoodError("axes")  # NumPy says so
            halves = [array._shape[d] // 2 for d in places]
            return roll(array, tuple(-n if is_back else n for n in halves), places)

        return of_array

    understood(np.fft.fftshift, how=COPY)(handler(is_back=False))
    understood(np.fft.ifftshift, how=COPY)(handler(is_back=True))


_register_shifts()
