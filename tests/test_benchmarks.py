"""Benchmarks compare what is comparable: all sides agree. And the picture shows what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

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


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("name", COMPARED)
def test_all_sides_agree(name: str) -> None:
    done = python("-c", CHECK, name)
    assert done.returncode == 0, done.stderr
    assert "agree: " in done.stdout


def test_sides_that_differ_are_not_timed() -> None:
    done = python(
        "-c",
        "import numpy as np; from benchmarks.harness import *\n"
        "kept = np.ones(3)\n"
        "lazy = lambda: kept  # shows what another side left\n"
        "sides = [Side('right', lambda: np.add(0, 1, out=kept, where=[True] * 3)), Side('lazy', lazy)]\n"
        "measure(Case('case', lambda: sides), 0, 1, lambda side: None)",
    )
    assert done.returncode == 1
    assert "DisagreementError: case: lazy differs from right by 1.0" in done.stderr


def test_the_figure_of_the_readme(tmp_path: Path) -> None:
    done = python("-m", "benchmarks", "readme", "--quick", "--json", "--picture", tmp_path / "bars.svg")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["benchmarks"]["readme"]
    sides = ["NumPy as written", "pipeline, not scheduled", "pipeline, scheduled"]
    assert [row["side"] for row in rows] == 2 * sides
    for written, _, scheduled in (rows[:3], rows[3:]):
        assert scheduled["peak_bytes"] is None or scheduled["peak_bytes"] < written["peak_bytes"] / 5

    picture = ElementTree.parse(tmp_path / "bars.svg").getroot()
    texts = {kind: [t.text for t in picture.iter(f"{SVG}text") if t.get("class") == kind] for kind in ("case", "side")}
    assert texts["side"] == 2 * sides
    assert texts["case"] == [rows[0]["case"], rows[3]["case"]]
    lengths = [float(bar.get("width", "")) for bar in picture.iter(f"{SVG}rect") if bar.get("class") != "page"]
    times = lengths if rows[0]["peak_bytes"] is None else lengths[::2]
    for group, drawn in ((rows[:3], times[:3]), (rows[3:], times[3:])):
        slowest = max(row["seconds"] for row in group)
        assert drawn == pytest.approx([max(drawn) * row["seconds"] / slowest for row in group], abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no benchmark 'nothing'; there are readme, dispatch, "),
        (["readme", "--picture", "bars.png"], "the picture is an SVG, so its name must end in .svg, got 'bars.png'"),
        (["readme", "--picture", "nowhere/bars.svg"], "cannot write 'nowhere/bars.svg'"),
        (["plans", "--picture", "bars.svg"], "plans compares nothing, so there are no bars to draw"),
    ],
)
def test_arguments_that_make_no_sense(arguments: list[str], message: str) -> None:
    done = python("-m", "benchmarks", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
