"""Edits of the statement tree: the only code that takes programs apart and puts them together.

An `Edit` starts from a version and ends in a new one. In between, `replace`, `insert`, `delete`, `move`, `wrap`,
`duplicate` and `update` change a private copy of the index; the statements themselves are immutable and shared, and
only those around an edit are made anew, keeping their identities. The old version is never touched.

Invariant: after each edit, `entries` describes `program` exactly, no identity stands twice, and no block inside a
statement is empty (a `Pass` takes the place of the last statement).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import attrs

from slinky.cursors.kinds import keys_of
from slinky.cursors.versions import ROOT, Entry, Touched, Version
from slinky.ir.copies import (
    rewritten,
    with_block,
    with_buffers,
    with_fresh_identities,
    with_identity,
    with_names,
    with_program_body,
    with_variable,
)
from slinky.ir.effects import made_by
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import (
    Alloc,
    Block,
    Check,
    For,
    Pass,
    Program,
    ScalarParameter,
    Statement,
    blocks_of,
    has_blocks,
    walk,
)
from slinky.ir.substitution import substitute_block
from slinky.symbolic.expressions import Condition, Expr, Scalar, Variable, variable
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
        self._program = version.program
        self._body: list[Statement] | None = None
        """The statements of the program where they are others than those of `_program`."""
        self.entries = version.entries.copy()  # several times as fast as `dict` where something was deleted
        self.ended: dict[int, str] = {}
        self.touched: set[int] = set()
        self.headers: set[int] = set()
        """Of the loops that were touched, those of which nothing but the head was: what is inside is as it was, though
        it may now run in other iterations."""
        self.reordered: set[tuple[int, str]] = set()
        """The blocks, by parent and field, that hold other statements than before, or the same in another order."""
        self.copies: dict[int, int] = {}
        """Of the statements that are copies, by identity, those that they were made of."""
        self.staged: dict[int, str] = {}
        """Of new allocations that hold elements of parameters, by identity, the names of these."""

    @property
    def program(self) -> Program:
        """The program as it stands now: put together when somebody asks, which is most often once, at the end."""
        if self._body is not None:
            self._program, self._body = with_program_body(self._program, tuple(self._body)), None
        return self._program

    @program.setter
    def program(self, program: Program) -> None:
        self._program, self._body = program, None

    def copy(self) -> Edit:
        """The same edits once more, apart from these."""
        other = Edit(self.version)
        other.program, other.entries = self.program, self.entries.copy()
        other.ended, other.touched, other.headers = dict(self.ended), set(self.touched), set(self.headers)
        other.reordered, other.copies, other.staged = set(self.reordered), dict(self.copies), dict(self.staged)
        return other

    def finish(self, operation: str) -> Version:
        """The new version; `operation` is the name of the primitive that made it."""
        return self.finish_with(operation, self.changes())

    def changes(self) -> Touched:
        """What was touched, in the order of identities."""
        these = sorted(self.touched)
        pairs = zip(map(self.version.entries.get, these), map(self.entries.get, these), strict=True)
        return dict(zip(these, pairs, strict=True))

    def finish_with(self, operation: str, changes: Touched) -> Version:
        """The same, for those who have asked for `changes` after the last edit."""
        version = self.version
        lineage = version.lineage.child(operation, self.ended)
        return version.derived(self.program, lineage, self.entries, changes, self.reordered)

    def statement(self, identity: int) -> Statement:
        """A statement as it stands now."""
        return self.entries[identity].statement

    def update(self, statement: Statement) -> None:
        """Put a changed statement in the place of the one with its identity."""
        identity = statement.id
        entry = self.entries[identity]
        if has_blocks(statement, entry.statement):
            if not _is_same_inside(entry.statement, statement):
                self.replace(identity, (statement,))
                return
            self.headers.add(identity)
        self.touched.add(identity)
        parent, field = entry.parent, entry.field
        block = self._block(parent, field)
        at = self._index(block, identity)
        self.entries[identity] = Entry(statement, parent, field)
        self._splice(parent, field, at, 1, (statement,))

    def replace(self, identity: int, statements: Sequence[Statement], note: str = "replaced it") -> None:
        """Put statements in the place of one. Identities that occur again live on; the others end with the note."""
        entry = self.entries[identity]
        block = self._block(entry.parent, entry.field)
        at = self._index(block, identity)
        if len(statements) != 1 or statements[0].id != identity:
            self.reordered.add((entry.parent, entry.field))
        self._forget((entry.statement,), note)
        self._put(entry.parent, entry.field, at, 1, statements)

    def insert(self, gap: Gap, statements: Sequence[Statement]) -> None:
        """Put statements into a gap."""
        entry = self.entries[gap.anchor]
        block = self._block(entry.parent, entry.field)
        at = self._index(block, gap.anchor) + (0 if gap.is_before else 1)
        self.reordered.add((entry.parent, entry.field))
        self._put(entry.parent, entry.field, at, 0, statements)

    def delete(self, identity: int, note: str = "deleted it") -> None:
        """Remove a statement and all inside it."""
        self.replace(identity, (), note)

    def move(self, identity: int, gap: Gap) -> None:
        """Move a statement, with all inside it, to a gap that is not inside it."""
        entry, target = self.entries[identity], self.entries[gap.anchor]
        statement = entry.statement
        if entry.parent != target.parent or entry.field != target.field:
            self.delete(identity)
            self.insert(gap, (statement,))
            return
        block = self._block(entry.parent, entry.field)
        at = self._index(block, identity)
        others = (*block[:at], *block[at + 1 :])
        to = self._index(others, gap.anchor) + (0 if gap.is_before else 1)
        self.reordered.add((entry.parent, entry.field))
        self.touched.update(inner.id for inner in walk((statement,)))
        changed = (*others[:to], statement, *others[to:])
        self._splice(entry.parent, entry.field, 0, len(block), changed)

    def duplicate(self, identity: int) -> Statement:
        """A copy of a statement, all of it with fresh identities; not yet placed."""
        original = self.statement(identity)
        copy = with_fresh_identities(original)
        for a, b in zip(walk((original,)), walk((copy,)), strict=True):
            self.copies[b.id] = self.copies.get(a.id, a.id)
        return copy

    def copy_block(self, block: Block) -> Block:
        """A copy of statements that can stand beside them: fresh identities, and fresh names for the buffers that are
        allocated in them and for the variables of their loops. Not yet placed."""
        inside = list(walk(block))
        taken = self._names_taken() | {s.variable.name for s in inside if isinstance(s, For)}
        buffers: dict[str, str] = {}
        for s in inside:
            made = made_by(s)
            if made is not None and made not in buffers:
                buffers[made] = _free(made, taken)

        def renamed(statement: Statement) -> Statement:
            statement = with_names(statement, buffers)
            if not isinstance(statement, For):
                return statement
            fresh = variable(_free(statement.variable.name, taken))
            return with_variable(statement, fresh, substitute_block(statement.body, {statement.variable: fresh}))

        return self._copied(tuple(rewritten(s, renamed) for s in block))

    def repeat_block(self, block: Block, count: int) -> list[Block]:
        """So many copies of statements that can stand behind them in one block: fresh identities, and fresh names for
        the buffers that are allocated in them. Not yet placed."""
        made = dict.fromkeys(name for s in walk(block) if (name := made_by(s)) is not None)
        taken = self._names_taken() | {s.variable.name for s in walk(block) if isinstance(s, For)}
        return [self._copied(with_buffers(block, {name: _free(name, taken) for name in made})) for _ in range(count)]

    def _copied(self, block: Block) -> Block:
        copy = tuple(map(with_fresh_identities, block))
        for a, b in zip(walk(block), walk(copy), strict=True):
            self.copies[b.id] = self.copies.get(a.id, a.id)
        return copy

    def rename_buffer(self, identity: int, name: str) -> None:
        """Give the buffer of an allocation another name, in all that uses it: one walk over the rest of its block."""
        alloc, entry = self.statement(identity), self.entries[identity]
        assert isinstance(alloc, Alloc)
        block = self._block(entry.parent, entry.field)
        names = {alloc.buffer: name}
        for statement in block[self._index(block, identity) :]:
            (new,) = with_buffers((statement,), names)
            if new is not statement:
                self.update(new)

    def merge(self, first: int, second: int, into: Statement) -> None:
        """Put one statement in the place of two. It has the identity of the first; that of the second ends, unless it
        stands inside."""
        what = "merged it into the statement before"
        self.delete(second, what)
        self.replace(first, (with_identity(into, first),), what)

    def fresh_variable(self, wanted: str, place: int) -> Variable:
        """A variable of the name that is wanted, or of that with a number where it would run into another."""
        taken = self._names_taken() - self._loops_elsewhere(place)
        return variable(wanted if wanted not in taken else _free(wanted, taken))

    def fresh_buffer(self, wanted: str) -> str:
        """A name for a buffer: one that is wanted, with a number."""
        return _free(wanted, self._names_taken())

    def _loops_elsewhere(self, place: int) -> set[str]:
        """The names of loops that are neither around a statement nor inside it, nor those of anything else."""
        everywhere = [s for s in walk(self.program.body) if isinstance(s, For)]
        inside = {s.variable.name for s in walk((self.statement(place),)) if isinstance(s, For)}
        while place != ROOT:
            statement = self.statement(place)
            if isinstance(statement, For):
                inside.add(statement.variable.name)
            place = self.entries[place].parent
        return {s.variable.name for s in everywhere} - inside

    def _names_taken(self) -> set[str]:
        """All names of the program: of parameters, buffers, loops and funcs."""
        taken = {p.name for p in self.program.parameters()}
        taken.update(name for statement in walk(self.program.body) for _, name in keys_of(statement))
        return taken

    def add_check(self, condition: Condition, message: str) -> None:
        """Put a check behind the leading ones, so that the condition is a fact everywhere; scalars in it become
        parameters."""
        program = self.program
        self.add_scalars(symbols(condition))
        count = len(list(leading_checks(program)))
        self.reordered.add((ROOT, "body"))
        self._put(ROOT, "body", count, 0, (Check(condition, message),))

    def add_scalars(self, used: Iterable[Expr]) -> None:
        """Make parameters of the scalars among these symbols that are none yet."""
        known = {s.name for s in self.program.scalars}
        new = sorted({s.name for s in used if isinstance(s, Scalar)} - known)
        if new:
            scalars = (*self.program.scalars, *map(ScalarParameter, new))
            self.program = attrs.evolve(self.program, scalars=scalars)

    def _block(self, parent: int, field: str) -> Sequence[Statement]:
        if parent == ROOT:
            return self._program.body if self._body is None else self._body
        return next(block for name, block in blocks_of(self.entries[parent].statement) if name == field)

    def _index(self, block: Sequence[Statement], identity: int) -> int:
        """Where in its block a statement stands: most often where it stood in the version, or a place beside."""
        entry, before = self.entries[identity], self.version.entries.get(identity)
        if before is not None and (before is entry or (before.parent == entry.parent and before.field == entry.field)):
            guess = self.version.position(identity)
            if guess < len(block) and block[guess].id == identity:
                return guess
            for at in (guess - 1, guess + 1):
                if 0 <= at < len(block) and block[at].id == identity:
                    return at
        return next(at for at, statement in enumerate(block) if statement.id == identity)

    def _forget(self, statements: Block, note: str) -> None:
        for statement in walk(statements):
            del self.entries[statement.id]
            self.ended[statement.id] = note
            self.touched.add(statement.id)

    def _enter(self, added: Iterable[Statement], parent: int, field: str) -> int:
        """Enter statements, and all inside them, into the index; how many they are."""
        count = 0
        for statement in added:
            identity = statement.id
            self.entries[identity] = Entry(statement, parent, field)
            self.ended.pop(identity, None)
            self.touched.add(identity)
            count += 1
            for name, inner in blocks_of(statement):
                count += self._enter(inner, identity, name)
        return count

    def _put(self, parent: int, field: str, at: int, count: int, added: Sequence[Statement]) -> None:
        """Put statements that are not in the index in the place of so many of a block, which are not any more."""
        if not added and parent != ROOT and field == "body" and len(self._block(parent, field)) == count:
            added = (Pass(),)
        entries = self.entries
        before = len(entries)
        entered = self._enter(added, parent, field)
        assert len(entries) == before + entered, "an identity would stand twice"
        self._splice(parent, field, at, count, added)

    def _splice(self, parent: int, field: str, at: int, count: int, statements: Sequence[Statement]) -> None:
        """Put statements in the place of so many of a block, and so on outwards: of the program, whose block may be
        long, in a list that is kept until somebody asks for the program."""
        entries = self.entries
        while parent != ROOT:
            block = list(self._block(parent, field))
            block[at : at + count] = statements
            outer = entries[parent]
            changed = with_block(outer.statement, field, tuple(block))
            entries[parent] = Entry(changed, outer.parent, outer.field)
            parent, field = outer.parent, outer.field
            at, count, statements = self._index(self._block(parent, field), changed.id), 1, (changed,)
        if self._body is None:
            self._body = list(self._program.body)
        self._body[at : at + count] = statements


def _is_same_inside(before: Statement, now: Statement) -> bool:
    """Whether a loop has the very body of another one, which speaks of the same variable."""
    if not (isinstance(before, For) and isinstance(now, For)):
        return False
    return before.body is now.body and before.variable is now.variable


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken, that name with a number; taken from now on."""
    found = next(f"{name}_{k}" for k in itertools.count(1) if f"{name}_{k}" not in taken)
    taken.add(found)
    return found
