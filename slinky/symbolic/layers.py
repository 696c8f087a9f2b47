"""Mappings that grow without being copied: what is in scope, or known, after each of ten thousand statements.

A mapping is a few dictionaries, the newest first. A new item is a dictionary of its own, which takes up those behind it
that are no longer than itself. So an item is copied as often as its dictionary can double in length, and a look-up
asks that many dictionaries at most.

What is short is an ordinary dictionary, which is copied: asking a dictionary is fastest. `grown` chooses.

Invariant: a mapping never changes; an item that was added later hides an earlier one of its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, overload

D = TypeVar("D")
K = TypeVar("K")
V = TypeVar("V")

_SMALL = 16
"""Dictionaries this short are taken up in any case: to copy them costs less than to ask one more."""


_LONG = 64
"""A dictionary this long is not copied any more."""


def grown(mapping: Mapping[K, V], items: dict[K, V]) -> Mapping[K, V]:
    """A mapping, and these items, too. Neither must change any more."""
    if not items:
        return mapping
    if isinstance(mapping, Layers):
        return mapping.and_all(items)
    if len(mapping) < _LONG:
        return {**mapping, **items}
    layers: Layers[V] = Layers(mapping)
    return layers.and_all(items)


class Layers(Mapping[Any, V]):
    """An immutable mapping. `plus` gives one with an item more."""

    __slots__ = ("_layers",)

    def __init__(self, items: Mapping[Any, V]) -> None:
        self._layers: tuple[dict[Any, V], ...] = (dict(items),)

    def plus(self, key: object, value: V) -> Layers[V]:
        """This mapping, and one item more."""
        return self.and_all({key: value})

    def and_all(self, items: dict[Any, V]) -> Layers[V]:
        """This mapping, and these items more. The dictionary must not change any more."""
        newest = items
        taken = 0
        for layer in self._layers:
            if len(layer) > max(len(newest), _SMALL):
                break
            newest = {**layer, **newest}
            taken += 1
        new: Layers[V] = Layers.__new__(Layers)
        new._layers = (newest, *self._layers[taken:])
        return new

    @overload
    def get(self, key: Any, /) -> V | None: ...

    @overload
    def get(self, key: Any, /, default: V | D) -> V | D: ...

    def get(self, key: Any, /, default: Any = None) -> Any:
        """The item of a key, or the default."""
        for layer in self._layers:
            if key in layer:
                return layer[key]
        return default

    def __getitem__(self, key: Any) -> V:
        for layer in self._layers:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(key in layer for layer in self._layers)

    def __iter__(self) -> Iterator[Any]:
        return iter({key: None for layer in reversed(self._layers) for key in layer})

    def __len__(self) -> int:
        return len({key for layer in self._layers for key in layer})
