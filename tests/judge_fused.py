"""What fused funcs compute in runs of the second judge: what the two funcs compute that they stand for.

Idea. A fused func is run as the two funcs, one after the other. If it is taken to pieces, by its author's word, its
states are sums of what it reads itself, in which nobody sees what the two would make of that. So each element that a
piece takes is noted. Where the last stage gives what a func like any other would give of the noted elements, each was
taken once, in its place: then it writes what the two funcs give of them. Else it writes what it has, which is nothing
that the two give.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import attrs
import numpy as np
from judge_geometry import (
    Coordinates,
    Geometry,
    NumericBox,
    TooMuchWorkError,
    WrongProgramError,
    box_text,
    fused_of,
    geometry_of,
    holds_box,
    operands_read,
    read_alike,
    read_boxes,
    read_views,
    written_dims,
    written_views,
)
from judge_memory import Memory

from slinky.ir.operations import Reduction, Stage
from slinky.ir.statements import Call, LoweredFunc

if TYPE_CHECKING:
    from judge_running import Run

Taken: TypeAlias = list[dict[Coordinates, int]]
"""Of each input of a fused func, the elements that pieces have taken."""

_reducing: WeakKeyDictionary[Reduction, LoweredFunc] = WeakKeyDictionary()
"""The fused func that a reduction is of; it does not say so itself here, which would keep it for ever."""


def compute_both(
    run: Run, call: Call, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Mapping[str, Memory]
) -> None:
    """Compute what a fused func stands for: the output of the first func, as far as the second reads it, and then
    the second. Raises `WrongProgramError` where the fused func does not read what the first one does."""
    fused = fused_of(call.func)
    assert fused is not None
    if call.func.reduction is not None:
        _reducing.setdefault(call.func.reduction, attrs.evolve(call.func, reduction=None))
    first, second, ports = fused
    plans = geometry_of(second, run.values).plan(box)[0]
    hulls = [hull for k in ports if (hull := plans[k].hull) is not None]
    name, count = f"between, in {call.func.name}", len(first.inputs)
    others = iter(operands_read(call)[count:])
    reads = tuple(name if k in ports else next(others) for k in range(len(second.inputs)))
    scope = dict(scope)
    scope[name] = Memory(name, ((0, -1),) * len(read_boxes(second)[ports[0]]), ())
    if hulls:
        region = tuple((min(lo for lo, _ in each), max(hi for _, hi in each)) for each in zip(*hulls, strict=True))
        scope[name] = Memory(name, region, ())
        own = dict(zip(written_dims(first)[0], region, strict=True))
        needed = tuple(own[d] for d in range(len(own)))
        inner = geometry_of(first, run.values)
        for mine, theirs in zip(geometry.plan(box)[0], inner.plan(needed)[0], strict=False):
            if theirs.hull is not None and (mine.hull is None or not holds_box(mine.hull, theirs.hull)):
                raise WrongProgramError(f"{call.func.name}{box_text(box)} does not read what {first.name} does")
        part = Call(first, call.box, tuple(operands_read(call)[:count]), (name,))
        run.compute(part, inner, needed, [scope[name]], scope)
    rest = Call(second, call.box, reads, call.writes)
    run.compute(rest, geometry_of(second, run.values), box, targets, scope)


def follow_stage(
    run: Run, call: Call, geometry: Geometry, box: NumericBox, targets: list[Memory], scope: Mapping[str, Memory]
) -> None:
    """Note what a piece takes of a fused func's inputs, or write what the two funcs give of all that was taken."""
    stage = geometry.stage
    whole = None if stage is None else _reducing.get(stage.reduction)
    if stage is None or whole is None:
        return
    if stage.stage is Stage.UPDATE:
        count = len(stage.reduction.states)
        taken: Taken = run.taken.setdefault(id(stage.reduction), [{} for _ in whole.inputs])
        plans, views = geometry.plan(box)[0][count:], read_views(call.func)[count:]
        for name, plan, view, own in zip(operands_read(call)[count:], plans, views, taken, strict=True):
            if plan.hull is not None:
                hashes = run.seen(call.func, box, scope[name], plan.hull, view)
                points = np.ndindex(*hashes.shape[:-1])
                for at in points:
                    point = tuple(c + lo for c, (lo, _) in zip(at, plan.hull, strict=True))
                    own[point] = int(hashes[at][0])
    elif stage.stage is Stage.FINISH:
        _finish(run, call, whole, geometry, box, targets)


def _finish(
    run: Run, call: Call, whole: LoweredFunc, geometry: Geometry, box: NumericBox, targets: list[Memory]
) -> None:
    stage = geometry.stage
    assert stage is not None
    if any(view is not None for view in written_views(call.func)):
        raise TooMuchWorkError
    taken: Taken = run.taken.get(id(stage.reduction), [{} for _ in whole.inputs])
    names = [f"{k} of {whole.name}" for k in range(len(whole.inputs))]
    scope = {
        name: _memory(name, own, len(port)) for name, own, port in zip(names, taken, read_boxes(whole), strict=True)
    }
    alike = Call(whole, call.box, tuple(names), call.writes)
    try:
        one = geometry_of(whole, run.values)
    except KeyError:  # in a pipeline of its own, where the ends of buffers are called otherwise
        raise TooMuchWorkError from None
    one.is_sum = True  # it says so itself, elsewhere
    one.alike = read_alike(attrs.evolve(whole, reduction=stage.reduction))
    if any(plan.hull is not None and not own for plan, own in zip(one.plan(box)[0], taken, strict=True)):
        raise TooMuchWorkError  # there was no piece: what all of them read alike is not known
    regions = [output.region for output in geometry.plan(box)[1]]
    plain, both = ([Memory(t.name, region, ()) for t, region in zip(targets, regions, strict=True)] for _ in range(2))
    run.compute_alone(alike, one, box, plain, scope)
    compute_both(run, alike, one, box, both, scope)
    for target, region, expected, right in zip(targets, regions, plain, both, strict=True):
        held = target.read(region)
        target.write(region, np.where(held == expected.values, right.values, held))


def _memory(name: str, elements: Mapping[Coordinates, int], rank: int) -> Memory:
    """Elements as a buffer: junk between them."""
    if not elements:
        return Memory(name, ((0, -1),) * rank, ())
    region = tuple((min(along), max(along)) for along in zip(*elements, strict=True))
    memory = Memory(name, region, ())
    for point, value in elements.items():
        at = tuple(c - lo for c, (lo, _) in zip(point, region, strict=True))
        memory.values[at] = value
    return memory
