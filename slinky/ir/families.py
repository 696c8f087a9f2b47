"""Funcs that compute the same, by the word of their author: a func and its variants.

Idea. A variant has the dimensions and outputs of its func, and other ways: another operation, which may read less, and
may take some of the buffers in another dtype. That both give the same is declared where the func is made, and nowhere
else. So a family is made once, with the func, and whoever changes a func (reads past a copy, say) changes all of the
family alike.

Invariant: a func is a relative of another only if both stand in one family, under the names that they bear; no func
that is made of a relative in another way is one.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from slinky.ir.operations import Accumulation
from slinky.ir.statements import Family, LoweredFunc


def with_variants(func: LoweredFunc, variants: dict[str, LoweredFunc]) -> LoweredFunc:
    """A func with variants, each of which differs from it in its operation, in the boxes of its inputs, and in the
    dtypes of its ports alone."""
    if not variants:
        return func
    members: dict[str | None, LoweredFunc] = {None: func}
    members.update(variants)
    return _family(members)[None]


def _family(
    members: dict[str | None, LoweredFunc], declared: LoweredFunc | None = None
) -> dict[str | None, LoweredFunc]:
    family = Family(declared=None if None in members else declared)
    for name, member in members.items():
        family.members[name] = attrs.evolve(member, variant=name, family=family)
    return family.members


def is_member(func: LoweredFunc) -> bool:
    """Whether a func stands in its family, and is no other that was made of one that does."""
    return func.family is not None and func.family.members.get(func.variant) is func


def original(func: LoweredFunc) -> LoweredFunc:
    """The func whose variant one is; itself, if it is none."""
    if func.family is None or not is_member(func):
        return func
    first = func.family.members.get(None)
    return first if first is not None and first.family is func.family else func


def relative(func: LoweredFunc, name: str | None) -> LoweredFunc | None:
    """The variant of a name in the family of a func, None for the func itself; None if there is none."""
    if name == func.variant:
        return func
    return None if func.family is None or not is_member(func) else func.family.members.get(name)


def names_of_variants(func: LoweredFunc) -> tuple[str, ...]:
    """The names of the variants in the family of a func; of a stage of a reduction, those that all of its stages could
    be of together."""
    if isinstance(func.operation, Accumulation):
        return tuple(name for name, _ in func.operation.variants if name is not None)
    return tuple(name for name in relatives(func) if name is not None)


def relatives(func: LoweredFunc) -> dict[str | None, LoweredFunc]:
    """All of the family of a func, itself too, by name."""
    return {func.variant: func} if func.family is None else func.family.members


def with_all_changed(func: LoweredFunc, change: Callable[[LoweredFunc], LoweredFunc | None]) -> LoweredFunc | None:
    """A func that was changed, and its relatives likewise; None if it cannot be. What cannot be changed so is a
    relative no more."""
    if func.family is None or not is_member(func):
        return change(func)
    changed = {name: change(member) for name, member in func.family.members.items()}
    if changed[func.variant] is None:
        return None
    same = all(new is func.family.members[name] for name, new in changed.items())
    if same:
        return func
    declared = func.family.members.get(None, func.family.declared)
    return _family({name: new for name, new in changed.items() if new is not None}, declared)[func.variant]
