"""What is left of files that could not be written, and of folders that a process has for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slinky import kept

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("lacking", ["fdopen", "replace", "chmod"])
def test_of_a_file_for_which_there_is_no_room_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    path = tmp_path / "told.json"
    kept.replace_json(path, {"before": 1})

    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, lacking, refused)
        with pytest.raises(OSError, match="No space left"):
            kept.replace_json(path, {"after": 2})
    assert os.listdir(tmp_path) == ["told.json"]
    assert path.read_text(encoding="utf-8") == '{\n  "before": 1\n}'
    kept.replace_json(path, {"after": 2})
    assert path.read_text(encoding="utf-8") == '{\n  "after": 2\n}'
    assert os.listdir(tmp_path) == ["told.json"]


SCRIPT = """
import os, sys
from slinky.native import compiling
folder = compiling._folder(os.environ["SLINKY_CACHE"])
(folder / "kernel.so").touch()
child = os.fork()
if child == 0:
    sys.exit()  # by way of what is registered for the exit
os.waitpid(child, 0)
assert (folder / "kernel.so").exists()
print(folder)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_folder_of_the_process_is_gone_when_it_has_ended(tmp_path: Path) -> None:
    """And not when a child of it has."""
    (tmp_path / "file").touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SLINKY_CACHE": str(tmp_path / "file" / "no folder")}
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip())
    assert folder.name.startswith("slinky-native-")
    assert not folder.exists()
