"""What every plan tree keeps to, whatever program it is of (see `slinky.runtime.plan_tree`). `conftest` checks all that
the tests make."""

from __future__ import annotations

from slinky.runtime.codegen.uses import names_assigned
from slinky.runtime.plan_tree import (
    Assign,
    At,
    Boolean,
    Choice,
    Comparison,
    Conjunction,
    Crop,
    Disjunction,
    Extents,
    Fetch,
    FetchWithin,
    GiveArena,
    Greatest,
    Guard,
    Integer,
    IsContiguous,
    LaidBytes,
    Least,
    Linear,
    Located,
    Loop,
    Name,
    Nest,
    ParallelLoop,
    PlanTree,
    Portion,
    Quotient,
    Range,
    ReadOnly,
    RecordAllocation,
    RecordBlock,
    RecordCall,
    RecordFree,
    Remainder,
    Reserve,
    Rows,
    Run,
    Sealed,
    Seen,
    Span,
    StagedLoop,
    Step,
    Steps,
    Stop,
    Stride,
    TakeArena,
    Times,
    Unpack,
    Value,
    Window,
)

NUMBER, TRUTH, ARRAY, RING, SITE, RING_SITE, ARENA, IDLE, RANGE, RECORDER, BLOCK, GIVEN = (
    "number", "truth", "array", "ring", "site", "site of a ring", "arena", "idle arenas", "range", "recorder", "block",
    "given",
)  # fmt: skip


def check_tree(tree: PlanTree) -> None:
    """Fail unless a tree keeps to the invariants of all trees."""
    _Checker(tree).check()


class _Checker:
    """Walks a tree in the order in which it runs. `known` says what the names that have values here stand for."""

    def __init__(self, tree: PlanTree) -> None:
        self.tree = tree
        self.known: dict[str, str] = {}
        self.taken: set[str] = set()
        self.variables: set[str] = set()
        for name in tree.objects:
            self.bind(name, GIVEN)
        for name in tree.arenas:
            self.bind(name, IDLE)
        for name in tree.parameters:
            self.bind(name, GIVEN)
        if tree.again is not None:
            self.bind(tree.again.name, GIVEN)
            for name in tree.again.parameters:
                self.bind(name, GIVEN)

    def check(self) -> None:
        tree = self.tree
        assert set(tree.callbacks) <= set(tree.objects)
        steps = tree.body
        if tree.again is not None:
            assert not any(
                isinstance(s, (Guard, Loop, ParallelLoop, StagedLoop, Run, RecordBlock, RecordCall)) for s in tree.body
            )
            steps = (*tree.body, *tree.again.body)
        # The function's arena is there from the beginning: it reserves all that its sites need, at once.
        self.reserves(steps, tree.parameters[0], len(tree.sites))
        self.block(steps)

    # Names --------------------------------------------------------------------------------------------------------

    def bind(self, name: str, what: str) -> None:
        assert name.isidentifier()
        assert name not in self.taken, f"{name} is bound twice"
        self.taken.add(name)
        self.known[name] = what

    def use(self, name: Name, *kinds: str) -> str:
        assert name.text in self.known, f"{name.text} is used where it has no value"
        what = self.known[name.text]
        assert not kinds or what == GIVEN or what in kinds, f"{name.text} is a {what}, not one of {kinds}"
        return what

    # Steps --------------------------------------------------------------------------------------------------------

    def block(self, steps: Steps, variable: str | None = None) -> None:
        """Steps whose names have values only here; a loop's variable may be that of another loop, not around it."""
        before = set(self.known)
        if variable is not None:
            assert variable not in self.known
            assert variable not in self.taken or variable in self.variables
            self.variables.add(variable)
            self.taken.add(variable)
            self.known[variable] = NUMBER
        for step in steps:
            self.step(step)
        for name in [name for name in self.known if name not in before]:
            del self.known[name]

    def step(self, step: Step) -> None:
        match step:
            case Assign(name=name, value=value):
                self.bind(name, self.value(value))
            case Unpack(names=names, value=value):
                self.value(value)
                for name in names:
                    self.bind(name, NUMBER)
            case Stop(condition=condition):
                self.truth(condition)
            case Guard(condition=condition, body=body, orelse=orelse):
                self.truth(condition)
                self.block(body)
                self.block(orelse)
            case Loop(variable=variable, iterations=iterations, body=body, function=function, beside=beside):
                assert self.value(iterations) == RANGE
                assert body
                assert not (function and beside)
                for name, windows in beside:
                    assert self.use(windows.ring) == RING
                    self.numbers(windows.first, windows.count, windows.step, windows.start)
                    self.bind(name, ARRAY)
                if function is not None:
                    self.bind(function, GIVEN)
                self.block(body, variable)
            case ParallelLoop(variable=variable, iterations=iterations, body=body, function=function, workers=workers):
                assert self.value(iterations) == RANGE
                self.number(workers)
                self.bind(function, GIVEN)
                self.iteration(body)
                self.block(body, variable)
            case StagedLoop(variable=variable, iterations=iterations, stages=stages, depth=depth, workers=workers):
                assert self.value(iterations) == RANGE
                self.number(workers)
                assert depth >= 1
                assert stages
                for stage in stages:
                    self.bind(stage.function, GIVEN)
                    self.iteration(stage.body)
                    self.block(stage.body, variable)
            case TakeArena(arena=arena, idle=idle):
                self.use(idle, IDLE)
                self.bind(arena, ARENA)
            case GiveArena(idle=idle, arena=given):
                self.use(idle, IDLE)
                self.use(given, ARENA)
            case Reserve(arena=arena, heap=heap, rings=rings):
                self.use(arena, ARENA)
                for room in heap:
                    for condition in room.conditions:
                        self.truth(condition)
                    if room.bytes is not None:
                        self.number(room.bytes)
                for room in heap:
                    self.bind(room.site, SITE)
                for ring in rings:
                    self.bind(ring, RING_SITE)
            case Fetch(site=site, extents=extents, folds=folds):
                assert self.use(site) == (RING_SITE if folds else SITE)
                self.numbers(*extents, *folds)
                for bound in names_assigned(step):
                    self.bind(bound, RING if folds else ARRAY)
            case FetchWithin(part=part, is_contiguous=is_contiguous, site=site, extents=extents):
                assert self.use(site) == SITE
                self.use(part, ARRAY)
                self.use(is_contiguous, TRUTH)
                self.numbers(*extents)
                for bound in names_assigned(step):
                    self.bind(bound, ARRAY)
            case Run(callback=callback, inputs=inputs, outputs=outputs, arguments=arguments):
                assert callback.text in self.tree.callbacks
                assert outputs
                for operand in (*inputs, *outputs):
                    self.array(operand)
                for _, value in arguments:
                    self.value(value)
            case Nest(function=function, arguments=arguments, body=body):
                self.use(function)
                for argument in arguments:
                    self.value(argument)
                self.block(body)
            case RecordBlock(recorder=recorder, name=name, body=body):
                self.use(recorder, RECORDER)
                self.bind(name, BLOCK)
                self.frees(body, name)
                self.block(body)
            case RecordAllocation(block=block, bytes=size):
                self.use(block, BLOCK)
                self.number(size)
            case RecordFree(block=block):
                self.use(block, BLOCK)
            case RecordCall(recorder=recorder, box=box, body=body):
                self.use(recorder, RECORDER)
                self.numbers(*(end for span in box for end in span))
                assert sum(isinstance(s, Run) for s in body) == 1
                self.block(body)
            case _:
                raise AssertionError(f"no step: {step}")

    def reserves(self, steps: Steps, arena: str, sites: int) -> None:
        """All sites of an arena are reserved, by a step of this block."""
        found = [s for s in steps if isinstance(s, Reserve) and s.arena.text == arena]
        assert len(found) == (sites > 0)
        assert sum(len(s.heap) + len(s.rings) for s in found) == sites

    def iteration(self, steps: Steps) -> None:
        """An iteration takes its arena once, first, and gives it back last; or it has none."""
        takes = [n for n, s in enumerate(steps) if isinstance(s, TakeArena)]
        gives = [n for n, s in enumerate(steps) if isinstance(s, GiveArena)]
        if not takes:
            assert not gives
            return
        (first,), (last,) = takes, gives
        take, give = steps[first], steps[last]
        assert isinstance(take, TakeArena)
        assert isinstance(give, GiveArena)
        assert last == len(steps) - 1
        assert not any(isinstance(s, (Fetch, Run)) for s in steps[:first])
        assert (give.idle, give.arena.text) == (take.idle, take.arena)
        self.reserves(steps, take.arena, len(self.tree.arenas[take.idle.text]))

    @staticmethod
    def frees(steps: Steps, block: str) -> None:
        """A recorder hears of the end of each buffer of a block whose begin it was told; of each once."""
        begun = [s.buffer for s in steps if isinstance(s, RecordAllocation) and s.block.text == block]
        ended = [s.buffer for s in steps if isinstance(s, RecordFree) and s.block.text == block]
        assert sorted(begun) == sorted(ended)

    # Values -------------------------------------------------------------------------------------------------------

    def number(self, value: Value) -> None:
        assert self.value(value) in (NUMBER, GIVEN)

    def numbers(self, *values: Value) -> None:
        for value in values:
            self.number(value)

    def truth(self, value: Value) -> None:
        assert self.value(value) in (TRUTH, GIVEN)

    def array(self, value: Value) -> None:
        assert self.value(value) in (ARRAY, GIVEN)

    def value(self, value: Value) -> str:
        """What a value is; its parts are what they must be."""
        match value:
            case Name():
                return self.use(value)
            case Integer():
                return NUMBER
            case Boolean():
                return TRUTH
            case Linear(terms=terms):
                signs = [c > 0 for c, _ in terms]
                assert terms
                assert signs == sorted(signs, reverse=True)
                assert all(c for c, _ in terms)
                self.numbers(*(term for _, term in terms))
                return NUMBER
            case Times(factors=factors):
                assert len(factors) > 1
                self.numbers(*factors)
                return NUMBER
            case Quotient(numerator=a, denominator=b) | Remainder(numerator=a, denominator=b):
                self.numbers(a, b)
                return NUMBER
            case Least(values=values) | Greatest(values=values):
                assert len(values) > 1
                self.numbers(*values)
                return NUMBER
            case Choice(condition=condition, then=then, otherwise=otherwise):
                self.truth(condition)
                self.numbers(then, otherwise)
                return NUMBER
            case Comparison(left=left, right=right):
                self.numbers(left, right)
                return TRUTH
            case Conjunction(conditions=conditions) | Disjunction(conditions=conditions):
                assert len(conditions) > 1
                for condition in conditions:
                    self.truth(condition)
                return TRUTH
            case Crop(array=array, spans=spans, is_all=is_all):
                self.array(array)
                if is_all is not None:
                    assert isinstance(array, Name)
                    self.truth(is_all)
                assert spans
                assert spans[-1] is not None
                for span in spans:
                    match span:
                        case Span(first=first, stop=stop):
                            self.numbers(first, stop)
                        case At(position=position):
                            self.numbers(position)
                return ARRAY
            case Window(ring=ring, spans=spans):
                assert self.use(ring) == RING
                self.numbers(*(end for span in spans for end in span))
                return ARRAY
            case Rows(ring=ring):
                assert self.use(ring) == RING
                return NUMBER
            case Located(array=array, minima=minima):
                self.array(array)
                self.numbers(*minima)
                return ARRAY
            case Seen(array=array, extents=extents):
                self.array(array)
                self.numbers(*extents)
                return ARRAY
            case Sealed(array=array):
                assert isinstance(array, Crop)
                self.value(array)
                return ARRAY
            case ReadOnly(array=array):
                self.array(array)
                return ARRAY
            case Extents(array=array) | Stride(array=array):
                self.array(array)
                return NUMBER
            case IsContiguous(array=array):
                self.array(array)
                return TRUTH
            case LaidBytes(extents=extents, strides=strides, dims=dims):
                assert len(strides) == len(dims) <= len(extents)
                self.numbers(*extents, *strides)
                return NUMBER
            case Range(first=first, stop=stop, step=step):
                self.numbers(first, stop, step)
                return RANGE
            case Portion(range=whole, begin=begin, end=end):
                assert self.use(whole) == RANGE
                self.numbers(*(e for e in (begin, end) if e is not None))
                return RANGE
        raise AssertionError(f"no value: {value}")
