"""What a function does again and again: its graph is cut into stretches, of which most are the same.

Idea. A loop of steps in a function is traced to as many nodes as all its steps have. In the order in which they were
made, each is like the one that stands a step before it from the second step on: the same operation, on views of the
same kind. The shortest such distance, over the longest run, is a *period*. Where a step begins is chosen so that as
little as can be goes from one to the next. What is before and after a loop is cut on in the same way, for functions may
have several loops, and loops in loops; what has none is one stretch. Where nothing repeats, it is tried again with
numbers among the arguments of plain arithmetic (`u + weights[k]`) told to each step, like floats.

Two stretches are one *form* if their nodes are alike, and read each other and what comes from outside in the same way:
then one graph stands for both, with sources for what comes from outside. So a function of a thousand steps is lowered,
scheduled and compiled as one step is.

Invariant: stretches, one after the other, compute what the graph does, wherever it is cut: that finds no wrong
results, only more or fewer forms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import islice

import attrs
import numpy as np

from slinky.frontend.lowering import count_of_funcs, floats_of, sources_of
from slinky.frontend.nodes import Node, Operation, Result, Source, View, whole_view
from slinky.frontend.operations import Number, Pointwise, as_it_is
from slinky.frontend.planned import Planned
from slinky.frontend.sizes import Length, Size, expr_of
from slinky.frontend.tracing import MOST_FUNCS
from slinky.symbolic.expressions import Expr

LEAST_FUNCS = 32
"""Graphs of fewer funcs are scheduled as a whole: steps may be computed together."""

LEAST_LEGS = 4
"""So many times a step must come again."""

_LEAST_NODES = 16
"""So many nodes all legs together have at least: others are part of a step, such as the four sides of a stencil."""

_MOST_PERIODS = 64
"""How many periods are tried at most."""

_PLACES = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8)
"""Where it is looked for what repeats, in parts of the whole."""

_PLAIN = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, as_it_is)
"""Functions of which it does not matter to any bit whether a number is known when they are lowered."""

_EXACT = 1 << 53
"""Integers of less than that are floats, exactly."""

_NOTHING = np.empty(0)

_Floats = dict[Node, list[int | float]]
"""The floats of nodes, by their numbers in the whole graph, or as they are."""


class Stretch(Planned):
    """A part of a graph that runs again and again: a graph of its own, of `count` stretches."""

    def __init__(self, nodes: list[Node], outputs: list[View], count: int) -> None:
        self.count = count
        self.be_graph(nodes, outputs)


@attrs.frozen(eq=False)
class Leg:
    """A stretch in its place: the numbers of the arrays that it `takes` and `gives`, the floats that it is told, by
    their numbers in the whole graph or as they are, and the numbers of the arrays that nobody needs afterwards."""

    stretch: Stretch
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    floats: tuple[int | float, ...]
    done: tuple[int, ...]

    def told(self, floats: Sequence[float]) -> list[float]:
        """The floats that it is told, of those of the whole graph."""
        return [floats[each] if type(each) is int else each for each in self.floats]


@attrs.frozen(eq=False)
class Legs:
    """A graph, cut into stretches: `stretches` are the different ones, `given` the numbers of the arrays of its
    sources, `results` those of the arrays that its outputs are views of."""

    legs: list[Leg]
    stretches: list[Stretch]
    given: list[int]
    results: list[int]


def legs_of(nodes: Sequence[Node], outputs: Sequence[View]) -> Legs | None:
    """A graph as stretches, most of which are the same; None where it does nothing often enough, or too much else."""
    numbers = iter(range(len(floats_of(nodes))))
    floats: _Floats = {node: [next(numbers) for _ in floats_of([node])] for node in nodes}
    found = _legs(nodes, outputs, floats)
    return _legs(*_told(nodes, outputs, floats)) if found is None else found


def _legs(nodes: Sequence[Node], outputs: Sequence[View], floats: _Floats) -> Legs | None:
    """The same, where all nodes have these floats."""
    made = sorted((node for node in nodes if not isinstance(node.operation, Source)), key=lambda node: node.serial)
    signs = _signs(made)
    pieces = [made[first:last] for first, last in _cut(signs, _crossing(made, outputs))]
    forms: dict[Hashable, list[list[Node]]] = defaultdict(list)
    sign_of = dict(zip(made, signs, strict=True))
    form_of = [_form(piece, sign_of) for piece in pieces]
    for piece, form in zip(pieces, form_of, strict=True):
        forms[form].append(piece)
    if max(map(len, forms.values()), default=0) < LEAST_LEGS:
        return None
    found = _Numbered(outputs, pieces, floats)
    places = {form: found.given_by(alike) for form, alike in forms.items()}
    stretches = {form: _stretch(alike[-1], places[form], len(alike)) for form, alike in forms.items()}
    if sum(count_of_funcs(each.nodes, each.outputs) for each in stretches.values()) > MOST_FUNCS:
        return None
    legs = [
        found.leg(stretches[form], piece, places[form], k)
        for k, (form, piece) in enumerate(zip(form_of, pieces, strict=True))
    ]
    given = [found.number(node.results[0]) for node in sources_of(nodes)]
    return Legs(legs, list(stretches.values()), given, [found.number(view.result) for view in outputs])


def _told(nodes: Sequence[Node], outputs: Sequence[View], floats: _Floats) -> tuple[list[Node], list[View], _Floats]:
    """The same graph, where the numbers among the arguments of plain arithmetic are floats that are told."""
    sources, made = sources_of(nodes), [node for node in nodes if not isinstance(node.operation, Source)]
    told = {node: _with_told(node) for node in made}
    found, stands = apart(made, [node.results[0] for node in sources], lambda node: told[node][0])
    own = zip([*sources, *made], found, strict=True)
    numbers = {new: [*floats[old], *(told[old][1] if old in told else ())] for old, new in own}
    return found, [attrs.evolve(view, result=stands[view.result]) for view in outputs], numbers


def _with_told(node: Node) -> tuple[Operation, list[float]]:
    """What a node does, where numbers among its arguments are told; and these."""
    operation = node.operation
    if not isinstance(operation, Pointwise) or operation.function not in _PLAIN or operation.masked:
        return operation, []
    dtypes = [each.dtype for each in node.results] + [each.dtype for each in node.operands]
    is_of_floats = all(each.kind == "f" for each in dtypes)
    arguments = list(operation.arguments)
    numbers: list[float] = []
    for k, value in enumerate(arguments):
        is_exact = is_of_floats and type(value) is int and abs(value) < _EXACT
        if is_exact or type(value) in (np.float64, np.float32):
            dtype = None if is_exact else np.dtype(type(value))
            arguments[k] = Number(len(operation.floats) + len(numbers), dtype)
            numbers.append(float(value))
    told = (*operation.floats, *numbers)
    return attrs.evolve(operation, arguments=tuple(arguments), floats=told), numbers


def _signs(nodes: Sequence[Node]) -> list[int]:
    """A number for each node, the same for those that do the same, whatever they read."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(_kind(node), len(known)) for node in nodes]


def _kind(node: Node) -> Hashable:
    own = node.operation.key(_expr)
    if own is None:
        return node
    views = tuple((tuple((_expr(i.offset), i.terms) for i in v.index), _lengths(v.shape)) for v in node.operands)
    return own, views, tuple((r.dtype, _lengths(r.shape)) for r in node.results)


def _lengths(shape: Sequence[Length]) -> tuple[Expr, ...]:
    return tuple(map(_expr, shape))


def _expr(given: Length) -> Expr:
    """A length, the same for lengths that were found equal."""
    return given.questions.canonical(given.expr) if type(given) is Size else expr_of(given)


def _crossing(nodes: Sequence[Node], outputs: Sequence[View]) -> list[int]:
    """How many results go from before each node to it, or to one behind it."""
    place = {node: k for k, node in enumerate(nodes)}
    last: dict[Result, int] = {}
    for k, node in enumerate(nodes):
        for view in node.operands:
            if view.result.node in place:
                last[view.result] = k
    last |= {view.result: len(nodes) for view in outputs if view.result.node in place}
    steps = [0] * (len(nodes) + 2)
    for result, end in last.items():
        steps[place[result.node] + 1] += 1
        steps[end + 1] -= 1
    found, count = [], 0
    for step in steps[: len(nodes) + 1]:
        count += step
        found.append(count)
    return found


def _cut(signs: Sequence[int], crossing: Sequence[int]) -> list[tuple[int, int]]:
    """Where nodes are cut, in order: into steps where these repeat, then what is before and after."""
    found, waiting = [], [(0, len(signs))]
    while waiting:
        first, last = waiting.pop()
        if first == last:
            continue
        repeated = _repeated(signs, first, last)
        if repeated is None:
            found.append((first, last))
            continue
        begin, end, period = repeated
        begin = min(range(begin, begin + period), key=lambda at: crossing[at])
        end = begin + (end - begin) // period * period
        found += [(at, at + period) for at in range(begin, end, period)]
        waiting += [(first, begin), (end, last)]
    return sorted(found)


def _repeated(signs: Sequence[int], first: int, last: int) -> tuple[int, int, int] | None:
    """Where it repeats around one of some places, first the middle: from where on, until before where, the period."""
    for part in _PLACES:
        middle = first + int(part * (last - first))
        again = (k for k in range(middle + 1, last) if signs[k] == signs[middle])
        for k in islice(again, _MOST_PERIODS):
            period, begin, end = k - middle, middle, k
            while begin > first and signs[begin - 1] == signs[begin - 1 + period]:
                begin -= 1
            while end < last and signs[end] == signs[end - period]:
                end += 1
            if end - begin >= max((LEAST_LEGS + 1) * period, _LEAST_NODES):
                return begin, end, period
    return None


def _form(piece: Sequence[Node], sign_of: Mapping[Node, int]) -> Hashable:
    """What pieces have in common for which one graph stands."""
    place = {node: k for k, node in enumerate(piece)}
    outside: dict[Result, int] = {}
    read = []
    for node in piece:
        for result in (view.result for view in node.operands):
            k = place.get(result.node)
            read.append((outside.setdefault(result, len(outside)), -1) if k is None else (k, result.number))
    kinds = tuple((result.dtype, _lengths(result.shape)) for result in outside)
    return tuple(map(sign_of.__getitem__, piece)), tuple(read), kinds


def _outside(piece: Sequence[Node]) -> list[Result]:
    """What a piece reads that it does not make, in the order in which it does."""
    own = set(piece)
    return list(dict.fromkeys(v.result for node in piece for v in node.operands if v.result.node not in own))


def _stretch(piece: Sequence[Node], places: Sequence[tuple[int, int]], count: int) -> Stretch:
    """A piece as a graph of its own that gives the results of these places."""
    nodes, stands = apart(piece, _outside(piece))
    return Stretch(nodes, [whole_view(stands[piece[k].results[number]]) for k, number in places], count)


def apart(
    piece: Sequence[Node],
    given: Sequence[Result],
    operation_of: Callable[[Node], Operation] = lambda node: node.operation,
) -> tuple[list[Node], dict[Result, Result]]:
    """Some nodes as a graph of its own, to which these results are given, and what stands there for each result; they
    do what they did, or something else."""
    stands: dict[Result, Result] = {}
    nodes = []
    for result in given:
        own = result.node
        name = own.operation.name if isinstance(own.operation, Source) else own.name
        nodes.append(Node(Source(_NOTHING, name, own.in_c_order), (), [(result.shape, result.dtype, False)]))
        stands[result] = nodes[-1].results[0]
    for node in piece:
        operands = [attrs.evolve(view, result=stands[view.result]) for view in node.operands]
        nodes.append(node.again(operands, operation_of(node)))
        stands.update(zip(node.results, nodes[-1].results, strict=True))
    return nodes, stands


class _Numbered:
    """The pieces of a graph, the arrays that they take and give by their numbers, and the floats of its nodes."""

    def __init__(self, outputs: Sequence[View], pieces: Sequence[Sequence[Node]], floats: _Floats) -> None:
        self._numbers: dict[Result, int] = {}
        self._kept = {view.result for view in outputs}
        self._last: dict[Result, int] = {}
        for k, piece in enumerate(pieces):
            self._last |= dict.fromkeys(_outside(piece), k)
        self._floats = floats

    def number(self, result: Result) -> int:
        """The number of an array."""
        return self._numbers.setdefault(result, len(self._numbers))

    def given_by(self, pieces: Sequence[Sequence[Node]]) -> list[tuple[int, int]]:
        """The places of the results that are needed outside of one of some pieces, which are alike."""
        needed = self._kept | self._last.keys()
        found = {
            (k, result.number): None
            for piece in pieces
            for k, node in enumerate(piece)
            for result in node.results
            if result in needed
        }
        return sorted(found)

    def leg(self, stretch: Stretch, piece: Sequence[Node], places: Sequence[tuple[int, int]], k: int) -> Leg:
        """The leg of a piece, which is the one of this number."""
        takes = _outside(piece)
        gives = [piece[at].results[number] for at, number in places]
        done = [each for each in (*takes, *gives) if self._last.get(each, -1) <= k and each not in self._kept]
        floats = [each for node in piece for each in self._floats[node]]
        taken, given, over = (tuple(map(self.number, each)) for each in (takes, gives, done))
        return Leg(stretch, taken, given, tuple(floats), over)
