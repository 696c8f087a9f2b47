"""Methods that change their object: attributes that are set, integers that are counted, arrays that are written to."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from c_programs import needs_compiler
from changing_objects import SECONDS, STORE, Wave, both, first_line, jit, numbers, same, state
from numpy_objects import in_objects, of_methods
from numpy_programs import compare, jits, programs
from random_arithmetic import same_bits

import slinky as sl

Array = np.ndarray[Any, Any]

METHODS = ["advance", "smooth", "swapped", "stretched"]


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize("name", METHODS)
def test_methods_change_their_object(name: str) -> None:
    function, held = both(Wave, getattr(Wave, name))
    assert "is traced" in first_line(function, held)


def test_attributes_are_told_and_one_trace_is_kept() -> None:
    function, held = both(Wave, Wave.advance, 0.25, calls=6)
    assert len(list(function._traces)) == 1
    said = function.explain(held, 0.25)
    for name in ("before", "now", "steps", "time"):
        assert f"\nsets {name}\n" in said
    assert "traced at each call" not in said
    assert "for x in" not in str(function.pipeline(held, 0.25))
    assert held.steps == 6  # who asks changes nothing


def test_arrays_that_are_written_to_stay_the_same_arrays() -> None:
    held, function = Wave(), jit(Wave.smooth)
    now, before = held.now, held.before
    part, old = now[3], now.copy()
    function(held)
    assert held.now is now
    assert held.before is before
    assert not np.array_equal(now, old)
    assert np.shares_memory(part, held.now)
    assert "\nwrites to now\nwrites to before\n" in function.explain(held)


def test_what_is_returned_is_what_is_set() -> None:
    held, function = Wave(), jit(Wave.advance)
    for _ in range(3):
        was = held.now
        assert function(held) is held.now
        assert held.before is was


def test_arrays_that_change_places() -> None:
    held, function = Wave(), jit(Wave.swapped)
    now, before = held.now, held.before
    function(held)
    assert held.now is before
    assert held.before is now


@dataclasses.dataclass
class Optimiser:
    """Adam, as people write it."""

    weights: Any
    mean: Any = None
    square: Any = None
    steps: int = 0

    def step(self, gradient: Any, rate: float = 0.1) -> None:
        if self.mean is None:
            self.mean, self.square = np.zeros_like(gradient), np.zeros_like(gradient)
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.99 * self.square + 0.01 * gradient * gradient
        self.weights -= rate * self.mean / (np.sqrt(self.square) + 1e-8)


class Slots:
    """Attributes at places of their own."""

    __slots__ = ("count", "u")

    def __init__(self) -> None:
        self.u, self.count = numbers(5, 6), 0

    def step(self, by: int) -> Any:
        self.u = self.u * 2
        self.count += by
        return self.u.sum(axis=0)


class Pair(Wave):
    """A wave with another one inside, and arrays in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.table, self.last = Wave(8), {"u": numbers(4, 5)}, None

    def step(self) -> Any:
        self.inner.advance(0.5)
        super().advance()
        self.last = {"sums": (self.now.sum(axis=0), self.now.shape[0]), "what": [self.table["u"] * 2, "twice", None]}
        return self.inner.now

    def written(self) -> None:
        self.table["u"][0] = self.table["u"][1]
        self.inner.now[...] = self.inner.now + 1


def test_objects_of_many_kinds() -> None:
    gradient = numbers(7, 5, seed=3) - 0.5
    for make, method, given in (
        (lambda: Optimiser(numbers(7, 5)), Optimiser.step, (gradient,)),
        (Pair, Pair.step, ()),
        (Pair, Pair.written, ()),
    ):
        function, held = both(make, method, *given)
        assert "is traced" in first_line(function, held, *given)
    plain, traced, function = Slots(), Slots(), jit(Slots.step)
    for by in (1, 1, 3):
        same(function(traced, by), plain.step(by))
        assert (traced.count, traced.u.tolist()) == (plain.count, plain.u.tolist())
    assert "is traced" in first_line(function, traced, 3)


def test_objects_that_a_function_is_given() -> None:
    def step(wave: Any, other: Any, *, dt: float) -> Any:
        other.most = wave.now * dt
        wave.now[0] = 1
        wave.steps += 2
        return other.curvature()

    plain, traced, function = [Wave(), Wave(9)], [Wave(), Wave(9)], jit(step)
    for dt in (0.1, 0.2, 0.3):
        same(function(*traced, dt=dt), step(*plain, dt=dt))
        same([*map(state, traced)], [*map(state, plain)])
    assert len(list(function._traces)) == 1
    one, function = Wave(), jit(step)
    expected = Wave()
    same(function(one, one, dt=0.5), step(expected, expected, dt=0.5))
    same(state(one), state(expected))


def test_attributes_that_were_not_there() -> None:
    def step(wave: Any) -> None:
        wave.fresh = wave.now + 1

    both(Wave, step)


def test_decorated_methods_change_each_object() -> None:
    class Sum:
        def __init__(self, start: Array) -> None:
            self.total, self.count = start, 0

        @jit
        def add(self, values: Array) -> Any:
            self.total = self.total + values
            self.count += 1
            return self.total.mean()

    one, other = Sum(numbers(4, 5)), Sum(numbers(4, 5, seed=2))
    for k in range(1, 4):
        one.add(numbers(4, 5))
        assert (one.count, other.count) == (k, k - 1)
        other.add(numbers(4, 5))
    np.testing.assert_array_equal(one.total, numbers(4, 5) + numbers(4, 5) + numbers(4, 5) + numbers(4, 5))
    assert len(list(Sum.add._traces)) == 1


TABLE = numbers(200, 200)


def test_arrays_beside_the_arguments_are_written_to() -> None:
    def step(x: Any) -> Any:
        TABLE[1:-1] = TABLE[1:-1] * 0.5 + x
        return TABLE.sum(axis=0)

    global TABLE
    first = TABLE.copy()
    wanted = [step(1.0) for _ in range(3)]
    kept, TABLE = TABLE, first
    function, x = jit(step), np.ones((1, 1))
    for each in wanted:
        same(function(x), each)
    same_bits(TABLE, kept)
    assert TABLE is first
    assert "\nwrites to TABLE\n" in function.explain(x)


def test_a_counter_that_is_something_else_later() -> None:
    """What is added to is no integer, or is none any more."""

    def step(held: Any) -> None:
        held.steps += 2
        held.now = held.now + 1

    held, expected, function = Wave(), Wave(), jit(step)
    for value in (3, 0.5, True, numbers(2, 3), np.int64(7), 3):
        held.steps, expected.steps = np.copy(value)[()], np.copy(value)[()]
        if type(value) is int:
            held.steps, expected.steps = value, value
        for _ in range(2):
            function(held)
            step(expected)
            same(state(held), state(expected))


def test_objects_beside_the_arguments_change() -> None:
    def step(x: Any) -> Any:
        return STORE.put(x) * 2

    x = numbers(5, 6)
    STORE.__init__()  # type: ignore[misc]
    function = jit(step)
    for k in range(1, 4):
        same_bits(function(x), (x * 2 + 1) * 2)
        same_bits(STORE.last, x * 2)
        assert STORE.count == k
    assert "is traced" in first_line(function, x)


def test_methods_that_are_given_functions_set_attributes() -> None:
    def step(held: Any, rate: Any) -> None:
        held.now = held.now + 0.1 * rate(held.now)

    def rate(u: Any) -> Any:
        return np.sin(u) - u

    function, held = both(Wave, step, rate)
    assert "is traced" in first_line(function, held, rate)


@pytest.mark.parametrize(
    "write",
    [
        lambda u: u.fill(2),
        lambda u: u.sort(axis=0),
        lambda u: np.copyto(u, u[::-1]),
        lambda u: u.__setitem__(u > 0.5, 0),
        lambda u: np.add.at(u, [0, 0], 1.0),
        lambda u: np.put(u, [0, 3], 7),
        lambda u: np.fill_diagonal(u, 3),
        lambda u: u.partition(2, axis=1),
        lambda u: np.nan_to_num(u, copy=False),
        lambda u: np.clip(u, 0.2, 0.8, out=u),
        lambda u: np.multiply(u, 2, out=u, where=u < 0.5),
        lambda u: u.T.__setitem__(0, 5),
        lambda u: u.ravel().__setitem__(3, 5),
        lambda u: u.reshape(-1).__setitem__(3, 5),
        lambda u: u.flat.__setitem__(3, 5),
        lambda u: np.swapaxes(u, 0, 1)[1:].__imul__(2),
    ],
)
def test_all_ways_to_write(write: Any) -> None:
    def step(held: Any) -> Any:
        write(held.now)
        held.before[...] = held.now + 1
        return held.now * 2

    both(Wave, step)


def test_integers_are_added_to_in_all_ways() -> None:
    def step(held: Any, k: int) -> None:
        held.steps += 1
        held.steps += k
        if k > 1:
            held.steps += k * 2
        held.now = held.now + 1

    def by_length(held: Any) -> None:
        held.steps += held.now.shape[0]
        held.now = held.now + 1

    both(Wave, step, 1)
    function, held = both(Wave, step, 3)
    assert "is traced" in first_line(function, held, 3)
    both(Wave, by_length)


def test_objects_by_name() -> None:
    def step(*, wave: Any, x: Any) -> None:
        wave.most = x * 2
        wave.now[0] = x[0]

    held, expected, x, function = Wave(), Wave(), numbers(3, 12), jit(step)
    for _ in range(3):
        function(x=x, wave=held)
        step(x=x, wave=expected)
        same(state(held), state(expected))
    assert "is traced" in function.explain(x=x, wave=held)


class Numbers(NamedTuple):
    """Arrays in a tuple."""

    u: Any
    v: Any


def test_trees_of_arrays_are_set() -> None:
    def step(held: Any) -> Any:
        u, v = held.parts
        held.parts = Numbers(v, u * 2)
        held.wave = [held.now + 1, {"a": (u, 3)}]
        return held.parts

    def make() -> Wave:
        held = Wave()
        held.parts = Numbers(numbers(3, 4), numbers(3, 4, seed=1))  # type: ignore[attr-defined]
        return held

    both(make, step)


@pytest.mark.usefixtures("moves_at_once")
@needs_compiler
def test_they_move_to_c() -> None:
    for name in ("advance", "smooth", "swapped"):
        plain, traced, method = Wave(40), Wave(40), getattr(Wave, name)
        function: Any = sl.jit(smallest=0, workers=1, machine=sl.Machine())(method)
        for _ in range(3):
            same(function(traced), method(plain))
            same(state(traced), state(plain))
            assert function.wait_native(SECONDS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_that_are_large_or_small(order: Any) -> None:
    for n, smallest in ((9, None), (300, None), (300, 0)):
        for name in ("advance", "smooth", "swapped"):
            plain, traced, method = Wave(n), Wave(n), getattr(Wave, name)
            for held in (plain, traced):
                held.now, held.before = np.array(held.now, order=order), np.array(held.before, order=order)
            function: Any = sl.jit(smallest=smallest, workers=1)(method)
            for _ in range(5):
                found, wanted = function(traced), method(plain)
                np.testing.assert_allclose(0 if found is None else found, 0 if wanted is None else wanted)  # sums
                same(state(traced), state(plain))


def test_containers_with_labels() -> None:
    xarray = pytest.importorskip("xarray")

    def step(held: Any, x: Any) -> Any:
        held.now = held.now + x
        return x * 2

    held, x = Wave(), xarray.DataArray(numbers(12, 12), dims=("y", "x"))
    found = jit(step)(held, x)
    xarray.testing.assert_identical(found, x * 2)
    xarray.testing.assert_identical(held.now, Wave().now + x)


def test_objects_of_several_threads() -> None:
    function, held = jit(Wave.advance), [Wave() for _ in range(4)]
    function(Wave())

    def run(wave: Wave) -> None:
        for _ in range(20):
            function(wave)

    threads = [threading.Thread(target=run, args=(wave,)) for wave in held]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    expected = Wave()
    for _ in range(20):
        expected.advance()
    for wave in held:
        same(state(wave), state(expected))


def test_traced_functions_call_each_other() -> None:
    advance = jit(Wave.advance)

    def twice(wave: Any) -> Any:
        advance(wave)
        return advance(wave) + wave.now

    both(Wave, twice)


def test_random_programs_as_methods() -> None:
    drawn = in_objects(programs(4000, 60))
    assert compare(drawn, 3, float("inf"), of_methods(jits()), takes_turns=True) == 0
