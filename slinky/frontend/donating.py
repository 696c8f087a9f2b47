"""Arguments that a function may write to: `sl.jit(donate=...)`.

Idea. While it is traced, an argument that is given away is a place like all others, whose result at the end is an
output of the pipeline more. Its elements end up in the caller's array: computed there, if the pipeline does not read
that, else copied. An assignment to a part is a part of the array here, too, so that nothing else is touched.

Invariant: each element of the array is what the function would have left there. This holds for arrays that are seen by
nothing else that the function reads; others are not written to, and the function is called as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import SlinkyError, TracingError, cited
from slinky.frontend.assembling import Assembled
from slinky.frontend.nodes import Array, Result, View, whole_view
from slinky.frontend.opened import CAPTURED
from slinky.frontend.trees import leaves_of
from slinky.ir.given import is_iterable, is_one_of

MOST_WRITES = 4
"""An argument to which more parts were assigned is written as a whole."""


class GivenAsItIsError(SlinkyError):
    """Arguments with which the function is called as it is: one that it writes to shares memory, for instance."""


@attrs.frozen(eq=False)
class Written:
    """What goes to a part of the argument of a number: an output. `at_once` where the pipeline computes it there."""

    number: int
    region: View
    output: int
    at_once: bool = False


def parameters_of(
    function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]
) -> list[tuple[str, str, Any]]:
    """The leaves of arguments, each with the parameter that it is given for and a name, in order."""
    parameters = inspect.signature(function).parameters.values()
    names = [(p.name, p.name) for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    further = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    names += [(further, f"array_{k}") for k in range(len(names), len(given))]
    known = {p.name for p in parameters}
    others = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "")
    entries = [(*name, each) for name, each in zip(names, given, strict=False)]
    known.add(CAPTURED)
    entries += [(name if name in known else others, name, each) for name, each in named.items()]
    return [(own, name, leaf) for own, title, each in entries for name, leaf in leaves_of(each, title)]


def names_given_away(function: Callable[..., Any], donate: str | Sequence[str]) -> tuple[str, ...]:
    """The parameters that a function may write to.

    Raises `TracingError` for names that it does not have, and where Python does not know which it has.
    """
    is_one = isinstance(donate, str) or not is_iterable(donate)
    names: tuple[Any, ...] = (donate,) if is_one else tuple(donate)
    try:
        known = list(inspect.signature(function).parameters)
    except (TypeError, ValueError) as error:
        raise TracingError(f"jit takes a function whose parameters are known, got {cited(function)}: {error}") from None
    for name in names:
        if not is_one_of(name, known):
            title = getattr(function, "__name__", "the function")
            raise TracingError(f"donate= takes parameters of {title}: {', '.join(known)}; got {cited(name)}")
    return names


def written(results: Mapping[int, tuple[Result, Result]]) -> Iterator[tuple[int, View, View]]:
    """What was written to arguments: their numbers, the parts and what goes there, those that were written last at
    the end. `results` are what each argument was, and what stands in its place at the end."""
    for number, (source, last) in results.items():
        parts: list[tuple[View, View]] = []
        result = last
        while result is not source:
            operation = result.node.operation
            if len(parts) == MOST_WRITES:
                parts, result = [], last
            elif isinstance(operation, Assembled) and operation.name == "assign":
                value, old = result.node.operands
                parts.append((View(source, operation.parts[0].index, value.shape), value))
                result = old.result
                continue
            parts.append((whole_view(source), whole_view(result)))
            break
        yield from ((number, region, value) for region, value in reversed(parts))


def may_be_written(array: Array, others: Sequence[Array]) -> bool:
    """Whether to write to an array changes none of the others, and each of its elements is one of its own."""
    return (
        bool(array.flags.writeable)
        and not _sees_itself(array)
        and not any(np.may_share_memory(array, other) for other in others)
    )


def _sees_itself(array: Array) -> bool:
    """Whether some elements of an array may be the same memory."""
    reach = 0
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach + array.itemsize:
            return True
        reach += stride * (extent - 1)
    return False
