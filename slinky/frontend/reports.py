"""What tests of funcs report: what is wrong, where, and what to declare instead."""

from __future__ import annotations

from typing import Any

import attrs

from slinky.errors import DeclarationError
from slinky.ir.effects import NumericBox


def text_of_box(name: str, box: NumericBox) -> str:
    """A region of a buffer, as programs print it."""
    return f"{name}[{', '.join(str(lo) if lo == hi else f'{lo}..{hi}' for lo, hi in box)}]"


@attrs.frozen
class FuncFinding:
    """Something that a callback does and must not.

    * `kind`: in a word or two, such as `"depends on the piece"`.
    * `text`: what was seen, in a sentence.
    * `advice`: what to declare or change.
    * `output`, `piece`, `at`, `values`: of which output, in which box of it, at which coordinate, and what stood there
      and what should; None where this means nothing.
    """

    kind: str
    text: str
    advice: str
    output: str | None = None
    piece: NumericBox | None = None
    at: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}. {self.advice}"


@attrs.frozen
class FuncReport:
    """What `sl.verify_func` has found. It is true if nothing is wrong, and prints what is.

    * `func`: the name of the func.
    * `findings`: what is wrong.
    * `notes`: what is right, and could be better.
    * `runs`: how often the callback was run.
    """

    func: str
    findings: tuple[FuncFinding, ...]
    notes: tuple[str, ...]
    runs: int

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        if self.findings:
            lines = [f"func {self.func} is not what it declares"]
        else:
            lines = [f"func {self.func}: nothing wrong in {self.runs} runs"]
        lines += [f"- {finding}" for finding in self.findings]
        lines += [f"- note: {note}" for note in self.notes]
        return "\n".join(lines)

    def check(self) -> FuncReport:
        """The report itself; raises `DeclarationError`, with its text, if something is wrong."""
        if self.findings:
            raise DeclarationError(str(self))
        return self
