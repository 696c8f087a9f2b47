"""Variants of funcs: other ways to compute the same, which their authors declare.

Idea. That two callbacks compute the same is what only their author can know. So it is said where the func is made, and
a schedule chooses among what was said. A variant reads the buffers that its func reads, in the same order, and of each
no more than that: so bounds that suffice for the func suffice for it. It may take some of the buffers in another dtype:
then it is for programs in which all who use such a buffer do.

Invariant: of a `DeclaredVariant`, each input lies in the func's, for all values of the func's dimensions; it says other
dtypes of buffers that the func reads or writes, and of no constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from slinky.errors import GraphError
from slinky.graph.buffers import Access, BufferExpr, valid_dtype
from slinky.graph.reductions import Reduction
from slinky.ir.operations import Callback
from slinky.ir.operations import Reduction as LoweredReduction
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import facts, prove


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
        reduction: Reduction | None = None,
    ) -> None:
        self.callback = callback
        self.inputs = inputs
        self.arguments = arguments
        self.pass_buffers = pass_buffers
        self.in_place = in_place
        self.writable_inputs = writable_inputs
        self.dtypes = dtypes
        self.reduction = reduction

    def __repr__(self) -> str:
        return f"<Variant {getattr(self.callback, '__name__', self.callback)}>"


@attrs.frozen
class DeclaredVariant:
    """A variant of a func: its name, what it reads, what it runs, which buffers it takes in another dtype, and how it
    reduces, if that is otherwise than the func says."""

    name: str
    inputs: tuple[Access, ...]
    operation: Callback
    dtypes: Mapping[BufferExpr, np.dtype[Any]] = attrs.field(factory=dict)
    declared_reduction: Reduction | None = None
    reduction: LoweredReduction | None = None

    def dtype_of(self, buffer: BufferExpr) -> np.dtype[Any]:
        """The dtype in which it takes a buffer."""
        return self.dtypes.get(buffer, buffer.dtype)


def dtypes_of(given: object, used: Iterable[Access], what: str) -> dict[BufferExpr, np.dtype[Any]]:
    """The dtypes that a variant declares, of buffers that its func uses.

    Raises `GraphError` for what is no dtype, and for a buffer whose dtype it cannot say.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise GraphError(f"{what}: dtypes must be a dictionary, dtypes by buffer, got {given!r}")
    buffers = dict.fromkeys(access.buffer for access in used)
    found = {}
    for buffer, dtype in given.items():
        if not isinstance(buffer, BufferExpr) or buffer not in buffers:
            names = ", ".join(each.name for each in buffers)
            raise GraphError(f"{what}: dtypes are of buffers that the func uses ({names}), got {buffer!r}")
        if buffer.value is not None:
            raise GraphError(f"{what}: {buffer.name} is a constant, whose dtype is that of its array")
        found[buffer] = valid_dtype(buffer.name, dtype)
    return {buffer: dtype for buffer, dtype in found.items() if dtype != buffer.dtype}


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
