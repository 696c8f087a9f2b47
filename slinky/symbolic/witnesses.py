"""Integers that show that a goal cannot be proved: a search that finds no proof leaves them.

They agree with all that is known of some atoms, as inequalities and cases. So a goal about these atoms that they do not
meet has no proof, and need not be searched for; with further facts neither, as long as they agree with those, too.

Invariant: integers are taken only where a search would end in them, or in others like them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeAlias

from slinky.errors import ExpressionError
from slinky.symbolic.expressions import And, Condition, Expr, IsZero, NonNegative, Or, Truth, linear
from slinky.symbolic.facts import Facts, Linear
from slinky.symbolic.traversal import evaluate, symbols

Witness: TypeAlias = Mapping[Expr, int]

_FURTHEST = 8
"""Of facts that rest on others that rest on others, so many are asked."""


def is_contradicted(row: Linear, known: Facts) -> bool:
    """Whether integers that agree with the facts are at hand, and make a sum negative."""
    offset, terms = row

    def is_negative(witness: Witness) -> bool:
        total = offset  # written out: this is asked of most goals, and each time of several witnesses
        for atom, c in terms:
            at = witness.get(atom)
            if at is None:
                return False
            total += c * at
        return total < 0

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
            if shows(witness) and (not further or all(_agrees(witness, each) for each in further)):
                if further:
                    known.remember_witness(witness)
                return True
        further.append(level)
        level = level.parent
    return False


class Examples:
    """The integers at hand that agree with some facts. They refute most comparisons before a condition is built."""

    def __init__(self, known: Facts) -> None:
        self._known = known
        self._values: dict[Expr, list[int | None]] = {}

    @functools.cached_property
    def _witnesses(self) -> list[Witness]:
        found: list[Witness] = []
        further: list[Facts] = []
        level: Facts | None = self._known
        while level is not None and len(further) <= _FURTHEST:
            found += [witness for witness in level.witnesses if all(_agrees(witness, each) for each in further)]
            further.append(level)
            level = level.parent
        return found

    def exceeds(self, a: Expr, b: Expr) -> bool:
        """Whether some of them make one expression larger than another."""
        pairs = zip(self._of(a), self._of(b), strict=True)
        return any(x > y for x, y in pairs if x is not None and y is not None)

    def _of(self, expr: Expr) -> list[int | None]:
        """What they make of an expression; None where it has a symbol that they are not for, or divides by zero."""
        found = self._values.get(expr)
        if found is None:
            found = self._values[expr] = [_evaluated(expr, witness) for witness in self._witnesses]
        return found


def _evaluated(expr: Expr, witness: Witness) -> int | None:
    if not symbols(expr) <= witness.keys():
        return None
    try:
        return evaluate(expr, witness)
    except ExpressionError:
        return None


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


def holds(witness: Witness, condition: Condition, deepest: int = 20) -> bool:
    """Whether integers are known to meet a condition; of a deeply nested one nothing is known."""
    if deepest == 0:
        return False
    match condition:
        case Truth(value=value):
            return value
        case NonNegative(expr=expr):
            at = value_of(witness, linear(expr))
            return at is not None and at >= 0
        case IsZero(expr=expr):
            return value_of(witness, linear(expr)) == 0
        case And(operands=operands):
            return all(holds(witness, operand, deepest - 1) for operand in operands)
        case Or(operands=operands):
            return any(holds(witness, operand, deepest - 1) for operand in operands)
    return False


def value_of(witness: Witness, row: Linear) -> int | None:
    """The value of a row, if the integers are for all its atoms."""
    total, terms = row
    for atom, c in terms:
        at = witness.get(atom)
        if at is None:
            return None
        total += c * at
    return total
