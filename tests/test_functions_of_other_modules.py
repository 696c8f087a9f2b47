"""What traced functions call in modules of people's own: it sees the NumPy that they see, and is traced with them."""

from __future__ import annotations

import functools
import operator
import sys
import types
from typing import Any

import numpy as np
import pytest

import slinky as sl

Array = np.ndarray[Any, Any]

HELPERS = '''
import functools
import math
import numpy as np
import numpy
from numpy import asarray, zeros as none

LEVEL = 0.5


def as_array(x):
    return np.asarray(x * 2)


def filled(x):
    found = none(x.shape)
    found[1:-1] = x[1:-1]
    return asarray(found) + numpy.full(x.shape, LEVEL)


def deeper(x):
    return inner.deepest(x) + np.asarray(x)


def scaled(x, t):
    return np.asarray(x * math.sqrt(t)) if type(t) is float else x


def twice(function):
    @functools.wraps(function)
    def called(x):
        return function(function(x))

    return called


@twice
def added(x):
    return np.asarray(x + 1)


def counting(x):
    counting.calls = counting.calls + 1
    return np.asarray(x + 1)


counting.calls = 0


def counter():
    count = 0

    def step():
        nonlocal count
        count += 1

    def counted(x):
        CALLED[0]()
        return np.asarray(x) + count

    return step, counted


step, counted = counter()
CALLED = [step]


@twice
def told(x: int) -> float:
    """Says something."""
    return x * 2 if told.__doc__ and told.__annotations__ and told.__qualname__ == "told" else x
'''

DEEPEST = """
import numpy as np
import slinky as sl


def deepest(x):
    return np.where(np.asarray(x) > 0, x, np.ones(x.shape))


@sl.jit(smallest=0)
def compiled(x):
    return np.asarray(x) * 3
"""


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package with a module in it."""
    found = types.ModuleType("people_s_helpers")
    deepest = types.ModuleType("people_s_helpers.inner")
    for module, text in ((deepest, DEEPEST), (found, HELPERS)):
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, module.__name__, "exec"), vars(module))
    vars(found)["inner"] = deepest
    return found


X = np.linspace(-1, 1, 240).reshape(12, 20)


def check(function: Any, *given: Any) -> Any:
    """Run it twice, in one trace that asks for nothing."""
    jit = sl.jit(function, smallest=0, native=False)
    for _ in range(2):
        np.testing.assert_array_equal(jit(X, *given), function(X, *given), strict=True)
    (traced,) = jit._traces
    assert not traced.trace.reasons
    return jit


def test_functions_that_are_attributes_of_modules(helpers: Any) -> None:
    check(lambda x: helpers.as_array(x + 1))
    check(lambda x: helpers.filled(x * 2) - x)
    check(lambda x: helpers.inner.deepest(x) + 1)
    check(lambda x: helpers.np.asarray(x) + helpers.LEVEL)


def test_functions_that_were_imported(helpers: Any) -> None:
    as_array, filled, deeper = helpers.as_array, helpers.filled, helpers.deeper
    check(lambda x: as_array(filled(x)) + 1)
    check(lambda x: deeper(x) + 1)


def test_functions_by_names_of_their_own() -> None:
    asarray, zeros, largest = np.asarray, np.zeros, np.max
    names: dict[str, Any] = {"asarray": asarray, "zeros": zeros, "largest": largest, "__name__": "of_people"}
    exec("def function(x):\n    return largest([asarray(x), x + 1], axis=0) + zeros(x.shape)", names)
    check(names["function"])


def test_modules_that_are_imported_within(helpers: Any) -> None:
    def function(x: Any) -> Any:
        import math

        import numpy as np
        import numpy.linalg as la
        from numpy import zeros

        return np.asarray(x) * math.sqrt(2) + zeros(x.shape) + la.norm(x, axis=0)

    check(function)

    def another(x: Any) -> Any:
        import people_s_helpers
        import people_s_helpers.inner as inner
        from people_s_helpers import filled

        return people_s_helpers.inner.deepest(x) + inner.deepest(x) + filled(x)

    check(another)

    def level(x: Any) -> Any:
        import people_s_helpers.inner

        return people_s_helpers.inner.deepest(x) + people_s_helpers.LEVEL

    jit = check(level)
    helpers.LEVEL = 3.0
    np.testing.assert_array_equal(jit(X), level(X))


def test_functions_in_closures_of_decorators(helpers: Any) -> None:
    check(lambda x: helpers.added(x) * 2)

    def thrice(function: Any) -> Any:
        @functools.wraps(function)
        def called(x: Any) -> Any:
            return function(function(function(x)))

        return called

    check(thrice(helpers.as_array))


def test_what_jit_made_of_a_function_is_part_of_the_trace(helpers: Any) -> None:
    compiled = helpers.inner.compiled
    check(lambda x: helpers.inner.compiled(x) + 1)
    check(lambda x: compiled(x) + 1)
    check(lambda x: x + compiled(np.ones(20)))
    assert compiled.pipeline(X) is not None


def test_floats_are_told_there_too(helpers: Any) -> None:
    def function(x: Any, t: float) -> Any:
        return helpers.scaled(x, t) + 1

    jit = sl.jit(function, smallest=0, native=False)
    for t in (0.25, 2.0, 3.0):
        np.testing.assert_array_equal(jit(X, t), function(X, t), strict=True)
    assert len(list(jit._traces)) == 1


def test_a_function_that_asks_for_the_type_by_another_name_is_given_floats() -> None:
    """Python's `type` is what it sees, which tells what stands for a float from one."""

    def function(x: Any, t: float) -> Any:
        kind = type
        return x * 2 if kind(t) is float else x

    jit = sl.jit(function, smallest=0, native=False)
    for t in (0.25, 2.0):
        np.testing.assert_array_equal(jit(X, t), function(X, t), strict=True)


def test_a_changed_function_is_traced_again(helpers: Any) -> None:
    def function(x: Any) -> Any:
        return helpers.as_array(x) + 1

    jit = sl.jit(function, smallest=0, native=False)
    jit(X)
    helpers.as_array = lambda x: np.asarray(x) - 5
    np.testing.assert_array_equal(jit(X), X - 5 + 1)
    helpers.LEVEL = 2.0
    np.testing.assert_array_equal(jit(X), X - 5 + 1)


def test_a_changed_value_of_a_module_is_seen(helpers: Any) -> None:
    jit = sl.jit(lambda x: helpers.filled(x), smallest=0, native=False)
    jit(X)
    helpers.LEVEL = 2.0
    np.testing.assert_array_equal(jit(X), helpers.filled(X), strict=True)


def test_a_changed_value_is_seen_of_a_module_of_which_something_else_was_read_before(helpers: Any) -> None:
    names: dict[str, Any] = {"helpers": helpers, "__name__": "others_of_people"}
    exec("def reader(x):\n    return x + helpers.LEVEL", names)
    reader = names["reader"]

    def function(x: Any) -> Any:
        return helpers.as_array(x) + reader(x)

    jit = sl.jit(function, smallest=0, native=False)
    jit(X)
    helpers.LEVEL = 2.0
    np.testing.assert_array_equal(jit(X), function(X), strict=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda helpers: lambda x: x + getattr(helpers, "LEVEL"),  # noqa: B009
        lambda helpers: lambda x: x + operator.attrgetter("LEVEL")(helpers),
        lambda helpers: lambda x: x + getattr(helpers.as_array, "level", 1.0),
        lambda helpers: lambda x: x + hasattr(helpers.as_array, "level"),
    ],
)
def test_a_changed_value_is_seen_of_what_is_asked_for_by_its_name(helpers: Any, function: Any) -> None:
    plain = function(helpers)
    jit = sl.jit(plain, smallest=0, native=False)
    jit(X)
    helpers.LEVEL = helpers.as_array.level = 2.0
    np.testing.assert_array_equal(jit(X), plain(X), strict=True)


def test_arrays_may_be_asked_for_attributes_by_their_names(helpers: Any) -> None:
    check(lambda x: helpers.as_array(x) * getattr(x, "ndim", 0))


def test_what_a_function_keeps_is_kept_once_a_call(helpers: Any) -> None:
    jit = sl.jit(lambda x: helpers.counting(x) * 2, smallest=0, native=False)
    for _ in range(3):
        np.testing.assert_array_equal(jit(X), (X + 1) * 2)
    assert helpers.counting.calls == 3


def test_variables_are_shared_with_whoever_sets_them(helpers: Any) -> None:
    jit = sl.jit(lambda x: helpers.counted(x) * 2, smallest=0, native=False)
    for k in range(1, 4):
        np.testing.assert_array_equal(jit(X), (X + k) * 2)


def test_functions_tell_the_same_of_themselves(helpers: Any) -> None:
    check(lambda x: helpers.told(x) + 1)


def test_modules_are_as_they_were(helpers: Any) -> None:
    before = dict(vars(helpers))
    check(lambda x: helpers.added(helpers.deeper(helpers.filled(x))))
    assert vars(helpers) == before
    assert helpers.np is np
