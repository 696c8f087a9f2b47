"""Who runs a trace on arrays of certain sizes: its schedule, by NumPy's loops or in C, or the function as it is.

Idea. The graph of a trace is lowered once, and scheduled for each range of sizes, or read from where it was exported
to. What that is worth is predicted (`worth`), and measured where that is too coarse (`contests`). Where there may be
compilers, a schedule moves to C after a while (`to_native`), and what was chosen before is chosen anew. Where it can be
seen from the graph alone that NumPy's loops gain nothing by a schedule, none is made for them: calls are as fast as the
function from the first one on.

Invariant: who runs shows in nothing but time and memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from slinky.errors import CompilationError, SchedulingError
from slinky.frontend.columns import InColumns, against, in_columns
from slinky.frontend.contests import MOST_BYTES, SHARE_OF_MEMORY, Contest, InTurn
from slinky.frontend.explaining import (
    contest_in_words,
    exported_in_words,
    operations_in_words,
    schedule_in_words,
)
from slinky.frontend.exporting import Asked, Loaded, asked
from slinky.frontend.halos import with_halos
from slinky.frontend.kept_traces import KEPT_TRACES, Rules, Runner, Traces
from slinky.frontend.legs import InLegs, Link
from slinky.frontend.lowering import Lowered, lowered, scalars_named, sources_of
from slinky.frontend.lying import are_in_columns, is_in_columns, is_reversed
from slinky.frontend.nodes import Source
from slinky.frontend.overlapping import computed_before_windows
from slinky.frontend.planned import Given, Planned
from slinky.frontend.repeating import Leg, Legs, Stretch, legs_of
from slinky.frontend.running import runner, without_arrays
from slinky.frontend.sizes import Length, lengths
from slinky.frontend.tables import EXACT_PIECES
from slinky.frontend.to_native import Move, Moving, Runs, may_move, moved_before
from slinky.frontend.traced import Traced
from slinky.frontend.tracing import PLANS, func_title, scheduled_for
from slinky.frontend.worth import Estimate, computed_bytes, estimate, is_exact_arithmetic
from slinky.pipeline import Pipeline
from slinky.runtime.backends import has_loops
from slinky.runtime.reusing import memory_bytes
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
        moves: bool,
    ) -> None:
        self.loaded: Loaded | None = None
        """What was exported, if it is to be used."""
        self._function = function
        self._options = rules.options
        self._by_pieces = rules.by_pieces
        self._traces = traces
        self._backend = backend
        self._chooses = rules.chooses
        self._moves = moves

    def run_for(
        self, traced: Traced, leaves: Sequence[Any], values: Mapping[Expr, int], as_written: Callable[..., Any]
    ) -> Runner | None:
        """What runs a trace on arguments of just these sizes; None where the function itself, `as_written`, is as
        good."""
        found = self._as_they_lie(traced, leaves)
        if found is None:
            return None
        traced, given = found, _given(found, leaves, values)
        if not given.results:
            return without_arrays(traced, given.of)
        plan = self._found(traced, given)
        return None if plan is None else self._tried(traced, given, plan, as_written)

    def _runner(self, traced: Traced, given: Given, plan: Runs) -> Runner:
        """What runs a trace by a plan."""
        scalars: dict[str, Any]
        if isinstance(plan, InLegs):
            scalars, floats = plan.scalars(given.numbers[0]), plan.floats
        else:
            lowered = self._lowered(traced)
            scalars, floats = lowered.scalars(*given.numbers), lowered.floats
        return runner(traced, plan, given.results, scalars, floats, given.of, self._options.get("workers"))

    def _as_they_lie(self, traced: Traced, leaves: Sequence[Any]) -> Traced | None:
        """The trace for arrays that lie in memory as these; None where the function itself is as good: NumPy's loops go
        along columns, too."""
        arrays = traced.arrays(leaves)
        if not any(map(is_in_columns, arrays)):
            return traced
        if are_in_columns(arrays):
            if traced.in_columns is None:
                traced.in_columns = in_columns(traced, arrays) or traced
            found = traced.in_columns
            if isinstance(found, InColumns) and all(is_reversed(arrays[k]) for k in found.columns):
                return found
        return None if self._chooses else traced

    def _run(self, traced: Traced, given: Given, plan: Runs, leaves: Sequence[Any]) -> Any:
        return self._runner(traced, given, plan)(leaves)

    def _may_be_tried(self, traced: Planned, plan: Runs | None, of: Callable[[Length], int]) -> bool:
        """Whether calls may be run as they are to see who is faster, that or a plan: it takes little memory."""
        return self._may_be_compared(traced, plan) and _most_bytes(traced, of) <= MOST_BYTES

    def _may_be_compared(self, traced: Planned, plan: Runs | None) -> bool:
        """The same, but for the memory: the function does nothing but what was traced, and which of the two ran shows
        in nothing but time."""
        if not isinstance(traced, Traced):  # nobody calls the function for a part of it
            return False
        if not getattr(plan, "keeps_bits", True):  # as C computes some functions
            return False
        is_kept = self._traces.keeps(traced.rows)
        if not self._chooses or self.loaded is not None or not is_kept or traced.shares_otherwise:
            return False
        return _is_exact(traced)

    def _contest(self, traced: Traced, given: Given, plan: Runs) -> Contest | None:
        """What tells who is faster, a plan or the function as it is; None where the plan runs in any case. Of large
        arrays, it is suspected where it takes longer than NumPy is predicted to take."""
        if not self._may_be_compared(traced, plan):
            return None
        most = _most_bytes(traced, given.of)
        if most <= MOST_BYTES:
            return traced.contest(given.shapes, plan)
        if most > SHARE_OF_MEMORY * memory_bytes():
            return None
        found = traced.found_contest(given.shapes, plan, is_large=True)
        if found is None and (predicted := self._estimate(None, traced, given.of)) is not None:
            found = traced.contest(given.shapes, plan, predicted.as_written)
        return found

    def _found_contest(self, traced: Traced, given: Given, plan: Runs | None) -> Contest | None:
        """The same, as far as there has been a call."""
        if plan is None or not self._may_be_compared(traced, plan):
            return None
        is_large = _most_bytes(traced, given.of) > MOST_BYTES
        found = traced.found_contest(given.shapes, plan, is_large=is_large)
        return None if found is not None and is_large and not found.plain else found

    def _tried(self, traced: Traced, given: Given, plan: Runs, as_written: Callable[..., Any]) -> Runner | None:
        """What runs calls of some shapes while it is not known who is faster, and who is, then."""
        if isinstance(plan, InLegs) and plan.is_plain and self._chooses:
            return None
        contest = self._contest(traced, given, plan)
        if contest is None:
            return self._runner(traced, given, plan)
        waits = isinstance(plan, Moving) and bool(plan.moves) and contest.is_plain
        if contest.is_over and not waits:
            return None if contest.is_plain else self._runner(traced, given, plan)
        run = partial(self._run, traced, given, plan) if waits else self._runner(traced, given, plan)
        return InTurn(contest, given.shapes, plan, run, as_written, self._traces.ready.clear)

    def _at_a_glance(self, traced: Planned, given: Given) -> tuple[bool, Runs | None]:
        """Whether it is clear without a schedule what runs, and if so, what: where all that is made on the way stays in
        the caches, NumPy's loops gain little by one. The function is called as it is, until there is C if that may be
        faster; where pieces give other bits than that, they are the whole arrays until then."""
        if not self._chooses or self.loaded is not None or self._backend != "python":
            return False, None
        found = self._estimate(None, traced, given.of)
        if found is None or not found.is_held:
            return False, None
        is_tried = self._may_be_tried(traced, None, given.of)
        moves = self._may_move() and found.is_faster_in_c(is_tried=is_tried)
        if is_tried and moves and (not found.may_gain or self._has_compiler()):
            return True, self._moving(traced, given, None, stays=False)
        if found.may_gain:
            return False, None
        is_exact = _is_exact(traced)
        if is_tried or not moves or not (is_exact or self._will_move(traced, given)):
            return True, None
        return True, self._moving(traced, given, self.plan(traced).unscheduled, stays=not is_exact)

    def _is_worth_while(self, traced: Planned, given: Given, scheduled: Pipeline) -> tuple[bool, bool]:
        """Whether a schedule is enough faster than the function itself, on the machine that it is made for: by NumPy's
        loops, and if not, by loops in C when it has moved there."""
        if not self._chooses:
            return True, False
        found = self._estimate(scheduled, traced, given.of)
        if found is None:
            return False, False
        is_tried = self._may_be_tried(traced, None, given.of)
        is_faster = found.is_faster(is_tried=is_tried)
        return is_faster, not is_faster and found.is_faster_in_c(is_tried=is_tried) and self._may_move()

    def _estimate(self, scheduled: Pipeline | None, traced: Planned, of: Callable[[Length], int]) -> Estimate | None:
        """What a trace takes by a schedule, and else, on the machine that it is made for. Functions are measured only
        where calls wait for that: beside them, in a thread of its own, it would take longer."""
        from slinky.sched.machines import this_machine
        from slinky.sched.measured_functions import element_seconds, usual_seconds

        given = self._options.get("machine")
        seconds_of = element_seconds if given is None and self._chooses else usual_seconds
        return estimate(scheduled, traced.nodes, of, given or this_machine(), seconds_of)

    def _by_numpy(self, traced: Planned, given: Given) -> Pipeline:
        """The schedule of a trace for NumPy's loops."""
        plan = self.plan(traced)
        return scheduled_for(plan.pipeline, given.shapes, (), plan.scalars(*given.numbers))

    def _in_loops(self, traced: Planned, given: Given, scheduled: Pipeline) -> Pipeline | None:
        """The schedule for loops in C; None where there is none, or NumPy and C are predicted to be faster by the other
        one, of which threads may share more."""
        try:
            plan = self.plan_in_c(traced)
            found: Pipeline = plan.pipeline._running_for(*given.shapes, **plan.scalars(*given.numbers))
        except SchedulingError:
            return None
        by_numpy, in_loops = (self._estimate(each, traced, given.of) for each in (scheduled, found))
        if by_numpy is not None and in_loops is not None:
            # Of wide windows the model of loops knows less than what was measured of them.
            if by_numpy.scheduled < min(in_loops.in_loops, in_loops.in_c):
                return None
        return found

    def _may_move(self) -> bool:
        """Whether schedules may move to C by themselves."""
        return self._moves and self.loaded is None and may_move()

    def plan(self, traced: Planned) -> Lowered:
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

    def plan_in_c(self, traced: Planned) -> Lowered:
        """The pipeline of a trace for schedules that move to C; it takes the same arrays and scalars."""
        if traced.plan_in_c is None:
            name, options = func_title(self._function.__name__), {**self._options, "backend": MOVED_TO}
            graph = traced.nodes, traced.outputs
            traced.plan_in_c = PLANS.of(*graph, name, options, self._by_pieces, in_loops=True, to_bits=True)
        return traced.plan_in_c

    def _exported(self, traced: Planned) -> Lowered:
        """The pipeline of a trace of which schedules are exported."""
        return self.plan_in_c(traced) if self._moves else self.plan(traced)

    def _lowered(self, traced: Planned) -> Lowered:
        """A pipeline of a trace: all of them take the same arrays and scalars."""
        if self.loaded is not None:
            return self._exported(traced)
        return traced.plan or traced.plan_in_c or self.plan(traced)

    def asked(self, traced: Traced) -> list[Asked]:
        """What a trace was asked for, to be exported. What has not moved to C yet is scheduled for that now."""
        found = []
        for shapes, numbers in traced.asked.items() if traced.is_a_pipeline else ():
            plan = self._exported(traced)
            scalars, scheduled = plan.scalars(*numbers), None
            if traced.is_used(shapes):
                try:
                    scheduled = plan.pipeline.scheduled_for(*shapes, **scalars)
                except SchedulingError:
                    if self._moves:
                        continue
                    scheduled = scheduled_for(plan.pipeline, shapes, (), scalars)
            found.append(asked(plan.pipeline, shapes, scalars, scheduled))
        return found

    def runs_loops(self) -> bool:
        """Whether arithmetic runs in loops in C: compiled here, or by whoever exported them."""
        return self._backend != "python" and (self.loaded is not None or has_loops(self._backend))

    def _found(self, traced: Traced, given: Given) -> Runs | None:
        """What runs a trace on arrays of some sizes: a plan of its schedule; None where the function is called as it
        is."""
        shapes = given.shapes
        if shapes in traced.scheduled:
            return traced.scheduled[shapes]
        found: Runs | None
        if self.loaded is not None and traced.is_a_pipeline:
            exported = self._exported(traced)
            is_there, found = self.loaded.find(exported.pipeline, shapes, exported.scalars(*given.numbers))
            if is_there:
                traced.scheduled[shapes] = found
                return found
        legs = self._legs(traced)
        found = self._chosen(traced, given) if legs is None else self.in_legs(traced, legs, given)
        if len(traced.scheduled) > KEPT_TRACES:
            traced.scheduled.clear()
            traced.asked.clear()
        traced.scheduled[shapes] = found
        traced.asked[shapes] = given.numbers
        return found

    def _chosen(self, traced: Planned, given: Given) -> Runs | None:
        """The same, chosen now."""
        is_clear, found = self._at_a_glance(traced, given)
        return found if is_clear else self._scheduled(traced, given)

    def _legs(self, traced: Traced) -> Legs | None:
        """The stretches that a trace runs in, if it does; what takes so many bytes at most is scheduled as a whole."""
        return None if "max_bytes" in self._options else traced.legs

    def legs_of(self, graph: Planned) -> Legs | None:
        """The same of a part of a function."""
        return None if "max_bytes" in self._options else legs_of(graph.nodes, graph.outputs)

    def in_legs(self, graph: Planned, legs: Legs, given: Given) -> InLegs:
        """What runs a graph in legs."""
        first = {leg.stretch: leg for leg in reversed(legs.legs)}
        links = [self._link(stretch, first[stretch], given) for stretch in legs.stretches]
        return InLegs(legs, links, graph.outputs, len(given.numbers[0]), given.of)

    def _link(self, stretch: Stretch, leg: Leg, whole: Given) -> Link:
        """What runs a stretch of a trace, of which this is the first leg."""
        of, values = whole.of, whole.values
        results = [(tuple(map(of, view.shape)), view.dtype) for view in stretch.outputs]
        arrays = [tuple(map(of, node.results[0].shape)) for node in sources_of(stretch.nodes)]
        shapes = (*arrays, *(shape for shape, _ in results))
        numbers = leg.told(whole.numbers[0]), [values[symbol] for symbol in stretch.untold]
        return self.link(stretch, Given(values, of, results, shapes, numbers))

    def link(self, stretch: Stretch, given: Given) -> Link:
        """What runs a part of a function on arrays of some sizes."""
        if given.shapes not in stretch.scheduled:
            stretch.scheduled[given.shapes] = self._chosen(stretch, given)
        return Link(stretch, given, self._lowered(stretch))

    def _scheduled(self, traced: Planned, given: Given) -> Runs | None:
        """The same, by what is known of a schedule."""
        scheduled = self._by_numpy(traced, given)
        if (found := self._asked_in_c(scheduled)) is not None:
            return found
        is_faster, is_faster_in_c = self._is_worth_while(traced, given, scheduled)
        is_exact = _is_exact(traced)
        if is_faster_in_c and not is_exact:  # it runs by pieces until then, and no bit may change if there is no C
            is_faster_in_c = self._will_move(traced, given)
        if is_faster_in_c or (is_faster and self._may_move()):
            return self._moving(traced, given, scheduled, stays=is_faster or not is_exact)
        if not is_faster:
            return None
        return scheduled.compile(backend="python" if self.loaded is not None else self._backend)

    def _has_compiler(self) -> bool:
        try:
            return has_loops(MOVED_TO)
        except CompilationError:
            return True  # whoever compiles says why it cannot

    def _will_move(self, traced: Planned, given: Given) -> bool:
        """Whether there is C for anything in a schedule, as far as that is known before it is compiled."""
        from slinky.native.plans import has_exact_code

        if any(map(is_exact_arithmetic, traced.nodes)):
            return self._has_compiler()
        try:
            scheduled = self._by_numpy(traced, given)
            return has_exact_code((self._in_loops(traced, given, scheduled) or scheduled).program)
        except CompilationError:
            return True

    def _asked_in_c(self, scheduled: Pipeline) -> Runs | None:
        """The plan of a schedule by a back end that was asked for, if C does anything in it: what else there is to run
        is NumPy's, and judged as that."""
        if self._backend == "python" or self.loaded is not None:
            return None
        plan = scheduled.compile(backend=self._backend)
        return plan if getattr(plan, "runs_c", False) else None

    def _moving(self, traced: Planned, given: Given, scheduled: Pipeline | None, *, stays: bool) -> Runs | None:
        """What runs a schedule, which is made if it is not there, by its Python plan, and by a native one when that is
        there. Where there will be none, it `stays` with the former, or the function is called as it is. What a process
        has found before is so from the beginning."""
        own, its, shapes = weakref.ref(self), weakref.ref(traced), given.shapes

        def by_numpy() -> Pipeline | None:
            chooser, trace = own(), its()
            return None if chooser is None or trace is None else chooser._by_numpy(trace, given)

        def in_loops(by_numpy: Pipeline) -> Pipeline | None:
            chooser, trace = own(), its()
            return None if chooser is None or trace is None else chooser._in_loops(trace, given, by_numpy)

        def settle(plan: Runs | None) -> None:
            chooser, trace = own(), its()
            if chooser is not None and trace is not None:
                trace.scheduled[shapes] = plan
                chooser._traces.ready.clear()  # they enter what chooses

        is_known, plan = (False, None) if scheduled is None else moved_before(scheduled, in_loops)
        if is_known and scheduled is not None:
            return plan or (scheduled.compile() if stays else None)
        return Move(scheduled, by_numpy, in_loops, self._function.__name__, settle, stays=stays)

    def in_words(self, traced: Traced, leaves: Sequence[Any], values: Mapping[Expr, int]) -> str:
        """What the schedule for such arguments is, and why."""
        if traced.rows is traced and any(map(is_in_columns, traced.arrays(leaves))):
            found = self._as_they_lie(traced, leaves)
            if found is None:
                why = against(traced) if are_in_columns(traced.arrays(leaves)) else "others in another order"
                return f"called as it is: large arrays lie in columns, and {why}"
            if found is not traced:
                told = self.in_words(found, leaves, values)
                return f"its arrays lie in columns, so it runs on their transposes\n{told}"
        given = _given(traced, leaves, values)
        shapes = given.shapes
        if self.loaded is not None and traced.is_a_pipeline:
            plan = self._exported(traced)
            is_exported, exported = self.loaded.find(plan.pipeline, shapes, plan.scalars(*given.numbers))
            if is_exported:
                return exported_in_words(exported)
        if self._legs(traced) is not None:
            return self._legs_in_words(traced, given)
        return self._chosen_in_words(traced, given)

    def _legs_in_words(self, traced: Traced, given: Given) -> str:
        """The same of a trace in legs."""
        found = self._found(traced, given)
        assert isinstance(found, InLegs)
        contest = self._found_contest(traced, given, found)
        lines = [contest_in_words(contest)] if contest is not None else []
        lines += ["called as it is: about as fast as these stretches"] if found.is_plain else []
        return "\n".join([*lines, self.part_in_words(found, 1)])

    def part_in_words(self, part: Link | InLegs, count: int) -> str:
        """The same of a part of a function, which runs so many times."""
        if isinstance(part, InLegs):
            return "\n".join([self.part_in_words(link, link.stretch.count * count) for link in part.links])
        funcs = [node.name for node in part.stretch.nodes if not isinstance(node.operation, Source)]
        often = "once" if count == 1 else f"{count} times"
        return f"{often}, a stretch of {operations_in_words(funcs)}\n{self._chosen_in_words(part.stretch, part.given)}"

    def _chosen_in_words(self, traced: Planned, given: Given) -> str:
        """The same of a graph that runs as one pipeline."""
        shapes = given.shapes
        scheduled = self._by_numpy(traced, given)
        runs = traced.scheduled.get(shapes)
        if shapes in traced.scheduled:  # it is known whether there is C for it
            is_used = runs is not None
        else:
            is_clear, waits = self._at_a_glance(traced, given)
            is_used = waits is not None or (not is_clear and self._asked_in_c(scheduled) is not None)
            is_used = is_used or (not is_clear and any(self._is_worth_while(traced, given, scheduled)))
        contest = self._found_contest(traced, given, runs) if isinstance(traced, Traced) else None
        is_in_loops = getattr(runs, "runs_c", False) and self._moves
        is_in_loops = is_in_loops and self._in_loops(traced, given, scheduled) is not None
        told = _with_reasons(self.plan_in_c(traced) if is_in_loops else self.plan(traced), given)
        return schedule_in_words(told, runs, contest, is_used=is_used)


def _with_reasons(plan: Lowered, given: Given) -> Pipeline:
    """The schedule of a pipeline, made by this process: it knows why it is so."""
    try:
        return plan.pipeline.scheduled_for(*given.shapes, **plan.scalars(*given.numbers))
    except SchedulingError:
        return plan.unscheduled


def _most_bytes(traced: Planned, of: Callable[[Length], int]) -> int:
    """The bytes of all arrays that NumPy makes in a call, whatever the graph of a trace has become."""
    graphs = (traced.nodes, traced.computed) if isinstance(traced, Traced) else (traced.nodes,)
    return max(computed_bytes(each, of) for each in graphs)


def _is_exact(traced: Planned) -> bool:
    """Whether pieces give the bits that the function gives as it is."""
    return all(node.operation.exactness in EXACT_PIECES for node in traced.nodes)


def _given(traced: Traced, leaves: Sequence[Any], values: Mapping[Expr, int]) -> Given:
    """What is known of the arguments of a trace, which are of just these sizes."""
    of = lengths(values)
    results = [(tuple(map(of, view.shape)), view.dtype) for view in traced.outputs]
    arrays = traced.arrays(leaves)
    floats = traced.floats(traced.trace.reals.values(leaves) or ())
    shapes = (*(array.shape for array in arrays), *(shape for shape, _ in results))
    return Given(values, of, results, shapes, (floats, [values[symbol] for symbol in traced.untold]))
