"""Schedules made of steps: one after the other, tried, repeated, and taken to the places where they apply.

A *step* is anything that is called with a pipeline and a place in it, a cursor: an operation, `functools.partial` of
one, or a function. It returns the new pipeline; an operation may return its record with it, a function a record or the
cursor of the place where to go on. A step that takes only the pipeline is not given a place.

A combinator makes a `Schedule` of steps, which is a step itself. What a schedule goes on with is a pipeline, a place
and the record of its last operation. The place is kept as it was given, and forwarded whenever a step is given it, so
no step forwards anything.

Invariant: a refusal of a step is either passed on, or leaves no trace: the pipeline and the place are those from before
the step. What is no refusal (`REFUSALS`) is always passed on.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias, overload

import attrs

from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.cursors import DimCursor, ExprCursor, StatementCursor
from slinky.errors import InvalidCursorError, OperationError, PatternError, SchedulingError, cited
from slinky.ir.given import is_iterable
from slinky.pipeline import Pipeline
from slinky.sched.records import ReturnedCursors
from slinky.symbolic import is_integer

REFUSALS = (SchedulingError, InvalidCursorError, PatternError)
"""What a step raises that cannot be taken here; `attempt` and its like catch these errors, and nothing else."""

StepFunction: TypeAlias = Callable[..., Any]
"""An operation, a partial of one, or a function of a pipeline and a place: see the module."""

Places: TypeAlias = str | Callable[..., Iterable[Cursor]]
"""Which places: those that a pattern matches, or those that a function of a pipeline and a place gives."""


@attrs.frozen(eq=False)
class State:
    """What a schedule goes on with: the place may be of an earlier version, and is None for the whole pipeline."""

    pipeline: Pipeline
    place: Cursor | None = None
    record: ReturnedCursors | None = None

    def cursor(self) -> Cursor | None:
        """The place in the pipeline. Raises `InvalidCursorError` if it is gone."""
        return None if self.place is None else self.pipeline.forward(self.place)

    def is_as(self, before: State) -> bool:
        """Whether nothing has changed since: the program says the same, and the place is the same."""
        if self.pipeline is not before.pipeline and not self.pipeline.same_program(before.pipeline):
            return False
        return self._lies_where(before)

    def _lies_where(self, before: State) -> bool:
        if self.place is None or before.place is None:
            return self.place is before.place
        return self.place == before.place or self.pipeline.same(self.place, before.place)


class Schedule:
    """Steps put together by a combinator: called as an operation is, with a pipeline, and a place or a pattern of one.

    It returns the new pipeline; with `rc=True` also the cursor to the place where its last step went on, an
    `InvalidCursor` if that place is gone, or there was none.
    """

    __slots__ = ("_apply", "_text")

    def __init__(self, text: str, apply: Callable[[State], State]) -> None:
        self._text = text
        self._apply = apply

    @overload
    def __call__(self, p: Pipeline, place: Cursor | str | None = None, *, rc: Literal[False] = False) -> Pipeline: ...
    @overload
    def __call__(
        self, p: Pipeline, place: Cursor | str | None = None, *, rc: Literal[True]
    ) -> tuple[Pipeline, Any]: ...
    def __call__(
        self, p: Pipeline, place: Cursor | str | None = None, *, rc: bool = False
    ) -> Pipeline | tuple[Pipeline, Any]:
        if not isinstance(p, Pipeline):
            raise OperationError(f"{self._text}: the first argument must be a Pipeline, got {type(p).__name__}")
        found = p.find(place) if isinstance(place, str) else place
        if found is not None and not isinstance(found, Cursor):
            raise OperationError(f"{self._text}: expected a cursor or a pattern, got {cited(place)}")
        try:
            end = self._apply(State(p, found))
        except SchedulingError as error:
            if error.attempt is not None and error.attempt.pipeline is not p:
                error.attempt = None  # what would help there is no code for a pipeline that anybody has
            raise
        return (end.pipeline, _where_it_is(end)) if rc else end.pipeline

    def __repr__(self) -> str:
        return self._text


def _where_it_is(state: State) -> Cursor:
    """The place in the pipeline; an `InvalidCursor` if it is gone, or there is none."""
    try:
        return state.cursor() or InvalidCursor()
    except InvalidCursorError:
        return InvalidCursor()


# ----------------------------------------------------------------------------------------------------------------
# One after the other
# ----------------------------------------------------------------------------------------------------------------


def seq(*steps: StepFunction) -> Schedule:
    """Steps one after the other, each at the place where the one before went on."""
    taken = [_as_schedule(step, "seq") for step in steps]

    def run(state: State) -> State:
        for step in taken:
            state = step._apply(state)
        return state

    return Schedule(_text("seq", *taken), run)


def at(name: str) -> Schedule:
    """Go on at a cursor of the record that the operation before returned: `at("outer")` after `split_loop`.

    Raises `PatternError` if there is no such cursor, `InvalidCursorError` if it stands for no place.
    """
    if not isinstance(name, str):
        raise OperationError(f"at: expected the name of a returned cursor, got {cited(name)}")

    def run(state: State) -> State:
        if state.record is None:
            raise PatternError(
                f"at({name!r}): the step before it returned no record; a function passes on that of rc=True"
            )
        return attrs.evolve(state, place=_require_place(state.record[name], f"at({name!r})"))

    return Schedule(f"at({name!r})", run)


def navigate(move: str | Callable[[Any], Any]) -> Schedule:
    """Go on elsewhere: at what a function of the cursor gives, or at the first match of a pattern in the place.

    Raises `InvalidCursorError` if that is nowhere, `PatternError` if nothing matches.
    """
    text = _text("navigate", move)
    if not isinstance(move, str) and not callable(move):
        raise OperationError(f"navigate: expected a pattern or a function of a cursor, got {cited(move)}")

    def run(state: State) -> State:
        here = state.cursor()
        if isinstance(move, str):
            return attrs.evolve(state, place=(state.pipeline if here is None else here).find(move))
        if here is None:
            raise InvalidCursorError(f"{text}: there is no place to go on from; call the schedule with one")
        return attrs.evolve(state, place=_require_place(move(here), text))

    return Schedule(text, run)


def savepoint(step: StepFunction) -> Schedule:
    """A step that leaves the place as it was: the next one goes on where this one began."""
    taken = _as_schedule(step, "savepoint")

    def run(state: State) -> State:
        return attrs.evolve(taken._apply(state), place=state.place)

    return Schedule(_text("savepoint", taken), run)


# ----------------------------------------------------------------------------------------------------------------
# Tried and repeated
# ----------------------------------------------------------------------------------------------------------------


def attempt(step: StepFunction) -> Schedule:
    """A step, or nothing where it is refused."""
    taken = _as_schedule(step, "attempt")

    def run(state: State) -> State:
        try:
            return taken._apply(state)
        except REFUSALS:
            return state

    return Schedule(_text("attempt", taken), run)


def or_else(*steps: StepFunction) -> Schedule:
    """The first of several steps that is not refused. If all are, raises what the last one raised."""
    taken = [_as_schedule(step, "or_else") for step in steps]
    if not taken:
        raise OperationError("or_else: expected at least one step")

    def run(state: State) -> State:
        for step in taken[:-1]:
            try:
                return step._apply(state)
            except REFUSALS:
                continue
        return taken[-1]._apply(state)

    return Schedule(_text("or_else", *taken), run)


def repeat(step: StepFunction, most: int = 100) -> Schedule:
    """A step again and again, each time where it went on: until it is refused or changes nothing, at most so often."""
    taken = _as_schedule(step, "repeat")
    _require_count(most, "repeat")

    def run(state: State) -> State:
        for _ in range(most):
            try:
                new = taken._apply(state)
                if new.is_as(state):
                    return state
            except REFUSALS:
                return state
            state = new
        return state

    return Schedule(_text("repeat", taken), run)


def when(condition: Callable[..., object], step: StepFunction) -> Schedule:
    """A step where a function of the pipeline and the place gives something true; else nothing."""
    taken, holds = _as_schedule(step, "when"), _taking_places(condition, "when")

    def run(state: State) -> State:
        return taken._apply(state) if holds(state.pipeline, state.cursor()) else state

    return Schedule(_text("when", condition, taken), run)


# ----------------------------------------------------------------------------------------------------------------
# At many places
# ----------------------------------------------------------------------------------------------------------------


def each(places: Places, step: StepFunction) -> Schedule:
    """A step at each of several places, in order: all that a pattern matches inside the place (or that a function
    gives), as they were before the first step. It leaves the place as it was.

    Raises what a step raises, and `InvalidCursorError` where an earlier step has taken a place away: `attempt` the
    step, if it may.
    """
    taken, found = _as_schedule(step, "each"), _finder(places, "each")

    def run(state: State) -> State:
        for cursor in found(state):
            state = attrs.evolve(taken._apply(attrs.evolve(state, place=cursor)), place=state.place)
        return state

    return Schedule(_text("each", places, taken), run)


def top_down(places: Places, step: StepFunction) -> Schedule:
    """A step at the first place where it is accepted and changes something, an outer place before those inside it.

    The places are those that a pattern matches inside the place, or that a function gives. It leaves the place as it
    was. Raises `SchedulingError` if the step applies at none of them.
    """
    return _at_the_first("top_down", places, step, _from_outside)


def bottom_up(places: Places, step: StepFunction) -> Schedule:
    """As `top_down`, but places that lie inside of others come before them."""
    return _at_the_first("bottom_up", places, step, _from_inside)


def outermost(places: Places, step: StepFunction, most: int = 100) -> Schedule:
    """`top_down`, repeated: until the step applies nowhere, at most so often."""
    return _repeated("outermost", top_down(places, step), places, step, most)


def innermost(places: Places, step: StepFunction, most: int = 100) -> Schedule:
    """`bottom_up`, repeated: until the step applies nowhere, at most so often."""
    return _repeated("innermost", bottom_up(places, step), places, step, most)


def _at_the_first(name: str, places: Places, step: StepFunction, key: Callable[[Cursor], Any]) -> Schedule:
    taken, found = _as_schedule(step, name), _finder(places, name)
    text = _text(name, places, taken)

    def run(state: State) -> State:
        refusals: list[Exception] = []
        cursors = sorted(found(state), key=key)
        for cursor in cursors:
            try:
                new = attrs.evolve(taken._apply(attrs.evolve(state, place=cursor)), place=state.place)
            except REFUSALS as error:
                refusals.append(error)
                continue
            if new.pipeline is not state.pipeline and not new.pipeline.same_program(state.pipeline):
                return new
        raise SchedulingError(functools.partial(_applies_nowhere, text, len(cursors), refusals))

    return Schedule(text, run)


def _applies_nowhere(text: str, count: int, refusals: Sequence[Exception]) -> str:
    if not count:
        return f"{text} finds no place"
    first = f"; at the first one that refused it: {refusals[0]}" if refusals else ""
    return f"{text} applies at none of {count} places: {len(refusals)} refused it{first}"


def _repeated(name: str, once: Schedule, places: Places, step: StepFunction, most: int) -> Schedule:
    return Schedule(_text(name, places, step), repeat(once, _require_count(most, name))._apply)


# ----------------------------------------------------------------------------------------------------------------
# Steps and places as they are given
# ----------------------------------------------------------------------------------------------------------------


def _as_schedule(step: object, who: str) -> Schedule:
    """A step that takes and gives the whole state. Raises `OperationError` for what is no step."""
    if isinstance(step, Schedule):
        return step
    call, returns_record = _taking_places(step, who), _operation_of(step) is not None
    text = _text_of(step)

    def run(state: State) -> State:
        given = call(state.pipeline, state.cursor(), **({"rc": True} if returns_record else {}))
        return _result(text, state, given)

    return Schedule(text, run)


def _result(text: str, state: State, given: Any) -> State:
    """What a step made of a state. Raises `OperationError` unless it is what a step returns."""
    new, found = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(new, Pipeline) or not isinstance(found, (Cursor, ReturnedCursors, type(None))):
        raise OperationError(
            f"{text}: a step returns a pipeline, or a pipeline and a record or a cursor of it, got {cited(given)}"
        )
    if isinstance(found, Cursor):
        return State(new, found)
    return State(new, state.place, found)


def _taking_places(function: object, who: str) -> Callable[..., Any]:
    """A function of a pipeline and a place, which gets the pipeline alone if it takes no more, or there is no place."""
    if not callable(function):
        raise OperationError(f"{who}: expected a step, a function of a pipeline and a place, got {cited(function)}")
    takes_place = _takes_two(function)

    def call(p: Pipeline, place: Cursor | None, **more: Any) -> Any:
        return function(p, place, **more) if takes_place and place is not None else function(p, **more)

    return call


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function takes a second argument by position; one that does not say so is taken to."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return True
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(by_position) > 1 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _operation_of(step: Any) -> Any:
    """The operation that a step is, or is a partial of; None if it is another function."""
    while isinstance(step, functools.partial):
        if "rc" in step.keywords:
            return None
        step = step.func
    return step if isinstance(getattr(step, "cursors", None), type) else None


def _finder(places: object, who: str) -> Callable[[State], list[Cursor]]:
    """What finds places from a state. Raises `OperationError` for what cannot say which."""
    if isinstance(places, str):
        pattern = places

        def matches(state: State) -> list[Cursor]:
            here = state.cursor()
            return list((state.pipeline if here is None else here).find_all(pattern))

        return matches
    function = _taking_places(places, who)

    def given(state: State) -> list[Cursor]:
        answer = function(state.pipeline, state.cursor())
        if not is_iterable(answer):
            raise OperationError(f"{who}: {_text_of(places)} must give several cursors, or none, got {cited(answer)}")
        found = list(answer)
        wrong = next((c for c in found if not isinstance(c, Cursor)), None)
        if wrong is not None:
            raise OperationError(f"{who}: {_text_of(places)} must give cursors, got {cited(wrong)}")
        return [state.pipeline.forward(cursor) for cursor in found]

    return given


def _require_place(cursor: object, who: str) -> Cursor:
    """A cursor to some place. Raises `InvalidCursorError` for one to none, `OperationError` for anything else."""
    if isinstance(cursor, InvalidCursor):
        raise InvalidCursorError(f"{who} gives an InvalidCursor, which stands for no place")
    if not isinstance(cursor, Cursor):
        raise OperationError(f"{who} must give one cursor, got {cited(cursor)}")
    return cursor


def _require_count(most: int, who: str) -> int:
    if not is_integer(most) or most < 0:
        raise OperationError(f"{who}: most must be an integer of at least 0, got {cited(most)}")
    return int(most)


def _from_outside(cursor: Cursor) -> tuple[tuple[str, int], ...]:
    """Orders places as the program has them: an outer one before what is inside."""
    if isinstance(cursor, (StatementCursor, DimCursor, ExprCursor)):
        return cursor._version.place(cursor._id)
    return ()


def _from_inside(cursor: Cursor) -> tuple[tuple[str, int], ...]:
    """Orders places so that what is inside comes before what is around it; else as the program has them."""
    return (*_from_outside(cursor), ("~", 0))  # later than the name of any block of a statement


def _text(name: str, *parts: object) -> str:
    return f"{name}({', '.join(map(_text_of, parts))})"


def _text_of(part: object) -> str:
    """What was given, in few words."""
    if isinstance(part, functools.partial):
        given = [cited(value) for value in part.args] + [
            f"{key}={cited(value)}" for key, value in part.keywords.items()
        ]
        return f"partial({', '.join([_text_of(part.func), *given])})"
    return getattr(part, "__name__", None) or cited(part)
