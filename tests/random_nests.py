"""Pipelines of arithmetic drawn at random, with callbacks here and there, and the arrays to run them on.

What is drawn follows from a seed alone, so that a failing example is found again. Funcs read stencils, other strides,
axes in reverse or in another order, rows, and single elements, of dtypes that are mixed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from random_chains import AnyChain
from random_schedules import Chain

import slinky as sl

Array = np.ndarray[Any, Any]
DTYPES = [np.dtype(name) for name in ("f4", "f4", "f8", "i2", "u1", "i8")]
REACH = 90
"""Inputs have coordinates from minus this to this: enough for whatever is read."""

y, x = sl.variables("y x")


def _at_a_point(a: Any, choose: random.Random) -> list[Any]:
    return [a[y, x]]


def _stencil(a: Any, choose: random.Random) -> list[Any]:
    d = choose.randint(1, 2)
    return choose.choice([[a[y - d, x], a[y, x], a[y + 1, x]], [a[y, x - d], a[y, x + 1]], [a[y - 1, x - d], a[y, x]]])


def _elsewhere(a: Any, choose: random.Random) -> list[Any]:
    return choose.choice(
        [[a[x, y]], [a[2 * y, x + 1]], [a[3 - y, x]], [a[1 - x, 2 * y]], [a[2, x]], [a[y, -3]], [a[1, 0]]]
    )


def _combined(values: list[Any], choose: random.Random) -> Any:
    """Arithmetic on some values, in which integers stay small enough to be what they are."""
    steps: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        np.maximum,
        np.minimum,
        lambda a, b: np.where(a > b, a, b * 2),
        lambda a, b: a / b,
        lambda a, b: np.sqrt(abs(a)) + b,
    ]
    total = values[0] * 1
    for value in values[1:]:
        total = choose.choice(steps)(total, value)
    return total


def _copied(source: sl.BufferExpr, inputs: list[sl.BufferExpr], name: str, choose: random.Random) -> sl.BufferExpr:
    """A copy of a buffer; or of an input, with what is beyond its edges."""
    given = choose.choice(inputs)
    if choose.random() < 0.4:
        return given.extended(choose.choice(["constant", "nearest", "reflect", "mirror", "wrap"]))
    result = sl.BufferExpr(name, source.dtype, 2)
    if choose.random() < 0.3 and given.dtype == source.dtype:
        sl.copies.copy(
            given[9 * y, x - 85], result[y, x], outside=choose.choice([7, source[y, x]]), name=f"{name}_copy"
        )
        return result
    places = [source[y - 1, x + 2], source[x, y], source[3 - y, x // 2], source[y // 3, x % 4], source[x, -2]]
    sl.copies.copy(choose.choice(places), result[y, x], name=f"{name}_copy")
    return result


def pipeline(
    seed: int,
    *,
    callbacks: float = 0.2,
    copies: float = 0,
    negated: Callable[[np.dtype[Any], np.dtype[Any]], Any] | None = None,
) -> sl.Pipeline:
    """A pipeline of a few funcs, arithmetic but for this share of callbacks, without a schedule. This share of them
    read what is copied. `negated` gives the callback for the dtypes of what it reads and writes."""
    choose = random.Random(seed)
    buffers = [sl.BufferExpr(f"in{n}", choose.choice(DTYPES), 2) for n in range(choose.randint(1, 2))]
    inputs = list(buffers)
    shift, amount = sl.scalar("shift"), sl.scalar("amount", float)
    count = choose.randint(2, 5)
    for n in range(count):
        source = buffers[-1]
        if copies and choose.random() < copies:
            source = _copied(source, inputs, f"c{n}", choose)
        values = choose.choice([_at_a_point, _stencil, _stencil, _elsewhere])(source, choose)
        if choose.random() < 0.4:
            values += choose.choice([_at_a_point, _stencil])(choose.choice(buffers), choose)
        value = _combined(values, choose)
        if choose.random() < 0.3:
            value = value + choose.choice([shift, amount, sl.coordinate(y), sl.coordinate(x) * 0.5])
        is_last = n == count - 1
        dtype = choose.choice([*DTYPES, value.dtype, value.dtype])
        if dtype.kind != "f" and value.dtype.kind == "f":
            dtype = value.dtype
        result = sl.BufferExpr("out" if is_last else f"b{n}", dtype, 2)
        if choose.random() < callbacks:
            middle = sl.BufferExpr(f"m{n}", value.dtype, 2)
            sl.arithmetic(value, middle[y, x], name=f"f{n}")
            callback = _negated if negated is None else negated(value.dtype, dtype)
            sl.Func(callback, [middle[y, x]], [result[y, x]], name=f"g{n}")
        else:
            sl.arithmetic(value.astype(dtype), result[y, x], name=f"f{n}")
        buffers.append(result)
    read = _read_for(buffers[-1])
    return sl.build_pipeline([each for each in inputs if each in read], [buffers[-1]])


def _read_for(result: sl.BufferExpr) -> set[sl.BufferExpr]:
    """The buffers of which a buffer is made."""
    found: set[sl.BufferExpr] = set()
    waiting = [result]
    while waiting:
        producer = waiting.pop().producer
        read = {access.buffer for access in producer.inputs} - found if producer is not None else set()
        found |= read
        waiting += read
    return found


def _negated(a: Array, out: Array) -> None:
    out[...] = -a


def scheduled(p: sl.Pipeline, seed: int, steps: int) -> sl.Pipeline:
    """The pipeline after some random rewrites."""
    chain: AnyChain = Chain(p, random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    return chain.pipeline


LAYOUTS: list[Callable[[Array], Array]] = [
    lambda a: a,
    lambda a: np.asfortranarray(a),
    lambda a: a[::-1][::-1],
    lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
]


def arguments(p: sl.Pipeline, shape: tuple[int, int], seed: int) -> tuple[list[sl.Buffer], sl.Buffer, dict[str, Any]]:
    """Inputs, an output of this shape somewhere around the origin, and scalars."""
    choose = random.Random(seed)
    inputs = []
    for number, each in enumerate(p.program.inputs):
        values = np.random.default_rng([seed, number]).integers(0, 9, (2 * REACH + 1,) * 2).astype(each.dtype)
        inputs.append(sl.Buffer(choose.choice(LAYOUTS)(values), min=(-REACH, -REACH)))
    (written,) = p.program.outputs
    out = choose.choice(LAYOUTS)(np.zeros(shape, written.dtype))
    names = {s.name: 3 for s in p.program.scalars} | {f.name: 0.75 for f in p.program.floats}
    return inputs, sl.Buffer(out, min=(choose.randint(-6, 3), choose.randint(-6, 3))), names
