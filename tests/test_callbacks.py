"""What callbacks are given, and what they may do with it: inputs cannot be written to, whatever runs the pipeline."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl

y, x = sl.variables("y x")

Run = Callable[..., Any]


def by_call(p: sl.Pipeline, *arrays: Any) -> None:
    p(*arrays)


def by_run(p: sl.Pipeline, *arrays: Any) -> None:
    p.run(*arrays)


def by_interpreter(p: sl.Pipeline, *arrays: Any) -> None:
    p.run(*arrays, backend="interpreter")


def by_checked(p: sl.Pipeline, *arrays: Any) -> None:
    p.run(*arrays, checked=True)


def by_binding(p: sl.Pipeline, *arrays: Any) -> None:
    p.bind(*arrays)()


BACKENDS = [by_call, by_run, by_interpreter, by_checked, by_binding]


class Spy:
    """Copies its first input, and remembers of each operand whether it could be written to."""

    def __init__(self) -> None:
        self.inputs: list[bool] = []
        self.outputs: list[bool] = []

    def __call__(self, *operands: Any) -> None:
        arrays = [o.array if isinstance(o, sl.Buffer) else o for o in operands]
        self.inputs += [a.flags.writeable for a in arrays[:-1]]
        self.outputs += [arrays[-1].flags.writeable]
        np.copyto(arrays[-1], arrays[0][tuple(slice(n) for n in arrays[-1].shape)])


def around(e: sl.Expr) -> Any:
    return sl.interval(e - 1, e + 1)


def chain(spy: Spy, **options: Any) -> sl.Pipeline:
    """An input, an intermediate that is read with its neighbours, and a constant."""
    inp, intm, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "intm", "out"))
    weights = sl.constant("weights", np.ones(3, np.float32))
    sl.Func(spy, [inp[y, x], weights[:]], [intm[y, x]], name="first", **options)
    sl.Func(spy, [intm[around(y), x], intm[y, x], weights[:]], [out[y, x]], name="second", **options)
    return sl.build_pipeline([inp], [out])


def as_built(p: sl.Pipeline) -> sl.Pipeline:
    return p


def folded(p: sl.Pipeline) -> sl.Pipeline:
    p, (rows, _, _) = sl.split_loop(p, "second.y", 1, rc=True)
    p, ((alloc,), _, call) = sl.compute_at(p, "first", rows, rc=True)
    p = sl.slide_window(p, call, rows)
    return sl.fold_storage(p, alloc, "y")


def in_parallel(p: sl.Pipeline) -> sl.Pipeline:
    p, (rows, _, _) = sl.split_loop(p, "second.y", 2, rc=True)
    p, ((alloc,), _, _) = sl.compute_at(p, "first", rows, rc=True)
    p = sl.store_at(p, alloc, rows)
    return sl.parallelize_loop(p, rows)


SCHEDULES = [as_built, folded, in_parallel]


def arrays() -> tuple[Any, Any]:
    """Rows of more than a page, so that a fold saves memory."""
    inp = np.arange(9 * 2048, dtype=np.float32).reshape(9, 2048)
    return inp, sl.Buffer(np.zeros((7, 2048), np.float32), min=(1, 0))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("run", BACKENDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("pass_buffers", [False, True])
def test_inputs_are_read_only_and_outputs_are_not(run: Run, schedule: Run, pass_buffers: bool) -> None:
    spy = Spy()
    p = schedule(chain(spy, pass_buffers=pass_buffers))
    inp, out = arrays()
    run(p, inp, out)
    assert not any(spy.inputs)
    assert all(spy.outputs)
    assert inp.flags.writeable
    np.testing.assert_array_equal(out.array, inp[:7])


@pytest.mark.parametrize("run", BACKENDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_func_may_ask_for_writable_inputs(run: Run, schedule: Run) -> None:
    spy = Spy()
    p = schedule(chain(spy, writable_inputs=True))
    inp, out = arrays()
    run(p, inp, out)
    of_constants = [False] * spy.inputs.count(False)
    assert len(of_constants) == len(spy.outputs)  # one in each call: a constant is never writable
    np.testing.assert_array_equal(out.array, inp[:7])


@pytest.mark.parametrize("run", BACKENDS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_constants_stay_read_only_in_a_copy(run: Run, copied: Run) -> None:
    inp, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "out"))
    weights = sl.constant("weights", [1.0, 2.0])
    sl.Func(destroy_second, [inp[x], weights[:]], [out[x]], name="f")
    p = copied(sl.build_pipeline([inp], [out]))
    with pytest.raises(ValueError, match="read-only"):
        run(p, np.zeros(2), np.zeros(2))


def destroy_second(_first: np.ndarray, second: np.ndarray, _target: np.ndarray) -> None:
    second += 1


@pytest.mark.parametrize("run", BACKENDS)
@pytest.mark.parametrize("is_intermediate", [False, True])
def test_swapped_arguments_destroy_nothing(run: Run, is_intermediate: bool) -> None:
    def swapped(a: np.ndarray, b: np.ndarray) -> None:
        np.copyto(a, b)

    inp, intm, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "intm", "out"))
    if is_intermediate:
        sl.Func(np.negative, [inp[x]], [intm[x]], name="negate")
    sl.Func(swapped, [intm[x] if is_intermediate else inp[x]], [out[x]], name="swapped")
    p = sl.build_pipeline([inp], [out])
    data = np.arange(4.0)
    with pytest.raises(ValueError, match="read-only") as refused:
        run(p, data, np.zeros(4))
    assert refused.value.__notes__ == [
        "in the call swapped[0..3] of pipeline swapped",
        "what a callback reads comes first, and is read-only. If it takes none but writable arrays, "
        "let it be given these: Func(..., writable_inputs=True)",
    ]
    assert data.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("run", BACKENDS)
def test_a_view_of_an_input_cannot_be_written_either(run: Run) -> None:
    def spoil(a: np.ndarray, b: np.ndarray) -> None:
        np.copyto(b, a)
        a.reshape(-1)[::2][...] = 0

    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    sl.Func(spoil, [inp[y, x]], [out[y, x]], name="spoil")
    p, *_ = (sl.split_loop(sl.build_pipeline([inp], [out]), "spoil.y", 2),)
    data = np.ones((4, 3))
    with pytest.raises(ValueError, match="read-only"):
        run(p, data, np.zeros((4, 3)))
    assert (data == 1).all()


@pytest.mark.parametrize("run", BACKENDS)
def test_work_in_place_reads_what_is_read_only_and_writes_the_same_memory(run: Run) -> None:
    together: list[bool] = []

    def add_1(a: np.ndarray, b: np.ndarray) -> None:
        assert not a.flags.writeable
        together.append(np.shares_memory(a, b))
        np.add(a, 1, out=b)

    buffers = [sl.BufferExpr(f"b{k}", np.float64, 1) for k in range(4)]
    for k, (a, b) in enumerate(itertools.pairwise(buffers)):
        sl.Func(add_1, [a[x]], [b[x]], name=f"f{k}", in_place=True)
    p = sl.build_pipeline([buffers[0]], [buffers[-1]])
    for target in (np.zeros(5), np.zeros(10)[::2]):
        together.clear()
        run(p, np.arange(5.0), target)
        assert target.tolist() == [3, 4, 5, 6, 7]
        if run in (by_call, by_run, by_binding):
            assert together[1]


@pytest.mark.parametrize("run", BACKENDS)
def test_an_output_that_another_func_reads_is_read_only_there(run: Run) -> None:
    spy = Spy()
    inp, low, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "low", "out"))
    sl.Func(np.negative, [inp[x]], [low[x]])
    sl.Func(spy, [low[x]], [out[x]], name="spy")
    p = sl.build_pipeline([inp], [low, out])
    targets = np.zeros(3), np.zeros(3)
    run(p, np.arange(3.0), *targets)
    assert (spy.inputs[:1], spy.outputs[:1]) == ([False], [True])
    assert targets[0].flags.writeable
    assert targets[1].tolist() == [0, -1, -2]


def test_shapes_that_change_from_run_to_run() -> None:
    """An arena forgets arrays now and then, the read-only views with them."""
    spy = Spy()
    p = folded(chain(spy))
    for n in [*range(1, 150), 7, 149, 3]:
        inp = np.full((5, n), n, np.float32)
        out = sl.Buffer(np.zeros((3, n), np.float32), min=(1, 0))
        p(inp, out)
        assert (out.array == n).all()
    assert not any(spy.inputs)


@pytest.mark.parametrize("option", ["writable_inputs", "pass_buffers"])
def test_options_are_true_or_false(option: str) -> None:
    inp, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "out"))
    with pytest.raises(sl.GraphError, match=f"^func 'f': {option} must be True or False, got 3$"):
        sl.Func(Spy(), [inp[x]], [out[x]], name="f", **{option: 3})


def test_programs_whose_funcs_are_given_other_arrays_are_not_the_same() -> None:
    spy = Spy()
    assert chain(spy).same_program(chain(spy))
    assert not chain(spy).same_program(chain(spy, writable_inputs=True))


# Outputs that are not written -----------------------------------------------------------------------------------------


def forgets(source: np.ndarray, target: np.ndarray) -> None:
    """Makes a new array and forgets it."""
    target = source + 1  # noqa: F841


class Sometimes:
    """Leaves its output alone in calls from number `at` on, counted from 0."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0

    def __call__(self, source: np.ndarray, target: np.ndarray) -> None:
        if self.calls < self.at:
            np.copyto(target, source)
        self.calls += 1


def two(callback: Any, **options: Any) -> sl.Pipeline:
    a, b, c = (sl.BufferExpr(name, np.float64, 2) for name in "abc")
    sl.Func(callback, [a[y, x]], [b[y, x]], name="f", **options)
    sl.Func(np.positive, [b[y, x]], [c[y, x]], name="g")
    p = sl.build_pipeline([a], [c])
    p, (rows, _, _) = sl.split_loop(p, "g.y", 2, rc=True)
    p = sl.compute_at(p, "f", rows)
    return sl.store_at(p, "alloc b", rows)


NOT_WRITTEN = r"^the callback of f\[0..1, 0..2\] did not write all of b: element \[0, 0\], for one, is what it was"


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("pass_buffers", [False, True])
def test_the_first_call_of_a_func_must_write_its_output(backend: str, workers: int | None, pass_buffers: bool) -> None:
    def f(source: Any, target: Any) -> None:
        forgets(source.array, target.array) if pass_buffers else forgets(source, target)

    p = two(f, pass_buffers=pass_buffers)
    if workers is not None:
        p = sl.parallelize_loop(p, "for y", workers)
    a, c = np.ones((6, 3)), np.zeros((6, 3))
    p.run(a, c, backend=backend)  # unnoticed
    with pytest.raises(sl.CallbackError, match=NOT_WRITTEN if workers is None else "did not write all of b") as refused:
        p.run(a, c, backend=backend, checked="first")
    assert len(refused.value.__notes__) == 1
    assert refused.value.__notes__[0].startswith("in the call f[")


@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_only_the_first_call_of_a_run_is_tested(backend: str) -> None:
    callback = Sometimes(at=1)
    p = two(callback)
    a, c = np.ones((6, 3)), np.zeros((6, 3))
    p.run(a, c, backend=backend, checked="first")
    assert callback.calls == 3
    with pytest.raises(sl.CallbackError, match=NOT_WRITTEN):
        p.run(a, c, backend=backend, checked="first")


@pytest.mark.parametrize("backend", ["python", "interpreter"])
@pytest.mark.parametrize("writes", [True, False])
def test_the_first_call_of_a_func_that_works_in_place(backend: str, writes: bool) -> None:
    """Noise in its output must not be noise in its input, which is the same memory."""

    def add_1(source: np.ndarray, target: np.ndarray) -> None:
        assert not source.flags.writeable
        if writes:
            np.add(source, 1, out=target)

    buffers = [sl.BufferExpr(f"b{k}", np.float64, 1) for k in range(4)]
    for k, (a, b) in enumerate(itertools.pairwise(buffers)):
        sl.Func(add_1 if k == 1 else np.negative, [a[x]], [b[x]], name=f"f{k}", in_place=True)
    p = sl.build_pipeline([buffers[0]], [buffers[-1]])
    target = np.zeros(5)
    if writes:
        p.run(np.arange(5.0), target, backend=backend, checked="first")
        assert target.tolist() == [-1, 0, 1, 2, 3]
    else:
        with pytest.raises(sl.CallbackError, match=r"did not write all of b2: element \[0\]"):
            p.run(np.arange(5.0), target, backend=backend, checked="first")


def test_statistics_and_results_are_those_of_any_run() -> None:
    p = folded(chain(Spy()))
    inp, out = arrays()
    _, right = arrays()
    assert p.run(inp, out, checked="first") == p.run(inp, right)
    np.testing.assert_array_equal(out.array, right.array)


def test_a_debug_switch_tests_every_way_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_DEBUG", "1")
    a, c = np.ones((6, 3)), np.zeros((6, 3))
    for run in BACKENDS:
        with pytest.raises(sl.CallbackError, match=NOT_WRITTEN if run is not by_checked else "did not write all"):
            run(two(forgets), a, c)
    p = two(Sometimes(at=3))
    assert p(a, c) is c  # three calls, of which the first is tested
    with pytest.raises(sl.CallbackError, match=NOT_WRITTEN):
        p(sl.Buffer(a), c)
    monkeypatch.setenv("SLINKY_DEBUG", "0")
    assert two(forgets)(a, c) is c
    monkeypatch.setenv("SLINKY_DEBUG", "yes")
    with pytest.raises(sl.ArgumentError, match="SLINKY_DEBUG must be 0 or 1, got 'yes'"):
        two(forgets)(a, c)


@pytest.mark.parametrize("checked", ["all", "", 1, 0, None, np.ones(2)])
def test_what_checked_may_be(checked: Any) -> None:
    with pytest.raises(sl.ArgumentError, match=r"^checked must be False, True or 'first', got "):
        two(forgets).run(np.ones((6, 3)), np.zeros((6, 3)), checked=checked)


# Functions that return their results ----------------------------------------------------------------------------------


def double(source: np.ndarray) -> np.ndarray:
    return 2 * source


def both_signs(source: np.ndarray, *, by: int) -> tuple[np.ndarray, np.ndarray]:
    return source + by, source - by


def one_func(callback: Any, outputs: int = 1, dtype: Any = np.float64, **options: Any) -> sl.Pipeline:
    inp = sl.BufferExpr("inp", np.float64, 1)
    targets = [sl.BufferExpr(f"out{k}", dtype, 1) for k in range(outputs)]
    sl.Func(callback, [inp[x]], [t[x] for t in targets], **options)
    return sl.build_pipeline([inp], targets)


@pytest.mark.parametrize("run", BACKENDS)
def test_a_function_that_returns_its_result(run: Run) -> None:
    p = sl.split_loop(one_func(sl.returns(double)), "double.x", 2)
    out = np.zeros(5)
    run(p, np.arange(5.0), out)
    assert out.tolist() == [0, 2, 4, 6, 8]
    copied = pickle.loads(pickle.dumps(p))
    assert str(copied) == str(p)
    assert copied.same_program(p)
    run(copied, np.ones(5), out)
    assert (out == 2).all()


@pytest.mark.parametrize("run", BACKENDS)
def test_a_function_that_returns_several_results_and_takes_arguments(run: Run) -> None:
    p = one_func(sl.returns(both_signs), 2, arguments={"by": 3})
    high, low = np.zeros(3), np.zeros(3)
    run(p, np.arange(3.0), high, low)
    assert (high.tolist(), low.tolist()) == ([3, 4, 5], [-3, -2, -1])


def test_a_returned_result_in_place_and_with_coordinates() -> None:
    def move(source: sl.Buffer) -> np.ndarray:
        return source.array + source.min[0]

    p = one_func(sl.returns(move), pass_buffers=True, in_place=True)
    p = sl.split_loop(p, "move.x", 2)
    assert p(np.zeros(5), np.zeros(5)).tolist() == [0, 0, 2, 2, 4]


@pytest.mark.parametrize(
    ("function", "outputs", "message"),
    [
        (
            lambda a: a[1:],
            1,
            r"what <lambda> returned has shape \(2,\) and dtype float64, but its output has shape \(3,\)",
        ),
        (lambda a: a.sum(), 1, r"has shape \(\) and dtype float64, but its output has shape \(3,\)"),
        (lambda a: a.astype(np.float32), 1, r"has shape \(3,\) and dtype float32, but its output .* dtype float64"),
        (lambda a: (a, a[1:]), 2, r"what <lambda> returned as result 2 has shape \(2,\)"),
        (lambda a: (a,), 2, r"<lambda> must return a tuple of 2 results, got 1 results"),
        (lambda a: a, 2, r"<lambda> must return a tuple of 2 results, got ndarray"),
        (lambda a: np.ma.masked_less(a, 1), 1, r"what <lambda> returned is a masked array, whose mask would be lost"),
        (lambda a: None, 1, r"<lambda> returned None; sl.returns\(...\) is for functions that return results"),
    ],
)
def test_results_that_do_not_fit(function: Any, outputs: int, message: str) -> None:
    targets = [np.full(3, 7.0) for _ in range(outputs)]
    with pytest.raises(sl.CallbackError, match=message) as refused:
        one_func(sl.returns(function), outputs, name="f")(np.arange(3.0), *targets)
    assert refused.value.__notes__ == ["in the call f[0..2] of pipeline f"]
    assert all((t == 7).all() for t in targets)


def test_what_cannot_be_wrapped() -> None:
    with pytest.raises(sl.GraphError, match=r"^returns\(\) expects a function, got 3$"):
        sl.returns(3)
    with pytest.raises(
        sl.GraphError, match=r"^the ufunc sqrt writes to its outputs by itself: it needs no returns\(\)$"
    ):
        sl.returns(np.sqrt)
    assert sl.returns(sl.returns(double)) == sl.returns(double)
    assert repr(sl.returns(double)) == "returns(double)"


HINT = "If it is a function that returns its result, wrap it: sl.returns(...)"


@pytest.mark.parametrize("run", BACKENDS)
def test_an_error_says_what_a_callback_that_returns_needs(run: Run) -> None:
    with pytest.raises(sl.CallbackError) as refused:
        run(one_func(lambda a, b: a + b, name="f"), np.ones(3), np.ones(3))
    assert str(refused.value) == (
        "the callback of f[0..2] returned ndarray; a callback writes to its outputs, which come after its inputs, "
        "and returns None. " + HINT
    )
    with pytest.raises(TypeError) as refused_too:
        run(one_func(double), np.ones(3), np.ones(3))
    assert refused_too.value.__notes__ == [
        "in the call double[0..2] of pipeline double",
        f"the callback of double is called as f(inp, out0): its outputs come after its inputs. {HINT}",
    ]

    def gaussian_filter(a: np.ndarray, sigma: float) -> np.ndarray:
        raise RuntimeError("sequence argument must have length equal to input rank")

    gaussian_filter.__module__ = "scipy.ndimage"  # says just that of an output in the place of sigma
    with pytest.raises(RuntimeError) as of_scipy:
        run(one_func(gaussian_filter), np.ones(3), np.ones(3))
    assert of_scipy.value.__notes__[-1].endswith(HINT)
    with pytest.raises(Exception) as of_numpy:
        run(one_func(np.cumsum), np.ones(3), np.ones(3))
    assert of_numpy.value.__notes__[-1].endswith(HINT)


@pytest.mark.parametrize("run", BACKENDS)
def test_an_error_of_a_callback_that_is_called_right_has_no_such_hint(run: Run) -> None:
    def fails(a: np.ndarray, b: np.ndarray) -> None:
        raise TypeError("boom")

    with pytest.raises(TypeError, match="boom") as refused:
        run(one_func(fails), np.ones(3), np.ones(3))
    assert refused.value.__notes__ == ["in the call fails[0..2] of pipeline fails"]


@pytest.mark.parametrize("backend", ["python", "native", "interpreter"])
def test_an_error_of_a_callback_has_no_other_error_behind_it(backend: str) -> None:
    """Also where outputs are made by the call: that arrays are missing is no error."""

    def fails(a: np.ndarray, b: np.ndarray) -> None:
        raise ValueError("boom")

    p = one_func(fails)
    ways: list[Callable[[], object]] = [lambda: p(np.ones(3)), lambda: p.run(np.ones(3), backend=backend)]
    if backend != "interpreter":
        plan = p.compile(backend=backend)
        ways.append(lambda: plan(np.ones(3)))
    for way in ways:
        with pytest.raises(ValueError, match="boom") as raised:
            way()
        assert raised.value.__context__ is None


# Memory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_callback_anywhere_in_a_chain_that_works_in_place(place: int) -> None:
    """Intermediates share memory; only some of them are given to the callback."""
    spy = Spy()
    buffers = [sl.BufferExpr(f"b{k}", np.float64, 1) for k in range(5)]
    for k, (a, b) in enumerate(itertools.pairwise(buffers)):
        sl.Func(spy if k == place else np.negative, [a[x]], [b[x]], name=f"f{k}", in_place=True)
    p = sl.split_loop(sl.build_pipeline([buffers[0]], [buffers[-1]]), "f3.x", 2)
    for name in ("f2", "f1", "f0"):
        p = sl.compute_at(p, name, "for x")
    for name in ("b3", "b2", "b1"):
        p = sl.store_at(p, f"alloc {name}", "for x")
    for target in (np.zeros(5), np.zeros(10)[::2]):
        for run in BACKENDS:
            run(p, np.arange(5.0), target)
            assert target.tolist() == [0, -1, -2, -3, -4]
    assert not any(spy.inputs)


def test_memory_that_became_too_small_is_given_back() -> None:
    memories: list[weakref.ref[np.ndarray]] = []

    def remember(source: np.ndarray, target: np.ndarray) -> None:
        memory = source
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        memories.append(weakref.ref(memory))
        np.copyto(target, source)

    a, b, c = (sl.BufferExpr(name, np.float64, 1) for name in "abc")
    sl.Func(np.positive, [a[x]], [b[x]])
    sl.Func(remember, [b[x]], [c[x]])
    p = sl.build_pipeline([a], [c])
    for n in (10, 1000):
        p(np.zeros(n), np.zeros(n))
    gc.collect()
    assert [memory() is None for memory in memories] == [True, False]


@pytest.mark.parametrize("search", [np.argmax, np.argmin])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("turned", [False, True])
def test_where_an_extremum_lies_is_found_without_a_copy(search: Any, axis: int | None, turned: bool) -> None:
    """NumPy's functions for it copy an array that is read-only."""

    def position(a: Any) -> Any:
        return search(a.T if turned else a, axis=axis)

    jitted = sl.jit(smallest=0, native=False, workers=1, machine=sl.Machine())(position)
    values = np.random.default_rng(0).integers(0, 9, (700, 300)).astype(np.float64)
    values[3, 5] = np.nan
    given = values.T.copy() if turned else values
    np.testing.assert_array_equal(jitted(given), position(given), strict=True)
    tracemalloc.start()
    try:
        jitted(given)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        position(given)
        own = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < own + given.nbytes // 4


def test_products_of_matrices_are_written_where_they_belong() -> None:
    """Not made elsewhere, and copied: that takes memory, and longer than many a product."""
    rng = np.random.default_rng(0)
    left, right, out = rng.random((300, 8)), rng.random((8, 400)), np.empty((300, 400))
    p = sl.jit(smallest=0, native=False, workers=1, machine=sl.Machine())(lambda a, b: a @ b).pipeline(left, right)
    p(left, right, out)
    np.testing.assert_array_equal(out, left @ right, strict=True)
    tracemalloc.start()
    try:
        p(left, right, out)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < out.nbytes // 4


@pytest.mark.parametrize("laid", ["transposed", "strided", "an axis of one element", "one element"])
def test_products_of_matrices_are_rounded_as_numpy_rounds_them_wherever_they_are_written(laid: str) -> None:
    """Into which memory a product goes decides by which routine NumPy computes it."""
    rng = np.random.default_rng(0)
    rows, columns = {"an axis of one element": (50, 1), "one element": (1, 1)}.get(laid, (50, 37))
    left, right = rng.random((rows, 64)), rng.random((64, columns))
    targets = {
        "transposed": np.empty((columns, rows)).T,
        "strided": np.empty((rows, 2 * columns))[:, ::2],
        "an axis of one element": np.lib.stride_tricks.as_strided(np.empty(rows), (rows, 1), (8, 16)),
        "one element": np.empty((3, 3))[::2, ::2][:1, :1],
    }
    p = sl.jit(smallest=0, native=False, workers=1, machine=sl.Machine())(lambda a, b: a @ b).pipeline(left, right)
    p(left, right, targets[laid])
    np.testing.assert_array_equal(targets[laid], left @ right, strict=True)
