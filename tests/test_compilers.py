"""Compilers: how they fail, what they leave behind, what they are asked for, and folders that go while they run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from c_programs import needs_compiler
from natively import of_dtypes as of

import slinky as sl
from slinky.native import commands, compiling
from slinky.native.background import BACKGROUND

NATIVE = ("native", "native-fast", "auto", "native-exact")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "native"


@pytest.mark.skipif(os.name != "posix", reason="the compiler of this test is a shell script")
@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("exit 0", r"failed:\nit ended with 0, as if all had gone well, and wrote no library$"),
        ("exit 3", r"failed:\nit ended with 3, and said nothing$"),
        ("kill -9 $$", r"failed:\nit was ended by signal 9 \(SIGKILL\)$"),
        ("echo no licence; exit 3", r"failed:\nno licence$"),
        ("read word && exit 0; echo nobody answers; exit 3", r"failed:\nnobody answers$"),
        ("seq 100000 >&2; exit 3", r"(?s)failed:\n1\n2\n.* more characters \.\.\.\n.*\n100000$"),
    ],
)
def test_how_a_compiler_ended(does: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "cc.sh"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 0\n{does}\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))
    p, _ = of(lambda a: a * 2, np.float32)
    with pytest.raises(sl.CompilationError, match=words) as caught:
        p.compile(backend="native")
    assert len(str(caught.value)) < 2 * commands.MOST_SAID


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="the compiler of this test is a shell script")
def test_nobody_waits_for_what_a_compiler_leaves_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the server of a cache of compilers, which has its pipes: here it ends when the test says so."""
    found, script, end = compiling.compiler(), tmp_path / "cc.sh", tmp_path / "end"
    assert found is not None
    server = f"(while [ ! -e {end} ]; do sleep 0.1; done) &"
    script.write_text(f'#!/bin/sh\n{server}\necho warning >&2\nexec {shlex.join(found.command)} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    try:
        made_by = compiling.compiler()
        assert made_by is not None
        assert made_by.version == found.version
        assert compiling.library("int eleven(void) { return 11; }\n", made_by).eleven() == 11
        job = BACKGROUND.take(lambda: compiling.library("int twelve(void) { return 12; }\n", made_by).twelve())
        assert job is not None
        assert job.wait(60)
        assert job.result == 12
    finally:
        end.touch()


def assert_refused(flag: str, why: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that is asked for a flag compiles nothing, and says why."""
    found = compiling.compiler()
    assert found is not None
    monkeypatch.setenv("CC", shlex.join([*found.command, flag]))
    p, _ = of(lambda a: a * 2, np.float32)
    for backend in NATIVE:
        with pytest.raises(sl.CompilationError, match=why):
            p.compile(backend=backend)
    assert not list(folder.glob("*.so"))


@needs_compiler
@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only"])
def test_a_compiler_that_is_asked_for_other_results_is_refused(
    flag: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_refused(flag, "asked for -ffast-math or a part of it", folder, monkeypatch)


@needs_compiler
def test_a_compiler_that_is_asked_to_pack_structs_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of NumPy's arrays are not packed: what reads them so ended the process."""
    assert_refused("-fpack-struct", "asked to pack structs", folder, monkeypatch)


@needs_compiler
@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("-fsingle-precision-constant", "read numbers of the text as shorter ones"),
        ("-mfpmath=387", "compute with other numbers than the text says"),
    ],
)
def test_a_compiler_that_is_asked_for_numbers_of_other_widths_is_refused(
    flag: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compiling.compiler()
    assert found is not None
    if not _widths_change(found.command, flag):
        pytest.skip("the compiler has no such flag")
    monkeypatch.setenv("CC", shlex.join([*found.command, flag]))
    p, _ = of(lambda a: a // 0.3, np.float64)
    for backend in NATIVE:
        with pytest.raises(sl.CompilationError, match=said):
            p.compile(backend=backend)
    assert not list(folder.glob("*.so"))


def _widths_change(command: Sequence[str], flag: str) -> bool:
    """Whether a compiler computes with other numbers where it is given a flag."""
    text = '_Static_assert(sizeof 1.0 == sizeof(double) && __FLT_EVAL_METHOD__ == 0, "numbers are others");'
    words = [*command, flag, "-fsyntax-only", "-x", "c", "-"]
    said = subprocess.run(words, input=text, text=True, capture_output=True, check=False)
    return "numbers are others" in said.stderr


@needs_compiler
def test_a_compiler_that_is_asked_to_hide_functions_shows_those_of_libraries(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compiling.compiler()
    assert found is not None
    monkeypatch.setenv("CC", shlex.join([*found.command, "-fvisibility=hidden"]))
    p, _ = of(lambda a: a * 2, np.float32)
    values = np.ones((2, 3), np.float32)
    assert np.array_equal(p.compile(backend="native")(values), values * 2)
    assert list(folder.glob("*.so"))


@needs_compiler
def test_a_compiler_that_is_asked_for_calls_of_another_system_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it compiled took arguments from elsewhere than they were, which ended the process."""
    found = compiling.compiler()
    assert found is not None
    text = "int first(int a) { return a; } int __attribute__((ms_abi)) (*same)(int) = first;"
    words = [*found.command, "-mabi=ms", "-Werror", "-fsyntax-only", "-x", "c", "-"]
    if subprocess.run(words, input=text, text=True, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no such flag")
    assert_refused("-mabi=ms", "asked to call functions as another system does", folder, monkeypatch)


@needs_compiler
def test_a_compiler_that_is_asked_for_other_names_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions were looked for that were not there, which was an `AttributeError` of `ctypes`."""
    found = compiling.compiler()
    assert found is not None
    flag = "-fleading-underscore"
    words = [*found.command, flag, "-dM", "-E", "-x", "c", "-"]
    if (
        "__USER_LABEL_PREFIX__ _\n"
        not in subprocess.run(words, input="", text=True, capture_output=True, check=False).stdout
    ):
        pytest.skip("the compiler has no such flag")
    monkeypatch.setenv("CC", shlex.join([*found.command, flag]))
    p, _ = of(lambda a: a * 2, np.float32)
    for backend in NATIVE:
        with pytest.raises(sl.CompilationError, match="shows no function"):
            p.compile(backend=backend)


@needs_compiler
@pytest.mark.parametrize("what", ["address", "thread"])
def test_a_compiler_that_is_asked_for_what_would_end_the_process_is_refused(
    what: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sanitizers whose runtime must be there when a process begins."""
    found = compiling.compiler()
    assert found is not None
    flag = f"-fsanitize={what}"
    if subprocess.run(
        [*found.command, flag, "-fsyntax-only", "-x", "c", "-"], input=b"", capture_output=True, check=False
    ).returncode:
        pytest.skip("the compiler has no such flag")
    assert_refused(flag, f"asked for {flag}, whose runtime ends processes", folder, monkeypatch)


@needs_compiler
def test_where_no_folder_can_be_written_to_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    compiling._own_folder.cache_clear()
    try:
        with pytest.raises(sl.CompilationError, match=r"neither in .*file, nor in a temporary folder"):
            compiling.library("int sixteen(void) { return 16; }\n", compiling.compiler())  # type: ignore[arg-type]
    finally:
        compiling._own_folder.cache_clear()


def test_a_folder_that_is_removed_while_something_is_compiled_there_is_not_missed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by, run = compiling.compiler(), compiling._run
    assert made_by is not None

    def removing(command: list[str], made: Path) -> None:
        if folder in made.parents:
            shutil.rmtree(folder)
        run(command, made)

    monkeypatch.setattr(compiling, "_run", removing)
    assert compiling.library("int thirteen(void) { return 13; }\n", made_by).thirteen() == 13
    monkeypatch.setattr(compiling, "_run", run)
    assert made_by.file("int fifteen(void) { return 15; }\n").parent == folder  # which is made anew


@needs_compiler
def test_a_file_where_the_folder_should_be_is_left_alone(folder: Path) -> None:
    made_by = compiling.compiler()
    assert made_by is not None
    folder.parent.mkdir()
    folder.write_text("mine")
    assert compiling.library("int fourteen(void) { return 14; }\n", made_by).fourteen() == 14
    assert folder.read_text() == "mine"
