"""Unsharp masking of a colour photograph: what a Gaussian blur takes away, amplified, is added back.

Prints the pipeline as it was described and as it was scheduled, checks its picture against plain NumPy's, prints time
and memory of both, and writes the picture. The same is then made of the NumPy function itself, by `sl.jit`.

    python examples/unsharp.py [IMAGE] [-o OUT.png]
"""

from __future__ import annotations

import numpy as np
from measure import compare, compare_traced, megabytes
from photograph import arguments, read, write

import slinky as sl

SIGMA = 2.0
RADIUS = 6
GAIN = 1.0
STRIP = 8
WEIGHTS = np.exp(-0.5 * (np.arange(-RADIUS, RADIUS + 1) / SIGMA) ** 2).astype(np.float32)
WEIGHTS /= WEIGHTS.sum()

# Callbacks: each gets the arrays that it reads, then the array that it writes -----------------------------------------


def to_float(pixels: np.ndarray, picture: np.ndarray) -> None:
    """Integers to floating point numbers."""
    picture[...] = pixels


def blur_y(source: np.ndarray, weights: np.ndarray, blurred: np.ndarray) -> None:
    """A weighted mean of the rows around each row."""
    height = len(blurred)
    np.multiply(source[:height], weights[0], out=blurred)
    for k in range(1, len(weights)):
        blurred += weights[k] * source[k : k + height]


def blur_x(source: np.ndarray, weights: np.ndarray, blurred: np.ndarray) -> None:
    """A weighted mean of the columns around each column."""
    blur_y(source.swapaxes(0, 1), weights, blurred.swapaxes(0, 1))


def add_details(picture: np.ndarray, details: np.ndarray, sharp: np.ndarray, gain: float) -> None:
    """The picture and its details, amplified."""
    np.multiply(details, gain, out=sharp)
    sharp += picture


def to_pixels(sharp: np.ndarray, pixels: np.ndarray) -> None:
    """Floating point numbers to the nearest of 0..255."""
    pixels[...] = np.clip(np.rint(sharp), 0, 255)


# The pipeline ---------------------------------------------------------------------------------------------------------


def build() -> sl.Pipeline:
    """The pipeline: from a padded photograph of rows, columns and colours to one without the padding."""
    y, x, c = sl.variables("y x c")
    inp = sl.BufferExpr("inp", np.uint8, rank=3)
    out = sl.BufferExpr("out", np.uint8, rank=3)
    picture, rows, blurred, details, sharp = (
        sl.BufferExpr(name, np.float32, rank=3) for name in ("picture", "rows", "blurred", "details", "sharp")
    )
    weights = sl.constant("weights", WEIGHTS, min=(-RADIUS,))
    window_y = sl.interval(y - RADIUS, y + RADIUS)
    window_x = sl.interval(x - RADIUS, x + RADIUS)

    sl.Func(to_float, inputs=[inp[y, x, c]], outputs=[picture[y, x, c]])
    sl.Func(blur_y, inputs=[picture[window_y, x, c], weights[:]], outputs=[rows[y, x, c]])
    sl.Func(blur_x, inputs=[rows[y, window_x, c], weights[:]], outputs=[blurred[y, x, c]])
    sl.Func(np.subtract, inputs=[picture[y, x, c], blurred[y, x, c]], outputs=[details[y, x, c]], name="difference")
    sl.Func(
        add_details,
        inputs=[picture[y, x, c], details[y, x, c]],
        outputs=[sharp[y, x, c]],
        arguments={"gain": GAIN},
    )
    sl.Func(to_pixels, inputs=[sharp[y, x, c]], outputs=[out[y, x, c]])
    return sl.build_pipeline(inputs=[inp], outputs=[out], name="unsharp")


def schedule(p: sl.Pipeline) -> sl.Pipeline:
    """A strip of rows at a time: all that it needs in one loop, no row of an intermediate made twice or kept longer."""
    p, (strips, last, _) = sl.split_loop(p, "to_pixels.y", STRIP, rc=True)
    for name in ("add_details", "difference", "blur_x", "blur_y", "to_float"):
        p, fused = sl.compute_at(p, name, strips, rc=True)
        p = sl.slide_window(p, fused.call, strips)
        p = sl.fold_storage(p, fused.alloc, last.name())
    return p


def plain(padded: np.ndarray) -> np.ndarray:
    """The same with plain NumPy."""
    picture = padded.astype(np.float32)
    height, width = len(picture) - 2 * RADIUS, picture.shape[1] - 2 * RADIUS
    rows = WEIGHTS[0] * picture[:height]
    for k in range(1, len(WEIGHTS)):
        rows += WEIGHTS[k] * picture[k : k + height]
    blurred = WEIGHTS[0] * rows[:, :width]
    for k in range(1, len(WEIGHTS)):
        blurred += WEIGHTS[k] * rows[:, k : k + width]
    picture = picture[RADIUS:-RADIUS, RADIUS:-RADIUS]
    details = picture - blurred
    sharp = picture + GAIN * details
    return np.clip(np.rint(sharp), 0, 255).astype(np.uint8)


MOST_BYTES = 1 << 20
traced = sl.jit(max_bytes=MOST_BYTES)(plain)
"""The pipeline that is made of plain NumPy: nothing is described, and nothing scheduled by hand. Where caches are
large, strips would be, too; here its intermediates are to take a megabyte at most."""

# The program ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Sharpen the image given."""
    image, output = arguments("Sharpen a photograph by unsharp masking.")
    pixels = read(image)
    padded = np.pad(pixels, ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)), mode="edge")
    inp = sl.Buffer(padded, min=(-RADIUS, -RADIUS, 0))
    out = np.empty_like(pixels)

    described = build()
    print(described, end="\n\n")
    pipeline = schedule(described)
    print("scheduled, by strips of rows:", pipeline, sep="\n\n", end="\n\n")
    expected = plain(padded)
    for each in (described, pipeline):
        out.fill(0)
        each(inp, out)
        if not np.array_equal(out, expected):
            raise SystemExit("unsharp: the pipeline and plain NumPy differ")
    height, width, _ = pixels.shape
    print(f"{image.name}, {width} x {height} pixels: equal to plain NumPy in every pixel")
    before, after = (megabytes(each.memory(inp, out).peak_bytes) for each in (described, pipeline))
    print(f"intermediates: {before} as described, {after} as scheduled")
    print(compare(lambda: plain(padded), out.nbytes, lambda: pipeline.run(inp, out)), end="\n\n")
    if not np.array_equal(traced(padded), expected):
        raise SystemExit("unsharp: the traced function and plain NumPy differ")
    print("plain NumPy, traced by sl.jit: equal in every pixel")
    print(compare_traced(traced, [padded], out, plain, max_bytes=MOST_BYTES), end="\n\n")
    write(out, output)


if __name__ == "__main__":
    main()
