"""Whether a pipeline is worth its while: the function itself is called where NumPy is about as fast.

Idea. Operation after operation on whole arrays costs what memory takes where the arrays on the way do not stay in the
caches; else it costs little, and a pipeline has more calls and copies to make than the model knows of. So there must be
more on the way than the caches hold, and the schedule must be predicted to take four fifths of the time at most. What
functions compute, beside what memory takes, is the same on both sides.

NumPy takes at least what its operations read and write; the model of callbacks, which go over their data more than
once, says more of most. What it takes is in between: of 40 functions on arrays of 1 to 50 MB, their geometric mean told
best which are faster in pieces.

Invariant: the same answer in every process of a machine, for the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from slinky.errors import OperationError
from slinky.frontend.nodes import Node, Shape, Source, View
from slinky.frontend.operations import Along, Around, Assembled, Contraction, Pointwise
from slinky.frontend.sizes import Length, expr_of
from slinky.pipeline import Pipeline

SecondsOf = Callable[[str, Any], float]
"""What a function of this name takes for an element of a type, beside the time that goes into memory."""

LEAST_GAIN = 1.25
"""How many times as long NumPy must be predicted to take."""

_CALL_SECONDS = 1e-6
_ELEMENT_SECONDS = 2e-9
"""What a function that is no arithmetic takes for an element that it reads, in the fastest cache."""

_REDUCED_SECONDS = {
    **dict.fromkeys(["sum", "mean", "prod", "add", "multiply", "count_nonzero"], 4e-10),
    **dict.fromkeys(["min", "max", "amin", "amax", "minimum", "maximum", "any", "all", "ptp"], 2e-10),
    **dict.fromkeys(["argmin", "argmax"], 4e-10),
    **dict.fromkeys(["var", "std"], 1e-9),
}
"""The same of reductions that are loops of arithmetic, by name."""

_PRODUCT_SECONDS = 1e-11
"""What a library of products of matrices takes to multiply two numbers and to add the result, on a few cores."""

_TEMPORARIES = {"var": 4, "std": 4}
"""How often reductions write or read arrays of their own, of the size of what they are given."""


def is_worth_while(
    scheduled: Pipeline, nodes: Sequence[Node], of: Callable[[Length], int], machine: Any, seconds_of: SecondsOf
) -> bool:
    """Whether a schedule is enough faster than the operations of a graph one after the other.

    `seconds_of` says what functions of elements take on the machine.
    """
    from slinky.sched.explaining import explain

    try:
        explanation = explain(scheduled)
    except OperationError:
        return False
    made = [node for node in nodes if not isinstance(node.operation, Source)]
    on_the_way = sum(_bytes(r.shape, r.dtype, of) for node in made for r in node.results)
    if on_the_way <= machine.most_live:
        return False
    seconds = more = 0.0
    for view in _rolled(made):
        moved = 2 * _bytes(view.shape, view.dtype, of)
        seconds += _CALL_SECONDS + moved / machine.bandwidth(moved)
    for node in made:
        if type(node.operation) is Around:
            continue
        if (each := _element_seconds(node, seconds_of)) > 0.0:
            more += each * _elements(node, of)
        more += _PRODUCT_SECONDS * _products(node, of)
        moved = sum(_bytes(view.shape, view.dtype, of) for view in node.operands)
        moved *= 1 + _TEMPORARIES.get(getattr(node.operation, "name", ""), 0)
        moved += sum(_bytes(result.shape, result.dtype, of) for result in node.results)
        seconds += _CALL_SECONDS + moved / machine.bandwidth(moved)
    most = max(seconds, explanation.unscheduled_seconds)
    return bool(math.sqrt((seconds + more) * (most + more)) >= LEAST_GAIN * (explanation.seconds + more))


def _rolled(nodes: Sequence[Node]) -> list[View]:
    """What is read of arrays that are copied with their other ends around them: NumPy copies them for each roll."""
    found: dict[Hashable, View] = {}
    for node in nodes:
        for view in node.operands:
            if type(view.result.node.operation) is Around:
                found[view.result, tuple(expr_of(i.offset) for i in view.index)] = view
    return list(found.values())


def _products(node: Node, of: Callable[[Length], int]) -> int:
    """How many numbers a product of matrices multiplies."""
    if not isinstance(node.operation, Contraction) or node.operation.name != "matmul":
        return 0
    return math.prod(map(of, node.results[0].shape)) * of(node.operands[0].shape[-1])


def _elements(node: Node, of: Callable[[Length], int]) -> int:
    """How many elements a function computes; of what is no function of elements, how many it reads."""
    views = node.results if isinstance(node.operation, (Pointwise, Assembled)) else node.operands
    return sum(math.prod(map(of, view.shape)) for view in views)


def _element_seconds(node: Node, seconds_of: SecondsOf) -> float:
    """What a function takes for each of these, beside the time that goes into memory."""
    operation = node.operation
    if isinstance(operation, (Pointwise, Assembled)):
        return seconds_of(operation.name, node.results[0].dtype)
    if isinstance(operation, Along) and operation.removed:
        return _REDUCED_SECONDS.get(operation.name, _ELEMENT_SECONDS)
    return _ELEMENT_SECONDS


def _bytes(shape: Shape, dtype: Any, of: Callable[[Length], int]) -> int:
    return math.prod(map(of, shape)) * int(dtype.itemsize)
