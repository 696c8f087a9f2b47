"""Modules whose functions compute the same from the same, so that nobody needs to read them."""

from __future__ import annotations

_TRUSTED = frozenset(
    [
        "numpy",
        "scipy",
        "skimage",
        "math",
        "cmath",
        "operator",
        "functools",
        "itertools",
        "collections",
        "typing",
        "numbers",
        "dataclasses",
        "enum",
        "builtins",
        "warnings",
        "_warnings",
        "contextlib",
        "types",
        "string",
        "slinky",
        "abc",
        "copy",
    ]
)
"""Modules whose functions compute the same from the same."""


def is_trusted(name: str) -> bool:
    """Whether the functions of a module compute the same from the same."""
    return name.partition(".")[0] in _TRUSTED and not name.startswith("numpy.random")
