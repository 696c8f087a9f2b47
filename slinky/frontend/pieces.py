"""Kernels as callbacks: a function of arrays is run on a piece, and what it returns becomes the output.

A function may return just what is asked for, or a result as large as what it was given, halo included, as SciPy's and
OpenCV's do: the halo is cut off.

Invariant: what is written is what the function returned. Its shape and dtype must be those that are declared; nothing
is broadcast, converted or stripped of a mask on the way.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.errors import CallbackError, cited
from slinky.frontend.windows import AxisWindow
from slinky.unloaded import is_masked

if TYPE_CHECKING:
    from slinky.frontend.kernels import Kernel


class Slot(enum.Enum):
    """What stands for an array among the arguments of a function."""

    ARRAY = "array"


ARRAY = Slot.ARRAY


@attrs.frozen
class Piece:
    """A callback that runs the function of a kernel on a piece of arrays of a rank.

    `template` are the function's arguments by position. `halo` is where the result begins in what is as large as the
    array, by axis: that is all there is to know where each element of the array makes one of the result.
    """

    kernel: Kernel
    template: tuple[Any, ...] = attrs.field(eq=False)
    windows: tuple[AxisWindow, ...]
    halo: tuple[int, ...] | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        plain = all(window.rate == 1 and window.size is None for window in self.windows)
        object.__setattr__(self, "halo", tuple(window.before for window in self.windows) if plain else None)

    @property
    def __name__(self) -> str:
        """The kernel's name, so that a func is called like it."""
        return self.kernel.name

    def __repr__(self) -> str:
        return f"kernel {self.kernel.name}"

    @property
    def effort_of_each(self) -> float | None:
        """How long the function computes each element of what it is given, halo included, if it says that: told as
        other efforts are."""
        found: float | None = getattr(self.kernel.function, "effort_of_each", None)
        return found

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes line by line, if it says that."""
        found: int | None = getattr(self.kernel.function, "axis_of_lines", None)
        return found

    def __call__(self, /, *operands: Any, **named: Any) -> None:
        if self.halo is None or self.kernel.output is not None:
            self._in_blocks(operands, named)
            return
        inputs, target = operands[:-1], operands[-1]
        result = call_on(self.kernel, self.template, inputs, None, named)
        if type(result) is np.ndarray and result.dtype == target.dtype:
            shape = target.shape
            if result.shape == shape:
                target[...] = result
                return
            if result.shape == inputs[0].shape and len(shape) == result.ndim:
                target[...] = result[tuple([slice(k, k + n) for k, n in zip(self.halo, shape, strict=True)])]
                return
        self._settle(result, inputs, target)

    def _in_blocks(self, operands: Sequence[Any], named: Mapping[str, Any]) -> None:
        """For a function that writes its output, or of which blocks are made in full, though some elements are asked
        for: then the operands are buffers, which know their coordinates."""
        output = operands[-1]
        target = getattr(output, "array", output)
        inputs = [getattr(each, "array", each) for each in operands[:-1]]
        kernel = self.kernel
        if kernel.output is None:
            self._settle(call_on(kernel, self.template, inputs, None, named), inputs, target, output)
            return
        whole = shape_made(self.windows, _read(inputs))
        if whole == target.shape:
            call_on(kernel, self.template, inputs, target, named)
            return
        full = np.empty(whole, target.dtype)
        call_on(kernel, self.template, inputs, full, named)
        target[...] = self._asked_for(full, target.shape, output)

    def _settle(self, result: Any, inputs: Sequence[Any], target: Any, output: Any = None) -> None:
        """Write what was returned, if it is as declared."""
        read = _read(inputs)
        whole = shape_made(self.windows, read)
        full = settled(result, self.kernel, self.windows, read, whole, target.dtype)
        target[...] = full if whole == target.shape else self._asked_for(full, target.shape, output)

    def _asked_for(self, full: Any, shape: tuple[int, ...], output: Any) -> Any:
        """Of blocks that are made in full, the elements from where the output begins."""
        cut = [lo % window.made for lo, window in zip(output.min, self.windows, strict=True)]
        return full[tuple(slice(k, k + n) for k, n in zip(cut, shape, strict=True))]


def _read(inputs: Sequence[Any]) -> tuple[int, ...]:
    """The shape of what is read, halo included."""
    first: tuple[int, ...] = inputs[0].shape
    return first if len(inputs) == 1 else np.broadcast_shapes(*(each.shape for each in inputs))


def shape_made(windows: Sequence[AxisWindow], read: Sequence[int]) -> tuple[int, ...]:
    """The shape of what the function makes of an array of which so much is read, halo included."""
    return tuple(
        window.extent(n) if window.whole else (n - window.before - window.after) // window.taken * window.made
        for window, n in zip(windows, read, strict=True)
    )


def call_on(
    kernel: Kernel, template: Sequence[Any], inputs: Sequence[Any], target: Any, named: Mapping[str, Any]
) -> Any:
    """What the function returns for arrays, or None if it has written the target."""
    convert = kernel.arrays
    if convert is None and target is None and len(template) == len(inputs):
        return kernel.function(*inputs, **named)
    arrays = iter(inputs)
    positional = [each if each is not ARRAY else next(arrays) for each in template]
    if convert is None:
        if target is None:
            return kernel.function(*positional, **named)
        result = kernel.function(*positional, **{kernel.output or "": target}, **named)
    else:
        converted = [
            convert(_writable(given)) if each is ARRAY else given
            for each, given in zip(template, positional, strict=True)
        ]
        if target is None:
            return kernel.function(*converted, **named)
        result = kernel.function(*converted, **{kernel.output or "": convert(target)}, **named)
        return None
    if result is not None and result is not target:
        raise CallbackError(
            f"{_what(kernel)} returned {_described(result)}, though it is declared to write to its argument "
            f"{kernel.output!r}"
        )
    return None


def _writable(array: Any) -> Any:
    """An array that other libraries take: they know none that cannot be written to."""
    return array if array.flags.writeable else array.copy()


def settled(
    result: Any,
    kernel: Kernel,
    windows: Sequence[AxisWindow],
    read: Sequence[int],
    whole: tuple[int, ...],
    dtype: np.dtype[Any],
) -> Any:
    """What a function returned for arrays of which `read` is the shape, without the halo, if it is as declared.

    Raises `CallbackError` if it is not.
    """
    array = result if type(result) is np.ndarray else _as_array(result, kernel)
    if array.dtype != dtype:
        raise CallbackError(
            f"{_what(kernel)} returned {array.dtype}, but {dtype} is declared; say dtype={_dtype_text(array.dtype)}"
        )
    if array.shape == whole:
        return array
    alike = _shape_alike(windows, read)
    if alike is None or array.shape != alike:
        expected = f"of shape {cited(whole)}"
        if alike is not None and alike != whole:
            expected += f", or of shape {alike} with the halo"
        raise CallbackError(
            f"{_what(kernel)} was given {_sizes(read)} and returned shape {array.shape}, but what is declared is a "
            f"result {expected}"
        )
    cut = []
    for window, n in zip(windows, whole, strict=True):
        before = 0 if window.whole else int(window.before * window.rate)
        cut.append(slice(before, before + n))
    return array[tuple(cut)]


def _shape_alike(windows: Sequence[AxisWindow], read: Sequence[int]) -> tuple[int, ...] | None:
    """The shape of a result that has elements for the halo, too; None where the halo is no whole number of them."""
    found = []
    for window, n in zip(windows, read, strict=True):
        made = n * window.rate
        if window.whole:
            found.append(window.extent(n))
            continue
        if (window.before * window.rate).denominator != 1 or made.denominator != 1:
            return None
        found.append(int(made))
    return tuple(found)


def _as_array(result: Any, kernel: Kernel) -> np.ndarray[Any, Any]:
    """A result as NumPy's array, without a copy where another library lends its memory."""
    if result is None:
        raise CallbackError(
            f"{_what(kernel)} returned None; if it writes to one of its arguments, declare that: output='its name'"
        )
    if is_masked(result):
        raise CallbackError(f"{_what(kernel)} returned a masked array, whose mask would be lost")
    if not isinstance(result, np.ndarray) and hasattr(result, "__dlpack__"):
        return np.from_dlpack(result)
    array = np.asarray(result)
    if array.dtype.kind not in "biufcmM":
        raise CallbackError(f"{_what(kernel)} returned {_described(result)}, which is no array of numbers")
    return array


def _what(kernel: Kernel) -> str:
    return f"the function of kernel {kernel.name!r}"


def _described(result: Any) -> str:
    return f"a {type(result).__name__}" + (f" of shape {result.shape}" if hasattr(result, "shape") else "")


def _dtype_text(dtype: np.dtype[Any]) -> str:
    return f"np.{dtype.name}" if dtype.kind in "iufc" else repr(dtype.name)


def _sizes(read: Sequence[int]) -> str:
    return f"shape {tuple(read)}"
