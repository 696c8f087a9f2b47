"""Random programs as methods of an object: arguments are attributes, and what comes of a step is set, or written there.

Idea. The lines of a program of `numpy_programs` are the body of a method, which is called several times. At its end,
attributes get new arrays, or are written to, by what was computed, cut to small numbers of the same shape; some values
are kept as further attributes; and calls are counted. Traced, the method alone is; what it returned, and all attributes
in the end, are compared.

Invariant: what is rounded goes into no attribute that is read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy_programs import HELPER, Program, Ways, run
from numpy_steps import may_be, values_of

CALLS = 3

_CLIPPED = "np.clip(np.nan_to_num({}), -9, 9).astype(np.{})"


@attrs.frozen
class Method(Program):
    """A program that is a method of an object with its arguments as attributes."""

    @property
    def source(self) -> str:
        """Python that defines the method, and what calls it."""
        taken = [f"a{k} = self.a{k}" for k in range(len(self.inputs))]
        body = "\n".join(f"        {line}" for line in [*taken, *self.lines])
        return f"import math\n\nimport numpy as np\n\n\n{HELPER}\n\nclass Held:\n    def program(self):\n{body}\n"

    def function(self) -> Callable[..., Any]:
        """What calls the method, which is made anew."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(self.source, f"<method {self.seed}>", "exec"), namespace)
        return Called(namespace["Held"], namespace["Held"].program)


@attrs.frozen(eq=False)
class Called:
    """Calls a method of a new object several times; gives what it returned, and what is in the object then."""

    kind: type
    method: Callable[..., Any]

    def __call__(self, *arrays: Any) -> Any:
        held = self.kind()
        for k, array in enumerate(arrays):
            setattr(held, f"a{k}", array.copy(order="K"))
        held.count = 0  # type: ignore[attr-defined]
        results = [_copied(self.method(held)) for _ in range(CALLS)]
        return (*results, dict(sorted(vars(held).items())))


def _copied(value: Any) -> Any:
    """What later calls do not change."""
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def of_methods(ways: Ways) -> Ways:
    """What traces the methods of such programs."""
    return {name: _of_method(jit) for name, jit in ways.items()}


def _of_method(jit: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda called: attrs.evolve(called, method=jit(called.method))


def in_objects(programs: Iterable[Program]) -> Iterator[Program]:
    """The same programs as methods, of those that do not fail as such."""
    for program in programs:
        found = _as_method(program)
        if run(found.function(), found.arrays())[1] is None:
            yield found


def _as_method(program: Program) -> Method:
    draws = random.Random(program.seed)
    values = values_of(program)
    lines = list(program.lines[:-1])
    for k, array in enumerate(program.arrays()):
        names = [name for name, value in values.items() if may_be(name, value, array)]
        if names and not program.rounded and draws.random() < 0.8:
            value = _CLIPPED.format(draws.choice(names[-3:]), array.dtype.name)
            targets = [f"self.a{k} = ", f"self.a{k}[...] = "] + [f"self.a{k}[1:] = 0 + "] * (array.ndim > 0)
            target = draws.choice(targets)
            lines.append(f"{target}{value}" + "[1:]" * ("1:" in target))
    own = [name for name, value in values.items() if name[0] == "v" and name[1:].isdigit()]
    if own and draws.random() < 0.5:
        lines.append(f"self.kept = {draws.choice(own)}")
    if len(program.inputs) > 1 and draws.random() < 0.3:
        lines.append("self.a0, self.a1 = self.a1, self.a0")
    lines.append(draws.choice(["self.count += 1", "self.count += 1", "self.count += 2", "pass"]))
    fields = {**attrs.asdict(program, recurse=False), "lines": (*lines, program.lines[-1])}
    return Method(**fields)
