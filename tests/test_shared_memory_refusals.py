"""Which buffers may not share memory, calls that may not work in place, and what the refusals say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sharing_memory import Step, buffers, elementwise, given_to, in_memory, lines, refusal, require_same, stencils

import slinky as sl
from slinky import ir


def test_reuse_is_refused_while_both_are_used() -> None:
    p, _ = stencils(4)
    assert refusal(sl.reuse_buffer, p, "alloc b2", "alloc b1") == (
        "s1 is not declared to work in place: it may read b1 after it has written b2"
    )
    i, *_ = sl.variables("i")
    b0, b1, b2, b3, out = buffers("b0 b1 b2 b3 out")
    for name, reads, t in (("f0", [b0], b1), ("f1", [b1], b2), ("f2", [b2], b3), ("f3", [b3, b1], out)):
        sl.Func(Step(name), [r[i] for r in reads], [t[i]])
    p = sl.build_pipeline([b0], [out])
    assert refusal(sl.reuse_buffer, p, "alloc b3", "alloc b1") == (
        "f3 reads b1 after f2 writes b3, which lies in the same memory"
    )
    with pytest.raises(sl.OperationError, match="expected two buffers, got b1 twice"):
        sl.reuse_buffer(p, "alloc b1", "alloc b1")
    with pytest.raises(sl.SchedulingError, match="b2 is used before b3 is allocated") as caught:
        sl.reuse_buffer(p, "alloc b2", "alloc b3")
    assert not caught.value.hint  # b3 cannot take the memory of b2, either


def test_the_other_way_round() -> None:
    p, _ = stencils(4)
    with pytest.raises(sl.SchedulingError, match="b1 is used before b3 is allocated") as caught:
        sl.reuse_buffer(p, "alloc b1", "alloc b3")
    assert caught.value.hint == (
        'let b3 take the memory of b1:\n  p = sl.reuse_buffer(p, "alloc b3", "alloc b1")'
    )  # fmt: skip


def test_three_in_one_memory_leave_each_other_alone() -> None:
    p, _ = stencils(6)
    q = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    assert refusal(sl.reuse_buffer, q, "alloc b4", "alloc b1") == (
        "s3 is not declared to work in place: it may read b3 after it has written b4"
    )
    assert refusal(sl.reuse_buffer, q, "alloc b3", "alloc b1") == "b3 and b1 lie in one memory already"
    # What lies in the memory of one goes with it.
    r = sl.reuse_buffer(sl.reuse_buffer(p, "alloc b5", "alloc b3"), "alloc b3", "alloc b1")
    assert [line.rpartition("]")[2] for line in lines(r)] == ["", "", " in b1", "", " in b1"]
    require_same(p, r, 6)


def test_one_loop_that_uses_both_is_refused_with_what_helps() -> None:
    """What one iteration leaves would be overwritten by the next."""
    p, _ = stencils(4)
    q, (loop, _, _) = sl.split_loop(p, "s3.i", 8, rc=True)
    for n in (2, 1, 0):
        q = sl.compute_at(q, f"s{n}", loop)
    with pytest.raises(sl.SchedulingError) as caught:
        sl.reuse_buffer(q, "alloc b3", "alloc b1")
    assert caught.value.reason == "b1 and b3, which lie in the same memory, are both used in each iteration of loop i"
    assert 'p = sl.store_at(p, "alloc b1", "for i")' in caught.value.hint
    scope: dict[str, Any] = {"sl": sl, "p": q}
    exec(caught.value.hint.split(":", 1)[1].replace("\n  ", "\n"), scope)
    assert any(line.endswith(" in b1") for line in lines(scope["p"]))
    require_same(p, scope["p"], 4)


def test_folds_and_layouts_are_refused() -> None:
    p, _ = stencils(4)
    laid = sl.set_layout(p, "alloc b3", ("i",), alignment=128)
    assert refusal(sl.reuse_buffer, laid, "alloc b3", "alloc b1") == (
        "b3 lies in the memory of b1, but b3 has strides or an alignment that are asked for"
    )
    shared = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    assert refusal(lambda: sl.set_layout(shared, "alloc b1", ("i",), alignment=128)) == (
        "b3 lies in the memory of b1, but b1 has strides or an alignment that are asked for"
    )
    q, (loop, _, _) = sl.split_loop(p, "s3.i", 1, rc=True)
    q, at = sl.compute_at(q, "s2", loop, rc=True)
    q = sl.slide_window(q, at.call, loop)
    marked = sl.reuse_buffer(q, "alloc b3", "alloc b1")
    ring = "b3 lies in the memory of b1, but b3 is folded along i: a ring has memory of its own"
    assert refusal(sl.fold_storage, marked, "alloc b3", "i") == ring
    assert refusal(sl.reuse_buffer, sl.fold_storage(q, at.alloc, "i"), "alloc b3", "alloc b1") == ring
    require_same(p, marked, 4)


def test_scopes_and_parallel_loops() -> None:
    p, _ = stencils(4)
    q, (loop, _, _) = sl.split_loop(p, "s3.i", 8, rc=True)
    q, at = sl.compute_at(q, "s2", loop, rc=True)
    q = sl.store_at(q, at.alloc, loop)
    parallel = sl.parallelize_loop(q, loop)
    shared = "the iterations of the parallel loop i would share the memory of b1, in which b3 lies"
    assert refusal(sl.reuse_buffer, parallel, "alloc b3", "alloc b1") == shared
    assert refusal(sl.parallelize_loop, sl.reuse_buffer(q, "alloc b3", "alloc b1"), loop) == shared
    assert refusal(sl.reuse_buffer, q, "alloc b1", "alloc b3") == "b1 is used before b3 is allocated"


@pytest.mark.parametrize(
    ("call", "buffer", "reason"),
    [
        ("plain", None, "plain is not declared to work in place"),
        ("first", None, "a is an input of the pipeline, whose memory is the caller's"),
        ("last", None, "out is an output of the pipeline, whose memory is the caller's"),
        ("shifted", None, "shifted reads more of b than the element that it writes of c, or elsewhere"),
        ("typed", None, "b is float64, and d is int64: their elements do not lie at the same bytes"),
        ("again", "b", "last reads b after again writes e, which lies in the same memory"),
        ("pair", None, "pair has 2 outputs: of what it reads of e it may compute another one later"),
        (
            "smaller",
            None,
            "g and k are not shown to have the same bounds, so that their elements lie at the same bytes",
        ),
    ],
)
def test_calls_that_cannot_work_in_place(call: str, buffer: str | None, reason: str) -> None:
    i, *_ = sl.variables("i")
    a, b, c, e, f, g, h, k, out = buffers("a b c e f g h k out")
    d = sl.BufferExpr("d", np.int64, 1)
    sl.Func(Step("first"), [a[i]], [b[i]], in_place=True)
    sl.Func(Step("shifted"), [b[i + 1]], [c[i]], in_place=True)
    sl.Func(Step("typed"), [b[i]], [d[i]], in_place=True)
    sl.Func(Step("again"), [b[i]], [e[i]], in_place=True)
    sl.Func(Step("pair"), [e[i]], [f[i], g[i]], in_place=True)
    sl.Func(Step("plain"), [c[i]], [h[i]])
    sl.Func(Step("smaller"), [g[i]], [k[i]], in_place=True)
    everything = [x[i] for x in (b, c, d, f, h, k)] + [g[sl.interval(i, i + 1)]]
    sl.Func(Step("last"), everything, [out[i]], in_place=True)
    p = sl.build_pipeline([a], [out])
    assert refusal(sl.compute_in_place, p, call, buffer) == reason


def test_a_buffer_that_the_call_does_not_read() -> None:
    p, _ = elementwise(3)
    with pytest.raises(sl.OperationError, match="expected a buffer that f1 reads, b1, got 'b7'"):
        sl.compute_in_place(p, "f1", "b7")
    with pytest.raises(sl.OperationError, match="expected a buffer that f1 reads"):
        sl.compute_in_place(p, "f1", 3)  # type: ignore[arg-type]


def test_a_buffer_that_is_stored_in_another_loop() -> None:
    """A plan could write others over b2 in the loop, where b1 has elements for later iterations."""
    p, _ = elementwise(3)
    p, (loop, _, _) = sl.split_loop(p, "f2.i", 4, rc=True)
    p, at = sl.compute_at(p, "f1", loop, rc=True)
    p = sl.store_at(p, at.alloc, loop)
    assert refusal(sl.compute_in_place, p, "f1") == "b1 and b2 are stored in different loops"


def test_iterations_that_overlap() -> None:
    """The shifted tail writes some elements twice, the second time of what has been overwritten."""
    p, _ = elementwise(3)
    marked = sl.compute_in_place(p, "f1")
    reason = refusal(lambda: sl.split_loop(marked, "f1.i", 4, tail="shift"))
    assert reason.startswith("iterations of loop i are not shown to write different elements of b2: f1, which writes")
    shifted = sl.split_loop(p, "f1.i", 4, tail="shift")
    assert refusal(sl.compute_in_place, shifted, "f1") == reason


# Examples -------------------------------------------------------------------------------------------------------------


def example(operation: Callable[..., Any], *arguments: Any) -> str:
    """The example that a refusal gives."""
    with pytest.raises(sl.SchedulingError) as caught:
        operation(*arguments)
    return caught.value.example


def test_an_example_of_a_buffer_that_is_used_again() -> None:
    i, *_ = sl.variables("i")
    b0, b1, b2, b3, out = buffers("b0 b1 b2 b3 out")
    for name, reads, t in (("f0", [b0], b1), ("f1", [b1], b2), ("f2", [b2], b3), ("f3", [b3, b1], out)):
        sl.Func(Step(name), [r[i] for r in reads], [t[i]])
    p = sl.build_pipeline([b0], [out])
    assert example(sl.reuse_buffer, p, "alloc b3", "alloc b1") == (
        "with out.i = 0..0, f3 reads b1[0], over which b3 has been written"
    )


def test_an_example_of_one_loop_that_uses_both() -> None:
    """The second iteration reads of b1 what the first one left there, if there are two."""
    p, _ = stencils(4)
    q, (loop, _, _) = sl.split_loop(p, "s3.i", 8, rc=True)
    for n in (2, 1, 0):
        q = sl.compute_at(q, f"s{n}", loop)
    assert example(sl.reuse_buffer, q, "alloc b3", "alloc b1") == ""  # each iteration computes all of b1 again
    slid = sl.slide_window(q, "s0", loop)
    assert example(sl.reuse_buffer, slid, "alloc b3", "alloc b1") == (
        "with b4.i = 0..0, in iteration i = 0, s1 reads b1[-3], over which b3 has been written"
    )
    source, out = given_to(slid, 1, 4)
    with pytest.raises(sl.OverwrittenReadError, match=r"s1.* reads b1.*: element \[-3\] was overwritten by b3"):
        in_memory(slid, "b3", "b1").run(source, out, checked=True)


def test_an_example_of_a_call_that_reads_its_neighbours() -> None:
    p, _ = stencils(3)
    assert example(sl.reuse_buffer, p, "alloc b2", "alloc b1") == (
        "with b3.i = 0..0, s1 writes b2[-1] over b1[-2], which it reads"
    )


def test_an_example_of_elements_at_other_bytes() -> None:
    """Elements of half the size lie over the first half, and one element further on over the next."""
    (i,) = sl.variables("i")
    a, out = buffers("a out")
    b, c = sl.BufferExpr("b", np.float64, 1), sl.BufferExpr("c", np.float32, 1)
    sl.Func(Step("f0"), [a[i]], [b[i]])
    sl.Func(Step("f1"), [b[i]], [c[i]], in_place=True)
    sl.Func(Step("f2"), [c[i]], [out[i]])
    p = sl.build_pipeline([a], [out])
    assert example(sl.compute_in_place, p, "f1") == "with out.i = 0..0, f1 writes c[0] over b[0], which it reads"


def test_an_example_of_bounds_that_differ() -> None:
    """b1 begins one element earlier, so that b2 lies over other elements of it."""
    p, _ = elementwise(3)
    edit = sl.edit(sl.compute_in_place(p, "f1"))
    alloc = edit.statement(p.find("alloc b1"))
    (i,) = alloc.box
    edit.replace("alloc b1", ir.with_bounds(alloc, (sl.interval(i.min - 1, i.max),), alloc.folds))
    assert example(edit.finish) == "with b3.i = 0..0, f1 writes b2[0] over b1[-1], which it reads"


def test_an_example_of_iterations_that_overlap() -> None:
    """The last iteration of a shifted tail reads again of b1 what the one before has written over."""
    p, _ = elementwise(3)
    shifted = sl.split_loop(p, "f1.i", 4, tail="shift")
    found = example(sl.compute_in_place, shifted, "f1")
    assert found == "with b3.i = 0..2, in iteration i = 3, f1 reads b1[0], over which b2 has been written"


def test_an_example_with_rows_in_the_memory_of_a_larger_buffer() -> None:
    """Two dimensions, and a host that is neither of the two: it had been used before."""
    y, x = sl.variables("y x")
    b0, host, b1, b2, out = buffers("b0 host b1 b2 out", 2)
    sl.Func(Step("f0"), [b0[sl.interval(y - 1, y + 1), x]], [host[y, x]])
    sl.Func(Step("f1"), [host[sl.interval(y - 1, y + 1), x]], [b1[y, x]])
    sl.Func(Step("f2"), [b1[y, x]], [b2[y, x]])
    sl.Func(Step("f3"), [b1[y, x], b2[y, x]], [out[y, x]])
    p = sl.build_pipeline([b0], [out])
    edit = sl.edit(p)
    for name in ("b1", "b2"):
        alloc = edit.statement(p.find(f"alloc {name}"))
        edit.replace(f"alloc {name}", ir.with_memory(alloc, ir.Within("host")))
    assert (
        example(edit.finish) == "with out.y = 0..0, out.x = 0..0, f1 writes b1[0, 0] over host[-1, 0], which it reads"
    )
