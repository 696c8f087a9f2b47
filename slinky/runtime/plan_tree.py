"""The plan tree: a program with every decision about running it taken, as immutable data.

What is hoisted out of which loop, where a loop is cut, which clamps are left out because they do nothing, what is asked
at run time because it could not be shown, which views are made where, what memory is reserved and what is fetched from
it: all of it stands here. A back end prints the tree or walks it, and decides nothing (`python_text` prints Python).

A tree is a function of *steps*. Steps compute with *values*: integers and truths in locals, arrays, ranges, windows. A
name is a string where it is given a value, and a `Name` where it is used. Parameters of the function, and names that
stand for objects (callbacks, constants, idle arenas), are listed in the tree.

Invariants, which the tests check over all their programs: a name is given a value once, before it is used; what is
fetched stems from a site that was reserved; the arena of an iteration is taken once and given back at the end; views
are made of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

from slinky.ir.statements import LoweredFunc, Statement
from slinky.runtime.arena import SiteKind
from slinky.symbolic.expressions import Expr
from slinky.symbolic.intervals import Box


class Node:
    """A value, a step, or a part of one."""

    __slots__ = ()


# Values: integers and truths ------------------------------------------------------------------------------------------


@attrs.frozen
class Name(Node):
    """What a name stands for: a parameter, an object that the tree lists, or the result of an earlier step."""

    text: str


@attrs.frozen
class Integer(Node):
    """An integer that is known."""

    value: int


@attrs.frozen
class Boolean(Node):
    """A truth that is known."""

    value: bool


@attrs.frozen
class Linear(Node):
    """`constant` and the sum of coefficients times values, in this order: at least one, positive coefficients first."""

    terms: tuple[tuple[int, Value], ...]
    constant: int


@attrs.frozen
class Times(Node):
    """A product."""

    factors: tuple[Value, ...]


@attrs.frozen
class Quotient(Node):
    """A division rounded down. It fails where the denominator is 0."""

    numerator: Value
    denominator: Value


@attrs.frozen
class Remainder(Node):
    """What a division rounded down leaves. It fails where the denominator is 0."""

    numerator: Value
    denominator: Value


@attrs.frozen
class Least(Node):
    """The smallest of some values."""

    values: tuple[Value, ...]


@attrs.frozen
class Greatest(Node):
    """The largest of some values."""

    values: tuple[Value, ...]


@attrs.frozen
class Choice(Node):
    """One value where a condition holds, else another one. Only the one that is chosen is computed."""

    condition: Value
    then: Value
    otherwise: Value


@attrs.frozen
class Comparison(Node):
    """How two integers compare."""

    left: Value
    relation: Literal["<", "<=", "==", ">"]
    right: Value


@attrs.frozen
class Conjunction(Node):
    """Whether all conditions hold, asked in this order up to the first that does not."""

    conditions: tuple[Value, ...]


@attrs.frozen
class Disjunction(Node):
    """Whether any condition holds, asked in this order up to the first that does."""

    conditions: tuple[Value, ...]


# Values: arrays -------------------------------------------------------------------------------------------------------


@attrs.frozen
class Span(Node):
    """Positions in a dimension of an array, from the first up to, not including, the last."""

    first: Value
    stop: Value


@attrs.frozen
class At(Node):
    """A position in a dimension of an array, which a view of it has not."""

    position: Value


@attrs.frozen
class Crop(Node):
    """A view of part of an array: a span or a position per dimension, None for all of it. Dimensions that are left out
    are whole. Where `is_all` holds, it is all of the array, which will do instead."""

    array: Value
    spans: tuple[Span | At | None, ...]
    is_all: Value | None = None


@attrs.frozen
class Window(Node):
    """A view of a folded buffer: of each folded dimension, the distance of the first coordinate from that of the
    buffer, and how many coordinates."""

    ring: Name
    spans: tuple[tuple[Value, Value], ...]


@attrs.frozen
class Onward(Node):
    """Windows on a buffer with one folded dimension, one for each iteration of a loop: the distance of the first
    coordinate of the first window, how many coordinates each has, and how far each is from the one before. That is as
    much as the variable of the loop grows, which is `start` at first, times `rate`."""

    ring: Name
    first: Value
    count: Value
    step: Value
    start: Value
    rate: int


@attrs.frozen
class Rows(Node):
    """How many coordinates a window may have at most, of the folded dimension at this position among the folded."""

    ring: Name
    position: int


@attrs.frozen
class Located(Node):
    """An array with the coordinates of its first element, for callbacks that ask for them."""

    array: Value
    minima: tuple[Value, ...]


@attrs.frozen
class Seen(Node):
    """An array as an operation sees it: with these extents, along each axis of which the coordinate in each dimension
    of the array grows by a factor; per dimension, a factor for each axis. See `ir.statements.View`."""

    array: Value
    factors: tuple[tuple[int, ...], ...]
    extents: tuple[Value, ...]


@attrs.frozen
class Sealed(Node):
    """A crop that nobody else has, made read-only."""

    array: Crop


@attrs.frozen
class ReadOnly(Node):
    """A read-only view of an array."""

    array: Name


@attrs.frozen
class Extents(Node):
    """The extents of an array: as many integers as it has dimensions."""

    array: Name


@attrs.frozen
class Stride(Node):
    """The bytes from one position of a dimension of an array to the next."""

    array: Name
    dim: int


@attrs.frozen
class IsContiguous(Node):
    """Whether an array lies in memory in the order of its elements, without gaps."""

    array: Name


@attrs.frozen
class LaidBytes(Node):
    """How many bytes a buffer takes that has these extents and lies as the user says (see `strided`)."""

    buffer: str
    itemsize: int
    extents: tuple[Value, ...]
    alignment: int
    dims: tuple[int, ...]
    strides: tuple[Value, ...]


# Values: iterations ---------------------------------------------------------------------------------------------------


@attrs.frozen
class Range(Node):
    """The integers from the first up to, not including, the last, by a step of at least 1."""

    first: Value
    stop: Value
    step: Value


@attrs.frozen
class Portion(Node):
    """Some of a range: from one position in it up to, not including, another; None is its end."""

    range: Name
    begin: Value | None
    end: Value | None


Value: TypeAlias = (
    Name | Integer | Boolean | Linear | Times | Quotient | Remainder | Least | Greatest | Choice | Comparison
    | Conjunction | Disjunction | Crop | Window | Rows | Located | Seen | Sealed | ReadOnly | Extents | Stride
    | IsContiguous | Range | Portion | LaidBytes
)  # fmt: skip
"""What a step computes with."""


# Where a step comes from ----------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Place:
    """What a step does in terms of the program: enough to say, after an error there, which call it was.

    `boxes` are the bounds of the buffers in scope and `variables` the names of the variables of the loops around;
    `ends` are expressions that stand for symbols of the boxes.
    """

    statement: Statement
    boxes: Mapping[str, Box]
    variables: Mapping[Expr, str]
    ends: Mapping[Expr, Expr]


# Failures -------------------------------------------------------------------------------------------------------------


@attrs.frozen
class BadRegion:
    """A call reads or writes, as its operand of this number, what the buffer does not hold."""

    operand: int


@attrs.frozen
class BadFold:
    """An allocation is folded in this dimension by less than 1."""

    dim: int


@attrs.frozen
class BadStep:
    """A loop has a step of less than 1."""


@attrs.frozen
class BadWorkers:
    """A loop has less than 1 worker."""


@attrs.frozen
class CheckFailed:
    """A check of the program does not hold."""


Failure: TypeAlias = BadRegion | BadFold | BadStep | BadWorkers | CheckFailed
"""What is wrong where a run ends with an error of its own."""


# Steps ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Assign(Node):
    """Give a name a value."""

    name: str
    value: Value


@attrs.frozen
class Unpack(Node):
    """Give names the items of a value that has as many."""

    names: tuple[str, ...]
    value: Value


@attrs.frozen
class Stop(Node):
    """End the run with an error where a condition holds."""

    condition: Value
    failure: Failure
    place: Place


@attrs.frozen
class Guard(Node):
    """Steps that are done where a condition holds, and others where it does not."""

    condition: Value
    body: Steps
    orelse: Steps = ()


@attrs.frozen
class Loop(Node):
    """Do some steps for each of some integers, one after the other. In each, `beside` gives names to windows, too.

    `remark` says which part of a loop of the program it is. The body is a function of this name, if there is one: so
    many loops are around it that a language that limits them would refuse it otherwise.
    """

    variable: str
    iterations: Range | Portion
    body: Steps
    remark: str = ""
    function: str | None = None
    beside: tuple[tuple[str, Onward], ...] = ()


@attrs.frozen
class ParallelLoop(Node):
    """Do some steps, as a function of this name, for each of some integers, by that many threads at the same time."""

    variable: str
    iterations: Range
    body: Steps
    function: str
    workers: Value


@attrs.frozen
class Stage(Node):
    """Some steps of each iteration of a loop, as a function of this name."""

    function: str
    body: Steps


@attrs.frozen
class StagedLoop(Node):
    """Do the steps of all stages for each of some integers, by that many threads; when which may begin, `ir.stages`
    says, of stages that are so many iterations deep."""

    variable: str
    iterations: Range
    stages: tuple[Stage, ...]
    depth: int
    workers: Value


@attrs.frozen
class TakeArena(Node):
    """Take an idle arena, for one iteration of a parallel loop, or a stage of one."""

    arena: str
    idle: Name


@attrs.frozen
class GiveArena(Node):
    """Give an arena back to the idle ones."""

    idle: Name
    arena: Name


@attrs.frozen
class SiteRoom(Node):
    """A site of an arena, by name, and how many bytes it needs; None if that is not known yet. No bytes where one of
    the conditions does not hold."""

    site: str
    bytes: Value | None
    conditions: tuple[Value, ...] = ()


@attrs.frozen
class Reserve(Node):
    """Have room for the arrays of an arena, and name its sites: those of the heap, then those of the rings."""

    arena: Name
    heap: tuple[SiteRoom, ...]
    rings: tuple[str, ...]


@attrs.frozen
class Fetch(Node):
    """Name the array of a site: of these extents, and, of its folded dimensions, these fold factors. Where a layout
    gives strides, they stand behind the extents.

    Where a callback reads it, a read-only view of it is named `reading`.
    """

    name: str
    site: Name
    extents: tuple[Value, ...]
    folds: tuple[Value, ...]
    reading: str | None


@attrs.frozen
class FetchWithin(Node):
    """As `Fetch`, but the array is part of an output where that is contiguous."""

    name: str
    part: Name
    is_contiguous: Name
    site: Name
    extents: tuple[Value, ...]
    reading: str | None


@attrs.frozen
class Run(Node):
    """Call a callback with arrays that it reads, arrays that it writes, and arguments by name.

    One that `takes_out` takes what it writes by the argument `out`, as ufuncs do; others take it after what they read,
    and must return nothing else.
    """

    callback: Name
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    arguments: tuple[tuple[str, Value], ...]
    takes_out: bool
    place: Place


@attrs.frozen
class Nest(Node):
    """Steps that a function does as a whole, given what they use from outside: it says whether it left all of them to
    be done here. `remark` says what they call."""

    function: Name
    arguments: tuple[Value, ...]
    body: Steps
    remark: str


@attrs.frozen
class RecordBlock(Node):
    """Steps of a block of the program that allocates; a recorder, by this name, is told when its buffers end."""

    recorder: Name
    name: str
    body: Steps


@attrs.frozen
class RecordAllocation(Node):
    """Tell the recorder of a block that a buffer of so many bytes begins."""

    block: Name
    buffer: str
    bytes: Value


@attrs.frozen
class RecordFree(Node):
    """Tell the recorder of a block that a buffer ends."""

    block: Name
    buffer: str


@attrs.frozen
class RecordCall(Node):
    """Steps that are the call of a func over a box; a recorder is told of its begin and end."""

    recorder: Name
    func: str
    box: tuple[tuple[Value, Value], ...]
    body: Steps
    place: Place


Step: TypeAlias = (
    Assign | Unpack | Stop | Guard | Loop | ParallelLoop | StagedLoop | TakeArena | GiveArena | Reserve | Fetch
    | FetchWithin | Run | Nest | RecordBlock | RecordAllocation | RecordFree | RecordCall
)  # fmt: skip
"""What a plan does."""

Steps: TypeAlias = tuple[Step, ...]


def acts(step: Step) -> bool:
    """Whether a step may call a callback: before the first that does, nothing has happened."""
    return isinstance(step, (Guard, Loop, ParallelLoop, StagedLoop, Run, Nest, RecordBlock, RecordCall))


# The tree -------------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Again:
    """The function that does the rest of a plan, any number of times, on the same arguments."""

    name: str
    parameters: tuple[str, ...]
    body: Steps


@attrs.frozen(eq=False)
class PlanTree:
    """A function: its parameters, and its steps. `title` says which program it is of.

    If there is an `again`, the steps are what comes before the first callback, and the function returns that one.
    `objects` are what the steps use beside the parameters, by name; `callbacks` are the funcs of those that are
    callbacks. `sites` are those of the arena of the function, `arenas[name]` those of the idle arenas of this name. It
    is `threaded` if it takes a number of threads.
    """

    title: str
    function: str
    parameters: tuple[str, ...]
    body: Steps
    again: Again | None
    objects: Mapping[str, Any]
    callbacks: Mapping[str, LoweredFunc]
    sites: tuple[SiteKind, ...]
    arenas: Mapping[str, tuple[SiteKind, ...]]
    threaded: bool
