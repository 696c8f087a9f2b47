"""Envelopes never fall, and lie on the side that was asked for: brute force over assignments."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky.symbolic.envelopes import Side, rises, rises_plainly, rising_part
from slinky.symbolic.expressions import maximum, minimum, select, variable
from slinky.symbolic.proofs import facts
from slinky.symbolic.traversal import evaluate

from .generators import ASSIGNMENTS, SYMBOLS, Tree, by_symbol, expression_of, trees

x, n = SYMBOLS["x"], variable("n")
ALWAYS = facts(SYMBOLS["s"] >= 1, SYMBOLS["t"] >= 1)
FIRST, LAST = -4, 5


@settings(max_examples=settings().max_examples * 5)
@given(trees, st.sampled_from(Side))
def test_an_envelope_rises_on_its_side(tree: Tree, side: Side) -> None:
    expr = expression_of(tree)
    extreme = FIRST if side is Side.ABOVE else LAST
    found = rising_part(expr, x, maximum(extreme), side, ALWAYS)
    if rises_plainly(expr, x):
        assert found is expr
    if found is None:
        return
    for values in ASSIGNMENTS[::17]:
        here = by_symbol(values)
        own = [evaluate(expr, {**here, x: at}) for at in range(FIRST, LAST + 1)]
        envelope = [evaluate(found, {**here, x: at}) for at in range(FIRST, LAST + 1)]
        assert envelope == sorted(envelope), (str(found), values)
        assert all(a <= b if side is Side.ABOVE else b <= a for a, b in zip(own, envelope, strict=True)), values
        if rises(expr, x, ALWAYS):
            assert own == envelope


@pytest.mark.parametrize(
    ("expr", "above", "below"),
    [
        (x + 1, x + 1, x + 1),
        (-x, 4, -5),
        (minimum(x - 1, 2 * n - x), minimum(x - 1, 2 * n + 4), minimum(x - 1, 2 * n - 5)),
        (maximum(n, -2 * x) - n, maximum(n, 8) - n, maximum(n, -10) - n),
        ((3 - x) // 2 + x, x + 3, x - 1),
        (select(x <= n, x, -x), maximum(x, 4), minimum(x, -5)),
        (select(n >= 0, x, -x), select(n >= 0, x, 4), select(n >= 0, x, -5)),
        (SYMBOLS["s"] * x, SYMBOLS["s"] * x, SYMBOLS["s"] * x),
        (-SYMBOLS["s"] * x, 4 * SYMBOLS["s"], -5 * SYMBOLS["s"]),
        (n * x, None, None),
        (7 // maximum(x, 1), None, None),
    ],
    ids=str,
)
def test_envelopes(expr: object, above: object, below: object) -> None:
    """`-4` stands for x where an end falls, of what lies above; `5` of what lies below."""
    assert rising_part(expr, x, maximum(FIRST), Side.ABOVE, ALWAYS) is (None if above is None else maximum(above))
    assert rising_part(expr, x, maximum(LAST), Side.BELOW, ALWAYS) is (None if below is None else maximum(below))


def test_a_deep_expression_has_none() -> None:
    deep = x
    for k in range(300):
        deep = (maximum if k % 2 else minimum)(deep + (k % 3), variable(f"v{k}"))
    assert rising_part(deep, x, n, Side.ABOVE) is None
    assert not rises(deep, x)
