"""Native plans: a plan in Python whose arithmetic is C.

Idea. What a plan decides (loops, memory, views, threads) does not depend on what runs a call, so a native plan is the
Python plan with other functions for the calls that slinky understands: each is compiled once, and called with the lock
of the interpreter released. Whole loops whose calls are all understood are C, too (see `nests`). A callback in between
is called as ever.

There are four kinds. `NativePlan` takes to C all that C knows; `FastNativePlan` lets it round otherwise. `AutoPlan` is
asked for less: C where there is a compiler, and where it is faster. `ExactPlan` is one of these whose results are those
of the Python plan in every bit, so that a program may move from the one to the other while it runs.

Invariants: results, counts and warnings are those of the Python plan. While the compiler runs, no lock is held that a
fork waits for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from slinky.callers import level
from slinky.errors import MissingCompilerWarning
from slinky.ir.combined import formula_of
from slinky.ir.formulas import Formula
from slinky.ir.nesting import funcs_in
from slinky.ir.operations import Callback, Expression
from slinky.ir.reducing import combined_of
from slinky.ir.statements import LoweredFunc, Program
from slinky.native.apart import Second
from slinky.native.carriers import exception_bits, native_carrier
from slinky.native.compiling import Compiler, NotShippedError, compiler
from slinky.native.embedding import c_function_of
from slinky.native.functions import function_of_step
from slinky.native.kept_plans import find, keep, question
from slinky.native.kernel_sets import Kernels
from slinky.native.kernels import is_exact, is_in_c
from slinky.native.nests import InNests, in_nests, names_outside_nests, with_functions
from slinky.native.parts import live_steps
from slinky.native.reducing import is_exact_reduction
from slinky.runtime.codegen.generator import Kind
from slinky.runtime.formulas import formula_carrier
from slinky.runtime.kept_plans import Question
from slinky.runtime.plan import Parts, Plan, Variant
from slinky.runtime.plan_tree import PlanTree
from slinky.runtime.python_text import PythonText


class NativePlan(Plan):
    """A plan that runs arithmetic in C. Where there is no C compiler, all of it is Python, and a warning says so."""

    waits = True
    """Whether a call waits for what is compiled for it alone."""

    def __init__(self, program: Program, made_by: Compiler | None = None) -> None:
        self._made_by = self._compiler() if made_by is None else made_by
        self._made: dict[Kind, Parts] = {}
        self._seconds: dict[Kind, Second] = {}
        self._to_keep: dict[Kind, tuple[Question, InNests]] = {}
        self.runs_c = False
        """Whether C does anything, as far as variants are made."""
        super().__init__(program)

    def _compiler(self) -> Compiler | None:
        found = compiler()
        if found is None:
            warnings.warn(
                "there is no C compiler, so arithmetic runs as NumPy's: install one, or pip install 'slinky[native]'",
                MissingCompilerWarning,
                stacklevel=level(),
            )
        return found

    def make_ready(self) -> None:
        """Make the variant that runs when nobody counts, and the entry to it, if they are not made yet."""
        self.variant(self._usual)
        super().make_ready()

    def make_second(self) -> None:
        """Make what the usual variant needs for arrays of which elements lie apart. Raises `CompilationError`."""
        self.make_ready()
        if self._usual in self._seconds:
            self._seconds[self._usual].make()

    @staticmethod
    def makes_loops_of(func: LoweredFunc) -> bool:
        """Whether what a func computes is C as a whole, here where a compiler is."""
        formula = formula_of(func)
        is_known = Kernels().knows(func) if formula is None else is_in_c(formula)
        return is_known and compiler() is not None

    @staticmethod
    def gives_bits(formula: Formula) -> bool:
        """Whether C computes all of a formula, to the bits that NumPy gives."""
        return is_exact(formula)

    @staticmethod
    def has_loops() -> bool:
        """Whether there is a compiler for them."""
        return compiler() is not None

    @property
    def keeps_bits(self) -> bool:
        """Whether results are those of the Python plan in every bit."""
        return not self.runs_c or all(map(_keeps_bits, funcs_in(self.program)))

    def variant(self, kind: Kind) -> Variant:
        """A variant of the function; made on the first use, and before it, what it needs of C."""
        if kind not in self._variants and kind not in self._made:
            self._made[kind] = self._compiled(kind)
        found = super().variant(kind)
        self._made.pop(kind, None)
        if (made := self._to_keep.pop(kind, None)) is not None:
            keep(*made, found.text)
        return found

    def parts(self, kind: Kind) -> Parts:
        """What a variant is made of, with C for what C may do."""
        return self._made.get(kind) or self._compiled(kind)

    def _compiled(self, kind: Kind) -> Parts:
        """What a variant is made of: with nests, unless each call is to be seen, to count it, or to test it."""
        made_by = self._made_by
        if made_by is None:
            return super().parts(kind)
        second = self._seconds[kind] = Second(made_by, waits=self.waits)
        try:
            nested, text = self._in_nests(kind, second)
            tree = nested or super().parts(kind).tree
            carriers = self._carriers(tree, second)
        except NotShippedError:
            return super().parts(kind)
        self.runs_c |= nested is not None or bool(carriers)
        return Parts(self.program, tree, carriers, text)

    def _in_nests(self, kind: Kind, second: Second) -> tuple[PlanTree | None, PythonText | None]:
        """The plan tree of a variant that calls C functions for its nests, None where there are none; and its source,
        if it was kept."""
        bits = exception_bits(second.made_by)
        if bits is None or kind.recorded or kind.guarded:
            return None, None
        asked = question(self._program_of(kind), kind, type(self).__name__, second.made_by)
        kept = None if asked is None else find(asked)
        if kept is not None:
            found, text = kept
            return with_functions(found, second, bits), text
        made = in_nests(super().parts(kind).tree, self.program, self._may_do)
        if made is None:
            return None, None
        if asked is not None:
            self._to_keep[kind] = asked, made
        return with_functions(made, second, bits), None

    def _may_do(self, func: LoweredFunc) -> bool:
        """Whether C computes a func, if it knows how."""
        return True

    def _is_better(self, formula: Formula) -> bool:
        """Whether C computes calls of a formula that stand by themselves."""
        return True

    def _carriers(self, tree: PlanTree, second: Second) -> Mapping[str, Callable[..., Any]]:
        """The C functions of funcs that are arithmetic, where there are some. Raises `CompilationError`.

        Those that are called within nests only are made when a nest declines.
        """
        found: dict[str, Callable[..., Any]] = {}
        often, made_by = names_outside_nests(tree), second.made_by
        for name, func in tree.callbacks.items():
            function = c_function_of(func)
            if function is not None and function.otherwise is not None and name in often and made_by.makes_more:
                function.make_ready()
                self.runs_c = True
            formula = formula_of(func) if self._may_do(func) else None
            if formula is None or isinstance(func.operation, Callback):  # whose loop is NumPy's own
                continue
            if self._is_better(formula):
                carrier = native_carrier(formula, made_by) if name in often else _made_later(formula, second)
                if carrier is not None:
                    found[name] = carrier if isinstance(func.operation, Expression) else _without_arguments(carrier)
        return found


class FastNativePlan(NativePlan):
    """The same, whose arithmetic the compiler may contract and put in another order."""

    @property
    def keeps_bits(self) -> bool:
        """Whether results are those of the Python plan in every bit."""
        return not self.runs_c

    def _compiler(self) -> Compiler | None:
        found = super()._compiler()
        return None if found is None else found.fast()


class AutoPlan(NativePlan):
    """A plan that runs in C what is faster so: all of it is Python, without a word, where there is no C compiler."""

    def _compiler(self) -> Compiler | None:
        return compiler()

    def _is_better(self, formula: Formula) -> bool:
        """Not for a single step, for which NumPy has a loop of its own, unless C has a faster one."""
        own = [function_of_step(formula.steps[number]) for number in live_steps(formula)]
        return len(own) > 1 or any(each is not None and each.is_faster_alone for each in own)


class ExactPlan(AutoPlan):
    """The same, whose results are those of the Python plan in every bit; so that may run until there is C."""

    waits = False

    @staticmethod
    def makes_loops_of(func: LoweredFunc) -> bool:
        """Whether what a func computes is C as a whole, and the same in every bit."""
        return NativePlan.makes_loops_of(func) and _keeps_bits(func)

    @property
    def keeps_bits(self) -> bool:
        """Whether results are those of the Python plan in every bit."""
        return True

    def _may_do(self, func: LoweredFunc) -> bool:
        """Of formulas, those that C computes wholly, as NumPy does; of reductions, those in NumPy's order; all else."""
        return _keeps_bits(func)


def _keeps_bits(func: LoweredFunc) -> bool:
    """Whether C gives the bits that NumPy does, of what it knows."""
    combined = combined_of(func)
    if combined is not None:
        return is_exact_reduction(combined, func.inputs[0].dtype, func.outputs[0].dtype)
    formula = formula_of(func)
    return formula is None or is_exact(formula)


def has_exact_code(program: Program) -> bool:
    """Whether there is a C compiler, and something that it may do in an `ExactPlan`. Raises `CompilationError` where
    `$CC` is no compiler."""
    return any(map(_is_exact_in_c, funcs_in(program))) and compiler() is not None


def _is_exact_in_c(func: LoweredFunc) -> bool:
    combined, formula = combined_of(func), formula_of(func)
    if c_function_of(func) is not None:
        return True
    is_variance = combined is not None and combined.centred  # of all reductions, those may gain by themselves
    return (is_variance and _keeps_bits(func)) or (formula is not None and is_exact(formula))


def _without_arguments(carrier: Callable[..., Any]) -> Callable[..., Any]:
    """The C function of a stage of a reduction: how long pieces are is in its formula."""

    def stage(*operands: Any, piece_extent: int = 1) -> None:
        carrier(*operands)

    return stage


def _made_later(formula: Formula, second: Second) -> Callable[..., Any]:
    """The C function of a formula that is known to have one, made when it is first called; NumPy's if that C was not
    brought along, and there is none to make it, and where C for all of the nest is missing that nobody waits for."""

    def carrier(*operands: Any, **arguments: Any) -> None:
        is_made = second.made_by.makes_more and not second.leaves_it_to_numpy
        made = native_carrier(formula, second.made_by) if is_made else formula_carrier(formula)
        assert made is not None  # a nest has it
        made(*operands, **arguments)

    return carrier
