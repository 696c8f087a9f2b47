"""The rewrites, grouped by what they change. Each is its edit, its returned cursors and its refusals."""

from slinky.sched.primitives.all_copies import alias_copies
from slinky.sched.primitives.blocks import reorder_statements
from slinky.sched.primitives.calls import clone_call, cut_call, remove_call, share_calls
from slinky.sched.primitives.conditions import lift_if, specialize
from slinky.sched.primitives.copies import alias_copy, split_boundary
from slinky.sched.primitives.extents import align_dim, resize_dim
from slinky.sched.primitives.fission import fission_loop
from slinky.sched.primitives.fusion import fuse_loops
from slinky.sched.primitives.layouts import divide_dim, merge_dims, set_layout
from slinky.sched.primitives.lifting import compute_once, lift_call
from slinky.sched.primitives.loops import cut_loop, parallelize_loop, reorder_loops, serialize_loop, split_loop
from slinky.sched.primitives.memory import compute_in_place, reuse_buffer
from slinky.sched.primitives.nesting import extract_pipeline, inline_pipeline
from slinky.sched.primitives.pieces import unroll_buffer
from slinky.sched.primitives.pipelining import pipeline_loop, prefetch
from slinky.sched.primitives.placement import compute_at, compute_root
from slinky.sched.primitives.reductions import split_reduction, split_reduction_in_parts
from slinky.sched.primitives.shapes import assume_shape
from slinky.sched.primitives.simplification import rename, simplify
from slinky.sched.primitives.sliding import slide_window, unslide_window
from slinky.sched.primitives.staging import stage_buffer
from slinky.sched.primitives.storage import fold_storage, lift_alloc, store_at, unfold_storage
from slinky.sched.primitives.unrolling import absorb_loop, remove_loop, unroll_loop
from slinky.sched.primitives.variants import choose_variant, fuse_calls
from slinky.sched.primitives.vectors import vectorize

__all__ = [
    "absorb_loop",
    "alias_copies",
    "alias_copy",
    "align_dim",
    "assume_shape",
    "choose_variant",
    "clone_call",
    "compute_at",
    "compute_in_place",
    "compute_once",
    "compute_root",
    "cut_call",
    "cut_loop",
    "divide_dim",
    "extract_pipeline",
    "fission_loop",
    "fold_storage",
    "fuse_calls",
    "fuse_loops",
    "inline_pipeline",
    "lift_alloc",
    "lift_call",
    "lift_if",
    "merge_dims",
    "parallelize_loop",
    "pipeline_loop",
    "prefetch",
    "remove_call",
    "remove_loop",
    "rename",
    "reorder_loops",
    "reorder_statements",
    "resize_dim",
    "reuse_buffer",
    "serialize_loop",
    "set_layout",
    "share_calls",
    "simplify",
    "slide_window",
    "specialize",
    "split_boundary",
    "split_loop",
    "split_reduction",
    "split_reduction_in_parts",
    "stage_buffer",
    "store_at",
    "unfold_storage",
    "unroll_buffer",
    "unroll_loop",
    "unslide_window",
    "vectorize",
]
