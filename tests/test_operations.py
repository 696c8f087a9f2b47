"""Operations of a user's own: what the decorator does with arguments, returned cursors, errors and help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
import pytest
from scheduled import by_rows, stencil, stencils

import examples
import slinky as sl
from slinky.symbolic.expressions import Expr

SEEN: list[Any] = []


@sl.sched_op()
def look(p: sl.Pipeline, place: sl.LoopCursor | sl.CallCursor) -> Any:
    """Note what the argument has become."""
    SEEN.append(place)
    return p


@sl.sched_op()
def look_at_block(p: sl.Pipeline, block: sl.BlockCursor) -> Any:
    """Note what the argument has become."""
    SEEN.append(block)
    return p


@sl.sched_op()
def look_at_maybe(p: sl.Pipeline, dim: Optional[sl.DimCursor] = None, *, size: Expr | None = None) -> Any:  # noqa: UP045
    """Note what the arguments have become."""
    SEEN.append((dim, size))
    return p


@sl.sched_op()
def look_at_gap(p: sl.Pipeline, gap: sl.GapCursor) -> Any:
    """Note what the argument has become."""
    SEEN.append(gap)
    return p


@sl.sched_op("call", "alloc")
def compute_and_fold(p: sl.Pipeline, call: sl.CallCursor, loop: sl.LoopCursor, dim: str = "y") -> Any:
    """Compute a producer in a loop; only what is new, in no more memory than is needed.

    Cursors:
        call: the producer, in the loop.
        alloc: its buffer.
    """
    p, ((alloc,), _, call) = sl.compute_at(p, call, loop, rc=True)
    p = sl.slide_window(p, call, loop)
    p = sl.fold_storage(p, alloc, dim)
    return p, (call, alloc)


@sl.sched_op("loop", "producers")
def fuse_all(p: sl.Pipeline, last: sl.CallCursor, step: Expr) -> Any:
    """Compute a whole chain in a loop of its last func.

    Cursors:
        loop: the loop.
        producers: the calls in it, but the last one.
    """
    p, (loop, _, _) = sl.split_loop(p, last.dim("y"), step, rc=True)
    producers: tuple[sl.CallCursor, ...] = ()
    producer: Any = loop.prev()
    while isinstance(producer, sl.CallCursor):
        p, (call, alloc) = compute_and_fold(p, producer, loop, rc=True)
        producers = (call, *producers)
        producer = alloc.prev()
    return p, (loop, producers)


def seen() -> Any:
    """What the last operation was called with."""
    return SEEN.pop()


# Arguments ------------------------------------------------------------------------------------------------------------


def test_patterns_become_cursors_of_the_kind_asked_for() -> None:
    p, loop, _ = by_rows(stencil())
    look(p, "for y")
    assert seen() == loop
    look(p, "stencil")
    assert seen() == p.find("stencil")
    look(p, place="_ = _ #1")
    assert seen() == p.find("stencil")
    look_at_maybe(p, "stencil.x")
    assert seen() == (p.find("stencil.x"), None)


def test_older_cursors_are_forwarded() -> None:
    p = stencil()
    old = p.find("add")
    q, loop, _ = by_rows(p)
    look(q, old)
    assert seen() == q.find("add")
    look(q, loop)
    assert seen() is loop


def test_a_statement_is_a_block_where_one_is_asked() -> None:
    p, loop, _ = by_rows(stencil())
    for given in (loop, "for y"):
        if isinstance(given, str):
            continue
        look_at_block(p, given)
        assert seen() == loop.as_block()
    look_at_block(p, loop.body())
    assert seen() == loop.body()
    look_at_block(p, p.find("add").before().anchor())
    assert len(seen()) == 1


def test_optional_arguments_and_expressions() -> None:
    p = stencil()
    look_at_maybe(p)
    assert seen() == (None, None)
    look_at_maybe(p, None, size=4)
    dim, size = seen()
    assert dim is None
    assert isinstance(size, Expr)
    assert str(size + sl.scalar("k")) == "k + 4"
    look_at_maybe(p, size=sl.scalar("k"))
    assert seen()[1] is sl.scalar("k")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: look(p, "alloc intm"), sl.OperationError,
         "look: argument place: expected a loop or a call, but 'alloc intm' matches <AllocCursor alloc intm: "),
        (lambda p: look(p, p.find("alloc intm")), sl.OperationError,
         "look: argument place: expected a loop or a call, got <AllocCursor alloc intm: "),
        (lambda p: look(p, p.find("add").before()), sl.OperationError,
         "look: argument place: expected a loop or a call, got <GapCursor before: "),
        (lambda p: look(p, p.find("for y").next()), sl.InvalidCursorError,
         "look: argument place: expected a loop or a call, got an InvalidCursor, which stands for no place"),
        (lambda p: look(p, 3), sl.OperationError,
         "look: argument place: expected a loop or a call or a pattern, got 3"),
        (lambda p: look(p, None), sl.OperationError,
         "look: argument place: expected a loop or a call or a pattern, got None"),
        (lambda p: look(p, "nothing"), sl.PatternError,
         "look: argument place: nothing matches 'nothing' in pipeline stencil; it has funcs: add, stencil; "),
        (lambda p: look(p, "for for for"), sl.PatternError, "look: argument place: cannot understand the pattern"),
        (lambda p: look_at_block(p, p.find("add.y")), sl.OperationError,
         "look_at_block: argument block: expected a block, got <DimCursor add.y of: "),
        (lambda p: look_at_gap(p, p.find("add")), sl.OperationError,
         "look_at_gap: argument gap: expected a gap, got <CallCursor "),
        (lambda p: look_at_maybe(p, "add"), sl.OperationError,
         "look_at_maybe: argument dim: expected a dimension of a call, but 'add' matches <CallCursor "),
        (lambda p: look_at_maybe(p, size="4"), sl.OperationError, "look_at_maybe: argument size: "),
        (lambda p: look_at_maybe(p, size=1.5), sl.OperationError, "look_at_maybe: argument size: "),
        (lambda p: look(p), sl.OperationError, "look: missing a required argument: 'place'"),
        (lambda p: look(p, "for y", "for y"), sl.OperationError, "look: too many positional arguments"),
        (lambda p: look(p, "for y", 1, 2, 3), sl.OperationError, "look: too many positional arguments"),
        (lambda p: look(p, plaec="for y"), sl.OperationError, "look: missing a required argument: 'place'"),
        (lambda p: look(p, "for y", place="for y"), sl.OperationError,
         "look: multiple values for argument 'place'"),
        (lambda p: look_at_maybe(p, dims="add.y"), sl.OperationError,
         "look_at_maybe: got an unexpected keyword argument 'dims'"),
        (lambda p: look("for y", p), sl.OperationError, "look: the first argument must be a Pipeline, got str"),
        (lambda p: sl.split_loop(p, "stencil.x"), sl.OperationError,
         "split_loop: missing a required argument: 'factor'"),
        (lambda p: sl.split_loop(p, "stencil.x", "8"), sl.OperationError, "split_loop: argument factor: "),
        (lambda p: sl.split_loop(p, "stencil.x", 4, tail="none"), sl.OperationError,
         "split_loop: tail must be one of clamp, cut, shift, perfect, got 'none'"),
        (lambda p: sl.split_loop(p, "stencil.x", 4, names=5), sl.OperationError,
         "split_loop: names must be a name or a sequence of names, got 5"),
        (lambda p: sl.split_loop(p, "stencil.x", 4, names=["a", "b"]), sl.OperationError,
         "split_loop: a dimension needs one name, for its loop, got ('a', 'b')"),
        (lambda p: sl.split_loop(p, "for y", 4, names="a"), sl.OperationError,
         "split_loop: a loop needs two names, of the outer and the inner loop, got ('a',)"),
        (lambda p: sl.split_loop(p, "stencil.x", 4, names="a b"), sl.OperationError,
         "split_loop: a loop needs a name that is a Python identifier, such as 'blurred', got 'a b'"),
        (lambda p: sl.split_loop(p, "stencil.x", sl.variables("q")[0]), sl.OperationError,
         "split_loop: the factor names q, which is no scalar and no enclosing loop; use sl.scalar"),
        (lambda p: sl.cut_loop(p, "for y", sl.BufferExpr("intm", "int16", 2).dim(0).min), sl.OperationError,
         "cut_loop: the place to cut names intm.dim(0).min, which is no dimension of an input or output"),
        (lambda p: sl.parallelize_loop(p, "for y", 0), sl.OperationError,
         "parallelize_loop: workers must be an integer, 1 or more, got 0"),
        (lambda p: sl.slide_window(p, "add", "for y", warmup="late"), sl.OperationError,
         "slide_window: warmup must be one of earlier, first, got 'late'"),
        (lambda p: sl.fold_storage(p, "alloc intm", "z"), sl.InvalidCursorError,
         "fold_storage: buffer intm has no dimension 'z'; its dimensions are y, x"),
        (lambda p: sl.unfold_storage(p, "alloc intm", 1.5), sl.InvalidCursorError,
         "unfold_storage: buffer intm has no dimension 1.5; its dimensions are y, x"),
        (lambda p: sl.lift_alloc(p, "alloc intm", "1"), sl.OperationError,
         "lift_alloc: levels must be an integer, 1 or more, got '1'"),
        (lambda p: sl.rename(p, "a b"), sl.OperationError,
         "rename: a pipeline needs a name that is a Python identifier, such as 'blurred', got 'a b'"),
    ],
)  # fmt: skip
def test_wrong_arguments(call: Callable[[sl.Pipeline], object], error: type[Exception], message: str) -> None:
    p, _, _ = by_rows(stencil())
    with pytest.raises(error) as caught:
        call(p)
    assert type(caught.value) is error
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


PRIMITIVES: list[Callable[[sl.Pipeline, Any], object]] = [
    lambda p, c: sl.split_loop(p, c, 2),
    lambda p, c: sl.reorder_loops(p, c),
    lambda p, c: sl.cut_loop(p, c, 3),
    lambda p, c: sl.parallelize_loop(p, c),
    lambda p, c: sl.compute_at(p, c, "for y"),
    lambda p, c: sl.compute_at(p, "add", c),
    lambda p, c: sl.compute_root(p, c),
    lambda p, c: sl.slide_window(p, c, "for y"),
    lambda p, c: sl.slide_window(p, "add", c),
    lambda p, c: sl.fold_storage(p, c, "x"),
    lambda p, c: sl.unfold_storage(p, c, "x"),
    lambda p, c: sl.store_at(p, c, "for y"),
    lambda p, c: sl.store_at(p, "alloc intm", c),
    lambda p, c: sl.lift_alloc(p, c),
    lambda p, c: sl.reorder_statements(p, c),
]


def failure(primitive: Callable[[sl.Pipeline, Any], object], p: sl.Pipeline, place: Any) -> Exception | None:
    """What a primitive raises at a place; None if it is fine there."""
    try:
        primitive(p, place)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_a_wrong_place_is_always_a_typed_error(primitive: Callable[[sl.Pipeline, Any], object]) -> None:
    p, loop, alloc = by_rows(stencil())
    text = str(p)
    call = p.find("add")
    newer = sl.rename(p, "newer")
    sibling = sl.rename(by_rows(stencil())[0], "sibling")
    strangers = [newer.find("for y"), newer.find("add.y"), sibling.find("for y"), examples.blur().find("blur"),
                 sl.InvalidCursor()]  # fmt: skip
    for stranger in strangers:
        with pytest.raises(sl.InvalidCursorError):
            primitive(p, stranger)
    statements = [loop, alloc, call, p.find("check _")]
    finer = [call.before(), call.dim("x"), loop.body(), p.body(), loop.expression("min"), p.args()[0]]
    patterns = ["for y", "alloc intm", "add", "stencil.y", "check _", "_ = _", "intm = _"]
    places = [*statements, *finer, *patterns]
    typed = (sl.OperationError, sl.PatternError, sl.SchedulingError, sl.InvalidCursorError)
    refused = [error for place in places if (error := failure(primitive, p, place)) is not None]
    assert len(refused) >= 10
    for error in refused:
        assert isinstance(error, typed), repr(error)
        assert error.operation != ""
        assert str(error).startswith(f"{error.operation}: ")
    assert str(p) == text


# Returned cursors -----------------------------------------------------------------------------------------------------


def test_a_composite_operation_returns_a_record() -> None:
    p = stencils(3)
    q, (loop, _, _) = sl.split_loop(p, "s3.y", 2, rc=True)
    r, cursors = compute_and_fold(q, "s2", loop, rc=True)
    assert type(cursors).__name__ == "ComputeAndFoldCursors"
    assert cursors.call.parent() == r.forward(loop)
    assert [str(f) for f in cursors.alloc.storage()] == ["4", "None"]
    assert r.forward(cursors.call) == cursors.call
    assert isinstance(compute_and_fold(q, "s2", loop), sl.Pipeline)


def test_a_record_may_hold_tuples_of_cursors() -> None:
    p, cursors = fuse_all(stencils(3), "s3", 1, rc=True)
    assert cursors.loop == p.find("for y")
    assert [c.name() for c in cursors.producers] == ["add", "s1", "s2"]
    assert all(c.parent() == cursors.loop for c in cursors.producers)
    assert all(str(a.storage()[0]) == "3" for a in p.find_all("alloc _"))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "wrong: an operation returns a pipeline and a tuple of its 1 cursors, got None"),
        (3, "wrong: an operation returns a pipeline and a tuple of its 1 cursors, got 3"),
        ("pipeline", "wrong: an operation returns a pipeline and a tuple of its 1 cursors, got <Pipeline stencil"),
        ("too many", "wrong: the operation names 1 cursors, but returned (<"),
        ("no tuple", "wrong: the operation names 1 cursors, but returned <"),
        ("no cursor", "wrong: what an operation returns beside the pipeline are cursors, got 'add'"),
        ("no place", "wrong: what an operation returns beside the pipeline are cursors, got None"),
    ],
)
def test_an_operation_that_does_not_return_what_it_says(returned: object, message: str) -> None:
    p = stencil()
    call = p.find("add")
    answers = {"pipeline": p, "too many": (p, (call, call)), "no tuple": (p, call), "no cursor": (p, ("add",))}
    answers["no place"] = (p, (None,))

    @sl.sched_op("call")
    def wrong(p: sl.Pipeline) -> Any:
        """Return something else."""
        return answers.get(returned, returned) if isinstance(returned, str) else returned

    with pytest.raises(sl.OperationError) as caught:
        wrong(p)
    assert str(caught.value).startswith(message)


def test_a_returned_cursor_of_another_pipeline() -> None:
    @sl.sched_op("call")
    def confused(p: sl.Pipeline) -> Any:
        """Return a cursor to something else."""
        return p, (stencil().find("add"),)

    with pytest.raises(sl.InvalidCursorError, match=r"^confused: the cursor belongs to an unrelated pipeline"):
        confused(stencil(), rc=True)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a b",), "sched_op takes names of cursors, such as 'outer', got 'a b'"),
        (("for",), "sched_op takes names of cursors, such as 'outer', got 'for'"),
        (("_hidden",), "sched_op takes names of cursors, such as 'outer', got '_hidden'"),
        ((3,), "sched_op takes names of cursors, such as 'outer', got 3"),
        (("loop", "loop"), "sched_op names the cursor 'loop' twice"),
        (("fields",), "a cursor cannot be called 'fields', which the record of cursors has already"),
        ((len,), "sched_op takes the names of cursors: write @sched_op(), with parentheses, for none"),
    ],
)
def test_names_of_cursors(names: tuple[Any, ...], message: str) -> None:
    with pytest.raises(sl.OperationError) as caught:
        sl.sched_op(*names)
    assert str(caught.value) == message


def test_an_operation_may_take_any_arguments_by_name() -> None:
    @sl.sched_op()
    def renamed(p: sl.Pipeline, **words: str) -> sl.Pipeline:
        """Rename it to what is given."""
        return sl.rename(p, "_".join(words.values()))

    assert renamed(stencil(), a="very", b="sharp").name == "very_sharp"
    assert list(inspect.signature(renamed).parameters) == ["p", "rc", "words"]


def test_functions_that_cannot_be_operations() -> None:
    with pytest.raises(sl.OperationError, match="nothing: an operation takes a pipeline first, and sched_op adds rc"):

        @sl.sched_op()
        def nothing() -> None:
            """Take no pipeline."""

    with pytest.raises(sl.OperationError, match="own: an operation takes a pipeline first, and sched_op adds rc"):

        @sl.sched_op()
        def own(p: sl.Pipeline, rc: bool) -> sl.Pipeline:
            """Take rc."""
            return p


# Errors ---------------------------------------------------------------------------------------------------------------


def test_a_refusal_inside_an_operation_names_both() -> None:
    p = sl.split_loop(stencils(3), "s3.y", 1)
    with pytest.raises(sl.SchedulingError) as caught:
        compute_and_fold(p, "add", "for y")
    error = caught.value
    assert (error.operation, error.within) == ("compute_at", ["compute_and_fold"])
    assert str(error).startswith(
        "compute_at: s1 reads it outside loop y\n"
        "hint: compute s1 there first (on small arrays, it computes 3.8 times as many elements):\n"
        '  p = sl.compute_at(p, "s2", "for y")\n'
        '  p = sl.compute_at(p, "s1", "for y")\n'
        '  p = sl.compute_at(p, "add", "for y")\n'
        "in compute_and_fold\n"
        "at:\n"
    )


def test_other_errors_inside_an_operation_name_both() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 1)
    with pytest.raises(sl.InvalidCursorError) as caught:
        compute_and_fold(p, "add", "for y", "z")
    assert str(caught.value) == (
        "fold_storage: buffer intm has no dimension 'z'; its dimensions are y, x\nin compute_and_fold"
    )
    with pytest.raises(sl.OperationError) as wrong:
        fuse_all(stencil(), "stencil", 0.5)
    assert str(wrong.value).startswith("fuse_all: argument step: ")


def test_three_operations_deep() -> None:
    @sl.sched_op()
    def everything(p: sl.Pipeline) -> Any:
        """Compute the wrong producer first."""
        return compute_and_fold(p, "add", "for y")

    with pytest.raises(sl.SchedulingError) as caught:
        everything(sl.split_loop(stencils(3), "s3.y", 1))
    assert caught.value.within == ["compute_and_fold", "everything"]
    assert "\nin compute_and_fold, in everything\nat:\n" in str(caught.value)


def test_errors_of_the_operation_itself_are_its_own() -> None:
    @sl.sched_op()
    def careless(p: sl.Pipeline, place: sl.CallCursor) -> Any:
        """Go wrong."""
        return place + 1

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        careless(stencil(), "add")
    assert not isinstance(caught.value, sl.SlinkyError)


# Help -----------------------------------------------------------------------------------------------------------------


def test_help_shows_parameters_and_what_is_returned() -> None:
    signature = inspect.signature(sl.split_loop)
    assert list(signature.parameters) == ["p", "loop", "factor", "tail", "names", "rc"]
    rc = signature.parameters["rc"]
    assert (rc.kind, rc.default) == (inspect.Parameter.KEYWORD_ONLY, False)
    assert sl.split_loop.__name__ == "split_loop"
    doc = sl.split_loop.__doc__ or ""
    assert doc.startswith("Split a dimension of a call, or a loop, into a loop over pieces")
    assert doc.endswith(
        "Returns:\n"
        "    The new pipeline.\n"
        "    With `rc=True` also a SplitLoopCursors, of:\n"
        "        outer: the new loop.\n"
        "        inner: the loop that was split, now over one piece; for a dimension, the dimension of the call.\n"
        '        tail: with `tail="cut"` the statement behind the loop, else an `InvalidCursor`.'
    )
    assert "Cursors:" not in doc


def test_help_of_an_operation_of_the_user() -> None:
    doc = compute_and_fold.__doc__
    assert doc == (
        "Compute a producer in a loop; only what is new, in no more memory than is needed.\n\n"
        "Returns:\n"
        "    The new pipeline.\n"
        "    With `rc=True` also a ComputeAndFoldCursors, of:\n"
        "        call: the producer, in the loop.\n"
        "        alloc: its buffer."
    )
    assert str(inspect.signature(compute_and_fold)).startswith("(p: 'sl.Pipeline', call: 'sl.CallCursor', ")
    assert (look.__doc__ or "").endswith("With `rc=True` also an empty LookCursors.")


@pytest.mark.parametrize("name", ["split_loop", "compute_at", "slide_window", "fold_storage", "store_at", "lift_alloc"])
def test_help_says_what_is_refused(name: str) -> None:
    doc = getattr(sl, name).__doc__
    assert "\nRefused: " in doc
    assert "\n    >>> print(" in doc


@pytest.mark.parametrize(
    ("rewrite", "says"),
    [
        (lambda p, wrong: sl.choose_variant(p, "add", wrong), "a variant is given by its name"),
        (lambda p, wrong: sl.split_loop(p, "add.y", 2, tail=wrong), "tail must be one of"),
        (lambda p, wrong: sl.split_loop(p, "add.y", 2, names=wrong), "names must be a name or a sequence of names"),
        (lambda p, wrong: sl.slide_window(p, "add", "for y", warmup=wrong), "warmup must be one of"),
        (lambda p, wrong: sl.alias_copies(p, keep=wrong), "keep must be names of intermediates"),
        (lambda p, wrong: sl.pipeline_loop(p, "for y", wrong), "argument stages: "),
        (lambda p, wrong: sl.simplify(p, rc=wrong), "rc must be True or False, got"),
        (lambda p, wrong: sl.region(p, "add", wrong), "a buffer is given by its name"),
        (lambda p, wrong: sl.dependences(wrong), "the first argument must be a Pipeline"),
        (lambda p, wrong: sl.loop(sl.variables("y x")[0], tail=wrong), "the tail of the loop over y is"),
        (lambda p, wrong: sl.scalar("n", wrong), "the kind of a scalar is int or float"),
        (lambda p, wrong: sl.build_pipeline([], [], schedule=wrong), "schedule must be one of"),
    ],
)
@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.array(2.5)])
def test_arrays_in_place_of_names_are_refused_as_what_they_are(rewrite: Any, says: str, wrong: Any) -> None:
    """An array that is compared, asked for its truth or gone through raises an error of NumPy's own."""
    with pytest.raises(sl.SlinkyError, match=says):
        rewrite(sl.split_loop(stencil(), "stencil.y", 2), wrong)


def test_a_warm_up_is_peeled_along_one_dimension() -> None:
    p = sl.line_buffer(stencil(), "stencil", "y")
    with pytest.raises(sl.InvalidCursorError, match="has no dimension None"):
        sl.peel_warmup(p, "stencil", None)
