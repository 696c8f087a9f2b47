"""Settings for all tests.

Property tests try the same examples on every run, so that a change of the code is the only thing that can turn a test
red. `HYPOTHESIS_PROFILE=thorough` tries many more, and other ones each time.
"""

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("default", derandomize=True, database=None, max_examples=100, **_COMMON)
settings.register_profile("thorough", derandomize=False, max_examples=3000, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
