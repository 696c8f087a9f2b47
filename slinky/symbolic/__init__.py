"""Integer expressions, intervals and boxes, with canonical forms and sound proofs. Knows nothing of programs.

The front door of the room: what others build expressions of, compare them by, and ask of them.
"""

from slinky.symbolic import nodes as nodes  # first: the nodes and their constructors need each other
from slinky.symbolic.bounds import bounds, decide, simplify, upper_bound
from slinky.symbolic.explanations import explain
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    all_of,
    any_of,
    equal,
    is_integer,
    maximum,
    metadata,
    minimum,
    negate,
    scalar,
    select,
    unequal,
    variable,
)
from slinky.symbolic.facts import Facts, facts
from slinky.symbolic.intervals import Box, Interval, hull, intersection, interval
from slinky.symbolic.proofs import impossible, prove
from slinky.symbolic.rates import Rate, fastest, rate
from slinky.symbolic.traversal import evaluate, substitute, symbols

__all__ = [
    "Box",
    "Condition",
    "Expr",
    "Facts",
    "Interval",
    "Rate",
    "all_of",
    "any_of",
    "bounds",
    "decide",
    "equal",
    "evaluate",
    "explain",
    "facts",
    "fastest",
    "hull",
    "impossible",
    "intersection",
    "interval",
    "is_integer",
    "maximum",
    "metadata",
    "minimum",
    "negate",
    "prove",
    "rate",
    "scalar",
    "select",
    "simplify",
    "substitute",
    "symbols",
    "unequal",
    "upper_bound",
    "variable",
]
