"""Functions of numba's `njit` as C functions.

Idea. Such a function takes arrays, which C has not. So a function around it is compiled by `numba.cfunc`, which is
passed the address, the extents and the strides of each array, makes arrays of them, and calls it. What it raises is
caught there, and told by a code.

Invariant: the arrays are those that Python would have called it with. What it reads is read-only, so that numba refuses
to compile what writes there, unless it is compiled already, for arrays that its author gave.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from slinky.errors import GraphError
from slinky.native.parameters import Scalar
from slinky.native.pointers import Pointer

RAISED = 1
"""What a function returns where the one inside raised an exception."""


def cfunc_of(
    function: Any, arrays: Sequence[tuple[str, np.dtype[Any], int]], inputs: int, numbers: Sequence[Scalar], what: str
) -> Pointer:
    """Where the function is that calls one of `njit` with so many inputs, then outputs. Raises `GraphError` if numba
    cannot compile it for these."""
    numba: Any = import_module("numba")
    given: list[str] = []
    types: list[Any] = []
    passed: list[str] = []
    for k, (_, dtype, rank) in enumerate(arrays):
        given += [f"data{k}", f"extent{k}", f"stride{k}"]
        integers = numba.types.CPointer(numba.types.int64)
        types += [numba.types.CPointer(_type_of(dtype, what)), integers, integers]
        extents, strides = (f"({''.join(f'{word}{k}[{d}], ' for d in range(rank))})" for word in ("extent", "stride"))
        array = f"as_strided(carray(data{k}, (1,)), {extents}, {strides})"
        passed.append(f"read_only({array})" if k < inputs and function._can_compile else array)
        if not rank:
            raise GraphError(f"{what} is compiled by numba, which makes no arrays without dimensions of addresses")
    for n, each in enumerate(numbers):
        given.append(f"number{n}")
        types.append(_type_of(each.dtype, what))
        passed.append(f"number{n}")
    text = (
        f"def caller({', '.join(given)}):\n"
        f"    try:\n        function({', '.join(passed)})\n"
        f"    except Exception:\n        return {RAISED}\n"
        "    return 0\n"
    )
    space = {"function": function, "carray": numba.carray, "as_strided": np.lib.stride_tricks.as_strided}
    space["read_only"] = _read_only()
    exec(compile(text, f"<{function.py_func.__name__}>", "exec"), space)
    try:
        made = numba.cfunc(numba.types.int32(*types))(space["caller"])
    except (numba.core.errors.NumbaError, NotImplementedError) as error:  # of float16 on a processor, say
        raise GraphError(f"{what} is not compiled by numba for such arrays and numbers: {error}") from error
    return Pointer(made.address, name=function.py_func.__name__, kept=(made, function))


@cache
def _read_only() -> Any:
    """What numba takes for an array to see it as one that cannot be written."""
    extending: Any = import_module("numba.extending")
    returned: Any = import_module("numba.core.imputils").impl_ret_borrowed

    def read_only(context: Any, array: Any) -> Any:
        result = array.copy(readonly=True)

        def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return returned(context, builder, result, arguments[0])

        return result(array), written

    return extending.intrinsic(read_only)


def _type_of(dtype: np.dtype[Any], what: str) -> Any:
    numba: Any = import_module("numba")
    try:
        return numba.from_dtype(dtype)
    except numba.core.errors.NumbaError as error:
        raise GraphError(f"{what} is compiled by numba, which has no {dtype}") from error
