"""Which bounds do omitted outputs have? What follows for them from the checks of a program.

Rule. An omitted output is the largest box that the checks allow: its first coordinates are the smallest, and its last
ones the largest, for which they hold. So an end follows if an equality gives it, or if something bounds it on the side
to which it would grow: a first coordinate from below, a last one from above. Nothing is guessed: an end that no check
bounds, or a choice between two outputs, one of which could be larger if the other were smaller, does not follow.

Method. Equalities are solved first, each for one end, whose value then stands in its place everywhere. Of what is left,
an inequality bounds the one end that must not grow for its sake. Other ends that it names help it by growing, and have
their values first. Where an end must be a multiple, say, the next such value is taken that it does not grow to.

Invariant: ends that are evaluated in the given order meet each inequality that bounds one of them, and leave room for
no larger box that meets all of these. Other checks are none of this page's business: a run makes them all as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from slinky.ir.regions import parameter_box
from slinky.ir.statements import BufferParameter, Check, Program
from slinky.symbolic.expressions import (
    And,
    Condition,
    Expr,
    IsZero,
    NonNegative,
    linear,
    maximum,
    metadata,
    minimum,
)
from slinky.symbolic.facts import Facts, facts
from slinky.symbolic.lower_bounds import at_least
from slinky.symbolic.solving import Limit, Side, limit_of, remainder_of
from slinky.symbolic.traversal import substitute, symbols


@attrs.frozen
class Following:
    """Ends of omitted outputs: the value of each as far as it follows, in an order in which they can be evaluated.

    `missing` are those that do not follow.
    """

    values: tuple[tuple[Expr, Expr], ...]
    missing: tuple[Expr, ...]


def conditions_of(program: Program) -> tuple[Condition, ...]:
    """What a program checks before anything else, one comparison or disjunction at a time."""
    found: dict[Condition, None] = {}
    for statement in program.body:
        if isinstance(statement, Check):
            found.update(dict.fromkeys(_parts(statement.condition)))
    return tuple(found)


def following(conditions: Iterable[Condition], omitted: Sequence[BufferParameter]) -> Following:
    """The bounds of omitted outputs that follow from conditions."""
    return _Solver(tuple(conditions), omitted).solved()


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.operands if isinstance(condition, And) else (condition,)


def _ends(omitted: Sequence[BufferParameter]) -> Iterator[Expr]:
    for parameter in omitted:
        for i in parameter_box(parameter.name, parameter.rank):
            yield from (i.min, i.max)


class _Solver:
    """What is known of the ends, `free` ones and those that equalities have given in terms of others: `given`."""

    def __init__(self, conditions: tuple[Condition, ...], omitted: Sequence[BufferParameter]) -> None:
        self.known: Facts = facts(*conditions)
        extents: dict[Expr, Expr] = {
            metadata(p.name, d, "fold_factor"): maximum(metadata(p.name, d, "extent"), 1)
            for p in omitted
            for d in range(p.rank)
        }
        self.conditions = [part for c in conditions for part in _parts(substitute(c, extents))]
        self.free = list(_ends(omitted))
        self.grows = {end: -1 if position % 2 == 0 else 1 for position, end in enumerate(self.free)}
        self.given: dict[Expr, Expr] = {}

    def solved(self) -> Following:
        """Equalities first, then what bounds the ends that are left."""
        while self._solve_equality():
            pass
        directions = {end: self._direction(end) for end in self.free}
        bounds: dict[Expr, list[Expr]] = {end: [] for end in self.free}
        for condition in self.conditions:
            bounded = self._bounded(condition, directions)
            if bounded is not None:
                bounds[bounded[0]].append(bounded[1])
        values: dict[Expr, Expr] = {}
        for end, found in bounds.items():
            if found and directions[end]:
                limit = maximum(*found) if directions[end] < 0 else minimum(*found)
                values[end] = self._rounded(end, limit, directions[end])
        return self._ordered({**values, **self.given})

    def _solve_equality(self) -> bool:
        """Solve one equality for an end, if there is one; it is given then, and free no more."""
        for condition in self.conditions:
            if not isinstance(condition, IsZero) or symbols(condition).isdisjoint(self.free):
                continue
            named = [end for end in self.free if end in symbols(condition)]
            # The last of them: ends of later outputs are told in terms of those of earlier ones.
            whole = [end for end in named if abs(dict(linear(condition.expr)[1]).get(end, 0)) == 1]
            for end in reversed(whole or (named if len(named) == 1 else [])):
                limit = limit_of(condition, end, self.known)
                if limit is not None and limit.side is Side.IS:
                    self._give(end, limit.value)
                    return True
        return False

    def _give(self, end: Expr, value: Expr) -> None:
        self.free.remove(end)
        self.given = {other: substitute(e, {end: value}) for other, e in self.given.items()} | {end: value}
        self.conditions = [part for c in self.conditions for part in _parts(substitute(c, {end: value}))]

    def _direction(self, end: Expr) -> int:
        """Whether an end grows down or up, with those that are given in terms of it; 0 if they do not agree."""
        directions = {self.grows[end]}
        for other, value in self.given.items():
            if end in symbols(value):
                slope = dict(linear(value)[1]).get(end, 0)
                only_there = all(atom is end or end not in symbols(atom) for atom, _ in linear(value)[1])
                directions.add(self.grows[other] * (1 if slope > 0 else -1) if slope and only_there else 0)
        return directions.pop() if len(directions) == 1 else 0

    def _bounded(self, condition: Condition, directions: dict[Expr, int]) -> tuple[Expr, Expr] | None:
        """The one end whose growing a condition limits, and its limit; None if it limits none, or not one alone."""
        if not isinstance(condition, NonNegative):
            return None
        limited: list[tuple[Expr, Limit]] = []
        for end in self.free:
            if end not in symbols(condition):
                continue
            limit = limit_of(condition, end, self.known)
            if limit is None:
                return None
            if limit.side is (Side.AT_LEAST if directions[end] < 0 else Side.AT_MOST):
                limited.append((end, limit))
        if len(limited) != 1:
            return None
        end, limit = limited[0]
        return end, limit.value

    def _rounded(self, end: Expr, limit: Expr, direction: int) -> Expr:
        """The first value from a limit on, away from where the end grows to, that leaves the remainder asked for."""
        for condition in self.conditions:
            found = remainder_of(condition, end)
            if found is None:
                continue
            offset, divisor = found
            others = symbols(offset) | symbols(divisor)
            if others.isdisjoint(self.grows) and at_least(divisor, 1, self.known):
                if direction < 0:
                    limit = -((-limit - offset) // divisor * divisor) - offset
                else:
                    limit = (limit + offset) // divisor * divisor - offset
        return limit

    def _ordered(self, values: dict[Expr, Expr]) -> Following:
        """Those that can be evaluated, each after the ends that it names."""
        unknown = {*self.grows}
        ordered: dict[Expr, Expr] = {}
        while True:
            ready = [
                end
                for end, value in values.items()
                if end not in ordered and all(s in ordered for s in symbols(value) if s in unknown)
            ]
            if not ready:
                return Following(tuple(ordered.items()), tuple(end for end in self.grows if end not in ordered))
            ordered.update((end, values[end]) for end in ready)
