"""The strides of an omitted output: those that the checks of a program ask for, and C order for the rest.

Invariant: elements of the array do not share memory. What the checks say beyond equalities, lower limits and multiples
of strides is not looked at here; a run makes all of its checks as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import ArgumentError
from slinky.ir.statements import BufferParameter
from slinky.runtime.arguments import shares_own_memory
from slinky.runtime.buffers import Array
from slinky.runtime.storage import reserve
from slinky.symbolic.expressions import Condition, Expr, constant_value, metadata
from slinky.symbolic.facts import facts
from slinky.symbolic.solving import Side, limit_of, remainder_of
from slinky.symbolic.traversal import evaluate, symbols


@attrs.frozen
class StrideRules:
    """What is asked of one stride: values that it is, values that it is at least, and divisors that it has."""

    exact: tuple[Expr, ...]
    least: tuple[Expr, ...]
    divisors: tuple[Expr, ...]


def stride_rules(conditions: Iterable[Condition], parameter: BufferParameter) -> tuple[StrideRules, ...]:
    """What conditions ask of the strides of an output, for each dimension."""
    conditions = tuple(conditions)
    known = facts(*conditions)
    found = []
    for d in range(parameter.rank):
        stride = metadata(parameter.name, d, "stride")
        about = [c for c in conditions if stride in symbols(c)]
        limits = [limit for limit in (limit_of(c, stride, known) for c in about) if limit is not None]
        remainders = [found for found in (remainder_of(c, stride) for c in about) if found is not None]
        divisors = tuple(divisor for offset, divisor in remainders if constant_value(offset) == 0)
        exact = tuple(limit.value for limit in limits if limit.side is Side.IS)
        least = tuple(limit.value for limit in limits if limit.side is Side.AT_LEAST)
        found.append(StrideRules(exact, least, divisors))
    return tuple(found)


def strides_of(
    parameter: BufferParameter, rules: Sequence[StrideRules], shape: Sequence[int], values: Mapping[Expr, int]
) -> tuple[int, ...]:
    """The strides of an output of this shape, given what else is known."""
    if not any(rule.exact or rule.least or rule.divisors for rule in rules):
        return c_strides(shape, parameter.dtype.itemsize)
    known = dict(values)
    strides = [metadata(parameter.name, d, "stride") for d in range(parameter.rank)]

    def settle() -> None:
        for _ in strides:  # one may be told in terms of another
            for stride, rule in zip(strides, rules, strict=True):
                value = next((v for v in (_value(e, known) for e in rule.exact) if v is not None), None)
                if stride not in known and value is not None:
                    known[stride] = value

    settle()
    reach = parameter.dtype.itemsize
    for d in reversed(range(parameter.rank)):
        stride = strides[d]
        if stride not in known:
            known[stride] = _rounded(reach, rules[d], known)
            settle()
        reach = max(reach, abs(known[stride]) * max(shape[d], 1))
    return tuple(known[stride] for stride in strides)


def _value(expr: Expr, known: Mapping[Expr, int]) -> int | None:
    return None if not symbols(expr) <= known.keys() else evaluate(expr, known)


def _rounded(least: int, rule: StrideRules, known: Mapping[Expr, int]) -> int:
    """The smallest stride from `least` on that keeps what is asked of it."""
    for e in rule.least:
        value = _value(e, known)
        least = least if value is None else max(least, value)
    step = 1
    for e in rule.divisors:
        value = _value(e, known)
        if value:
            step = int(np.lcm(step, abs(value)))
    return -(-least // step) * step


def new_array(
    parameter: BufferParameter,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    make: Callable[[tuple[int, ...], np.dtype[Any]], Array] = np.empty,
) -> Array:
    """An array for an output, not initialised, made as `np.empty` makes one.

    Raises `ArgumentError` where the strides make elements share memory, `StorageError` where there is no memory.
    """
    name, dtype = parameter.name, parameter.dtype
    if 0 in shape:  # of these, NumPy would make up the strides
        return np.ndarray(shape, dtype, np.empty(0, np.uint8), 0, strides)
    before = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
    after = sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s > 0)
    size = before + after + dtype.itemsize
    if strides == c_strides(shape, dtype.itemsize):
        return reserve(lambda _: make(shape, dtype), size, name)
    memory = reserve(lambda n: make((n,), np.dtype(np.uint8)), size, name)
    array: Array = np.ndarray(shape, dtype, memory, before, strides)
    if shares_own_memory(array):
        raise ArgumentError(
            f"output {name} was omitted, and with what the pipeline requires of its strides, {strides} for shape "
            f"{shape}, elements would share memory; give the array"
        )
    return array


def c_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of an array without gaps, its last dimension innermost."""
    found: list[int] = []
    for extent in reversed(shape):
        found.append(itemsize)
        itemsize *= max(extent, 1)
    return tuple(reversed(found))
