"""Benchmarks: `python -m benchmarks [NAME ...] [--quick] [--json]`. See docs/benchmarks.md.

NumPy's matrix products run on one thread, so that a side uses the threads that its name says.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
