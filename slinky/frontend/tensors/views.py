"""Views: the places of a new tensor said by equations of indices, and its size by equations of sizes.

Idea. An equation such as `i == y + k` says which element of the source, at `i`, is at `y` and `k` of the view. It is
solved for the dimensions of the source: for one alone, or for several whose multiples are those of digits,
`f == m * size(n) + n`. What it says of places it says of sizes, too: the view is as large as the source allows, and
the source as large as the view needs.

Invariant: each dimension of the source is an expression of the view's, and where the view has no `outside`, it lies in
the source for all sizes for which the equations and the conditions `within` hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slinky.errors import GraphError, TensorError, cited
from slinky.frontend.tensors.dimensions import called, counted, is_dimension, is_unnamed, listed, size
from slinky.frontend.tensors.equations import Equation, Fit, Unknown
from slinky.frontend.tensors.nodes import Node, Viewed
from slinky.graph.boundaries import fill_value
from slinky.ir.given import is_iterable
from slinky.symbolic.expressions import (
    Expr,
    FloorDivide,
    Product,
    Variable,
    as_expr,
    constant_value,
    linear,
    maximum,
    product,
)
from slinky.symbolic.traversal import substitute, symbols

Pair = tuple[Expr, Expr]


def renamed(source: Node, dims: Sequence[Variable]) -> Viewed:
    """The same elements, with other names for the dimensions."""
    if len(dims) != len(source.dims):
        given = "1 name was" if len(dims) == 1 else f"{len(dims)} names were"
        raise TensorError(
            f"{source.title} has {counted(source.dims)}, and {given} given, [{listed(dims)}]; a view with other "
            "dimensions needs constraints="
        )
    view = indexed(source, dims, dims, None)
    view.title = source.title
    for dim, own, unknown in zip(dims, source.dims, source.sizes, strict=True):
        if is_unnamed(own):
            unknown.of = f"{dim} of {source.title}"
    return view


def transposed(source: Node, dims: Sequence[Variable]) -> Viewed:
    """The same elements, with the dimensions in another order."""
    if not all(map(is_dimension, dims)) or sorted(dims, key=str) != sorted(source.dims, key=str):
        raise TensorError(f"transpose() takes the dimensions [{listed(source.dims)}] in some order: {listed(dims)}")
    return indexed(source, dims, source.dims, None)


def indexed(source: Node, dims: Sequence[Variable], index: Sequence[Expr], outside: Any) -> Viewed:
    """A view of which it is said, for each dimension of the source, where it is.

    Raises `TensorError` and `TensorSizeError` as `constrained` does.
    """
    _require_dimensions(source, dims)
    same = {
        place: unknown
        for place, unknown in zip(index, source.sizes, strict=True)
        if outside is None and index.count(place) == 1
    }
    view = _View(source, dims, outside, same)
    places = [view.with_sizes(place) for place in index]
    return view.made(dict(enumerate(places)), list(zip(source.sizes, places, strict=True)), ())


def constrained(source: Node, dims: Sequence[Variable], constraints: object, outside: Any) -> Viewed:
    """A view said by equations of places and of sizes.

    Raises `TensorError` for equations that are none, or do not say where each dimension of the source is, and
    `TensorSizeError` where sizes do not fit.
    """
    _require_dimensions(source, dims)
    _require_fill(source, outside)
    kept: dict[Expr, Unknown] = {dim: source.size_of(dim) for dim in dims if dim in source.dims}
    view = _View(source, dims, outside, kept)
    places, lengths = view.sorted(constraints)
    return view.solved(places, lengths)


def _require_dimensions(source: Node, dims: Sequence[object]) -> None:
    for dim in dims:
        if not is_dimension(dim):
            raise TensorError(f"a view has dimensions, such as s.m, got {cited(dim)}")
    for dim in dims:
        if dims.count(dim) > 1:
            raise TensorError(f"a view of {source.title} has the dimension {dim} twice: [{listed(dims)}]")


def _require_fill(source: Node, outside: object) -> None:
    if outside is None or isinstance(outside, Node):
        return
    try:
        fill_value(outside, source.dtype, f"outside= of a view of {source.title}")
    except GraphError as error:
        raise TensorError(str(error)) from None


class _View:
    """A view on its way. `kept` are the dimensions that have the size of one of the source."""

    def __init__(self, source: Node, dims: Sequence[Variable], outside: Any, kept: Mapping[Expr, Unknown]) -> None:
        self.source = source
        self.node = Viewed(source, dims, outside)
        self.kept = [dim for dim in dims if dim in kept]
        self.sizes = {dim: kept[dim] if dim in kept else self.node.new_size(dim) for dim in dims}
        self.equations: list[Equation] = []

    # Equations as they are written ------------------------------------------------------------------------------------

    def sorted(self, constraints: object) -> tuple[list[Pair], list[Pair]]:
        """The equations of places and those of sizes."""
        if isinstance(constraints, str) or not is_iterable(constraints):
            raise TensorError(
                f"constraints must be a list of pairs, such as [(s.i, s.y + s.k)], got {cited(constraints)}"
            )
        places: list[Pair] = []
        lengths: list[Pair] = []
        for given in constraints:
            if not isinstance(given, tuple) or len(given) != 2:
                raise TensorError(
                    f"a constraint is a pair of expressions, such as (s.i, s.y + s.k), got {cited(given)}"
                )
            try:
                left, right = map(as_expr, given)
            except TypeError as error:
                raise TensorError(f"a constraint is a pair of expressions, such as (s.i, s.y + s.k): {error}") from None
            pair = self.with_sizes(left), self.with_sizes(right)
            found = [s for side in (left, right) for s in symbols(side)]
            if not found:
                raise TensorError(f"the constraint {left} == {right} is about no dimension")
            named = [s for s in found if is_dimension(s)]
            for dim in named:
                if dim in self.kept:
                    raise TensorError(
                        f"{dim} in the constraint {left} == {right} is a dimension of the source and of the view: give "
                        "that of the view another name"
                    )
                if dim not in self.sizes and dim not in self.source.dims:
                    raise TensorError(f"{dim} in the constraint {left} == {right} is a dimension of neither side")
            (places if named else lengths).append(pair)
        return places, lengths

    def with_sizes(self, expr: Expr) -> Expr:
        """An expression with the unknowns in place of sizes by name."""
        named: dict[Expr, Expr] = {}
        for dim in (*self.source.dims, *self.sizes):
            named[size(dim)] = (self.sizes[dim] if dim in self.sizes else self.source.size_of(dim)).symbol
        known = {unknown.symbol for unknown in (*self.sizes.values(), *self.source.sizes)}
        found = substitute(expr, named)
        for symbol in sorted(symbols(found), key=str):
            if not is_dimension(symbol) and symbol not in known:
                raise TensorError(f"{symbol} in {expr} is no dimension and no size of one, of {self.source.title}")
        return found

    # Places -----------------------------------------------------------------------------------------------------------

    def solved(self, places: Sequence[Pair], lengths: Sequence[Pair]) -> Viewed:
        """The view of which these equations hold."""
        index: dict[int, Expr] = {d: dim for d, dim in enumerate(self.source.dims) if dim in self.kept}
        ranges: list[tuple[Expr | Unknown, Expr]] = []
        for left, right in places:
            found, (length, place) = self._solution(left, right)
            for d, expr in found.items():
                if d in index:
                    which = called(self.source.dims[d], self.source.dims)
                    raise TensorError(f"two constraints say where {which} of {self.source.title} is")
                index[d] = expr
            ranges.append((length, place))
        missing = [called(dim, self.source.dims) for d, dim in enumerate(self.source.dims) if d not in index]
        if missing:
            raise TensorError(
                f"no constraint says where {listed(missing)} of {self.source.title} is: write it as an expression of "
                f"[{listed(list(self.sizes))}]"
            )
        return self.made(index, ranges, lengths)

    def _solution(self, left: Expr, right: Expr) -> tuple[dict[int, Expr], tuple[Expr | Unknown, Expr]]:
        """Where dimensions of the source are, by an equation; and an expression that lies within a length."""
        own = [dim for dim in self.source.dims if dim not in self.kept]
        for one, other in ((left, right), (right, left)):
            if one in own and symbols(other).isdisjoint(own):
                d = self.source.dims.index(one)
                return {d: other}, (self.source.sizes[d], other)
        multiples, rest = multiples_of(left - right, own)
        if multiples is None or not multiples:
            raise self._unsolved(left, right)
        if len(multiples) == 1:
            ((dim, factor),) = multiples.items()
            sign = constant_value(factor)
            if sign not in (1, -1):
                raise self._unsolved(left, right)
            d = self.source.dims.index(dim)
            return {d: -sign * rest}, (self.source.sizes[d], -sign * rest)
        return self._digits(multiples, rest, self._unsolved(left, right))

    def _unsolved(self, left: Expr, right: Expr) -> TensorError:
        own = [dim for dim in self.source.dims if dim not in self.kept]
        return TensorError(
            f"the constraint {self._text(left)} == {self._text(right)} cannot be solved for [{listed(own)}] of "
            f"{self.source.title}: write (s.i, s.y + s.k) for one, or (s.f, s.m * sl.size(s.n) + s.n) for several"
        )

    def _text(self, expr: Expr) -> Expr:
        sizes = (*zip(self.source.dims, self.source.sizes, strict=True), *self.sizes.items())
        names: dict[Expr, Expr] = {unknown.symbol: size(dim) for dim, unknown in sizes}
        return substitute(expr, names)

    def _digits(
        self, multiples: Mapping[Variable, Expr], rest: Expr, unsolved: TensorError
    ) -> tuple[dict[int, Expr], tuple[Expr, Expr]]:
        """Several dimensions of the source are the digits of a number, each with a base of its own."""
        ones = [constant_value(factor) for factor in multiples.values()]
        sign = -1 if -1 in ones else 1
        left = {dim: sign * factor for dim, factor in multiples.items()}
        number = -sign * rest
        index: dict[int, Expr] = {}
        base = last = as_expr(1)
        while left:
            dim = next((dim for dim, factor in left.items() if factor is base), None)
            if dim is None:
                numbers = {dim: constant_value(factor) for dim, factor in left.items()}
                if None in numbers.values() or not index:
                    raise unsolved
                dim = min(left, key=lambda each: numbers[each] or 0)
                if (numbers[dim] or 0) <= (constant_value(last) or 0):
                    raise unsolved
                self.say(left[dim], base, "the digits of a flat index")
                base = left[dim]
            last = base
            d = self.source.dims.index(dim)
            own = self.source.sizes[d].symbol
            place = number // maximum(base, 1)
            index[d] = place % maximum(own, 1) if len(left) > 1 else place
            del left[dim]
            base = base * own
        return index, (base, number)

    # Sizes ------------------------------------------------------------------------------------------------------------

    def made(
        self, index: Mapping[int, Expr], ranges: Sequence[tuple[Expr | Unknown, Expr]], lengths: Sequence[Pair]
    ) -> Viewed:
        """The view with these places: each of `ranges` is a length, and what lies within it."""
        node, within = self.node, []
        for pair in lengths:
            self.say(*pair, f"given of {node.title}")
        given = [symbols(left) | symbols(right) for left, right in lengths]
        all_given = frozenset[Expr]().union(*given)
        for length, place in ranges:
            total = length.symbol if isinstance(length, Unknown) else length
            moving = [dim for dim in self.sizes if dim in symbols(place)]
            own = {u.symbol for u in self.source.sizes} & symbols(total)
            views = {self.sizes[dim].symbol for dim in moving}
            is_said = views <= all_given or any(views & pair and own & pair for pair in given)
            if not is_said and moving:
                self._say_as_large_as_can_be(place, total, moving)
            within.append((place, total))
        node.index = tuple(index[d] for d in range(len(self.source.dims)))
        node.within = () if node.outside is not None else tuple(within)
        node.sizes = tuple(self.sizes.values())
        if isinstance(node.outside, Node):
            for dim, unknown in zip(node.dims, node.outside.sizes, strict=True):
                if unknown is not self.sizes[dim]:
                    self.say(self.sizes[dim].symbol, unknown.symbol, f"what is outside of {node.title}")
        node.require(self.equations)
        return node

    def say(self, left: Expr, right: Expr, why: str) -> None:
        """An equation of sizes."""
        if left is not right:
            self.equations.append(Equation(left, right, self._in(left, right), why))

    def _in(self, left: Expr, right: Expr) -> tuple[Unknown, ...]:
        """The unknowns in an equation."""
        found = symbols(left) | symbols(right)
        own = (*self.source.sizes, *self.sizes.values())
        outside = self.node.outside.sizes if isinstance(self.node.outside, Node) else ()
        return tuple(dict.fromkeys(u for u in (*own, *outside) if u.symbol in found))

    def _say_as_large_as_can_be(self, place: Expr, total: Expr, moving: Sequence[Variable]) -> None:
        """That what is viewed ends where the source does."""
        multiples, rest = multiples_of(place, moving)
        last: dict[Expr, Expr] = {dim: self.sizes[dim].symbol - 1 for dim in moving}
        why = f"{self.node.title} reads {self._text(place)}"
        if multiples is None:
            if _is_rising(place, set(moving)):
                self.say(substitute(place, last) + 1, total, why)
            return
        signs = {_sign(factor) for factor in multiples.values()}
        steps = {dim: constant_value(factor) for dim, factor in multiples.items()}
        if signs not in ({1}, {-1}):
            return
        (sign,) = signs
        room = total - 1 - rest if sign > 0 else rest
        if None in steps.values():
            self.say(sign * (substitute(place, last) - rest), room, why)
            return
        lengths = {dim: abs(steps[dim] or 0) for dim in moving}
        longest = max(moving, key=lambda dim: lengths[dim])
        others = sum((lengths[dim] * last[dim] for dim in moving if dim is not longest), start=as_expr(0))
        left, right = self.sizes[longest].symbol, (room - others) // lengths[longest] + 1
        if lengths[longest] == 1:
            self.say(left, right, why)
        else:
            known = tuple((self.sizes[dim].symbol, lengths[dim]) for dim in moving)
            self.equations.append(Fit(left, right, self._in(left, right), why, room, known))


def multiples_of(expr: Expr, dims: Sequence[Variable]) -> tuple[dict[Variable, Expr] | None, Expr]:
    """An expression as multiples of dimensions and the rest, which is free of them; None if it is no such sum."""
    constant, terms = linear(expr)
    found: dict[Variable, Expr] = {}
    rest: Expr = as_expr(constant)
    for atom, factor in terms:
        moving = [dim for dim in dims if dim in symbols(atom)]
        if not moving:
            rest = rest + factor * atom
            continue
        (dim, *more) = moving
        others: tuple[Expr, ...] = ()
        if isinstance(atom, Product) and list(atom.factors).count(dim) == 1:
            others = tuple(each for each in atom.factors if each is not dim)
        elif atom is not dim:
            return None, expr
        if more or any(dim in symbols(each) for each in others):
            return None, expr
        by = others[0] if len(others) == 1 else product(others) if others else as_expr(1)
        found[dim] = found.get(dim, as_expr(0)) + factor * by
    return found, rest


def _sign(factor: Expr) -> int:
    """The sign of a sum of multiples of sizes, of which none is negative; 0 if that is not known."""
    constant, terms = linear(factor)
    numbers = [constant, *(by for _, by in terms)]
    return 1 if all(n >= 0 for n in numbers) else -1 if all(n <= 0 for n in numbers) else 0


def _is_rising(place: Expr, dims: set[Variable]) -> bool:
    """Whether a place never falls where a dimension rises: sums of multiples and quotients by numbers."""
    waiting = [place]
    while waiting:
        for atom, factor in linear(waiting.pop())[1]:
            if symbols(atom).isdisjoint(dims):
                continue
            if factor < 0:
                return False
            if isinstance(atom, FloorDivide) and (constant_value(atom.denominator) or 0) > 0:
                waiting.append(atom.numerator)
            elif not isinstance(atom, Variable):
                return False
    return True
