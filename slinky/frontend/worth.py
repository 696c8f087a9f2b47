"""Whether a pipeline is worth its while: the function itself is called where NumPy is about as fast.

Idea. Operation after operation on whole arrays costs what memory takes where the arrays on the way do not stay in the
caches; else it costs little, and a pipeline has more calls and copies to make than the model knows of. So there must be
more on the way than the caches hold, and the schedule must be predicted to take four fifths of the time at most. What
functions compute, beside what memory takes, is the same on both sides, but for functions of elements where all calls
are in parallel loops: threads share that. What gains less by NumPy's loops may gain in C:
there, arithmetic takes what its first operands and its last results take, and little more. Where it is measured who is
faster (`contests`), less of a gain is worth a try.

NumPy takes at least what its operations read and write; the model of callbacks, which go over their data more than
once, says more of most. What it takes is in between: of 40 functions on arrays of 1 to 50 MB, their geometric mean told
best which are faster in pieces.

Invariant: the same answer in every process of a machine, for the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import attrs

from slinky.errors import OperationError
from slinky.frontend.assembling import Around, Assembled
from slinky.frontend.assignments import is_assignment
from slinky.frontend.filtering import Filter
from slinky.frontend.fusing import is_arithmetic
from slinky.frontend.histograms import Counting
from slinky.frontend.nodes import Node, Shape, Source, View
from slinky.frontend.operations import Along, Contraction, Pointwise
from slinky.frontend.placed_rows import is_rows, share_assigned
from slinky.frontend.sizes import Length, expr_of
from slinky.frontend.tables import EXACT
from slinky.ir.statements import Call, For, Parallel, Program, walk
from slinky.pipeline import Pipeline
from slinky.runtime.pages import LEAST_BYTES

SecondsOf = Callable[[str, Any], float]
"""What a function of this name takes for an element of a type, beside the time that goes into memory."""

LEAST_GAIN = 1.25
"""How many times as long NumPy must be predicted to take."""

LEAST_TRIED = 1.05
"""The same where it is measured who is faster, and predictions need not be right."""

_CALL_SECONDS = 1e-6
_ENTERED_SECONDS, _LEFT_SECONDS = 3e-6, 3e-6
"""What it takes to enter a plan, and to leave C for a function of NumPy's and to come back."""

_ELEMENT_SECONDS = 2e-9
"""What a function that is no arithmetic takes for an element that it reads, in the fastest cache."""

_REDUCED_SECONDS = {
    **dict.fromkeys(["sum", "mean", "prod", "add", "multiply", "count_nonzero"], 4e-10),
    **dict.fromkeys(["min", "max", "amin", "amax", "minimum", "maximum", "any", "all", "ptp"], 2e-10),
    **dict.fromkeys(["argmin", "argmax"], 4e-10),
    **dict.fromkeys(["var", "std"], 1e-9),
}
"""The same of reductions that are loops of arithmetic, by name."""

_COUNTED_SECONDS = 1e-8
"""The same of a histogram: to find the bin of an element."""

_WINDOW, _WINDOW_IN_C = 28.0, 7.5
"""What SciPy takes for an element of a window, and a loop in C that computes the same, told as efforts are."""

_PRODUCT_SECONDS = 1e-11
"""What a library of products of matrices takes to multiply two numbers and to add the result, on a few cores."""

_PASSES_IN_C = {"var": 2, "std": 2}
"""How often C goes over what it reduces, where it is to the bits that NumPy gives."""

_MORE_BY_A_THREAD = 0.7
"""How much a further thread adds to what one computes in the same time."""

_TURNED_SECONDS = 1.5e-9
"""What it takes to read an element of an array whose axes are in another order, by strips."""

_ROWS_SECONDS = 1e-9
"""What it takes more to copy an element of rows that are put together by strips across them, not row after row."""

_MOST_OF_ALL = 0.5
"""Where filters compute for such a share of the time, it matters little what goes through memory: then threads that
share them help where the caches hold everything, too."""

_USUALLY = 2.0
"""What the model of callbacks says is so many times the least that NumPy may take beside filters, at most, of three in
four of 75 functions."""

_TEMPORARIES = {"var": 4, "std": 4}
"""How often reductions write or read arrays of their own, of the size of what they are given."""


@attrs.frozen(kw_only=True)
class Estimate:
    """What a trace takes, as it is predicted: operation after operation on whole arrays, by its schedule, and in C."""

    on_the_way: int
    """The bytes of all arrays that are computed."""
    held: int
    """How many of these the caches hold."""
    least: float
    """The seconds that NumPy takes, by what its operations read and write."""
    most: float | None = None
    """The same by the model of callbacks, which knows of a schedule."""
    scheduled: float = math.inf
    in_c: float
    """Where C does what it does to the bits that NumPy gives, and NumPy the rest."""
    between: float = 0.0
    """What is not among that: to enter a plan, and to leave C for NumPy."""
    in_loops: float = math.inf
    """The same by the schedule, if that is one for loops in C."""
    told: float = 0.0
    """The seconds of `least` that filters say they compute."""

    @property
    def as_written(self) -> float:
        """The seconds that NumPy is likely to take."""
        usually = _USUALLY * (self.least - self.told) + self.told
        return math.sqrt(self.least * (usually if self.most is None else self.most))

    @property
    def is_held(self) -> bool:
        """Whether the caches hold all that is computed."""
        return self.on_the_way <= self.held

    @property
    def may_gain(self) -> bool:
        """Whether NumPy's loops may be faster by some schedule: not where all stays in the caches, unless filters take
        so long that threads had better share them."""
        return not self.is_held or self.told >= _MOST_OF_ALL * self.least

    def is_faster(self, *, is_tried: bool) -> bool:
        """Whether NumPy takes enough longer than a schedule does by NumPy's loops."""
        return self.may_gain and self.as_written >= (LEAST_TRIED if is_tried else LEAST_GAIN) * self.scheduled

    def is_faster_in_c(self, *, is_tried: bool) -> bool:
        """The same of loops in C. Where it is not measured, NumPy must take longer at the least, and the microseconds
        count that C takes where few elements are computed."""
        if is_tried:
            return self.as_written >= LEAST_TRIED * self.in_c
        return self.least >= LEAST_GAIN * (self.in_c + self.between)


def estimate(
    scheduled: Pipeline | None, nodes: Sequence[Node], of: Callable[[Length], int], machine: Any, seconds_of: SecondsOf
) -> Estimate | None:
    """What a graph takes; None where nothing is known of its schedule. Without one, that is no number, and so is what
    NumPy takes at most.

    `seconds_of` says what functions of elements take on the machine.
    """
    from slinky.sched.explaining import explain

    try:
        explanation = None if scheduled is None else explain(scheduled)
    except OperationError:
        return None
    made = [node for node in nodes if not isinstance(node.operation, Source)]
    on_the_way = computed_bytes(made, of)
    seconds = told = more = by_pieces = beside_loops = in_c = turned = 0.0
    between = _ENTERED_SECONDS
    shared_by = 1.0
    if scheduled is not None and explanation is not None:
        shared_by = _threads(scheduled.program, explanation.workers)
    for view in _rolled(made):
        moved = 2 * _bytes(view.shape, view.dtype, of)
        seconds += _CALL_SECONDS + moved / machine.bandwidth(moved)
    for node in made:
        if type(node.operation) is Around:
            continue
        window = node.operation.window_in_c(node) if isinstance(node.operation, Filter) else None
        effort = node.operation.effort_of_each if isinstance(node.operation, Filter) else None
        each = _element_seconds(node, seconds_of) if window is None else window * _WINDOW / machine.near_bandwidth
        each = each if effort is None else (effort + _found_far(node, of)) / machine.near_bandwidth
        beside = each * _elements(node, of) + _PRODUCT_SECONDS * _products(node, of)
        written = sum(_bytes(result.shape, result.dtype, of) for result in node.results)
        read = _read(node, of) * (1 + _TEMPORARIES.get(node.operation.name, 0))
        moved = _assigned(node, of) if _assigns(node) else read + written
        if effort is None:
            more += beside
        else:
            told += beside  # the model knows that, too
        own = beside / shared_by if isinstance(node.operation, Pointwise) else beside if effort is None else 0.0
        by_pieces += own
        turned += _TURNED_SECONDS * _turned(node, of)
        turned += _ROWS_SECONDS * math.prod(map(of, node.results[0].shape)) if is_rows(node) else 0.0
        seconds += _CALL_SECONDS + moved / machine.bandwidth(moved)
        seconds += 0.0 if _is_in_place(node) else _cleared(node, of) / machine.clearing_bandwidth
        if window is not None:
            own, moved = window * _WINDOW_IN_C / machine.near_bandwidth * _elements(node, of), written
        elif _is_exact_in_c(node, is_function=each > 0.0):
            own, moved = 0.0, _PASSES_IN_C.get(node.operation.name, 0) * _read(node, of) + written
        else:
            beside_loops += own  # the model knows of the others what they take in loops
            own = own if effort is None else beside
            between += _LEFT_SECONDS
        in_c += own + moved / machine.near_bandwidth
    ends = _ends(nodes, of)
    found = Estimate(
        on_the_way=on_the_way,
        held=machine.most_live,
        least=seconds + told + more,
        in_c=in_c + ends / machine.bandwidth(ends) + turned,
        between=between,
        told=told,
    )
    if explanation is None:
        return found
    return attrs.evolve(
        found,
        most=max(seconds + told, explanation.unscheduled_seconds) + more,
        scheduled=explanation.seconds + by_pieces + turned,
        in_loops=explanation.seconds + beside_loops + turned,
    )


def _threads(program: Program, workers: int) -> float:
    """How many times as fast several threads compute what is in parallel loops; 1 where not all calls are."""
    calls = sum(isinstance(each, Call) for each in walk(program.body))
    loops = [each for each in walk(program.body) if isinstance(each, For) and isinstance(each.mode, Parallel)]
    inside = {id(each) for loop in loops for each in walk(loop.body) if isinstance(each, Call)}
    return 1 + _MORE_BY_A_THREAD * (workers - 1) if calls and len(inside) == calls else 1.0


def computed_bytes(nodes: Sequence[Node], of: Callable[[Length], int]) -> int:
    """The bytes of all arrays that a graph computes."""
    made = [node for node in nodes if not isinstance(node.operation, Source) and not _is_written_into(node)]
    return sum(_bytes(r.shape, r.dtype, of) for node in made for r in node.results)


def _assigns(node: Node) -> bool:
    """Whether a node gives an array to parts or rows of which is assigned."""
    return is_assignment(node) or is_rows(node)


def _is_written_into(node: Node) -> bool:
    """Whether parts of an array that has been computed are assigned to: NumPy makes no other one."""
    if not _assigns(node):
        return False
    before = node.operands[-1]
    is_all = before.is_whole and before.shape == node.results[0].shape
    return is_all and not isinstance(before.result.node.operation, Source)


def _assigned(node: Node, of: Callable[[Length], int]) -> int:
    """The bytes that NumPy reads and writes for assignments: the parts alone, after a copy of what is an argument."""
    parts = node.operands[:-1] if _is_written_into(node) else node.operands
    read = sum(_bytes(view.shape, view.dtype, of) for view in parts)
    if not is_rows(node):
        return 2 * read
    (result,) = node.results
    share = share_assigned(node) if _is_written_into(node) else 1.0
    return read + int(share * _bytes(result.shape, result.dtype, of))


def _read(node: Node, of: Callable[[Length], int]) -> int:
    return sum(_bytes(view.shape, view.dtype, of) for view in node.operands)


def _ends(nodes: Sequence[Node], of: Callable[[Length], int]) -> int:
    """The bytes of what comes in, and of what nothing reads."""
    read = {view.result for node in nodes for view in node.operands}
    return sum(
        _bytes(result.shape, result.dtype, of)
        for node in nodes
        for result in node.results
        if isinstance(node.operation, Source) or result not in read
    )


def _cleared(node: Node, of: Callable[[Length], int]) -> int:
    """The bytes of new arrays that are so large that NumPy has memory for them that the system has just cleared."""
    if _is_written_into(node):
        return 0
    sizes = [_bytes(result.shape, result.dtype, of) for result in node.results]
    return sum(size for size in sizes if size >= LEAST_BYTES)


def _is_in_place(node: Node) -> bool:
    """Whether NumPy writes the result of an operator over an operand that nobody has a name for."""
    (result, *others) = node.results
    return not others and any(
        view.is_whole
        and view.dtype == result.dtype
        and len(view.shape) == len(result.shape)
        and not view.result.node.has_variable
        and isinstance(view.result.node.operation, Pointwise)
        for view in node.operands
    )


def _turned(node: Node, of: Callable[[Length], int]) -> int:
    """How many elements of operands whose axes are all in another order: NumPy goes through them as they lie, and its
    result lies like them; in pieces, results lie in the order of their axes."""
    if not isinstance(node.operation, Pointwise):
        return 0
    views = [view for view in node.operands if len(view.shape) > 1]
    if not all(view.result.node.in_c_order and _is_turned(view) for view in views):
        return 0
    return sum(math.prod(map(of, view.shape)) for view in views)


def _is_turned(view: View) -> bool:
    axes = [i.axis for i in view.index if i.axis is not None]
    return axes != sorted(axes)


def _is_exact_in_c(node: Node, *, is_function: bool) -> bool:
    """Whether C is likely to compute an operation to the bits that NumPy gives: no `function` that is more than
    arithmetic."""
    if isinstance(node.operation, Pointwise):
        return is_arithmetic(node) and not is_function
    if isinstance(node.operation, Along):
        is_same = node.operands[0].dtype == node.results[0].dtype
        return node.operation.name in _PASSES_IN_C and len(node.operation.axes) == 1 and is_same
    return isinstance(node.operation, (Around, Assembled))


def is_exact_arithmetic(node: Node) -> bool:
    """Whether there is C for an operation on numbers as processors have them, to the bits that NumPy gives."""
    kinds = [node.results[0].dtype, *(view.dtype for view in node.operands)]
    is_usual = all(dtype.kind in "biuf" and (dtype.kind != "f" or dtype.itemsize in (4, 8)) for dtype in kinds)
    return is_usual and node.operation.exactness == EXACT and is_arithmetic(node)


def _rolled(nodes: Sequence[Node]) -> list[View]:
    """What is read of arrays that are copied with their other ends around them: NumPy copies them for each roll."""
    found: dict[Hashable, View] = {}
    for node in nodes:
        for view in node.operands:
            if type(view.result.node.operation) is Around:
                found[view.result, tuple(expr_of(i.offset) for i in view.index)] = view
    return list(found.values())


def _products(node: Node, of: Callable[[Length], int]) -> int:
    """How many numbers a product of matrices multiplies."""
    if not isinstance(node.operation, Contraction) or node.operation.name != "matmul":
        return 0
    return math.prod(map(of, node.results[0].shape)) * of(node.operands[0].shape[-1])


def _elements(node: Node, of: Callable[[Length], int]) -> int:
    """How many elements a function computes; of what is no function of elements, how many it reads."""
    views = node.results if isinstance(node.operation, (Pointwise, Assembled)) else node.operands
    return sum(math.prod(map(of, view.shape)) for view in views)


def _found_far(node: Node, of: Callable[[Length], int]) -> float:
    """How much longer a filter computes each element that goes along lines whose elements lie apart in memory."""
    from slinky.sched.efforts import found_far

    assert isinstance(node.operation, Filter)
    given, made = ((tuple(map(of, view.shape)), view.dtype) for view in (node.operands[0], node.results[0]))
    return found_far(given, made, node.operation.axis_of_lines)


def _element_seconds(node: Node, seconds_of: SecondsOf) -> float:
    """What a function takes for each of these, beside the time that goes into memory."""
    operation = node.operation
    if isinstance(operation, (Pointwise, Assembled)):
        return seconds_of(operation.name, node.results[0].dtype)
    if is_rows(node):
        return 0.0
    if isinstance(operation, Counting):
        return _COUNTED_SECONDS
    if isinstance(operation, Along) and operation.removed:
        return _REDUCED_SECONDS.get(operation.name, _ELEMENT_SECONDS)
    return _ELEMENT_SECONDS


def _bytes(shape: Shape, dtype: Any, of: Callable[[Length], int]) -> int:
    return math.prod(map(of, shape)) * int(dtype.itemsize)
