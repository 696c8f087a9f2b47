"""The figures that people choose schedules by: what a program says, and what a run really reserves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from resident import CASES, chain, in_strips, negative, parallel, parallel_rings, stencils, stored_inside

import slinky as sl
from slinky.ir.statements import Check, If
from slinky.runtime import mirrored
from slinky.symbolic.expressions import metadata

HEIGHT, WIDTH = 100, 20_000
ROW = 8 * WIDTH
PAGE = mirrored.PAGE

needs_mirror = pytest.mark.skipif(not mirrored.available(), reason="this platform cannot map memory twice")


# What the system says -------------------------------------------------------------------------------------------------


def tolerance(size: int) -> float:
    """By how much the system may disagree: what Python takes meanwhile, and pages that are used in part."""
    return 0.02 * size + 300_000


SHARES = Path("/proc/self/smaps_rollup")


@pytest.mark.skipif(not SHARES.exists() or "Pss_Anon:" not in SHARES.read_text(), reason="the system does not tell")
@pytest.mark.parametrize("case", CASES)
def test_a_run_takes_what_it_is_said_to_take(case: str) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "resident.py", case, str(HEIGHT), str(WIDTH)],
        capture_output=True,
        text=True,
        env={**os.environ, "SLINKY_NUM_THREADS": "2", "MALLOC_MMAP_THRESHOLD_": "65536"},
        check=True,
    )
    program, promised, figures = json.loads(done.stdout)
    for told, taken in figures.values():
        assert told <= promised <= program + 10 * PAGE
        assert taken <= promised + tolerance(promised)
    told, taken = figures["run"]
    assert abs(taken - told) <= tolerance(told)
    if not case.startswith("parallel"):
        assert all(told == promised and abs(taken - told) <= tolerance(told) for told, taken in figures.values())


# What is said ---------------------------------------------------------------------------------------------------------


def shapes(margin: int = 0) -> tuple[sl.Buffer, tuple[int, int]]:
    """An input and the shape of an output; neither takes memory."""
    return sl.Buffer(np.empty((HEIGHT + 2 * margin, WIDTH)), min=(-margin, 0)), (HEIGHT, WIDTH)


def test_buffers_that_are_needed_one_after_the_other_count_once() -> None:
    """Twenty buffers of a strip begin at once by the program; two of them are needed at a time."""
    p = stored_inside(in_strips(chain(negative, 20), 20, 10), 20)
    assert p.memory(*shapes()) == sl.Memory(19 * 10 * ROW, 2 * 10 * ROW)


def test_what_lies_in_an_output_counts_nothing() -> None:
    p = stored_inside(in_strips(chain(np.negative, 20), 20, 10), 20)
    assert p.memory(*shapes()) == sl.Memory(19 * 10 * ROW, 0)
    source, target = np.ones((HEIGHT, WIDTH)), np.ones((HEIGHT, 2 * WIDTH))[:, ::2]
    statistics = p.run(source, target)
    assert (target == 1).all()
    assert statistics.peak_bytes == 10 * ROW  # nothing can lie in an output with gaps


@needs_mirror
def test_a_ring_counts_its_pages_once() -> None:
    p = in_strips(stencils(3), 3, 1, fold=True)
    whole = -(-3 * ROW // PAGE) * PAGE
    assert p.memory(*shapes(3)) == sl.Memory(2 * 3 * ROW, 2 * whole)


def test_a_window_that_would_need_more_pages_than_all_rows_counts_all_rows() -> None:
    p = in_strips(stencils(2), 2, 1, fold=True)
    source = sl.Buffer(np.ones((24, 10)), min=(-2, 0))
    statistics = p.run(source, np.empty((20, 10)))
    assert (statistics.program_bytes, statistics.peak_bytes) == (3 * 80, 22 * 80)
    statistics = p.run(source, np.empty((20, 10)), backend="interpreter")
    assert (statistics.program_bytes, statistics.peak_bytes) == (3 * 80, 22 * 80)


def test_each_worker_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten strips of ten rows, then ones of which the last is shorter: the largest that may run at the same time."""
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    p = parallel(stored_inside(in_strips(chain(negative, 4), 4, 10), 4))
    assert p.memory(*shapes()).peak_bytes == 2 * 2 * 10 * ROW
    for rows, expected in ((5, 2 * 5), (10, 2 * 10), (13, 2 * 10 + 2 * 3), (30, 2 * 2 * 10)):
        assert p.memory((rows, WIDTH), (rows, WIDTH)).peak_bytes == expected * ROW


@needs_mirror
def test_each_worker_has_its_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", "4")
    whole = -(-3 * ROW // PAGE) * PAGE
    promised = parallel_rings().memory(*shapes(2))
    assert promised == sl.Memory(2 * 3 * ROW, 2 * whole)
    inp, out = sl.Buffer(np.ones((HEIGHT + 4, WIDTH)), min=(-2, 0)), np.empty((HEIGHT, WIDTH))
    assert parallel_rings().run(inp, out, threads=2).peak_bytes in (whole, 2 * whole)


def test_the_interpreter_tells_what_it_reserves() -> None:
    p = stored_inside(in_strips(chain(np.negative, 20), 20, 10), 20)
    statistics = p.run(np.ones((40, 100)), np.ones((40, 100)), backend="interpreter")
    assert (statistics.program_bytes, statistics.peak_bytes) == (19 * 8000, 19 * 8000)


def test_figures_do_not_depend_on_what_ran_before() -> None:
    """A plan keeps the memory of a run on larger arrays; the run on smaller ones needs no more than its own."""
    p = in_strips(chain(negative, 5), 5, 16)
    expected = p.memory((20, 50), (20, 50))
    for size in (20, 60, 20, 1000, 20):
        statistics = p.run(np.ones((size, 50)), np.ones((size, 50)))
        assert sl.Memory(statistics.program_bytes, statistics.peak_bytes) == p.memory((size, 50), (size, 50))
    assert statistics.peak_bytes == expected.peak_bytes


def test_a_size_that_is_not_known_before_the_run() -> None:
    """Buffers in a branch get memory of their own when it is taken."""
    program = chain(negative, 3).program
    checks = [s for s in program.body if isinstance(s, Check)]
    others = tuple(s for s in program.body if not isinstance(s, Check))
    p = sl.Pipeline(attrs.evolve(program, body=(*checks, If(metadata("b3", 0, "max") >= 39, others, ()))))
    for rows, expected in ((20, 0), (40, 2 * 40 * 400), (20, 0)):
        statistics = p.run(np.ones((rows, 50)), np.ones((rows, 50)))
        assert p.memory((rows, 50), (rows, 50)) == sl.Memory(statistics.program_bytes, statistics.peak_bytes)
        assert statistics.peak_bytes == expected
