"""What a call runs, apart from where it reads and writes.

A func is geometry (its dimensions and the boxes of its ports) and an operation. Rewrites, legality, printing and
inspection look at the geometry; only the rooms that run operations ask which one it is. All that the others need of an
operation is the expressions in it, which are replaced where symbols are, and how a program prints it.

Invariant: an operation computes each element of its outputs from nothing but what the ports of its func say, and from
the values of its `arguments`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import attrs
import numpy as np

from slinky.errors import ExpressionError
from slinky.ir.formulas import Formula
from slinky.ir.remembered import Remembering
from slinky.symbolic.expressions import Expr, Variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import substitute

if TYPE_CHECKING:
    from slinky.ir.statements import Program

Own = TypeVar("Own", bound="_Operation")


@attrs.frozen(repr=False, order=False)
class FloatScalar:
    """A float that is known when the pipeline runs, given there by its name. It is an argument of callbacks, and a
    number in formulas: bounds, steps and conditions are made of integers, so no arithmetic is done with it alone."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f'sl.scalar("{self.name}", float)'

    def _refuse(self, *others: object) -> Any:
        if any(map(_takes_floats, others)):
            return NotImplemented  # arithmetic of elements, in which it takes part
        raise ExpressionError(
            f"the scalar {self.name} is a float: no arithmetic is done with it but beside elements. Write (a[x] * "
            f"{self.name}) * 2 for a[x] * ({self.name} * 2), or make what is computed of it a scalar of its own; what "
            f'reaches bounds is an integer: sl.scalar("{self.name}")'
        )

    def __array_ufunc__(self, ufunc: object, method: str, *operands: object, **options: Any) -> Any:
        return self._refuse(*operands)

    __pow__ = __rpow__ = __pos__ = __abs__ = __divmod__ = __rdivmod__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _refuse
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def _takes_floats(other: object) -> bool:
    """Whether it is an element, which knows of floats and leaves arithmetic with them to none."""
    is_element = callable(getattr(other, "__array_ufunc__", None))
    return is_element and not isinstance(other, (FloatScalar, Expr, np.ndarray))


@attrs.frozen(eq=False, kw_only=True)
class _Operation(Remembering):
    """What every operation says of itself.

    `arguments` are further values, by name, some of them expressions. With `in_place`, it gives the same result where
    an output is the memory of an input of the same dtype that it reads at the same points. With `writable_inputs`, it
    is given inputs that NumPy lets it write to. With `pass_buffers`, it gets `sl.Buffer` objects, which know their
    coordinates.
    """

    arguments: tuple[tuple[str, Any], ...] = ()
    pass_buffers: bool = False
    in_place: bool = False
    writable_inputs: bool = False

    def expressions(self) -> tuple[Expr, ...]:
        """The expressions in it: when it runs, each has a value."""
        return tuple(value for _, value in self.arguments if isinstance(value, Expr))

    def floats(self) -> tuple[FloatScalar, ...]:
        """The floats in it that are known when the pipeline runs."""
        return tuple(value for _, value in self.arguments if isinstance(value, FloatScalar))

    def shown(self) -> tuple[tuple[str, Any], ...]:
        """What a program prints of it besides the regions: further arguments, by name."""
        return self.arguments

    def substituted(self: Own, replacements: Mapping[Expr, Expr]) -> Own:
        """The same with symbols replaced in its expressions."""
        if not self.expressions():
            return self
        arguments = ((k, substitute(v, replacements) if isinstance(v, Expr) else v) for k, v in self.arguments)
        return attrs.evolve(self, arguments=tuple(arguments))


@attrs.frozen(eq=False)
class Callback(_Operation):
    """A function of the user's: called with a view of each input's region, then of each output's, and `arguments`."""

    function: Callable[..., Any]


class Boundary(enum.Enum):
    """What stands beyond the edges of a buffer along a dimension, if that is made of its elements. Of a buffer `a b c`:

    | rule      | before  | buffer  | after   |
    |-----------|---------|---------|---------|
    | `NEAREST` | `a a a` | `a b c` | `c c c` |
    | `REFLECT` | `c b a` | `a b c` | `c b a` |
    | `MIRROR`  | `b c b` | `a b c` | `b a b` |
    | `WRAP`    | `a b c` | `a b c` | `a b c` |
    """

    NEAREST = "nearest"
    REFLECT = "reflect"
    MIRROR = "mirror"
    WRAP = "wrap"


@attrs.frozen(eq=True)
class CopySource:
    """Where elements of a copy come from: of the dimension j of a buffer, the coordinate `index[j]`.

    It gives those elements whose coordinates lie within the `edges`, in each dimension that has some, and only where
    each expression of `where` lies in its interval. With a boundary rule in a dimension, it gives them beyond these
    edges, too. The expressions are of the copy's `dims` and parameters.
    """

    index: tuple[Expr, ...]
    edges: tuple[Interval | None, ...]
    boundaries: tuple[Boundary | None, ...]
    where: tuple[tuple[Expr, Interval], ...] = ()


@attrs.frozen(eq=False, kw_only=True)
class Copy(_Operation):
    """A copy that slinky understands: each element is that of the first of the sources that gives it, else `fill`.

    There is one source per input. Its func has one output, of all of its dimensions in this order, for which `dims`
    stand. Further variables in the sources are the names of `arguments`, whose values they have. Without a `fill`, each
    element is given by some source. `implementation` is a function of the user's that carries it out: called with the
    arrays of the inputs, then the output.
    """

    dims: tuple[Variable, ...]
    sources: tuple[CopySource, ...]
    fill: Any = None
    implementation: Callable[..., Any] | None = None
    pass_buffers: bool = True

    def shown(self) -> tuple[tuple[str, Any], ...]:
        """What a program prints of it: what fills the elements that no source gives."""
        return () if self.fill is None else (("fill", self.fill),)


@attrs.frozen
class State:
    """What a reduction holds while it goes on: a buffer of a dtype, along the func's dimensions at these positions."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[int, ...]


@attrs.frozen(eq=False)
class Reduction:
    """How a func combines the elements of dimensions of its inputs that its outputs have not: piece by piece.

    `over` has the names of these dimensions, each with the axis of every input that is along it (None: none is).
    `init` is given the states, and writes what they are of no elements. `update` is given the states as they were, the
    func's inputs with a further piece of the dimension, and the states to write. `finish` is given the states of all
    elements, and writes the outputs of the func. All take the func's `arguments`; with `positions`, `update` also takes
    `start`, how many elements come before the piece, and `finish` takes `count`, how many there are.

    `merge`, if there is one, is given the states of some elements, the states of the elements that follow, and the
    states of all of them to write; with `positions`, also `before` and `more`, how many elements these two are of. What
    comes before the part of the elements that a state is of does not matter to it: `start` counts from there.

    With `combine`, the one state after an element more is that ufunc of the state before and the element; `init` writes
    one number everywhere, and `finish`, without `positions`, copies.

    That this gives what the func gives is the word of its author: to the last bit if it `is_exact`, else but for
    rounding, which matters to nobody if it `may_reassociate`.
    """

    over: tuple[tuple[str, tuple[int | None, ...]], ...]
    states: tuple[State, ...]
    init: Callable[..., Any]
    update: Callable[..., Any]
    finish: Callable[..., Any]
    positions: bool = False
    is_exact: bool = True
    may_reassociate: bool = False
    merge: Callable[..., Any] | None = None
    combine: np.ufunc | None = None


class Stage(enum.Enum):
    """The funcs that do together what a func does that reduces."""

    INIT = "init"
    UPDATE = "update"
    KEEP = "keep"
    MERGE = "merge"
    FINISH = "finish"


RESERVED = ("piece_extent", "each", "start", "count", "part_pieces", "extent", "before", "more")
"""What arguments of stages are called that no func has given them."""


@attrs.frozen(eq=False, kw_only=True)
class Accumulation(_Operation):
    """A stage of a reduction by pieces of a dimension, all of `piece_extent` coordinates but for the last one; at each
    coordinate, `each` elements are reduced along other dimensions.

    States have a dimension more than the reduction says, the first: their coordinates there are numbers of pieces. What
    they hold at k is what they are after the piece k, and at -1, of no elements. An update writes them at the pieces of
    its box and reads them one before; of its other inputs `axes` are those along which there are pieces. `func` is the
    name of the func that was taken to pieces, and `function` what it ran.

    Where there are `parts` of so many pieces each, those states have a dimension more, the very first: the number of
    the part, each of which begins anew. What a part ends with is kept, by number, and merged into states over parts.

    The stages are those of the `variant` of a name; `variants` are the reductions of others, and of this one, that all
    stages together could be of, where there are any.
    """

    reduction: Reduction
    stage: Stage
    func: str
    function: Callable[..., Any]
    axes: tuple[int | None, ...] = ()
    parts: bool = False
    variant: str | None = None
    variants: tuple[tuple[str | None, Reduction], ...] = ()

    @property
    def states_read(self) -> int:
        """How many of the buffers that it reads are states: the first ones."""
        count = len(self.reduction.states)
        return {Stage.INIT: 0, Stage.MERGE: 2 * count}.get(self.stage, count)

    def shown(self) -> tuple[tuple[str, Any], ...]:
        """What a program prints of it: what its author has given."""
        return tuple((name, value) for name, value in self.arguments if name not in RESERVED)


@attrs.frozen(eq=False, kw_only=True)
class Nested(_Operation):
    """A pipeline of its own: what a call of it writes are the outputs of the program, over the call's box, and what it
    reads are its inputs, each with the bounds of just the region that is read. `arguments` are its scalars.

    Over any box, the program reads of its inputs no more than what the func says for that box.
    """

    program: Program
    pass_buffers: bool = True


@attrs.frozen(eq=False, kw_only=True)
class Expression(_Operation):
    """Arithmetic of ufuncs, element by element, which slinky understands: a back end may make loops of it. Its func has
    one output, of all of its dimensions in this order. What the formula takes by name are `arguments`."""

    formula: Formula
    in_place: bool = True


Operation: TypeAlias = Callback | Copy | Accumulation | Nested | Expression
"""What a func runs."""
