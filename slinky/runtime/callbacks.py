"""Calling callbacks by the convention, and testing what is declared of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.errors import CallbackError
from slinky.ir.statements import LoweredFunc
from slinky.runtime.buffers import Array, Buffer, buffer_at, read_only
from slinky.runtime.in_place import sharing


def array_of(operand: Array | Buffer) -> Array:
    """The array of an operand, which is a buffer where the callback asks for coordinates."""
    return operand.array if isinstance(operand, Buffer) else operand


def call_callback(
    callback: Callable[..., Any], name: str, inputs: Sequence[Any], outputs: Sequence[Any], arguments: dict[str, Any]
) -> None:
    """Run a callback by the convention: inputs then outputs by position, arguments by name, ufunc outputs by `out=`.

    Raises `CallbackError` if it returns anything but None or its own outputs: a result that is returned instead of
    written would be lost.
    """
    if isinstance(callback, np.ufunc):
        callback(*inputs, out=tuple(outputs), **arguments)
        return
    result = callback(*inputs, *outputs, **arguments)
    returned = result if isinstance(result, tuple) else (result,)
    if not all(value is None or any(value is output for output in outputs) for value in returned):
        raise CallbackError(
            f"the callback of {name} returned {type(result).__name__}; a callback writes to its outputs, "
            f"which come after its inputs, and returns None"
        )


def check_in_place(
    func: LoweredFunc, name: str, inputs: Sequence[Any], outputs: Sequence[Any], arguments: dict[str, Any]
) -> None:
    """Test that a callback that is declared to work in place does, on copies; `outputs` is what it gave otherwise.

    Raises `CallbackError` if any element differs. Of ufuncs nothing is asked: NumPy promises it.
    """
    if isinstance(func.callback, np.ufunc):
        return
    for read, written in sharing(func):
        o = next(o for o, access in enumerate(func.outputs) if access.buffer == written)
        expected = array_of(outputs[o])
        source = next(array_of(x) for x, a in zip(inputs, func.inputs, strict=True) if a.buffer == read)
        if source.dtype != expected.dtype:
            continue
        shared = source.copy()
        reading = shared if func.writable_inputs else read_only(shared)
        given = [_with(x, reading) if a.buffer == read else x for x, a in zip(inputs, func.inputs, strict=True)]
        results = [_with(x, np.empty_like(array_of(x))) for x in outputs]
        results[o] = _with(outputs[o], shared)
        call_callback(func.callback, name, given, results, arguments)
        if shared.tobytes() != expected.tobytes():
            raise CallbackError(
                f"the callback of {name} is declared to work in place, but gives something else where {written} is "
                f"the memory of {read}; it reads {read} after it has written there. Declare it with in_place=False"
            )


class Poison:
    """Random bytes in the outputs of a call, to see which elements its callback leaves alone.

    An element of b bits that is written is what it was before with a probability of 2**-b, whatever is written. Only if
    as many are the same as chance leaves in one of 10**12 calls, it was not chance. Where bytes of an element may be
    padding, or any bits may not do (bool, objects, strings, structures), nothing is said.
    """

    def __init__(self, outputs: Sequence[Any], random: np.random.Generator) -> None:
        self._before: list[Array | None] = []
        for array in map(array_of, outputs):
            if array.dtype.kind not in "iufcmM" or array.dtype.char in "gG":
                self._before.append(None)
                continue
            noise = np.frombuffer(random.bytes(array.nbytes), array.dtype).reshape(array.shape)
            array[...] = noise
            self._before.append(noise)

    def unwritten(self, outputs: Sequence[Any]) -> tuple[int, tuple[int, ...]] | None:
        """An output that was not fully written, by its number, and the place of an element in it, if there is one."""
        for number, (operand, noise) in enumerate(zip(outputs, self._before, strict=True)):
            if noise is None:
                continue
            now, before = (a.reshape(-1, 1).view(np.uint8) for a in (array_of(operand), noise))
            kept = np.flatnonzero((now == before).all(axis=1))
            if len(kept) and _is_no_chance(len(kept), noise.size, 8 * noise.itemsize):
                return number, tuple(int(k) for k in np.unravel_index(kept[0], noise.shape))
        return None


def _is_no_chance(kept: int, count: int, bits: int) -> bool:
    """Whether so many of some elements being what they were by chance is less likely than 1 in 10**12.

    At most `(count choose kept) * 2**(-bits * kept)`, which is at most `(e * count / (kept * 2**bits)) ** kept`.
    """
    return kept * (math.log(kept) + bits * math.log(2) - math.log(count) - 1) > 12 * math.log(10)


def _with(operand: Array | Buffer, array: Array) -> Array | Buffer:
    return buffer_at(array, operand.min) if isinstance(operand, Buffer) else array
