"""What traced functions ask of the class of an array: they take the branches that they would take with NumPy's."""

from __future__ import annotations

import collections.abc
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import assert_same, jit, kept

import slinky as sl


def by_length(a: Any) -> Any:
    return a * (2 if hasattr(a.max(), "__len__") else 3) + (1 if hasattr(a, "__len__") else 2)


def by_type(a: Any) -> Any:
    b = a + 1
    return b if type(b) is not np.ndarray else b * (2 if type(b.sum()) in (float, np.float64) else 3)


def by_iteration(a: Any) -> Any:
    return a * (2 if isinstance(a.sum(), collections.abc.Iterable) else 3) + isinstance(a, collections.abc.Iterable)


def by_size(a: Any) -> Any:
    n = a.shape[0]
    return a * (2 if hasattr(n, "__array__") else 3) + (1 if type(n) is int else 2) + isinstance(n, int | str)


def by_several(a: Any) -> Any:
    return a * isinstance(a, (int, (str, np.ndarray))) + isinstance(a.max(), (int, float)) + isinstance(a.max(), int)


def by_made_classes(a: Any) -> Any:
    """What makes classes is Python's."""
    made = type("Made", (), {"factor": 3})
    return a * made.factor + isinstance(made(), made)  # type: ignore[attr-defined]


class Shaped(type):
    """The class of classes whose objects are told by what they look like."""

    def __instancecheck__(cls, value: object) -> bool:
        return getattr(value, "ndim", None) == 2


class Matrix(metaclass=Shaped):
    """What has two axes."""


def by_looks(a: Any) -> Any:
    """A class with a check of its own looks at the array."""
    return a * (2 if isinstance(a, Matrix) else 3) + (1 if isinstance(a[0], (int, Matrix)) else 5)


def by_type_itself(a: Any) -> Any:
    """`type` is one object, with a name."""

    class Kind(type):
        pass

    made = Kind("Other", (), {})
    told = [type(Kind) is type, type(made) is Kind, isinstance(made, type), {type: 5}.get(type(int)) == 5]
    told += [type.__name__ == "type", Kind.__mro__[1] is type, isinstance(a, type), issubclass(Kind, type)]
    return a + sum(1 << k for k, each in enumerate(told) if each)


@pytest.mark.parametrize(
    "f", [by_length, by_type, by_iteration, by_size, by_several, by_made_classes, by_looks, by_type_itself]
)
def test_functions_that_ask_for_classes(f: Callable[..., Any]) -> None:
    """They take NumPy's branches, and are traced once, but for what cannot be watched."""
    x = np.arange(12.0).reshape(3, 4)
    traced = jit(f)
    for each in (x, x + 1):
        assert_same(traced(each), f(each))
    assert kept(traced) == (f is not by_looks)


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_keys_of_dictionaries_are_numbers() -> None:
    """What is lazy among the keys of results is known: a dictionary asks for it."""
    x = np.arange(12.0).reshape(3, 4)

    def f(a: Any) -> Any:
        return {n: float(n) for n in a.shape}, [{(a.shape[0], "b"): {a.argmax(): a + 1}}]

    got = jit(f)(x)
    assert_same(got, f(x))
    assert json.dumps(got[0]) == '{"3": 3.0, "4": 4.0}'
    assert_same(pickle.loads(pickle.dumps(got)), f(x))
    assert {type(key) for key in got[1][0][3, "b"]} == {np.int64}


INTO = {
    "sum": lambda x, y: np.sum(x, out=y),
    "max": lambda x, y: x.max(out=y),
    "clip": lambda x, y: np.clip(x[1], 0, 1, out=y),
    "argmax": lambda x, y: np.argmax(x, out=y),
    "dot": lambda x, y: np.dot(x, x, out=y),
    "median": lambda x, y: np.median(x, out=y),
    "reduce": lambda x, y: np.add.reduce(x, out=y),
    "add": lambda x, y: np.add(x[0], 1, out=y),
}
"""Functions that put what they give into `y`."""


@pytest.mark.parametrize("name", INTO)
def test_a_scalar_is_no_array_to_write_to(name: str) -> None:
    """An element is none, of which NumPy says so; the array that it came from stayed as it was, without a word."""
    into = INTO[name]

    def to_an_element(x: Any) -> Any:
        made = x + 1
        into(x, made[0])
        return made

    def to_an_array_without_axes(x: Any) -> Any:
        made = np.zeros_like(x[:1], np.int64 if name == "argmax" else x.dtype).reshape(())
        into(x, made)
        return made

    x = np.arange(5.0)
    with pytest.raises(TypeError) as want:
        to_an_element(x)
    with pytest.raises(TypeError) as got:
        jit(to_an_element)(x)
    assert str(got.value) == str(want.value)
    assert_same(jit(to_an_array_without_axes)(x), to_an_array_without_axes(x))


@pytest.mark.parametrize("name", ["sum", "argmax", "cumsum", "sort", "mean", "median", "roll", "flip", "expand_dims"])
def test_a_truth_is_the_axis_that_numpy_takes_it_for(name: str) -> None:
    def function(x: Any) -> Any:
        further = (1,) if name == "roll" else ()
        return getattr(np, name)(x, *further, axis=True)

    x = np.arange(12.0).reshape(3, 4)
    try:
        want = function(x)
    except TypeError as error:
        with pytest.raises(TypeError, match=f"^{error}$"):
            jit(function)(x)
    else:
        assert_same(jit(function)(x), want)


def test_powers_with_a_modulus_are_none_as_of_numpys_arrays() -> None:
    with pytest.raises(
        TypeError, match=r"^unsupported operand type\(s\) for \*\* or pow\(\): 'LazyArray', 'int', 'int'"
    ):
        pow(sl.lazy(np.arange(3)), 2, 7)


def test_what_lazy_arrays_cannot_do_is_said_with_the_way_out() -> None:
    x = sl.lazy(np.ones((4, 3)))
    for ask in (lambda: x.tobytes(), lambda: np.put(x, 0, 1), lambda: np.add(x, 1, order="F")):
        with pytest.raises(
            sl.TracingError, match=r"^lazy arrays cannot take this: .* line \d+; np.asarray\(x\) gives an "
        ):
            ask()

    def in_bytes(x: Any) -> Any:
        return x.tobytes()

    with pytest.raises(sl.TracingError, match=r"^in_bytes cannot be traced: the attribute tobytes of arrays, in "):
        jit(in_bytes, strict=True)(np.ones((4, 3)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_of_lazy_arrays_are_of_known_classes() -> None:
    """Code of NumPy's that is followed makes arrays of none of the elements, too, which nobody traced will look at."""
    x = np.zeros((0, 3))
    assert type(np.cov(sl.lazy(x))) in (np.ndarray, type(sl.lazy(x)))
    assert_same(np.asarray(np.cov(sl.lazy(x))), np.cov(x))


def test_sizes_do_what_integers_do() -> None:
    """Where a size has no method of its own, its value has: the trace is then good for that."""
    lazy = sl.lazy(np.ones((100, 50)))
    assert type(lazy.nbytes) is int
    assert json.dumps({"bytes": lazy.nbytes}) == '{"bytes": 40000}'
    assert lazy.size.bit_length() == 13
    assert lazy.shape[0].to_bytes(2, "big") == b"\0\x64"
    assert (lazy.size.real, lazy.size.denominator) == (5000, 1)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'nothing'"):
        _ = lazy.size.nothing
    padded = jit(lambda x: np.pad(x, (0, (1 << x.size.bit_length()) - x.size)))
    for n in (5, 9, 5):
        assert_same(padded(np.arange(1.0, n)), padded.__wrapped__(np.arange(1.0, n)))
