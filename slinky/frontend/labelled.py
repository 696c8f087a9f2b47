"""Functions of xarray's arrays by pieces: xarray is let do what it does, on lazy arrays.

Idea. xarray's arrays hold whatever speaks NumPy's protocols. So a function is traced with arrays like those given, in
which lazy arrays stand for the elements: which labels are aligned, which axis a name means, what is left out of a mean,
and by what it is divided, is xarray's own doing, and what it asks NumPy for is what runs by pieces.

Invariant: a trace is used for arrays with the labels, names and attributes that it was made with, and under the same
options of xarray's. Whatever asks for values, or changes an argument, is left to the function as it is.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import SlinkyError
from slinky.frontend.abandoning import Abandoned
from slinky.frontend.arrays import LazyArray
from slinky.frontend.containers import is_labelled
from slinky.frontend.foreign import RaisedError, foreign
from slinky.frontend.jitting import Jit
from slinky.frontend.nodes import Array, numbers
from slinky.frontend.opening import Path, paths_of
from slinky.frontend.reals import Real
from slinky.frontend.traced import Kept
from slinky.frontend.tracing import Trace
from slinky.frontend.trees import CONSTANTS, leaves_of, with_leaves

_SUPPRESSED = ("All-NaN slice encountered", "Mean of empty slice")
"""What NumPy warns of in functions that leave NaNs out; xarray takes care that nobody is told."""


class CalledAsItIsError(SlinkyError):
    """The function is to be called with what it was given."""


def _stub(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array that takes no memory, in the place of the elements."""
    return np.broadcast_to(np.zeros((), dtype), tuple(shape))


@attrs.frozen(eq=False)
class Like(Kept):
    """An array of xarray's without its elements."""

    array: Any

    @staticmethod
    def of(given: Any) -> Like:
        """What is to be known of an array. Raises `CalledAsItIsError` where coordinates are computed, too."""
        own = given.variable._data
        if any(type(each.variable._data) is LazyArray for each in given.coords.values()):
            raise CalledAsItIsError
        return Like(given.copy(deep=True, data=_stub(numbers(own.shape), own.dtype)))

    def fits(self, given: Any) -> bool:
        """Whether an array has the same shape, dtype, labels, names and attributes."""
        own = self.array
        if given.dims != own.dims or given.shape != own.shape or given.dtype != own.dtype:
            return False
        if list(given.coords) != list(own.coords) or not given.copy(deep=False, data=own.variable._data).identical(own):
            return False
        kinds = ([(c.dtype, type(each.xindexes.get(n))) for n, c in each.coords.items()] for each in (given, own))
        return next(kinds) == next(kinds)

    def filled(self, elements: Any) -> Any:
        """An array like it, of these elements, with labels of its own."""
        return self.array.copy(deep=True, data=elements if type(elements) is LazyArray else np.asarray(elements))


class JitOfLabels(Jit):
    """A function as one of the elements of xarray's arrays, for such with the same labels."""

    def __init__(self, jit: Jit, likes: Mapping[Path, Like]) -> None:
        """With what arrays are like by where they stand in arguments."""
        super().__init__(
            jit._function, jit._strict, jit._given_smallest, jit._options, jit._backend, (), jit._by_pieces, jit._moves
        )
        self._likes = likes
        self._xarray_options = _options()
        self._as_written = _as_it_is

    def fits(self, arrays: Mapping[Path, Any]) -> bool:
        """Whether this is for such arrays of xarray's, by where they stand in arguments."""
        if self._xarray_options != _options() or list(arrays) != list(self._likes):
            return False
        return all(like.fits(arrays[path]) for path, like in self._likes.items())

    def run(self, given: Any, named: Any) -> Any:
        """What the function gives for the elements, in arrays of xarray's.

        Raises `CalledAsItIsError` where it is to be called with what it was given.
        """
        with warnings.catch_warnings():
            for message in _SUPPRESSED:
                warnings.filterwarnings("ignore", message, RuntimeWarning)
            found = self(*given, **named)
        return _with_labels(found)

    def _call_lazily(self, trace: Trace, arguments: Any, keywords: Any) -> Any:
        """Call the function with xarray's arrays of lazy arrays; what it returns, as pairs of a `Like` and elements."""
        if (reads := self._traces.reads) is not None and reads.reason is not None:
            raise Abandoned(reads.reason)
        trace.is_labelled = True
        paths, made = iter(paths_of(arguments, keywords)), []

        def labelled(leaf: Any) -> Any:
            path = next(paths)
            if path not in self._likes:
                if not _is_known(leaf):
                    raise Abandoned(f"it is given a {type(leaf).__name__}")
                return leaf
            found = self._likes[path].filled(leaf)
            made.append((self._likes[path], found, leaf))
            return found

        given, named = with_leaves((arguments, keywords), labelled)
        try:
            with foreign():
                result = super()._call_lazily(trace, given, named)
        except RaisedError as error:
            if isinstance(error.__cause__, SlinkyError):
                raise error.__cause__ from None
            raise Abandoned(str(error)) from None  # the function as it is will tell, if that is not about lazy arrays
        if trace.reasons:
            raise Abandoned(trace.reasons[0])
        if not all(found.variable._data is leaf and like.fits(found) for like, found, leaf in made):
            raise Abandoned("it changes its argument")
        try:
            return with_leaves(
                result, lambda leaf: [Like.of(leaf), leaf.variable._data] if is_of_xarray(leaf) else leaf
            )
        except CalledAsItIsError:
            raise Abandoned("it computes a coordinate") from None


def _as_it_is(*given: Any, **named: Any) -> Any:
    raise CalledAsItIsError


def _with_labels(tree: Any) -> Any:
    """A tree with an array of xarray's for each pair of what it is like and its elements."""
    if type(tree) is list and len(tree) == 2 and type(tree[0]) is Like:
        return tree[0].filled(tree[1])
    if type(tree) in (tuple, list):
        return type(tree)(map(_with_labels, tree))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*map(_with_labels, tree))
    return {key: _with_labels(each) for key, each in tree.items()} if type(tree) is dict else tree


def is_of_xarray(value: Any) -> bool:
    """Whether something is an array of xarray's, and of no other class, with elements that are NumPy's or lazy."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and type(value) is xarray.DataArray and isinstance(value.variable._data, np.ndarray)


def _options() -> dict[str, Any]:
    """What xarray is told to do."""
    found: dict[str, Any] = sys.modules["xarray"].get_options()
    return found


MOST_LABELS = 16
"""For how many sets of labels a function is kept traced, the latest ones."""


def of_labels(jit: Jit, kept: list[JitOfLabels], given: Any, named: Any) -> JitOfLabels | None:
    """What runs a function for arrays of xarray's with these labels; None where there is anything else among its
    arguments, which may have been opened, than such, arrays, and what is the same whenever it is equal."""
    leaves = [leaf for _, leaf in leaves_of((given, named))]
    if not all(is_of_xarray(leaf) or (_is_known(leaf) and not is_labelled(leaf)) for leaf in leaves):
        return None
    arrays = {p: leaf for p, leaf in zip(paths_of(given, named), leaves, strict=True) if is_of_xarray(leaf)}
    found = next((each for each in kept if each.fits(arrays)), None)
    if found is None:
        found = JitOfLabels(jit, {path: Like.of(array) for path, array in arrays.items()})
        kept.insert(0, found)
        del kept[MOST_LABELS:]
    return found


def _is_known(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, slice, np.dtype, type, Real, *CONSTANTS))


__all__ = ["CalledAsItIsError", "JitOfLabels", "Like", "of_labels"]
