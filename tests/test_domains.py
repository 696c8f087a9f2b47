"""Where the edges of an intermediate are that is read beyond them: its domain, by windows and rates, or assigned."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from extended import MODES, Range, beyond, random, run, weighted, weights
from judge_copies import stands_for
from random_copies import RULES
from scipy import ndimage

import slinky as sl

# ----------------------------------------------------------------------------------------------------------------
# Windows and rates
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_size_of_a_window_as_a_scalar(mode: str) -> None:
    inp, t, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "t", "out"))
    y, x = sl.variables("y x")
    r = sl.scalar("r")
    sl.Func(weighted, [inp.extended(mode)[sl.interval(y - r, y + r), x]], [t[y, x]], name="first")
    sl.Func(weighted, [t.extended(mode)[sl.interval(y - r, y + r), x]], [out[y, x]], name="second")
    p = sl.build_pipeline([inp], [out])
    image = random((5, 3))
    for radius in (0, 1, 2, 7):
        window = weights((2 * radius + 1, 1))
        once = ndimage.correlate(image, window, mode=mode)
        expected = ndimage.correlate(once, window, mode=mode)
        np.testing.assert_array_equal(run(p, image, shape=(5, 3), r=radius), expected)


def chain(first: Callable[[Any], Any], second: Callable[[Any], Any], mode: str, **options: Any) -> sl.Pipeline:
    """Two funcs of one dimension, each reading an extended buffer."""
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    x = sl.variables("x")[0]

    def take(array: np.ndarray, out: np.ndarray) -> None:
        out[...] = 0
        for place in range(array.shape[0]):
            out += array[place]

    for reads, source, target, name in ((first, inp, t, "first"), (second, t, out, "second")):
        sl.Func(by_index(reads), [source.extended(mode)[hull(reads, x)]], [target[x]], name=name, pass_buffers=True)
    if "domain" in options:
        t.dim(0).domain = options["domain"](inp)
    return sl.build_pipeline([inp], [out])


def hull(reads: Callable[[Any], Any], x: Any) -> Any:
    found = reads(x)
    return sl.interval(*found) if isinstance(found, tuple) else found


def by_index(reads: Callable[[Any], Any]) -> Callable[..., None]:
    """A callback that sums what each point reads, and adds where that begins."""

    def callback(source: sl.Buffer, target: sl.Buffer) -> None:
        for k in range(target.array.shape[0]):
            found = reads(k + target.min[0])
            lo, hi = found if isinstance(found, tuple) else (found, found)
            part = source.array[lo - source.min[0] : hi - source.min[0] + 1]
            assert part.shape == (hi - lo + 1,)
            target.array[k] = part @ np.arange(1, len(part) + 1)

    return callback


def by_hand(reads: Callable[[int], Any], source: Callable[[int], int], at: int) -> int:
    found = reads(at)
    lo, hi = found if isinstance(found, tuple) else (found, found)
    return sum(source(c) * (c - lo + 1) for c in range(lo, hi + 1))


RATES: Mapping[str, tuple[Callable[[Any], Any], Callable[[int], Range]]] = {
    "window": (lambda x: (x - 1, x + 2), lambda n: (0, n - 1)),
    "beside": (lambda x: x + 3, lambda n: (0, n - 1)),
    "every other": (lambda x: (2 * x - 1, 2 * x + 1), lambda n: (0, (n - 1) // 2)),
    "pairs": (lambda x: (2 * x, 2 * x + 1), lambda n: (0, (n - 1) // 2)),
    "twice": (lambda x: (x // 2 - 1, x // 2 + 1), lambda n: (0, 2 * n - 1)),
    "interpolated": (lambda x: (x // 2, (x + 1) // 2), lambda n: (0, 2 * n - 1)),
    "between": (lambda x: ((x - 1) // 2, (x + 1) // 2), lambda n: (0, 2 * n - 1)),
    "thirds": (lambda x: ((x - 2) // 3 - 1, (x + 2) // 3), lambda n: (0, 3 * n - 1)),
    "half of halves": (lambda x: (((x - 1) // 2 - 1) // 2, ((x + 3) // 2 + 1) // 2), lambda n: (0, 4 * n - 1)),
    "three halves": (lambda x: (3 * x // 2, 3 * x // 2 + 1), lambda n: (0, (2 * n - 1) // 3)),
}
"""How a func reads, and the domain that follows for an input of some extent that begins at 0: where the point lies
within the input that the window is around."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("extent", [1, 2, 5, 6])
def test_the_domain_of_what_is_between(mode: str, rate: str, extent: int) -> None:
    first, domain = RATES[rate]
    check_chain(before_a_window(rate, mode), first, RATES["window"][0], mode, random((extent,)), domain(extent))


@functools.cache
def before_a_window(rate: str, mode: str) -> sl.Pipeline:
    """A func that reads at this rate, and a window; made once, whatever extents it runs on."""
    return chain(RATES[rate][0], RATES["window"][0], mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("origin", [-4, 3])
def test_a_domain_that_is_assigned(mode: str, origin: int) -> None:
    """Also of a buffer for which nothing else would say where it ends."""
    first, second = (lambda x: 1 - x), RATES["window"][0]
    p = chain(first, second, mode, domain=lambda inp: sl.interval(origin, origin + inp.dim(0).extent))
    check_chain(p, first, second, mode, random((5,)), (origin, origin + 5))


def check_chain(
    p: sl.Pipeline,
    first: Callable[[Any], Any],
    second: Callable[[Any], Any],
    mode: str,
    image: np.ndarray,
    domain: Range,
) -> None:
    """Compare outputs here and there with what the rules say, for a domain of the intermediate."""

    def extended(array: Callable[[int], int], ends: Range) -> Callable[[int], int]:
        def read(at: int) -> int:
            place = stands_for(at, *ends, RULES[mode])
            return 0 if place is None else array(place)

        return read

    given = extended(lambda k: int(image[k]), (0, len(image) - 1))
    between = extended(lambda k: by_hand(first, given, k), domain)
    for lo, extent in ((0, 4), (-5, 13), (domain[1] - 1, 3), (domain[1] + 7, 2)):
        found = run(p, image, shape=(extent,), lo=(lo,))
        assert found.tolist() == [by_hand(second, between, k) for k in range(lo, lo + extent)]


def test_a_domain_by_assigned_bounds() -> None:
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    x = sl.variables("x")[0]
    sl.Func(weighted, [inp.extended("nearest")[sl.interval(x - 1, x + 1)]], [t[x]], name="first")
    sl.Func(weighted, [t.extended("nearest")[sl.interval(x - 1, x + 1)]], [out[x]], name="second")
    t.dim(0).bounds = sl.interval(inp.dim(0).min, inp.dim(0).min + 1)  # the first two alone
    p = sl.build_pipeline([inp], [out])
    first = np.empty(2, np.int64)
    weighted(beyond(np.array([5, 7, 9]), [(-1, 2)], ["nearest"]), first)
    expected = np.empty(4, np.int64)
    weighted(beyond(first, [(-1, 4)], ["nearest"]), expected)
    np.testing.assert_array_equal(run(p, np.array([5, 7, 9]), shape=(4,)), expected)


def test_what_depends_on_no_input_has_no_domain() -> None:
    t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("t", "out"))
    x = sl.variables("x")[0]

    def ramp(out: sl.Buffer) -> None:
        out.array[...] = np.arange(len(out.array)) + out.min[0]

    sl.Func(ramp, [], [t[x]], pass_buffers=True)
    sl.Func(weighted, [t.extended("mirror")[sl.interval(x - 1, x + 1)]], [out[x]])
    with pytest.raises(sl.GraphError, match=r"nothing determines the domain of 't' along dimension 0.*assign t\.dim"):
        sl.build_pipeline([], [out])
    t.dim(0).domain = sl.interval(0, 3)
    found = run(sl.build_pipeline([], [out]), shape=(6,), lo=(-1,))
    expected = np.empty(6, np.int64)
    weighted(beyond(np.arange(4), [(-2, 5)], ["mirror"]), expected)
    np.testing.assert_array_equal(found, expected)


def test_a_domain_cannot_be_that_of_a_buffer_elsewhere() -> None:
    inp, t, out, other = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out", "other"))
    x = sl.variables("x")[0]
    sl.Func(np.positive, [inp[x]], [t[x]])
    sl.Func(np.positive, [t.extended("wrap")[x - 1]], [out[x]])
    t.dim(0).domain = other.dim(0).bounds
    with pytest.raises(sl.GraphError, match="'other' is not part of the pipeline"):
        sl.build_pipeline([inp], [out])


def test_a_domain_cannot_depend_on_itself() -> None:
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    x = sl.variables("x")[0]
    sl.Func(np.positive, [inp[x]], [t[x]])
    sl.Func(np.positive, [t.extended("wrap")[x - 1]], [out[x]])
    t.dim(0).domain = sl.interval(0, t.dim(0).domain.max)
    with pytest.raises(sl.GraphError, match="depend on themselves"):
        sl.build_pipeline([inp], [out])


# ----------------------------------------------------------------------------------------------------------------
# Without a boundary rule, nothing beyond the edges is read, and nothing within them is left out
# ----------------------------------------------------------------------------------------------------------------

ENDS: tuple[Range, ...] = ((-1, 1), (0, 1), (-2, 3), (-3, -1), (2, 2))


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("rate", ["x", "2*x", "x // 2", "x // 3", "3*x // 2", "x // 2 // 2"])
def test_a_domain_is_the_largest_box_that_reads_only_what_is_there(rate: str, ends: Range) -> None:
    """Each end of what is read with its offset inside the quotients: the buffer between ends just where that does."""

    def reads(x: Any) -> Any:
        return tuple(eval(rate, {"x": x + offset}) for offset in ends)

    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    x = sl.variables("x")[0]
    ran: list[Range] = []

    def first(source: sl.Buffer, target: sl.Buffer) -> None:
        ran.append((target.min[0], target.max[0]))
        target.array[...] = 0

    sl.Func(first, [inp[hull(reads, x)]], [t[x]], name="first", pass_buffers=True)
    sl.Func(np.positive, [t.extended("nearest")[x]], [out[x]], name="second")
    p = sl.build_pipeline([inp], [out])
    for lo, extent in ((0, 9), (-4, 8), (3, 7)):
        inside = [at for at in range(-60, 60) if lo <= reads(at)[0] and reads(at)[1] < lo + extent]
        if not inside:
            continue
        source, target = sl.Buffer(np.zeros(extent, np.int64), min=(lo,)), sl.Buffer(np.ones(120, np.int64), min=(-60,))
        p.run(source, target, checked=True)
        assert inside == list(range(inside[0], inside[-1] + 1))
        assert ran.pop() == (inside[0], inside[-1])
