"""Mappings that grow without being copied: what is in scope after each of ten thousand statements.

A mapping is a few dictionaries, the newest first. A new item is a dictionary of its own, which takes up those behind it
that are no longer than itself. So an item is copied as often as its dictionary can double in length, and a look-up
asks that many dictionaries at most.

Invariant: a mapping never changes; an item that was added later hides an earlier one of its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

V = TypeVar("V")

_SMALL = 16
"""Dictionaries this short are taken up in any case: to copy them costs less than to ask one more."""


class Layers(Mapping[str, V]):
    """An immutable mapping from names. `plus` gives one with an item more."""

    __slots__ = ("_layers",)

    def __init__(self, items: Mapping[str, V]) -> None:
        self._layers: tuple[dict[str, V], ...] = (dict(items),)

    def plus(self, key: str, value: V) -> Layers[V]:
        """This mapping, and one item more."""
        newest = {key: value}
        taken = 0
        for layer in self._layers:
            if len(layer) > max(len(newest), _SMALL):
                break
            newest = {**layer, **newest}
            taken += 1
        new: Layers[V] = Layers.__new__(Layers)
        new._layers = (newest, *self._layers[taken:])
        return new

    def __getitem__(self, key: str) -> V:
        for layer in self._layers:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(key in layer for layer in self._layers)

    def __iter__(self) -> Iterator[str]:
        return iter({key: None for layer in reversed(self._layers) for key in layer})

    def __len__(self) -> int:
        return len({key for layer in self._layers for key in layer})
