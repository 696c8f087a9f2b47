"""Whether a function gives of arrays what it gives of containers with labels: of xarray's and pandas'.

Idea. Containers have rules of their own. Arithmetic aligns what has other labels, reductions leave NaNs out, go along
other axes and divide by other numbers, an index may mean a label, integers are divided by zero. So a function may be
given arrays instead only if containers meet as they are, in arithmetic of elements, or in functions that look at the
elements alone and give arrays, or containers with the same labels: copies with something around, and filters.

Invariant: what `goes_by_places` approves of has the values that the function gives of containers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from slinky.frontend.assembling import Assembled
from slinky.frontend.filtering import Filter
from slinky.frontend.nodes import Node, Result, View
from slinky.frontend.operations import Pointwise
from slinky.frontend.sizes import are_same

_AROUND = ("pad", "concatenate")
"""Functions of NumPy's, which no container has a version of: they give arrays."""

_OF_INTEGERS = ("floor_divide", "remainder", "divmod")
"""Where pandas says what becomes of integers that are divided by zero."""


def goes_by_places(nodes: Sequence[Node], given: Collection[Result], results: Iterable[View]) -> bool:
    """Whether nodes that need each other in order, and views of them, are the same if what is given has labels."""
    labelled = set(given)
    for node in nodes:
        met = [view for view in node.operands if view.result in labelled]
        if not met:
            continue
        if not all(view.is_whole for view in met):
            return False
        match node.operation:
            case Pointwise() as operation if all(_is_alike(view, r, operation) for view in met for r in node.results):
                labelled.update(node.results)
            case Filter():
                labelled.update(node.results)
            case Assembled(name=name) if name in _AROUND:
                pass
            case _:
                return False
    return all(view.is_whole for view in results if view.result in labelled)


def _is_alike(view: View, result: Result, operation: Pointwise) -> bool:
    """Whether arithmetic gives elements as many and of the kind that it gives by NumPy's rules."""
    if len(view.shape) != len(result.shape) or not all(map(are_same, view.shape, result.shape)):
        return False
    is_integer = result.dtype.kind in "iu"
    return not (is_integer and (view.dtype.kind not in "biu" or operation.name in _OF_INTEGERS))
