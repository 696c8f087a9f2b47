"""Arrays with labels, of xarray and pandas: what is in them, and results in the same kind of container.

Idea. Neither package is imported here: who has a container of one has imported it. Along axes of which a result has as
many elements as what it was made of, labels are kept; along others there are none.

Invariant: values are what they are without containers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def labelled_like(given: Sequence[Any]) -> Callable[[Array], Any]:
    """What puts a result into a container like the first one among some arguments; as it is, if there is none."""
    xarray, pandas = sys.modules.get("xarray"), sys.modules.get("pandas")
    for each in given:
        if xarray is not None and isinstance(each, xarray.DataArray):
            return lambda result: _as_data_array(result, each)
        if pandas is not None and isinstance(each, (pandas.DataFrame, pandas.Series)):
            return lambda result: _as_table(result, each)
    return lambda result: result


def without_name(put: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """The same for columns, without the name of the one that they are like."""
    return lambda result: put(result).rename(None)


def is_labelled(value: Any) -> bool:
    """Whether something is a container of an array that is there, and that `bare_values` finds."""
    xarray = sys.modules.get("xarray")
    if xarray is not None and isinstance(value, xarray.DataArray):
        return isinstance(value.variable._data, np.ndarray)
    return is_table(value)


def is_table(value: Any) -> bool:
    """Whether something is a table, or a column, of pandas'."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series))


def bare_values(value: Any) -> Any:
    """The array in a container; other things as they are."""
    return np.asarray(value) if is_labelled(value) else value


def all_alike(labelled: Sequence[Any]) -> bool:
    """Whether containers have the same labels along the same axes, so that arithmetic goes by place, elements of one
    dtype of NumPy's, and the same of what else results get from them; columns of pandas' may have names of their own.
    """
    first = labelled[0]
    return all(map(_is_plain, labelled)) and all(
        type(each) is type(first) and _has_labels_of(each, first) for each in labelled[1:]
    )


def names_of(labelled: Sequence[Any]) -> list[int]:
    """For each of some containers that are alike, the number of the first one with its name."""
    if not is_table(labelled[0]) or labelled[0].ndim != 1:
        return [0] * len(labelled)
    names = [each.name for each in labelled]
    return [names.index(name) for name in names]


def _is_plain(container: Any) -> bool:
    """Whether results of arithmetic have the attributes of a container, and its class is one that is known."""
    if not is_table(container):
        xarray = sys.modules["xarray"]
        keeps = not container.attrs or xarray.get_options()["keep_attrs"] is not False
        return keeps and type(container) is xarray.DataArray and isinstance(container.dtype, np.dtype)
    pandas = sys.modules["pandas"]
    if type(container) not in (pandas.DataFrame, pandas.Series) or container.attrs:
        return False
    dtypes = set(container.dtypes) if container.ndim == 2 else {container.dtype}
    is_free = bool(container.flags.allows_duplicate_labels)
    return is_free and len(dtypes) == 1 and all(isinstance(dtype, np.dtype) for dtype in dtypes)


def _has_labels_of(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if not is_table(one):
        return bool(one.copy(deep=False, data=other.variable._data).identical(other))
    is_unclear = one.ndim == 1 and _are_hard_to_tell(one.name, other.name)
    return not is_unclear and bool(all(a.identical(b) for a, b in zip(one.axes, other.axes, strict=True)))


def _are_hard_to_tell(one: Any, other: Any) -> bool:
    """Whether names are equal and not the same, as 1 and True, or do not say whether they are, as those of what is
    missing."""
    if one is other:
        return False
    answers = one == one, other == other, one == other
    if not all(isinstance(answer, (bool, np.bool_)) for answer in answers) or not (answers[0] and answers[1]):
        return True
    return bool(answers[2] and type(one) is not type(other))


def _as_data_array(result: Array, like: Any) -> Any:
    """A result with the names, coordinates and attributes of xarray's, as far as they still fit."""
    if result.shape == like.shape:
        return like.copy(data=result)
    kept = {dim for dim, n, m in zip(like.dims, like.shape, result.shape, strict=True) if n == m}
    coordinates = {name: own for name, own in like.coords.items() if set(own.dims) <= kept}
    return type(like)(result, dims=like.dims, coords=coordinates, name=like.name, attrs=like.attrs)


def _as_table(result: Array, like: Any) -> Any:
    """A result with the labels of pandas', as far as they still fit."""
    labels = {"index": like.index, "columns": like.columns} if like.ndim == 2 else {"index": like.index}
    fitting = {name: own for (name, own), n, m in zip(labels.items(), like.shape, result.shape, strict=True) if n == m}
    named = {"name": like.name} if like.ndim == 1 else {}
    return type(like)(result, **fitting, **named)
