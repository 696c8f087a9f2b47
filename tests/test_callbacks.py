"""What callbacks are given, and what they may do with it: inputs cannot be written to, whatever runs the pipeline."""

from __future__ import annotations

import copy
import itertools
import pickle
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
    p, (call, alloc) = sl.compute_at(p, "first", rows, rc=True)
    p = sl.slide_window(p, call, rows)
    return sl.fold_storage(p, alloc, "y")


def in_parallel(p: sl.Pipeline) -> sl.Pipeline:
    p, (rows, _, _) = sl.split_loop(p, "second.y", 2, rc=True)
    p, (_, alloc) = sl.compute_at(p, "first", rows, rc=True)
    p = sl.store_at(p, alloc, rows)
    return sl.parallelize_loop(p, rows)


SCHEDULES = [as_built, folded, in_parallel]


def arrays() -> tuple[Any, Any]:
    """Rows of more than a page, so that a fold saves memory."""
    inp = np.arange(9 * 2048, dtype=np.float32).reshape(9, 2048)
    return inp, sl.Buffer(np.zeros((7, 2048), np.float32), min=(1, 0))


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
    assert refused.value.__notes__ == ["in the call swapped[0..3] of pipeline swapped"]
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
