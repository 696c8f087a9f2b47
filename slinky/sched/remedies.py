"""Remedies: code that makes a refused operation go on, tried on the pipeline that was refused before anybody reads it.

A refusal knows what may help: other operations first (`first`), or the same one with other arguments (`instead`). When
its message is read, these are tried in order, and then the refused operation again. What is refused in turn brings
remedies of its own, so a hint may be a chain: compute s1 there, compute s2 there, and go on.

Invariant: the code of a hint has been executed, statement by statement, on the pipeline that was refused. A hint whose
code does not bring the refused operation to its end says that it is a step only. Work is bounded.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import BlockCursor, DimCursor, GapCursor, StatementCursor, statement_cursor
from slinky.cursors.versions import Version
from slinky.cursors.writing import remembered, written
from slinky.errors import InvalidCursorError, SchedulingError, SlinkyError
from slinky.ir.statements import Alloc
from slinky.pipeline import Pipeline
from slinky.sched.small_runs import elements_computed
from slinky.symbolic.expressions import Constant, Expr, Scalar
from slinky.symbolic.patience import Effort

_DEPTHS = (0, 1, 4)
"""How many remedies of refused remedies may be in each other: short ways are tried first."""

_MOST_TRIED = 60
_MOST_TRIED_OF_MANY = 6
_MOST_WORK = 1_500_000
"""What all that is tried for a hint may take, as coefficients of inequalities that are looked at: about half a second.
What is left is not tried then; most hints take less than a tenth of that."""

_MUCH_MORE_WORK = 1.25


@attrs.frozen
class PlaceOf:
    """A statement, by its identity, in whatever pipeline a step is applied to."""

    identity: int


@attrs.frozen
class Step:
    """An operation of slinky, by name, with its arguments; a place is given as `PlaceOf`."""

    operation: str
    arguments: tuple[object, ...]


@attrs.frozen
class Remedy:
    """What may help: words on it, operations to apply first, and how to change the arguments of the refused one.

    Words that depend on what came of it are asked of the pipeline that it ended in.
    """

    words: str | Callable[[Pipeline], str]
    steps: tuple[Step, ...] = ()
    change: Callable[[Mapping[str, object]], Mapping[str, object]] = dict


def first(words: str, *steps: tuple[object, ...]) -> Remedy:
    """Operations to apply before the refused one, each given by its name and arguments."""
    return Remedy(words, tuple(Step(str(name), tuple(arguments)) for name, *arguments in steps))


def instead(words: str | Callable[[Pipeline], str], **changes: object) -> Remedy:
    """The refused operation with other arguments; None leaves one out."""
    return Remedy(words, change=lambda arguments: {**arguments, **changes})


def unfold_first(words: str, alloc: Alloc, dim: int) -> Remedy:
    """A dimension of a buffer stored in full before the refused operation."""
    return first(words, ("unfold_storage", PlaceOf(alloc.id), alloc.dims[dim]))


@attrs.frozen
class _Goal:
    """An operation to be applied, with arguments by name; places and cursors are those of any earlier pipeline."""

    operation: Callable[..., Any]
    names: tuple[str, ...]
    """The names of the arguments that may be given by position."""
    arguments: Mapping[str, object]

    def apply(self, p: Pipeline) -> Pipeline:
        """The pipeline that the operation makes of one."""
        result = self.operation(p, **{key: _located(p._version, value) for key, value in self.arguments.items()})
        assert isinstance(result, Pipeline)
        return result

    def code(self, p: Pipeline) -> str | None:
        """The statement that applies the operation to `p`; None if an argument cannot be written there."""
        name = getattr(self.operation, "__name__", "")
        prefix = "sl." if getattr(self.operation, "__module__", "").startswith("slinky.") else ""
        texts, positional = ["p"], True
        for key in (*self.names, *(key for key in self.arguments if key not in self.names)):
            if key not in self.arguments:
                positional = False
                continue
            positional = positional and key in self.names
            text = _written(p._version, self.arguments[key])
            if text is None:
                return None
            texts.append(text if positional else f"{key}={text}")
        return f"p = {prefix}{name}({', '.join(texts)})"


@attrs.frozen
class Attempt:
    """An operation that was refused: what it was given."""

    operation: Callable[..., Any]
    names: tuple[str, ...]
    pipeline: Pipeline
    arguments: Mapping[str, object]

    def advice(self, remedies: Sequence[object]) -> tuple[str, str]:
        """Words on the first remedy with which the operation goes on, and its code; else on one that is a step."""
        goal = _Goal(self.operation, self.names, self.arguments)
        search = _Search()
        for deepest in _DEPTHS:
            for remedy in remedies:
                assert isinstance(remedy, Remedy)
                found = search.solve(self.pipeline, _goals(remedy, goal), deepest)
                if found is not None:
                    return self._told(remedy, *found)
        return self._step(remedies, goal, _Search(tried=search.tried))

    def _step(self, remedies: Sequence[object], goal: _Goal, search: _Search) -> tuple[str, str]:
        """Words on the first remedy that is accepted, though the operation does not go on, and its code."""
        for remedy in remedies:
            assert isinstance(remedy, Remedy)
            found = search.solve(self.pipeline, _goals(remedy, None), 0) if remedy.steps else None
            if found is not None and search.goes_elsewhere(found[0], goal, self.pipeline):
                words, code = self._told(remedy, *found)
                return f"{words} (a step only: more is needed before {goal.operation.__name__} goes on)", code
        return "", ""

    def _told(self, remedy: Remedy, p: Pipeline, lines: list[str]) -> tuple[str, str]:
        words = remedy.words if isinstance(remedy.words, str) else remedy.words(p)
        counts = elements_computed((self.pipeline.program, p.program))
        if counts is not None and counts[1] > _MUCH_MORE_WORK * counts[0]:
            words += f" (on small arrays, it computes {counts[1] / counts[0]:.1f} times as many elements)"
        return words, "\n".join(lines)


@attrs.frozen
class AttemptOfMany(Attempt):
    """An operation made of others, of which one was refused: what may help that one is tried before all of them."""

    def advice(self, remedies: Sequence[object]) -> tuple[str, str]:
        """Words on the first remedy with which the operation goes on, and its code: all on the pipeline from before it.

        Other arguments of the one that was refused are no remedy here, nor is a step that is not enough.
        """
        goal = _Goal(self.operation, self.names, self.arguments)
        search = _Search(_MOST_TRIED_OF_MANY)
        for remedy in remedies:
            assert isinstance(remedy, Remedy)
            found = search.solve(self.pipeline, _goals(remedy, goal), 0) if remedy.steps else None
            if found is not None:
                return self._told(remedy, *found)
        return "", ""


def _goals(remedy: Remedy, refused: _Goal | None) -> list[_Goal]:
    """What a remedy does, and then the refused operation again."""
    goals = []
    for step in remedy.steps:
        operation = _operation(step.operation)
        names = _names(operation)
        goals.append(_Goal(operation, names, dict(zip(names, step.arguments, strict=False))))
    if refused is not None:
        arguments = {key: value for key, value in remedy.change(refused.arguments).items() if value is not None}
        goals.append(attrs.evolve(refused, arguments=arguments))
    return goals


@attrs.define
class _Search:
    """A bounded search for operations that are accepted one after the other and reach all goals."""

    left: int = _MOST_TRIED
    work: int = _MOST_WORK
    tried: dict[object, tuple[Pipeline, Pipeline | SlinkyError]] = attrs.field(factory=dict)
    """What came of it, by pipeline, operation and arguments; with the pipelines, so that their numbers stay theirs."""

    def solve(self, p: Pipeline, goals: list[_Goal], deepest: int) -> tuple[Pipeline, list[str]] | None:
        """The pipeline in which all goals are reached, and the code that gets there."""
        lines: list[str] = []
        for n, goal in enumerate(goals):
            self.left -= 1
            if self.left < 0 or self.work < 0:
                return None
            try:
                code = goal.code(p)
                new = self._applied(goal, p)
            except SchedulingError as error:
                found = self._otherwise(p, goal, goals[n + 1 :], error, deepest)
                return None if found is None else (found[0], lines + found[1])
            except SlinkyError:
                return None
            if code is None:
                return None
            lines.append(code)
            p = new
        return p, lines

    def _applied(self, goal: _Goal, p: Pipeline) -> Pipeline:
        """What an operation makes of a pipeline. Deeper searches begin with the same, which is not tried again."""
        key = id(p), goal.operation, *goal.arguments.items()
        known = self.tried.get(key) if _is_hashable(key) else None
        if known is None:
            with Effort() as effort:
                try:
                    known = p, goal.apply(p)
                except SlinkyError as error:
                    known = p, error
            self.work -= effort.cost(len(p._version.entries))
            if _is_hashable(key):
                self.tried[key] = known
        if isinstance(known[1], SlinkyError):
            raise known[1]
        return known[1]

    def _otherwise(
        self, p: Pipeline, goal: _Goal, rest: list[_Goal], error: SchedulingError, deepest: int
    ) -> tuple[Pipeline, list[str]] | None:
        """The same, with a remedy for a goal that was refused."""
        if deepest == 0 or error.within:
            return None
        for remedy in error.remedies():
            assert isinstance(remedy, Remedy)
            found = self.solve(p, [*_goals(remedy, goal), *rest], deepest - 1)
            if found is not None:
                return found
        return None

    def goes_elsewhere(self, p: Pipeline, goal: _Goal, before: Pipeline) -> bool:
        """Whether an operation that is refused after a step is refused for another reason than before it, with a
        remedy."""
        errors = []
        for pipeline in (before, p):
            try:
                self._applied(goal, pipeline)
            except SchedulingError as error:
                errors.append(error)
            except SlinkyError:
                return False
        return len(errors) == 2 and errors[0].reason != errors[1].reason and bool(errors[1].remedies())


def _is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _operation(name: str) -> Callable[..., Any]:
    """An operation of slinky. Their modules import this one."""
    found: Callable[..., Any] = getattr(importlib.import_module("slinky"), name)
    return found


def _names(operation: Callable[..., Any]) -> tuple[str, ...]:
    parameters = list(inspect.signature(operation).parameters.values())[1:]
    return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)


# ----------------------------------------------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------------------------------------------


def _located(version: Version, value: object) -> object:
    """An argument for a version: of a place, the cursor to it."""
    if not isinstance(value, PlaceOf):
        return value
    if value.identity not in version.entries:
        raise InvalidCursorError("the statement is gone")
    return statement_cursor(version, value.identity)


def _written(version: Version, value: object) -> str | None:
    """An argument as code; None where there is no short way to write it."""
    if isinstance(value, PlaceOf):
        value = _located(version, value)
    code = written(remembered(version, value, is_pattern=True), version.program) if _is_short(value) else None
    return None if code is None or code.modules else code.text


def _is_short(value: object) -> bool:
    """Whether an argument is a word or a number, or a few of them: hints are to be read."""
    if isinstance(value, Cursor):
        return isinstance(value, (StatementCursor, DimCursor, GapCursor, BlockCursor))
    if isinstance(value, Expr):
        return isinstance(value, (Scalar, Constant))
    if isinstance(value, tuple):
        return all(map(_is_short, value))
    return value is None or isinstance(value, (str, int))
