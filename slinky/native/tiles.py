"""Calls of few elements as expressions in the loops around them, and small buffers in registers.

Idea. A schedule that goes down to the element has calls of a known number of elements, such as 1 x 16, in loops of a
known number of iterations, over buffers that are as small: there a call of a function, with arrays as structs, costs
many times what is computed. So it is printed in its place, as loops of constant length (see `kernels.inlined`), buffers
become arrays of the function, and loops are unrolled: then compilers keep the elements in registers.

How many elements a call has is known in whole tiles only, at the edges there are fewer. So the body of a loop is
printed twice, where that helps: for iterations in which its clamps do nothing, and for all others, in which calls are
called as ever. Which clamps these are, the sums of integers tell (see `sums`). That elements of arrays from outside
follow each other is asked once, before the outermost loop.

Invariant: where the condition of a branch holds, it does what the other one does. An array of the function is one that
nothing outside of it uses, as a buffer has no values when it is made; of states that are updated in place, there is one
(see `states`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import attrs

from slinky.ir.formulas import Axis, Formula, argument_types
from slinky.ir.statements import Call
from slinky.native import sums
from slinky.native.array_texts import ArrayText, axes_of, strides_text
from slinky.native.integers import UnprintableError, Whole, known_within
from slinky.native.kernel_sets import Kernels, operand_sizes
from slinky.native.kernels import inlined
from slinky.native.names import CNames
from slinky.native.operators import C_TYPES
from slinky.native.statements import Lines, RangeText
from slinky.native.sums import Sum
from slinky.native.walking import every_step, nodes_in
from slinky.native.weights import weight_of
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.uses import names_assigned, names_used
from slinky.runtime.plan_tree import (
    Assign,
    Fetch,
    Greatest,
    Guard,
    Least,
    Linear,
    Loop,
    Name,
    Node,
    ParallelLoop,
    PlanTree,
    Portion,
    Quotient,
    Range,
    Run,
    StagedLoop,
    Step,
    Steps,
    Value,
)
from slinky.symbolic.expressions import Max, Min, constant_value

MOST_ELEMENTS = 1024
"""A call of more is a call of a function: that costs little then."""
MOST_BYTES = 16384
"""A buffer of more is memory that the plan has reserved."""
MOST_UNROLLED = 16
"""A loop of more iterations stays a loop."""


@attrs.frozen
class _Steady:
    """That a clamp does nothing: the condition, as text and as a sum that is at least 0; and what is 0 then."""

    text: str
    positive: Sum
    zero: Sum


@attrs.frozen(eq=False)
class Surroundings:
    """What lines are part of: the tree, with what is known of its sites; the functions and the names of a file; and of
    the buffers, the `states` of which one is enough, those that share their memory with no others, their `own`,
    outputs of which nothing is read, `unread`, and what a program is given to read, its `inputs`; and how many
    dimensions arrays have, by name, as far as that is told."""

    tree: PlanTree
    sites: Mapping[str, SiteKind]
    kernels: Kernels
    names: CNames
    states: frozenset[str]
    own: Collection[str]
    unread: Collection[str] = ()
    inputs: Collection[str] = ()
    ranks: Mapping[str, int] = attrs.field(factory=dict)


class TileLines(Lines):
    """Lines in which calls of few elements are expressions."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around.tree, around.sites, around.kernels, around.names, around.ranks)
        self._states = around.states
        self._alone = around.own
        self._is_whole: bool | None = None  # whether tiles are whole where lines are written; None before that is asked
        self._assumed: dict[str, None] = {}
        self._inlined = 0
        self._work = 0
        self._has_calls = False
        self._is_counted = False
        self._loops = 0
        self._outside: list[Value] = []
        self._moving_outside: list[str] = []
        self._values: dict[str, Value] = {}
        self._own: dict[str, ArrayText] = {}

    # Two ways -----------------------------------------------------------------------------------------------------

    def _loop(self, variable: str, iterations: Range | Portion, body: Steps, remark: str) -> None:
        if self._is_whole is None:
            steady = self._clamps(self._moving_outside, self._outside, ())
            self._either(steady, lambda: self._loop(variable, iterations, body, remark))
        elif self._is_whole:
            self._loop_of_tiles(variable, iterations, body, remark)
        else:
            super()._loop(variable, iterations, body, remark)

    def body(self, variable: str, body: Steps) -> None:
        """The steps of an iteration: with clamps that do nothing, where there are such, and with the others."""
        before = self._kernels.count()
        self._steps_of_tiles(variable, body) if self._is_whole else super().body(variable, body)
        self._has_calls = before != self._kernels.count()

    def _steps_of_tiles(self, variable: str, body: Steps) -> None:
        count = next((n for n, step in enumerate(body) if not isinstance(step, Assign)), len(body))
        self.steps(body[:count])
        rest = body[count:]
        steady = self._clamps([self._names.of(variable)], body, rest)
        if steady:
            self._either(steady, lambda: self.steps(rest))
        else:
            self.steps(rest)

    def _either(self, steady: Sequence[_Steady], write: Callable[[], None]) -> None:
        """Lines for whole tiles, where these conditions hold, and for others; these alone, if no call is inlined."""
        before, outside = self._state(), self._is_whole is None
        count, depth, loops = self._inlined, self._depth, self._loops
        self._is_whole = True
        self._depth = depth + 1
        try:
            with self._facts.scope():
                for each in steady:
                    for fact in (each.positive, each.zero, sums.number(0) - each.zero):
                        self._facts.know(fact)
                if steady:
                    self._look_again()
                write()
            self._spend()
        except UnprintableError:
            self._inlined = count
        self._depth, self._loops = depth, loops
        done, asked = self.lines[before.lines :], [each.text for each in steady]
        if outside:
            asked += self._assumed
        if self._inlined == count:
            self._restore(before)
            self._is_whole = False
            write()
        elif not asked:
            self.lines[before.lines :] = [line.removeprefix("    ") for line in done]
        else:
            del self.lines[before.lines :]
            with self.block(f"if ({' && '.join(asked)})"):
                self.lines += done
            self._known, self._own, self._values = dict(before.known), dict(before.own), dict(before.values)
            self._is_whole = False
            with self.block("else"):
                write()
        self._is_whole = None if outside else True
        self._work = before.work
        if outside:
            self._assumed = {}

    def _look_again(self) -> None:
        """What is known now of integers that have names already."""
        for name, value in list(self._values.items()):
            before, now = self._known[name], self._integers.whole(value)
            if isinstance(before, Whole) and now.sum != before.sum:
                self._facts.know(now.sum - before.sum)
                self._facts.know(before.sum - now.sum)

    def consider(self, steps: Steps) -> bool:
        """Whether there may be calls of few elements in some steps: if not, nothing else is asked."""
        runs = [step.place.statement for step in every_step(steps) if isinstance(step, Run)]
        if any(_may_be_of_few(call) for call in runs if isinstance(call, Call)):
            return True
        self._is_whole = False
        self._facts.ignore()
        return False

    def look_around(self, steps: Steps, outside: Mapping[str, Value], variables: Collection[str]) -> None:
        """What is known of integers that these steps use, of which some have values outside, and some are the variables
        of loops."""
        if not self.consider(steps):
            return
        waiting = sorted(names_used(steps))
        seen = {name for step in every_step(steps) for name in names_assigned(step)}
        while waiting:
            name = waiting.pop()
            value = outside.get(name)
            if value is None or name in seen:
                continue
            seen.add(name)
            waiting += sorted(names_used((Assign("", value),)))
            with suppress(UnprintableError):
                given, now = self._integers.whole(Name(name)), self._integers.whole(value)
                self._facts.know(now.sum - given.sum)
                self._facts.know(given.sum - now.sum)
                self._outside.append(value)
        self._moving_outside = [self._names.of(name) for name in sorted(variables) if ("integer", name) in self.given]

    def _kept(self, name: str, value: Value) -> Whole:
        if _is_chosen(value):
            self._values[name] = value
        return super()._kept(name, value)

    def step(self, step: Step) -> None:
        """One step. Names that are given in a block are forgotten behind it."""
        if not isinstance(step, (Guard, Loop)):
            super().step(step)
            return
        before = dict(self._values)
        super().step(step)
        self._values = before

    def _state(self) -> _State:
        return _State(
            len(self.lines), dict(self._known), dict(self._own), dict(self._values), dict(self.given), dict(self.sizes),
            dict(self.divisors), dict(self.follow), self._kernels.count(), self._work,
        )  # fmt: skip

    def _restore(self, before: _State) -> None:
        del self.lines[before.lines :]
        self._known, self._own, self._values = dict(before.known), dict(before.own), dict(before.values)
        self.given, self.sizes, self.divisors = dict(before.given), dict(before.sizes), dict(before.divisors)
        self.follow = dict(before.follow)
        self._kernels.set_count(before.calls)

    def _clamps(self, variables: Collection[str], among: Sequence[Node], rest: Steps) -> list[_Steady]:
        """The clamps in some steps or values that do nothing as long as what moves with a loop is within limits. What
        is given values in the `rest` of the steps is not there yet."""
        inside: set[str] = set()
        for step in every_step(rest):
            inside.update((step.variable,) if isinstance(step, Loop) else names_assigned(step))
        found: dict[Sum, _Steady] = {}
        for node in _clamps_in(among):
            if names_used((Assign("", node),)) & inside:
                continue
            try:
                values, clamped = [self._integers.whole(each) for each in node.values], self._integers.whole(node)
            except UnprintableError:
                continue
            moving = [each for each in values if any(map(each.sum.has, variables))]
            if len(moving) != 1 or clamped.sum in [each.sum for each in values]:
                continue
            for limit in values:
                if limit is moving[0]:
                    continue
                pair = (moving[0], limit) if isinstance(node, Least) else (limit, moving[0])
                apart = pair[1].sum - pair[0].sum
                if apart not in found and (self._facts.lowest(apart) or -1) < 0:
                    text = f"{pair[0].atom} <= {pair[1].atom}"
                    found[apart] = _Steady(text, apart, clamped.sum - moving[0].sum)
        return list(found.values())

    # Loops --------------------------------------------------------------------------------------------------------

    def _loop_of_tiles(self, variable: str, iterations: Range | Portion, body: Steps, remark: str) -> None:
        given = self._range(iterations)
        length, step = given.stop.sum - given.first.sum, given.step.sum.number()
        known, most = self._facts.exact(length), self._facts.highest(length)
        if most is not None and most <= 0:
            return
        outer, self._work = self._work, 0
        if known is not None and step:
            trips = -(-known // step)
            self._loop_of_few(variable, given, trips, body) if trips > 1 else self._once(variable, given.first, body)
            self._work = outer + trips * self._work
            return
        is_inside, first = self._loops > 0, len(self.lines)
        self._loops += 1
        super()._loop(variable, iterations, body, remark)
        self._loops -= 1
        if self._work and is_inside:
            self.spent(f"({given.stop.text} - {given.first.atom}) * {self._work}")
            self._is_counted = True
        elif self._work:
            self.worked(first, self._work)
        self._work = outer

    def _once(self, variable: str, value: Whole, body: Steps) -> None:
        """The only iteration of a loop."""
        name = self._names.of(variable)
        with self._facts.scope(), self.block(""):
            self.write(f"const int64_t {name} = {value.text};")
            self._known[variable] = attrs.evolve(value, text=name, is_atom=True, known_sum=value.sum)
            self.body(variable, body)

    def _loop_of_few(self, variable: str, given: RangeText, trips: int, body: Steps) -> None:
        """A loop of so many iterations: it counts from 0, so that compilers see how many."""
        name, calls, first = self._names.of(variable), self._kernels.count(), len(self.lines)
        count = self._names.fresh(f"{name}_count")
        with self._facts.scope(), self.block(f"for (int64_t {count} = 0; {count} < {trips}; {count}++)"):
            step = "" if given.step.text == "1" else f" * {given.step.text}"
            start = "" if given.first.text == "0" else f"{given.first.atom} + "
            self.write(f"const int64_t {name} = {start}{count}{step};")
            self._known[variable] = known_within(name, given.first.lo, max(given.first.lo, given.stop.hi - 1))
            self._know_range(name, given)
            self.body(variable, body)
            self.iterated(body)
        if trips <= MOST_UNROLLED and calls == self._kernels.count():
            self.lines.insert(first, "    " * self._depth + f"#pragma GCC unroll {trips}")

    def iterated(self, body: Steps) -> None:
        """An iteration ends. Nothing is asked in loops over a few elements: what they keep in registers would have to
        be put away for that."""
        if self._is_counted:
            self._is_counted = False
            self.asked()
        elif self._has_calls:
            self.iteration_ended(body)

    def iteration_ended(self, body: Steps) -> None:
        """An iteration ends of a loop that calls functions."""

    def asked(self) -> None:
        """An iteration ends of a loop in which elements were computed without calls."""

    def worked(self, first: int, work: int) -> None:
        """The lines from this one on are an outermost loop, of which each iteration does so much."""

    def spent(self, work: str) -> None:
        """So much was done in lines above."""

    def _spend(self) -> None:
        if self._work:
            self.spent(str(self._work))
        self._work = 0

    # Calls --------------------------------------------------------------------------------------------------------

    def inline(self, formula: Formula, arrays: Sequence[ArrayText], numbers: Sequence[str]) -> bool:
        """Write a call as an expression, if it is one of few elements; whether it is."""
        if not self._is_whole or any(array.rows for array in arrays):
            return False
        extents = [self._exact(arrays[-1].axis(d).extent) for d in range(formula.rank)]
        known = [each for each in extents if each is not None]
        if len(known) != len(extents) or not 1 <= math.prod(known) <= MOST_ELEMENTS:
            return False
        dense, assumed = self._dense(formula, arrays, known)
        found = inlined(formula, known, dense)
        if found is None:
            return False
        self._kernels.see(formula, found.called)
        self._assumed |= assumed
        self._inlined += 1
        self._work += math.prod(known) * weight_of(formula)
        with self.block(""):
            for n, array in enumerate(arrays):
                self.write(f"const array slinky_{n} = {array.text};")
            for d, minimum in enumerate(arrays[-1].minima if formula.has_coordinates() else ()):
                self.write(f"const int64_t slinky_first{d} = {minimum.text};")
            for n, (text, (_, dtype)) in enumerate(zip(numbers, argument_types(formula), strict=True)):
                self.write(f"const {C_TYPES[dtype]} slinky_k{n} = {text};")
            for line in found.text.split("\n"):
                self.write(line)
        return True

    def _exact(self, of: Sum | None) -> int | None:
        return None if of is None else self._facts.exact(of)

    @staticmethod
    def _dense(
        formula: Formula, arrays: Sequence[ArrayText], extents: Sequence[int]
    ) -> tuple[set[int], dict[str, None]]:
        """The arrays of which elements follow each other along the last dimension, and what is assumed for that."""
        inner = formula.rank - 1
        found: set[int] = set()
        assumed: dict[str, None] = {}
        axes: list[Sequence[Axis | None]] = [*formula.inputs, [Axis(d) for d in range(formula.rank)]]
        sizes = operand_sizes(formula)
        for n, (array, own) in enumerate(zip(arrays, axes, strict=True)):
            moving = [d for d, axis in enumerate(own) if axis is not None and axis.dim == inner and axis.step == 1]
            if not moving or extents[inner] == 1:
                continue
            axis = array.axis(moving[0])
            if axis.stride == sizes[n]:
                found.add(n)
            elif axis.stride is None and axis.origin is not None and array.root and moving[0] == len(own) - 1:
                found.add(n)
                assumed[f"{array.root}.strides[{axis.origin}] == {sizes[n]}"] = None
        return found, assumed

    # Memory -------------------------------------------------------------------------------------------------------

    def _fetch(self, step: Fetch) -> None:
        if not self.made_here(step):
            super()._fetch(step)

    def made_here(self, step: Fetch) -> bool:
        """Whether a small buffer is an array of the function: then it is made."""
        kind = self._sites[step.site.text]
        if kind.buffer not in self._alone or kind.layout is not None or kind.dtype not in C_TYPES:
            return False
        sizes = [self._integers.whole(extent) for extent in step.extents]
        if kind.folded:
            if kind.buffer not in self._states or kind.folded != (0,):
                return False
            sizes[0] = Whole("1", 1, 1, known_sum=sums.number(1))
        most = [self._facts.highest(each.sum) for each in sizes]
        known = [max(each, 1) for each in most if each is not None]
        size = math.prod(known) * kind.dtype.itemsize
        if len(known) != len(most) or size > MOST_BYTES:
            return False
        self._kernels.rank = max(self._kernels.rank, len(sizes))
        name, itemsize = self._names.of(step.name), kind.dtype.itemsize
        here = self._names.fresh(f"{name}_here")
        self.write(f"_Alignas(64) {C_TYPES[kind.dtype]} {here}[{math.prod(known)}];")
        shape = "{0}, {0}"
        if sizes:
            texts = [self._text_of(each) for each in sizes]
            shape = f"{{{', '.join(each.text for each in texts)}}}, {{{', '.join(strides_text(texts, itemsize))}}}"
        self.write(f"const array {name} = {{(char *){here}, {shape}, 0}};")
        array = ArrayText(name, "", axes=axes_of([self._text_of(each) for each in sizes], itemsize))
        if kind.folded:
            for each in filter(None, (step.name, step.reading)):
                self._own[each] = array
        else:
            self.name_array(step.name, step.reading, array)
        return True

    def _text_of(self, whole: Whole) -> Whole:
        """An integer that is a number, where that is known."""
        count = self._facts.exact(whole.sum)
        return whole if count is None else Whole(str(count), count, count, known_sum=sums.number(count))

    def window(self, ring: str, spans: Sequence[tuple[Whole, Whole]]) -> ArrayText:
        """A window of a folded buffer: of states of which there is one, that one."""
        found = self._own.get(ring)
        if found is None:
            return super().window(ring, spans)
        if any(self._facts.exact(count.sum) != 1 for _, count in spans):
            raise UnprintableError("several states of which one is kept")
        return found


@attrs.frozen
class _State:
    """What lines were when something was tried."""

    lines: int
    known: dict[str, Any]
    own: dict[str, ArrayText]
    values: dict[str, Value]
    given: dict[object, Any]
    sizes: dict[str, int]
    divisors: dict[str, None]
    follow: dict[tuple[str, int, int], None]
    calls: Any
    work: int


def _may_be_of_few(call: Call) -> bool:
    """Whether the box of a call has so many elements in some iterations, whatever the sizes are."""
    count = 1
    for i in call.box:
        ends = [
            length
            for hi in (i.max.operands if isinstance(i.max, Min) else (i.max,))
            for lo in (i.min.operands if isinstance(i.min, Max) else (i.min,))
            if (length := constant_value(hi - lo)) is not None
        ]
        if not ends:
            return False
        count *= max(1, 1 + min(ends))
    return count <= MOST_ELEMENTS


def loop_variables(tree: PlanTree) -> set[str]:
    """The names of the variables of all loops."""
    steps = every_step((*tree.body, *(() if tree.again is None else tree.again.body)))
    return {step.variable for step in steps if isinstance(step, (Loop, ParallelLoop, StagedLoop))}


def integers_assigned(tree: PlanTree) -> dict[str, Value]:
    """The integers of a tree that are sums or choices of others, by the names that they alone have."""
    found: dict[str, Value | None] = {}
    for step in every_step((*tree.body, *(() if tree.again is None else tree.again.body))):
        if isinstance(step, Assign):
            is_sum = isinstance(step.value, (Linear, Least, Greatest, Quotient))
            found[step.name] = step.value if is_sum and step.name not in found else None
        elif isinstance(step, (Loop, ParallelLoop, StagedLoop)):
            found[step.variable] = None
    return {name: value for name, value in found.items() if value is not None}


def _clamps_in(steps: Sequence[Node]) -> Iterator[Least | Greatest]:
    """The smallest and largest of values in steps, and in what stands inside."""
    return (node for node in nodes_in(tuple(steps)) if isinstance(node, (Least, Greatest)))


def _is_chosen(value: Value) -> bool:
    """Whether more may be known of a value later than now."""
    return any(isinstance(node, (Least, Greatest, Quotient)) for node in nodes_in(value))
