"""Places that situations are made at: what a step needs of the program of a chain, found there or made first.

Each takes the chain further, one rewrite after the other, and gives cursors into the program that it ends in. Where
there is no place, it raises `NothingToDoError`; what is refused on the way is refused as ever.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from random_chains import AnyChain, NothingToDoError, forwarded
from random_preparations import statements_around

import slinky as sl
from slinky.errors import SchedulingError
from slinky.ir.families import original
from slinky.symbolic.expressions import constant_value

T = TypeVar("T")


def one_of(chain: AnyChain, places: Sequence[T]) -> T:
    """One of some places, if there are any."""
    if not places:
        raise NothingToDoError
    return chain.choose(places)


def calls(p: sl.Pipeline) -> list[sl.CallCursor]:
    return p.find_all("_ = _")


def own_buffers(p: sl.Pipeline) -> set[str]:
    """The intermediates, by name."""
    return {alloc.name() for alloc in p.find_all("alloc _")}


def uses(p: sl.Pipeline, name: str) -> list[sl.CallCursor]:
    """The calls that read or write a buffer of this name."""
    return [c for c in calls(p) if name in (*c.inputs(), *c.outputs())]


def readers(p: sl.Pipeline, call: sl.CallCursor) -> list[sl.CallCursor]:
    """The calls that read what a call writes."""
    return [c for c in calls(p) if set(call.outputs()) & set(c.inputs())]


Pair: TypeAlias = "tuple[sl.CallCursor, sl.CallCursor]"


def pairs_outside(p: sl.Pipeline) -> list[Pair]:
    """The producers of intermediates that have one reader, with that one: both in no loop."""
    own, found = own_buffers(p), []
    for producer in calls(p):
        among = readers(p, producer)
        if own.issuperset(producer.outputs()) and len(among) == 1 and not producer.parent() and not among[0].parent():
            found.append((producer, among[0]))
    return found


Fusion: TypeAlias = "tuple[sl.CallCursor, sl.CallCursor, str]"


def declared_fusions(p: sl.Pipeline) -> list[Fusion]:
    """Two calls for which a fused func is declared, with its name."""
    return [
        (first, second, fusion.name)
        for second in calls(p)
        for fusion in original(second._call.func).fusions
        for first in calls(p)
        if fusion.fused is not None and fusion.fused.first is original(first._call.func)
    ]


def fusable(p: sl.Pipeline) -> list[Fusion]:
    """The same, where the first one reads an intermediate."""
    own = own_buffers(p)
    return [each for each in declared_fusions(p) if own.intersection(each[0].inputs())]


@dataclass(frozen=True)
class Shared:
    """A loop in which a reader computes a piece, and a producer what that needs: both right in its body."""

    loop: sl.LoopCursor
    producer: sl.CallCursor
    reader: sl.CallCursor

    def alloc(self, p: sl.Pipeline) -> sl.AllocCursor:
        """Where the buffer between the two is allocated."""
        (name, *_) = self.producer.outputs()
        return p.find(f"alloc {name}")


def now(chain: AnyChain, cursor: T) -> T:
    """A cursor in the program as it is."""
    found, _ = forwarded(chain.pipeline, cursor)  # type: ignore[arg-type]
    if found is None:
        raise NothingToDoError
    return found  # type: ignore[return-value]


def shared_loop(chain: AnyChain, factors: Sequence[int] = (1, 1, 2, 3), *, slides: bool | None = None) -> Shared:
    """A loop that a reader and its producer stand in: found, or made of a reader that is in no loop.

    `slides` asks for a producer that computes what is new alone, or all that is needed; None for any.
    """
    p = chain.pipeline
    pairs = [(producer, reader, d) for producer, reader in pairs_outside(p) for d, _ in enumerate(reader.dims())]
    producer, reader, d = one_of(chain, pairs)
    p, made = sl.split_loop(p, reader.dims()[d], chain.choose(factors), rc=True)
    chain.take("split_loop of a dimension", p)
    p, at = sl.compute_at(p, producer, made.outer, rc=True)
    chain.take("compute_at", p)
    found = Shared(now(chain, made.outer), now(chain, at.call), now(chain, reader))
    if slides or (slides is None and chain.choose([True, False])):
        slide(chain, found)
    return Shared(now(chain, found.loop), now(chain, found.producer), now(chain, found.reader))


def slide(chain: AnyChain, shared: Shared) -> bool:
    """Let the producer of a loop compute what is new alone, if it can; whether it does."""
    for warmup in ("earlier", "first"):
        with contextlib.suppress(SchedulingError):
            p = sl.slide_window(chain.pipeline, shared.producer, shared.loop, warmup=warmup)
            chain.take("slide_window", p)
            chain.slid.append((shared.producer, shared.loop))
            return True
    return False


def staged_loop(chain: AnyChain) -> Shared:
    """A loop whose producer and reader run in stages that overlap."""
    shared = shared_loop(chain, slides=True)
    depth = chain.choose([None, None, 2, 3])
    chain.take("pipeline_loop", sl.pipeline_loop(chain.pipeline, shared.loop, None, depth, chain.choose([None, 2])))
    return Shared(now(chain, shared.loop), now(chain, shared.producer), now(chain, shared.reader))


def finish(chain: AnyChain, edit: Any) -> sl.Pipeline:
    """Go on from what edits by hand end in. Where they are refused, there is no place: they are no primitive."""
    try:
        return chain.go_on(edit.finish())
    except SchedulingError as error:
        raise NothingToDoError from error


def loops_around(statement: Any) -> list[Any]:
    """The loops around a statement, innermost first."""
    return [each for each in statements_around(statement) if isinstance(each, sl.LoopCursor)]


def long_dims(call: sl.CallCursor) -> list[sl.DimCursor]:
    """The dimensions of which a call may compute several coordinates."""
    return [dim for dim in call.dims() if constant_value(dim.bounds().extent) != 1]
