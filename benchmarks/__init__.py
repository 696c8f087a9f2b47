"""Benchmarks: `python -m benchmarks [NAME ...] [--quick] [--json] [--picture FILE]`. See docs/benchmarks.md.

A side uses the threads that its name says, on any machine: NumPy's matrix products run on one, the pool has two.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["SLINKY_NUM_THREADS"] = "2"
