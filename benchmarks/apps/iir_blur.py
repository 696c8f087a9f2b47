"""A blur by a recursive filter: down and up each column, then the same along the rows, of three planes of colour.

Each element depends on all before it, so columns are whole. Both times the filter runs along columns, where NumPy can
take a row of elements at a time; in between the picture is transposed.
"""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import App, Setting, Size, like, picture
from benchmarks.harness import Array

ALPHA = np.float32(0.1)
REST = np.float32(1) - ALPHA


def filter_columns(source: Array, target: Array) -> None:
    """Each element mixed with the one above, from the top to the bottom, and then with the one below, back up."""
    rows = range(target.shape[1])
    np.multiply(source, ALPHA, out=target)
    carried = np.empty_like(target[:, 0])
    target[:, 0] = source[:, 0]
    for row in rows[1:]:
        np.multiply(target[:, row - 1], REST, out=carried)
        np.add(target[:, row], carried, out=target[:, row])
    np.multiply(target[:, :-1], ALPHA, out=target[:, :-1])
    for row in reversed(rows[:-1]):
        np.multiply(target[:, row + 1], REST, out=carried)
        np.add(target[:, row], carried, out=target[:, row])


def build() -> sl.Pipeline:
    """Two filters, each of which is turned round; `alias=False`, for a filter along the rows as they lie is slow."""
    c, y, x = sl.variables("c y x")
    inp, columns, turned, rows, out = (
        sl.BufferExpr(name, np.float32, 3) for name in ("inp", "columns", "turned", "rows", "out")
    )
    sl.Func(filter_columns, [inp[c, y, x]], [columns[c, y, x]], name="blur_columns", whole=["y"])
    sl.copies.transpose(columns, turned, axes=(0, 2, 1), name="turn")
    sl.Func(filter_columns, [turned[c, x, y]], [rows[c, x, y]], name="blur_rows", whole=["x"])
    sl.copies.transpose(rows, out, axes=(0, 2, 1), name="turn_back")
    return sl.build_pipeline([inp], [out], name="iir_blur", require=[sl.same_shape(inp, out)], alias=False)


def as_written(inp: Array) -> Array:
    """NumPy as people write it."""

    def filtered(source: Array) -> Array:
        result = ALPHA * source
        result[:, 0] = source[:, 0]
        for row in range(1, result.shape[1]):
            result[:, row] += REST * result[:, row - 1]
        result[:, :-1] *= ALPHA
        for row in reversed(range(result.shape[1] - 1)):
            result[:, row] += REST * result[:, row + 1]
        return result

    turned = np.ascontiguousarray(filtered(inp).transpose(0, 2, 1))
    return np.ascontiguousarray(filtered(turned).transpose(0, 2, 1))


def by_hand(p: sl.Pipeline, setting: Setting) -> sl.Pipeline:
    """Strips of columns and then strips of rows; what is filtered is turned round while it is in the cache."""
    for producer, turn, size in (("blur_columns", "turn", setting[0]), ("blur_rows", "turn_back", setting[1])):
        p, split = sl.split_loop(p, p.find(turn).dim(1), size, rc=True)
        p, made = sl.compute_at(p, producer, split.outer, rc=True)
        p = sl.store_at(p, made.alloc, split.outer)
    return p


def inputs(size: Size) -> list[Array]:
    """A picture, one plane for each colour."""
    return [np.ascontiguousarray(np.moveaxis(picture(size, 3), 2, 0))]


APP = App(
    name="iir_blur",
    about="a recursive blur of a colour picture",
    build=build,
    inputs=inputs,
    target=like,
    as_written=as_written,
    by_hand=by_hand,
    settings=((512, 512), (640, 768), (1280, 768), (1280, 1536), (2560, 512), (2560, 768), (2560, 1536)),
    chosen=(640, 768),
    smallest=(16, 12),
    full=(1536, 2560),
    quick=(900, 1400),
)
