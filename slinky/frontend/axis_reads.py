"""What a function reads along each axis of its arrays, from what changes with what.

Idea. Along an axis of an array either a window moves with an axis of the result, or all of it is read. A window moves
in steps: every `q` elements of the array stand for `p` of the result, a *rate* of p/q; that which makes the windows
narrowest is taken.

Invariant: windows hold all that was seen to be read for the elements of the result that are not near an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import attrs
import numpy as np

from slinky.frontend.perturbing import BLOCK, Experiment
from slinky.runtime.buffers import Array

_LARGEST_TERM = 8
"""Of rates, the largest numerator and denominator."""

_LOCAL = 0.4
"""Which part of the result may change with a few elements for their effect to be a local one."""


@attrs.frozen
class AxisReads:
    """What is read along one axis of an array for an element of the result.

    * `moves_with`: the axis of the result with which the window moves; None: all of it is read, wherever.
    * `before`, `after`: how many elements are read before and after the block that the element stands for.
    * `rate`: how many elements of the result there are for each of the array; negative where it runs backwards.
    * `boundary`: what the function does at the edges: the name of a rule of `scipy.ndimage`; `"own"`, something else;
      or None: nothing is read there.
    """

    moves_with: int | None = None
    before: int = 0
    after: int = 0
    rate: Fraction = Fraction(1)
    boundary: str | None = None

    @property
    def whole(self) -> bool:
        """Whether all of the axis is read."""
        return self.moves_with is None

    @property
    def is_point(self) -> bool:
        """Whether each element reads the one at its own place."""
        return not self.whole and self.before == self.after == 0 and self.rate == Fraction(1)

    @property
    def made(self) -> int:
        """Elements of the result in a block."""
        return abs(self.rate.numerator)

    @property
    def taken(self) -> int:
        """Elements of the array in a block."""
        return self.rate.denominator

    def __str__(self) -> str:
        if self.whole:
            return "all of it"
        window = "the element there" if self.before == self.after == 0 else f"{self.before} before, {self.after} after"
        if self.rate != 1:
            window += f", {self.rate} elements of the result for each"
        return f"{window}, along axis {self.moves_with} of the result" + (
            f", {self.boundary} at the edges" if self.boundary else ""
        )


def reads_along(experiment: Experiment, number: int, axis: int) -> AxisReads | None:
    """What is read along an axis of an array; None if no change there changes anything."""
    n = experiment.backgrounds[0][number].shape[axis]
    shape = experiment.results[0].shape
    blocks = _blocks(n)
    seen = [(block, experiment.changed(number, axis, block)) for block in blocks]
    if not any(found.any() for _, found in seen):
        everything = experiment.changed(number, axis, range(n))
        return AxisReads() if everything.any() else None
    if n < 4:
        return AxisReads()
    local = [e for e in range(len(shape)) if _slope(seen, e, shape[e], n) is not None]
    if len(local) != 1:
        return AxisReads()
    (e,) = local
    slope = _slope(seen, e, shape[e], n)
    assert slope is not None
    windows = dict(_windows(experiment, number, axis, e, seen, slope))
    return _fitted(windows, e, n, shape[e], slope)


def _blocks(n: int) -> list[range]:
    """Neighbouring slabs in several places, that do not reach each other or the ends if there is room."""
    size = max(min(BLOCK, n // 8), 1)
    starts = sorted({n // 5, n // 2, max(4 * n // 5 - size, 0)})
    return [range(start, min(start + size, n)) for start in starts]


def _projected(found: Array, axis: int) -> Array:
    """At which coordinates of an axis anything is true."""
    return np.flatnonzero(found.any(axis=tuple(k for k in range(found.ndim) if k != axis)))


def _slope(seen: Sequence[tuple[range, Array]], e: int, m: int, n: int) -> float | None:
    """How fast what changes moves along an axis of the result with what is changed; None if it is not local."""
    centres = []
    for block, found in seen:
        at = _projected(found, e)
        if at.size == 0:
            continue
        if at[-1] - at[0] + 1 > max(_LOCAL * m + len(block) * m / n, min(m - 1, 2 * len(block))):
            return None
        centres.append((block[0] + (len(block) - 1) / 2, (int(at[0]) + int(at[-1])) / 2))
    if len(centres) < 2:
        return None
    (k0, j0), (k1, j1) = centres[0], centres[-1]
    slope = (j1 - j0) / (k1 - k0)
    if abs(slope) < 0.5 / _LARGEST_TERM:
        return None
    middle = [j0 + (k - k0) * slope for k, _ in centres]
    bound = 0.15 * m + 2
    return slope if all(abs(a - j) <= bound for a, (_, j) in zip(middle, centres, strict=True)) else None


def _windows(
    experiment: Experiment, number: int, axis: int, e: int, seen: Sequence[tuple[range, Array]], slope: float
) -> Iterator[tuple[int, tuple[int, int]]]:
    """For each coordinate of an axis of the result, the first and the last coordinate of the array that is read."""
    n = experiment.backgrounds[0][number].shape[axis]
    spans = [(block, _projected(found, e)) for block, found in seen]
    spans = [(block, at) for block, at in spans if at.size]
    widest = max(int(at[-1] - at[0]) + 1 for _, at in spans)
    reach = int(np.ceil(widest / abs(slope))) + max(len(block) for block, _ in spans)
    distance = 2 * reach + 2 * _LARGEST_TERM
    groups = [[k] for k in range(n)] if 2 * distance >= n else [list(range(r, n, distance)) for r in range(distance)]
    block, at = spans[len(spans) // 2]
    k0, j0 = block[0] + (len(block) - 1) / 2, (int(at[0]) + int(at[-1])) / 2
    found: dict[int, tuple[int, int]] = {}
    for group in groups:
        slabs = np.array(group)
        for j in _projected(experiment.changed(number, axis, group), e):
            near = int(slabs[np.argmin(np.abs(slabs - (k0 + (int(j) - j0) / slope)))])
            lo, hi = found.get(int(j), (near, near))
            found[int(j)] = min(lo, near), max(hi, near)
    yield from sorted(found.items())


def _not_around(windows: Mapping[int, tuple[int, int]], n: int, slope: float) -> dict[int, tuple[int, int]]:
    """Windows but for those on the other side, of a function that goes around the array."""
    offsets = {j: (lo + hi) / 2 - j / slope for j, (lo, hi) in windows.items()}
    usual = float(np.median(list(offsets.values())))
    return {j: window for j, window in windows.items() if abs(offsets[j] - usual) < n / 2}


def _fitted(windows: Mapping[int, tuple[int, int]], e: int, n: int, m: int, slope: float) -> AxisReads:
    """The rate and the window that hold what was seen, where that is not near an end."""
    backwards = slope < 0
    ordered = {(m - 1 - j if backwards else j): window for j, window in windows.items()}
    widest = max(hi - lo + 1 for lo, hi in ordered.values())
    candidates = {
        Fraction(p, q)
        for p in range(1, _LARGEST_TERM + 1)
        for q in range(1, _LARGEST_TERM + 1)
        if abs(p / q - abs(slope)) <= 0.25 * abs(slope) + 0.02
    }
    # Windows that are cut at an end, or go around it, say nothing of the others.
    margin = min(widest if widest < n else 0, n // 2)
    inner = {j: (lo, hi) for j, (lo, hi) in ordered.items() if lo >= margin / 2 and hi <= n - 1 - margin / 2}
    median = float(np.median([hi - lo + 1 for lo, hi in ordered.values()]))
    inner = {j: w for j, w in inner.items() if w[1] - w[0] + 1 <= 2 * median + 2} or ordered
    inner = _not_around(inner, n, abs(slope))
    best: tuple[int, int, AxisReads] | None = None
    for rate in sorted(candidates):
        p, q = rate.numerator, rate.denominator
        before = max(q * (j // p) - lo for j, (lo, _) in inner.items())
        after = max(hi - (q * (j // p) + q - 1) for j, (_, hi) in inner.items())
        signed = -rate if backwards else rate
        score = before + after + q
        if best is None or (score, p + q) < best[:2]:
            best = score, p + q, AxisReads(e, before, after, signed)
    if best is None or best[0] > max(n / 2, 2):
        return AxisReads()
    return best[2]
