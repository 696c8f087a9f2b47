"""A fork while a module of slinky's is imported, as many are at their first use: the child can import it, too."""

from __future__ import annotations

import importlib.abc
import importlib.util
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import slinky.runtime.forks  # noqa: F401

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

SECONDS = 30
"""After so long, a child hangs."""


class Slow(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, in which something is done while it is imported."""

    name = "slinky.slow"

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def find_spec(self, name: str, *_: Any) -> Any:
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module: Any) -> None:
        self._act()
        module.is_there = True

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)
        sys.modules.pop(self.name, None)


def use() -> None:
    assert importlib.import_module(Slow.name).is_there


def fork(work: Callable[[], None]) -> None:
    """Do something in a child, which ends well."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(SECONDS)
    is_hanging = child.is_alive()
    if is_hanging:
        child.kill()
        child.join()
    assert not is_hanging
    assert child.exitcode == 0


def fork_during_an_import(then: Callable[[], None], use: Callable[[], None]) -> None:
    """Fork while another thread imports, which does something at the end of it; both sides use what is imported."""
    has_begun = threading.Event()

    def act() -> None:
        has_begun.set()
        time.sleep(0.2)
        then()

    with Slow(act):
        other = threading.Thread(target=use)
        other.start()
        assert has_begun.wait(SECONDS)
        fork(use)
        other.join()


def test_another_thread_imports() -> None:
    fork_during_an_import(lambda: None, use)


def test_another_thread_imports_in_vain() -> None:
    def fail() -> None:
        raise ValueError("in vain")

    def use_in_vain() -> None:
        with pytest.raises(ValueError, match="in vain"):
            use()

    fork_during_an_import(fail, use_in_vain)


def test_the_thread_itself_imports() -> None:
    """It cannot wait for itself."""
    with Slow(lambda: fork(lambda: None)):
        use()
