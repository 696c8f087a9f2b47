"""Whether every buffer is still produced by the same func, from the same sources.

Idea. An element of a buffer has one value because one func writes the buffer, from buffers of which the same is true.
Before and after an edit, a call is the same *production* if it runs the same func and its operands stand for the same
buffers: the same allocations (a copy of an allocation stands for its original), or the same parameters. Two allocations
of one dtype that are written by the same funcs, from the same sources, hold the same elements at the same coordinates,
so either can stand for the other. A variant of a func stands for it, because the author of the func says so
(`ir.families`); so does a fused func for two. A buffer that is made to hold elements of another one stands for that.

Invariant: where every call of the new program is a production of the old one, all elements that both programs compute
have the same values, whatever else differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import Touching
from slinky.ir.families import original
from slinky.ir.operations import Copy
from slinky.ir.statements import Alloc, Call, LoweredFunc, walk

Source: TypeAlias = int | str
"""What an operand stands for: the identity of an allocation, or the name of a parameter."""

Production: TypeAlias = tuple[LoweredFunc, tuple[Source, ...], tuple[Source, ...]]

_EQUAL, _MADE = ("equal allocations",), ("productions",)


def check_values(old: Version, new: Version, statements: Iterable[int], copies: Mapping[int, Source]) -> None:
    """Check that those calls of the new version that may see other buffers, or run another func, than in the old one
    are productions of that.

    They are given by identity, `copies` says of which statement each copy was made. Raises `SchedulingError` for the
    first call that is not.
    """
    for identity in statements:
        call = new.statement(identity)
        if not isinstance(call, Touching):
            continue
        origin = copies.get(identity, identity)
        before = old.entries[origin].statement if isinstance(origin, int) and origin in old.entries else None
        if isinstance(before, Touching) and before.func is call.func:
            if before.reads == call.reads and before.writes == call.writes:
                if _have_same_sources(old, new, call, before.id, copies):
                    continue
        if not _is_production(old, _production(new, call, copies)):
            raise _other_value(old, new, call)


def _is_production(old: Version, wanted: Production) -> bool:
    """Whether a production, of operands as they were in a version, gives what there is in that."""
    func, reads, writes = wanted
    if reads == writes and is_plain_copy(func):
        return True  # from what holds elements of a buffer to that, or the other way round
    there = [_production(old, s, {}) for i in old.named(("call", func.name)) if isinstance(s := old.statement(i), Call)]
    if wanted in there:
        return True
    same = equal_allocations(old)
    return _alike(wanted, same) in [_alike(each, same) for each in there] or _is_declared_fusion(old, wanted)


def is_plain_copy(func: LoweredFunc) -> bool:
    """Whether a func of one input copies each element of that to the same coordinates, and does nothing else.

    (What has neither edges nor conditions gives every element, so that nothing is filled. Where calls are clamped to a
    part, less is written, of which coverage is asked.)
    """
    operation = func.operation
    if not isinstance(operation, Copy):
        return False
    (source,), (read,), (written,) = operation.sources, func.inputs, func.outputs
    return (
        operation.implementation is None
        and source.index == operation.dims
        and not source.where
        and all(each is None for each in (*source.edges, *source.boundaries))
        and read.view is None
        and written.view is None
    )


def _is_declared_fusion(old: Version, wanted: Production) -> bool:
    """Whether a production gives what a call gives in a version of the output of another one, by the word of the author
    of its func."""
    func, reads, writes = wanted
    calls = (s for s in walk(old.program.body) if isinstance(s, Touching))
    for call in calls:
        second, sources, targets = _production(old, call, {})
        if targets == writes and any(func is fused for fused in second.fusions):
            expected = fused_sources(old, func, sources)
            same = equal_allocations(old)
            if expected is not None and _firsts(expected, same) == _firsts(reads, same):
                return True
    return False


def fused_sources(version: Version, func: LoweredFunc, sources: tuple[Source, ...]) -> tuple[Source, ...] | None:
    """What a fused func reads in place of a call of the second func that it stands for, which reads these sources: the
    sources of the first func, then the others. None where something else than the first func makes what lies between.
    """
    fused = func.fused
    assert fused is not None
    between = {sources[k] for k in fused.ports}
    (alloc, *more) = between
    made = _productions(version).get(alloc) if isinstance(alloc, int) else None
    if more or made is None or len(made) != 1:
        return None
    ((first, _, read),) = made
    if first is not fused.first:
        return None
    return (*read, *(source for k, source in enumerate(sources) if k not in fused.ports))


def equal_allocations(version: Version) -> Mapping[int, int]:
    """Of each allocation that holds the same elements as an earlier one, at the same coordinates, the first such.

    They hold the same where the same funcs write them, by the same ports, from the same sources or from such as hold
    the same.
    """
    found: Mapping[int, int] | None = version.remembered.get(_EQUAL)
    if found is None:
        found = version.remembered[_EQUAL] = _find_equal_allocations(version)
    return found


def _productions(version: Version) -> Mapping[int, set[tuple[LoweredFunc, int, tuple[Source, ...]]]]:
    """Of each allocation what writes it: funcs, which of their outputs it is, and from which sources."""
    found: dict[int, set[tuple[LoweredFunc, int, tuple[Source, ...]]]] | None = version.remembered.get(_MADE)
    if found is None:
        found = version.remembered[_MADE] = {}
        for statement in walk(version.program.body):
            if isinstance(statement, Alloc):
                found[statement.id] = set()
            elif isinstance(statement, Touching):
                func, sources, targets = _production(version, statement, {})
                for port, target in enumerate(targets):
                    if isinstance(target, int):
                        found[target].add((func, port, sources))
    return found


def _find_equal_allocations(version: Version) -> Mapping[int, int]:
    made = _productions(version)
    same: dict[int, int] = {}
    while True:  # what holds the same makes what is computed of it the same: until nothing more is found
        firsts: dict[object, int] = {}
        more: dict[int, int] = {}
        for alloc, productions in made.items():
            key = frozenset((func, port, _firsts(sources, same)) for func, port, sources in productions)
            first = firsts.setdefault((key, _dtype(version, alloc)), alloc)
            if first != alloc:
                more[alloc] = first
        if more == same:
            return same
        same = more


def _dtype(version: Version, alloc: int) -> np.dtype[Any]:
    """What an allocation holds: by another variant of a func, the same may be held in another dtype."""
    statement = version.statement(alloc)
    assert isinstance(statement, Alloc)
    return statement.dtype


def _firsts(sources: tuple[Source, ...], same: Mapping[int, int]) -> tuple[Source, ...]:
    return tuple(same.get(s, s) if isinstance(s, int) else s for s in sources)


def _alike(production: Production, same: Mapping[int, int]) -> Production:
    """A production, each allocation as the first that holds the same."""
    func, reads, writes = production
    return func, _firsts(reads, same), _firsts(writes, same)


def are_equal_productions(version: Version, one: Call, other: Call) -> bool:
    """Whether two calls run the same func on sources that hold the same."""
    same = equal_allocations(version)
    (f, mine, _), (g, yours, _) = (_production(version, call, {}) for call in (one, other))
    return f is g and _firsts(mine, same) == _firsts(yours, same)


def _have_same_sources(old: Version, new: Version, call: Call, before: int, copies: Mapping[int, Source]) -> bool:
    """Whether the names of a call's operands stand for the same buffers at the call before and after an edit."""
    were, are = old.names(), new.names()
    for buffer in (*call.reads, *call.writes):
        key = ("alloc", buffer)
        others, candidates = were.get(key, ()), are.get(key, ())
        if candidates == others and len(others) < 2:
            continue  # a parameter, or the only buffer of this name; that it is in scope is shown elsewhere
        if _source(new, buffer, call.id, copies) != _source(old, buffer, before, {}):
            return False
    return True


def _source(version: Version, buffer: str, at: int, copies: Mapping[int, Source]) -> Source:
    alloc = version.alloc_of(buffer, at)
    return buffer if alloc is None else copies.get(alloc.id, alloc.id)


def _production(version: Version, call: Call, copies: Mapping[int, Source]) -> Production:
    reads = tuple(_source(version, buffer, call.id, copies) for buffer in call.reads)
    writes = tuple(_source(version, buffer, call.id, copies) for buffer in call.writes)
    return original(call.func), reads, writes


def _other_value(old: Version, new: Version, call: Call) -> SchedulingError:
    """The refusal of a call that gives a buffer other values than before, or is not where its buffers are."""
    place = statement_cursor(new, call.id)
    for buffer in (*call.reads, *call.writes):
        if new.global_box(buffer) is None and new.alloc_of(buffer, call.id) is None:
            return SchedulingError(f"{buffer} is not allocated here", place=place)
    written = " and ".join(call.writes)
    producers = {
        f"{s.func.name}({', '.join(s.reads)})"
        for buffer in call.writes
        for i in old.writers(buffer)
        if isinstance(s := old.statement(i), Call)
    }
    if any(text == f"{call.func.name}({', '.join(call.reads)})" for text in producers):
        producers = {f"another func that is called {call.func.name}: statements of other pipelines have other funcs"}
    before = f"; it is produced by {' and '.join(sorted(producers))}" if producers else ""
    return SchedulingError(
        f"{call.func.name}({', '.join(call.reads)}) would give {written} other values{before}",
        place=place,
        hint="a rewrite changes when and where funcs run, not which",
    )
