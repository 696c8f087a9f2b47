"""Giving arrays to the parameters of a program, with every check that can be made before a callback runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from slinky.errors import ArgumentError, CheckFailedError, NumberError, cited
from slinky.ir.formulas import argument_types
from slinky.ir.given import as_float
from slinky.ir.identifiers import by_names_as_python_reads
from slinky.ir.operations import Expression
from slinky.ir.printer import expression_text
from slinky.ir.statements import BufferParameter, Call, Check, Program, walk
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.rings import plain, share_ring
from slinky.runtime.storage import Storage
from slinky.symbolic.expressions import Expr, Scalar, metadata, require_integer, scalar
from slinky.symbolic.traversal import evaluate, symbols


@attrs.frozen(eq=False)
class Arguments:
    """Arrays by name, the values of the symbols that they determine, and what to return."""

    storages: dict[str, Storage]
    values: dict[Expr, int]
    floats: dict[str, float]
    results: tuple[object, ...]


def take_arguments(program: Program, arrays: Sequence[object], scalars: Mapping[str, object]) -> Arguments:
    """Give inputs then outputs, and scalars by name, to the parameters.

    Raises `ArgumentError` (`CheckFailedError` for a check of the program) saying what was expected and given.
    """
    parameters = (*program.inputs, *program.outputs)
    if len(arrays) != len(parameters):
        names = ", ".join(p.name for p in parameters)
        raise ArgumentError(f"pipeline {program.name} takes {len(parameters)} arrays ({names}), got {len(arrays)}")
    storages: dict[str, Storage] = {}
    scalars = by_names_as_python_reads(scalars)
    values = scalar_values(program, scalars)
    for parameter, given in zip(parameters, arrays, strict=True):
        buffer = argument_as_buffer(parameter, given)
        _check_array(parameter, buffer.array, parameter in program.outputs)
        box = tuple(zip(buffer.min, buffer.max, strict=True))
        storages[parameter.name] = Storage(parameter.name, box, buffer.array)
        values.update(given_values(parameter.name, buffer))
    _check_overlap(program, storages)
    storages = {name: attrs.evolve(s, place=plain(s.array)) for name, s in storages.items()}
    for statement in program.body:
        if isinstance(statement, Check):
            require(program, statement, values)
    if any(storages[p.name].array.size for p in program.outputs):
        require_numbers(program, values)
    for c in program.constants:
        box = tuple((lo, lo + extent - 1) for lo, extent in zip(c.min, c.array.shape, strict=True))
        storages[c.name] = Storage(c.name, box, c.array)
    return Arguments(storages, values, _float_values(program, scalars), tuple(arrays[len(program.inputs) :]))


def given_values(name: str, buffer: Buffer) -> dict[Expr, int]:
    """What is known of the dimensions of a parameter when this buffer is given."""
    values: dict[Expr, int] = {}
    array = buffer.array
    given = zip(_fields(name, array.ndim), buffer.min, array.shape, array.strides, strict=True)
    for (first, last, step, fold_factor), lo, extent, stride in given:
        values[first] = lo
        values[last] = lo + extent - 1
        values[step] = stride
        values[fold_factor] = max(extent, 1)
    return values


@lru_cache(maxsize=1024)
def _fields(name: str, rank: int) -> tuple[tuple[Expr, Expr, Expr, Expr], ...]:
    """The symbols for what is known of each dimension of a parameter."""
    return tuple(
        (
            metadata(name, d, "min"),
            metadata(name, d, "max"),
            metadata(name, d, "stride"),
            metadata(name, d, "fold_factor"),
        )
        for d in range(rank)
    )


def scalar_values(program: Program, scalars: Mapping[str, object]) -> dict[Expr, int]:
    """The integers by their symbols.

    Raises `ArgumentError` for scalars that are missing, unknown or no integers.
    """
    expected = [s.name for s in program.scalars] + [f.name for f in program.floats]
    missing = [name for name in expected if name not in scalars]
    unknown = [name for name in scalars if name not in expected]
    if missing:
        raise ArgumentError(
            f"pipeline {program.name} needs a value for scalar {missing[0]}, as in p(..., {missing[0]}=1)"
        )
    if unknown:
        known = ", ".join(expected) or "none"
        is_array = unknown[0] in (p.name for p in (*program.inputs, *program.outputs))
        hint = "; it is an array, and is given by position already" if is_array else ""
        raise ArgumentError(f"pipeline {program.name} has no scalar {unknown[0]!r} (scalars: {known}){hint}")
    values: dict[Expr, int] = {}
    for name in (s.name for s in program.scalars):
        try:
            values[scalar(name)] = require_integer(scalars[name], f"scalar {name}")
        except ValueError as error:
            raise ArgumentError(str(error)) from None
    return values


def _float_values(program: Program, scalars: Mapping[str, object]) -> dict[str, float]:
    """The floats by name. Integers are floats, too; what NumPy or others call a number, if it is a real one."""
    found: dict[str, float] = {}
    for parameter in program.floats:
        given = scalars[parameter.name]
        number = as_float(given)
        if number is None:
            raise ArgumentError(f"scalar {parameter.name} must be a float, got {cited(given)}")
        found[parameter.name] = number
    return found


@attrs.frozen
class Number:
    """A number that arithmetic takes: the func, the value, and the dtype as which it is taken."""

    func: str
    value: Expr
    dtype: np.dtype[Any]

    def is_held(self, given: int) -> bool:
        """Whether an integer is among the values of the dtype. (Floats have those near it, up to the largest.)"""
        if self.dtype.kind in "iu":
            limits = np.iinfo(self.dtype)
            return int(limits.min) <= given <= int(limits.max)
        try:
            with np.errstate(all="ignore"):
                self.dtype.type(given)
        except OverflowError:
            return False
        return True


def numbers_of(program: Program) -> tuple[Number, ...]:
    """The integers known when the program runs that arithmetic of it takes, each once."""
    found: dict[Number, None] = {}
    for statement in walk(program.body):
        if isinstance(statement, Call) and isinstance(statement.func.operation, Expression):
            operation = statement.func.operation
            given = dict(operation.arguments)
            for name, dtype in argument_types(operation.formula):
                if isinstance(given[name], Expr):
                    found[Number(statement.func.name, given[name], dtype)] = None
    return tuple(found)


def require_numbers(program: Program, values: Mapping[Expr, int]) -> None:
    """Raise `NumberError` for a number of arithmetic that is not among the values of its dtype."""
    for number in numbers_of(program):
        if not symbols(number.value) <= values.keys():
            continue
        given = evaluate(number.value, values)
        if not number.is_held(given):
            what = "scalar " if isinstance(number.value, Scalar) else ""
            kind = number.dtype
            range_of = f" ({np.iinfo(kind).min}..{np.iinfo(kind).max})" if kind.kind in "iu" else ""
            raise NumberError(
                f"{what}{expression_text(program, number.value)}: expected a value of {kind}{range_of}, as which func "
                f"{number.func} takes it, got {cited(given)}"
            )


def argument_as_buffer(parameter: BufferParameter, given: object) -> Buffer:
    """What is given for a parameter, as a buffer of its rank.

    Raises `ArgumentError` for what is no array, or has another rank.
    """
    buffer = _as_buffer(parameter, given)
    if buffer.rank != parameter.rank:
        raise ArgumentError(
            f"argument {parameter.name}: expected rank {parameter.rank}, got rank {buffer.rank} (shape {buffer.shape})"
        )
    return buffer


def _as_buffer(parameter: BufferParameter, given: object) -> Buffer:
    if isinstance(given, Buffer):
        return given
    try:
        return Buffer(given)
    except ArgumentError as error:
        raise ArgumentError(f"argument {parameter.name}: {error}") from error.__cause__


def _check_array(parameter: BufferParameter, array: Array, is_output: bool) -> None:
    where = f"argument {parameter.name}"
    if array.dtype != parameter.dtype:
        raise ArgumentError(f"{where}: expected dtype {parameter.dtype}, got {array.dtype}")
    if is_output and not array.flags.writeable:
        raise ArgumentError(f"{where}: an output must be writable, got a read-only array")
    if is_output and shares_own_memory(array):
        raise ArgumentError(
            f"{where}: the elements of an output must not share memory, as those of a broadcast array do "
            f"(shape {array.shape}, strides {array.strides})"
        )


def shares_own_memory(array: Array) -> bool:
    """Whether two elements of an array lie on the same bytes.

    Taken by their strides, each dimension mostly steps over all that the smaller ones reach, and then nothing overlaps.
    If there is less memory than the elements take, some overlap. Otherwise the places of the elements are compared.
    """
    if array.flags.forc or not array.size:
        return False
    reach = array.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            break
        reach += stride * (extent - 1)
    else:
        return False
    extent_in_bytes = sum(abs(s) * (n - 1) for s, n in zip(array.strides, array.shape, strict=True)) + array.itemsize
    if array.size * array.itemsize > extent_in_bytes:
        return True
    places = np.zeros((1,), np.int64)
    for stride, extent in zip(array.strides, array.shape, strict=True):
        places = (places[:, None] + stride * np.arange(extent)).reshape(-1)
    places.sort()
    return bool((np.diff(places) < array.itemsize).any())


def _check_overlap(program: Program, storages: Mapping[str, Storage]) -> None:
    names = [p.name for p in (*program.inputs, *program.outputs)]
    for output in program.outputs:
        for name in names:
            if name == output.name or (names.index(name) > names.index(output.name)):
                continue
            if _share_memory(storages[name].array, storages[output.name].array):
                raise ArgumentError(f"argument {output.name}: an output must not overlap argument {name} in memory")


_OVERLAP_WORK: Any = 100_000
"""How hard to look for shared elements of two interleaved arrays before they are taken to overlap."""


def _share_memory(a: Array, b: Array) -> bool:
    if share_ring(a, b):
        return True
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=_OVERLAP_WORK))
    except np.exceptions.TooHardError:
        return True


def require(program: Program, check: Check, values: Mapping[Expr, int]) -> None:
    """Evaluate a check.

    Raises `CheckFailedError` with the condition, the values of its symbols, and what it is for.
    """
    if evaluate(check.condition, values):
        return
    given = ", ".join(
        f"{expression_text(program, s)} = {cited(values[s])}"
        for s in sorted(symbols(check.condition), key=str)
        if s in values
    )
    condition = expression_text(program, check.condition)
    raise CheckFailedError(f"pipeline {program.name} requires {condition}, got {given} ({check.message})")
