"""Another variant for a reduction that was taken to pieces: for all of its stages, or for none.

Idea. What a state holds means something to the variant alone that wrote it: a sum, say, or its negative. That the whole
gives the same is the word of the func's author, and it is of all stages together. So the stages that share states, from
the one that writes them of no elements to the ones that write the outputs, go over to another variant at once. What
they read, and along what, stays: only variants that read the same, and have states along the same dimensions, are among
those that a stage may become (`operations.Accumulation.variants`).

Invariant: all calls that use a state are stages of one reduction, of one variant, before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.copies import with_fields, with_func
from slinky.ir.families import is_member, relatives
from slinky.ir.operations import Accumulation, Reduction, Stage
from slinky.ir.statements import Alloc, Call, LoweredFunc


def alike(func: LoweredFunc, reduction: Reduction, *, in_parts: bool) -> tuple[tuple[str | None, Reduction], ...]:
    """The reductions of a func and its variants, by name, that the stages of one of them could be of, all together:
    they take the same, and have as many states along the same dimensions. Empty if there is but this one."""
    if not is_member(func):
        return ()
    found = []
    for name, member in relatives(func).items():
        other = member.reduction
        if other is None or (in_parts and other.merge is None) or not (other.is_exact or other.may_reassociate):
            continue
        if (other.over, other.positions) != (reduction.over, reduction.positions):
            continue
        if [s.dims for s in other.states] != [s.dims for s in reduction.states] or member.inputs != func.inputs:
            continue
        if member.outputs == func.outputs and _are_the_same(member.operation.arguments, func.operation.arguments):
            found.append((name, other))
    return tuple(found) if len(found) > 1 else ()


def _are_the_same(some: Sequence[tuple[str, Any]], others: Sequence[tuple[str, Any]]) -> bool:
    """Whether two lists of arguments have the same names, and the very same values."""
    return len(some) == len(others) and all(a == b and v is w for (a, v), (b, w) in zip(some, others, strict=True))


def choose_stages(edit: Edit, call: Call, stage: Accumulation, name: str | None) -> None:
    """Let all stages that share states with one run what a variant declares, given by the name that the func had it by.

    Raises `SchedulingError` where there is no such variant, or somebody else uses a state.
    """
    version, declared = edit.version, dict(stage.variants)
    if name not in declared:
        names = ", ".join(str(each) for each in declared if each is not None)
        raise SchedulingError(
            f"{call.func.name} has no variant {name!r}: it declares {names or 'none'}",
            place=statement_cursor(version, call.id),
            hint=f"choose a variant of {stage.func} before it is taken to pieces",
        )
    calls, states = _sharing(version, call, stage)
    reduction = declared[name]
    funcs: dict[LoweredFunc, LoweredFunc] = {}
    for identity in calls:
        old = version.statement(identity)
        assert isinstance(old, Call)
        if old.func not in funcs:
            funcs[old.func] = _with_reduction(old.func, reduction, name)
        edit.update(with_func(old, funcs[old.func]))
    for identity, number in states.items():
        alloc = version.statement(identity)
        assert isinstance(alloc, Alloc)
        dtype = reduction.states[number].dtype
        if alloc.dtype != dtype:
            if alloc.layout is not None:
                raise SchedulingError(
                    f"{alloc.buffer} lies in memory as it is asked for: it cannot hold {dtype}",
                    place=statement_cursor(version, identity),
                )
            edit.update(with_fields(alloc, dtype=dtype))


def _sharing(version: Version, call: Call, stage: Accumulation) -> tuple[list[int], dict[int, int]]:
    """The stages that share states with a call, and the allocations of these, each with which state it is."""
    calls, states, waiting = [call.id], dict[int, int](), [call.id]
    while waiting:
        here = version.statement(waiting.pop())
        assert isinstance(here, Call)
        for buffer, number in _states_of(here):
            alloc = version.alloc_of(buffer, here.id)
            if alloc is None:
                raise SchedulingError(
                    f"{buffer}, a state of {stage.func}, is given to the pipeline",
                    place=statement_cursor(version, here.id),
                )
            if alloc.id in states:
                continue
            states[alloc.id] = number
            for user in dict.fromkeys((*version.writers_of(alloc), *version.readers_of(alloc))):
                other = version.statement(user)
                assert isinstance(other, Call)
                if not _is_stage_of(other, stage) or not _uses_as(other, alloc.buffer, number):
                    raise SchedulingError(
                        f"{other.func.name} uses {alloc.buffer}, a state of {stage.func}, too",
                        place=statement_cursor(version, user),
                        hint=f"choose a variant of {stage.func} before it is taken to pieces",
                    )
                if user not in calls:
                    calls.append(user)
                    waiting.append(user)
    return calls, states


def _is_stage_of(call: Call, stage: Accumulation) -> bool:
    """Whether a call is a stage of a reduction, of the variant that a stage of it is of."""
    operation = call.func.operation
    if not isinstance(operation, Accumulation):
        return False
    return (operation.func, operation.variant) == (stage.func, stage.variant)


def _uses_as(call: Call, buffer: str, number: int) -> bool:
    """Whether a stage uses a buffer as the state of a number, and as nothing else."""
    uses = [own for each, own in _states_of(call) if each == buffer]
    return uses == [number] * (*call.reads, *call.writes).count(buffer)


def _states_of(call: Call) -> list[tuple[str, int]]:
    """The operands of a stage that are states, each with which one it is."""
    stage = call.func.operation
    assert isinstance(stage, Accumulation)
    count = len(stage.reduction.states)
    read = call.reads[: stage.states_read]
    written = call.writes if stage.stage is not Stage.FINISH else ()
    return [*((b, n % count) for n, b in enumerate(read)), *((b, n) for n, b in enumerate(written))]


def _with_reduction(func: LoweredFunc, reduction: Reduction, name: str | None) -> LoweredFunc:
    """A stage as another variant declares it: what it runs, and the dtypes of its states, are others."""
    stage = func.operation
    assert isinstance(stage, Accumulation)
    count = len(reduction.states)
    inputs = tuple(
        attrs.evolve(port, dtype=reduction.states[n % count].dtype) if n < stage.states_read else port
        for n, port in enumerate(func.inputs)
    )
    outputs = func.outputs
    if stage.stage is not Stage.FINISH:
        outputs = tuple(attrs.evolve(p, dtype=s.dtype) for p, s in zip(outputs, reduction.states, strict=True))
    operation = attrs.evolve(stage, reduction=reduction, variant=name)
    return attrs.evolve(func, operation=operation, inputs=inputs, outputs=outputs)
