"""The NumPy that a traced function sees: what does not hand over to lazy arrays by itself is put in its place.

Idea. `np.zeros(x.shape)`, `np.asarray(x)` and `np.max([x, y], axis=0)` never ask a lazy array. So a function is traced
with globals in which NumPy is a namespace that does: the same functions, but for those that make arrays of sizes, or of
lazy arrays, and those that make an array of a list before they reduce it. The functions of the same module that it
calls are taken along. So it goes for what asks for classes (`kinds`), and for functions of `math` (`reals`).

Invariant: where no size and no lazy array is given, everything is NumPy's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import attrs
import numpy as np

from slinky.errors import TracingError
from slinky.frontend.arrays import LazyArray, made, placed
from slinky.frontend.calling import broadcast_to, converted, filled, lifted
from slinky.frontend.given import lazy_arrays
from slinky.frontend.kinds import BUILTINS, is_just_called
from slinky.frontend.operations import Ramp
from slinky.frontend.places import instructions_of
from slinky.frontend.reading import all_code, names_of
from slinky.frontend.reals import MATH, OF_MATH, known_reals, now
from slinky.frontend.sizes import Size, known
from slinky.frontend.tracing import Trace
from slinky.frontend.views import common_shape


class TracedNumpy(ModuleType):
    """NumPy, for a function that is traced."""

    def __init__(self, trace: Trace) -> None:
        super().__init__("numpy", np.__doc__)
        self._trace = trace

    @staticmethod
    def of(trace: Trace) -> TracedNumpy:
        """The one of a trace: libraries compare the namespaces of arrays by their identity."""
        if trace.namespace is None:
            trace.namespace = TracedNumpy(trace)
        found: TracedNumpy = trace.namespace
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "random":
            raise TracingError("random numbers cannot be traced: numpy.random; draw them outside of the function")
        if name in _OF_FILES:
            self._trace.reads_anew(f"np.{name}, which reads files,")
        return _OF_LISTS.get(name) or getattr(np, name)

    def zeros(self, shape: Any, dtype: Any = float, *given: Any, **named: Any) -> Any:
        """Zeros: lazy ones where the shape is of sizes."""
        return self._full(np.zeros, shape, dtype, 0, given, named)

    def ones(self, shape: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """Ones."""
        return self._full(np.ones, shape, dtype, 1, given, named)

    def empty(self, shape: Any, dtype: Any = float, *given: Any, **named: Any) -> Any:
        """Something: zeros, where it is lazy."""
        return self._full(np.empty, shape, dtype, 0, given, named)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """Full of a value."""
        is_lazy = type(fill_value) is LazyArray
        if (not _has_sizes(shape) and not is_lazy) or given or named:
            return np.full(shape, fill_value, dtype, *given, **named)
        own = fill_value.dtype if is_lazy else np.asarray(now(fill_value)).dtype
        value = converted(fill_value, own if dtype is None else np.dtype(dtype), self._trace)
        found = placed(value._view.result, self._trace)._seen(broadcast_to(value, _shape_of(shape)))
        return found.copied()

    def _full(self, function: Any, shape: Any, dtype: Any, value: Any, given: Any, named: dict[str, Any]) -> Any:
        kind = np.dtype(float if dtype is None else dtype)
        if not _has_sizes(shape) or given or set(named) - {"order"} or kind.kind not in "biufc":
            return function(shape, kind, *given, **named)
        return filled(_shape_of(shape), kind, value, self._trace).copied(named.get("order", "C"))

    def arange(self, *given: Any, **named: Any) -> Any:
        """Numbers in steps: lazy ones where the ends are sizes. NumPy is given computed ends as it has them: between
        complex ones it counts otherwise."""
        given = tuple([_value(each, "np.arange") for each in given])
        named = {name: _value(each, "np.arange") for name, each in named.items()}
        ends = given if len(given) > 1 else (0, *given)
        step = ends[2] if len(ends) > 2 else 1
        is_plain = not named and all(type(each) in (int, Size) for each in ends) and type(step) is int and step > 0
        if not is_plain or not _has_sizes(ends[:2]) or len(ends) > 3:
            return np.arange(*given, **named)
        distance = ends[1] - ends[0]
        if distance <= 0:
            return np.arange(*given)
        count = (distance + step - 1) // step
        result = made(Ramp(ends[0], step), [], [((count,), np.dtype(np.int64), False)], self._trace)[0]
        return placed(result, self._trace)

    @property
    def ogrid(self) -> Any:
        """Numbers in steps, along an axis each."""
        return _Grid(self, np.ogrid, lambda axes: axes)

    @property
    def mgrid(self) -> Any:
        """The same, repeated to all of a box."""
        return _Grid(self, np.mgrid, lambda axes: np.stack(np.broadcast_arrays(*axes)))

    def broadcast(self, *given: Any) -> Any:
        """What tells of arrays, some of them lazy, the shape that they have together."""
        if not lazy_arrays(given):
            return np.broadcast(*given)
        return _Broadcast(common_shape([lifted(each, self._trace)._shape for each in given]))

    def asarray(self, a: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """The array itself, if it is lazy."""
        is_plain = not set(named) - {"order"} and named.get("order") in (None, "K", "A")
        if type(a) in (list, tuple) and not given and not named:
            a, dtype = _of_list(a, dtype)
        if type(a) is not LazyArray or given or not is_plain:
            if set(named) == {"copy"}:
                return self.array(a, dtype, **named)
            return np.asarray(known_reals(a), dtype, *given, **named)
        if a.is_scalar:
            a = a.copied()
        return a if dtype is None else a.astype(dtype, copy=False)

    def asanyarray(self, a: Any, dtype: Any = None, *given: Any, **named: Any) -> Any:
        """The array itself, if it is lazy."""
        return self.asarray(a, dtype, *given, **named)

    def ascontiguousarray(self, a: Any, dtype: Any = None, **named: Any) -> Any:
        """The elements in C order: of a lazy array, which may be the array itself."""
        if type(a) is not LazyArray or named:
            return np.ascontiguousarray(a, dtype, **named)
        found = a.copied() if dtype is None else a.astype(dtype)
        a._cell.uncertain = found._cell.uncertain = True
        return found if found._shape else found[None]

    def astype(self, x: Any, dtype: Any, /, **named: Any) -> Any:
        """The elements in another dtype."""
        if type(x) is not LazyArray or set(named) - {"copy"}:
            return np.astype(x, dtype, **named)
        return x.astype(dtype, copy=named.get("copy", True))

    def array(self, a: Any, dtype: Any = None, **named: Any) -> Any:
        """A copy, or what need not be copied."""
        if type(a) in (list, tuple) and not named:
            a, dtype = _of_list(a, dtype)
        if type(a) is not LazyArray or set(named) - {"copy", "ndmin", "subok"}:
            return np.array(known_reals(a), dtype, **named)
        copy, axes = named.get("copy", True), named.get("ndmin", 0) - a.ndim
        if copy:
            found = a.copied() if dtype is None else a.astype(dtype).copied()
        else:
            np.array(a.dtype.type() if a.is_scalar else np.empty((), a.dtype), dtype, copy=copy)  # refuses what it does
            found = self.asarray(a, dtype)
        return found[(*(None,) * axes, ...)] if axes > 0 else found


_OF_FILES = frozenset(["fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap"])
"""What files give may be something else at the next call."""


MOST_LISTED = 64
"""NumPy makes arrays of lists of more lazy arrays: each would be a part of a trace."""


def _of_list(given: Any, dtype: Any = None) -> tuple[Any, Any]:
    """A list of lazy arrays as the array that NumPy makes of it, and the dtype to give to that; else both as given."""
    found = lazy_arrays(given)
    if not found:
        return known_reals(given), dtype
    leaves = list(_leaves(given))
    if len(leaves) > MOST_LISTED or any(each.ndim != found[0].ndim for each in found):
        return given, dtype
    if len(found) < len(leaves) and (found[0].ndim or not all(map(np.isscalar, leaves))):
        return given, dtype  # what is no lazy array may be of another shape
    kinds = [each.dtype if type(each) is LazyArray else np.asarray(each).dtype for each in leaves]
    kind = functools.reduce(np.promote_types, kinds)
    wanted = kind if dtype is None else np.dtype(dtype)
    if kind.kind not in "biufc" or kind != np.result_type(*kinds) or not np.can_cast(kind, wanted, "safe"):
        return given, dtype  # NumPy looks at each element, or goes by their order
    return _stacked(given), wanted


def _leaves(given: Any) -> Iterator[Any]:
    for each in given:
        yield from _leaves(each) if type(each) in (list, tuple) else (each,)


def _stacked(given: Any) -> Any:
    return np.stack([_stacked(each) for each in given]) if type(given) in (list, tuple) else given


def _reduced_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction that takes lists of lazy arrays, too."""

    @functools.wraps(function)
    def of_any(a: Any, *given: Any, **named: Any) -> Any:
        return function(_of_list(a)[0] if type(a) in (list, tuple) else a, *given, **named)

    return of_any


_OF_LISTS = {
    name: _reduced_list(getattr(np, name))
    for name in ("all", "amax", "amin", "any", "average", "max", "mean", "median", "min", "prod", "std", "sum", "var")
}
"""Reductions by name: NumPy asks no element of a list whether it is lazy."""


@attrs.frozen
class _Broadcast:
    """`np.broadcast` of lazy arrays."""

    shape: tuple[Any, ...]

    @property
    def ndim(self) -> int:
        """How many axes they have together."""
        return len(self.shape)


class _Grid:
    """`np.ogrid` or `np.mgrid`: lazy where its ends are sizes, and steps are numbers. `whole` makes it of its axes."""

    def __init__(self, namespace: TracedNumpy, own: Any, whole: Callable[[tuple[Any, ...]], Any]) -> None:
        self._namespace, self._own, self._whole = namespace, own, whole

    def __getitem__(self, given: Any) -> Any:
        slices = given if isinstance(given, tuple) else (given,)
        if not all(isinstance(each, slice) for each in slices):
            return self._own[given]
        ends = [(0 if s.start is None else s.start, s.stop, 1 if s.step is None else s.step) for s in slices]
        if not any(map(_has_sizes, ends)) or not all(map(_is_forwards, ends)):
            numbers = tuple(slice(*(known(n) if type(n) is Size else _value(n, "a grid") for n in own)) for own in ends)
            return self._own[numbers if isinstance(given, tuple) else numbers[0]]
        axes = [self._namespace.arange(*own) for own in ends]
        if not isinstance(given, tuple):
            return axes[0]
        count = len(axes)
        return self._whole(
            tuple(axis[tuple(slice(None) if k == d else None for k in range(count))] for d, axis in enumerate(axes))
        )


def _value(given: Any, what: str) -> Any:
    """A number that is computed, as NumPy has it."""
    return given._as_numpy_has_it(what) if type(given) is LazyArray else known_reals(given)


def _is_forwards(ends: tuple[Any, Any, Any]) -> bool:
    """Whether there are numbers between two ends, in steps that are one."""
    start, stop, step = ends
    return {type(start), type(stop)} <= {int, Size} and type(step) is int and step > 0 and stop > start


def _has_sizes(shape: Any) -> bool:
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    return any(type(each) is Size for each in entries)


def _shape_of(shape: Any) -> tuple[Any, ...]:
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(each if type(each) is Size else int(each) for each in entries)


def with_traced_numpy(function: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    """A function that sees lazy arrays' NumPy, as do the functions of its module that it calls."""
    if not isinstance(function, FunctionType):
        return function
    called = called_by(function)
    spoken = names_spoken(called)
    codes = [code for each in called for code in all_code(each.__code__)]
    asked = spoken & BUILTINS.keys() - function.__globals__.keys()
    kinds = {name: BUILTINS[name] for name in asked if is_meant(name, called)}
    live = function.__globals__
    of_math = {name: _of_math(live[name]) for name in spoken & live.keys() if _of_math(live[name]) is not None}
    speaks_of_numpy = any(live.get(name) is np for name in spoken)
    if not (speaks_of_numpy or kinds or of_math) or any(names_of(code).writes for code in codes):
        return function  # what sets globals must set those that all others see
    namespace = TracedNumpy.of(trace)
    of_numpy = {name: namespace for name, value in live.items() if value is np}
    return rebuilt(called, Globals(live, {**of_numpy, **of_math, **kinds}))[function]


_CLASSES = ("float", "type")
"""Builtins that are classes, of which something else may be asked than to be called."""


def is_meant(name: str, functions: Iterable[FunctionType]) -> bool:
    """Whether functions mean by a builtin's name what it is called for."""
    codes = (code for each in functions for code in all_code(each.__code__))
    return name not in _CLASSES or is_just_called(name, codes)


def _of_math(value: Any) -> Any:
    """What a traced function sees for `math`, or for a function of it; None for anything else."""
    if value is math:
        return MATH
    return OF_MATH.get(value) if isinstance(value, BuiltinFunctionType) else None


class Globals(dict[str, Any]):
    """The globals that a traced function sees: some of its own, and for the others what its module has, now."""

    def __init__(self, live: dict[str, Any], own: dict[str, Any]) -> None:
        super().__init__({**{name: value for name, value in live.items() if name.startswith("__")}, **own})
        self.live = live

    def __missing__(self, name: str) -> Any:
        return self.live[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.live[name] = value


def may_catch(function: Callable[..., Any], read: Iterable[FunctionType]) -> bool:
    """Whether a function, or one that is `read` of those that it calls, goes on after errors of any kind."""
    functions = [function, *read] if isinstance(function, FunctionType) else list(read)
    return any(_catches(code, ()) for each in functions for code in all_code(each.__code__))


def takes_stand_ins(function: Callable[..., Any], read: Iterable[FunctionType]) -> bool:
    """Whether a function may be given something that stands for a float, with all that is `read` of what it calls. Not
    where one goes on after errors of others than arithmetic: such may be raised where the float raises none. Nor where
    one asks for the `type`, and sees Python's, which tells them apart."""
    seen = called_by(function) if isinstance(function, FunctionType) else []
    for each in read:
        codes = list(all_code(each.__code__))
        asks = each not in seen and any("type" in names_of(code).globals for code in codes)
        if asks or any(map(_catches, codes)):
            return False
    return True


_OF_ARITHMETIC = frozenset(["ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"])
_NAMING = ("BUILD_TUPLE", "LOAD_GLOBAL", "LOAD_NAME")


def _catches(code: CodeType, others: Iterable[str] = _OF_ARITHMETIC) -> bool:
    """Whether code catches errors but for those `others`."""
    names = names_of(code)
    if "suppress" in names.globals or "suppress" in names.attributes:
        return True
    done = [each for each in instructions_of(code) if each.opname != "CACHE"]
    for k, each in enumerate(done):
        if each.opname == "PUSH_EXC_INFO" and done[k + 1].opname == "POP_TOP":
            return True  # whatever it is
        if each.opname in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
            named = list(takewhile(lambda i: i.opname in _NAMING, reversed(done[:k])))
            if not named or {i.argval for i in named if i.opname != "BUILD_TUPLE"}.difference(others):
                return True
    return False


def called_by(function: FunctionType) -> list[FunctionType]:
    """A function, and those of its module that it calls by name, and so on."""
    found = {function: None}
    waiting = [function]
    while waiting:
        for name in sorted(_globals_of(waiting.pop())):
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType) and value.__globals__ is function.__globals__ and value not in found:
                found[value] = None
                waiting.append(value)
    return list(found)


def names_spoken(functions: Iterable[FunctionType]) -> frozenset[str]:
    """The globals that functions speak of."""
    return frozenset(name for each in functions for name in _globals_of(each))


def _globals_of(function: FunctionType) -> set[str]:
    return {name for code in all_code(function.__code__) for name in names_of(code).globals}


def rebuilt(functions: Iterable[FunctionType], names: Globals) -> dict[FunctionType, FunctionType]:
    """Functions of one module with other globals, by which they also see each other."""
    found = {each: _rebuilt(each, names) for each in functions}
    for name, value in names.live.items():
        if isinstance(value, FunctionType) and value in found:
            dict.__setitem__(names, name, found[value])
    return found


def _rebuilt(function: FunctionType, names: Globals) -> FunctionType:
    """A function with other globals."""
    new = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__dict__.update(function.__dict__)
    return new
