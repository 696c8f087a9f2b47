"""What pipelines are given that calls of the second judge's runs run.

A call hands to the pipeline of its func, of each buffer that it reads, all that the call says that it reads: a box that
has what each point of the call's box needs, and may have more. Where ends of intervals follow a dimension twice, as in
`x - x // 2`, what is said of a box is more than what is said of its points one by one; and the pipeline relies on that,
in its checks and in what it computes of its own intermediates. So this one box is not the judge's own finding, but
taken from the program. The judge finds out that it has all that the points need, that there is nothing of it outside of
the buffer behind it, and that all of it has been written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from judge_evaluation import evaluation, symbol_key
from judge_geometry import (
    Geometry,
    NumericBox,
    WrongProgramError,
    box_text,
    holds_box,
    operands_read,
    read_views,
)
from judge_memory import Memory

from slinky.ir.regions import end_symbols, input_templates, seen_templates
from slinky.ir.statements import Call, LoweredFunc, Program

if TYPE_CHECKING:
    from judge_running import Run


def inputs_of(
    run: Run, call: Call, program: Program, geometry: Geometry, box: NumericBox, scope: Mapping[str, Memory]
) -> Iterator[Memory]:
    """What the inputs of a pipeline hold, in this order, where a call runs it over a box. Raises `WrongProgramError`
    where they are not all that the call needs, or are not there."""
    func = call.func
    what = f"{func.name}{box_text(box)}"
    given = zip(operands_read(call), program.inputs, read_views(func), _handed_over(run, func, box), strict=True)
    for port, (name, parameter, view, region) in enumerate(given):
        if name not in scope:
            raise WrongProgramError(f"{what} reads {name}, which is not in scope")
        needed = geometry.region_of(port, box)
        if not holds_box(region, needed):
            raise WrongProgramError(
                f"{what} hands over {name}{box_text(region)}, and its points read {box_text(needed)}"
            )
        is_empty = any(lo > hi for lo, hi in region)
        values = None if is_empty else run.seen(func, box, scope[name], region, view).copy()
        yield Memory(parameter.name, region, (), values).of(parameter.dtype)


def _handed_over(run: Run, func: LoweredFunc, box: NumericBox) -> Iterator[NumericBox]:
    """What a func says that a call over a box reads of each input, in the coordinates that its operation sees."""
    values = dict(run.values)
    for (first, last), (lo, hi) in zip(end_symbols(func), box, strict=True):
        values[symbol_key(first)], values[symbol_key(last)] = lo, hi
    for region, seen in zip(input_templates(func), seen_templates(func), strict=False):
        said = region if seen is None else seen
        yield tuple((evaluation(i.min)(values), evaluation(i.max)(values)) for i in said)
