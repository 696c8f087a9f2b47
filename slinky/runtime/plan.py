"""Plans: a program made ready to run as one Python function, and everything around that function.

A plan binds the arguments (the short way is in `entry`); takes an arena for the run; calls the function; and, after an
error, releases all memory and says in which call of the program it happened. The variants of the function (see
`codegen.generator`) are made when they are first needed.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NoReturn

import attrs

from slinky.errors import ExecutionError, ExpressionError
from slinky.ir.effects import clamped_numbers, numeric_reads, numeric_writes
from slinky.ir.statements import Alloc, Call, Check, For, Program, Statement, walk
from slinky.runtime import forks
from slinky.runtime.arena import Arenas
from slinky.runtime.arguments import bind, require
from slinky.runtime.buffers import Buffer, buffer_at, read_only
from slinky.runtime.callbacks import (
    FirstCalls,
    UnwrittenError,
    is_accepted,
    is_debugging,
    note_of_error,
    result_error,
    unwritten_error,
)
from slinky.runtime.codegen.generator import Kind, plan_tree
from slinky.runtime.codegen.origin import at_origin, extents
from slinky.runtime.entry import Entry, make_entry
from slinky.runtime.plan_tree import Place, PlanTree
from slinky.runtime.python_text import python_text
from slinky.runtime.reservations import MeasuredArenas, Reservations
from slinky.runtime.statistics import Hooks, Recorder, RunStatistics
from slinky.runtime.storage import NumericBox, Storage, allocate, box_text
from slinky.runtime.threads import default_workers, run_parallel, workers_or_default
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import evaluate_box, substitute_box
from slinky.symbolic.patience import limited_patience
from slinky.symbolic.traversal import evaluate

_serial = itertools.count(1)

_PATIENCE, _PATIENCE_PER_STATEMENT = 1_000_000, 2_000
"""How much searching for proofs a variant of a plan is worth (see `symbolic.patience`). What is not shown is asked in
each run: loops within loops, with sizes that have nothing to do with each other, have few proofs and long searches.
"""


class _StopError(Exception):
    """A line of generated code that found something wrong; `Plan` says what, in terms of the program."""


class _BadRegionError(_StopError):
    """A call reads or writes (operand `number`) what its buffer does not hold."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _BadFoldError(_StopError):
    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.dim = dim


class _BadStepError(_StopError):
    pass


class _CheckFailedError(_StopError):
    pass


class _BadResultError(_StopError):
    """A callback returned something."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def _bad_region(number: int) -> NoReturn:
    raise _BadRegionError(number)


def _bad_fold(dim: int) -> NoReturn:
    raise _BadFoldError(dim)


def _bad_step() -> NoReturn:
    raise _BadStepError


def _check_failed() -> NoReturn:
    raise _CheckFailedError


def _check_result(result: object, *outputs: object) -> None:
    """Accept the result of a callback if it is nothing but its own outputs."""
    if not is_accepted(result, outputs):
        raise _BadResultError(type(result).__name__)


_HELPERS: dict[str, Any] = {
    "bad_fold": _bad_fold,
    "bad_region": _bad_region,
    "bad_step": _bad_step,
    "buffer_at": buffer_at,
    "check_failed": _check_failed,
    "check_result": _check_result,
    "read_only": read_only,
    "run_parallel": run_parallel,
}


def _alive(reference: weakref.ref[Plan]) -> Plan:
    plan = reference()
    assert plan is not None  # somebody is calling it
    return plan


class Variant:
    """One variant of the function of a plan, compiled; `function` is called as `codegen.generator.plan_tree` says."""

    def __init__(self, program: Program, kind: Kind) -> None:
        self.filename = f"<plan {next(_serial)}>"
        try:
            with limited_patience(_PATIENCE + _PATIENCE_PER_STATEMENT * sum(1 for _ in walk(program.body))):
                self.tree = plan_tree(program, kind)
            self.text = python_text(self.tree)
            self.code: CodeType = compile(self.text.source, self.filename, "exec")
        except (RecursionError, SyntaxError) as error:
            if isinstance(error, SyntaxError) and "too many" not in str(error.msg):
                raise
            raise ExecutionError(
                f"pipeline {program.name} is nested too deeply for a plan, which Python limits; "
                f"p.run(..., backend='interpreter') has no such limit"
            ) from error
        self.arenas = Arenas(self.tree.sites)
        self.inner_arenas = {name: Arenas(kinds) for name, kinds in self.tree.arenas.items()}
        self._first_calls = FirstCalls() if kind.guarded else None
        callbacks = {} if self._first_calls is None else self._guarded(self._first_calls)
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
class BoundCall:
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
        self._scalars = tuple(s.name for s in program.scalars)
        self._funcs = [s.func.name for s in walk(program.body) if isinstance(s, Call)]
        self._at_origin = at_origin(program)
        self._variants: dict[Kind, Variant] = {}
        self._lock = forks.lock()
        self._usual = Kind(at_origin=self._at_origin is not None, guarded=is_debugging())
        this = weakref.ref(self)  # the entry must not keep the plan alive: its arenas end with it
        self.enter: Entry = self._entry(
            self._usual, lambda arrays, scalars: _alive(this)._enter_anywhere(arrays, scalars)
        )
        self._anywhere: Entry | None = None

    def __repr__(self) -> str:
        return f"<Plan of pipeline {self.program.name}>"

    @property
    def source(self) -> str:
        """The Python source of the function that runs when no input or output is empty and nobody counts."""
        return self.variant(self._usual).text.source

    def variant(self, kind: Kind) -> Variant:
        """A variant of the function; made on the first use."""
        found = self._variants.get(kind)
        if found is None:
            with self._lock:
                found = self._variants.get(kind)
                if found is None:
                    program = self._at_origin if kind.at_origin else self.program
                    assert program is not None
                    found = self._variants[kind] = Variant(program, kind)
                    weakref.finalize(self, linecache.cache.pop, found.filename, None)
        return found

    def _entry(self, kind: Kind, other: Entry) -> Entry:
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

    def _enter_anywhere(self, arrays: Sequence[object], scalars: dict[str, Any]) -> Any:
        """Run on arguments for which the usual entry is not made: by that for buffers, or with a closer look."""
        if not self._usual.at_origin or not any(isinstance(a, Buffer) for a in arrays):
            return self._run_bound(arrays, scalars)
        if self._anywhere is None:
            this = weakref.ref(self)
            kind = attrs.evolve(self._usual, at_origin=False)
            self._anywhere = self._entry(kind, lambda arrays, scalars: _alive(this)._run_bound(arrays, scalars))
        return self._anywhere(arrays, scalars)

    def _run_bound(self, arrays: Sequence[object], scalars: Mapping[str, object]) -> Any:
        """Run on arguments that need a closer look."""
        bound = self.bind(arrays, scalars)
        variant = self.variant(bound.kind)
        arena = variant.arenas.take()
        further = [default_workers()] if variant.tree.threaded else []
        variant.begin()
        try:
            variant.function(arena, *further, *bound.values)
        except BaseException as error:
            self.explain(error, variant, arrays, scalars)
            raise
        variant.arenas.give(arena)
        outputs = tuple(arrays[len(self.program.inputs) :])
        return outputs[0] if len(outputs) == 1 else outputs

    def record(
        self,
        arrays: Sequence[object],
        scalars: Mapping[str, object],
        hooks: Hooks,
        threads: int | None,
        *,
        guarded: bool = False,
    ) -> RunStatistics:
        """Run; tell the hooks, and return what was used. If `guarded`, test the first call of each func."""
        bound = self.bind(arrays, scalars, recorded=True, guarded=guarded)
        variant = self.variant(bound.kind)
        variant.begin()
        recorder = Recorder(self._funcs, hooks)
        arena = variant.arenas.take()
        reservations = Reservations(variant.tree.sites, arena)
        loops = {name: MeasuredArenas(variant.tree.arenas[name], a) for name, a in variant.inner_arenas.items()}
        reservations.loops += loops.values()
        function = variant.made({**variant.objects, **loops}) if loops else variant.function
        try:
            self._call_recorded(variant, function, reservations, recorder, threads, bound)
        except BaseException as error:
            self.explain(error, variant, arrays, scalars)
            raise
        variant.arenas.give(arena)
        for loop in loops.values():
            loop.end()
        return recorder.statistics(reservations.bytes())

    def rehearse(
        self,
        arrays: Sequence[object],
        scalars: Mapping[str, object],
        threads: int | None,
        stand_ins: Callable[[PlanTree, Recorder], StandIns],
    ) -> RunStatistics:
        """Go through a run with stand-ins for what takes time and memory; return what the run would use."""
        bound = self.bind(arrays, scalars, recorded=True)
        variant = self.variant(bound.kind)
        recorder = Recorder(self._funcs, Hooks())
        stand_in = stand_ins(variant.tree, recorder)
        try:
            function = variant.made(stand_in.objects)
            self._call_recorded(variant, function, stand_in.reservations, recorder, threads, bound)
        except BaseException as error:
            self.explain(error, variant, arrays, scalars)
            raise
        return recorder.statistics(stand_in.reservations.bytes())

    @staticmethod
    def _call_recorded(
        variant: Variant,
        function: Callable[..., None],
        reservations: Reservations,
        recorder: Recorder,
        threads: int | None,
        bound: BoundCall,
    ) -> None:
        workers = workers_or_default(threads)
        further = [workers] if variant.tree.threaded else []
        function(reservations.arena, recorder, *further, *bound.values)

    # Arguments ----------------------------------------------------------------------------------------------------

    def bind(
        self,
        arrays: Sequence[object],
        scalars: Mapping[str, object],
        *,
        recorded: bool = False,
        again: bool = False,
        guarded: bool = False,
    ) -> BoundCall:
        """Arguments as the function takes them, with every check; of the variant that runs `again` and again, if so."""
        bound = bind(self.program, arrays, scalars)
        storages = [bound.storages[p.name] for p in (*self.program.inputs, *self.program.outputs)]
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
        by_name = {str(symbol): value for symbol, value in bound.values.items()}
        return BoundCall([*values, *(by_name[name] for name in self._scalars)], kind)

    # Errors -------------------------------------------------------------------------------------------------------

    def explain(
        self, error: BaseException, variant: Variant, arrays: Sequence[object], scalars: Mapping[str, object]
    ) -> None:
        """Say where in the program an error happened: a note, or another error for what generated code found wrong.

        The memory kept for later runs is released: what an error leaves behind is nobody's.
        """
        variant.release()
        place, variables, is_own = _where(error, variant)
        linecache.cache[variant.filename] = (
            len(variant.text.source), None, variant.text.source.splitlines(keepends=True), variant.filename,
        )  # fmt: skip
        divides = isinstance(error, ZeroDivisionError) and is_own
        if divides:
            bind(self.program, arrays, scalars)  # fails where a check of the program is what divides
        if place is None:
            if divides:
                raise ExpressionError(f"division by zero in the bounds of pipeline {self.program.name}") from error
            return
        bound = bind(self.program, arrays, scalars)
        lengths: dict[Expr, int] = {}
        for p in (*self.program.inputs, *self.program.outputs):
            lengths.update(zip(extents(p), bound.storages[p.name].array.shape, strict=True))
        scene = _Scene(self.program, place, {**bound.values, **lengths, **variables}, bound.storages)
        if divides:
            scene.divide(error)
        if isinstance(error, (_StopError, UnwrittenError)):
            scene.fail(error)
        if isinstance(place.statement, Call):
            error.add_note(scene.note())
            further = note_of_error(place.statement, error)
            if further is not None:
                error.add_note(further)


def _where(error: BaseException, variant: Variant) -> tuple[Place | None, dict[Expr, int], bool]:
    """The place in the program, the values of the loops around it, and whether the generated code itself failed.

    The frames of a traceback go from the caller inwards, across threads, too. The first that stands at a call is the
    one: what follows is inside the callback, which may run the same plan.
    """
    known: dict[str, Any] = {}
    traceback = error.__traceback__
    own = False
    while traceback is not None:
        own = traceback.tb_frame.f_code.co_filename == variant.filename
        if own:
            known.update(traceback.tb_frame.f_locals)
            place = variant.text.places.get(traceback.tb_lineno)
            if place is not None:
                variables = {symbol: known[name] for symbol, name in place.variables.items() if name in known}
                return place, variables, traceback.tb_next is None
        traceback = traceback.tb_next
    return None, {}, own


@attrs.frozen(eq=False)
class _Scene:
    """A place of the program at run time: what the symbols stand for there."""

    program: Program
    place: Place
    values: dict[Expr, int]
    storages: dict[str, Storage]

    def note(self) -> str:
        """Which call it is."""
        return f"in the call {self._name()} of pipeline {self.program.name}"

    def fail(self, error: _StopError | UnwrittenError) -> NoReturn:
        """Raise what the interpreter raises there."""
        statement = self.place.statement
        if isinstance(statement, Check):
            own = self._own()
            assert isinstance(own, Check)
            require(self.program, own, self.values)
        if isinstance(error, _BadFoldError) and isinstance(statement, Alloc):
            fold = statement.folds[error.dim]
            given = evaluate(fold, self.values) if fold is not None else None
            raise ExecutionError(
                f"dimension {statement.dims[error.dim]} of {statement.buffer} is folded by {given}; needs 1 or more"
            ) from None
        if isinstance(error, _BadStepError) and isinstance(statement, For):
            step = evaluate(statement.step, self.values)
            raise ExecutionError(f"the step of loop {statement.variable} is {step}; needs 1 or more") from None
        try:
            if isinstance(error, _BadResultError):
                raise result_error(self._name(), error.kind)
            if isinstance(error, UnwrittenError):
                raise unwritten_error(self._call(), self._name(), self._box(), error)
            if isinstance(error, _BadRegionError):
                self._view(error.number)
        except ExecutionError as failure:
            failure.add_note(self.note())
            raise failure from None
        raise error

    def _own(self) -> Statement:
        """The statement as the program has it, whatever the variant knows of it."""
        return next(s for s in walk(self.program.body) if s.id == self.place.statement.id)

    def divide(self, error: BaseException) -> NoReturn:
        """Raise what the interpreter raises where something divides by zero."""
        statement = self._own()
        if isinstance(statement, Call):
            evaluate_box(statement.box, self.values)
            try:
                for value in statement.func.operation.expressions():
                    evaluate(value, self.values)
            except ExpressionError as failure:
                failure.add_note(self.note())
                raise failure from None
        raise ExpressionError(f"division by zero in the bounds of pipeline {self.program.name}") from error

    def _bounds(self, buffer: str) -> NumericBox:
        return evaluate_box(substitute_box(self.place.boxes[buffer], self.place.ends), self.values)

    def _call(self) -> Call:
        statement = self.place.statement
        assert isinstance(statement, Call)
        return statement

    def _box(self) -> NumericBox:
        call = self._call()
        return clamped_numbers(call, self.values, self._bounds)

    def _name(self) -> str:
        return f"{self._call().func.name}{box_text(self._box())}"

    def _view(self, number: int) -> None:
        """Take the view of an operand, as the interpreter would, so that it fails as there."""
        call, box = self._call(), self._box()
        regions = [*numeric_reads(call, box, self.values), *numeric_writes(call, box)]
        buffer, region = regions[number]
        storage = self.storages.get(buffer)
        if storage is None:
            alloc = next(s for s in walk(self.program.body) if isinstance(s, Alloc) and s.buffer == buffer)
            folds = [None if fold is None else evaluate(fold, self.values) for fold in alloc.folds]
            storage = allocate(buffer, alloc.dtype, self._bounds(buffer), folds)
        storage.view(region)
