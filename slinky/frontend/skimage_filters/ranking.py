"""The filters of `skimage.filters.rank`: each element of a result comes from the histogram of what a footprint covers.

Idea. What is beyond the edges, and what a mask leaves out, is not counted. So each element is carried as a number that
says whether it counts: as itself, or as its complement, which is negative; beyond the edges is the complement of 0.
Then a filter is a stencil: scikit-image is given a piece with the mask that was carried, and what it makes of the halo
is cut off.

Invariant: what is made here depends on the histogram of a window alone. Of 16 bits, scikit-image has as many bins as
the largest element of the image asks for; what depends on their number needs the whole image.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from slinky.errors import ArgumentError
from slinky.frontend.kernels import Array
from slinky.frontend.ndimage.steps import Output, applied, scipy_ndimage
from slinky.frontend.skimage_filters.delegating import Call, Delegated, FunctionByPieces, delegated, module_of
from slinky.graph.boundaries import CONSTANT

MODULE = "filters.rank"

_BYTES = (np.dtype(np.uint8), np.dtype(np.uint16))
"""What scikit-image makes histograms of; it converts everything else to bytes."""

_LOCAL = """
    autolevel autolevel_percentile enhance_contrast enhance_contrast_percentile entropy equalize geometric_mean
    gradient gradient_percentile majority maximum mean mean_bilateral mean_percentile median minimum modal
    noise_filter otsu percentile pop pop_bilateral pop_percentile subtract_mean subtract_mean_percentile sum
    sum_bilateral sum_percentile threshold threshold_percentile
"""

_BY_BINS = (
    "autolevel", "autolevel_percentile", "equalize", "gradient_percentile", "noise_filter", "subtract_mean",
    "subtract_mean_percentile", "threshold_percentile",
)  # fmt: skip
"""Those whose results depend on how many bins there are."""


@attrs.frozen
class _Carried:
    """Elements that count as they are, and others, by a mask, as their complement."""

    dtype: np.dtype[Any]

    def __call__(self, image: Array, mask: Array | None = None) -> Array:
        found = image.astype(self.dtype)
        return found if mask is None else np.where(module_of("util").img_as_ubyte(mask) != 0, found, ~found)


@attrs.frozen
class _Ranked:
    """A rank filter of what was carried."""

    function: Delegated
    dtype: np.dtype[Any]

    def __call__(self, piece: Array) -> Any:
        counts = piece >= 0
        image = np.where(counts, piece, ~piece).astype(self.dtype)
        return self.function.of(image, mask=None if counts.all() else counts)


def ranked(call: Call) -> Any:
    """A rank filter, as a step that carries what counts, and one with a halo."""
    image, name = call.image, call.name.rpartition(".")[2]
    if call.has_mask_of_other_shape:
        raise ArgumentError(  # scikit-image reads beyond it
            f"sl.skimage_filters.{call.name}: the mask has shape {np.shape(call['mask'])}, the image {image.shape}"
        )
    if image.dtype not in _BYTES:
        image = applied(image, delegated("util", "img_as_ubyte"), "as_bytes", Output(_BYTES[0]))
    carried = np.dtype(np.int16 if image.dtype == _BYTES[0] else np.int32)
    masks = () if call["mask"] is None else (call["mask"],)
    counted = applied(image, _Carried(carried), "counted", Output(carried), others=masks)
    footprint = call["footprint"]
    if footprint is None:
        footprint = scipy_ndimage().generate_binary_structure(call.rank, call.rank)
    others = {key: each for key, each in call.others.items() if key not in ("mask", "out")}
    function = _Ranked(delegated(MODULE, name, **{**others, "footprint": np.asarray(footprint)}), image.dtype)
    centres = [n // 2 + shift for n, shift in zip(np.shape(footprint), _shifts(call), strict=True)]
    halo = tuple((centre, n - centre - 1) for n, centre in zip(np.shape(footprint), centres, strict=True))
    return applied(counted, function, name, Output(call.dtype), halo=halo, modes=[CONSTANT] * call.rank, cval=-1)


def _shifts(call: Call) -> list[int]:
    """How far the centre of the footprint is moved along each axis: x is the last of two axes, and the first of three
    (scikit-image 0.26)."""
    names = ("shift_y", "shift_x") if call.rank == 2 else ("shift_x", "shift_y", "shift_z")
    return [int(call.arguments.get(name, 0)) for name in names]


def rank_reason(call: Call) -> str | None:
    """Why a call needs the whole image; None where it does not."""
    image, mask = call.image.dtype, call["mask"]
    for what, dtype in (("images", image), ("masks", None if mask is None else np.dtype(mask.dtype))):
        if dtype is not None and dtype.kind in "iu" and dtype not in _BYTES[: 1 if what == "masks" else 2]:
            return f"{what} of {dtype} are scaled to bytes by their largest element"
    outside = [name for name in ("p0", "p1") if not 0 <= call.arguments.get(name, 0) <= 1]
    if image == _BYTES[1] and (call.name.rpartition(".")[2] in _BY_BINS or outside):
        return "the largest element of an image of uint16 says how many bins its histograms have"
    return None


RANKS: Mapping[str, FunctionByPieces] = {
    f"rank.{name}": FunctionByPieces(MODULE, ranked, reason=rank_reason) for name in _LOCAL.split()
}
"""The rank filters that are understood."""

__all__ = ["MODULE", "RANKS", "rank_reason", "ranked"]
