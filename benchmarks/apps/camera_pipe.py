"""From what a sensor measures behind its mosaic of colours to a picture.

The mosaic is four planes of half the rows and columns: green in rows of red, red, blue, and green in rows of blue. In
names, `red_at_blue` is the red where blue was measured. Green is interpolated along the direction that changes less,
and red and blue as green changes there. Before, hot pixels are taken out; then come a matrix, a curve, sharpening.
"""

from __future__ import annotations

import numpy as np

import slinky as sl
from benchmarks.apps.app import FEW_ROWS, App, Size, in_strips, picture
from benchmarks.harness import Array

ONE = np.int16(1)
MATRIX = np.array([[430, -130, -44], [-70, 370, -44], [-20, -130, 406]], np.float32)
"""In 256ths."""
OFFSET = np.array([-2600, -3600, -2900], np.float32)
BLACK, WHITE, GAMMA, CONTRAST = 25, 1023, 2.0, 50.0
SHARPNESS = np.int16(32)
MARGIN = (12, 16)
"""As many rows and columns are left out at each side."""


NAMES = ("clean", "green_red", "red", "blue", "green_blue")


def tone_curve() -> Array:
    """From 10 bits to 8: gamma, and a contrast made of two parabolas."""
    b = 2 - 2 ** (CONTRAST / 100)
    a = 2 - 2 * b
    g = np.clip((np.arange(1024) - BLACK) / (WHITE - BLACK), 0, 1) ** (1 / GAMMA)
    z = np.where(g > 0.5, 1 - (a * (1 - g) ** 2 + b * (1 - g)), a * g * g + b * g)
    return np.clip(z * 255 + 0.5, 0, 255).astype(np.uint8)


CURVE = tone_curve()


def average(a: Array, b: Array) -> Array:
    """Rounded up."""
    result = a + b
    result += ONE
    result >>= ONE
    return result


def hot_pixels(raw: Array, target: Array) -> None:
    """No element is larger than all of those around of its colour."""
    height, width = target.shape
    np.maximum(raw[:height, 2:-2], raw[4:, 2:-2], out=target)
    np.maximum(target, raw[2:-2, :width], out=target)
    np.maximum(target, raw[2:-2, 4:], out=target)
    np.minimum(target, raw[2:-2, 2:-2], out=target)


def take_apart(mosaic: Array, green_red: Array, red: Array, blue: Array, green_blue: Array) -> None:
    """The four planes."""
    green_red[...], red[...] = mosaic[::2, ::2], mosaic[::2, 1::2]
    blue[...], green_blue[...] = mosaic[1::2, ::2], mosaic[1::2, 1::2]


def choose_green(columns: Array, rows: Array, target: Array) -> None:
    """The mean of two above each other, or beside each other, whichever differ less."""
    above, below, left, right = columns[:-1], columns[1:], rows[:, :-1], rows[:, 1:]
    across = np.abs(left - right) < np.abs(above - below)
    np.copyto(target, np.where(across, average(left, right), average(above, below)))


def follow(before: Array, after: Array, green_before: Array, green_after: Array, green: Array, target: Array) -> None:
    """The mean of two, and as much as green is more here than the mean of green there."""
    np.subtract(green, average(green_before, green_after), out=target)
    np.add(target, average(before, after), out=target)


def follow_rows(colour: Array, green_there: Array, green: Array, target: Array) -> None:
    """Between two above each other."""
    follow(colour[:-1], colour[1:], green_there[:-1], green_there[1:], green, target)


def follow_columns(colour: Array, green_there: Array, green: Array, target: Array) -> None:
    """Between two beside each other."""
    follow(colour[:, :-1], colour[:, 1:], green_there[:, :-1], green_there[:, 1:], green, target)


def follow_diagonal(colour: Array, green_there: Array, green: Array, target: Array) -> None:
    """Along the diagonal on which the colour changes less."""
    (a, b, c, d), (e, f, g, h) = corners(colour), corners(green_there)
    rising, falling = np.empty_like(target), np.empty_like(target)
    follow(b, c, f, g, green, rising)
    follow(a, d, e, h, green, falling)
    np.copyto(target, np.where(np.abs(b - c) < np.abs(a - d), rising, falling))


def corners(a: Array) -> tuple[Array, Array, Array, Array]:
    """Of each 2x2, in the order in which one reads."""
    return a[:-1, :-1], a[:-1, 1:], a[1:, :-1], a[1:, 1:]


def put_together(*buffers: sl.Buffer) -> None:
    """Three colours of each place of the mosaic: by rows, columns, and colours."""
    *planes, target = buffers
    for number, plane in enumerate(planes):
        row, column, colour = number // 6, number // 3 % 2, number % 3
        y, x = (row - target.min[0]) % 2, (column - target.min[1]) % 2
        result = target.array[y::2, x::2, colour]
        top, left = ((target.min[d] + at) // 2 - plane.min[d] for d, at in ((0, y), (1, x)))
        result[...] = plane.array[top : top + result.shape[0], left : left + result.shape[1]]


def correct(source: Array, target: Array) -> None:
    """The sensor's colours to a screen's."""
    result = source.astype(np.float32) @ MATRIX.T
    result += OFFSET
    result *= np.float32(1 / 256)
    np.floor(result, out=result)
    target[...] = result


def curve(source: Array, target: Array) -> None:
    """By a table."""
    np.take(CURVE, source, out=target, mode="clip")


def soften(before: Array, here: Array, after: Array, target: Array) -> None:
    """1 2 1."""
    wide = before.astype(np.int16)
    target[...] = average(average(wide, after), here)


def soften_y(source: Array, target: Array) -> None:
    """Along the columns."""
    soften(source[:-2], source[1:-1], source[2:], target)


def soften_x(source: Array, target: Array) -> None:
    """Along the rows."""
    soften(source[:, :-2], source[:, 1:-1], source[:, 2:], target)


def sharpen(source: Array, soft: Array, target: Array) -> None:
    """What is not soft is added once more."""
    result = np.subtract(source, soft, dtype=np.int16)
    result *= SHARPNESS
    result >>= np.int16(5)
    result += source
    target[...] = np.clip(result, 0, 255, out=result)


def build() -> sl.Pipeline:
    """Sixteen funcs on three grids."""
    y, x, c = sl.variables("y x c")
    raw = sl.BufferExpr("raw", np.int16, 2)
    clean, *planes = (sl.BufferExpr(name, np.int16, 2) for name in NAMES)
    before_y, after_y = sl.interval(y - 1, y), sl.interval(y, y + 1)
    before_x, after_x = sl.interval(x - 1, x), sl.interval(x, x + 1)
    sl.Func(hot_pixels, [raw[sl.interval(y - 2, y + 2), sl.interval(x - 2, x + 2)]], [clean[y, x]])
    both = (sl.interval(2 * y, 2 * y + 1), sl.interval(2 * x, 2 * x + 1))
    sl.Func(take_apart, [clean[both]], [plane[y, x] for plane in planes])
    green_red, red, blue, green_blue = planes

    def made(name: str, callback: object, *read: sl.Access) -> sl.BufferExpr:
        buffer = sl.BufferExpr(name, np.int16, 2)
        sl.Func(callback, read, [buffer[y, x]], name=f"find_{name}")
        return buffer

    green_at_red = made("green_at_red", choose_green, green_blue[before_y, x], green_red[y, after_x])
    green_at_blue = made("green_at_blue", choose_green, green_red[after_y, x], green_blue[y, before_x])

    def by(name: str, callback: object, colour: int, rows: object, columns: object, green: sl.BufferExpr) -> object:
        there = (rows, columns)
        source, other = ((red, green_at_red), (blue, green_at_blue))[colour]
        return made(name, callback, source[there], other[there], green[y, x])

    red_at_green_red = by("red_at_green_red", follow_columns, 0, y, before_x, green_red)
    blue_at_green_red = by("blue_at_green_red", follow_rows, 1, before_y, x, green_red)
    red_at_green_blue = by("red_at_green_blue", follow_rows, 0, after_y, x, green_blue)
    blue_at_green_blue = by("blue_at_green_blue", follow_columns, 1, y, after_x, green_blue)
    red_at_blue = by("red_at_blue", follow_diagonal, 0, after_y, before_x, green_at_blue)
    blue_at_red = by("blue_at_red", follow_diagonal, 1, before_y, after_x, green_at_red)
    colours, corrected = (sl.BufferExpr(name, np.int16, 3) for name in ("colours", "corrected"))
    curved, soft_y, soft, out = (sl.BufferExpr(name, np.uint8, 3) for name in ("curved", "soft_y", "soft", "out"))
    parts = [red_at_green_red, green_red, blue_at_green_red, red, green_at_red, blue_at_red]
    parts += [red_at_blue, green_at_blue, blue, red_at_green_blue, green_blue, blue_at_green_blue]
    read = [part[y // 2, x // 2] for part in parts]
    sl.Func(put_together, read, [colours[y, x, c]], whole=["c"], pass_buffers=True)
    sl.Func(correct, [colours[y, x, sl.interval(0, 2)]], [corrected[y, x, c]], whole=["c"])
    for buffer in (colours, corrected):
        buffer.dim(2).bounds = sl.interval(0, 2)
    sl.Func(curve, [corrected[y, x, c]], [curved[y, x, c]])
    sl.Func(soften_y, [curved[sl.interval(y - 1, y + 1), x, c]], [soft_y[y, x, c]])
    sl.Func(soften_x, [soft_y[y, sl.interval(x - 1, x + 1), c]], [soft[y, x, c]])
    sl.Func(sharpen, [curved[y, x, c], soft[y, x, c]], [out[y, x, c]])
    return sl.build_pipeline([raw], [out], name="camera_pipe")


def as_written(raw: Array) -> Array:
    """NumPy as people write it: each step leaves out what it cannot compute at the edges."""

    def inner(a: Array, dy: int = 0, dx: int = 0) -> Array:
        return a[1 + dy : len(a) - 1 + dy, 1 + dx : a.shape[1] - 1 + dx]

    def average(a: Array, b: Array) -> Array:
        return np.asarray((a + b + 1) >> 1)

    def choose(above: Array, below: Array, left: Array, right: Array) -> Array:
        across = abs(left - right) < abs(above - below)
        return np.where(across, average(left, right), average(above, below))

    around = [raw[:-4, 2:-2], raw[4:, 2:-2], raw[2:-2, :-4], raw[2:-2, 4:]]
    clean = np.minimum(raw[2:-2, 2:-2], np.maximum.reduce(around))
    clean = clean[: len(clean) // 2 * 2, : clean.shape[1] // 2 * 2]
    gr, r, b, gb = (clean[dy::2, dx::2] for dy in (0, 1) for dx in (0, 1))
    g_r = choose(inner(gb, dy=-1), inner(gb), inner(gr), inner(gr, dx=1))
    g_b = choose(inner(gr), inner(gr, dy=1), inner(gb, dx=-1), inner(gb))
    gr, r, b, gb = (inner(plane) for plane in (gr, r, b, gb))

    def follow(green: Array, colour: Array, there: Array, one: tuple[int, int], other: tuple[int, int]) -> Array:
        return (
            green
            - average(inner(there, *one), inner(there, *other))
            + average(inner(colour, *one), inner(colour, *other))
        )

    def diagonal(green: Array, colour: Array, there: Array, dy: int, dx: int) -> Array:
        across = abs(inner(colour) - inner(colour, dy, dx)) < abs(inner(colour, dy) - inner(colour, 0, dx))
        one = follow(green, colour, there, (0, 0), (dy, dx))
        return np.where(across, one, follow(green, colour, there, (dy, 0), (0, dx)))

    r_gr = follow(inner(gr), r, g_r, (0, -1), (0, 0))
    b_gr = follow(inner(gr), b, g_b, (-1, 0), (0, 0))
    r_gb = follow(inner(gb), r, g_r, (0, 0), (1, 0))
    b_gb = follow(inner(gb), b, g_b, (0, 0), (0, 1))
    r_b = diagonal(inner(g_b), r, g_r, 1, -1)
    b_r = diagonal(inner(g_r), b, g_b, -1, 1)
    gr, r, b, gb, g_r, g_b = (inner(plane) for plane in (gr, r, b, gb, g_r, g_b))
    height, width = gr.shape
    colours = np.empty((2 * height, 2 * width, 3), np.int16)
    for (dy, dx), planes in zip(
        ((0, 0), (0, 1), (1, 0), (1, 1)),
        ((r_gr, gr, b_gr), (r, g_r, b_r), (r_b, g_b, b), (r_gb, gb, b_gb)),
        strict=True,
    ):
        colours[dy::2, dx::2] = np.stack(planes, axis=-1)
    corrected = np.floor((colours.astype(np.float32) @ MATRIX.T + OFFSET) / 256).astype(np.int16)
    curved = CURVE[np.clip(corrected, 0, 1023)].astype(np.int16)
    soft = average(average(curved[:-2], curved[2:]), curved[1:-1])
    soft = average(average(soft[:, :-2], soft[:, 2:]), soft[:, 1:-1])
    middle = curved[1:-1, 1:-1]
    sharp = np.clip(middle + ((middle - soft) * SHARPNESS >> 5), 0, 255).astype(np.uint8)
    top, left = MARGIN[0] - 7, MARGIN[1] - 7
    return np.ascontiguousarray(sharp[top : top + len(raw) - 2 * MARGIN[0], left : left + raw.shape[1] - 2 * MARGIN[1]])


def inputs(size: Size) -> list[Array]:
    """Ten bits each, some of them hot."""
    raw = (picture(size) * 900).astype(np.int16) + np.int16(40)
    raw[::17, ::13] = 1023
    return [raw]


def target(raw: Array) -> sl.Buffer:
    """What is inside the margins."""
    shape = (len(raw) - 2 * MARGIN[0], raw.shape[1] - 2 * MARGIN[1], 3)
    return sl.Buffer(np.zeros(shape, np.uint8), min=(*MARGIN, 0))


APP = App(
    name="camera_pipe",
    about="a sensor's mosaic to a picture",
    build=build,
    inputs=inputs,
    target=target,
    as_written=as_written,
    by_hand=in_strips("sharpen"),
    settings=FEW_ROWS,
    chosen=(24,),
    smallest=(4,),
    full=(1968, 2592),
    quick=(300, 400),
    small=((53, 61), (64, 47)),
    tolerance=0,
)
