"""From a function of scikit-image to one that also takes what is described: buffers of a graph, and lazy arrays.

Idea. The function is first tried on a few elements, with the same arguments: so scikit-image itself refuses what it
refuses, and says what the dtype of the result is. What is then made of what is described, the table says.

Invariant: a function made here has scikit-image's name, signature and documentation, and gives its results.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from slinky.errors import ArgumentError, GraphError, MissingExtraError
from slinky.frontend.arrays import LazyArray
from slinky.frontend.containers import labelled_like
from slinky.frontend.fixed import Fixed, fixed
from slinky.frontend.kernels import Array, rank_of
from slinky.frontend.ndimage.steps import (
    Cast,
    NotByPiecesError,
    Output,
    applied,
    bound_arguments,
    is_described,
    require_no_array,
)
from slinky.frontend.ndimage.table import Pieces
from slinky.frontend.nodes import exactly
from slinky.frontend.sizes import same
from slinky.frontend.tables import TOLERANCE
from slinky.graph.buffers import BufferExpr


@attrs.frozen(eq=False)
class Call:
    """A call of a function on something described: all its arguments by name, and what it gives for a few zeros."""

    name: str
    arguments: Mapping[str, Any]
    image: Any
    tried: Array

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that it would give."""
        return self.tried.dtype

    @property
    def rank(self) -> int:
        """The rank of the image."""
        return rank_of(self.image)

    @property
    def has_mask_of_other_shape(self) -> bool:
        """Whether a mask is of another shape than the image, both being lazy arrays, or arrays."""
        mask = self.arguments.get("mask")
        if mask is None or isinstance(self.image, BufferExpr):
            return False
        shape = mask._shape if isinstance(mask, LazyArray) else np.shape(mask)
        return len(shape) != self.rank or not all(map(same, self.image._shape, shape))

    @property
    def others(self) -> dict[str, Any]:
        """All arguments but the image."""
        return dict(list(self.arguments.items())[1:])


@attrs.frozen
class FunctionByPieces:
    """What is known of a function: its module, what is made of a call of it, and how many channels an image has.

    `reason` says why a call needs the whole image; None where it does not.
    """

    module: str
    made: Callable[[Call], Any]
    channels: int | None = None
    reason: Callable[[Call], str | None] | None = None


@attrs.frozen
class Delegated:
    """A function of scikit-image on a piece, with its further arguments."""

    module: str
    name: str
    arguments: tuple[tuple[str, Any], ...] = attrs.field(default=(), eq=exactly)

    def __call__(self, piece: Array) -> Any:
        return self.of(piece)

    def of(self, *pieces: Array, **more: Any) -> Any:
        """What it gives for pieces of several arrays, with arguments that differ from piece to piece."""
        arguments = {name: each.array if isinstance(each, Fixed) else each for name, each in self.arguments}
        return getattr(module_of(self.module), self.name)(*pieces, **arguments, **more)


def delegated(module: str, name: str, **arguments: Any) -> Delegated:
    """A function of scikit-image on a piece: arrays among its arguments are as they are now."""
    held = {key: fixed(each) if isinstance(each, (np.ndarray, list)) else each for key, each in arguments.items()}
    return Delegated(module, name, tuple(held.items()))


def module_of(name: str) -> Any:
    """A module of scikit-image. Raises `MissingExtraError` where that is not installed."""
    try:
        return importlib.import_module(f"skimage.{name}")
    except ImportError:
        raise MissingExtraError("sl.skimage_filters", "skimage", "scikit-image") from None


def delegate(name: str) -> Callable[..., Any]:
    """A function of scikit-image on arrays, buffers of a graph, and lazy arrays, by its name in the table.

    Raises `AttributeError` where the version of scikit-image that is installed does not have it.
    """
    from slinky.frontend.skimage_filters.table import PIECES, TABLE, WHOLE

    entry = TABLE.get(name)
    module = module_of(WHOLE[name][0] if entry is None else entry.module)
    function = getattr(module, name.rpartition(".")[2])
    signature = inspect.signature(function)
    first = next(iter(signature.parameters))

    @functools.wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        image = args[0] if args else kwargs.get(first)
        require_no_array(name, image, kwargs.get("out"), "out")
        if not is_described(image):
            result = function(*args, **kwargs)
            return labelled_like([image])(result) if isinstance(result, np.ndarray) and image is not None else result
        bound = bound_arguments(signature, name, args, kwargs)
        bound.apply_defaults()
        if entry is None:
            return _whole(function, name, WHOLE[name][1], image, args, kwargs)
        if isinstance(image, LazyArray) and image.ndim == 0:
            return _whole(function, name, "it has no axes", image, args, kwargs)
        require_no_array(name, image, bound.arguments.get("out"), "out")
        if bound.arguments.get("out") is not None:
            raise ArgumentError(f"sl.skimage_filters.{name}: what is computed later cannot be written to an array")
        tried, warned = _tried(function, bound.arguments, entry.channels)
        call = Call(name, bound.arguments, image, tried)
        reason = None if entry.reason is None else entry.reason(call)
        if reason is not None:
            return _whole(function, name, reason, image, args, kwargs)
        if PIECES[name] is Pieces.NEAR and isinstance(image, LazyArray) and TOLERANCE not in image._trace.by_pieces:
            return _whole(function, name, "pieces are rounded otherwise", image, args, kwargs)
        for each in warned:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        try:
            found = entry.made(call)
        except NotByPiecesError as error:
            return _whole(function, name, str(error), image, args, kwargs)
        if isinstance(found, tuple):
            return found
        return found if found.dtype == call.dtype else applied(found, Cast(call.dtype), "cast", Output(call.dtype))

    return filtered


def _tried(
    function: Callable[..., Any], arguments: Mapping[str, Any], channels: int | None
) -> tuple[Array, list[warnings.WarningMessage]]:
    """What a function gives for a few zeros, and its warnings, of which some are about these alone. scikit-image's
    errors are those of this run."""
    (_, image), *others = arguments.items()
    rank = rank_of(image)
    shape = [1] * rank
    if channels is not None and rank:
        axis = arguments.get("channel_axis", -1) % rank  # one out of range, the function refuses, or takes like this
        extent = image.shape[axis] if hasattr(image, "shape") else channels
        shape[axis] = int(extent) if extent != channels else channels
    given = {name: np.ones((1,) * rank, bool) if name == "mask" and each is not None else each for name, each in others}
    given = {name: np.zeros(shape, each.dtype) if is_described(each) else each for name, each in given.items()}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)
        result = function(np.zeros(shape, image.dtype), **given)  # by position: some move axes of such alone
    return (result[0] if isinstance(result, tuple) else result), warned


def _whole(function: Callable[..., Any], name: str, reason: str, image: Any, args: Any, kwargs: Any) -> Any:
    """What needs the whole image: on a lazy array it runs so, in a graph it is refused."""
    if isinstance(image, BufferExpr):
        raise GraphError(f"sl.skimage_filters.{name} cannot run by pieces: {reason}")
    from slinky.frontend.fences import opaque

    return opaque(_of_own_arrays(function), args, kwargs)


def _of_own_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of scikit-image's, given arrays that can be written to: some of its loops take no others, and write
    to none."""

    def own(given: Any) -> Any:
        return given.copy() if isinstance(given, np.ndarray) and not given.flags.writeable else given

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*map(own, args), **{name: own(each) for name, each in kwargs.items()})

    return called


__all__ = ["Call", "Delegated", "FunctionByPieces", "delegate", "delegated", "module_of"]
