"""How every operation on pipelines comes before the second judge: a decorator around the decorator that makes them.

`conftest` calls `install` before the package is imported. What is imported here may not import the package.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.util
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

DECORATOR = "slinky.sched.operation"
"""The module whose `sched_op` makes operations."""


def install() -> None:
    """Let all operations be judged: the package's, whose modules are yet to be imported, and those of the tests."""
    assert DECORATOR not in sys.modules, "slinky was imported before the judge could be put in place"
    sys.meta_path.insert(0, _Loader())


notes_refusals = False
"""Whether each refusal is counted: their reasons are then put together, which takes time."""

_rest = threading.local()


@contextlib.contextmanager
def resting() -> Iterator[None]:
    """Judge nothing: for tests that go on from programs which they have made wrong on purpose."""
    before, _rest.now = getattr(_rest, "now", False), True
    try:
        yield
    finally:
        _rest.now = before


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the module of the decorator as ever, and then puts the judging decorator in the place of it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != DECORATOR:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        self.loader = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        module.sched_op = judged(module.sched_op)  # type: ignore[attr-defined]


def judged(sched_op: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of operations, of which every result is judged."""

    @functools.wraps(sched_op)
    def judging_sched_op(*cursors: str) -> Any:
        decorate = sched_op(*cursors)
        return lambda function: _judged_operation(decorate(function))

    return judging_sched_op


def _judged_operation(operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def judging_operation(*args: Any, **kwargs: Any) -> Any:
        try:
            result = operation(*args, **kwargs)
        except ValueError as error:
            if notes_refusals:
                _note(error)
            raise
        new = result[0] if isinstance(result, tuple) else result
        old = args[0] if args else kwargs["p"]
        if new is not old and not getattr(_rest, "now", False):
            _judge(operation, old, new, args, kwargs)
        return result

    return judging_operation


def _judge(operation: Callable[..., Any], old: Any, new: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from second_judge import TALLY, judge

    start = time.thread_time()
    try:
        arguments = inspect.signature(operation).bind(*args, **kwargs).arguments
        judge(old.program, new.program, operation.__name__, dict([*arguments.items()][1:]))
    finally:
        TALLY.seconds += time.thread_time() - start


def _note(error: ValueError) -> None:
    from refusals import note_refusal

    from slinky.errors import SchedulingError

    if isinstance(error, SchedulingError):
        note_refusal(error)
