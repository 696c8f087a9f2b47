"""The primitives as type checkers see them. Made by `python -m tools.signatures`; not to be edited."""

from collections.abc import Sequence
from typing import Literal, overload

from slinky.cursors.cursors import AllocCursor, CallCursor, DimCursor, GapCursor, IfCursor, LoopCursor, StatementCursor
from slinky.pipeline import Pipeline
from slinky.sched.arguments import BlockArgument
from slinky.sched.returned import (
    AbsorbLoopCursors,
    AliasCopiesCursors,
    AliasCopyCursors,
    AlignDimCursors,
    AssumeShapeCursors,
    ChooseVariantCursors,
    CloneCallCursors,
    ComputeAtCursors,
    ComputeInPlaceCursors,
    ComputeOnceCursors,
    ComputeRootCursors,
    CutCallCursors,
    CutLoopCursors,
    DivideDimCursors,
    ExtractPipelineCursors,
    FissionLoopCursors,
    FoldStorageCursors,
    FuseCallsCursors,
    FuseLoopsCursors,
    InlinePipelineCursors,
    LiftAllocCursors,
    LiftCallCursors,
    LiftIfCursors,
    MergeDimsCursors,
    ParallelizeLoopCursors,
    PipelineLoopCursors,
    PrefetchCursors,
    RemoveCallCursors,
    RemoveLoopCursors,
    RenameCursors,
    ReorderLoopsCursors,
    ReorderStatementsCursors,
    ResizeDimCursors,
    ReuseBufferCursors,
    SerializeLoopCursors,
    SetLayoutCursors,
    ShareCallsCursors,
    SimplifyCursors,
    SlideWindowCursors,
    SpecializeCursors,
    SplitBoundaryCursors,
    SplitLoopCursors,
    SplitReductionCursors,
    SplitReductionInPartsCursors,
    StageBufferCursors,
    StoreAtCursors,
    UnfoldStorageCursors,
    UnrollBufferCursors,
    UnrollLoopCursors,
    UnslideWindowCursors,
    VectorizeCursors,
)
from slinky.symbolic.expressions import Condition, ExprLike
from slinky.symbolic.intervals import Interval

@overload
def split_loop(
    p: Pipeline,
    loop: LoopCursor | DimCursor | str,
    factor: ExprLike,
    *,
    tail: str = "clamp",
    names: str | Sequence[str] | None = None,
    rc: Literal[True],
) -> tuple[Pipeline, SplitLoopCursors]: ...
@overload
def split_loop(
    p: Pipeline,
    loop: LoopCursor | DimCursor | str,
    factor: ExprLike,
    *,
    tail: str = "clamp",
    names: str | Sequence[str] | None = None,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def reorder_loops(
    p: Pipeline,
    outer: LoopCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ReorderLoopsCursors]: ...
@overload
def reorder_loops(p: Pipeline, outer: LoopCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def cut_loop(
    p: Pipeline,
    loop: LoopCursor | str,
    at: ExprLike,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, CutLoopCursors]: ...
@overload
def cut_loop(p: Pipeline, loop: LoopCursor | str, at: ExprLike, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def parallelize_loop(
    p: Pipeline,
    loop: LoopCursor | str,
    workers: ExprLike | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ParallelizeLoopCursors]: ...
@overload
def parallelize_loop(
    p: Pipeline,
    loop: LoopCursor | str,
    workers: ExprLike | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def serialize_loop(
    p: Pipeline,
    loop: LoopCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, SerializeLoopCursors]: ...
@overload
def serialize_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def fuse_loops(
    p: Pipeline,
    first: LoopCursor | str,
    second: LoopCursor | str,
    at: ExprLike | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, FuseLoopsCursors]: ...
@overload
def fuse_loops(
    p: Pipeline,
    first: LoopCursor | str,
    second: LoopCursor | str,
    at: ExprLike | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def fission_loop(
    p: Pipeline,
    gap: GapCursor | str,
    levels: int = 1,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, FissionLoopCursors]: ...
@overload
def fission_loop(p: Pipeline, gap: GapCursor | str, levels: int = 1, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def unroll_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, UnrollLoopCursors]: ...
@overload
def unroll_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def remove_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, RemoveLoopCursors]: ...
@overload
def remove_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def absorb_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, AbsorbLoopCursors]: ...
@overload
def absorb_loop(p: Pipeline, loop: LoopCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def vectorize(
    p: Pipeline,
    loop: LoopCursor | DimCursor | str,
    width: int,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, VectorizeCursors]: ...
@overload
def vectorize(
    p: Pipeline,
    loop: LoopCursor | DimCursor | str,
    width: int,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def lift_if(p: Pipeline, if_: IfCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, LiftIfCursors]: ...
@overload
def lift_if(p: Pipeline, if_: IfCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def specialize(
    p: Pipeline,
    block: BlockArgument,
    condition: Condition,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, SpecializeCursors]: ...
@overload
def specialize(p: Pipeline, block: BlockArgument, condition: Condition, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def pipeline_loop(
    p: Pipeline,
    loop: LoopCursor | str,
    stages: Sequence[StatementCursor | str] | None = None,
    depth: int | None = None,
    workers: ExprLike | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, PipelineLoopCursors]: ...
@overload
def pipeline_loop(
    p: Pipeline,
    loop: LoopCursor | str,
    stages: Sequence[StatementCursor | str] | None = None,
    depth: int | None = None,
    workers: ExprLike | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def prefetch(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    distance: int = 1,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, PrefetchCursors]: ...
@overload
def prefetch(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    distance: int = 1,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def compute_at(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ComputeAtCursors]: ...
@overload
def compute_at(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def compute_root(p: Pipeline, call: CallCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, ComputeRootCursors]: ...
@overload
def compute_root(p: Pipeline, call: CallCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def lift_call(
    p: Pipeline,
    call: CallCursor | str,
    levels: int = 1,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, LiftCallCursors]: ...
@overload
def lift_call(p: Pipeline, call: CallCursor | str, levels: int = 1, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def compute_once(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ComputeOnceCursors]: ...
@overload
def compute_once(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def cut_call(
    p: Pipeline,
    dim: DimCursor | str,
    at: ExprLike,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, CutCallCursors]: ...
@overload
def cut_call(p: Pipeline, dim: DimCursor | str, at: ExprLike, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def clone_call(
    p: Pipeline,
    call: CallCursor | str,
    reader: CallCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, CloneCallCursors]: ...
@overload
def clone_call(
    p: Pipeline,
    call: CallCursor | str,
    reader: CallCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def share_calls(
    p: Pipeline,
    call: CallCursor | str,
    other: CallCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ShareCallsCursors]: ...
@overload
def share_calls(
    p: Pipeline,
    call: CallCursor | str,
    other: CallCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def remove_call(p: Pipeline, call: CallCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, RemoveCallCursors]: ...
@overload
def remove_call(p: Pipeline, call: CallCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def split_reduction(
    p: Pipeline,
    call: CallCursor | str,
    dim: str,
    factor: ExprLike,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, SplitReductionCursors]: ...
@overload
def split_reduction(
    p: Pipeline,
    call: CallCursor | str,
    dim: str,
    factor: ExprLike,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def split_reduction_in_parts(
    p: Pipeline,
    call: CallCursor | str,
    dim: str,
    factor: ExprLike,
    pieces: ExprLike,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, SplitReductionInPartsCursors]: ...
@overload
def split_reduction_in_parts(
    p: Pipeline,
    call: CallCursor | str,
    dim: str,
    factor: ExprLike,
    pieces: ExprLike,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def choose_variant(
    p: Pipeline,
    call: CallCursor | str,
    name: str | None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ChooseVariantCursors]: ...
@overload
def choose_variant(
    p: Pipeline,
    call: CallCursor | str,
    name: str | None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def fuse_calls(
    p: Pipeline,
    first: CallCursor | str,
    second: CallCursor | str,
    name: str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, FuseCallsCursors]: ...
@overload
def fuse_calls(
    p: Pipeline,
    first: CallCursor | str,
    second: CallCursor | str,
    name: str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def extract_pipeline(
    p: Pipeline,
    block: BlockArgument,
    name: str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ExtractPipelineCursors]: ...
@overload
def extract_pipeline(p: Pipeline, block: BlockArgument, name: str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def inline_pipeline(
    p: Pipeline,
    call: CallCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, InlinePipelineCursors]: ...
@overload
def inline_pipeline(p: Pipeline, call: CallCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def slide_window(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    warmup: str = "earlier",
    rc: Literal[True],
) -> tuple[Pipeline, SlideWindowCursors]: ...
@overload
def slide_window(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    warmup: str = "earlier",
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def unslide_window(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, UnslideWindowCursors]: ...
@overload
def unslide_window(
    p: Pipeline,
    call: CallCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def fold_storage(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    factor: ExprLike | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, FoldStorageCursors]: ...
@overload
def fold_storage(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    factor: ExprLike | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def unfold_storage(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, UnfoldStorageCursors]: ...
@overload
def unfold_storage(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def store_at(
    p: Pipeline,
    alloc: AllocCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, StoreAtCursors]: ...
@overload
def store_at(
    p: Pipeline,
    alloc: AllocCursor | str,
    loop: LoopCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def lift_alloc(
    p: Pipeline,
    alloc: AllocCursor | str,
    levels: int = 1,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, LiftAllocCursors]: ...
@overload
def lift_alloc(p: Pipeline, alloc: AllocCursor | str, levels: int = 1, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def resize_dim(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    interval: Interval,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ResizeDimCursors]: ...
@overload
def resize_dim(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    interval: Interval,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def align_dim(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    multiple: ExprLike,
    begin: ExprLike | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, AlignDimCursors]: ...
@overload
def align_dim(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    multiple: ExprLike,
    begin: ExprLike | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def unroll_buffer(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, UnrollBufferCursors]: ...
@overload
def unroll_buffer(p: Pipeline, alloc: AllocCursor | str, dim: str | int, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def stage_buffer(
    p: Pipeline,
    block: BlockArgument,
    buffer: str,
    region: Sequence[Interval] | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, StageBufferCursors]: ...
@overload
def stage_buffer(
    p: Pipeline,
    block: BlockArgument,
    buffer: str,
    region: Sequence[Interval] | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def reorder_statements(
    p: Pipeline,
    block: BlockArgument,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ReorderStatementsCursors]: ...
@overload
def reorder_statements(p: Pipeline, block: BlockArgument, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def assume_shape(
    p: Pipeline,
    *,
    rc: Literal[True],
    **sizes: Sequence[object],
) -> tuple[Pipeline, AssumeShapeCursors]: ...
@overload
def assume_shape(p: Pipeline, *, rc: Literal[False] = False, **sizes: Sequence[object]) -> Pipeline: ...
@overload
def simplify(p: Pipeline, *, rc: Literal[True]) -> tuple[Pipeline, SimplifyCursors]: ...
@overload
def simplify(p: Pipeline, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def rename(p: Pipeline, name: str, *, rc: Literal[True]) -> tuple[Pipeline, RenameCursors]: ...
@overload
def rename(p: Pipeline, name: str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def alias_copies(
    p: Pipeline,
    *,
    keep: str | Sequence[str] = (),
    stay: Sequence[CallCursor | str] = (),
    rc: Literal[True],
) -> tuple[Pipeline, AliasCopiesCursors]: ...
@overload
def alias_copies(
    p: Pipeline,
    *,
    keep: str | Sequence[str] = (),
    stay: Sequence[CallCursor | str] = (),
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def alias_copy(p: Pipeline, copy: CallCursor | str, *, rc: Literal[True]) -> tuple[Pipeline, AliasCopyCursors]: ...
@overload
def alias_copy(p: Pipeline, copy: CallCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def split_boundary(
    p: Pipeline,
    copy: CallCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, SplitBoundaryCursors]: ...
@overload
def split_boundary(p: Pipeline, copy: CallCursor | str, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def set_layout(
    p: Pipeline,
    alloc: AllocCursor | str,
    order: Sequence[str | int],
    *,
    strides: Sequence[ExprLike | None] | None = None,
    alignment: int = 1,
    rc: Literal[True],
) -> tuple[Pipeline, SetLayoutCursors]: ...
@overload
def set_layout(
    p: Pipeline,
    alloc: AllocCursor | str,
    order: Sequence[str | int],
    *,
    strides: Sequence[ExprLike | None] | None = None,
    alignment: int = 1,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def divide_dim(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    factor: int,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, DivideDimCursors]: ...
@overload
def divide_dim(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    factor: int,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def merge_dims(
    p: Pipeline,
    alloc: AllocCursor | str,
    dim: str | int,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, MergeDimsCursors]: ...
@overload
def merge_dims(p: Pipeline, alloc: AllocCursor | str, dim: str | int, *, rc: Literal[False] = False) -> Pipeline: ...
@overload
def compute_in_place(
    p: Pipeline,
    call: CallCursor | str,
    buffer: str | None = None,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ComputeInPlaceCursors]: ...
@overload
def compute_in_place(
    p: Pipeline,
    call: CallCursor | str,
    buffer: str | None = None,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
@overload
def reuse_buffer(
    p: Pipeline,
    alloc: AllocCursor | str,
    other: AllocCursor | str,
    *,
    rc: Literal[True],
) -> tuple[Pipeline, ReuseBufferCursors]: ...
@overload
def reuse_buffer(
    p: Pipeline,
    alloc: AllocCursor | str,
    other: AllocCursor | str,
    *,
    rc: Literal[False] = False,
) -> Pipeline: ...
