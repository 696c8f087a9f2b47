"""Arrays of which elements lie apart: a second library, compiled when the first such arrays come.

Idea. Of most arrays, elements follow each other along the last dimension. Loops that gather and scatter those of others
are two fifths of what a compiler has to do, and are seldom run. So the library of a plan has none where the function
that Python calls can ask of the arrays that it is given how they lie. It does nothing with those that lie apart; the
second library, of the same functions with these loops, takes all arrays, and is compiled then.

Invariant: a call of a plan that does not wait gets None as long as the second library is not there, and does by itself
what the functions would have done.
"""

from __future__ import annotations

import contextlib
import ctypes
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slinky.callers import level
from slinky.errors import CompilationFailedWarning
from slinky.ir.formulas import Axis, Formula
from slinky.native.array_texts import ArrayText
from slinky.native.background import BACKGROUND
from slinky.native.compiling import Compiler, NotShippedError
from slinky.native.kernel_sets import operand_sizes
from slinky.runtime import forks


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
        """What makes it, as long as it is neither there, nor known that it never will be."""
        self._found: ctypes.CDLL | None = None
        self._job: Any = None
        self._is_wanted = False
        self._lock = forks.lock()

    def is_made_by(self, made: Callable[[], ctypes.CDLL]) -> None:
        """Have it made by this, when it is asked for; at once, if all is to be there. Raises `CompilationError`."""
        self._made = made
        if self.made_by.makes_all:
            self.make()

    def make(self) -> None:
        """Make it, if there is one. Raises `CompilationError`."""
        made = self._made
        if made is not None:
            with contextlib.suppress(NotShippedError):
                self._found = made()
            self._made = None

    @property
    def leaves_it_to_numpy(self) -> bool:
        """Whether such arrays have come, and it is not there: calls that do not wait compile nothing else instead."""
        return self._is_wanted and self._found is None

    def library(self) -> ctypes.CDLL | None:
        """It, if it is there, or may be waited for. Raises `CompilationError` where it is not."""
        made = self._made
        if self._found is None and made is not None:
            if self._waits:
                self.make()
            else:
                self._is_wanted = True
                self._look(made)
        return self._found

    def _look(self, made: Callable[[], ctypes.CDLL]) -> None:
        """See whether it is there; else have it made. (Who holds the lock takes no other.)"""
        with self._lock:
            job = self._job
            is_to_make = self._made is not None and (job is None or job.is_lost)  # in a forked child, it is lost
        if is_to_make:
            taken = BACKGROUND.take(made)
            with self._lock:
                if self._job is job:
                    self._job = taken
            return
        if job is None or not job.is_done:
            return
        with self._lock:
            if self._job is not job:
                return  # another thread has looked
            self._found, self._job, self._made = job.result, None, None
        if job.error is not None:
            warnings.warn(
                f"arrays of which elements lie apart stay with NumPy's loops: {job.error}",
                CompilationFailedWarning,
                stacklevel=level(),
            )
