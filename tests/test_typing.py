"""What a type checker says of a user's schedule: nothing where it is right, and each mistake on its line."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from slinky.sched import primitives
from tools.reference import operations
from tools.signatures import given, signatures

SCRIPTS = Path(__file__).parent / "typed"
ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[tuple[int, str]]]:
    """What mypy says of the scripts: for each, the lines with the codes of their errors.

    Slinky is followed as it is where it is installed, for what it says to those who use it: what is inside of its
    functions is checked by `mypy` itself, in `.ci/run`.
    """
    pytest.importorskip("mypy")
    settings = ["--strict", "--config-file=", "--no-error-summary", "--hide-error-context", "--follow-imports=silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, "schedule.py", "mistakes.py"],
        cwd=SCRIPTS, env=os.environ | {"MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, set[tuple[int, str]]] = {}
    for name, line, code in re.findall(r"^(.+?):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE):
        found.setdefault(name, set()).add((int(line), code))
    return found


def script(name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_typed_schedule_has_no_errors(reported: dict[str, set[tuple[int, str]]]) -> None:
    assert reported.keys() == {"mistakes.py"}


def test_each_mistake_is_reported_on_its_line(reported: dict[str, set[tuple[int, str]]]) -> None:
    lines = (SCRIPTS / "mistakes.py").read_text(encoding="utf-8").splitlines()
    marked = {(n, found[1]) for n, line in enumerate(lines, start=1) if (found := re.search(r"  # ([\w-]+)$", line))}
    assert len(marked) >= 35
    assert reported["mistakes.py"] == marked


def test_a_typed_schedule_runs() -> None:
    module: Any = script("schedule")
    p = module.schedule(module.build())
    assert str(p).endswith(
        "  alloc first: int16[out.y.min - 2 .. out.y.max + 2 fold 3, out.x.min..out.x.max]\n"
        "  alloc second: int16[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min..out.x.max]\n"
        "  for y in out.y.min - 4 .. out.y.max:\n"
        "    first[y + 2, :] = add(inp[y + 2, :])\n"
        "    second[y + 1, :] = blur(first[y .. y + 2, :])\n"
        "    out[y, :] = again(second[y - 1 .. y + 1, :])"
    )
    module.each_primitive(module.build())
    module.each_of_the_library(module.build())
    assert len(module.two_outputs().find_all("for _")) == 1
    assert module.in_parallel(module.build()).find("for y").workers() == 2
    p = module.build()
    assert module.swap(p).same_program(p)


def test_the_stub_of_the_primitives_is_up_to_date() -> None:
    stub = Path(primitives.__file__).with_suffix(".pyi")
    assert stub.read_text(encoding="utf-8") == signatures(), f"run: python -m tools.signatures > {stub}"


def test_every_primitive_is_in_the_stub_twice() -> None:
    for operation in operations():
        assert signatures().count(f"@overload\ndef {operation.__name__}(") == 2


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("LoopCursor", "LoopCursor | str"),
        ("LoopCursor | DimCursor", "LoopCursor | DimCursor | str"),
        ("CallCursor | None", "CallCursor | str | None"),
        ("Expr | None", "ExprLike | None"),
        ("BlockCursor", "BlockArgument"),
        ("list[CallCursor]", "list[CallCursor | str]"),
        ("str | int", "str | int"),
    ],
)
def test_what_is_given_for_an_annotation(written: str, taken: str) -> None:
    assert given(written) == taken
