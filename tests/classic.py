"""The pipelines that every scheduler of arrays should be able to do, and what each takes: one table.

What a schedule promises is a number here: the bytes of intermediates that are live at once, and how many elements are
computed again. The graphs themselves are in `annotated`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import annotated
import attrs
from annotated import HEIGHT, KEYS, WIDTH, Case

import slinky as sl
from slinky.graph.annotations import reduced_dims
from slinky.symbolic import variable

ROW = 8 * WIDTH
WIDE = 8 * (WIDTH + 2)
WIDER = 8 * (WIDTH + 4)

EAGER = sl.Machine(
    near_bytes=64,
    shared_bytes=1024,
    near_bandwidth=1e12,
    shared_bandwidth=1e9,
    memory_bandwidth=1e6,
    call_seconds=1e-12,
)
"""A machine on which calls cost nothing and memory is slow: whatever can be computed together is, however small."""


def cuts(step: int) -> int:
    """How many cuts there are between strips of so many rows."""
    return -(-HEIGHT // step) - 1


def nothing(_step: int) -> int:
    """Where no two strips need the same of anything."""
    return 0


def reach(lo: int, hi: int, size: int) -> int:
    """How many pieces of a size a range has something of."""
    return hi // size - lo // size + 1


def strips_of(extent: int, step: int) -> list[tuple[int, int]]:
    """Where strips of so many begin and end."""
    return [(at, min(at + step, extent) - 1) for at in range(0, extent, step)]


def of_three_levels(lo: int, hi: int) -> int:
    """How many elements a strip of a pyramid of three levels needs of them all: whole eights, and two levels up."""
    return (8 + 4 + 2 + 1) * reach(lo, hi, 8) + reach(lo, hi, 4) + reach(lo, hi, 2)


def of_whole_fours(lo: int, hi: int) -> int:
    """How many elements a strip of a window of three needs, in whole pieces of four."""
    return 4 * reach(lo - 1, hi + 1, 4)


@attrs.frozen(kw_only=True)
class Classic:
    """A pipeline, and what it takes under each kind of schedule, for strips of so many rows of what comes last."""

    full: int
    """Bytes of intermediates, not scheduled."""

    strips: Callable[[int], int]
    """Bytes, in strips one after the other: pieces, and windows of what two strips share."""

    task: Callable[[int], int] | None = None
    """Bytes of a strip that has everything for itself; as much as in strips one after the other, where it is None."""

    shared: int = 0
    """Bytes of what is computed before parallel strips, for all of them."""

    again: Callable[[int], int] = nothing
    """Elements of all funcs that parallel strips compute again, because both of two neighbours need them."""

    also: tuple[str, ...] = ()
    """Funcs with loops of their own, beside those that make the outputs."""

    states: int = 0
    """Bytes of all that a reduction knows so far: `auto_schedule` may reduce in pieces, and not mind these."""

    alone: tuple[int, int]
    """Bytes and elements computed again under `auto_schedule`, at most, for one worker."""

    both: tuple[int, int]
    """The same for two workers."""

    def in_parallel(self, step: int) -> int:
        """Bytes of two strips at the same time."""
        return self.shared + 2 * (self.task or self.strips)(step)


TABLE: dict[str, Classic] = {
    "elementwise_1d": Classic(full=8 * HEIGHT, strips=lambda s: 8 * s, alone=(8, 0), both=(16, 0)),
    "elementwise_2d": Classic(full=HEIGHT * ROW, strips=lambda s: s * ROW, alone=(80, 0), both=(160, 0)),
    "matmuls": Classic(full=HEIGHT * 8 * 7, strips=lambda s: s * 8 * 7, alone=(56, 0), both=(112, 0)),
    "stencil": Classic(
        full=(HEIGHT + 2) * WIDE,
        strips=lambda s: (s + 2) * WIDE,
        again=lambda s: 2 * cuts(s) * (WIDTH + 2),
        alone=(288, 0),
        both=(576, 72),
    ),
    "stencil_chain": Classic(
        full=(HEIGHT + 4) * WIDER + (HEIGHT + 2) * WIDE,
        strips=lambda s: (s + 2) * (WIDE + WIDER),
        task=lambda s: (s + 4) * WIDER + (s + 2) * WIDE,
        again=lambda s: cuts(s) * (4 * (WIDTH + 4) + 2 * (WIDTH + 2)),
        alone=(624, 0),
        both=(624, 0),
    ),
    "several_outputs": Classic(  # which the first func makes: parallel strips would both write it
        full=(HEIGHT + 2) * ROW,
        strips=lambda s: (s + 2) * ROW,
        task=nothing,
        shared=(HEIGHT + 2) * ROW,
        alone=(120, 0),
        both=(1200, 0),
    ),
    "ignored_output": Classic(full=2 * HEIGHT * ROW, strips=lambda s: 2 * s * ROW, alone=(160, 0), both=(320, 0)),
    "outer_product": Classic(
        full=8 * HEIGHT + ROW,
        strips=lambda s: 8 * s + ROW,
        task=lambda s: 8 * s,
        shared=ROW,
        alone=(88, 0),
        both=(96, 0),
    ),
    "unrelated": Classic(
        full=(HEIGHT + 2) * ROW,
        strips=lambda s: (s + 2) * ROW,
        again=lambda s: 2 * cuts(s) * WIDTH,
        alone=(120, 0),
        both=(240, 0),
    ),
    "padded_stencil": Classic(
        full=HEIGHT * ROW + (HEIGHT + 2) * WIDE,
        strips=lambda s: s * ROW + (s + 2) * WIDE,
        task=lambda s: (s + 2) * (ROW + WIDE),
        again=lambda s: 2 * cuts(s) * (WIDTH + WIDTH + 2),
        alone=(368, 20),
        both=(368, 20),
    ),
    "padded_separable": Classic(  # of which never more than two are live: full ones follow each other
        full=HEIGHT * (ROW + WIDE),
        strips=lambda s: 2 * s * ROW + s * WIDE + (s + 2) * ROW,
        task=lambda s: (s + 2) * (3 * ROW + WIDE),
        again=lambda s: 2 * cuts(s) * (3 * WIDTH + WIDTH + 2),
        alone=(496, 64),
        both=(496, 64),
    ),
    "constants": Classic(
        full=ROW + (HEIGHT + 2) * ROW,
        strips=lambda s: ROW + (s + 2) * ROW,
        task=lambda s: (s + 2) * ROW,
        shared=ROW,
        again=lambda s: 2 * cuts(s) * WIDTH,
        alone=(128, 0),
        both=(320, 0),
    ),
    "parallel_stencils": Classic(
        full=(HEIGHT + 2) * WIDE + 2 * HEIGHT * ROW,
        strips=lambda s: 2 * (s + 2) * WIDE + 2 * s * ROW,
        again=lambda s: 4 * cuts(s) * (WIDTH + 2),
        alone=(736, 0),
        both=(1472, 144),
    ),
    "diamond": Classic(
        full=(3 * HEIGHT + 6) * ROW,
        strips=lambda s: 2 * (s + 2) * ROW + s * ROW,
        task=lambda s: (3 * s + 6) * ROW,
        again=lambda s: cuts(s) * 6 * WIDTH,
        alone=(360, 0),
        both=(720, 0),
    ),
    "fork": Classic(  # two loops of two outputs: what both read is there for both, unless the loops are fused
        full=HEIGHT * ROW,
        strips=lambda s: HEIGHT * ROW,
        task=nothing,
        shared=HEIGHT * ROW,
        alone=(80, 0),
        both=(160, 0),
    ),
    "split": Classic(  # a window of half of it
        full=2 * HEIGHT * ROW,
        strips=lambda s: (HEIGHT + s) * ROW,
        again=lambda s: cuts(s) * HEIGHT * WIDTH,
        alone=(208, 0),
        both=(416, 0),
    ),
    "upsampling": Classic(  # a strip at an odd place has half a row too many at each end
        full=HEIGHT * ROW,
        strips=lambda s: (s // 2 + 1) * ROW if s > 1 else ROW,
        task=lambda s: (s + 1) // 2 * ROW,
        again=lambda s: WIDTH * sum(at % 2 for at in range(s, 2 * HEIGHT, s)),
        alone=(80, 0),
        both=(160, 0),
    ),
    "sum_of_slices": Classic(full=4 * HEIGHT * ROW, strips=lambda s: 4 * s * ROW, alone=(320, 0), both=(640, 0)),
    "softmax": Classic(
        full=HEIGHT * ROW + 8 * HEIGHT, strips=lambda s: s * ROW + 2 * 8 * s, alone=(96, 0), both=(192, 0)
    ),
    "softmax_rows_and_columns": Classic(  # sums of columns need all that is divided by them
        full=2 * HEIGHT * ROW,
        strips=lambda s: (HEIGHT + s) * ROW,
        task=lambda s: s * ROW,
        shared=HEIGHT * ROW,
        also=("powers_of",),
        alone=(1120, 0),
        both=(1200, 0),
    ),
    "norm": Classic(full=HEIGHT * ROW + 8 * HEIGHT, strips=lambda s: s * ROW + 8 * s, alone=(88, 0), both=(176, 0)),
    "pyramid": Classic(  # a strip at an odd place has half of a pair at each end
        full=8 * (32 + 16),
        strips=lambda s: 8 * ((s + 1) + (s // 2 + 1)),
        task=lambda s: 8 * (2 + 1) * ((s + 1) // 2),
        again=lambda s: (2 + 1) * sum(at % 2 for at in range(s, 32, s)),
        alone=(24, 0),
        both=(24, 0),
    ),
    "multi_level_pyramid": Classic(
        full=8 * (32 + 16 + 8 + 16),
        strips=lambda s: 8 * sum((  # what a strip begins anew of each level, and what is left of the last ones
            s + 7, 4 + (s - 1) // 2, 2 + (s - 1) // 4, 1 + (s + 3) // 8, 1 + (s + 1) // 4, 1 + s // 2
        )),
        task=lambda s: 8 * max(of_three_levels(*strip) for strip in strips_of(32, s)),
        again=lambda s: sum(of_three_levels(*strip) for strip in strips_of(32, s)) - of_three_levels(0, 31),
        alone=(168, 0),
        both=(168, 0),
    ),
    "aligned_producer": Classic(  # a window, and as many as whole pieces of four come early
        full=8 * 20,
        strips=lambda s: 8 * (s + 2 + 3),
        task=lambda s: 8 * max(of_whole_fours(*strip) for strip in strips_of(HEIGHT, s)),
        again=lambda s: sum(of_whole_fours(*strip) for strip in strips_of(HEIGHT, s)) - of_whole_fours(0, HEIGHT - 1),
        alone=(48, 0),
        both=(96, 24),
    ),
    "area_sums": Classic(
        full=3 * HEIGHT * 2 * ROW, strips=lambda s: 3 * s * 2 * ROW, alone=(480, 0), both=(960, 0)
    ),
    "attention": Classic(
        full=2 * HEIGHT * ROW, strips=lambda s: 2 * s * ROW, alone=(160, 0), both=(160, 0)
    ),
    "flash_attention": Classic(  # a block of scores, and two steps of five sums, a largest and a weight for each query
        full=HEIGHT * 8 * KEYS,
        strips=lambda s: 8 * (s * s + 2 * s * 7),
        states=8 * 2 * HEIGHT * 7,
        alone=(136, 0),
        both=(240, 0),
    ),
}  # fmt: skip


def make(name: str) -> Case:
    """The graph of a name, without annotations."""
    made: Case = getattr(annotated, name)()
    return made


def in_strips(name: str, step: int, **more: Any) -> Case:
    """A graph with loops around what makes its outputs, if nobody in the graph reads what those make, and around pieces
    of what these reduce; none for strips of no rows."""
    made = make(name)
    read = {access.buffer for func in made.funcs.values() for access in func.inputs}
    for func in made.funcs.values() if step else ():
        written = {access.buffer for access in func.outputs}
        if (written <= {*made.outputs} and written.isdisjoint(read)) or func.name in TABLE[name].also:
            pieces = [sl.loop(variable(reduced), step) for reduced in reduced_dims(func)]
            func.loops([sl.loop(func.dims[0], step, **more), *pieces])
    return made


def scheduled_by_default(made: Case) -> sl.Pipeline:
    """The same loops made with primitives, and `default_schedule` for the rest."""
    p = made.build(schedule="none")
    for func in made.funcs.values():
        for loop in func.loop_annotations:
            call = p.find(f"{func.name}(_)")
            if loop.variable not in func.dims:
                p = sl.split_reduction(p, call, loop.variable.name, loop.step)
                continue
            p, split = sl.split_loop(p, call.dim(func.dims.index(loop.variable)), loop.step, rc=True)
            p = p if loop.workers is None else sl.parallelize_loop(p, split.outer, loop.workers)
    return sl.default_schedule(p)


def made_again(p: sl.Pipeline, made: Case) -> sl.Pipeline:
    """What the history of a pipeline makes of the graph without its annotations."""
    names = {"p": made.build(schedule="none", alias=False)}
    exec(str(p.history()), {}, names)
    return names["p"]
