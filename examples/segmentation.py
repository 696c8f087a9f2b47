"""Parts of a photograph that stand out: blurred, freed of what is broad, its slopes taken, cut off at two heights.

All that is local (a Gaussian, a top-hat, Sobel's slopes, thresholds) is one function of arrays with the filters of
`sl.ndimage`, traced by `sl.jit`: it runs by strips of rows. The last step is not local: what is faintly steep is kept
where it touches, however far away, what is very steep. It runs on the whole of two masks, a byte each. Checks both
against SciPy, prints time and memory, and writes the picture.

    python examples/segmentation.py [IMAGE] [-o OUT.png]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import compare_traced
from photograph import arguments, read, write

import slinky as sl

try:
    from scipy import ndimage
except ImportError:
    raise SystemExit("segmentation needs SciPy; install the extra with: pip install -e '.[examples]'") from None

SIGMA = 1.5
BROAD = 15
FAINT, STEEP = 40.0, 90.0


def heights(filters: Any, pixels: np.ndarray) -> np.ndarray:
    """0, 1 or 2 for what is flat, faintly steep and very steep, by the filters of a module."""
    smooth = filters.gaussian_filter(pixels.astype(np.float32), SIGMA, mode="nearest")
    fine = filters.white_tophat(smooth, size=(BROAD, BROAD))
    down, right = (filters.sobel(fine, axis=axis) for axis in (0, 1))
    steep = np.sqrt(down * down + right * right)
    return (steep >= FAINT).astype(np.uint8) + (steep >= STEEP)


@sl.jit
def traced(pixels: np.ndarray) -> np.ndarray:
    """What is local, by pieces."""
    return heights(sl.ndimage, pixels)


def by_scipy(pixels: np.ndarray) -> np.ndarray:
    """The same with SciPy."""
    return heights(ndimage, pixels)


def connected(found: np.ndarray) -> np.ndarray:
    """What is faintly steep, where it is connected with what is very steep: this needs the whole image."""
    regions, count = ndimage.label(found > 0)
    is_kept = np.zeros(count + 1, bool)
    is_kept[regions[found == 2]] = True
    return np.where(is_kept[regions], 255, 0).astype(np.uint8)


def main() -> None:
    """Find the parts of the image given that stand out."""
    image, output = arguments("Find what stands out in a photograph.")
    pixels = np.ascontiguousarray(read(image).max(axis=2))
    found, expected = traced(pixels), by_scipy(pixels)
    if not np.array_equal(found, expected):
        raise SystemExit("segmentation: the traced function and SciPy differ")
    print(traced.pipeline(pixels), end="\n\n")
    parts = connected(found)
    height, width = pixels.shape
    print(f"{image.name}, {width} x {height} pixels: equal to scipy.ndimage in every pixel")
    print(f"{np.count_nonzero(found)} pixels are steep, {np.count_nonzero(parts)} of them in parts that stand out")
    print(compare_traced(traced, [pixels], found, by_scipy, "SciPy"), end="\n\n")
    write(parts, output)


if __name__ == "__main__":
    main()
