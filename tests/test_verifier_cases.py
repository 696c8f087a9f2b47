"""Each thing that `verify` asks of a statement: programs that lack just that, and such as it must not refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import alloc, calls_of, out_x, out_y, over, row, stencil, wide_x, with_body

import slinky as sl
from slinky.ir.copies import with_operands
from slinky.ir.statements import (
    SERIAL,
    Alloc,
    BufferParameter,
    Call,
    ConstantBuffer,
    FloatParameter,
    For,
    InputPort,
    Layout,
    Limit,
    Parallel,
    ScalarParameter,
    Statement,
    View,
    Within,
)
from slinky.symbolic.expressions import as_expr, scalar, variable
from slinky.symbolic.intervals import Box, Interval

PROGRAM = stencil().program
ALLOC = alloc(PROGRAM)
ADD, STENCIL = calls_of(PROGRAM)["add"], calls_of(PROGRAM)["stencil"]
WIDE = (Interval(out_y.min - 1, out_y.max + 1), wide_x)
PRODUCE, CONSUME = over(ADD, WIDE), over(STENCIL, (out_y, out_x))
NOWHERE = scalar("nowhere")
LACKS_SCALAR = "scalar nowhere is not a parameter"


def fault(*body: Statement, **changes: Any) -> str:
    """What is wrong with the stencil, if this is its body and these are its parameters."""
    whole = with_body(PROGRAM, body).program
    with pytest.raises(sl.ProgramError) as caught:
        sl.Pipeline(attrs.evolve(whole, **changes)).verify()
    return str(caught.value).removeprefix("pipeline stencil, ").removeprefix("pipeline stencil: ")


def verified(*body: Statement, **changes: Any) -> None:
    whole = with_body(PROGRAM, body).program
    sl.Pipeline(attrs.evolve(whole, **changes)).verify()


def loop(*body: Statement, **changes: Any) -> For:
    return attrs.evolve(For(row, out_y, as_expr(1), SERIAL, body), **changes)


def never(*body: Statement) -> For:
    """A loop that is shown to run nothing, around these."""
    return loop(*body, range=Interval(out_y.max + 1, out_y.max))


def with_func(call: Call, **changes: Any) -> Call:
    """The call, of a func that differs in these fields."""
    return attrs.evolve(call, func=attrs.evolve(call.func, **changes))


def with_port(call: Call, **changes: Any) -> Call:
    """The call, of a func whose first input differs in these fields."""
    first, *others = call.func.inputs
    return with_func(call, inputs=(attrs.evolve(first, **changes), *others))


def constant(name: str) -> ConstantBuffer:
    return ConstantBuffer(name, np.zeros((9, 9), np.int64), (0, 0), ("y", "x"))


# Parameters -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"scalars": (ScalarParameter("inp"),)},
        {"floats": (FloatParameter("inp"),)},
        {"constants": (constant("inp"),)},
        {"outputs": (*PROGRAM.outputs, BufferParameter("inp", np.dtype(np.int64), ("y", "x")))},
    ],
)
def test_one_name_for_one_parameter(changes: dict[str, Any]) -> None:
    assert fault(ALLOC, PRODUCE, CONSUME, **changes) == "the name 'inp' stands for two parameters"


def test_constants_are_not_written() -> None:
    call = with_operands(PRODUCE, PRODUCE.reads, ("c",))
    assert fault(call, constants=(constant("c"),)) == "call of add: it writes 'c', which may only be read"


@pytest.mark.parametrize("kind", ["scalars", "floats"])
def test_loops_and_buffers_are_not_called_like_numbers(kind: str) -> None:
    number: Any = {"scalars": ScalarParameter, "floats": FloatParameter}[kind]
    taken = {kind: (number("row"), number("intm"))}
    assert fault(loop(), **taken) == "for row: the name 'row' is already in scope"
    taken = {kind: (number("intm"),)}
    assert fault(ALLOC, PRODUCE, CONSUME, **taken) == "alloc intm: the name 'intm' is already in scope"


def test_buffers_are_not_called_like_loops() -> None:
    inside = loop(ALLOC, PRODUCE, variable=variable("intm"))
    assert fault(inside) == "alloc intm: the name 'intm' is already in scope"


# Allocations ----------------------------------------------------------------------------------------------------------


LAYOUT_FAULTS: Sequence[tuple[dict[str, Any], str]] = [
    ({"dims": ("y",)}, "1 dimensions, 2 intervals, 2 folds"),
    ({"folds": (NOWHERE, None)}, LACKS_SCALAR),
    ({"layout": Layout((NOWHERE, None))}, LACKS_SCALAR),
    ({"layout": Layout((as_expr(64),))}, "2 dimensions, 1 strides"),
    (
        {"layout": Layout((None, None), 64), "folds": (as_expr(3), None)},
        "a buffer that is folded cannot have a layout of its own",
    ),
    ({"layout": Layout((None, None), blocks=(4,))}, "2 dimensions, 1 lengths of blocks"),
    ({"layout": Layout((None, None), blocks=(0, None))}, "a block has 1 coordinate or more, got 0"),
    (
        {"layout": Layout((None, None), 2, blocks=(4, None))},
        "a buffer that is stored by blocks has no strides and no alignment of its own",
    ),
    (
        {"layout": Layout((as_expr(64), None), blocks=(4, None))},
        "a buffer that is stored by blocks has no strides and no alignment of its own",
    ),
]


@pytest.mark.parametrize(("changes", "message"), LAYOUT_FAULTS)
def test_allocations(changes: dict[str, Any], message: str) -> None:
    assert fault(attrs.evolve(ALLOC, **changes), PRODUCE, CONSUME) == f"alloc intm: {message}"


def test_blocks_of_one_coordinate() -> None:
    verified(attrs.evolve(ALLOC, layout=Layout((None, None), blocks=(1, None))), PRODUCE, CONSUME)


def guest(name: str, host: str, **changes: Any) -> Alloc:
    return attrs.evolve(ALLOC, buffer=name, memory=Within(host), id=10**9 + len(name), **changes)


def test_guests() -> None:
    verified(ALLOC, guest("g", "intm"), PRODUCE, CONSUME)
    assert fault(guest("g", "intm"), ALLOC) == "alloc g: it lies in 'intm', which is not allocated here"
    assert fault(guest("g", "inp")) == "alloc g: it lies in 'inp', which is not allocated here"
    assert fault(ALLOC, guest("g", "intm"), guest("gg", "g")) == (
        "alloc gg: it lies in 'g', which has no memory of its own"
    )
    alone = "a buffer that shares memory is not folded, and has no layout of its own"
    for changes in ({"folds": (as_expr(3), None)}, {"layout": Layout((None, None), 64)}):
        assert fault(ALLOC, guest("g", "intm", **changes)) == f"alloc g: {alone}"
        assert fault(attrs.evolve(ALLOC, **changes), guest("g", "intm")) == f"alloc intm: {alone}"


# Loops ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"range": Interval(NOWHERE, out_y.max)},
        {"range": Interval(out_y.min, NOWHERE)},
        {"step": NOWHERE},
        {"mode": Parallel(NOWHERE)},
    ],
)
def test_what_loops_say_is_in_scope(changes: dict[str, Any]) -> None:
    assert fault(loop(**changes)) == f"for row: {LACKS_SCALAR}"


def test_a_loop_has_a_worker() -> None:
    assert fault(loop(mode=Parallel(0))) == "for row: the number of workers must be 1 or more, got 0"


def test_what_never_runs_may_say_anything() -> None:
    """Rewrites leave such: nothing is shown of a place that no run comes to."""
    inner = variable("inner")
    for statement in (
        attrs.evolve(ALLOC, folds=(as_expr(0), None), id=10**9),
        loop(variable=inner, step=as_expr(0)),
        loop(variable=inner, mode=Parallel(0)),
    ):
        verified(never(statement), ALLOC, PRODUCE, CONSUME)
        assert fault(loop(statement), ALLOC, PRODUCE, CONSUME).endswith("must be 1 or more, got 0")


# Calls ----------------------------------------------------------------------------------------------------------------


def test_operands_are_as_many_as_ports() -> None:
    more = attrs.evolve(PRODUCE, reads=("inp", "inp"))
    assert fault(ALLOC, more, CONSUME) == "call of add: it reads 2 buffers, the func reads 1"
    none = attrs.evolve(PRODUCE, writes=())
    assert fault(ALLOC, none, CONSUME) == "call of add: it writes 0 buffers, the func writes 1"


def test_dtypes() -> None:
    small = attrs.evolve(ALLOC, dtype=np.dtype(np.int32))
    assert fault(small, PRODUCE, CONSUME) == "call of add: buffer 'intm' has dtype int32, accessed as int64"
    for kind, call in (("inputs", "add"), ("outputs", "stencil")):
        (parameter,) = getattr(PROGRAM, kind)
        changed = {kind: (attrs.evolve(parameter, dtype=np.dtype(np.int32)),)}
        assert fault(ALLOC, PRODUCE, CONSUME, **changed) == (
            f"call of {call}: buffer {parameter.name!r} has dtype int32, accessed as int64"
        )


def test_one_port_for_what_is_written() -> None:
    (port,) = ADD.func.outputs
    twice = attrs.evolve(with_func(PRODUCE, outputs=(port, port)), writes=("intm", "intm"))
    message = "call of add: it writes 'intm', and touches it by another port, too"
    assert fault(ALLOC, twice, CONSUME) == message
    over_itself = with_operands(PRODUCE, ("intm",), ("intm",))
    assert fault(ALLOC, PRODUCE, attrs.evolve(over_itself, id=10**9), CONSUME) == message


def carried(*boxes: Box) -> Call:
    """A call that writes `intm`, from elements of that."""
    ports = tuple([InputPort(box, np.dtype(np.int64)) for box in boxes])
    call = with_func(PRODUCE, inputs=ports)
    inside = (Interval(out_y.min, out_y.max), wide_x)
    return attrs.evolve(call, id=10**9, reads=("intm",) * len(boxes), box=inside)


def test_an_element_may_come_of_earlier_ones() -> None:
    y, x = ADD.func.dims
    above = (Interval(y - 1, y - 1), Interval(x, x))
    verified(ALLOC, PRODUCE, carried(above), CONSUME)
    verified(ALLOC, PRODUCE, carried(above, above), CONSUME)
    message = "call of add: it writes 'intm', and touches it by another port, too"
    for boxes in ([(Interval(y - 1, y), Interval(x, x))], [above, (Interval(y, y), Interval(x, x))]):
        assert fault(ALLOC, PRODUCE, carried(*boxes), CONSUME) == message


def test_what_funcs_say_is_in_scope() -> None:
    y, x = ADD.func.dims
    (first, second) = ADD.func.inputs[0].box
    v, w = variable("v"), variable("w")
    boxed = View((v, w), (v, w), (Interval(y, NOWHERE), Interval(x, x)))
    shifted = View((v, w), (v + NOWHERE, w), (Interval(y, y), Interval(x, x)))
    unsaid = View((v, w), (v, row), (Interval(y, y), Interval(x, x)))
    with_an_argument = attrs.evolve(ADD.func.operation, arguments=(("amount", NOWHERE),))
    for call in (
        with_port(PRODUCE, box=(Interval(first.min, first.max + NOWHERE), second)),
        with_port(PRODUCE, view=boxed),
        with_port(PRODUCE, view=shifted),
        with_func(PRODUCE, part=(Limit(0, NOWHERE, None),)),
        with_func(PRODUCE, part=(Limit(0, None, NOWHERE),)),
        with_func(PRODUCE, whole=((0, Interval(NOWHERE, out_y.max)),)),
        with_func(PRODUCE, whole=((0, Interval(out_y.min, NOWHERE)),)),
        with_func(PRODUCE, known=(NOWHERE >= 1,)),
        with_func(PRODUCE, operation=with_an_argument),
    ):
        assert fault(ALLOC, call, CONSUME) == f"call of add: {LACKS_SCALAR}"
        verified(ALLOC, call, CONSUME, scalars=(ScalarParameter("nowhere"),))
    assert fault(ALLOC, with_port(PRODUCE, view=unsaid), CONSUME) == "call of add: variable row is not in scope"


def test_floats_are_parameters() -> None:
    amount = sl.scalar("amount", float)
    operation = attrs.evolve(ADD.func.operation, arguments=(("amount", amount),))
    call = with_func(PRODUCE, operation=operation)
    assert fault(ALLOC, call, CONSUME) == "call of add: scalar amount is not a parameter"
    verified(ALLOC, call, CONSUME, floats=(FloatParameter("amount"),))


@pytest.mark.parametrize(
    ("short", "reads"),
    [
        (Interval(out_y.min, out_y.max + 1), "out.dim(0).min - 1 .. out.dim(0).max + 1"),
        (Interval(out_y.min - 1, out_y.max), "out.dim(0).min - 1 .. out.dim(0).max + 1"),
    ],
)
def test_regions_lie_in_their_buffers(short: Interval, reads: str) -> None:
    body = (attrs.evolve(ALLOC, box=(short, wide_x)), PRODUCE, CONSUME)
    assert fault(*body) == (f"call of stencil: it reads 'intm' in {reads} of dimension 0, which holds only {short}")
    copies = [attrs.evolve(statement, id=10**9 + n) for n, statement in enumerate(body)]
    verified(never(*copies), ALLOC, PRODUCE, CONSUME)
