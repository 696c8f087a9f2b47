"""What importing the package brings along, and what it offers."""

from __future__ import annotations

import ast
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


def test_what_numpy_loads_later_stays_unloaded_from_a_trace_to_its_results() -> None:
    code = """
import sys
import numpy as np
import slinky as sl
image = np.ones((100, 100))
f = sl.jit(lambda a: a[1:] + a[:-1], machine=sl.Machine(), smallest=0)
assert (f(image) == 2).all()
print([m for m in ("numpy.ma", "numpy.random", "statistics") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


LATER = ("slinky.frontend", "slinky.sched.automatic", "slinky.sched.library", "slinky.sched.tuning", "slinky.verifying")


@pytest.mark.parametrize("room", ["slinky", "slinky.sched"])
def test_rooms_that_few_need_are_loaded_for_those_who_ask(room: str) -> None:
    code = f"""
import sys, {room} as room
print(*(m for m in {LATER!r} if m in sys.modules))
listed = set(dir(room))
lacking = set(room.__all__) - listed
assert not lacking, lacking
first = {{name: getattr(room, name) for name in room.__all__}}
assert all(vars(room)[name] is value for name, value in first.items())
assert set(dir(room)) >= listed
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("room", ["slinky", "slinky.sched"])
def test_type_checkers_see_the_names_that_are_loaded_later(room: str) -> None:
    """What is imported for type checkers alone is what a table says, from the same modules."""
    tree = ast.parse(Path(importlib.import_module(room).__file__ or "").read_text())
    (choice,) = (node for node in tree.body if isinstance(node, ast.If))
    seen: dict[str, set[str]] = {}
    for node in choice.body:
        assert isinstance(node, ast.ImportFrom)
        seen.setdefault(node.module or "", set()).update(each.name for each in node.names)
    (table,) = (node for node in ast.walk(choice.orelse[0]) if isinstance(node, ast.Dict))
    for module, names in ast.literal_eval(table).items():
        package, _, name = module.rpartition(".")
        from_there = seen[module] if names else seen[package]
        given = names.split() or [name]
        assert from_there >= set(given)
        from_there.difference_update(given)
    assert not any(seen.values())


def test_a_name_that_is_nowhere_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'slinky' has no attribute 'no_such_name'"):
        _ = sl.no_such_name


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


TEXTS = ("open", "read_text", "write_text", "NamedTemporaryFile", "Popen", "run")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_texts_are_in_one_encoding_wherever_a_process_runs(path: Path) -> None:
    """That of the system is another one with each locale."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = {each.arg for each in node.keywords}
            modes = [each.value for each in node.args if isinstance(each, ast.Constant)]
            is_text = name in TEXTS and not any(isinstance(mode, str) and "b" in mode for mode in modes)
            is_text &= name not in ("run", "Popen") or bool(given & {"text", "universal_newlines"})
            assert not is_text or "encoding" in given or None in given, f"line {node.lineno}"


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
