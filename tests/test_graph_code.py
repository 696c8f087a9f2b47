"""`p.to_graph_code()` is Python that makes the same pipeline again: graph and schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import annotated
import numpy as np
import pytest
from annotated import x, y
from classic import TABLE, in_strips
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs
from scheduled import add_1, sum_3x3

import slinky as sl


def made_by(code: str, callbacks: dict[str, Callable[..., Any]] | None = None) -> sl.Pipeline:
    """What a text makes, where callbacks have these names."""
    names: dict[str, Any] = {**(callbacks or {})}
    exec(code, names)
    found = names["p"]
    assert isinstance(found, sl.Pipeline)
    return found


def named(funcs: dict[str, sl.Func]) -> dict[str, Callable[..., Any]]:
    """Names for the callbacks of funcs that are the caller's own."""
    own: dict[str, Any] = {name: f.callback for name, f in funcs.items() if not isinstance(f.callback, np.ufunc)}
    for name, func in funcs.items():
        reduction = func.declared_reduction
        for stage in () if reduction is None else ("init", "update", "finish", "merge"):
            own[f"{name}_{stage}"] = getattr(reduction, stage)
    return {f"run_{name}": callback for name, callback in own.items()}


def test_the_text_is_what_a_person_would_write() -> None:
    inp, intm, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "intm", "out"))
    sl.Func(add_1, [inp[y, x]], [intm[y, x]], name="add")
    window = intm[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(sum_3x3, [window], [out[y, x]], name="stencil").loops([y])
    p = sl.build_pipeline([inp], [out])
    code = p.to_graph_code(callbacks={"plus": add_1, "sums": sum_3x3})
    assert code == (
        "# plus, sums: callbacks, to be defined before this\n"
        "import numpy as np\n"
        "import slinky as sl\n"
        "\n"
        'x, y = sl.variables("x y")\n'
        'inp = sl.BufferExpr("inp", np.int16, 2)\n'
        'intm = sl.BufferExpr("intm", np.int16, 2)\n'
        'out = sl.BufferExpr("out", np.int16, 2)\n'
        'add = sl.Func(plus, [inp[y, x]], [intm[y, x]], name="add", in_place=False)\n'
        "stencil = sl.Func(sums, [intm[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [out[y, x]], "
        'name="stencil", in_place=False)\n'
        'p = sl.build_pipeline([inp], [out], alias=False, schedule="none")\n'
        "import slinky as sl\n"
        'p = sl.split_loop(p, "stencil.y", 1)\n'
        'p = sl.compute_at(p, "add", "for y")\n'
        'p = sl.slide_window(p, "add", "for y")\n'
        'p = sl.fold_storage(p, "alloc intm", "y")'
    )
    assert made_by(code, {"plus": add_1, "sums": sum_3x3}).same_program(p)
    assert "scheduled.add_1, [inp[y, x]]" in p.to_graph_code()
    assert made_by(p.to_graph_code()).same_program(p)


@pytest.mark.sweep
@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("name", TABLE)
def test_all_graphs_with_annotations(name: str, step: int) -> None:
    made = in_strips(name, step)
    p = made.build()
    callbacks = named(made.funcs)
    again = made_by(p.to_graph_code(callbacks), callbacks)
    assert again.same_program(p)
    made.run(again)
    assert str(again.history()) == str(p.history())


@given(st.one_of(graphs(), image_graphs()))
@settings(max_examples=settings().max_examples // 2)
def test_random_graphs(graph: Graph) -> None:
    p = build(graph, alias=True)
    funcs = p._version.lineage.start.built.graph.funcs  # type: ignore[attr-defined]
    callbacks: dict[str, Any] = {}
    for func in funcs:
        own = [
            func.callback,
            *(v.operation.function for v in func.variants),
            *(f.operation.function for f in func.fusions),
        ]
        for reduction in [each.declared_reduction for each in (func, *func.variants, *func.fusions)]:
            if reduction is not None:
                own += [reduction.init, reduction.update, reduction.merge, reduction.combine, reduction.finish]
        callbacks |= {f"run_{len(callbacks) + n}": each for n, each in enumerate(own)}
    assert made_by(p.to_graph_code(callbacks), callbacks).same_program(p)


def test_all_that_can_be_said_of_buffers_and_funcs() -> None:
    """Constants, scalars, arguments, constraints, variants, fused funcs, reductions, copies and wrapped functions."""
    rows, amount = sl.scalar("rows"), sl.scalar("amount", float)
    inp, a, b, joined = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "a", "b", "y"))
    out = sl.BufferExpr("lambda_", ">f8", 1)
    state = sl.BufferExpr("state", np.float64, 1)
    weights = sl.constant("weights", [0.5, np.nan], min=(-1,))

    def first(s: Any, w: Any, t: Any, **more: Any) -> None: ...

    def second(s: Any, t: Any) -> None: ...

    def both(s: Any, w: Any, t: Any) -> None: ...

    def init(s: Any) -> None: ...

    def update(old: Any, piece: Any, new: Any) -> None: ...

    def finish(s: Any, t: Any) -> None: ...

    one = sl.Func(
        first,
        [inp[sl.interval(y - rows, y), x], weights[:]],
        [a[y, x]],
        arguments={"r": rows, "by": amount, "k": (1, "x")},
    )
    other = sl.Func(second, [a[y, x]], [b[y, x]], name="other", variants={"again": sl.Variant(second, in_place=True)})
    sl.fuse(one, other, both, "both")
    sl.copies.concatenate([b, inp], joined)
    reduction = sl.Reduction({"k": 1}, [state[y]], init, update, finish, exact=False, reassociate=True)
    sl.Func(second, [joined[y, :]], [out[y]], name="sums", reduction=reduction)
    a.dim(0).min = a.dim(0).min - 1
    b.alignment = 64
    b.dim(1).multiple = 1
    inp.dim(1).stride = 8
    p = sl.build_pipeline([inp], [out], require=[rows >= 1, sl.equal(inp.dim(0).extent % 2, 0)], name="all")
    callbacks = {f.__name__: f for f in (first, second, both, init, update, finish)}
    code = p.to_graph_code()
    assert "y_buffer = " in code
    assert made_by(code, callbacks).same_program(p)


def test_a_function_that_returns() -> None:
    inp, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "out"))
    sl.Func(sl.returns(np.fft.fftshift), [inp[x]], [out[x]], name="shift", whole=[x])
    out.dim(0).bounds = inp.dim(0).bounds
    p = sl.build_pipeline([inp], [out])
    again = made_by(p.to_graph_code())
    assert str(again) == str(p)
    np.testing.assert_array_equal(again(np.arange(4.0)), [2, 3, 0, 1])


def test_what_has_no_code() -> None:
    made = annotated.elementwise_1d()
    p = made.build()
    unnamed = annotated.outer_product().build()
    with pytest.raises(sl.OperationError, match=r"has no name of its own"):
        unnamed.to_graph_code()
    callbacks = named(made.funcs)
    read = sl.Pipeline.from_json(p.to_json(callbacks), callbacks)
    with pytest.raises(sl.OperationError, match=r"was read or unpickled"):
        read.to_graph_code()
    with pytest.raises(sl.OperationError, match="callbacks must be a dictionary"):
        p.to_graph_code([add_1])  # type: ignore[arg-type]
    made.buffer("tmp").dim(0).max = made.buffer("tmp").dim(0).max + 1
    with pytest.raises(sl.OperationError, match="changed since the pipeline was built"):
        p.to_graph_code(named(made.funcs))


@pytest.mark.parametrize(
    "value", [np.float32(0.1), np.int64(3), np.uint8(3), np.bool_(True), np.float64("inf"), 3, 0.5]
)
def test_numbers_keep_their_dtypes(value: Any) -> None:
    """An integer of NumPy's makes another dtype of what it is added to than one of Python's does."""
    y, x = sl.variables("y x")
    inp, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "out"))

    def scale(source: Any, target: Any, by: Any) -> None:
        np.multiply(source, by, out=target, casting="unsafe")

    sl.Func(scale, [inp[y, x]], [out[y, x]], arguments={"by": value})
    p = sl.build_pipeline([inp], [out])
    again = made_by(p.to_graph_code(), {"scale": scale})
    assert again.same_program(p)
