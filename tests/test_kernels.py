"""Functions of arrays with halos: what they give at once, as funcs, and by pieces; and what is refused."""

from __future__ import annotations

import doctest
import inspect
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slinky as sl

RULES = ["constant", "nearest", "reflect", "mirror", "wrap"]


def inside(rule: str | None, at: int, n: int) -> int | None:
    """Which element of `n` a boundary rule puts at a coordinate; None for the constant."""
    if 0 <= at < n:
        return at
    match rule:
        case "nearest":
            return min(max(at, 0), n - 1)
        case "wrap":
            return at % n
        case "reflect":
            at %= 2 * n
            return min(at, 2 * n - 1 - at)
        case "mirror":
            at %= max(2 * n - 2, 1)
            return min(at, 2 * n - 2 - at) if n > 1 else 0
    return None


@attrs.frozen
class Along:
    """A sum with other weights for each place of the window, along one axis: by pieces, nothing may be shifted."""

    before: int
    after: int
    made: int
    taken: int
    axis: int

    @property
    def __name__(self) -> str:
        return "along"

    def __call__(self, array: np.ndarray) -> np.ndarray:
        lines = np.moveaxis(array, self.axis, 0)
        blocks = (len(lines) - self.before - self.after) // self.taken
        width = self.before + self.taken + self.after
        found = np.zeros((blocks * self.made, *lines.shape[1:]), array.dtype)
        for made in range(self.made):
            for k in range(width):
                found[made :: self.made] += (3 * k + made + 1) * lines[k : k + blocks * self.taken : self.taken][
                    :blocks
                ]
        return np.moveaxis(found, 0, self.axis)

    def by_element(self, line: np.ndarray, rule: str | None, value: int) -> list[int]:
        """The same of a line, from the words of the documentation alone."""
        found, n = [], len(line)
        block = 0
        while block * self.taken < n or rule is None:
            reads = range(block * self.taken - self.before, (block + 1) * self.taken + self.after)
            if rule is None and reads.stop > n:
                break
            if rule is not None or reads.start >= 0:
                read = [inside(rule, at, n) for at in reads]
                elements = [value if at is None else int(line[at]) for at in read]
                for made in range(self.made):
                    found.append(sum((3 * k + made + 1) * each for k, each in enumerate(elements)))
            block += 1
        return found


@st.composite
def declared(draw: st.DrawFn) -> tuple[Along, sl.Kernel]:
    rate = draw(
        st.sampled_from([Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 2), Fraction(1, 3)])
    )
    before, after, axis = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(0, 1))
    function = Along(before, after, rate.numerator, rate.denominator, axis)
    halo = [(0, 0), (0, 0)]
    rates = [Fraction(1), Fraction(1)]
    halo[axis], rates[axis] = (before, after), rate
    rule = draw(st.sampled_from([*RULES, None]))
    return function, sl.stencil(halo=halo, rate=rates, boundary=rule, value=draw(st.integers(-3, 3)))(function)


@given(declared(), st.integers(0, 7), st.integers(0, 5), st.integers(0, 1000))
@settings(max_examples=settings().max_examples * 2)
def test_what_a_kernel_gives_is_what_is_declared(
    case: tuple[Along, sl.Kernel], height: int, width: int, seed: int
) -> None:
    function, kernel = case
    array = np.random.default_rng(seed).integers(-9, 9, (height, width))
    given = kernel(array)
    rule = kernel.boundary
    assert rule is None or isinstance(rule, str)
    lines = np.moveaxis(array, function.axis, -1)
    for line, made in zip(lines, np.moveaxis(given, function.axis, -1), strict=True):
        assert made.tolist() == function.by_element(line, rule, kernel.value)


def as_pipeline(kernel: sl.Kernel, dtype: Any = np.int64, rank: int = 2) -> sl.Pipeline:
    inp = sl.BufferExpr("inp", dtype, rank)
    return sl.build_pipeline([inp], [kernel(inp)])


def first_coordinates(kernel: sl.Kernel, rank: int = 2) -> tuple[int, ...]:
    return tuple(window.first for window in kernel.windows(rank))


@given(declared(), st.integers(1, 9), st.integers(1, 6), st.integers(1, 4), st.sampled_from("yx"), st.integers(0, 1000))
@settings(max_examples=settings().max_examples * 4 // 3)
def test_pieces_are_the_whole(
    case: tuple[Along, sl.Kernel], height: int, width: int, step: int, dim: str, seed: int
) -> None:
    _, kernel = case
    array = np.random.default_rng(seed).integers(-9, 9, (height, width))
    whole = kernel(array)
    if not whole.size:
        return
    p = as_pipeline(kernel)
    pieces = sl.split_loop(p, f"along.{dim}", step)
    for each in (p, pieces):
        out = sl.Buffer(np.zeros(whole.shape, int), min=first_coordinates(kernel))
        each.run(array, out, checked=True)
        assert np.array_equal(out.array, whole)


@given(declared(), st.integers(1, 9), st.integers(1, 6), st.data())
def test_a_part_is_that_part_of_the_whole(case: tuple[Along, sl.Kernel], height: int, width: int, data: Any) -> None:
    _, kernel = case
    array = np.arange(height * width).reshape(height, width)
    whole = kernel(array)
    if not whole.size:
        return
    spans = []
    for n in whole.shape:
        lo = data.draw(st.integers(0, n - 1))
        spans.append((lo, data.draw(st.integers(lo + 1, n))))
    out = np.zeros([hi - lo for lo, hi in spans], int)
    start = [first + lo for first, (lo, _) in zip(first_coordinates(kernel), spans, strict=True)]
    as_pipeline(kernel).run(array, sl.Buffer(out, min=start))
    assert np.array_equal(out, whole[tuple(slice(*span) for span in spans)])


def test_one_that_slides_keeps_its_window() -> None:
    @sl.stencil(halo=((2, 2), (0, 0)), boundary="reflect")
    def vertical(rows: np.ndarray) -> np.ndarray:
        return sum(rows[k : len(rows) - 4 + k] for k in range(5))  # type: ignore[return-value]

    inp = sl.BufferExpr("inp", np.int64, 2)
    once = vertical(inp)
    twice = vertical(once)
    p = sl.build_pipeline([inp], [twice], require=[sl.same_shape(inp, twice)])
    p, loops = sl.split_loop(p, "vertical_1.y", 1, rc=True)
    for producer in ("inp_vertical_reflect", "inp_vertical"):
        p, made = sl.compute_at(p, f"{producer} = _", loops.outer, rc=True)
        p = sl.slide_window(p, made.call, loops.outer)
        p = sl.fold_storage(p, made.alloc, "y")
    array = np.random.default_rng(0).integers(0, 100, (40, 8))
    statistics = p.run(array, (out := np.empty_like(array)))
    assert np.array_equal(out, vertical(vertical(array)))
    assert statistics.elements["vertical"] == array.size
    assert statistics.program_bytes < array.nbytes * 2


# ------------------------------------------------------------------------------------------------ kinds of functions


def test_a_result_with_the_halo_is_cut() -> None:
    @sl.stencil(halo=((1, 1), (2, 2)), boundary="mirror")
    def alike(image: np.ndarray) -> np.ndarray:
        padded = np.pad(image, ((1, 1), (2, 2)))  # what it makes of its own edges is cut off
        return padded[:-2, 2:-2] + padded[2:, 2:-2] + padded[1:-1, :-4] + padded[1:-1, 4:]

    image = np.random.default_rng(0).integers(0, 100, (6, 7))
    padded = np.pad(image, ((1, 1), (2, 2)), mode="reflect")
    expected = padded[:-2, 2:-2] + padded[2:, 2:-2] + padded[1:-1, :-4] + padded[1:-1, 4:]
    assert np.array_equal(alike(image), expected)
    assert np.array_equal(sl.split_loop(as_pipeline(alike), "alike.y", 2)(image, np.empty_like(image)), expected)


def test_a_function_that_writes_its_output() -> None:
    @sl.stencil(halo=((0, 1),), boundary="wrap", output="out")
    def pairs(signal: np.ndarray, out: np.ndarray, scale: int = 1) -> None:
        np.add(signal[:-1], signal[1:], out=out)
        out *= scale

    signal = np.arange(5)
    assert pairs(signal, 2).tolist() == [2, 6, 10, 14, 8]
    assert pairs(signal, scale=2).tolist() == [2, 6, 10, 14, 8]
    inp, out = sl.BufferExpr("inp", int, 1), sl.BufferExpr("out", int, 1)
    pairs.func(inp, out, scale=sl.scalar("s"))
    p = sl.build_pipeline([inp], [out])
    assert p(signal, np.empty(5, int), s=2).tolist() == [2, 6, 10, 14, 8]


def test_numbers_may_be_scalars_of_the_pipeline() -> None:
    @sl.elementwise
    def mixed(a: np.ndarray, b: np.ndarray, amount: float) -> np.ndarray:
        return a + amount * (b - a)

    a, b, out = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "b", "out"))
    mixed.func(a, b, sl.scalar("amount", float), out)
    p = sl.build_pipeline([a, b], [out])
    one, other = np.zeros(4), np.arange(4.0)
    assert p(one, other, np.empty(4), amount=0.5).tolist() == mixed(one, other, 0.5).tolist() == [0, 0.5, 1, 1.5]
    assert mixed(one, b=other, amount=0.5).tolist() == [0, 0.5, 1, 1.5]


def test_rows() -> None:
    @sl.rowwise(axis=-1)
    def ranked(rows: np.ndarray) -> np.ndarray:
        return np.sort(rows, axis=-1)

    @sl.rowwise(size=lambda n: n // 2 + 1, dtype=np.complex128, name="spectrum")
    def transform(rows: np.ndarray) -> np.ndarray:
        return np.fft.rfft(rows)

    array = np.random.default_rng(0).normal(size=(5, 6))
    inp = sl.BufferExpr("inp", np.float64, 2)
    out = transform(ranked(inp))
    p = sl.build_pipeline([inp], [out])
    assert "whole ranked.x" in str(p)
    assert "whole spectrum.x" in str(p)
    with pytest.raises(sl.SchedulingError, match="whole"):
        sl.split_loop(p, "ranked.x", 2)
    expected = np.fft.rfft(np.sort(array))
    by_rows, loops = sl.split_loop(p, "spectrum.y", 2, rc=True)
    by_rows = sl.compute_at(by_rows, "ranked", loops.outer)
    for each in (p, by_rows):
        assert np.array_equal(each(array, np.empty((5, 4), complex)), expected)
    assert np.array_equal(transform(ranked(array)), expected)


def test_an_axis_that_is_whole_beside_a_halo() -> None:
    @sl.stencil(halo=1, axes=(0, 1), whole=-1, boundary="nearest")
    def around(image: np.ndarray) -> np.ndarray:
        height, width = image.shape[0] - 2, image.shape[1] - 2
        total = sum(image[i : i + height, j : j + width] for i in range(3) for j in range(3))
        return total - total.max(axis=-1, keepdims=True)  # type: ignore[union-attr]

    image = np.random.default_rng(0).integers(0, 99, (5, 6, 3))
    p = sl.split_loop(as_pipeline(around, rank=3), "around.z", 2)
    assert np.array_equal(p(image, np.empty_like(image)), around(image))
    assert (around(image).max(axis=-1) == 0).all()


def test_ufuncs_are_kernels_of_their_own_dtype() -> None:
    less = sl.elementwise(np.less)
    a, b = sl.BufferExpr("a", np.int16, 1), sl.BufferExpr("b", np.int16, 1)
    assert less(a, b).dtype == np.bool_
    assert sl.elementwise(np.true_divide)(a, b).dtype == np.float64
    assert sl.elementwise(np.add)(a, 1).dtype == np.int16
    p = sl.build_pipeline([a], [sl.elementwise(np.add)(a, 1)])
    assert p(np.arange(3, dtype=np.int16), np.empty(3, np.int16)).tolist() == [1, 2, 3]
    assert less(np.arange(3), np.array([1])).tolist() == [True, False, False]


def test_elementwise_kernels_work_in_place() -> None:
    @sl.elementwise
    def halved(a: np.ndarray) -> np.ndarray:
        return a / 2

    inp = sl.BufferExpr("inp", np.float64, 1)
    p = sl.build_pipeline([inp], [halved(halved(halved(inp)))])
    p = sl.compute_in_place(p, "halved_1")
    assert p.run(np.ones(100), out := np.empty(100)).program_bytes == 800
    assert (out == 1 / 8).all()


def test_arrays_of_another_library() -> None:
    """A tensor that cannot be indexed as an array can, and lends its memory by DLPack."""

    class Tensor:
        def __init__(self, array: np.ndarray) -> None:
            assert array.flags.writeable
            self.own = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.own.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.own.__dlpack_device__()

        def neighbours(self) -> Tensor:
            return Tensor(self.own[:-2] + self.own[2:])

    @sl.stencil(halo=((1, 1), (0, 0)), boundary="constant", value=7, arrays=Tensor)
    def beside(tensor: Tensor) -> Tensor:
        return tensor.neighbours()

    image = np.arange(12.0).reshape(4, 3)
    image.flags.writeable = False
    expected = np.pad(image, ((1, 1), (0, 0)), constant_values=7)
    expected = expected[:-2] + expected[2:]
    assert np.array_equal(beside(image), expected)
    assert np.array_equal(sl.split_loop(as_pipeline(beside, float), "beside.y", 3)(image, np.empty((4, 3))), expected)


def test_functions_of_numba() -> None:
    numba = pytest.importorskip("numba")

    @sl.stencil(halo=1, boundary="reflect")
    @numba.njit
    def brightest(image: np.ndarray) -> np.ndarray:
        out = np.empty((image.shape[0] - 2, image.shape[1] - 2), image.dtype)
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = image[i : i + 3, j : j + 3].max()
        return out

    image = np.random.default_rng(0).integers(0, 99, (9, 11))
    expected = np.lib.stride_tricks.sliding_window_view(np.pad(image, 1, mode="edge"), (3, 3)).max(axis=(2, 3))
    assert np.array_equal(brightest(image), expected)
    assert np.array_equal(
        sl.split_loop(as_pipeline(brightest), "brightest.y", 4)(image, np.empty_like(image)), expected
    )


def test_functions_of_opencv() -> None:
    cv2 = pytest.importorskip("cv2")
    median = sl.stencil(halo=2, boundary="nearest", name="median")(cv2.medianBlur)
    image = np.random.default_rng(0).integers(0, 255, (40, 30), dtype=np.uint8)
    expected = cv2.medianBlur(image, 5)
    assert np.array_equal(median(image, 5), expected)
    inp = sl.BufferExpr("inp", np.uint8, 2)
    p = sl.split_loop(sl.build_pipeline([inp], [median(inp, 5)]), "median.y", 8)
    assert np.array_equal(p(image, np.empty_like(image)), expected)


def test_functions_of_torch() -> None:
    torch = pytest.importorskip("torch")

    @sl.elementwise(arrays=torch.from_dlpack)
    def squashed(tensor: Any) -> Any:
        return torch.tanh(tensor)

    image = np.random.default_rng(0).normal(size=(4, 5))
    assert np.allclose(squashed(image), np.tanh(image))
    assert np.allclose(as_pipeline(squashed, float)(image, np.empty_like(image)), np.tanh(image))


# ------------------------------------------------------------------------------------------------------ what it is


@sl.stencil(halo=1, boundary="wrap")
def summed(signal: np.ndarray) -> np.ndarray:
    """Sums three neighbours."""
    return signal[:-2] + signal[1:-1] + signal[2:]


@pytest.mark.parametrize("declare", [sl.stencil, sl.rowwise, sl.elementwise])
def test_examples_of_decorators(declare: Any) -> None:
    names = {declare.__name__: declare, "np": np}
    test = doctest.DocTestParser().get_doctest(declare.__doc__, names, declare.__name__, None, 0)
    assert test.examples
    problems: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=problems.append)
    assert not problems, "".join(problems)


def test_a_kernel_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(summed)) is summed
    assert summed.__doc__ == "Sums three neighbours."
    assert summed.__name__ == "summed"
    other = sl.stencil(halo=1, boundary="wrap")(summed.__wrapped__)
    assert other == summed
    assert hash(other) == hash(summed)
    assert sl.stencil(halo=2, boundary="wrap")(summed.__wrapped__) != summed
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        summed.halo = (2, 2)  # type: ignore[misc]


def test_pipelines_of_kernels_are_pickled_with_them() -> None:
    """A plan for another process needs the callback."""
    inp = sl.BufferExpr("inp", int, 1)
    func = summed.func(inp, sl.BufferExpr("out", int, 1))
    again = pickle.loads(pickle.dumps(func.callback))
    again(np.arange(5), target := np.empty(3, int))
    assert target.tolist() == [3, 6, 9]


def test_results_get_names_of_their_own() -> None:
    inp, other = sl.BufferExpr("inp", int, 1), sl.BufferExpr("other", int, 1)
    add = sl.elementwise(np.add)
    out = add(add(summed(inp), summed(inp)), summed(summed(other)))
    p = sl.build_pipeline([inp, other], [out])
    array = np.arange(4)
    twice = summed(summed(array))
    assert np.array_equal(p(array, array, np.empty(4, int)), 2 * summed(array) + twice)


def test_results_own_their_memory() -> None:
    @sl.elementwise
    def same(a: np.ndarray) -> np.ndarray:
        return a

    array = np.zeros(3)
    result = same(array)
    result += 1
    assert array.tolist() == [0, 0, 0]


def test_functions_cannot_write_to_what_they_read() -> None:
    @sl.elementwise
    def careless(a: np.ndarray) -> np.ndarray:
        a += 1
        return a

    array = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        careless(array)
    assert array.tolist() == [0, 0, 0]


def test_lazy_arrays_are_asked() -> None:
    class Lazy:
        __slinky_lazy__ = True
        ndim, dtype = 1, np.dtype(int)

        def __slinky_kernel__(self, kernel: Any, args: Any, kwargs: Any) -> Any:
            call = kernel.bind(args, kwargs)
            return kernel, call.arrays, call.named, call.dtype, call.rank

    lazy = Lazy()
    assert summed(lazy) == (summed, (lazy,), {}, np.dtype(int), 1)


# ------------------------------------------------------------------------------------------------------- refusals


def ignored(image: np.ndarray) -> np.ndarray:
    return image


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: sl.stencil(halo=-1), "how many elements are read on a side, 0 or more, got -1"),
        (lambda: sl.stencil(halo=((1, -2),)), "how many elements are read on a side, 0 or more"),
        (lambda: sl.stencil(halo="1"), "a halo is a number, or for each axis a number or a pair"),
        (lambda: sl.stencil(halo=((1, 2, 3),)), "a halo is a number, or for each axis a number or a pair"),
        (lambda: sl.stencil(halo=1.5), "a halo is a number"),
        (lambda: sl.stencil(halo=()), "a halo is a number"),
        (lambda: sl.stencil(halo=1, boundary="reflected"), "there is no boundary 'reflected'; there are 'constant'"),
        (lambda: sl.stencil(halo=1, boundary=3), "a boundary is one of 'constant'"),
        (lambda: sl.stencil(halo=(1, 1), boundary=["wrap"]), "different numbers of axes: halo for 2, boundary for 1"),
        (lambda: sl.stencil(halo=(1, 1), axes=0), "different numbers of axes: halo for 2, axes for 1"),
        (lambda: sl.stencil(halo=1, axes=(0, 0)), "axes has an axis twice"),
        (lambda: sl.stencil(halo=1, axes="y"), "axes must be an axis or a list of axes"),
        (lambda: sl.stencil(halo=1, axes=0, whole=0), "axis 0 has a halo and is whole"),
        (lambda: sl.stencil(halo=1, rate=0), "a rate is a positive number"),
        (lambda: sl.stencil(halo=1, rate="fast"), "a rate is a positive number"),
        (lambda: sl.stencil(halo=1, dtype="float33"), "dtype is a dtype or a function of dtypes, got 'float33'"),
        (lambda: sl.stencil(halo=1, name="no name"), "needs a name that is a Python identifier"),
        (lambda: sl.rowwise(axis=()), "axis must be an axis or several, got none"),
        (lambda: sl.rowwise(size="all"), "size is a number or a function"),
    ],
)
def test_what_makes_no_sense(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises(sl.DeclarationError, match=message):
        declare()(ignored)


def test_no_function() -> None:
    with pytest.raises(sl.DeclarationError, match="needs a function, got 3"):
        sl.stencil(halo=1)(3)  # type: ignore[arg-type]
    with pytest.raises(sl.DeclarationError, match="has 2 results, a kernel has one"):
        sl.elementwise(np.divmod)


def test_arrays_of_another_rank() -> None:
    kernel = sl.stencil(halo=((1, 1), (2, 2)), boundary="wrap")(ignored)
    message = r"'ignored' is declared with a halo for 2 axes, \(\(1, 1\), \(2, 2\)\), but got arrays of rank 3"
    with pytest.raises(sl.ArgumentError, match=message):
        kernel(np.zeros((2, 3, 4)))
    with pytest.raises(sl.SlinkyError, match=message):
        kernel(sl.BufferExpr("inp", float, 3))
    with pytest.raises(sl.GraphError, match=message):
        kernel.func(sl.BufferExpr("inp", float, 3), sl.BufferExpr("out", float, 3))
    with pytest.raises(sl.ArgumentError, match="the axes of arrays of rank 1 are 0 to 0, got 2"):
        sl.rowwise(axis=2)(ignored)(np.zeros(3))
    with pytest.raises(sl.ArgumentError, match="the axes of arrays of rank 1 are 0 to 0, got -2"):
        sl.stencil(halo=1, axes=-2)(ignored)(np.zeros(3))


def test_the_class_has_a_signature_as_kernels_have() -> None:
    assert list(inspect.signature(sl.Kernel).parameters)[:3] == ["function", "name", "halo"]
    assert str(inspect.signature(sl.elementwise(lambda a, by=2: a * by))) == "(a, by=2)"


def test_arguments_that_do_not_fit() -> None:
    @sl.stencil(halo=1, boundary="wrap")
    def two(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b

    with pytest.raises(sl.ArgumentError, match=r"takes arrays of one shape, got \(3,\) and \(4,\)"):
        two(np.zeros(3), np.zeros(4))
    with pytest.raises(sl.ArgumentError, match="'two': missing a required argument: 'b'"):
        two(np.zeros(3))
    with pytest.raises(sl.ArgumentError, match=r"needs an array, got array\(2\.\), 1: an array without dimensions is"):
        two(np.array(2.0), 1)
    with pytest.raises(sl.ArgumentError, match=r"takes arrays without a mask, which would be lost; use \.filled\("):
        two(np.ma.masked_array([1.0, 2.0], [True, False]), np.zeros(2))
    with pytest.raises(sl.ArgumentError, match="needs an array, got 1, 2"):
        two(1, 2)
    inp, out = sl.BufferExpr("inp", float, 1), sl.BufferExpr("out", float, 1)
    with pytest.raises(sl.GraphError, match=r"constants of the arrays by sl\.constant"):
        two(inp, np.zeros(3))
    with pytest.raises(sl.GraphError, match="needs the buffer that it writes as its last argument"):
        two.func(inp, 3)
    with pytest.raises(sl.GraphError, match="takes buffers, got ndarray"):
        two.func(inp, np.zeros(3), out)
    with pytest.raises(sl.GraphError, match="'two' gives float64, but 'out' is float32"):
        two.func(inp, inp, sl.BufferExpr("out", np.float32, 1))
    with pytest.raises(sl.GraphError, match="result of rank 1, but 'out' has rank 2"):
        two.func(inp, inp, sl.BufferExpr("out", float, 2))
    with pytest.raises(sl.GraphError, match="takes buffers of one rank"):
        two(inp, sl.BufferExpr("image", float, 2))
    with pytest.raises(sl.ArgumentError, match="argument 'b' is a buffer; give buffers by position"):
        sl.elementwise(lambda a, *, b: a)(inp, b=out)


def test_scalars_that_nobody_knows() -> None:
    def anything(*given: np.ndarray, amount: float = 1) -> np.ndarray:
        return given[0] * amount

    kernel, r = sl.elementwise(anything), sl.scalar("r")
    with pytest.raises(sl.ArgumentError, match="'anything': r is known when a pipeline runs; give it by name"):
        kernel(sl.BufferExpr("inp", int, 1), r)
    with pytest.raises(sl.ArgumentError, match="amount=r is known only when a pipeline runs"):
        kernel(np.zeros(3), amount=r)


def test_values_that_the_array_does_not_hold() -> None:
    kernel = sl.stencil(halo=1, boundary="constant", value=0.5)(ignored)
    with pytest.raises(sl.GraphError, match=r"filled with 0\.5, which int64 does not hold"):
        kernel(np.zeros(3, int))
    with pytest.raises(sl.GraphError, match=r"filled with 0\.5, which int64 does not hold"):
        kernel(sl.BufferExpr("inp", int, 1))


WRONG: list[tuple[Callable[..., Any], str]] = [
    (lambda a: a[1:], r"was given shape \(6,\) and returned shape \(5,\), but what is declared is a result of shape "),
    (lambda a: a.sum(), r"was given shape \(6,\) and returned shape \(\)"),
    (lambda a: a.astype(np.float32), r"returned float32, but float64 is declared; say dtype=np\.float32"),
    (lambda a: None, "returned None; if it writes to one of its arguments, declare that"),
    (lambda a: "text", "returned a str, which is no array of numbers"),
    (lambda a: np.ma.masked_array(a), "returned a masked array, whose mask would be lost"),
]


@pytest.mark.parametrize(("function", "message"), WRONG)
def test_functions_that_do_not_do_what_is_declared(function: Callable[..., Any], message: str) -> None:
    kernel = sl.stencil(halo=1, boundary="wrap", name="wrong")(function)
    array = np.zeros(4)
    with pytest.raises(sl.CallbackError, match=f"the function of kernel 'wrong' {message}"):
        kernel(array)
    with pytest.raises(sl.CallbackError, match=message):
        as_pipeline(kernel, float, 1)(array, np.empty(4))


def test_functions_that_return_and_should_write() -> None:
    @sl.elementwise(output="out")
    def returning(a: np.ndarray, out: np.ndarray) -> np.ndarray:
        return a + 1

    with pytest.raises(sl.CallbackError, match="is declared to write to its argument 'out'"):
        returning(np.zeros(3))
    with pytest.raises(sl.DeclarationError, match="has no parameter 'target' for the output"):
        sl.elementwise(output="target")(ignored)(np.zeros(3))


def test_empty_arrays_are_not_computed() -> None:
    calls = []

    @sl.stencil(halo=1, axes=0, boundary="reflect", dtype=np.float32)
    def counted(a: np.ndarray) -> np.ndarray:
        calls.append(a.shape)
        return a.astype(np.float32)

    assert counted(np.zeros((0, 3))).shape == (0, 3)
    assert counted(np.zeros((3, 0))).dtype == np.float32
    assert not calls


def in_themselves() -> list[Any]:
    """A list, a dictionary and a tuple that have themselves among what is in them."""
    numbers: list[Any] = [1.5, {}]
    named: dict[Any, Any] = {"numbers": numbers}
    numbers[1]["named"] = named
    return [numbers, named, (numbers,)]


@pytest.mark.parametrize("option", in_themselves(), ids=["list", "dictionary", "tuple"])
def test_lazy_arrays_beside_what_is_in_itself(option: Any) -> None:
    seen = []

    @sl.stencil(halo=(1,))
    def summed(a: Any, options: Any = None) -> Any:
        seen.append(options)
        return a[:-2] + a[2:]

    a = np.arange(10.0)
    for result in (summed(sl.lazy(a), option), summed(sl.lazy(a), options=option)):
        np.testing.assert_array_equal(np.asarray(result), a[:-2] + a[2:])
    assert {repr(each) for each in seen} == {repr(option)}


def test_lists_are_to_kernels_of_lazy_arrays_what_they_were_then() -> None:
    @sl.elementwise
    def times(a: Any, factors: Any) -> Any:
        return a * factors[0]

    factors = [2.0]
    lazy = times(sl.lazy(np.arange(3.0)), factors)
    factors[0] = 5.0
    np.testing.assert_array_equal(np.asarray(lazy), [0.0, 2.0, 4.0])


def test_one_list_given_twice_beside_lazy_arrays() -> None:
    a = np.arange(4.0)
    lazy = sl.lazy(a)
    both = [lazy, lazy + 1]
    np.testing.assert_array_equal(np.asarray(np.block([both, both])), np.block([[a, a + 1], [a, a + 1]]))


def test_lazy_arrays_beside_thousands_of_lists_in_each_other() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(sl.TracingError, match="arguments stand in too many lists in each other, at"):
        np.roll(sl.lazy(np.arange(3.0)), deep)
