"""Plans: the arguments that they take, the memory that they keep, hooks and traces, and what goes wrong in them."""

from __future__ import annotations

import gc
import itertools
import json
import os
import pickle
import re
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import add_1, stencil
from hypothesis import settings
from planned import by_rows, chain, in_pieces

import slinky as sl
from slinky.ir.statements import Alloc, walk
from slinky.runtime.arena import ALIGNMENT, Arena, SiteKind, alive_at_once, pack
from slinky.runtime.codegen.generator import Kind
from slinky.symbolic.intervals import Interval


def test_a_plan_is_made_once() -> None:
    p = stencil()
    assert p.compile() is p.compile()
    assert sl.simplify(p).compile() is not p.compile()


def test_back_ends_have_names() -> None:
    with pytest.raises(
        sl.ArgumentError,
        match="there is no back end 'fortran'; there are 'python', 'native', 'native-fast', 'native-exact', 'auto' and "
        "'interpreter'",
    ):
        chain(np.negative).run(np.zeros(3), np.zeros(3), backend="fortran")
    with pytest.raises(sl.ArgumentError, match=r"there is no back end \['native'\]; there are 'python', "):
        chain(np.negative).compile(backend=["native"])  # type: ignore[arg-type]


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


@pytest.mark.parametrize("seed", range(settings().max_examples // 2))
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


def test_a_trace_is_of_the_back_end_that_is_asked_for(tmp_path: Path) -> None:
    path, p = tmp_path / "trace.json", in_pieces(chain(np.negative, np.negative), 1, 5)
    traced = p.trace(np.zeros(10), np.zeros(10), path=path, backend="interpreter")
    run = p.run(np.zeros(10), np.zeros(10), backend="interpreter")
    assert (traced.calls, traced.peak_bytes) == (run.calls, run.peak_bytes)
    assert traced.peak_bytes != p.run(np.zeros(10), np.zeros(10)).peak_bytes
    with pytest.raises(sl.ArgumentError, match="there is no back end 'fast'"):
        p.trace(np.zeros(10), np.zeros(10), path=path, backend="fast")


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


@pytest.mark.parametrize(
    ("place", "problem"),
    [("none/trace.json", "No such file"), ("", "it is a folder"), ("file/trace.json", "Not a directory")],
)
def test_a_trace_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path, place: str, problem: str) -> None:
    ran: list[int] = []
    path = tmp_path / place
    (tmp_path / "file").touch()
    with pytest.raises(sl.ArgumentError, match=f"^trace: {re.escape(str(path))} cannot be written: {problem}"):
        chain(lambda *_: ran.append(1)).trace(np.zeros(3), np.zeros(3), path=path)
    assert not ran
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_trace_to_a_file_that_is_read_only_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    path.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)  # who may do anything may write to what is read-only
    with pytest.raises(sl.ArgumentError, match="cannot be written: it is read-only"):
        chain(np.negative).trace(np.zeros(3), np.zeros(3), path=path)


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
