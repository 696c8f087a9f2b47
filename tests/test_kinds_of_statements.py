"""A kind of statement that is new is decided wherever kinds are: the type checker lists the places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import slinky as sl
from slinky.ir.statements import KINDS

PACKAGE = Path(sl.__file__).parent
NAMES = {kind.__name__ for kind in KINDS}


def classes(pattern: ast.AST) -> set[str]:
    """The names of the classes that a pattern asks for, anywhere in it."""
    found = (node.cls for node in ast.walk(pattern) if isinstance(node, ast.MatchClass))
    found = (cls for cls in found if not ast.unparse(cls).startswith("ast."))  # nodes of Python are called so, too
    return {cls.id if isinstance(cls, ast.Name) else ast.unparse(cls).rpartition(".")[2] for cls in found}


def is_exhaustive(match: ast.Match) -> bool:
    """Whether a `match` ends in `case _: assert_never(...)`, which the type checker shows never to be reached."""
    pattern, guard, body = match.cases[-1].pattern, match.cases[-1].guard, match.cases[-1].body
    is_any = isinstance(pattern, ast.MatchAs) and pattern.pattern is None and guard is None
    return is_any and len(body) == 1 and ast.unparse(body[0]).startswith("assert_never(")


def matches_on_statements(source: str) -> Iterator[ast.Match]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Match) and any(NAMES & classes(case.pattern) for case in node.cases):
            yield node


def test_every_match_on_statements_ends_in_assert_never() -> None:
    open_ended, found = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        for match in matches_on_statements(path.read_text()):
            found += 1
            if not is_exhaustive(match):
                open_ended.append(f"{path.relative_to(PACKAGE)}:{match.lineno}")
    assert found >= 10
    assert not open_ended


@pytest.mark.parametrize(
    ("cases", "is_found", "is_closed"),
    [
        ("case Alloc(): pass", True, False),
        ("case (Alloc() | Call()) as s, 1: pass\n    case _: return ()", True, False),
        ("case statements.For(): pass\n    case _: assert_never(s)", True, True),
        ("case For(): pass\n    case _ if s: assert_never(s)", True, False),
        ("case Serial(): pass", False, False),
    ],
)
def test_the_scan_tells_matches_apart(cases: str, is_found: bool, is_closed: bool) -> None:
    found = list(matches_on_statements(f"match s:\n    {cases}"))
    assert bool(found) == is_found
    assert all(is_exhaustive(match) == is_closed for match in found)
