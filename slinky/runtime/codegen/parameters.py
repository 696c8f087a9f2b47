"""The parameters of a plan's function, and the locals of what a program says about them.

Each input and output is an array and, unless all begin at the origin, the coordinates of its first element. The
metadata of its dimensions gets locals; only the lines whose locals are used are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from slinky.ir.statements import BufferParameter, Program
from slinky.runtime.buffers import read_only
from slinky.runtime.codegen.names import Globals
from slinky.runtime.codegen.origin import extents
from slinky.runtime.codegen.views import Stored, Views
from slinky.runtime.codegen.writer import Writer, targets
from slinky.symbolic.expressions import metadata, scalar


class Parameters:
    """Gives what a program is called with its names, in the outermost scope. `names` are those of the parameters."""

    def __init__(self, program: Program, writer: Writer, views: Views, globals_: Globals, at_origin: bool) -> None:
        self._writer = writer
        self._at_origin = at_origin
        self._views = views
        self._headers: list[tuple[tuple[str, ...], str]] = []
        self.names: list[str] = []
        for p in (*program.inputs, *program.outputs):
            self._add(p)
        for p in program.outputs:
            views.contiguous[p.name] = is_contiguous = writer.names.fresh(f"{p.name}_is_contiguous")
            self._headers.append(((is_contiguous,), f"{is_contiguous} = {views.stored[p.name].name}.flags.carray"))
        for s in program.scalars:
            name = writer.names.fresh(s.name)
            self.names.append(name)
            writer.bind(scalar(s.name), name, writer.root)
        for c in program.constants:
            # A constant that was pickled is writable there.
            constant = globals_.name_of(read_only(c.array), c.name)
            views.stored[c.name] = Stored(constant, writer.root, read_only=constant)

    def _add(self, p: BufferParameter) -> None:
        writer, root = self._writer, self._writer.root
        fresh = writer.names.fresh
        array = fresh(p.name)
        self.names.append(array)
        reading = fresh(f"{p.name}_read_only")
        self._views.stored[p.name] = Stored(array, root, read_only=reading)
        self._headers.append(((reading,), f"{reading} = read_only({array})"))
        sizes, minima = [], []
        later: list[tuple[tuple[str, ...], str]] = []
        for d, dim in enumerate(p.dims):
            base = f"{p.name}_{dim}"
            size = fresh(f"{base}_size")
            sizes.append(size)
            if self._at_origin:
                writer.bind(extents(p)[d], size, root)
            else:
                lo, hi = fresh(f"{base}_min"), fresh(f"{base}_max")
                minima.append(lo)
                later.append(((hi,), f"{hi} = {lo} + {size} - 1"))
                writer.bind(metadata(p.name, d, "min"), lo, root)
                writer.bind(metadata(p.name, d, "max"), hi, root)
            for field, value in (("stride", f"{array}.strides[{d}]"), ("fold_factor", f"max({size}, 1)")):
                name = fresh(f"{base}_{field}")
                writer.bind(metadata(p.name, d, field), name, root)
                later.append(((name,), f"{name} = {value}"))
        if not self._at_origin:
            origin = fresh(f"{p.name}_min")
            self.names.append(origin)
            if p.dims:
                self._headers.append((tuple(minima), f"{targets(minima)} = {origin}"))
        if p.dims:
            self._headers.append((tuple(sizes), f"{targets(sizes)} = {array}.shape"))
        self._headers += later

    def headers_used_by(self, lines: Sequence[str]) -> list[str]:
        """The lines that give metadata its locals, as far as these lines use them."""
        used = set(_words("\n".join(lines)))
        kept: list[str] = []
        for defined, line in reversed(self._headers):
            if used.intersection(defined):
                kept.append(line)
                used.update(_words(line))
        return kept[::-1]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
