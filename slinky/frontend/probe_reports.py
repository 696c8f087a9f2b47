"""What `sl.probe` reports of a function."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from slinky.errors import GraphError
from slinky.frontend.axis_reads import AxisReads
from slinky.frontend.drafting import OWN, Draft, Reads
from slinky.frontend.reports import FuncReport
from slinky.graph.buffers import BufferExpr
from slinky.graph.funcs import Func


@attrs.frozen(eq=False)
class ProbeReport:
    """What a function reads for each element of its result, as far as was seen, and how to declare it. It prints that.

    * `function`, `shapes`, `result_shape`: what was probed, on what, and what it gave.
    * `reads`: of each array, what is read along each axis; None along axes where nothing matters.
    * `dtypes`: by dtype of the arrays, that of the result.
    * `notes`: what else was noticed.
    * `calls`: how often the function was run.
    * `exact`: whether pieces have the bits of the whole.
    * `verified`: what `sl.verify_func` said of the draft; None where it did not come to that.
    * `text`, `decorator`: the draft, to paste. `func` and `kernel` make what it says.
    """

    function: Callable[..., Any]
    draft: Draft = attrs.field(repr=False)
    shapes: tuple[tuple[int, ...], ...]
    result_shape: tuple[int, ...]
    seen: tuple[Reads, ...]
    dtypes: dict[str, str]
    notes: tuple[str, ...]
    calls: int
    exact: bool
    verified: FuncReport | None

    @property
    def reads(self) -> tuple[Reads, ...]:
        """Of each array, what the draft reads along each axis; None along axes where nothing matters."""
        return self.draft.reads

    @property
    def is_local(self) -> bool:
        """Whether there is an axis of the result along which the function can go by pieces."""
        return bool(self.draft.local)

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result depends on the elements at the same place alone."""
        axes = [(d, each) for own in self.reads for d, each in enumerate(own)]
        return bool(axes) and all(each is not None and each.is_point and each.moves_with == d for d, each in axes)

    @property
    def halo(self) -> tuple[tuple[int, int], ...]:
        """By axis of the first array, how many elements are read before and after; (0, 0) where all are read."""
        return tuple((0, 0) if each is None else (each.before, max(each.after, 0)) for each in self._first)

    @property
    def rate(self) -> tuple[Fraction, ...]:
        """By axis of the first array, how many elements of the result there are for each; negative: backwards."""
        return tuple(Fraction(1) if each is None else each.rate for each in self._first)

    @property
    def whole(self) -> tuple[int, ...]:
        """The axes of the first array of which all is read."""
        return tuple(d for d, each in enumerate(self._first) if each is not None and each.whole)

    @property
    def boundary(self) -> tuple[str | None, ...]:
        """By axis of the first array, the rule at the edges: a name of `scipy.ndimage`'s, `"own"` for anything else, or
        None where nothing is read beyond them."""
        return tuple(None if each is None else each.boundary for each in self._first)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the result."""
        return self.draft.result

    @property
    def _first(self) -> tuple[AxisReads | None, ...]:
        return self.reads[0]

    @property
    def decorator(self) -> str | None:
        """The decorator that declares it, if there is one."""
        found = self.draft.decorator()
        return None if found is None else f"@{found}"

    @property
    def text(self) -> str:
        """The draft: the function with its decorator, or code that makes a func of buffers, called `func`."""
        found = self.draft.decorator()
        return self.draft.func() if found is None else f"{self.draft.name} = {found}({self.draft.name})"

    @property
    def why(self) -> str | None:
        """Why the function cannot go by pieces; None if it can."""
        if self.is_local:
            return None
        given_up = [note for note in self.notes if note.startswith("by pieces")]
        if given_up:
            return given_up[0]
        return "elements of the result change with elements of the arrays wherever these are"

    def func(self, *buffers: BufferExpr) -> Func:
        """Make the func that the draft says: of these buffers, the arrays' in order, then the result's, or of its own.

        Raises `GraphError` if the buffers do not fit.
        """
        from slinky.frontend.probing import made_func

        names = [*self.draft.names, "out"]
        if buffers and len(buffers) != len(names):
            raise GraphError(f"the draft of {self.draft.name} needs {len(names)} buffers ({', '.join(names)})")
        lines = self.draft.func().splitlines()
        given = dict(zip(names, buffers, strict=True)) if buffers else {}
        if not given:
            return made_func("\n".join(lines), self.function, self.draft.name)[0]
        ranks = [len(axes) for axes in self.reads] + [self.draft.rank]
        dtypes = [*self.draft.dtypes, self.draft.result]
        for (name, buffer), rank, dtype in zip(given.items(), ranks, dtypes, strict=True):
            given_buffer: object = buffer
            if not isinstance(given_buffer, BufferExpr) or (buffer.rank, buffer.dtype) != (rank, dtype):
                raise GraphError(f"the draft of {self.draft.name} needs for {name} a buffer of {dtype}, rank {rank}")
        kept = [line for line in lines if not any(line.startswith(f"{name} = sl.BufferExpr(") for name in names)]
        return made_func("\n".join(kept), self.function, self.draft.name, given)[0]

    @property
    def kernel(self) -> Any:
        """The function with its decorator, a kernel.

        Raises `GraphError` if no decorator says what it reads.
        """
        import slinky as sl

        text = self.draft.decorator()
        if text is None:
            raise GraphError(f"no decorator says what {self.draft.name} reads; see report.text")
        return eval(text, {"sl": sl})(self.function)

    def __str__(self) -> str:
        name = self.draft.name
        given = ", ".join(map(str, self.shapes))
        lines = [f"{name} of {given} gives {self.dtype} of {self.result_shape}; {self.calls} calls"]
        for letter, axes, seen in zip(self.draft.names, self.reads, self.seen, strict=True):
            for d, (each, matters) in enumerate(zip(axes, seen, strict=True)):
                nothing = each is None or matters is None
                lines.append(f"- {letter}, axis {d}: {'nothing depends on it' if nothing else f'reads {each}'}")
        if self.why is not None:
            lines.append(f"- not local: {self.why}")
        lines += [f"- note: {note}" for note in self.notes if note != self.why]
        if self.verified is None:
            lines.append("- the draft was not tested")
        elif self.verified:
            how = "" if self.exact else ", but for rounding"
            lines.append(f"- the draft passes verify_func{how}")
        else:
            lines.append(f"- the draft is wrong: {self.verified.findings[0]}")
        return "\n".join([*lines, "", self.text])


__all__ = ["OWN", "ProbeReport"]
