"""Plan trees whose loops come with their variable alone, for text in which a window costs no call.

In Python, a loop takes the windows of folded buffers from iterators beside its variable (see `plan_tree.Onward`), which
is sooner than to ask for each. In C a window is an address, computed where it is used.

Invariant: the new tree gives each name the window that the given one does.
"""

from __future__ import annotations

import attrs

from slinky.runtime.plan_tree import (
    Again,
    Assign,
    Guard,
    Linear,
    Loop,
    Name,
    Onward,
    ParallelLoop,
    PlanTree,
    RecordBlock,
    RecordCall,
    StagedLoop,
    Step,
    Steps,
    Window,
)


def with_windows_inside(tree: PlanTree) -> PlanTree:
    """A tree that asks for each window of a loop in its body; the same one where there is nothing to do."""
    body = _steps(tree.body)
    again: Again | None = tree.again
    if again is not None:
        inside = _steps(again.body)
        again = again if inside is again.body else Again(again.name, again.parameters, inside)
    return tree if body is tree.body and again is tree.again else attrs.evolve(tree, body=body, again=again)


def _steps(steps: Steps) -> Steps:
    found = tuple([_step(step) for step in steps])
    return steps if all(a is b for a, b in zip(found, steps, strict=True)) else found


def _step(step: Step) -> Step:
    match step:
        case Loop(variable=variable, beside=beside):
            body = _steps(step.body)
            if beside:
                asked = [Assign(name, _window(windows, variable)) for name, windows in beside]
                return attrs.evolve(step, body=(*asked, *body), beside=())
            return step if body is step.body else attrs.evolve(step, body=body)
        case ParallelLoop() | RecordBlock() | RecordCall():
            body = _steps(step.body)
            return step if body is step.body else attrs.evolve(step, body=body)
        case Guard():
            body, orelse = _steps(step.body), _steps(step.orelse)
            same = body is step.body and orelse is step.orelse
            return step if same else attrs.evolve(step, body=body, orelse=orelse)
        case StagedLoop():
            stages = tuple([attrs.evolve(stage, body=_steps(stage.body)) for stage in step.stages])
            return attrs.evolve(step, stages=stages)
        case _:
            return step


def _window(windows: Onward, variable: str) -> Window:
    """The window of an iteration."""
    rate = windows.rate
    first = Linear(((1, windows.first), (rate, Name(variable)), (-rate, windows.start)), 0)
    return Window(windows.ring, ((first, windows.count),))
