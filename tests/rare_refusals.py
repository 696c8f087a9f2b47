"""Refusals that random schedules meet seldom or never, and why: what the table of `tally` says of them.

Checks that every rewrite comes before, by whichever primitive it is made (`GATE`), are met in all often enough; that
a given primitive meets a given one of them may be rare, as its own conditions let little through that breaks it. Some
refusals need what no random program has (`HAND_MADE`): they are provoked in tests of their own. Of some it is shown
that no program meets them (`IMPLIED`): the gate asks them of all rewrites alike, and of these they hold anyway. Where
one of those is met all the same, that is told: then what is said here is wrong.
"""

from __future__ import annotations

GATE = (
    "something read is not written",
    "an output is not written",
    "a fold",
    "not forward",
    "a fold in a parallel loop",
    "shared folds",
    "parallel iterations",
    "written twice",
    "a buffer out of scope",
    "a part of a dimension that is computed whole",
    "shared memory",
    "the stages of a pipelined loop",
    "an access of several blocks",
    "an order that a call takes",
    "in whole pieces",
    "a divisor",
    "a step",
)
"""What is asked of every rewrite."""

_STAGES, _BLOCKS, _MEMORY = GATE[11], GATE[12], GATE[10]
_WHOLE = GATE[9]

HAND_MADE: dict[tuple[str, str], str] = {
    pair: reason
    for reason, pairs in {
        "it takes a window that slides back, which no primitive makes": (
            ("split_loop", "shifted pieces: not forward"),
            *(
                (primitive, "not forward")
                for primitive in (
                    "reorder_loops", "fuse_loops", "fission_loop", "remove_loop", "absorb_loop", "lift_call",
                    "compute_once", "unslide_window", "inline_pipeline", "share_calls", "remove_call", "fuse_calls",
                    "stage_buffer", "pipeline_loop", "compute_at", "compute_root", "slide_window", "fold_storage",
                    "resize_dim", "unroll_buffer", "reorder_statements", "vectorize",
                )
            ),
        ),
        "checks stand before all that runs, in all programs that are built or rewritten": (
            ("reorder_statements", "a check before what would not run"),
        ),
        "`as_func` takes no pipeline that speaks of the ends of a part, and extracted ones speak of scalars": (
            ("inline_pipeline", "a loop around"),
        ),
        "random calls that are declared to be fused seldom read what a variant makes in another dtype": (
            ("fuse_calls", "another dtype"),
        ),
        "random variants ask for no order of dimensions": (("choose_variant", "an order for callers"),),
        "who reads a buffer that nobody writes is refused, but where nothing runs": (
            ("fold_storage", "nothing is written"),
        ),
        "ends that move with a loop in another way than by sums and quotients are no author's": (
            ("lift_alloc", "an end that depends on the loop"),
        ),
        "names in what is inlined are free where that stands": (("inline_pipeline", "another of the same name"),),
    }.items()
    for pair in pairs
}  # fmt: skip
"""Refusals that no random program meets, each with the reason."""

IMPLIED: dict[tuple[str, str], str] = {
    pair: reason
    for reason, pairs in {
        "how a loop runs changes nothing of what calls touch, nor of what is known where: what was shown is shown": (
            ("serialize_loop", _STAGES),
            ("serialize_loop", _BLOCKS),
            ("parallelize_loop", _STAGES),
            ("parallelize_loop", _BLOCKS),
            ("pipeline_loop", _BLOCKS),
        ),
        "where elements lie changes nothing of what calls touch; a buffer by blocks has no fold, and with none, what "
        "lies apart lies apart": (
            ("fold_storage", _BLOCKS),
            ("unfold_storage", _STAGES),
            ("unfold_storage", _BLOCKS),
            ("set_layout", _STAGES),
            ("set_layout", _BLOCKS),
            ("divide_dim", _STAGES),
            ("merge_dims", _STAGES),
            ("compute_in_place", _BLOCKS),
            ("reuse_buffer", _BLOCKS),
        ),
        "an allocation moves behind that of its host, in the stage that uses both: if it were another's, what lies in "
        "it would be used before, which is refused first": (
            ("compute_in_place", _STAGES),
            ("reuse_buffer", _STAGES),
        ),
        "what is left of a stage is a stage, which touches no more than it did": (
            ("assume_shape", _STAGES),
            ("simplify", _STAGES),
        ),
        "statements come in another order, or one is gone: all others touch what they touched, in the same loops": (
            ("reorder_statements", _BLOCKS),
            ("fission_loop", _BLOCKS),
            ("remove_call", _BLOCKS),
            ("prefetch", _BLOCKS),
        ),
        "of the buffers in one memory, those that are left are used in the order in which they were": (
            ("remove_call", _MEMORY),
            ("fission_loop", _MEMORY),
            ("compute_once", _MEMORY),
        ),
        "a dimension of a call is split as by `split_loop`, which is told to refuse; and one that moves with a loop is "
        "not computed whole": (
            ("vectorize", _WHOLE),
        ),
        "a func writes past a copy only where each of its dimensions is one of what it writes": (
            ("alias_copy", "past another copy"),
        ),
        "pieces of a copy are copies, of which none computes a dimension whole": (("split_boundary", _WHOLE),),
        "each access touches one coordinate, and a call that computes all of a dimension touches all": (
            ("unroll_buffer", _WHOLE),
        ),
    }.items()
    for pair in pairs
}  # fmt: skip
"""Refusals that no program meets, each with the proof."""
