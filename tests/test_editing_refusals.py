"""What `sl.edit` refuses: statements that are none, names that mean something else, outputs that are not written.

Each is a typed error, at once or when the edit is finished, and the pipeline stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from test_editing import chain, in_loops, x, y

import slinky as sl
from slinky import ir
from slinky.symbolic import variable

# Statements that are none ---------------------------------------------------------------------------------------------


def test_a_buffer_of_another_dtype_is_refused() -> None:
    """Its values would be others: what does not fit would be cut off."""
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.replace("alloc t", attrs.evolve(edit.statement("alloc t"), dtype=np.dtype(np.int8)))
    with pytest.raises(sl.SchedulingError, match="make takes float64 of rank 2, and t is int8 of rank 2"):
        edit.finish()


@pytest.mark.parametrize("where", ["range", "box", "condition", "bounds"])
def test_what_is_divided_by_must_be_known_to_be_positive(where: str) -> None:
    r = sl.scalar("r")
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    sl.Func(np.negative, [inp[x]], [t[x]], name="f")
    sl.Func(np.square, [t[x + r]], [out[x]], name="g")
    p = sl.split_loop(sl.build_pipeline([inp], [out], require=[r >= 0]), "g.x", 1)
    edit = sl.edit(p)
    loop, call, alloc = edit.statement("for x"), edit.statement("g"), edit.statement("alloc t")
    low = sl.minimum(loop.range.min, loop.range.min // r)
    match where:
        case "range":
            edit.replace("for x", ir.with_range(loop, sl.interval(low, loop.range.max)))
        case "box":
            edit.replace("g", ir.with_interval(call, 0, sl.interval(sl.minimum(loop.variable, low), loop.variable)))
        case "condition":
            edit.wrap("g", lambda block: ir.If(loop.variable >= low, block))
        case _:
            wider = sl.interval(sl.minimum(alloc.box[0].min, low), alloc.box[0].max)
            edit.replace("alloc t", ir.with_bounds(alloc, (wider,), (None,)))
    with pytest.raises(sl.SchedulingError, match=r"not shown that the divisor of .* is 1 or more"):
        edit.finish()


def test_a_wrap_that_fails_leaves_the_edit_as_it_was() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)

    def fails(block: ir.Block) -> ir.Statement:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        edit.wrap("f", fails)
    with pytest.raises(sl.OperationError, match=r"expected a statement of slinky\.ir, got None"):
        edit.wrap("f", lambda block: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(sl.OperationError, match="stands in one place"):
        edit.wrap("f", lambda block: ir.If(x >= x, block + block))
    with pytest.raises(sl.OperationError, match="must have them inside"):
        edit.wrap("f", lambda block: ir.Pass())
    known = edit.statement("for y").variable
    edit.wrap("f", lambda block: ir.If(known >= known, block, edit.copy("f")))  # a copy of what is being wrapped
    assert edit.finish().find_all("f")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: ir.For(y, sl.interval(0, 0), 1, ir.Parallel(0), ()), "number of workers must be 1 or more, got 0"),
        (lambda p: ir.For(y, sl.interval(0, 0), 1, None, ()), "mode of For must be ir.SERIAL or ir.Parallel"),
        (lambda p: ir.For("y", sl.interval(0, 0), 1, ir.SERIAL, ()), "variable of For must be a variable"),
        (lambda p: ir.For(sl.scalar("y"), sl.interval(0, 0), 1, ir.SERIAL, ()), "got the scalar y"),
        (lambda p: ir.For(variable("out.x"), sl.interval(0, 0), 1, ir.SERIAL, ()), "an identifier of Python"),
        (lambda p: ir.For(variable("for"), sl.interval(0, 0), 1, ir.SERIAL, ()), "an identifier of Python, got 'for'"),
        (lambda p: ir.For(p.find("f")._call.func.dims[0], sl.interval(0, 0), 1, ir.SERIAL, ()), "an identifier of Py"),
        (lambda p: ir.Call(p.find("f")._call.func, p.find("f")._call.box, (), ("a",)), "f needs 1 buffers to read"),
        (lambda p: ir.For(y, (0, 0), 1, ir.SERIAL, ()), "range of For must be an interval"),
        (lambda p: ir.For(y, sl.interval(0, 0), 1.5, ir.SERIAL, ()), "step of For must be an integer or an expression"),
        (lambda p: ir.If(3, ()), "condition of If must be a condition"),
        (lambda p: ir.If(y >= 0, ir.Pass()), "body of If must be a tuple"),
        (lambda p: ir.Alloc("b b", np.dtype(int), (), (), ()), "an identifier of Python, got 'b b'"),
        (lambda p: ir.Alloc("b", "no", (), (), ()), "must be a dtype, got 'no'"),
        (lambda p: ir.Alloc("b", np.dtype(int), ("x",), (), ()), "1 dimensions, 0 intervals, 0 folds"),
        (lambda p: ir.with_box(p.find("f")._call, ()), "a Call of f needs 2 intervals in its box, got 0"),
    ],
)
def test_statements_that_are_none(make: Callable[[sl.Pipeline], ir.Statement], message: str) -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    with pytest.raises(sl.OperationError, match=message):
        edit.replace("f", make(p))
    assert edit.finish().same_program(p)


def test_integers_are_expressions_and_an_empty_block_a_pass() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    loop = ir.For(sl.variables("again")[0], sl.interval(0, 3), 2, ir.SERIAL, ())
    edit.insert(p.find("for y").before(), loop)
    q = edit.finish()
    assert "  for again in 0..3 step 2:\n    pass\n" in str(q)
    assert len(q.find("for again").body()) == 1


def test_names_that_mean_something_are_no_names_of_buffers() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.rename_buffer("alloc t", "y")
    with pytest.raises(sl.SchedulingError, match="a loop around or behind is called y, too"):
        edit.finish()
    deep = sl.edit(p)
    nest = deep.statement("f")
    for _ in range(101):
        nest = ir.If(y >= y, (nest,))
    with pytest.raises(sl.OperationError, match="nest at most 100 deep"):
        deep.replace("f", nest)


def test_a_buffer_of_another_rank_is_refused() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    alloc = edit.statement("alloc t")
    deeper = attrs.evolve(alloc, dims=(*alloc.dims, "z"), box=(*alloc.box, alloc.box[1]), folds=(None, None, None))
    edit.replace("alloc t", deeper)
    with pytest.raises(sl.SchedulingError, match="make takes float64 of rank 2, and t is float64 of rank 3"):
        edit.finish()


def test_a_statement_has_no_identity_of_another_kind() -> None:
    """Cursors to the loop would be cursors to a call."""
    edit = sl.edit(in_loops(chain(), "f"))
    loop = edit.statement("for y")
    call = ir.with_interval(edit.statement("f"), 0, loop.range)
    with pytest.raises(sl.OperationError, match=r"the identity \d+ is that of a For: a Call cannot have it"):
        edit.replace("for y", attrs.evolve(call, id=loop.id))
    edit.replace("for y", call)
    assert edit.finish().same_program(chain())


def test_a_statement_of_another_pipeline_runs_another_func() -> None:
    """Even of the same graph, built twice: nobody knows that the callbacks do the same."""
    edit, other = sl.edit(chain()), sl.edit(chain())
    edit.replace("f", other.statement("f"))
    with pytest.raises(sl.SchedulingError, match="another func that is called f: statements of other pipelines have"):
        edit.finish()


# Names ----------------------------------------------------------------------------------------------------------------


def gain() -> sl.Pipeline:
    """`t = -inp; g = sum(inp); out = t * g`: a buffer that has no dimensions."""
    inp, t, g, out = (
        sl.BufferExpr(name, np.int64, rank) for name, rank in (("inp", 1), ("t", 1), ("g", 0), ("out", 1))
    )
    sl.Func(np.negative, [inp[x]], [t[x]], name="make")
    sl.Func(lambda source, target: np.sum(source, out=target), [inp[:]], [g[()]], name="total")
    sl.Func(np.multiply, [t[x], g[()]], [out[x]], name="scale")
    return sl.build_pipeline([inp], [out])


def window(number: type[int] | type[float] = int) -> sl.Pipeline:
    """`t = -inp; out[x] = f(t[x - r .. x + r])`, with r at least 0; or with a float `r` that is known to `f` alone."""
    r = sl.scalar("r")
    inp, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "t", "out"))
    sl.Func(np.negative, [inp[x]], [t[x]], name="make")
    if number is float:
        amount = {"r": sl.scalar("r", float)}
        sl.Func(lambda source, target, r: None, [t[x]], [out[x]], name="f", arguments=amount)
        return sl.build_pipeline([inp], [out])
    sl.Func(lambda source, target: None, [t[sl.interval(x - r, x + r)]], [out[x]], name="f")
    return sl.build_pipeline([inp], [out], require=[r >= 0])


@pytest.mark.parametrize(
    ("p", "alloc", "name", "message"),
    [
        (window(), "alloc t", "r", "a scalar is called r, too"),
        (window(float), "alloc t", "r", "a scalar is called r, too"),
        (window(), "alloc t", "out", "another buffer called out is in scope"),
        (gain(), "alloc g", "t", "another buffer called t is in scope"),
        (sl.split_loop(gain(), "scale.x", 1), "alloc g", "x", "a loop around or behind is called x, too"),
        (sl.split_loop(gain(), "make.x", 1), "alloc t", "x", "a loop around or behind is called x, too"),
    ],
)
def test_a_buffer_is_not_called_like_something_else(p: sl.Pipeline, alloc: str, name: str, message: str) -> None:
    edit = sl.edit(p)
    edit.rename_buffer(alloc, name)
    with pytest.raises(sl.SchedulingError, match=message) as caught:
        edit.finish()
    assert f"\n>   alloc {name}: int64[" in str(caught.value)


def test_what_must_be_positive_means_one_thing() -> None:
    edit = sl.edit(in_loops(chain(), "f"))
    for name in ("y", "inp", "t"):
        with pytest.raises(sl.OperationError, match=f"step names the scalar {name}, but the program calls something"):
            edit.require_positive(sl.scalar(name), "step")
    with pytest.raises(sl.OperationError, match="step: expected"):
        edit.require_positive("n", "step")  # type: ignore[arg-type]
    with pytest.raises(sl.SchedulingError, match="step must be 1 or more, got 0"):
        edit.require_positive(0, "step")
    edit.require_positive(sl.scalar("n"), "step")
    edit.wrap("for y", lambda block: ir.For(variable("n"), sl.interval(0, 0), sl.scalar("n"), ir.SERIAL, block))
    with pytest.raises(sl.SchedulingError, match="the name 'n' of a loop means something else already"):
        edit.finish()


# What a pipeline requires ---------------------------------------------------------------------------------------------


def test_only_what_an_edit_uses_becomes_a_check() -> None:
    plain = window()
    p = sl.split_loop(plain, "f.x", 1)
    n, r = sl.scalar("n"), sl.scalar("r")
    edit = sl.edit(p)
    edit.require_positive(3 - r, "what nobody uses")
    edit.require_positive(n, "what nobody uses")
    assert edit.finish().same_program(p)
    loop = edit.statement("for x")
    edit.replace("for x", ir.with_range(loop, loop.range, n))
    edit.replace("f", ir.with_interval(edit.statement("f"), 0, sl.interval(loop.variable, loop.variable + n - 1)))
    with pytest.raises(sl.SchedulingError, match="n means nothing here"):
        edit.finish()
    edit.require_positive(3 - r, "what nobody uses")
    edit.require_positive(n, "the factor")
    assert edit.finish().same_program(sl.split_loop(plain, "f.x", n))


# Outputs --------------------------------------------------------------------------------------------------------------


def squares() -> sl.Pipeline:
    """`out = inp * inp`, element by element."""
    inp, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "out"))
    sl.Func(np.square, [inp[x]], [out[x]], name="square")
    return sl.split_loop(sl.build_pipeline([inp], [out]), "square.x", 1)


def fewer(edit: sl.Editor) -> None:
    loop = edit.statement("for x")
    edit.replace("for x", ir.with_range(loop, sl.interval(loop.range.min, sl.minimum(loop.range.max, 100))))


def every_second(edit: sl.Editor) -> None:
    loop = edit.statement("for x")
    edit.replace("for x", ir.with_range(loop, loop.range, 2))


def backwards(edit: sl.Editor) -> None:
    loop = edit.statement("for x")
    edit.substitute("square", {loop.variable: loop.range.min + loop.range.max - loop.variable})


def if_it_is_odd(edit: sl.Editor) -> None:
    loop = edit.statement("for x")
    edit.wrap("square", lambda block: ir.If(sl.equal(loop.variable % 2, 1), block))


def even_and_odd(edit: sl.Editor) -> None:
    loop, other = edit.statement("for x"), edit.copy("square")
    edit.wrap("square", lambda block: ir.If(sl.equal(loop.variable % 2, 0), block, other))


def not_at_all(edit: sl.Editor) -> None:
    edit.delete("for x")


CHECKS = """at:
  pipeline square(inp: int64[1]) -> (out: int64[1]):
    check inp.x.min <= out.x.min
    check out.x.max <= inp.x.max
"""

UNWRITTEN: dict[Callable[[sl.Editor], None], str] = {
    fewer: f"""not shown that all of output out is written
not shown: out.x.max <= 100; it does not hold for out.x.max = 101, inp.x.min = 0, inp.x.max = 101, out.x.min = 0
{CHECKS}    for x in out.x.min .. min(out.x.max, 100):
>     out[x] = square(inp[x])""",
    every_second: f"""not all of output out is written
for example: with out.x = 0..1, nothing writes out[1]
{CHECKS}    for x in out.x.min..out.x.max step 2:
>     out[x] = square(inp[x])""",
    backwards: f"""not shown that all of output out is written
not shown: out.x.max <= out.x.min; it does not hold for out.x.min = -1, out.x.max = 0, inp.x.min = -1, inp.x.max = 0
{CHECKS}    for x in out.x.min..out.x.max:
>     out[out.x.min + out.x.max - x] = square(inp[out.x.min + out.x.max - x])""",
    if_it_is_odd: f"""not all of output out is written
for example: with out.x = 0..0, nothing writes out[0]
{CHECKS}    for x in out.x.min..out.x.max:
      if 2*(x // 2) == x - 1:
>       out[x] = square(inp[x])""",
    even_and_odd: f"""not shown that all of output out is written
not shown: x <= 2*(x // 2), with which square would write all of it alone
{CHECKS}    for x in out.x.min..out.x.max:
      if 2*(x // 2) == x:
        out[x] = square(inp[x])
      else:
        out[x] = square(inp[x])
>   (here)""",
    not_at_all: f"""not all of output out is written
for example: with out.x = 0..0, nothing writes out[0]
{CHECKS}>   (here)""",
}


@pytest.mark.parametrize("change", UNWRITTEN, ids=lambda change: change.__name__)
def test_an_output_that_is_not_written_in_full(change: Callable[[sl.Editor], None]) -> None:
    """The place is the call that writes it, or the end of the program."""
    edit = sl.edit(squares())
    change(edit)
    with pytest.raises(sl.SchedulingError) as caught:
        edit.finish()
    assert str(caught.value) == UNWRITTEN[change]


def test_a_program_of_which_nothing_is_left() -> None:
    out = sl.BufferExpr("out", np.int64, 1)
    sl.Func(lambda target: None, [], [out[x]], name="make")
    edit = sl.edit(sl.build_pipeline([], [out]))
    edit.delete("make")
    with pytest.raises(sl.SchedulingError) as caught:
        edit.finish()
    assert str(caught.value) == (
        "not all of output out is written\nfor example: with out.x = 0..0, nothing writes out[0]"
    )


@pytest.mark.parametrize("condition", ["the bounds of an array", "a stride", "a scalar"])
def test_whichever_way_an_if_goes_the_output_is_written(condition: str) -> None:
    """Serial or parallel, of a condition of which nothing is known."""
    out, r = sl.BufferExpr("out", np.int64, 1).dim(0), sl.scalar("r")
    chosen = {"the bounds of an array": out.extent <= 3, "a stride": out.stride <= 8, "a scalar": r >= 2}[condition]
    p = sl.split_loop(window(), "f.x", 1)
    edit = sl.edit(p)
    other = edit.copy("for x")[0]
    assert isinstance(other, ir.For)
    parallel = ir.with_mode(other, ir.Parallel())
    edit.wrap("for x", lambda block: ir.If(chosen, block, (parallel,)))
    q = edit.finish()
    q.verify()
    assert str(q).endswith(
        "    for x in out.x.min..out.x.max:\n      out[x] = f(t[x - r .. x + r])\n"
        "  else:\n    for x_1 in out.x.min..out.x.max parallel:\n      out[x_1] = f(t[x_1 - r .. x_1 + r])"
    )
    edit.delete(q.find("f #1"))
    with pytest.raises(sl.SchedulingError, match=r"all of output out is written\n(not shown|for example): .*\nat:"):
        edit.finish()


def test_what_an_if_writes_is_there_where_both_sides_write_it() -> None:
    p = sl.split_loop(window(), "f.x", 1)
    edit = sl.edit(p)
    other = edit.copy("make")
    edit.wrap("make", lambda block: ir.If(sl.scalar("r") >= 2, block, other))
    q = edit.finish()
    edit.delete(q.find("make #1"))
    with pytest.raises(sl.SchedulingError, match=r"f (finds|does not find) all of t\["):
        edit.finish()


@pytest.mark.parametrize("name", [3, None, "", "  ", "two\nlines", b"edit", ["edit"], np.str_])
def test_an_edit_is_called_by_a_name(name: Any) -> None:
    edit = sl.edit(chain())
    edit.rename_buffer("alloc t", "between")
    with pytest.raises(sl.OperationError, match=r"finish\(\) expects a name for the edit, in one line, got"):
        edit.finish(name)
    assert edit.finish("renaming").find("alloc between")
