"""Refusals that random schedules meet seldom or never, and why: what the table of `tally` says of them.

Checks that every rewrite comes before, by whichever primitive it is made (`GATE`), are met in all often enough; that
a given primitive meets a given one of them may be rare, as its own conditions let little through that breaks it. Some
refusals need what no random program has (`HAND_MADE`): they are provoked in tests of their own.
"""

from __future__ import annotations

GATE = (
    "something read is not written",
    "an output is not written",
    "a fold",
    "not forward",
    "a fold in a parallel loop",
    "a race",
    "shared folds",
    "parallel iterations",
    "written twice",
    "a buffer out of scope",
    "a part of a dimension that is computed whole",
    "shared memory",
    "the stages of a pipelined loop",
    "an access of several blocks",
    "an order that a call takes",
    "a divisor",
    "a step",
)
"""What is asked of every rewrite."""

HAND_MADE: dict[tuple[str, str], str] = {
    pair: reason
    for reason, pairs in {
        "it takes a nest of a hundred loops": (
            ("split_loop", "too deep"),
            ("compute_once", "too deep"),
            ("specialize", "too deep"),
            ("split_reduction", "too deep"),
            ("split_reduction_in_parts", "too deep"),
        ),
        "loops over arrays of a few elements are never so long": (("unroll_loop", "too many statements"),),
        "random sums are of one input, and declare states of all dimensions": (
            ("split_reduction", "inputs of other lengths"),
            ("split_reduction", "a dimension without a state"),
            ("split_reduction_in_parts", "inputs of other lengths"),
        ),
        "no random func computes pieces of some length only": (
            ("extract_pipeline", "in whole pieces"),
            ("inline_pipeline", "in whole pieces"),
            ("alias_copy", "whole pieces"),
        ),
        "random variants take what the caller holds as it is": (
            ("choose_variant", "another dtype for callers"),
            ("choose_variant", "an order for callers"),
        ),
        "no random graph has constants": (("inline_pipeline", "a constant"),),
    }.items()
    for pair in pairs
}
"""Refusals that no random program meets, each with the reason."""
