"""What is known of a trace while it is made: what was asked of sizes, forced, fenced; and how values are computed.

Idea. Lazy arrays belong to a trace. That of `sl.jit` ends when the function returns, and is kept if nothing happened
that another call could do otherwise. That of `sl.lazy` never ends (`free_traces`).

Invariant: a trace with a `reason` is used for one call only.
"""

from __future__ import annotations

import itertools
import keyword
import math
import time
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib import import_module
from typing import Any
from weakref import WeakSet, ref

import attrs
import numpy as np

from slinky.errors import ForcedValueWarning, SchedulingError, TracingError
from slinky.frontend.abandoning import ATTEMPTS, Abandoned, NotFollowed
from slinky.frontend.assignments import graph_of, is_assignment
from slinky.frontend.halos import with_halos
from slinky.frontend.indexed import own_array
from slinky.frontend.layouts import in_other_order, unlike_numpy_as_given
from slinky.frontend.lowering import Lowered, count_of_funcs, floats_of, lowered, sources_of, structure, untold
from slinky.frontend.nodes import Array, Node, Result, Source, View, has_elements, in_order, numbers, whole_view
from slinky.frontend.origins import Origins
from slinky.frontend.overlapping import computed_before_windows
from slinky.frontend.places import assignment, is_telling, place, user_frame
from slinky.frontend.reals import Reals, now
from slinky.frontend.sizes import Length, Questions, Size, known, value_of
from slinky.frontend.tables import ANY_PIECES, EXACT_PIECES
from slinky.frontend.views import seen
from slinky.ir.formulas import ERRORS
from slinky.pipeline import Pipeline
from slinky.symbolic.expressions import Expr, Variable, variable

_serial = itertools.count()

KEPT_STRUCTURES = 256
"""Pipelines of how many structures are kept, the latest ones."""

FEWEST_LISTED = 8
"""So many single elements that are held at once may be those of a list."""

MOST_FUNCS = 200
"""Graphs of more funcs are computed at once: to schedule them takes longer than they do."""

MOST_OPERATIONS = 1 << 14
"""Functions of more operations are not traced to their end."""

MOST_CONSTANTS = 32
"""Of arrays that they make of numbers, no more values are asked for: each one takes as long as the array."""

MANY_OPERATIONS, LEAST_BYTES_OF_MANY = 1 << 10, 2_000_000
"""Nor are those of so many, whose results have fewer bytes in the mean: to trace an operation takes 0.2 ms, about what
NumPy takes for it on such arrays."""

MOST_COMPUTED_AGAIN = 40
"""How many functions that are not understood are computed again while a function is traced, for others that take what
they give: that is a row of nine. Little is left to gain then, and each one takes longer than the one before."""

FOR_ONE_CALL = 2
"""Where it is traced at each call, they must have so many times as many, so that there is something to gain."""

MOST_SIZES = 8
"""Arrays of more axes are traced for just their shape: products of many sizes take longer to reason about than all
that is done with such arrays."""

SMALL_BYTES = 1 << 16
"""What is computed at once where all arrays take less: a pipeline costs more than it saves."""


class Trace:
    """One trace: what was asked, and what stands against keeping it."""

    def __init__(
        self,
        name: str,
        *,
        strict: bool = False,
        options: dict[str, Any] | None = None,
        by_pieces: frozenset[str] = ANY_PIECES,
        file: str = "",
    ) -> None:
        self.name = name
        self.by_pieces = by_pieces
        self.strict = strict
        self.options = options or {}
        self.questions = Questions()
        self.reals = Reals()
        self.tells_floats = False
        self.reasons: list[str] = []
        self.small: dict[Node, frozenset[int]] = {}
        """Arguments of which traces may be kept for their values, and what was computed of such, with their numbers."""
        self.asked_for: set[int] = set()
        """The numbers of those whose values were asked for."""
        self.asks_for_others = False
        self.runs: Callable[[Trace, Sequence[Node], Sequence[View]], list[Array] | None] | None = None
        """What computes the values that are asked for, while the function runs, or leaves that to NumPy (None)."""
        self.graphs: Counter[Any] = Counter()
        """How often it computed what."""
        self.fences: list[str] = []
        self.abandoned: str | None = None
        self.makes_arrays = self.makes_grids = False
        """Whether large arrays that are full of a number are lazy ones, and what else is made of numbers (`grids`)."""
        self.has_made = False
        """Whether it has made such arrays."""
        self.chooses = False
        """Whether its function may be called as it is because that is faster."""
        self.is_abandoned_here = False
        """Whether that holds for arrays of these sizes alone: of larger ones, the function may be traced."""
        self._operations = self._bytes = self._constants = self._computed_again = 0
        self.ends = math.inf
        """When tracing takes too long, by the clock."""
        self.symbols: dict[Variable, tuple[Any, int]] = {}
        self.sources: dict[int, Result] = {}
        self.is_free = False
        self.cells: WeakSet[Any] = WeakSet()
        self.made: dict[Hashable, tuple[Result, ...]] = {}
        self.file = file
        self._assigned: dict[Hashable, Node] = {}
        self.asked_for_layout = False
        self.asked_for_rows = False
        """Whether it makes arrays in C order, or writes to arrays that may be: its results may be such."""
        self.given_in_c_order = True
        self.is_labelled = False
        self.asked_for_class = False
        """Whether the function looks at what an array is, or for what only other containers have."""
        self.origins = Origins()
        self.namespace: Any = None
        self.stand_ins: Any = None
        """What stands for objects among its arguments (`opening`)."""
        self.followed: dict[Any, Any] = {}
        """Functions of NumPy's that are followed (`following`), as they see lazy arrays."""
        self.given: dict[Node, Array] = {}
        """The arrays among the arguments, until it has ended."""
        self.donated: list[Array] = []
        self.take: Callable[[Any], None] | None = None
        """Lets the function write to what lies at a place, an array that an object holds, if that may be written to."""
        self.copied: list[Array] = []
        self._read_before: list[ref[Array]] = []
        self.beside: Callable[[], Iterable[Array]] = tuple
        """Gives arrays that the function comes to beside its arguments, as they are."""
        self.watched: list[tuple[Array, Array]] = []
        self.errors = errors_now()
        self._filters = warnings.filters

    def sizes(self, leaves: Sequence[Any]) -> dict[Expr, int]:
        """The extents of arguments, by their symbols."""
        return {symbol: leaves[number].shape[d] for symbol, (number, d) in self.symbols.items()}

    def source(self, array: Array, name: str, origin: Hashable = None) -> Result:
        """An array as the result of a node; extents are symbols if it has an `origin`, by which it comes again."""
        array = own_array(array)
        before = self.sources.get(id(array)) if origin is None else None
        if before is not None:
            return before
        in_c_order = bool(array.flags.c_contiguous)
        if origin is not None and not self.is_free:
            self.given_in_c_order &= in_c_order
            in_c_order = True  # runs tell what needs that
        if origin is None:
            array = self.as_it_is_now(array)
        shape: list[Any] = []
        for d, extent in enumerate(array.shape):
            if origin is None and not self.is_free:
                shape.append(extent)
                continue
            symbol = variable(f"size_{next(_serial)}")
            self.symbols[symbol] = (origin, d)
            self.questions.values[symbol] = extent
            size = Size(symbol, extent, self.questions)
            shape.append(known(size) if array.ndim > MOST_SIZES else size)
        node = Node(Source(array, name, in_c_order), (), [(tuple(shape), array.dtype, False)])
        if origin is None and not self.is_free:
            self.sources[id(array)] = node.results[0]  # the node keeps the array, and so its identity
        return node.results[0]

    def as_it_is_now(self, array: Array) -> Array:
        """An array that the function has beside its arguments, for later: a copy, if somebody may write to it."""
        if not may_change(array):
            return array
        if self.donated:
            self._keep_apart(array)
        elif not self.is_free:
            self._read_before.append(ref(array))
        return array.copy()

    def read_before(self) -> list[Array]:
        """The arrays that are still there of those that were read before an array was given away."""
        return [array for each in self._read_before if (array := each()) is not None]

    def require_taken(self, place: Any) -> None:
        """Raise `Abandoned` where what lies at a place, an array that an object holds, is not to be written to."""
        if self.take is None:
            raise self.abandon("it writes to an array that is none of its arguments")
        self.take(place)

    def watch(self, array: Array) -> None:
        """Take note of an array beside the arguments of which something lazy is a view, in NumPy, and a copy, here."""
        if not self.is_free and may_change(array):
            self.watched.append((array, array.copy()))

    def require_unwritten(self) -> None:
        """Raise `Abandoned` if somebody has written to what something lazy is a view of in NumPy."""
        if any(array.tobytes() != old.tobytes() for array, old in self.watched):
            raise self.abandon("it writes to an array that shares memory with a lazy one")

    def _keep_apart(self, array: Array) -> None:
        """Take note of an array that is read: none that is given away may share memory with it."""
        if any(np.may_share_memory(array, other) for other in self.donated):
            raise self.abandon("an array that it reads shares memory with an argument that is given away")
        self.copied.append(array)

    def held(self, views: Sequence[View]) -> list[Result]:
        """What lazy arrays that are still held stand for, of all that some views need, in the order in which it was
        made: that is the same in each iteration of a loop. Where a single element is asked for and many others are
        held, these may be a list, in which each one comes of what the one before comes of: so are all of them."""
        needed = set(in_order([view.result for view in views]))
        alive = dict.fromkeys(cell.result for cell in list(self.cells))
        elements = [r for r in alive if r.shape == () and not isinstance(r.node.operation, Source)]
        if len(elements) >= FEWEST_LISTED and any(view.shape == () for view in views):
            needed.update(r.node for r in elements)
        found = [
            r
            for r in alive
            if r.node in needed and len(r.node.results) == 1 and not isinstance(r.node.operation, Source)
        ]
        return sorted(found, key=lambda r: r.node.serial)

    def let_go(self) -> None:
        """Know no more of what was made so far than lazy arrays do that are still held: a loop that asks for values in
        each iteration would keep the arrays of all of them."""
        self.made.clear()
        self.sources.clear()
        self.origins.forget()

    def grew(self, results: Sequence[Result]) -> None:
        """There is another operation, with these results.

        Raises `Abandoned` where there are too many.
        """
        if self.is_free:
            return
        self._operations += 1
        node = results[0].node
        written = node.operands[:-1] if is_assignment(node) else results
        self._bytes += sum(math.prod(numbers(each.shape)) * each.dtype.itemsize for each in written)
        if self._operations >= MOST_OPERATIONS:
            raise self.abandon(f"it has more than {MOST_OPERATIONS} operations")
        if self.ends < math.inf and time.perf_counter() > self.ends:
            raise self.abandon("to trace it takes longer than it does")
        if self.has_made and not self.makes_grids and self._operations >= MANY_OPERATIONS:
            raise self.abandon(f"it has more than {MANY_OPERATIONS} operations on arrays that it makes")
        least = LEAST_BYTES_OF_MANY * (FOR_ONE_CALL if self.asks_for_others else 1)
        if self.chooses and self._operations >= MANY_OPERATIONS and self._bytes < self._operations * least:
            self.is_abandoned_here = True
            raise self.abandon(f"it has more than {MANY_OPERATIONS} operations on arrays that are rather small")

    def name_of(self, node: Node) -> None:
        """Call a node like the variable that its result goes to: the last one that is made for it."""
        if not self.file or (found := assignment(self.file)) is None:
            return
        which, name = found
        before = self._assigned.get(which)
        if before is not None:
            before.name, before.has_variable = before.operation.name, False
        if is_telling(name):
            node.name = name
        node.has_variable = True
        self._assigned[which] = node

    def forced(self, what: str, *views: View) -> None:
        """A value is asked for, so that the trace is good for this call only: what `views` see, if these are given.
        If it comes of small arguments alone, traces may be kept for their values."""
        if ATTEMPTS.depth:
            raise ATTEMPTS.refusal(what)
        if self.is_free:
            return
        if views and all(map(self._is_constant, views)):
            self._constants += 1
            if self._constants > MOST_CONSTANTS:
                raise self.abandon(f"it asks for more than {MOST_CONSTANTS} values of arrays that it makes")
            return
        small = [self.small_behind(view) for view in views]
        self.asked_for |= frozenset().union(*filter(None, small))
        self.asks_for_others |= not small or not all(small)
        self.reasons.append(f"{what} asks for values in {place()}")

    def require_bits(self, nodes: Sequence[Node]) -> None:
        """Raise `Abandoned` where values that are asked for would have other bits than NumPy's, and these are wanted:
        of the graph that they come of, nothing is known any more when the trace has ended."""
        if self.is_free or self.by_pieces != EXACT_PIECES:
            return
        why = in_other_order(unlike_numpy_as_given(nodes, in_c_order=self.given_in_c_order))
        if why is not None:
            raise self.abandon(why)

    def small_behind(self, view: View) -> frozenset[int] | None:
        """The numbers of the small arguments that a view comes of, if there are no others but constants."""
        sources = sources_of(graph_of([view])[0]) if self.small else []
        constants = {result.node for result in self.sources.values()}
        found = [self.small.get(node) for node in sources if node in self.small or node not in constants]
        return None if None in found else frozenset().union(*filter(None, found))

    def _is_constant(self, view: View) -> bool:
        """Whether what a view sees comes of numbers and arrays alone that are constants of the trace."""
        if not self.has_made:
            return False
        nodes, views = graph_of([view])
        constants = {result.node for result in self.sources.values()}
        is_told = bool(floats_of(nodes) or untold(nodes, views))
        return not is_told and all(node in constants for node in sources_of(nodes))

    def reads_anew(self, what: str) -> None:
        """Something is used that may give other values at the next call: the trace is good for this one only."""
        if ATTEMPTS.depth:
            raise ATTEMPTS.refusal(what)
        self.asks_for_others = True
        if not self.is_free:
            self.reasons.append(f"{what} stands in {place()}")

    def abandon(self, why: str) -> Abandoned | NotFollowed | TracingError:
        """What to raise where tracing cannot go on."""
        if ATTEMPTS.depth:
            return ATTEMPTS.refusal(why)
        self.abandoned = f"{why}, in {place()}"
        if self.is_free:
            return TracingError(
                f"lazy arrays cannot take this: {self.abandoned}; np.asarray(x) gives an array that can"
            )
        return (
            TracingError(f"{self.name} cannot be traced: {self.abandoned}")
            if self.strict
            else Abandoned(self.abandoned)
        )

    def require_no_calls(self) -> None:
        """Raise `Abandoned` where the function has NumPy call something at floating-point errors, or raise one: for
        each operation, NumPy does so once, where it stands, and pieces would as often as there are such, later."""
        now = errors_now()
        if self.is_free or now == self.errors:
            return
        if {"call", "log"} & {now[kind] for kind in ERRORS}:
            raise self.abandon("np.errstate with a function that is called")
        if any(now[kind] == "raise" != self.errors[kind] for kind in ERRORS):
            raise self.abandon("np.errstate with errors that are raised")

    def require_usual_warnings(self) -> None:
        """Raise `Abandoned` where the function says what becomes of warnings: they would come when that is over. In
        functions of labelled arrays it is xarray that says so, around all that it does."""
        if not (self.is_free or self.is_labelled) and warnings.filters is not self._filters:
            raise self.abandon("warnings.catch_warnings")

    def require_fences(self, name: str) -> None:
        """Raise `NotFollowed` where no function may run whole: in code that is being followed."""
        if ATTEMPTS.depth:
            raise ATTEMPTS.refusal(name)

    def ran_again(self, count: int, name: str) -> None:
        """So many functions that are not understood were computed again, for another one.

        Raises `Abandoned` where that comes to too much for a function that may be called as it is.
        """
        self._computed_again += count
        if self.chooses and self._computed_again > MOST_COMPUTED_AGAIN:
            raise self.abandon(f"{name} and others that are not understood, each of what the one before gave")

    def fence(self, name: str) -> None:
        """A function is not understood.

        Raises `TracingError` where that was to be refused.
        """
        what = f"{name} is not understood and computed at once on whole arrays, in {place()}"
        if self.strict:
            raise TracingError(f"{name} is not understood, in {place()}")
        self.fences.append(what)

    def warn(self) -> None:
        """Say that the trace is not kept because values were asked for."""
        warnings.warn(
            f"{self.name} is traced at each call: {self.reasons[0]}", ForcedValueWarning, stacklevel=user_frame()[1] + 1
        )


def errors_now() -> dict[str, Any]:
    """What NumPy does about floating-point errors now, with what it calls, in the words of `np.errstate`."""
    return {**np.geterr(), "call": np.geterrcall()}


def may_change(array: Array) -> bool:
    """Whether somebody may write to an array, or to what it is a view of."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return base is not None and not isinstance(base, bytes)


# ----------------------------------------------------------------------------------------------------------------
# Values
# ----------------------------------------------------------------------------------------------------------------


class Plans:
    """Pipelines by the structure of the graphs that they were made for, the latest ones."""

    def __init__(self, most: int = KEPT_STRUCTURES) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Lowered] = OrderedDict()

    def of(
        self,
        nodes: Sequence[Node],
        outputs: Sequence[View],
        name: str,
        options: dict[str, Any],
        by_pieces: frozenset[str] = ANY_PIECES,
        *,
        in_loops: bool = False,
        to_bits: bool = False,
    ) -> Lowered:
        """The pipeline of a graph, made if there is none of its structure; `in_loops`, `to_bits` as `lowered` has them.

        Raises `OperationError` for options that make no sense.
        """
        limits = {what: options.get(what) for what in ("max_bytes", "workers", "machine")}
        import_module("slinky.sched.options").require_options(**limits, backend=options.get("backend", "python"))
        nodes, outputs = with_halos(*computed_before_windows(nodes, outputs), in_loops=in_loops)
        key = structure(nodes, outputs)
        made_for = (name, tuple(sorted(options.items(), key=str)), by_pieces, in_loops, to_bits)
        kind = None if key is None else (key, *made_for)
        found = self._found.pop(kind, None)  # two threads that ask at once make it twice
        if found is None:
            made = lowered(nodes, outputs, (), name, by_pieces, in_loops=in_loops, to_bits=to_bits)
            found = Lowered(made.pipeline.auto(**options), made.floats)
        if kind is not None:
            self._found[kind] = found
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return found


PLANS = Plans()


def computed_whole(nodes: Sequence[Node], wanted: Sequence[Result]) -> dict[Result, Array]:
    """The results that are wanted of nodes, one after the other, on whole arrays: what the graph means. Others are held
    as long as they are needed."""
    values: dict[Result, Array] = {}
    last = {view.result: k for k, node in enumerate(nodes) for view in node.operands}
    over: dict[int, list[Result]] = {}
    kept = set(wanted)
    for result in last.keys() - kept:
        over.setdefault(last[result], []).append(result)
    for k, node in enumerate(nodes):
        operands = [seen(values[view.result], view) for view in node.operands]
        found = zip(node.results, node.operation.compute(operands, node), strict=True)
        values.update((result, value) for result, value in found if result in last or result in kept)
        del operands, found
        for result in over.get(k, ()):
            del values[result]
    return values


def values_of(views: Sequence[View], trace: Trace) -> list[Array]:
    """What views see, computed now; each array is a new one."""
    return [array if array.flags.writeable else array.copy() for array in values_to_read(views, trace)]


def values_to_read(views: Sequence[View], trace: Trace) -> list[Array]:
    """What views see, computed now: new arrays, and views of arguments and of what lazy arrays stand for, which are not
    to be written to.

    Where the trace is not kept anyway, what lazy arrays stand for that are still held is computed with it, and is not
    computed again: a loop that asks for a value in each iteration does each of its operations once.
    """
    there = {view: array for view in views if (array := _there(view)) is not None}
    held = trace.held([view for view in views if view not in there]) if trace.reasons else []
    own = {result: k for k, result in enumerate(held)}
    others = [view for view in views if view not in there and not (view.result in own and view.is_whole)]
    found = computed([*map(whole_view, held), *others], trace)
    small = [trace.small_behind(whole_view(each)) for each in held]
    for result, array, behind in zip(held, found, small, strict=False):
        result.node.be_source(array)
        if behind:
            trace.small[result.node] = behind
    if trace.asks_for_others and not trace.is_free:  # whatever else it asks for, the trace is good for this call only
        trace.let_go()
    rest = dict(zip(others, found[len(held) :], strict=True))
    return [
        there[view] if view in there else rest[view] if view in rest else _sealed(found[own[view.result]])
        for view in views
    ]


def _there(view: View) -> Array | None:
    """What a view sees of an array that is there, if that lies in C order, as what is computed does."""
    source = view.result.node.operation
    if not isinstance(source, Source) or not has_elements(view.shape):
        return None
    array = seen(source.array, view)
    return _sealed(array) if array.flags.c_contiguous else None


def _sealed(array: Array) -> Array:
    """A view of an array that is not written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def computed(views: Sequence[View], trace: Trace) -> list[Array]:
    """What views see, computed now, whatever else is held: the graph stays as it is."""
    nodes, views = graph_of(views)
    trace.require_bits(nodes)
    is_small = not runs_by_pieces(nodes)
    if not is_small and trace.runs is not None and (found := trace.runs(trace, nodes, views)) is not None:
        return found
    if is_small or trace.runs is not None or count_of_funcs(nodes, views) > MOST_FUNCS:
        values = computed_whole(nodes, [view.result for view in views])
        return [np.array(seen(values[view.result], view), order="C") for view in views]
    if trace.is_free:
        views = [moving(view, trace.questions) for view in views]
    plan = PLANS.of(nodes, views, func_title(trace.name), trace.options, trace.by_pieces)
    outputs = [np.empty(numbers(view.shape), view.dtype) for view in views]
    arrays = [node.operation.array for node in sources_of(nodes)]  # type: ignore[attr-defined]
    sizes = [trace.questions.values[symbol] for symbol in untold(nodes, views)]
    scalars = plan.scalars(list(map(now, floats_of(nodes))), sizes)
    plan.scheduled_like(arrays, outputs, scalars, scheduled_for)(*arrays, *outputs, **scalars)
    return outputs


def moving(view: View, questions: Questions) -> View:
    """A view whose place and lengths are told when the pipeline runs, so that it serves windows that move."""
    if view.is_whole or not has_elements(view.shape):
        return view

    def told(given: Length) -> Length:
        symbol = variable(f"window_{next(_serial)}")
        questions.values[symbol] = value_of(given)
        return Size(symbol, value_of(given), questions)

    index = tuple(attrs.evolve(i, offset=told(i.offset)) for i in view.index)
    return View(view.result, index, tuple(map(told, view.shape)))


def func_title(name: str) -> str:
    """The name of a pipeline."""
    return name if name.isidentifier() and name != "_" and not keyword.iskeyword(name) else "traced"


def scheduled_for(
    pipeline: Pipeline, arrays: Sequence[Any], outputs: Sequence[Any], scalars: dict[str, Any]
) -> Pipeline:
    """The schedule of a pipeline for such arrays, or arrays of such shapes; the pipeline as it is if there is none."""
    try:
        found: Pipeline = pipeline._running_for(*arrays, *outputs, **scalars)
        return found
    except SchedulingError:
        return Pipeline(pipeline._version)


def runs_by_pieces(nodes: Sequence[Node], smallest: int = SMALL_BYTES) -> bool:
    """Whether a pipeline is worth its while, and all arrays have elements."""
    shapes = [(r.shape, r.dtype, not isinstance(node.operation, Source)) for node in nodes for r in node.results]
    shapes += [(view.shape, view.dtype, True) for node in nodes for view in node.operands]
    if not all(has_elements(shape) for shape, _, _ in shapes):
        return False
    return any(is_used and math.prod(numbers(shape)) * dtype.itemsize >= smallest for shape, dtype, is_used in shapes)


__all__ = [
    "ATTEMPTS",
    "PLANS",
    "Abandoned",
    "NotFollowed",
    "Plans",
    "Trace",
    "computed",
    "place",
    "values_of",
]
