"""Cutting arithmetic where something else computes a step: which steps go together, and in which order.

Idea. Some steps stand *apart*: NumPy computes them, or a function that takes many elements at once. What lies between
these goes together in loops, and the fewest loops are had by *stages*. A loop of a stage comes before the steps apart
of this stage, and these come before the loop of the next one. So a step in a loop has the stage of what it reads, or
the next one where it reads what a step apart gives; and a step apart has the stage of what it reads. Where there is a
choice, a step in a loop is computed as late as its readers allow, so that little has to be kept from stage to stage.

Invariant: what a step reads is there before it: from a step in the same loop by the order of steps, from all others by
their stages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from slinky.ir.formulas import Formula, Operand, Result


def live_steps(formula: Formula, results: Sequence[Operand] = ()) -> list[int]:
    """The steps that the result needs, in order; or these results, if any are given."""
    needed = {each.step for each in results or (formula.result,) if isinstance(each, Result)}
    for number in reversed(range(len(formula.steps))):
        if number in needed:
            needed.update(each.step for each in formula.steps[number].operands if isinstance(each, Result))
    return sorted(needed)


def stages(
    formula: Formula,
    live: Sequence[int],
    apart: Collection[int],
    last: Collection[Result],
    by_loops: Collection[tuple[int, Result]] = (),
) -> dict[int, int]:
    """The stage of each live step; the results of `last` are wanted at the end of all stages.

    `by_loops` are steps apart, each with a result that a loop of its stage hands on to it, whatever gives that.
    """
    found: dict[int, int] = {}
    for number in live:
        read = [each for each in formula.steps[number].operands if isinstance(each, Result)]
        waits = [
            found[each.step] + (each.step in apart and (number not in apart or (number, each) in by_loops))
            for each in read
        ]
        found[number] = max(waits, default=0)
    final = max((found[each.step] + (each.step in apart) for each in last), default=0)
    latest = dict.fromkeys((each.step for each in last), final)
    for number in reversed(live):
        if number not in apart:
            found[number] = max(found[number], latest.get(number, found[number]))
        for each in formula.steps[number].operands:
            if isinstance(each, Result):
                latest[each.step] = min(latest.get(each.step, found[number]), found[number])
    return found


def crossing(
    formula: Formula, live: Sequence[int], apart: Collection[int], stage: dict[int, int], last: Collection[Result]
) -> list[Result]:
    """The results that loops hand on: to steps apart, to loops of later stages, or as what is wanted at the end."""
    found = dict.fromkeys(each for each in last if each.step not in apart)
    for number in live:
        for each in formula.steps[number].operands:
            if isinstance(each, Result) and each.step not in apart:
                if number in apart or stage[number] > stage[each.step]:
                    found[each] = None
    return sorted(found, key=lambda each: (stage[each.step], each.step, each.output))
