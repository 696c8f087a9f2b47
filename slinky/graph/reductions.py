"""How a func combines the elements that it reduces, as its author declares it.

Idea. A func that sums rows reads all of a row for each element, so all of the row must be there. If it can go on from
what it has of the elements before, its *states*, a row can come in pieces, each of which is gone when the next one
comes. Only the author of a callback can know how.

Invariant: what is declared fits the func. Whether it gives what the callback gives is the author's word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import GraphError, cited
from slinky.graph.buffers import Access, valid_name
from slinky.ir.given import is_iterable
from slinky.ir.operations import RESERVED, State
from slinky.ir.operations import Reduction as LoweredReduction
from slinky.symbolic.expressions import Scalar, Variable
from slinky.symbolic.intervals import Interval, box_symbols


@attrs.frozen
class Reduced:
    """An input of a func, as its reduction looks at it: what is read, in words, the name of the buffer, and for each
    axis a variable of the func's outputs with which it moves, None where it is the same for all of them."""

    text: str
    name: str
    moving: tuple[Variable | None, ...]


def reduced_inputs(inputs: Iterable[Access]) -> list[Reduced]:
    """The inputs of a func, as its reduction looks at them."""
    return [Reduced(str(a), a.buffer.name, tuple(map(_moving_with, a.box))) for a in inputs]


def _moving_with(i: Interval | None) -> Variable | None:
    """A variable with which an interval moves, the first by name."""
    found = [] if i is None else [s for s in box_symbols([i]) if isinstance(s, Variable) and not isinstance(s, Scalar)]
    return min(found, key=str, default=None)


class Reduction:
    """How a func reduces dimensions of its inputs piece by piece, for `split_reduction`.

    Parameters:

    * `over`: the reduced dimensions by a name, each with the axis of the input that it is; of several inputs, one axis
      for each, None for an input that all pieces read alike: `{"x": 1}`, `{"k": (1, 0)}`.
    * `state`: one access or more of buffers that hold what is known so far: `[total[y]]`. Their dimensions are
      variables of the func's outputs; they are made when the func is taken to pieces, and are no part of the graph.
    * `init`: called with an array per state; it writes what they are of no elements at all.
    * `update`: called with an array per state as it was, read-only, then one per input of the func, with a further
      piece of the reduced dimension, then one per state to write.
    * `finish`: called with an array per state, then one per output of the func, which it writes.
    * `merge`: called with an array per state of some elements, one per state of the elements that follow these, both
      read-only, then one per state of all of them to write. With it, `split_reduction_in_parts` reduces parts of the
      elements by themselves, at the same time. A state must not know what comes before its part.
    * `positions`: let `update` take `start=`, how many elements come before its piece, and `finish` take `count=`, how
      many there were, along all reduced dimensions; and `merge` take `before=` and `more=`, how many elements its first
      states are of, and how many its second. In a part, `start` counts from the beginning of the part.
    * `exact`: whether pieces give the very same bits as the whole. Sums of floats do not: they are rounded elsewhere.
    * `reassociate`: that this may be, where it is not exact. Nothing is taken to pieces without.
    * `combine`: a ufunc, for one state of one input: with one element more, what is known is the ufunc of what was and
      that element, in the dtype of the state; `init` writes the same number everywhere, and without `positions`,
      `finish` copies. Pieces of one element are arithmetic then, which slinky understands.

    All of them take the func's `arguments`, too. Like callbacks, they write what comes last and return nothing; pieces
    come in order, and are not empty.

        >>> import slinky as sl, numpy as np
        >>> y = sl.variables("y")[0]
        >>> a, s, total = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", "i8", 1)
        >>> sl.Func(
        ...     lambda rows, sums: np.sum(rows, axis=1, out=sums), [a[y, :]], [s[y]], name="sums",
        ...     reduction=sl.Reduction(
        ...         over={"x": 1},
        ...         state=[total[y]],
        ...         init=lambda t: t.fill(0),
        ...         update=lambda old, piece, new: np.add(old, piece.sum(axis=1), out=new),
        ...         finish=lambda t, sums: np.copyto(sums, t),
        ...     ),
        ... )
        <Func s[y] = sums(a[y, :])>

    Raises `GraphError` for what is no reduction; where it does not fit a func, making the func does.
    """

    def __init__(
        self,
        over: Mapping[str, int | Sequence[int | None]],
        state: Sequence[Access],
        init: Callable[..., Any],
        update: Callable[..., Any],
        finish: Callable[..., Any],
        *,
        merge: Callable[..., Any] | None = None,
        positions: bool = False,
        exact: bool = True,
        reassociate: bool = False,
        combine: np.ufunc | None = None,
    ) -> None:
        named: object = over
        if not isinstance(named, Mapping) or not over:
            raise GraphError(f"a reduction is over one dimension or more, such as {{'x': 1}}, got {cited(over)}")
        self.over = {valid_name(name, "a reduced dimension"): axes for name, axes in over.items()}
        if isinstance(state, Access) or not is_iterable(state):
            raise GraphError(
                f"the state of a reduction must be a list of accesses, such as [total[y]], got {cited(state)}"
            )
        self.state = tuple(state)
        if not self.state or not all(isinstance(access, Access) for access in self.state):
            raise GraphError(f"the state of a reduction must be accesses, such as [total[y]], got {cited(state)}")
        for what, given in (("init", init), ("update", update), ("finish", finish)):
            if not callable(given):
                raise GraphError(f"{what} of a reduction must be callable, got {cited(given)}")
        if merge is not None and not callable(merge):
            raise GraphError(f"merge of a reduction must be callable, got {cited(merge)}")
        for what, flag in (("positions", positions), ("exact", exact), ("reassociate", reassociate)):
            if not isinstance(flag, (bool, np.bool_)):
                raise GraphError(f"{what} of a reduction must be True or False, got {cited(flag)}")
        self.init, self.update, self.finish, self.merge = init, update, finish, merge
        combined: object = combine
        if combined is not None and not _is_of_two_elements(combined):
            raise GraphError(f"combine of a reduction must be a ufunc of two elements, got {cited(combine)}")
        self.combine = combine
        self.positions, self.exact, self.reassociate = bool(positions), bool(exact), bool(reassociate)

    def lowered(
        self, func: str, dims: Sequence[Variable], inputs: Sequence[Reduced], arguments: Mapping[str, Any]
    ) -> LoweredReduction:
        """What is declared, of a func of these dimensions, or a variant of it, with these inputs and arguments.

        Raises `GraphError`, naming the func, for what does not fit it.
        """
        for name in RESERVED:
            if name in arguments:
                raise GraphError(f"func {func!r}: an argument cannot be called {name!r}: its reduction uses that")
        return LoweredReduction(
            tuple((name, self._axes(func, inputs, name, axes)) for name, axes in self.over.items()),
            tuple(self._state(func, dims, access) for access in self.state),
            self.init,
            self.update,
            self.finish,
            self.positions,
            self.exact,
            self.reassociate,
            self.merge,
            self._combine(func, inputs),
        )

    def _combine(self, func: str, inputs: Sequence[Reduced]) -> np.ufunc | None:
        """The ufunc that is declared. Raises `GraphError` where there are several states or inputs."""
        if self.combine is not None and (len(self.state) != 1 or len(inputs) != 1):
            raise GraphError(f"func {func!r}: combine is of one state and one input")
        return self.combine

    @staticmethod
    def _axes(
        func: str, inputs: Sequence[Reduced], name: str, given: int | Sequence[int | None]
    ) -> tuple[int | None, ...]:
        """The axis of each input along a reduced dimension."""
        axes: Any = (given,) if isinstance(given, (int, np.integer)) else given
        where = f"func {func!r}: its reduction over {name!r}"
        if not isinstance(axes, Sequence) or isinstance(axes, str) or len(axes) != len(inputs):
            raise GraphError(f"{where} needs an axis for each of its {len(inputs)} inputs, got {cited(given)}")
        found: list[int | None] = []
        axis: Any
        for each, axis in zip(inputs, axes, strict=True):
            if axis is None:
                found.append(None)
                continue
            rank = len(each.moving)
            if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -rank <= axis < rank:
                raise GraphError(f"{where}: {each.name} of rank {rank} has no axis {axis!r}")
            if each.moving[axis] is not None:
                raise GraphError(
                    f"{where}: axis {axis} of its input {each.text} moves with {each.moving[axis]}; what is reduced "
                    f"must be the same for all elements of the outputs"
                )
            found.append(int(axis) % rank)
        if all(axis is None for axis in found):
            raise GraphError(f"{where} needs an axis of some input")
        return tuple(found)

    @staticmethod
    def _state(func: str, of: Sequence[Variable], access: Access) -> State:
        dims: list[int] = []
        for i in access.box:
            is_point = i is not None and i.min is i.max
            if i is None or not is_point or i.min not in of or of.index(i.min) in dims:
                raise GraphError(
                    f"func {func!r}: a state must be along different variables of its outputs, got {access}"
                )
            dims.append(of.index(i.min))
        buffer = access.buffer
        if buffer.producer is not None or buffer.value is not None or buffer.is_read:
            raise GraphError(f"func {func!r}: its state {buffer.name!r} is a buffer of the graph; make one for it")
        return State(buffer.name, buffer.dtype, tuple(dims))


def _is_of_two_elements(value: object) -> bool:
    return isinstance(value, np.ufunc) and (value.nin, value.nout) == (2, 1) and not value.signature
