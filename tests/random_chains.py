"""Chains of primitives, drawn for any pipeline, with what must hold after every step.

A chain starts from a pipeline and grows by `step`, which draws a primitive, and with it arguments that make sense for
it (a loop that stands behind a call, a dimension that a call has) but need not be legal; now and then (`is_careless`)
any arguments at all, so that refusals of what makes no sense are met as well. It keeps all versions, their texts and
cursors into them, and compares these at every step and at the end. `random_schedules` has the primitives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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


_DEEPEST, _LONGEST = 3, 60
"""So many primitives at most prepare the way for each other, in a program of so many lines at most."""


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
    slid: list[tuple[sl.CallCursor, sl.LoopCursor]] = field(default_factory=list)
    """Calls that slide, and the loops that they slide in."""
    prepares: bool = False
    """Whether other primitives prepare the way for one that has nothing to do."""
    preparing: Mapping[Primitive, str] = field(default_factory=dict)
    """What prepares the way for others alone, as which of the primitives it counts."""
    depth: int = 0
    """How many primitives wait for others to prepare the way."""
    wanted: Sequence[tuple[str, str]] = ()
    """What the program was made for: primitives that refuse it, each with why."""
    asides: list[AnyChain] = field(default_factory=list)
    """Chains that went on from here for themselves."""

    def __post_init__(self) -> None:
        if not self.versions:
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
        self.apply(name, self.primitives[name][0])

    def apply(self, name: str, primitive: Primitive) -> None:
        """Go on from what a primitive makes, as which it counts, unless it is refused."""
        try:
            new = primitive(self)
        except SchedulingError as error:
            self.refused.append(name)
            self.errors.append(error)
            return
        self.take(name, new)

    def take(self, name: str, new: sl.Pipeline) -> sl.Pipeline:
        """Go on from what a primitive has made; a step that is made of several takes each of them."""
        self.applied.append(name)
        return self.go_on(new)

    def go_on(self, new: sl.Pipeline) -> sl.Pipeline:
        """Go on from what was made by hand, which counts as no primitive."""
        self.pipeline = new
        new.verify()
        self._check_cursors()
        self._remember()
        return new

    def aside(self, *, anew: bool = False) -> AnyChain:
        """A chain that goes on from here for itself, or from the first version: what it applies and is refused is
        counted here, too."""
        here = 0 if anew else len(self.versions) - 1
        cursors = [(cursor, was, 0) for cursor, was, version in (*self.cursors, *self.gone) if version == here]
        slid = [] if anew else [*self.slid]
        lists: dict[str, Any] = {"cursors": cursors, "gone": [], "slid": slid, "asides": []}
        other = replace(self, pipeline=self.versions[here][0], versions=[self.versions[here]], **lists)
        self.asides.append(other)
        return other

    def all_asides(self) -> Iterator[AnyChain]:
        """The chains that went on from here for themselves, and those that went on from them."""
        for other in self.asides:
            yield other
            yield from other.all_asides()

    def length(self) -> int:
        """How many lines the program has."""
        return self.versions[-1][1].count("\n")

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
        for other in self.asides:
            other.check_old_versions()
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

    def prepared(self, find: Callable[[], Sequence[T]], *before: str | Primitive) -> T:
        """One of the places that are found; if there are none, others may be applied before, one by one: primitives
        that are drawn, by name, or such as know of a place.

        Many primitives have something to do only where others have been: what is never folded is not unfolded.
        """
        places = find()
        for each in before:
            if places:
                break
            self.prepare(each)
            places = find()
        if not places:
            raise NothingToDoError
        return self.choose(places)

    def prepare(self, step: str | Primitive) -> None:
        """Apply a primitive, for the sake of another one, if it has anything to do and is not refused."""
        if not self.prepares or self.depth >= _DEEPEST or self.length() > _LONGEST:
            return
        name, primitive = (step, self.primitives[step][0]) if isinstance(step, str) else (self.preparing[step], step)
        self.depth += 1
        try:
            self.apply(name, primitive)
        except NothingToDoError:
            pass
        finally:
            self.depth -= 1

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

    def producer_and_loop(self, *before: str | Primitive) -> tuple[sl.CallCursor, sl.LoopCursor]:
        """A loop, and a call outside it whose results are read, but in the loop alone."""
        if self.is_careless():
            return self.pick("_ = _"), self.pick("for _")
        return self.prepared(self._producers_and_loops, *before)

    def _producers_and_loops(self) -> list[tuple[sl.CallCursor, sl.LoopCursor]]:
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
        return pairs

    def call_and_loop_around(self) -> tuple[sl.CallCursor, sl.LoopCursor]:
        """A call and a loop around it, of a call that another one in the loop reads from."""
        if self.is_careless():
            return self.pick("_ = _"), self.pick("for _")
        return self.prepared(self.calls_and_loops_around, "compute_at")

    def calls_and_loops_around(self) -> list[tuple[sl.CallCursor, sl.LoopCursor]]:
        p = self.pipeline
        calls = p.find_all("_ = _")
        pairs = []
        for loop in p.find_all("for _"):
            inside = [c for c in calls if loop.is_ancestor_of(c)]
            read = {name for c in inside for name in c.inputs()}
            pairs += [(c, loop) for c in inside if read & set(c.outputs())]
        return pairs


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
    name = re.sub(r"_finish(_[0-9]+)?$", "", func.name)
    first_of_two = re.fullmatch(r"(f[0-9]+)_f[0-9]+", name)
    return f"{kind} {first_of_two[1] if first_of_two else name}"
