"""What to say of an interval that an access reads and that may be empty: where it is, and what to write instead.

Invariant: what is proposed is shown never to be empty, with the requirements that are named beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from slinky.symbolic.explanations import explain
from slinky.symbolic.expressions import Expr, Max, Metadata, Min, Scalar, Variable, maximum, metadata, minimum
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.text import to_text
from slinky.symbolic.traversal import symbols


def why_empty(i: Interval, known: Facts) -> str:
    """That an interval is not shown to hold an element at every place, an example if there is one, and a remedy."""
    buffers = sorted({(s.buffer, s.dim) for s in symbols(i.min) | symbols(i.max) if isinstance(s, Metadata)})
    # Arrays without elements are the least of the reasons.
    usual = known.also(*(metadata(buffer, d, "extent") >= 1 for buffer, d in buffers))
    found = explain(i.min <= i.max, usual)
    if found.counterexample is None:
        found = explain(i.min <= i.max, known)
    if found.counterexample is None:
        what = "is not shown never to be empty"
    else:
        values = ", ".join(f"{symbol} = {value}" for symbol, value in found.counterexample.items())
        what = f"must not be empty, as it is for {values}"
    return f"{what}; {_remedy(i, known)}"


def _remedy(i: Interval, known: Facts) -> str:
    """An interval that is never empty, as code: with ends that stay within the limits of each other, if it has any."""
    floors, caps = _fixed(i.min, Max), _fixed(i.max, Min)
    scalars = sorted((s for s in symbols(i.min) | symbols(i.max) if isinstance(s, Scalar)), key=str)
    low, high = minimum(i.min, *caps), maximum(i.max, *floors)
    if floors and caps:
        ends = f"{_nested(i.min, caps, 'minimum')}, {_nested(i.max, floors, 'maximum')}"
        code = f"keep both ends inside: sl.interval({ends})"
        if prove(low <= high, known):
            return code
        needed = [s >= 0 for s in scalars]
        if needed and prove(low <= high, known.also(*needed)):
            return f"{code}, and let the pipeline require it: build_pipeline(..., require=[{_code_of_all(scalars)}])"
    return f"sl.interval({_code(i.min)}, sl.maximum({_code(i.min)}, {_code(i.max)})) never is"


def _fixed(end: Expr, kind: type[Min] | type[Max]) -> list[Expr]:
    """The operands of an end that do not move with the dimensions of the func: its limits."""
    operands = end.operands if isinstance(end, kind) else ()
    return [e for e in operands if not any(isinstance(s, Variable) and not isinstance(s, Scalar) for s in symbols(e))]


def _nested(end: Expr, limits: list[Expr], function: str) -> str:
    return f"sl.{function}({', '.join(map(_code, (end, *limits)))})"


def _code_of_all(scalars: Sequence[Expr]) -> str:
    return ", ".join(f"{s} >= 0" for s in scalars)


def _code(e: Expr) -> str:
    """An expression as a user writes it."""
    text = to_text(e)
    for short, name in (("min(", "minimum("), ("max(", "maximum("), ("select(", "select(")):
        text = text.replace(short, f"sl.{name}")
    return text
