"""A small pipeline to take apart: the stencil of the design, and the same by rows, slid and folded by hand."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

import slinky as sl
from slinky.ir.copies import with_box, with_identity
from slinky.ir.statements import SERIAL, Alloc, Call, Check, For, Mode, Parallel, Program, Statement, fresh_identity
from slinky.symbolic.expressions import Expr, as_expr, metadata, variable
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")
row = variable("row")
out_y = Interval(metadata("out", 0, "min"), metadata("out", 0, "max"))
out_x = Interval(metadata("out", 1, "min"), metadata("out", 1, "max"))
wide_x = Interval(out_x.min - 1, out_x.max + 1)


def add_1(source: np.ndarray, target: np.ndarray) -> None:
    """Add one."""
    np.add(source, 1, out=target)


def sum_3x3(source: np.ndarray, target: np.ndarray) -> None:
    """The sum of each element's neighbourhood, weighted so that no two places are alike."""
    target[...] = 0
    height, width = target.shape
    for dy in range(3):
        for dx in range(3):
            target += (3 * dy + dx + 1) * source[dy : dy + height, dx : dx + width]


def stencil() -> sl.Pipeline:
    """`intm = inp + 1`, then a stencil."""
    inp, intm, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "intm", "out"))
    sl.Func(add_1, [inp[y, x]], [intm[y, x]], name="add")
    window = intm[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(sum_3x3, [window], [out[y, x]], name="stencil")
    return sl.build_pipeline([inp], [out])


def calls_of(program: Program) -> dict[str, Call]:
    """The calls of a program by the name of their func."""
    return {s.func.name: s for s in program.body if isinstance(s, Call)}


def over(call: Call, box: Sequence[Interval]) -> Call:
    """Another call of a func on the same buffers, over this box."""
    return with_identity(with_box(call, tuple(box)), fresh_identity())


def mode(workers: int | None) -> Mode:
    """How a loop runs: serial (None), or on so many threads (0: as many as there are)."""
    return SERIAL if workers is None else Parallel(workers or None)


def alloc(program: Program) -> Alloc:
    """The one allocation of a program."""
    (found,) = [s for s in program.body if isinstance(s, Alloc)]
    return found


def with_body(program: Program, body: Sequence[Statement]) -> sl.Pipeline:
    """The program with another body, behind its checks."""
    checks = [s for s in program.body if isinstance(s, Check)]
    return sl.Pipeline(attrs.evolve(program, body=(*checks, *body)))


def at(expr: Expr | int, to: Expr | int | None = None) -> Interval:
    """An interval of one coordinate or of several."""
    return Interval(expr, expr if to is None else to)


def by_rows(
    fold: int | None = 3, produced: Interval | None = None, start: int = -2, workers: int | None = None
) -> sl.Pipeline:
    """The stencil by rows, slid and folded. The arguments make it wrong in one way or another."""
    program = stencil().program
    add, stencil_call = calls_of(program)["add"], calls_of(program)["stencil"]
    produced = at(row + 1) if produced is None else produced
    folded = attrs.evolve(alloc(program), folds=(None if fold is None else as_expr(fold), None))
    body = (over(add, (produced, wide_x)), over(stencil_call, (at(row), out_x)))
    loop = For(row, Interval(out_y.min + start, out_y.max), as_expr(1), mode(workers), body)
    return with_body(program, (folded, loop))


def picture(height: int, width: int) -> tuple[sl.Buffer, np.ndarray, np.ndarray]:
    """An input for an output of this size, the output (zeros), and what it should become."""
    source = np.random.default_rng(1).integers(0, 100, (height + 2, width + 2))
    right = np.zeros((height, width), np.int64)
    sum_3x3(source + 1, right)
    return sl.Buffer(source, min=(-1, -1)), np.zeros((height, width), np.int64), right


def by_the_program(statistics: sl.RunStatistics) -> sl.RunStatistics:
    """What is the same for all back ends: how much a run reserves is each one's own."""
    return attrs.evolve(statistics, peak_bytes=0)
