"""Steps of a plan tree as lines of C: loops, views, and calls of arithmetic.

Idea. A step becomes the line that does the same. An array is a small struct, passed by value, of where its elements
are, its extents and its strides: a crop or a window of a ring is another such struct, of which compilers see through
to a few integers in registers. A ring is addressed as the plan addresses it, in mirrored memory: where the first row
of a window lies is the only thing that is taken modulo its size, so a window is one strided array, and the loops over
its elements need not know of rings. Each formula is one function, called with such arrays.

Printable are loops, branches and questions, integers that are shown to fit, views of arrays, windows of rings, arrays
fetched from sites that were reserved, and calls whose operation is arithmetic that has a text (see `kernels`).

Invariants: the lines do what the steps do, in their order. A question after which a run fails ends the function, which
says so by `STOPPED`: what is asked are integers, not elements, so whoever does the same steps again fails at the same
place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, assert_never

import attrs
import numpy as np

from slinky.ir.combined import formula_of
from slinky.ir.formulas import Formula, argument_types
from slinky.ir.operations import Copy
from slinky.ir.reducing import Combined, combined_of
from slinky.ir.statements import LoweredFunc
from slinky.native import sums
from slinky.native.ahead import first_to_come
from slinky.native.apart import strides_asked
from slinky.native.array_texts import ArrayText, AxisText, axes_of, size_text, strides_text
from slinky.native.c_functions import CFunction
from slinky.native.carriers import held
from slinky.native.copying import FURTHEST
from slinky.native.embedding import c_function_of
from slinky.native.integers import LARGEST, Integers, UnprintableError, Whole, known_within, literal
from slinky.native.kernel_sets import Kernels, operand_sizes
from slinky.native.names import CNames
from slinky.native.operators import C_TYPES, constant_text
from slinky.native.reducing import EXTREMA
from slinky.native.sums import Facts
from slinky.native.weights import weight_of
from slinky.runtime.arena import SiteKind
from slinky.runtime.plan_tree import (
    Assign,
    At,
    Crop,
    Fetch,
    FetchWithin,
    Guard,
    Integer,
    IsContiguous,
    Located,
    Loop,
    Name,
    PlanTree,
    Portion,
    Range,
    ReadOnly,
    Rows,
    Run,
    Sealed,
    Seen,
    Span,
    Step,
    Steps,
    Stop,
    Stride,
    Value,
    Window,
)

STOPPED = -2
"""What a function returns that came to a question after which a run fails."""
ENDED = -4
"""What a function returns in which a function of somebody else failed."""


@attrs.frozen
class Given:
    """Something that a function is given from outside, as a value of the plan, with its name in C.

    Of a ring, so many dimensions are folded; a number is converted to a dtype, which must hold it where it `is_held`.
    """

    kind: str
    value: Value
    name: str
    folded: int = 0
    dtype: np.dtype[Any] | None = None
    is_held: bool = False


@attrs.frozen
class RangeText:
    """A range in C: where it begins, where it ends, and its step."""

    first: Whole
    stop: Whole
    step: Whole


class Lines:
    """The lines of one function. `given` is what they use that is not made here; `sizes` by the names of given arrays,
    of how many bytes elements are.

    Where a step has no text, `UnprintableError` is raised. Functions of others are called by their address only if the
    lines are for one that is `given` it.
    """

    by_address = False

    def __init__(
        self,
        tree: PlanTree,
        sites: Mapping[str, SiteKind],
        kernels: Kernels,
        names: CNames,
        ranks: Mapping[str, int],
    ) -> None:
        self._tree = tree
        self._sites = sites
        self._ranks = ranks
        self._kernels = kernels
        self._names = names
        self._known: dict[str, Whole | RangeText | ArrayText] = {}
        self._facts = Facts()
        self._integers = Integers(self._whole_named, self._divisor, self._told, self._facts)
        self.streamed: set[str] = set()
        """Names of arrays from outside that may go past the caches."""
        self.outside: set[str] = set()
        """Names of arrays from outside that a program is given to read."""
        self.handed: set[str] = set()
        """Names of arrays from outside that functions of others are given, with their strides as they are."""
        self.given: dict[object, Given] = {}
        self.sizes: dict[str, int] = {}
        self.divisors: dict[str, None] = {}
        self.follow: dict[tuple[str, int, int], None] = {}
        """Names of arrays from outside, each with a dimension and how many bytes its elements lie apart along that, if
        they follow each other: as functions take it that are for no others."""
        self.lines: list[str] = []
        self._rank_of_given: dict[str, int] = {}
        self._depth = 1

    # Lines --------------------------------------------------------------------------------------------------------

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self._depth + line if line else "")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines in braces."""
        self.write(f"{header} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.write("}")

    def steps(self, steps: Steps) -> None:
        """Some steps."""
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """One step."""
        match step:
            case Assign(name=name, value=value):
                self._assign(name, value)
            case Stop(condition=condition):
                with self.block(f"if ({self._integers.whole(condition).text})"):
                    self.stop()
            case Guard(condition=condition, body=body, orelse=orelse):
                with self.block(f"if ({self._integers.whole(condition).text})"), self._facts.scope():
                    self.steps(body)
                if orelse:
                    with self.block("else"), self._facts.scope():
                        self.steps(orelse)
            case Loop(variable=variable, iterations=iterations, body=body, remark=remark):
                self._loop(variable, iterations, body, remark)
            case Run():
                self._run(step)
            case Fetch():
                self._fetch(step)
            case FetchWithin(name=name, part=part, is_contiguous=is_contiguous):
                kind = self._sites[step.site.text]
                own = self._names.fresh(f"{name}_own")
                self._array_at(own, step.site, kind, step.extents)
                whole, found = self._integers.whole(is_contiguous), self._array(part)
                self.sizes[found.root] = max(self.sizes.get(found.root, 1), kind.dtype.itemsize)
                self.write(f"const array {self._names.of(name)} = {whole.atom} ? {found.text} : {own};")
                last = kind.rank - 1  # along which the site has no gaps, nor has an array from outside that is asked
                axes = [AxisText(origin=found.axis(d).origin if d == last else None) for d in range(kind.rank)]
                array = ArrayText(self._names.of(name), found.root, axes=tuple(axes), base=object())
                self.name_array(name, step.reading, array)
            case _:
                raise UnprintableError(f"{type(step).__name__} is done in Python")

    def stop(self) -> None:
        """What is done where a run fails."""
        self.write(f"return {STOPPED};")

    def refuse(self, condition: str) -> None:
        """What is done where a number may not be what it must be."""
        raise UnprintableError(f"{condition} may be")

    # Names --------------------------------------------------------------------------------------------------------

    def _whole_named(self, name: str) -> Whole:
        found = self._known.get(name)
        if found is None:
            return self.whole_given(name, Name(name))
        if not isinstance(found, Whole):
            raise UnprintableError(f"{name} is no integer")
        return found

    def whole_given(self, key: object, value: Value) -> Whole:
        """An integer from outside."""
        found = self.given.get(("integer", key))
        if found is None:
            name = self._names.of(key) if isinstance(key, str) else self._names.fresh("given")
            found = self.given["integer", key] = Given("integer", value, name)
        return known_within(found.name, -LARGEST, LARGEST)

    def _divisor(self, value: Value) -> Whole:
        """A divisor: a known number, or what comes from outside, of which it is asked first whether it is 0."""
        if isinstance(value, Integer) and value.value:
            return literal(value.value)
        if not isinstance(value, Name) or value.text in self._known:
            raise UnprintableError("a divisor that may be 0")
        found = self._whole_named(value.text)
        self.divisors[found.text] = None
        return found

    def _told(self, value: Value) -> Whole:
        """What the plan says of an array from outside."""
        match value:
            case Rows(ring=Name(text=name)) | Stride(array=Name(text=name)) | IsContiguous(array=Name(text=name)):
                if name not in self._known:
                    return self.whole_given(value, value)
        raise UnprintableError(f"{type(value).__name__} is asked of Python")

    def _assign(self, name: str, value: Value) -> None:
        match value:
            case Crop() | Window() | ReadOnly() | Seen():
                found = self._array(value)
                if not found.rows:
                    self.write(f"const array {self._names.of(name)} = {found.text};")
                    found = attrs.evolve(found, text=self._names.of(name), minima=())
                self._known[name] = found
            case Range(first=first, stop=stop, step=step):
                ends = [self._kept(f"{name}_{w}", v) for w, v in (("first", first), ("stop", stop), ("step", step))]
                self._known[name] = RangeText(*ends)
            case _:
                self._known[name] = self._kept(name, value)

    def _kept(self, name: str, value: Value) -> Whole:
        """An integer that has a name in C, too, if it is more than one."""
        whole = self._integers.whole(value)
        if isinstance(value, Integer):
            return whole
        self.write(f"const int64_t {self._names.of(name)} = {whole.text};")
        return attrs.evolve(known_within(self._names.of(name), whole.lo, whole.hi), known_sum=whole.sum)

    # Loops --------------------------------------------------------------------------------------------------------

    def _loop(self, variable: str, iterations: Range | Portion, body: Steps, remark: str) -> None:
        given = self._range(iterations)
        name = self._names.of(variable)
        step = "++" if given.step.text == "1" else f" += {given.step.text}"
        stop = given.stop
        if not stop.text.isidentifier() and not stop.text.isdigit():
            text = self._names.fresh(f"{name}_end")
            self.write(f"const int64_t {text} = {stop.text};")
            stop = attrs.evolve(stop, text=text, is_atom=True, known_sum=stop.sum)
        if remark:
            self.write(f"/* {remark} */")
        with (
            self._facts.scope(),
            self.block(f"for (int64_t {name} = {given.first.text}; {name} < {stop.text}; {name}{step})"),
        ):
            self._known[variable] = known_within(name, given.first.lo, max(given.first.lo, stop.hi - 1))
            self._know_range(name, given)
            self.body(variable, body)
            self.iterated(body)

    def _know_range(self, name: str, given: RangeText) -> None:
        """Where a variable of a loop is: between the first and, as far as that is known, the last iteration."""
        variable, step = sums.name(name), given.step.sum.number()
        self._facts.know(variable - given.first.sum)
        last = given.stop.sum - sums.number(1)
        length = self._facts.exact(last - given.first.sum)
        if step and length is not None:
            last = given.first.sum + sums.number(length // step * step)
        self._facts.know(last - variable)

    def body(self, variable: str, body: Steps) -> None:
        """The steps of an iteration of a loop over a variable."""
        self.steps(body)

    def iterated(self, body: Steps) -> None:
        """An iteration of a loop of these steps ends."""

    def _range(self, iterations: Range | Portion) -> RangeText:
        whole = self._integers.whole
        match iterations:
            case Range(first=first, stop=stop, step=step):
                return RangeText(whole(first), whole(stop), whole(step))
            case Portion(range=range_, begin=begin, end=end):
                known = self._known.get(range_.text)
                if not isinstance(known, RangeText):
                    raise UnprintableError("a range that is made in Python")
                return RangeText(
                    known.first if begin is None else _further(known, whole(begin)),
                    known.stop if end is None else self._integers.least([known.stop, _further(known, whole(end))]),
                    known.step,
                )
            case _:
                assert_never(iterations)

    # Arrays -------------------------------------------------------------------------------------------------------

    def _array(self, value: Value) -> ArrayText:
        whole = self._integers.whole
        match value:
            case Name(text=name) | ReadOnly(array=Name(text=name)):
                return self._array_named(name)
            case Crop(array=array, spans=spans):
                found = self._array(array)
                text = found.text
                for d, span in reversed(list(enumerate(spans))):
                    match span:
                        case Span(first=first, stop=stop):
                            ends = whole(first), whole(stop)
                            text = f"slinky_crop({text}, {d}, {ends[0].text}, {ends[1].text})"
                            found = found.cropped(d, ends[1].sum - ends[0].sum).moved(d, ends[0].sum)
                        case At(position=position):
                            index = whole(position)
                            text = f"slinky_at({text}, {d}, {index.text})"
                            found = found.moved(d, index.sum).without(d)
                return attrs.evolve(found, text=text)
            case Sealed(array=array):
                return self._array(array)
            case Seen(array=array, factors=factors, extents=extents):
                return self._seen(self._array(array), factors, [whole(extent) for extent in extents])
            case Window(ring=ring, spans=spans):
                return self.window(ring.text, [(whole(first), whole(count)) for first, count in spans])
            case Located(array=array, minima=minima):
                return attrs.evolve(self._array(array), minima=tuple([whole(m) for m in minima]))
        raise UnprintableError(f"{type(value).__name__} is no array of C")

    def _seen(self, found: ArrayText, factors: Sequence[Sequence[int]], extents: Sequence[Whole]) -> ArrayText:
        """An array as it is seen along other axes: a struct of its own."""
        if found.rows:
            raise UnprintableError("rows of a folded buffer, seen otherwise")
        self._kernels.rank = max(self._kernels.rank, len(factors), len(extents))
        base, name = self._names.fresh("whole"), self._names.fresh("seen")
        self.write(f"const array {base} = {found.text};")
        terms = [(factor, axis, d) for d, own in enumerate(factors) for axis, factor in enumerate(own) if factor]
        place = [f"{base}.data"]
        place += [f"{-f} * ({extents[axis].atom} - 1) * {base}.strides[{d}]" for f, axis, d in terms if f < 0]
        strides = [
            " + ".join(f"{f} * {base}.strides[{d}]" for f, own, d in terms if own == axis) or "0"
            for axis in range(len(extents))
        ]
        shape = ", ".join(extent.text for extent in extents) or "0", ", ".join(strides) or "0"
        self.write(f"const array {name} = {{{' + '.join(place)}, {{{shape[0]}}}, {{{shape[1]}}}, {base}.streams}};")
        return found.seen(name, factors, extents)

    def _array_named(self, name: str) -> ArrayText:
        found = self._known.get(name)
        if found is None:
            text = self.array_given(name)
            return ArrayText(text, text, base=text)
        if not isinstance(found, ArrayText):
            raise UnprintableError(f"{name} is no array")
        return found

    def array_given(self, name: str) -> str:
        """An array from outside: its name in C."""
        if name in self._sites:
            self._kernels.rank = max(self._kernels.rank, self._sites[name].rank)
        found = self.given.setdefault(("array", name), Given("array", Name(name), self._names.of(name))).name
        self._rank_of_given[found] = self._ranks.get(name, 0)
        return found

    def window(self, ring: str, spans: Sequence[tuple[Whole, Whole]]) -> ArrayText:
        """A window of a folded buffer: how far its first row lies behind that of the buffer, and how many there are."""
        kind = self._sites[ring]
        name = self._names.of(ring)
        self._rank_of_given[name] = kind.rank
        self.given.setdefault(("ring", ring), Given("ring", Name(ring), name, folded=len(kind.folded)))
        text = name
        for position, (d, (first, count)) in enumerate(zip(kind.folded, spans, strict=True)):
            text = f"slinky_rows({text}, {d}, {name}_wraps{position or ''}, {first.text}, {count.text})"
        array = ArrayText(text, name, base=name)
        for d, (first, count) in zip(kind.folded, spans, strict=True):
            array = array.cropped(d, count.sum).moved(d, first.sum)
        return array

    def _fetch(self, step: Fetch) -> None:
        kind = self._sites[step.site.text]
        if step.folds or kind.layout is not None or kind.folded:
            raise UnprintableError("a buffer that only Python lays out")
        axes = self._array_at(self._names.of(step.name), step.site, kind, step.extents)
        array = ArrayText(self._names.of(step.name), "", axes=axes, base=object())  # what it was before is another one
        self.name_array(step.name, step.reading, array)

    def _array_at(self, name: str, site: Name, kind: SiteKind, extents: Sequence[Value]) -> tuple[AxisText, ...]:
        """The array of a site, by a name of C; what is known of its axes."""
        sizes = [self._integers.whole(extent) for extent in extents]
        self._kernels.rank = max(self._kernels.rank, len(sizes))
        place = self.place_of(site, size_text(sizes, kind.dtype.itemsize))
        inside = ", ".join(size.text for size in sizes), ", ".join(strides_text(sizes, kind.dtype.itemsize))
        shape = f", {{{inside[0]}}}, {{{inside[1]}}}" if sizes else ", {0}, {0}"
        self.write(f"const array {name} = {{{place}{shape}, 0}};")
        return axes_of(sizes, kind.dtype.itemsize)

    def place_of(self, site: Name, size: str) -> str:
        """Where a site is that has room for so many bytes: a pointer in C."""
        return self.given.setdefault(("site", site.text), Given("site", site, self._names.of(site.text))).name

    def name_array(self, name: str, reading: str | None, array: ArrayText) -> None:
        """An array that was fetched by these names of the plan."""
        for each in filter(None, (name, reading)):
            self._known[each] = array

    # Calls --------------------------------------------------------------------------------------------------------

    def _run(self, run: Run) -> None:
        func = self._tree.callbacks[run.callback.text]
        function, combined = c_function_of(func), combined_of(func)
        if function is not None:
            self._run_function(run, func, function)
            return
        if combined is not None:
            self._reduce(run, func, combined)
            return
        if isinstance(func.operation, Copy):
            self._copy(run, func)
            return
        formula = formula_of(func)
        if formula is None:
            raise UnprintableError(f"{func.name} is a callback")
        arrays = [self._array(value) for value in (*run.inputs, *run.outputs)]
        for array, size in zip(arrays, operand_sizes(formula), strict=True):
            self.sizes[array.root] = max(self.sizes.get(array.root, 1), size)
        given = dict(run.arguments)
        numbers = [self._argument(given[name], dtype) for name, dtype in argument_types(formula)]
        if not self.inline(formula, arrays, numbers):
            streams = arrays[-1].root in self.streamed
            ahead = first_to_come(formula, arrays, self.outside)
            kernel = self.by_rows(run, formula, arrays, streams=streams, ahead=ahead)
            kernel = kernel or self._kernels.name_of(func, streams=streams, ahead=ahead)
            self.ask_strides(formula, arrays)
            self.call(kernel, formula, arrays, numbers)

    def ask_strides(self, formula: Formula, arrays: Sequence[ArrayText]) -> None:
        """Ask of arrays from outside whether elements follow each other where functions of a formula, which are given
        these arrays, want that; where nobody can ask, they must be general."""
        asked = strides_asked(formula, arrays, self._rank_of_given)
        if asked is None:
            self._kernels.see_apart(formula)
        else:
            self.follow |= dict.fromkeys(asked)

    def inline(self, formula: Formula, arrays: Sequence[ArrayText], numbers: Sequence[str]) -> bool:
        """Write a call in its place, if that is better; whether it is."""
        return False

    def by_rows(
        self, run: Run, formula: Formula, arrays: Sequence[ArrayText], *, streams: bool, ahead: tuple[int, ...]
    ) -> str | None:
        """The function that computes a call several rows at a time, if that is better."""
        return None

    def _reduce(self, run: Run, func: LoweredFunc, combined: Combined) -> None:
        """Call the function of a reduction; where there is nothing to be the extremum of, the run fails."""
        found = self._kernels.reducer_of(func)
        source, target = self._array(run.inputs[0]), self._array(run.outputs[0])
        if any(d in combined.axes for d, _ in source.rows):
            raise UnprintableError(f"{func.name} reduces rows of a folded buffer")
        for array, size in zip((source, target), found.sizes, strict=True):
            self.sizes[array.root] = max(self.sizes.get(array.root, 1), size)
        if combined.ufunc in EXTREMA:
            text = source.text
            for d, _ in source.rows:
                text = text.replace(f"@{d}", "0")
            with self.block(f"if ({' || '.join(f'!({text}).extents[{d}]' for d in combined.axes)})"):
                self.stop()
        self.call(found.name, found.shape, [source, target], [], most=0)

    def _copy(self, run: Run, func: LoweredFunc) -> None:
        """Call the function of a copy; where a source does not hold what it takes, the run fails."""
        found = self._kernels.copier_of(func)
        arrays = [self._array(value) for value in (*run.inputs, *run.outputs)]
        given = dict(run.arguments)
        numbers = [
            (self._divisor if name in found.divisors else self._integers.whole)(given[name])
            for name in found.parameters
        ]
        for number in (*numbers, *(minimum for array in arrays for minimum in array.minima)):
            if max(-number.lo, number.hi) > FURTHEST:
                raise UnprintableError(f"{number.text} may be too far away for a copy")
        texts = [number.text for number in numbers]
        if found.takes_fill:
            texts.append(self._argument(given["fill"], func.outputs[0].dtype))
        self.call_copy(found.name, arrays, texts)

    def call_copy(self, copier: str, arrays: Sequence[ArrayText], numbers: Sequence[str]) -> None:
        """Call the function of a copy, with its sources and the target."""
        if any(array.rows for array in arrays):
            raise UnprintableError("several rows of a folded buffer are copied at once")
        lines, operands = [], []
        for number, array in enumerate(arrays):
            name = array.text
            if not name.isidentifier():
                name = f"slinky_{number}"
                lines.append(f"const array {name} = {array.text};")
            operands.append(f"&{name}")
        minima = [minimum.text for array in arrays for minimum in array.minima]
        with self.block(""):
            for line in lines:
                self.write(line)
            with self.block(f"if ({copier}({', '.join([*operands, *minima, *numbers])}))"):
                self.stop()
            for line in self.called(operands[-1].removeprefix("&"), len(arrays[-1].minima), 1):
                self.write(line)

    def call(
        self, kernel: str, formula: Formula, arrays: Sequence[ArrayText], numbers: Sequence[str], *, most: int = -1
    ) -> None:
        """Call the function of a formula, which goes over all elements of one of the arrays (`most`)."""
        minima = [minimum.text for minimum in arrays[-1].minima] if formula.has_coordinates() else []
        lines: list[str] = []
        operands: list[str] = []
        for number, array in enumerate(arrays):
            name = array.text
            if not name.isidentifier():
                name = f"slinky_{number}"
                lines.append(f"const array {name} = {array.text};")
            operands.append(f"&{name}")
        lines.append(f"{kernel}({', '.join([*operands, *minima, *numbers])});")
        rank = formula.rank if most < 0 else len(formula.inputs[most])
        lines += self.called(operands[most].removeprefix("&"), rank, weight_of(formula))
        if len(lines) == 1:
            self.write(lines[0])
            return
        with self.block(""):
            for line in lines:
                self.write(line)

    def _run_function(self, run: Run, func: LoweredFunc, function: CFunction) -> None:
        """Call a function that somebody else wrote."""
        adapter = self._kernels.adapter_of(func, function, by_address=self.by_address)
        lines, operands, minima = [], [], []
        for number, (value, operand) in enumerate(zip((*run.inputs, *run.outputs), function.operands, strict=True)):
            array = self._array(value)
            if array.rows:
                raise UnprintableError(f"{func.name} takes several rows of a folded buffer at once")
            self.sizes[array.root] = max(self.sizes.get(array.root, 1), operand.dtype.alignment)
            self.handed.add(array.root)
            minima += [minimum.text for minimum in array.minima]
            name = array.text
            if not name.isidentifier():
                name = f"slinky_{number}"
                lines.append(f"const array {name} = {array.text};")
            operands.append(f"&{name}")
        given = dict(run.arguments)
        numbers = [self._number(given[each.name], each.dtype) for each in function.scalars]
        addresses = [self._address(kind, run.callback) for kind in adapter.given]
        called = f"{adapter.name}({', '.join([*operands, *addresses, *minima, *numbers])})"
        with self.block(""):
            for line in lines:
                self.write(line)
            for line in self.around(f"const int64_t slinky_code = {called};"):
                self.write(line)
            with self.block("if (slinky_code)"):
                self.ended(run)
            for line in self.called(operands[-1].removeprefix("&"), function.operands[-1].rank, function.operations):
                self.write(line)

    def _number(self, value: Value, dtype: np.dtype[Any]) -> str:
        """A number that a function takes, as it is where it is known."""
        if not isinstance(value, Name) or value.text not in self._tree.objects:
            return self._argument(value, dtype, is_held=True)
        try:
            number = dtype.type(held(self._tree.objects[value.text], dtype))
        except (TypeError, ValueError, OverflowError) as error:
            raise UnprintableError(f"{value.text} is no {dtype}: {error}") from error
        return constant_text(number) if number == number else f"({C_TYPES[dtype]})NAN"

    def _address(self, kind: str, callback: Name) -> str:
        """The address of a function, or of its data, from outside."""
        key = (kind, callback.text)
        if key not in self.given:
            self.given[key] = Given(kind, callback, self._names.fresh(f"{callback.text}_{kind}"))
        return self.given[key].name

    def around(self, call: str) -> list[str]:
        """The call of a function of somebody else, with what must stand around it."""
        return [call]

    def ended(self, run: Run) -> None:
        """What is done where a function of somebody else has failed, as `slinky_code` says."""
        self.write(f"return {ENDED};")

    def called(self, array: str, rank: int, weight: int) -> list[str]:
        """What stands behind a call that went over an array of this name, with so much work for each element."""
        return []

    def _argument(self, value: Value, dtype: np.dtype[Any], *, is_held: bool = False) -> str:
        """A number that a formula takes: converted before the function is called, where it comes from outside; or a
        function of somebody else, by which it `is_held`."""
        if dtype not in C_TYPES:
            raise UnprintableError(f"a number is taken as {dtype}")
        if isinstance(value, Name) and value.text not in self._known:
            key = ("number", value.text, dtype, is_held)
            if key not in self.given:
                name = self._names.fresh(f"{value.text}_{dtype.name}")
                self.given[key] = Given("number", value, name, dtype=dtype, is_held=is_held)
            return self.given[key].name
        whole = self._integers.whole(value)
        lowest, highest = -(1 << 52), 1 << 52  # such integers are floats of 64 bits, too
        if dtype.kind == "b":
            lowest, highest = 0, 1
        elif dtype.kind != "f":
            limits = np.iinfo(dtype)
            lowest, highest = int(limits.min), int(limits.max)
        if whole.lo < lowest or whole.hi > highest:
            self.refuse(f"{whole.atom} < {literal(lowest).text} || {whole.atom} > {literal(highest).text}")
        return f"({C_TYPES[dtype]}){whole.atom}"


def _further(known: RangeText, count: Whole) -> Whole:
    """Where a range is after so many steps."""
    ends = [known.step.lo * count.lo, known.step.lo * count.hi, known.step.hi * count.lo, known.step.hi * count.hi]
    lo, hi = known.first.lo + min(ends), known.first.hi + max(ends)
    if max(abs(lo), abs(hi)) >= 1 << 62:
        raise UnprintableError("a range may be too large")
    step = known.step.sum.number()
    total = None if step is None else known.first.sum.plus(count.sum, step)
    return Whole(f"{known.first.atom} + {count.atom} * {known.step.atom}", lo, hi, is_atom=False, known_sum=total)
