"""Plans: the source that they run, the memory that they keep, threads, traces."""

from __future__ import annotations

import ast
import gc
import itertools
import json
import pickle
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import add_1, by_the_program, stencil
from scheduled import picture
from scheduled import stencil as stencil_pipeline

import slinky as sl
from slinky.ir.operations import Callback
from slinky.ir.statements import Alloc, BufferParameter, Call, InputPort, LoweredFunc, OutputPort, Program, walk
from slinky.runtime import threads
from slinky.runtime.arena import ALIGNMENT, Arena, SiteKind, alive_at_once, pack
from slinky.runtime.codegen.generator import Kind
from slinky.symbolic.expressions import metadata, variable
from slinky.symbolic.intervals import Interval, point


def by_rows(rows: int = 1) -> sl.Pipeline:
    """The 3x3 stencil of the README: some rows at a time, slid and folded."""
    p, (loop, _, _) = sl.split_loop(stencil(), "stencil.y", rows, rc=True)
    p, add = sl.compute_at(p, "add", loop, rc=True)
    p = sl.slide_window(p, add.call, loop)
    return sl.fold_storage(p, add.alloc, "y")


def chain(*callbacks: Any) -> sl.Pipeline:
    """One func after the other, on one dimension."""
    (i,) = sl.variables("i")
    buffers = [sl.BufferExpr(f"b{n}", np.float64, 1) for n in range(len(callbacks) + 1)]
    for n, callback in enumerate(callbacks):
        sl.Func(callback, [buffers[n][i]], [buffers[n + 1][i]], name=f"f{n}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def in_pieces(p: sl.Pipeline, count: int, size: int, *, workers: int | None = -1) -> sl.Pipeline:
    """All funcs of a chain on a piece, then on the next; in parallel if workers are given."""
    p, (loop, _, _) = sl.split_loop(p, f"f{count - 1}.i", size, rc=True)
    for n in reversed(range(count - 1)):
        p, func = sl.compute_at(p, f"f{n}", loop, rc=True)
        p = sl.store_at(p, func.alloc, loop)
    return p if workers == -1 else sl.parallelize_loop(p, loop, workers)


# Source ---------------------------------------------------------------------------------------------------------------


def test_the_source_of_the_stencil() -> None:
    assert by_rows().to_python() == STENCIL


STENCIL = """\
# pipeline stencil(inp: int64[2]) -> (out: int64[2]):
def run_stencil(arena, inp, inp_min, out, out_min):
    inp_read_only = read_only(inp)
    inp_y_min, inp_x_min = inp_min
    inp_y_size, inp_x_size = inp.shape
    inp_y_max = inp_y_min + inp_y_size - 1
    inp_x_max = inp_x_min + inp_x_size - 1
    out_y_min, out_x_min = out_min
    out_y_size, out_x_size = out.shape
    out_y_max = out_y_min + out_y_size - 1
    out_x_max = out_x_min + out_x_size - 1
    if out_y_min <= inp_y_min:
        check_failed()
    if inp_y_max <= out_y_max:
        check_failed()
    if out_x_min <= inp_x_min:
        check_failed()
    if inp_x_max <= out_x_max:
        check_failed()
    (intm_windows,) = arena.rings
    intm_window = intm_windows[out_y_max - out_y_min + 3, out_x_max - out_x_min + 3, 3]
    intm_read_only = intm_window.read_only
    inp_x = inp_read_only[:, out_x_min - inp_x_min - 1 : out_x_max - inp_x_min + 2]
    inp_y = 1 - inp_y_min
    inp_y_end = 2 - inp_y_min
    intm_y = 2 - out_y_min
    for y in range(out_y_min - 2, out_y_min):  # before the steady state
        if (result := add(inp_x[y + inp_y : y + inp_y_end], written := intm_window(y + intm_y, 1))) is not None:
            check_result(result, written)
    out_y_end = 1 - out_y_min
    for y in range(out_y_min, out_y_max + 1):
        if (result := add(inp_x[y + inp_y : y + inp_y_end], written := intm_window(y + intm_y, 1))) is not None:
            check_result(result, written)
        operand1 = intm_read_only(y - out_y_min, 3)
        if (result := stencil(operand1, written := out[y - out_y_min : y + out_y_end])) is not None:
            check_result(result, written)
"""


def test_the_steady_state_of_a_loop_has_no_clamps_and_no_questions() -> None:
    source = by_rows(8).to_python()
    loops = [loop for loop in ast.walk(ast.parse(source)) if isinstance(loop, ast.For)]
    before, steady, after = (ast.unparse(loop) for loop in loops)
    assert "min(" not in steady
    assert "max(" not in steady
    assert steady.count("if ") == steady.count("is not None") == 2
    assert "stencil(" not in before
    assert "add(" in before
    assert "stencil(" in after


def test_whole_buffers_are_passed_as_they_are() -> None:
    assert "    f1(b1, out=b2)\n" in chain(np.negative, np.negative).to_python()


def test_what_does_not_change_is_computed_outside_the_loop() -> None:
    source = in_pieces(chain(np.negative, np.square), 2, 16).to_python()
    steady = next(loop for loop in ast.walk(ast.parse(source)) if isinstance(loop, ast.For))
    assert ast.unparse(steady).splitlines()[1:] == [
        "    b2_i = b2[i:i + 16]",
        "    b1 = b2_i if b2_is_contiguous else b1_arrays[16]",
        "    f0(b0[i:i + 16], out=b1)",
        "    f1(b1, out=b2_i)",
    ]


AT_ORIGIN = """\
# pipeline f1(b0: float64[1]) -> (b2: float64[1]):
def run_f1(arena, b0, b2):
    (b0_i_size,) = b0.shape
    (b2_i_size,) = b2.shape
    b2_is_contiguous = b2.flags.carray
    if b0_i_size < b2_i_size:
        check_failed()
    b1_i_size = min(b2_i_size, 16)
    (b1_arrays,) = arena[8 * b1_i_size]
    i_range = range(0, b2_i_size, 16)
    i_rest = b2_i_size // 16
    for i in i_range[:i_rest]:
        b2_i = b2[i : i + 16]
        b1 = b2_i if b2_is_contiguous else b1_arrays[16]
        f0(b0[i : i + 16], out=b1)
        f1(b1, out=b2_i)
    for i in i_range[i_rest:]:  # after the steady state
        b2_i_1 = b2[i:b2_i_size]
        b1_1 = b2_i_1 if b2_is_contiguous else b1_arrays[b2_i_size - i]
        f0(b0[i:b2_i_size], out=b1_1)
        f1(b1_1, out=b2_i_1)
"""


def test_the_source_has_no_coordinates_where_all_arrays_begin_at_the_origin() -> None:
    assert in_pieces(chain(np.negative, np.square), 2, 16).to_python() == AT_ORIGIN


@pytest.mark.parametrize("at", [0, 5, -7])
def test_arrays_may_begin_anywhere(at: int) -> None:
    p = in_pieces(chain(np.negative, np.exp), 2, 16)
    source, target = sl.Buffer(np.arange(40.0), min=(at - 3,)), sl.Buffer(np.zeros(37), min=(at,))
    right = np.exp(-source.array[3:])
    for _ in range(2):
        assert p(source, target) is target
        np.testing.assert_array_equal(target.array, right)
        target.array[...] = 0
    statistics = p.run(source, target)
    np.testing.assert_array_equal(target.array, right)
    right_statistics = p.run(source, target, backend="interpreter")
    assert by_the_program(statistics) == by_the_program(right_statistics)
    assert p.memory(source, target) == sl.Memory(statistics.program_bytes, statistics.peak_bytes) == sl.Memory(128, 0)
    plain = np.zeros(40)
    p(source.array, plain)
    np.testing.assert_array_equal(plain, np.exp(-source.array))


@pytest.mark.parametrize("at", [0, 5])
def test_errors_say_the_same_wherever_arrays_begin(at: int) -> None:
    def fail(source: np.ndarray, target: np.ndarray) -> None:
        if source[0] >= 32:
            raise ValueError("no")
        target[...] = source

    p = in_pieces(chain(fail, np.negative), 2, 16)

    def at_place(array: np.ndarray) -> Any:
        return sl.Buffer(array, min=(at,)) if at else array

    for backend in ("python", "interpreter"):
        source, target = at_place(np.arange(40.0)), at_place(np.zeros(40))
        with pytest.raises(ValueError, match="no") as caught:
            p.run(source, target, backend=backend)
        assert caught.value.__notes__ == [f"in the call f0[{at + 32}..{at + 39}] of pipeline f1"]
        with pytest.raises(sl.CheckFailedError) as refused:
            p.run(at_place(np.zeros(39)), target, backend=backend)
        assert str(refused.value).startswith(
            f"pipeline f1 requires b2.i.max <= b0.i.max, got b0.i.max = {at + 38}, b2.i.max = {at + 39}"
        )


def test_a_pipeline_that_cannot_begin_at_the_origin() -> None:
    """Its source is that for arrays anywhere, and arrays at the origin are refused as the interpreter does."""
    p = by_rows()
    assert "out_y_min" in p.to_python()
    inp, out = np.zeros((8, 8), np.int64), np.zeros((8, 8), np.int64)
    messages = set()
    for backend in ("python", "interpreter"):
        with pytest.raises(sl.CheckFailedError) as refused:
            p.run(inp, out, backend=backend)
        messages.add(str(refused.value))
    with pytest.raises(sl.CheckFailedError) as refused:
        p(inp, out)
    assert messages == {str(refused.value)}


def test_the_ends_of_a_piece_are_computed_once() -> None:
    source = in_pieces(chain(np.negative, np.square), 2, 16, workers=2).to_python()
    body = next(f for f in ast.walk(ast.parse(source)) if isinstance(f, ast.FunctionDef) and f.name == "for_i")
    assert ast.unparse(body).splitlines()[1:] == [
        "    arena_1 = i_arenas.take()",
        "    b1_i_max_1 = min(b1_i_max, i + 15)",
        "    b1_arrays, = arena_1[8 * (b1_i_max_1 - i + 1)]",
        "    b2_i = b2[i:b1_i_max_1 + 1]",
        "    b1 = b2_i if b2_is_contiguous else b1_arrays[b1_i_max_1 - i + 1]",
        "    f0(b0[i:b1_i_max_1 + 1], out=b1)",
        "    f1(b1, out=b2_i)",
        "    i_arenas.give(arena_1)",
    ]


HOSTILE = [
    "x; import os",
    "def",
    "a\nb",
    "0",
    "print",
    "résumé",
    "ﬁ",
    "fi",
    "",
    "\ud800",
    "arena",
    "result",
    "a b",
    "a_b",
]


@pytest.mark.parametrize(("source", "middle", "target"), list(itertools.permutations(HOSTILE, 3))[::37])
def test_names_of_any_kind(source: str, middle: str, target: str) -> None:
    """Programs made by hand may call things as they like."""
    dim = variable(f"{middle}.{source}")

    box = (Interval(metadata(target, 0, "min"), metadata(target, 0, "max")),)
    dtype = np.dtype(np.int64)

    def call(name: str, read: str, written: str) -> Call:
        ports = (InputPort((point(dim),), dtype),), (OutputPort((0,), dtype),)
        return Call(LoweredFunc(name, Callback(np.negative), (dim,), *ports), box, (read,), (written,))

    body = (
        Alloc(middle, dtype, (source,), box, (None,)),
        call(target, source, middle),
        call("check_failed", middle, target),
    )
    given, result = BufferParameter(source, dtype, ("def",)), BufferParameter(target, dtype, ("x; y",))
    pipeline = sl.Pipeline(Program(source, (given,), (result,), (), (), body))
    ast.parse(pipeline.to_python())
    out = np.zeros(5, np.int64)
    pipeline(np.arange(5), out)
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert pipeline.run(np.arange(5), out).calls == dict.fromkeys((target, "check_failed"), 1)


def test_more_loops_than_python_can_nest() -> None:
    (i,) = sl.variables("i")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    sl.Func(np.negative, [a[i]], [b[i]], name="f")
    p = sl.build_pipeline([a], [b])
    for factor in [2**k for k in reversed(range(21))]:
        p = sl.split_loop(p, "f.i", factor)
    out = np.zeros(37, np.int64)
    assert p(np.arange(37), out).tolist() == [-n for n in range(37)]
    assert p.run(np.arange(37), out).elements == {"f": 37}


def test_a_plan_is_made_once() -> None:
    p = stencil()
    assert p.compile() is p.compile()
    assert sl.simplify(p).compile() is not p.compile()


def test_back_ends_have_names() -> None:
    with pytest.raises(sl.ArgumentError, match="there is no back end 'fortran'; there are 'python' and 'interpreter'"):
        chain(np.negative).run(np.zeros(3), np.zeros(3), backend="fortran")


# Arguments ------------------------------------------------------------------------------------------------------------


def test_arguments_of_another_kind_are_as_good() -> None:
    p = chain(np.negative, np.square)
    out = np.zeros(4)
    right = [0.0, 1.0, 4.0, 9.0]
    memory = memoryview(np.arange(4.0))
    big_endian = np.arange(4.0).view(type("Own", (np.ndarray,), {}))
    for given in (np.arange(4.0), memory, big_endian, sl.Buffer(np.arange(4.0)), np.arange(8.0)[::2] / 2):
        out[:] = -1
        assert p(given, out).tolist() == right
    assert p(sl.Buffer(np.arange(6.0), min=(-1,)), sl.Buffer(out)).array.tolist() == [1, 4, 9, 16]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((), "takes 2 arrays"),
        ((np.zeros(4), np.zeros(4, np.float32)), "expected dtype float64, got float32"),
        ((np.zeros(4), np.zeros((4, 1))), "expected rank 1, got rank 2"),
        ((np.zeros(3), np.zeros(4)), "requires b2.i.max <= b0.i.max"),
        ((np.zeros(4), np.broadcast_to(np.zeros(1), 4)), "an output must be writable"),
        ((np.zeros(4), [0.0] * 4), "expected an array that NumPy can see without copying"),
    ],
)
def test_bad_arguments_touch_nothing(arrays: tuple[Any, ...], message: str) -> None:
    p = chain(np.negative, np.square)
    for _ in range(2):
        with pytest.raises(sl.ArgumentError, match=message):
            p(*arrays)


@pytest.mark.parametrize("shape", [(-1,), (3.5,), (True,), (10**30,), ("3",)])
def test_a_shape_that_no_array_has(shape: tuple[Any, ...]) -> None:
    with pytest.raises(sl.ArgumentError, match=r"argument b0: .* shape"):
        chain(np.negative).memory(shape, (3,))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
@pytest.mark.parametrize("how", [{}, {"backend": "interpreter"}, {"checked": True}])
def test_a_number_of_threads_that_is_none(threads: Any, how: dict[str, Any]) -> None:
    p, a = chain(np.negative), np.zeros(3)
    message = "threads must be an integer of at least 1"
    with pytest.raises(sl.ArgumentError, match=message):
        p.run(a, a.copy(), threads=threads, **how)
    with pytest.raises(sl.ArgumentError, match=message):
        p.memory(a, a.copy(), threads=threads)


def test_outputs_that_overlap_are_refused() -> None:
    p = chain(np.negative)
    a = np.arange(10.0)
    for given, out in ((a, a), (a[:5], a[4:9]), (a[::2], a[::2]), (a[:5], a[4::-1])):
        with pytest.raises(sl.ArgumentError, match="must not overlap"):
            p(given, out)
    assert a.tolist() == list(range(10))
    assert p(a[::2], a[1::2]).tolist() == [0, -2, -4, -6, -8]
    overlapping_itself = np.lib.stride_tricks.as_strided(np.zeros(4), (4,), (0,))
    with pytest.raises(sl.ArgumentError, match="broadcast array"):
        p(np.zeros(4), overlapping_itself)


# Memory ---------------------------------------------------------------------------------------------------------------


def addresses(*_: np.ndarray) -> None:
    """A callback that remembers where its operands are."""
    addresses.seen.append(_[-1].ctypes.data)  # type: ignore[attr-defined]


def test_the_second_run_uses_the_memory_of_the_first() -> None:
    addresses.seen = []  # type: ignore[attr-defined]
    p = chain(addresses, np.negative)
    a, out = np.zeros(1000), np.zeros(1000)
    for _ in range(3):
        p(a, out)
    p(a[:500], out[:500])
    p(a, out)
    assert len(set(addresses.seen)) == 1  # type: ignore[attr-defined]
    assert addresses.seen[0] % ALIGNMENT == 0  # type: ignore[attr-defined]


def test_intermediates_of_disjoint_lifetimes_share_memory() -> None:
    seen: list[tuple[int, int]] = []

    def look(source: np.ndarray, target: np.ndarray) -> None:
        seen.append((source.ctypes.data, target.ctypes.data))

    chain(*[look] * 6)(np.zeros(1000), np.zeros(1000))
    intermediates = {target for _, target in seen[:-1]}
    assert len(intermediates) == 2
    assert all(source != target for source, target in seen)


def test_a_pipeline_can_be_pickled() -> None:
    p = by_rows()
    inp = sl.Buffer(np.arange(11 * 9).reshape(11, 9), min=(-1, -1))
    for _ in range(2):  # before and after a run
        copy = pickle.loads(pickle.dumps(p))
        assert str(copy) == str(p)
        copy.verify()
        own, others = ({s.id for s in walk(q.program.body)} for q in (p, copy))
        assert not own & others
        with pytest.raises(sl.InvalidCursorError):
            copy.forward(p.find("for y"))
        results = [np.zeros((9, 7), np.int64) for _ in range(2)]
        for q, result in zip((p, copy), results, strict=True):
            q(inp, result)
        np.testing.assert_array_equal(*results)
        sl.simplify(sl.unfold_storage(copy, "alloc intm", "y")).verify()


def test_a_pipeline_whose_callback_cannot_be_pickled() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(chain(lambda source, target: None))


def test_memory_is_given_back() -> None:
    p = chain(np.negative, np.negative)
    a, out = np.zeros(1000), np.zeros(1000)
    p(a, out)
    plan = p.compile()
    (arena,) = plan.variant(Kind(at_origin=True)).arenas.idle
    kept = weakref.ref(arena)
    del arena
    plan.release()
    gc.collect()
    assert kept() is None
    assert p(a, out) is out


@pytest.mark.parametrize("seed", range(30))
def test_packing(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 12))
    sizes = [int(random.integers(0, 1000)) for _ in range(count)]
    lives = [sorted(int(n) for n in random.integers(0, 10, 2)) for _ in range(count)]
    kinds = [SiteKind(np.dtype(np.uint8), 1, born, dies) for born, dies in lives]
    offsets, total = pack(sizes, alive_at_once(kinds))
    for i, j in itertools.combinations(range(count), 2):
        if lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]:
            assert offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert all(offset + size <= total for offset, size in zip(offsets, sizes, strict=True))
    arena = Arena(kinds)
    for factor in (1, 3, 1, 0, 3, 20, 1):
        needed = tuple(factor * size for size in sizes)
        arrays = [site[size] for site, size in zip(arena[needed], needed, strict=True)]
        for i, j in itertools.combinations(range(count), 2):
            if lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]:
                assert not np.shares_memory(arrays[i], arrays[j])
        for array, size, site in zip(arrays, needed, arena[needed], strict=True):
            assert array.nbytes == size
            assert array.flags.writeable
            assert site[size] is array


def test_memory_of_many_runs_is_flat() -> None:
    p = by_rows(4)
    pipelines = [p, in_pieces(chain(np.negative, np.square, np.negative), 3, 16)]
    random = np.random.default_rng(0)

    def run(times: int) -> None:
        for _ in range(times):
            height, width = (int(n) for n in random.integers(1, 40, 2))
            inp, out = np.zeros((height + 2, width + 2), np.int64), np.zeros((height, width), np.int64)
            pipelines[0](sl.Buffer(inp, min=(-1, -1)), out)
            pipelines[1](np.zeros(height * width), np.zeros(height * width))

    run(500)
    gc.collect()
    before = resident_bytes()
    run(2500)
    gc.collect()
    assert resident_bytes() - before < 4_000_000


def resident_bytes() -> int:
    """The memory of this process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        pytest.skip("the system does not tell")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024


def test_the_peak_is_known_before_the_run() -> None:
    p = by_rows(4)
    inp, out = sl.Buffer(np.zeros((34, 22), np.int64), min=(-1, -1)), np.zeros((32, 20), np.int64)
    statistics = p.run(inp, out)
    assert p.memory(inp, out) == sl.Memory(statistics.program_bytes, statistics.peak_bytes)
    assert statistics.program_bytes == 22 * 6 * 8
    assert stencil().memory(inp, out) == sl.Memory(34 * 22 * 8, 34 * 22 * 8)


def test_the_peak_of_arrays_larger_than_any_memory() -> None:
    shape = (1 << 40,)
    assert chain(np.negative, np.negative, np.negative).memory(shape, shape) == sl.Memory(2 * 8 << 40, 0)
    with pytest.raises(sl.CheckFailedError, match=r"requires b3.i.max <= b0.i.max"):
        chain(np.negative, np.negative, np.negative).memory((3,), (4,))


def test_the_peak_of_a_parallel_loop_counts_every_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    p = in_pieces(chain(np.negative, np.square), 2, 100, workers=3)
    assert p.memory((1050,), (1050,)).program_bytes == 3 * 800
    assert p.memory((150,), (150,)).program_bytes == 800 + 400
    assert p.memory((50,), (50,)).program_bytes == 400


# Threads --------------------------------------------------------------------------------------------------------------


def test_the_number_of_threads_is_the_setting_or_that_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLINKY_NUM_THREADS", raising=False)
    usual = threads.default_workers()
    monkeypatch.setenv("SLINKY_NUM_THREADS", "")
    assert threads.default_workers() == usual
    monkeypatch.setenv("SLINKY_NUM_THREADS", str(usual + 3))
    assert threads.default_workers() == usual + 3


@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("setting", ["0", "-2", "1.5", "many", "²", "٣"])
def test_a_setting_that_is_no_number_of_threads_is_refused(
    setting: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = sl.split_loop(stencil_pipeline(), "stencil.y", 4)
    p = sl.parallelize_loop(p, "for y")
    source, target = picture(9, 5, 1)
    monkeypatch.setenv("SLINKY_NUM_THREADS", setting)
    with pytest.raises(sl.ArgumentError, match="SLINKY_NUM_THREADS must be a positive integer, or not set, got"):
        p.run(source, target, backend=backend)
    assert not target.array.any()


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("workers", [None, 1, 2, 8])
def test_many_threads_run_one_plan(workers: int | None) -> None:
    p = in_pieces(chain(np.negative, np.square, np.sqrt, np.negative), 4, 64, workers=workers)
    failures: list[str] = []

    def run(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(40):
            a = random.integers(0, 1000, int(random.integers(1, 700))).astype(float)
            out = np.full_like(a, 1)
            p(a, out)
            if (out != -a).any():
                failures.append(f"wrong for {len(a)} elements")

    running = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failures == []


@pytest.mark.usefixtures("four_threads")
def test_iterations_of_a_parallel_loop_overlap() -> None:
    meeting = threading.Barrier(3, timeout=20)

    def meet(source: np.ndarray, target: np.ndarray) -> None:
        meeting.wait()
        target[...] = source

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(meet), "f0.i", 1)), 3)
    assert p(np.arange(3.0), np.zeros(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()], ids=["threads", "memory"])
def test_a_loop_runs_on_the_threads_that_there_are(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Where the system gives none, on its own; when it gives some again, on those, too."""
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(np.negative), "f0.i", 1)), 3)
    asked: list[int] = []

    def refuse(_thread: threading.Thread) -> None:
        asked.append(1)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            assert p(np.arange(3.0), np.zeros(3)).tolist() == [0, -1, -2]
        assert len(asked) == 5
    meeting = threading.Barrier(3, timeout=20)

    def meet(source: np.ndarray, target: np.ndarray) -> None:
        meeting.wait()
        target[...] = source

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(meet), "f0.i", 1)), 3)
    assert p(np.arange(3.0), np.zeros(3)).tolist() == [0, 1, 2]


def loop_of(p: sl.Pipeline) -> tuple[sl.Pipeline, Any]:
    return p, p.find("for _")


@pytest.mark.usefixtures("four_threads")
def test_nested_parallel_loops_end() -> None:
    total = [0]
    lock = threading.Lock()
    names: set[str] = set()

    def innermost(_: int) -> None:
        with lock:
            total[0] += 1
            names.add(threading.current_thread().name)

    def nested(depth: int) -> Any:
        if depth == 0:
            return innermost
        return lambda _: threads.run_parallel(range(4), nested(depth - 1), 8)

    before = threading.active_count()
    nested(5)(0)
    assert total[0] == 4**5
    assert len(names) <= 4
    assert threading.active_count() - before <= 3


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_stops_the_others_and_is_raised_once(kind: type[BaseException]) -> None:
    started: list[int] = []
    running = [0]
    lock = threading.Lock()
    together = threading.Barrier(2, timeout=20)

    def work(source: np.ndarray, target: np.ndarray) -> None:
        with lock:
            started.append(int(source[0]))
            running[0] += 1
            position = len(started)
        try:
            if position <= 2:
                together.wait()
            if position == 1:
                raise kind("on purpose")
            time.sleep(0.001)
        finally:
            with lock:
                running[0] -= 1

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(work), "f0.i", 1)), 2)
    with pytest.raises(kind, match="on purpose") as caught:
        p(np.arange(1000.0), np.zeros(1000))
    assert running == [0]
    assert len(started) < 1000
    assert caught.value.__notes__ == [f"in the call f0[{started[0]}] of pipeline f0"]
    together.reset()
    started[:] = [0, 0]
    p(np.arange(5.0), np.zeros(5))
    assert len(started) == 7


@pytest.mark.usefixtures("four_threads")
def test_helpers_run_in_the_context_of_the_caller() -> None:
    meeting = threading.Barrier(2, timeout=20)

    def divide(source: np.ndarray, target: np.ndarray) -> None:
        meeting.wait()
        np.divide(1, source, out=target)

    p = sl.parallelize_loop(*loop_of(sl.split_loop(chain(divide), "f0.i", 1)), 2)
    with np.errstate(divide="ignore"):
        assert np.isinf(p(np.zeros(2), np.zeros(2))).all()


def test_a_pipeline_inside_its_own_callback() -> None:
    inner: list[Any] = []

    def again(source: np.ndarray, target: np.ndarray) -> None:
        if len(source) > 1:
            half = np.zeros(len(source) // 2)
            inner[0](source[: len(half)].copy(), half)
        target[...] = source

    p = chain(again, np.negative)
    inner.append(p)
    assert p(np.arange(16.0), np.zeros(16)).tolist() == [-float(n) for n in range(16)]


# Hooks, traces, progress ----------------------------------------------------------------------------------------------


def test_a_trace_is_a_file_of_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    inp, out = sl.Buffer(np.zeros((34, 22), np.int64), min=(-1, -1)), np.zeros((32, 20), np.int64)
    statistics = by_rows(8).trace(inp, out, path=path)
    events = json.loads(path.read_text())["traceEvents"]
    calls = [event for event in events if event["ph"] == "X"]
    assert {event["name"]: 0 for event in calls}.keys() == {"add", "stencil"}
    assert len(calls) == sum(statistics.calls.values())
    assert calls[0]["args"] == {"box": "[-1..0, -1..20]"}
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in calls)
    assert [event["ts"] for event in calls] == sorted(event["ts"] for event in calls)
    memory = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
    assert max(memory) == statistics.program_bytes
    assert memory[-1] == 0
    named = {event["name"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    assert named == {"process_name": "stencil", "thread_name": "MainThread"}


def test_the_threads_of_a_trace_have_small_numbers(tmp_path: Path) -> None:
    """Perfetto drops numbers of more than 32 bits, as the system's are."""
    both = threading.Barrier(2, timeout=60)

    def meet(source: np.ndarray, target: np.ndarray) -> None:
        both.wait()
        target[...] = source

    path = tmp_path / "trace.json"
    in_pieces(chain(meet), 1, 5, workers=2).trace(np.zeros(10), np.zeros(10), path=path, threads=2)
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["tid"] for event in events if event["ph"] == "X"} == {1, 2}
    assert {event["tid"] for event in events if event["name"] == "thread_name"} == {1, 2}


def test_arguments_that_do_not_fit_leave_an_older_trace_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with pytest.raises(sl.ArgumentError):
        chain(np.negative).trace(np.zeros(3), np.zeros(4), path=path)
    assert not path.exists()
    path.write_text("older")
    with pytest.raises(sl.ArgumentError):
        chain(np.negative).trace(np.zeros(3), np.zeros(4), path=path)
    assert path.read_text() == "older"


def test_a_trace_of_a_run_that_fails_is_written(tmp_path: Path) -> None:
    def broken(*_: np.ndarray) -> None:
        raise ValueError("on purpose")

    path = tmp_path / "trace.json"
    with pytest.raises(ValueError, match="on purpose"):
        chain(np.negative, broken).trace(np.zeros(3), np.zeros(3), path=path)
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert names == ["f0", "f1"]


def test_progress_shows_the_share_of_elements(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    inp, out = sl.Buffer(np.zeros((34, 22), np.int64), min=(-1, -1)), np.zeros((32, 20), np.int64)
    calls: list[str] = []
    hooks = sl.Hooks(call_end=lambda name, _: calls.append(name))
    statistics = by_rows(8).run(inp, out, progress=True, hooks=hooks)
    shown = capsys.readouterr().err
    assert "stencil: 100%" in shown
    assert "1.39k/1.39k" in shown
    assert sum(statistics.elements.values()) == 34 * 22 + 32 * 20
    assert len(calls) == sum(statistics.calls.values())


def test_progress_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(sl.SlinkyError, match=r"progress=True needs the package tqdm: pip install 'slinky\[progress\]'"):
        chain(np.negative).run(np.zeros(3), np.zeros(3), progress=True)


# What goes wrong in a program -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_a_region_that_leaves_its_buffer(backend: str) -> None:
    """The plan refuses what it has not shown to be inside, with the words of the interpreter."""
    program = stencil().program
    too_small = tuple(
        attrs.evolve(s, box=(Interval(s.box[0].min + 1, s.box[0].max), s.box[1])) if isinstance(s, Alloc) else s
        for s in program.body
    )
    p = sl.Pipeline(attrs.evolve(program, body=too_small))
    inp, out = sl.Buffer(np.zeros((6, 6), np.int64), min=(-1, -1)), np.zeros((4, 4), np.int64)
    with pytest.raises(sl.ExecutionError) as caught:
        p.run(inp, out, backend=backend)
    assert str(caught.value) == "intm[-1..4, -1..4] leaves the buffer, which holds [0..4, -1..4]"
    assert caught.value.__notes__ == ["in the call stencil[0..3, 0..3] of pipeline stencil"]
    assert not out.any()


def test_callbacks_that_return_their_outputs_are_welcome() -> None:
    def obliging(source: np.ndarray, target: np.ndarray) -> np.ndarray:
        add_1(source, target)
        return target

    assert chain(obliging)(np.zeros(2), np.zeros(2)).tolist() == [1, 1]
