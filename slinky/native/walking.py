"""Walks over the steps of a plan tree: all of them, the blocks in one, and what is known of its sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

import attrs

from slinky.ir.statements import Program
from slinky.runtime.arena import SiteKind
from slinky.runtime.plan_tree import (
    Assign,
    At,
    Crop,
    Fetch,
    FetchWithin,
    Located,
    Name,
    Node,
    PlanTree,
    ReadOnly,
    Reserve,
    Sealed,
    Seen,
    Step,
    Steps,
    TakeArena,
    Value,
)


def sites_of(tree: PlanTree) -> dict[str, SiteKind]:
    """What is known of the sites and the buffers of a tree, by the names that stand for them."""
    kinds: dict[str, tuple[SiteKind, ...]] = {tree.parameters[0]: tree.sites}
    found: dict[str, SiteKind] = {}
    again = () if tree.again is None else tree.again.body
    for step in every_step((*tree.body, *again)):
        match step:
            case TakeArena(arena=arena, idle=idle):
                kinds[arena] = tree.arenas[idle.text]
            case Reserve(arena=arena, heap=heap, rings=rings):
                own = kinds[arena.text]
                found.update(zip((room.site for room in heap), (k for k in own if not k.folded), strict=True))
                found.update(zip(rings, (k for k in own if k.folded), strict=True))
            case Fetch(name=name, site=site, reading=reading):
                found.update(dict.fromkeys(filter(None, (name, reading)), found[site.text]))
    return found


def ranks_in(tree: PlanTree, program: Program, sites: Mapping[str, SiteKind]) -> dict[str, int]:
    """How many dimensions arrays of the tree of a program have, by name, as far as that is told: of those that it is
    given, of sites and buffers, and of parts of them."""
    found = {name: kind.rank for name, kind in sites.items()}
    found.update((each.name, each.rank) for each in (*program.inputs, *program.outputs))
    for step in every_step((*tree.body, *(tree.again.body if tree.again else ()))):
        match step:
            case Assign(name=name, value=value) if (rank := _rank_of(value, found)) is not None:
                found[name] = rank
            case FetchWithin(name=name, reading=reading, site=site):
                found.update(dict.fromkeys(filter(None, (name, reading)), sites[site.text].rank))
    return found


def _rank_of(value: Value, ranks: Mapping[str, int]) -> int | None:
    match value:
        case Name(text=name):
            return ranks.get(name)
        case Seen(extents=extents):
            return len(extents)
        case Crop(array=array, spans=spans):
            rank = _rank_of(array, ranks)
            return None if rank is None else rank - sum(isinstance(span, At) for span in spans)
        case Located(array=array) | ReadOnly(array=array) | Sealed(array=array):
            return _rank_of(array, ranks)
    return None


def every_step(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps and all steps inside, in the order in which they stand."""
    waiting: list[Step] = list(reversed(steps))
    while waiting:
        step = waiting.pop()
        yield step
        inner = [each for block in blocks_of_step(step) for each in block]
        waiting += reversed(inner)


def blocks_of_step(step: Step) -> tuple[Steps, ...]:
    """The blocks of steps in a step."""
    found: list[Steps] = []
    for name in _blocks_of_kind(cast(Any, type(step))):
        value = getattr(step, name)
        if name == "stages":
            found += [stage.body for stage in value]
        else:
            found.append(value)
    return tuple(found)


def nodes_in(root: object) -> Iterator[Node]:
    """A node and all nodes in it, each before what is in it; or those of a tuple of nodes."""
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting += reversed(item)
        elif isinstance(item, Node):
            yield item
            waiting += [getattr(item, name) for name in field_names(item)]


def field_names(node: Node) -> tuple[str, ...]:
    """The names of the fields of a node."""
    return _fields_of_kind(cast(Any, type(node)))


@cache
def _fields_of_kind(kind: Any) -> tuple[str, ...]:
    return tuple([field.name for field in attrs.fields(kind)])


@cache
def _blocks_of_kind(kind: Any) -> tuple[str, ...]:
    """Of these, those of fields with blocks of steps."""
    return tuple([name for name in _fields_of_kind(kind) if name in ("body", "orelse", "stages")])
