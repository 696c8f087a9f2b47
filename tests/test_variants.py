"""Variants of funcs: declared with the func, chosen for a call, tested on random data."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from in_one_dimension import agree_in_sizes as agree
from scheduled import refusal
from second_judge import WrongRewriteError, judge

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.ir.copies import with_func
from slinky.ir.operations import Callback
from slinky.ir.statements import Family
from slinky.pipeline import Pipeline

y, x = sl.variables("y x")


def slow(source: Any, target: Any) -> None:
    """The sum of both neighbours, and nothing of the elements beyond."""
    for k in range(len(target)):
        target[k] = source[k + 1] + source[k + 3]


def fast(source: Any, target: Any) -> None:
    np.add(source[1:-3], source[3:-1], out=target)


def narrow(source: Any, target: Any) -> None:
    np.add(source[:-2], source[2:], out=target)


def wrong(source: Any, target: Any) -> None:
    np.add(source[1:-3], source[3:-1], out=target)
    target[target == 7] = 8


def neighbours(**more: Any) -> sl.Pipeline:
    """`turn`, then `sum`, which is given more than it needs, unless it is the variant `narrow`."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    variants = {"fast": fast, "narrow": sl.Variant(narrow, [t[sl.interval(x - 1, x + 1)]]), **more}
    sl.Func(slow, [t[sl.interval(x - 2, x + 2)]], [out[x]], name="sum", variants=variants)
    return sl.build_pipeline([a], [out])


# choose_variant -------------------------------------------------------------------------------------------------------


def test_a_call_runs_the_variant() -> None:
    before = neighbours()
    p, (call,) = sl.choose_variant(before, "sum", "fast", rc=True)
    assert str(p).endswith("out[:] = sum[fast](t[:])")
    assert call == p.forward(before.find("sum"))
    assert (call.name(), call.variant(), call.variants()) == ("sum", "fast", ("fast", "narrow"))
    assert before.find("sum").variant() is None
    assert str(p.history()) == 'import slinky as sl\np = sl.choose_variant(p, "sum", "fast")'
    agree(before, p)
    assert str(sl.choose_variant(p, "sum", None)) == str(before)
    assert str(sl.choose_variant(p, "sum", "fast")) == str(p)


def test_only_the_chosen_call_runs_it() -> None:
    ran: list[int] = []

    def counted(source: Any, target: Any) -> None:
        ran.append(len(target))
        fast(source, target)

    p = sl.cut_call(neighbours(counted=counted), "sum.x", 3)
    q = sl.choose_variant(p, "sum #1", "counted")
    data, out = sl.Buffer(np.arange(20), min=(-2,)), np.zeros(10, np.int64)
    stats = q.run(data, out)
    assert ran == [7]
    assert stats.calls["sum"] == 2
    agree(p, q)


def test_patterns_know_variants() -> None:
    p = sl.choose_variant(sl.cut_call(neighbours(), "sum.x", 3), "sum #1", "fast")
    assert len(p.find_all("sum")) == 2
    assert p.find_all("sum[fast]") == p.find_all("sum[fast](_)") == p.find_all("sum")[1:]
    assert [dim.call() for dim in p.find_all("sum[fast].x")] == [*p.find_all("sum[fast]")]
    assert p.find_all("sum[narrow]") == p.find_all("turn[fast]") == ()
    assert p.find("sum[ fast ] .. sum[fast]") == p.find("sum[fast]").as_block()
    with pytest.raises(sl.PatternError, match="cannot understand"):
        p.find("sum[]")
    with pytest.raises(sl.PatternError, match="nothing matches"):
        p.find("sum[narrow]")


def test_a_variant_may_need_less() -> None:
    """Its producer then computes less in each iteration; and the func itself does not find all that it reads."""
    before = sl.split_loop(neighbours(), "sum.x", 4)
    p = sl.compute_at(sl.choose_variant(before, "sum", "narrow"), "turn", "for x")
    assert (
        "    t[x - 1 .. x + 4] = turn(a[x - 1 .. x + 4])\n    out[x .. x + 3] = sum[narrow](t[x - 1 .. x + 4])"
        in str(p)
    )
    agree(before, p)
    for name in (None, "fast"):
        assert refusal(lambda name=name: sl.choose_variant(p, "sum", name)) == (
            "sum does not find all of t[max(out.x.min - 2, x - 2) .. min(out.x.max + 2, x + 5)], which it reads, "
            "written"
        )
    folded = (
        sl.fold_storage(sl.slide_window(sl.choose_variant(before, "sum", "narrow"), "turn", "for x"), "alloc t", "x")
        if False
        else p
    )
    agree(before, folded)


def test_calls_of_variants_are_calls_of_one_func() -> None:
    """They compute the same, so one can serve the readers of both."""
    a, t, left, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "left", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn", variants={"other": lambda s, o: np.copyto(o, -s)})
    sl.Func(np.square, [t[x]], [left[x]], name="square")
    sl.Func(np.multiply, [left[x], t[x]], [out[x]], name="join")
    before = sl.build_pipeline([a], [out])
    p = sl.clone_call(sl.choose_variant(before, "turn", "other"), "turn", "join")
    assert str(p).count("turn[other](") == 2
    p = sl.choose_variant(p, "turn #1", None)
    agree(before, p)
    assert str(sl.share_calls(p, "turn #0", "turn #1")) == str(sl.choose_variant(before, "turn", "other"))


def test_what_choose_variant_refuses() -> None:
    p = neighbours()
    assert (
        refusal(lambda: sl.choose_variant(p, "sum", "quick")) == "sum has no variant 'quick': it declares fast, narrow"
    )
    assert refusal(lambda: sl.choose_variant(p, "turn", "fast")) == "turn has no variant 'fast': it declares none"


def test_a_variant_that_does_not_work_in_place() -> None:
    a, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "u", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    sl.Func(np.square, [t[x]], [u[x]], name="square", variants={"apart": lambda s, o: np.copyto(o, s * s)})
    sl.Func(np.negative, [u[x]], [out[x]], name="back")
    p = sl.build_pipeline([a], [out])
    q = sl.compute_in_place(p, "square")
    agree(p, q)
    assert "declared to work in place" in refusal(lambda: sl.choose_variant(q, "square", "apart"))


# Nothing else is accepted ---------------------------------------------------------------------------------------------


def edited(p: sl.Pipeline, change: Callable[[Any], Any]) -> sl.Pipeline:
    """A pipeline whose call of `sum` runs what a function makes of its func."""
    edit = sl.edit(p)
    call = edit.statement(p.find("sum"))
    edit.replace("sum", with_func(call, change(call.func)))
    return edit.finish()


def test_only_what_the_author_declares_is_taken_for_the_same() -> None:
    p = neighbours()
    evil = Callback(wrong)
    assert str(edited(p, lambda func: func.family.members["fast"])) == str(sl.choose_variant(p, "sum", "fast"))

    def as_variant(func: Any) -> Any:
        return attrs.evolve(func, operation=evil, variant="fast")

    def in_a_family_of_its_own(func: Any) -> Any:
        family = Family({None: func})
        family.members["evil"] = attrs.evolve(func, operation=evil, variant="evil", family=family)
        return family.members["evil"]

    for forge in (lambda func: attrs.evolve(func, operation=evil), as_variant, in_a_family_of_its_own):
        assert refusal(lambda forge=forge: edited(p, forge)).startswith("sum(t) would give out other values")
    other = neighbours()
    foreign = other.find("sum")._call.func.family.members["fast"]
    assert refusal(lambda: edited(p, lambda func: foreign)).startswith("sum(t) would give out other values")


def test_the_second_judge_takes_variants_for_the_same_and_nothing_else() -> None:
    p = neighbours()
    assert judge(p.program, sl.choose_variant(p, "sum", "narrow").program, "choose_variant") > 0
    call = p.find("sum")._call
    forged = with_func(call, attrs.evolve(call.func, operation=Callback(wrong), variant="fast"))
    body = tuple(forged if s.id == call.id else s for s in p.program.body)
    q = Pipeline(Version(attrs.evolve(p.program, body=body), origin()))
    with pytest.raises(WrongRewriteError, match="is not what it was"):
        judge(p.program, q.program, "choose_variant")


# Along with other rewrites --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [False, True])
def test_reading_past_a_copy(first: bool) -> None:
    """The variants of a func that reads past a copy do so, too, whether one is chosen before or behind."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.copies.copy(a[x + 3], t[x], name="shift")
    variants = {"fast": fast, "narrow": sl.Variant(narrow, [t[sl.interval(x - 1, x + 1)]])}
    sl.Func(slow, [t[sl.interval(x - 2, x + 2)]], [out[x]], name="sum", variants=variants)
    before = sl.build_pipeline([a], [out], alias=False)
    steps = [lambda p: sl.choose_variant(p, "sum", "narrow"), lambda p: sl.alias_copy(p, "shift")]
    p = before
    for step in steps if first else reversed(steps):
        p = step(p)
    assert "sum[narrow](a[out.x.min" in str(p)
    agree(before, p)
    agree(before, sl.choose_variant(p, "sum", "fast"))
    agree(before, sl.choose_variant(p, "sum", None))


def test_writing_past_a_copy() -> None:
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    variants = {"fast": fast, "narrow": sl.Variant(narrow, [a[sl.interval(x - 1, x + 1)]])}
    sl.Func(slow, [a[sl.interval(x - 2, x + 2)]], [t[x]], name="sum", variants=variants)
    sl.copies.copy(t[x + 3], out[x], name="shift")
    before = sl.build_pipeline([a], [out], alias=False)
    p = sl.choose_variant(sl.alias_copy(before, "shift"), "sum", "narrow")
    assert "alloc" not in str(p)
    assert "sum[narrow](" in str(p)
    agree(before, p)


def test_programs_with_variants_pickle_and_compare() -> None:
    p = sl.choose_variant(neighbours(), "sum", "fast")
    q = pickle.loads(pickle.dumps(p))
    assert str(q) == str(p)
    agree(p, sl.choose_variant(q, "sum", "narrow"))
    assert neighbours().same_program(neighbours())
    assert p.same_program(sl.choose_variant(neighbours(), "sum", "fast"))
    assert not p.same_program(neighbours())


def test_programs_with_variants_as_json() -> None:
    callbacks = {"slow": slow, "fast": fast, "narrow": narrow, "negative": np.negative}
    for name in (None, "fast", "narrow"):
        p = sl.choose_variant(neighbours(), "sum", name)
        text = p.to_json()
        q = sl.Pipeline.from_json(text, callbacks=callbacks)
        assert q.same_program(p)
        assert q.to_json() == text
        assert str(sl.choose_variant(q, "sum", "fast")) == str(sl.choose_variant(p, "sum", "fast"))
        agree(neighbours(), sl.choose_variant(q, "sum", "narrow"))


def test_json_of_variants_that_is_wrong() -> None:
    callbacks = {"slow": slow, "fast": fast, "narrow": narrow, "negative": np.negative}
    text = json.loads(sl.choose_variant(neighbours(), "sum", "fast").to_json())
    at = next(k for k, func in enumerate(text["funcs"]) if "variants" in func)
    place = next(k for k, func in enumerate(text["funcs"]) if "variant_of" in func)

    def refused(change: Callable[[Any], object]) -> str:
        document = copy.deepcopy(text)
        change(document["funcs"])
        with pytest.raises(sl.SlinkyError) as caught:
            sl.Pipeline.from_json(json.dumps(document), callbacks=callbacks)
        return str(caught.value)

    def put(k: int, key: str, value: Any) -> Callable[[Any], object]:
        return lambda funcs: funcs[k].update({key: value})

    assert "sum has no variant 'quick'" in refused(put(place, "variant", "quick"))
    assert "there is no number 99" in refused(put(place, "variant_of", 99))
    assert "turn has no variant 'fast'" in refused(put(place, "variant_of", 0))
    assert "expected a list, got 3" in refused(put(at, "variants", 3))
    assert "expected a list" in refused(put(at, "variants", [3]))
    assert "a variant of sum reads 0 buffers" in refused(lambda funcs: funcs[at]["variants"][0].__setitem__(2, []))
    assert "a family is written as the variants of a func" in refused(put(at, "family", {}))


def test_scalars_of_variants_are_parameters() -> None:
    def scaled(source: Any, target: Any, k: int, f: float) -> None:
        np.add(source[1:-3], source[3:-1], out=target)

    variant = sl.Variant(scaled, arguments={"k": sl.scalar("k"), "f": sl.scalar("f", float)})
    p = sl.choose_variant(neighbours(scaled=variant), "sum", "scaled")
    assert str(p).splitlines()[0] == "pipeline sum(a: int64[1], k, f: float) -> (out: int64[1]):"
    data, out = sl.Buffer(np.arange(20), min=(-2,)), np.zeros(10, np.int64)
    p(data, out, k=2, f=0.5)
    np.testing.assert_array_equal(out, -2 * np.arange(2, 12) + 0)


# Declarations ---------------------------------------------------------------------------------------------------------


def declare(variants: Any, **settings: Any) -> None:
    t, other, out = (sl.BufferExpr(name, np.int64, 1) for name in ("t", "other", "out"))
    given = variants(t, other) if callable(variants) else variants
    sl.Func(slow, [t[sl.interval(x - 2, x + 2)]], [out[x]], name="sum", variants=given, **settings)


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ([fast], "func 'sum': variants must be a dictionary, variants by name, got"),
        ({"two words": fast}, "a variant of func 'sum'"),
        ({"v": 3}, "variant 'v' of func 'sum' needs a callable, got 3"),
        ({"v": sl.Variant(fast, arguments=3)}, "arguments must be a dictionary, values by name, got 3"),
        ({"v": sl.Variant(fast, pass_buffers=1)}, "func 'sum': pass_buffers must be True or False, got 1"),
        ({"v": np.add}, "variant 'v' of func 'sum': the ufunc add takes 2 inputs and 1 outputs, got 1 and 1"),
        (
            lambda t, other: {"v": sl.Variant(fast, [other[x]])},
            r"variant 'v' of func 'sum' must read the buffers that the func reads, in the same order \(t\), got other",
        ),
        (
            lambda t, other: {"v": sl.Variant(fast, [t[sl.interval(x - 2, x + 3)]])},
            r"variant 'v' of func 'sum' may read no more than the func: t\[x - 2 .. x \+ 3\] is not shown to lie",
        ),
        (lambda t, other: {"v": sl.Variant(fast, [t[:]])}, r"may read no more than the func: t\[:\] is not shown"),
        (lambda t, other: {"v": sl.Variant(fast, [t[y]])}, "variable y in its input .* is used by no output"),
    ],
)
def test_what_cannot_be_declared(variants: Any, message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        declare(variants)


# verify_variant -------------------------------------------------------------------------------------------------------


def func_with(variants: Any, dtype: Any = np.int64) -> sl.Func:
    t, out = (sl.BufferExpr(name, dtype, 1) for name in ("t", "out"))
    given = variants(t) if callable(variants) else variants
    return sl.Func(slow, [t[sl.interval(x - 2, x + 2)]], [out[x]], name="sum", variants=given)


def test_what_is_the_same_passes() -> None:
    func = func_with(lambda t: {"fast": fast, "narrow": sl.Variant(narrow, [t[sl.interval(x - 1, x + 1)]])})
    sl.verify_variant(func, "fast")
    sl.verify_variant(func, "narrow", sizes=[4], seeds=[7])
    with pytest.raises(sl.GraphError, match="func 'sum' has no variant 'quick'; it declares fast, narrow"):
        sl.verify_variant(func, "quick")
    with pytest.raises(sl.GraphError, match="takes a Func"):
        sl.verify_variant("sum", "fast")  # type: ignore[arg-type]


def test_what_differs_is_shown() -> None:
    def last_is_wrong(source: Any, target: Any) -> None:
        fast(source, target)
        if len(target) == 5:
            target[-1] += 1

    func = func_with({"wrong": last_is_wrong})
    sl.verify_variant(func, "wrong", sizes=[1, 2, 3])
    with pytest.raises(sl.DeclarationError) as caught:
        sl.verify_variant(func, "wrong")
    text = str(caught.value)
    words = text.split()
    assert text.startswith("variant 'wrong' of func 'sum' computes ")
    assert int(words[6]) == int(words[12].rstrip(",")) + 1
    at, (first, last) = int(words[8][4:-2]), (int(c) for c in words[14][4:-1].split(".."))
    assert (at, last - first) == (last, 4)


def test_rounding_is_allowed_where_it_is_asked_for() -> None:
    def rounded(source: Any, target: Any) -> None:
        fast(source, target)
        target *= np.float32(1 + 1e-5)

    func = func_with({"rounded": rounded}, np.float32)
    sl.verify_variant(func, "rounded", rtol=1e-3)
    with pytest.raises(sl.DeclarationError, match=r"of func 'sum' computes -?[0-9.]+ for out\["):
        sl.verify_variant(func, "rounded")


def test_reductions_whole_dimensions_and_scalars() -> None:
    a, sums = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("sums", np.float64, 1)

    def add(source: Any, target: Any, k: int) -> None:
        np.sum(source, axis=1, out=target)
        np.multiply(target, k, out=target)

    def add_by_hand(source: Any, target: Any, k: int) -> None:
        target[...] = [sum(row) * k for row in source]

    variants = {"hand": add_by_hand, "wrong": lambda s, t, k: np.sum(s, axis=1, out=t)}
    func = sl.Func(add, [a[y, :]], [sums[y]], name="add", arguments={"k": sl.scalar("k")}, variants=variants)
    sl.verify_variant(func, "hand", rtol=1e-9)
    sl.verify_variant(func, "wrong", scalars={"k": 1})
    with pytest.raises(sl.DeclarationError):
        sl.verify_variant(func, "wrong", scalars={"k": 3})

    b, c = (sl.BufferExpr(name, np.float64, 2) for name in ("b", "c"))
    func = sl.Func(
        lambda s, t: np.cumsum(s, axis=1, out=t), [b[y, x]], [c[y, x]], name="run", whole=["x"],
        variants={"same": sl.Variant(lambda s, t: np.add.accumulate(s, axis=1, out=t))},
    )  # fmt: skip
    sl.verify_variant(func, "same")


def test_a_func_that_no_size_suits() -> None:
    a, t = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    t.dim(0).extent = 4
    func = sl.Func(np.negative, [a[sl.interval(x - a.dim(0).extent, x)]], [t[x]], name="f", variants={"v": np.negative})
    with pytest.raises(sl.GraphError, match="could not be run on any of the sizes"):
        sl.verify_variant(func, "v")
