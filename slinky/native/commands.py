"""Commands that are run to their end, and what they said: compilers.

Idea. A command has ended when its process has, not when nobody holds its pipes any more: a server that it leaves
behind, as caches of compilers do, holds them for as long as it runs. It is asked nothing: what it would read is empty.

Invariant: what is said of a command that failed is never empty, and never longer than people read: how it ended stands
there where the command said nothing, or was ended by a signal.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

import attrs

MOST_SAID = 20_000
"""So many characters of what a command says are told: the first ones, and a quarter of them from the end."""
_SECONDS_TO_LOOK = 0.2
"""How often it is asked whether a process has ended that says nothing."""
PIPES: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
"""How a process is started whose words are wanted (`said_by`)."""


@attrs.frozen
class Done:
    """A command that has ended: with this code, after these words."""

    command: tuple[str, ...]
    code: int
    stdout: str
    stderr: str

    def words(self) -> str:
        """Why it failed: what it said, and how it ended where that says more."""
        lines = [_shortened(each.strip()) for each in (self.stderr, self.stdout) if each.strip()]
        if self.code < 0:
            lines.append(f"it was ended by {_signal(-self.code)}")
        elif not self.code:
            lines.append("it ended with 0, as if all had gone well, and wrote no library")
        elif not lines:
            lines.append(f"it ended with {self.code}, and said nothing")
        return "\n".join(lines)


def run(command: Sequence[str], seconds: float | None = None) -> Done:
    """Run a command to its end.

    Raises `OSError` if it cannot be run, and `subprocess.TimeoutExpired` where it takes longer than so many seconds.
    """
    process = subprocess.Popen(command, **PIPES)
    with process:
        try:
            return said_by(process, command, seconds)
        except BaseException:  # Ctrl-C, too
            process.kill()
            raise


def said_by(process: subprocess.Popen[bytes], command: Sequence[str], seconds: float | None = None) -> Done:
    """Wait for a process to end, with what it said until then (see `run`)."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        has_ended = process.poll() is not None
        try:
            stdout, stderr = process.communicate(timeout=_SECONDS_TO_LOOK)
        except subprocess.TimeoutExpired as error:
            if not has_ended:
                if end is not None and time.monotonic() >= end:
                    raise subprocess.TimeoutExpired(list(command), seconds or 0) from None
                continue
            stdout, stderr = error.stdout or b"", error.stderr or b""
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        said = (each.decode("utf-8", errors="replace") for each in (stdout, stderr))
        return Done(tuple(command), process.returncode, *said)


def _shortened(words: str) -> str:
    """What a command said, as far as people read."""
    if len(words) <= MOST_SAID:
        return words
    last = MOST_SAID // 4
    return f"{words[: MOST_SAID - last]}\n... {len(words) - MOST_SAID} more characters ...\n{words[-last:]}"


def _signal(number: int) -> str:
    """A signal by its name, where it has one."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


__all__ = ["MOST_SAID", "PIPES", "Done", "run", "said_by"]
