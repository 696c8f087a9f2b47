"""Lengths for which a goal about products does not hold, so that nobody searches for its proof.

Which of two strides is larger is asked of products of lengths, one for each dimension. Where it depends on the lengths,
a search for a proof multiplies inequalities for long before it ends. But it is easily shown: by lengths that are all as
small as they may be, all larger, or one of them larger than the others.

Invariant: the integers meet all facts that speak of any of these symbols, so no goal that they do not meet has a proof.
They are the same whatever was asked before, and cost a rewrite what they cost to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slinky.symbolic.expressions import (
    Condition,
    Constant,
    Expr,
    Metadata,
    Node,
    Product,
    all_of,
    linear,
    metadata,
)
from slinky.symbolic.facts import Facts
from slinky.symbolic.lower_bounds import at_least
from slinky.symbolic.patience import current_patience
from slinky.symbolic.search import Search, compared
from slinky.symbolic.traversal import evaluate, quotients, symbols

Lengths = Mapping[Expr, int]

_FEWEST_FACTORS = 3
"""Products of fewer factors are searched as quickly as lengths are found."""

_LARGER = 8
"""By so much, lengths are larger than the smallest: of a stride in bytes, more than an element."""


def holds_for_some_lengths(condition: Condition, known: Facts) -> bool:
    """Whether lengths are found that meet the facts and a condition, if that speaks of products."""
    products = (atom.factors for atom in compared(condition) if type(atom) is Product)
    if max(map(len, products), default=0) < _FEWEST_FACTORS or _divides_by_symbols(condition):
        return False
    return any(evaluate(condition, lengths) for lengths in _lengths(symbols(condition), known))


def _lengths(names: frozenset[Expr], known: Facts) -> tuple[Lengths, ...]:
    """Integers for some symbols, and others, that meet the facts."""
    patience = current_patience()
    found = known.lengths.get(names)
    if found is None:
        spent, given_up = patience.spent, patience.given_up
        answer = tuple([lengths for wanted in _wanted(names, known) if (lengths := _solved(wanted, names, known))])
        found = answer, patience.spent - spent
        if patience.given_up == given_up:
            known.lengths[names] = found
            patience.has_paid((known, names))
    else:
        patience.spend_once((known, names), found[1])
    return found[0]


def _wanted(names: frozenset[Expr], known: Facts) -> Iterator[Condition]:
    """What is asked of the lengths of dimensions, and of symbols that are no end of one."""
    lengths: dict[Expr, None] = {}
    for name in sorted(names, key=str):
        other = {"min": "max", "max": "min"}.get(name.field) if isinstance(name, Metadata) else None
        if isinstance(name, Metadata) and other and metadata(name.buffer, name.dim, other) in names:
            name = metadata(name.buffer, name.dim, "extent")
        lengths[name] = None
    smallest = {length: _smallest(length, known) for length in lengths}
    for larger in ((), lengths, *((length,) for length in lengths)):
        ends = [(length, n + _LARGER * (length in larger)) for length, n in smallest.items()]
        yield all_of(*[condition for length, n in ends for condition in (n <= length, length <= n + 1)])


def _smallest(length: Expr, known: Facts) -> int:
    """The least that facts allow a length to be, as far as a short look tells, but 1 at least."""
    offset, terms = linear(length)
    least = known.tightest.get(terms)
    smallest = 1 if least is None else max(offset - least, 1)
    for n in range(smallest, smallest + _LARGER):
        if not at_least(length, n + 1, known):
            return n
    return smallest + _LARGER


def _solved(wanted: Condition, names: frozenset[Expr], known: Facts) -> Lengths | None:
    """Integers that meet a condition and all facts that speak of any of them, if a short search finds such."""
    search = Search(known)
    if search.refuted(wanted) or not search.conclusive or not names <= search.found.keys():
        return None
    level: Facts | None = known
    while level is not None:
        if level.named_here is None or level.named_here in search.found:
            for condition in level.own:
                of = symbols(condition)
                if not of.isdisjoint(search.found) and not (
                    of <= search.found.keys()
                    and not _divides_by_symbols(condition)
                    and evaluate(condition, search.found)
                ):
                    return None
        level = level.parent
    return search.found


def _divides_by_symbols(node: Node) -> bool:
    """Whether a divisor may be 0, or less: of such a quotient nothing is claimed."""
    return any(type(quotient.denominator) is not Constant for quotient in quotients(node))
