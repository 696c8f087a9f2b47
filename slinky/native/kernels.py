"""The text of a C function for a formula: loops over its elements, in which each step is a line.

Idea. A formula says all that there is to know: dtypes, steps in an order in which they can be computed, and how each
input moves with the dimensions. So the text is one pass over its steps (`elements`), inside a nest of loops over the
output. Arrays are given as NumPy has them, with their strides. Dimensions that follow each other in memory in all
arrays become one loop, and where the innermost loop goes element by element through all of them, it is one that
compilers turn into vector instructions; else elements are gathered for it (`turning`).

A ufunc that has a function over strips (`functions`) is no line but a call, between loops over a strip.

Invariant: a formula of which a step has no line is no kernel (`kernel_text` returns None). Loops go over each element
once, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache

import attrs

from slinky.ir.formulas import (
    Element,
    Formula,
    Operand,
    Result,
)
from slinky.native import converting, lanes, streaming, turning
from slinky.native.ahead import declared
from slinky.native.ahead import texts_in as ahead_in
from slinky.native.comparing import comparisons_in
from slinky.native.dividing import RAISED, texts_in
from slinky.native.elements import Elements, Place, is_known, name_of
from slinky.native.functions import function_of_step, texts_of
from slinky.native.operators import (
    UnknownError,
    cast_text,
    constant_text,
    element_text,
    is_product_of_single,
    type_of,
)
from slinky.native.parts import live_steps
from slinky.native.strips import MOST_STRIPS, STRIP, Strips
from slinky.native.unused import without_unused

NAME = "slinky_kernel"
"""What the C function is called."""
MISALIGNED = -1
"""What it returns, having done nothing, for arrays of which elements are not where their dtype wants them."""

SIMD_LENGTHS = (2, 4, 8, 16, 32)
"""Lengths of vectors: a loop of so many elements is asked to be one."""

_EXCEPTIONS = {"divide": "FE_DIVBYZERO", "over": "FE_OVERFLOW", "under": "FE_UNDERFLOW", "invalid": "FE_INVALID"}
"""What C calls the floating-point errors of `np.errstate`."""
OCCURRED = f"fetestexcept({' | '.join(_EXCEPTIONS.values())})"
"""What tells which exceptions of floating point arithmetic there were."""

HEAD = """\
#include <fenv.h>
#include <math.h>
#include <stdint.h>

/* An array as NumPy keeps it. */
typedef struct { intptr_t references; void *type; char *data; int rank; intptr_t *extents; intptr_t *strides; } array;
"""
"""What every file begins with: headers, and how arrays are laid out."""


def kernel_text(formula: Formula, results: Sequence[Result] = ()) -> str | None:
    """The C function of a formula; None if it is not known to give what NumPy gives.

    It takes pointers to the arrays of the inputs and of the output (of several, if these `results` are wanted instead
    of the formula's own); the coordinates of the first element, where the formula asks for coordinates; and the
    arguments by their names in order, each of its dtype. It returns which of the exceptions of floating point
    arithmetic occurred, as `fenv.h` has them, or -1 (see `MISALIGNED`).
    """
    try:
        return _Kernel(formula, results or (formula.result,)).text()
    except UnknownError:
        return None


_NOT_INLINED = """\
#ifndef NOT_INLINED
#ifdef __GNUC__
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED
#endif
#endif
"""


@attrs.frozen
class KernelFunction:
    """A function of other C code, or lines of one; the functions that these call, to stand before, which may be there
    already; and further ones that nobody else calls. One that is only for arrays of which elements follow each other
    along the innermost dimension may give a `general` one, of the same name."""

    called: tuple[str, ...]
    text: str
    own: str = ""
    general: Callable[[], KernelFunction] | None = None


def kernel_function(
    formula: Formula,
    name: str,
    results: Sequence[Result] = (),
    *,
    streams: bool = False,
    ahead: Sequence[int] = (),
    spread: str = "",
) -> KernelFunction | None:
    """The same as a function for other C code, of arrays that have elements, each where its dtype wants it; outputs of
    the same extents; a single one may be such that it `streams` (`streaming`), and inputs such that memory `ahead` is
    asked for. It is for arrays of which elements follow each other along the innermost dimension, if they move with
    that; in the general one, others take a function of their own, whose name may be given, as it is the same for all
    functions of these results.

    It returns nothing, and leaves the exceptions of floating point arithmetic to who calls it.
    """
    try:
        kernel = _Kernel(formula, results or (formula.result,), streams=streams, ahead=ahead)
        return kernel.function(name, spread or f"{name}_spread")
    except UnknownError:
        return None


@lru_cache(maxsize=4096)
def has_function(formula: Formula) -> bool:
    """Whether there is such a function of a formula."""
    try:
        _Kernel(formula, (formula.result,)).require_text()
    except UnknownError:
        return False
    return True


def dense_function(
    formula: Formula, name: str, results: Sequence[Result], *, streams: bool = False, ahead: Sequence[int] = ()
) -> KernelFunction | None:
    """The same of arrays of which elements follow each other along the last dimension, if they move with that; if the
    first output is such that it `streams`, all are, and of one dtype."""
    try:
        return _Kernel(formula, results, streams=streams, ahead=ahead).dense_function(name)
    except UnknownError:
        return None


def inlined(formula: Formula, extents: Sequence[int], dense: Collection[int]) -> KernelFunction | None:
    """Lines that compute a formula of so many elements; None if there are none that may stand among others.

    They use the arrays `slinky_0`, `slinky_1`, ..., of the inputs and then the output; the numbers `slinky_k0`, ..., in
    the order of `argument_types`; and the coordinates `slinky_first0`, ..., if the formula asks for them. Of the arrays
    that are `dense`, by number, elements follow each other along the last dimension.
    """
    try:
        return _Kernel(formula, (formula.result,)).inlined(extents, dense)
    except UnknownError:
        return None


@lru_cache(maxsize=4096)
def is_exact(formula: Formula) -> bool:
    """Whether C computes all of a formula, to the bits that NumPy gives."""
    steps = [formula.steps[number] for number in live_steps(formula)]
    functions = map(function_of_step, steps)
    if any(map(is_product_of_single, steps)) or not all(each is None or each.is_exact for each in functions):
        return False
    return has_function(formula)


def is_in_c(formula: Formula) -> bool:
    """Whether C computes all of a formula as NumPy does."""
    return all(is_known(formula, number) for number in live_steps(formula))


class Rows(Enum):
    """Which arrays loops are for: those of which elements follow each other along the innermost dimension, others, for
    which dimensions are put in order before, or any."""

    ANY = auto()
    DENSE = auto()
    SPREAD = auto()


class _Kernel(Elements):
    """A formula on its way to C: loops over its elements."""

    def __init__(
        self, formula: Formula, results: Sequence[Operand], *, streams: bool = False, ahead: Sequence[int] = ()
    ) -> None:
        super().__init__(formula, results)
        self.streams = streams
        self.ahead = [f"a{k}" for k in ahead]

    def text(self) -> str:
        """The whole file."""
        empty = f"if ({' || '.join(f'n{d} == 0' for d in range(self.rank))}) return 0;"
        lines = [*self._extents(), empty, *self._places(), *self._alignment(), *self._turning(), *self._merging()]
        lines += ["feclearexcept(FE_ALL_EXCEPT);", *self._nest(Rows.ANY), f"return {OCCURRED};"]
        body = "\n".join(f"    {line}" for line in lines)
        own = "".join(f"\n{text}" for text in self._called(body))
        return f"{HEAD}{own}\nint {NAME}({', '.join(self._parameters())})\n{{\n{body}\n}}\n"

    def require_text(self) -> None:
        """Raises `UnknownError` if there is no text of a line."""
        _ = list(self._loop(set(self.names)))

    def function(self, name: str, spread: str) -> KernelFunction:
        """A function for other C code; the general one calls another one for arrays that are `spread`."""
        unasked = set(range(self.formula.rank)) - self.formula.asked_dims()
        quiet = [f"(void)first{d};" for d in sorted(unasked) if self.formula.has_coordinates()]
        places = [*quiet, *self._extents(), *self._places()]
        loops = [*self._merging(), *self._nest(Rows.DENSE)]
        text = self._as_function(f"static void {name}", [*places, *loops])

        def general() -> KernelFunction:
            given = ", ".join(each.rpartition(" ")[2].lstrip("*") for each in self._parameters())
            asked = [f"if ({self._is_spread()}) {{", f"    {spread}({given});", "    return;", "}"]
            both = self._as_function(f"static void {name}", [*places, *asked, *loops])
            own = [*places, *self._turning(), *self._merging(), *self._nest(Rows.SPREAD)]
            other = self._as_function(f"NOT_INLINED static void {spread}", own)
            return KernelFunction((_NOT_INLINED, *self._called(other + both), other), both)

        return KernelFunction((_NOT_INLINED, *self._called(text)), text, general=general)

    def dense_function(self, name: str) -> KernelFunction:
        """The same of dense arrays alone."""
        lines = [*self._extents(), *self._places(), *self._merging(), *self._nest(Rows.DENSE)]
        text = self._as_function(f"static void {name}", lines)
        return KernelFunction((_NOT_INLINED, *self._called(text)), text)

    def _as_function(self, head: str, lines: Sequence[str]) -> str:
        body = "\n".join(f"    {line}" for line in without_unused(lines))
        return f"{head}({', '.join(self._parameters())})\n{{\n{body}\n}}\n"

    def _is_spread(self) -> str:
        """Whether elements do not follow each other along the innermost dimension, or only a few do, where another one
        may take its place. That is done by a function of its own: with room for what is gathered, the usual one was not
        put into the loops that call it."""
        inner = self.rank - 1
        if not self._may_go_by_tiles:
            return f"!({self._is_dense()})"
        follow = [f"s_{name}_{inner - 1} == s_{name}_{inner} * n{inner}" for name in self.names]
        return f"!({self._is_dense()}) || (n{inner} < {turning.SHORT} && !({' && '.join(follow)}))"

    def inlined(self, extents: Sequence[int], dense: Collection[int]) -> KernelFunction | None:
        """Lines for so many elements, in loops of which compilers know how long they are."""
        if self.functions or self.formula.ignored:
            return None
        counts = tuple(extents) or (1,)
        inner = self.rank - 1
        is_alone = counts[inner] == 1
        moving = {name for k, name in enumerate(self.names) if inner in self._axes(k) and not is_alone}
        place = Place("0" if is_alone else "i", is_alone, frozenset(self.names[k] for k in dense))
        lines = [f"const {type_of(dtype)} {name} = slinky_{name};" for (_, dtype), name in self.arguments.items()]
        around = [d for d in range(inner) if counts[d] > 1]
        if self.formula.has_coordinates():
            lines += [f"const int64_t first{d} = slinky_first{d};" for d in range(self.formula.rank)]
            lines += [f"const intptr_t i{d} = 0;" for d in range(inner) if d not in around]
        for k, name in enumerate(self.names):
            axes = self._axes(k)
            from_end = [f"{(counts[d] - 1) * -s} * slinky_{k}.strides[{a}]" for d, (a, s) in axes.items() if s < 0]
            lines.append(f"char *p_{name} = {' + '.join([f'slinky_{k}.data', *from_end])};")
            for d in [*around, *([] if is_alone else [inner])]:
                axis, step = axes.get(d, (0, 0))
                stride = f"{step} * slinky_{k}.strides[{axis}]" if step not in (0, 1) else f"slinky_{k}.strides[{axis}]"
                lines.append(f"const intptr_t s_{name}_{d} = {stride if step else 0};")
        for depth, d in enumerate(around):
            lines.append(f"{'    ' * depth}for (intptr_t i{d} = 0; i{d} < {counts[d]}; i{d}++) {{")
        body: list[str] = []
        for k, name in enumerate(self.names):
            of = type_of(self.dtype(k))
            body.append(f"char *r_{name} = {' + '.join([f'p_{name}', *(f'i{d} * s_{name}_{d}' for d in around)])};")
            is_output = name in self.outputs
            if not is_output and name not in moving:
                body.append(f"const {of} {name}_ = {element_text(f'*(const {of} *)r_{name}', self.dtype(k))};")
            elif place.is_dense or name in place.dense:
                body.append(f"{of} *v_{name} = ({of} *)r_{name};")
        steps = [*self.steps(self.live, moving, place, self.results), *self.stores(place)]
        if is_alone:
            body += steps
        else:
            vectors = [f"slinky_vectors({counts[inner]})"] if counts[inner] in SIMD_LENGTHS else []
            body += [*(vectors or ["#pragma GCC ivdep"]), f"for (intptr_t i = 0; i < {counts[inner]}; i++) {{"]
            body += [*(f"    {line}" for line in steps), "}"]
        lines += [f"{'    ' * len(around)}{line}" for line in body]
        lines += [f"{'    ' * depth}}}" for depth in reversed(range(len(around)))]
        text = "\n".join(without_unused(lines))
        return None if RAISED in text else KernelFunction(tuple(self._called(text)), text)

    def _called(self, body: str) -> list[str]:
        return [
            *turning.texts_in(body),
            *lanes.texts_in(body),
            *ahead_in(body),
            *texts_of(self.functions.values()),
            *texts_in(body),
            *comparisons_in(body),
        ]

    def _parameters(self) -> list[str]:
        parameters = [f"const array *{name}" for name in self.names]
        if self.formula.has_coordinates():
            parameters += [f"int64_t first{d}" for d in range(self.formula.rank)]
        return parameters + [f"{type_of(dtype)} {name}" for (_, dtype), name in self.arguments.items()]

    # Around the loops ---------------------------------------------------------------------------------------------

    def _axes(self, k: int) -> dict[int, tuple[int, int]]:
        """Of an input or output: by dimension, the axis that moves with it, and its step."""
        if k >= len(self.inputs):
            return {d: (d, 1) for d in range(self.formula.rank)}
        return {
            axis.dim: (position, axis.step) for position, axis in enumerate(self.formula.inputs[k]) if axis is not None
        }

    def _extents(self) -> Iterator[str]:
        for d in range(self.rank):
            yield f"intptr_t n{d} = {f'o->extents[{d}]' if d < self.formula.rank else 1};"

    def _places(self) -> Iterator[str]:
        """Where each array begins, and how far it goes along each dimension."""
        for k, name in enumerate(self.names):
            axes = self._axes(k)
            backwards = [f"({name}->extents[{a}] - 1) * {name}->strides[{a}]" for a, step in axes.values() if step < 0]
            yield f"char *p_{name} = {' + '.join([f'{name}->data', *backwards])};"
            for d in range(self.rank):
                axis, step = axes.get(d, (0, 0))
                stride = f"{step} * {name}->strides[{axis}]" if step not in (0, 1) else f"{name}->strides[{axis}]"
                yield f"intptr_t s_{name}_{d} = {stride if step else 0};"

    def _alignment(self) -> Iterator[str]:
        for k, name in enumerate(self.names):
            size = self.dtype(k).itemsize
            if size > 1:
                strides = "".join(f" | (uintptr_t)s_{name}_{d}" for d in range(self.rank))
                yield f"if (((uintptr_t)p_{name}{strides}) % {size}) return {MISALIGNED};"

    def _turning(self) -> Iterator[str]:
        """The dimensions in the order in which elements lie in memory, unless somebody asks where an element is."""
        if self._may_go_by_tiles:
            moving = [len(self._axes(k)) for k in range(len(self.names))]
            yield from turning.turning(self.rank, self.names, may_turn=set(moving) <= {0, self.rank})

    @property
    def _may_go_by_tiles(self) -> bool:
        """Whether loops over the last two dimensions may go tile by tile."""
        return (
            self.rank > 1
            and not self.formula.asked_dims()
            and any(len(self._axes(k)) > 1 for k in range(len(self.inputs)))
        )

    def _merging(self) -> Iterator[str]:
        """A dimension along which every array goes on where a row of the next one ends is one with that."""
        asked = self.formula.asked_dims()
        for d in reversed(range(self.rank - 1)):
            if asked & set(range(d, self.rank)):
                return
            follows = [f"s_{name}_{d} == s_{name}_{self.rank - 1} * n{self.rank - 1}" for name in self.names]
            before = [f"n{e} == 1" for e in range(d + 1, self.rank - 1)]
            yield f"if ({' && '.join([*before, *follows])}) {{ n{self.rank - 1} *= n{d}; n{d} = 1; }}"

    # Loops --------------------------------------------------------------------------------------------------------

    def _nest(self, rows: Rows) -> Iterator[str]:
        """The loops over arrays of such rows; where elements follow each other in all, they are as fast as they can be,
        but in a function that is there for the others."""
        inner = self.rank - 1
        moving = [k for k in range(len(self.names)) if inner in self._axes(k)]
        loop = dense = list(self._loop({self.names[k] for k in moving}))
        notes = any(f"&{RAISED})" in line for line in loop)
        if rows is Rows.DENSE and self.streams and not notes and self._may_stream():
            dense = list(self._loop({self.names[k] for k in moving}, streams=True))
        elif rows is not Rows.SPREAD and not notes and not self.functions and self._goes_by_lanes(moving):
            dense = list(self._loop({self.names[k] for k in moving}, by_lanes=True))
        if notes:
            yield f"int {RAISED} = 0;"
        for number, each in self.clipped.items():
            of, bounds = type_of(each.dtype), [constant_text(bound.value) for bound in (each.low, each.high)]
            yield f"const volatile {of} bounds{number}[2] = {{{', '.join(bounds)}}};"
            yield f"const {of} low{number} = bounds{number}[0], high{number} = bounds{number}[1];"
        errors = " | ".join(_EXCEPTIONS[error] for error in self.formula.ignored)
        if errors:
            yield f"const int noted = fetestexcept({errors});"
        if dense is not loop:  # plain loops ask for nothing
            yield from declared(self.ahead)
        yield f"if ({self._is_dense()}) {{" if rows is Rows.ANY else "{"
        if rows is not Rows.SPREAD:
            yield from (f"    {line}" for line in self._dense(dense))
        if rows is Rows.ANY:
            yield "} else {"
        if rows is not Rows.DENSE:
            most = f"{self._is_dense()} ? n{inner} : {turning.COLUMNS}" if rows is Rows.SPREAD else str(turning.COLUMNS)
            yield from (f"    {line}" for line in self._gathered(loop, moving, most))
        yield "}"
        if notes:
            yield f"if ({RAISED}) feraiseexcept({RAISED});"
        if errors:
            yield f"const int more = fetestexcept({errors}) & ~noted;"
            yield "if (more) feclearexcept(more);"

    def _is_dense(self) -> str:
        inner = self.rank - 1
        moving = [k for k in range(len(self.names)) if inner in self._axes(k)]
        return " && ".join(f"s_{self.names[k]}_{inner} == {self.dtype(k).itemsize}" for k in moving) or "1"

    def _dense(self, loop: Sequence[str]) -> Iterator[str]:
        """The nest where elements follow each other along the innermost dimension."""
        inner = self.rank - 1
        if inner in self.formula.asked_dims():
            yield "const intptr_t first = 0;"
        yield f"const intptr_t n = n{inner};"
        yield from self._around([f"for (intptr_t i{d} = 0; i{d} < n{d}; i{d}++) {{" for d in range(inner)], loop)

    def _gathered(self, loop: Sequence[str], moving: Sequence[int], most: str) -> Iterator[str]:
        """The nest where some do not: these are gathered before, so many columns of a row at a time at most, or
        scattered afterwards."""
        *others, inner = range(self.rank)
        tiled = others.pop() if self._may_go_by_tiles else None
        around = [f"for (intptr_t i{d} = 0; i{d} < n{d}; i{d}++) {{" for d in others]
        around += [f"for (intptr_t start = 0; start < n{tiled}; start += rows) {{"] if tiled is not None else []
        around += [f"for (intptr_t first = 0; first < n{inner}; first += columns) {{"]
        end = f"({_least('start + rows', f'n{tiled}')})"
        around += [f"for (intptr_t i{tiled} = start; i{tiled} < {end}; i{tiled}++) {{"] if tiled is not None else []
        size = max(self.dtype(k).itemsize for k in range(len(self.names)))
        yield from turning.tiles(self.rank, self.names, size, most, is_turned=tiled is not None)
        buffers, before, after = [], [], []
        for k in moving:
            name, of, size = self.names[k], type_of(self.dtype(k)), self.dtype(k).itemsize
            stride = f"s_{name}_{inner}"
            buffers.append(f"_Alignas(64) {of} b_{name}[{turning.COLUMNS}];")
            if name in self.outputs:
                before.append(f"char *q_{name} = r_{name};")
                after.append(f"if ({stride} != {size}) slinky_scatter_{of}(q_{name}, {stride}, b_{name}, n);")
            else:
                before.append(f"if ({stride} != {size}) slinky_gather_{of}(b_{name}, r_{name}, {stride}, n);")
            before.append(f"if ({stride} != {size}) r_{name} = (char *)b_{name};")
        yield from buffers
        count = f"const intptr_t n = {_least('columns', f'n{inner} - first')};"
        yield from self._around(around, [*before, *loop, *after], [count])

    def _around(self, around: Sequence[str], loop: Sequence[str], before: Sequence[str] = ()) -> Iterator[str]:
        """Loops around lines that go along the innermost dimension."""
        inner = self.rank - 1
        yield from (f"{'    ' * depth}{line}" for depth, line in enumerate(around))
        lines = list(before)
        for name in self.names:
            terms = [f"p_{name}", *(f"i{d} * s_{name}_{d}" for d in range(inner))]
            terms += [f"first * s_{name}_{inner}"] if before else []
            lines.append(f"char *r_{name} = {' + '.join(terms)};")
        yield from (f"{'    ' * len(around)}{line}" for line in [*lines, *loop])
        yield from (f"{'    ' * depth}}}" for depth in reversed(range(len(around))))

    def _loop(self, moving: set[str], *, streams: bool = False, by_lanes: bool = False) -> Iterator[str]:
        """What is done along the innermost dimension: one loop, or a strip at a time, if functions take strips, or line
        by line of a result that may be one that `streams`, or over lanes."""
        for k, name in enumerate(self.names):
            of = type_of(self.dtype(k))
            if name in self.outputs:
                yield f"{of} *v_{name} = ({of} *)r_{name};"
            elif name in moving:
                yield f"const {of} *v_{name} = (const {of} *)r_{name};"
            else:
                yield f"const {of} {name}_ = {element_text(f'*(const {of} *)r_{name}', self.dtype(k))};"
        if self.functions:
            yield from self._by_strips(moving)
            return
        place = Place("i", is_dense=True, first="first + ")
        if streams:
            dtype, steps = self.dtype(len(self.inputs)), self.steps(self.live, moving, place, self.results)
            values = dict(zip(self.outputs, map(self.operand, self.results), strict=True))
            stores = list(self.stores(place))
            yield from streaming.by_lines(type_of(dtype), dtype.itemsize, values, list(steps), stores, self.ahead)
            return
        if by_lanes:
            yield from self._by_lanes(moving)
            return
        yield "#pragma GCC ivdep"
        yield "for (intptr_t i = 0; i < n; i++) {"
        yield from (f"    {line}" for line in self.steps(self.live, moving, place, self.results))
        yield from (f"    {line}" for line in self.stores(place))
        yield "}"

    def _goes_by_lanes(self, moving: Collection[int]) -> bool:
        return lanes.goes_by_lanes(self.formula, self.live, self.results, moving)

    def _by_lanes(self, moving: set[str]) -> Iterator[str]:
        numbers = [k for k, name in enumerate(self.inputs) if name in moving]
        places = converting.places_of(self.formula, self.live, numbers)
        usual = self._over_lanes(moving)
        clipped = {each.value.input for each in self.clipped.values() if isinstance(each.value, Element)}
        if clipped & set(places) or not places:
            yield from usual
            return
        names, size = [self.names[k] for k in places], self.dtype(places[0]).itemsize
        whole = _Kernel(converting.of_floats(self.formula, places), self.results)
        loop = [_from_strips(line, names) for line in whole.over_part(moving)]
        ahead = {name: self.dtype(self.names.index(name)).itemsize for name in self.ahead}
        yield from converting.by_strips(names, type_of(self.dtype(places[0])), size, loop, list(usual), ahead)

    def over_part(self, moving: set[str]) -> Iterator[str]:
        """Loops from `begin` up to `stop`, which ask for nothing ahead."""
        if any(lanes.is_narrow(self.dtype(k)) for k in range(len(self.inputs), len(self.names))):
            yield from self._over_lanes(moving, "begin", "stop")
            return
        place = Place("i", is_dense=True, first="first + ")
        yield "#pragma GCC ivdep"
        yield "for (intptr_t i = begin; i < stop; i++) {"
        yield from (f"    {line}" for line in self.steps(self.live, moving, place, self.results))
        yield from (f"    {line}" for line in self.stores(place))
        yield "}"

    def _over_lanes(self, moving: set[str], begin: str = "0", stop: str = "n") -> Iterator[str]:
        narrow = {name: type_of(dtype) for k, name in enumerate(self.names) if lanes.is_narrow(dtype := self.dtype(k))}
        place = Place("i", is_dense=True, first="first + ")
        wide = attrs.evolve(place, text="i + j", in_lanes=True)
        in_lanes, alone = (
            [*self.steps(self.live, moving, each, self.results), *self.stores(each)] for each in (wide, place)
        )
        read = {name: of for name, of in narrow.items() if name in moving and name in self.inputs}
        written = {name: of for name, of in narrow.items() if name in self.outputs}
        yield from lanes.by_lanes(read, written, in_lanes, alone, self.ahead, begin, stop)

    def _may_stream(self) -> bool:
        """Whether results, of one dtype, may go past the caches line by line: their steps are few and take no strips,
        and each is as much as each of the arrays that it is computed of."""
        *sizes, size = [self.dtype(k).itemsize for k in range(len(self.names))]
        most = streaming.MOST_STEPS * len(self.results)
        return not self.functions and size == max([size, *sizes]) and len(self.live) <= most

    def _by_strips(self, moving: set[str]) -> Iterator[str]:
        there = {k: f"v_{name} + at" for k, name in enumerate(self.inputs) if name in moving}
        strips = Strips(self.formula, self.results, self.live, self.functions, there, f"v_{self.outputs[0]} + at")
        if len(strips.buffers) > MOST_STRIPS:
            raise UnknownError
        for name, dtype in strips.buffers.items():
            yield f"_Alignas(64) {type_of(dtype)} {name}[{STRIP}];"
        yield f"for (intptr_t at = 0; at < n; at += {STRIP}) {{"
        yield f"    const intptr_t m = {_least('n - at', str(STRIP))};"
        place = Place("at + i", is_dense=True, first="first + ")
        for stage in range(strips.count - strips.writes_output):
            yield from (f"    {line}" for line in self._stage(strips, stage, moving, place))
        yield "}"

    def _stage(self, strips: Strips, stage: int, moving: set[str], place: Place) -> Iterator[str]:
        """The loop of a stage over a strip, and the functions that follow it."""
        is_last = stage == strips.count - 1
        if strips.loops[stage] or strips.stored[stage] or is_last:
            if place.is_dense:
                yield "#pragma GCC ivdep"
            yield "for (intptr_t i = 0; i < m; i++) {"
            for result, buffer in strips.read(stage).items():
                yield f"    const {type_of(self.formula.dtype_of(result))} {name_of(result)} = {buffer}[i];"
            wanted = [operand for operand, _, _ in strips.stored[stage]]
            steps = self.steps(strips.loops[stage], moving, place, wanted + [*self.results] * is_last)
            yield from (f"    {line}" for line in steps)
            for operand, dtype, buffer in strips.stored[stage]:
                yield f"    {buffer}[i] = {cast_text(self.operand(operand), self.formula.dtype_of(operand), dtype)};"
            if is_last:
                yield from (f"    {line}" for line in self.stores(place))
            yield "}"
        for call in strips.calls[stage]:
            yield f"{call};"


def _from_strips(line: str, names: Sequence[str]) -> str:
    """A line that reads these arrays from strips."""
    return re.sub(rf"\bv_({'|'.join(names)})\[([^]]*)\]", r"x_\1[\2 - begin]", line)


def _least(one: str, other: str) -> str:
    return f"{one} < {other} ? {one} : {other}"
