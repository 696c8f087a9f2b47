"""Plans in Python that another process has made do what those do that this one makes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_graphs import Graph, build, graphs, image_graphs, in_arithmetic, run_and_compare

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.runtime import kept_plans, mirrored, plan


@pytest.fixture
def decided(keeps: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs whose plans are made, while the test runs."""
    found: list[Any] = []
    real = plan.plan_tree

    def plan_tree(program: Any, kind: Any) -> Any:
        found.append(program)
        return real(program, kind)

    monkeypatch.setattr(plan, "plan_tree", plan_tree)
    return found


def add(a: Any, o: Any, n: int = 0) -> None:
    np.add(a[: len(o)], a[-len(o) :], out=o)
    o += n


def chain(function: Any = add, stages: int = 5, workers: int | None = None, weights: Any = None) -> sl.Pipeline:
    """Stages by 4 rows, slid and folded; with workers, by strips of 20 on so many threads, and a constant, if any."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", float, 2) for n in range(stages + 1)]
    for n in range(stages):
        read: list[Any] = [buffers[n][sl.interval(y - 1, y + 1), x]]
        if weights is not None and not n:
            read.append(sl.constant("w", weights)[sl.interval(0, 1)])
        sl.Func(function, read, [buffers[n + 1][y, x]], name=f"f{n}")
    p = sl.build_pipeline([buffers[0]], [buffers[-1]])
    strips = None
    if workers is not None:
        p, (strips, _, _) = sl.split_loop(p, f"f{stages - 1}.y", 20, rc=True)
    p, (loop, _, _) = sl.split_loop(p, f"f{stages - 1}.y", 4, rc=True)
    for n in reversed(range(stages - 1)):
        p, func = sl.compute_at(p, f"f{n}", loop, rc=True)
        if workers is None:
            p = sl.fold_storage(sl.slide_window(p, func.call, loop), func.alloc, "y")
        else:
            p = sl.store_at(p, func.alloc, strips)
    return p if strips is None else sl.parallelize_loop(p, strips, workers)


def ran(p: Any, begin: int = 5, rows: int = 43) -> Any:
    image = np.random.default_rng(rows).random((rows + 10, 7))
    out = np.full((rows, 7), -1.0)
    p(sl.Buffer(image, min=(begin - 5, 0)), sl.Buffer(out, min=(begin, 0)))
    return out


@pytest.mark.parametrize("workers", [None, 2])
def test_what_is_made_once_is_read_then(decided: list[Any], workers: int | None) -> None:
    places = ((5, 43), (-3, 43), (5, 1), (5, 0))
    first, second = (chain(workers=workers) for _ in range(2))
    expected = [ran(first, begin, rows) for begin, rows in places]
    text, count = first.to_python(), len(decided)
    assert count
    for (begin, rows), output in zip(places, expected, strict=True):
        np.testing.assert_array_equal(ran(second, begin, rows), output)
    assert second.to_python() == text
    assert len(decided) == count


def test_short_programs_are_made_each_time(decided: list[Any]) -> None:
    for stages, again in ((kept_plans.LEAST_CALLS - 1, 1), (kept_plans.LEAST_CALLS, 0)):
        ran_on = [chain(stages=stages) for _ in range(2)]
        image = np.random.default_rng(0).random((60, 7))
        outs = []
        counts = []
        for p in ran_on:
            outs.append(p(sl.Buffer(image, min=(-stages, 0)), sl.Buffer(np.empty((40, 7)))).array)
            counts.append(len(decided))
        np.testing.assert_array_equal(*outs)
        assert counts[1] - counts[0] == again


def test_constants_and_callbacks_are_those_of_the_program(decided: list[Any]) -> None:
    called = []
    for weights in (np.array([1.0, 2.0]), np.array([3.0, 4.0])):

        def weighted(a: Any, *others: Any) -> None:
            *read, o = others
            called.append(id(weighted))
            np.add(a[: len(o)], a[-len(o) :], out=o)
            if read:
                o *= read[0].sum()

        p, q = chain(weighted), chain(add)
        np.testing.assert_array_equal(ran(p), ran(q))
        assert set(called) == {id(weighted)}
        called.clear()
        y, x = sl.variables("y x")
        a, b, c, d, e = (sl.BufferExpr(name, float, 2) for name in "abcde")
        sl.Func(weighted, [a[sl.interval(y, y + 1), x], sl.constant("w", weights)[sl.interval(0, 1)]], [b[y, x]])
        for one, other, name in ((b, c, "f"), (c, d, "g"), (d, e, "h")):
            sl.Func(np.negative, [one[y, x]], [other[y, x]], name=name)
        image = np.random.default_rng(1).random((11, 3))
        found = sl.build_pipeline([a], [e])(image, np.empty((10, 3)))
        np.testing.assert_array_equal(found, -(image[:-1] + image[1:]) * weights.sum())
        called.clear()


def test_how_a_callback_is_called_is_asked(decided: list[Any]) -> None:
    """Ufuncs take what they write by a name of its own, and some functions say that they only read."""

    def negated(a: Any, o: Any) -> None:
        o[...] = -a

    def reading(a: Any, o: Any) -> None:
        assert a.flags.writeable
        o[...] = -a

    reading.only_reads = True  # type: ignore[attr-defined]

    def of(function: Any) -> sl.Pipeline:
        y, x = sl.variables("y x")
        buffers = [sl.BufferExpr(name, float, 2) for name in "abcde"]
        for n in range(4):
            sl.Func(function, [buffers[n][y, x]], [buffers[n + 1][y, x]], name=f"f{n}")
        return sl.build_pipeline([buffers[0]], [buffers[-1]])

    image = np.random.default_rng(1).random((5, 3))
    sources = []
    for function in (negated, np.negative, reading, negated, np.negative, reading):
        p = of(function)
        np.testing.assert_array_equal(p(image, np.empty((5, 3))), image)
        sources.append(p.to_python())
    assert len(decided) == 3
    assert sources[:3] == sources[3:]
    assert len(set(sources)) == 3


def test_where_memory_is_not_mapped_twice_plans_are_others(decided: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [ran(chain()), ran(chain())]
    count = len(decided)
    monkeypatch.setattr(mirrored, "available", lambda: False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected += [ran(chain()), ran(chain())]
    assert len(decided) == 2 * count
    for each in expected[1:]:
        np.testing.assert_array_equal(each, expected[0])


def test_an_error_says_which_call_it_was(decided: list[Any]) -> None:
    def failing(a: Any, o: Any) -> None:
        if len(o) == 3:  # in the last strip
            raise ValueError("three")
        add(a, o)

    told = []
    for _ in range(2):
        with pytest.raises(ValueError, match="three") as error:
            ran(chain(failing))
        told.append(getattr(error.value, "__notes__", None))
    assert told[0] == told[1]
    assert told[0]
    assert len({id(each) for each in decided}) == len(decided)


@given(graphs(), image_graphs())
@settings(suppress_health_check=[*HealthCheck])
def test_plans_that_are_read_do_what_those_do_that_are_made(decided: list[Any], graph: Graph, other: Graph) -> None:
    for each, make in ((graph, build), (graph, lambda graph: build(in_arithmetic(graph))), (other, build)):
        p = make(each)
        run_and_compare(each, p, checked=False)
        again = sl.Pipeline(Version(p.program, origin()))
        run_and_compare(each, again, checked=False)
        again = make(each)
        run_and_compare(each, again, checked=False)
