"""Pipelines that reduce, as JSON and back: slinky's own callbacks write themselves, and only users' have names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from round_trips import again

import slinky as sl

i, j, y = sl.variables("i j y")


def of_rows(make: Callable[..., Any], dtype: Any, result: Any, **options: Any) -> sl.Pipeline:
    a, o = sl.BufferExpr("a", dtype, 2), sl.BufferExpr("o", result, 1)
    make(a[y, :], o[y], name="reduced", **options)
    return sl.build_pipeline([a], [o])


def of_matrices(make: Callable[..., Any], dtype: Any, **options: Any) -> sl.Pipeline:
    a, b, c = (sl.BufferExpr(name, dtype, 2) for name in "abc")
    make(a[i, :], b[:, j], c[i, j], name="reduced", **options)
    return sl.build_pipeline([a, b], [c], require=[sl.equal(a.dim(1).extent, b.dim(0).extent)])


def by(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda source, target, **options: sl.reductions.reduce(ufunc, source, target, **options)


REDUCTIONS = {
    **{
        f"{ufunc.__name__} of {dtype}": (by(ufunc), dtype, dtype, {})
        for ufunc, dtypes in {
            np.add: "f8 u1 c8", np.multiply: "f4 i8", np.maximum: "f4 u1 i2 bool", np.minimum: "f8 u8 i1 bool",
            np.logical_and: "bool", np.logical_or: "bool", np.logical_xor: "bool", np.bitwise_and: "u1 i4",
            np.bitwise_or: "u2", np.bitwise_xor: "i8", np.gcd: "i8", np.logaddexp: "f8", np.logaddexp2: "f4",
            np.hypot: "f8",
        }.items()
        for dtype in dtypes.split()
    },
    "sum": (sl.reductions.sum, "u1", "i8", {}),
    "mean": (sl.reductions.mean, "u1", "f8", {"reassociate": True}),
    "var": (sl.reductions.var, "f4", "f4", {"reassociate": True, "ddof": 1}),
    "argmax": (sl.reductions.argmax, "f8", np.intp, {}),
    "argmin": (sl.reductions.argmin, "i2", np.intp, {}),
    "dot": (sl.reductions.dot, "f4", None, {"reassociate": True}),
    "softmax_dot": (sl.reductions.softmax_dot, "f8", None, {"reassociate": True}),
}  # fmt: skip


def made(which: str) -> tuple[sl.Pipeline, list[Any], str]:
    make, dtype, result, options = REDUCTIONS[which]
    random = np.random.default_rng(len(which))

    def array(*shape: int) -> Any:
        return (random.random(shape) * 9).astype(dtype)

    if result is None:
        return of_matrices(make, dtype, **options), [array(4, 10), array(10, 3)], "k"
    if np.dtype(dtype).kind in "fc":
        options = {**options, "reassociate": True} if "arg" not in which else options
    return of_rows(make, dtype, result, **options), [array(4, 10)], "x"


@pytest.mark.parametrize("which", REDUCTIONS)
def test_reductions_need_no_names(which: str) -> None:
    whole, given, axis = made(which)
    pieces = sl.split_reduction(whole, "reduced", axis, 4)
    parts = sl.split_reduction_in_parts(whole, "reduced", axis, 2, 2)
    for p in (whole, pieces, parts):
        text = p.to_json()
        assert json.loads(text)["callbacks"] == []
        q = sl.Pipeline.from_json(text)
        assert q.same_program(p)
        assert q.to_json() == text
        assert np.array_equal(q(*given), p(*given))
        again(p)  # with a name for each: as texts were written before


def two(*makes: Any) -> sl.Pipeline:
    """A pipeline that reduces in several ways, one after the other."""
    a, m = sl.BufferExpr("a", "f8", 2), sl.BufferExpr("m", "f8", 2)
    sl.arithmetic(a[y, i] * 2, m[y, i])
    outputs = []
    for k, make in enumerate(makes):
        outputs.append(sl.BufferExpr(f"o{k}", np.intp if make is sl.reductions.argmax else "f8", 1))
        make(m[y, :], outputs[-1][y], name=f"r{k}")
    return sl.build_pipeline([a], outputs)


def test_two_reductions_in_one_pipeline_need_no_names_either() -> None:
    p = two(sl.reductions.sum, by(np.maximum), sl.reductions.mean, sl.reductions.var, sl.reductions.argmax)
    q = sl.Pipeline.from_json(p.to_json())
    assert q.same_program(p)
    given = np.random.default_rng(1).random((4, 9))
    assert all(np.array_equal(x, z) for x, z in zip(q(given), p(given), strict=True))


def test_functions_of_numpy_that_reduce_need_no_names_in_a_trace() -> None:
    def function(a: Any) -> Any:
        return np.median(a * 2, axis=1), np.linalg.norm(a, axis=0), np.nanmax(a), np.ptp(a, axis=0, keepdims=True)

    given = np.random.default_rng(1).random((5, 7))
    p = sl.jit(function, smallest=0).pipeline(given)
    assert json.loads(p.to_json())["callbacks"] == []
    q = sl.Pipeline.from_json(p.to_json())
    assert q.same_program(p)
    assert all(np.array_equal(x, z) for x, z in zip(q(given), p(given), strict=True))


def test_a_users_functions_go_by_their_names() -> None:
    def whole(given: Any, out: Any) -> None:
        np.sum(given, 1, out=out)

    def update(old: Any, piece: Any, new: Any) -> None:
        np.add(old, piece.sum(1), out=new)

    a, o, p, state = (sl.BufferExpr(name, "f8", rank) for name, rank in (("a", 2), ("o", 1), ("p", 1), ("state", 1)))
    own = sl.reductions.sum(a[y, :], o[y]).declared_reduction
    assert own is not None
    reduction = sl.Reduction({"x": 1}, [state[y]], own.init, update, own.finish, reassociate=True)
    sl.Func(whole, [a[y, :]], [p[y]], reduction=reduction)
    pipeline = sl.build_pipeline([a], [p])
    text = pipeline.to_json()
    assert json.loads(text)["callbacks"] == ["update", "whole"]
    q = sl.Pipeline.from_json(text, {"update": update, "whole": whole})
    assert q.same_program(pipeline)


@pytest.mark.parametrize(("change", "message"), [
    ({"function": "os.system"}, "NumPy has no function 'os.system' that reduces axes"),
    ({"function": "add.outer"}, "NumPy has no function 'add.outer' that reduces axes"),
    ({"function": "sin.reduce"}, "NumPy has no function 'sin.reduce' that reduces axes"),
    ({"axes": [2]}, "an input of rank 2 has no such axes"),
    ({"axes": [1, 1]}, "each once at most"),
    ({"axes": [-1]}, "expected 0 or more, got -1"),
    ({"axes": [0]}, "reduces the axes .0,., and is told .1,."),
    ({"axes": [0], "keywords": [["axis", 0]]}, "is not shown to be what its func writes"),
    ({"axes": [], "keywords": []}, "is not shown to be what its func writes"),
    ({"keywords": [["dtype", {"dtype": "<i2"}]]}, "writes float64, and is told int16"),
    ({"keywords": [["import", 1]]}, "expected a name that is an identifier of Python"),
    ({"own": "Popen"}, "expected one of Reducing, "),
    ({"own": 3}, "expected one of Reducing, "),
    ({"method": "init"}, "'method' is not known here"),
])  # fmt: skip
def test_a_text_that_says_something_else_is_refused(change: Any, message: str) -> None:
    document = json.loads(two(by(np.maximum)).to_json())
    func = next(f for f in document["funcs"] if isinstance(f["operation"].get("function"), dict))
    func["operation"]["function"].update(change)
    with pytest.raises(sl.FormatError, match=message):
        sl.Pipeline.from_json(json.dumps(document))


@pytest.mark.parametrize(("change", "message"), [
    ({"method": "__reduce__"}, "expected one of init, "),
    ({"method": ["init"]}, "expected one of init, "),
    ({"identity": {"list": []}}, "expected a number"),
    ({"ufunc": "matmul"}, "expected a ufunc"),
    ({"axes": "x"}, "expected a list"),
    ({"own": "finish_alone"}, "is not known here"),
    ({"own": "Dot"}, "is not known here"),
    ({"more": 1}, "'more' is not known here"),
])  # fmt: skip
def test_a_stage_that_is_none_is_refused(change: Any, message: str) -> None:
    document = json.loads(two(sl.reductions.sum).to_json())
    func = next(f for f in document["funcs"] if "reduction" in f)
    func["reduction"]["init"].update(change)
    with pytest.raises(sl.FormatError, match=message):
        sl.Pipeline.from_json(json.dumps(document))


@pytest.mark.parametrize(("copy", "rank"), [(sl.copies.transpose, 2), (sl.copies.broadcast, 1)])
def test_axes_are_those_of_what_is_seen_past_a_copy(copy: Callable[..., Any], rank: int) -> None:
    a, m, t, o = (sl.BufferExpr(name, np.int64, r) for name, r in [("a", rank), ("m", rank), ("t", 2), ("o", 1)])
    sl.arithmetic(a[(i, j)[:rank]] + 1, m[(i, j)[:rank]])
    copy(m, t)
    sl.reductions.sum(t[sl.interval(0, 5), j], o[j])
    p = sl.build_pipeline([a], [o])
    assert not p.find_all("alloc t")
    again(p)
