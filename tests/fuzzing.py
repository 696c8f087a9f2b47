"""Property tests that go on for as long as somebody has: `pytest --fuzz SECONDS`.

Of all tests, those of properties alone are run. Each tries its examples in rounds, other ones in each round and each
time, until so many seconds have gone by; a round that has begun is ended. The first example that fails ends its test,
as small as it gets, with the line that tries it again. `-n auto` runs as many tests at a time as there are cores:

    pytest --fuzz 3600 -n auto                          # an hour for each property: days
    pytest --fuzz 600 tests/test_schedule_properties.py

Invariant: nothing that a round has drawn is told to the next; so a fault does not depend on how long one has waited.
"""

from __future__ import annotations

import time

import hypothesis
import pytest

ROUND = 100
"""How many examples a round has of a property that asks for no multiple of them."""


def is_property(item: pytest.Item) -> bool:
    """Whether a test is one of a property: it is given examples, or draws them itself."""
    if not isinstance(item, pytest.Function):
        return False
    return hypothesis.is_hypothesis_test(item.obj) or item.get_closest_marker("draws") is not None


def run_in_rounds(test: pytest.Function, seconds: float) -> int:
    """Run a test of a property until its time is over; how many rounds that took, of which there is one at least."""
    arguments = {name: test.funcargs[name] for name in test._fixtureinfo.argnames}
    end, rounds = time.monotonic() + seconds, 0
    while not rounds or time.monotonic() < end:
        test.obj(**arguments)
        rounds += 1
    return rounds
