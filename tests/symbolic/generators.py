"""Random expressions for property tests: a tree that Python evaluates by itself, and the expression built from it.

A tree is a nested tuple such as `("add", ("variable", "x"), ("constant", 3))`. `value` is its meaning, written
without any help of slinky; `build` makes the expression or condition through the public operators.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from slinky.symbolic.expressions import (
    FALSE,
    TRUE,
    Expr,
    as_expr,
    equal,
    maximum,
    metadata,
    minimum,
    scalar,
    select,
    unequal,
    variable,
)

Tree = tuple[Any, ...]
Values = dict[str, int]
Columns = dict[str, Any]
"""Many assignments at once: an array for each symbol, with an element for each assignment."""

VARIABLES = ("x", "y", "z")
SCALARS = ("s", "t")  # at least 1: they serve as symbolic divisors

SYMBOLS: dict[str, Expr] = {
    **{name: variable(name) for name in VARIABLES},
    **{name: scalar(name) for name in SCALARS},
    "b.min": metadata("b", 0, "min"),
    "b.max": metadata("b", 0, "max"),
    "b.fold_factor": metadata("b", 0, "fold_factor"),
}


def value(tree: Tree, values: Values) -> int:
    """What a tree means."""
    kind, *parts = tree
    if kind == "constant":
        return parts[0]
    if kind == "symbol":
        if parts[0] == "b.extent":
            return values["b.max"] - values["b.min"] + 1
        return values[parts[0]]
    if kind == "select":
        return value(parts[1], values) if value(parts[0], values) else value(parts[2], values)
    a, *rest = (value(part, values) for part in parts)
    return _MEANING[kind](a, *rest)


_MEANING: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "negative": lambda a: -a,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a // b,
    "modulo": lambda a, b: a % b,
    "min": min,
    "max": max,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "equal": lambda a, b: a == b,
    "unequal": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
}


_MEANING_OF_COLUMNS: dict[str, Any] = {
    **_MEANING,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
}


def column(tree: Tree, columns: Columns) -> Any:
    """What a tree means for each of many assignments. No divisor may be 0 in any, chosen by a select or not."""
    kind, *parts = tree
    if kind == "constant":
        return parts[0]
    if kind == "symbol":
        return columns["b.max"] - columns["b.min"] + 1 if parts[0] == "b.extent" else columns[parts[0]]
    return _MEANING_OF_COLUMNS[kind](*(column(part, columns) for part in parts))


def where_all_hold(trees: Iterable[Tree], columns: Columns) -> Any:
    """For each assignment, whether all of these conditions hold."""
    holds = np.ones(len(columns["x"]), bool)
    for tree in trees:
        holds &= column(tree, columns)
    return holds


def build(tree: Tree) -> Any:
    """The expression or condition of a tree."""
    kind, *parts = tree
    if kind == "constant":
        return parts[0]
    if kind == "symbol":
        return metadata("b", 0, "extent") if parts[0] == "b.extent" else SYMBOLS[parts[0]]
    return _BUILD[kind](*map(build, parts))


def _condition(value: Any) -> Any:
    return (TRUE if value else FALSE) if isinstance(value, bool) else value


_BUILD: dict[str, Any] = {
    **_MEANING,
    "min": minimum,
    "max": maximum,
    "select": lambda c, a, b: select(_condition(c), a, b),
    "equal": equal,
    "unequal": unequal,
    "and": lambda a, b: _condition(a) & _condition(b),
    "or": lambda a, b: _condition(a) | _condition(b),
    "not": lambda a: ~_condition(a),
}


def small_assignments() -> Iterator[Values]:
    """All assignments of a few values to each symbol; extents are at least 0, divisors and folds at least 1."""
    for x, y, z, s, t, low, extent, fold in itertools.product(
        (-3, 0, 2), (-2, 1, 5), (-1, 4), (1, 3), (1, 2), (-2, 1), (0, 3), (1, 2)
    ):
        yield _values(x, y, z, s, t, low, extent, fold)


def random_assignments(count: int, seed: int) -> Iterator[Values]:
    """Assignments drawn at random from a wider range."""
    draw = random.Random(seed).randint
    for _ in range(count):
        span = draw(1, 12)
        x, y, z = (draw(-span, span) for _ in range(3))
        yield _values(x, y, z, draw(1, 5), draw(1, 5), draw(-span, span), draw(0, 6), draw(1, 4))


def _values(x: int, y: int, z: int, s: int, t: int, low: int, extent: int, fold: int) -> Values:
    return {
        "x": x, "y": y, "z": z, "s": s, "t": t, "b.min": low, "b.max": low + extent - 1, "b.fold_factor": fold,
    }  # fmt: skip


ASSIGNMENTS = [*small_assignments(), *random_assignments(300, seed=7)]
COLUMNS: Columns = {name: np.array([values[name] for values in ASSIGNMENTS]) for name in ASSIGNMENTS[0]}


def by_symbol(values: Values) -> dict[Expr, int]:
    """An assignment for `evaluate`."""
    return {SYMBOLS[name]: v for name, v in values.items()}


# ----------------------------------------------------------------------------------------------------------------
# Strategies
# ----------------------------------------------------------------------------------------------------------------

_leaf = st.one_of(
    st.sampled_from([("symbol", name) for name in (*VARIABLES, *VARIABLES, *SYMBOLS, "b.extent")]),
    st.integers(-6, 6).map(lambda n: ("constant", n)),
)
_divisor = st.sampled_from([n for n in range(-5, 9) if n != 0]).map(lambda n: ("constant", n))


def _positive(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    """Trees that are at least 1 wherever the scalars are."""
    s, t = ("symbol", "s"), ("symbol", "t")
    return st.one_of(
        st.sampled_from([s, t, ("multiply", s, t), ("add", s, t), ("multiply", ("constant", 3), s)]),
        st.sampled_from([("add", ("multiply", ("constant", 2), s), ("constant", 1)), ("symbol", "b.fold_factor")]),
        inner.map(lambda tree: ("max", tree, ("constant", 1))),
    )


def _comparison(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.tuples(st.sampled_from(["le", "lt", "ge", "gt", "equal", "unequal"]), inner, inner).filter(
        lambda tree: not (tree[1][0] == tree[2][0] == "constant")
    )


def _logic(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.just("not"), inner),
    )


def _conditions(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.recursive(_comparison(inner), _logic, max_leaves=3)


def _larger(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    number = st.integers(-4, 5).map(lambda n: ("constant", n))
    return st.one_of(
        st.tuples(st.sampled_from(["add", "subtract"]), inner, inner),
        st.tuples(st.just("negative"), inner),
        st.tuples(st.just("multiply"), number, inner),
        st.tuples(st.just("multiply"), inner, inner),
        st.tuples(st.sampled_from(["divide", "modulo"]), inner, _divisor),
        st.tuples(st.sampled_from(["divide", "modulo"]), inner, _positive(inner)),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner),
        st.tuples(st.just("select"), _comparison(inner), inner, inner),
    )


trees = st.recursive(_leaf, _larger, max_leaves=9).filter(lambda tree: "symbol" in str(tree))
"""Trees of integers, of every kind of node."""

conditions = _conditions(st.recursive(_leaf, _larger, max_leaves=4))
"""Trees of conditions."""

affine = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "subtract"]), inner, inner),
        st.tuples(st.just("multiply"), st.integers(-4, 5).map(lambda n: ("constant", n)), inner),
    ),
    max_leaves=5,
)
"""Trees of sums and multiples alone."""


def condition_of(tree: Tree) -> Any:
    """The condition of a tree, also where Python decided it on plain integers."""
    return _condition(build(tree))


def expression_of(tree: Tree) -> Expr:
    """The expression of a tree, also where Python computed a plain integer."""
    return as_expr(build(tree))


# ----------------------------------------------------------------------------------------------------------------
# The same without hypothesis, for large numbers of questions
# ----------------------------------------------------------------------------------------------------------------

_KINDS = ("add", "subtract", "scale", "multiply", "divide", "modulo", "by symbol", "min", "max", "select", "leaf")


def random_tree(draw: random.Random, depth: int) -> Tree:
    """A tree of integers with at most this many levels."""
    kind = draw.choice(_KINDS) if depth else "leaf"
    if kind == "leaf":
        if draw.random() < 0.25:
            return ("constant", draw.randint(-6, 6))
        return ("symbol", draw.choice((*VARIABLES, *VARIABLES, *SYMBOLS, "b.extent")))
    inner = random_tree(draw, depth - 1)
    if kind == "scale":
        return ("multiply", ("constant", draw.randint(-4, 5)), inner)
    if kind in ("divide", "modulo"):
        return (kind, inner, ("constant", draw.choice((-4, -2, 2, 2, 3, 4, 8))))
    if kind == "by symbol":
        return (draw.choice(("divide", "modulo")), inner, ("symbol", draw.choice((*SCALARS, "b.fold_factor"))))
    if kind == "select":
        return (kind, random_comparison(draw, depth - 1), inner, random_tree(draw, depth - 1))
    return (kind, inner, random_tree(draw, depth - 1))


def random_comparison(draw: random.Random, depth: int) -> Tree:
    """A comparison of two trees, at least one of them not a constant."""
    a: Tree = ("constant", 0)
    b: Tree = a
    while a[0] == b[0] == "constant":
        a, b = random_tree(draw, depth), random_tree(draw, depth)
    return (draw.choice(("le", "lt", "ge", "gt", "equal", "unequal")), a, b)


def random_condition(draw: random.Random, depth: int) -> Tree:
    """A comparison, or a few of them combined."""
    kind = draw.choice(("compare", "compare", "compare", "and", "or", "not"))
    if kind == "compare":
        return random_comparison(draw, depth)
    if kind == "not":
        return (kind, random_condition(draw, depth - 1) if depth else random_comparison(draw, 0))
    return (kind, random_comparison(draw, depth), random_comparison(draw, depth))
