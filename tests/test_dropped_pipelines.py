"""A pipeline that nobody has any more goes, with its callbacks and all that these hold."""

import gc
import weakref

import numpy as np
import pytest

import slinky as sl


class Held:
    """What a callback holds."""


def doubling(held):
    def double(a, o):
        assert held is not None
        np.multiply(a, 2, out=o)

    return double


def of_callbacks(held):
    (x,) = sl.variables("x")
    a, m, o = (sl.BufferExpr(name, float, 1) for name in "amo")
    double = doubling(held)
    sl.Func(double, [a[x]], [m[x]])
    sl.Func(lambda m, o: double(m[1:] + m[:-1], o), [m[sl.interval(x, x + 1)]], [o[x]], name="sum")
    return sl.build_pipeline([a], [o])


def run(p):
    p(np.ones(9))


def interpret(p):
    p.run(np.ones(9), backend="interpreter")


def run_natively(p):
    p.run(np.ones(9), backend="native")


def schedule(p):
    sl.auto_schedule(p, np.ones(100_000))(np.ones(100_000))


def look(p):
    str(p), p.memory(np.ones(9)), p.estimate(np.ones(9)), p.diagnose(np.ones(9)), p.verify()


@pytest.mark.parametrize("use", [run, interpret, run_natively, schedule, look])
def test_callbacks_go_with_their_pipeline(use):
    held = Held()
    p = of_callbacks(held)
    use(p)
    gone = weakref.ref(held), weakref.ref(p)
    del held, p
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def of_a_copy(held):
    (x,) = sl.variables("x")
    a, o = sl.BufferExpr("a", float, 1), sl.BufferExpr("o", float, 1)

    def copy(a, o):
        assert held is not None
        o[...] = a

    sl.copies.copy(a[x], o[x], implementation=copy)
    sl.build_pipeline([a], [o])(np.ones(9))


def of_a_reduction(held):
    double = doubling(held)
    x, k = sl.variables("x k")
    a, m, o = sl.BufferExpr("a", float, 2), sl.BufferExpr("m", float, 2), sl.BufferExpr("o", float, 1)
    sl.Func(double, [a[k, x]], [m[k, x]])
    sl.reductions.sum(m[:, x], o[x], reassociate=True)
    p = sl.build_pipeline([a], [o])
    sl.split_reduction(p, "sum", "y", 2)(np.ones((9, 5)))


def of_a_kernel(held):
    double = doubling(held)

    @sl.elementwise
    def kernel(a):
        out = np.empty_like(a)
        double(a, out)
        return out

    kernel(np.ones(9))


def of_a_trace(held):
    def traced(a):
        assert held is not None
        return np.sqrt(a * 2 + 1) * a

    jitted = sl.jit(smallest=0)(traced)
    jitted(np.ones(9))
    jitted(np.ones(9))


@pytest.mark.parametrize("make", [of_a_copy, of_a_reduction, of_a_kernel, of_a_trace])
def test_what_functions_hold_goes_with_them(make):
    held = Held()
    make(held)
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None


def test_tensors_leave_nothing_behind():
    tensor = sl.Tensor(np.ones((20, 30)))

    def objects():
        gc.collect()
        return len(gc.get_objects())

    for _ in range(20):
        (tensor * 2).numpy()
    before = objects()
    for _ in range(50):
        (tensor * 2).numpy()
    assert objects() - before < 50
