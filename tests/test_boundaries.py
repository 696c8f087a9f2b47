"""Reads beyond the edges of buffers: equal to `scipy.ndimage`, and to a part of the whole infinite extension."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from extended import MODES, around, beyond, filtered, random, run, weighted, weights
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import slinky as sl

# ----------------------------------------------------------------------------------------------------------------
# As scipy.ndimage
# ----------------------------------------------------------------------------------------------------------------

SIZES = {
    1: [(1,), (2,), (3,), (7,), (12,)],
    2: [(1, 1), (1, 5), (5, 1), (2, 3), (7, 9), (4, 6)],
    3: [(1, 1, 1), (3, 1, 4), (2, 5, 3)],
    4: [(1, 2, 1, 3), (2, 3, 2, 4)],
}


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rank", SIZES)
def test_a_filter_is_that_of_scipy(mode: str, rank: int) -> None:
    """Also where the window is larger than the array."""
    for windows in ([3] * rank, [5, 1, 3, 3][:rank], [1, 7, 3, 1][-rank:]):
        radii = [n // 2 for n in windows]
        p = filtered(rank, mode, radii, radii, value=9)
        for shape in SIZES[rank]:
            image = random(shape)
            expected = ndimage.correlate(image, weights(windows), mode=mode, cval=9)
            np.testing.assert_array_equal(run(p, image, shape=shape), expected)


@pytest.mark.parametrize("mode", MODES)
def test_windows_that_lie_beside_the_point(mode: str) -> None:
    """SciPy has them as origins of windows of even sizes."""
    image = random((5, 6))
    p = filtered(2, mode, [2, 0], [1, 1])
    expected = ndimage.correlate(image, weights([4, 2]), mode=mode, origin=(0, -1))
    np.testing.assert_array_equal(run(p, image, shape=(5, 6)), expected)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (7, 5)])
def test_callbacks_that_are_not_sums(mode: str, shape: tuple[int, int]) -> None:
    image = random(shape)
    inp, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "out"))
    y, x = sl.variables("y x")

    def median(array: np.ndarray, out: np.ndarray) -> None:
        windows = np.lib.stride_tricks.sliding_window_view(array, (3, 5))
        out[...] = np.median(windows, axis=(-2, -1))

    sl.Func(median, [inp.extended(mode)[sl.interval(y - 1, y + 1), sl.interval(x - 2, x + 2)]], [out[y, x]])
    found = run(sl.build_pipeline([inp], [out]), image, shape=shape)
    np.testing.assert_array_equal(found, ndimage.generic_filter(image, np.median, size=(3, 5), mode=mode))


@pytest.mark.parametrize(
    ("mode", "same"),
    [
        ("edge", "nearest"),
        ("symmetric", "reflect"),
        ("grid-mirror", "reflect"),
        ("grid-wrap", "wrap"),
        ("grid-constant", "constant"),
    ],
)
def test_other_names(mode: str, same: str) -> None:
    image = random((4, 3))
    found, expected = (run(filtered(2, name, [3, 1], [3, 1]), image, shape=(4, 3)) for name in (mode, same))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(7, 9), (1, 1), (2, 3), (1, 6)])
def test_chains_of_filters(mode: str, shape: tuple[int, int]) -> None:
    """An intermediate is extended at the edges of the input, as if it had been computed whole."""
    a, b, c, d = (sl.BufferExpr(name, np.int64, 2) for name in "abcd")
    y, x = sl.variables("y x")
    sl.Func(weighted, [a.extended(mode)[around((y, x), (2, 1), (2, 1))]], [b[y, x]], name="first")
    sl.Func(weighted, [b.extended(mode)[around((y, x), (1, 0), (1, 0))]], [c[y, x]], name="second")
    sl.Func(weighted, [c.extended(mode)[around((y, x), (1, 3), (1, 3))]], [d[y, x]], name="third")
    image = expected = random(shape)
    for windows in ((5, 3), (3, 1), (3, 7)):
        expected = ndimage.correlate(expected, weights(windows), mode=mode)
    p = sl.build_pipeline([a], [d])
    np.testing.assert_array_equal(run(p, image, shape=shape), expected)
    part = run(p, image, shape=(1, shape[1]), lo=(shape[0] - 1, 0))
    np.testing.assert_array_equal(part, expected[-1:])


# ----------------------------------------------------------------------------------------------------------------
# A part of the whole
# ----------------------------------------------------------------------------------------------------------------


@st.composite
def reads(draw: st.DrawFn) -> tuple[Any, ...]:
    """Any array, windows, modes and output."""
    rank = draw(st.integers(1, 3))
    shape = [draw(st.sampled_from((1, 2, 3, 5, 8))) for _ in range(rank)]
    modes = [draw(st.sampled_from((*MODES, None))) for _ in range(rank)]
    if not any(modes):
        modes[0] = draw(st.sampled_from(MODES))
    before, after, box = [], [], []
    for n, mode in zip(shape, modes, strict=True):
        lo, hi = draw(st.integers(-2, 4)), 0
        hi = draw(st.integers(-lo, 4))
        before.append(lo)
        after.append(hi)
        if mode is None:
            before[-1] = after[-1] = 0
            first = draw(st.integers(0, n))
            last = draw(st.integers(first - 1, n - 1))
        else:
            first = draw(st.integers(-2 * n - 3, 3 * n))
            last = first + draw(st.integers(-1, 6))
        box.append((first, last))
    return shape, modes, before, after, box, draw(st.integers(-4, 4))


@given(case=reads())
def test_any_output_is_a_part_of_the_whole_extension(case: tuple[Any, ...]) -> None:
    shape, modes, before, after, box, origin = case
    image = random(shape)
    p = filtered(len(shape), modes, before, after, value=9)
    inputs = [sl.Buffer(image, min=(origin,) * image.ndim)]
    extents = [hi - lo + 1 for lo, hi in box]
    found = run(p, *inputs, shape=extents, lo=[lo + origin for lo, _ in box])
    region = [(lo - b, hi + a) for (lo, hi), b, a in zip(box, before, after, strict=True)]
    expected = np.empty(extents, np.int64)
    if expected.size:
        weighted(beyond(image, region, modes, 9), expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_part_of_an_output_is_that_part_of_the_whole(mode: str) -> None:
    """The edge of what lies between is where the input ends, whatever is asked for."""
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    x = sl.variables("x")[0]
    sl.Func(weighted, [inp.extended(mode)[sl.interval(x - 2, x + 2)]], [t[x]], name="first")
    sl.Func(weighted, [t.extended(mode)[sl.interval(x - 3, x + 3)]], [out[x]], name="second")
    p = sl.build_pipeline([inp], [out])
    image = random((6,))
    first = np.empty(6, np.int64)
    weighted(beyond(image, [(-2, 7)], [mode]), first)
    whole = np.empty(40, np.int64)
    weighted(beyond(first, [(-20, 25)], [mode]), whole)  # from -17 to 22
    for lo, hi in itertools.product((-17, -6, -1, 0, 2, 5, 9), (0, 1, 3, 6, 11)):
        found = run(p, image, shape=(hi,), lo=(lo,))
        np.testing.assert_array_equal(found, whole[lo + 17 : lo + 17 + hi])


# ----------------------------------------------------------------------------------------------------------------
# Empty arrays
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (0, 0), (2, 0, 3)])
def test_nothing_of_nothing(mode: str, shape: tuple[int, ...]) -> None:
    p = filtered(len(shape), mode, [2] * len(shape), [1] * len(shape))
    assert run(p, np.empty(shape, np.int64), shape=shape).size == 0


@pytest.mark.parametrize("mode", MODES[1:])
def test_nothing_is_extended_to_something(mode: str) -> None:
    p = filtered(2, mode, [1, 0], [1, 0])
    with pytest.raises(sl.CheckFailedError, match=f"inp is extended by the rule '{mode}', so it must have elements"):
        p(np.empty((0, 4), np.int64), np.empty((1, 4), np.int64))


def test_constants_extend_nothing_to_something() -> None:
    p = filtered(2, "constant", [1, 0], [1, 0], value=3)
    found = run(p, np.empty((0, 4), np.int64), shape=(2, 3))
    np.testing.assert_array_equal(found, np.full((2, 3), 3 * (1 + 2 + 3)))


# ----------------------------------------------------------------------------------------------------------------
# What is beyond
# ----------------------------------------------------------------------------------------------------------------


def test_a_mode_for_each_dimension() -> None:
    image = random((3, 4, 5))
    modes = ("wrap", None, "mirror")
    p = filtered(3, modes, [2, 0, 3], [2, 0, 3])
    found = run(p, image, shape=(3, 4, 5))
    expected = np.empty((3, 4, 5), np.int64)
    weighted(beyond(image, [(-2, 4), (0, 3), (-3, 7)], modes), expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        run(filtered(3, "wrap", [2, 0, 0], [2, 0, 0], dims=0), image, shape=(3, 4, 5)),
        ndimage.correlate(image, weights((5, 1, 1)), mode="wrap"),
    )
    np.testing.assert_array_equal(
        run(filtered(3, "mirror", [0, 1, 1], [0, 1, 1], dims=[-1, 1]), image, shape=(3, 4, 5)),
        ndimage.correlate(image, weights((1, 3, 3)), mode="mirror"),
    )


def test_where_no_mode_is_given_nothing_is_read_beyond() -> None:
    p = filtered(2, ("reflect", None), [1, 1], [1, 1])
    with pytest.raises(sl.CheckFailedError, match="inp"):
        p(np.zeros((3, 3), np.int64), np.zeros((3, 3), np.int64))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.uint8, 255),
        (np.float32, 0.1),
        (np.float64, np.nan),
        (np.float64, -np.inf),
        (np.int16, np.int64(-5)),
        (np.int16, 3.0),
        (np.bool_, True),
        (np.complex64, 1 + 2j),
        ("S3", b"abc"),
        ("M8[s]", np.datetime64("2000-01-01")),
    ],
)
def test_values_of_any_dtype(dtype: Any, value: Any) -> None:
    inp, out = (sl.BufferExpr(name, dtype, 1) for name in ("inp", "out"))
    x = sl.variables("x")[0]

    def last(array: np.ndarray, out: np.ndarray) -> None:
        out[...] = array[2:]

    sl.Func(last, [inp.extended("constant", value=value)[sl.interval(x - 1, x + 1)]], [out[x]])
    p = sl.build_pipeline([inp], [out])
    image, found = np.zeros(2, dtype), np.zeros(3, dtype)
    p(image, found)
    expected = np.array([*image[1:], value, value], dtype)
    np.testing.assert_array_equal(found, expected)


def test_the_value_stands_in_the_program() -> None:
    p = filtered(1, "constant", [1], [1], value=-3)
    assert "inp_constant[:] = constant(inp[" in str(p)
    assert ", fill=-3)" in str(p)


def test_a_value_that_is_known_when_the_pipeline_runs() -> None:
    for kind, dtype in ((int, np.int64), (float, np.float64), (int, np.float32)):
        inp, out = (sl.BufferExpr(name, dtype, 1) for name in ("inp", "out"))
        x, level = sl.variables("x")[0], sl.scalar("level", kind)
        sl.Func(weighted, [inp.extended("constant", value=level)[sl.interval(x - 1, x)]], [out[x]])
        p = sl.build_pipeline([inp], [out])
        for value in (kind(3), kind(-2)):
            for options in ({}, {"checked": True}, {"backend": "interpreter"}):
                found = np.empty(2, dtype)
                p.run(np.array([10, 20], dtype), found, level=value, **options)
                assert found.tolist() == [value + 20, 10 + 40]


@pytest.mark.parametrize(("dtype", "value"), [(np.uint8, -1), (np.uint8, 256), (np.int8, 128), (np.bool_, 2)])
def test_a_value_that_does_not_fit_when_the_pipeline_runs(dtype: Any, value: int) -> None:
    inp, out = (sl.BufferExpr(name, dtype, 1) for name in ("inp", "out"))
    x, level = sl.variables("x")[0], sl.scalar("level")
    sl.Func(np.positive if dtype is not np.bool_ else np.logical_not,
            [inp.extended("constant", value=level)[x]], [out[x]])  # fmt: skip
    p = sl.build_pipeline([inp], [out])
    p(np.zeros(2, dtype), np.zeros(3, dtype), level=1)
    with pytest.raises(sl.CheckFailedError, match="level"):
        p(np.zeros(2, dtype), np.zeros(3, dtype), level=value)


def test_an_output_that_is_extended() -> None:
    """Its edges are those of its domain, too, not those of the array that somebody gives for it."""
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    x = sl.variables("x")[0]
    sl.Func(weighted, [inp.extended("nearest")[sl.interval(x - 1, x + 1)]], [t[x]], name="first")
    sl.Func(weighted, [t.extended("reflect")[sl.interval(x - 2, x + 2)]], [out[x]], name="second")
    p = sl.build_pipeline([inp], [t, out])
    image, window = random((6,)), weights((3,))
    first = ndimage.correlate(image, window, mode="nearest")
    second = ndimage.correlate(first, weights((5,)), mode="reflect")
    for lo, hi in ((0, 5), (-1, 8)):
        given, found = np.empty(hi - lo + 1, np.int64), np.empty(6, np.int64)
        p(image, sl.Buffer(given, min=(lo,)), found)
        np.testing.assert_array_equal(given[-lo : 6 - lo], first)
        np.testing.assert_array_equal(found, second)
    with pytest.raises(sl.CheckFailedError, match="reads t along"):
        p(image, np.empty(4, np.int64), found)


def test_a_constant_is_extended() -> None:
    table = sl.constant("table", np.array([3, 5, 7]), min=(-1,))
    out = sl.BufferExpr("out", np.int64, 1)
    x = sl.variables("x")[0]
    sl.Func(np.positive, [table.extended("wrap")[x]], [out[x]])
    assert run(sl.build_pipeline([], [out]), shape=(5,), lo=(-3,)).tolist() == [5, 7, 3, 5, 7]


def test_an_extension_is_made_once() -> None:
    inp, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "out"))
    x = sl.variables("x")[0]
    sl.Func(np.add, [inp.extended("wrap")[x - 1], inp.extended("wrap")[x + 1]], [out[x]])
    p = sl.build_pipeline([inp], [out])
    assert len(p.find_all("alloc _")) == 1
    assert run(p, np.array([1, 2, 4]), shape=(3,)).tolist() == [6, 5, 3]


def test_several_extensions_of_one_buffer() -> None:
    inp, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "out"))
    x = sl.variables("x")[0]
    ones, twos = (inp.extended("constant", value=value) for value in (1, 2))
    first, second = (sl.BufferExpr(name, np.int64, 1) for name in ("first", "second"))
    sl.Func(np.add, [ones[x - 1], twos[x - 1]], [first[x]])
    sl.Func(np.add, [inp.extended("wrap")[x - 1], inp.extended("mirror")[x - 1]], [second[x]])
    sl.Func(np.add, [first[x], second[x]], [out[x]])
    assert run(sl.build_pipeline([inp], [out]), np.array([10, 20, 30]), shape=(2,)).tolist() == [3 + 50, 40]


def test_an_extension_of_an_extension() -> None:
    """The edges of an extension are those of the buffer."""
    inp, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "out"))
    y, x = sl.variables("y x")
    both = inp.extended("wrap", dims=0).extended("mirror", dims=1)
    sl.Func(weighted, [both[around((y, x), (2, 1), (1, 2))]], [out[y, x]])
    image = random((3, 4))
    expected = np.empty((3, 4), np.int64)
    weighted(beyond(image, [(-2, 3), (-1, 5)], ("wrap", "mirror")), expected)
    np.testing.assert_array_equal(run(sl.build_pipeline([inp], [out]), image, shape=(3, 4)), expected)


# ----------------------------------------------------------------------------------------------------------------
# The program
# ----------------------------------------------------------------------------------------------------------------


def test_an_extension_is_a_copy_in_the_program() -> None:
    inp, out = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "out"))
    x = sl.variables("x")[0]
    sl.Func(weighted, [inp.extended("reflect")[sl.interval(x - 1, x + 1)]], [out[x]], name="blur")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    assert (
        str(p)
        == """\
pipeline blur(inp: float32[1]) -> (out: float32[1]):
  check out.x.min == inp.x.min
  check out.x.max == inp.x.max
  check inp.x.min <= inp.x.max or out.x.max <= out.x.min - 1
  alloc inp_reflect: float32[out.x.min - 1 .. out.x.max + 1]
  inp_reflect[:] = reflect(inp[max(inp.x.min, min(inp.x.max, out.x.min - 1)) .. \
min(inp.x.max, max(inp.x.min, out.x.max + 1))])
  out[:] = blur(inp_reflect[:])"""
    )


# ----------------------------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        ("reflected", {}, "there is no mode 'reflected'; the modes are 'constant', 'grid-constant', 'nearest'"),
        (("wrap", "maximum"), {}, "there is no mode 'maximum'"),
        (3, {}, r"a mode such as 'reflect', or one for each of 2 dimensions, got 3"),
        (("wrap",), {}, r"one for each of 2 dimensions, got \('wrap',\)"),
        ((None, None), {}, "no dimension of it is extended"),
        ((["wrap"], None), {}, r"there is no mode \['wrap'\]"),
        ("wrap", {"dims": []}, "no dimension of it is extended"),
        ("wrap", {"dims": 2}, "dims are 0 to 1, got 2"),
        ("wrap", {"dims": [0, -3]}, "dims are 0 to 1, got -3"),
        ("wrap", {"dims": "y"}, r"dims must be a list, such as \[0\], got 'y'"),
        ("wrap", {"dims": 1.5}, r"dims must be a list, such as \[0\], got 1.5"),
        (("wrap", None), {"dims": [0]}, "not both"),
        ("constant", {"value": 0.5}, "'inp' is filled with 0.5, which int16 does not hold"),
        ("constant", {"value": 40_000}, "'inp' is filled with 40000, which int16 does not hold"),
        ("constant", {"value": "x"}, "'inp' is filled with 'x', which int16 does not hold"),
        ("constant", {"value": [1]}, r"'inp' is filled with \[1\], which int16 does not hold"),
        ("constant", {"value": None}, "'inp' is filled with None, which int16 does not hold"),
        ("constant", {"value": np.nan}, "'inp' is filled with nan, which int16 does not hold"),
        ("constant", {"value": 2j}, "'inp' is filled with 2j, which int16 does not hold"),
        ("constant", {"value": sl.scalar("s") + 1}, r"a number or a scalar of the pipeline, got the expression s \+ 1"),
        ("constant", {"value": sl.scalar("s", float)}, "'inp' is filled with the float s, which int16 does not hold"),
    ],
)
def test_errors(mode: Any, options: dict[str, Any], message: str) -> None:
    inp = sl.BufferExpr("inp", np.int16, 2)
    with pytest.raises(sl.GraphError, match=message):
        inp.extended(mode, **options)


def test_a_buffer_without_dimensions_has_no_edges() -> None:
    inp = sl.BufferExpr("inp", np.int16, 0)
    with pytest.raises(sl.GraphError, match="no dimension of it is extended"):
        inp.extended("wrap")


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (3, "interval"),
        (sl.variables("x")[0], "interval"),
        (sl.interval(0, sl.variables("x")[0]), "cannot depend on variable x"),
    ],
)
def test_errors_of_domains(domain: Any, message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        sl.BufferExpr("t", np.int16, 1).dim(0).domain = domain
