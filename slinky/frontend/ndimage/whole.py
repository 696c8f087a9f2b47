"""Filters that nobody can cut: each pixel may depend on all of the image, or be rounded by how much is there.

Idea. Binary morphology may go on until nothing changes. A function that is given all windows at once adds up the
elements of one in an order that depends on how many windows there are: SciPy's result is that of the whole image.

Invariant: on arrays, these are SciPy's functions; of lazy arrays they run whole, and in a graph they are refused.
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


GOES_ON = "goes on until nothing changes, which depends on all of the image; compute it on arrays"
OF_ALL_WINDOWS = (
    "gives the function all windows at once, so that what it rounds depends on all of the image; compute it on arrays, "
    "use generic_filter, or declare a function of arrays by sl.stencil"
)


def whole_filter(why: str) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """A decorator for filters with the name, the signature and the results of their namesakes in SciPy, for which no
    region is known: `why` says what they do."""
    return functools.partial(_whole, why)


def _whole(why: str, described: Callable[P, Any]) -> Callable[P, Any]:
    signature = inspect.signature(described)
    name = described.__name__

    @functools.wraps(described)
    def filtered(*args: P.args, **kwargs: P.kwargs) -> Any:
        given = bound_arguments(signature, name, args, kwargs).arguments
        image, output = given["input"], given.get("output")
        if any(isinstance(each, BufferExpr) for each in given.values()):
            raise ArgumentError(f"sl.ndimage.{name} {why}")
        require_no_array(name, image, output, "output")
        function = getattr(scipy_ndimage(), name, None)
        if function is None:
            raise ArgumentError(f"sl.ndimage.{name}: this SciPy has no {name}; it takes a newer one")
        if any(map(is_lazy, given.values())):
            return at_once(function, args, kwargs)
        return labelled(function(*args, **kwargs), image)

    return filtered


@whole_filter(GOES_ON)
def binary_fill_holes(
    input: Any, structure: Any = None, output: Any = None, origin: Any = 0, *, axes: Any = None
) -> Any:
    """What is inside with its holes, as `scipy.ndimage.binary_fill_holes` gives it."""


@whole_filter(GOES_ON)
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


@whole_filter(OF_ALL_WINDOWS)
def vectorized_filter(
    input: Any,
    function: Callable[..., Any],
    *,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = None,
    origin: Any = None,
    axes: Any = None,
    batch_memory: int = 2**30,
) -> Any:
    """A function of all windows at once, as `scipy.ndimage.vectorized_filter` applies it (SciPy 1.16 or newer)."""


__all__ = ["binary_fill_holes", "binary_propagation", "vectorized_filter"]
