"""Calls of stencils two rows at a time: what both rows are computed of is fetched once.

Idea. A weighted sum of nine rows reads each row nine times, for nine rows of its output, out of a cache from which that
takes longer than the arithmetic. Two rows of the output need ten rows of the input, not eighteen: so a loop over
elements computes both, as one formula of two results (`joining.joined`), and of each input that is another one a row
further, the row that both need is one. A function around it goes along the dimension by twos, and leaves to the usual
one what is left, short rows, and elements that do not follow each other.

Invariant: each element that is written is computed by the same steps from the same elements as before. One input is
another one a row further only if both are parts of one array whose offsets differ by one there, and not elsewhere; and
what is written lies in memory that no input is in, so it does not matter when.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import attrs

from slinky.ir.formulas import Coordinate, Formula, Result, argument_types
from slinky.native import sums
from slinky.native.array_texts import ArrayText
from slinky.native.functions import function_of_step
from slinky.native.joining import Joined, JoinedLines, joined
from slinky.native.kernel_sets import operand_sizes
from slinky.native.kernels import KernelFunction, dense_function
from slinky.native.operators import C_TYPES
from slinky.native.parts import live_steps
from slinky.native.streaming import LINE
from slinky.runtime.plan_tree import Run

MOST_ARRAYS = 16
"""A loop over more arrays has not enough registers for where they are."""
MOST_STEPS = 64
"""Formulas of more steps for two elements are left as they are."""
FEWEST_SHARED = 8
"""Of rows that share fewer than so many inputs, it is worth more that results go past the caches: by pairs whose lines
of memory begin at other elements, a 3x3 blur took 1.3 times as long as by rows that did so, sums of nine rows 0.85."""
LEAST_ELEMENTS = 256
"""Shorter rows are left to the usual function, which is called once for all of them."""


@attrs.frozen
class Pair:
    """Two rows along a dimension of a formula of some `results` as one formula, of the results of the first row, then
    of the second one: of each input, of which row, the first or the second, and which input of one row it is. So many
    inputs of the second row are `shared` with the first one. `parameters` are the numbers of the formula of one row, by
    names and C types."""

    formula: Formula
    results: tuple[Result, ...]
    dim: int
    shared: int
    whole: Joined
    parameters: tuple[tuple[str, str], ...]


def pair_of(formula: Formula, results: tuple[Result, ...], arrays: Sequence[ArrayText]) -> Pair | None:
    """A formula of these inputs for two rows, along the dimension along which these share most; None where that is less
    than a third of what they read."""
    steps = [formula.steps[number] for number in live_steps(formula, results)]
    if 2 * len(steps) > MOST_STEPS or any(array.rows for array in arrays):
        return None
    if any(isinstance(step, Coordinate) or function_of_step(step) is not None for step in steps):
        return None
    inner = formula.rank - 1
    if any(axis is not None and axis.dim == inner and axis.step != 1 for axes in formula.inputs for axis in axes):
        return None
    parameters = tuple([(f"k{n}", C_TYPES[dtype]) for n, (_, dtype) in enumerate(argument_types(formula))])
    names = [name for name, _ in parameters]
    best: tuple[int, int, list[list[tuple[Hashable, ...]]]] | None = None
    for d in range(inner):
        rows = [_moved(formula, k, d) for k in range(len(formula.inputs))]
        if any(len(axes) > 1 for axes in rows) or any(step != 1 for axes in rows for step in axes.values()):
            continue
        keys = [[(formula.inputs[k], *_place(arrays, k, axes, row)) for k, axes in enumerate(rows)] for row in (0, 1)]
        moving = [k for k, axes in enumerate(rows) if axes]
        shared = sum(keys[1][k] in keys[0] for k in moving)
        if 3 * shared >= 2 * len(moving) and shared and (best is None or shared > best[0]):
            best = shared, d, keys
    if best is None:
        return None
    whole = joined([(formula, results, keys, names) for keys in best[2]])
    count = len(whole.results)
    if len(whole.inputs) + count > MOST_ARRAYS or len(set(whole.results)) < count:
        return None
    return Pair(formula, results, best[1], best[0], whole, parameters)


def _moved(formula: Formula, k: int, dim: int) -> dict[int, int]:
    """The axes of an input that move with a dimension, and their steps."""
    return {e: axis.step for e, axis in enumerate(formula.inputs[k]) if axis is not None and axis.dim == dim}


def _place(arrays: Sequence[ArrayText], k: int, axes: dict[int, int], row: int) -> tuple[Hashable, ...]:
    """Where a row of an input lies: equal for inputs of which it is the same."""
    array = arrays[k]
    if array.base is None:
        return k, row if axes else 0
    for e in axes:
        array = array.moved(e, sums.number(row))
    rank = max(len(each.offsets) for each in arrays)
    return array.base, tuple(array.offset(e) for e in range(rank))


def by_pairs(
    pair: Pair, single: str, name: str, *, streams: bool, ahead: Collection[int] = ()
) -> KernelFunction | None:
    """The function of a formula that goes by pairs of rows; what is left to do one row at a time, the function `single`
    does. None if there is no text for a pair."""
    last = {n for k in ahead for n, own in enumerate(pair.whole.inputs) if own == (1, k)}
    whole, own = pair.whole, f"{name}_pair"
    both = dense_function(whole.formula, own, whole.results, streams=streams, ahead=sorted(last))
    if both is None:
        return None
    formula, d, inner = pair.formula, pair.dim, pair.formula.rank - 1
    count, outputs = len(formula.inputs), ["o", *(f"o{k}" for k in range(1, len(pair.results)))]
    arrays = [*(f"a{k}" for k in range(count)), *outputs]
    rows, along = (
        [*(next(iter(_moved(formula, k, e)), None) for k in range(count)), *[e] * len(outputs)] for e in (d, inner)
    )
    numbers = [each for each, _ in pair.parameters]
    sizes = [*operand_sizes(formula)[:-1], *(formula.dtype_of(each).itemsize for each in pair.results)]
    asked = [f"{a}->strides[{e}] == {size}" for a, e, size in zip(arrays, along, sizes, strict=True) if e is not None]
    lengths = [f"o->extents[{e}]" for e in range(d + 1, formula.rank)]
    asked = [f"{' * '.join(lengths)} >= {LEAST_ELEMENTS}", *asked]
    if "slinky_stream(" in both.text and pair.shared < FEWEST_SHARED:
        asked.append(f"(!o->streams || o->strides[{d}] % {LINE} == 0)")

    def part(number: int, first: str, stop: str) -> str:
        e = rows[number]
        return f"*{arrays[number]}" if e is None else f"slinky_crop(*{arrays[number]}, {e}, {first}, {stop})"

    written = [(row, number) for row in (0, 1) for number in range(count, len(arrays))]
    taken = [part(number, f"row + {row}", f"row + {row + 1}") for row, number in (*pair.whole.inputs, *written)]
    left = [part(number, "row", "rows") for number in range(len(arrays))]
    parameters = [*(f"const array *{a}" for a in arrays), *(f"{of} {each}" for each, of in pair.parameters)]
    lines = [
        f"static void {name}({', '.join(parameters)})",
        "{",
        f"    const int64_t rows = o->extents[{d}];",
        "    int64_t row = 0;",
        f"    if ({' && '.join(asked)}) {{",
        "        for (; row + 1 < rows; row += 2) {",
        *(f"            const array row_{n} = {text};" for n, text in enumerate(taken)),
        f"            {name}_pair({', '.join([*(f'&row_{n}' for n in range(len(taken))), *pair.whole.numbers])});",
        "        }",
        "    }",
        "    if (row == rows) return;",
        "    if (row == 0) {",
        f"        {single}({', '.join([*arrays, *numbers])});",
        "        return;",
        "    }",
        *(f"    const array left_{n} = {text};" for n, text in enumerate(left)),
        f"    {single}({', '.join([*(f'&left_{n}' for n in range(len(left))), *numbers])});",
        "}",
    ]
    return KernelFunction(both.called, "\n".join(lines) + "\n", f"{both.own}{both.text}\n")


class PairedLines(JoinedLines):
    """Lines in which calls of stencils compute two rows at a time."""

    def by_rows(
        self, run: Run, formula: Formula, arrays: Sequence[ArrayText], *, streams: bool, ahead: tuple[int, ...]
    ) -> str | None:
        """The function that computes a call by pairs of rows, if these have enough in common."""
        if not isinstance(formula.result, Result) or not self._are_apart([run]):
            return None
        pair = pair_of(formula, (formula.result,), arrays[:-1])
        if pair is None:
            return None
        func = self._tree.callbacks[run.callback.text]
        single = self._kernels.name_of(func, streams=streams, ahead=ahead)
        return self._by_pairs(pair, single, func.name, streams=streams, ahead=ahead)

    def joined_by_rows(
        self, group: Sequence[Run], whole: Joined, arrays: Sequence[ArrayText], title: str
    ) -> str | None:
        """The same of several calls that are one loop."""
        pair = pair_of(whole.formula, whole.results, arrays[: -len(group)]) if self._are_apart(group) else None
        single = None if pair is None else self._kernels.name_of_joined(whole.formula, whole.results, title)
        return None if pair is None or single is None else self._by_pairs(pair, single, title)

    def _are_apart(self, group: Sequence[Run]) -> bool:
        """Whether what some calls write lies in memory that none of their inputs is in."""
        written = [array for run in group for array in run.outputs]
        read = [array for run in group for array in run.inputs]
        return all(self._memory.are_apart(one, other) for one in written for other in read)

    def _by_pairs(
        self, pair: Pair, single: str, title: str, *, streams: bool = False, ahead: tuple[int, ...] = ()
    ) -> str | None:
        return self._kernels.name_of_other(
            (pair, streams, ahead),
            f"{title}_rows",
            lambda name: by_pairs(pair, single, name, streams=streams, ahead=ahead),
        )
