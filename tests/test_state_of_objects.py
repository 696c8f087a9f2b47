"""Methods that change their object: attributes that are set, integers that are counted, arrays that are written to."""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from c_programs import needs_compiler
from numpy_objects import in_objects, of_methods
from numpy_programs import compare, jits, programs
from random_arithmetic import same_bits

import slinky as sl
from slinky.frontend.kept_traces import Traces

Array = np.ndarray[Any, Any]
jit: Any = sl.jit(smallest=0, workers=1)
SECONDS = 120


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape)


class Wave:
    """A membrane: what it is now, and was before."""

    def __init__(self, n: int = 12) -> None:
        self.now, self.before = numbers(n, n), numbers(n, n, seed=1)
        self.speed, self.time, self.steps = 0.3, 0.0, 0
        self.most: Any = None

    def curvature(self) -> Any:
        """Differences to the neighbours."""
        u = self.now
        return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u

    def advance(self, dt: float = 0.1) -> Any:
        """One step, by new arrays."""
        found = 2 * self.now - self.before + self.speed**2 * self.curvature()
        self.before, self.now = self.now, found
        self.time += dt
        self.steps += 1
        return found

    def smooth(self) -> Any:
        """One step, in place."""
        u = self.now
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        self.before *= 0.5
        np.add(self.before, u, out=self.before)
        return u.sum()

    def swapped(self) -> None:
        """One step, from one array to another, which change places."""
        self.before[1:-1] = (self.now[2:] + self.now[:-2]) / 2
        self.now, self.before = self.before, self.now

    def stretched(self) -> None:
        """What is larger than 1 is halved, and the most is kept."""
        if self.now.max() > 1:
            self.now = self.now / 2
        self.most = self.now.max(axis=0)


METHODS = ["advance", "smooth", "swapped", "stretched"]


def state(held: Any) -> dict[str, Any]:
    return dict(vars(held))


def same(one: Any, other: Any) -> None:
    """The same values of the same types."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        same_bits(one, other)
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key, value in one.items():
            same(value, other[key])
    elif type(one).__module__ == __name__:
        same(state(one), state(other))
    else:
        assert one == other


def both(make: Callable[[], Any], method: Callable[..., Any], *given: Any, calls: int = 4) -> tuple[Any, Any]:
    """A method, called several times for an object as it is, and traced for another one."""
    plain, traced, function = make(), make(), jit(method)
    for _ in range(calls):
        same(function(traced, *given), method(plain, *given))
        same(state(traced), state(plain))
    return function, traced


def first_line(function: Any, *given: Any) -> str:
    found: str = function.explain(*given).splitlines()[0]
    return found


# ----------------------------------------------------------------------------------------------------------------
# What is changed
# ----------------------------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------------------------
# What is called as it is
# ----------------------------------------------------------------------------------------------------------------


class Watching:
    """Does something by itself where attributes are set."""

    def __init__(self) -> None:
        object.__setattr__(self, "u", numbers(4, 5))
        object.__setattr__(self, "names", [])

    def __setattr__(self, name: str, value: Any) -> None:
        self.names.append(name)
        object.__setattr__(self, name, value)

    def step(self) -> None:
        self.u = self.u * 2


class Checked:
    """Has a property that is set."""

    def __init__(self) -> None:
        self._u, self.sets = numbers(4, 5), []

    @property
    def u(self) -> Any:
        return self._u

    @u.setter
    def u(self, value: Any) -> None:
        self.sets.append(len(self.sets))
        self._u = value

    def step(self) -> None:
        self.u = self._u * 2


class Odd(Wave):
    """Does what cannot be done by a trace."""

    total = 0
    names: Any = ()

    def __init__(self) -> None:
        super().__init__()
        self.views, self.log, self.name = self.now[2:], [0.5], "a"

    def asks(self) -> Any:
        self.steps += 1
        return self.now * self.steps

    def renames(self) -> Any:
        self.name += "b"
        return self.now * len(self.name)

    def appends(self) -> Any:
        self.log.append(float(len(self.log)))
        self.now = self.now * 2

    def of_class(self) -> Any:
        type(self).total += 1
        self.now = self.now * 2

    @classmethod
    def counts(cls) -> None:
        cls.total += 1

    def by_class(self) -> None:
        self.counts()
        self.now = self.now * 2

    def deletes(self) -> None:
        self.most = self.now + 1
        del self.most

    def shares(self) -> None:
        self.views[...] = self.views * 2
        self.now = self.now + 1

    def parts(self) -> None:
        whole = self.now * 2
        self.now, self.most = whole[1:], whole[:-1]

    def itself(self) -> None:
        self.most = self
        self.now = self.now * 2
        self.most = None

    def by_local(self) -> None:
        other = self
        other.now = self.now * 2

    def rebinds(self) -> None:
        self.now = self.now * 2
        self = type(self)  # type: ignore[assignment]
        self.total += 1

    def subtracts(self) -> None:
        self.steps -= 1
        self.now = self.now * 2


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (Watching, "step", "it sets u"),
        (Checked, "step", "it sets u"),
        (Odd, "asks", "it sets steps"),
        (Odd, "renames", "it sets name"),
        (Odd, "of_class", "it sets total"),
        (Odd, "by_class", "it sets total"),
        (Odd, "deletes", "it sets most"),
        (Odd, "by_local", "it sets now"),
        (Odd, "rebinds", "it sets total"),
        (Odd, "subtracts", "it sets steps"),
        (Odd, "appends", "it changes an object that it is given"),
        (Odd, "shares", "it writes to an array of an object that others share"),
        (Odd, "parts", "it sets attributes to arrays that share memory"),
    ],
)
def test_what_is_called_as_it_is(kind: Any, name: str, why: str) -> None:
    kind.total = 0
    expected, method = kind(), vars(kind)[name]
    totals = []
    for _ in range(4):
        method(expected)
        totals.append(kind.total)
    kind.total = 0
    held, function = kind(), jit(method)
    for total in totals:
        function(held)
        assert kind.total == total
    same(state(held), state(expected))
    assert f"called as it is: {why}" in function.explain(held)
    with pytest.raises(sl.TracingError, match=why):
        sl.jit(strict=True, smallest=0)(method)(kind())


def test_what_is_set_to_the_object_itself_and_back() -> None:
    both(Odd, Odd.itself)


def test_arrays_that_cannot_be_written_to() -> None:
    held = Wave()
    held.now.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jit(Wave.smooth)(held)
    shared, expected, function = Wave(), Wave(), jit(Wave.smooth)
    function(Wave())  # traced for arrays that share nothing
    shared.before = shared.now[::-1]
    expected.before = expected.now[::-1]
    same(function(shared), expected.smooth())
    same(state(shared), state(expected))


def test_arguments_are_written_to_only_if_they_are_given_away() -> None:
    def step(held: Any, x: Any) -> None:
        held.now = x * 2
        x[0] = 1

    with pytest.raises(sl.TracingError, match="writes to its argument x"):
        jit(step)(Wave(), numbers(3, 4))
    x, expected, one, other = numbers(3, 4), numbers(3, 4), Wave(), Wave()
    sl.jit(smallest=0, donate="x")(step)(one, x)
    step(other, expected)
    same_bits(x, expected)
    same(state(one), state(other))


class Solver:
    """Fails for some values."""

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.trials, self.found = matrix, 0, None

    def solve(self) -> None:
        self.trials += 1
        self.matrix[0, 0] += 1
        self.found = np.linalg.inv(self.matrix)
        self.matrix = self.matrix * 2


def test_calls_that_fail_leave_what_they_leave_in_numpy() -> None:
    good, bad = np.eye(3), np.ones((3, 3)) - np.diag([1.0, 0, 0])
    function = jit(Solver.solve)
    for matrix, fails in ((good, False), (bad, True), (good, False), (bad, True)):
        held, expected = Solver(matrix.copy()), Solver(matrix.copy())
        for call in (expected.solve, lambda held=held: function(held)):
            if fails:
                with pytest.raises(np.linalg.LinAlgError):
                    call()
            else:
                call()
        same(state(held), state(expected))
    assert "is traced" in first_line(function, Solver(good.copy()))


def test_errors_are_pythons() -> None:
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        u: Any

        def step(self) -> None:
            self.u = self.u * 2  # type: ignore[misc]

    class Few:
        __slots__ = ("u",)

        def step(self) -> None:
            self.v = self.u * 2  # type: ignore[attr-defined]

    with pytest.raises(dataclasses.FrozenInstanceError):
        jit(Frozen.step)(Frozen(numbers(3, 4)))
    few = Few()
    few.u = numbers(3, 4)
    with pytest.raises(AttributeError):
        jit(Few.step)(few)


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


class Store:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.last: Any = numbers(3, 4)
        self.count, self.queue = 0, collections.deque([1])

    def put(self, value: Any) -> Any:
        self.last = value * 2
        self.count += 1
        return self.last + 1


STORE = Store()


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


class Teller:
    """Comes to another object by a method."""

    def tell(self, x: Any) -> Any:
        return STORE.put(x)

    def told(self, x: Any) -> Any:
        self.last = x
        return Teller.tell(self, x) + 1


def test_objects_that_nothing_stands_for_change_once_for_each_call() -> None:
    def queued(store: Any, x: Any) -> Any:
        store.queue.append(len(store.queue))
        return store.put(x)

    x, store, function = numbers(5, 6), Store(), jit(queued)
    for k in range(1, 4):
        same_bits(function(store, x), x * 2 + 1)
        same_bits(store.last, x * 2)
        assert (store.count, len(store.queue)) == (k, k + 1)
    assert "called as it is: it sets" in function.explain(store, x)
    teller, function = Teller(), jit(Teller.told)
    STORE.__init__()  # type: ignore[misc]
    for k in range(1, 4):
        same_bits(function(teller, x), x * 2 + 2)
        same_bits(STORE.last, x * 2)
        assert STORE.count == k


def test_what_is_another_in_each_call_is_not_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    held, function = Odd(), jit(Odd.asks)
    function(held)
    made: list[Any] = []
    monkeypatch.setattr(Traces, "make", lambda *given: made.append(given))
    for k in range(2, 5):
        same_bits(function(held), held.now * k)
    assert not made


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


def test_a_view_from_outside_of_what_is_written_to() -> None:
    held = Wave()
    edge = np.ones(12)

    def step(wave: Any) -> Any:
        wave.now[...] = wave.now + 1
        return edge * 2

    function = jit(step)
    for _ in range(2):
        same_bits(function(held), np.full(12, 2.0))
    assert "writes to wave_now" in function.explain(held)
    held.now[0] = 1
    edge = held.now[0]  # known by its values, which are the same
    for k in range(2, 5):
        same_bits(function(held), np.full(12, 2.0 * k))
        same_bits(edge, np.full(12, 1.0 * k))
    function = jit(step)
    for k in range(5, 8):
        same_bits(function(held), np.full(12, 2.0 * k))
    assert "called as it is: it writes to an array of an object that others share" in function.explain(held)


def test_a_function_that_is_not_known_writes_to_what_it_did() -> None:
    """What it has in a generator may be a view of anything."""
    held, draws = Wave(), iter(range(100))
    function = jit(lambda wave: wave.now.__setitem__(0, next(draws)) or wave.now * 1)
    for k in range(3):
        found = function(held)
        same_bits(found, held.now)
        assert held.now[0, 0] == k


class Refiner(Solver):
    """Fails before it writes, or after."""

    def refine(self) -> None:
        twice = self.matrix * 2
        inverse = np.linalg.inv(self.matrix)
        self.found[...] = twice
        self.matrix[...] = inverse

    def refine_late(self) -> None:
        self.found[...] = self.found * 2
        self.matrix[...] = np.linalg.inv(self.matrix)


@pytest.mark.parametrize("name", ["refine", "refine_late"])
def test_writes_of_calls_that_fail(name: str) -> None:
    function = jit(getattr(Refiner, name))
    for matrix, fails in ((np.eye(3), False), (np.ones((3, 3)), True), (np.eye(3) * 2, False)):
        made = [Refiner(matrix.copy()), Refiner(matrix.copy())]
        for held, call in zip(made, (getattr(Refiner, name), function), strict=True):
            held.found = numbers(3, 3)  # type: ignore[assignment]
            if fails:
                with pytest.raises(np.linalg.LinAlgError):
                    call(held)
            else:
                call(held)
        same(*map(state, made))


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
