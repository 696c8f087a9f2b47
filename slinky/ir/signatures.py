"""What a callback declares of how it is called: the dtypes and ranks of its arrays, and the names of its arguments.

Python functions take what they are given. One that is compiled takes what it was compiled for, so it declares that in
an attribute `signature`, and a func that would give it something else is refused when it is made.

Invariant: a func that `complaint` has nothing to say of gives the callback arrays and arguments as declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

Operand: TypeAlias = tuple[np.dtype[Any], int]
"""A dtype and a rank."""


@attrs.frozen
class Signature:
    """The arrays that a callback reads, those that it writes, and the arguments that it takes by name."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    arguments: tuple[str, ...] = ()

    def complaint(self, inputs: Sequence[Operand], outputs: Sequence[Operand], arguments: Iterable[str]) -> str | None:
        """What is wrong with a call by these arrays and arguments; None where nothing is."""
        for word, own, given in (("input", self.inputs, inputs), ("output", self.outputs, outputs)):
            if len(own) != len(given):
                return f"takes {_count(len(own), word)}, got {len(given)}"
            for number, (expected, found) in enumerate(zip(own, given, strict=True)):
                if expected != found:
                    return f"takes {_text(expected)} as its {word} {number}, got {_text(found)}"
        if set(self.arguments) != set(arguments):
            return f"takes {_names(self.arguments)}, got {_names(arguments)}"
        return None


def signature_of(callback: object) -> Signature | None:
    """What a callback declares of how it is called, if it does."""
    found = getattr(callback, "signature", None)
    return found if isinstance(found, Signature) else None


def _text(operand: Operand) -> str:
    return f"{operand[0]}[{operand[1]}]"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _names(names: Iterable[str]) -> str:
    return f"the arguments {', '.join(sorted(names))}" if names else "no arguments"
