"""What one process has found out, for others that ask the same: schedules, and plans in C.

Idea. An answer that takes long to find and follows from what was asked is kept in a file of the user's cache folder,
which is named by a digest of the question. The question stands in it as a whole, with a digest of all that is there:
one that was cut short by a full disk is none. The code that found the answer, as its files tell it, is part of the
question, so nothing of another version is ever read.

Invariants: an answer is given to the very question that it was kept for. None is read that somebody else can write to.
Where nothing can be kept, nothing is, and nobody is told: it is found again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from slinky.kept import cache_folder, is_of, replace, this_user

SWITCH = "SLINKY_KEPT"
"""The environment variable that says `0` where processes are to find out everything by themselves."""

MOST = 1000
"""How many answers of a kind are kept; those that were not asked for longest leave."""

_BEGAN = time.time_ns()
"""When slinky was imported: this is the first of its modules."""

_DIGEST = hashlib.sha256().digest_size
_LENGTH = 8


def is_on() -> bool:
    """Whether anything is kept, or read: else nobody need put a question."""
    return os.environ.get(SWITCH) != "0" and _code() is not None


class Answers:
    """The answers of one kind, by their questions."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._is_tidy = False

    def find(self, question: bytes) -> bytes | None:
        """The answer to a question, if it is kept."""
        asked = self._asked(question)
        if asked is None:
            return None
        path = self._path(asked)
        with contextlib.suppress(OSError):
            if is_of(path.parent, this_user()) and path.is_file() and is_of(path, this_user()):
                kept = path.read_bytes()
                os.utime(path)
                found = _answer(kept, asked)
                return None if found is None else zlib.decompress(found)
        return None

    def keep(self, question: bytes, answer: bytes) -> None:
        """Keep the answer to a question."""
        asked = self._asked(question)
        if asked is None:
            return
        path = self._path(asked)
        told = b"".join([len(asked).to_bytes(_LENGTH, "little"), asked, zlib.compress(answer, 1)])
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if is_of(path.parent, this_user()):
                replace(path, hashlib.sha256(told).digest() + told, 0o600)
                self._tidy(path.parent)

    def _asked(self, question: bytes) -> bytes | None:
        """The whole question; None where nothing is kept."""
        code = _code()
        return code + question if is_on() and code is not None else None

    def _path(self, asked: bytes) -> Path:
        folder = cache_folder(os.environ.get("SLINKY_CACHE")) / self._kind
        return folder / hashlib.sha256(asked).hexdigest()

    def _tidy(self, folder: Path) -> None:
        """Keep no more than so many answers; looked at once by each process."""
        if not self._is_tidy:
            self._is_tidy = True
            kept = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime_ns)
            for each in kept[:-MOST]:
                each.unlink(missing_ok=True)


def _answer(kept: bytes, asked: bytes) -> bytes | None:
    """The answer in a file, if that is whole, and of just this question."""
    digest, told = kept[:_DIGEST], kept[_DIGEST:]
    if hashlib.sha256(told).digest() != digest:
        return None
    end = _LENGTH + int.from_bytes(told[:_LENGTH], "little")
    return told[end:] if told[_LENGTH:end] == asked else None


@cache
def _code() -> bytes | None:
    """The code that finds answers: the files of slinky, by their sizes and when they were changed, and the versions of
    what it stands on. None where it has no files, or one has come, or changed, since this process began."""
    files = []
    waiting = [str(Path(__file__).parent)]
    try:
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        found = entry.stat()
                        if max(found.st_mtime_ns, found.st_ctime_ns) >= _BEGAN:
                            return None
                        files.append(f"{entry.path} {found.st_size} {found.st_mtime_ns}")
                    elif entry.is_dir() and entry.name != "__pycache__":
                        waiting.append(entry.path)
    except OSError:
        return None
    told = "\0".join([sys.version, np.__version__, *sorted(files)])
    return hashlib.sha256(told.encode(errors="surrogateescape")).digest()
