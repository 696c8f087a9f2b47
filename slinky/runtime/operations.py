"""What runs an operation: the one place that asks which operation a func has.

Back ends call a function with views of what it reads and writes, whatever the operation is. A ufunc gets what it writes
by `out=`; that is a way of calling, not an operation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

import numpy as np

from slinky.ir.operations import Accumulation, Callback, Copy, Expression, Nested, Operation
from slinky.runtime.careful import Careful, careful
from slinky.runtime.copying import carrier
from slinky.runtime.formulas import formula_carrier
from slinky.runtime.nested import inner_run
from slinky.runtime.reductions import stage_carrier


def function_of(operation: Operation) -> Callable[..., Any]:
    """The function that carries out an operation: called with its inputs, then its outputs, and its arguments."""
    match operation:
        case Callback(function=function):
            return careful(function)
        case Copy():
            return carrier(operation)
        case Accumulation():
            return stage_carrier(operation)
        case Nested():
            return inner_run(operation)
        case Expression():
            return formula_carrier(operation.formula)
        case _:
            assert_never(operation)


def takes_out(operation: Operation) -> bool:
    """Whether the function takes what it writes by the argument `out`, as ufuncs do. NumPy vouches for these: what they
    write and whether they work in place is not asked."""
    return isinstance(function_of(operation), (np.ufunc, Careful))


def only_reads(operation: Operation) -> bool:
    """Whether it is known that the function writes to nothing that it reads: NumPy vouches for it. Then it is given
    arrays as they are: `argmax` and `argmin` copy what is read-only.

    A callback with an attribute `only_reads` says it by itself.
    """
    return takes_out(operation) or bool(getattr(function_of(operation), "only_reads", False))
