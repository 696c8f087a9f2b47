"""What the room of cursors knows of each kind of statement: keywords of patterns, names, and expressions by role.

Rewrites and patterns ask for the calls that write a buffer, or for a loop by its variable, all the time. An index by
names answers without a walk, and the index of a new version is derived from that of the old one by the statements that
an edit touched: its cost does not grow with the length of the history, and hardly with that of the program.

Invariant: `names[key]` holds the identity of each statement that has the key, once, in no particular order; a key that
no statement has is not there. A role names at most one expression of a statement, and rewriting it keeps its role.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Protocol, TypeAlias, assert_never

from slinky.ir.blocks import is_stored_by_blocks
from slinky.ir.statements import (
    Alloc,
    Call,
    Check,
    For,
    If,
    Pass,
    Pipelined,
    Statement,
    Within,
    asks_for_an_order,
    has_strides,
    workers_of,
)
from slinky.symbolic.expressions import Condition, Expr
from slinky.symbolic.intervals import Box

Key: TypeAlias = tuple[str, str]
"""How a statement names something (`call`, `write`, `read`, `alloc`, `within` or `for`), and the name."""

GUESTS: Key = ("within", "")
"""The key of all allocations that lie in the memory of others."""

INSEPARABLE: Key = ("inseparable", "")
"""The key of all calls whose funcs compute a dimension whole, or in whole pieces."""

BLOCKED: Key = ("blocked", "")
"""The key of all allocations that are stored by blocks."""

STRIDED: Key = ("strided", "")
"""The key of all allocations with strides that are asked for."""

ORDERED: Key = ("ordered", "")
"""The key of all calls whose funcs take a buffer in some order of its dimensions only."""

PIPELINED: Key = ("pipelined", "")
"""The key of all pipelined loops."""

RARE = frozenset((GUESTS, INSEPARABLE, BLOCKED, STRIDED, ORDERED, PIPELINED))
"""The keys of statements that are asked about in each rewrite of a program that has any."""

Names: TypeAlias = dict[Key, tuple[int, ...]]


KEYWORDS: dict[str, type[Statement]] = {"for": For, "alloc": Alloc, "check": Check, "if": If}
"""The words by which patterns ask for statements that have no func."""


def keys_of(statement: Statement) -> tuple[Key, ...]:
    """The keys that a statement itself has, whatever is inside it."""
    match statement:
        case Call(func=func, writes=written, reads=read):
            keys = _keys_of_call(func.name, written, read)
            if asks_for_an_order(func):
                keys = (*keys, ORDERED)
            return (*keys, INSEPARABLE) if func.whole or func.multiples else keys
        case Alloc(buffer=buffer, memory=memory):
            own = ("alloc", buffer)
            if statement.layout is None and not isinstance(memory, Within):
                return (own,)
            lies = (BLOCKED,) if is_stored_by_blocks(statement) else (STRIDED,) if has_strides(statement) else ()
            return (own, *lies, ("within", memory.host), GUESTS) if isinstance(memory, Within) else (own, *lies)
        case For(variable=variable, mode=mode):
            own = ("for", variable.name)
            return (own, PIPELINED) if isinstance(mode, Pipelined) else (own,)
        case If() | Check() | Pass():
            return ()
        case _:
            assert_never(statement)


def _has_same_keys(old: Statement, now: Statement) -> bool:
    """Whether two statements have the very same names, so that no keys need to be made and compared: most edits change
    none."""
    match now:
        case Call(func=func, reads=read, writes=written):
            return isinstance(old, Call) and old.func is func and old.reads is read and old.writes is written
        case Alloc(buffer=buffer, memory=memory, layout=layout):
            if not isinstance(old, Alloc):
                return False
            return old.buffer == buffer and old.memory is memory and old.layout is layout
        case For(variable=variable, mode=mode):
            return isinstance(old, For) and old.variable is variable and old.mode is mode
        case If() | Check() | Pass():
            return type(old) is type(now)
        case _:
            assert_never(now)


@lru_cache(maxsize=4096)
def _keys_of_call(func: str, written: tuple[str, ...], read: tuple[str, ...]) -> tuple[Key, ...]:
    writes = dict.fromkeys(("write", buffer) for buffer in written)
    reads = dict.fromkeys(("read", buffer) for buffer in read)
    return (("call", func), *writes, *reads)


def name_of(statement: Statement) -> str | None:
    """The name by which patterns find a statement: of its func, its buffer or its variable."""
    key = next(iter(keys_of(statement)), None)
    return key[1] if key is not None else None


def names_in(statements: Iterable[Statement]) -> Names:
    """The index of some statements."""
    names: dict[Key, tuple[int, ...]] = {}
    for statement in statements:
        for key in keys_of(statement):
            names[key] = (*names.get(key, ()), statement.id)
    return names


class Placed(Protocol):
    """What tells where a statement stands."""

    @property
    def statement(self) -> Statement: ...


def with_changes(names: Names, changes: Mapping[int, tuple[Placed | None, Placed | None]]) -> Names:
    """The index after an edit: what stood in a place before, by identity, and what does now; None for nothing."""
    new: dict[Key, tuple[int, ...]] | None = None
    for identity, (was, is_now) in changes.items():
        old = was.statement if was is not None else None
        now = is_now.statement if is_now is not None else None
        if old is now or (old is not None and now is not None and _has_same_keys(old, now)):
            continue
        before = keys_of(old) if old is not None else ()
        after = keys_of(now) if now is not None else ()
        if before == after:
            continue
        new = names.copy() if new is None else new
        for key in before:
            left = tuple([other for other in new[key] if other != identity])
            if left:
                new[key] = left
            else:
                del new[key]
        for key in after:
            new[key] = (*new.get(key, ()), identity)
    return names if new is None else new


def roles(statement: Statement) -> dict[str, Expr | Condition]:
    """The expressions of a statement by the role that each plays; `ExprCursor` lists the roles."""
    match statement:
        case For(range=range_, step=step):
            workers = workers_of(statement)
            said = {} if workers is None else {"workers": workers}
            return {"min": range_.min, "max": range_.max, "step": step, **said}
        case If(condition=condition) | Check(condition=condition):
            return {"condition": condition}
        case Call(func=func, box=box):
            return _ends(func.dim_names(), box)
        case Alloc(dims=dims, box=box, folds=folds, layout=layout):
            strides = () if layout is None else zip(dims, layout.strides, strict=True)
            folded = {f"{dim}.fold": fold for dim, fold in zip(dims, folds, strict=True) if fold is not None}
            apart = {f"{dim}.stride": stride for dim, stride in strides if stride is not None}
            return _ends(dims, box) | folded | apart
        case Pass():
            return {}
        case _:
            assert_never(statement)


def _ends(dims: tuple[str, ...], box: Box) -> dict[str, Expr | Condition]:
    ends: dict[str, Expr | Condition] = {}
    for dim, i in zip(dims, box, strict=True):
        ends[f"{dim}.min"], ends[f"{dim}.max"] = i.min, i.max
    return ends
