"""Legality: the one room that decides whether a program still means what it meant.

Idea. An element of a buffer has one value *between two writes of it*: what the last call that wrote it computes there
from the values that its sources had then. A program means the same as the unscheduled one if every read finds the value
that it finds there. That follows from these obligations, each proved by a file of its own:

1. *value* (`values`): each call runs a func on the buffers that it ran on before. One func produces a buffer, and its
   sources have one producer each in turn, so every write of an element since the buffer was allocated gives the same
   value. Write after read and write after write are then no obligations of their own: the second write changes nothing.
   (This speaks of buffers, each of which has elements of its own. Those that lie in one memory have: 7.)
2. *coverage* (`coverage`, `reads`): each call, before it runs, finds every element that it reads written since the
   buffer was allocated, and at the end every element of the pipeline's outputs has been written;
3. *folds* (`folds`): no element is overwritten, through a fold, between being written and being read last;
4. *races* (`races`): iterations of a parallel loop write disjoint regions of what they share, read none that others
   write, and need nothing of each other;
5. *whole dimensions* (`wholes`): calls of one func agree where they overlap only if its operation can compute any part
   of its dimensions. Of a dimension that it computes whole, every call computes all or nothing; of one that it computes
   in whole pieces (`multiples`), pieces of that length or nothing;
6. *names* (`scopes`) mean one thing, and *steps and folds* (`positive`) are at least 1;
7. *memory* (`memory`): where the program puts several buffers into one memory, each is used before the next, so that
   nothing is read that another has overwritten;
8. *blocks* (`blocks`): whatever a call touches of a buffer that is stored by blocks lies in one of them;
9. *stages* (`stages`): those of a pipelined loop that may overlap touch nothing of each other's;
10. *room* (`room`): strides that are asked for a buffer keep the elements apart that it holds now.

The gate asks for them, of the statements that an edit touched; what is not proved is refused. A rewrite that keeps one
for a reason of its own names it (`reasons`).
"""

from slinky.sched.legality.blocks import check_blocks
from slinky.sched.legality.folds import check_fold, check_folds_of
from slinky.sched.legality.memory import check_memory
from slinky.sched.legality.multiples import check_multiples
from slinky.sched.legality.own_buffers import own_buffers
from slinky.sched.legality.races import check_races
from slinky.sched.legality.reads import Uncovered, check_inputs, check_outputs, check_readers_of, check_reads
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.stages import check_stages
from slinky.sched.legality.wholes import check_whole, computes_part

__all__ = [
    "Uncovered",
    "Unproved",
    "check_blocks",
    "check_fold",
    "check_folds_of",
    "check_inputs",
    "check_memory",
    "check_multiples",
    "check_outputs",
    "check_races",
    "check_readers_of",
    "check_reads",
    "check_stages",
    "check_whole",
    "computes_part",
    "own_buffers",
]
