"""Programs whose calls are of one func, of funcs that want an order of dimensions, or of pipelines that check something
(see `random_families`)."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from random_families import Array, Example, X, Y, buffers, integers, negated, negative

import slinky as sl


def _of_orders(draw: random.Random) -> Example:
    """Sums of what is made of one buffer, by funcs whose variants take it in one order of its dimensions or another."""
    a, t, u, v, out = buffers("a t u v out", 2, 2, 2, 2, 2)
    rows, columns = draw.randint(1, 5), draw.randint(1, 5)
    row, column = draw.randint(-3, 3), draw.randint(-3, 3)
    values = integers(draw, rows + 2, columns)

    def variants(run: Callable[..., object]) -> dict[str, sl.Variant]:
        orders = {"rows": (0, 1), "columns": (1, 0)}
        names = draw.choice([["rows"], ["columns"], ["rows", "columns"]])
        found = {name: sl.Variant(run, layouts={t: orders[name]}) for name in names}
        return found | ({"again": sl.Variant(run)} if draw.random() < 0.8 else {})

    def sums(source: Array, target: Array) -> None:
        np.add(source[:-2], source[2:], out=target)

    sl.Func(np.square, [a[Y, X]], [t[Y, X]], name="make", variants=variants(np.square))
    sl.Func(sums, [t[sl.interval(Y - 1, Y + 1), X]], [u[Y, X]], name="sums", variants=variants(sums))
    made = np.square(values)
    found = made[:-2] + made[2:]
    if draw.random() < 0.6:
        negated(t[Y, X], v[Y, X], "turn", variants=variants(negative))
        sl.Func(np.add, [u[Y, X], v[Y, X]], [out[Y, X]], name="add")
        found = found - made[1:-1]
    else:
        negated(u[Y, X], out[Y, X], "turn")
        found = -found
    p = sl.build_pipeline([a], [out])
    outputs = [sl.Buffer(np.zeros((rows, columns), np.int64), min=(row, column))]
    return Example(p, [sl.Buffer(values, min=(row - 1, column))], outputs, [found])


def _of_one_pipeline(draw: random.Random) -> Example:
    """One pipeline called several times, on what is given and on what it gave, and sums of what these give."""
    a, s, b, c, d, e, out = buffers("a s b c d e out", *([1] * 7))
    taps, count, first = draw.choice([2, 1, 3]), draw.choice([3, 1, 5]), draw.randint(-3, 3)
    weights = integers(draw, taps)

    def weigh(source: Array, target: Array) -> None:
        target[...] = sum(weights[k] * source[k : k + len(target)] for k in range(taps))

    window = sl.interval(X, X + taps - 1)
    turns = draw.random() < 0.5
    if turns:
        negated(a[X], s[X], "turn")
    sl.Func(weigh, [(s if turns else a)[window]], [b[X]], name="weigh")
    inner = sl.build_pipeline([a], [b])
    inner.as_func([c], [d], "once")
    again = draw.choice([c, d, d])
    inner.as_func([again], [e], "twice")
    sl.Func(np.add, [d[X], e[X]], [out[X]], name="add")
    p = sl.build_pipeline([c], [out])
    values = integers(draw, count + 2 * taps)

    def weighed(source: Array) -> Array:
        return np.convolve(-source if turns else source, weights[::-1], "valid")

    once = weighed(values)
    twice = once if again is c else weighed(once)
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(first,))], outputs, [once[:count] + twice[:count]])


def _with_checks(draw: random.Random) -> Example:
    """A pipeline in a pipeline, which checks a scalar; the one around it checks it, too, or something else."""
    a, b, c, t, d = buffers("a b c t d", *([1] * 5))
    count, first, least = draw.choice([3, 1, 5]), draw.randint(-3, 3), draw.randint(-1, 3)
    n = sl.scalar("n")
    sl.Func(np.square, [a[X]], [b[X]], name="squares")
    inner = sl.build_pipeline([a], [b], require=[n >= least])
    values = integers(draw, count)
    source, made = c, values
    if draw.random() < 0.5:
        negated(c[X], t[X], "turn")
        source, made = t, -values
    inner.as_func([source], [d], "inner")
    p = sl.build_pipeline([c], [d], require=[n >= least + draw.choice([-2, -1, -1, 0])])
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(first,))], outputs, [np.square(made)], {"n": least + draw.randint(0, 2)})


FAMILIES: dict[str, Callable[[random.Random], Example]] = {
    "of orders": _of_orders,
    "of one pipeline": _of_one_pipeline,
    "with checks": _with_checks,
}
"""What makes programs, by the name of their family."""
