"""Floats among arguments: told at each call, wherever a function does nothing with them that nobody sees."""

import contextlib
import copy
import functools
import json
import math
import operator
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
import traced
from c_programs import needs_compiler

import slinky as sl

Array = np.ndarray[Any, Any]

VALUES = [1.5, 0.25, -0.5, 2.0, 0.5, 0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 1e300, 3.7, -1.0, 1e-320]


def jit(function: Any, **options: Any) -> Any:
    return traced.jit(function, native=False, machine=traced.PIECES, **options)


def outcome(function: Any, *given: Any) -> Any:
    """What comes of a call: what it gives, or the error that it raises."""
    with np.errstate(all="ignore"):
        try:
            return shown(function(*given))
        except Exception as error:
            return type(error), str(error)


def shown(result: Any) -> Any:
    """What a function gives, with floats in words: NaNs equal nothing, and zeros have signs."""
    if type(result) in (tuple, list):
        return type(result)(map(shown, result))
    if type(result) is dict:
        return {shown(key): shown(each) for key, each in result.items()}
    return repr(result) if isinstance(result, (float, complex, np.floating)) else result


def check(function: Any, *arrays: Array, values: Any = VALUES) -> Any:
    """Results are the function's for all floats, of Python's and NumPy's, in any order; gives the traced function."""
    decorated = jit(function)
    for _ in range(2):
        for value in values:
            traced.assert_same(outcome(decorated, *arrays, value), outcome(function, *arrays, value))
    for kind in (np.float64, np.float32, np.float16):
        of_numpy = jit(function)
        with np.errstate(over="ignore"):
            given = [kind(value) for value in values]
        for value in given:
            traced.assert_same(outcome(of_numpy, *arrays, value), outcome(function, *arrays, value))
        assert traced.kept(of_numpy) <= (len(values) if kind is np.float16 else traced.kept(decorated) + 3)
    return decorated


X = np.linspace(-2, 3, 7 * 5).reshape(7, 5)


def scaled(x: Array, t: float) -> Array:
    return 2 * t * x + (x - t) / 3 - t**2


def damped(x: Array, t: float) -> Any:
    """Functions of `math`, under either name, and what they refuse."""
    return x * math.exp(-abs(t)) + sqrt(t)


def limited(x: Array, t: float) -> Array:
    return np.clip(x, -t, t) + np.where(x > t, t, 0.5) + np.maximum(x, t) + x.clip(t, None)


def filled(x: Array, t: float) -> Array:
    y = np.full(x.shape, t) + np.zeros(x.shape)
    y[1:-1, 1:] = t
    y[0, 0] = t
    return y + x


def powers(x: Array, t: float) -> Array:
    return x**t + 2.0**t * x


def small(x: Array, t: float) -> Any:
    x = x.astype(np.float32)
    return x * t, (x * t).dtype.name, t > 1


def powers_of_few_bits(x: Array, t: float) -> Any:
    x = x.astype(np.float32)
    return x**t, x**-t, abs(x) ** (t / 4)


def numbers(x: Array, t: float) -> Any:
    return x + 1, t, -t, t * 2, [t // 3, t % 3], {"a": t / 7}, t == t, bool(t)


def only_numbers(x: Array, t: float) -> Any:
    return t * 2 + 1, float(t)


def turned_back(x: Array, t: float) -> Any:
    return x * round(t, 1) + x * (3 - t) + (1 // t) * x


@pytest.mark.parametrize("function", [scaled, limited, filled, small, only_numbers], ids=lambda f: f.__name__)
def test_one_trace_serves_all_floats(function: Any) -> None:
    """But for answers, of which there are few."""
    assert traced.kept(check(function, X)) <= 2


@pytest.mark.parametrize(
    "function", [damped, powers, powers_of_few_bits, numbers, turned_back], ids=lambda f: f.__name__
)
def test_errors_and_answers_are_those_of_each_float(function: Any) -> None:
    check(function, X)


def branches(x: Array, t: float) -> Array:
    if t > 1:
        return x * t
    return x - t if t else x + 1


def caught(x: Array, t: float) -> Array:
    try:
        return x * (1 / t)
    except ZeroDivisionError:
        return x


def counted(x: Array, t: float) -> Array:
    for _ in range(int(min(abs(t), 5.0))):
        x = x + t
    return x


def classes(x: Array, t: float) -> Any:
    assert isinstance(t, float)
    assert type(t) is float
    assert not isinstance(t, int)
    match t:
        case float():
            return x * t
    raise AssertionError(t)


def texts(x: Array, t: float) -> Any:
    return x + 1, f"{t:.2f} {t} {t!r}", t.hex(), t.is_integer(), str(t)


def keys(x: Array, t: float) -> Any:
    return {t: x + 1}[t] + {1.5: 1, 0.25: 2}.get(t, 3)


def of_other_numbers(x: Array, t: float) -> Any:
    return x * (1j * t), x * (np.float32(2) * t), x + np.array([t, 1, 2, 3, 4]), x + np.float64(t) + np.sqrt(abs(t))


def of_sizes(x: Array, t: float) -> Any:
    return x * (t / x.shape[0]) + (x.shape[1] * t) + len(x) // (abs(t) + 1)


def padded(x: Array, t: float) -> Any:
    return np.pad(x, 1, constant_values=t) + 1


def chosen(x: Array, t: float) -> Any:
    return np.select([x > 1, x < 0], [t, x * t], default=t) + np.nan_to_num(x / 0, nan=t)


def spaced(x: Array, t: float) -> Any:
    return x + np.linspace(0, t, 5) + np.interp(x, [0, 1], [0, t])


def sorted_first(x: Array, t: float) -> Any:
    return x * sorted([t, 0.75])[0] + max(t, 1.0) + sum([t, t])


def copied(x: Array, t: float) -> Any:
    return x * copy.copy(t) + copy.deepcopy([t])[0]


def beside_scalars(x: Array, t: float) -> Any:
    """Whose arithmetic is not that of ufuncs: `**` gives other last digits."""
    two, few, three = np.float64(2.3), np.float32(1.7), np.int64(3)
    return x * (two**t), few**t, three**t, few % (t + 2), two > t, two == t, three * t, t**three, x - (few - t)


def as_objects(x: Array, t: float) -> Any:
    return x + 1, np.vectorize(lambda a, b: a * b)(x, t), type(np.asarray(t, object)[()]).__name__


def as_texts(x: Array, t: float) -> Any:
    """Which are as long as they need to be."""
    return (
        x + 1,
        np.array([t, 1], dtype=str),
        np.array(t, dtype=str).dtype.str,
        np.asarray([t], str),
        np.array([t, "a"]),
    )


def of_few_bits(x: Array, t: float) -> Any:
    """To compare a scalar of few bits with a float that is too large for these, NumPy warns."""
    return x * t if t < 1e300 else x - t, t > 1e-5


def with_other_classes(x: Array, t: float) -> Any:
    """Which look for a float."""
    half, lists = Decimal("0.5"), [np.all(t == [0.5]), np.all(t != [1.5])]
    return x * 2 if t == half else x, half != t, t in [half], *lists, t == Fraction(1, 2)


def to_a_root(x: Array, t: float) -> Any:
    return x + (-2.0) ** t


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize(
    "function",
    [
        branches,
        caught,
        counted,
        classes,
        texts,
        keys,
        of_other_numbers,
        of_sizes,
        padded,
        chosen,
        spaced,
        sorted_first,
        copied,
        beside_scalars,
        as_objects,
        as_texts,
        of_few_bits,
        with_other_classes,
        to_a_root,
    ],
    ids=lambda f: f.__name__,
)
def test_whoever_asks_is_told_by_the_value(function: Any) -> None:
    check(function, X)


@functools.lru_cache
def weights(t: float) -> Array:
    return np.exp(-np.arange(3) / t) if t else np.ones(3)


@functools.lru_cache
def half(t: float) -> float:
    return t / 2


def test_what_caches_keep_is_a_float() -> None:
    """Of another function, which knows nothing of traces."""
    check(lambda x, t: x * weights(t)[1] + x * half(t), X, values=[1.5, 0.25, 3.0])
    assert half(1.5) == 0.75
    assert half(1.5) * 2 == 1.5
    np.testing.assert_array_equal(X * half(1.5), X * 0.75)


def test_what_is_kept_elsewhere_is_a_float() -> None:
    kept: list[Any] = []

    def keeps(x: Array, t: float) -> Array:
        kept.append(t * 2)
        return x * t

    function = jit(keeps)
    for t in (0.5, 0.75, 0.25):
        np.testing.assert_array_equal(function(X, t), X * t)
    assert kept == [1.0, 1.5, 0.5]
    assert {type(each) for each in kept} == {float}


def test_what_is_kept_as_a_key_is_a_float() -> None:
    keys_of: dict[Any, int] = {7.0: 0}
    known: set[Any] = set()

    def keeps(x: Array, t: float) -> Array:
        keys_of[t * 2] = len(keys_of)
        known.add(t)
        return x * t

    function = jit(keeps)
    for t in (0.5, 0.75, 0.25):
        np.testing.assert_array_equal(function(X, t), X * t)
    assert list(keys_of.items()) == [(7.0, 0), (1.0, 1), (1.5, 2), (0.5, 3)]
    assert known == {0.5, 0.75, 0.25}
    assert {type(each) for each in (*keys_of, *known)} == {float}


def test_what_is_kept_by_a_function_that_fails_is_a_float() -> None:
    kept: list[Any] = []

    def fails(x: Array, t: float) -> Array:
        kept.append(t * 2)
        if t > 1:
            raise ValueError("too much")
        return x * t

    function = jit(fails)
    with pytest.raises(ValueError, match="too much"):
        function(X, 1.5)
    assert {type(each) for each in kept} == {float}


def test_filters_and_kernels_know_their_floats() -> None:
    pytest.importorskip("scipy")

    @sl.stencil(halo=1)
    def blurred(x: Array, weight: float) -> Array:
        found = np.array(x)
        found[1:-1] += weight * (x[:-2] + x[2:])
        return found

    def filtered(x: Array, t: float) -> Any:
        return sl.ndimage.gaussian_filter(x, t) * t, blurred(x, t), blurred(x, weight=t)

    check(filtered, X, values=[1.5, 0.25, 0.75])


def test_who_holds_a_float_may_ask_later() -> None:
    """What is handed to something that is not understood asks of other elements another time."""

    def careful(x: Array, t: float) -> Any:
        return np.apply_along_axis(lambda row: row * t if row[0] > 10 else row, 1, x * 2)

    function = jit(careful)
    for scale, t in [(1, 1.5), (1, 0.25), (100, 1.5), (-100, 0.25), (100, 0.75)]:
        np.testing.assert_array_equal(function(X * scale, t), careful(X * scale, t))


def test_two_floats_that_are_equal_once_are_two() -> None:
    """What is computed twice is computed once, but not where it only looks like it."""

    def both(x: Array, a: float, b: float) -> Array:
        return x * a + x * b + (x - a * 2) * (x - b * 2)

    function = jit(both)
    for a, b in [(1.5, 1.5), (1.5, 0.5), (0.25, 1.5), (0.0, -0.0)]:
        np.testing.assert_array_equal(function(X, a, b), both(X, a, b))
    assert traced.kept(function) == 1


def test_floats_by_name_and_in_containers() -> None:
    def of_all(x: Array, *, scale: float, pair: Any, named: Any) -> Array:
        return x * scale + pair[0] - x * pair[1] + named["t"]

    function = jit(of_all)
    for k in range(5):
        given = {"scale": 0.5 + k, "pair": (k * 0.75, [1, 2.5 + k][1]), "named": {"t": k / 3}}
        np.testing.assert_array_equal(function(X, **given), of_all(X, **given))
    assert traced.kept(function) == 1


def test_arguments_that_are_written_to() -> None:
    def step(u: Array, dt: float) -> float:
        u += dt * (1 - u)
        return dt * 2

    function = jit(step, donate="u")
    own, wanted = X.copy(), X.copy()
    for dt in (0.5, 0.25, 0.125, 0.5):
        assert function(own, dt) == step(wanted, dt)
        np.testing.assert_array_equal(own, wanted)


@needs_compiler
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_loops_in_c_are_told_too(kind: Any, dtype: Any) -> None:
    """A scalar of NumPy's has its dtype there."""
    x = X.astype(dtype)
    for plain in (scaled, filled, limited):
        function = sl.jit(smallest=0, native=True, workers=1)(plain)
        for t in map(kind, (0.5, 1.5, 0.1)):
            np.testing.assert_array_equal(function(x, t), plain(x, t), strict=True)
        assert traced.kept(function) == 1


def test_scalars_warn_as_often_as_they_do() -> None:
    """And where: a trace that would hide it is not used."""

    def inverse(x: Array, t: Any) -> Array:
        return x * (1 / t) + t * 1e300

    function, given = jit(inverse), list(map(np.float64, (2.0, 4.0, 0.0, 1e200, 3.0, 0.0)))
    for k, t in enumerate(given):
        warned, x = [], X[: 7 - k]
        for each in (inverse, function):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                each(x, t)
            warned.append(sorted(str(w.message) for w in found))
        assert warned[0] == warned[1]


@sl.jit(smallest=0, native=False)
def of_weights(w: Array, t: float) -> Array:
    return w * t


def too_small(x: Array, t: float) -> Any:
    with np.errstate(under="raise"):
        try:
            square = t * t
        except FloatingPointError:
            square = 7.0
    return x * square


def test_scalars_that_are_too_small_raise_where_they_do() -> None:
    check(too_small, X)


def test_a_traced_function_inside_is_told_by_the_value() -> None:
    """Where it is given no array of the function around it, what it gives is the same at each call."""
    own = np.arange(1.0, 6)
    check(lambda x, t: x + of_weights(own, t), X)
    check(lambda x, t: of_weights(x, t) + of_weights(x, t=t * 2), X)


def beside_one(x: Array, t: Any) -> Array:
    return x * (np.float64(1) / t)


def compared(x: Array, t: Any) -> Array:
    return x * (t / 3) if np.float32(0.5) > t * 1e300 else x - t


def in_parts(x: Array, t: Any) -> Array:
    whole, rest = np.divmod(1.0, t)
    return x * whole + rest


@pytest.mark.parametrize("plain", [beside_one, compared, in_parts], ids=lambda f: f.__name__)
def test_what_is_computed_of_floats_warns_in_the_same_words(plain: Any) -> None:
    """As often, too."""
    function = jit(plain)
    for t in (0.5, 0.0, 0.25, 0.0, math.inf):
        warned = []
        for each in (plain, function):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                each(X, t)
            warned.append(sorted(str(w.message) for w in found))
        assert warned[0] == warned[1]


def test_threads_have_their_own_floats() -> None:
    function = jit(lambda x, t: x * t + t)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: function(X, k / 7), range(200)))
    for k, each in enumerate(found):
        np.testing.assert_array_equal(each, X * (k / 7) + k / 7)


def test_it_says_for_which_floats_a_trace_is_good() -> None:
    function = jit(branches)
    said = function.explain(X, 0.5)
    assert "good where (t > 1) is False, asked in" in said
    assert "good where bool(t) is True, asked in" in said
    assert "good where t is 0.5, asked in" in jit(padded).explain(X, 0.5)


def test_sums_are_added_as_they_are() -> None:
    """Which may be with more digits than one after the other: by whoever adds floats."""
    check(lambda x, t: x * sum([t] * 10) + sum([t, 1], t) + sum((t, 0.5), start=2), X, values=[0.1, 0.3, 0.7])
    foreign = check(lambda x, t: x * functools.reduce(operator.add, [t] * 10), X, values=[0.1, 0.3, 0.7])
    assert not foreign._traces.tells_floats
    check(lambda x, t: x * math.fsum([t] * 10) + math.prod([t, t, 3]), X, values=[0.1, 0.3, 0.7])
    check(lambda x, t: x * (x.shape[0] + t + len(x)) + sum([x, t]), X, values=[0.1, 0.3, 0.7])


def swallowed(x: Array, t: float) -> Array:
    with contextlib.suppress(BaseException):
        return x * functools.reduce(operator.add, [t] * 10)
    return x


def returned_at_last(x: Array, t: float) -> Array:
    def total() -> float:
        try:
            return functools.reduce(operator.add, [t] * 10)
        finally:
            if t > 0.5:
                return 2.0  # noqa: B012

    return x * total()


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("function", [swallowed, returned_at_last], ids=lambda f: f.__name__)
def test_sums_are_added_as_they_are_where_errors_are_lost(function: Any) -> None:
    check(function, X, values=[0.7, 0.3, 0.1])


def in_decimals(x: Array, t: float) -> Array:
    try:
        return x * float(Decimal(t))
    except TypeError:
        return x


def in_whatever_way(x: Array, t: float) -> Array:
    try:
        return x * float(Decimal(t))
    except:  # noqa: E722
        return x


def in_silence(x: Array, t: float) -> Array:
    found = 1.0
    with contextlib.suppress(ValueError, TypeError):
        found = float(Decimal(t))
    return x * found


def by_another(x: Array, t: float) -> Array:
    return in_decimals(x, t) + 1


def test_libraries_are_given_floats() -> None:
    """They may look at the very class: a trace of a function that calls them is not kept, whatever it is given."""
    function = check(lambda x, t: (x * t, json.dumps({"t": t}, default=str)), X, values=[1.5, 0.25])
    assert traced.kept(function) == 0


def asking_in(module: str) -> Any:
    """A function that calls one of a module, which asks for the class of a float."""
    names: dict[str, Any] = {"__name__": module}
    exec("def doubled(t):\n    return 2 * t if type(t) is float else t", names)
    doubled = names["doubled"]
    return lambda x, t: x * doubled(t)


def test_who_asks_for_classes_elsewhere_is_given_floats() -> None:
    """Of a module of Python's, whose `type` is Python's; other modules see what the function sees."""
    assert not check(asking_in("colorsys"), X, values=[1.5, 0.25])._traces.tells_floats
    assert check(asking_in("of_somebody_else"), X, values=[1.5, 0.25])._traces.tells_floats


@pytest.mark.parametrize("function", [in_decimals, in_whatever_way, in_silence, by_another])
def test_who_catches_errors_is_given_floats(function: Any) -> None:
    """For those of what stands for one would be lost; errors of arithmetic are the float's own."""
    assert not check(function, X, values=[1.5, 0.25, math.nan])._traces.tells_floats
    assert check(caught, X, values=[1.5, 0.0])._traces.tells_floats


def test_many_steps_are_steps() -> None:
    def summed(x: Array, t: float) -> Array:
        total = 0.0
        for _ in range(5000):
            total = total + t
        return x * total if total > 2 else x

    function = check(summed, X, values=[0.5, 0.25, 1e-9])
    assert traced.kept(function) == 2
    assert "..." in function.explain(X, 0.5)


def test_a_function_that_fails_where_floats_are_told_is_traced_with_floats() -> None:
    class Ledger:
        """Takes floats alone, as an extension in C may."""

        def __call__(self, t: float) -> float:
            return {float: 2.0}[type(t)] * t

    ledger = Ledger()
    check(lambda x, t: x * ledger(t), X, values=[0.5, 0.25])
    check(lambda x, t: (x * ledger(t) + 1, x[: int(t)] * 2), X, values=[0.5, 0.25])  # of no elements: all as it is


SCALARS = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} // {b}", "{a} % {b}", "-{a}", "abs({a})",
    "min({a}, {b})", "max({a}, {b})", "round({a}, 1)", "math.floor({a}) + {b}", "float({a})", "math.sqrt(abs({a}))",
    "math.atan2({a}, {b})", "({a} if {b} > 0.3 else {b})", "int({a} * 2) * {b}", "math.hypot({a}, 1)", "2 * {a}",
    "{a} ** 2", "sum([{a}, {b}])", "divmod({a}, 0.7)[1]", "{a} * x.shape[0]", "np.float64({a}).item()",
    "math.exp(-abs({a}))",
    "np.add({a}, {b})", "np.divide({a}, {b})", "np.power({a}, {b})", "np.floor_divide({a}, 0.3)", "np.sqrt({a})",
    "np.maximum({a}, {b})", "np.less({a}, {b}) * {a}", "np.subtract({a}, {b}, dtype=np.float32)", "np.hypot({a}, {b})",
    "np.multiply({a}, {b}, out=np.ones(()))", "np.add({a}, {b}, where={a} > 0, out=np.ones(()))",
]  # fmt: skip

ARRAYS = [
    "{p} * {a}", "{a} - {p}", "{p} + {q} * {a}", "np.clip({p}, -abs({a}), abs({a}))", "np.where({p} > {a}, {b}, {q})",
    "np.maximum({p}, {a})", "{p}[::-1] * {a} + {b}", "{p} - {q}.mean() * {a}", "np.full({p}.shape, {a}) + {p}",
    "np.exp(-abs({p}) * abs({a}))", "abs({p}) ** {a}", "({p} if {a} > {b} else {q})",
    "np.pad({p}, 1, constant_values={a})[1:-1, 1:-1]",
    "{p}.astype(np.float32) * {a}", "({p} > {a}) & ({q} < {b})", "np.roll({p}, 1, 0) * ({a} / 3)",
]  # fmt: skip


def program(seed: int) -> Any:
    """A random function of an array and two floats."""
    rng = np.random.default_rng(seed)
    lines, floats, arrays = [], ["t", "u"], ["x"]
    for k in range(int(rng.integers(4, 14))):
        names = {key: str(rng.choice(floats)) for key in "ab"} | {key: str(rng.choice(arrays[-3:])) for key in "pq"}
        if rng.random() < 0.5:
            lines.append(f"t{k} = {rng.choice(SCALARS).format(**names)}")
            floats.append(f"t{k}")
        else:
            lines.append(f"x{k} = {rng.choice(ARRAYS).format(**names)}")
            arrays.append(f"x{k}")
    lines.append(f"return {arrays[-1]} + 0, {floats[-1]}, {arrays[len(arrays) // 2]} * {floats[len(floats) // 2]}")
    text = "def random_function(x, t, u):\n" + "".join(f"    {line}\n" for line in lines)
    names = {"np": np, "math": math}
    exec(compile(text, f"<random function {seed}>", "exec"), names)
    return names["random_function"], text


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize("seed", range(60))
def test_random_functions_of_floats(seed: int) -> None:
    function, text = program(seed)
    rng = np.random.default_rng(seed)
    decorated = jit(function)
    pairs = rng.choice([0.0, -0.0, 0.5, 1.5, -2.25, 0.3, 1e3, math.nan, math.inf, *rng.standard_normal(4)], (12, 2))
    kinds = [float, float, np.float64, np.float32]
    for k, (t, u) in enumerate(pairs.tolist()):
        t, u = kinds[(k + seed) % 4](t), kinds[(k // 2 + seed) % 4](u)
        got, want = outcome(decorated, X, t, u), outcome(function, X, t, u)
        try:
            traced.assert_same(got, want)
        except AssertionError:
            raise AssertionError(f"of {t}, {u}:\n{text}") from None


def in_place(x: Array, t: float) -> Any:
    table = np.linspace(np.float32(t), 1, 5, dtype=np.float32)
    other = table
    table *= np.float64(t)
    table += t
    return table, other, x * table


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: (np.add(t, 1), np.equal(t, t), x),
        lambda x, t: np.power(-abs(t), 0.5) + x,
        lambda x, t: np.divide(t, 0.0) * x,
        lambda x, t: np.subtract(t, t, dtype=np.float32),
        lambda x, t: np.equal(t, t, out=np.zeros_like(t)),
        lambda x, t: np.add(t, t, out=np.zeros(())) + x,
        lambda x, t: operator.imul(np.ones(5, np.float32), t) + x,
        in_place,
    ],
    ids=range(8),
)
def test_functions_of_numpys_are_no_operators(function: Any) -> None:
    """Python's own divide by zero in other words, take roots of negative floats, and give floats of Python's."""
    check(function, X)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, int, bool, np.uint8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.complex64])
def test_products_take_numbers_for_arrays(kind: Any, dtype: Any) -> None:
    """Of `np.dot`, a number of Python's has the dtype of an array of it, and does not take on that of others."""
    function = jit(lambda x, t: (np.dot(x, t), np.dot(t, x), x.dot(t), np.dot(x[0], t), np.inner(x, t)))
    for t in (2, 3, 2):
        x = X.astype(dtype)
        traced.assert_same(function(x, kind(t)), function.__wrapped__(x, kind(t)))


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_scalars_are_compared_as_numpy_compares_them(kind: Any) -> None:
    """Python turns a comparison of a float of its own and an array around, and not one of NumPy's."""
    names = {"greater_equal", "less"} if kind is not float else {"less_equal", "greater"}
    function = jit(lambda x, t: (t >= x, t < x))
    for t in (0.5, 1.5):
        traced.assert_same(function(X, kind(t)), function.__wrapped__(X, kind(t)))
    first = function.explain(X, kind(0.5)).splitlines()[0]
    assert set(first.split("operations: ")[1].split(", ")) == names
