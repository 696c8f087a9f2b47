"""Buffers that are stored by blocks of some of their dimensions (see `statements.Layout`).

Idea. A dimension of n coordinates that is stored by blocks of f is two dimensions of an array in memory: which block,
of as many as it takes (and at least one, for there are views of nothing, too), and which of f places in it. The
dimensions that say which block come first, in the order of the buffer's, so that a block is an array of C order, and a
view of part of it has the buffer's dimensions.

Invariant: what is asked here of an allocation whose layout says no blocks is as if there were no such layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from slinky.ir.statements import Alloc

N = TypeVar("N")


def blocks_of_dims(alloc: Alloc) -> tuple[int | None, ...]:
    """Of each dimension how many coordinates a block has, None where it has none; empty if no dimension has any."""
    if alloc.layout is None or not any(alloc.layout.blocks):
        return ()
    return alloc.layout.blocks


def is_stored_by_blocks(alloc: Alloc) -> bool:
    """Whether any dimension is."""
    return alloc.layout is not None and any(alloc.layout.blocks)


def words_of_layout(alloc: Alloc) -> str:
    """What the layout of an allocation, which has one, asks for: `has strides ...`."""
    return "is stored by blocks" if is_stored_by_blocks(alloc) else "has strides or an alignment that are asked for"


def stored_extents(
    blocks: Sequence[int | None], extents: Sequence[N], count: Callable[[N, int], N], whole: Callable[[int], N]
) -> list[N]:
    """The extents of the array in memory, of a buffer of these: `count` says how many blocks of a length hold so many
    coordinates, at least one, and `whole` makes an extent of a number."""
    if not blocks:
        return list(extents)
    counts = [count(n, f) for n, f in zip(extents, blocks, strict=True) if f is not None]
    return counts + [n if f is None else whole(f) for n, f in zip(extents, blocks, strict=True)]


def stored_names(blocks: Sequence[int | None], names: Sequence[str]) -> list[str]:
    """Names for the dimensions of the array in memory, of a buffer whose dimensions have these."""
    if not blocks:
        return list(names)
    return [f"{name}_blocks" for name, f in zip(names, blocks, strict=True) if f is not None] + list(names)
