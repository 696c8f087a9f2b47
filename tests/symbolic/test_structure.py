"""Nodes: one object for equal expressions, canonical forms, and no limit of depth."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky.symbolic import nodes, traversal
from slinky.symbolic.arithmetic import WIDEST, difference, linear
from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.explanations import explain
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    Max,
    Metadata,
    Min,
    Node,
    Select,
    Sum,
    Variable,
    all_of,
    any_of,
    as_expr,
    children,
    equal,
    maximum,
    metadata,
    minimum,
    negate,
    nonnegative,
    select,
    variable,
)
from slinky.symbolic.facts import facts
from slinky.symbolic.intervals import interval
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import evaluate, substitute, symbols

from .generators import SYMBOLS, Tree, affine, build, conditions, expression_of, trees

x, y, z = variable("x"), variable("y"), variable("z")


# Canonical forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("low", [y, x + y, metadata("b", 0, "min"), x + z + 3])
@pytest.mark.parametrize("high", [z, x, y + z + 1, metadata("a", 1, "max") + 2])
def test_a_difference_has_its_terms_in_the_order_in_which_facts_are_looked_up(low: Expr, high: Expr) -> None:
    for a, b in ((low, high), (high, low)):
        offset, terms = difference(a, b)
        assert (offset, terms) == linear(a - b)
        assert facts(b <= a).tightest[terms] == offset


@pytest.mark.parametrize("choose", [minimum, maximum])
@pytest.mark.parametrize("shift", [-12, -1, 1, 9])
@pytest.mark.parametrize(
    "operands", [(y + 9, x), (x - 1, as_expr(12), y), (x // 2, x // 2 + y), (minimum(x, y), z), (maximum(x, z + 1), y)]
)
def test_a_choice_and_an_integer_is_the_choice_of_what_is_shifted(
    choose: Callable[..., Expr], shift: int, operands: tuple[Expr, ...]
) -> None:
    assert choose(*operands) + shift is choose(*(operand + shift for operand in operands))


def _coefficients(tree: Tree) -> dict[str, int]:
    """What an affine tree means, by symbol; `""` for the constant."""
    kind, *parts = tree
    if kind == "constant":
        return {"": parts[0]}
    if kind == "symbol":
        return {"b.max": 1, "b.min": -1, "": 1} if parts[0] == "b.extent" else {parts[0]: 1}
    a, b = map(_coefficients, parts)
    if kind == "multiply":
        return {name: a.get("", 0) * c for name, c in b.items()}
    sign = 1 if kind == "add" else -1
    return {name: a.get(name, 0) + sign * b.get(name, 0) for name in a | b}


@settings(max_examples=settings().max_examples * 5)
@given(affine, st.randoms(use_true_random=False))
def test_equal_affine_expressions_are_the_same_object(tree: Tree, draw: object) -> None:
    items = list(_coefficients(tree).items())
    draw.shuffle(items)  # type: ignore[attr-defined]
    rebuilt = as_expr(0)
    for name, c in items:
        rebuilt = rebuilt + c * (SYMBOLS[name] if name else as_expr(1))
    assert rebuilt is expression_of(tree)


@settings(max_examples=settings().max_examples * 3)
@given(st.one_of(trees, conditions))
def test_canonical_form_of_every_node(tree: Tree) -> None:
    built = build(tree)
    waiting: list[Node] = [built] if isinstance(built, Node) else []
    while waiting:
        node = waiting.pop()
        waiting.extend(children(node))
        if isinstance(node, Sum):
            atoms = [atom for atom, _ in node.terms]
            assert all(c != 0 for _, c in node.terms)
            assert not any(isinstance(atom, Sum) for atom in atoms)
            assert len(set(atoms)) == len(atoms) > 0
            assert node.constant or len(atoms) > 1 or node.terms[0][1] != 1
            assert sum(isinstance(atom, (Min, Max, Select)) for atom in atoms) != 1
        if isinstance(node, (Min, Max)):
            assert len(set(node.operands)) == len(node.operands) > 1
            assert not any(isinstance(operand, type(node)) for operand in node.operands)


@given(st.lists(affine, min_size=1, max_size=3), st.lists(affine, min_size=1, max_size=3), st.integers(-2, 2))
def test_choices_are_compared_as_the_sum_of_both_is_split(highs: list[Tree], lows: list[Tree], offset: int) -> None:
    high, low = minimum(*map(expression_of, highs)), maximum(*map(expression_of, lows))
    assert (low <= high + offset) is nonnegative(high - low + offset)
    assert (low - offset < high) is nonnegative(high - low + offset - 1)


def test_words_for_the_same_idea() -> None:
    assert x % 8 is x - 8 * (x // 8)
    assert metadata("b", 0, "extent") is metadata("b", 0, "max") - metadata("b", 0, "min") + 1
    assert minimum(x, y) - x is minimum(0, y - x)
    assert minimum(x, minimum(y, x + 1)) is minimum(y, x)
    assert (x // 4) // 8 is x // 32
    assert -((-x) // 2) is (x + 1) // 2
    assert (2 * x + 1 >= 0) is (x >= 0)
    assert equal(2 * x, 2 * y) is equal(y, x)
    assert equal(2 * x, 1) is nonnegative(as_expr(-1))
    assert maximum(minimum(x, y), x) is x
    assert ~~((x <= y) & (y <= z)) is (x <= y) & (y <= z)


def test_a_wide_choice_is_left_alone() -> None:
    names = [variable(f"v{i}") for i in range(WIDEST + 1)]
    wide = minimum(*names)
    assert isinstance(wide + 1, Sum)
    assert wide + 1 - 1 is wide
    assert prove(names[5] >= wide)
    assert prove(wide >= 3, facts(*(name >= 3 for name in names)))


# Identity ----------------------------------------------------------------------------------------------------------


@settings(max_examples=settings().max_examples * 2)
@given(st.one_of(trees, conditions))
def test_copies_and_pickles_are_the_same_object(tree: Tree) -> None:
    built = build(tree)
    if isinstance(built, Node):
        assert copy.copy(built) is built
        assert copy.deepcopy([built])[0] is built
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(built, protocol)) is built


def test_unpickled_in_another_process_it_prints_the_same() -> None:
    expr = select(x // 3 <= y % 5, minimum(x, y * z) + metadata("b", 1, "max"), 7)
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(expr), capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(expr)


_PRINTED = """
from slinky.symbolic.expressions import *
names = [variable(n) for n in "hgfedcba"]
names += [metadata(b, d, f) for b in ("q", "p") for d in (1, 0) for f in ("min", "max")]
made = []
for i, a in enumerate(names):
    b, c = names[(i * 5 + 3) % len(names)], names[(i * 7 + 1) % len(names)]
    made += [a * 3 + b - c, minimum(a, b + 1, c - 2, a * b), maximum(a // 3, b % 4, c * c), (a <= b) | (c >= a * 2)]
made += [sum(made[::4], as_expr(0)), minimum(*made[1::4]), maximum(*made[2::4])]
made += [all_of(*made[3:64:4]), any_of(*made[3:64:4])]
print(*made, sep="\\n")
"""


def test_printing_does_not_depend_on_hashes() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINTED], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 69


def test_threads_agree_on_identity() -> None:
    """Nodes are made, dropped and made again by several threads at once; all hold the same objects in the end."""
    results: list[list[Node]] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        kept: list[Node] = []
        for i in range(400):
            name = variable(f"thread{i % 37}")
            for k in range(5):
                _ = minimum(name * 3 + k, x) // 7 - k
            kept.append(select(name + i <= 3, maximum(name, y - i), (name + i) // 3))
        results.append(kept)

    threads = [threading.Thread(target=work) for _ in range(6)]
    interval_before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval_before)
    assert len(results) == 6
    assert all(a is b for kept in results for a, b in zip(kept, results[0], strict=True))


def test_threads_prove_at_once() -> None:
    known = facts(x >= 0, y >= x, z >= y)
    answers: list[list[bool]] = []

    def work() -> None:
        answers.append([prove(z + i % 50 >= x + j, known) for i in range(200) for j in range(3)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[i % 50 >= j for i in range(200) for j in range(3)]] * 4


def test_dead_nodes_are_forgotten() -> None:
    def made(count: int) -> None:
        for i in range(count):
            variable("forgotten") * 3 + i + 1000

    made(100)
    before = len(Sum.table)
    made(50_000)
    gc.collect()
    assert len(Sum.table) - before < 10_000


def test_what_facts_remember_is_bounded() -> None:
    known = facts(x >= 0)
    for i in range(10_000):
        prove(x + i >= 0, known)
    assert len(known.answers) <= 2_000
    assert facts(x >= 0) is known
    assert known.also(y >= 0) is known.also(y >= 0)


def test_a_name_is_looked_up_by_itself_alone() -> None:
    known = facts(x >= 0, x <= 9)
    named = known.naming(y, minimum(x + 1, 5)).naming(z, maximum(x, y) + 1)
    w = variable("w")
    assert named.naming(w, x) is named.naming(w, x)
    assert named.naming(w, x) is not named.also(equal(w, x))
    assert prove(all_of(y >= 1, y <= 5, z >= 2, z <= 10, z >= y + 1), named)
    assert not prove(y >= 2, named)
    assert not prove(z <= 9, named)
    assert (named.upward[x], named.downward[x], named.cases) == (known.upward[x], known.downward[x], known.cases)


# Depth -------------------------------------------------------------------------------------------------------------

DEPTH = 5_000


def _nested(step: Callable[[Expr, int], Expr]) -> Expr:
    expr: Expr = x
    for i in range(DEPTH):
        expr = step(expr, i)
    return expr


_DEEP: dict[str, Callable[[], Expr]] = {
    "quotients": lambda: _nested(lambda e, i: (e + y) // 3),
    "quotients by symbols": lambda: _nested(lambda e, i: e // variable(f"d{i % 7}")),
    "choices": lambda: _nested(lambda e, i: minimum(e, y + i) if i % 2 else maximum(e, z - i)),
    "shifted minima": lambda: _nested(lambda e, i: minimum(e + 1, variable(f"v{i % 101}"))),
    "selects": lambda: _nested(lambda e, i: select(y <= i % 5, e, z)),
    "selects by condition": lambda: _nested(lambda e, i: select(e // z <= i, y, z)),
    "products": lambda: _nested(lambda e, i: (e // 2) * y),
}


@pytest.fixture(scope="module", params=_DEEP)
def deep(request: pytest.FixtureRequest) -> Expr:
    return _DEEP[request.param]()


def test_deep_expressions_meet_no_limit(deep: Expr) -> None:
    values = {symbol: 1 + i % 3 for i, symbol in enumerate(sorted(symbols(deep), key=str))}
    at = evaluate(deep, values)
    assert evaluate(substitute(deep, {y: y + 1}), {**values, y: values[y] - 1} if y in values else values) == at
    assert len(str(deep)) > DEPTH
    assert evaluate(simplify(deep), values) == at
    found = bounds(deep, {x: interval(1, 3), y: interval(1, 3), z: interval(1, 3)})
    others = {symbol: value for symbol, value in values.items() if symbol not in (x, y, z)}
    assert evaluate(found.min, others) <= at <= evaluate(found.max, others)


def test_deep_expressions_in_conditions(deep: Expr) -> None:
    goal = deep <= y
    assert negate(negate(goal)) is goal
    assert prove(goal, facts(deep <= y))
    assert isinstance(prove(goal), bool)
    assert isinstance(deep + 1, Expr)
    assert deep + 1 - 1 is deep
    assert (explain(goal).not_shown is None) == prove(goal)


def test_deep_conditions() -> None:
    condition: Condition = x <= y
    for i in range(DEPTH):
        condition = condition & (variable(f"v{i % 7}") <= i) if i % 2 else condition | (variable(f"w{i % 7}") <= -i)
    assert negate(negate(condition)) is condition
    assert len(str(condition)) > DEPTH
    assert isinstance(prove(condition), bool)
    assert prove(all_of(condition, x <= z), facts(condition, x <= z))
    simple = simplify(condition)
    assert simplify(simple) is simple
    assert any_of(condition, negate(x <= y)) is not condition


# Errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: x // 0, ZeroDivisionError, "(x) // 0"),
        (lambda: (x + y) % 0, ZeroDivisionError, "(x + y) % 0"),
        (lambda: 7 // (x - x), ZeroDivisionError, "(7) // 0"),
        (lambda: substitute(y // x, {x: as_expr(0)}), ZeroDivisionError, "(y) // 0"),
        (lambda: x + 0.5, TypeError, "got 0.5 of type float, in x + 0.5"),
        (lambda: 0.5 - x, TypeError, "in 0.5 - x"),
        (lambda: (x + y) * 1.0, TypeError, "in (x + y) * 1.0"),
        (lambda: x // 2.0, TypeError, "in (x) // 2.0"),
        (lambda: x % "a", TypeError, "in (x) % a"),
        (lambda: x <= 1.5, TypeError, "in x <= 1.5"),
        (lambda: x + True, TypeError, "got True of type bool, in x + True"),
        (lambda: x + None, TypeError, "in x + None"),
        (lambda: x / 2, TypeError, "use // (floor division) instead of / in (x) / (2)"),
        (lambda: 2 / x, TypeError, "use // (floor division) instead of / in (2) / (x)"),
        (lambda: minimum(x, 2.5), TypeError, "got 2.5 of type float"),
        (lambda: minimum(), TypeError, "at least one operand"),
        (lambda: select(x, 1, 2), TypeError, "select() expects a condition"),
        (lambda: bool(x), TypeError, "the expression x has no truth value"),
        (lambda: bool(x <= y), TypeError, "the condition x <= y has no truth value"),
        (lambda: facts(x), TypeError, "expected a condition such as y <= 3"),
        (lambda: prove(x + 1), TypeError, "expected a condition such as y <= 3"),
    ],
)
def test_errors_show_the_expression(make: Callable[[], object], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert said in str(caught.value)


def test_numpy_integers_are_integers() -> None:
    numpy = pytest.importorskip("numpy")
    assert x + numpy.int64(3) is x + 3
    assert numpy.int64(3) + x is x + 3
    assert numpy.int32(8) // x is 8 // x
    assert (numpy.int64(3) <= x) is (x >= 3)
    with pytest.raises(TypeError, match=r"in x \+ 0\.5"):
        x + numpy.float32(0.5)


def test_the_branch_not_taken_may_divide_by_zero() -> None:
    guarded = select(x >= 1, y // x, 0) + 1
    assert evaluate(guarded, {x: 0, y: 5}) == 1
    assert substitute(guarded, {x: as_expr(0)}) is as_expr(1)
    assert substitute(guarded, {x: as_expr(2)}) is y // 2 + 1


def test_symbols_are_told_apart_by_kind() -> None:
    assert isinstance(x, Variable)
    assert SYMBOLS["s"] is not variable("s")
    assert isinstance(metadata("x", 0, "min"), Metadata)
    assert symbols(select(x <= y, z, 3)) == {x, y, z}


def test_what_evaluates_a_node_does_not_keep_it_alive() -> None:
    goes = 3 * (x // 2) + y
    assert evaluate(goes, {x: 9, y: 1}) == 13
    dead = weakref.ref(goes)
    del goes
    nodes._lately.clear()
    assert dead() is None


def test_evaluating_again_visits_no_node_again(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = variable("a"), variable("b")
    deep = maximum(minimum(a, b), (a + b) // 3, select(a <= b, a, 2 * b))
    assert evaluate(deep, {a: 1, b: 7}) == 2
    monkeypatch.setattr(traversal, "children", None)
    monkeypatch.setattr(traversal, "fold", None)
    for first in range(-4, 5):
        for second in range(-4, 5):
            least = min(first, second)
            taken = first if first <= second else 2 * second
            assert evaluate(deep, {a: first, b: second}) == max(least, (first + second) // 3, taken)
