"""The decorators that make kernels of functions, and what they refuse.

Invariant: what a kernel declares fits together before anything is computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, cast, overload

import numpy as np

from slinky.errors import DeclarationError, GraphError, cited
from slinky.frontend.kernels import Array, DtypeRule, Kernel, Pair
from slinky.frontend.windows import Size
from slinky.graph.boundaries import RULES
from slinky.graph.buffers import valid_name
from slinky.ir.given import as_dtype, is_iterable
from slinky.symbolic.expressions import is_integer

Halo: TypeAlias = "int | Sequence[int | tuple[int, int]]"

Decorator: TypeAlias = "Callable[[Callable[..., Any]], Kernel]"


def stencil(
    *,
    halo: Halo,
    axes: int | Sequence[int] | None = None,
    whole: int | Sequence[int] = (),
    boundary: str | Sequence[str | None] | None = None,
    value: Any = 0,
    rate: Any = 1,
    dtype: DtypeRule | None = None,
    output: str | None = None,
    arrays: Callable[[Array], Any] | None = None,
    name: str | None = None,
) -> Decorator:
    """Make a kernel of a function whose results each depend on the elements around the same place.

        >>> @stencil(halo=1, boundary="reflect")
        ... def smooth(signal):
        ...     return (signal[:-2] + signal[1:-1] + signal[2:]) / 3
        >>> smooth(np.array([3.0, 0.0, 0.0, 6.0]))
        array([2., 1., 2., 4.])

    The function is given an array with its halo, and returns what is inside, or a result as large as it was given, of
    which the halo is cut off. It must compute any piece, and each element from nothing but its window.

    Parameters:

    * `halo`: how many elements are read before and after each element, along each axis: `((1, 1), (2, 2))`. A number
      stands for both sides, so `(1, 2)` is for two axes; a number alone is for all axes.
    * `axes`: those that the halo is for, by default all. Along the others each element reads its own place, unless they
      are `whole`: then all of them are given to the function, and the result has as many.
    * `boundary`: what is beyond the edges, `"reflect"`, `"nearest"`, `"mirror"`, `"wrap"` or `"constant"`, as in
      `scipy.ndimage` (see `BufferExpr.extended`), with the `value`; for all axes, or one each. Without, the result has
      no elements where the window is not inside: it is smaller than the array.
    * `rate`: how many elements the result has for each of the array, along all axes or each: 2, or `Fraction(1, 2)`.
      Every block of `q` elements makes `p` of the result for a rate of `p/q`, and the halo is around the block. A last
      block that is not full reads beyond the edge.
    * `dtype`: that of the result; a function of the arrays' dtypes; by default NumPy's common dtype of the arrays.
    * `output`: the name of the parameter that takes the result, for a function that writes it and returns nothing.
    * `arrays`: what makes of NumPy's arrays those that the function takes, such as `torch.from_dlpack`.
    * `name`: of the funcs, by default the function's.

    Arguments by position that are arrays are read like this, all of them; all others are given to the function as they
    are. Several arrays have one shape.

    Raises `DeclarationError` for what makes no sense.
    """

    def declared(function: Callable[..., Any]) -> Kernel:
        own = _name(function, name)
        what = f"kernel {own!r}"
        kernel = Kernel(
            _callable(function, what),
            own,
            halo=_halo(halo, what),
            axes=None if axes is None else _integers(axes, f"{what}: axes must be"),
            whole=_integers(whole, f"{what}: whole must be"),
            rate=_rate(rate, what),
            boundary=_boundary(boundary, what),
            value=value,
            dtype=_dtype(dtype, what),
            output=_output(output, what),
            arrays=_arrays(arrays, what),
        )
        _check_axes(kernel, what)
        return kernel

    return declared


@overload
def rowwise(function: Callable[..., Any], /) -> Kernel: ...
@overload
def rowwise(
    *,
    axis: int | Sequence[int] = -1,
    size: Size = None,
    dtype: DtypeRule | None = None,
    output: str | None = None,
    arrays: Callable[[Array], Any] | None = None,
    name: str | None = None,
) -> Decorator: ...
def rowwise(
    function: Callable[..., Any] | None = None,
    /,
    *,
    axis: int | Sequence[int] = -1,
    size: Size = None,
    dtype: DtypeRule | None = None,
    output: str | None = None,
    arrays: Callable[[Array], Any] | None = None,
    name: str | None = None,
) -> Kernel | Decorator:
    """Make a kernel of a function that needs all of a row, and no other rows.

        >>> @rowwise(axis=-1)
        ... def centred(rows):
        ...     return rows - rows.mean(axis=-1, keepdims=True)
        >>> centred(np.array([[1.0, 3.0], [5.0, 5.0]]))
        array([[-1.,  1.],
               [ 0.,  0.]])

    Parameters: `axis`, the one of which all is needed, or several; `size`, how many elements the result has along it, a
    number or a function of the array's, `lambda n: n // 2 + 1`, by default as many; the others as for `stencil`.

    Raises `DeclarationError` for what makes no sense.
    """

    def declared(function: Callable[..., Any]) -> Kernel:
        own = _name(function, name)
        what = f"kernel {own!r}"
        whole = _integers(axis, f"{what}: axis must be")
        _require(len(whole) > 0, f"{what}: axis must be an axis or several, got none")
        is_size = is_integer(size) and 0 <= cast(int, size) < 1 << 63
        says = f"{what}: size is a number or a function, of 0 elements or more, got {cited(size)}"
        _require(size is None or callable(size) or is_size, says)
        return Kernel(
            _callable(function, what),
            own,
            whole=whole,
            size=size,
            dtype=_dtype(dtype, what),
            output=_output(output, what),
            arrays=_arrays(arrays, what),
        )

    return declared if function is None else declared(function)


@overload
def elementwise(function: Callable[..., Any], /) -> Kernel: ...
@overload
def elementwise(
    *,
    dtype: DtypeRule | None = None,
    output: str | None = None,
    arrays: Callable[[Array], Any] | None = None,
    name: str | None = None,
) -> Decorator: ...
def elementwise(
    function: Callable[..., Any] | None = None,
    /,
    *,
    dtype: DtypeRule | None = None,
    output: str | None = None,
    arrays: Callable[[Array], Any] | None = None,
    name: str | None = None,
) -> Kernel | Decorator:
    """Make a kernel of a function whose results each depend on the elements at the same place alone.

        >>> @elementwise
        ... def brighter(image, amount):
        ...     return image * amount
        >>> brighter(np.array([1.0, 2.0]), 3)
        array([3., 6.])

    Arrays may be broadcast against each other, as in NumPy. Parameters as for `stencil`.

    Raises `DeclarationError` for what makes no sense.
    """

    def declared(function: Callable[..., Any]) -> Kernel:
        own = _name(function, name)
        what = f"kernel {own!r}"
        return Kernel(
            _callable(function, what),
            own,
            dtype=_dtype(dtype, what),
            output=_output(output, what),
            arrays=_arrays(arrays, what),
        )

    return declared if function is None else declared(function)


def _name(function: Any, given: str | None) -> str:
    """What a kernel is called: as said, or as its function."""
    found = given if given is not None else getattr(function, "__name__", type(function).__name__)
    if given is None and not (isinstance(found, str) and found.isidentifier()):
        return "kernel"
    try:
        return valid_name(found, "a kernel")
    except GraphError as error:
        raise DeclarationError(str(error)) from None


def _callable(function: Any, what: str) -> Callable[..., Any]:
    if isinstance(function, np.ufunc) and function.nout != 1:
        raise DeclarationError(f"{what}: the ufunc {function.__name__} has {function.nout} results, a kernel has one")
    if not callable(function):
        raise DeclarationError(f"{what} needs a function, got {cited(function)}")
    return function if not isinstance(function, Kernel) else function.function


def _halo(given: Any, what: str) -> Pair | tuple[Pair, ...]:
    says = (
        f"{what}: a halo is a number, or for each axis a number or a pair, such as ((1, 1), (2, 2)), got {cited(given)}"
    )

    def pair(each: Any) -> Pair:
        found = (each, each) if is_integer(each) else tuple(each) if is_iterable(each) else ()
        _require(len(found) == 2 and all(map(is_integer, found)), says)
        _require(max(found) < 1 << 63, says)
        _require(
            min(found) >= 0, f"{what}: a halo is how many elements are read on a side, 0 or more, got {cited(given)}"
        )
        return int(found[0]), int(found[1])

    if is_integer(given):
        return pair(given)
    _require(is_iterable(given) and not isinstance(given, str), says)
    found = tuple(pair(each) for each in given)
    _require(len(found) > 0, says)
    return found


_LARGEST_RATE = 1 << 20
"""What is larger is meant otherwise: the float 1/3 is a ratio of numbers of 16 digits."""


def _rate(given: Any, what: str) -> Fraction | tuple[Fraction, ...]:
    def ratio(each: Any) -> Fraction:
        try:
            found = Fraction(operator.index(each) if is_integer(each) else each)
        except (TypeError, ValueError, ArithmeticError):
            found = Fraction(0)
        _require(found > 0, f"{what}: a rate is a positive number, such as 2 or Fraction(1, 2), got {cited(given)}")
        is_simple = max(found.numerator, found.denominator) <= _LARGEST_RATE
        _require(is_simple, f"{what}: a rate is a ratio of small numbers, such as Fraction(1, 3), got {cited(given)}")
        return found

    if is_iterable(given) and not isinstance(given, str):
        return tuple(ratio(each) for each in given)
    return ratio(given)


def _boundary(given: Any, what: str) -> str | tuple[str | None, ...] | None:
    each = (given,) if given is None or isinstance(given, str) else given
    known = ", ".join(map(repr, RULES))
    _require(is_iterable(each), f"{what}: a boundary is one of {known}, or one for each axis, got {cited(given)}")
    found = tuple(each)
    for rule in found:
        fits = rule is None or (isinstance(rule, str) and rule in RULES)
        _require(fits, f"{what}: there is no boundary {cited(rule)}; there are {known}")
    return found[0] if given is None or isinstance(given, str) else found


def _dtype(given: Any, what: str) -> Any:
    if given is None or (callable(given) and not isinstance(given, type)):
        return given
    try:
        return as_dtype(given)
    except TypeError:
        raise DeclarationError(f"{what}: dtype is a dtype or a function of dtypes, got {cited(given)}") from None


def _output(given: Any, what: str) -> str | None:
    _require(given is None or isinstance(given, str), f"{what}: output is the name of a parameter, got {cited(given)}")
    return cast("str | None", given)


def _arrays(given: Any, what: str) -> Callable[[Array], Any] | None:
    says = f"{what}: arrays is a function, such as torch.from_dlpack, got {cited(given)}"
    _require(given is None or callable(given), says)
    return cast("Callable[[Array], Any] | None", given)


def _check_axes(kernel: Kernel, what: str) -> None:
    """What is declared for each axis is for as many, and no axis is both whole and has a halo."""
    axes = kernel.axes
    counts = {
        "halo": len(kernel.halo) if isinstance(kernel.halo[0], tuple) else None,
        "rate": len(kernel.rate) if isinstance(kernel.rate, tuple) else None,
        "boundary": len(kernel.boundary) if isinstance(kernel.boundary, tuple) else None,
        "axes": None if axes is None else len(axes),
    }
    given = {name: count for name, count in counts.items() if count is not None}
    if len(set(given.values())) > 1:
        told = ", ".join(f"{name} for {count}" for name, count in given.items())
        raise DeclarationError(f"{what} is declared for different numbers of axes: {told}")
    for name, chosen in (("axes", axes or ()), ("whole", kernel.whole)):
        _require(len(set(chosen)) == len(chosen), f"{what}: {name} has an axis twice: {cited(chosen)}")
    both = set(axes or ()) & set(kernel.whole)
    _require(not both, f"{what}: axis {min(both, default=0)} has a halo and is whole")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DeclarationError(message)


def _integers(given: object, what: str) -> tuple[int, ...]:
    each = (given,) if is_integer(given) else given
    if isinstance(each, str) or not is_iterable(each):
        raise DeclarationError(f"{what} an axis or a list of axes, such as (0, 1), got {cited(given)}")
    found = tuple(each)
    _require(all(map(is_integer, found)), f"{what} an axis or a list of axes, such as (0, 1), got {cited(given)}")
    are_few = all(-64 <= i < 64 for i in found)  # as many as arrays of NumPy have
    _require(are_few, f"{what} an axis or a list of axes, from -64 to 63, got {cited(given)}")
    return tuple(int(i) for i in found)
