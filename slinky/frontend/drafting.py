"""Text that declares what was found of a function: a decorator where one says it, a func in any case.

Idea. A function of whole arrays is also one of pieces, if a piece is computed from arrays that hold all that it reads:
what the function returns for these begins at a coordinate that follows from theirs, and the piece is cut out of it.

Invariant: the text is all there is. What a report makes of a draft, it makes by running this text.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from slinky.frontend.axis_reads import AxisReads

OWN = "own"
"""The boundary of a function that does something of its own at the edges."""

Reads = tuple["AxisReads | None", ...]
"""Of an array, what is read along each axis; None where nothing matters."""


@attrs.frozen
class Draft:
    """What is declared: of each array what is read along its axes, of the result its dtype, rank and sizes.

    `sizes` says, by axis of the result, how long it is for n elements of the arrays: an expression, or None. `alike`
    are those that are as long as the arrays are there, and read whole. `lengths` has for axes that go by pieces how
    long the arrays and the result were. Unless it `is_decorated`, decorators were found not to say it.
    """

    name: str
    reads: tuple[Reads, ...]
    dtypes: tuple[np.dtype[Any], ...]
    result: np.dtype[Any]
    rank: int
    sizes: dict[int, str | None]
    alike: tuple[int, ...]
    lengths: dict[int, tuple[int, int]]
    is_decorated: bool = True

    @property
    def local(self) -> dict[int, tuple[int, int]]:
        """By axis of the result, an array and the axis of it with which it moves; other axes are computed whole."""
        found: dict[int, tuple[int, int]] = {}
        for i, axes in enumerate(self.reads):
            for d, each in enumerate(axes):
                if each is not None and each.moves_with is not None:
                    found.setdefault(each.moves_with, (i, d))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """What the arrays are called."""
        return tuple("abcdefghijklm"[i] if i < 13 else f"a{i}" for i in range(len(self.reads)))

    @property
    def variables(self) -> tuple[str, ...]:
        """What the axes of the result are called."""
        if self.rank <= 4:
            return ("w", "z", "y", "x")[4 - self.rank :]
        return tuple(f"x{k}" for k in range(self.rank))

    # Decorators -----------------------------------------------------------------------------------------------------

    def decorator(self) -> str | None:
        """The decorator that says it, if there is one."""
        if not self.is_decorated:
            return None
        options = [] if self._is_default_dtype() else [f'dtype="{self.result}"']
        if self._is_elementwise():
            return _call("sl.elementwise", options)
        axes = self._common_axes()
        if axes is None:
            return None
        whole = [d for d, each in enumerate(axes) if each.whole]
        local = {d: each for d, each in enumerate(axes) if not each.whole}
        sizes = {self.sizes.get(d) for d in whole} - {"n"}
        if all(each.is_point for each in local.values()):
            size = sizes.pop() if sizes else "n"
            if sizes or size is None:
                return None
            axis = whole[0] - self.rank if len(whole) == 1 else tuple(whole)
            options.insert(0, f"axis={axis}")
            return _call("sl.rowwise", options if size == "n" else [*options, f"size=lambda n: {size}"])
        if sizes:
            return None
        return _call("sl.stencil", [*self._stencil(local, whole), *options])

    def _is_elementwise(self) -> bool:
        """Whether all arrays are read at the same place, but for those that are broadcast."""
        return self.rank > 0 and all(
            each is not None and each.is_point and each.moves_with == d + self.rank - len(axes)
            for axes in self.reads
            for d, each in enumerate(axes)
        )

    def _stencil(self, local: dict[int, AxisReads], whole: Sequence[int]) -> list[str]:
        halos = [(each.before, _after(each)) for each in local.values()]
        options = [f"halo=({', '.join(map(str, halos))}{',' if len(halos) == 1 else ''})"]
        if whole:
            options += [f"axes={tuple(local)}", f"whole={tuple(whole)}"]
        rules = [each.boundary for each in local.values()]
        if any(rules):
            needed = {each.boundary for each in local.values() if each.boundary} if None in rules else set(rules)
            same = len(needed) == 1 and all(
                rule is not None or (each.is_point) for rule, each in zip(rules, local.values(), strict=True)
            )
            options.append(f'boundary="{needed.pop()}"' if same else f"boundary={tuple(rules)!r}")
        rates = [each.rate for each in local.values()]
        if any(rate != 1 for rate in rates):
            texts = [_ratio(rate) for rate in rates]
            options.append(f"rate={texts[0]}" if len(set(texts)) == 1 else f"rate=({', '.join(texts)})")
        return options

    def _common_axes(self) -> list[AxisReads] | None:
        """What all arrays read along each axis, if decorators can say it."""
        axes: list[AxisReads] = []
        for d in range(self.rank):
            found = set()
            for own in self.reads:
                if len(own) != self.rank:
                    return None
                found.add(own[d])
            (each, *others) = found
            if others or each is None or (each.moves_with not in (None, d)) or each.rate < 0 or each.boundary == OWN:
                return None
            if not each.whole and self.lengths[d][1] != _extent(each, self.lengths[d][0]):
                return None
            if (each.before * each.rate).denominator != 1 or (each.after < 0 and each.boundary is None):
                return None
            axes.append(each)
        return axes if axes and self.reads else None

    def _is_default_dtype(self) -> bool:
        return self.result == np.result_type(*self.dtypes)

    # Funcs ----------------------------------------------------------------------------------------------------------

    def func(self) -> str:
        """Code that makes a func of buffers of its own: `func` is what it is called."""
        lines = ["import numpy as np", "import slinky as sl", ""]
        callback, arguments = f"sl.returns({self.name})", ""
        if self._is_cut():
            lines += ["", *self._callback(), "", ""]
            callback = f"piece_of_{self.name}"
            ends = self._ends()
            given = "".join(f'"{name}": {text}, ' for name, text in ends.items())
            arguments = ", pass_buffers=True" + (f", arguments={{{given[:-2]}}}" if ends else "")
        if self.rank:
            names = ", ".join(self.variables) + ("," if self.rank == 1 else "")
            lines.append(f'{names} = sl.variables("{" ".join(self.variables)}")')
        for name, dtype, axes in zip(self.names, self.dtypes, self.reads, strict=True):
            lines.append(f'{name} = sl.BufferExpr("{name}", "{dtype}", rank={len(axes)})')
        lines.append(f'out = sl.BufferExpr("out", "{self.result}", rank={self.rank})')
        lines += self._bounds()
        whole = [f'"{self.variables[e]}"' for e in range(self.rank) if e not in self.local]
        if whole:
            arguments += f", whole=[{', '.join(whole)}]"
        accesses = ", ".join(self._access(i) for i in range(len(self.reads)))
        output = ", ".join(self.variables) if self.rank else "()"
        lines.append(f'func = sl.Func({callback}, [{accesses}], [out[{output}]], name="{self.name}"{arguments})')
        return "\n".join(lines)

    def _is_cut(self) -> bool:
        """Whether the function returns more for a piece than the piece."""
        for e, (i, d) in self.local.items():
            each = self.reads[i][d]
            assert each is not None
            if each.before or each.made != 1 or each.rate < 0 or each.boundary == OWN:
                return True
            if (each.taken == 1 and each.after != self.lengths[e][0] - self.lengths[e][1]) or (
                each.taken > 1 and each.after > 0
            ):
                return True
        return False

    def _callback(self) -> list[str]:
        ends = self._ends()
        parameters = ", ".join([*self.names, "out", *ends])
        given = ", ".join(f"{name}.array" for name in self.names)
        lines = [f"def piece_of_{self.name}({parameters}):", f"    result = {self.name}({given})"]
        first = []
        for e in range(self.rank):
            if e not in self.local:
                first.append("0")
                continue
            i, d = self.local[e]
            each = self.reads[i][d]
            assert each is not None
            name = self.names[i]
            if each.rate < 0:
                first.append(f"out.min[{e}] - (ends{e} - {name}.max[{d}])")
            else:
                start = f"{name}.min[{d}]" if each.taken == 1 else f"{name}.min[{d}] // {each.taken}"
                start = start if each.made == 1 else f"{each.made} * ({start})"
                first.append(f"out.min[{e}] - {start}")
        lines.append(
            f"    first = ({', '.join(first)}{',' if self.rank == 1 else ''})  # of what the function returned"
        )
        lines.append("    out.array[...] = result[tuple(slice(k, k + n) for k, n in zip(first, out.shape))]")
        return lines

    def _ends(self) -> dict[str, str]:
        """By the name of an argument, the sum of the first and the last coordinate along which it goes backwards."""
        found = {}
        for e, (i, d) in self.local.items():
            each = self.reads[i][d]
            if each is not None and each.rate < 0:
                found[f"ends{e}"] = _sum_of_ends(self.names[i], d)
        return found

    def _bounds(self) -> list[str]:
        lines = []
        for e in range(self.rank):
            if e in self.alike:
                continue
            if e in self.local:
                i, d = self.local[e]
                n, m = self.lengths[e]
                each = self.reads[i][d]
                if each is not None and each.boundary is not None and m != each.made * -(-n // each.taken):
                    lines.append(
                        f"# along {self.variables[e]}, out has {self.sizes.get(e)} elements: give, or assign, it"
                    )
                continue
            size = self.sizes.get(e)
            if size is None:
                lines.append(f"# how long out is along {self.variables[e]} is not known: assign out.dim({e}).bounds")
            elif size.isdigit():
                lines.append(f"out.dim({e}).bounds = sl.interval(0, {int(size) - 1})")
            else:
                lines.append(f"# along {self.variables[e]}, out has {size} elements for n of the arrays")
        return lines

    def _access(self, i: int) -> str:
        name = self.names[i]
        items, rules = [], []
        for d, each in enumerate(self.reads[i]):
            rules.append(None if each is None or each.boundary == OWN else each.boundary)
            if each is None or each.moves_with is None:
                items.append(self.variables[d] if d in self.alike and each is not None else ":")
                continue
            items.append(_interval(each, self.variables[each.moves_with], name, d))
        if any(rules):
            text = repr(next(filter(None, rules))) if len(set(rules)) == 1 else repr(tuple(rules))
            name += f".extended({text})".replace("'", '"')
        return f"{name}[{', '.join(items) or '()'}]"


def _extent(each: AxisReads, n: int) -> int:
    """How long the result of a kernel is along an axis."""
    p, q = each.made, each.taken
    if each.boundary is not None:
        return p * -(-n // q)
    return p * max((n - q - each.after) // q - -(-each.before // q) + 1, 0)


def _after(each: AxisReads) -> int:
    """The halo after a block; where it is cut off again, a number of blocks."""
    after = max(each.after, 0)
    return after if each.boundary is None else -(-after // each.taken) * each.taken


def is_usable(name: str) -> bool:
    """Whether a draft can call a function so."""
    taken = {"np", "sl", "func", "out", "result", "first", "k", "n", "tuple", "slice", "zip", "w", "z", "y", "x"}
    return name.isidentifier() and not keyword.iskeyword(name) and name not in taken and len(name) > 1


def _interval(each: AxisReads, variable: str, name: str, d: int) -> str:
    """The interval that an element reads along an axis."""
    p, q = each.made, each.taken
    if each.rate < 0:
        at = f"{_sum_of_ends(name, d)} - {variable}"
    else:
        at = variable if p == 1 else f"{variable} // {p}"
        at = at if q == 1 else f"{q} * ({at})" if p != 1 else f"{q} * {at}"
    lo, hi = _plus(at, -each.before), _plus(at, q - 1 + each.after)
    if each.boundary == OWN:
        first, last = f"{name}.dim({d}).domain.min", f"{name}.dim({d}).domain.max"
        lo = f"sl.minimum(sl.maximum({lo}, {first}), {last})"
        hi = f"sl.maximum(sl.minimum({hi}, {last}), {first})"
    return lo if lo == hi else f"sl.interval({lo}, {hi})"


def _sum_of_ends(name: str, d: int) -> str:
    return f"{name}.dim({d}).domain.min + {name}.dim({d}).domain.max"


def _plus(text: str, n: int) -> str:
    return text if n == 0 else f"{text} + {n}" if n > 0 else f"{text} - {-n}"


def _call(name: str, options: Sequence[str]) -> str:
    return f"{name}({', '.join(options)})" if options else name


def _ratio(rate: Fraction) -> str:
    return str(rate.numerator) if rate.denominator == 1 else f'"{rate}"'
