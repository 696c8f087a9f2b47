"""What primitives have in common: new names, conditions that must hold, boxes within bounds."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping

from slinky.cursors.cursors import AllocCursor, LoopCursor, StatementCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import ROOT, Version
from slinky.errors import GraphError, OperationError, SchedulingError, cited
from slinky.graph.buffers import valid_name
from slinky.ir.copies import with_box
from slinky.ir.effects import buffers_named, dims_written, written_by
from slinky.ir.printer import dimension_names
from slinky.ir.sharing import host_of
from slinky.ir.statements import Alloc, Block, Call, For, Pass, Statement, blocks_of, walk
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.scopes import DEEPEST_NEST
from slinky.sched.legality.wholes import computes_part
from slinky.sched.remedies import Remedy, instead
from slinky.symbolic.bounds import simplify
from slinky.symbolic.explanations import brief
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    Max,
    Metadata,
    Min,
    Scalar,
    Variable,
    constant_value,
    is_integer,
    maximum,
    minimum,
    variable,
)
from slinky.symbolic.intervals import Box, Interval, intersection
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import quotients, symbols


def allocs_of(version: Version, call: Call) -> tuple[AllocCursor, ...]:
    """The allocations of a call's outputs, in program order; an output of the pipeline has none."""
    buffers = written_by(call)
    own = {alloc.id for buffer in buffers if (alloc := version.alloc_of(buffer, call.id)) is not None}
    return tuple(AllocCursor(version, i) for i in version.named(*(("alloc", buffer) for buffer in buffers)) if i in own)


def require_name(name: object, what: str) -> None:
    """Raise `OperationError` unless a graph could use this name."""
    try:
        valid_name(name, what)
    except GraphError as error:
        raise OperationError(str(error)) from None


def fresh_variable(version: Version, at: int, wanted: str, used: Expr) -> Variable:
    """A loop variable for a loop around or inside a statement: the name wanted, or that with a number.

    Names in `used`, an expression that the same rewrite brings in, are taken, too: its scalars may be new parameters.
    Raises `SchedulingError` if there are too many loops one in the other already.
    """
    return variable(_free_name(version, wanted, _names_taken(version, at, used)))


def free_name(version: Version, at: int, wanted: str, taken: Iterable[str] = ()) -> str:
    """A name for a buffer or func at a statement: the name wanted, or that with a number."""
    loops = {s.variable.name for s in walk(version.program.body) if isinstance(s, For)}
    return _free_name(version, wanted, loops | set(taken))


def named_variable(version: Version, at: int, name: str, used: Expr, *, free: str = "", taken: str = "") -> Variable:
    """A loop variable of exactly this name, given by the user, for a loop around or inside a statement.

    `free` is a name that the same rewrite gives up, and `taken` one that it gives to another loop. Raises
    `OperationError` if it is no name, `SchedulingError` if it means something already.
    """
    require_name(name, "a loop")
    found = _free_name(version, name, _names_taken(version, at, used) - {free} | {taken})
    if found != name:
        raise SchedulingError(
            f"the name {name!r} is taken here",
            hint=f"{found!r} is free",
            remedies=lambda: [Remedy("take a name that is free", change=lambda old: _renamed(old, name, found))],
        )
    return variable(name)


def _names_taken(version: Version, at: int, used: Expr) -> set[str]:
    """The names of the loops around and inside a statement, and of the scalars in an expression.

    Raises `SchedulingError` if there is no room for one more loop.
    """
    around, statement = version.loops_around(at), version.statement(at)
    inside = [s for s in walk((statement,)) if isinstance(s, For)]
    if len(around) + len(inside) >= DEEPEST_NEST and len(around) + _depth(statement) >= DEEPEST_NEST:
        raise SchedulingError(f"loops nest at most {DEEPEST_NEST} deep", place=statement_cursor(version, at))
    taken = {loop.variable.name for loop in (*around, *inside)}
    taken.update(s.name for s in symbols(used) if isinstance(s, Scalar))
    return taken


def _free_name(version: Version, wanted: str, taken: Container[str]) -> str:
    """A name that is not taken and means nothing in the program: the name wanted, or that with a number."""
    name, count = wanted, 1
    while name in taken or _means_something(version, name):
        name, count = f"{wanted}_{count}", count + 1
    return name


def numbered(wanted: str) -> Iterator[str]:
    """A name, and then that with a number, without end."""
    yield wanted
    for count in itertools.count(1):
        yield f"{wanted}_{count}"


def _means_something(version: Version, name: str) -> bool:
    """Whether a name stands for a parameter, an intermediate or a func."""
    return is_parameter_or_buffer(version, name) or ("call", name) in version.names()


def _depth(statement: Statement) -> int:
    """How many loops are nested in a statement, itself included."""
    deepest, waiting = 0, [(statement, 0)]
    while waiting:
        statement, depth = waiting.pop()
        depth += isinstance(statement, For)
        deepest = max(deepest, depth)
        waiting += [(inner, depth) for _, block in blocks_of(statement) for inner in block]
    return deepest


def _renamed(arguments: Mapping[str, object], name: str, free: str) -> dict[str, object]:
    """The arguments of a split with another name for a loop."""
    names = arguments.get("names")
    if isinstance(names, (tuple, list)):
        return {**arguments, "names": tuple(free if n == name else n for n in names)}
    return {**arguments, "names": free}


def require_levels(levels: int) -> None:
    """Raise `OperationError` unless a number of levels is an integer, 1 or more."""
    if not is_integer(levels) or levels < 1:
        raise OperationError(f"levels must be an integer, 1 or more, got {cited(levels)}")


def levels_around(place: StatementCursor, levels: int, what: str) -> list[int]:
    """So many loops and ifs around a statement that is to be lifted out of them, innermost first.

    Raises `SchedulingError` if there are fewer.
    """
    require_levels(levels)
    around = place._version.ancestors(place._id)
    if levels > len(around):
        there = "is 1" if len(around) == 1 else f"are {len(around)}"
        raise SchedulingError(
            f"{what} cannot be lifted out of {cited(levels)} loops; there {there} around it",
            place=place,
            remedies=lambda: [instead("lift it out of all of them", levels=len(around))] if around else [],
        )
    return around[:levels]


def buffers_used(block: Block) -> set[str]:
    """The buffers that statements name, those in whose memory others lie, too."""
    found = {name for statement in walk(block) for name in buffers_named(statement)}
    hosts = {host_of(statement) for statement in walk(block) if isinstance(statement, Alloc)}
    return found | {host for host in hosts if host is not None}


def is_parameter_or_buffer(version: Version, name: str) -> bool:
    """Whether a name stands for a parameter or an intermediate."""
    return version.has_parameter(name) or version.is_allocated(name)


def require_pieces(version: Version, call: Call, d: int) -> None:
    """Raise `SchedulingError` for a dimension of which a call cannot compute one piece after the other."""
    whole = {each for each, _ in call.func.whole}
    if d in whole:
        others = set(range(len(call.func.dims))) - whole
        raise computes_part(version, call, d, hint="split another dimension of it" if others else "")
    for buffer, dims in dims_written(call).items():
        if d not in dims:
            raise SchedulingError(
                f"output {buffer} of {call.func.name} has no dimension {call.func.dim_names()[d]}, so each piece would "
                f"have to compute all of it",
                place=statement_cursor(version, call.id),
            )


def require_positive(edit: Edit, value: Expr, what: str, known: Facts) -> None:
    """Make sure that a step or factor is at least 1: by proof, or by a check if it is made of scalars.

    What it divides by is made sure of first. Raises `SchedulingError` if it is shown not to be, or depends on a loop or
    on the bounds of arrays: a check would then refuse arrays that the pipeline takes. A number is what it is also where
    nothing runs, of which anything can be proved.
    """
    require_divisors(edit, value, what, known)
    number = constant_value(value)
    if prove(value >= 1, known) if number is None else number >= 1:
        return
    if number is not None or prove(value < 1, known):
        raise SchedulingError(f"{what} must be 1 or more, got {brief(value, dimension_names(edit.version.program))}")
    if not all(isinstance(s, Scalar) for s in symbols(value)):
        condition = Unproved(edit.version, value >= 1, known)
        raise SchedulingError(f"not shown that {what} is 1 or more", condition=condition, hint="sl.maximum(..., 1) is")
    edit.add_check(value >= 1, f"{what} must be 1 or more")


def require_divisors(edit: Edit, value: Expr | Condition, what: str, known: Facts) -> None:
    """Make sure that what an expression given by the user divides by is at least 1, as `require_positive` does."""
    for quotient in sorted(quotients(value), key=str):
        require_positive(edit, quotient.denominator, f"what {what} divides by", known)


def require_workers(edit: Edit, workers: Expr, loop: LoopCursor) -> None:
    """Make sure that a number of threads is known where a loop is entered, and 1 or more."""
    count, what, version = constant_value(workers), "the number of workers", edit.version
    if count is not None and count < 1:
        raise OperationError(f"workers must be an integer, 1 or more, got {count}")
    require_known_symbols(version, workers, what, version.loops_around(loop._id))
    edit.add_scalars(symbols(workers))
    require_positive(edit, workers, what, version.facts_at(loop._id))


def delete_with_idle_blocks(edit: Edit, identity: int, note: str, keep: int = ROOT) -> None:
    """Delete a statement, and the loops and ifs around it that have nothing else to do; `note` says why it ended.

    Buffers that are allocated in what ends go with it. `keep` stays in any case.
    """
    while True:
        parent = edit.entries[identity].parent
        edit.delete(identity, note)
        if parent in (ROOT, keep) or not is_idle(edit.statement(parent)):
            return
        identity = parent


def is_idle(statement: Statement) -> bool:
    """Whether a loop or an `if` has nothing to do but `pass` and allocate."""
    blocks = blocks_of(statement)
    return bool(blocks) and all(isinstance(s, (Pass, Alloc)) for _, block in blocks for s in block)


def require_known_symbols(version: Version, value: Expr | Condition, what: str, loops: Iterable[For] = ()) -> None:
    """Check that an expression given by the user speaks of parameters, and of these loops, only.

    Raises `OperationError` naming the first symbol that is neither, or a new scalar whose name means something else.
    """
    used = symbols(value)
    if not used:
        return
    variables = {loop.variable for loop in loops}
    scalars = {p.name for p in version.program.scalars}
    ranks = {p.name: p.rank for p in (*version.program.inputs, *version.program.outputs)}
    for symbol in sorted(used, key=str):
        if isinstance(symbol, Metadata):
            if symbol.dim >= ranks.get(symbol.buffer, 0):
                raise OperationError(f"{what} names {symbol}, which is no dimension of an input or output")
        elif not isinstance(symbol, Scalar) and symbol not in variables:
            raise OperationError(f"{what} names {symbol}, which is no scalar and no enclosing loop; use sl.scalar")
        elif isinstance(symbol, Scalar) and symbol.name not in scalars:
            loop_names = {s.variable.name for s in walk(version.program.body) if isinstance(s, For)}
            if symbol.name in loop_names or is_parameter_or_buffer(version, symbol.name):
                raise OperationError(f"{what} names the scalar {symbol}, but the program calls something else that")


def within(i: Interval, limit: Interval, known: Facts) -> Interval:
    """The part of an interval that lies in a limit, without clamps that are shown to do nothing."""
    lo = i.min if prove(limit.min <= i.min, known) else intersection(i, limit).min
    hi = i.max if prove(i.max <= limit.max, known) else intersection(i, limit).max
    if prove(i.min <= limit.min, known):
        lo = limit.min
    if prove(limit.max <= i.max, known):
        hi = limit.max
    return Interval(lo, hi)


def in_words_of(limit: Interval, i: Interval, known: Facts) -> Interval:
    """An interval that is clamped to a limit anyway, in the words of the limit where it reaches as far: without choices
    that lie beyond."""
    lows = i.min.operands if isinstance(i.min, Max) else (i.min,)
    highs = i.max.operands if isinstance(i.max, Min) else (i.max,)
    lows = tuple(e for e in lows if not prove(e <= limit.min, known))
    highs = tuple(e for e in highs if not prove(limit.max <= e, known))
    return Interval(maximum(*lows) if lows else limit.min, minimum(*highs) if highs else limit.max)


def keep_clamped(edit: Edit, identity: int, alloc: Alloc, grown: Box) -> None:
    """Write the clamps of a call that the bounds of its output implied, where the grown bounds do not imply them."""
    version, call = edit.version, edit.statement(identity)
    assert isinstance(call, Call)
    known = version.facts_at(identity)
    box = list(call.box)
    for position, d in enumerate(dims_written(call)[alloc.buffer]):
        i, bound, wide = box[d], alloc.box[position], grown[position]
        clamped = intersection(i, bound)
        lo = i.min if prove(clamped.min <= maximum(i.min, wide.min), known) else clamped.min
        hi = i.max if prove(intersection(i, wide).max <= clamped.max, known) else clamped.max
        box[d] = Interval(simplify(lo, known), simplify(hi, known))
    edit.update(with_box(call, tuple(box)))


def at_least_one(factor: Expr, known: Facts) -> Expr:
    """A fold factor, at least 1 wherever the facts hold."""
    return factor if prove(factor >= 1, known) else maximum(factor, 1)


def is_one(value: Expr) -> bool:
    """Whether an expression is the constant 1."""
    return constant_value(value) == 1
