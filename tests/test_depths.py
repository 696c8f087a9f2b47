"""How deep beyond its edges a mirrored buffer is read, and what a copy reads of it then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from extended import weighted

import slinky as sl
from slinky.graph.copying import CopyFunc
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, constant
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import evaluate

MODES = {"reflect": "symmetric", "mirror": "reflect"}
"""Rules, and what NumPy calls them."""

SLIDING = sl.Machine(
    shared_bytes=32 << 20, near_bandwidth=5e10, shared_bandwidth=3e10, memory_bandwidth=2.5e10, call_seconds=5e-5
)
"""A machine on which a few rows more are worth less than computing them again: strips are high, and windows slide."""


def _copy_of(mode: str) -> CopyFunc:
    inp = sl.BufferExpr("inp", np.int64, 1)
    func = inp.extended(mode).producer
    assert isinstance(func, CopyFunc)
    return func


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_region_holds_all_that_is_copied(mode: str, n: int) -> None:
    """Of windows that go as far as is said, on either side, also where they are reflected more than once."""
    func, lo = _copy_of(mode), -2
    (edges,) = func.sources[0].edges
    assert edges is not None
    values = {edges.min: lo, edges.max: lo + n - 1}
    for before in (0, 1, 3, 7, None):
        for behind in (0, 1, 4, None):
            first, last = lo - (before or 3), lo + n - 1 + (behind or 3)
            if 0 in (before, behind):
                first, last = (lo if before == 0 else first), (lo + n - 1 if behind == 0 else last)
            taken = np.pad(np.arange(lo, lo + n), (lo - first, last - (lo + n - 1)), MODES[mode])
            (access,) = func.inputs_within([[(before, behind)]])
            (i,) = access.box
            assert i is not None
            for a in range(first, last + 1):
                for b in range(a, last + 1):
                    box: dict[Expr, Interval] = {func.dims[0]: Interval(constant(a), constant(b))}
                    region = range(
                        evaluate(bounds(i.min, box).min, values), evaluate(bounds(i.max, box).max, values) + 1
                    )
                    assert set(taken[a - first : b - first + 1].tolist()) <= set(region), (before, behind, a, b)
                    assert region.start >= lo
                    assert region.stop <= lo + n


def _blurred(before: int, behind: int, mode: str, *more: tuple[int, int], same: bool = True) -> sl.Pipeline:
    """The sum of windows around each point, of an output that is as large as the input or any."""
    inp, out = (sl.BufferExpr(name, np.float32, 1) for name in ("inp", "out"))
    x = sl.variables("x")[0]
    windows = [inp.extended(mode)[sl.interval(x - a, x + b)] for a, b in ((before, behind), *more)]
    sl.Func(weighted if len(windows) == 1 else _both, windows, [out[x]], name="blur")
    return sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)] if same else [])


def _both(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    n = len(out)
    np.add(a[:n], b[:n], out=out)


def _read(p: sl.Pipeline) -> str:
    """What the copy reads, as the program says it."""
    line = next(line for line in str(p).splitlines() if "inp[" in line)
    return line[line.index("inp[") + 4 : -2]


def test_each_end_moves_with_one_end_of_the_window() -> None:
    first, last = _read(_blurred(3, 3, "reflect")).split(" .. ")
    assert first == "max(inp.x.min, min(inp.x.max - 2, out.x.min - 3))"
    assert last == "min(inp.x.max, max(inp.x.min + 2, out.x.max + 3))"
    assert _read(_blurred(3, 3, "mirror")).startswith("max(inp.x.min, min(inp.x.max - 3, out.x.min - 3))")


def test_windows_that_go_beyond_one_edge_alone() -> None:
    """Nothing is mirrored at the other one."""
    assert _read(_blurred(0, 2, "reflect")) == (
        "max(inp.x.min, min(out.x.min, inp.x.max - 1)) .. min(inp.x.max, out.x.max + 2)"
    )
    assert _read(_blurred(2, 0, "reflect")) == (
        "max(inp.x.min, out.x.min - 2) .. min(inp.x.max, max(out.x.max, inp.x.min + 1))"
    )


def test_the_deepest_of_several_windows() -> None:
    assert "inp.x.max - 4" in _read(_blurred(2, 2, "reflect", (5, 5)))


def test_what_has_no_depth_is_reflected_at_the_edges() -> None:
    assert "2*inp.x.max" in _read(_blurred(1, 1, "reflect", same=False))


def test_deep_edges_are_read_as_far_as_needed_alone() -> None:
    """A far point is one element, whatever lies between it and the edge; a wide window has all that in it."""
    assert "2*inp.x.max" in _read(_blurred(-100, 100, "reflect"))
    assert "inp.x.max - 99" in _read(_blurred(100, 100, "reflect"))


def test_filters_behind_each_other_are_folded() -> None:
    """What the first of them makes is read by all, up to the last: as a few rows."""

    def filtered(a: Any) -> Any:
        s = sl.ndimage.gaussian_filter1d(a, 1.0, 0)
        m = sl.ndimage.median_filter(np.sqrt(s), (3, 1))
        m = sl.ndimage.minimum_filter1d(m, 3, 0)
        return sl.ndimage.gaussian_filter1d(m, 2.0, 0) + s

    jit: Any = sl.jit
    image = np.random.default_rng(1).random((2048, 2048))
    p = sl.auto_schedule(
        jit(filtered, smallest=0).pipeline(image), image, np.empty_like(image), workers=2, machine=SLIDING
    )
    for name in ("a_reflect", "s_result"):
        fold = p.find(f"alloc {name}").storage()[0]
        assert fold is not None
        assert int(str(fold)) < 128
    small = image[:61, :5]
    np.testing.assert_array_equal(jit(filtered, smallest=0)(small), filtered(small))
