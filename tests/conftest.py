"""Settings for all tests.

Property tests try the same examples on every run, so that a change of the code is the only thing that can turn a test
red. `HYPOTHESIS_PROFILE=thorough` tries many more, and other ones each time. How many a property needs is said as a
multiple of the profile's.

Many tests collect garbage, to see that memory is given back. That takes as long as there are objects to look at, so
what stays anyway is not looked at, and what one module left in caches is forgotten before the next one.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("default", derandomize=True, database=None, max_examples=60, **_COMMON)
settings.register_profile("thorough", derandomize=False, max_examples=3000, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_finish() -> None:
    """What importing has made is no garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def forget() -> Iterator[None]:
    """Empty the caches of slinky's modules when the tests of a module have run."""
    yield
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "slinky":
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
