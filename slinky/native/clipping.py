"""Floats that are clipped before they become integers: what is known of them, and where both are one step.

Idea. A number that is clipped to what an integer holds needs no test whether it is held. Where the integer is of up to
16 bits, and the lower bound becomes 0, so does NaN in NumPy, and clipping may give the lower bound for NaN: that is the
larger of two numbers, and the smaller of two, an instruction each.

Invariant: bounds are constants, none of which is NaN.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.ir.formulas import CLIP, Apply, Constant, Convert, Formula, Operand, Result
from slinky.native.operators import C_TYPES


@attrs.frozen
class Clipped:
    """What clips something to be converted: the step, the dtype in which it does, what it takes, and the bounds."""

    step: int
    dtype: np.dtype[Any]
    value: Operand
    low: Constant
    high: Constant


def clip_before(formula: Formula, operand: Operand) -> Clipped | None:
    """What clips an operand to bounds within integers of 32 bits, if something does."""
    if not isinstance(operand, Result):
        return None
    step = formula.steps[operand.step]
    if not isinstance(step, Apply) or step.ufunc is not CLIP or step.dtypes[-1].kind != "f":
        return None
    value, low, high = step.operands
    if not isinstance(low, Constant) or not isinstance(high, Constant) or set(step.dtypes) != {step.dtypes[-1]}:
        return None
    if not all(-(2**31) <= each.value <= 2**31 - 2**8 for each in (low, high)):
        return None
    return Clipped(operand.step, step.dtypes[-1], value, low, high)


def clipped_conversions(formula: Formula, live: Sequence[int]) -> dict[int, Clipped]:
    """The steps that are one with what clips before them."""
    found = {}
    for number in live:
        step = formula.steps[number]
        if not isinstance(step, Convert) or step.dtype.kind not in "iu" or step.dtype.itemsize > 2:
            continue
        clipped = clip_before(formula, step.operand)
        if clipped is None or formula.dtype_of(clipped.value) not in C_TYPES:
            continue
        if -1 < clipped.low.value < 1 and clipped.low.value <= clipped.high.value:
            found[number] = clipped
    return found


def without_clips(
    formula: Formula, live: Sequence[int], clipped: Mapping[int, Clipped], wanted: Collection[Operand]
) -> list[int]:
    """Steps without those that clip for conversions alone."""
    others = [number for number in live if number not in clipped]
    used = {each.step for n in others for each in formula.steps[n].operands if isinstance(each, Result)}
    used.update(each.step for each in wanted if isinstance(each, Result))
    unused = {each.step for each in clipped.values()} - used
    return [number for number in live if number not in unused]
