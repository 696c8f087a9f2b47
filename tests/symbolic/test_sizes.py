"""What is written grows with what it is built of, and what is searched is bounded: sizes and counts, never seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from slinky.symbolic import arithmetic, conditions, text
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.expressions import Expr, equal, maximum, minimum, scalar, select, variable
from slinky.symbolic.facts import Facts, facts
from slinky.symbolic.intervals import interval
from slinky.symbolic.order import weight
from slinky.symbolic.patience import limited_patience
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import evaluate, substitute

from .generators import ASSIGNMENTS, Tree, by_symbol, expression_of, trees, value
from .generators import conditions as condition_trees

x, y, z, w = (variable(name) for name in "xyzw")

_ONCE: dict[str, Callable[[Expr, int], Expr]] = {
    "a sum with a choice": lambda e, k: minimum(x, k) + (e + y) // 3,
    "a select by a comparison": lambda e, k: select(e <= y, z, w + k),
    "a select by an equation": lambda e, k: select(equal(e, y), z, minimum(w, k)),
    "a select and a quotient": lambda e, k: select(e // 2 <= y, z, w + k) + y // (k + 2),
    "a quotient by a symbol": lambda e, k: minimum(e // z, x) + maximum(y, k) // z,
}
"""Steps that use what they are built on once, so that what is written should grow by as much at each step."""

_TWICE: dict[str, Callable[[Expr, int], Expr]] = {
    "halved and clamped": lambda e, k: maximum(e, -k) // 2 + minimum(e, k),
    "clamped from both sides": lambda e, k: maximum(e, -k) // 2 + minimum(e, k) if k % 2 else maximum(e + k, 3) + e,
    "a product": lambda e, k: minimum(e * y, x + k) + e // 2,
}
"""Steps that use what they are built on twice: only names keep the text short."""


def _built(step: Callable[[Expr, int], Expr], depth: int) -> Expr:
    e: Expr = x
    for k in range(depth):
        e = step(e, k)
    return e


@pytest.mark.parametrize("name", _ONCE)
def test_what_is_used_once_is_written_as_often_at_any_depth(name: str) -> None:
    step = _ONCE[name]
    sizes = [weight(_built(step, depth)) for depth in (80, 120, 160)]
    assert sizes[0] <= 20_000
    assert sizes[2] - sizes[1] <= 1.1 * (sizes[1] - sizes[0]) + 20


@pytest.mark.parametrize("name", [*_ONCE, *_TWICE])
def test_the_text_is_as_long_as_the_expression_is_deep(name: str) -> None:
    step = {**_ONCE, **_TWICE}[name]
    lengths = [len(str(_built(step, depth))) for depth in (80, 120, 160)]
    assert lengths[2] <= 2_000 * 6 + 160 * 100
    assert lengths[2] <= 2.2 * lengths[0]


@pytest.mark.parametrize("name", [*_ONCE, *_TWICE])
def test_deep_expressions_are_worked_on_as_they_are_shared(name: str) -> None:
    """Each of these walks would never end if it met a part as often as it is written."""
    e = _built({**_ONCE, **_TWICE}[name], 40)
    values = {x: 3, y: 2, z: 5, w: 1}
    at = evaluate(e, values)
    assert evaluate(substitute(e, {x: y + 1}), {**values, x: 0}) == at
    assert evaluate(simplify(e, facts(x >= 0)), values) == at
    found = bounds(e, {x: interval(0, 5)})
    assert evaluate(found.min, values) <= at <= evaluate(found.max, values)
    assert isinstance(prove(e <= z, facts(x >= 0, z >= 1)), bool)


@settings(max_examples=settings().max_examples * 6 // 5)
@given(trees, condition_trees)
def test_where_hardly_anything_is_light_all_keeps_its_value(tree: Tree, condition: Tree) -> None:
    """What is done with heavy atoms, done with light ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arithmetic, "HEAVIEST_MOVED", 2)
        patch.setattr(conditions, "HEAVIEST_SPLIT", 6)
        arithmetic._extremum.cache_clear()
        expr, goal = expression_of(tree), expression_of(("select", condition, tree, ("constant", 1)))
        moved = expr + 3 - y
        proved = prove(goal <= expr)
        for values in ASSIGNMENTS[::17]:
            at = by_symbol(values)
            assert evaluate(expr, at) == value(tree, values)
            assert evaluate(moved, at) == value(tree, values) + 3 - values["y"]
            chosen = value(tree, values) if value(condition, values) else 1
            assert evaluate(goal, at) == chosen
            assert not proved or chosen <= value(tree, values)
    arithmetic._extremum.cache_clear()


@settings(max_examples=settings().max_examples * 6 // 5)
@given(trees)
def test_python_reads_a_text_with_names_as_the_same_expression(tree: Tree) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_LONGEST", 1)
        patch.setattr(text, "_LONGEST_REPEATED", 1)
        written = text.to_text(expression_of(tree), lambda buffer, dim: buffer)

    def chosen(condition: bool, then: int, otherwise: int) -> int:
        return then if condition else otherwise

    if " or " in written or " and " in written:
        return  # Python may leave out the part in which a name is given
    for values in ASSIGNMENTS[::17]:
        known = {name: value for name, value in values.items() if "." not in name}
        buffer = type("Buffer", (), {name.removeprefix("b."): v for name, v in values.items() if "." in name})
        try:
            read = eval(written, {"select": chosen, "min": min, "max": max, "b": buffer, **known})
        except ZeroDivisionError:
            continue  # in a branch that the expression does not take
        assert read == value(tree, values)


def test_names_of_parts_are_no_names_of_symbols() -> None:
    e = _built(_TWICE["halved and clamped"], 20)
    written = str(substitute(e, {x: variable("part1") + variable("part2")}))
    assert "part3 :=" in written
    assert "part1 :=" not in written
    assert "part2 :=" not in written


# Patience ----------------------------------------------------------------------------------------------------------

_s = scalar("s")


def _questions() -> tuple[Facts, list[Any]]:
    """Questions that take a search each."""
    known = facts(_s >= 1, x >= 0, y >= x, z >= y + _s)
    pieces = [(x // k + y // (k + 1) <= z // k + y + z) | (z <= x // (k + 2)) for k in range(2, 40)]
    return known, pieces


def _cleared(known: Facts) -> None:
    known.answers.clear()
    known.costs.clear()
    known.witnesses.clear()


def test_patience_bounds_the_searching_of_many_questions() -> None:
    known, goals = _questions()
    alone = []
    for goal in goals:
        _cleared(known)
        with limited_patience() as patience:
            prove(goal, known)
        alone.append(patience.spent)
    assert min(alone) > 0
    _cleared(known)
    limit = sum(alone) // 3
    with limited_patience(limit) as patience:
        for goal in goals:
            prove(goal, known)
    assert limit <= patience.spent <= limit + max(alone)
    assert patience.given_up > 0


def test_what_was_given_up_is_not_remembered_as_not_shown() -> None:
    known, goals = _questions()
    _cleared(known)
    with limited_patience(0):
        assert not any(prove(goal, known) for goal in goals)
        assert not any(prove(goal & (x <= z), known) for goal in goals)
    assert all(prove(goal, known) for goal in goals)
    assert all(prove(goal & (x <= z), known) for goal in goals)


def test_what_is_shown_does_not_depend_on_what_was_asked_before() -> None:
    """A remembered answer costs what it cost to find, but is paid for once."""
    known, goals = _questions()
    _cleared(known)
    with limited_patience() as first:
        found = [prove(goal, known) for goal in goals]
    limit = first.spent // 2
    with limited_patience(limit) as remembered:
        shown_remembered = [prove(goal, known) for goal in goals]
    _cleared(known)
    with limited_patience(limit):
        shown_anew = [prove(goal, known) for goal in goals]
        again = [prove(goal, known) for goal in goals]
    with limited_patience() as second:
        assert [prove(goal, known) for goal in (*goals, *goals)] == [*found, *found]
    assert second.spent == first.spent
    assert remembered.spent >= limit
    assert shown_anew == again
    assert sum(shown_anew) < sum(shown_remembered) <= sum(found) == len(goals)
