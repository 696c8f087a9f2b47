"""Outputs that are omitted: as large as the checks allow, allocated, and returned."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import slinky as sl
from slinky.ir.statements import Check
from slinky.runtime.arguments import given_values
from slinky.symbolic.expressions import metadata
from slinky.symbolic.traversal import evaluate

y, x = sl.variables("y x")
r = sl.scalar("r")


def buffers(names: str, rank: int = 1, dtype: Any = np.float64) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, dtype, rank) for name in names.split()]


def nothing(*_arrays: np.ndarray) -> None:
    """A callback whose arrays nobody looks at."""


def single(read: Any, *, require: tuple[Any, ...] = (), **dims: Any) -> sl.Pipeline:
    """A pipeline of one func that reads so much of its input; attributes of dimension 0 of the output, assigned."""
    inp, out = buffers("inp out")
    sl.Func(nothing, [inp[read(inp)]], [out[x]], name="f")
    for field, value in dims.items():
        setattr(out.dim(0), field, value(inp) if callable(value) else value)
    return sl.build_pipeline([inp], [out], require=require)


def copying(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source


def pointwise(rank: int = 2) -> sl.Pipeline:
    inp, out = buffers("inp out", rank)
    at = sl.variables("a b c d")[:rank]
    sl.Func(np.negative, [inp[at]], [out[at]], name="negative")
    return sl.build_pipeline([inp], [out])


def add_3x3(source: np.ndarray, target: np.ndarray) -> None:
    height, width = target.shape
    target[...] = sum(source[i : i + height, j : j + width] for i in range(3) for j in range(3))


def blur() -> sl.Pipeline:
    inp, out = buffers("inp out", 2)
    window = inp[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(add_3x3, [window], [out[y, x]], name="blur")
    return sl.build_pipeline([inp], [out])


# What comes back ------------------------------------------------------------------------------------------------------


def test_the_output_of_a_pointwise_func_is_an_array_like_its_input() -> None:
    image = np.arange(12.0).reshape(3, 4)
    out = pointwise()(image)
    assert type(out) is np.ndarray
    assert out.flags.c_contiguous
    assert out.flags.owndata
    np.testing.assert_array_equal(out, -image)


def test_an_output_that_does_not_begin_at_the_origin_is_a_buffer() -> None:
    image = np.arange(30.0).reshape(5, 6)
    out = blur()(image)
    assert isinstance(out, sl.Buffer)
    assert (out.min, out.max) == ((1, 1), (3, 4))
    expected = sum(image[i : i + 3, j : j + 4] for i in range(3) for j in range(3))
    np.testing.assert_array_equal(out.array, expected)
    np.testing.assert_array_equal(np.asarray(out), expected)
    again = pointwise()(out)  # what comes back means the same to another pipeline
    assert again.min == (1, 1)
    np.testing.assert_array_equal(again.array, -expected)


def test_a_buffer_at_the_origin_gives_an_array() -> None:
    assert type(pointwise(1)(sl.Buffer(np.ones(3)))) is np.ndarray
    assert pointwise(1)(sl.Buffer(np.ones(3), min=(-4,))).min == (-4,)


def test_an_output_without_dimensions() -> None:
    inp, out = sl.BufferExpr("inp", np.float64, 1), sl.BufferExpr("out", np.float64, 0)
    sl.Func(lambda source, target: np.sum(source, out=target), [inp[:]], [out[()]], name="total")
    total = sl.build_pipeline([inp], [out])(np.arange(4.0))
    assert total.shape == ()
    assert total == 6


def test_an_input_without_elements_gives_an_output_without_elements() -> None:
    assert pointwise()(np.empty((0, 3))).shape == (0, 3)
    assert blur()(np.ones((2, 4))).shape == (0, 2)


# How large ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (single(lambda inp: x), (0, 9)),
        (single(lambda inp: x + 3), (-3, 6)),
        (single(lambda inp: 9 - x), (0, 9)),
        (single(lambda inp: sl.interval(2 * x, 2 * x + 1)), (0, 4)),
        (single(lambda inp: sl.interval(3 * x - 1, 3 * x + 1)), (1, 2)),
        (single(lambda inp: x // 2), (0, 19)),
        (single(lambda inp: sl.interval(x // 3, x // 3 + 1)), (0, 26)),
        (single(lambda inp: (x + 1) // 2), (-1, 18)),
        (single(lambda inp: sl.interval(x, x + 2), min=0), (0, 7)),
        (single(lambda inp: x, min=2, extent=5), (2, 6)),
        (single(lambda inp: x, max=7, extent=5), (3, 7)),
        (single(lambda inp: sl.interval(0, 0), bounds=lambda inp: inp.dim(0).bounds), (0, 9)),
        (single(lambda inp: slice(None), min=0, extent=lambda inp: inp.dim(0).extent // 2 + 1), (0, 5)),
        (single(lambda inp: slice(None), min=0, max=lambda inp: 2 * inp.dim(0).max), (0, 18)),
    ],
)
def test_the_bounds_that_follow(p: sl.Pipeline, expected: tuple[int, int]) -> None:
    out = sl.Buffer(p(np.zeros(10)))
    assert (*out.min, *out.max) == expected


def test_bounds_that_follow_from_scalars() -> None:
    window = single(lambda inp: sl.interval(x - r, x + r), require=(r >= 0,))
    strided = single(lambda inp: sl.interval(r * x, r * x + r - 1), require=(r >= 1,))
    coarse = single(lambda inp: x // r, require=(r >= 1,))
    chosen = single(lambda inp: slice(None), min=0, extent=r)
    found = [sl.Buffer(p(np.zeros(10), r=3)) for p in (window, strided, coarse, chosen)]
    assert [(*b.min, *b.max) for b in found] == [(3, 6), (0, 2), (0, 29), (0, 2)]
    with pytest.raises(sl.CheckFailedError, match="requires 1 <= r, got r = 0"):
        coarse(np.zeros(10), r=0)


def test_the_smallest_of_several_inputs_decides() -> None:
    a, b, out = buffers("a b out")
    sl.Func(np.add, [a[x], b[x]], [out[x]], name="add")
    p = sl.build_pipeline([a, b], [out])
    assert p(np.ones(5), np.ones(3)).tolist() == [2, 2, 2]
    later = p(np.ones(5), sl.Buffer(np.ones(9), min=(2,)))
    assert (later.min, later.max) == ((2,), (4,))


def test_a_product_of_matrices() -> None:
    a, b, out = buffers("a b out", 2)
    i, j = sl.variables("i j")
    sl.Func(np.matmul, [a[i, :], b[:, j]], [out[i, j]], name="matmul")
    p = sl.build_pipeline([a, b], [out], require=[sl.equal(a.dim(1).extent, b.dim(0).extent)])
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(p(left, right), left @ right)


def two_outputs() -> sl.Pipeline:
    """`wide` reads the input, `narrow` reads `wide`."""
    inp, wide, narrow = buffers("inp wide narrow")
    sl.Func(np.negative, [inp[x]], [wide[x]], name="first")
    sl.Func(
        lambda source, target: np.add(source[:-2], source[2:], out=target),
        [wide[sl.interval(x - 1, x + 1)]],
        [narrow[x]],
        name="second",
    )
    return sl.build_pipeline([inp], [wide, narrow])


def test_an_output_that_another_one_is_made_of() -> None:
    wide, narrow = two_outputs()(np.arange(5.0))
    assert wide.tolist() == [0, -1, -2, -3, -4]
    assert narrow.min == (1,)
    assert narrow.array.tolist() == [-2, -4, -6]


def test_outputs_of_one_func_have_the_same_bounds() -> None:
    inp, low, high = buffers("inp low high")
    sl.Func(np.modf, [inp[x]], [low[x], high[x]], name="modf")
    p = sl.build_pipeline([inp], [low, high])
    fractions, integers = p(np.array([1.5, 2.25]))
    assert (fractions.tolist(), integers.tolist()) == ([0.5, 0.25], [1, 2])


def test_the_output_of_a_schedule_is_that_of_the_pipeline() -> None:
    p = blur()
    scheduled = sl.split_loop(p, "blur.y", 2)
    image = np.random.default_rng(0).random((7, 8))
    np.testing.assert_array_equal(scheduled(image).array, p(image).array)
    assert scheduled(image).min == (1, 1)


ends = st.tuples(st.integers(1, 3), st.integers(-3, 3), st.integers(0, 3))


@example([(1, -2, 0)], 3, 3, 12)
@given(st.lists(ends, min_size=1, max_size=3), st.integers(1, 3), st.integers(-3, 3), st.integers(0, 12))
def test_it_is_the_largest_box_that_the_checks_allow(
    reads: list[tuple[int, int, int]], divisor: int, first: int, extent: int
) -> None:
    inputs = buffers(" ".join(f"i{n}" for n in range(len(reads))))
    out = sl.BufferExpr("out", np.float64, 1)
    accesses = [
        b[sl.interval((step * x + offset) // divisor, (step * x + offset + width) // divisor)]
        for b, (step, offset, width) in zip(inputs, reads, strict=True)
    ]
    sl.Func(nothing, accesses, [out[x]], name="f")
    p = sl.build_pipeline(inputs, [out])
    arrays = [sl.Buffer(np.zeros(extent + n), min=(first,)) for n in range(len(reads))]
    checks = [s.condition for s in p.program.body if isinstance(s, Check)]
    values = {k: v for b, a in zip(inputs, arrays, strict=True) for k, v in given_values(b.name, a).items()}
    lo, hi = metadata("out", 0, "min"), metadata("out", 0, "max")
    allowed = [
        (a, b)
        for a, b in itertools.product(range(-60, 61), repeat=2)
        if a <= b + 1 and all(evaluate(c, {**values, lo: a, hi: b}) for c in checks)
    ]
    if not allowed:
        with pytest.raises(sl.ArgumentError, match="too small"):
            p(*arrays)
        return
    largest = min(a for a, _ in allowed), max(b for _, b in allowed)
    assert largest in allowed
    found = sl.Buffer(p(*arrays))
    assert (*found.min, *found.max) == largest


# Strides --------------------------------------------------------------------------------------------------------------


def strided(assign: Any, require: Any = lambda out: []) -> np.ndarray:
    inp, out = buffers("inp out", 2, np.float32)
    sl.Func(copying, [inp[y, x]], [out[y, x]], name="copy")
    assign(out, inp)
    image = np.arange(15, dtype=np.float32).reshape(3, 5)
    found = sl.build_pipeline([inp], [out], require=require(out))(image)
    np.testing.assert_array_equal(found, image)
    return found


def test_strides_that_constraints_say() -> None:
    def by_columns(out: sl.BufferExpr, inp: sl.BufferExpr) -> None:
        out.dim(0).stride = 4
        out.dim(1).stride = 4 * out.dim(0).extent

    def like_the_input(out: sl.BufferExpr, inp: sl.BufferExpr) -> None:
        out.dim(0).stride = inp.dim(0).stride + 12

    def upwards(out: sl.BufferExpr, inp: sl.BufferExpr) -> None:
        out.dim(0).stride = -out.dim(1).extent * 4

    assert strided(lambda out, inp: None).strides == (20, 4)
    assert strided(by_columns).strides == (4, 12)
    assert strided(like_the_input).strides == (32, 4)
    assert strided(upwards).strides == (-20, 4)


def test_strides_that_are_aligned() -> None:
    def rows_of_64_bytes(out: sl.BufferExpr) -> list[Any]:
        return [sl.equal(out.dim(0).stride % 64, 0)]

    assert strided(lambda out, inp: None, rows_of_64_bytes).strides == (64, 4)
    assert strided(lambda out, inp: None, lambda out: [out.dim(0).stride >= 30]).strides == (30, 4)


def test_strides_that_leave_no_room() -> None:
    def too_close(out: sl.BufferExpr, inp: sl.BufferExpr) -> None:
        out.dim(0).stride = 4
        out.dim(1).stride = 4

    with pytest.raises(sl.ArgumentError, match=r"output out was omitted.*strides, \(4, 4\).*would share memory"):
        strided(too_close)


# Given in part, by name, and to other ways to run ---------------------------------------------------------------------


def test_arrays_by_name() -> None:
    image, target = np.ones((2, 3)), np.zeros((2, 3))
    p = pointwise()
    assert p(inp=image).shape == (2, 3)
    assert p(image, out=target) is target
    assert p(out=target, inp=image) is target


def test_some_outputs_by_name() -> None:
    p = two_outputs()
    given_one = sl.Buffer(np.zeros(2), min=(2,))
    wide, narrow = p(np.arange(5.0), narrow=given_one)
    assert narrow is given_one
    assert wide.shape == (5,)
    assert given_one.array.tolist() == [-4, -6]
    target = np.zeros(4)
    wide, narrow = p(np.arange(5.0), wide=target)
    assert wide is target
    assert narrow.max == (2,)  # one fewer than `target` has


@pytest.mark.parametrize(
    ("arrays", "named", "message"),
    [
        ((), {}, "pipeline first takes 3 arrays (inp, wide, narrow), got 0; inp is missing"),
        (
            (),
            {"wide": np.zeros(3)},
            "pipeline first takes 3 arrays (inp, wide, narrow), got 0 and wide by name; inp is missing",
        ),
        (
            (np.zeros(3), np.zeros(3)),
            {},
            "pipeline first takes 3 arrays (inp, wide, narrow), got 2; outputs are given all, or none, or some by "
            "name, as in p(inp, wide=wide)",
        ),
        ((np.zeros(3),), {"inp": np.zeros(3)}, "argument inp is given by position, and by name"),
        ((np.zeros(3),) * 4, {}, "pipeline first takes 3 arrays (inp, wide, narrow), got 4"),
        ((np.zeros(3),), {"gain": 2}, "pipeline first has no scalar 'gain' (scalars: none)"),
        ((np.zeros((3, 1)),), {}, "argument inp: expected rank 1, got rank 2 (shape (3, 1))"),
        ((np.zeros(3, np.float32),), {}, "argument inp: expected dtype float64, got float32"),
        (
            (np.zeros(1),),
            {},
            "output narrow was omitted, and the arrays given are too small for any: along x it would begin at 1 and "
            "end at -1",
        ),
    ],
)
def test_what_is_refused(arrays: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    p = two_outputs()
    for attempt in (p, p.run, p.bind, p.memory):
        with pytest.raises(sl.ArgumentError) as refused:
            attempt(*arrays, **named)
        assert str(refused.value) == message


@pytest.mark.parametrize("options", [{}, {"checked": True}, {"checked": "first"}, {"backend": "interpreter"}], ids=str)
def test_statistics_hold_the_outputs(options: dict[str, Any]) -> None:
    image = np.ones((4, 5))
    statistics = blur().run(image, **options)
    (out,) = statistics.outputs
    assert out.min == (1, 1)
    assert (out.array == 9).all()
    target = np.zeros((4, 5))
    assert pointwise().run(image, target, **options).outputs[0] is target


def test_a_bound_pipeline_has_one_output_for_all_its_runs() -> None:
    image = np.ones((4, 5))
    bound = blur().bind(image)
    first = bound()
    assert (first.array == 9).all()
    image *= 2
    assert bound() is first
    assert (first.array == 18).all()


def test_memory_is_told_of_inputs_alone() -> None:
    p = two_outputs()
    assert p.memory((100_000,)) == p.memory(np.zeros(5), np.zeros(5), sl.Buffer(np.zeros(3), min=(1,)))
    assert pointwise().memory(inp=(4, 5)).program_bytes == 0


def test_traces_and_bars_take_inputs_alone(tmp_path: Any) -> None:
    (out,) = blur().trace(np.ones((4, 5)), path=tmp_path / "trace.json").outputs
    assert (out.array == 9).all()


# What does not follow -------------------------------------------------------------------------------------------------


def refusal(p: sl.Pipeline, *arrays: Any) -> str:
    with pytest.raises(sl.ArgumentError) as refused:
        p(*arrays)
    return str(refused.value)


def test_an_output_of_any_size_does_not_follow() -> None:
    """Ends within the input whatever the output: nothing is checked of the output."""
    first, last = buffers("inp")[0].dim(0).min, buffers("inp")[0].dim(0).max
    p = single(lambda inp: sl.maximum(sl.minimum(x, last), first), require=(first <= last,))
    assert refusal(p, np.zeros(4)) == (
        "output out was omitted, but out.x.min and out.x.max do not follow from the arrays given and what pipeline f "
        "requires; say it before the pipeline is built: out.dim(0).bounds = inp.dim(0).bounds, or give the array"
    )


def test_an_output_of_what_is_read_beyond_its_edges_is_as_large_as_it_is_said_to_be() -> None:
    def build(require: Any) -> sl.Pipeline:
        inp, out = buffers("inp out", 2)
        window = inp.extended("reflect")[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
        sl.Func(add_3x3, [window], [out[y, x]], name="blur")
        return sl.build_pipeline([inp], [out], require=require(inp, out))

    image = np.random.default_rng(0).random((5, 6))
    message = refusal(build(lambda inp, out: []), image)
    assert "but out.y.min, out.y.max, out.x.min and out.x.max do not follow from" in message
    assert "out.dim(0).bounds = inp.dim(0).bounds; out.dim(1).bounds = inp.dim(1).bounds" in message
    out = build(lambda inp, out: [sl.same_shape(inp, out)])(image)
    padded = np.pad(image, 1, mode="symmetric")
    np.testing.assert_allclose(out, sum(padded[i : i + 5, j : j + 6] for i in range(3) for j in range(3)))


def test_copies_say_how_large_their_targets_are() -> None:
    one, other, out = buffers("one other out", 2)
    sl.copies.concatenate([one, other], out)
    p = sl.build_pipeline([one, other], [out])
    first, second = np.ones((2, 3)), np.zeros((4, 3))
    np.testing.assert_array_equal(p(first, second), np.concatenate([first, second]))
    one, out = buffers("one out", 2)
    sl.copies.transpose(one, out)
    np.testing.assert_array_equal(sl.build_pipeline([one], [out])(first), first.T)


def test_what_the_refusal_proposes_works() -> None:
    inp, out = buffers("inp out", 2)
    sl.Func(copying, [inp[y, :]], [out[y, x]], name="rows")
    message = refusal(sl.build_pipeline([inp], [out]), np.ones((2, 3)))
    assert "out.x.min and out.x.max do not follow" in message
    code = message.partition("before the pipeline is built: ")[2].removesuffix(", or give the array")
    exec(code, {"inp": inp, "out": out, "sl": sl})
    assert sl.build_pipeline([inp], [out])(np.ones((2, 3))).shape == (2, 3)


def test_nothing_to_propose_but_numbers() -> None:
    out = sl.BufferExpr("out", np.float64, 1)
    sl.Func(lambda target: target.fill(1), [], [out[x]], name="ones")
    message = refusal(sl.build_pipeline([], [out]))
    assert "say it before the pipeline is built: out.dim(0).bounds = sl.interval(0, 9) (with the right" in message
    exec("out.dim(0).bounds = sl.interval(0, 9)", {"out": out, "sl": sl})
    assert sl.build_pipeline([], [out])().tolist() == [1] * 10


def test_a_place_that_is_left_open_does_not_follow() -> None:
    """Four elements anywhere in the input: there are several such boxes, and none is the largest."""
    p = single(lambda inp: x, extent=4)
    assert "but out.x.min and out.x.max do not follow" in refusal(p, np.zeros(9))


def test_a_choice_between_outputs_does_not_follow() -> None:
    """One may be larger where the other is smaller."""
    inp, low, high = buffers("inp low high")
    sl.Func(np.negative, [inp[x]], [low[x]], name="f")
    sl.Func(np.negative, [inp[x]], [high[x]], name="g")
    p = sl.build_pipeline([inp], [low, high], require=[sl.equal(high.dim(0).min, low.dim(0).max + 1)])
    assert "output low was omitted, but low.x.max and high.x.min do not follow" in refusal(p, np.zeros(9))
    found = p(np.zeros(9), low=np.zeros(4))
    assert (found[1].min, found[1].max) == ((4,), (8,))


def test_what_limits_two_outputs_together_gives_neither_its_bounds() -> None:
    """As large as the input allows each; that both are too large is for the run to say."""
    inp, low, high = buffers("inp low high")
    sl.Func(np.negative, [inp[x]], [low[x]], name="f")
    sl.Func(np.negative, [inp[x]], [high[x]], name="g")
    p = sl.build_pipeline([inp], [low, high], require=[low.dim(0).max + high.dim(0).max <= 10])
    assert [out.shape for out in p(np.zeros(6))] == [(6,), (6,)]
    with pytest.raises(sl.CheckFailedError, match=r"got high\.x\.max = 8, low\.x\.max = 8"):
        p(np.zeros(9))


def test_one_end_that_does_not_follow() -> None:
    p = single(lambda inp: sl.interval(0, sl.maximum(x, 0)), min=0)
    assert sl.Buffer(p(np.zeros(4))).max == (3,)
    p = single(lambda inp: sl.interval(sl.minimum(x, inp.dim(0).max), inp.dim(0).max))
    assert "but out.x.max does not follow" in refusal(p, np.zeros(4))


def test_checks_hold_or_fail_as_ever() -> None:
    """What is required beyond bounds of ends is checked by the run, as of arrays that are given."""
    inp, out = buffers("inp out")
    sl.Func(np.negative, [inp[x]], [out[x]], name="f")
    p = sl.build_pipeline([inp], [out], require=[sl.equal(out.dim(0).extent % 4, 0)])
    assert p(np.zeros(8)).shape == (8,)
    with pytest.raises(sl.CheckFailedError, match=r"got out\.x\.max = 8, out\.x\.min = 0"):
        p(np.zeros(9))


def test_there_may_be_no_memory_for_it() -> None:
    inp, out = buffers("inp out", 1, np.float64)
    sl.Func(nothing, [inp[0]], [out[x]], name="f")
    out.dim(0).bounds = sl.interval(0, 2**58)
    with pytest.raises(sl.StorageError, match="there is no memory for out, which needs"):
        sl.build_pipeline([inp], [out])(np.zeros(1))


def test_the_short_way_of_complete_arguments_completes_nothing() -> None:
    """An output that is given costs what it did: nothing is asked about omitted ones."""
    p = pointwise(1)
    a, o = np.ones(3), np.zeros(3)
    p(a, o)
    p(a, o)
    plan = p.compile()
    assert plan._completion._solutions == {}
