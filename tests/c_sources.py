"""Kernels in C for tests, with what they do in NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import slinky as sl

Array = np.ndarray[Any, Any]
PLANE = (np.float32, 2)

ACROSS = """
#define AT(type, b, y, x) (*(type *)((char *)(b)->data + (y) * (b)->stride[0] + (x) * (b)->stride[1]))

static float sum3(float a, float b, float c) { return a + b * 2 + c; }

int across(const slinky_buffer *a, const slinky_buffer *out)
{
    for (int64_t y = 0; y < out->extent[0]; y++)
        for (int64_t x = 0; x < out->extent[1]; x++)
            AT(float, out, y, x) = sum3(AT(float, a, y, x), AT(float, a, y, x + 1), AT(float, a, y, x + 2));
    return 0;
}
"""
DOWN = """
static float *at(const slinky_buffer *b, int64_t y, int64_t x)
{
    return (float *)((char *)b->data + y * b->stride[0] + x * b->stride[1]);
}

int down(const slinky_buffer *a, const slinky_buffer *out, float by)
{
    for (int64_t y = 0; y < out->extent[0]; y++)
        for (int64_t x = 0; x < out->extent[1]; x++)
            *at(out, y, x) = (*at(a, y, x) + *at(a, y + 1, x) * 2 + *at(a, y + 2, x)) * by;
    return 0;
}
"""
NEGATED = """
int negated(const slinky_buffer *a, const slinky_buffer *out)
{{
    for (int64_t y = 0; y < out->extent[0]; y++)
        for (int64_t x = 0; x < out->extent[1]; x++) {{
            const char *from = (const char *)a->data + y * a->stride[0] + x * a->stride[1];
            const {of} value = ({of})(-*(const {of} *)from);
            *({to} *)((char *)out->data + y * out->stride[0] + x * out->stride[1]) = ({to})value;
        }}
    return 0;
}}
"""
WHERE = """
int where(const slinky_buffer *out, int64_t fails_at)
{
    for (int64_t y = 0; y < out->extent[0]; y++)
        for (int64_t x = 0; x < out->extent[1]; x++) {
            char *to = (char *)out->data + y * out->stride[0] + x * out->stride[1];
            *(int64_t *)to = 1000 * (out->min[0] + y) + out->min[1] + x;
            if (out->min[0] + y == fails_at) return 7;
        }
    return 0;
}
"""


@cache
def across() -> sl.CFunction:
    """Three elements along a row, for each."""
    return sl.c_kernel(ACROSS, "across", inputs={"a": PLANE}, outputs={"out": PLANE})


@cache
def down(dense: int = 0) -> sl.CFunction:
    """Three elements along a column, for each, times a number."""
    return sl.c_kernel(
        DOWN, "down", inputs={"a": PLANE}, outputs={"out": PLANE}, scalars={"by": np.float32}, dense=dense
    )


@cache
def negated(of: np.dtype[Any], to: np.dtype[Any]) -> sl.CFunction:
    """Each element with the other sign, as another dtype."""
    types = {"f4": "float", "f8": "double", "i2": "int16_t", "u1": "uint8_t", "i8": "int64_t"}
    names = {"of": types[of.str[1:]], "to": types[to.str[1:]]}
    return sl.c_kernel(NEGATED.format(**names), "negated", inputs={"a": (of, 2)}, outputs={"out": (to, 2)})


@cache
def where() -> sl.CFunction:
    """Coordinates; it fails at a row."""
    return sl.c_kernel(WHERE, "where", outputs={"out": (np.int64, 2)}, scalars={"fails_at": np.int64})


def blur(first: Any = None, second: Any = None, *, by_rows: int = 1) -> sl.Pipeline:
    """Two stencils by kernels, the first in a window that slides; unscheduled, with no rows at a time."""
    y, x = sl.variables("y x")
    a, mid, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "mid", "out"))
    sl.Func(first or across(), [a[y, sl.interval(x - 1, x + 1)]], [mid[y, x]], name="across")
    sl.Func(second or down(), [mid[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="down", arguments={"by": 0.0625})
    p = sl.build_pipeline([a], [out])
    if not by_rows:
        return p
    p = sl.compute_at(sl.split_loop(p, "down.y", by_rows), "across", "for y")
    return sl.fold_storage(sl.slide_window(p, "across", "for y"), "alloc mid", "y")
