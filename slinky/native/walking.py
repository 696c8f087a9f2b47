"""Walks over the steps of a plan tree: all of them, the blocks in one, and what is known of its sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from slinky.runtime.arena import SiteKind
from slinky.runtime.plan_tree import Fetch, PlanTree, Reserve, Step, Steps, TakeArena


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
    for name in _blocks_of_kind(type(step)):
        value = getattr(step, name)
        if name == "stages":
            found += [stage.body for stage in value]
        else:
            found.append(value)
    return tuple(found)


_fields: dict[Any, tuple[str, ...]] = {}
_blocks: dict[Any, tuple[str, ...]] = {}


def field_names(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a kind of node, found once."""
    found = _fields.get(kind)
    if found is None:
        found = _fields[kind] = tuple([field.name for field in attrs.fields(kind)])
    return found


def _blocks_of_kind(kind: Any) -> tuple[str, ...]:
    """Of these, those of fields with blocks of steps."""
    found = _blocks.get(kind)
    if found is None:
        found = _blocks[kind] = tuple([name for name in field_names(kind) if name in ("body", "orelse", "stages")])
    return found
