"""Names that a rewrite is given: none may mean two things at one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl


def add(source: Any, target: Any, offset: int) -> None:
    np.add(source, offset, out=target)


def blur(source: Any, target: Any) -> None:
    target[...] = source[:, :-2] + 10 * source[:, 1:-1] + 100 * source[:, 2:]


def scaled_blur() -> sl.Pipeline:
    """A scalar, an input, an intermediate, an output and two funcs, all of different names."""
    y, x = sl.variables("y x")
    gain = sl.scalar("gain")
    inp, mid, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "mid", "out"))
    sl.Func(add, [inp[y, x]], [mid[y, x]], arguments={"offset": gain})
    sl.Func(blur, [mid[y, sl.interval(x - 1, x + 1)]], [out[y, x]])
    return sl.build_pipeline([inp], [out])


WHOLE = scaled_blur()
LOOPED = sl.split_loop(sl.split_loop(WHOLE, "blur.y", 4), "blur.x", 2)
TAKEN = ["gain", "inp", "mid", "out", "add", "blur"]


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize(
    "split",
    [
        lambda name: sl.split_loop(WHOLE, "blur.y", 4, names=name),
        lambda name: sl.split_loop(LOOPED, "for y", 3, names=(name, "y")),
        lambda name: sl.split_loop(LOOPED, "for y", 3, names=("outer", name)),
    ],
    ids=["of a dimension", "outer", "inner"],
)
def test_a_loop_is_not_called_like_anything_else(split: Callable[[str], Any], name: str) -> None:
    with pytest.raises(sl.SchedulingError, match=f"the name '{name}' is taken here") as refused:
        split(name)
    names = {"p": refused.value.attempt.pipeline, "sl": sl}
    exec(refused.value.remedy, names)
    names["p"].verify()


@pytest.mark.parametrize("names", [("a", "a"), ("y", "y"), ("x", "y"), ("a", "x"), ("x", "a")])
def test_two_loops_around_each_other_have_different_names(names: tuple[str, str]) -> None:
    with pytest.raises(sl.SchedulingError, match=r"the name '\w' is taken here"):
        sl.split_loop(LOOPED, "for y", 3, names=names)


def test_a_loop_is_not_called_like_a_scalar_that_comes_with_it() -> None:
    size = sl.scalar("size")
    with pytest.raises(sl.SchedulingError, match="the name 'size' is taken here"):
        sl.split_loop(WHOLE, "blur.y", size, names="size")
    with pytest.raises(sl.SchedulingError, match="the name 'size' is taken here"):
        sl.split_loop(LOOPED, "for y", size, names=("outer", "size"))
    assert sl.split_loop(WHOLE, "blur.y", sl.scalar("y")).find("for y_1")


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda p, e: sl.split_loop(p, "for x", e),
        lambda p, e: sl.split_loop(p, "add.y", e),
        lambda p, e: sl.cut_loop(p, "for x", p.find("for x").bounds().min + e),
        lambda p, e: sl.fold_storage(p, "alloc mid", "y", e),
    ],
    ids=["of a loop", "of a dimension", "cut", "fold"],
)
@pytest.mark.parametrize("name", ["y", "x", "mid", "inp"])
def test_a_scalar_is_not_called_like_anything_else(rewrite: Callable[[Any, Any], Any], name: str) -> None:
    with pytest.raises(sl.OperationError, match=f"names the scalar {name}"):
        rewrite(LOOPED, sl.scalar(name))


def test_the_name_that_a_loop_gives_up_is_free() -> None:
    p = sl.split_loop(LOOPED, "for y", 3, names=("y", "inner"))
    assert [loop.name() for loop in p.find_all("for _")] == ["y", "inner", "x"]
    p.verify()
    source = np.arange(1200).reshape(30, 40)
    expected, got = (np.zeros((30, 38), np.int64) for _ in range(2))
    given = sl.Buffer(source, min=(0, -1))
    WHOLE.run(given, expected, gain=3)
    p.run(given, got, gain=3, checked=True)
    assert np.array_equal(got, expected)


def test_loops_chosen_names_keep_clear_of_funcs() -> None:
    (x,) = sl.variables("x")
    inp, out = sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    sl.Func(np.negative, [inp[x]], [out[x]], name="x")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "x.x", 4)
    assert p.find("x").name() == "x", "the bare name still means the call"
    assert p.find("for _").name() == "x_1"


def test_a_buffer_with_the_name_of_an_extension() -> None:
    """Whose name is taken is said, for only one of the two was named by the user."""
    (x,) = sl.variables("x")
    inp, other, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "inp_wrap", "out"))
    sl.Func(np.negative, [inp.extended("wrap")[x - 1]], [other[x]], name="f")
    sl.Func(np.negative, [other[x]], [out[x]], name="g")
    with pytest.raises(sl.GraphError) as caught:
        sl.build_pipeline([inp], [out])
    assert str(caught.value) == (
        "two different buffers are called 'inp_wrap' (one of them is what `extended` gives); names must be unique in a "
        "pipeline"
    )
