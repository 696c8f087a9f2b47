"""Back ends: the ways to run a program. Each is registered under a name, and loaded when it is first asked for.

A back end takes a program and makes it ready to run: a `Prepared`. All of them give the same results and the same
counts. The interpreter defines what a program means; the others follow its plan tree (see `plan_tree`).

Invariant: this page knows a back end by the name of its module alone, so that one which needs more than the core does
is imported only by those who ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from slinky.errors import ArgumentError, cited
from slinky.ir.formulas import Formula
from slinky.ir.statements import LoweredFunc, Program
from slinky.runtime.run_options import RunOptions
from slinky.runtime.statistics import RunStatistics


class Prepared(Protocol):
    """A program made ready by a back end. It may run in many threads at once."""

    @property
    def source(self) -> str:
        """What it runs, as the back end writes it."""

    @property
    def enter(self) -> Callable[[Sequence[object], dict[str, Any]], Any]:
        """Runs on arrays, inputs then outputs, and scalars by name; returns the output, or a tuple of the outputs."""

    def record(self, arrays: Sequence[object], scalars: Mapping[str, object], options: RunOptions) -> RunStatistics:
        """Run as the options say, and return what was used."""

    def bind(self, arrays: Sequence[object], scalars: Mapping[str, object]) -> Callable[[], Any]:
        """What runs on these arguments, as often as it is called. What can be checked before is checked now."""

    def release(self) -> None:
        """Give back the memory that is kept for later runs."""


_registered: dict[str, str] = {}


def register(name: str, where: str) -> None:
    """Register a back end under a name. `where`, as `"module:attribute"`, is a callable that takes a program.

    Raises `ArgumentError` if that is not said so, or the name is another one's.
    """
    module, _, attribute = where.partition(":")
    if not module or not attribute:
        raise ArgumentError(f"a back end is registered as 'module:attribute', got {cited(where)}")
    if _registered.setdefault(name, where) != where:
        raise ArgumentError(f"the back end {name!r} is {_registered[name]}; {where} needs another name")


def require_backend(name: object) -> None:
    """Raises `ArgumentError`, which lists the back ends, if there is none of this name."""
    if not isinstance(name, str) or name not in _registered:
        *others, last = map(repr, _registered)
        raise ArgumentError(f"there is no back end {cited(name)}; there are {', '.join(others)} and {last}")


def is_own(name: str) -> bool:
    """Whether the back end of this name is one of slinky's own."""
    return _registered.get(name, "").startswith("slinky.")


def fast_backend(name: str) -> str:
    """The back end that computes as this one does, and may round otherwise. Raises `ArgumentError` if there is none."""
    if name not in ("native", "native-fast"):
        raise ArgumentError(f"fast=True is for the back end 'native', which rounds otherwise then; got {cited(name)}")
    return "native-fast"


def prepare(name: str, program: Program) -> Prepared:
    """A program made ready by the back end of this name. Raises `ArgumentError` if there is none."""
    require_backend(name)
    module, _, attribute = _registered[name].partition(":")
    made: Prepared = getattr(import_module(module), attribute)(program)
    return made


def makes_loops_of(name: str, func: LoweredFunc) -> bool:
    """Whether the back end of this name runs what a func computes in loops of its own, instead of calling Python.

    Nothing rests on it but how good a schedule is. Raises `ArgumentError` if there is no such back end.
    """
    require_backend(name)
    module, _, attribute = _registered[name].partition(":")
    asked = getattr(getattr(import_module(module), attribute), "makes_loops_of", None)
    return asked is not None and bool(asked(func))


def gives_bits(name: str, formula: Formula) -> bool:
    """Whether the back end of this name computes a formula in loops of its own, to the bits that NumPy gives, where it
    has a compiler. Nothing rests on it but how good a schedule is. Raises `ArgumentError` if there is no such back
    end."""
    require_backend(name)
    module, _, attribute = _registered[name].partition(":")
    asked = getattr(getattr(import_module(module), attribute), "gives_bits", None)
    return asked is not None and bool(asked(formula))


def has_loops(name: str) -> bool:
    """Whether the back end of this name runs arithmetic in loops of its own here. Raises `ArgumentError` if there is
    none."""
    require_backend(name)
    module, _, attribute = _registered[name].partition(":")
    asked = getattr(getattr(import_module(module), attribute), "has_loops", None)
    return asked is not None and bool(asked())


_WRITERS = {"C": "slinky.native.programs:c_source"}


def written(language: str, program: Program) -> str:
    """A program in a language that others compile."""
    module, _, attribute = _WRITERS[language].partition(":")
    text: str = getattr(import_module(module), attribute)(program)
    return text


register("python", "slinky.runtime.plan:Plan")
register("native", "slinky.native.plans:NativePlan")
register("native-fast", "slinky.native.plans:FastNativePlan")
register("native-exact", "slinky.native.plans:ExactPlan")
register("auto", "slinky.native.plans:AutoPlan")
register("interpreter", "slinky.runtime.interpreter:Interpreted")
