"""How nests are entered and left: what Python calls, and the lines of a function that can be told to stop.

Idea. A function in C is given what it uses in one row of 64 bits each, packed by a function in Python that is made for
it: arrays, and what rings lie on, as NumPy's own objects, of which it reads where their elements are; sites as the
bytes that the plan has reserved; integers; and numbers, converted as NumPy converts them. Its entry looks at all that,
gives the lock of the interpreter away, calls the steps, and takes the lock again.

A signal that has arrived, such as Ctrl-C, is heard when work of `PATIENCE` is done, and an iteration of a loop ends:
the function takes the lock and asks Python. What is done for an element weighs what it takes (`weights`). What the
handler of the signal raises ends the function, and the run. A function of somebody else that fails ends it, too: where,
and with which values of variables, is told beside.

Invariant: what an entry declines, it declines before it has done anything.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from slinky.native.arrivals import ARRIVALS
from slinky.native.c_functions import CFunction, failure_of
from slinky.native.carriers import converted, held, report
from slinky.native.compiling import Compiler, library
from slinky.native.embedding import c_function_of
from slinky.native.integers import LARGEST, Whole
from slinky.native.kernels import OCCURRED
from slinky.native.operators import C_TYPES
from slinky.native.pairing import PairedLines
from slinky.native.statements import ENDED, Given, Lines
from slinky.native.tiles import Surroundings
from slinky.native.unused import without_unused
from slinky.native.weights import PATIENCE
from slinky.runtime.failures import Ended, StopError
from slinky.runtime.plan_tree import Guard, Place, Run, Steps

DECLINED = -1
"""What a function returns that has done nothing."""
APART = -5
"""What a function returns that has done nothing, because elements of arrays lie apart."""
INTERRUPTED = -3
"""What a function returns that ends because Python has something to raise."""

MOST_TOLD = 62
"""The values of so many variables are told, at most, of a call that failed."""

GIVEN = f"""\
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

ORDER = ("array", "ring", "site", "integer", "number", "address", "user_data")


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
    has the name, and asks of strides what the functions take that are not `general`; and the calls that may fail."""

    name: str
    remark: str
    given: tuple[Given, ...]
    text: str
    entry: str
    general: str
    endings: tuple[Ending, ...] = ()


class WatchedLines(PairedLines):
    """The lines of a function that looks out for signals. `endings` are the calls in it that may fail."""

    by_address = True

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self.endings: list[Ending] = []
        self.is_mixed = False
        self._unread = around.unread
        self._inputs = around.inputs

    def array_given(self, name: str) -> str:
        """An array from outside: its name in C; whether it may be written past the caches is told with it."""
        found = super().array_given(name)
        if name in self._unread:
            self.streamed.add(found)
        if name in self._inputs:
            self.outside.add(found)
        return found

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

    def called(self, array: str, rank: int, weight: int) -> list[str]:
        """So much was done."""
        factors = [*(f"{array}.extents[{d}]" for d in range(rank)), *[str(weight)] * (weight > 1)]
        return [f"slinky_done += {' * '.join(factors) or 1};"]

    def iteration_ended(self, body: Steps) -> None:
        """An iteration has ended: ask, if it was long ago, where the loop itself makes calls."""
        inner = [each for step in body for each in ((*step.body, *step.orelse) if isinstance(step, Guard) else (step,))]
        if any(isinstance(step, Run) for step in inner):
            self.asked()

    def spent(self, work: str) -> None:
        """So much was done."""
        self.write(f"slinky_done += {work};")

    def worked(self, first: int, work: int) -> None:
        """The loop is cut into pieces, after which it is asked."""
        at = next(n for n in range(first, len(self.lines)) if self.lines[n].lstrip().startswith("for ("))
        loop, self.lines = self.lines[at:], self.lines[:at]
        header = re.fullmatch(r" *for \(int64_t (\w+) = (.+); \1 < (\w+); \1(?:\+\+| \+= (\w+))\) \{", loop[0])
        assert header is not None  # so loops begin
        name, begin, stop, step = header.groups()
        start, end = self._names.fresh(f"{name}_from"), self._names.fresh(f"{name}_to")
        length = _length_of_piece(max(1, PATIENCE // work), step or "1")
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


def _length_of_piece(count: int, step: str) -> str:
    """So many steps at most, as many as there is room for in 64 bits beside a place. (A product of two constants would
    be an `int`, of 32.)"""
    most = _MOST_LENGTH // (int(step) if step.isdigit() else LARGEST)
    count = min(count, max(most, 1))
    return f"{count * int(step)}LL" if step.isdigit() else f"{count}LL * {step}"


_MOST_LENGTH = 1 << 62


def parameters_of(given: Given) -> dict[str, str]:
    """What the function that does the steps takes for what it is given: by name, how it is declared."""
    name = given.name
    match given.kind:
        case "array":
            return {name: f"array {name}"}
        case "ring":
            wraps = [f"{name}_wraps{n or ''}" for n in range(given.folded)]
            return {name: f"array {name}", **{each: f"int64_t {each}" for each in wraps}}
        case "site":
            return {name: f"char *{name}"}
        case "integer":
            return {name: f"int64_t {name}"}
        case "address" | "user_data":
            return {name: f"uintptr_t {name}"}
        case _:
            assert given.dtype is not None  # it is a number
            return {name: f"{C_TYPES[given.dtype]} {name}"}


def steps_text(name: str, given: Sequence[Given], lines: Lines) -> str:
    """The function that does the steps."""
    head = ["    int64_t slinky_done = 0;"] if any("slinky_done" in line for line in lines.lines) else []
    body = "\n".join([*head, *without_unused(lines.lines), "    return 0;"])
    parameters = ", ".join(text for each in given for text in parameters_of(each).values()) or "void"
    return f"static int {name}_steps({parameters})\n{{\n{body}\n}}\n"


def entry_text(name: str, given: Sequence[Given], lines: Lines, told: str, *, asks_strides: bool) -> str:
    """The function that is called with everything in one array; what it says if all went well."""
    written: list[str] = []
    passed: list[str] = []
    slot = 0
    for each in given:
        passed.append(each.name)
        match each.kind:
            case "array" | "ring":
                size = lines.sizes.get(each.name, 1)
                written.append(f"array {each.name} = {{0, {{0}}, {{0}}, 0}};")
                written.append(
                    f"if (!slinky_take(of[{slot}].array, {{rank}}, {size}, &{each.name})) return {DECLINED};"
                )
                for root, d, bytes_ in lines.follow if asks_strides else ():
                    if root == each.name:
                        follow = f"slinky_follow(&{root}, {d}, {bytes_})"
                        if each.kind == "ring" or root in lines.handed:  # whose stride matters, whatever its extent is
                            follow = f"{root}.strides[{d}] == {bytes_}"
                        written.append(f"if (!({follow})) return {APART};")
                if each.name in lines.streamed or each.name in lines.outside:
                    written.append(f"{each.name}.streams = slinky_is_streamed(of[{slot}].array, {size});")
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
    written += ["slinky_streamed();"] * any(each.name in lines.streamed for each in given)
    written.append("slinky_restore(slinky_state);")
    written.append(f"return ended ? ended : {told};")
    body = "\n".join(f"    {line}" for line in written)
    return f"int {name}(const given *of)\n{{\n{body}\n}}\n"


def nest_library(text: str, made_by: Compiler) -> ctypes.CDLL:
    """The library of a C file with nests. Raises `CompilationError`."""
    loaded = library(text, made_by)
    loaded.slinky_python.argtypes = [ctypes.c_void_p] * 3
    loaded.slinky_python.restype = None
    told = (
        ctypes.pythonapi.PyEval_SaveThread,
        ctypes.pythonapi.PyEval_RestoreThread,
        ctypes.pythonapi.PyErr_CheckSignals,
    )
    loaded.slinky_python(*(ctypes.cast(each, ctypes.c_void_p) for each in told))
    loaded.slinky_told.restype = ctypes.POINTER(ctypes.c_int64)
    return loaded


def nest_function(
    nest: NestText, loaded: ctypes.CDLL, second: Callable[[], ctypes.CDLL | None], bits: tuple[int, ...]
) -> Callable[..., bool]:
    """The function that the plan calls: whether the steps are still to be done. Where elements of arrays lie apart, the
    `second` library is asked for, if it is there."""
    kernel = _TAKES((nest.name, loaded))
    names, packed, form, questions = [], [], "", []
    space: dict[str, Any] = {"kernel": kernel, "converted": converted, "held": held, "refused": _REFUSED}
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
                packed.append(f"{'held' if each.is_held else 'converted'}({name}, d{number})")
                form += {"f": "d", "u": "Q"}.get(each.dtype.kind, "q")
    declines = " or ".join(f"({question}) is None" for question in questions) or "False"
    text = (
        f"def nest({', '.join(names)}):\n"
        f"    if {declines}:\n        return True\n"
        f"    try:\n        packed = pack({', '.join(packed)})\n"
        "    except refused:\n        return True\n"
        "    result = kernel(packed)\n"
        "    return result != 0 and finish(result, packed)\n"
    )

    def finish(result: int, packed: bytes) -> bool:
        ran: ctypes.CDLL | None = loaded
        if result == APART:
            ran = second()
            result = DECLINED if ran is None else _TAKES((nest.name, ran))(packed)
        if result == ENDED:
            assert ran is not None  # it has returned that
            told = ran.slinky_told()
            ending = nest.endings[told[1]]
            raise StopError(ending.failure(told[0], told[2 : 2 + len(ending.variables)]))
        if result < 0:
            return True
        if result:
            report(result, bits)
        return False

    space |= {"pack": struct.Struct(form).pack, "finish": finish}
    exec(compile(text, "<nest>", "exec"), space)
    found: Callable[..., bool] = space["nest"]
    found.__doc__ = nest.text
    return found


_REFUSED = (struct.error, OverflowError, TypeError, ValueError)
"""What is raised for numbers that do not fit: what they are given to says more."""
