"""Who runs a trace on arrays of certain sizes: its schedule, by NumPy's loops or in C, or the function as it is.

Idea. The graph of a trace is lowered once, and scheduled for each range of sizes, or read from where it was exported
to. What that is worth is predicted (`worth`), and measured where that is too coarse (`contests`). Where there may be
compilers, a schedule moves to C after a while (`to_native`), and what was chosen before is chosen anew.

Invariant: who runs shows in nothing but time and memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from slinky.errors import CompilationError, SchedulingError
from slinky.frontend.contests import MOST_BYTES, InTurn
from slinky.frontend.explaining import exported_in_words, schedule_in_words
from slinky.frontend.exporting import Asked, Loaded, asked
from slinky.frontend.halos import with_halos
from slinky.frontend.kept_traces import KEPT_TRACES, Rules, Runner, Traces
from slinky.frontend.lowering import Lowered, lowered, scalars_named
from slinky.frontend.nodes import Array
from slinky.frontend.overlapping import computed_before_windows
from slinky.frontend.running import runner, without_arrays
from slinky.frontend.sizes import Length, lengths
from slinky.frontend.tables import EXACT_PIECES
from slinky.frontend.to_native import Move, Runs, may_move
from slinky.frontend.traced import Shapes, Traced
from slinky.frontend.tracing import PLANS, func_title, scheduled_for
from slinky.frontend.worth import Estimate, computed_bytes, estimate
from slinky.pipeline import Pipeline
from slinky.runtime.backends import has_loops
from slinky.symbolic.expressions import Expr

MOVED_TO = "native-exact"
"""The back end that schedules move to by themselves."""


class Chooser:
    """Chooses who runs the traces of a function, made by its rules. Where it `chooses`, that may be the function as it
    is; where it `moves`, schedules move to C by themselves, else a back end runs them."""

    def __init__(
        self,
        function: Callable[..., Any],
        rules: Rules,
        traces: Traces,
        backend: str,
        *,
        chooses: bool,
        moves: bool,
    ) -> None:
        self.loaded: Loaded | None = None
        """What was exported, if it is to be used."""
        self._function = function
        self._options = rules.options
        self._by_pieces = rules.by_pieces
        self._traces = traces
        self._backend = backend
        self._chooses = chooses
        self._moves = moves

    def run_for(
        self, traced: Traced, leaves: Sequence[Any], values: Mapping[Expr, int], as_written: Callable[..., Any]
    ) -> Runner | None:
        """What runs a trace on arguments of just these sizes; None where the function itself, `as_written`, is as
        good."""
        of = lengths(values)
        shapes = [(tuple(map(of, view.shape)), view.dtype) for view in traced.outputs]
        if not shapes:
            return without_arrays(traced, of)
        plan = self.plan(traced) if self.loaded is None else self._exported(traced)
        arrays, empty, scalars = _arguments(traced, plan, leaves, values)
        run = self._scheduled(traced, arrays, empty, scalars, of)
        if run is None:
            return None
        workers = self._options.get("workers")
        runs = runner(traced, run, shapes, scalars, plan.floats, of, workers, chooses=self._chooses)
        return self._tried(traced, tuple(array.shape for array in (*arrays, *empty)), run, runs, of, as_written)

    def _may_be_tried(self, traced: Traced, plan: Runs | None, of: Callable[[Length], int]) -> bool:
        """Whether calls may be run as they are to see who is faster, that or a plan: the function does nothing but what
        was traced, which of the two ran shows in nothing but time, and it takes little memory."""
        if not getattr(plan, "keeps_bits", True):  # as C computes some functions
            return False
        if not self._chooses or self.loaded is not None or not self._traces.keeps(traced) or traced.shares_otherwise:
            return False
        return _is_exact(traced) and all(
            computed_bytes(each, of) <= MOST_BYTES for each in (traced.nodes, traced.computed)
        )

    def _tried(
        self,
        traced: Traced,
        shapes: Shapes,
        plan: Runs,
        runs: Runner,
        of: Callable[[Length], int],
        as_written: Callable[..., Any],
    ) -> Runner | None:
        """What runs calls of these shapes while it is not known who is faster, and who is, then."""
        if not self._may_be_tried(traced, plan, of):
            return runs
        contest = traced.contest(shapes, plan)
        waits = isinstance(plan, Move) and contest.is_plain
        if contest.is_over and not waits:
            return None if contest.is_plain else runs
        return InTurn(contest, shapes, plan, runs, as_written, self._traces.ready.clear)

    def _is_worth_while(self, scheduled: Pipeline, traced: Traced, of: Callable[[Length], int]) -> tuple[bool, bool]:
        """Whether a schedule is enough faster than the function itself, on the machine that it is made for: by NumPy's
        loops, and if not, by loops in C when it has moved there."""
        if not self._chooses:
            return True, False
        found = self._estimate(scheduled, traced, of)
        if found is None:
            return False, False
        is_tried = self._may_be_tried(traced, None, of)
        is_faster = found.is_faster(is_tried=is_tried)
        return is_faster, not is_faster and found.is_faster_in_c(is_tried=is_tried) and self._may_move()

    def _estimate(self, scheduled: Pipeline, traced: Traced, of: Callable[[Length], int]) -> Estimate | None:
        """What a trace takes by a schedule, and else, on the machine that it is made for. Functions are measured only
        where calls wait for that: beside them, in a thread of its own, it would take longer."""
        from slinky.sched.machines import this_machine
        from slinky.sched.measured_functions import element_seconds, usual_seconds

        given = self._options.get("machine")
        seconds_of = element_seconds if given is None and self._chooses else usual_seconds
        return estimate(scheduled, traced.nodes, of, given or this_machine(), seconds_of)

    def _in_loops(
        self, scheduled: Pipeline, traced: Traced, key: Shapes, scalars: dict[str, Any], of: Callable[[Length], int]
    ) -> Pipeline | None:
        """The schedule for loops in C; None where there is none, or NumPy and C are predicted to be faster by the other
        one, of which threads may share more."""
        try:
            found: Pipeline = self.plan_in_c(traced).pipeline.scheduled_for(*key, **scalars)
        except SchedulingError:
            return None
        by_numpy, in_loops = (self._estimate(each, traced, of) for each in (scheduled, found))
        if by_numpy is not None and in_loops is not None:
            # Of wide windows the model of loops knows less than what was measured of them.
            if by_numpy.scheduled < min(in_loops.in_loops, in_loops.in_c):
                return None
        return found

    def _may_move(self) -> bool:
        """Whether schedules may move to C by themselves."""
        return self._moves and self.loaded is None and may_move()

    def plan(self, traced: Traced) -> Lowered:
        """The pipeline of a trace."""
        if traced.plan is None:
            name = func_title(self._function.__name__)
            is_made_for_python = self._backend == "python" or self.loaded is not None
            options = self._options if is_made_for_python else {**self._options, "backend": self._backend}
            in_loops = self.runs_loops()
            traced.plan = PLANS.of(traced.nodes, traced.outputs, name, options, self._by_pieces, in_loops=in_loops)
        return traced.plan

    def shown(self, traced: Traced) -> Pipeline:
        """The pipeline of a trace as it is shown: that which runs, but for floats, of which arguments have their names,
        and others are constants."""
        if traced.shown is None:
            in_loops = self.runs_loops()
            graph = computed_before_windows(traced.nodes, traced.outputs)
            nodes, outputs = with_halos(*graph, in_loops=in_loops)
            name, floats = func_title(self._function.__name__), scalars_named(traced.floats_in_words)
            made = lowered(nodes, outputs, (), name, self._by_pieces, in_loops=in_loops, floats=floats)
            traced.shown = made.pipeline
        return traced.shown

    def plan_in_c(self, traced: Traced) -> Lowered:
        """The pipeline of a trace for schedules that move to C; it takes the same arrays and scalars."""
        if traced.plan_in_c is None:
            name, options = func_title(self._function.__name__), {**self._options, "backend": MOVED_TO}
            graph = traced.nodes, traced.outputs
            traced.plan_in_c = PLANS.of(*graph, name, options, self._by_pieces, in_loops=True, to_bits=True)
        return traced.plan_in_c

    def _exported(self, traced: Traced) -> Lowered:
        """The pipeline of a trace of which schedules are exported."""
        return self.plan_in_c(traced) if self._moves else self.plan(traced)

    def asked(self, traced: Traced) -> list[Asked]:
        """What a trace was asked for, to be exported. What has not moved to C yet is scheduled for that now."""
        if not traced.asked or not self._moves:
            return traced.asked_for()
        pipeline = self.plan_in_c(traced).pipeline
        return [found for each in traced.asked_for() if (found := each.by(pipeline)) is not None]

    def runs_loops(self) -> bool:
        """Whether arithmetic runs in loops in C: compiled here, or by whoever exported them."""
        return self._backend != "python" and (self.loaded is not None or has_loops(self._backend))

    def _scheduled(
        self,
        traced: Traced,
        arrays: Sequence[Array],
        outputs: Sequence[Array],
        scalars: dict[str, Any],
        of: Callable[[Length], int],
    ) -> Runs | None:
        """What runs a trace on arrays of these sizes: a plan of its schedule; None where the function is called as it
        is."""
        key = tuple(array.shape for array in (*arrays, *outputs))
        if key in traced.scheduled:
            return traced.scheduled[key]
        found: Runs | None
        if self.loaded is not None:
            is_there, found = self.loaded.find(self._exported(traced).pipeline, [*arrays, *outputs], scalars)
            if is_there:
                traced.scheduled[key] = found
                return found
        plan = self.plan(traced)
        scheduled = scheduled_for(plan.pipeline, arrays, outputs, scalars)
        if (found := self._asked_in_c(scheduled)) is None:
            is_faster, is_faster_in_c = self._is_worth_while(scheduled, traced, of)
            is_exact = _is_exact(traced)
            if is_faster_in_c and not is_exact:  # it runs by pieces until then, and no bit may change if there is no C
                is_faster_in_c = self._will_move(scheduled, traced, key, scalars, of)
            if is_faster_in_c or (is_faster and self._may_move()):
                found = self._moving(traced, key, scalars, scheduled, of, stays=is_faster or not is_exact)
            elif is_faster:
                found = scheduled.compile(backend="python" if self.loaded is not None else self._backend)
        if len(traced.scheduled) > KEPT_TRACES:
            traced.scheduled.clear()
            traced.asked.clear()
        traced.scheduled[key] = found
        traced.asked[key] = asked(plan.pipeline, [*arrays, *outputs], scalars, None if found is None else scheduled)
        return found

    def _asked_in_c(self, scheduled: Pipeline) -> Runs | None:
        """The plan of a schedule by a back end that was asked for, if C does anything in it: what else there is to run
        is NumPy's, and judged as that."""
        if self._backend == "python" or self.loaded is not None:
            return None
        plan = scheduled.compile(backend=self._backend)
        return plan if getattr(plan, "runs_c", False) else None

    def _will_move(
        self, scheduled: Pipeline, traced: Traced, key: Shapes, scalars: dict[str, Any], of: Callable[[Length], int]
    ) -> bool:
        """Whether there is C for anything in a schedule, as far as that is known before it is compiled."""
        from slinky.native.plans import has_exact_code

        try:
            return has_exact_code((self._in_loops(scheduled, traced, key, scalars, of) or scheduled).program)
        except CompilationError:
            return True  # whoever compiles it says why it cannot

    def _moving(
        self,
        traced: Traced,
        key: Shapes,
        scalars: dict[str, Any],
        scheduled: Pipeline,
        of: Callable[[Length], int],
        *,
        stays: bool,
    ) -> Move:
        """What runs a schedule by its Python plan, and by a native one when that is there. Where there will be none,
        it `stays` with the former, or the function is called as it is."""
        own, its = weakref.ref(self), weakref.ref(traced)

        def made() -> Pipeline | None:
            chooser, trace = own(), its()
            if chooser is None or trace is None:
                return None
            return chooser._in_loops(scheduled, trace, key, scalars, of)

        def settle(plan: Runs, runs_c: bool) -> None:
            chooser, trace = own(), its()
            if chooser is not None and trace is not None:
                trace.scheduled[key] = plan if stays or runs_c else None
                chooser._traces.ready.clear()  # they enter what chooses

        return Move(scheduled, self._function.__name__, made, settle, stays=stays)

    def in_words(self, traced: Traced, leaves: Sequence[Any], values: Mapping[Expr, int]) -> str:
        """What the schedule for such arguments is, and why."""
        plan = self.plan(traced)
        arrays, empty, scalars = _arguments(traced, plan, leaves, values)
        if self.loaded is not None:
            is_exported, exported = self.loaded.find(self._exported(traced).pipeline, [*arrays, *empty], scalars)
            if is_exported:
                return exported_in_words(exported)
        key = tuple(array.shape for array in (*arrays, *empty))
        scheduled = scheduled_for(plan.pipeline, arrays, empty, scalars)
        is_used = self._asked_in_c(scheduled) is not None
        is_used = is_used or any(self._is_worth_while(scheduled, traced, lengths(values)))
        runs = traced.scheduled.get(key)
        if key in traced.scheduled:  # it is known whether there is C for it
            is_used = runs is not None
        is_tried = runs is not None and self._may_be_tried(traced, runs, lengths(values))
        contest = traced.found_contest(key, runs) if runs is not None and is_tried else None
        if getattr(runs, "runs_c", False) and self._moves:
            scheduled = self._in_loops(scheduled, traced, key, scalars, lengths(values)) or scheduled
        return schedule_in_words(scheduled, runs, contest, is_used=is_used)


def _is_exact(traced: Traced) -> bool:
    """Whether pieces give the bits that the function gives as it is."""
    return all(node.operation.exactness in EXACT_PIECES for node in traced.nodes)


def _arguments(
    traced: Traced, plan: Lowered, leaves: Sequence[Any], values: Mapping[Expr, int]
) -> tuple[list[Array], list[Array], dict[str, Any]]:
    """What a pipeline is given for arguments of just these sizes: arrays, arrays to fill, and numbers."""
    of = lengths(values)
    arrays = [array if number is None else leaves[number] for number, array in traced.sources]
    empty = [np.empty(tuple(map(of, view.shape)), view.dtype) for view in traced.outputs]
    floats = traced.floats(traced.trace.reals.values(leaves) or ())
    return arrays, empty, plan.scalars(floats, [values[symbol] for symbol in traced.untold])
