"""The nest of a pipeline in few lines: loops with their sizes and tails, what is computed in them, and scratch.

Idea. A program says bounds; what a person wants to see of a nest are lengths: `for m: 33 = 4 x 8 + 1`. With arrays or
shapes the tree has numbers, those of the first iteration of the loops around, and of the last where they are others;
without, it has expressions. How large a buffer is at most, `estimate` says.

Invariant: the tree shows the statements of the program in their order, but for checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

import attrs

from slinky.errors import OperationError
from slinky.ir.effects import clamped_box, require_no_effect
from slinky.ir.printer import expression_text
from slinky.ir.regions import global_boxes
from slinky.ir.statements import Alloc, Block, Call, For, If, Parallel, Pipelined, Program, Serial, Within
from slinky.pipeline import Pipeline
from slinky.runtime.estimates import NEVER, Estimate
from slinky.runtime.omitted import Completion
from slinky.runtime.stand_ins import values_of
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Condition, Expr, as_expr
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.traversal import evaluate


@attrs.frozen
class LoopTree:
    """The nest of a pipeline: `lines`, each with its depth. Print it."""

    lines: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        return "\n".join("  " * depth + text for depth, text in self.lines)


def loop_tree(p: Pipeline, /, *arrays: object, **scalars: Any) -> LoopTree:
    """The loops of a pipeline with their sizes and tails, what is computed in them, and how much scratch there is.

    Takes what `Pipeline.memory` takes: with arrays, or their shapes, there are numbers for sizes, else expressions.

        >>> import numpy as np, slinky as sl
        >>> x = sl.variables("x")[0]
        >>> a, b, c = (sl.BufferExpr(name, np.float32, 1) for name in "abc")
        >>> _ = sl.arithmetic(a[x] * 2, b[x], "twice"), sl.arithmetic(b[x] + 1, c[x], "more")
        >>> p = sl.split_loop(sl.build_pipeline([a], [c]), "more.x", 8)
        >>> p = sl.store_at(sl.compute_at(p, "twice", "for x"), "alloc b", "for x")
        >>> print(sl.loop_tree(p, (33,)))
        for x: 33 = 4 x 8 + 1
          scratch b: float32, 8 elements
          b = twice(a) over x 8, at the end 1
          c = more(b) over x 8, at the end 1

    Raises `OperationError` for what is no pipeline, and what a run raises for arguments that do not fit.
    """
    if not isinstance(p, Pipeline):
        raise OperationError(f"loop_tree: the first argument must be a Pipeline, got {type(p).__name__}")
    tree = _Tree(p.program, None, None)
    if arrays or scalars:
        values = values_of(Completion(p.program), arrays, scalars)
        tree = _Tree(p.program, values, p.estimate(*arrays, **scalars))
    tree.block(p.program.body, 0)
    return LoopTree(tuple(tree.lines))


class _Tree:
    """A tree on its way. `first` and `last` are what is known in the first and the last iteration of all loops."""

    def __init__(self, program: Program, values: Mapping[Expr, int] | None, estimate: Estimate | None) -> None:
        self._program = program
        self._estimate = estimate
        self._first = None if values is None else dict(values)
        self._last = None if values is None else dict(values)
        self._boxes: dict[str, Box] = dict(global_boxes(program))
        self.lines: list[tuple[int, str]] = []

    def block(self, block: Block, depth: int) -> None:
        """The statements of a block."""
        outer = dict(self._boxes)
        for statement in block:
            if isinstance(statement, Alloc):
                self._boxes[statement.buffer] = statement.box
                self.lines.append((depth, self._scratch(statement)))
            elif isinstance(statement, Call):
                self.lines.append((depth, self._call(statement)))
            elif isinstance(statement, For):
                self.lines.append((depth, self._loop(statement)))
                self._inside(statement, lambda body: self.block(body, depth + 1))
            elif isinstance(statement, If):
                self.lines.append((depth, f"if {self._text(statement.condition)}:"))
                self.block(statement.body, depth + 1)
                if statement.orelse:
                    self.lines.append((depth, "else:"))
                    self.block(statement.orelse, depth + 1)
            else:
                require_no_effect(statement)
        self._boxes = outer

    def _inside(self, loop: For, visit: Callable[[Block], None]) -> None:
        outer = self._first, self._last
        if self._first is not None and self._last is not None:
            lo, _, _ = self._range(loop, self._first)
            self._first = {**self._first, loop.variable: lo}
            lo, count, step = self._range(loop, self._last)
            self._last = {**self._last, loop.variable: lo + max(count - 1, 0) // step * step}
        visit(loop.body)
        self._first, self._last = outer

    @staticmethod
    def _range(loop: For, values: Mapping[Expr, int]) -> tuple[int, int, int]:
        """Where a loop begins, how many coordinates it goes over, and in which steps."""
        lo, hi = evaluate(loop.range.min, values), evaluate(loop.range.max, values)
        return lo, max(hi - lo + 1, 0), evaluate(loop.step, values)

    # Lines ------------------------------------------------------------------------------------------------------------

    def _loop(self, loop: For) -> str:
        if self._first is None or self._last is None:
            step = "" if loop.step is as_expr(1) else f" by {self._text(loop.step)}"
            said = self._text(_extent(loop.range)) + step
        else:
            said, end = (self._steps(*self._range(loop, values)[1:]) for values in (self._first, self._last))
            said += "" if said == end else f", at the end {end}"
        match loop.mode:
            case Serial():
                mode = ""
            case Parallel():
                mode = " in parallel"
            case Pipelined():
                mode = " in stages"
            case _:
                assert_never(loop.mode)
        return f"for {loop.variable.name}: {said}{mode}"

    @staticmethod
    def _steps(count: int, step: int) -> str:
        """A length, in steps and a tail."""
        if step == 1:
            return str(count)
        whole, tail = divmod(count, step)
        return f"{count} = {whole} x {step}" + (f" + {tail}" if tail else "")

    def _scratch(self, alloc: Alloc) -> str:
        if isinstance(alloc.memory, Within):
            return f"scratch {alloc.buffer}: {alloc.dtype} in {alloc.memory.host}"
        lengths: list[str] = []
        count = 1
        for i, fold in zip(alloc.box, alloc.folds, strict=True):
            extent = _extent(i) if fold is None else fold
            lengths.append(self._length(extent))
            count *= 1 if self._first is None else max(evaluate(extent, self._first), 0)
        said = f"scratch {alloc.buffer}: {alloc.dtype}, {' x '.join(lengths) or '1'}"
        if self._estimate is None:
            return said
        most = self._estimate.buffers.get(alloc.buffer, NEVER).bytes // alloc.dtype.itemsize
        if most != count:
            return f"{said}, at most {most:,} elements"
        return f"{said} = {most:,} elements" if len(lengths) > 1 else f"{said} elements"

    def _call(self, call: Call) -> str:
        box = clamped_box(call, self._boxes.__getitem__)
        lengths = [(name, _extent(i)) for name, i in zip(call.func.dim_names(), box, strict=True)]
        line = f"{', '.join(call.writes)} = {call.func.label}({', '.join(dict.fromkeys(call.reads))})"
        if not lengths:
            return line
        if self._first is None or self._last is None:
            return f"{line} over {', '.join(name for name, _ in lengths)}"
        first, last = ([max(evaluate(n, values), 0) for _, n in lengths] for values in (self._first, self._last))
        said = f"{line} over {', '.join(f'{name} {n}' for (name, _), n in zip(lengths, first, strict=True))}"
        return said if first == last else f"{said}, at the end {' x '.join(map(str, last))}"

    def _length(self, extent: Expr) -> str:
        return self._text(extent) if self._first is None else str(max(evaluate(extent, self._first), 0))

    def _text(self, node: Expr | Condition) -> str:
        text = expression_text(self._program, node)
        return f"({text})" if isinstance(node, Expr) and " " in text else text


def _extent(i: Interval) -> Expr:
    return simplify(i.max - i.min + 1)
