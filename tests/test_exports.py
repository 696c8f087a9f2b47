"""Traced functions in processes that must not compile: what is exported is found again, or refused with a reason."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl
from slinky.frontend import choosing, exporting
from slinky.frontend.captures import captured
from slinky.frontend.tracing import Plans
from slinky.native import compiling

ROOT = Path(__file__).parent.parent
SECONDS = 120

PROGRAM = """
import numpy as np, slinky as sl

def soft(image, gain=0.5):
    inner = image[1:-1, 1:-1]
    near = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
    found = np.maximum(inner + gain * (inner - near), 0)
    return found, np.sort(found, axis=1), np.exp(found.astype(np.float64) * 0.5) + 1

def traced(**options):
    return sl.jit(smallest=0, workers=1, machine=sl.Machine(), **options)(soft)

def images():
    shapes = [(40, 30), (9, 70)]
    return [np.random.default_rng(n).normal(size=shape).astype(np.float32) for n, shape in enumerate(shapes)]
"""

WRITES = """
import sys
import types
from program import *
function = traced(**eval(sys.argv[2]))
for image in images():
    results = function(image)
    np.savez(f"{sys.argv[1]}/{image.shape[0]}.npz", *results)
print(*function.export(f"{sys.argv[1]}/export"), sep="\\n")
"""

READS = """
import sys
import types
from program import *
from slinky.sched import automatic, auto_pipeline

def made(*given, **named):
    raise AssertionError("it is scheduled again")

auto_pipeline.auto_schedule = made
function = traced(**eval(sys.argv[2]))
function.load(f"{sys.argv[1]}/export")
for image in images():
    expected = np.load(f"{sys.argv[1]}/{image.shape[0]}.npz")
    for found, wanted in zip(function(image), expected.values(), strict=True):
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
print(any(getattr(plan, "runs_c", False) for t in function._traces for plan in t.scheduled.values()))
"""


def run(folder: Path, text: str, *given: str, **environment: str) -> str:
    (folder / "program.py").write_text(PROGRAM)
    path = f"{ROOT}{os.pathsep}{folder}"
    variables = {**os.environ, "PYTHONPATH": path, "SLINKY_CACHE": str(folder / "cache"), **environment}
    command = [sys.executable, "-W", "error", "-c", text, str(folder), *given]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_compiler
@pytest.mark.parametrize("native", [None, True, False])
def test_a_process_without_a_compiler(tmp_path: Path, native: Any) -> None:
    """It has neither a compiler nor a cache, and schedules nothing: results are those of the first process."""
    options = repr({"native": native})
    told = run(tmp_path, WRITES, options)
    assert [line[:21] for line in told.splitlines()] == ["image: float32[40, 30", "image: float32[9, 70]"]
    libraries = list((tmp_path / "export").glob("*.so"))
    assert bool(libraries) == (native is not False)
    assert all(each.with_suffix(".c").exists() for each in libraries)
    cache = str(tmp_path / "none")
    told = run(tmp_path, READS, options, CC="/nonexistent", SLINKY_CACHE=cache, SLINKY_NATIVE="1")
    assert told == f"{native is not False}\n"
    assert not Path(cache).exists()


@needs_compiler
def test_arrays_for_which_nothing_was_exported_start_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, others = sl.jit(smallest=0, native=True)(curve), np.linspace(-1, 1, 5000)
    function(VALUES)
    function.export(tmp_path / "export")
    loaded = sl.jit(smallest=0, native=True)(curve)
    loaded.load(tmp_path / "export")
    monkeypatch.setenv("CC", "/nonexistent")
    for values in (VALUES, others):
        np.testing.assert_array_equal(loaded(values), curve(values), strict=True)
    assert loaded.explain(VALUES).endswith(
        "scheduled as it was where it was exported\nruns in C as far as that is known"
    )
    assert "scheduled as it was" not in loaded.explain(others)


# ----------------------------------------------------------------------------------------------------------------
# What is refused
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _own_pipelines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choosing, "PLANS", Plans())
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))


def curve(a: Any) -> Any:
    return np.maximum(a * 2 + 1, 0) * a


def jit(function: Any = curve, **options: Any) -> Any:
    return sl.jit(smallest=0, workers=1, machine=sl.Machine(), **options)(function)


VALUES = np.linspace(-1, 1, 1000)


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    function = jit()
    function(VALUES)
    assert function.export(tmp_path / "export") == ("a: float64[1000], multiply_result_1: float64[1000]",)
    return tmp_path / "export"


def page(folder: Path) -> Path:
    (found,) = folder.glob("*.contents.json")
    return found


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


def cut(folder: Path, suffix: str) -> None:
    found = next(each for each in sorted(folder.glob(f"*{suffix}")) if "contents" not in each.name)
    found.write_bytes(found.read_bytes()[:-3])


def missing(folder: Path) -> None:
    next(folder.glob("*.so")).unlink()


def damaged(folder: Path) -> None:
    page(folder).write_text(page(folder).read_text()[:-20])


def elsewhere(folder: Path) -> None:
    files = json.loads(page(folder).read_text())["files"]
    change(page(folder), files={**files, "../evil.so": "0" * 64})


def unscheduled(folder: Path, schedule: object = "0" * 64 + ".json") -> None:
    entries = json.loads(page(folder).read_text())["entries"]
    change(page(folder), entries=[{**each, "schedule": schedule} for each in entries])


CHANGES: dict[str, tuple[Any, str]] = {
    "another version": (lambda f: change(page(f), slinky="0.0.1"), "another version of slinky wrote it"),
    "another format": (lambda f: change(page(f), version=99), "no export that this slinky reads"),
    "another processor": (lambda f: change(page(f), processor="z80"), "compiled for another processor"),
    "a library cut": (lambda f: cut(f, ".so"), "is not what was exported"),
    "a text cut": (lambda f: cut(f, ".c"), "is not what was exported"),
    "a schedule cut": (lambda f: cut(f, ".json"), "is not what was exported"),
    "a library missing": (missing, "is missing"),
    "no JSON": (damaged, "is damaged: it is no JSON"),
    "a list": (lambda f: page(f).write_text("[]"), "no export that this slinky reads"),
    "a file elsewhere": (elsewhere, "it names the file '../evil.so'"),
    "no such schedule": (unscheduled, "names a schedule that is not there"),
    "a schedule that is no name": (lambda f: unscheduled(f, []), "names a schedule that is not there"),
    "no files": (lambda f: change(page(f), files=3), "files is 3"),
    "no entries": (lambda f: change(page(f), entries=None), "entries is None"),
    "an entry of nothing": (lambda f: change(page(f), entries=[3]), "names a schedule that is not there"),
    "no compiler's words": (lambda f: change(page(f), compiler={}), "command is None"),
    "open to others": (lambda f: f.chmod(0o777), "others than you can write to it"),
    "contents open to others": (lambda f: page(f).chmod(0o666), r"contents\.json is not loaded: others than you can"),
    "a library open to others": (lambda f: next(f.glob("*.so")).chmod(0o666), "others than you can write to it"),
}


@needs_compiler
@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_fit(exported: Path, name: str) -> None:
    change_it, why = CHANGES[name]
    change_it(exported)
    function = jit()
    with pytest.raises(sl.ExportError, match=why):
        function.load(exported)
    np.testing.assert_array_equal(function(VALUES), curve(VALUES))


@needs_compiler
def test_a_compiler_called_otherwise_has_made_other_libraries(exported: Path) -> None:
    """Also by a name that is no text: of none of these is one loaded."""
    for command in (["another"], ["\udcff"]):
        compiler = json.loads(page(exported).read_text())["compiler"]
        change(page(exported), compiler={**compiler, "command": command})
        function = jit()
        function.load(exported)
        np.testing.assert_array_equal(function(VALUES), curve(VALUES))
        assert "runs in C" not in function.explain(VALUES)


def replaced(folder: Path) -> None:
    next(folder.glob("*.so")).write_bytes(b"anything")


SINCE = {
    "another library": replaced,
    "a library missing": missing,
    "open to others": lambda f: f.chmod(0o777),
    "a library open to others": lambda f: next(f.glob("*.so")).chmod(0o666),
}


@needs_compiler
@pytest.mark.parametrize("name", SINCE)
def test_what_is_changed_after_it_was_looked_at_is_not_loaded(exported: Path, name: str) -> None:
    """Libraries are loaded when they are first needed, which may be long after `load`."""
    function = jit()
    function.load(exported)
    SINCE[name](exported)
    np.testing.assert_array_equal(function(VALUES), curve(VALUES))
    assert "runs in C" not in function.explain(VALUES)
    again = jit()
    with pytest.raises(sl.ExportError):
        again.load(exported)


@needs_compiler
def test_another_function(exported: Path) -> None:
    def other(a: Any) -> Any:
        return a + 1

    with pytest.raises(sl.ExportError, match=r"has no export of .*other"):
        jit(other).load(exported)
    other.__module__, other.__qualname__ = curve.__module__, curve.__qualname__
    with pytest.raises(sl.ExportError, match="the source of the function was another one"):
        jit(other).load(exported)
    for options in ({"native": True}, {"exact": True}, {"max_bytes": 1 << 20}):
        with pytest.raises(sl.ExportError, match="the function was decorated otherwise"):
            jit(**options).load(exported)
    with pytest.raises(sl.ExportError, match="has no export of"):
        jit().load(exported / "nowhere")


@needs_compiler
def test_what_cannot_be_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = jit()
    with pytest.raises(sl.ExportError, match=r"nothing to export of .*curve: call it before"):
        function.export(tmp_path / "export")
    forced = sl.jit(lambda a: a - float(a.max()), smallest=0)
    with pytest.warns(sl.ForcedValueWarning):
        forced(VALUES)
    with pytest.raises(sl.ExportError, match=r"its trace is kept \(explain\(\.\.\.\) says what stands against"):
        forced.export(tmp_path / "export")
    function(VALUES)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(sl.ExportError, match="others could put code there"):
        function.export(tmp_path / "open")
    with pytest.raises(sl.ExportError, match="an export has the name of a folder, got '': an empty name"):
        function.export("")
    (tmp_path / "file").touch()
    with pytest.raises(sl.ExportError, match="is no folder of yours alone: it is a file"):
        function.export(tmp_path / "file")
    monkeypatch.setattr(compiling, "compiler", lambda: None)
    with pytest.raises(sl.CompilationError, match=r"sl.jit\(native=False\) exports schedules alone"):
        function.export(tmp_path / "export")


# ----------------------------------------------------------------------------------------------------------------
# What is there besides
# ----------------------------------------------------------------------------------------------------------------


@needs_compiler
def test_one_folder_for_several_functions(exported: Path) -> None:
    """And an export that is written again has what the function was called for since."""

    def other(a: Any) -> Any:
        return a[1:] * 2 - a[:-1]

    first, second = jit(), jit(other)
    for function in (first, second):
        function(VALUES)
        function(np.ones((30, 40)))
    assert len(first.export(exported)) == 2
    second.export(exported)
    for own in (curve, other):
        function = jit(own)
        function.load(exported)
        for values in (VALUES, np.ones((30, 40)), np.ones((3, 4, 5))):  # the last one was not exported
            np.testing.assert_array_equal(function(values), own(values))
    assert not list(exported.glob("making-*"))


@needs_compiler
def test_one_folder_for_a_function_that_is_decorated_in_several_ways(exported: Path) -> None:
    """Neither takes the place of the other; and each again that of its own."""
    ways: list[dict[str, Any]] = [{}, {"native": True}, {"native": True, "fast": True}, {"native": False}]
    for options in (*ways, *ways):
        function = jit(**options)
        function(VALUES)
        function.export(exported)
    assert len(list(exported.glob("*.contents.json"))) == len(ways)
    for options in ways:
        function = jit(**options)
        function.load(exported)
        np.testing.assert_allclose(function(VALUES), curve(VALUES), rtol=1e-12, atol=1e-12)


@needs_compiler
def test_functions_that_are_called_as_they_are(tmp_path: Path) -> None:
    """That a schedule is not worth its while is exported, too."""
    function = sl.jit(workers=1, machine=sl.Machine())(curve)
    values = np.ones(10_000)
    function(values)
    assert function.export(tmp_path / "export")
    again = sl.jit(workers=1, machine=sl.Machine())(curve)
    again.load(tmp_path / "export")
    np.testing.assert_array_equal(again(values), curve(values))
    assert [list(t.scheduled.values()) for t in again._traces] == [[None]]


@needs_compiler
@pytest.mark.parametrize("native", [True, False])
def test_what_was_loaded_is_exported_again(tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no compiler, as long as nothing else is to be compiled."""
    function = jit(native=native)
    function(VALUES)
    told = function.export(tmp_path / "first")
    again = jit(native=native)
    again.load(tmp_path / "first")
    with monkeypatch.context() as patch:
        patch.setenv("CC", "/nonexistent")
        assert again.export(tmp_path / "second") == told
        again(VALUES)
        assert again.export(tmp_path / "first") == told  # to where it was loaded from
    further = np.ones((30, 40))
    np.testing.assert_array_equal(again(further), curve(further))
    assert [words[:13] for words in again.export(tmp_path / "third")] == ["a: float64[30", "a: float64[10"]
    for name, count in (("first", 1), ("second", 1), ("third", 2)):
        last = jit(native=native)
        last.load(tmp_path / name)
        np.testing.assert_array_equal(last(VALUES), curve(VALUES))
        assert len(json.loads(page(tmp_path / name).read_text(encoding="utf-8"))["entries"]) == count
        assert [each.asked for each in last._traces] == [{}]
        assert {getattr(plan, "runs_c", False) for t in last._traces for plan in t.scheduled.values()} == {native}


@needs_compiler
def test_what_another_compiler_made_is_left_out_of_an_export(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = jit()
    function.load(exported)
    function(np.ones((30, 40)))
    with monkeypatch.context() as patch:
        patch.setattr(exporting, "_is_same", lambda *_: False)
        assert [words[:13] for words in function.export(exported)] == ["a: float64[30"]


@needs_compiler
def test_what_has_changed_since_it_was_loaded_is_not_exported_again(exported: Path, tmp_path: Path) -> None:
    function = jit()
    function.load(exported)
    next(exported.glob("*.so")).write_bytes(b"")
    with pytest.raises(sl.ExportError, match="is not what was exported"):
        function.export(tmp_path / "again")
    assert not list((tmp_path / "again").glob("*.contents.json"))


@needs_compiler
def test_lambdas_have_a_page_of_contents_each(tmp_path: Path) -> None:
    """The second export leaves the first as it is."""
    options = {"smallest": 0, "workers": 1, "machine": sl.Machine()}
    first = sl.jit(lambda a: np.maximum(a * 2 + 1, 0) * a, **options)
    second = sl.jit(lambda a: np.minimum(a * 3 + 1, 0) * a, **options)
    for function in (first, second):
        function(VALUES)
        function.export(tmp_path / "both")
    assert len(list((tmp_path / "both").glob("*.contents.json"))) == 2
    for function in (first, second):
        before = function(VALUES)
        function.load(tmp_path / "both")
        np.testing.assert_array_equal(function(VALUES), before)
        assert [each.asked for each in function._traces] == [{}]


def scaled(a: Any, by: Any) -> Any:
    return np.maximum(a * by + 1, 0) * a


def closed(by: float) -> Any:
    def inner(a: Any) -> Any:
        return scaled(a, by)

    return inner


def closed_deeper(by: float) -> Any:
    within = closed(by)
    return lambda a: within(a)


def by_default(by: float) -> Any:
    def inner(a: Any, by: float = by) -> Any:
        return scaled(a, by)

    return inner


class Scaling:
    """An object that is called, and has a method."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, a: Any) -> Any:
        return scaled(a, self.by)

    def method(self, a: Any) -> Any:
        return scaled(a, self.by)


CARRIERS: dict[str, Any] = {
    "partial": lambda by: functools.partial(scaled, by=by),
    "closure": closed,
    "closure of a closure": closed_deeper,
    "default": by_default,
    "object": Scaling,
    "method": lambda by: Scaling(by).method,
}


@needs_compiler
@pytest.mark.parametrize("kind", CARRIERS)
def test_functions_that_carry_other_things_have_a_page_of_contents_each(kind: str, tmp_path: Path) -> None:
    """What is carried is told by its value: it is made again in the process that loads it."""
    options: dict[str, Any] = {"smallest": 0, "workers": 1, "machine": sl.Machine()}
    made = CARRIERS[kind]
    for by in (2.0, 3.0):
        function = sl.jit(made(by), **options)
        function(VALUES)
        function.export(tmp_path / "both")
    assert len(list((tmp_path / "both").glob("*.contents.json"))) == 2
    for by in (2.0, 3.0):
        function = sl.jit(made(by), **options)
        function.load(tmp_path / "both")
        np.testing.assert_array_equal(function(VALUES), scaled(VALUES, by))
        assert "scheduled as it was where it was exported" in function.explain(VALUES)


def test_what_a_function_carries_is_told_by_value() -> None:
    def calls(other: Any) -> Any:
        def itself(a: Any) -> Any:
            return other, itself, a

        return itself

    assert captured(calls(1)) == captured(calls(1)) != captured(calls(2))
    for one, other in ((np.arange(3), np.arange(3.0)), ([1], (1,)), ({"a": 1}, {"a": 2}), (np.add, np.multiply)):
        assert captured(calls(one)) == captured(calls(one)) != captured(calls(other))
    assert captured(scaled) == ""
    unset = types.FunctionType(calls(1).__code__, {}, "f", None, (types.CellType(), types.CellType()))
    assert captured(unset) == ""
    assert "0x" not in captured(calls([object(), Scaling(3).method, sl.jit, functools.partial(print, 1)]))
