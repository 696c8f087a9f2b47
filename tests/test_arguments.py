"""Arguments are checked before anything runs: what was required, what was given, and nothing is touched."""

from __future__ import annotations

import array
import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl

y, x = sl.variables("y x")
r = sl.scalar("r")


class Recording:
    """A callback that counts how often it runs."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, source: np.ndarray, target: np.ndarray) -> None:
        self.runs += 1
        target[...] = source[1:-1]


def blur() -> tuple[sl.Pipeline, Recording]:
    """A pipeline that reads a row above and below its output."""
    inp, out = sl.BufferExpr("inp", np.float32, 2), sl.BufferExpr("out", np.float32, 2)
    callback = Recording()
    sl.Func(callback, [inp[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="blur")
    return sl.build_pipeline([inp], [out]), callback


def refused(*arrays: object, **scalars: object) -> str:
    """The message of a run that is refused; it must leave everything as it was."""
    pipeline, callback = blur()
    before = [a.copy() if isinstance(a, np.ndarray) else None for a in arrays]
    with pytest.raises(sl.ArgumentError) as caught:
        pipeline(*arrays, **scalars)
    assert callback.runs == 0
    for a, b in zip(arrays, before, strict=True):
        if b is not None:
            np.testing.assert_array_equal(a, b)
    return str(caught.value)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def inner(array: np.ndarray) -> sl.Buffer:
    """The output's place: one row further in."""
    return sl.Buffer(array, min=(1, 0))


# What is refused ------------------------------------------------------------------------------------------------------


def test_the_number_of_arrays() -> None:
    assert refused() == "pipeline blur takes 2 arrays (inp, out), got 0; inp is missing"
    assert refused(zeros(5, 4), zeros(3, 4), zeros(1, 1)) == "pipeline blur takes 2 arrays (inp, out), got 3"


def test_the_rank() -> None:
    assert refused(zeros(5), zeros(3, 4)) == "argument inp: expected rank 2, got rank 1 (shape (5,))"
    assert refused(zeros(5, 4), zeros(3, 4, 1)) == "argument out: expected rank 2, got rank 3 (shape (3, 4, 1))"


def test_the_dtype() -> None:
    assert refused(np.zeros((5, 4)), zeros(3, 4)) == "argument inp: expected dtype float32, got float64"
    swapped = np.zeros((5, 4), np.dtype(np.float32).newbyteorder())
    assert refused(swapped, zeros(3, 4)).startswith("argument inp: expected dtype float32, got ")


def test_a_read_only_output() -> None:
    out = zeros(3, 4)
    out.setflags(write=False)
    assert refused(zeros(5, 4), out) == "argument out: an output must be writable, got a read-only array"
    constant = memoryview(bytes(48)).cast("f", (3, 4))
    assert refused(zeros(5, 4), constant) == "argument out: an output must be writable, got a read-only array"


def test_a_broadcast_output() -> None:
    out = np.lib.stride_tricks.as_strided(zeros(4), (3, 4), (0, 4))
    assert refused(zeros(5, 4), out) == (
        "argument out: the elements of an output must not share memory, as those of a broadcast array do "
        "(shape (3, 4), strides (0, 4))"
    )


@pytest.mark.parametrize("strides", [(4, 4), (8, 4), (12, 4), (4, 8), (-4, 4), (20, 6)])
def test_an_output_that_overlaps_itself(strides: tuple[int, int]) -> None:
    memory = np.zeros(100, np.float32)[20:]
    out = np.lib.stride_tricks.as_strided(memory, (3, 4), strides)
    assert f"share memory, as those of a broadcast array do (shape (3, 4), strides {strides})" in refused(
        zeros(5, 4), out
    )


@pytest.mark.parametrize("strides", [(16, 4), (32, 8), (-16, 4), (16, -4), (4, 12), (12, 16)])
def test_an_output_whose_elements_lie_apart(strides: tuple[int, int]) -> None:
    memory = np.zeros(100, np.float32)[20:]
    out = np.lib.stride_tricks.as_strided(memory, (3, 4), strides)
    inp = np.arange(20, dtype=np.float32).reshape(5, 4)
    blur()[0](inp, inner(out))
    assert np.array_equal(out, inp[1:-1])


def test_an_output_that_overlaps_an_input() -> None:
    both = zeros(8, 4)
    message = "argument out: an output must not overlap argument inp in memory"
    assert refused(both[:5], both[4:7]) == message
    assert refused(both[:5], both[:3]) == message


def test_outputs_that_overlap() -> None:
    inp, low, high = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "low", "high"))
    sl.Func(np.modf, [inp[x]], [low[x], high[x]])
    pipeline = sl.build_pipeline([inp], [low, high])
    both = zeros(6)
    with pytest.raises(sl.ArgumentError, match=r"^argument high: an output must not overlap argument low in memory$"):
        pipeline(zeros(4), both[:4], both[2:])


def test_arrays_that_interleave_do_not_overlap() -> None:
    both = np.arange(10, dtype=np.float32).repeat(2).reshape(5, 4).copy()
    pipeline, _ = blur()
    even, odd = both[:, ::2], both[1:4, 1::2]
    pipeline(even, inner(odd))
    np.testing.assert_array_equal(odd, even[1:4])


def test_a_region_out_of_range() -> None:
    assert refused(zeros(5, 4), zeros(3, 4)) == (
        "pipeline blur requires inp.y.min <= out.y.min - 1, got inp.y.min = 0, out.y.min = 0 "
        "(the pipeline reads inp along y from out.y.min - 1 to out.y.max + 1)"
    )
    assert refused(zeros(5, 4), inner(zeros(4, 4))).startswith(
        "pipeline blur requires out.y.max <= inp.y.max - 1, got inp.y.max = 4, out.y.max = 4"
    )
    assert refused(zeros(5, 4), inner(zeros(3, 5))).startswith(
        "pipeline blur requires out.x.max <= inp.x.max, got inp.x.max = 3, out.x.max = 4"
    )


def test_a_failed_check_is_an_error_of_its_own_kind() -> None:
    pipeline, _ = blur()
    with pytest.raises(sl.CheckFailedError):
        pipeline(zeros(5, 4), zeros(3, 4))


def test_a_requirement_that_does_not_hold() -> None:
    inp, out = sl.BufferExpr("inp", np.float32, 1), sl.BufferExpr("out", np.float32, 1)
    sl.Func(np.negative, [inp[x]], [out[x]])
    inp.dim(0).min = 0
    out.dim(0).stride = 4
    pipeline = sl.build_pipeline([inp], [out], require=[out.dim(0).extent <= 8])
    pipeline(zeros(8), zeros(8))
    with pytest.raises(sl.CheckFailedError, match=r"requires 0 == inp.x.min, got inp.x.min = -1"):
        pipeline(sl.Buffer(zeros(9), min=(-1,)), zeros(8))
    with pytest.raises(sl.CheckFailedError, match=r"requires 4 == out.x.stride, got out.x.stride = 8"):
        pipeline(zeros(8), zeros(16)[::2])
    with pytest.raises(sl.CheckFailedError, match=r"out.x.max <= out.x.min \+ 7, got out.x.max = 8, out.x.min = 0"):
        pipeline(zeros(9), zeros(9))


@pytest.mark.parametrize("given", [[[0.0, 1.0]], (1.0,), None, 3.5, "abc", {}])
def test_what_would_have_to_be_copied(given: object) -> None:
    assert refused(given, zeros(3, 4)).startswith(
        f"argument inp: expected an array that NumPy can see without copying, got {type(given).__name__}: "
    )
    assert refused(zeros(5, 4), given).startswith(
        f"argument out: expected an array that NumPy can see without copying, got {type(given).__name__}: "
    )


def test_what_to_do_with_numbers_and_lists() -> None:
    assert refused(3.5, zeros(3, 4)).endswith("got float: wrap it, as in np.array(3.5)")
    assert refused(True, zeros(3, 4)).endswith("got bool: wrap it, as in np.array(True)")
    assert refused([[0.5]], zeros(3, 4)).endswith("got list: make it an array first, as in np.array(...)")


def test_what_no_array_can_be_made_of() -> None:
    missing = "got NoneType: give an array for each parameter; outputs that are left out are allocated"
    assert refused(None, zeros(3, 4)).endswith(missing)
    assert refused(zeros(5, 4), None).endswith(missing)
    for given in ("abc", {}, object()):
        assert refused(given, zeros(3, 4)).endswith(": it has no elements in memory that it shows, as arrays have")


def test_a_masked_array_is_refused() -> None:
    masked = np.ma.masked_array(zeros(5, 4), mask=np.eye(5, 4))
    expected = "argument inp: expected an array without a mask, which would be lost; use .filled(...) or .data"
    assert refused(masked, zeros(3, 4)) == expected
    with pytest.raises(sl.ArgumentError, match="without a mask"):
        sl.Buffer(masked, min=(1, 1))


def test_the_origin_of_a_buffer() -> None:
    with pytest.raises(sl.ArgumentError, match=r"^an array of rank 2 needs 2 coordinates, got min=\(1,\)$"):
        sl.Buffer(zeros(2, 2), min=(1,))
    with pytest.raises(sl.ArgumentError, match=r"^an array of rank 2 needs 2 coordinates, got min=1$"):
        sl.Buffer(zeros(2, 2), min=1)
    with pytest.raises(ValueError, match="min of dimension 1"):
        sl.Buffer(zeros(2, 2), min=(1, 0.5))
    buffer = sl.Buffer(zeros(2, 3), min=(-1, np.int64(4)))
    assert (buffer.min, buffer.max, buffer.shape, buffer.rank) == ((-1, 4), (0, 6), (2, 3), 2)
    assert repr(buffer) == "Buffer(float32[-1..0, 4..6])"
    assert sl.Buffer(buffer).min == (-1, 4)
    assert sl.Buffer(buffer, min=(0, 0)).min == (0, 0)


# Options --------------------------------------------------------------------------------------------------------------


def test_hooks_are_hooks() -> None:
    with pytest.raises(sl.ArgumentError, match=r"hooks must be sl\.Hooks, got 3"):
        blur()[0].run(zeros(5, 4), inner(zeros(3, 4)), hooks=3)
    with pytest.raises(sl.ArgumentError, match="hook free must be callable, got 3"):
        sl.Hooks(free=3)


# Scalars --------------------------------------------------------------------------------------------------------------


def shift() -> sl.Pipeline:
    inp, out = sl.BufferExpr("inp", np.float32, 1), sl.BufferExpr("out", np.float32, 1)
    sl.Func(np.positive, [inp[x + r]], [out[x]], name="shift")
    return sl.build_pipeline([inp], [out], require=[r >= 0])


def test_scalars_are_given_by_name() -> None:
    out = shift()(np.arange(6, dtype=np.float32), zeros(4), r=np.int16(2))
    np.testing.assert_array_equal(out, [2, 3, 4, 5])


@pytest.mark.parametrize(
    ("scalars", "message"),
    [
        ({}, "pipeline shift needs a value for scalar r, as in p(..., r=1)"),
        ({"r": 1, "s": 2}, "pipeline shift has no scalar 's' (scalars: r)"),
        ({"r": 1.0}, "scalar r"),
        ({"r": "1"}, "scalar r"),
        ({"r": True}, "scalar r"),
        ({"r": -1}, "pipeline shift requires 0 <= r, got r = -1"),
        ({"r": 3}, "pipeline shift requires out.x.max + r <= inp.x.max, got inp.x.max = 5, out.x.max = 3, r = 3"),
    ],
)
def test_scalars_that_are_refused(scalars: dict[str, int], message: str) -> None:
    out = zeros(4)
    with pytest.raises(sl.ArgumentError) as caught:
        shift()(np.ones(6, np.float32), out, **scalars)
    assert str(caught.value).startswith(message)
    assert not out.any()


def test_names_are_as_python_reads_them() -> None:
    """Python takes the micro sign of a keyboard for the Greek letter, in keywords, too."""
    micro, greek = "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}"
    (x,) = sl.variables("x")
    inp, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "out"))
    times = eval(f"lambda source, target, *, {micro}: np.multiply(source, {micro}, out=target)", {"np": np})
    sl.Func(times, [inp[x + sl.scalar(micro)]], [out[x]], name=f"times_{micro}", arguments={micro: sl.scalar(greek)})
    p = sl.build_pipeline([inp], [out])
    assert sl.scalar(micro) is sl.scalar(greek)
    assert p.find(f"times_{micro}") == p.find(f"times_{greek}")
    data = np.arange(4)
    for run in (p, lambda *given, **named: p.run(*given, backend="interpreter", **named).outputs[0]):
        assert eval(f"run(data, np.zeros(2, int), {micro}=2)", {"run": run, "data": data, "np": np}).tolist() == [4, 6]
        assert run(data, np.zeros(2, int), **{micro: 2}).tolist() == [4, 6]
    assert p.bind(data, np.zeros(2, int), **{micro: 1})().tolist() == [1, 2]
    with pytest.raises(sl.GraphError, match="which is a reserved word of Python"):
        sl.scalar("\N{MATHEMATICAL BOLD SMALL I}f")


def test_a_pipeline_without_scalars_says_so() -> None:
    assert refused(zeros(5, 4), inner(zeros(3, 4)), r=1) == "pipeline blur has no scalar 'r' (scalars: none)"


# What is accepted -----------------------------------------------------------------------------------------------------

VALUES = np.arange(20, dtype=np.float32).reshape(5, 4)


class Interface:
    """An object with `__array_interface__` and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


class DLPack:
    """An object with the DLPack protocol and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: object) -> object:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def as_ctypes(values: np.ndarray) -> object:
    return np.ctypeslib.as_ctypes(values)


def as_fortran(values: np.ndarray) -> np.ndarray:
    return np.asfortranarray(values)


def as_buffer(values: np.ndarray) -> sl.Buffer:
    return sl.Buffer(memoryview(values))


@pytest.mark.parametrize("wrap", [memoryview, Interface, DLPack, as_ctypes, as_fortran, as_buffer])
def test_an_input_may_be_anything_that_numpy_sees(wrap: object) -> None:
    out = blur()[0](wrap(VALUES.copy()), inner(zeros(3, 4)))
    np.testing.assert_array_equal(out.array, VALUES[1:-1])


@pytest.mark.parametrize("wrap", [memoryview, Interface, as_ctypes, as_buffer])
def test_an_output_may_be_anything_that_numpy_sees(wrap: object) -> None:
    inp, out = sl.BufferExpr("inp", np.float32, 2), sl.BufferExpr("out", np.float32, 2)
    sl.Func(np.negative, [inp[y, x]], [out[y, x]])
    target = zeros(5, 4)
    given = wrap(target)
    assert sl.build_pipeline([inp], [out])(VALUES, given) is given
    np.testing.assert_array_equal(target, -VALUES)


def test_an_array_of_the_standard_library() -> None:
    inp, out = sl.BufferExpr("inp", np.intc, 1), sl.BufferExpr("out", np.intc, 1)
    sl.Func(np.negative, [inp[x]], [out[x]])
    given, result = array.array("i", [1, 2, 3]), array.array("i", [0, 0, 0])
    assert sl.build_pipeline([inp], [out])(given, result) is result
    assert result.tolist() == [-1, -2, -3]
    shared = (ctypes.c_int * 3)()
    sl.build_pipeline([inp], [out])(given, shared)
    assert list(shared) == [-1, -2, -3]


def test_a_numpy_scalar_is_an_input_without_dimensions_but_no_output() -> None:
    inp, out = sl.BufferExpr("inp", np.float64, 0), sl.BufferExpr("out", np.float64, 0)
    sl.Func(np.negative, [inp[()]], [out[()]])
    pipeline = sl.build_pipeline([inp], [out])
    assert pipeline(np.float64(3), np.zeros(())) == -3
    with pytest.raises(sl.ArgumentError, match=r"^argument out: an output must be writable, got a read-only array$"):
        pipeline(np.float64(3), np.float64(0))


def test_the_result_is_what_was_given() -> None:
    pipeline, _ = blur()
    out = inner(zeros(3, 4))
    assert pipeline(VALUES, out) is out
    inp, low, high = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "low", "high"))
    sl.Func(np.modf, [inp[x]], [low[x], high[x]])
    first, second = zeros(2), zeros(2)
    results = sl.build_pipeline([inp], [low, high])(np.array([1.5, 2.25], np.float32), first, second)
    assert results[0] is first
    assert results[1] is second
    np.testing.assert_array_equal(first, [0.5, 0.25])
    np.testing.assert_array_equal(second, [1, 2])


def test_one_array_may_be_several_inputs() -> None:
    a, b, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "b", "out"))
    sl.Func(np.add, [a[y, x], b[y, x]], [out[y, x]])
    result = sl.build_pipeline([a, b], [out])(VALUES, VALUES, zeros(5, 4))
    np.testing.assert_array_equal(result, 2 * VALUES)


def test_an_output_whose_func_would_be_skipped() -> None:
    """A row without columns has a norm, but the func that would write it has nothing to compute."""

    def split(source: np.ndarray, unit: np.ndarray, norm: np.ndarray) -> None:
        np.abs(source).sum(axis=1, out=norm)
        np.divide(source, norm[:, None], out=unit)

    inp, unit, norm = (sl.BufferExpr(name, np.float32, rank) for name, rank in (("inp", 2), ("unit", 2), ("norm", 1)))
    sl.Func(split, [inp[y, :]], [unit[y, x], norm[y]], name="split")
    pipeline = sl.build_pipeline([inp], [unit, norm])
    with pytest.raises(sl.CheckFailedError, match=r"func split writes norm for all x, which must not be empty"):
        pipeline(zeros(3, 0), zeros(3, 0), zeros(3))
    pipeline(zeros(0, 0), zeros(0, 0), zeros(0))
    _, norms = pipeline(np.ones((3, 2), np.float32), zeros(3, 2), zeros(3))
    np.testing.assert_array_equal(norms, [2, 2, 2])


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0)])
def test_empty_outputs_run_nothing(shape: tuple[int, int]) -> None:
    pipeline, callback = blur()
    pipeline(zeros(shape[0] + 2, shape[1]), inner(zeros(*shape)))
    assert callback.runs == 0


# Arrays by name, arrays of other libraries, bounds that agree ---------------------------------------------------------


def test_arrays_go_by_position_or_by_name() -> None:
    pipeline, callback = blur()
    pipeline(inp=zeros(5, 4), out=inner(zeros(3, 4)))
    pipeline(zeros(5, 4), out=inner(zeros(3, 4)))
    assert callback.runs == 2
    both = r"has no scalar 'out' \(scalars: none\); it is an array, and is given by position already$"
    with pytest.raises(sl.ArgumentError, match=both):
        pipeline(zeros(5, 4), zeros(3, 4), out=zeros(3, 4))


class Labelled:
    """An array with names for its dimensions, as xarray's are: NumPy cannot tell that it holds an ndarray."""

    def __init__(self, data: object, dims: tuple[str, ...]) -> None:
        self.data = data
        self.dims = dims

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self.data)


def test_an_array_with_labels_is_the_array_in_it() -> None:
    pipeline, _ = blur()
    inp, out = np.arange(20, dtype=np.float32).reshape(5, 4), zeros(3, 4)
    labelled = Labelled(out, ("y", "x"))
    pipeline(Labelled(inp, ("y", "x")), sl.Buffer(labelled, min=(1, 0)))
    assert np.array_equal(out, inp[1:-1])
    with pytest.raises(sl.ArgumentError, match="without a mask"):
        sl.Buffer(Labelled(np.ma.masked_array([1.0], [True]), ("x",)))


def test_a_table_of_pandas_is_the_array_in_it() -> None:
    pandas = pytest.importorskip("pandas")
    pipeline, _ = blur()
    inp = np.arange(20, dtype=np.float32).reshape(5, 4)
    for table in (pandas.DataFrame(inp), pandas.DataFrame(np.asfortranarray(inp), columns=list("abcd"))):
        assert np.array_equal(pipeline(table, inner(zeros(3, 4))).array, inp[1:-1])
    assert np.shares_memory(sl.Buffer(table).array, np.asarray(table))
    column = pandas.Series(inp[0], name="row")
    assert np.shares_memory(sl.Buffer(column, min=(2,)).array, np.asarray(column))
    assert sl.Buffer(pandas.DataFrame(zeros(0, 4))).shape == (0, 4)


def test_a_table_of_several_arrays_would_have_to_be_copied() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": np.ones(5, np.float32), "b": np.ones(5, np.float64)})
    assert "got DataFrame, whose elements would have to be" in refused(table, zeros(3, 4))
    missing = pandas.Series([1, None], dtype="Int64")
    with pytest.raises(sl.ArgumentError, match="got Series, whose elements would have to be"):
        sl.Buffer(missing)


def test_arrays_that_would_have_to_be_computed() -> None:
    lazy = Labelled(object(), ("y", "x"))
    expected = (
        "expected an array that NumPy can see without copying, got Labelled, whose elements would have to be computed, "
        "read or copied: give np.asarray(...) of it as an input, and a NumPy array as an output"
    )
    assert refused(lazy, zeros(3, 4)) == f"argument inp: {expected}"
    assert refused(zeros(5, 4), lazy) == f"argument out: {expected}"


def test_arrays_on_another_device() -> None:
    class OnDevice:
        @property
        def __cuda_array_interface__(self) -> dict[str, object]:
            return {"shape": (5, 4)}

        def __array__(self) -> np.ndarray:
            raise TypeError("implicit conversion is not allowed")

    assert refused(OnDevice(), zeros(3, 4)).endswith(
        "got OnDevice: it is on another device; copy it to the host first, as in OnDevice.get() or cupy.asnumpy(...)"
    )


def test_an_output_with_more_elements_than_there_is_memory() -> None:
    for shape, strides in (((1 << 31, 1 << 31), (0, 0)), ((1 << 60,), (0,)), ((1 << 30, 1 << 31), (1, 0))):
        out = np.lib.stride_tricks.as_strided(np.zeros(4, np.uint8), shape, strides)
        inp = sl.BufferExpr("inp", np.uint8, 0)
        target = sl.BufferExpr("out", np.uint8, len(shape))
        sl.Func(np.negative, [inp[()]], [target[tuple(sl.variables("y x")[: len(shape)])]])
        with pytest.raises(sl.ArgumentError, match="the elements of an output must not share memory"):
            sl.build_pipeline([inp], [target])(np.zeros((), np.uint8), out)


def test_buffers_that_must_have_the_same_bounds() -> None:
    inp, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "out"))
    sl.Func(np.negative, [inp[y, x]], [out[y, x]])
    loose = sl.build_pipeline([inp], [out])
    loose(zeros(5, 4), zeros(3, 4))  # a part of the input is read
    strict = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    strict(zeros(5, 4), zeros(5, 4))
    with pytest.raises(sl.CheckFailedError, match=r"requires out.y.max == inp.y.max, got inp.y.max = 4, out.y.max = 2"):
        strict(zeros(5, 4), zeros(3, 4))
    with pytest.raises(sl.CheckFailedError, match=r"requires out.y.min == inp.y.min, got inp.y.min = 0, out.y.min = 1"):
        strict(zeros(5, 4), inner(zeros(5, 4)))
    with pytest.raises(sl.GraphError, match="cannot have the same bounds: their ranks are 2 and 1"):
        sl.same_shape(inp, sl.BufferExpr("line", np.float32, 1))
    with pytest.raises(sl.GraphError, match=r"same_shape\(\) expects two buffers, got 3"):
        sl.same_shape(inp, 3)


def test_bounds_that_are_assigned() -> None:
    inp, intm, out = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "intm", "out"))
    sl.Func(np.negative, [inp[x]], [intm[x]])
    sl.Func(np.negative, [intm[x]], [out[x]])
    intm.dim(0).bounds = inp.dim(0).bounds
    out.dim(0).bounds = sl.interval(1, inp.dim(0).max - 1)
    pipeline = sl.build_pipeline([inp], [out])
    assert "alloc intm: float32[inp.x.min..inp.x.max]" in str(pipeline)
    pipeline(zeros(5), sl.Buffer(zeros(3), min=(1,)))
    with pytest.raises(sl.CheckFailedError, match=r"requires out.x.max == inp.x.max - 1"):
        pipeline(zeros(5), sl.Buffer(zeros(2), min=(1,)))
    for given in (3, (0, 3), None, x):
        with pytest.raises(sl.GraphError, match=r"the bounds of dimension 0 of buffer 'out' are an interval, such as"):
            out.dim(0).bounds = given
    with pytest.raises(sl.GraphError, match=r"the max of dimension 0 of buffer 'out' is the same everywhere"):
        out.dim(0).bounds = sl.interval(0, x)


# Floats ---------------------------------------------------------------------------------------------------------------


def blend(source: np.ndarray, target: np.ndarray, amount: float, r: int) -> None:
    """Scale, and add an integer."""
    assert type(amount) is float
    target[...] = source * amount + r


def blending() -> sl.Pipeline:
    """A func that takes a float and an integer, which also moves what it reads."""
    y, x = sl.variables("y x")
    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    arguments = {"amount": sl.scalar("amount", float), "r": sl.scalar("r")}
    sl.Func(blend, [inp[y + sl.scalar("r"), x]], [out[y, x]], arguments=arguments)
    return sl.split_loop(sl.build_pipeline([inp], [out]), "blend.y", 2)


@pytest.mark.parametrize("amount", [0.5, 2, np.float32(0.25), np.int8(3), float("inf")])
def test_floats_are_arguments_of_callbacks(amount: float) -> None:
    p = blending()
    p.verify()
    assert str(p).startswith("pipeline blend(inp: float64[2], r, amount: float) -> (out: float64[2]):")
    assert "blend(inp[y + r .. y + r + 1, :], amount=amount, r=r)" in str(p)
    source = np.arange(1.0, 21.0).reshape(5, 4)
    right = source[1:] * float(amount) + 1
    results = [np.zeros((4, 4)) for _ in range(6)]
    p(source, results[0], amount=amount, r=1)
    p.run(source, results[1], amount=amount, r=1, backend="interpreter")
    p.run(source, results[2], amount=amount, r=1, checked=True)
    p.run(source, results[3], amount=amount, r=1, checked="first")
    p.bind(source, results[4], amount=amount, r=1)()
    pickle.loads(pickle.dumps(p))(source, results[5], amount=amount, r=1)
    for result in results:
        np.testing.assert_array_equal(result, right)
    assert p.memory(source, results[0], amount=amount, r=1).program_bytes == 0
    assert [(a.name(), a.kind()) for a in p.args()][2:] == [("r", "scalar"), ("amount", "scalar")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"amount": "1", "r": 1}, "scalar amount must be a float, got '1'"),
        ({"amount": True, "r": 1}, "scalar amount must be a float, got True"),
        ({"amount": 1j, "r": 1}, "scalar amount must be a float, got 1j"),
        ({"amount": 10**400, "r": 1}, f"scalar amount must be a float, got {10**400}"),
        ({"amount": np.timedelta64(1), "r": 1}, f"scalar amount must be a float, got {np.timedelta64(1)!r}"),
        ({"r": 1}, "pipeline blend needs a value for scalar amount, as in p(..., amount=1)"),
        ({"amount": 1.0, "r": 1.0}, "scalar r must be an integer, got 1.0 of type float"),
        ({"amount": 1.0, "r": 1, "s": 1}, "pipeline blend has no scalar 's' (scalars: r, amount)"),
    ],
)
def test_floats_that_are_none(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sl.ArgumentError) as caught:
        blending()(np.zeros((5, 4)), np.zeros((4, 4)), **given)
    assert str(caught.value) == message


def test_floats_reach_no_bounds() -> None:
    (i,) = sl.variables("i")
    amount = sl.scalar("amount", float)
    inp, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "out"))
    uses: list[Callable[[], Any]] = [
        *(lambda: inp[i + amount], lambda: -amount, lambda: amount >= 1, lambda: 3 // amount, lambda: amount**2),
        *(lambda: np.sqrt(amount), lambda: np.ones(3) * amount, lambda: np.float32(2) * amount),
        *(lambda: amount * amount, lambda: np.add(amount, 1.0)),
    ]
    for use in uses:
        with pytest.raises(sl.ExpressionError, match=r"amount is a float: .* Write \(a\[x\] \* amount\) \* 2"):
            use()
    with pytest.raises(TypeError, match="expected an integer or an integer expression"):
        sl.interval(i, amount)  # type: ignore[arg-type]
    with pytest.raises(sl.GraphError, match="the kind of a scalar is int or float, got <class 'str'>"):
        sl.scalar("a", str)  # type: ignore[call-overload]
    sl.Func(blend, [inp[i]], [out[i]], arguments={"amount": amount, "r": sl.scalar("amount")})
    with pytest.raises(sl.GraphError, match="'amount' is an integer in one place, and a float in another"):
        sl.build_pipeline([inp], [out])


def test_integers_of_numpy_stand_for_scalars_of_inner_pipelines() -> None:
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    sl.Func(lambda a, b, amount: np.add(a, amount, out=b), [inp[x]], [out[x]], name="shift", arguments={"amount": r})
    inner_one = sl.build_pipeline([inp], [out])
    outer_inp, outer_out = sl.BufferExpr("outer_inp", np.int32, 1), sl.BufferExpr("outer_out", np.int32, 1)
    inner_one.as_func([outer_inp], [outer_out], arguments={"r": np.int64(3)})
    p = sl.build_pipeline([outer_inp], [outer_out])
    assert p(np.arange(3, dtype=np.int32)).tolist() == [3, 4, 5]
