"""Facts: conditions known to hold, ready to be looked up by what they speak of.

A fact may say what a new symbol stands for (`naming`). By itself that says nothing about other symbols, so it is looked
up by the new one alone: a question pays for the names that it mentions, not for all that there are. (What further facts
about a name imply for other symbols is not found by a question that does not mention it.)

Invariants. The same conditions, given in the same order on top of the same facts, are the same object as long as
anyone uses it, so answers can be remembered with it. Every row is a fact: `0 <= offset + terms`. What is remembered
is bounded: a fixed number of answers with each facts object, and only facts in use, or used lately, stay alive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

import attrs

from slinky.errors import cited
from slinky.symbolic.arithmetic import Terms
from slinky.symbolic.expressions import (
    And,
    Condition,
    Expr,
    IsZero,
    NonNegative,
    Or,
    Truth,
    all_of,
    equal,
    linear,
    scale,
)
from slinky.symbolic.layers import grown
from slinky.symbolic.traversal import substitute

Linear: TypeAlias = tuple[int, Terms]
"""`0 <= constant + sum of coefficient * atom`. Unlike in a `Sum`, a choice may stand here as an atom."""

Rows: TypeAlias = tuple[Linear, ...]

_ANSWERS = 2_000
_WITNESSES = 4
_KEPT_ALIVE = 256

_known_facts: WeakValueDictionary[tuple[Facts | None, tuple[Condition, ...], Expr | None], Facts]
_known_facts = WeakValueDictionary()
_lately: deque[Facts] = deque(maxlen=_KEPT_ALIVE)


@attrs.frozen(eq=False, repr=False)
class Facts:
    """Conditions known to hold. Make with `facts(...)`, extend with `also(...)`.

    What they are looked up by is found when a question first comes to that: many are answered before.
    """

    parent: Facts | None
    own: tuple[Condition, ...]
    named_here: Expr | None
    """The symbol that the own conditions say the meaning of."""
    meaning: Expr | None = None
    """What that symbol stands for."""
    contradictory: bool = attrs.field(init=False)
    cases: tuple[Or, ...] = attrs.field(init=False)
    named: Mapping[Expr, tuple[Or, ...]] = attrs.field(init=False)
    """The disjunctions that say what a symbol stands for."""
    tightest: Mapping[Terms, int] = attrs.field(init=False)
    """The least offset known for each sum of terms."""
    upward: Mapping[Expr, Rows] = attrs.field(init=False)
    """The rows in which an atom has a positive coefficient: they bound it from below."""
    downward: Mapping[Expr, Rows] = attrs.field(init=False)
    """The rows in which an atom has a negative coefficient."""
    meanings: Mapping[Expr, Expr] = attrs.field(init=False)
    """What the symbols stand for that are names, without other names."""
    is_indexed: bool = attrs.field(default=False, init=False)
    """Whether the seven above are there."""
    answers: dict[Condition, bool] = attrs.field(factory=dict, init=False)
    costs: dict[Condition, int] = attrs.field(factory=dict, init=False)
    """What the answers cost that took a search (see `patience`)."""
    chains: dict[Linear, bool] = attrs.field(factory=dict, init=False)
    """Of goals that take more than one fact, whether they are found to follow (see `chaining`)."""
    compared: dict[tuple[Expr, Expr], bool] = attrs.field(factory=dict, init=False)
    """Of two expressions, one of them a choice, whether the first is found to be at most the second (`comparing`)."""
    witnesses: list[Mapping[Expr, int]] = attrs.field(factory=list, init=False)
    """Integers for some atoms that agree with everything known of them: what they refute cannot be proved."""
    lengths: dict[frozenset[Expr], tuple[tuple[Mapping[Expr, int], ...], int]] = attrs.field(factory=dict, init=False)
    """Integers for some symbols that meet the facts, and what they cost to find (see `lengths`)."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is asked for before it is there: the index of these facts, and of those that they rest on."""
            if name not in _INDEX:
                raise AttributeError(name)
            missing: list[Facts] = []
            level: Facts | None = self
            while level is not None and not level.is_indexed:  # a loop, for facts may rest on any number of others
                missing.append(level)
                level = level.parent
            for level in reversed(missing):
                _add_index(level)
            return object.__getattribute__(self, name)  # it is there now, by this thread or by another one

    def also(self, *conditions: Condition) -> Facts:
        """These facts and more."""
        new = _flat(conditions)
        return _interned(self, new) if new else self

    def naming(self, symbol: Expr, expr: Expr) -> Facts:
        """These facts, and that a symbol stands for an expression; neither they nor the expression speak of it."""
        return _interned(self, _flat((equal(symbol, expr),)), symbol, expr)

    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, oldest first."""
        levels = []
        level: Facts | None = self
        while level is not None:
            levels.append(level.own)
            level = level.parent
        return tuple(condition for own in reversed(levels) for condition in own)

    def remember(self, goal: Condition, answer: bool, cost: int = 0) -> None:
        """Keep an answer, and what it cost to find."""
        if len(self.answers) >= _ANSWERS:
            self.answers.clear()
            self.costs.clear()
        self.answers[goal] = answer
        if cost:
            self.costs[goal] = cost

    def remember_chain(self, goal: Linear, is_found: bool) -> None:
        """Keep whether a goal is found to follow."""
        if len(self.chains) >= _ANSWERS:
            self.chains.clear()
        self.chains[goal] = is_found

    def remember_compared(self, a: Expr, b: Expr, is_found: bool) -> None:
        """Keep whether one expression is found to be at most another."""
        if len(self.compared) >= _ANSWERS:
            self.compared.clear()
        self.compared[a, b] = is_found

    def remember_witness(self, witness: Mapping[Expr, int]) -> None:
        """Keep integers that refute goals; only the latest few."""
        self.witnesses.append(witness)
        del self.witnesses[:-_WITNESSES]

    def __repr__(self) -> str:
        return f"<facts: {all_of(*self.conditions())}>"


def facts(*conditions: Condition) -> Facts:
    """The facts that these conditions hold."""
    return _interned(None, _flat(conditions))


def _flat(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    flat: dict[Condition, None] = {}
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise TypeError(f"expected a condition such as y <= 3, got {cited(condition)}")
        for part in condition.operands if type(condition) is And else (condition,):
            if type(part) is not Truth or not part.value:
                flat[part] = None
    return tuple(flat)


def _interned(
    parent: Facts | None, own: tuple[Condition, ...], named: Expr | None = None, meaning: Expr | None = None
) -> Facts:
    key = parent, own, named
    known = _known_facts.get(key)
    if known is None:
        known = _known_facts.setdefault(key, Facts(*key, meaning))
        _lately.append(known)
    return known


_INDEX = frozenset(("contradictory", "cases", "named", "tightest", "upward", "downward", "meanings"))


def _add_index(facts: Facts) -> None:
    """Find what facts are looked up by, given that of those that they rest on."""
    parent, own, named = facts.parent, facts.own, facts.named_here
    rows, cases = _split_flat(own)
    before = _NOTHING if parent is None else parent
    contradictory = rows is None or before.contradictory
    names: dict[Expr, tuple[Or, ...]] = {}
    if named is not None and cases:
        names, cases = {named: cases}, ()
    tightest: dict[Terms, int] = {}
    upward: dict[Expr, Rows] = {}
    downward: dict[Expr, Rows] = {}
    meanings: dict[Expr, Expr] = {}
    if named is not None and facts.meaning is not None:
        meanings[named] = substitute(facts.meaning, before.meanings) if before.meanings else facts.meaning

    def least(terms: Terms) -> int | None:
        known = tightest.get(terms)
        return before.tightest.get(terms) if known is None else known

    for row in rows or ():
        offset, terms = row
        known = least(terms)
        if known is not None and known <= offset:
            continue
        tightest[terms] = offset
        opposite = least(tuple([(atom, -c) for atom, c in terms]))
        contradictory |= opposite is not None and opposite + offset < 0
        for atom, c in terms:
            if named is None or atom is named:
                side, older = (upward, before.upward) if c > 0 else (downward, before.downward)
                side[atom] = (*(side.get(atom) or older.get(atom, ())), row)
    index = {
        "contradictory": contradictory,
        "cases": before.cases + cases,
        "named": grown(before.named, names),
        "tightest": grown(before.tightest, tightest),
        "upward": grown(before.upward, upward),
        "downward": grown(before.downward, downward),
        "meanings": grown(before.meanings, meanings),
        "is_indexed": True,
    }
    for name, value in index.items():
        object.__setattr__(facts, name, value)


def split(conditions: Iterable[Condition]) -> tuple[Rows | None, tuple[Or, ...]]:
    """A conjunction as inequalities and disjunctions; None for the inequalities where it is false."""
    return _split_flat(_flat(conditions))


def _split_flat(conditions: tuple[Condition, ...]) -> tuple[Rows | None, tuple[Or, ...]]:
    rows: list[Linear] = []
    cases: list[Or] = []
    for condition in conditions:
        match condition:
            case NonNegative(expr=expr):
                rows.append(linear(expr))
            case Truth():
                return None, ()
            case Or():
                cases.append(condition)
            case IsZero(expr=expr):
                rows += [linear(expr), linear(scale(expr, -1))]
    return tuple(rows), tuple(cases)


@attrs.frozen(eq=False)
class _Nothing:
    """What stands in place of older facts where there are none."""

    contradictory: bool = False
    cases: tuple[Or, ...] = ()
    named: Mapping[Expr, tuple[Or, ...]] = attrs.field(factory=dict)
    tightest: Mapping[Terms, int] = attrs.field(factory=dict)
    upward: Mapping[Expr, Rows] = attrs.field(factory=dict)
    downward: Mapping[Expr, Rows] = attrs.field(factory=dict)
    meanings: Mapping[Expr, Expr] = attrs.field(factory=dict)


_NOTHING = _Nothing()

NO_FACTS = facts()
