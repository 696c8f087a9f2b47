"""A graph with what was found out of how to run it: the pipelines, schedules and plans that were made of it.

Invariant: whatever is kept here was made for this very graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import attrs

from slinky.frontend.contests import Contest
from slinky.frontend.lowering import Lowered, untold
from slinky.frontend.nodes import Node, View
from slinky.frontend.sizes import Length
from slinky.frontend.to_native import Move, Runs
from slinky.pipeline import Pipeline
from slinky.symbolic.expressions import Expr

Shapes = tuple[tuple[int, ...], ...]
Numbers = tuple[Sequence[float], Sequence[int]]
"""The floats of a graph, and those of its sizes that no input tells."""


@attrs.frozen(eq=False)
class Given:
    """Arguments of just the sizes that `values` say and `of` tells, as a trace takes them. `shapes` are those of all
    arrays, `results` the shapes and dtypes of those that are computed, and `numbers` the floats of one call, and the
    sizes that no array tells."""

    values: Mapping[Expr, int]
    of: Callable[[Length], int]
    results: Sequence[tuple[tuple[int, ...], Any]]
    shapes: Shapes
    numbers: Numbers


class Planned:
    """A graph, of which `outputs` are computed; `untold` are the sizes in it that none of the arrays it reads tells."""

    nodes: list[Node]
    outputs: list[View]
    untold: list[Expr]

    def be_graph(self, nodes: list[Node], outputs: list[View]) -> None:
        """Be this graph, of which nothing is known yet."""
        self.nodes, self.outputs = nodes, outputs
        self.untold = untold(nodes, outputs)
        self.forget()

    def forget(self) -> None:
        """Know of no plans, and of no times."""
        self.plan: Lowered | None = None
        self.plan_in_c: Lowered | None = None
        self.shown: Pipeline | None = None
        self.scheduled: dict[Shapes, Runs | None] = {}
        self.asked: dict[Shapes, Numbers] = {}
        """What it was asked for: arrays of which shapes, with which numbers at first."""
        self._contests: dict[Hashable, Contest] = {}

    def contest(self, shapes: Shapes, plan: Runs, limit: float | None = None) -> Contest:
        """Who is faster for arrays of about these shapes, the function as it is or this plan. For large ones, there is
        a `limit`: the seconds for which the plan is not suspected."""
        is_large = limit is not None
        found = self.found_contest(shapes, plan, is_large=is_large)
        if found is None:
            found = Contest(shapes, is_large or not isinstance(plan, Move) or plan.stays, limit)
            self._contests[_contest_key(shapes, plan, is_large)] = found
        return found

    def found_contest(self, shapes: Shapes, plan: Runs, *, is_large: bool) -> Contest | None:
        """The same, as far as there has been a call."""
        return self._contests.get(_contest_key(shapes, plan, is_large))

    def is_used(self, shapes: Shapes) -> bool:
        """Whether a schedule runs on arrays of these shapes, or may when it has moved to C: none is where the function
        is called as it is, or was faster than C."""
        plan = self.scheduled.get(shapes)
        if plan is None:
            return False
        contests = (self.found_contest(shapes, plan, is_large=is_large) for is_large in (False, True))
        return not (getattr(plan, "runs_c", False) and any(each is not None and each.is_lost for each in contests))


def _contest_key(shapes: Shapes, plan: Runs, is_large: bool) -> Hashable:
    return tuple(tuple(n.bit_length() for n in shape) for shape in shapes), getattr(plan, "runs_c", False), is_large
