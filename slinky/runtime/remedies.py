"""What a user writes so that the bounds of omitted outputs follow.

Invariant: bounds of inputs that are proposed have been tried: with them the ends follow, and they are not known to
contradict what the pipeline requires already. Numbers are proposed only where no input will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slinky.ir.regions import parameter_box
from slinky.ir.statements import BufferParameter, Program
from slinky.runtime.following import conditions_of, following
from slinky.symbolic.expressions import Condition, Expr, equal
from slinky.symbolic.facts import facts
from slinky.symbolic.proofs import impossible


def what_would_say_it(program: Program, omitted: Sequence[BufferParameter], missing: Sequence[Expr]) -> str:
    """Code that says the missing ends, to stand before the pipeline is built."""
    conditions, code = list(conditions_of(program)), []
    for parameter in omitted:
        for d, own in enumerate(parameter_box(parameter.name, parameter.rank)):
            if {own.min, own.max}.isdisjoint(following(conditions, omitted).missing):
                continue
            text, said = next(_helpful(program, conditions, omitted, parameter, d))
            code.append(text)
            conditions += said
    return f"say it before the pipeline is built: {'; '.join(code)}"


def _helpful(
    program: Program,
    conditions: Sequence[Condition],
    omitted: Sequence[BufferParameter],
    parameter: BufferParameter,
    d: int,
) -> Iterator[tuple[str, list[Condition]]]:
    """What says the ends of a dimension: bounds of inputs, those of the same rank first, or numbers."""
    own = parameter_box(parameter.name, parameter.rank)[d]
    for source in sorted(program.inputs, key=lambda p: (p.rank != parameter.rank, parameter.dims[d] not in p.dims)):
        box = parameter_box(source.name, source.rank)
        for other in sorted(range(source.rank), key=lambda i: (source.dims[i] != parameter.dims[d], i != d)):
            said = [equal(own.min, box[other].min), equal(own.max, box[other].max)]
            also = [*conditions, *said]
            if {own.min, own.max}.isdisjoint(following(also, omitted).missing) and not impossible(facts(*also)):
                yield f"{parameter.name}.dim({d}).bounds = {source.name}.dim({other}).bounds", said
    said = [equal(own.min, 0), equal(own.max, 9)]
    yield f"{parameter.name}.dim({d}).bounds = sl.interval(0, 9) (with the right numbers)", said
