"""Automatic schedules that processes share: what is found for a program is kept for others that have the same one.

Idea. `auto_schedule` gives the same for the same program, sizes and machine, so that is the question, with what is
called named by its code, and the answer the program that it made, with what the model says of it. Callbacks are not
kept: they are those of the program that is given. Of a schedule that was kept nobody knows the steps, nor the reasons:
who asks for these has it made again.

Invariant: a program that is read was proved to give what the program gives that was asked about: it is the same but for
callbacks, of which nothing but what they are declared to read and write goes into a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.ir.packing import packed, unpacked
from slinky.ir.statements import Program
from slinky.ir.telling import question, told
from slinky.kept_answers import Answers, is_on
from slinky.runtime.backends import has_loops, is_own
from slinky.runtime.collector import collector_paused
from slinky.runtime.estimates import estimate_for
from slinky.runtime.stand_ins import values_of
from slinky.sched.explaining import Explanation, ProgramBytes, explain, explained
from slinky.sched.machines import Machine, this_machine_for

_ANSWERS = Answers("schedules")


def kept_or_made(
    p: sl.Pipeline, arrays: Sequence[object], scalars: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[sl.Pipeline, bool]:
    """What `auto_schedule` makes of a pipeline, and whether it was made now. Raises what that raises."""
    others: list[Any] = []
    asked = _question(p, arrays, scalars, options, others)
    kept = None if asked is None else _ANSWERS.find(asked)
    if kept is not None:
        return _read(kept, p, arrays, scalars, others), False
    found = made(p, arrays, scalars, options)
    if asked is not None:
        _keep(asked, found, others)
    return found, True


def made(
    p: sl.Pipeline, arrays: Sequence[object], scalars: Mapping[str, Any], options: Mapping[str, Any]
) -> sl.Pipeline:
    """What `auto_schedule` makes of a pipeline. (What makes schedules is loaded when there is one to make.)"""
    from slinky.sched.automatic import auto_schedule

    found: sl.Pipeline = auto_schedule(p, *arrays, **scalars, **options)
    return found


def _question(
    p: sl.Pipeline,
    arrays: Sequence[object],
    scalars: Mapping[str, Any],
    options: Mapping[str, Any],
    others: list[Any],
) -> bytes | None:
    """All that a schedule depends on; None where that cannot be said."""
    backend = options.get("backend", "python")
    sizes = [*map(_told_of_array, arrays)]
    numbers = [(name, _told_of_number(scalars[name])) for name in sorted(scalars)]
    if not is_on() or not is_own(backend) or None in sizes or any(number is None for _, number in numbers):
        return None
    machine = options.get("machine") or this_machine_for(backend)
    if not isinstance(machine, Machine):
        return None
    workers = options.get("workers") or machine.cores
    limits = (machine, workers, options.get("max_bytes"), backend, backend != "python" and has_loops(backend))
    return question((p.program, sizes, numbers, limits), others, _told)


def _told_of_array(given: object) -> object:
    """What is asked of an array, or a shape; None for anything else."""
    if type(given) is np.ndarray:
        return given.shape, given.dtype.str
    is_shape = type(given) is tuple and all(type(n) is int for n in given)
    return given if is_shape else None


def _told_of_number(given: object) -> object:
    """What is asked of a scalar: of a float, that it is one. None for what is no number of Python's."""
    return given if type(given) in (int, bool) else "float" if type(given) is float else None


def _told(other: Any) -> object:
    """What is asked of something that a program calls or holds: no proof rests on it, but how good a schedule is."""
    if (words := told(other)) is not None:
        return words
    if isinstance(other, np.ndarray):
        return other.shape, other.dtype.str
    if isinstance(other, FunctionType):
        return other.__module__, other.__qualname__, *_told_of_code(other.__code__)
    own = type(other).__module__, type(other).__qualname__
    return (*own, _told(other.func)) if type(other) is partial else own


def _told_of_code(code: CodeType) -> tuple[object, ...]:
    inner = [_told_of_code(each) for each in code.co_consts if isinstance(each, CodeType)]
    return code.co_code, code.co_names, inner


def _keep(asked: bytes, scheduled: sl.Pipeline, others: list[Any]) -> None:
    why, known = explain(scheduled), len(others)
    model = why.machine, why.workers, why.seconds, why.unscheduled_seconds, why.backend
    answer = packed((scheduled.program, *model), others)
    if answer is not None and len(others) == known:
        _ANSWERS.keep(asked, answer)


def _read(
    kept: bytes, p: sl.Pipeline, arrays: Sequence[object], scalars: Mapping[str, Any], others: Sequence[Any]
) -> sl.Pipeline:
    with collector_paused():
        program, machine, workers, seconds, unscheduled_seconds, backend = unpacked(kept, others)
        found = sl.Pipeline(Version(program, origin("auto_schedule")))

    shapes = [getattr(each, "shape", each) for each in arrays]  # whoever counts holds no arrays

    def counted(each: Program) -> ProgramBytes:
        return ProgramBytes(lambda: estimate_for(each, values_of(p._completing(), shapes, scalars), workers))

    model = machine, workers, seconds, unscheduled_seconds  # nor the pipeline that it explains, which would never go
    return explained(found, Explanation(*model, counted(program), counted(p.program), (), backend=backend))
