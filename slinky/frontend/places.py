"""Where in the user's code something happens, and to which variable a value goes that is being made.

Idea. While a function is traced, its frame stands at the instruction that is under way. If the next one stores a local
variable, what is being made gets that name; if it returns, the same holds for the function that called it.

Invariant: a name is told only where the value of this very instruction is what the variable becomes.
"""

from __future__ import annotations

import dis
import os
import re
import sys
import sysconfig
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FrameType

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__))
_NUMPY = os.path.dirname(os.path.abspath(np.__file__))
_INSTALLED = tuple({sysconfig.get_path(kind) + os.sep for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Where Python and packages are: code that users call, and do not write."""

_RETURN = ""
"""Stands for a variable's name where a value is returned."""

_MAKING = ("CALL", "BINARY_", "UNARY_", "COMPARE_OP")
"""How the names of instructions begin that leave a value, and do nothing else with it."""


def place() -> str:
    """The line of the user's that runs now; where code of a package runs that it calls, the line of that, too."""
    frame = user_frame()[0]
    if frame is None:
        return "an unknown place"
    outer: FrameType | None = frame
    while outer is not None and _is_of_a_package(outer.f_code):
        outer = outer.f_back
    if outer is None or outer is frame or not _is_users(outer.f_code):
        return _line(frame)  # what is traced is in a package itself
    return f"{_line(outer)}, by {_line(frame)}"


def _line(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def is_telling(name: str) -> bool:
    """Whether a variable's name is good for a func: those of dimensions mean loops."""
    return not name.startswith("_") and not re.fullmatch(r"[xyz]|d\d+", name)


def user_frame() -> tuple[FrameType | None, int]:
    """The frame of the user's that runs now, and how many frames it is away from who asks."""
    frame: FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None and not _is_users(frame.f_code):
        frame, count = frame.f_back, count + 1
    return frame, count


def assignment(file: str) -> tuple[Hashable, str] | None:
    """The variable that a value that is being made goes to, and what tells this assignment from others; None where
    that is not known, or in code of another file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename == file:
        name = _stores(frame.f_code).get(frame.f_lasti)
        if name != _RETURN:
            return None if name is None else ((id(frame), frame.f_lasti), name)
        frame = frame.f_back
    return None


@lru_cache(maxsize=64)
def instructions_of(code: CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of code."""
    return tuple(dis.get_instructions(code))


def attribute_of_next(frame: FrameType, name: str) -> str | None:
    """The attribute that a frame asks next of the one of this name that it is asking for; None where it does something
    else with that."""
    return _attributes(frame.f_code).get((begin_of(frame), name))


@lru_cache(maxsize=1024)
def _attributes(code: CodeType) -> Mapping[tuple[int, str], str]:
    """By the offset of an instruction that asks for an attribute, and its name, the attribute that the next one asks of
    that."""
    done = [each for each in instructions_of(code) if each.opname != "CACHE"]
    return {
        (each.offset, each.argval): then.argval
        for each, then in pairwise(done)
        if each.opname == "LOAD_ATTR" and then.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }


def begin_of(frame: FrameType) -> int:
    """The offset of the instruction that a frame stands at: maybe at its caches, which follow it."""
    begins = _begins(frame.f_code)
    return begins[bisect_right(begins, frame.f_lasti) - 1]


@lru_cache(maxsize=1024)
def _begins(code: CodeType) -> Sequence[int]:
    return [each.offset for each in instructions_of(code) if each.opname != "CACHE"]


def does(frame: FrameType, *names: str) -> bool:
    """Whether a frame of somebody else's stands at an instruction whose name begins so; frames of ours do anything."""
    return frame.f_code.co_filename.startswith(_HERE) or stands_at(frame, *names)


def stands_at(frame: FrameType, *names: str) -> bool:
    """Whether a frame, whosever it is, stands at an instruction whose name begins so."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith(names)


@lru_cache(maxsize=4096)
def _is_users(code: CodeType) -> bool:
    return not code.co_filename.startswith((_HERE, _NUMPY))


@lru_cache(maxsize=4096)
def _is_of_a_package(code: CodeType) -> bool:
    file = code.co_filename
    return file.startswith((*_INSTALLED, _NUMPY)) and not file.startswith(_HERE)


@lru_cache(maxsize=1024)
def _stores(code: CodeType) -> Mapping[int, str]:
    """By the offset of an instruction, the variable that the next one stores its value in, or that it returns it."""
    found: dict[int, str] = {}
    before: dis.Instruction | None = None
    for instruction in instructions_of(code):
        operation = instruction.opname
        name: str | None = None
        if operation.startswith(("STORE_FAST", "STORE_DEREF")):
            name = instruction.argval if isinstance(instruction.argval, str) else instruction.argval[0]
        elif operation == "RETURN_VALUE":
            name = _RETURN
        if name is not None and before is not None and before.opname.startswith(_MAKING):
            for offset in range(before.offset, instruction.offset, 2):  # the caches of an instruction count as it
                found[offset] = name
        before = instruction
    return found
