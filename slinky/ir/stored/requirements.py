"""What a program must be before it is verified: its names are names, and funcs and operations fit together.

`verify` goes by what funcs say of themselves, and a graph makes only funcs that say so truly. Of those that are read,
this asks all that does not depend on where they are called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from slinky.errors import FormatError, SlinkyError
from slinky.ir.formulas import ERRORS, Apply, Axis, Choose, Constant, Coordinate, Element, Formula, Operand, Result
from slinky.ir.operations import Accumulation, Callback, Copy, Expression, Nested, Operation, Reduction, Stage
from slinky.ir.reducing import Reducing
from slinky.ir.regions import end_symbols, input_templates, output_region, seen_templates
from slinky.ir.statements import (
    LARGEST_ALIGNMENT,
    Alloc,
    BufferParameter,
    ConstantBuffer,
    InputPort,
    LoweredFunc,
    Order,
    Port,
    Program,
    View,
    walk,
)
from slinky.ir.stored.reading import Reading, is_dimension, is_name, shown
from slinky.ir.validation import validated
from slinky.ir.verifier import verify_program
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, Scalar, Variable, equal, is_power_of_two, linear, variable
from slinky.symbolic.intervals import Interval, box_symbols
from slinky.symbolic.proofs import facts, prove
from slinky.symbolic.traversal import substitute, symbols, union_of_symbols


def require_program(reading: Reading, program: Program) -> None:
    """Refuse a program whose parameters or funcs are not what a graph would make."""
    if not is_name(program.name):
        reading.fail(f"expected a name that is an identifier of Python, got {shown(program.name)}")
    for parameter in program.parameters():
        if not is_name(parameter.name):
            reading.fail(f"a parameter needs a name that is an identifier of Python, got {shown(parameter.name)}")
    for buffer in (*program.inputs, *program.outputs):
        _require_buffer(reading, buffer.name, buffer.dims, buffer.dtype)
    for constant in program.constants:
        _require_constant(reading, constant)
    for statement in walk(program.body):
        if isinstance(statement, Alloc):
            _require_buffer(reading, statement.buffer, statement.dims, statement.dtype)


def require_that_it_runs(reading: Reading, program: Program) -> None:
    """Refuse a program whose statements are none, or that `verify` does not accept."""
    try:
        for statement in program.body:
            validated(statement)
        verify_program(program)
    except (SlinkyError, ZeroDivisionError, RecursionError) as error:
        raise FormatError(f"this is no program that runs: {error}", where=reading.where()) from error


def _require_buffer(reading: Reading, name: str, dims: Sequence[str], dtype: np.dtype[Any]) -> None:
    if not all(map(is_dimension, dims)) or len(set(dims)) != len(dims):
        reading.fail(f"the dimensions of {name} need a name or a number each, got {shown(', '.join(dims))}")
    if dtype.subdtype is not None:
        reading.fail(f"{name} has the dtype {dtype}, whose elements are arrays")


def _require_constant(reading: Reading, constant: ConstantBuffer) -> None:
    name, rank = constant.name, constant.array.ndim
    _require_buffer(reading, name, constant.dims, constant.array.dtype)
    if not len(constant.min) == len(constant.dims) == rank:
        reading.fail(f"{name} has {rank} dimensions, {len(constant.dims)} names and {len(constant.min)} minima")


# ----------------------------------------------------------------------------------------------------------------
# Funcs
# ----------------------------------------------------------------------------------------------------------------


def require_func(reading: Reading, func: LoweredFunc) -> None:
    """Refuse a func whose parts do not fit together."""
    rank = len(func.dims)
    if not is_name(func.name):
        reading.fail(f"a func needs a name that is an identifier of Python, got {shown(func.name)}")
    _require_variables(reading, func.dims, "dims")
    if not func.outputs:
        reading.fail("it produces nothing: it has no output")
    for output in func.outputs:
        _require_positions(reading, output.dims, rank, "the dims of an output")
    for port in func.ports:
        _require_port(reading, port)
    _require_positions(reading, [d for d, _ in func.whole], rank, "whole dimensions")
    _require_positions(reading, [d for d, _ in func.multiples], rank, "dimensions in multiples")
    if any(n < 1 for _, n in func.multiples):
        reading.fail("a multiple is 1 or more")
    for limit in func.part:
        _require_positions(reading, [limit.dim], rank, "the limits of a part")
    _require_seen(reading, func)
    _require_operation(reading, func.operation)
    if func.reduction is not None:
        _require_reduction(reading, func, func.reduction)
    if isinstance(func.operation, Callback) and isinstance(func.operation.function, Reducing):
        _require_reducing(reading, func, func.operation.function)
    if isinstance(func.operation, Copy):
        _require_copy(reading, func, func.operation)
    if isinstance(func.operation, Accumulation):
        _require_stage(reading, func, func.operation)
    if isinstance(func.operation, Nested):
        _require_nested(reading, func, func.operation)
    if isinstance(func.operation, Expression):
        _require_formula(reading, func, func.operation)


def _require_variables(reading: Reading, dims: Sequence[Variable], what: str) -> None:
    if len(set(dims)) != len(dims):
        reading.fail(f"{what} has a variable twice")


def _require_positions(reading: Reading, positions: Sequence[int], rank: int, what: str) -> None:
    if len(set(positions)) != len(positions) or not all(0 <= d < rank for d in positions):
        reading.fail(f"{what} are positions of the func's {rank} dimensions, each once at most, got {positions}")


def _require_port(reading: Reading, port: Port) -> None:
    if port.dtype.subdtype is not None:
        reading.fail(f"a port has the dtype {port.dtype}, whose elements are arrays")
    if port.view is not None:
        _require_view(reading, port.view, port.rank)
    if port.order is not None:
        _require_order(reading, port.order, port.rank)


def _require_order(reading: Reading, order: Order, rank: int) -> None:
    """Refuse an order that is none of a buffer of some rank."""
    if sorted(order.dims) != list(range(rank)):
        reading.fail(f"an order has each of the {rank} dimensions once, got {order.dims}")
    if order.strides and (len(order.strides) != rank or any(n is not None and n < 1 for n in order.strides)):
        reading.fail(f"an order has a stride of 1 or more, or none, for each of {rank} dimensions, got {order.strides}")
    if not is_power_of_two(order.alignment) or order.alignment > LARGEST_ALIGNMENT:
        reading.fail(f"an alignment is a power of two, up to {LARGEST_ALIGNMENT}, got {order.alignment}")


def _require_view(reading: Reading, view: View, rank: int) -> None:
    _require_variables(reading, view.dims, "a view")
    if len(view.index) != rank or len(view.box) != len(view.dims):
        reading.fail(
            f"a view has an index for each of the {rank} dimensions of the buffer and an interval for each of its "
            f"{len(view.dims)} own, got {len(view.index)} and {len(view.box)}"
        )


def _require_seen(reading: Reading, func: LoweredFunc) -> None:
    """Refuse a view that is not shown to lie in what its port reads or writes, over any box: an operation is given an
    array of these strides, and nothing looks at them when it runs."""
    ends = end_symbols(func)
    box = tuple(Interval(lo, hi) for lo, hi in ends)
    known = facts(*func.known, *(lo <= hi for lo, hi in ends))
    regions = (*input_templates(func), *(output_region(port, box) for port in func.outputs))
    for port, region, seen in zip(func.ports, regions, seen_templates(func), strict=True):
        if port.view is None or seen is None:
            continue
        ranges: dict[Expr, Interval] = dict(zip(port.view.dims, seen, strict=True))
        for e, limit in zip(port.view.index, region, strict=True):
            taken = bounds(e, ranges, known)
            is_affine = all(atom in ranges for atom, _ in linear(e)[1] if not symbols(atom).isdisjoint(ranges))
            if not is_affine or not (prove(limit.min <= taken.min, known) and prove(taken.max <= limit.max, known)):
                reading.fail(f"a view is not shown to lie in what its port reads or writes, at {shown(str(e))}")


def _require_operation(reading: Reading, operation: Operation) -> None:
    names = [name for name, _ in operation.arguments]
    if len(set(names)) != len(names) or not all(map(is_name, names)):
        reading.fail(f"arguments have names that are identifiers of Python, each another one, got {names}")


def _require_copy(reading: Reading, func: LoweredFunc, copy: Copy) -> None:
    _require_variables(reading, copy.dims, "a copy")
    if len(copy.sources) != len(func.inputs):
        reading.fail(f"a copy has a source for each of its {len(func.inputs)} inputs, got {len(copy.sources)}")
    if len(func.outputs) != 1 or not copy.pass_buffers:
        reading.fail("a copy has one output, and is given buffers")
    (output,) = func.outputs
    written = len(output.dims if output.view is None else output.view.dims)
    if len(copy.dims) != written:
        reading.fail(f"a copy has a variable for each of the {written} dimensions that it writes, got {len(copy.dims)}")
    known = {*copy.dims, *(variable(name) for name, value in copy.arguments if isinstance(value, Expr))}
    for source, port in zip(copy.sources, func.inputs, strict=True):
        seen = port.rank if port.view is None else len(port.view.dims)
        if not len(source.index) == len(source.edges) == len(source.boundaries) == seen:
            reading.fail(f"a source of a copy has an index, edges and a boundary rule for each of {seen} dimensions")
        ends = [e for i in (*source.edges, *(i for _, i in source.where)) if i is not None for e in (i.min, i.max)]
        _require_known(reading, [*source.index, *ends, *(e for e, _ in source.where)], known)


def _require_reducing(reading: Reading, func: LoweredFunc, reducing: Reducing) -> None:
    """Refuse a function of NumPy's that reduces other axes than its func has not, where a back end writes it in C."""
    if len(func.inputs) != 1 or len(func.outputs) != 1:
        reading.fail(f"{reducing.name} reduces one buffer and writes one, got {len(func.inputs)}, {len(func.outputs)}")
    (port,), (output,) = func.inputs, func.outputs
    given = dict(reducing.keywords)
    axes, rank = sorted(reducing.axes), port.seen_rank
    if not set(axes).isdisjoint(reducing.wide) or len({*axes, *reducing.wide}) != len(axes) + len(reducing.wide):
        reading.fail(f"axes are reduced, or wide, each once at most, got {reducing.axes} and {reducing.wide}")
    if any(not 0 <= axis < rank for axis in (*axes, *reducing.wide)):
        reading.fail(f"an input of rank {rank} has no such axes: {reducing.axes} and {reducing.wide}")
    if reducing.combined() is None:
        return
    if "axis" in given and _sorted_axes(given["axis"], rank) != axes:
        reading.fail(f"{reducing.name} reduces the axes {reducing.axes}, and is told {given['axis']!r:.60}")
    if given.get("dtype", output.dtype) != output.dtype:
        reading.fail(f"{reducing.name} writes {output.dtype}, and is told {given['dtype']}")
    ends = end_symbols(func)
    known = facts(*func.known, *(lo <= hi for lo, hi in ends))
    box = tuple(Interval(lo, hi) for lo, hi in ends)
    seen, written = seen_templates(func)
    given_box = input_templates(func)[0] if seen is None else seen
    target = output_region(output, box) if written is None else written
    kept = [i for axis, i in enumerate(given_box) if axis not in axes]
    alike = (prove(equal(i.max - i.min, t.max - t.min), known) for i, t in zip(kept, target, strict=False))
    if len(kept) != len(target) or not all(alike):
        reading.fail(f"what {reducing.name} does not reduce is not shown to be what its func writes")


def _sorted_axes(given: object, rank: int) -> list[int] | None:
    """Axes as NumPy is told them, from 0 on; None for what are none."""
    axes = tuple(range(rank)) if given is None else given if isinstance(given, tuple) else (given,)
    if not all(type(axis) is int and -rank <= axis < rank for axis in axes):
        return None
    return sorted(int(axis) % rank for axis in axes)


def _require_reduction(reading: Reading, func: LoweredFunc, reduction: Reduction) -> None:
    """Refuse a reduction that does not fit its func."""
    names = [name for name, _ in reduction.over]
    if not names or len(set(names)) != len(names) or not all(map(is_name, names)):
        reading.fail(f"what is reduced has names that are identifiers of Python, each another one, got {names}")
    for name, axes in reduction.over:
        _require_axes(reading, func.inputs, axes)
        if all(axis is None for axis in axes):
            reading.fail(f"no input has an axis along {name}, which is reduced")
        for port, axis in zip(func.inputs, axes, strict=True):
            seen = port.box if port.view is None else port.view.box
            if axis is not None and not box_symbols([seen[axis]]).isdisjoint(func.dims):
                reading.fail(f"what is reduced along {name} moves with a dimension of the func")
    if not reduction.states:
        reading.fail("a reduction holds a state or more")
    for state in reduction.states:
        _require_positions(reading, state.dims, len(func.dims), "the dims of a state")
        if not is_name(state.name):
            reading.fail(f"a state needs a name that is an identifier of Python, got {shown(state.name)}")
    _require_combine(reading, reduction, len(func.inputs))


def _require_combine(reading: Reading, reduction: Reduction, inputs: int) -> None:
    """Refuse a ufunc that does not combine the one state with an element of the one input."""
    ufunc = reduction.combine
    if ufunc is None:
        return
    if (ufunc.nin, ufunc.nout) != (2, 1) or ufunc.signature is not None:
        reading.fail(f"what combines elements is a ufunc of two of them, got {ufunc.__name__}")
    if (len(reduction.states), inputs) != (1, 1):
        reading.fail(f"a ufunc combines one state and one input, got {len(reduction.states)} and {inputs}")


def _require_axes(reading: Reading, ports: Sequence[InputPort], axes: Sequence[int | None]) -> None:
    if len(axes) != len(ports):
        reading.fail(f"a reduction has an axis, or null, for each of {len(ports)} inputs, got {len(axes)}")
    for port, axis in zip(ports, axes, strict=True):
        if axis is not None and not 0 <= axis < port.seen_rank:
            reading.fail(f"an input of rank {port.seen_rank} has no axis {axis}")


def _require_stage(reading: Reading, func: LoweredFunc, stage: Accumulation) -> None:
    """Refuse a stage of a reduction that is not given what such a stage is given."""
    count = len(stage.reduction.states)
    if not count:
        reading.fail("a reduction holds a state or more")
    read = stage.states_read + (len(stage.axes) if stage.stage is Stage.UPDATE else 0)
    written = len(func.outputs) if stage.stage is Stage.FINISH else count
    if (len(func.inputs), len(func.outputs)) != (read, written):
        reading.fail(f"the stage {stage.stage.value} of a reduction with {count} states reads {read} buffers")
    before: tuple[Port, ...] = func.inputs[:count] if stage.stage is not Stage.INIT else ()
    after: tuple[Port, ...] = func.outputs if stage.stage is not Stage.FINISH else ()
    if any(port.rank < 1 for port in (*before, *after)):
        reading.fail("states have a dimension for pieces, the first one")
    in_parts = stage.parts and stage.stage in (Stage.INIT, Stage.UPDATE, Stage.KEEP)
    own = {Stage.INIT: after, Stage.UPDATE: (*before, *after), Stage.KEEP: before}.get(stage.stage, ())
    if in_parts and any(port.rank < 2 for port in own):
        reading.fail("states of parts have two dimensions more, for parts and for pieces")
    if stage.stage is Stage.MERGE and stage.reduction.merge is None:
        reading.fail("a reduction that says no merge has no stage that merges")
    _require_alike(reading, stage)
    is_update, positions = stage.stage is Stage.UPDATE, stage.reduction.positions
    takes_buffers = {Stage.UPDATE: positions or stage.parts, Stage.KEEP: True, Stage.MERGE: positions}
    if stage.pass_buffers != takes_buffers.get(stage.stage, False):
        reading.fail("of the stages of a reduction, those that ask for positions are given buffers, and no other")
    if is_update:
        _require_axes(reading, func.inputs[count:], stage.axes)
        _require_combine(reading, stage.reduction, len(stage.axes))
    needed = {
        Stage.UPDATE: ("piece_extent", "part_pieces") if stage.parts else ("piece_extent",),
        Stage.KEEP: ("part_pieces", "extent"),
        Stage.MERGE: ("piece_extent", "extent", "each") if positions else (),
    }
    for name in needed.get(stage.stage, ()):
        if name not in dict(stage.arguments):
            reading.fail(f"the stage {stage.stage.value} of a reduction takes the argument {name}")


def _require_alike(reading: Reading, stage: Accumulation) -> None:
    """Refuse reductions that the stages of another one cannot become."""
    own = stage.reduction
    for _, other in stage.variants:
        if [s.dims for s in other.states] != [s.dims for s in own.states] or other.positions != own.positions:
            reading.fail("variants of a stage have states along the same dimensions, and ask for positions alike")
        if stage.parts and other.merge is None and own.merge is not None:
            reading.fail("variants of what goes by parts say how states are merged")


def _require_nested(reading: Reading, func: LoweredFunc, operation: Nested) -> None:
    """Refuse a pipeline in a func that is given something else than it takes."""
    program = operation.program
    both: list[tuple[str, Sequence[Port], Sequence[BufferParameter]]] = [
        ("inputs", func.inputs, program.inputs),
        ("outputs", func.outputs, program.outputs),
    ]
    for what, ports, parameters in both:
        given = [(port.rank if port.view is None else len(port.view.dims), port.dtype) for port in ports]
        if given != [(p.rank, p.dtype) for p in parameters]:
            reading.fail(f"the {what} of the pipeline {program.name} are not those of {func.name}, which runs it")
    names = {s.name for s in program.scalars} | {f.name for f in program.floats}
    if {name for name, _ in operation.arguments} != names or not operation.pass_buffers:
        reading.fail(f"the pipeline {program.name} is given buffers, and its scalars as arguments: {sorted(names)}")


def _require_formula(reading: Reading, func: LoweredFunc, operation: Expression) -> None:
    """Refuse a formula that does not fit its func, or of which a step takes what is not there."""
    formula = operation.formula
    if len(func.outputs) != 1:
        reading.fail("arithmetic has one output")
    (output,) = func.outputs
    if output.view is None and output.dims != tuple(range(len(func.dims))):
        reading.fail("arithmetic writes along all dimensions of its func, in their order")
    seen = [port.rank if port.view is None else len(port.view.dims) for port in func.ports]
    if formula.rank != seen[-1] or [len(axes) for axes in formula.inputs] != seen[:-1]:
        reading.fail(f"a formula has an axis for each dimension of its inputs, {seen[:-1]}, and rank {seen[-1]}")
    for axis in (axis for axes in formula.inputs for axis in axes if axis is not None):
        if not 0 <= axis.dim < formula.rank or axis.step == 0:
            reading.fail(f"an axis moves with one of {formula.rank} dimensions, by a coordinate or more")
    for axes in formula.inputs:
        dims = [axis.dim for axis in axes if axis is not None]
        if len(set(dims)) != len(dims):
            reading.fail("two axes of an input move with the same dimension")
    for axes, port in zip(formula.inputs, func.inputs, strict=True):
        if port.view is None and not all(_is_along(func, i, axis) for i, axis in zip(port.box, axes, strict=True)):
            reading.fail("how an axis of a formula moves is not what its port reads")
    if tuple(error for error in ERRORS if error in formula.ignored) != formula.ignored:
        reading.fail(f"a formula ignores some of {list(ERRORS)}, in this order, got {list(formula.ignored)}")
    _require_steps(reading, func, formula)
    if set(formula.arguments()) != {name for name, _ in operation.arguments}:
        reading.fail(f"the formula takes the arguments {list(formula.arguments())}")
    if operation.pass_buffers != formula.has_coordinates():
        reading.fail("arithmetic is given buffers where it asks for coordinates, and else arrays")


def _is_along(func: LoweredFunc, i: Interval | None, axis: Axis | None) -> bool:
    """Whether what a port reads along an axis moves as a formula says: with the dimensions of the array that it
    writes, which are those of the func, or of what the func sees of its output."""
    if i is None or i.min is not i.max:
        return False
    (output,) = func.outputs
    dims, place = func.dims, i.min
    if output.view is not None:
        dims = output.view.dims
        place = substitute(place, {func.dims[d]: e for d, e in zip(output.dims, output.view.index, strict=True)})
    moving = [(atom, step) for atom, step in linear(place)[1] if not symbols(atom).isdisjoint(dims)]
    return moving == ([] if axis is None else [(dims[axis.dim], axis.step)])


def _require_steps(reading: Reading, func: LoweredFunc, formula: Formula) -> None:
    for number, step in enumerate(formula.steps):
        for operand in step.operands:
            _require_operand(reading, func, formula, operand, number)
        match step:
            case Apply(ufunc=ufunc, operands=operands, dtypes=dtypes):
                if (len(operands), len(dtypes)) != (ufunc.nin, ufunc.nin + ufunc.nout):
                    reading.fail(
                        f"the ufunc {ufunc.__name__} takes {ufunc.nin} operands and gives {ufunc.nout} results"
                    )
                _require_loop(reading, formula, step)
            case Choose(condition=condition, chosen=chosen, otherwise=otherwise, dtype=dtype):
                given = [formula.dtype_of(each) for each in (condition, chosen, otherwise)]
                if given != [np.dtype(bool), dtype, dtype]:
                    reading.fail(
                        f"a choice is made by a truth of two values of its dtype, got {', '.join(map(str, given))}"
                    )
            case Coordinate(dim=dim, dtype=dtype):
                if not 0 <= dim < formula.rank or dtype != np.dtype(np.int64):
                    reading.fail(f"a coordinate is an int64 along one of {formula.rank} dimensions")
    _require_operand(reading, func, formula, formula.result, len(formula.steps))
    if formula.dtype_of(formula.result) != func.outputs[0].dtype:
        reading.fail(f"the formula gives {formula.dtype_of(formula.result)}, and writes {func.outputs[0].dtype}")


def _require_loop(reading: Reading, formula: Formula, step: Apply) -> None:
    """Refuse dtypes for which a ufunc has no loop, or which what it is given is not converted to.

    A loop that NumPy takes by itself is not asked for by a signature, which cannot say units of time.
    """
    if formula.is_resolved(step):
        return
    nin = step.ufunc.nin
    try:
        found = step.ufunc.resolve_dtypes((*step.dtypes[:nin], *(None,) * step.ufunc.nout), signature=step.dtypes)
    except TypeError as error:
        reading.fail(f"the ufunc {step.ufunc.__name__} has no such loop: {error}")
    given = zip(map(formula.dtype_of, step.operands), step.dtypes, strict=False)
    if found != step.dtypes or not all(np.can_cast(own, dtype, "same_kind") for own, dtype in given):
        reading.fail(f"the ufunc {step.ufunc.__name__} has no such loop for what it is given")


def _require_operand(reading: Reading, func: LoweredFunc, formula: Formula, operand: Operand, step: int) -> None:
    match operand:
        case Element(input=number, dtype=dtype):
            if not 0 <= number < len(func.inputs) or func.inputs[number].dtype != dtype:
                reading.fail(f"there is no input {number} of {dtype}")
        case Result(step=number, output=output):
            if not 0 <= number < step or not 0 <= output < len(formula.steps[number].results):
                reading.fail(f"there is no result {output} of a step {number} before")
        case Constant(value=value):
            if not isinstance(value, np.generic):
                reading.fail(f"a constant is an element of a dtype, got {shown(value)}")


def _require_known(reading: Reading, expressions: Iterable[Expr], known: Collection[Expr]) -> None:
    for symbol in sorted(union_of_symbols(expressions), key=str):
        if symbol not in known or isinstance(symbol, Scalar):
            reading.fail(f"a copy speaks of {symbol}, which is none of its dimensions and arguments")
