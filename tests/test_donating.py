"""Arguments that are given away: what traced functions write to them ends up in the caller's arrays."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from traced import assert_same, image, jit, kept

import slinky as sl


def relax(x: Any) -> Any:
    x[1:-1] = (x[:-2] + x[2:]) / 2


def fill(x: Any) -> Any:
    x[...] = 3
    return x


def overwrite_edges(x: Any) -> Any:
    inner = x[1:]
    x[0] = inner[0] * 2
    x[-1] = x[0] + 1
    x[:, 0] = x[-1, 0]
    inner += 1
    return inner, x[::-1], x.sum()


def many_rows(x: Any) -> Any:
    for k in range(6):
        x[k % 2] = x[1] + k
    return x[:1]


def accumulate(x: Any) -> Any:
    np.cumsum(x, axis=0, out=x)
    x *= 2
    return x + 1


def sort_flipped(x: Any) -> Any:
    x[:, ::-1].sort(axis=0)
    x.T[0] = 7
    x[x > 5] = -1


WRITERS = [relax, fill, overwrite_edges, many_rows, accumulate, sort_flipped]

LAYOUTS: dict[str, Any] = {
    "rows": lambda a: a.copy(),
    "columns": np.asfortranarray,
    "backwards": lambda a: a.copy()[::-1, ::-1],
    "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
}


@pytest.mark.sweep
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", WRITERS)
def test_the_array_of_the_caller_is_as_the_function_leaves_it(function: Any, layout: str) -> None:
    traced = jit(function, donate="x")
    for shape in [(9, 4), (3, 5), (13, 7), (2, 1)]:
        given, wanted = LAYOUTS[layout](image(*shape)), LAYOUTS[layout](image(*shape))
        for _ in range(2):
            assert_same(traced(given), function(wanted))
            assert_same(given, wanted)
    assert kept(traced) > 0


def test_an_output_that_is_filled_is_computed_in_place_and_one_trace_serves_all_sizes() -> None:
    def blend(a: Any, b: Any, out: Any) -> Any:
        np.add(a, b, out=out)
        out /= 2
        return out

    traced = jit(blend, donate=["out"])
    for shape in [(8, 5), (30, 20)]:
        a, b, out = image(*shape), image(*shape) * 2, np.full(shape, np.nan, np.float32)
        assert traced(a, b, out) is out
        assert_same(out, (a + b) / 2)
    assert kept(traced) == 1
    a, out = image(700, 500), np.empty((700, 500), np.float32)
    traced(a, a, out)
    tracemalloc.start()
    traced(a, a, out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < out.nbytes / 2
    p = traced.pipeline(image(8, 5), image(8, 5), image(8, 5))
    assert [arg.name() for arg in p.args()][:2] == ["a", "b"]
    assert "out:" not in str(p).split("check")[0]
    assert "writes to out" in traced.explain(image(8, 5), image(8, 5), image(8, 5))


def test_what_is_returned_is_the_argument_or_a_view_of_it() -> None:
    def both(x: Any) -> Any:
        x += 1
        return x, x[2:, ::-1], x * 2

    x = image(6, 4)
    same, view, other = jit(both, donate="x")(x)
    assert same is x
    assert np.shares_memory(view, x)
    assert not np.shares_memory(other, x)
    assert_same([view, other], [x[2:, ::-1], x * 2])


def test_arguments_may_be_swapped() -> None:
    def swap(x: Any, y: Any) -> None:
        old = x.copy()
        x[...] = y
        y[...] = old
        y[:2] += x[:2]

    for shape in [(5, 4), (3, 3)]:
        given, wanted = (image(*shape), image(*shape) * 3), (image(*shape), image(*shape) * 3)
        assert jit(swap, donate=("x", "y"))(*given) is None
        swap(*wanted)
        assert_same(given, wanted)


def test_containers_are_given_away_with_all_that_is_in_them() -> None:
    def advance(state: Any, *more: Any, **named: Any) -> Any:
        state["u"] += state["v"]
        more[1][0] = state["u"][0]
        named["flux"][...] = state["u"] * 2

    def arrays() -> Any:
        return {"u": image(4, 3), "v": image(4, 3) * 2}, image(4, 3), image(5, 3), image(4, 3)

    traced = jit(advance, donate=["state", "more", "named"])
    for _ in range(2):
        given, wanted = arrays(), arrays()
        traced(*given[:3], flux=given[3])
        advance(*wanted[:3], flux=wanted[3])
        assert_same(given, wanted)


@pytest.mark.parametrize("kind", ["other", "same", "window", "read only", "repeated"])
def test_arrays_that_are_seen_elsewhere_are_written_as_numpy_does(kind: str) -> None:
    def shift(x: Any, y: Any) -> Any:
        x[:-1] += y[1:]
        return y * 2

    def arguments() -> Any:
        base = image(9, 4)
        if kind == "read only":
            base.flags.writeable = False
        if kind == "repeated":
            return np.lib.stride_tricks.as_strided(base, (6, 4), (8, 4)), image(6, 4)
        return base[:6], {"other": image(6, 4), "same": base[:6], "window": base[2:8], "read only": base[3:]}[kind]

    traced = jit(shift, donate="x")
    traced(image(6, 4), image(6, 4))  # a trace is kept
    for _ in range(2):
        given, wanted = arguments(), arguments()
        if kind == "read only":
            with pytest.raises(ValueError, match="read-only"):
                traced(*given)
            continue
        assert_same(traced(*given), shift(*wanted))
        assert_same(given, wanted)


WEIGHTS = np.arange(4, dtype=np.float32)


def test_globals_that_share_memory_with_what_is_written() -> None:
    def weigh(x: Any) -> Any:
        x *= 2
        return x + WEIGHTS

    traced = jit(weigh, donate="x")
    for other in (image(4), None, image(4)):
        before = WEIGHTS.copy()
        x = WEIGHTS if other is None else other
        try:
            found, left = traced(x), x.copy()
        finally:
            WEIGHTS[...] = before
        want = WEIGHTS if other is None else image(4)
        try:
            assert_same(found, weigh(want))
            assert_same(left, want)
        finally:
            WEIGHTS[...] = before


def test_an_error_leaves_arguments_as_they_were() -> None:
    def fail(x: Any) -> Any:
        x += 1
        raise LookupError("no")

    x = image(4)
    with pytest.raises(LookupError):
        jit(fail, donate="x")(x)
    assert_same(x, image(4))


def test_other_arguments_are_still_refused_and_names_are_checked() -> None:
    def write(x: Any, y: Any) -> Any:
        y[0] = x[0]

    with pytest.raises(sl.TracingError, match=r"writes to its argument y; .*donate"):
        jit(write, donate="x")(image(3), image(3))
    with pytest.raises(sl.TracingError, match="takes parameters of write: x, y; got 'z'"):
        jit(write, donate=["x", "z"])
