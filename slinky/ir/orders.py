"""Which way of lying in memory an operation asks of a buffer, and whether one lies so.

Idea. Most callbacks take arrays of any strides. One that does not says in which order of the dimensions a buffer has to
lie (`statements.Order`), and then whoever stores the buffer must see to it. That it lies so follows from the strides of
its allocation: going in, each is no larger than the one before, and the last is an element.

Invariant: a buffer of which `lies_in_order` is shown lies so in every run, whatever part of it a call is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from slinky.ir.blocks import is_stored_by_blocks
from slinky.ir.statements import Alloc, Order, Port
from slinky.symbolic.expressions import Expr, FloorDivide, Product, constant, equal, linear, product
from slinky.symbolic.intervals import not_empty
from slinky.symbolic.proofs import Facts, prove


def words_of_order(order: Order, dims: Sequence[str]) -> str:
    """What an order asks for, by the names of the dimensions: `in the order (x, y)`."""
    said = f"in the order ({', '.join(dims[d] for d in order.dims)})"
    if any(stride is not None for stride in order.strides):
        said += f" with strides ({', '.join('_' if stride is None else str(stride) for stride in order.strides)})"
    return said + (f" aligned {order.alignment}" if order.alignment > 1 else "")


def lies_in_order(alloc: Alloc, order: Order, known: Facts) -> bool:
    """Whether a buffer is shown to lie in an order, wherever the facts hold and it has any elements."""
    layout = alloc.layout
    if layout is None or is_stored_by_blocks(alloc) or layout.alignment % order.alignment:
        return False
    strides = [layout.strides[d] for d in order.dims]
    given = [stride for stride in strides if stride is not None]
    if len(given) != len(strides):
        return False
    known = known.also(not_empty(alloc.box))
    wanted = [order.strides[d] if order.strides else None for d in order.dims]
    if wanted and wanted[-1] is None:
        wanted[-1] = alloc.dtype.itemsize
    if not all(n is None or prove(equal(stride, n), known) for stride, n in zip(given, wanted, strict=True)):
        return False
    return all(_is_shown_at_least(outer, inner, known) for outer, inner in itertools.pairwise(given))


def shows_as_much(new: Alloc, old: Alloc, known: Facts) -> bool:
    """Whether the strides of an allocation show which is no smaller than which, as far as those of another one did.

    Simplified, they are the same numbers, but products of lengths are shown by their factors.
    """
    if new.layout is None or old.layout is None:
        return new.layout is old.layout
    known = known.also(not_empty(old.box))
    strides = zip(new.layout.strides, old.layout.strides, strict=True)
    given = [(n, o) for n, o in strides if n is not None and o is not None]
    return all(  # the old ones are asked first: the others may be long sums where these are products
        (new_outer is outer and new_inner is inner)
        or not _is_shown_at_least(outer, inner, known)
        or _is_shown_at_least(new_outer, new_inner, known)
        for (new_outer, outer), (new_inner, inner) in itertools.permutations(given, 2)
    )


def _is_shown_at_least(stride: Expr, inner: Expr, known: Facts) -> bool:
    """Whether a stride is shown to be no smaller than the one inside of it: often it is so many times that."""
    others = _others_than(inner, _before_rounding(stride))
    if others and prove(inner >= 0, known) and prove(product(others) >= 1, known):
        return True
    return prove(stride >= inner, known)


def _others_than(inner: Expr, whole: Expr) -> tuple[Expr, ...]:
    """The other factors of a product that has all factors of something else; none if it has not."""
    if not isinstance(whole, Product):
        return ()
    others = list(whole.factors)
    for factor in inner.factors if isinstance(inner, Product) else (inner,):
        if factor not in others:
            return ()
        others.remove(factor)
    return tuple(others)


def _before_rounding(e: Expr) -> Expr:
    """What an expression is at least: of `n` rounded up to a multiple, n."""
    rest, terms = linear(e)
    if rest == 0 and len(terms) == 1:
        atom, factor = terms[0]
        if isinstance(atom, FloorDivide) and atom.denominator is constant(factor):
            return atom.numerator - (factor - 1)
    return e


def takes_as_stored(port: Port, alloc: Alloc, known: Facts) -> bool:
    """Whether a port takes what an allocation holds, as it lies there."""
    return port.dtype == alloc.dtype and (port.order is None or lies_in_order(alloc, port.order, known))
