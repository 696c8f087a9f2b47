"""The number of workers of a parallel loop, as an expression."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import attrs
import numpy as np
import pytest

import slinky as sl
from slinky import ir
from slinky.ir.copies import expressions_of, with_mode
from slinky.ir.statements import For, workers_of
from slinky.ir.substitution import substitute_program
from slinky.symbolic.expressions import as_expr

y, x = sl.variables("y x")
workers = sl.scalar("workers")


def rows() -> sl.Pipeline:
    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    sl.Func(np.negative, [inp[y, x]], [out[y, x]], name="negative")
    return sl.split_loop(sl.build_pipeline([inp], [out]), "negative.y", 2)


OUT = sl.BufferExpr("out", np.float64, 2)


def test_a_scalar_says_it() -> None:
    p = sl.parallelize_loop(rows(), "for y", workers)
    assert str(p).splitlines()[-3:] == [
        "  check 1 <= workers",
        "  for y in out.y.min..out.y.max step 2 parallel workers:",
        "    out[y .. y + 1, :] = negative(inp[y .. y + 1, :])",
    ]
    assert p.find("for y").workers() is workers
    assert {e.role(): e.text() for e in p.find("for y").expressions()}["workers"] == "workers"
    image = np.arange(35.0).reshape(7, 5)
    for options in ({}, {"backend": "interpreter"}, {"checked": True}):
        np.testing.assert_array_equal(p.run(image, workers=2, **options).outputs[0], -image)
    with pytest.raises(sl.CheckFailedError, match=r"requires 1 <= workers, got workers = 0 \(the number of workers"):
        p(image, workers=0)
    with pytest.raises(sl.ArgumentError, match="needs a value for scalar workers"):
        p(image)


@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_so_many_threads_run_it(backend: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more threads than the scalar says are in the loop at any time."""
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    lock, inside, most = threading.Lock(), [0], [0]

    def callback(source: np.ndarray, target: np.ndarray) -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        target[...] = source
        with lock:
            inside[0] -= 1

    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    sl.Func(callback, [inp[y, x]], [out[y, x]], name="copy")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "copy.y", 1)
    p = sl.parallelize_loop(p, "for y", workers)
    p.run(np.ones((64, 3)), workers=count, backend=backend)
    assert 1 <= most[0] <= count


@pytest.mark.parametrize(
    "count", [sl.maximum(OUT.dim(0).extent // 4, 1), workers + 1, 3, sl.maximum(workers, 1), workers * workers + 1]
)
def test_what_it_may_be(count: Any) -> None:
    p = sl.parallelize_loop(rows(), "for y", count)
    p.verify()
    image = np.arange(35.0).reshape(7, 5)
    named = {"workers": 2} if p.program.scalars else {}
    np.testing.assert_array_equal(p(image, **named), -image)
    moved = p(sl.Buffer(image, min=(3, -4)), **named)
    assert moved.min == (3, -4)
    np.testing.assert_array_equal(moved.array, -image)
    assert p.memory((7, 5), **named).program_bytes == 0


def test_a_loop_around_it_may_say_it() -> None:
    p = sl.split_loop(rows(), "negative.x", 2)
    with pytest.raises(sl.SchedulingError, match="not shown that the number of workers is 1 or more"):
        sl.parallelize_loop(p, "for x", y)
    p = sl.parallelize_loop(p, "for x", sl.maximum(y, 1))
    image = np.arange(35.0).reshape(7, 5)
    np.testing.assert_array_equal(p(image), -image)
    with pytest.raises(sl.SchedulingError, match="the number of workers of loop x depends on loop y"):
        sl.reorder_loops(p, "for y")


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "workers must be an integer, 1 or more, got 0"),
        (-2, "workers must be an integer, 1 or more, got -2"),
        (sl.minimum(workers, 0), "the number of workers must be 1 or more, got min(workers, 0)"),
        (OUT.dim(0).extent, "not shown that the number of workers is 1 or more"),
        (y, "the number of workers names y, which is no scalar and no enclosing loop"),
        (sl.BufferExpr("other", np.int8, 1).dim(0).extent, "names other.dim(0).max, which is no dimension of"),
        (2.0, "expected an integer or an integer expression, got 2.0"),
        ("2", "expected an integer or an integer expression, got '2'"),
        (True, "expected an integer or an integer expression, got True"),
    ],
)
def test_what_it_may_not_be(count: Any, message: str) -> None:
    with pytest.raises((sl.SchedulingError, sl.OperationError)) as refused:
        sl.parallelize_loop(rows(), "for y", count)
    assert message in str(refused.value)


def test_histories_and_pickles_keep_it() -> None:
    before = rows()
    p = sl.parallelize_loop(before, "for y", workers + 1)
    assert 'parallelize_loop(p, "for y", sl.scalar("workers") + 1)' in str(p.history())
    names: dict[str, Any] = {"p": before, "sl": sl}
    exec(str(p.history()).replace(str(before.history()), ""), names)
    assert names["p"].same_program(p)
    assert not names["p"].same_program(sl.parallelize_loop(before, "for y", workers + 2))
    assert str(pickle.loads(pickle.dumps(p))) == str(p)


def test_it_is_an_expression_of_its_loop() -> None:
    p = sl.parallelize_loop(rows(), "for y", workers)
    loop = next(s for s in p.program.body if isinstance(s, For))
    assert workers in expressions_of(loop)
    changed = substitute_program(p.program, {workers: as_expr(3)})
    assert [str(workers_of(s)) for s in changed.body if isinstance(s, For)] == ["3"]
    assert ir.Parallel(3) == ir.Parallel(as_expr(3)) != ir.Parallel(workers)
    assert with_mode(loop, ir.Parallel(workers)) == loop


def test_programs_that_are_not_well_formed() -> None:
    p = sl.parallelize_loop(rows(), "for y", 2).program

    def with_workers(count: Any) -> sl.Pipeline:
        body = tuple(with_mode(s, ir.Parallel(count)) if isinstance(s, For) else s for s in p.body)
        return sl.Pipeline(attrs.evolve(p, body=body))

    for count, message in (
        (workers, "for y: scalar workers is not a parameter"),
        (y, "for y: variable y is not in scope"),
        (OUT.dim(0).extent - OUT.dim(0).extent, "the number of workers must be 1 or more, got 0"),
    ):
        with pytest.raises(sl.ProgramError, match=message):
            with_workers(count).verify()
    with pytest.raises(sl.ProgramError, match="the number of workers is wrong: expected an integer"):
        ir.Parallel("many")  # type: ignore[arg-type]
    image = np.ones((4, 3))
    for backend in ("python", "interpreter"):
        with pytest.raises(sl.ExecutionError, match="loop y has -1 workers; needs 1 or more"):
            with_workers(OUT.dim(0).extent - 5).run(image, backend=backend)


def test_edits_prove_it() -> None:
    p = sl.parallelize_loop(rows(), "for y", 2)
    edit = sl.edit(p)
    edit.replace("for y", with_mode(edit.statement("for y"), ir.Parallel(OUT.dim(0).extent)))
    with pytest.raises(sl.SchedulingError, match="not shown that the number of workers of loop y is 1 or more"):
        edit.finish()
    edit.replace("for y", with_mode(edit.statement("for y"), ir.Parallel(sl.maximum(OUT.dim(0).extent, 1))))
    assert "parallel max(out.y.max - out.y.min + 1, 1):" in str(edit.finish())
