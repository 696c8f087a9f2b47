"""The schedule that made a version: which operations were applied, and the Python that applies them again.

A rewrite is a node of the lineage; an operation that ends with it has left its arguments there, and where it began. So
the steps are found by walking back from a version: from the end of an operation to its beginning, or, for the steps
inside it, node by node.

Invariant: the text of a history, run with `p` the program that the version descends from, makes an equal program, or
raises where a step has no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, overload

import attrs

from slinky.cursors.lineages import Applied, Lineage
from slinky.cursors.versions import Version
from slinky.cursors.writing import Code, Unwritable, is_named, quoted, written
from slinky.errors import OperationError, cited
from slinky.ir.given import is_listed
from slinky.ir.statements import Program


@attrs.frozen
class Step:
    """One operation of a history. Its text is the line that applies it."""

    operation: str
    """Its name."""

    module: str
    """Where the operation is defined; empty if it can not be imported from there."""

    arguments: tuple[tuple[str, Code | Unwritable], ...]
    """What it was given beside the pipeline: names (empty for what was given by position) with code."""

    steps: tuple[Step, ...]
    """The operations that it applied in turn; none for a primitive."""

    def __str__(self) -> str:
        return "\n".join(_lines(self, _Imports()))

    def __repr__(self) -> str:
        return f"<Step {self.code}>"

    @property
    def name(self) -> str:
        """How the operation is called in the text: those of slinky as `sl.split_loop`."""
        return f"sl.{self.operation}" if self.module == "slinky" else self.operation

    @property
    def code(self) -> str:
        """The call, whether it can run or not."""
        return self._call(self.name)

    def _call(self, name: str) -> str:
        parts = ["p"]
        for key, value in self.arguments:
            text = value.text if isinstance(value, Code) else f"<{value.words}>"
            parts.append(f"{key}={text}" if key else text)
        return f"{name}({', '.join(parts)})"

    @property
    def can_run(self) -> bool:
        """Whether the call is code: the operation can be imported, and every argument has code."""
        return bool(self.module) and all(isinstance(value, Code) for _, value in self.arguments)


class History:
    """The operations that made a pipeline, first one first. A sequence of steps; its text is Python that runs.

    The text starts from `p`, the pipeline as it was built, and ends with `p` as it is now.
    """

    def __init__(self, name: str, steps: Iterable[Step]) -> None:
        if not isinstance(name, str):
            raise OperationError(f"a history has the name of a pipeline, got {cited(name)}")
        given = tuple(steps) if is_listed(steps) else (steps,)
        if not all(isinstance(step, Step) for step in given):
            raise OperationError(f"a history is made of steps, as other histories have them, got {cited(steps)}")
        self._name = name
        self._steps = given

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        return self._steps[index]

    def __repr__(self) -> str:
        return f"<History of {self._name}: {', '.join(step.operation for step in self._steps) or 'no steps'}>"

    def primitives(self) -> History:
        """The same with the steps inside of operations in their place, down to those that apply no others."""
        return History(self._name, _innermost(self._steps))

    def __str__(self) -> str:
        if not self._steps:
            return f"# {self._name} is as it was built: no operation has been applied to it."
        names = _Imports()
        body = [line for step in self._steps for line in _lines(step, names)]
        return "\n".join([*names.lines(), *body])


def steps_of(version: Version) -> tuple[Step, ...]:
    """The operations that made a version, first one first."""
    return _steps(version.lineage, None, version.program)


def steps_since(version: Version, earlier: Version) -> tuple[Step, ...]:
    """The operations that made a version of one that it descends from."""
    return _steps(version.lineage, earlier.lineage, version.program)


def _steps(end: Lineage | None, start: Lineage | None, program: Program) -> tuple[Step, ...]:
    """The operations between two nodes of a lineage."""
    found: list[Step] = []
    while end is not None and end is not start:
        step = end.step
        if isinstance(step, Applied):
            found.append(_step(step, end, program))
            end = step.start
        elif end.parent is None:
            found += reversed(step or ())
            end = None
        else:
            found.append(Step(end.operation, "", (), ()))
            end = end.parent
    return tuple(reversed(found))


def _step(applied: Applied, end: Lineage, program: Program) -> Step:
    """An operation with those that it applied: all between its start and the rewrite that ends it, but for that."""
    operation: Any = applied.operation
    name, module = operation.__name__, operation.__module__
    given = [("", value) for value in applied.given] + [*applied.named.items()]
    arguments = tuple((key, _code(value, program)) for key, value in given)
    found = "slinky" if is_named(operation, "slinky", name) else module if is_named(operation, module, name) else ""
    inside = _steps(end.parent, applied.start, program)
    return Step(name, found, arguments, inside)


def _code(value: object, program: Program) -> Code | Unwritable:
    if isinstance(value, Unwritable):
        return value
    return written(value, program) or Unwritable(type(value).__name__)


def _innermost(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        if step.steps:
            yield from _innermost(step.steps)
        else:
            yield step


# ----------------------------------------------------------------------------------------------------------------
# Text
# ----------------------------------------------------------------------------------------------------------------


class _Imports:
    """The imports of a text, in the order of their first use; no name is imported from two modules."""

    def __init__(self) -> None:
        self._from: dict[str, str] = {}
        self._modules: dict[str, None] = {}

    def name(self, step: Step) -> str:
        """How the operation of a step is called in the text."""
        if step.module == "slinky":
            return step.name
        if step.operation not in ("p", "sl") and self._from.setdefault(step.operation, step.module) == step.module:
            return step.operation
        self.module(step.module)
        return f"{step.module}.{step.operation}"

    def module(self, name: str) -> None:
        """Import a module by itself."""
        self._modules[name] = None

    def lines(self) -> list[str]:
        """The statements."""
        return [
            *(f"import {module}" for module in self._modules),
            "import slinky as sl",
            *(f"from {module} import {name}" for name, module in self._from.items()),
        ]


def _lines(step: Step, imports: _Imports) -> list[str]:
    """The lines that apply a step: its call, or the steps inside it where that cannot be written."""
    if step.can_run:
        for _, value in step.arguments:
            assert isinstance(value, Code)
            for module in value.modules:
                imports.module(module)
        return [f"p = {step._call(imports.name(step))}"]
    if step.steps:
        return [f"# {step.code}", *(line for inner in step.steps for line in _lines(inner, imports))]
    return [f"raise NotImplementedError({quoted(f'{step.code} has no text that could be run')})"]
