"""`sl.jit` and `sl.lazy`: NumPy functions that run as pipelines give what NumPy gives."""

from __future__ import annotations

import doctest
import time
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from traced import MACHINE, assert_same, assert_traced, image, jit, kept, sharpen

import slinky as sl
from slinky.frontend import tracing
from slinky.frontend.reading import Reads

SHAPES = [(1, 1), (2, 3), (7, 5), (13, 11), (64, 3)]

DTYPES = ["bool", "uint8", "int16", "int64", "float32", "float64", "complex64"]


def test_one_trace_serves_all_sizes() -> None:
    sharp = jit(sharpen)
    for shape in SHAPES:
        assert_traced(sharp, image(*shape))


def test_a_pipeline_is_an_ordinary_one_that_reads_windows() -> None:
    sharp = jit(sharpen)
    p = sharp.pipeline(image(20, 30))
    assert type(p) is sl.Pipeline
    assert "check" in str(p)
    pipeline_of_rows = sl.auto_schedule(p, (2000, 3000), (2000, 3000), workers=1, machine=MACHINE)
    unscheduled = p.memory((2000, 3000), (2000, 3000)).program_bytes
    assert pipeline_of_rows.memory((2000, 3000), (2000, 3000)).program_bytes < unscheduled / 5


def test_it_runs_checked() -> None:
    photo = image(17, 9)
    p = jit(sharpen).pipeline(photo)
    result = np.empty_like(photo)
    p.run(photo, result, checked=True)
    assert_same(result, sharpen(photo))


def test_a_pipeline_takes_arrays_in_the_order_of_arguments() -> None:
    def weighted(a: Any, b: Any, *, c: Any) -> Any:
        return c[1:] * (b[:-1] - a[1:])

    a, b, c = (np.arange(6.0) ** k for k in (1, 2, 3))
    p = sl.jit(weighted).pipeline(a, b, c=c)
    assert str(p).startswith("pipeline weighted(a: float64[1], b: float64[1], c: float64[1]) ->")
    np.testing.assert_array_equal(p(a, b, c), weighted(a, b, c=c), strict=True)


def test_floats_of_a_pipeline_are_arguments_by_their_names_or_constants() -> None:
    """What dimensions are called is another one's name; what is computed of floats is no argument."""

    def mixed(a: Any, gain: float, x: float, options: Any) -> Any:
        return (a * gain + a.mean(axis=0) * x) * options["if"] + 0.1 + gain + a * (x / gain) - a * (x / gain) * 0.25

    photo, values = image(6, 5, dtype=np.float64), (1.5, -2.0, {"if": 0.3})
    p = jit(mixed).pipeline(photo, *values)
    scalars = {"gain": 1.5, "x_": -2.0, "options_if": 0.3, "float_0": -2.0 / 1.5}
    assert {each.name for each in p.program.floats} == scalars.keys()
    result = np.empty_like(photo)
    p.run(photo, result, checked=True, **scalars)
    assert_same(result, mixed(photo, *values))
    known = jit(lambda a: mixed(a, *values)).pipeline(photo)
    assert not known.program.floats
    known(photo, result)
    assert_same(result, mixed(photo, *values))


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [
    lambda x: x + 1,
    lambda x: x * 2.5,
    lambda x: x.astype("c16") / 3,
    lambda x: np.maximum(x, x[::-1]),
    lambda x: (x == x.max(), x.min(axis=0), np.abs(x)),
    lambda x: x.sum(),
    lambda x: x.any(axis=1, keepdims=True),
    lambda x: np.where(x > 1, x, 1),
    lambda x: x.T[::2],
    lambda x: np.concatenate([x, x[:1]]),
    lambda x: x[..., None] * x[:, None],
    lambda x: ~(x != 0),
])  # fmt: skip
def test_dtypes_are_those_of_numpy(function: Any, dtype: str) -> None:
    for shape in [(1, 1), (7, 3)]:
        assert_traced(jit(function), image(*shape, dtype=dtype))


@pytest.mark.parametrize("number", [2, -1, 2.5, True, np.float64(0.1), np.int8(3), np.float32(2), 1j])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64"])
def test_numbers_are_weak_or_strong_as_in_numpy(number: Any, dtype: str) -> None:
    array = image(5, dtype=dtype)
    for function in (lambda x: x + number, lambda x: number * x, lambda x: x == number):
        try:
            want = function(array)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                jit(function)(array)
        else:
            assert_same(jit(function)(array), want)


def test_results_may_stand_in_containers() -> None:
    Pair = namedtuple("Pair", "low high")

    def ends(x: Any) -> Any:
        return {"ends": Pair(x.min(), x.max()), "list": [x + 1, (x * 2, "text", 3)], "none": None, "rows": x.shape[0]}

    traced = jit(ends)
    for n in (3, 8):
        assert_same(traced(image(n, 2)), ends(image(n, 2)))
    assert kept(traced) == 1


def test_named_tuples_of_nothing_but_fields_are_looked_into() -> None:
    """Of others, the methods are read."""
    State = namedtuple("State", "u v")

    class Growing(NamedTuple):
        """A method of its own."""

        u: Any
        rate: float

        def grown(self) -> Any:
            """By a global."""
            return self.u * self.rate * FACTOR

    def step(state: Any, dt: float) -> Any:
        return State(state.u + dt * state.v, state.v - dt * state.u)

    traced = jit(step)
    for n, dt in [(4, 0.5), (9, 0.25), (3, 1.5)]:
        given = State(image(n, 3), image(n, 3) * 2)
        assert_same(traced(given, dt), step(given, dt))
        assert_same(traced(state=given, dt=dt), step(given, dt))
    assert kept(traced) == 2
    assert "good where state_v.shape[0] == state_u.shape[0]" in traced.explain(given, 0.5)
    growing = jit(lambda state, x: state.grown() + x)
    for k in range(3):
        globals()["FACTOR"] = k
        assert_same(growing(Growing(image(4, 3), 2.0), image(4, 3)), image(4, 3) * 2.0 * k + image(4, 3))
        assert kept(growing) == 1


FACTOR = 1


def test_callables_without_a_name_are_traced_like_functions() -> None:
    def scaled(factor: Any, x: Any, *, offset: Any = 1) -> Any:
        return x * factor + offset

    class Scale:
        factor = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    x, scale = image(4, 3), Scale()
    for function, name in ((partial(partial(scaled, 2.5), offset=x), "scaled"), (scale, "Scale")):
        traced = jit(function, strict=True)
        assert repr(traced) == f"<jit of {name}>"
        assert_same(traced(x), function(x))
        assert traced.explain(x).startswith(f"{name} is traced: ")
        assert str(traced.pipeline(x)).startswith(f"pipeline {name}(x: float32[2]")
    traced, scale.factor = jit(scale), 3.0
    assert_same(traced(x), x * 3.0)
    scale.factor = 4.0
    assert_same(traced(x), x * 4.0)


def test_effects_of_callables_without_a_name_happen_once() -> None:
    class Counter:
        calls = 0

        def __call__(self, x: Any) -> Any:
            self.calls += 1
            return np.asarray(x).strides, x + 1

    counter = Counter()
    for function in (counter, partial(counter), counter.__call__):
        counter.calls = 0
        assert_same(jit(function)(image(4, 3)), ((12, 4), image(4, 3) + 1))
        assert counter.calls == 1


def test_static_methods_and_methods_of_classes_may_be_decorated_on_either_side() -> None:
    class Scaling:
        factor = 2.0

        @sl.jit(smallest=0, strict=True)
        @staticmethod
        def twice(x: Any) -> Any:
            return x * 2

        @sl.jit(smallest=0, strict=True)
        @classmethod
        def scaled(cls, x: Any) -> Any:
            return x * cls.factor

    x = image(4, 3)
    for owner in (Scaling, Scaling()):
        assert_same(owner.twice(x), x * 2)
        assert_same(owner.scaled(x), x * 2.0)


def test_arguments_may_stand_in_named_tuples() -> None:
    Pair = namedtuple("Pair", "low high")

    def between(pair: Any, x: Any, *, factor: Any = 1.0) -> Any:
        return Pair(pair.low * x, [pair.high - x]), getattr(factor, "high", factor) * x

    x, traced = image(4, 3), jit(between)
    for pair in (Pair(x + 1, x), Pair(2.5, x), Pair(3, 4)):
        for factor in (2.5, Pair(x, 3)):
            assert_same(traced(pair, x, factor=factor), between(pair, x, factor=factor))
            assert "is traced: " in traced.explain(pair, x, factor=factor)
    masked = np.ma.masked_array(x, x > 1)
    assert type(traced(Pair(masked, x), x)[0].low) is np.ma.MaskedArray


def test_results_that_are_arguments_are_the_arguments_or_views_of_them() -> None:
    traced = jit(lambda x: (x, x[1:, ::-1], x + 1))
    for n in (4, 9):
        x = image(n, 3)
        same, view, _ = traced(x)
        assert same is x
        assert view.base is not None
        assert np.shares_memory(view, x)
        assert_same(view, x[1:, ::-1])


@pytest.mark.parametrize("options", [{}, {"donate": "x"}])
def test_results_are_the_arguments_only_where_they_are_so_in_numpy(options: Any) -> None:
    """Who makes a view read-only, or gives it another shape, leaves the argument as it was."""

    def whole(x: Any) -> Any:
        views = [x[:], x[...], x.T.T, x[::-1][::-1], x.reshape(x.shape), x[None].squeeze(0), np.transpose(x, (0, 1))]
        return [x, np.asarray(x), x.squeeze(), *np.broadcast_arrays(x, x), [*views, x]]

    traced, x = jit(whole, **options), image(4, 3)
    for _ in range(2):
        *same, (*views, last) = traced(x)
        assert all(each is x for each in (*same, last))
        for view in views:
            assert view is not x
            assert view.shape == x.shape
            assert np.shares_memory(view, x)
            view.flags.writeable = False
    assert x.flags.writeable


def test_scalars_come_back_as_scalars() -> None:
    traced = jit(lambda x: (x.sum(), x[0, 0], x[..., 0, 0], x.sum() + 1, x.max(axis=0)[1] * 2))
    assert_same(traced(image(3, 4)), traced.__wrapped__(image(3, 4)))


def test_arrays_without_elements_and_without_axes() -> None:
    traced = jit(lambda x: (x * 2, x.sum(), x + x.sum()))
    for array in (image(0, 3), image(3, 0), image(3, 3), np.float32(2) + np.zeros(()), np.array(2.5)):
        assert_same(traced(array), traced.__wrapped__(array))


def test_slices_that_leave_nothing() -> None:
    traced = jit(lambda x: (x[3:] * 2, x[:3].sum(axis=0)))
    for n in (9, 4, 3, 2, 1):
        assert_same(traced(image(n, 2)), traced.__wrapped__(image(n, 2)))


def test_there_is_no_pipeline_of_arrays_without_elements() -> None:
    traced = jit(lambda x: (x[3:] * 2).sum(axis=0) + np.sort(x, axis=0).sum(axis=0))
    for array in (image(0, 2), image(3, 2)):
        with pytest.raises(sl.TracingError, match="no elements"):
            traced.pipeline(array)
        assert traced.explain(array)
    assert traced.pipeline(image(5, 2))


def test_layouts_of_arguments() -> None:
    traced = jit(lambda x: x * 2 + x[::-1])
    for array in (image(6, 4)[::-1], image(6, 4).T, np.asfortranarray(image(6, 4)), image(12, 8)[::2, ::2],
                  np.broadcast_to(image(4), (6, 4))):  # fmt: skip
        assert_traced(traced, array)


def test_in_place_code_makes_new_values() -> None:
    def smooth(x: Any, times: int) -> Any:
        y = x.copy()
        for _ in range(times):
            y[1:-1] = (y[:-2] + y[2:]) / 2
        y += 1
        y[::2, 0] = 7
        np.multiply(y, 2, out=y)
        row = y[0]
        row -= 3
        return y, row

    traced = jit(smooth)
    for n in (8, 5):
        array = image(n, 3)
        before = array.copy()
        assert_same(traced(array, 2), smooth(array, 2))
        assert_same(array, before)


def test_writing_keeps_the_dtype_and_casts_as_numpy() -> None:
    def write(x: Any) -> Any:
        y = x.astype(np.int16)
        y[1:] = x[1:] / 3
        y[0] = 2.9
        y[y > 3] = -1
        return y

    assert_traced(jit(write), image(7))

    def add_float(x: Any) -> Any:
        y = x.copy()
        y += 0.5
        return y

    with pytest.raises(np._core._exceptions._UFuncOutputCastingError):
        jit(add_float)(image(4, dtype=np.int16))


def test_views_see_what_is_written() -> None:
    def views(x: Any) -> Any:
        y = x * 1
        part, turned = y[1:], y.T
        part *= 2
        turned[0] = 5
        return y, part, turned

    assert_traced(jit(views), image(4, 3))


def test_results_that_are_written_in_parts_and_read_by_each_other() -> None:
    def parts(x: Any) -> Any:
        positive = np.absolute(x)
        y = np.pad(positive, 1, mode="reflect")
        y[2:] = np.float64(0.1)
        return y, y[:3], np.concatenate([y, positive])

    assert_traced(jit(parts), image(3, dtype=np.uint8))
    assert_traced(jit(lambda x: (np.add.reduce(x), x.sum())), np.array(True))


def test_arrays_made_in_the_function_and_changed_there() -> None:
    def weighted(x: Any) -> Any:
        weights = np.ones(3)
        first = x * weights
        weights[0] = 5
        return first, x * weights

    assert_traced(jit(weighted), image(4, 3))


def test_einsum_that_is_a_view() -> None:
    def turned(x: Any) -> Any:
        y = np.pad(x, 1)
        np.einsum("ij->ji", y).fill(-1)
        return y, x[1:, :0].sum()

    for shape in ((3, 4), (1, 2)):
        assert_same(jit(turned)(image(*shape)), turned(image(*shape)))


def test_what_is_rolled_by_a_little_is_copied_once_for_both_directions() -> None:
    def vorticity(u: Any, v: Any) -> Any:
        return (np.roll(v, -1, 1) - np.roll(v, 1, 1)) - (np.roll(u, -1, 0) - np.roll(u, 1, 0))

    traced = jit(vorticity)
    for shape in [(9, 7), (5, 2), (1, 3), (2, 2)]:
        u, v = image(*shape), image(*shape) * 2
        assert_same(traced(u, v), vorticity(u, v))
    p = traced.pipeline(image(900, 700), image(900, 700))
    assert [len(p.find_all(name)) for name in ("pad", "pad_1")] == [1, 1]
    assert "concatenate" not in str(p)
    schedule = sl.auto_schedule(p, *[(900, 700)] * 3, workers=1, machine=MACHINE)
    assert schedule.memory(*[(900, 700)] * 3).program_bytes < 900 * 700 * 4 / 5


@pytest.mark.parametrize("shift", [-7, -4, -1, 0, 1, 3, 4, 5, 9, (1, -2)])
def test_rolls_by_any_number(shift: Any) -> None:
    axis = (0, 1) if isinstance(shift, tuple) else 0
    traced = jit(lambda x: (np.roll(x, shift, axis) * 2, np.roll(x, shift, axis)))
    for n in (1, 2, 4, 5, 9, 10, 23):
        assert_same(traced(image(n, 3)), traced.__wrapped__(image(n, 3)))


def test_what_is_changed_in_part_is_copied_in_part() -> None:
    def diffuse(x: Any) -> Any:
        y = x.copy()
        y[1:-1] += x[2:] + x[:-2]
        return y

    traced = jit(diffuse)
    for n in (9, 5, 3):
        assert_traced(traced, image(n, 4))
    assert str(traced.pipeline(image(9, 4))).count("alloc") <= 1
    assert "assign_1" not in str(traced.pipeline(image(9, 4)))


def test_zeros_keep_their_sign_among_numbers_and_nans_stay() -> None:
    traced = jit(lambda x, a: np.copysign(x, a) + 0 * x)
    for number in (0.0, -0.0, 1.0, -0.0, 0.0, float("nan"), -1.0):
        assert_same(traced(image(5), number), traced.__wrapped__(image(5), number))


def test_scalars_stay_scalars_in_their_own_dtype() -> None:
    assert_traced(jit(lambda x: (x.any().astype(bool), x.max().astype(x.dtype), x.max().astype("f8"))), image(4, 3))


# Lazy arrays ----------------------------------------------------------------------------------------------------------


def test_a_window_of_a_lazy_array_computes_what_it_needs() -> None:
    big = sl.lazy(np.ones((400, 500)))
    soft = (big[1:] + big[:-1]) * 2
    window = soft[100:110, 20:30]
    p = tracing.PLANS.of(tracing.in_order([window._view.result]), [window._view], "t", {})
    statistics = p.pipeline.run(np.ones((400, 500)))
    assert max(statistics.elements.values()) == 100
    assert_same(np.asarray(window), np.full((10, 10), 4.0))


def test_a_lazy_array_does_not_see_what_is_written_to_its_source() -> None:
    source = image(50, 50)
    expected = source * 2
    lazy = sl.lazy(source) * 2
    source[...] = 0
    assert_same(np.asarray(lazy), expected)


def test_lazy_arrays_of_other_things_are_refused() -> None:
    with pytest.raises(sl.TracingError, match="arrays of numbers"):
        sl.lazy(np.array(["a"]))
    swapped = np.arange(3.0).astype(np.dtype(float).newbyteorder())
    with pytest.raises(sl.TracingError, match=r"byte order of the machine, got .*: \.astype\(\".f8\"\) gives one"):
        sl.lazy(swapped)


def test_arrays_that_outlive_their_call_have_their_values() -> None:
    escaped = []

    def leak(x: Any) -> Any:
        escaped.append(x * 2)
        return x + 1

    traced = jit(leak)
    traced._reads = Reads(lambda x: x)
    traced(image(4))
    assert type(escaped[0]) is np.ndarray
    assert_same(escaped[0], image(4) * 2)


def test_a_mask_is_not_lost() -> None:
    masked = np.ma.masked_array(np.arange(5.0), mask=[0, 1, 0, 0, 1])
    with pytest.raises(sl.TracingError, match=r"without a mask, which would be lost; use \.filled"):
        sl.lazy(masked)


def test_what_is_broadcast_is_copied_once() -> None:
    row = np.arange(3.0)
    lazy = sl.lazy(np.broadcast_to(row, (10**12, 3)), copy=True)  # all of it would be 24 terabytes
    row[:] = 7
    assert_same(np.asarray((lazy + 1)[5:7]), np.array([[1.0, 2.0, 3.0]] * 2))


@pytest.mark.parametrize(
    "array",
    [
        np.broadcast_to(np.arange(4.0)[::-1, None], (4, 5)),
        np.broadcast_to(np.float32(3), (2, 3)),
        np.broadcast_to(np.arange(3), (0, 3)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(5),
    ],
)
def test_copies_of_lazy_arrays_have_their_elements(array: np.ndarray[Any, Any]) -> None:
    lazy = sl.lazy(array, copy=True)
    assert_same(np.asarray(lazy), array)
    assert_same(np.asarray(lazy.sum()), np.asarray(array.sum()))


@pytest.mark.parametrize("documented", [sl.jit, sl.lazy])
def test_the_examples_of_docstrings(documented: Any) -> None:
    problems: list[str] = []
    test = doctest.DocTestParser().get_doctest(documented.__doc__, {}, documented.__name__, None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=problems.append)
    assert not problems


# What random programs found -------------------------------------------------------------------------------------------


def _copied_to(a: Any) -> Any:
    v = a % 3
    np.copyto(v, a)
    return v + 1


def _filled_through_a_view(a: Any) -> Any:
    n = np.nan_to_num(a)
    np.ravel(n).fill(0)
    return n


def _masked(a: Any) -> Any:
    return np.add(a, a, where=a != a, out=np.ones_like(a))


def _written_where_it_asked(a: Any) -> Any:
    v = np.ascontiguousarray(a * 2)
    for j in range(v.shape[0]):
        v[j] = v[j] + j
    return v


def _sizes_in_numpy(a: Any) -> Any:
    n = a.shape[0]
    return np.arange(n), np.linspace(0, 1, n), np.full(3, n), np.float32(2) * n, np.ones(3, "f4") * n, np.array([n, 1])


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    "function",
    [
        _copied_to,
        _filled_through_a_view,
        _masked,
        _written_where_it_asked,
        _sizes_in_numpy,
        lambda a: np.where(a > -1, a, -1),
        lambda a: np.arange(a.size).reshape(a.shape) + a,
    ],
)
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_values_dtypes_and_memory_are_numpys(function: Any, dtype: str) -> None:
    traced = jit(function)
    for n in (6, 4, 6):
        assert_same(traced(image(n, 3, dtype=dtype)), function(image(n, 3, dtype=dtype)))


def _raveled(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that writes to all elements of a part of an array along one axis, and returns both."""

    def write(a: Any) -> Any:
        v = a * 2
        part = view(v)
        flat = part.ravel()
        flat[0] = 9
        return v, part, flat

    return write


@pytest.mark.parametrize(
    "view",
    [
        lambda v: v,
        lambda v: v[1:],
        lambda v: v[1],
        lambda v: v[1, :2],
        lambda v: v[:, 1],
        lambda v: v[::2],
        lambda v: v[1, ::2],
        lambda v: v[0, ::-1],
        lambda v: v[:1, 1:],
        lambda v: v[:, :1],
        lambda v: v[None, :, 1],
        lambda v: v.T[0],
        lambda v: v.T[:, 0],
        lambda v: np.broadcast_to(v[:1, 0], (3,)).copy()[:1],
        lambda v: np.nonzero(v)[0],
        lambda v: np.squeeze(np.atleast_2d(np.nonzero(v)[1])),
        lambda v: v[v > 1][::2],
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_elements_along_one_axis_share_memory_where_numpys_do(view: Any, order: str) -> None:
    """`ravel` copies where there are gaps between elements, also where there is one axis."""
    function = _raveled(view)
    traced = jit(function)
    for given in (image(6, 3), np.asarray(image(6, 3), order=order), np.asarray(image(4, 3), order=order)):
        assert_same(traced(given), function(given))


def test_elements_along_one_axis_that_are_given_away() -> None:
    def write(a: Any) -> Any:
        flat = a.ravel()
        flat[0] = 9
        return flat

    traced = jit(write, donate="a")
    for step in (1, 2, 1):
        given, other = np.arange(12.0)[::step], np.arange(12.0)[::step]
        assert_same(traced(given), write(other))
        assert_same(given, other)


@pytest.mark.parametrize("shape", [(1,) * 30 + (3, 2, 4), (2,) * 14, (1, 2) * 8])
def test_arrays_of_many_axes_are_traced_for_their_shape(shape: tuple[int, ...]) -> None:
    traced = jit(lambda x: (x.reshape(-1, 4) + 1, x.sum(axis=-1) * 2, x.T[..., :1].reshape(-1)))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    start = time.process_time()
    assert_traced(traced, x)
    assert_traced(traced, x + 1)
    assert time.process_time() - start < 10
    assert_traced(traced, np.concatenate([x, x]), traces=2)


@pytest.mark.parametrize("copy", [True, False, None])
@pytest.mark.parametrize("dtype", [None, float, "f4"])
@pytest.mark.parametrize("is_scalar", [False, True])
def test_arrays_are_copied_when_numpy_copies_them(dtype: Any, copy: Any, is_scalar: bool) -> None:
    def made(x: Any) -> Any:
        if is_scalar:
            x = x.max()
        y = x * 1
        try:
            found = np.array(x, dtype, copy=copy), np.asarray(x, dtype, copy=copy)
            np.array(y, dtype, copy=copy)[...] = 7
        except ValueError as error:
            return str(error)
        return [*found, y], [each is x for each in found]

    expected, found = made(image(4, 3)), jit(made)(image(4, 3))
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found[1] == expected[1]
        for a, b in zip(found[0], expected[0], strict=True):
            assert_same(a, b)


def test_bools_full_of_an_integer_beyond_those_of_numpy_are_refused_as_numpy_does() -> None:
    traced = sl.jit(smallest=0)(lambda a: np.full_like(a, 2**63))
    with pytest.raises(OverflowError):
        traced(np.zeros(3, bool))
