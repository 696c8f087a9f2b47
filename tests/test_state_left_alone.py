"""Methods that change what nothing can stand for, or fail: they are called as they are, once for each call."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
import pytest
from changing_objects import STORE, Store, Wave, both, first_line, jit, numbers, same, state
from random_arithmetic import same_bits

import slinky as sl
from slinky.frontend.kept_traces import Traces

Array = np.ndarray[Any, Any]


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
        self.place: Any = (np.int64(0), 0.5)
        self.past: list[Any] = [self.before[:2]]

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

    def moves(self) -> None:
        self.place = (self.place[0] + 1, 0.5)
        self.now = np.roll(self.now, self.place[0], 0)

    def remembers(self) -> None:
        self.past = [*self.past, self.now[:2]]
        self.now = self.now * len(self.past)

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
        (Odd, "moves", "it sets place"),
        (Odd, "remembers", "it sets past"),
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


class Level(enum.Enum):
    """Members that keep something."""

    LOW = 1

    def keep(self, value: Any) -> Any:
        self.kept = getattr(self, "kept", 0) + 1
        return value * 2

    def put(self, value: Any) -> Any:
        self.last = value
        return value * 2


def test_attributes_of_what_is_no_object_of_people() -> None:
    def noted(f: Any, x: Any) -> Any:
        f.last = x.shape
        f.calls += 1
        return f(x) + 1

    def called(x: Any) -> Any:
        return x * 2

    def by_default(x: Any, store: Any = STORE) -> Any:
        store.count += 1
        return x + 1

    x = numbers(5, 6)
    called.calls = 0  # type: ignore[attr-defined]
    STORE.__init__()  # type: ignore[misc]
    functions = jit(noted), jit(by_default), jit(lambda level, x: level.put(x)), jit(lambda level, x: level.keep(x))
    for k in range(1, 5):
        same_bits(functions[0](called, x), x * 2 + 1)
        assert called.calls == k  # type: ignore[attr-defined]
        same_bits(functions[1](x), x + 1)
        assert STORE.count == k
        same_bits(functions[2](Level.LOW, x), x * 2)
        assert Level.LOW.last is x
        same_bits(functions[3](Level.LOW, x), x * 2)
        assert Level.LOW.kept == k


@pytest.mark.parametrize("n", [12, 2000])
@pytest.mark.parametrize("smallest", [0, None])
def test_an_array_that_is_an_argument_too(n: int, smallest: int | None) -> None:
    def step(held: Any, row: Any) -> Any:
        held.most[:] = row * 2
        return (row[:, None] - row).sum(axis=1) + held.most

    function: Any = sl.jit(smallest=smallest, workers=1)(step)
    for is_same in (True, False, True):
        for _ in range(3):
            made = [Wave(4), Wave(4)]
            for held in made:
                held.most = numbers(n)
            rows = [held.most if is_same else numbers(n, seed=5) for held in made]
            np.testing.assert_allclose(function(made[0], rows[0]), step(made[1], rows[1]))
            same(state(made[0]), state(made[1]))


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
