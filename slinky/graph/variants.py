"""Variants of funcs: other ways to compute the same, which their authors declare.

Idea. That two callbacks compute the same is what only their author can know. So it is said where the func is made, and
a schedule chooses among what was said. A variant reads the buffers that its func reads, in the same order, and of each
no more than that: so bounds that suffice for the func suffice for it. It may take some of the buffers in another dtype:
then it is for programs in which all who use such a buffer do. Or in some order of their dimensions in memory only: then
it is for programs in which nobody asks for another one.

Invariant: of a `DeclaredVariant`, each input lies in the func's, for all values of the func's dimensions; it says other
dtypes and orders of buffers that the func reads or writes, and of no constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from slinky.errors import GraphError, cited
from slinky.graph.buffers import Access, BufferExpr, valid_dtype
from slinky.graph.reductions import Reduction
from slinky.ir.given import is_listed, is_one_of
from slinky.ir.operations import Callback
from slinky.ir.operations import Reduction as LoweredReduction
from slinky.ir.statements import LARGEST_ALIGNMENT, Order
from slinky.symbolic.expressions import Scalar, Variable, is_integer, is_power_of_two
from slinky.symbolic.intervals import Interval, box_symbols
from slinky.symbolic.proofs import facts, prove


class StorageOrder:
    """How a buffer lies in memory, as `set_layout` says it: `sl.StorageOrder(("x", "y"), alignment=64)`.

    Parameters:

    * `order`: all dimensions, the outermost first: by position, or by variables, or their names, of the accesses of the
      func that uses the buffer. Along the last one elements are side by side.
    * `strides`: for each dimension of the buffer, how many bytes neighbours along it are apart, a number, or None for
      as few as there can be.
    * `alignment`: the first element, and each row of a dimension whose elements are apart, begin at a multiple of so
      many bytes: a power of two, up to 4096.
    """

    def __init__(
        self,
        order: Sequence[int | str | Variable],
        *,
        strides: Sequence[int | None] | None = None,
        alignment: int = 1,
    ) -> None:
        self.order = order
        self.strides = strides
        self.alignment = alignment

    def __repr__(self) -> str:
        return f"<StorageOrder {cited(self.order)}>"

    def of(self, buffer: BufferExpr, accesses: Iterable[Access], what: str) -> Order:
        """The same, of a buffer that is used by some accesses. Raises `GraphError` for what is none."""
        where = f"{what}: the layout of {buffer.name}"
        if not is_listed(self.order):
            raise GraphError(f"{where} is an order of its dimensions, such as ('x', 'y'), got {cited(self.order)}")
        names = [set[str]() for _ in range(buffer.rank)]
        for access in accesses:
            for found, i in zip(names, access.box, strict=True):
                named = box_symbols([i]) if i is not None else ()
                found.update(s.name for s in named if isinstance(s, Variable) and not isinstance(s, Scalar))
        dims = tuple(_position(each, names) for each in self.order)
        if sorted(d for d in dims if d is not None) != list(range(buffer.rank)) or len(dims) != buffer.rank:
            raise GraphError(f"{where} names each of its {buffer.rank} dimensions once, got {cited(tuple(self.order))}")
        if self.strides is not None and not is_listed(self.strides):
            raise GraphError(f"{where} has a list of strides, such as (None, 4), got {cited(self.strides)}")
        strides = () if self.strides is None else tuple(self.strides)
        if self.strides is not None and len(strides) != buffer.rank:
            raise GraphError(
                f"{where} has a stride, or None, for each of its {buffer.rank} dimensions, got {cited(strides)}"
            )
        if not all(stride is None or (is_integer(stride) and stride >= 1) for stride in strides):
            raise GraphError(f"{where}: strides are numbers of bytes, 1 or more, got {cited(strides)}")
        if not is_power_of_two(self.alignment) or self.alignment > LARGEST_ALIGNMENT:
            raise GraphError(
                f"{where}: an alignment is a power of two, up to {LARGEST_ALIGNMENT}, got {cited(self.alignment)}"
            )
        own = tuple(None if stride is None else int(stride) for stride in strides)
        return Order(tuple(d for d in dims if d is not None), own if any(own) else (), int(self.alignment))


def _position(given: Any, names: Sequence[set[str]]) -> int | None:
    """The dimension that is given by position or name; None if that is not clear."""
    if is_integer(given):
        return int(given) % len(names) if -len(names) <= int(given) < len(names) else None
    name = given.name if isinstance(given, Variable) else given
    found = [d for d, own in enumerate(names) if is_one_of(name, own)]
    return found[0] if len(found) == 1 else None


class Variant:
    """Another way to compute what a func computes: `Func(..., variants={"fast": sl.Variant(callback)})`.

    Parameters:

    * `callback`: called as the func's own one. By declaration, it gives the same values for any box of the dimensions;
      `sl.verify_variant` tests it.
    * `inputs`: what it reads, if that is less than what the func reads: accesses of the same buffers, in the same
      order, each within the func's.
    * `arguments`, `pass_buffers`, `writable_inputs`: as of a func; by default as the func says.
    * `in_place`: as of a func.
    * `reduction`: as of a func: how the variant can be taken to pieces, with states of its own, where that is otherwise
      than the func says.
    * `dtypes`: buffers, intermediates of the pipeline, that it takes in another dtype than they have:
      `{sums: np.float32}`. By declaration, what it computes of them, and for them, is the same but for what that dtype
      cannot hold. Everybody else who uses such a buffer must have a variant that takes it so, too.
    * `layouts`: buffers, intermediates of the pipeline, that it takes in some order of their dimensions in memory only:
      `{t: ("x", "y")}`, or `{t: sl.StorageOrder(("x", "y"), alignment=64)}`. What says nothing takes any order.
    """

    def __init__(
        self,
        callback: Callable[..., Any],
        inputs: Iterable[Access] | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        pass_buffers: bool | None = None,
        in_place: bool | None = None,
        writable_inputs: bool | None = None,
        dtypes: Mapping[BufferExpr, npt.DTypeLike] | None = None,
        layouts: Mapping[BufferExpr, StorageOrder | Sequence[int | str | Variable]] | None = None,
        reduction: Reduction | None = None,
    ) -> None:
        self.callback = callback
        self.inputs = inputs
        self.arguments = arguments
        self.pass_buffers = pass_buffers
        self.in_place = in_place
        self.writable_inputs = writable_inputs
        self.dtypes = dtypes
        self.layouts = layouts
        self.reduction = reduction

    def __repr__(self) -> str:
        return f"<Variant {getattr(self.callback, '__name__', None) or cited(self.callback)}>"


@attrs.frozen
class DeclaredVariant:
    """A variant of a func: its name, what it reads, what it runs, which buffers it takes in another dtype, or in some
    order only, and how it reduces, if that is otherwise than the func says."""

    name: str
    inputs: tuple[Access, ...]
    operation: Callback
    dtypes: Mapping[BufferExpr, np.dtype[Any]] = attrs.field(factory=dict)
    declared_reduction: Reduction | None = None
    reduction: LoweredReduction | None = None
    orders: Mapping[BufferExpr, Order] = attrs.field(factory=dict)

    def dtype_of(self, buffer: BufferExpr) -> np.dtype[Any]:
        """The dtype in which it takes a buffer."""
        return self.dtypes.get(buffer, buffer.dtype)


def dtypes_of(given: object, used: Iterable[Access], what: str) -> dict[BufferExpr, np.dtype[Any]]:
    """The dtypes that a variant declares, of buffers that its func uses.

    Raises `GraphError` for what is no dtype, and for a buffer whose dtype it cannot say.
    """
    said = _said_of_buffers(given, "dtype", used, what)
    found = {buffer: valid_dtype(buffer.name, dtype) for buffer, dtype in said.items()}
    return {buffer: dtype for buffer, dtype in found.items() if dtype != buffer.dtype}


def orders_of(given: object, used: Sequence[Access], what: str) -> dict[BufferExpr, Order]:
    """The orders in which a variant takes buffers that its func uses.

    Raises `GraphError` for what is no order, and for a buffer that lies as it lies.
    """
    found: dict[BufferExpr, Order] = {}
    for buffer, order in _said_of_buffers(given, "layout", used, what).items():
        asked = order if isinstance(order, StorageOrder) else StorageOrder(order)
        found[buffer] = asked.of(buffer, [access for access in used if access.buffer is buffer], what)
    return found


def _said_of_buffers(given: object, word: str, used: Iterable[Access], what: str) -> dict[BufferExpr, Any]:
    """What a variant says of buffers that its func uses. Raises `GraphError` for anything else."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise GraphError(f"{what}: {word}s must be a dictionary, {word}s by buffer, got {cited(given)}")
    buffers = dict.fromkeys(access.buffer for access in used)
    for buffer in given:
        if not isinstance(buffer, BufferExpr) or buffer not in buffers:
            names = ", ".join(each.name for each in buffers)
            raise GraphError(f"{what}: {word}s are of buffers that the func uses ({names}), got {cited(buffer)}")
        if buffer.value is not None:
            raise GraphError(f"{what}: {buffer.name} is a constant, whose {word} is that of its array")
    return dict(given)


def require_within(inputs: tuple[Access, ...], func_inputs: tuple[Access, ...], what: str) -> None:
    """Raise `GraphError` unless a variant reads the buffers of its func, and of each no more than that."""
    if [access.buffer for access in inputs] != [access.buffer for access in func_inputs]:
        given, wanted = (", ".join(a.buffer.name for a in accesses) or "none" for accesses in (inputs, func_inputs))
        raise GraphError(f"{what} must read the buffers that the func reads, in the same order ({wanted}), got {given}")
    for access, limit in zip(inputs, func_inputs, strict=True):
        if not all(map(_lies_in, access.box, limit.box)):
            raise GraphError(f"{what} may read no more than the func: {access} is not shown to lie in {limit}")


def _lies_in(i: Interval | None, limit: Interval | None) -> bool:
    if limit is None or i is None:
        return limit is None
    return prove(limit.min <= i.min, facts()) and prove(i.max <= limit.max, facts())
