"""A whole program as one C function, to be compiled where there is no Python.

Idea. The plan tree of a program whose calls are all arithmetic says all that there is to do, memory and checks
included, so it is printed as it stands (see `statements`), with what only Python could do replaced: the arrays of the
caller come as structs with the coordinates of their first elements; scratch is asked for from `malloc`, kept while the
function runs, and given back at its end; loops that threads would share run their iterations one after the other. There
is no mirrored memory: a folded buffer has as many rows as its fold, and a call on several rows of it is made for one
after the other, with the row's pointer modulo the fold. A function of somebody else takes all rows at once, and so does
a copy of what it reads, so a buffer of which that would be several rows is not folded.

Of a program that is not all arithmetic, the nests are printed, each as a function of its own.

Invariant: the function does what the interpreter does, or returns something else than 0. It looks at what it is given
first: where a check of the program fails, it has written nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import attrs
import numpy as np

from slinky.errors import CompilationError
from slinky.ir.copies import rewritten, with_folds, with_program_body
from slinky.ir.formulas import Axis, Formula
from slinky.ir.operations import Copy
from slinky.ir.printer import program_header
from slinky.ir.statements import Alloc, BufferParameter, Call, Program, Statement, walk
from slinky.native.adapters import BUFFER
from slinky.native.array_texts import ARRAYS, ArrayText, size_text, strides_text
from slinky.native.carriers import END_OF_FLOAT32
from slinky.native.embedding import c_function_of
from slinky.native.fetching import loops_around_own, with_fetches_inside
from slinky.native.integers import HELPERS, LARGEST, SIZES, Sizes, UnprintableError, Whole, known_within
from slinky.native.joining import JoinedLines
from slinky.native.kernel_sets import Kernels
from slinky.native.names import CNames
from slinky.native.nests import HEAD, Nests
from slinky.native.operators import C_TYPES
from slinky.native.states import states_in_place
from slinky.native.tiles import Surroundings
from slinky.native.unused import without_unused
from slinky.native.walking import sites_of
from slinky.native.windows import with_windows_inside
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.generator import Kind, plan_tree
from slinky.runtime.codegen.uses import names_used
from slinky.runtime.plan_tree import (
    Assign,
    Extents,
    Fetch,
    GiveArena,
    IsContiguous,
    Name,
    ParallelLoop,
    PlanTree,
    Reserve,
    Rows,
    Run,
    StagedLoop,
    Step,
    Stride,
    TakeArena,
    Unpack,
    Value,
)

REFUSED, NO_MEMORY, NOT_DONE = 1, 2, 3
_FAR = 1 << 60

_MEMORY = """\
/* Scratch, all of it in a list, so that it can be given back at once. */
typedef struct slinky_block { struct slinky_block *next; } slinky_block;
typedef struct { char *data; int64_t size; } slinky_scratch;

/* Have room for so many bytes, at a multiple of 64; whether there is. */
static inline int slinky_reserve(slinky_block **all, slinky_scratch *of, int64_t size)
{
    if (of->data && of->size >= size) return 1;
    slinky_block *block = malloc(sizeof(slinky_block) + 64 + (size_t)(size > 0 ? size : 0));
    if (!block) return 0;
    block->next = *all;
    *all = block;
    of->data = (char *)(block + 1) + (64 - (uintptr_t)(block + 1) % 64) % 64;
    of->size = size;
    return 1;
}
static inline void slinky_release(slinky_block *all)
{
    while (all) {
        slinky_block *next = all->next;
        free(all);
        all = next;
    }
}
"""

_QUIET = """\
#ifdef __clang__ /* which has not all of GCC's pragmas, and looks for uses of what every file has */
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#pragma clang diagnostic ignored "-Wunused-function"
#endif
"""
"""What keeps compilers from saying what is no fault of a program."""

_ARRIVING = """\
static inline int slinky_is_small(int64_t n) {{ return -{largest}LL <= n && n <= {largest}LL; }}

/* An array of the caller, of so many dimensions; whether its elements lie at multiples of so many bytes. */
static inline int slinky_take(const slinky_buffer *from, int rank, uintptr_t size, array *to)
{{
    uintptr_t places = (uintptr_t)from->data;
    to->data = (char *)from->data;
    for (int d = 0; d < rank; d++) {{
        to->extents[d] = from->extent[d];
        to->strides[d] = from->stride[d];
        places |= (uintptr_t)from->stride[d];
        if (!slinky_is_small(from->min[d]) || !slinky_is_small(from->extent[d]) || from->extent[d] < 0) return 0;
    }}
    return places % size == 0;
}}

/* Whether an array lies in memory in the order of its elements, without gaps. */
static inline int slinky_is_contiguous(array a, int rank, int64_t size)
{{
    int64_t count = 1;
    for (int d = 0; d < rank; d++) count *= a.extents[d];
    for (int d = rank - 1; d >= 0; d--) {{
        if (count && a.extents[d] != 1 && a.strides[d] != size) return 0;
        size *= a.extents[d];
    }}
    return 1;
}}
"""


def c_source(program: Program) -> str:
    """A program in C11: one function if all of its calls have a text, else one for each nest.

    Raises `CompilationError` if there is nothing that C could do.
    """
    try:
        return _whole_source(program)
    except UnprintableError as reason:
        said = str(reason)
    unfolded = _unfolded(program)
    try:
        return _nests_source(program, said) if unfolded is program else _whole_source(unfolded)
    except UnprintableError:
        return _nests_source(program, said)


def _unfolded(program: Program) -> Program:
    """A program whose functions of others read and write no folded buffers, and whose copies read none."""
    calls = [each for each in walk(program.body) if isinstance(each, Call)]
    names = {name for call in calls if c_function_of(call.func) is not None for name in (*call.reads, *call.writes)}
    names |= {name for call in calls if isinstance(call.func.operation, Copy) for name in call.reads}

    def change(statement: Statement) -> Statement:
        if isinstance(statement, Alloc) and statement.buffer in names and any(f is not None for f in statement.folds):
            return with_folds(statement, (None,) * len(statement.folds))
        return statement

    body = tuple([rewritten(each, change) for each in program.body])
    is_same = all(a is b for a, b in zip(body, program.body, strict=True))
    return program if is_same else with_program_body(program, body)


def _whole_source(program: Program) -> str:
    """One function of all. Raises `UnprintableError` where something has no text."""
    own = loops_around_own(program)
    tree = with_fetches_inside(with_windows_inside(plan_tree(program, Kind(nonempty=False))), own, lambda _: True)
    kernels = Kernels()
    lines = _ProgramLines(program, tree, kernels, own)
    lines.whole_tree()
    rank = max([kernels.rank, *(p.rank for p in (*program.inputs, *program.outputs))])
    parts = [
        _comment(_description(program, lines)),
        _QUIET,
        HEAD.rstrip() + "\n#include <stdlib.h>\n\n",
        HELPERS,
        "\n",
        ARRAYS.format(rank=rank),
        "\n",
        BUFFER.format(rank=rank),
        "\n",
        _ARRIVING.format(largest=LARGEST),
        f"\n{SIZES}\n{_MEMORY}" if lines.scratch else "",
        *(f"\n{text}" for text in kernels.texts()),
        f"\n{lines.function()}",
    ]
    return "".join(parts)


def _nests_source(program: Program, reason: str) -> str:
    nests = Nests(plan_tree(program, Kind()), JoinedLines, program)
    nests.tree()
    if not nests.texts:
        raise CompilationError(
            f"nothing in pipeline {program.name} is a nest that C could do: {reason}. "
            f"Describe what its callbacks compute by sl.arithmetic, or give their source: sl.c_kernel"
        )
    said = [
        program_header(program).rstrip(":"),
        "",
        f"Not all of it is C: {reason}.",
        "What is, is a function for each nest, which returns 0, or -2 where the plan ends with an error, or -4 where a",
        "function of others failed. It is given arrays, and for folded ones after how many bytes they begin again;",
        "memory of buffers of its own; integers of the plan, at most 2**31; and numbers.",
    ]
    return f"{_comment(said)}{_QUIET}{nests.portable_source()}"


def _comment(lines: Sequence[str]) -> str:
    body = "\n".join(f" * {line}".rstrip() for line in lines)
    return f"/*\n{body}\n */\n".replace("*/ ", "* / ")


def _description(program: Program, lines: _ProgramLines) -> list[str]:
    """What the function takes and returns."""
    said = [program_header(program).rstrip(":"), ""]
    for word, parameters in (("in ", program.inputs), ("out", program.outputs)):
        for p in parameters:
            dims = ", ".join(p.dims)
            said.append(f"{word}     {p.name}: {p.dtype.name}[{dims}], as a slinky_buffer")
    said += [f"scalar  {s.name}: int64_t, at most 2**31" for s in program.scalars]
    said += [f"scalar  {f.name}: double" for f in program.floats]
    allocs = (s for s in walk(program.body) if isinstance(s, Alloc))
    for alloc in allocs:
        extents = ", ".join(
            f"{i.min} .. {i.max}" + (f" fold {fold}" if fold is not None else "")
            for i, fold in zip(alloc.box, alloc.folds, strict=True)
        )
        said.append(f"scratch {alloc.buffer}: {alloc.dtype.name}[{extents}], from malloc")
    calls = [each.func for each in walk(program.body) if isinstance(each, Call)]
    calls_others = any(c_function_of(func) is not None for func in calls)
    said += [
        "",
        f"{lines.name} returns 0 when it is done; {REFUSED} where a check of the program does not hold, an integer is",
        "too large, elements are not aligned, or something is divided by 0: if that is found at the beginning, nothing",
        f"has been written; {NO_MEMORY} where there is no memory. Arrays that are written overlap with no others.",
        *[f"{NOT_DONE} says that a function which the file has from its author failed."] * calls_others,
        "Compile it without contraction (-ffp-contract=off) and with integers that wrap (-fwrapv) for NumPy's results.",
    ]
    return said


class _ProgramLines(JoinedLines):
    """The lines of the function of a whole program. `scratch` are its sites, in C."""

    def __init__(self, program: Program, tree: PlanTree, kernels: Kernels, own: Collection[str]) -> None:
        super().__init__(Surroundings(tree, sites_of(tree), kernels, CNames(), states_in_place(program), own))
        self._program = program
        self._bytes = Sizes(self._whole_named, self._divisor, self._told, self._facts)
        self._used = names_used((*tree.body,))
        self._parameters: list[str] = []
        self._dtypes: dict[str, BufferParameter] = {}
        self._rings: dict[str, tuple[str, SiteKind]] = {}
        self._arenas: dict[str, str] = {}
        self._places: dict[tuple[str, int], str] = {}
        self._fixed: set[str] = set()
        self.scratch: dict[str, None] = {}
        self.name = self._names.of(tree.function)

    def whole_tree(self) -> None:
        """The lines of all steps."""
        program, tree = self._program, self._tree
        names = list(tree.parameters[1 + tree.threaded :])
        for p in (*program.inputs, *program.outputs):
            array, origin = names.pop(0), names.pop(0)
            self._take(p, array, origin)
        for name in names[: len(program.scalars)]:
            text = self._names.of(name)
            self._parameters.append(f"int64_t {text}")
            self.refuse(f"!slinky_is_small({text})")
            self._known[name] = known_within(text, -LARGEST, LARGEST)
        for name in names[len(program.scalars) :]:
            self._parameters.append(f"double {self._names.of(name)}")
            self._known[name] = Whole(self._names.of(name), -_FAR * _FAR, _FAR * _FAR)  # which fits nowhere
        self.consider(tree.body)
        self.steps(tree.body)

    def function(self) -> str:
        """The function."""
        head = [f"    slinky_scratch {name} = {{0, 0}};" for name in self.scratch]
        head += ["    slinky_block *slinky_all = 0;"] if self.scratch else []
        tail = ["slinky_end:", "    slinky_release(slinky_all);"] if self.scratch else ["slinky_end:"]
        return "\n".join(
            [
                f"int {self.name}({', '.join(self._parameters)});",
                f"int {self.name}({', '.join(self._parameters)})",
                "{",
                "    int slinky_status = 0;",
                *head,
                *without_unused(self.lines),
                *tail,
                "    return slinky_status;",
                "}",
                "",
            ]
        )

    def _take(self, p: BufferParameter, array: str, origin: str) -> None:
        given, text = self._names.fresh(f"{array}_given"), self._names.of(array)
        self._parameters.append(f"const slinky_buffer *{given}")
        if p.dtype not in C_TYPES:
            raise UnprintableError(f"{p.name} is of {p.dtype}")
        self.write(f"array {text} = {{0, {{0}}, {{0}}, 0}};")
        self.refuse(f"!slinky_take({given}, {p.rank}, {p.dtype.itemsize}, &{text})")
        self._known[array] = ArrayText(text, text)
        self._known[origin] = ArrayText(f"{given}->min", "")
        self._dtypes[array] = p
        self._kernels.rank = max(self._kernels.rank, p.rank)

    # What ends a run ----------------------------------------------------------------------------------------------

    def _end(self, condition: str, status: int) -> None:
        with self.block(f"if ({condition})"):
            self.write(f"slinky_status = {status};")
            self.write("goto slinky_end;")

    def refuse(self, condition: str) -> None:
        """The function ends where a number is not what it must be."""
        self._end(condition, REFUSED)

    def stop(self) -> None:
        """The function ends."""
        self.write(f"slinky_status = {REFUSED};")
        self.write("goto slinky_end;")

    def _divisor(self, value: Value) -> Whole:
        found = self._integers.whole(value)
        if found.lo <= 0 <= found.hi:
            self.refuse(f"{found.atom} == 0")
        return found

    def ended(self, run: Run) -> None:
        """The function ends."""
        self.write(f"slinky_status = {NOT_DONE};")
        self.write("goto slinky_end;")

    # Steps --------------------------------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """One step."""
        match step:
            case Unpack(names=names, value=value):
                self._unpack(names, value)
            case Assign(name=name) if name not in self._used:
                pass
            case ParallelLoop(variable=variable, iterations=iterations, body=body):
                self._loop(variable, iterations, body, "iterations may run at the same time")
            case StagedLoop(variable=variable, iterations=iterations, stages=stages):
                body = tuple(each for stage in stages for each in stage.body)
                self._loop(variable, iterations, body, "stages of several iterations may run at the same time")
            case TakeArena() | GiveArena():
                pass
            case Reserve():
                self._reserve(step)
            case _:
                super().step(step)

    def _unpack(self, names: Sequence[str], value: Value) -> None:
        source = value.array.text if isinstance(value, Extents) else value.text if isinstance(value, Name) else ""
        found = self._known.get(source)
        if not isinstance(found, ArrayText):
            raise UnprintableError(f"{source} has no items in C")
        of = f"{found.text}.extents" if isinstance(value, Extents) else found.text
        for number, name in enumerate(names):
            text = self._names.of(name)
            if name in self._used:
                self.write(f"const int64_t {text} = {of}[{number}];")
            lowest = 0 if isinstance(value, Extents) else -LARGEST
            self._known[name] = known_within(text, lowest, LARGEST)

    def _told(self, value: Value) -> Whole:
        match value:
            case Rows(ring=Name(text=ring), position=position):
                text, kind = self._rings[ring]
                return Whole(f"{text}.extents[{kind.folded[position]}]", 0, LARGEST)
            case Stride(array=array, dim=dim):
                return Whole(f"{self._array(array).text}.strides[{dim}]", -_FAR, _FAR)
            case IsContiguous(array=array):
                p = self._dtypes[array.text]
                return Whole(f"slinky_is_contiguous({self._array(array).text}, {p.rank}, {p.dtype.itemsize})", 0, 1)
        return super()._told(value)

    def whole_given(self, key: object, value: Value) -> Whole:
        """Nothing comes from outside but parameters."""
        raise UnprintableError(f"{key} is known in Python alone")

    def array_given(self, name: str) -> str:
        """Nothing comes from outside but parameters."""
        raise UnprintableError(f"{name} is known in Python alone")

    # Memory -------------------------------------------------------------------------------------------------------

    def _reserve(self, step: Reserve) -> None:
        """Sites that lie at one place are one, for all that is known early how large they are."""
        largest: dict[str, list[str]] = {}
        self._arenas.update(dict.fromkeys((*(room.site for room in step.heap), *step.rings), step.arena.text))
        places = [self._sites[room.site].place for room in step.heap]
        for room in step.heap:
            kind = self._sites[room.site]
            if kind.layout is not None:
                raise UnprintableError(f"{kind.buffer} lies as only Python lays it out")
            name = self._site(room.site, kind)
            if room.bytes is not None:
                self._fixed.add(name)
                largest.setdefault(name, []).append(self._room(room.bytes, room.conditions))
            elif places.count(kind.place) > 1:
                raise UnprintableError(f"{kind.buffer} lies in the memory of another buffer")
        for name, sizes in largest.items():
            size = sizes[0]
            for other in sizes[1:]:
                size = f"slinky_max({size}, {other})"
            self._end(f"!slinky_reserve(&slinky_all, &{name}, {size})", NO_MEMORY)

    def _room(self, size: Value, conditions: Sequence[Value]) -> str:
        asked = " && ".join(self._integers.whole(each).atom for each in conditions)
        text = self._bytes.whole(size).text
        return f"({asked} ? {text} : 0)" if asked else text

    def _site(self, site: str, kind: SiteKind) -> str:
        name = self._places.setdefault((self._arenas[site], kind.place), self._names.of(site))
        self.scratch[name] = None
        return name

    def place_of(self, site: Name, size: str) -> str:
        """Where a site is, which is large enough from here on."""
        name = self._site(site.text, self._sites[site.text])
        if name not in self._fixed:
            self._end(f"!slinky_reserve(&slinky_all, &{name}, {size})", NO_MEMORY)
        return f"{name}.data"

    def _fetch(self, step: Fetch) -> None:
        if self.made_here(step):
            return
        kind = self._sites[step.site.text]
        if not step.folds:
            super()._fetch(step)
            return
        extents = [self._integers.whole(extent) for extent in step.extents]
        for d, fold in zip(kind.folded, step.folds, strict=True):
            rows, text = self._integers.whole(fold), self._names.fresh(f"{step.name}_{d}_rows")
            self.write(f"const int64_t {text} = slinky_min({rows.text}, {extents[d].text});")
            extents[d] = known_within(text, 0, max(rows.hi, 0))
        steps = strides_text(extents, kind.dtype.itemsize)
        name = self._names.of(step.name)
        place = self.place_of(step.site, size_text(extents, kind.dtype.itemsize))
        shape = ", ".join(extent.text for extent in extents), ", ".join(steps)
        self.write(f"const array {name} = {{{place}, {{{shape[0]}}}, {{{shape[1]}}}, 0}};")
        self._kernels.rank = max(self._kernels.rank, kind.rank)
        for each in filter(None, (step.name, step.reading)):
            self._rings[each] = (name, kind)

    def window(self, ring: str, spans: Sequence[tuple[Whole, Whole]]) -> ArrayText:
        """A row of a folded buffer, for each row of a window of it."""
        if ring in self._own:
            return super().window(ring, spans)
        text, kind = self._rings[ring]
        name, rows = text, []
        for d, (first, count) in zip(kind.folded, spans, strict=True):
            begin = first.text
            if count.text != "1":
                rows.append((d, count))
                begin = f"{first.atom} + @{d}"
            text = f"slinky_rows({text}, {d}, {name}.extents[{d}] * {name}.strides[{d}], {begin}, 1)"
        return ArrayText(text, "", tuple(rows))

    # Calls --------------------------------------------------------------------------------------------------------

    def call(
        self, kernel: str, formula: Formula, arrays: Sequence[ArrayText], numbers: Sequence[str], *, most: int = -1
    ) -> None:
        """Call the function of a formula; row by row along dimensions along which an operand is folded."""
        axes = [*formula.inputs, *_own_axes(formula.rank)]
        along = dict.fromkeys(
            axis.dim
            for array, own in zip(arrays, axes, strict=True)
            for d, _ in array.rows
            if (axis := own[d]) is not None
        )
        if not along:
            alone = [attrs.evolve(array, text=_placed(array, {})) for array in arrays]
            super().call(kernel, formula, alone, numbers, most=most)
            return
        output = arrays[-1]
        counts = dict(output.rows)
        with self.block(""):
            if set(along) - set(counts):
                self.write(f"const array slinky_to = {_placed(output, {})};")
            self._by_rows(kernel, formula, arrays, numbers, list(along), {})

    def _by_rows(
        self,
        kernel: str,
        formula: Formula,
        arrays: Sequence[ArrayText],
        numbers: Sequence[str],
        along: Sequence[int],
        rows: Mapping[int, str],
    ) -> None:
        if along:
            counts = dict(arrays[-1].rows)
            d = along[0]
            count = counts[d].text if d in counts else f"slinky_to.extents[{d}]"
            row = f"slinky_row_{d}"
            with self.block(f"for (int64_t {row} = 0; {row} < {count}; {row}++)"):
                self._by_rows(kernel, formula, arrays, numbers, along[1:], {**rows, d: count})
            return
        axes = [*formula.inputs, *_own_axes(formula.rank)]
        placed: list[ArrayText] = []
        for array, own in zip(arrays, axes, strict=True):
            positions: dict[int, str] = {}
            for d, axis in enumerate(own):
                if axis is not None and axis.dim in rows:
                    row = f"slinky_row_{axis.dim}"
                    if axis.step < 0:
                        row = f"({rows[axis.dim]} - 1 - {row})"
                    positions[d] = row if abs(axis.step) == 1 else f"{abs(axis.step)} * {row}"
            text = _placed(array, positions)
            for d, position in positions.items():
                if d not in dict(array.rows):
                    text = f"slinky_crop({text}, {d}, {position}, {position} + 1)"
            placed.append(attrs.evolve(array, text=text))
        minima = [
            attrs.evolve(m, text=f"{m.atom} + slinky_row_{d}") if d in rows else m
            for d, m in enumerate(arrays[-1].minima)
        ]
        placed[-1] = attrs.evolve(placed[-1], minima=tuple(minima))
        super().call(kernel, formula, placed, numbers)

    def call_copy(self, copier: str, arrays: Sequence[ArrayText], numbers: Sequence[str]) -> None:
        """Call the function of a copy; row by row along dimensions along which the target is folded."""
        *sources, target = arrays
        minima = list(target.minima)
        with ExitStack() as loops:
            for d, count in target.rows:
                row = f"slinky_row_{d}"
                loops.enter_context(self.block(f"for (int64_t {row} = 0; {row} < {count.text}; {row}++)"))
                minima[d] = attrs.evolve(minima[d], text=f"{minima[d].atom} + {row}")
            text = _placed(target, {d: f"slinky_row_{d}" for d, _ in target.rows})
            alone = attrs.evolve(target, text=text, rows=(), minima=tuple(minima))
            super().call_copy(copier, [*sources, alone], numbers)

    def _argument(self, value: Value, dtype: np.dtype[Any], *, is_held: bool = False) -> str:
        floats = set(self._tree.parameters[len(self._tree.parameters) - len(self._program.floats) :])
        if isinstance(value, Name) and value.text in floats and self._program.floats:
            if dtype.kind != "f" or dtype not in C_TYPES:
                raise UnprintableError(f"{value.text} is taken as {dtype}")
            name = self._names.of(value.text)
            if is_held and dtype == np.float32:
                self.refuse(f"{END_OF_FLOAT32!r} <= fabs({name}) && fabs({name}) < INFINITY")
            return f"({C_TYPES[dtype]}){name}"
        return super()._argument(value, dtype, is_held=is_held)


def _own_axes(rank: int) -> list[tuple[Axis | None, ...]]:
    """How the output of a formula moves with its dimensions."""
    return [tuple(Axis(d) for d in range(rank))]


def _placed(array: ArrayText, positions: Mapping[int, str]) -> str:
    """The text of an array, at these rows along dimensions of which there are rows; the first, where none is said."""
    text = array.text
    for d, _ in array.rows:
        text = text.replace(f"@{d}", positions.get(d, "0"))
    return text
