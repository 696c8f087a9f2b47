"""Graphs of many kinds to write annotations on: the funcs and buffers by name, arrays for them, and what NumPy says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

import slinky as sl

Array = np.ndarray[Any, Any]
y, x, c, k = sl.variables("y x c k")

HEIGHT, WIDTH, KEYS = 13, 10, 17


@attrs.frozen(eq=False)
class Case:
    """A graph: its inputs and outputs, its funcs by name, arrays for the inputs, and what the outputs shall be."""

    inputs: Sequence[sl.BufferExpr]
    outputs: Sequence[sl.BufferExpr]
    funcs: dict[str, sl.Func]
    arrays: Sequence[sl.Buffer]
    targets: Sequence[sl.Buffer]
    expected: Sequence[Array]
    require: Sequence[Any] = ()

    def build(self, **settings: Any) -> sl.Pipeline:
        """The pipeline."""
        return sl.build_pipeline(self.inputs, self.outputs, require=self.require, **settings)

    def buffer(self, name: str) -> sl.BufferExpr:
        """The buffer of a name that some func makes."""
        found = [a.buffer for func in self.funcs.values() for a in func.outputs if a.buffer.name == name]
        return found[0]

    def run(self, p: sl.Pipeline) -> sl.RunStatistics:
        """Run, checked and as a plan, and compare with what NumPy says; the statistics of the checked run."""
        p.verify()
        found: list[sl.RunStatistics] = []
        for settings in ({"checked": True}, {"backend": "python"}):
            targets = [sl.Buffer(np.full_like(t.array, 77), min=t.min) for t in self.targets]
            found.append(p.run(*self.arrays, *targets, **settings))
            for target, right in zip(targets, self.expected, strict=True):
                np.testing.assert_allclose(target.array, right, rtol=1e-5)
        assert found[0].elements == found[1].elements
        return found[0]


def buffers(names: str, rank: int = 2, dtype: Any = np.int64) -> list[sl.BufferExpr]:
    """Buffers of these names."""
    return [sl.BufferExpr(name, dtype, rank) for name in names.split()]


def numbers(*shape: int, dtype: Any = np.int64) -> Array:
    """An array of small numbers, the same for the same shape."""
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(dtype)


def located(array: Array, *lo: int) -> sl.Buffer:
    """An array whose first element is elsewhere than at the origin."""
    return sl.Buffer(array, min=lo or (0,) * array.ndim)


def case(
    inputs: Sequence[sl.BufferExpr],
    outputs: Sequence[sl.BufferExpr],
    funcs: Sequence[sl.Func],
    arrays: Sequence[Array | sl.Buffer],
    expected: Sequence[Array],
) -> Case:
    """A case whose outputs are at the origin."""
    targets = [located(np.zeros_like(right)) for right in expected]
    given = [a if isinstance(a, sl.Buffer) else located(a) for a in arrays]
    return Case(inputs, outputs, {func.name: func for func in funcs}, given, targets, expected)


def plus(amount: int) -> Callable[..., None]:
    """A callback that adds a number to the sum of what it reads."""

    def callback(*arrays: Array) -> None:
        *sources, target = arrays
        assert target.size > 0, "called for nothing"
        target[...] = sum(sources) + amount

    return callback


def rows_of_three(source: Array, target: Array) -> None:
    """Weighs three neighbouring rows."""
    assert len(source) == len(target) + 2
    target[...] = source[:-2] + 3 * source[1:-1] + 7 * source[2:]


def columns_of_three(source: Array, target: Array) -> None:
    """Weighs three neighbouring columns."""
    rows_of_three(source.T, target.T)


def squares_of_nine(source: Array, target: Array) -> None:
    """Weighs a neighbourhood of 3 x 3."""
    height, width = target.shape
    assert source.shape == (height + 2, width + 2)
    target[...] = sum((3 * i + j + 1) * source[i : i + height, j : j + width] for i in range(3) for j in range(3))


def applied(callback: Callable[..., None], source: Array, *shape: int) -> Array:
    """What a callback makes of an array."""
    target = np.zeros(shape, source.dtype)
    callback(source, target)
    return target


def around(buffer: sl.BufferExpr, *radii: int) -> Any:
    """An access to what is so near along each dimension."""
    return buffer[tuple(sl.interval(v - r, v + r) if r else v for v, r in zip((y, x), radii, strict=False))]


# ----------------------------------------------------------------------------------------------------------------
# The graphs
# ----------------------------------------------------------------------------------------------------------------


def elementwise_1d() -> Case:
    """Two funcs on the points of a line."""
    inp, tmp, out = buffers("inp tmp out", 1)
    funcs = sl.Func(plus(1), [inp[x]], [tmp[x]], name="mul"), sl.Func(plus(2), [tmp[x]], [out[x]], name="add")
    line = numbers(HEIGHT)
    return case([inp], [out], funcs, [line], [line + 3])


def elementwise_2d() -> Case:
    """Two funcs on the points of a plane."""
    inp, tmp, out = buffers("inp tmp out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [tmp[y, x]], name="mul"),
        sl.Func(plus(2), [tmp[y, x]], [out[y, x]], name="add"),
    )
    plane = numbers(HEIGHT, WIDTH)
    return case([inp], [out], funcs, [plane], [plane + 3])


def matmuls() -> Case:
    """`(a x b) x c`."""
    a, b, third, ab, abc = buffers("a b c ab abc")
    funcs = (
        sl.Func(np.matmul, [a[y, :], b[:, x]], [ab[y, x]], name="matmul_ab"),
        sl.Func(np.matmul, [ab[y, :], third[:, x]], [abc[y, x]], name="matmul_abc"),
    )
    ab.dim(1).bounds = b.dim(1).bounds
    arrays = numbers(HEIGHT, 5), numbers(5, 7), numbers(7, WIDTH)
    return case([a, b, third], [abc], funcs, arrays, [arrays[0] @ arrays[1] @ arrays[2]])


def stencil() -> Case:
    """A 3 x 3 stencil of elements that were added to."""
    inp, intm, out = buffers("inp intm out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(squares_of_nine, [around(intm, 1, 1)], [out[y, x]], name="stencil"),
    )
    plane = numbers(HEIGHT + 2, WIDTH + 2)
    right = applied(squares_of_nine, plane + 1, HEIGHT, WIDTH)
    return case([inp], [out], funcs, [located(plane, -1, -1)], [right])


def stencil_chain() -> Case:
    """Three stencils, one after the other."""
    inp, a, b, out = buffers("inp a b out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [a[y, x]], name="add"),
        sl.Func(squares_of_nine, [around(a, 1, 1)], [b[y, x]], name="stencil1"),
        sl.Func(squares_of_nine, [around(b, 1, 1)], [out[y, x]], name="stencil2"),
    )
    plane = numbers(HEIGHT + 4, WIDTH + 4)
    first = applied(squares_of_nine, plane + 1, HEIGHT + 2, WIDTH + 2)
    return case([inp], [out], funcs, [located(plane, -2, -2)], [applied(squares_of_nine, first, HEIGHT, WIDTH)])


def several_outputs() -> Case:
    """A func that makes two buffers, of which one is an output that nobody else reads."""
    inp, both, more, out = buffers("inp both more out")

    def callback(source: Array, one: Array, other: Array) -> None:
        one[...], other[...] = source + 1, source + 2

    funcs = (
        sl.Func(callback, [inp[y, x]], [both[y, x], more[y, x]], name="two"),
        sl.Func(rows_of_three, [around(both, 1, 0)], [out[y, x]], name="rows"),
    )
    plane = numbers(HEIGHT + 2, WIDTH)
    right = applied(rows_of_three, plane + 1, HEIGHT, WIDTH)
    targets = [located(np.zeros_like(plane), -1, 0), located(np.zeros_like(right))]
    return Case([inp], [more, out], {f.name: f for f in funcs}, [located(plane, -1, 0)], targets, [plane + 2, right])


def ignored_output() -> Case:
    """A func that makes two buffers, of which nobody reads one."""
    inp, used, ignored, out = buffers("inp used ignored out")

    def callback(source: Array, one: Array, other: Array) -> None:
        one[...], other[...] = source + 1, source + 2

    funcs = (
        sl.Func(callback, [inp[y, x]], [used[y, x], ignored[y, x]], name="two"),
        sl.Func(plus(3), [used[y, x]], [out[y, x]], name="add"),
    )
    plane = numbers(HEIGHT, WIDTH)
    return case([inp], [out], funcs, [plane], [plane + 4])


def outer_product() -> Case:
    """Each element of a line times each of another, both of which were added to."""
    (a, b), (pa, pb), (out,) = buffers("a b", 1), buffers("pa pb", 1), buffers("out")
    funcs = (
        sl.Func(plus(1), [a[y]], [pa[y]], name="plus_a"),
        sl.Func(plus(1), [b[x]], [pb[x]], name="plus_b"),
        sl.Func(lambda one, other, t: np.multiply.outer(one, other, out=t), [pa[y], pb[x]], [out[y, x]], name="outer"),
    )
    lines = numbers(HEIGHT), numbers(WIDTH)
    return case([a, b], [out], funcs, lines, [np.multiply.outer(lines[0] + 1, lines[1] + 1)])


def unrelated() -> Case:
    """Two pipelines in one, which have nothing to do with each other."""
    inp, intm, out, other, between, end = buffers("inp intm out other between end")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(rows_of_three, [around(intm, 1, 0)], [out[y, x]], name="rows"),
        sl.Func(plus(2), [other[y, x]], [between[y, x]], name="second"),
        sl.Func(plus(3), [between[y, x]], [end[y, x]], name="third"),
    )
    plane, second = numbers(HEIGHT + 2, WIDTH), numbers(HEIGHT, WIDTH)
    right = applied(rows_of_three, plane + 1, HEIGHT, WIDTH)
    return case([inp, other], [out, end], funcs, [located(plane, -1, 0), located(second)], [right, second + 5])


def padded_stencil() -> Case:
    """A stencil on what is beyond the edges, too: as large as its input."""
    inp, intm, out = buffers("inp intm out")
    added = sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add")
    beyond = intm.extended("nearest")
    padding = beyond.producer
    assert padding is not None
    blur = sl.Func(squares_of_nine, [around(beyond, 1, 1)], [out[y, x]], name="stencil")
    plane = numbers(HEIGHT, WIDTH)
    right = applied(squares_of_nine, np.pad(plane + 1, 1, mode="edge"), HEIGHT, WIDTH)
    made = case([inp], [out], [added, blur], [plane], [right])
    return attrs.evolve(made, funcs={**made.funcs, "padding": padding}, require=[sl.same_shape(inp, out)])


def padded_separable() -> Case:
    """A stencil along columns, then along rows, both beyond the edges."""
    inp, intm, soft, out = buffers("inp intm soft out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(columns_of_three, [around(intm.extended("reflect"), 0, 1)], [soft[y, x]], name="along_x"),
        sl.Func(rows_of_three, [around(soft.extended("reflect"), 1, 0)], [out[y, x]], name="along_y"),
    )
    plane = numbers(HEIGHT, WIDTH)
    first = applied(columns_of_three, np.pad(plane + 1, ((0, 0), (1, 1)), mode="symmetric"), HEIGHT, WIDTH)
    right = applied(rows_of_three, np.pad(first, ((1, 1), (0, 0)), mode="symmetric"), HEIGHT, WIDTH)
    return attrs.evolve(case([inp], [out], funcs, [plane], [right]), require=[sl.same_shape(inp, out)])


def constants() -> Case:
    """A constant for each column, to which something is added first."""
    inp, intm, out = buffers("inp intm out")
    (bias,) = buffers("bias", 1)
    weights = numbers(WIDTH)
    given = sl.constant("weights", weights)
    funcs = (
        sl.Func(plus(1), [given[x]], [bias[x]], name="bias_of"),
        sl.Func(plus(0), [inp[y, x], bias[x]], [intm[y, x]], name="biased"),
        sl.Func(rows_of_three, [around(intm, 1, 0)], [out[y, x]], name="rows"),
    )
    plane = numbers(HEIGHT + 2, WIDTH)
    right = applied(rows_of_three, plane + weights + 1, HEIGHT, WIDTH)
    return case([inp], [out], funcs, [located(plane, -1, 0)], [right])


def parallel_stencils() -> Case:
    """Two stencils of two inputs, and their difference."""
    one, other, a, b, left, right, out = buffers("one other a b left right out")
    funcs = (
        sl.Func(plus(1), [one[y, x]], [a[y, x]], name="add"),
        sl.Func(plus(2), [other[y, x]], [b[y, x]], name="more"),
        sl.Func(squares_of_nine, [around(a, 1, 1)], [left[y, x]], name="stencil1"),
        sl.Func(squares_of_nine, [around(b, 1, 1)], [right[y, x]], name="stencil2"),
        sl.Func(np.subtract, [left[y, x], right[y, x]], [out[y, x]], name="difference"),
    )
    planes = numbers(HEIGHT + 2, WIDTH + 2), numbers(WIDTH + 2, HEIGHT + 2).T.copy()
    first, second = (applied(squares_of_nine, p + n, HEIGHT, WIDTH) for p, n in zip(planes, (1, 2), strict=True))
    return case([one, other], [out], funcs, [located(p, -1, -1) for p in planes], [first - second])


def diamond() -> Case:
    """Two windows of different sizes of one buffer, joined."""
    inp, a, b, d, out = buffers("inp a b d out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [a[y, x]], name="add"),
        sl.Func(rows_of_three, [around(a, 1, 0)], [b[y, x]], name="rows"),
        sl.Func(rows_of_three, [around(b, 1, 0)], [d[y, x]], name="again"),
        sl.Func(plus(0), [d[y, x], a[y, x]], [out[y, x]], name="join"),
    )
    plane = numbers(HEIGHT + 4, WIDTH)
    once = applied(rows_of_three, plane + 1, HEIGHT + 2, WIDTH)
    right = applied(rows_of_three, once, HEIGHT, WIDTH) + (plane + 1)[2:-2]
    return case([inp], [out], funcs, [located(plane, -2, 0)], [right])


def fork() -> Case:
    """One intermediate that two outputs are made of."""
    inp, intm, one, other = buffers("inp intm one other")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(plus(2), [intm[y, x]], [one[y, x]], name="left"),
        sl.Func(plus(3), [intm[y, x]], [other[y, x]], name="right"),
    )
    plane = numbers(HEIGHT, WIDTH)
    return case([inp], [one, other], funcs, [plane], [plane + 3, plane + 4])


def split() -> Case:
    """The upper and the lower half of an intermediate, added."""
    inp, intm, out = buffers("inp intm out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(plus(0), [intm[y, x], intm[y + HEIGHT, x]], [out[y, x]], name="halves"),
    )
    plane = numbers(2 * HEIGHT, WIDTH)
    return case([inp], [out], funcs, [plane], [plane[:HEIGHT] + plane[HEIGHT:] + 2])


def upsampling() -> Case:
    """Each row twice."""
    inp, intm, out = buffers("inp intm out")

    def twice(source: sl.Buffer, target: sl.Buffer) -> None:
        at = np.arange(target.min[0], target.max[0] + 1) // 2 - source.min[0]
        target.array[...] = source.array[at]

    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(twice, [intm[y // 2, x]], [out[y, x]], name="twice", pass_buffers=True),
    )
    plane = numbers(HEIGHT, WIDTH)
    return case([inp], [out], funcs, [plane], [np.repeat(plane + 1, 2, axis=0)])


def sum_of_slices() -> Case:
    """The sum of the planes of a stack, of which something was made first."""
    (inp, intm), (out,) = buffers("inp intm", 3), buffers("out")

    def total(source: Array, target: Array) -> None:
        np.sum(source, axis=0, out=target)

    funcs = (
        sl.Func(plus(1), [inp[c, y, x]], [intm[c, y, x]], name="add"),
        sl.Func(total, [intm[sl.interval(0, 3), y, x]], [out[y, x]], name="total"),
    )
    stack = numbers(4, HEIGHT, WIDTH)
    return case([inp], [out], funcs, [stack], [(stack + 1).sum(axis=0)])


def softmax() -> Case:
    """The softmax of each row, in four steps."""
    inp, powers, out = buffers("inp powers out", 2, np.float64)
    most, sums = buffers("most sums", 1, np.float64)
    row = inp[y, inp.dim(1).bounds]
    funcs = (
        sl.Func(lambda s, t: np.max(s, axis=1, out=t), [row], [most[y]], name="most_of"),
        sl.Func(lambda s, m, t: np.exp(s - m[:, None], out=t), [inp[y, x], most[y]], [powers[y, x]], name="powers_of"),
        sl.Func(lambda s, t: np.sum(s, axis=1, out=t), [powers[y, inp.dim(1).bounds]], [sums[y]], name="sum_of"),
        sl.Func(lambda s, n, t: np.divide(s, n[:, None], out=t), [powers[y, x], sums[y]], [out[y, x]], name="divide"),
    )
    plane = numbers(HEIGHT, WIDTH, dtype=np.float64)
    powered = np.exp(plane - plane.max(axis=1, keepdims=True))
    return case([inp], [out], funcs, [plane], [powered / powered.sum(axis=1, keepdims=True)])


def softmax_rows_and_columns() -> Case:
    """The softmax of each row, and of each column of that: sums over columns need all rows."""
    inp, rows, powers, out = buffers("inp rows powers out", 2, np.float64)
    (sums,) = buffers("sums", 1, np.float64)

    def softmax_of_rows(source: Array, target: Array) -> None:
        np.exp(source - source.max(axis=1, keepdims=True), out=target)
        target /= target.sum(axis=1, keepdims=True)

    everywhere = powers[inp.dim(0).bounds, x]
    rows.dim(1).bounds = inp.dim(1).bounds
    funcs = (
        sl.Func(softmax_of_rows, [inp[y, x]], [rows[y, x]], name="of_rows", whole=[x]),
        sl.Func(lambda s, t: np.exp(s, out=t), [rows[y, x]], [powers[y, x]], name="powers_of"),
        sl.reductions.sum(everywhere, sums[x], name="sum_of", reassociate=True),
        sl.Func(lambda s, n, t: np.divide(s, n, out=t), [powers[y, x], sums[x]], [out[y, x]], name="divide"),
    )
    plane = numbers(HEIGHT, WIDTH, dtype=np.float64)
    first = np.exp(plane) / np.exp(plane).sum(axis=1, keepdims=True)
    return case([inp], [out], funcs, [plane], [np.exp(first) / np.exp(first).sum(axis=0)])


def norm() -> Case:
    """Rows divided by their lengths."""
    inp, squared, out = buffers("inp squared out", 2, np.float64)
    (sums,) = buffers("sums", 1, np.float64)
    funcs = (
        sl.Func(np.square, [inp[y, x]], [squared[y, x]], name="square"),
        sl.Func(lambda s, t: np.sum(s, axis=1, out=t), [squared[y, inp.dim(1).bounds]], [sums[y]], name="sum_of"),
        sl.Func(
            lambda s, n, t: np.divide(s, np.sqrt(n)[:, None], out=t), [inp[y, x], sums[y]], [out[y, x]], name="divide"
        ),
    )
    plane = numbers(HEIGHT, WIDTH, dtype=np.float64) + 20
    return case([inp], [out], funcs, [plane], [plane / np.sqrt((plane**2).sum(axis=1, keepdims=True))])


def pyramid() -> Case:
    """One level down and up again."""
    return pyramid_of(1)


def pyramid_of(levels: int) -> Case:
    """Down by two as often as there are levels, and up again, each level added to what comes from below."""
    names = [f"down{n}" for n in range(levels + 1)]
    inp, out = buffers("inp out", 1)
    downs = buffers(" ".join(names), 1)
    ups = [out, *buffers(" ".join(f"up{n}" for n in range(1, levels)), 1)] if levels > 1 else [out]
    funcs = [sl.Func(plus(1), [inp[x]], [downs[0][x]], name="add")]

    def halve(source: Array, target: Array) -> None:
        target[...] = source[0::2] + source[1::2]

    def merge(low: sl.Buffer, high: sl.Buffer, target: sl.Buffer) -> None:
        at = np.arange(target.min[0], target.max[0] + 1) // 2 - low.min[0]
        target.array[...] = low.array[at] + high.array

    for n in range(levels):
        funcs.append(sl.Func(halve, [downs[n][sl.interval(2 * x, 2 * x + 1)]], [downs[n + 1][x]], name=f"halve{n}"))
    below = downs[levels]
    for n in reversed(range(levels)):
        funcs.append(sl.Func(merge, [below[x // 2], downs[n][x]], [ups[n][x]], name=f"merge{n}", pass_buffers=True))
        below = ups[n]
    line = numbers(32)
    values = [line + 1]
    for _ in range(levels):
        values.append(values[-1][0::2] + values[-1][1::2])
    right = values[levels]
    for n in reversed(range(levels)):
        right = np.repeat(right, 2) + values[n]
    return case([inp], [out], funcs, [line], [right])


def multi_level_pyramid() -> Case:
    """Three levels."""
    return pyramid_of(3)


def aligned_producer() -> Case:
    """A producer that computes whole pieces of four."""
    inp, intm, out = buffers("inp intm out", 1)
    funcs = (
        sl.Func(plus(1), [inp[x]], [intm[x]], name="add"),
        sl.Func(rows_of_three, [intm[sl.interval(x - 1, x + 1)]], [out[x]], name="three"),
    )
    intm.dim(0).multiple = 4
    line = numbers(24)
    right = applied(rows_of_three, (line + 1)[3:18], 13)
    return case([inp], [out], funcs, [located(line, -4)], [right])


def area_sums() -> Case:
    """The sums of tiles of 3 x 2."""
    inp, intm, out = buffers("inp intm out")

    def areas(source: Array, target: Array) -> None:
        height, width = target.shape
        source.reshape(height, 3, width, 2).sum(axis=(1, 3), out=target)

    funcs = (
        sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add"),
        sl.Func(
            areas,
            [intm[sl.interval(3 * y, 3 * y + 2), sl.interval(2 * x, 2 * x + 1)]],
            [out[y, x]],
            name="areas",
        ),
    )
    plane = numbers(3 * HEIGHT, 2 * WIDTH)
    return case([inp], [out], funcs, [plane], [applied(areas, plane + 1, HEIGHT, WIDTH)])


def flash_attention() -> Case:
    """`softmax(q k^T) v`, of which the second half says how it goes on from one block of keys to the next."""
    q, keys, values, scores, out = buffers("q keys values scores out", 2, np.float64)
    i, j = sl.variables("i j")
    score = sl.Func(lambda a, b, t: np.matmul(a, b.T, out=t), [q[i, :], keys[j, :]], [scores[i, j]], name="score")
    means = sl.reductions.softmax_dot(scores[i, :], values[:, j], out[i, j], name="means", reassociate=True)
    arrays = [numbers(*shape, dtype=np.float64) / 3 for shape in ((HEIGHT, 4), (KEYS, 4), (KEYS, 5))]
    weights = np.exp(arrays[0] @ arrays[1].T)
    right = weights @ arrays[2] / weights.sum(axis=1, keepdims=True)
    made = case([q, keys, values], [out], [score, means], arrays, [right])
    return attrs.evolve(made, require=[sl.equal(keys.dim(0).extent, values.dim(0).extent)])


def attention() -> Case:
    """`softmax(q k^T) v`, the softmax on whole rows."""
    q, keys, values, out = buffers("q keys values out", 2, np.float64)
    scores, weights = buffers("scores weights", 2, np.float64)

    def rows(source: Array, target: Array) -> None:
        np.exp(source - source.max(axis=1, keepdims=True), out=target)
        target /= target.sum(axis=1, keepdims=True)

    scores.dim(1).bounds = keys.dim(0).bounds
    funcs = (
        sl.Func(lambda a, b, t: np.matmul(a, b.T, out=t), [q[y, :], keys[k, :]], [scores[y, k]], name="score"),
        sl.Func(rows, [scores[y, k]], [weights[y, k]], name="softmax", whole=[k]),
        sl.Func(np.matmul, [weights[y, :], values[:, x]], [out[y, x]], name="weigh"),
    )
    arrays = [numbers(*shape, dtype=np.float64) / 9 for shape in ((HEIGHT, 4), (WIDTH, 4), (WIDTH, 5))]
    scored = np.exp(arrays[0] @ arrays[1].T)
    return case([q, keys, values], [out], funcs, arrays, [scored / scored.sum(axis=1, keepdims=True) @ arrays[2]])
