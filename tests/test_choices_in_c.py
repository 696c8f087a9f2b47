"""Choices between integers in C: loops of vectors, also where floats are compared and constants chosen."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from natively import computed, of_dtypes
from random_arithmetic import numbers, same_bits

from slinky.native.compiling import compiler
from slinky.native.kernels import kernel_text

pytestmark = pytest.mark.usefixtures("own_libraries")

INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]


def classes(dtype: Any) -> Callable[..., Any]:
    """What a picture is cut into by limits of its brightness."""

    def function(a: Any, b: Any) -> Any:
        least, most, one, two, none = (dtype.type(n) for n in (np.iinfo(dtype).min, np.iinfo(dtype).max, 1, 2, 0))
        last = np.where((a >= -2) & (a < -1), least, np.where((a >= -1) & (a < 0), most, none))
        return np.where(b > 1, two, np.where((a >= 0) & (a < 1), one, last))

    return function


@needs_compiler
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("compared", [np.float32, np.float64])
def test_constants_chosen_by_floats(dtype: Any, compared: Any) -> None:
    a, b = (numbers((9, 37), compared, seed) / 4 for seed in range(2))
    a[::2, ::3], b[1::2, ::5] = np.nan, np.inf
    same_bits(computed(classes(dtype), a, b), classes(dtype)(a, b))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.dtype(bool), *INTEGERS], ids=str)
def test_elements_chosen_by_truths_of_any_byte(dtype: Any) -> None:
    truths = np.arange(9 * 37, dtype=np.uint8).reshape(9, 37) % 4 * 85
    a, b = numbers((9, 37), dtype), numbers((9, 37), dtype)[::-1]
    same_bits(computed(np.where, truths.view(bool), a, b), np.where(truths != 0, a, b))


@needs_compiler
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the vectors of other processors are not known")
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("compared", [np.float32, np.float64])
def test_its_loops_are_vectors(dtype: Any, compared: Any, tmp_path: Path) -> None:
    """GCC says so: one loop for dense arrays, and one for others."""
    made_by = compiler()
    assert made_by is not None
    if "free software foundation" not in made_by.version.lower() and "gcc" not in made_by.version.lower():
        pytest.skip("another compiler says it otherwise")
    _, formula = of_dtypes(classes(dtype), compared, compared)
    text = kernel_text(formula)
    assert text is not None
    source = tmp_path / "kernel.c"
    source.write_text(text)
    command = [
        *made_by.command,
        *made_by.flags,
        "-fopt-info-vec-optimized",
        "-o",
        str(tmp_path / "kernel.so"),
        str(source),
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    lines = text.splitlines()
    loops = {n + 2 for n, line in enumerate(lines) if "#pragma GCC ivdep" in line}
    found = {int(line.split(":")[1]) for line in said.splitlines() if "loop vectorized" in line}
    assert len(loops) == 2
    assert loops <= found, said
