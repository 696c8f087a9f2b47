"""Scripts that run as programs of their own, in copies of a process that has imported what they all begin with.

Most of what a short script takes is that: the interpreter, NumPy, SciPy, slinky. One process, `Warm`, does it once, and
is forked for each script: the copy has its own arguments, directory, output and exit code, and ends as scripts do. Of
slinky it has imported all there is, also what is loaded when somebody asks for it. What importing has made is no
garbage, and a copy does not look through it when it ends, which would take longer than most scripts. That a script runs
from nothing is for other tests.

Where processes cannot be forked, each script is started anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SERVER = """
import gc, importlib, json, os, pkgutil, runpy, sys
names = json.loads(sys.argv[1])
for name in names:
    try:
        module = importlib.import_module(name)
    except ImportError:
        continue
    if name == "slinky":
        names += [each.name for each in pkgutil.walk_packages(module.__path__, "slinky.")]
gc.collect()
gc.freeze()
for line in sys.stdin:
    directory, arguments, *files = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    raise SystemExit
os.chdir(directory)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
for number, file in enumerate(files, start=1):
    os.dup2(os.open(file, os.O_WRONLY), number)
sys.stdin = open(0, closefd=False)
sys.argv = arguments
if arguments[0] == "-c":
    sys.path[0] = ""
    sys.argv = ["-c", *arguments[2:]]
    exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
elif arguments[0] == "-m":
    sys.path[0] = directory
    sys.argv = arguments[1:]
    runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
else:
    sys.path[0] = os.path.dirname(arguments[0])
    runpy.run_path(arguments[0], run_name="__main__")
"""


class Warm:
    """A process that has imported these modules, as far as they are there. Close it by using it in a `with`."""

    def __init__(self, *modules: str) -> None:
        self._process: subprocess.Popen[str] | None = None
        if hasattr(os, "fork"):
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVER, json.dumps(modules)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def run(self, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run as `python` with these arguments, and nothing to read: a file, or what stands behind `-c` or `-m`."""
        command = [str(argument) for argument in arguments]
        if self._process is None:
            return cold(*command, cwd=cwd)
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            code = self._code([str(cwd or Path.cwd()), command, out.name, err.name])
            texts = [Path(file.name).read_text(encoding="utf-8") for file in (out, err)]
        return subprocess.CompletedProcess(command, code, *texts)

    def _code(self, request: Sequence[object]) -> int:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def cold(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python` with these arguments, from nothing, with nothing to read."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
