"""How operations are declared: annotations of all kinds, defaults, records, and what is no declaration."""

from __future__ import annotations

import functools
import pickle
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from scheduled import by_rows, stencil, stencils

import slinky as sl
from slinky.sched.returned import ComputeAtCursors
from slinky.symbolic.expressions import Expr

if TYPE_CHECKING:
    from nowhere import Nothing  # noqa: F401

    import slinky as for_checkers  # noqa: F401
    from slinky import AllocCursor, CallCursor  # noqa: F401

SEEN: list[Any] = []

Rows = sl.LoopCursor | str


def seen() -> Any:
    """What the last operation was called with."""
    return SEEN.pop()


def look_at(annotation: Any, *default: Any) -> Callable[..., Any]:
    """An operation with one parameter of this annotation, that notes what it has become."""

    def look(p: sl.Pipeline, place: Any) -> sl.Pipeline:
        """Look at a place."""
        SEEN.append(place)
        return p

    look.__annotations__["place"] = annotation
    look.__defaults__ = default or None
    return sl.sched_op()(look)


# Sequences ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (list[sl.CallCursor], list),
        ("list[sl.CallCursor]", list),
        (tuple[sl.CallCursor, ...], tuple),
        (Sequence[sl.CallCursor], tuple),
        (typing.List[sl.CallCursor], list),  # noqa: UP006
        (typing.Sequence[sl.CallCursor], tuple),
        (Iterable[sl.CallCursor | str], tuple),
        ("list['CallCursor']", list),
        ("for_checkers.Sequence[CallCursor | Nothing]", tuple),
        ("List[CallCursor]", list),
        (Optional[list[sl.CallCursor]], list),  # noqa: UP045
    ],
)
def test_sequences_are_converted_item_by_item(annotation: Any, kind: type) -> None:
    p = stencil()
    look = look_at(annotation)
    q, loop, _ = by_rows(p)
    for given in (["add", p.find("stencil")], ("add", "stencil(_)"), iter(["add", loop.body()[1]]), loop.body()):
        look(q, given)
        found = seen()
        assert type(found) is kind
        assert list(found) == [q.find("add"), q.find("stencil")]
    look(q, [])
    assert seen() == kind()


def test_a_tuple_of_so_many_items() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 2)
    look = look_at(tuple[sl.CallCursor, sl.LoopCursor, int, Expr])
    look(p, ("add", "for y", 3, 4))
    call, loop, number, size = seen()
    assert (call, loop, number) == (p.find("add"), p.find("for y"), 3)
    assert isinstance(size, Expr)
    with pytest.raises(sl.OperationError, match=r"^look: argument place: expected 4 items, got 2$"):
        look(p, ("add", "for y"))


def test_one_or_several() -> None:
    p = stencil()
    look = look_at(sl.CallCursor | list[sl.CallCursor])
    look(p, "add")
    assert seen() == p.find("add")
    look(p, ["add"])
    assert seen() == [p.find("add")]


def test_sequences_of_expressions() -> None:
    look_at(Sequence[Expr])(stencil(), [1, sl.scalar("k")])
    assert [str(e) for e in seen()] == ["1", "k"]


def test_any_number_of_arguments() -> None:
    @sl.sched_op()
    def look(p: sl.Pipeline, first: Expr, *calls: CallCursor, **loops: sl.LoopCursor) -> sl.Pipeline:
        """Look at calls."""
        SEEN.append((first, calls, loops))
        return p

    p = sl.split_loop(stencil(), "stencil.y", 2)
    look(p, 1, "add", p.find("stencil"), rows="for y")
    first, calls, loops = seen()
    assert isinstance(first, Expr)
    assert calls == (p.find("add"), p.find("stencil"))
    assert loops == {"rows": p.find("for y")}
    with pytest.raises(sl.OperationError, match=r"^look: argument calls: expected a call, but 'for y' matches"):
        look(p, 1, "add", "for y")
    with pytest.raises(sl.PatternError, match=r"^look: argument loops: nothing matches 'for z'"):
        look(p, 1, rows="for z")


@pytest.mark.parametrize(
    ("annotation", "given", "message"),
    [
        (list[sl.CallCursor], "add", "expected a list, got 'add'"),
        (list[sl.CallCursor], None, "expected a list, got None"),
        (tuple[sl.CallCursor, ...], 3, "expected a tuple, got 3"),
        (list[sl.CallCursor], ["add", 3], "item 1: expected a call or a pattern, got 3"),
        (list[sl.CallCursor], ["add", "alloc intm"], "item 1: expected a call, but 'alloc intm' matches <AllocCursor"),
    ],
)
def test_sequences_of_something_else(annotation: Any, given: object, message: str) -> None:
    with pytest.raises(sl.OperationError) as caught:
        look_at(annotation)(stencil(), given)
    assert str(caught.value).startswith(f"look: argument place: {message}")


# Annotations ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "annotation",
    [
        "CallCursor",
        "for_checkers.CallCursor",
        "AllocCursor | CallCursor | None",
        "Nothing | CallCursor",
        "Union[Nothing, 'CallCursor']",
        "Optional['for_checkers.CallCursor']",
        "sl.CallCursor | str",
        "CallCursor | nowhere.Nothing[int]",
        Annotated[sl.CallCursor, "a call"],
        sl.CallCursor | str,
        sl.Cursor,
        typing.Optional["CallCursor"],
    ],
)
def test_annotations_that_only_type_checkers_can_read(annotation: Any) -> None:
    p = stencil()
    look_at(annotation)(p, "stencil")
    assert seen() == p.find("stencil")


@pytest.mark.parametrize("annotation", ["Nothing", "nowhere.Nothing[int]", "list[Nothing]", "Nothing | str", "a b c"])
def test_what_cannot_be_read_and_is_no_place_does_no_harm(annotation: str) -> None:
    look_at(annotation)(stencil(), "stencil")
    assert seen() == "stencil"


def test_an_alias_is_what_it_stands_for() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 2)
    look_at("Rows")(p, "for y")
    assert seen() == p.find("for y")
    for given in ("for y", p.find("for y"), ("for y", "for y")):
        look_at(sl.BlockArgument)(p, given)
        assert seen() == p.find("for y").as_block()
    look_at(Optional[sl.BlockArgument])(p, None)  # noqa: UP045
    assert seen() is None


def test_functions_as_values_are_not_converted() -> None:
    def accepts(call: sl.CallCursor) -> bool:
        return True

    for annotation in (Callable[[sl.CallCursor], bool], "Callable[[CallCursor], bool]", type[sl.CallCursor]):
        look_at(annotation)(stencil(), accepts)
        assert seen() is accepts


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (dict[str, sl.CallCursor], "parameter place: expected kinds of cursors, Expr, or lists, tuples and sequences"),
        (
            "set[CallCursor]",
            "parameter place: expected kinds of cursors, Expr, or lists, tuples and sequences of these",
        ),
        ("CallCursor | 3", "parameter place: cannot read the annotation 'CallCursor | 3': "),
        ("CallCursor ||", "parameter place: cannot read the annotation 'CallCursor ||': "),
        (list[sl.CallCursor] | tuple[sl.LoopCursor, ...], "parameter place: expected one kind of sequence, got "),
        (sl.BlockCursor | list[sl.CallCursor], "parameter place: expected one kind of sequence, got "),
    ],
)
def test_annotations_that_cannot_be_meant(annotation: Any, message: str) -> None:
    with pytest.raises(sl.OperationError) as caught:
        look_at(annotation)(stencil(), "add")
    assert str(caught.value).startswith(f"look: {message}")


def test_the_pipeline_comes_first() -> None:
    @sl.sched_op()
    def turned(call: sl.CallCursor, p: sl.Pipeline) -> sl.Pipeline:
        """Take them the wrong way round."""
        return p

    with pytest.raises(
        sl.OperationError, match=r"^turned: an operation takes a pipeline first, got call: sl.CallCursor"
    ):
        turned(stencil(), "add")
    with pytest.raises(
        sl.OperationError, match=r"^<lambda>: an operation takes a pipeline first, and sched_op adds rc"
    ):
        sl.sched_op()(lambda *pipelines: pipelines[0])
    with pytest.raises(sl.OperationError, match=r"sched_op makes an operation of a function, got 3"):
        sl.sched_op()(3)  # type: ignore[arg-type]


# Defaults -------------------------------------------------------------------------------------------------------------


def test_defaults_are_converted_as_what_is_given_is() -> None:
    @sl.sched_op()
    def look(
        p: sl.Pipeline,
        one: sl.CallCursor = "add",
        /,
        loop: Rows = "for y",
        *,
        size: Expr = 4,
        more: list[CallCursor] = (),
    ) -> sl.Pipeline:
        """Look at places."""
        SEEN.append((one, loop, size, more))
        return p

    p = sl.split_loop(stencil(), "stencil.y", 2)
    everything = (p.find("add"), p.find("for y"))
    for arguments in ((), ("add",), ("add", "for y")):
        look(p, *arguments)
        *found, size, more = seen()
        assert tuple(found) == everything
        assert isinstance(size, Expr)
        assert more == []
    look(p, loop=p.find("for y"), size=2, more=["add"])
    assert seen()[3] == [p.find("add")]
    with pytest.raises(sl.PatternError, match=r"^look: argument loop: nothing matches 'for y'"):
        look(stencil())


def test_a_default_that_is_no_place_is_an_error_where_it_is_used() -> None:
    look = look_at(sl.CallCursor, 3)
    with pytest.raises(sl.OperationError, match=r"^look: argument place: expected a call or a pattern, got 3"):
        look(stencil())
    look(stencil(), "add")
    assert isinstance(seen(), sl.CallCursor)


# Functions ------------------------------------------------------------------------------------------------------------


class Scheduler:
    """Something with methods that are operations."""

    def __init__(self, step: int) -> None:
        self.step = step

    def rows(self, p: sl.Pipeline, call: sl.CallCursor) -> Any:
        """Split by rows.

        Cursors:
            loop: the loop.
        """
        p, split = sl.split_loop(p, call.dim("y"), self.step, rc=True)
        return p, (split.outer,)

    def __call__(self, p: sl.Pipeline, call: CallCursor) -> Any:
        """Split by rows."""
        return self.rows(p, call)


def test_methods_partials_and_objects_as_functions() -> None:
    expected = sl.split_loop(stencil(), "stencil.y", 4)
    rows = sl.sched_op("loop")(Scheduler(4).rows)
    p, at = rows(stencil(), "stencil", rc=True)
    assert (type(at).__name__, at.loop) == ("RowsCursors", p.find("for y"))
    assert p.same_program(expected) or str(p) == str(expected)
    assert (rows.__doc__ or "").startswith("Split by rows.")

    by_four = sl.sched_op()(functools.partial(fold_if_asked, step=4))
    assert str(by_four(stencil(), "stencil")) == str(expected)
    assert by_four.__name__ == "fold_if_asked"
    with pytest.raises(sl.PatternError, match=r"^fold_if_asked: argument call: nothing matches 'none'"):
        by_four(stencil(), "none")

    whole = sl.sched_op("loop")(Scheduler(4))
    assert str(whole(stencil(), "stencil")) == str(expected)
    assert not hasattr(whole, "rows")


def fold_if_asked(p: sl.Pipeline, call: CallCursor, *, step: int) -> sl.Pipeline:
    """Split by rows."""
    return sl.split_loop(p, call.dim("y"), step)


# Records --------------------------------------------------------------------------------------------------------------


class FusedCursors(sl.ReturnedCursors):
    """A call and its loop."""

    loop: sl.LoopCursor
    calls: tuple[sl.CallCursor, ...]


class FusedAndStoredCursors(FusedCursors):
    """The buffer as well."""

    count: typing.ClassVar[int] = 3
    alloc: sl.AllocCursor


@sl.sched_op(FusedCursors)
def fuse(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor = "for y") -> Any:  # type: ignore[assignment]
    """Compute a producer in a loop.

    Cursors:
        loop: the loop.
        calls: the producer.
    """
    q, at = sl.compute_at(p, call, loop, rc=True)
    return q, FusedCursors(loop, calls=(at.call,))


def fused() -> tuple[sl.Pipeline, Any]:
    """What `fuse` returns."""
    return fuse(sl.split_loop(stencils(2), "s2.y", 1), "s1", rc=True)


def test_a_record_of_a_class_of_ones_own() -> None:
    p, at = fused()
    assert type(at) is FusedCursors
    assert fuse.cursors is FusedCursors
    loop, calls = at
    assert (loop, calls) == (p.find("for y"), (p.find("s1"),))
    assert at.loop == at["loop"] == at[0]
    assert at.call == at["call"] == at.calls[0]
    assert at[::-1] == (calls, loop)
    assert repr(at) == f"FusedCursors(loop={loop!r}, calls={calls!r})"
    assert at == FusedCursors(loop, calls)
    assert hash(at) == hash(FusedCursors(loop, calls))
    assert at != FusedCursors(loop, ())
    assert (fuse.__doc__ or "").endswith("FusedCursors, of:\n        loop: the loop.\n        calls: the producer.")


def test_a_record_never_changes() -> None:
    _, at = fused()
    _, split = sl.split_loop(stencil(), "stencil.y", 1, rc=True)
    for record, name in ((at, "loop"), (at, "other"), (split, "outer")):
        with pytest.raises(AttributeError, match=f"a record of cursors never changes; cannot set {name}"):
            setattr(record, name, None)
        with pytest.raises(AttributeError, match=f"a record of cursors never changes; cannot delete {name}"):
            delattr(record, name)


def test_records_can_be_pickled() -> None:
    p, at = fused()
    q, copied = pickle.loads(pickle.dumps((p, at)))
    assert type(copied) is FusedCursors
    assert copied.loop == q.find("for y")
    p, split = sl.split_loop(stencil(), "stencil.y", 1, rc=True)
    q, copied = pickle.loads(pickle.dumps((p, split)))
    assert type(copied) is type(split)
    assert copied.outer == q.find("for y")

    class Local(sl.ReturnedCursors):
        loop: sl.LoopCursor

    q, copied = pickle.loads(pickle.dumps((p, Local(split.outer))))
    assert (type(copied).__name__, copied.fields(), copied.loop) == ("Local", ("loop",), q.find("for y"))


def test_records_inherit_fields() -> None:
    assert FusedAndStoredCursors.fields() == ("loop", "calls", "alloc")
    p, at = fused()
    record = FusedAndStoredCursors(*at, p.find("alloc b0"))
    assert record[:2] == tuple(at)
    with pytest.raises(sl.OperationError) as caught:
        FusedAndStoredCursors(*at)  # type: ignore[call-arg]
    assert str(caught.value) == "FusedAndStoredCursors takes one each of loop, calls, alloc, got 2 by position"
    with pytest.raises(sl.OperationError, match=r"got 1 by position, loop, alloc$"):
        FusedAndStoredCursors(at.loop, loop=at.loop, alloc=at.loop)  # type: ignore[misc]


def test_the_record_of_another_operation_is_a_result() -> None:
    @sl.sched_op(ComputeAtCursors)
    def computed(p: sl.Pipeline, call: sl.CallCursor) -> Any:
        """Pass on all of it."""
        p, at = sl.compute_at(p, call, "for y", rc=True)
        return sl.slide_window(p, at.call, at.loop), at

    @sl.sched_op("loop", "allocs")
    def some(p: sl.Pipeline, call: sl.CallCursor) -> Any:
        """Pass on some of it, in another order."""
        return computed(p, call, rc=True)

    p, at = computed(sl.split_loop(stencil(), "stencil.y", 1), "add", rc=True)
    assert type(at) is ComputeAtCursors
    assert at.call == p.find("add")
    p, chosen = some(sl.split_loop(stencil(), "stencil.y", 1), "add", rc=True)
    assert (chosen.loop, chosen.allocs, len(chosen)) == (p.find("for y"), (p.find("alloc intm"),), 2)

    @sl.sched_op("alloc")
    def only(p: sl.Pipeline, call: sl.CallCursor) -> Any:
        """Pass on the only one of some."""
        return computed(p, call, rc=True)

    p, chosen = only(sl.split_loop(stencil(), "stencil.y", 1), "add", rc=True)
    assert tuple(chosen) == (p.find("alloc intm"),)

    @sl.sched_op("loop", "gap")
    def lacking(p: sl.Pipeline, call: sl.CallCursor) -> Any:
        """Pass on what does not have it all."""
        return computed(p, call, rc=True)

    with pytest.raises(sl.OperationError) as caught:
        lacking(sl.split_loop(stencil(), "stencil.y", 1), "add")
    assert str(caught.value) == (
        "lacking: the operation names loop, gap, but returned a ComputeAtCursors, which has no gap"
    )


def test_classes_that_are_no_records() -> None:
    with pytest.raises(sl.OperationError, match=r"^sched_op takes names of cursors, or a class of records, a subclass"):
        sl.sched_op(int)  # type: ignore[type-var]
    with pytest.raises(sl.OperationError, match="a cursor cannot be called 'fields', which the record of cursors has"):
        type("Wrong", (sl.ReturnedCursors,), {"__annotations__": {"fields": Any}})
    with pytest.raises(sl.OperationError, match="the record Wrong gives 'loop' a value: a field of a record has none"):
        type("Wrong", (sl.ReturnedCursors,), {"__annotations__": {"loop": Any}, "loop": None})
    with pytest.raises(sl.OperationError, match="what an operation returns beside the pipeline are cursors, got 3"):
        sl.sched_op(FusedCursors)(lambda p: (p, FusedCursors(3, ())))(stencil())  # type: ignore[arg-type]


# Pipelines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["unrelated", "older", "sibling"])
def test_what_is_returned_was_made_from_what_was_given(other: str) -> None:
    older = stencil()
    given = sl.rename(older, "given")
    others = {"unrelated": stencil(), "older": older, "sibling": sl.rename(older, "sibling")}

    @sl.sched_op()
    def forgetful(p: sl.Pipeline) -> sl.Pipeline:
        """Return something else."""
        return others[other]

    with pytest.raises(sl.OperationError) as caught:
        forgetful(given)
    assert str(caught.value) == (
        "forgetful: an operation returns a pipeline that it made from the one it was given, "
        f"but {others[other]!r} was not"
    )
    assert forgetful(others[other]) is others[other]
