"""What is no pipeline is refused when it is built, with a message that names the culprit and says what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.graph.buffers import RUN_OPTIONS

y, x = sl.variables("y x")
r = sl.scalar("r")


def buffer(name: str, rank: int = 2) -> sl.BufferExpr:
    return sl.BufferExpr(name, np.int32, rank)


def nothing(*arrays: np.ndarray) -> None:
    """A callback that is never run."""


def refused(make: Callable[[], object]) -> str:
    with pytest.raises(sl.GraphError) as caught:
        make()
    return str(caught.value)


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "two words", "1st", 3, None])
def test_a_name_must_be_an_identifier(name: str) -> None:
    expected = f"needs a name that is a Python identifier, such as 'blurred', got {name!r}"
    assert refused(lambda: sl.BufferExpr(name, np.int32, 1)) == f"a buffer {expected}"
    assert refused(lambda: sl.scalar(name)) == f"a scalar {expected}"
    if name is not None:
        assert refused(lambda: sl.Func(nothing, [], [buffer("out")[y, x]], name=name)) == f"a func {expected}"


def test_a_name_must_not_be_a_reserved_word() -> None:
    assert refused(lambda: buffer("in")) == "a buffer cannot be called 'in', which is a reserved word of Python"
    assert (
        refused(lambda: sl.variables("x if")) == "a variable cannot be called 'if', which is a reserved word of Python"
    )


def test_options_of_run_are_known_to_scalars() -> None:
    options = {
        parameter.name
        for method in (sl.Pipeline.run, sl.Pipeline.memory, sl.Pipeline.trace)
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert options == RUN_OPTIONS


@pytest.mark.parametrize("name", sorted(RUN_OPTIONS))
def test_a_scalar_must_not_be_called_like_an_option_of_run(name: str) -> None:
    assert refused(lambda: sl.scalar(name)) == f"a scalar cannot be called {name!r}, which is an option of Pipeline.run"


def test_variables_need_a_name() -> None:
    assert (
        refused(lambda: sl.variables(" ")) == "variables() expects names separated by spaces, such as 'y x', got none"
    )
    assert refused(lambda: sl.variables(["y", "x"])) == (
        "variables() expects names separated by spaces, such as 'y x', got ['y', 'x']"
    )


def test_a_name_that_stands_for_any_name() -> None:
    def _(*arrays: np.ndarray) -> None:
        pass

    assert refused(lambda: buffer("_")) == "a buffer cannot be called '_', which stands for any name in patterns"
    assert sl.Func(_, [], [buffer("out")[y, x]]).name == "func"


def test_two_buffers_of_one_name() -> None:
    first, second, out = buffer("inp"), buffer("inp"), buffer("out")
    sl.Func(np.add, [first[y, x], second[y, x]], [out[y, x]])
    message = refused(lambda: sl.build_pipeline([first, second], [out]))
    assert message == "two different buffers are called 'inp'; names must be unique in a pipeline"


def test_two_funcs_of_one_name() -> None:
    inp, middle, out = buffer("inp"), buffer("middle"), buffer("out")
    sl.Func(np.negative, [inp[y, x]], [middle[y, x]], name="flip")
    sl.Func(np.negative, [middle[y, x]], [out[y, x]], name="flip")
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    assert message == "two funcs are called 'flip'; names must be unique in a pipeline"


def test_a_scalar_and_a_buffer_of_one_name() -> None:
    inp, out = buffer("r"), buffer("out")
    sl.Func(nothing, [inp[sl.interval(y, y + r), x]], [out[y, x]], name="f")
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    assert message == "a scalar and a buffer are both called 'r'; names must be unique"


def test_the_name_of_a_pipeline() -> None:
    inp, out = buffer("inp"), buffer("out")
    sl.Func(np.negative, [inp[y, x]], [out[y, x]])
    message = refused(lambda: sl.build_pipeline([inp], [out], name="my pipeline"))
    assert message == "a pipeline needs a name that is a Python identifier, such as 'blurred', got 'my pipeline'"


# Buffers and accesses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [-1, 1.0, True, "2"])
def test_the_rank_of_a_buffer(rank: int) -> None:
    message = refused(lambda: sl.BufferExpr("inp", np.int32, rank))
    assert message == f"the rank of buffer 'inp' must be an integer, 0 or more, got {rank!r}"


def test_more_dimensions_than_numpy_has() -> None:
    assert sl.BufferExpr("inp", np.int32, 64).rank == 64
    for rank in (65, 10**9):
        assert refused(lambda r=rank: sl.BufferExpr("inp", np.int32, r)) == (
            f"the rank of buffer 'inp' must be at most 64, as in NumPy, got {rank}"
        )


@pytest.mark.parametrize("dtype", [object, "V0", "U0", (np.int32, (2,))])
def test_the_dtype_of_a_buffer(dtype: object) -> None:
    message = refused(lambda: sl.BufferExpr("inp", dtype, 1))
    assert message.startswith("buffer 'inp' needs a dtype of fixed size without Python objects, got ")


@pytest.mark.parametrize("dtype", ["nonsense", None, 3, "i4,nonsense"])
def test_what_is_no_dtype(dtype: object) -> None:
    message = refused(lambda: sl.BufferExpr("inp", dtype, 1))
    assert message.startswith(f"buffer 'inp' needs a dtype, such as np.float32, got {dtype!r}")


def test_ranks_that_disagree() -> None:
    inp = buffer("inp", 2)
    assert refused(lambda: inp[y]) == "buffer 'inp' has rank 2, so an access needs 2 intervals, got 1"
    assert refused(lambda: inp[y, x, 0]) == "buffer 'inp' has rank 2, so an access needs 2 intervals, got 3"
    assert refused(lambda: inp[y, x, ..., 0]) == "buffer 'inp' has rank 2, so an access needs 2 intervals, got 3"


def test_a_slice_with_ends() -> None:
    assert refused(lambda: buffer("inp", 1)[0:3]) == (
        "dimension 0 of 'inp': a slice with ends is ambiguous here; "
        "write sl.interval(lo, hi), both included, or : for the whole dimension"
    )


@pytest.mark.parametrize("item", [1.5, "x", None, True])
def test_an_access_that_is_no_expression(item: object) -> None:
    message = refused(lambda: buffer("inp")[y, item])
    assert message == f"dimension 1 of 'inp' needs an expression, sl.interval(lo, hi) or :, got {item!r}"


@pytest.mark.parametrize("index", [2, -3, "y", True])
def test_a_dimension_that_is_not_there(index: int) -> None:
    assert refused(lambda: buffer("inp").dim(index)) == f"buffer 'inp' has dimensions 0 to 1, got {index!r}"


def test_a_buffer_is_no_sequence() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(buffer("inp", 1))


def test_the_origin_of_a_constant() -> None:
    message = refused(lambda: sl.constant("weights", [[1, 2]], min=(0,)))
    assert message == "constant 'weights' has rank 2, but min has 1 coordinates"


@pytest.mark.parametrize(("array", "min"), [([[1], [1, 2]], None), ([1, 2], 3), ([1, 2], ("a",)), ([1, 2], (0.5,))])
def test_what_is_no_constant(array: object, min: object) -> None:
    message = refused(lambda: sl.constant("weights", array, min=min))
    assert message.startswith("constant 'weights' needs an array and as min integers, one per dimension: ")


def test_what_is_assigned_to_a_dimension() -> None:
    rows = buffer("inp").dim(0)
    assert repr(rows) == "<Dimension 0 of inp>"
    assert refused(lambda: setattr(rows, "min", "3")) == (
        "the min of dimension 0 of buffer 'inp': expected an integer or an integer expression, got '3' of type str"
    )
    assert refused(lambda: setattr(rows, "max", y + r)) == (
        "the max of dimension 0 of buffer 'inp' is the same everywhere, so it cannot depend on variable y"
    )
    with pytest.raises(AttributeError):
        rows.maximum = 3


# Funcs ----------------------------------------------------------------------------------------------------------------


def test_a_func_needs_a_callable() -> None:
    assert refused(lambda: sl.Func(3, [], [buffer("out")[y, x]])) == "a func needs a callable, got 3"


def test_a_ufunc_is_called_as_it_can_be() -> None:
    inp, out = buffer("inp"), buffer("out")
    assert refused(lambda: sl.Func(np.add, [inp[y, x]], [out[y, x]])) == (
        "func 'add': the ufunc add takes 2 inputs and 1 outputs, got 1 and 1"
    )
    assert refused(lambda: sl.Func(np.modf, [inp[y, x]], [out[y, x]])) == (
        "func 'modf': the ufunc modf takes 1 inputs and 2 outputs, got 1 and 1"
    )
    assert refused(lambda: sl.Func(np.negative, [inp[y, x]], [out[y, x]], arguments={"out": 3})) == (
        "func 'negative': the ufunc negative gets its outputs as its argument 'out'"
    )
    assert refused(lambda: sl.Func(np.negative, [inp[y, x]], [out[y, x]], pass_buffers=True)) == (
        "func 'negative': the ufunc negative takes arrays, it cannot have pass_buffers"
    )
    sl.Func(np.negative, [inp[y, x]], [out[y, x]])


def test_a_func_needs_an_output() -> None:
    message = refused(lambda: sl.Func(nothing, [buffer("inp")[y, x]], [], name="f"))
    assert message == "func 'f' produces nothing: give at least one output access"


def test_inputs_and_outputs_are_lists_of_accesses() -> None:
    inp, out = buffer("inp"), buffer("out")
    assert refused(lambda: sl.Func(nothing, inp[y, x], [out[y, x]], name="f")) == (
        "func 'f': inputs must be a list of accesses, such as [inp[y, x]], got one alone"
    )
    assert refused(lambda: sl.Func(nothing, [inp], [out[y, x]], name="f")) == (
        "func 'f': input 'inp' needs an interval per dimension, such as inp[...]"
    )
    assert refused(lambda: sl.Func(nothing, [inp[y, x]], [3], name="f")) == (
        "func 'f': an output must be an access, buffer[...], got 3"
    )
    assert refused(lambda: sl.Func(nothing, None, [out[y, x]], name="f")) == (
        "func 'f': inputs must be a list of accesses, such as [b[...]], got None"
    )


@pytest.mark.parametrize(
    ("access", "shown"),
    [
        (lambda out: out[y + 1, x], "out[y + 1, x] must be a plain variable, such as y, got y + 1"),
        (lambda out: out[0, x], "out[0, x] must be a plain variable, such as y, got 0"),
        (lambda out: out[:, x], "out[:, x] must be a plain variable, such as y, got :"),
        (lambda out: out[r, x], "out[r, x] must be a plain variable, such as y, got r"),
        (
            lambda out: out[sl.interval(y, y + 1), x],
            "out[y .. y + 1, x] must be a plain variable, such as y, got y .. y + 1",
        ),
    ],
)
def test_an_output_dimension_that_is_no_plain_variable(access: Callable[[sl.BufferExpr], object], shown: str) -> None:
    message = refused(lambda: sl.Func(nothing, [], [access(buffer("out"))], name="f"))
    assert message == f"func 'f': dimension 0 of its output {shown}"


def test_a_variable_twice_in_an_output() -> None:
    message = refused(lambda: sl.Func(nothing, [], [buffer("out")[x, x]], name="f"))
    assert message == "func 'f': its output out[x, x] uses variable x twice"


def test_a_variable_used_by_no_output() -> None:
    message = refused(lambda: sl.Func(nothing, [buffer("inp")[y, x]], [buffer("out", 1)[y]], name="f"))
    assert message == (
        "func 'f': variable x in its input inp[y, x] is used by no output (variables of the outputs: y); "
        "for a reduced dimension write : or sl.interval(lo, hi)"
    )


def test_a_buffer_with_two_producers() -> None:
    inp, out = buffer("inp"), buffer("out")
    sl.Func(nothing, [inp[y, x]], [out[y, x]], name="first")
    message = refused(lambda: sl.Func(nothing, [inp[y, x]], [out[y, x]], name="second"))
    assert message == "buffer 'out' has two producers: func 'first' and func 'second'"


def test_an_output_twice() -> None:
    out = buffer("out")
    message = refused(lambda: sl.Func(nothing, [], [out[y, x], out[y, x]], name="f"))
    assert message == "func 'f' lists its output 'out' twice"


def test_a_constant_as_an_output() -> None:
    weights = sl.constant("weights", np.ones(3))
    message = refused(lambda: sl.Func(nothing, [], [weights[x]], name="f"))
    assert message == "func 'f' cannot write to 'weights', which is a constant"


def test_a_func_that_reads_its_own_output() -> None:
    out = buffer("out")
    message = refused(lambda: sl.Func(nothing, [out[y - 1, x]], [out[y, x]], name="scan"))
    assert message == "func 'scan' reads its own output 'out': the graph has a cycle"


def test_a_cycle_through_several_funcs() -> None:
    a, b, c = buffer("a"), buffer("b"), buffer("c")
    sl.Func(nothing, [a[y, x]], [b[y, x]], name="first")
    sl.Func(nothing, [b[y, x]], [c[y, x]], name="second")
    message = refused(lambda: sl.Func(nothing, [c[y, x]], [a[y, x]], name="third"))
    assert message == "func 'third' produces 'a' and also depends on it: the graph has a cycle"


def test_a_refused_func_changes_nothing() -> None:
    inp, out = buffer("inp"), buffer("out")
    refused(lambda: sl.Func(nothing, [inp[y, sl.variables("z")[0]]], [out[y, x]], name="wrong"))
    sl.Func(nothing, [inp[y, x]], [out[y, x]], name="right")
    assert out.producer is not None
    assert out.producer.name == "right"


def test_an_inverted_interval() -> None:
    inp, out = buffer("inp"), buffer("out")
    sl.Func(nothing, [inp[sl.interval(y, 2 * y), x]], [out[y, x]], name="f")
    assert refused(lambda: sl.build_pipeline([inp], [out])) == (
        "func 'f': the interval y..2*y of its input inp must not be empty, as it is for y = -1; "
        "sl.interval(y, sl.maximum(y, 2*y)) never is"
    )
    out = buffer("out")
    sl.Func(nothing, [inp[sl.interval(y + 1, y), x]], [out[y, x]], name="f")
    assert refused(lambda: sl.build_pipeline([inp], [out])) == (
        "this can never hold: the interval y + 1 .. y of inp, read by func f, must not be empty"
    )


def test_a_boundary_of_the_output_leaves_something_wherever_there_is_an_output() -> None:
    def sums(source: sl.Buffer, target: sl.Buffer) -> None:
        first, last = source.min[0], source.max[0]
        for k, row in enumerate(target.array, target.min[0]):
            row[...] = source.array[max(k - 1, first) - first : min(k + 1, last) + 1 - first].sum(0)

    inp, out = buffer("inp"), buffer("out")
    first, last = out.dim(0).min, out.dim(0).max
    natural = sl.interval(sl.maximum(y - 1, first), sl.minimum(y + 1, last))
    sl.Func(sums, [inp[natural, x]], [out[y, x]], name="f", pass_buffers=True)
    p = sl.build_pipeline([inp], [out])
    data = np.arange(28, dtype=inp.dtype).reshape(7, 4)
    around = np.pad(data, ((1, 1), (0, 0)))
    for changed in (p, sl.split_loop(p, "f.y", 3), sl.split_loop(p, "f.y", 3, tail="shift")):
        result = np.zeros_like(data)
        changed.run(data, result, checked=True)
        np.testing.assert_array_equal(result, around[:-2] + around[1:-1] + around[2:])
        changed.run(data[:0], result[:0], checked=True)


def test_an_example_of_nothing_is_one_that_there_may_be() -> None:
    inp, out = buffer("inp"), buffer("out")
    sl.Func(nothing, [inp[sl.interval(out.dim(0).min + 3, y), x]], [out[y, x]], name="f")
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    example = message.partition("as it is for ")[2].partition(";")[0]
    values = {name: int(value) for name, value in (each.split(" = ") for each in example.split(", "))}
    low, high = values["out.dim(0).min"], values["out.dim(0).max"]
    assert low <= values["y"] <= high
    assert low + 3 > values["y"]


@pytest.mark.parametrize(("radius", "requirements"), [(1, []), (r, [r >= 0])])
def test_a_boundary_that_leaves_nothing(radius: Any, requirements: list[Any]) -> None:
    """The natural way to write it is empty far outside. The way that the message gives is not."""
    inp = buffer("inp")
    first, last = inp.dim(0).min, inp.dim(0).max
    natural = sl.interval(sl.maximum(y - radius, first), sl.minimum(y + radius, last))
    sl.Func(nothing, [inp[natural, x]], [(out := buffer("out"))[y, x]], name="f")
    message = refused(lambda: sl.build_pipeline([inp], [out], require=requirements))
    assert " of its input inp must not be empty, as it is for y = " in message
    _, _, advice = message.partition("keep both ends inside: ")
    code, _, require = advice.partition(", and let the pipeline require it: build_pipeline(..., require=")
    assert not require
    instead = eval(code, {"sl": sl, "inp": inp, "y": y, "r": r})
    sl.Func(nothing, [inp[instead, x]], [(out := buffer("out"))[y, x]], name="f")
    sl.build_pipeline([inp], [out], require=requirements).verify()


def test_a_boundary_that_needs_a_requirement() -> None:
    inp, out = buffer("inp"), buffer("out")
    first, last = inp.dim(0).min, inp.dim(0).max
    sl.Func(nothing, [inp[sl.interval(sl.maximum(y - r, first), sl.minimum(y + r, last)), x]], [out[y, x]], name="f")
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    assert message.endswith(", and let the pipeline require it: build_pipeline(..., require=[r >= 0])")


def test_arguments_of_callbacks() -> None:
    def make(name: str, value: object) -> sl.Func:
        return sl.Func(nothing, [], [buffer("out")[y, x]], name="f", arguments={name: value})

    assert refused(lambda: make("at", y)).startswith("func 'f': variable y in its argument 'at' is used by no output")
    assert refused(lambda: make("at", r >= 1)) == "func 'f': argument 'at' must be an integer expression, got 1 <= r"
    assert refused(lambda: sl.Func(nothing, [], [buffer("out")[y, x]], name="f", arguments=[3])) == (
        "func 'f': arguments must be a dictionary, values by name, got [3]"
    )
    assert refused(lambda: make("a b", 1)).startswith(
        "an argument of func 'f' needs a name that is a Python identifier"
    )
    assert refused(lambda: make("at", buffer("inp").dim(0).fold_factor)) == (
        "func 'f': inp.dim(0).fold_factor in its argument 'at' depends on the schedule"
    )


# Pipelines ------------------------------------------------------------------------------------------------------------


def three_rows(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source[:-2] + source[1:-1] + source[2:]


def stencil() -> tuple[sl.BufferExpr, sl.BufferExpr, sl.BufferExpr]:
    inp, intm, out = buffer("inp"), buffer("intm"), buffer("out")
    sl.Func(np.negative, [inp[y, x]], [intm[y, x]], name="negate")
    sl.Func(three_rows, [intm[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="stencil")
    return inp, intm, out


def test_inputs_and_outputs_of_a_pipeline_are_lists_of_buffers() -> None:
    inp, _, out = stencil()
    assert refused(lambda: sl.build_pipeline(inp, [out])) == (
        "inputs of a pipeline must be a list, such as [inp], got one buffer alone"
    )
    assert refused(lambda: sl.build_pipeline([inp], out)) == (
        "outputs of a pipeline must be a list, such as [out], got one buffer alone"
    )
    assert refused(lambda: sl.build_pipeline([np.zeros(3)], [out])) == (
        "inputs of a pipeline must be a list of sl.BufferExpr, got array([0., 0., 0.]) in it"
    )
    assert refused(lambda: sl.build_pipeline([inp, inp], [out])) == "buffer 'inp' stands twice among the inputs"
    assert refused(lambda: sl.build_pipeline([inp], [out, out])) == "buffer 'out' stands twice among the outputs"
    assert refused(lambda: sl.build_pipeline(None, [out])) == (
        "inputs of a pipeline must be a list of sl.BufferExpr, got None"
    )
    assert refused(lambda: sl.build_pipeline([inp], [])) == "a pipeline needs at least one output"


def test_inputs_that_are_none() -> None:
    inp, intm, out = stencil()
    weights = sl.constant("weights", np.ones(3))
    assert refused(lambda: sl.build_pipeline([inp, intm], [out])) == (
        "buffer 'intm' is listed as an input, but func 'negate' produces it"
    )
    assert refused(lambda: sl.build_pipeline([inp, weights], [out])) == (
        "buffer 'weights' is a constant, so it must not be listed as an input"
    )


def test_inputs_that_no_output_needs() -> None:
    """They are parameters like the others, so that a signature can be kept; one warning names all of them."""
    inp, _, out = stencil()
    others = buffer("other"), buffer("more", 1)
    others[1].dim(0).min = 0
    with pytest.warns(sl.UnusedInputWarning) as caught:
        p = sl.build_pipeline([others[0], inp, others[1]], [out], name="p")
    assert [str(warning.message) for warning in caught] == ["no output of the pipeline needs what is in other, more"]
    assert caught[0].filename == __file__
    assert str(p).startswith("pipeline p(other: int32[2], inp: int32[2], more: int32[1]) -> (out: int32[2]):\n")
    p.verify()
    image, unused = np.ones((6, 6), np.int32), (np.zeros((0, 3), np.int32), np.zeros(2, np.int32))
    shape = tuple(extent - 2 for extent in image.shape)
    for scheduled in (p, sl.split_loop(p, "stencil.y", 2)):
        target = sl.Buffer(np.zeros(shape, np.int32), min=(1, 1))
        scheduled.run(unused[0], image, unused[1], target, checked=True)
        np.testing.assert_array_equal(target.array, np.full(shape, -3))
    with pytest.raises(sl.ArgumentError, match="argument other: expected rank 2"):
        p(unused[1], image, unused[1], target)
    with pytest.raises(sl.CheckFailedError, match="assigned to a dimension of more"):
        p(unused[0], image, sl.Buffer(unused[1], min=(1,)), target)


def test_an_input_whose_bounds_alone_are_needed() -> None:
    """It says how much of another array is read, and no warning is given."""
    inp, grid, out = buffer("inp", 1), buffer("grid", 1), buffer("out", 1)
    sl.Func(nothing, [inp[sl.interval(0, sl.maximum(grid.dim(0).extent, 1))]], [out[y]], name="f")
    assert "f(inp[0 .. max(grid." in str(sl.build_pipeline([inp, grid], [out]))


def test_an_input_that_has_the_name_of_another_buffer() -> None:
    inp, _, out = stencil()
    assert "two different buffers are called 'intm'" in refused(lambda: sl.build_pipeline([inp, buffer("intm")], [out]))


def test_an_input_that_is_missing() -> None:
    _, _, out = stencil()
    message = refused(lambda: sl.build_pipeline([], [out]))
    assert message == "func 'negate' reads 'inp', which no func produces and which is not listed as an input"


def test_an_output_that_nothing_produces() -> None:
    inp, _, _ = stencil()
    message = refused(lambda: sl.build_pipeline([inp], [buffer("other")]))
    assert message == "buffer 'other' is listed as an output, but no func produces it"


def test_bounds_that_nothing_determines() -> None:
    inp, intm, out = buffer("inp"), buffer("intm"), buffer("out", 1)
    sl.Func(nothing, [inp[y, :]], [intm[y, x]], name="spread")
    sl.Func(nothing, [intm[y, :]], [out[y]], name="total")
    assert refused(lambda: sl.build_pipeline([inp], [out])) == (
        "nothing determines dimension 1 of 'intm': its readers take it whole (:), and no input of its producer "
        "'spread' bounds it; assign intm.dim(1).min and .max"
    )
    intm.dim(1).min, intm.dim(1).max = 0, 9
    assert "alloc intm: int32[out.y.min..out.y.max, 0..9]" in str(sl.build_pipeline([inp], [out]))


def test_bounds_that_depend_on_themselves() -> None:
    inp, a, b, out = buffer("inp", 1), buffer("a", 1), buffer("b", 1), buffer("out", 0)
    sl.Func(nothing, [inp[x]], [a[x]], name="first")
    sl.Func(nothing, [a[sl.interval(x, x + a.dim(0).extent)]], [b[x]], name="second")
    sl.Func(nothing, [b[sl.interval(0, 5)]], [out[()]], name="third")
    assert refused(lambda: sl.build_pipeline([inp], [out])) == ("these bounds depend on themselves: a.dim(0).max")


def test_bounds_that_name_a_buffer_that_is_not_there() -> None:
    inp, out, other = buffer("inp"), buffer("out"), buffer("other")
    sl.Func(nothing, [inp[sl.interval(y, y + other.dim(0).extent), x]], [out[y, x]], name="f")
    assert refused(lambda: sl.build_pipeline([inp], [out])) == (
        "func 'f' names other.dim(0).max, but 'other' is not part of the pipeline"
    )


def test_bounds_that_name_a_dimension_that_is_not_there() -> None:
    inp, out = buffer("inp"), buffer("out")
    wide = sl.BufferExpr("inp", np.int32, 3)
    sl.Func(nothing, [inp[sl.interval(y, y + wide.dim(2).extent), x]], [out[y, x]], name="f")
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    assert message == "func 'f' names inp.dim(2).max, but 'inp' has rank 2"


def test_strides_of_intermediates() -> None:
    inp, intm, out = stencil()
    with_stride = [sl.equal(intm.dim(1).stride, 4)]
    message = refused(lambda: sl.build_pipeline([inp], [out], require=with_stride))
    assert message == (
        "a constraint or check names intm.dim(1).stride, but slinky chooses the strides of intermediates"
    )


def test_a_requirement_that_is_no_condition_or_never_holds() -> None:
    inp, _, out = stencil()
    assert refused(lambda: sl.build_pipeline([inp], [out], require=[r])) == (
        "require must be a list of conditions, such as r >= 0, got <r>"
    )
    assert refused(lambda: sl.build_pipeline([inp], [out], require=[r <= r - 1])) == (
        "this can never hold: False is required of the pipeline"
    )
    assert refused(lambda: sl.build_pipeline([inp], [out], require=r >= 0)) == (
        "require must be a list of conditions, such as [r >= 0], got 0 <= r alone"
    )
    assert refused(lambda: sl.build_pipeline([inp], [out], require=[r >= y])) == (
        "y <= r is required before anything runs: variable y has no value then"
    )


def test_assigned_ends_that_disagree_with_the_extent() -> None:
    inp, intm, out = stencil()
    rows = intm.dim(0)
    rows.min, rows.max, rows.extent = 0, 9, 9
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    assert message == "this can never hold: min, max and extent of dimension 0 of intm must agree"


def test_an_assigned_extent_that_is_too_small_for_what_is_needed() -> None:
    inp, intm, out = stencil()
    intm.dim(0).min = out.dim(0).min
    message = refused(lambda: sl.build_pipeline([inp], [out]))
    assert message == (
        "this can never hold: dimension 0 of intm is assigned out.dim(0).min .. out.dim(0).max + 1, "
        "which must contain out.dim(0).min - 1 .. out.dim(0).max + 1"
    )


def test_a_divisor_that_may_be_zero() -> None:
    inp, out = buffer("inp", 1), buffer("out", 1)
    sl.Func(nothing, [inp[y // r]], [out[y]], name="spread")
    assert refused(lambda: sl.build_pipeline([inp], [out])) == (
        "func 'spread': its input inp[y // r] divides by r, which is not known to be at least 1; "
        "let the pipeline require it: build_pipeline(..., require=[r >= 1])"
    )
    assert "check 1 <= r" in str(sl.build_pipeline([inp], [out], require=[r >= 1]))


def test_extents_as_divisors() -> None:
    """What is needed is that they are positive, and that is said in few words."""
    inp, factor, out = buffer("inp", 1), buffer("factor", 3), buffer("out", 1)
    e0, e1, e2 = (factor.dim(d).extent for d in range(3))
    sl.Func(nothing, [inp[y // (e0 * e1 * e2)], factor[:, :, :]], [out[y]], name="spread")
    message = refused(lambda: sl.build_pipeline([inp, factor], [out]))
    assert len(message) < 400
    assert message.startswith("func 'spread': its input inp[...] divides by factor.dim(0).max + ")
    assert message.endswith(
        "which is not known to be at least 1; let the pipeline require it: build_pipeline(..., "
        "require=[factor.dim(0).extent >= 1, factor.dim(1).extent >= 1, factor.dim(2).extent >= 1])"
    )
    p = sl.build_pipeline([inp, factor], [out], require=[e0 >= 1, e1 >= 1, e2 >= 1])
    p(np.zeros(3, np.int32), np.zeros((2, 1, 4), np.int32), np.zeros(24, np.int32))
    with pytest.raises(sl.ArgumentError, match="the pipeline reads inp along"):
        p(np.zeros(3, np.int32), np.zeros((2, 1, 4), np.int32), np.zeros(25, np.int32))


def test_an_array_read_round_and_round() -> None:
    """All of the array is read, wherever the output lies, and no more."""
    inp, out = buffer("inp", 1), buffer("out", 1)
    extent = inp.dim(0).extent
    sl.Func(nothing, [inp[y % extent]], [out[y]], name="wrap")
    p = sl.build_pipeline([inp], [out], require=[extent >= 1])
    assert "wrap(inp[0 .. inp.y.max - inp.y.min])" in str(p)
    for first, count in ((0, 12), (3, 1), (-5, 4)):
        p(np.zeros(4, np.int32), sl.Buffer(np.zeros(count, np.int32), min=(first,)))
    with pytest.raises(sl.ArgumentError, match="the pipeline reads inp along"):
        p(sl.Buffer(np.zeros(4, np.int32), min=(1,)), np.zeros(12, np.int32))


def test_checks_that_no_arrays_can_meet() -> None:
    """A window needs more rows than the output has, which is required to be as large as the input."""
    y, x = sl.variables("y x")
    inp, between, out = (sl.BufferExpr(name, np.float32, 2) for name in ("inp", "between", "out"))
    sl.Func(np.square, [inp[y, x]], [between[y, x]], name="square")
    sl.Func(np.negative, [between[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="middle")
    with pytest.raises(sl.GraphError) as refused:
        sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    assert str(refused.value) == (
        "no arrays can meet all that this pipeline requires: "
        "out.y.min == inp.y.min (out.dim(0).min == inp.dim(0).min is required of the pipeline); "
        "inp.y.min <= out.y.min - 1 (the pipeline reads inp along y from out.y.min - 1 to out.y.max + 1)"
    )
    with pytest.raises(sl.GraphError, match="no arrays can meet all that this pipeline requires"):
        sl.build_pipeline([inp], [out], require=[inp.dim(0).max <= 3, out.dim(0).min >= 10, out.dim(0).extent >= 1])
