"""Tables that lazy arrays index: those that a function comes to by a name, and those that it has NumPy make."""

from __future__ import annotations

import pickle
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import assert_same

import slinky as sl
from slinky.frontend.indexed import IndexedArray, indexed_array, own_array

Array = np.ndarray[Any, Any]
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 70)).astype(np.uint8)
CURVE = np.sqrt(np.arange(256) / 255).astype(np.float32)
PALETTE = np.random.default_rng(1).random((256, 3))
FLAT = np.float32(3) + np.zeros(())
PARTS = types.ModuleType("parts")
PARTS.curve = CURVE * 2  # type: ignore[attr-defined]
PARTS.turned = CURVE[::-1].copy()  # type: ignore[attr-defined]


def of_a_global(image: Array) -> Any:
    return CURVE[image] * 2


def of_colours(image: Array) -> Any:
    return PALETTE[image][..., ::-1]


def of_a_column(image: Array) -> Any:
    return PALETTE[image, 1] + PALETTE[:, 2][image]


def of_a_part(image: Array) -> Any:
    return CURVE[16:][image // 2] - CURVE[image // 2 - 100]


def of_a_module(image: Array) -> Any:
    return PARTS.curve[image] + 1


def made_here(image: Array) -> Any:
    gamma = np.clip((np.arange(256) / 255) ** 0.4 * 255, 0, 255).astype(np.uint8)
    return gamma[image]


def made_of_a_list(image: Array) -> Any:
    table = np.array([k * k % 251 for k in range(256)], np.uint8)
    return table[image] // 2


def made_by_steps(image: Array) -> Any:
    table = np.zeros(256)
    for k in range(256):
        table[k] = k % 7
    first = table[image]
    table[:] = 5
    return first + table[image]


def made_of_parts(image: Array) -> Any:
    table = np.concatenate([np.linspace(0, 1, 100), np.where(np.arange(156) > 70, 0.5, 2.0)])
    return table[image] * np.interp(np.arange(256), [0, 255], [1, 2])[image]


def one_hot(image: Array) -> Any:
    """Rows of matrices that NumPy makes of numbers alone."""
    return np.eye(256, dtype=np.float32)[image[::2]], np.identity(256)[image[0]] + np.tri(256)[image[1]]


def at_computed_places(image: Array) -> Any:
    """Scalars that integers choose which are computed."""
    y, x = np.unravel_index(np.argmax(image), image.shape)
    row = image[3].astype(np.float64)
    return image[y, x] / 2, CURVE[image[y, 0]], row[np.argmin(row)], row[-1 - row.argmax()], row[np.argsort(row)[7]]


def equalised(image: Array) -> Any:
    """The histogram is a value; the table goes by pieces."""
    counts = np.bincount(np.asarray(image).ravel(), minlength=256)
    return (np.cumsum(counts) / counts.sum())[image]


def in_a_closure() -> Callable[[Array], Any]:
    table = CURVE[::-1].copy()

    def inner(image: Array) -> Any:
        return table[image]

    return inner


UNDERSTOOD = [
    of_a_global,
    of_colours,
    of_a_column,
    of_a_part,
    of_a_module,
    made_here,
    made_of_a_list,
    made_by_steps,
    made_of_parts,
    in_a_closure(),
    one_hot,
    at_computed_places,
]


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
@pytest.mark.parametrize("function", [*UNDERSTOOD, equalised], ids=lambda f: f.__name__)
def test_tables_give_what_numpy_gives(function: Callable[[Array], Any]) -> None:
    traced = sl.jit(smallest=0)(function)
    for image in (IMAGE, IMAGE[:, ::-1], IMAGE[3:40]):
        _require_the_same(traced(image), function(image))


@pytest.mark.parametrize("function", UNDERSTOOD, ids=lambda f: f.__name__)
def test_tables_go_by_pieces(function: Callable[[Array], Any]) -> None:
    traced = sl.jit(smallest=0, strict=True)(function)
    _require_the_same(traced(IMAGE), function(IMAGE))
    said = traced.explain(IMAGE)
    assert "take" in said
    assert "at each call" not in said


def _require_the_same(found: Any, expected: Any) -> None:
    """Arrays and scalars that are NumPy's, also in a tuple."""
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for own, other in pairs:
        assert type(own) is type(other)
        np.testing.assert_array_equal(own, other, strict=True)


def test_a_row_at_a_computed_place_may_be_written_through() -> None:
    def blanked(image: Array) -> Any:
        y = image.copy()
        y[np.argmax(y[:, 0])][:10] = 0
        y[3][np.argmax(y[3])] = 1
        return y

    with pytest.warns(sl.ForcedValueWarning, match="an index"):
        np.testing.assert_array_equal(sl.jit(smallest=0)(blanked)(IMAGE), blanked(IMAGE), strict=True)


def test_an_index_out_of_bounds_is_numpy_s_error() -> None:
    def beyond(image: Array) -> Any:
        return CURVE[image.astype(int) + 1]

    with pytest.raises(IndexError, match="out of bounds"):
        beyond(np.full((5, 5), 255, np.uint8))
    with pytest.raises(IndexError, match="out of bounds"):
        sl.jit(smallest=0)(beyond)(np.full((5, 5), 255, np.uint8))
    traced = sl.jit(smallest=0)(lambda row: row[np.argmax(row) + 1])
    assert traced(np.arange(9)[::-1].copy()) == 7
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
        traced(np.arange(9))


OF_PLACES = [
    lambda a: a[:, [-1, 0]],
    lambda a: a[3:2, :, None][:, [0, 2]],
    lambda a: a[3:2][..., np.array([-3, 1])],
    lambda a: a[None, 3:2, -3:1][..., [-1, 0], None],
    lambda a: a[3:2].T[[0, -1], [[0], [2]]],
    lambda a: a[:, 3:2][1, [-1, 4]],
    lambda a: a[:, [5, -9, 50]],
    lambda a: np.take(a[3:2], [50], axis=1),
]


@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("chosen", OF_PLACES)
def test_places_that_there_are_not_are_numpy_s_error_where_nothing_is_found_too(chosen: Any, is_forced: bool) -> None:
    """Also where an axis has no elements, or the array none along others; who catches the error has its text."""

    def function(a: Array) -> Any:
        if is_forced and a.any():
            a = a + 1
        try:
            return chosen(a)
        except IndexError as error:
            return a * 2, str(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.ForcedValueWarning)
        traced = sl.jit(smallest=0)(function)
        for shape in ((4, 3), (9, 2), (4, 0), (4, 3), (9, 51), (1, 1)):
            a = np.ones(shape)
            assert_same(traced(a), function(a))


def test_a_table_that_changes_is_read_again() -> None:
    table = np.arange(256.0)

    def looked_up(image: Array) -> Any:
        return table[image]

    traced = sl.jit(smallest=0)(looked_up)
    for _ in range(3):
        np.testing.assert_array_equal(traced(IMAGE), looked_up(IMAGE), strict=True)
        table *= 2


def test_nothing_of_the_class_is_left_in_what_comes_back() -> None:
    def several(image: Array) -> Any:
        table = np.arange(4) * 2
        return CURVE[image], CURVE, {"table": table, "sums": (table.sum(), CURVE.max(), CURVE.mean(axis=0))}

    found, expected = sl.jit(smallest=0)(several)(IMAGE), several(IMAGE)
    np.testing.assert_array_equal(found[0], expected[0], strict=True)
    for a, b in zip(
        (found[1], found[2]["table"], *found[2]["sums"]),
        (expected[1], expected[2]["table"], *expected[2]["sums"]),
        strict=True,
    ):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
def test_what_functions_do_with_tables_is_done() -> None:
    kept: list[Any] = []
    table, flags = np.arange(256.0), np.zeros(3, bool)

    def busy(image: Array) -> Any:
        nonlocal table
        table = table + 1
        flags[1] = True
        kept.append(table)
        return image + table[3]

    def asks(image: Array) -> Any:
        same = CURVE is PARTS.curve
        return CURVE[image] + same + isinstance(CURVE, np.ndarray) + len(CURVE) + (type(CURVE) is np.ndarray)

    for _ in range(2):
        np.testing.assert_array_equal(sl.jit(smallest=0)(busy)(IMAGE), IMAGE + (table[3]), strict=True)
    assert table[0] == 2
    assert flags[1]
    assert all(type(each) is np.ndarray for each in kept)
    np.testing.assert_array_equal(sl.jit(smallest=0)(asks)(IMAGE), asks(IMAGE), strict=True)


def test_arrays_of_the_class_are_numpy_s() -> None:
    seen = indexed_array(CURVE)
    assert own_array(seen) is CURVE
    assert type(seen.sum()) is np.float32
    assert type(seen[3]) is np.float32
    assert type(np.add.reduce(seen)) is np.float32
    assert type(seen.mean()) is type(CURVE.mean())
    assert type(seen + 1) is IndexedArray
    assert own_array(seen[3:]) is not CURVE
    assert type(own_array(seen[3:])) is np.ndarray
    assert np.shares_memory(own_array(seen[3:]), CURVE)
    assert type(pickle.loads(pickle.dumps(seen))) is np.ndarray
    assert repr([seen]) == repr([CURVE])
    assert seen.__class__ is np.ndarray
    assert seen.base is CURVE.base
    assert seen.flags.owndata == CURVE.flags.owndata
    filled = np.add(seen, 0, out=seen)
    assert filled is seen
    for other in (3, "table", FLAT, np.array(["a"]), np.ma.array([1]), [1, 2]):
        assert indexed_array(other) is other


class Measured(np.ndarray):
    """A class of somebody's own, as NumPy's manual has it."""


MEASURED = np.arange(256.0).view(Measured)
SWAPPED = CURVE.astype(">f4")


def swapped(image: Array) -> Any:
    return SWAPPED[image]


def swapped_here(image: Array) -> Any:
    return CURVE.astype(">f4")[image] + np.array(range(256), ">i4")[image]


def of_objects(image: Array) -> Any:
    return CURVE.astype(object)[image].astype(float)


def of_texts(image: Array) -> Any:
    return (CURVE > 0.5).astype(str)[image] == "True"


def of_another_class(image: Array) -> Any:
    names = [type(each).__name__ for each in (CURVE + MEASURED, MEASURED * CURVE, np.add(CURVE, MEASURED, dtype=float))]
    return image + 1, names


def about_memory(image: Array) -> Any:
    return image + 1, CURVE.flags.owndata, CURVE.base is None, CURVE.__class__ is np.ndarray, repr(CURVE[:2])


def with_a_mask(image: Array) -> Any:
    return image + 1, np.ma.array(CURVE, mask=CURVE > 0.5)


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
@pytest.mark.parametrize(
    "function",
    [swapped, swapped_here, of_objects, of_texts, of_another_class, about_memory, with_a_mask],
    ids=lambda f: f.__name__,
)
def test_tables_that_lazy_arrays_cannot_take_are_asked_as_numpy_s(function: Callable[[Array], Any]) -> None:
    traced = sl.jit(smallest=0)(function)
    for _ in range(2):
        found, expected = traced(IMAGE), function(IMAGE)
        for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True):
            assert type(a) is type(b)
            assert type(getattr(a, "data", None)) is type(getattr(b, "data", None))
            np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
def test_what_a_function_keeps_by_identity_is_kept_for_the_array_itself() -> None:
    """A module's arrays are seen anew each time: one of them may lie where another one was."""
    kept: dict[int, Any] = {}

    def in_order(table: Array) -> Any:
        if id(table) not in kept:
            kept[id(table)] = np.sort(table) * table[3]
        return kept[id(table)]

    def looked_up(image: Array) -> Any:
        return in_order(PARTS.curve)[image] + in_order(PARTS.turned)[image] + in_order(CURVE)[image]

    expected = looked_up(IMAGE)
    names = set(kept)
    traced = sl.jit(smallest=0)(looked_up)
    for _ in range(4):
        np.testing.assert_array_equal(traced(IMAGE), expected, strict=True)
        assert set(kept) == names
        kept.clear()


def test_a_shape_that_is_given_to_a_table_is_its_own() -> None:
    table = np.arange(256.0)

    def shaped(image: Array) -> Any:
        table.resize((16, 16))
        return table[image // 16, image % 16]

    np.testing.assert_array_equal(sl.jit(smallest=0)(shaped)(IMAGE), IMAGE.astype(float), strict=True)
    assert table.shape == (16, 16)


def test_what_can_be_changed_inside_comes_anew() -> None:
    """A copy of an array of objects has these in it."""

    def with_lists(image: Array) -> Any:
        found = np.empty(1, object)
        found[0] = []
        return image + 1, found

    traced = sl.jit(smallest=0)(with_lists)
    for _ in range(3):
        found = traced(IMAGE)[1]
        assert found[0] == []
        found[0].append(1)


def test_parts_of_tables_that_nobody_may_write_to() -> None:
    """It is asked of such a part whether somebody may write to what it is a part of."""
    table = np.arange(256.0)
    table.flags.writeable = False

    def added(image: Array) -> Any:
        part = table[2:142:2]
        assert part.base is table
        return image + part, part[3:][0] * image, part.reshape(7, 10)

    _require_the_same(sl.jit(smallest=0)(added)(IMAGE), added(IMAGE))
    table.flags.writeable = True
    _require_the_same(sl.jit(smallest=0)(added)(IMAGE), added(IMAGE))
