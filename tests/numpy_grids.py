"""Random programs whose arrays are grids that they make of numbers: lazy ones, of known shapes.

Idea. The lines of a program of `numpy_programs` follow lines that make what were its arguments, by functions of NumPy's
that make grids. It is given next to nothing, so that it is traced, and even small grids count as large.

Invariant: the grids have the dtypes and the shapes of the arguments, and small numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy_programs import HELPER, Program, run

_GRIDS = [
    "np.arange({count}).reshape({shape})",
    "np.indices({shape}).sum(axis=0)",
    "np.fromfunction(lambda *i: sum(i), {shape}, dtype=int)",
    "(np.zeros({shape}, int) + np.arange({last}))",
    "np.full({shape}, 3)",
    "(np.linspace(0, {count}, {count}).reshape({shape}))",
    "sum(np.mgrid[{slices}])",
    "sum(np.ogrid[{slices}])",
]


@attrs.frozen
class OfGrids(Program):
    """A program that makes its arrays."""

    @property
    def source(self) -> str:
        """Python that defines it, as `program`."""
        draws = random.Random(self.seed)
        made = [f"a{k} = {_grid(draws, dtype, shape, seed)}" for k, (dtype, shape, seed) in enumerate(self.inputs)]
        body = "\n".join(f"    {line}" for line in [*made, *self.lines])
        return f"import math\n\nimport numpy as np\n\n\n{HELPER}\n\ndef program(_):\n{body}\n"

    def arrays(self, more: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
        """One element, which it does not read."""
        return (np.ones(1),)


def _grid(draws: random.Random, dtype: str, shape: tuple[int, ...], seed: int) -> str:
    """What makes a grid of a shape."""
    if not shape:
        return f"np.zeros((3, 2), np.{dtype})[1, 1] + np.{dtype}({seed % 5})"
    count = int(np.prod(shape))
    slices = ", ".join(f"{seed % 4}:{n + seed % 4}" for n in shape) + "," * (len(shape) == 1)
    made = draws.choice(_GRIDS).format(count=count, shape=shape, last=shape[-1], slices=slices)
    low = 0 if dtype.startswith(("u", "bool")) else 5
    return f"(({made} + {seed % 7}) * 5 % 11 - {low}).astype(np.{dtype})"


def count_as_large() -> None:
    """Have the smallest grids be lazy."""
    from slinky.frontend import grids

    grids.LINE = grids.SMALL_BYTES = 1


def with_grids(programs: Iterable[Program]) -> Iterator[Program]:
    """The same programs, of those that do not fail on such arrays."""
    for program in programs:
        found = OfGrids(**attrs.asdict(program, recurse=False))
        if run(found.function(), found.arrays())[1] is None:
            yield found
