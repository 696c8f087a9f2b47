"""Names that primitives are given: of scalars, loops and pipelines, and numbers of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduled import picture, stencils

import slinky as sl

# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["inp", "out", "b0", "s"])
def test_a_new_scalar_whose_name_is_taken(name: str) -> None:
    p = sl.split_loop(stencils(2), "s2.x", 4, names="s")
    used = sl.scalar(name)
    for rewrite in (
        lambda: sl.split_loop(p, "s2.y", used),
        lambda: sl.split_loop(p, "for s", used + 1),
        lambda: sl.cut_loop(p, "for s", used),
    ):
        with pytest.raises(sl.OperationError, match=f"names the scalar {name}, but the program calls something else"):
            rewrite()


def test_a_new_scalar_called_like_the_loop_that_comes_with_it() -> None:
    plain = stencils(2)
    p = sl.split_loop(plain, "s2.y", sl.scalar("y"))
    p = sl.split_loop(p, "for y_1", sl.scalar("y_1_outer"))
    p.verify()
    assert [loop.name() for loop in p.find_all("for _")] == ["y_1_outer_1", "y_1"]
    image, out = picture(9, 4, 2)
    right = sl.Buffer(np.zeros_like(out.array), min=out.min)
    plain.run(image, right)
    p.run(image, out, checked=True, y=2, y_1_outer=3)
    assert np.array_equal(out.array, right.array)
    with pytest.raises(sl.SchedulingError, match="the name 'y' is taken here"):
        sl.split_loop(plain, "s2.y", sl.scalar("y"), names="y")


@pytest.mark.parametrize("name", ["for", "_", "two words", "", 3])
def test_names_of_loops_and_pipelines_are_names(name: Any) -> None:
    p = stencils(2)
    with pytest.raises(sl.OperationError, match=r"^split_loop: a loop "):
        sl.split_loop(p, "s2.y", 4, names=(name,))
    with pytest.raises(sl.OperationError, match=r"^rename: a pipeline "):
        sl.rename(p, name)


def test_numbers_of_numpy_are_numbers() -> None:
    p, (loop, _, _) = sl.split_loop(stencils(2), "s2.y", np.int32(4), rc=True)
    _, (loop,) = sl.parallelize_loop(p, loop, np.int64(2), rc=True)
    assert str(loop).count("parallel 2") == 1
    p = sl.store_at(sl.compute_at(p, "s1", "for y"), "alloc b1", "for y")
    assert not sl.lift_alloc(p, "alloc b1", np.int8(1)).find("alloc b1").parent()
