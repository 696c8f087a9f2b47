"""Objects that a function makes and returns."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import slinky as sl
from tests.traced import PIECES, assert_same, jit, kept


def image(*shape: int) -> Any:
    """Different elements."""
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape) / 7 - 2


@dataclass
class Parts:
    """What a function returns."""

    low: Any
    high: Any
    level: int = 1
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    """What cannot be set."""

    value: Any
    inner: Any = None


class Slotted:
    """Has places of its own for attributes, one of them empty."""

    __slots__ = ("array", "other", "size")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.size = array.shape[0]


class Pair(NamedTuple):
    """With a method."""

    first: Any
    second: Any

    def total(self) -> Any:
        """Both."""
        return self.first + self.second


class Inheriting(Parts):
    """Sets more than its base."""

    def __init__(self, low: Any) -> None:
        super().__init__(low, low + 1)
        self.mean = low.mean()

    def again(self) -> Inheriting:
        """Another of them."""
        return Inheriting(self.high)


def assert_alike(got: Any, want: Any) -> None:
    """The same objects but for their identities."""
    assert type(got) is type(want)
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_alike(one, other)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_alike(got[key], want[key])
    elif isinstance(want, (Parts, Frozen)):
        assert list(vars(got)) == list(vars(want))
        assert_alike(vars(got), vars(want))
    elif isinstance(want, Slotted):
        assert not hasattr(got, "other")
        assert_alike([got.array, got.size], [want.array, want.size])
    else:
        assert_same(got, want)


FUNCTIONS = [
    lambda x, gain: Parts(x * gain, x + 1),
    lambda x, gain: Parts(x.sum(), [x, {"a": x[1:]}], x.shape[1], ["a", "b"]),
    lambda x, gain: [Parts(x, gain), (Frozen(x * 2), Frozen(1.5, Frozen(-x)))],
    lambda x, gain: {"a": Slotted(x * gain), "b": Slotted(x[1:])},
    lambda x, gain: Pair(Frozen(x), x * gain),
    lambda x, gain: Inheriting(x * gain).again().again(),
    lambda x, gain: Frozen(gain * 2, x.shape),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_are_made_anew_at_each_call(function: Any) -> None:
    traced = jit(function, machine=PIECES)
    before = []
    for n, gain in [(9, 1.5), (9, 2.5), (5, 2.5), (9, 1.5)]:
        x = image(n, 7)
        for _ in range(2):
            got = traced(x, gain)
            assert_alike(got, function(x, gain))
            before.append((got, function(x, gain)))
    assert kept(traced) == 1
    for got, want in before:
        assert_alike(got, want)
    assert len({id(got) for got, _ in before}) == len(before)


ALL: list[Any] = []
SEEN: weakref.WeakSet[Any] = weakref.WeakSet()
DEFAULT = Frozen(2.0)


class Noted:
    """All of them are known."""

    def __init__(self, value: Any) -> None:
        self.value = value
        ALL.append(self)


class NotedWeakly:
    """The same, as long as they live."""

    def __init__(self, value: Any) -> None:
        self.value = value
        SEEN.add(self)


class InItself:
    """Knows itself."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.own = self


class Watched:
    """Tells when it goes."""

    gone = 0

    def __init__(self, value: Any) -> None:
        self.value = value

    def __del__(self) -> None:
        type(self).gone += 1


def test_what_somebody_else_knows_is_that_object() -> None:
    x = image(4, 3)
    found: list[Any] = []

    def keeping(x: Any) -> Any:
        found.append(Frozen(x * 2))
        return found[-1]

    def twice(x: Any) -> Any:
        made = Frozen(x * 2)
        return made, made

    for function in (Noted, NotedWeakly, InItself, Watched, keeping):
        traced = jit(lambda x, function=function: function(x + 1))
        traced(x)  # tracing breaks off, and it runs again
        for _ in range(3):
            ALL.clear()
            found.clear()
            got = traced(x)
            value = got.value
            assert type(value) is np.ndarray
            np.testing.assert_array_equal(value, (x + 1) * (2 if function is keeping else 1))
            assert all(each is got for each in ALL)
            assert len(ALL) == (function is Noted)
            assert all(each is got for each in found)
            if function is NotedWeakly:
                assert got in SEEN
            if function is InItself:
                assert got.own is got
    traced = jit(twice)
    for _ in range(3):
        one, other = traced(x)
        assert one is other
    traced = jit(lambda x: (x + 1, DEFAULT))
    for _ in range(3):
        assert traced(x)[1] is DEFAULT
    traced = jit(lambda own, x: (own, Frozen(own.value * x)))
    for _ in range(3):
        own = Frozen(x)
        assert traced(own, x)[0] is own


def test_methods_that_return_their_like() -> None:
    class Field:
        def __init__(self, values: Any, step: float) -> None:
            self.values = values
            self.step = step

        @sl.jit(smallest=0, workers=1, machine=PIECES)
        def advanced(self, dt: float) -> Field:
            return Field(self.values + dt * np.gradient(self.values, self.step, axis=0), self.step)

    state, plain = Field(image(9, 7), 0.5), Field(image(9, 7), 0.5)
    for dt in (0.1, 0.2, 0.2):
        state = state.advanced(dt)
        plain = Field.advanced.__wrapped__(plain, dt)
        assert type(state) is Field
        assert_same(vars(state), vars(plain))
    assert kept(Field.advanced) == 1


LISTED: list[Any] = [1.0]


def test_lists_and_dictionaries_that_others_hold_are_those_in_results() -> None:
    class Logged:
        def __init__(self, values: Any, log: Any) -> None:
            self.values = values
            self.log = log

        @sl.jit(smallest=0, workers=1, machine=PIECES)
        def doubled(self) -> Logged:
            return Logged(self.values * 2, self.log)

    def twice(x: Any) -> Any:
        found = [x * 2]
        return found, found

    x = image(4, 3)
    for log in ([1], {"a": 2.0}):
        state = Logged(x, log)
        for _ in range(3):
            assert state.doubled().log is log
        traced = jit(lambda x, log: (x * 2, log))
        for _ in range(3):
            assert traced(x, log)[1] is log
    traced, of_global = jit(twice), jit(lambda x: (x * 2, LISTED))
    for _ in range(3):
        one, other = traced(x)
        assert one is other
        assert of_global(x)[1] is LISTED
    own = jit(lambda x: [x * 2, {"a": x + 1}, ([x],)])
    for _ in range(3):
        assert_same(own(x), own.__wrapped__(x))
    assert kept(own) == 1


@pytest.mark.parametrize(
    "made",
    [
        lambda low, high: (low, high),
        lambda low, high: {"low": low, "all": [high]},
        lambda low, high: Parts(low, high, names=["a"]),
        lambda low, high: Frozen(Parts(low, high), inner=(high,)),
    ],
)
def test_results_are_gone_as_soon_as_nobody_holds_them(made: Any) -> None:
    """No cycle keeps them for the collector: large ones took twice the memory, and pages were cleared at each call."""
    function = jit(lambda a: made(a + 1, a * 2), machine=PIECES)
    for _ in range(2):
        function(image(30, 20))
    assert kept(function) == 1
    gc.disable()
    try:
        result = function(image(30, 20))
        arrays = [weakref.ref(leaf) for leaf in _arrays_in(result)]
        assert arrays
        del result
        assert all(array() is None for array in arrays)
    finally:
        gc.enable()


def _arrays_in(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, (Parts, Frozen)):
        result = vars(result)
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else ()
    return [array for part in parts for array in _arrays_in(part)]
