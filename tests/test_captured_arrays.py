"""Large arrays, and objects, that a function has beside its arguments: they are told at each call, as arguments are."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.traced import PIECES, assert_same, jit, kept

N = 130  # so that arrays are too large to be compared at each call


def image(seed: int = 0, shape: tuple[int, ...] = (N, N)) -> Any:
    """Different elements, none of them near zero."""
    return np.random.default_rng(seed).random(shape) + 0.5


DARK, FLAT = image(1), image(2)
STACK = [image(3), {"gain": image(4), "name": "b"}]
settings = types.ModuleType("settings")
settings.__dict__["TABLE"] = image(5)


class Model:
    """What is there once, for all calls."""

    def __init__(self, seed: int) -> None:
        self.weights = image(seed)
        self.gain = 2.0

    def applied(self, x: Any) -> Any:
        """By a function that makes an array as large as another."""
        return np.zeros(x.shape) + x * self.weights * self.gain


MODEL = Model(6)


def by_globals(x: Any) -> Any:
    """Two of them."""
    return np.sqrt(np.abs((x - DARK) / FLAT)) + 1


def less_dark(x: Any) -> Any:
    """What others call."""
    return x - DARK


def by_another_function(x: Any) -> Any:
    """And by a global that both have."""
    return less_dark(x) * 2 + DARK


by_a_traced_one = jit(less_dark, machine=PIECES)


def by_what_is_traced(x: Any) -> Any:
    """By a function that is decorated itself."""
    return by_a_traced_one(x) * FLAT


def by_a_list(x: Any) -> Any:
    """What is in a list, and in a dictionary in that."""
    first, second = STACK
    return x * first + (second["gain"] if second["name"] == "b" else 1)  # type: ignore[index, call-overload]


def by_an_object(x: Any) -> Any:
    """Its method and its attribute."""
    return MODEL.applied(x) + MODEL.gain


def by_a_module(x: Any) -> Any:
    """An attribute of one."""
    return x * settings.TABLE  # type: ignore[attr-defined]


def by_its_sum(x: Any) -> Any:
    """What is computed of it alone, and a part of it."""
    return x * DARK.mean() + (DARK * FLAT).sum() + DARK[0, :3].max()


def by_an_inner_function(x: Any) -> Any:
    """One that it makes."""

    def scaled(y: Any) -> Any:
        return y * FLAT

    first, _ = (scaled(each) for each in (x, DARK))
    return first


FUNCTIONS = [
    by_globals,
    by_another_function,
    by_what_is_traced,
    by_a_list,
    by_an_object,
    by_a_module,
    by_its_sum,
    by_an_inner_function,
]


def _changes() -> list[Callable[[], Any]]:
    names = globals()
    return [
        lambda: names.update(DARK=image(11)),
        lambda: FLAT.__setitem__((3, 4), 77.0),
        lambda: names.update(FLAT=image(12).T),
        lambda: STACK.__setitem__(0, image(13)),
        lambda: STACK[1].__setitem__("gain", 2.5),  # type: ignore[call-overload]
        lambda: STACK[1].__setitem__("name", "c"),  # type: ignore[call-overload]
        lambda: setattr(MODEL, "gain", 3.5),
        lambda: MODEL.weights.fill(0.25),
        lambda: names.update(MODEL=Model(14)),
        lambda: setattr(settings, "TABLE", image(15, (N,))),
        lambda: names.update(DARK=image(16, (N, 1)), FLAT=np.float32(2)),
        lambda: names.update(DARK=image(17).astype(np.float32), FLAT=image(18)),
    ]


@pytest.fixture
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "DARK", image(1))
    monkeypatch.setitem(globals(), "FLAT", image(2))
    monkeypatch.setitem(globals(), "STACK", [image(3), {"gain": image(4), "name": "b"}])
    monkeypatch.setitem(globals(), "MODEL", Model(6))
    monkeypatch.setattr(settings, "TABLE", image(5))


@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_are_told_at_each_call(function: Any) -> None:
    traced, x = jit(function, machine=PIECES), image()
    for _ in range(3):
        assert_same(traced(x), function(x))
    assert kept(traced) == 1
    assert "traced at each call" not in traced.explain(x)
    for change in _changes():
        change()
        assert_same(traced(x), function(x))
    assert kept(traced) >= 1


@pytest.mark.usefixtures("_as_before")
def test_another_array_of_the_same_kind_needs_no_other_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    traced, x = jit(by_globals, machine=PIECES), image()
    for seed in range(4):
        monkeypatch.setitem(globals(), "DARK", image(seed))
        assert_same(traced(x), by_globals(x))
    monkeypatch.setitem(globals(), "DARK", image(3, (N + 1, N)))
    monkeypatch.setitem(globals(), "FLAT", image(4, (N + 1, N)))
    x = image(shape=(N + 1, N))
    assert_same(traced(x), by_globals(x))
    assert kept(traced) == 1


def test_variables_of_functions_around_it() -> None:
    table, model = image(1), Model(2)

    def function(x: Any) -> Any:
        return x * table + model.applied(x)

    def change(value: Any) -> None:
        nonlocal table
        table = value

    traced, x = jit(function, machine=PIECES), image()
    for seed in range(3):
        change(image(seed))
        model.gain += 1
        assert_same(traced(x), function(x))
    assert kept(traced) == 1


@pytest.mark.usefixtures("_as_before")
def test_what_is_gone_is_missed() -> None:
    traced, x = jit(by_globals), image()
    traced(x)
    dark = globals().pop("DARK")
    with pytest.raises(NameError, match="DARK"):
        traced(x)
    globals()["DARK"] = dark
    assert_same(traced(x), by_globals(x))


@pytest.mark.usefixtures("_as_before")
def test_what_is_returned_is_that_array() -> None:
    traced, x = jit(lambda x: (x + 1, DARK, DARK[1:], STACK[0])), image()
    for _ in range(3):
        _, whole, part, first = traced(x)
        assert whole is DARK
        assert part.base is DARK
        assert first is STACK[0]


@pytest.mark.usefixtures("_as_before")
def test_what_is_written_is_written_there() -> None:
    def assigned(x: Any) -> Any:
        DARK[0, 0] += 1
        return x + DARK

    def added(x: Any) -> Any:
        np.add(x, x, out=DARK)
        return DARK * 2

    def appended(x: Any) -> Any:
        STACK.append(x[0, 0])
        return x * STACK[0]

    def set_in_an_object(x: Any) -> Any:
        MODEL.weights[:] = x
        return MODEL.applied(x)

    x = image()
    for function in (assigned, added, appended, set_in_an_object):
        traced = jit(function)
        for _ in range(3):
            before = DARK.copy()
            length = len(STACK)
            got = traced(x)
            assert len(STACK) == length + (function is appended)
            after = DARK.copy()
            DARK[...] = before
            assert_same(got, function(x))
            np.testing.assert_array_equal(DARK, after)


@pytest.mark.usefixtures("_as_before")
def test_functions_that_are_kept_see_the_arrays_themselves() -> None:
    found: list[Any] = []

    def function(x: Any) -> Any:
        found.append(lambda: (DARK, MODEL, STACK))
        return x * DARK * MODEL.gain + STACK[0]

    traced, x = jit(function), image()
    for _ in range(2):
        assert_same(traced(x), function(x))
    for each in found:
        dark, model, stack = each()
        assert dark is DARK
        assert model is MODEL
        assert stack is STACK


def helped(module: Any, x: Any) -> Any:
    """Of whatever module it is given."""
    return x * module.TABLE


@pytest.mark.usefixtures("_as_before")
def test_what_is_come_to_in_another_way_is_read_there() -> None:
    """Nothing stands for it there: a trace is good for one call."""

    def by_a_name(x: Any) -> Any:
        return x * getattr(settings, "TABLE") * DARK  # noqa: B009

    def by_its_names(x: Any) -> Any:
        return x * globals()["DARK"] + DARK

    def passing_it_on(x: Any) -> Any:
        return helped(settings, x) + settings.TABLE  # type: ignore[attr-defined]

    def by_a_default(x: Any, table: Any = settings.__dict__["TABLE"]) -> Any:
        return x * table

    x = image()
    for function in (by_a_name, by_its_names, passing_it_on, by_a_default):
        traced = jit(function, machine=PIECES)
        for seed in range(4):
            globals()["DARK"] = image(seed)
            settings.__dict__["TABLE"][...] = image(seed + 10)
            assert_same(traced(x), function(x))


def test_nothing_holds_them() -> None:
    table = image(1)

    def function(x: Any) -> Any:
        return x * table

    traced, x = jit(function, machine=PIECES), image()
    for _ in range(3):
        traced(x)
    alive = weakref.ref(table)
    table = image(2)
    traced(x)
    gc.collect()
    assert alive() is None
    assert kept(traced) == 1
