"""Sizes of small arrays that a program takes, to try it on.

Idea. Outputs of a few extents, each with inputs that are longer on either side by the first of some margins with which
all checks pass; where none does, with bounds that a search for values finds.

Invariant: with what is given, all checks at the start of the program pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from slinky.errors import ExpressionError
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import Program
from slinky.symbolic.expressions import Expr, all_of, equal, metadata, scalar
from slinky.symbolic.proofs import NO_FACTS
from slinky.symbolic.search import Search
from slinky.symbolic.traversal import evaluate

_EXTENTS = (1, 2, 3, 5, 9, 17, 40)
"""How long the outputs are."""

_MARGINS = (0, 1, 2, 4, 8, 16, 64)
"""By how much the inputs are longer on either side: the first with which all checks pass."""

_SCALARS = (2, 1, 3)
"""What scalars are."""


def small_sizes(program: Program) -> Iterator[dict[Expr, int]]:
    """Values of all parameters, with which all checks at the start of the program pass."""
    checks = [check.condition for check in leading_checks(program)]
    for extent in _EXTENTS:
        for values in _candidates(program, extent):
            try:
                if all(evaluate(condition, values) for condition in checks):
                    yield values
                    break
            except ExpressionError:
                continue


def _candidates(program: Program, extent: int) -> Iterator[dict[Expr, int]]:
    for number in _SCALARS if program.scalars else (0,):
        given: dict[Expr, int] = {scalar(s.name): number for s in program.scalars}
        for parameter in program.outputs:
            _set(given, parameter.name, parameter.rank, 0, extent - 1)
        for margin in _MARGINS:
            values = dict(given)
            for parameter in program.inputs:
                _set(values, parameter.name, parameter.rank, -margin, extent - 1 + margin)
            yield values
        ends = [metadata(p.name, d, end) for p in program.outputs for d in range(p.rank) for end in ("min", "max")]
        wanted = [equal(symbol, given[symbol]) for symbol in (*ends, *(scalar(s.name) for s in program.scalars))]
        search = Search(NO_FACTS)
        search.refuted(all_of(*wanted, *(check.condition for check in leading_checks(program))))
        values = dict(given)
        for parameter in program.inputs:
            for d in range(parameter.rank):
                lo = search.found.get(metadata(parameter.name, d, "min"), 0)
                hi = search.found.get(metadata(parameter.name, d, "max"), extent - 1)
                _set_dim(values, parameter.name, d, lo, hi)
        yield values


def _set(values: dict[Expr, int], buffer: str, rank: int, lo: int, hi: int) -> None:
    for d in range(rank):
        _set_dim(values, buffer, d, lo, hi)


def _set_dim(values: dict[Expr, int], buffer: str, d: int, lo: int, hi: int) -> None:
    values[metadata(buffer, d, "min")], values[metadata(buffer, d, "max")] = lo, hi
    values[metadata(buffer, d, "fold_factor")] = max(hi - lo + 1, 1)
