"""`verify` accepts every program that is well formed, and says which statement of another one is not, and why."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pytest
from handmade import alloc, at, by_rows, calls_of, out_x, out_y, over, row, stencil, wide_x, with_body

import slinky as sl
from slinky.ir.copies import with_operands
from slinky.ir.statements import (
    SERIAL,
    Alloc,
    BufferParameter,
    Check,
    For,
    If,
    Parallel,
    Pass,
    ScalarParameter,
    Statement,
)
from slinky.symbolic.expressions import as_expr, metadata, scalar, variable
from slinky.symbolic.intervals import Interval

PROGRAM = stencil().program
ALLOC = alloc(PROGRAM)
ADD, STENCIL = calls_of(PROGRAM)["add"], calls_of(PROGRAM)["stencil"]
PRODUCE = over(ADD, (Interval(out_y.min - 1, out_y.max + 1), wide_x))
CONSUME = over(STENCIL, (out_y, out_x))


def fault(body: Sequence[Statement]) -> str:
    with pytest.raises(sl.ProgramError) as caught:
        with_body(PROGRAM, body).verify()
    return str(caught.value)


def loop(body: Sequence[Statement], **changes: object) -> For:
    whole = For(row, out_y, as_expr(1), SERIAL, tuple(body))
    return attrs.evolve(whole, **changes)


@pytest.mark.parametrize("pipeline", [stencil(), by_rows(), by_rows(fold=None), by_rows(workers=2)])
def test_well_formed_programs(pipeline: sl.Pipeline) -> None:
    pipeline.verify()


def test_one_identity_once() -> None:
    assert fault((ALLOC, PRODUCE, PRODUCE, CONSUME)) == (
        f"pipeline stencil, call of add: its identity {PRODUCE.id} stands twice"
    )


def test_one_name_for_one_parameter() -> None:
    program = attrs.evolve(PROGRAM, scalars=(ScalarParameter("inp"),))
    with pytest.raises(sl.ProgramError, match=r"^pipeline stencil: the name 'inp' stands for two parameters$"):
        sl.Pipeline(program).verify()


def test_every_output_is_written() -> None:
    other = BufferParameter("other", np.dtype(np.int64), ("y",))
    program = attrs.evolve(PROGRAM, outputs=(*PROGRAM.outputs, other))
    with pytest.raises(sl.ProgramError, match=r"^pipeline stencil: no statement writes output 'other'$"):
        sl.Pipeline(program).verify()


def test_buffers_are_in_scope() -> None:
    assert fault((PRODUCE, CONSUME)) == "pipeline stencil, call of add: buffer 'intm' is not in scope"
    inside = loop((ALLOC, PRODUCE))
    assert fault((inside, CONSUME)) == "pipeline stencil, call of stencil: buffer 'intm' is not in scope"


def test_names_hide_nothing() -> None:
    again = attrs.evolve(ALLOC, id=ALLOC.id + 10**9)
    assert fault((ALLOC, loop((again,)), PRODUCE, CONSUME)) == (
        "pipeline stencil, alloc intm: a buffer called 'intm' is already in scope"
    )
    inner = attrs.evolve(loop((Pass(),)), id=10**9)
    assert fault((loop((inner,)),)) == "pipeline stencil, for row: an enclosing loop has the same variable"
    taken = loop((Pass(),), variable=variable("inp"))
    assert fault((taken,)) == "pipeline stencil, for inp: the name 'inp' is already in scope"


def test_buffers_of_one_name_in_separate_blocks() -> None:
    again = attrs.evolve(ALLOC, id=10**9)
    first = loop((ALLOC, PRODUCE))
    second = loop((again, attrs.evolve(PRODUCE, id=10**9 + 1), CONSUME), id=10**9 + 2)
    with_body(PROGRAM, (first, second)).verify()
    unwritten = loop((again, CONSUME), id=10**9 + 2)
    assert fault((first, unwritten)) == "pipeline stencil, call of stencil: it reads 'intm', which nothing has written"


def test_reads_come_after_writes() -> None:
    assert fault((ALLOC, CONSUME, PRODUCE)) == (
        "pipeline stencil, call of stencil: it reads 'intm', which nothing has written"
    )


def test_inputs_are_not_written() -> None:
    backwards = with_operands(ADD, ADD.reads, ("inp",))
    assert fault((over(backwards, (out_y, out_x)),)) == (
        "pipeline stencil, call of add: it writes 'inp', which may only be read"
    )


def test_boxes_and_accesses_fit() -> None:
    assert fault((ALLOC, over(ADD, (out_y,)))) == (
        "pipeline stencil, call of add: the box has 1 intervals, the func has 2 dimensions"
    )
    flat = attrs.evolve(ALLOC, box=(out_y,), dims=("y",), folds=(None,))
    assert fault((flat, PRODUCE)) == (
        "pipeline stencil, call of add: buffer 'intm' has rank 1, accessed with 2 dimensions"
    )
    uneven = attrs.evolve(ALLOC, folds=(None,))
    assert fault((uneven,)) == "pipeline stencil, alloc intm: 2 dimensions, 2 intervals, 1 folds"


def test_variables_scalars_and_metadata_are_in_scope() -> None:
    stray = over(ADD, (at(row), out_x))
    assert fault((ALLOC, loop((stray,)), over(ADD, (at(row), out_x)))) == (
        "pipeline stencil, call of add: variable row is not in scope"
    )
    assert fault((Check(scalar("r") >= 0, ""),)) == "pipeline stencil, check: scalar r is not a parameter"
    assert fault((If(metadata("intm", 0, "min") >= 0, ()),)) == (
        "pipeline stencil, if: intm.dim(0).min is not in scope"
    )
    assert fault((If(metadata("inp", 2, "min") >= 0, ()),)) == "pipeline stencil, if: inp.dim(2).min is not in scope"
    assert fault((attrs.evolve(ALLOC, box=(at(row), out_x)),)) == (
        "pipeline stencil, alloc intm: variable row is not in scope"
    )


def test_steps_folds_and_workers() -> None:
    assert fault((loop((), step=as_expr(0)),)) == "pipeline stencil, for row: the step must be 1 or more, got 0"
    assert fault((loop((), mode=Parallel(-1)),)) == (
        "pipeline stencil, for row: the number of workers must be 1 or more, got -1"
    )
    folded = attrs.evolve(ALLOC, folds=(as_expr(0), None))
    assert fault((folded,)) == "pipeline stencil, alloc intm: a fold must be 1 or more, got 0"


def test_regions_that_surely_leave_their_buffer() -> None:
    short = attrs.evolve(ALLOC, box=(Interval(out_y.min, out_y.max + 1), wide_x))
    assert fault((short, PRODUCE, CONSUME)) == (
        "pipeline stencil, call of stencil: it reads 'intm' in out.dim(0).min - 1 .. out.dim(0).max + 1 of "
        "dimension 0, which holds only out.dim(0).min .. out.dim(0).max + 1"
    )


def reading_nothing() -> sl.Pipeline:
    """A pipeline whose second func reads a buffer of no elements."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    (x,) = sl.variables("x")
    t.dim(0).min, t.dim(0).max = 0, -1
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.Func(lambda s, o: np.copyto(o, 7 + s.size), [t[:]], [out[x]], name="fill")
    return sl.build_pipeline([a], [out])


def check_sevens(p: sl.Pipeline) -> None:
    p.verify()
    for checked in (False, True):
        result = np.zeros(5, np.int64)
        p.run(np.arange(4), result, checked=checked)
        assert result.tolist() == [7] * 5


def test_what_reads_nothing_needs_nothing_written() -> None:
    p = sl.assume_shape(sl.split_loop(reading_nothing(), "make.x", 2), out=(5,))
    assert "make" not in str(p)
    check_sevens(p)


def test_ten_thousand_statements_in_a_row() -> None:
    calls = [over(STENCIL, (out_y, out_x)) for _ in range(10_000)]
    long = with_body(PROGRAM, (ALLOC, PRODUCE, *calls))
    long.verify()
    assert len(str(long).splitlines()) == 10_007


def test_a_pipeline_never_changes() -> None:
    pipeline = stencil()
    with pytest.raises(AttributeError, match="a pipeline never changes; cannot set name"):
        pipeline.name = "other"
    with pytest.raises(AttributeError, match="a pipeline never changes; cannot delete _program"):
        del pipeline._program
    assert isinstance(pipeline.program.body, tuple)
    assert pipeline != stencil()
    assert {pipeline: 1}[pipeline] == 1


def test_equality_of_statements_ignores_identity() -> None:
    assert attrs.evolve(PRODUCE, id=10**9) == PRODUCE
    assert hash(attrs.evolve(PRODUCE, id=10**9)) == hash(PRODUCE)
    assert PRODUCE != CONSUME
    assert isinstance(ALLOC, Alloc)


def test_a_call_that_is_shown_to_do_nothing_reads_nothing() -> None:
    """Its box lies outside what it writes; a rewrite may put it before the producer of what it does not read."""
    above = over(STENCIL, (Interval(out_y.min - 3, out_y.min - 1), out_x))
    program = with_body(PROGRAM, (ALLOC, above, PRODUCE, CONSUME))
    program.verify()
    first_row = over(STENCIL, (Interval(out_y.min - 3, out_y.min), out_x))
    assert fault((ALLOC, first_row, PRODUCE, CONSUME)) == (
        "pipeline stencil, call of stencil: it reads 'intm', which nothing has written"
    )
    image = sl.Buffer(np.ones((5, 6), np.int64), min=(-1, -1))
    target = np.zeros((3, 4), np.int64)
    program.run(image, target, checked=True)
    assert (target == 90).all()


def test_an_earlier_iteration_may_have_written_what_a_call_reads() -> None:
    below = over(ADD, (Interval(row + 1, row + 1), wide_x))
    read = over(STENCIL, (Interval(row, row), out_x))
    early = Interval(out_y.min - 2, out_y.max)
    with_body(PROGRAM, (ALLOC, loop((read, below), range=early))).verify()
    unwritten = "pipeline stencil, call of stencil: it reads 'intm', which nothing has written"
    assert fault((ALLOC, loop((read, below), range=early, mode=Parallel(2)))) == unwritten
    assert fault((loop((ALLOC, read, below), range=early),)) == unwritten


def test_the_statements_of_a_slid_loop_may_be_swapped() -> None:
    """Sliding along two dimensions leaves a call that reads only what earlier iterations wrote."""
    y, x = sl.variables("y x")
    inp, b, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "b", "out"))
    sl.Func(np.square, [inp[y, x]], [b[y, x]], name="g")
    sl.Func(np.subtract, [b[y + 1, x - 1], b[y - 1, x]], [out[y, x]], name="f")
    plain = sl.build_pipeline([inp], [out])
    p = sl.split_loop(sl.split_loop(plain, "f.x", 1), "f.y", 1)
    p = sl.slide_window(sl.slide_window(sl.compute_at(p, "g", "for y"), "g", "for x"), "g", "for y")
    p = sl.reorder_statements(p, p.find("g").expand(after=1))
    p.verify()
    source = sl.Buffer(np.arange(1600).reshape(40, 40), min=(-10, -10))
    expected, got = (np.zeros((7, 5), np.int64) for _ in range(2))
    plain(source, expected)
    p.run(source, got, checked=True)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("body", [(PRODUCE, ALLOC, CONSUME), (PRODUCE, CONSUME, ALLOC)])
def test_no_rewrite_takes_an_allocation_that_stands_behind_its_use(body: Sequence[Statement]) -> None:
    p = with_body(PROGRAM, body)
    with pytest.raises(sl.ProgramError, match="buffer 'intm' is not in scope"):
        p.verify()
    with pytest.raises(sl.ProgramError, match="buffer 'intm' is used where it is not in scope"):
        sl.split_loop(p, "add.y", 4)


def test_an_output_that_is_empty_need_not_be_written() -> None:
    """The checks say that it is."""
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(np.negative, [a[x]], [b[x]], name="turn")
    p = sl.split_loop(sl.build_pipeline([a], [b]), "turn.x", 2)
    p = sl.simplify(sl.assume_shape(p, b=(sl.interval(0, -1),)))
    (*checks, nothing) = p.program.body
    for body in ((*checks, nothing), (nothing, *checks)):
        sl.Pipeline(attrs.evolve(p.program, body=body)).verify()
    with pytest.raises(sl.ProgramError, match=r"no statement writes output 'b'$"):
        sl.Pipeline(attrs.evolve(p.program, body=(nothing, *checks[:-1]))).verify()


def test_a_call_that_never_has_anything_to_do_may_read_anything() -> None:
    """Also where that is shown by itself, and not of what it would read, which is said in long expressions."""
    (x,) = sl.variables("x")
    inp, mid, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "mid", "out"))
    near, beside = inp.extended("nearest"), sl.interval(x, x + 1)
    sl.Func(np.add, [near[x], near[x]], [mid[x]], name="add")
    windows = [mid.extended("nearest")[sl.interval(x + 2, x + 6)], near[beside]]
    sl.Func(lambda a, b, o: np.add(a[:-4], b[:-1], out=o), windows, [out[x]], name="last")
    p = sl.build_pipeline([inp], [out])
    given, asked = (p.args()[n].bounds("x") for n in (0, 1))
    first = sl.maximum(given.min, sl.minimum(given.max, asked.min + 2))
    p = sl.align_dim(sl.align_dim(p, "alloc inp_nearest", 0, 2), "alloc mid", 0, 8, first)
    behind = sl.minimum(sl.maximum(asked.max + 8, given.min + 2), given.max + 2)
    q = sl.cut_call(p, "add.x", behind)
    q.verify()
    results = np.zeros(5, np.int64), np.zeros(5, np.int64)
    for each, result in zip((p, q), results, strict=True):
        each.run(np.arange(5), result, checked=True)
    np.testing.assert_array_equal(*results)
