"""Traces that have ended: what is computed, and what of it comes back.

Idea. A result of the function is (a view of) an array that the pipeline computes, or of an argument, or a length, or a
value that is the same at each call. Arguments that were written to have outputs of their own, which end up in them.

Invariant: a `giver` gives the tree that the function returned, for other arrays of the same kind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.abandoning import Abandoned
from slinky.frontend.arrays import Cell, LazyArray
from slinky.frontend.assignments import graph_of
from slinky.frontend.donating import GivenAsItIsError, Written, may_be_written, written
from slinky.frontend.indexed import is_just_elements, own_array
from slinky.frontend.labels import goes_by_places
from slinky.frontend.layouts import depends_on_layout, in_other_order, unlike_numpy, unlike_numpy_as_given
from slinky.frontend.lowering import count_of_funcs, floats_of, sources_of, untold
from slinky.frontend.nodes import Array, Node, Source, View, whole_view
from slinky.frontend.opened import Opened
from slinky.frontend.planned import Planned
from slinky.frontend.reals import Real, Told, known_reals, now
from slinky.frontend.repeating import LEAST_FUNCS, Legs, legs_of
from slinky.frontend.result_objects import maker, opened_result
from slinky.frontend.sizes import Length, Size, are_same, expr_of, value_of
from slinky.frontend.tables import EXACT_PIECES
from slinky.frontend.tracing import MOST_FUNCS, Trace
from slinky.frontend.trees import CONSTANTS, held_by_objects, is_named_tuple, leaves_of, with_leaves
from slinky.frontend.views import seen
from slinky.symbolic.expressions import Expr
from slinky.symbolic.traversal import evaluate


@attrs.frozen(eq=False)
class _Output:
    """How a result of the function comes of the arrays of a run: by a view of one of them; scalars are taken out. What
    is an array of its own in NumPy, computed like another result, `is_apart` from that."""

    number: int
    view: View
    scalar: bool
    is_apart: bool = False


@attrs.frozen(eq=False)
class _Argument:
    """A result that is a view of an argument, by its number, or the very argument, if it `is_it`; or its elements as
    they were given, in an array of their own, if it `is_apart`; if that `may_be_it`, only where the argument is not in
    C order."""

    number: int
    view: View
    is_it: bool
    is_apart: bool = False
    may_be_it: bool = False

    def given_of(self, arrays: Sequence[Any], of: Callable[[Length], int]) -> Any:
        """The result, for such arguments."""
        array = arrays[self.number]
        if not (self.is_it or (self.is_apart and self.view.is_whole)):
            array = seen(np.asarray(array), self.view, of)
        if not self.is_apart or (self.may_be_it and array.flags.c_contiguous):
            return array
        return array.copy()


@attrs.frozen(eq=False)
class _Length:
    """A result that is a length."""

    expr: Expr


@attrs.frozen(eq=False)
class _Float:
    """A result that is a float, told at each call."""

    told: Told


@attrs.frozen(eq=False)
class _Given:
    """A result that is the same at each call."""

    value: Any


class Kept:
    """What a function may return beside arrays and numbers, and comes back as it is."""


_NONE = np.empty(0)


@attrs.frozen(eq=False)
class Arguments:
    """The arrays among the arguments while a function is traced: the lazy ones in their place, their numbers by the
    nodes that stand for them, and the places of those that are given away; of these, those that were `taken` from
    objects."""

    given: list[LazyArray] = attrs.field(factory=list)
    numbers: dict[Node, int] = attrs.field(factory=dict)
    donated: dict[Cell, int] = attrs.field(factory=dict)
    taken: set[int] = attrs.field(factory=set)


class Traced(Planned):
    """A trace that has ended: what is computed, and what comes back."""

    def __init__(self, trace: Trace, held: list[Any], arguments: Arguments) -> None:
        """Of what the function returned, which is all that is `held`."""
        self.trace = trace
        result = _with_keys(held[0] if trace.is_labelled else opened_result(held))
        self.outputs: list[View] = []
        self._numbers = numbers = arguments.numbers
        self._owners: dict[Any, Cell] = {}
        found = self._outputs(result, arguments)
        self.result = with_leaves(result, lambda leaf: self._leaf(leaf, found, arguments))
        leaves = [leaf for _, leaf in leaves_of(self.result)]
        self.shares_otherwise = self._shares_otherwise(result, found, arguments)
        """Whether, in NumPy, results may share memory, or cannot be written to, where these are arrays of their own."""
        self._apart = tuple(leaf for leaf in leaves if isinstance(leaf, _Argument) and leaf.is_apart)
        writes = self._writes(arguments)
        nodes, outputs = graph_of(self.outputs)
        self.be_graph(_arguments_first(nodes, numbers), outputs)
        given = sources_of(self.nodes)
        self.sources: list[tuple[int | None, Array]] = [
            (numbers.get(node), _NONE if node in numbers else node.operation.array)  # type: ignore[attr-defined]
            for node in given
        ]
        self.written = self._settled(writes, arguments.taken)
        self._in_arguments = frozenset(each.output for each in self.written if each.at_once)
        self._shows_layout = trace.by_pieces == EXACT_PIECES and any(map(depends_on_layout, self.nodes))
        self.needs_c_order = trace.asked_for_layout or self._shows_layout
        self._floats = floats_of(self.nodes)
        self.computed = _of_own_sizes(trace)
        seen_of = [*self.outputs, *(view for node in self.nodes for view in node.operands)]
        shapes = [view.shape for view in seen_of] + [r.shape for node in self.nodes for r in node.results]
        self.extents = {expr_of(n): None for shape in shapes for n in shape if type(n) is Size}
        self.is_empty = any(type(n) is int and n == 0 for shape in shapes for n in shape)
        self.lives_on = False
        """Whether it was kept for other calls, by whatever kind of arguments, and so has let go of those of its own."""
        self.in_columns: Traced | None = None
        """The same for arrays that lie in columns, once there have been some; itself where it is not known."""
        self._owners.clear()
        arguments.given.clear()

    def forget(self) -> None:
        """Know of no plans, of no times, and not what repeats."""
        super().forget()
        self._legs: list[Legs | None] = []
        self._funcs: int | None = None

    @property
    def legs(self) -> Legs | None:
        """The graph in stretches that come again and again, where it has many funcs; else None."""
        if not self._legs:
            is_long = not self.untold and self.funcs > LEAST_FUNCS
            self._legs.append(legs_of(self.nodes, self.outputs) if is_long else None)
        return self._legs[0]

    @property
    def is_a_pipeline(self) -> bool:
        """Whether it has so few funcs that it may be scheduled as a whole."""
        return self.funcs <= MOST_FUNCS

    @property
    def funcs(self) -> int:
        """How many funcs it has as a pipeline."""
        if self._funcs is None:
            self._funcs = count_of_funcs(self.nodes, self.outputs)
        return self._funcs

    @property
    def rows(self) -> Traced:
        """The same for arrays that lie in rows: itself, if it is not one for columns."""
        return self

    @property
    def each_way(self) -> list[Traced]:
        """Itself, and the same for arrays that lie in columns, if there have been some."""
        return [self] if self.in_columns is None or self.in_columns is self else [self, self.in_columns]

    def arrays(self, leaves: Sequence[Any]) -> list[Array]:
        """The arrays that are read, those given and others, as they are read."""
        return [array if number is None else leaves[number] for number, array in self.sources]

    def as_given_back(self, outputs: Sequence[Array]) -> Sequence[Array]:
        """The arrays that it gives, of those that were computed."""
        return outputs

    def _writes(self, arguments: Arguments) -> list[Written]:
        """What goes to arguments: outputs of their own."""
        origins = {number: node.results[0] for node, number in arguments.numbers.items()}
        ends = {number: (origins[number], cell.result) for cell, number in arguments.donated.items()}
        found = []
        for number, region, value in written(ends):
            found.append(Written(number, region, len(self.outputs)))
            self.outputs.append(value)
        return found

    def _settled(self, writes: list[Written], taken: Collection[int]) -> list[Written]:
        """The same, computed in the arguments where the pipeline reads nothing of these; not in arrays of objects, for
        a function that fails is called as it is."""
        read = {*(number for number, _ in self.sources), *taken}
        counts = Counter(each.number for each in writes)
        return [attrs.evolve(each, at_once=each.number not in read and counts[each.number] == 1) for each in writes]

    def targets(
        self, arrays: Sequence[Any], shapes: Sequence[tuple[tuple[int, ...], Any]], of: Callable[[Length], int]
    ) -> list[Array]:
        """The arrays of these shapes that a run computes: parts of arguments, where it may, else new ones.

        Raises `GivenAsItIsError` where an argument cannot be written to.
        """
        places: dict[int, Array] = {}
        for each in self.written:
            own = arrays[each.number]
            others = [a for k, a in enumerate(arrays) if isinstance(a, np.ndarray) and k != each.number]
            if not may_be_written(own, [*others, *self.trace.copied, *self.trace.beside()]):
                raise GivenAsItIsError(f"argument {each.number} cannot be written to")
            if each.at_once:
                places[each.output] = seen(own, each.region, of)
        return [places[k] if k in places else np.empty(*own) for k, own in enumerate(shapes)]

    def hand_over(self, arrays: Sequence[Any], outputs: Sequence[Array], of: Callable[[Length], int]) -> None:
        """Put what was computed into the arguments that the function writes to."""
        for each in self.written:
            if not each.at_once:
                seen(arrays[each.number], each.region, of)[...] = outputs[each.output]

    def _outputs(self, result: Any, arguments: Arguments) -> dict[Any, int]:
        """Which arrays are computed: all of a result where one of its views sees all, else what each of them sees."""
        views: dict[Any, list[View]] = {}
        for _, leaf in leaves_of(result):
            if type(leaf) is LazyArray and not _is_argument(leaf, arguments):
                views.setdefault(leaf._view.result, []).append(leaf._view)
        found: dict[Any, int] = {}
        for own, seen_of in views.items():
            if any(_covers(view) for view in seen_of):
                found[own] = len(self.outputs)
                whole = next(v for v in seen_of if _covers(v))
                self.outputs.append(_whole(whole))
        return found

    def _shares_otherwise(self, result: Any, found: Collection[Any], arguments: Arguments) -> bool:
        leaves = [leaf for _, leaf in leaves_of(result)]
        arrays = [leaf for leaf in leaves if type(leaf) is LazyArray and not leaf.is_scalar]
        parts = Counter(each._view.result for each in arrays if not _is_argument(each, arguments))
        return (
            any(type(leaf) is not LazyArray and isinstance(leaf, np.ndarray) for leaf in leaves)
            or any(each._cell.uncertain or not each._writeable for each in arrays)
            or any(count > 1 and each not in found for each, count in parts.items())
            or any(isinstance(leaf, (_Argument, _Output)) and leaf.is_apart for _, leaf in leaves_of(self.result))
        )

    def _leaf(self, leaf: Any, found: dict[Any, int], arguments: Arguments) -> Any:
        if type(leaf) is Size:
            return _Length(leaf.expr)
        if type(leaf) is Real:
            found_as = self.trace.reals.told(leaf)
            return _Float(found_as) if type(found_as) is Told else _Given(found_as)
        if type(leaf) is not LazyArray:
            own = own_array(leaf)
            if isinstance(own, (*CONSTANTS, Kept)) or own is Ellipsis or is_just_elements(own):
                return _Given(own)
            raise Abandoned(f"it returns {_in_words(own)}")
        view = leaf._view
        is_it = any(leaf is each for each in arguments.given)
        if leaf._cell in arguments.donated:
            return _Argument(arguments.donated[leaf._cell], view, is_it)
        if view.result.node in arguments.numbers:
            found_in = arguments.numbers[view.result.node]
            return _Argument(found_in, view, is_it, not leaf._cell.is_argument, leaf._cell.uncertain)
        if view.result in found:
            owner = self._owners.setdefault(view.result, leaf._cell)
            return _Output(found[view.result], view, leaf.is_scalar, owner is not leaf._cell)
        self.outputs.append(view)
        return _Output(len(self.outputs) - 1, _all_of(view), leaf.is_scalar)

    def floats(self, reals: Sequence[float]) -> list[float]:
        """The floats that a run is given, where its steps give these (`Reals.values`)."""
        return [float(reals[each.step]) if type(each) is Told else each for each in self._floats]  # type: ignore[misc]

    @property
    def floats_in_words(self) -> list[str | int | float]:
        """What the floats of a run are: an argument, by its name; what is computed of arguments, by the number of the
        step; or always the same number."""
        name = self.trace.reals.name
        return [name(each.step) or each.step if isinstance(each, Told) else float(each) for each in self._floats]

    @property
    def floats_among_leaves(self) -> list[tuple[int, int]] | None:
        """Which floats of a run are which arguments, by their numbers, where that is all that is to be known of
        these; None where something is computed of them, or was asked."""
        places = self.trace.reals.places
        if places is None:
            return None
        return [(k, places[each.step]) for k, each in enumerate(self._floats) if type(each) is Told]

    @property
    def is_one_array(self) -> bool:
        """Whether what comes back is just one array that is computed, or the scalar that it holds."""
        return isinstance(self.result, _Output) and self.result.view.is_whole

    @property
    def is_scalar(self) -> bool:
        """Whether what comes back is one scalar."""
        return isinstance(self.result, _Output) and self.result.scalar

    def has_no_elements(self, values: Mapping[Expr, int]) -> bool:
        """Whether some array on the way has no elements, for arguments of these sizes."""
        return self.is_empty or any(evaluate(extent, values) <= 0 for extent in self.extents)

    def makes(self, size: int, of: Callable[[Length], int]) -> bool:
        """Whether some array on the way takes so many bytes, for arguments of these sizes."""
        made = (r for node in self.nodes if not isinstance(node.operation, Source) for r in node.results)
        return any(math.prod(map(of, r.shape)) * r.dtype.itemsize >= size for r in made)

    def labelled_leaves(self, rank: int, labelled: Mapping[int, int], *, in_tables: bool) -> tuple[bool, ...] | None:
        """Which leaves of the result have labels, where the arguments of some numbers are containers, tables of pandas'
        or arrays of xarray's, with names that have numbers. None where results are not those of containers: of so many
        axes, in the order of the arguments' and forwards, and with the values that the function gives of containers."""
        if self.trace.reasons or self.trace.fences or self.trace.asked_for_class or held_by_objects(self.result):
            return None
        leaves = [leaf for _, leaf in leaves_of(self.result)]
        results = [leaf.view for leaf in leaves if isinstance(leaf, (_Argument, _Output))]
        views = [*self.outputs, *results, *(view for node in self.nodes for view in node.operands)]
        given = {node.results[0]: labelled[n] for node, n in self._numbers.items() if n in labelled}
        found = [*self.outputs, *results]
        if {len(view.shape) for view in found} > {rank} or not all(view.is_turned_nowhere for view in views):
            return None
        kept = goes_by_places(self.nodes, given, found, in_tables=in_tables, origins=self.trace.origins)
        if kept is None:
            return None
        come = {
            leaf: self.outputs[leaf.number].result if isinstance(leaf, _Output) else leaf.view.result
            for leaf in leaves
            if isinstance(leaf, (_Argument, _Output))
        }
        return tuple(leaf in come and come[leaf] in kept for leaf in leaves)

    @property
    def unlike_numpy(self) -> str | None:
        """What gives other bits than NumPy's, where those are wanted; None if nothing does."""
        return in_other_order(unlike_numpy(self.nodes)) if self._shows_layout else None

    @property
    def unlike_numpy_as_given(self) -> str | None:
        """The same for the arguments of this call, which may not be in C order."""
        if not self._shows_layout:
            return None
        return in_other_order(unlike_numpy_as_given(self.nodes, in_c_order=self.trace.given_in_c_order))

    def as_given(self, arrays: Sequence[Any], of: Callable[[Length], int]) -> dict[_Argument, Any]:
        """What is returned of arguments as they were given, before anything is written to them."""
        return {leaf: leaf.given_of(arrays, of) for leaf in self._apart}

    def giver(self, of: Callable[[Length], int]) -> Callable[..., Any]:
        """What gives what the function returns, for arguments of just these sizes: of the arguments, what was computed,
        what `as_given` gave before, and the floats of a call as their steps give them (none of them: of the call that
        was traced)."""
        return maker(self.result, lambda leaf: self._maker(leaf, of))

    def _maker(self, leaf: Any, of: Callable[[Length], int]) -> Callable[..., Any]:
        """The same of a leaf."""
        match leaf:
            case _Length(expr):
                length = of(Size(expr, 0, self.trace.questions))
                return lambda *_: length
            case _Float(told):
                return lambda arrays, outputs, as_given, reals: reals[told.step] if reals else now(told)
            case _Given(np.ndarray() as value):
                return lambda *_: value.copy()
            case _Given(value):
                return lambda *_: value
            case _Argument():
                return lambda arrays, outputs, as_given, reals: (
                    as_given[leaf] if leaf in as_given else leaf.given_of(arrays, of)
                )
            case _Output(number, view, is_scalar, is_apart):
                is_whole = view.is_whole
                is_copied = is_apart or number in self._in_arguments

                def output(arrays: Any, outputs: Any, as_given: Any, reals: Any) -> Any:
                    array = outputs[number] if is_whole else seen(outputs[number], view, of)
                    if is_scalar:
                        return array[()]
                    return array.copy() if is_copied else array

                return output
        raise AssertionError(leaf)


def _arguments_first(nodes: Sequence[Node], numbers: Mapping[Node, int]) -> list[Node]:
    """The same nodes, arguments in the order in which they are given before all others: a pipeline takes them so."""
    given = sorted((node for node in nodes if node in numbers), key=numbers.__getitem__)
    return [*given, *(node for node in nodes if node not in numbers)]


def _of_own_sizes(trace: Trace) -> list[Node]:
    """All that NumPy computes where a function runs as it is, also what no result depends on; where sizes of another
    call are among it, it is not known how much that is."""
    nodes = list({results[0].node: None for results in trace.made.values()})
    return [node for node in nodes if trace.symbols.keys() >= set(untold([node], ()))]


def _in_words(value: Any) -> str:
    kind = f"a {type(value).__name__}"
    return f"{kind} of {value.dtype}" if type(value) is np.ndarray else kind


def _is_argument(array: LazyArray, arguments: Arguments) -> bool:
    return array._cell in arguments.donated or array._view.result.node in arguments.numbers


def _with_keys(tree: Any) -> Any:
    """A tree whose dictionaries have numbers as keys where they have lazy ones: these were asked for their values."""
    if type(tree) in (tuple, list):
        return type(tree)(map(_with_keys, tree))
    if is_named_tuple(tree):
        return tree._make(map(_with_keys, tree))
    if type(tree) is Opened:
        return tree.with_parts(map(_with_keys, tree.parts))
    return {_key(key): _with_keys(each) for key, each in tree.items()} if type(tree) is dict else tree


def _key(key: Any) -> Any:
    if type(key) is tuple:
        return tuple(map(_key, key))
    if type(key) is LazyArray:
        return key._item("a key")
    return value_of(key) if type(key) is Size else known_reals(key)


def _covers(view: View) -> bool:
    """Whether a view sees all elements of its result."""
    for i, extent in zip(view.index, view.result.shape, strict=True):
        if i.axis is None:
            if not (type(extent) is int and extent == 1):
                return False
        elif abs(i.step) != 1 or not are_same(view.shape[i.axis], extent):
            return False
    return True


def _whole(view: View) -> View:
    return whole_view(view.result)


def _all_of(view: View) -> View:
    """The view that sees all of what a view sees, once that is an array of its own."""
    node = Node(Source(np.empty(0)), (), [(view.shape, view.dtype, False)])
    return _whole(View(node.results[0], (), ()))
