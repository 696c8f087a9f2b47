"""Situations that primitives refuse, made on purpose: for refusals that careless arguments seldom meet.

Idea. A situation is a step like any other, which rewrites the program of a chain until a primitive should refuse to go
on in just one way, and then applies it. What can be drawn is drawn: where, how often, by how much, in which order. So
it is another one every time, in whatever graph it is made; where there is no place for it, it does nothing. What is
accepted all the same is a rewrite like any other. They stand by what rewrites must take care of, in
`random_stage_situations` and so on; `python tests/situation_rates.py` tells how often each of them comes off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import random_block_situations as blocks
import random_call_situations as calls
import random_gate_situations as gate
import random_memory_situations as memory
import random_own_situations as own
import random_stage_situations as stages
from random_chains import AnyChain, NothingToDoError

import slinky as sl

Situation = Callable[[AnyChain], sl.Pipeline]

Pair = tuple[str, str]
"""A primitive, and why it refuses."""

TRIED = 8
"""So many situations are drawn, until there is a place for one."""

LONGEST = 40
"""Programs of more lines are left alone."""


def _of_all(kind: str, situations: Mapping[str, Situation]) -> dict[Pair, Situation]:
    return {(primitive, kind): situation for primitive, situation in situations.items()}


SITUATIONS: dict[Pair, Situation] = {
    **_of_all("the stages of a pipelined loop", stages.STAGES),
    **_of_all("an access of several blocks", blocks.BLOCKS),
    **_of_all("shared memory", memory.MEMORY),
    **_of_all("a fold", gate.FOLDS),
    **_of_all("written twice", gate.RACES),
    **_of_all("a divisor", gate.DIVISORS),
    **_of_all("a step", gate.STEPS),
    **_of_all("a part of a dimension that is computed whole", gate.WHOLE),
    **own.OWN,
    **calls.CALLS,
}
"""What makes a primitive refuse in one way, or is likely to."""


SELDOM: dict[Pair, int] = {
    ("absorb_loop", "not side by side"): 2,
    ("choose_variant", "a state that others use"): 3,
    ("choose_variant", "an order of what is folded or in blocks"): 4,
    ("choose_variant", "an order for others"): 2,
    ("choose_variant", "another dtype for callers"): 4,
    ("compute_at", "an output: the loop would run longer"): 3,
    ("compute_at", "an output: unclear which iterations"): 6,
    ("compute_in_place", "used before the other"): 3,
    ("compute_once", "computed once already"): 3,
    ("fold_storage", "a fold in a parallel loop"): 2,
    ("fuse_calls", "others in its memory"): 2,
    ("fuse_calls", "sources not seen to be the same"): 6,
    ("fuse_calls", "written by others"): 3,
    ("absorb_loop", "a loop that may not run"): 3,
    ("fuse_loops", "another of the same name"): 2,
    ("unroll_buffer", "no constant extent"): 4,
    ("unroll_loop", "no iteration"): 2,
    ("lift_alloc", "a fold that depends on the loop"): 3,
    ("lift_alloc", "a parallel loop"): 2,
    ("lift_alloc", "strides that are asked for"): 3,
    ("set_layout", "an order that a call takes"): 2,
    ("slide_window", "the loop would run longer"): 2,
    ("cut_call", "not all outputs have it"): 6,
    ("split_boundary", "by views"): 2,
    ("split_boundary", "no box"): 2,
    ("split_boundary", "what cutting a loop leaves"): 2,
    ("split_boundary", "where it reaches the edges"): 4,
    ("split_reduction", "a factor that is not positive"): 2,
    ("split_reduction", "another dimension"): 2,
    ("split_reduction", "past a copy"): 4,
    ("split_reduction", "too deep"): 2,
    ("split_reduction_in_parts", "a factor that is not positive"): 2,
    ("split_reduction_in_parts", "another dimension"): 2,
    ("split_reduction_in_parts", "past a copy"): 4,
    ("split_reduction_in_parts", "too deep"): 2,
}
"""How often some are drawn for one of the others: those that come off in few programs."""

DRAWN: list[Pair] = [pair for pair in SITUATIONS for _ in range(SELDOM.get(pair, 1))]
"""What is drawn from."""


def situate(chain: AnyChain) -> None:
    """Make a situation, of some one for which there is a place, and try what should be refused there; aside, so that
    the chain goes on as if nothing had been: most programs are of little use for what comes next. And one of those
    that the program was made for, most often of it as it was: rewrites may have taken the place for it."""
    wanted = [pair for pair in chain.wanted for _ in range(SELDOM.get(pair, 1))]
    for pairs in (wanted, DRAWN):
        for _ in range(TRIED if pairs else 0):
            anew = pairs is wanted and chain.choose([True, True, False])
            if attempt(chain, chain.choose(pairs), anew=anew):
                break


NAMES = {"split_loop": "split_loop of a loop"}
"""What a primitive counts as, where it is not its name."""


def attempt(chain: AnyChain, pair: Pair, *, anew: bool = False) -> bool:
    """Make the situation of a pair, of what the chain has come to or began with. Whether there is a place for it."""
    if chain.length() > LONGEST and not anew:
        return False
    try:
        chain.aside(anew=anew).apply(NAMES.get(pair[0], pair[0]), SITUATIONS[pair])
    except (NothingToDoError, sl.OperationError):
        return False
    return True
