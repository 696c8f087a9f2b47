"""The generator of random NumPy programs: what it writes runs, does something, and is the same for the same seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy_extremes import EXTREMES, extreme_array, tells_zeros_apart
from numpy_numbers import KINDS, NUMBERED
from numpy_programs import Program, Writer, difference, exactly, fault, jits, made_array, programs, run, smallest
from numpy_templates import BINARY, STATEMENTS, TEMPLATES, UNARY

from slinky.frontend import composed as composed  # the table is filled there
from slinky.frontend import functions as functions
from slinky.frontend import rearranging as rearranging
from slinky.frontend.tables import DATA_DEPENDENT, TABLE, WRITING, name_of


@cache
def written() -> tuple[Program, ...]:
    return tuple(programs(0, 150))


def test_programs_run_and_write_to_no_argument() -> None:
    for program in written():
        result, failed = run(program.function(), program.arrays())
        assert failed is None, f"{failed}\n{program}"
        assert difference(result, run(program.function(), program.arrays())[0], 0) is None


def test_the_same_seed_writes_the_same() -> None:
    for program in written()[:10]:
        assert str(Writer(program.seed).write()) == str(program)
    assert len({program.lines for program in written()}) > 140


def test_programs_are_of_many_kinds() -> None:
    lines = [line for program in written() for line in program.lines]
    text = "\n".join(lines)
    assert len(lines) > 400
    for word in (
        "np.pad",
        "np.concatenate",
        "sum(",
        "[:, ",
        "[::-1]",
        "np.roll",
        "+= ",
        "np.where",
        "np.cumsum",
        "out=",
    ):
        assert word in text, word
    sizes = Counter(n for program in written() for _, shape, _ in program.inputs for n in shape)
    assert {0, 1, 2, 13} <= set(sizes)
    dtypes = {dtype for program in written() for dtype, _, _ in program.inputs}
    assert {"bool", "uint8", "int64", "float32", "float64", "complex128"} <= dtypes
    assert len(TEMPLATES) + len(STATEMENTS) > 200


def test_all_that_is_understood_is_drawn() -> None:
    """The functions, methods and ufuncs that calls are dispatched on, and those of which it is known why not."""
    text = "\n".join(template.text for template in (*TEMPLATES, *STATEMENTS))
    words = {*re.findall(r"\bnp((?:\.\w+)+)\(", text), *re.findall(r"\}(\.\w+)", text)}
    words |= {f".{name}" for name in (*UNARY, *BINARY)}
    drawn = [attrgetter(word[1:])(np) for word in words if hasattr(np, word[1:].partition(".")[0])]
    dates = [np.isnat]
    public = (getattr(np, name) for name in np.__all__)
    ufuncs = [each for each in public if isinstance(each, np.ufunc) and each.signature is None and each not in dates]
    missing = [name_of(f) for f in (*TABLE, *DATA_DEPENDENT, *WRITING, *ufuncs) if not any(f is d for d in drawn)]
    assert not missing
    assert not [name for name in functions.METHODS if f"}}.{name}(" not in text]
    assert not [name for name in functions.PROPERTIES if not re.search(rf"\}}\.{name}$", text, re.MULTILINE)]


def test_most_programs_compute_something() -> None:
    """Elements that differ, of results that the arrays matter for."""
    some = 0
    for program in written():
        result, _ = run(program.function(), program.arrays())
        values = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else (result,)
        some += any(np.size(value) > 1 and len(np.unique(np.asarray(value))) > 1 for value in values)
    assert some > len(written()) / 2


def test_programs_run_on_larger_arrays_mostly() -> None:
    failed = [run(program.function(), program.arrays(3))[1] is not None for program in written()]
    assert sum(failed) < len(failed) / 3


def test_arrays_have_layouts_of_their_own() -> None:
    layouts = [made_array("int32", (4, 6), seed) for seed in range(4)]
    assert [each.flags.c_contiguous for each in layouts] == [True, False, False, False]
    assert [each.shape for each in layouts] == [(4, 6)] * 4
    assert made_array("float64", (0, 3), 5).shape == (0, 3)


def test_a_wrong_run_is_found_and_made_small() -> None:
    """Runs on other arrays than those given are caught, with few lines that show it."""

    def wrong(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: function(*(array[::-1] if array.ndim else array for array in arrays))

    found = [program for program in written() if fault(program, wrong) is not None]
    assert len(found) > len(written()) / 3
    assert all(fault(program, lambda function: function) is None for program in found)
    for program in found[:5]:
        small = smallest(program, wrong)
        assert len(small.lines) <= len(program.lines)
        assert fault(small, wrong) is not None
        assert small.source in str(small)


def test_differences() -> None:
    one = np.arange(3.0)
    assert difference(one, one.copy(), 0) is None
    assert difference(one, one + 1e-12, 1e-9) is None
    assert difference(one, one + 1e-12, 0) == "0.0 in place of 1e-12 at (0,), 3 of 3 differ"
    assert difference(one, one.astype(int), 0) == "float64(3,) in place of int64(3,)"
    assert difference((one,), [one], 0) == "a tuple in place of a list"
    assert difference({"a": one}, {"b": one}, 0) == "keys ['a'] in place of ['b']"
    assert difference(np.float64("nan"), np.float64("nan"), 0) is None
    endless = np.array([1.0, np.inf])
    assert difference(endless, endless + 1, 1e-9) == "1.0 in place of 2.0 at (0,), 1 of 2 differ"
    assert difference(endless, -endless, 1e-9) == "1.0 in place of -1.0 at (0,), 2 of 2 differ"


@settings(max_examples=settings().max_examples * 2 // 3, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from(["whole", "by pieces", "for C"]))
def test_traced_programs_give_what_plain_ones_give(seed: int, how: str) -> None:
    """Results, dtypes, shapes and errors, on the sizes of the trace and on others."""
    program = Writer(seed).write()
    assert fault(program, jits()[how]) is None, str(program)


@settings(max_examples=settings().max_examples // 3, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from(["whole", "by pieces"]))
def test_traced_programs_give_the_bits_of_numpy_at_the_ends_of_dtypes(seed: int, how: str) -> None:
    program = Writer(seed, EXTREMES).write()
    assert fault(program, exactly(jits())[how]) is None, str(program)


@settings(max_examples=settings().max_examples // 2, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from(["whole", "by pieces", "for C"]))
def test_traced_programs_of_numbers_give_what_plain_ones_give(seed: int, how: str) -> None:
    """Also for other numbers of the same kinds."""
    program = Writer(seed, NUMBERED).write()
    assert fault(program, jits()[how]) is None, str(program)


def test_programs_of_numbers_are_given_some_of_all_kinds_and_then_others() -> None:
    found = tuple(programs(0, 100, NUMBERED))
    kinds, changed, ran = Counter[type](), 0, 0
    for program in found:
        numbers = [(a, b) for a, b in zip(program.arrays(), program.arrays(3), strict=True) if np.ndim(a) == 0]
        assert all(type(a) is type(b) for a, b in numbers)
        kinds.update(type(a) for a, _ in numbers)
        changed += any(a != b for a, b in numbers)
        ran += run(program.function(), program.arrays())[1] is None
    assert set(KINDS.values()) <= set(kinds)
    assert changed > 80
    assert ran == 100
    lines = " ".join(line for program in found for line in program.lines)
    assert all(word in lines for word in ("math.", "if a", "int(", ".shape[0] * ", "np.full(", "np.float32("))


def test_programs_at_the_ends_of_dtypes_meet_them() -> None:
    found = tuple(programs(0, 100, EXTREMES))
    arrays = [array for program in found for array in program.arrays()]
    floats = np.concatenate([array.reshape(-1) for array in arrays if array.dtype == np.float32])
    assert np.isnan(floats).any()
    assert np.isposinf(floats).any()
    assert (np.signbit(floats) & (floats == 0)).any()
    assert ((floats != 0) & (abs(floats) < np.finfo(np.float32).tiny)).any()
    for dtype in ("int8", "uint16", "int64", "uint64"):
        integers = np.concatenate([array.reshape(-1) for array in arrays if array.dtype == dtype])
        assert integers.min() == np.iinfo(dtype).min
        assert integers.max() == np.iinfo(dtype).max
    assert {array.dtype.name for array in arrays} == set(EXTREMES.dtypes)
    assert max(map(max, (array.shape for array in arrays if array.ndim))) > 256
    assert any(not array.flags.aligned for array in arrays)
    assert any(not array.flags.writeable for array in arrays)
    assert "extreme_array(" in str(found[0])


def test_zeros_of_both_signs_are_told_apart_where_numpy_does() -> None:
    zeros = np.array([0.0, 0.0])
    assert difference(zeros, -zeros, 0) is None
    assert difference(zeros, -zeros, 0, signed=True) == "0.0 in place of -0.0 at (0,), 2 of 2 differ"
    assert tells_zeros_apart("v0 = a0 * 2")
    assert not tells_zeros_apart("v0 = np.fmax(a0, 0)")
    lines = ("v0 = a0 * 2", "return v0")
    program = Program(0, (("float64", (65,), 0),), lines, 0.0, EXTREMES)
    assert (program.arrays()[0] == 0).any()
    assert "0.0 in place of -0.0" in (fault(program, lambda function: lambda a: a * 2 + 0.0) or "")


def test_extreme_arrays_have_layouts_of_their_own() -> None:
    found = [extreme_array("int32", (4, 6), seed) for seed in range(7)]
    assert [each.shape for each in found] == [(4, 6)] * 7
    assert [each.flags.c_contiguous for each in found] == [True, False, False, False, False, True, True]
    assert [each.flags.aligned for each in found] == [True] * 5 + [False, True]
    assert extreme_array("float16", (0, 3), 1).shape == (0, 3)
    assert extreme_array("bool", (), 3).shape == ()


def test_an_error_that_is_missing_is_a_fault() -> None:
    """What fails on larger arrays must fail when it is traced, too."""
    lines = ("v0 = a0[:, 0].reshape(3) * 2", "return v0")
    program = Program(0, (("float64", (3, 2), 0),), lines, False)
    assert fault(program, jits()["whole"]) is None
    found = fault(program, lambda function: lambda a: np.resize(a[:, 0], 3) * 2)
    assert found == "on larger arrays: a result in place of ValueError: cannot reshape array of size 6 into shape (3,)"
