"""Annotations: what is written on funcs and buffers is what runs; the same results, in the memory that they promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import annotated
import numpy as np
import pytest
from annotated import HEIGHT, WIDTH, Case, around, buffers, case, numbers, plus, rows_of_three, x, y
from classic import ROW, TABLE, WIDE, WIDER, in_strips, made_again

import slinky as sl
from slinky.sched import gate

# ----------------------------------------------------------------------------------------------------------------
# Only loops
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(1, 5))
def test_parallel_strips_of_a_stencil_compute_what_two_of_them_need_twice(step: int) -> None:
    made = in_strips("stencil", step, workers=0)
    p = made.build()
    strips = -(-HEIGHT // step)
    assert made.run(p).elements == {"add": (HEIGHT + 2 * strips) * (WIDTH + 2), "stencil": HEIGHT * WIDTH}
    assert p.find("for y").workers() == 0


def test_sliding_in_two_dimensions() -> None:
    """Tiles of rows and columns: each element of the intermediate is computed once, and three rows are kept."""
    made = annotated.stencil()
    made.funcs["stencil"].loops([y, (x, 4)])
    p = made.build()
    assert str(p).splitlines()[5:] == [
        "  alloc intm: int64[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]",
        "  for y in out.y.min - 2 .. out.y.max:",
        "    for x in out.x.min - 4 .. out.x.max step 4:",
        "      intm[y + 1, x + 1 .. x + 4] = add(inp[y + 1, x + 1 .. x + 4])",
        "      out[y, x .. x + 3] = stencil(intm[y - 1 .. y + 1, x - 1 .. x + 4])",
    ]
    after = made.run(p)
    assert after.elements == {"add": (HEIGHT + 2) * (WIDTH + 2), "stencil": HEIGHT * WIDTH}
    assert after.program_bytes == 3 * WIDE


def test_line_buffers_in_parallel_tiles() -> None:
    made = annotated.stencil()
    made.funcs["stencil"].loops([sl.loop(y, 6, workers=2), sl.loop(y, 2)])
    p = made.build()
    assert str(p).splitlines()[5:] == [
        "  for y in out.y.min..out.y.max step 6 parallel 2:",
        "    alloc intm: int64[y - 1 .. min(out.y.max + 1, y + 6) fold 4, out.x.min - 1 .. out.x.max + 1]",
        "    for y_1 in y - 2 .. min(out.y.max, y + 5) step 2:",
        "      intm[min(y + 7, y_1 + 1) .. min(y + 6, y_1 + 2), :] = "
        "add(inp[min(y + 7, y_1 + 1) .. min(y + 6, y_1 + 2), :])",
        "      out[max(y, y_1) .. min(y + 5, y_1 + 1), :] = "
        "stencil(intm[max(y - 1, y_1 - 1) .. min(y + 6, y_1 + 2), :])",
    ]
    assert made.run(p).elements["add"] == (HEIGHT + 2 * 3) * (WIDTH + 2)


def test_tiles_in_which_windows_slide() -> None:
    """Of two loops over one dimension, the outer one makes tiles: what two of them share, both compute."""
    made = annotated.stencil_chain()
    made.funcs["stencil2"].loops([(y, 6), (x, 4), (y, 2), (x, 2)])
    p = made.build()
    for name in ("alloc a", "alloc b"):
        assert [loop.name() for loop in sl.enclosing_loops(p, name)] == ["y", "x"]
        assert [str(fold) for fold in p.find(name).storage()] == ["4", "None"]
    after = made.run(p)
    assert after.elements["stencil1"] == (HEIGHT + 2 * 3) * (WIDTH + 2 * 3)
    assert after.elements["add"] == (HEIGHT + 4 * 3) * (WIDTH + 4 * 3)
    assert after.program_bytes == 8 * 4 * ((4 + 4) + (4 + 2))


def test_what_has_nothing_to_do_with_a_loop_is_computed_before_it() -> None:
    """A bias per column is not computed again for each row."""
    made = annotated.constants()
    made.funcs["rows"].loops([y, (x, 4)])
    p = made.build()
    assert made.run(p).elements["bias_of"] == WIDTH
    assert not sl.enclosing_loops(p, "bias_of")


def test_a_row_statistic_is_computed_once_per_row() -> None:
    made = annotated.norm()
    made.funcs["divide"].loops([y, (x, 4)])
    p = made.build()
    assert made.run(p).elements["sum_of"] == HEIGHT
    assert [loop.name() for loop in sl.enclosing_loops(p, "sum_of")] == ["y"]


# ----------------------------------------------------------------------------------------------------------------
# What is asked for
# ----------------------------------------------------------------------------------------------------------------


def lines_of(p: sl.Pipeline) -> list[str]:
    """The program without checks."""
    return [line.strip() for line in str(p).splitlines()[1:] if not line.startswith("  check")]


@pytest.mark.parametrize("schedule", ["root", "in the loop", "padding at the root"])
def test_three_schedules_of_a_padded_stencil(schedule: str) -> None:
    made = annotated.padded_stencil()
    add, padding, stencil = (made.funcs[name] for name in ("add", "padding", "stencil"))
    stencil.loops([y])
    if schedule == "root":
        add.compute_root()
        padding.compute_root()
    elif schedule == "in the loop":
        add.compute_at(stencil, y)
        padding.compute_at(stencil, y)
    else:
        padding.compute_root()
    p = made.build()
    after = made.run(p)
    found = {func: len(sl.enclosing_loops(p, f"{func}(_)")) for func in ("add", padding.name)}
    assert found == {"add": int(schedule == "in the loop"), padding.name: int(schedule == "in the loop")}
    full = HEIGHT * ROW + (HEIGHT + 2) * WIDE
    assert after.program_bytes == {"root": full, "in the loop": ROW + 3 * WIDE, "padding at the root": full}[schedule]
    assert after.elements == made.run(made.build(schedule="none")).elements


def test_compute_root_keeps_a_func_and_its_producers_out_of_loops() -> None:
    made = annotated.stencil_chain()
    made.funcs["stencil2"].loops([y])
    made.funcs["stencil1"].compute_root()
    p = made.build()
    assert [sl.enclosing_loops(p, name) for name in ("add", "stencil1")] == [(), ()]
    assert made.run(p).program_bytes == (HEIGHT + 4) * WIDER + (HEIGHT + 2) * WIDE


def test_loops_of_a_producer_are_inside_of_those_that_it_is_computed_in() -> None:
    made = annotated.stencil_chain()
    made.funcs["stencil2"].loops([(y, 4)])
    made.funcs["stencil1"].loops([(x, 5)])
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "stencil1")] == ["y", "x"]
    assert [loop.name() for loop in sl.enclosing_loops(p, "add")] == ["y", "x"]
    assert made.run(p).elements["stencil1"] == (HEIGHT + 2) * (WIDTH + 2)


def test_loops_that_cannot_be_made_inside_are_made_outside() -> None:
    """Where a func is computed by default gives way to the loops that it was given."""
    inp, tmp, out = buffers("inp tmp out")
    mul = sl.Func(plus(1), [inp[y, x]], [tmp[y, x]], name="mul").loops([sl.loop(y, 2, tail="perfect")])
    add = sl.Func(plus(2), [tmp[y, x]], [out[y, x]], name="add").loops([(y, 3)])
    plane = numbers(8, WIDTH)
    made = case([inp], [out], [mul, add], [plane], [plane + 3])
    p = sl.build_pipeline([inp], [out], require=[sl.equal(out.dim(0).extent, 2 * (out.dim(0).extent // 2))])
    assert [str(loop.step()) for loop in sl.enclosing_loops(p, "mul")] == ["2"]
    assert made.run(p).calls == {"mul": 4, "add": 3}


def test_a_buffer_stored_in_a_loop_slides_only_in_those_inside() -> None:
    made = annotated.stencil()
    made.funcs["stencil"].loops([(y, 4), (x, 4)])
    made.buffer("intm").store_at(made.funcs["stencil"], y)
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "alloc intm")] == ["y"]
    assert [str(fold) for fold in p.find("alloc intm").storage()] == ["None", "6"]
    assert made.run(p).elements["add"] == (HEIGHT + 2 * 4) * (WIDTH + 2)


def test_a_buffer_stored_at_the_root_is_folded_even_if_no_window_overlaps() -> None:
    made = annotated.elementwise_1d()
    made.funcs["add"].loops([x])
    made.buffer("tmp").store_root()
    assert lines_of(made.build()) == [
        "alloc tmp: int64[out.x.min..out.x.max fold 1]",
        "for x in out.x.min..out.x.max:",
        "tmp[x] = mul(inp[x])",
        "out[x] = add(tmp[x])",
    ]


def test_a_plain_array_where_no_window_overlaps() -> None:
    made = annotated.elementwise_1d()
    made.funcs["add"].loops([x])
    assert lines_of(made.build()) == [
        "for x in out.x.min..out.x.max:",
        "alloc tmp: int64[x]",
        "tmp[:] = mul(inp[:])",
        "out[x] = add(tmp[:])",
    ]


def test_what_is_asked_for_may_compute_again() -> None:
    """A bias per column in a loop over rows: by default it stays before it."""
    made = annotated.constants()
    rows = made.funcs["rows"].loops([(y, 4)])
    made.funcs["bias_of"].compute_at(rows, y)
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "bias_of")] == ["y"]
    assert made.run(p).elements["bias_of"] >= WIDTH


def test_a_loop_that_begins_at_a_multiple() -> None:
    made = annotated.stencil()
    made.funcs["stencil"].loops([sl.loop(y, 4, align=4)])
    p = made.build()
    assert str(p.find("for y").bounds().min) == "4*(out.dim(0).min // 4) - 4"
    made.run(p)


def test_a_tail_that_shifts() -> None:
    made = annotated.elementwise_2d()
    made.funcs["add"].loops([sl.loop(y, 4, tail="shift")])
    assert made.run(made.build()).calls["add"] == 4


def test_sizes_and_workers_that_are_scalars() -> None:
    made = annotated.stencil()
    rows, workers = sl.scalar("rows"), sl.scalar("workers")
    made.funcs["stencil"].loops([sl.loop(y, rows, workers=workers)])
    p = made.build()
    (target,) = made.targets
    p.run(*made.arrays, target, rows=3, workers=2)
    np.testing.assert_array_equal(target.array, made.expected[0])


def test_a_let_is_a_variable_of_python() -> None:
    """What is used in several places may have a name: it is an expression, not a scalar to be given."""
    inp, intm, out = buffers("inp intm out")
    half = inp.dim(0).extent // 2
    add = sl.Func(plus(1), [inp[y, x]], [intm[y, x]], name="add")
    halves = sl.Func(plus(0), [intm[y, x], intm[y + half, x]], [out[y, x]], name="halves")
    halves.loops([(y, 3)])
    plane = numbers(2 * HEIGHT, WIDTH)
    require = [out.dim(0).extent <= half, sl.equal(inp.dim(0).min, 0), inp.dim(0).extent >= 2]
    made = case([inp], [out], [add, halves], [plane], [plane[:HEIGHT] + plane[HEIGHT:] + 2])
    p = sl.build_pipeline([inp], [out], require=require)
    assert [loop.name() for loop in sl.enclosing_loops(p, "add")] == ["y"]
    assert made.run(p).elements["add"] == 2 * HEIGHT * WIDTH


def test_memory_of_another_buffer() -> None:
    inp, a, b, out = buffers("inp a b out")
    funcs = (
        sl.Func(np.negative, [inp[y, x]], [a[y, x]], name="first"),
        sl.Func(np.square, [a[y, x]], [b[y, x]], name="second"),
        sl.Func(rows_of_three, [around(b, 1, 0)], [out[y, x]], name="rows"),
    )
    b.store_in(a)
    plane = numbers(HEIGHT + 2, WIDTH)
    right = annotated.applied(rows_of_three, plane**2, HEIGHT, WIDTH)
    made = case([inp], [out], funcs, [sl.Buffer(plane, min=(-1, 0))], [right])
    p = made.build()
    assert p.find("alloc b").host() == "a"
    assert made.run(p).program_bytes == (HEIGHT + 2) * ROW


def test_memory_of_a_buffer_that_nobody_needs_any_more() -> None:
    inp, a, b, third, out = buffers("inp a b third out")
    made = case(
        [inp],
        [out],
        (
            sl.Func(plus(1), [inp[y, x]], [a[y, x]], name="f1"),
            sl.Func(plus(1), [a[y, x]], [b[y, x]], name="f2"),
            sl.Func(plus(1), [b[y, x]], [third[y, x]], name="f3"),
            sl.Func(plus(1), [third[y, x]], [out[y, x]], name="f4"),
        ),
        [numbers(HEIGHT, WIDTH)],
        [numbers(HEIGHT, WIDTH) + 4],
    )
    third.store_in(a)
    p = made.build()
    assert p.find("alloc third").host() == "a"
    assert made.run(p).program_bytes == 2 * HEIGHT * ROW


def test_funcs_and_buffers_may_be_called_alike() -> None:
    """And like the variables of loops: places are followed, not names."""
    inp, y_, out = buffers("inp y out")
    funcs = (
        sl.Func(plus(1), [inp[y, x]], [y_[y, x]], name="y"),
        sl.Func(rows_of_three, [around(y_, 1, 0)], [out[y, x]], name="out"),
    )
    funcs[1].loops([(y, 2)])
    funcs[0].compute_at(funcs[1], y)
    plane = numbers(HEIGHT + 2, WIDTH)
    right = annotated.applied(rows_of_three, plane + 1, HEIGHT, WIDTH)
    made = case([inp], [out], funcs, [sl.Buffer(plane, min=(-1, 0))], [right])
    p = made.build()
    assert made.run(p).program_bytes == 4 * ROW
    assert made_again(p, made).same_program(p)


def test_copies_that_are_scheduled_are_there() -> None:
    inp, a, b, out = buffers("inp a b out")
    add = sl.Func(plus(1), [inp[y, x]], [a[y, x]], name="add")
    shifted = sl.copies.copy(a[y + 1, x], b[y, x], name="shifted")
    twice = sl.Func(plus(0), [b[y, x]], [out[y, x]], name="twice")
    plane = numbers(HEIGHT, WIDTH)
    made = case([inp], [out], [add, twice], [sl.Buffer(plane, min=(1, 0))], [plane + 1])
    assert "shifted" not in str(made.build())
    twice.loops([(y, 3)])
    assert "shifted" not in str(made.build())
    shifted.compute_at(twice, y)
    p = made.build()
    assert [loop.name() for loop in sl.enclosing_loops(p, "shifted")] == ["y"]
    made.run(p)


def test_annotations_of_one_build_can_be_changed_for_the_next() -> None:
    made = annotated.stencil()
    stencil = made.funcs["stencil"]
    assert stencil.loops([y]) is stencil
    first = str(made.build())
    stencil.loops([])
    assert str(made.build()) == str(made.build(schedule="none")) != first
    stencil.loops([y])
    assert str(made.build()) == first


# ----------------------------------------------------------------------------------------------------------------
# What is refused
# ----------------------------------------------------------------------------------------------------------------


def refusal(made: Case) -> sl.AnnotationError:
    with pytest.raises(sl.AnnotationError) as caught:
        made.build()
    made.run(made.build(schedule="none"))
    return caught.value


def test_a_func_that_is_read_outside_of_the_loop() -> None:
    made = annotated.fork()
    made.funcs["left"].loops([y])
    made.funcs["add"].compute_at(made.funcs["left"], y)
    error = refusal(made)
    assert (error.subject, error.annotation) == ("func 'add'", "compute_at(left, y)")
    assert str(error).startswith("func 'add': compute_at(left, y) is refused: right reads it outside loop y\n")
    assert "> " in str(error)


def test_a_dimension_that_is_whole() -> None:
    made = annotated.attention()
    made.funcs["softmax"].loops([(annotated.k, 4)])
    error = refusal(made)
    assert error.annotation == "loops([sl.loop(k, step=4)])"
    assert error.reason == (
        "func 'softmax': loops([sl.loop(k, step=4)]) is refused: softmax computes k whole, and would compute "
        "part of it here"
    )


def test_a_buffer_in_a_loop_that_does_not_hold_all_that_uses_it() -> None:
    made = annotated.stencil()
    made.funcs["stencil"].loops([y])
    made.funcs["add"].compute_root()
    made.buffer("intm").store_at(made.funcs["stencil"], y)
    error = refusal(made)
    assert (error.subject, error.annotation) == ("buffer 'intm'", "store_at(stencil, y)")


def test_a_buffer_at_the_root_that_parallel_iterations_would_share() -> None:
    made = annotated.stencil()
    made.funcs["stencil"].loops([sl.loop(y, 4, workers=2)])
    made.funcs["add"].compute_at(made.funcs["stencil"], y)
    made.buffer("intm").store_root()
    error = refusal(made)
    assert (error.subject, error.annotation) == ("func 'stencil'", "loops([sl.loop(y, step=4, workers=2)])")
    assert "intm" in error.reason


@pytest.mark.parametrize("annotation", ["store_root()", "store_at(stencil, y)", "store_in(intm)"])
def test_a_buffer_that_is_given(annotation: str) -> None:
    made = annotated.stencil()
    stencil = made.funcs["stencil"].loops([y])
    out = made.outputs[0]
    match annotation:
        case "store_root()":
            out.store_root()
        case "store_at(stencil, y)":
            out.store_at(stencil, y)
        case _:
            out.store_in(made.buffer("intm"))
    error = refusal(made)
    assert (error.subject, error.annotation) == ("buffer 'out'", annotation)


def test_a_loop_that_is_not_there() -> None:
    made = annotated.stencil()
    stencil = made.funcs["stencil"].loops([y])
    made.funcs["add"].compute_at(stencil, x)
    assert "has no such loop when this is placed; it has y" in str(refusal(made))
    tiles, strips = sl.loop(y, 6), sl.loop(y, 2)
    stencil.loops([tiles, strips])
    made.funcs["add"].compute_at(stencil, y)
    assert "func 'stencil' has several loops over y: name one" in str(refusal(made))
    made.funcs["add"].compute_at(stencil, tiles)
    assert [loop.name() for loop in sl.enclosing_loops(made.build(), "add")] == ["y"]
    made.funcs["add"].compute_at(annotated.stencil().funcs["stencil"], y)
    assert "func 'stencil' is no func of this pipeline" in str(refusal(made))


def test_memory_of_a_buffer_that_is_in_use() -> None:
    made = annotated.diamond()
    made.buffer("b").store_in(made.buffer("a"))
    assert refusal(made).annotation == "store_in(a)"
    made.buffer("b").store_in(made.inputs[0])
    assert "inp is no intermediate of this pipeline" in str(refusal(made))


def test_annotations_that_mean_nothing() -> None:
    made = annotated.stencil()
    stencil: Any = made.funcs["stencil"]
    add: Any = made.funcs["add"]
    intm: Any = made.buffer("intm")
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: stencil.loops(y), "the loops of func 'stencil' must be a list"),
        (lambda: stencil.loops([annotated.c]), "c is none of its dimensions, which are y, x"),
        (lambda: stencil.loops([(y, 1, 2)]), "expected a variable, a variable and a step"),
        (lambda: stencil.loops(["y"]), "a loop goes over a variable of a func, such as y, got 'y'"),
        (lambda: stencil.loops([(y, 0)]), "the step of the loop over y is at least 1, got 0"),
        (lambda: stencil.loops([(y, x)]), "cannot depend on variable x"),
        (lambda: stencil.loops([(y, 1.5)]), "the step of the loop over y"),
        (lambda: sl.loop(y, workers=-1), "at least 1, or 0 for all"),
        (lambda: sl.loop(y, tail="none"), "is clamp, cut, shift or perfect"),
        (lambda: sl.loop(y, align=0), "an integer, 1 or more"),
        (lambda: add.compute_at(add, y), "cannot be computed in a loop of its own"),
        (lambda: add.compute_at(intm, y), "takes a func and one of its loops"),
        (lambda: add.compute_at(stencil, "y"), "its variable, or sl.loop"),
        (lambda: add.compute_at(stencil, annotated.c), "c is no dimension of func 'stencil', which has y, x"),
        (lambda: intm.store_in(intm), "can be stored in another buffer"),
        (lambda: made.build(schedule="automatic"), "schedule must be one of annotated, "),
    ]
    same = sl.loop(y)
    wrong.append((lambda: stencil.loops([same, same]), "stands there twice"))
    for attempt, words in wrong:
        with pytest.raises(sl.GraphError) as caught:
            attempt()
        assert words in str(caught.value)


# ----------------------------------------------------------------------------------------------------------------
# What it costs
# ----------------------------------------------------------------------------------------------------------------


def test_annotations_prove_little_more_than_the_steps_that_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rewrites that are tried, against those that a user would write to the same end."""
    tried: list[str] = []
    proved = gate._Gate.pass_

    def counted(self: Any) -> None:
        tried.append("")
        proved(self)

    monkeypatch.setattr(gate._Gate, "pass_", counted)
    taken = 0
    for name in TABLE:
        p = in_strips(name, 2).build()
        taken += len(p.history().primitives())
    assert taken > 100
    assert len(tried) <= 1.3 * taken
