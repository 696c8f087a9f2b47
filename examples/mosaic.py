"""A mosaic: four treatments of one photograph, two by two in one picture, with a frame around it.

The picture is put together by `sl.copies`. Prints the pipeline with all of its copies and without those that need not
be made, checks the picture against plain NumPy's, prints how many bytes were copied, and writes the picture.

    python examples/mosaic.py [IMAGE] [-o OUT.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from measure import megabytes
from unsharp import PHOTO, read, write

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


def build(*, alias: bool) -> sl.Pipeline:
    """The pipeline, from a photograph to its mosaic."""
    y, x, c = sl.variables("y x c")
    inp, mosaic = (sl.BufferExpr(name, np.uint8, rank=3) for name in ("inp", "mosaic"))
    tiles = []
    for treatment in TREATMENTS:
        tile = sl.BufferExpr(f"tile_{len(tiles)}", np.uint8, rank=3)
        sl.Func(treatment, inputs=[inp[y, x, c]], outputs=[tile[y, x, c]])
        tiles.append(tile)
    above, below, whole = (sl.BufferExpr(name, np.uint8, rank=3) for name in ("above", "below", "whole"))
    sl.copies.concatenate(tiles[:2], above, axis=1)
    sl.copies.concatenate(tiles[2:], below, axis=1)
    sl.copies.concatenate([above, below], whole, axis=0)
    frame = [FRAME, FRAME, 0]
    sl.copies.pad(whole, mosaic, frame, frame, value=BACKGROUND)
    for d in range(3):
        mosaic.dim(d).min = inp.dim(d).min
        mosaic.dim(d).extent = inp.dim(d).extent if d == 2 else 2 * (inp.dim(d).extent + FRAME)
    return sl.build_pipeline([inp], [mosaic], name="mosaic", alias=alias)


def plain(photo: np.ndarray) -> np.ndarray:
    """The same with plain NumPy."""
    tiles = [np.empty_like(photo) for _ in TREATMENTS]
    for treatment, tile in zip(TREATMENTS, tiles, strict=True):
        treatment(photo, tile)
    whole = np.concatenate([np.concatenate(tiles[:2], axis=1), np.concatenate(tiles[2:], axis=1)])
    return np.pad(whole, ((FRAME, FRAME), (FRAME, FRAME), (0, 0)), constant_values=BACKGROUND)


# The program ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Make a mosaic of the image given."""
    parser = argparse.ArgumentParser(description="Make a mosaic of a photograph.")
    parser.add_argument("image", metavar="IMAGE", nargs="?", type=Path, default=PHOTO, help="any image file")
    parser.add_argument("-o", "--output", metavar="OUT.png", type=Path, default=Path("mosaic.png"))
    options = parser.parse_args()

    photo = read(options.image)
    expected = plain(photo)
    for title, alias in (("with all copies", False), ("without those that need not be made", True)):
        pipeline = build(alias=alias)
        print(f"{title}:", pipeline, sep="\n\n", end="\n\n")
        out = np.zeros_like(expected)
        used = pipeline.run(photo, out)
        if not np.array_equal(out, expected):
            raise SystemExit("mosaic: the pipeline and plain NumPy differ")
        print(f"intermediates: {megabytes(used.peak_bytes)}, copied: {megabytes(used.bytes_copied)}", end="\n\n")
    print(f"{options.image.name}, {out.shape[1]} x {out.shape[0]} pixels: equal to plain NumPy in every pixel")
    write(out, options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
