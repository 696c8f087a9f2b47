"""The way into a plan for arguments that fit as they are: checked and handed over in about a microsecond.

The code is generated per plan, a few lines per parameter, so that nothing is looked up or looped over. Where anything
is not as usual (another type, dtype, rank, an empty array, a view that may overlap another argument; a buffer, where
the function takes no coordinates) it calls `other`, which takes the long way with every check and a message.

Invariant: arguments that go the short way meet every condition of `arguments.take_arguments` but the checks of the
program, which the plan's function makes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.ir.statements import Program
from slinky.runtime.arena import Arenas
from slinky.runtime.arguments import numbers_of, shares_own_memory
from slinky.runtime.buffers import Buffer
from slinky.symbolic.expressions import Scalar

Enter = Callable[[Sequence[object], dict[str, Any]], Any]
"""Takes arrays and scalars; returns the output, or a tuple of the outputs."""


_OWNS_DATA = 0x4
_WRITABLE = 0x400
_USUAL_OUTPUT = 0x1 | _WRITABLE
"""Bits of `flags.num` (`NPY_ARRAY_...` of NumPy's C API): it costs as much to read them all as to read one by name."""


_TAKE = ("    try:", "        arena = pop()", "    except IndexError:", "        arena = take()")


def make_entry(
    program: Program,
    at_origin: bool,
    function: Callable[..., None],
    arenas: Arenas,
    threads: Callable[[], int] | None,
    other: Enter,
    failed: Callable[[BaseException, Sequence[object], dict[str, Any]], None],
) -> Enter:
    """The short way to a plan's function, one with coordinates unless `at_origin`.

    `threads` gives the number of threads where the function takes one; `failed` is told of an error in the function.
    A function that allocates nothing has no use for an arena, and is given none.
    """
    outputs = range(len(program.inputs), len(program.inputs) + len(program.outputs))
    parameters = (*program.inputs, *program.outputs)
    arrays = [f"a{i}" for i in range(len(parameters))]
    kinds = [(s.name, "int") for s in program.scalars] + [(f.name, "float") for f in program.floats]
    scalars = [f"s{i}" for i in range(len(kinds))]
    has_arena = bool(arenas.kinds)
    handed = ["arena" if has_arena else "None", *(["threads()"] if threads is not None else [])]
    handed += [name for i in range(len(parameters)) for name in (f"a{i}", f"m{i}")[: 1 if at_origin else 2]] + scalars
    lines = [
        "def entry(arrays, scalars):",
        f"    if {f'len(scalars) != {len(scalars)}' if scalars else 'scalars'}:",
        "        return other(arrays, scalars)",
        "    try:",
        f"        {_targets(arrays)} = arrays",
        "    except ValueError:",
        # no array: the long way is taken below, where its errors have none behind them
        f"        {arrays[0]} = None" if arrays else "        return other(arrays, scalars)",
    ]
    for i, p in enumerate(parameters):
        if not at_origin:
            lines += [
                f"    m{i} = origin{i}",
                f"    if type(a{i}) is Buffer:",
                f"        m{i} = a{i}.min",
                f"        a{i} = a{i}.array",
            ]
        lines += [
            f"    if type(a{i}) is not ndarray or a{i}.dtype is not dtype{i} or a{i}.ndim != {p.rank} "
            f"or not a{i}.size:",
            "        return other(arrays, scalars)",
            f"    f{i} = a{i}.flags.num",
        ]
        if i in outputs:
            lines += [
                f"    if f{i} & {_USUAL_OUTPUT} != {_USUAL_OUTPUT} and (not f{i} & {_WRITABLE} "
                f"or shares_own_memory(a{i})):",
                "        return other(arrays, scalars)",
            ]
    for j in outputs:
        for i in range(j):
            lines += [
                f"    if a{i} is a{j} or (not f{i} & f{j} & {_OWNS_DATA} and may_share_memory(a{i}, a{j})):",
                "        return other(arrays, scalars)",
            ]
    ranges = _ranges(program)
    for i, (name, kind) in enumerate(kinds):
        lines += [
            f"    s{i} = scalars.get({name!r})",
            f"    if type(s{i}) is not {kind}{_outside(f's{i}', ranges.get(name))}:",
            "        return other(arrays, scalars)",
        ]
    lines += [
        *(_TAKE if has_arena else ()),
        "    try:",
        f"        function({', '.join(handed)})",
        "    except BaseException as error:",
        "        failed(error, arrays, scalars)",
        "        raise",
        *(["    push(arena)"] if has_arena else []),
        f"    return {f'arrays[{outputs[0]}]' if len(outputs) == 1 else f'tuple(arrays[{outputs.start}:])'}",
    ]
    namespace: dict[str, Any] = {
        "Buffer": Buffer, "ndarray": np.ndarray, "may_share_memory": np.may_share_memory, "function": function,
        "shares_own_memory": shares_own_memory,
        "pop": arenas.idle.pop, "push": arenas.idle.append, "take": arenas.take,
        "threads": threads, "other": other, "failed": failed,
    }  # fmt: skip
    for i, p in enumerate(parameters):
        namespace[f"dtype{i}"] = p.dtype
        namespace[f"origin{i}"] = (0,) * p.rank
    exec(compile("\n".join(lines), "<entry of a plan>", "exec"), namespace)
    entry: Enter = namespace["entry"]
    return entry


def _targets(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"


def _ranges(program: Program) -> dict[str, tuple[int, int]]:
    """For each scalar that arithmetic takes as it is, integers that are among the values of each dtype there."""
    found: dict[str, tuple[int, int]] = {}
    for number in numbers_of(program):
        if isinstance(number.value, Scalar):
            low, high = found.get(number.value.name, (-_LARGEST, _LARGEST))
            if number.dtype.kind in "iu":
                limits = np.iinfo(number.dtype)
                low, high = max(low, int(limits.min)), min(high, int(limits.max))
            found[number.value.name] = low, high
    return found


_LARGEST = 1 << 64
"""Integers up to this one make numbers of every dtype of floats, even if they are not finite."""


def _outside(name: str, held: tuple[int, int] | None) -> str:
    """The rest of a condition, for a number that has to be among these."""
    return "" if held is None else f" or not {held[0]} <= {name} <= {held[1]}"
