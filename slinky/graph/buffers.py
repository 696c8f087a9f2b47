"""Buffers of the graph: names for arrays, with expressions for what is known of them only when a pipeline runs."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import attrs
import numpy as np
import numpy.typing as npt

from slinky.errors import GraphError, cited
from slinky.graph.annotations import InMemoryOf, LoopName, Placement, Root, place_in
from slinky.graph.terms import Arithmetic
from slinky.ir.given import as_dtype
from slinky.ir.identifiers import as_python_reads
from slinky.ir.operations import FloatScalar
from slinky.ir.statements import LARGEST_ALIGNMENT
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    ExprLike,
    Node,
    Scalar,
    Variable,
    all_of,
    as_expr,
    equal,
    is_integer,
    is_power_of_two,
    metadata,
    require_integer,
)
from slinky.symbolic.expressions import (
    scalar as scalar_node,
)
from slinky.symbolic.expressions import (
    variable as variable_node,
)
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.traversal import symbols

if TYPE_CHECKING:
    from slinky.graph.funcs import Func

AccessItem: TypeAlias = "ExprLike | Interval | slice"

WHOLE = slice(None)

RUN_OPTIONS = frozenset({"backend", "checked", "hooks", "path", "progress", "threads", "timed"})
"""Names that `Pipeline.run` and its like take themselves, so that no scalar can have them."""

LARGEST_RANK = 64
"""NumPy has no arrays of more dimensions."""


def valid_name(name: object, what: str) -> str:
    """A name that can be printed, found and used as a keyword: a Python identifier that is no reserved word, as Python
    reads it.

    Raises `GraphError` naming `what` for anything else.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise GraphError(f"{what} needs a name that is a Python identifier, such as 'blurred', got {cited(name)}")
    name = as_python_reads(name)
    if keyword.iskeyword(name):
        raise GraphError(f"{what} cannot be called {name!r}, which is a reserved word of Python")
    if name == "_":
        raise GraphError(f"{what} cannot be called '_', which stands for any name in patterns")
    return name


def variables(names: str) -> tuple[Variable, ...]:
    """Make variables from their names, separated by spaces or commas.

    >>> y, x = variables("y x")
    """
    if not isinstance(names, str):
        raise GraphError(f"variables() expects names separated by spaces, such as 'y x', got {cited(names)}")
    found = tuple(variable_node(valid_name(name, "a variable")) for name in names.replace(",", " ").split())
    if not found:
        raise GraphError("variables() expects names separated by spaces, such as 'y x', got none")
    return found


@overload
def scalar(name: str, kind: type[int] = int) -> Scalar: ...
@overload
def scalar(name: str, kind: type[float]) -> FloatScalar: ...
def scalar(name: str, kind: type[int] | type[float] = int) -> Scalar | FloatScalar:
    """A number that is known when the pipeline runs, given there by this name: `p(inp, out, r=3, amount=0.5)`.

    An integer may stand in the bounds of accesses, in arguments of callbacks, and in steps of loops. A float,
    `sl.scalar("amount", float)`, is an argument of callbacks and nothing else.

    Raises `GraphError` for a bad name, or a kind that is neither `int` nor `float`.
    """
    if kind is not int and kind is not float:
        raise GraphError(f"the kind of a scalar is int or float, got {cited(kind)}")
    name = valid_name(name, "a scalar")
    if name in RUN_OPTIONS:
        raise GraphError(f"a scalar cannot be called {name!r}, which is an option of Pipeline.run")
    return scalar_node(name) if kind is int else FloatScalar(name)


@attrs.frozen(eq=False)
class Access(Arithmetic):
    """A buffer and an interval for each of its dimensions; `None` stands for the whole dimension.

    An access of points takes part in arithmetic, see `arithmetic`.
    """

    buffer: BufferExpr
    box: tuple[Interval | None, ...]

    def __str__(self) -> str:
        return f"{self.buffer.name}[{', '.join(':' if i is None else str(i) for i in self.box)}]"


class BufferExpr:
    """An array of the graph: an input or output of the pipeline, or an intermediate that slinky allocates.

    Parameters: `name` (an identifier), `dtype` (anything NumPy takes), `rank` (number of dimensions, from 0).
    `buffer[...]` makes the access that a `Func` takes. `dim(i)` tells, and lets one constrain, what is known of a
    dimension. `producer` is the func that writes it, or None.

    Raises `GraphError` for a bad name, dtype or rank.
    """

    def __init__(self, name: str, dtype: npt.DTypeLike, rank: int) -> None:
        self.name = valid_name(name, "a buffer")
        self.dtype = valid_dtype(name, dtype)
        if not is_integer(rank) or rank < 0:
            raise GraphError(f"the rank of buffer {name!r} must be an integer, 0 or more, got {cited(rank)}")
        if rank > LARGEST_RANK:
            raise GraphError(
                f"the rank of buffer {name!r} must be at most {LARGEST_RANK}, as in NumPy, got {cited(rank)}"
            )
        self.rank = int(rank)
        self.producer: Func | None = None
        self.is_read = False
        self.value: np.ndarray[Any, Any] | None = None
        self.assigned: dict[tuple[int, str], Expr] = {}
        self._alignment = 1
        self.multiples: dict[int, int] = {}
        self.domains: dict[int, Interval] = {}
        self.extensions: dict[object, BufferExpr] = {}
        self.extended_dims: frozenset[int] = frozenset()
        self.stored: Placement | None = None
        self.memory: InMemoryOf | None = None

    __iter__ = None  # a buffer can be indexed, but is no sequence

    def __getitem__(self, items: AccessItem | tuple[AccessItem | EllipsisType, ...] | EllipsisType) -> Access:
        given: Sequence[Any] = items if isinstance(items, tuple) else (items,)
        dots = [place for place, item in enumerate(given) if item is Ellipsis]  # an array would be compared by elements
        if len(dots) == 1:
            at = dots[0]
            missing = self.rank - (len(given) - 1)
            given = (*given[:at], *[WHOLE] * max(missing, 0), *given[at + 1 :])
        if len(given) != self.rank:
            raise GraphError(
                f"buffer {self.name!r} has rank {self.rank}, so an access needs {self.rank} intervals, got {len(given)}"
            )
        return Access(self, tuple(self._interval(item, d) for d, item in enumerate(given)))

    def _interval(self, item: object, dim: int) -> Interval | None:
        if isinstance(item, Interval):
            return item
        if isinstance(item, slice):
            if item == WHOLE:
                return None
            raise GraphError(
                f"dimension {dim} of {self.name!r}: a slice with ends is ambiguous here; "
                f"write sl.interval(lo, hi), both included, or : for the whole dimension"
            )
        try:
            return point(as_expr(item))
        except TypeError as error:
            raise GraphError(
                f"dimension {dim} of {self.name!r} needs an expression, sl.interval(lo, hi) or :, got {cited(item)}"
            ) from error

    def extended(
        self,
        mode: str | Sequence[str | None],
        *,
        value: object = 0,
        dims: int | Sequence[int] | None = None,
    ) -> BufferExpr:
        """This buffer together with what is beyond its edges, for funcs that read there.

        `inp.extended("reflect")[sl.interval(y - 3, y + 3), x]` is an access that may leave the bounds of `inp`. Of a
        buffer with the elements `a b c`:

        | mode         | also called                   | of `np.pad`   | before  | buffer  | after   |
        |--------------|-------------------------------|---------------|---------|---------|---------|
        | `"constant"` | `"grid-constant"`             | `"constant"`  | `k k k` | `a b c` | `k k k` |
        | `"nearest"`  | `"edge"`                      | `"edge"`      | `a a a` | `a b c` | `c c c` |
        | `"reflect"`  | `"symmetric"`, `"grid-mirror"`| `"symmetric"` | `c b a` | `a b c` | `c b a` |
        | `"mirror"`   |                               | `"reflect"`   | `b c b` | `a b c` | `b a b` |
        | `"wrap"`     | `"grid-wrap"`                 | `"wrap"`      | `a b c` | `a b c` | `a b c` |

        The names are those of `scipy.ndimage`, and those of NumPy that mean one thing only: what NumPy calls
        `"reflect"` is `"mirror"` here. It goes on like this however far away, also where the buffer has one element.

        Parameters: `mode`, a name for all dimensions, or a sequence with a name or None for each; `value`, the `k` of
        `"constant"`, a number or a scalar of the pipeline; `dims`, the dimensions that are extended, by default all.

        The edges are those of the buffer's domain, `dim(d).domain`: of an input, of the array that is given; of an
        intermediate, as far as its inputs reach, never as far as somebody happens to ask.

        Raises `GraphError` for unknown modes and dimensions, and a value that the dtype does not hold.
        """
        from slinky.graph.boundaries import CONSTANT, fill_value, rules_per_dimension
        from slinky.graph.copying import extension

        rules = rules_per_dimension(mode, dims, self.rank, self.name)
        fills = any(rule is not None and rule.endswith(CONSTANT) for rule in rules)
        return extension(self, rules, fill_value(value, self.dtype, f"{self.name!r}") if fills else None)

    def store_at(self, func: Func, loop: LoopName) -> BufferExpr:
        """Store what an iteration of a loop of a func needs, in each iteration anew. Returns the buffer."""
        self.stored = place_in(f"store_at of buffer {self.name!r}", func, loop)
        return self

    def store_root(self) -> BufferExpr:
        """Store it outside of all loops. Returns the buffer."""
        self.stored = Root()
        return self

    def store_in(self, other: BufferExpr) -> BufferExpr:
        """Store it in the memory of another buffer, which nobody needs any more. Returns the buffer.

        The func that produces it works in place, if it reads the other one and can; see `compute_in_place` and
        `reuse_buffer`.
        """
        given: object = other
        if not isinstance(given, BufferExpr) or given is self:
            raise GraphError(f"buffer {self.name!r} can be stored in another buffer, got {cited(other)}")
        self.memory = InMemoryOf(other)
        return self

    @property
    def alignment(self) -> int:
        """The bytes of which the first element of an intermediate, and its rows, lie at multiples.

        To be assigned, a power of two. The strides of all dimensions but the last are rounded up to multiples then, so
        each row begins at one, whatever piece of the buffer is stored. Raises `GraphError` for anything else.
        """
        return self._alignment

    @alignment.setter
    def alignment(self, value: int) -> None:
        if not is_power_of_two(value) or value > LARGEST_ALIGNMENT:
            raise GraphError(
                f"the alignment of {self.name!r} is a power of two, up to {LARGEST_ALIGNMENT}, got {cited(value)}"
            )
        self._alignment = int(value)

    def dim(self, index: int) -> Dimension:
        """One dimension, counted from 0 (negative: from the end)."""
        if not is_integer(index) or not -self.rank <= index < self.rank:
            raise GraphError(f"buffer {self.name!r} has dimensions 0 to {self.rank - 1}, got {cited(index)}")
        return Dimension(self, int(index) % self.rank)

    def __repr__(self) -> str:
        return f"<BufferExpr {self.name}: {self.dtype}[{self.rank}]>"


def valid_dtype(name: str, given: npt.DTypeLike) -> np.dtype[Any]:
    """The dtype of a buffer. None is refused: to NumPy it is float64, which nobody means who says nothing.

    Raises `GraphError` for what no buffer can have.
    """
    if given is None:
        raise GraphError(f"buffer {name!r} needs a dtype, such as np.float32, got None")
    try:
        dtype = as_dtype(given)
    except TypeError as error:
        raise GraphError(f"buffer {name!r} needs a dtype, such as np.float32, got {cited(given)}: {error}") from None
    if dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise GraphError(f"buffer {name!r} needs a dtype of fixed size without Python objects, got {dtype}")
    return dtype


class Dimension:
    """What is known of one dimension of a buffer, as expressions: `min`, `max`, `extent`, `stride`, `fold_factor`;
    `bounds` is the interval of the first two.

    Assigning to one is a constraint. For an input or output it becomes a check of the pipeline. For an intermediate,
    `min`, `max` and `extent` say what is to be produced instead of just what is needed, for example a padded extent;
    there the expressions of the dimension itself stand for what is needed. Its `stride` is how many bytes neighbours
    shall be apart in memory.

    Raises `GraphError` when what is assigned is no expression of scalars and metadata.
    """

    __slots__ = ("buffer", "index")

    def __init__(self, buffer: BufferExpr, index: int) -> None:
        self.buffer = buffer
        self.index = index

    def _get(self, field: str) -> Expr:
        return metadata(self.buffer.name, self.index, field)

    def _set(self, field: str, value: ExprLike) -> None:
        self.buffer.assigned[(self.index, field)] = self._value(field, value)

    def _value(self, field: str, value: ExprLike) -> Expr:
        """What is assigned, as an expression."""
        try:
            expr = as_expr(value)
        except TypeError as error:
            raise GraphError(f"the {field} of {self}: {error}") from None
        named = loop_variables(expr)
        if named:
            raise GraphError(
                f"the {field} of {self} is the same everywhere, so it cannot depend on variable {named[0]}"
            )
        return expr

    def __str__(self) -> str:
        return f"dimension {self.index} of buffer {self.buffer.name!r}"

    def __repr__(self) -> str:
        return f"<Dimension {self.index} of {self.buffer.name}>"

    @property
    def min(self) -> Expr:
        """The first coordinate."""
        return self._get("min")

    @min.setter
    def min(self, value: ExprLike) -> None:
        self._set("min", value)

    @property
    def max(self) -> Expr:
        """The last coordinate."""
        return self._get("max")

    @max.setter
    def max(self, value: ExprLike) -> None:
        self._set("max", value)

    @property
    def extent(self) -> Expr:
        """How many coordinates: `max - min + 1`."""
        return self._get("extent")

    @extent.setter
    def extent(self, value: ExprLike) -> None:
        self._set("extent", value)

    @property
    def stride(self) -> Expr:
        """The distance of neighbours in memory, in bytes."""
        return self._get("stride")

    @stride.setter
    def stride(self, value: ExprLike) -> None:
        self._set("stride", value)

    @property
    def multiple(self) -> int:
        """In pieces of how many coordinates the dimension is produced: 1 if nothing else is assigned.

        With `intm.dim(1).multiple = 16`, each box of `intm` that is computed begins at a multiple of 16 and ends right
        before one, however a schedule cuts it. So more may be computed than is needed, and read for that. The bounds of
        an input or output must be such themselves. Raises `GraphError` for what is no positive integer.
        """
        return self.buffer.multiples.get(self.index, 1)

    @multiple.setter
    def multiple(self, value: int) -> None:
        if not is_integer(value) or value < 1:
            raise GraphError(f"the multiple of {self} is an integer, 1 or more, got {cited(value)}")
        self.buffer.multiples[self.index] = int(value)

    @property
    def fold_factor(self) -> Expr:
        """Coordinates that differ by this share memory; the extent where nothing is folded."""
        return self._get("fold_factor")

    @property
    def bounds(self) -> Interval:
        """The interval from `min` to `max`. To assign it is to assign both."""
        return Interval(self.min, self.max)

    @bounds.setter
    def bounds(self, value: Interval) -> None:
        if not isinstance(value, Interval):
            raise GraphError(
                f"the bounds of {self} are an interval, such as inp.dim(0).bounds or sl.interval(0, 9), "
                f"got {cited(value)}"
            )
        lo, hi = self._value("min", value.min), self._value("max", value.max)
        self.buffer.assigned[(self.index, "min")] = lo
        self.buffer.assigned[(self.index, "max")] = hi

    @property
    def domain(self) -> Interval:
        """The interval that boundary rules go by: where the elements of the buffer are by themselves.

        Of an input these are its bounds; of an intermediate, all that its inputs allow, whoever asks for how much.
        It can be assigned where that is not what is meant.
        """
        return Interval(self._get("domain_min"), self._get("domain_max"))

    @domain.setter
    def domain(self, value: Interval) -> None:
        if not isinstance(value, Interval):
            raise GraphError(
                f"the domain of {self} is an interval, such as inp.dim(0).bounds or sl.interval(0, 9), "
                f"got {cited(value)}"
            )
        self.buffer.domains[self.index] = Interval(self._value("min", value.min), self._value("max", value.max))


def constant(name: str, array: npt.ArrayLike, min: Sequence[int] | None = None) -> BufferExpr:
    """A buffer that holds an array of its own, such as the weights of a filter. Its first element is at `min` (0s).

    The array is copied, so that what happens to the caller's array later does not change the pipeline.
    """
    try:
        value = np.array(array)
        origin = (0,) * value.ndim if min is None else tuple(require_integer(lo, "a coordinate of min") for lo in min)
    except (TypeError, ValueError) as error:
        raise GraphError(
            f"constant {cited(name)} needs an array and as min integers, one per dimension: {error}"
        ) from None
    value.setflags(write=False)
    if len(origin) != value.ndim:
        raise GraphError(f"constant {cited(name)} has rank {value.ndim}, but min has {len(origin)} coordinates")
    buffer = BufferExpr(name, value.dtype, value.ndim)
    buffer.value = value
    for d, (lo, extent) in enumerate(zip(origin, value.shape, strict=True)):
        buffer.assigned[(d, "min")] = as_expr(lo)
        buffer.assigned[(d, "max")] = as_expr(lo + extent - 1)
    return buffer


def same_shape(a: BufferExpr, b: BufferExpr) -> Condition:
    """That two buffers have the same bounds in every dimension, for `build_pipeline(..., require=[...])`.

    Raises `GraphError` for what is no buffer, or if the ranks differ.
    """
    for buffer in (a, b):
        if not isinstance(buffer, BufferExpr):
            raise GraphError(f"same_shape() expects two buffers, got {cited(buffer)}")
    if a.rank != b.rank:
        raise GraphError(
            f"{a.name!r} and {b.name!r} cannot have the same bounds: their ranks are {a.rank} and {b.rank}"
        )
    ends = [(field(a.dim(d)), field(b.dim(d))) for d in range(a.rank) for field in (_first, _last)]
    return all_of(*(equal(one, other) for one, other in ends))


def _first(dim: Dimension) -> Expr:
    return dim.min


def _last(dim: Dimension) -> Expr:
    return dim.max


def loop_variables(node: Node) -> list[Variable]:
    """The variables in an expression or condition that have a value only inside a call: all but the scalars."""
    found = [s for s in symbols(node) if isinstance(s, Variable) and not isinstance(s, Scalar)]
    return sorted(found, key=str)


def constraints(buffer: BufferExpr) -> list[Condition]:
    """What was assigned to the dimensions of an input or output, as conditions."""
    found = [equal(metadata(buffer.name, d, field), value) for (d, field), value in buffer.assigned.items()]
    for d, n in buffer.multiples.items():
        lo, hi = metadata(buffer.name, d, "min"), metadata(buffer.name, d, "max")
        found += [equal(lo % n, 0), equal((hi + 1) % n, 0)]
    return found
