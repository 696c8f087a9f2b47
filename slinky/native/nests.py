"""Whole nests in C: of a plan tree, the largest parts whose calls are all arithmetic become one function each.

Idea. A run of steps that can be printed (see `statements`) is taken out of the plan: loops, integers, views and calls
become a C function, and the plan calls that one, with the lock of the interpreter released, where the steps stood (see
`entering`). What stands around it, parallel loops, memory, checks, callbacks, stays a plan in Python.

The function may decline, before it has done anything: where integers are too large to be sure of 64 bits, a divisor is
0, elements are not where their dtype wants them, a site has no memory yet, or a folded buffer moves on in plain memory,
for want of mirrored memory. It stops where a question of the plan ends the run. In both cases the plan does the same
steps itself, so they stay in it: what declines is computed there, and what fails, fails there, with its place.

Invariants: a name that steps outside use is given its value outside. Steps that are put before a nest do nothing but
name values, and cannot fail. A function that has begun ends, or comes to a question at which the steps fail, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import attrs

from slinky.ir.combined import formula_of
from slinky.ir.reducing import combined_of
from slinky.ir.statements import LoweredFunc, Program
from slinky.native.ahead import inputs_in
from slinky.native.apart import Second
from slinky.native.array_texts import ARRAYS
from slinky.native.embedding import c_function_of
from slinky.native.entering import (
    GIVEN,
    ORDER,
    NestText,
    WatchedLines,
    entry_text,
    nest_function,
    nest_library,
    parameters_of,
    steps_text,
)
from slinky.native.fetching import loops_around_own, with_fetches_inside
from slinky.native.integers import HELPERS, UnprintableError
from slinky.native.joining import JoinedLines
from slinky.native.kernel_sets import Kernels
from slinky.native.names import CNames
from slinky.native.states import states_in_place
from slinky.native.streaming import streaming, unread_outputs
from slinky.native.tiles import Surroundings, integers_assigned, loop_variables
from slinky.native.unused import without_unused
from slinky.native.walking import blocks_of_step, every_step, field_names, nodes_in, ranks_in, sites_of
from slinky.native.windows import with_windows_inside
from slinky.runtime.codegen.uses import names_assigned, names_used
from slinky.runtime.collector import collector_paused
from slinky.runtime.plan_tree import (
    Assign,
    At,
    Fetch,
    FetchWithin,
    Guard,
    Integer,
    Loop,
    Name,
    Nest,
    Node,
    ParallelLoop,
    PlanTree,
    Quotient,
    RecordBlock,
    RecordCall,
    Remainder,
    Run,
    StagedLoop,
    Step,
    Steps,
    Stop,
    Window,
    acts,
)

HEAD = """\
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wtype-limits" /* some bounds lie beyond all that a type holds */
#endif
#include <fenv.h>
#include <math.h>
#include <stdint.h>

"""


def _is_understood(func: LoweredFunc) -> bool:
    """Whether it is known what a func computes."""
    return formula_of(func) is not None or combined_of(func) is not None


def _any(func: LoweredFunc) -> bool:
    """Whether C may compute a func, if it knows how: it may do all."""
    return True


@attrs.frozen(eq=False)
class InNests:
    """The plan tree of a program with nests as such, and these; the C file that has their functions, and, when it is
    wanted, that for all arrays."""

    tree: PlanTree
    nests: tuple[NestText, ...]
    text: str
    general: Callable[[], str]


def in_nests(tree: PlanTree, program: Program, may_do: Callable[[LoweredFunc], bool] = _any) -> InNests | None:
    """The nests of the plan tree of a program, of funcs that C `may_do`; None where there are none."""
    with collector_paused():
        found = Nests(tree, WatchedLines, program, may_do)
        changed = found.tree()
    if not found.texts:
        return None
    return InNests(changed, tuple(found.texts), found.source(apart=False), found.source)


def with_functions(found: InNests, second: Second, bits: tuple[int, ...]) -> PlanTree:
    """The plan tree that calls C functions for its nests. A `second` library will be that for arrays of which elements
    lie apart.

    Raises `CompilationError` if the compiler fails.
    """
    made_by = second.made_by
    loaded = nest_library(found.text, made_by)
    second.is_made_by(lambda: nest_library(found.general(), made_by))
    functions = {each.name: nest_function(each, loaded, second.library, bits) for each in found.nests}
    return attrs.evolve(found.tree, objects={**found.tree.objects, **functions})


def names_outside_nests(tree: PlanTree) -> set[str]:
    """The names of callbacks that a tree calls also where no function in C does."""
    waiting = [*tree.body, *(() if tree.again is None else tree.again.body)]
    found: set[str] = set()
    while waiting:
        step = waiting.pop()
        if isinstance(step, Run):
            found.add(step.callback.text)
        elif not isinstance(step, Nest):
            waiting += [each for block in blocks_of_step(step) for each in block]
    return found


class Nests:
    """The nests of the tree of a program, of functions with such lines; `texts` has them once the changed `tree` was
    made."""

    def __init__(
        self, tree: PlanTree, lines: type[JoinedLines], program: Program, may_do: Callable[[LoweredFunc], bool] = _any
    ) -> None:
        self._own = loops_around_own(program)
        self._states = states_in_place(program)
        self._unread = unread_outputs(program)
        self._inputs = inputs_in(tree, program)
        self._lines = lines
        self._may_do = may_do
        self._kernels = Kernels()
        tree = self._tree = with_windows_inside(tree)
        self._sites = sites_of(tree)
        tree = self._tree = with_fetches_inside(tree, self._own, self._may_be_printed)
        self._integers = integers_assigned(tree)
        self._variables = loop_variables(tree)
        self._sites = sites_of(tree)
        self._ranks = ranks_in(tree, program, self._sites)
        self._taken = set(_texts(tree))
        self.texts: list[NestText] = []

    def tree(self) -> PlanTree:
        """The tree, with steps that are nests as such."""
        tree = self._tree
        again = tree.again
        if again is None:
            return attrs.evolve(tree, body=self._block(tree.body, set()))
        return attrs.evolve(tree, again=attrs.evolve(again, body=self._block(again.body, set())))

    def source(self, *, apart: bool = True) -> str:
        """One C file with all nests: for all arrays, or those of which elements do not lie `apart`, as it asks."""
        parts = [HEAD, HELPERS, "\n", ARRAYS.format(rank=self._kernels.rank), "\n", GIVEN, "\n", streaming()]
        parts.append(self._kernels.buffers())
        parts += [f"\n{text}" for text in self._kernels.texts(apart=apart)]
        for each in self.texts:
            entry = each.general if apart else each.entry
            parts.append(f"\n{each.text}\n{entry}".replace("{rank}", str(self._kernels.rank)))
        return "".join(parts)

    def portable_source(self) -> str:
        """One C file with the functions of all nests, without those that Python calls."""
        parts = [HEAD, HELPERS, "\n", ARRAYS.format(rank=self._kernels.rank), self._kernels.buffers()]
        parts += [f"\n{text}" for text in self._kernels.texts()]
        parts += [f"\n/* {each.remark} */\n{each.text.removeprefix('static ')}" for each in self.texts]
        return "".join(parts)

    # Which steps --------------------------------------------------------------------------------------------------

    def _block(self, steps: Steps, later: set[str]) -> Steps:
        """Steps of a block, nests as such; `later` are names that steps behind the block use of it."""
        found: list[Step] = []
        begin = 0
        while begin < len(steps):
            end = begin
            while end < len(steps) and self._may_be_printed(steps[end]):
                end += 1
            if end == begin:
                found.append(self._inside(steps[begin]))
                begin += 1
                continue
            while end > begin and not acts(steps[end - 1]):
                end -= 1  # what stands behind the last call may as well stay
            if end == begin:
                found.append(steps[begin])
                begin += 1
                continue
            found += self._run_of(steps[begin:end], later | names_used(steps[end:]))
            begin = end
        return tuple(found)

    def _run_of(self, steps: Steps, later: set[str]) -> Sequence[Step]:
        """Steps, the last of which acts, that may be one nest."""
        outside = _needed_outside(steps, later)
        if outside is None:
            if len(steps) == 1:
                return [self._inside(steps[0])]
            middle = len(steps) // 2
            return self._block(steps[:middle], later | names_used(steps[middle:])) + self._block(steps[middle:], later)
        inside = tuple(step for step in steps if step not in outside)
        nest = self._nest(inside) if self._is_worthwhile(inside) else None
        if nest is None:
            return [self._inside(step) for step in steps]
        return [*outside, nest]

    def _is_worthwhile(self, steps: Steps) -> bool:
        """Whether more than one call is made: one alone is called as cheaply by itself, unless NumPy makes arrays of
        its own for it, as for variances."""
        every = list(every_step(steps))
        runs = [self._tree.callbacks[step.callback.text] for step in every if isinstance(step, Run)]
        if len(runs) == 1 and not any(isinstance(step, Loop) for step in every):
            combined = combined_of(runs[0])
            return combined is not None and combined.centred
        return bool(runs)

    def _inside(self, step: Step) -> Step:
        """A step that stays, with the nests that are inside."""
        match step:
            case Loop() | ParallelLoop() | RecordBlock() | RecordCall():
                return attrs.evolve(step, body=self._block(step.body, set()))
            case Guard():
                return attrs.evolve(step, body=self._block(step.body, set()), orelse=self._block(step.orelse, set()))
            case StagedLoop():
                stages = tuple([attrs.evolve(each, body=self._block(each.body, set())) for each in step.stages])
                return attrs.evolve(step, stages=stages)
            case _:
                return step

    def _may_be_printed(self, step: Step) -> bool:
        match step:
            case Assign() | Stop() | FetchWithin():
                return True
            case Fetch(folds=folds, site=site):
                kind = self._sites[site.text]
                return kind.layout is None and (not folds or kind.buffer in self._states)
            case Run(callback=callback):
                func = self._tree.callbacks[callback.text]
                return c_function_of(func) is not None or (self._may_do(func) and self._kernels.knows(func))
            case Loop() | Guard():
                return all(map(self._may_be_printed, (each for block in blocks_of_step(step) for each in block)))
        return False

    # Printing -----------------------------------------------------------------------------------------------------

    def _nest(self, steps: Steps) -> Nest | None:
        """A nest of these steps; None where they have no text."""
        names = CNames()
        own = (self._states, self._own, self._unread, self._inputs, self._ranks)
        lines = self._lines(Surroundings(self._tree, self._sites, self._kernels, names, *own))
        runs = [self._tree.callbacks[each.callback.text] for each in every_step(steps) if isinstance(each, Run)]
        has_formulas = any(map(_is_understood, runs))
        if isinstance(lines, WatchedLines):
            lines.is_mixed = has_formulas
        try:
            with self._kernels.tried():
                lines.look_around(steps, self._integers, self._variables)
                lines.steps(steps)
        except UnprintableError:
            return None
        name = next(n for k in range(1, len(self._taken) + 2) if (n := f"nest_{k}") not in self._taken)
        self._taken.add(name)
        used = {*re.findall(r"[A-Za-z_]\w*", "\n".join(without_unused(lines.lines))), *lines.divisors}
        asked = [each for each in lines.given.values() if used.intersection(parameters_of(each))]
        given = tuple(sorted(asked, key=lambda each: ORDER.index(each.kind)))
        named = ", ".join(dict.fromkeys(func.name for func in runs))
        endings = tuple(lines.endings) if isinstance(lines, WatchedLines) else ()
        entry, general = (
            entry_text(name, given, lines, "occurred" if has_formulas else "0", asks_strides=asks)
            for asks in (True, False)
        )
        self.texts.append(NestText(name, named, given, steps_text(name, given, lines), entry, general, endings))
        remark = f"in C: {named}; what that declines is done here"
        return Nest(Name(name), tuple(each.value for each in given), steps, remark)


def _needed_outside(steps: Steps, later: set[str]) -> tuple[Step, ...] | None:
    """Those of some steps that name what is used behind them, with what they need: to be done before the others. None
    where that cannot be."""
    needed = set(later)
    found: list[Step] = []
    for step in reversed(steps):
        if needed.intersection(names_assigned(step)):
            found.append(step)
            needed |= names_used((step,))
    if not all(isinstance(step, (Assign, Fetch, FetchWithin)) and _cannot_fail(step) for step in found):
        return None
    return tuple(reversed(found))


def _cannot_fail(step: Node) -> bool:
    """Whether naming a value does nothing else. Divisions may fail, and so do windows and blocks that are not there."""
    for node in nodes_in(step):
        if isinstance(node, (At, Window)):
            return False
        if isinstance(node, (Quotient, Remainder)) and not isinstance(node.denominator, Integer):
            return False
    return True


def _texts(tree: PlanTree) -> Iterator[str]:
    """All names of a tree, and other texts."""
    yield from (*tree.objects, *tree.arenas, *tree.parameters, tree.function)
    roots: list[object] = [tree.body]
    if tree.again is not None:
        yield from (tree.again.name, *tree.again.parameters)
        roots.append(tree.again.body)
    for node in nodes_in(tuple(roots)):
        for name in field_names(node):
            value = getattr(node, name)
            yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str))
