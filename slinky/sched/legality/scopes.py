"""Whether what an edit touched is well formed: every name is in scope, and means one thing.

Invariant: after a checked edit, along every path from the root to a touched statement the variables of loops are
distinct and hide no buffer or scalar, each buffer that is named is there, and each symbol has a value.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import ROOT, Version
from slinky.errors import SchedulingError
from slinky.ir.copies import expressions_of
from slinky.ir.effects import buffers_named, made_by, read_by, written_by
from slinky.ir.statements import Alloc, Call, For, If, InputPort, OutputPort, Statement
from slinky.symbolic.expressions import Expr, Metadata, Scalar, Variable
from slinky.symbolic.traversal import union_of_symbols

DEEPEST_NEST = 100
"""Programs are run and compared by walks that nest as deep as the loops do, which Python bounds."""


def check_scopes(
    old: Version,
    new: Version,
    touched: Iterable[int],
    reordered: Container[tuple[int, str]],
) -> tuple[int, ...]:
    """Check the names in the statements, given by identity, that an edit put, changed or took away.

    `reordered` are the blocks whose statements are others than before or in another order. Raises `SchedulingError` for
    the first name that means nothing, or something else than it did. Returns the statements that may see other buffers
    than before, of which `check_sources` is to be asked.
    """
    loops: dict[int, dict[str, Expr]] = {}
    moved: dict[int, bool] = {ROOT: False}
    asked: dict[int, None] = {}
    for identity in touched:
        entry, before = new.entries.get(identity), old.entries.get(identity)
        if entry is None:
            gone = made_by(before.statement) if before is not None else None
            if gone is not None:
                asked.update(dict.fromkeys((*new.writers(gone), *new.readers(gone))))
            continue
        statement = entry.statement
        is_moved = _is_moved(old, new, identity, reordered, moved)
        if not is_moved and before is not None and before.statement is statement:
            continue
        around = _variables(new, entry.parent, loops)
        if isinstance(statement, (For, If)):
            _require_room(new, identity)
        if isinstance(statement, For):
            _require_free(new, statement, around)
        elif isinstance(statement, Alloc):
            if is_moved or before is None or _is_other(before.statement, statement):
                _require_not_hidden(new, statement)
                names = {statement.buffer} if before is None else {statement.buffer, made_by(before.statement)}
                users = (user for name in names if name for user in (*new.writers(name), *new.readers(name)))
                asked.update(dict.fromkeys(users))
        used = union_of_symbols(expressions_of(statement))
        if not is_moved and before is not None:
            used -= union_of_symbols(expressions_of(before.statement))  # what it named before has a value
        _require_symbols(new, statement, used, around)
        if is_moved or before is None or buffers_named(before.statement) != buffers_named(statement):
            asked[identity] = None
    for identity in asked:
        _require_buffers(new, identity, written_by(new.statement(identity)))
        _require_fitting(new, identity)
    return tuple(asked)


def _is_other(before: Statement, now: Alloc) -> bool:
    """Whether a buffer is called otherwise, or holds other elements."""
    if not isinstance(before, Alloc):
        return True
    return before.buffer != now.buffer or before.dtype != now.dtype or len(before.box) != len(now.box)


def _require_fitting(version: Version, identity: int) -> None:
    """Check that the operands of a call have the rank and the dtype of its func's ports."""
    call = version.statement(identity)
    if not isinstance(call, Call):
        return
    dtypes = {p.name: p.dtype for p in (*version.program.inputs, *version.program.outputs)}
    dtypes.update((c.name, c.array.dtype) for c in version.program.constants)
    ports: list[InputPort | OutputPort] = [*call.func.outputs, *call.func.inputs]
    for buffer, port in zip((*call.writes, *call.reads), ports, strict=True):
        alloc, box = version.alloc_of(buffer, identity), version.global_box(buffer)
        if alloc is not None:
            box, dtype = alloc.box, alloc.dtype
        elif box is not None:
            dtype = dtypes[buffer]
        else:
            continue
        if (len(box), dtype) != (port.rank, port.dtype):
            raise SchedulingError(
                f"{call.func.name} takes {port.dtype} of rank {port.rank}, and {buffer} is {dtype} of rank {len(box)}",
                place=statement_cursor(version, identity),
            )


def check_sources(version: Version, statements: Iterable[int]) -> None:
    """Check that the buffers that statements, given by identity, read are in scope.

    Raises `SchedulingError` for the first that is not. (Where reads are proved, that says more: this comes after it.)
    """
    for identity in statements:
        _require_buffers(version, identity, read_by(version.statement(identity)))


def _require_buffers(version: Version, identity: int, buffers: Iterable[str]) -> None:
    for buffer in buffers:
        if version.global_box(buffer) is None and version.alloc_of(buffer, identity) is None:
            raise SchedulingError(f"{buffer} is not allocated here", place=statement_cursor(version, identity))


def _is_moved(
    old: Version, new: Version, identity: int, reordered: Container[tuple[int, str]], known: dict[int, bool]
) -> bool:
    """Whether a statement may see other names than before: it, or a statement around it, is new, stands in another
    block or in one that was changed, or is a loop with another variable."""
    found = known.get(identity)
    if found is None:
        before, now = old.entries.get(identity), new.entries[identity]
        found = (
            before is None
            or before.parent != now.parent
            or before.field != now.field
            or (now.parent, now.field) in reordered
            or _variable(before.statement) is not _variable(now.statement)
            or _is_moved(old, new, now.parent, reordered, known)
        )
        known[identity] = found
    return found


def _variable(statement: Statement) -> Expr | None:
    return statement.variable if isinstance(statement, For) else None


def _variables(version: Version, parent: int, known: dict[int, dict[str, Expr]]) -> dict[str, Expr]:
    """The variables of the loops at and around a statement, by name."""
    if parent == ROOT:
        return {}
    found = known.get(parent)
    if found is None:
        entry = version.entries[parent]
        found = _variables(version, entry.parent, known)
        if isinstance(entry.statement, For):
            found = {**found, entry.statement.variable.name: entry.statement.variable}
        known[parent] = found
    return found


def _require_room(version: Version, identity: int) -> None:
    """Check that loops and ifs do not nest deeper than programs are walked."""
    if len(version.ancestors(identity)) >= DEEPEST_NEST:
        raise SchedulingError(f"loops and ifs nest at most {DEEPEST_NEST} deep")


def _require_free(version: Version, loop: For, around: dict[str, Expr]) -> None:
    """Check that the variable of a loop hides nothing."""
    name = loop.variable.name
    if name in around:
        raise SchedulingError(
            f"an enclosing loop has the variable {name}, too", place=statement_cursor(version, loop.id)
        )
    if version.is_allocated(name) or any(p.name == name for p in version.program.parameters()):
        raise SchedulingError(
            f"the name {name!r} of a loop means something else already", place=statement_cursor(version, loop.id)
        )


def _require_not_hidden(version: Version, alloc: Alloc) -> None:
    """Check that an allocation hides no other buffer, and that no other hides it."""
    others = (i for i in version.allocations(alloc.buffer) if i != alloc.id)
    parameters = any(p.name == alloc.buffer for p in version.program.parameters())
    loops = version.names().get(("for", alloc.buffer), ())
    if any(alloc.id in (i, *version.ancestors(i)) or _is_in_scope(version, alloc.id, i) for i in loops) or any(
        i in version.ancestors(alloc.id) for i in loops
    ):
        raise SchedulingError(
            f"a loop around or behind is called {alloc.buffer}, too", place=statement_cursor(version, alloc.id)
        )
    if parameters or any(
        _is_in_scope(version, alloc.id, other) or _is_in_scope(version, other, alloc.id) for other in others
    ):
        is_scalar = any(p.name == alloc.buffer for p in version.program.scalars)
        name = (
            f"a scalar is called {alloc.buffer}, too"
            if is_scalar
            else f"another buffer called {alloc.buffer} is in scope"
        )
        raise SchedulingError(name, place=statement_cursor(version, alloc.id))


def _is_in_scope(version: Version, alloc: int, at: int) -> bool:
    """Whether a buffer, given by its allocation, is in scope at a statement."""
    home = version.entries[alloc]
    for identity in (at, *version.ancestors(at)):
        entry = version.entries[identity]
        if entry.parent == home.parent and entry.field == home.field:
            return version.position(alloc) < version.position(identity)
    return False


def _require_symbols(version: Version, statement: Statement, used: frozenset[Expr], around: dict[str, Expr]) -> None:
    """Check that every symbol that the expressions of a statement use has a value there."""
    for symbol in used:
        match symbol:
            case Metadata(buffer=buffer, dim=dim):
                box = version.global_box(buffer)
                is_known = box is not None and dim < len(box)
            case Scalar(name=name):
                is_known = any(p.name == name for p in version.program.scalars)
            case Variable(name=name):
                is_known = around.get(name) is symbol
            case _:
                is_known = True
        if not is_known:
            raise SchedulingError(f"{symbol} means nothing here", place=statement_cursor(version, statement.id))
