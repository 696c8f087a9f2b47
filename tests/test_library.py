"""Schedules of the library: the same results, the memory and the elements that they promise, on trees of all kinds."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scheduled import add_1, compare, picture, stencil, stencils

import slinky as sl
from slinky.sched import library

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]


def buffers(*names: str) -> tuple[sl.BufferExpr, ...]:
    return tuple(sl.BufferExpr(name, np.int32, 2) for name in names)


def rows(weights: tuple[int, ...], step: int = 1) -> Any:
    """A callback that weighs neighbouring rows of each array that it reads; each array has as many windows."""

    def callback(*arrays: Array) -> None:
        *sources, target = arrays
        assert target.size > 0, "a callback was called with an empty region"
        target[...] = 0
        for k, source in enumerate(sources):
            taps = len(source) - step * (len(target) - 1)
            for tap in range(taps):
                target[...] += (weights[tap % len(weights)] + k) * source[
                    tap : tap + step * (len(target) - 1) + 1 : step
                ]

    return callback


def window(buffer: sl.BufferExpr, radius: int) -> Any:
    return buffer[sl.interval(y - radius, y + radius), x]


def skips() -> sl.Pipeline:
    """Three stencils, of which the last also reads the first's input: a skip connection over two of them."""
    inp, a, b, c, out = buffers("inp", "a", "b", "c", "out")
    sl.Func(rows((1,)), [window(inp, 0)], [a[y, x]], name="fa")
    sl.Func(rows((1, 2, 3)), [window(a, 1)], [b[y, x]], name="fb")
    sl.Func(rows((3, 1, 2, 5, 4)), [window(b, 2)], [c[y, x]], name="fc")
    sl.Func(rows((1, 2, 7)), [window(c, 1), window(a, 0)], [out[y, x]], name="fd")
    return sl.build_pipeline([inp], [out])


def rates() -> sl.Pipeline:
    """Half as many rows in between, and as many as before again."""
    inp, half, soft, out = buffers("inp", "half", "soft", "out")
    sl.Func(rows((1, 2), 2), [inp[sl.interval(2 * y, 2 * y + 1), x]], [half[y, x]], name="down")
    sl.Func(rows((1, 3, 1)), [window(half, 1)], [soft[y, x]], name="soften")

    def twice(source: sl.Buffer, target: sl.Buffer) -> None:
        at = np.arange(target.min[0], target.min[0] + len(target.array)) // 2 - source.min[0]
        target.array[...] = source.array[at]

    sl.Func(twice, [soft[y // 2, x]], [out[y, x]], name="up", pass_buffers=True)
    return sl.build_pipeline([inp], [out])


def two_outputs() -> sl.Pipeline:
    """Two outputs over one intermediate, which is made of another one."""
    inp, a, b, left, right = buffers("inp", "a", "b", "left", "right")
    sl.Func(rows((1, 2)), [window(inp, 0)], [a[y, x]], name="fa")
    sl.Func(rows((1, 2, 3)), [window(a, 1)], [b[y, x]], name="fb")
    sl.Func(rows((1, 4, 2)), [window(b, 1)], [left[y, x]], name="fl")
    sl.Func(rows((2,)), [window(b, 0)], [right[y, x]], name="fr")
    return sl.build_pipeline([inp], [left, right])


def mirrored() -> sl.Pipeline:
    """A call that goes through its producer's rows from the last to the first: no window of it slides."""
    inp, soft, out = buffers("inp", "soft", "out")
    sl.Func(rows((1, 2, 3)), [window(inp, 1)], [soft[y, x]], name="soften")

    def mirror(source: Array, target: Array) -> None:
        target[...] = source[::-1]

    sl.Func(mirror, [soft[sl.interval(-y, -y), x]], [out[y, x]], name="mirror")
    return sl.build_pipeline([inp], [out])


def image(low: int, high: int, width: int) -> sl.Buffer:
    values = np.random.default_rng(width).integers(0, 50, (high - low + 1, width)).astype(np.int32)
    return sl.Buffer(values, min=(low, 0))


def target(height: int, width: int, low: int = 0) -> sl.Buffer:
    return sl.Buffer(np.zeros((height, width), np.int32), min=(low, 0))


def test_it_is_written_with_public_names_alone() -> None:
    source = Path(library.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("__future__", "collections.abc", "typing", "slinky.ir", "slinky.symbolic")
            if node.module in ("slinky.ir", "slinky.symbolic"):
                offered = importlib.import_module(node.module).__all__
                assert {name.name for name in node.names} <= set(offered)
        if isinstance(node, ast.Import):
            assert [name.name for name in node.names] == ["slinky"]
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), f"line {node.lineno} takes the private name {node.attr}"
            if isinstance(node.value, ast.Name) and node.value.id == "sl":
                assert node.attr in sl.__all__, f"line {node.lineno}"


# ----------------------------------------------------------------------------------------------------------------
# Tiles
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(37, 50), (8, 16), (1, 1), (0, 3)])
def test_tiles(shape: tuple[int, int]) -> None:
    p = stencil()
    q, made = sl.tile(p, "stencil", {"y": 8, "x": 16}, rc=True)
    assert [loop.name() for loop in made.loops] == ["y", "x"]
    assert sl.enclosing_loops(q, made.call) == made.loops
    inp, out = picture(*shape, 1)
    _, after = compare(p, q, [inp], [out])
    assert after.calls["stencil"] == -(-shape[0] // 8) * -(-shape[1] // 16)
    assert after.elements["stencil"] == shape[0] * shape[1]
    assert str(q.history()).splitlines()[-1] == 'p = sl.tile(p, "stencil", {"y": 8, "x": 16})'


def test_tiles_that_are_none() -> None:
    for sizes in ({}, 8, None):
        with pytest.raises(sl.OperationError, match="how long a tile is"):
            sl.tile(stencil(), "stencil", sizes)
    with pytest.raises(sl.InvalidCursorError, match="has no dimension 'z'"):
        sl.tile(stencil(), "stencil", {"z": 8})


# ----------------------------------------------------------------------------------------------------------------
# Line buffers
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("strip", [1, 2, 5])
@pytest.mark.parametrize("shape", [(23, 9), (5, 4), (1, 1)])
def test_line_buffers_of_a_chain(strip: int, shape: tuple[int, int]) -> None:
    p = stencils(3)
    q, made = sl.line_buffer(p, "s3", "y", strip, rc=True)
    assert [call.name() for call in made.calls] == ["add", "s1", "s2", "s3"]
    assert [alloc.name() for alloc in made.allocs] == ["b0", "b1", "b2"]
    inp, out = picture(*shape, 3)
    before, after = compare(p, q, [inp], [out])
    assert after.elements == before.elements
    lines = [min(strip + 2, shape[0] + 2 * margin) * (shape[1] + 2 * margin) for margin in (3, 2, 1)]
    assert after.program_bytes == sum(lines) * 2


@pytest.mark.parametrize("strip", [1, 4])
def test_line_buffers_across_a_skip_connection(strip: int) -> None:
    p = skips()
    q, made = sl.line_buffer(p, "fd", "y", strip, rc=True)
    assert [call.name() for call in made.calls] == ["fa", "fb", "fc", "fd"]
    before, after = compare(p, q, [image(-4, 33, 6)], [target(30, 6)])
    assert after.elements == before.elements
    # a is kept from where fb reads it first to where fd reads it: 4 rows ahead of fd, and as many as fd is behind.
    held = {"a": strip + 4, "b": strip + 4, "c": strip + 2}
    assert after.program_bytes == sum(held.values()) * 6 * 4


@pytest.mark.sweep
@pytest.mark.parametrize("strip", [2, 4, 6])
@pytest.mark.parametrize("height", [24, 25, 7])
def test_line_buffers_across_changes_of_rate(strip: int, height: int) -> None:
    p = rates()
    q, made = sl.line_buffer(p, "up", "y", strip, rc=True)
    assert [call.name() for call in made.calls] == ["down", "soften", "up"]
    before, after = compare(p, q, [image(-2, 2 * (height // 2) + 7, 5)], [target(height, 5)])
    assert after.elements == before.elements
    assert after.program_bytes <= (strip // 2 + 2 + strip // 2 + 1) * 5 * 4 + 40


def test_what_cannot_slide_stays_outside() -> None:
    p = mirrored()
    q, made = sl.line_buffer(p, "mirror", "y", 1, rc=True)
    assert [call.name() for call in made.calls] == ["mirror"]
    assert made.allocs == ()
    before, after = compare(p, q, [image(-20, 19, 4)], [target(12, 4, -5)])
    assert (after.elements, after.program_bytes) == (before.elements, before.program_bytes)


def test_what_others_read_too_stays_outside() -> None:
    p = two_outputs()
    q, made = sl.line_buffer(p, "fl", "y", 2, rc=True)
    assert [call.name() for call in made.calls] == ["fl"]
    compare(p, q, [image(-2, 21, 4)], [target(20, 4), target(15, 4)])


# ----------------------------------------------------------------------------------------------------------------
# Tiles with buffers of their own
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [skips, rates])
def test_a_chain_in_tiles(make: Any) -> None:
    p = make()
    last = p.find_all("_ = _")[-1]
    q, made = sl.fuse_chain(sl.tile(p, last, {"y": 8, "x": 3}), "for x", rc=True)
    assert len(made.calls) == len(p.find_all("_ = _"))
    assert all(made.loop.is_ancestor_of(alloc) for alloc in made.allocs)
    inp, out = image(-6, 50, 7), target(29, 7)
    before, after = compare(p, q, [inp], [out])
    assert after.program_bytes < before.program_bytes
    assert after.elements[last.name()] == before.elements[last.name()]
    assert after.allocations == len(made.allocs) * 4 * 3
    compare(p, sl.parallelize_loop(q, "for y"), [inp], [out], threads=3)


@pytest.mark.parametrize("size", [(40, 33), (17, 5), (3, 3)])
def test_parallel_tiles_slide_and_fold_inside(size: tuple[int, int]) -> None:
    p = stencils(3)
    q, made = sl.parallel_tiles(p, "s3", {"y": 16, "x": 16}, 2, rc=True)
    assert [loop.workers() for loop in made.loops] == [0, None, None]
    assert [call.name() for call in made.calls] == ["add", "s1", "s2", "s3"]
    assert [str(alloc.storage()[0]) for alloc in made.allocs] == ["4", "4", "4"]
    inp, out = picture(*size, 3)
    _, after = compare(p, q, [inp], [out], threads=2)
    # Each tile computes its own margin: nothing more, whatever the rows.
    tiled = sl.fuse_chain(sl.tile(p, "s3", {"y": 16, "x": 16}), "for x").estimate(inp, out)
    assert after.elements == tiled.elements
    one = sum(min(4, 16 + 2 * m, size[0] + 2 * m) * min(16 + 2 * m, size[1] + 2 * m) for m in (3, 2, 1)) * 2
    assert q.estimate(inp, out, threads=1).program_bytes == one


@pytest.mark.parametrize("make", [skips, rates])
def test_parallel_tiles_of_other_trees(make: Any) -> None:
    p = make()
    last = p.find_all("_ = _")[-1].name()
    q = sl.parallel_tiles(p, last, {"y": 8}, 2)
    inp, out = image(-6, 50, 7), target(29, 7)
    before, after = compare(p, q, [inp], [out], threads=2)
    assert after.elements[last] == before.elements[last]
    assert q.estimate(inp, out, threads=1).program_bytes < before.program_bytes / 3


# ----------------------------------------------------------------------------------------------------------------
# Two outputs
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("strip", [1, 3])
@pytest.mark.parametrize("heights", [(20, 20), (20, 15), (12, 20), (1, 9)])
def test_two_outputs_in_one_loop(strip: int, heights: tuple[int, int]) -> None:
    p = two_outputs()
    q, made = sl.fuse_outputs(p, "fl", "fr", "y", strip, rc=True)
    assert [call.name() for call in made.calls] == ["fa", "fb", "fl", "fr"]
    assert [alloc.name() for alloc in made.allocs] == ["a", "b"]
    before, after = compare(p, q, [image(-2, 21, 4)], [target(heights[0], 4), target(heights[1], 4)])
    assert after.elements == before.elements
    assert after.program_bytes <= 2 * (strip + 2) * 4 * 4


def test_one_output_is_not_two() -> None:
    with pytest.raises(sl.OperationError, match="fuse_outputs: expected two calls, got fl twice"):
        sl.fuse_outputs(two_outputs(), "fl", "fl", "y")


# ----------------------------------------------------------------------------------------------------------------
# Single steps
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strip", [1, 4])
def test_the_warmup_is_a_loop_of_its_own(strip: int) -> None:
    p = stencils(2)
    slid = sl.line_buffer(p, "s2", "y", strip)
    q, cut = sl.peel_warmup(slid, "s2", "y", rc=True)
    inp, out = picture(21, 5, 2)
    begun: list[str] = []
    hooks = sl.Hooks(call_begin=lambda func, box: begun.append(func))
    q.run(inp, out, hooks=hooks)
    warm = sl.trip_count(q, cut.first)
    before, after = compare(p, q, [inp], [out])
    assert after.elements == before.elements
    assert after.calls == slid.estimate(inp, out).calls
    # In the second loop, every func is called in every iteration but those at the end.
    first = begun.index("s2")
    assert set(begun[:first]) <= {"add", "s1"}
    assert q.text(warm) == str(4 // strip)


def test_a_warmup_that_there_is_not() -> None:
    with pytest.raises(sl.SchedulingError, match="no loop stands around the call of stencil"):
        sl.peel_warmup(stencil(), "stencil", "y")
    with pytest.raises(sl.InvalidCursorError, match="has no dimension 'z'"):
        sl.peel_warmup(sl.split_loop(stencil(), "stencil.y", 1), "stencil", "z")


def order(p: sl.Pipeline) -> list[str]:
    return [call.name() for call in p.find_all("_ = _")]


def independent() -> sl.Pipeline:
    inp, *outs = buffers("inp", "a", "b", "c", "d")
    for out in outs:
        sl.Func(add_1, [inp[y, x]], [out[y, x]], name=f"f{out.name}")
    return sl.build_pipeline([inp], outs)


def test_statements_move_past_others() -> None:
    p = independent()
    assert order(p) == ["fa", "fb", "fc", "fd"]
    assert order(sl.reorder_before(p, "fd", "fa")) == ["fd", "fa", "fb", "fc"]
    assert order(sl.reorder_before(p, "fa", "fd")) == ["fb", "fc", "fa", "fd"]
    assert order(sl.reorder_after(p, "fa", "fc")) == ["fb", "fc", "fa", "fd"]
    assert order(sl.reorder_after(p, "fd", "fa")) == ["fa", "fd", "fb", "fc"]
    q, made = sl.reorder_before(p, "fb", "fc", rc=True)
    assert q is p
    assert made.statement == p.find("fb")


def test_statements_that_must_not_move() -> None:
    p = stencils(2)
    for move in (sl.reorder_before, sl.reorder_after):
        with pytest.raises(sl.SchedulingError):
            move(p, "s2", "add")
        with pytest.raises(sl.SchedulingError, match="are not two of one block"):
            move(sl.split_loop(p, "s2.y", 1), "s2", "add")
        with pytest.raises(sl.SchedulingError, match="are not two of one block"):
            move(p, "add", "add")


def test_the_history_of_a_schedule_makes_it_again() -> None:
    two, one = two_outputs(), skips()
    for p, q in (
        (two, sl.fuse_outputs(two, "fl", "fr", "y", 2)),
        (one, sl.parallel_tiles(one, "fd", {"y": 8})),
        (one, sl.peel_warmup(sl.line_buffer(one, "fd", "y"), "fd", "y")),
        (one, sl.fuse_chain(sl.tile(one, "fd", {"y": 4}), "for y")),
    ):
        for text in (q.history(), q.history().primitives()):
            names = {"p": p}
            exec(str(text), names)
            assert names["p"].same_program(q)


# ----------------------------------------------------------------------------------------------------------------
# Where pieces begin
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("low", [0, -1, 5, 8, -13])
@pytest.mark.parametrize("height", [0, 1, 7, 20])
def test_pieces_that_begin_at_multiples(low: int, height: int) -> None:
    p, split = sl.split_loop(stencil(), "stencil.y", 4, rc=True)
    q, (loop,) = sl.align_loop(p, split.outer, 8, rc=True)
    assert str(loop.bounds()) == "8*(out.y.min // 8) .. out.y.max"
    q = sl.default_schedule(q)
    inp, out = picture(height, 9, 1, (low, 0))
    compare(p, q, [inp], [out])
    boxes: list[tuple[int, int]] = []
    hooks = sl.Hooks(call_begin=lambda func, box: boxes.append(box[0]) if func == "stencil" else None)
    q.run(inp, out, hooks=hooks)
    assert [lo for lo, _ in boxes] == [max(at, low) for at in range(low // 4 * 4, low + height, 4) if height]


def test_pieces_begin_at_multiples_of_integers() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 4)
    for multiple in (0, -8, 1.5, True):
        with pytest.raises(sl.OperationError, match="multiple must be an integer, 1 or more"):
            sl.align_loop(p, "for y", multiple)


# resize_pieces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "step"), [(1, 4), (4, 1), (3, 50), (7, 7)])
def test_resized_pieces_are_those_of_another_split(rows: int, step: int) -> None:
    before = sl.line_buffer(stencils(3), "s3", "y", rows)
    p, cursors = sl.resize_pieces(before, "for y", step, rc=True)
    assert str(p) == str(sl.line_buffer(stencils(3), "s3", "y", step))
    assert cursors.loop == p.find("for y")
    assert [call.name() for call in cursors.calls] == ["add", "s1", "s2", "s3"]
    assert [alloc.name() for alloc in cursors.allocs] == ["b0", "b1", "b2"]
    image, out = picture(17, 9, 3)
    compare(stencils(3), p, [image], [out])


@pytest.mark.parametrize("make", [skips, rates])
def test_pieces_are_resized_in_place_of_those_of_a_tree(make: Any) -> None:
    last = "fd" if make is skips else make().find_all("_ = _")[-1].name()
    before = sl.line_buffer(make(), last, "y", 2)
    image = np.arange(90 * 7, dtype=np.int32).reshape(90, 7)
    for step in (1, 4, 6):
        p = sl.resize_pieces(before, "for y", step)
        p.verify()
        said, known = p.estimate(image), before.estimate(image)
        assert said.elements == known.elements
        for a, b in zip(p.run(image, checked=True).outputs, before.run(image).outputs, strict=True):
            np.testing.assert_array_equal(np.asarray(getattr(a, "array", a)), np.asarray(getattr(b, "array", b)))


@pytest.mark.parametrize("workers", [None, 3])
def test_buffers_and_workers_stay_those_of_the_iterations(workers: int | None) -> None:
    def tiles(rows: int) -> sl.Pipeline:
        p, split = sl.split_loop(stencils(2), "s2.y", rows, rc=True)
        p = sl.fuse_chain(p, split.outer)
        return p if workers is None else sl.parallelize_loop(p, split.outer, workers)

    p = sl.resize_pieces(tiles(3), "for y", 8)
    assert sorted(str(p).splitlines()) == sorted(str(tiles(8)).splitlines())
    image, out = picture(21, 6, 2)
    compare(stencils(2), p, [image], [out])


def test_pieces_inside_of_tiles_are_resized() -> None:
    before = sl.parallel_tiles(stencils(1), "s1", {"y": 12}, 2)
    inner = before.find_all("for _")[-1]
    p = sl.resize_pieces(before, inner, 6)
    assert [str(loop.step()) for loop in p.find_all("for _")] == ["12", "6"]
    image, out = picture(31, 6, 1)
    compare(stencils(1), p, [image], [out])


def test_what_resizing_refuses() -> None:
    p = sl.parallel_tiles(stencils(1), "s1", {"y": 12}, 2)
    with pytest.raises(sl.SchedulingError, match="loop y holds more than calls: for "):
        sl.resize_pieces(p, p.find_all("for _")[0], 6)


# Batches and slow sources ---------------------------------------------------------------------------------------------


def add_pairs(source: Array, target: Array) -> None:
    np.add(source[:, :-1], source[:, 1:], out=target)


def items() -> sl.Pipeline:
    """Many small images, each squared and added to itself, one row further down."""
    (n,) = sl.variables("n")
    a, t, b = (sl.BufferExpr(name, np.int64, 3) for name in "atb")
    sl.Func(np.square, [a[n, y, x]], [t[n, y, x]], name="square")
    sl.Func(add_pairs, [t[n, sl.interval(y, y + 1), x]], [b[n, y, x]], name="add")
    return sl.build_pipeline([a], [b])


@pytest.mark.parametrize("count", [1, 3, 4, 50])
def test_a_batch_is_one_call_of_each_func_for_several_items(count: int) -> None:
    p = items()
    q, one = sl.split_loop(p, "add.n", 1, rc=True)
    q = sl.fuse_chain(q, one.outer)
    q, batched = sl.batch(q, one.outer, count, rc=True)
    assert [call.name() for call in batched.calls] == ["square", "add"]
    assert all(call.parent() == batched.loop for call in batched.calls)
    for number in (0, 1, 7, 11):
        values = np.random.default_rng(number).integers(-9, 10, (number, 5, 3))
        expected = np.square(values)[:, :-1] + np.square(values)[:, 1:]
        steps = -(-number // count)
        for options in ({}, {"checked": True}, {"backend": "interpreter"}):
            statistics = q.run(values, **options)  # type: ignore[arg-type]
            np.testing.assert_array_equal(statistics.outputs[0], expected)
            assert statistics.calls == {"square": steps, "add": steps}
            assert statistics.elements == {"square": number * 15, "add": number * 12}
            assert statistics.program_bytes == min(count, number) * 15 * 8


def test_what_cannot_be_batched_goes_item_by_item() -> None:
    """A window that slides from item to item: each needs the one before it."""
    p = sl.line_buffer(stencils(2), "s2", "y", 1)
    q, batched = sl.batch(p, "for y", 4, rc=True)
    assert batched.loop.find_all("for _")
    image = np.random.default_rng(0).integers(0, 9, (14, 9)).astype(p.program.inputs[0].dtype)
    first, second = (each.run(image, checked=True).outputs[0].array for each in (p, q))
    np.testing.assert_array_equal(first, second)


def reading() -> sl.Pipeline:
    """Rows from somewhere slow, squared, each added to the next one."""
    disk, t, u, b = (sl.BufferExpr(name, np.int64, 2) for name in ("disk", "t", "u", "b"))
    sl.Func(lambda source, target: np.copyto(target, source), [disk[y, x]], [t[y, x]], name="load")
    sl.Func(np.square, [t[y, x]], [u[y, x]], name="square")
    sl.Func(
        lambda s, o: np.add(s[:-1], s[1:], out=o, dtype=o.dtype), [u[sl.interval(y, y + 1), x]], [b[y, x]], name="add"
    )
    return sl.build_pipeline([disk], [b])


@pytest.mark.parametrize(("strip", "distance"), [(1, 1), (4, 1), (4, 3), (50, 2)])
def test_a_slow_source_is_read_ahead_of_use(strip: int, distance: int) -> None:
    p = reading()
    q, made = sl.double_buffer(p, "load", "add", "y", strip, distance, rc=True)
    assert [alloc.name() for alloc in made.allocs] == ["t", "u"]
    assert made.call.name() == "load"
    assert f"depth {distance + 1}" in str(q)
    for height in (2, 3, 8, 41):
        values = np.random.default_rng(height).integers(-9, 10, (height, 5))
        expected = np.square(values)[:-1] + np.square(values)[1:]
        for options in ({}, {"checked": True}, {"backend": "interpreter"}, {"threads": 2}):
            statistics = q.run(values, **options)  # type: ignore[arg-type]
            np.testing.assert_array_equal(statistics.outputs[0], expected)
            assert statistics.elements == {"load": height * 5, "square": height * 5, "add": (height - 1) * 5}
            ahead, window_of = min(strip * (distance + 1), height), min(strip + 1, height)
            assert statistics.program_bytes == (ahead + window_of) * 5 * 8


def test_a_source_elsewhere_cannot_be_read_ahead() -> None:
    with pytest.raises(sl.SchedulingError, match="add is not computed in the loop over y"):
        sl.double_buffer(reading(), "add", "square", "y", 4)


def test_integers_of_numpy_are_integers() -> None:
    """Sizes are often counted by NumPy."""
    p, four, two = sl.split_loop(stencils(2), "s2.y", 3), np.int64(4), np.int64(2)
    assert sl.align_loop(p, "for y", four).same_program(sl.align_loop(p, "for y", 4))  # type: ignore[arg-type]
    assert sl.strips(stencils(2), four, workers=two).same_program(sl.strips(stencils(2), 4, workers=2))  # type: ignore[arg-type]
    assert p.find("s2").bounds(two - 2) == p.find("s2").bounds("y")
    halved = sl.repeat(lambda p, place: sl.split_loop(p, place, 2), two)  # type: ignore[arg-type]
    assert len(halved(p, "for y").find_all("for _")) == 3
    given = (stencils(2), *picture(12, 12, 2))
    by_numpy = sl.auto_schedule(*given, max_bytes=np.int64(100_000), workers=np.int32(2), machine=sl.Machine())
    assert by_numpy.same_program(sl.auto_schedule(*given, max_bytes=100_000, workers=2, machine=sl.Machine()))


@pytest.mark.parametrize("sizes", [4, None, sl.variables("y")[0], np.array([1, 2]), {}])
def test_sizes_of_tiles_are_by_dimension(sizes: Any) -> None:
    with pytest.raises(sl.OperationError, match="sizes says how long a tile is by dimension"):
        sl.tile(stencils(2), "s2", sizes)


@pytest.mark.parametrize("sizes", [{"y": 4, 0: 8}, {0: 4, "x": 2, -2: 8}, {True: 1, "x": 2}])
@pytest.mark.parametrize("tiles", [sl.tile, sl.parallel_tiles])
def test_sizes_of_tiles_are_by_different_dimensions(tiles: Any, sizes: Any) -> None:
    """A dimension has a name and an index: it went in pieces of pieces."""
    with pytest.raises(sl.SlinkyError, match=r"tile: (sizes says twice how long a tile is along [yx], got|.*True)"):
        tiles(stencils(2), "s2", sizes)


def test_an_array_is_no_number_of_places() -> None:
    loop = sl.split_loop(stencils(2), "s2.y", 3).find("for y")
    with pytest.raises(sl.OperationError, match="must be an integer, got array"):
        loop.next(np.array([1, 2]))  # type: ignore[arg-type]
