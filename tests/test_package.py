"""What importing the package brings along, and what it offers."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slinky as sl
from tools.reference import operations

PACKAGE = Path(sl.__file__).parent


def test_importing_needs_nothing_but_attrs_numpy_and_the_standard_library() -> None:
    code = """
import json, sys
import attr, numpy
before = set(sys.modules)
import slinky
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    foreign = set(json.loads(done.stdout)) - sys.stdlib_module_names - {"slinky", "attr", "attrs", "numpy"}
    assert not foreign


def test_importing_leaves_json_to_those_who_ask_for_it() -> None:
    code = "import sys, slinky; print([m for m in sys.modules if 'stored' in m or 'serialisation' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_core_depends_on_attrs_and_numpy_only() -> None:
    required = [r for r in importlib.metadata.requires("slinky") or () if "extra ==" not in r]
    assert sorted(re.split(r"[<>=! ]", r)[0] for r in required) == ["attrs", "numpy"]


def test_the_version_is_the_one_installed() -> None:
    assert sl.__version__ == importlib.metadata.version("slinky")


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def in_order(names: list[str]) -> list[str]:
    """Names in the order that the linter asks for: constants first."""
    return sorted(names, key=lambda name: (not name.isupper(), name))


def test_public_names() -> None:
    assert sl.__all__ == in_order(sl.__all__)
    for name in sl.__all__:
        assert getattr(sl, name).__doc__, f"{name} has no documentation"


def test_every_error_is_a_slinky_error() -> None:
    errors = [value for name in sl.__all__ if isinstance(value := getattr(sl, name), type) and name.endswith("Error")]
    assert len(errors) >= 10
    assert all(issubclass(error, sl.SlinkyError) for error in errors)


@pytest.mark.parametrize("room", ["slinky.sched", "slinky.symbolic"])
def test_the_front_doors_of_rooms(room: str) -> None:
    """What a room offers can be imported from it alone, in a process that has imported nothing else."""
    offered = importlib.import_module(room).__all__
    assert offered == in_order(offered)
    code = f"from {room} import {', '.join(offered)}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_primitives_are_offered_by_the_room_of_schedules() -> None:
    names = {operation.__name__ for operation in operations()}
    assert names <= set(importlib.import_module("slinky.sched").__all__)
    assert names <= set(sl.__all__)
