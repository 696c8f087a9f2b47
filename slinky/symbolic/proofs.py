"""Proofs: does a condition hold for every assignment of integers that meets the facts?

`prove` first looks for a short proof (`chaining`), then looks at what products and quotients are made of
(`rising`), then refutes `facts and not goal` (`search`).

Invariant: `prove` never says yes to what does not hold; it may say no where a cleverer prover would find the proof.
Extents of buffers are at least 0 and fold factors at least 1; where a divisor is not positive, nothing is claimed.
Work is bounded, and answers are remembered with the facts.
"""

from __future__ import annotations

from slinky.errors import cited
from slinky.symbolic.arithmetic import Terms
from slinky.symbolic.chaining import follows
from slinky.symbolic.comparing import never_negative, rises
from slinky.symbolic.expressions import (
    FALSE,
    And,
    Condition,
    Expr,
    IsZero,
    Max,
    Min,
    NonNegative,
    Or,
    Truth,
    all_of,
    linear,
    linear_sum,
    negate,
    nonnegative,
    scale,
)
from slinky.symbolic.facts import NO_FACTS, Facts, facts
from slinky.symbolic.lengths import holds_for_some_lengths
from slinky.symbolic.lower_bounds import at_least, constant_lower_bound
from slinky.symbolic.patience import current_patience
from slinky.symbolic.search import Search
from slinky.symbolic.witnesses import is_contradicted, may_hold

__all__ = ["NO_FACTS", "Facts", "constant_lower_bound", "facts", "impossible", "prove"]


_COEFFICIENTS_PER_OPERAND = 500
"""What it takes to look at one operand of a choice that is too wide for the constructors: where several such choices
are added up, each operand of one is asked about with each of the others."""


def prove(goal: Condition, known: Facts = NO_FACTS) -> bool:
    """Whether `goal` is shown to hold for every assignment that meets the facts. False means "not shown"."""
    answer = known.answers.get(goal)
    if answer is not None:
        if known.costs and goal in known.costs:
            current_patience().spend_once((known, goal), known.costs[goal])
        return answer
    patience = current_patience()
    spent, given_up = patience.spent, patience.given_up
    answer = _proved(goal, known)
    if answer or patience.given_up == given_up:
        cost = patience.spent - spent
        known.remember(goal, answer, cost)
        if cost:
            patience.has_paid((known, goal))
    return answer


def impossible(known: Facts) -> bool:
    """Whether the facts are shown to contradict each other, so that anything follows from them."""
    return prove(FALSE, known)


def _proved(goal: Condition, known: Facts) -> bool:
    match goal:
        case Truth(value=value):
            return value or _impossible(known)
        case NonNegative(expr=expr):
            return _not_negative(expr, known)
        case And(operands=operands):
            return all(prove(operand, known) for operand in operands)
        case IsZero(expr=expr):
            return prove(nonnegative(expr), known) and prove(nonnegative(scale(expr, -1)), known)
        case Or(operands=operands):
            if goal in known.cases:
                return True
            for operand in operands:
                if isinstance(operand, NonNegative) and follows(known, *linear(operand.expr)):
                    return True
            against = negate(goal)
            is_open = may_hold(against, known) or holds_for_some_lengths(against, known)
            return not is_open and _refuted(against, known)
    raise TypeError(f"expected a condition such as y <= 3, got {cited(goal)}")


def _impossible(known: Facts) -> bool:
    """Whether the facts contradict each other: if the older ones do not, a new one takes part."""
    levels: list[Facts] = []
    level: Facts | None = known
    while level is not None and FALSE not in level.answers:
        levels.append(level)
        level = level.parent
    answer = level is not None and level.answers[FALSE]
    patience = current_patience()
    spent, given_up = patience.spent, patience.given_up
    for level in reversed(levels):
        answer = answer or level.contradictory or Search(level).refuted(all_of(*level.own))
        if answer or patience.given_up == given_up:
            level.remember(FALSE, answer, patience.spent - spent)
    return answer


def _not_negative(expr: Expr, known: Facts) -> bool:
    offset, terms = linear(expr)
    if at_least(expr, 0, known):
        return True
    for atom, c in terms:
        if isinstance(atom, Min if c > 0 else Max):
            # A choice too wide for the constructors: the goal must hold for each operand.
            rest = [term for term in terms if term[0] is not atom]
            operands = atom.operands
            patience = current_patience()
            if patience.is_used_up(0):
                return False
            patience.spend(_COEFFICIENTS_PER_OPERAND * len(operands))
            return all(prove(nonnegative(linear_sum(offset, [(o, c), *rest])), known) for o in operands)
    if is_contradicted((offset, terms), known):
        return False
    if rises(offset, terms, known) or _follows_from_meanings(offset, terms, known):
        return True
    against = nonnegative(linear_sum(-offset - 1, [(atom, -c) for atom, c in terms]))
    return not holds_for_some_lengths(against, known) and _refuted(against, known)


def _follows_from_meanings(offset: int, terms: Terms, known: Facts) -> bool:
    """Whether `0 <= offset + terms` by a short look at what the names in it stand for."""
    meanings = known.meanings
    if not meanings or not any(atom in meanings for atom, _ in terms):
        return False
    return never_negative(offset, terms, known, meanings)


def _refuted(condition: Condition, known: Facts) -> bool:
    """Whether the facts and a condition are shown to have no common solution; one that is found is remembered."""
    search = Search(known)
    if search.refuted(condition):
        return True
    if search.conclusive:
        known.remember_witness(search.found)
    return False
