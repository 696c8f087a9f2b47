"""Plans: a program made ready to run as one Python function, and everything around that function.

A plan takes the arguments (the short way is in `entry`); takes an arena for the run; calls the function; and, after an
error, releases all memory and says in which call of the program it happened. The variants of the function (see
`codegen.generator`) are made when they are first needed.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any

import attrs

from slinky.errors import ExecutionError
from slinky.ir.statements import Program, blocks_of
from slinky.runtime import forks
from slinky.runtime.arena import Arenas
from slinky.runtime.arguments import take_arguments
from slinky.runtime.buffers import Buffer, buffer_at, read_only, sealed, seen
from slinky.runtime.callbacks import FirstCalls, is_debugging
from slinky.runtime.codegen.generator import Kind, plan_tree
from slinky.runtime.codegen.origin import at_origin
from slinky.runtime.collector import collector_paused
from slinky.runtime.entry import Enter, make_entry
from slinky.runtime.failures import STOPPING, Code, explain
from slinky.runtime.kept_plans import find, keep, question
from slinky.runtime.omitted import Completion
from slinky.runtime.plan_tree import PlanTree
from slinky.runtime.python_text import PythonText, python_text
from slinky.runtime.reservations import MeasuredArenas, Reservations
from slinky.runtime.run_options import RunOptions
from slinky.runtime.statistics import Hooks, Recorder, RunStatistics, bytes_copied_per_element
from slinky.runtime.strided import laid_bytes
from slinky.runtime.threads import default_workers, run_parallel, run_stages, workers_or_default
from slinky.symbolic.patience import limited_patience

if TYPE_CHECKING:
    from slinky.runtime.bound import BoundPipeline

_serial = itertools.count(1)

_PATIENCE, _PATIENCE_PER_STATEMENT = 1_000_000, 2_000
"""How much searching for proofs a variant of a plan is worth (see `symbolic.patience`). What is not shown is asked in
each run: loops within loops, with sizes that have nothing to do with each other, have few proofs and long searches.
"""

_ORDINARY_NEST = 40
"""In deeper nests each step of a search looks at longer expressions, so that fewer steps are worth as much."""


_HELPERS: dict[str, Any] = {
    **STOPPING,
    "buffer_at": buffer_at,
    "sealed": sealed,
    "seen": seen,
    "laid_bytes": laid_bytes,
    "read_only": read_only,
    "run_parallel": run_parallel,
    "run_stages": run_stages,
}


def _patience(program: Program) -> int:
    """How much searching a variant of the plan of a program is worth."""
    count = deepest = 0
    waiting = [(program.body, 0)]
    while waiting:
        block, depth = waiting.pop()
        count, deepest = count + len(block), max(deepest, depth)
        waiting += [(inner, depth + 1) for statement in block for _, inner in blocks_of(statement)]
    return (_PATIENCE + _PATIENCE_PER_STATEMENT * count) * _ORDINARY_NEST // max(deepest, _ORDINARY_NEST)


def _alive(reference: weakref.ref[Plan]) -> Plan:
    plan = reference()
    assert plan is not None  # somebody is calling it
    return plan


@contextmanager
def _limits_explained(program: Program) -> Iterator[None]:
    """Say what is wrong where Python's limits of nesting are met."""
    try:
        yield
    except (RecursionError, SyntaxError) as error:
        if isinstance(error, SyntaxError) and "too many" not in str(error.msg):
            raise
        raise ExecutionError(
            f"pipeline {program.name} is nested too deeply for a plan, which Python limits; "
            f"p.run(..., backend='interpreter') has no such limit"
        ) from error


@attrs.frozen(eq=False)
class Parts:
    """What a variant of the plan of a program is made of: its tree, and other functions than the usual ones for what
    the funcs of the tree run, by their names there; and the source of the function, where that is known."""

    program: Program
    tree: PlanTree
    carriers: Mapping[str, Callable[..., Any]]
    text: PythonText | None = None


_usual_parts: weakref.WeakValueDictionary[tuple[int, Kind], Parts] = weakref.WeakValueDictionary()
"""By the identity of a program, which lives as long as its parts do: plans of several back ends have one tree."""


class Variant:
    """One variant of the function of a plan, compiled; `function` is called as `codegen.generator.plan_tree` says."""

    def __init__(self, program: Program, kind: Kind, parts: Parts) -> None:
        self.filename = f"<plan {next(_serial)}>"
        self.parts = parts
        self.tree = parts.tree
        with _limits_explained(program):
            self.text = parts.text or python_text(self.tree)
            self.code: CodeType = compile(self.text.source, self.filename, "exec")
        self.arenas = Arenas(self.tree.sites)
        self.inner_arenas = {name: Arenas(kinds) for name, kinds in self.tree.arenas.items()}
        self._first_calls = FirstCalls() if kind.guarded else None
        callbacks = parts.carriers
        if self._first_calls is not None:
            callbacks = self._guarded(self._first_calls)
        self.objects: dict[str, Any] = {**self.tree.objects, **self.inner_arenas, **callbacks}
        self.function = self.made(self.objects)

    def _guarded(self, first_calls: FirstCalls) -> dict[str, Any]:
        return {name: first_calls.guard(func) for name, func in self.tree.callbacks.items()}

    def begin(self) -> None:
        """A run begins, which tests the first calls of its funcs if the variant is `guarded`."""
        if self._first_calls is not None:
            self._first_calls.begin()

    def made(self, objects: Mapping[str, Any]) -> Callable[..., Any]:
        """The function, with these objects as its globals beside the helpers."""
        namespace: dict[str, Any] = {"__name__": "slinky.plan", **_HELPERS, **objects}
        exec(self.code, namespace)
        function: Callable[..., Any] = namespace[self.tree.function]
        return function

    def release(self) -> None:
        """Give back the memory kept for later runs."""
        for arenas in (self.arenas, *self.inner_arenas.values()):
            arenas.clear()


@attrs.frozen(eq=False)
class Handed:
    """Arguments as the variants of one kind take them: arrays, with or without coordinates in turn, then scalars."""

    values: list[Any]
    kind: Kind


@attrs.frozen(eq=False)
class StandIns:
    """What to run a function with instead of its own objects, and what reserves its memory."""

    objects: dict[str, Any]
    reservations: Reservations


class Plan:
    """A program compiled to Python. Made by `Pipeline.compile`; safe to run from many threads at once.

    `enter(arrays, scalars)` runs it and returns the output, or a tuple of the outputs; valid while the plan lives.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._completion = Completion(program)
        self._scalars = tuple(s.name for s in program.scalars)
        self._funcs = bytes_copied_per_element(program)
        self._at_origin = at_origin(program)
        self._variants: dict[Kind, Variant] = {}
        self._lock = forks.lock()
        self._usual = Kind(at_origin=self._at_origin is not None, guarded=is_debugging())
        this = weakref.ref(self)  # the entry must not keep the plan alive: its arenas end with it
        self.enter: Enter = lambda arrays, scalars: _alive(this)._enter_first(arrays, scalars)
        self._anywhere: Enter | None = None
        self._is_ready = False

    def __call__(self, *arrays: object, **scalars: Any) -> Any:
        """Run, as the pipeline does that is called."""
        return self.enter(arrays, scalars)

    def __repr__(self) -> str:
        return f"<Plan of pipeline {self.program.name}>"

    @property
    def source(self) -> str:
        """The Python source of the function that runs when no input or output is empty and nobody counts."""
        return self.variant(self._usual).text.source

    def parts(self, kind: Kind) -> Parts:
        """What a variant is made of. No lock is held where it takes long to make them: a fork would wait for it."""
        found = _usual_parts.get((id(self.program), kind))
        if found is None:
            found = _usual_parts.setdefault((id(self.program), kind), self._parts(kind))
        return found

    def _parts(self, kind: Kind) -> Parts:
        """The same, as another process has made it, or as it is made now."""
        asked = None if kind.recorded or kind.guarded else question(self._program_of(kind), kind)
        kept = None if asked is None else find(asked)
        if kept is not None:
            tree, text, _ = kept
            return Parts(self.program, tree, {}, text)
        tree = self._tree(kind)
        if asked is None:
            return Parts(self.program, tree, {})
        with _limits_explained(self.program):
            text = python_text(tree)
        keep(asked, tree, text)
        return Parts(self.program, tree, {}, text)

    def _program_of(self, kind: Kind) -> Program:
        program = self._at_origin if kind.at_origin else self.program
        assert program is not None
        return program

    def _tree(self, kind: Kind) -> PlanTree:
        """The tree of a variant."""
        program = self._program_of(kind)
        with _limits_explained(program), limited_patience(_patience(program)):
            return plan_tree(program, kind)

    def variant(self, kind: Kind) -> Variant:
        """A variant of the function; made on the first use."""
        found = self._variants.get(kind)
        if found is None:
            with collector_paused(), self._lock:
                found = self._variants.get(kind)
                if found is None:
                    found = self._variants[kind] = Variant(self._program_of(kind), kind, self.parts(kind))
                    weakref.finalize(self, linecache.cache.pop, found.filename, None)
        return found

    def _short_way(self, kind: Kind, other: Enter) -> Enter:
        """The short way to the variant of a kind."""
        variant, this = self.variant(kind), weakref.ref(self)
        entry = make_entry(
            self.program,
            kind.at_origin,
            variant.function,
            variant.arenas,
            default_workers if variant.tree.threaded else None,
            other,
            lambda error, arrays, scalars: _alive(this).explain(error, variant, arrays, scalars),
        )
        if not kind.guarded:
            return entry

        def guarded(arrays: Sequence[object], scalars: dict[str, Any]) -> Any:
            variant.begin()
            return entry(arrays, scalars)

        return guarded

    def release(self) -> None:
        """Give back the memory that is kept for later runs."""
        for variant in list(self._variants.values()):
            variant.release()

    # Running ------------------------------------------------------------------------------------------------------

    def make_ready(self) -> None:
        """Make the variant that runs when nobody counts, and the entry to it, if they are not made yet."""
        if not self._is_ready:
            this = weakref.ref(self)
            with collector_paused():
                self.enter = self._short_way(
                    self._usual, lambda arrays, scalars: _alive(this)._enter_anywhere(arrays, scalars)
                )
            self._is_ready = True

    def _enter_first(self, arrays: Sequence[object], scalars: dict[str, Any]) -> Any:
        """Run as long as the usual entry is not made: it is now, unless the arguments are buffers, which have their
        own."""
        count = len(arrays)
        if count == self._completion.count and self._usual.at_origin and any(isinstance(a, Buffer) for a in arrays):
            return self._enter_anywhere(arrays, scalars)
        self.make_ready()
        return self.enter(arrays, scalars)

    def _enter_anywhere(self, arrays: Sequence[object], scalars: dict[str, Any]) -> Any:
        """Run on arguments for which the usual entry is not made: by that for buffers, or with a closer look.

        What is omitted, or given by name, is put in its place first.
        """
        if len(arrays) != self._completion.count:
            return self.enter(*self._completion.complete(arrays, scalars))
        if not self._usual.at_origin or not any(isinstance(a, Buffer) for a in arrays):
            return self._run_bound(arrays, scalars)
        if self._anywhere is None:
            this = weakref.ref(self)
            kind = attrs.evolve(self._usual, at_origin=False)
            self._anywhere = self._short_way(kind, lambda arrays, scalars: _alive(this)._run_bound(arrays, scalars))
        return self._anywhere(arrays, scalars)

    def _run_bound(self, arrays: Sequence[object], scalars: Mapping[str, object]) -> Any:
        """Run on arguments that need a closer look."""
        handed = self.handed(arrays, scalars)
        variant = self.variant(handed.kind)
        arena = variant.arenas.take()
        further = [default_workers()] if variant.tree.threaded else []
        variant.begin()
        try:
            variant.function(arena, *further, *handed.values)
        except BaseException as error:
            self.explain(error, variant, arrays, scalars)
            raise
        variant.arenas.give(arena)
        outputs = tuple(arrays[len(self.program.inputs) :])
        return outputs[0] if len(outputs) == 1 else outputs

    def record(self, arrays: Sequence[object], scalars: Mapping[str, object], options: RunOptions) -> RunStatistics:
        """Run; tell the hooks, and return what was used. Test the first call of each func if the options say so."""
        recorder = Recorder(self._funcs, options.hooks, options.timed, options.threads)
        return recorder.statistics(self._recorded(recorder, arrays, scalars, guarded=options.checked == "first"))

    def record_with(self, recorder: Recorder, arrays: Sequence[object], scalars: Mapping[str, object]) -> None:
        """Run as an inner pipeline of a run that is recorded."""
        with recorder.inside(self) as reserved:
            reserved(self._recorded(recorder, arrays, scalars))

    def _recorded(
        self, recorder: Recorder, arrays: Sequence[object], scalars: Mapping[str, object], *, guarded: bool = False
    ) -> int:
        """Run, and tell a recorder; the bytes that were reserved."""
        handed = self.handed(arrays, scalars, recorded=True, guarded=guarded)
        variant = self.variant(handed.kind)
        variant.begin()
        arena = variant.arenas.take()
        reservations = Reservations(variant.tree.sites, arena)
        loops = {name: MeasuredArenas(variant.tree.arenas[name], a) for name, a in variant.inner_arenas.items()}
        reservations.loops += loops.values()
        function = variant.made({**variant.objects, **loops}) if loops else variant.function
        try:
            self._call_recorded(variant, function, reservations, recorder, handed)
        except BaseException as error:
            self.explain(error, variant, arrays, scalars)
            raise
        variant.arenas.give(arena)
        for loop in loops.values():
            loop.end()
        return reservations.bytes()

    def rehearse(
        self,
        arrays: Sequence[object],
        scalars: Mapping[str, object],
        threads: int | None,
        stand_ins: Callable[[PlanTree, Recorder], StandIns],
    ) -> RunStatistics:
        """Go through a run with stand-ins for what takes time and memory; return what the run would use."""
        recorder = Recorder(self._funcs, Hooks(), threads=threads)
        return recorder.statistics(self.rehearse_with(recorder, arrays, scalars, stand_ins))

    def rehearse_with(
        self,
        recorder: Recorder,
        arrays: Sequence[object],
        scalars: Mapping[str, object],
        stand_ins: Callable[[PlanTree, Recorder], StandIns],
    ) -> int:
        """The same, with a recorder; the bytes that the run would reserve."""
        handed = self.handed(arrays, scalars, recorded=True)
        variant = self.variant(handed.kind)
        stand_in = stand_ins(variant.tree, recorder)
        try:
            function = variant.made(stand_in.objects)
            self._call_recorded(variant, function, stand_in.reservations, recorder, handed)
        except BaseException as error:
            self.explain(error, variant, arrays, scalars)
            raise
        return stand_in.reservations.bytes()

    @staticmethod
    def _call_recorded(
        variant: Variant,
        function: Callable[..., None],
        reservations: Reservations,
        recorder: Recorder,
        handed: Handed,
    ) -> None:
        workers = workers_or_default(recorder.threads)
        further = [workers] if variant.tree.threaded else []
        function(reservations.arena, recorder, *further, *handed.values)

    def bind(self, arrays: Sequence[object], scalars: Mapping[str, object]) -> BoundPipeline:
        """Arguments, checked once, and the plan, to run on them as often as wanted."""
        from slinky.runtime.bound import BoundPipeline

        return BoundPipeline(self, arrays, scalars)

    # Arguments ----------------------------------------------------------------------------------------------------

    def handed(
        self,
        arrays: Sequence[object],
        scalars: Mapping[str, object],
        *,
        recorded: bool = False,
        again: bool = False,
        guarded: bool = False,
    ) -> Handed:
        """Arguments as the function takes them, with every check; of the variant that runs `again` and again, if so."""
        given = take_arguments(self.program, arrays, scalars)
        storages = [given.storages[p.name] for p in (*self.program.inputs, *self.program.outputs)]
        kind = Kind(
            recorded,
            nonempty=all(storage.array.size > 0 for storage in storages),
            at_origin=self._usual.at_origin and all(lo == 0 for storage in storages for lo, _ in storage.box),
            bound=again,
            guarded=guarded or self._usual.guarded,
        )
        values: list[Any] = []
        for storage in storages:
            values.append(storage.array)
            if not kind.at_origin:
                values.append(tuple(lo for lo, _ in storage.box))
        by_name = {str(symbol): value for symbol, value in given.values.items()}
        numbers = (*(by_name[name] for name in self._scalars), *given.floats.values())
        return Handed([*values, *numbers], kind)

    # Errors -------------------------------------------------------------------------------------------------------

    def explain(
        self, error: BaseException, variant: Variant, arrays: Sequence[object], scalars: Mapping[str, object]
    ) -> None:
        """Say where in the program an error happened: a note, or another error for what generated code found wrong.

        The memory kept for later runs is released: what an error leaves behind is nobody's.
        """
        variant.release()
        explain(error, Code(self.program, variant.text, variant.filename), arrays, scalars)
