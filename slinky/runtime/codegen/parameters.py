"""The parameters of a plan's function, and the names of what a program says about them.

Each input and output is an array and, unless all begin at the origin, the coordinates of its first element. The
metadata of its dimensions gets names; only the steps whose names are used are kept.
"""

from __future__ import annotations

from slinky.ir.statements import BufferParameter, Program
from slinky.runtime.buffers import read_only
from slinky.runtime.codegen.names import Globals
from slinky.runtime.codegen.origin import extents
from slinky.runtime.codegen.uses import names_assigned, names_used
from slinky.runtime.codegen.views import Stored, Views
from slinky.runtime.codegen.writer import Writer
from slinky.runtime.plan_tree import (
    Assign,
    Extents,
    Greatest,
    Integer,
    IsContiguous,
    Linear,
    Name,
    ReadOnly,
    Step,
    Steps,
    Stride,
    Unpack,
)
from slinky.symbolic.expressions import metadata, scalar


class Parameters:
    """Gives what a program is called with its names, in the outermost scope. `names` are those of the parameters."""

    def __init__(self, program: Program, writer: Writer, views: Views, globals_: Globals, at_origin: bool) -> None:
        self._writer = writer
        self._at_origin = at_origin
        self._views = views
        self._headers: list[Assign | Unpack] = []
        self.names: list[str] = []
        self.floats: dict[str, Name] = {}
        for p in (*program.inputs, *program.outputs):
            self._add(p)
        for p in program.outputs:
            is_contiguous = writer.names.fresh(f"{p.name}_is_contiguous")
            views.contiguous[p.name] = Name(is_contiguous)
            self._headers.append(Assign(is_contiguous, IsContiguous(views.stored[p.name].name)))
        for s in program.scalars:
            name = writer.names.fresh(s.name)
            self.names.append(name)
            writer.define(scalar(s.name), name, writer.root)
        for f in program.floats:
            name = writer.names.fresh(f.name)
            self.names.append(name)
            self.floats[f.name] = Name(name)
        for c in program.constants:
            # A constant that was pickled is writable there.
            constant = Name(globals_.name_of(read_only(c.array), c.name))
            views.stored[c.name] = Stored(constant, writer.root, read_only=constant)

    def _add(self, p: BufferParameter) -> None:
        writer, root = self._writer, self._writer.root
        fresh = writer.names.fresh
        array = fresh(p.name)
        self.names.append(array)
        reading = fresh(f"{p.name}_read_only")
        self._views.stored[p.name] = Stored(Name(array), root, read_only=Name(reading))
        self._headers.append(Assign(reading, ReadOnly(Name(array))))
        sizes, minima = [], []
        later: list[Assign] = []
        for d, dim in enumerate(p.dims):
            base = f"{p.name}_{dim}"
            size = fresh(f"{base}_size")
            sizes.append(size)
            if self._at_origin:
                writer.define(extents(p)[d], size, root)
            else:
                lo, hi = fresh(f"{base}_min"), fresh(f"{base}_max")
                minima.append(lo)
                later.append(Assign(hi, Linear(((1, Name(lo)), (1, Name(size))), -1)))
                writer.define(metadata(p.name, d, "min"), lo, root)
                writer.define(metadata(p.name, d, "max"), hi, root)
            fold = Greatest((Name(size), Integer(1)))
            for field, value in (("stride", Stride(Name(array), d)), ("fold_factor", fold)):
                name = fresh(f"{base}_{field}")
                writer.define(metadata(p.name, d, field), name, root)
                later.append(Assign(name, value))
        if not self._at_origin:
            origin = fresh(f"{p.name}_min")
            self.names.append(origin)
            if p.dims:
                self._headers.append(Unpack(tuple(minima), Name(origin)))
        if p.dims:
            self._headers.append(Unpack(tuple(sizes), Extents(Name(array))))
        self._headers += later

    def headers_used_by(self, steps: Steps) -> Steps:
        """The steps that give the names of metadata their values, as far as these steps use them."""
        used = names_used(steps)
        kept: list[Step] = []
        for header in reversed(self._headers):
            if used.intersection(names_assigned(header)):
                kept.append(header)
                used |= names_used((header,))
        return tuple(kept[::-1])
