"""Cursors to places in the body of a program: statements, blocks, gaps, dimensions, expressions.

A cursor is a version and an identity (and, for finer places, which side, dimension or expression). It never hands out
the statements themselves. The kinds lead to each other, a step at a time, which is why they stand in one file.

Invariant: the identity is that of a statement of the version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, assert_never, overload

import attrs
import numpy as np

from slinky.cursors.answers import (
    Dimension,
    NamedExprs,
    NamedInterval,
    dim_position,
    integer,
    named_box,
    region_in,
    regions_in,
)
from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.kinds import roles
from slinky.cursors.versions import ROOT, Version, require_version
from slinky.errors import InvalidCursorError, cited
from slinky.ir.blocks import blocks_of_dims
from slinky.ir.effects import read_by, written_by
from slinky.ir.families import names_of_variants
from slinky.ir.printer import expression_text
from slinky.ir.sharing import host_of
from slinky.ir.stages import stages_of
from slinky.ir.statements import (
    Alloc,
    Block,
    Call,
    Check,
    For,
    If,
    Pass,
    Pipelined,
    Serial,
    Statement,
)
from slinky.symbolic.expressions import Condition, Expr, constant_value
from slinky.symbolic.intervals import Box, Interval

S = TypeVar("S", bound="StatementCursor")
T = TypeVar("T", bound="Cursor")


# ----------------------------------------------------------------------------------------------------------------
# Statements
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen(repr=False)
class StatementCursor(Cursor):
    """A statement."""

    _version: Version
    _id: int

    @property
    def _statement(self) -> Statement:
        return self._version.entries[self._id].statement

    def describe(self) -> str:
        from slinky.cursors.display import first_line

        return first_line(self._version, self._id)

    def __str__(self) -> str:
        from slinky.cursors.display import show

        return show(self._version, {self._id})

    def forward_to(self: S, version: Version) -> S:
        if version is self._version:
            return self
        require_version(version).require_descent(self._version)
        if self._id not in version.entries:
            version.require_statement(self._id, self._version, f"the statement '{self.describe()}'")
        return type(self)(version, self._id)

    def parent(self) -> StatementCursor | InvalidCursor:
        """The loop or `if` around it; an `InvalidCursor` for an outermost statement."""
        parent = self._version.entries[self._id].parent
        return InvalidCursor() if parent == ROOT else statement_cursor(self._version, parent)

    def next(self, distance: int = 1) -> StatementCursor | InvalidCursor:
        """The statement that many places further on in the block; an `InvalidCursor` off its end."""
        entry = self._version.entries[self._id]
        block = self._version.block(entry.parent, entry.field)
        at = self._version.position(self._id) + integer(distance, "the distance")
        return statement_cursor(self._version, block[at].id) if 0 <= at < len(block) else InvalidCursor()

    def prev(self, distance: int = 1) -> StatementCursor | InvalidCursor:
        """The statement that many places back in the block; an `InvalidCursor` off its start."""
        return self.next(-integer(distance, "the distance"))

    def before(self) -> GapCursor:
        """The gap before it."""
        return GapCursor(self._version, self._id, True)

    def after(self) -> GapCursor:
        """The gap after it."""
        return GapCursor(self._version, self._id, False)

    def as_block(self) -> BlockCursor:
        """The block of it alone."""
        return BlockCursor(self._version, self._id, self._id)

    def expand(self, before: int = 0, after: int = 0) -> BlockCursor:
        """The block of it and so many neighbours before and after."""
        return self.as_block().expand(before, after)

    def expressions(self) -> tuple[ExprCursor, ...]:
        """The expressions that it is made of; `ExprCursor` lists the roles that they can have."""
        return tuple(ExprCursor(self._version, self._id, role) for role in roles(self._statement))

    def expression(self, role: str) -> ExprCursor | InvalidCursor:
        """The expression with a role, such as `"min"` of a loop or `"y.max"` of a call; an `InvalidCursor` if the
        statement has none.
        """
        if not isinstance(role, str):
            raise InvalidCursorError(f"a role is a text such as 'min' or 'y.max', got {cited(role)}")
        return next((e for e in self.expressions() if e.role() == role), InvalidCursor())

    def is_ancestor_of(self, other: Cursor) -> bool:
        """Whether the other place lies inside this statement (or is it). The gaps before and after it are not inside.

        Of cursors of two versions, the older one is forwarded first; raises `InvalidCursorError` if it cannot be.
        """
        from slinky.cursors.containment import lies_in

        return lies_in(self, other)


@attrs.frozen(repr=False)
class AllocCursor(StatementCursor):
    """An allocation."""

    @property
    def _alloc(self) -> Alloc:
        statement = self._statement
        assert isinstance(statement, Alloc)
        return statement

    def name(self) -> str:
        """The buffer's name."""
        return self._alloc.buffer

    def dims(self) -> tuple[str, ...]:
        """The names of the buffer's dimensions."""
        return self._alloc.dims

    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return self._alloc.dtype

    def rank(self) -> int:
        """How many dimensions it has."""
        return len(self._alloc.dims)

    @overload
    def bounds(self) -> Box: ...
    @overload
    def bounds(self, dim: Dimension) -> Interval: ...
    def bounds(self, dim: Dimension | None = None) -> Interval | Box:
        """The interval of coordinates of a dimension, by name or position; without one, those of all dimensions."""
        box = named_box(self._version.program, self._alloc.box)
        return box if dim is None else box[dim_position(self._alloc.dims, dim, f"buffer {self.name()}")]

    def shape(self) -> tuple[Expr, ...]:
        """The extent of each dimension, folds not considered."""
        return NamedExprs(self._version.program, (i.extent for i in self._alloc.box))

    def storage(self) -> tuple[Expr | None, ...]:
        """The fold factor of each dimension, None where it is not folded."""
        return NamedExprs(self._version.program, self._alloc.folds)

    def host(self) -> str | None:
        """The name of the buffer in whose memory it lies; None if it has memory of its own."""
        return host_of(self._alloc)

    def strides(self) -> tuple[Expr | None, ...]:
        """The distance of neighbours along each dimension, in bytes; None where the user asked for none."""
        layout = self._alloc.layout
        return NamedExprs(self._version.program, (None,) * self.rank() if layout is None else layout.strides)

    def alignment(self) -> int:
        """The bytes of which the first element, and the rows, lie at multiples; 1 if the user asked for none."""
        return 1 if self._alloc.layout is None else self._alloc.layout.alignment

    def blocks(self) -> tuple[int | None, ...]:
        """Of each dimension how many coordinates lie in a block; None where it is not stored by blocks."""
        return blocks_of_dims(self._alloc) or (None,) * self.rank()


@attrs.frozen(repr=False)
class CallCursor(StatementCursor):
    """A call of a func."""

    @property
    def _call(self) -> Call:
        statement = self._statement
        assert isinstance(statement, Call)
        return statement

    def name(self) -> str:
        """The func's name."""
        return self._call.func.name

    def func(self) -> str:
        """The func's name, as `name()`."""
        return self._call.func.name

    def variant(self) -> str | None:
        """The name of the variant that it runs; None for the func itself (see `choose_variant`)."""
        return self._call.func.chosen

    def variants(self) -> tuple[str, ...]:
        """The names of the variants that the func declares."""
        return names_of_variants(self._call.func)

    def inputs(self) -> tuple[str, ...]:
        """The names of the buffers that it reads, one per access."""
        return read_by(self._call)

    def outputs(self) -> tuple[str, ...]:
        """The names of the buffers that it writes."""
        return written_by(self._call)

    def dims(self) -> tuple[DimCursor, ...]:
        """Its dimensions: the loops that the callback runs inside."""
        return tuple(DimCursor(self._version, self._id, d) for d in range(len(self._call.func.dims)))

    def dim(self, name: Dimension) -> DimCursor:
        """A dimension, by name or position.

        Raises `InvalidCursorError` if the func has no such dimension.
        """
        return DimCursor(self._version, self._id, self._position(name))

    def _position(self, dim: Dimension) -> int:
        return dim_position(self._call.func.dim_names(), dim, f"func {self.name()}")

    @overload
    def bounds(self) -> Box: ...
    @overload
    def bounds(self, dim: Dimension) -> Interval: ...
    def bounds(self, dim: Dimension | None = None) -> Interval | Box:
        """The interval of a dimension that it computes, by name or position; without one, its whole box.

        This is before clamping to the bounds of its outputs.
        """
        box = named_box(self._version.program, self._call.box)
        return box if dim is None else box[self._position(dim)]

    def region(self, buffer: str) -> Box:
        """The box of a buffer that it reads or writes, before clamping to the bounds of its outputs.

        Where it reads the buffer several times, the smallest box that holds all that it reads. Raises
        `InvalidCursorError` if it does not touch the buffer.
        """
        region = region_in(self._call, buffer, self._version.facts_at(self._id))
        return named_box(self._version.program, region)

    def regions(self, buffer: str) -> tuple[Box, ...]:
        """The box of a buffer at each access to it, in the order in which the callback gets them.

        Raises `InvalidCursorError` if it does not touch the buffer.
        """
        return tuple(named_box(self._version.program, region) for region in regions_in(self._call, buffer))


@attrs.frozen(repr=False)
class LoopCursor(StatementCursor):
    """A loop."""

    @property
    def _loop(self) -> For:
        statement = self._statement
        assert isinstance(statement, For)
        return statement

    def name(self) -> str:
        """The name of its variable."""
        return self._loop.variable.name

    def bounds(self) -> Interval:
        """The range of its variable."""
        return NamedInterval(self._loop.range.min, self._loop.range.max, self._version.program)

    def step(self) -> Expr:
        """How far its variable moves from one iteration to the next."""
        return self._loop.step

    def workers(self) -> int | Expr | None:
        """How many threads it runs on: None for a serial loop, 0 for as many as there are."""
        mode = self._loop.mode
        if isinstance(mode, Serial):
            return None
        if mode.workers is None:
            return 0
        number = constant_value(mode.workers)
        return mode.workers if number is None else number

    def stages(self) -> tuple[BlockCursor, ...]:
        """The statements of each of its stages; all of its body as one if it is not pipelined."""
        return tuple([block_cursor(self._version, stage) for stage in stages_of(self._loop)])

    def depth(self) -> int | None:
        """How many iterations may be under way in a pipelined loop; None for any other."""
        return self._loop.mode.depth if isinstance(self._loop.mode, Pipelined) else None

    def body(self) -> BlockCursor:
        """The block that it repeats."""
        return block_cursor(self._version, self._loop.body)


@attrs.frozen(repr=False)
class IfCursor(StatementCursor):
    """An `if`."""

    @property
    def _if(self) -> If:
        statement = self._statement
        assert isinstance(statement, If)
        return statement

    def condition(self) -> Condition:
        """The condition."""
        return self._if.condition

    def body(self) -> BlockCursor:
        """What runs where the condition holds."""
        return block_cursor(self._version, self._if.body)

    def orelse(self) -> BlockCursor | InvalidCursor:
        """What runs where it does not; an `InvalidCursor` if that is nothing."""
        return block_cursor(self._version, self._if.orelse) if self._if.orelse else InvalidCursor()


@attrs.frozen(repr=False)
class CheckCursor(StatementCursor):
    """A check."""

    def condition(self) -> Condition:
        """What must hold."""
        statement = self._statement
        assert isinstance(statement, Check)
        return statement.condition


@attrs.frozen(repr=False)
class PassCursor(StatementCursor):
    """A `pass`."""


def statement_cursor(version: Version, identity: int) -> StatementCursor:
    """The cursor of the right kind to a statement."""
    statement = version.entries[identity].statement
    match statement:
        case Alloc():
            return AllocCursor(version, identity)
        case Call():
            return CallCursor(version, identity)
        case For():
            return LoopCursor(version, identity)
        case If():
            return IfCursor(version, identity)
        case Check():
            return CheckCursor(version, identity)
        case Pass():
            return PassCursor(version, identity)
        case _:
            assert_never(statement)


def block_cursor(version: Version, block: Block) -> BlockCursor:
    """The cursor to a whole block, which is not empty."""
    return BlockCursor(version, block[0].id, block[-1].id)


# ----------------------------------------------------------------------------------------------------------------
# Blocks and gaps
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen(repr=False)
class BlockCursor(Cursor):
    """One or more neighbouring statements. A sequence: `len`, indexing, slicing, iteration."""

    _version: Version
    _first: int
    _last: int

    def _range(self) -> tuple[Block, int, int]:
        entry = self._version.entries[self._first]
        block = self._version.block(entry.parent, entry.field)
        return block, self._version.position(self._first), self._version.position(self._last)

    def _ids(self) -> list[int]:
        block, start, end = self._range()
        return [s.id for s in block[start : end + 1]]

    def describe(self) -> str:
        count = len(self)
        first = statement_cursor(self._version, self._first).describe()
        return f"of 1 statement: {first}" if count == 1 else f"of {count} statements from: {first}"

    def __str__(self) -> str:
        from slinky.cursors.display import show

        return show(self._version, set(self._ids()))

    def __len__(self) -> int:
        _, start, end = self._range()
        return end - start + 1

    def __iter__(self) -> Iterator[StatementCursor]:
        return (statement_cursor(self._version, identity) for identity in self._ids())

    @overload
    def __getitem__(self, index: int) -> StatementCursor: ...
    @overload
    def __getitem__(self, index: slice) -> BlockCursor: ...
    def __getitem__(self, index: int | slice) -> StatementCursor | BlockCursor:
        ids = self._ids()
        if isinstance(index, slice):
            for end in (index.start, index.stop, index.step):
                integer(0 if end is None else end, "an end of a slice")
            chosen = ids[index.start : index.stop]
            if not chosen or index.step not in (None, 1):
                raise InvalidCursorError(f"a block of {len(ids)} statements has no part {index}")
            return BlockCursor(self._version, chosen[0], chosen[-1])
        if not -len(ids) <= integer(index, "the index into a block") < len(ids):
            raise InvalidCursorError(f"a block of {len(ids)} statements has no statement {index}")
        return statement_cursor(self._version, ids[index])

    def forward_to(self: T, version: Version) -> T:
        assert isinstance(self, BlockCursor)
        if version is self._version:
            return self
        require_version(version).require_descent(self._version)
        alive = [identity for identity in self._ids() if identity in version.entries]
        if not alive:
            version.require_statement(self._first, self._version, f"the block {self.describe()}")
        blocks = {i: (version.entries[i].parent, version.entries[i].field) for i in alive}
        if blocks[alive[0]] != blocks[alive[-1]]:
            raise InvalidCursorError(
                f"the first and the last statement of the block {self.describe()} do not stand in one block any more"
            )
        # One between them may have moved elsewhere, into a loop that is part of the block, say.
        ordered = sorted([i for i in alive if blocks[i] == blocks[alive[0]]], key=version.position)
        return type(self)(version, ordered[0], ordered[-1])

    def parent(self) -> StatementCursor | InvalidCursor:
        """The loop or `if` around it; an `InvalidCursor` for an outermost block."""
        return statement_cursor(self._version, self._first).parent()

    def before(self) -> GapCursor:
        """The gap before its first statement."""
        return GapCursor(self._version, self._first, True)

    def after(self) -> GapCursor:
        """The gap after its last statement."""
        return GapCursor(self._version, self._last, False)

    def as_block(self) -> BlockCursor:
        """Itself."""
        return self

    def expand(self, before: int = 0, after: int = 0) -> BlockCursor:
        """A block with so many more neighbours before and after, as far as there are any."""
        block, start, end = self._range()
        start = max(start - integer(before, "how far before"), 0)
        end = min(end + integer(after, "how far after"), len(block) - 1)
        if start > end:
            raise InvalidCursorError(
                f"nothing is left of the block {self.describe()}, expanded by {before} and {after}"
            )
        return BlockCursor(self._version, block[start].id, block[end].id)

    def is_ancestor_of(self, other: Cursor) -> bool:
        """Whether the other place lies inside the block (or is it). The gaps between its statements are inside.

        Of cursors of two versions, the older one is forwarded first; raises `InvalidCursorError` if it cannot be.
        """
        from slinky.cursors.containment import lies_in

        return lies_in(self, other)


@attrs.frozen(repr=False)
class GapCursor(Cursor):
    """The place right before or right after a statement, its anchor."""

    _version: Version
    _id: int
    _is_before: bool

    def describe(self) -> str:
        side = "before" if self._is_before else "after"
        return f"{side}: {self.anchor().describe()}"

    def __str__(self) -> str:
        from slinky.cursors.display import show

        return show(self._version, set(), gap=(self._id, self._is_before))

    def anchor(self) -> StatementCursor:
        """The statement that it goes with."""
        return statement_cursor(self._version, self._id)

    def is_before(self) -> bool:
        """Whether it stands before its anchor."""
        return self._is_before

    def parent(self) -> StatementCursor | InvalidCursor:
        """The loop or `if` around it; an `InvalidCursor` outside of all."""
        return self.anchor().parent()

    def forward_to(self: T, version: Version) -> T:
        assert isinstance(self, GapCursor)
        self.anchor().forward_to(version)
        return type(self)(version, self._id, self._is_before)


# ----------------------------------------------------------------------------------------------------------------
# Dimensions and expressions
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen(repr=False)
class DimCursor(Cursor):
    """A dimension of a call: the loop that its callback runs inside."""

    _version: Version
    _id: int
    _dim: int

    def describe(self) -> str:
        return f"{self.call().name()}.{self.name()} of: {self.call().describe()}"

    def __str__(self) -> str:
        return f"{self.call()}\n(its dimension {self.name()})"

    def call(self) -> CallCursor:
        """The call."""
        return CallCursor(self._version, self._id)

    def parent(self) -> CallCursor:
        """The call."""
        return self.call()

    def name(self) -> str:
        """The name of the dimension."""
        call = self._version.entries[self._id].statement
        assert isinstance(call, Call)
        return call.func.dim_names()[self._dim]

    def position(self) -> int:
        """Which of the func's dimensions it is, from 0."""
        return self._dim

    def bounds(self) -> Interval:
        """The interval that the call computes."""
        return self.call().bounds(self._dim)

    def forward_to(self: T, version: Version) -> T:
        assert isinstance(self, DimCursor)
        if version is self._version:
            return self
        require_version(version).require_descent(self._version)
        if self._id not in version.entries:
            self.call().forward_to(version)
        return type(self)(version, self._id, self._dim)


@attrs.frozen(repr=False)
class ExprCursor(Cursor):
    """An expression of a statement, by the role that it plays there.

    Roles: `min`, `max`, `step` and, where it says them, `workers` of a loop; `condition` of an `if` or check; `y.min`
    and `y.max` of a call or alloc, `y.fold` and `y.stride` of an alloc, for a dimension y.
    """

    _version: Version
    _id: int
    _role: str

    def describe(self) -> str:
        return f"{self._role} = {self.text()} of: {self.parent().describe()}"

    def __str__(self) -> str:
        return f"{self.parent()}\n(its {self._role}: {self.text()})"

    def parent(self) -> StatementCursor:
        """The statement."""
        return statement_cursor(self._version, self._id)

    def role(self) -> str:
        """The role that it plays in the statement."""
        return self._role

    def text(self) -> str:
        """The expression as the program prints it."""
        return expression_text(self._version.program, self.value())

    def value(self) -> Expr | Condition:
        """The expression."""
        return roles(self._version.entries[self._id].statement)[self._role]

    def forward_to(self: T, version: Version) -> T:
        """Forwards while the statement is there and the expression has not been rewritten."""
        assert isinstance(self, ExprCursor)
        self.parent().forward_to(version)
        if roles(version.entries[self._id].statement).get(self._role) is not self.value():
            raise InvalidCursorError(f"the expression {self.describe()} was rewritten")
        return type(self)(version, self._id, self._role)
