"""Strides and alignments of intermediates that the user asks for: stored so, seen by callbacks, counted."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slinky as sl
from slinky import ir
from slinky.errors import ExecutionError
from slinky.ir.statements import Alloc
from slinky.runtime.strided import Strided, laid

y, x = sl.variables("y x")
pad = sl.scalar("pad")
IMAGE = np.arange(63, dtype=np.float32).reshape(9, 7)
OPTIONS: list[dict[str, Any]] = [{}, {"backend": "interpreter"}, {"checked": True}, {"checked": "first"}]

Seen = list[tuple[tuple[int, ...], int]]


def blur(setup: Callable[[sl.BufferExpr], None], seen: Seen, **options: Any) -> sl.Pipeline:
    """Two stages; `seen` is told the strides and the address of each piece of the intermediate that is written."""

    def add(source: np.ndarray, target: np.ndarray) -> None:
        seen.append((target.strides, target.ctypes.data))
        np.add(source, 1, out=target)

    def sum_of_rows(source: np.ndarray, target: np.ndarray) -> None:
        np.add(source[:-2], source[2:], out=target)

    inp, intm, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "intm", "out"))
    sl.Func(add, [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(sum_of_rows, [intm[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="blur")
    setup(intm)
    return sl.build_pipeline([inp], [out], **options)


def aligned(by: int) -> Callable[[sl.BufferExpr], None]:
    return lambda intm: setattr(intm, "alignment", by)


def by_columns(intm: sl.BufferExpr) -> None:
    intm.dim(0).stride = 4


def padded_rows(intm: sl.BufferExpr) -> None:
    intm.dim(0).stride = 4 * intm.dim(1).extent + pad


def run(p: sl.Pipeline, seen: Seen, **scalars: int) -> list[sl.RunStatistics]:
    """The statistics of runs in all ways, whose results are right."""
    found = []
    for options in OPTIONS:
        seen.clear()
        statistics = p.run(IMAGE, **options, **scalars)
        np.testing.assert_array_equal(statistics.outputs[0].array, IMAGE[:-2] + IMAGE[2:] + 2)
        found.append(statistics)
    return found


@pytest.mark.parametrize(
    ("setup", "strides", "size", "text"),
    [
        (aligned(64), (64, 4), 9 * 64, " aligned 64"),
        (aligned(16), (32, 4), 9 * 32, " aligned 16"),
        (aligned(4096), (4096, 4), 9 * 4096, " aligned 4096"),
        (by_columns, (4, 36), 9 * 7 * 4, " strides (4, _)"),
        (padded_rows, (40, 4), 8 * 40 + 7 * 4, " strides (4*out.x.max + pad - 4*out.x.min + 4, _)"),
    ],
)
def test_callbacks_see_what_was_asked_for(
    setup: Callable[[sl.BufferExpr], None], strides: tuple[int, ...], size: int, text: str
) -> None:
    seen: Seen = []
    p = blur(setup, seen)
    assert str(p).splitlines()[5].endswith(f"out.x.min..out.x.max]{text}")
    scalars = {"pad": 12} if p.program.scalars else {}
    alignment = p.find("alloc intm").alignment()
    for statistics in run(p, seen, **scalars):
        assert all(found == strides and at % alignment == 0 for found, at in seen)
        assert seen
        assert statistics.program_bytes == size
        assert statistics.peak_bytes == size
    assert p.memory(IMAGE.shape, **scalars) == sl.Memory(size, size)


def test_pieces_are_laid_out_anew() -> None:
    """An alignment holds for whatever is stored; four rows at a time here, of 7 elements in 64 bytes each."""
    seen: Seen = []
    p = sl.split_loop(blur(aligned(64), seen), "blur.y", 2)
    p = sl.compute_at(p, "add", "for y")
    p = sl.store_at(p, "alloc intm", "for y")
    assert "    alloc intm: float32[y - 1 .. min(out.y.max + 1, y + 2), out.x.min..out.x.max] aligned 64" in str(p)
    for statistics in run(p, seen):
        assert len(seen) >= 4
        assert all(strides == (64, 4) and at % 64 == 0 for strides, at in seen)
        assert statistics.program_bytes == 4 * 64
    parallel = sl.parallelize_loop(p, "for y", 2)
    run(parallel, seen)
    assert parallel.memory(IMAGE.shape).program_bytes == 2 * 4 * 64


def test_a_slid_window_keeps_its_layout() -> None:
    seen: Seen = []
    p = sl.split_loop(blur(aligned(32), seen), "blur.y", 1)
    p = sl.compute_at(p, "add", "for y")
    p = sl.slide_window(p, "add", "for y")
    run(p, seen)
    assert {strides for strides, _ in seen} == {(32, 4)}
    assert p.find("alloc intm").alignment() == 32


def test_a_layout_takes_part_in_nothing_else() -> None:
    """A chain of ufuncs works in place, and in the output: not in a buffer whose layout is said."""
    inp, first, second, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "first", "second", "out"))
    for source, target, ufunc in ((inp, first, np.negative), (first, second, np.abs), (second, out, np.sqrt)):
        sl.Func(ufunc, [source[y, x]], [target[y, x]], name=ufunc.__name__)
    assert sl.build_pipeline([inp], [out]).memory((9, 7)).peak_bytes == 0
    second.alignment = 64
    p = sl.build_pipeline([inp], [out])
    assert p.memory((9, 7)) == sl.Memory(9 * 7 * 4 + 9 * 64, 9 * 7 * 4 + 9 * 64)
    np.testing.assert_array_equal(p(IMAGE), np.sqrt(IMAGE))


def test_empty_arrays() -> None:
    seen: Seen = []
    for setup in (aligned(64), by_columns):
        p = blur(setup, seen)
        for options in OPTIONS:
            assert p.run(np.empty((9, 0), np.float32), **options).outputs[0].shape == (7, 0)
        assert p.memory((9, 0)).program_bytes == 0


# Where elements lie ---------------------------------------------------------------------------------------------------


@settings(max_examples=settings().max_examples * 5 // 2)
@given(st.data())
def test_elements_never_share_memory(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    itemsize = data.draw(st.sampled_from([1, 3, 4]))
    alignment = data.draw(st.sampled_from([1, 2, 16]))
    dims = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    strides = [data.draw(st.integers(-2, 40)) for _ in dims]
    try:
        found = laid("b", itemsize, shape, Strided(alignment, tuple(dims)), strides)
    except ExecutionError:
        return
    if 0 in shape:
        assert found.size == 0
        return
    assert [found.strides[d] for d in dims] == strides
    places = {0}
    for stride, extent in zip(found.strides, shape, strict=True):
        assert stride % alignment == 0 or stride == itemsize
        places = {at + stride * n for at in places for n in range(extent)}
    assert len(places) == np.prod(shape)
    inside = sorted(places)
    assert all(b - a >= itemsize for a, b in itertools.pairwise(inside))
    assert inside[-1] + itemsize <= found.size


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        (
            lambda b: (setattr(b.dim(0), "stride", 4), setattr(b.dim(1), "stride", 8)),
            "with the strides that are asked for, (4, 8) along dimensions (0, 1), elements of intm would share memory: "
            "its shape is (9, 7)",
        ),
        (
            lambda b: setattr(b.dim(0), "stride", b.dim(1).extent - 7),
            "the stride of intm along dimension 0 is 0 bytes; needs 1 or more",
        ),
        (
            lambda b: (setattr(b.dim(0), "stride", 40), setattr(b, "alignment", 64)),
            "the stride of intm along dimension 0 is 40 bytes, no multiple of its alignment, 64",
        ),
    ],
)
def test_a_layout_that_there_is_not(setup: Callable[[sl.BufferExpr], None], message: str) -> None:
    seen: Seen = []
    p = blur(setup, seen)
    for attempt in (p.run, p.memory, lambda image: p.run(image, backend="interpreter")):
        with pytest.raises(sl.ExecutionError) as refused:
            attempt(IMAGE)
        assert str(refused.value) == message
    assert seen == []


# What is refused ------------------------------------------------------------------------------------------------------


def test_a_fold_contradicts_it() -> None:
    for setup in (aligned(64), by_columns):
        p = sl.split_loop(blur(setup, []), "blur.y", 1)
        p = sl.compute_at(p, "add", "for y")
        p = sl.slide_window(p, "add", "for y")
        with pytest.raises(
            sl.SchedulingError, match="intm has strides or an alignment that are asked for, and a fold along y would"
        ):
            sl.fold_storage(p, "alloc intm", "y")
        plain = sl.fold_storage(sl.slide_window(*_slidable()), "alloc intm", "y")
        edit = sl.edit(plain)
        edit.replace("alloc intm", attrs.evolve(edit.statement("alloc intm"), layout=ir.Layout((None, None), 64)))
        with pytest.raises(sl.SchedulingError, match="intm has strides or an alignment"):
            edit.finish()


def _slidable() -> tuple[sl.Pipeline, str, str]:
    p = sl.split_loop(blur(lambda intm: None, []), "blur.y", 1)
    return sl.compute_at(p, "add", "for y"), "add", "for y"


def copied(setup: Callable[[sl.BufferExpr], None]) -> sl.Pipeline:
    """`made = -inp`, `out = made` moved by one."""
    inp, made, out = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "made", "out"))
    sl.Func(np.negative, [inp[x]], [made[x]], name="negative")
    sl.copies.copy(made[x + 1], out[x], name="moved")
    setup(made)
    return sl.build_pipeline([inp], [out])


def test_copies_are_not_left_out_for_another_layout() -> None:
    with pytest.raises(sl.SchedulingError, match="made has strides or an alignment that are asked for, which out has"):
        sl.alias_copy(copied(aligned(64)), "moved")
    with pytest.raises(sl.SchedulingError, match="negative computes whole pieces of made, which out may have not"):
        sl.alias_copy(copied(lambda made: setattr(made.dim(0), "multiple", 4)), "moved")
    inp, taken, out = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "taken", "out"))
    sl.copies.copy(inp[x + 1], taken[x], name="moved")
    sl.Func(np.negative, [taken[x]], [out[x]], name="negative")
    taken.alignment = 64
    p = sl.build_pipeline([inp], [out])
    with pytest.raises(sl.SchedulingError, match="taken has strides or an alignment that are asked for, which inp has"):
        sl.alias_copy(p, "moved")


@pytest.mark.parametrize("value", [0, -4, 3, 2.0, True, "64", 8192, None])
def test_alignments_that_are_none(value: Any) -> None:
    buffer = sl.BufferExpr("b", np.float32, 1)
    with pytest.raises(sl.GraphError, match="the alignment of 'b' is a power of two, up to 4096, got"):
        buffer.alignment = value
    assert buffer.alignment == 1


def test_arrays_of_the_caller_are_not_aligned() -> None:
    for name in ("inp", "out"):
        inp, out = sl.BufferExpr("inp", np.float32, 1), sl.BufferExpr("out", np.float32, 1)
        sl.Func(np.negative, [inp[x]], [out[x]], name="negative")
        {"inp": inp, "out": out}[name].alignment = 64
        with pytest.raises(sl.GraphError, match=f"the alignment of '{name}' cannot be assigned: it is given to the"):
            sl.build_pipeline([inp], [out])


def test_strides_speak_of_what_is_known() -> None:
    def own(intm: sl.BufferExpr) -> None:
        intm.dim(0).stride = intm.dim(1).stride * 8

    def other(intm: sl.BufferExpr) -> None:
        intm.dim(0).stride = sl.BufferExpr("other", np.int8, 1).dim(0).extent

    with pytest.raises(sl.GraphError, match="the stride of dimension 0 of 'intm' names intm"):
        blur(own, [])
    with pytest.raises(sl.GraphError, match="'other' is not part of the pipeline"):
        blur(other, [])


def test_it_is_part_of_the_program() -> None:
    p = blur(padded_rows, [])
    (alloc,) = (s for s in p.program.body if isinstance(s, Alloc))
    assert {e.role(): e.text() for e in p.find("alloc intm").expressions()}["y.stride"].startswith("4*out.x.max + pad")
    assert [s if s is None else str(s) for s in p.find("alloc intm").strides()][1] is None
    assert p.find("alloc intm").alignment() == 1
    assert blur(lambda intm: None, []).find("alloc intm").strides() == (None, None)
    assert alloc != attrs.evolve(alloc, layout=None)
    aligned_one = blur(aligned(64), [])
    assert not aligned_one.same_program(blur(aligned(32), []))
    p.verify()
    pickled = sl.build_pipeline(*_of_ufuncs())
    assert str(pickle.loads(pickle.dumps(pickled))) == str(pickled)


def _of_ufuncs() -> tuple[list[sl.BufferExpr], list[sl.BufferExpr]]:
    inp, intm, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "intm", "out"))
    sl.Func(np.negative, [inp[y, x]], [intm[y, x]], name="negative")
    sl.Func(np.abs, [intm[y, x]], [out[y, x]], name="absolute")
    intm.alignment = 64
    return [inp], [out]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (ir.Layout((None,)), "2 dimensions, 1 strides"),
        (ir.Layout((None, None), 3), "an alignment is a power of two, got 3"),
        (ir.Layout((None, 2.5)), "must be an integer or an expression, got 2.5"),  # type: ignore[arg-type]
        ("dense", "must be None or a layout, such as"),
    ],
)
def test_layouts_made_by_hand(layout: Any, message: str) -> None:
    edit = sl.edit(blur(lambda intm: None, []))
    with pytest.raises((sl.OperationError, sl.ProgramError), match=message):
        edit.replace("alloc intm", attrs.evolve(edit.statement("alloc intm"), layout=layout))
