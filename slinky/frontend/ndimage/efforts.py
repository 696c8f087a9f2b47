"""How long SciPy's filters compute an element, beside what its memory takes: measured, and told as other efforts are.

SciPy gives as many elements as it is given, those of the halo included. So strips compute the rows between them once
more, and what a filter takes for an element says how high they should be.

Invariant: nothing rests on these figures but how good a schedule is. They are those of SciPy 1.17 on processors of
today, told in the bytes that go by in that time where these are near (see `sched.efforts`).
"""

from __future__ import annotations

EFFORTS: dict[str, tuple[float, float]] = {
    "binary_dilation": (550, 0),
    "binary_erosion": (550, 0),
    "binary_hit_or_miss": (2000, 0),
    "convolve": (100, 36),
    "correlate": (100, 36),
    "correlate1d": (90, 17),
    "gaussian_filter1d": (90, 17),
    "generic_filter": (90_000, 100),
    "grey_dilation": (200, 64),
    "grey_erosion": (200, 64),
    "maximum_filter": (200, 48),
    "maximum_filter1d": (480, 6),
    "minimum_filter": (200, 48),
    "minimum_filter1d": (480, 6),
    "rank_filter": (1000, 700),
    "uniform_filter1d": (130, 0),
}
"""By the name of a filter: what an element takes, and what each element of its window adds to that."""


def effort_of_each(name: str, window: int) -> float | None:
    """How long a filter with so many elements in its window computes an element; None where that is not known."""
    known = EFFORTS.get(name)
    return None if known is None else known[0] + known[1] * window
