"""What each primitive returns with `rc=True`: the classes of its records, for editors and type checkers.

A single cursor is an `InvalidCursor` where there is no such place. Where that is usual, its annotation says so.
"""

from __future__ import annotations

from slinky.cursors.base import InvalidCursor
from slinky.cursors.cursors import AllocCursor, BlockCursor, CallCursor, DimCursor, GapCursor, IfCursor, LoopCursor
from slinky.sched.records import ReturnedCursors


class CallAllocsCursors(ReturnedCursors):
    """What records have that tell of a call and the buffers that it writes."""

    allocs: tuple[AllocCursor, ...]

    @property
    def alloc(self) -> AllocCursor:
        """The only allocation; an `InvalidCursor` if there is none, `PatternError` if there are several."""
        alloc: AllocCursor = self.only("alloc")
        return alloc


class ComputeAtCursors(CallAllocsCursors):
    """Returned by `compute_at`."""

    loop: LoopCursor
    call: CallCursor


class SlideWindowCursors(CallAllocsCursors):
    """Returned by `slide_window`."""

    loop: LoopCursor
    call: CallCursor


class ComputeRootCursors(CallAllocsCursors):
    """Returned by `compute_root`."""

    call: CallCursor


class StoreAtCursors(ReturnedCursors):
    """Returned by `store_at`."""

    loop: LoopCursor
    alloc: AllocCursor


class FoldStorageCursors(ReturnedCursors):
    """Returned by `fold_storage`."""

    alloc: AllocCursor


class UnfoldStorageCursors(ReturnedCursors):
    """Returned by `unfold_storage`."""

    alloc: AllocCursor


class LiftAllocCursors(ReturnedCursors):
    """Returned by `lift_alloc`."""

    alloc: AllocCursor


class SplitLoopCursors(ReturnedCursors):
    """Returned by `split_loop`."""

    outer: LoopCursor
    inner: LoopCursor | DimCursor
    tail: LoopCursor | CallCursor | InvalidCursor


class ReorderLoopsCursors(ReturnedCursors):
    """Returned by `reorder_loops`."""

    outer: LoopCursor
    inner: LoopCursor


class CutLoopCursors(ReturnedCursors):
    """Returned by `cut_loop`."""

    first: LoopCursor
    second: LoopCursor


class FuseLoopsCursors(ReturnedCursors):
    """Returned by `fuse_loops`."""

    loop: LoopCursor


class FissionLoopCursors(ReturnedCursors):
    """Returned by `fission_loop`."""

    first: LoopCursor
    gap: GapCursor
    second: LoopCursor


class UnrollLoopCursors(ReturnedCursors):
    """Returned by `unroll_loop`."""

    block: BlockCursor


class VectorizeCursors(ReturnedCursors):
    """Returned by `vectorize`."""

    loop: LoopCursor
    call: CallCursor


class RemoveLoopCursors(ReturnedCursors):
    """Returned by `remove_loop`."""

    block: BlockCursor


class SerializeLoopCursors(ReturnedCursors):
    """Returned by `serialize_loop`."""

    loop: LoopCursor


class LiftCallCursors(ReturnedCursors):
    """Returned by `lift_call`."""

    call: CallCursor


class ComputeOnceCursors(ReturnedCursors):
    """Returned by `compute_once`."""

    loop: LoopCursor
    call: CallCursor


class UnslideWindowCursors(ReturnedCursors):
    """Returned by `unslide_window`."""

    loop: LoopCursor
    call: CallCursor


class AbsorbLoopCursors(ReturnedCursors):
    """Returned by `absorb_loop`."""

    call: CallCursor


class LiftIfCursors(ReturnedCursors):
    """Returned by `lift_if`."""

    if_: IfCursor


class SpecializeCursors(ReturnedCursors):
    """Returned by `specialize`."""

    if_: IfCursor


class CutCallCursors(ReturnedCursors):
    """Returned by `cut_call`."""

    first: CallCursor
    second: CallCursor


class CloneCallCursors(ReturnedCursors):
    """Returned by `clone_call`."""

    allocs: tuple[AllocCursor, ...]
    call: CallCursor


class SplitReductionCursors(ReturnedCursors):
    """Returned by `split_reduction`."""

    init: CallCursor
    loop: LoopCursor
    update: CallCursor
    final: CallCursor


class ShareCallsCursors(ReturnedCursors):
    """Returned by `share_calls`."""

    call: CallCursor


class RemoveCallCursors(ReturnedCursors):
    """Returned by `remove_call`: nothing, for what was given is gone."""


class ChooseVariantCursors(ReturnedCursors):
    """Returned by `choose_variant`."""

    call: CallCursor


class FuseCallsCursors(ReturnedCursors):
    """Returned by `fuse_calls`."""

    call: CallCursor


class ParallelizeLoopCursors(ReturnedCursors):
    """Returned by `parallelize_loop`."""

    loop: LoopCursor


class PipelineLoopCursors(ReturnedCursors):
    """Returned by `pipeline_loop`."""

    loop: LoopCursor
    stages: tuple[BlockCursor, ...]


class PrefetchCursors(ReturnedCursors):
    """Returned by `prefetch`."""

    call: CallCursor
    alloc: AllocCursor


class ReorderStatementsCursors(ReturnedCursors):
    """Returned by `reorder_statements`."""

    block: BlockCursor


class SimplifyCursors(ReturnedCursors):
    """Returned by `simplify`: nothing, for no place could be relied on."""


class AssumeShapeCursors(ReturnedCursors):
    """Returned by `assume_shape`: nothing, for no place was given, and none could be relied on."""


class RenameCursors(ReturnedCursors):
    """Returned by `rename`: nothing, for no place was given or changed."""


class AliasCopyCursors(ReturnedCursors):
    """Returned by `alias_copy`."""

    calls: tuple[CallCursor, ...]


class SplitBoundaryCursors(ReturnedCursors):
    """Returned by `split_boundary`."""

    calls: tuple[CallCursor, ...]


class AliasCopiesCursors(ReturnedCursors):
    """Returned by `alias_copies`: nothing, for no place was given."""


class StageBufferCursors(ReturnedCursors):
    """Returned by `stage_buffer`."""

    alloc: AllocCursor
    load: CallCursor | InvalidCursor
    block: BlockCursor
    store: CallCursor | InvalidCursor


class ResizeDimCursors(ReturnedCursors):
    """Returned by `resize_dim`."""

    alloc: AllocCursor


class AlignDimCursors(ReturnedCursors):
    """Returned by `align_dim`."""

    alloc: AllocCursor


class UnrollBufferCursors(ReturnedCursors):
    """Returned by `unroll_buffer`."""

    allocs: tuple[AllocCursor, ...]


class DivideDimCursors(ReturnedCursors):
    """Returned by `divide_dim`."""

    alloc: AllocCursor


class MergeDimsCursors(ReturnedCursors):
    """Returned by `merge_dims`."""

    alloc: AllocCursor


class SetLayoutCursors(ReturnedCursors):
    """Returned by `set_layout`."""

    alloc: AllocCursor


class ComputeInPlaceCursors(ReturnedCursors):
    """Returned by `compute_in_place`."""

    alloc: AllocCursor
    call: CallCursor


class ReuseBufferCursors(ReturnedCursors):
    """Returned by `reuse_buffer`."""

    alloc: AllocCursor


class SplitReductionInPartsCursors(ReturnedCursors):
    """Returned by `split_reduction_in_parts`."""

    parts: LoopCursor
    init: CallCursor
    loop: LoopCursor
    update: CallCursor
    merge: CallCursor
    final: CallCursor


class ExtractPipelineCursors(ReturnedCursors):
    """Returned by `extract_pipeline`."""

    call: CallCursor


class InlinePipelineCursors(ReturnedCursors):
    """Returned by `inline_pipeline`."""

    block: BlockCursor
