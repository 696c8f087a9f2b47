"""Reasons for which a rewrite keeps an obligation that is then not proved anew.

The gate proves of every statement that an edit touched all that could have been broken. A rewrite that knows better
names one of these reasons, what is kept by it, and the statements of which it does not speak: those are proved. Each
reason is a rule with its proof; a rewrite that names one must meet its condition.

Invariant: under the condition of a reason, what `Kept` says of it holds in the program after the edit if it held
before. Tests run every rewrite that names a reason against a judge that knows nothing of proofs.
"""

from __future__ import annotations

import enum

import attrs


class Obligation(enum.Enum):
    """What must still hold after an edit, of the statements that it touched, in the order in which it is proved."""

    VALUES = "each buffer is produced by the same funcs from the same sources"
    CHECKS = "checks stand where they stood, and say what they said"
    POSITIVE = "steps of loops, fold factors and divisors are at least 1"
    INPUTS = "calls read nothing outside of the bounds of the pipeline's inputs"
    READS = "calls find all that they read"
    READERS = "whoever reads what the calls write finds it"
    OUTPUTS = "outputs that the calls write are written in full"
    FOLDS = "folds of what the calls touch keep each element until it was read last"
    RACES = "iterations of the parallel loops around and inside are independent"
    ROOM = "strides that are asked for leave room for all that buffers hold"

    __hash__ = object.__hash__  # that of `Enum` hashes the name anew each time


@attrs.frozen
class Reason:
    """A rule: its name, its condition, and why what it keeps is kept."""

    name: str
    condition: str
    proof: str


@attrs.define
class Kept:
    """Obligations that a rewrite keeps for a reason, but for some statements, given by identity: of them it is proved.
    (It never changes; it is not frozen, as each rewrite makes some.)

    The statements are calls; of races, the parallel loops.
    """

    reason: Reason
    obligations: tuple[Obligation, ...]
    but_for: tuple[int, ...] = ()


ALL = tuple(Obligation)
ALL_BUT_CHECKS = tuple(o for o in Obligation if o not in (Obligation.VALUES, Obligation.CHECKS))

SAME_ORDER = Reason(
    "same order",
    "The calls compute the same elements in the same order as before: a call or a loop is taken to pieces that come "
    "one after the other, or expressions change into others of the same value. Buffers live as long as they did. "
    "Steps, and what new expressions divide by, are at least 1.",
    "All writes that came before a read come before it still, and no others come between, so it finds what it found. "
    "Pieces of a call lie in its box: they read and write nothing else, and a fold that held all of the box holds a "
    "piece. Iterations of a parallel loop over pieces are groups of iterations that were independent.",
)

SAME_ORDER_TWICE = Reason(
    "same order, and some of it again",
    "As `same order`, but pieces may overlap the ones before them: elements are computed again, after all that came "
    "before them the first time.",
    "What is read again was written before the first time, and what is written again has the same value. Nothing "
    "else is read or written. That a fold has let go of what is read again, or that pieces of a parallel loop write "
    "the same elements, is not excluded.",
)

SAME_ITERATIONS = Reason(
    "same iterations",
    "The iterations of two loops, one of which is all of the other's body, run in another order. The range of neither "
    "depends on the other.",
    "Each call does the same for each pair of values of the two variables, so all that is read of inputs, and all that "
    "is written in the end, is what it was. Buffers that nobody writes in the loops are as they were before them. "
    "Loops around see the same in each of their iterations, and loops inside are not changed.",
)

ONLY_SOME_CHANGED = Reason(
    "only some changed",
    "But for the calls that are named, each call computes, in the iterations that there were before, what it computed, "
    "where it did; in iterations that were added to a loop, nothing.",
    "Such a call reads and writes what it read and wrote, and when. Whether it still finds what the named calls wrote "
    "is asked of these, as their readers. That nothing is computed in added iterations is shown where a loop is "
    "extended (`ranges`).",
)

WRITES_AS_MUCH = Reason(
    "writes as much",
    "But for the calls that are named, each call writes at least what it wrote, no later than it did.",
    "Whoever reads that finds all that it found, and outputs are written in full where they were.",
)

PARTS_IN_TURN = Reason(
    "parts in turn",
    "A loop becomes two over the same range, one after the other: the first has the first part of the body, the second "
    "the rest. No buffer that is allocated in the loop is used by both. The calls that are named are those of the "
    "first part that read what the second part writes, and those of the second part that write it.",
    "Whatever stands outside finds both loops done, or none, as it found the loop. The first part finds what it found, "
    "but for what the second part wrote in earlier iterations; the second finds all that it found, and more. What a "
    "fold lets go of in between is another question. Iterations that were independent are so in parts.",
)

RACES_SAY_MORE = Reason(
    "races say more",
    "A serial loop becomes a parallel one; nothing else changes.",
    "In the order of the iterations, everything is as it was. In any other order it is, too, if no iteration reads or "
    "writes what another one writes, which is what independence of the iterations means.",
)

ONE_OF_ITS_ORDERS = Reason(
    "one of its orders",
    "A parallel loop becomes a serial one; nothing else changes.",
    "The iterations of a parallel loop may come in any order. One after the other, from the first to the last, is such "
    "an order, so each call finds and writes what it may have found and written before.",
)

STAGES_SAY = Reason(
    "stages say",
    "A serial loop runs in stages, or a pipelined one serially, and folds become larger; nothing else changes.",
    "In the order of the iterations, everything is as it was. Where stages overlap, it is, too: that is proved of all "
    "pipelined loops, always (`stages`).",
)

MORE_ROOM = Reason(
    "more room",
    "Buffers are stored in full that were folded, or live longer, or hold more. The calls that write them are clamped "
    "as they were.",
    "Everything is read and written as it was, and no element loses its place that kept it before. That a buffer was "
    "made anew mattered to nobody: all that was read had been written since.",
)

LESS_LIFE = Reason(
    "less life",
    "A buffer is made anew in each iteration of a loop in which all its accesses stand, and holds what one iteration "
    "reads of it.",
    "What is read of other buffers is as it was. A fold held what was live from its write to its last read over all "
    "iterations, so it holds that of one. Iterations of parallel loops share less than they did.",
)

SWAPPED = Reason(
    "swapped",
    "Two neighbouring statements change places.",
    "All other statements see both of them done, or none. Each of the two writes what it wrote, in each iteration.",
)

FOLD_ALONE = Reason(
    "a fold alone",
    "Nothing but a fold factor of one allocation changes. Where one is left, the fold is proved by itself: that it "
    "keeps each element until it was read last, and that no parallel loop shares it between its iterations.",
    "Everything else speaks of coordinates, whatever their place in memory. Where no factor is left, each element has "
    "a place of its own. Calls and checks are the very ones that there were, where they were.",
)

COPIES_SAY = Reason(
    "copies say",
    "A copy that slinky understands is gone, or taken to pieces. Who read it reads its source, or who wrote its source "
    "writes it, each element at the place that the copy's index says, within the edges that it has; and each operation "
    "is given the elements that it was given, at the same places of its arrays.",
    "An element of a copy is the element of the source that its index names, so a func that is given the one or the "
    "other computes the same. A call that writes where the copy wrote writes the element that the copy would have put "
    "there: the target still has one value for each element. Pieces of a copy give each element as the copy does.",
)

DECLARED = Reason(
    "declared",
    "A call, or all that it was replaced by, is replaced by calls that its func's author has declared to give what it "
    "gives: on the same sources, into the same buffers, with buffers of their own between them.",
    "The author of a callback alone knows what it computes, and says so where the func is made. No other call changes, "
    "and no other value.",
)

COMPOSED = Reason(
    "composed",
    "Statements become the program of a func that is called in their place, or the other way round: the same funcs run "
    "on the same sources. Of the ends of buffers, funcs speak as they did. The program has been proved by itself, over "
    "any box, from nothing but what the func says that it reads.",
    "An element has the value that its func gives it of elements of the same sources, wherever the call stands that "
    "computes it. Those that are only there inside of the program are seen by nobody else.",
)

LAYOUT_ALONE = Reason(
    "a layout alone",
    "Nothing changes but where the elements of one allocation, which is not folded, lie in memory; each has a place of "
    "its own there as before.",
    "Everything speaks of coordinates, whatever their place in memory: operations are given views of any strides.",
)

MEMORY_ALONE = Reason(
    "memory alone",
    "Nothing changes but in whose memory some buffers lie, and that an allocation stands further behind, before all "
    "that uses it. That buffers of one memory let each other be is proved by itself.",
    "Each buffer still has elements of its own, and everything else speaks of these, whatever their place in memory.",
)
