"""Whether what an edit touched is well formed: every name is in scope, and means one thing.

Invariant: after a checked edit, along every path from the root to a touched statement the variables of loops are
distinct and hide no buffer or scalar, each buffer that is named is there, and each symbol has a value.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from typing import Any, TypeAlias

import numpy as np

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import ROOT, Entry, Touched, Version
from slinky.errors import SchedulingError
from slinky.ir.copies import symbols_of, symbols_of_changes
from slinky.ir.effects import Touching, made_by, read_by, written_by
from slinky.ir.regions import global_dtypes
from slinky.ir.statements import Alloc, Call, For, InputPort, OutputPort, Statement, has_blocks
from slinky.ir.verifier import writes_what_it_touches
from slinky.symbolic.expressions import Expr, Metadata, Scalar, Variable

Elsewhere: TypeAlias = Mapping[int, tuple[str, ...] | None]
"""Calls, by identity, that may see other buffers than before an edit: of which names, or None where it may be any."""

DEEPEST_NEST = 100
"""Programs are run and compared by walks that nest as deep as the loops do, which Python bounds."""


def check_scopes(
    old: Version,
    new: Version,
    touched: Touched,
    reordered: Set[tuple[int, str]],
) -> Elsewhere:
    """Check the names in the statements, given by identity, that an edit put, changed or took away.

    `reordered` are the blocks whose statements are others than before or in another order. Raises `SchedulingError` for
    the first name that means nothing, or something else than it did.

    Returns the calls that may see other buffers than before, or run another func: only they may compute other values,
    and of their sources `check_sources` is to be asked.
    """
    moved: dict[int, bool] = {}
    loops: dict[int, frozenset[Expr]] = {ROOT: frozenset()}
    asked: dict[int, tuple[str, ...] | None] = {}
    unlike: dict[int, None] = {}
    for identity, (before, entry) in touched.items():
        if entry is None:
            gone = made_by(before.statement) if before is not None else None
            if gone is not None:
                _ask_users(new, gone, asked)
            continue
        statement, earlier = entry.statement, None if before is None else before.statement
        is_moved = before is None or _is_moved(old, new, before, entry, reordered, moved)
        if statement is earlier and not is_moved:
            continue
        if isinstance(statement, Touching):
            is_other = not isinstance(earlier, Touching) or not _is_same_work(earlier, statement)
            if is_other or (is_moved and statement.func.family is not None):
                unlike[identity] = None
            if is_other or is_moved:
                asked[identity] = None
        buffer = made_by(statement)
        if buffer is not None:
            name = None if earlier is None else made_by(earlier)
            if is_moved or name != buffer:
                _require_not_hidden(new, identity, buffer)
                _ask_users(new, buffer, asked)
                if name is not None and name != buffer:
                    _ask_users(new, name, asked)
            if not _holds_the_like(earlier, statement):
                unlike.update(dict.fromkeys(_users(new, buffer)))
        if has_blocks(statement):
            _require_room(new, identity)
        if isinstance(statement, For):
            _require_free(new, statement)
        if statement is earlier and before is not None and before.parent == ROOT and entry.parent == ROOT:
            continue  # no loop was around it, and none is: its symbols have the values that they had
        used = _to_be_asked(earlier, statement, is_moved=is_moved)
        if used:
            _require_symbols(new, statement, used, _variables(new, entry.parent, loops))
    for identity, names in asked.items():
        _require_buffers(new, identity, written_by(new.statement(identity)), names)
    if unlike:
        check_fitting(new, unlike)
    return asked


def _ask_users(version: Version, buffer: str, asked: dict[int, tuple[str, ...] | None]) -> None:
    """Note that the calls that write or read a buffer of this name may see another one, or none."""
    for user in _users(version, buffer):
        names = asked.get(user, ())
        if names is not None:
            asked[user] = (*names, buffer)


def _to_be_asked(before: Statement | None, now: Statement, *, is_moved: bool) -> Iterable[Expr]:
    """The symbols of a statement that may have no value: what it did not name before, and where it moved, what stands
    for loops. (No edit takes a parameter away.)"""
    if now is before:
        return [symbol for symbol in symbols_of(now) if type(symbol) is Variable]
    if before is None or is_moved or type(before) is not type(now):
        return symbols_of(now)  # what else it named costs less to ask for than to leave out
    changed = symbols_of_changes(before, now)
    return changed - symbols_of(before) if changed else ()


def _users(version: Version, buffer: str) -> tuple[int, ...]:
    """The calls that write or read a buffer of this name, in program order."""
    return (*version.writers(buffer), *version.readers(buffer))


def _is_same_work(before: Call, now: Call) -> bool:
    """Whether a call runs the same func on operands of the same names."""
    return before.func is now.func and before.reads == now.reads and before.writes == now.writes


def _holds_the_like(before: Statement | None, now: Statement) -> bool:
    """Whether what an allocation makes fits the ports that it fitted before."""
    if not (isinstance(before, Alloc) and isinstance(now, Alloc)):
        return False
    return before.dtype == now.dtype and len(before.box) == len(now.box)


def check_fitting(version: Version, statements: Iterable[int]) -> None:
    """Check that the operands of calls, given by identity, have the rank and the dtype of the ports of their funcs, and
    that none of them is written and touched otherwise, too.

    A call that runs the same func on the same buffers fits them as it did, wherever it stands, unless one of them holds
    something else than before. (That they are the same buffers is shown by `values`, or else this is asked.) Where a
    func has variants, `values` takes one for the other, which may take buffers in other dtypes: so a call of it that
    has moved is asked about, too. Raises `SchedulingError` for the first call that does not.
    """
    dtypes: dict[str, np.dtype[Any]] | None = None
    for identity in statements:
        call = version.statement(identity)
        if not isinstance(call, Touching):
            continue
        ports: list[InputPort | OutputPort] = [*call.func.outputs, *call.func.inputs]
        for buffer, port in zip((*call.writes, *call.reads), ports, strict=True):
            alloc, box = version.alloc_of(buffer, identity), version.global_box(buffer)
            if alloc is not None:
                box, dtype = alloc.box, alloc.dtype
            elif box is not None:
                dtypes = global_dtypes(version.program) if dtypes is None else dtypes
                dtype = dtypes[buffer]
            else:
                continue
            if (len(box), dtype) != (port.rank, port.dtype):
                raise SchedulingError(
                    f"{call.func.name} takes {port.dtype} of rank {port.rank}, and {buffer} is {dtype} of rank "
                    f"{len(box)}",
                    place=statement_cursor(version, identity),
                )
        for buffer in call.writes:
            if writes_what_it_touches(call, buffer):
                raise SchedulingError(
                    f"{call.func.name} would write {buffer}, and touch it by another port, too",
                    place=statement_cursor(version, identity),
                )


def check_sources(version: Version, statements: Elsewhere) -> None:
    """Check that the buffers that statements read are in scope.

    Raises `SchedulingError` for the first that is not. (Where reads are proved, that says more: this comes after it.)
    """
    for identity, names in statements.items():
        _require_buffers(version, identity, read_by(version.statement(identity)), names)


def _require_buffers(version: Version, identity: int, buffers: Iterable[str], names: Container[str] | None) -> None:
    """Check that buffers are in scope at a statement: of them those that have one of some names, or all."""
    for buffer in buffers:
        if names is not None and buffer not in names:
            continue
        if version.global_box(buffer) is None and version.alloc_of(buffer, identity) is None:
            raise SchedulingError(f"{buffer} is not allocated here", place=statement_cursor(version, identity))


def _is_moved(
    old: Version, new: Version, before: Entry, now: Entry, reordered: Set[tuple[int, str]], known: dict[int, bool]
) -> bool:
    """Whether a statement may see other names than before: it, or a statement around it, is new, stands in another
    block or in one that was changed, or is a loop with another variable."""
    parent, field = now.parent, now.field
    if before.parent != parent or before.field != field or (reordered and (parent, field) in reordered):
        return True
    if type(now.statement) is For or type(before.statement) is For:
        if _variable(before.statement) is not _variable(now.statement):
            return True
    if parent == ROOT:
        return False
    found = known.get(parent)
    if found is None:
        outer = old.entries.get(parent)
        found = outer is None or _is_moved(old, new, outer, new.entries[parent], reordered, known)
        known[parent] = found
    return found


def _variable(statement: Statement) -> Expr | None:
    return statement.variable if isinstance(statement, For) else None


def _variables(version: Version, parent: int, known: dict[int, frozenset[Expr]]) -> frozenset[Expr]:
    """The variables of the loops at and around a statement."""
    found = known.get(parent)
    if found is None:
        entry = version.entries[parent]
        found = _variables(version, entry.parent, known)
        if isinstance(entry.statement, For):
            found = found.union((entry.statement.variable,))
        known[parent] = found
    return found


def _require_room(version: Version, identity: int) -> None:
    """Check that loops and ifs do not nest deeper than programs are walked."""
    if len(version.ancestors(identity)) >= DEEPEST_NEST:
        raise SchedulingError(f"loops and ifs nest at most {DEEPEST_NEST} deep")


def _require_free(version: Version, loop: For) -> None:
    """Check that the variable of a loop hides nothing."""
    name = loop.variable.name
    if len(version.names().get(("for", name), ())) > 1:
        if any(around.variable.name == name for around in version.loops_around(loop.id)):
            raise SchedulingError(
                f"an enclosing loop has the variable {name}, too", place=statement_cursor(version, loop.id)
            )
    if version.is_allocated(name) or version.has_parameter(name):
        raise SchedulingError(
            f"the name {name!r} of a loop means something else already", place=statement_cursor(version, loop.id)
        )


def _require_not_hidden(version: Version, alloc: int, buffer: str) -> None:
    """Check that what a statement makes hides no other buffer, and that no other hides it."""
    others = (i for i in version.allocations(buffer) if i != alloc)
    loops = version.names().get(("for", buffer), ())
    if any(alloc in (i, *version.ancestors(i)) or _is_in_scope(version, alloc, i) for i in loops) or any(
        i in version.ancestors(alloc) for i in loops
    ):
        raise SchedulingError(
            f"a loop around or behind is called {buffer}, too", place=statement_cursor(version, alloc)
        )
    if version.has_parameter(buffer) or any(
        _is_in_scope(version, alloc, other) or _is_in_scope(version, other, alloc) for other in others
    ):
        program = version.program
        is_scalar = buffer in {*(s.name for s in program.scalars), *(f.name for f in program.floats)}
        name = f"a scalar is called {buffer}, too" if is_scalar else f"another buffer called {buffer} is in scope"
        raise SchedulingError(name, place=statement_cursor(version, alloc))


def _is_in_scope(version: Version, alloc: int, at: int) -> bool:
    """Whether a buffer, given by its allocation, is in scope at a statement."""
    home = version.entries[alloc]
    for identity in (at, *version.ancestors(at)):
        entry = version.entries[identity]
        if entry.parent == home.parent and entry.field == home.field:
            return version.position(alloc) < version.position(identity)
    return False


def _require_symbols(version: Version, statement: Statement, used: Iterable[Expr], around: frozenset[Expr]) -> None:
    """Check that every symbol that the expressions of a statement use has a value there."""
    for symbol in used:
        if isinstance(symbol, Metadata):
            box = version.global_box(symbol.buffer)
            is_known = box is not None and symbol.dim < len(box)
        elif isinstance(symbol, Scalar):
            is_known = any(p.name == symbol.name for p in version.program.scalars)
        else:
            is_known = symbol in around or not isinstance(symbol, Variable)
        if not is_known:
            raise SchedulingError(f"{symbol} means nothing here", place=statement_cursor(version, statement.id))
