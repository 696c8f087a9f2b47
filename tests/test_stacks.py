"""Stacks of matrices and rows, diagonals, and products of rows: whole and by pieces."""

# ruff: noqa: E501 (calls stand on one line)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import MACHINE, PIECES, assert_same, assert_understood, jit, kept

import slinky as sl


def _symmetric(x: Any) -> Any:
    return x + x.swapaxes(-1, -2)


def _positive(x: Any) -> Any:
    return x * x.swapaxes(-1, -2) + 9 * x.shape[-1] * np.eye(x.shape[-1])


OF_MATRICES: dict[str, Callable[..., Any]] = {
    "inv": lambda x: np.linalg.inv(x) * 2,
    "det": lambda x: (np.linalg.det(x), np.linalg.det(x[0])),
    "slogdet": lambda x: np.linalg.slogdet(x + 1),
    "parts of slogdet": lambda x: np.linalg.slogdet(x).logabsdet + 1,
    "cholesky": lambda x: np.linalg.cholesky(_positive(x)),
    "solve": lambda x: (np.linalg.solve(x, x[..., :2]), np.linalg.solve(x, x[0, 0]), np.linalg.solve(x[:1], x), np.linalg.solve(x[0], x)),
    "eigh": lambda x: np.linalg.eigh(_symmetric(x), UPLO="U"),
    "one of eigh": lambda x: np.linalg.eigh(_symmetric(x))[1],
    "eigvalsh": lambda x: np.linalg.eigvalsh(_symmetric(x)),
    "svd": lambda x: (*np.linalg.svd(x), *np.linalg.svd(x[..., :2], full_matrices=False), np.linalg.svd(x[..., :2, :], compute_uv=False)),
    "svd of symmetric ones": lambda x: np.linalg.svd(_symmetric(x), hermitian=True).S,
    "svdvals": lambda x: np.linalg.svdvals(x[..., 1:]),
    "qr": lambda x: (*np.linalg.qr(x), *np.linalg.qr(x[..., :2], mode="complete"), np.linalg.qr(x[..., :1, :], mode="r")),
    "matrix_rank": lambda x: (np.linalg.matrix_rank(x), np.linalg.matrix_rank(x[0]), np.linalg.matrix_rank(x * 0 + 1, tol=0.5)),
    "cond": lambda x: (np.linalg.cond(x), np.linalg.cond(x[1])),
    "of one matrix": lambda x: (np.linalg.inv(x[0]), *np.linalg.eigh(_symmetric(x[1])), np.linalg.svd(x[0])[1]),
    "what was turned": lambda x: (np.linalg.inv(x.swapaxes(-1, -2))[::-1], np.linalg.det(x[::-1, ::-1]), np.linalg.inv(np.broadcast_to(x[0], (3, *x.shape[1:])))),
    "diagonal": lambda x: (np.diagonal(x) * 2, x.diagonal(1, 1, 2) + 1, np.diagonal(x, -1, -1, -2) * 2, np.linalg.diagonal(x) - 1, np.diagonal(x[0]) * 1),
    "trace": lambda x: (np.trace(x), x.trace(0, 1, 2), x[0].trace(), np.trace(x, 1, 2, 1), np.linalg.trace(x, offset=-1), np.trace(x[0], dtype="complex128")),
    "letters again": lambda x: (np.einsum("nii->ni", x) * 2, np.einsum("nii->i", x[:, ::-1]), np.einsum("ii", x[0]), np.einsum("nii,ni->n", x, x[..., 0])),
}  # fmt: skip
OF_ROWS: dict[str, Callable[..., Any]] = {
    "take_along_axis": lambda x: (np.take_along_axis(x, np.argsort(x, axis=1), 1), np.take_along_axis(x, np.argmax(x, axis=0)[None], axis=0)),
    "others in each row": lambda x: (np.take_along_axis(x, np.array([[0, -1, 1]]), 1), np.take_along_axis(x[:1], np.argsort(x, 1), 1)),
    "partition": lambda x: (np.partition(x, 2), np.partition(x, (1, -1), axis=0), np.argpartition(x, 1, 0), x.argpartition(2)),
    "middle of a partition": lambda x: np.partition(x, 1, axis=0)[1] - np.partition(x, 1, axis=0)[0],
    "inner": lambda x: (np.inner(x, x), np.inner(x[0], x[1]), np.inner(x, x[0]), np.inner(x, 2)),
    "vdot": lambda x: (np.vdot(x, x), np.vdot(x[0] * 1j, x[1] + 1j)),
    "vecdot": lambda x: (np.vecdot(x, x * 1j), np.vecdot(x, x[0]), np.vecdot(x, x, axis=0), np.vecdot(x[:, None], x)),
    "matvec": lambda x: (np.matvec(x, x[0]), np.matvec(x[None] * 2, x)) if hasattr(np, "matvec") else x,
    "vecmat": lambda x: (np.vecmat(x[:, 0], x), np.vecmat(x[:, :1], x[:1])) if hasattr(np, "vecmat") else x,
}  # fmt: skip
CALLS = {**OF_MATRICES, **OF_ROWS}
ROUNDED = {"letters again", "inner", "vdot", "vecdot", "matvec", "vecmat", "trace"}


def given_to(name: str, count: int, n: int, dtype: Any, seed: int = 0) -> Any:
    """Matrices that have inverses, or rows."""
    random = np.random.default_rng(seed + 31 * count + n)
    if name in OF_ROWS:
        return random.normal(scale=9, size=(count, n)).astype(dtype)
    return (random.normal(size=(count, n, n)) * 4 + 9 * np.eye(n)).astype(dtype)


@pytest.mark.sweep
@pytest.mark.parametrize("machine", [MACHINE, PIECES], ids=["whole", "by pieces"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_understood(name: str, machine: sl.Machine) -> None:
    for dtype in ("int16", "float32", "float64", "complex64", "bool"):
        arrays = [given_to(name, count, n, dtype) for count, n in [(5, 4), (11, 3), (2, 5), (67, 3)]]
        assert_understood(CALLS[name], arrays, machine, rounded=name in ROUNDED)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_where_they_are_asked_for(name: str) -> None:
    traced = jit(CALLS[name], exact=True, machine=PIECES)
    for count, n in [(5, 4), (101, 3)]:
        for x in (given_to(name, count, n, float), given_to(name, count, n, np.float32).T.copy().T):
            assert_same(traced(x), CALLS[name](x))


@pytest.mark.parametrize("name", ["inv", "slogdet", "eigh", "svd", "diagonal", "trace", "letters again", "take_along_axis", "partition", "vecdot"])  # fmt: skip
def test_one_trace_serves_all_sizes(name: str) -> None:
    traced = jit(CALLS[name], strict=True, machine=PIECES)
    for count, n in [(5, 4), (11, 4), (12, 7)]:
        x = given_to(name, count, n, float)
        assert_same(traced(x), CALLS[name](x), rounded=name in ROUNDED)
    assert kept(traced) == 1


def test_matrices_go_by_pieces() -> None:
    """Of a structure tensor, no more is there than a few rows of matrices."""

    def function(x: Any) -> Any:
        gradients = np.stack([x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]], -1)
        tensors = gradients[..., :, None] * gradients[..., None, :]
        return np.linalg.eigvalsh(tensors)[..., 1]

    x = np.random.default_rng(0).random((400, 300))
    p = jit(function).pipeline(x)
    out, whole = np.empty((399, 299)), p.run(x, np.empty((399, 299))).program_bytes
    assert p.auto(workers=1, machine=PIECES).run(x, out).program_bytes < whole / 20
    assert_same(out, function(x))


def test_a_diagonal_reads_a_diagonal() -> None:
    lazy = sl.lazy(np.random.default_rng(0).random((300, 300)))
    soft = np.sqrt(lazy)
    np.testing.assert_array_equal(np.diagonal(soft)[20:25], np.sqrt(np.diagonal(np.asarray(lazy)))[20:25])
    found = jit(lambda x: np.diagonal(np.sqrt(x)) * 2).pipeline(np.ones((9, 9)))
    assert "b_result" not in str(found)


@pytest.mark.parametrize("step", [1, 2, -1, -2])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_diagonals_of_windows(step: int, count: int) -> None:
    """Rows and columns go along one axis together, forwards or back."""

    def function(x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, 3)[:count, ::step]
        return np.diagonal(windows), np.trace(windows), np.diagonal(windows.T) * 2, np.diagonal(windows[::-1])

    x = np.arange(6.0) ** 2
    for found, expected in zip(jit(function)(x), function(x), strict=True):
        assert_same(found, expected)
    np.testing.assert_array_equal(np.diagonal(np.lib.stride_tricks.sliding_window_view(sl.lazy(x), 3)), x[[0, 2, 4]])


def test_errors_are_those_of_numpy() -> None:
    singular = np.ones((4, 3, 3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jit(lambda x: np.linalg.inv(x) + 1)(singular)
    traced = jit(lambda x: np.linalg.inv(x) + 1)
    traced(given_to("inv", 4, 3, float))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        traced(singular)
    wrong: list[Callable[[Any], Any]] = [
        lambda x: np.linalg.inv(x[..., :2]),
        lambda x: np.linalg.solve(x, x[:, :2]),
        lambda x: np.linalg.det(x[0, 0]),
        lambda x: np.linalg.qr(x, mode="other"),
        lambda x: np.linalg.eigh(x, UPLO="X"),
        lambda x: np.take_along_axis(x, np.array([[[9]]]), 2),
        lambda x: np.take_along_axis(x, np.array([0]), 0),
        lambda x: np.partition(x, 9),
        lambda x: np.diagonal(x, 0, 1, 1),
        lambda x: np.trace(x[0, 0]),
        lambda x: np.inner(x, x[..., 1:]),
        lambda x: np.vdot(x, x[1:]),
        lambda x: np.vecdot(x, x[..., 1:]),
    ]
    x = given_to("inv", 4, 3, float)
    for each in wrong:
        with pytest.raises((ValueError, IndexError)) as of_numpy:
            each(x)
        with pytest.raises(type(of_numpy.value)) as found:
            jit(each)(x)
        assert str(found.value) == str(of_numpy.value)


def test_a_function_may_go_on_after_an_error_that_its_pipeline_raises() -> None:
    def careful(x: Any) -> Any:
        try:
            found = np.linalg.inv(x)
        except np.linalg.LinAlgError:
            found = np.linalg.pinv(x)
        return found * 2

    def chosen(x: Any, index: Any) -> Any:
        try:
            return x[index] + 1
        except IndexError:
            return x + 1

    traced, x = jit(careful), given_to("inv", 4, 3, float)
    for each in (x, np.ones((4, 3, 3)), x):
        assert_same(traced(each), careful(each))
    assert_same(jit(careful)(np.ones((4, 3, 3))), careful(np.ones((4, 3, 3))))
    by_index = jit(chosen)
    for index in (np.array([1, 2]), np.array([1, 9]), np.array([0, 3])):
        assert_same(by_index(x, index), chosen(x, index))
    assert kept(by_index) == 1


def test_diagonals_are_not_written_to() -> None:
    def writes(x: Any) -> Any:
        y = x * 2
        np.einsum("ii->i", y)[...] = 0
        return y

    def fills(x: Any) -> Any:
        y = x * 2
        d = np.diagonal(y)
        y[...] = 0
        return d + y

    x = np.random.default_rng(0).random((7, 7))
    for function in (writes, fills):
        assert_same(jit(function)(x), function(x))
    with pytest.raises(ValueError, match="read-only"):
        jit(lambda x: np.add(np.diagonal(x * 2), 1, out=np.diagonal(x * 2)))(x)


def test_partitions_in_place() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y.partition(2, axis=0)
        return y

    x = np.random.default_rng(0).random((9, 7))
    assert_same(jit(function)(x), function(x))
