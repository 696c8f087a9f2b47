"""Calls that go over the same box as one loop: what several of them read is fetched once.

Idea. Two calls that stand one after the other, for elements at the same places, need not go over these one after the
other: their formulas become one of several results (`Joined`), whose loop takes each element that both read once, and
waits for memory once. So two derivatives of an image are one loop over its rows, and so are sums of products of them.

Invariant: each element that is written is computed by the same steps from the same elements as before. Calls are joined
only where the program says that their boxes are equal, and where what each of them writes lies in memory that the
others neither read nor write: of sites, those that are alive at the same time, or rings, which have memory of their
own; of arrays from outside, other ones, as what a program writes overlaps with nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, assert_never

import attrs
import numpy as np

from slinky.ir.combined import formula_of
from slinky.ir.effects import clamped_box
from slinky.ir.formulas import (
    Argument,
    Axis,
    Constant,
    Coordinate,
    Element,
    Formula,
    Operand,
    Result,
    argument_types,
    with_operands,
)
from slinky.ir.formulas import Step as FormulaStep
from slinky.ir.statements import Call
from slinky.native.array_texts import ArrayText
from slinky.native.functions import function_of_step
from slinky.native.kernel_sets import operand_sizes
from slinky.native.parts import live_steps
from slinky.native.tiles import Surroundings, TileLines
from slinky.native.walking import every_step
from slinky.native.weights import weight_of
from slinky.runtime.arena import SiteKind
from slinky.runtime.plan_tree import (
    Assign,
    Crop,
    Fetch,
    FetchWithin,
    Guard,
    Located,
    Name,
    PlanTree,
    ReadOnly,
    Run,
    Sealed,
    Seen,
    Step,
    Steps,
    Value,
    Window,
)
from slinky.symbolic.intervals import Box

MOST_STEPS = 24
"""A loop of more steps has not enough registers for them."""
MOST_ARRAYS = 12
"""A loop over more arrays has not enough for where these are."""


@attrs.frozen
class Joined:
    """Formulas as one: the `results` in the order of the formulas; of each input, which formula's it is, and which of
    these; and the numbers that it takes, as texts."""

    formula: Formula
    results: tuple[Result, ...]
    inputs: tuple[tuple[int, int], ...]
    numbers: tuple[str, ...]


def joined(parts: Sequence[tuple[Formula, Sequence[Result], Sequence[Hashable], Sequence[str]]]) -> Joined:
    """Formulas whose elements are at the same places, as one. Of each: which of its steps are wanted, its inputs, by
    what tells them apart, and the texts of the numbers that it takes."""
    writer = _Writer()
    results = tuple([result for n, part in enumerate(parts) for result in writer.written(n, *part)])
    first = parts[0][0]
    whole = Formula(first.rank, tuple(writer.axes), tuple(writer.steps), results[0], first.ignored)
    texts = {name: text for (text, _), name in writer.names.items()}
    return Joined(whole, results, tuple(writer.whence), tuple([texts[name] for name, _ in argument_types(whole)]))


class _Writer:
    """Writes down the steps of formulas, equal ones once."""

    def __init__(self) -> None:
        self.axes: list[tuple[Axis | None, ...]] = []
        self.whence: list[tuple[int, int]] = []
        self.steps: dict[FormulaStep, int] = {}
        self.names: dict[tuple[str, np.dtype[Any]], str] = {}
        self._inputs: dict[Hashable, int] = {}

    def written(
        self,
        part: int,
        formula: Formula,
        results: Sequence[Result],
        arrays: Sequence[Hashable],
        numbers: Sequence[str],
    ) -> list[Result]:
        """The results of a formula, once its steps are written."""
        texts = dict(zip(argument_types(formula), numbers, strict=True))
        numbered: dict[int, int] = {}

        def operand(own: Operand) -> Operand:
            match own:
                case Element(input=k, dtype=dtype):
                    return Element(self._input(part, k, arrays[k], formula.inputs[k]), dtype)
                case Result(step=before, output=output):
                    return Result(numbered[before], output)
                case Argument(name=name, dtype=dtype):
                    return Argument(self.names.setdefault((texts[name, dtype], dtype), f"n{len(self.names)}"), dtype)
                case Constant():
                    return own
                case _:
                    assert_never(own)

        for number in live_steps(formula, results):
            step = with_operands(formula.steps[number], operand)
            numbered[number] = self.steps.setdefault(step, len(self.steps))
        return [Result(numbered[each.step], each.output) for each in results]

    def _input(self, part: int, number: int, array: Hashable, axes: tuple[Axis | None, ...]) -> int:
        key = (array, axes)
        if key not in self._inputs:
            self._inputs[key] = len(self._inputs)
            self.axes.append(axes)
            self.whence.append((part, number))
        return self._inputs[key]


_NAMING = (Assign, Fetch, FetchWithin)
"""Steps that give names to values, and do nothing else."""


# Which ----------------------------------------------------------------------------------------------------------------


class Memory:
    """Where the arrays of a plan tree lie, as far as that is told by their names."""

    def __init__(self, tree: PlanTree, sites: Mapping[str, SiteKind]) -> None:
        again = tree.again
        steps = every_step((*tree.body, *(() if again is None else again.body)))
        self._named: dict[str, Value | FetchWithin] = {}
        for step in steps:
            if isinstance(step, Assign):
                self._named[step.name] = step.value
            elif isinstance(step, FetchWithin):
                self._named.update(dict.fromkeys(filter(None, (step.name, step.reading)), step))
        self._sites = sites
        self._given = {*tree.parameters, *tree.objects, *(() if again is None else again.parameters)}

    def of(self, value: Value | FetchWithin) -> tuple[SiteKind | str | None, ...]:
        """Where an array lies, in one of these: sites, and arrays from outside, by name; None is what is not known."""
        match value:
            case Name(text=name):
                if name in self._sites:
                    return (self._sites[name],)
                if name in self._named:
                    return self.of(self._named[name])
                return (name if name in self._given else None,)
            case Crop(array=array) | Sealed(array=array) | ReadOnly(array=array) | Located(array=array):
                return self.of(array)
            case Seen(array=array):
                return self.of(array)
            case Window(ring=ring):
                return self.of(ring)
            case FetchWithin(part=part, site=site):
                return (*self.of(part), *self.of(site))
            case _:
                return (None,)

    def are_apart(self, one: Value, other: Value) -> bool:
        """Whether two arrays, one of which is written, are known to share no memory."""
        return all(_are_apart(a, b) for a in self.of(one) for b in self.of(other))


def _are_apart(a: SiteKind | str | None, b: SiteKind | str | None) -> bool:
    if a is None or b is None:
        return False
    if not isinstance(a, SiteKind) or not isinstance(b, SiteKind):
        return a != b
    if a.place == b.place:
        return False
    return bool(a.folded or b.folded) or (a.born <= b.dies and b.born <= a.dies)


def may_be_joined(formula: Formula | None) -> bool:
    """Whether the loop of a formula may be one with that of others: its steps are lines, and its elements of one size,
    so that they are handled by vectors of one length."""
    if formula is None or not isinstance(formula.result, Result):
        return False
    steps = [formula.steps[number] for number in live_steps(formula)]
    if any(isinstance(step, Coordinate) or function_of_step(step) is not None for step in steps):
        return False
    sizes = {dtype.itemsize for step in steps for dtype in step.results}
    return len(sizes.union(operand_sizes(formula))) == 1


class JoinedLines(TileLines):
    """Lines in which calls that go over the same box are one loop."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._memory = Memory(around.tree, around.sites)

    def steps(self, steps: Steps) -> None:
        """Some steps."""
        for group in self._grouped(steps):
            if isinstance(group, list):
                self._run_joined(group)
            else:
                self.step(group)

    def _grouped(self, steps: Steps) -> Iterator[Step | list[Run]]:
        """Steps, of which some are several calls. What gives names to values between these comes before them."""
        waiting = list(steps)
        while waiting:
            step = waiting.pop(0)
            if isinstance(step, Guard):
                while (at := self._same_question(step, waiting)) is not None:
                    other = waiting[at]
                    assert isinstance(other, Guard)
                    yield from waiting[:at]
                    del waiting[: at + 1]
                    step = attrs.evolve(step, body=(*step.body, *other.body))
                yield step
                continue
            if not isinstance(step, Run) or not may_be_joined(self._formula(step)):
                yield step
                continue
            group, at = [step], 0
            while at < len(waiting):
                following = waiting[at]
                if isinstance(following, _NAMING):
                    at += 1
                elif isinstance(following, Run) and self._may_follow(group, following):
                    group.append(following)
                    yield from waiting[:at]
                    del waiting[: at + 1]
                    at = 0
                else:
                    break
            yield group if len(group) > 1 else step

    def _same_question(self, guard: Guard, waiting: Sequence[Step]) -> int | None:
        """Where the next step stands that acts, if that is done where a branch is, and both are calls to be joined:
        where boxes may be empty, each call asks."""
        at = next((n for n, step in enumerate(waiting) if not isinstance(step, _NAMING)), None)
        other = None if at is None else waiting[at]
        if not isinstance(other, Guard) or other.condition != guard.condition or self._is_whole:
            return None
        bodies = (*guard.body, *other.body)
        return at if not guard.orelse and not other.orelse and all(map(self._is_joinable, bodies)) else None

    def _is_joinable(self, step: Step) -> bool:
        return isinstance(step, _NAMING) or (isinstance(step, Run) and may_be_joined(self._formula(step)))

    def _formula(self, run: Run) -> Formula | None:
        return formula_of(self._tree.callbacks[run.callback.text])

    def _may_follow(self, group: Sequence[Run], run: Run) -> bool:
        """Whether a call may be one loop with some, and reads something that they read."""
        formula = self._formula(run)
        formulas = [each for each in map(self._formula, group) if each is not None]
        if formula is None or not may_be_joined(formula) or formula.rank != formulas[0].rank:
            return False
        if formula.ignored != formulas[0].ignored:
            return False
        if operand_sizes(formula)[-1] != operand_sizes(formulas[0])[-1]:
            return False
        read = {value for each in group for value in each.inputs}
        arrays = read.union(run.inputs)
        if read.isdisjoint(run.inputs) or len(arrays) + len(group) + 1 > MOST_ARRAYS:
            return False
        if sum(len(live_steps(each)) for each in (*formulas, formula)) > MOST_STEPS:
            return False
        box = _box(run)
        return box is not None and all(
            _box(each) == box
            and all(self._memory.are_apart(each.outputs[0], other) for other in (*run.inputs, *run.outputs))
            and all(self._memory.are_apart(run.outputs[0], other) for other in each.inputs)
            for each in group
        )

    def _run_joined(self, group: Sequence[Run]) -> None:
        """Calls as one, if that can be; else one after the other."""
        if not self._is_joined(group):
            for run in group:
                self.step(run)

    def _is_joined(self, group: Sequence[Run]) -> bool:
        """Write calls as one; whether they are: not where they may be lines of the loops around them, are given several
        rows of a folded buffer, or need what has no text."""
        arrays = [[self._array(value) for value in (*run.inputs, *run.outputs)] for run in group]
        if self._is_whole or any(array.rows for each in arrays for array in each):
            return False
        parts = []
        for run, own in zip(group, arrays, strict=True):
            formula = self._formula(run)
            assert formula is not None  # it may be joined
            for array, size in zip(own, operand_sizes(formula), strict=True):
                self.sizes[array.root] = max(self.sizes.get(array.root, 1), size)
            given = dict(run.arguments)
            numbers = [self._argument(given[name], dtype) for name, dtype in argument_types(formula)]
            assert isinstance(formula.result, Result)  # it may be joined
            parts.append((formula, (formula.result,), [array.text for array in own[:-1]], numbers))
        whole = joined(parts)
        title = "_and_".join(dict.fromkeys(self._tree.callbacks[run.callback.text].name for run in group))
        operands = [*(arrays[part][number] for part, number in whole.inputs), *(own[-1] for own in arrays)]
        kernel = self.joined_by_rows(group, whole, operands, title)
        kernel = kernel or self._kernels.name_of_joined(whole.formula, whole.results, title)
        if kernel is None:
            return False
        self.ask_strides(whole.formula, operands)
        self._call_joined(kernel, operands, len(group), whole)
        return True

    def joined_by_rows(
        self, group: Sequence[Run], whole: Joined, arrays: Sequence[ArrayText], title: str
    ) -> str | None:
        """The function that computes calls as one several rows at a time, if that is better."""
        return None

    def _call_joined(self, kernel: str, arrays: Sequence[ArrayText], count: int, whole: Joined) -> None:
        """Call the function of several formulas, the last `count` arrays of which are outputs."""
        with self.block(""):
            operands: list[str] = []
            for number, array in enumerate(arrays):
                name = array.text
                if not name.isidentifier():
                    name = f"slinky_{number}"
                    self.write(f"const array {name} = {array.text};")
                operands.append(name)
            self.write(f"{kernel}({', '.join([*(f'&{name}' for name in operands), *whole.numbers])});")
            weight = -(-weight_of(whole.formula) // count)
            for name in operands[-count:]:
                for line in self.called(name, whole.formula.rank, weight):
                    self.write(line)


def _box(run: Run) -> Box | None:
    """The elements that a call writes, of its only output, in the order of the dimensions of that; None where that is
    another one."""
    call = run.place.statement
    if not isinstance(call, Call) or len(call.func.outputs) != 1:
        return None
    (port,) = call.func.outputs
    if tuple(port.dims) != tuple(range(len(call.box))):
        return None
    return clamped_box(call, lambda buffer: run.place.boxes[buffer])
