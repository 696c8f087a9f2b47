"""Forks: what a process that is forked, and its child, must not have in common.

A forked child has the memory of its parent, but only the thread that forked. Four things would go wrong by themselves:

* *Rings* (see `mirrored`) are shared mappings: parent and child would write the same pages. The child gets copies of
  its own, at the same addresses. What is in them may matter: a callback may fork, and the run go on in both.
* *Locks* that other threads hold would stay locked in the child for ever.
* *Loops* that other threads work on would wait for these threads for ever (see `threads`).
* *Modules* that other threads import, as those of slinky are at their first use, would stay locked by Python.

So the thread that forks first waits for such imports, then takes all locks of slinky, which stops the books of every
loop, and then copies the rings; if another import has begun meanwhile, it starts again. What it needs to go on lies in
pages that nobody else writes meanwhile; what other threads are in the middle of is done again by the child, if it needs
it. Everything else that a run keeps is private memory, of which the system itself gives the child its own as it was at
the fork.

Invariant: a child gives right answers, whatever went on in its parent at the fork, in new runs, in bound pipelines, and
in the run that the forking thread was in. Neither process sees what the other writes.

The limits: this rests on the hooks of `os.register_at_fork`, so on forks that Python knows of, as those of `os` and
`multiprocessing` are. Who forks in C must call `PyOS_BeforeFork` and so on, as Python demands; without the first of
these calls, a run that the child goes on with is lost. `vfork` and `posix_spawn` need nothing: their child becomes
another program at once. A child for which there is no memory, or no descriptor, cannot touch the rings: it is told so
on `stderr`, and ends with a segmentation fault if it uses one. Imports of other modules than slinky's are Python's to
look after, and so is one that begins in the last few instructions before a fork. The statistics of a run that a child
goes on with count what it does again.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import slinky.symbolic.nodes  # noqa: F401  # its hooks come first, so that its lock, taken within others, is taken last
from slinky.errors import StorageError
from slinky.runtime import mirrored

_locks: set[weakref.ref[Any]] = set()
_menders: set[weakref.WeakMethod[Callable[[], None]]] = set()


_adding = threading.RLock()
"""Held while a lock is added, and at a fork: no other thread may hold one that nobody has heard of."""


def lock() -> Any:
    """A re-entrant lock that no other thread holds at a fork. Who holds one takes no other of these."""
    made = threading.RLock()
    with _adding:
        _locks.add(weakref.ref(made, _locks.discard))
    return made


def after_fork_in_child(method: Callable[[], None]) -> None:
    """Have a method called in every forked child, with all locks held. Its object is not kept alive."""
    _menders.add(weakref.WeakMethod(method, _menders.discard))


def _imported_now() -> set[str]:
    """The modules of slinky that are being imported."""
    found = [(name, module) for name, module in tuple(sys.modules.items()) if name.partition(".")[0] == "slinky"]
    return {name for name, module in found if getattr(getattr(module, "__spec__", None), "_initializing", False)}


def _wait_for_imports() -> set[str]:
    """Wait until no other thread imports a module of slinky; those that this one imports are left."""
    own: set[str] = set()
    while waits_for := _imported_now() - own:
        for name in waits_for:
            with contextlib.suppress(Exception):  # its own thread is told
                importlib.import_module(name)
        own |= waits_for & _imported_now()
    return own


class _Fork:
    """The fork that is under way, if any: what was taken and copied for it."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.RLock()
        self._held: list[Any] = []
        self._copies: mirrored.Copies | None = None
        self._is_under_way = False

    def before(self) -> None:
        """In the parent, on the thread that forks."""
        self._one_at_a_time.acquire()
        self._is_under_way = True
        while True:
            own = _wait_for_imports()
            self._take()
            if _imported_now() <= own:
                return
            self._give_back()

    def _take(self) -> None:
        """Take all locks, and copy the rings. While one is waited for, others may be added; who adds one then waits."""
        while True:
            for found in self._others():
                found.acquire()
                self._held.append(found)
            _adding.acquire()
            if not self._others():
                self._held.append(_adding)
                break
            _adding.release()
        try:
            self._copies = mirrored.copies()
        except OSError:
            self._copies = None  # the child tries again, and says what is wrong if it cannot

    def _others(self) -> list[Any]:
        """The locks that are not taken yet."""
        held = set(map(id, self._held))
        found = [reference() for reference in list(_locks)]
        return [each for each in found if each is not None and id(each) not in held]

    def in_parent(self) -> None:
        """In the parent, also if there is no child."""
        self._give_back()
        self._end()

    def in_child(self) -> None:
        """In the child, which has one thread."""
        try:
            self._own_rings()
        finally:
            try:
                if self._is_under_way:  # else nobody has called `before`, and no lock is held
                    for reference in list(_menders):
                        mend = reference()
                        if mend is not None:
                            mend()
            finally:
                self._copies = None
                self._give_back()
                self._end()

    def _own_rings(self) -> None:
        try:
            for copies in (self._copies, mirrored.copies(beside=self._copies)):
                if copies is not None:
                    mirrored.own(copies)
                    copies.close()
        except OSError as error:
            mirrored.forbid()
            raise StorageError(f"a forked process cannot have its own memory for folded buffers: {error}") from error

    def _give_back(self) -> None:
        """Give back the copies and the locks."""
        copies, self._copies = self._copies, None
        if copies is not None:
            copies.close()
        held, self._held = self._held, []
        for found in reversed(held):
            found.release()

    def _end(self) -> None:
        """The fork is over."""
        if self._is_under_way:
            self._is_under_way = False
            self._one_at_a_time.release()


if hasattr(os, "register_at_fork"):
    _fork = _Fork()
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)
