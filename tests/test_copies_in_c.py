"""Copies as functions of C: by themselves, in nests, and in whole programs."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMMAND, FLAGS, is_whole, needs_compiler, run_in_c, sanitized
from copiers import Run, copiers
from hypothesis import given, settings
from hypothesis import strategies as st
from natively import x, y
from random_arithmetic import numbers, plane, same_bits
from random_nests import arguments, pipeline, scheduled
from test_copy_pieces import DIMS, FILL, PARAMETERS, UNWRITTEN, Case, by_points, copies
from test_nests import told as told  # a fixture
from traced import PIECES, jit

import slinky as sl
from slinky import native
from slinky.ir.operations import Boundary, Copy, CopySource
from slinky.native.copying import copier
from slinky.native.integers import UnprintableError
from slinky.runtime.buffers import Buffer
from slinky.symbolic.expressions import constant
from slinky.symbolic.intervals import Interval

Array = np.ndarray[Any, Any]
pytestmark = [needs_compiler, pytest.mark.usefixtures("quick_libraries")]
a, b, c, d = DIMS


def check(run: Run, case: Case) -> None:
    """Every element is what the operation says, and nothing around the target is touched."""
    around = np.full([max(hi - lo + 3, 2) for lo, hi in case.box], UNWRITTEN)
    inner = tuple(slice(1, -1) for _ in case.box)
    target = Buffer(np.asarray(around[(*inner, ...)]), tuple(lo for lo, _ in case.box))
    assert run(case.sources, target, {parameter.name: value for parameter, value in case.values.items()}) == 0
    expected = by_points(case.copy, case.sources, case.box, case.values)
    seen = expected != UNWRITTEN  # nobody reads what nothing gives
    np.testing.assert_array_equal(target.array[seen], expected[seen])
    around[inner] = UNWRITTEN
    assert (around == UNWRITTEN).all()


def ranks_of(case: Case) -> list[int]:
    return [source.array.ndim for source in case.sources]


# ----------------------------------------------------------------------------------------------------------------
# By themselves
# ----------------------------------------------------------------------------------------------------------------

RULES = (None, *Boundary)
STEPS = (1, -1, 2, -3)


def extension(rule: Boundary | None, rank: int) -> Copy:
    """A buffer, forward, backward or every so many elements, with what is beyond its edges, which are parameters."""
    ends = Interval(PARAMETERS[0], PARAMETERS[1])
    index = tuple(DIMS[n] * STEPS[(rank + n + RULES.index(rule)) % 4] + 1 for n in range(rank))
    source = CopySource(index, (ends,) * rank, (rule,) * rank)
    arguments = tuple((each.name, each) for each in PARAMETERS[:2])
    return Copy(dims=DIMS[:rank], sources=(source,), fill=FILL, arguments=arguments)


def test_what_is_beyond_edges() -> None:
    """Of arrays with no elements, one, and few; windows inside, across an edge, across both, and far away."""
    made = [extension(rule, rank) for rule in RULES for rank in (1, 2, 3)]
    runs = copiers([(copy, [len(copy.dims)], np.int64) for copy in made])
    for number, (copy, run) in enumerate(zip(made, runs, strict=True)):
        rank = len(copy.dims)
        boxes = [(-3, 3), (0, 1), (-9, 12) if rank == 1 else (-4, 5), (4, 4), (-20, -18), (2, 1)]
        for extent, k in itertools.product((0, 1, 2, 3, 7), range(len(boxes))):
            box = tuple(boxes[(k + n * (number + 1)) % len(boxes)] for n in range(rank))
            values = np.arange(extent**rank).reshape((extent,) * rank).copy(order="CF"[k % 2])
            sources = (Buffer(values, (-1,) * rank),)
            check(run, Case(copy, box, sources, dict(zip(PARAMETERS, (-1, extent - 2), strict=False))))


def test_what_fills_a_row_of_several_stretches() -> None:
    """Of which each takes one element of the source, where that has such rows."""
    edges = (Interval(constant(0), constant(1)), None)
    copy = Copy(dims=DIMS[:2], sources=(CopySource((a - 2, b // 3), edges, (None, None)),), fill=FILL)
    (run,) = copiers([(copy, [2], np.int64)])
    check(run, Case(copy, ((0, 5), (0, 10)), (Buffer(np.arange(8).reshape(2, 4), (0, 0)),), {}))


@settings(max_examples=2)
@given(cases=st.lists(copies(), min_size=16, max_size=16))
def test_any_copy(cases: list[Case]) -> None:
    """Of those that have a text; others are not known to stay within 64 bits."""
    known = [case for case in cases if _has_text(case)]
    if known:
        runs = copiers([(case.copy, ranks_of(case), np.int64) for case in known])
        for run, case in zip(runs, known, strict=True):
            check(run, case)


def _has_text(case: Case) -> bool:
    try:
        copier(case.copy, ranks_of(case), np.dtype(np.int64), "copy", "copy")
    except UnprintableError:
        return False
    return True


def plain(rank: int, *index: Any, source_rank: int | None = None) -> Copy:
    """A copy without edges."""
    nothing = (None,) * len(index)
    return Copy(dims=DIMS[:rank], sources=(CopySource(index, nothing, nothing),))


def test_elements_of_any_size_in_any_order() -> None:
    """Backward, turned, thinned out, repeated, tiled, side by side: in all of these the bits stay what they are."""
    given_shape, shape = (19, 3, 40), (19, 9, 20)
    dtypes: list[Any] = ["f4", "u1", "f2", "c8", "S3", [("a", "f4"), ("b", "i8")]]
    made: list[tuple[Copy, tuple[int, ...], Any]] = [
        (plain(3, a, b, c), (19, 3, 40), lambda v: v),
        (plain(3, c, b, a), (40, 3, 19), lambda v: v.transpose(2, 1, 0)),
        (plain(3, b, c, a), (40, 19, 3), lambda v: v.transpose(2, 0, 1)),
        (plain(3, a, c, b), (19, 40, 3), lambda v: v.transpose(0, 2, 1)),
        (plain(3, 18 - a, b, 39 - c), (19, 3, 40), lambda v: v[::-1, :, ::-1]),
        (plain(3, a, b, 2 * c), (19, 3, 20), lambda v: v[:, :, ::2]),
        (plain(3, a, b // 3, c // 2), (19, 9, 80), lambda v: v.repeat(3, 1).repeat(2, 2)),
        (plain(3, a // 2, b, (c - 2) // 5 + 1), (38, 3, 195), None),
        (plain(3, a, b % 3, c % 40), (19, 6, 95), lambda v: np.tile(v, (1, 2, 3))[:, :, :95]),
        (plain(3, a, constant(1), c), (19, 5, 40), lambda v: np.broadcast_to(v[:, 1:2], (19, 5, 40))),
        (plain(4, a, b, c + d), (19, 3, 30, 11), lambda v: np.lib.stride_tricks.sliding_window_view(v, 11, 2)),
        (plain(1, a // 120, a // 40 % 3, a % 40), (19 * 120,), lambda v: v.reshape(-1)),
        (plain(1, a % 19, a // 19 % 3, a // 57), (19 * 120,), lambda v: v.transpose(2, 1, 0).reshape(-1)),
        (plain(1, a % 19, a // 19 % 3, constant(5)), (19 * 6,), lambda v: np.tile(v[:, :, 5].T.reshape(-1), 2)),
        (plain(2, b, constant(1), a), (40, 2), lambda v: v[:2, 1].T),
    ]
    cases = [(dtypes[0], each) for each in made]
    cases += [(dtype, made[2 * n + k]) for n, dtype in enumerate(dtypes[1:]) for k in (1, 2)]
    runs = copiers([(copy, [3], dtype) for dtype, (copy, _, _) in cases])
    for number, (run, (dtype, (copy, shape, expected))) in enumerate(zip(runs, cases, strict=True)):
        size = np.dtype(dtype).itemsize
        bits = np.random.default_rng(number).integers(0, 256, (*given_shape, size), np.uint8)
        values = bits.view(dtype)[..., 0]
        for given_array, order in ((values, "C"), (values.copy("F"), "C"), (values[::-1].copy()[::-1], "F")):
            found = np.zeros(shape, dtype, order=order)  # type: ignore[call-overload]
            sources = [Buffer(given_array, (0, 0, 0))]
            assert run(sources, Buffer(found, (0,) * len(shape)), {}) == 0
            places = np.indices(shape)
            if expected is None:
                wanted = values[places[0] // 2, places[1], (places[2] - 2) // 5 + 1]
            else:
                wanted = expected(values)
            assert found.copy("C").tobytes() == np.ascontiguousarray(wanted).tobytes(), (dtype, copy.sources)


def test_sources_that_alternate() -> None:
    """Every second, third or sixth element of a dimension goes together; of steps that are too long, none do."""
    box, nothing = ((-7, 15), (-2, 4)), (None, None)
    made = []
    for first, second in ((a % 2, a % 3), (a % 3, b % 2), (a % 17, b % 5)):
        wheres = [((first, Interval(constant(0), constant(0))),), ((second, Interval(constant(1), constant(2))),)]
        sources = tuple(CopySource((a, b), nothing, nothing, where) for where in wheres)
        made.append(Copy(dims=(a, b), sources=sources, fill=FILL))
    values = [np.arange(161).reshape(23, 7) + 1000 * k for k in (1, 2)]
    for copy, run in zip(made, copiers([(copy, [2, 2], np.int64) for copy in made]), strict=True):
        check(run, Case(copy, box, tuple(Buffer(each, (-7, -2)) for each in values), {}))


def test_a_source_that_does_not_hold_what_is_copied() -> None:
    """Before, behind, and by a place that no loop says; what was found before is written."""
    made = [plain(1, a - 1), plain(1, 2 * a), plain(2, a, b), plain(1, constant(3)), plain(2, 3 - a - b)]
    runs = copiers([(copy, [len(copy.sources[0].index)], np.int64) for copy in made])
    shapes = [((4,), (4,)), ((8,), (5,)), ((3, 3), (4, 3)), ((3,), (2,)), ((4,), (4, 2))]
    for run, (held, asked) in zip(runs, shapes, strict=True):
        source, target = (Buffer(np.zeros(shape, np.int64), (0,) * len(shape)) for shape in (held, asked))
        assert run([source], target, {}) == 1
    rows, found = Buffer(np.ones((3, 3), np.int64), (0, 0)), Buffer(np.zeros((3, 3), np.int64), (0, 0))
    assert runs[2]([rows], found, {}) == 0


def test_copies_without_a_text() -> None:
    known = plain(1, a)
    far = a * PARAMETERS[0] * PARAMETERS[1]
    given_numbers = tuple((each.name, each) for each in PARAMETERS[:2])
    for copy, dtype, words in [
        (Copy(dims=known.dims, sources=known.sources, implementation=print), "f4", "carried out by a function"),
        (known, "O", "copies object"),
        (known, "V0", "copies |V0"),
        (Copy(dims=known.dims, sources=plain(1, far).sources, arguments=given_numbers), "f4", "may be too large"),
        (Copy(dims=known.dims, sources=known.sources, arguments=(("fill", None),)), "c8", "filled with a number"),
    ]:
        with pytest.raises(UnprintableError) as caught:
            copier(copy, [1], np.dtype(dtype), "copy", "copy")
        assert words in str(caught.value)


# ----------------------------------------------------------------------------------------------------------------
# In nests
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_plan_in_python_and_the_interpreter_agree(seed: int) -> None:
    """Of random arithmetic of what is copied, with callbacks here and there, under random schedules."""
    unscheduled = pipeline(seed, callbacks=0.1, copies=0.7)
    p = scheduled(unscheduled, seed, 3 * seed)
    plan = p.compile(backend="native")
    with np.errstate(all="ignore"):
        for shape in [(7, 5), (1, 1), (13, 11), (0, 3), (5, 1), (3, 17)][seed % 2 :: 2]:
            results = []
            for run in (lambda *given, **names: unscheduled.run(*given, backend="interpreter", **names), p, plan):
                inputs, out, names = arguments(p, shape, seed)
                run(*inputs, out, **names)
                results.append(out.array)
            same_bits(results[1], results[0])
            same_bits(results[2], results[0])


def blurred_beyond(rule: str | list[str | None], *, dtype: Any = np.float32) -> sl.Pipeline:
    """A stencil by rows of what is extended, of which a window of three rows slides."""
    image, out = plane("image", dtype), plane("out", dtype)
    padded = image.extended(rule)
    sl.arithmetic(padded[y - 1, x] + padded[y + 1, x] * 2 + padded[y, x - 1] + padded[y, x + 1], out[y, x], name="blur")
    p = sl.split_loop(sl.build_pipeline([image], [out]), "blur.y", 1)
    assert padded.producer is not None
    copy = padded.producer.name
    p = sl.slide_window(sl.compute_at(p, copy, "for y"), copy, "for y")
    return sl.fold_storage(p, f"alloc {padded.name}", "y")


@pytest.mark.parametrize("rule", ["constant", "nearest", "reflect", "mirror", "wrap", ["wrap", "mirror"]])
def test_a_stencil_of_what_is_extended_is_one_call_in_c(rule: Any, told: list[bool]) -> None:
    p = blurred_beyond(rule)
    plan = p.compile(backend="native")
    for shape in ((9, 7), (2, 1), (1, 13), (5, 5)):
        values, found = numbers(shape, np.float32), np.zeros(shape, np.float32)
        expected = np.zeros_like(found)
        p(values, expected)
        plan(values, found)
        same_bits(found, expected)
        counts = [p.run(values, found, backend=backend) for backend in ("native", "interpreter")]
        assert counts[0].bytes_copied == counts[1].bytes_copied
        assert counts[0].calls == counts[1].calls
    assert told == [False] * 4
    assert "# in C: " in plan.source


@pytest.mark.parametrize("first", [1 << 20, 1 << 30, 1 << 40])
def test_coordinates_far_away(first: int, told: list[bool]) -> None:
    """Where they might not fit, the plan in Python copies."""
    plan = blurred_beyond("mirror").compile(backend="native")
    values = numbers((9, 7), np.float32)
    found, expected = (sl.Buffer(np.zeros((9, 7), np.float32), min=(first, -first)) for _ in range(2))
    given_buffer = sl.Buffer(values, min=(first, -first))
    blurred_beyond("mirror")(given_buffer, expected)
    plan(given_buffer, found)
    same_bits(found.array, expected.array)
    assert told == [first > 1 << 31]


@pytest.mark.parametrize(("dtype", "value"), [("f4", 0.1), ("f8", np.nan), ("i2", -7), ("u1", 255), ("c8", 1 + 2j)])
def test_what_fills(dtype: Any, value: Any, told: list[bool]) -> None:
    """Known when the pipeline is built, or when it runs; a number that does not fit is an error as ever."""
    image, moved, out = (plane(name, dtype) for name in ("image", "moved", "out"))
    sl.copies.copy(image[y - 2, 3 - x], moved[y, x], outside=value, name="first")
    sl.copies.copy(moved[x, y], out[y, x], name="second")
    p = sl.split_loop(sl.build_pipeline([image], [out], alias=False), "second.y", 1)
    values = numbers((4, 5), dtype)
    found, expected = np.zeros((6, 7), dtype), np.zeros((6, 7), dtype)
    p(values, expected)
    p.compile(backend="native")(values, found)
    assert found.tobytes() == expected.tobytes()
    assert told == [False]


@pytest.mark.parametrize("number", [3, 255, 256, -1])
def test_what_fills_is_a_scalar(number: int, told: list[bool]) -> None:
    image, moved, out = (plane(name, np.uint8) for name in ("image", "moved", "out"))
    sl.copies.copy(image[y - 1, x - 1], moved[y, x], outside=sl.scalar("value"), name="moved")
    sl.arithmetic(moved[y, x] + 1, out[y, x], name="more")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([image], [out]), "more.y", 1), "moved", "for y")
    plan = p.compile(backend="native")
    values, found, expected = numbers((3, 4), np.uint8), np.zeros((5, 6), np.uint8), np.zeros((5, 6), np.uint8)
    if 0 <= number < 256:
        p(values, expected, value=number)
        plan(values, found, value=number)
        same_bits(found, expected)
        assert told == [False]
        return
    for run in (p, plan):
        with pytest.raises(sl.ArgumentError, match="value"):
            run(values, found, value=number)


@sl.jit(native=True, smallest=0, workers=1, machine=sl.Machine())
def padded(image: Any) -> Any:
    wide = np.pad(image, 1, mode="reflect")
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] * 2 + wide[1:-1, 2:]


def test_functions_of_numpy_that_pad(told: list[bool]) -> None:
    for shape in ((40, 30), (3, 50)):
        values = numbers(shape, np.float32)
        same_bits(padded(values), padded.__wrapped__(values))
    assert told
    assert not any(told)


# ----------------------------------------------------------------------------------------------------------------
# Whole programs
# ----------------------------------------------------------------------------------------------------------------


def test_what_is_copied_may_be_seen_along_other_axes() -> None:
    """A row that is read as a table of two columns, around which it goes on."""

    @sl.jit(native=True, smallest=0, workers=1, machine=PIECES)
    def around(row: Any) -> Any:
        padded = np.pad(row.reshape(-1, 2), 2, mode="wrap")
        both = np.stack([np.clip(padded, -1, None), padded], axis=1)
        return padded * 2, np.conj(both).astype(bool)[:, 0]

    row = np.arange(-8, 8, dtype=np.int16)
    for one, other in zip(around(row), around.__wrapped__(row), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_text_says_what_is_copied() -> None:
    text = blurred_beyond("mirror").to_c()
    assert is_whole(text)
    assert "/* mirror: to[d0, d1] = from0[d0, d1], p0 is value_0, " in text
    assert "const slinky_line c1 = slinky_turned_line(d1, p2, p3, p3 - p2);" in text


def test_a_nest_takes_no_array_that_it_does_not_read(tmp_path: Path) -> None:
    """Views of what is concatenated and may be empty are made of the arrays that are read-only."""
    buffers = (sl.BufferExpr(name, np.int16, 2) for name in ("upper", "lower", "turned", "both", "sums", "out"))
    upper, lower, turned, both, sums, out = buffers
    sl.copies.transpose(upper, turned)
    sl.copies.concatenate([turned, lower], both)
    around = both.extended("wrap", dims=[1])[y, sl.interval(x - 1, x + 1)]
    sl.Func(lambda s, o: np.add(s[:, :-2], s[:, 2:], out=o), [around], [sums[y, x]])
    sl.copies.pad(sums, out, 1, 1)
    text = sl.build_pipeline([upper, lower], [out]).to_c()
    assert not is_whole(text)
    (tmp_path / "nests.c").write_text(text)
    subprocess.run([*COMMAND, *FLAGS, "-c", "nests.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("rule", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_programs_that_copy_by_rows(rule: str, tmp_path: Path) -> None:
    """What is folded is written row by row, and addresses and undefined behaviour are watched."""
    p = blurred_beyond(rule)
    values, found = sl.Buffer(numbers((6, 5), np.float32)), sl.Buffer(np.zeros((6, 5), np.float32))
    status, result = run_in_c(p, [values], found, {}, [*COMMAND, *FLAGS, *sanitized()], tmp_path)
    p(values, found)
    assert status == 0
    same_bits(result, found.array)


@pytest.mark.parametrize("seed", [4, 11])
def test_random_programs_under_sanitizers(seed: int, tmp_path: Path) -> None:
    p = scheduled(pipeline(seed, callbacks=0, copies=0.7), seed, seed + 6)
    assert is_whole(p.to_c())
    inputs, out, names = arguments(p, [(7, 5), (13, 11), (3, 17)][seed % 3], seed)
    with np.errstate(all="ignore"):
        p(*inputs, out, **names)
    expected = out.array.copy()
    out.array[...] = 0
    status, found = run_in_c(p, inputs, out, names, [*COMMAND, *FLAGS, *sanitized()], tmp_path)
    assert status == 0
    same_bits(found, expected)


# ----------------------------------------------------------------------------------------------------------------
# Beside other functions
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric"])
def test_copies_stand_beside_functions_that_are_printed(mode: Any) -> None:
    """Of sines and remainders, which have helpers of their own."""

    def around(row: Array) -> Array:
        return np.pad(np.fmod(np.sin(np.pad(row, 3, mode=mode)), 0.25), 3, mode=mode)

    row = np.linspace(-3, 3, 40)
    np.testing.assert_allclose(jit(around, native=True, machine=PIECES)(row), around(row), rtol=0, atol=1e-15)


def test_no_two_helpers_in_c_have_one_name() -> None:
    folder = Path(native.__file__).parent
    places: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        for name in re.findall(r"^static inline [^\n(;]*?\b(slinky_\w+)(?=[@\w]*\()", path.read_text(), re.MULTILINE):
            places.setdefault(name, set()).add(path.relative_to(folder).as_posix())
    assert len(places) > 50
    arrivals = {"slinky_take": {"arrivals.py", "programs.py"}, "slinky_is_small": {"entering.py", "programs.py"}}
    """How arrays come in: from Python, and from C; no file has both."""
    assert {name: files for name, files in places.items() if len(files) > 1} == arrivals
