"""What a func computes as arithmetic: formulas, ufuncs, and stages of reductions that combine elements one by one.

Idea. Where an author says that one element more is combined by a ufunc (`Reduction.combine`), an update by pieces of
one element is that ufunc of what there is and the element, the beginning is a number, and the end is what there is. A
back end that makes loops of formulas makes loops of these, too, down to the element.

Invariant: a formula found here gives, over any box of one piece, the bits that the operation of the func gives.
"""

from __future__ import annotations

import numpy as np

from slinky.ir.formulas import Apply, Axis, Constant, Convert, Element, Formula, Result, Step
from slinky.ir.operations import Accumulation, Callback, Expression, Stage
from slinky.ir.remembered import remembered
from slinky.ir.statements import InputPort, LoweredFunc
from slinky.symbolic.expressions import as_expr, linear


@remembered
def formula_of(func: LoweredFunc) -> Formula | None:
    """The formula that a func computes, if it is arithmetic."""
    operation = func.operation
    if isinstance(operation, Expression):
        return operation.formula
    if isinstance(operation, Callback) and isinstance(operation.function, np.ufunc):
        return _alone(func, operation.function)
    if not isinstance(operation, Accumulation) or operation.parts or operation.pass_buffers:
        return None
    reduction = operation.reduction
    if reduction.combine is None or reduction.positions or len(reduction.over) != 1:
        return None
    arguments = dict(operation.arguments)
    is_by_elements = arguments.pop("piece_extent", None) is as_expr(1)
    if arguments:
        return None
    match operation.stage:
        case Stage.INIT:
            return _first(func, operation)
        case Stage.UPDATE:
            return _updated(func, operation, reduction.combine) if is_by_elements else None
        case Stage.FINISH:
            return _last(func)
    return None


def _alone(func: LoweredFunc, ufunc: np.ufunc) -> Formula | None:
    """A ufunc as a callback, of elements each of which is read at one place."""
    if ufunc.signature is not None or ufunc.nout != 1 or func.operation.arguments or len(func.inputs) != ufunc.nin:
        return None
    (output,) = func.outputs
    if output.dims != tuple(range(len(func.dims))) or any(port.view is not None for port in func.ports):
        return None
    found = [_axes(func, port, None) for port in func.inputs]
    axes = tuple([each for each in found if each == tuple(map(Axis, range(len(func.dims))))])
    if len(axes) != len(found):
        return None
    operands = tuple([Element(number, port.dtype) for number, port in enumerate(func.inputs)])
    try:
        dtypes = ufunc.resolve_dtypes((*(port.dtype for port in func.inputs), output.dtype), casting="same_kind")
    except TypeError:
        return None
    steps: list[Step] = [Apply(ufunc, operands, dtypes)]
    if dtypes[-1] != output.dtype:
        steps.append(Convert(Result(0), output.dtype))
    return Formula(len(func.dims), axes, tuple(steps), Result(len(steps) - 1))


def _first(func: LoweredFunc, operation: Accumulation) -> Formula:
    """What is known of no elements: the same everywhere."""
    number = np.empty((), func.outputs[0].dtype)
    operation.reduction.init(number)
    return Formula(len(func.dims), (), (), Constant(number[()]))


def _updated(func: LoweredFunc, operation: Accumulation, ufunc: np.ufunc) -> Formula | None:
    """What is known, and one element more, which is converted first."""
    state, given = func.inputs
    held, moved = _axes(func, state, None), _axes(func, given, operation.axes[0])
    if held is None or moved is None:
        return None
    steps: list[Step] = []
    element: Element | Result = Element(1, given.dtype)
    if given.dtype != state.dtype:
        steps.append(Convert(element, state.dtype))
        element = Result(0)
    steps.append(Apply(ufunc, (Element(0, state.dtype), element), (state.dtype,) * 3))
    return Formula(len(func.dims), (held, moved), tuple(steps), Result(len(steps) - 1))


def _last(func: LoweredFunc) -> Formula | None:
    """What is known of all elements, as it is."""
    (state,) = func.inputs
    held = _axes(func, state, None)
    if held is None or state.dtype != func.outputs[0].dtype:
        return None
    return Formula(len(func.dims), (held,), (), Element(0, state.dtype))


def _axes(func: LoweredFunc, port: InputPort, reduced: int | None) -> tuple[Axis | None, ...] | None:
    """What each axis of an input moves with: the pieces, of which there is one at a time, go along `reduced`."""
    found: list[Axis | None] = []
    for axis, i in enumerate(port.box):
        terms = linear(i.min)[1]
        moving = [d for d, dim in enumerate(func.dims) if dim in dict(terms)]
        if axis == reduced:
            found.append(None)
        elif i.min is not i.max or len(moving) > 1 or any(dict(terms)[func.dims[d]] != 1 for d in moving):
            return None
        else:
            found.append(Axis(moving[0]) if moving else None)
    own = [each.dim for each in found if each is not None]
    return tuple(found) if len(set(own)) == len(own) else None
