"""Native plans: a plan in Python whose arithmetic is C.

Idea. What a plan decides (loops, memory, views, threads) does not depend on what runs a call, so a native plan is the
Python plan with other functions for the calls that slinky understands: each is compiled once, and called with the lock
of the interpreter released. Whole loops whose calls are all understood are C, too (see `nests`). A callback in between
is called as ever.

Invariant: results, counts and warnings are those of the Python plan.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from slinky.errors import MissingCompilerWarning
from slinky.ir.combined import formula_of
from slinky.ir.formulas import Formula
from slinky.ir.operations import Expression
from slinky.ir.statements import Program
from slinky.native.carriers import native_carrier
from slinky.native.compiling import Compiler, compiler
from slinky.native.nests import names_outside_nests, with_nests
from slinky.runtime.codegen.generator import Kind
from slinky.runtime.plan import Plan
from slinky.runtime.plan_tree import PlanTree


class NativePlan(Plan):
    """A plan that runs arithmetic in C. Where there is no C compiler, all of it is Python, and a warning says so."""

    def __init__(self, program: Program) -> None:
        self._made_by = self._compiler()
        if self._made_by is None:
            warnings.warn(
                "there is no C compiler, so arithmetic runs as NumPy's: install one, or pip install 'slinky[native]'",
                MissingCompilerWarning,
                stacklevel=2,
            )
        super().__init__(program)

    def _compiler(self) -> Compiler | None:
        return compiler()

    def refined(self, tree: PlanTree, kind: Kind) -> PlanTree:
        """The tree with its nests in C, unless each call is to be seen: to count it, or to test it."""
        if self._made_by is None or kind.recorded or kind.guarded:
            return tree
        return with_nests(tree, self._made_by)

    def carriers(self, tree: PlanTree) -> Mapping[str, Callable[..., Any]]:
        """The C functions of funcs that are arithmetic, where there are some. Raises `CompilationError`.

        Those that are called within nests only are made when a nest declines.
        """
        if self._made_by is None:
            return {}
        found: dict[str, Callable[..., Any]] = {}
        often = names_outside_nests(tree)
        for name, func in tree.callbacks.items():
            formula = formula_of(func)
            if formula is not None:
                make = native_carrier if name in often else _made_later
                carrier = make(formula, self._made_by)
                if carrier is not None:
                    found[name] = carrier if isinstance(func.operation, Expression) else _without_arguments(carrier)
        return found


class FastNativePlan(NativePlan):
    """The same, whose arithmetic the compiler may contract and put in another order."""

    def _compiler(self) -> Compiler | None:
        found = super()._compiler()
        return None if found is None else found.fast()


def _without_arguments(carrier: Callable[..., Any]) -> Callable[..., Any]:
    """The C function of a stage of a reduction: how long pieces are is in its formula."""

    def stage(*operands: Any, piece_extent: int = 1) -> None:
        carrier(*operands)

    return stage


def _made_later(formula: Formula, made_by: Compiler) -> Callable[..., Any]:
    """The C function of a formula that is known to have one, made when it is first called."""

    def carrier(*operands: Any, **arguments: Any) -> None:
        made = native_carrier(formula, made_by)
        assert made is not None  # a nest has it
        made(*operands, **arguments)

    return carrier
