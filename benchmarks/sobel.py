"""Sobel of a picture as large as a screen: bytes in, 16 bits on the way, bytes out; nothing is scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.harness import Array, Case, Side, installed
from benchmarks.rows import under_jit


def as_written(image: Array) -> Array:
    """NumPy as people write it: the size of the gradient, without the edge of the image."""
    a = image.astype(np.int16)
    smooth = a[:, :-2] + 2 * a[:, 1:-1] + a[:, 2:]
    steep = a[:, 2:] - a[:, :-2]
    along = steep[:-2] + 2 * steep[1:-1] + steep[2:]
    down = smooth[2:] - smooth[:-2]
    return np.asarray(np.minimum(np.abs(along) + np.abs(down), 255).astype(np.uint8))


def with_opencv(image: Array, threads: int) -> Callable[[], Array]:
    """OpenCV's own operations, one after the other; they compute the edges, too, which are cut off."""
    import cv2

    def run() -> Array:
        cv2.setNumThreads(threads)
        along, down = (cv2.Sobel(image, cv2.CV_16S, *which, ksize=3) for which in ((1, 0), (0, 1)))
        size = cv2.add(cv2.absdiff(along, 0), cv2.absdiff(down, 0))
        return np.asarray(size.clip(0, 255).astype(np.uint8)[1:-1, 1:-1])

    return run


def cases(quick: bool) -> Iterator[Case]:
    """One size."""
    height, width = (540, 960) if quick else (2160, 3840)

    def make() -> list[Side]:
        image = np.random.default_rng(0).integers(0, 256, (height, width), np.uint8)
        sides = [Side("NumPy as written", lambda: as_written(image)), *under_jit(as_written, image)]
        if installed("cv2"):
            sides += [
                Side("OpenCV, operation by operation", with_opencv(image, 1)),
                Side("OpenCV, operation by operation, 2 threads", with_opencv(image, 2)),
            ]
        return sides

    yield Case(f"Sobel of {width} x {height} uint8", make)
