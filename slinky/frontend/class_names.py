"""What classes are asked for: by functions that speak of names, and by Python, which operators and functions of its own
mean, and where objects are made, copied and told.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

from slinky.frontend.trusted import is_trusted


def spoken_of(
    own: type, spoken: Collection[str], known: Container[Any], made: frozenset[str]
) -> list[tuple[type, str, Any]]:
    """What a class itself has, and is not known yet: by names that are spoken of, for what Python asks objects, and of
    these for what it asks where they are `made`."""
    if own is object or is_trusted(str(own.__module__)):
        return []
    makes = made.union(*(names for words, names in _MAKING if not words.isdisjoint(spoken)))
    return [
        (own, name, value)
        for name, value in vars(own).items()
        if (own, name) not in known
        and (name in spoken or (callable(value) and (name in makes or _is_asked_by_python(name))))
    ]


def _is_asked_by_python(name: str) -> bool:
    """Whether a name is one that operators and functions of Python's ask objects for, but for where these are made."""
    return name.startswith("__") and name.endswith("__") and name[2:-2] not in _OF_MAKING


_OF_MAKING = frozenset(
    [
        "annotate", "annotate_func", "attrs_init", "attrs_post_init", "class_getitem", "copy", "deepcopy", "delattr",
        "dir", "getnewargs", "getnewargs_ex", "getstate", "init", "init_subclass", "new", "post_init", "reduce",
        "reduce_ex", "replace", "repr", "set_name", "setattr", "setstate", "sizeof", "str", "subclasshook",
    ]
)  # fmt: skip
"""What objects are asked for where they are made, told, or taken apart."""


OF_CONSTRUCTION = frozenset(
    ["__attrs_init__", "__attrs_post_init__", "__attrs_pre_init__", "__init__", "__new__", "__post_init__"]
)
"""What classes do where they are called."""


_MAKING = (
    (
        frozenset(["evolve", "replace"]),
        ("__attrs_init__", "__attrs_post_init__", "__init__", "__new__", "__post_init__", "__replace__"),
    ),
    (
        frozenset(["copy", "deepcopy"]),
        ("__copy__", "__deepcopy__", "__getstate__", "__reduce__", "__reduce_ex__", "__setstate__"),
    ),
)
"""Names of functions that make objects of others, and what these come to."""
