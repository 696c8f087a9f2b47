"""Functions that return their result, as callbacks, which write it to their outputs.

Invariant: what is written is just what the function returned: shape and dtype must be those of the output, nothing is
broadcast, converted, or stripped of a mask on the way, also where a result is a view of an input, and an output is the
memory of that input (`in_place`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from slinky.errors import CallbackError
from slinky.unloaded import is_masked


@attrs.frozen
class Returning:
    """A callback that calls a function with its inputs and copies what it returns to its outputs, of which there are
    so many. Made by `sl.returns`."""

    function: Callable[..., Any]
    outputs: int = 1

    @property
    def __name__(self) -> str:
        """The function's own name, so that a func is called like it."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"returns({self.__name__})"

    def __call__(self, /, *operands: Any, **arguments: Any) -> None:
        inputs, outputs = operands[: -self.outputs], operands[-self.outputs :]
        result = self.function(*inputs, **arguments)
        results = self._results(result)
        targets = [getattr(output, "array", output) for output in outputs]
        arrays = [np.asanyarray(each) for each in results]
        for number, (array, target) in enumerate(zip(arrays, targets, strict=True)):
            if is_masked(array):
                raise CallbackError(
                    f"{self._what(number)} is a masked array, whose mask would be lost; "
                    f"return .filled(...) or .data of it"
                )
            if array.shape != target.shape or array.dtype != target.dtype:
                raise CallbackError(
                    f"{self._what(number)} has shape {array.shape} and dtype {array.dtype}, but its output has shape "
                    f"{target.shape} and dtype {target.dtype}"
                )
        for number, array in enumerate(arrays):
            if any(np.may_share_memory(array, target) for target in targets[:number]):
                arrays[number] = array.copy()  # writing an earlier result would change this one
        for array, target in zip(arrays, targets, strict=True):
            target[...] = array

    def _results(self, result: Any) -> tuple[Any, ...]:
        """What was returned, one for each output."""
        if result is None:
            raise CallbackError(f"{self.__name__} returned None; sl.returns(...) is for functions that return results")
        if self.outputs == 1:
            return (result,)
        if not isinstance(result, (tuple, list)) or len(result) != self.outputs:
            given = f"{len(result)} results" if isinstance(result, (tuple, list)) else type(result).__name__
            raise CallbackError(f"{self.__name__} must return a tuple of {self.outputs} results, got {given}")
        return tuple(result)

    def _what(self, number: int) -> str:
        return f"what {self.__name__} returned" + (f" as result {number + 1}" if self.outputs > 1 else "")
