"""Integers that show that a goal cannot be proved: a search that finds no proof leaves them.

They agree with all that is known of some atoms, as inequalities and cases. So a goal about these atoms that they do not
meet has no proof, and need not be searched for; with further facts neither, as long as they agree with those, too.

Invariant: integers are taken only where a search would end in them, or in others like them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from slinky.symbolic.expressions import Condition, Expr, IsZero, NonNegative, Or, linear
from slinky.symbolic.facts import Facts, Linear
from slinky.symbolic.search import holds
from slinky.symbolic.traversal import symbols

Witness: TypeAlias = Mapping[Expr, int]

_FURTHEST = 8
"""Of facts that rest on others that rest on others, so many are asked."""


def is_contradicted(row: Linear, known: Facts) -> bool:
    """Whether integers that agree with the facts are at hand, and make a sum negative."""
    offset, terms = row

    def is_negative(witness: Witness) -> bool:
        try:
            return offset + sum([c * witness[atom] for atom, c in terms]) < 0
        except KeyError:
            return False

    return _is_shown(is_negative, known)


def may_hold(condition: Condition, known: Facts) -> bool:
    """Whether integers that agree with the facts are at hand, and meet a condition."""
    return _is_shown(lambda witness: holds(witness, condition), known)


def _is_shown(shows: Callable[[Witness], bool], known: Facts) -> bool:
    """Whether a witness of some facts shows something, or one of what these rest on that agrees with all of them."""
    further: list[Facts] = []
    level: Facts | None = known
    while level is not None and len(further) <= _FURTHEST:
        for witness in level.witnesses:
            if shows(witness) and all(_agrees(witness, each) for each in further):
                if further:
                    known.remember_witness(witness)
                return True
        further.append(level)
        level = level.parent
    return False


def _agrees(witness: Witness, further: Facts) -> bool:
    """Whether integers agree with what some facts know beside those that they rest on, of the atoms that these are for.

    What a symbol stands for is looked up by the symbol alone, which is new there.
    """
    if further.named_here is not None:
        return further.named_here not in witness
    return all(_is_met(condition, witness) for condition in further.own)


def _is_met(condition: Condition, witness: Witness) -> bool:
    """Whether integers meet a condition, or nothing in it has to do with what they are for."""
    if holds(witness, condition):
        return True
    match condition:
        case NonNegative(expr=expr) | IsZero(expr=expr):
            return all(atom not in witness for atom, _ in linear(expr)[1])
        case Or():
            names = symbols(condition)
            return all(names.isdisjoint(symbols(atom)) for atom in witness)
    return False
