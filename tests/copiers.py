"""Copies run by the functions that C has for them, several of which are compiled at once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from slinky.ir.operations import Copy
from slinky.native.array_texts import ARRAYS
from slinky.native.compiling import compiler, library
from slinky.native.copying import Copier, copier
from slinky.native.integers import HELPERS
from slinky.runtime.buffers import Buffer

Array = np.ndarray[Any, Any]
Run = Callable[[Sequence[Buffer], Buffer, Mapping[str, int]], int]


def copiers(copies: Sequence[tuple[Copy, Sequence[int], Any]]) -> list[Run]:
    """Copies, each with the ranks of its sources and a dtype, as functions of the sources, the target, and
    parameters."""
    found = [copier(copy, ranks, np.dtype(dtype), "copy", f"copy_{n}") for n, (copy, ranks, dtype) in enumerate(copies)]
    rank = max(1, *(len(copy.dims) for copy, _, _ in copies), *(r for _, ranks, _ in copies for r in ranks))
    parts = ["#include <stdint.h>\n", HELPERS, ARRAYS.format(rank=rank)]
    for each, (copy, ranks, _) in zip(found, copies, strict=True):
        arrays = [f"a[{n}]" for n in range(len(ranks) + 1)]
        count = sum(ranks) + len(copy.dims) + len(each.parameters)
        numbers = [f"n[{n}]" for n in range(count)]
        parts += [*each.function.called, each.function.own, each.function.text]
        parts.append(f"int run_{each.name}(const array **a, const int64_t *n);\n")
        parts.append(f"int run_{each.name}(const array **a, const int64_t *n)\n{{\n    (void)a; (void)n;\n")
        parts.append(f"    return {each.name}({', '.join([*arrays, *numbers])});\n}}\n")
    made_by = compiler()
    assert made_by is not None
    loaded = library("\n".join(parts), made_by)
    return [_run(each, getattr(loaded, f"run_{each.name}"), rank) for each in found]


def _run(copier: Copier, function: Any, rank: int) -> Run:
    def run(sources: Sequence[Buffer], target: Buffer, values: Mapping[str, int]) -> int:
        buffers = [*sources, target]
        structs = [_struct(each.array, rank) for each in buffers]
        pointers = (ctypes.c_void_p * len(structs))(*map(ctypes.addressof, structs))
        numbers = [*(lo for each in buffers for lo in each.min), *(values[name] for name in copier.parameters)]
        return int(function(pointers, (ctypes.c_int64 * max(len(numbers), 1))(*numbers)))

    return run


def _struct(array: Array, rank: int) -> Any:
    filled = [0] * (rank - array.ndim)
    return (ctypes.c_int64 * (1 + 2 * rank))(array.ctypes.data, *array.shape, *filled, *array.strides, *filled)
