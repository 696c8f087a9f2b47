"""Functions of arrays that run by pieces: what `sl.jit` makes.

Idea. The function is called with lazy arrays, once for each kind of arguments (`kept_traces`); what runs the trace that
comes of it is chosen for each range of sizes (`choosing`). Later calls run that. Where anything stands against it, the
function is called as it is.

Invariant: a call gives what the function gives, in values, dtypes and shapes.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from slinky.errors import SlinkyError, TracingError, cited
from slinky.frontend.abandoning import Abandoned
from slinky.frontend.arrays import is_traceable
from slinky.frontend.bound import BoundJit
from slinky.frontend.choosing import MOVED_TO, Chooser
from slinky.frontend.containers import (
    all_alike,
    bare_values,
    is_labelled,
    is_table,
    labelled_like,
    names_of,
    without_name,
)
from slinky.frontend.contests import InTurn
from slinky.frontend.donating import GivenAsItIsError, parameters_of
from slinky.frontend.explaining import each_once, guards_in_words, operations_in_words
from slinky.frontend.exporting import Loaded, Settings, export, settings_of
from slinky.frontend.forced import ForcedValues
from slinky.frontend.foreign import RaisedError, foreign
from slinky.frontend.given import lazy_arrays
from slinky.frontend.kept_traces import KEPT_TRACES, Rules, Traces, in_words
from slinky.frontend.making import LONG_SECONDS, Making
from slinky.frontend.nodes import Array, Source
from slinky.frontend.opened import CAPTURED
from slinky.frontend.opening import Closing, Opening, may_open
from slinky.frontend.running import OtherFloatsError, at_once
from slinky.frontend.seeing import Sight
from slinky.frontend.setting import names_set, settled
from slinky.frontend.sizes import lengths
from slinky.frontend.stand_ins import StandIns
from slinky.frontend.tables import ANY_PIECES
from slinky.frontend.to_native import Moving
from slinky.frontend.traced import Traced
from slinky.frontend.tracing import SMALL_BYTES, Trace
from slinky.frontend.trees import exact_kind, flat, leaves_of, loose_kind, with_leaves
from slinky.frontend.trials import Trial
from slinky.ir.given import as_float
from slinky.ir.reducing import ChangedResultError
from slinky.pipeline import Pipeline

Function = TypeVar("Function", bound=Callable[..., Any])

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
        carrier: Callable[..., Any] | None = None,
    ) -> None:
        """Of a function that somebody has given some of its arguments already, `carrier` is that with these."""
        functools.update_wrapper(self, function)
        self.__slinky_function__ = function
        self._function = function
        self._carrier = carrier or function
        self._as_written = function
        self._by_labels: list[Any] = []
        self._strict = strict
        self._given_smallest = smallest
        self._smallest = SMALL_BYTES if smallest is None else smallest
        self._chooses = smallest is None and "max_bytes" not in options
        self._options = options
        self._backend = backend
        self._donate = donate
        self._by_pieces = by_pieces
        self._moves = moves
        rules = Rules(strict, options, by_pieces, donate, chooses=self._chooses)
        self._traces = Traces(function, rules, lambda *given: self._call_lazily(*given))
        self._making = Making(self._traces, self._smallest, is_given=smallest is not None)
        self._ready = self._traces.ready
        self._chooser = Chooser(function, rules, self._traces, backend, moves=moves)
        self._forced = ForcedValues(self._chooser)
        self._trials: dict[Hashable, Trial] = {}
        self._calls = self._last_traced = 0
        self._plain = self._called
        self._refused = self._called
        """The same, as long as the function reads what it read."""
        self._opening: Opening | None = None
        self._warned = False

    def __repr__(self) -> str:
        return f"<jit of {self._function.__qualname__}>"

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else BoundJit(self, (owner,))

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        """What the function gives for these arguments."""
        self._calls += 1
        reads = self._traces.reads
        if reads is not None and reads.effect is not None and not self._strict and reads.hold():
            return self._as_written(*given, **named)
        own, own_named = given, named
        if self._opening is not None:
            given, named = self._opening.opened(given, named)
        if self._ready:
            try:
                kind = exact_kind(given, named, with_floats=False)
                ready = self._ready.get(kind) or self._ready.get(exact_kind(given, named))
            except RecursionError:
                return self._as_written(*given, **named)  # a list that is in itself
            if ready is self._plain or (ready is self._refused and self._holds()):
                return self._as_written(*given, **named)
            if isinstance(ready, InTurn) and ready.waits:
                return ready.while_waiting(given, named)
            if ready is not None and self._holds() and self._traces.may_stand(given, named):
                try:
                    leaves = flat(given, named)
                    found = ready.take(given, named, leaves) if isinstance(ready, InTurn) else ready(leaves)
                except (ChangedResultError, GivenAsItIsError) as error:
                    return self._as_it_is(given, named, error)
                except OtherFloatsError:
                    pass
                except Exception as error:
                    if not self._traces.may_be_caught(error):
                        raise
                    return self._as_written(*given, **named)
                else:
                    return settled(found, given, named)
        try:
            is_part = bool(lazy_arrays((given, named)))
            leaves = [leaf for _, leaf in leaves_of((given, named))]
            are_labelled = any(map(is_labelled, leaves))
            arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        except Exception:  # of a list that is in itself, or in a thousand others; or of what is asked for its class
            return self._as_written(*given, **named)
        if is_part:
            return self._as_written(*given, **named)  # part of another trace
        if are_labelled:
            return self._labelled(own, own_named, [leaf for _, leaf in leaves_of((own, own_named))])
        if self._opening is None and may_open((*given, *named.values()), leaves):
            self._open()
            return self(*given, **named)
        may_trace = _may_trace(arrays)
        if not (arrays and may_trace):
            effect = self._traces.reads_now().effect if self._strict else None
            if effect is not None:  # for which objects were left as they are, with their arrays
                self._traces.give_up(loose_kind((given, named)), effect)
        if not may_trace:
            return self._as_written(*given, **named)
        if any(a.size == 0 for a in arrays):
            return self._as_written(*given, **named)
        if arrays and max(a.nbytes for a in arrays) >= self._smallest:
            return self._run(given, named, leaves)
        return self._run_small(given, named, leaves, arrays)

    def _holds(self) -> bool:
        """Whether the function reads what it read; where objects are opened, that was asked for them."""
        reads = self._traces.reads
        return reads is not None and (self._opening is not None or reads.hold())

    def _opened(self, given: Any, named: Any) -> tuple[Any, Any]:
        """Arguments as calls have them."""
        leaves = [leaf for _, leaf in leaves_of((given, named))]
        if self._opening is None and (self._traces.reads_now().captured or may_open((*given, *named.values()), leaves)):
            self._open()
        return (given, named) if self._opening is None else self._opening.opened(given, named)

    def _open(self) -> None:
        """From now on, look into the objects that come as arguments."""
        self._opening = Opening(self._function, self._traces)
        self._as_written = Closing(self._as_written)

    def _run_small(self, given: Any, named: Any, leaves: list[Any], arrays: Sequence[Array]) -> Any:
        """Run the function as it is, unless it makes large arrays of small ones. Where it has been traced to see that,
        and the trace is not kept, it has done what it does beside results."""
        kind = exact_kind(given, named, with_floats=not self._traces.tells_floats)
        traced, is_new = None, False
        if not self._donate or self._traces.may_write(given, named):
            traced, is_new = self._making.looked_at(given, named, leaves, arrays, kind)
        is_large = traced is not None and self._making.is_large(traced, leaves)
        if traced is not None and is_new:
            if is_large:
                return self._run_traced(traced, given, named, leaves, is_kept=False)
            self._remember(given, named, self._plain)
            try:
                found = at_once(traced, leaves, lengths(traced.trace.sizes(leaves)))
            except Exception as error:
                if not (isinstance(error, GivenAsItIsError) or self._traces.may_be_caught(error)):
                    raise
                return self._as_written(*given, **named)
            return settled(found, given, named)
        if is_large:
            return self._run(given, named, leaves)
        if traced is not None or not self._making.waits_for(kind):
            self._remember(given, named, self._plain)
            return self._as_written(*given, **named)
        start = time.perf_counter()
        result = self._as_written(*given, **named)
        if not self._making.took(kind, time.perf_counter() - start):
            self._remember(given, named, self._plain)
        elif self._opening is None and self._traces.reads_now().captured:
            self._open()
        return result

    def _run(self, given: Any, named: Any, leaves: list[Any]) -> Any:
        if self._opening is None and self._traces.reads_now().captured:
            given, named = self._opened(given, named)
            leaves = [leaf for _, leaf in leaves_of((given, named))]
        if self._donate and not self._traces.may_write(given, named):
            return self._as_written(*given, **named)
        key = self._traces.key(given, named)
        traced = self._traces.kept(key, given, named, leaves)
        if traced is not None:
            return self._run_traced(traced, given, named, leaves, is_kept=True)
        kind = loose_kind((given, named), with_floats=False)
        if self._traces.refusal(kind, leaves) is not None:
            self._remember(given, named, self._refused)
            return self._as_written(*given, **named)
        trial, before, known = self._trial(kind, leaves), time.perf_counter(), self._forced.known
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
        result = self._run_traced(traced, given, named, leaves, is_kept=traced.lives_on)
        seconds, learned = time.perf_counter() - before, self._forced.known != known
        trial.took(seconds, is_kept=traced.lives_on, learned=learned)
        return result

    def _run_traced(self, traced: Traced, given: Any, named: Any, leaves: list[Any], *, is_kept: bool) -> Any:
        """What a trace gives. The function as it is may be called in its place if the trace is kept, for then it does
        nothing else; else it would do that twice."""
        values = traced.trace.sizes(leaves)
        is_empty = traced.has_no_elements(values)
        run = None if is_empty else self._chooser.run_for(traced, leaves, values, self._as_written)
        if is_kept and not is_empty and self._traces.keeps(traced):  # else another thread has seen a change
            trace = traced.trace
            for_these_floats = trace.reals.asks_for_values or not trace.tells_floats
            self._remember(given, named, run or self._plain, with_floats=run is not None and for_these_floats)
        if run is None:
            if is_kept:
                return self._as_written(*given, **named)
            return self._at_once(traced, given, named, leaves, values)
        try:
            found = run.take(given, named, leaves) if isinstance(run, InTurn) else run(leaves)
        except (ChangedResultError, GivenAsItIsError) as error:
            if not (is_kept or traced.written) and isinstance(error, GivenAsItIsError):
                return self._at_once(traced, given, named, leaves, values)
            return self._as_it_is(given, named, error)
        except Exception as error:
            if not self._traces.may_be_caught(error):
                raise
            return self._as_written(*given, **named)
        return settled(found, given, named)

    def _at_once(self, traced: Traced, given: Any, named: Any, leaves: list[Any], values: Any) -> Any:
        """What a trace gives that has just been made for these arguments."""
        try:
            found = at_once(traced, leaves, lengths(values))
        except GivenAsItIsError:
            return self._as_written(*given, **named)
        return settled(found, given, named)

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

        own, are_labelled = self._of_containers(given, named, leaves)
        bare, bare_named = with_leaves((given, named), bare_values)
        try:
            if isinstance(own, JitOfLabels):
                return own.run(bare, bare_named)
        except CalledAsItIsError:
            own = None
        if own is None:
            return self._function(*given, **named)
        labelled = [leaf for leaf in leaves if is_labelled(leaf)]
        put = labelled_like(labelled)
        if any(names_of(labelled)):
            put = without_name(put)
        are = iter(are_labelled)
        return with_leaves(self(*bare, **bare_named), lambda leaf: put(leaf) if next(are) else leaf)

    def _of_containers(self, given: Any, named: Any, leaves: Sequence[Any]) -> tuple[Jit | None, tuple[bool, ...]]:
        """What runs on the elements of containers: this, where labels do not matter, with which leaves of the result
        have labels; one for arrays of xarray's with these labels; None where the function is called as it is."""
        from slinky.frontend.labelled import of_labels

        labelled = [leaf for leaf in leaves if is_labelled(leaf)]
        if self._donate or self._traces.reads_now().sets:  # whose labels nobody knows
            return None, ()
        given, named = self._opened(given, named)
        kept = self._goes_by_places(given, named, labelled) if all_alike(labelled) else None
        return (of_labels(self, self._by_labels, given, named), ()) if kept is None else (self, kept)

    def _goes_by_places(self, given: Any, named: Any, labelled: Sequence[Any]) -> tuple[bool, ...] | None:
        """Which leaves of the result have labels if labels, which are alike, do not matter, where arguments may have
        been opened. None where they do: it is not asked again for such arguments."""
        bare, bare_named = with_leaves((given, named), bare_values)
        in_tables, names = is_table(labelled[0]), names_of(labelled)
        kind = in_tables, tuple(names), loose_kind((bare, bare_named), with_floats=False)
        if self._traces.are_good() and kind in self._traces.by_labels:
            return None
        try:
            with foreign():
                traced, _ = self._asked(bare, bare_named)
        except RaisedError as error:  # it asks for what only containers have, or takes
            if isinstance(error.__cause__, SlinkyError):
                raise error.__cause__ from None
            traced = None
        leaves = enumerate(leaf for _, leaf in leaves_of((given, named)))
        numbers = dict(zip((number for number, leaf in leaves if is_labelled(leaf)), names, strict=True))
        kept = None if traced is None else traced.labelled_leaves(labelled[0].ndim, numbers, in_tables=in_tables)
        if kept is None:
            self._traces.by_labels.add(kind)
        return kept

    def _called(self, given: Any) -> Any:
        """Call the function as it is."""
        return self._as_written(*given)

    def _remember(self, given: Any, named: Any, run: Callable[[Any], Any], *, with_floats: bool = False) -> None:
        """What to do when arguments of just this kind come again, with these floats or any others."""
        kind = exact_kind(given, named, with_floats=with_floats or not self._traces.tells_floats)
        if kind is not None:
            self._traces.remember(kind, run)

    def _as_it_is(self, given: Any, named: Any, error: Exception) -> Any:
        """Call the function as it is: now, if these arguments share memory; later, too, if it does something whose
        shape or dtype depends on values."""
        if isinstance(error, GivenAsItIsError):
            return self._as_written(*given, **named)
        self._traces.forget(*self._traces.kinds(given, named), str(error))
        return self._as_written(*given, **named)

    def _call_lazily(self, trace: Trace, arguments: Any, keywords: Any) -> Any:
        """What the function gives for lazy arrays."""
        reads = self._traces.reads_now()
        sight = Sight(self._function, reads.functions, trace)
        if not sight.is_whole or reads.captures_unseen():
            reads.refuse_captured()
        stand_ins: StandIns = trace.stand_ins
        if reads.sets and reads.reason is not None:
            raise Abandoned(f"it sets {next(iter(reads.sets))}")
        captured = keywords.get(CAPTURED)
        others = {} if captured is None else {id(value): value for value in captured.value}
        function = sight.function(others, lambda: stand_ins.of(arguments, keywords, reads, sight.at))
        if reads.sets:
            stand_ins.require_settable(reads.sets, reads.set_of, reads.functions[0])
        trace.runs = self._forced
        try:
            return function(*stand_ins.given, **stand_ins.named)
        finally:
            trace.runs = None
            sight.end()

    def _warned_of(self, traced: Traced) -> Traced:
        """A new trace; the first time that it cannot be kept, a warning says so: each time, where warnings are errors.
        Where values of small arrays are all that it asks for, the next one is made for these."""
        asks_for_small = traced.trace.asked_for and not traced.trace.asks_for_others
        if traced.trace.reasons and not self._warned and not asks_for_small:
            traced.trace.warn()
            self._warned = True
        return self._noted(traced)

    def _noted(self, traced: Traced) -> Traced:
        """A new trace: where it asks for values of small arrays, objects are looked into from now on."""
        if self._traces.constants and self._opening is None:
            self._open()
        return traced

    # What a person asks -------------------------------------------------------------------------------------------

    def wait_native(self, seconds: float | None = None) -> bool:
        """Have all schedules that run by NumPy's loops so far moved to C, and wait for that, or for so many seconds.

        Without it, they move when they have run for a while. Returns whether all are where they stay: in C, as far as
        that does what they do (`explain` says so), or as they are, where there is no compiler or it fails.
        """
        most = None if seconds is None else as_float(seconds)
        if seconds is not None and most is None:
            raise TracingError(f"wait_native() waits for a number of seconds, or for None, got {cited(seconds)}")
        end = None if most is None else time.monotonic() + most
        plans = [plan for traced in self._traces for each in traced.each_way for plan in each.scheduled.values()]
        moves = [move for plan in plans if isinstance(plan, Moving) for move in plan.moves] + self._forced.moves
        are_begun = [move.begin() for move in moves]
        return all([move.wait(None if end is None else max(end - time.monotonic(), 0)) for move in moves] + are_begun)

    def export(self, directory: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write what the function has been called for so far to a folder, for processes that must not compile (`load`):
        schedules, compiled code with its C text, and for which arrays. Returns these, in words. What was loaded is
        written, too, unless another compiler than the one of this machine made it, and there is more to compile.

        One folder takes any number of functions. `docs/native.md` says what it has to fit. Raises `ExportError` where
        there is nothing to write, or no place for it; `CompilationError` where there is no C compiler, or it fails.
        """
        ways = [each for traced in self._traces for each in traced.each_way]
        asked = [each for traced in ways for each in self._chooser.asked(traced)]
        return export(directory, self._settings(), asked, self._chooser.loaded)

    def load(self, directory: str | os.PathLike[str]) -> None:
        """Use what `export` has written to a folder: for arrays as large as those, nothing is scheduled or compiled.
        For others, schedules are made, and run by NumPy's loops: a function that was loaded starts no compiler.

        Raises `ExportError` for what does not fit (another slinky, processor, source or decorator), is not as it was
        written, or lies where others can write.
        """
        self._chooser.loaded = Loaded(directory, self._settings())
        self._ready.clear()
        for traced in self._traces:
            traced.in_columns = None
            traced.forget()
        self._forced.forget()

    def _settings(self) -> Settings:
        """What is exported depends on, beside the arrays."""
        others = (self._strict, self._smallest, self._chooses, self._donate, sorted(self._by_pieces))
        backend = MOVED_TO if self._moves else self._backend
        return settings_of(self._function, self._carrier, backend, self._options, others)

    def pipeline(self, /, *given: Any, **named: Any) -> Pipeline:
        """The pipeline that runs for such arguments, not scheduled: print it, check it, schedule it by hand.

        It takes arrays, and the floats among the arguments by their names, as scalars; what is computed of these before
        it meets an array is a scalar of its own, `float_0` and so on.

        Raises `TracingError` where there is none: the function does nothing with its arrays, or cannot be traced.
        """
        own = self._asked_of(given, named)
        given, named = with_leaves((given, named), bare_values)
        if own is not None and own is not self:
            return own.pipeline(*given, **named)
        given, named = self._opened(given, named)
        traced, why = self._asked(given, named) if own is not None else (None, _OWN_RULES)
        if traced is None or not traced.outputs:
            raise TracingError(f"{self._function.__name__} has no pipeline: {why or 'it computes nothing'}")
        values = traced.trace.sizes([leaf for _, leaf in leaves_of((given, named))])
        if traced.has_no_elements(values):
            raise TracingError(f"{self._function.__name__} is called as it is where arrays have no elements")
        if not traced.is_a_pipeline:
            raise TracingError(
                f"{self._function.__name__} has no pipeline of its own: it runs in stretches that come again, for it "
                "has more operations than are scheduled as a whole (explain says which); a function of one step has one"
            )
        return Pipeline(self._chooser.shown(traced)._version)

    def explain(self, /, *given: Any, **named: Any) -> str:
        """What becomes of the function for such arguments: what is computed how, and what it is good for."""
        own = self._asked_of(given, named)
        given, named = with_leaves((given, named), bare_values)
        if own is not None and own is not self:
            return own.explain(*given, **named)
        given, named = self._opened(given, named)
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
        lines = [f"{name} is traced: {operations_in_words(funcs)}"]
        lines += [f"writes to {self._leaf_name(given, named, n)}" for n in sorted({w.number for w in traced.written})]
        lines += [f"sets {name}" for name in names_set(traced.result)]
        lines += [f"at once: {fence}" for fence in each_once(traced.trace.fences)]
        whole = [n.name for n in traced.nodes if n.operation.exactness not in self._by_pieces]
        lines += [f"as one piece: {', '.join(whole)}"] if whole else []
        lines += guards_in_words(traced.trace, [n for _, n, _ in parameters_of(self._function, given, named)])
        reads = self._traces.reads_now()
        against = [*traced.trace.reasons, *([reads.reason] if reads.reason else [])]
        lines += [f"traced at each call: {why}" for why in each_once(against)]
        lines += [f"for values, {self._chooser.part_in_words(*each)}" for each in traced.trace.graphs.items()]
        leaves = [leaf for _, leaf in leaves_of((given, named))]
        arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        values = traced.trace.sizes(leaves)
        is_small = max((a.nbytes for a in arrays), default=0) < self._smallest
        exact = exact_kind(given, named, with_floats=not self._traces.tells_floats)
        if is_small and not (self._making.may(arrays, exact) and traced.makes(self._smallest, lengths(values))):
            lines.append(
                f"called as it is: all arrays take less than {cited(self._smallest)} bytes"
                + (f", and two calls have not taken {LONG_SECONDS} s" if self._making.waits_for(exact) else "")
            )
        if traced.outputs and not traced.has_no_elements(values):
            lines.append(self._chooser.in_words(traced, leaves, values))
        return "\n".join(lines)

    def _asked_of(self, given: Any, named: Any) -> Jit | None:
        """What runs for such arguments; None where the function is called as it is, by containers' own rules."""
        try:
            leaves = [leaf for _, leaf in leaves_of((given, named))]
            are_labelled = any(map(is_labelled, leaves))
            _ = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        except RecursionError:
            raise TracingError(f"{self._function.__name__} is called as it is where lists are in themselves") from None
        except Exception as error:
            raise TracingError(
                f"{self._function.__name__} is called as it is where an argument raises {type(error).__name__} "
                "when it is asked for its class"
            ) from None
        return self._of_containers(given, named, leaves)[0] if are_labelled else self

    def _leaf_name(self, given: Any, named: Any, number: int) -> str:
        return parameters_of(self._function, given, named)[number][1]

    def _asked(self, given: Any, named: Any) -> tuple[Traced | None, str]:
        """The trace for arguments, or why there is none."""
        leaves = [leaf for _, leaf in leaves_of((given, named))]
        if not _may_trace([leaf for leaf in leaves if isinstance(leaf, np.ndarray)]):
            return None, self._traces.reads_now().effect or "its arguments are no arrays of numbers"
        key, kind = self._traces.kinds(given, named)
        traced = self._traces.kept(key, given, named, leaves)
        if traced is None and self._traces.refusal(kind, leaves) is None:
            made = self._traces.make(given, named, kind)
            traced = None if made is None else self._noted(made)
        return traced, self._traces.refusal(kind, leaves) or "it cannot be traced"


def _may_trace(arrays: Sequence[Any]) -> bool:
    """Whether all arrays, if there are some, are of numbers."""
    return all(is_traceable(array) for array in arrays)
