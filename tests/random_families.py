"""Programs that random graphs are not: products of two inputs, sums in two shapes, whole pieces, constants.

A `Made` is plain data, as a `Graph` is: the name of a family, and a seed from which all that is drawn follows. Sizes,
places, what comes before and behind, and in which order, are drawn for each; what it computes is said by hand, with
plain NumPy on whole arrays, apart from slinky. `example` makes it, and `run_and_compare` runs a pipeline of it,
scheduled or not.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import slinky as sl

Array = np.ndarray[Any, Any]

Y, X = sl.variables("y x")


@dataclass(frozen=True)
class Made:
    """A program of a family."""

    family: str
    seed: int


@dataclass
class Example:
    """A pipeline, not scheduled, with what to run it on, and what its outputs should become."""

    pipeline: sl.Pipeline
    inputs: list[sl.Buffer]
    outputs: list[sl.Buffer]
    expected: list[Array]
    scalars: dict[str, int] = field(default_factory=dict)

    def shapes(self) -> dict[str, tuple[Any, ...]]:
        """The bounds of the outputs, by name."""
        named = zip(self.pipeline.program.outputs, self.outputs, strict=True)
        return {p.name: tuple(map(sl.interval, buffer.min, buffer.max)) for p, buffer in named}


def example(made: Made) -> Example:
    """What is made; the same for the same seed."""
    return all_families()[made.family](random.Random(f"{made.family} {made.seed}"))


def wanted(made: Made) -> Sequence[tuple[str, str]]:
    """What a program of a family is made for: primitives that should refuse it, each with why."""
    return [pair for pair, families in WANTED.items() if made.family in families]


def all_families() -> dict[str, Callable[[random.Random], Example]]:
    """Those of this page."""
    import random_call_families as calls
    import random_copy_families as copies
    import random_variant_families as variants

    return FAMILIES | copies.FAMILIES | variants.FAMILIES | calls.FAMILIES


def run_and_compare(made: Made, pipeline: sl.Pipeline, **options: Any) -> sl.RunStatistics:
    """Run a pipeline of it (`options` as for `Pipeline.run`; checked unless they say otherwise) and compare."""
    own = example(made)
    before = [buffer.array.copy() for buffer in own.inputs]
    statistics = pipeline.run(*own.inputs, *own.outputs, **{"checked": True, **options}, **own.scalars)
    for buffer, right in zip((*own.inputs, *own.outputs), (*before, *own.expected), strict=True):
        np.testing.assert_array_equal(buffer.array, right)
    return statistics


def integers(draw: random.Random, *shape: int) -> Array:
    """An array of small numbers."""
    return np.random.default_rng(draw.getrandbits(32)).integers(0, 50, shape)


def buffers(names: str, *ranks: int) -> list[sl.BufferExpr]:
    """Buffers of these names and ranks."""
    return [sl.BufferExpr(name, np.int64, rank) for name, rank in zip(names.split(), ranks, strict=True)]


def negative(source: Array, target: Array) -> None:
    """What `np.negative` gives; that of NumPy 2.4.6 is wrong on some processors where elements lie 64 bytes apart."""
    np.subtract(0, source, out=target)


def negated(source: Any, target: Any, name: str, **options: Any) -> sl.Func:
    """A func that turns the sign of each element, in place if it should."""
    return sl.Func(negative, [source], [target], name=name, in_place=True, **options)


# Products -------------------------------------------------------------------------------------------------------------


def _products(draw: random.Random) -> Example:
    """A product of two matrices, which are given or made of what is given, and are said to fit or not."""
    rows, length, columns = (draw.choice([3, 1, 4, 2, 0]) for _ in range(3))
    a, b, t, u, c, out = buffers("a b t u c out", 2, 2, 2, 2, 2, 2)
    left, right = integers(draw, rows, length), integers(draw, length, columns)
    one, other = a, b
    expected = [left, right]
    if draw.random() < 0.5:
        sl.Func(np.square, [a[Y, X]], [t[Y, X]], name="squares")
        one, expected[0] = t, np.square(left)
    if draw.random() < 0.5:
        negated(b[Y, X], u[Y, X], "negatives")
        other, expected[1] = u, -right
    result, value = out, expected[0] @ expected[1]
    if draw.random() < 0.5:
        negated(c[Y, X], out[Y, X], "turned")
        result, value = c, -value
    sl.reductions.dot(one[Y, :], other[:, X], result[Y, X])
    fit = [sl.equal(a.dim(1).extent, b.dim(0).extent)] if draw.random() < 0.4 else []
    p = sl.build_pipeline([a, b], [out], require=fit)
    row, column, place = (draw.randint(-3, 3) for _ in range(3))
    inputs = [sl.Buffer(left, min=(row, place)), sl.Buffer(right, min=(place, column))]
    return Example(p, inputs, [sl.Buffer(np.zeros((rows, columns), np.int64), min=(row, column))], [value])


def _in_two_shapes(draw: random.Random) -> Example:
    """Sums of rows, and once more as a picture, along a dimension that no state has; what is read may move with it."""
    rows, length, columns = (draw.choice([3, 1, 4, 2]) for _ in range(3))
    a, t, more, s, m = buffers("a t more s m", 2, 2, 1, 1, 2)
    factor = draw.randint(1, 5)
    moves = draw.random() < 0.7

    def whole(given: Array, *rest: Array) -> None:
        finish(factor * given.sum(axis=1), *rest[-2:])

    def update(old: Array, piece: Array, *rest: Array) -> None:
        np.add(old, factor * piece.sum(axis=1), out=rest[-1])

    def finish(total: Array, sums: Array, picture: Array) -> None:
        sums[...] = total
        picture[...] = total[:, np.newaxis]

    source = a
    values = integers(draw, rows, length)
    made = values
    if draw.random() < 0.5:
        sl.Func(np.square, [a[Y, X]], [t[Y, X]], name="squares")
        source, made = t, np.square(values)
    reads = [source[Y, :], *([more[X + draw.randint(-1, 1)]] if moves else [])]
    (state,) = buffers("state", 1)
    axes = (1, *(None for _ in reads[1:]))
    merge = (lambda one, more, out: np.add(one, more, out=out)) if draw.random() < 0.6 else None
    reduction = sl.Reduction({"r": axes}, [state[Y]], lambda p: p.fill(0), update, finish, merge=merge)
    sl.Func(whole, reads, [s[Y], m[Y, X]], name="total", reduction=reduction)
    p = sl.build_pipeline([a, *([more] if moves else [])], [s, m])
    row, column = draw.randint(-3, 3), draw.randint(-3, 3)
    inputs = [sl.Buffer(values, min=(row, 0))]
    inputs += [sl.Buffer(integers(draw, columns + 2), min=(column - 1,))] if moves else []
    outputs = [
        sl.Buffer(np.zeros(rows, np.int64), min=(row,)),
        sl.Buffer(np.zeros((rows, columns), np.int64), min=(row, column)),
    ]
    total = factor * made.sum(axis=1)
    return Example(p, inputs, outputs, [total, np.repeat(total[:, np.newaxis], columns, axis=1)])


# Whole pieces ---------------------------------------------------------------------------------------------------------


def _in_whole_pieces(draw: random.Random) -> Example:
    """What is made in pieces of some lengths, for readers of windows; two outputs of other lengths, or a copy."""
    one, other = draw.choice([(2, 3), (4, 6), (3, 5), (2, 4), (6, 4)])
    length = one * other * draw.randint(1, 2)
    a, t, c, u, v = buffers("a t c u v", 1, 1, 1, 1, 1)
    values = integers(draw, 8 * length)
    low = -4 * length
    first = length * draw.randint(-2, 1)
    way = draw.choice(["outputs", "window", "copy", "copy to the caller", "copy to the caller"])

    def part(n: int, at: int = 0) -> Array:
        return values[first + at - low : first + at - low + n]

    if way == "outputs":
        sl.Func(np.square, [a[X]], [u[X]], name="squares")
        negated(a[X], v[X], "negatives")
        u.dim(0).multiple, v.dim(0).multiple = one, other
        same = [sl.equal(u.dim(0).min, v.dim(0).min), sl.equal(u.dim(0).max, v.dim(0).max)]
        p = sl.build_pipeline([a], [u, v], require=same)
        outputs, expected = [length, length], [np.square(part(length)), -part(length)]
    elif way == "window":
        taps = draw.randint(2, 4)
        sl.Func(np.square, [a[X]], [t[X]], name="squares")
        sl.Func(sums_of(taps), [t[sl.interval(X, X + taps - 1)]], [u[X]], name="sums")
        t.dim(0).multiple = one
        p = sl.build_pipeline([a], [u])
        count = draw.randint(1, length)
        given = np.square(part(count + taps - 1))
        outputs, expected = [count], [np.convolve(given, np.ones(taps, np.int64), "valid")]
    else:
        shift = draw.randint(-3, 3)
        sl.Func(np.square, [a[X]], [t[X]], name="squares")
        copied = c if way == "copy" else u
        sl.copies.copy(t[X + shift], copied[X], name="moved")
        if way == "copy":
            negated(c[X], u[X], "negatives")
        t.dim(0).multiple = one
        p = sl.build_pipeline([a], [u], alias=False)
        count = draw.randint(1, length)
        value = np.square(part(count, shift))
        outputs, expected = [count], [-value if way == "copy" else value]
    return Example(
        p,
        [sl.Buffer(values, min=(low,))],
        [sl.Buffer(np.zeros(n, np.int64), min=(first,)) for n in outputs],
        expected,
    )


def sums_of(taps: int) -> Callable[[Array, Array], None]:
    """What adds up so many elements side by side."""

    def sums(source: Array, target: Array) -> None:
        count = len(target)
        target[...] = sum(source[k : k + count] for k in range(taps))

    return sums


# Constants ------------------------------------------------------------------------------------------------------------


def _with_constants(draw: random.Random) -> Example:
    """A pipeline in a pipeline, that weighs by a constant of its own; that around may have one of the same name."""
    taps, count = draw.randint(1, 3), draw.choice([3, 1, 5])
    weights, others = integers(draw, taps), integers(draw, taps)
    a, b, c, d, e = buffers("a b c d e", 1, 1, 1, 1, 1)

    def weigh(source: Array, by: Array, target: Array) -> None:
        target[...] = sum(by[k] * source[k : k + len(target)] for k in range(taps))

    window = sl.interval(X, X + taps - 1)
    named = draw.choice(["weights", "w"])
    sl.Func(weigh, [a[window], sl.constant(named, weights)[sl.interval(0, taps - 1)]], [b[X]], name="weigh")
    sl.build_pipeline([a], [b]).as_func([c], [d], "inner")
    values = integers(draw, count + 2 * taps)
    value = np.convolve(values[: count + 2 * taps - 2], weights[::-1], "valid")
    if draw.random() < 0.5:
        own = sl.constant(draw.choice(["weights", "own"]), others)
        sl.Func(weigh, [d[window], own[sl.interval(0, taps - 1)]], [e[X]], name="again")
        result, value = e, np.convolve(value, others[::-1], "valid")
    else:
        result, value = d, value[:count]
    first = draw.randint(-3, 3)
    p = sl.build_pipeline([c], [result])
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(first,))], outputs, [value[:count]])


# Windows that go back -------------------------------------------------------------------------------------------------


def _backwards(draw: random.Random) -> Example:
    """What is read from its end on, by windows, of something that is made of windows or element by element."""
    a, t, u, out = buffers("a t u out", 1, 1, 1, 1)
    taps, before, at = draw.choice([1, 2, 3]), draw.choice([1, 1, 2]), draw.randint(-2, 2)
    count, first = draw.choice([4, 1, 5]), draw.randint(-3, 3)
    low = -20
    values = integers(draw, 41)
    sl.Func(sums_of(before), [a[sl.interval(X, X + before - 1)]], [t[X]], name="make")
    made = np.convolve(values, np.ones(before, np.int64), "valid")

    def back(source: Array, target: Array) -> None:
        n = len(target)
        target[...] = sum((k + 1) * source[k : k + n][::-1] for k in range(taps))

    result = u if draw.random() < 0.5 else out
    sl.Func(back, [t[sl.interval(at - X, at - X + taps - 1)]], [result[X]], name="back")

    def found(x: int) -> int:
        return sum((k + 1) * int(made[at - x + k - low]) for k in range(taps))

    value = np.array([found(x) for x in range(first, first + count)])
    if result is u:
        negated(u[X], out[X], "turned")
        value = -value
    p = sl.build_pipeline([a], [out])
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(low,))], outputs, [value])


def _both_ways(draw: random.Random) -> Example:
    """What is read forward of one buffer, which may be an output, and backward of another one."""
    a, t, u, out = buffers("a t u out", 1, 1, 1, 1)
    taps, at, count, first = draw.choice([2, 3]), draw.randint(-2, 2), draw.choice([4, 1, 5]), draw.randint(-3, 3)
    values, low = integers(draw, 41), -20
    negated(a[X], t[X], "make")
    sl.Func(np.square, [a[X]], [u[X]], name="squares")

    def both(forward: Array, back: Array, target: Array) -> None:
        n = len(target)
        target[...] = sum(forward[k : k + n] for k in range(taps)) + back[::-1]

    reads = [t[sl.interval(X, X + taps - 1)], u[at - X]]
    sl.Func(both, reads, [out[X]], name="both")
    places = range(first, first + count)
    value = [-values[x - low : x - low + taps].sum() + values[at - x - low] ** 2 for x in places]
    outputs, expected = [sl.Buffer(np.zeros(count, np.int64), min=(first,))], [np.array(value)]
    is_given = draw.random() < 0.5
    if is_given:
        begin, end = first - draw.randint(0, 3), first + count + taps - 2 + draw.randint(0, 3)
        outputs.append(sl.Buffer(np.zeros(end - begin + 1, np.int64), min=(begin,)))
        expected.append(-values[begin - low : end - low + 1])
    p = sl.build_pipeline([a], [out, t] if is_given else [out])
    return Example(p, [sl.Buffer(values, min=(low,))], outputs, expected)


def _of_few_elements(draw: random.Random) -> Example:
    """Sums of two or three single elements of what is made of something else in place, or could be."""
    a, t, u, out = buffers("a t u out", 1, 1, 1, 1)
    count, first, scale = draw.choice([4, 1, 3]), draw.randint(-3, 3), draw.choice([1, 1, 2])
    places = [0, *draw.sample([1, 2], draw.choice([1, 1, 2]))]
    values, low = integers(draw, 41), -20
    sl.Func(np.square, [a[X]], [t[X]], name="squares")
    negated(t[X], u[X], "turned")

    def add(*arrays: Array) -> None:
        arrays[-1][...] = sum(arrays[:-1])

    sources = [u[scale * X + n] for n in places]
    sl.Func(functools.partial(_every_other, scale, add), sources, [out[X]], name="add")
    found = [-sum(values[scale * x + n - low] ** 2 for n in places) for x in range(first, first + count)]
    p = sl.build_pipeline([a], [out])
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(low,))], outputs, [np.array(found)])


def _every_other(scale: int, run: Callable[..., None], *arrays: Array) -> None:
    *sources, target = arrays
    run(*(source[::scale] for source in sources), target)


def _of_nothing(draw: random.Random) -> Example:
    """A buffer of no elements, which is read all the same."""
    a, t, out = buffers("a t out", 1, 1, 1)
    first, count, low = draw.randint(-3, 3), draw.randint(1, 6), draw.randint(-3, 3)
    t.dim(0).min, t.dim(0).max = first, first - 1
    values, number = integers(draw, 9), draw.randint(1, 9)
    negated(a[X], t[X], "make")
    sl.Func(lambda s, o: np.copyto(o, number), [t[:]], [out[X]], name="fill")
    p = sl.build_pipeline([a], [out])
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(low,))]
    return Example(p, [sl.Buffer(values, min=(-4,))], outputs, [np.full(count, number)])


FAMILIES: dict[str, Callable[[random.Random], Example]] = {
    "products": _products,
    "in two shapes": _in_two_shapes,
    "in whole pieces": _in_whole_pieces,
    "with constants": _with_constants,
    "backwards": _backwards,
    "both ways": _both_ways,
    "of few elements": _of_few_elements,
    "of nothing": _of_nothing,
}
"""Those of this page."""

WANTED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("split_reduction", "inputs of other lengths"): ("products",),
    ("split_reduction_in_parts", "inputs of other lengths"): ("products",),
    ("split_reduction", "a dimension without a state"): ("in two shapes",),
    ("split_reduction", "too deep"): ("products", "sums of copies"),
    ("split_reduction_in_parts", "too deep"): ("products", "sums of copies"),
    ("alias_copy", "whole pieces"): ("in whole pieces",),
    ("inline_pipeline", "a constant"): ("with constants",),
    ("slide_window", "an end does not move forward"): ("backwards",),
    ("slide_window", "the loop would run longer"): ("both ways",),
    ("compute_at", "an output: the loop would run longer"): ("both ways",),
    ("absorb_loop", "not side by side"): ("backwards",),
    ("compute_in_place", "used before the other"): ("of few elements",),
    ("lift_alloc", "a fold that depends on the loop"): ("of few elements",),
    ("unroll_buffer", "no constant extent"): ("of few elements",),
    ("alias_copy", "several places"): ("copies of places",),
    ("alias_copy", "no view"): ("copies of places",),
    ("alias_copy", "no box"): ("of repeated",),
    ("split_boundary", "no box"): ("within edges",),
    ("split_boundary", "where it reaches the edges"): ("within edges",),
    ("resize_dim", "no elements outside"): ("of nothing",),
    ("choose_variant", "an order for others"): ("of orders",),
    ("choose_variant", "an order of what is folded or in blocks"): ("of orders",),
    ("share_calls", "other sources"): ("of one pipeline",),
    ("inline_pipeline", "a check"): ("with checks",),
    ("split_reduction_in_parts", "a dimension without a state"): ("in two shapes",),
    ("choose_variant", "a state that others use"): ("of states",),
    **{
        (name, kind): ("of states",)
        for name in ("split_reduction", "split_reduction_in_parts")
        for kind in ("a factor that is not positive", "another dimension")
    },
    ("alias_copy", "a producer that cannot"): ("scans",),
    ("split_boundary", "by views"): ("padded",),
    ("split_boundary", "what cutting a loop leaves"): ("beyond edges",),
    ("alias_copy", "a place in what others write"): ("copies in parts",),
    ("alias_copy", "reads and writes"): ("stacks",),
    ("alias_copy", "another buffer of the name"): ("of one name",),
    ("split_boundary", "no source shown"): ("copies in parts",),
    ("split_reduction", "past a copy"): ("sums of copies",),
    ("split_reduction_in_parts", "past a copy"): ("sums of copies",),
    ("vectorize", "a reduced dimension"): ("sums of copies", "products"),
    ("split_loop", "a dimension that is computed whole"): ("scans",),
    ("cut_call", "computed whole"): ("scans",),
    **{
        (name, "a part of a dimension that is computed whole"): ("scans",)
        for name in ("resize_dim", "compute_at", "stage_buffer", "unslide_window")
    },
    ("choose_variant", "another dtype for callers"): ("variants",),
}
"""For which families a refusal is met there alone, or most often."""
