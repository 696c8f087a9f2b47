"""The edges of a photograph: a Gaussian blur, Sobel's slopes, and a threshold, as large as the photograph itself.

What lies beyond its borders is reflected, as `scipy.ndimage` does by default. Prints the pipeline as it was described
and as it was scheduled, by strips of rows; checks each picture against SciPy's in every pixel; prints time and memory
of both, and writes the picture. The same is then made of a function of arrays, by `sl.jit`.

    python examples/boundaries.py [IMAGE] [-o OUT.png]
"""

from __future__ import annotations

import numpy as np
from measure import compare, compare_traced, megabytes
from photograph import arguments, read, write

import slinky as sl

try:
    from scipy import ndimage
except ImportError:
    raise SystemExit("boundaries needs SciPy; install the extra with: pip install -e '.[examples]'") from None

RULE = "reflect"
STRIP = 2
THRESHOLD = 96
WEIGHTS = np.array([1, 4, 6, 4, 1], np.int32)
"""A Gaussian, in sixteenths: with integers, both ways give the same pixels, whatever the order of sums."""
SLOPE = np.outer([1, 2, 1], [-1, 0, 1]).astype(np.int32)
"""Sobel's: how steep the picture is to the right; transposed, downwards."""

# Callbacks: each gets the arrays that it reads, then the array that it writes -----------------------------------------


def sum_rows(source: np.ndarray, target: np.ndarray) -> None:
    """The weighted sum of the rows around each row."""
    height = len(target)
    np.multiply(source[:height], WEIGHTS[0], out=target)
    for k in range(1, len(WEIGHTS)):
        target += WEIGHTS[k] * source[k : k + height]


def sum_columns(source: np.ndarray, target: np.ndarray) -> None:
    """The weighted sum of the columns around each column."""
    sum_rows(source.swapaxes(0, 1), target.swapaxes(0, 1))


def mean(sums: np.ndarray, blurred: np.ndarray) -> None:
    """Sums with weights of 256 to means."""
    np.right_shift(sums, 8, out=blurred)


def steepness(blurred: np.ndarray, steep: np.ndarray) -> None:
    """The square of how steep the picture is, after Sobel."""
    height, width = steep.shape
    right, down = np.zeros_like(steep), np.zeros_like(steep)
    for dy, dx in np.ndindex(3, 3):
        part = blurred[dy : dy + height, dx : dx + width]
        right += SLOPE[dy, dx] * part
        down += SLOPE[dx, dy] * part
    np.add(right * right, down * down, out=steep)


def threshold(steep: np.ndarray, edges: np.ndarray) -> None:
    """White where the picture is steep, black elsewhere."""
    edges[...] = np.where(steep >= THRESHOLD**2, 255, 0)


# The pipeline ---------------------------------------------------------------------------------------------------------


def build() -> sl.Pipeline:
    """The pipeline, from a photograph in grey to its edges. All that is said of borders is `extended`."""
    y, x = sl.variables("y x")
    inp, edges = sl.BufferExpr("inp", np.uint8, rank=2), sl.BufferExpr("edges", np.uint8, rank=2)
    rows, sums, blurred, steep = (
        sl.BufferExpr(name, np.int32, rank=2) for name in ("rows", "sums", "blurred", "steep")
    )
    above_and_below = inp.extended(RULE, dims=0)[sl.interval(y - 2, y + 2), x]
    left_and_right = rows.extended(RULE, dims=1)[y, sl.interval(x - 2, x + 2)]
    around = blurred.extended(RULE)[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]

    sl.Func(sum_rows, inputs=[above_and_below], outputs=[rows[y, x]])
    sl.Func(sum_columns, inputs=[left_and_right], outputs=[sums[y, x]])
    sl.Func(mean, inputs=[sums[y, x]], outputs=[blurred[y, x]])
    sl.Func(steepness, inputs=[around], outputs=[steep[y, x]])
    sl.Func(threshold, inputs=[steep[y, x]], outputs=[edges[y, x]])
    return sl.build_pipeline([inp], [edges], require=[sl.same_shape(inp, edges)], name="edges")


def schedule(p: sl.Pipeline) -> sl.Pipeline:
    """A strip of rows at a time: all that it needs in one loop, no row of an intermediate made twice or kept longer.

    The copies are calls like any other: `reflect` extends the photograph, `reflect_1` the rows, `reflect_2` the blurred
    picture. Rows of the first, of the last, and of what it reflects are kept for the next strip, which reaches back.
    """
    p, (strips, last, _) = sl.split_loop(p, "threshold.y", STRIP, rc=True)
    for name in ("steepness", "reflect_2", "mean", "sum_columns", "reflect_1", "sum_rows", "reflect"):
        p, fused = sl.compute_at(p, name, strips, rc=True)
        p = sl.slide_window(p, fused.call, strips)
        if name in ("reflect", "mean", "reflect_2"):
            p = sl.fold_storage(p, fused.alloc, last.name())
        else:
            p = sl.store_at(p, fused.alloc, strips)
    return p


def by_scipy(pixels: np.ndarray) -> np.ndarray:
    """The same with SciPy."""
    rows = ndimage.correlate1d(pixels.astype(np.int32), WEIGHTS, axis=0, mode=RULE)
    blurred = ndimage.correlate1d(rows, WEIGHTS, axis=1, mode=RULE) >> 8
    right, down = (ndimage.sobel(blurred, axis=axis, mode=RULE) for axis in (1, 0))
    return np.where(right * right + down * down >= THRESHOLD**2, 255, 0).astype(np.uint8)


@sl.jit
def traced(pixels: np.ndarray) -> np.ndarray:
    """The same as SciPy's code reads, with slinky's name for it: a pipeline is made of this."""
    rows = sl.ndimage.correlate1d(pixels.astype(np.int32), WEIGHTS, axis=0, mode=RULE)
    blurred = sl.ndimage.correlate1d(rows, WEIGHTS, axis=1, mode=RULE) >> 8
    right, down = (sl.ndimage.sobel(blurred, axis=axis, mode=RULE) for axis in (1, 0))
    return np.where(right * right + down * down >= THRESHOLD**2, 255, 0).astype(np.uint8)


# The program ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Find the edges in the image given."""
    image, output = arguments("Find the edges in a photograph, its own borders included.")
    pixels = np.ascontiguousarray(read(image).max(axis=2))
    out = np.empty_like(pixels)
    described = build()
    print(described, end="\n\n")
    pipeline = schedule(described)
    print("scheduled, by strips of rows:", pipeline, sep="\n\n", end="\n\n")
    expected = by_scipy(pixels)
    for each in (described, pipeline):
        out.fill(1)
        each(pixels, out)
        if not np.array_equal(out, expected):
            raise SystemExit("boundaries: the pipeline and SciPy differ")
    height, width = pixels.shape
    print(f"{image.name}, {width} x {height} pixels: equal to scipy.ndimage in every pixel")
    before, after = (each.memory(pixels, out).peak_bytes for each in (described, pipeline))
    share = after / max(before, 1)
    print(f"intermediates: {megabytes(before)} as described, {megabytes(after)} as scheduled ({share:.2%})")
    copied = [megabytes(each.run(pixels, out).bytes_copied) for each in (described, pipeline)]
    print(f"copied to extend them: {copied[0]} as described, {copied[1]} as scheduled")
    print(compare(lambda: by_scipy(pixels), out.nbytes, lambda: pipeline.run(pixels, out), "SciPy"), end="\n\n")
    if not np.array_equal(traced(pixels), expected):
        raise SystemExit("boundaries: the traced function and SciPy differ")
    print("a function of arrays, traced by sl.jit: equal in every pixel")
    print(compare_traced(traced, [pixels], out, by_scipy, "SciPy"), end="\n\n")
    write(out, output)


if __name__ == "__main__":
    main()
