"""Which refusals the primitives have, and which of them a run has met.

`REFUSALS` lists for each primitive why it may refuse, as `docs/primitives.md` tells it, each with what its reason looks
like. The random schedules report every refusal that they meet to `note_refusal`, which is an event of hypothesis
(`pytest --hypothesis-show-statistics`) and is counted here: `pytest --refusals` prints what was met and what was not.

As a script, `python tests/refusals.py [examples]` tries random schedules until it has met what it can, and prints that.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from weakref import WeakSet

from hypothesis import currently_in_test_context, event

from slinky.errors import SchedulingError

# What reasons look like ---------------------------------------------------------------------------------------------

UNWRITTEN = r"does not find all of|not shown that .* finds all of"
OUTPUT = r"all of output .* is written"
FOLD = r"a fold of .* (does not hold|holds) all that is live"
SHARED_FOLD = r"share the folded buffer"
PARALLEL_FOLD = r"would share the folded buffer"
PRODUCED_FORWARD = r"what is produced of .* forward with loop"
COMPUTED_FORWARD = r"what .* computes (moves|does not move) forward with loop"
WHOLE = r"computes .* whole, and would compute part of it here"
READ_BY_OTHERS = r"one reads of .* what another writes|not shown to find all that it reads of .* in its own iteration"
WRITTEN_TWICE = r"write the same elements of|are not shown to write different parts of"
NAME_TAKEN = r"the name .* is taken here"
LONGER = r"would have to run longer, and .* is not shown to do nothing"
INNER_RANGE = r"the range of loop .* depends on loop .*, so that cannot be extended"
POSITIVE = r"the factor must be 1 or more|not shown that the factor is 1 or more"
DIVISOR = r"the divisor of .* is (1 or more|less than 1)"
STEP = r"the (step|number of workers) of loop .* is (1 or more|less than 1)"
DEEP = r"loops nest at most"
SCOPE = r"is not allocated here|another buffer called .* is in scope"
MEMORY_USED = r"which lies? in the same memory|lie in the same memory, are both used"
NOT_IN_PLACE = (
    r"is not declared to work in place|has \d+ outputs: of what|reads more of .* than the element that it writes|"
    r"elements do not lie at the same bytes|that their elements lie at|are stored in different loops|"
    r"are not shown to write different elements of"
)
MEMORY_PLACE = r"lies in the memory of|cannot lie in the memory of|would share the memory of|which lies in its memory"
OVERLAP = r"of an earlier iteration has yet to (read|write)"
STAGES = f"runs in stages of|allocates anew in each iteration|{OVERLAP}"
ORDER = r"takes .* in the order .*, and it is not shown to lie so"
PIECES = r"in whole pieces of"
MIRRORED = r"is not shown to stay where .* reads enough to mirror"
BLOCKS = r"touches of .* lies in one block of"
MEMORY = f"{MEMORY_USED}|{NOT_IN_PLACE}|{MEMORY_PLACE}"

KEPT = {
    "something read is not written": UNWRITTEN,
    "an output is not written": OUTPUT,
    "a fold": FOLD,
    "not forward": PRODUCED_FORWARD,
}
"""What many rewrites may fail to keep: that what is read has been written, and is still there."""

RACE = {
    "shared folds": SHARED_FOLD,
    "parallel iterations": READ_BY_OTHERS,
    "written twice": WRITTEN_TWICE,
}
"""What iterations of a parallel loop must not do."""

MOVED = {
    **KEPT,
    "a fold in a parallel loop": PARALLEL_FOLD,
    **RACE,
}
"""The same of rewrites that move calls from loop to loop: parallel iterations must let each other be, too."""

REFUSALS: dict[str, dict[str, str]] = {
    "split_loop": {
        "a factor that is not positive": POSITIVE,
        "a dimension that is computed whole": WHOLE,
        "a dimension that not all outputs have": r"has no dimension .*, so each piece would",
        "pieces that do not come out even": r"the pieces (do not )?come out even",
        "shifted pieces of a loop with steps": r"only if its step is 1",
        "shifted pieces: a fold": FOLD,
        "shifted pieces: not forward": PRODUCED_FORWARD,
        "shifted pieces: a race": f"{READ_BY_OTHERS}|{WRITTEN_TWICE}|{SHARED_FOLD}",
        "too deep": DEEP,
        "a name that is taken": NAME_TAKEN,
    },
    "reorder_loops": {
        "a body that is more than a loop": r"is not just one loop",
        "a range that depends on the other loop": r"the (start|end|step) of loop .* depends on loop",
        "something read is not written": UNWRITTEN,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        **RACE,
        "a step": STEP,
    },
    "cut_loop": {"a buffer out of scope": SCOPE},
    "fuse_loops": {
        "not neighbours": r"does not follow loop|something else stands between",
        "not alike": r"do not run alike",
        "other steps": r"by something else",
        "no range": r"not shown in which iterations",
        "another of the same name": r"of its own inside|an enclosing loop has the variable",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a fold": FOLD,
        "shared folds": SHARED_FOLD,
        "not forward": PRODUCED_FORWARD,
        "parallel iterations": READ_BY_OTHERS,
        "written twice": WRITTEN_TWICE,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "fission_loop": {
        "nothing on one side": r"nothing stands (before|behind) the gap",
        "not in so many loops": r"the gap stands in (no loop|\d+ loops?), not in",
        "in an if": r"the gap stands in an if",
        "a buffer on both sides": r"used on both sides of the gap",
        **MOVED,
    },
    "unroll_loop": {
        "no constant number of iterations": r"has as many iterations in every run",
        "no iteration": r"never runs",
        "too many statements": r"are \d+ statements, more than",
        "a parallel loop": r"is parallel: its iterations would come one after the other",
        "a buffer out of scope": SCOPE,
    },
    "vectorize": {
        "no arithmetic": r"is no arithmetic that C knows",
        "another dimension": r"elements of .* follow each other along",
        "a reduced dimension": r"goes on from the one before it",
        "not one call": r"is not just one call",
        "not one element": r"is not one element of",
        **KEPT,
        **RACE,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "remove_loop": {
        "no iteration": r"runs at all|never runs",
        "several iterations": r"and its body depends on",
        "a buffer out of scope": SCOPE,
        **KEPT,
        **RACE,
    },
    "serialize_loop": {
        "a serial loop": r"is serial already",
    },
    "absorb_loop": {
        "more than a call": r"is not just one call",
        "not one dimension moves": r"of what .* computes moves with loop",
        "not side by side": r"the pieces of .* lie side by side",
        "a loop that may not run": r"does nothing where loop|would do something where loop",
        "a buffer out of scope": SCOPE,
        **MOVED,
    },
    "lift_call": {
        "more levels than there are": r"cannot be lifted out of",
        "a buffer inside": r"is allocated inside of what",
        "a part of a dimension that is computed whole": WHOLE,
        "a buffer out of scope": SCOPE,
        **MOVED,
        "a divisor": DIVISOR,
    },
    "compute_once": {
        "not in the loop": r"is not in loop",
        "a parallel loop": r"is parallel: none of its iterations is the first",
        "an end that moves": r"what .* computes moves with loop",
        "a buffer inside": r"is allocated inside of loop",
        "computed once already": r"is computed in the first iteration of loop .* only",
        "too deep": r"loops and ifs nest at most",
        **MOVED,
    },
    "unslide_window": {
        "not in the loop": r"is not in loop",
        "not read in the loop": r"nothing in loop .* reads",
        "nothing slides": r"computes all that an iteration of loop .* needs already",
        "a part of a dimension that is computed whole": WHOLE,
        "a buffer out of scope": SCOPE,
        **MOVED,
    },
    "assume_shape": {
        "a size that the checks exclude": r"cannot have .*: the checks exclude it",
        "a buffer out of scope": SCOPE,
    },
    "lift_if": {
        "not in a loop": r"does not stand in a loop",
        "a condition that depends on the loop": r"the condition depends on loop",
        "a divisor": DIVISOR,
        "a buffer out of scope": SCOPE,
    },
    "specialize": {
        "a condition that is decided": r"the condition (always|never) holds here",
        "a buffer that is used behind the block": r"is allocated in the block, and used behind it",
        "a check": r"a check must stay as it is",
        "a divisor": r"what the condition divides by",
        "too deep": r"loops and ifs nest at most",
    },
    "cut_call": {
        "not all outputs have it": r"has no dimension",
        "computed whole": WHOLE,
    },
    "split_reduction": {
        "nothing is declared": r"does not say how it reduces",
        "another dimension": r" reduces .*, and not ",
        "it would be rounded elsewhere": r"gives other bits by pieces",
        "inputs of other lengths": r"are (not )?as long as each other along",
        "something read is not written": UNWRITTEN,
        "past a copy": r"reads or writes past a copy",
        "a dimension without a state": r"along which it has no state",
        "a factor that is not positive": POSITIVE,
        "too deep": DEEP,
    },
    "split_reduction_in_parts": {
        "nothing is declared": r"does not say how it reduces",
        "no merge": r"does not say how states of two parts are merged",
        "another dimension": r" reduces .*, and not ",
        "it would be rounded elsewhere": r"gives other bits by pieces",
        "inputs of other lengths": r"are (not )?as long as each other along",
        "something read is not written": UNWRITTEN,
        "past a copy": r"reads or writes past a copy",
        "a dimension without a state": r"along which it has no state",
        "a factor that is not positive": POSITIVE + r"|the number of pieces (must be|is) 1 or more",
        "too deep": DEEP,
    },
    "extract_pipeline": {
        "a check": r"a check stays where it is",
        "used behind it": r"is allocated in the block and used behind it",
        "writes nothing": r"the block writes nothing that is there behind it",
        "different boxes": r"the block writes different boxes of",
        "a loop around": r"depends on .* in another way than by the box",
        "a part": r"gives a part of .*, others the rest",
        "not right by itself": r"as a pipeline over any box, the block is not shown to be right",
        "a name that is taken": NAME_TAKEN,
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a part of a dimension that is computed whole": WHOLE,
        "in whole pieces": PIECES,
        "a fold": FOLD,
        **RACE,
    },
    "inline_pipeline": {
        "another func": r" is no pipeline",
        "a check": r"what the pipeline .* checks (holds|does not hold) here",
        "a constant": r"has a constant .*, and this one not",
        "a loop around": r"which moves with a loop around the call",
        "another of the same name": r"an enclosing loop has the variable",
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a part of a dimension that is computed whole": WHOLE,
        "in whole pieces": PIECES,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        **RACE,
    },
    "clone_call": {
        "an output": r"is an output of the pipeline: no reader can have it",
        "no reader": r"reads nothing that",
        "the only reader": r"alone reads what",
        "a source that is gone": r"is not there at the call of",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "a part of a dimension that is computed whole": WHOLE,
        "a fold": FOLD,
        **RACE,
    },
    "share_calls": {
        "one call": r"there is but one call of",
        "other funcs": r"are different funcs",
        "other sources": r"do not read the same",
        "an output": r"is an output of the pipeline, which must be written",
        "one buffer": r"both calls of .* write",
        "several writers": r"is written by others than",
        "a layout": r"has strides or an alignment that are asked for",
        "others in its memory": r"other buffers lie in the memory of",
        "a copy between the two": r"would write .*, and touch it by another port",
        "out of reach": r"is not there at the call of .*, which reads",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        **RACE,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "remove_call": {
        **KEPT,
        "parallel iterations": READ_BY_OTHERS,
    },
    "choose_variant": {
        "no variant": r"has no variant '",
        "another dtype for callers": r"takes .* as .*, and the pipeline is given",
        "another dtype for others": r"takes .* as .*, and .* has no variant that does",
        "another dtype for a copy": r"takes .* as .*, and the copy .* takes it as it is",
        "strides in bytes": r"strides or an alignment that are asked for, in bytes of",
        "an order for callers": r"takes .* in the order .*, and the pipeline is given it",
        "an order for others": r"takes? .* in the order .*, and .*(has no variant that does|so do several|does not$)",
        "an order of what is folded or in blocks": r"so it cannot lie in the order",
        "an order of many dimensions": r"the strides that are asked for .* are not shown to leave room",
        "a state that others use": r"uses .*, a state of .*, too|a state of .*, is given|as it is asked for: it cannot",
        "written twice": WRITTEN_TWICE,
        "something read is not written": UNWRITTEN,
        "a fold": FOLD,
        "parallel iterations": READ_BY_OTHERS,
    },
    "fuse_calls": {
        "not declared": r"has no fused func|is declared for .*, not for",
        "an output": r"is an output of the pipeline, which must be written",
        "not read": r"does not read what this call of",
        "read by others": r"reads .*, too",
        "written by others": r"writes .*, too",
        "others in its memory": r"other buffers lie in the memory of",
        "sources not seen to be the same": r"would give .* other values",
        "another dtype": r"takes .* of rank .*, and .* is .* of rank",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        "shared folds": SHARED_FOLD,
        "parallel iterations": READ_BY_OTHERS,
    },
    "stage_buffer": {
        "not touched": r"the block neither reads nor writes",
        "not there": r"there is no buffer",
        "a check": r"a check must stay as it is",
        **KEPT,
        **RACE,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "split_boundary": {
        "no copy": r"is no copy that slinky understands",
        "by views": r"sees its buffers by views",
        "one piece": r"is one piece",
        "nothing": r"is shown to copy nothing",
        "no box": r"a piece of .* would be no box",
        "no source shown": r"not shown that some source of",
        "what cutting a loop leaves": r"has other calls of",
        "where it reaches the edges": r"not shown along .* where all that is read",
        "written twice": WRITTEN_TWICE,
        "a fold": FOLD,
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "shared folds": SHARED_FOLD,
        "parallel iterations": READ_BY_OTHERS,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "parallelize_loop": {**RACE},
    "pipeline_loop": {
        "not serial": r"is (parallel|pipelined) already",
        "one stage": r"has one stage only",
        "not in the body": r"begins with a statement of its body",
        "no order": r"come in the order of its body",
        "shared memory": r"would share the memory of",
        "a buffer of another stage": r"allocates anew in each iteration",
        "written over": OVERLAP,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
    },
    "prefetch": {
        "not serial": r"is (parallel|pipelined) already",
        "elsewhere": r"does not stand in the body of loop",
        "no intermediate": r"does not produce one intermediate",
        "alone": r"is alone in loop",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "a fold": FOLD,
    },
    "compute_at": {
        "already in the loop": r"already stands in loop",
        "not in a block around the loop": r"stands in a loop of its own",
        "not before the loop": r"does not stand before loop",
        "read outside the loop": r"reads it outside loop",
        "not read in the loop": r"nothing in loop .* reads",
        "a part of a dimension that is computed whole": WHOLE,
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "an output: unclear which iterations": r"it is not clear which iterations",
        "an output: the loop would run longer": f"{LONGER}|{INNER_RANGE}|{COMPUTED_FORWARD}",
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        "a fold in a parallel loop": PARALLEL_FOLD,
        **RACE,
        "a divisor": DIVISOR,
        "a step": STEP,
    },
    "compute_root": {
        "allocated inside a loop": r"is allocated inside a loop",
        "a buffer out of scope": SCOPE,
        "a part of a dimension that is computed whole": WHOLE,
        **KEPT,
    },
    "slide_window": {
        "not in the loop": r"is not in loop",
        "a parallel loop": r"is parallel: its iterations do not come one after the other",
        "not one dimension moves": r"of what .* produces moves with loop|does not have the dimension that moves",
        "allocated inside the loop": r"is allocated inside loop .*, so nothing of it lasts",
        "folded along what moves": r"is folded along the dimension that moves",
        "an end does not move forward": r"the (start|end) of what .* produces (moves|does not move) forward",
        "the loop would run longer": f"{LONGER}|{COMPUTED_FORWARD}",
        "the range of an inner loop": INNER_RANGE,
        **MOVED,
        "a part of a dimension that is computed whole": WHOLE,
        "a divisor": DIVISOR,
        "a step": STEP,
    },
    "fold_storage": {
        "a second folded dimension": r"only one dimension can be",
        "nothing is saved": r"would save nothing",
        "not one loop around all": r"do not stand in one loop",
        "nothing is written": r"no call writes",
        "a factor that is not positive": POSITIVE,
        "a factor that is too small": FOLD,
        "not forward": PRODUCED_FORWARD,
        "a fold in a parallel loop": PARALLEL_FOLD,
        "a layout": r"has strides or an alignment that are asked for",
        "a divisor": DIVISOR,
    },
    "unfold_storage": {},
    "alias_copy": {
        "no copy": r"is no copy that slinky understands",
        "several sources": r"copies from \d+ sources",
        "past another copy": r"writes past another copy is not one element for each",
        "beyond the edges": r"lies within the edges",
        "an output": r"is an output of the pipeline, which must be written",
        "several writers": r"is written by others than",
        "another buffer of the name": r"is another buffer where",
        "no view": r"cannot be given .* as a view",
        "several places": r"do not stand for one of",
        "a place in what others write": r"has its place in what the copy writes",
        "a producer that cannot": r"cannot write .* as it is",
        "reads and writes": r"reads .*, and writes",
        "no box": r"gives elements of .* is no box",
        "a layout": r"layout|strides|aligned",
        "whole pieces": r"whole pieces|pieces of",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a fold": FOLD,
        **RACE,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "store_at": {
        "already inside the loop": r"is already allocated inside loop",
        "a loop out of scope": r"is not in the scope of",
        "used outside the loop": r"is used outside loop",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "a part of a dimension that is computed whole": WHOLE,
        "a fold": FOLD,
        "a divisor": DIVISOR,
    },
    "lift_alloc": {
        "more levels than there are": r"cannot be lifted out of",
        "a parallel loop": r"the iterations of the parallel loop .* would share",
        "a fold that depends on the loop": r"the fold of .* depends on loop",
        "an end that depends on the loop": r"means nothing here",
        "strides that are asked for": r"the strides that are asked for",
        "another of the same name": r"is allocated in the same scope, in a copy of the loop",
        "a divisor": DIVISOR,
    },
    "resize_dim": {
        "strides that are asked for": r"has strides that are asked for",
        "no elements outside": r"may be no elements, and is not shown to lie in",
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        "a part of a dimension that is computed whole": WHOLE,
        "a mirrored copy": MIRRORED,
    },
    "align_dim": {
        "a mirrored copy": MIRRORED,
        "strides that are asked for": r"has strides that are asked for",
        "a multiple that is not positive": r"the multiple must be 1 or more|not shown that the multiple is 1 or more",
    },
    "set_layout": {
        "folded": r"is folded along .*, so its rows lie one behind the other",
        "strides": r"leaves (no )?room for what lies within|multiple of",
        "in the memory of another": r"lies in the memory of .* strides or an alignment that are asked for",
    },
    "divide_dim": {
        "an access of several blocks": BLOCKS,
        "divided already": r"is stored by blocks of \d+ already",
        "folded": r"is folded along .*, so its rows lie one behind the other",
        "a layout": r"has strides or an alignment that are asked for",
    },
    "merge_dims": {
        "not divided": r"is not stored by blocks",
    },
    "unroll_buffer": {
        "no constant extent": r"has as many coordinates in every run",
        "too many or too few coordinates": r"has \d+ coordinates, more than|has (one|no) coordinate",
        "an access of several": r"one known coordinate of",
        "folded": r"is folded along .*: its coordinates share memory",
        "nobody uses it": r"nobody uses",
        "something read is not written": UNWRITTEN,
        "an output is not written": OUTPUT,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
        **RACE,
        "a part of a dimension that is computed whole": WHOLE,
    },
    "reorder_statements": {
        "not two statements": r"two neighbouring statements swap",
        "an allocation behind its use": r"uses .*, which the first one allocates",
        "another of the same name": r"of its own inside",
        "before a check": r"may rely on the check|a check must stay as it is",
        "a check before what would not run": r"a check must not come before",
        "a buffer out of scope": SCOPE,
        "something read is not written": UNWRITTEN,
        "a fold": FOLD,
        "not forward": PRODUCED_FORWARD,
    },
    "compute_in_place": {
        "not declared": r"is not declared to work in place$",
        "no intermediate": r"whose memory is the caller's|reads no buffer",
        "stored elsewhere": r"are stored in different loops$",
        "in one memory already": r"lie in one memory already",
        "used before the other": r"is used before .* is allocated",
        "not in place": NOT_IN_PLACE,
        "used later": MEMORY_USED,
        "a fold, a parallel loop": MEMORY_PLACE,
    },
    "reuse_buffer": {
        "not in scope": r"is not in scope where",
        "in one memory already": r"lie in one memory already",
        "used before the other": r"is used before .* is allocated",
        "used at the same time": MEMORY_USED,
        "not in place": NOT_IN_PLACE,
        "a fold, a parallel loop": MEMORY_PLACE,
    },
    "simplify": {},
    "rename": {},
}
for _primitive in (
    "split_loop", "reorder_loops", "cut_loop", "parallelize_loop", "compute_at", "compute_root", "slide_window",
    "fold_storage", "alias_copy", "store_at", "lift_alloc", "reorder_statements", "split_boundary", "cut_call",
    "clone_call", "fuse_loops", "share_calls", "remove_call",
    "choose_variant", "fuse_calls", "extract_pipeline", "inline_pipeline",
    "stage_buffer", "fission_loop", "unroll_loop", "remove_loop",
    "absorb_loop", "lift_call", "compute_once", "unslide_window", "lift_if", "specialize", "assume_shape",
    "resize_dim", "align_dim", "unroll_buffer", "divide_dim",
):  # fmt: skip
    REFUSALS[_primitive]["shared memory"] = MEMORY
for _primitive in REFUSALS:
    if _primitive not in ("pipeline_loop", "prefetch", "rename"):
        REFUSALS[_primitive]["the stages of a pipelined loop"] = STAGES
for _primitive in ("alias_copy", "share_calls", "fold_storage"):
    REFUSALS[_primitive]["stored by blocks"] = r"is stored by blocks, (which .* is not|and a fold)"
for _primitive in REFUSALS:
    if _primitive not in ("rename", "merge_dims"):
        REFUSALS[_primitive].setdefault("an access of several blocks", BLOCKS)
    if _primitive not in ("rename", "simplify", "parallelize_loop", "serialize_loop"):
        REFUSALS[_primitive].setdefault("an order that a call takes", ORDER)
        REFUSALS[_primitive].setdefault("in whole pieces", PIECES)
"""Why each primitive may refuse, in a few words, and the reason that says so."""

MET: Counter[tuple[str, str]] = Counter()
"""How often each primitive was refused for each reason."""

UNLISTED = "not listed"

NOT_LISTED: set[str] = set()
"""What was refused for a reason that is not among `REFUSALS`."""


def kind_of(error: SchedulingError) -> str:
    """Which of its refusals a primitive has given first; `UNLISTED` if it is none of them."""
    return kinds_of(error)[0]


def kinds_of(error: SchedulingError) -> list[str]:
    """Which of its refusals a primitive has given: several where there are several ways, each with a reason for which
    it is none, such as reading past a copy and writing past it."""
    kinds = REFUSALS.get(error.operation, {})
    parts = error.reason.split("; nor can ")
    parts = [part for part in parts if not part.endswith(" be written in its place")] or parts  # why, is too long
    found = [next((kind for kind, reason in kinds.items() if re.search(reason, part)), UNLISTED) for part in parts]
    return [*dict.fromkeys(found)]


_noted: WeakSet[SchedulingError] = WeakSet()


def note_refusal(error: SchedulingError) -> None:
    """Count a refusal, and tell hypothesis of it; once, though it may leave several operations."""
    if error in _noted:
        return
    _noted.add(error)
    for kind in kinds_of(error):
        MET[error.operation, kind] += 1
        if kind == UNLISTED:
            NOT_LISTED.add(f"{error.operation}: {error.reason}")
        if currently_in_test_context():
            event(f"{error.operation} refuses: {kind}")


def report() -> str:
    """A table of all refusals, with how often each was met."""
    lines = []
    listed = [(primitive, kind) for primitive, kinds in REFUSALS.items() for kind in kinds]
    unlisted = [pair for pair in MET if pair not in listed]
    for pair in (*listed, *unlisted):
        lines.append(f"{MET[pair] or 'not met':>8}  {pair[0]}: {pair[1]}")
    met = sum(pair in MET for pair in listed)
    return "\n".join((f"{met} of {len(listed)} refusals met", "", *lines))


def try_schedules(examples: int) -> None:
    """Try random schedules."""
    import random

    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st
    from random_graphs import Graph, build, graphs, image_graphs, many_dimensions
    from random_schedules import Chain

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(
        st.one_of(image_graphs(), graphs(max_stages=5), many_dimensions()), st.integers(0, 2**32), st.integers(1, 20)
    )
    def refused(graph: Graph, seed: int, steps: int) -> None:
        chain = Chain(build(graph), random.Random(seed).choice)
        for _ in range(steps):
            chain.step()
        for error in chain.errors:
            note_refusal(error)

    refused()


if __name__ == "__main__":
    try_schedules(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    print(report())
