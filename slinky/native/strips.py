"""Functions that take many elements at once, inside of a loop: which arrays of a strip hand on what, and when.

Idea. A function such as the sine is a loop of its own over a strip of elements: short, so that compilers turn it into
vector instructions, and with a way out for the few elements that need another method. So the steps of a formula become
stages (`parts`): a loop over the strip, then functions over it, then the next loop. What is handed on is kept in arrays
as long as a strip, which stay in the first cache; such an array is used again for something else after its last reader.
What a function takes as another dtype than it has is converted by the loop before it.

Invariant: the outputs are written by the last loop alone, element by element after what this loop reads, so they may be
the memory of inputs. Where that loop would do nothing but copy what a function gives that reads strips alone, this
function writes the output itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from slinky.ir.formulas import Apply, Element, Formula, Operand, Result
from slinky.native.functions import Function
from slinky.native.parts import stages

STRIP = 512
"""How many elements a strip has."""
MOST_STRIPS = 48
"""How many arrays of a strip a kernel may have: they are on the stack."""

_Slot: TypeAlias = tuple[Operand, np.dtype[Any]]


class Strips:
    """The stages of a formula with functions. `count` is how many there are; then, by stage:

    * `loops`: the steps of its loop,
    * `stored`: what its loop puts into arrays, each as an element of a dtype,
    * `calls`: the functions after it, as text.

    `there` says of inputs whose elements follow each other where those of a strip are: functions take them from there.
    `output` says the same of the first output; where `writes_output`, there is no loop of the last stage.
    """

    def __init__(
        self,
        formula: Formula,
        results: Sequence[Operand],
        live: Sequence[int],
        functions: Mapping[int, Function],
        there: Mapping[int, str],
        output: str,
    ) -> None:
        wanted = [each for each in results if isinstance(each, Result)]
        self._formula = formula
        self._functions = functions
        self._there = there
        self._stage = stages(formula, live, functions, wanted, self._converted())
        self.count = 1 + max(self._stage[each.step] + (each.step in functions) for each in wanted)
        self.loops = [[n for n in live if n not in functions and self._stage[n] == k] for k in range(self.count)]
        self._reads: dict[_Slot, list[int]] = {}
        self._writes: dict[_Slot, int] = {}
        self._names: dict[_Slot, str] = {}
        for number in live:
            self._note(number)
        for result in wanted:
            self._read(result, 2 * (self.count - 1))
        self.writes_output = len(results) == 1 and self._is_made_of_strips(results[0])
        if self.writes_output:
            self._names[results[0], formula.dtype_of(results[0])] = output
        self.buffers: dict[str, np.dtype[Any]] = {}
        self._allocate()
        self.stored = [
            [(*slot, self._names[slot]) for slot, event in self._writes.items() if event == 2 * k]
            for k in range(self.count)
        ]
        self.calls = [
            [self._call(n) for n in live if n in functions and self._stage[n] == k] for k in range(self.count)
        ]

    def _converted(self) -> set[tuple[int, Result]]:
        """The functions that take results as another dtype, each with such a result."""
        found = set()
        for number in self._functions:
            step = self._formula.steps[number]
            assert isinstance(step, Apply)
            for operand, dtype in zip(step.operands, step.dtypes, strict=False):
                if isinstance(operand, Result) and self._formula.dtype_of(operand) != dtype:
                    found.add((number, operand))
        return found

    def read(self, stage: int) -> dict[Result, str]:
        """The results that the loop of a stage takes from arrays."""
        return {
            slot[0]: self._names[slot]
            for slot, events in self._reads.items()
            if 2 * stage in events and isinstance(slot[0], Result)
        }

    # Loops are the even moments, the functions behind them the odd ones -------------------------------------------

    def _note(self, number: int) -> None:
        step, stage = self._formula.steps[number], self._stage[number]
        if number not in self._functions:
            for operand in step.operands:
                self._read(operand, 2 * stage)
            return
        assert isinstance(step, Apply)
        self._writes[Result(number), step.results[0]] = 2 * stage + 1
        for operand, dtype in zip(step.operands, step.dtypes, strict=False):
            own = self._formula.dtype_of(operand)
            if isinstance(operand, Result) and own == dtype:
                self._read(operand, 2 * stage + 1)
            elif isinstance(operand, Element) and own == dtype and operand.input in self._there:
                self._names[operand, dtype] = self._there[operand.input]
            else:
                self._read(operand, 2 * stage)
                self._writes[operand, dtype] = min(2 * stage, self._writes.get((operand, dtype), 2 * stage))
                self._reads.setdefault((operand, dtype), []).append(2 * stage + 1)

    def _read(self, operand: Operand, moment: int) -> None:
        """What is read at another moment than it is made at needs an array."""
        if not isinstance(operand, Result):
            return
        slot = (operand, self._formula.dtype_of(operand))
        if operand.step not in self._functions:
            made = 2 * self._stage[operand.step]
            if made == moment:
                return
            self._writes[slot] = made
        self._reads.setdefault(slot, []).append(moment)

    def _is_made_of_strips(self, result: Operand) -> bool:
        """Whether a function gives it, of nothing but strips."""
        if not isinstance(result, Result) or result.step not in self._functions:
            return False
        step = self._formula.steps[result.step]
        assert isinstance(step, Apply)
        return all(slot in self._writes for slot in zip(step.operands, step.dtypes, strict=False))

    def _allocate(self) -> None:
        free: list[str] = []
        for moment in range(2 * self.count):
            for slot, event in self._writes.items():
                if event == moment and slot not in self._names:
                    name = next((each for each in free if self.buffers[each] == slot[1]), None)
                    if name is None:
                        name = f"b{len(self.buffers)}"
                        self.buffers[name] = slot[1]
                    else:
                        free.remove(name)
                    self._names[slot] = name
            ended = [self._names[slot] for slot, events in self._reads.items() if max(events) == moment]
            free += [name for name in ended if name in self.buffers]

    def _call(self, number: int) -> str:
        step = self._formula.steps[number]
        assert isinstance(step, Apply)
        given = [self._names[slot] for slot in zip(step.operands, step.dtypes, strict=False)]
        arrays = [*given, self._names[Result(number), step.results[0]]]
        return f"{self._functions[number].name}(m, {', '.join(arrays)})"
