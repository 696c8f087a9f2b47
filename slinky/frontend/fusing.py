"""Which operations of a graph become one func: chains of ufuncs whose values nobody else reads.

Idea. Arithmetic of ufuncs is understood (`slinky.graph.terms`): a func of many steps works through its box in blocks
that stay in the cache, and needs no buffers for what the steps hand on. So a node is *inlined* into the func of its
readers if all are such arithmetic, in one func, and take each of its elements at the same place.

Where the steps are lines of a loop in C, one that is cheap need not be handed on at all: a product of which the
neighbours are summed is sooner computed at each of them than written and read again. So there a node may be *repeated*:
computed by each of its readers, at each place where they read it (`inlined_in_c`).

Invariant: each element of each node is computed by the same loops of NumPy in either form, from the same elements; and
at most once, but for nodes that are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.frontend.assembling import Assembled
from slinky.frontend.nodes import Node, Result, View, whole_view
from slinky.frontend.operations import Extent, Number, Operand, Pointwise, as_it_is
from slinky.frontend.sizes import are_same, expr_of
from slinky.frontend.tables import ANY_PIECES
from slinky.frontend.views import through
from slinky.graph.terms import Known, applied, number_as
from slinky.ir.operations import FloatScalar
from slinky.symbolic.expressions import Expr

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

LONGEST = 24
"""Chains of more steps are cut: parts of them can be computed where others cannot."""

CHEAP: frozenset[Any] = frozenset({np.add, np.subtract, np.multiply, np.negative, np.absolute, np.square, np.positive})
"""Ufuncs that take a processor no longer than to fetch an element."""

READ, WRITTEN, COMPUTED = 2, 6, 1
"""What an element costs that a loop in C reads, writes or computes: half as much as it takes to read one of a row
before. Measured with chains of stencils whose rows stay in the second cache."""


def inlined(nodes: Sequence[Node], outputs: Collection[Result], by_pieces: Container[str] = ANY_PIECES) -> set[Node]:
    """The nodes that are computed by the func of their readers, of those that run by pieces: all but others are as
    exact as one of `by_pieces`."""
    return _inlined(nodes, outputs, lambda node: is_arithmetic(node) and node.operation.exactness in by_pieces)


def _inlined(
    nodes: Sequence[Node],
    outputs: Collection[Result],
    may_join: Callable[[Node], bool],
    apart: Container[Node] = frozenset(),
) -> set[Node]:
    """The same, of the nodes that may be part of a func of several; those `apart` are part of no func of others."""
    readers = _readers(nodes)
    heads: dict[Node, Node] = {}
    steps: dict[Node, int] = {}
    for node in reversed(nodes):
        heads[node], steps[node] = node, 1
        read = readers.get(node, [])
        if not read or node.results[0] in outputs or not may_join(node):
            continue
        head = heads[read[0][0]]
        if (
            steps[head] < LONGEST
            and may_join(head)
            and ignored_by(head) == ignored_by(node)
            and (head in apart) == (node in apart)
            and all(heads[reader] is head and _is_aligned(view, reader) for reader, view in read)
        ):
            heads[node] = head
            steps[head] += 1
    return {node for node, head in heads.items() if head is not node}


def inlined_in_c(
    nodes: Sequence[Node],
    outputs: Collection[Result],
    by_pieces: Container[str] = ANY_PIECES,
    apart: Collection[Node] = frozenset(),
    *,
    has_wide_vectors: bool = False,
) -> set[Node]:
    """The same where the steps of a func are lines of a loop in C: these, and nodes that are cheaper repeated, on a
    processor that `has_wide_vectors` or not. Nodes that stand `apart` are left to NumPy, and no part of a loop."""

    def may_join(node: Node) -> bool:
        is_understood = is_arithmetic if node in apart else is_arithmetic_in_c
        return is_understood(node) and node.operation.exactness in by_pieces

    inside = _inlined(nodes, outputs, may_join, apart)
    readers = _readers(nodes)
    for node in reversed(nodes):  # what is summed before what that is made of
        read = readers.get(node, [])
        if node in inside or not read or node.results[0] in outputs or node in apart or not may_join(node):
            continue
        if not all(may_join(reader) and _is_shifted(view, reader) for reader, view in read):
            continue
        heads = _heads(node, readers, {*inside, node})
        if any(head in apart or ignored_by(head) != ignored_by(node) for head in heads):
            continue
        kept = [_Loop.of(each, inside) for each in (node, *heads)]
        repeated = [_Loop.of(each, {*inside, node}) for each in heads]
        is_even = all(loop.is_even for loop in kept) and all(loop.steps <= LONGEST for loop in repeated)
        is_cheaper = is_even and sum(loop.cost for loop in repeated) < sum(loop.cost for loop in kept)
        if is_cheaper or (has_wide_vectors and _widens(node) and all(loop.is_by_lanes(node) for loop in repeated)):
            inside.add(node)
    return inside


def _readers(nodes: Sequence[Node]) -> dict[Node, list[tuple[Node, View]]]:
    """Who reads what a node gives, and how."""
    found: dict[Node, list[tuple[Node, View]]] = {}
    for node in nodes:
        for view in node.operands:
            found.setdefault(view.result.node, []).append((node, view))
    return found


def _heads(node: Node, readers: dict[Node, list[tuple[Node, View]]], inside: Collection[Node]) -> list[Node]:
    """The nodes whose funcs compute one that has none of its own."""
    found: dict[Node, None] = {}
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each in inside:
            waiting += [reader for reader, _ in readers[each]]
        else:
            found[each] = None
    return list(found)


@attrs.frozen
class _Loop:
    """The loop of a func, for each element that it writes: how many steps it has, what they cost, and whether all that
    it reads, computes and writes has elements of one size, so that they are handled by vectors of one length."""

    steps: int
    cost: int
    is_even: bool
    places: Collection[tuple[Node, tuple[Hashable, ...]]]
    wide: Collection[int]

    def is_by_lanes(self, node: Node) -> bool:
        """Whether it is short, goes over lanes of 32 bits (`native.lanes`), and takes what a node gives from one row
        of it, or one plane of rows that may be a row of pixels."""
        rows = {place[: -2 if len(place) > 2 else -1] for each, place in self.places if each is node}
        return self.steps <= LONGEST and set(self.wide) == {4} and len(rows) == 1

    @staticmethod
    def of(head: Node, inside: Collection[Node]) -> _Loop:
        """That of the func of a node, with those inside of it."""
        steps: dict[tuple[Node, tuple[Hashable, ...]], Node] = {}
        read: dict[Hashable, Result] = {}
        waiting = [(head, whole_view(head.results[0]))]
        while waiting:
            node, seen = waiting.pop()
            key = (node, _place(seen))
            if key in steps:
                continue
            steps[key] = node
            for view in node.operands:
                operand = through(view, seen)
                if view.result.node in inside:
                    waiting.append((view.result.node, operand))
                else:
                    read[view.result, _place(operand)] = view.result
        size = head.results[0].dtype.itemsize
        cost = COMPUTED * sum(_weight(each) for each in steps.values()) + READ * len(read) + WRITTEN
        dtypes = [each.dtype for each in (*read.values(), *(node.results[0] for node in steps.values()))]
        sizes, wide = ({each.itemsize for each in own} for own in (dtypes, [d for d in dtypes if not _is_narrow(d)]))
        return _Loop(len(steps), cost * size, sizes == {size}, steps, wide)


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and dtype.itemsize <= 2


def _widens(node: Node) -> bool:
    """Whether a node converts small integers, read from memory, to elements of 32 bits: one instruction reads and
    converts many of them. With vectors of 64 bytes, sums of up to eight neighbours in a row took 0.8 to 1.1 times as
    long with conversions repeated, and unsharp masking, whose rows of floats filled the second cache, 0.85; with
    vectors of 32 bytes 1.15, and sums of neighbours in a column up to 1.4."""
    operation, dtype = node.operation, node.results[0].dtype
    if not isinstance(operation, Pointwise) or operation.function is not as_it_is or len(node.operands) != 1:
        return False
    return _is_narrow(node.operands[0].dtype) and dtype.kind in "iuf" and dtype.itemsize == 4


def _weight(node: Node) -> int:
    """How many cheap steps take as long as a node."""
    operation = node.operation
    return 1 if isinstance(operation, Pointwise) and operation.function in CHEAP else 8


def _place(view: View) -> tuple[Hashable, ...]:
    return tuple((expr_of(i.offset), i.terms) for i in view.index)


def _is_shifted(view: View, reader: Node) -> bool:
    """Whether a node reads each element as far from its own place as any other."""
    rank = len(reader.results[0].shape)
    return len(view.index) == len(view.shape) == rank and all(
        i.terms == ((1, d),) and are_same(own, of)
        for d, (i, own, of) in enumerate(zip(view.index, view.shape, reader.results[0].shape, strict=True))
    )


def _is_aligned(view: View, reader: Node) -> bool:
    """Whether a node reads each element at its own place."""
    return view.is_whole and all(map(are_same, view.shape, reader.results[0].shape))


def is_arithmetic_in_c(node: Node) -> bool:
    """The same where its steps are lines of a loop in C, which computes a ufunc with `where=` everywhere: of ones where
    the mask does not hold, if these give no errors. NumPy does so sooner where the mask holds alone."""
    operation = node.operation
    if not isinstance(operation, Pointwise) or not operation.masked:
        return is_arithmetic(node)
    if not isinstance(operation.function, np.ufunc) or not is_arithmetic(node, masked=True):
        return False
    has_number = any(isinstance(argument, Number) for argument in operation.arguments)
    if any(isinstance(each, Extent) for each in operation.arguments) or (has_number and not _takes_numbers(node)):
        return False
    try:
        with np.errstate(all="raise"):
            operation.function(*(_one_for(argument, node) for argument in operation.arguments))
    except (ArithmeticError, TypeError, ValueError):
        return False
    return True


def _one_for(argument: Any, node: Node) -> Any:
    """What a ufunc with `where=` is given for an argument where the mask does not hold."""
    if isinstance(argument, Operand):
        return node.operands[argument.number].dtype.type(1)
    if isinstance(argument, Number):
        return 1.0 if argument.dtype is None else argument.dtype.type(1)
    return argument


def is_arithmetic(node: Node, *, masked: bool = False) -> bool:
    """Whether a node is arithmetic that is understood; of those with `where=`, if they are `masked`."""
    operation = node.operation
    if not isinstance(operation, Pointwise) or operation.masked != masked:
        return False
    if operation.unpacked or len(node.results) != 1:
        return False
    if not node.operands or not node.results[0].shape or operation.keywords or any(v.is_woven for v in node.operands):
        return False
    if operation.function is np.where:
        condition, *others = operation.arguments
        is_of_truth = isinstance(condition, Operand) and node.operands[condition.number].dtype == np.bool_
        return is_of_truth and all(_is_number(a) and _fits(a, node.results[0].dtype) for a in others)
    if operation.function is as_it_is or operation.function is np.clip:
        return all(_is_number(a) or a is None for a in operation.arguments)
    if not isinstance(operation.function, np.ufunc) or operation.function.signature is not None:
        return False
    return all(map(_is_number, operation.arguments))


def _fits(argument: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an argument of `where` is one of a dtype, or a number that is: integers of Python's that are too large
    are cut, others warn, and lengths may do either."""
    if type(argument) is int and dtype.kind in "iu":
        return bool(np.iinfo(dtype).min <= argument <= np.iinfo(dtype).max)
    if type(argument) in (int, complex) and dtype.kind in "fc":
        return bool(abs(argument) <= float(np.finfo(dtype).max) or not np.isfinite(argument))
    return not isinstance(argument, Extent)


def ignored_by(node: Node) -> tuple[str, ...]:
    """The floating-point errors of which an operation says nothing."""
    return node.operation.ignored if isinstance(node.operation, Pointwise) else ()


def _is_number(argument: Any) -> bool:
    return isinstance(argument, (Operand, Number, Extent, np.generic)) or type(argument) in (int, complex)


def term_of(node: Node, lowering: Lowering, places: Sequence[Expr], chosen: Collection[Node]) -> Any:
    """A node at some places as a term of accesses, with those among the `chosen` ones that it reads."""
    known: dict[Hashable, Any] = {}

    def term(node: Node, places: tuple[Expr, ...]) -> Any:
        operation = node.operation
        assert isinstance(operation, Pointwise)
        numbers = [_number_everywhere(view) for view in node.operands] if _takes_numbers(node) else []
        if not numbers or all(number is not None for number in numbers):
            numbers = [None] * len(node.operands)
        if operation.masked:
            numbers[:-1] = [None] * (len(numbers) - 1)
        operands = [
            operand(view, places) if number is None else number
            for view, number in zip(node.operands, numbers, strict=True)
        ]
        given = [_argument(argument, node, operation, operands, lowering) for argument in operation.arguments]
        dtype = node.results[0].dtype
        function: Callable[..., Any] = operation.function
        if function is as_it_is:
            return given[0].astype(dtype)
        if operation.masked:
            assert isinstance(function, np.ufunc)
            mask, old = operands[-2:]
            chosen = applied(function, _chosen_by(mask, given, node, function))
            return np.where(mask, chosen.astype(dtype), _of_dtype(old, dtype))
        if function is np.where:
            given = [given[0], *(_of_dtype(each, dtype) for each in given[1:])]
        found = applied(function, given) if isinstance(function, np.ufunc) else function(*given)  # sizes know no ufuncs
        return found if found.dtype == dtype else found.astype(dtype)

    def operand(view: View, places: tuple[Expr, ...]) -> Any:
        source = view.result.node
        if source not in chosen:
            return lowering.read(view, places).access
        own = tuple(lowering.places(view, places))
        if (source, own) not in known:
            known[source, own] = term(source, own)
        return known[source, own]

    return term(node, tuple(places))


def _chosen_by(mask: Any, given: Sequence[Any], node: Node, function: np.ufunc) -> list[Any]:
    """What a ufunc is given, and ones where a mask does not hold; floats have the dtype that its loop has for them."""
    assert isinstance(node.operation, Pointwise)
    arguments = node.operation.arguments
    ones = [_one_for(argument, node) for argument in arguments]
    kinds = [type(one) if type(one) in (int, float, complex) else one.dtype for one in ones]
    dtypes = function.resolve_dtypes((*kinds, *(None,) * function.nout))
    found = []
    for argument, value, one, dtype in zip(arguments, given, ones, dtypes, strict=False):
        if isinstance(argument, Operand):
            found.append(np.where(mask, value, one))
        elif isinstance(argument, Number):
            of = argument.dtype or dtype
            found.append(np.where(mask, _of_dtype(value, of), of.type(1)))
        else:
            found.append(value)
    return found


def _of_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number of a dtype, to which NumPy's `where` converts it: what it chooses by itself may depend on the value."""
    if isinstance(value, FloatScalar):
        return number_as(value, dtype)
    return dtype.type(value) if isinstance(value, (np.generic, int, complex)) else value


def _takes_numbers(node: Node) -> bool:
    """Whether a node computes the same of a number as of an array that is full of it: NumPy takes other ways to powers
    by numbers, and to limits that are such."""
    operation = node.operation
    return isinstance(operation, Pointwise) and operation.function not in (as_it_is, np.clip, np.power, np.float_power)


def _number_everywhere(view: View) -> np.generic | None:
    """What an array is full of, of which nothing needs to be read then: sums begin with one of zeros.

    Each array that it is put together of is looked at once: of assignments from one part of an array to another, each
    has the one before as two operands, and there are twice as many ways to the first one as to the second.
    """
    found: np.generic | None = None
    seen: set[Node] = set()
    left = [view]
    while left:
        each = left.pop()
        node = each.result.node
        operation = node.operation
        if isinstance(operation, Assembled) and operation.fill is None and node.operands:
            if node not in seen:
                seen.add(node)
                left += reversed(node.operands)
            continue
        if not isinstance(operation, Pointwise) or operation.function is not as_it_is or operation.masked:
            return None
        (number,) = operation.arguments
        if not isinstance(number, np.generic) or number.dtype != each.dtype:
            return None
        if found is not None and found.tobytes() != number.tobytes():
            return None
        found = number
    return found


def _argument(argument: Any, node: Node, operation: Pointwise, operands: Sequence[Any], lowering: Lowering) -> Any:
    if type(argument) is Operand:
        return operands[argument.number]
    if type(argument) is Number:
        number = lowering.number(node, argument.number)
        if isinstance(number, float):
            return number if argument.dtype is None else argument.dtype.type(number)
        return number if argument.dtype is None else Known(number, argument.dtype)
    return lowering.expr(operation.extents[argument.number]) if type(argument) is Extent else argument
