"""Functions in C that others wrote, as callbacks: from source, or by address.

Idea. A `CFunction` says which arrays and numbers it takes, so a native plan calls it from C as what it is, and stays
one function in C around it. Python calls it by `ctypes`, with the lock of the interpreter released: so it is a callback
like any other for whoever does not know of C. A function that is there as source is compiled when it is made, and once
more inside of the files that call it, so that a compiler sees both sides of the call.

Invariant: the function is called with arrays of the dtypes and ranks that it declares, whose elements lie where their
dtype wants them, and without gaps where it cannot know of any. That it does what it should with them is its author's
word.
"""

from __future__ import annotations

import ctypes
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import attrs
import numpy as np
import numpy.typing as npt

from slinky.errors import CallbackError, CompilationError, ExecutionError, GraphError, StorageError, cited
from slinky.graph.buffers import valid_name
from slinky.ir.given import as_dtype
from slinky.ir.signatures import Signature
from slinky.native.adapters import BUFFER, FAILED, NO_MEMORY, TOO_LARGE, flat_text, prototype
from slinky.native.carriers import held
from slinky.native.compiling import compiler, library
from slinky.native.operators import C_TYPES
from slinky.native.parameters import (
    INTEGER_TYPES,
    Operand,
    Parameter,
    Scalar,
    is_unsigned,
    read_parameters,
    stepped_dims,
    strided_dims,
    usual_parameters,
)
from slinky.native.pointers import Pointer, pointer_of
from slinky.native.prototypes import prototype_of, require_prototype
from slinky.native.scanning import bounds_of
from slinky.runtime.buffers import Array, Buffer
from slinky.symbolic.expressions import is_integer

Declared = Mapping[str, tuple[npt.DTypeLike, int]]
"""Arrays by name, each with its dtype and rank."""

SOURCE_HEAD = """\
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
"""
"""What stands before a source, wherever it is compiled."""

NOT_DONE = -1
"""What the quick way to a function returns that has done nothing."""

_FLAT = "slinky_flat"

_INTS = 1 << 8 * ctypes.sizeof(ctypes.c_int) - 1
"""How many numbers of each sign an int of C holds."""


@attrs.frozen(eq=False, repr=False)
class CFunction:
    """A function in C, made by `sl.c_kernel` or `sl.c_function`: the callback of a `Func`.

    `operands` are its arrays: so many `inputs`, then those that it writes. It is called by its `address` with its
    `parameters`, and did what it should if it returns `success`; with None it returns nothing.
    """

    name: str
    operands: tuple[Operand, ...]
    inputs: int
    scalars: tuple[Scalar, ...]
    parameters: tuple[Parameter, ...]
    success: int | None
    pointer: Pointer
    source: str | None = None
    again: tuple[Callable[..., CFunction], tuple[Any, ...]] | None = None
    operations: int = 1
    """How many operations it makes for each element that it writes, as far as schedules are to know."""
    otherwise: Callable[..., None] | None = None
    """What does the same in Python: it is called there until C is made ready for that."""
    _ready: list[bool] = attrs.field(factory=list, init=False)

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        arrays = ", ".join(f"{each.name}: {each.dtype}[{each.rank}]" for each in self.operands)
        numbers = "".join(f", {each.name}: {each.dtype}" for each in self.scalars)
        return f"<C function {self.name}({arrays}{numbers})>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.again is None:
            raise pickle.PicklingError(f"{self!r} is known by its address, which means nothing to another process")
        return self.again

    @property
    def signature(self) -> Signature:
        """What a func must give it."""
        given = [(each.dtype, each.rank) for each in self.operands]
        names = tuple([each.name for each in self.scalars])
        return Signature(tuple(given[: self.inputs]), tuple(given[self.inputs :]), names)

    @property
    def address(self) -> int:
        """Where it is: where its source alone is compiled to, if nobody has compiled it yet."""
        return self.pointer.address or self._compiled.address

    @cached_property
    def _compiled(self) -> Pointer:
        """Its source, compiled alone. Raises `CompilationError`."""
        made_by = compiler()
        if made_by is None:
            raise CompilationError(
                f"the C kernel {cited(self.name)} needs a C compiler: install one, or pip install 'slinky[native]'"
            )
        loaded = library(_alone(self), made_by)
        address = ctypes.cast(getattr(loaded, _FLAT), ctypes.c_void_p).value
        assert address is not None  # it is a function
        return Pointer(address, kept=loaded)

    @property
    def user_data(self) -> int:
        """The address of what a `LowLevelCallable` is given with it."""
        return self.pointer.user_data

    @property
    def takes_user_data(self) -> bool:
        """Whether it is passed that."""
        return any(each.item == "user_data" for each in self.parameters)

    # Calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *operands: Array | Buffer, **arguments: Any) -> None:
        """Call it with arrays, or buffers, inputs then outputs, and its numbers by name.

        Raises `CallbackError` for arrays and numbers that are other ones than it takes, and where it fails.
        """
        if self.otherwise is not None and not self._ready:
            self.otherwise(*operands, **arguments)
            return
        if self._quick is not None and len(operands) == len(self.operands):
            if isinstance(operands[0], Buffer):
                given = [each.array if isinstance(each, Buffer) else each for each in operands]
                minima = [each.min if isinstance(each, Buffer) else (0,) * each.ndim for each in operands]
                code = self._quick(*given, arguments, minima)
            else:
                code = self._quick(*operands, arguments, None)
            if code == 0:
                return
            if code != NOT_DONE:
                raise failure_of(self, code)
        self._call_by_ctypes(operands, arguments)

    def make_ready(self) -> None:
        """Compile what calls of Python's need, where there is a compiler. Raises `CompilationError`."""
        if self._quick is not None and self.address:
            self._ready.append(True)

    @cached_property
    def _quick(self) -> Callable[..., int] | None:
        """The quick way to the function, if there is one."""
        from slinky.native.entries import entry_of

        return entry_of(self)

    def _call_by_ctypes(self, operands: Sequence[Array | Buffer], arguments: Mapping[str, Any]) -> None:
        """Call it by `ctypes`, with copies of arrays that it cannot take, after a closer look at all of them."""
        arrays = [each.array if isinstance(each, Buffer) else each for each in operands]
        self._require(arrays, arguments)
        minima = [each.min if isinstance(each, Buffer) else (0,) * each.ndim for each in operands]
        passed = [
            array if _is_passable(array, operand) else np.array(array, order="C")
            for array, operand in zip(arrays, self.operands, strict=True)
        ]
        numbers = [_converted(self.name, each, arguments[each.name]) for each in self.scalars]
        code = self._called(*(self._value(each, passed, minima, numbers) for each in self.parameters))
        for array, copy in zip(arrays[self.inputs :], passed[self.inputs :], strict=True):
            if copy is not array:
                array[...] = copy
        if self.success is not None and code != self.success:
            raise failure_of(self, FAILED + code)

    @cached_property
    def _called(self) -> Callable[..., Any]:
        """The function, called with all of its parameters."""
        of = [INTEGER_TYPES.get(each.type, ctypes.c_void_p) for each in self.parameters]
        for n, each in enumerate(self.parameters):
            if each.item == "scalar":
                of[n] = np.ctypeslib.as_ctypes_type(self.scalars[each.position].dtype)
            elif each.dim is None and each.item in ("min", "extent", "stride"):
                of[n] = ctypes.c_char_p
        found: Callable[..., Any] = ctypes.CFUNCTYPE(None if self.success is None else ctypes.c_int, *of)(self.address)
        return found

    def _value(
        self, each: Parameter, arrays: Sequence[Array], minima: Sequence[tuple[int, ...]], numbers: Sequence[Any]
    ) -> Any:
        """What is passed as a parameter."""
        if each.item == "scalar":
            return numbers[each.position]
        if each.item == "user_data":
            return self.user_data
        array = arrays[each.position]
        match each.item:
            case "data":
                return array.ctypes.data
            case "extent":
                found = array.shape
            case "min":
                found = minima[each.position]
            case _:
                found = array.strides
        if each.dim is None:
            return np.array(found, np.int64).tobytes()
        value: int = found[each.dim] // (array.itemsize if each.item == "step" else 1)
        bits = 8 * ctypes.sizeof(INTEGER_TYPES[each.type])
        lowest, end = (0, 1 << bits) if is_unsigned(each.type) else (-(1 << bits - 1), 1 << bits - 1)
        if not lowest <= value < end:
            raise failure_of(self, TOO_LARGE)
        return value

    def _require(self, arrays: Sequence[object], arguments: Mapping[str, Any]) -> None:
        """Raises `CallbackError` if it takes other arrays, or other numbers."""
        if not all(isinstance(array, np.ndarray) for array in arrays):
            others = ", ".join(type(array).__name__ for array in arrays if not isinstance(array, np.ndarray))
            raise CallbackError(f"{self.name} takes arrays of NumPy, got {others}")
        given = [(array.dtype, array.ndim) for array in arrays if isinstance(array, np.ndarray)]
        complaint = self.signature.complaint(given[: self.inputs], given[self.inputs :], arguments)
        if complaint is not None:
            raise CallbackError(f"{self.name} {complaint}")
        for array, operand in zip(arrays[self.inputs :], self.operands[self.inputs :], strict=True):
            if isinstance(array, np.ndarray) and not array.flags.writeable:
                raise CallbackError(f"{self.name} writes {operand.name}, but was given a read-only array for it")


def failure_of(function: CFunction, told: int) -> ExecutionError:
    """What to raise for a call that failed, of which an adapter told this (see `adapters`)."""
    if told == NO_MEMORY:
        return StorageError(f"there is no memory for a copy without gaps of an array of {function.name}")
    if told == TOO_LARGE:
        return CallbackError(
            f"{function.name} takes integers that cannot hold an extent, a stride or a coordinate of its arrays"
        )
    code = told - FAILED
    return CallbackError(
        f"{function.name} failed: it returned {code}, where {function.success} says that all went well"
    )


def _is_passable(array: Array, operand: Operand) -> bool:
    """Whether a function can be given an array as it is."""
    if not array.flags.aligned:
        return False
    if operand.is_strided:
        return True
    if any(array.strides[d] % array.itemsize for d in operand.counted_dims):
        return False
    expected = array.itemsize
    for d in reversed(range(array.ndim)):
        if operand.strided[d]:
            expected = array.strides[d]
        elif array.shape[d] > 1 and array.strides[d] != expected:
            return False
        expected *= array.shape[d]
    return True


def _converted(name: str, scalar: Scalar, value: Any) -> Any:
    """A number as a function takes it."""
    try:
        return held(value, scalar.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise CallbackError(f"{name} takes its number {scalar.name} as {scalar.dtype.name}: {error}") from error


# ----------------------------------------------------------------------------------------------------------------
# Making them
# ----------------------------------------------------------------------------------------------------------------


def c_kernel(
    source: str,
    name: str,
    *,
    inputs: Declared | None = None,
    outputs: Declared,
    scalars: Mapping[str, npt.DTypeLike] | None = None,
    dense: int = 0,
) -> CFunction:
    """A callback that is written in C: the function of this name in a C source.

    It takes a `const slinky_buffer *` for each of its `inputs`, then its `outputs`, which are given by name with dtype
    and rank; then its `scalars`, by name with dtype. It returns an `int`: 0, or what fails the run.

    >>> import numpy as np, slinky as sl
    >>> scale = sl.c_kernel('''
    ... int scale(const slinky_buffer *a, const slinky_buffer *out, float by)
    ... {
    ...     const float *from = a->data;
    ...     float *to = out->data;
    ...     for (int64_t x = 0; x < out->extent[0]; x++) to[x] = by * from[x];
    ...     return 0;
    ... }
    ... ''', "scale", inputs={"a": (np.float32, 1)}, outputs={"out": (np.float32, 1)}, scalars={"by": np.float32},
    ... dense=1)
    >>> scale
    <C function scale(a: float32[1], out: float32[1], by: float32)>

    With `dense`, along so many of the last dimensions elements follow each other without gaps; arrays that have some
    are copied. Else a function looks at `stride`, in bytes.

    Raises `CompilationError`, with what the compiler says, if that is no such function, or there is no compiler, and
    `GraphError` for what cannot be declared.
    """
    again = (_c_kernel_again, (source, name, inputs, outputs, scalars, dense))
    declared = declared_kernel(source, name, inputs, outputs, scalars=scalars, dense=dense, again=again)
    return attrs.evolve(declared, pointer=declared._compiled)


def declared_kernel(
    source: str,
    name: str,
    inputs: Declared | None,
    outputs: Declared,
    *,
    scalars: Mapping[str, npt.DTypeLike] | None = None,
    dense: int = 0,
    again: tuple[Callable[..., CFunction], tuple[Any, ...]],
    operations: int = 1,
) -> CFunction:
    """The same, compiled when it is first asked where it is: a native plan compiles it with all else. `again` is what
    makes it in another process."""
    what = f"the C kernel {cited(name)}"
    if not isinstance(cast(object, source), str):
        raise GraphError(f"{what} needs its source as a text, got {cited(source)}")
    arrays, count, numbers = _declared(inputs, outputs, scalars, name, what)
    if not is_integer(dense) or dense < 0:
        raise GraphError(f"{what}: dense is a number of dimensions, got {cited(dense)}")
    if dense > (most := max(r for _, _, r in arrays)):
        raise GraphError(f"{what}: dense counts dimensions, of which its arrays have {most} at most, got {dense}")
    operands = tuple([Operand(n, of, r, tuple([d < r - dense for d in range(r)]), (False,) * r) for n, of, r in arrays])
    parameters = usual_parameters(operands, numbers, minima=True)
    return CFunction(name, operands, count, numbers, parameters, 0, Pointer(0), source, again, operations)


def _c_kernel_again(
    source: str, name: str, inputs: Declared | None, outputs: Declared, scalars: Any, dense: int
) -> CFunction:
    return c_kernel(source, name, inputs=inputs, outputs=outputs, scalars=scalars, dense=dense)


def _alone(function: CFunction) -> str:
    """A file with a source alone."""
    rank = max([1, *(each.rank for each in function.operands)])
    parts = [SOURCE_HEAD, "\n", BUFFER.format(rank=rank), '#line 1 "as declared"\n', f"static {prototype(function)};\n"]
    source = function.source or ""
    before, behind = bounds_of(source)
    parts += [before, f'#line 1 "{function.name}"\n', source, "\n", behind, flat_text(function, _FLAT)]
    return "".join(parts)


def c_function(
    pointer: Any,
    *,
    inputs: Declared | None = None,
    outputs: Declared,
    scalars: Mapping[str, npt.DTypeLike] | None = None,
    parameters: Sequence[str] | None = None,
    success: int | None = 0,
    name: str | None = None,
) -> CFunction:
    """A callback that is compiled already: a function of `ctypes`, of `cffi`, of SciPy's `LowLevelCallable`, of numba
    (`cfunc` or `njit`), in a capsule of Cython's, or its address.

    `inputs`, `outputs` and `scalars` are as of `c_kernel`. `parameters` says in order what it is passed:

    * `"x"`: where the first element of the array x is;
    * `"x.extent[0]"`, `"x.stride[0]"`, `"x.step[0]"`, `"x.min[0]"`: how many elements the array has along a dimension,
      how many bytes or elements they lie apart, and the coordinate of the first one (with `pass_buffers=True`, else
      0); as `int64_t`, or the type behind a colon, `"x.extent[0]: int"`;
    * `"x.extent"`, `"x.stride"`, `"x.min"`: the address of these, as many as there are dimensions, as `int64_t`;
    * the name of a scalar; `"user_data"`: what a `LowLevelCallable` has beside its function.

    By default these are `"x", "x.extent", "x.stride"` of each array, then the scalars. Along dimensions whose stride it
    is not passed, elements follow each other without gaps; arrays that have some are copied, and so are those that a
    step in elements cannot tell of, as it is none. A function of `njit` is called with arrays, as from Python.

    It returns an `int`: `success`, or what fails the run; with `success=None`, nothing. The object is kept alive. A
    function of Python's behind a pointer of `ctypes` must catch its exceptions and return a number that says so:
    `ctypes` prints them, and what it returns then is any number.

    >>> import ctypes, ctypes.util, numpy as np, slinky as sl
    >>> move = sl.c_function(ctypes.CDLL(None).memcpy, inputs={"a": (np.uint8, 1)}, outputs={"out": (np.uint8, 1)},
    ...                      parameters=["out", "a", "out.extent[0]: size_t"], success=None)
    >>> move
    <C function memcpy(a: uint8[1], out: uint8[1])>

    Raises `GraphError` for what is none of these, or cannot be declared so: of what says by itself which parameters it
    takes, and what it returns, as most of these do, others than are declared are refused.
    """
    what = f"the C function {cited(pointer if name is None else name)}"
    found = pointer_of(pointer, what)
    arrays, count, numbers = _declared(inputs, outputs, scalars, found.name or "f" if name is None else name, what)
    if success is not None and not is_integer(success):
        raise GraphError(f"{what}: success is an integer or None, got {cited(success)}")
    if success is not None and not -_INTS <= success < _INTS:
        raise GraphError(f"{what}: success is what an int of C holds, {-_INTS} to {_INTS - 1}, got {success}")
    again = None
    if found.python is not None:
        if parameters is not None or success != 0:
            raise GraphError(f"{what} is compiled from Python: it is called with arrays, and fails by raising")
        from slinky.native.numba_functions import cfunc_of

        again = (_c_function_again, (pointer, inputs, outputs, scalars, name))
        found = cfunc_of(pointer, arrays, count, numbers, what)
    ranks = [(n, rank) for n, _, rank in arrays]
    if parameters is None:
        plain = [Operand(n, of, r, (True,) * r, (False,) * r) for n, of, r in arrays]
        passed = usual_parameters(plain, numbers, minima=False)
    else:
        passed = read_parameters(parameters, ranks, numbers, what)
    if any(each.item == "user_data" for each in passed) and not found.has_user_data:
        raise GraphError(f"{what} has no user_data: that is what a LowLevelCallable of SciPy has")
    operands = tuple(
        [
            Operand(n, of, r, strided_dims(passed, k, r), stepped_dims(passed, k, r))
            for k, (n, of, r) in enumerate(arrays)
        ]
    )
    if again is None and (told := prototype_of(pointer)) is not None:
        try:
            require_prototype(told, passed, operands, numbers, success is not None)
        except GraphError as error:
            raise GraphError(f"{what} {error}") from None
    own = name or found.name or "c_function"
    return CFunction(own, operands, count, numbers, passed, success, found, again=again)


def _c_function_again(
    pointer: Any, inputs: Declared | None, outputs: Declared, scalars: Any, name: str | None
) -> CFunction:
    return c_function(pointer, inputs=inputs, outputs=outputs, scalars=scalars, name=name)


def _declared(
    inputs: object, outputs: object, scalars: object, name: str, what: str
) -> tuple[list[tuple[str, np.dtype[Any], int]], int, tuple[Scalar, ...]]:
    """The arrays with how many are inputs, and the numbers. Raises `GraphError` for what is none."""
    valid_name(name, what)
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise GraphError(f"{what} needs a name that C has, too, got {cited(name)}")
    reads, writes = _arrays({} if inputs is None else inputs, "inputs", what), _arrays(outputs, "outputs", what)
    if not writes:
        raise GraphError(f"{what} writes nothing: outputs must have at least one array")
    if scalars is not None and not isinstance(scalars, Mapping):
        raise GraphError(f"{what}: scalars must be a dictionary, dtypes by name, got {cited(scalars)}")
    numbers = tuple([Scalar(each, _dtype(of, each, what)) for each, of in (scalars or {}).items()])
    for number in numbers:
        if number.dtype not in C_TYPES:
            raise GraphError(
                f"{what}: its number {number.name} is {number.dtype}; C has {', '.join(map(str, C_TYPES))}"
            )
    names = [*(each for each, _, _ in (*reads, *writes)), *(number.name for number in numbers)]
    for each in names:
        if names.count(each) > 1 or not re.fullmatch(r"[A-Za-z_]\w*", str(each), re.ASCII):
            raise GraphError(f"{what}: {each!r} must be the name of one array or number")
    return [*reads, *writes], len(reads), numbers


def _arrays(given: object, word: str, what: str) -> list[tuple[str, np.dtype[Any], int]]:
    if not isinstance(given, Mapping):
        raise GraphError(f"{what}: {word} must be a dictionary, such as {{'a': (np.float32, 2)}}, got {cited(given)}")
    found = []
    for name, pair in given.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or not is_integer(pair[1]):
            raise GraphError(f"{what}: {name!r} must be a dtype and a rank, such as (np.float32, 2), got {cited(pair)}")
        if pair[1] < 0:
            raise GraphError(f"{what}: the rank of {name!r} is {pair[1]}")
        found.append((name, _dtype(pair[0], name, what), int(pair[1])))
    return found


def _listed(dtypes: Iterable[np.dtype[Any]]) -> str:
    *others, last = map(str, dtypes)
    return f"{', '.join(others)} or {last}"


def _dtype(given: Any, name: object, what: str) -> np.dtype[Any]:
    try:
        found = as_dtype(given)
    except TypeError as error:
        raise GraphError(f"{what}: the dtype of {name!r}: {error}") from error
    if found.hasobject or not found.itemsize:
        raise GraphError(f"{what}: {name!r} is of {found}, which C has not")
    return found
