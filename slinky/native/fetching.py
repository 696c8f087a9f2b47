"""Plan trees in which buffers are fetched where the program makes them.

In Python a buffer is fetched as far out as its extents are known, once. In C that costs nothing, and a buffer that is
seen in few lines only can be an array of the function there (see `tiles`).

Invariant: a step moves into a loop only if the program makes the buffer in that loop, anew in each iteration: so what
it holds is never taken from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from slinky.ir.sharing import guests_in, host_of
from slinky.ir.statements import Alloc, Block, For, Program, blocks_of
from slinky.native.walking import every_step, sites_of
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.uses import names_used
from slinky.runtime.in_place import taken_over
from slinky.runtime.plan_tree import (
    Assign,
    Fetch,
    Guard,
    Loop,
    ParallelLoop,
    PlanTree,
    RecordBlock,
    RecordCall,
    Run,
    StagedLoop,
    Step,
    Steps,
)
from slinky.symbolic.expressions import Expr


def loops_around_own(program: Program) -> dict[str, frozenset[Expr]]:
    """By the names of buffers that share their memory with no others: the variables of the loops around them."""
    found: dict[str, frozenset[Expr]] = {}
    others: set[str] = set()

    def visit(block: Block, loops: tuple[Expr, ...]) -> None:
        first = taken_over(block)
        shared = {*first, *first.values()}
        hosts = guests_in(block)
        for statement in block:
            if isinstance(statement, Alloc):
                name = statement.buffer
                if statement.id in shared or name in hosts or host_of(statement) is not None or name in found:
                    others.add(name)
                found[name] = frozenset(loops)
            for _, inner in blocks_of(statement):
                visit(inner, (*loops, statement.variable) if isinstance(statement, For) else loops)

    visit(program.body, ())
    return {name: loops for name, loops in found.items() if name not in others}


def with_fetches_inside(
    tree: PlanTree, made_in: Mapping[str, frozenset[Expr]], is_printed: Callable[[Loop], bool]
) -> PlanTree:
    """A tree that fetches each of these buffers in the innermost loop in which it is made and used, as far as loops are
    printed."""
    again = tree.again
    kept = frozenset() if again is None else frozenset(names_used(again.body))
    body = _Moving(made_in, sites_of(tree), is_printed, kept).steps(tree.body)
    if again is not None:
        again = attrs.evolve(again, body=_Moving(made_in, sites_of(tree), is_printed).steps(again.body))
    return attrs.evolve(tree, body=body, again=again)


class _Moving:
    def __init__(
        self,
        made_in: Mapping[str, frozenset[Expr]],
        sites: Mapping[str, SiteKind],
        is_printed: Callable[[Loop], bool],
        kept: frozenset[str] = frozenset(),
    ) -> None:
        self._made_in = made_in
        self._sites = sites
        self._is_printed = is_printed
        self._kept = kept  # names that what runs again finds where they are

    def steps(self, steps: Steps) -> Steps:
        """The steps of a block."""
        found = list(steps)
        for step in steps:
            if isinstance(step, Fetch) and not step.folds and self._sites[step.site.text].buffer in self._made_in:
                found = self._moved(found, step)
        return tuple([self._inside(step) for step in found])

    def _moved(self, steps: list[Step], fetch: Fetch) -> list[Step]:
        """The steps of a block, the fetch and views of what it fetches in the loops that use them, if they may be."""
        names = {name for name in (fetch.name, fetch.reading) if name is not None}
        group: list[Step] = [fetch]
        users: list[Loop] = []
        variables = self._made_in[self._sites[fetch.site.text].buffer]
        for step in steps[steps.index(fetch) + 1 :]:
            if not names_used((step,)) & names:
                continue
            if isinstance(step, Assign):
                names.add(step.name)
                group.append(step)
            elif isinstance(step, Loop) and _variable_of(step) in variables:
                users.append(step)
            else:
                return steps
        if not names.isdisjoint(self._kept):
            return steps
        entered = [self._entered(user, group, fetch) for user in users]
        if None in entered:
            return steps
        kept = [step for step in steps if not any(step is each for each in group)]
        for user, changed in zip(users, entered, strict=True):
            assert changed is not None  # see above
            kept[next(n for n, step in enumerate(kept) if step is user)] = changed
        return kept

    def _entered(self, loop: Loop, group: list[Step], fetch: Fetch) -> Loop | None:
        """A loop with these steps in it, or further inside; None where no loop there is printed."""
        if self._is_printed(loop):
            return attrs.evolve(loop, body=(*group, *loop.body))
        inside = self._moved([*group, *loop.body], fetch)
        return None if any(step is fetch for step in inside) else attrs.evolve(loop, body=tuple(inside))

    def _inside(self, step: Step) -> Step:
        match step:
            case Loop() | ParallelLoop() | RecordBlock() | RecordCall():
                return attrs.evolve(step, body=self.steps(step.body))
            case Guard():
                return attrs.evolve(step, body=self.steps(step.body), orelse=self.steps(step.orelse))
            case StagedLoop():
                stages = tuple([attrs.evolve(stage, body=self.steps(stage.body)) for stage in step.stages])
                return attrs.evolve(step, stages=stages)
            case _:
                return step


def _variable_of(loop: Loop) -> Expr | None:
    """The variable of the program that a loop goes along, as a call in it knows it."""
    run = next((step for step in every_step(loop.body) if isinstance(step, Run)), None)
    names = {} if run is None else {name: variable for variable, name in run.place.variables.items()}
    return names.get(loop.variable)
