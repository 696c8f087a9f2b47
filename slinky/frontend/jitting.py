"""Functions of arrays that run by pieces: what `sl.jit` makes.

Idea. The function is called with lazy arrays, once for each kind of arguments (`kept_traces`); the graph that comes of
it is lowered to a pipeline, which is scheduled for each range of sizes. Later calls run that. Where anything stands
against it, the function is called as it is.

Invariant: a call gives what the function gives, in values, dtypes and shapes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from slinky.errors import SlinkyError, TracingError
from slinky.frontend.arrays import is_traceable
from slinky.frontend.containers import all_alike, bare_values, is_labelled, labelled_like
from slinky.frontend.contests import MOST_BYTES, InTurn
from slinky.frontend.donating import GivenAsItIsError, parameters_of
from slinky.frontend.explaining import exported_in_words, guards_in_words, schedule_in_words
from slinky.frontend.exporting import Loaded, Settings, asked, export, settings_of
from slinky.frontend.foreign import RaisedError, foreign
from slinky.frontend.fusing import inlined, inlined_in_c
from slinky.frontend.given import lazy_arrays
from slinky.frontend.kept_traces import KEPT_TRACES, Rules, Traces, in_words
from slinky.frontend.lowering import Lowered
from slinky.frontend.nodes import Array, Source
from slinky.frontend.reading import Reads
from slinky.frontend.running import OtherFloatsError, at_once, runner, without_arrays
from slinky.frontend.seeing import with_traced_numpy
from slinky.frontend.sizes import Length, lengths
from slinky.frontend.tables import ANY_PIECES, EXACT_PIECES
from slinky.frontend.to_native import Move, Runs, may_move
from slinky.frontend.traced import Shapes, Traced
from slinky.frontend.tracing import (
    PLANS,
    SMALL_BYTES,
    Trace,
    func_title,
    scheduled_for,
)
from slinky.frontend.trees import exact_kind, leaves_of, loose_kind, with_leaves
from slinky.frontend.trials import Trial
from slinky.frontend.worth import computed_bytes, estimate
from slinky.ir.reducing import ChangedResultError
from slinky.pipeline import Pipeline
from slinky.runtime.backends import has_loops
from slinky.symbolic.expressions import Expr

Function = TypeVar("Function", bound=Callable[..., Any])

LOOKS = 4
"""How many times a function is traced in vain to see whether it makes large arrays of small ones."""

_OWN_RULES = "containers have rules of their own for what it does"


class Jit:
    """A function of arrays that runs by pieces; see `jit`."""

    __slinky_jit__ = True

    def __init__(
        self,
        function: Callable[..., Any],
        strict: bool,
        smallest: int | None,
        options: dict[str, Any],
        backend: str = "python",
        donate: tuple[str, ...] = (),
        by_pieces: frozenset[str] = ANY_PIECES,
        moves: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__slinky_function__ = function
        self._function = function
        self._as_written = function
        self._by_labels: list[Any] = []
        self._strict = strict
        self._given_smallest = smallest
        self._smallest = SMALL_BYTES if smallest is None else smallest
        self._looks = LOOKS if smallest is None else 0
        self._chooses = smallest is None and backend == "python" and "max_bytes" not in options
        self._options = options
        self._backend = backend
        self._donate = donate
        self._by_pieces = by_pieces
        self._moves = moves
        self._loaded: Loaded | None = None
        rules = Rules(strict, options, by_pieces, donate)
        self._traces = Traces(function, rules, lambda *given: self._call_lazily(*given))
        self._ready = self._traces.ready
        self._trials: dict[Hashable, Trial] = {}
        self._calls = self._last_traced = 0
        self._plain = self._called
        self._warned = False

    def __repr__(self) -> str:
        return f"<jit of {self._function.__qualname__}>"

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        """What the function gives for these arguments."""
        self._calls += 1
        if self._ready and not named:
            try:
                kind = exact_kind(given, with_floats=False)
                ready = self._ready.get(kind) or self._ready.get(exact_kind(given))
            except RecursionError:
                return self._as_written(*given)  # a list that is in itself
            if ready is self._plain:
                return self._as_written(*given)
            if ready is not None and (reads := self._traces.reads) is not None and reads.hold():
                try:
                    return ready(given)
                except (ChangedResultError, GivenAsItIsError) as error:
                    return self._as_it_is(given, named, error)
                except OtherFloatsError:
                    pass
                except Exception as error:
                    if not self._traces.may_be_caught(error):
                        raise
                    return self._as_written(*given)
        try:
            is_part = bool(lazy_arrays((given, named)))
            leaves = [leaf for _, leaf in leaves_of((given, named))]
        except RecursionError:
            return self._as_written(*given, **named)  # a list that is in itself, or in a thousand others
        if is_part:
            return self._as_written(*given, **named)  # part of another trace
        if any(map(is_labelled, leaves)):
            return self._labelled(given, named, leaves)
        arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        if not _may_trace(leaves, arrays):
            return self._as_written(*given, **named)
        if max(a.nbytes for a in arrays) < self._smallest and not self._makes_large(given, named, leaves, arrays):
            self._remember(given, named, self._plain)
            return self._as_written(*given, **named)
        if any(a.size == 0 for a in arrays):
            return self._as_written(*given, **named)
        return self._run(given, named, leaves)

    def _run(self, given: Any, named: Any, leaves: list[Any]) -> Any:
        if self._donate and not self._traces.may_write(given, named):
            return self._as_written(*given, **named)
        key = self._traces.key(given, named)
        traced = None if key is None else self._traces.kept(key, leaves)
        if traced is not None:
            return self._run_traced(traced, given, named, leaves, is_kept=True)
        kind = loose_kind((given, named), with_floats=False)
        if kind in self._traces.refused:
            return self._as_written(*given, **named)
        trial, before = self._trial(kind, leaves), time.perf_counter()
        if trial.is_plain and trial.is_new(self._traces.exact_key(given, named)):
            return self._as_written(*given, **named)
        if self._calls > self._last_traced + 1:
            trial.restart()
        self._last_traced = self._calls
        if trial.wants_plain and "max_bytes" not in self._options:
            result = self._as_written(*given, **named)
            trial.took_plainly(time.perf_counter() - before)
            return result
        failed: Exception | None = None
        try:
            made = self._traces.make(given, named, kind)
        except Exception as error:
            if not self._traces.may_be_of_tracing(error):
                raise
            made, failed = None, error
            self._traces.note_change()
        if made is None:
            result = self._as_written(*given, **named)  # it raises errors in NumPy's words
            if failed is not None:
                self._traces.failed(kind, failed)
            return result
        traced = self._warned_of(made)
        is_kept = self._traces.is_kept(traced, key)
        result = self._run_traced(traced, given, named, leaves, is_kept=is_kept)
        trial.took(time.perf_counter() - before, is_kept=is_kept)
        return result

    def _run_traced(self, traced: Traced, given: Any, named: Any, leaves: list[Any], *, is_kept: bool) -> Any:
        """What a trace gives. The function as it is may be called in its place if the trace is kept, for then it does
        nothing else; else it would do that twice."""
        values = traced.trace.sizes(leaves)
        run = None if traced.has_no_elements(values) else self._run_for(traced, leaves, values)
        if is_kept and not traced.has_no_elements(values):
            reals = traced.trace.reals
            self._remember(given, named, run or self._plain, with_floats=run is not None and reals.asks_for_values)
        if run is None:
            return self._as_written(*given, **named) if is_kept else at_once(traced, leaves, lengths(values))
        try:
            return run.take(given, named, leaves) if isinstance(run, InTurn) else run(leaves)
        except (ChangedResultError, GivenAsItIsError) as error:
            if not (is_kept or traced.written) and isinstance(error, GivenAsItIsError):
                return at_once(traced, leaves, lengths(values))
            return self._as_it_is(given, named, error)
        except Exception as error:
            if not self._traces.may_be_caught(error):
                raise
            return self._as_written(*given, **named)

    def _trial(self, kind: Hashable, leaves: Sequence[Any]) -> Trial:
        """What is known of calls with arguments of such a kind and size, whatever floats are among them, that are
        traced."""
        sizes = (kind, *(leaf.shape for leaf in leaves if isinstance(leaf, np.ndarray)))
        if sizes not in self._trials and len(self._trials) >= KEPT_TRACES:
            self._trials.clear()
        return self._trials.setdefault(sizes, Trial())

    def __reduce__(self) -> Any:
        """By its name, as functions are pickled; else with the function."""
        found: Any = sys.modules.get(self._function.__module__)
        for name in self._function.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return self._function.__qualname__
        settings = (self._strict, self._given_smallest, self._options, self._backend, self._donate)
        return Jit, (self._function, *settings, self._by_pieces, self._moves)

    def _labelled(self, given: Any, named: Any, leaves: Sequence[Any]) -> Any:
        """Run on what is in containers with labels, and put results into such, if that is sure to be the same."""
        from slinky.frontend.labelled import CalledAsItIsError, JitOfLabels

        own = self._of_containers(given, named, leaves)
        bare, bare_named = with_leaves((given, named), bare_values)
        try:
            if isinstance(own, JitOfLabels):
                return own.run(bare, bare_named)
        except CalledAsItIsError:
            own = None
        if own is None:
            return self._function(*given, **named)
        put = labelled_like([leaf for leaf in leaves if is_labelled(leaf)])
        return with_leaves(self(*bare, **bare_named), lambda leaf: put(leaf) if isinstance(leaf, np.ndarray) else leaf)

    def _of_containers(self, given: Any, named: Any, leaves: Sequence[Any]) -> Jit | None:
        """What runs on the elements of containers: this, where labels do not matter; one for arrays of xarray's with
        these labels; None where the function is called as it is."""
        from slinky.frontend.labelled import of_labels

        labelled = [leaf for leaf in leaves if is_labelled(leaf)]
        if self._donate:
            return None
        if all_alike(labelled):
            bare, bare_named = with_leaves((given, named), bare_values)
            try:
                with foreign():
                    traced, _ = self._asked(bare, bare_named)
            except RaisedError as error:  # it asks for what only containers have, or takes
                if isinstance(error.__cause__, SlinkyError):
                    raise error.__cause__ from None
                traced = None
            numbers = {number for number, leaf in enumerate(leaves) if is_labelled(leaf)}
            if traced is not None and traced.keeps_labels(labelled[0].ndim, numbers):
                return self
        return of_labels(self, self._by_labels, leaves)

    def _called(self, given: Any) -> Any:
        """Call the function as it is."""
        return self._as_written(*given)

    def _remember(self, given: Any, named: Any, run: Callable[[Any], Any], *, with_floats: bool = False) -> None:
        """What to do when arguments of just this kind come again, with these floats or any others."""
        kind = None if named else exact_kind(given, with_floats=with_floats or not self._traces.tells_floats)
        if kind is not None:
            self._traces.remember(kind, run)

    def _as_it_is(self, given: Any, named: Any, error: Exception) -> Any:
        """Call the function as it is: now, if these arguments share memory; later, too, if it does something whose
        shape or dtype depends on values."""
        if isinstance(error, GivenAsItIsError):
            return self._as_written(*given, **named)
        self._traces.forget(*self._traces.kinds(given, named), str(error))
        return self._as_written(*given, **named)

    def _run_for(
        self, traced: Traced, leaves: Sequence[Any], values: Mapping[Expr, int]
    ) -> Callable[[Any], Any] | None:
        """What runs a trace on arguments of just these sizes; None where the function itself is as good."""
        of = lengths(values)
        shapes = [(tuple(map(of, view.shape)), view.dtype) for view in traced.outputs]
        if not shapes:
            return without_arrays(traced, of)
        plan = self._plan(traced)
        arrays, empty, scalars = self._arguments(traced, plan, leaves, values)
        run = self._scheduled(traced, plan, arrays, empty, scalars, of)
        if run is None:
            return None
        workers = self._options.get("workers")
        runs = runner(traced, run, shapes, scalars, plan.floats, of, workers, chooses=self._chooses)
        return self._tried(traced, tuple(array.shape for array in (*arrays, *empty)), run, runs, of)

    def _may_be_tried(self, traced: Traced, of: Callable[[Length], int]) -> bool:
        """Whether calls may be run as they are to see who is faster: the function does nothing but what was traced,
        which of the two ran shows in nothing but time, and it takes little memory."""
        if not self._chooses or self._loaded is not None or not self._traces.keeps(traced):
            return False
        is_exact = all(node.operation.exactness in EXACT_PIECES for node in traced.nodes)
        return is_exact and computed_bytes(traced.nodes, of) <= MOST_BYTES

    def _tried(
        self,
        traced: Traced,
        shapes: Shapes,
        plan: Runs,
        runs: Callable[[Any], Any],
        of: Callable[[Length], int],
    ) -> Callable[[Any], Any] | None:
        """What runs calls of these shapes while it is not known who is faster, and who is, then."""
        contest = traced.contest(shapes, plan, lambda: self._may_be_tried(traced, of))
        if contest is None:
            return runs
        waits = isinstance(plan, Move) and contest.is_plain
        if contest.is_over and not waits:
            return None if contest.is_plain else runs
        return InTurn(contest, shapes, plan, runs, self._as_written, self._ready.clear)

    def _is_worth_while(self, scheduled: Pipeline, traced: Traced, of: Callable[[Length], int]) -> tuple[bool, bool]:
        """Whether a schedule is enough faster than the function itself, on the machine that it is made for: by NumPy's
        loops, and if not, by loops in C when it has moved there."""
        from slinky.sched.machines import this_machine
        from slinky.sched.measured_functions import element_seconds, usual_seconds

        if not self._chooses:
            return True, False
        given = self._options.get("machine")
        seconds_of = element_seconds if given is None else usual_seconds
        found = estimate(scheduled, traced.nodes, of, given or this_machine(), seconds_of)
        if found is None:
            return False, False
        is_tried = self._may_be_tried(traced, of)
        if found.is_faster or (is_tried and found.may_be_faster):
            return True, False
        in_c = found.may_be_faster_in_c if is_tried else found.is_faster_in_c
        return False, in_c and self._may_move()

    def _may_move(self) -> bool:
        """Whether schedules may move to C by themselves."""
        return self._moves and self._loaded is None and may_move()

    def _plan(self, traced: Traced) -> Lowered:
        """The pipeline of a trace."""
        if traced.plan is None:
            name = func_title(self._function.__name__)
            is_made_for_python = self._backend == "python" or self._loaded is not None
            options = self._options if is_made_for_python else {**self._options, "backend": self._backend}
            fusing = inlined_in_c if self._runs_loops() else inlined
            traced.plan = PLANS.of(traced.nodes, traced.outputs, name, options, self._by_pieces, fusing)
        return traced.plan

    def _runs_loops(self) -> bool:
        """Whether arithmetic runs in loops in C: compiled here, or by whoever exported them."""
        return self._backend != "python" and (self._loaded is not None or has_loops(self._backend))

    def _scheduled(
        self,
        traced: Traced,
        plan: Lowered,
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
        if self._loaded is not None:
            is_there, found = self._loaded.find(plan.pipeline, [*arrays, *outputs], scalars)
            if is_there:
                traced.scheduled[key] = found
                return found
        scheduled = scheduled_for(plan.pipeline, arrays, outputs, scalars)
        is_faster, is_faster_in_c = self._is_worth_while(scheduled, traced, of)
        if not (is_faster or is_faster_in_c):
            found = None
        elif self._may_move():
            found = self._moving(traced, key, scheduled, stays=is_faster)
        else:
            found = scheduled.compile(backend="python" if self._loaded is not None else self._backend)
        if len(traced.scheduled) > KEPT_TRACES:
            traced.scheduled.clear()
            traced.asked.clear()
        traced.scheduled[key] = found
        traced.asked[key] = asked(plan.pipeline, [*arrays, *outputs], scalars, None if found is None else scheduled)
        return found

    def _moving(self, traced: Traced, key: Hashable, scheduled: Pipeline, *, stays: bool) -> Move:
        """What runs a schedule by its Python plan, and by its native one when that is there. Where there will be none,
        it `stays` with the former, or the function is called as it is."""
        own, of = weakref.ref(self), weakref.ref(traced)

        def settle(plan: Runs, runs_c: bool) -> None:
            jit, trace = own(), of()
            if jit is not None and trace is not None:
                trace.scheduled[key] = plan if stays or runs_c else None
                jit._ready.clear()  # they enter what chooses

        return Move(scheduled, self._function.__name__, settle, stays=stays)

    def _call_lazily(self, trace: Trace, arguments: Any, keywords: Any) -> Any:
        """What the function gives for lazy arrays."""
        reads = self._traces.reads
        read = () if reads is None else reads.functions
        return with_traced_numpy(self._function, read, trace)(*arguments, **keywords)

    def _warned_of(self, traced: Traced) -> Traced:
        """A new trace; the first time that it cannot be kept, a warning says so."""
        if traced.trace.reasons and not self._warned:
            self._warned = True
            traced.trace.warn()
        return traced

    def _makes_large(self, given: Any, named: Any, leaves: list[Any], arrays: Sequence[Array]) -> bool:
        """Whether the function makes large arrays of small ones, such as one for all pairs: it is traced to see that,
        unless it was in vain too often."""
        if not self._may_make_large(arrays) or (self._donate and not self._traces.may_write(given, named)):
            return False
        key, kind = self._traces.kinds(given, named)
        traced = None if key is None else self._traces.kept(key, leaves)
        if traced is None and key is not None and kind not in self._traces.refused and self._looks:
            self._looks -= 1
            with contextlib.suppress(RaisedError), foreign():  # whatever it is, the function as it is will tell
                traced = self._traces.make(given, named, kind)
        if traced is None or traced.trace.reasons:
            return False
        is_large = traced.makes(self._smallest, lengths(traced.trace.sizes(leaves)))
        if is_large:
            self._looks = LOOKS
        return is_large

    def _may_make_large(self, arrays: Sequence[Array]) -> bool:
        """Whether all pairs of elements of small arrays are no small array, where nobody said what is small."""
        return self._given_smallest is None and max(a.size * a.nbytes for a in arrays) >= self._smallest

    # What a person asks -------------------------------------------------------------------------------------------

    def wait_native(self, seconds: float | None = None) -> bool:
        """Have all schedules that run by NumPy's loops so far moved to C, and wait for that, or for so many seconds.

        Without it, they move when they have run for a while. Returns whether all are where they stay: in C, as far as
        that does what they do (`explain` says so), or as they are, where there is no compiler or it fails.
        """
        end = None if seconds is None else time.monotonic() + seconds
        moves = [plan for traced in self._traces for plan in traced.scheduled.values() if isinstance(plan, Move)]
        are_begun = [move.begin() for move in moves]
        return all([move.wait(None if end is None else max(end - time.monotonic(), 0)) for move in moves] + are_begun)

    def export(self, directory: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write what the function has been called for so far to a folder, for processes that must not compile (`load`):
        schedules, compiled code with its C text, and for which arrays. Returns these, in words.

        One folder takes any number of functions. `docs/native.md` says what it has to fit. Raises `ExportError` where
        there is nothing to write, or no place for it; `CompilationError` where there is no C compiler, or it fails.
        """
        return export(directory, self._settings(), [each for t in self._traces for each in t.asked.values()])

    def load(self, directory: str | os.PathLike[str]) -> None:
        """Use what `export` has written to a folder: for arrays as large as those, nothing is scheduled or compiled.
        For others, schedules are made, and run by NumPy's loops: a function that was loaded starts no compiler.

        Raises `ExportError` for what does not fit (another slinky, processor, source or decorator), is not as it was
        written, or lies where others can write.
        """
        self._loaded = Loaded(directory, self._settings())
        self._ready.clear()
        for traced in self._traces:
            traced.plan = None
            traced.scheduled.clear()
            traced.asked.clear()

    def _settings(self) -> Settings:
        """What is exported depends on, beside the arrays."""
        others = (self._strict, self._smallest, self._chooses, self._donate, sorted(self._by_pieces))
        backend = "native-exact" if self._moves else self._backend
        return settings_of(self._function, backend, self._options, others)

    def pipeline(self, /, *given: Any, **named: Any) -> Pipeline:
        """The pipeline that runs for such arguments, not scheduled: print it, check it, schedule it by hand.

        Raises `TracingError` where there is none: the function does nothing with its arrays, or cannot be traced.
        """
        own = self._asked_of(given, named)
        given, named = with_leaves((given, named), bare_values)
        if own is not None and own is not self:
            return own.pipeline(*given, **named)
        traced, why = self._asked(given, named) if own is not None else (None, _OWN_RULES)
        if traced is None or not traced.outputs:
            raise TracingError(f"{self._function.__name__} has no pipeline: {why or 'it computes nothing'}")
        values = traced.trace.sizes([leaf for _, leaf in leaves_of((given, named))])
        if traced.has_no_elements(values):
            raise TracingError(f"{self._function.__name__} is called as it is where arrays have no elements")
        return Pipeline(self._plan(traced).pipeline._version)

    def explain(self, /, *given: Any, **named: Any) -> str:
        """What becomes of the function for such arguments: what is computed how, and what it is good for."""
        own = self._asked_of(given, named)
        given, named = with_leaves((given, named), bare_values)
        if own is not None and own is not self:
            return own.explain(*given, **named)
        try:
            traced, why = self._asked(given, named) if own is not None else (None, _OWN_RULES)
        except Exception as error:
            if not self._traces.may_be_of_tracing(error):
                raise
            traced, why = None, in_words(error)
        name = self._function.__name__
        if traced is None:
            return f"{name} is called as it is: {why}"
        funcs = [node.name for node in traced.nodes if not isinstance(node.operation, Source)]
        lines = [f"{name} is traced: {len(funcs)} operations: {', '.join(funcs) or 'none'}"]
        lines += [f"writes to {self._leaf_name(given, named, n)}" for n in sorted({w.number for w in traced.written})]
        lines += [f"at once: {fence}" for fence in traced.trace.fences]
        whole = [n.name for n in traced.nodes if n.operation.exactness not in self._by_pieces]
        lines += [f"as one piece: {', '.join(whole)}"] if whole else []
        lines += guards_in_words(traced.trace, [n for _, n, _ in parameters_of(self._function, given, named)])
        reads = Reads(self._function)
        against = [*traced.trace.reasons, *([reads.reason] if reads.reason else [])]
        lines += [f"traced at each call: {why}" for why in against]
        arrays = [leaf for _, leaf in leaves_of((given, named)) if isinstance(leaf, np.ndarray)]
        values = traced.trace.sizes([leaf for _, leaf in leaves_of((given, named))])
        is_small = max((a.nbytes for a in arrays), default=0) < self._smallest
        if is_small and not (self._may_make_large(arrays) and traced.makes(self._smallest, lengths(values))):
            lines.append(f"called as it is: all arrays take less than {self._smallest} bytes")
        if traced.outputs and not traced.has_no_elements(values):
            lines.append(self._schedule(traced, given, named, values))
        return "\n".join(lines)

    def _asked_of(self, given: Any, named: Any) -> Jit | None:
        """What runs for such arguments; None where the function is called as it is, by containers' own rules."""
        try:
            leaves = [leaf for _, leaf in leaves_of((given, named))]
        except RecursionError:
            raise TracingError(f"{self._function.__name__} is called as it is where lists are in themselves") from None
        return self._of_containers(given, named, leaves) if any(map(is_labelled, leaves)) else self

    def _schedule(self, traced: Traced, given: Any, named: Any, values: Mapping[Expr, int]) -> str:
        """What the schedule for such arguments is, and why."""
        leaves = [leaf for _, leaf in leaves_of((given, named))]
        plan = self._plan(traced)
        arrays, empty, scalars = self._arguments(traced, plan, leaves, values)
        if self._loaded is not None:
            is_exported, exported = self._loaded.find(plan.pipeline, [*arrays, *empty], scalars)
            if is_exported:
                return exported_in_words(exported)
        key = tuple(array.shape for array in (*arrays, *empty))
        scheduled = scheduled_for(plan.pipeline, arrays, empty, scalars)
        is_used = any(self._is_worth_while(scheduled, traced, lengths(values)))
        runs = traced.scheduled.get(key)
        if key in traced.scheduled:  # it is known whether there is C for it
            is_used = runs is not None
        contest = None if runs is None else traced.found_contest(key, runs)
        return schedule_in_words(scheduled, runs, contest, is_used=is_used)

    @staticmethod
    def _arguments(
        traced: Traced, plan: Lowered, leaves: Sequence[Any], values: Mapping[Expr, int]
    ) -> tuple[list[Array], list[Array], dict[str, Any]]:
        """What a pipeline is given for arguments of just these sizes: arrays, arrays to fill, and numbers."""
        of = lengths(values)
        arrays = [array if number is None else leaves[number] for number, array in traced.sources]
        empty = [np.empty(tuple(map(of, view.shape)), view.dtype) for view in traced.outputs]
        floats = traced.floats(traced.trace.reals.values(leaves) or ())
        return arrays, empty, plan.scalars(floats, [values[symbol] for symbol in traced.untold])

    def _leaf_name(self, given: Any, named: Any, number: int) -> str:
        return parameters_of(self._function, given, named)[number][1]

    def _asked(self, given: Any, named: Any) -> tuple[Traced | None, str]:
        """The trace for arguments, or why there is none."""
        leaves = [leaf for _, leaf in leaves_of((given, named))]
        if not _may_trace(leaves, [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]):
            return None, "its arguments are no arrays of numbers"
        key, kind = self._traces.kinds(given, named)
        traced = None if key is None else self._traces.kept(key, leaves)
        if traced is None and kind not in self._traces.refused:
            made = self._traces.make(given, named, kind)
            traced = None if made is None else self._warned_of(made)
        return traced, self._traces.refused.get(kind, "it cannot be traced")


def _may_trace(leaves: Sequence[Any], arrays: Sequence[Any]) -> bool:
    """Whether there are arrays, all of them of numbers."""
    return bool(arrays) and all(is_traceable(array) for array in arrays)
