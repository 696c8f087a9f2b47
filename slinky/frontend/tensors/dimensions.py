"""Names of dimensions, and what can be said of their sizes.

Idea. A dimension is a variable of the symbolic room, so places in tensors are written as expressions of dimensions,
`s.y + s.k`, and sizes as expressions of `size(s.y)`. Two variables of one name are the same object: tensors are aligned
by name, and a name means something only within the operation in which it stands.

Invariant: a dimension that was given no name is like no other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from slinky.errors import DimensionError, GraphError, TensorError, cited
from slinky.graph.buffers import variables
from slinky.symbolic.expressions import Expr, Scalar, Variable, variable

_serial = itertools.count(1)
_UNNAMED = "_"


class Dims:
    """Dimensions by their names, as attributes and in order: `s.m`, or `m, k = sl.dims("m k")`."""

    __slots__ = ("_dims",)

    def __init__(self, dims: tuple[Variable, ...]) -> None:
        self._dims = {dim.name: dim for dim in dims}

    def __getattr__(self, name: str) -> Variable:
        try:
            return self._dims[name]
        except KeyError:
            raise DimensionError(f"there is no dimension {name!r} among {', '.join(self._dims)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return Dims, (tuple(self),)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._dims.values())

    def __len__(self) -> int:
        return len(self._dims)

    def __dir__(self) -> list[str]:
        return sorted(self._dims)

    def __repr__(self) -> str:
        return f"<dims {' '.join(self._dims)}>"


def dims(names: str) -> Dims:
    """Make dimensions of tensors from their names, separated by spaces or commas.

    >>> s = dims("m k")
    >>> m, k = s
    >>> s.m is m
    True

    Raises `TensorError` for what is no name, or begins with an underscore, and for names that stand there twice.
    """
    try:
        found = variables(names)
    except GraphError as error:
        raise TensorError(f"dims() expects names separated by spaces, such as 'm k': {error}") from None
    for dim in found:
        if dim.name.startswith("_"):
            raise TensorError(f"a dimension cannot be called {dim.name!r}: no name begins with an underscore")
        if found.count(dim) > 1:
            raise TensorError(f"dims() names {dim} twice")
    return Dims(found)


def size(dim: Variable) -> Expr:
    """The size of a dimension, as an expression for the equations of a view.

    >>> m = dims("m").m
    >>> print(2 * size(m) + 1)
    2*size(m) + 1

    Raises `TensorError` for what is no dimension.
    """
    if not is_dimension(dim):
        raise TensorError(f"size() takes a dimension, such as s.m, got {cited(dim)}")
    return variable(f"size({dim})")


def is_dimension(given: object) -> bool:
    """Whether something is a dimension, which scalars and sizes are not."""
    return isinstance(given, Variable) and not isinstance(given, Scalar) and given.name.isidentifier()


def unnamed() -> Variable:
    """A dimension that is like no other."""
    return variable(f"{_UNNAMED}{next(_serial)}")


def is_unnamed(dim: Variable) -> bool:
    """Whether a dimension was given no name."""
    return dim.name.startswith(_UNNAMED)


def listed(dims: Iterable[object]) -> str:
    """Dimensions as messages list them: a question mark stands for one without a name."""
    return ", ".join(map(_shown, dims))


def _shown(dim: object) -> str:
    if isinstance(dim, Variable) and is_unnamed(dim):
        return "?"
    return str(dim) if isinstance(dim, (Expr, str)) else cited(dim)


def counted(dims: Sequence[Variable]) -> str:
    """How many dimensions, and which, as messages say it."""
    several = "1 dimension" if len(dims) == 1 else f"{len(dims)} dimensions"
    if dims and all(map(is_unnamed, dims)):
        return f"{several} without {'a name' if len(dims) == 1 else 'names'}"
    return f"{several}, [{listed(dims)}]"


def called(dim: Variable, dims: Sequence[Variable]) -> str:
    """What messages call one of some dimensions: by its place, if it has no name."""
    return f"dimension {dims.index(dim)}" if is_unnamed(dim) else str(dim)
