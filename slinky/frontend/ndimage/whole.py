"""Binary morphology that goes on until nothing changes: each pixel may depend on all of the image.

On arrays, these are SciPy's functions; of lazy arrays they run whole, and in a graph they are refused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

from slinky.errors import ArgumentError
from slinky.frontend.ndimage.steps import at_once, bound_arguments, is_lazy, labelled, require_no_array, scipy_ndimage
from slinky.graph.buffers import BufferExpr

P = ParamSpec("P")


def whole_filter(described: Callable[P, Any]) -> Callable[P, Any]:
    """A filter with the name, the signature and the results of its namesake in SciPy, for which no region is known."""
    signature = inspect.signature(described)
    name = described.__name__

    @functools.wraps(described)
    def filtered(*args: P.args, **kwargs: P.kwargs) -> Any:
        given = bound_arguments(signature, name, args, kwargs).arguments
        image, output = given["input"], given.get("output")
        if any(isinstance(each, BufferExpr) for each in given.values()):
            raise ArgumentError(
                f"sl.ndimage.{name} goes on until nothing changes, which depends on all of the image; compute it on "
                f"arrays"
            )
        require_no_array(name, image, output, "output")
        function = getattr(scipy_ndimage(), name)
        if any(map(is_lazy, given.values())):
            return at_once(function, args, kwargs)
        return labelled(function(*args, **kwargs), image)

    return filtered


@whole_filter
def binary_fill_holes(
    input: Any, structure: Any = None, output: Any = None, origin: Any = 0, *, axes: Any = None
) -> Any:
    """What is inside with its holes, as `scipy.ndimage.binary_fill_holes` gives it."""


@whole_filter
def binary_propagation(
    input: Any,
    structure: Any = None,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """What is inside, grown within a mask, as `scipy.ndimage.binary_propagation` gives it."""


__all__ = ["binary_fill_holes", "binary_propagation"]
