"""Scheduling: primitives grouped by what they change, the decorator that makes them, and what makes them legal."""

from slinky.sched.blocks import reorder_statements
from slinky.sched.loops import cut_loop, parallelize_loop, reorder_loops, split_loop
from slinky.sched.operation import sched_op
from slinky.sched.placement import compute_at, compute_root
from slinky.sched.records import ReturnedCursors
from slinky.sched.simplification import rename, simplify
from slinky.sched.sliding import slide_window
from slinky.sched.storage import fold_storage, lift_alloc, store_at, unfold_storage

__all__ = [
    "ReturnedCursors",
    "compute_at",
    "compute_root",
    "cut_loop",
    "fold_storage",
    "lift_alloc",
    "parallelize_loop",
    "rename",
    "reorder_loops",
    "reorder_statements",
    "sched_op",
    "simplify",
    "slide_window",
    "split_loop",
    "store_at",
    "unfold_storage",
]
