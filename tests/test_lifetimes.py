"""How long memory is needed, of buffers that have some of their own and of such as share it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from handmade import alloc, stencil
from sharing_memory import BACKENDS, WIDTH, lines, require_same, stencils

import slinky as sl
from slinky import ir
from slinky.ir.statements import Check, fresh_identity
from slinky.runtime.lifetimes import last_names


def test_memory_that_is_shared_is_given_back_after_the_last_use_of_any() -> None:
    p, _ = stencils(6)
    q = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    found = require_same(p, q, 6)
    assert found.program_bytes == 8 * ((WIDTH + 10) + (WIDTH + 8)), "b1, in which b3 lies later, and b2"


def test_what_has_no_elements_takes_no_memory_of_others() -> None:
    """Of two dimensions that are shorter than nothing there are no elements, either."""
    y, x = sl.variables("y x")
    a, t, u, v, out = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "t", "u", "v", "out"))
    for b in (t, u, v):
        for d in range(2):
            b.dim(d).min, b.dim(d).max = 0, -3
    for source, target in ((a, t), (t, u), (u, v)):
        sl.Func(np.negative, [source[y, x]], [target[y, x]], name=f"make_{target.name}")
    sl.Func(lambda s, o: np.copyto(o, 7 + s.size), [v[:, :]], [out[y, x]], name="fill")
    p = sl.build_pipeline([a], [out])
    q = sl.reuse_buffer(p, "alloc v", "alloc t")
    for how in BACKENDS:
        found = np.zeros((3, 3))
        statistics = q.run(np.zeros((3, 3)), found, **how)
        assert (found == 7).all()
        assert statistics.program_bytes == 0


@pytest.mark.parametrize("width", [1, 7, 29, WIDTH])
def test_the_largest_that_a_guest_is_in_nested_loops(width: int) -> None:
    """The inner loop goes from where the outer one is, and what lies in the memory from where the inner one is."""
    p, _ = stencils(4)
    q = sl.split_loop(sl.split_loop(p, "s3.i", 8), "s3.i", 2)
    q, at = sl.compute_at(q, "s2", "for i_1", rc=True)
    q = sl.reuse_buffer(sl.store_at(q, at.alloc, at.loop), "alloc b3", "alloc b1")
    assert lines(q)[-1].endswith(" in b1")
    require_same(p, q, 4, width)


def test_of_blocks_that_begin_with_the_same_statement_each_has_its_own_uses() -> None:
    """Also of such that lie where others lay that are gone; and no more than some are kept."""
    first = alloc(stencil().program)
    seen: list[weakref.ref[ir.Statement]] = []
    for n in range(1000):
        more = tuple(Check(sl.scalar("r") >= k, "", id=fresh_identity()) for k in range(n % 3))
        second = ir.Pass(id=fresh_identity())
        seen.append(weakref.ref(second))
        call = next(s for s in stencil().program.body if isinstance(s, ir.Call))
        assert last_names((first, second, *more, call)) == {"intm": 2 + len(more)}
        del more, second, call
    gc.collect()
    assert sum(each() is not None for each in seen) < 100
