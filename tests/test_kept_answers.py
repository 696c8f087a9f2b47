"""What is kept for other processes is read for the very question it was kept for, and from nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slinky import kept_answers
from slinky.kept_answers import Answers

LONG_AGO = 10**18
"""A time in nanoseconds."""

posix = pytest.mark.skipif(os.name != "posix", reason="it is about users and modes of files")


def the_file(folder: Path) -> Path:
    (path,) = (folder / "colours").iterdir()
    return path


def test_an_answer_is_found_by_its_question_alone(keeps: Path) -> None:
    one, other = Answers("colours"), Answers("sizes")
    assert one.find(b"sky") is None
    one.keep(b"sky", b"blue")
    one.keep(b"", b"")
    assert Answers("colours").find(b"sky") == b"blue"
    assert one.find(b"") == b""
    for question in (b"sk", b"sky\0", b"Sky"):
        assert one.find(question) is None
    assert other.find(b"sky") is None
    one.keep(b"sky", b"grey")
    assert one.find(b"sky") == b"grey"
    assert {path.stat().st_mode & 0o777 for path in (keeps / "colours").iterdir()} == {0o600}


def test_a_question_is_compared_as_a_whole(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where two have the same digest."""
    answers = Answers("colours")
    monkeypatch.setattr(Answers, "_path", lambda *_: keeps / "colours" / "all")
    answers.keep(b"sky", b"blue")
    assert answers.find(b"sea") is None
    assert answers.find(b"sky") == b"blue"


@pytest.mark.parametrize(
    "damaged",
    [lambda kept: kept[:-1], lambda kept: kept[:20], lambda kept: b"", lambda kept: kept + b"x",
     lambda kept: kept[:-1] + bytes([kept[-1] ^ 1]), lambda kept: kept[:32] + bytes(8) + kept[40:]],
)  # fmt: skip
def test_what_was_cut_short_or_changed_is_no_answer(keeps: Path, damaged: Callable[[bytes], bytes]) -> None:
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")
    path = the_file(keeps)
    path.write_bytes(damaged(path.read_bytes()))
    assert answers.find(b"sky") is None
    answers.keep(b"sky", b"blue")
    assert answers.find(b"sky") == b"blue"


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_can_write_to_is_not_read(keeps: Path, mode: int, what: str) -> None:
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")
    path = the_file(keeps)
    where = path if what == "file" else path.parent
    where.chmod(mode | (0o100 if what == "folder" else 0))
    assert answers.find(b"sky") is None
    if what == "folder":
        answers.keep(b"sea", b"green")
        assert len(list(path.parent.iterdir())) == 1
    where.chmod(0o700)
    assert answers.find(b"sky") == b"blue"


@posix
def test_what_belongs_to_somebody_else_is_not_read(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")
    monkeypatch.setattr(kept_answers, "this_user", lambda: frozenset({os.getuid() + 1}))
    assert answers.find(b"sky") is None


@posix
def test_a_pipe_in_its_place_is_not_read(keeps: Path) -> None:
    """Reading it has no end."""
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")
    path = the_file(keeps)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert answers.find(b"sky") is None


def test_nothing_is_kept_or_read_where_the_environment_says_so(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")
    monkeypatch.setenv(kept_answers.SWITCH, "0")
    assert answers.find(b"sky") is None
    answers.keep(b"sea", b"green")
    assert len(list((keeps / "colours").iterdir())) == 1


def test_where_nothing_can_be_kept_nobody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SLINKY_KEPT", "1")
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "file"))
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")
    assert answers.find(b"sky") is None


def test_a_disk_without_room_keeps_nothing_and_says_nothing(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers("colours")
    answers.keep(b"sky", b"blue")

    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refused)
        answers.keep(b"sea", b"green")
    assert len(list((keeps / "colours").iterdir())) == 1
    assert answers.find(b"sea") is None


def test_the_answers_that_were_not_asked_for_longest_leave(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "MOST", 3)
    folder, known = keeps / "colours", set[Path]()
    for number in range(3):
        Answers("colours").keep(bytes([number]), b"")
        (new,) = set(folder.iterdir()) - known
        os.utime(new, ns=(LONG_AGO + number,) * 2)
        known.add(new)
    assert Answers("colours").find(b"\0") is not None
    Answers("colours").keep(b"\3", b"")
    assert [number for number in range(4) if Answers("colours").find(bytes([number])) is not None] == [0, 2, 3]


# ----------------------------------------------------------------------------------------------------------------
# Which code
# ----------------------------------------------------------------------------------------------------------------


def written(path: Path, text: str, when: int) -> None:
    """Write a file as if that had been then."""
    path.write_text(text)
    os.utime(path, ns=(when, when))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is taken for slinky, whose code has not been looked at."""
    folder = tmp_path / "package"
    (folder / "room" / "__pycache__").mkdir(parents=True)
    for name in ("kept_answers.py", "room/one.py", "room/__pycache__/one.py", "room/notes.txt"):
        written(folder / name, "1\n", LONG_AGO)
    monkeypatch.setattr(kept_answers, "__file__", str(folder / "kept_answers.py"))
    monkeypatch.setattr(kept_answers, "_BEGAN", time.time_ns() + 10**15)
    return folder


code: Callable[[], bytes | None] = kept_answers._code.__wrapped__


def test_what_other_code_has_found_is_not_read(keeps: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, before = Answers("colours"), code()
    monkeypatch.setattr(kept_answers, "_code", code)
    answers.keep(b"sky", b"blue")
    for name, text, when in (("one", "22\n", LONG_AGO), ("one", "1\n", LONG_AGO + 1), ("two", "", LONG_AGO)):
        written(package / "room" / f"{name}.py", text, when)
        assert answers.find(b"sky") is None
        assert code() not in (None, before)
    (package / "room" / "two.py").unlink()
    written(package / "room" / "one.py", "1\n", LONG_AGO)
    assert answers.find(b"sky") == b"blue"


def test_what_is_no_code_does_not_matter(package: Path) -> None:
    before = code()
    (package / "room" / "notes.txt").write_text("2\n")
    (package / "room" / "__pycache__" / "one.py").write_text("2\n")
    assert code() == before is not None


def test_code_that_has_changed_since_it_was_read_keeps_nothing(
    keeps: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code() is not None
    monkeypatch.setattr(kept_answers, "_BEGAN", time.time_ns() - 10**12)  # before any file was there, however old it is
    assert code() is None
    monkeypatch.setattr(kept_answers, "_code", code)
    Answers("colours").keep(b"sky", b"blue")
    assert not (keeps / "colours").exists()


def test_it_is_noted_before_anything_else_is_read_when_that_was() -> None:
    code = "import slinky, sys; print([name for name in sys.modules if name.startswith('slinky.')][:2])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['slinky.kept', 'slinky.kept_answers']"


def test_code_without_files_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "__file__", str(tmp_path / "archive.zip" / "slinky" / "kept_answers.py"))
    assert code() is None


def test_other_versions_of_numpy_have_answers_of_their_own(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = code()
    monkeypatch.setattr(kept_answers.np, "__version__", "0.1")
    assert code() not in (None, before)
