"""What becomes of a traced function, in words: what sizes a trace is good for, and what its schedule is.

Invariant: nothing is decided here. What is said is what a call does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from slinky.errors import OperationError
from slinky.frontend.contests import Contest
from slinky.frontend.to_native import Runs, native_state
from slinky.frontend.tracing import Trace
from slinky.pipeline import Pipeline

MOST_NAMES = 16
"""Of more operations, those of one name are counted."""


def operations_in_words(names: Sequence[str]) -> str:
    """How many operations there are, and which, by their names in order."""
    listed = each_once(names) if len(names) > MOST_NAMES else names
    return f"{len(names)} operation{'s' * (len(names) != 1)}: {', '.join(listed) or 'none'}"


def each_once(texts: Sequence[str]) -> list[str]:
    """Each of some texts once, with how often it is there: loops say the same again and again."""
    return [text if count == 1 else f"{text} ({count} times)" for text, count in Counter(texts).items()]


def guards_in_words(trace: Trace, names: Sequence[str]) -> list[str]:
    """What sizes and floats a trace is good for, and which lines asked; `names` are those of the arguments."""
    extents = {str(s): f"{names[number]}.shape[{d}]" for s, (number, d) in trace.symbols.items()}
    found = []
    for condition, line in trace.questions.held.items():
        text = re.sub(r"size_[0-9]+", lambda symbol: extents.get(symbol[0], symbol[0]), str(condition))
        found.append(f"good where {text}, asked in {line}")
    return [*found, *trace.reals.in_words()]


def schedule_in_words(scheduled: Pipeline, plan: Runs | None, contest: Contest | None, *, is_used: bool) -> str:
    """What a schedule is, and why; `plan` is what runs it, if it has run, and in a `contest` against the function."""
    from slinky.sched.explaining import explain

    lines = [contest_in_words(contest)] if contest is not None else []
    if not is_used:
        lines = ["called as it is: about as fast as this schedule"]
    if (state := native_state(plan)) is not None:
        lines.append(state)
    try:
        lines.append(str(explain(scheduled)))
    except OperationError:
        lines.append("not scheduled: no schedule was found that keeps max_bytes")
    return "\n".join(lines)


def contest_in_words(contest: Contest) -> str:
    """Who runs calls of such arguments, and what was measured."""
    if not contest.is_open:
        return "as it is until there is C: NumPy is about as fast as this schedule"
    if not contest.is_over:
        return "as it is and by pieces, in turn, until it is known which is faster"
    from slinky.sched.explaining import seconds_text

    plain, pieces = map(seconds_text, contest.best())
    who = "called as it is" if contest.is_lost else "by pieces"
    return f"{who}: measured {plain} as it is, {pieces} by pieces"


def exported_in_words(plan: Runs | None) -> str:
    """What is known of a schedule that was loaded; `plan` runs it, or the function is called as it is."""
    if plan is None:
        return "called as it is: so it was where it was exported"
    return "\n".join(["scheduled as it was where it was exported", *filter(None, [native_state(plan)])])
