"""A graph that runs stretch after stretch: by the plans of a few, however many legs there are.

Idea. What goes from one leg to others are whole arrays. They lie in results, where they end up there, and else in
buffers of one call, which are taken by later legs when nobody needs them any more: so a loop of steps goes to and fro
between a few buffers. A stretch runs by what was chosen for it, and moves to C by itself, in the midst of a call, too.
What has no schedule, as NumPy is as fast, runs func after func.

Invariant: a buffer is read by no leg after it was taken by another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.lowering import Lowered
from slinky.frontend.nodes import Array, View
from slinky.frontend.planned import Given
from slinky.frontend.repeating import Legs, Stretch
from slinky.frontend.sizes import Length
from slinky.frontend.to_native import Move, Moving, Runs
from slinky.frontend.views import seen
from slinky.runtime.reusing import KEPT, is_reused

Kind = tuple[tuple[int, ...], "np.dtype[Any]"]
"""The shape and the dtype of an array."""


@attrs.frozen(eq=False)
class Link:
    """A stretch for arrays of the sizes that are `given`, with the numbers of its first leg, by which it was chosen
    what runs it; and as a pipeline."""

    stretch: Stretch
    given: Given
    lowered: Lowered

    @property
    def plan(self) -> Runs | None:
        """What runs it now."""
        return self.stretch.scheduled.get(self.given.shapes)

    @property
    def moves(self) -> list[Move]:
        """What is on its way to C."""
        plan = self.plan
        return [plan] if isinstance(plan, Move) else []

    def scalars(self, floats: Sequence[float]) -> dict[str, Any]:
        """The scalars of a run, by the floats of the stretch."""
        return self.lowered.scalars(floats, self.given.numbers[1])

    def enter(self, arrays: Sequence[object], scalars: dict[str, Any]) -> None:
        """Run it on arrays, those that it takes and then those that it gives."""
        plan = self.plan or self.lowered.unscheduled.compile()
        plan.enter(arrays, scalars)


class InLegs(Moving):
    """What runs a graph in legs, whose outputs are views of arrays."""

    def __init__(
        self, legs: Legs, links: Sequence[Link], outputs: Sequence[View], count: int, of: Callable[[Length], int]
    ) -> None:
        """The graph has so many floats, and `of` tells its sizes."""
        self.links = links
        self.floats = tuple([f"float_{k}" for k in range(count)])
        own = dict(zip(legs.stretches, links, strict=True))
        self._legs = [(leg, own[leg.stretch]) for leg in legs.legs]
        self._given = legs.given
        self._of = of
        made = {number for leg in legs.legs for number in leg.gives}
        self._copied: list[tuple[int, int, View]] = []
        self._places: dict[int, int] = {}
        """Which arrays are computed where they end up: the numbers of the outputs."""
        for k, (number, view) in enumerate(zip(legs.results, outputs, strict=True)):
            if view.is_whole and number in made and number not in self._places:
                self._places[number] = k
            else:
                self._copied.append((k, number, view))

    def scalars(self, floats: Sequence[float]) -> dict[str, float]:
        """The scalars of a run, by the floats of the graph."""
        return dict(zip(self.floats, floats, strict=True))

    def enter(self, arrays: Sequence[Any], scalars: dict[str, Any]) -> None:
        """Run on arrays, inputs and then outputs."""
        given, outputs = arrays[: len(self._given)], arrays[len(self._given) :]
        values: dict[int, Array] = dict(zip(self._given, given, strict=True))
        floats = [scalars[name] for name in self.floats]
        buffers = _Buffers()
        for leg, link in self._legs:
            for number, kind in zip(leg.gives, link.given.results, strict=True):
                place = self._places.get(number)
                values[number] = buffers.take(*kind) if place is None else outputs[place]
            own = [values[number] for number in (*leg.takes, *leg.gives)]
            link.enter(own, link.scalars(leg.told(floats)))
            for number in leg.done:
                array = values.pop(number)
                buffers.give_back(array)
        for k, number, view in self._copied:
            np.copyto(outputs[k], seen(values[number], view, self._of))

    def took(self, seconds: float) -> None:
        """A call took so long without these plans."""
        moves = self.moves
        for move in moves:
            move.took(seconds / len(moves))

    @property
    def moves(self) -> list[Move]:
        """What is on its way to C."""
        return [move for link in self.links for move in link.moves]

    @property
    def is_plain(self) -> bool:
        """Whether nothing of it has a plan: the function as it is does the same, and no more."""
        return all(link.plan is None for link in self.links)

    @property
    def runs_c(self) -> bool:
        """Whether it has moved to C as far as it will."""
        return not self.moves and any(getattr(link.plan, "runs_c", False) for link in self.links)

    @property
    def keeps_bits(self) -> bool:
        """Whether all bits are those that NumPy gives."""
        return all(getattr(link.plan, "keeps_bits", True) for link in self.links)


class _Buffers:
    """The buffers of a call: those that legs have made, and that others may take."""

    def __init__(self) -> None:
        self._own: dict[int, Array] = {}
        self._free: defaultdict[Kind, list[Array]] = defaultdict(list)

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array, which may hold anything."""
        free = self._free[shape, dtype]
        if free:
            return free.pop()
        array = KEPT.array(shape, dtype) if is_reused(shape, dtype) else np.empty(shape, dtype)
        self._own[id(array)] = array
        return array

    def give_back(self, array: Array) -> None:
        """Nobody needs an array any more; it is free, if it is one of these."""
        if id(array) in self._own:
            self._free[array.shape, array.dtype].append(array)
