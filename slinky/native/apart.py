"""Arrays of which elements lie apart: a second library, compiled when the first such arrays come.

Idea. Of most arrays, elements follow each other along the last dimension. Loops that gather and scatter those of others
are two fifths of what a compiler has to do, and are seldom run. So the library of a plan has none where the function
that Python calls can ask of the arrays that it is given how they lie. It does nothing with those that lie apart; the
second library, of the same functions with these loops, takes all arrays, and is compiled then.

Invariant: a call of a plan that does not wait gets None as long as the second library is not there, and does by itself
what the functions would have done.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slinky.errors import CompilationFailedWarning
from slinky.ir.formulas import Axis, Formula
from slinky.native.array_texts import ArrayText
from slinky.native.background import BACKGROUND
from slinky.native.compiling import Compiler, NotShippedError
from slinky.native.kernel_sets import operand_sizes


def strides_asked(
    formula: Formula, arrays: Sequence[ArrayText], ranks: Mapping[str, int]
) -> list[tuple[str, int, int]] | None:
    """What is to be asked of arrays from outside, of so many dimensions each, before functions of a formula are given
    these arrays, inputs and then outputs: by the name of the array from outside, the dimension along which elements
    must follow each other, so many bytes apart. None where it is not the last one, or nothing is known of what the
    functions are given."""
    inner, sizes = formula.rank - 1, operand_sizes(formula)
    found: list[tuple[str, int, int]] = []
    for n, array in enumerate(arrays):
        size = sizes[min(n, len(sizes) - 1)]
        own = formula.inputs[n] if n < len(formula.inputs) else [Axis(d) for d in range(formula.rank)]
        for d, moving in enumerate(own):
            if moving is None or moving.dim != inner:
                continue
            axis = array.axis(d)
            is_last = axis.stride is None and axis.origin == ranks.get(array.root, 0) - 1
            if moving.step != 1 or (axis.stride != size and not is_last):
                return None
            if is_last and axis.origin is not None:
                found.append((array.root, axis.origin, size))
    return found


class Second:
    """The second library of a plan, `made_by` a compiler, and whether calls `wait` for it."""

    def __init__(self, made_by: Compiler, *, waits: bool) -> None:
        self.made_by = made_by
        self._waits = waits or not made_by.makes_more
        self._made: Callable[[], ctypes.CDLL] | None = None
        self._found: ctypes.CDLL | None = None
        self._job: Any = None

    def is_made_by(self, made: Callable[[], ctypes.CDLL]) -> None:
        """Have it made by this, when it is asked for; at once, if all is to be there. Raises `CompilationError`."""
        self._made = made
        if self.made_by.makes_all:
            self.make()

    def make(self) -> None:
        """Make it, if there is one. Raises `CompilationError`."""
        if self._found is None and self._made is not None:
            try:
                self._found = self._made()
            except NotShippedError:
                self._made = None

    @property
    def is_under_way(self) -> bool:
        """Whether it is being compiled in the background."""
        return self._job is not None

    def library(self) -> ctypes.CDLL | None:
        """It, if it is there, or may be waited for. Raises `CompilationError` where it is not."""
        if self._found is None and self._made is not None:
            if self._waits:
                self.make()
            else:
                self._look(self._made)
        return self._found

    def _look(self, made: Callable[[], ctypes.CDLL]) -> None:
        """See whether it is there; else have it made."""
        job = self._job
        if job is None or job.is_lost:  # it is lost in a forked child, in which nobody compiles it
            self._job = BACKGROUND.take(made)
            return
        if not job.is_done:
            return
        self._found, self._job = job.result, None
        if job.error is not None:
            self._made = None
            warnings.warn(
                f"arrays of which elements lie apart stay with NumPy's loops: {job.error}",
                CompilationFailedWarning,
                stacklevel=2,
            )
