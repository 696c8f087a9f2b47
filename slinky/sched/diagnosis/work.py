"""Rules about work that is done for nothing."""

from __future__ import annotations

from collections.abc import Iterator

import slinky as sl
from slinky.ir.operations import Copy
from slinky.sched.diagnosis.evidence import (
    REPEATED,
    TASKS_PER_WORKER,
    Evidence,
    Rule,
    Spot,
    is_repeated,
    percent,
    powers,
    step,
)
from slinky.symbolic import symbols

OVERLAP = 1.25
"""Elements computed per element needed of tiles that run at the same time: more takes much of what workers give."""

LEAST_COPIED = 4096
"""Bytes that a copy writes: less is copied in the time of a call."""


def sliding(known: Evidence) -> Iterator[Spot]:
    """A window that is not slid: each iteration computes again what the one before has computed."""
    for call in known.calls:
        work = known.work(call)
        if not is_repeated(work):
            continue
        loops = [loop for loop in reversed(sl.enclosing_loops(known.p, call)) if loop.workers() is None]
        steps = [step(sl.slide_window, call, loop) for loop in loops]
        figure = f"{call.name()} computes {percent(work.elements, work.needed)} more than is needed"
        yield Spot("window not slid", call, call.func(), figure, _again(known, call), steps)


def overlapping(known: Evidence) -> Iterator[Spot]:
    """Tiles so small that much of what they compute is computed by their neighbours, too."""
    for loop, calls in known.loops_of_calls():
        if loop.workers() is None:
            continue
        for call in calls:
            work = known.work(call)
            if work.elements > OVERLAP * work.needed:
                largest = known.stride(loop) * known.trips(loop) // (TASKS_PER_WORKER * known.workers_of(loop))
                sizes = powers(2 * known.stride(loop), largest)
                figure = (
                    f"tiles of {known.stride(loop)}: {call.name()} computes {percent(work.elements, work.needed)} more "
                    f"than is needed"
                )
                steps = [step(sl.resize_pieces, loop, size) for size in sizes]
                yield Spot("tiles overlap", call, call.func(), figure, _again(known, call), steps)


def shared(known: Evidence) -> Iterator[Spot]:
    """The same computed by two calls."""
    for position, call in enumerate(known.calls):
        for other in known.calls[position + 1 :]:
            if (call.func(), call.inputs()) != (other.func(), other.inputs()):
                continue
            work = known.work(call)
            if not is_repeated(work):
                continue
            steps = [
                step(sl.share_calls, call, other),
                step(sl.share_calls, other, call),
            ]
            figure = f"two calls of {call.func()} compute {percent(work.elements, work.needed)} more than is needed"
            yield Spot("computed by two calls", other, call.func(), figure, _again(known, call), steps)


def unread(known: Evidence) -> Iterator[Spot]:
    """Results that nobody reads."""
    outputs = _outputs(known)
    for call in known.calls:
        if outputs.isdisjoint(call.outputs()) and not sl.consumers(known.p, call):
            written = known.work(call).bytes_written
            figure = f"nobody reads {', '.join(call.outputs())}: {call.name()} writes {written} bytes for nothing"
            yield Spot("unread result", call, call.name(), figure, written, [step(sl.remove_call, call)])


def written_twice(known: Evidence) -> Iterator[Spot]:
    """Elements that two calls write."""
    for call in known.calls:
        for buffer in call.outputs():
            writers = [other for other in known.calls if buffer in other.outputs()]
            if len(writers) < 2 or call != writers[-1]:
                continue
            elements = sum(known.estimate.funcs[func].elements for func in {other.func() for other in writers})
            held = known.elements_of(buffer)
            if elements > REPEATED * held:
                figure = f"{len(writers)} calls write {buffer}: {percent(elements, held)} more than it holds"
                steps = [step(sl.remove_call, other) for other in reversed(writers)]
                yield Spot("written twice", call, buffer, figure, known.work(call).bytes_written, steps)


def copied(known: Evidence) -> Iterator[Spot]:
    """Copies that could alias: those who read them could read the source."""
    if known.estimate.bytes_copied < LEAST_COPIED:
        return
    for call in known.calls:
        if isinstance(call._call.func.operation, Copy) and _keeps_order(call):
            written = known.work(call).bytes_written
            figure = f"{call.name()} copies {written} bytes, which could be read where they are"
            yield Spot("copy", call, call.name(), figure, written, [step(sl.alias_copy, call)])


def _keeps_order(call: sl.CallCursor) -> bool:
    """Whether a copy leaves dimensions in their order: one that does not may be made for those who read by rows."""
    func = call._call.func
    for port in func.inputs:
        found = [d for i in port.box for d, dim in enumerate(func.dims) if dim in symbols(i.min) | symbols(i.max)]
        if found != sorted(found):
            return False
    return True


def _again(known: Evidence, call: sl.CallCursor) -> int:
    """About how many bytes are moved to compute again what is there."""
    work = known.work(call)
    return (work.bytes_read + work.bytes_written) * (work.elements - work.needed) // max(work.elements, 1)


def _outputs(known: Evidence) -> set[str]:
    return {parameter.name for parameter in known.p.program.outputs}


WORK_RULES: tuple[Rule, ...] = (sliding, overlapping, shared, unread, written_twice, copied)
