"""Whether a program is right by itself: all that the gate proves of edits, of every statement.

The program of a func was not made by edits of a program that was right. So nothing is known of it but what it says.
"""

from __future__ import annotations

from slinky.cursors.versions import Touched, Version
from slinky.ir.copies import with_program_body
from slinky.ir.effects import Touching
from slinky.ir.statements import Alloc, For, is_in_order
from slinky.ir.verifier import verify_program
from slinky.sched.legality.blocks import check_blocks
from slinky.sched.legality.folds import check_folds_of
from slinky.sched.legality.memory import check_memory
from slinky.sched.legality.multiples import check_multiples
from slinky.sched.legality.positive import check_divisors, check_positive
from slinky.sched.legality.races import check_races
from slinky.sched.legality.reads import check_inputs, check_outputs, check_reads
from slinky.sched.legality.stages import check_stages
from slinky.sched.legality.wholes import check_whole


def check_complete(version: Version) -> None:
    """Check all of a program: calls find what they read, within the inputs; outputs are written; folds hold; loops that
    are parallel or overlap do not race; what is touched of blocks lies in one; and it is well formed.

    Raises `SchedulingError` or `ProgramError` for the first thing that is not shown.
    """
    program = version.program
    verify_program(program)
    everything: Touched = {i: (None, entry) for i, entry in version.entries.items()}
    inside = version.in_order(list(everything))
    statements = [version.statement(i) for i in inside]
    calls = [s.id for s in statements if isinstance(s, Touching)]
    check_positive(version, inside)
    check_divisors(version, Version(with_program_body(program, ()), version.lineage), inside)
    for identity in calls:
        check_inputs(version, identity)
    check_reads(version, calls)
    check_outputs(version, [p.name for p in program.outputs])
    check_whole(version, everything)
    check_multiples(version, everything)
    for statement in statements:
        if isinstance(statement, Alloc):
            check_folds_of(version, statement)
        elif isinstance(statement, For) and not is_in_order(statement):
            check_races(version, statement.id)
    check_memory(version)
    if version.pipelined_loops():
        check_stages(version)
    check_blocks(version)
