"""Programs that `Pipeline.to_c` prints, compiled with a `main` of their own, in a process of their own."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.native.compiling import compiler

COMPILER = compiler()
COMMAND = () if COMPILER is None else COMPILER.command
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
_STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
FLAGS = ("-std=c11", *_STRICT, "-O1", "-ffp-contract=off", "-fwrapv")
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def sanitized() -> tuple[str, ...]:
    """The flags for a build that watches addresses and undefined behaviour; the test is skipped if there is none."""
    if not can_watch(COMMAND):
        pytest.skip("this compiler has no sanitizers")
    return SANITIZED


@cache
def can_watch(command: tuple[str, ...]) -> bool:
    """Whether what is compiled by a command, with sanitizers, runs."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.c"
        probe.write_text("int main(void) { return 0; }\n")
        made = subprocess.run(
            [*command, *SANITIZED, "-o", str(probe.with_suffix("")), str(probe)], capture_output=True, check=False
        )
        return not made.returncode and not subprocess.run([str(probe.with_suffix(""))], check=False).returncode


def is_whole(text: str) -> bool:
    """Whether a text is one function of a whole program."""
    return "slinky_buffer" in text


def main_text(text: str, buffers: Sequence[sl.Buffer], numbers: Sequence[float]) -> str:
    """A program: what was printed, and a `main` that reads arrays of these shapes, calls the function, and writes the
    last of them."""
    (name,) = re.findall(r"^int (\w+)\(const slinky_buffer .*\);$", text, re.MULTILINE)
    lines = ["#include <stdio.h>", "", "int main(void)", "{"]
    for n, each in enumerate(buffers):
        extents, itemsize = each.array.shape, each.array.itemsize
        strides = [itemsize * int(np.prod(extents[d + 1 :])) for d in range(len(extents))]
        size = each.array.size * itemsize
        fields = ", ".join(f"{{{', '.join(map(str, items))}}}" for items in (each.min, extents, strides))
        lines.append(f"    char *d{n} = malloc({max(size, 1)});")
        lines.append(f"    if (fread(d{n}, 1, {size}, stdin) != {size}) return 100;")
        lines.append(f"    const slinky_buffer b{n} = {{d{n}, {fields}}};")
    given = ", ".join([*(f"&b{n}" for n in range(len(buffers))), *map(str, numbers)])
    lines.append(f"    const int status = {name}({given});")
    lines.append(f"    fwrite(d{len(buffers) - 1}, 1, {buffers[-1].array.nbytes}, stdout);")
    lines += [f"    free(d{n});" for n in range(len(buffers))]
    return "\n".join([text, *lines, "    return status;", "}", ""])


def run_in_c(
    p: sl.Pipeline,
    inputs: Sequence[sl.Buffer],
    out: sl.Buffer,
    names: Mapping[str, float],
    command: Sequence[str],
    folder: Path,
) -> tuple[int, np.ndarray[Any, Any]]:
    """Compile a pipeline by a command, and run it in C: what it returned, and the output."""
    numbers = [names[name] for name in (*(s.name for s in p.program.scalars), *(f.name for f in p.program.floats))]
    source, made = folder / "program.c", folder / "program"
    source.write_text(main_text(p.to_c(), [*inputs, out], numbers))
    done = subprocess.run([*command, "-o", str(made), str(source), "-lm"], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    given = b"".join(each.array.tobytes() for each in (*inputs, out))
    ran = subprocess.run([str(made)], input=given, capture_output=True, check=False)
    assert not ran.stderr, ran.stderr.decode()
    return ran.returncode, np.frombuffer(ran.stdout, out.array.dtype).reshape(out.array.shape)
