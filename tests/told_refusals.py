"""What a refusal tells, whichever it is: parts that are short enough to be read, and a hint whose code works."""

from __future__ import annotations

from typing import Any

import slinky as sl
from slinky.sched.remedies import Attempt

LONGEST = 300
"""Characters of each part."""


def followed(error: sl.SchedulingError) -> sl.Pipeline:
    """The pipeline after the code of a hint, executed as it is given."""
    assert isinstance(error.attempt, Attempt)
    names: dict[str, Any] = {"p": error.attempt.pipeline, "sl": sl}
    exec(error.remedy, names)
    result = names["p"]
    assert isinstance(result, sl.Pipeline)
    return result


def check_refusal(error: sl.SchedulingError) -> sl.Pipeline | None:
    """Check a refusal, and follow its hint. The pipeline that the code of the hint leads to, if it has code.

    That code ends with the operation that a user has called: the one that was refused, or one of slinky made of it.
    """
    assert error.operation
    assert error.reason
    assert len(error.reason) <= LONGEST
    assert len(str(error.condition)) <= LONGEST
    assert len(error.example) <= LONGEST
    assert str(error).startswith(f"{error.operation}: {error.reason}")
    if not error.remedy:
        return None
    new = followed(error)
    new.verify()
    assert isinstance(error.attempt, Attempt)
    called, last = error.attempt.operation.__name__, error.remedy.splitlines()[-1]
    assert called in (error.operation, *error.within)
    assert last.startswith(f"p = sl.{called}(p, ") or "(a step only: " in error.hint
    return new
