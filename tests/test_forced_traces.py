"""Traced functions that ask for values, do what is not understood, or are called as they are."""

from __future__ import annotations

import math
import operator
import pickle
import re
import statistics
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import arange
from traced import MACHINE, assert_same, assert_traced, image, jit, kept, sharpen

import slinky as sl
from slinky.frontend import making, tracing


def test_forcing_computes_and_warns_once() -> None:
    def normal(x: Any) -> Any:
        if x.max() > 10:
            x = x / float(x.max())
        return x + x[x > 0].sum()

    traced = jit(normal)
    with pytest.warns(sl.ForcedValueWarning, match=r"bool\(\) asks for values in .*test_forced_traces.py, line"):
        assert_same(traced(image(5, 5)), normal(image(5, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (5, 1):
            assert_same(traced(image(n, 2) / 40), normal(image(n, 2) / 40))
    assert kept(traced) == 0


def test_what_is_not_understood_runs_whole_and_is_told() -> None:
    traced = jit(lambda x: np.apply_along_axis(lambda row: row - row[0], 1, x * 2) + 1)
    for n in (4, 4, 6):
        assert_same(traced(image(n, 3)), traced.__wrapped__(image(n, 3)), rounded=True)
    assert "at once: apply_along_axis is not understood" in traced.explain(image(4, 3))
    assert "apply_along_axis" in str(traced.pipeline(image(4, 3)))


def test_strict_refuses_with_name_and_line() -> None:
    traced = jit(lambda x: np.linalg.tensorinv(x, 1), strict=True)
    with pytest.raises(sl.TracingError, match=r"linalg.tensorinv is not understood, in .*_traces.py, line \d+"):
        traced(image(3, 3))


def test_where_a_package_asks_for_values_the_line_that_calls_it_is_told() -> None:
    signal = pytest.importorskip("scipy.signal")

    def smooth(x: Any) -> Any:
        return signal.medfilt(x, 3) + statistics.fmean(x[0])

    here = rf"{re.escape(__file__)}, line {smooth.__code__.co_firstlineno + 1}"
    with pytest.warns(sl.ForcedValueWarning, match=rf"asks for values in {here}, by .*scipy.*, line \d+$"):
        jit(smooth)(image(4, 3, dtype=np.float64))
    with pytest.raises(sl.TracingError, match=r"linalg.lstsq is not understood, in [^,]*, line \d+$"):
        jit(lambda x: np.linalg.lstsq(x, x)[0], strict=True)(image(4, 3))


def test_a_function_of_a_package_is_traced_in_its_own_lines() -> None:
    """There is no line of the user's in it; the one that calls what is traced is none of its lines."""
    with pytest.warns(sl.ForcedValueWarning, match=r"asks for values in [^,]*statistics.py, line \d+$"):
        assert jit(statistics.fmean)(np.arange(4.0)) == 1.5


def test_a_fence_whose_result_changes_shape_is_found() -> None:
    def rare(x: Any) -> Any:
        return np.kron(x, x[:2])

    traced = jit(rare)
    for n in (5, 5, 8):
        assert_same(traced(image(n)), rare(image(n)))


def test_what_changes_its_dtype_with_values_is_called_as_it_is() -> None:
    traced = jit(lambda x: np.linalg.eigvals(x) * 2)
    real, turning = np.array([[2.0, 0.0], [0.0, 3.0]]), np.array([[0.0, -1.0], [1.0, 0.0]])
    for array in (real, turning, real, turning):
        assert_same(traced(array), np.linalg.eigvals(array) * 2)
    assert "when it was traced" in traced.explain(turning)


def test_random_numbers_are_refused() -> None:
    random = np.random.default_rng(0)
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x: x + np.random.default_rng(0).random(3))(image(3))
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x: x + random.random(3))(image(3))
    with pytest.raises(sl.TracingError, match="random numbers"):
        jit(lambda x, source: x + source.random(3))(image(3), random)


def test_random_numbers_are_refused_by_whatever_name() -> None:
    drawing = [np.random.default_rng, np.random.rand, np.random.normal]
    for draw in drawing:
        with pytest.raises(sl.TracingError, match=rf"random numbers \(numpy\.random\.{draw.__name__}\)"):
            jit(_drawing(draw))(image(3))

    def imports(x: Any) -> Any:
        from numpy.random import PCG64, Generator

        return x + Generator(PCG64(1)).random(3)

    with pytest.raises(sl.TracingError, match=r"random numbers \(numpy\.random\.PCG64\)"):
        jit(imports)(image(3))


def _drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: x + draw(3)


def test_random_numbers_may_be_spoken_of() -> None:
    def function(x: Any, seed: Any = None) -> Any:
        if isinstance(seed, (np.random.Generator, str)) or issubclass(type(seed), np.random.BitGenerator):
            return x
        random = np.random
        return x * 2 if seed is None else x + random.default_rng(seed).random(3)

    traced = jit(function)
    for array in (image(3), image(7), image(3)):
        assert_same(traced(array), function(array))
    with pytest.raises(sl.TracingError, match=r"random numbers \(numpy\.random\.default_rng\)"):
        traced(image(3), 5)


def test_writing_to_an_argument_is_refused() -> None:
    def zero(x: Any) -> Any:
        x[0] = 0
        return x

    array = image(4)
    before = array.copy()
    with pytest.raises(sl.TracingError, match="writes to its argument x"):
        jit(zero)(array)
    with pytest.raises(sl.TracingError, match="writes to its argument x"):
        jit(lambda x: np.add(x, 1, out=x.T))(array)
    assert_same(array, before)


def test_generators_are_refused() -> None:
    def rows(x: Any) -> Any:
        yield x

    async def later(x: Any) -> Any:
        yield x

    for function in (rows, later):
        with pytest.raises(sl.TracingError, match="returns its results"):
            sl.jit(function)


def test_what_jit_cannot_take_is_refused_where_it_stands() -> None:
    with pytest.raises(sl.TracingError, match=r"a function whose parameters are known, got .*itemgetter\(0\)"):
        sl.jit(operator.itemgetter(0))
    given: Any
    for given, match in (("all", "smallest takes a number of bytes, got 'all'"), (np.nan, "got nan"), (-1, "got -1")):
        with pytest.raises(sl.TracingError, match=match):
            sl.jit(smallest=given)
    given = 3
    with pytest.raises(sl.TracingError, match="donate= takes parameters of neg: a; got 3"):
        sl.jit(donate=given)(operator.neg)


def test_what_it_cannot_return_lazily_is_called_as_it_is() -> None:
    traced = jit(lambda x: (row * 2 for row in x))
    assert_same(list(traced(image(3, 2))), list(image(3, 2) * 2))


@pytest.mark.parametrize("array", [
    np.array([1, 2], object), np.ma.masked_array([1.0, 2.0], [True, False]), np.arange(3).astype(">i4"),
    np.array(["2020-01-01"], "M8[D]"), 3.0, [1.0, 2.0],
])  # fmt: skip
def test_arrays_of_other_kinds_are_given_as_they_are(array: Any) -> None:
    given = []
    jit(lambda x: given.append(x))(array)
    assert given[0] is array


def test_errors_of_the_function_propagate() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jit(fail)(image(3))
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda x: x[5])(image(3))
    with pytest.raises(ValueError, match="diff requires input that is at least one dimensional"):
        jit(lambda x: np.diff(np.squeeze(x)))(image(1))
    with pytest.raises(np.exceptions.AxisError):
        jit(lambda x: x.sum(axis=2))(image(3))
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        jit(lambda x: x**-1)(image(3, dtype=np.int64))


def test_floating_point_errors_are_handled_as_where_the_operation_stands() -> None:
    def divided(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1 / x

    traced = jit(divided)
    with pytest.raises(FloatingPointError):
        traced(np.array([1.0, 0.0]))
    assert_same(traced(np.array([1.0, 2.0])), np.array([1.0, 0.5]))
    ratio = jit(lambda x: 1 / x)
    with np.errstate(divide="ignore"):
        assert_same(ratio(np.array([0.0, 2.0])), np.array([np.inf, 0.5]))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ratio(np.array([0.0, 2.0]))


def test_functions_call_each_other_and_themselves() -> None:
    inner = jit(lambda x: x * 2)

    @sl.jit(smallest=0, workers=1, machine=MACHINE)
    def power(x: Any, n: int) -> Any:
        return inner(x) if n == 0 else power(x, n - 1) + x

    assert_same(power(image(3), 4), image(3) * 2 + image(3) + image(3) + image(3) + image(3))
    assert kept(power) == 1


def test_small_arrays_are_given_as_they_are() -> None:
    given = []
    sl.jit(lambda x: given.append(type(x)))(image(3))
    assert given == [np.ndarray]


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_a_loop_that_asks_for_values_computes_each_operation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(x: Any) -> Any:
        count = 0
        while True:
            new = (np.roll(x, 1) + x) / 2
            doubled = new * 2
            if float(abs(new - x).max()) < 1:
                return new, doubled, count
            x, count = new, count + 1

    graphs = []
    in_order = tracing.in_order
    monkeypatch.setattr(tracing, "in_order", lambda *a: graphs.append(len(found := in_order(*a))) or found)
    assert_same(jit(settle)(image(9)), settle(image(9)))
    assert len(graphs) > 20
    assert max(graphs) < 12


def test_functions_that_check_for_arrays() -> None:
    def strict(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or not isinstance(x.sum(), np.floating) or not isinstance(x.shape[0], int):
            raise TypeError("an array is needed")
        return x + 1

    assert_traced(jit(strict), image(3, 4))


def test_programs_of_very_many_operations_are_called_as_they_are() -> None:
    def rows(x: Any) -> Any:
        return np.stack([row * 2 for row in x])

    traced = jit(rows)
    for n in (3, 900):
        assert_same(traced(image(n, 2)), rows(image(n, 2)))
    assert "more than 200" in traced.explain(image(900, 2))


def test_the_function_is_called_where_nothing_is_gained() -> None:
    calls = 0

    def smooth(x: Any) -> Any:
        return np.sqrt(x * x + 1) * 0.5 - x

    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return smooth(x)

    counting = sl.jit(workers=1, machine=MACHINE)(counted)
    for shape in [(4, 3), (4, 3), (100, 100), (400, 300)]:
        before = calls
        assert_same(counting(image(*shape)), smooth(image(*shape)))
        assert calls > before
    chosen = sl.jit(workers=1, machine=MACHINE)(sharpen)
    assert "called as it is" in chosen.explain(image(400, 300))
    assert "called as it is" not in chosen.explain(image(2500, 2000))
    assert "called as it is" not in sl.jit(smallest=0, workers=1, machine=MACHINE)(sharpen).explain(image(400, 300))


def pulls(x: Any, y: Any) -> Any:
    """For all pairs of points."""
    dx, dy = x - x[:, None], y - y[:, None]
    far = dx * dx + dy * dy + 1
    return (dx / (far * np.sqrt(far))).sum(axis=1)


def test_small_arrays_of_which_large_ones_are_made_run_by_pieces() -> None:
    traced = sl.jit(workers=1, native=False, machine=sl.Machine(memory_bandwidth=1e9))(pulls)
    x, y = image(1500, dtype=np.float64), image(1501, dtype=np.float64)[:1500]
    assert_same(traced(x, y), pulls(x, y))
    tracemalloc.start()
    traced(x, y)
    assert tracemalloc.get_traced_memory()[1] < x.nbytes * len(x)
    tracemalloc.stop()
    assert "called as it is" not in traced.explain(x, y)
    assert_same(traced(x[:80], y[:80]), pulls(x[:80], y[:80]))
    assert "all arrays take less than 65536 bytes" in traced.explain(x[:80], y[:80])
    assert "all arrays" in sl.jit(smallest=1 << 16, workers=1, machine=MACHINE)(pulls).explain(x, y)


def _chain(x: Any) -> Any:
    """One operation after the other: nothing is held, and each goes over all of memory in NumPy."""
    y = np.abs(x * np.float32(2.5) - np.float32(1))
    return -((1 / np.maximum(np.sqrt(y), np.float32(0.1))) ** 2)


def _layer_norm(x: Any) -> Any:
    """Reductions that take next to no time for an element."""
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(x.var(axis=1, keepdims=True) + np.float32(1e-5))


@pytest.mark.parametrize("function", [_chain, _layer_norm])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_keeps_to_the_caches_is_no_longer_called_as_it_is(function: Any, workers: int) -> None:
    """Arithmetic goes block by block, whatever the schedule: there need be none to be faster than NumPy."""
    fast_memory = sl.Machine(
        near_bytes=2 << 20,
        shared_bytes=32 << 20,
        memory_bandwidth=1.7e10,
        call_seconds=3.8e-6,
        near_bandwidth=6.4e10,
        shared_bandwidth=2.8e10,
    )
    traced = sl.jit(workers=workers, machine=fast_memory, native=False)(function)
    assert "called as it is" not in traced.explain(np.empty((4096, 4096), np.float32))
    assert "called as it is" in traced.explain(np.empty((64, 64), np.float32))


def test_functions_of_small_arrays_are_not_traced_over_and_over() -> None:
    traced = sl.jit(workers=1, machine=MACHINE)(lambda x, by: x * by)
    x = image(1000)
    for k in range(20):
        assert_same(traced(x, k), x * np.float32(k))
    assert kept(traced) == making.LOOKS
    of_floats = sl.jit(workers=1, machine=MACHINE)(lambda x, by: x * by)
    for k in range(20):
        assert_same(of_floats(x, k / 4), x * np.float32(k / 4))
    assert kept(of_floats) == 1


def test_functions_of_small_arrays_that_cannot_be_traced_are_called_as_they_are() -> None:
    def chosen(x: Any, random: Any = None) -> Any:
        if x.max() > 0:
            x = x - x.min()
        return x if random is None else x + random.integers(1, 2)

    traced = sl.jit(workers=1, machine=MACHINE)(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for random in (None, np.random.default_rng(0)):
            assert_same(traced(image(1000), random), chosen(image(1000), random))
    strict = sl.jit(strict=True, workers=1, machine=MACHINE)(lambda x: np.linalg.svd(x)[1])
    assert_same(strict(image(20, 20)), np.linalg.svd(image(20, 20))[1])


def _write(array: Any) -> Any:
    array[1:] = 1
    return array


def _add(array: Any) -> Any:
    array += 1
    return array


def _one_of(x: Any) -> Any:
    y = x.copy()
    y[0, 0] = y[1, :1]
    return y


REFUSED_WRITES: dict[str, Any] = {
    "repeated": lambda x: _write(np.broadcast_to(x[:1] * 0, x.shape)),
    "not repeated": lambda x: _add(np.broadcast_to(x * 2, x.shape)[0]),
    "no imaginary parts": lambda x: _add((x + 1).imag),
    "no imaginary parts of some": lambda x: _write(np.imag(x + 1)[:, 0]),
    "an array as an element": _one_of,
}


@pytest.mark.parametrize("where", REFUSED_WRITES)
def test_writes_that_numpy_refuses(where: str) -> None:
    with pytest.raises(ValueError) as of_numpy:
        REFUSED_WRITES[where](image(3, 4))
    with pytest.raises(ValueError, match=str(of_numpy.value)):
        jit(REFUSED_WRITES[where])(image(3, 4))


@pytest.mark.filterwarnings("ignore:Numpy has detected:DeprecationWarning")
def test_writes_to_arrays_that_were_broadcast_together() -> None:
    def written(x: Any) -> Any:
        row, all_of = np.broadcast_arrays(x[0] + 1, x + 1)
        all_of[0] = 7
        return _write(row), all_of

    assert_same(jit(written)(image(3, 4)), written(image(3, 4)))


def test_what_is_called_at_floating_point_errors_is_called_as_often_as_by_numpy() -> None:
    calls: list[str] = []

    def divided(x: Any) -> Any:
        with np.errstate(divide="call", call=lambda kind, flag: calls.append(kind)):
            return 1 / np.linalg.inv(x) + (x + 1) / (x - x)

    x = np.eye(3)
    for function in (divided, jit(divided), jit(divided, native=True)):
        calls.clear()
        function(x)
        assert calls == ["divide by zero"] * 2
    with np.errstate(divide="call", call=lambda kind, flag: calls.append("lazy")):
        ratio = 1 / (sl.lazy(x) - x)
    calls.clear()
    np.asarray(ratio)
    assert calls == ["lazy"]


def _assign(name: str, value: Any) -> Any:
    def assign(x: Any) -> Any:
        y = x + 0j
        setattr(y, name, value(x))
        return y

    return assign


def _accumulate(x: Any) -> Any:
    y = x.copy()
    np.add.at(y, (np.argmax(x, axis=0), 1), 1)
    return y, x


def _delete(x: Any) -> None:
    y = x * 2
    del y[0]


def _asks(x: Any) -> Any:
    found: list[Any] = []
    for name in ("flags", "__setstate__", "foo"):
        found.append(hasattr(x, name))
    return found


AS_IN_NUMPY: dict[str, Any] = {
    "imag": _assign("imag", lambda x: x),
    "real": _assign("real", lambda x: 2 * x),
    "shape": _assign("shape", lambda x: (4, 3)),
    "dtype": _assign("dtype", lambda x: np.float64),
    "strides": _assign("strides", lambda x: (16, 64)),
    "flat": _assign("flat", lambda x: [1, 2]),
    "T": _assign("T", lambda x: x),
    "another": _assign("name", lambda x: x),
    "in": lambda x: (3 in x, x[0] in x, 2.5 in x[0], x * (x[1, 1] in x)),
    "in an element": lambda x: 3 in x[0, 0],
    "round": lambda x: (x * round(x[1, 1]), round(x[0, 0] / 3, 1), math.floor(x[0, 1] / 3), math.ceil(x[0, 1] / 3)),
    "round of an array": lambda x: round(x[0]),
    "trunc": lambda x: math.trunc(x[1, 1].astype(float) / 3),
    "trunc of an array": lambda x: math.trunc(x),
    "at several axes": _accumulate,
    "del": _delete,
    "pickle": lambda x: pickle.loads(pickle.dumps(x * 2)),
    "hasattr": _asks,
    "str of a shape": lambda x: (str(x.shape), x + 1),
    "repr of a shape": lambda x: (f"{x.shape!r} {x.size!r} {(x.shape,)}", x + 1),
    "repr of an element": lambda x: repr(x[0, 0]),
    "repr": lambda x: (repr(x), str(x), repr(x[:1, :1].reshape(()))),
    "open grids": lambda x: (np.ogrid[: x.shape[0], 1 : x.shape[1] + 1][0] * x, np.ogrid[: x.shape[0]]),
    "grids": lambda x: (np.mgrid[: x.shape[0], 1 : x.shape[1] : 2], np.mgrid[2 : x.shape[1] + 2] * x),
    "grids that end before they begin": lambda x: np.mgrid[3 : x.shape[0] - 3, :2],
    "empty grids": lambda x: (np.mgrid[3 : x.shape[0], :2], np.ogrid[3 : x.shape[0] - 3, : x.shape[1] : -1]),
    "grids of numbers": lambda x: (np.mgrid[0 : x.shape[0] : 2j], np.ogrid[0.5 : x.shape[1]], np.mgrid[:2, :2]),
    "an error with a shape": lambda x: (_ for _ in ()).throw(ValueError(f"got {x.shape}, {x[0, 0]!r}")),
    "a key": lambda x: {}[x.shape[0]],
}


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning", "ignore:Setting the")
@pytest.mark.parametrize("what", AS_IN_NUMPY)
def test_it_is_as_in_numpy(what: str) -> None:
    function = AS_IN_NUMPY[what]
    traced = jit(function)
    for shape in ((3, 4), (3, 4)):
        x = image(*shape)
        try:
            want = function(x)
        except Exception as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                traced(x)
        else:
            assert_same(traced(x), want)


def test_grids_of_sizes_are_lazy() -> None:
    traced = jit(lambda x: np.ogrid[: x.shape[0], : x.shape[1]][0] * x + np.mgrid[: x.shape[0], : x.shape[1]][1])
    for shape in ((3, 4), (7, 2)):
        assert_traced(traced, image(*shape))


def test_numpy_takes_sizes_for_numbers() -> None:
    """Also NumPy's own grids, which ask for a common dtype, and functions of lists."""
    x = image(3, 4)
    n, m = sl.lazy(x).shape
    assert_same(list(np.ogrid[:n, -m:m]), list(np.ogrid[:3, -4:4]))
    assert_same(np.mgrid[0:1:3j, :n], np.mgrid[0:1:3j, :3])
    assert_same(np.hstack([n, (m,)]), np.hstack([3, (4,)]))
    assert np.result_type(n, np.float32) == np.result_type(3, np.float32)
    assert_same(np.asarray(np.where(sl.lazy(x) > 0, n, x)), np.where(x > 0, 3, x))


def _attributes() -> list[str]:
    return sorted({*dir(np.ndarray), *dir(np.float32)} - {"__getstate__"})


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", _attributes())
def test_each_attribute_of_arrays_is_there(name: str) -> None:
    """Of arrays, and of elements: where lazy arrays have none, the function is called as it is."""

    def asked(x: Any) -> Any:
        getattr(x * 2, name)
        return x * 2

    for function in (asked, lambda x: asked(x[0, 0])):
        if hasattr(np.ndarray if function is asked else np.float32, name):
            assert_same(jit(function)(image(3, 3)), function(image(3, 3)))


def test_attributes_that_lazy_arrays_have_not_end_the_trace() -> None:
    missing = {name for name in dir(np.ndarray) if not hasattr(type(sl.lazy(image(3))), name)}
    assert {"__setstate__", "__array_interface__", "sum", "view"} <= missing
    for name in sorted(missing):
        traced = jit(lambda x, name=name: (getattr(x * 2, name), x * 2)[1])
        assert_same(traced(image(3)), image(3) * 2)
        assert "AttributeError" not in traced.explain(image(3)) or name.startswith("__array_")


def test_an_error_that_only_the_trace_raises_is_none() -> None:
    calls: list[type] = []

    def picky(x: Any) -> Any:
        is_lazy = getattr(x, "__slinky_lazy__", False)
        calls.append(object if is_lazy else np.ndarray)
        if is_lazy:
            raise TypeError("arrays alone")
        return x * 2

    traced = jit(picky)
    assert "while it is traced, it raises TypeError: arrays alone" in traced.explain(image(3))
    for _ in range(2):
        assert_same(traced(image(3)), image(3) * 2)
    assert calls.count(np.ndarray) == 2
    assert len(calls) == 4
    with pytest.raises(TypeError, match="arrays alone"):
        jit(picky, strict=True)(image(3))
    with pytest.raises(TypeError, match="arrays alone"):
        jit(picky, donate="x")(image(3))


def test_lazy_arrays_are_pickled_as_what_they_stand_for() -> None:
    assert_same(pickle.loads(pickle.dumps(sl.lazy(image(3)) * 2)), image(3) * 2)


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.arange(x.min(), x.max(), 0.5),
        lambda x: np.arange(x.min(), stop=x.max()),
        lambda x: np.arange(x.max()),
        lambda x: np.arange(0, 5, x.max()),
        lambda x: np.mgrid[x.min() : x.max() : 0.5],
        lambda x: np.arange(x.real.min(), x.real.max(), 0.5),
    ],
)
def test_numbers_in_steps_between_computed_ones_are_as_many_as_numpy_has(function: Any) -> None:
    values = np.array([1 + 2j, 3 + 1j, 2 - 1j])
    assert_same(jit(function)(values), function(values))
    assert_same(jit(lambda x: arange(x.min(), x.max(), 0.5))(values), arange(values.min(), values.max(), 0.5))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(axis=1),
        lambda x: np.sort(x),
        lambda x: np.diff(x),
        lambda x: x.reshape(2, 3),
        lambda x: np.concatenate([x, x]),
        lambda x: np.quantile(x, 2.0),
        lambda x: x * np.datetime64("2020"),
        lambda x: np.str_("a") + x,
    ],
)
def test_what_numpy_refuses_is_refused_in_its_words_by_strict_traces_too(function: Any) -> None:
    with pytest.raises(Exception) as expected:
        function(np.array(3.5))
    with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
        jit(function, strict=True)(np.array(3.5))


def test_errors_that_the_function_catches_are_those_of_the_values() -> None:
    def inverse(x: Any) -> Any:
        try:
            return np.linalg.tensorinv(x, 1)
        except np.linalg.LinAlgError:
            return x * 0

    traced = jit(inverse)
    with pytest.warns(sl.ForcedValueWarning, match="linalg.tensorinv, which raises an error, asks for values"):
        assert_same(traced(np.zeros((2, 2))), np.zeros((2, 2)))
    assert_same(traced(2 * np.eye(2)), np.eye(2) / 2)
    later = jit(inverse)
    for values in (2 * np.eye(2), np.zeros((2, 2)), 4 * np.eye(2)):
        assert_same(later(values), inverse(values))


def test_errors_of_later_calls_are_those_of_numpy() -> None:
    traced = jit(lambda x: np.linalg.inv(x) + 1)
    assert_same(traced(np.eye(2)), np.eye(2) + 1)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        traced(np.zeros((2, 2)))
    lazy = np.linalg.inv(sl.lazy(2 * np.eye(2)))
    assert_same(np.asarray(lazy), np.eye(2) / 2)


class Scaling:
    """A method that asks for a value."""

    @sl.jit(smallest=0, workers=1)
    def scaled(self, x: Any) -> Any:
        """By the largest one."""
        return x * float(x.max())


def test_warnings_stand_where_the_function_is_called() -> None:
    for function in (jit(lambda x: x * float(x.max())), Scaling().scaled):
        with pytest.warns(sl.ForcedValueWarning) as caught:
            function(np.ones(3))
        assert [each.filename for each in caught] == [__file__]


def test_where_warnings_are_errors_each_call_raises_and_explain_tells() -> None:
    """Not the first call alone: that the result is lost goes by the filter, not by what was called before."""
    traced = jit(lambda x: x * 2 if x.max() > 0 else x)
    given = np.ones(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sl.ForcedValueWarning)
        assert "traced at each call: bool() asks for values" in traced.explain(given)
        for _ in range(3):
            with pytest.raises(sl.ForcedValueWarning, match=r"bool\(\) asks for values"):
                traced(given)
    with pytest.warns(sl.ForcedValueWarning):
        assert np.array_equal(traced(given), given * 2)


def test_options_of_schedules_are_refused_where_a_function_is_decorated() -> None:
    for options, message in (
        ({"workers": 0}, "jit: workers must be an integer of at least 1, got 0"),
        ({"workers": 1.5}, "jit: workers must be an integer of at least 1, got 1.5"),
        ({"max_bytes": -5}, "jit: max_bytes must be an integer of at least 0, got -5"),
        ({"machine": 3}, "jit: machine must be a Machine, got 3"),
    ):
        with pytest.raises(sl.OperationError, match=re.escape(message)):
            sl.jit(**options)  # type: ignore[call-overload]
