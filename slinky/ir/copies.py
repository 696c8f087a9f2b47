"""Changed copies of statements, which never change themselves."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from slinky.ir.statements import Block, For, If, Statement, blocks_of, fresh_identity


def with_block(statement: Statement, field: str, block: Block) -> Statement:
    """A statement with another block, the same identity."""
    if isinstance(statement, For):
        return For(statement.variable, statement.range, statement.step, statement.workers, block, id=statement.id)
    assert isinstance(statement, If)
    return attrs.evolve(statement, body=block) if field == "body" else attrs.evolve(statement, orelse=block)


def rewritten(statement: Statement, change: Callable[[Statement], Statement]) -> Statement:
    """A statement with a change made to everything inside it and then to itself."""
    for field, block in blocks_of(statement):
        new = tuple(rewritten(inner, change) for inner in block)
        if any(a is not b for a, b in zip(new, block, strict=True)):
            statement = with_block(statement, field, new)
    return change(statement)


def with_fresh_identities(statement: Statement) -> Statement:
    """A copy of a statement, all of it with fresh identities."""
    return rewritten(statement, lambda inner: attrs.evolve(inner, id=fresh_identity()))
