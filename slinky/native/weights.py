"""What arithmetic weighs, for those who must not wait too long until they are asked whether a signal has arrived.

Idea. A line of C takes a nanosecond for an element at most, once data has come; a function, or a division of integers,
takes as long as many lines.

Invariant: nothing rests on it but how soon a signal is heard.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from slinky.ir.formulas import Apply, Formula, Step
from slinky.native.functions import function_of_step

PATIENCE = 1 << 26
"""So much is done before it is asked whether a signal has arrived: lines of C, a nanosecond each at most."""
OF_FUNCTION = 16
"""What a function weighs, such as `exp`, of which some elements are computed one by one."""
OF_DIVISION = 8
"""What it weighs to divide integers, for which processors have no vectors, and remainders."""

_DIVISIONS = (np.floor_divide, np.remainder, np.fmod, np.divmod)


@lru_cache(maxsize=1024)
def weight_of(formula: Formula) -> int:
    """What it weighs to compute an element of each result of a formula, at least 1."""
    return max(1, sum(map(_weight_of_step, formula.steps)))


def _weight_of_step(step: Step) -> int:
    if function_of_step(step) is not None:
        return OF_FUNCTION
    return OF_DIVISION if isinstance(step, Apply) and step.ufunc in _DIVISIONS else 1
