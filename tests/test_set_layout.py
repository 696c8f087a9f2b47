"""Buffers whose dimensions lie in memory in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slinky as sl

y, x = sl.variables("y x")


def pipeline(seen: list[tuple[int, ...]] | None = None) -> sl.Pipeline:
    def make(a: Any, o: Any) -> None:
        if seen is not None:
            seen.append(o.strides)
        np.negative(a, out=o)

    a, t, out = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t", "out"))
    sl.Func(make, [a[y, x]], [t[y, x]], name="make")
    sl.Func(np.square, [t[y, x]], [out[y, x]], name="square")
    return sl.build_pipeline([a], [out])


@pytest.mark.parametrize("shape", [(3, 5), (1, 7), (7, 1), (0, 4), (4, 0), (1, 1)])
@pytest.mark.parametrize("how", [{}, {"backend": "interpreter"}, {"checked": True}])
def test_callbacks_see_the_strides_and_give_the_same(shape: tuple[int, int], how: dict[str, Any]) -> None:
    seen: list[tuple[int, ...]] = []
    p = sl.set_layout(pipeline(seen), "alloc t", ("x", "y"))
    image = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.zeros_like(image)
    p.run(image, out, **how)
    np.testing.assert_array_equal(out, image**2)
    if min(shape) > 1:
        assert seen[0] == (4, 4 * shape[0])


def test_rows_begin_at_multiples_of_the_alignment() -> None:
    seen: list[tuple[int, ...]] = []
    p = sl.set_layout(pipeline(seen), "alloc t", ("y", "x"), alignment=64)
    assert p(np.arange(15, dtype=np.int32).reshape(3, 5)).tolist() == (np.arange(15).reshape(3, 5) ** 2).tolist()
    assert seen == [(64, 4)]


def test_in_loops_and_in_the_history() -> None:
    p, loops = sl.split_loop(pipeline(), "square.y", 2, rc=True)
    p, made = sl.compute_at(p, "make", loops.outer, rc=True)
    p = sl.store_at(p, made.alloc, loops.outer)
    q, laid = sl.set_layout(p, "alloc t", ("x", "y"), rc=True)
    assert len(laid.alloc.strides()) == 2
    image = np.arange(35, dtype=np.int32).reshape(7, 5)
    np.testing.assert_array_equal(q(image), image**2)
    again = eval(str(q.history()).splitlines()[-1].removeprefix("p = "), {"sl": sl, "p": p})
    assert str(again) == str(q)


def test_what_cannot_be_is_refused() -> None:
    p = pipeline()
    with pytest.raises(sl.OperationError, match=r"each of the dimensions y, x once, got \('y', 'y'\)"):
        sl.set_layout(p, "alloc t", ("y", "y"))
    with pytest.raises(sl.OperationError, match="an order is a list of all dimensions"):
        sl.set_layout(p, "alloc t", "yx")
    with pytest.raises(sl.OperationError, match="a power of two, up to 4096, got 3"):
        sl.set_layout(p, "alloc t", ("x", "y"), alignment=3)
    with pytest.raises(sl.InvalidCursorError, match="buffer t has no dimension 'z'"):
        sl.set_layout(p, "alloc t", ("x", "z"))
    p, loops = sl.split_loop(p, "square.y", 1, rc=True)
    p, made = sl.compute_at(p, "make", loops.outer, rc=True)
    p = sl.fold_storage(sl.slide_window(p, made.call, made.loop), made.alloc, "y")
    with pytest.raises(sl.SchedulingError, match="t is folded along y, so its rows lie one behind the other"):
        sl.set_layout(p, "alloc t", ("x", "y"))
