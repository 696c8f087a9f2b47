"""Functions of NumPy in C that take many elements at once.

Idea. Each is a loop without branches, which compilers turn into vector instructions, over a strip of elements. Of
elements for which its method does not hold (huge angles, quotients beyond what an integer holds, results out of range)
there are few or none: the loop makes them NaN and notes that there is one, and a second loop computes what is NaN by
the C library, or as NumPy does.

The first loop computes with numbers that do not matter, too, so what it does to the exceptions of floating point
arithmetic is undone; those that NumPy tells of are raised after it.

Invariant: results are as far from NumPy's as `docs/native.md` says, most of them equal; NaN for NaN, zeros with their
signs. Without fused multiply-adds in hardware, or for another compiler than those known, the second loop does all.
Functions whose NumPy is further from the true value than 1.5 units in the last place are not among them: the correct
result may be two units from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
import numpy as np

from slinky.ir.formulas import Apply, Argument, Constant, Step
from slinky.native.functions import angles, arcs, division, exponentials, lengths, logarithms, single_exponentials
from slinky.native.functions.texts import BEGIN, COMMON, END, Function
from slinky.native.operators import TAKES_ROOTS, is_short_power

__all__ = ["BEGIN", "COMMON", "END", "FUNCTIONS", "Function", "function_of_step", "texts_of"]

_VECTORS_OF_INTEL = {
    *("tan", "arcsin", "arccos", "arctan", "arctan2", "exp", "exp2", "expm1", "cosh"),
    *("log", "log2", "log1p", "power", "cbrt"),
}
"""What NumPy computes by vectors of its own where the processor has AVX-512: of float64 about as fast as we do, of
float32 not within 1.5 units in the last place."""


def _functions() -> Iterator[tuple[tuple[str, str], Function]]:
    told = np.show_config(mode="dicts")
    found = told.get("SIMD Extensions", {}).get("found", [])
    has_vectors = not {"X86_V4", "AVX512_SKX"}.isdisjoint(found)
    for subject in (division, angles, arcs, exponentials, logarithms, lengths):
        for (name, dtype), function in subject.functions():
            if not has_vectors or name not in _VECTORS_OF_INTEL:
                yield (name, dtype), function
            elif dtype == "d":
                yield (name, dtype), attrs.evolve(function, is_faster_alone=False)
    yield from single_exponentials.functions()


FUNCTIONS = dict(_functions())
"""By name of the ufunc, and the character of the dtype that it takes and gives."""


def function_of_step(step: Step) -> Function | None:
    """The C function of a step, if it has one. Squares and the like are products, and powers of 1/2 roots."""
    if not isinstance(step, Apply) or len(set(step.dtypes)) != 1 or not step.dtypes[0].isnative:
        return None
    name, of = step.ufunc.__name__, step.dtypes[0].char
    if step.ufunc is np.power:
        exponent = step.operands[1]
        if is_short_power(exponent, step.dtypes):
            return None
        if isinstance(exponent, Constant) and of == "d" and exponent.value in logarithms.PRODUCTS:
            return logarithms.product(int(exponent.value))
        if isinstance(exponent, Argument) and TAKES_ROOTS and ("power", of) in FUNCTIONS:
            return logarithms.power_by_number(of)
    return FUNCTIONS.get((name, of)) if getattr(np, name, None) is step.ufunc else None


def texts_of(functions: Iterable[Function]) -> list[str]:
    """The texts of functions, each once, and what they have in common before them."""
    found = list(dict.fromkeys(each.text for each in functions))
    return [BEGIN + COMMON, *found, END] if found else found
