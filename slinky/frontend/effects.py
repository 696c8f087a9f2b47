"""Lazy arrays that a function keeps, in its object, a cache, a list: arrays take their place when its trace has ended.

Idea. What code says that it sets (`self.state = ...`, `global last`) is known before, and such a function is not
traced. Others are found out when the trace has ended: of the lazy arrays that it made, those are still there that
somebody keeps. They are computed then, while the arguments are what they were, and put where the lazy ones lie; what
is an argument, or a view of one, is that. What cannot be replaced (in a tuple, a generator, what the collector does not
look at) stays a lazy array, of those values and of no trace.

Invariant: when a call has returned, nobody holds a lazy array of its trace.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import CellType
from typing import Any

import numpy as np

from slinky.frontend.arrays import LazyArray, placed
from slinky.frontend.free_traces import FREE
from slinky.frontend.nodes import Array, Node
from slinky.frontend.reals import Real, now
from slinky.frontend.tracing import Trace, computed
from slinky.frontend.views import seen


def settle(trace: Trace) -> bool:
    """Put arrays where somebody keeps lazy ones of a trace that has ended; whether anybody did."""
    given = dict(trace.given)
    trace.given.clear()
    if not trace.cells:
        return False
    gc.collect()  # what only garbage holds is kept by nobody
    cells = list(trace.cells)
    found = [each for each in gc.get_referrers(*cells) if type(each) is LazyArray] if cells else []
    for kept, value in zip(found, computed([each._view for each in found], trace), strict=True):
        replace(kept, value[()] if kept.is_scalar else _given_as(kept, given, value))
        free = placed(FREE.source(value, "kept"), FREE)
        kept._trace, kept._cell, kept._index, kept._shape = FREE, free._cell, free._index, free._shape
    return bool(found)


def _given_as(kept: LazyArray, given: Mapping[Node, Array], value: Array) -> Array:
    """An argument, or a view of it, where that is kept; else its values."""
    view = kept._view
    array = given.get(view.result.node)
    if array is None or view.is_woven or not kept._writeable:
        return value
    return array if view.is_whole else seen(np.asarray(array), view)


def settle_floats(trace: Trace) -> None:
    """Put floats where somebody keeps those that are told at each call (`reals`), of a trace that has ended."""
    for kept in trace.reals.end():
        replace(kept, now(kept))


def replace(kept: LazyArray | Real, value: Array | float) -> None:
    """Put a value in each place of a lazy one that can be written to. (No function in here may have `kept` in a cell
    while holders are looked for, or that would be one.)"""
    for holder in gc.get_referrers(kept):
        if isinstance(holder, CellType):
            holder.cell_contents = value
        elif isinstance(holder, list):
            _replace_in(partial(list.__setitem__, holder), enumerate(holder), kept, value)
        elif isinstance(holder, deque):
            _replace_in(partial(deque.__setitem__, holder), enumerate(holder), kept, value)
        elif isinstance(holder, dict):
            _replace_in(_setter(holder), list(dict.items(holder)), kept, value)
            _replace_key(holder, kept, value)
        elif isinstance(holder, set):
            set.discard(holder, kept)
            set.add(holder, value)
        elif hasattr(holder, "__dict__"):
            _replace_in(partial(dict.__setitem__, vars(holder)), list(vars(holder).items()), kept, value)


def _setter(names: dict[Any, Any]) -> Callable[[Any, Any], object]:
    """What puts something into a dictionary; a class knows its attributes by more than that."""
    for owner in gc.get_referrers(names):
        if isinstance(owner, type) and owner.__dict__ == names:
            return partial(setattr, owner)
    return partial(dict.__setitem__, names)


def _replace_key(holder: dict[Any, Any], kept: Any, value: Any) -> None:
    """Put a value in the place of a key, if it is one, where that stands."""
    if type(holder).__setitem__ is not dict.__setitem__ or not any(key is kept for key in dict.keys(holder)):
        return  # others keep the order of their keys by themselves
    items = [(value if key is kept else key, each) for key, each in dict.items(holder)]
    dict.clear(holder)
    dict.update(holder, items)


def _replace_in(
    put: Callable[[Any, Any], object],
    items: Iterable[tuple[Any, Any]],
    kept: Any,
    value: Any,
) -> None:
    for place in [place for place, each in items if each is kept]:
        put(place, value)
