"""Functions of NumPy's that are Python code of others which are understood: their own code is traced.

Idea. Below what hands over to lazy arrays, `np.unwrap` is Python: slices, `diff`, `cumsum`. It is called with lazy
arrays, in globals of its module in which what makes arrays is the traced function's NumPy (`namespaces`). So it is
NumPy's own sentence that says what is computed, in the version that runs.

Invariant: code is followed to its end, or not at all. Where it asks for values, warns, calls what would be a fence, or
raises anything, the whole function is a fence, and the trace is as if nobody had tried.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.frontend.abandoning import ATTEMPTS, NotFollowed
from slinky.frontend.arrays import LazyArray
from slinky.frontend.calling import sized
from slinky.frontend.given import lazy_arrays, trace_of
from slinky.frontend.indexed import own_array
from slinky.frontend.kinds import BUILTINS
from slinky.frontend.namespaces import TracedNumpy
from slinky.frontend.nodes import Source
from slinky.frontend.rearranging import product_of
from slinky.frontend.seeing import Globals, called_by, is_meant, names_spoken, rebuilt
from slinky.frontend.sizes import Size
from slinky.frontend.tables import ALONG, EXACT, TABLE, TOLERANCE, NotUnderstoodError, understood
from slinky.frontend.tracing import Trace
from slinky.frontend.trees import with_leaves

AS_WRITTEN = "as NumPy's code does it"


def followed(function: Callable[..., Any], given: Any, keywords: dict[str, Any]) -> Any:
    """What the code of a function gives for lazy arrays.

    Raises `NotUnderstoodError` where it cannot be followed to its end.
    """
    trace = trace_of((given, keywords))
    own = trace.followed.get(function)
    if own is None:
        below: Any = getattr(function, "_implementation", function)
        own = trace.followed[function] = _seeing_lazy_arrays(below, trace)
    with attempt(trace, lazy_arrays((given, keywords))):
        result = own(*given, **keywords)
    if type(result) is LazyArray:
        node = result._cell.result.node
        if node.name == node.operation.name and not isinstance(node.operation, Source):
            trace.name_of(node)
    return with_leaves(result, own_array) if trace.is_free else result  # of a function, what it returns is looked at


@contextmanager
def attempt(trace: Trace, arrays: Iterable[LazyArray]) -> Iterator[None]:
    """Follow code, to its end: else all is as it was, and `NotUnderstoodError` is raised."""
    restore = _restoring(trace, arrays)
    if not ATTEMPTS.depth:
        ATTEMPTS.refused = None
    ATTEMPTS.depth += 1
    why = "interrupted"
    try:
        yield
        why = ATTEMPTS.refused or ""
    except (Exception, NotFollowed) as error:
        why = str(error) or type(error).__name__
    finally:
        ATTEMPTS.depth -= 1
        if why:
            restore()
    if why:
        raise NotUnderstoodError(why)  # outside of the exception, which holds what the frames of the attempt hold


def _restoring(trace: Trace, arrays: Iterable[LazyArray]) -> Callable[[], None]:
    """What makes a trace, and the arrays that are given, what they are now."""
    cells = [(cell, cell.result, cell.uncertain, cell.by_layout) for cell in {array._cell for array in arrays}]
    questions = trace.questions
    growing: list[Any] = [trace.made, trace.sources, questions.held, questions.roots, questions.known]
    lists = [trace.copied, trace.watched]
    counts = [len(each) for each in (*growing, *lists)]
    flags = trace.asked_for_layout, trace.asked_for_rows, trace.asked_for_class

    def restore() -> None:
        for cell, result, uncertain, by_layout in cells:
            cell.result, cell.uncertain, cell.by_layout = result, uncertain, by_layout
        if trace.is_free:
            return  # of which nothing is kept
        for each, count in zip((*growing, *lists), counts, strict=True):
            while len(each) > count:
                each.popitem() if isinstance(each, dict) else each.pop()
        trace.asked_for_layout, trace.asked_for_rows, trace.asked_for_class = flags

    return restore


# ----------------------------------------------------------------------------------------------------------------
# What the code sees
# ----------------------------------------------------------------------------------------------------------------


def _seeing_lazy_arrays(function: FunctionType, trace: Trace) -> FunctionType:
    """A function of NumPy's in globals in which what makes arrays makes lazy ones of lazy ones."""
    functions, spoken, kinds = _read(function)
    replaced = _replaced(trace)
    live = function.__globals__
    own: dict[str, Any] = {name: BUILTINS[name] for name in kinds}
    for name in spoken & live.keys():
        value = live[name]
        if value is warnings:
            own[name] = _Warnings()
        elif isinstance(value, ModuleType):
            own[name] = _Module(value, replaced)
        elif id(value) in replaced:
            own[name] = replaced[id(value)]
    return rebuilt(functions, [Globals(live, own)])[function]


@functools.lru_cache(maxsize=256)
def _read(function: FunctionType) -> tuple[tuple[FunctionType, ...], frozenset[str], tuple[str, ...]]:
    """A function with those of its module that it calls, the globals that they speak of, and the builtins among these
    that ask for classes."""
    functions = tuple(called_by(function))
    spoken = names_spoken(functions)
    kinds = [name for name in spoken & BUILTINS.keys() - function.__globals__.keys() if is_meant(name, functions)]
    return functions, spoken, tuple(kinds)


_MAKING = (
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "broadcast",
    "empty",
    "full",
    "ones",
    "zeros",
)
"""What NumPy's code calls to make arrays, and hands over to no lazy array by itself."""


def _replaced(trace: Trace) -> dict[int, Any]:
    """By the identity of functions of NumPy's, what is called in their place."""
    namespace = TracedNumpy.of(trace)
    made = {id(getattr(np, name)): getattr(namespace, name) for name in _MAKING}
    return {**made, id(np.true_divide): _Dividing(trace), id(np.prod): _product}


def _product(a: Any, *given: Any, **named: Any) -> Any:
    """`np.prod`, also of a list of sizes."""
    if type(a) is list and any(type(each) is Size for each in a):
        return product_of(a)
    return np.prod(a, *given, **named)


@attrs.frozen
class _Dividing:
    """`np.true_divide`, also of sizes, of which nothing is asked."""

    trace: Trace

    def __call__(self, *given: Any, **named: Any) -> Any:
        known: Any = [sized(each, np.int64, self.trace) if type(each) is Size else each for each in given]
        return np.true_divide(*known, **named)


class _Module:
    """A module of NumPy's in which some functions are others."""

    def __init__(self, module: ModuleType, replaced: dict[int, Any]) -> None:
        self._module = module
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return self._replaced.get(id(value), value)


class _Warnings:
    """The module `warnings`: what NumPy warns of, it is to warn of at each call, and where the call stands."""

    def __getattr__(self, name: str) -> Any:
        raise ATTEMPTS.refusal(f"warnings.{name}")


# ----------------------------------------------------------------------------------------------------------------
# Which functions
# ----------------------------------------------------------------------------------------------------------------


_FOLLOWED: dict[str, str] = {
    "append": EXACT,
    "apply_over_axes": ALONG,
    "astype": EXACT,
    "atleast_3d": EXACT,
    "cov": TOLERANCE,
    "cross": EXACT,
    "cumulative_prod": ALONG,
    "cumulative_sum": ALONG,
    "iscomplex": EXACT,
    "isreal": EXACT,
    "linalg.cross": EXACT,
    "linalg.matmul": TOLERANCE,
    "linalg.matrix_norm": ALONG,
    "linalg.matrix_power": TOLERANCE,
    "linalg.matrix_transpose": EXACT,
    "linalg.multi_dot": TOLERANCE,
    "linalg.outer": EXACT,
    "linalg.tensordot": TOLERANCE,
    "linalg.vector_norm": ALONG,
    "matrix_transpose": EXACT,
    "polyadd": EXACT,
    "polyder": EXACT,
    "polyint": EXACT,
    "polysub": EXACT,
    "polyval": EXACT,
    "resize": EXACT,
    "sort_complex": ALONG,
    "trapezoid": ALONG,
    "unstack": EXACT,
    "unwrap": ALONG,
}
"""By their names below `np`, for some are not in all versions."""


def _register() -> None:
    def handler(function: Callable[..., Any]) -> Callable[..., Any]:
        def as_written(*given: Any, **keywords: Any) -> Any:
            return followed(function, given, keywords)

        return as_written

    for name, exactness in _FOLLOWED.items():
        *modules, own = name.split(".")
        function = getattr(functools.reduce(getattr, modules, np), own, None)
        if function is not None and function not in TABLE:
            understood(function, how=AS_WRITTEN, exactness=exactness)(handler(function))


_register()
