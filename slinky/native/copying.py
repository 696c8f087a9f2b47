"""Copies that slinky understands as C functions.

Idea. A copy consists of rectangles, which the plan in Python finds for each call anew, or remembers (see
`runtime.copy_pieces`). In C they are found by going along the dimensions of the target, the first one outermost: at
each place of a dimension stands what the next places have in common, as lines of coordinates (see `coordinates`), so a
loop over a dimension has one iteration for each stretch between edges, and inside of all loops stands one rectangle,
which is moved (see `moving`) from the first source that gives it. Where the source alternates from place to place, as
remainders say, places so far apart go together. A coordinate that follows several dimensions is taken
to the sum of what follows each of them, if it has no edges; else all of them but the last are gone along place by
place.

What is moved are bits, of any dtype but objects. Integers are those of the plan, and of 64 bits: of what the copy
computes it is shown that it fits, for coordinates and parameters up to `FURTHEST`.

Invariant: each element of the target gets what the copy says, or the function says that a source does not hold what the
copy takes of it; so does the plan in Python, of the same call.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any, assert_never

import attrs
import numpy as np

from slinky.ir.operations import Boundary, Copy
from slinky.native.coordinates import LINES
from slinky.native.integers import UnprintableError, literal
from slinky.native.kernels import KernelFunction
from slinky.native.moving import text_of_move
from slinky.native.operators import C_TYPES
from slinky.symbolic.expressions import Constant, Expr, FloorDivide, Product, Sum, Variable, linear, linear_sum
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import symbols

FURTHEST = 1 << 34
"""Coordinates and parameters are at most so large, in either direction."""
_MOST = 1 << 61
_MOST_WOVEN = 16
"""Places that are further apart do not go together."""


@attrs.frozen
class Copier:
    """A copy in C: its function, which is called with its sources and the target, their first coordinates, its
    parameters, and, if it `takes_fill`, what fills. Some parameters are `divisors`, which must not be 0."""

    name: str
    function: KernelFunction
    parameters: tuple[str, ...]
    divisors: frozenset[str]
    takes_fill: bool


def copier(copy: Copy, ranks: Sequence[int], dtype: np.dtype[Any], func: str, name: str) -> Copier:
    """The function, of a name, for a copy from sources of these ranks, of what a func is called. Raises
    `UnprintableError` if there is none."""
    if copy.implementation is not None:
        raise UnprintableError(f"{func} is carried out by a function")
    if dtype.hasobject or not dtype.itemsize:
        raise UnprintableError(f"{func} copies {dtype}")
    takes_fill = any(each == "fill" for each, _ in copy.arguments)
    if takes_fill and (dtype not in C_TYPES or not dtype.isnative):
        raise UnprintableError(f"{func} is filled with a number that is {dtype}")
    parameters = tuple(each for each, _ in copy.arguments if each != "fill")
    printer = _Printer(copy, ranks, dtype, parameters, takes_fill)
    text = printer.function(name)
    function = KernelFunction((LINES + text_of_move(dtype.itemsize),), text, printer.said(func))
    return Copier(name, function, parameters, frozenset(printer.divisors), takes_fill)


@attrs.frozen
class _Part:
    """Part of a coordinate: the line that says it, and in which dimension that is found (-1: in none)."""

    line: str
    dim: int


@attrs.frozen
class _From:
    """A source: its number, the parts of its coordinates, and what says whether it gives elements."""

    number: int
    parts: tuple[tuple[_Part, ...], ...]
    conditions: tuple[str, ...]


class _Printer:
    """Prints one copy. `ranks` are those of its sources."""

    def __init__(
        self, copy: Copy, ranks: Sequence[int], dtype: np.dtype[Any], parameters: Sequence[str], takes_fill: bool
    ) -> None:
        rank = len(copy.dims)
        self._copy = copy
        self._ranks = ranks
        self._dtype = dtype
        self._numbers = {name: f"p{n}" for n, name in enumerate(parameters)}
        self._takes_fill = takes_fill
        self._found: list[list[str]] = [[] for _ in range(rank + 1)]  # the lines in each dimension; the last: before
        self._lines: list[list[str]] = [[] for _ in range(rank + 1)]  # the lines of coordinates that are found there
        self._single: set[int] = set()  # dimensions that are gone along place by place
        self._stretched: set[int] = set()  # dimensions of which there may be several stretches at once
        self._woven: dict[int, int] = {}  # how far the places of a dimension are apart that go together
        self._count = 0
        self.divisors: set[str] = set()

    def function(self, name: str) -> str:
        """The function."""
        rank = len(self._copy.dims)
        sources = [self._source(number) for number in range(len(self._copy.sources))]
        body = [f"    {line}" for line in self._found[rank]]
        for d in range(rank):
            body += ["    " * (d + 1) + line for line in self._along(d)]
        body += ["    " * (rank + 1) + line for line in self._moved(sources)]
        body += ["    " * d + "}" for d in reversed(range(1, rank + 1))]
        arrays = [f"const array *from{number}" for number in range(len(self._ranks))]
        minima = [f"from{number}_{j}" for number, own in enumerate(self._ranks) for j in range(own)]
        numbers = [*minima, *(f"to_{d}" for d in range(rank)), *self._numbers.values()]
        fill = [f"{C_TYPES[self._dtype]} fill"] if self._takes_fill else []
        used = set(re.findall(r"\w+", "\n".join(body)))
        taken = [each.split("*")[-1].split()[-1] for each in (*arrays, *numbers, *fill)]
        body = [*(f"    (void){each};" for each in taken if each not in used), *body, "    return 0;"]
        given = ", ".join([*arrays, "const array *to", *(f"int64_t {each}" for each in numbers), *fill])
        return "\n".join([f"static int {name}({given})", "{", *body, "}", ""])

    def said(self, func: str) -> str:
        """What the function does, as a comment for those who read it."""
        dims = ", ".join(map(str, self._copy.dims))
        each = [f"from{n}[{', '.join(map(str, source.index))}]" for n, source in enumerate(self._copy.sources)]
        names = "".join(f", {text} is {name}" for name, text in self._numbers.items())
        said = f"{func}: to[{dims}] = {' or '.join(each)}{names}; 1 where a source does not hold that, else 0."
        lines = textwrap.wrap(said.replace("*/", "* /"), 112, initial_indent="/* ", subsequent_indent="   ")
        return "\n".join(lines) + " */\n"

    def _along(self, d: int) -> list[str]:
        """The head of the loop over a dimension, and what is found in it."""
        step, left = self._step(d), f"to->extents[{d}] - i{d}"
        count = "1" if d in self._single else left if step == 1 else f"({left} + {step - 1}) / {step}"
        heads = [f"for (int64_t i{d} = 0, n{d}; i{d} < to->extents[{d}]; i{d} += n{d}) {{"]
        if step > 1:
            heads = [f"for (int64_t w{d} = 0; w{d} < {step}; w{d}++)", heads[0].replace("= 0,", f"= w{d},", 1)]
        found = list(self._found[d])
        if any(re.search(rf"\bd{d}\b", line) for lines in self._found for line in lines):
            found.insert(0, f"const slinky_line d{d} = slinky_places(to_{d} + i{d}, {step}, {count});")
        shape = f"{{{count}, 1}}"
        for number, line in enumerate(self._lines[d]):
            if not number:
                shape = f"{{{line}.run, {line}.stretches}}"
            else:
                shape = f"slinky_met({f'(slinky_shape){shape}' if number == 1 else shape}, {line})"
        found.append(f"const slinky_shape s{d} = {shape};")
        found.append(f"n{d} = s{d}.run * s{d}.stretches{f' * {step}' if step > 1 else ''};")
        return [*heads, *("    " + line for line in found)]

    def _step(self, d: int) -> int:
        """How far the places of a dimension are apart that go together."""
        return 1 if d in self._single else self._woven.get(d, 1)

    # Coordinates --------------------------------------------------------------------------------------------------

    def _source(self, number: int) -> _From:
        """What is found of a source."""
        source = self._copy.sources[number]
        conditions: dict[str, None] = {}
        parts: list[tuple[_Part, ...]] = []
        for e, edges, boundary in zip(source.index, source.edges, source.boundaries, strict=True):
            if edges is None:
                parts.append(self._sum(e))
                continue
            part, condition = self._limited(e, edges, boundary)
            parts.append((part,))
            conditions[condition] = None
        for e, i in source.where:
            conditions[self._limited(e, i, None)[1]] = None
        return _From(number, tuple(parts), tuple(conditions))

    def _sum(self, e: Expr) -> tuple[_Part, ...]:
        """The parts of a coordinate without edges: what follows each dimension by itself; what follows several; and
        what follows none."""
        self._bounded(e)
        constant, terms = linear(e)
        groups: dict[frozenset[int], list[tuple[Expr, int]]] = {}
        for atom, factor in terms:
            groups.setdefault(self._dims_of(atom), []).append((atom, factor))
        fixed = groups.pop(frozenset(), [])
        found = [self._part(linear_sum(0, own), "{}") for own in groups.values()]
        if fixed or constant or not found:
            found.append(self._part(linear_sum(constant, fixed), "{}"))
        return tuple(found)

    def _limited(self, e: Expr, edges: Interval, boundary: Boundary | None) -> tuple[_Part, str]:
        """The line of what has edges, and the condition for that the source gives elements there."""
        self._bounded(e)
        lo, hi = self._number(edges.min), self._number(edges.max)
        if boundary is None:
            self._weave(e)
            condition = f"is{self._count}"
            return self._part(e, f"slinky_within({{}}, {lo}, {hi}, &{condition})", f"int {condition};"), condition
        match boundary:
            case Boundary.NEAREST:
                extended = f"slinky_nearest_line({{}}, {lo}, {hi})"
            case Boundary.WRAP:
                extended = f"slinky_wrapped_line({{}}, {lo}, {hi})"
            case Boundary.REFLECT:
                extended = f"slinky_turned_line({{}}, {lo}, {hi}, {hi} - {lo} + 1)"
            case Boundary.MIRROR:
                extended = f"slinky_turned_line({{}}, {lo}, {hi}, {hi} - {lo})"
            case _:
                assert_never(boundary)
        return self._part(e, extended), f"{lo} <= {hi}"

    def _weave(self, e: Expr) -> None:
        """Have places go together for which an expression with remainders in it grows evenly."""
        match e:
            case Sum(terms=terms):
                for atom, _ in terms:
                    self._weave(atom)
            case Product(factors=factors):
                for factor in factors:
                    self._weave(factor)
            case FloorDivide(numerator=numerator, denominator=Constant(value=divisor)):
                self._weave(numerator)
                for d in self._dims_of(numerator):
                    step = math.lcm(self._woven.get(d, 1), divisor)
                    if 0 < step <= _MOST_WOVEN:
                        self._woven[d] = step

    def _part(self, e: Expr, form: str, *before: str) -> _Part:
        """A line: of an expression, put into a form."""
        dims = self._dims_of(e)
        dim = max(dims, default=-1)
        self._single |= dims - {dim}
        text, is_line = self._text(e, dim)
        text = form.format(text if is_line else f"slinky_same({text}, 1)")
        name = f"c{self._count}"
        self._count += 1
        self._found[dim] += [*before, f"const slinky_line {name} = {text};"]
        self._lines[dim].append(name)
        if "slinky_divided" in text or "slinky_wrapped_line" in text:
            self._stretched.add(dim)
        return _Part(name, dim)

    def _dims_of(self, e: Expr) -> frozenset[int]:
        own = symbols(e)
        return frozenset(d for d, dim in enumerate(self._copy.dims) if dim in own)

    def _text(self, e: Expr, dim: int) -> tuple[str, bool]:
        """An expression, as a line along a dimension; or as a number, as which it says False."""
        match e:
            case Variable() if e in self._copy.dims:
                d = self._copy.dims.index(e)
                return (f"d{d}", True) if d == dim else (f"d{d}.value", False)
            case Sum(constant=constant, terms=terms):
                return self._sum_text([(*self._text(atom, dim), factor) for atom, factor in terms], constant)
            case Product(factors=factors):
                each = [self._text(factor, dim) for factor in factors]
                product = " * ".join(text for text, is_line in each if not is_line)
                moving = [text for text, is_line in each if is_line]
                return (f"slinky_times({moving[0]}, {product})", True) if moving else (f"({product})", False)
            case FloorDivide(numerator=numerator, denominator=denominator):
                if isinstance(denominator, Variable):
                    self.divisors.add(denominator.name)
                text, is_line = self._text(numerator, dim)
                return f"slinky_{'divided' if is_line else 'quotient'}({text}, {self._number(denominator)})", is_line
        return self._number(e), False

    @staticmethod
    def _sum_text(terms: Sequence[tuple[str, bool, int]], constant: int) -> tuple[str, bool]:
        """A sum of lines and numbers."""
        moving = [text if c == 1 else f"slinky_times({text}, {literal(c).text})" for text, line, c in terms if line]
        numbers = [text if c == 1 else f"{literal(c).atom} * {text}" for text, line, c in terms if not line]
        fixed = " + ".join([*numbers, *([literal(constant).atom] if constant else [])])
        if not moving:
            return f"({fixed})", False
        total = moving[0]
        for text in moving[1:]:
            total = f"slinky_plus({total}, {text})"
        return (f"slinky_moved({total}, {fixed})" if fixed else total), True

    def _number(self, e: Expr) -> str:
        """What is known before the copy, in C."""
        if isinstance(e, Constant):
            self._bounded(e)
            return literal(e.value).atom
        assert isinstance(e, Variable)  # or the graph would have made a parameter of it
        return self._numbers[e.name]

    def _bounded(self, e: Expr) -> int:
        """How large an expression is at most, in either direction. What is computed on the way is not much larger."""
        match e:
            case Constant(value=value):
                most = abs(value)
            case Variable():
                most = FURTHEST
            case Sum(constant=constant, terms=terms):
                most = abs(constant) + sum(abs(factor) * self._bounded(atom) for atom, factor in terms)
            case Product(factors=(Variable() as a, FloorDivide(numerator=b, denominator=c))) if a is c:
                most = self._bounded(b) + FURTHEST  # what a remainder is taken from
            case Product(factors=(FloorDivide(numerator=b, denominator=c), Variable() as a)) if a is c:
                most = self._bounded(b) + FURTHEST
            case Product(factors=factors):
                most = math.prod(map(self._bounded, factors))
            case FloorDivide(numerator=numerator):
                most = self._bounded(numerator)
            case _:
                raise AssertionError(f"{e} is no index of a copy")
        if most >= _MOST:
            raise UnprintableError(f"{e} may be too large")
        return most

    # Rectangles ---------------------------------------------------------------------------------------------------

    def _moved(self, sources: Sequence[_From]) -> list[str]:
        """The lines that move a rectangle, from the first source that gives it."""
        steps = [f"i{d} * to->strides[{d}]" for d in range(len(self._copy.dims))]
        found = [f"char *const place = {' + '.join(['to->data', *steps])};"]
        branches: list[tuple[str, list[str]]] = []
        for source in sources:
            branches.append((" && ".join(source.conditions), self._moved_from(source)))
            if not source.conditions:
                break  # nobody asks the others
        else:
            branches.append(("", self._filled()))
        if len(branches) == 1:
            return [*found, *branches[0][1]]
        for number, (condition, lines) in enumerate(branches):
            asked = f"if ({condition}) {{" if condition else "{"
            found += ["} else " * (number > 0) + asked, *("    " + line for line in lines)]
        return [*found, "}"]

    def _moved_from(self, source: _From) -> list[str]:
        """The lines that move it from a source."""
        at = f"from{source.number}"
        found: list[str] = []
        leaps: dict[int, list[str]] = {}
        slopes: dict[int, list[str]] = {}
        for j, parts in enumerate(source.parts):
            values = " + ".join(f"{part.line}.value" for part in parts)
            found.append(f"const int64_t f{j} = {values} - {at}_{j};")
            moving = [part for part in parts if part.dim >= 0 and part.dim not in self._single]
            fall, rise = ("".join(f" + slinky_{w}({p.line}, s{p.dim})" for p in moving) for w in ("fall", "rise"))
            found.append(f"if (f{j}{fall} < 0 || f{j}{rise} >= {at}->extents[{j}]) return 1;")
            for part in moving:
                step = f"{at}->strides[{j}]"
                leaps.setdefault(part.dim, []).append(f"slinky_leap({part.line}, s{part.dim}) * {step}")
                slopes.setdefault(part.dim, []).append(f"{part.line}.slope * {step}")
        sides: list[str] = []
        for d in range(len(self._copy.dims)):
            apart = self._apart(d)
            if d in self._stretched:
                sides.append(f"{{s{d}.stretches, s{d}.run * {apart}, {' + '.join(leaps.get(d, ['0']))}}}")
            if d not in self._single:
                sides.append(f"{{s{d}.run, {apart}, {' + '.join(slopes.get(d, ['0']))}}}")
        first = " + ".join([f"{at}->data", *(f"f{j} * {at}->strides[{j}]" for j in range(len(source.parts)))])
        return [*found, *self._move(first, sides)]

    def _apart(self, d: int) -> str:
        """How many bytes places of the target are apart that go together."""
        step = self._step(d)
        return f"{step} * to->strides[{d}]" if step > 1 else f"to->strides[{d}]"

    def _filled(self) -> list[str]:
        """The lines that fill it."""
        dims = range(len(self._copy.dims))
        sides = [f"{{s{d}.run * s{d}.stretches, {self._apart(d)}, 0}}" for d in dims]
        if self._takes_fill:
            return self._move("(const char *)&fill", sides)
        element = np.zeros((), self._dtype)  # without a fill nobody will read it
        if self._copy.fill is not None:
            element[...] = self._copy.fill
        numbers = ", ".join(map(str, element.tobytes()))
        return [f"static const unsigned char fill[] = {{{numbers}}};", *self._move("(const char *)fill", sides)]

    def _move(self, first: str, sides: Sequence[str]) -> list[str]:
        """The lines that move elements from this one on."""
        name = f"slinky_move{self._dtype.itemsize}"
        if not sides:
            return [f"{name}(place, {first}, 0, 0);"]
        listed = [f"    {side}," for side in sides]
        return ["slinky_side sides[] = {", *listed, "};", f"{name}(place, {first}, sides, {len(sides)});"]
