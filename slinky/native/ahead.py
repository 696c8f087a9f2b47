"""Memory that is asked for before it is read: what a pipeline is given, if it is large.

Idea. A processor fetches what follows in memory by itself, but not far enough where much is computed of each line, and
several instructions read from it, as those of a stencil do. So kernels ask for what stands some way ahead. Of several
parts of an array, that is the one behind the others: what is read of them has been read before. Whether an array is far
away is told by its size, at each call: to ask for what is in a cache takes time, too.

Invariant: to ask for memory does nothing but that, wherever it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from slinky.ir.formulas import Formula
from slinky.ir.statements import Program
from slinky.native.array_texts import ArrayText
from slinky.native.walking import every_step
from slinky.runtime.plan_tree import Assign, Crop, Located, Name, PlanTree, ReadOnly, Sealed, Seen, Value

AHEAD = 4096
"""So many bytes ahead. In unsharp masking of 72 MB, sums along rows of 18 KB took 13.4 ms without, 10.2 with 1024, and
9.5 with 4096 and 16384; 13.9 where only ends of rows asked for the next ones."""

_TEXT = """\
#ifndef SLINKY_AHEAD
#define SLINKY_AHEAD
/* Ask for memory that will be read. */
#ifdef __GNUC__
#define slinky_ahead(place) __builtin_prefetch((const void *)((uintptr_t)(place) + @BYTES))
#else
#define slinky_ahead(place) (void)0
#endif
#endif
""".replace("@BYTES", str(AHEAD))


def texts_in(body: str) -> list[str]:
    """The texts of what lines call."""
    return [_TEXT] if "slinky_ahead(" in body else []


def ahead_text(name: str, position: str) -> str:
    """A line that asks for what stands ahead of an element of an array, if that is far away."""
    return f"if (is_far_{name}) slinky_ahead(v_{name} + {position});"


def declared(names: Iterable[str]) -> Iterator[str]:
    """Lines that say which arrays are far away."""
    yield from (f"const int is_far_{name} = {name}->streams;" for name in names)


def inputs_in(tree: PlanTree, program: Program) -> frozenset[str]:
    """What the tree of a program calls the arrays that it is given to read, and parts of them."""
    found = {each.name for each in program.inputs}
    for step in every_step((*tree.body, *(tree.again.body if tree.again else ()))):
        if isinstance(step, Assign) and _whole_of(step.value) in found:
            found.add(step.name)
    return frozenset(found)


def _whole_of(value: Value) -> str | None:
    """The name of the array that a value is a view of."""
    while isinstance(value, (Crop, Located, ReadOnly, Sealed, Seen)):
        value = value.array
    return value.text if isinstance(value, Name) else None


def first_to_come(formula: Formula, arrays: Sequence[ArrayText], outside: Collection[str]) -> tuple[int, ...]:
    """The inputs of a formula that are from outside, and go through memory; of several parts of an array, the one that
    is behind the others."""
    inner = formula.rank - 1
    found: dict[str, int] = {}
    for k, axes in enumerate(formula.inputs):
        root = arrays[k].root
        if root not in outside or not any(axis is not None and (axis.dim, axis.step) == (inner, 1) for axis in axes):
            continue
        if root not in found or not _is_before(arrays[k], arrays[found[root]]):
            found[root] = k
    return tuple(sorted(found.values()))


def _is_before(one: ArrayText, other: ArrayText) -> bool:
    """Whether a part of an array is known to begin before another one."""
    if one.base != other.base:
        return False
    for d in range(max(len(one.offsets), len(other.offsets))):
        distance = (one.offset(d) - other.offset(d)).number()
        if distance is None or distance:
            return distance is not None and distance < 0
    return False
