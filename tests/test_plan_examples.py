"""The examples that spare the generator of plans questions: they meet all facts, so what they refute has no proof."""

from __future__ import annotations

import random

import pytest
from handmade import by_rows, stencil
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs
from random_schedules import Chain

from slinky.ir.scopes import program_scope
from slinky.ir.statements import For, walk
from slinky.runtime.codegen import generator
from slinky.runtime.codegen.examples import Examples
from slinky.runtime.codegen.generator import Kind
from slinky.runtime.codegen.origin import at_origin
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, Max, Min, Variable, maximum, metadata, minimum, variable
from slinky.symbolic.proofs import Facts
from slinky.symbolic.traversal import evaluate


class Watched(Examples):
    """Keeps what it was asked."""

    seen: tuple[list[Facts], list[tuple[Min | Max, Facts]]]

    def illustrated(self, known: Facts) -> Facts:
        self.seen[0].append(known)
        return super().illustrated(known)

    def is_needed(self, choice: Min | Max, known: Facts) -> bool:
        found = super().is_needed(choice, known)
        if found:
            self.seen[1].append((choice, known))
        for facts in (known, *self.seen[0]):
            assert_met(list(self.of(facts)), facts)
        self.seen[0].clear()
        return found


def assert_met(examples: list, known: Facts) -> None:
    """All examples meet all facts, the unspoken ones too."""
    for values in examples:
        assert all(evaluate(condition, values) for condition in known.conditions())
        for symbol, value in values.items():
            if isinstance(symbol, Variable) and symbol.name.startswith("<extent"):
                assert value >= 0
            if not isinstance(symbol, Variable) and symbol.field == "max":
                assert value >= values[metadata(symbol.buffer, symbol.dim, "min")] - 1
            if not isinstance(symbol, Variable) and symbol.field == "fold_factor":
                assert value >= 1


@given(graphs(max_stages=4), st.integers(0, 2**32), st.integers(0, 12), st.booleans(), st.booleans())
@settings(max_examples=settings().max_examples // 2)
def test_examples_change_nothing(graph: Graph, seed: int, steps: int, nonempty: bool, moved: bool) -> None:
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    program = chain.pipeline.program
    if moved and (at := at_origin(program)) is not None:
        program = at
    else:
        moved = False
    Watched.seen = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "Examples", Watched)
        generator.plan_tree(program, Kind(nonempty=nonempty, at_origin=moved))
    for choice, known in Watched.seen[1]:
        if not any(isinstance(inner, (Min, Max)) for inner in choice.operands):
            assert simplify(choice, known) is choice


def test_there_are_examples_of_any_extent() -> None:
    program = stencil().program
    known = program_scope(program).known
    first, last = metadata("out", 0, "min"), metadata("out", 0, "max")
    extents = [values[last] - values[first] + 1 for values in Examples(program, False).of(known)]
    assert extents[1:] == [1, 0]
    assert extents[0] > 1000


def test_loops_are_in_their_first_and_last_iteration() -> None:
    program = by_rows(3).program
    (loop,) = (s for s in walk(program.body) if isinstance(s, For))
    known = program_scope(program).enter(loop, "body").known
    ends = [
        tuple(evaluate(e, values) for e in (loop.range.min, loop.variable, loop.range.max))
        for values in Examples(program, False).of(known)
    ]
    assert any(lo == at < hi for lo, at, hi in ends)
    assert any(lo < at == hi for lo, at, hi in ends)


def test_what_a_choice_needs() -> None:
    program = stencil().program
    examples = Examples(program, False)
    y, inner = variable("y"), variable("inner")
    last = metadata("out", 0, "max")
    known = program_scope(program).known.also(metadata("out", 0, "min") <= y, y <= last)
    deeper = known.also(y <= inner, inner <= y + 63)

    def is_needed(*operands: Expr, facts: Facts = deeper) -> bool:
        choice = minimum(*operands)
        assert isinstance(choice, Min)
        return examples.is_needed(choice, facts)

    assert is_needed(last, y + 63, facts=known)
    assert is_needed(last, y + 63, inner + 7)
    assert not is_needed(last, y)
    assert not is_needed(last, y + 63, inner)
    assert not is_needed(y, inner)
    assert not is_needed(last, variable("unknown"))
    clamped = maximum(metadata("out", 0, "min"), y)
    assert isinstance(clamped, Max)
    assert not examples.is_needed(clamped, known)
