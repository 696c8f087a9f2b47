"""The quick way from Python to a function in C: arrays are passed as the objects that they are.

Idea. What `ctypes` makes of an array takes microseconds. So, where there is a compiler, a function is called by one in
C that reads where elements are and how they lie from the array objects, as nests do. It is the same for all functions
of the same parameters.

Invariant: it does what calling by `ctypes` does, or says that it has done nothing.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from slinky.native.adapters import PACKING, adapter_text
from slinky.native.array_texts import ARRAYS
from slinky.native.arrivals import ARRIVALS
from slinky.native.c_functions import NOT_DONE, SOURCE_HEAD, CFunction
from slinky.native.carriers import exception_bits, held
from slinky.native.compiling import compiler, library
from slinky.native.integers import HELPERS
from slinky.native.operators import C_TYPES

_NAME = "slinky_entry"


def entry_of(function: CFunction) -> Callable[..., int] | None:
    """What calls a function with arrays or buffers, and numbers by name, and returns what its adapter does, or
    `NOT_DONE`; None where there is no compiler."""
    made_by = compiler()
    if made_by is None or exception_bits(made_by) is None:
        return None
    loaded = library(_text(function), made_by)
    called = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)((_NAME, loaded))
    return _in_python(function, called)


def _text(function: CFunction) -> str:
    rank = str(max([1, *(each.rank for each in function.operands)]))
    lines: list[str] = []
    passed: list[str] = []
    slot = len(function.operands)
    for k, each in enumerate(function.operands):
        lines.append(f"array a{k} = {{0, {{0}}, {{0}}, 0}};")
        lines.append(f"if (!slinky_take(of[{k}].array, {rank}, {each.dtype.alignment}, &a{k})) return {NOT_DONE};")
        passed.append(f"&a{k}")
    for _ in range(1 + function.takes_user_data):
        passed.append(f"(uintptr_t)of[{slot}].natural")
        slot += 1
    for _ in range(sum(each.rank for each in function.operands)):
        passed.append(f"of[{slot}].integer")
        slot += 1
    for scalar in function.scalars:
        field = {"f": "number", "u": "natural"}.get(scalar.dtype.kind, "integer")
        passed.append(f"({C_TYPES[scalar.dtype]})of[{slot}].{field}")
        slot += 1
    lines.append(f"return slinky_adapter({', '.join(passed)});")
    body = "\n".join(f"    {line}" for line in lines)
    parts = [SOURCE_HEAD, HELPERS, ARRAYS.format(rank=rank), ARRIVALS, PACKING.replace("{rank}", rank)]
    parts.append(adapter_text(function, "slinky_adapter", minima=True, by_address=True))
    parts.append(f"int64_t {_NAME}(const given *of);\nint64_t {_NAME}(const given *of)\n{{\n{body}\n}}\n")
    return "\n".join(parts)


def _in_python(function: CFunction, called: Callable[[bytes], int]) -> Callable[..., int]:
    """The function that packs what that in C is given."""
    count = len(function.operands)
    names = [f"v{k}" for k in range(count)]
    numbers = [f"n{n}" for n in range(len(function.scalars))]
    space: dict[str, Any] = {"called": called, "held": held, "address": function.address}
    space["refused"] = (struct.error, OverflowError, TypeError, ValueError, KeyError)
    form = "n" * count + "Q" + "Q" * function.takes_user_data
    form += "q" * sum(each.rank for each in function.operands)
    plain, located, asked = [], [], []
    for name, each in zip(names, function.operands, strict=True):
        space[f"of_{name}"] = each.dtype
        asked.append(f"type({name}) is array and {name}.dtype is of_{name} and {name}.ndim == {each.rank}")
        plain += ["0"] * each.rank
        located.append(f"*m_{name}")
    asked += [f"{name}.flags.writeable" for name in names[function.inputs :]]
    packed = [*(f"id({name})" for name in names), "address"]
    if function.takes_user_data:
        space["data"] = function.user_data
        packed.append("data")
    end: list[str] = []
    taken: list[str] = []
    for number, scalar in zip(numbers, function.scalars, strict=True):
        space[f"of_{number}"] = scalar.dtype
        end.append(f"held({number}, of_{number})")
        form += {"f": "d", "u": "Q"}.get(scalar.dtype.kind, "q")
        taken.append(f"        {number} = numbers[{scalar.name!r}]")
    text = [
        f"def quick({', '.join(names)}, numbers, minima):",
        f"    if len(numbers) != {len(numbers)} or not ({' and '.join(asked)}):",
        f"        return {NOT_DONE}",
        "    try:",
        *taken,
        "        if minima is None:",
        f"            return called(pack({', '.join([*packed, *plain, *end])}))",
        f"        {', '.join(f'm_{name}' for name in names)}, = minima",
        f"        return called(pack({', '.join([*packed, *located, *end])}))",
        "    except refused:",
        f"        return {NOT_DONE}",
        "",
    ]
    space |= {"pack": struct.Struct(form).pack, "array": np.ndarray}
    exec(compile("\n".join(text), "<C function>", "exec"), space)
    found: Callable[..., int] = space["quick"]
    return found
