"""Versions of a program: a program with an index of where each statement stands, by identity.

Rewrites derive the index of a new version from the old one, so neither costs more for a long history. What a version
keeps of its ancestors is only its `lineage`: older programs go when nobody holds them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Set
from typing import Any, TypeAlias

import attrs

from slinky.cursors.kinds import BLOCKED, GUESTS, ORDERED, PIPELINED, RARE, Key, Names, names_in, with_changes
from slinky.cursors.lineages import UNPICKLED, Lineage, origin
from slinky.errors import InvalidCursorError, ProgramError, cited
from slinky.ir.copies import with_fresh_identities
from slinky.ir.regions import global_boxes
from slinky.ir.scopes import facts_inside, leading_checks
from slinky.ir.sharing import host_of
from slinky.ir.statements import (
    Alloc,
    Block,
    Check,
    FloatParameter,
    For,
    Program,
    ScalarParameter,
    Statement,
    blocks_of,
    walk,
)
from slinky.symbolic.intervals import Box
from slinky.symbolic.proofs import Facts, facts

ROOT = 0
"""Stands for the program itself where the identity of an enclosing statement is asked."""

_LONG = 50
"""So many statements are counted sooner than one of them is looked for where it stood before, more than once."""

_OFF = tuple(sorted(range(-8, 8), key=abs))
"""So far from where it stood before, at most, a statement is looked for: further off, all are counted again."""

IDENTITY: Callable[[Statement], int] = operator.attrgetter("id")

_NOT_ASKED: Any = object()
"""Stands for an answer that may be None."""


@attrs.define
class Entry:
    """A statement, the identity of the statement around it (`ROOT` for none), and which of its blocks it is in.

    It never changes, though it is not frozen: that takes three times as long to make, and rewrites make many.
    """

    statement: Statement
    parent: int
    field: str


Touched: TypeAlias = Mapping[int, tuple[Entry | None, Entry | None]]
"""The statements that an edit put, changed or took away, by identity: where each stood before, and where it stands now;
None where it did not, or does not."""


def changes_of(identities: Iterable[int], old: Version, new: Version) -> Touched:
    """Where statements stood in one version, and where they stand in another one."""
    these = tuple(identities)
    pairs = zip(map(old.entries.get, these), map(new.entries.get, these), strict=True)
    return dict(zip(these, pairs, strict=True))


Route: TypeAlias = tuple[tuple[str, int], ...]
"""Where a statement stands: from the outermost statement in, the block that each is in and its position there."""


class Version:
    """A program, its index and its lineage. Compared by identity; never changes."""

    __slots__ = (
        "__weakref__",
        "_facts",
        "_globals",
        "_guesses",
        "_leading",
        "_names",
        "_near",
        "_positions",
        "entries",
        "lasting",
        "lineage",
        "program",
        "remembered",
    )

    def __init__(
        self,
        program: Program,
        lineage: Lineage,
        entries: dict[int, Entry] | None = None,
        names: Names | None = None,
        positions: dict[tuple[int, str], dict[int, int]] | None = None,
        globals_: dict[str, Box] | None = None,
        guesses: dict[tuple[int, str], dict[int, int]] | None = None,
        leading: tuple[Block, Facts] | None = None,
        lasting: dict[tuple[object, ...], Any] | None = None,
        near: dict[tuple[int, str], dict[int, int]] | None = None,
    ) -> None:
        """What an edit knows already may be given: the indexes of the program by identity, by name and (of some blocks)
        by position, the bounds of its parameters, where statements of other blocks may stand, which checks led the
        program before, with what they guarantee, what was `lasting`, and where some statements of other blocks do
        stand: versions in which such a block is the same, but for what is inside of its statements, share that."""
        self.program = program
        self.lineage = lineage
        self.entries = index_of(program) if entries is None else entries
        self.remembered: dict[tuple[object, ...], Any] = {}
        """What was found out about this version, by question."""
        self.lasting: dict[tuple[object, ...], Any] = {} if lasting is None else lasting
        """What was found out about some version of this program: each answer tells what it rests on (the very objects),
        and whoever finds it looks whether that is there still. All versions share it."""
        self._names = names
        self._facts: Facts | None = None
        self._globals = global_boxes(program) if globals_ is None else globals_
        self._positions = {} if positions is None else positions
        self._near: dict[tuple[int, str], dict[int, int]] = {} if near is None else near
        self._guesses = {} if guesses is None else guesses
        self._leading = leading

    # Places -------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Version:
        return self

    def __deepcopy__(self, memo: object) -> Version:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the program, and its history as text: identities of statements mean nothing in another process."""
        from slinky.cursors.history import steps_of

        return _unpickled, (self.program, steps_of(self))

    def continued(self, lineage: Lineage) -> Version:
        """The same program, with all that is known of it, as the end of a longer history."""
        again = Version(self.program, lineage, self.entries, self._names, self._positions, self._globals, self._guesses)
        again.lasting = self.lasting
        again.remembered, again._facts, again._leading = self.remembered, self._facts, self._leading
        return again

    def statement(self, identity: int) -> Statement:
        """The statement of this identity, which must be there."""
        return self.entries[identity].statement

    def block(self, parent: int, field: str) -> Block:
        """A block of a statement, or of the program."""
        if parent == ROOT:
            return self.program.body
        statement = self.entries[parent].statement
        return next(block for name, block in blocks_of(statement) if name == field)

    def position(self, identity: int) -> int:
        """Where in its block a statement stands."""
        entry = self.entries[identity]
        places = self._positions.get((entry.parent, entry.field))
        return places[identity] if places is not None else self._found_position(identity, (entry.parent, entry.field))

    def _found_position(self, identity: int, key: tuple[int, str]) -> int:
        near = self._near.get(key)
        if near is not None and identity in near:
            return near[identity]
        block, guesses = self.block(*key), self._guesses.get(key)
        if guesses is not None and identity in guesses and len(block) > _LONG:
            guess, last = guesses[identity], len(block) - 1
            for off in _OFF:
                if 0 <= guess + off <= last and block[guess + off].id == identity:
                    self._near.setdefault(key, {})[identity] = guess + off
                    return guess + off
        places = dict(zip(map(IDENTITY, block), range(len(block)), strict=True))
        self._positions[key] = places
        return places[identity]

    def place(self, identity: int) -> Route:
        """Where a statement stands, whatever its identity: smaller is earlier."""
        return tuple([(self.entries[i].field, self.position(i)) for i in self.path(identity)])

    def in_order(self, statements: Collection[int]) -> list[int]:
        """Statements, given by identity, in program order."""
        if len(statements) < 2:
            return list(statements)
        blocks = {(entry.parent, entry.field) for entry in map(self.entries.__getitem__, statements)}
        return sorted(statements, key=self.position if len(blocks) == 1 else self.place)

    def identity_at(self, place: Route) -> int:
        """The identity of the statement that stands at a place, which must be there."""
        identity = ROOT
        for field, position in place:
            identity = self.block(identity, field)[position].id
        return identity

    def ancestors(self, identity: int) -> list[int]:
        """The statements around a statement, innermost first; not the program."""
        entries, found = self.entries, []
        parent = entries[identity].parent
        while parent != ROOT:
            found.append(parent)
            parent = entries[parent].parent
        return found

    def path(self, identity: int) -> list[int]:
        """The statements from the outermost around a statement down to itself."""
        return [*reversed(self.ancestors(identity)), identity]

    def loops_around(self, identity: int) -> list[For]:
        """The loops around a statement, outermost first."""
        entries, found = self.entries, []
        parent = entries[identity].parent
        while parent != ROOT:
            entry = entries[parent]
            if isinstance(entry.statement, For):
                found.append(entry.statement)
            parent = entry.parent
        return found[::-1]

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter of the program has this name."""
        if name in self._globals:
            return True
        program = self.program
        if not program.scalars and not program.floats:
            return False
        numbers: tuple[ScalarParameter | FloatParameter, ...] = (*program.scalars, *program.floats)
        return any(p.name == name for p in numbers)

    # Facts and buffers --------------------------------------------------------------------------------------------

    def base_facts(self) -> Facts:
        """What the leading checks guarantee everywhere."""
        if self._facts is None:
            leading = self._leading
            if leading is None or not self.is_led_by(leading[0]) or self._is_check(len(leading[0])):
                checks = tuple(leading_checks(self.program))
                leading = self._leading = checks, facts(*(check.condition for check in checks))
            self._facts = leading[1]
        return self._facts

    def is_led_by(self, statements: Block) -> bool:
        """Whether the program begins with these very statements."""
        body = self.program.body
        return len(statements) <= len(body) and all(map(operator.is_, statements, body))

    def _is_check(self, at: int) -> bool:
        body = self.program.body
        return at < len(body) and isinstance(body[at], Check)

    def leading_checks(self) -> Block:
        """The checks that stand before all other statements."""
        self.base_facts()
        assert self._leading is not None
        return self._leading[0]

    def facts_at(self, identity: int) -> Facts:
        """What holds whenever a statement runs."""
        entry = self.entries[identity]
        if entry.parent == ROOT:
            return self.base_facts()
        key = (entry.field, entry.parent)
        found = self.remembered.get(key)
        if found is None:
            around = self.facts_at(entry.parent)
            found = around.also(*facts_inside(self.entries[entry.parent].statement, entry.field))
            self.remembered[key] = found
        assert isinstance(found, Facts)
        return found

    def global_box(self, buffer: str) -> Box | None:
        """The bounds of an input, output or constant."""
        return self._globals.get(buffer)

    def alloc_of(self, buffer: str, at: int) -> Alloc | None:
        """The allocation that a name means at a statement: the innermost that stands before it, or before a statement
        around it, in the same block. None for a parameter or constant, and for a buffer that is not in scope there."""
        key = ("alloc", buffer, at)
        found: Alloc | None = self.remembered.get(key, _NOT_ASKED)
        if found is not _NOT_ASKED:
            return found
        candidates = self.names().get(("alloc", buffer), ())
        if len(candidates) == 1:  # as most are
            found = self._if_in_scope(candidates[0], at)
        else:
            found = self._innermost(candidates, at)
        self.remembered[key] = found
        return found

    def memory_of(self, alloc: Alloc) -> Alloc:
        """The allocation that has the memory in which one lies: itself, or its host, which is in scope there."""
        name = host_of(alloc)
        host = alloc if name is None else self.alloc_of(name, alloc.id)
        assert host is not None  # it has been proved
        return host

    def _if_in_scope(self, identity: int, at: int) -> Alloc | None:
        """An allocation, if it stands before a statement, or before one around it, in the same block; else None."""
        entries = self.entries
        entry, here = entries[identity], entries[at]
        parent = entry.parent
        while here.parent != parent:
            if here.parent == ROOT:
                return None
            at = here.parent
            here = entries[at]
        if here.field != entry.field or not (identity == at or self._is_before(identity, at, (parent, entry.field))):
            return None
        assert isinstance(entry.statement, Alloc)
        return entry.statement

    def _innermost(self, candidates: Iterable[int], at: int) -> Alloc | None:
        entries = self.entries
        while True:
            here = entries[at]
            parent, field = here.parent, here.field
            for identity in candidates:
                entry = entries[identity]
                if entry.parent == parent and entry.field == field:
                    if identity == at or self._is_before(identity, at, (parent, field)):
                        assert isinstance(entry.statement, Alloc)
                        return entry.statement
            if parent == ROOT:
                return None
            at = parent

    def _is_before(self, first: int, second: int, key: tuple[int, str]) -> bool:
        """Whether one statement of a block stands before another one."""
        places = self._positions.get(key)
        if places is None:
            return self._found_position(first, key) < self._found_position(second, key)
        return places[first] < places[second]

    def box_at(self, at: int) -> Callable[[str], Box]:
        """The bounds of buffers, by name, as seen from a statement.

        The function raises `ProgramError` for a buffer that is not in scope there.
        """

        def box(buffer: str) -> Box:
            known = self.global_box(buffer)
            if known is not None:
                return known
            alloc = self.alloc_of(buffer, at)
            if alloc is None:
                raise ProgramError(f"pipeline {self.program.name}: buffer {buffer!r} is used where it is not in scope")
            return alloc.box

        return box

    # Names --------------------------------------------------------------------------------------------------------

    def names(self) -> Names:
        """The index by names. Made when it is first needed, unless the edit derived it from an older one."""
        if self._names is None:
            self._names = names_in(walk(self.program.body))
        return self._names

    def derived(
        self,
        program: Program,
        lineage: Lineage,
        entries: dict[int, Entry],
        touched: Touched,
        reordered: Container[tuple[int, str]],
    ) -> Version:
        """The version after an edit, its indexes made of this one's.

        `reordered` are the blocks (by parent and field) that hold other statements than before, or in another order.
        """
        names = self._names
        if names is not None:
            names = with_changes(names, touched)
        # Of a block that changed, most statements stand where they stood, or next to that: no need to count them all.
        guesses, positions = dict(self._guesses), dict(self._positions)  # copies: another thread may ask for more
        if lineage.ended:
            guesses = {key: at for key, at in guesses.items() if key[0] in entries or key[0] == ROOT}
        for key in [key for key in positions if key in reordered or key[0] in touched]:
            guesses[key] = positions.pop(key)
        near = {key: at for key, at in dict(self._near).items() if key not in reordered and key[0] not in touched}
        return Version(
            program, lineage, entries, names, positions, self._globals, guesses, self._leading, self.lasting, near
        )

    def named(self, *keys: Key) -> list[int]:
        """The statements that have any of some keys, in program order."""
        names = self.names()
        found = names.get(keys[0], ()) if len(keys) == 1 else {i: None for key in keys for i in names.get(key, ())}
        return self.in_order(found)

    def allocations(self, buffer: str) -> tuple[int, ...]:
        """The allocations of buffers of this name, in no particular order."""
        return self.names().get(("alloc", buffer), ())

    def rare(self) -> Set[Key]:
        """Which of the keys `RARE` any statement has."""
        return self.names().keys() & RARE

    def guests(self) -> tuple[int, ...]:
        """The allocations that lie in the memory of others, in no particular order."""
        return self.names().get(GUESTS, ())

    def stored_by_blocks(self) -> tuple[int, ...]:
        """The allocations that are stored by blocks, in no particular order."""
        return self.names().get(BLOCKED, ())

    def asking_for_orders(self) -> tuple[int, ...]:
        """The calls whose funcs take a buffer in some order of its dimensions only, in no particular order."""
        return self.names().get(ORDERED, ())

    def pipelined_loops(self) -> tuple[int, ...]:
        """The pipelined loops, in no particular order."""
        return self.names().get(PIPELINED, ())

    def is_allocated(self, buffer: str) -> bool:
        """Whether an intermediate of this name is allocated anywhere."""
        return ("alloc", buffer) in self.names()

    def writers(self, buffer: str) -> list[int]:
        """The calls that write a buffer of this name, in program order."""
        return self.in_order(self.names().get(("write", buffer), ()))

    def readers(self, buffer: str) -> list[int]:
        """The calls that read a buffer of this name, in program order."""
        return self.in_order(self.names().get(("read", buffer), ()))

    def writers_of(self, alloc: Alloc) -> list[int]:
        """The calls that write what was allocated here, whatever else has the name."""
        return [i for i in self.writers(alloc.buffer) if self.alloc_of(alloc.buffer, i) is alloc]

    def readers_of(self, alloc: Alloc) -> list[int]:
        """The calls that read it."""
        return [i for i in self.readers(alloc.buffer) if self.alloc_of(alloc.buffer, i) is alloc]

    # Forwarding ---------------------------------------------------------------------------------------------------

    def require_descent(self, other: Version) -> None:
        """Check that this version is the other or was made from it.

        Raises `InvalidCursorError` that says how the two are related instead.
        """
        if self is other or self.lineage.descends_from(other.lineage):
            return
        here, there = self.program.name, other.program.name
        if other.lineage.descends_from(self.lineage):
            raise InvalidCursorError(
                f"the cursor belongs to a newer version of pipeline {there}: cursors forward from older to newer only"
            )
        if self.lineage.start is other.lineage.start:
            raise InvalidCursorError(
                f"the cursor belongs to a sibling version of pipeline {there}: this version was not made from it"
            )
        what = f"{there}, not to a version of {here}" if here != there else f"that is called {here}, too"
        copied = UNPICKLED in (self.lineage.start.operation, other.lineage.start.operation)
        hint = (
            "; what is pickled forgets its earlier versions: forward the cursor first, and pickle it with the pipeline"
        )
        raise InvalidCursorError(f"the cursor belongs to an unrelated pipeline {what}{hint if copied else ''}")

    def require_statement(self, identity: int, other: Version, what: str) -> None:
        """Check that a statement of another version is still there.

        Raises `InvalidCursorError` that says which primitive ended it, and how.
        """
        if identity in self.entries:
            return
        for step in self.lineage.since(other.lineage):
            if identity in step.ended:
                raise InvalidCursorError(f"{what} is gone: {step.operation} {step.ended[identity]}")
        raise InvalidCursorError(f"{what} is gone")


def require_version(given: object) -> Version:
    """What a cursor is forwarded to. Raises `InvalidCursorError` for what is no version."""
    if isinstance(given, Version):
        return given
    raise InvalidCursorError(
        f"forward_to() expects a version of a program, got {cited(given)}; "
        "of a pipeline, write pipeline.forward(cursor)"
    )


def _unpickled(program: Program, past: tuple[Any, ...] = ()) -> Version:
    return Version(attrs.evolve(program, body=tuple(map(with_fresh_identities, program.body))), origin(UNPICKLED, past))


def index_of(program: Program) -> dict[int, Entry]:
    """Where each statement of a program stands."""
    entries: dict[int, Entry] = {}
    add_entries(entries, program.body, ROOT, "body")
    return entries


def add_entries(entries: dict[int, Entry], block: Block, parent: int, field: str) -> None:
    """Enter the statements of a block, and all inside them, into an index."""
    for statement in block:
        entries[statement.id] = Entry(statement, parent, field)
        for name, inner in blocks_of(statement):
            add_entries(entries, inner, statement.id, name)
