"""What a run does: statistics, hooks, release of memory, errors in callbacks, interrupts, threads."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import attrs
import numpy as np
import pytest
from handmade import alloc, at, by_rows, calls_of, out_x, out_y, over, picture, row, stencil, wide_x, with_body

import slinky as sl
from slinky.ir.statements import SERIAL, For, If, Pass, ScalarParameter
from slinky.symbolic.expressions import as_expr, scalar
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")

WAYS = ({}, {"backend": "interpreter"}, {"checked": True})
every_way = pytest.mark.parametrize("way", WAYS, ids=("plan", "interpreter", "checked"))


def chain(*callbacks: Callable[..., object], rank: int = 1) -> sl.Pipeline:
    """Funcs f0, f1, ... one after the other, point by point; intermediates b0, b1, ..."""
    dims = (y, x)[-rank:]
    inp = source = sl.BufferExpr("inp", np.int64, rank)
    for n, callback in enumerate(callbacks):
        name = "out" if n == len(callbacks) - 1 else f"b{n}"
        target = sl.BufferExpr(name, np.int64, rank)
        sl.Func(callback, [source[dims]], [target[dims]], name=f"f{n}")
        source = target
    return sl.build_pipeline([inp], [source])


def fail(*arrays: np.ndarray) -> None:
    raise ZeroDivisionError("on purpose")


class Log:
    """Hooks that write down what they are told."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.hooks = sl.Hooks(
            call_begin=lambda func, box: self.events.append(("begin", func, box)),
            call_end=lambda func, box: self.events.append(("end", func, box)),
            allocate=lambda buffer, size: self.events.append(("allocate", buffer, size)),
            free=lambda buffer, size: self.events.append(("free", buffer, size)),
        )

    def live(self) -> int:
        """Bytes allocated and not freed."""
        signs = {"allocate": 1, "free": -1}
        return sum(signs[kind] * size for kind, _, size in self.events if kind in signs)


# Statistics and hooks -------------------------------------------------------------------------------------------------


@every_way
def test_statistics_of_the_stencil(way: dict[str, object]) -> None:
    inp, out, right = picture(6, 9)
    statistics = stencil().run(inp, out, **way)
    np.testing.assert_array_equal(out, right)
    assert statistics == sl.RunStatistics(
        program_bytes=(6 + 2) * (9 + 2) * 8,
        peak_bytes=(6 + 2) * (9 + 2) * 8,
        allocations=1,
        calls={"add": 1, "stencil": 1},
        elements={"add": (6 + 2) * (9 + 2), "stencil": 6 * 9},
        bytes_copied=0,
    )


@every_way
def test_statistics_without_intermediates(way: dict[str, object]) -> None:
    statistics = chain(np.negative).run(np.arange(5), np.zeros(5, np.int64), **way)
    assert statistics == sl.RunStatistics(0, 0, 0, {"f0": 1}, {"f0": 5}, 0)


@every_way
def test_a_buffer_is_released_after_its_last_use(way: dict[str, object]) -> None:
    log = Log()
    statistics = chain(*[np.negative] * 5).run(np.arange(10), np.zeros(10, np.int64), hooks=log.hooks, **way)
    assert statistics.allocations == 4
    assert statistics.program_bytes == 2 * 10 * 8
    box = ((0, 9),)
    assert log.events == [
        ("allocate", "b0", 80), ("begin", "f0", box), ("end", "f0", box),
        ("allocate", "b1", 80), ("begin", "f1", box), ("end", "f1", box), ("free", "b0", 80),
        ("allocate", "b2", 80), ("begin", "f2", box), ("end", "f2", box), ("free", "b1", 80),
        ("allocate", "b3", 80), ("begin", "f3", box), ("end", "f3", box), ("free", "b2", 80),
        ("begin", "f4", box), ("end", "f4", box), ("free", "b3", 80),
    ]  # fmt: skip


@every_way
def test_a_buffer_with_a_late_reader_lives_until_then(way: dict[str, object]) -> None:
    inp, first, second, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "first", "second", "out"))
    sl.Func(np.negative, [inp[x]], [first[x]], name="f")
    sl.Func(np.negative, [first[x]], [second[x]], name="g")
    sl.Func(np.add, [first[x], second[x]], [out[x]], name="h")
    log = Log()
    sl.build_pipeline([inp], [out]).run(np.arange(4), np.zeros(4, np.int64), hooks=log.hooks, **way)
    assert [event[:2] for event in log.events if event[0] in ("allocate", "free")] == [
        ("allocate", "first"), ("allocate", "second"), ("free", "first"), ("free", "second"),
    ]  # fmt: skip


def test_the_memory_of_a_released_buffer_is_gone_when_the_next_func_runs() -> None:
    memories: list[weakref.ref[np.ndarray]] = []

    def remember(source: np.ndarray, target: np.ndarray) -> None:
        np.negative(source, out=target)
        memories.append(weakref.ref(target.base))

    def look(source: np.ndarray, target: np.ndarray) -> None:
        np.negative(source, out=target)
        alive.append(memories[0]() is not None)

    alive: list[bool] = []
    chain(remember, look, look, look).run(np.arange(4), np.zeros(4, np.int64), backend="interpreter")
    assert alive == [True, False, False]


@every_way
def test_empty_calls_do_not_count(way: dict[str, object]) -> None:
    statistics = by_rows().run(*picture(8, 5)[:2], **way)
    assert statistics.calls == {"add": 10, "stencil": 8}
    nothing = chain(np.negative, np.negative).run(np.zeros(0, np.int64), np.zeros(0, np.int64), **way)
    assert nothing == sl.RunStatistics(0, 0, 1, {"f0": 0, "f1": 0}, {"f0": 0, "f1": 0}, 0)


@every_way
def test_a_padded_extent_is_computed_and_paid_for(way: dict[str, object]) -> None:
    inp, intm, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "intm", "out"))
    sl.Func(np.negative, [inp[x]], [intm[x]], name="f")
    sl.Func(np.negative, [intm[x]], [out[x]], name="g")
    intm.dim(0).extent = (intm.dim(0).extent + 7) // 8 * 8
    pipeline = sl.build_pipeline([inp], [out])
    for size, padded in ((8, 8), (9, 16), (1, 8)):
        statistics = pipeline.run(np.arange(16), np.zeros(size, np.int64), **way)
        assert statistics.elements == {"f": padded, "g": size}
        assert statistics.program_bytes == padded * 8
    with pytest.raises(sl.CheckFailedError):
        pipeline(np.arange(15), np.zeros(9, np.int64))


@every_way
@pytest.mark.parametrize("r", [1, 2, 3, 7])
def test_a_grid_that_is_coarser_by_a_scalar(way: dict[str, object], r: int) -> None:
    """The callback gets exactly the coordinates that the quotient takes."""
    ratio, inp, out = sl.scalar("r"), sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)

    def repeat(source: np.ndarray, target: np.ndarray) -> None:
        target[...] = source.repeat(r)[5 % r :][: len(target)]

    sl.Func(repeat, [inp[x // ratio]], [out[x]], name="repeat")
    p = sl.build_pipeline([inp], [out], require=[ratio >= 1])
    source = sl.Buffer(np.arange(20), min=(-3,))
    target = sl.Buffer(np.zeros(9, np.int64), min=(5,))
    p.run(source, target, **way, r=r)
    np.testing.assert_array_equal(target.array, np.arange(5, 14) // r + 3)
    with pytest.raises(sl.CheckFailedError, match="1 <= r"):
        p.run(source, target, **way, r=0)


@every_way
@pytest.mark.parametrize(("r", "branch"), [(3, "body"), (4, "orelse")])
def test_a_condition_runs_one_of_its_blocks(way: dict[str, object], r: int, branch: str) -> None:
    program = stencil().program
    calls = calls_of(program)
    first = (alloc(program), over(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    consume = over(calls["stencil"], (out_y, out_x))
    loop = For(row, out_y, as_expr(1), SERIAL, (over(calls["stencil"], (at(row), out_x)), Pass()))
    choice = If(scalar("r") <= 3, (consume,), (loop,))
    pipeline = with_body(attrs.evolve(program, scalars=(ScalarParameter("r"),)), (*first, choice))
    inp, out, right = picture(6, 9)
    statistics = pipeline.run(inp, out, r=r, **way)
    np.testing.assert_array_equal(out, right)
    assert statistics.calls["stencil"] == {"body": 1, "orelse": 6}[branch]


@every_way
@pytest.mark.parametrize(("step", "rows"), [(1, [0, 1, 2, 3, 4, 5]), (4, [0, 4]), (7, [0])])
def test_a_loop_goes_in_steps(way: dict[str, object], step: int, rows: list[int]) -> None:
    program = stencil().program
    calls = calls_of(program)
    first = (alloc(program), over(calls["add"], (Interval(out_y.min - 1, out_y.max + 1), wide_x)))
    loop = For(
        row, out_y, scalar("step"), SERIAL, (over(calls["stencil"], (at(row, row + scalar("step") - 1), out_x)),)
    )
    pipeline = with_body(attrs.evolve(program, scalars=(ScalarParameter("step"),)), (*first, loop))
    inp, out, right = picture(6, 9)
    log = Log()
    pipeline.run(inp, out, step=step, hooks=log.hooks, **way)
    np.testing.assert_array_equal(out, right)
    assert [box[0][0] for kind, name, box in log.events if kind == "begin" and name == "stencil"] == rows


@every_way
@pytest.mark.parametrize("step", [0, -2])
def test_a_step_below_one_is_refused(way: dict[str, object], step: int) -> None:
    program = stencil().program
    calls = calls_of(program)
    loop = For(row, out_y, scalar("step"), SERIAL, (over(calls["add"], (at(row), out_x)),))
    body = (alloc(program), loop, over(calls["stencil"], (out_y, out_x)))
    pipeline = with_body(attrs.evolve(program, scalars=(ScalarParameter("step"),)), body)
    with pytest.raises(sl.ExecutionError, match=f"^the step of loop row is {step}; needs 1 or more$"):
        pipeline.run(*picture(6, 9)[:2], step=step, **way)


@every_way
@pytest.mark.parametrize("fold", [0, -1])
def test_a_fold_below_one_is_refused(way: dict[str, object], fold: int) -> None:
    with pytest.raises(sl.ExecutionError, match=f"^dimension y of intm is folded by {fold}; needs 1 or more$"):
        by_rows(fold=fold).run(*picture(8, 5)[:2], **way)


# Callbacks ------------------------------------------------------------------------------------------------------------


@every_way
def test_a_callback_that_wants_coordinates_gets_buffers(way: dict[str, object]) -> None:
    seen: list[str] = []

    def ramp(source: sl.Buffer, target: sl.Buffer) -> None:
        seen.append(f"{source!r} {target!r}")
        target.array[...] = np.arange(target.min[0], target.max[0] + 1)

    inp, out = sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    sl.Func(ramp, [inp[sl.interval(x - 1, x + 1)]], [out[x]], pass_buffers=True)
    result = sl.Buffer(np.zeros(3, np.int64), min=(-5,))
    sl.build_pipeline([inp], [out]).run(sl.Buffer(np.zeros(9, np.int64), min=(-8,)), result, **way)
    np.testing.assert_array_equal(result.array, [-5, -4, -3])
    assert seen == ["Buffer(int64[-6..-2]) Buffer(int64[-5..-3])"]


@every_way
def test_arguments_are_passed_by_name(way: dict[str, object]) -> None:
    table = {"a": 1}
    seen: dict[str, object] = {}

    def keep(source: np.ndarray, target: np.ndarray, **arguments: object) -> None:
        seen.update(arguments)
        target[...] = 0

    inp, out = sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    r = sl.scalar("r")
    arguments = {"width": 2 * r + 1, "size": inp.dim(0).extent, "gain": 0.5, "table": table}
    sl.Func(keep, [inp[x]], [out[x]], arguments=arguments)
    sl.build_pipeline([inp], [out]).run(np.zeros(9, np.int64), np.zeros(4, np.int64), r=3, **way)
    assert seen == {"width": 7, "size": 9, "gain": 0.5, "table": table}
    assert seen["table"] is table


@every_way
def test_constants_are_copied_and_read_only(way: dict[str, object]) -> None:
    weights = np.array([1, 10, 100])

    def weigh(source: np.ndarray, given: np.ndarray, target: np.ndarray) -> None:
        assert not given.flags.writeable
        target[...] = np.convolve(source, given[::-1], "valid")

    inp, out = sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    sl.Func(weigh, [inp[sl.interval(x - 1, x + 1)], sl.constant("weights", weights)[:]], [out[x]])
    pipeline = sl.build_pipeline([inp], [out])
    weights[:] = 0
    result = np.zeros(2, np.int64)
    pipeline.run(sl.Buffer(np.array([1, 2, 3, 4]), min=(-1,)), result, **way)
    np.testing.assert_array_equal(result, [321, 432])


@every_way
def test_a_constant_has_an_origin(way: dict[str, object]) -> None:
    seen: list[sl.Buffer] = []

    def keep(given: sl.Buffer, target: sl.Buffer) -> None:
        seen.append(given)
        target.array[...] = 0

    out = sl.BufferExpr("out", np.int64, 1)
    table = sl.constant("table", np.arange(5), min=(-2,))
    sl.Func(keep, [table[sl.interval(-1, 0)]], [out[x]], pass_buffers=True)
    sl.build_pipeline([], [out]).run(np.zeros(2, np.int64), **way)
    assert seen[0].min == (-1,)
    np.testing.assert_array_equal(seen[0].array, [1, 2])
    out = sl.BufferExpr("out", np.int64, 1)
    sl.Func(keep, [table[sl.interval(0, 3)]], [out[x]], name="too_far")
    with pytest.raises(sl.GraphError, match="this can never hold: the pipeline reads table along dimension 0"):
        sl.build_pipeline([], [out])


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_, np.complex128, "datetime64[s]", "i4,f8"])
def test_a_reduction_to_a_buffer_without_dimensions(dtype: object) -> None:
    def last(source: np.ndarray, target: np.ndarray) -> None:
        target[...] = source[-1]

    def spread(source: np.ndarray, target: np.ndarray) -> None:
        target[...] = source

    inp, out = sl.BufferExpr("inp", dtype, 1), sl.BufferExpr("out", dtype, 1)
    total = sl.BufferExpr("total", dtype, 0)
    sl.Func(last, [inp[:]], [total[()]])
    sl.Func(spread, [total[...]], [out[x]])
    given = np.array([0, 1, 0, 1]).astype(dtype)
    for way in WAYS:
        result = np.zeros(3, dtype)
        sl.build_pipeline([inp], [out]).run(given, result, **way)
        np.testing.assert_array_equal(result, given[[3, 3, 3]])


@every_way
def test_an_interval_inverted_at_run_time_is_read_as_empty(way: dict[str, object]) -> None:
    shapes: list[tuple[int, ...]] = []

    def keep(source: np.ndarray, target: np.ndarray) -> None:
        shapes.append(source.shape)
        target[...] = source.sum()

    inp, out = sl.BufferExpr("inp", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    sl.Func(keep, [inp[sl.interval(inp.dim(0).min, inp.dim(0).max - 4)]], [out[x]])
    pipeline = sl.build_pipeline([inp], [out])
    for size in (6, 4, 2):
        pipeline.run(np.ones(size, np.int64), np.zeros(1, np.int64), **way)
    assert shapes == [(2,), (0,), (0,)]


@every_way
@pytest.mark.parametrize(
    ("callback", "returned"),
    [
        (lambda source, target: source + 1, "ndarray"),
        (lambda source, target: (target, source), "tuple"),
        (lambda source, target: 3, "int"),
        (lambda source, target: target[:], "ndarray"),
    ],
)
def test_a_callback_that_returns_instead_of_writing(
    callback: Callable[..., object], returned: str, way: dict[str, object]
) -> None:
    with pytest.raises(sl.CallbackError) as caught:
        chain(callback).run(np.arange(4), np.zeros(4, np.int64), **way)
    assert str(caught.value) == (
        f"the callback of f0[0..3] returned {returned}; a callback writes to its outputs, which come after its "
        f"inputs, and returns None. If it is a function that returns its result, wrap it: sl.returns(...)"
    )


def test_a_callback_may_return_its_outputs() -> None:
    pipeline = chain(lambda source, target: np.add(source, 1, out=target))
    np.testing.assert_array_equal(pipeline(np.arange(3), np.zeros(3, np.int64)), [1, 2, 3])


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, MemoryError])
@every_way
def test_an_error_in_a_callback(error: type[BaseException], way: dict[str, object]) -> None:
    broken = True
    memories: list[weakref.ref[np.ndarray]] = []

    def sometimes(source: np.ndarray, target: np.ndarray) -> None:
        memories.append(weakref.ref(source.base))
        if broken:
            raise error("on purpose")
        np.negative(source, out=target)

    pipeline = chain(np.negative, sometimes, np.negative)
    log = Log()
    given, result = sl.Buffer(np.arange(6), min=(-2,)), sl.Buffer(np.zeros(4, np.int64), min=(-1,))
    with pytest.raises(error) as caught:
        pipeline.run(given, result, hooks=log.hooks, **way)
    assert caught.value.args == ("on purpose",)
    assert caught.value.__notes__ == ["in the call f1[-1..2] of pipeline f2"]
    del caught
    gc.collect()
    assert memories[0]() is None
    assert log.live() == 0
    assert log.events[-4:] == [
        ("begin", "f1", ((-1, 2),)), ("end", "f1", ((-1, 2),)), ("free", "b0", 32), ("free", "b1", 32),
    ]  # fmt: skip
    broken = False
    pipeline.run(given, result, **way)
    np.testing.assert_array_equal(result.array, [-1, -2, -3, -4])


@every_way
def test_an_error_in_a_ufunc_names_its_call(way: dict[str, object]) -> None:
    inp, out = sl.BufferExpr("inp", np.float32, 1), sl.BufferExpr("out", np.int8, 1)
    sl.Func(np.sqrt, [inp[x]], [out[x]])
    with pytest.raises(TypeError) as caught:
        sl.build_pipeline([inp], [out]).run(np.ones(3, np.float32), np.zeros(3, np.int8), **way)
    assert caught.value.__notes__ == ["in the call sqrt[0..2] of pipeline sqrt"]


@every_way
def test_an_error_in_a_loop_releases_the_folded_buffer(way: dict[str, object]) -> None:
    pipeline = by_rows()
    inp, out, right = picture(8, 5)
    calls = 0

    def stop_at_the_third(func: str, box: object) -> None:
        nonlocal calls
        calls += func == "stencil"
        if calls == 3:
            raise KeyboardInterrupt

    log = Log()
    hooks = attrs.evolve(log.hooks, call_begin=stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        pipeline.run(inp, out, hooks=hooks, **way)
    assert log.live() == 0
    pipeline.run(inp, out, **way)
    np.testing.assert_array_equal(out, right)


# Threads --------------------------------------------------------------------------------------------------------------


@every_way
def test_a_pipeline_runs_in_many_threads_at_once(way: dict[str, object]) -> None:
    """Every thread's first call waits until all threads are in one."""
    count = 4
    together = threading.Barrier(count, timeout=60)

    def meet(source: np.ndarray, target: np.ndarray) -> None:
        together.wait()
        np.negative(source, out=target)

    pipeline = chain(meet, np.negative, meet)
    results: dict[int, tuple[np.ndarray, sl.RunStatistics]] = {}

    def run(n: int) -> None:
        target = np.zeros(5 + n, np.int64)
        statistics = pipeline.run(np.arange(5 + n) * n, target, **way)
        results[n] = target, statistics

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(count):
        target, statistics = results[n]
        np.testing.assert_array_equal(target, -np.arange(5 + n) * n)
        assert statistics.elements == dict.fromkeys(("f0", "f1", "f2"), 5 + n)
        assert statistics.program_bytes == 2 * (5 + n) * 8


@every_way
def test_an_error_in_one_thread_leaves_the_others_alone(way: dict[str, object]) -> None:
    def fail_for_negatives(source: np.ndarray, target: np.ndarray) -> None:
        if source.min() < 0:
            raise ValueError("negative")
        np.negative(source, out=target)

    pipeline = chain(np.positive, fail_for_negatives)
    outcomes: dict[int, object] = {}

    def run(n: int) -> None:
        target = np.zeros(50, np.int64)
        try:
            for _ in range(50):
                pipeline.run(np.full(50, n), target, **way)
            outcomes[n] = int(target[0])
        except ValueError as error:
            outcomes[n] = str(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in (-1, 1, -2, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {-1: "negative", -2: "negative", 1: -1, 2: -2}
