"""Random programs of NumPy as source text: functions as people write them, to be run plainly and by `sl.jit`.

    python tests/numpy_programs.py --count 1000 --seed 0            # compare them
    python tests/numpy_programs.py --seed 17 --show                 # print one, as Python that runs by itself
    python tests/numpy_programs.py --count 1000 --native -O1        # in C, compiled faster than for use
    python tests/numpy_programs.py --count 1000 --extremes          # at the ends of dtypes, to the bit
    python tests/numpy_programs.py --count 1000 --numbers           # with numbers among the arguments
    python tests/numpy_programs.py --count 1000 --columns           # on arrays that all lie in columns
    python tests/numpy_programs.py --count 1000 --steps             # each of them again and again (`numpy_steps`)
    python tests/numpy_programs.py --count 1000 --objects           # as methods that change objects (`numpy_objects`)
    python tests/numpy_programs.py --count 1000 --grids             # on grids that they make (`numpy_grids`)
    python tests/numpy_programs.py --count 1000 --kept              # found before, by another trace (`numpy_kept`)

Idea. A program grows line by line. Each line is made of a template, whose holes are filled with values that are there,
and is run at once on arrays: what fails, or gives too much, is drawn again. So programs run without errors, and have
slices that clamp, empty arrays, broadcasting, views that are written through, loops and functions, at no risk.

Invariant: a program is a function of its seed. What is rounded (`Template.rounds`) never reaches what would turn that
into another result, such as a comparison: so results are equal, but for rounding where there was some.
"""

from __future__ import annotations

import argparse
import atexit
import copy
import math
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy_extremes import EXTREMES, tells_zeros_apart
from numpy_templates import (
    BINARY,
    HELPER,
    NUMBERS,
    ROUNDED_COMPLEX,
    SHARP_UFUNCS,
    STATEMENTS,
    TEMPLATES,
    UNARY,
    Material,
    Template,
)

Array = np.ndarray[Any, Any]

_OF_ELEMENTS = re.compile(r'mode="wrap"|"ii')
"""What NumPy must not be asked of axes without elements: `np.take` looks for one without end where nothing else is to
be taken, and the diagonal of 0 x 1 elements that `np.einsum` gives is of memory that is somebody else's."""

Ways = dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]
"""What makes traced functions, by what it is called."""

NEAR = {"e": 1e-2, "f": 1e-3, "F": 1e-3}
"""How near what is rounded must be, in relation to the largest element, by the letters of dtypes."""


def made_array(dtype: str, shape: Sequence[int], seed: int) -> Array:
    """An array of small numbers whose sums are exact, some with layouts of their own."""
    rng = np.random.default_rng(seed)
    layout = seed % 4
    full = [2 * n if layout == 1 and n else n for n in shape]
    values = rng.integers(-6, 7, full)
    if np.dtype(dtype).kind in "bu":
        values = abs(values)
    array = (values / 4 if np.dtype(dtype).kind in "fc" else values).astype(dtype)
    if np.dtype(dtype).kind == "c":
        array = (array + 1j * rng.integers(-3, 4, full)).astype(dtype)
    if layout == 1:
        array = array[tuple(slice(None, None, 2) if n else slice(None) for n in shape)]
    if layout == 2:
        array = np.asfortranarray(array)
    if layout == 3 and array.ndim:
        array = array[::-1]
    return array


SMALL_NUMBERS = Material(
    dtypes=("bool", "uint8", "int16", "int32", "int64", "float32", "float64", "float64", "complex64", "complex128"),
    sizes=(0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17),
    most=5000,
    made=made_array,
    templates=TEMPLATES,
    statements=STATEMENTS,
    numbers=NUMBERS,
)


@attrs.frozen
class Program:
    """A function of arrays as source text, and what it is called with."""

    seed: int
    inputs: tuple[tuple[str, tuple[int, ...], int], ...]
    lines: tuple[str, ...]
    rounded: float
    """How far results may be off, relative to the largest element."""
    material: Material = SMALL_NUMBERS

    @property
    def source(self) -> str:
        """Python that defines it, as `program`."""
        parameters = ", ".join(f"a{k}" for k in range(len(self.inputs)))
        body = "\n".join(f"    {line}" for line in self.lines)
        helper = f"{HELPER}\n\n" if "helper(" in body else ""
        imports = "import math\n\n" if "math." in body else ""
        return f"{imports}import numpy as np\n\n\n{helper}def program({parameters}):\n{body}\n"

    def function(self) -> Callable[..., Any]:
        """The function, made anew."""
        namespace: dict[str, Any] = {"np": np}
        exec(compile(self.source, f"<program {self.seed}>", "exec"), namespace)
        found: Callable[..., Any] = namespace["program"]
        return found

    def arrays(self, more: int = 0) -> tuple[Array, ...]:
        """What it is called with: arrays of its sizes, or larger ones, with other numbers."""
        scalars = self.material.scalars
        return tuple(
            self.material.made(dtype, tuple(n + more if n > 1 else n for n in shape), seed + more * (dtype in scalars))
            for dtype, shape, seed in self.inputs
        )

    def __str__(self) -> str:
        made = self.material.made.__name__
        arrays = [f"    {made}({dtype!r}, {shape}, {seed})," for dtype, shape, seed in self.inputs]
        return "\n".join([self.source, "", "# called with", *arrays])


class Writer:
    """Writes one program, line by line, on real arrays."""

    def __init__(self, seed: int, material: Material = SMALL_NUMBERS) -> None:
        self.material = material
        self.random = random.Random(seed)
        self.seed = seed
        self.rounded: set[str] = set()
        self.near = 1e-9
        """How near results must be, by the least precise dtype that is rounded, of which doubles may be made."""
        self.own: set[str] = set()
        self.lines: list[str] = []
        self.made = 0

    def write(self) -> Program:
        """The program."""
        inputs = self._inputs()
        self.values: dict[str, Any] = {f"a{k}": self.material.made(*each) for k, each in enumerate(inputs)}
        wanted = self.random.randint(2, 14)
        for _ in range(200):
            if len(self.lines) >= wanted:
                break
            if self.own and self.random.random() < 0.25:
                self._add(self._chosen(self.material.statements), is_statement=True)
            else:
                self._add(self._chosen(self.material.templates), is_statement=False)
        names = [name for name in self.values if name.startswith("v")] or ["a0"]
        returned = names[-self.random.choice([1, 2, 3, 4]) :]
        result = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
        if self.random.random() < 0.1:
            result = "{" + ", ".join(f'"{name}": {name}' for name in returned) + "}"
        rounded = self.near if self.rounded & set(returned) else 0.0
        return Program(self.seed, tuple(inputs), (*self.lines, f"return {result}"), rounded, self.material)

    def _inputs(self) -> list[tuple[str, tuple[int, ...], int]]:
        choose = self.random.choice
        rank = choose([1, 1, 2, 2, 2, 3])
        shape = tuple(choose(self.material.sizes) for _ in range(rank))
        while math.prod(shape) > self.material.most:
            shape = tuple(choose(self.material.sizes) for _ in range(rank))
        found = []
        for _ in range(choose([1, 1, 2, 3])):
            own = choose([shape, shape, shape, shape[1:], tuple(choose([n, 1]) for n in shape), tuple(reversed(shape))])
            found.append((choose(self.material.dtypes), own, self.random.randrange(10**6)))
        for _ in range(choose([1, 2, 2, 3]) if self.material.scalars else 0):
            found.append((choose(self.material.scalars), (), self.random.randrange(10**6)))
        return found

    def _chosen(self, templates: Sequence[Template]) -> Template:
        return self.random.choices(templates, [each.weight for each in templates])[0]

    def _add(self, template: Template, is_statement: bool) -> None:
        filled = self._filled(template)
        if filled is None:
            return
        text, read, owned = filled
        tainted = bool(read & self.rounded)
        sharp = template.sharp or any(f"np.{name}(" in text for name in SHARP_UFUNCS) or "astype" in text
        if tainted and (sharp or "maximum" in text or "max(" in text or "min(" in text or "dtype=" in text):
            return
        if is_statement:
            line, target = text, owned
        else:
            target = f"v{self.made}"
            line = f"{target} = {text}"
        if target is None or (_OF_ELEMENTS.search(line) and not all(map(np.size, self.values.values()))):
            return
        tried = self._run([*self.lines, line])
        if tried is None:
            return
        self.values = tried
        self.lines.append(line)
        self.made += not is_statement
        found = tried[target]
        is_complex = any(np.asarray(tried[name]).dtype.kind == "c" for name in read)
        if template.rounds or tainted or (is_complex and any(each in text for each in ROUNDED_COMPLEX)):
            self.near = max(self.near, NEAR.get(np.asarray(found).dtype.char, 0.0))
            # What shares memory is rounded with it.
            self.rounded.add(target)
            if isinstance(found, np.ndarray):
                self.rounded |= {
                    name
                    for name, other in tried.items()
                    if isinstance(other, np.ndarray) and np.may_share_memory(found, other)
                }
        if isinstance(found, np.ndarray) and found.ndim and _is_writeable(found):
            given = [_root(tried[name]) for name in tried if name.startswith("a")]
            if not any(_root(found) is array for array in given):
                self.own.add(target)

    def _filled(self, template: Template) -> tuple[str, set[str], str | None] | None:
        """A line with names in its holes, the names that it reads, and that of the array that it changes."""
        read: set[str] = set()
        first: str | None = None
        owned: str | None = None
        text = template.text
        while (start := text.find("{")) >= 0:
            end = text.index("}", start)
            hole = text[start + 1 : end]
            if hole == "own" and owned is not None:
                piece: str | None = owned
            elif hole in "anmfibtown" or hole == "same":
                piece = self._name(hole, first)
                if piece is None:
                    return None
                read.add(piece)
                first = piece if first is None else first
                owned = piece if hole == "own" else owned
            else:
                piece = self._piece(hole, self.values[first] if first else None)
            if piece is None:
                return None
            text = text[:start] + piece + text[end + 1 :]
        return text, read, owned

    def _name(self, hole: str, first: str | None) -> str | None:
        def fits(name: str, value: Any) -> bool:
            array = np.asarray(value)
            match hole:
                case "n":
                    return isinstance(value, np.ndarray) and array.ndim >= 1
                case "m":
                    return isinstance(value, np.ndarray) and array.ndim >= 2
                case "f":
                    return array.dtype.kind == "f"
                case "i":
                    return array.dtype.kind in "iu"
                case "b":
                    return array.dtype.kind == "b"
                case "t":
                    return not isinstance(value, np.ndarray)
                case "own":
                    return name in self.own
                case "same":
                    return first is None or array.shape == np.shape(self.values[first])
                case _:
                    return True

        names = [name for name, value in self.values.items() if fits(name, value)]
        if not names:
            return None
        late = names[-2:]
        return self.random.choice(late if self.random.random() < 0.7 else names)

    def _piece(self, hole: str, value: Any) -> str | None:
        choose = self.random.choice
        rank = np.ndim(value)
        match hole:
            case "k":
                return str(choose(range(-rank, rank))) if rank else None
            case "s":
                return choose(self.material.numbers)
            case "d":
                return f"np.{choose(['float32', 'float64', 'int32', 'int64', 'complex64', 'bool', 'uint8'])}"
            case "u":
                return f"np.{choose(UNARY)}"
            case "v":
                return f"np.{choose(BINARY)}"
            case "x":
                return self._index(np.shape(value))
            case _:
                raise ValueError(hole)

    def _index(self, shape: Sequence[int]) -> str:
        choose = self.random.choice
        parts = []
        for n in shape[: self.random.randint(1, max(len(shape), 1))]:
            kind = choose(["slice", "slice", "slice", "integer", "all"])
            if kind == "integer" and n:
                parts.append(str(self.random.randrange(-n, n)))
            elif kind == "slice":
                ends = ["", "", "1", "2", "-1", "-2", str(n), str(n + 2), str(-n - 1), str(n // 2)]
                step = choose(["", "", "", ":1", ":2", ":-1", ":3", ":-2"])
                parts.append(f"{choose(ends)}:{choose(ends)}{step}")
            else:
                parts.append(":")
        if self.random.random() < 0.15:
            parts.insert(self.random.randrange(len(parts) + 1), "None")
        if self.random.random() < 0.15:
            parts.insert(0, "...")
            parts = parts[: len(shape)] or ["..."]
        return ", ".join(parts)

    def _run(self, lines: Sequence[str]) -> dict[str, Any] | None:
        """The values after some lines; None if they fail, or a value is too large, or no array of numbers."""
        namespace: dict[str, Any] = {"np": np, "math": math}
        exec(HELPER, namespace)
        given = {name: _copied(value) for name, value in self.values.items() if name.startswith("a")}
        namespace |= given
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore" if self.material.are_extreme else "error")
                for line in lines:
                    exec(line, namespace)
        except Exception:
            return None
        found = {}
        for name, value in namespace.items():
            if name[0] in "av" and name[1:].isdigit():
                if (
                    not isinstance(value, (np.ndarray, np.generic, bool, int, float))
                    or np.size(value) > self.material.most
                ):
                    return None
                if np.asarray(value).dtype.kind not in "biufc" or np.ndim(value) > 6:
                    return None
                if not self.material.are_extreme and not np.all(np.abs(np.asarray(value).astype(complex)) < 1e7):
                    return None
                found[name] = value
        return found


def _copied(value: Any) -> Any:
    """The same array, with the same layout; or the same number."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def _root(array: Any) -> Any:
    """The array that an array is a view of, also where it has no elements."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _is_writeable(array: Array) -> bool:
    """Whether an array can be written to; of those that share elements with themselves, NumPy warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(array.flags.writeable)


def programs(seed: int, count: int, material: Material = SMALL_NUMBERS) -> Iterator[Program]:
    """So many programs, from a seed on."""
    for k in range(count):
        yield Writer(seed + k, material).write()


# Comparing ------------------------------------------------------------------------------------------------------------


def difference(got: Any, want: Any, rounded: float, *, signed: bool = False) -> str | None:
    """What differs between two results: kinds, dtypes, shapes or values; None if nothing does. Where they are `signed`,
    one zero is not the other."""
    if type(got) is not type(want):
        return f"a {type(got).__name__} in place of a {type(want).__name__}"
    if isinstance(want, dict):
        if list(got) != list(want):
            return f"keys {list(got)} in place of {list(want)}"
        return difference(tuple(got.values()), tuple(want.values()), rounded, signed=signed)
    if isinstance(want, tuple):
        if len(got) != len(want):
            return f"{len(got)} results in place of {len(want)}"
        found = (difference(one, other, rounded, signed=signed) for one, other in zip(got, want, strict=True))
        return next((f"result {k}: {each}" for k, each in enumerate(found) if each), None)
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{a.shape} in place of {b.dtype}{b.shape}"
    if rounded and b.dtype.kind in "fc":
        largest = float(np.max(np.abs(b), where=~np.isinf(b), initial=0))
        same = np.isclose(a, b, rtol=rounded, atol=rounded * max(1.0, largest), equal_nan=True)
    else:
        same = np.asarray((a == b) | ((a != a) & (b != b)))
    if signed and b.dtype.kind == "f":
        same = same & ((np.signbit(a) == np.signbit(b)) | (b != b))
    if same.all():
        return None
    place = tuple(int(k) for k in np.argwhere(~same)[0])
    return f"{a[place]} in place of {b[place]} at {place}, {int((~same).sum())} of {same.size} differ"


def run(function: Callable[..., Any], arrays: Sequence[Array]) -> tuple[Any, str | None]:
    """What a function gives for copies of arrays, and what it wrote to them or raised."""
    given = list(map(_copied, arrays))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*given)
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:300]}"
    both = enumerate(zip(given, arrays, strict=True))
    changed = [k for k, (a, b) in both if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes()]
    return result, f"it wrote to a{changed[0]}" if changed else None


def fault(program: Program, jit: Callable[[Callable[..., Any]], Callable[..., Any]]) -> str | None:
    """What is wrong with a program under `jit`: on its arrays, again, and on larger ones; None if nothing is."""
    traced = jit(program.function())
    signed = program.material.are_extreme and tells_zeros_apart(program.source)
    for what, arrays in (
        ("", program.arrays()),
        ("again: ", program.arrays()),
        ("on larger arrays: ", program.arrays(3)),
    ):
        want, failed = run(program.function(), arrays)
        got, wrong = run(traced, arrays)
        if failed is not None:
            if failed.startswith("it wrote") or _error(wrong) == _error(failed):
                continue
            if wrong is None and any(
                run(attrs.evolve(program, lines=lines).function(), arrays)[1] is None
                for lines in (_needed(program.lines), _spared(program, arrays))
            ):
                continue  # what no result depends on is not computed, and raises no errors
            return f"{what}{wrong or 'a result'} in place of {failed}"
        if wrong is not None and "writes to its argument" in wrong:
            continue  # also where it writes what is there already
        wrong = wrong or difference(got, want, program.rounded, signed=signed)
        if wrong is not None:
            return what + wrong
    return None


def _needed(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines of a program without those that only give a name to what no later line speaks of."""
    kept: list[str] = []
    names: set[str] = set()
    for line in reversed(lines):
        given = re.match(r"(\w+) = ", line)
        if given is None or given[1] in names:
            kept.append(line)
            names.update(re.findall(r"\w+", line))
    return tuple(reversed(kept))


def _spared(program: Program, arrays: Sequence[Array]) -> tuple[str, ...]:
    """The lines of a program without those that fail, which would give a name to something, and without those that
    speak of such names alone; all of them where others speak of these, too."""
    names: dict[str, Any] = {"np": np, "math": math} | {f"a{k}": _copied(array) for k, array in enumerate(arrays)}
    exec(HELPER, names)
    kept: list[str] = []
    gone: set[str] = set()
    for line in program.lines[:-1]:
        given = re.match(r"(\w+) = ", line)
        spoken = set(re.findall(r"\b[av]\d+\b", line))
        if spoken & gone:
            if given is None and not spoken <= gone:
                return program.lines
            gone |= {given[1]} if given is not None else set()
            continue
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(line, names)
            kept.append(line)
        except Exception:
            if given is None:
                return program.lines
            gone.add(given[1])
    return (*kept, program.lines[-1])


def _error(failed: str | None) -> str:
    """The kind of an error; what follows from shapes is found at another place in functions that are traced."""
    name = (failed or "").partition(":")[0]
    return "ValueError or IndexError" if name in ("ValueError", "IndexError", "AxisError") else name


def kind_of(wrong: str | None) -> str | None:
    """What faults that have one cause have in common, mostly: their text without numbers."""
    return None if wrong is None else re.sub(r"[\d.]+|\(.*?\)|again: |on larger arrays: ", "", wrong)[:50]


def smallest(program: Program, jit: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Program:
    """The program without results and lines that its fault does not need."""
    wrong = fault(program, jit) or ""
    kind = kind_of(wrong)

    def fails(tried: Program) -> bool:
        _, failed = run(tried.function(), tried.arrays())
        return failed is None and kind_of(re.sub(r"^result \d+: ", "", fault(tried, jit) or "")) == bare

    bare = kind_of(re.sub(r"^((?:again|on larger arrays): )?result \d+: ", "", wrong))
    for name in dict.fromkeys(re.findall(r"\b[av]\d+\b", program.lines[-1])):
        tried = attrs.evolve(program, lines=(*program.lines[:-1], f"return {name}"))
        if fails(tried):
            program, kind = tried, bare
            break
    at = len(program.lines) - 2
    while at >= 0:
        tried = attrs.evolve(program, lines=(*program.lines[:at], *program.lines[at + 1 :]))
        _, failed = run(tried.function(), tried.arrays())
        if failed is None and (fails(tried) or kind_of(fault(tried, jit)) == kind):
            program = tried
        at -= 1
    return program


def main() -> int:
    """Compare programs with what `sl.jit` makes of them; the status is 1 if any differs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end earlier")
    parser.add_argument("--show", action="store_true", help="print the programs and run nothing")
    parser.add_argument("--most", type=int, default=5, help="end after so many kinds of faults")
    parser.add_argument("--turns", action="store_true", help="whole and by pieces in turns, not each in both")
    parser.add_argument("--native", action="store_true", help="by pieces, in C")
    parser.add_argument("--moved", action="store_true", help="by pieces, after they have moved to C")
    parser.add_argument("-O", default="3", help="how much the compiler does about it")
    parser.add_argument("--sanitize", action="store_true", help="with checks of addresses and of what C leaves open")
    parser.add_argument("--extremes", action="store_true", help="on what is at the ends of dtypes, with exact=True")
    parser.add_argument("--numbers", action="store_true", help="with numbers among the arguments")
    parser.add_argument("--columns", action="store_true", help="on arrays that all lie in columns")
    parser.add_argument("--steps", action="store_true", help="in loops, what comes of a step going into the next one")
    parser.add_argument("--objects", action="store_true", help="as methods that change the attributes of an object")
    parser.add_argument("--grids", action="store_true", help="on arrays that they make of numbers")
    parser.add_argument("--kept", action="store_true", help="when what they need has been found before")
    options = parser.parse_args()
    is_moved = options.moved
    ways = in_c(options.O, options.sanitize, is_moved=is_moved) if options.native or is_moved else jits()
    if options.extremes:
        ways = exactly(ways)
    material = EXTREMES if options.extremes else SMALL_NUMBERS
    if options.numbers:
        from numpy_numbers import NUMBERED

        material = NUMBERED
    if options.columns:
        from slinky.frontend import lying

        lying.LARGE = 0  # small ones count, too
        material = in_columns(material)
    drawn = programs(options.seed, options.count, material)
    if options.steps:
        from numpy_steps import counts_as_long, in_steps

        for module, values in counts_as_long().items():
            vars(module).update(values)
        drawn = in_steps(drawn)
    if options.objects:
        from numpy_objects import in_objects, of_methods

        drawn, ways = in_objects(drawn), of_methods(ways)
    if options.grids:
        from numpy_grids import count_as_large, with_grids

        count_as_large()
        drawn = with_grids(drawn)
    if options.kept:
        from numpy_kept import FOUND, known_before

        ways = known_before(ways)
        atexit.register(lambda: print(f"found before: {dict(FOUND)}"))
    if options.show:
        for program in drawn:
            print(program, end="\n\n")
        return 0
    return compare(drawn, options.most, options.seconds, ways, options.turns)


def compare(given: Iterable[Program], most: int, seconds: float, ways: Ways, takes_turns: bool = False) -> int:
    """Compare programs, print the first fault of each kind, as small as it gets, and how many there are."""
    start, tried = time.monotonic(), 0
    kinds: Counter[str | None] = Counter()
    for program in given:
        tried += 1
        for name, jit in list(ways.items())[tried % len(ways) :][:1] if takes_turns else ways.items():
            kind = kind_of(fault(program, jit))
            if kind is None:
                continue
            kinds[kind] += 1
            if kinds[kind] == 1:
                small = smallest(program, jit)
                print(f"# seed {program.seed}, {name}: {fault(small, jit)}\n{small}\n", flush=True)
            break
        if tried % 500 == 0:
            print(f"{tried} programs, {sum(kinds.values())} differ so far", flush=True)
        if len(kinds) >= most or time.monotonic() - start > seconds:
            break
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    print(f"{tried} programs, {sum(kinds.values())} differ")
    return 1 if kinds else 0


def in_c(optimize: str, is_sanitized: bool, *, is_moved: bool) -> Ways:
    """What traces functions and runs them in C by pieces, or as far as they have moved there after the first call, with
    a compiler that is asked for so much."""
    from traced import PIECES, jit

    from slinky.native import compiling, streaming

    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all") if is_sanitized else ()
    flags = [f"-O{optimize}" if flag.startswith("-O") else flag for flag in compiling.FLAGS]
    compiling.FLAGS = (*flags, *checks, "-Werror=overflow")  # type: ignore[assignment]
    streaming.LEAST_BYTES = 100  # small arrays go past the caches, too
    return {"moved": moved} if is_moved else {"in C": partial(jit, native=True, machine=PIECES)}


def in_columns(material: Material) -> Material:
    """The same arrays, all of them in columns, and of the lines those that are known in reverse."""
    return attrs.evolve(
        material,
        made=lambda *given: np.array(material.made(*given), order="F"),
        templates=[each for each in material.templates if not _IN_ROWS.search(each.text)],
        statements=[each for each in material.statements if not _IN_ROWS.search(each.text)],
    )


_IN_ROWS = re.compile(
    r"reshape|ravel|flat|take|ein|argsort|linspace|fft|partition|reduce|accumulate|isin|mat|@|dot|inner|outer|pack|vec|"
    r"convolve|correlate|digitize|search|cross|unique|nonzero|count|hist|interp|trace|diag|tri|quantile|percentile|argm|"
    r"float|int\(|if |item|repeat|kron|apply|choose|compress|select|tile|resize|logical_or|linalg|poly|trapez|average"
)
"""What is not."""


def exactly(ways: Ways) -> Ways:
    """The same with NumPy's bits, of those that can be asked for them."""
    return {name: partial(way, exact=True) for name, way in ways.items() if name != "for C"}


def moved(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A traced function that is called before its schedules move to C, and after that."""
    from traced import PIECES, jit

    traced = jit(function, native=None, machine=PIECES, **options)

    def run(*given: Any) -> Any:
        traced(*(each if isinstance(each, np.ndarray) else copy.deepcopy(each) for each in given))  # objects may change
        traced.wait_native()
        return traced(*given)

    return run


def jits() -> Ways:
    """What traces functions: for a usual machine, on which small arrays are computed whole; for one on which they go by
    pieces; and into the funcs that loops in C would be made of."""
    from traced import MACHINE, PIECES, for_c, jit

    return {"whole": partial(jit, machine=MACHINE), "by pieces": partial(jit, machine=PIECES), "for C": for_c}


if __name__ == "__main__":
    sys.exit(main())
