"""What functions of elements take on this machine, and what that decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.sched import measured_functions
from slinky.sched.measured_functions import FUNCTIONS, USUAL_SECONDS, element_seconds, usual_seconds

Array = np.ndarray[Any, Any]

SINGLE, DOUBLE, COMPLEX = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.complex128)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where nothing is kept yet."""
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))
    return tmp_path


def kept(folder: Path) -> dict[str, float]:
    """What is kept there."""
    (path,) = folder.glob("functions-*.json")
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE, COMPLEX])
def test_each_function_is_measured_once(folder: Path, name: str, dtype: np.dtype[Any]) -> None:
    """Also those that there are none of for complex numbers."""
    seconds = element_seconds(name, dtype)
    assert 0 < seconds < 1e-5
    assert kept(folder) == {f"{name}:{dtype.str[1:]}": seconds}
    assert element_seconds(name, dtype) == seconds


def test_arithmetic_is_not_measured(folder: Path) -> None:
    """It takes what memory takes; and what is no number takes what is usual."""
    assert element_seconds("add", SINGLE) == 0.0 == usual_seconds("add", SINGLE)
    assert element_seconds("log", np.dtype(object)) == USUAL_SECONDS == usual_seconds("log", SINGLE)
    assert not list(folder.iterdir())


def test_another_process_finds_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is taken, and what is found beside it is added."""
    first = element_seconds("exp", SINGLE)
    monkeypatch.setattr(measured_functions, "_measured", {})
    monkeypatch.setattr(measured_functions, "_seconds", lambda name, dtype: {"add": 4096.0}.get(name, 8192.0))
    assert element_seconds("exp", SINGLE) == first
    assert element_seconds("log", SINGLE) == 1.0
    assert kept(folder) == {"exp:f4": first, "log:f4": 1.0}


@pytest.mark.parametrize("text", ["", "[1]", '{"exp:f4": "much"}', '{"exp:f4": null}'])
def test_what_makes_no_sense_is_measured_again(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody has broken."""
    element_seconds("exp", SINGLE)
    (path,) = folder.glob("functions-*.json")
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(measured_functions, "_measured", {})
    assert element_seconds("exp", SINGLE) > 0
    assert kept(folder).keys() == {"exp:f4"}


def test_nothing_is_kept_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is measured by each process."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "file" / "folder"))
    assert element_seconds("exp", SINGLE) > 0


def softmax(x: Array) -> Array:
    """Of each row."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("seconds", "is_called"), [(3e-10, False), (1e-6, True)])
def test_functions_decide_whether_a_schedule_is_worth_while(
    seconds: float, is_called: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all the time goes into exponentials, a pipeline gains nothing; where these are fast, it does."""
    monkeypatch.setattr(measured_functions, "element_seconds", lambda name, dtype: seconds if name == "exp" else 0.0)
    x = np.random.default_rng(0).random((3000, 4000), np.float32)
    monkeypatch.setattr("slinky.sched.machines.this_machine", sl.Machine)
    explained = sl.jit(softmax, native=False, workers=1).explain(x)
    assert ("called as it is" in explained) == is_called
