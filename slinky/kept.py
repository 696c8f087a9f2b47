"""What is kept from one process to the next: the folder for it, and files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import cast


def cache_folder(given: str | None) -> Path:
    """The user's folder for what can be made again; `given` is what the environment says in `SLINKY_CACHE`."""
    if given:
        return Path(os.path.expanduser(given))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "slinky"
    return Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "slinky"


def as_path(given: object) -> Path:
    """The file or folder that a user gave the name of; `~` is the home of the user, as in shells.

    Raises `TypeError` for what is no name, and for a text that no file can have as its name.
    """
    if isinstance(given, (str, bytes)) and not given:
        raise TypeError("an empty name")
    try:
        path = Path(os.path.expanduser(Path(cast("str | os.PathLike[str]", given))))
        if b"\0" not in os.fsencode(path):
            return path
    except (TypeError, ValueError) as error:
        raise TypeError(str(error)) from None
    raise TypeError("a null character")


def replace_json(path: Path, data: object) -> None:
    """Keep something in a file, which is replaced as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, json.dumps(data, indent=2).encode(), 0o600)


def replace(path: Path, data: bytes, mode: int) -> None:
    """Write a file, which is replaced as a whole or not at all; where there is no room, nothing is left of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="making-")
    with contextlib.ExitStack() as unless_replaced:
        unless_replaced.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
        unless_replaced.pop_all()


def this_user() -> frozenset[int]:
    """Who runs this process; nobody where there are no users."""
    return frozenset([os.getuid()]) if hasattr(os, "getuid") else frozenset()


def is_of(path: Path, owners: frozenset[int]) -> bool:
    """Whether a file or folder belongs to one of these users, and nobody else can write to it."""
    if not hasattr(os, "getuid"):
        return True
    found = path.stat()
    return found.st_uid in owners and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
