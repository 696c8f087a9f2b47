"""Traces of a function: how they are made, and which are kept for the arguments that come.

Idea. A function is called with lazy arrays, and what it did is kept by the kind of its arguments: all that it can see
but for what arrays hold, how long they are, and what floats are. Of these, the guards that were noted say where it is
good (`sizes`, `reals`). Where it cannot be traced, it is known for which arguments, and why.

Invariant: a trace that is kept is what the function would do again, as long as it reads the same.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import SlinkyError, TracingError
from slinky.frontend.abandoning import Abandoned, MadeArrayError
from slinky.frontend.arrays import placed
from slinky.frontend.donating import may_be_written, parameters_of
from slinky.frontend.effects import settle, settle_floats
from slinky.frontend.opening import MOST_BYTES, Path, arrays_in, paths_of
from slinky.frontend.randomness import random_numbers
from slinky.frontend.reading import Reads
from slinky.frontend.reals import FLOATS, ToldFloatError
from slinky.frontend.seeing import may_catch, takes_stand_ins
from slinky.frontend.setting import WithValues, changing, with_values
from slinky.frontend.stand_ins import StandIns
from slinky.frontend.telling import asks_for_identity
from slinky.frontend.traced import Arguments, Traced
from slinky.frontend.tracing import MOST_FUNCS, SMALL_BYTES, Trace
from slinky.frontend.trees import has_many, held_by_objects, is_same_tree, kind_of, leaves_of, loose_kind, with_leaves
from slinky.unloaded import draws_numbers

KEPT_TRACES = 64
"""How many traces a function keeps, the latest ones: for so many kinds of arguments, and so many for each."""

MOST_CHANGES = 3
"""How many times a function may change what it reads while it is traced: one that fills a cache does so once."""

MOST_LEAVES = 1 << 12
"""Of a function that returns lists or dictionaries of more objects, a trace has no results."""

FEW_BYTES, MANY_TIMES, VERY_MANY_TIMES = 4096, 8, 64
"""The values of arrays are constants of traces only beside arrays that are so many times larger; of more bytes, for
they are compared at each call, only beside those that are larger still."""

Runner = Callable[[Any], Any]
"""Takes the leaves of arguments, and gives what the function would."""


@attrs.frozen(eq=False)
class Rules:
    """How a function may be traced, as its decorator has it."""

    strict: bool
    options: dict[str, Any]
    by_pieces: frozenset[str]
    donate: tuple[str, ...] = ()
    chooses: bool = False
    """Whether the function may be called as it is where that is as fast."""


@attrs.frozen
class _How:
    """How a trace is made: whether it is told floats, and makes lazy arrays of numbers, and when it has taken too
    long, by the clock."""

    tells_floats: bool
    makes_arrays: bool = True
    ends: float = math.inf


class Traces:
    """The traces of a function. `calls` runs it with lazy arguments."""

    def __init__(self, function: Callable[..., Any], rules: Rules, calls: Callable[[Trace, Any, Any], Any]) -> None:
        self.by_kind: dict[Hashable, list[Traced]] = {}
        self.refused: dict[Hashable, str] = {}
        self.by_labels: set[Hashable] = set()
        """Kinds of arguments without their labels, with which the function does not go by places alone."""
        self.ready: dict[Hashable, Runner] = {}
        """What runs for arguments of just these sizes: of no use once the traces are gone."""
        self.reads: Reads | None = None
        self.constants: set[Path] = set()
        """Where small arrays stand in arguments whose values are asked for: traces are kept for these."""
        self.tells_floats = True
        """Whether floats are told at each call: not where the function fails if they are, or might without a trace."""
        self._makes_arrays = True
        """Whether large arrays that it makes of numbers are lazy ones: the same."""
        self._asks_for_identity = False
        """Whether the function may ask whether arrays are the same."""
        self._takes = False
        """Whether the function has written to arrays that objects hold."""
        self._function = function
        self._rules = rules
        self._calls = calls
        self._changes = 0

    def __iter__(self) -> Iterator[Traced]:
        return iter([traced for kept in list(self.by_kind.values()) for traced in kept])

    def key(self, given: Any, named: Any) -> Hashable | None:
        """The kind of arguments; None where that is not known."""
        return _known_kind(given, named, with_floats=not self.tells_floats)

    @staticmethod
    def exact_key(given: Any, named: Any) -> Hashable | None:
        """The same, with the floats that they are."""
        return _known_kind(given, named, with_floats=True)

    def kinds(self, given: Any, named: Any) -> tuple[Hashable | None, Hashable]:
        """The same, and what is known of it in any case, whatever floats there are."""
        return self.key(given, named), loose_kind((given, named), with_floats=False)

    def kept(self, key: Hashable | None, given: Any, named: Any, leaves: Sequence[Any]) -> Traced | None:
        """A trace that is good for arguments of a kind, by their leaves."""
        if key is None or not self.may_stand(given, named):
            return None
        if not self.are_good():
            return None
        for traced in self.by_kind.get(key, ()):
            trace = traced.trace
            if trace.questions.hold(trace.sizes(leaves)) and trace.reals.values(leaves) is not None:
                return traced
        return None

    def are_good(self) -> bool:
        """Whether the function reads what it read; if not, there are no traces any more."""
        reads = self.reads
        if reads is None or reads.hold():
            return True
        self.reads = None
        self.by_kind.clear()
        self.refused.clear()
        self.by_labels.clear()
        self.ready.clear()
        return False

    def keeps(self, traced: Traced) -> bool:
        """Whether a trace is kept for some kind of arguments."""
        return any(traced in each for each in self.by_kind.values())

    def remember(self, kind: Hashable, run: Runner) -> None:
        """What runs when arguments of just this kind come again."""
        if len(self.ready) >= KEPT_TRACES:
            self.ready.clear()
        self.ready[kind] = run

    def forget(self, key: Hashable, kind: Hashable, why: str) -> None:
        """Call the function as it is for such arguments from now on."""
        self.ready.clear()
        self.by_kind.pop(key, None)
        self.give_up(kind, why)

    def give_up(self, kind: Hashable, why: str) -> None:
        """The function cannot be traced for arguments like these.

        Raises `TracingError` where that was to be refused.
        """
        if self._rules.strict:
            raise TracingError(f"{self._function.__name__} cannot be traced: {why}") from None
        if len(self.refused) >= KEPT_TRACES:
            self.refused.clear()
        self.refused[kind] = why

    def refusal(self, kind: Hashable, leaves: Sequence[Any]) -> str | None:
        """Why the function is not traced for arguments of a kind, and of the sizes of these leaves; None if it may."""
        return self.refused.get(kind) or self.refused.get(_of_sizes(kind, leaves))

    def failed(self, kind: Hashable, error: Exception) -> None:
        """Tracing for such arguments raised an error, which the function as it is does not."""
        self.give_up(kind, in_words(error))

    def note_change(self) -> None:
        """See whether the function has changed what it reads."""
        reads = self.reads
        self._changes += reads is not None and not reads.hold()

    def make(self, given: Any, named: Any, kind: Hashable, *, most_seconds: float = math.inf) -> Traced | None:
        """Call the function with lazy arrays, and floats that are told at each call; with the floats that they are,
        where it fails, and with arrays of NumPy's in the place of lazy ones that it makes of numbers. None where it
        cannot be traced, or does what must not be done twice.

        Raises `TracingError` for what is refused, and what the function raises.
        """
        ends = time.perf_counter() + most_seconds
        if self._makes_arrays:
            with contextlib.suppress(MadeArrayError):
                return self._made_by(given, named, kind, _How(tells_floats=self.tells_floats, ends=ends))
        how = _How(tells_floats=self.tells_floats, makes_arrays=False, ends=ends)
        made = self._made_by(given, named, kind, how)
        self._makes_arrays &= made is None
        return made

    def _made_by(self, given: Any, named: Any, kind: Hashable, how: _How) -> Traced | None:
        """The same, where arrays that it makes are lazy, or NumPy's. Raises `MadeArrayError` if it may be that for
        which it fails."""
        self.reads_now()
        if not self.may_stand(given, named):
            return None
        try:
            return self._make(given, named, kind, how)
        except (SlinkyError, MadeArrayError):
            raise
        except (Exception, ToldFloatError) as error:
            has_floats = any(type(leaf) in FLOATS for _, leaf in leaves_of((given, named)))
            reads = self.reads
            may_try = how.tells_floats and has_floats and reads is not None and reads.hold()
            if not may_try and not isinstance(error, ToldFloatError):
                raise
        made = self._make(given, named, kind, attrs.evolve(how, tells_floats=False))
        self.tells_floats = False
        return made

    def reads_now(self) -> Reads:
        """What the function reads, which may be told no floats for it."""
        reads = self.reads  # which other threads may find changed meanwhile
        if reads is None:
            reads = Reads(self._function)
            self._look_at(reads)
            self.reads = reads
        return reads

    def look_again(self) -> None:
        """See whether it may be told floats by all that was read."""
        if (reads := self.reads) is not None:
            self._look_at(reads)

    def _look_at(self, reads: Reads) -> None:
        self.tells_floats &= takes_stand_ins(self._function, reads.functions)
        self._asks_for_identity = any(map(asks_for_identity, reads.functions))

    def may_stand(self, given: Any, named: Any) -> bool:
        """Whether no array of these arguments is to be seen as the same as another one that the function comes to."""
        reads = self.reads
        if not self._asks_for_identity or reads is None:
            return True
        found = Counter(map(id, arrays_in((given, named))))
        return found.total() == len(found) and not any(id(each) in found for each in reads.arrays())

    def _make(self, given: Any, named: Any, kind: Hashable, how: _How) -> Traced | None:
        """The same, once: by the kind of arguments, which is of floats that are not told, too."""
        broken_off: list[Trace] = []
        fails_of_made = False
        key = _known_kind(given, named, with_floats=not how.tells_floats)
        try:
            made = self._made_in(broken_off, given, named, key, kind, how)
        except MadeArrayError:
            made, fails_of_made = None, True
        except BaseException as error:
            for trace in broken_off:
                settle_floats(trace)
            if isinstance(error, Exception) and self._may_be_of_made(broken_off, given, named):
                raise MadeArrayError from error
            raise
        finally:
            for trace in broken_off:
                trace.take = None  # which knows the arguments
        for trace in broken_off if made is None else []:
            trace.stand_ins.end()
            settle(trace)  # here, where no frame of it holds anything
            settle_floats(trace)
        if fails_of_made:
            raise MadeArrayError
        return made

    def _made_in(
        self,
        traces: list[Trace],
        given: Any,
        named: Any,
        key: Hashable | None,
        kind: Hashable,
        how: _How,
    ) -> Traced | None:
        """The same, in a trace that is put to some others; what it left with the function's objects stays as it is."""
        reads, rules = self.reads_now(), self._rules
        effect = reads.effect if self._changes < MOST_CHANGES else "it changes what it reads"
        if effect is None and reads.sets and (key is None or reads.reason is not None):
            effect = f"it sets {next(iter(reads.sets))}"  # perhaps of what nothing stands for
        if effect is not None:
            self.give_up(kind, effect)
            return None
        trace = Trace(self._function.__name__, strict=rules.strict, options=rules.options, by_pieces=rules.by_pieces)
        trace.file = getattr(getattr(self._function, "__code__", None), "co_filename", "")
        trace.stand_ins = StandIns()
        trace.chooses = rules.chooses and not rules.strict
        trace.makes_arrays, trace.ends = how.makes_arrays, how.ends
        traces.append(trace)
        own = Arguments()
        trace.tells_floats = how.tells_floats and key is not None and reads.reason is None  # else it is not kept
        try:
            arguments, keywords = self._lazy(trace, given, named, own, reads if key is not None else None)
            before = with_leaves((arguments, keywords), lambda leaf: leaf)
            held = [self._calls(trace, arguments, keywords)]
            if trace.reals.are_added_elsewhere:
                raise ToldFloatError
            if not is_same_tree((arguments, keywords), before):
                raise Abandoned("it changes a list or dictionary that it is given")
            taken = trace.stand_ins.take_values()
            if (name := changing(taken)) is not None:
                reads.sets_anew(name)
                raise Abandoned(f"it sets {name}")
            held = with_values(held, [(number, name, value) for number, name, _, value in taken])
            del taken
            if has_many(held, MOST_LEAVES):
                raise Abandoned(f"it returns more than {MOST_LEAVES} objects")
            if trace.stand_ins.are_in(held):
                raise Abandoned("it returns an array whose values it asks for")
            if trace.abandoned is not None:
                raise Abandoned(trace.abandoned)
            trace.require_unwritten()
            traced = Traced(trace, held, own)
            if traced.shares_otherwise and isinstance(held[0], WithValues):
                raise Abandoned("it sets attributes to arrays that share memory")
            if not traced.is_a_pipeline and (traced.legs is None or "max_bytes" in rules.options):
                raise Abandoned(
                    f"it is traced to {traced.funcs} operations, more than {MOST_FUNCS}, that do not repeat"
                )
            is_good_for_others = not (trace.reasons or trace.reals.warns) and reads.reason is None and key is not None
            if (why := traced.unlike_numpy if is_good_for_others else traced.unlike_numpy_as_given) is not None:
                raise Abandoned(why)
            if not trace.symbols.keys() >= set(traced.untold):
                raise Abandoned("it uses a size that was kept from another call")
            del arguments, keywords, before, held
            self._takes |= bool(own.taken)
            own.donated.clear()
            trace.take = None  # which knows the arguments
            if trace.stand_ins.end():
                self.give_up(kind, "it keeps an object that it is given")
                key = None
            if settle(trace):
                self.give_up(kind, "it keeps an array that it computes")
                key = None
            settle_floats(trace)
        except ValueError as error:
            # What was handed out as an array stands for a lazy one, and does not share memory with it.
            if not (trace.reasons or self.constants) or "read-only" not in str(error):
                raise
            self.give_up(kind, "it writes to an array that it asked for")
            return None
        except Abandoned as abandoned:
            if self._may_be_of_made(traces, given, named):
                raise MadeArrayError from None
            leaves = [leaf for _, leaf in leaves_of((given, named))] if trace.is_abandoned_here else ()
            self._changes += not reads.hold()
            self.give_up(_of_sizes(kind, leaves), str(abandoned))
            return None
        self._changes += not reads.hold()
        if trace.asked_for and not trace.asks_for_others and key is not None and reads.reason is None:
            paths = paths_of(given, named)
            self.constants |= {paths[number] for number in trace.asked_for}
        if not (trace.reasons or trace.reals.warns) and reads.reason is None and key is not None and reads.hold():
            if self.reads is reads:  # else another thread has seen a change
                self._keep(traced, key, own)
        return traced

    def _keep(self, traced: Traced, key: Hashable, own: Arguments) -> None:
        """Keep a trace, which lets go of its arguments."""
        if key not in self.by_kind and len(self.by_kind) >= KEPT_TRACES:
            del self.by_kind[next(iter(self.by_kind))]
        kept = self.by_kind.setdefault(key, [])
        kept.insert(0, traced)
        traced.lives_on = True
        for node in own.numbers:
            node.operation.end()  # type: ignore[attr-defined]
        traced.trace.donated.clear()
        del kept[KEPT_TRACES:]

    def _lazy(self, trace: Trace, given: Any, named: Any, own: Arguments, reads: Reads | None) -> tuple[Any, Any]:
        """The arguments, with lazy arrays for arrays, and what stands for floats that are told at each call. What the
        function reads beside them is not known where `reads` is None."""
        names = [(parameter, name) for parameter, name, _ in parameters_of(self._function, given, named)]
        donate = self._rules.donate
        held = held_by_objects((given, named))
        arrays = [value for _, value in leaves_of((given, named)) if isinstance(value, np.ndarray)]
        places: dict[Any, tuple[int, Any]] = {}

        def take(cell: Any) -> None:
            """Write to an array of an object, when the call has computed what goes there."""
            place, value = places[cell]
            if reads is None or reads.reason is not None:
                raise trace.abandon("it writes to an array that is none of its arguments")
            others = [*(array for array in arrays if array is not value), *trace.read_before(), *trace.copied]
            if not may_be_written(value, [*others, *reads.arrays()]):  # as is asked at each call
                raise trace.abandon("it writes to an array of an object that others share, or that is read-only")
            trace.beside = reads.arrays
            own.donated[cell] = place
            own.taken.add(place)
            trace.donated.append(value)
            cell.is_argument = cell.is_held = False

        trace.take = take
        largest = max((array.nbytes for array in arrays), default=0)
        trace.makes_grids = trace.makes_arrays and largest < SMALL_BYTES
        most = max(min(FEW_BYTES, largest // MANY_TIMES), min(MOST_BYTES, largest // VERY_MANY_TIMES))
        number = -1

        def leaf(value: Any) -> Any:
            nonlocal number
            number += 1
            if draws_numbers(value):
                raise random_numbers(trace.name, f"{names[number][1]}, a generator of such")
            parameter, name = names[number]
            if type(value) in FLOATS and trace.tells_floats:
                return trace.reals.argument(value, number, name)
            if not isinstance(value, np.ndarray):
                return value
            result = trace.source(np.asarray(value), name, origin=number)
            own.numbers[result.node] = number
            trace.given[result.node] = value
            if value.nbytes <= most and parameter not in donate:
                trace.small[result.node] = frozenset([number])
            array = placed(result, trace)
            own.given.append(array)
            array._cell.is_argument = parameter not in donate
            array._cell.is_held = number in held
            places[array._cell] = number, value
            if parameter in donate:
                own.donated[array._cell] = number
                trace.donated.append(value)
            return array

        found: tuple[Any, Any] = with_leaves((given, named), leaf)
        return found

    def _may_be_of_made(self, traces: Iterable[Trace], given: Any, named: Any) -> bool:
        """Whether a trace of what is given arrays may go on where those that are made of numbers are NumPy's, and the
        function has not changed what it reads."""
        has_arrays = any(isinstance(leaf, np.ndarray) for _, leaf in leaves_of((given, named)))
        reads = self.reads
        return has_arrays and any(trace.has_made for trace in traces) and reads is not None and reads.hold()

    def may_be_of_tracing(self, error: Exception) -> bool:
        """Whether the function as it is may not raise this error, and may be called to see that."""
        return not (isinstance(error, SlinkyError) or self._rules.strict or self._rules.donate)

    def may_be_caught(self, error: Exception) -> bool:
        """Whether the function itself may go on after an error that its pipeline raises, where it can be called again:
        what it had computed where it stands, that would have raised there."""
        reads = self.reads
        if isinstance(error, SlinkyError) or self._rules.donate or reads is None:
            return False
        is_undone = self._takes or bool(reads.sets)  # objects are changed when all is computed
        return is_undone or may_catch(self._function, reads.functions)

    def may_write(self, given: Any, named: Any) -> bool:
        """Whether each of the arguments that are given away is seen by no other one."""
        leaves = parameters_of(self._function, given, named)
        arrays = [(name, leaf) for name, _, leaf in leaves if isinstance(leaf, np.ndarray)]
        return all(
            may_be_written(array, [other for j, (_, other) in enumerate(arrays) if j != k])
            for k, (name, array) in enumerate(arrays)
            if name in self._rules.donate
        )


def _of_sizes(kind: Hashable, leaves: Sequence[Any]) -> Hashable:
    """A kind of arguments with their sizes, where they have some."""
    sizes = tuple(leaf.shape for leaf in leaves if isinstance(leaf, np.ndarray))
    return (kind, sizes) if sizes else kind


def _known_kind(given: Any, named: Any, *, with_floats: bool) -> Hashable | None:
    try:
        key = kind_of((given, named), with_floats=with_floats)
        hash(key)
        return key
    except TypeError:
        return None


def in_words(error: Exception) -> str:
    """What is said of an error that a function raises while it is traced."""
    return f"while it is traced, it raises {type(error).__name__}: {error}"


__all__ = ["KEPT_TRACES", "MOST_CHANGES", "Rules", "Traces", "in_words"]
