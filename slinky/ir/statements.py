"""The language of programs, on one page.

A program is a tree of immutable statements in blocks (tuples). Flat and readable: each call says which box of its
dimensions it computes; there are no crop scopes to navigate. Every statement carries an *identity*, a number that
rewrites keep when they change or move the statement; two statements are equal when they say the same, whatever
their identities.

Names of buffers and loop variables are unique along every path from the root to a statement, so within its scope a
name is an identity, and substitution captures nothing. `verify` checks it.

This file knows what statements are, not how they are made, run or rewritten.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, assert_never, get_args

import attrs
import numpy as np

from slinky.errors import ProgramError, cited
from slinky.ir.operations import Accumulation, Operation, Reduction
from slinky.ir.remembered import Remembering, remembered
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    ExprLike,
    Variable,
    as_expr,
    is_integer,
    maximum,
    minimum,
)
from slinky.symbolic.intervals import Box, Interval

_identities = itertools.count(1)


def fresh_identity() -> int:
    """A number that no statement carries yet."""
    return next(_identities)


def _identity() -> Any:
    return attrs.field(factory=fresh_identity, eq=False, kw_only=True)


# ----------------------------------------------------------------------------------------------------------------
# Parameters and funcs
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class BufferParameter:
    """An input or output of the pipeline: an array of this dtype with these dimensions, its bounds known when run."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[str, ...]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)


@attrs.frozen
class ScalarParameter:
    """An integer of the pipeline, given by name when it runs."""

    name: str


@attrs.frozen
class FloatParameter:
    """A float of the pipeline, given by name when it runs: only callbacks get it."""

    name: str


@attrs.frozen(eq=False)
class ConstantBuffer:
    """An array that belongs to the pipeline. Its first element has the coordinates `min`."""

    name: str
    array: np.ndarray[Any, Any]
    min: tuple[int, ...]
    dims: tuple[str, ...]


@attrs.frozen
class View:
    """How an operation sees a port whose array is not the region itself: translated, transposed, reversed, repeated.

    It is given an array over `box`, in coordinates of its own: an interval for each of its axes, in terms of the func's
    dimensions. The element at the coordinates `dims` is that of the buffer at `index`, which is affine in them with
    integer factors. Nothing else looks at it: what is read or written of the buffer, the port says.
    """

    dims: tuple[Variable, ...]
    index: tuple[Expr, ...]
    box: Box


@attrs.frozen
class Order:
    """How a buffer has to lie in memory for an operation that does not take any: its dimensions by position, from the
    outermost in.

    Along each, neighbours are as far apart as along the next, or further; along the last they are side by side. Where
    `strides[i]` is a number, they are that many bytes apart along dimension i. The first element, and each along a
    dimension whose stride is more than an element, lies at a multiple of `alignment` bytes.
    """

    dims: tuple[int, ...]
    strides: tuple[int | None, ...] = ()
    alignment: int = 1


@attrs.frozen
class OutputPort:
    """What a func produces of one buffer: of the buffer's dimension i, the func's dimension at position `dims[i]`.
    Where there is an `order`, the buffer lies so."""

    dims: tuple[int, ...]
    dtype: np.dtype[Any]
    view: View | None = None
    order: Order | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions of the buffer."""
        return len(self.dims)


@attrs.frozen
class InputPort:
    """What a func reads of one buffer: an interval per dimension of the buffer, in terms of the func's dimensions.
    Where there is an `order`, the buffer lies so."""

    box: Box
    dtype: np.dtype[Any]
    view: View | None = None
    order: Order | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions of the buffer."""
        return len(self.box)

    @property
    def seen_rank(self) -> int:
        """The number of axes of the array that the operation is given."""
        return self.rank if self.view is None else len(self.view.dims)


Port: TypeAlias = InputPort | OutputPort
"""What a func reads or writes of one buffer."""


@attrs.frozen
class Limit:
    """From where to where, at most, along a dimension given by position; None where nothing limits it."""

    dim: int
    first: Expr | None
    last: Expr | None

    def clamp(self, i: Interval) -> Interval:
        """What of an interval lies in it."""
        lo = i.min if self.first is None else maximum(i.min, self.first)
        hi = i.max if self.last is None else minimum(i.max, self.last)
        return Interval(lo, hi)


@attrs.frozen(eq=False)
class Family:
    """A func and its variants, by name, None for the func itself: they compute the same (see `families`).

    Where the func itself is no member any more, `declared` is what it was: they still compute that.
    """

    members: dict[str | None, LoweredFunc] = attrs.field(factory=dict, repr=False)
    declared: LoweredFunc | None = attrs.field(default=None, repr=False)


@attrs.frozen(eq=False)
class Fused:
    """What a fused func computes: what `second` computes, where by some of its `ports`, given by position, it reads
    what `first` gives."""

    first: LoweredFunc
    second: LoweredFunc
    ports: tuple[int, ...]


@attrs.frozen(eq=False)
class LoweredFunc(Remembering):
    """What a call runs: the geometry of its ports, and the operation.

    Producing the box B of its dimensions, it writes exactly the points of B in each output, and reads of each input
    exactly the box that the port gives for B. Which buffers the ports stand for, a call says. `dims` are variables of
    the func's own (`stencil.y`), bound nowhere else. `known` are conditions that the program checks and on which the
    regions that it reads rest (a divisor is positive).

    `whole` are the dimensions, by position, of which the operation cannot compute a part, and the interval that all of
    each is: whenever a call computes anything, its clamped box is just that interval there.

    `multiples` are the dimensions, by position, that it computes in whole pieces only, and how long these are:
    whenever a call computes anything, its clamped box begins at a multiple of that there, and ends right before one.

    `part` is where the func gives the values of its outputs, if others give them elsewhere: calls are clamped to it, as
    to the bounds of their outputs.

    `reduction` is how the operation can be taken to pieces along dimensions of its inputs that its outputs have not.

    `family` are the funcs that are declared to compute the same, of which this one is the `variant` of that name; None
    for the one that they are variants of.

    `fusions` are funcs that are declared to compute what it computes of another one's output; each says in `fused` of
    which.
    """

    name: str
    operation: Operation
    dims: tuple[Variable, ...]
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    whole: tuple[tuple[int, Interval], ...] = ()
    known: tuple[Condition, ...] = ()
    multiples: tuple[tuple[int, int], ...] = ()
    part: tuple[Limit, ...] = ()
    reduction: Reduction | None = None
    variant: str | None = None
    family: Family | None = None
    fusions: tuple[LoweredFunc, ...] = ()
    fused: Fused | None = None

    @property
    def label(self) -> str:
        """The name, and that of the variant, if it is one, or a stage of one: `blur[fast]`."""
        return self.name if self.chosen is None else f"{self.name}[{self.chosen}]"

    @property
    def chosen(self) -> str | None:
        """The name of the variant that it is, or of which it is a stage; None for the func itself."""
        return self.operation.variant if isinstance(self.operation, Accumulation) else self.variant

    @property
    def ports(self) -> tuple[Port, ...]:
        """The inputs, then the outputs."""
        return (*self.inputs, *self.outputs)

    def dim_names(self) -> tuple[str, ...]:
        """The names of the dimensions, without the func's own name."""
        return _dim_names(self)


@remembered
def asks_for_an_order(func: LoweredFunc) -> bool:
    """Whether a func takes a buffer in some order of its dimensions only."""
    return any(port.order is not None for port in func.ports)


@remembered
def _dim_names(func: LoweredFunc) -> tuple[str, ...]:
    return tuple(dim.name.rpartition(".")[2] for dim in func.dims)


# ----------------------------------------------------------------------------------------------------------------
# Statements
# ----------------------------------------------------------------------------------------------------------------


BufferName: TypeAlias = str
"""The name of a buffer, in a field of a statement: what renaming a buffer changes."""

LoopVariable: TypeAlias = Variable
"""What a loop binds: no expression of it."""


@attrs.frozen
class Heap:
    """Memory of its own, in that of the process."""


@attrs.frozen
class Within:
    """The memory of another buffer, its *host*, which has memory of its own: from the beginning of that on.

    The memory is as large as the largest buffer that lies in it. Each of these has elements of its own, which last
    until another one is written there.
    """

    host: BufferName


Memory: TypeAlias = Heap | Within
"""Where a buffer lies."""

HEAP = Heap()


@attrs.frozen
class Layout:
    """How the elements of a buffer lie in memory: as in an array of C order, but for what is said here.

    Where `strides[i]` is an expression, neighbours along dimension i are that many bytes apart. The first element, and
    each along a dimension whose stride is more than an element, lies at a multiple of `alignment` bytes.

    Where `blocks[i]` is a number, dimension i is stored by *blocks* of that many coordinates, from its first on: what
    lies in one block lies together, in C order, and blocks lie one behind the other, the last as long as the others.
    All that a call touches lies in one block. What is stored by blocks has no strides and no alignment of its own.
    """

    strides: tuple[Expr | None, ...]
    alignment: int = 1
    blocks: tuple[int | None, ...] = ()


LARGEST_ALIGNMENT = 4096
"""Pages begin at multiples of this, mostly: nobody asks for more."""


@attrs.frozen
class Serial:
    """The iterations of a loop run one after the other."""


def _as_workers(given: ExprLike | None) -> Expr | None:
    try:
        return None if given is None else as_expr(given)
    except TypeError as error:
        raise ProgramError(f"the number of workers is wrong: {error}") from None


@attrs.frozen
class Parallel:
    """The iterations of a loop may run at the same time, on that many threads; None: on as many as there are.

    The number of workers is known when the loop is entered, and at least 1.
    """

    workers: Expr | None = attrs.field(default=None, converter=_as_workers)


def _as_stages(given: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(given, (tuple, list)) or not given or not all(is_integer(n) and n >= 1 for n in given):
        raise ProgramError(f"the stages of a loop are numbers of statements, each 1 or more, got {cited(given)}")
    return tuple(map(int, given))


def _as_depth(given: int) -> int:
    if not is_integer(given) or given < 1:
        raise ProgramError(f"the depth of a pipelined loop is an integer, 1 or more, got {cited(given)}")
    return int(given)


@attrs.frozen
class Pipelined:
    """The statements of a loop's body run in stages, which overlap: a stage may be iterations ahead of those behind it.

    `stages` are the numbers of statements of each, in the order of the body. Each *stage of an iteration* waits for the
    same stage of the iteration before and for the stage before it of the same iteration; the first, moreover, for the
    last stage of the iteration `depth` before. So at most `depth` iterations are under way. What a stage allocates is
    its own. They run on that many threads; None: on as many as there are.
    """

    stages: tuple[int, ...] = attrs.field(converter=_as_stages)
    depth: int = attrs.field(converter=_as_depth)
    workers: Expr | None = attrs.field(default=None, converter=_as_workers)


Mode: TypeAlias = Serial | Parallel | Pipelined
"""How the iterations of a loop run."""

SERIAL = Serial()


@attrs.frozen
class Alloc(Remembering):
    """A buffer for the rest of its block. It holds `box`; nothing is written yet. Freed after its last use.

    Where `folds[i]` is an expression F, coordinates of dimension i that differ by a multiple of F share storage. What
    has no layout lies as suits whoever runs the program; what is folded has none. A buffer that shares its memory with
    others is neither folded nor has a layout.
    """

    buffer: BufferName
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    box: Box
    folds: tuple[Expr | None, ...]
    memory: Memory = HEAP
    layout: Layout | None = None
    id: int = _identity()


@attrs.frozen
class Call(Remembering):
    """Run a func over a box of its dimensions, clamped to the bounds of its outputs.

    `reads` and `writes` are its operands: the buffers that the func's inputs and outputs stand for here, one per port.
    If clamping leaves nothing, the operation is not run. The regions that the call reads are the func's bounds of the
    clamped box.
    """

    func: LoweredFunc
    box: Box
    reads: tuple[BufferName, ...]
    writes: tuple[BufferName, ...]
    id: int = _identity()


@attrs.frozen
class For(Remembering):
    """Run the body with `variable` at `range.min`, then `step` (at least 1) further on, while at most `range.max`."""

    variable: LoopVariable
    range: Interval
    step: Expr
    mode: Mode
    body: Block
    id: int = _identity()


@attrs.frozen
class If(Remembering):
    """Run the body where the condition holds, else `orelse`."""

    condition: Condition
    body: Block
    orelse: Block = ()
    id: int = _identity()


@attrs.frozen
class Check(Remembering):
    """A condition that must hold; `message` tells the user what is required where it does not."""

    condition: Condition
    message: str
    id: int = _identity()


@attrs.frozen
class Pass(Remembering):
    """Nothing."""

    id: int = _identity()


Statement: TypeAlias = Alloc | Call | For | If | Check | Pass
Block: TypeAlias = tuple[Statement, ...]

KINDS: tuple[type[Statement], ...] = get_args(Statement)
"""All kinds of statements."""


@attrs.frozen
class Program:
    """Parameters and a body. `constants` are arrays that came with the graph."""

    name: str
    inputs: tuple[BufferParameter, ...]
    outputs: tuple[BufferParameter, ...]
    scalars: tuple[ScalarParameter, ...]
    constants: tuple[ConstantBuffer, ...]
    body: Block
    floats: tuple[FloatParameter, ...] = ()

    def parameters(self) -> tuple[BufferParameter | ScalarParameter | FloatParameter | ConstantBuffer, ...]:
        """Inputs, outputs, scalars and constants."""
        return (*self.inputs, *self.outputs, *self.scalars, *self.floats, *self.constants)

    def has_parameter(self, name: str) -> bool:
        """Whether a parameter has this name."""
        for group in (self.inputs, self.outputs, self.scalars, self.floats, self.constants):
            for parameter in group:
                if parameter.name == name:
                    return True
        return False


def strides_of(alloc: Alloc) -> tuple[Expr | None, ...]:
    """The strides that are asked for, by dimension."""
    return (None,) * len(alloc.dims) if alloc.layout is None else alloc.layout.strides


def has_strides(alloc: Alloc) -> bool:
    """Whether some strides are asked for."""
    return any(stride is not None for stride in strides_of(alloc))


def workers_of(loop: For) -> Expr | None:
    """The number of threads that a loop says itself; None if it says none."""
    return None if isinstance(loop.mode, Serial) else loop.mode.workers


def positive_in(statement: Statement) -> tuple[tuple[str, Expr], ...]:
    """The expressions of a statement itself that are 1 or more whenever it runs, each with what it is."""
    match statement:
        case For(variable=variable, step=step):
            workers = workers_of(statement)
            own = ((f"the step of loop {variable}", step),)
            return own if workers is None else (*own, (f"the number of workers of loop {variable}", workers))
        case Alloc(buffer=buffer, dims=dims, folds=folds):
            return tuple(
                (f"the fold of {buffer}.{dim}", fold) for dim, fold in zip(dims, folds, strict=True) if fold is not None
            )
        case Call() | If() | Check() | Pass():
            return ()
        case _:
            assert_never(statement)


def is_in_order(loop: For) -> bool:
    """Whether a loop does what it does one iteration after the other: those of a pipelined loop overlap only where
    nobody can tell (see `ir.stages`)."""
    return not isinstance(loop.mode, Parallel)


def blocks_of(statement: Statement) -> tuple[tuple[str, Block], ...]:
    """The blocks inside a statement, by the name of the field that holds each."""
    match statement:
        case For(body=body):
            return (("body", body),)
        case If(body=body, orelse=orelse):
            return (("body", body), ("orelse", orelse))
        case Alloc() | Call() | Check() | Pass():
            return ()
        case _:
            assert_never(statement)


_WITHOUT_BLOCKS = frozenset((Alloc, Call, Check, Pass))


def has_blocks(*statements: Statement) -> bool:
    """Whether statements stand inside of statements of the kind of any of these."""
    return not _WITHOUT_BLOCKS.issuperset(map(type, statements))


def has_calls_alone(block: Block) -> bool:
    """Whether all statements of a block are calls, as in the loops of a schedule: then there is no need to walk."""
    return {Call}.issuperset(map(type, block))


def walk(block: Block) -> Iterator[Statement]:
    """Every statement of a block and of the blocks inside, in program order."""
    if _WITHOUT_BLOCKS.issuperset(map(type, block)):
        yield from block
        return
    stack = [iter(block)]
    while stack:
        for statement in stack[-1]:
            yield statement
            if type(statement) not in _WITHOUT_BLOCKS:
                stack.append(itertools.chain.from_iterable(inner for _, inner in blocks_of(statement)))
                break
        else:
            stack.pop()
