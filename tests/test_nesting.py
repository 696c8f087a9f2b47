"""Pipelines in pipelines: `extract_pipeline`, `inline_pipeline`, `pipeline.as_func`, and runs of what they make."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import examples
import slinky as sl

Y, X = sl.variables("y x")

OPTIONS: list[dict[str, Any]] = [
    {}, {"backend": "interpreter"}, {"checked": True}, {"checked": "first"}, {"timed": True},
]  # fmt: skip


def add_rows(source: np.ndarray, target: np.ndarray) -> None:
    """Sums of neighbouring rows."""
    np.add(source[:-1], source[1:], out=target)


def add_rows_and_more(source: np.ndarray, target: np.ndarray, *, more: int) -> None:
    """Sums of neighbouring rows, and a number."""
    np.add(source[:-1], source[1:], out=target)
    target += more


def chain(*, scalar: bool = False) -> sl.Pipeline:
    """Squares, sums of neighbouring rows of them, and the sum of each row of these."""
    a, t, b = (sl.BufferExpr(name, np.int64, 2) for name in "atb")
    s = sl.BufferExpr("s", np.int64, 1)
    sl.Func(np.square, [a[Y, X]], [t[Y, X]], name="square")
    window = t[sl.interval(Y, Y + 1), X]
    if scalar:
        sl.Func(add_rows_and_more, [window], [b[Y, X]], name="add", arguments={"more": sl.scalar("more")})
    else:
        sl.Func(add_rows, [window], [b[Y, X]], name="add")
    sl.reductions.sum(b[Y, :], s[Y], name="total")
    return sl.build_pipeline([a], [s])


def sums(values: np.ndarray, more: int = 0) -> np.ndarray:
    """What `chain` gives."""
    squares = np.square(values)
    return (squares[:-1] + squares[1:] + more).sum(axis=1)


def values_of(shape: tuple[int, ...]) -> np.ndarray:
    """An array of small integers."""
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape)


SHAPES = [(2, 1), (2, 0), (3, 7), (8, 16), (14, 33), (1, 4)]


def same_by_all(p: sl.Pipeline, values: np.ndarray, expected: np.ndarray, **scalars: int) -> None:
    """Run in every way, and compare results, and counts with what an estimate says."""
    estimate = p.estimate(values, **scalars)
    for options in OPTIONS:
        statistics = p.run(values, **scalars, **options)
        (found,) = statistics.outputs
        np.testing.assert_array_equal(found.array if isinstance(found, sl.Buffer) else found, expected)
        assert statistics.calls == estimate.calls
        assert statistics.elements == estimate.elements
        assert statistics.allocations == estimate.allocations
        assert statistics.program_bytes <= estimate.program_bytes
    assert estimate.is_exact
    assert p.memory(values, **scalars).program_bytes == estimate.program_bytes


# Extracting -----------------------------------------------------------------------------------------------------------


def test_a_block_is_a_func_and_comes_back() -> None:
    p = chain()
    q, extracted = sl.extract_pipeline(p, p.body()[2:], "inner", rc=True)
    assert str(q.body()[2:]).splitlines()[-1] == (
        ">   s[:] = inner(a[s.y.min .. s.y.max + 1, :], a_max_1=a.x.max, a_min_1=a.x.min)"
    )
    assert extracted.call.name() == "inner"
    assert str(sl.inner_pipeline(q, extracted.call)) == (
        "pipeline inner(a: int64[2], a_max_1, a_min_1) -> (s: int64[1]):\n"
        "  check a_min_1 <= a_max_1 + 1\n"
        "  check a.y.min <= s.y.min\n"
        "  check s.y.max <= a.y.max - 1\n"
        "  check a.x.min <= a_min_1\n"
        "  check a_max_1 <= a.x.max\n"
        "  alloc t: int64[s.y.min .. s.y.max + 1, a_min_1..a_max_1]\n"
        "  t[:, :] = square(a[:, :])\n"
        "  alloc b: int64[s.y.min..s.y.max, a_min_1..a_max_1]\n"
        "  b[:, :] = add(t[:, :])\n"
        "  s[:] = total(b[:, :])"
    )
    back, inlined = sl.inline_pipeline(q, "inner", rc=True)
    assert str(back) == str(p)
    assert [s.describe() for s in inlined.block] == [s.describe() for s in p.body()[2:]]
    with pytest.raises(sl.InvalidCursorError, match="made it part of the pipeline inner"):
        q.forward(p.find("square"))


@pytest.mark.parametrize("factor", [1, 3, 8])
def test_what_was_extracted_runs_in_pieces(factor: int) -> None:
    p = chain()
    whole = sl.extract_pipeline(p, p.body()[2:], "inner")
    pieces = sl.parallelize_loop(sl.split_loop(whole, "inner.y", factor), "for y", 2)
    for shape in SHAPES:
        values = values_of(shape)
        same_by_all(whole, values, sums(values))
        same_by_all(pieces, values, sums(values))
        statistics = pieces.run(values)
        rows = len(values) - 1
        assert statistics.elements["inner"] == rows
        pieces_of = [min(factor, rows - first) for first in range(0, rows, factor)]
        assert statistics.elements["square"] == sum(n + 1 for n in pieces_of) * shape[1]


def test_an_inner_reduction_by_pieces() -> None:
    p = chain()
    p, pieces = sl.split_reduction(p, "total", "x", 5, rc=True)
    for call, alloc in (("add", "alloc b"), ("square", "alloc t")):
        p = sl.store_at(sl.compute_at(p, call, pieces.loop), alloc, pieces.loop)
    q = sl.extract_pipeline(p, p.body()[2:], "inner")
    q = sl.split_loop(q, "inner.y", 4)
    for shape in SHAPES:
        values = values_of(shape)
        same_by_all(q, values, sums(values))


def test_the_body_of_a_loop_with_a_window_that_slides() -> None:
    """What is folded in the pipeline holds what a piece needs; the pipeline runs on any box."""
    p = sl.line_buffer(examples.blur(), "blur", "x", 8)
    q = sl.extract_pipeline(p, p.body()[2:], "both")
    q = sl.parallelize_loop(sl.split_loop(q, "both.x", 100), "for x", 2)
    assert "alloc scaled: float32[out.x.min - 1 .. out.x.max + 1 fold 10]" in str(sl.inner_pipeline(q, "both"))
    values = np.random.default_rng(0).random(1002).astype(np.float32)
    same_by_all(q, values, examples.blur()(values).array)
    assert q.run(values).elements == {"both": 1000, "scale": 1020, "blur": 1000}
    same_by_all(sl.inline_pipeline(q, "both"), values, examples.blur()(values).array)


def test_a_block_in_a_loop_speaks_of_its_box() -> None:
    """What stood for the variable of the loop are the bounds of what the pipeline gives."""
    p = sl.split_loop(examples.blur(), "blur.x", 8)
    p = sl.store_at(sl.compute_at(p, "scale", "for x"), "alloc scaled", "for x")
    q = sl.extract_pipeline(p, p.find("for x").body(), "blurred")
    assert "out[x .. x + 7] = blurred(inp[x - 1 .. x + 8])" in str(q)
    inner = sl.inner_pipeline(q, "blurred")
    assert "alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]" in str(inner)
    values = np.random.default_rng(1).random(67).astype(np.float32)
    same_by_all(q, values, examples.blur()(values).array)
    assert inner(values).array.tolist() == examples.blur()(values).array.tolist()
    assert "blurred(inp[out.x.min - 1 .. out.x.max + 1])" in str(sl.absorb_loop(q, "for x"))


def test_scalars_are_passed_on() -> None:
    p = chain(scalar=True)
    q = sl.split_loop(sl.extract_pipeline(p, p.body()[2:], "inner"), "inner.y", 3)
    assert "more=more" in str(q)
    for shape in SHAPES:
        same_by_all(q, values_of(shape), sums(values_of(shape), 5), more=5)
    assert "more=more" in str(sl.inline_pipeline(q, "inner"))


def test_pipelines_nest() -> None:
    p = chain()
    q = sl.extract_pipeline(p, p.body()[3:4], "squares")
    q = sl.extract_pipeline(q, q.body()[2:], "all_of_it")
    assert "squares" in str(sl.inner_pipeline(q, "all_of_it"))
    q = sl.split_loop(q, "all_of_it.y", 4)
    for shape in SHAPES:
        values = values_of(shape)
        same_by_all(q, values, sums(values))
    text = q.to_json(callbacks={"square": np.square, "add": add_rows, "total": _callback(p, "total"), **_stages(p)})
    assert sl.Pipeline.from_json(
        text, {"square": np.square, "add": add_rows, "total": _callback(p, "total"), **_stages(p)}
    ).same_program(q)
    again = sl.inline_pipeline(sl.inline_pipeline(q, "all_of_it"), "squares")
    same_by_all(again, values_of((9, 3)), sums(values_of((9, 3))))


def _callback(p: sl.Pipeline, call: str) -> Any:
    return p.find(call)._call.func.operation.function


def _stages(p: sl.Pipeline) -> dict[str, Any]:
    reduction = p.find("total")._call.func.reduction
    return {"init": reduction.init, "update": reduction.update, "finish": reduction.finish, "merge": reduction.merge}


def test_a_dimension_that_is_computed_whole_stays_whole() -> None:
    a, t, b = (sl.BufferExpr(name, np.float64, 2) for name in "atb")
    sl.Func(np.negative, [a[Y, X]], [t[Y, X]], name="negate")
    sl.Func(_running, [t[Y, X]], [b[Y, X]], name="run", whole=["x"])
    p = sl.build_pipeline([a], [b])
    q = sl.extract_pipeline(p, p.body()[-3:], "inner")
    with pytest.raises(sl.SchedulingError, match="inner computes x whole"):
        sl.split_loop(q, "inner.x", 4)
    q = sl.split_loop(q, "inner.y", 2)
    values = np.random.default_rng(3).random((5, 9))
    for options in OPTIONS:
        np.testing.assert_array_equal(q.run(values, **options).outputs[0], np.cumsum(-values, axis=1))


def _running(source: np.ndarray, target: np.ndarray) -> None:
    np.cumsum(source, axis=1, out=target)


def test_two_outputs() -> None:
    a, t, b, c = (sl.BufferExpr(name, np.int64, 1) for name in "atbc")
    sl.Func(np.square, [a[X]], [t[X]], name="square")
    sl.Func(add_rows, [t[sl.interval(X, X + 1)]], [b[X]], name="add")
    sl.Func(np.negative, [t[X]], [c[X]], name="negate")
    p = sl.build_pipeline([a], [b, c], require=[sl.same_shape(b, c)])
    q = sl.extract_pipeline(p, p.body()[-4:], "both")
    assert "c[b.x.min..b.x.max] = both(a[b.x.min .. b.x.max + 1])" in str(q)
    q = sl.split_loop(q, "both.x", 3)
    values = values_of((11,))
    b_found, c_found = np.zeros(10, np.int64), np.zeros(10, np.int64)
    for options in OPTIONS:
        q.run(values, b_found, c_found, **options)
        np.testing.assert_array_equal(b_found, np.square(values)[:-1] + np.square(values)[1:])
        np.testing.assert_array_equal(c_found, -np.square(values)[:-1])


def test_a_block_of_two_pieces_computes_each_once() -> None:
    """The end of the first piece is not the end of what the block computes."""
    p = sl.cut_call(chain(), "total.y", sl.BufferExpr("s", np.int64, 1).dim(0).min + 2)
    q = sl.extract_pipeline(p, p.body()[-2:], "inner")
    assert "s[:] = inner(b[:, :]" in str(q)
    for shape in SHAPES:
        values = values_of(shape)
        same_by_all(q, values, sums(values))
        assert q.run(values).elements["total"] == shape[0] - 1


def test_a_call_of_a_pipeline_that_gives_nothing_gives_nothing_where_it_stood() -> None:
    """What follows from there being something to give does not hold there."""
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(np.negative, [a[x]], [b[x]], name="turn")
    begin = b.dim(0).min
    p, (first, _) = sl.cut_call(sl.build_pipeline([a], [b]), "turn.x", begin + 1, rc=True)
    p = sl.extract_pipeline(p, first, "inner")
    p, (_, nothing) = sl.cut_call(p, "inner.x", begin + 2, rc=True)
    p = sl.inline_pipeline(p, nothing)
    for n in (0, 1, 2, 9):
        values, found = np.arange(n), np.zeros(n, np.int64)
        statistics = p.run(values, found, checked=True)
        np.testing.assert_array_equal(found, -values)
        assert statistics.elements.get("turn", 0) == n


# Refusals -------------------------------------------------------------------------------------------------------------


def refusal(p: sl.Pipeline, block: Any, name: str = "inner") -> str:
    """Why a block cannot be extracted."""
    with pytest.raises(sl.SchedulingError) as caught:
        sl.extract_pipeline(p, block, name)
    return str(caught.value)


def test_what_cannot_be_extracted() -> None:
    p = chain()
    assert "a check stays where it is" in refusal(p, p.body()[1:])
    assert "b is allocated in the block and used behind it" in refusal(p, p.body()[2:6])
    assert "the block writes different boxes of b and s" in refusal(p, p.body()[5:])
    assert "t is allocated in the block and used behind it" in refusal(p, p.body()[2:3])
    assert "the name 'square' is taken here" in refusal(p, p.body()[2:], "square")
    with pytest.raises(sl.OperationError, match="two words"):
        sl.extract_pipeline(p, p.body()[2:], "two words")


def test_a_window_that_slides_in_a_loop_outside_is_no_pipeline() -> None:
    """What is computed in an iteration depends on what an earlier one has left."""
    p = sl.line_buffer(examples.blur(), "blur", "x", 8)
    why = refusal(p, p.find("for x").body())
    assert "the block writes different boxes" in why


def test_what_depends_on_a_loop_otherwise() -> None:
    """What an outer loop decides, the box of an inner one does not say."""
    p = sl.split_loop(examples.blur(), "blur.x", 16)
    p, inner = sl.split_loop(p, "blur.x", 4, rc=True)
    (x,) = sl.variables("x")
    q, chosen = sl.specialize(p, inner.outer.body(), x <= 8, rc=True)
    assert "depends on x in another way than by the box" in refusal(q, q.forward(chosen.if_).as_block())
    alike, chosen = sl.specialize(p, inner.outer.body(), sl.variables(inner.outer.name())[0] <= 8, rc=True)
    assert "if out.x.min <= 8" in str(
        sl.inner_pipeline(sl.extract_pipeline(alike, alike.forward(chosen.if_).as_block(), "inner"), "inner")
    )


def test_what_is_only_right_for_the_box_that_there_is() -> None:
    """A buffer of 18 elements, whatever the box: a longer one would not find what it reads."""
    a, t, b = (sl.BufferExpr(name, np.int64, 1) for name in "atb")
    t.dim(0).min, t.dim(0).max = 0, 8
    sl.Func(np.square, [a[X]], [t[X]], name="square")
    sl.Func(add_rows, [t[sl.interval(X, X + 1)]], [b[X]], name="add")
    p = sl.build_pipeline([a], [b])
    why = refusal(p, p.body()[-3:])
    assert "as a pipeline over any box, the block is not shown to be right" in why
    assert "add does not find all of t" in why


def test_what_cannot_be_inlined() -> None:
    p = chain()
    with pytest.raises(sl.SchedulingError, match="square is no pipeline") as caught:
        sl.inline_pipeline(p, "square")
    assert "extract_pipeline and pipeline.as_func make such funcs" in str(caught.value)
    with pytest.raises(sl.OperationError, match="square is no pipeline"):
        sl.inner_pipeline(p, "square")


def test_a_constant_stays_with_the_pipeline_that_has_it() -> None:
    a, b, c, d = (sl.BufferExpr(name, np.int64, 1) for name in "abcd")
    weights = sl.constant("weights", np.arange(1, 4))
    sl.Func(lambda s, w, o: np.multiply(s, w.sum(), out=o), [a[X], weights[sl.interval(0, 2)]], [b[X]], name="weigh")
    sl.build_pipeline([a], [b]).as_func([c], [d], "inner")
    p = sl.build_pipeline([c], [d])
    same_by_all(p, np.arange(5), 6 * np.arange(5))
    with pytest.raises(sl.SchedulingError, match="the pipeline weigh has a constant weights, and this one not"):
        sl.inline_pipeline(p, "inner")


# By hand --------------------------------------------------------------------------------------------------------------


def test_a_pipeline_is_a_func_of_another_graph() -> None:
    inner = sl.line_buffer(examples.blur(), "blur", "x", 16)
    image, once, twice = (sl.BufferExpr(name, np.float32, 1) for name in ("image", "once", "twice"))
    first = inner.as_func([image], [once], "first")
    assert str(first) == "<Func once[x] = first(image[x - 1 .. x + 1])>"
    inner.as_func([once], [twice], "second")
    p = sl.build_pipeline([image], [twice])
    assert str(p) == (
        "pipeline second(image: float32[1]) -> (twice: float32[1]):\n"
        "  check image.x.min <= twice.x.min - 2\n"
        "  check twice.x.max <= image.x.max - 2\n"
        "  alloc once: float32[twice.x.min - 1 .. twice.x.max + 1]\n"
        "  once[:] = first(image[twice.x.min - 2 .. twice.x.max + 2])\n"
        "  twice[:] = second(once[:])"
    )
    values = np.random.default_rng(4).random(517).astype(np.float32)
    expected = examples.blur()(examples.blur()(values)).array
    lines = sl.line_buffer(p, "second", "x", 100)
    for q in (p, lines, sl.inline_pipeline(lines, "second"), sl.inline_pipeline(p, "first")):
        same_by_all(q, values, expected)


def test_what_a_pipeline_reads_whole_it_is_given_whole() -> None:
    inner = chain()
    a, s, n = sl.BufferExpr("image", np.int64, 2), sl.BufferExpr("rows", np.int64, 1), sl.BufferExpr("n", np.int64, 1)
    assert str(inner.as_func([a], [s])) == "<Func rows[y] = total(image[y..y + 1, :])>".replace("..", " .. ")
    sl.Func(np.negative, [s[Y]], [n[Y]], name="negate")
    p = sl.split_loop(sl.build_pipeline([a], [n]), "negate.y", 4)
    p = sl.store_at(sl.compute_at(p, "total", "for y"), "alloc rows", "for y")
    for shape in SHAPES:
        values = values_of(shape)
        same_by_all(p, values, -sums(values))


def test_scalars_of_a_pipeline_by_hand() -> None:
    inner = chain(scalar=True)
    a, s = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    inner.as_func([a], [s], arguments={"more": sl.scalar("r") + 1})
    p = sl.build_pipeline([a], [s])
    same_by_all(p, values_of((7, 3)), sums(values_of((7, 3)), 5), r=4)
    a, s = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    inner.as_func([a], [s])
    same_by_all(sl.build_pipeline([a], [s]), values_of((7, 3)), sums(values_of((7, 3)), 5), more=5)


def test_the_plan_of_an_inner_pipeline_is_made_once_and_ends_with_it() -> None:
    from slinky.runtime import plan as plans

    inner = chain()
    a, s = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    inner.as_func([a], [s])
    p = sl.split_loop(sl.build_pipeline([a], [s]), "total.y", 1)
    made: list[Any] = []
    original = plans.Variant.__init__

    def noting(self: Any, *arguments: Any) -> None:
        made.append(weakref.ref(self))
        original(self, *arguments)

    plans.Variant.__init__ = noting  # type: ignore[method-assign]
    try:
        values = values_of((30, 3))
        for _ in range(3):
            np.testing.assert_array_equal(p(values), sums(values))
    finally:
        plans.Variant.__init__ = original  # type: ignore[method-assign]
    assert len(made) == 2
    del p, inner, a, s
    gc.collect()
    assert [each() for each in made] == [None, None]


def failing(source: np.ndarray, target: np.ndarray) -> None:
    """Fails where a row is negative."""
    if (source < 0).any():
        raise ValueError("a negative row")
    target[...] = source


def failing_pipeline() -> sl.Pipeline:
    """A pipeline in another one, whose callback fails."""
    a, b, s, t = (sl.BufferExpr(name, np.int64, 1) for name in "abst")
    sl.Func(failing, [a[X]], [b[X]], name="inside")
    inner = sl.build_pipeline([a], [b], name="part")
    inner.as_func([s], [t], "around")
    return sl.split_loop(sl.build_pipeline([s], [t], name="all"), "around.x", 4)


@pytest.mark.parametrize("options", OPTIONS)
def test_an_error_names_both(options: dict[str, Any]) -> None:
    p = failing_pipeline()
    values = np.arange(10)
    values[6] = -1
    with pytest.raises(ValueError, match="a negative row") as caught:
        p.run(values, **options)
    notes = "\n".join(caught.value.__notes__)
    assert "in the call inside[4..7] of pipeline part" in notes
    assert "in the call around[4..7] of pipeline all" in notes
    np.testing.assert_array_equal(p(np.arange(10)), np.arange(10))


def test_what_a_pipeline_requires_of_scalars_is_checked_in_each_call() -> None:
    a, b = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("b", np.int64, 1)
    n = sl.scalar("n")
    sl.Func(np.negative, [a[X]], [b[X]], name="negate")
    inner = sl.build_pipeline([a], [b], require=[n >= 3], name="part")
    s, t = sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    inner.as_func([s], [t], "around")
    p = sl.build_pipeline([s], [t], name="all")
    np.testing.assert_array_equal(p(np.arange(4), n=3), -np.arange(4))
    with pytest.raises(sl.CheckFailedError, match="part") as caught:
        p(np.arange(4), n=2)
    assert "in the call around[0..3] of pipeline all" in "\n".join(caught.value.__notes__)


def extended() -> sl.Pipeline:
    """A blur that stands at the edges of what it is given."""
    a, b = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("b", np.int64, 1)
    sl.Func(add_rows, [a.extended("nearest")[sl.interval(X, X + 1)]], [b[X]], name="add")
    return sl.build_pipeline([a], [b])


def test_what_no_func_can_be_made_of() -> None:
    a, b, c = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("b", np.int64, 1), sl.BufferExpr("c", np.float64, 1)
    with pytest.raises(sl.GraphError, match="speaks of the ends of a, and a call would be given a part"):
        extended().as_func([a], [b])
    inner = failing_pipeline()
    for arguments, message in [
        (([a], [c]), "t is int64.1., and 'c' is float64.1."),
        (([a], b), "its outputs must be a list of buffers"),
        (([a, a], [b]), "the inputs of all are s; got 2 for them"),
        (([a], [b], "two words"), "two words"),
    ]:
        with pytest.raises(sl.GraphError, match=message):
            inner.as_func(*arguments)
        assert b.producer is None
    with pytest.raises(sl.GraphError, match="has no scalar 'n'"):
        inner.as_func([a], [b], arguments={"n": 3})
    s, m = sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("m", np.int64, 2)
    with pytest.raises(sl.GraphError, match="the scalar more is an integer, got 'x'"):
        chain(scalar=True).as_func([m], [s], arguments={"more": "x"})


def test_a_pipeline_that_requires_more_than_a_part_of_its_inputs() -> None:
    """An input of ten elements, whatever is computed: a call over a part would be given fewer."""
    a, b = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("b", np.int64, 1)
    sl.Func(np.negative, [a[X]], [b[X]], name="negate")
    inner = sl.build_pipeline([a], [b], require=[sl.equal(a.dim(0).extent, 10)])
    with pytest.raises(sl.GraphError, match="which does not follow for a part of its inputs"):
        inner.as_func([sl.BufferExpr("s", np.int64, 1)], [sl.BufferExpr("t", np.int64, 1)])


# Kept, and read again -------------------------------------------------------------------------------------------------


def test_json() -> None:
    p = failing_pipeline()
    text = p.to_json()
    again = sl.Pipeline.from_json(text, {"failing": failing})
    assert again.same_program(p)
    assert again.to_json() == text
    np.testing.assert_array_equal(again(np.arange(9)), np.arange(9))
    hostile = text.replace('"pass_buffers": true', '"pass_buffers": false')
    for wrong in (hostile, text.replace('"name": "part"', '"name": "two words"')):
        if wrong != text:
            with pytest.raises(sl.FormatError):
                sl.Pipeline.from_json(wrong, {"failing": failing})


def test_history_makes_it_again() -> None:
    p = examples.blur()
    p = sl.extract_pipeline(p, p.body()[2:], "inner")
    p = sl.inline_pipeline(sl.split_loop(p, "inner.x", 4), "inner")
    names: dict[str, Any] = {"sl": sl, "p": examples.blur()}
    text = str(p.history())
    exec("\n".join(line for line in text.splitlines() if line.startswith("p")), names)
    assert str(names["p"]) == str(p)
