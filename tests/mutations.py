"""Are the tests true? Breaks one line of slinky at a time, and runs the tests that ought to notice.

    python tests/mutations.py                # all of them, two at a time: an hour or less
    python tests/mutations.py races folds    # those whose names begin like this
    python tests/mutations.py --list

Each mutation (see `mutants`) is made in a temporary copy of the repository, never in the work tree. It is *killed* if a
test fails, or does not end. One that survives is explained, or a test is missing; one whose text is not found exactly
once has been overtaken by the code. Both end this script with status 1, and so do tests that fail with nothing broken.
It is no part of the test suite.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import mutants_of_copies
import mutants_of_kept
import mutants_of_native
import mutants_of_programs
import mutants_of_reductions
import mutants_of_rewrites
import mutants_of_runs
import mutants_of_state
import mutants_of_traces
from mutants import Mutant

MUTANTS = [
    *mutants_of_programs.MUTANTS,
    *mutants_of_rewrites.MUTANTS,
    *mutants_of_copies.MUTANTS,
    *mutants_of_reductions.MUTANTS,
    *mutants_of_native.MUTANTS,
    *mutants_of_runs.MUTANTS,
    *mutants_of_state.MUTANTS,
    *mutants_of_traces.MUTANTS,
    *mutants_of_kept.MUTANTS,
]
ROOT = Path(__file__).resolve().parents[1]
COPIED = ("slinky", "tests", "examples", "tools", "docs", "benchmarks", "pyproject.toml", "README.md")
LONGEST = 300
"""Tests that run longer than so many seconds, on a mutation that may have made a loop endless, count as failed."""

WIDTH = 110


def copy_of_the_repository(place: Path) -> Path:
    """The package and what its tests need, to be broken."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=ignored)
        elif source.exists():
            shutil.copy(source, place / name)
    # Most of it never changes. What does is told by its hash: a file may be broken and mended within one second.
    compileall.compile_dir(place / "slinky", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    return place


def first_failure(place: Path, tests: Sequence[str]) -> str | None:
    """The first test that fails in a copy, of files that are run one by one; None if all pass."""
    return next(filter(None, (failure(place, test) for test in tests)), None)


def failure(place: Path, test: str) -> str | None:
    """The first test of a file that fails in a copy; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    try:
        run = subprocess.run(
            [*command, test], cwd=place, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return "the tests do not end"
    if run.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
    return found[1] if found else f"pytest ends with {run.returncode}"


def verdict(mutant: Mutant, place: Path) -> tuple[bool, str]:
    """Whether all is well with a mutation, and what is to be said of it."""
    path = place / mutant.file
    text = path.read_text() if path.exists() else ""
    count = text.count(mutant.old)
    if count != 1:
        return False, f"STALE: the old text is found {count} times in {mutant.file}"
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        killer = first_failure(place, mutant.tests)
    finally:
        path.write_text(text)
    if killer is not None:
        return True, f"killed by {killer}" + ("; it is explained as harmless" if mutant.explained else "")
    return (True, f"survived: {mutant.explained}") if mutant.explained else (False, "SURVIVED")


def judged(mutants: Iterable[Mutant], jobs: int) -> bool:
    """Print what becomes of each mutation, as it is known; whether all is well."""
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(jobs) as pool:
        places: SimpleQueue[Path] = SimpleQueue()
        for n in range(jobs):
            places.put(copy_of_the_repository(Path(directory) / str(n)))

        def judge(mutant: Mutant) -> tuple[Mutant, bool, str]:
            place = places.get()
            try:
                return mutant, *verdict(mutant, place)
            finally:
                places.put(place)

        place = places.get()
        broken = first_failure(place, sorted({test for mutant in mutants for test in mutant.tests}))
        places.put(place)
        if broken is not None:
            print(f"with nothing broken, {broken} fails")
            return False
        outcomes = []
        for mutant, is_well, words in pool.map(judge, mutants):
            print(textwrap.fill(f"{mutant.name:34} {words}", WIDTH, subsequent_indent=" " * 35), flush=True)
            outcomes.append((is_well, words))
    killed = sum(words.startswith("killed") for _, words in outcomes)
    bad = sum(not is_well for is_well, _ in outcomes)
    print(f"{len(outcomes)} mutations: {killed} killed, {len(outcomes) - killed - bad} explained, {bad} to look at")
    return bad == 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Break slinky line by line, and see which test notices.")
    parser.add_argument("names", nargs="*", help="how the names of mutations begin (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time")
    parser.add_argument("--list", action="store_true", help="say what is broken, and break nothing")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.names or m.name.startswith(tuple(options.names))]
    if not chosen:
        parser.error("no mutation is called like this")
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name:34} {mutant.file}" + (f"\n    {mutant.explained}" if mutant.explained else ""))
        return 0
    return 0 if judged(chosen, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
