"""The reasons for which rewrites keep obligations that nobody proves: no example says otherwise, and none is idle."""

from __future__ import annotations

import doctest
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs
from random_schedules import Chain

import examples
import slinky as sl
from slinky.cursors.versions import Touched
from slinky.ir.statements import Alloc
from slinky.sched import gate
from slinky.sched.legality import reasons
from slinky.sched.legality.reasons import Kept, Obligation, Reason
from tools.reference import operations

REASONS = [value for value in vars(reasons).values() if isinstance(value, Reason)]
NAMED: Counter[str] = Counter()


class WithoutReasons(gate._Gate):
    """The gate, which asks for everything once more where a reason spared it."""

    def __init__(self, edit: Any, touched: Any, version: Any, kept: Sequence[Kept], *rest: Any) -> None:
        super().__init__(edit, touched, version, kept, *rest)
        self.spared = {obligation: each.reason for obligation, each in self.kept.items()}
        NAMED.update(reason.name for reason in self.spared.values())

    def pass_(self) -> None:
        """Accept what the gate accepts; fail where an example shows that a reason is wrong."""
        super().pass_()
        if self.spared.get(Obligation.CHECKS) is reasons.FOLD_ALONE:
            require_fold_alone(self.touched)
        for obligation, reason in self.spared.items():
            if obligation in (Obligation.CHECKS, Obligation.VALUES):  # of values the judge says more
                continue
            subjects, prove = gate._PROOFS[obligation]
            try:
                prove(self, subjects(self))
            except sl.SchedulingError as error:
                if error.example:
                    pytest.fail(f"{reason.name!r} does not keep {obligation}: {error}")


def require_fold_alone(touched: Touched) -> None:
    """Fail unless nothing but a fold factor of one allocation changed."""
    ((before, now),) = touched.values()
    assert before is not None
    assert now is not None
    old, new = before.statement, now.statement
    assert isinstance(old, Alloc)
    assert isinstance(new, Alloc)
    assert (before.parent, before.field) == (now.parent, now.field)
    assert attrs.evolve(old, folds=new.folds) == new
    assert sum(a is not b for a, b in zip(old.folds, new.folds, strict=True)) <= 1


def schedule(graph: Graph, seed: int, steps: int) -> None:
    """A random schedule under this gate."""
    chain = Chain(build(graph), random.Random(seed).choice)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_Gate", WithoutReasons)
        for _ in range(steps):
            chain.step()


@given(st.one_of(image_graphs(), graphs(max_stages=4)), st.integers(0, 2**32), st.integers(2, 12))
def test_no_example_speaks_against_a_reason(graph: Graph, seed: int, steps: int) -> None:
    schedule(graph, seed, steps)


def test_every_reason_is_named_by_a_schedule() -> None:
    """So that it can be found wrong: the examples of the primitives name all, and a tail that shifts."""
    NAMED.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_Gate", WithoutReasons)
        for operation in operations():
            for example in doctest.DocTestFinder().find(operation, operation.__name__, globs=dict(vars(sl))):
                assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0
        sl.split_loop(sl.split_loop(examples.blur(), "blur.x", 1), "for x", 4, tail="shift")
    assert NAMED.keys() == {reason.name for reason in REASONS}


def test_every_obligation_has_a_proof() -> None:
    assert list(gate._PROOFS) == list(Obligation)


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
def test_reasons_say_their_condition_and_their_proof(reason: Reason) -> None:
    assert min(len(reason.condition), len(reason.proof)) > 40


def test_a_false_reason_is_found() -> None:
    """The test above finds what it is for: a reason that is named where it does not hold."""

    def lie(p: sl.Pipeline) -> sl.Pipeline:
        edit = sl.edit(p)
        loop = edit.statement(p.find("for x"))
        edit.replace("for x", sl.ir.with_range(loop, sl.interval(loop.range.min + 1, loop.range.max)))
        return gate.settle(edit._edit, "lie", Kept(reasons.SAME_ORDER, reasons.ALL_BUT_CHECKS))

    x, *_ = sl.variables("x")
    inp, out = (sl.BufferExpr(name, float, 1) for name in ("inp", "out"))
    sl.Func(abs, [inp[x]], [out[x]], name="f")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "f.x", 4)
    assert lie(p)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_Gate", WithoutReasons)
        with pytest.raises(pytest.fail.Exception, match=r"'same order' does not keep Obligation\.OUTPUTS"):
            lie(p)
