"""Objects that functions are given, or read: traces are kept as long as these hold the same."""

from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any

import numpy as np
import pytest
from traced import MACHINE, assert_same, image, jit, kept

import slinky as sl
from slinky.frontend.objects import content_of_object, functions_in, is_plain
from slinky.frontend.reading import content_of

Array = np.ndarray[Any, Any]
OFFSET = 1.0
decorate = sl.jit(smallest=0, workers=1, machine=MACHINE)


class Part:
    """An object in another one."""

    def __init__(self, weight: float) -> None:
        self.weight = weight


class Filter:
    """A plain object."""

    shift = 0.5
    history: Any = ()

    def __init__(self, gain: float, taps: Any = (1, 2)) -> None:
        self.gain = gain
        self.taps = np.array(taps, float)
        self.part = Part(3.0)
        self.names = {"a": [1, 2]}

    def scaled(self, x: Any) -> Any:
        """By the gain."""
        return x * self.gain + self.moved

    @property
    def moved(self) -> float:
        """What somebody else says."""
        return self.shift + OFFSET

    @staticmethod
    def squared(x: Any) -> Any:
        """Of the elements."""
        return x * x

    @classmethod
    def shifted(cls, x: Any) -> Any:
        """By what the class says."""
        return x + cls.shift

    @decorate
    def __call__(self, x: Any) -> Any:
        """All of it."""
        return self.shifted(self.squared(self.scaled(x))) + self.taps.sum() * self.part.weight + self.names["a"][0]

    def expected(self, x: Array) -> Array:
        """The same, without slinky."""
        return np.asarray(type(self).__call__.__wrapped__(self, x))


def traces(function: Any = Filter.__call__) -> int:
    return sum(map(len, function._traces.values()))


@pytest.fixture(autouse=True)
def forgotten() -> None:
    for each in (Filter.__call__,):
        each._traces.clear()  # type: ignore[attr-defined]
        each._trials.clear()  # type: ignore[attr-defined]
        each._reads = None  # type: ignore[attr-defined]


def test_methods_are_traced_once() -> None:
    own, x = Filter(2.0), image(30, 20)
    for _ in range(4):
        assert_same(own(x), own.expected(x))
    assert traces() == 1
    assert_same(Filter(2.0)(x), own.expected(x))  # another one that holds the same
    assert traces() == 1


def change_gain(own: Filter, patch: pytest.MonkeyPatch) -> None:
    own.gain += 1


def change_taps(own: Filter, patch: pytest.MonkeyPatch) -> None:
    own.taps[1] = 7


def change_part(own: Filter, patch: pytest.MonkeyPatch) -> None:
    own.part.weight = -1


def change_inside(own: Filter, patch: pytest.MonkeyPatch) -> None:
    own.names["a"][0] = 9


def change_class(own: Filter, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Filter, "shift", 4.5)


def shadow_class(own: Filter, patch: pytest.MonkeyPatch) -> None:
    own.shift = 8.5


def change_method(own: Filter, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Filter, "scaled", lambda self, x: x - self.gain)


def change_static_method(own: Filter, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Filter, "squared", staticmethod(lambda x: x * x * x))


def change_property(own: Filter, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Filter, "moved", property(lambda self: -3.0))


def change_code(own: Filter, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Filter.scaled, "__code__", (lambda self, x: x * 10).__code__)


def change_global(own: Filter, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "OFFSET", -2.0)


def other_class(own: Filter, patch: pytest.MonkeyPatch) -> None:
    class Other(Filter):
        def scaled(self, x: Any) -> Any:
            return x / self.gain

    own.__class__ = Other  # type: ignore[assignment]


CHANGES = [change_gain, change_taps, change_part, change_inside, change_class, shadow_class, change_method,
           change_static_method, change_property, change_code, change_global, other_class]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_an_object_holds_is_watched(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own, x = Filter(2.0), image(30, 20)
    before = own(x)
    assert_same(own(x), before)
    change(own, monkeypatch)
    after = own.expected(x)
    assert not np.array_equal(after, before)
    assert_same(own(x), after)
    assert_same(own(x), after)


@pytest.mark.parametrize("change", CHANGES)
def test_objects_outside_are_watched(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own, x = Filter(2.0), image(30, 20)
    function = jit(lambda x: own.scaled(x) + own.part.weight + own.taps.sum() + own.names["a"][0] + own.squared(x))
    function(x)
    function(x)
    assert kept(function) == 1
    change(own, monkeypatch)
    for _ in range(2):
        assert_same(function(x), function.__wrapped__(x))


def test_data_classes_are_plain() -> None:
    @dataclasses.dataclass(frozen=True)
    class Settings:
        gain: float = 2.0
        size: int = 3

    function = jit(lambda x, s: x * s.gain + s.size)
    for settings in (Settings(), Settings(), Settings(gain=5.0)):
        assert_same(function(image(9, 5), settings), image(9, 5) * settings.gain + 3)
    assert sum(map(len, function._traces.values())) == 2


class WithSlots:
    """No dictionary."""

    __slots__ = ("gain",)


class WithGetattr:
    """Attributes that are computed."""

    def __getattr__(self, name: str) -> float:
        return 2.0


class WithOperators:
    """Something to multiply with."""

    def __mul__(self, other: Any) -> Any:
        return other


class WithEquality:
    """What is equal to whatever it likes."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Numbers(list):  # type: ignore[type-arg]
    """A container of its own."""


@pytest.mark.parametrize(
    "kind",
    [WithSlots, WithGetattr, WithOperators, WithEquality, Numbers, int, object, np.ndarray, type],
)
def test_other_objects_are_not(kind: Any) -> None:
    assert not is_plain(kind)


def test_what_an_object_cannot_be_compared_by_is_refused() -> None:
    own: Any = Part(2.0)
    assert content_of(own) == content_of(Part(2.0))
    own.lock = threading.Lock()
    with pytest.raises(TypeError, match="lock"):
        content_of(own)
    ring: Any = Part(1.0)
    ring.weight = ring
    with pytest.raises(TypeError, match="Part"):
        content_of_object(ring, content_of)
    noted = Part(Numbers([1]))  # type: ignore[arg-type]
    vars(noted.weight)["note"] = 1
    with pytest.raises(TypeError, match="Numbers"):
        content_of(noted)


class Stateful:
    """Changes by a method, and has a value that is computed once."""

    def __init__(self) -> None:
        self.calls = 0

    def count(self) -> int:
        """One more."""
        self.calls += 1
        return self.calls

    @functools.cached_property
    def cached(self) -> float:
        """Computed once."""
        return 2.0

    @decorate
    def counted(self, x: Any) -> Any:
        """By how many calls there were."""
        return x * self.count()

    @decorate
    def by_text(self, x: Any) -> Any:
        """The same, by another way."""
        return x * getattr(self, "co" + "unt")()

    @decorate
    def scaled(self, x: Any) -> Any:
        """By what is computed once."""
        return x * self.cached


@pytest.mark.parametrize("name", ["counted", "by_text"])
def test_methods_that_change_the_object_are_found(name: str) -> None:
    own, x = Stateful(), image(9, 5)
    for k in range(1, 5):
        assert_same(getattr(own, name)(x), x * k)
        assert own.calls == k
    assert "it sets calls" in getattr(own, name).func.explain(own, x)


def test_what_is_computed_once_is_traced_each_time() -> None:
    own, x = Stateful(), image(9, 5)
    for _ in range(3):
        assert_same(own.scaled(x), x * 2)


def test_functions_of_members() -> None:
    members = vars(Filter)
    assert [f.__name__ for f in functions_in(members["scaled"])] == ["scaled"]
    assert [f.__name__ for f in functions_in(members["moved"])] == ["moved"]
    assert [f.__name__ for f in functions_in(members["squared"])] == ["squared"]
    assert [f.__name__ for f in functions_in(members["shifted"])] == ["shifted"]
    assert [f.__name__ for f in functions_in(members["__call__"])] == ["__call__"]
    assert not list(functions_in(members["shift"]))
