"""Random schedules: the primitives that chains of them are drawn from (see `random_chains`).

How each is tried stands in `random_call_steps`, `random_loop_steps` and `random_storage_steps`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import random_call_steps as calls
import random_loop_steps as loops
import random_storage_steps as storages
from random_chains import AnyChain, Primitive
from random_preparations import PREPARING, WEIGHTS_WHERE_PREPARED
from random_provocations import besiege, provoke
from random_situations import situate

PRIMITIVES: dict[str, tuple[Primitive, int]] = {
    "split_loop of a dimension": (loops.split_dim, 6),
    "split_loop of a loop": (loops.split_loop, 2),
    "compute_at": (calls.compute_at, 12),
    "compute_root": (calls.compute_root, 1),
    "slide_window": (calls.slide_window, 10),
    "fold_storage": (storages.fold_storage, 5),
    "unfold_storage": (storages.unfold_storage, 1),
    "store_at": (storages.store_at, 4),
    "lift_alloc": (storages.lift_alloc, 2),
    "resize_dim": (storages.resize_dim, 1),
    "align_dim": (storages.align_dim, 1),
    "unroll_buffer": (storages.unroll_buffer, 2),
    "set_layout": (storages.set_layout, 1),
    "divide_dim": (storages.divide_dim, 2),
    "merge_dims": (storages.merge_dims, 1),
    "reorder_loops": (loops.reorder_loops, 2),
    "cut_loop": (loops.cut_loop, 2),
    "parallelize_loop": (loops.parallelize_loop, 3),
    "pipeline_loop": (loops.pipeline_loop, 2),
    "prefetch": (loops.prefetch, 1),
    "reorder_statements": (loops.reorder_statements, 1),
    "alias_copy": (calls.alias_copy, 2),
    "split_boundary": (calls.split_boundary, 1),
    "fuse_loops": (loops.fuse_loops, 2),
    "fission_loop": (loops.fission_loop, 2),
    "unroll_loop": (loops.unroll_loop, 2),
    "vectorize": (loops.vectorize, 2),
    "remove_loop": (loops.remove_loop, 1),
    "absorb_loop": (loops.absorb_loop, 1),
    "lift_call": (calls.lift_call, 2),
    "compute_once": (calls.compute_once, 1),
    "unslide_window": (calls.unslide_window, 2),
    "serialize_loop": (loops.serialize_loop, 1),
    "specialize": (loops.specialize, 1),
    "lift_if": (loops.lift_if, 1),
    "assume_shape": (calls.assume_shape, 1),
    "cut_call": (calls.cut_call, 1),
    "clone_call": (calls.clone_call, 2),
    "split_reduction": (calls.split_reduction, 3),
    "split_reduction_in_parts": (calls.split_reduction_in_parts, 2),
    "share_calls": (calls.share_calls, 1),
    "remove_call": (calls.remove_call, 1),
    "choose_variant": (calls.choose_variant, 1),
    "fuse_calls": (calls.fuse_calls, 1),
    "extract_pipeline": (calls.extract_pipeline, 2),
    "inline_pipeline": (calls.inline_pipeline, 2),
    "stage_buffer": (storages.stage_buffer, 1),
    "compute_in_place": (storages.compute_in_place, 1),
    "reuse_buffer": (storages.reuse_buffer, 2),
    "simplify": (calls.simplify, 1),
}
"""The primitives, each with how often it is drawn."""


@dataclass
class Chain(AnyChain):
    """A chain of all primitives."""

    primitives: dict[str, tuple[Primitive, int]] = field(default_factory=lambda: dict(PRIMITIVES))
    provokes: bool = False
    """Whether primitives are tried where they are likely to be refused, too (see `random_provocations`)."""

    def __post_init__(self) -> None:
        self.preparing = PREPARING
        if self.prepares:
            weights = WEIGHTS_WHERE_PREPARED
            self.primitives = {n: (step, weights.get(n, weight)) for n, (step, weight) in self.primitives.items()}
        super().__post_init__()

    def step(self) -> None:
        """Draw a primitive, as ever; now and then many of them where they are likely to be refused, or one where it
        should be."""
        match self.choose(range(9)) if self.provokes else 0:
            case 8:
                provoke(self)
            case 7:
                besiege(self)
            case 4 | 5 | 6:
                situate(self)
            case _:
                super().step()
