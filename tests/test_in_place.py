"""Calls that work in place: which intermediates share memory, and which must not."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import mode, over

import slinky as sl
from slinky.ir.statements import SERIAL, Alloc, Call, For
from slinky.symbolic.expressions import constant, variable
from slinky.symbolic.intervals import Interval

Array = np.ndarray


class Step:
    """A callback that adds up its inputs and 1, in place if it must, and remembers where its operands were."""

    def __init__(self, name: str, outputs: int = 1) -> None:
        self.__name__ = name
        self.outputs = outputs
        self.is_clean = True
        self.lock = threading.Lock()
        self.inputs_at: list[tuple[int, ...]] = []
        self.outputs_at: list[tuple[int, ...]] = []

    def __call__(self, *operands: Array) -> None:
        """The outputs come after the inputs."""
        inputs, outputs = operands[: -self.outputs], operands[-self.outputs :]
        with self.lock:
            self.inputs_at.append(tuple(a.ctypes.data for a in inputs))
            self.outputs_at.append(tuple(a.ctypes.data for a in outputs))
        for a, b in itertools.product(inputs, outputs):
            self.is_clean &= a.ctypes.data == b.ctypes.data or not np.shares_memory(a, b)
        result = sum(a.astype(np.float64) for a in inputs) + 1
        for output in outputs:
            output[...] = result


def buffer(name: str, rank: int = 1, dtype: Any = np.float64) -> sl.BufferExpr:
    """A buffer of a test."""
    return sl.BufferExpr(name, dtype, rank)


def run(p: sl.Pipeline, count: int, steps: list[Step], stride: int = 1) -> Array:
    """Run on numbers; the result, the same by the interpreter in checked mode."""
    a = np.arange(count, dtype=np.float64)
    out, again = np.zeros(abs(stride) * count)[::stride], np.zeros(count)
    p.run(a, again, checked=True)
    for step in steps:
        step.inputs_at.clear()
        step.outputs_at.clear()
    p(a, out)
    np.testing.assert_array_equal(out, again)
    return out


def chain(count: int, **options: Any) -> tuple[sl.Pipeline, list[Step]]:
    """Steps one after the other."""
    (i,) = sl.variables("i")
    steps = [Step(f"f{n}") for n in range(count)]
    buffers = [buffer(f"b{n}") for n in range(count + 1)]
    for n, step in enumerate(steps):
        sl.Func(step, [buffers[n][i]], [buffers[n + 1][i]], **options)
    return sl.build_pipeline([buffers[0]], [buffers[-1]]), steps


def in_pieces(p: sl.Pipeline, count: int, size: int) -> sl.Pipeline:
    """All funcs of a chain on a piece, then on the next."""
    p, (loop, _, _) = sl.split_loop(p, f"f{count - 1}.i", size, rc=True)
    for n in reversed(range(count - 1)):
        p, func = sl.compute_at(p, f"f{n}", loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return p


def is_in_place(step: Step) -> bool:
    """Whether each of its calls wrote an output over an input; exactly over it."""
    assert step.is_clean
    return all(set(r) & set(w) for r, w in zip(step.inputs_at, step.outputs_at, strict=True))


# Where it is done -----------------------------------------------------------------------------------------------------


def schedules() -> list[Any]:
    """What to do with a chain of five."""

    def whole(p: sl.Pipeline) -> sl.Pipeline:
        return p

    def pieces(p: sl.Pipeline) -> sl.Pipeline:
        return in_pieces(p, 5, 7)

    def parallel(p: sl.Pipeline) -> sl.Pipeline:
        return sl.parallelize_loop(in_pieces(p, 5, 7), "for i", workers=2)

    return [whole, pieces, parallel]


@pytest.mark.parametrize("stride", [1, 2, -1])
@pytest.mark.parametrize("schedule", schedules())
def test_a_chain_lies_in_one_place(schedule: Callable[[sl.Pipeline], sl.Pipeline], stride: int) -> None:
    """In the output, if it is contiguous."""
    p, steps = chain(5, in_place=True)
    p = schedule(p)
    np.testing.assert_array_equal(run(p, 23, steps, stride), np.arange(23) + 5)
    assert [is_in_place(step) for step in steps] == [False, True, True, True, stride == 1]


@pytest.mark.parametrize("schedule", schedules())
@pytest.mark.parametrize("in_place", [None, False])
def test_a_callback_of_a_user_works_in_place_only_if_it_says_so(
    schedule: Callable[[sl.Pipeline], sl.Pipeline], in_place: bool | None
) -> None:
    p, steps = chain(5, in_place=in_place)
    np.testing.assert_array_equal(run(schedule(p), 23, steps), np.arange(23) + 5)
    assert not any(map(is_in_place, steps))


def test_ufuncs_work_in_place_by_themselves() -> None:
    (i,) = sl.variables("i")
    a, b, c, d, out = map(buffer, ("a", "b", "c", "d", "out"))
    sl.Func(np.sqrt, [a[i]], [b[i]])
    sl.Func(np.negative, [b[i]], [c[i]])
    sl.Func(np.exp, [c[i]], [d[i]])
    sl.Func(np.square, [d[i]], [out[i]])
    source = sl.build_pipeline([a], [out]).to_python()
    assert "    negative(b, out=b)\n    exp(b, out=b)\n" in source


def test_a_ufunc_that_must_not() -> None:
    (i,) = sl.variables("i")
    a, b, c, out = map(buffer, ("a", "b", "c", "out"))
    sl.Func(np.sqrt, [a[i]], [b[i]])
    sl.Func(np.negative, [b[i]], [c[i]], in_place=False)
    sl.Func(np.square, [c[i]], [out[i]])
    assert "    negative(b, out=c)\n" in sl.build_pipeline([a], [out]).to_python()


def test_the_first_of_two_inputs_that_end() -> None:
    (i,) = sl.variables("i")
    a, b, c, d, out = map(buffer, ("a", "b", "c", "d", "out"))
    steps = [Step(name) for name in ("f", "g", "h", "last")]
    for step, reads, written in zip(steps, ([a], [a], [b, c], [d]), (b, c, d, out), strict=True):
        sl.Func(step, [r[i] for r in reads], [written[i]], in_place=True)
    p = sl.build_pipeline([a], [out])
    np.testing.assert_array_equal(run(p, 9, steps), 2 * np.arange(9) + 4)
    assert steps[2].outputs_at[0][0] == steps[2].inputs_at[0][0]


def test_the_same_input_twice() -> None:
    (i,) = sl.variables("i")
    a, b, c, out = map(buffer, ("a", "b", "c", "out"))
    steps = [Step(name) for name in "fgh"]
    sl.Func(steps[0], [a[i]], [b[i]])
    sl.Func(steps[1], [b[i], b[i]], [c[i]], in_place=True)
    sl.Func(steps[2], [c[i]], [out[i]])
    np.testing.assert_array_equal(run(sl.build_pipeline([a], [out]), 9, steps), 2 * np.arange(9) + 4)
    assert is_in_place(steps[1])


def test_one_output_only_takes_over() -> None:
    (i,) = sl.variables("i")
    a, b, c, d, e, out = map(buffer, ("a", "b", "c", "d", "e", "out"))
    steps = [Step("f", 2), Step("g", 2), Step("h")]
    sl.Func(steps[0], [a[i]], [b[i], c[i]])
    sl.Func(steps[1], [b[i], c[i]], [d[i], e[i]], in_place=True)
    sl.Func(steps[2], [d[i], e[i]], [out[i]])
    run(sl.build_pipeline([a], [out]), 9, steps)
    assert len({*steps[1].inputs_at[0], *steps[1].outputs_at[0]}) == 3


def test_points_in_another_order_of_dimensions() -> None:
    """An output may be transposed against the dimensions of the func, and its input with it; not against each other."""
    y, x = sl.variables("y x")

    def program(read: tuple[Any, Any]) -> str:
        a, b, c, out = (buffer(name, 2) for name in ("a", "b", "c", "out"))
        sl.Func(np.sqrt, [a[y, x]], [b[y, x]])
        sl.Func(lambda s, t: None, [b[read]], [c[x, y]], name="g", in_place=True)
        sl.Func(np.square, [c[y, x]], [out[y, x]])
        b.dim(0).min = b.dim(1).min = c.dim(0).min = c.dim(1).min = 0
        for dim in (b.dim(0), b.dim(1), c.dim(0), c.dim(1)):
            dim.extent = 8
        return sl.build_pipeline([a], [out]).to_python()

    assert "g(b_read_only, b)" in program((x, y))
    assert "g(b_read_only, c)" in program((y, x))
    assert "g(b_read_only, c)" in program((x, 7 - y)), "the same along one dimension"


def test_coordinates_and_arguments_go_along() -> None:
    (i,) = sl.variables("i")
    a, b, c, out = map(buffer, ("a", "b", "c", "out"))
    places = []

    def shift(source: sl.Buffer, target: sl.Buffer, *, by: int) -> None:
        places.append((source.array.ctypes.data == target.array.ctypes.data, source.min == target.min))
        target.array[...] = source.array + by

    sl.Func(np.negative, [a[i]], [b[i]])
    sl.Func(shift, [b[i]], [c[i]], in_place=True, pass_buffers=True, arguments={"by": sl.scalar("r")})
    sl.Func(np.negative, [c[i]], [out[i]])
    p = sl.build_pipeline([a], [out])
    result = sl.Buffer(np.zeros(5), min=(3,))
    p(sl.Buffer(np.arange(5.0), min=(3,)), result, r=2)
    np.testing.assert_array_equal(result.array, np.arange(5) - 2)
    assert places == [(True, True)]
    p.run(sl.Buffer(np.arange(5.0), min=(3,)), result, r=2, checked=True)


def test_what_a_program_uses_stays_what_it_says() -> None:
    p, _ = chain(4, in_place=True)
    a, out = np.zeros(1000), np.zeros(1000)
    found, right = p.run(a, out), p.run(a, out, backend="interpreter")
    assert p.memory(a, out).program_bytes == found.program_bytes == right.program_bytes == 16000
    assert p.memory(a, out).peak_bytes == found.peak_bytes == 0
    assert right.peak_bytes == 16000
    told: list[tuple[str, str]] = []
    p.run(a, out, hooks=sl.Hooks(
        allocate=lambda name, _: told.append(("+", name)), free=lambda name, _: told.append(("-", name))
    ))  # fmt: skip
    assert told == [("+", "b1"), ("+", "b2"), ("-", "b1"), ("+", "b3"), ("-", "b2"), ("-", "b3")]


# Where it must not be done --------------------------------------------------------------------------------------------


def test_a_buffer_that_is_read_again() -> None:
    (i,) = sl.variables("i")
    a, b, c, d, out = map(buffer, ("a", "b", "c", "d", "out"))
    steps = [Step(name) for name in ("f", "g", "h", "last")]
    for step, reads, written in zip(steps, ([a], [b], [c], [b, d]), (b, c, d, out), strict=True):
        sl.Func(step, [r[i] for r in reads], [written[i]], in_place=True)
    p = sl.build_pipeline([a], [out])
    np.testing.assert_array_equal(run(p, 9, steps), 2 * np.arange(9) + 5)
    assert steps[3].inputs_at[0][0] == steps[3].outputs_at[0][0] != steps[3].inputs_at[0][1]
    assert [is_in_place(step) for step in steps] == [False, False, True, True]


@pytest.mark.parametrize("shift", [-1, 1])
def test_points_that_are_not_the_same(shift: int) -> None:
    (i,) = sl.variables("i")
    a, b, c, out = map(buffer, ("a", "b", "c", "out"))
    steps = [Step(name) for name in "fgh"]
    sl.Func(steps[0], [a[i]], [b[i]])
    sl.Func(steps[1], [b[i], b[i + shift]], [c[i]], in_place=True)
    sl.Func(steps[2], [c[i]], [out[i]])
    p = sl.build_pipeline([a], [out])
    source, result = sl.Buffer(np.arange(11.0), min=(-1,)), np.zeros(9)
    p(source, result)
    np.testing.assert_array_equal(result, 2 * np.arange(1, 10) + shift + 4)
    assert not any(map(is_in_place, steps))


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_box_that_is_not_the_same(shift: int) -> None:
    """b is larger than c, for somebody reads more of it before."""
    (i,) = sl.variables("i")
    a, b, c, d, out = map(buffer, ("a", "b", "c", "d", "out"))
    steps = [Step(name) for name in ("f", "g", "h", "last")]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i + shift]], [d[i]], in_place=True)
    sl.Func(steps[2], [b[i]], [c[i]], in_place=True)
    sl.Func(steps[3], [d[i], c[i]], [out[i]])
    result = np.zeros(9)
    sl.build_pipeline([a], [out])(sl.Buffer(np.arange(11.0), min=(-1,)), result)
    np.testing.assert_array_equal(result, 2 * np.arange(1, 10) + shift + 5)
    assert not any(map(is_in_place, steps))


@pytest.mark.parametrize("reads", [lambda b, i: [b[i], b[7 - i]], lambda b, i: [b[sl.interval(i, sl.maximum(i, 7))]],
                                   lambda b, i: [b[sl.interval(sl.minimum(i, 0), i)]]])  # fmt: skip
def test_more_points_than_those_written(reads: Callable[..., list[Any]]) -> None:
    (i,) = sl.variables("i")
    a, b, c, out = map(buffer, ("a", "b", "c", "out"))
    for whole in (b, c):
        whole.dim(0).min, whole.dim(0).extent = 0, 8
    sl.Func(np.negative, [a[i]], [b[i]])
    sl.Func(lambda *operands: None, reads(b, i), [c[i]], in_place=True, name="g")
    sl.Func(np.negative, [c[i]], [out[i]])
    p = sl.build_pipeline([a], [out])
    assert [str(s.box) for s in p.program.body if isinstance(s, Alloc)] == ["(<0..7>,)", "(<0..7>,)"]
    assert "b_read_only, c)" in p.to_python()


def test_an_output_that_is_written_in_parts() -> None:
    """The second call reads b for the last time, but the first one has written some of c before."""
    (i,) = sl.variables("i")
    a, b, c, d, out = map(buffer, ("a", "b", "c", "d", "out"))
    steps = [Step(name) for name in ("f", "g", "h", "last")]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i]], [c[i]], in_place=True)
    sl.Func(steps[2], [b[i]], [d[i]], in_place=True)
    sl.Func(steps[3], [c[i], d[i]], [out[i]])
    program = sl.build_pipeline([a], [out]).program
    calls = {s.func.name: s for s in program.body if isinstance(s, Call)}
    others = tuple(s for s in program.body if not isinstance(s, Call))
    ends = calls["g"].box[0]
    parts = [over(calls["g"], (Interval(*pair),)) for pair in ((ends.min, 4), (5, ends.max))]
    body = (*others, calls["f"], parts[0], calls["h"], parts[1], calls["last"])
    p = sl.Pipeline(attrs.evolve(program, body=body))
    p.verify()
    np.testing.assert_array_equal(run(p, 9, steps), 2 * np.arange(9) + 5)
    assert [is_in_place(step) for step in steps] == [False, False, False, False]


def test_a_dtype_that_is_not_the_same() -> None:
    (i,) = sl.variables("i")
    a, b, c, out = buffer("a"), buffer("b"), buffer("c", dtype=np.int64), buffer("out")
    steps = [Step(name) for name in "fgh"]
    for step, read, written in zip(steps, (a, b, c), (b, c, out), strict=True):
        sl.Func(step, [read[i]], [written[i]], in_place=True)
    run(sl.build_pipeline([a], [out]), 9, steps)
    assert not any(map(is_in_place, steps))


def test_a_call_in_a_loop_of_its_own() -> None:
    """Iterations may overlap, and compute an element again from what must still be there."""
    p, steps = chain(3, in_place=True)
    p = sl.split_loop(sl.split_loop(p, "f1.i", 4), "f2.i", 4)
    run(p, 10, steps)
    assert not any(map(is_in_place, steps))


def test_a_folded_buffer() -> None:
    (i,) = sl.variables("i")
    a, b, c, out = map(buffer, ("a", "b", "c", "out"))
    sl.Func(np.negative, [a[i]], [b[i]], name="f")
    sl.Func(np.negative, [b[i]], [c[i]], name="g")
    sl.Func(Step("h"), [c[i], c[i + 1]], [out[i]], name="h")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [out]), "h.i", 1, rc=True)
    for name in ("g", "f"):
        p, func = sl.compute_at(p, name, loop, rc=True)
        p = sl.slide_window(p, func.call, loop)
        p = sl.fold_storage(p, func.alloc, "i")
    result = np.zeros(9)
    p(np.arange(10.0), result)
    np.testing.assert_array_equal(result, 2 * np.arange(9) + 2)
    p.run(np.arange(10.0), result, checked=True)


def test_a_buffer_that_alone_is_folded() -> None:
    p, steps = chain(4, in_place=True)
    body = [
        attrs.evolve(s, folds=(constant(16),)) if isinstance(s, Alloc) and s.buffer == "b2" else s
        for s in p.program.body
    ]
    p = sl.Pipeline(attrs.evolve(p.program, body=tuple(body)))
    np.testing.assert_array_equal(run(p, 9, steps), np.arange(9) + 4)
    assert [is_in_place(step) for step in steps] == [False, False, False, True]


def test_an_output_that_somebody_reads() -> None:
    (i,) = sl.variables("i")
    a, b, out, more = map(buffer, ("a", "b", "out", "more"))
    steps = [Step(name) for name in "fgh"]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i]], [out[i]], in_place=True)
    sl.Func(steps[2], [out[i]], [more[i]], in_place=True)
    results = np.zeros(9), np.zeros(9)
    sl.build_pipeline([a], [out, more])(np.arange(9.0), *results)
    np.testing.assert_array_equal(results, [np.arange(9) + 2, np.arange(9) + 3])
    assert not any(map(is_in_place, steps))


def test_only_callbacks_that_work_in_place_see_the_output() -> None:
    """Others may count on the alignment of intermediates."""
    (i,) = sl.variables("i")
    a, b, out = map(buffer, ("a", "b", "out"))
    steps = [Step(name) for name in "fg"]
    sl.Func(steps[0], [a[i]], [b[i]])
    sl.Func(steps[1], [b[i]], [out[i]], in_place=True)
    run(sl.build_pipeline([a], [out]), 9, steps)
    assert not any(map(is_in_place, steps))
    assert steps[0].outputs_at[0][0] % 64 == 0


def test_an_intermediate_that_is_read_again_after_the_output_is_written() -> None:
    (i,) = sl.variables("i")
    a, b, out, total = buffer("a"), buffer("b"), buffer("out"), buffer("total", 0)
    steps = [Step(name) for name in "fg"]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i]], [out[i]], in_place=True)

    def add_up(source: Array, target: Array) -> None:
        target[...] = source.sum()

    sl.Func(add_up, [b[:]], [total[()]], in_place=True)
    p = sl.build_pipeline([a], [out, total])
    assert [s.func.name for s in p.program.body if isinstance(s, Call)] == ["f", "g", "add_up"]
    results = np.zeros(9), np.zeros(())
    p(np.arange(9.0), *results)
    np.testing.assert_array_equal(results[0], np.arange(9) + 2)
    assert results[1] == sum(range(10))
    assert not any(map(is_in_place, steps))


def test_an_output_that_is_not_written_alone() -> None:
    (i,) = sl.variables("i")
    a, b, out, more = map(buffer, ("a", "b", "out", "more"))
    steps = [Step("f"), Step("g", 2)]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i]], [out[i], more[i]], in_place=True)
    results = np.zeros(9), np.zeros(9)
    sl.build_pipeline([a], [out, more])(np.arange(9.0), *results)
    np.testing.assert_array_equal(results, [np.arange(9) + 2] * 2)
    assert not any(map(is_in_place, steps))


def test_an_output_of_another_dtype() -> None:
    (i,) = sl.variables("i")
    a, b, out = buffer("a"), buffer("b"), buffer("out", dtype=np.float32)
    steps = [Step(name) for name in "fg"]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i]], [out[i]], in_place=True)
    result = np.zeros(9, np.float32)
    sl.build_pipeline([a], [out])(np.arange(9.0), result)
    np.testing.assert_array_equal(result, np.arange(9) + 2)
    assert not any(map(is_in_place, steps))


@pytest.mark.parametrize(("before", "after"), [(2, 0), (0, 2)])
def test_an_intermediate_that_is_larger_than_what_is_written_of_the_output(before: int, after: int) -> None:
    """The rest of it would be written over elements of the output that are there already."""
    (i,) = sl.variables("i")
    a, b, out = map(buffer, ("a", "b", "out"))
    steps = [Step(name) for name in "fg"]
    sl.Func(steps[0], [a[i]], [b[i]], in_place=True)
    sl.Func(steps[1], [b[i]], [out[i]], in_place=True)
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [out]), "g.i", 4, rc=True)
    p, f = sl.compute_at(p, "f", loop, rc=True)
    p = sl.store_at(p, f.alloc, loop)
    (for_i,) = [s for s in p.program.body if isinstance(s, For)]
    body = []
    for s in for_i.body:
        if isinstance(s, Alloc) or s.func.name == "f":
            s = attrs.evolve(s, box=(Interval(s.box[0].min - before, s.box[0].max + after),))
        body.append(s)
    loop_of_more = attrs.evolve(for_i, body=tuple(body))
    program = attrs.evolve(p.program, body=tuple(loop_of_more if s is for_i else s for s in p.program.body))
    result = np.zeros(12)
    sl.Pipeline(program)(sl.Buffer(np.arange(16.0), min=(-2,)), result)
    np.testing.assert_array_equal(result, np.arange(2, 14) + 2)
    assert not any(map(is_in_place, steps))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("inner", [None, 3])
@pytest.mark.parametrize(("step", "workers"), [(8, 2), (9, 2), (7, 2), (1, 2), (7, None)])
def test_iterations_that_write_the_same_elements(
    step: int, workers: int | None, inner: int | None, around: bool
) -> None:
    """In parallel, one would see the intermediate of the other. They write 8 elements each, in an inner loop or not,
    and all of it twice or not."""
    p, steps = chain(3, in_place=True)
    if inner is not None:
        p = sl.split_loop(p, "f2.i", 8)
    p = in_pieces(p, 3, inner or 8)
    *checks, loop = p.program.body
    loop = attrs.evolve(loop, step=constant(step), mode=mode(workers))
    if around:
        loop = For(variable("again"), Interval(constant(0), constant(1)), constant(1), SERIAL, (loop,))
    p = sl.Pipeline(attrs.evolve(p.program, body=(*checks, loop)))
    p.verify()
    a, out = np.arange(50.0), np.zeros(50)
    p(a, out)
    if step <= 8:
        np.testing.assert_array_equal(out, a + 3)
    assert is_in_place(steps[1])
    assert is_in_place(steps[2]) == (workers is None or step >= 8)


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("dim", ["y", "x"])
def test_parts_of_an_output_in_two_dimensions(dim: str, workers: int | None) -> None:
    """Rows follow each other in memory, parts of rows do not: what callbacks get is contiguous as it was."""
    y, x = sl.variables("y x")
    a, b, out = (buffer(name, 2) for name in ("a", "b", "out"))
    steps = [Step("f"), Step("g")]
    sl.Func(steps[0], [a[y, x]], [b[y, x]], in_place=True)
    sl.Func(steps[1], [b[y, x]], [out[y, x]], in_place=True)
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [out]), f"g.{dim}", 4, rc=True)
    p, f = sl.compute_at(p, "f", loop, rc=True)
    p = sl.store_at(p, f.alloc, loop)
    if workers is not None:
        p = sl.parallelize_loop(p, loop, workers)
    source = np.arange(63.0).reshape(9, 7)
    for order in "CF":
        result = np.zeros((9, 7), order=order)
        steps[1].inputs_at.clear()
        steps[1].outputs_at.clear()
        p(source, result)
        np.testing.assert_array_equal(result, source + 2)
        assert is_in_place(steps[1]) == (dim == "y" and order == "C")


def test_ufuncs_on_whole_dimensions_do_not() -> None:
    """The operands of a generalized ufunc are not read element by element."""
    y, x = sl.variables("y x")
    a, b, c, out = (buffer(name, 2) for name in ("a", "b", "c", "out"))
    sl.Func(np.negative, [a[y, x]], [b[y, x]])
    sl.Func(np.matmul, [b[y, x], b[y, x]], [c[y, x]], name="product")
    sl.Func(np.negative, [c[y, x]], [out[y, x]])
    assert "product(b, b, out=c)" in sl.build_pipeline([a], [out]).to_python()


def test_an_output_that_lacks_a_dimension_takes_nothing_over() -> None:
    """Each element of it belongs to many points, and what it would be written over is read at all of them."""

    def point_by_point(source: np.ndarray, sums: np.ndarray, image: np.ndarray) -> None:
        for i, j in np.ndindex(image.shape):
            value = source[i]
            sums[i] = value + 1
            image[i, j] = value

    y, x = sl.variables("y x")
    inp, source, sums, first = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "source", "sums", "first"))
    image = sl.BufferExpr("image", np.float64, 2)
    sl.Func(np.negative, [inp[y]], [source[y]], name="make")
    sl.Func(point_by_point, [source[y]], [sums[y], image[y, x]], name="both", in_place=True)
    sl.Func(np.negative, [sums[y]], [first[y]], name="use")
    p = sl.build_pipeline([inp], [image, first], require=[sl.equal(image.dim(0).min, first.dim(0).min),
                                                          sl.equal(image.dim(0).max, first.dim(0).max)])  # fmt: skip
    given, picture, sums_found = np.arange(5.0), np.zeros((5, 3)), np.zeros(5)
    p(given, picture, sums_found)
    np.testing.assert_array_equal(picture, -given[:, None] * np.ones(3))
    np.testing.assert_array_equal(sums_found, given - 1)
