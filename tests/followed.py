"""What the calls of a program touch, and how often its loops go round, with numbers for all symbols: statement by
statement and iteration by iteration, sharing nothing with what finds that faster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, assert_never

import slinky as sl
from slinky.ir.effects import clamped_numbers, numeric_reads, numeric_writes
from slinky.ir.statements import Alloc, Block, Call, Check, For, If, Pass, Statement
from slinky.runtime.omitted import Completion
from slinky.runtime.stand_ins import values_of
from slinky.symbolic.intervals import evaluate_box
from slinky.symbolic.traversal import evaluate

Box = tuple[tuple[int, int], ...]
Values = dict[Any, int]


class Followed:
    """A run without callbacks.

    `touched` has the regions by call, kind and buffer; `entered`, how many iterations a loop had, whenever it was come
    to; `boxes`, the boxes that the calls of a func computed; `read` and `written`, its bytes.
    """

    def __init__(self, p: sl.Pipeline, arrays: Sequence[object], scalars: Mapping[str, int] | None = None) -> None:
        self.p = p
        self.values = values_of(Completion(p.program), arrays, scalars or {})
        self.touched: dict[tuple[int, str, str], list[Box]] = defaultdict(list)
        self.entered: dict[int, list[tuple[Values, int]]] = defaultdict(list)
        self.boxes: dict[str, list[Box]] = defaultdict(list)
        self.read: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self._block(p.program.body, dict(self.values))

    def _block(self, block: Block, values: Values) -> None:
        for statement in block:
            self._statement(statement, values)

    def _statement(self, s: Statement, values: Values) -> None:
        match s:
            case For():
                ends = evaluate(s.range.min, values), evaluate(s.range.max, values) + 1
                iterations = range(*ends, evaluate(s.step, values))
                self.entered[s.id].append((dict(values), len(iterations)))
                for value in iterations:
                    self._block(s.body, {**values, s.variable: value})
            case If():
                self._block(s.body if evaluate(s.condition, values) else s.orelse, values)
            case Call():
                self._call(s, values)
            case Alloc() | Check() | Pass():
                pass
            case _:
                assert_never(s)

    def _call(self, call: Call, values: Values) -> None:
        box_of = self.p._version.box_at(call.id)
        box = clamped_numbers(call, values, lambda name: evaluate_box(box_of(name), values))
        if any(lo > hi for lo, hi in box):
            return
        name = call.func.name
        self.boxes[name].append(box)
        reads, writes = numeric_reads(call, box, values), numeric_writes(call, box)
        for (buffer, region), port in zip(reads, call.func.inputs, strict=True):
            self.touched[call.id, "read", buffer].append(region)
            self.read[name] += points(region) * port.dtype.itemsize
        for (buffer, region), port in zip(writes, call.func.outputs, strict=True):
            self.touched[call.id, "write", buffer].append(region)
            self.written[name] += points(region) * port.dtype.itemsize


def points(box: Box) -> int:
    """How many points a box has."""
    return prod(max(hi - lo + 1, 0) for lo, hi in box)


def hull(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds some boxes."""
    return tuple((min(lo for lo, _ in ends), max(hi for _, hi in ends)) for ends in zip(*boxes, strict=True))
