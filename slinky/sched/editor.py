"""Editing programs from outside: the verbs that primitives are made of, under the same gate.

    edit = sl.edit(p)
    loop = edit.statement("for y")
    edit.replace("for y", ir.with_range(loop, sl.interval(loop.range.min, loop.range.max + 1)))
    p = edit.finish()                   # proved to mean the same, or refused

In between, programs may be as wrong as they like; `finish` proves what `slinky.sched.gate` says of everything that was
touched, and is the only way to a pipeline. No reason can be named for which something is not proved.

Invariant: whatever is done with an editor, the pipeline that it began with stays as it was, and one that it ends in
means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, overload

import attrs

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import (
    AllocCursor,
    BlockCursor,
    CallCursor,
    GapCursor,
    IfCursor,
    LoopCursor,
    StatementCursor,
)
from slinky.cursors.editing import Edit, Gap
from slinky.errors import InvalidCursorError, OperationError, ProgramError, cited
from slinky.ir.copies import expressions_of
from slinky.ir.given import is_line
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, Pass, Statement, walk
from slinky.ir.substitution import substitute_statement
from slinky.ir.validation import validated
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.mirrors import check_reach
from slinky.sched.primitives.rewriting import require_known_symbols, require_name, require_positive
from slinky.symbolic.expressions import Expr, Metadata, Variable, as_expr
from slinky.symbolic.traversal import symbols, union_of_symbols

StatementLike: TypeAlias = StatementCursor | BlockCursor | str | Statement
"""A statement or a block of them: a cursor, a pattern, or a statement that this editor gave or was given."""


class Editor:
    """A sequence of edits of a pipeline, which ends in a new one or in a refusal.

    Places are cursors and patterns of the pipeline that the editor began with, or statements, which are known by their
    identity: a statement that was changed or moved is still found by a cursor to it.

    All verbs raise `OperationError` for what is no place, `PatternError` and `InvalidCursorError` for places that are
    not there, or not any more; nothing is changed then.
    """

    def __init__(self, p: Pipeline) -> None:
        if not isinstance(p, Pipeline):
            raise OperationError(f"an editor edits a Pipeline, got {type(p).__name__}")
        self._pipeline = p
        self._edit = Edit(p._version)
        self._required: list[tuple[Expr, str]] = []
        """What must be at least 1, with what messages call it."""

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that the edits begin with."""
        return self._pipeline

    # Looking ------------------------------------------------------------------------------------------------------

    @overload
    def statement(self, place: LoopCursor) -> For: ...
    @overload
    def statement(self, place: CallCursor) -> Call: ...
    @overload
    def statement(self, place: AllocCursor) -> Alloc: ...
    @overload
    def statement(self, place: IfCursor) -> If: ...
    @overload
    def statement(self, place: StatementLike) -> Statement: ...
    def statement(self, place: StatementLike) -> Statement:
        """The statement at a place as it stands now, an immutable value (see `slinky.ir`)."""
        return self._edit.statement(self._one(place))

    def block(self, place: StatementLike) -> Block:
        """The statements of a block, or one alone, as they stand now."""
        return tuple(self._edit.statement(i) for i in self._some(place))

    # Verbs --------------------------------------------------------------------------------------------------------

    def replace(self, place: StatementLike, *statements: Statement) -> None:
        """Put statements in the place of one, or of a block. Statements whose identity occurs again live on: cursors to
        them stay valid; the others end."""
        identities = self._some(place)
        given = self._given(statements, apart_from=identities)
        last = identities[-1]
        for identity in identities[:-1]:
            self._edit.delete(identity, "replaced it")
        self._edit.replace(last, given or (Pass(),))

    def insert(self, gap: GapCursor, *statements: Statement) -> None:
        """Put statements into a gap, such as `p.find("for y").before()`."""
        self._edit.insert(self._gap(gap), self._given(statements))

    def move(self, place: StatementLike, gap: GapCursor) -> None:
        """Move a statement, or a block, with all that is inside, to a gap."""
        identities, target = self._some(place), self._gap(gap)
        if target.anchor in identities or not self._around(target.anchor).isdisjoint(identities):
            raise OperationError("a statement cannot be moved to a gap that stands inside or beside itself")
        for identity in identities if target.is_before else reversed(identities):
            self._edit.move(identity, target)

    def delete(self, place: StatementLike) -> None:
        """Remove a statement, or a block, with all that is inside."""
        for identity in self._some(place):
            self._edit.delete(identity)

    def wrap(self, place: StatementLike, around: Callable[[Block], Statement]) -> Statement:
        """Put a statement, or a block, inside a new statement, which `around` makes of it: a loop or an if.

        Returns the new statement.
        """
        identities = self._some(place)
        if not callable(around):
            raise OperationError(
                f"expected a function of a block, such as lambda block: ir.If(c, block), got {cited(around)}"
            )
        (outer,) = self._given((around(self.block(place)),), apart_from=identities)
        inside = {s.id for s in walk((outer,))}
        if not inside.issuperset(identities) or outer.id in identities:
            raise OperationError("what wraps statements must have them inside: ir.If(condition, block), for one")
        self.replace(place, outer)
        return outer

    def merge(self, first: StatementLike, second: StatementLike, into: Statement) -> None:
        """Put one statement in the place of two: of the first, whose identity it has. The second ends."""
        a, b = self._one(first), self._one(second)
        if a == b or a in self._around(b) or b in self._around(a):
            raise OperationError("two statements that are merged must not stand one in the other")
        self._edit.merge(a, b, self._given((into,), apart_from=(a, b))[0])

    def copy(self, place: StatementLike) -> Block:
        """A copy of a statement, or of a block, that can stand beside it: with loops and buffers of its own.

        Not yet placed: `insert` does that.
        """
        return self._edit.copy_block(self.block(place))

    def substitute(self, place: StatementLike, replacements: Mapping[Expr, object]) -> None:
        """Replace symbols (variables of loops around, scalars) in all expressions at and inside a place.

        Loops inside keep their own variables, and get others where a replacement would run into them.
        """
        if not isinstance(replacements, Mapping):
            raise OperationError(f"replacements are expressions by symbol, got {cited(replacements)}")
        try:
            exprs = {as_expr(symbol): as_expr(e) for symbol, e in replacements.items()}
        except TypeError as error:
            raise OperationError(str(error)) from None
        for symbol in exprs:
            if not isinstance(symbol, (Variable, Metadata)):
                raise OperationError(f"only symbols can be replaced, such as the variable of a loop, got {symbol}")
        for identity in self._some(place):
            self._edit.update(substitute_statement(self._edit.statement(identity), exprs))

    def rename_buffer(self, alloc: AllocCursor | str, name: str) -> None:
        """Give an intermediate another name, wherever it is used."""
        identity = self._one(alloc)
        if not isinstance(self._edit.statement(identity), Alloc):
            raise OperationError(f"only the buffer of an allocation can be renamed, got {cited(alloc)}")
        require_name(name, "a buffer")
        self._edit.rename_buffer(identity, name)

    def variable(self, wanted: str, place: StatementLike) -> Variable:
        """A variable for a loop around or inside a place: of the name that is wanted, or with a number behind it."""
        require_name(wanted, "a loop")
        return self._edit.fresh_variable(wanted, self._one(place))

    def require_positive(self, value: Expr | int, what: str) -> None:
        """Make sure that a step or a factor is at least 1: by proof, or if it is made of scalars by a check, which also
        makes these parameters of the pipeline. `what` is what messages call it.

        The check is put when the edits are finished, if what they put or changed speaks of these scalars: else it would
        only refuse what the pipeline takes.
        """
        if not is_line(what):
            raise OperationError(f"require_positive() expects in words what it is of, in one line, got {cited(what)}")
        try:
            expr = as_expr(value)
        except TypeError as error:
            raise OperationError(f"{what}: {error}") from None
        require_known_symbols(self._pipeline._version, expr, what)
        require_positive(self._edit.copy(), expr, what, self._edit.version.base_facts())
        self._required.append((expr, what))

    def finish(self, operation: str = "edit") -> Pipeline:
        """The pipeline that the edits end in; `operation` is what messages call it.

        Raises `SchedulingError` for what is not shown to be as it must be; the edits are still there then, and can be
        mended. Otherwise, the editor goes on from the new pipeline.
        """
        if not is_line(operation):
            raise OperationError(f"finish() expects a name for the edit, in one line, got {cited(operation)}")
        finished, self._edit = self._edit, self._edit.copy()
        self._put_checks(finished)
        new, old = settle(finished, operation), self._pipeline._version
        check_reach(old, new._version, [i for i in finished.touched if i in old.entries and i in new._version.entries])
        self._pipeline = new
        self._edit, self._required = Edit(self._pipeline._version), []
        return self._pipeline

    def _put_checks(self, edit: Edit) -> None:
        """Put the checks of what must be at least 1, where something in an edit speaks of it."""
        there = (edit.statement(i) for i in edit.touched if i in edit.entries)
        spoken = union_of_symbols(e for statement in there for e in expressions_of(statement))
        for value, what in self._required:
            if not symbols(value).isdisjoint(spoken):
                require_positive(edit, value, what, edit.version.base_facts())

    # Places -------------------------------------------------------------------------------------------------------

    def _some(self, place: object) -> tuple[int, ...]:
        """The statements at a place, of one block, in order."""
        if isinstance(place, str):
            place = self._pipeline.find(place)
        if isinstance(place, (StatementCursor, BlockCursor)):
            place = self._pipeline.forward(place)
        if isinstance(place, BlockCursor):
            found = tuple(place._ids())
        elif isinstance(place, StatementCursor):
            found = (place._id,)
        elif attrs.has(type(place)) and isinstance(identity := getattr(place, "id", None), int):
            found = (identity,)
        else:
            raise OperationError(f"expected a statement or a block, a pattern or a cursor, got {cited(place)}")
        for identity in found:
            if identity not in self._edit.entries:
                why = self._edit.ended.get(identity, "never had it")
                raise InvalidCursorError(f"{place!r} is gone: the edit {why}")
        return found

    def _one(self, place: object) -> int:
        found = self._some(place)
        if len(found) != 1:
            raise OperationError(f"expected one statement, got {cited(place)}, which has {len(found)}")
        return found[0]

    def _gap(self, gap: object) -> Gap:
        cursor = self._pipeline.forward(gap) if isinstance(gap, Cursor) else gap
        if not isinstance(cursor, GapCursor):
            raise OperationError(f"expected a gap, such as p.find('for y').before(), got {cited(gap)}")
        return Gap(self._one(cursor.anchor()), cursor._is_before)

    def _around(self, identity: int) -> set[int]:
        found: set[int] = set()
        parent = self._edit.entries[identity].parent
        while parent in self._edit.entries:
            found.add(parent)
            parent = self._edit.entries[parent].parent
        return found

    def _given(self, statements: Sequence[object], apart_from: Sequence[int] = ()) -> tuple[Statement, ...]:
        """Statements that can be placed: none of them stands somewhere already, but in what is replaced."""
        try:
            found = tuple(map(validated, statements))
        except ProgramError as error:
            raise OperationError(str(error)) from None
        leaving = {s.id for i in apart_from for s in walk((self._edit.statement(i),))}
        seen: set[int] = set()
        for statement in walk(found):
            if statement.id in seen or (statement.id in self._edit.entries and statement.id not in leaving):
                raise OperationError(
                    "a statement stands in one place: move it, or place a copy of it (see Editor.copy); "
                    f"this {type(statement).__name__.lower()} stands somewhere already"
                )
            if isinstance(statement, Check) and statement.id not in leaving:
                raise OperationError("an edit cannot add checks: what a pipeline requires is said when it is built")
            before = self._edit.entries.get(statement.id)
            if before is not None and type(before.statement) is not type(statement):
                kinds = type(before.statement).__name__, type(statement).__name__
                raise OperationError(
                    f"the identity {statement.id} is that of a {kinds[0]}: a {kinds[1]} cannot have it"
                )
            seen.add(statement.id)
        return found


def edit(p: Pipeline) -> Editor:
    """An editor for a pipeline: the verbs that primitives are made of, with everything proved at the end.

    See `Editor`. Raises `OperationError` for what is no pipeline.
    """
    return Editor(p)
