"""Why a condition is not proved: the part that could not be shown, and integers for which it does not hold.

Invariant: a counterexample has been checked by evaluating the facts and the condition; it is never guessed. Not
finding one says nothing, for the search is bounded.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice

import attrs

from slinky.errors import ExpressionError
from slinky.symbolic.expressions import (
    And,
    Condition,
    Expr,
    IsZero,
    Metadata,
    Node,
    Or,
    all_of,
    any_of,
    children,
    metadata,
    negate,
    nonnegative,
    order_key,
    scale,
)
from slinky.symbolic.facts import NO_FACTS, Facts
from slinky.symbolic.proofs import prove
from slinky.symbolic.search import Search
from slinky.symbolic.text import DimensionNames, positional, to_text
from slinky.symbolic.traversal import evaluate, symbols, union_of_symbols

_ATTEMPTS = 400
_WORK = 40_000
_MOST_SYMBOLS = 40
_SHOWN = 8
_MOST_ALTERNATIVES = 16

LONGEST = 160
"""How many characters of an expression or condition a message shows."""


@attrs.frozen(eq=False)
class Explanation:
    """What `explain` found: `not_shown` is the part of the condition without a proof, None if all of it is proved.

    `counterexample` holds a value for each symbol involved, those of the condition first, or is None.
    """

    not_shown: Condition | None
    counterexample: Mapping[Expr, int] | None

    def __str__(self) -> str:
        return self.text()

    def text(self, names: DimensionNames = positional) -> str:
        """One sentence; `names` says how to write the dimensions of buffers."""
        if self.not_shown is None:
            return "it is proved"
        return "; ".join(filter(None, (f"{to_text(self.not_shown, names)} is not shown", self.example(names))))

    def example(self, names: DimensionNames = positional) -> str:
        """For which values the condition does not hold; nothing where none are known."""
        if self.counterexample is None:
            return ""
        values = [f"{to_text(symbol, names)} = {value}" for symbol, value in self.counterexample.items()]
        more = ", ..." if len(values) > _SHOWN else ""
        return f"it does not hold for {', '.join(values[:_SHOWN])}{more}"


def brief(node: Node, names: DimensionNames = positional, longest: int = LONGEST) -> str:
    """An expression or condition as text for a message: of a long one, the part that is easiest to read.

    Of its parts the shortest are written, and how many more there are; what stands in parentheses becomes `...`.
    """
    text = to_text(node, names)
    if len(text) <= longest:
        return text
    if not isinstance(node, (And, Or)):
        return _cut(text, longest)
    parts = sorted(node.operands, key=lambda part: len(to_text(part, names)))
    joint, more = (" and ", " and {} more") if isinstance(node, And) else (" or ", " or one of {} more")
    shown: list[str] = []
    for part in parts:
        piece = brief(part, names, longest - len(more))
        piece = f"({piece})" if isinstance(part, (And, Or)) else piece
        if shown and len(joint.join((*shown, piece, more))) > longest:
            break
        shown.append(piece)
    return joint.join(shown) + (more.format(len(parts) - len(shown)) if len(shown) < len(parts) else "")


def _cut(text: str, longest: int) -> str:
    """A text without what stands in its longest parentheses, or without its end, so that it is not longer than that."""
    for inside in (60, 30, 12, 3):
        if len(text) > longest:
            text = _elided(text, inside)
    return text if len(text) <= longest else text[: longest - 4].rstrip() + " ..."


def _elided(text: str, longest: int) -> str:
    """The text with `...` for what stands in a pair of parentheses and is longer than that."""
    begins: list[int] = []
    kept: list[str] = []
    for character in text:
        if character == ")" and begins:
            begin = begins.pop()
            if len("".join(kept[begin:])) > longest:
                kept[begin:] = ["..."]
        kept.append(character)
        if character == "(":
            begins.append(len(kept))
    return "".join(kept)


def explain(condition: Condition, known: Facts = NO_FACTS) -> Explanation:
    """Which part of a condition cannot be shown under the facts, with a counterexample where one is found."""
    part = _not_shown(condition, known)
    if part is None:
        return Explanation(None, None)
    return Explanation(part, _counterexample(part, known))


def _not_shown(condition: Condition, known: Facts) -> Condition | None:
    """The first part of a condition without a proof."""
    parts: Iterable[Condition] = (condition,)
    if isinstance(condition, And):
        parts = condition.operands
    elif isinstance(condition, IsZero):
        parts = (nonnegative(condition.expr), nonnegative(scale(condition.expr, -1)))
    part = next((part for part in parts if not prove(part, known)), None)
    if not isinstance(part, Or) or len(part.operands) > _MOST_ALTERNATIVES:
        return part
    # What the facts exclude is no way to show it.
    ways = [way for way in part.operands if not prove(negate(way), known)]
    return any_of(*ways) if ways else part


def _counterexample(goal: Condition, known: Facts) -> dict[Expr, int] | None:
    relevant = _relevant(goal, known)
    names = sorted(symbols(goal), key=order_key)
    names += sorted(symbols(all_of(*relevant)) - symbols(goal), key=order_key)
    if len(names) > _MOST_SYMBOLS or not names:
        return None
    wanted = [*relevant, negate(goal)]
    attempts = min(_ATTEMPTS, _WORK // _size(wanted))
    for values in islice(_candidates(names, goal, known), 1 + attempts):
        if _all_hold(wanted, values):
            return _smaller(values, wanted)
    return None


def _relevant(goal: Condition, known: Facts) -> list[Condition]:
    """The facts that are connected with the goal by their symbols, and what buffers keep."""
    waiting = list(known.conditions())
    reached = symbols(goal)
    relevant: list[Condition] = []
    while True:
        connected = [condition for condition in waiting if not symbols(condition).isdisjoint(reached)]
        if not connected:
            break
        relevant += connected
        reached |= union_of_symbols(connected)
        waiting = [condition for condition in waiting if condition not in connected]
    for symbol in sorted(reached, key=order_key):
        if isinstance(symbol, Metadata):
            if symbol.field == "fold_factor":
                relevant.append(symbol >= 1)
            elif symbol.field == "max" and metadata(symbol.buffer, symbol.dim, "min") in reached:
                relevant.append(metadata(symbol.buffer, symbol.dim, "extent") >= 0)
    return relevant


def _candidates(names: list[Expr], goal: Condition, known: Facts) -> Iterator[dict[Expr, int]]:
    """Assignments to try: the one that stands in the way of the proof, then others close to it."""
    search = Search(known)
    search.refuted(negate(goal))
    start = {name: search.found.get(name, 0) for name in names}
    yield start
    draw = random.Random(0)
    for attempt in count():
        reach = 1 + attempt % 8
        yield {name: value + draw.choice((0, draw.randint(-reach, reach))) for name, value in start.items()}


def _size(conditions: Iterable[Condition]) -> int:
    """How many nodes an evaluation of the conditions visits."""
    met: set[Node] = set()
    waiting: list[Node] = list(conditions)
    while waiting:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting.extend(children(node))
    return len(met)


def _all_hold(conditions: Iterable[Condition], values: Mapping[Expr, int]) -> bool:
    try:
        return all(evaluate(condition, values) for condition in conditions)
    except ExpressionError:  # a divisor is zero
        return False


def _smaller(values: dict[Expr, int], wanted: list[Condition]) -> dict[Expr, int]:
    """The same, with values closer to zero where that still serves."""
    for name in list(values):
        for value in (0, 1, -1, 2, -2, values[name] // 2):
            if abs(value) < abs(values[name]) and _all_hold(wanted, {**values, name: value}):
                values[name] = value
                break
    return values
