"""Random programs whose lines are a step that is done again and again: what comes of a step goes into the next one.

Idea. A program of `numpy_programs` is put into a loop. At the end of a step, arguments become values of the same shape,
cut to small numbers, so that nothing overflows; what finds none stays as it is for all steps. Small graphs count as
long ones (`counts_as_long`), so that a few steps are enough.

Invariant: what is rounded goes into no other step.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy_programs import HELPER, Program, run

from slinky.frontend import repeating, traced

STEPS = 5


def counts_as_long() -> dict[Any, dict[str, int]]:
    """By modules, what is to be set for graphs of a few nodes to count as long ones."""
    return {traced: {"LEAST_FUNCS": 0}, repeating: {"LEAST_LEGS": 2, "_LEAST_NODES": 2}}


def in_steps(programs: Iterable[Program]) -> Iterator[Program]:
    """The same programs in loops, of those of which something goes into the next step."""
    for program in programs:
        found = _in_a_loop(program)
        if found is not None:
            yield found


def _in_a_loop(program: Program) -> Program | None:
    draws = random.Random(program.seed)
    values = values_of(program)
    fed = []
    for k, array in enumerate(program.arrays()):
        names = [name for name, value in values.items() if may_be(name, value, array)] if not program.rounded else []
        if names:
            name = draws.choice(names[-3:])
            fed.append(f"a{k} = np.clip(np.nan_to_num({name}), -9, 9).astype(np.{array.dtype.name})")
    if not fed:
        return None
    body = "\n".join([*program.lines[:-1], *fed]).replace("\n", "\n" + 8 * " ")
    found = attrs.evolve(program, lines=(f"for step in range({STEPS}):\n        {body}", program.lines[-1]))
    return found if run(found.function(), found.arrays())[1] is None else None


def values_of(program: Program) -> dict[str, Any]:
    """All that has a name at the end of a program, on its own arrays."""
    values: dict[str, Any] = {"np": np, "math": math}
    exec(HELPER, values)
    values |= {f"a{k}": array.copy(order="K") for k, array in enumerate(program.arrays())}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for line in program.lines[:-1]:
            exec(line, values)
    return values


def may_be(name: str, value: Any, array: Any) -> bool:
    """Whether a value that a program computes may take the place of an argument."""
    is_value = name[0] == "v" and name[1:].isdigit() and isinstance(value, np.ndarray)
    return is_value and value.shape == array.shape and value.dtype.kind in "biuf" and array.dtype.kind in "biuf"
