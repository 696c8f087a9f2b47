"""Calls of callbacks: over their clamped box, unless it is empty.

Invariants: a callback is called for boxes with elements only, and with regions that are inside their buffers and no
longer than their folds. What the facts do not show is asked, right before the call.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky.ir import effects
from slinky.ir.effects import reads, writes
from slinky.ir.operations import FloatScalar
from slinky.ir.regions import seen_boxes
from slinky.ir.statements import Call, LoweredFunc
from slinky.runtime.codegen.names import Globals
from slinky.runtime.codegen.recording import Recording
from slinky.runtime.codegen.views import Views
from slinky.runtime.codegen.writer import Writer, also, is_costly
from slinky.runtime.operations import takes_out
from slinky.runtime.plan_tree import BadRegion, Comparison, Conjunction, Guard, Name, Run, Stop, Value
from slinky.symbolic.expressions import Expr, all_of
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts, prove


def clamped_box(writer: Writer, call: Call, boxes: Mapping[str, Box], known: Facts) -> Box:
    """The box of a call within the bounds of its outputs, without the clamps that do nothing."""
    return tuple(writer.simplified(i, known) for i in effects.clamped_box(call, boxes.__getitem__))


class Calls:
    """Makes the steps of calls."""

    def __init__(
        self, writer: Writer, views: Views, globals_: Globals, recording: Recording, floats: Mapping[str, Name]
    ) -> None:
        """`floats` are the locals of the scalars that only callbacks get."""
        self._floats = floats
        self._writer = writer
        self._views = views
        self._globals = globals_
        self._recording = recording

    def write(self, call: Call) -> None:
        """Add a call; nothing if its box is shown to be empty."""
        writer = self._writer
        box = clamped_box(writer, call, writer.facts.boxes, writer.known)
        unsure = [i for i in box if not writer.is_at_most(i.min, i.max, writer.known)]
        if any(prove(i.max < i.min, writer.known) for i in unsure):
            return
        if any(is_costly(end) for i in box for end in (i.min, i.max)):
            box = tuple(
                Interval(writer.end(i.min, f"{name}_from"), writer.end(i.max, f"{name}_to"))
                for i, name in zip(box, call.func.dim_names(), strict=True)
            )
            unsure = [i for i in box if not writer.is_at_most(i.min, i.max, writer.known)]
        if not unsure:
            self._compute(call, box)
            return
        facts = also(writer.facts, all_of(*(i.min <= i.max for i in unsure)))
        tests = tuple([Comparison(writer.value(i.min), "<=", writer.value(i.max)) for i in unsure])
        with writer.inside(facts, blocks=0) as inner:
            self._compute(call, box)
        if inner.steps:
            writer.scope.add(Guard(tests[0] if len(tests) == 1 else Conjunction(tests), inner.done()))

    def _compute(self, call: Call, box: Box) -> None:
        """Run the callback over a box that is not empty."""
        func = call.func
        read, written = reads(call, box), writes(call, box)
        for number, effect in enumerate(read):
            self._require_inside(call, effect.buffer, effect.box, number)
            self._require_fold(call, effect.buffer, effect.box, number)
        for number, effect in enumerate(written, len(read)):
            self._require_fold(call, effect.buffer, effect.box, number)
        seen = seen_boxes(func, box)
        inputs = tuple(
            self._views.input(func, port, effect.buffer, effect.box, own)
            for port, effect, own in zip(func.inputs, read, seen, strict=False)
        )
        outputs = tuple(
            self._views.output(func, port, effect.buffer, effect.box, own)
            for port, effect, own in zip(func.outputs, written, seen[len(read) :], strict=True)
        )
        arguments = tuple([(key, self._argument(func, key, value)) for key, value in func.operation.arguments])
        callback = Name(self._globals.callback(func))
        with self._recording.call(call, box):
            self._writer.scope.add(
                Run(callback, inputs, outputs, arguments, takes_out(func.operation), self._writer.place(call))
            )

    def _argument(self, func: LoweredFunc, key: str, value: object) -> Value:
        if isinstance(value, Expr):
            return self._writer.value(value, key)
        if isinstance(value, FloatScalar):
            return self._floats[value.name]
        return Name(self._globals.name_of(value, f"{func.name}_{key}"))

    # Questions ----------------------------------------------------------------------------------------------------

    def _require_inside(self, call: Call, buffer: str, region: Box, number: int) -> None:
        """Refuse a region that leaves its buffer, unless it is shown not to."""
        for i, limit in zip(region, self._writer.facts.boxes[buffer], strict=True):
            if i == limit:
                continue
            for least, most in ((limit.min, i.min), (i.max, limit.max)):
                if not self._writer.is_at_most(least, most, self._writer.known):
                    self._writer.stop_if(most < least, BadRegion(number), call)

    def _require_fold(self, call: Call, buffer: str, region: Box, number: int) -> None:
        """Refuse a region that is longer than the fold of its buffer, unless it is shown not to be."""
        alloc = self._writer.facts.allocs.get(buffer)
        if alloc is None:
            return
        for d, (i, fold) in enumerate(zip(region, alloc.folds, strict=True)):
            if fold is None:
                continue
            extent = self._writer.difference(i.max, i.min) + 1
            if not self._writer.is_at_most(extent, fold, self._writer.known):
                test = Comparison(self._writer.value(extent), ">", self._views.rows(buffer, d))
                self._writer.scope.add(Stop(test, BadRegion(number), self._writer.place(call)))
