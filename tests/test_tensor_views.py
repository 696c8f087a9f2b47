"""Views of tensors by equations: windows, borders, joins, digits; what they compute, their sizes, what is refused."""

from __future__ import annotations

import functools
from typing import Any

import named_tensors
import numpy as np
import pytest
from named_tensors import Array, s, tensor

import slinky as sl

ramp = functools.partial(named_tensors.ramp, dtype=np.int64)


def values(t: sl.Tensor) -> Array:
    """What a tensor computes: by itself, and by its pipeline in checked mode, which must agree."""
    found = t.numpy()
    if found.size:
        checked = np.empty(t.shape, t.dtype)
        t.pipeline.run(*(each.numpy() for each in t.inputs), checked, checked=True)
        np.testing.assert_array_equal(checked, found)
    return found


def pad(t: sl.Tensor, dim: sl.Expr, to: sl.Expr, by: int, value: float = 0) -> sl.Tensor:
    """With so many elements more on both sides of a dimension, which has another name then."""
    dims = [to if each is dim else each for each in t.symbolic_shape]
    return t.to(*dims, constraints=[(to, dim + by), (sl.size(to), sl.size(dim) + 2 * by)], outside=value)


# Windows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 10])
def test_windows_of_a_signal(count: int) -> None:
    a, weights = ramp(12), ramp(count)
    window = tensor(a, s.i)[s.y + s.k] * tensor(weights, s.k)
    assert window.symbolic_shape == (s.k, s.y)  # of one place, by their names
    assert window.shape == (count, 13 - count)
    np.testing.assert_array_equal(values(window.sum(s.k)), np.correlate(a, weights))


def test_the_size_of_a_signal_follows_from_what_shall_come_out() -> None:
    x, first, second = sl.Tensor(s.i), sl.Tensor(s.k).set_size(3), sl.Tensor(s.k).set_size(8)
    once = (x[s.y + s.k] * first).sum(s.k)
    twice = (once.to(s.k) * second).sum(s.k)
    assert twice.shape == ()
    assert x.shape == (10,)


@pytest.mark.parametrize(("step", "apart"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("border", [0, 2])
def test_convolutions_of_images(step: int, apart: int, border: int) -> None:
    image, weights = ramp(3, 11, 9), ramp(4, 3, 3, 2)
    x = tensor(image, s.c, s.h, s.w)
    if border:
        x = pad(pad(x, s.h, s.y, border), s.w, s.x, border)
    windows = x[s.c, step * s.i + apart * s.kh, step * s.j + apart * s.kw]
    out = (windows * tensor(weights, s.o, s.c, s.kh, s.kw)).sum(s.c, s.kh, s.kw).transpose(s.o, s.i, s.j)
    padded = np.pad(image, [(0, 0), (border, border), (border, border)])
    views = np.lib.stride_tricks.sliding_window_view(padded, (2 * apart + 1, apart + 1), (1, 2))
    views = views[:, ::step, ::step, ::apart, ::apart]
    np.testing.assert_array_equal(values(out), np.einsum("cijhw,ochw->oij", views, weights))


def test_pooling() -> None:
    a = ramp(7, 9)
    blocks = tensor(a, s.h, s.w)[2 * s.i + s.kh, 3 * s.j + s.kw]
    said = blocks.to(
        s.m,
        s.n,
        s.y,
        s.x,
        constraints=[(s.i, s.m), (s.j, s.n), (s.kh, s.y), (s.kw, s.x), (sl.size(s.kh), 2), (sl.size(s.kw), 3)],
    )
    expected = a[:6].reshape(3, 2, 3, 3).max((1, 3))
    np.testing.assert_array_equal(values(said.max(s.y, s.x)), expected)


def test_filters_one_after_the_other() -> None:
    t = tensor(ramp(20, dtype=np.float64), s.x)
    expected = ramp(20, dtype=np.float64)
    for number in range(4):
        window = t.to(s.y, s.k, constraints=[(s.x, s.y + s.k), (sl.size(s.k), 3)])
        t, expected = window.sum(s.k).to(s.x), np.correlate(expected, np.ones(3))
        assert t.shape == (18 - 2 * number,)
    np.testing.assert_array_equal(values(t), expected)


def test_borders_one_after_the_other() -> None:
    t, expected = tensor(ramp(5), s.x), ramp(5)
    for number in range(6):
        t, expected = pad(t, s.x, s.y, 1, number).to(s.x), np.pad(expected, 1, constant_values=number)
    np.testing.assert_array_equal(values(t), expected)


# Places ---------------------------------------------------------------------------------------------------------------


def test_flips_steps_and_single_places() -> None:
    a = ramp(5, 6)
    t = tensor(a, s.m, s.n)
    last = sl.size(s.n) - 1
    np.testing.assert_array_equal(values(t.to(s.m, s.x, constraints=[(s.n, last - s.x)])), a[:, ::-1])
    np.testing.assert_array_equal(values(t.to(s.m, s.x, constraints=[(s.n, last - 2 * s.x)])), a[:, ::-2])
    np.testing.assert_array_equal(values(t[s.m, 2 * s.x + 1]), a[:, 1::2])
    np.testing.assert_array_equal(values(t[s.m, 3]), a[:, 3])
    np.testing.assert_array_equal(values(t[4, 0]), a[4, 0])
    np.testing.assert_array_equal(values(t[s.x, s.y]), a)


def test_diagonals() -> None:
    a = ramp(4, 4)
    np.testing.assert_array_equal(values(tensor(a, s.m, s.n)[s.x, s.x]), np.diagonal(a))
    np.testing.assert_array_equal(values((tensor(a, s.m, s.n) + 1)[s.x, s.x].sum()), np.trace(a) + 4)


def test_elements_that_come_several_times() -> None:
    a = ramp(4)
    t = tensor(a, s.x)
    rows = t.to(s.m, s.x, constraints=[(sl.size(s.m), 3)])
    np.testing.assert_array_equal(values(rows), np.broadcast_to(a, (3, 4)))
    twice = t.to(s.y, constraints=[(s.x, s.y // 2), (sl.size(s.y), 2 * sl.size(s.x))])
    np.testing.assert_array_equal(values(twice), np.repeat(a, 2))
    around = t.to(s.y, constraints=[(s.x, s.y % 4), (sl.size(s.y), 10)])
    np.testing.assert_array_equal(values(around), np.resize(a, 10))


def test_views_of_what_is_computed_in_between() -> None:
    a = ramp(9)
    t = (tensor(a, s.x) * 2)[s.y + 1]
    assert str(t.pipeline).count("alloc") == 0  # it is read where it is needed
    np.testing.assert_array_equal(values(t + 1), (a * 2)[1:] + 1)
    sums = (tensor(a, s.x) * 2)[s.y + s.k].to(s.y, s.z, constraints=[(s.k, s.z), (sl.size(s.z), 4), (sl.size(s.k), 4)])
    np.testing.assert_array_equal(values(sums.sum(s.z)), np.convolve(a * 2, np.ones(4, int), "valid"))


# Digits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 4, 1), (2, 1, 3)])
def test_flat_and_back(shape: tuple[int, int, int]) -> None:
    a = ramp(*shape)
    t = tensor(a, s.m, s.n, s.k)
    place = (s.m * sl.size(s.n) + s.n) * sl.size(s.k) + s.k
    flat = t.to(s.f, constraints=[(s.f, place)])
    assert flat.shape == (a.size,)
    np.testing.assert_array_equal(values(flat), a.ravel())
    back = flat.to(s.m, s.n, s.k, constraints=[(s.f, place), (sl.size(s.n), shape[1]), (sl.size(s.k), shape[2])])
    assert back.shape == shape
    np.testing.assert_array_equal(values(back), a)
    rest = flat.to(s.x, s.y, constraints=[(s.f, s.x * sl.size(s.y) + s.y), (sl.size(s.x), shape[0])])
    np.testing.assert_array_equal(values(rest), a.reshape(shape[0], -1))


@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (0, 0), (3, 1, 0), (3, 0, 2), (0, 2, 0), (4, 3)])
@pytest.mark.parametrize("backend", ["python", "native"])
def test_what_is_flat_and_has_no_elements(shape: tuple[int, ...], backend: str) -> None:
    dims = (s.m, s.n, s.k)[: len(shape)]
    turned = (*dims[:-1], s.x)
    place = functools.reduce(lambda flat, dim: flat * sl.size(dim) + dim, turned)
    a, t = ramp(*shape), sl.Tensor(*dims, dtype=np.int64)
    constraint = (dims[-1], sl.size(dims[-1]) - 1 - s.x)
    for computed, reference in ((t, a), (t * 2, a * 2)):  # of an argument, and of a buffer in between
        flat = computed.to(*turned, constraints=[constraint]).to(s.f, constraints=[(s.f, place)])
        expected = reference[..., ::-1].ravel()
        for each, result in ((flat, expected), (flat * 3, expected * 3), (flat.sum(s.f), expected.sum())):
            found = np.empty_like(np.asarray(result))
            each.pipeline.run(a, found, backend=backend)
            np.testing.assert_array_equal(found, result)
            each.pipeline.run(a, found, checked=True)
            np.testing.assert_array_equal(found, result)
    flat = t.to(s.f, constraints=[(s.f, functools.reduce(lambda f, dim: f * sl.size(dim) + dim, dims))])
    with pytest.raises(sl.CheckFailedError, match="assigned to a dimension of out"):
        flat.pipeline(a, np.empty(a.size + 1, np.int64))


def test_digits_by_numbers_say_sizes() -> None:
    a = ramp(3, 5)
    t = sl.Tensor(s.m, s.n, dtype=np.int64)
    flat = t.to(s.f, constraints=[(s.f, 5 * s.m + s.n)])
    flat.set_size(15)
    assert t.shape == (3, 5)
    t.set(a)
    np.testing.assert_array_equal(values(flat), a.ravel())
    with pytest.raises(sl.TensorSizeError, match="digits of a flat index"):
        tensor(ramp(3, 4), s.m, s.n).to(s.f, constraints=[(s.f, 5 * s.m + s.n)])


def test_a_part_of_what_is_flat() -> None:
    a = ramp(4, 5)
    part = tensor(a, s.m, s.n).to(s.f, constraints=[(s.f + 3, s.m * sl.size(s.n) + s.n)])
    np.testing.assert_array_equal(values(part), a.ravel()[3:])
    beyond = tensor(a, s.m, s.n).to(
        s.f, constraints=[(s.f - 2, s.m * sl.size(s.n) + s.n), (sl.size(s.f), 25)], outside=100
    )
    np.testing.assert_array_equal(values(beyond), np.pad(a.ravel(), (2, 3), constant_values=100))


# Joins ----------------------------------------------------------------------------------------------------------------


def test_concatenation() -> None:
    a, b = ramp(3, 4), ramp(3, 2) + 100
    left, right = tensor(a, s.m, s.x), tensor(b, s.m, s.z)
    count = sl.size(s.x) + 2
    behind = right.to(s.m, s.y, constraints=[(s.y, s.z + 4), (sl.size(s.y), sl.size(s.z) + 4)], outside=0)
    joined = left.to(s.m, s.y, constraints=[(s.y, s.x), (sl.size(s.y), count)], outside=behind)
    np.testing.assert_array_equal(values(joined), np.concatenate([a, b], 1))


def test_joined_tensors_say_sizes_of_each_other() -> None:
    a, b = sl.Tensor(s.x), sl.Tensor(s.y)
    a.to(s.y, constraints=[(s.y, s.x), (sl.size(s.y), sl.size(s.x) + 1)], outside=b)
    kept = a.to(s.y, constraints=[(s.y, s.x), (sl.size(s.y), sl.size(s.x) + 1)], outside=b)
    b.set_size(7)
    assert (a.shape, kept.shape) == ((6,), (7,))


def test_what_is_outside_has_no_mask() -> None:
    t = tensor(ramp(3), s.i)
    with pytest.raises(sl.TensorError, match="filled with a number, got masked, whose mask would be lost"):
        t.to(s.y, constraints=[(s.i, s.y - 1), (sl.size(s.y), 5)], outside=np.ma.masked)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex128])
def test_what_is_outside_has_the_dtype(dtype: Any) -> None:
    a = ramp(3).astype(dtype)
    padded = pad(tensor(a, s.x), s.x, s.y, 1, 1)
    assert padded.dtype == dtype
    np.testing.assert_array_equal(values(padded), np.pad(a, 1, constant_values=1), strict=True)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_constraints_that_say_nothing_are_refused() -> None:
    t = tensor(ramp(4, 6), s.m, s.n)
    x = tensor(ramp(6), s.n)
    said: list[tuple[Any, str]] = [
        (lambda: t.to(s.m, s.x, constraints=[]), "no constraint says where n"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, s.m + s.x)]), "m in the constraint .* source and of the view"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, s.x), (s.n, s.x + 1)]), "two constraints say where n"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, s.k)]), "k in the constraint n == k is a dimension of neither"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, s.x), (3, 4)]), "about no dimension"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, s.x), (sl.size(s.k), 4)]), r"size\(k\) in size\(k\) is no"),
        (lambda: t.to(s.m, s.x, constraints=[(2 * s.n, s.x)]), "cannot be solved for"),
        (lambda: t.to(s.x, constraints=[(s.m + s.n, s.x)]), "cannot be solved for"),
        (lambda: t.to(s.x, constraints=[(s.m * s.n, s.x)]), "cannot be solved for"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, s.x, 3)]), "a constraint is a pair"),
        (lambda: t.to(s.m, s.x, constraints=[(s.n, "x")]), "a constraint is a pair"),
        (lambda: t.to(s.m, s.x, constraints="n x"), "a list of pairs"),
        (lambda: t.to(s.m, s.m, constraints=[]), "the dimension m twice"),
        (lambda: t.to(s.m, 3, constraints=[]), "dimensions, such as"),
        (lambda: t.to([s.m, s.x], constraints=[]), "dimensions, such as"),
        (lambda: t.to([s.m, s.x], s.y), "dimensions, such as"),
        (lambda: t.to(s.m, s.x, outside=0), "needs constraints="),
        (lambda: x.to(s.y, constraints=[(s.n, s.y)], outside=t), "must have the dimensions of the view"),
        (lambda: x.to(s.y, constraints=[(s.n, s.y)], outside=1.5).pipeline, "1.5, which int64 does not hold"),
    ]
    for attempt, message in said:
        with pytest.raises(sl.TensorError, match=message):
            attempt()


def test_nothing_is_read_beyond_a_tensor() -> None:
    a = ramp(6)
    t = tensor(a, s.x)
    beyond = t.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y), 7)])
    with pytest.raises(sl.CheckFailedError):
        beyond.numpy()
    with pytest.raises(sl.TensorError, match="say outside="):
        t[sl.size(s.x)].numpy()
    before = t.to(s.y, constraints=[(s.y, s.x + 1)])
    with pytest.raises(sl.TensorError, match="say outside="):
        before.numpy()


def test_what_is_read_beyond_is_said_in_sizes_of_dimensions() -> None:
    t = sl.Tensor(s.x, dtype=np.int64, name="t").set(ramp(6))
    with pytest.raises(sl.TensorError, match=r"view \d+ reads at -1, which is beyond the size, x of t: say outside="):
        t[-1].numpy()
    with pytest.raises(sl.TensorError, match=r"reads at x of t, which is beyond the size, x of t: say outside="):
        t[sl.size(s.x)].numpy()
    longer = t.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y), 2 * sl.size(s.x) + 1)])
    with pytest.raises(sl.TensorError, match=r"reads at y, which is beyond the size, x of t: say outside="):
        _ = longer.pipeline


@pytest.mark.parametrize("length", [4, 40_000])
def test_what_a_run_reads_beyond_is_said_in_sizes_of_dimensions(length: int) -> None:
    """Whether the pipeline runs as it is, or is scheduled."""
    picture = sl.Tensor(ramp(length, 3), name="picture").to(s.y, s.x)
    beyond = rf"view \d+ reads at {length}, which is beyond the size, y of picture == {length}: say outside="
    for read in (picture[length, s.k], (picture + 1)[length, s.k] * 2):
        with pytest.raises(sl.CheckFailedError, match=f"^{beyond}$"):
            read.numpy()
    high = picture.to(s.k, s.x, constraints=[(s.y, s.k + 1), (sl.size(s.k), length)])
    beyond = rf"reads at k \+ 1, from 1 to {length}, which is beyond the size, y of picture == {length}: say outside="
    with pytest.raises(sl.CheckFailedError, match=beyond):
        high.numpy()


def test_what_a_schedule_requires_is_said_by_the_pipeline() -> None:
    t = tensor(ramp(6), s.x)[s.y + 1] * 2
    with pytest.raises(sl.CheckFailedError, match=r"requires out.y.max == out.y.min \+ 3"):
        t.scheduled(lambda p: sl.assume_shape(p, out=(4,))).numpy()


@pytest.mark.parametrize("length", [10**30, 10**18])
def test_a_view_too_large_for_an_array_is_refused_in_sizes_of_dimensions(length: int) -> None:
    t = sl.Tensor(ramp(6), name="t").to(s.x)
    large = t.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y), length * 4)], outside=0)
    asked = rf"there is no array of int64 as large as y of view \d+ == {4 * length}: "
    with pytest.raises(sl.TensorSizeError, match=asked):
        large.numpy()


@pytest.mark.parametrize("backend", ["python", "native", "interpreter"])
def test_a_view_too_large_for_an_array_is_no_input_of_a_reduction(backend: str) -> None:
    """It takes no memory, but NumPy has no array of that shape."""
    wide = tensor(ramp(3), s.i).to(s.i, s.y, constraints=[(sl.size(s.y), 10**18)])
    with pytest.raises(sl.StorageError, match=r"there is no array of int64 with the shape \(3, 1000000000000000000\)"):
        wide.sum(s.y).numpy(backend=backend)


@pytest.mark.parametrize("step", [2**61, 10**30])
def test_one_element_in_steps_beyond_64_bits(step: int) -> None:
    found = tensor(ramp(6), s.x)[step * s.y]
    np.testing.assert_array_equal(values(found), ramp(1))


def test_nothing_is_read_beyond_what_is_computed_in_between() -> None:
    """The root of the border is computed as far as it is asked for, and is not asked for further than it goes."""
    inner = pad(tensor(ramp(6), s.x), s.x, s.y, 1) * 2
    beyond = inner.to(s.z, constraints=[(s.y, s.z), (sl.size(s.z), 9)])
    with pytest.raises(sl.CheckFailedError):
        beyond.numpy()


def test_a_window_larger_than_the_tensor_has_no_size() -> None:
    with pytest.raises(sl.TensorSizeError, match="it would have to be -1"):
        _ = tensor(ramp(3), s.x)[s.y + s.k] * tensor(ramp(5), s.k)


def test_a_size_with_several_answers_is_not_chosen() -> None:
    """A tensor of 7 or of 8 elements has 4 that are two apart."""
    x = sl.Tensor(s.x, name="x")
    half = x[2 * s.y]
    half.set_size(4)
    with pytest.raises(sl.TensorSizeError, match=r"x of x is not determined by\n  y of view \d+ == "):
        _ = x.shape
    x.set_size(8)
    assert half.shape == (4,)
    with pytest.raises(sl.TensorSizeError, match="no sizes"):
        sl.Tensor(s.x).set_size(9)[2 * s.y].set_size(4)


@pytest.mark.parametrize("said", [(0, 1), (1, 0)])
def test_steps_fit_whichever_size_is_said_first(said: tuple[int, int]) -> None:
    """Of seven elements, two steps of three with three each leave one over; which size fits is not asked before."""
    a = sl.Tensor(s.i, dtype=np.int64).set(np.arange(7))
    sizes = [(sl.size(s.n), 2), (sl.size(s.x), 3)]
    v = a.to(s.n, s.x, constraints=[(s.i, 3 * s.n + s.x), *(sizes[k] for k in said)])
    assert v.shape == (2, 3)
    np.testing.assert_array_equal(v.numpy(), [[0, 1, 2], [3, 4, 5]])


def test_a_view_is_as_small_as_its_sizes_say() -> None:
    """Each by an equation of its own: then nothing says that the view ends where the tensor does."""
    a = sl.Tensor(s.i, dtype=np.int64).set(np.arange(8))
    v = a.to(s.y, s.k, constraints=[(s.i, s.y + s.k), (sl.size(s.y), 3), (sl.size(s.k), 2)])
    np.testing.assert_array_equal(v.numpy(), [[0, 1], [1, 2], [2, 3]])
    large = a.to(s.y, s.k, constraints=[(s.i, s.y + s.k), (sl.size(s.y), 9), (sl.size(s.k), 2)])
    with pytest.raises(sl.CheckFailedError):
        large.numpy()


def test_steps_fit_what_is_said_later() -> None:
    """One size is given, and the other that of a tensor which the view is multiplied by."""
    a, weights = sl.Tensor(s.i, dtype=np.int64), sl.Tensor(s.x, dtype=np.int64)
    windows = a.to(s.n, s.x, constraints=[(s.i, 3 * s.n + s.x), (sl.size(s.n), 2)])
    sums = (windows * weights).sum(s.x)
    a.set(np.arange(7))
    assert windows.shape == (2, 4)
    weights.set(np.array([1, 10, 100]))
    assert windows.shape == (2, 3)
    np.testing.assert_array_equal(sums.numpy(), [210, 543])


@pytest.mark.parametrize("k", [0, 2])
@pytest.mark.parametrize("place", [s.n, s.n + 2, 3 - s.n], ids=str)
def test_sums_of_views_of_a_constant_size_which_may_be_none(k: int, place: Any) -> None:
    t = sl.Tensor(np.arange(12.0).reshape(3, 4)).to(s.m, s.k)
    view = t.to(s.m, s.n, constraints=[(s.k, place), (sl.size(s.n), k)])
    first, step = (3, -1) if place is not s.n and "3" in str(place) else (2 if "2" in str(place) else 0, 1)
    expected = np.arange(12.0).reshape(3, 4)[:, [first + step * n for n in range(k)]]
    np.testing.assert_array_equal(view.numpy(), expected)
    for backend in ("python", "native"):
        np.testing.assert_array_equal(view.sum(s.n).numpy(backend=backend), expected.sum(1))
        np.testing.assert_array_equal((view * 2).prod().numpy(backend=backend), (expected * 2).prod())
        np.testing.assert_array_equal((view > 4).any(s.m).numpy(backend=backend), (expected > 4).any(0))
