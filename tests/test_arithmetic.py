"""Arithmetic that slinky understands: what NumPy gives, bit for bit, over any pieces, and refused where it is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arithmetic import ELSEWHERE, in_pieces, numbers, plane, programs, same_bits, term

import slinky as sl
from slinky.errors import NumberError
from slinky.runtime import formulas

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# ----------------------------------------------------------------------------------------------------------------
# What NumPy gives
# ----------------------------------------------------------------------------------------------------------------


@given(
    programs(),
    st.sampled_from([(5, 7), (1, 1), (0, 4), (4, 0), (13, 2)]),
    st.sampled_from([1, 48, formulas.BLOCK_BYTES]),
)
@settings(max_examples=settings().max_examples * 5 // 2)
def test_what_numpy_gives(program: Any, shape: tuple[int, int], most: int) -> None:
    """The function of accesses describes what the function of arrays computes; what NumPy refuses is refused."""
    drawn = term(program, shape)
    if drawn is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formulas, "BLOCK_BYTES", most)
        for q in in_pieces(drawn.pipeline, "term"):
            found = np.zeros(shape, drawn.expected.dtype)
            q.run(*drawn.arrays, found, checked=True)
            same_bits(found, drawn.expected)
            found = np.zeros(shape, drawn.expected.dtype)
            q(*drawn.arrays, found)
            same_bits(found, drawn.expected)
        again = sl.Pipeline.from_json(drawn.pipeline.to_json())
        assert again.same_program(drawn.pipeline)
        found = np.zeros(shape, drawn.expected.dtype)
        again(*drawn.arrays, found)
        same_bits(found, drawn.expected)


@pytest.mark.parametrize(("reads", "taken"), ELSEWHERE)
def test_elements_from_elsewhere(reads: Callable[..., Any], taken: Callable[..., Any]) -> None:
    a, out = plane("a", np.float32), plane("out", np.float32)
    sl.arithmetic(reads(a) * 2, out[y, x], name="term")
    p = sl.build_pipeline([a], [out])
    values = numbers((20, 20), np.float32)
    for q in in_pieces(p, "term"):
        for checked in (False, True):
            found = np.zeros((5, 6), np.float32)
            q.run(values, found, checked=checked)
            same_bits(found, taken(values) * np.float32(2))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64, np.float32])
@pytest.mark.parametrize("number", [-3, 300, 2**40])
def test_numbers_that_where_takes_round(number: int, dtype: Any) -> None:
    values = numbers((5, 6), dtype)
    expected = np.where(values > 0, number, values)
    a, out = plane("a", dtype), plane("out", expected.dtype)
    sl.arithmetic(np.where(a[y, x] > 0, number, a[y, x]), out[y, x], name="term")
    for q in in_pieces(sl.build_pipeline([a], [out]), "term"):
        same_bits(np.asarray(q(values)), expected)


@pytest.mark.parametrize("origin", [(0, 0), (-7, 3)])
@pytest.mark.parametrize("most", [1, 48, formulas.BLOCK_BYTES])
def test_coordinates(origin: tuple[int, int], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "BLOCK_BYTES", most)
    a, out = plane("a", np.float64), plane("out", np.float64)
    sl.arithmetic(a[y, x] + sl.coordinate(y) * 0.5 - x, out[y, x], name="term")
    p = sl.build_pipeline([a], [out])
    values = sl.Buffer(numbers((7, 5), np.float64), min=origin)
    rows, columns = np.arange(7)[:, None] + origin[0], np.arange(5) + origin[1]
    for q in in_pieces(p, "term"):
        found = sl.Buffer(np.zeros((7, 5)), min=origin)
        q.run(values, found, checked=True)
        same_bits(found.array, values.array + rows * 0.5 - columns)


@pytest.mark.parametrize("backend", ["interpreter", "python", "native"])
def test_coordinates_that_no_int64_holds_are_refused(backend: str) -> None:
    """In whatever pieces they come: NumPy alone went on at the other end, or failed, by how long a piece was."""
    a, twice, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "twice", "out"))
    sl.arithmetic(2 * a[x] - sl.coordinate(x), twice[x], name="twice")
    sl.arithmetic(-twice[x], out[x], name="minus")
    p = sl.build_pipeline([a], [out])
    pieces = sl.compute_at(sl.split_loop(p, "minus.x", 2), "twice", "for x")
    last = 2**63 - 1
    for q in (p, pieces):
        for first in (-last - 1, last - 3):
            given = sl.Buffer(np.arange(4) + first, min=(first,))
            (found,) = q.run(given, backend=backend).outputs
            same_bits(np.asarray(found), -given.array)
        for first in (-last - 2, last - 2, last - 1, last, 2**70):
            given = sl.Buffer(np.arange(4), min=(first,))
            with pytest.raises(NumberError, match="coordinates along dimension 0: expected values of int64"):
                q.run(given, backend=backend)


def test_ufuncs_take_elements_beside_expressions() -> None:
    given, out, n = plane("a", np.int64), plane("out", np.float64), sl.scalar("n")
    values = np.arange(-3, 9).reshape(3, 4)
    term = np.maximum(n, given[y, x]) + np.less(x, given[y, x]) + x / (given[y, x] + 0.5) + np.add(given[y, x], y)
    sl.arithmetic(term, out[y, x])
    rows, columns = np.arange(3)[:, None], np.arange(4)
    expected = np.maximum(2, values) + (columns < values) + columns / (values + 0.5) + values + rows
    np.testing.assert_array_equal(sl.build_pipeline([given], [out])(values, n=2), expected)


def test_numbers_of_numpy_beside_expressions_are_integers() -> None:
    n, three = sl.scalar("n"), np.int64(3)
    pairs = [
        (three + n, n + 3),
        (three - n, 3 - n),
        (three * n, 3 * n),
        (np.array(7) // n, 7 // n),
        (three % n, 3 % n),
        (np.add(n, 1), n + 1),
        (three <= n, n >= 3),
        (three > n, n < 3),
    ]
    assert all(found is expected for found, expected in pairs)
    assert three != n
    assert (np.equal(three, n), np.not_equal(n, 1), np.equal(n, n)) == (False, True, True)
    for attempt in (
        lambda: three / n,
        lambda: np.float64(0.5) * n,
        lambda: np.ones(2) + n,
        lambda: n + np.ones(2),
        lambda: np.maximum(n, 3),
        lambda: np.negative(n),
    ):
        with pytest.raises(TypeError):
            attempt()


def test_numbers_of_the_run() -> None:
    """A float or an integer of the pipeline has no dtype of its own, as Python's numbers have none."""
    amount, shift = sl.scalar("amount", float), sl.scalar("shift")
    a, out = plane("a", np.float32), plane("out", np.float32)
    value = (amount * a[y, x] - amount) + (shift - a[y, x]) * out.dim(0).extent
    sl.arithmetic(value, out[y, x], name="term")
    p = sl.build_pipeline([a], [out])
    values = numbers((6, 4), np.float32)
    for q in in_pieces(p, "term"):
        found = np.zeros_like(values)
        q(values, found, amount=0.1, shift=7)
        same_bits(found, (0.1 * values - 0.1) + (7 - values) * 6)
    with pytest.raises(sl.ArgumentError):
        p(values, found, shift=7)


@pytest.mark.parametrize("backend", ["interpreter", "python", "native"])
@pytest.mark.parametrize(
    ("dtype", "refused", "held", "said"),
    [
        (np.uint8, [300, -1, 10**30, 10**1000], [0, 255], "uint8 (0..255)"),
        (np.int64, [1 << 63, -(10**400)], [(1 << 63) - 1], "int64 (-9223372036854775808..9223372036854775807)"),
        (np.float32, [10**400, -(10**1000)], [10**30, -(1 << 70)], "float32"),
        (np.complex64, [10**400], [1 << 65], "complex64"),
    ],
)
def test_numbers_of_the_run_that_a_dtype_does_not_hold(
    backend: str, dtype: Any, refused: list[int], held: list[int], said: str
) -> None:
    """They are refused before anything runs: the first func has no number, and writes an output."""
    a, first, out, n = plane("a", dtype), plane("first", dtype), plane("out", dtype), sl.scalar("n")
    sl.arithmetic(a[y, x] * 2, first[y, x], name="twice")
    sl.arithmetic(a[y, x] + n, out[y, x], name="more")
    p = sl.build_pipeline([a], [first, out])
    values = numbers((3, 4), dtype)
    for n_given in held:
        twice, found = np.zeros_like(values), np.zeros_like(values)
        p.run(values, twice, found, n=n_given, backend=backend)
        same_bits(found, values + n_given)
    for n_given in refused:
        twice, found = np.zeros_like(values), np.zeros_like(values)
        for run in (p, partial(p.run, backend=backend)):
            with pytest.raises(sl.ArgumentError) as error:
                run(values, twice, found, n=n_given)
            assert str(error.value).startswith(
                f"scalar n: expected a value of {said}, as which func more takes it, got "
            )
        assert not twice.any()
        assert not found.any()
        empty = np.zeros((0, 4), dtype)
        p.run(empty, empty.copy(), empty.copy(), n=n_given, backend=backend)


def test_numbers_computed_of_sizes_that_a_dtype_does_not_hold() -> None:
    a, out = plane("a", np.uint8), plane("out", np.uint8)
    sl.arithmetic(a[y, x] + out.dim(1).extent, out[y, x], name="more")
    p = sl.build_pipeline([a], [out])
    values = numbers((2, 255), np.uint8)
    same_bits(p(values, np.zeros_like(values)), values + np.uint8(255))
    values = numbers((2, 256), np.uint8)
    with pytest.raises(sl.ArgumentError, match=r"out.x.max .*: expected a value of uint8 .* got 256"):
        p(values, np.zeros_like(values))


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int16, np.uint8, np.bool_])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0, 1.5, -2, -1.0, np.float64(2), np.int8(2)])
def test_powers(dtype: Any, exponent: Any) -> None:
    values = np.array([[0, 1, 2, 3, 200]]).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        values = np.append(values, np.array([[-0.0, np.inf, -np.inf, np.nan, 0.1]], dtype), axis=0)
    if np.dtype(dtype).kind == "c":
        values = np.append(values, np.array([[2.3 - 0.7j, 0.1 + 9j, -3.1j, 1e3 + 7.7j, 5.3 + 0.9j]], dtype), axis=0)
    try:
        expected = values**exponent
    except (ValueError, OverflowError):  # integers to negative powers
        return
    a, out = plane("a", dtype), plane("out", expected.dtype)
    value = a[y, x] ** exponent
    assert value.dtype == expected.dtype
    sl.arithmetic(value, out[y, x])
    found = np.zeros_like(expected)
    sl.build_pipeline([a], [out])(values, found)
    same_bits(found, expected)


def test_divmod_is_that_of_arrays() -> None:
    values = numbers((5, 6), np.int16) + 9
    a, out = plane("a", np.int16), plane("out", np.int16)
    (whole, rest), (other, left) = divmod(a[y, x], 4), divmod(50, a[y, x])
    sl.arithmetic(whole * 7 + rest * 5 + other * 3 + left, out[y, x])
    (whole, rest), (other, left) = divmod(values, 4), divmod(50, values)
    same_bits(sl.build_pipeline([a], [out])(values), whole * 7 + rest * 5 + other * 3 + left)


def test_integers_out_of_range_keep_their_order() -> None:
    a, out = plane("a", np.uint8), plane("out", np.int64)
    compared = [a[y, x] < 300, a[y, x] > -1, a[y, x] < 10**30, a[y, x] > -(10**30)]
    sl.arithmetic(sum(each * np.int64(1 << k) for k, each in enumerate(compared)), out[y, x])
    p = sl.build_pipeline([a], [out])
    found = np.zeros((3, 3), np.int64)
    p(np.full((3, 3), 255, np.uint8), found)
    np.testing.assert_array_equal(found, 15)


def test_chains_of_terms_slide_and_fold_like_others() -> None:
    a, t, out = plane("a", np.float32), plane("t", np.float32), plane("out", np.float32)
    sl.arithmetic(a[y, x] * 2 + 1, t[y, x], name="first")
    sl.arithmetic((t[y - 1, x] + t[y, x] + t[y + 1, x]) / 3, out[y, x], name="mean")
    p = sl.line_buffer(sl.build_pipeline([a], [out]), "mean", "y", 4)
    assert "t: float32" in str(p)
    assert "fold 6" in str(p)
    values = numbers((30, 8), np.float32)
    found = sl.Buffer(np.zeros((28, 8), np.float32), min=(1, 0))
    t_values = values * np.float32(2) + np.float32(1)
    for checked in (False, True):
        p.run(values, found, checked=checked)
        same_bits(found.array, (t_values[:-2] + t_values[1:-1] + t_values[2:]) / np.float32(3))


def test_elements_beyond_an_edge() -> None:
    a, out = plane("a", np.float32), plane("out", np.float32)
    around = a.extended("mirror")
    sl.arithmetic(around[y, x + 1] - around[y - 1, x], out[y, x], name="term")
    p = sl.build_pipeline([a], [out], require=[sl.same_shape(a, out)])
    values = numbers((5, 4), np.float32)
    padded = np.pad(values, 1, mode="reflect")
    for q in in_pieces(p, "term"):
        found = np.zeros_like(values)
        q.run(values, found, checked=True)
        same_bits(found, padded[1:-1, 2:] - padded[:-2, 1:-1])


def test_it_works_in_place() -> None:
    """A term reads its elements before it writes there, also where one of them is read by several steps."""
    a, t, out = plane("a", np.float32), plane("t", np.float32), plane("out", np.float32)
    sl.arithmetic(a[y, x] + 1, t[y, x], name="first")
    sl.arithmetic(np.where(t[y, x] > 0, t[y, x] * t[y, x], -t[y, x]), out[y, x], name="second")
    p = sl.build_pipeline([a], [out])
    values = numbers((9, 9), np.float32)
    found = np.zeros_like(values)
    p.run(values, found, checked=True)
    assert p.run(values, found).peak_bytes == 0
    t_values = values + np.float32(1)
    same_bits(found, np.where(t_values > 0, t_values * t_values, -t_values))


def test_an_element_alone() -> None:
    a, out = plane("a", np.int32, 0), plane("out", np.float64, 0)
    sl.arithmetic(a[()] / 4, out[()])
    p = sl.build_pipeline([a], [out])
    found = np.zeros(())
    p(np.array(6, np.int32), found)
    assert found == 1.5


# ----------------------------------------------------------------------------------------------------------------
# What is written down
# ----------------------------------------------------------------------------------------------------------------


def test_what_is_taken_twice_is_computed_once() -> None:
    a, out = plane("a", np.float32), plane("out", np.float32)
    half = a[y, x] * 0.5
    func = sl.arithmetic((half + 1) * (half + 1) - a[y, x] * 0.5, out[y, x])
    assert [step.ufunc.__name__ for step in func.formula.steps] == ["multiply", "add", "multiply", "subtract"]
    assert str(func) == "<Func out[y, x] = arithmetic(a[y, x])>"


def test_a_deep_term_needs_no_deep_stack() -> None:
    a, out = plane("a", np.int64), plane("out", np.int64)
    value: Any = a[y, x]
    for _ in range(3000):
        value = value + 1
    sl.arithmetic(value, out[y, x])
    found = np.zeros((2, 2), np.int64)
    sl.build_pipeline([a], [out])(np.zeros((2, 2), np.int64), found)
    np.testing.assert_array_equal(found, 3000)


def test_names() -> None:
    a, out, more = plane("a", np.float32), plane("out", np.float32), plane("more", np.float32)
    assert sl.arithmetic(np.sqrt(a[y, x]), out[y, x]).name == "sqrt"
    assert sl.arithmetic(out[y, x] * 2 + 1, more[y, x], name="twice").name == "twice"


def test_code_that_makes_the_graph_again() -> None:
    amount = sl.scalar("amount", float)
    a, out = plane("a", np.float32), plane("out", np.float64)
    value = np.where(a[y, x - 1] > 0.5, np.clip(a[y, x], -1, amount), np.float32("nan")) + sl.coordinate(x)
    sl.arithmetic(np.add(value, np.modf(a[y, x])[1], dtype=np.float64), out[y, x], name="term")
    p = sl.build_pipeline([a], [out])
    space: dict[str, Any] = {}
    exec(p.to_graph_code(), space)
    assert space["p"].same_program(p)


# ----------------------------------------------------------------------------------------------------------------
# What is refused
# ----------------------------------------------------------------------------------------------------------------

A, ROW = plane("a", np.float32), plane("row", np.uint8, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: np.add.reduce(A[y, x]), r"np.add.reduce is not done element by element"),
        (lambda: np.matmul(A[y, x], A[y, x]), r"np.matmul is not done element by element"),
        (lambda: np.sum(A[y, x]), r"np.sum is not understood of what stands for one element"),
        (lambda: A[y, x] + np.ones(3), r"cannot take an array of shape \(3,\)"),
        (lambda: A[y, x] + "one", r"a term cannot be computed of 'one', a str"),
        (lambda: A[y, x] & 1, r"np.bitwise_and does not take float32, a Python int"),
        (lambda: ROW[x] + 300, r"the number 300 is out of range for uint8"),
        (lambda: np.add(A[y, x], 1, where=True), r"np.add of terms takes no where"),
        (lambda: np.where(A[y, x]), r"takes a condition and two values"),
        (lambda: bool(A[y, x] > 1), r"a term has no value before its pipeline runs"),
        (lambda: A[y, x].astype(object), r"a term needs a dtype of one number"),
        (lambda: A[y, x].astype("what"), r"a term needs a dtype of NumPy, got 'what'"),
        (lambda: sl.coordinate(sl.scalar("r")), r"coordinate\(\) takes a variable"),
        (lambda: pow(A[y, x], 2, 3), r"pow\(\) of terms takes no modulus"),
        (lambda: write(3), r"arithmetic\(\) takes a term, such as a\[y, x\] \* 2, got 3"),
        (lambda: sl.arithmetic(A[y, x] * 2, A), r"arithmetic\(\) writes an access"),
        (lambda: write(A[y, x] * np.float64(2), np.int32), r"its value is float64, and 'out' is int32: convert it"),
        (lambda: write(A[sl.interval(y - 1, y), x] * 2), r"it takes one element of 'a', got a\[y - 1 .. y, x\]"),
        (lambda: write(A[:, x] * 2), r"it takes one element of 'a', got a\[:, x\]"),
        (lambda: write(A[y // 2, x] * 2), r"is no multiple of a dimension plus something that stays the same"),
        (lambda: write(A[y + x, x] * 2), r"is no multiple of a dimension plus something that stays the same"),
        (lambda: write(A[y, sl.variables("z")[0]] * 2), r"variable z"),
        (lambda: write(A[y, x] * (y + 1)), r"y \+ 1 moves with y: write the coordinate as the variable alone"),
        (lambda: write(A[y, x] * sl.variables("z")[0]), r"the variable z is no dimension of its target"),
    ],
)
def test_what_is_no_arithmetic_of_elements(make: Callable[[], object], message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        make()


def write(value: Any, dtype: Any = np.float64) -> sl.Func:
    return sl.arithmetic(value, plane("out", dtype)[y, x])


def test_two_axes_that_move_together_are_refused() -> None:
    with pytest.raises(sl.GraphError, match=r"two axes of a\[y, y\] move with y"):
        write(A[y, y] * 2)


def spoiled(change: Callable[[Any], None]) -> None:
    """Read a program of which the written formula was changed."""
    import json

    a, out = plane("a", np.float32), plane("out", np.float32)
    sl.arithmetic(np.where(a[y, x] > 0, a[y, x] * 2, x), out[y, x], name="term")
    written = json.loads(sl.build_pipeline([a], [out]).to_json())
    change(next(f["operation"] for f in written["funcs"] if f["name"] == "term"))
    sl.Pipeline.from_json(json.dumps(written))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o["formula"]["steps"][0].update(ufunc="matmul"), "expected a ufunc that works on elements"),
        (lambda o: o["formula"]["steps"][0].update(ufunc="sum"), "expected a ufunc that works on elements"),
        (lambda o: o["formula"]["steps"][0]["operands"].pop(), "takes 2 operands"),
        (lambda o: o["formula"]["steps"][0]["dtypes"].__setitem__(2, "<f4"), "has no"),
        (
            lambda o: o["formula"].update(result={"kind": "Result", "step": 9}),
            "there is no result 0 of a step 9 before",
        ),
        (lambda o: o["formula"].update(rank=3), "a formula has an axis for each dimension"),
        (lambda o: o["formula"]["inputs"][0][0].update(dim=7), "an axis moves with one of 2 dimensions"),
        (lambda o: o["formula"]["inputs"][0][0].update(dim=1), "two axes of an input move with the same dimension"),
        (lambda o: o["formula"]["inputs"][0].__setitem__(0, None), "is not what its port reads"),
        (lambda o: o["formula"]["inputs"][0][0].update(step=2), "is not what its port reads"),
        (lambda o: o.update(pass_buffers=False), "arithmetic is given buffers where it asks for coordinates"),
        (lambda o: o.update(arguments=[["k", 3]]), r"the formula takes the arguments \[\]"),
    ],
)
def test_a_formula_that_does_not_fit_is_not_read(change: Callable[[Any], None], message: str) -> None:
    with pytest.raises(sl.FormatError, match=message):
        spoiled(change)


def test_numbers_without_a_dtype_that_are_chosen_get_one() -> None:
    x = sl.variables("x")[0]
    given, chosen = sl.BufferExpr("given", np.bool_, 1), sl.BufferExpr("chosen", np.int64, 1)
    sl.arithmetic(np.where(given[x], 7, given[x]), chosen[x])
    values = np.array([True, False, True])
    assert sl.build_pipeline([given], [chosen])(values).tolist() == np.where(values, 7, values).tolist()


@pytest.mark.parametrize(
    "name",
    ["o", "o_", "a0", "a1", "t0", "t2", "first_0", "empty", "copyto", "where", "arange", "formula", "multiply_4", "np"],
)
def test_a_scalar_may_be_called_like_anything_in_the_text_of_a_formula(name: str) -> None:
    (x,) = sl.variables("x")
    given, more, out = (sl.BufferExpr(each, np.float32, 1) for each in ("given", "more", "out"))
    term = np.where(given[x] > 0, given[x] * given[x] + more[x], np.float32(0)) * sl.scalar(name, float)
    sl.arithmetic(term.astype(np.float64).astype(np.float32) + x, out[x])
    p = sl.build_pipeline([given, more], [out])
    data = np.arange(-3, 5, dtype=np.float32)
    expected = np.where(data > 0, data * data + 2, 0) * 1.5 + np.arange(8)
    for backend in ("python", "interpreter"):
        result = p.run(data, np.full(8, 2, np.float32), backend=backend, **{name: 1.5}).outputs[0]
        np.testing.assert_allclose(result, expected)


def test_blocks_are_as_large_as_what_a_formula_has_at_hand_allows() -> None:
    """Inputs, what steps hand on, the output; not what is the same along a dimension, nor an array used once more."""
    a, b, row = (sl.BufferExpr(name, np.float32, rank) for name, rank in (("a", 2), ("b", 2), ("row", 1)))
    out = plane("out", np.float32)
    func = sl.arithmetic((a[y, x] + b[y, x] + row[x]) * 2 - a[y, x], out[y, x], name="term")
    sl.build_pipeline([a, b, row], [out])
    assert func.formula is not None
    assert formulas._Text(func.formula).bytes_at_hand() == 4 + 4 + 4 + 4
    for most in (1, 6, 40):
        boxes = [*formulas.blocks((3, 1, 5, 7), most)]
        covered = np.zeros((3, 1, 5, 7), int)
        for box in boxes:
            covered[box] += 1
            assert covered[box].size <= most
        assert (covered == 1).all()


@pytest.mark.parametrize("backend", ["interpreter", "python", "native", "native-exact"])
def test_numbers_of_the_run_as_truths(backend: str) -> None:
    """They are what is not 0, whatever else: NumPy converts them so."""
    a, out = plane("a", np.int16), plane("out", np.int64)
    amount = sl.scalar("amount", float)
    both = np.logical_and(a[y, x] + 1, amount) + np.logical_or(amount, a[y, x] - 1) * 2
    sl.arithmetic(both + np.where(amount, a[y, x], a[y, x] * 2) * 4, out[y, x], "truths")
    p = sl.build_pipeline([a], [out])
    values = np.arange(-3, 3, dtype=np.int16).reshape(2, 3)
    for number in (0.5, 0.0, -0.0, 1.0, 2.5, np.nan):
        found = np.empty((2, 3), np.int64)
        p.run(values, found, amount=number, backend=backend)
        expected = np.logical_and(values + 1, number) + np.logical_or(number, values - 1) * 2
        np.testing.assert_array_equal(found, expected + np.where(number, values, values * 2) * 4)
