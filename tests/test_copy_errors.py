"""What is no copy: the errors of the functions that make copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl

# ----------------------------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------------------------


def of(name: str, rank: int, dtype: Any = np.int16) -> sl.BufferExpr:
    """A new buffer."""
    return sl.BufferExpr(name, dtype, rank)


c = sl.copies
y, x = sl.variables("y x")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: c.copy(of("a", 1), of("b", 1)[x]), r"copy\(\) takes accesses, such as a\[y - 1, x\]"),
        (lambda: c.copy(of("a", 1)[:], of("b", 1)[x]), r"dimension 0 of a\[:\] must be a point, such as y - 1, got :"),
        (lambda: c.copy(of("a", 1)[sl.interval(x, x + 1)], of("b", 1)[x]), "must be a point"),
        (lambda: c.copy(of("a", 1)[sl.maximum(x, 0)], of("b", 1)[x]), "clamps at edges are said by `outside`"),
        (lambda: c.copy(of("a", 1)[x * y], of("b", 2)[y, x]), "a copy understands sums of multiples of dimensions"),
        (lambda: c.copy(of("a", 1)[y // (x + 1)], of("b", 2)[y, x]), "// and % by what does not depend on them"),
        (lambda: c.copy(of("a", 1)[y], of("b", 1)[x]), "variable y in its input"),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x + 1]), "must be a plain variable"),
        (
            lambda: c.copy(of("a", 1, "f4")[x], of("b", 1)[x]),
            "'a' is float32 and 'b' is int16; a copy changes no dtype",
        ),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x], outside="reflected"), "there is no boundary rule 'reflected'"),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x], outside=0.5), "'b' is filled with 0.5, which int16 does not"),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x], outside=of("c", 1)), "'b' is filled with <BufferExpr c"),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x], outside=of("c", 1, "f4")[x]), "'c' is float32 and 'b' is int16"),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x], implementation=3), "must be callable, got 3"),
        (lambda: c.copy(of("a", 1)[x], of("b", 1)[x], name="a b"), "a func needs a name"),
        (lambda: c.pad(of("a", 1), of("b", 2), 1, 1), r"pad\(\): 'a' and 'b' must have one rank, got 1 and 2"),
        (lambda: c.pad(of("a", 1), of("b", 1), 1, 1, mode="mirror"), r"pad\(\) knows the modes 'constant', 'edge'"),
        (lambda: c.pad(of("a", 1), of("b", 1), 1, 1, mode=["edge"]), r"pad\(\) knows the modes 'constant', 'edge'"),
        (lambda: c.pad(of("a", 1), of("b", 1), [1, 2], 1), r"before is one amount, or one for each of 1 dim.*\[1, 2\]"),
        (lambda: c.pad(of("a", 1), of("b", 1), 1, 0.5), "after: "),
        (lambda: c.pad(of("a", 1), of("b", 1), 1, x), "cannot depend on variable x|variable x"),
        (lambda: c.pad(of("a", 1), of("b", 1), 1, 1, value="k"), "filled with 'k', which int16 does not hold"),
        (lambda: c.pad(np.zeros(3), of("b", 1), 1, 1), r"pad\(\) takes buffers, sl.BufferExpr, got array"),
        (lambda: c.pad(of("a", 1, "f4"), of("b", 1), 1, 1), "a copy changes no dtype"),
        (lambda: c.concatenate([], of("b", 1)), r"concatenate\(\) takes a list of buffers, one or more, got \[\]"),
        (lambda: c.concatenate(of("a", 1), of("b", 1)), r"concatenate\(\) takes a list of buffers"),
        (lambda: c.concatenate([3], of("b", 1)), r"concatenate\(\) takes buffers, sl.BufferExpr, got 3"),
        (lambda: c.concatenate([of("a", 2)], of("b", 1)), "must have one rank, got 2 and 1"),
        (lambda: c.concatenate([of("a", 1)], of("b", 1), axis=1), "axes of a buffer of rank 1 are 0 to 0, got 1"),
        (lambda: c.concatenate([of("a", 1)], 3), r"concatenate\(\) takes buffers, sl.BufferExpr, got 3"),
        (lambda: c.concatenate([of("a", 0)], of("b", 0)), "a buffer without dimensions|rank 0"),
        (lambda: c.stack([of("a", 2)], of("b", 2)), "'a' has rank 2; to make 'b' of rank 2, it needs rank 1"),
        (lambda: c.stack([], of("b", 2)), r"stack\(\) takes a list of buffers"),
        (lambda: c.stack([of("a", 1)], of("b", 2), axis="x"), "axes of a buffer of rank 2 are 0 to 1, got 'x'"),
        (lambda: c.stack([of("a", 1)], "b"), r"stack\(\) takes buffers, sl.BufferExpr, got 'b'"),
        (lambda: c.transpose(of("a", 2), of("b", 1)), "must have one rank"),
        (lambda: c.transpose(of("a", 2), of("b", 2), axes=[0, 0]), r"are 0 to 1, each once, got \[0, 0\]"),
        (lambda: c.transpose(of("a", 2), of("b", 2), axes=[0]), r"are 0 to 1, each once, got \[0\]"),
        (lambda: c.transpose(of("a", 2), of("b", 2), axes=[0, 2]), "are 0 to 1, got 2"),
        (lambda: c.transpose(of("a", 2), of("b", 2), axes=1), "axes"),
        (lambda: c.broadcast(of("a", 2), of("b", 1)), "from rank 2 of 'a' to rank 1 of 'b'"),
        (lambda: c.broadcast(of("a", 1), of("b", 2), axes=[0, 1]), r"there are 1 new axes, got \[0, 1\]"),
        (lambda: c.broadcast(of("a", 1), of("b", 3), axes=[0, 0]), r"there are 2 new axes, got \[0, 0\]"),
        (lambda: c.broadcast(of("a", 1), of("b", 2), axes=0), "axes"),
        (lambda: c.broadcast(3, of("b", 2)), r"broadcast\(\) takes buffers, sl.BufferExpr, got 3"),
        (lambda: c.reshape(of("a", 1), of("b", 2), [3]), "shape is one amount, or one for each of 2 dimensions"),
        (lambda: c.reshape(of("a", 1), of("b", 2), [-1, -1]), r"one extent can be -1, got \[-1, -1\]"),
        (lambda: c.reshape(of("a", 1), of("b", 2), [-2, 1]), "extents? .* -2"),
        (lambda: c.reshape(of("a", 1), of("b", 1), ["n"]), "shape: "),
        (lambda: c.reshape(3, of("b", 1), [1]), r"reshape\(\) takes buffers, sl.BufferExpr, got 3"),
        (lambda: c.flip(of("a", 1), of("b", 2)), "must have one rank"),
        (lambda: c.flip(of("a", 2), of("b", 2), axes=[0, -2]), r"an axis stands twice in \[0, -2\]"),
        (lambda: c.flip(of("a", 2), of("b", 2), axes=2), "are 0 to 1, got 2"),
        (lambda: c.roll(of("a", 2), of("b", 2), [1, 2], axes=0), r"shift is one amount, or one for each of 1 dim"),
        (lambda: c.roll(of("a", 2), of("b", 2), 0.5), "shift: "),
        (lambda: c.roll(of("a", 2, "f4"), of("b", 2), 1), "a copy changes no dtype"),
    ],
)
def test_errors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        make()


@pytest.mark.parametrize("make", [
    lambda a, b: c.copy(a[y, y * x], b[y, x]),
    lambda a, b: c.pad(a, b, 1, 1, value=0.5),
    lambda a, b: c.concatenate([a, of("z", 2, "f4")], b),
    lambda a, b: c.reshape(a, b, [1, -1, -1]),
    lambda a, b: c.roll(a, b, 0.5),
    lambda a, b: c.flip(a, b, axes=[0, 0]),
])  # fmt: skip
def test_what_is_refused_changes_nothing(make: Callable[[sl.BufferExpr, sl.BufferExpr], Any]) -> None:
    first, second = of("first", 2), of("second", 2)
    with pytest.raises(sl.GraphError):
        make(first, second)
    assert second.producer is None
    assert not second.domains
    assert not first.is_read
