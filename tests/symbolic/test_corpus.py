"""Tightness: the published questions are answered as a person would answer them."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    all_of,
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
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, facts, prove
from slinky.symbolic.traversal import evaluate, symbols

from .corpus import BOUNDS, QUESTIONS


class _Dimension:
    def __init__(self, buffer: str) -> None:
        for name, field in (("min", "min"), ("max", "max"), ("extent", "extent"), ("fold", "fold_factor")):
            setattr(self, name, metadata(buffer, 0, field))


class _Names(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        if name in ("inp", "mid", "out"):
            return _Dimension(name)
        if not re.fullmatch(r"[a-zA-Z]\d?", name):
            raise KeyError(name)
        return scalar(name) if name.isupper() else variable(name)


NAMES = _Names(min=minimum, max=maximum, select=select, eq=equal, ne=unequal)


def _read(text: str) -> Any:
    ranged = re.fullmatch(r"(.+) in (.+)\.\.(.+)", text)
    if ranged:
        name, low, high = map(_read, ranged.groups())
        return all_of(low <= as_expr(name), as_expr(name) <= high)
    return eval(text, {"__builtins__": {}}, NAMES)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _question(line: str) -> tuple[Facts, Condition, bool]:
    given, mark, goal = re.fullmatch(r"(.*?) ?(\|-|\|/) (.*)", line).groups()  # type: ignore[union-attr]
    return facts(*map(_read, filter(None, map(str.strip, given.split(";"))))), _read(goal), mark == "|-"


def test_the_corpus_is_large() -> None:
    assert len(set(_lines(QUESTIONS))) >= 150


@pytest.mark.parametrize("line", _lines(QUESTIONS))
def test_question(line: str) -> None:
    known, goal, expected = _question(line)
    assert prove(goal, known) == expected


@pytest.mark.parametrize("line", [line for line in _lines(QUESTIONS) if "|/" in line])
def test_what_is_not_proved_has_a_counterexample(line: str) -> None:
    known, goal, _ = _question(line)
    condition = all_of(*known.conditions())
    draw = random.Random(line)
    names = sorted(symbols(goal) | symbols(condition), key=str)
    for attempt in range(200_000):
        span = 2 + attempt % 12
        values = {name: draw.randint(-span // 2, span) for name in names}
        if any(name.field == "fold_factor" and values[name] < 1 for name in names if hasattr(name, "field")):
            continue
        if evaluate(condition, values) and not evaluate(goal, values):
            return
    pytest.fail("no counterexample found")


def _bounds_question(line: str) -> tuple[Expr, dict[Expr, Interval], Facts, Interval]:
    question, _, condition = line.partition(" given ")
    text, ranges, low, high = re.fullmatch(r"(.+) for (.+) = (.+)\.\.(.+)", question).groups()  # type: ignore[union-attr]
    named = (re.fullmatch(r"(\w+) in (.+)\.\.(.+)", part.strip()).groups() for part in ranges.split(","))  # type: ignore[union-attr]
    intervals = {_read(name): Interval(_read(lo), _read(hi)) for name, lo, hi in named}
    known = facts(_read(condition)) if condition else facts()
    return _read(text), intervals, known, Interval(_read(low), _read(high))


@pytest.mark.parametrize("line", _lines(BOUNDS))
def test_bounds(line: str) -> None:
    expr, ranges, known, expected = _bounds_question(line)
    found = bounds(expr, ranges, known)
    assert prove(equal(found.min, expected.min) & equal(found.max, expected.max), known), found
