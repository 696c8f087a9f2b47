"""Running what was traced: what is given to the pipeline, and what comes back, in as few steps as can be.

Plans are entered where they are (`enter`), with arrays and scalars as they take them. An entry does not keep its plan
alive, so what enters does.

Invariant: a run gives what `Traced.giver` says, in new arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from slinky.errors import SlinkyError
from slinky.frontend.columns import InColumns
from slinky.frontend.donating import GivenAsItIsError
from slinky.frontend.nodes import Node
from slinky.frontend.operations import Along, Contraction
from slinky.frontend.sizes import Length
from slinky.frontend.to_native import Runs
from slinky.frontend.traced import Traced
from slinky.frontend.tracing import computed_whole
from slinky.frontend.views import seen
from slinky.runtime.pages import is_large, new_array
from slinky.runtime.reusing import Results, is_reused
from slinky.runtime.threads import default_workers

_NOTHING: Mapping[Any, Any] = MappingProxyType({})

Runner = Callable[[Any], Any]
"""Takes the leaves of arguments, and gives what the function would."""


def runner(
    traced: Traced,
    plan: Runs,
    shapes: Sequence[tuple[tuple[int, ...], Any]],
    scalars: dict[str, Any],
    floats: Sequence[str],
    of: Callable[[Length], int],
    workers: int | None,
) -> Runner:
    """What runs a trace on arguments of just the sizes that `of` tells, whose outputs have these shapes and dtypes, by
    so many threads (None: as many as there are). The `scalars` are those of this call, of which the `floats` are told
    at each one.

    What it gives raises `OtherFloatsError` for floats of which something else is true than was asked.
    """
    give, enter = traced.giver(of), plan.enter
    tell = _telling(traced, scalars, floats)
    numbers = [number for number, _ in traced.sources if number is not None]
    empty = _empty(shapes, workers, goes_once=all(map(_goes_once, traced.nodes)))

    def run_on(leaves: Any) -> Any:
        reals, numbers_of = tell(leaves)
        arrays = traced.arrays(leaves)
        outputs = [empty(shape, dtype) for shape, dtype in shapes]
        enter((*arrays, *outputs), numbers_of)
        return give(leaves, traced.as_given_back(outputs), _NOTHING, reals)

    def write_on(leaves: Any) -> Any:
        reals, numbers_of = tell(leaves)
        arrays = traced.arrays(leaves)
        outputs, as_given = traced.targets(leaves, shapes, of), traced.as_given(leaves, of)
        enter((*arrays, *outputs), numbers_of)
        traced.hand_over(leaves, outputs, of)
        return give(leaves, outputs, as_given, reals)

    found: Runner = write_on if traced.written else run_on
    is_alone = traced.is_one_array and len(shapes) == 1 and not isinstance(traced, InColumns)
    if is_alone and numbers and not traced.written and len(numbers) == len(traced.sources):
        is_told = bool(traced.trace.reals)
        found = _of_arguments(plan, numbers, *shapes[0], tell if is_told else scalars, empty)
        found = _scalar_of(found) if traced.is_scalar else found
    vars(found)["plan"] = plan
    return _guarded(traced, found)


def without_arrays(traced: Traced, of: Callable[[Length], int]) -> Runner:
    """What gives back the results of a trace that computes no arrays."""
    tell, give = _telling(traced, {}, ()), traced.giver(of)
    return lambda leaves: give(leaves, (), _NOTHING, tell(leaves)[0])


class OtherFloatsError(SlinkyError):
    """Floats of which something else is true than of those that a trace was made for."""


_Telling = Callable[[Any], tuple[Sequence[float], dict[str, Any]]]


def _telling(traced: Traced, scalars: dict[str, Any], floats: Sequence[str]) -> _Telling:
    """What tells the floats and scalars of a run, by the leaves of its arguments."""
    reals = traced.trace.reals
    if not reals:
        always: tuple[Sequence[float], dict[str, Any]] = ((), scalars)
        return lambda leaves: always
    places = traced.floats_among_leaves if traced.is_one_array else None
    if places is not None:
        named = [(floats[k], number) for k, number in places]
        return lambda leaves: ((), {**scalars, **{name: float(leaves[number]) for name, number in named}})

    def tell(leaves: Any) -> tuple[Sequence[float], dict[str, Any]]:
        found = reals.values(leaves)
        if found is None:
            raise OtherFloatsError("floats of which something else is true than was asked")
        return found, {**scalars, **dict(zip(floats, traced.floats(found), strict=bool(floats)))}

    return tell


def _goes_once(node: Node) -> bool:
    """Whether something goes over what it writes once. What goes along rows comes back to lines that it has written:
    these are near as the system has just cleared them (softmax and layer normalisation: 8 and 11 percent)."""
    return not isinstance(node.operation, (Along, Contraction))


def _empty(
    shapes: Sequence[tuple[tuple[int, ...], Any]], workers: int | None, *, goes_once: bool
) -> Callable[..., Any]:
    """What makes arrays of these shapes: NumPy, but for large ones."""
    first: Callable[..., Any] = np.empty
    if goes_once and any(is_large(*each) for each in shapes):
        first = partial(new_array, workers=default_workers() if workers is None else workers)
    count = sum(is_reused(*each) for each in shapes)
    return Results(first, count) if count else first


def _of_arguments(
    plan: Runs,
    numbers: Sequence[int],
    shape: tuple[int, ...],
    dtype: Any,
    scalars: dict[str, Any] | _Telling,
    empty: Callable[..., Any],
) -> Runner:
    """What runs a pipeline whose inputs are all arguments, and that gives one array: calls as short as can be. Its
    scalars are always the same, or told."""
    enter = plan.enter
    if callable(scalars):
        return _told_arguments(plan, numbers, shape, dtype, scalars, empty)
    if len(numbers) == 1:
        (number,) = numbers

        def run_on_one(leaves: Any) -> Any:
            output = empty(shape, dtype)
            enter((leaves[number], output), scalars)
            return output

        return run_on_one
    read = operator.itemgetter(*numbers)

    def run_on_many(leaves: Any) -> Any:
        output = empty(shape, dtype)
        enter((*read(leaves), output), scalars)
        return output

    return run_on_many


def _told_arguments(
    plan: Runs, numbers: Sequence[int], shape: tuple[int, ...], dtype: Any, tell: _Telling, empty: Callable[..., Any]
) -> Runner:
    """The same, where scalars are told."""
    enter, read = plan.enter, operator.itemgetter(*numbers)
    is_alone = len(numbers) == 1

    def run_on_told(leaves: Any) -> Any:
        scalars = tell(leaves)[1]
        output = empty(shape, dtype)
        enter((read(leaves), output) if is_alone else (*read(leaves), output), scalars)
        return output

    return run_on_told


def _scalar_of(run: Runner) -> Runner:
    """The same, of which the one element of the array comes back."""
    return lambda leaves: run(leaves)[()]


def at_once(traced: Traced, leaves: Any, of: Callable[[Length], int]) -> Any:
    """What a trace gives that has just been made, for the arguments that it was made with: operation after operation,
    on whole arrays, as NumPy does it."""
    values = computed_whole(traced.nodes, [view.result for view in traced.outputs])
    outputs = [np.array(seen(values[view.result], view)) for view in traced.outputs]
    as_given = traced.as_given(leaves, of)
    if traced.written:
        targets = traced.targets(leaves, [(each.shape, each.dtype) for each in outputs], of)
        for target, output in zip(targets, outputs, strict=True):
            target[...] = output
        traced.hand_over(leaves, targets, of)
        outputs = targets
    return traced.giver(of)(leaves, outputs, as_given, ())


def _guarded(traced: Traced, run: Runner) -> Runner:
    """The same, for arrays in C order alone where results depend on that."""
    if not traced.needs_c_order:
        return run

    def run_in_order(leaves: Any) -> Any:
        if not all(leaf.flags.c_contiguous for leaf in leaves if isinstance(leaf, np.ndarray)):
            raise GivenAsItIsError("an array is not in C order")
        return run(leaves)

    return run_in_order
