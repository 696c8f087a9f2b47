"""Benchmarks compare what is comparable: all sides agree. And the picture shows what was measured.

The command runs from nothing where it measures, else in copies of a process that has imported slinky (see `warm`).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from warm import Warm, cold

ROOT = Path(__file__).parent.parent
COMPARED = sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if "\ndef cases(" in p.read_text(encoding="utf-8"))
SVG = "{http://www.w3.org/2000/svg}"

CHECK = """
import importlib, sys
from benchmarks import harness
for case in importlib.import_module(f"benchmarks.{sys.argv[1]}").cases(quick=True):
    sides = case.make()
    assert len({side.name for side in sides}) == len(sides) > 1
    harness.check(case, sides)
    print("agree:", case.name)
"""


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    """Runs parts of the benchmarks; the others' packages are imported where they are there."""
    with Warm("numpy", "slinky", "scipy.ndimage", "numba", "cv2", "numexpr", "dask.array") as it:
        yield it


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run from nothing."""
    return cold(*arguments, cwd=ROOT)


def texts(picture: ElementTree.Element) -> list[str]:
    """All texts of an SVG."""
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def bars(picture: ElementTree.Element, column: int) -> list[tuple[float, str]]:
    """Length and colour of each bar of a column."""
    found: list[tuple[float, str]] = []
    for path in picture.findall(f".//{SVG}g[@id='axes_{column}']/{SVG}g/{SVG}path"):
        across = [float(x) for x in re.findall(r"[ML] (\S+) \S+", path.get("d", ""))]
        found.append((max(across) - min(across), re.findall(r"fill: (#\w+)", path.get("style", ""))[0]))
    return found


@pytest.mark.parametrize("name", COMPARED)
def test_all_sides_agree(warm: Warm, name: str) -> None:
    done = warm.run("-c", CHECK, name, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "agree: " in done.stdout


def test_sides_that_differ_are_not_timed(warm: Warm) -> None:
    done = warm.run(
        "-c",
        "import numpy as np; from benchmarks.harness import *\n"
        "kept = np.ones(3)\n"
        "lazy = lambda: kept  # shows what another side left\n"
        "sides = [Side('right', lambda: np.add(0, 1, out=kept, where=[True] * 3)), Side('lazy', lazy)]\n"
        "measure(Case('case', lambda: sides), 0, 1, lambda side: None)",
        cwd=ROOT,
    )
    assert done.returncode == 1
    assert "DisagreementError: case: lazy differs from right by 1.0" in done.stderr


def test_the_figure_of_the_readme(tmp_path: Path) -> None:
    done = python("-m", "benchmarks", "readme", "--quick", "--json", "--picture", tmp_path / "bars.svg")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["benchmarks"]["readme"]
    ours = ["pipeline, not scheduled", "pipeline, scheduled", "scheduled, 2 threads", "as written, sl.jit, native"]
    sides = ["NumPy as written", *ours]
    assert [row["side"] for row in rows] == 2 * sides
    for written, _, *scheduled in (rows[:5], rows[5:]):
        for row in scheduled:
            assert row["peak_bytes"] is None or row["peak_bytes"] < written["peak_bytes"] / 5

    picture = ElementTree.parse(tmp_path / "bars.svg").getroot()
    drawn = texts(picture)
    assert [text for text in drawn if text in sides] == 2 * sides
    assert [text for text in drawn if text in (rows[0]["case"], rows[5]["case"])] == [rows[0]["case"], rows[5]["case"]]
    columns = ["seconds"] if rows[0]["peak_bytes"] is None else ["seconds", "peak_bytes"]
    for number, column in enumerate(columns, start=1):
        found = bars(picture, number)
        assert len(found) == 10
        for group, (first, *others) in ((rows[:5], found[:5]), (rows[5:], found[5:])):
            values = [row[column] for row in group]
            longest = max(length for length, _ in (first, *others))
            for value, (length, _) in zip(values, (first, *others), strict=True):
                assert length == pytest.approx(longest * max(value / max(values), 0.008), abs=0.1)
            fastest = min(group[1:], key=lambda row: row["seconds"])
            best = {colour for row, (_, colour) in zip(group[1:], others, strict=True) if row is fastest}
            worse = {colour for row, (_, colour) in zip(group[1:], others, strict=True) if row is not fastest}
            assert len(best) == 1
            assert not best & worse
            assert first[1] not in best | worse


DRAW = """
import sys
from pathlib import Path
from benchmarks.harness import Row
from benchmarks.picture import draw
assert "matplotlib" not in sys.modules, "only who asks for a picture pays for it"
rows = [
    Row("case", "first", 0.152, 1.0, None, 301_800_000),
    Row("case", "<b> & $x$", 0.0397, 1 / 3.1, None, 0),
    Row("case", "second", 0.124, 1 / 1.2, None, 301_700_000),
    Row("another", "first", 2e-6, 1.0, None, 0),
]
for name in sys.argv[1:]:
    draw(rows, "a machine", Path(name))
"""


def test_the_picture_says_what_was_measured_and_is_the_same_every_time(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("bars.svg", "again.svg", "BARS.SVG", "bars.png", "bars.pdf")]
    done = python("-c", DRAW, *files)
    assert done.returncode == 0, done.stderr
    svg, *same, png, pdf = (file.read_bytes() for file in files)
    assert same == [svg, svg]
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    assert sorted(texts(ElementTree.fromstring(svg))) == sorted(
        [
            *("time, and how many times faster", "peak memory beyond inputs and outputs", "a machine"),
            *("case", "first", "<b> & $x$", "second", "another", "first"),
            *("152 ms", "39.7 ms (3.1×)", "124 ms (1.2×)", "2 µs", "301.8 MB", "0 KB", "301.7 MB", "0 KB"),
        ]
    )


def test_a_picture_without_matplotlib_is_refused_before_anything_is_measured(warm: Warm, tmp_path: Path) -> None:
    hidden = "import runpy, sys; sys.modules['matplotlib'] = None; runpy.run_module('benchmarks', run_name='__main__')"
    done = warm.run("-c", hidden, "readme", "--quick", "--picture", tmp_path / "bars.svg", cwd=ROOT)
    assert done.returncode == 2
    assert "argument --picture: pictures need matplotlib: pip install -e '.[plots]'" in done.stderr
    assert not done.stdout
    assert "usage: " in warm.run("-c", hidden, "--help", cwd=ROOT).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no benchmark 'nothing'; there are readme, dispatch, "),
        (["readme", "--picture", "bars.txt"], ".svg, .svgz, .tif, .tiff, .webp, got 'bars.txt'"),
        (["readme", "--picture", "bars"], "the picture's name must end in one of "),
        (["readme", "--picture", "nowhere/bars.svg"], "cannot write 'nowhere/bars.svg'"),
        (["plans", "--picture", "bars.svg"], "plans compares nothing, so there are no bars to draw"),
    ],
)
def test_arguments_that_make_no_sense(warm: Warm, arguments: list[str], message: str) -> None:
    done = warm.run("-m", "benchmarks", *arguments, cwd=ROOT)
    assert done.returncode == 2
    assert message in done.stderr
    assert not done.stdout
