"""The independent solver: conditions as z3 formulas, and random questions about sums."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import attrs
import z3

from slinky.symbolic.expressions import (
    And,
    Condition,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Select,
    Sum,
    Truth,
    Variable,
    linear_sum,
    metadata,
    nonnegative,
    variable,
)
from slinky.symbolic.traversal import fold, symbols


def formula(node: Node) -> Any:
    """A node as z3 integers and booleans. Divisors must be positive."""
    return fold(node, _formula, {})


def _formula(node: Node, parts: list[Any]) -> Any:
    match node:
        case Constant(value=number):
            return z3.IntVal(number)
        case Truth(value=truth):
            return z3.BoolVal(truth)
        case Variable(name=name):
            return z3.Int(f"{type(node).__name__} {name}")
        case Metadata(buffer=buffer, dim=dim, field=field):
            return z3.Int(f"{buffer} {dim} {field}")
        case Sum(constant=offset, terms=terms):
            return offset + sum(c * part for part, (_, c) in zip(parts, terms, strict=True))
        case Product():
            result = parts[0]
            for part in parts[1:]:
                result = result * part
            return result
        case FloorDivide():
            return parts[0] / parts[1]
        case Min() | Max():
            result = parts[0]
            for part in parts[1:]:
                result = z3.If((result < part) == isinstance(node, Min), result, part)
            return result
        case Select():
            return z3.If(parts[0], parts[1], parts[2])
        case NonNegative():
            return parts[0] >= 0
        case IsZero():
            return parts[0] == 0
        case And():
            return z3.And(*parts)
        case Or():
            return z3.Or(*parts)
    raise TypeError(node)


def meaning(nodes: Iterable[Node]) -> list[Any]:
    """What every assignment keeps: extents are at least 0, fold factors at least 1."""
    found: list[Any] = []
    for symbol in {symbol for node in nodes for symbol in symbols(node)}:
        if isinstance(symbol, Metadata) and symbol.field == "fold_factor":
            found.append(formula(symbol) >= 1)
        elif isinstance(symbol, Metadata):
            found.append(formula(metadata(symbol.buffer, symbol.dim, "extent")) >= 0)
    return found


def counterexample(goal: Condition, given: Iterable[Condition], timeout: int = 300) -> z3.ModelRef | None:
    """Integers that meet the facts but not the goal; None if there are none or z3 does not know."""
    solver = z3.Solver()
    solver.set("timeout", timeout)
    given = list(given)
    solver.add(*map(formula, given), *meaning([goal, *given]), z3.Not(formula(goal)))
    return solver.model() if solver.check() == z3.sat else None


@attrs.frozen
class Question:
    """A goal on sums that holds over the integers; whether it holds over the reals, too."""

    goal: Condition
    too_much: Condition
    facts: tuple[Condition, ...]
    over_reals: bool


def affine_questions(count: int, seed: int) -> Iterable[Question]:
    """Random boxes and affine facts over up to six variables, with the tightest goal that holds."""
    draw = random.Random(seed)
    while count:
        question = _affine_question(draw)
        if question is not None:
            count -= 1
            yield question


def _affine_question(draw: random.Random) -> Question | None:
    names = [variable(name) for name in "abcdef"[: draw.randint(1, 6)]]
    given: list[Condition] = []
    for position, name in enumerate(names):
        low: Expr | int = draw.randint(-9, 9)
        high: Expr | int = low + draw.randint(0, 12)
        if position and draw.random() < 0.4:
            low = draw.choice(names[:position]) + draw.randint(-3, 3)
            high = low + draw.randint(0, 8) if draw.random() < 0.7 else high
        given += [name >= low, name <= high]
    for _ in range(draw.randint(0, 4)):
        given.append(nonnegative(_random_sum(draw, names, 3) + draw.randint(-5, 12)))
    target = _random_sum(draw, names, 5)
    least, least_real = _least(target, given, "Int"), _least(target, given, "Real")
    if least is None or least_real is None:
        return None
    return Question(target >= int(least), target >= int(least) + 1, tuple(given), least_real > least - 1)


def _random_sum(draw: random.Random, names: list[Expr], largest: int) -> Expr:
    count = draw.randint(1, min(4, len(names)))
    return linear_sum(0, [(name, draw.randint(-largest, largest)) for name in draw.sample(names, count)])


def _sum_text(expr: Expr) -> str:
    """A sum of variables as the solver reads it: much faster than its operators in Python."""
    match expr:
        case Constant(value=number):
            return str(number)
        case Variable(name=name):
            return name
        case Sum(constant=offset, terms=terms):
            return f"(+ {offset} 0 {' '.join(f'(* {c} {_sum_text(atom)})' for atom, c in terms)})"
    raise TypeError(expr)


def _least(target: Expr, given: list[Condition], kind: str) -> Any:
    """The least value of a sum of variables of this sort; None where there is none."""
    lines = [f"(declare-const {s} {kind})" for s in symbols(target) | frozenset().union(*map(symbols, given))]
    for condition in given:
        if isinstance(condition, Truth):
            if not condition.value:
                return None
            continue
        assert isinstance(condition, NonNegative)
        lines.append(f"(assert (>= {_sum_text(condition.expr)} 0))")
    optimizer = z3.Optimize()
    optimizer.from_string("\n".join([*lines, f"(minimize {_sum_text(target)})"]))
    if optimizer.check() != z3.sat:
        return None
    bound = z3.OptimizeObjective(optimizer, 0, is_max=False).lower()
    if isinstance(bound, (z3.RatNumRef, z3.IntNumRef)):
        return bound.as_fraction() if isinstance(bound, z3.RatNumRef) else bound.as_long()
    return None
