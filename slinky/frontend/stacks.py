"""Functions of stacks: of matrices or rows along the last axes, one after the other, each of them whole.

Idea. `np.linalg` goes through matrices one by one, and looks at no other. So along the axes before those of a matrix,
which all operands have in common, results can be computed by pieces; of a matrix, all is read and all is computed.

Invariant: what is computed of a matrix does not depend on how many there are beside it, nor on where it lies: LAPACK is
given a copy of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed, solid
from slinky.frontend.calling import lifted
from slinky.frontend.functions import WHOLE_AXES
from slinky.frontend.given import as_lazy, axis_of, trace_of
from slinky.frontend.nodes import Array, Node, Operation, exactly
from slinky.frontend.operations import Along, Calling, UnderErrors
from slinky.frontend.sizes import Length, same
from slinky.frontend.tables import EXACT, TOLERANCE, NotUnderstoodError, understood
from slinky.frontend.views import broadcast, common_shape

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

MATRICES = "matrix by matrix"
ROWS = "row by row"


@attrs.frozen(eq=False)
class Stack(Operation):
    """A function of stacks, `function(*operands, **keywords)`: operands and results have the first `count` axes in
    common, and are whole along the others."""

    name: str
    function: Callable[..., Any]
    count: int
    keywords: tuple[tuple[str, Any], ...] = ()
    exactness: str = EXACT

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The results of whole arrays."""
        result = self.function(*operands, **dict(self.keywords))
        return tuple(np.asarray(r) for r in (result if len(node.results) > 1 else (result,)))

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that reads matrices whole, and computes each whole."""
        ranks = [len(result.shape) for result in node.results]
        dims, inner = lowering.dims(self.count), [lowering.dims(n - self.count, k + 1) for k, n in enumerate(ranks)]
        if len(ranks) == 1:
            all_of = lowering.dims(ranks[0])
            dims, inner = all_of[: self.count], [all_of[self.count :]]
        reads = [lowering.read(view, [*dims, *[None] * (len(view.shape) - self.count)], dims) for view in node.operands]
        callback = Calling(self.name, self.function, dict(self.keywords), tuple(read.adapter for read in reads))
        lowering.func(node, callback, [read.access for read in reads], dims, inner=inner)

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        return attrs.evolve(self, function=UnderErrors(self.function, errors))

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The function, and what else is given to it."""
        return ("stack", self.function, self.count, exactly(dict(self.keywords)))


def stacked(
    function: Callable[..., Any],
    operands: Sequence[LazyArray],
    cores: Sequence[int],
    inner: Sequence[tuple[Length, ...]],
    *,
    exactness: str = EXACT,
    **keywords: Any,
) -> Any:
    """What a function gives of stacks whose last `cores` axes are a matrix or a row; of each of them, it makes arrays
    of `inner` shapes. Results are what NumPy puts them into, of which it is asked.

    Raises what NumPy raises for such dtypes and options, and `NotUnderstoodError` for no axes.
    """
    trace = trace_of(tuple(operands))
    if any(len(array._shape) < core for array, core in zip(operands, cores, strict=True)):
        raise NotUnderstoodError("too few axes")  # NumPy says so
    before = [array._shape[: len(array._shape) - core] for array, core in zip(operands, cores, strict=True)]
    outer = common_shape(before)
    views = [
        broadcast(solid(array._view, trace), (*outer, *array._shape[len(own) :]))
        for array, own in zip(operands, before, strict=True)
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = function(*(np.ones((1,) * len(a._shape), a.dtype) for a in operands), **keywords)
    samples = sample if isinstance(sample, tuple) else (sample,)
    name = function.__name__
    shapes = [
        ((*outer, *own), np.asarray(each).dtype, isinstance(each, np.generic))
        for own, each in zip(inner, samples, strict=True)
    ]
    operation = Stack(name, function, len(outer), tuple(sorted(keywords.items())), exactness)
    found = [placed(result, trace) for result in made(operation, views, shapes, trace)]
    if not isinstance(sample, tuple):
        return found[0]
    return type(sample)(*found) if hasattr(sample, "_fields") else tuple(found)


def _matrices(given: Value) -> tuple[LazyArray, Length, Length]:
    """Matrices, with their numbers of rows and columns."""
    array = as_lazy(given)
    if len(array._shape) < 2:
        raise NotUnderstoodError("no matrices")  # NumPy says so
    return array, array._shape[-2], array._shape[-1]


def _square(given: Value) -> tuple[LazyArray, Length]:
    array, rows, columns = _matrices(given)
    if not same(rows, columns):
        raise NotUnderstoodError("matrices that are not square")  # NumPy says so
    return array, rows


def _require_bool(*given: Any) -> None:
    if any(type(each) is not bool for each in given):
        raise NotUnderstoodError("options that are not True or False")


# ----------------------------------------------------------------------------------------------------------------
# Linear algebra
# ----------------------------------------------------------------------------------------------------------------


@understood(np.linalg.inv, how=MATRICES)
def inv(a: Value) -> Any:
    """Inverses."""
    array, n = _square(a)
    return stacked(np.linalg.inv, [array], [2], [(n, n)])


@understood(np.linalg.det, how=MATRICES)
def det(a: Value) -> Any:
    """Determinants."""
    return stacked(np.linalg.det, [_square(a)[0]], [2], [()])


@understood(np.linalg.slogdet, how=MATRICES)
def slogdet(a: Value) -> Any:
    """Signs of determinants, and logarithms of how large they are."""
    return stacked(np.linalg.slogdet, [_square(a)[0]], [2], [(), ()])


@understood(np.linalg.cholesky, how=MATRICES)
def cholesky(a: Value, /, *, upper: bool = False) -> Any:
    """Triangular factors."""
    _require_bool(upper)
    array, n = _square(a)
    return stacked(np.linalg.cholesky, [array], [2], [(n, n)], upper=upper)


@understood(np.linalg.solve, how=MATRICES)
def solve(a: Value, b: Value) -> Any:
    """Solutions of equations, for a vector or for matrices of right sides."""
    trace = trace_of((a, b))
    left, n = _square(lifted(a, trace))
    right = lifted(b, trace)
    is_vector = len(right._shape) == 1
    right = right[:, None] if is_vector else right
    if not right._shape or not same(right._shape[-2], n):
        raise NotUnderstoodError("right sides of another length")  # NumPy says so
    found = stacked(np.linalg.solve, [left, right], [2, 2], [right._shape[-2:]])
    return found[..., 0] if is_vector else found


@understood(np.linalg.eigh, how=MATRICES)
def eigh(a: Value, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of symmetric matrices."""
    array, n = _square(a)
    return stacked(np.linalg.eigh, [array], [2], [(n,), (n, n)], UPLO=UPLO)


@understood(np.linalg.eigvalsh, how=MATRICES)
def eigvalsh(a: Value, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues of symmetric matrices."""
    array, n = _square(a)
    return stacked(np.linalg.eigvalsh, [array], [2], [(n,)], UPLO=UPLO)


@understood(np.linalg.svd, how=MATRICES)
def svd(a: Value, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values, with or without vectors."""
    _require_bool(full_matrices, compute_uv, hermitian)
    array, m, n = _matrices(a)
    least = m if m <= n else n
    left, right = ((m, m), (n, n)) if full_matrices else ((m, least), (least, n))
    inner: list[tuple[Length, ...]] = [left, (least,), right] if compute_uv else [(least,)]
    options: dict[str, Any] = {"full_matrices": full_matrices, "compute_uv": compute_uv, "hermitian": hermitian}
    return stacked(np.linalg.svd, [array], [2], inner, **options)


@understood(np.linalg.svdvals, how=MATRICES)
def svdvals(x: Value, /) -> Any:
    """Singular values."""
    array, m, n = _matrices(x)
    return stacked(np.linalg.svdvals, [array], [2], [(m if m <= n else n,)])


@understood(np.linalg.qr, how=MATRICES)
def qr(a: Value, mode: str = "reduced") -> Any:
    """Orthogonal and triangular factors."""
    array, m, n = _matrices(a)
    least = m if m <= n else n
    shapes: dict[str, list[tuple[Length, ...]]] = {
        "reduced": [(m, least), (least, n)],
        "complete": [(m, m), (m, n)],
        "r": [(least, n)],
    }
    if mode not in shapes:
        raise NotUnderstoodError(f"mode {mode!r}")
    return stacked(np.linalg.qr, [array], [2], shapes[mode], mode=mode)


@understood(np.linalg.pinv, how=MATRICES, exactness=TOLERANCE)
def pinv(a: Value, rcond: Any = None, hermitian: bool = False) -> Any:
    """Inverses of what may have none."""
    _require_bool(hermitian)
    if rcond is not None and type(rcond) not in (int, float):
        raise NotUnderstoodError("several bounds")
    array, m, n = _matrices(a)
    options: dict[str, Any] = {"hermitian": hermitian} | ({} if rcond is None else {"rcond": rcond})
    return stacked(np.linalg.pinv, [array], [2], [(n, m)], exactness=TOLERANCE, **options)


@understood(np.linalg.matrix_rank, how=MATRICES)
def matrix_rank(A: Value, tol: Any = None, hermitian: bool = False) -> Any:  # noqa: N803
    """How many rows are independent."""
    _require_bool(hermitian)
    if tol is not None and type(tol) not in (int, float):
        raise NotUnderstoodError("several bounds")
    return stacked(np.linalg.matrix_rank, [_matrices(A)[0]], [2], [()], tol=tol, hermitian=hermitian)


@understood(np.linalg.cond, how=MATRICES)
def cond(x: Value, p: Any = None) -> Any:
    """How far singular values lie apart."""
    if p is not None:
        raise NotUnderstoodError("other norms")
    return stacked(np.linalg.cond, [_matrices(x)[0]], [2], [()])


# ----------------------------------------------------------------------------------------------------------------
# Rows
# ----------------------------------------------------------------------------------------------------------------


@understood(np.take_along_axis, how=WHOLE_AXES)
def take_along_axis(arr: Value, indices: Value, axis: Any = -1) -> LazyArray:
    """Elements along an axis that integers choose, others in each row."""
    trace = trace_of((arr, indices))
    table, chosen = lifted(arr, trace), lifted(indices, trace)
    rank = len(table._shape)
    if axis is None or not rank or len(chosen._shape) != rank or chosen.dtype.kind not in "iu":
        raise NotUnderstoodError("no axis")
    d = axis_of(axis, rank)
    others = [(*array._shape[:d], *array._shape[d + 1 :]) for array in (table, chosen)]
    common = common_shape(others)
    views = [
        broadcast(solid(array._view, trace), (*common[:d], array._shape[d], *common[d:])) for array in (table, chosen)
    ]
    shape = (*common[:d], chosen._shape[d], *common[d:])
    operation = Along("take_along_axis", np.take_along_axis, (d,), (), (("axis", d),), EXACT)
    return placed(made(operation, views, [(shape, table.dtype, False)], trace)[0], trace)


def _register_partitions() -> None:
    def handler(function: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        def of_array(a: Value, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> LazyArray:
            array = as_lazy(a)
            places = kth if isinstance(kth, (tuple, list)) else (kth,)
            if axis is None or order is not None or not array._shape or any(type(k) is not int for k in places):
                raise NotUnderstoodError("all axes as one, or several orders")
            d = axis_of(axis, len(array._shape))
            keywords = (("axis", d), ("kind", kind), ("kth", tuple(places)))
            operation = Along(function.__name__, function, (d,), (), keywords, EXACT)
            views = [solid(array._view, array._trace)]
            results = made(operation, views, [(array._shape, dtype or array.dtype, False)], array._trace)
            return placed(results[0], array._trace)

        return of_array

    understood(np.partition, how=WHOLE_AXES)(handler(np.partition, None))
    understood(np.argpartition, how=WHOLE_AXES)(handler(np.argpartition, np.dtype(np.intp)))


_register_partitions()
