"""What a C function is passed: its parameters, each an item of an array or a number.

Idea. C functions that others wrote take pointers, extents and strides in an order of their own. A parameter is written
as a text that says what it is, `x.extent[0]`, and of which C type where that is not the usual one, `x.extent[0]: int`.
A dimension whose stride no parameter passes has none, for all that the function knows: its elements follow each other
without gaps.

Invariant: what is passed says all that the function needs of arrays whose other dimensions have no gaps.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import GraphError, cited
from slinky.ir.given import is_listed
from slinky.native.operators import C_TYPES

INTEGER_TYPES: dict[str, Any] = {
    "short": ctypes.c_short,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "long": ctypes.c_long,
    "long long": ctypes.c_longlong,
    "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t,
    "intptr_t": ctypes.c_ssize_t,
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""The C types of extents, strides and coordinates, with those of ctypes."""

_PARAMETER = re.compile(
    r"(?P<name>\w+)(?:\.(?P<item>extent|stride|step|min)(?:\[(?P<dim>\d+)\])?)?\s*(?::\s*(?P<type>\w[\w ]*?))?\s*"
)


@attrs.frozen
class Operand:
    """An array that a function is given: its name, what it holds, along which dimensions it may have gaps, and along
    which of these they are told in elements: only gaps of whole elements can be."""

    name: str
    dtype: np.dtype[Any]
    rank: int
    strided: tuple[bool, ...]
    stepped: tuple[bool, ...]

    @property
    def is_strided(self) -> bool:
        """Whether it may have any strides."""
        return all(self.strided) and not self.counted_dims

    @property
    def counted_dims(self) -> tuple[int, ...]:
        """The dimensions along which a stride must be a multiple of elements, and need not be one: elements that are
        aligned to all of their bytes lie no other way."""
        if self.dtype.alignment == self.dtype.itemsize:
            return ()
        return tuple(d for d in range(self.rank) if self.stepped[d])


@attrs.frozen
class Scalar:
    """A number that a function is given, by name."""

    name: str
    dtype: np.dtype[Any]


@attrs.frozen
class Parameter:
    """One parameter. Its `item` is `data`, the address of the first element of the array at this position; `extent`,
    `stride`, `min` or `step` (a stride in elements) of its dimension `dim`, or the address of as many as there are
    dimensions; `scalar`, the number at this position; or `user_data`. It is of a C type."""

    item: str
    position: int
    dim: int | None
    type: str


def is_unsigned(of: str) -> bool:
    """Whether an integer type of C has no negative numbers."""
    return of == "size_t" or of.startswith("u")


def usual_parameters(operands: Sequence[Operand], scalars: Sequence[Scalar], *, minima: bool) -> tuple[Parameter, ...]:
    """Of each array, where its first element is, its coordinates if asked for, its extents and its strides; scalars."""
    items = ("min", "extent", "stride") if minima else ("extent", "stride")
    found: list[Parameter] = []
    for position in range(len(operands)):
        found.append(Parameter("data", position, None, "void *"))
        found += [Parameter(item, position, None, "const int64_t *") for item in items]
    return (*found, *(Parameter("scalar", n, None, C_TYPES[each.dtype]) for n, each in enumerate(scalars)))


def read_parameters(
    texts: Sequence[str], operands: Sequence[tuple[str, int]], scalars: Sequence[Scalar], what: str
) -> tuple[Parameter, ...]:
    """Parameters as they were written, of arrays by name and rank.

    Raises `GraphError` for what cannot be read, and where an array or a number is not passed at all.
    """
    if not is_listed(texts) or not all(isinstance(text, str) for text in texts):
        raise GraphError(f"{what}: parameters must be a list of texts, such as 'x.extent[0]', got {cited(texts)}")
    places = {name: (k, rank) for k, (name, rank) in enumerate(operands)}
    numbers = {each.name: n for n, each in enumerate(scalars)}
    found = tuple([_read(text, places, numbers, scalars, what) for text in texts])
    for name, (k, _) in places.items():
        if not any(each.item == "data" and each.position == k for each in found):
            raise GraphError(f"{what}: no parameter is {name!r}, the address of that array")
    for name, n in numbers.items():
        if not any(each.item == "scalar" and each.position == n for each in found):
            raise GraphError(f"{what}: no parameter is the number {name!r}")
    return found


def _read(
    text: str, places: dict[str, tuple[int, int]], numbers: dict[str, int], scalars: Sequence[Scalar], what: str
) -> Parameter:
    match = _PARAMETER.fullmatch(text.strip())
    if match is None:
        raise GraphError(
            f"{what}: a parameter is the name of an array or a number, or an item of an array such as 'x.extent[0]', "
            f"with its C type if that is not int64_t: 'x.extent[0]: int'; got {cited(text)}"
        )
    name, item, dim, given = match["name"], match["item"], match["dim"], match["type"]
    if item is None and name in numbers:
        own = C_TYPES[scalars[numbers[name]].dtype]
        if given not in (None, own):
            raise GraphError(f"{what}: {text!r} is a number that is declared as {own}")
        return Parameter("scalar", numbers[name], None, own)
    if item is None and name == "user_data" and name not in places:
        return Parameter("user_data", 0, None, "void *")
    if name not in places:
        raise GraphError(f"{what}: {text!r} is of none of {', '.join([*places, *numbers])}")
    position, rank = places[name]
    if item is None or dim is None:
        if item == "step":
            raise GraphError(f"{what}: {text!r} is passed by dimension: {name}.step[0]")
        if given is not None:
            raise GraphError(f"{what}: {text!r} is an address, which has no type of its own")
        return Parameter(item or "data", position, None, "const int64_t *" if item else "void *")
    if int(dim) >= rank:
        raise GraphError(f"{what}: {text!r} is of dimension {dim}, but {name} has {rank}")
    of = " ".join((given or "int64_t").split())
    if of not in INTEGER_TYPES:
        raise GraphError(f"{what}: {text!r} is of type {of!r}; there are {', '.join(INTEGER_TYPES)}")
    return Parameter(item, position, int(dim), of)


def strided_dims(parameters: Sequence[Parameter], position: int, rank: int) -> tuple[bool, ...]:
    """The dimensions of an array whose strides are passed."""
    return _dims_of(("stride", "step"), parameters, position, rank)


def stepped_dims(parameters: Sequence[Parameter], position: int, rank: int) -> tuple[bool, ...]:
    """The dimensions of an array whose strides are passed in elements."""
    return _dims_of(("step",), parameters, position, rank)


def _dims_of(items: Sequence[str], parameters: Sequence[Parameter], position: int, rank: int) -> tuple[bool, ...]:
    passed = {each.dim for each in parameters if each.position == position and each.item in items}
    return tuple(None in passed or d in passed for d in range(rank))
