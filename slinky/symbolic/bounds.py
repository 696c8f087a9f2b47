"""Bounds of an expression while some of its symbols range over intervals.

Invariant of `bounds`: the interval returned contains every value that the expression takes while each ranging
symbol takes a value of its (not empty) interval. It is an interval of expressions over the remaining symbols.

The ends are found bottom up by interval arithmetic, which is tight where each ranging symbol stands once. For sums
in which one stands more often, three rewritings come first, and the tightest result counts. A quotient `n // d` is
`(n - remainder) / d`, so that `y - 8 * (y // 8)` is a remainder. A sum of several choices is a choice of sums, so that
`min(y + 1, n) - max(y - 1, m)` is at most 2. In the branches of a select, its condition narrows the ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from math import lcm
from typing import TypeAlias, cast

from slinky.symbolic.arithmetic import divide_out, spread
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import (
    And,
    Condition,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Min,
    Node,
    NonNegative,
    Product,
    Scalar,
    Select,
    Sum,
    children,
    constant,
    constant_value,
    floor_divide,
    linear,
    linear_sum,
    maximum,
    minimum,
    multiply,
    negate,
    product,
    scale,
    select,
)
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.lower_bounds import at_least
from slinky.symbolic.proofs import NO_FACTS, Facts, prove
from slinky.symbolic.simplification import decide as decide
from slinky.symbolic.simplification import simplify as simplify
from slinky.symbolic.traversal import fold, symbols

_Ranges: TypeAlias = Mapping[Expr, Interval]

_WIDEST_SUM = 16
"""The largest number of cases into which a sum of choices is written out."""

_REWRITINGS = 64
"""How many rewritings one question may take; where they are used up, interval arithmetic has to do."""


def bounds(expr: Expr, ranges: Mapping[Expr, Interval], known: Facts = NO_FACTS) -> Interval:
    """An interval, free of the ranging symbols, that contains every value of the expression.

    The ends of the ranges may name symbols that are also ranging; they are taken as they are, not bounded again.
    """
    return _Bounder(ranges, known, iter(range(_REWRITINGS))).bounds(expr)


class _Bounder:
    """Bounds over given ranges. The budget of rewritings is shared with the bounders that rewritings ask."""

    def __init__(self, ranges: _Ranges, known: Facts, budget: Iterator[int]) -> None:
        self.ranges = ranges
        self.names = frozenset(ranges)
        self.known = known
        self.budget = budget
        self.results: dict[Node, Interval | None] = {}

    def bounds(self, expr: Expr) -> Interval:
        if symbols(expr).isdisjoint(self.names):
            return point(expr)
        return self._plain(expr) or cast(Interval, fold(expr, self._visit, self.results, self._parts))

    def _plain(self, expr: Expr) -> Interval | None:
        """The bounds of a plain sum, or of a choice between such: what the long way finds, too."""
        kind = type(expr)
        if kind is not Min and kind is not Max:
            return self._plain_sum(expr)
        parts: list[Interval] = []
        for operand in expr.operands:  # type: ignore[attr-defined]
            part = self._plain_sum(operand)
            if part is None:
                return None
            parts.append(part)
        return self._of(expr, parts)

    def _plain_sum(self, expr: Expr) -> Interval | None:
        """The bounds of a sum whose ranging terms are ranging symbols: what the long way finds, too."""
        low: list[tuple[Expr, int]] = []
        high: list[tuple[Expr, int]] = []
        offset, terms = linear(expr)
        for atom, c in terms:
            i = self.ranges.get(atom)
            if i is not None:
                low.append((i.min if c > 0 else i.max, c))
                high.append((i.max if c > 0 else i.min, c))
            elif symbols(atom).isdisjoint(self.names):
                low.append((atom, c))
                high.append((atom, c))
            else:
                return None
        return Interval(linear_sum(offset, low), linear_sum(offset, high))

    def _parts(self, node: Node) -> tuple[Node, ...]:
        fixed = node in self.ranges or symbols(node).isdisjoint(self.names)
        return () if fixed else tuple(part for part in children(node) if isinstance(part, Expr))

    def _visit(self, node: Node, parts: list[Interval | None]) -> Interval | None:
        expr = cast(Expr, node)
        if expr in self.ranges:
            return self.ranges[expr]
        if symbols(expr).isdisjoint(self.names):
            return point(expr)
        return self._of(expr, cast("list[Interval]", parts))

    def _of(self, node: Expr, parts: list[Interval]) -> Interval:
        match node:
            case Sum():
                return self._sum(node, parts)
            case Product():
                result = parts[0]
                for part in parts[1:]:
                    result = _times(result, part, self.known)
                return result
            case FloorDivide():
                return _quotient(parts[0], parts[1], self.known)
            case Min():
                return Interval(minimum(*(part.min for part in parts)), minimum(*(part.max for part in parts)))
            case Max():
                return Interval(maximum(*(part.min for part in parts)), maximum(*(part.max for part in parts)))
            case Select(condition=condition, then=then, otherwise=otherwise):
                return self._select(condition, [then, otherwise], parts)
        raise TypeError(f"cannot bound {node!r}")

    # Sums ------------------------------------------------------------------------------------------------------

    def _sum(self, node: Sum, parts: list[Interval]) -> Interval:
        low = [(part.min if c > 0 else part.max, c) for part, (_, c) in zip(parts, node.terms, strict=True)]
        high = [(part.max if c > 0 else part.min, c) for part, (_, c) in zip(parts, node.terms, strict=True)]
        plain = Interval(linear_sum(node.constant, low), linear_sum(node.constant, high))
        rewritten = self._sum_of_choices(node) or self._sum_of_quotients(node)
        rewritten = rewritten or self._difference_of_quotients(node) or self._sum_of_products(node)
        return plain if rewritten is None else self._tighter(rewritten, plain)

    def _tighter(self, a: Interval, b: Interval) -> Interval:
        """The tighter end of two intervals that both hold; that of the first where a short look does not tell."""
        lo = b.min if self._as_free(b.min, a.min) and at_most(a.min, b.min, self.known) else a.min
        hi = b.max if self._as_free(b.max, a.max) and at_most(b.max, a.max, self.known) else a.max
        return Interval(lo, hi)

    def _as_free(self, end: Expr, other: Expr) -> bool:
        """Whether an end is free of the ranging symbols, or the other is not, either."""
        return symbols(end).isdisjoint(self.names) or not symbols(other).isdisjoint(self.names)

    def _affordable(self) -> bool:
        return next(self.budget, None) is not None

    def _again(self, expr: Expr, ranges: _Ranges | None = None) -> Interval:
        return _Bounder(self.ranges if ranges is None else ranges, self.known, self.budget).bounds(expr)

    def _sum_of_choices(self, node: Sum) -> Interval | None:
        """Bounds of a sum of several choices that range, as a choice of sums."""
        ranging = [
            term
            for term in node.terms
            if isinstance(term[0], (Min, Max, Select)) and not symbols(term[0]).isdisjoint(self.names)
        ]
        if len(ranging) < 2 or spread(node) > _WIDEST_SUM or not self._affordable():
            return None
        atom, c = ranging[0]
        rest = [term for term in node.terms if term[0] is not atom]
        operands = (atom.then, atom.otherwise) if isinstance(atom, Select) else cast(Min, atom).operands
        cases = [linear_sum(node.constant, [(operand, c), *rest]) for operand in operands]
        if isinstance(atom, Select):
            return self._select(atom.condition, cases, None)
        parts = [self._again(case) for case in cases]
        choose = minimum if isinstance(atom, Min) == (c > 0) else maximum
        return Interval(choose(*(part.min for part in parts)), choose(*(part.max for part in parts)))

    def _sum_of_quotients(self, node: Sum) -> Interval | None:
        """Bounds of a sum with quotients, if ranging symbols cancel once quotients are written as fractions."""
        quotients: list[tuple[Expr, int, FloorDivide]] = []
        for atom, c in node.terms:
            quotient = self._whole_multiple(atom)
            if quotient is not None and not symbols(quotient).isdisjoint(self.names):
                quotients.append((atom, c, quotient))
        written = {atom for atom, _, _ in quotients}
        for atoms, c, quotient in self._multiplied_out(node):
            if written.isdisjoint(atoms):
                quotients.append((quotient, c, quotient))
                written |= atoms
        if not quotients:
            return None
        # Everything times the least common multiple of the constant divisors: c*(n // d) is share*(n - remainder).
        common = lcm(*(constant_value(q.denominator) or 1 for _, _, q in quotients))
        terms: list[tuple[Expr, int]] = [(atom, c * common) for atom, c in node.terms if atom not in written]
        least: list[tuple[Expr, int]] = []
        most: list[tuple[Expr, int]] = []
        for _, c, quotient in quotients:
            share = c * (common // (constant_value(quotient.denominator) or 1))
            terms.append((quotient.numerator, share))
            (least if share > 0 else most).append((quotient.denominator - 1, -share))
        whole = linear_sum(node.constant * common, terms)
        if not (symbols(node) & self.names) - symbols(whole) or not self._affordable():
            return None
        inner = self._again(whole)
        lo, hi = linear_sum(0, [(inner.min, 1), *least]), linear_sum(0, [(inner.max, 1), *most])
        return Interval(-((-lo) // common), hi // common)

    def _difference_of_quotients(self, node: Sum) -> Interval | None:
        """Bounds of a sum in which `a // d - b // d` stands, for a fixed symbol d that is at least 1, where `a - b` is
        fixed: k, say. Then that is `k // d`, or one more if d does not divide k."""
        ranging = [(atom, c) for atom, c in node.terms if not symbols(atom).isdisjoint(self.names)]
        quotients = [(atom, c) for atom, c in ranging if isinstance(atom, FloorDivide)]
        for (a, c), (b, other) in permutations(quotients, 2):
            d, by = a.denominator, a.numerator - b.numerator
            if c < 0 or c != -other or isinstance(d, Constant) or d is not b.denominator:
                continue
            if not (symbols(d) | symbols(by)).isdisjoint(self.names) or not at_least(d, 1, self.known):
                continue
            if self._affordable():
                rest = linear_sum(node.constant, [term for term in node.terms if term[0] not in (a, b)])
                i, least, most = self._again(rest), floor_divide(by, d), floor_divide(by + d - 1, d)
                return Interval(i.min + c * least, i.max + c * most)
        return None

    def _sum_of_products(self, node: Sum) -> Interval | None:
        """Bounds of `f * part + rest`, for a fixed factor that is not negative of all terms that range."""
        ranging = [atom for atom, _ in node.terms if not symbols(atom).isdisjoint(self.names)]
        if len(ranging) < 2 or not all(isinstance(atom, Product) for atom in ranging):
            return None
        for factor in cast(Product, ranging[0]).factors:
            if symbols(factor).isdisjoint(self.names) and at_least(factor, 0, self.known):
                part, rest = divide_out(node, factor)
                if symbols(rest).isdisjoint(self.names) and self._affordable():
                    inner = self._again(part)
                    return Interval(multiply(factor, inner.min) + rest, multiply(factor, inner.max) + rest)
        return None

    def _multiplied_out(self, node: Sum) -> Iterator[tuple[set[Expr], int, FloorDivide]]:
        """The multiples of `d * (n // d)` in a sum for a fixed sum d that is at least 1, each with its terms: such a
        product is multiplied out, so that it is several of them. An extent is a sum like that."""
        found: dict[FloorDivide, dict[Expr, tuple[Expr, int]]] = {}
        for atom, c in node.terms:
            for quotient in atom.factors if isinstance(atom, Product) else (atom,):
                if isinstance(quotient, FloorDivide) and type(quotient.denominator) is Sum:
                    others = list(atom.factors) if isinstance(atom, Product) else [quotient]
                    others.remove(quotient)
                    rest = product(others) if others else constant(1)
                    found.setdefault(quotient, {})[atom] = rest, c
        for quotient, parts in found.items():
            d = quotient.denominator
            if not symbols(d).isdisjoint(self.names) or symbols(quotient).isdisjoint(self.names):
                continue
            whole = linear_sum(0, parts.values())
            lead, c = linear(d)[1][0]
            multiple = dict(linear(whole)[1]).get(lead, 0) // c
            if multiple and whole is scale(d, multiple) and at_least(d, 1, self.known):
                yield set(parts), multiple, quotient

    def _whole_multiple(self, atom: Expr) -> FloorDivide | None:
        """`n // d` if the atom is that for a constant d, or `d * (n // d)` for a fixed d that is at least 1."""
        if isinstance(atom, FloorDivide):
            return atom if isinstance(atom.denominator, Constant) else None
        for factor in atom.factors if isinstance(atom, Product) else ():
            if isinstance(factor, FloorDivide) and type(factor.denominator) is not Sum:
                d = factor.denominator
                if product((factor, d)) is atom and symbols(d).isdisjoint(self.names) and at_least(d, 1, self.known):
                    return factor
        return None

    # Selects ---------------------------------------------------------------------------------------------------

    def _select(self, condition: Condition, cases: Sequence[Expr], parts: list[Interval] | None) -> Interval:
        """Bounds of two cases under a condition; `parts` are bounds that hold without it, if they are known."""
        if not symbols(condition).isdisjoint(self.names) and self._affordable():
            narrowed = (_narrowed(self.ranges, condition), _narrowed(self.ranges, negate(condition)))
            then, otherwise = [self._again(case, ranges) for case, ranges in zip(cases, narrowed, strict=True)]
        else:
            then, otherwise = parts or [self._again(case) for case in cases]
            if symbols(condition).isdisjoint(self.names):
                return Interval(select(condition, then.min, otherwise.min), select(condition, then.max, otherwise.max))
        return Interval(
            self._one_end(then.min, otherwise.min, minimum), self._one_end(then.max, otherwise.max, maximum)
        )

    def _one_end(self, a: Expr, b: Expr, choose: Callable[[Expr, Expr], Expr]) -> Expr:
        """The smaller or larger of two ends: one of them, if the facts tell which."""
        both = choose(a, b)
        if isinstance(both, (Min, Max)):
            for end in (a, b):
                if prove(end <= both if isinstance(both, Min) else end >= both, self.known):
                    return end
        return both


def _narrowed(ranges: _Ranges, condition: Condition) -> _Ranges:
    """The ranges, as far as a condition on one ranging symbol narrows them."""
    narrowed = dict(ranges)
    for part in condition.operands if isinstance(condition, And) else (condition,):
        if not isinstance(part, (NonNegative, IsZero)):
            continue
        offset, terms = linear(part.expr)
        for atom, c in terms:
            if atom not in ranges:
                continue
            rest = linear_sum(offset, [term for term in terms if term[0] is not atom])
            if not symbols(rest).isdisjoint(ranges):
                continue
            lo, hi = narrowed[atom].min, narrowed[atom].max
            if c > 0 or isinstance(part, IsZero):
                lo = maximum(lo, -floor_divide(rest if c > 0 else -rest, linear_sum(abs(c), ())))
            if c < 0 or isinstance(part, IsZero):
                hi = minimum(hi, floor_divide(rest if c < 0 else -rest, linear_sum(abs(c), ())))
            narrowed[atom] = Interval(lo, hi)
    return narrowed


def _times(a: Interval, b: Interval, known: Facts) -> Interval:
    for x, y in ((a, b), (b, a)):
        if x.min is x.max:
            if prove(x.min >= 0, known):
                return Interval(multiply(x.min, y.min), multiply(x.min, y.max))
            if prove(x.min <= 0, known):
                return Interval(multiply(x.min, y.max), multiply(x.min, y.min))
    if prove(a.min >= 0, known) and prove(b.min >= 0, known):
        return Interval(multiply(a.min, b.min), multiply(a.max, b.max))
    corners = [multiply(x, y) for x in (a.min, a.max) for y in (b.min, b.max)]
    return Interval(minimum(*corners), maximum(*corners))


def _quotient(numerator: Interval, denominator: Interval, known: Facts) -> Interval:
    d = denominator.min
    if d is denominator.max and prove(d >= 1, known):
        return Interval(floor_divide(numerator.min, d), floor_divide(numerator.max, d))
    # A quotient by an integer that is not zero is never further from zero than the numerator.
    return Interval(minimum(numerator.min, -numerator.max), maximum(numerator.max, -numerator.min))


def upper_bound(expr: Expr, eliminated: Sequence[Expr], known: Facts = NO_FACTS) -> Expr | None:
    """The largest value of an expression while some symbols take all values that the facts allow.

    The symbols, such as the variables of loops, are eliminated one by one, innermost first; what the facts say of a
    symbol are its ranges. The result names only other symbols; None where no bound is found. Where several bounds
    hold, those made of constants and scalars alone are preferred: `min(y + 1, n) - max(y - 1, m) + 1` is at most 3.
    """
    for position, symbol in enumerate(eliminated):
        for i in (point(symbol), _range_of(symbol, eliminated[:position], known)):
            found = bounds(expr, {symbol: i}, known).max
            if symbol not in symbols(found):
                expr = found
                break
        else:
            return None
    return _of_scalars(expr)


def _range_of(symbol: Expr, gone: Sequence[Expr], known: Facts) -> Interval:
    """What the facts say of a symbol in terms of others that are not gone yet; the symbol itself for an open end."""
    lows: list[Expr] = []
    highs: list[Expr] = []
    for rows, ends in ((known.upward, lows), (known.downward, highs)):
        for offset, terms in rows.get(symbol, ()):
            rest = linear_sum(offset, [term for term in terms if term[0] is not symbol])
            if symbol not in symbols(rest) and symbols(rest).isdisjoint(gone):
                end = floor_divide(rest, linear_sum(abs(dict(terms)[symbol]), ()))
                ends.append(-end if ends is lows else end)
    return Interval(maximum(*lows) if lows else symbol, minimum(*highs) if highs else symbol)


def _of_scalars(expr: Expr) -> Expr:
    if isinstance(expr, Min):
        simple = [operand for operand in expr.operands if all(type(s) is Scalar for s in symbols(operand))]
        if simple:
            return minimum(*simple)
    return expr
