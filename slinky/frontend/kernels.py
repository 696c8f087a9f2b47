"""Functions of arrays, with what each element of their result reads: kernels that become funcs in one line.

Idea. People have functions of whole arrays. What slinky must know to run one on pieces is its halo, and what is beyond
the edges. A `Kernel` is the function with that knowledge, and means the same everywhere: called with NumPy's arrays it
runs at once on all of them; with buffers of a graph it becomes a func; with lazy arrays the tracer takes it.

Invariant: a kernel is immutable, and what it computes from arrays is what a pipeline of it computes.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
import numpy.typing as npt

from slinky.errors import ArgumentError, DeclarationError, GraphError, cited
from slinky.frontend.containers import labelled_like
from slinky.frontend.nodes import exactly
from slinky.frontend.pieces import ARRAY, Piece, call_on, settled
from slinky.frontend.windows import AxisWindow, Size
from slinky.graph.axes import chosen_dimensions
from slinky.graph.boundaries import CONSTANT, NUMPY_RULES, RULES, fill_value
from slinky.graph.buffers import LARGEST_RANK, Access, BufferExpr
from slinky.graph.funcs import Func
from slinky.ir.given import as_dtype, is_listed
from slinky.ir.operations import FloatScalar
from slinky.ir.remembered import Remembering, remembered
from slinky.symbolic.expressions import Node, Variable, is_integer, variable
from slinky.symbolic.intervals import Interval
from slinky.unloaded import is_masked

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Halo: TypeAlias = "int | Sequence[int | tuple[int, int]]"
Pair: TypeAlias = "tuple[int, int]"
DtypeRule: TypeAlias = "npt.DTypeLike | Callable[..., Any]"

_NUMPY_NAMES = {rule: name for name, rule in NUMPY_RULES.items()}


class Understood:
    """A function of slinky's for a kernel, of one array, that says what it computes."""

    __slots__ = ()

    def term(self, at: Callable[[tuple[int, ...]], Any], rank: int, dtype: np.dtype[Any]) -> Any:
        """What is computed for an element as a term of those in its window, of a dtype, `at` a place that is counted
        from its beginning along each of so many axes; None where that is not to be."""
        return None

    def in_c(self, dtype: np.dtype[Any]) -> Any:
        """A function in C that computes the same of an array of a dtype, for all windows inside; None where there is
        none."""
        return None


@attrs.frozen(slots=False)
class Kernel(Remembering):
    """A function of arrays with its halo: what each element of the result reads of the arrays, around its own place.

    `sl.stencil`, `sl.rowwise` and `sl.elementwise` make kernels of functions, and say what the fields are. Of a kernel:

    * `kernel(image, amount=2)` with NumPy's arrays runs the function on all of them, beyond whose edges the boundary
      rule gives what is read. With buffers (`sl.BufferExpr`) it makes a func, and returns the buffer that this writes.
    * `kernel.func(image, amount=2, out)` makes the func that writes a buffer of yours, and returns it.
    * `kernel.windows(rank)` says what is read along each axis.
    * `kernel.nearly()` is one that may be cut into smaller pieces, if these need not be the whole to the last bit.
    """

    function: Callable[..., Any]
    name: str
    halo: Pair | tuple[Pair, ...] = (0, 0)
    axes: tuple[int, ...] | None = None
    whole: tuple[int, ...] = ()
    rate: Fraction | tuple[Fraction, ...] = Fraction(1)
    boundary: str | tuple[str | None, ...] | None = None
    value: Any = attrs.field(default=0, eq=exactly)
    size: Size = None
    dtype: DtypeRule | None = None
    output: str | None = None
    arrays: Callable[[Array], Any] | None = None
    near_form: Kernel | None = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        # What help(), pickle and inspect.signature ask for, of a kernel and not of the class.
        object.__setattr__(self, "__wrapped__", self.function)
        function = getattr(self.function, "__wrapped__", self.function)
        if isinstance(getattr(function, "__module__", None), str):
            object.__setattr__(self, "__module__", function.__module__)
        object.__setattr__(self, "__doc__", getattr(function, "__doc__", None) or type(self).__doc__)

    @property
    def __name__(self) -> str:
        """The name of its funcs."""
        return self.name

    def __reduce__(self) -> tuple[Any, ...] | str:
        """By name where a module has the kernel under its function's name, as it has decorated functions."""
        where: Any = sys.modules.get(getattr(self.function, "__module__", None) or "")
        qualified = str(getattr(self.function, "__qualname__", ""))
        for part in qualified.split("."):
            where = getattr(where, part, None)
        if where is self:
            return qualified
        return (functools.partial(Kernel, **{f.name: getattr(self, f.name) for f in attrs.fields(Kernel)}), ())

    # What it reads --------------------------------------------------------------------------------------------------

    def windows(self, rank: int) -> tuple[AxisWindow, ...]:
        """What an element of the result reads along each axis of arrays of a rank.

        Raises `ArgumentError` if the kernel is not for arrays of this rank.
        """
        if not is_integer(rank) or not 0 <= rank <= LARGEST_RANK:
            raise ArgumentError(f"{self._what}: a rank is an integer, 0 to {LARGEST_RANK}, got {cited(rank)}")
        chosen = self._axes(self.axes, rank)
        whole = set(self._axes(self.whole, rank))
        if self.axes is not None and not whole.isdisjoint(chosen):
            axis = min(whole.intersection(chosen))
            raise ArgumentError(f"{self._what}: axis {axis} of arrays of rank {rank} has a halo and is whole")
        halo = self._per_axis(self.halo, self.halo and isinstance(self.halo[0], tuple), chosen, rank, "a halo")
        rates = self._per_axis(self.rate, isinstance(self.rate, tuple), chosen, rank, "a rate")
        rules = self._per_axis(self.boundary, isinstance(self.boundary, tuple), chosen, rank, "a boundary")
        found = []
        for d in range(rank):
            if d in whole:
                found.append(AxisWindow(whole=True, size=self.size))
            elif d in chosen:
                before, after = halo[d]
                found.append(AxisWindow(before, after, rates[d], boundary=rules[d]))
            else:
                found.append(AxisWindow())
        return tuple(found)

    def _axes(self, given: tuple[int, ...] | None, rank: int) -> list[int]:
        try:
            found = chosen_dimensions(given, rank, f"{self._what}: the axes of arrays of rank {rank}")
        except GraphError as error:
            raise ArgumentError(str(error)) from None
        if len(set(found)) != len(found):
            raise ArgumentError(f"{self._what}: of arrays of rank {rank}, the axes {given} are not different ones")
        return found

    def _per_axis(self, given: Any, is_listed: object, chosen: Sequence[int], rank: int, what: str) -> dict[int, Any]:
        """What was declared, by axis."""
        if not is_listed:
            return dict.fromkeys(chosen, given)
        if len(given) != len(chosen):
            of = f"arrays of rank {rank}" if self.axes is None else f"the {len(chosen)} axes {self.axes}"
            raise ArgumentError(f"{self._what} is declared with {what} for {len(given)} axes, {given}, but got {of}")
        return dict(zip(chosen, given, strict=True))

    @property
    def _what(self) -> str:
        return f"kernel {self.name!r}"

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result depends on the elements at the same place alone."""
        return self.halo == (0, 0) and not self.whole and self.rate == 1

    def nearly(self) -> Kernel:
        """The kernel of which pieces are near the whole, and may be smaller: itself, but for a few filters.

        What it computes depends on the schedule then, as far as rounding goes.
        """
        return self if self.near_form is None else self.near_form

    def result_dtype(self, *dtypes: npt.DTypeLike, constants: Sequence[object] = ()) -> np.dtype[Any]:
        """The dtype of the result for arrays of these dtypes, as declared; that of a ufunc is known.

        `constants` are the numbers that a ufunc is given besides, after the arrays.
        """
        try:
            given = [as_dtype(each) for each in dtypes]
        except TypeError as error:
            raise ArgumentError(f"{self._what}: the dtype of an array: {error}") from None
        if self.dtype is None and isinstance(self.function, np.ufunc):
            weak = [type(c) if type(c) in (int, float, complex) else np.asarray(c).dtype for c in constants]
            missing: list[Any] = [None] * self.function.nout
            try:
                return self.function.resolve_dtypes((*given, *weak, *missing))[-1]
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"{self._what}: {error}") from None
        if self.dtype is None:
            try:
                return np.result_type(*given) if given else np.dtype(np.float64)
            except TypeError as error:
                raise ArgumentError(f"{self._what}: {error}") from None
        is_fixed = isinstance(self.dtype, (type, np.dtype)) or not callable(self.dtype)
        found = self.dtype if is_fixed else cast(Callable[..., Any], self.dtype)(*given)
        try:
            return as_dtype(found)
        except TypeError as error:
            raise ArgumentError(f"{self._what}: the dtype of its result: {error}") from None

    def result_shape(self, *shapes: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result for arrays of these shapes.

        Raises `ArgumentError` if they do not go together.
        """
        for each in shapes:
            if not is_listed(each) or not all(is_integer(n) and 0 <= n < 1 << 63 for n in each):
                raise ArgumentError(f"{self._what} takes shapes, such as (480, 640), got {cited(each)}")
        try:
            shape = np.broadcast_shapes(*map(tuple, shapes))
        except ValueError:
            shape = ()
        alike = len({tuple(each) for each in shapes}) == 1
        if not shapes or (not alike and not (self.is_elementwise and shape)):
            given = " and ".join(str(tuple(each)) for each in shapes) or "none"
            raise ArgumentError(f"{self._what} takes arrays of one shape, got {given}")
        return tuple(window.extent(n) for window, n in zip(self.windows(len(shape)), shape, strict=True))

    # Calling --------------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run it on arrays, or make a func of it.

        Raises `ArgumentError` for arrays that do not fit, `CallbackError` if the function returns something else than
        is declared.
        """
        for each in (*args, *kwargs.values()):
            if getattr(each, "__slinky_lazy__", False):
                return each.__slinky_kernel__(self, args, kwargs)
        call = self.bind(args, kwargs)
        buffers = [each for each in call.arrays if isinstance(each, BufferExpr)]
        if not buffers:
            return labelled_like(call.arrays)(call.run())
        if len(buffers) != len(call.arrays):
            raise GraphError(f"{self._what} got arrays and buffers; make constants of the arrays by sl.constant(...)")
        rank = max(buffer.rank for buffer in buffers)
        target = result_of(buffers[0], self.name, call.dtype, rank)
        call.func(target)
        return target

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> KernelCall:
        """The kernel with arguments: which of them are arrays, of whatever kind, and which are not.

        Raises `ArgumentError` if the function does not take them.
        """
        positional, named = self._placed(args, kwargs)
        template = tuple(ARRAY if is_array(each) else each for each in positional)
        arrays = tuple(each for each in positional if is_array(each))
        for name, each in named.items():
            if isinstance(each, BufferExpr) or getattr(each, "__slinky_lazy__", False):
                raise ArgumentError(f"{self._what}: argument {name!r} is a buffer; give buffers by position")
        for each in positional:
            if isinstance(each, (Node, FloatScalar)):
                raise ArgumentError(f"{self._what}: {each} is known when a pipeline runs; give it by name")
        if not arrays:
            given = ", ".join(map(cited, args)) or "none"
            why = ": an array without dimensions is a number" if any(isinstance(a, np.ndarray) for a in args) else ""
            raise ArgumentError(f"{self._what} needs an array, got {given}{why}")
        return KernelCall(self, arrays, template, named)

    def _placed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by position and by name: arrays by position where the function's signature is known."""
        parameters = _parameters(self)
        if parameters is None:
            return tuple(args), dict(kwargs)
        if self.output is not None and self.output not in parameters:
            if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
                raise DeclarationError(f"{self._what}: its function has no parameter {self.output!r} for the output")
        own = [p for name, p in parameters.items() if name != self.output]
        try:
            bound = inspect.Signature(own).bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self._what}: {error}") from None
        except ValueError:  # without the output, a parameter with a default stands before one without
            return tuple(args), dict(kwargs)
        names = [p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD][: len(bound.args)]
        # What follows the output goes by name, or it would be taken for it; so do symbols, which only funcs know.
        first = [k for k, each in enumerate(bound.args) if isinstance(each, (Node, FloatScalar))][:1]
        first += [list(parameters).index(self.output)] if self.output in parameters else []
        start = min([*first, len(bound.args)])
        late = bound.args[start:]
        if len(names) < len(bound.args) or any(map(is_array, late)):
            return bound.args, dict(bound.kwargs)
        return bound.args[:start], {**dict(zip(names[start:], late, strict=True)), **bound.kwargs}

    def extended(self, source: BufferExpr, windows: Sequence[AxisWindow]) -> BufferExpr:
        """A buffer that goes on beyond its edges by the boundary rule, where windows reach beyond them."""
        rules = tuple(window.boundary if window.is_extended else None for window in windows)
        return source.extended(rules, value=self.value) if any(rule is not None for rule in rules) else source

    def term(self, sources: Sequence[BufferExpr], dims: Sequence[Variable]) -> Any:
        """What the kernel computes at some coordinates as arithmetic; None where its function does not say that."""
        function: object = self.function
        if not isinstance(function, Understood) or len(sources) != 1:
            return None
        windows = self.windows(len(dims))
        seen = self.extended(sources[0], windows)

        def at(place: tuple[int, ...]) -> Any:
            return seen[tuple(dim - w.before + k for dim, w, k in zip(dims, windows, place, strict=True))]

        return function.term(at, len(dims), seen.dtype)

    def in_c(self, sources: Sequence[BufferExpr]) -> Any:
        """The function in C that computes the same, if its own function says one."""
        function: object = self.function
        return function.in_c(sources[0].dtype) if isinstance(function, Understood) and len(sources) == 1 else None

    def func(self, /, *operands: Any, **arguments: Any) -> Func:
        """Make the func that writes the last of the buffers: `blur.func(image, out, amount=2)`.

        Other arguments stand as in a call of the function; those by name may be scalars of the pipeline.

        Raises `GraphError` if the buffers do not fit, `ArgumentError` if the arguments do not.
        """
        if not operands or not isinstance(operands[-1], BufferExpr):
            raise GraphError(f"{self._what}: func(...) needs the buffer that it writes as its last argument")
        call = self.bind(operands[:-1], arguments)
        for each in call.arrays:
            if not isinstance(each, BufferExpr):
                raise GraphError(f"{self._what}: func(...) takes buffers, got {type(each).__name__}")
        return call.func(operands[-1])


@attrs.frozen(eq=False)
class KernelCall:
    """A kernel with arguments: `arrays` are those of its arguments that are arrays or buffers, in order.

    `template` are all arguments by position, with `ARRAY` for each array; `named` those by name.
    """

    kernel: Kernel
    arrays: tuple[Any, ...]
    template: tuple[Any, ...]
    named: dict[str, Any]

    @property
    def rank(self) -> int:
        """The rank of the result."""
        return max(rank_of(each) for each in self.arrays)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the result."""
        return self.kernel.result_dtype(*(each.dtype for each in self.arrays), constants=self._constants)

    @property
    def _constants(self) -> tuple[Any, ...]:
        return tuple(each for each in self.template if each is not ARRAY)

    def func(self, target: BufferExpr, sources: Sequence[BufferExpr] | None = None) -> Func:
        """Make the func that computes a buffer from the arrays, or from buffers that stand for them."""
        return _func(self, self.arrays if sources is None else sources, target)

    def func_in_c(self, target: BufferExpr, source: BufferExpr, function: Callable[..., Any]) -> Func:
        """The same by a function in C, which is given what is read, and writes the buffer."""
        windows, dims = self.kernel.windows(target.rank), _dimensions(target.rank)
        by_pieces = with_otherwise(function, Piece(self.kernel, self.template, windows))
        return Func(by_pieces, [_access(source, windows, dims, self.kernel)], [target[dims]])

    def run(self) -> Array:
        """What the function gives for the whole arrays."""
        kernel = self.kernel
        if any(map(is_masked, self.arrays)):
            raise ArgumentError(
                f"{kernel._what} takes arrays without a mask, which would be lost; use .filled(...) or .data"
            )
        arrays = [np.asarray(each) for each in self.arrays]
        for name, each in self.named.items():
            if isinstance(each, (Node, FloatScalar)):
                raise ArgumentError(f"kernel {kernel.name!r}: {name}={each} is known only when a pipeline runs")
        shape = kernel.result_shape(*(array.shape for array in arrays))
        dtype = kernel.result_dtype(*(array.dtype for array in arrays), constants=self._constants)
        if 0 in shape:
            return np.empty(shape, dtype)
        windows = kernel.windows(len(shape))
        read = [_extended(array, windows, kernel) if array.ndim == len(shape) else array for array in arrays]
        target = np.empty(shape, dtype) if kernel.output is not None else None
        result = call_on(kernel, self.template, [_read_only(array) for array in read], target, self.named)
        whole = [window.extent(n) for window, n in zip(windows, shape_of(arrays), strict=True)]
        result = settled(result, kernel, windows, shape_of(read), tuple(whole), dtype) if target is None else target
        # A function may return its argument, which is the caller's array.
        return result.copy() if any(np.may_share_memory(result, array) for array in arrays) else result


@functools.lru_cache(256)
def with_otherwise(function: Any, otherwise: Piece) -> Any:
    """A function in C, with what does the same in Python until C is there: one callback for all that call these."""
    return attrs.evolve(function, otherwise=otherwise, again=(with_otherwise, (function, otherwise)))


def shape_of(arrays: Iterable[Array]) -> tuple[int, ...]:
    """The shape that arrays have in common."""
    return np.broadcast_shapes(*(array.shape for array in arrays))


def is_array(given: object) -> bool:
    """Whether an argument is one of the arrays that a kernel works on, and no number, name or setting."""
    if isinstance(given, np.ndarray):
        return given.ndim > 0
    if isinstance(given, BufferExpr):
        return True
    if isinstance(given, (np.generic, type)):
        return False
    return bool(getattr(given, "__slinky_lazy__", False) or hasattr(given, "__array__"))


def rank_of(given: Any) -> int:
    """The number of dimensions of an array or buffer."""
    return int(given.rank if isinstance(given, BufferExpr) else given.ndim)


@remembered
def _parameters(kernel: Kernel) -> dict[str, inspect.Parameter] | None:
    """The parameters of its function; None where they cannot be known, as of much that is written in C."""
    if isinstance(kernel.function, np.ufunc):
        return None
    try:
        return dict(inspect.signature(kernel.function).parameters)
    except (TypeError, ValueError):
        return None


def _read_only(array: Array) -> Array:
    """A view that cannot be written to, as callbacks are given."""
    view = array.view()
    view.flags.writeable = False
    return view


def _extended(array: Array, windows: Sequence[AxisWindow], kernel: Kernel) -> Array:
    """An array as far as it is read, beyond its edges by the boundary rule."""
    for axis, window in enumerate(windows):
        before, after = (0, 0) if window.whole else window.padding(array.shape[axis])
        keep = slice(max(-before, 0), array.shape[axis] - max(-after, 0))
        array = array[(slice(None),) * axis + (keep,)]
        if not window.is_extended or (before <= 0 and after <= 0):
            continue
        width = [(0, 0)] * array.ndim
        width[axis] = (max(before, 0), max(after, 0))
        rule = RULES[window.boundary or CONSTANT]
        if rule is None:
            fill = fill_value(kernel.value, array.dtype, f"kernel {kernel.name!r}: the outside of its array")
            if isinstance(fill, (Node, FloatScalar)):
                raise ArgumentError(f"kernel {kernel.name!r} is filled with {fill}, which only a pipeline knows")
            array = np.pad(array, width, mode="constant", constant_values=fill)
        else:
            mode: Any = _NUMPY_NAMES[rule]
            array = np.pad(array, width, mode=mode)
    return array


# ----------------------------------------------------------------------------------------------------------------
# Funcs
# ----------------------------------------------------------------------------------------------------------------


def _dimensions(rank: int) -> tuple[Variable, ...]:
    """The variables of an array's axes: z, y, x from the last one back."""
    names = "zyx"[3 - rank :] if rank <= 3 else [f"d{d}" for d in range(rank)]
    return tuple(variable(name) for name in names)


def _func(call: KernelCall, sources: Sequence[BufferExpr], target: BufferExpr) -> Func:
    kernel = call.kernel
    rank = max(source.rank for source in sources)
    dtype = kernel.result_dtype(*(source.dtype for source in sources), constants=call._constants)
    windows = _fitting(kernel, sources, target, rank, dtype)
    dims = _dimensions(rank)
    for d, window in enumerate(windows):
        if window.whole and window.size is not None:
            domain = sources[0].dim(d).domain
            extent = domain.max - domain.min + 1
            own = window.size(extent) if callable(window.size) else window.size
            target.dim(d).bounds = Interval(domain.min, domain.min + own - 1)
    inputs = [_access(source, windows[rank - source.rank :], dims[rank - source.rank :], kernel) for source in sources]
    options: dict[str, Any] = {
        "arguments": call.named,
        "whole": [dim for dim, window in zip(dims, windows, strict=True) if window.whole],
        "writable_inputs": kernel.arrays is not None,
    }
    is_plain = kernel.is_elementwise and not call._constants and kernel.arrays is None
    if isinstance(kernel.function, np.ufunc) and kernel.output is None and is_plain:
        function: Callable[..., Any] = kernel.function
    else:
        function = Piece(kernel, call.template, windows)
        moves = any(window.made > 1 for window in windows)
        at_its_place = all(window.is_point or (window.whole and window.size is None) for window in windows)
        options["pass_buffers"] = moves
        options["in_place"] = at_its_place and kernel.output is None and not moves
    func = Func(function, inputs, [target[dims]], **options)
    if isinstance(kernel.function, np.ufunc) and kernel.name.isidentifier():
        func.name = kernel.name
    return func


def _fitting(
    kernel: Kernel, sources: Sequence[BufferExpr], target: BufferExpr, rank: int, dtype: np.dtype[Any]
) -> tuple[AxisWindow, ...]:
    """What is read along each axis, for buffers that fit."""
    what = f"kernel {kernel.name!r}"
    if any(source.rank != rank for source in sources) and not kernel.is_elementwise:
        ranks = " and ".join(f"{source.name}, of rank {source.rank}" for source in sources)
        raise GraphError(f"{what} takes buffers of one rank, got {ranks}")
    if target.rank != rank:
        raise GraphError(f"{what} gives a result of rank {rank}, but {target.name!r} has rank {target.rank}")
    if target.dtype != dtype:
        raise GraphError(f"{what} gives {dtype}, but {target.name!r} is {target.dtype}")
    try:
        return kernel.windows(rank)
    except ArgumentError as error:
        raise GraphError(str(error)) from None


def _access(source: BufferExpr, windows: Sequence[AxisWindow], dims: Sequence[Variable], kernel: Kernel) -> Access:
    """What is read of a buffer, beyond its edges by the boundary rule."""
    source = kernel.extended(source, windows)
    items: list[Any] = []
    for window, dim in zip(windows, dims, strict=True):
        if window.whole:
            items.append(dim if window.size is None else slice(None))
        else:
            items.append(dim if window.is_point else window.interval(dim))
    return source[tuple(items)]


_made_of: weakref.WeakKeyDictionary[BufferExpr, BufferExpr] = weakref.WeakKeyDictionary()
_names: weakref.WeakKeyDictionary[BufferExpr, set[str]] = weakref.WeakKeyDictionary()


def result_of(source: BufferExpr, name: str, dtype: np.dtype[Any], rank: int) -> BufferExpr:
    """A buffer for what a kernel makes of another: it is called after that which somebody named, and the kernel."""
    root = _made_of.get(source, source)
    taken = _names.setdefault(root, set())
    found, count = f"{root.name}_{name}", 1
    while found in taken:
        found, count = f"{root.name}_{name}_{count}", count + 1
    taken.add(found)
    made = BufferExpr(found, dtype, rank)
    _made_of[made] = root
    return made
