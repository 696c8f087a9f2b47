"""The programs before and after, in the docstrings of the primitives, are what the primitives print."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import pytest

import slinky as sl
from tools.reference import operations

OPERATIONS = operations()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_the_example_of_an_operation(operation: Callable[..., Any]) -> None:
    names: dict[str, Any] = {f.__name__: f for f in OPERATIONS}
    name, doc = operation.__name__, operation.__doc__ or ""
    test = doctest.DocTestParser().get_doctest(doc, names, name, f"the docstring of {name}", 0)
    assert test.examples
    problems: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=problems.append)
    assert not problems, "".join(problems)


def test_all_operations_are_found() -> None:
    assert {f.__name__ for f in OPERATIONS} >= {"split_loop", "compute_at", "slide_window", "fold_storage", "simplify"}
    assert all(f is getattr(sl, f.__name__) for f in OPERATIONS)
