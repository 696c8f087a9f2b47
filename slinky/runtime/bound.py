"""A pipeline with its arguments, for many runs on the same arrays.

The function of the plan (the variant `Kind.bound`) is called once for these arguments: it does all that comes before
the first callback and gives a function that does the rest. A run calls that.

Invariants: the arrays are views of our own, so nothing that is done to the shape or the flags of the caller's arrays
changes what was checked; a prepared function and its arena serve one run at a time, and none after an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from slinky.runtime.arena import Arena
from slinky.runtime.arguments import take_arguments
from slinky.runtime.buffers import buffer_at
from slinky.runtime.plan import Plan
from slinky.runtime.run_options import RunOptions
from slinky.runtime.statistics import Hooks, RunStatistics
from slinky.runtime.threads import default_workers


class BoundPipeline:
    """A pipeline and the arguments that it runs on, checked once. Made by `Pipeline.bind`; call it to run.

    A run returns what the pipeline returns: the output, or a tuple of the outputs. The memory for intermediates is kept
    from run to run. Runs at the same time write to the same outputs, as calls of the pipeline on the same arrays do.
    """

    __slots__ = ("__weakref__", "_arguments", "_idle", "_plan", "_result", "_scalars", "_values", "_variant")

    def __init__(self, plan: Plan, arrays: Sequence[object], scalars: Mapping[str, object]) -> None:
        storages = take_arguments(plan.program, arrays, scalars).storages
        given = [storages[p.name] for p in (*plan.program.inputs, *plan.program.outputs)]
        self._arguments = [buffer_at(s.array[...], tuple(lo for lo, _ in s.box)) for s in given]
        self._scalars = dict(scalars)
        handed = plan.handed(self._arguments, self._scalars, again=True)
        self._plan = plan
        self._values = handed.values
        self._variant = plan.variant(handed.kind)
        outputs = tuple(arrays[len(plan.program.inputs) :])
        self._result = outputs[0] if len(outputs) == 1 else outputs
        self._idle: list[Callable[[], None]] = []
        try:
            self._idle.append(self._prepared())
        except BaseException as error:
            self._failed(error)
            raise

    def __repr__(self) -> str:
        program = self._plan.program
        names = [p.name for p in (*program.inputs, *program.outputs)]
        given = [f"{name}={array!r}" for name, array in zip(names, self._arguments, strict=True)]
        given += [f"{name}={value}" for name, value in self._scalars.items()]
        return f"<BoundPipeline {program.name}({', '.join(given)})>"

    def __call__(self) -> Any:
        """Run. An exception of a callback propagates with a note that names the call and its box."""
        try:
            run = self._idle.pop()
        except IndexError:
            run = self._prepared()
        try:
            run()
        except BaseException as error:
            self._failed(error)
            raise
        self._idle.append(run)
        return self._result

    def run(self, *, hooks: Hooks | None = None, threads: int | None = None, timed: bool = False) -> RunStatistics:
        """Run as `Pipeline.run` does on these arguments, and return what was used: not the quick way, but what to ask
        where the time goes. The memory that is kept for quick runs takes no part in it."""
        options = RunOptions(hooks=Hooks() if hooks is None else hooks, threads=threads, timed=timed)
        statistics = self._plan.record(self._arguments, self._scalars, options)
        outputs = self._result if isinstance(self._result, tuple) else (self._result,)
        return attrs.evolve(statistics, outputs=outputs)

    def release(self) -> None:
        """Give back the memory that is kept for later runs."""
        self._idle.clear()
        self._variant.release()  # the iterations of parallel loops have arenas of their own there

    def _prepared(self) -> Callable[[], None]:
        """A function for one run at a time, with an arena of its own."""
        tree = self._variant.tree
        run: Callable[..., None] = self._variant.function(Arena(tree.sites), *self._values)
        return (lambda: run(default_workers())) if tree.threaded else run

    def _failed(self, error: BaseException) -> None:
        self._idle.clear()
        self._plan.explain(error, self._variant, self._arguments, self._scalars)
