"""`python -m benchmarks.apps.tuning [NAME ...] [--seconds N]`: how fast each setting of a schedule by hand is.

The settings of an application take turns on its full size, for a minute or as long as is said. What counts is the time
of the processor, which is the same whoever else is on the machine. What is printed last is the fastest; it belongs into
the application as `chosen`.
"""

from __future__ import annotations

import argparse
import statistics
import time

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


def main() -> None:
    """Tune the applications named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.apps.tuning", description="Find settings of schedules.")
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which applications (all of them)")
    parser.add_argument("--seconds", type=float, default=60, help="how long for each")
    options = parser.parse_args()
    for name in options.names or NAMES:
        app = load(name)
        found = measure(app, options.seconds)
        cells = ", ".join(f"{setting}: {seconds * 1e3:.1f} ms" for setting, seconds in found.items())
        best = min(found, key=lambda setting: found[setting])
        print(f"{name}: {cells}\n  fastest {best}, chosen {app.chosen}", flush=True)


if __name__ == "__main__":
    main()
