"""Legality: the one place that decides whether a program still means what it meant.

Idea. Every element of a buffer has one value, whoever computes it: calls of one func over different boxes agree where
they overlap, and nothing else writes the buffer. A program therefore means the same as the unscheduled one if

1. *coverage* (see `coverage`): each call, before it runs, finds every element that it reads written since the buffer
   was allocated, and at the end every element of the pipeline's outputs has been written;
2. *folds*: no element is overwritten, through a fold, between being written and being read last;
3. *races*: iterations of a parallel loop write disjoint regions of what they share, read none that others write, and
   need nothing of each other;
4. *whole dimensions*: calls of one func agree where they overlap only if its callback can compute any part of its
   dimensions. Of a dimension that it computes whole, every call computes all or nothing.

Primitives make the program that they would return and ask here whether it keeps these; what is not proved is refused.
A rewrite that cannot break one of them need not ask for it.

How folds are shown. Let all accesses stand in one loop over v, its writes in iteration v lie in `[a(v), b(v)]` with
both ends non-decreasing, and all reads and writes of an iteration span at most F coordinates. Then what shares storage
with an element e read at v is `e + kF`: above, it is more than b(v), so not written yet; below, it is less than
a(u) for the iteration u <= v that wrote e, so it is not written from then on.
"""

from slinky.sched.legality.folds import check_fold, check_folds, check_folds_of
from slinky.sched.legality.races import check_races, own_buffers
from slinky.sched.legality.reads import Uncovered, check_inputs, check_outputs, check_readers, check_reads
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.wholes import check_whole, computes_part

__all__ = [
    "Uncovered",
    "Unproved",
    "check_fold",
    "check_folds",
    "check_folds_of",
    "check_inputs",
    "check_outputs",
    "check_races",
    "check_readers",
    "check_reads",
    "check_whole",
    "computes_part",
    "own_buffers",
]
