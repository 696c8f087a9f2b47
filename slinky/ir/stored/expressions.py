"""The table of expressions: each is an entry `[kind, ...]`, whose parts are given by their positions further up.

Invariant: what is read is made by the constructors, so it is canonical whatever the text says, and equal to what was
written if that was written by `entry_of`. What reading takes is bounded by the length of the text: parts are shared and
never multiplied out, integers are not long, and what constructors make of the parts is not much more than was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from slinky.ir.stored.reading import Reading, is_dimension, is_name, shown
from slinky.symbolic.expressions import (
    METADATA_FIELDS,
    And,
    Condition,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Scalar,
    Select,
    Sum,
    Truth,
    Variable,
    all_of,
    any_of,
    constant,
    floor_divide,
    is_zero,
    linear_sum,
    maximum,
    metadata,
    minimum,
    nonnegative,
    product,
    scalar,
    select,
    truth,
    variable,
)
from slinky.symbolic.order import children

LARGEST = 2**128
"""Integers of expressions are smaller than this."""

DEEPEST = 10_000
"""How deep expressions may nest."""

_MOST_PARTS = 4
"""How many parts the nodes that are read may have for each part that the text gives them, and for each node."""

# ----------------------------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------------------------


def entry_of(node: Node, positions: Mapping[Node, int], fail: Callable[[str], NoReturn]) -> list[Any]:
    """The entry of a node whose parts have positions."""
    parts = [positions[part] for part in children(node)]
    match node:
        case Constant(value=value):
            return ["constant", _short(value, fail)]
        case Truth(value=decided):
            return ["truth", decided]
        case Scalar(name=name):
            return ["scalar", name]
        case Variable(name=name):
            return ["variable", name]
        case Metadata(buffer=buffer, dim=dim, field=field):
            return ["metadata", buffer, dim, field]
        case Sum(constant=offset, terms=terms):
            factors = [_short(factor, fail) for _, factor in terms]
            return ["sum", _short(offset, fail), [list(term) for term in zip(parts, factors, strict=True)]]
    return [_NAMES[type(node)], *parts]


_NAMES: dict[type[Node], str] = {
    Product: "product", FloorDivide: "quotient", Min: "min", Max: "max", Select: "select",
    NonNegative: "nonnegative", IsZero: "zero", And: "and", Or: "or",
}  # fmt: skip
"""What nodes are called that are made of other nodes alone."""


def _short(value: int, fail: Callable[[str], NoReturn]) -> int:
    if abs(value) >= LARGEST:
        fail("an expression holds an integer of more than 128 bits")
    return value


# ----------------------------------------------------------------------------------------------------------------
# Reading
# ----------------------------------------------------------------------------------------------------------------


def read_table(reading: Reading, entries: Any) -> None:
    """Read the table of expressions."""
    allowed = 0
    found = 0
    depths: list[int] = []

    def read(entry: Any) -> None:
        nonlocal allowed, found
        node = _read_entry(reading, entry)
        positions = _positions(entry)
        depths.append(1 + max((depths[k] for k in positions), default=0))
        if depths[-1] > DEEPEST:
            reading.fail(f"expressions nest at most {DEEPEST} deep")
        allowed += _MOST_PARTS * (1 + len(positions))
        found += len(children(node))
        if found > allowed or any(abs(n) >= LARGEST for n in _integers(node)):
            reading.fail("the expression grows when it is brought into its canonical form")
        reading.nodes.append(node)

    reading.each(entries, read)


def _positions(entry: list[Any]) -> list[int]:
    """The positions of the parts of an entry that was read."""
    match entry[0]:
        case "sum":
            return [position for position, _ in entry[2]]
        case "constant" | "truth" | "scalar" | "variable" | "metadata":
            return []
    return entry[1:]


def _integers(node: Node) -> tuple[int, ...]:
    match node:
        case Constant(value=value):
            return (value,)
        case Sum(constant=offset, terms=terms):
            return (offset, *(factor for _, factor in terms))
    return ()


def _read_entry(reading: Reading, entry: Any) -> Node:
    kind = reading.text(reading.list(entry)[0]) if reading.list(entry) else ""
    if kind not in _READERS:
        reading.fail(f"expected an expression, such as ['constant', 0], got the kind {shown(kind)}")
    length, read = _READERS[kind]
    return read(reading, reading.list(entry, length)[1:])


def _constant(reading: Reading, parts: list[Any]) -> Node:
    return constant(_integer(reading, parts[0]))


def _truth(reading: Reading, parts: list[Any]) -> Node:
    return truth(reading.truth(parts[0]))


def _scalar(reading: Reading, parts: list[Any]) -> Node:
    return scalar(reading.name(parts[0]))


def _variable(reading: Reading, parts: list[Any]) -> Node:
    name = reading.text(parts[0])
    func, dot, dim = name.rpartition(".")
    if not (is_name(func) and is_dimension(dim) if dot else is_name(dim)):
        reading.fail(f"expected a name such as 'y' or 'blur.y', got {shown(name)}")
    return variable(name)


def _metadata(reading: Reading, parts: list[Any]) -> Node:
    buffer, dim, field = reading.name(parts[0]), reading.integer(parts[1], 0), reading.text(parts[2])
    if field not in METADATA_FIELDS or field == "extent":
        reading.fail(f"buffers know no {shown(field)} of a dimension")
    return metadata(buffer, dim, field)


def _sum(reading: Reading, parts: list[Any]) -> Node:
    terms: list[tuple[Expr, int]] = []
    for term in reading.list(parts[1]):
        position, factor = reading.list(term, 2)
        terms.append((_expr(reading, position), _integer(reading, factor)))
    return linear_sum(_integer(reading, parts[0]), terms)


def _product(reading: Reading, parts: list[Any]) -> Node:
    factors = [_expr(reading, part) for part in parts]
    if len(factors) < 2 or any(isinstance(factor, (Constant, Sum, Product)) for factor in factors):
        reading.fail("a product is of two or more factors, none of which is a constant, a sum or a product")
    return product(factors)


def _quotient(reading: Reading, parts: list[Any]) -> Node:
    numerator, denominator = [_expr(reading, part) for part in parts]
    if isinstance(denominator, Constant) and denominator.value == 0:
        reading.fail("a quotient divides by zero")
    return floor_divide(numerator, denominator)


def _choice(choose: Callable[..., Expr]) -> Callable[[Reading, list[Any]], Node]:
    def read(reading: Reading, parts: list[Any]) -> Node:
        if not parts:
            reading.fail("a smallest or largest is of one or more parts")
        return choose(*[_expr(reading, part) for part in parts])

    return read


def _select(reading: Reading, parts: list[Any]) -> Node:
    return select(_condition(reading, parts[0]), _expr(reading, parts[1]), _expr(reading, parts[2]))


def _comparison(compare: Callable[[Expr], Condition]) -> Callable[[Reading, list[Any]], Node]:
    return lambda reading, parts: compare(_expr(reading, parts[0]))


def _junction(join: Callable[..., Condition]) -> Callable[[Reading, list[Any]], Node]:
    return lambda reading, parts: join(*[_condition(reading, part) for part in parts])


_READERS: dict[str, tuple[int | None, Callable[[Reading, list[Any]], Node]]] = {
    "constant": (2, _constant),
    "truth": (2, _truth),
    "scalar": (2, _scalar),
    "variable": (2, _variable),
    "metadata": (4, _metadata),
    "sum": (3, _sum),
    "product": (None, _product),
    "quotient": (3, _quotient),
    "min": (None, _choice(minimum)),
    "max": (None, _choice(maximum)),
    "select": (4, _select),
    "nonnegative": (2, _comparison(nonnegative)),
    "zero": (2, _comparison(is_zero)),
    "and": (None, _junction(all_of)),
    "or": (None, _junction(any_of)),
}
"""How long the entries of each kind are, and how each is read."""


def _integer(reading: Reading, value: Any) -> int:
    number = reading.integer(value)
    if abs(number) >= LARGEST:
        reading.fail("an integer of an expression has at most 128 bits")
    return number


def _expr(reading: Reading, position: Any) -> Expr:
    return reading.node(position, Expr, "an integer expression")


def _condition(reading: Reading, position: Any) -> Condition:
    return reading.node(position, Condition, "a condition")
