"""Primitives on programs in programs: a block becomes a func of its own, whose operation is a pipeline, and back.

Idea. `extracting` makes the func and its call, `inlining` the statements in the place of one; here they are put where
the others stood.

Invariant: the gate is told that the values are the same (`COMPOSED`), and proves all else of what was put.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import BlockCursor, CallCursor
from slinky.cursors.editing import Edit
from slinky.errors import SchedulingError
from slinky.ir.operations import Nested
from slinky.pipeline import Pipeline
from slinky.sched.extracting import extracted
from slinky.sched.gate import settle
from slinky.sched.inlining import inlined
from slinky.sched.legality.reasons import COMPOSED, Kept, Obligation
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import require_name
from slinky.sched.returned import ExtractPipelineCursors, InlinePipelineCursors


@sched_op(ExtractPipelineCursors)
def extract_pipeline(p: Pipeline, block: BlockCursor, name: str) -> Any:
    """Make a func of a block: one call of a func `name`, which runs the block as a pipeline of its own.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 8)
        >>> p = store_at(compute_at(p, "scale", "for x"), "alloc scaled", "for x")
        >>> print(p.body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   for x in out.x.min..out.x.max step 8:
              alloc scaled: float32[x - 1 .. min(out.x.max + 1, x + 8)]
              scaled[x - 1 .. x + 8] = scale(inp[x - 1 .. x + 8])
              out[x .. x + 7] = blur(scaled[x - 1 .. x + 8])
        >>> p, extracted = extract_pipeline(p, p.find("for x").body(), "blurred", rc=True)
        >>> print(extracted.call)
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
            for x in out.x.min..out.x.max step 8:
        >     out[x .. x + 7] = blurred(inp[x - 1 .. x + 8])
        >>> import slinky as sl
        >>> print(sl.inner_pipeline(p, "blurred"))
        pipeline blurred(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
          scaled[:] = scale(inp[:])
          out[:] = blur(scaled[:])

    The func computes any box, as others do: its calls can be split, moved, and computed where they are read.
    `inner_pipeline` gives the pipeline, `inline_pipeline` puts the statements back.

    Refused: checks; a block that writes different boxes of several buffers, or a buffer that is read in it before it
    is written there; a buffer that is allocated in the block and used behind it; what depends on a loop around the
    block in another way than by the box that is computed; statements that, for another box, are not shown to do what
    they do, or to read no more than what the func then says.

    Parameters:
        block: the statements.
        name: what the func is called, and the pipeline.

    Cursors:
        call: the call.
    """
    version, ids = p._version, block._ids()
    require_name(name, "a pipeline")
    if ("call", name) in version.names() or version.program.has_parameter(name) or ("alloc", name) in version.names():
        raise SchedulingError(f"the name {name!r} is taken here", place=block)
    call = extracted(version, ids, name, block)
    edit = Edit(version)
    for identity in ids[1:]:
        edit.delete(identity, f"made it part of the pipeline {name}")
    edit.replace(ids[0], (call,), f"made it part of the pipeline {name}")
    new = settle(edit, "extract_pipeline", Kept(COMPOSED, (Obligation.VALUES,)))
    return new, (CallCursor(new._version, call.id),)


@sched_op(InlinePipelineCursors)
def inline_pipeline(p: Pipeline, call: CallCursor) -> Any:
    """Put the statements of a pipeline in the place of a call of it.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = examples.blur()
        >>> p, extracted = extract_pipeline(p, p.body()[2:], "both", rc=True)
        >>> p = split_loop(p, "both.x", 32)
        >>> print(p)
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          for x in out.x.min..out.x.max step 32:
            out[x .. x + 31] = both(inp[x - 1 .. x + 32])
        >>> print(inline_pipeline(p, "both"))
        pipeline blur(inp: float32[1]) -> (out: float32[1]):
          check inp.x.min <= out.x.min - 1
          check out.x.max <= inp.x.max - 1
          for x in out.x.min..out.x.max step 32:
            alloc scaled: float32[x - 1 .. min(out.x.max + 1, x + 32)]
            scaled[:] = scale(inp[:])
            out[x .. min(out.x.max, x + 31)] = blur(scaled[:])

    What the pipeline says of its inputs and outputs is said of what the call reads and writes. Where nothing is
    computed, the statements do nothing: an `if` around them says so where that does not follow.

    Refused: a call of another func; what the pipeline checks, if it is not shown to hold; funcs in it that speak of the
    ends of what they are given, if these move with a loop; constants that this pipeline has not.

    Cursors:
        block: the statements.
    """
    version, old = p._version, call._call
    if not isinstance(old.func.operation, Nested):
        raise SchedulingError(
            f"{old.func.name} is no pipeline", place=call, hint="extract_pipeline and pipeline.as_func make such funcs"
        )
    refused: SchedulingError | None = None
    for block in inlined(version, old, old.func.operation.program, call):
        edit = Edit(version)
        edit.replace(old.id, block, "put its statements in its place")
        try:
            new = settle(edit, "inline_pipeline", Kept(COMPOSED, (Obligation.VALUES,)))
        except SchedulingError as error:
            refused = refused or error
            continue
        return new, (BlockCursor(new._version, block[0].id, block[-1].id),)
    assert refused is not None
    raise refused
