"""Functions that are not understood: fences, which run whole between what goes by pieces.

Idea. Such a function runs once while the function around it is traced, on the values of its lazy arguments, which tells
what comes of it; and again at each call, at once, on whole arrays. Where what comes of it depends on the values (which
elements are not zero), the trace is good for these alone. Where it is good for one call alone, anyway, what came of
it is not computed again.

Invariant: results are what the function gives. Where they may share memory with what it was given, writing to either is
refused; what was written later to arrays among the arguments is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, is_traceable, made, placed, whole_result
from slinky.frontend.given import lazy_arrays, trace_of
from slinky.frontend.nodes import Array, View, copied, has_elements, in_order, inside, whole_view
from slinky.frontend.operations import Opaque
from slinky.frontend.reals import known_reals
from slinky.frontend.sizes import Size, known
from slinky.frontend.tables import DATA_DEPENDENT, name_of
from slinky.frontend.tracing import Trace, values_to_read
from slinky.ir.reducing import ChangedResultError


def opaque(function: Callable[..., Any], given: Any, keywords: dict[str, Any]) -> Any:
    """What is not understood: computed now, and at once on whole arrays at each call."""
    given, keywords = known_reals(given), known_reals(keywords)
    trace, name = trace_of((given, keywords)), name_of(function)
    trace.require_fences(name)
    trace.require_no_calls()
    trace.require_usual_warnings()
    if any(out is not None for out in _tuple(keywords.get("out"))):
        raise trace.abandon(f"{name} with out=")
    keywords = {key: value for key, value in keywords.items() if key != "out"}
    arrays = lazy_arrays((given, keywords))
    if function in DATA_DEPENDENT:
        own = [a._view for a in arrays]
        trace.forced(name, *own)
        values = _read_only(values_to_read(own, trace))
        found = _relaxed_views(filled_in(function, given, keywords, values), arrays, values)
        _know_as_small(found, own, trace)
        return found
    if not trace.strict:
        trace.fence(name)
    values = _read_only(values_to_read([a._view for a in arrays], trace))
    try:
        result = filled_in(function, given, keywords, values)
    except Exception as error:
        if isinstance(error, ValueError) and "read-only" in str(error):
            raise trace.abandon(f"{name}, which writes to its argument") from None
        trace.forced(f"{name}, which raises an error,")  # by the values, perhaps; who catches it goes on otherwise
        raise
    if trace.strict:  # what the function itself refuses, it has refused
        trace.fence(name)
    results = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    if not all(is_traceable(np.asarray(r) if isinstance(r, np.generic) else r) for r in results) or not all(
        has_elements(a._shape) for a in arrays
    ):
        trace.forced(name)
        return _relaxed_views(result, arrays, values)
    for array in arrays:
        for extent in array._shape:
            known(extent)
    trace.ran_again(sum(type(node.operation) is Opaque for node in in_order([a._view.result for a in arrays])), name)
    may_fail = trace.is_free or bool(trace.donated)
    places, named = _as_they_are_now((given, keywords), trace)
    operation = Opaque(name, _Filled(name, function, places, named, may_fail), None)
    shapes = [(np.shape(r), np.asarray(r).dtype, isinstance(r, np.generic)) for r in results]
    views = [whole_result(a._view, trace) for a in arrays]
    nodes = made(operation, [whole_view(r) for r in views], shapes, trace)
    lazies = [placed(r, trace) for r in nodes]
    for real in _real_arrays((given, keywords)):
        if _shares_memory(results, [real]):
            trace.watch(real)
            values.append(real)
    if name in _MAY_BE_VIEWS or _shares_memory(results, values):
        for each in (*arrays, *lazies):
            each._cell.uncertain = True
    elif trace.reasons and not trace.is_free and len(nodes) == 1 and nodes[0].shape:
        nodes[0].node.be_source(results[0] if isinstance(function, Own) else results[0].copy())
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*lazies)
    return type(result)(lazies) if type(result) in (tuple, list) else lazies[0]


_MAY_BE_VIEWS = frozenset({"ravel", "reshape", "diagonal", "squeeze", "trim_zeros", "split", "array_split", "hsplit"})
"""Functions whose results share memory with what they are given, or do not, by its layout."""


class Own:
    """A function of ours, which gives new arrays."""

    def __call__(self, *given: Any) -> Any:
        """What it gives."""
        raise NotImplementedError


def _know_as_small(found: Any, views: Sequence[View], trace: Trace) -> None:
    """Arrays that come of the values of small arguments alone are known as such, like what is computed of these."""
    behind = [trace.small_behind(view) for view in views]
    if all(behind):
        for array in lazy_arrays(found):
            trace.small[array._cell.result.node] = frozenset().union(*filter(None, behind))


def _read_only(values: Sequence[Array]) -> list[Array]:
    """Arrays that stand for others, so that to write to them is a fault."""
    for value in values:
        value.flags.writeable = False
    return list(values)


class _Place:
    """Where the value of a lazy array stands among arguments that are kept, which know nothing of the trace."""

    __slots__ = ("is_scalar",)

    def __init__(self, is_scalar: bool) -> None:
        self.is_scalar = is_scalar


def _as_they_are_now(value: Any, trace: Trace) -> Any:
    """Arguments for later, whatever is written to the arrays and lists among them until then."""

    def kept(value: Any) -> Any:
        if type(value) is LazyArray:
            return _Place(value.is_scalar)
        if type(value) is Size:
            return known(value)
        if isinstance(value, dict):
            return copied(dict(value), kept)
        return trace.as_it_is_now(value) if _is_real(value) else value

    return copied(value, kept)


def _is_real(value: Any) -> bool:
    return type(value) is not LazyArray and isinstance(value, np.ndarray)


def _real_arrays(given: Any) -> list[Array]:
    """The arrays among arguments that are no lazy ones, also in lists, tuples and dictionaries."""
    return [each for each in inside(given) if _is_real(each)]


class _Filled:
    """A function of the arrays that stand in its arguments. A list of one result is that result.

    Unless it `may_fail`, what it raises is another result than when it was traced: the function around it may catch it.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], given: Any, keywords: dict[str, Any], may_fail: bool
    ) -> None:
        self._name, self._may_fail = name, may_fail
        self._function, self._given, self._keywords = function, given, keywords

    def __call__(self, *values: Array) -> Any:
        try:
            result = filled_in(self._function, self._given, self._keywords, values)
        except Exception as error:
            if self._may_fail:
                raise
            raise ChangedResultError(f"{self._name} raised {type(error).__name__}: {error}") from error
        return result[0] if isinstance(result, (tuple, list)) and len(result) == 1 else result


def filled_in(function: Callable[..., Any], given: Any, keywords: dict[str, Any], values: Sequence[Array]) -> Any:
    """A function, called with arrays in the place of lazy ones."""
    real = _Real(iter(values))
    arguments, named = copied(tuple(given), real), copied(dict(keywords), real)
    return function(*arguments, **named)


@attrs.frozen(eq=False)
class _Real:
    """Gives arrays that wait in the place of lazy ones. It holds them: as a function that calls itself, it would be
    part of a cycle, and they would lie there until the collector comes."""

    waiting: Iterator[Array]

    def __call__(self, value: Any) -> Any:
        if type(value) is LazyArray or type(value) is _Place:
            array = next(self.waiting)
            return array[()] if value.is_scalar else array
        if type(value) is Size:
            return known(value)
        return copied(dict(value), self) if isinstance(value, dict) else value


def relaxed(result: Any, arrays: Sequence[LazyArray]) -> Any:
    """Values that were computed now of lazy arrays, as lazy arrays where they are arrays."""
    trace = trace_of(arrays)
    if isinstance(result, np.ndarray) and is_traceable(result):
        source = trace.source(result, "array")
        source.node.in_c_order &= all(array._view.is_in_c_order for array in arrays) or result.ndim < 2
        return placed(source, trace)
    if type(result) in (tuple, list):
        return type(result)(relaxed(each, arrays) for each in result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(relaxed(each, arrays) for each in result))
    return result


def _relaxed_views(result: Any, arrays: Sequence[LazyArray], values: Sequence[Array]) -> Any:
    """What a function gave for the values of lazy arrays: where it sees them, to write to either is refused."""
    found = relaxed(result, arrays)
    if _shares_memory(result, values):
        for each in (*arrays, *lazy_arrays(found)):
            each._cell.uncertain = True
    return found


def _shares_memory(result: Any, values: Sequence[Array]) -> bool:
    if isinstance(result, (tuple, list)):
        return any(_shares_memory(each, values) for each in result)
    return isinstance(result, np.ndarray) and any(np.may_share_memory(result, value) for value in values)


def _tuple(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)
