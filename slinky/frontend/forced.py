"""Values that a function asks for while it is traced: how they are computed, again and again.

Idea. `while np.abs(new - old).max() > tolerance` asks for a value in each iteration, and what is between two questions
is the same graph each time. So graphs are known by their structure, and what runs one is chosen as for whole traces:
by a schedule or func after func, and in C when it has run for a while, in the midst of a call, too.

Invariant: what is known of a graph holds for all of its structure, on arrays of its sizes; no array is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from slinky.frontend.choosing import Chooser
from slinky.frontend.legs import InLegs, Link
from slinky.frontend.lowering import count_of_funcs, floats_of, sources_of, structure, untold
from slinky.frontend.nodes import Array, Node, Source, View, numbers
from slinky.frontend.planned import Given
from slinky.frontend.reals import now
from slinky.frontend.repeating import LEAST_FUNCS, Stretch, apart
from slinky.frontend.sizes import value_of
from slinky.frontend.to_native import Move
from slinky.frontend.tracing import MOST_FUNCS, Trace

MOST_GRAPHS = 64
"""So many graphs are known, the latest ones."""

_UNKNOWN: Any = object()


class ForcedValues:
    """What computes the values that a function asks for; `chooser` says how."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        self._known: OrderedDict[Hashable, Link | InLegs | None] = OrderedDict()
        self._made = 0

    def __call__(self, trace: Trace, nodes: Sequence[Node], views: Sequence[View]) -> list[Array] | None:
        """What some views of a graph see, in new arrays; None where it has more funcs than are scheduled."""
        sources = sources_of(nodes)
        arrays: list[Array] = [node.operation.array for node in sources]  # type: ignore[attr-defined]
        sizes = [trace.questions.values[symbol] for symbol in untold(nodes, views)]
        floats = list(map(now, floats_of(nodes)))
        results = [(numbers(view.shape), view.dtype) for view in views]
        shapes = (*(array.shape for array in arrays), *(shape for shape, _ in results))
        what = structure(nodes, views, with_names=False)
        kind = None if what is None else (what, shapes, tuple(sizes))
        known = self._known.pop(kind, _UNKNOWN)
        if known is _UNKNOWN:  # two threads that ask at once make it twice
            given = Given(trace.questions.values, value_of, results, shapes, (floats, sizes))
            known = self._made_for(_without_arrays(nodes, views), given)
            self._made += 1
        if kind is not None:
            self._known[kind] = known
            while len(self._known) > MOST_GRAPHS:
                self._known.popitem(last=False)
        if known is None:
            return None
        trace.graphs[known] += 1
        outputs: list[Array] = [np.empty(*each) for each in results]
        known.enter([*arrays, *outputs], known.scalars(floats))
        return outputs

    def _made_for(self, graph: Stretch, given: Given) -> Link | InLegs | None:
        """What runs a graph."""
        count = count_of_funcs(graph.nodes, graph.outputs)
        legs = self._chooser.legs_of(graph) if count > LEAST_FUNCS else None
        if legs is not None:
            return self._chooser.in_legs(graph, legs, given)
        return None if count > MOST_FUNCS else self._chooser.link(graph, given)

    def forget(self) -> None:
        """Know of no graphs."""
        self._known.clear()

    @property
    def known(self) -> tuple[int, int]:
        """How much it knows: another pair, when it knows more."""
        return self._made, len(self.moves)

    @property
    def moves(self) -> list[Move]:
        """What is on its way to C."""
        return [move for known in list(self._known.values()) if known is not None for move in known.moves]


def _without_arrays(nodes: Sequence[Node], views: Sequence[View]) -> Stretch:
    """The same graph, which keeps no arrays."""
    made = [node for node in nodes if not isinstance(node.operation, Source)]
    found, stands = apart(made, [node.results[0] for node in sources_of(nodes)])
    return Stretch(found, [View(stands[view.result], view.index, view.shape) for view in views], 1)
