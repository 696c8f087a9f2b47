"""Names as Python reads them: it takes `µ` of a keyboard for the Greek `μ`, which compatibility makes of it (NFKC).

Who gives a value by name writes a keyword, so a name that is not as Python reads it could never be given.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def as_python_reads(name: str) -> str:
    """A name, or a text with names in it, as Python has it when it stands in code."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def by_names_as_python_reads(given: Mapping[str, T]) -> Mapping[str, T]:
    """Values by name, of which some names may come from a dictionary, and not from code."""
    if all(map(str.isascii, given)):
        return given
    return {as_python_reads(name): value for name, value in given.items()}
