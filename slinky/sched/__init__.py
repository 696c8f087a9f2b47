"""Scheduling: primitives grouped by what they change, the decorator that makes them, and what makes them legal."""

from slinky.sched.editor import Editor, edit
from slinky.sched.operation import sched_op
from slinky.sched.primitives import (
    compute_at,
    compute_root,
    cut_loop,
    fold_storage,
    lift_alloc,
    parallelize_loop,
    rename,
    reorder_loops,
    reorder_statements,
    simplify,
    slide_window,
    split_loop,
    store_at,
    unfold_storage,
)
from slinky.sched.records import ReturnedCursors

__all__ = [
    "Editor",
    "ReturnedCursors",
    "compute_at",
    "compute_root",
    "cut_loop",
    "edit",
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
