"""Calls of callbacks: over their clamped box, unless it is empty.

Invariants: a callback is called for boxes with elements only, and with regions that are inside their buffers and no
longer than their folds. What the facts do not show is asked, right before the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slinky.ir.effects import limits, reads, writes
from slinky.ir.statements import Call, LoweredFunc
from slinky.runtime.codegen.names import Globals
from slinky.runtime.codegen.recording import Recording
from slinky.runtime.codegen.scopes import INDENT
from slinky.runtime.codegen.views import Views
from slinky.runtime.codegen.writer import Place, Writer, also, is_costly
from slinky.symbolic.expressions import Expr, all_of, maximum, minimum, negate
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts, prove


def clamped_box(writer: Writer, call: Call, boxes: Mapping[str, Box], known: Facts) -> Box:
    """The box of a call within the bounds of its outputs, without the clamps that do nothing."""
    lows = [[i.min] for i in call.box]
    highs = [[i.max] for i in call.box]
    for dim, buffer, position in limits(call):
        lows[dim].append(boxes[buffer][position].min)
        highs[dim].append(boxes[buffer][position].max)
    clamped = (Interval(maximum(*lo), minimum(*hi)) for lo, hi in zip(lows, highs, strict=True))
    return tuple(writer.simplified(i, known) for i in clamped)


class Calls:
    """Writes calls."""

    def __init__(self, writer: Writer, views: Views, globals_: Globals, recording: Recording) -> None:
        self._writer = writer
        self._views = views
        self._globals = globals_
        self._recording = recording

    def write(self, call: Call) -> None:
        """Write a call; nothing if its box is shown to be empty."""
        writer = self._writer
        box = clamped_box(writer, call, writer.facts.boxes, writer.known)
        unsure = [i for i in box if not prove(i.min <= i.max, writer.known)]
        if any(prove(i.max < i.min, writer.known) for i in unsure):
            return
        if any(is_costly(end) for i in box for end in (i.min, i.max)):
            box = tuple(
                Interval(writer.end(i.min, f"{name}_from"), writer.end(i.max, f"{name}_to"))
                for i, name in zip(box, call.func.dim_names(), strict=True)
            )
            unsure = [i for i in box if not prove(i.min <= i.max, writer.known)]
        if not unsure:
            self._compute(call, box)
            return
        facts = also(writer.facts, all_of(*(i.min <= i.max for i in unsure)))
        test = " and ".join(f"{writer.text(i.min)} <= {writer.text(i.max)}" for i in unsure)
        with writer.inside(f"if {test}:", facts, blocks=0):
            self._compute(call, box)

    def _compute(self, call: Call, box: Box) -> None:
        """Run the callback over a box that is not empty."""
        func = call.func
        read, written = reads(call, box), writes(call, box)
        for number, effect in enumerate(read):
            self._require_inside(call, effect.buffer, effect.box, number)
            self._require_fold(call, effect.buffer, effect.box, number)
        for number, effect in enumerate(written, len(read)):
            self._require_fold(call, effect.buffer, effect.box, number)
        inputs = [self._views.input(func, effect.buffer, effect.box) for effect in read]
        outputs = [self._views.output(func, effect.buffer, effect.box) for effect in written]
        arguments = [f"{key}={self._argument(func, key, value)}" for key, value in func.operation.arguments]
        callback = self._globals.callback(func)
        with self._recording.call(call, box):
            self._write_line(call, callback, inputs, outputs, arguments)

    # Lines --------------------------------------------------------------------------------------------------------

    def _write_line(
        self, call: Call, callback: str, inputs: list[str], outputs: list[str], arguments: list[str]
    ) -> None:
        place = self._writer.place(call)
        if isinstance(call.func.operation.function, np.ufunc):
            out = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
            self._write_within(f"{callback}(", [*inputs], [f"out={out}", *arguments], ")", place)
            return
        written: list[str] = []
        passed: list[str] = []
        for text in outputs:
            if text.isidentifier():
                written.append(text)
                passed.append(text)
            else:
                written.append("written" if not written else f"written{len(written) + 1}")
                passed.append(f"{written[-1]} := {text}")
        self._write_within(f"if (result := {callback}(", [*inputs, *passed], arguments, ")) is not None:", place)
        self._writer.scope.write(f"{INDENT}check_result({', '.join(['result', *written])})", place)

    def _write_within(
        self, before: str, operands: Sequence[str], keywords: Sequence[str], after: str, place: Place
    ) -> None:
        """A call on one line, its operands in locals first where the line would be too long."""
        line = before + ", ".join([*operands, *keywords]) + after
        if not self._writer.fits(line):
            operands = list(operands)
            for position, text in enumerate(operands):
                if not text.isidentifier() and ":=" not in text:
                    name = f"operand{position + 1}"
                    self._writer.scope.write(f"{name} = {text}", acts=True)
                    operands[position] = name
            line = before + ", ".join([*operands, *keywords]) + after
        self._writer.scope.write(line, place, acts=True)

    def _argument(self, func: LoweredFunc, key: str, value: object) -> str:
        if isinstance(value, Expr):
            return self._writer.text(value, key)
        return self._globals.name_of(value, f"{func.name}_{key}")

    # Questions ----------------------------------------------------------------------------------------------------

    def _require_inside(self, call: Call, buffer: str, region: Box, number: int) -> None:
        """Refuse a region that leaves its buffer, unless it is shown not to."""
        for i, limit in zip(region, self._writer.facts.boxes[buffer], strict=True):
            if i == limit:
                continue
            for condition in (limit.min <= i.min, i.max <= limit.max):
                if not prove(condition, self._writer.known):
                    self._writer.fail_if(negate(condition), "bad_region", call, str(number))

    def _require_fold(self, call: Call, buffer: str, region: Box, number: int) -> None:
        """Refuse a region that is longer than the fold of its buffer, unless it is shown not to be."""
        alloc = self._writer.facts.allocs.get(buffer)
        if alloc is None:
            return
        for d, (i, fold) in enumerate(zip(region, alloc.folds, strict=True)):
            if fold is None:
                continue
            extent = self._writer.difference(i.max, i.min) + 1
            if not prove(extent <= fold, self._writer.known):
                test = f"{self._writer.text(extent)} > {self._views.rows(buffer, d)}"
                self._writer.fail_if(test, "bad_region", call, str(number))
