"""What to say after an error in a run of generated code: which call of the program it was, and what was wrong.

Generated code that finds something wrong raises a `StopError`, which is replaced by the error that the interpreter
raises there. An exception of a callback goes on as it is, with a note that names the call and its box.

Invariant: a run by generated code fails with the same errors and the same notes as one by the interpreter.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import attrs

from slinky.errors import ExecutionError, ExpressionError
from slinky.ir.effects import clamped_numbers, numeric_reads, numeric_writes
from slinky.ir.statements import Alloc, Call, Check, For, Program, Statement, walk, workers_of
from slinky.runtime.arguments import require, take_arguments
from slinky.runtime.callbacks import UnwrittenError, note_of_error, unwritten_error
from slinky.runtime.calling import is_accepted, result_error
from slinky.runtime.codegen.origin import extents
from slinky.runtime.plan_tree import BadFold, BadRegion, BadStep, BadWorkers, CheckFailed, Failure, Place
from slinky.runtime.python_text import PythonText
from slinky.runtime.storage import NumericBox, Storage, allocate, box_text
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import evaluate_box, substitute_box
from slinky.symbolic.traversal import evaluate


@attrs.frozen
class BadResult:
    """A callback returned something, of a type of this name."""

    kind: str


@attrs.frozen
class Ended:
    """A callback failed, with this error, at a place that no line of the generated code stands for; there, the
    variables of the loops around that are not the code's own had these values, by name."""

    error: ExecutionError
    place: Place
    variables: Mapping[str, int]


class StopError(Exception):
    """A line of generated code found something wrong; `explain` says what, in terms of the program."""

    def __init__(self, failure: Failure | BadResult | Ended) -> None:
        super().__init__(failure)
        self.failure = failure


def _bad_region(operand: int) -> NoReturn:
    raise StopError(BadRegion(operand))


def _bad_fold(dim: int) -> NoReturn:
    raise StopError(BadFold(dim))


def _bad_step() -> NoReturn:
    raise StopError(BadStep())


def _bad_workers() -> NoReturn:
    raise StopError(BadWorkers())


def _check_failed() -> NoReturn:
    raise StopError(CheckFailed())


def _check_result(result: object, *outputs: object) -> None:
    """Accept the result of a callback if it is nothing but its own outputs."""
    if not is_accepted(result, outputs):
        raise StopError(BadResult(type(result).__name__))


STOPPING: Mapping[str, Callable[..., None]] = {
    "bad_fold": _bad_fold,
    "bad_region": _bad_region,
    "bad_step": _bad_step,
    "bad_workers": _bad_workers,
    "check_failed": _check_failed,
    "check_result": _check_result,
}
"""What generated code calls where it may have to stop (see `python_text.HELPERS`)."""


@attrs.frozen(eq=False)
class Code:
    """Generated code that runs a program: its text, and the name under which tracebacks know it."""

    program: Program
    text: PythonText
    filename: str


def explain(error: BaseException, code: Code, arrays: Sequence[object], scalars: Mapping[str, object]) -> None:
    """Say where in the program an error happened: a note, or another error for what generated code found wrong."""
    program, source = code.program, code.text.source
    place, variables, is_own = _where(error, code)
    linecache.cache[code.filename] = len(source), None, source.splitlines(keepends=True), code.filename
    divides = isinstance(error, ZeroDivisionError) and is_own
    if divides:
        take_arguments(program, arrays, scalars)  # fails where a check of the program is what divides
    if place is None:
        if divides:
            raise ExpressionError(f"division by zero in the bounds of pipeline {program.name}") from error
        return
    given = take_arguments(program, arrays, scalars)
    lengths: dict[Expr, int] = {}
    for p in (*program.inputs, *program.outputs):
        lengths.update(zip(extents(p), given.storages[p.name].array.shape, strict=True))
    scene = _Scene(program, place, {**given.values, **lengths, **variables}, given.storages)
    if divides:
        scene.divide(error)
    if isinstance(error, (StopError, UnwrittenError)):
        scene.fail(error)
    if isinstance(place.statement, Call):
        error.add_note(scene.note())
        further = note_of_error(place.statement, error)
        if further is not None:
            error.add_note(further)


def _where(error: BaseException, code: Code) -> tuple[Place | None, dict[Expr, int], bool]:
    """The place in the program, the values of the loops around it, and whether the generated code itself failed.

    The frames of a traceback go from the caller inwards, across threads, too. The first that stands at a call is the
    one: what follows is inside the callback, which may run the same plan.
    """
    known: dict[str, Any] = {}
    traceback = error.__traceback__
    own = False
    while traceback is not None:
        own = traceback.tb_frame.f_code.co_filename == code.filename
        if own:
            known.update(traceback.tb_frame.f_locals)
            place = code.text.places.get(traceback.tb_lineno)
            if place is not None:
                variables = {symbol: known[name] for symbol, name in place.variables.items() if name in known}
                return place, variables, traceback.tb_next is None
        traceback = traceback.tb_next
    if isinstance(error, StopError) and isinstance(error.failure, Ended):
        place = error.failure.place
        known.update(error.failure.variables)
        return place, {symbol: known[name] for symbol, name in place.variables.items() if name in known}, False
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

    def fail(self, error: StopError | UnwrittenError) -> NoReturn:
        """Raise what the interpreter raises there."""
        try:
            if isinstance(error, UnwrittenError):
                raise unwritten_error(self._call(), self._name(), self._box(), error)
            self._stop(error.failure)
        except ExecutionError as failure:
            if isinstance(self.place.statement, Call):
                failure.add_note(self.note())
            raise failure from None
        raise error

    def _stop(self, failure: Failure | BadResult | Ended) -> None:
        statement = self.place.statement
        match failure:
            case Ended(error=error):
                raise error
            case BadResult(kind=kind):
                raise result_error(self._name(), kind)
            case BadRegion(operand=operand):
                self._view(operand)
            case BadFold(dim=dim) if isinstance(statement, Alloc):
                fold = statement.folds[dim]
                given = evaluate(fold, self.values) if fold is not None else None
                raise ExecutionError(
                    f"dimension {statement.dims[dim]} of {statement.buffer} is folded by {given}; needs 1 or more"
                )
            case BadStep() if isinstance(statement, For):
                step = evaluate(statement.step, self.values)
                raise ExecutionError(f"the step of loop {statement.variable} is {step}; needs 1 or more")
            case BadWorkers() if isinstance(statement, For):
                workers = workers_of(statement)
                assert workers is not None
                count = evaluate(workers, self.values)
                raise ExecutionError(f"loop {statement.variable} has {count} workers; needs 1 or more")
            case CheckFailed():
                own = self._own()
                assert isinstance(own, Check)
                require(self.program, own, self.values)

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
        return f"{self._call().func.label}{box_text(self._box())}"

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
