"""Random programs of NumPy as source text: functions as people write them, to be run plainly and by `sl.jit`.

    python tests/numpy_programs.py --count 1000 --seed 0            # compare them
    python tests/numpy_programs.py --seed 17 --show                 # print one, as Python that runs by itself

Idea. A program grows line by line. Each line is made of a template, whose holes are filled with values that are there,
and is run at once on arrays: what fails, or gives too much, is drawn again. So programs run without errors, and have
slices that clamp, empty arrays, broadcasting, views that are written through, loops and functions, at no risk.

Invariant: a program is a function of its seed. What is rounded (`Line.rounds`) never reaches what would turn that into
another result, such as a comparison: so results are equal, but for rounding where there was some.
"""

from __future__ import annotations

import argparse
import random
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

Array = np.ndarray[Any, Any]

DTYPES = ("bool", "uint8", "int16", "int32", "int64", "float32", "float64", "float64", "complex64", "complex128")
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17)
MOST = 5000
"""The most elements that a value may have."""


@attrs.frozen
class Template:
    """A line of NumPy, with holes.

    Holes: `{a}` any value, `{n}` an array of rank 1 or more, `{m}` one of rank 2 or more, `{f}` floats, `{i}` integers,
    `{b}` bools, `{same}` a value of the shape of the first, `{own}` an array that the program has made; `{k}` an axis
    of the first, `{x}` an index of the first, `{s}` a number, `{d}` a dtype, `{u}` and `{v}` ufuncs of one and of two.
    With `rounds`, its result is rounded in an order that is nobody's business; `sharp` lines turn small differences of
    what they read into large ones.
    """

    text: str
    weight: int = 2
    rounds: bool = False
    sharp: bool = False


def _lines(text: str, **options: Any) -> list[Template]:
    return [Template(line.strip(), **options) for line in text.strip().splitlines()]


TEMPLATES = [
    # Arithmetic
    *_lines("""
        {u}({a})
        {v}({a}, {a})
        {v}({a}, {same})
        {v}({a}, {s})
        {v}({s}, {a})
        {a} + {a}
        {a} - {same}
        {a} * {s}
        {s} - {a}
        {a} * {a} + {same}
        -{a}
        abs({a})
        {v}({a}, {same}, dtype={d})
        {v}({a}, {same}, out=np.zeros_like({a}))
        np.add({a}, {same}, where={b}, out=np.ones_like({a}))
        np.clip({a}, {s}, None)
        np.clip({a}, 0, 2)
        {a}.clip(-1, 1)
        {a}.astype({d})
        {a}.real
        np.conj({a})
        np.square({a})
    """, weight=4, sharp=False),
    *_lines("""
        {a} > {s}
        {a} == {same}
        {a} <= {same}
        {a} // 2
        {a} % 3
        np.floor({f})
        np.sign({a})
        np.rint({f})
        np.isfinite({a})
        np.signbit({f})
        {b} & {b}
        {b} | {b}
        ~{b}
        {i} & {i}
        {i} << 1
        {i} ^ 5
        np.where({a} > 0, {same}, {s})
        np.where({b}, {a}, {same})
        np.where({a} > {s}, {s}, {s})
        np.select([{b}, {b}], [1, 2], 0)
        np.digitize({n}, [-1, 0, 2])
        np.interp({f}, [-2.0, 0.0, 3.0], [0.0, 1.0, -1.0])
        np.isin({n}, [0, 1, 2])
        np.round({a}, 1)
        np.nan_to_num({f})
        np.maximum({a}, {same})
        np.heaviside({f}, 0.5)
        np.isclose({a}, {same})
        np.take(np.array([3, 1, 2]), {i}, mode="clip")
    """, sharp=True),
    *_lines("""
        {f} / {s}
        np.sqrt(abs({f}))
        np.exp(-abs({f}))
        np.sin({f})
        np.hypot({f}, {f})
        np.arctan2({f}, {f})
        {f} ** 2
        np.tanh({f})
        np.log1p(abs({f}))
        np.linspace(0, 1, {n}.shape[0])
    """, rounds=True),
    # Indexing and views
    *_lines("""
        {n}[{x}]
        {n}[{x}]
        {n}[{x}]
        {n}[1:]
        {n}[:-1]
        {n}[::2]
        {n}[::-1]
        {n}[..., 1:-1]
        {n}[None]
        {n}[..., None]
        {n}[1:] - {n}[:-1]
        {n}[0]
        {n}[-1]
        {m}[:, 0]
        {m}[1:, :-1]
        {m}[1:-1, 1:-1]
        {m}.T
        {m}.swapaxes(0, 1)
        np.transpose({n})
        np.moveaxis({m}, 0, -1)
        np.flip({n}, {k})
        np.flip({n})
        np.fliplr({m})
        np.rot90({m})
        np.expand_dims({a}, 0)
        np.squeeze({n})
        np.atleast_2d({a})
        np.broadcast_to({n}, (2, *{n}.shape))
        np.roll({n}, 1, axis={k})
        np.roll({n}, -2, axis={k})
        np.roll({n}, 3)
        {n}.reshape(-1)
        np.ravel({n})
        {n}.reshape(1, *{n}.shape)
        {n}.reshape({n}.shape[0], -1)
        {n}.copy()
        np.ascontiguousarray({n})
        np.array({n})
        np.take({n}, [0, -1], axis={k})
        np.array_split({n}, 2)[0]
    """, weight=3),
    *_lines("""
        {n}[{n} > 0]
        {n}[[0, -1, 0]]
        np.flatnonzero({n})
        np.argsort({n}, axis={k}, kind="stable")
        np.sort({n}, axis={k})
        np.argmax({n}, axis={k})
        np.argmin({n}, axis={k})
        np.searchsorted(np.array([0, 1, 2]), {n})
        np.unique({n})
    """, weight=1, sharp=True),
    # Putting together
    *_lines("""
        np.concatenate([{n}, {same}], axis={k})
        np.concatenate([{n}[1:], {n}[:1]])
        np.stack([{a}, {same}])
        np.stack([{n}, {same}], axis={k})
        np.vstack([{n}, {same}])
        np.hstack([{n}, {same}])
        np.dstack([{n}, {same}])
        np.block([{n}, {same}])
        np.tile({n}, 2)
        np.repeat({n}, 2, axis={k})
        np.repeat({n}, 3, axis={k})
        np.pad({n}, 1)
        np.pad({n}, 2, mode="edge")
        np.pad({n}, 1, mode="reflect")
        np.pad({n}, 1, mode="symmetric")
        np.pad({n}, 2, mode="wrap")
        np.pad({n}, (1, 2), mode="constant", constant_values=3)
        np.append({n}, {n})
        np.zeros_like({a})
        np.ones({n}.shape)
        np.full_like({a}, 2)
        np.zeros({n}.shape, {d})
        np.arange({n}.shape[0])
        np.arange({n}.size).reshape({n}.shape)
        np.indices({n}.shape)[0]
        np.eye({n}.shape[0])
        np.meshgrid({n}.reshape(-1), np.arange(3))[0]
    """),
    # Windows and reductions
    *_lines("""
        np.diff({n}, axis={k})
        np.diff({n}, n=2, axis={k})
        np.lib.stride_tricks.sliding_window_view({n}, 2, axis={k})
        np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k}).max(axis=-1)
        {a}.max()
        {n}.max(axis={k})
        {n}.min(axis={k}, keepdims=True)
        np.max({a}, initial=0)
        np.ptp({n}, axis={k})
        np.maximum.reduce({n}, axis={k})
        np.maximum.accumulate({n}, axis={k})
        np.logical_or.reduce({n}, axis={k})
        {a}.any()
        {n}.all(axis={k})
        np.any({a} > 100)
        np.count_nonzero({n}, axis={k})
    """, weight=3),
    *_lines("""
        {a}.sum()
        {n}.sum(axis={k})
        {n}.sum(axis={k}, keepdims=True)
        {m}.sum(axis=(0, 1))
        {a} - {a}.mean()
        {n}.mean(axis={k})
        {n} - {n}.mean(axis={k}, keepdims=True)
        {n}.prod(axis={k})
        np.var({n}, axis={k})
        np.std({a})
        np.add.reduce({n}, axis={k})
        np.add.accumulate({n}, axis={k})
        np.cumsum({n}, axis={k})
        np.cumsum({n})
        np.cumprod(np.sign({n}), axis={k})
        np.average({n}, axis={k})
        np.linalg.norm({f})
        np.median({n}, axis={k})
        np.gradient({n}, axis={k})
        np.convolve({n}.reshape(-1), [1, 2, 1], mode="same")
        np.convolve({n}.reshape(-1), [1, 2], mode="valid")
        np.correlate({n}.reshape(-1), [1, 0, -1], mode="full")
        np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k}).mean(axis=-1)
        {m} @ {m}.T
        {m} @ {n}
        np.dot({n}, {n})
        np.outer({n}, {n})
        np.einsum("ij->ji", {m})
        np.einsum("ij,ij->i", {m}, {same})
        np.tensordot({m}, {m}, axes=([-1], [-1]))
        np.trace({m})
        np.fft.rfft({f}, axis={k})
        np.fft.fft({f})
    """, rounds=True),
]  # fmt: skip

STATEMENTS = [
    *_lines("""
        {own} += {s}
        {own} *= {same}
        {own} -= {a}
        {own}[{x}] = {s}
        {own}[{x}] = {a}
        {own}[1:] = {own}[:-1]
        {own}[...] = {same}
        {own}[{x}] += {s}
        np.add({own}, {same}, out={own})
        np.negative({own}, out={own})
        np.multiply({own}[1:], 2, out={own}[1:])
        {own}.fill({s})
        np.copyto({own}, {a})
        for j in range(3): {own} = {own} + j
        for j in range({own}.shape[0]): {own}[j] = {own}[j] + j
        for part in ({a}, {same}): {own} = {own} + part
        if {own}.shape[0] > 3: {own} = {own} * 2
        if {own}.ndim == 2: {own} = {own}[::-1]
        {own} = sum([{own}, {own}[::-1], 1])
        {own} = helper({own}, {s})
        {own} = (lambda q: q[::-1] - q)({own})
        {own} = np.stack([row * 2 for row in {own}])
    """),
    *_lines("""
        {own}[{own} > 1] = 0
        if {own}.any(): {own} = -{own}
        {own} = {own} if {own}.size == 0 or {own}.max() > 1 else {own} + 1
        {own} = {own} * int({own}.size > 4)
        {own} = {own} + float(abs({own}).max() > 2 if {own}.size else 0)
    """, weight=1, sharp=True),
]  # fmt: skip

UNARY = ["negative", "absolute", "square", "sign", "conjugate", "positive", "logical_not", "isnan"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "logical_and", "logical_or", "not_equal", "less", "fmin"]
SHARP_UFUNCS = {"sign", "logical_not", "logical_and", "logical_or", "not_equal", "less", "isnan"}
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "1.5", "-0.25", "2.0", "True", "1j", "np.float32(1.25)", "np.int16(3)")


@attrs.frozen
class Program:
    """A function of arrays as source text, and what it is called with."""

    seed: int
    source: str
    inputs: tuple[tuple[str, tuple[int, ...], int], ...]
    rounded: bool

    def function(self) -> Callable[..., Any]:
        """The function, made anew."""
        namespace: dict[str, Any] = {"np": np}
        exec(compile(self.source, f"<program {self.seed}>", "exec"), namespace)
        found: Callable[..., Any] = namespace["program"]
        return found

    def arrays(self, more: int = 0) -> tuple[Array, ...]:
        """What it is called with: arrays of its sizes, or larger ones."""
        return tuple(
            made_array(dtype, tuple(n + more if n > 1 else n for n in shape), seed)
            for dtype, shape, seed in self.inputs
        )

    def __str__(self) -> str:
        arrays = [f"    made_array({dtype!r}, {shape}, {seed})," for dtype, shape, seed in self.inputs]
        return "\n".join([self.source, "", "# called with", *arrays])


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


class Writer:
    """Writes one program, line by line, on real arrays."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.rounded: set[str] = set()
        self.own: set[str] = set()
        self.lines: list[str] = []
        self.made = 0

    def write(self) -> Program:
        """The program."""
        inputs = self._inputs()
        self.values: dict[str, Any] = {f"a{k}": made_array(*each) for k, each in enumerate(inputs)}
        wanted = self.random.randint(2, 14)
        for _ in range(200):
            if len(self.lines) >= wanted:
                break
            if self.own and self.random.random() < 0.25:
                self._add(self._chosen(STATEMENTS), is_statement=True)
            else:
                self._add(self._chosen(TEMPLATES), is_statement=False)
        names = [name for name in self.values if name.startswith("v")] or ["a0"]
        returned = names[-self.random.choice([1, 2, 3, 4]) :]
        result = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
        if self.random.random() < 0.1:
            result = "{" + ", ".join(f'"{name}": {name}' for name in returned) + "}"
        parameters = ", ".join(f"a{k}" for k in range(len(inputs)))
        body = "\n".join(f"    {line}" for line in [*self.lines, f"return {result}"])
        helper = textwrap.dedent("""\
            import numpy as np


            def helper(q, s):
                return np.where(q > s, q, s) if q.ndim > 1 else q * 2


            """)
        used = helper if "helper(" in body else "import numpy as np\n\n\n"
        rounded = bool(self.rounded & set(returned))
        return Program(self.seed, f"{used}def program({parameters}):\n{body}", tuple(inputs), rounded)

    def _inputs(self) -> list[tuple[str, tuple[int, ...], int]]:
        choose = self.random.choice
        rank = choose([1, 1, 2, 2, 2, 3])
        shape = tuple(choose(SIZES) for _ in range(rank))
        found = []
        for _ in range(choose([1, 1, 2, 3])):
            own = choose([shape, shape, shape, shape[1:], tuple(choose([n, 1]) for n in shape), tuple(reversed(shape))])
            found.append((choose(DTYPES), own, self.random.randrange(10**6)))
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
        if target is None:
            return
        tried = self._run([*self.lines, line])
        if tried is None:
            return
        self.values = tried
        self.lines.append(line)
        self.made += not is_statement
        found = tried[target]
        if template.rounds or tainted:
            # What shares memory is rounded with it.
            self.rounded.add(target)
            if isinstance(found, np.ndarray):
                self.rounded |= {
                    name
                    for name, other in tried.items()
                    if isinstance(other, np.ndarray) and np.may_share_memory(found, other)
                }
        if isinstance(found, np.ndarray) and found.ndim and found.flags.writeable:
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
            elif hole in "anmfibown" or hole == "same":
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
                return choose(NUMBERS)
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
        namespace: dict[str, Any] = {"np": np, "helper": lambda q, s: np.where(q > s, q, s) if q.ndim > 1 else q * 2}
        given = {name: value.copy(order="K") for name, value in self.values.items() if name.startswith("a")}
        namespace |= given
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                for line in lines:
                    exec(line, namespace)
        except Exception:
            return None
        found = {}
        for name, value in namespace.items():
            if name[0] in "av" and name[1:].isdigit():
                if not isinstance(value, (np.ndarray, np.generic, bool, int, float)) or np.size(value) > MOST:
                    return None
                if np.asarray(value).dtype.kind not in "biufc" or np.ndim(value) > 6:
                    return None
                if np.size(value) and not np.all(np.abs(np.asarray(value).astype(complex)) < 1e7):
                    return None
                found[name] = value
        return found


def _root(array: Any) -> Any:
    """The array that an array is a view of, also where it has no elements."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def programs(seed: int, count: int) -> Iterator[Program]:
    """So many programs, from a seed on."""
    for k in range(count):
        yield Writer(seed + k).write()


# Comparing ------------------------------------------------------------------------------------------------------------


def difference(got: Any, want: Any, rounded: bool) -> str | None:
    """What differs between two results: kinds, dtypes, shapes or values; None if nothing does."""
    if type(got) is not type(want):
        return f"a {type(got).__name__} in place of a {type(want).__name__}"
    if isinstance(want, dict):
        if list(got) != list(want):
            return f"keys {list(got)} in place of {list(want)}"
        return difference(tuple(got.values()), tuple(want.values()), rounded)
    if isinstance(want, tuple):
        if len(got) != len(want):
            return f"{len(got)} results in place of {len(want)}"
        found = (difference(one, other, rounded) for one, other in zip(got, want, strict=True))
        return next((f"result {k}: {each}" for k, each in enumerate(found) if each), None)
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{a.shape} in place of {b.dtype}{b.shape}"
    if rounded and b.dtype.kind in "fc":
        tolerance = 1e-9 if b.dtype in (np.float64, np.complex128) else 1e-3
        same = np.isclose(
            a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(b), initial=0))), equal_nan=True
        )
    else:
        same = np.asarray((a == b) | ((a != a) & (b != b)))
    if same.all():
        return None
    place = tuple(int(k) for k in np.argwhere(~same)[0])
    return f"{a[place]} in place of {b[place]} at {place}, {int((~same).sum())} of {same.size} differ"


def run(function: Callable[..., Any], arrays: Sequence[Array]) -> tuple[Any, str | None]:
    """What a function gives for copies of arrays, and what it wrote to them or raised."""
    given = [array.copy(order="K") for array in arrays]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*given)
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:300]}"
    changed = [k for k, (a, b) in enumerate(zip(given, arrays, strict=True)) if a.tobytes() != b.tobytes()]
    return result, f"it wrote to a{changed[0]}" if changed else None


def fault(program: Program, jit: Callable[[Callable[..., Any]], Callable[..., Any]]) -> str | None:
    """What is wrong with a program under `jit`: on its arrays, again, and on larger ones; None if nothing is."""
    traced = jit(program.function())
    for what, arrays in (
        ("", program.arrays()),
        ("again: ", program.arrays()),
        ("on larger arrays: ", program.arrays(3)),
    ):
        want, failed = run(program.function(), arrays)
        if failed is not None:
            continue
        got, wrong = run(traced, arrays)
        wrong = wrong or difference(got, want, program.rounded)
        if wrong is not None:
            return what + wrong
    return None


def smallest(program: Program, jit: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Program:
    """The program without lines that its fault does not need."""
    head, body = program.source.split("):\n", 1) if "helper" not in program.source else program.source.rsplit("):\n", 1)
    lines = body.splitlines()
    at = 0
    while at < len(lines) - 1:
        fewer = [*lines[:at], *lines[at + 1 :]]
        tried = attrs.evolve(program, source=head + "):\n" + "\n".join(fewer))
        _, failed = run(tried.function(), program.arrays())
        try:
            still = failed is None and fault(tried, jit) is not None
        except Exception:
            still = False
        if still:
            lines = fewer
            program = tried
        else:
            at += 1
    return program


def main() -> int:
    """Compare programs with what `sl.jit` makes of them; the status is 1 if any differs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=None, help="end earlier")
    parser.add_argument("--show", action="store_true", help="print the programs and run nothing")
    parser.add_argument("--most", type=int, default=5, help="end after so many faults")
    options = parser.parse_args()
    import slinky as sl

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = sl.jit(smallest=0, workers=1, machine=sl.Machine())(function)
        return made

    start, tried, faults = time.monotonic(), 0, 0
    for program in programs(options.seed, options.count):
        if options.show:
            print(program, end="\n\n")
            continue
        tried += 1
        try:
            wrong = fault(program, jit)
        except Exception:
            wrong = traceback.format_exc(limit=-4)
        if wrong is not None:
            faults += 1
            small = smallest(program, jit)
            again = f"python tests/numpy_programs.py --seed {program.seed} --count 1"
            print(f"# seed {program.seed}: {wrong}\n# {again}\n{small}\n", flush=True)
            if faults >= options.most:
                break
        if options.seconds is not None and time.monotonic() - start > options.seconds:
            break
    if not options.show:
        print(f"{tried} programs, {faults} differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
