"""The reference page is made of the docstrings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import slinky as sl
from slinky.sched.records import ReturnedCursors
from tools.reference import reference

SCHEDULES = Path(__file__).parent.parent / "docs" / "schedules.md"
PAGE = Path(__file__).parent.parent / "docs" / "primitives.md"


def test_the_page_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference(), f"run: python -m tools.reference > {PAGE}"


def test_the_page_can_be_made_from_a_shell() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.reference"], cwd=PAGE.parent.parent, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == reference()


def test_every_operation_of_the_package_is_on_the_page() -> None:
    for name, value in vars(sl).items():
        record = getattr(value, "cursors", None)
        if isinstance(record, type) and issubclass(record, ReturnedCursors):
            if value.__module__ in ("slinky.sched.defaults", "slinky.sched.library"):
                assert f"`sl.{name}" in SCHEDULES.read_text(encoding="utf-8")
                continue
            assert f"### `{name}`\n" in reference()
            for field in record.fields():
                assert f"- `{field}`: " in reference().partition(f"### `{name}`\n")[2].partition("### ")[0]
