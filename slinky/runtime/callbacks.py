"""Testing what is declared of callbacks, and what to say of those that fail."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slinky.errors import ArgumentError, CallbackError, cited
from slinky.ir.regions import factors_of, is_translation
from slinky.ir.sharing import in_place_pairs
from slinky.ir.statements import Call, LoweredFunc, Port
from slinky.runtime import forks
from slinky.runtime.buffers import Array, Buffer, buffer_at, read_only, seen
from slinky.runtime.calling import call_callback, is_accepted
from slinky.runtime.operations import function_of, takes_out


def array_of(operand: Array | Buffer) -> Array:
    """The array of an operand, which is a buffer where the callback asks for coordinates."""
    return operand.array if isinstance(operand, Buffer) else operand


def note_of_error(call: Call, error: BaseException) -> str | None:
    """What to say of an error of a callback that seems not to know how it is called."""
    func, operation = call.func, call.func.operation
    callback = function_of(operation)
    if not isinstance(error, Exception) or isinstance(callback, np.ufunc):
        return None
    if _speaks_of_read_only(error) and not operation.writable_inputs:
        return (
            "what a callback reads comes first, and is read-only. If it takes none but writable arrays, "
            "let it be given these: Func(..., writable_inputs=True)"
        )
    if not _is_of_a_library(callback) and not (isinstance(error, TypeError) and not _takes_its_outputs(func)):
        return None
    names = ", ".join([*call.reads, *call.writes])
    named = "".join(f", {name}=..." for name, _ in operation.arguments)
    return (
        f"the callback of {func.name} is called as f({names}{named}): its outputs come after its inputs. "
        f"If it is a function that returns its result, wrap it: sl.returns(...)"
    )


def _speaks_of_read_only(error: Exception) -> bool:
    is_of_arrays = isinstance(error, (TypeError, ValueError, BufferError, RuntimeError))
    return is_of_arrays and re.search(r"read-?only", str(error), re.IGNORECASE) is not None


def _is_of_a_library(callback: Callable[..., Any]) -> bool:
    """Whether it is a function of NumPy or SciPy. Most of these return results, and take other things by position."""
    return str(getattr(callback, "__module__", "")).partition(".")[0] in ("numpy", "scipy")


def _takes_its_outputs(func: LoweredFunc) -> bool:
    """Whether a callback can be called with as many arrays as it is given; true where it does not say."""
    given = [None] * (len(func.inputs) + len(func.outputs))
    try:
        inspect.signature(function_of(func.operation)).bind(*given, **dict(func.operation.arguments))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def check_in_place(
    call: Call, name: str, inputs: Sequence[Any], outputs: Sequence[Any], arguments: dict[str, Any]
) -> None:
    """Test that a callback that is declared to work in place does, on copies; `outputs` is what it gave otherwise.

    Raises `CallbackError` if any element differs (see `_agree`). Of ufuncs nothing is asked: NumPy promises it.
    """
    operation = call.func.operation
    if takes_out(operation):
        return
    for read, written in in_place_pairs(call):
        o = call.writes.index(written)
        expected = array_of(outputs[o])
        first = call.reads.index(read)
        source, port = array_of(inputs[first]), call.func.inputs[first]
        if source.dtype != expected.dtype:
            continue
        shared = np.empty(_shape_of_region(port, source.shape), source.dtype)
        _seen(port, shared, source.shape)[...] = source
        reading = shared if operation.writable_inputs else read_only(shared)
        given = [
            _with(x, _seen(port, reading, array_of(x).shape)) if buffer == read else x
            for x, buffer, port in zip(inputs, call.reads, call.func.inputs, strict=True)
        ]
        results = [_with(x, np.empty_like(array_of(x))) for x in outputs]
        results[o] = _with(outputs[o], _seen(call.func.outputs[o], shared, expected.shape))
        call_callback(function_of(operation), name, given, results, arguments)
        # All outputs: what is written over an input too early spoils those that are computed of it afterwards.
        if not all(_agree(array_of(r), array_of(x)) for r, x in zip(results, outputs, strict=True)):
            raise CallbackError(
                f"the callback of {name} is declared to work in place, but gives something else where {written} is "
                f"the memory of {read}; it reads {read} after it has written there. Declare it with in_place=False"
            )


def _seen(port: Port, region: Array, shape: tuple[int, ...]) -> Array:
    """The array of a region as an operation sees it, in this shape, by the view of the port."""
    if port.view is None or is_translation(port.view):
        return region
    return seen(region, factors_of(port.view), shape)


def _shape_of_region(port: Port, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a region of which an operation sees an array of this shape."""
    if port.view is None or is_translation(port.view):
        return shape
    steps = [sum(abs(by) * (n - 1) for by, n in zip(own, shape, strict=True)) for own in factors_of(port.view)]
    return tuple(step + 1 for step in steps)


def _agree(a: Array, b: Array) -> bool:
    """Whether two results are the same; but for rounding, where they are complex: of these, NumPy rounds products
    otherwise where they are written over what they are made of."""
    if are_equal(a, b) or a.dtype.kind != "c":
        return are_equal(a, b)
    with np.errstate(all="ignore"):
        return np.allclose(a, b, rtol=float(np.sqrt(np.finfo(a.dtype).eps)), atol=0, equal_nan=True)


def are_equal(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same, bit by bit, but for bytes that are padding and may hold anything, and for the
    bits of a NaN: of two that it adds or multiplies, a processor takes whichever it has first."""
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.names is not None:
        return all(are_equal(a[name], b[name]) for name in a.dtype.names)
    if a.dtype.kind == "c":
        return are_equal(a.real, b.real) and are_equal(a.imag, b.imag)
    if a.dtype.kind != "f" or not np.array_equal(a, b, equal_nan=True):
        return False
    numbers = ~np.isnan(a)
    return np.array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))  # of zeros


def is_debugging() -> bool:
    """Whether the environment says `SLINKY_DEBUG=1`: each run tests the first call of each func.

    Raises `ArgumentError` if it says something that is not understood.
    """
    setting = os.environ.get("SLINKY_DEBUG", "")
    if setting not in ("", "0", "1"):
        raise ArgumentError(f"SLINKY_DEBUG must be 0 or 1, got {cited(setting)}")
    return setting == "1"


class UnwrittenError(Exception):
    """A callback left alone an element, at `place`, of the output of this `number`."""

    def __init__(self, number: int, place: tuple[int, ...]) -> None:
        super().__init__(number, place)
        self.number = number
        self.place = place


def unwritten_error(call: Call, name: str, box: Sequence[tuple[int, int]], found: UnwrittenError) -> CallbackError:
    """What to say of it, where the call is that of a func over a box."""
    port = call.func.outputs[found.number]
    element: Sequence[int] = found.place  # as the callback sees it
    if port.view is None:
        element = [box[d][0] + k for d, k in zip(port.dims, found.place, strict=True)]
    return CallbackError(
        f"the callback of {name} did not write all of {call.writes[found.number]}: "
        f"element {list(element)}, for one, is what it was before"
    )


class FirstCalls:
    """Tests the first call of each func in a run: does its callback write all of its outputs?

    Runs at the same time may make each other test more than one call.
    """

    def __init__(self) -> None:
        self._tested: set[str] = set()
        self._noise = Noise()

    def begin(self) -> None:
        """A run begins."""
        self._tested.clear()

    def guard(self, func: LoweredFunc) -> Callable[..., Any]:
        """The callback of a func, with the test; it raises `UnwrittenError`. Of ufuncs nothing is asked."""
        callback = function_of(func.operation)
        if isinstance(callback, np.ufunc):
            return callback

        def guarded(*operands: Any, **arguments: Any) -> Any:
            if func.label in self._tested:
                return callback(*operands, **arguments)
            self._tested.add(func.label)
            outputs = operands[len(func.inputs) :]
            # Where it works in place, noise in the output would be noise in the input.
            inputs = [_apart(x, outputs, func) for x in operands[: len(func.inputs)]]
            poison = Poison(outputs, self._noise)
            result = callback(*inputs, *outputs, **arguments)
            missing = poison.unwritten(outputs) if is_accepted(result, outputs) else None
            if missing is not None:
                raise missing
            return result

        return guarded


def _apart(operand: Array | Buffer, outputs: Sequence[Any], func: LoweredFunc) -> Array | Buffer:
    """An operand, or if it may share memory with an output, a copy."""
    array = array_of(operand)
    if not any(np.may_share_memory(array, array_of(output)) for output in outputs):
        return operand
    return _with(operand, array.copy("K") if func.operation.writable_inputs else read_only(array.copy("K")))


class Noise:
    """Random bytes for all threads of a run. A fork waits for who makes some: NumPy's own lock would stay taken."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._random = np.random.default_rng(0)

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        with self._lock:
            return self._random.bytes(count)


class Poison:
    """Random bytes in the outputs of a call, to see which elements its callback leaves alone.

    An element of b bits that is written is what it was before with a probability of 2**-b, whatever is written. Only if
    as many are the same as chance leaves in one of 10**12 calls, it was not chance. Where bytes of an element may be
    padding, or any bits may not do (bool, objects, strings, structures), nothing is said.
    """

    def __init__(self, outputs: Sequence[Any], noise: Noise) -> None:
        self._before: list[Array | None] = []
        for array in map(array_of, outputs):
            if array.dtype.kind not in "iufcmM" or array.dtype.char in "gG":
                self._before.append(None)
                continue
            before = np.frombuffer(noise.bytes(array.nbytes), array.dtype).reshape(array.shape)
            array[...] = before
            self._before.append(before)

    def unwritten(self, outputs: Sequence[Any]) -> UnwrittenError | None:
        """An output that was not fully written, and the place of an element in it, if there is one."""
        for number, (operand, noise) in enumerate(zip(outputs, self._before, strict=True)):
            if noise is None:
                continue
            now, before = (_as_bits(a) for a in (array_of(operand), noise))
            kept = np.flatnonzero(now == before if now.ndim == 1 else (now == before).all(axis=1))
            if len(kept) and _is_no_chance(len(kept), noise.size, 8 * noise.itemsize):
                return UnwrittenError(number, tuple(int(k) for k in np.unravel_index(kept[0], noise.shape)))
        return None


def _as_bits(array: Array) -> Array:
    """The elements in row-major order, each as an integer, or as a row of bytes where no integer is so long."""
    flat = array.reshape(-1)
    return flat.view(f"u{flat.itemsize}") if flat.itemsize <= 8 else flat.reshape(-1, 1).view(np.uint8)


def _is_no_chance(kept: int, count: int, bits: int) -> bool:
    """Whether so many of some elements being what they were by chance is less likely than 1 in 10**12.

    At most `(count choose kept) * 2**(-bits * kept)`, which is at most `(e * count / (kept * 2**bits)) ** kept`.
    """
    return kept * (math.log(kept) + bits * math.log(2) - math.log(count) - 1) > 12 * math.log(10)


def _with(operand: Array | Buffer, array: Array) -> Array | Buffer:
    return buffer_at(array, operand.min) if isinstance(operand, Buffer) else array
