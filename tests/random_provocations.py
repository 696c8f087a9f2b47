"""Refusals, provoked: primitives with arguments drawn carelessly around something that rewrites must take care of.

Idea. A random schedule seldom meets what a primitive refuses only where buffers are folded, share memory or lie in
blocks, or where loops are parallel or pipelined. So a chain makes such a thing now and then (`STRUCTURES`), and tries
many primitives (`ATTEMPTS`) on the statements around it, with numbers, names and places that need not make sense.
What is accepted all the same is a rewrite like any other: it is judged, and the chain goes on from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from random_chains import AnyChain, NothingToDoError, Primitive
from random_preparations import in_blocks, in_memory, specialize_in_a_loop, statements_around

import slinky as sl
from slinky.ir.families import original
from slinky.ir.operations import Accumulation, Copy, Nested
from slinky.symbolic.expressions import constant_value

TRIED = 18
"""So many primitives are tried in a row."""

BESIEGED = 32
"""So many are tried from one program."""

LONGEST = 45
"""Programs of more lines are left alone: they grow while they are tried."""


class Around:
    """Arguments drawn from the statements of a chain's pipeline, most often from those near some of them."""

    def __init__(self, chain: AnyChain, near: Sequence[Any]) -> None:
        self.chain, self.p, self.choose = chain, chain.pipeline, chain.choose
        self._near = near

    def any(self, pattern: str) -> Any:
        """A statement that matches a pattern."""
        found = self.p.find_all(pattern)
        near = [each for each in self._near if each in found]
        if near and self.choose([True, True, True, False]):
            return self.choose(near)
        if not found:
            raise NothingToDoError
        return self.choose(found)

    def call(self) -> Any:
        return self.any("_ = _")

    def loop(self) -> Any:
        return self.any("for _")

    def loop_around(self, statement: Any) -> Any:
        """A loop around a statement, or any other."""
        around = [each for each in statements_around(statement) if isinstance(each, sl.LoopCursor)]
        return self.choose(around) if around and self.choose([True, True, True, False]) else self.loop()

    def alloc(self) -> Any:
        return self.any("alloc _")

    def dim(self) -> Any:
        """A dimension of a call."""
        dims = self.call().dims()
        if not dims:
            raise NothingToDoError
        return self.choose(dims)

    def alloc_and_dim(self) -> tuple[Any, int]:
        alloc = self.alloc()
        if not alloc.rank():
            raise NothingToDoError
        return alloc, self.choose(range(alloc.rank()))

    def statement(self) -> Any:
        return self.any(self.choose(["_ = _", "_ = _", "for _", "alloc _", "check _", "if _"]))

    def block(self) -> Any:
        """Some statements in a row."""
        statement = self.statement()
        more = 0
        while statement.next(more + 1) and more < 4:
            more += 1
        return statement.expand(after=self.choose(range(more + 1)))

    def expr(self) -> Any:
        """An end of what something computes, or not far from it."""
        place = self.any(self.choose(["_ = _", "for _", "alloc _"]))
        intervals = (place.bounds(),) if isinstance(place, sl.LoopCursor) else place.bounds()
        if not intervals:
            raise NothingToDoError
        i = self.choose(intervals)
        return self.choose([i.min, i.max]) + self.choose([-3, -1, 0, 1, 2])

    def remainder(self) -> Any:
        """What is left of something when it is divided, perhaps by what may be nothing."""
        by = self.choose([2, self.expr()])
        return self.expr() % (by if constant_value(sl.maximum(by, 0)) != 0 else 2)

    def factor(self) -> Any:
        """A number of iterations or elements; seldom one that there can be."""
        return self.choose([1, 2, 2, 3, 4, 0, -1, self.expr()])

    def buffer(self) -> str:
        """The name of a buffer that a call uses."""
        call = self.call()
        names = (*call.inputs(), *call.outputs())
        if not names:
            raise NothingToDoError
        return str(self.choose(names))

    def fresh(self) -> str:
        """A name that nothing has."""
        return f"inner_{len(self.chain.applied)}"

    def fused(self) -> tuple[Any, Any, str]:
        """Two calls for which a fused func is declared, or is not."""
        calls = self.p.find_all("_ = _")
        declared = [(each.fused.first, b, each.name) for b in calls for each in original(b._call.func).fusions
                    if each.fused is not None]  # fmt: skip
        if not declared:
            return self.call(), self.call(), "both"
        func, second, name = self.choose(declared)
        first = [call for call in calls if original(call._call.func) is func]
        return self.choose(first) if first else self.call(), second, name


Attempt = Callable[[Around], sl.Pipeline]


TAILS = ("clamp", "cut", "shift", "perfect")


def _of_a_reduction(a: Around) -> tuple[Any, str, Any]:
    declared = [c for c in a.p.find_all("_ = _") if c._call.func.reduction is not None]
    call = a.choose(declared) if declared and a.choose([True, True, False]) else a.call()
    own = call._call.func.reduction
    names = [] if own is None else [name for name, _ in own.over]
    return call, a.choose([*names, *names, *names, "another"]), a.factor()


def _neighbours(a: Around) -> tuple[Any, Any]:
    """A loop and the one behind it, or any two."""
    loops = a.p.find_all("for _")
    pairs = [(loop, loop.next()) for loop in loops if isinstance(loop.next(), sl.LoopCursor)]
    return a.choose(pairs) if pairs and a.choose([True, True, False]) else (a.loop(), a.loop())


def _pair(a: Around) -> Any:
    """A statement and the next one, now and then another one."""
    statement = a.statement()
    return statement.expand(after=1) if statement.next() else statement.as_block()


def _of_one_func(a: Around) -> tuple[Any, Any]:
    """Two calls, mostly of one func."""
    call = a.call()
    alike = [c for c in a.p.find_all("_ = _") if c.func() == call.func() and c != call]
    return call, a.choose(alike) if alike and a.choose([True, True, False]) else a.call()


def _gap(a: Around) -> Any:
    statement = a.statement()
    return a.choose([statement.before(), statement.after()])


def _nested(a: Around) -> Any:
    calls = [c for c in a.p.find_all("_ = _") if isinstance(c._call.func.operation, Nested)]
    return a.choose(calls) if calls and a.choose([True, True, False]) else a.call()


def _call_and_loop(a: Around) -> tuple[Any, Any]:
    call = a.call()
    return call, a.loop_around(call)


def _alloc_and_loop(a: Around) -> tuple[Any, Any]:
    alloc = a.alloc()
    users = [c for c in a.p.find_all("_ = _") if alloc.name() in (*c.inputs(), *c.outputs())]
    return alloc, a.loop_around(a.choose(users)) if users else a.loop()


def _stages(a: Around, loop: Any) -> Any:
    body = list(loop.body())
    other = a.statement()
    return a.choose([None, None, body, body[::-1], [s for s in body if a.choose([True, False])], [other]])


def _pipeline_loop(a: Around) -> sl.Pipeline:
    loop = a.loop()
    return sl.pipeline_loop(a.p, loop, _stages(a, loop), a.choose([None, 1, 2, 3]), a.choose([None, 2]))


def _assume_shape(a: Around) -> sl.Pipeline:
    """The size that an output has, and then another one along the same dimension."""
    name, box = a.choose(sorted(a.chain.shapes.items()) or [("", ())])
    if not box:
        raise NothingToDoError
    d, none = a.choose(range(len(box))), (None,) * len(box)
    sizes = [{name: (*none[:d], size, *none[d + 1 :])} for size in (box[d], box[d].extent + a.choose([1, 3]))]
    p = a.chain.take("assume_shape", sl.assume_shape(a.p, **sizes[0]))
    return sl.assume_shape(p, **sizes[1])


def _interval(a: Around, alloc: Any, d: int) -> Any:
    i = alloc.bounds()[d]
    return a.choose([sl.interval(i.min + 1, i.max), sl.interval(i.min, i.max - 1), sl.interval(a.expr(), a.expr())])


def _resize_dim(a: Around) -> sl.Pipeline:
    alloc, d = a.alloc_and_dim()
    return sl.resize_dim(a.p, alloc, d, _interval(a, alloc, d))


def _specialize(a: Around) -> sl.Pipeline:
    return sl.specialize(a.p, a.block(), a.choose([a.expr() <= a.expr(), a.expr() <= 3, a.remainder() <= 0]))


def _stage_buffer(a: Around) -> sl.Pipeline:
    block, name = a.block(), a.buffer()
    return sl.stage_buffer(a.p, block, name)


def _set_layout(a: Around) -> sl.Pipeline:
    alloc = a.alloc()
    order = [*range(alloc.rank())][:: a.choose([1, -1])]
    strides = a.choose([None, [8] * len(order), [a.expr() for _ in order]])
    return sl.set_layout(a.p, alloc, order, strides=strides, alignment=a.choose([1, 64]))


ATTEMPTS: dict[str, Attempt] = {
    "split_loop of a dimension": lambda a: sl.split_loop(a.p, a.dim(), a.factor(), tail=a.choose(TAILS)),
    "split_loop of a loop": lambda a: sl.split_loop(
        a.p, a.loop(), a.factor(), tail=a.choose(TAILS), names=a.choose([None, None, ["x", "x_1"]])
    ),
    "reorder_loops": lambda a: sl.reorder_loops(a.p, a.loop()),
    "cut_loop": lambda a: sl.cut_loop(a.p, a.loop(), a.expr()),
    "fuse_loops": lambda a: sl.fuse_loops(a.p, *_neighbours(a)),
    "fission_loop": lambda a: sl.fission_loop(a.p, _gap(a), a.choose([1, 1, 2, 3])),
    "unroll_loop": lambda a: sl.unroll_loop(a.p, a.loop()),
    "vectorize": lambda a: sl.vectorize(a.p, a.choose([a.loop, a.dim])(), a.choose([2, 4])),
    "remove_loop": lambda a: sl.remove_loop(a.p, a.loop()),
    "serialize_loop": lambda a: sl.serialize_loop(a.p, a.loop()),
    "parallelize_loop": lambda a: sl.parallelize_loop(a.p, a.loop(), a.choose([None, 2])),
    "pipeline_loop": _pipeline_loop,
    "prefetch": lambda a: sl.prefetch(a.p, *_call_and_loop(a), a.choose([1, 2])),
    "absorb_loop": lambda a: sl.absorb_loop(a.p, a.loop()),
    "lift_call": lambda a: sl.lift_call(a.p, a.call(), a.choose([1, 1, 2])),
    "compute_once": lambda a: sl.compute_once(a.p, *_call_and_loop(a)),
    "compute_at": lambda a: sl.compute_at(a.p, a.call(), a.loop()),
    "compute_root": lambda a: sl.compute_root(a.p, a.call()),
    "slide_window": lambda a: sl.slide_window(a.p, *_call_and_loop(a), warmup=a.choose(["earlier", "first"])),
    "unslide_window": lambda a: sl.unslide_window(a.p, *_call_and_loop(a)),
    "assume_shape": _assume_shape,
    "lift_if": lambda a: sl.lift_if(a.p, a.any("if _")),
    "specialize": _specialize,
    "cut_call": lambda a: sl.cut_call(a.p, a.dim(), a.expr()),
    "split_reduction": lambda a: sl.split_reduction(a.p, *_of_a_reduction(a)),
    "split_reduction_in_parts": lambda a: sl.split_reduction_in_parts(a.p, *_of_a_reduction(a), a.factor()),
    "extract_pipeline": lambda a: sl.extract_pipeline(a.p, a.block(), a.choose([a.call().func(), a.fresh()])),
    "inline_pipeline": lambda a: sl.inline_pipeline(a.p, _nested(a)),
    "clone_call": lambda a: sl.clone_call(a.p, a.call(), a.call()),
    "share_calls": lambda a: sl.share_calls(a.p, *_of_one_func(a)),
    "remove_call": lambda a: sl.remove_call(a.p, a.call()),
    "choose_variant": lambda a: sl.choose_variant(a.p, a.call(), a.choose(["again", "turned", "another"])),
    "fuse_calls": lambda a: sl.fuse_calls(a.p, *a.fused()),
    "stage_buffer": _stage_buffer,
    "split_boundary": lambda a: sl.split_boundary(a.p, a.call()),
    "alias_copy": lambda a: sl.alias_copy(a.p, a.call()),
    "fold_storage": lambda a: sl.fold_storage(a.p, *a.alloc_and_dim(), a.choose([None, a.factor()])),
    "unfold_storage": lambda a: sl.unfold_storage(a.p, *a.alloc_and_dim()),
    "store_at": lambda a: sl.store_at(a.p, *_alloc_and_loop(a)),
    "lift_alloc": lambda a: sl.lift_alloc(a.p, a.alloc(), a.choose([1, 1, 2])),
    "resize_dim": _resize_dim,
    "align_dim": lambda a: sl.align_dim(a.p, *a.alloc_and_dim(), a.factor(), a.choose([None, 0])),
    "set_layout": _set_layout,
    "divide_dim": lambda a: sl.divide_dim(a.p, *a.alloc_and_dim(), a.choose([1, 2, 3, 4])),
    "merge_dims": lambda a: sl.merge_dims(a.p, *a.alloc_and_dim()),
    "unroll_buffer": lambda a: sl.unroll_buffer(a.p, *a.alloc_and_dim()),
    "reorder_statements": lambda a: sl.reorder_statements(a.p, _pair(a)),
    "compute_in_place": lambda a: sl.compute_in_place(a.p, a.call(), a.choose([None, a.buffer()])),
    "reuse_buffer": lambda a: sl.reuse_buffer(a.p, a.alloc(), a.alloc()),
}
"""Each primitive with arguments that need not make sense."""


def _allocs(has: Callable[[Any], bool]) -> Callable[[sl.Pipeline], list[Any]]:
    return lambda p: [alloc for alloc in p.find_all("alloc _") if has(alloc)]


def _loops(has: Callable[[Any], bool]) -> Callable[[sl.Pipeline], list[Any]]:
    return lambda p: [loop for loop in p.find_all("for _") if has(loop)]


def _calls(kind: type[Any]) -> Callable[[sl.Pipeline], list[Any]]:
    return lambda p: [call for call in p.find_all("_ = _") if isinstance(call._call.func.operation, kind)]


STRUCTURES: dict[str, tuple[Callable[[sl.Pipeline], list[Any]], tuple[str | Primitive, ...]]] = {
    "a fold": (_allocs(lambda a: any(fold is not None for fold in a.storage())), ("slide_window", "fold_storage")),
    "shared memory": (_allocs(lambda a: a.host() is not None), ("reuse_buffer", "compute_in_place")),
    "blocks": (_allocs(lambda a: any(n is not None for n in a.blocks())), (in_blocks,)),
    "a layout": (_allocs(lambda a: a._alloc.layout is not None), (in_memory,)),
    "a parallel loop": (_loops(lambda loop: loop.workers() is not None), ("parallelize_loop",)),
    "a pipelined loop": (_loops(lambda loop: len(loop.stages()) > 1), ("pipeline_loop", "prefetch")),
    "a pipeline in a call": (_calls(Nested), ("extract_pipeline",)),
    "a reduction in pieces": (_calls(Accumulation), ("split_reduction",)),
    "a copy": (_calls(Copy), ("stage_buffer",)),
    "an if": (lambda p: p.find_all("if _"), (specialize_in_a_loop,)),
    "a loop": (lambda p: p.find_all("for _"), ("compute_at",)),
    "anything": (lambda p: [*p.find_all("_ = _"), *p.find_all("for _"), *p.find_all("alloc _")], ()),
}
"""What rewrites must take care of: where it is, and what makes it."""


def near(p: sl.Pipeline, place: Any) -> list[Any]:
    """The statements that have to do with one: those that use the same buffers, what is around it and in it."""
    calls, allocs = p.find_all("_ = _"), p.find_all("alloc _")
    inside = [place] if not isinstance(place, sl.LoopCursor) else []
    inside += [each for each in (*calls, *allocs, *p.find_all("for _")) if place.is_ancestor_of(each)]
    names = {a.name() for a in inside if isinstance(a, sl.AllocCursor)}
    names |= {name for c in inside if isinstance(c, sl.CallCursor) for name in (*c.inputs(), *c.outputs())}
    users = [c for c in calls if names.intersection((*c.inputs(), *c.outputs()))]
    around = [each for statement in (*inside, *users) for each in statements_around(statement)]
    return [place, *inside, *users, *around, *(a for a in allocs if a.name() in names)]


def provoke(chain: AnyChain) -> None:
    """Try many primitives around something that they must take care of, which is made before if there is none."""
    if chain.length() > LONGEST:
        return
    kind = chain.choose([*STRUCTURES])
    find, before = STRUCTURES[kind]
    for each in before:
        if not find(chain.pipeline):
            chain.prepare(each)
    for _ in range(TRIED):
        places = find(chain.pipeline)
        if not places or chain.length() > LONGEST:
            break
        around = near(chain.pipeline, chain.choose(places))
        _try(chain, chain.choose([*ATTEMPTS]), around)


def _try(chain: AnyChain, name: str, around: list[Any]) -> None:
    def attempt(chain: AnyChain) -> sl.Pipeline:
        try:
            return ATTEMPTS[name](Around(chain, around))
        except sl.OperationError as error:  # what no program makes sense of
            raise NothingToDoError from error

    with contextlib.suppress(NothingToDoError):
        chain.apply(name, attempt)


def besiege(chain: AnyChain) -> None:
    """The same, each time from where the chain is: so what they must take care of is still there for the next one."""
    if chain.length() > LONGEST:
        return
    kind = chain.choose([*STRUCTURES])
    find, before = STRUCTURES[kind]
    inside = chain.aside()
    for each in before:
        if not find(inside.pipeline):
            inside.prepare(each)
    for _ in range(BESIEGED):
        places = find(inside.pipeline)
        if not places or inside.length() > LONGEST:
            break
        around = near(inside.pipeline, inside.choose(places))
        _try(inside.aside(), inside.choose([*ATTEMPTS]), around)
