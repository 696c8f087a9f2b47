import time, sys
import numpy as np
from benchmarks.plans import ten_operations
import slinky as sl

ten_operations(0.123).compile(backend="native")
ps = [ten_operations(0.2 + i / 100) for i in range(6)]
ps[0].compile(backend="native")
for p in ps:
    q = sl.Pipeline(p.program)
    r = sl.Pipeline(p.program)
    t = time.perf_counter()
    p.compile(backend="native")
    a = time.perf_counter()
    q.compile(backend="native")
    b = time.perf_counter()
    r.compile()
    c = time.perf_counter()
    print(f"cold {1e3 * (a - t):.1f} again {1e3 * (b - a):.1f} python {1e3 * (c - b):.1f}")
p = ten_operations(0.777)
p.compile(backend="native")
