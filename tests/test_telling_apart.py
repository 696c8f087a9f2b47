"""What functions tell while they are traced of NumPy, of functions and of modules: what they tell of them without."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.frontend.namespaces import is_replaced

HELPERS = """
import math
import sys
import numpy as np
from numpy import max as largest


def reduced(x, how=np.max):
    return np.asarray(x).max(axis=0) if how is np.max else x.min(axis=0)


def reduced_by_name(x, how=largest):
    return x.max(axis=0) if how == largest else x.min(axis=0)


def listed(x, how=np.min):
    return x.min(axis=0) if how in (np.min, largest) else x


def of_numpy(x, xp=np):
    return xp.asarray(x) + 1 if np is xp else x - 1


BACKENDS = {"numpy": np}
WEIGHTS = {np.max: 2.0, math.sqrt: 3.0}
REGISTERED = set()


def by_name(x):
    xp = BACKENDS["numpy"]
    return x + 1 if xp is not np else x - 1


def weighted(x):
    return x * WEIGHTS.get(np.max, 5.0)


def of_math(x):
    root = math.sqrt
    return x * WEIGHTS.get(root, 7.0)


def registered(function):
    REGISTERED.add(function)
    return function


@registered
def known(x):
    return x * 2


def asks(x):
    return known(x) if known in REGISTERED else x


LEVEL = 3.0


def in_globals(x):
    return np.asarray(x) + (LEVEL if "LEVEL" in globals() else 5)


def in_its_dictionary(x):
    return x + (1 if vars(sys.modules[__name__]).get("LEVEL") else 2)


def counting(x):
    setattr(counting, "calls", getattr(counting, "calls", 0) + 1)
    return np.asarray(x) + counting.calls


def is_this(module):
    return module is sys.modules[__name__]
"""


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of somebody's."""
    found = types.ModuleType("people_s_tables")
    monkeypatch.setitem(sys.modules, found.__name__, found)
    exec(compile(HELPERS, found.__name__, "exec"), vars(found))
    return found


X = np.linspace(-1, 1, 240).reshape(12, 20)


def check(function: Callable[..., Any]) -> None:
    """Run it twice, and compare it with itself, plain."""
    jit = sl.jit(function, smallest=0, native=False)
    for _ in range(2):
        np.testing.assert_array_equal(jit(X), function(X), strict=True)


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
@pytest.mark.parametrize(
    "name",
    [
        "reduced",
        "reduced_by_name",
        "listed",
        "of_numpy",
        "by_name",
        "weighted",
        "of_math",
        "asks",
        "in_globals",
        "in_its_dictionary",
    ],
)
def test_what_stands_for_something_is_not_told_from_it(helpers: Any, name: str) -> None:
    function = getattr(helpers, name)
    check(function)
    check(lambda x: function(x) + 1)
    check(lambda x: getattr(helpers, name)(x) + 1)


def test_whoever_only_calls_is_traced_further() -> None:
    def function(x: Any) -> Any:
        found = np.asarray(x, dtype=float) + np.zeros(shape=x.shape)
        return found if found is not x else x

    jit = sl.jit(function, smallest=0, native=False)
    np.testing.assert_array_equal(jit(X), X, strict=True)
    assert len(list(jit._traces)) == 1


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
def test_functions_and_numpy_as_arguments(helpers: Any) -> None:
    check(lambda x: helpers.reduced(x, np.max) - helpers.reduced(x, np.min))
    check(lambda x: helpers.of_numpy(x, np))


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
def test_attributes_that_are_set_by_name_are_those_of_the_function(helpers: Any) -> None:
    jit = sl.jit(lambda x: helpers.counting(x) * 2, smallest=0, native=False)
    for k in range(1, 4):
        np.testing.assert_array_equal(jit(X), (X + k) * 2)


def test_modules_that_are_passed_on_are_themselves(helpers: Any) -> None:
    check(lambda x: helpers.known(x) + (1 if helpers.is_this(helpers) else 2))


class Settings(dict[str, Any]):
    """A dictionary whose entries are attributes, and that raises its own errors for others."""

    __getattr__ = dict.__getitem__


SETTINGS = Settings(gain=3.0)


def test_objects_that_raise_other_errors_for_what_they_have_not() -> None:
    def function(x: Any) -> Any:
        return np.zeros(x.shape) + x * SETTINGS.gain

    assert "is traced" in sl.jit(function, smallest=0).explain(X)
    check(function)


def test_functions_of_numpy_s_are_known_by_what_stays_there() -> None:
    gc.collect()
    kept = [np.__init__ for _ in range(1000)]  # type: ignore[misc]
    assert not any(map(is_replaced, kept))
    assert is_replaced(np.zeros)
    assert is_replaced(np.max)
    assert not is_replaced(np.sqrt)
