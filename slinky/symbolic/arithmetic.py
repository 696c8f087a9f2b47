"""The constructors of expressions. Each returns the canonical form, so most simplification is construction.

Invariants.

* A `Sum` is a constant plus integer multiples of atoms, sorted by `order_key`, no coefficient zero, and not
  just one atom with coefficient one. An atom is anything but a `Sum` or a `Constant`.
* A sum does not hold exactly one *choice* (`Min`, `Max`, `Select`): the rest moves into the choice's operands, so
  that `min(y, n) - y` becomes `min(0, n - y)` and cancels by itself. A choice between more than `WIDEST` cases is
  left alone, here and in divisions and comparisons: the cost of a step is bounded, and so is its depth. Atoms heavier
  than `HEAVIEST_MOVED` stay outside the choice, for each operand would hold a copy: what is written grows with what
  it is built of, and not with a power of the depth.
* `x % d` is `x - d * (x // d)` and `extent` is `max - min + 1`: one word for each idea.
* In `n // d` with a constant `d`: `d > 0`, the first coefficient of `n` is positive, nothing in `n` is a multiple
  of `d`, and the coefficients share no divisor with `d`.
* `Min` and `Max` are flat, sorted, and of no two operands is one the smaller by their constants or `remainders` alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from slinky.errors import cited
from slinky.symbolic.nodes import (
    Condition,
    Constant,
    Expr,
    ExprLike,
    FloorDivide,
    Max,
    Metadata,
    Min,
    Product,
    Scalar,
    Select,
    Sum,
    Truth,
    Variable,
    as_expr,
    constant,
    constant_value,
    intern,
)
from slinky.symbolic.order import order_key, weight
from slinky.symbolic.remainders import between

Terms: TypeAlias = tuple[tuple[Expr, int], ...]

_MOST_COMPARED = 8
"""Of wider minima and maxima, the operands are not compared by their remainders: that would take too long."""

METADATA_FIELDS = ("min", "max", "extent", "stride", "fold_factor", "domain_min", "domain_max")

WIDEST = 64
"""The largest number of cases of a choice that the constructors still look into."""

HEAVIEST_MOVED = 100
"""The largest weight of an atom that moves into the operands of a choice."""


def metadata(buffer: str, dim: int, field: str) -> Expr:
    """One of `METADATA_FIELDS` of a dimension of a buffer; `extent` is `max - min + 1`."""
    if field == "extent":
        return intern(Metadata, buffer, dim, "max") - intern(Metadata, buffer, dim, "min") + 1
    return intern(Metadata, buffer, dim, field)


# ----------------------------------------------------------------------------------------------------------------
# Sums and products
# ----------------------------------------------------------------------------------------------------------------

_CHOICES = frozenset((Min, Max, Select))


def linear(expr: Expr) -> tuple[int, Terms]:
    """An expression as a constant and (atom, coefficient) terms."""
    kind = type(expr)
    if kind is Sum:
        return expr.constant, expr.terms  # type: ignore[attr-defined]
    if kind is Constant:
        return expr.value, ()  # type: ignore[attr-defined]
    return 0, ((expr, 1),)


def linear_sum(offset: int, terms: Iterable[tuple[Expr, int]]) -> Expr:
    """The canonical sum of an integer and (expression, coefficient) terms; the expressions need not be atoms."""
    coefficients: dict[Expr, int] = {}
    for expr, factor in terms:
        kind = type(expr)
        if kind is Sum:
            offset += factor * expr.constant  # type: ignore[attr-defined]
            for atom, coefficient in expr.terms:  # type: ignore[attr-defined]
                coefficients[atom] = coefficients.get(atom, 0) + factor * coefficient
        elif kind is Constant:
            offset += factor * expr.value  # type: ignore[attr-defined]
        else:
            coefficients[expr] = coefficients.get(expr, 0) + factor
    return _sum(offset, coefficients)


def _term_key(term: tuple[Expr, int]) -> tuple[int, str]:
    return term[0]._order or order_key(term[0])


def _sum(offset: int, coefficients: Mapping[Expr, int]) -> Expr:
    """The canonical sum, given one coefficient per atom."""
    return sum_of(offset, [term for term in coefficients.items() if term[1]])


def sum_of(offset: int, terms: Sequence[tuple[Expr, int]]) -> Expr:
    """The canonical sum of an integer and multiples of different atoms, none of them zero."""
    if not terms:
        return constant(offset)
    if len(terms) == 1:
        if offset == 0 and terms[0][1] == 1:
            return terms[0][0]
    elif len(terms) == 2:
        a, b = terms
        if (a[0]._order or order_key(a[0])) > (b[0]._order or order_key(b[0])):
            terms = (b, a)
    else:
        terms = sorted(terms, key=_term_key)
    last = terms[-1][0]  # choices come last
    if type(last) in _CHOICES and last._spread <= WIDEST:  # type: ignore[attr-defined]
        if len(terms) == 1 or type(terms[-2][0]) not in _CHOICES:
            heavy = [term for term in terms[:-1] if type(term[0]) not in SYMBOLS and _is_heavy(term[0])]
            return _push_around(terms, offset, heavy) if heavy else _push(terms[-1], offset, terms[:-1])
    return intern(Sum, offset, tuple(terms))


SYMBOLS = frozenset((Metadata, Variable, Scalar))
"""What has a value of its own."""


def of_symbols(terms: Terms) -> bool:
    """Whether terms are multiples of symbols, all of them."""
    for atom, _ in terms:  # noqa: SIM110  # written out: this is asked of every sum
        if type(atom) not in SYMBOLS:
            return False
    return True


def _is_heavy(atom: Expr) -> bool:
    return (atom._weight or weight(atom)) > HEAVIEST_MOVED


def _push_around(terms: Sequence[tuple[Expr, int]], offset: int, heavy: list[tuple[Expr, int]]) -> Expr:
    """Move into the only choice of a sum, its last term, what is not heavy."""
    choice, light = terms[-1], [term for term in terms[:-1] if term not in heavy]
    if not light and not offset and choice[1] == 1:
        return intern(Sum, 0, tuple(terms))
    return linear_sum(0, [*heavy, (_push(choice, offset, light), 1)])


def _push(choice: tuple[Expr, int], offset: int, rest: Sequence[tuple[Expr, int]]) -> Expr:
    """Move the rest of a sum into the operands of its only choice."""
    atom, factor = choice
    if not rest and factor == 1 and (shifted := _shifted(atom, offset)) is not None:
        return shifted

    def moved(operand: Expr) -> Expr:
        return linear_sum(offset, [(operand, factor), *rest])

    if isinstance(atom, Select):
        return select(atom.condition, moved(atom.then), moved(atom.otherwise))
    assert isinstance(atom, (Min, Max))
    smallest = isinstance(atom, Min) == (factor > 0)
    return (minimum if smallest else maximum)(*map(moved, atom.operands))


@lru_cache(maxsize=16384)
def _shifted(choice: Expr, offset: int) -> Expr | None:
    """A minimum or maximum of sums of symbols, plus an integer. None of any other choice.

    These differ by as much as before, so none of them is decided that was not, and only their order may be another.
    """
    if not isinstance(choice, (Min, Max)):
        return None
    for operand in choice.operands:
        if not of_symbols(linear(operand)[1]):
            return None
    moved = sorted([plus(operand, offset) for operand in choice.operands], key=order_key)
    return _with_spread(intern(type(choice), tuple(moved)), moved)


def plus(a: Expr, offset: int) -> Expr:
    """`a + offset` for an integer."""
    kind = type(a)
    if kind is Sum:
        offset += a.constant  # type: ignore[attr-defined]
        terms: Terms = a.terms  # type: ignore[attr-defined]
        if offset == 0 and len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        if type(terms[-1][0]) in _CHOICES:
            return _sum(offset, dict(terms))
        return intern(Sum, offset, terms)
    if kind is Constant:
        return constant(offset + a.value)  # type: ignore[attr-defined]
    if offset == 0:
        return a
    if kind in _CHOICES:
        return _sum(offset, {a: 1})
    return intern(Sum, offset, ((a, 1),))


def add(a: Expr, b: Expr, factor: int = 1) -> Expr:
    """`a + factor * b`."""
    kind = type(b)
    if kind is Constant:
        return plus(a, factor * b.value)  # type: ignore[attr-defined]
    offset, a_terms = linear(a)
    coefficients = dict(a_terms)
    if kind is Sum:
        offset += factor * b.constant  # type: ignore[attr-defined]
        for atom, coefficient in b.terms:  # type: ignore[attr-defined]
            coefficients[atom] = coefficients.get(atom, 0) + factor * coefficient
    else:
        coefficients[b] = coefficients.get(b, 0) + factor
    return _sum(offset, coefficients)


@lru_cache(maxsize=16384)
def difference(a: Expr, b: Expr) -> tuple[int, Terms]:
    """`a - b` as a constant and terms, in the order of those of a sum: facts are looked up by them. A choice that is
    all of `a` or of `b` counts as one atom."""
    a_offset, a_terms = linear(a)
    b_offset, b_terms = linear(b)
    coefficients = dict(a_terms)
    for atom, c in b_terms:
        coefficients[atom] = coefficients.get(atom, 0) - c
    terms = [term for term in coefficients.items() if term[1]]
    if len(terms) > 1:
        _sort(terms)
    return a_offset - b_offset, tuple(terms)


def times(a: tuple[int, Terms], b: tuple[int, Terms]) -> tuple[int, Terms]:
    """The product of two sums of atoms, as `difference` gives sums: choices stay the atoms that they are."""
    (a_offset, a_terms), (b_offset, b_terms) = a, b
    coefficients: dict[Expr, int] = {}
    for x, c in a_terms:
        coefficients[x] = coefficients.get(x, 0) + c * b_offset
        for y, d in b_terms:
            both = product((x, y))
            coefficients[both] = coefficients.get(both, 0) + c * d
    for y, d in b_terms:
        coefficients[y] = coefficients.get(y, 0) + d * a_offset
    terms = [term for term in coefficients.items() if term[1]]
    if len(terms) > 1:
        _sort(terms)
    return a_offset * b_offset, tuple(terms)


def _sort(terms: list[tuple[Expr, int]]) -> None:
    """Put terms into the order that they have in a sum."""
    if len(terms) > 2:
        terms.sort(key=_term_key)
    elif (terms[0][0]._order or order_key(terms[0][0])) > (terms[1][0]._order or order_key(terms[1][0])):
        terms.reverse()


def scale(expr: Expr, factor: int) -> Expr:
    """`factor * expr` for an integer factor."""
    if factor == 1:
        return expr
    offset, terms = linear(expr)
    return _sum(factor * offset, {atom: factor * c for atom, c in terms})


def product(factors: Iterable[Expr]) -> Expr:
    """The product of atoms."""
    flat: list[Expr] = []
    for factor in factors:
        flat.extend(factor.factors if type(factor) is Product else (factor,))
    return flat[0] if len(flat) == 1 else intern(Product, tuple(sorted(flat, key=order_key)))


def multiply(a: Expr, b: Expr) -> Expr:
    """`a * b`, multiplied out."""
    if type(a) is Constant:
        return scale(b, a.value)
    if type(b) is Constant:
        return scale(a, b.value)
    a_offset, a_terms = linear(a)
    b_offset, b_terms = linear(b)
    terms: list[tuple[Expr, int]] = [(x, c * b_offset) for x, c in a_terms]
    terms += [(y, c * a_offset) for y, c in b_terms]
    terms += [(product((x, y)), c * d) for x, c in a_terms for y, d in b_terms]
    return linear_sum(a_offset * b_offset, terms)


# ----------------------------------------------------------------------------------------------------------------
# Floor division
# ----------------------------------------------------------------------------------------------------------------


def floor_divide(numerator: Expr, denominator: Expr) -> Expr:
    """`numerator // denominator`. A constant zero denominator raises `ZeroDivisionError`."""
    if type(denominator) is Constant:
        if denominator.value == 0:
            raise ZeroDivisionError(f"division by zero in ({numerator}) // 0")
        if denominator.value < 0:
            return _floor_divide_constant(scale(numerator, -1), -denominator.value)
        return _floor_divide_constant(numerator, denominator.value)
    quotient, rest = divide_out(numerator, denominator)
    if type(rest) is Constant and rest.value == 0:
        return quotient
    return quotient + intern(FloorDivide, rest, denominator)


def modulo(numerator: Expr, denominator: Expr) -> Expr:
    """`numerator % denominator`, written as `numerator - denominator * (numerator // denominator)`."""
    if constant_value(denominator) == 0:
        raise ZeroDivisionError(f"division by zero in ({numerator}) % 0")
    return numerator - denominator * floor_divide(numerator, denominator)


def _floor_divide_constant(numerator: Expr, d: int) -> Expr:
    if d == 1:
        return numerator
    if type(numerator) in _CHOICES and numerator._spread <= WIDEST:  # type: ignore[attr-defined]
        # Division by a positive constant is monotone, so it goes inside.
        if isinstance(numerator, Select):
            then, otherwise = numerator.then, numerator.otherwise
            return select(numerator.condition, _floor_divide_constant(then, d), _floor_divide_constant(otherwise, d))
        assert isinstance(numerator, (Min, Max))
        choose = minimum if isinstance(numerator, Min) else maximum
        return choose(*(_floor_divide_constant(operand, d) for operand in numerator.operands))
    offset, terms = linear(numerator)
    whole = [(atom, c // d) for atom, c in terms if c % d == 0]
    rest = [(atom, c) for atom, c in terms if c % d != 0]
    if not rest:
        return linear_sum(offset // d, whole)
    if rest[0][1] < 0:
        # n // d == -((d - 1 - n) // d): one form for a quotient rounded down and for one rounded up.
        flipped = _floor_divide_constant(linear_sum(d - 1 - offset, [(atom, -c) for atom, c in rest]), d)
        return linear_sum(0, [*whole, (flipped, -1)])
    whole_offset, offset = divmod(offset, d)
    divisor = math.gcd(d, *(c for _, c in rest))
    if divisor > 1:
        # The constant's own remainder cannot carry: floor((g*n + c) / (g*d)) == floor((n + c // g) / d).
        inner = _floor_divide_constant(
            linear_sum(offset // divisor, [(a, c // divisor) for a, c in rest]), d // divisor
        )
        return linear_sum(whole_offset, [*whole, (inner, 1)])
    if len(rest) == 1 and rest[0][1] == 1 and type(rest[0][0]) is FloorDivide:
        inner_atom = rest[0][0]
        inner_d = constant_value(inner_atom.denominator)
        if inner_d is not None:
            # (n // a + c) // b == (n + a * c) // (a * b)
            nested = _floor_divide_constant(inner_atom.numerator + inner_d * offset, inner_d * d)
            return linear_sum(whole_offset, [*whole, (nested, 1)])
    atom = intern(FloorDivide, linear_sum(offset, rest), constant(d))
    return linear_sum(whole_offset, [*whole, (atom, 1)])


def divide_out(numerator: Expr, denominator: Expr) -> tuple[Expr, Expr]:
    """Write `numerator` as `quotient * denominator + rest`: take out the plain multiples of a symbolic denominator."""
    _, terms = linear(denominator)
    lead, lead_factor = terms[0]
    lead_factors = lead.factors if type(lead) is Product else (lead,)
    quotient: list[tuple[Expr, int]] = []
    for atom, c in linear(numerator)[1]:
        remaining = list(atom.factors if type(atom) is Product else (atom,))
        try:
            for factor in lead_factors:
                remaining.remove(factor)
        except ValueError:
            continue
        if c % lead_factor == 0:
            quotient.append((product(remaining) if remaining else constant(1), c // lead_factor))
    if not quotient:
        return constant(0), numerator
    whole = linear_sum(0, quotient)
    rest = numerator - whole * denominator
    if len(linear(rest)[1]) >= len(linear(numerator)[1]) and type(denominator) is Sum:
        return constant(0), numerator
    return whole, rest


# ----------------------------------------------------------------------------------------------------------------
# Choices
# ----------------------------------------------------------------------------------------------------------------


def minimum(*operands: ExprLike) -> Expr:
    """The smallest of one or more operands."""
    return _extremum(Min, tuple(map(as_expr, operands)))


def maximum(*operands: ExprLike) -> Expr:
    """The largest of one or more operands."""
    return _extremum(Max, tuple(map(as_expr, operands)))


def select(condition: Condition, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where the condition holds, else `otherwise`."""
    if not isinstance(condition, Condition):
        raise TypeError(f"select() expects a condition such as y <= 3, got {cited(condition)}")
    a, b = as_expr(then), as_expr(otherwise)
    if isinstance(condition, Truth):
        return a if condition.value else b
    return a if a is b else _with_spread(intern(Select, condition, a, b), (a, b))


@lru_cache(maxsize=16384)
def _extremum(kind: type[Min] | type[Max], operands: tuple[Expr, ...]) -> Expr:
    if not operands:
        raise TypeError(f"{kind.__name__.lower()}imum() needs at least one operand")
    flat: list[Expr] = []
    best: dict[Terms, int] = {}
    are_plain = True
    smallest = kind is Min
    for operand in operands:
        for expr in operand.operands if type(operand) is kind else (operand,):
            flat.append(expr)
            offset, terms = linear(expr)
            known = best.get(terms)
            if known is None or (offset < known if smallest else offset > known):
                best[terms] = offset
            are_plain = are_plain and of_symbols(terms)
    kept = [sum_of(offset, terms) for terms, offset in best.items()] if len(best) < len(flat) else flat
    if len(kept) > 1:
        kept.sort(key=order_key)
        if not are_plain:
            kept = _without_decided(kind, _absorb(kind, kept))
    if len(kept) == 1:
        return kept[0]
    return _with_spread(intern(kind, tuple(kept)), kept)


def _absorb(kind: type[Min] | type[Max], operands: list[Expr]) -> list[Expr]:
    """Drop `max(a, b)` from a minimum that also holds `a`, and the mirror image."""
    opposite = Max if kind is Min else Min
    if all(type(e) is not opposite for e in operands):
        return operands
    present = set(operands)
    return [e for e in operands if not (isinstance(e, opposite) and not present.isdisjoint(e.operands))]


def _without_decided(kind: type[Min] | type[Max], operands: list[Expr]) -> list[Expr]:
    """Drop what is never smaller than another operand of a minimum by remainders alone; of a maximum, never larger."""
    if len(operands) < 2:
        return operands
    quotients = [e for e in operands if _has_quotient(e)]
    if not quotients or len(operands) > _MOST_COMPARED:
        return operands
    dropped: set[Expr] = set()
    for e in quotients:
        for other in operands:
            if other is e or other in dropped or e in dropped:
                continue
            range_ = between(*difference(e, other))
            if range_ is None:
                continue
            at_least, at_most = range_ if kind is Min else (-range_[1], -range_[0])
            if at_least >= 0:
                dropped.add(e)
            elif at_most <= 0:
                dropped.add(other)
    return [e for e in operands if e not in dropped] if dropped else operands


def _has_quotient(expr: Expr) -> bool:
    return any(type(atom) is FloorDivide for atom, _ in linear(expr)[1])


def spread(expr: Expr) -> int:
    """How many cases an expression falls into when the choices in its sums are written out."""
    kind = type(expr)
    if kind in _CHOICES:
        return expr._spread  # type: ignore[attr-defined, no-any-return]
    if kind is Sum:
        return math.prod(atom._spread for atom, _ in expr.terms if type(atom) in _CHOICES)  # type: ignore[attr-defined]
    return 1


def _with_spread(choice: Expr, operands: Iterable[Expr]) -> Expr:
    if choice._spread == 0:  # type: ignore[attr-defined]
        object.__setattr__(choice, "_spread", min(sum(map(spread, operands)), 1 << 20))
    return choice
