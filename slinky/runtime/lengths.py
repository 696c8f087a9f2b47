"""How long the regions of a func are, as multiples of the extents of its box.

Most are such multiples. So whoever counts bytes over many iterations need not follow the ends of each region.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from slinky.ir.regions import end_symbols, input_templates
from slinky.ir.remembered import remembered
from slinky.ir.statements import LoweredFunc
from slinky.symbolic.expressions import Constant, Expr, linear

Form: TypeAlias = tuple[int, int, int]
"""How long a region is along a dimension: a factor times the extent of a dimension of the func, given by position, and
an offset. The position is -1 where it is the offset alone."""

Forms: TypeAlias = tuple[Form, ...]


@attrs.frozen
class Geometry:
    """How large the regions of a func are, given its box.

    `whole` are the forms of the box itself. `written` are those of outputs that have not all of its dimensions, with
    the size of an element, `bytes_per_point` is what the others take for each point. `read` has an entry for each
    input: the lengths of its region, as forms, and where there is none as expressions of the ends of the box.
    """

    whole: Forms
    bytes_per_point: int
    written: tuple[tuple[Forms, int], ...]
    read: tuple[tuple[Forms, tuple[Expr, ...], int], ...]


@remembered
def geometry_of(func: LoweredFunc) -> Geometry:
    """How large the regions of a func are; remembered with it."""
    whole = tuple((d, 1, 0) for d in range(len(func.dims)))
    written, read, bytes_per_point = [], [], 0
    for output in func.outputs:
        if sorted(output.dims) == list(range(len(whole))):
            bytes_per_point += output.dtype.itemsize
        else:
            written.append((tuple((d, 1, 0) for d in output.dims), output.dtype.itemsize))
    for port, template in zip(func.inputs, input_templates(func), strict=True):
        lengths = [_form(func, i.max - i.min + 1) for i in template]
        forms = tuple(length for length in lengths if isinstance(length, tuple))
        exprs = tuple(length for length in lengths if not isinstance(length, tuple))
        read.append((whole if tuple(sorted(forms)) == whole and not exprs else forms, exprs, port.dtype.itemsize))
    return Geometry(whole, bytes_per_point, tuple(written), tuple(read))


def _form(func: LoweredFunc, extent: Expr) -> Expr | Form:
    if isinstance(extent, Constant):
        return (-1, 0, extent.value)
    offset, terms = linear(extent)
    factors = dict(terms)
    for dim, (first, last) in enumerate(end_symbols(func)):
        factor = factors.get(last, 0)
        if 1 <= factor <= 4 and len(terms) == 2 and factors.get(first) == -factor:
            return (dim, factor, offset - factor)
    return extent
