"""A mosaic: four treatments of one photograph, two by two in one picture, with a frame around it.

The picture is put together by `sl.copies`. Prints the pipeline as it was described and without the copies that need not
be made: each treatment writes where its tile belongs, and nothing but the frame is filled. Checks the picture against
plain NumPy's, prints how many bytes were copied, and writes the picture.

    python examples/mosaic.py [IMAGE] [-o OUT.png]
"""

from __future__ import annotations

import numpy as np
from measure import megabytes
from photograph import arguments, read, write

import slinky as sl

FRAME = 16
BACKGROUND = 255

# Callbacks: each gets the array that it reads, then the array that it writes ------------------------------------------


def negative(photo: np.ndarray, tile: np.ndarray) -> None:
    """What is light becomes dark."""
    np.subtract(255, photo, out=tile)


def posterised(photo: np.ndarray, tile: np.ndarray) -> None:
    """Four shades of each colour."""
    np.multiply(photo >> 6, 85, out=tile)


def dark(photo: np.ndarray, tile: np.ndarray) -> None:
    """Half as light."""
    np.right_shift(photo, 1, out=tile)


def contrasty(photo: np.ndarray, tile: np.ndarray) -> None:
    """Light or dark, nothing in between."""
    tile[...] = np.where(photo >= 128, 255, 0)


TREATMENTS = (negative, posterised, dark, contrasty)


# The pipeline ---------------------------------------------------------------------------------------------------------


def build() -> sl.Pipeline:
    """The pipeline, from a photograph to its mosaic, with all of its copies."""
    y, x, c = sl.variables("y x c")
    inp, above, below, tiles, mosaic = (
        sl.BufferExpr(name, np.uint8, rank=3) for name in ("inp", "above", "below", "tiles", "mosaic")
    )
    each = [sl.BufferExpr(f"tile_{number}", np.uint8, rank=3) for number in range(len(TREATMENTS))]
    for treatment, tile in zip(TREATMENTS, each, strict=True):
        sl.Func(treatment, inputs=[inp[y, x, c]], outputs=[tile[y, x, c]])
    sl.copies.concatenate(each[:2], above, axis=1)
    sl.copies.concatenate(each[2:], below, axis=1)
    sl.copies.concatenate([above, below], tiles, axis=0)
    frame = [FRAME, FRAME, 0]
    sl.copies.pad(tiles, mosaic, frame, frame, value=BACKGROUND)
    for d, count in enumerate((2, 2, 1)):
        mosaic.dim(d).min = inp.dim(d).min
        mosaic.dim(d).extent = count * inp.dim(d).extent + 2 * frame[d]
    return sl.build_pipeline([inp], [mosaic], name="mosaic", alias=False)


def schedule(p: sl.Pipeline) -> sl.Pipeline:
    """Take the frame from what is in it; then no copy of a tile need be made."""
    return sl.alias_copies(sl.split_boundary(p, "pad"))


def plain(photo: np.ndarray) -> np.ndarray:
    """The same with plain NumPy."""
    tiles = [np.empty_like(photo) for _ in TREATMENTS]
    for treatment, tile in zip(TREATMENTS, tiles, strict=True):
        treatment(photo, tile)
    above, below = np.concatenate(tiles[:2], axis=1), np.concatenate(tiles[2:], axis=1)
    frame = ((FRAME, FRAME), (FRAME, FRAME), (0, 0))
    return np.pad(np.concatenate([above, below]), frame, constant_values=BACKGROUND)


# The program ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Make a mosaic of the image given."""
    image, output = arguments("Make a mosaic of a photograph.")
    photo = read(image)
    expected = plain(photo)
    described = build()
    for title, pipeline in (("as described", described), ("as scheduled", schedule(described))):
        print(f"{title}:", pipeline, sep="\n\n", end="\n\n")
        out = np.zeros_like(expected)
        used = pipeline.run(photo, out)
        if not np.array_equal(out, expected):
            raise SystemExit("mosaic: the pipeline and plain NumPy differ")
        print(f"intermediates: {megabytes(used.peak_bytes)}, copied: {megabytes(used.bytes_copied)}", end="\n\n")
    print(f"{image.name}, {out.shape[1]} x {out.shape[0]} pixels: equal to plain NumPy in every pixel")
    write(out, output)


if __name__ == "__main__":
    main()
