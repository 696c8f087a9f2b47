"""Whether calls find what they read, and the outputs are written: refusals for what is not shown covered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast

import attrs

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import Touching
from slinky.ir.printer import dimension_names, interval_in
from slinky.ir.regions import parameter_box
from slinky.ir.statements import Call
from slinky.sched.legality.containing import contains
from slinky.sched.legality.coverage import Coverage
from slinky.sched.legality.refusals import UnlessRefuted, Unproved
from slinky.sched.legality.touches import (
    Touch,
    reads_of_call,
    touches,
)
from slinky.sched.remedies import Remedy
from slinky.sched.small_runs import Finding, unwritten_output, unwritten_read
from slinky.symbolic.explanations import LONGEST, brief
from slinky.symbolic.intervals import Box, interval_text, not_empty
from slinky.symbolic.proofs import Facts


@attrs.frozen
class Uncovered:
    """A read that is not shown to find what it needs."""

    buffer: str
    region: Box
    call: Call

    def refuse(self, version: Version, remedies: RemediesFor | None = None) -> SchedulingError:
        """The refusal that this is."""
        call = self.call

        @functools.cache
        def found() -> Finding | None:
            return unwritten_read(version.program, self.buffer, call.id)

        def reason() -> str:
            name = call.func.name
            rest = f"all of {self.buffer}[{_brief_region(version, self.region)}], which it reads, written"
            return f"{name} does not find {rest}" if found() else f"not shown that {name} finds {rest}"

        return SchedulingError(
            reason,
            place=statement_cursor(version, call.id),
            example=lambda: str(found() or ""),
            remedies=None if remedies is None else lambda: remedies(self),
        )


@attrs.frozen
class _Unwritten:
    """An output that is not shown to be written in full. As text, what one of the calls that write it lacks: put
    together when somebody reads it."""

    version: Version
    buffer: str
    region: Box
    known: Facts

    def refuse(self) -> SchedulingError:
        """The refusal that this is."""
        version, buffer = self.version, self.buffer

        @functools.cache
        def found() -> Finding | None:
            return unwritten_output(version.program, buffer)

        return SchedulingError(
            lambda: f"not {'' if found() else 'shown that '}all of output {buffer} is written",
            place=self._place(),
            condition=self,
            example=lambda: str(found() or ""),
        )

    def _place(self) -> Cursor | None:
        """The one call that writes the output, or the end of the program; None of a program without statements."""
        writers, body = self.version.writers(self.buffer), self.version.program.body
        if len(writers) == 1:
            return statement_cursor(self.version, writers[0])
        return statement_cursor(self.version, body[-1].id).after() if body else None

    def __str__(self) -> str:
        version, buffer = self.version, self.buffer
        lacking = Coverage(version, buffer, None, None).lacking(self.region, self.known)
        if lacking is None:
            return ""
        call, condition, known = lacking
        unproved = Unproved(version, condition, known)
        if len(version.writers(buffer)) == 1 or unproved.is_refuted():
            return str(UnlessRefuted(unproved))
        return f"{unproved.missing()}, with which {call.func.name} would write all of it alone"


def _brief_region(version: Version, region: Box) -> str:
    """A region as the program prints it; ends that are long, in short."""
    text = ", ".join(interval_in(version.program, i) for i in region)
    if len(text) <= LONGEST:
        return text
    names, each = dimension_names(version.program), LONGEST // (2 * len(region))
    ends = [(brief(i.min, names, each), brief(i.max, names, each)) for i in region]
    return ", ".join(interval_text(lo, hi) for lo, hi in ends)


RemediesFor: TypeAlias = Callable[[Uncovered], Sequence[Remedy]]
"""What may help where a call does not find what it reads."""


def check_reads(version: Version, calls: Iterable[int], remedies: RemediesFor | None = None) -> None:
    """Check that calls, given by identity, find all that they read.

    Raises `SchedulingError` for the first that does not.
    """
    found: _Found = {}
    for identity in calls:
        call = version.statement(identity)
        assert isinstance(call, Touching)
        for buffer, touch in reads_of_call(version, call):
            gap = _uncovered(version, buffer, touch, found)
            if gap is not None:
                raise gap.refuse(version, remedies)


def check_readers_of(version: Version, buffers: Iterable[str], remedies: RemediesFor | None = None) -> None:
    """Check that whoever reads some buffers finds what it reads, after calls write less, elsewhere, or later.

    What the readers read of other buffers is as it was. Raises `SchedulingError` for the first read that is not shown.
    """
    found: _Found = {}
    for buffer in buffers:
        for touch in touches(version, buffer, version.readers(buffer), writing=False):
            gap = _uncovered(version, buffer, touch, found)
            if gap is not None:
                raise gap.refuse(version, remedies)


def check_inputs(version: Version, identity: int) -> None:
    """Check that a call whose box may have grown stays within the pipeline's inputs.

    Raises `SchedulingError` if that is not shown.
    """
    call = version.statement(identity)
    assert isinstance(call, Touching)
    for buffer, touch in reads_of_call(version, call):
        limits = version.global_box(buffer)
        if limits is not None and not contains(limits, touch.region, touch.known):
            raise Uncovered(buffer, touch.region, call).refuse(version)


def check_outputs(version: Version, names: Iterable[str]) -> None:
    """Check that outputs of the pipeline are written in full.

    Raises `SchedulingError` for the first that is not.
    """
    for name in names:
        parameter = next((p for p in version.program.outputs if p.name == name), None)
        if parameter is None:
            continue
        box = parameter_box(name, parameter.rank)
        known = version.base_facts().also(not_empty(box))
        if not Coverage(version, name, None, None).covers(box, known):
            raise _Unwritten(version, name, box, known).refuse()


_Found: TypeAlias = dict[tuple[str, int], Coverage]
"""What was found out about what is written of a buffer before a call: it is the same for all that the call reads."""


def _uncovered(version: Version, buffer: str, touch: Touch, found: _Found) -> Uncovered | None:
    """The read as a gap, if it is not shown to find what it needs; remembered with the version."""
    key = ("gap", buffer, touch.call.id, touch.region)
    if key not in version.remembered:
        version.remembered[key] = _find_gap(version, buffer, touch, found)
    return cast("Uncovered | None", version.remembered[key])


def _find_gap(version: Version, buffer: str, touch: Touch, found: _Found) -> Uncovered | None:
    writers = version.writers(buffer)
    alloc = version.alloc_of(buffer, touch.call.id)
    if alloc is None and version.global_box(buffer) is None:
        # It is not in scope where the call has moved, nor are its writers before the call.
        return Uncovered(buffer, touch.region, touch.call)
    if alloc is None and not writers:
        return None  # an input or constant: the checks guarantee it for all that the outputs' bounds let a call compute
    key = (buffer, touch.call.id)
    coverage = found.get(key)
    if coverage is None:
        coverage = found[key] = Coverage(version, buffer, alloc, touch.call.id)
    if coverage.covers_at_a_glance(touch) or coverage.covers(touch.region, touch.known):
        return None
    return Uncovered(buffer, touch.region, touch.call)
