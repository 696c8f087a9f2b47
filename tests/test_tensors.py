"""Lazy tensors with named dimensions: what they are, what follows of sizes, and the pipelines that they make."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest
from named_tensors import Array, ramp, s, tensor

import slinky as sl

# Dimensions -----------------------------------------------------------------------------------------------------------


def test_dimensions_are_attributes_and_unpacked_in_order() -> None:
    names = sl.dims("m k, n")
    m, k, n = names
    assert (names.m, names.k, names.n) == (m, k, n)
    assert len(names) == 3
    assert sl.dims("m").m is m  # a name is all that a dimension is


def test_a_dimension_that_was_not_made_is_named_in_the_error() -> None:
    with pytest.raises(sl.DimensionError, match="no dimension 'q' among m, k"):
        _ = sl.dims("m k").q
    assert not hasattr(sl.dims("m"), "q")


@pytest.mark.parametrize("names", ["", "m m", "2x", "_m", "for"])
def test_what_is_no_name_of_a_dimension_is_refused(names: str) -> None:
    with pytest.raises(sl.TensorError):
        sl.dims(names)


def test_what_is_neither_dimensions_nor_an_array_is_refused() -> None:
    refused: list[tuple[Any, ...]] = [(3,), ([1, 2],), (s.m, 3), (s.m, s.m), ("m",), (np.array([None]),)]
    for what in refused:
        with pytest.raises(sl.TensorError):
            sl.Tensor(*what)
    with pytest.raises(sl.TensorError, match="astype"):
        sl.Tensor(np.zeros(3), dtype=np.float32)
    with pytest.raises(sl.TensorError, match="identifier"):
        sl.Tensor(s.m, name="a b")


# Sizes ----------------------------------------------------------------------------------------------------------------


def test_sizes_follow_backwards() -> None:
    a, b = sl.Tensor(s.x), sl.Tensor(s.x, s.k)
    c = (a * b).sum(s.x)
    assert c.symbolic_shape == (s.k,)
    b.set_size(128, 7)
    assert a.shape == (128,)
    assert c.shape == (7,)


def test_a_size_of_the_result_is_one_of_its_operands() -> None:
    a, b = sl.Tensor(s.m, s.k), sl.Tensor(s.k, s.n)
    c = (a * b).sum(s.k)
    c.set_size(3, 4)
    a.set_size(3, 5)
    assert b.shape == (5, 4)


def test_sizes_that_nothing_determines_say_which_equations_leave_them_open() -> None:
    a, b = sl.Tensor(s.m, s.k, name="a"), sl.Tensor(s.k, name="b")
    product = a * b
    with pytest.raises(sl.TensorSizeError, match=r"k of b is not determined by\n  k of a == k of b \(multiply"):
        _ = b.shape
    with pytest.raises(sl.TensorSizeError, match="m of a and k of a"):
        _ = product.shape


def test_sizes_that_cannot_be_say_which_equations_and_nothing_is_changed() -> None:
    a, b = sl.Tensor(s.k, name="a"), sl.Tensor(s.k, name="b").set_size(5)
    total = (a * b).sum()
    with pytest.raises(sl.TensorSizeError) as refused:
        a.set(np.zeros(6))
    lines = str(refused.value).splitlines()[1:]
    assert [line.split(" (")[0] for line in lines] == ["  k of a == k of b", "  k of a == 6", "  k of b == 5"]
    assert a.shape == (5,)
    assert a.set(np.ones(5)) is a
    b.set(np.ones(5))
    assert total.numpy() == 5


def test_an_operation_of_sizes_that_do_not_fit_is_refused_and_leaves_no_equation() -> None:
    a, b = tensor(np.ones(3), s.k), tensor(np.ones(4), s.k)
    with pytest.raises(sl.TensorSizeError, match="no sizes for which all of these hold"):
        _ = a + b
    assert (a.shape, b.shape) == ((3,), (4,))


def test_what_was_thrown_away_constrains_nothing() -> None:
    a, b = sl.Tensor(s.k), sl.Tensor(s.k)
    c = a + b
    del c
    a.set_size(3)
    b.set_size(4)
    assert (a.shape, b.shape) == ((3,), (4,))


def test_linear_equations_are_solved_together() -> None:
    """Neither view tells a size alone: x + y == 10, and x == y + 2."""
    x, y = sl.Tensor(s.x), sl.Tensor(s.y)
    both = (x * y).to(
        s.z, s.i, s.j, constraints=[(s.x, s.i), (s.y, s.j), (sl.size(s.z), 1), (10, sl.size(s.x) + sl.size(s.y))]
    )
    difference = (x * y).to(s.i, s.j, constraints=[(s.x, s.i), (s.y, s.j), (sl.size(s.x), sl.size(s.y) + 2)])
    assert (x.shape, y.shape) == ((6,), (4,))
    assert both.shape == (1, 6, 4)
    assert difference.shape == (6, 4)


@pytest.mark.parametrize("count", [3, 7, -1])
def test_sizes_that_would_be_fractions_or_negative_are_refused(count: int) -> None:
    x = sl.Tensor(s.x)
    pairs = x.to(s.m, s.n, constraints=[(s.x, s.m * sl.size(s.n) + s.n), (sl.size(s.n), 2)])
    if count < 0:
        with pytest.raises(sl.TensorError, match="0 or more"):
            x.set_size(count)
    else:
        with pytest.raises(sl.TensorSizeError, match="it would have to be"):
            x.set_size(count)
    x.set_size(6)
    assert pairs.shape == (3, 2)


@pytest.mark.parametrize(("count", "root"), [(0, 0), (1, 1), (9, 3), (((1 << 60) + 1) ** 2, (1 << 60) + 1)])
def test_a_size_that_is_a_root(count: int, root: int) -> None:
    """Of any number: floats do not hold those of more than 53 bits."""
    x = sl.Tensor(s.x)
    square = x.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y) * sl.size(s.y), sl.size(s.x))])
    x.set_size(count)
    assert square.shape == (root,)


@pytest.mark.parametrize(
    ("less", "count", "words"), [(0, 8, "2 is 8"), (0, 10**400 + 1, "2 is 10+1"), (9, 5, "2 is -4")]
)
def test_a_size_that_would_be_a_root_that_is_none(less: int, count: int, words: str) -> None:
    x = sl.Tensor(s.x)
    square = x.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y) * sl.size(s.y), sl.size(s.x) - less)])
    with pytest.raises(sl.TensorSizeError, match=f"all of these hold: no size to the power of {words}\n"):
        x.set_size(count)
    x.set_size(16 + less)
    assert square.shape == (4,)


def test_a_size_is_changed_by_resize_alone() -> None:
    a = sl.Tensor(s.k, name="a").set_size(5)
    assert a.set_size(5).shape == (5,)
    with pytest.raises(sl.TensorSizeError, match=r"k of a == 5 \(set_size\), and shall be 6"):
        a.set_size(6)
    assert a.resize(6).shape == (6,)


def test_other_sizes_are_another_run_of_the_same_pipeline() -> None:
    a, b = sl.Tensor(s.m, s.k), sl.Tensor(s.k, s.n)
    c = (a * b).sum(s.k)
    p = c.pipeline
    for m, k, n in ((2, 3, 4), (5, 1, 2), (1, 7, 1)):
        one, other = ramp(m, k), ramp(k, n)
        a.set(one)
        b.set(other)
        assert c.shape == (m, n)
        np.testing.assert_array_equal(c.numpy(), one @ other)
        assert c.pipeline is p


def test_sizes_of_several_tensors_are_changed_one_after_the_other() -> None:
    a, b = tensor(np.ones(3), s.k), sl.Tensor(s.k).set(np.ones(3))
    c = (a + b).sum()
    b.resize(4)
    with pytest.raises(sl.TensorSizeError, match="no sizes"):
        _ = c.numpy()
    with pytest.raises(sl.TensorError, match="no values"):
        _ = b.numpy()  # an array of other sizes is given up
    b.set(np.ones(3))
    assert c.numpy() == 6


def test_values_of_other_sizes_are_given_up_wherever_these_are_said() -> None:
    given = sl.Tensor(ramp(3), name="given")
    t = given.to(s.x)
    t.resize(5)
    assert t.shape == given.shape == (5,)
    for each in (given, t, t + 1):
        with pytest.raises(
            sl.TensorError, match=r"^given has no values since x of given == 5 \(resize\): its array has"
        ):
            each.numpy()
    given.set(ramp(5))
    np.testing.assert_array_equal((t + 1).numpy(), ramp(5) + 1)


# Pipelines ------------------------------------------------------------------------------------------------------------


def test_a_pipeline_is_an_ordinary_one() -> None:
    a, b = sl.Tensor(s.m, s.k, name="a", dtype=np.int64), sl.Tensor(s.k, s.n, name="b", dtype=np.int64)
    c = np.maximum(a * b, 0).sum(s.k)
    assert str(c.pipeline.body()[-3:]).splitlines()[-3:] == [
        ">   alloc t0: int64[out.m.min..out.m.max, 0..a.k.max, out.n.min..out.n.max]",
        ">   t0[:, :, :] = maximum(a[:, :], b[:, :])",
        ">   out[:, :] = sum(t0[:, :, :])",
    ]
    p = sl.split_reduction(sl.split_loop(c.pipeline, "sum.m", 4), "sum", "k", 3)
    for m, k, n in ((1, 1, 1), (5, 7, 2), (4, 3, 8)):
        one, other = ramp(m, k, dtype=np.int64), ramp(k, n, dtype=np.int64)
        expected = np.maximum(one[:, :, None] * other, 0).sum(1)
        np.testing.assert_array_equal(c.pipeline(one, other), expected)
        out = np.empty((m, n), np.int64)
        p.run(one, other, out, checked=True)
        np.testing.assert_array_equal(out, expected)


def test_sizes_are_checked_by_the_pipeline_alone() -> None:
    c = (sl.Tensor(s.m, s.k, name="a") * sl.Tensor(s.k, s.n, name="b")).sum(s.k)
    with pytest.raises(sl.CheckFailedError, match=r"requires b.k.max == a.k.max"):
        c.pipeline(np.ones((2, 3)), np.ones((4, 2)))


def test_a_size_that_no_input_tells_is_a_scalar_of_the_pipeline() -> None:
    a = sl.Tensor(s.x, name="a")
    rows = a.to(s.y, s.x, constraints=[])
    np.testing.assert_array_equal(rows.pipeline(np.arange(3.0), size_y=2), [[0, 1, 2], [0, 1, 2]])
    a.set(np.arange(3.0))
    rows.set_size(4, 3)
    assert rows.numpy().shape == (4, 3)


def test_what_is_read_in_two_ways_is_computed_once() -> None:
    x = sl.Tensor(s.x, name="x")
    root = np.sqrt(x)
    total = root * 2 + root.sum()
    assert str(total.pipeline).count("sqrt(") == 1
    first = root.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y), sl.size(s.x) - 1)])
    differences = root[s.y + 1] - first
    assert str(differences.pipeline).count("sqrt(") == 1
    np.testing.assert_array_equal(differences.pipeline(np.arange(5.0) ** 2), np.ones(4))


def test_a_schedule_is_kept_whatever_is_read() -> None:
    a, b = tensor(ramp(5, 7), s.m, s.k), tensor(ramp(7, 3), s.k, s.n)
    c = (a * b).sum(s.k)
    p = sl.split_loop(c.pipeline, "sum.m", 2)
    scheduled = c.scheduled(p)
    again = c.scheduled(lambda own: sl.split_loop(own, "sum.m", 2))
    for _ in range(2):
        np.testing.assert_array_equal(scheduled.numpy(), ramp(5, 7) @ ramp(7, 3))
        np.testing.assert_array_equal(again.numpy(), scheduled.numpy())
    other = (a * b).sum(s.k).pipeline
    with pytest.raises(sl.TensorError, match="made of its own"):
        c.scheduled(sl.split_loop(other, "sum.m", 2))
    with pytest.raises(sl.TensorError, match="made of its own"):
        c.scheduled(lambda own: None)  # type: ignore[arg-type, return-value]


def test_the_order_of_dimensions_is_that_of_the_result() -> None:
    """A transpose is another tensor with another pipeline, also where both were computed before."""
    a = ramp(3, 3)
    t = tensor(a, s.m, s.n) + 1
    for _ in range(2):
        np.testing.assert_array_equal(t.numpy(), a + 1)
        np.testing.assert_array_equal(t.transpose().numpy(), (a + 1).T)


def test_long_chains() -> None:
    t = tensor(ramp(5), s.x)
    for _ in range(600):
        t = t + 1
    np.testing.assert_array_equal(t.numpy(), ramp(5) + 600)


def test_named_tensors_are_called_so() -> None:
    product = (sl.Tensor(s.m, name="a") * sl.Tensor(s.n, name="b")).named("outer")
    assert repr(product) == "<Tensor outer: float64[m, n]>"
    assert repr(product.sum().named("total").pipeline) == "<Pipeline total(a, b) -> (total)>"
    assert "alloc outer: float64" in str(product.sum().pipeline)
    with pytest.raises(sl.TensorError, match="input"):
        sl.Tensor(s.m).named("a")


def test_large_tensors_are_scheduled_by_themselves() -> None:
    a, b = ramp(200, 40), ramp(40, 300)
    c = (tensor(a, s.m, s.k) * tensor(b, s.k, s.n)).sum(s.k)
    np.testing.assert_allclose(c.numpy(), a @ b)


@pytest.mark.parametrize("backend", ["python", "interpreter", "native", "native-exact", "auto"])
def test_values_of_all_back_ends_are_the_same(backend: str) -> None:
    for rows in (30, 300):  # which is scheduled, too
        a = ramp(rows, 80, dtype=np.float32)
        t = np.maximum(tensor(a, s.m, s.n) * 0.1, 0) - 1
        np.testing.assert_array_equal(t.numpy(backend=backend), np.maximum(a * np.float32(0.1), 0) - 1, strict=True)
    assert t.sum().numpy(backend=backend).shape == ()


def test_copies_of_a_tensor_compute_the_same() -> None:
    t = tensor(ramp(4), s.x) + 1
    np.testing.assert_array_equal(copy.copy(t).numpy(), t.numpy())


def pickled(t: Any) -> Any:
    """What comes out of a pickle."""
    return pickle.loads(pickle.dumps(t))


def of_all_kinds() -> list[sl.Tensor]:
    """Tensors of each kind of operation."""
    i = tensor(ramp(12), s.i)
    windows = i.to(s.y, s.k, constraints=[(s.i, 2 * s.y + 3 * s.k), (sl.size(s.k), 2)])
    rows = i.to(s.m, s.n, constraints=[(s.i, s.m * sl.size(s.n) + s.n), (sl.size(s.n), 4)])
    border = sl.Tensor(np.ones(14)).to(s.y)
    wide = i.to(s.y, constraints=[(s.y, s.i + 1), (sl.size(s.y), sl.size(s.i) + 2)], outside=border)
    chosen = np.where(windows > 3, windows**2, 0.5 - windows).astype("f4").named("chosen")
    return [
        *(i, windows, rows, wide, chosen, chosen.sum(s.k, reassociate=True), rows.mean(), rows.argmax(s.n)),
        *(np.clip(rows, a_min=-1, a_max=2), 2**rows, np.divmod(rows, 3)[1], rows.transpose(), np.add(i, i, dtype="f4")),
        (windows * 2).sum(s.k).scheduled(lambda p: sl.split_loop(p, "sum.y", 2)),
    ]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
def test_tensors_come_again(again: Any) -> None:
    for t in of_all_kinds():
        found = again(t)
        assert (str(found.loop_tree), found.shape, found.dtype) == (str(t.loop_tree), t.shape, t.dtype)
        assert (found.name, found.symbolic_shape) == (t.name, t.symbolic_shape)
        np.testing.assert_array_equal(found.numpy(), t.numpy(), strict=True)


@pytest.mark.parametrize("again", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
def test_a_tensor_that_comes_again_has_sizes_of_its_own(again: Any) -> None:
    """They follow from each other as those of the first one do, and from nothing of these."""
    a, b = sl.Tensor(s.m, s.k, name="a"), sl.Tensor(s.k, s.m, name="b")
    a.set_size(2, 3)
    own = (a * b).sum(s.k)
    c = again(own)
    left, right = c.inputs
    assert (left.shape, right.shape, c.shape) == ((2, 3), (3, 2), (2,))
    left.resize(4, 5)
    assert (right.shape, a.shape, b.shape) == ((5, 4), (2, 3), (3, 2))
    with pytest.raises(sl.TensorSizeError, match="k of b == 6"):
        right.set(ramp(6, 4))
    with pytest.raises(sl.TensorSizeError, match="m of a == 2"):
        left + a
    values = ramp(2, 3)
    a.set(values)
    other = again(a + 1)
    other.inputs[0].set(ramp(1, 1))
    np.testing.assert_array_equal((a + 1).numpy(), values + 1)
    np.testing.assert_array_equal(other.numpy(), ramp(1, 1) + 1)


@pytest.mark.parametrize("again", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
def test_tensors_that_come_again_together_share_what_they_shared(again: Any) -> None:
    values = ramp(2, 3)
    a, b = sl.Tensor(s.m, s.k, name="a").set(values), sl.Tensor(s.k, s.n, name="b")
    double = (a * 2).named("double")
    made = again([(double * b).sum(s.k), {"a": a, "more": double + 1, "double": double, "other": b}])
    product, found = made
    assert found["other"].set_size(3, 4) is found["other"]
    assert (product.shape, found["more"].shape) == ((2, 4), (2, 3))
    found["a"].set(values + 1)
    found["other"].set(ramp(3, 4))
    np.testing.assert_array_equal(product.numpy(), (values + 1) * 2 @ ramp(3, 4))
    np.testing.assert_array_equal(found["more"].numpy(), (values + 1) * 2 + 1)
    assert [each.name for each in product.inputs] == ["a", "b"]
    assert len((product + found["a"] + found["double"]).inputs) == 2
    np.testing.assert_array_equal(a.numpy(), values)
    assert found["double"].name == "double"


def test_long_chains_come_again() -> None:
    t = tensor(ramp(3), s.x)
    for _ in range(2000):
        t = t + 1
    np.testing.assert_array_equal(pickled(t).numpy(), t.numpy())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"])
def test_dimensions_come_again(again: Any) -> None:
    found = again(sl.dims("m k"))
    assert list(found) == [s.m, s.k]
    assert found.k is s.k


# Other libraries ------------------------------------------------------------------------------------------------------


class Foreign:
    """An array of another library: DLPack is all that it has."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_not_copied() -> None:
    a = ramp(3, 4)
    t = sl.Tensor(Foreign(a)).to(s.m, s.n)
    assert t.shape == (3, 4)
    assert np.shares_memory(t.inputs[0].numpy(), a)
    a[0, 0] = 100
    np.testing.assert_array_equal((t + 1).numpy(), a + 1)
    other = sl.Tensor(s.m).set(Foreign(np.arange(3.0)))
    np.testing.assert_array_equal((other * 2).numpy(), [0, 2, 4])


def test_other_libraries_see_tensors_without_a_copy() -> None:
    a = ramp(3, 4)
    assert np.shares_memory(np.from_dlpack(sl.Tensor(a)), a)
    np.testing.assert_array_equal(np.from_dlpack(tensor(a, s.m, s.n) + 1), a + 1)
    assert np.asarray(sl.Tensor(a)) is a
    assert np.asarray(tensor(a, s.m, s.n) + 1, dtype=np.float32).dtype == np.float32
    with pytest.raises(sl.TensorError, match="uncopied"):
        np.asarray(tensor(a, s.m, s.n) + 1, copy=False)


def test_strides_of_any_kind() -> None:
    a = np.arange(48).reshape(6, 8)
    for array in (a[::2, ::-1], a.T, np.broadcast_to(a[0], (3, 8)), a[:, 3:4]):
        np.testing.assert_array_equal((tensor(array, s.m, s.n) * 2).sum(s.n).numpy(), (array * 2).sum(1))


def test_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    given = torch.arange(6.0).reshape(2, 3)
    t = sl.Tensor(given).to(s.m, s.n)
    given[0, 0] = 10
    assert torch.equal(torch.from_dlpack(t * 2), given * 2)


def test_arrays_on_devices_are_refused() -> None:
    class Elsewhere(Foreign):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not on the host")

    with pytest.raises(sl.TensorError, match="without copying"):
        sl.Tensor(Elsewhere(ramp(3)))


def test_messages_make_up_no_names_of_dimensions() -> None:
    one, two = sl.Tensor(np.zeros(3)), sl.Tensor(np.zeros((3, 4)), name="t")
    attempts: list[tuple[Any, str]] = [
        (lambda: one.to(s.m, s.n), r"^tensor \d+ has 1 dimension without a name, and 2 names were given, \[m, n\]"),
        (lambda: two.to(s.m), r"^t has 2 dimensions without names, and 1 name was given, \[m\]"),
        (lambda: sl.Tensor(s.m, s.k, name="u").to(s.m), r"^u has 2 dimensions, \[m, k\], and 1 name was given"),
        (lambda: two.transpose(s.m), r"the dimensions \[\?, \?\] in some order: m"),
        (lambda: two.sum(s.m), r"sum is along dimensions of t, \[\?, \?\], got m"),
        (lambda: two.set(np.zeros(3)), r"t has the dimensions \[\?, \?\], got an array of shape \(3,\)"),
        (lambda: two.set_size(3), r"t has the dimensions \[\?, \?\] and needs a size"),
        (lambda: two.set_size(3, 5), r"dimension 1 of t == 4 \(the array\), and shall be 5"),
        (lambda: two.to(s.m, constraints=[]), "no constraint says where dimension 0, dimension 1 of t is"),
    ]
    for attempt, message in attempts:
        with pytest.raises(sl.TensorError, match=message):
            attempt()


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin"])
def test_a_reduction_along_what_is_no_dimension_is_called_as_it_was_written(name: str) -> None:
    with pytest.raises(sl.TensorError, match=rf"^{name} is along dimensions of t, \[m, n\], got k$"):
        getattr(sl.Tensor(s.m, s.n, name="t"), name)(s.k)
    with pytest.raises(sl.TensorError, match=r"^reduce is along dimensions of t, \[m, n\], got k$"):
        sl.Tensor(s.m, s.n, name="t").reduce(np.add, s.k)


def test_lists_are_no_operands_whatever_is_in_them() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for rows in ([1, 2], [[1, 2], [3]], endless):
        with pytest.raises(sl.TensorError, match="takes tensors and numbers: make the list a tensor"):
            ramp_tensor() + rows


def test_a_number_as_a_condition_is_true_or_not() -> None:
    t = ramp_tensor()
    for number in (10**400, 0, 0.5, float("nan"), 1j, np.int8(0)):
        np.testing.assert_array_equal(np.where(number, t, -1).numpy(), np.where(number, ramp(3), -1))


def ramp_tensor() -> sl.Tensor:
    return sl.Tensor(ramp(3)).to(s.m)


# Threads --------------------------------------------------------------------------------------------------------------


def test_threads_compute_from_one_tensor() -> None:
    """Each says equations of sizes that others look at."""
    a = tensor(ramp(2, 3), s.m, s.k)
    failed: list[BaseException] = []
    kept: list[sl.Tensor] = []
    interval = sys.getswitchinterval()

    def work(number: int) -> None:
        try:
            for _ in range(40):
                kept.append(a * tensor(np.full((3, 4), number), s.k, s.n))
                assert kept[-1].shape == (2, 3, 4)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
