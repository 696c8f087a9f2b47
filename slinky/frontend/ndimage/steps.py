"""Steps of filters: SciPy's functions as kernels, one per axis where a filter is separable.

Idea. A filter on a lazy array or a buffer of a graph is first tried on an array of one element, with the same
arguments: so SciPy itself refuses what it refuses, and says what the dtype of the result is. Then each step becomes a
kernel with its halo, which reads beyond the edges by the boundary rule, and calls SciPy on what is then inside.

Invariant: a step's function is immutable, has no state, and gives each element from its window alone.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias

import attrs
import numpy as np

from slinky.errors import ArgumentError, GraphError, MissingExtraError
from slinky.frontend.containers import labelled_like
from slinky.frontend.fixed import Fixed
from slinky.frontend.kernels import Kernel, Pair, rank_of
from slinky.frontend.ndimage.efforts import effort_of_each
from slinky.frontend.nodes import exactly
from slinky.graph.boundaries import RULES
from slinky.graph.buffers import BufferExpr

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
P = ParamSpec("P")

NEAREST = "nearest"
"""What SciPy extends pieces by: it is cut off, so it must only never fail."""


def scipy_ndimage() -> Any:
    """SciPy's module. Raises `MissingExtraError` where SciPy is not installed."""
    try:
        return importlib.import_module("scipy.ndimage")
    except ImportError:
        raise MissingExtraError("sl.ndimage", "ndimage", "scipy") from None


def is_described(given: object) -> bool:
    """Whether it is a buffer of a graph or a lazy array: a description of what will be computed."""
    return isinstance(given, BufferExpr) or is_lazy(given)


def is_lazy(given: object) -> bool:
    """Whether it is a lazy array."""
    return bool(getattr(given, "__slinky_lazy__", False))


class NotByPiecesError(ArgumentError):
    """What SciPy does cannot be done by pieces: of arrays that are computed later it is done whole, in a graph it is
    refused, as an `ArgumentError`."""


@attrs.frozen
class Output:
    """Where a filter's result goes: a buffer of the graph, or one that is made, of this dtype."""

    dtype: np.dtype[Any]
    target: BufferExpr | None = None

    @property
    def between(self) -> Output:
        """For a step before the last: SciPy keeps what is between in an array like the output."""
        return Output(self.dtype)


@attrs.frozen
class Step:
    """A function of `scipy.ndimage` on a piece: `arguments` are its further arguments, by name.

    Steps are equal if all of their arguments are, to the last bit, those of a user's function among them.
    """

    name: str
    dtype: np.dtype[Any]
    arguments: tuple[tuple[str, Any], ...] = attrs.field(eq=exactly)

    def __call__(self, piece: Array) -> Any:
        arguments = {name: each.array if isinstance(each, Fixed) else each for name, each in self.arguments}
        return getattr(scipy_ndimage(), self.name)(piece, output=self.dtype, **arguments)

    @property
    def effort_of_each(self) -> float | None:
        """How long it computes each element of a piece."""
        given = dict(self.arguments)
        window = next((given[name] for name in ("footprint", "weights") if name in given), None)
        return effort_of_each(self.name, int(np.count_nonzero(window.array)) if isinstance(window, Fixed) else 1)

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes, if it goes along one."""
        axis: int | None = dict(self.arguments).get("axis")
        return axis


def step(name: str, output: Output, **arguments: Any) -> Step:
    """A function of `scipy.ndimage` that gives arrays as large as the piece, the edges of which are cut off."""
    return Step(name, output.dtype, tuple({"mode": NEAREST, **arguments}.items()))


def of_lines(name: str, output: Output, axis: int, rank: int, of: str, **arguments: Any) -> Kernel:
    """A function of `scipy.ndimage` that is given whole lines along an axis, and knows itself what is beyond them."""
    own = Step(name, output.dtype, tuple({"axis": axis, **arguments}.items()))
    return Kernel(own, axis_name(of, axis, rank), whole=(axis,), dtype=output.dtype)


@attrs.frozen
class Cast:
    """Elements as another dtype, cast as SciPy casts."""

    dtype: np.dtype[Any]

    def __call__(self, piece: Array) -> Array:
        return piece.astype(self.dtype)


@attrs.frozen
class Into:
    """A ufunc of which the result has a given dtype."""

    ufunc: np.ufunc
    dtype: np.dtype[Any]
    casting: Any = "same_kind"

    def __call__(self, *pieces: Array) -> Array:
        shape = np.broadcast_shapes(*(piece.shape for piece in pieces))
        found: Array = self.ufunc(*pieces, out=np.empty(shape, self.dtype), casting=self.casting)
        return found


# ----------------------------------------------------------------------------------------------------------------
# Filters
# ----------------------------------------------------------------------------------------------------------------


def local_filter(described: Callable[P, Any]) -> Callable[P, Any]:
    """A filter with the name, the signature and the results of its namesake in SciPy, from what it is when described.

    The function has SciPy's parameters, and gets an `Output` as its `output`.
    """
    signature = inspect.signature(described)
    name = described.__name__

    @functools.wraps(described)
    def filtered(*args: P.args, **kwargs: P.kwargs) -> Any:
        bound = bound_arguments(signature, name, args, kwargs)
        image = bound.arguments["input"]
        for own in set(bound.arguments) & OWN_PARAMETERS:
            del kwargs[own]
        function = getattr(scipy_ndimage(), name)
        require_no_array(name, image, bound.arguments.get("output"), "output")
        if not is_described(image):
            return labelled(function(*args, **kwargs), image)
        output = _tried(function, bound.arguments)
        if output.target is None and not isinstance(image, BufferExpr) and rank_of(image) == 0:
            return at_once(function, args, kwargs)
        bound.apply_defaults()
        bound.arguments["output"] = output
        try:
            return described(*bound.args, **bound.kwargs)
        except NotByPiecesError as error:
            if output.target is not None or isinstance(image, BufferExpr):
                raise ArgumentError(str(error)) from None
        return at_once(function, args, kwargs)

    return filtered


def bound_arguments(signature: inspect.Signature, name: str, args: Any, kwargs: Any) -> inspect.BoundArguments:
    """The arguments of a call, by name. Raises `TypeError`, with the name of the function, if they do not fit."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None


def require_no_array(name: str, image: Any, target: Any, parameter: str) -> None:
    """Raise what ends the trace where a filter of lazy arrays, or to one, writes to an array."""
    if is_lazy(target) or (is_lazy(image) and isinstance(target, np.ndarray)):
        from slinky.frontend.given import trace_of  # which needs lazy arrays

        raise trace_of((image, target)).abandon(f"{name} with an array as {parameter}=")


def at_once(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What SciPy gives for a lazy array, computed whole."""
    from slinky.frontend.fences import opaque  # which needs lazy arrays

    return opaque(function, args, kwargs)


def labelled(result: Any, image: Any) -> Any:
    """A result of SciPy's in a container like the image's."""
    return labelled_like([image])(result) if isinstance(result, np.ndarray) else result


CONVERTING_NOTHING = frozenset({"median_filter", "percentile_filter", "rank_filter"})
"""Filters that, of arrays of one axis, write beyond an output of another dtype than the array (SciPy 1.17)."""

OWN_PARAMETERS = frozenset({"reassociate"})
"""Parameters that SciPy's functions have not."""


def _tried(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Output:
    """The output of a filter, from a run on an array of one element. SciPy's errors are those of this run."""
    image, output = arguments["input"], arguments.get("output")
    rank = rank_of(image)
    target = output if isinstance(output, BufferExpr) else None
    given = {name: each for name, each in arguments.items() if name not in OWN_PARAMETERS}
    given["input"] = np.zeros((1,) * rank, image.dtype)
    if given.get("mask") is not None:
        given["mask"] = np.ones((1,) * rank, bool)
    if target is not None:
        if target.rank != rank:
            raise GraphError(f"{_name(function)}: {target.name!r} has rank {target.rank}, its input has rank {rank}")
        given["output"] = np.zeros((1,) * rank, target.dtype)
    elif output is not None and (is_described(output) or isinstance(output, np.ndarray)):
        raise ArgumentError(
            f"{_name(function)}: the output of what is computed later is a dtype or a buffer of the graph, got an array"
        )
    extra = given.pop("kwargs", {})
    if rank == 1 and function.__name__ in CONVERTING_NOTHING and given.get("output") is not None:
        dtype = np.dtype(given.pop("output") if target is None else target.dtype)
        function(**given, **extra)
        return Output(dtype, target)
    result = function(**given, **extra)
    return Output(np.dtype(result.dtype) if target is None else target.dtype, target)


def _name(function: Callable[..., Any]) -> str:
    return f"sl.ndimage.{function.__name__}"


def applied(
    image: Any,
    function: Callable[..., Any],
    name: str,
    output: Output,
    *,
    halo: tuple[Pair, ...] = (),
    modes: Sequence[str] = (),
    cval: Any = 0,
    others: Sequence[Any] = (),
) -> Any:
    """A step of a filter: the function on what it reads, with a halo per axis, written to the output."""
    rules: tuple[str | None, ...] | None = None
    if halo:
        rules = tuple(mode if any(pair) else None for mode, pair in zip(modes, halo, strict=True))
        image, cval = with_outside(image, rules, cval)
    kernel = Kernel(function, name, halo=halo or (0, 0), boundary=rules, value=cval, dtype=output.dtype)
    return run(kernel, (image, *others), output)


def run(kernel: Kernel, arrays: Sequence[Any], output: Output) -> Any:
    """A kernel on what is described: the output, or what is made."""
    if output.target is None:
        return kernel(*arrays)
    if not all(isinstance(array, BufferExpr) for array in arrays):
        raise ArgumentError(f"a lazy array cannot be written to {output.target.name!r}, a buffer of a graph")
    kernel.func(*arrays, output.target)
    return output.target


def with_outside(image: Any, rules: Sequence[str | None], cval: Any) -> tuple[Any, Any]:
    """An array that holds what is outside, and that as one of its elements.

    SciPy computes in float64, and does not round the constant to the dtype of the array: where that does not hold it,
    the array is converted, to what SciPy converts it to.
    """
    if not is_filled(rules):
        return image, 0
    value = held(cval, image.dtype)
    if value is not None:
        return image, value
    if image.dtype.kind in "bc":  # SciPy writes numbers into bools, and rounds halves of what is complex
        raise NotByPiecesError(f"the array is {image.dtype}, which does not hold cval={cval!r}; convert it before")
    return converted(image, np.dtype(np.float64)), np.float64(cval)


def is_filled(rules: Sequence[str | None]) -> bool:
    """Whether a constant is beyond some edge."""
    return any(rule is not None and RULES[rule] is None for rule in rules)


def held(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as an element of a dtype; None if that is another number."""
    with np.errstate(all="ignore"):
        element = np.asarray(value).astype(dtype)[()]
    # As numbers of Python: NumPy would round one of them to the dtype of the other.
    number, given = element.item(), np.asarray(value).item()
    same = number == given or (number != number and given != given)
    return element if same else None


def converted(image: Any, dtype: np.dtype[Any]) -> Any:
    """An array as another dtype."""
    return image if image.dtype == dtype else applied(image, Cast(dtype), f"as_{dtype.name}", Output(dtype))


def copied(image: Any, output: Output) -> Any:
    """What a filter gives that has nothing to do."""
    return applied(image, Cast(output.dtype), "copied", output)


def combined(ufunc: np.ufunc, arrays: Sequence[Any], output: Output, casting: str = "same_kind") -> Any:
    """A ufunc of arrays, in the dtype of the output."""
    plain = Kernel(ufunc, ufunc.__name__)
    if plain.result_dtype(*(array.dtype for array in arrays)) == output.dtype:
        return run(plain, arrays, output)
    return run(Kernel(Into(ufunc, output.dtype, casting), ufunc.__name__, dtype=output.dtype), arrays, output)


# ----------------------------------------------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------------------------------------------


def all_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes of a filter, counted from 0."""
    if axes is None:
        return tuple(range(rank))
    return tuple(int(axis) % rank for axis in each_of(axes, 1))


def each_of(given: Any, count: int) -> list[Any]:
    """One for each axis, from one for all, or a sequence."""
    return list(given) if not isinstance(given, str) and np.iterable(given) else [given] * count


def window(size: int, origin: int) -> Pair:
    """How far a window of a size reaches before and after its centre, moved by the origin."""
    return size // 2 + origin, size - size // 2 - 1 - origin


def on_axis(pair: Pair, axis: int, rank: int) -> tuple[Pair, ...]:
    """A halo along one axis."""
    return tuple(pair if d == axis else (0, 0) for d in range(rank))


def in_rank(given: Array, axes: Sequence[int], rank: int) -> Array:
    """A footprint for some axes, as one for all: one element along the others."""
    if given.ndim == rank:
        return given
    return np.expand_dims(given, tuple(d for d in range(rank) if d not in axes))


def origins_in_rank(origin: Any, axes: Sequence[int], rank: int) -> list[int]:
    """An origin for each of all axes: 0 along those that are not filtered.

    If all of them are, SciPy takes origins in the order of the array, as it takes those of footprints.
    """
    given = [int(each) for each in each_of(origin, len(axes))]
    if len(axes) == rank:
        return given
    found = [0] * rank
    for axis, each in zip(axes, given, strict=True):
        found[axis] = each
    return found


def axis_name(name: str, axis: int, rank: int) -> str:
    """What a step along an axis is called: by the letter of the axis, as dimensions are."""
    return f"{name}_{'zyx'[3 - rank :][axis] if rank <= 3 else axis}"
