"""Whether a function gives of arrays what it gives of containers with labels: of xarray's and pandas'.

Idea. Containers have rules of their own. Arithmetic aligns what has other labels, reductions leave NaNs out, go along
other axes and divide by other numbers, an index may mean a label, integers are divided by zero. So a function may be
given arrays instead only if containers meet as they are, in arithmetic of elements, or in functions that look at the
elements alone and give arrays, or containers with the same labels: copies with something around, and filters.

pandas has rules for numbers beside its tables, too, from which dtypes follow: its operators take NumPy's scalars for
Python's, other ufuncs of tables of two axes take numbers for arrays, and `clip` puts its bounds in order.

Invariant: what `goes_by_places` approves of has the values that the function gives of containers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from slinky.frontend.assembling import Assembled
from slinky.frontend.filtering import Filter
from slinky.frontend.nodes import Node, Result, View
from slinky.frontend.operations import Extent, Number, Operand, Pointwise
from slinky.frontend.origins import Origins
from slinky.frontend.sizes import are_same

_AROUND = ("pad", "concatenate")
"""Functions of NumPy's, which no container has a version of: they give arrays."""

_OF_INTEGERS = ("floor_divide", "remainder", "divmod")
"""Where pandas says what becomes of integers that are divided by zero."""

_BY_OPERATORS = frozenset(
    [
        "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "divmod", "equal", "floor_divide",
        "greater", "greater_equal", "less", "less_equal", "multiply", "negative", "not_equal", "positive", "power",
        "remainder", "subtract",
    ]
)  # fmt: skip
"""Ufuncs that pandas does by operators of its own, where they are given nothing by name."""

_SHIFTS = ("left_shift", "right_shift")
"""Operators that tables have not."""

_NOT_OF_TRUTHS = ("divide", "power")
"""Operators that pandas refuses where both operands are truths."""


def goes_by_places(
    nodes: Sequence[Node], given: Mapping[Result, int], results: Iterable[View], *, in_tables: bool, origins: Origins
) -> frozenset[Result] | None:
    """The results that have labels, or get them for what they are made of, if nodes that need each other in order, and
    views of them, are the same if what is given has labels: those of pandas' tables, or of xarray's arrays. None where
    they are not. Where names differ, by the numbers for what is given, results have none, so each must come of several.
    """
    labelled = {result: {name} for result, name in given.items()}
    around: set[Result] = set()
    for node in nodes:
        met = [view for view in node.operands if view.result in labelled]
        names = set().union(*(labelled[view.result] for view in met))
        if not met:
            around.update(node.results if any(view.result in around for view in node.operands) else ())
            continue
        if not all(view.is_whole for view in met):
            return None
        match node.operation:
            case Pointwise() if origins.gives_arrays(node):
                pass
            case Assembled(name=name) if name in _AROUND:
                around.update(node.results)
            case _ if not origins.keeps_containers(node):
                return None
            case Pointwise() as operation if all(_is_alike(view, r, operation) for view in met for r in node.results):
                if in_tables and not _is_alike_in_tables(node, operation):
                    return None
                labelled.update(dict.fromkeys(node.results, names))
            case Filter():
                labelled.update(dict.fromkeys(node.results, names))
            case _:
                return None
    found = [view for view in results if view.result in labelled or view.result in around]
    if len(set(given.values())) > 1 and any(len(labelled.get(view.result, ())) < 2 for view in found):
        return None
    if not all(view.is_whole for view in found if view.result in labelled):
        return None
    if origins.arrays & labelled.keys():
        return None
    return frozenset(view.result for view in found)


def _is_alike(view: View, result: Result, operation: Pointwise) -> bool:
    """Whether arithmetic gives elements as many and of the kind that it gives by NumPy's rules."""
    if len(view.shape) != len(result.shape) or not all(map(are_same, view.shape, result.shape)):
        return False
    is_integer = result.dtype.kind in "iu"
    return not (is_integer and (view.dtype.kind not in "biu" or operation.name in _OF_INTEGERS))


def _is_alike_in_tables(node: Node, operation: Pointwise) -> bool:
    """Whether arithmetic of tables of pandas' has the dtypes and values that NumPy gives of arrays."""
    dtypes = [result.dtype for result in node.results]
    is_of_truths = any(view.result.dtype == np.bool_ for view in node.operands)
    if operation.name in _SHIFTS or (is_of_truths and operation.name in _NOT_OF_TRUTHS):
        return False
    if any(view.result.shape and not any(i.terms for i in view.index) for view in node.operands):
        return False  # an array of one element, which operators refuse
    if operation.name in ("floor_divide", "divmod") and set(dtypes) != {np.dtype(np.float64)}:
        return False  # divisors that are zero make it float64
    if operation.name == "clip":
        return _is_clipped_in_order(node, operation)
    scalars = [k for k, argument in enumerate(operation.arguments) if _is_scalar(argument, node)]
    if not scalars:
        return True
    if operation.name in _BY_OPERATORS and not operation.keywords:
        return dtypes == _dtypes(node, operation, _of_python)
    return len(node.results[0].shape) < 2 or dtypes == _dtypes(node, operation, np.asarray)


def _is_clipped_in_order(node: Node, operation: Pointwise) -> bool:
    """Whether elements are clipped, in their dtype, to numbers that are known to be in order."""
    if len(node.operands) != 1 or node.operands[0].result.dtype != node.results[0].dtype:
        return False
    given = [operation.floats[a.number] if isinstance(a, Number) else a for a in operation.arguments]
    bounds = [float(a) for a in given if isinstance(a, _BOUNDS) and not isinstance(a, bool)]
    is_known = len(bounds) == sum(not isinstance(a, Operand) and a is not None for a in given)
    return is_known and not operation.keywords and bounds == sorted(bounds) and not any(b != b for b in bounds)


_BOUNDS = (int, float, np.integer, np.floating)


def _is_scalar(argument: Any, node: Node) -> bool:
    """Whether an argument is a number, or an array without axes, which pandas takes for one."""
    return not (isinstance(argument, Operand) and node.operands[argument.number].result.shape)


def _dtypes(node: Node, operation: Pointwise, taken: Callable[[Any], Any]) -> list[np.dtype[Any]] | None:
    """The dtypes of the results if numbers are taken for something; None where they are refused."""

    def sample(argument: Any) -> Any:
        match argument:
            case Operand(number=number):
                result = node.operands[number].result
                return np.empty(0, result.dtype) if result.shape else taken(result.dtype.type(1))
            case Number(dtype=dtype):
                return taken(1.0 if dtype is None else dtype.type(1))
            case Extent():
                return taken(1)
            case _:
                return taken(argument)

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = operation.function(*map(sample, operation.arguments), **dict(operation.keywords))
    except (ArithmeticError, TypeError, ValueError):
        return None
    return [each.dtype for each in (found if isinstance(found, tuple) else (found,))]


def _of_python(scalar: Any) -> Any:
    """A number of Python's instead of a scalar of NumPy's."""
    return scalar.item() if isinstance(scalar, (np.integer, np.floating)) else scalar
