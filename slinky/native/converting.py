"""Narrow elements that a loop reads at many places of a row: each is made a float once, and not for each place.

Idea. A weighted sum along a row of bytes reads each byte as often as there are weights, and makes a float of it each
time, which takes as long as the arithmetic. So the loop goes a strip at a time: the bytes of the strip, and of what is
read around it, become floats in an array that stays in the first cache, and the sum is one of floats from there. That
is done where the arrays that are given turn out to lie that near to each other, as parts of one row do.

Invariant: each element is computed by the same lines, from the same floats. What is converted lies between elements
that the loop reads: `NEAREST` is less than `SHORTEST`, so the parts overlap, and nothing beyond them is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.ir.formulas import Apply, Convert, Element, Formula, Operand, Step, with_operands
from slinky.native.ahead import ahead_text
from slinky.native.streaming import LINE

FEWEST = 5
"""So many places, at least. With vectors of 64 and of 32 bytes, sums of 3 took 1.18 and 1.09 times as long as loops
that convert at each place, of 4 1.08 and 0.96, of 5 0.92 and 0.8, and of 7 0.9 and 0.62."""

STRIP = 1024
"""How many elements a strip has; of 512 and 2048, the times were the same."""
NEAREST = 64
"""How far the places are apart at most, in elements."""
SHORTEST = 256
"""Of shorter rows, elements are converted at each place."""

_FLOAT = np.dtype(np.float32)


def places_of(formula: Formula, live: Sequence[int], moving: Collection[int]) -> tuple[int, ...]:
    """The inputs of a formula that are such places, of those that are `moving` along the row: all of one narrow dtype
    whose elements are nothing but made floats. None if these are few."""
    dtypes: dict[int, np.dtype[Any]] = {}
    others: set[int] = set()
    for number in live:
        step = formula.steps[number]
        for operand, taken in zip(step.operands, _taken(step), strict=False):
            if isinstance(operand, Element):
                dtypes[operand.input] = operand.dtype
                if taken != _FLOAT:
                    others.add(operand.input)
    narrow = {k: dtype for k, dtype in dtypes.items() if dtype.kind in "iu" and dtype.itemsize <= 2 and k in moving}
    is_one = len(set(narrow.values())) == 1 and not others & set(narrow)
    return tuple(sorted(narrow)) if is_one and len(narrow) >= FEWEST else ()


def _taken(step: Step) -> Sequence[Any]:
    """The dtypes that a step takes its operands as; none of those of which it does not matter."""
    match step:
        case Apply(dtypes=dtypes):
            return dtypes
        case Convert(dtype=dtype):
            return (dtype,)
    return (None,) * len(step.operands)


def of_floats(formula: Formula, places: Collection[int]) -> Formula:
    """The formula that is given floats at these places."""

    def changed(operand: Operand) -> Operand:
        is_place = isinstance(operand, Element) and operand.input in places
        return Element(operand.input, _FLOAT) if is_place and isinstance(operand, Element) else operand

    steps = [with_operands(step, changed) for step in formula.steps]
    return attrs.evolve(formula, steps=tuple(steps), result=changed(formula.result))


def by_strips(
    places: Sequence[str],
    of: str,
    size: int,
    loop: Sequence[str],
    otherwise: Sequence[str],
    ahead: Mapping[str, int],
) -> Iterator[str]:
    """Loops over `n` elements: where these arrays `v_a` of narrow elements, of a C type and so many bytes, lie near to
    each other, by strips, whose `loop` goes from `begin` to `stop` and takes floats from `x_a`, where that is `begin`;
    else as it is otherwise done. Of others, with the bytes of their elements, memory is asked for `ahead`."""
    first, *others = places
    yield "intptr_t low = 0, high = 0;"
    for name in others:
        yield f"const intptr_t d_{name} = (intptr_t)v_{name} - (intptr_t)v_{first};"
        yield f"if (d_{name} < low) low = d_{name};"
        yield f"if (d_{name} > high) high = d_{name};"
    yield f"if (n >= {SHORTEST} && high - low <= {NEAREST * size}) {{"
    yield f"    _Alignas(64) float strip[{STRIP + NEAREST}];"
    yield f"    const {of} *least = (const {of} *)((const char *)v_{first} + low);"
    yield f"    const float *x_{first} = strip - low / {size};"
    for name in others:
        yield f"    const float *x_{name} = strip + (d_{name} - low) / {size};"
    yield f"    for (intptr_t begin = 0; begin < n; begin += {STRIP}) {{"
    yield f"        const intptr_t stop = n - begin < {STRIP} ? n : begin + {STRIP};"
    yield f"        const intptr_t count = stop - begin + (high - low) / {size};"
    for name, bytes_ in ahead.items():
        yield f"        for (intptr_t k = begin; k < stop; k += {LINE // bytes_}) {ahead_text(name, 'k')}"
    yield "        #pragma GCC ivdep"
    yield "        for (intptr_t k = 0; k < count; k++) strip[k] = (float)least[begin + k];"
    yield from (f"        {line}" for line in loop)
    yield "    }"
    yield "} else {"
    yield from (f"    {line}" for line in otherwise)
    yield "}"
