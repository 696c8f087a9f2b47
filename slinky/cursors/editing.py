"""Edits of the statement tree: the only code that takes programs apart and puts them together.

An `Edit` starts from a version and ends in a new one. In between, `replace`, `insert`, `delete`, `move`, `wrap`,
`duplicate` and `update` change a private copy of the index; the statements themselves are immutable and shared, and
only those around an edit are made anew, keeping their identities. The old version is never touched.

Invariant: after each edit, `entries` describes `program` exactly, no identity stands twice, and no block inside a
statement is empty (a `Pass` takes the place of the last statement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from slinky.cursors.versions import ROOT, Entry, Version, add_entries, walk_statements
from slinky.ir.copies import rewritten, with_block, with_fresh_identities
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import (
    Block,
    Check,
    Pass,
    Program,
    ScalarParameter,
    Statement,
    blocks_of,
    walk,
)
from slinky.symbolic.expressions import Condition, Expr, Scalar
from slinky.symbolic.traversal import symbols


@attrs.frozen
class Gap:
    """A place between statements: right before or right after a statement."""

    anchor: int
    is_before: bool

    @classmethod
    def before(cls, identity: int) -> Gap:
        """The gap before a statement."""
        return cls(identity, True)

    @classmethod
    def after(cls, identity: int) -> Gap:
        """The gap after a statement."""
        return cls(identity, False)


class Edit:
    """A sequence of edits that turns one version into the next."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.program = version.program
        self.entries = dict(version.entries)
        self.ended: dict[int, str] = {}
        self.touched: set[int] = set()
        self.reordered: set[tuple[int, str]] = set()
        """The blocks, by parent and field, that hold other statements than before, or the same in another order."""
        self.copies: dict[int, int] = {}
        """Of the statements that are copies, by identity, those that they were made of."""

    def finish(self, operation: str) -> Version:
        """The new version; `operation` is the name of the primitive that made it."""
        lineage = self.version.lineage.child(operation, self.ended)
        return self.version.derived(self.program, lineage, self.entries, self.touched, self.reordered)

    def statement(self, identity: int) -> Statement:
        """A statement as it stands now."""
        return self.entries[identity].statement

    def update(self, statement: Statement) -> None:
        """Put a changed statement in the place of the one with its identity."""
        self.replace(statement.id, (statement,))

    def replace(self, identity: int, statements: Sequence[Statement], note: str = "replaced it") -> None:
        """Put statements in the place of one. Identities that occur again live on; the others end with the note."""
        entry = self.entries[identity]
        block = self._block(entry.parent, entry.field)
        at = self._index(block, identity)
        if len(statements) != 1 or statements[0].id != identity:
            self.reordered.add((entry.parent, entry.field))
        self._forget((entry.statement,), note)
        self._put(entry.parent, entry.field, (*block[:at], *statements, *block[at + 1 :]), statements)

    def insert(self, gap: Gap, statements: Sequence[Statement]) -> None:
        """Put statements into a gap."""
        entry = self.entries[gap.anchor]
        block = self._block(entry.parent, entry.field)
        at = self._index(block, gap.anchor) + (0 if gap.is_before else 1)
        self.reordered.add((entry.parent, entry.field))
        self._put(entry.parent, entry.field, (*block[:at], *statements, *block[at:]), statements)

    def delete(self, identity: int, note: str = "deleted it") -> None:
        """Remove a statement and all inside it."""
        self.replace(identity, (), note)

    def move(self, identity: int, gap: Gap) -> None:
        """Move a statement, with all inside it, to a gap that is not inside it."""
        statement = self.statement(identity)
        self.delete(identity)
        self.insert(gap, (statement,))

    def wrap(self, first: int, last: int, around: Callable[[Block], Statement]) -> None:
        """Put the statements from first to last of one block inside a new statement."""
        entry = self.entries[first]
        block = self._block(entry.parent, entry.field)
        start, end = self._index(block, first), self._index(block, last) + 1
        self.reordered.add((entry.parent, entry.field))
        wrapped = block[start:end]
        self._forget(wrapped, "wrapped it")
        outer = around(wrapped)
        self._put(entry.parent, entry.field, (*block[:start], outer, *block[end:]), (outer,))

    def duplicate(self, identity: int) -> Statement:
        """A copy of a statement, all of it with fresh identities; not yet placed."""
        original = self.statement(identity)
        copy = with_fresh_identities(original)
        for a, b in zip(walk((original,)), walk((copy,)), strict=True):
            self.copies[b.id] = self.copies.get(a.id, a.id)
        return copy

    def rewrite(self, identity: int, change: Callable[[Statement], Statement]) -> None:
        """Change a statement and every statement inside it, bottom up, in one walk. Identities must stay."""
        self.replace(identity, (rewritten(self.statement(identity), change),))

    def add_check(self, condition: Condition, message: str) -> None:
        """Put a check behind the leading ones, so that the condition is a fact everywhere; scalars in it become
        parameters."""
        program = self.program
        self.add_scalars(symbols(condition))
        count = len(list(leading_checks(program)))
        check = Check(condition, message)
        body = (*program.body[:count], check, *program.body[count:])
        self.reordered.add((ROOT, "body"))
        self._put(ROOT, "body", body, (check,))

    def add_scalars(self, used: Iterable[Expr]) -> None:
        """Make parameters of the scalars among these symbols that are none yet."""
        known = {s.name for s in self.program.scalars}
        new = sorted({s.name for s in used if isinstance(s, Scalar)} - known)
        if new:
            scalars = (*self.program.scalars, *map(ScalarParameter, new))
            self.program = attrs.evolve(self.program, scalars=scalars)

    def _block(self, parent: int, field: str) -> Block:
        if parent == ROOT:
            return self.program.body
        return next(block for name, block in blocks_of(self.entries[parent].statement) if name == field)

    def _index(self, block: Block, identity: int) -> int:
        """Where in its block a statement stands: most often where it stood in the version, or a place beside."""
        entry = self.entries[identity]
        guess = self.version.known_positions().get((entry.parent, entry.field), {}).get(identity, 0)
        for at in (guess, guess - 1, guess + 1):
            if 0 <= at < len(block) and block[at].id == identity:
                return at
        return next(at for at, statement in enumerate(block) if statement.id == identity)

    def _forget(self, statements: Sequence[Statement], note: str) -> None:
        for statement in walk_statements(tuple(statements)):
            del self.entries[statement.id]
            self.ended[statement.id] = note
            self.touched.add(statement.id)

    def _put(self, parent: int, field: str, block: Block, added: Sequence[Statement]) -> None:
        """Make `block` the block of a parent, `added` being the part of it that is not in the index."""
        if not block and parent != ROOT and field == "body":
            block = added = (Pass(),)
        entries = self.entries
        before = len(entries)
        add_entries(entries, tuple(added), parent, field)
        count = 0
        for statement in walk_statements(tuple(added)):
            count += 1
            self.ended.pop(statement.id, None)
            self.touched.add(statement.id)
        assert len(entries) == before + count, "an identity would stand twice"
        while parent != ROOT:
            outer = entries[parent]
            changed = with_block(outer.statement, field, block)
            entries[parent] = Entry(changed, outer.parent, outer.field)
            siblings = self._block(outer.parent, outer.field)
            at = self._index(siblings, parent)
            block = (*siblings[:at], changed, *siblings[at + 1 :])
            parent, field = outer.parent, outer.field
        self.program = _with_body(self.program, block)


def _with_body(program: Program, body: Block) -> Program:
    return Program(program.name, program.inputs, program.outputs, program.scalars, program.constants, body)
