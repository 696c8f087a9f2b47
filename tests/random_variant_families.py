"""Programs whose funcs declare variants of many kinds (see `random_families`): that read less, that do not work in
place, that take what is given, or what some of those who use it take alone, in another dtype, or that keep other states
of a sum."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
from random_families import Array, Example, X, Y, buffers, integers, negated

import slinky as sl


def _taps(factors: tuple[int, ...]) -> Callable[..., None]:
    """A weighted sum of neighbours, of which those of weight 0 need not be there."""

    def weigh(source: Array, target: Array) -> None:
        count = len(target)
        total = sum(f * source[k : k + count].astype(np.int64) for k, f in enumerate(factors))
        np.copyto(target, total, casting="unsafe")

    return weigh


def _of_variants(draw: random.Random) -> Example:
    """A chain of weighted sums; each reads a window that is wider than it needs, and variants read less of it."""
    names = ["a", *(f"t{n}" for n in range(draw.randint(1, 3))), "out"]
    chain = buffers(" ".join(names), *([1] * len(names)))
    count, first = draw.choice([4, 1, 6]), draw.randint(-3, 3)
    margin = 2 * len(chain)
    values = integers(draw, count + 2 * margin)
    found = values
    for n, (source, target) in enumerate(itertools.pairwise(chain)):
        factor = draw.randint(1, 3)
        narrow = draw.choice([(factor, 1), (factor,)])
        wide = (0, *narrow, *(0 for _ in range(2 - len(narrow))))
        window, part = sl.interval(X - 1, X + 1), sl.interval(X, X + len(narrow) - 1)
        between = {each: np.int32 for each in (source, target) if each not in (chain[0], chain[-1])}
        asked = draw.choice([{}, {source: np.int32}, {target: np.int32}, between])
        variants = {
            "narrow": sl.Variant(_taps(narrow), inputs=[source[part]]),
            "apart": sl.Variant(_taps(wide)),
            "other": sl.Variant(_taps(wide), dtypes=asked),
        }
        sl.Func(_taps(wide), [source[window]], [target[X]], name=f"f{n}", variants=variants)
        found = np.convolve(found, np.array(narrow[::-1]), "valid")[: len(found) - 1]
    p = sl.build_pipeline([chain[0]], [chain[-1]])
    expected = found[margin : margin + count]
    low = first - margin
    return Example(p, [sl.Buffer(values, min=(low,))], [sl.Buffer(np.zeros(count, np.int64), min=(first,))], [expected])


def _of_states(draw: random.Random) -> Example:
    """Sums of rows of what is given or made, by a func with a variant that keeps other states."""
    (a, t), (s, out, state) = buffers("a t", 2, 2), buffers("s out state", 1, 1, 1)
    rows, columns, row = draw.randint(1, 4), draw.randint(1, 5), draw.randint(-3, 3)
    values = integers(draw, rows, columns)
    merges = draw.random() < 0.8

    def sums(source: Array, target: Array) -> None:
        np.sum(source, axis=1, out=target)

    def reduction(factor: int) -> sl.Reduction:
        def update(old: Array, piece: Array, new: Array) -> None:
            np.add(old, factor * piece.sum(axis=1), out=new)

        def finish(total: Array, target: Array) -> None:
            np.floor_divide(total, factor, out=target)

        def merge(one: Array, more: Array, new: Array) -> None:
            np.add(one, more, out=new)

        given = {"merge": merge} if merges else {}
        return sl.Reduction({"r": 1}, [state[Y]], lambda total: total.fill(0), update, finish, **given)

    source, made = a, values
    if draw.random() < 0.5:
        negated(a[Y, X], t[Y, X], "make")
        source, made = t, -values
    result, value = out, made.sum(axis=1)
    if draw.random() < 0.5:
        sl.Func(np.square, [s[Y]], [out[Y]], name="squares")
        result, value = s, np.square(value)
    again = sl.Variant(sums, reduction=reduction(draw.choice([-1, 2, 3])))
    sl.Func(sums, [source[Y, :]], [result[Y]], name="total", reduction=reduction(1), variants={"again": again})
    p = sl.build_pipeline([a], [out])
    outputs = [sl.Buffer(np.zeros(rows, np.int64), min=(row,))]
    return Example(p, [sl.Buffer(values, min=(row, draw.randint(-2, 2)))], outputs, [value])


FAMILIES: dict[str, Callable[[random.Random], Example]] = {
    "variants": _of_variants,
    "of states": _of_states,
}
"""What makes programs, by the name of their family."""
