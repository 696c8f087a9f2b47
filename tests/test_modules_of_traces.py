"""Modules that traced functions speak of, and that have code of their own for attributes (`__getattr__`)."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
import pytest
from traced import assert_traced, image, jit


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize("size", [3, 30000])
@pytest.mark.parametrize("error", [ImportError, RuntimeError, DeprecationWarning])
def test_what_they_raise_or_warn_of_where_names_are_looked_for_is_not_raised(size: int, error: type[Exception]) -> None:
    """Names that code speaks of are looked for in modules, too, of which it does not mean them."""
    module = types.ModuleType("others")

    def found(name: str) -> Any:
        if not issubclass(error, Warning):
            raise error(name)
        warnings.warn("deprecated", error, stacklevel=2)
        return 1.0

    vars(module).update(__getattr__=found, twice=lambda x: 2 * x)

    def centred(x: Any) -> Any:
        own = module
        return own.twice(x) - x.mean()

    x, traced = np.arange(float(size)), jit(centred)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DeprecationWarning)
            np.testing.assert_array_equal(traced(x), centred(x))
        assert not [each for each in caught if each.category is DeprecationWarning]


def test_what_they_compute_is_watched() -> None:
    module, values = types.ModuleType("computing"), [1.0]
    vars(module)["__getattr__"] = lambda name: values[0]

    def scale(x: Any) -> Any:
        return x * module.gain

    function, x = jit(scale), image(6, 5)
    for gain in (1.0, 2.5, 3.5):
        values[0] = gain
        assert_traced(function, x)
