"""Whole nests in C: of a plan tree, the largest parts whose calls are all arithmetic become one function each.

Idea. A run of steps that can be printed (see `statements`) is taken out of the plan: loops, integers, views and calls
become a C function, and the plan calls that one, with the lock of the interpreter released, where the steps stood. What
stands around it, parallel loops, memory, checks, callbacks, stays a plan in Python. What the steps use from outside is
passed: arrays, and what rings lie on, as NumPy's own objects, of which the function reads where their elements are;
sites as the bytes that the plan has reserved; integers; and numbers, converted as NumPy converts them.

The function may decline, before it has done anything: where integers are too large to be sure of 64 bits, a divisor is
0, elements are not where their dtype wants them, a site has no memory yet, or a folded buffer moves on in plain memory,
for want of mirrored memory. It stops where a question of the plan
ends the run. In both cases the plan does the same steps itself, so they stay in it: what declines is computed there,
and what fails, fails there, with its place.

A signal that has arrived, such as Ctrl-C, is heard every `PATIENCE` elements, when an iteration of a loop ends: the
function takes the lock and asks Python. What its handler raises ends the function, and the run.

Invariants: a name that steps outside use is given its value outside. Steps that are put before a nest do nothing but
name values, and cannot fail. A function that has begun ends, or comes to a question at which the steps fail, too.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs

from slinky.ir.combined import formula_of
from slinky.ir.reducing import combined_of
from slinky.ir.statements import LoweredFunc, Program
from slinky.native.arrivals import ARRIVALS
from slinky.native.c_functions import CFunction, failure_of
from slinky.native.carriers import converted, exception_bits, report
from slinky.native.compiling import Compiler, library
from slinky.native.embedding import c_function_of
from slinky.native.fetching import loops_around_own, with_fetches_inside
from slinky.native.integers import HELPERS, LARGEST, UnprintableError, Whole
from slinky.native.kernel_sets import Kernels
from slinky.native.kernels import OCCURRED, without_unused
from slinky.native.names import CNames
from slinky.native.operators import C_TYPES
from slinky.native.statements import ARRAYS, ENDED, Given, Lines
from slinky.native.states import states_in_place
from slinky.native.tiles import TileLines, integers_assigned, loop_variables
from slinky.native.walking import blocks_of_step, every_step, sites_of
from slinky.native.windows import with_windows_inside
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.uses import names_assigned, names_used
from slinky.runtime.collector import collector_paused
from slinky.runtime.failures import Ended, StopError
from slinky.runtime.plan_tree import (
    Assign,
    At,
    Fetch,
    FetchWithin,
    Guard,
    Integer,
    Loop,
    Name,
    Nest,
    Node,
    ParallelLoop,
    Place,
    PlanTree,
    Quotient,
    RecordBlock,
    RecordCall,
    Remainder,
    Run,
    StagedLoop,
    Step,
    Steps,
    Stop,
    Window,
    acts,
)

DECLINED = -1
"""What a function returns that has done nothing."""
INTERRUPTED = -3
"""What a function returns that ends because Python has something to raise."""
PATIENCE = 1 << 26
"""So many elements are computed before it is asked whether a signal has arrived."""

MOST_TOLD = 62
"""The values of so many variables are told, at most, of a call that failed."""

HEAD = """\
#include <fenv.h>
#include <math.h>
#include <stdint.h>

"""

_GIVEN = f"""\
{ARRIVALS}
/* How to give Python's lock away and take it again, and to let it look after signals: what a function is told. */
static void *(*slinky_save)(void);
static void (*slinky_restore)(void *);
static int (*slinky_signals)(void);
static _Thread_local void *slinky_state;

void slinky_python(void *(*save)(void), void (*restore)(void *), int (*signals)(void))
{{
    slinky_save = save;
    slinky_restore = restore;
    slinky_signals = signals;
}}

/* Whether a signal that has arrived ends the run. */
static int slinky_is_interrupted(void)
{{
    fexcept_t occurred;
    fegetexceptflag(&occurred, FE_ALL_EXCEPT);
    slinky_restore(slinky_state);
    const int raised = slinky_signals();
    slinky_state = slinky_save();
    fesetexceptflag(&occurred, FE_ALL_EXCEPT);
    return raised;
}}

static inline int slinky_is_small(int64_t n) {{ return -{LARGEST}LL <= n && n <= {LARGEST}LL; }}

/* What a function of somebody else returned that failed, which call of the nest it was, and the variables there. */
static _Thread_local int64_t slinky_failure[{MOST_TOLD + 2}];
int64_t *slinky_told(void) {{ return slinky_failure; }}

/* Exceptions of floating point arithmetic are those of before. */
static inline void slinky_forget(int before)
{{
    feclearexcept(FE_ALL_EXCEPT & ~before);
}}
"""

_TAKES = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
"""What functions are called as: with the lock, which they give away themselves; what they leave raised is raised."""

_ORDER = ("array", "ring", "site", "integer", "number", "address", "user_data")


@attrs.frozen
class Ending:
    """A call in a nest of a function of somebody else, which may fail: the function, its place, and the variables of
    which the nest tells the values."""

    function: CFunction
    place: Place
    variables: tuple[str, ...]

    def failure(self, code: int, values: Sequence[int]) -> Ended:
        """What to say of a code."""
        error = failure_of(self.function, code)
        return Ended(error, self.place, dict(zip(self.variables, values, strict=True)))


@attrs.frozen(eq=False)
class NestText:
    """A nest: what it calls; what it is given, in this order; its function in C, and the one that Python calls, which
    has the name; and the calls that may fail."""

    name: str
    remark: str
    given: tuple[Given, ...]
    text: str
    entry: str
    endings: tuple[Ending, ...] = ()


def _is_understood(func: LoweredFunc) -> bool:
    """Whether it is known what a func computes."""
    return formula_of(func) is not None or combined_of(func) is not None


def _any(func: LoweredFunc) -> bool:
    """Whether C may compute a func, if it knows how: it may do all."""
    return True


def with_nests(
    tree: PlanTree, made_by: Compiler, program: Program, may_do: Callable[[LoweredFunc], bool] = _any
) -> PlanTree:
    """The plan tree of a program that calls C functions for its nests, of funcs that C `may_do`; the same one where
    there are none.

    Raises `CompilationError` if the compiler fails.
    """
    bits = exception_bits(made_by)
    if bits is None:
        return tree
    with collector_paused():
        found = Nests(tree, WatchedLines, program, may_do)
        changed = found.tree()
    if not found.texts:
        return tree
    loaded = library(found.source(), made_by)
    loaded.slinky_python.argtypes = [ctypes.c_void_p] * 3
    loaded.slinky_python.restype = None
    told = (
        ctypes.pythonapi.PyEval_SaveThread,
        ctypes.pythonapi.PyEval_RestoreThread,
        ctypes.pythonapi.PyErr_CheckSignals,
    )
    loaded.slinky_python(*(ctypes.cast(each, ctypes.c_void_p) for each in told))
    loaded.slinky_told.restype = ctypes.POINTER(ctypes.c_int64)
    functions = {each.name: _function(each, loaded, bits) for each in found.texts}
    return attrs.evolve(changed, objects={**tree.objects, **functions})


def names_outside_nests(tree: PlanTree) -> set[str]:
    """The names of callbacks that a tree calls also where no function in C does."""
    waiting = [*tree.body, *(() if tree.again is None else tree.again.body)]
    found: set[str] = set()
    while waiting:
        step = waiting.pop()
        if isinstance(step, Run):
            found.add(step.callback.text)
        elif not isinstance(step, Nest):
            waiting += [each for block in blocks_of_step(step) for each in block]
    return found


class WatchedLines(TileLines):
    """The lines of a function that looks out for signals. `endings` are the calls in it that may fail."""

    by_address = True

    def __init__(
        self,
        tree: PlanTree,
        sites: Mapping[str, SiteKind],
        kernels: Kernels,
        names: CNames,
        states: frozenset[str],
        own: Collection[str],
    ) -> None:
        super().__init__(tree, sites, kernels, names, states, own)
        self.endings: list[Ending] = []
        self.is_mixed = False

    def around(self, call: str) -> list[str]:
        """What a function of somebody else leaves of exceptions of floating point arithmetic is not said, so it must
        not be among those of formulas."""
        if not self.is_mixed:
            return [call]
        return [
            f"const int slinky_before = {OCCURRED};",
            call,
            f"if ({OCCURRED} != slinky_before) slinky_forget(slinky_before);",
        ]

    def ended(self, run: Run) -> None:
        """The function says which call failed, how, and where."""
        function = c_function_of(self._tree.callbacks[run.callback.text])
        assert function is not None  # it was called
        names = [n for n in dict.fromkeys(run.place.variables.values()) if isinstance(self._known.get(n), Whole)]
        self.write("slinky_failure[0] = slinky_code;")
        self.write(f"slinky_failure[1] = {len(self.endings)};")
        for number, name in enumerate(names[:MOST_TOLD], 2):
            self.write(f"slinky_failure[{number}] = {self._whole_named(name).text};")
        self.endings.append(Ending(function, run.place, tuple(names[:MOST_TOLD])))
        self.write(f"return {ENDED};")

    def called(self, output: str, rank: int) -> list[str]:
        """So many elements were computed."""
        extents = [f"{output}.extents[{d}]" for d in range(rank)]
        return [f"slinky_done += {' * '.join(extents) or 1};"]

    def iteration_ended(self, body: Steps) -> None:
        """An iteration has ended: ask, if it was long ago, where the loop itself makes calls."""
        inner = [each for step in body for each in ((*step.body, *step.orelse) if isinstance(step, Guard) else (step,))]
        if any(isinstance(step, Run) for step in inner):
            self.asked()

    def spent(self, work: str) -> None:
        """So many elements were computed."""
        self.write(f"slinky_done += {work};")

    def worked(self, first: int, work: int) -> None:
        """The loop is cut into pieces, after which it is asked."""
        at = next(n for n in range(first, len(self.lines)) if self.lines[n].lstrip().startswith("for ("))
        loop, self.lines = self.lines[at:], self.lines[:at]
        header = re.fullmatch(r" *for \(int64_t (\w+) = (.+); \1 < (\w+); \1(?:\+\+| \+= (\w+))\) \{", loop[0])
        assert header is not None  # so loops begin
        name, begin, stop, step = header.groups()
        start, end = self._names.fresh(f"{name}_from"), self._names.fresh(f"{name}_to")
        length = f"{max(1, PATIENCE // work)} * {step or 1}".removesuffix(" * 1")
        with self.block(f"for (int64_t {start} = {begin}; {start} < {stop}; {start} += {length})"):
            self.write(f"const int64_t {end} = slinky_min({stop}, {start} + {length});")
            loop[0] = loop[0].replace(f"= {begin};", f"= {start};", 1).replace(f"< {stop};", f"< {end};", 1)
            self.lines += [f"    {line}" for line in loop]
            self.write(f"slinky_done += ({end} - {start}) * {work};")
            self.asked()

    def asked(self) -> None:
        """Ask, if it was long ago."""
        with self.block(f"if (slinky_done > {PATIENCE})"):
            self.write("slinky_done = 0;")
            self.write(f"if (slinky_is_interrupted()) return {INTERRUPTED};")


class Nests:
    """The nests of the tree of a program, of functions with such lines; `texts` has them once the changed `tree` was
    made."""

    def __init__(
        self, tree: PlanTree, lines: type[TileLines], program: Program, may_do: Callable[[LoweredFunc], bool] = _any
    ) -> None:
        self._own = loops_around_own(program)
        self._states = states_in_place(program)
        self._lines = lines
        self._may_do = may_do
        self._kernels = Kernels()
        tree = self._tree = with_windows_inside(tree)
        self._sites = sites_of(tree)
        tree = self._tree = with_fetches_inside(tree, self._own, self._may_be_printed)
        self._integers = integers_assigned(tree)
        self._variables = loop_variables(tree)
        self._sites = sites_of(tree)
        self._taken = set(_texts(tree))
        self.texts: list[NestText] = []

    def tree(self) -> PlanTree:
        """The tree, with steps that are nests as such."""
        tree = self._tree
        again = tree.again
        if again is None:
            return attrs.evolve(tree, body=self._block(tree.body, set()))
        return attrs.evolve(tree, again=attrs.evolve(again, body=self._block(again.body, set())))

    def source(self) -> str:
        """One C file with all nests."""
        parts = [HEAD, HELPERS, "\n", ARRAYS.format(rank=self._kernels.rank), "\n", _GIVEN]
        parts.append(self._kernels.buffers())
        parts += [f"\n{text}" for text in self._kernels.texts()]
        parts += [f"\n{each.text}\n{each.entry}".replace("{rank}", str(self._kernels.rank)) for each in self.texts]
        return "".join(parts)

    def portable_source(self) -> str:
        """One C file with the functions of all nests, without those that Python calls."""
        parts = [HEAD, HELPERS, "\n", ARRAYS.format(rank=self._kernels.rank), self._kernels.buffers()]
        parts += [f"\n{text}" for text in self._kernels.texts()]
        parts += [f"\n/* {each.remark} */\n{each.text.removeprefix('static ')}" for each in self.texts]
        return "".join(parts)

    # Which steps --------------------------------------------------------------------------------------------------

    def _block(self, steps: Steps, later: set[str]) -> Steps:
        """Steps of a block, nests as such; `later` are names that steps behind the block use of it."""
        found: list[Step] = []
        begin = 0
        while begin < len(steps):
            end = begin
            while end < len(steps) and self._may_be_printed(steps[end]):
                end += 1
            if end == begin:
                found.append(self._inside(steps[begin]))
                begin += 1
                continue
            while end > begin and not acts(steps[end - 1]):
                end -= 1  # what stands behind the last call may as well stay
            if end == begin:
                found.append(steps[begin])
                begin += 1
                continue
            found += self._run_of(steps[begin:end], later | names_used(steps[end:]))
            begin = end
        return tuple(found)

    def _run_of(self, steps: Steps, later: set[str]) -> Sequence[Step]:
        """Steps, the last of which acts, that may be one nest."""
        outside = _needed_outside(steps, later)
        if outside is None:
            if len(steps) == 1:
                return [self._inside(steps[0])]
            middle = len(steps) // 2
            return self._block(steps[:middle], later | names_used(steps[middle:])) + self._block(steps[middle:], later)
        inside = tuple(step for step in steps if step not in outside)
        nest = self._nest(inside) if _is_worthwhile(inside) else None
        if nest is None:
            return [self._inside(step) for step in steps]
        return [*outside, nest]

    def _inside(self, step: Step) -> Step:
        """A step that stays, with the nests that are inside."""
        match step:
            case Loop() | ParallelLoop() | RecordBlock() | RecordCall():
                return attrs.evolve(step, body=self._block(step.body, set()))
            case Guard():
                return attrs.evolve(step, body=self._block(step.body, set()), orelse=self._block(step.orelse, set()))
            case StagedLoop():
                stages = tuple([attrs.evolve(each, body=self._block(each.body, set())) for each in step.stages])
                return attrs.evolve(step, stages=stages)
            case _:
                return step

    def _may_be_printed(self, step: Step) -> bool:
        match step:
            case Assign() | Stop() | FetchWithin():
                return True
            case Fetch(folds=folds, site=site):
                kind = self._sites[site.text]
                return kind.layout is None and (not folds or kind.buffer in self._states)
            case Run(callback=callback):
                func = self._tree.callbacks[callback.text]
                return c_function_of(func) is not None or (self._may_do(func) and self._kernels.knows(func))
            case Loop() | Guard():
                return all(map(self._may_be_printed, (each for block in blocks_of_step(step) for each in block)))
        return False

    # Printing -----------------------------------------------------------------------------------------------------

    def _nest(self, steps: Steps) -> Nest | None:
        """A nest of these steps; None where they have no text."""
        names = CNames()
        lines = self._lines(self._tree, self._sites, self._kernels, names, self._states, self._own)
        runs = [self._tree.callbacks[each.callback.text] for each in every_step(steps) if isinstance(each, Run)]
        has_formulas = any(map(_is_understood, runs))
        if isinstance(lines, WatchedLines):
            lines.is_mixed = has_formulas
        try:
            with self._kernels.tried():
                lines.look_around(steps, self._integers, self._variables)
                lines.steps(steps)
        except UnprintableError:
            return None
        name = next(n for k in range(1, len(self._taken) + 2) if (n := f"nest_{k}") not in self._taken)
        self._taken.add(name)
        used = {*re.findall(r"[A-Za-z_]\w*", "\n".join(without_unused(lines.lines))), *lines.divisors}
        asked = [each for each in lines.given.values() if each.kind != "integer" or each.name in used]
        given = tuple(sorted(asked, key=lambda each: _ORDER.index(each.kind)))
        named = ", ".join(dict.fromkeys(func.name for func in runs))
        endings = tuple(lines.endings) if isinstance(lines, WatchedLines) else ()
        entry = _entry(name, given, lines, "occurred" if has_formulas else "0")
        self.texts.append(NestText(name, named, given, _text(name, given, lines), entry, endings))
        remark = f"in C: {named}; what that declines is done here"
        return Nest(Name(name), tuple(each.value for each in given), steps, remark)


def _is_worthwhile(steps: Steps) -> bool:
    """Whether more than one call is made: one alone is called as cheaply by itself."""
    runs = [step for step in every_step(steps) if isinstance(step, Run)]
    return len(runs) > 1 or any(isinstance(step, Loop) for step in every_step(steps) if runs)


def _needed_outside(steps: Steps, later: set[str]) -> tuple[Step, ...] | None:
    """Those of some steps that name what is used behind them, with what they need: to be done before the others. None
    where that cannot be."""
    needed = set(later)
    found: list[Step] = []
    for step in reversed(steps):
        if needed.intersection(names_assigned(step)):
            found.append(step)
            needed |= names_used((step,))
    if not all(isinstance(step, (Assign, Fetch, FetchWithin)) and _cannot_fail(step) for step in found):
        return None
    return tuple(reversed(found))


def _cannot_fail(step: Node) -> bool:
    """Whether naming a value does nothing else. Divisions may fail, and so do windows and blocks that are not there."""
    for node in _nodes(step):
        if isinstance(node, (At, Window)):
            return False
        if isinstance(node, (Quotient, Remainder)) and not isinstance(node.denominator, Integer):
            return False
    return True


def _nodes(root: object) -> Iterator[object]:
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple):
            waiting += item
        elif isinstance(item, Node):
            yield item
            waiting += [getattr(item, field.name) for field in attrs.fields(cast(Any, type(item)))]


def _texts(tree: PlanTree) -> Iterator[str]:
    """All names of a tree, and other texts."""
    yield from (*tree.objects, *tree.arenas, *tree.parameters, tree.function)
    roots: list[object] = [tree.body]
    if tree.again is not None:
        yield from (tree.again.name, *tree.again.parameters)
        roots.append(tree.again.body)
    for node in _nodes(tuple(roots)):
        for field in attrs.fields(cast(Any, type(node))):
            value = getattr(node, field.name)
            yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str))


# ----------------------------------------------------------------------------------------------------------------
# Functions
# ----------------------------------------------------------------------------------------------------------------


def _parameters(given: Sequence[Given]) -> str:
    found: list[str] = []
    for each in given:
        match each.kind:
            case "array":
                found.append(f"array {each.name}")
            case "ring":
                found.append(f"array {each.name}")
                found += [f"int64_t {each.name}_wraps{n or ''}" for n in range(each.folded)]
            case "site":
                found.append(f"char *{each.name}")
            case "integer":
                found.append(f"int64_t {each.name}")
            case "address" | "user_data":
                found.append(f"uintptr_t {each.name}")
            case _:
                assert each.dtype is not None  # it is a number
                found.append(f"{C_TYPES[each.dtype]} {each.name}")
    return ", ".join(found) or "void"


def _text(name: str, given: Sequence[Given], lines: Lines) -> str:
    """The function that does the steps."""
    head = ["    int64_t slinky_done = 0;"] if any("slinky_done" in line for line in lines.lines) else []
    body = "\n".join([*head, *without_unused(lines.lines), "    return 0;"])
    return f"static int {name}_steps({_parameters(given)})\n{{\n{body}\n}}\n"


def _entry(name: str, given: Sequence[Given], lines: Lines, told: str) -> str:
    """The function that is called with everything in one array; what it says if all went well."""
    written: list[str] = []
    passed: list[str] = []
    slot = 0
    for each in given:
        passed.append(each.name)
        match each.kind:
            case "array" | "ring":
                size = lines.sizes.get(each.name, 1)
                written.append(f"array {each.name} = {{0, {{0}}, {{0}}}};")
                written.append(
                    f"if (!slinky_take(of[{slot}].array, {{rank}}, {size}, &{each.name})) return {DECLINED};"
                )
                passed += [f"of[{slot + 1 + n}].integer" for n in range(each.folded)]
                slot += each.folded
            case "site":
                passed[-1] = f"of[{slot}].array->data"
            case "integer":
                written.append(f"const int64_t {each.name} = of[{slot}].integer;")
                written.append(f"if (!slinky_is_small({each.name})) return {DECLINED};")
            case "address" | "user_data":
                passed[-1] = f"(uintptr_t)of[{slot}].natural"
            case _:
                assert each.dtype is not None  # it is a number
                field = {"f": "number", "u": "natural"}.get(each.dtype.kind, "integer")
                passed[-1] = f"({C_TYPES[each.dtype]})of[{slot}].{field}"
        slot += 1
    if lines.divisors:
        written.append(f"if ({' || '.join(f'{each} == 0' for each in lines.divisors)}) return {DECLINED};")
    written.append("slinky_state = slinky_save();")
    asks = told != "0"
    written += ["feclearexcept(FE_ALL_EXCEPT);"] * asks
    written.append(f"const int ended = {name}_steps({', '.join(passed)});")
    written += [f"const int {told} = {OCCURRED};"] * asks
    written.append("slinky_restore(slinky_state);")
    written.append(f"return ended ? ended : {told};")
    body = "\n".join(f"    {line}" for line in written)
    return f"int {name}(const given *of)\n{{\n{body}\n}}\n"


def _function(nest: NestText, loaded: ctypes.CDLL, bits: tuple[int, ...]) -> Callable[..., bool]:
    """The function that the plan calls: whether the steps are still to be done."""
    kernel = _TAKES((nest.name, loaded))
    names, packed, form, questions = [], [], "", []
    space: dict[str, Any] = {"kernel": kernel, "converted": converted, "refused": _REFUSED}
    for number, each in enumerate(nest.given):
        name = f"v{number}"
        names.append(name)
        match each.kind:
            case "array":
                packed.append(f"id({name})")
                form += "n"
            case "ring":
                questions.append(f"w{number} := {name}.whole")
                packed += [f"id(w{number})", f"*{name}.wraps"]
                form += "n" + "q" * each.folded
            case "site":
                questions.append(f"m{number} := {name}.memory")
                packed.append(f"id(m{number})")
                form += "n"
            case "integer":
                packed.append(name)
                form += "q"
            case "address" | "user_data":
                packed.append(f"{name}.{each.kind}")
                form += "Q"
            case _:
                assert each.dtype is not None  # it is a number
                space[f"d{number}"] = each.dtype
                packed.append(f"converted({name}, d{number})")
                form += {"f": "d", "u": "Q"}.get(each.dtype.kind, "q")
    declines = " or ".join(f"({question}) is None" for question in questions) or "False"
    text = (
        f"def nest({', '.join(names)}):\n"
        f"    if {declines}:\n        return True\n"
        f"    try:\n        packed = pack({', '.join(packed)})\n"
        "    except refused:\n        return True\n"
        "    result = kernel(packed)\n"
        "    return result != 0 and finish(result)\n"
    )

    def finish(result: int) -> bool:
        if result == ENDED:
            told = loaded.slinky_told()
            ending = nest.endings[told[1]]
            raise StopError(ending.failure(told[0], told[2 : 2 + len(ending.variables)]))
        if result < 0:
            return True
        report(result, bits)
        return False

    space |= {"pack": struct.Struct(form).pack, "finish": finish}
    exec(compile(text, "<nest>", "exec"), space)
    found: Callable[..., bool] = space["nest"]
    found.__doc__ = nest.text
    return found


_REFUSED = (struct.error, OverflowError, TypeError, ValueError)
"""What is raised for numbers that do not fit: what they are given to says more."""
