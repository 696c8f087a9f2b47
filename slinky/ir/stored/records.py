"""Parameters, funcs and statements: each class is an object with a key for each of its fields.

Idea. How a field is written follows from its type, as it is annotated, so a new field of a known type needs nothing
here. A field that has its default is left out: texts that were written before there was such a field can be read.

Invariant: what is read has in each field a value of the field's type. A field of a type that is not known is an error
when this module is imported.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, cast, get_args

import attrs

from slinky.errors import SlinkyError
from slinky.ir import formulas
from slinky.ir.families import is_member, original, relative, relatives, with_variants
from slinky.ir.operations import Boundary, CopySource, Operation, Reduction, Stage, State
from slinky.ir.statements import (
    KINDS,
    Block,
    BufferParameter,
    ConstantBuffer,
    FloatParameter,
    Fused,
    Heap,
    InputPort,
    Layout,
    Limit,
    LoweredFunc,
    Memory,
    Mode,
    Order,
    OutputPort,
    Program,
    ScalarParameter,
    Statement,
    View,
)
from slinky.ir.stored import own_callbacks, values
from slinky.ir.stored.reading import Reading, shown
from slinky.ir.stored.requirements import require_func, require_program, require_that_it_runs
from slinky.ir.stored.writing import Writing
from slinky.ir.validation import DEEPEST
from slinky.symbolic.expressions import Condition, Expr, Scalar, Variable
from slinky.symbolic.intervals import Interval

Write: TypeAlias = Callable[[Writing, Any], Any]
Read: TypeAlias = Callable[[Reading, Any], Any]


@attrs.frozen
class Codec:
    """How values of a type are written and read."""

    write: Write
    read: Read


# ----------------------------------------------------------------------------------------------------------------
# Types
# ----------------------------------------------------------------------------------------------------------------


def codec_of(annotation: str) -> Codec:
    """How values of a type are written and read, given the type as it is annotated."""
    return _of_type(ast.parse(annotation, mode="eval").body)


def _of_type(node: ast.expr) -> Codec:
    text = ast.unparse(node)
    if text in _CODECS:
        return _CODECS[text]
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _optional(_of_type(left))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[each, ast.Constant(value=rest)])) if (
            rest is ...
        ):
            return _many(_of_type(each))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=elements)):
            return _some([_of_type(each) for each in elements])
    raise TypeError(f"how is a {text} written as JSON?")


def _optional(of: Codec) -> Codec:
    return Codec(
        lambda writing, value: None if value is None else of.write(writing, value),
        lambda reading, value: None if value is None else of.read(reading, value),
    )


def _many(of: Codec) -> Codec:
    return Codec(
        lambda writing, value: [of.write(writing, each) for each in value],
        lambda reading, value: reading.each(value, lambda each: of.read(reading, each)),
    )


def _some(of: list[Codec]) -> Codec:
    def read(reading: Reading, value: Any) -> Any:
        pairs = zip(of, reading.list(value, len(of)), strict=True)
        return tuple(
            reading.at(f"[{k}]", cast(Any, lambda each, codec=codec: codec.read(reading, each)), each)
            for k, (codec, each) in enumerate(pairs)
        )

    return Codec(
        lambda writing, value: [codec.write(writing, each) for codec, each in zip(of, value, strict=True)], read
    )


def _node(kind: Any, expected: str) -> Codec:
    return Codec(lambda writing, value: writing.node(value), lambda reading, value: reading.node(value, kind, expected))


def _read_variable(reading: Reading, value: Any) -> Variable:
    found = reading.node(value, Variable, "a variable")
    if isinstance(found, Scalar):
        reading.fail(f"expected a variable, got the scalar {found}")
    return found


def _read_boundary(reading: Reading, value: Any) -> Boundary:
    rules = [rule.value for rule in Boundary]
    if reading.text(value) not in rules:
        reading.fail(f"expected one of {', '.join(rules)}, got {shown(value)}")
    return Boundary(value)


def _read_stage(reading: Reading, value: Any) -> Stage:
    stages = [stage.value for stage in Stage]
    if reading.text(value) not in stages:
        reading.fail(f"expected one of {', '.join(stages)}, got {shown(value)}")
    return Stage(value)


def _as_it_is(_: Writing, value: Any) -> Any:
    return value


_VARIABLE = Codec(lambda writing, value: writing.node(value), _read_variable)
_NAME = Codec(_as_it_is, lambda reading, value: reading.name(value))

_CODECS: dict[str, Codec] = {
    "str": Codec(_as_it_is, lambda reading, value: reading.text(value)),
    "int": Codec(lambda _, value: int(value), lambda reading, value: reading.integer(value)),
    "bool": Codec(lambda _, value: bool(value), lambda reading, value: reading.truth(value)),
    "BufferName": _NAME,
    "Expr": _node(Expr, "an integer expression"),
    "Condition": _node(Condition, "a condition"),
    "Variable": _VARIABLE,
    "LoopVariable": _VARIABLE,
    "Boundary": Codec(lambda _, value: value.value, _read_boundary),
    "Stage": Codec(lambda _, value: value.value, _read_stage),
    "np.ufunc": Codec(values.write_ufunc, values.read_ufunc),
    "np.dtype[Any]": Codec(values.write_dtype, values.read_dtype),
    "np.ndarray[Any, Any]": Codec(values.write_array, values.read_array),
    "Callable[..., Any]": Codec(own_callbacks.write_callback, own_callbacks.read_callback),
    "Any": Codec(values.write_value, values.read_value),
}

# ----------------------------------------------------------------------------------------------------------------
# Classes
# ----------------------------------------------------------------------------------------------------------------


@cache
def _fields(kind: type) -> dict[str, tuple[Codec, Any]]:
    """Of each field of a class that says something: how it is written, and its default."""
    return {
        field.name: (codec_of(str(field.type)), field.default)
        for field in attrs.fields(kind)
        if field.init and not (field.name == "id" and field.type == "int")
    }


def _write_fields(writing: Writing, value: Any) -> dict[str, Any]:
    written = {}
    for name, (codec, default) in _fields(cast(type, type(value))).items():
        own = getattr(value, name)
        if not _is_default(own, default):
            written[name] = codec.write(writing, own)
    return written


def _is_default(value: Any, default: Any) -> bool:
    """Whether a field has its default, for defaults that are compared by what they say."""
    return value is default or (
        type(value) is type(default) and isinstance(default, (tuple, int, Heap)) and value == default
    )


def _read_fields(reading: Reading, kind: type, value: Any, tag: tuple[str, ...] = ()) -> Any:
    fields = _fields(kind)
    needed = tuple(name for name, (_, default) in fields.items() if default is attrs.NOTHING)
    given = reading.object(value, (*tag, *needed), tuple(fields))
    found = {
        name: reading.at(f".{name}", cast(Any, lambda each, read=codec.read: read(reading, each)), given[name])
        for name, (codec, _) in fields.items()
        if name in given
    }
    try:
        return kind(**found)
    except SlinkyError as error:
        reading.fail(str(error))


def _record(kind: type) -> Codec:
    """A class: an object with a key per field."""
    return Codec(_write_fields, lambda reading, value: _read_fields(reading, kind, value))


def _union(union: Any) -> Codec:
    """One of several classes: the same, with its name as `kind`."""
    kinds = {kind.__name__: kind for kind in get_args(union)}

    def write(writing: Writing, value: Any) -> Any:
        return {"kind": type(value).__name__, **_write_fields(writing, value)}

    def read(reading: Reading, value: Any) -> Any:
        name = reading.object(value, ("kind",), tuple(value) if type(value) is dict else ())["kind"]
        if type(name) is not str or name not in kinds:
            reading.fail(f"expected one of {', '.join(kinds)}, got the kind {shown(name)}")
        return _read_fields(reading, kinds[name], value, ("kind",))

    return Codec(write, read)


def _read_interval(reading: Reading, value: Any) -> Interval:
    lo, hi = [reading.node(end, Expr, "an integer expression") for end in reading.list(value, 2)]
    return Interval(lo, hi)


def _write_block(writing: Writing, block: Block) -> list[Any]:
    """A list that is filled when it is the block's turn: what nests deep is not written by functions that nest."""
    statements: list[Any] = []
    writing.blocks.append((block, statements))
    return statements


def _read_block(reading: Reading, value: Any) -> Block:
    """A block whose statements were read before what it stands in."""
    return reading.blocks[id(reading.list(value))]


def _read_blocks(reading: Reading, value: Any, place: str) -> None:
    """Read a block and all inside it, innermost first: what nests deep is not read by functions that nest."""
    found: list[tuple[list[Any], str]] = []
    waiting: list[tuple[Any, str, int]] = [(value, place, 0)]
    while waiting:
        block, place, depth = waiting.pop()
        if type(block) is not list:
            continue  # who reads the field says what is wrong
        if depth > DEEPEST:
            reading.only_at(place, lambda _: reading.fail(f"statements nest at most {DEEPEST} deep"), None)
        found.append((block, place))
        for k, statement in enumerate(block):
            if type(statement) is dict:
                for field in _BLOCKS & statement.keys():
                    waiting.append((statement[field], f"{place}[{k}].{field}", depth + 1))
    statements = _many(_STATEMENT).read
    for block, place in reversed(found):
        reading.blocks[id(block)] = reading.only_at(place, lambda given: statements(reading, given), block)


def _write_func(writing: Writing, func: LoweredFunc) -> int:
    """A func is written with its variants, and a variant by where its func stands."""
    first = original(func)
    if first is not func:
        position = _write_func(writing, first)
        return writing.func(func, lambda new: {"variant_of": position, "variant": new.variant})
    return writing.func(func, lambda new: _write_family(writing, new))


def _write_family(writing: Writing, func: LoweredFunc) -> dict[str, Any]:
    written: dict[str, Any] = _FUNC.write(writing, attrs.evolve(func, family=None))
    others = relatives(func) if is_member(func) else {}
    variants = [(name, other) for name, other in others.items() if name is not None]
    return {**written, "variants": [_write_variant(writing, func, *each) for each in variants]} if variants else written


def _write_variant(writing: Writing, func: LoweredFunc, name: str, variant: LoweredFunc) -> Any:
    """What a variant has of its own. The dtypes of what it writes, how it reduces, and in which orders it takes what it
    writes, are said only where they are others than those of the func, where it says how, and where it asks for some.
    """
    said = _VARIANT.write(writing, (name, variant.operation, variant.inputs))
    if variant.outputs == func.outputs and variant.reduction is None:
        return said
    said += _MORE.write(writing, (tuple(port.dtype for port in variant.outputs), variant.reduction))
    orders = tuple(port.order for port in variant.outputs)
    return [*said, _ORDERS.write(writing, orders)] if any(orders) else said


def _read_variant(reading: Reading, func: LoweredFunc, value: Any) -> tuple[str, LoweredFunc]:
    says_more = type(value) is list and len(value) > 3
    name, operation, inputs = _VARIANT.read(reading, value[:3] if says_more else value)
    outputs, reduction = func.outputs, None
    if says_more:
        dtypes, reduction = reading.at("[3:5]", lambda given: _MORE.read(reading, given), value[3:5])
        orders: Any = (None,) * len(outputs)
        if len(value) > 5:
            (orders,) = reading.at("[5:]", lambda given: _some([_ORDERS]).read(reading, given), value[5:])
        for said, what in ((dtypes, "dtypes"), (orders, "orders")):
            if len(said) != len(outputs):
                reading.fail(f"a variant of {func.name} says {len(said)} {what} of its {len(outputs)} outputs")
        outputs = tuple(
            attrs.evolve(port, dtype=dtype, order=order)
            for port, dtype, order in zip(outputs, dtypes, orders, strict=True)
        )
    return name, attrs.evolve(func, operation=operation, inputs=inputs, outputs=outputs, reduction=reduction)


def _read_func(reading: Reading, value: Any) -> LoweredFunc:
    if type(value) is dict and "variant_of" in value:
        given = reading.object(value, ("variant_of", "variant"))
        first, name = reading.func(given["variant_of"]), reading.text(given["variant"])
        func = relative(first, name)
        return func if func is not None else reading.fail(f"{first.name} has no variant {shown(name)}")
    if type(value) is not dict or "variants" not in value:
        return cast(LoweredFunc, _FUNC.read(reading, value))
    func = _FUNC.read(reading, {key: each for key, each in value.items() if key != "variants"})
    found: dict[str, LoweredFunc] = dict(
        reading.at(
            ".variants",
            lambda given: reading.each(given, cast(Any, lambda each: _read_variant(reading, func, each))),
            value["variants"],
        )
    )
    for variant in found.values():
        if len(variant.inputs) != len(func.inputs):
            reading.fail(f"a variant of {func.name} reads {len(variant.inputs)} buffers, and it {len(func.inputs)}")
        require_func(reading, variant)
    return with_variants(func, found)


def _no_family(reading: Reading, value: Any) -> Any:
    reading.fail("a family is written as the variants of a func")


def _write_inner(writing: Writing, program: Program) -> Any:
    """A program in a func: all of it, before the func itself is put into the table."""
    outer, place = writing.blocks, writing.place
    writing.blocks = deque()
    written = write_program(writing, program)
    writing.blocks, writing.place = outer, place
    return written


def _read_inner(reading: Reading, value: Any) -> Program:
    program = read_program(reading, value, f"funcs[{len(reading.funcs)}].operation.program")
    require_program(reading, program)
    require_that_it_runs(reading, program)
    return program


_INTERVAL = Codec(lambda writing, i: [writing.node(i.min), writing.node(i.max)], _read_interval)
_STATEMENT = _union(Statement)
_FUNC = _record(LoweredFunc)

_CODECS |= {
    "Interval": _INTERVAL,
    "Box": _many(_INTERVAL),
    "Block": Codec(_write_block, _read_block),
    "Family": Codec(_as_it_is, _no_family),
    "LoweredFunc": Codec(_write_func, lambda reading, value: reading.func(value)),
    "Formula": _record(formulas.Formula),
    "Axis": _record(formulas.Axis),
    "Operand": _union(formulas.Operand),
    "Operation": _union(Operation),
    "Step": _union(formulas.Step),
    "Program": Codec(_write_inner, _read_inner),
    "Memory": _union(Memory),
    "Mode": _union(Mode),
    **{
        kind.__name__: _record(kind)
        for kind in (
            BufferParameter, ConstantBuffer, CopySource, FloatParameter, Fused, InputPort, Layout, Limit, Order,
            OutputPort, Reduction, ScalarParameter, State, View,
        )
    },
}  # fmt: skip

_VARIANT = _some([_NAME, _CODECS["Operation"], _many(_CODECS["InputPort"])])
_MORE = _some([_many(_CODECS["np.dtype[Any]"]), codec_of("Reduction | None")])
_ORDERS = _many(codec_of("Order | None"))

_BLOCKS = {field.name for kind in KINDS for field in attrs.fields(kind) if field.type == "Block"}
"""The fields of statements that hold blocks."""

_UNIONS = (Operation, Memory, Mode, formulas.Operand, formulas.Step)

for _kind in (Program, LoweredFunc, formulas.Formula, *KINDS, *(kind for union in _UNIONS for kind in get_args(union))):
    _fields(_kind)


def write_program(writing: Writing, program: Program) -> Any:
    """A program; its expressions and funcs are put into the tables."""
    written = _record(Program).write(writing, program)
    while writing.blocks:
        block, statements = writing.blocks.popleft()
        statements += [_STATEMENT.write(writing, statement) for statement in block]
    return written


def read_program(reading: Reading, value: Any, place: str = "program") -> Program:
    """A program that stands at a place, given the tables."""
    if type(value) is dict:
        _read_blocks(reading, value.get("body"), f"{place}.body")
    return cast(Program, _record(Program).read(reading, value))


def read_funcs(reading: Reading, value: Any) -> None:
    """Read the table of funcs, given that of expressions."""

    def read(given: Any) -> None:
        func = _read_func(reading, given)
        require_func(reading, func)
        reading.funcs.append(func)

    reading.each(value, read)
