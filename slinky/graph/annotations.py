"""What a user writes on funcs and buffers of how they shall run: loops, and where things are computed and stored.

An annotation is data and does nothing by itself. `slinky.sched.annotations` applies what it finds on a graph when a
pipeline is built, with the primitives that a user would write.

Invariant: an annotation can be printed as the Python that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import attrs

from slinky.errors import GraphError, cited
from slinky.ir.given import is_iterable, is_one_of
from slinky.symbolic.expressions import Constant, Expr, ExprLike, Scalar, Variable, as_expr, is_integer
from slinky.symbolic.traversal import symbols

if TYPE_CHECKING:
    from slinky.graph.buffers import BufferExpr
    from slinky.graph.funcs import Func


@attrs.frozen(eq=False)
class LoopAnnotation:
    """A loop over a dimension of a func, in pieces of so many coordinates: see `sl.loop`."""

    variable: Variable
    step: Expr
    workers: Expr | None
    """None for a serial loop; 0 for as many workers as there are."""

    tail: str
    align: int

    def __str__(self) -> str:
        parts = [str(self.variable)]
        parts += [f"step={self.step}"] if str(self.step) != "1" else []
        parts += [f"workers={self.workers}"] if self.workers is not None else []
        parts += [f"tail={self.tail!r}"] if self.tail != "clamp" else []
        parts += [f"align={self.align}"] if self.align != 1 else []
        return f"sl.loop({', '.join(parts)})" if len(parts) > 1 else parts[0]


LoopLike: TypeAlias = "Variable | tuple[Variable, ExprLike] | LoopAnnotation"
"""A loop as `func.loops` takes it: a variable, a variable and a step, or `sl.loop(...)`."""

LoopName: TypeAlias = "Variable | LoopAnnotation"
"""Which loop of a func: the one over this variable, or just this one of several."""


def loop(
    variable: Variable,
    step: ExprLike = 1,
    *,
    workers: ExprLike | None = None,
    tail: str = "clamp",
    align: int = 1,
) -> LoopAnnotation:
    """A loop over a dimension of a func, for `func.loops([...])`.

    Parameters:
        variable: the dimension, or a variable of the name that the func's reduction gives a dimension that it reduces.
        step: how many coordinates each iteration computes: an integer, or an expression of scalars.
        workers: None for a loop that is serial; a number of threads, or an expression of scalars, for a parallel one; 0
            for as many threads as there are.
        tail: what becomes of the last piece, if it is not full (see `split_loop`).
        align: the loop begins at a multiple of this, so that its pieces begin where the same pieces of any other run
            begin. The first one is smaller if the func's box begins within it.

    Raises `GraphError` for what can be no loop.
    """
    given_variable: object = variable
    if not isinstance(given_variable, Variable) or isinstance(given_variable, Scalar):
        raise GraphError(f"a loop goes over a variable of a func, such as y, got {cited(variable)}")
    given = _of_scalars(step, f"the step of the loop over {variable}")
    if isinstance(given, Constant) and given.value < 1:
        raise GraphError(f"the step of the loop over {variable} is at least 1, got {given}")
    count = None if workers is None else _of_scalars(workers, f"the workers of the loop over {variable}")
    if isinstance(count, Constant) and count.value < 0:
        raise GraphError(f"the workers of the loop over {variable} are at least 1, or 0 for all, got {count}")
    if not is_integer(align) or align < 1:
        raise GraphError(f"the loop over {variable} begins at a multiple of an integer, 1 or more, got {cited(align)}")
    if not is_one_of(tail, ("clamp", "cut", "shift", "perfect")):
        raise GraphError(f"the tail of the loop over {variable} is clamp, cut, shift or perfect, got {cited(tail)}")
    return LoopAnnotation(variable, given, count, tail, int(align))


def _of_scalars(given: ExprLike, what: str) -> Expr:
    try:
        expr = as_expr(given)
    except TypeError as error:
        raise GraphError(f"{what}: {error}") from None
    others = [s for s in symbols(expr) if isinstance(s, Variable) and not isinstance(s, Scalar)]
    if others:
        raise GraphError(f"{what} is the same in each iteration, so it cannot depend on variable {others[0]}")
    return expr


@attrs.frozen(eq=False)
class At:
    """In a loop of a func."""

    func: Func
    loop: LoopName

    def __str__(self) -> str:
        return f"{self.func.name}, {self.loop}"


@attrs.frozen(eq=False)
class Root:
    """Outside of all loops."""

    def __str__(self) -> str:
        return ""


@attrs.frozen(eq=False)
class InMemoryOf:
    """In the memory of another buffer."""

    buffer: BufferExpr

    def __str__(self) -> str:
        return self.buffer.name


Placement: TypeAlias = "At | Root"
"""Where a func is computed, or a buffer stored."""


def loops_of(func: Func, given: Iterable[LoopLike]) -> tuple[LoopAnnotation, ...]:
    """The loops that are given for a func. Raises `GraphError` for what can be none of its."""
    what = f"the loops of func {func.name!r}"
    if isinstance(given, (Variable, LoopAnnotation)) or not is_iterable(given):
        raise GraphError(f"{what} must be a list, such as [y, (x, 256)], got {cited(given)}")
    found = []
    for each in given:
        pair = each if isinstance(each, tuple) else (each,)
        if not isinstance(each, LoopAnnotation) and len(pair) not in (1, 2):
            raise GraphError(f"{what}: expected a variable, a variable and a step, or sl.loop(...), got {cited(each)}")
        found.append(each if isinstance(each, LoopAnnotation) else loop(*pair))
    for annotation in found:
        if not _is_dimension(func, annotation.variable):
            raise GraphError(f"{what}: {annotation.variable} is none of its dimensions, which are {_dims_text(func)}")
        if annotation.variable not in func.dims:
            _require_plain_pieces(what, annotation)
        if found.count(annotation) > 1:
            raise GraphError(f"{what}: {annotation} stands there twice; make a loop of its own for each")
    return tuple(found)


def place_in(what: str, func: object, at: object) -> At:
    """A loop of a func, as an annotation of something. Raises `GraphError` for what can be none."""
    from slinky.graph.funcs import Func

    if not isinstance(func, Func):
        raise GraphError(f"{what} takes a func and one of its loops, got {cited(func)}")
    if not isinstance(at, (Variable, LoopAnnotation)):
        raise GraphError(f"{what} takes a loop of func {func.name!r}: its variable, or sl.loop(...), got {cited(at)}")
    variable = at.variable if isinstance(at, LoopAnnotation) else at
    if not _is_dimension(func, variable):
        raise GraphError(f"{what}: {variable} is no dimension of func {func.name!r}, which has {_dims_text(func)}")
    return At(func, at)


def _is_dimension(func: Func, variable: Variable) -> bool:
    """Whether a variable is a dimension of a func, or has the name of one that the func declares to reduce."""
    return variable in func.dims or variable.name in reduced_dims(func)


def reduced_dims(func: Func) -> tuple[str, ...]:
    """The names of the dimensions that a func declares to reduce, but for those that a dimension of its own has."""
    declared = func.declared_reduction
    own = {dim.name for dim in func.dims}
    return () if declared is None else tuple(name for name in declared.over if name not in own)


def _dims_text(func: Func) -> str:
    reduced = [f"{name} (reduced)" for name in reduced_dims(func)]
    return ", ".join([*map(str, func.dims), *reduced]) or "none"


def _require_plain_pieces(what: str, annotation: LoopAnnotation) -> None:
    """Raise `GraphError` for a loop over a reduced dimension that is anything but pieces one after the other."""
    said = {
        "workers": annotation.workers is not None,
        "tail": annotation.tail != "clamp",
        "align": annotation.align != 1,
    }
    wrong = [name for name, is_said in said.items() if is_said]
    if wrong:
        raise GraphError(
            f"{what}: {annotation.variable} is reduced, each piece goes on from the one before: its loop has a step "
            f"alone, but {wrong[0]} was given; split_reduction_in_parts makes parts that run at the same time"
        )


def is_annotated(func: Func) -> bool:
    """Whether something is written on a func, or on a buffer that it produces, of how it shall run."""
    if func.loop_annotations or func.placement is not None:
        return True
    return any(a.buffer.stored is not None or a.buffer.memory is not None for a in func.outputs)
