"""Run pipelines of array operations in less memory and time, without changing the operations.

The public names. A pipeline is described by `BufferExpr` and `Func`, made by `build_pipeline`, and run by calling it.
"""

from slinky import copies
from slinky.build import build_pipeline
from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.cursors import (
    AllocCursor,
    BlockCursor,
    CallCursor,
    CheckCursor,
    DimCursor,
    ExprCursor,
    GapCursor,
    IfCursor,
    LoopCursor,
    PassCursor,
    StatementCursor,
)
from slinky.cursors.history import History
from slinky.cursors.parameters import ArgCursor
from slinky.errors import (
    ArgumentError,
    CallbackError,
    CheckFailedError,
    ExecutionError,
    ExpressionError,
    GraphError,
    InvalidCursorError,
    OperationError,
    OverwrittenReadError,
    PatternError,
    ProgramError,
    RaceError,
    SchedulingError,
    SlinkyError,
    StorageError,
    UninitializedReadError,
)
from slinky.graph.buffers import BufferExpr, constant, same_shape, scalar, variables
from slinky.graph.funcs import Func
from slinky.graph.returning import returns
from slinky.pipeline import Pipeline
from slinky.runtime.buffers import Buffer
from slinky.runtime.statistics import Hooks, Memory, RunStatistics
from slinky.sched import (
    BlockArgument,
    Editor,
    ReturnedCursors,
    compute_at,
    compute_root,
    cut_loop,
    edit,
    fold_storage,
    lift_alloc,
    parallelize_loop,
    rename,
    reorder_loops,
    reorder_statements,
    sched_op,
    simplify,
    slide_window,
    split_loop,
    store_at,
    unfold_storage,
)
from slinky.symbolic.expressions import Expr, equal, maximum, minimum, select, unequal
from slinky.symbolic.intervals import interval

__version__ = "0.1.0"

__all__ = [
    "AllocCursor",
    "ArgCursor",
    "ArgumentError",
    "BlockArgument",
    "BlockCursor",
    "Buffer",
    "BufferExpr",
    "CallCursor",
    "CallbackError",
    "CheckCursor",
    "CheckFailedError",
    "Cursor",
    "DimCursor",
    "Editor",
    "ExecutionError",
    "Expr",
    "ExprCursor",
    "ExpressionError",
    "Func",
    "GapCursor",
    "GraphError",
    "History",
    "Hooks",
    "IfCursor",
    "InvalidCursor",
    "InvalidCursorError",
    "LoopCursor",
    "Memory",
    "OperationError",
    "OverwrittenReadError",
    "PassCursor",
    "PatternError",
    "Pipeline",
    "ProgramError",
    "RaceError",
    "ReturnedCursors",
    "RunStatistics",
    "SchedulingError",
    "SlinkyError",
    "StatementCursor",
    "StorageError",
    "UninitializedReadError",
    "build_pipeline",
    "compute_at",
    "compute_root",
    "constant",
    "copies",
    "cut_loop",
    "edit",
    "equal",
    "fold_storage",
    "interval",
    "lift_alloc",
    "maximum",
    "minimum",
    "parallelize_loop",
    "rename",
    "reorder_loops",
    "reorder_statements",
    "returns",
    "same_shape",
    "scalar",
    "sched_op",
    "select",
    "simplify",
    "slide_window",
    "split_loop",
    "store_at",
    "unequal",
    "unfold_storage",
    "variables",
]
