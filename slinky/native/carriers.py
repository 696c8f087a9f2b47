"""What computes a formula by a C function, called with NumPy's own arrays.

Idea. The C function reads where the elements of an array are, and how it is laid out, from the array object itself, so
a call costs no more than passing addresses. Whether objects are laid out as the function takes them is tried, once,
with an array of known layout.

Invariant: what is computed, and what NumPy would have warned of, is the same as by `runtime.formulas`, which takes
over for what the C function declines.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from slinky.callers import level
from slinky.ir.formulas import Axis, Formula, Result, argument_types
from slinky.native.compiling import Compiler, library
from slinky.native.fused import fused
from slinky.native.kernels import HEAD, MISALIGNED, NAME, kernel_text
from slinky.native.streaming import LEAST_BYTES
from slinky.native.weights import PATIENCE, weight_of
from slinky.runtime import forks
from slinky.runtime.buffers import Array
from slinky.runtime.formulas import blocks, formula_carrier, require_coordinates

_EXCEPTIONS_TEXT = (
    HEAD
    + """\
int slinky_exceptions(int which)
{
    return which == 0 ? FE_DIVBYZERO : which == 1 ? FE_OVERFLOW : which == 2 ? FE_UNDERFLOW : FE_INVALID;
}
int slinky_is_laid_out(const array *a, const void *data, intptr_t n0, intptr_t n1, intptr_t s0, intptr_t s1)
{
    return a->data == (const char *)data && a->rank == 2 && a->extents[0] == n0 && a->extents[1] == n1
        && a->strides[0] == s0 && a->strides[1] == s1;
}
"""
)

_ERRORS = (
    ("divide", "divide by zero", 1),
    ("over", "overflow", 2),
    ("under", "underflow", 4),
    ("invalid", "invalid value", 8),
)
"""Exceptions of floating point arithmetic: their names for `np.errstate`, in words, and the bits that NumPy tells a
function of that it calls."""


@cache
def exception_bits(made_by: Compiler) -> tuple[int, ...] | None:
    """The bits of floating point exceptions; None if arrays are not laid out as kernels take them."""
    loaded = library(_EXCEPTIONS_TEXT, made_by)
    probe = np.zeros((5, 7, 3), np.int16)[1:5:2, ::-2, 1]
    loaded.slinky_is_laid_out.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_ssize_t] * 4]
    if not loaded.slinky_is_laid_out(id(probe), probe.ctypes.data, *probe.shape, *probe.strides):
        return None
    return tuple(loaded.slinky_exceptions(which) for which in range(4))


_carriers: WeakKeyDictionary[Formula, dict[Compiler, Callable[..., None] | None]] = WeakKeyDictionary()
_lock = forks.lock()


def native_carrier(formula: Formula, made_by: Compiler) -> Callable[..., None] | None:
    """The function that computes a formula, called as that of `formula_carrier`; None where C cannot do it.

    It is made once, or by several threads at the same time. Raises `CompilationError` if the compiler fails.
    """
    with _lock:
        found = _carriers.setdefault(formula, {})
        if made_by in found:
            return found[made_by]
    made = _carrier(formula, made_by)  # without the lock, for which a fork would wait
    with _lock:
        return found.setdefault(made_by, made)


def _carrier(formula: Formula, made_by: Compiler) -> Callable[..., None] | None:
    if (told := exception_bits(made_by)) is None:
        return None
    bits = tuple(0 if name in formula.ignored else bit for bit, (name, _, _) in zip(told, _ERRORS, strict=True))
    text = kernel_text(formula)
    if text is not None:
        return _whole(formula, text, made_by, bits)
    cut = fused(formula, lambda part, results: _kernel_of_part(part, results, made_by, bits))
    return None if cut is None else formula_carrier(cut)


def _kernel_of_part(
    part: Formula, results: Sequence[Result], made_by: Compiler, bits: tuple[int, ...]
) -> Callable[..., None] | None:
    """What runs a kernel between steps of NumPy: called with arrays of its inputs and results, then its arguments."""
    text = kernel_text(part, results)
    if text is None:
        return None
    kernel = getattr(library(text, made_by), NAME)
    numbers = [dtype for _, dtype in argument_types(part)]
    count = len(part.inputs) + len(results)
    kernel.argtypes = [*[ctypes.c_void_p] * count, *map(np.ctypeslib.as_ctypes_type, numbers)]
    kernel.restype = ctypes.c_int

    def run(*operands: Any) -> None:
        given = [number.item() for number in operands[count:]]
        result = kernel(*map(id, operands[:count]), *given)
        if result == MISALIGNED:
            aligned = list(map(np.array, operands[:count]))
            result = kernel(*map(id, aligned), *given)
            for k in range(len(part.inputs), count):
                operands[k][...] = aligned[k]
        if result:
            report(result, bits)

    return run


def _whole(formula: Formula, text: str, made_by: Compiler, bits: tuple[int, ...]) -> Callable[..., None]:
    kernel = getattr(library(text, made_by), NAME)
    taken = argument_types(formula)
    firsts = [ctypes.c_int64] * (formula.rank if formula.has_coordinates() else 0)
    arrays = [ctypes.c_void_p] * (len(formula.inputs) + 1)
    kernel.argtypes = [*arrays, *firsts, *(np.ctypeslib.as_ctypes_type(dtype) for _, dtype in taken)]
    kernel.restype = ctypes.c_int
    by_numpy = formula_carrier(formula)
    most = max(PATIENCE // weight_of(formula), LEAST_BYTES // formula.dtype_of(formula.result).itemsize)

    def by_pieces(arrays: Sequence[Array], first: Sequence[int], numbers: Sequence[Any]) -> int:
        """What the function tells of all elements: piece after piece, as Python listens to signals between them."""
        told = 0
        for number, (parts, begin) in enumerate(_pieces(formula, arrays, first, most)):
            result = int(kernel(*map(id, parts), *begin, *numbers))
            if result == MISALIGNED:
                if not number:
                    return result
                aligned = list(map(np.array, parts))
                result = int(kernel(*map(id, aligned), *begin, *numbers))
                parts[-1][...] = aligned[-1]
            told |= result
        return told

    def finish(result: int, operands: tuple[Any, ...], arguments: dict[str, Any]) -> None:
        if result == MISALIGNED:
            by_numpy(*operands, **arguments)
        else:
            report(result, bits)

    def of_arrays(*operands: Any, **arguments: Any) -> None:
        numbers = [converted(arguments[name], dtype) for name, dtype in taken]
        is_short = operands[-1].size <= most
        result = kernel(*map(id, operands), *numbers) if is_short else by_pieces(operands, (), numbers)
        if result:
            finish(result, operands, arguments)

    asked = sorted(formula.asked_dims())

    def of_buffers(*operands: Any, **arguments: Any) -> None:
        require_coordinates(operands[-1], asked)
        given = [operand.array for operand in operands]  # which live as long as the call
        first, numbers = operands[-1].min, [converted(arguments[name], dtype) for name, dtype in taken]
        is_short = given[-1].size <= most
        result = kernel(*map(id, given), *first, *numbers) if is_short else by_pieces(given, first, numbers)
        if result:
            finish(result, operands, arguments)

    found = of_buffers if formula.has_coordinates() else of_arrays
    found.__doc__ = text
    return found


def _pieces(
    formula: Formula, arrays: Sequence[Array], first: Sequence[int], most: int
) -> Iterator[tuple[list[Array], list[int]]]:
    """The arrays of a formula in pieces of so many elements of its output, which lie in memory one after the other; and
    where each begins."""
    output = arrays[-1]
    order = sorted(range(output.ndim), key=lambda d: -abs(output.strides[d]))
    for turned in blocks(tuple(output.shape[d] for d in order), most):
        place = [turned[order.index(d)] for d in range(output.ndim)]
        parts = [array[_part(array, axes, place)] for array, axes in zip(arrays, formula.inputs, strict=False)]
        begin = [low + (part.start or 0) for low, part in zip(first, place, strict=bool(first))]
        yield [*parts, output[tuple(place)]], begin


def _part(array: Array, axes: Sequence[Axis | None], place: Sequence[slice]) -> tuple[slice, ...]:
    """What a piece of the output takes of an input, along each of its dimensions."""
    return tuple(
        slice(None) if axis is None or extent == 1 else _stretch(extent, axis.step, place[axis.dim])
        for extent, axis in zip(array.shape, axes, strict=True)
    )


def _stretch(extent: int, step: int, part: slice) -> slice:
    """Where those elements lie that are a part of each `step`th one, which begin at the end where that is negative."""
    if part.start is None:
        return part
    near, far = part.start * abs(step), (part.stop - 1) * abs(step)
    return slice(near, far + 1) if step > 0 else slice(extent - 1 - far, extent - near)


def converted(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number, converted as NumPy converts it.

    Raises `OverflowError` where a dtype of integers or truths does not hold it, `TypeError` where it is no number."""
    if isinstance(value, _NO_NUMBERS):
        raise TypeError(f"{value!r} is no number")
    found = dtype.type(value).item()
    if dtype.kind in "biu" and found != value:
        raise OverflowError(f"{value!r} is not among the values of {dtype.name}")
    return found


def held(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a function of somebody else takes it: converted, to one that the dtype holds; floats are rounded.

    Raises what `converted` raises, and `OverflowError` where a finite number would become an infinite one."""
    if dtype == np.float32 and not isinstance(value, _NO_NUMBERS) and END_OF_FLOAT32 <= abs(value) < np.inf:
        raise OverflowError(f"{value!r} is not among the values of {dtype.name}")
    return converted(value, dtype)


END_OF_FLOAT32 = 2.0**128 - 2.0**103
"""From here on, numbers are rounded to an infinite float32."""
_NO_NUMBERS = (str, bytes, list, tuple, type(None))
"""What NumPy makes numbers of, though they are none."""


def report(result: int, bits: tuple[int, ...]) -> None:
    """Say what NumPy would have said, as `np.errstate` has it."""
    asked: dict[str, str] = np.geterr()  # type: ignore[assignment]
    told = sum(own for bit, (_, _, own) in zip(bits, _ERRORS, strict=True) if result & bit)
    for bit, (name, words, _) in zip(bits, _ERRORS, strict=True):
        if not result & bit or asked[name] == "ignore":
            continue
        message = f"{words} encountered in arithmetic"
        match asked[name]:
            case "warn":
                warnings.warn(message, RuntimeWarning, stacklevel=level())
            case "raise":
                raise FloatingPointError(message)
            case "print":
                print(f"Warning: {message}", file=sys.stderr)
            case "call":
                _handler("python callback", "function", words)(words, told)
            case "log":
                _handler("log", "object with write method", words).write(f"Warning: {message}\n")


def _handler(what: str, wanted: str, words: str) -> Any:
    """What `np.seterrcall` was given. Raises `NameError`, as NumPy does, if it was given nothing."""
    found = np.geterrcall()
    if found is None:
        raise NameError(f"{what} specified for {words} (in arithmetic) but no {wanted} found.")
    return found
