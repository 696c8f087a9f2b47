"""Functions that are given objects of people's classes: what these hold is told at each call, and what they do is read.

Each test compares with the function as it is; `kept` says whether it was traced once for all calls.
"""

from __future__ import annotations

import abc
import copy
import enum
import functools
import pickle
import threading
import weakref
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import slinky as sl
from tests.traced import MACHINE, PIECES, assert_same, jit, kept

jitted = sl.jit(smallest=0, workers=1, machine=PIECES)


def image(*shape: int) -> Any:
    """Different elements, some of them negative."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 7 - 2


class Lens:
    """Part of a camera."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def seen(self, x: Any) -> Any:
        """By a function that makes an array as large as another."""
        return np.zeros(x.shape, np.float32) + x * self.gain


class Camera:
    """Has arrays, floats, texts, a list, another object, and what nobody speaks of."""

    offset = 0.5

    def __init__(self, dark: Any, flat: Any, amount: float = 1.5, mode: str = "sharp") -> None:
        self.dark = dark
        self.flat = flat
        self.amount = amount
        self.mode = mode
        self.weights = [1.0, 2.0]
        self.lens = Lens(2.0)
        self.lock = threading.Lock()

    @property
    def lit(self) -> Any:
        """Where there is light."""
        return self.flat - self.dark

    @staticmethod
    def halved(x: Any) -> Any:
        """Half of it."""
        return x / 2

    @classmethod
    def shifted(cls, x: Any) -> Any:
        """By what the class has."""
        return x + cls.offset

    def raw(self, x: Any) -> Any:
        """What subclasses do otherwise."""
        return self.lens.seen(x) * self.weights[0] + self.weights[1]

    def correct(self, x: Any) -> Any:
        """What is traced."""
        y = (self.raw(x) - self.dark) / self.lit
        if self.mode == "sharp":
            y = y * self.amount
        return self.halved(self.shifted(y))


def camera(rows: int = 9, columns: int = 7) -> Camera:
    """One with arrays of such a shape."""
    return Camera(image(rows, columns), image(rows, columns) + 200)


def checked(function: Any, own: Any, *given: Any) -> None:
    """A call gives what the function gives."""
    with np.errstate(all="ignore"):
        assert_same(function(own, *given), function.__wrapped__(own, *given))


def test_attributes_are_told_at_each_call() -> None:
    correct, own, x = jit(Camera.correct, machine=PIECES), camera(), image(9, 7)
    for _ in range(3):
        checked(correct, own, x)
    assert kept(correct) == 1
    own.amount = 2.5
    own.dark = own.dark * 3
    own.flat[2, 3] = 77
    checked(correct, own, x)
    checked(correct, camera(4, 5), image(4, 5))
    checked(correct, Camera(np.float32(1), image(9, 7) + 50), x)
    checked(correct, Camera(image(7), image(9, 1) + 50), x)
    assert kept(correct) == 3  # floats and sizes are told; ranks are not


@pytest.mark.parametrize(
    "change",
    [
        lambda own: setattr(own, "mode", "soft"),
        lambda own: own.weights.__setitem__(1, 5),
        lambda own: own.weights.append(3.0),
        lambda own: setattr(own, "lens", Lens(3)),
        lambda own: setattr(own.lens, "gain", np.float32(0.5)),
        lambda own: setattr(own, "amount", 2),
        lambda own: setattr(own, "offset", 1.25),
        lambda own: setattr(own, "halved", lambda x: x / 4),
        lambda own: setattr(own, "dark", own.dark.astype(np.float64)),
        lambda own: setattr(own, "dark", own.dark[::-1]),
        lambda own: setattr(own, "flat", own.dark),
    ],
)
def test_whatever_is_changed_in_an_object_is_seen(change: Any) -> None:
    correct, own, x = jit(Camera.correct), camera(), image(9, 7)
    checked(correct, own, x)
    change(own)
    for _ in range(2):
        checked(correct, own, x)
    checked(correct, camera(), x)


def test_what_is_changed_in_a_class_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    correct, own, x = jit(Camera.correct), camera(), image(9, 7)
    checked(correct, own, x)
    for owner, name, value in [
        (Camera, "offset", 3.5),
        (Camera, "raw", lambda self, x: x * self.weights[1]),
        (Camera, "halved", staticmethod(lambda x: x / 8)),
        (Camera, "lit", property(lambda self: self.flat)),
        (Camera, "shifted", lambda self, x: x - 1),
        (Lens, "seen", lambda self, x: x - self.gain),
    ]:
        before = correct(own, x)
        monkeypatch.setattr(owner, name, value)
        checked(correct, own, x)
        assert not np.array_equal(before, correct(own, x)) or name == "seen"


def test_subclasses_do_it_their_way() -> None:
    class Other(Camera):
        def raw(self, x: Any) -> Any:
            return super().raw(x) + 3

    class Slotted(Other):
        __slots__ = ("extra",)
        extra: Any

        def shifted(self, x: Any) -> Any:  # type: ignore[override]
            return x + self.extra

    correct, x = jit(Camera.correct, machine=PIECES), image(9, 7)
    slotted = Slotted(image(9, 7), image(9, 7) + 9)
    slotted.extra = image(7)
    for own in (camera(), Other(image(9, 7), image(9, 7) + 9), slotted, camera()):
        checked(correct, own, x)
        checked(correct, own, x)
    assert kept(correct) == 3


@dataclass
class Settings:
    """Fields with defaults, so that the class has attributes of the same names."""

    sigma: float = 1.0
    offset: Any = 2.0
    names: list[str] = field(default_factory=lambda: ["a", "b"])


@pytest.mark.parametrize(
    "function",
    [
        lambda own, x: x * asdict(own)["sigma"],
        lambda own, x: x * replace(own, sigma=3.0).offset,
        lambda own, x: x * vars(own)["sigma"],
        lambda own, x: x * own.__dict__["sigma"],
        lambda own, x: x * getattr(own, "sigma"),  # noqa: B009
        lambda own, x: x * getattr(own, "sig" + "ma"),
        lambda own, x: x * len(f"{own}"),
        lambda own, x: x * len(repr(own.names) + str(own)),
        lambda own, x: x * (own == Settings(2.0)),
        lambda own, x: x + hasattr(own, "sigma"),
        lambda own, x: x + own.sigma if own is not None and own.names else x,
    ],
)
@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
def test_however_attributes_are_asked_for_they_are_those_of_the_object(function: Any) -> None:
    traced, x = jit(function), image(4, 3)
    for sigma, offset in [(1.0, 2.0), (2.0, 2.0), (12.5, 3.0), (2.0, image(3))]:
        own = Settings(sigma, offset)
        try:
            want = function(own, x)
        except ValueError:  # arrays that are compared
            continue
        assert_same(traced(own, x), want)
        assert_same(traced(own, x), want)
        own.names.append("c")
        assert_same(traced(own, x), function(own, x))


def test_objects_that_compute_attributes() -> None:
    class Lazy:
        def __init__(self, table: Any) -> None:
            self.table = table

        @cached_property
        def total(self) -> Any:
            return self.table * 2

        def __getattr__(self, name: str) -> Any:
            if name == "missing":
                return self.table + 1
            raise AttributeError(name)

        def __len__(self) -> int:
            return int(self.table.shape[0])

        def __call__(self, x: Any) -> Any:
            return x + self.missing

    total = jit(lambda own, x: x + own.total)
    own, x = Lazy(image(3)), image(4, 3)
    checked(total, own, x)
    own.table = own.table * 5  # what was computed before is kept by the object
    checked(total, own, x)
    checked(total, own, x)
    called = jit(lambda own, x: own(x) * len(own))
    for own in (Lazy(image(3)), Lazy(image(3) * 2), Lazy(image(4, 3)), Lazy(image(1)), Lazy(image(3))):
        checked(called, own, x)
    assert kept(called) == 3


def test_the_same_object_twice_is_the_same_in_a_trace() -> None:
    def function(a: Any, b: Any, x: Any) -> Any:
        return x * a.gain + (b.gain if a is not b else 7.0)

    traced, one, other, x = jit(function), Lens(2.0), Lens(2.0), image(4, 3)
    for given in [(one, other), (one, one), (other, one), (other, other)]:
        assert_same(traced(*given, x), function(*given, x))

    def within(pair: Any, x: Any) -> Any:
        return x * pair[0].gain + (1.0 if pair[0] is pair[1] else 3.0)

    traced = jit(within)
    for pair in [[one, other], (one, one), [other, other]]:
        assert_same(traced(pair, x), within(pair, x))


def test_objects_in_themselves_and_large_ones_are_left_alone() -> None:
    own, x = camera(), image(9, 7)
    own.lens.owner = own  # type: ignore[attr-defined]
    own.owner = own.lens  # type: ignore[attr-defined]
    function = jit(lambda own, x: x * own.lens.owner.amount + own.dark)
    for amount in (1.0, 2.0, 3.0):
        own.amount = amount
        checked(function, own, x)
    assert kept(function) == 0
    many = Lens(1.0)
    many.table = [float(k) for k in range(1000)]  # type: ignore[attr-defined]
    function = jit(lambda own, x: x * own.table[3])
    for value in (1.0, 2.0, 3.0):
        many.table[3] = value  # type: ignore[attr-defined]
        checked(function, many, x)


def test_what_is_done_to_an_object_is_done_to_that_object() -> None:
    one_by_one: list[Any] = []
    in_tuples: list[Any] = []

    def sets(own: Any, x: Any) -> Any:
        own.gain = own.gain + 1
        return x * own.gain

    def sets_otherwise(own: Any, x: Any) -> Any:
        object.__setattr__(own, "gain", own.gain + 1)
        return x * own.gain

    def appends(own: Any, x: Any) -> Any:
        own.log.append(own.gain)
        return x * own.gain

    def writes(own: Any, x: Any) -> Any:
        own.table[1] = own.gain
        return x + own.table

    def keeps(own: Any, x: Any) -> Any:
        one_by_one.append(own)
        return x * own.gain

    def keeps_in_a_tuple(own: Any, x: Any) -> Any:
        in_tuples.append((own, own.log))
        return x * own.gain

    def gives(own: Any, x: Any) -> Any:
        return own, x * own.gain

    for function in (sets, sets_otherwise, appends, writes, keeps, keeps_in_a_tuple, gives):
        traced, x = jit(function), image(4, 3)
        objects = []
        for _ in range(2):
            own = Lens(2.0)
            own.log, own.table = [], image(3)  # type: ignore[attr-defined]
            objects.append(own)
        one_by_one.clear()
        in_tuples.clear()
        for _ in range(3):
            got, want = traced(objects[0], x), function(objects[1], x)
            if function is gives:
                assert got[0] is objects[0]
                got, want = got[1], want[1]
            assert_same(got, want)
            assert_same(objects[0].log, objects[1].log)  # type: ignore[attr-defined]
            assert_same(objects[0].gain, objects[1].gain)
            assert_same(objects[0].table, objects[1].table)  # type: ignore[attr-defined]
            assert set(vars(objects[0])) == set(vars(objects[1]))
        assert [each is objects[0] for each in one_by_one] == [True, False] * (len(one_by_one) // 2)
        for each, log in in_tuples:
            assert type(each) is Lens
            assert each.gain == 2.0
            assert log == []


class Mode(enum.Enum):
    """What a function is asked to do."""

    TWICE = 1
    HALF = 2

    @property
    def factor(self) -> float:
        """By which it multiplies."""
        return 2.0 if self is Mode.TWICE else 0.5


class Level(enum.IntEnum):
    """Members that are numbers."""

    LOW = 1
    HIGH = 3


class OtherLevel(enum.IntEnum):
    """Members that equal others."""

    LOW = 1


MODE = Mode.HALF

FACTORS = {"of all": 1.0}


@dataclass(frozen=True)
class Options:
    """Has a member of an enumeration and a function, if nothing else is said."""

    mode: Mode = Mode.TWICE
    apply: Any = np.negative


class Planet(enum.Enum):
    """Members with attributes."""

    EARTH = "earth"

    def __init__(self, title: str) -> None:
        self.weight = 2.0 + len(title)

    def pull_now(self) -> float:
        """Reads something that changes."""
        return self.weight * FACTORS["of all"]


class Zoom:
    """Is made by functions."""

    def __init__(self, power: float) -> None:
        self.power = power

    def power_now(self) -> float:
        """Reads something that changes."""
        return self.power * FACTORS["of all"]


def zoomed(zoom: Zoom, x: Any) -> Any:
    """Speaks of a method that no other function does."""
    return x * zoom.power_now()


def pulled(member: Planet, x: Any) -> Any:
    """The same of a member."""
    return x * member.pull_now()


def test_members_of_enumerations_and_functions_are_what_they_are() -> None:
    def function(mode: Any, apply: Any, x: Any) -> Any:
        return apply(x) * mode.factor if isinstance(mode, Mode) else apply(x) * int(mode) + (type(mode) is Level)

    def shifted(x: Any) -> Any:
        return np.ones(x.shape, x.dtype) + x

    traced, x = jit(function), image(4, 3)
    for mode in (Mode.TWICE, Mode.HALF, Level.LOW, OtherLevel.LOW, Level.HIGH, Mode.TWICE):
        for apply in (np.sqrt, np.negative, shifted, np.sort, abs):
            with np.errstate(all="ignore"):
                assert_same(traced(mode, apply, x), function(mode, apply, x))


def test_members_of_enumerations_that_a_function_has_are_what_they_are() -> None:
    def by_default(x: Any, mode: Mode = Mode.TWICE) -> Any:
        return x * mode.factor

    def by_name(x: Any) -> Any:
        return x * MODE.factor

    def by_class(options: Options, x: Any) -> Any:
        return options.apply(x) * options.mode.factor

    for function in (by_default, by_name):
        traced, x = jit(function), image(4, 3)
        for _ in range(2):
            assert_same(traced(x), function(x))
        assert kept(traced) == 1
        assert "each call" not in traced.explain(x)
    traced = jit(by_class)
    for options in (Options(), Options(), Options(mode=Mode.HALF), Options(apply=np.square), Options()):
        assert_same(traced(options, x), by_class(options, x))
    assert kept(traced) == 3
    assert "each call" not in traced.explain(Options(), x)


def test_members_of_enumerations_with_attributes_are_asked_for_these() -> None:
    def function(x: Any, planet: Any = Planet.EARTH) -> Any:
        return x * planet.weight

    traced, x = jit(function), image(4, 3)
    before = Planet.EARTH.weight
    try:
        for weight in (before, before, 3.0):
            Planet.EARTH.weight = weight
            assert_same(traced(x), function(x))
    finally:
        Planet.EARTH.weight = before


def test_what_helpers_speak_of_is_read_of_classes_that_were_read_before_them() -> None:
    def function(x: Any) -> Any:
        return zoomed(Zoom(2.0), x)

    def of_member(x: Any, member: Any = Planet.EARTH) -> Any:
        return pulled(member, x)

    x = image(4, 3)
    for each in (function, of_member):
        traced = jit(each)
        for factor in (1.0, 1.0, 5.0):
            FACTORS["of all"] = factor
            assert_same(traced(x), each(x))
        FACTORS["of all"] = 1.0


def test_functions_that_are_made_for_each_call_are_not_kept_for_ever() -> None:
    def function(apply: Any, x: Any) -> Any:
        return apply(x) + 1

    traced, x = jit(function), image(4, 3)
    for k in range(150):
        assert_same(traced(lambda x, k=k: x * k, x), x * k + 1)
    reads = traced._traces.reads
    assert len(reads.functions) <= 100


def test_effects_of_methods_happen_once_for_each_call() -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0
            self.queue = deque([1.0, 2.0, 3.0, 4.0])
            self.rng = np.random.default_rng(0)

        def counted(self) -> int:
            self.calls += 1
            return self.calls

        def apply(self, x: Any) -> Any:
            return x * self.counted()

        def taken(self, x: Any) -> Any:
            return x * self.queue.popleft()

    for name in ("apply", "taken"):
        own, x = Counting(), image(4, 3)
        traced = jit(getattr(Counting, name))
        for k in range(1, 5):
            assert_same(traced(own, x), x * np.float32(k) if name == "taken" else x * k)
    drawing, one, other = jit(lambda own, x: x + own.rng.random(3)), Counting(), Counting()
    for _ in range(3):
        assert_same(drawing(one, x), drawing.__wrapped__(other, x))


class Traced(Camera):
    """Methods that are decorated."""

    @jitted
    def whole(self, x: Any) -> Any:
        """By another that is decorated, and one that is not."""
        return self.part(x) + self.raw(x)

    @jitted
    def part(self, x: Any) -> Any:
        """Which is called by itself, too."""
        return x * self.amount - self.dark


def test_methods_that_are_decorated_know_their_object() -> None:
    own, x = Traced(image(9, 7), image(9, 7) + 100), image(9, 7)
    for amount in (1.5, 2.5):
        own.amount = amount
        for method in (own.whole, own.part):
            assert_same(method(x), method.__wrapped__(own, x))
            assert method.explain(x).splitlines()[0].startswith(f"{method.__name__} is traced: ")
            assert "dark" in str(method.pipeline(x))
    assert kept(Traced.whole) == kept(Traced.part) == 1
    assert own.part == own.part
    assert hash(own.part) == hash(own.part)
    assert own.part != own.whole
    assert own.part.__self__ is own
    assert own.part.wait_native() in (True, False)


def test_methods_partial_functions_and_callables_may_be_decorated() -> None:
    own, x = camera(), image(9, 7)

    class Adding:
        def __init__(self, table: Any) -> None:
            self.table = table

        def __call__(self, x: Any, *, times: float = 1.0) -> Any:
            return x * times + self.table

    def scaled(factor: Any, x: Any, *, offset: Any = 1) -> Any:
        return x * factor + offset

    adding = Adding(image(7))
    options: Any = {"smallest": 0, "workers": 1, "machine": MACHINE}
    for function, change in [
        (own.correct, lambda: setattr(own, "amount", 9.5)),
        (adding, lambda: setattr(adding, "table", image(7) * 3)),
        (partial(own.correct), lambda: setattr(own, "amount", 1.25)),
        (partial(adding, times=2.0), lambda: None),
        (partial(scaled, 2.5, offset=image(7)), lambda: None),
        (partial(scaled, offset=0.5, factor=3.0), lambda: None),
    ]:
        traced = sl.jit(**options)(function)
        given = {"x": x} if "factor" in getattr(function, "keywords", {}) else None
        for _ in range(2):
            got = traced(**given) if given else traced(x)
            assert_same(got, function(**given) if given else function(x))
            change()
        got = traced(**given) if given else traced(x)
        assert_same(got, function(**given) if given else function(x))
        assert kept(traced._jit) == 1


class Adding:
    """What can be called, and pickled."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __call__(self, x: Any) -> Any:
        return x + self.table


def scaled_by(factor: Any, x: Any) -> Any:
    """A function with two parameters."""
    return x * factor


@pytest.mark.parametrize("decorate", [sl.jit, sl.jit(smallest=0, workers=1, machine=PIECES)])
def test_methods_partial_functions_and_callables_are_pickled(decorate: Any) -> None:
    own, x = Traced(image(9, 7), image(9, 7) + 100), image(9, 7)
    del own.lock
    adding, halving = Adding(image(7)), partial(scaled_by, 0.5)
    for function in (own.whole, decorate(own.raw), decorate(adding), decorate(halving), decorate(partial(adding))):
        again = pickle.loads(pickle.dumps(function))
        assert type(again) is type(function)
        assert repr(again) == repr(function)
        assert_same(again(x), function(x))


def test_threads_call_methods_of_different_objects() -> None:
    correct, x = jit(Camera.correct, machine=PIECES), image(40, 30)
    objects = [camera(40, 30) for _ in range(4)]
    for k, each in enumerate(objects):
        each.amount = float(k)
    wants = [correct.__wrapped__(each, x) for each in objects]
    failed: list[Any] = []

    def run(k: int) -> None:
        for _ in range(20):
            if not np.array_equal(correct(objects[k], x), wants[k]):
                failed.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_method_that_is_memorised_is_left_alone() -> None:
    class Memorising:
        def __init__(self, gain: float) -> None:
            self.gain = gain

        @functools.lru_cache  # noqa: B019
        def kernel(self) -> float:
            return self.gain

        def apply(self, x: Any) -> Any:
            return x * self.kernel()

    traced, own, x = jit(Memorising.apply), Memorising(2.0), image(4, 3)
    for gain in (2.0, 3.0):
        own.gain = gain
        assert_same(traced(own, x), x * np.float32(2.0))


FACTOR = 1.0
LARGE = np.ones((100, 100))


class Growing(NamedTuple):
    """A named tuple with a method of its own."""

    u: Any
    rate: float

    def grown(self) -> Any:
        """By a global."""
        return self.u * self.rate * FACTOR


@dataclass
class State:
    """What a function makes, and hands from one function to another."""

    u: Any
    v: Any = 0.0
    step: int = 0

    def __post_init__(self) -> None:
        self.total = self.u + self.v

    def advanced(self, dt: float) -> State:
        """The next one."""
        return State(self.u + dt * self.v * FACTOR, self.v - dt * self.u, self.step + 1)


class Stepping(State):
    """The same, made in a way of its own."""

    def __init__(self, u: Any) -> None:
        super().__init__(u, u * 2)
        self.extra = FACTOR

    def __add__(self, other: Any) -> Any:
        return self.u + other.u * self.extra


class Registered:
    """What is done where it is made is there afterwards."""

    made: ClassVar[list[Any]] = []

    def __init__(self, u: Any) -> None:
        self.u = u
        Registered.made.append(1)


def test_classes_that_a_function_makes_objects_of_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def grows(x: Any) -> Any:
        return Growing(x, 2.0).grown()

    def steps(x: Any) -> Any:
        state = State(x, x * 2)
        for _ in range(2):
            state = state.advanced(0.5)
        return state.total * state.step

    def adds(x: Any) -> Any:
        return Stepping(x) + Stepping(x * 3)

    def by_mode(x: Any) -> Any:
        return x * (2 if Level.HIGH > Level.LOW else 1) * Mode.HALF.factor + len(Mode)

    x = image(4, 3)
    for function in (grows, steps, adds, by_mode):
        monkeypatch.setitem(globals(), "FACTOR", 1.0)
        traced = jit(function)
        for _ in range(3):
            assert_same(traced(x), function(x))
        assert kept(traced) == 1, function
        monkeypatch.setitem(globals(), "FACTOR", 3.0)
        assert_same(traced(x), function(x))
    monkeypatch.setattr(State, "advanced", lambda self, dt: State(self.u, self.v * dt))
    traced = jit(steps)
    assert_same(traced(x), steps(x))
    monkeypatch.setattr(State, "__post_init__", lambda self: setattr(self, "total", self.v))
    assert_same(traced(x), steps(x))


def test_what_is_done_where_an_object_is_made_is_done_once_for_each_call() -> None:
    def function(x: Any) -> Any:
        return Registered(x).u * 2

    traced, x = jit(function), image(4, 3)
    Registered.made.clear()
    for k in range(1, 4):
        assert_same(traced(x), x * 2)
        assert len(Registered.made) == k


def test_named_tuples_with_methods_are_opened() -> None:
    traced, x = jit(lambda state, x: state.grown() + x), image(4, 3)
    for rate in (1.0, 2.5):
        for factor in (1.0, 2.0):
            globals()["FACTOR"] = factor
            state = Growing(image(4, 3), rate)
            checked(traced, state, x)
            checked(traced, state, x)
    globals()["FACTOR"] = 1.0
    checked(traced, state, x)
    assert kept(traced) == 1


class OfGlobals:
    """Reads a large global where nothing can stand for it: in a property, an operator, a method of a base."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    @property
    def table(self) -> Any:
        """Which may change."""
        return LARGE

    def __len__(self) -> int:
        return int(LARGE[0, 0])

    def scaled(self, x: Any) -> Any:
        """By the global."""
        return x * LARGE


class Derived(OfGlobals):
    """Asks its base."""

    def scaled(self, x: Any) -> Any:
        """The same."""
        return super().scaled(x) + self.gain


def by_large(x: Any) -> Any:
    """What methods call, and functions that are traced."""
    return x + LARGE


class Calling:
    """Calls what others call."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    @property
    def larger(self) -> Any:
        """By a function that is read with another."""
        return by_large(self.gain)


@pytest.mark.parametrize(
    "function",
    [
        lambda own, x: x * own.table,
        lambda own, x: x * len(own),
        lambda own, x: own.scaled(x),
        lambda own, x: Derived(2.0).scaled(x),
        lambda own, x: OfGlobals(2.0).table * x,
        lambda own, x: by_large(x) * Calling(2.0).larger,
    ],
)
def test_globals_that_methods_read_are_not_those_of_another_call(function: Any) -> None:
    traced, x = jit(function, machine=PIECES), np.ones((100, 100))
    for own in (OfGlobals(1.0), Derived(1.0)):
        for value in (1.0, 2.0, 3.0):
            LARGE[...] = value
            checked(traced, own, x)


def test_what_keeps_an_object_without_holding_it_keeps_that_object() -> None:
    known: Any = weakref.WeakKeyDictionary()

    def function(own: Any, x: Any) -> Any:
        return x * known.setdefault(own, own.gain * 2)

    def referring(own: Any, x: Any) -> Any:
        found.append(weakref.ref(own))
        return x * own.gain

    found: list[Any] = []
    traced, referred, own, x = jit(function), jit(referring), Lens(2.0), image(4, 3)
    for _ in range(3):
        assert_same(traced(own, x), x * np.float32(4))
        assert list(known) == [own]
        assert_same(referred(own, x), x * np.float32(2))
        assert [each() is own for each in found] == [True] * len(found)
        own.gain = 2.0


def test_objects_say_what_ufuncs_do_with_them() -> None:
    class Own:
        def __init__(self, gain: float) -> None:
            self.gain = gain

        def __rmul__(self, other: Any) -> Any:
            raise AssertionError("NumPy asks for ufuncs first")

        def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> Any:
            return ufunc(*[each.gain if isinstance(each, Own) else each for each in given], **named) + 1

    class Other(Own):
        __array_ufunc__ = None  # type: ignore[assignment]

        def __rmul__(self, other: Any) -> Any:
            return other + self.gain

    for own in (Own(2.0), Own(3.0), Other(2.0), Other(3.0)):
        x = image(4, 3)
        traced = jit(lambda own, x: x * own - (x + own if type(own) is Own else 1))
        for _ in range(2):
            checked(traced, own, x)


TABLE = image(4, 3)


def test_arrays_that_are_the_same_are_the_same_for_a_function() -> None:
    def by_arguments(a: Any, b: Any) -> Any:
        return a + 1 if a is b else a + b * 2

    def by_attributes(own: Any, x: Any) -> Any:
        return x + 1 if own.gain is x else x + own.gain

    def by_a_global(x: Any) -> Any:
        return x + 1 if TABLE is not x else x + TABLE

    x, other, own = image(4, 3), image(4, 3), Lens(2.0)
    for function, calls in [
        (by_arguments, [(x, other), (x, x), (other, x), (other, other), (x, other)]),
        (by_attributes, [(own, x), (own, other), (own, x)]),
        (by_a_global, [(x,), (TABLE,), (x,)]),
    ]:
        traced = jit(function)
        own.gain = other  # type: ignore[assignment]
        for given in calls * 2:
            assert_same(traced(*given), function(*given))  # type: ignore[operator]
        assert kept(traced) == 1


def test_an_argument_that_is_kept_is_that_argument() -> None:
    found: list[Any] = []

    def function(own: Any, x: Any) -> Any:
        found.extend([x, own.gain, x[1:, ::2]])
        return x * own.gain

    traced, own, x = jit(function), Lens(image(3)), image(4, 3)  # type: ignore[arg-type]
    for _ in range(2):
        checked(traced, own, x)
    for k in range(0, len(found), 3):
        assert found[k] is x
        assert found[k + 1] is own.gain
        assert np.shares_memory(found[k + 2], x)
        assert_same(found[k + 2], x[1:, ::2])


class Weighted(enum.Enum):
    """Members with attributes of their own, and values that have no hash."""

    FIRST = 1
    LISTED = (2, [3])

    def __init__(self, *given: Any) -> None:
        self.weight = float(given[0])
        self.weights = [self.weight]


def test_what_is_changed_in_a_member_of_an_enumeration_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def given(own: Any, x: Any) -> Any:
        return x * own.weight + own.weights[0]

    def named(x: Any) -> Any:
        return x * Weighted.FIRST.weight + Weighted.FIRST.weights[0]

    x = image(4, 3)
    one, other = jit(given), jit(named)
    for member in (Weighted.FIRST, Weighted.LISTED):
        for weight in (member.weight, 5.0):
            for first in (1.0, 7.0):
                monkeypatch.setattr(member, "weight", weight)
                member.weights[0] = first
                checked(one, member, x)
                checked(one, member, x)
                assert_same(other(x), named(x))


class Base(abc.ABC):  # noqa: B024
    """What others are registered with."""

    def __init_subclass__(cls) -> None:
        Registered.made.append(1)


class Described:
    """Something of another class tells what it has."""

    class Telling:
        """By itself."""

        value = 1.0

        def __get__(self, own: Any, kind: Any) -> float:
            return Described.Telling.value

    gain = Telling()
    special = 2.0

    def __init__(self, x: Any) -> None:
        self.x = x

    def told(self) -> Any:
        """By a name that only this function speaks of."""
        return self.x * self.special


def of_class(own: Any) -> Any:
    """By names that are read after the class is."""
    return own.told() + own.x * own.special


def test_classes_are_read_for_all_that_is_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def making(x: Any) -> Any:
        return of_class(Described(x))

    traced, x = jit(making), image(4, 3)
    for value in (2.0, 3.0):
        monkeypatch.setattr(Described, "special", value)
        for _ in range(2):
            assert_same(traced(x), making(x))
    monkeypatch.setattr(Described, "told", lambda self: self.x)
    assert_same(traced(x), making(x))
    assert kept(traced) == 1


def test_what_is_not_known_of_a_class_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(own: Any, x: Any) -> Any:
        return own.seen(x) if hasattr(own, "seen") else x * own.gain

    traced, own, x = jit(function), Described(1), image(4, 3)
    for value in (1.0, 2.0, 3.0):
        monkeypatch.setattr(Described.Telling, "value", value)
        checked(traced, own, x)
        checked(traced, Lens(2.0), x)
        checked(traced, own, x)


def test_classes_that_are_registered_or_made_are_noted() -> None:
    class Duck:
        gain = 2.0

    def asks(own: Any, x: Any) -> Any:
        return x * own.gain if isinstance(own, Base) else x

    def makes(x: Any) -> Any:
        class Made(Base):
            gain = 2.0

        return x * Made().gain

    x, own = image(4, 3), Duck()
    traced = jit(asks)
    checked(traced, own, x)
    Base.register(Duck)
    checked(traced, own, x)
    made, before = jit(makes), len(Registered.made)
    for k in range(1, 4):
        assert_same(made(x), x * 2)
        assert len(Registered.made) == before + k


class Pickled:
    """Found by its name."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, x: Any, times: float = 1.0) -> Any:
        return x * self.gain * times

    def plain(self, x: Any) -> Any:
        """Decorated where it is asked for."""
        return x - self.gain

    @jitted
    def whole(self, x: Any) -> Any:
        """Decorated as a method."""
        return x + self.gain


@pytest.mark.parametrize("copied", [lambda f: pickle.loads(pickle.dumps(f)), copy.copy, copy.deepcopy])
def test_methods_and_what_else_knows_its_object_are_pickled(copied: Any) -> None:
    own, x = Pickled(2.0), image(4, 3)
    for function in (
        own.whole,
        jit(own.plain),
        jit(own),
        jit(partial(own, times=3.0)),
        jit(partial(Pickled.plain, own)),
    ):
        found = copied(function)
        assert type(found) is type(function)
        for given in (x, x * 2):
            assert_same(found(given), function(given))
        assert found._jit._given_smallest == 0
    assert_same(copied(own.whole)(x), x + np.float32(2))


def test_lazy_arrays_that_a_function_has_beside_its_arguments() -> None:
    lazy, x = sl.lazy(image(3)), image(4, 3)

    def function(x: Any, own: Any) -> Any:
        return x * 2 + lazy if own is None else own.gain - x

    traced = jit(function)
    for own in (None, Lens(lazy)):  # type: ignore[arg-type]
        for _ in range(2):
            assert_same(np.asarray(traced(x, own)), np.asarray(function(x, own)))


def test_what_comes_to_an_object_otherwise_comes_to_that_object() -> None:
    copies: list[Any] = []

    def by_its_method(method: Any, own: Any, x: Any) -> Any:
        return method(x) + (1 if method.__self__ is own else 2)

    def by_a_queue(queue: Any, own: Any, x: Any) -> Any:
        return x * own.gain + (1 if queue[0] is own else 2)

    def by_a_copy(own: Any, x: Any) -> Any:
        copies.append(copy.copy(own))
        return x * own.gain

    own, x = Lens(2.0), image(4, 3)
    own.others = [1]  # type: ignore[attr-defined]
    for function, given in [(by_its_method, own.seen), (by_a_queue, deque([own]))]:
        traced = jit(function)
        for _ in range(2):
            checked(traced, given, own, x)
    traced = jit(by_a_copy)
    for _ in range(2):
        checked(traced, own, x)
    for each in copies:
        assert_same(vars(each), {"gain": 2.0, "others": [1]})
        assert each.others is own.others  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "function",
    [
        lambda own, name, x: x if getattr(own, name) is None else x * 2,
        lambda own, name, x: x * 2 if isinstance(own.__getattribute__(name), int) else x,
        lambda own, name, x: x * (1 + sum(hash(each) == hash(own) for each in HASHED)),
    ],
)
def test_what_is_asked_for_by_a_name_that_is_given_is_what_the_object_has(function: Any) -> None:
    traced, own, x = jit(function), Lens(2.0), image(4, 3)
    for value in (None, 1, None, "a"):
        own.quality = value  # type: ignore[attr-defined]
        HASHED[:] = [hash(own)]
        checked(traced, own, "quality", x)
        checked(traced, own, "quality", x)


HASHED: list[int] = []


def test_threads_call_a_method_for_the_first_time() -> None:
    for _ in range(8):
        correct, x, failed = jit(Camera.correct, machine=PIECES), image(9, 7), []
        begin = threading.Barrier(4)

        def run(
            own: Camera, correct: Any = correct, x: Any = x, failed: Any = failed, begin: threading.Barrier = begin
        ) -> None:
            want = correct.__wrapped__(own, x)
            begin.wait()
            try:
                if not np.array_equal(correct(own, x), want):
                    failed.append(own)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(camera(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
