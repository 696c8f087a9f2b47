"""Variants that take intermediates in another dtype: chosen for all who use them, or for nobody."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pytest
from in_one_dimension import agree_in_sizes as agree
from scheduled import refusal
from second_judge import WrongRewriteError, judge

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.ir.copies import with_func
from slinky.pipeline import Pipeline

(x,) = sl.variables("x")


def triple(source: Any, target: Any) -> None:
    """Three times each element, whatever the dtypes."""
    np.copyto(target, 3 * source, casting="same_kind")


def differences(source: Any, target: Any) -> None:
    """Of neighbours, the square of the difference, whatever the dtypes."""
    np.copyto(target, (source[1:] - source[:-1]) ** 2, casting="same_kind")


def total(one: Any, other: Any, target: Any) -> None:
    """The sum, whatever the dtypes."""
    np.copyto(target, one + other, casting="same_kind")


def taking(callback: Callable[..., Any], dtype: npt.DTypeLike, *buffers: sl.BufferExpr) -> sl.Variant:
    """A variant that takes buffers in this dtype."""
    return sl.Variant(callback, dtypes=dict.fromkeys(buffers, dtype))


def chain(**more: dict[str, Any]) -> sl.Pipeline:
    """`first` writes t, of which `second` makes u, and `third` both to out: all with a variant `short`, but for what is
    given by the name of a func. Integers of 64 bits are small enough for 32."""
    a, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "u", "out"))
    declared: dict[str, dict[str, Any]] = {
        "first": {"short": taking(triple, np.int32, t)},
        "second": {"short": taking(differences, np.int32, t, u), "start": taking(differences, np.int32, t)},
        "third": {"short": taking(total, np.int32, t, u), "start": taking(total, np.int32, t)},
    }
    declared |= {name: {k: v(t, u, a, out) for k, v in variants.items()} for name, variants in more.items()}
    sl.Func(triple, [a[x]], [t[x]], name="first", variants=declared["first"])
    sl.Func(differences, [t[sl.interval(x - 1, x)]], [u[x]], name="second", variants=declared["second"])
    sl.Func(total, [t[x], u[x]], [out[x]], name="third", variants=declared["third"])
    return sl.build_pipeline([a], [out])


def dtypes(p: sl.Pipeline) -> dict[str, str]:
    """Of each allocation, its dtype."""
    return {alloc.name(): alloc.dtype().name for alloc in p.find_all("alloc _")}


def variants(p: sl.Pipeline) -> dict[str, str | None]:
    """Of each call, the variant that it runs."""
    return {call.name(): call.variant() for call in p.find_all("_ = _")}


# What is chosen -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("func", ["first", "second", "third"])
def test_all_who_use_a_buffer_take_it_so(func: str) -> None:
    before = chain()
    p, (call,) = sl.choose_variant(before, func, "short", rc=True)
    assert call.name() == func
    assert dtypes(p) == {"t": "int32", "u": "int32"}
    assert variants(p) == dict.fromkeys(("first", "second", "third"), "short")
    p.verify()
    agree(before, p)
    assert str(p.history()) == f'import slinky as sl\np = sl.choose_variant(p, "{func}", "short")'
    assert judge(before.program, p.program, "choose_variant") > 0
    assert sl.choose_variant(p, "second", None).same_program(before)
    source = sl.Buffer(np.arange(50), min=(-1,))
    assert p.memory(source, (49,)).program_bytes * 2 == before.memory(source, (49,)).program_bytes


def test_where_no_variant_has_the_name_it_is_the_only_one() -> None:
    before = chain()
    p = sl.choose_variant(before, "second", "start")
    assert dtypes(p) == {"t": "int32", "u": "int64"}
    assert variants(p) == {"first": "short", "second": "start", "third": "start"}
    agree(before, p)
    q = sl.choose_variant(p, "third", "short")
    assert dtypes(q) == {"t": "int32", "u": "int32"}
    assert variants(q) == {"first": "short", "second": "short", "third": "short"}
    agree(before, q)


def test_pieces_of_a_call_go_together() -> None:
    before = sl.cut_call(chain(), "first.x", 3)
    p = sl.choose_variant(before, "second", "short")
    assert dtypes(p) == {"t": "int32", "u": "int32"}
    assert [call.variant() for call in p.find_all("_ = _")] == ["short"] * 4
    agree(before, p)


def test_folded_and_slid() -> None:
    before = sl.split_loop(chain(), "third.x", 1)
    for func in ("second", "first"):
        before = sl.compute_at(before, func, "for x")
    before = sl.fold_storage(sl.slide_window(before, "first", "for x"), "alloc t", "x")
    p = sl.choose_variant(before, "first", "short")
    assert "alloc t: int32" in str(p)
    assert " fold 2" in str(p)
    agree(before, p)
    agree(before, sl.unfold_storage(p, "alloc t", "x"))


def test_back_ends_run_the_kernels_of_the_dtypes() -> None:
    """Ufuncs, of which the native back end knows what they compute: squares that 16 bits do not hold tell the dtype."""
    a, t, out = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "t", "out"))
    square = sl.Variant(lambda s, o: np.square(s, out=o, casting="same_kind"), dtypes={t: np.float16})
    sl.Func(np.square, [a[x]], [t[x]], name="square", variants={"half": square})
    sl.Func(np.negative, [t[x]], [out[x]], name="turn", variants={"half": taking(np.negative, np.float16, t)})
    before = sl.build_pipeline([a], [out])
    source = np.array([1.0, 3.0, 51.0, 100.0])
    for backend in ("python", "native", "interpreter"):
        assert before.run(source, backend=backend).outputs[0].tolist() == [-1, -9, -2601, -10000]
    p = sl.choose_variant(before, "turn", "half")
    for backend in ("python", "native", "interpreter"):
        got = p.run(source, backend=backend).outputs[0]
        assert got.tolist() == [-1, -9, -2600, -10000]  # 16 bits hold no 2601
        assert got.dtype == np.float64
    p.run(source, checked=True)


# What is not ----------------------------------------------------------------------------------------------------------


def test_what_the_caller_holds_keeps_its_dtype() -> None:
    p = chain(
        first={"of_a": lambda t, u, a, out: taking(triple, np.int32, a)},
        third={"of_out": lambda t, u, a, out: taking(total, np.int32, out, t)},
    )
    for func, name, buffer in (("first", "of_a", "a"), ("third", "of_out", "out")):
        message = refusal(lambda func=func, name=name: sl.choose_variant(p, func, name))
        assert message == f"{func}[{name}] takes {buffer} as int32, and the pipeline is given int64"


def test_somebody_else_has_no_such_variant() -> None:
    p = chain(third={"start": lambda t, u, a, out: taking(total, np.int32, t)})
    with pytest.raises(sl.SchedulingError) as caught:
        sl.choose_variant(p, "second", "short")
    text = str(caught.value)
    assert "second[short] takes u as int32, and third has no variant that does" in text
    assert "sl.Variant(..., dtypes={u: ...}), where third is made, declares one" in text
    assert ">   out[:] = third(" in text
    assert dtypes(p) == {"t": "int64", "u": "int64"}


def test_several_others_could_be_meant() -> None:
    p = chain(first={name: lambda t, u, a, out: taking(triple, np.int32, t) for name in ("one", "other")})
    message = refusal(lambda: sl.choose_variant(p, "second", "short"))
    assert message == "second[short] takes t as int32, and so do several: first[one], first[other]"


def test_others_do_not_agree() -> None:
    """`third` takes t in 32 bits where it takes u in 16, and `second` both in 16."""

    def split(t: Any, u: Any, a: Any, out: Any) -> sl.Variant:
        return sl.Variant(total, dtypes={t: np.int32, u: np.int16})

    p = chain(
        second={"short": lambda t, u, a, out: taking(differences, np.int16, t, u)},
        third={"short": split},
        first={"short": lambda t, u, a, out: taking(triple, np.int16, t)},
    )
    for func in ("first", "second", "third"):
        message = refusal(lambda func=func: sl.choose_variant(p, func, "short"))
        assert message.startswith((f"{func}[short] takes t as int", "others take t as int"))


def test_the_call_itself_runs_what_was_asked_for() -> None:
    """`second` takes t as is asked, and u in 32 bits, for which `third` would have to run another variant."""

    def both(t: Any, u: Any, a: Any, out: Any) -> sl.Variant:
        return sl.Variant(differences, dtypes={t: np.int16, u: np.int32})

    p = chain(
        first={"short": lambda t, u, a, out: taking(triple, np.int16, t)},
        second={"both": both},
        third={
            "asked": lambda t, u, a, out: taking(total, np.int16, t),
            "other": lambda t, u, a, out: taking(total, np.int32, t, u),
        },
    )
    message = refusal(lambda: sl.choose_variant(p, "third", "asked"))
    assert message == "others take u as int32, and third[asked] does not"


def test_two_ports_that_read_one_buffer() -> None:
    """The second by way of a copy, of which the variant says nothing."""
    a, t, s, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "s", "out"))
    sl.Func(triple, [a[x]], [t[x]], name="first", variants={"short": taking(triple, np.int32, t)})
    sl.copies.copy(t[x + 3], s[x], name="shift")
    sl.Func(total, [t[x], s[x]], [out[x]], name="last", variants={"short": taking(total, np.int32, t)})
    p = sl.alias_copy(sl.build_pipeline([a], [out], alias=False), "shift")
    assert p.find("last").inputs() == ("t", "t")
    assert p.find("last").variants() == ("short",)
    message = refusal(lambda: sl.choose_variant(p, "last", "short"))
    assert message == "others take t as int32, and last[short] does not"
    assert "first[short] takes t as int32, and last has no variant that does" in refusal(
        lambda: sl.choose_variant(p, "first", "short")
    )


def test_strides_are_in_bytes_of_the_dtype() -> None:
    p = sl.set_layout(chain(), "alloc t", ("x",), strides=(8,))
    message = refusal(lambda: sl.choose_variant(p, "second", "short"))
    assert message.startswith("t has strides or an alignment that are asked for, in bytes of int64")
    q = sl.set_layout(sl.choose_variant(chain(), "second", "short"), "alloc t", ("x",), strides=(8,))
    agree(chain(), q)


def test_a_copy_takes_what_is_there() -> None:
    a, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "u", "out"))
    sl.Func(triple, [a[x]], [t[x]], name="first", variants={"short": taking(triple, np.int32, t)})
    sl.copies.copy(t[x + 3], u[x], name="shift")
    sl.Func(triple, [u[x]], [out[x]], name="last", variants={"short": taking(triple, np.int32, u)})
    p = sl.build_pipeline([a], [out], alias=False)
    for func in ("first", "last"):
        message = refusal(lambda func=func: sl.choose_variant(p, func, "short"))
        assert message.endswith("as int32, and the copy shift takes it as it is")


def test_past_a_copy_a_variant_of_another_dtype_is_none() -> None:
    """What it says is said of the buffer that it no longer reads."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.copies.copy(a[x + 3], t[x], name="shift")
    both = {"short": taking(triple, np.int32, t), "same": triple}
    sl.Func(triple, [t[x]], [out[x]], name="last", variants=both)
    p = sl.alias_copy(sl.build_pipeline([a], [out], alias=False), "shift")
    assert p.find("last").variants() == ("same",)
    b, s, end = (sl.BufferExpr(name, np.int64, 1) for name in ("b", "s", "end"))
    sl.Func(triple, [b[x]], [s[x]], name="last", variants={"short": taking(triple, np.int32, s), "same": triple})
    sl.copies.copy(s[x + 3], end[x], name="shift")
    p = sl.alias_copy(sl.build_pipeline([b], [end], alias=False), "shift")
    assert p.find("last").variants() == ("same",)


def test_past_a_copy_a_variant_still_computes_what_its_func_does() -> None:
    """Though that is none of its family there: the second judge asks what was declared."""

    def sums(one: Any, other: Any, target: Any) -> None:
        np.copyto(target, other + one, casting="same_kind")

    before = chain(third={"short": lambda t, u, a, out: taking(sums, np.int32, t, u)})
    p = sl.stage_buffer(sl.choose_variant(before, "third", "short"), "third", "t")
    q = sl.alias_copy(p, "load")
    assert q.find("third").variants() == ("short",)
    assert judge(p.program, q.program, "alias_copy") > 0
    agree(before, q)


# Nothing slips in -----------------------------------------------------------------------------------------------------


def forged(p: sl.Pipeline, *calls: str, alloc: bool = False) -> Any:
    """An editor whose calls of t run their variant `short`; the allocation is of that dtype if it is asked for."""
    edit = sl.edit(p)
    for call in calls:
        old = edit.statement(p.find(call))
        edit.replace(call, with_func(old, old.func.family.members["short"]))
    if alloc:
        edit.replace("alloc t", attrs.evolve(edit.statement(p.find("alloc t")), dtype=np.dtype(np.int32)))
    return edit


def test_edits_from_outside_are_held_to_the_same() -> None:
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(triple, [a[x]], [t[x]], name="first", variants={"short": taking(triple, np.int32, t)})
    sl.Func(triple, [t[x]], [out[x]], name="last", variants={"short": taking(triple, np.int32, t)})
    p = sl.build_pipeline([a], [out])
    whole = forged(p, "first", "last", alloc=True).finish()
    assert str(whole) == str(sl.choose_variant(p, "last", "short"))
    for calls, alloc in ((("first",), False), (("last",), False), (("first", "last"), False), ((), True)):
        message = refusal(lambda calls=calls, alloc=alloc: forged(p, *calls, alloc=alloc).finish())
        assert "of rank 1, and t is int" in message
    for calls in (("first",), ("last",)):
        assert "and t is int32" in refusal(lambda calls=calls: forged(p, *calls, alloc=True).finish())


def of_one_name() -> sl.Pipeline:
    """Two loops, with a t each: one is taken in 64 bits, the other in 32, where `plain` has a t of its own."""
    a, t, u, v, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "u", "v", "out"))
    sl.Func(triple, [a[x]], [t[x]], name="first", variants={"short": taking(triple, np.int32, t)})
    sl.Func(triple, [t[x]], [u[x]], name="last", variants={"short": taking(triple, np.int32, t)})
    sl.Func(triple, [t[x]], [v[x]], name="plain")
    sl.Func(total, [u[x], v[x]], [out[x]], name="join")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "join.x", 1)
    for func, buffer in (("plain", "v"), ("last", "u"), ("first", "t")):
        p = sl.store_at(sl.compute_at(p, func, "for x"), f"alloc {buffer}", "for x")
    p = sl.clone_call(sl.cut_loop(p, "for x", 2), "first #1", "plain #1")
    return sl.choose_variant(p, "last #1", "short")


@pytest.mark.parametrize(
    ("func", "message"),
    [("last", "last takes int64 of rank 1, and t is int32 of rank 1"), ("plain", "plain(t) would give v other values")],
)
def test_one_dtype_does_not_stand_for_another(func: str, message: str) -> None:
    """What is written by a func is not what its variant writes, for a call that is moved from where the one is to where
    the other is, under the same name: whether a variant of it stands there, or not."""
    p = of_one_name()
    p.verify()
    edit = sl.edit(p)
    edit.insert(p.find(f"{func} #0").after(), *edit.copy(f"{func} #0"))
    p = edit.finish()
    edit = sl.edit(p)
    edit.move(p.find(f"{func} #0"), p.find("join #1").before())
    assert refusal(edit.finish).startswith(message)


def test_sharing_what_is_held_in_another_dtype() -> None:
    before = chain(
        second={"short": lambda t, u, a, out: taking(differences, np.int32, t)},
        third={"start": lambda t, u, a, out: taking(total, np.int32, t)},
    )
    p = sl.clone_call(before, "first", "third")
    kept, gone = p.find_all("first")
    q = sl.choose_variant(p, kept, "short")
    assert dtypes(q) == {"t": "int32", "u": "int64", "t_1": "int64"}
    assert q.forward(gone).variant() is None
    agree(p, q)
    with pytest.raises(sl.SchedulingError) as caught:
        sl.share_calls(q, kept, gone)
    assert "t_1 is int64, and t is int32" in str(caught.value)
    assert 'sl.choose_variant(p, "first #1", "short")' in str(caught.value)
    assert sl.share_calls(p, kept, gone).same_program(before)
    both = sl.choose_variant(q, gone, "short")
    assert dtypes(sl.share_calls(both, kept, gone)) == {"t": "int32", "u": "int64"}


def test_the_second_judge_finds_a_buffer_of_another_dtype() -> None:
    p = chain()
    call = p.find("first")._call
    forged_call = with_func(call, call.func.family.members["short"])
    body = tuple(forged_call if s.id == call.id else s for s in p.program.body)
    q = Pipeline(Version(attrs.evolve(p.program, body=body), origin()))
    with pytest.raises(WrongRewriteError, match="first takes t as int32, whose dtype is int64"):
        judge(p.program, q.program, "choose_variant")


# Along with other things ----------------------------------------------------------------------------------------------


def test_fused_calls_read_past_the_dtype() -> None:
    a, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "u", "out"))
    sl.Func(triple, [a[x]], [t[x]], name="first", variants={"short": taking(triple, np.int32, t)})
    second = sl.Func(triple, [t[x]], [u[x]], name="second", variants={"short": taking(triple, np.int32, t, u)})
    third = sl.Func(triple, [u[x]], [out[x]], name="third", variants={"short": taking(triple, np.int32, u)})
    sl.fuse(second, third, lambda s, o: np.copyto(o, 9 * s), "nine")
    before = sl.build_pipeline([a], [out])
    p = sl.choose_variant(before, "second", "short")
    assert "nine takes int64 of rank 1, and t is int32" in refusal(lambda: sl.fuse_calls(p, "second", "third", "nine"))
    q = sl.fuse_calls(sl.choose_variant(p, "second", None), "second", "third", "nine")
    agree(before, q)


def test_they_are_kept_and_compared() -> None:
    before = chain()
    p = sl.choose_variant(before, "first", "short")
    assert p.same_program(sl.choose_variant(chain(), "first", "short"))
    assert not p.same_program(before)
    q = pickle.loads(pickle.dumps(p))
    assert q.same_program(p)
    callbacks: dict[str, Any] = {"triple": triple, "differences": differences, "total": total}
    text = p.to_json()
    q = sl.Pipeline.from_json(text, callbacks=callbacks)
    assert q.same_program(p)
    assert q.to_json() == text
    assert sl.choose_variant(q, "first", None).same_program(before)
    agree(before, q)
    again: dict[str, Any] = dict(callbacks)
    exec(before.to_graph_code(callbacks), again)
    assert again["p"].same_program(before)


def test_json_of_dtypes_that_is_wrong() -> None:
    callbacks: dict[str, Any] = {"triple": triple, "differences": differences, "total": total}
    text = json.loads(sl.choose_variant(chain(), "first", "short").to_json())
    at = next(k for k, func in enumerate(text["funcs"]) if "variants" in func and len(func["variants"][0]) == 5)

    def refused(given: Any) -> str:
        changed = copy.deepcopy(text)
        changed["funcs"][at]["variants"][0][3] = given
        with pytest.raises(sl.FormatError) as caught:
            sl.Pipeline.from_json(json.dumps(changed), callbacks=callbacks)
        return str(caught.value)

    assert "says 2 dtypes of its 1 outputs" in refused(["<i4", "<i4"])
    assert "expected a list" in refused("<i4")
    assert "buffer 't' has dtype int32, accessed as int16" in refused(["<i2"])
    assert "expected a dtype" in refused(["no dtype"])
    assert text["funcs"][at]["variants"][0][4] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda t, c: [t], "dtypes must be a dictionary, dtypes by buffer"),
        (lambda t, c: {"t": np.int32}, r"dtypes are of buffers that the func uses \(t, c, out\), got 't'"),
        (lambda t, c: {sl.BufferExpr("t", np.int64, 1): np.int32}, "dtypes are of buffers that the func uses"),
        (lambda t, c: {c: np.int32}, "c is a constant, whose dtype is that of its array"),
        (lambda t, c: {t: object}, "needs a dtype of fixed size without Python objects"),
        (lambda t, c: {t: None}, "needs a dtype, such as np.float32, got None"),
        (lambda t, c: {t: "no"}, "needs a dtype, such as np.float32, got 'no'"),
    ],
)
def test_what_cannot_be_declared(given: Any, message: str) -> None:
    t, out = sl.BufferExpr("t", np.int64, 1), sl.BufferExpr("out", np.int64, 1)
    c = sl.constant("c", np.arange(3))
    variant = sl.Variant(total, dtypes=given(t, c))
    with pytest.raises(sl.GraphError, match=message):
        sl.Func(total, [t[x], c[:]], [out[x]], name="f", variants={"v": variant})
    assert out.producer is None


def test_the_dtype_that_a_buffer_has_is_no_other() -> None:
    p = chain(first={"same": lambda t, u, a, out: taking(triple, np.int64, t, a)})
    assert dtypes(sl.choose_variant(p, "first", "same")) == {"t": "int64", "u": "int64"}


# verify_variant -------------------------------------------------------------------------------------------------------


def test_verify_variant_runs_it_in_its_dtypes() -> None:
    t, out = (sl.BufferExpr(name, np.float64, 1) for name in ("t", "out"))
    seen = []

    def noted(source: Any, target: Any) -> None:
        seen.append((source.dtype.name, target.dtype.name))
        differences(source, target)

    def wrong(source: Any, target: Any) -> None:
        differences(source, target)
        target[...] += source.dtype == np.float32

    declared = {
        "single": sl.Variant(noted, dtypes={t: np.float32}),
        "twice": sl.Variant(noted, dtypes={t: np.float32, out: np.float32}),
        "wrong": sl.Variant(wrong, dtypes={t: np.float32}),
    }
    func = sl.Func(differences, [t[sl.interval(x - 1, x)]], [out[x]], name="f", variants=declared)
    for name, written in (("single", "float64"), ("twice", "float32")):
        sl.verify_variant(func, name, rtol=1e-3)
        assert set(seen) == {("float32", written)}
        seen.clear()
    with pytest.raises(sl.DeclarationError, match="variant 'single' of func 'f' computes"):
        sl.verify_variant(func, "single")
    with pytest.raises(sl.DeclarationError, match="variant 'wrong' of func 'f' computes"):
        sl.verify_variant(func, "wrong", rtol=1e-3)


def test_verify_variant_gives_each_its_own_scalars() -> None:
    t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("t", "out"))
    more = sl.Variant(lambda s, o, n: triple(s, o), arguments={"n": sl.scalar("n")}, dtypes={t: np.int16})
    less = sl.Variant(triple, arguments={})
    func = sl.Func(
        lambda s, o, k: triple(s, o), [t[x]], [out[x]], name="f", arguments={"k": sl.scalar("k")},
        variants={"more": more, "less": less},
    )  # fmt: skip
    for name in ("more", "less"):
        sl.verify_variant(func, name, scalars={"k": 2})
    with pytest.raises(sl.SlinkyError, match="nobody"):
        sl.verify_variant(func, "more", scalars={"nobody": 2})
