"""Whatever is built, substituted, simplified, bounded or proved keeps its meaning: brute force over assignments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.comparing import at_most, told_at_most
from slinky.symbolic.expressions import Expr, Max, Min, Select, children, maximum, minimum, variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import facts, prove
from slinky.symbolic.traversal import evaluate, substitute

from .generators import (
    ASSIGNMENTS,
    COLUMNS,
    SYMBOLS,
    VARIABLES,
    Tree,
    affine,
    build,
    by_symbol,
    column,
    condition_of,
    conditions,
    expression_of,
    trees,
    value,
    where_all_hold,
)

BY_SYMBOL = [by_symbol(values) for values in ASSIGNMENTS]
SAMPLE = list(zip(ASSIGNMENTS, BY_SYMBOL, strict=True))[::13]
ALWAYS = facts(SYMBOLS["s"] >= 1, SYMBOLS["t"] >= 1)


def assert_nowhere(wrong: Any) -> None:
    """No assignment shows that something is wrong."""
    assert not wrong.any(), ASSIGNMENTS[int(wrong.argmax())]


@settings(max_examples=settings().max_examples * 8)
@given(trees)
def test_construction_keeps_the_value(tree: Tree) -> None:
    expr = expression_of(tree)
    for values, symbol_values in SAMPLE:
        assert evaluate(expr, symbol_values) == value(tree, values), (str(expr), values)


@settings(max_examples=settings().max_examples * 3)
@given(conditions)
def test_conditions_keep_their_truth(tree: Tree) -> None:
    condition = condition_of(tree)
    for values, symbol_values in SAMPLE:
        assert evaluate(condition, symbol_values) == value(tree, values), (str(condition), values)
        assert evaluate(~condition, symbol_values) == (not value(tree, values)), (str(~condition), values)


@settings(max_examples=settings().max_examples * 4)
@given(trees, st.dictionaries(st.sampled_from(VARIABLES), affine, min_size=1, max_size=3))
def test_substitution_keeps_the_value(tree: Tree, replaced: dict[str, Tree]) -> None:
    expr = expression_of(tree)
    result = substitute(expr, {SYMBOLS[name]: expression_of(by) for name, by in replaced.items()})
    for values, symbol_values in SAMPLE:
        inner = {**values, **{name: value(by, values) for name, by in replaced.items()}}
        assert evaluate(result, symbol_values) == value(tree, inner), (str(expr), str(result), values)


@settings(max_examples=settings().max_examples * 3)
@given(trees, st.lists(conditions, max_size=3))
@example(
    ("divide", ("negative", ("symbol", "s")), ("max", ("add", ("symbol", "s"), ("constant", 1)), ("constant", 1))), []
)
@example(
    (
        "select",
        (
            "le",
            ("symbol", "b.fold_factor"),
            (
                "divide",
                ("select", ("le", ("symbol", "x"), ("symbol", "y")), ("symbol", "x"), ("constant", 0)),
                ("max", ("negative", ("symbol", "b.fold_factor")), ("constant", 1)),
            ),
        ),
        ("symbol", "x"),
        ("symbol", "y"),
    ),
    [],
)
def test_simplify_keeps_the_value_and_is_idempotent(tree: Tree, given_facts: list[Tree]) -> None:
    expr, known = expression_of(tree), ALWAYS.also(*map(condition_of, given_facts))
    result = simplify(expr, known)
    for values, symbol_values in SAMPLE:
        if all(value(fact, values) for fact in given_facts):
            assert evaluate(result, symbol_values) == value(tree, values), (str(expr), str(result), values)
    assert simplify(result, known) is result


@settings(max_examples=settings().max_examples * 3)
@given(trees, st.lists(conditions, max_size=2), affine, affine)
def test_bounds_contain_every_value(tree: Tree, given_facts: list[Tree], low: Tree, high: Tree) -> None:
    expr, known = expression_of(tree), ALWAYS.also(*map(condition_of, given_facts))
    no_x = {SYMBOLS["x"]: SYMBOLS["y"]}
    lo, hi = (substitute(expression_of(end), no_x) for end in (low, high))
    found = bounds(expr, {SYMBOLS["x"]: Interval(lo, hi)}, known)
    for values, symbol_values in SAMPLE:
        inside = evaluate(lo, symbol_values) <= values["x"] <= evaluate(hi, symbol_values)
        if inside and all(value(fact, values) for fact in given_facts):
            got = value(tree, values)
            assert evaluate(found.min, symbol_values) <= got <= evaluate(found.max, symbol_values), (found, values)


@settings(max_examples=settings().max_examples * 7)
@given(conditions, st.lists(conditions, max_size=4))
def test_what_is_proved_holds(goal: Tree, given_facts: list[Tree]) -> None:
    known = ALWAYS.also(*map(condition_of, given_facts))
    if prove(condition_of(goal), known):
        assert_nowhere(where_all_hold(given_facts, COLUMNS) & np.logical_not(column(goal, COLUMNS)))


@settings(max_examples=settings().max_examples * 7)
@given(conditions, trees, st.lists(conditions, max_size=3), st.lists(conditions, max_size=2))
def test_what_is_proved_with_a_name_holds(goal: Tree, named: Tree, before: list[Tree], after: list[Tree]) -> None:
    """In what is asked, and in facts that come later, x is a name for an expression of the other symbols."""
    name = {SYMBOLS["x"]: variable("name")}
    expr = substitute(expression_of(named), {SYMBOLS["x"]: SYMBOLS["y"]})
    known = ALWAYS.also(*map(condition_of, before)).naming(variable("name"), expr)
    known = known.also(*(substitute(condition_of(fact), name) for fact in after))
    if prove(substitute(condition_of(goal), name), known):
        inner = {**COLUMNS, "x": COLUMNS["x"] * 0 + column(named, {**COLUMNS, "x": COLUMNS["y"]})}
        meets = where_all_hold(before, COLUMNS) & where_all_hold(after, inner)
        assert_nowhere(meets & np.logical_not(column(goal, inner)))


@settings(max_examples=settings().max_examples * 7)
@given(trees, trees, st.lists(conditions, max_size=3))
def test_what_is_found_at_a_glance_holds(a: Tree, b: Tree, given_facts: list[Tree]) -> None:
    known = ALWAYS.also(*map(condition_of, given_facts))
    for low, high in ((a, b), (b, a)):
        ends = expression_of(low), expression_of(high)
        if at_most(*ends, known) or told_at_most(*ends, known):
            assert_nowhere(where_all_hold(given_facts, COLUMNS) & (column(low, COLUMNS) > column(high, COLUMNS)))


@settings(max_examples=settings().max_examples * 3)
@given(trees, affine, st.lists(conditions, max_size=2))
def test_an_extremum_is_found_to_bound_its_operands(tree: Tree, other: Tree, given_facts: list[Tree]) -> None:
    known = ALWAYS.also(*map(condition_of, given_facts))
    e, f = expression_of(tree), expression_of(other)
    for operand in (e, f):
        assert at_most(minimum(e, f), operand, known) or not_flat(e, f)
        assert at_most(operand, maximum(e, f), known) or not_flat(e, f)


@pytest.mark.parametrize("gone", [None, 0, 1, 2, 3])
def test_of_choices_single_facts_tell_about_each_pair(gone: int | None) -> None:
    a, b, c, d = map(variable, "abcd")
    pairs = [(a, c), (a, d), (b, c), (b, d)]
    known = facts(*(low <= high for k, (low, high) in enumerate(pairs) if k != gone))
    assert told_at_most(maximum(a, b), minimum(c, d), known) == (gone is None)
    assert told_at_most(minimum(a, b), maximum(c, d), known)
    assert told_at_most(minimum(a, b), minimum(c, d), known)
    assert told_at_most(maximum(a, b), maximum(c, d), known)
    assert not told_at_most(minimum(c, d), maximum(a, b), known)


def test_a_fact_tells_no_more_than_it_says() -> None:
    y, outer = variable("y"), variable("outer")
    for low, high in ((y, outer), (outer, y)):
        known = facts(low <= high + 120)
        assert told_at_most(low + 7, high + 127, known)
        assert not told_at_most(low + 7, high + 126, known)
        assert not told_at_most(high, low + 120, known)


def not_flat(*exprs: Expr) -> bool:
    """Whether choices stand inside, of which a short look need not see the bottom."""
    return any(isinstance(node, (Min, Max, Select)) for e in exprs for node in (e, *children(e)))


class _Dimensions:
    def __init__(self, values: dict[str, int]) -> None:
        self.values = values

    def dim(self, position: int) -> Any:
        assert position == 0
        return type("Dimension", (), {name: self.values[f"b.{name}"] for name in ("min", "max", "fold_factor")})


@settings(max_examples=settings().max_examples * 3)
@given(st.one_of(trees, conditions))
def test_printed_text_means_the_same(tree: Tree) -> None:
    built = build(tree)
    code = compile(str(built), "printed", "eval")
    for values, _ in SAMPLE[::3]:
        names = {**values, "b": _Dimensions(values), "min": min, "max": max, "select": _select}
        assert eval(code, names) == value(tree, values), (str(built), values)


def _select(condition: bool, then: int, otherwise: int) -> int:
    return then if condition else otherwise
