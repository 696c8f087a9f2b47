"""What will a run use? The recorded variant of a plan runs with callbacks that do nothing and arrays without memory.

Memory and elements computed depend on the bounds of the arguments alone, never on their elements, so the figures of a
rehearsal are those of the run. With parallel loops, whose iterations overlap as it happens, the memory is what is
taken when as many of the largest iterations as there are threads run at the same time: a run takes at most that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from slinky.ir.operations import Nested, Operation
from slinky.runtime.arena import SiteKind, make_window, moving_room, whole_window
from slinky.runtime.buffers import Array, Buffer, buffer_at
from slinky.runtime.nested import inner_run
from slinky.runtime.omitted import Completion
from slinky.runtime.plan import Plan, StandIns
from slinky.runtime.plan_tree import PlanTree
from slinky.runtime.reservations import Layout, MeasuredArena, Reservations, Room
from slinky.runtime.stand_ins import address_space, stand_ins_for, untouched
from slinky.runtime.statistics import Recorder, RunStatistics
from slinky.runtime.threads import default_workers, most_threads


def rehearse(
    plan: Plan, arguments: Sequence[object], scalars: Mapping[str, object], threads: int | None
) -> RunStatistics:
    """The statistics of a run on these arrays, or arrays of these shapes (tuples of integers).

    Raises `ArgumentError` as the run would.
    """
    complete, numbers = stand_ins_for(Completion(plan.program), arguments, scalars)
    return plan.rehearse(complete, numbers, threads, _stand_ins)


def _stand_ins(tree: PlanTree, recorder: Recorder) -> StandIns:
    threads = _Threads(recorder)
    silent = {name: _in_place_of(func.operation, recorder, threads) for name, func in tree.callbacks.items()}
    arenas = {name: _Arenas(kinds, threads) for name, kinds in tree.arenas.items()}
    reservations = Reservations(tree.sites, _Arena(tree.sites))
    reservations.loops += arenas.values()
    return StandIns(
        {**tree.objects, **silent, **arenas, "run_parallel": threads.run, "run_stages": threads.run_stages},
        reservations,
    )


def _in_place_of(operation: Operation, recorder: Recorder, threads: _Threads) -> Callable[..., None]:
    """What to run instead of an operation: a rehearsal of an inner pipeline, and nothing of others."""
    if not isinstance(operation, Nested):
        return _nothing
    plan = inner_run(operation).plan

    def rehearse_inner(*buffers: Buffer, **scalars: Any) -> None:
        stand_ins = [buffer_at(untouched(b.array.shape, b.array.dtype), b.min) for b in buffers]
        with recorder.inside(plan, threads.at_once) as reserved:
            reserved(plan.rehearse_with(recorder, stand_ins, scalars, _stand_ins))

    return rehearse_inner


def _nothing(*_operands: object, **_arguments: object) -> None:
    """In place of every callback."""


def _ring_space(size: int) -> Array:
    """In place of mirrored memory: both halves."""
    return address_space(2 * size)


def _without_memory(kind: SiteKind, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.empty((), kind.dtype), shape)


class _Site:
    """In place of `arena.Site`."""

    def __init__(self, kind: SiteKind) -> None:
        self.kind = kind

    @property
    def read_only(self) -> _Site:
        return self

    def __getitem__(self, shape: int | tuple[int, ...]) -> Array:
        self.kind.laid(shape)
        return _without_memory(self.kind, (shape,) if isinstance(shape, int) else shape[: self.kind.rank])


class _RingSite(_Site):
    """In place of `arena.RingSite`."""

    def __getitem__(self, key: Any) -> Any:
        if moving_room(self.kind, key) is not None:
            return whole_window(self.kind, key, address_space)  # whose rows do not move: they would be touched
        return make_window(self.kind, key, _ring_space, address_space)


class _Arena:
    """In place of an arena."""

    def __init__(self, kinds: Sequence[SiteKind]) -> None:
        self._sites = tuple(_Site(kind) for kind in kinds if not kind.folded)
        self.rings = tuple(_RingSite(kind) for kind in kinds if kind.folded)

    def __getitem__(self, _sizes: int | tuple[int, ...]) -> tuple[_Site, ...]:
        return self._sites


class _Threads:
    """In place of threads: one iteration after the other, counted as if the largest ran at the same time."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.at_once = 1

    def run(self, iterations: Sequence[int], body: Callable[[int], None], workers: int) -> None:
        """In place of `run_parallel`."""
        most = max(min(workers, default_workers()), 1)
        outer = self.at_once
        self.at_once = min(outer * min(most, max(len(iterations), 1)), max(most_threads(), outer))
        self._recorder.overlap((functools.partial(body, i) for i in iterations), most)
        self.at_once = outer

    def run_stages(
        self, iterations: Sequence[int], stages: Sequence[Callable[[int], None]], depth: int, workers: int
    ) -> None:
        """In place of `run_stages` of `threads`: a stage runs once at a time, some of them at the same time."""

        def all_of(stage: Callable[[int], None]) -> None:
            for iteration in iterations:
                stage(iteration)

        most = max(min(workers, default_workers(), depth, len(iterations)), 1)
        self._recorder.overlap((functools.partial(all_of, stage) for stage in stages), most)


class _Arenas:
    """In place of `arena.Arenas`. `bytes` counts as many arenas as iterations may run at the same time."""

    def __init__(self, kinds: Sequence[SiteKind], threads: _Threads) -> None:
        self._threads = threads
        self._arena = MeasuredArena(Room(Layout(kinds)), _Arena(kinds))
        self._at_once = 0

    def take(self) -> MeasuredArena:
        self._at_once = max(self._at_once, self._threads.at_once)
        return self._arena

    def give(self, arena: MeasuredArena) -> None:
        pass

    def bytes(self) -> int:
        """What the iterations take in all."""
        return self._arena.room.of_several(self._at_once)
