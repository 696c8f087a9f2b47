"""What callbacks do to arrays, as their source tells: checked against NumPy, where it can say the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slinky as sl
from benchmarks.apps import NAMES, load
from slinky.sched.efforts import Effort, effort_of
from slinky.sched.efforts.arrays import ShapeOnly, lines
from slinky.sched.efforts.counting import ELEMENTWISE, STREAMED, Counting
from slinky.sched.efforts.reading import Reading
from slinky.sched.relations import relations

Array = np.ndarray[Any, Any]
FLOAT = np.dtype(np.float32)
SHAPE = (600, 500)
SIZE = 600 * 500


def effort(function: object, *shapes: tuple[int, ...], dtype: np.dtype[Any] = FLOAT, **options: Any) -> Effort:
    """That of a function of inputs and an output of these shapes."""
    *inputs, output = [(shape, dtype) for shape in shapes]
    found = effort_of(function, inputs, [output], **options)
    assert found is not None
    return found


def moved(found: Effort) -> float:
    return sum(stream.moved for stream in found.streams)


def made(found: Effort, *shapes: tuple[int, ...]) -> float:
    """The most bytes that it makes, beside inputs and outputs of these shapes."""
    return max(stream.at_hand for stream in found.streams) - sum(4 * int(np.prod(shape)) for shape in shapes)


# What is counted ------------------------------------------------------------------------------------------------------


def add_one(source: Array, target: Array) -> None:
    np.add(source, np.float32(1), out=target)


def test_an_operation_goes_over_what_it_reads_and_writes() -> None:
    found = effort(add_one, SHAPE, SHAPE)
    assert found.operations == 1
    assert found.computed >= ELEMENTWISE * 4 * SIZE
    assert moved(found) == STREAMED * 3 * 4 * SIZE  # what is written is fetched first
    assert made(found, SHAPE, SHAPE) == 0


def test_what_is_changed_in_place_is_there() -> None:
    def twice(source: Array, target: Array) -> None:
        np.add(target, source, out=target)

    assert moved(effort(twice, SHAPE, SHAPE)) == STREAMED * 2 * 4 * SIZE


def test_temporaries_are_there_as_long_as_something_reaches_them() -> None:
    def one_at_a_time(source: Array, target: Array) -> None:
        a = source + 1
        a = source + 2
        target[...] = a

    def both(source: Array, target: Array) -> None:
        a = source + 1
        b = source + 2
        target[...] = a - b

    def nested(source: Array, target: Array) -> None:
        target[...] = (source + 1) * (source + 2)

    one, two, three = (made(effort(f, SHAPE, SHAPE), SHAPE, SHAPE) for f in (one_at_a_time, both, nested))
    assert (one, two, three) == (2 * 4 * SIZE, 3 * 4 * SIZE, 3 * 4 * SIZE)


@pytest.mark.parametrize("count", [0, 1, 5, 40])
def test_loops_count_as_often_as_they_go(count: int) -> None:
    def loop(source: Array, target: Array) -> None:
        for _ in range(count):
            np.add(target, source, out=target)

    found = effort(loop, SHAPE, SHAPE)
    assert found.operations == count
    assert moved(found) == count * STREAMED * 2 * 4 * SIZE


def test_turns_that_vary_are_looked_at_one_by_one() -> None:
    def triangle(source: Array, target: Array) -> None:
        for n in range(4):
            for _ in range(n):
                np.add(target, source, out=target)

    assert effort(triangle, SHAPE, SHAPE).operations == 0 + 1 + 2 + 3


def test_planes_are_parts_and_at_hand_one_at_a_time() -> None:
    def by_planes(source: Array, target: Array) -> None:
        for plane, result in zip(source, target, strict=True):
            np.multiply(plane, plane, out=result)

    found = effort(by_planes, (8, *SHAPE), (8, *SHAPE))
    assert found.operations == 8
    (stream,) = found.streams
    assert stream.moved == 8 * STREAMED * 3 * 4 * SIZE
    assert stream.at_hand == 3 * 4 * SIZE  # what is written takes the room of two


def test_how_long_operations_take_on_little_is_not_told_where_a_loop_may_go_along_the_strips() -> None:
    def by_rows(source: Array, target: Array) -> None:
        for row, result in zip(source, target, strict=True):
            np.add(row, row, out=result)

    assert effort(by_rows, SHAPE, SHAPE).calls is None
    assert effort(by_rows, (10, 500), (10, 500)).calls is not None


def test_functions_are_followed() -> None:
    def inner(a: Array, k: int) -> Array:
        return a + k

    def outer(source: Array, target: Array, times: int = 3) -> None:
        target[...] = sum(inner(source, k) for k in range(times))

    found = effort(outer, SHAPE, SHAPE)
    assert found.operations == 3 + 3 + 1  # what is summed up, the sum, and the copy


def test_methods_are_followed() -> None:
    class Scaled:
        def callback(self, source: Array, target: Array) -> None:
            np.multiply(source, np.float32(3), out=target)

    def callback(source: Array, target: Array) -> None:
        method(source, target)

    method = Scaled().callback
    assert moved(effort(callback, SHAPE, SHAPE)) == STREAMED * 3 * 4 * SIZE


def test_methods_lists_and_dictionaries() -> None:
    weights = {0: np.float32(1), 2: np.float32(3)}

    def tapped(source: Array, target: Array) -> None:
        taps = [(source[k : k + 500], weight) for k, weight in weights.items()]
        np.multiply(*taps[0], out=target)
        for tap, weight in taps[1:]:
            target += tap * weight

    assert effort(tapped, (602, 500), (500, 500)).operations == 3


def test_what_is_returned_is_copied() -> None:
    def double(source: Array) -> Array:
        return source * np.float32(2)

    assert effort(sl.returns(double), SHAPE, SHAPE).operations == 2


def test_buffers_know_where_they_begin() -> None:
    def evens(source: sl.Buffer, target: sl.Buffer) -> None:
        begin = target.min[0] % 2
        part = target.array[begin::2]
        np.copyto(part, source.array[begin : begin + len(part)])

    for first, rows in ((0, 300), (1, 299)):
        found = effort(evens, (599, 500), (599, 500), begins=[(0, 0), (first, 0)])
        assert moved(found) == STREAMED * 3 * 4 * 500 * rows


def test_gathers_compute_for_each_index() -> None:
    def look_up(table: Array, index: Array, target: Array) -> None:
        target[...] = table[index]

    given = [((256,), FLOAT), (SHAPE, np.dtype(np.uint8))]
    found = effort_of(look_up, given, [(SHAPE, FLOAT)])
    assert found is not None
    assert found.computed > 10 * effort(add_one, SHAPE, SHAPE).computed / ELEMENTWISE


# What is not told -----------------------------------------------------------------------------------------------------


def test_no_callback_is_run() -> None:
    ran = list[int]()

    class Sly:
        def __getattr__(self, name: str) -> object:
            ran.append(1)
            return lambda *_: ran.append(2)

        def __len__(self) -> int:
            ran.append(3)
            return 1

    sly = Sly()

    table = {1: 2}

    class Number(int):
        def __add__(self, other: int) -> int:
            ran.append(5)
            return 1

        def __hash__(self) -> int:
            ran.append(6)
            return 1

        def __eq__(self, other: object) -> bool:
            ran.append(7)
            return True

    three = Number(3)

    def callback(source: Array, target: Array) -> None:
        ran.append(4)
        table[2] = 3
        target[...] = source + len(sly.rows) + sly.shift(source) + len(sly) + sly(source)
        target[three + 1 :] += {three: 2}[three] + (sly is three) + (three == 3)
        for each in (sly, three, *ran, *table):
            target += each

    assert effort(callback, SHAPE, SHAPE).operations >= 2
    assert not ran
    assert table == {1: 2}


def test_nothing_of_the_users_is_changed() -> None:
    """Lists and dictionaries of theirs, wherever a callback gets at them."""
    theirs: list[Any] = [[1], {2: 3}]
    module = ModuleType("settings")
    module.__dict__["theirs"] = theirs

    def change(found: list[Any]) -> None:
        found.append(1)
        found[0].append(2)
        found[1][4] = 5

    def callback(source: Array, target: Array, default: list[Any] = theirs, *, named: list[Any] = theirs) -> None:
        for each in (theirs, module.theirs, default, named):
            change(each)
        held(theirs[0])
        change(*[theirs])
        each_of(*theirs)
        target[...] = source

    def append(found: list[Any], _: object) -> None:
        found.append(1)

    def each_of(found: list[Any], others: dict[int, int]) -> None:
        found.append(1)
        others[7] = 8

    held = partial(append, theirs[0])
    assert effort(callback, SHAPE, SHAPE).operations >= 1
    assert theirs == [[1], {2: 3}]


def test_functions_of_numpys_are_known_by_any_name() -> None:
    where = np.where

    def callback(source: Array, target: Array) -> None:
        target[...] = where(source > 0, source, source)

    found = effort(callback, SHAPE, SHAPE)
    assert found.operations == 3


def test_functions_without_a_source_are_not_told() -> None:
    names: dict[str, Any] = {}
    exec("def made(source, target):\n    target[...] = source\n", names)
    shaped = [(SHAPE, FLOAT)]
    for function in (names["made"], np.sort, len, sl.ndimage.gaussian_filter, object()):
        assert effort_of(function, shaped, shaped) is None
    two = (lambda a, o: np.copyto(o, a), lambda a, o: np.exp(a, out=o))
    assert all(effort_of(function, shaped, shaped) is None for function in two)


def test_whatever_the_source_says_this_ends() -> None:
    def forever(source: Array, target: Array) -> None:
        while True:
            forever(source, target)

    def deep(source: Array, target: Array) -> None:
        for _ in range(30):
            for _ in range(30):
                for _ in range(30):
                    for k in range(30):
                        if k:
                            target += source
        target[...] = [[[source for _ in range(10**9)] for _ in range(10**9)] for _ in range(10**9)]

    def wrong(source: Array, target: Array) -> None:
        a, *b = 1, 2, 3
        c = {[]: 1}.get(source, 0)[1:2:0]
        target[..., 7, 7, 7] = np.moveaxis(source, 5) + (1).real / 0 + c.x[b] + undefined  # type: ignore[name-defined] # noqa: F821
        np.add()
        np.concatenate(3).reshape(-1, 0, "x")
        np.sum(source, axis="y", out=3)
        del a

    for function in (forever, deep, wrong):
        effort_of(function, [(SHAPE, FLOAT)], [(SHAPE, FLOAT)])


@pytest.mark.parametrize("name", NAMES)
def test_the_callbacks_of_applications_are_told(name: str) -> None:
    app = load(name)
    found = relations(app.build(), *app.arrays(app.quick))
    told = [call.effort for call in found.calls if not call.in_loops]
    assert sum(each is not None for each in told) >= len(told) - 2


def test_of_nearly_as_many_elements_it_is_nearly_the_same() -> None:
    y, x = sl.variables("y x")
    image, mid, out = (sl.BufferExpr(name, np.float32, 2) for name in ("image", "mid", "out"))
    for source, target in ((image, mid), (mid, out)):
        sl.Func(lambda a, o: np.add(a[2:], a[:-2], out=o), [source[sl.interval(y - 1, y + 1), x]], [target[y, x]])
    array = sl.Buffer(np.zeros((1004, 900), np.float32), (-2, 0))
    found = relations(sl.build_pipeline([image], [out]), array, (1000, 900))
    first, second = (call.effort for call in found.calls)
    assert first is not None
    assert second is not None
    assert first.operations == second.operations
    assert second.computed == pytest.approx(first.computed, rel=0.01)
    assert 0.99 < moved(second) / moved(first) < 1


# Arrays without elements ----------------------------------------------------------------------------------------------


def shape_only(array: Array) -> ShapeOnly:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return ShapeOnly(array.shape, array.dtype, strides)


indices = st.one_of(
    st.integers(0, 1), st.none(), st.slices(6), st.sampled_from([slice(None), slice(1, None), slice(None, None, 2)])
)


@given(st.lists(indices, max_size=4), st.booleans())
def test_views_have_the_shapes_and_strides_of_numpy(index: list[Any], dots: bool) -> None:
    array = np.zeros((6, 5, 4), np.float32)
    chosen = tuple([Ellipsis] * dots + index)
    if sum(each is not None and each is not Ellipsis for each in chosen) > 3:
        return
    view, found = array[chosen], shape_only(array).taken(chosen)
    assert found.shape == view.shape
    for extent, mine, theirs in zip(view.shape, found.strides, view.strides, strict=True):
        assert extent < 2 or mine * 4 == theirs


@st.composite
def views(draw: st.DrawFn) -> Array:
    """Views of three axes with the same extents."""
    order = draw(st.permutations(range(3)))
    steps = draw(st.tuples(*[st.sampled_from([1, 1, 2])] * 3))
    gaps = draw(st.tuples(*[st.sampled_from([0, 0, 1])] * 3))
    extents = (4, 3, 5)
    there = [extents[axis] * step + gap for axis, step, gap in zip(order, steps, gaps, strict=True)]
    array = np.zeros(there, np.float32)[tuple(slice(0, extents[a] * s, s) for a, s in zip(order, steps, strict=True))]
    return array.transpose(np.argsort(order))


@given(st.lists(views(), min_size=1, max_size=3))
@settings(max_examples=200)
def test_lines_are_those_of_numpys_iterator(arrays: list[Array]) -> None:
    """Where all lie in one order; else NumPy takes another order than that of the last array."""
    orders = {tuple(np.argsort([-s for s in array.strides], kind="stable")) for array in arrays}
    flags: list[Any] = [["readonly"]] * len(arrays)
    chunks = sum(1 for _ in np.nditer(arrays, flags=["external_loop"], op_flags=flags))
    count, _ = lines([shape_only(array) for array in arrays])
    if len(orders) == 1:
        assert count == chunks
    assert 1 <= count <= arrays[0].size


CALLS: list[Callable[[Array], object]] = [
    lambda a: a.sum(axis=0),
    lambda a: np.sum(a, axis=(0, 2), keepdims=True),
    lambda a: np.mean(a, axis=-1),
    lambda a: a.max(axis=1, keepdims=True),
    lambda a: np.argmax(a, axis=0),
    lambda a: np.any(a > 1, axis=2),
    lambda a: np.var(a, axis=1),
    lambda a: np.moveaxis(a, 0, -1),
    lambda a: np.transpose(a, (2, 0, 1)),
    lambda a: a.T,
    lambda a: a.swapaxes(0, 2),
    lambda a: np.expand_dims(a, 1),
    lambda a: np.squeeze(a[:1]),
    lambda a: a.reshape(6, -1),
    lambda a: a.ravel(),
    lambda a: np.broadcast_to(a[0], (7, 5, 4)),
    lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, axis=1),
    lambda a: a.astype(np.uint8),
    lambda a: np.float64(a),
    lambda a: a[None, ..., 0],
    lambda a: a + a[:, :1],
    lambda a: a[0] @ a[0].T,
    lambda a: np.matmul(a, a.swapaxes(1, 2)),
    lambda a: np.dot(a[0], a[0, 0]),
    lambda a: a.astype(np.int32) / 2,
    lambda a: a.astype(np.int32) * 2.5,
    lambda a: a > 0,
    lambda a: np.isnan(a),
    lambda a: -a,
    lambda a: np.where(a > 0, a, 0),
    lambda a: np.clip(a, 0, 1),
    lambda a: np.exp(a) ** 2,
    lambda a: np.zeros_like(a, dtype=np.int8),
    lambda a: np.empty((3, len(a)), np.uint16),
    lambda a: np.full(a.shape, 1.0),
    lambda a: np.arange(2, a.shape[1]),
    lambda a: np.concatenate([a, a], axis=1),
    lambda a: np.stack([a, a, a], axis=-1),
    lambda a: np.cumsum(a, axis=1),
    lambda a: np.cumsum(a),
    lambda a: np.sort(a, axis=0),
    lambda a: np.take(a[0, 0], np.arange(3)),
    lambda a: np.take_along_axis(a, np.argsort(a, axis=1), axis=1),
    lambda a: np.bincount(a.astype(np.uint8).ravel(), minlength=300),
    lambda a: np.add.reduce(a),
    lambda a: np.maximum.reduce(a, axis=1),
    lambda a: a[:, np.arange(3)],
    lambda a: a[np.arange(2), np.arange(2)],
    lambda a: np.ascontiguousarray(a.T),
    lambda a: [a[k] for k in range(3) if k != 1][1],
    lambda a: sum(a[k] for k in range(2)),
    lambda a: max(2, len(a)) * a[:, ::-1][::2],
]


@pytest.mark.parametrize("function", CALLS)
def test_results_have_the_shapes_and_dtypes_of_numpys(function: Callable[[Array], object]) -> None:
    array = np.ones((6, 5, 4), np.float32)
    right = np.asarray(function(array))
    found = Reading(Counting()).called(function, [ShapeOnly(array.shape, array.dtype)], {})
    assert isinstance(found, ShapeOnly)
    assert (found.shape, found.dtype) == (right.shape, right.dtype)
