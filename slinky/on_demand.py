"""Names that a package offers, and loads when somebody asks for one: what few programs need costs the others nothing.

Invariant: a name means the same whether it was asked for before or not, for type checkers and for `dir`, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def loading(
    package: str, namespace: dict[str, Any], places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package, by its name and its namespace.

    `places` says which names each module has; a module without any is what its own name means, without the package's.
    """
    homes = {name: module for module, names in places.items() for name in names.split() or [module.rpartition(".")[2]]}

    def __getattr__(name: str) -> Any:  # noqa: N807
        """What is loaded when somebody asks for it."""
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(home)
        value = getattr(module, name) if places[home] else module
        return namespace.setdefault(name, value)

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*namespace, *homes})

    return __getattr__, __dir__
