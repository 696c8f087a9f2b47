"""Variants of funcs: other ways to compute the same, which their authors declare.

Idea. That two callbacks compute the same is what only their author can know. So it is said where the func is made, and
a schedule chooses among what was said. A variant reads the buffers that its func reads, in the same order, and of each
no more than that: so bounds that suffice for the func suffice for it.

Invariant: of a `DeclaredVariant`, each input lies in the func's, for all values of the func's dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from slinky.errors import GraphError
from slinky.graph.buffers import Access
from slinky.ir.operations import Callback
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
    ) -> None:
        self.callback = callback
        self.inputs = inputs
        self.arguments = arguments
        self.pass_buffers = pass_buffers
        self.in_place = in_place
        self.writable_inputs = writable_inputs

    def __repr__(self) -> str:
        return f"<Variant {getattr(self.callback, '__name__', self.callback)}>"


@attrs.frozen
class DeclaredVariant:
    """A variant of a func: its name, what it reads, and what it runs."""

    name: str
    inputs: tuple[Access, ...]
    operation: Callback


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
