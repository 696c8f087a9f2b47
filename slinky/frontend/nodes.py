"""The graph that a trace makes: immutable nodes, each an operation on views of others.

Idea. A node is one operation with its results, each of which has a shape of lengths and a dtype. A `View` is how a
result is read: per axis of the result, a place `offset + step * k`, where k counts along an axis of the view, or stays
where it is; of windows that slide, and of axes that were split, a place `offset + step * k + other * m`. So slices,
flips, transposes, new axes, broadcasting, windows and splits are no operations: they are composed into the read.

Invariant: a view lies inside of its result, for all sizes for which the guards of the trace hold; no two axes of a
result follow one axis of a view; of several axes that one axis of a result follows, all but one have lengths that are
numbers.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.errors import TracingError
from slinky.frontend.sizes import Length, are_same, known, value_of
from slinky.runtime import forks

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

Array = np.ndarray[Any, Any]
Shape = tuple[Length, ...]


@attrs.frozen(eq=False)
class Index:
    """Where an axis of a result is read: at `offset + step * k`, k counting along an axis of the view, or 0.

    `others` are further steps and axes, which are added: those of windows, or of an axis that was split.
    """

    offset: Length
    step: int
    axis: int | None
    others: tuple[tuple[int, int], ...] = ()

    @property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """All steps, with the axes of the view that they are along."""
        return () if self.axis is None else ((self.step, self.axis), *self.others)

    @property
    def is_plain(self) -> bool:
        """Whether it reads from the first element on, one after the other."""
        return (
            type(self.offset) is int
            and self.offset == 0
            and self.step == 1
            and self.axis is not None
            and not self.others
        )


@attrs.frozen(eq=False)
class Result:
    """What a node gives: one of its arrays. A `scalar` is a scalar of NumPy's where it comes back."""

    node: Node
    number: int
    shape: Shape
    dtype: np.dtype[Any]
    scalar: bool = False


@attrs.frozen(eq=False)
class View:
    """How a result is read: `index` has an entry for each of its axes, `shape` the lengths of what is seen."""

    result: Result
    index: tuple[Index, ...]
    shape: Shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the result."""
        return self.result.dtype

    @property
    def is_woven(self) -> bool:
        """Whether several of its axes go along one axis of the result: those of windows, or of an axis split."""
        return any(i.others for i in self.index)

    @property
    def is_whole(self) -> bool:
        """Whether it is the result, as it is."""
        if len(self.shape) != len(self.index):
            return False
        lengths = zip(self.shape, self.result.shape, strict=True)
        return all(i.is_plain and i.axis == d for d, i in enumerate(self.index)) and all(
            are_same(own, all_of) for own, all_of in lengths
        )

    @property
    def is_turned_nowhere(self) -> bool:
        """Whether it has the axes of its result in their order, forwards, and each once."""
        if self.is_woven:
            return False
        axes = [i.axis for i in self.index if i.axis is not None]
        return axes == sorted(axes) and all(i.step > 0 for i in self.index)

    @property
    def is_in_c_order(self) -> bool:
        """Whether NumPy is known to have an array in C order there, or a part of one that is read in that order."""
        return self.result.node.in_c_order and self.is_turned_nowhere

    @property
    def is_in_one_piece(self) -> bool:
        """Whether NumPy is known to have its elements one after the other, in C order and without gaps."""
        if not self.is_in_c_order or sum(i.axis is not None for i in self.index) < len(self.shape):
            return False
        is_cut = False
        for i, all_of in zip(reversed(self.index), reversed(self.result.shape), strict=True):
            if i.axis is None:
                is_cut |= not are_same(1, all_of)
            elif is_cut or i.step != 1:
                return False
            else:
                is_cut = not are_same(self.shape[i.axis], all_of)
        return True


class Operation:
    """What a node does.

    `compute` does it on whole arrays, as NumPy does; `lower` makes funcs of it; `key` tells it from others that would
    be lowered to other funcs (None: like no other). `arrays` are what it holds beside its operands. With `keeps_order`,
    NumPy gives results in C order of operands that are.
    """

    name: str
    exactness: str = "exact"
    keeps_order = False

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The results, given the arrays that the operands see."""
        raise NotImplementedError

    def lower(self, node: Node, lowering: Lowering) -> None:
        """Make funcs that produce the buffers of the results."""
        raise NotImplementedError

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors (`np.errstate`), as far as they are
        not what they are around the function."""
        return self

    def reversed(self, node: Node) -> Operation | None:
        """What a node does with the axes of its operands and results in reverse; None if that is not known."""
        return None

    def lengths(self) -> Iterator[Length]:
        """The lengths in it."""
        return iter(())

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """What it is, but for its operands; `of` says what lengths are in it."""
        raise NotImplementedError


def _nothing() -> None:
    """What stands for a result that was not asked for yet."""


_MAKING = forks.lock()

_serial = itertools.count()


class Node:
    """An operation with its operands and results. `line` says where in the function it stands; `has_variable`, whether
    its result goes to a variable; `in_c_order`, whether NumPy is known to have its results in C order. What was made
    later has a higher `serial` number.

    Results hold their node, and not the other way round: what nobody asks for any more is gone at once, with the arrays
    that it was computed of, and does not wait for the collector.
    """

    __slots__ = ("_kinds", "_made", "has_variable", "in_c_order", "line", "name", "operands", "operation", "serial")

    def __init__(
        self,
        operation: Operation,
        operands: Sequence[View],
        results: Sequence[tuple[Shape, np.dtype[Any], bool]],
        line: str = "",
    ) -> None:
        self.operation = operation
        self.operands = tuple(operands)
        self.name = operation.name
        self.has_variable = False
        self.line = line
        self.serial = next(_serial)
        self.in_c_order = (
            operation.in_c_order
            if isinstance(operation, Source)
            else operation.keeps_order and all(view.is_in_c_order for view in self.operands)
        )
        self._kinds = tuple(results)
        self._made: list[Callable[[], Result | None]] = [_nothing] * len(self._kinds)

    @property
    def results(self) -> tuple[Result, ...]:
        """The results: the same ones as long as somebody holds them."""
        found = tuple([made() for made in self._made])
        return self._again() if None in found else found  # type: ignore[return-value]

    def _again(self) -> tuple[Result, ...]:
        with _MAKING:  # two threads are to have the same ones
            found = []
            for k, (made, kind) in enumerate(zip(self._made, self._kinds, strict=True)):
                result = made()
                if result is None:
                    result = Result(self, k, *kind)
                    self._made[k] = weakref.ref(result)
                found.append(result)
            return tuple(found)

    def again(
        self,
        operands: Sequence[View],
        operation: Operation | None = None,
        shape_of: Callable[[Shape], Shape] = lambda shape: shape,
    ) -> Node:
        """The same with other operands, and what else is given, made when this was made."""
        results = [(shape_of(r.shape), r.dtype, r.scalar) for r in self.results]
        found = Node(operation or self.operation, operands, results, self.line)
        found.name, found.has_variable, found.in_c_order = self.name, self.has_variable, self.in_c_order
        found.serial = self.serial
        return found

    def be_source(self, array: Array) -> None:
        """Its only result has been computed, and need not be computed again."""
        self.operation, self.operands = Source(array, self.name, self.in_c_order, is_own=True), ()


_NO_ARRAY = np.empty(0)


class Source(Operation):
    """An array that is there: an argument, or one that the function has, of which a copy is in C order. One that was
    computed for a node alone is its `own`."""

    def __init__(self, array: Array, name: str = "array", in_c_order: bool = True, *, is_own: bool = False) -> None:
        self.in_c_order = in_c_order
        self.is_own = is_own
        self._array: Array | None = array
        self.name = name

    @property
    def array(self) -> Array:
        """The array.

        Raises `TracingError` where its call is over: what is kept of that shall keep no arrays.
        """
        if self._array is None:
            raise TracingError(f"a lazy array outlived the call of its function, whose argument {self.name} is gone")
        return self._array

    def end(self) -> None:
        """Let go of the array."""
        self._array = None

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The array."""
        return (self.array,)

    def reversed(self, node: Node) -> Operation:
        """The transpose of what is given, which is not kept."""
        return Source(_NO_ARRAY, self.name, self.in_c_order)

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """Any array will do."""
        return ("source",)


def index_of(offset: Length, terms: Sequence[tuple[int, int]]) -> Index:
    """Where an axis is read: at an offset, and from there on with these steps along these axes of the view."""
    return Index(offset, *terms[0], tuple(terms[1:])) if terms else Index(offset, 1, None)


def in_reverse(index: Sequence[Index], rank: int) -> tuple[Index, ...]:
    """Where axes are read if they, and the axes of the view, of some rank, are in reverse."""
    return tuple([index_of(i.offset, [(step, rank - 1 - axis) for step, axis in i.terms]) for i in reversed(index)])


def whole_view(result: Result) -> View:
    """A result, as it is."""
    return View(result, tuple(Index(0, 1, d) for d in range(len(result.shape))), result.shape)


def in_order(results: Sequence[Result]) -> list[Node]:
    """The nodes that some results need, each after those that it needs."""
    found: dict[Node, None] = {}
    waiting: list[tuple[Node, Iterator[View]]] = [(r.node, iter(r.node.operands)) for r in reversed(results)]
    begun = set()
    while waiting:
        node, operands = waiting[-1]
        if node in found:
            waiting.pop()
            continue
        begun.add(node)
        for view in operands:
            if view.result.node not in found:
                waiting.append((view.result.node, iter(view.result.node.operands)))
                break
        else:
            found[node] = None
            waiting.pop()
    return list(found)


def has_elements(shape: Shape) -> bool:
    """Whether an array of a shape has elements, in this call."""
    return all(value_of(n) > 0 for n in shape)


def numbers(shape: Shape) -> tuple[int, ...]:
    """A shape as it is in this call."""
    return tuple(map(value_of, shape))


def told(shape: Shape) -> tuple[int, ...]:
    """A shape for the text of an error, which the trace is then good for: who catches the error has the text."""
    return tuple(map(known, shape))


def text_of(dtype: np.dtype[Any]) -> str:
    """A dtype, with the names of its fields, which somebody may change."""
    return dtype.str if dtype.names is None else repr(dtype)


def inside(tree: Any) -> Iterator[Any]:
    """What stands in tuples, lists and dictionaries, in order, as often as it does; of those that are in themselves,
    the inner ones are passed over."""
    if not issubclass(type(tree), (tuple, list, dict)):  # others may raise where they are asked for their class
        yield tree
        return
    around, stack = {id(tree)}, [(tree, iter(_entries(tree)))]
    while stack:
        for each in stack[-1][1]:
            if not issubclass(type(each), (tuple, list, dict)):
                yield each
            elif id(each) not in around:
                around.add(id(each))
                stack.append((each, iter(_entries(each))))
                break
        else:
            around.remove(id(stack.pop()[0]))


def _entries(tree: Any) -> Iterable[Any]:
    return tree.values() if isinstance(tree, dict) else tree


def copied(
    tree: Any,
    leaf: Callable[[Any], Any],
    key_of: Callable[[Any], Any] = lambda key: key,
    around: dict[int, Any] | None = None,
) -> Any:
    """Tuples, lists and dictionaries anew, as often as they stand there, with each `leaf` and each key replaced.

    Those that are in themselves are so anew: `around` has what is made of the lists and dictionaries around, by the
    identities of these.
    """
    around = {} if around is None else around
    if type(tree) is tuple:
        return tuple([copied(each, leaf, key_of, around) for each in tree])
    if type(tree) not in (list, dict):
        return leaf(tree)
    if id(tree) in around:
        return around[id(tree)]
    found: Any = type(tree)()
    around[id(tree)] = found
    if type(tree) is dict:
        for key, each in tree.items():
            found[key_of(key)] = copied(each, leaf, key_of, around)
    else:
        for each in tree:
            found.append(copied(each, leaf, key_of, around))
    del around[id(tree)]
    return found


def exactly(value: object) -> Hashable:
    """A value as part of a key: values are equal only if they are the same in every bit and of the same type."""
    if isinstance(value, (tuple, list)):
        return (type(value), *map(exactly, value))
    if isinstance(value, dict):
        return (dict, *((exactly(k), exactly(v)) for k, v in value.items()))
    if isinstance(value, np.generic):
        return (text_of(value.dtype), value.tobytes())
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))
    if isinstance(value, slice):
        return (slice, exactly(value.start), exactly(value.stop), exactly(value.step))
    hash(value)
    return (type(value), value)
