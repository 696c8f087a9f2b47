"""`python -m benchmarks.apps.tuning [NAME ...] [--seconds N] [--tune]`: how fast each setting of a schedule by hand is.

The settings of an application take turns on its full size, for a minute or as long as is said. What counts is the time
of the processor, which is the same whoever else is on the machine. What is printed last is the fastest; it belongs into
the application as `chosen`. With `--tune`, what is found by `sl.tune` in that time takes turns with it instead.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from unittest import mock

import attrs

import slinky as sl
from benchmarks.apps import NAMES, load
from benchmarks.apps.app import App, Setting


def measure(app: App, seconds: float) -> dict[Setting, float]:
    """The median of the processor's seconds for a run, by setting."""
    arrays = app.arrays(app.full)
    whole = app.build()
    scheduled = {setting: app.by_hand(whole, setting) for setting in app.settings}
    times: dict[Setting, list[float]] = {setting: [] for setting in app.settings}
    for p in scheduled.values():
        p(*arrays)
    begin = time.perf_counter()
    while not times[app.settings[-1]] or time.perf_counter() - begin < seconds:
        for setting, p in scheduled.items():
            start = time.process_time()
            p(*arrays)
            times[setting].append(time.process_time() - start)
    return {setting: statistics.median(found) for setting, found in times.items()}


@attrs.frozen
class Paired:
    """What `sl.tune` found, and how fast it is where the schedule by hand is 1: the median of rounds, and between which
    values that lies with 95 % certainty."""

    found: sl.Pipeline
    speed: float
    least: float
    most: float

    def __str__(self) -> str:
        best = sl.explain(self.found).measured[0]
        return f"tuned over by hand {self.speed:.2f} ({self.least:.2f} to {self.most:.2f}); {best}"


def tuned_over_by_hand(app: App, seconds: float) -> Paired:
    """Tune an application for so many seconds of the processor, and let it take turns with the schedule by hand."""
    arrays = app.arrays(app.full)
    whole = app.build()
    with mock.patch("slinky.sched.tuning.clock", time.process_time):
        tuned = sl.tune(whole, *arrays, budget_s=seconds, workers=1)
    sides = (tuned, app.by_hand(whole, app.chosen))
    ratios: list[float] = []
    for p in sides:
        p(*arrays)
    begin = time.perf_counter()
    while len(ratios) < LEAST_ROUNDS or time.perf_counter() - begin < seconds:
        times = []
        for p in sides if len(ratios) % 2 else reversed(sides):
            start = time.process_time()
            p(*arrays)
            times.append(time.process_time() - start)
        ratios.append(times[1] / times[0] if len(ratios) % 2 else times[0] / times[1])
    ratios.sort()
    beyond = max(int((len(ratios) - 1.96 * math.sqrt(len(ratios))) / 2), 0)
    return Paired(tuned, statistics.median(ratios), ratios[beyond], ratios[-1 - beyond])


LEAST_ROUNDS = 11
"""How many rounds there are in any case: with fewer, the interval is that of all of them."""


def main() -> None:
    """Tune the applications named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.apps.tuning", description="Find settings of schedules.")
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which applications (all of them)")
    parser.add_argument("--seconds", type=float, default=60, help="how long for each")
    parser.add_argument("--tune", action="store_true", help="compare with what sl.tune finds")
    options = parser.parse_args()
    for name in options.names or NAMES:
        app = load(name)
        if options.tune:
            print(f"{name}: {tuned_over_by_hand(app, options.seconds)}", flush=True)
            continue
        found = measure(app, options.seconds)
        cells = ", ".join(f"{setting}: {seconds * 1e3:.1f} ms" for setting, seconds in found.items())
        best = min(found, key=lambda setting: found[setting])
        print(f"{name}: {cells}\n  fastest {best}, chosen {app.chosen}", flush=True)


if __name__ == "__main__":
    main()
