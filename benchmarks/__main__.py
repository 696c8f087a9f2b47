"""`python -m benchmarks [NAME ...] [--quick] [--json] [--picture FILE]`: run benchmarks, print their tables."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks import harness, picture

BENCHMARKS = {
    "readme": "the figure that the README opens with",
    "dispatch": "the overhead of a loop of a pipeline: copies in pieces of 1 to 32 KB",
    "plans": "making and entering a plan, an allocation in a loop",
    "first": "the time to a first result: functions of twenty operations, and automatic schedules",
    "blur": "separable blurs, 3x3 and 9x9, of a float32 image",
    "elementwise": "a chain of eight operations on float32",
    "functions": "functions that C has loops for: each alone, and among other steps",
    "boundaries": "separable blurs of a float32 image whose edges are mirrored",
    "assembling": "four functions of a float32 matrix, concatenated",
    "softmax": "softmax along the rows of a float32 matrix",
    "layernorm": "layer normalisation along the rows of a float32 matrix",
    "unsharp": "unsharp masking of a colour photograph of 24 megapixels",
    "harris": "Harris corners of a float32 image",
    "filters": "filters of SciPy in functions that are traced",
    "sobel": "Sobel of a uint8 picture of 3840 x 2160, nothing scheduled",
    "stencils": "three 3x3 stencils in a row",
    "pyramid": "four levels down and up again",
    "matmul": "(a x b) x c",
    "workloads": "array code of applications under sl.jit: options, distances, bodies, waves, currents, contrast",
    "ordinary": "ordinary functions of arrays of some megabytes under sl.jit as it is: is it ever slower?",
    "steps": "functions that do a step again and again under sl.jit as it is: simulations, iterations",
    "fields": "functions that make grids of their own under sl.jit as it is: fields, fractals, lines",
    "apps": "twelve applications, as written and by schedules",
    "symbolic": "expressions, proofs and bounds",
    "rewrites": "primitives and forwarding: rates, and growth with the program",
}
"""The registry: each name is a module of this package, with `cases(quick)`, or its own `run(quick)` and `table`."""


PEERS = ("scipy", "opencv-python-headless", "numexpr", "numba", "dask", "halide", "torch")
"""What the extra `bench` installs to compare with."""


def main() -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Run benchmarks and print their tables.", epilog=_catalogue()
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks (all of them)")
    parser.add_argument("--quick", action="store_true", help="small arrays and few rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--picture", metavar="FILE", type=_picture, help="also draw time and memory as bars")
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory")
    parser.add_argument("--peak-of", nargs=2, metavar=("CASE", "SIDE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if options.peak_of:
        return _print_peak(options.names[0], *options.peak_of, quick=options.quick)
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in options.names or BENCHMARKS}
    if options.picture:
        without = [name for name, module in modules.items() if not hasattr(module, "cases")]
        if options.names and without:
            parser.error(f"--picture: {without[0]} compares nothing, so there are no bars to draw")
    rows: list[harness.Row] = []
    results: dict[str, Any] = {}
    for name, module in modules.items():
        if not options.json:
            print(f"\n## {name}: {BENCHMARKS[name]}", flush=True)
        if hasattr(module, "cases"):
            found = _compare(name, module, options)
            rows += found
            results[name] = [dataclasses.asdict(row) for row in found]
        else:
            results[name] = module.run(options.quick)
            if not options.json:
                print(module.table(results[name]), flush=True)
    if options.json:
        print(json.dumps({**_environment(), "quick": options.quick, "benchmarks": results}, indent=1))
    else:
        print(f"\n{_machine()}")
    if options.picture:
        picture.draw(rows, _machine(), options.picture)
    return 0


def _picture(text: str) -> Path:
    """A file that can be written when everything has been measured."""
    path = Path(text)
    try:
        endings = picture.endings()
    except ImportError:
        raise argparse.ArgumentTypeError("pictures need matplotlib: pip install -e '.[plots]'") from None
    if path.suffix.lower() not in endings:
        raise argparse.ArgumentTypeError(f"the picture's name must end in one of {', '.join(endings)}, got {text!r}")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write {text!r}")
    return path


def _compare(name: str, module: Any, options: argparse.Namespace) -> list[harness.Row]:
    """Measure all cases of a benchmark; print a table for each as soon as it is there."""
    rows: list[harness.Row] = []
    for case in module.cases(options.quick):

        def peak(side: str, case: harness.Case = case) -> int | None:
            return None if options.no_memory else harness.measured_peak(name, case.name, side, options.quick)

        seconds, rounds = (1.0, 3) if options.quick else (6.0, 7)
        found = harness.measure(case, seconds, rounds, peak)
        rows += found
        if not options.json and not hasattr(module, "table"):
            print(harness.table(found), flush=True)
    if not options.json and hasattr(module, "table"):
        print(module.table(rows), flush=True)
    return rows


def _print_peak(name: str, case_name: str, side: str, *, quick: bool) -> int:
    module = importlib.import_module(f"benchmarks.{name}")
    case = next(case for case in module.cases(quick) if case.name == case_name)
    print(harness.peak_of(case.make(), side))
    return 0


def _catalogue() -> str:
    return "benchmarks:\n" + "\n".join(f"  {name:12} {what}" for name, what in BENCHMARKS.items())


def _environment() -> dict[str, Any]:
    """The machine, and the versions of everything that is compared."""
    versions: dict[str, str | None] = {}
    for package in ("slinky", "numpy", *PEERS):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {"machine": _machine(), "versions": versions}


def _machine() -> str:
    """What it ran on."""
    import numpy as np

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores; Python {platform.python_version()}, NumPy {np.__version__}"


if __name__ == "__main__":
    sys.exit(main())
