"""Calls over the same box as one loop in C: which are, which are not, and that elements are the same in every bit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from random_arithmetic import plane, same_bits

import slinky as sl
from slinky.native.compiling import compiler

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("quick_libraries"),
]


def planes(*names: str, dtype: Any = np.float32) -> Iterator[sl.BufferExpr]:
    return (plane(name, dtype) for name in names)


def by_rows(p: sl.Pipeline, rows: int = 1) -> sl.Pipeline:
    """Every call in one loop over rows, from the last on."""
    last, *others = [call.name() for call in p.find_all("_ = _")][::-1]
    p, (loop, _, _) = sl.split_loop(p, f"{last}.y", rows, rc=True)
    for name in others:
        p, at = sl.compute_at(p, name, loop, rc=True)
        p = sl.store_at(p, at.alloc, loop)
    return p


def loops(p: sl.Pipeline) -> set[str]:
    """The names of loops that are those of several calls, in the C text of a pipeline."""
    return set(re.findall(r"void slinky_(\w+_and_\w+)_\d+\(", p.to_c()))


def image(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    values.flat[::7] = [np.inf, -0.0, np.nan, 1e30, -np.inf, 1e-42][seed % 6] if values.dtype.kind == "f" else 3
    return values


def agree(p: sl.Pipeline, q: sl.Pipeline, *shape: int, dtype: Any = np.float32, **scalars: Any) -> None:
    """What is scheduled gives natively what the pipeline gives by NumPy, in every bit."""
    given = sl.Buffer(image(shape[0] + 8, shape[1] + 8, seed=shape[0], dtype=dtype), min=(-4, -4))
    found = []
    for each, backend in ((p, "python"), (q, "native"), (q, "native-exact")):
        outputs = [sl.Buffer(np.zeros(shape, o.dtype), min=(0, 0)) for o in p.program.outputs]
        with np.errstate(all="ignore"):
            each.run(given, *outputs, backend=backend, **scalars)
            each.compile(backend=backend)(given, *outputs, **scalars)
        found.append([o.array for o in outputs])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            same_bits(a, b)


SHAPES = [(6, 9), (1, 1), (5, 40), (9, 64)]


# ----------------------------------------------------------------------------------------------------------------
# Which are joined
# ----------------------------------------------------------------------------------------------------------------


def slopes() -> sl.Pipeline:
    """Two derivatives, and the product of them."""
    a, down, across, out = planes("a", "down", "across", "out")
    sl.arithmetic(a[y + 1, x] - a[y - 1, x], down[y, x], name="down")
    sl.arithmetic(a[y, x + 1] - a[y, x - 1] + a[y + 1, x], across[y, x], name="across")
    sl.arithmetic(down[y, x] * across[y, x - 1] + down[y, x - 1] * across[y, x], out[y, x], name="product")
    return sl.build_pipeline([a], [out])


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_calls_that_read_the_same_are_one_loop(rows: int, shape: tuple[int, int]) -> None:
    p = slopes()
    q = by_rows(p, rows)
    assert loops(q) in ({"down_and_across"}, {"across_and_down"})
    agree(p, q, *shape)


def test_more_than_two_are_joined_and_the_same_step_is_one() -> None:
    a, one, two, three, out = planes("a", "one", "two", "three", "out")
    sl.arithmetic(a[y, x] * a[y, x + 1], one[y, x], name="one")
    sl.arithmetic(a[y, x] * a[y, x + 1] + a[y, x], two[y, x], name="two")
    sl.arithmetic(a[y, x] * a[y, x + 1], three[y, x], name="three")
    sl.arithmetic(one[y, x] - two[y, x] - three[y, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q = by_rows(p)
    (name,) = loops(q)
    assert sorted(name.split("_and_")) == ["one", "three", "two"]
    agree(p, q, 5, 21)


def test_numbers_of_the_same_name_are_told_apart() -> None:
    a, one, two, out = planes("a", "one", "two", "out")
    f, g, n = sl.scalar("f", float), sl.scalar("g", float), sl.scalar("n")
    sl.arithmetic(a[y, x] * f + a[y, x + 1] * g + n, one[y, x], name="one")
    sl.arithmetic(a[y, x] * g - a[y, x + 2] * f * n, two[y, x], name="two")
    sl.arithmetic(one[y, x] - two[y, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q = by_rows(p)
    assert len(loops(q)) == 1
    agree(p, q, 4, 11, f=0.3, g=-7.5, n=3)


def in_windows(rows: int) -> tuple[sl.Pipeline, sl.Pipeline]:
    """Two funcs in windows that slide, so many rows at a time: not scheduled, and scheduled."""
    a, one, two, out = planes("a", "one", "two", "out")
    sl.arithmetic(a[y, x] * 2 - a[y, x + 1], one[y, x], name="one")
    sl.arithmetic(a[y, x] + a[y, x + 1], two[y, x], name="two")
    sl.arithmetic(one[y - 1, x] * two[y + 1, x] + one[y + 1, x] * two[y - 1, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q, (loop, _, _) = sl.split_loop(p, "rest.y", rows, rc=True)
    for name in ("one", "two"):
        q, at = sl.compute_at(q, name, loop, rc=True)
        q = sl.fold_storage(sl.slide_window(q, at.call, loop), at.alloc, "y")
    return p, q


def test_rows_that_are_kept_in_windows_are_written_by_one_loop() -> None:
    p, q = in_windows(1)
    assert loops(q) in ({"one_and_two"}, {"two_and_one"})
    for shape in SHAPES:
        agree(p, q, *shape)


# ----------------------------------------------------------------------------------------------------------------
# Which are not
# ----------------------------------------------------------------------------------------------------------------


def test_what_ignores_other_errors_is_another_loop() -> None:
    """One loop says nothing of the same errors from its beginning to its end."""
    for ignored, count in ((["divide"], 1), (["invalid"], 0), ([], 0)):
        a, one, two, out = planes("a", "one", "two", "out")
        sl.arithmetic(a[y, x] / a[y, x + 1], one[y, x], name="one", ignored=["divide"])
        sl.arithmetic(a[y, x] - a[y, x + 1], two[y, x], name="two", ignored=ignored)
        sl.arithmetic(one[y, x] * 2 - two[y, x], out[y, x], name="rest")
        p = sl.build_pipeline([a], [out])
        q = by_rows(p)
        assert len(loops(q)) == count
        agree(p, q, 5, 21)


def _reading_the_other(a: Any, one: Any, two: Any) -> None:
    sl.arithmetic(a[y, x] * 2, one[y, x], name="one")
    sl.arithmetic(a[y, x] + one[y, x - 1], two[y, x], name="two")


def _reading_the_other_at_its_place(a: Any, one: Any, two: Any) -> None:
    sl.arithmetic(a[y, x] * 2, one[y, x], name="one")
    sl.arithmetic(a[y, x] + one[y, x], two[y, x], name="two")


def _with_nothing_in_common(a: Any, one: Any, two: Any) -> None:
    sl.arithmetic(a[y, x] * 2, one[y, x], name="one")
    sl.arithmetic(a[y, x + 1] + 1, two[y, x], name="two")


def _with_functions(a: Any, one: Any, two: Any) -> None:
    sl.arithmetic(np.sin(a[y, x]), one[y, x], name="one")
    sl.arithmetic(a[y, x] + 1, two[y, x], name="two")


def _of_other_sizes(a: Any, one: Any, two: Any) -> None:
    sl.arithmetic((a[y, x] > 0).astype(np.float32), one[y, x], name="one")
    sl.arithmetic(a[y, x] + 1, two[y, x], name="two")


def _too_long(a: Any, one: Any, two: Any) -> None:
    for target, name in ((one, "one"), (two, "two")):
        value = a[y, x]
        for k in range(13):
            value = value * np.float32(1 + k / 8)
        sl.arithmetic(value, target[y, x], name=name)


@pytest.mark.parametrize(
    "make",
    [
        _reading_the_other,
        _reading_the_other_at_its_place,
        _with_nothing_in_common,
        _with_functions,
        _of_other_sizes,
        _too_long,
    ],
    ids=lambda make: make.__name__,
)
def test_others_are_not_joined(make: Callable[..., None]) -> None:
    a, one, two, out = planes("a", "one", "two", "out")
    make(a, one, two)
    sl.arithmetic(one[y, x] - two[y, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q = by_rows(p)
    assert not loops(q)
    if make is not _with_functions:
        agree(p, q, 4, 19)


def test_calls_over_other_boxes_are_not_joined() -> None:
    a, one, two, out = planes("a", "one", "two", "out")
    sl.arithmetic(a[y, x] * a[y, 2], one[y, x], name="one")
    sl.arithmetic(a[y, x] + a[y, 2], two[y, x], name="two")
    sl.arithmetic(one[y, x - 1] * one[y, x] - two[y, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q = by_rows(p)
    assert not loops(q)
    agree(p, q, 4, 19)


def test_what_may_lie_where_the_other_reads_is_not_joined() -> None:
    """`late` takes the memory of `first`, which `middle` reads at other places, and nobody after it."""
    a, first, middle, late, out = planes("a", "first", "middle", "late", "out")
    sl.arithmetic(a[y, x] * 3, first[y, x], name="first")
    sl.arithmetic(first[y, x - 1] + first[y, x + 1] + a[y, x], middle[y, x], name="middle")
    sl.arithmetic(a[y, x] - 1, late[y, x], name="late")
    sl.arithmetic(middle[y, x] * late[y, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q = by_rows(p)
    for _ in range(2):
        q = sl.reorder_statements(q, q.find("late(_)").expand(after=1))
    assert [call.name() for call in q.find_all("_ = _")] == ["first", "middle", "late", "rest"]
    assert not loops(q)
    for shape in SHAPES:
        agree(p, q, *shape)


def test_several_rows_of_a_folded_buffer_are_joined_where_they_are_one_array() -> None:
    """In a file of C they are not, for want of mirrored memory: there each is called by rows."""
    p, q = in_windows(2)
    assert not loops(q)
    for shape in SHAPES:
        agree(p, q, *shape)


def test_what_has_no_text_is_said_of_a_call_alone() -> None:
    a, one, two, out = planes("a", "one", "two", "out", dtype=np.float64)
    sl.arithmetic(np.logaddexp(a[y, x], 1), one[y, x], name="one")
    sl.arithmetic(np.logaddexp(a[y, x], 2), two[y, x], name="two")
    sl.arithmetic(one[y, x] - two[y, x], out[y, x], name="rest")
    p = by_rows(sl.build_pipeline([a], [out]))
    with pytest.raises(sl.CompilationError, match=r"(one|two) has no text in C"):
        p.to_c()


def test_coordinates_are_those_of_each_call() -> None:
    a, one, two, out = planes("a", "one", "two", "out", dtype=np.float64)
    sl.arithmetic(a[y, x] * x, one[y, x], name="one")
    sl.arithmetic(a[y, x] + x, two[y, x], name="two")
    sl.arithmetic(one[y, x] - two[y, x], out[y, x], name="rest")
    p = sl.build_pipeline([a], [out])
    q = by_rows(p)
    assert not loops(q)
    agree(p, q, 4, 19, dtype=np.float64)


# ----------------------------------------------------------------------------------------------------------------
# At random
# ----------------------------------------------------------------------------------------------------------------


def random_pipeline(choose: random.Random) -> sl.Pipeline:
    """Layers of funcs, of which several read the same places."""
    a = plane("a", np.float32)
    sources, number = [a], 0
    for _ in range(choose.randint(1, 3)):
        places = [s[y + choose.randint(-1, 1), x + choose.randint(-1, 1)] for s in sources for _ in range(2)]
        made = []
        for _ in range(choose.randint(2, 3)):
            target = plane(f"b{number}", np.float32)
            chosen = choose.sample(places, min(len(places), choose.randint(1, 3)))
            value = chosen[0] * np.float32(choose.randint(1, 3))
            for each in chosen[1:]:
                value = choose.choice([value + each, value - each, value * each, np.maximum(value, each)])
            sl.arithmetic(value, target[y, x], name=f"f{number}")
            made.append(target)
            number += 1
        sources = [*made, *([a] if choose.random() < 0.5 else [])]
    out = plane("out", np.float32)
    total = made[0][y, x]
    for each in made[1:]:
        total = total - each[y, x + choose.randint(-1, 1)]
    sl.arithmetic(total, out[y, x], name="last")
    return sl.build_pipeline([a], [out])


@pytest.mark.parametrize("seed", range(settings().max_examples // 4))
def test_random_ones_give_the_same_bits(seed: int) -> None:
    choose = random.Random(seed)
    p = random_pipeline(choose)
    q = by_rows(p, choose.randint(1, 3)) if choose.random() < 0.5 else sl.strips(p, choose.randint(1, 3))
    shape = (choose.randint(1, 9), choose.randint(1, 70))
    given = sl.Buffer(image(shape[0] + 24, shape[1] + 24, seed=seed), min=(-12, -12))
    results = []
    for each, backend in ((p, "python"), (q, "native")):
        target = np.zeros(shape, np.float32)
        with np.errstate(all="ignore"):
            each.compile(backend=backend)(given, sl.Buffer(target, min=(0, 0)))
        results.append(target)
    same_bits(*results)
