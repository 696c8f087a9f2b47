"""How every rewrite comes before the second judge: around the decorator that makes operations, and around the editor.

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

DECORATOR, EDITOR = "slinky.sched.operation", "slinky.sched.editor"
"""The modules of `sched_op`, which makes operations, and of the editor, whose `finish` makes a pipeline of edits."""


def install() -> None:
    """Let all operations be judged, the package's, whose modules are yet to be imported, and those of the tests; and
    what edits by hand end in."""
    assert not {DECORATOR, EDITOR} & sys.modules.keys(), "slinky was imported before the judge could be put in place"
    sys.meta_path.insert(0, _Loader(DECORATOR, _judge_operations))
    sys.meta_path.insert(0, _Loader(EDITOR, _judge_edits))


def _judge_operations(module: Any) -> None:
    module.sched_op = judged(module.sched_op)


def _judge_edits(module: Any) -> None:
    finish = module.Editor.finish

    @functools.wraps(finish)
    def judging_finish(self: Any, *args: Any, **kwargs: Any) -> Any:
        old = self.pipeline
        new = finish(self, *args, **kwargs)
        _judge("edit", old, new, {})
        return new

    module.Editor.finish = judging_finish


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
    """Loads a module as ever, and then changes it."""

    def __init__(self, name: str, change: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.change = change

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
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
        self.change(module)


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
        if new is not old:
            arguments = inspect.signature(operation).bind(*args, **kwargs).arguments
            _judge(operation.__name__, old, new, dict([*arguments.items()][1:]))
        return result

    return judging_operation


def _judge(operation: str, old: Any, new: Any, arguments: dict[str, Any]) -> None:
    if getattr(_rest, "now", False):
        return
    from second_judge import TALLY, judge

    start = time.thread_time()
    try:
        judge(old.program, new.program, operation, arguments)
    finally:
        TALLY.seconds += time.thread_time() - start


def _note(error: ValueError) -> None:
    from refusals import note_refusal

    from slinky.errors import SchedulingError

    if isinstance(error, SchedulingError):
        note_refusal(error)
