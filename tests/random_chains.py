"""Chains of primitives, drawn for any pipeline, with what must hold after every step.

A chain starts from a pipeline and grows by `step`, which draws a primitive, and with it arguments that make sense for
it (a loop that stands behind a call, a dimension that a call has) but need not be legal; now and then (`is_careless`)
any arguments at all, so that refusals of what makes no sense are met as well. It keeps all versions, their texts and
cursors into them, and compares these at every step and at the end. `random_schedules` has the primitives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import slinky as sl
from slinky.errors import SchedulingError

T = TypeVar("T")
Choose = Callable[[Sequence[T]], T]
"""Draw one of several values."""

Primitive = Callable[[Any], sl.Pipeline]
"""What takes the pipeline of a chain further."""


class NothingToDoError(Exception):
    """The pipeline has no place where the drawn primitive makes sense."""


@dataclass
class AnyChain:
    """A pipeline, how it came about, and cursors taken on the way."""

    pipeline: sl.Pipeline
    choose: Choose[Any]
    primitives: dict[str, tuple[Primitive, int]] = field(default_factory=dict)
    """The primitives to draw from, each with how often it is drawn."""
    applied: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[SchedulingError] = field(default_factory=list)
    versions: list[tuple[sl.Pipeline, str]] = field(default_factory=list)
    cursors: list[tuple[sl.Cursor, str, int]] = field(default_factory=list)
    gone: list[tuple[sl.Cursor, str, int]] = field(default_factory=list)
    shapes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """Of outputs, the bounds with which the pipeline is to run, where they may be assumed."""

    def __post_init__(self) -> None:
        self._remember()

    def step(self) -> None:
        """Draw a primitive that has something to do here, and apply it unless it is refused."""
        names = [name for name, (_, weight) in self.primitives.items() for _ in range(weight)]
        while names:
            name = self.choose(names)
            try:
                self._try(name)
            except NothingToDoError:
                names = [other for other in names if other != name]
            else:
                return

    def _try(self, name: str) -> None:
        try:
            new = self.primitives[name][0](self)
        except SchedulingError as error:
            self.refused.append(name)
            self.errors.append(error)
            return
        self.applied.append(name)
        self.pipeline = new
        new.verify()
        self._check_cursors()
        self._remember()

    def _remember(self) -> None:
        p = self.pipeline
        self.versions.append((p, str(p)))
        everything = (*p.find_all("_ = _"), *p.find_all("for _"), *p.find_all("alloc _"))
        self.cursors += [(c, meaning(c), len(self.versions) - 1) for c in everything]

    def _check_cursors(self) -> None:
        """Every cursor ever taken means the same statement now, or is gone for a reason."""
        kept = []
        for taken in self.cursors:
            cursor, was, _ = taken
            now, why = forwarded(self.pipeline, cursor)
            assert meaning(now) == was if now else "is gone: " in why
            (kept if now else self.gone).append(taken)
        self.cursors = kept

    def check_old_versions(self) -> None:
        """No earlier version has changed, cursors of later versions are of no use in it, and what is gone stays so."""
        for p, text in self.versions:
            assert str(p) == text
        for cursor, _, _ in self.gone:
            now, why = forwarded(self.pipeline, cursor)
            assert not now
            assert "is gone: " in why
        first = self.versions[0][0]
        for cursor, _, version in (*self.cursors, *self.gone):
            if version > 0:
                now, why = forwarded(first, cursor)
                assert not now
                assert "newer" in why

    def is_careless(self) -> bool:
        """Whether to take any place at all, now and then."""
        return bool(self.choose(range(12)) == 11)

    # Places to draw ---------------------------------------------------------------------------------------------------

    def pick(self, pattern: str) -> Any:
        """A cursor that matches a pattern."""
        found = self.pipeline.find_all(pattern)
        if not found:
            raise NothingToDoError
        return self.choose(found)

    def producer_and_loop(self) -> tuple[sl.CallCursor, sl.LoopCursor]:
        """A loop, and a call outside it whose results are read, but in the loop alone."""
        if self.is_careless():
            return self.pick("_ = _"), self.pick("for _")
        p = self.pipeline
        pairs = []
        calls = p.find_all("_ = _")
        for loop in p.find_all("for _"):
            inside = {name for c in calls if loop.is_ancestor_of(c) for name in c.inputs()}
            outside = {name for c in calls if not loop.is_ancestor_of(c) for name in c.inputs()}
            for c in calls:
                written = set(c.outputs())
                around = not c.parent() or (c.parent().is_ancestor_of(loop) and c.parent() != loop)
                if around and written & inside and not written & outside:
                    pairs.append((c, loop))
        if not pairs:
            raise NothingToDoError
        return self.choose(pairs)

    def call_and_loop_around(self) -> tuple[sl.CallCursor, sl.LoopCursor]:
        """A call and a loop around it, of a call that another one in the loop reads from."""
        if self.is_careless():
            return self.pick("_ = _"), self.pick("for _")
        p = self.pipeline
        calls = p.find_all("_ = _")
        pairs = []
        for loop in p.find_all("for _"):
            inside = [c for c in calls if loop.is_ancestor_of(c)]
            read = {name for c in inside for name in c.inputs()}
            pairs += [(c, loop) for c in inside if read & set(c.outputs())]
        if not pairs:
            raise NothingToDoError
        return self.choose(pairs)


def forwarded(p: sl.Pipeline, cursor: sl.Cursor) -> tuple[sl.Cursor | None, str]:
    """A cursor in another version, or why there is none."""
    try:
        return p.forward(cursor), ""
    except sl.InvalidCursorError as error:
        return None, str(error)


def meaning(cursor: Any) -> str:
    """What a cursor means to a person: the kind of statement and its name; loops may be renamed by a split, a call that
    reduces may be taken to pieces, the last of which gives what it gave, and of two calls that become one, the first
    goes on."""
    kind = type(cursor).__name__
    if isinstance(cursor, sl.LoopCursor):
        return kind
    if not isinstance(cursor, sl.CallCursor):
        return f"{kind} {cursor.name()}"
    func = cursor._call.func
    while func.fused is not None:
        func = func.fused.first
    return f"{kind} {re.sub(r'_finish(_[0-9]+)?$', '', func.name)}"
