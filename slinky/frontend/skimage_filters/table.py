"""The functions of scikit-image that are understood, what they read, and what holds for them by pieces.

Most are the function itself on pieces with a halo. Where a function takes several steps, each of which looks beyond the
edges by its own rule, the steps are made one after the other, as filters of `sl.ndimage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.errors import GraphError
from slinky.frontend import ndimage
from slinky.frontend.kernels import Array, Kernel
from slinky.frontend.ndimage.steps import Cast, NotByPiecesError, Output, applied, combined, held, scipy_ndimage
from slinky.frontend.ndimage.table import Pieces
from slinky.frontend.nodes import exactly
from slinky.frontend.sizes import same
from slinky.frontend.skimage_filters.delegating import Call, Delegated, FunctionByPieces, delegated, module_of
from slinky.frontend.skimage_filters.ranking import MODULE, RANKS, rank_reason, ranked
from slinky.frontend.tables import TOLERANCE
from slinky.graph.boundaries import CONSTANT
from slinky.graph.buffers import BufferExpr

# ----------------------------------------------------------------------------------------------------------------
# Filters
# ----------------------------------------------------------------------------------------------------------------


def _as_floats(image: Any, preserve_range: bool = False) -> Any:
    """An image as floats of 32 or 64 bits, scaled as scikit-image scales it."""
    kind = _as_floats_dtype(image)
    if image.dtype == kind:
        return image
    if preserve_range or image.dtype.kind == "f":
        return applied(image, Cast(kind), "as_floats", Output(kind))
    return applied(image, delegated("util", "img_as_float"), "as_floats", Output(kind))


def _edges(reach: int) -> Callable[[Call], Any]:
    """Correlations with small weights, on pieces with a halo; then what a mask leaves."""

    def made(call: Call) -> Any:
        image = _as_floats(call.image)
        others = {name: each for name, each in call.others.items() if name != "mask"}
        function = delegated("filters", call.name, **others)
        found = applied(
            image,
            function,
            call.name,
            Output(call.dtype),
            halo=((reach, reach),) * call.rank,
            modes=[call.arguments.get("mode", "reflect")] * call.rank,
            cval=call.arguments.get("cval", 0),
        )
        if call["mask"] is None:
            return found
        around = scipy_ndimage().generate_binary_structure(call.rank, call.rank)
        inside = ndimage.binary_erosion(call["mask"], around, border_value=0)
        return combined(np.multiply, (found, inside), Output(call.dtype))

    return made


def _edge_reason(call: Call) -> str | None:
    if call.has_mask_of_other_shape:
        return "the mask is not of the image's shape"
    if call.arguments.get("mode") == CONSTANT and held(call["cval"], _as_floats_dtype(call.image)) is None:
        return f"cval={call['cval']} is no number of the dtype that is computed with"
    return None


def _as_floats_dtype(image: Any) -> np.dtype[Any]:
    return np.dtype(np.float32 if image.dtype in (np.float16, np.float32) else np.float64)


def _sigmas(sigma: Any, rank: int, channel_axis: int | None) -> Any:
    """A standard deviation for each axis, 0 for that of channels."""
    if channel_axis is None:
        return sigma
    own = list(sigma) if np.iterable(sigma) else [sigma] * (rank - 1)
    return [*own[: channel_axis % rank], 0, *own[channel_axis % rank :]] if len(own) == rank - 1 else own


def _gaussian(call: Call) -> Any:
    sigma = _sigmas(call["sigma"], call.rank, call["channel_axis"])
    image = _as_floats(call.image, call["preserve_range"])
    return ndimage.gaussian_filter(image, sigma, mode=call["mode"], cval=call["cval"], truncate=call["truncate"])


def _difference_of_gaussians(call: Call) -> Any:
    low = np.array(call["low_sigma"], float, ndmin=1)
    high = low * 1.6 if call["high_sigma"] is None else np.array(call["high_sigma"], float, ndmin=1)
    image, count = _as_floats(call.image), call.rank - (call["channel_axis"] is not None)
    blurred = [
        ndimage.gaussian_filter(
            image,
            _sigmas(list(own * np.ones(count)), call.rank, call["channel_axis"]),
            mode=call["mode"],
            cval=call["cval"],
            truncate=call["truncate"],
        )
        for own in (low, high)
    ]
    return combined(np.subtract, blurred, Output(call.dtype))


@attrs.frozen
class _Sharpen:
    """An image with more of what blurring takes from it, between ends."""

    amount: Any = attrs.field(eq=exactly)
    ends: tuple[float, float] | None

    def __call__(self, image: Array, blurred: Array) -> Array:
        result: Array = image + (image - blurred) * self.amount
        return result if self.ends is None else np.clip(result, *self.ends, out=result)


def _unsharp_mask(call: Call) -> Any:
    image = _as_floats(call.image, call["preserve_range"])
    sigma = _sigmas(call["radius"], call.rank, call["channel_axis"])
    blurred = ndimage.gaussian_filter(image, sigma, mode="reflect")
    ends = None if call["preserve_range"] else (0.0, 1.0)
    return applied(image, _Sharpen(call["amount"], ends), "sharpen", Output(call.dtype), others=(blurred,))


def _unsharp_reason(call: Call) -> str | None:
    if call["preserve_range"] or call.image.dtype.kind in "ub":
        return None
    return (
        "whether any element is negative decides where all are cut off; give preserve_range=True, or unsigned integers"
    )


def _median(call: Call) -> Any:
    if call["behavior"] == "rank":
        return ranked(_rank_median(call))
    footprint = call["footprint"]
    if footprint is None:
        footprint = scipy_ndimage().generate_binary_structure(call.rank, call.rank)
    return ndimage.median_filter(call.image, footprint=footprint, mode=call["mode"], cval=call["cval"])


def _rank_median(call: Call) -> Call:
    """The call of the rank filter that a median is: boundary rules mean nothing there."""
    return attrs.evolve(
        call, name="rank.median", arguments={"image": call.image, "footprint": call["footprint"], "mask": None}
    )


def _median_reason(call: Call) -> str | None:
    return rank_reason(_rank_median(call)) if call["behavior"] == "rank" else None


@attrs.frozen
class _Less:
    """An array less a number."""

    number: Any = attrs.field(eq=exactly)

    def __call__(self, piece: Array) -> Array:
        found: Array = piece - self.number
        return found


def _threshold_local(call: Call) -> Any:
    image = _as_floats(call.image, preserve_range=True)
    size = call["block_size"]
    sizes = list(size) if np.iterable(size) else [size] * call.rank
    beyond = {"mode": call["mode"], "cval": call["cval"]}
    match call["method"]:
        case "generic":
            found = ndimage.generic_filter(image, call["param"], sizes, **beyond)
        case "gaussian":
            sigma = [(n - 1) / 6.0 for n in sizes] if call["param"] is None else call["param"]
            found = ndimage.gaussian_filter(image, sigma, **beyond)
        case "mean":
            found = ndimage.uniform_filter(image, sizes, **beyond)
        case _:
            found = ndimage.median_filter(image, sizes, **beyond)
    return applied(found, _Less(call["offset"]), "threshold_local", Output(call.dtype))


def _threshold_reason(call: Call) -> str | None:
    return None if np.isscalar(call["offset"]) else "offset is an array"


def _gabor(call: Call) -> Any:
    image = _as_floats(call.image, preserve_range=True) if call.image.dtype.kind == "f" else call.image
    dtype = np.promote_types(image.dtype, np.complex64) if image.dtype.kind == "f" else np.dtype(np.complex128)
    others = {key: each for key, each in call.others.items() if key not in ("mode", "cval")}
    weights = module_of("filters").gabor_kernel(**others, dtype=dtype)
    return tuple(
        ndimage.convolve(image, part, mode=call["mode"], cval=call["cval"]) for part in (weights.real, weights.imag)
    )


def _correlate_sparse(call: Call) -> Any:
    weights = np.asarray(call["kernel"])
    function = delegated("filters", "correlate_sparse", kernel=weights, mode="valid")
    is_inside = call["mode"] == "valid"
    halo = tuple((0, n - 1) if is_inside else (n // 2, n // 2) for n in weights.shape)
    rule = None if is_inside else call["mode"]
    kernel = Kernel(function, "correlate_sparse", halo=halo, boundary=rule, dtype=call.dtype)
    return kernel(_as_floats(call.image, preserve_range=True))


def _complex_reason(call: Call) -> str | None:
    return "it is complex" if call.image.dtype.kind == "c" else None


# ----------------------------------------------------------------------------------------------------------------
# Elements and pixels
# ----------------------------------------------------------------------------------------------------------------


def _elements(call: Call) -> Any:
    function = delegated("exposure", call.name, **call.others)
    return applied(call.image, function, call.name, Output(call.dtype))


def _range_reason(call: Call) -> str | None:
    for name in ("in_range", "out_range"):
        if isinstance(call[name], str) and call[name] == "image":
            return f"{name}='image' asks for the smallest and the largest element; give {name}=(low, high)"
    return None


def _pixels(call: Call) -> Any:
    """A function of the channels of each pixel."""
    axis = call["channel_axis"] % call.rank
    function = delegated("color", call.name, **call.others)
    kernel = Kernel(function, call.name, whole=(axis,), size=call.tried.shape[axis], dtype=call.dtype)
    return kernel(call.image)


def _rgb2gray(call: Call) -> Any:
    from slinky.frontend.contracting import contracted

    _require_lazy(call)
    axis = call["channel_axis"] % call.rank
    places = [None if d == axis else d - (d > axis) for d in range(call.rank)]
    shape = [n for d, n in enumerate(call.image._shape) if d != axis]
    function = delegated("color", "rgb2gray", channel_axis=axis)
    return contracted("rgb2gray", function, [call.image], [places], shape, call.dtype, exactness=TOLERANCE)


def _gray2rgb(call: Call) -> Any:
    _require_lazy(call)
    return np.stack(3 * (call.image,), axis=call["channel_axis"])


def _gray2rgba(call: Call) -> Any:
    _require_lazy(call)
    image, alpha = call.image, call["alpha"]
    if alpha is None:
        _, alpha = module_of("util.dtype").dtype_limits(np.empty(0, image.dtype), clip_negative=False)
    with np.errstate(over="ignore", under="ignore"):
        alpha = np.asarray(alpha).astype(image.dtype)[()]
    return np.stack((*3 * (image,), np.full_like(image, alpha)), axis=call["channel_axis"])


def _alpha_reason(call: Call) -> str | None:
    return None if call["alpha"] is None or np.isscalar(call["alpha"]) else "alpha is an array"


@attrs.frozen
class _Distance:
    """How far the colours of two images are from each other."""

    function: Delegated

    def __call__(self, one: Array, other: Array) -> Any:
        return self.function.of(one, other)


def _delta_e(call: Call) -> Any:
    from slinky.frontend.calling import lifted
    from slinky.frontend.contracting import contracted

    _require_lazy(call)
    axis = call["channel_axis"] % call.rank
    places = [None if d == axis else d - (d > axis) for d in range(call.rank)]
    shape = [n for d, n in enumerate(call.image._shape) if d != axis]
    others = {key: each for key, each in call.others.items() if key not in ("lab2", "channel_axis")}
    function = _Distance(delegated("color", call.name, **others, channel_axis=axis))
    pair = [call.image, lifted(call["lab2"], call.image._trace)]
    return contracted(call.name, function, pair, [places, places], shape, call.dtype, exactness=TOLERANCE)


def _distance_reason(call: Call) -> str | None:
    shapes = [getattr(each, "_shape", None) or np.shape(each) for each in (call.image, call["lab2"])]
    is_alike = len(shapes[0]) == len(shapes[1]) and all(map(same, *shapes))
    return None if is_alike else "the two images are not of one shape"


def _require_lazy(call: Call) -> None:
    if isinstance(call.image, BufferExpr):
        raise GraphError(
            f"sl.skimage_filters.{call.name} gives another rank than it is given; use it in a function of sl.jit"
        )


# ----------------------------------------------------------------------------------------------------------------
# Morphology
# ----------------------------------------------------------------------------------------------------------------


def _footprints(call: Call, mirrored: bool, at_end: bool = False) -> list[tuple[Any, int]]:
    """The footprints of a call, each with how often it is applied."""
    morphology, footprint = module_of("morphology"), call["footprint"]
    if footprint is None:
        footprint = scipy_ndimage().generate_binary_structure(call.rank, 1)
    footprint = morphology.pad_footprint(footprint, pad_end=at_end)
    footprint = morphology.mirror_footprint(footprint) if mirrored else footprint
    return list(footprint) if isinstance(footprint, tuple) else [(footprint, 1)]


def _repeated(footprints: Sequence[tuple[Any, int]]) -> Iterator[Any]:
    """Each footprint as often as it is applied to numbers: the first one at least once, as in scikit-image."""
    for place, (footprint, count) in enumerate(footprints):
        yield from [footprint] * (count if place else max(count, 1))


def _ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and the largest element of a dtype."""
    if dtype.kind == "b":
        return False, True
    return (-np.inf, np.inf) if dtype.kind not in "iu" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _grey(image: Any, call: Call, name: str, mirrored: bool) -> Any:
    """An erosion or dilation, with each footprint after the other."""
    mode, cval = call["mode"], call["cval"]
    if mode in ("max", "min", "ignore"):
        largest = mode == "max" or (mode == "ignore" and name == "grey_erosion")
        mode, cval = CONSTANT, _ends(image.dtype)[largest]
    for footprint in _repeated(_footprints(call, mirrored)):
        image = getattr(ndimage, name)(image, footprint=footprint, mode=mode, cval=cval)
    return image


def _erosion(call: Call) -> Any:
    return _grey(call.image, call, "grey_erosion", mirrored=False)


def _dilation(call: Call) -> Any:
    return _grey(call.image, call, "grey_dilation", mirrored=True)


def _opening(call: Call) -> Any:
    # The footprint is mirrored between the two, and again within a dilation.
    return _grey(_erosion(call), call, "grey_dilation", mirrored=False)


def _closing(call: Call) -> Any:
    return _grey(_dilation(call), call, "grey_erosion", mirrored=True)


def _tophat(of: Callable[[Call], Any], is_image_first: bool) -> Callable[[Call], Any]:
    def made(call: Call) -> Any:
        pair = (call.image, of(call)) if is_image_first else (of(call), call.image)
        ufunc = np.logical_xor if call.dtype.kind == "b" else np.subtract
        return combined(ufunc, pair, Output(call.dtype))

    return made


def _binary(image: Any, call: Call, name: str) -> Any:
    """An erosion or dilation of what is true, with each footprint after the other."""
    beyond = call["mode"] == "max" if name == "binary_dilation" else call["mode"] != "min"
    for footprint, count in _footprints(call, mirrored=False, at_end=True):
        if count < 1:
            raise NotByPiecesError(f"a footprint with the count {count} is applied until nothing changes")
        for _ in range(count):
            image = getattr(ndimage, name)(image, structure=footprint, border_value=beyond)
    return image


def _binary_erosion(call: Call) -> Any:
    return _binary(call.image, call, "binary_erosion")


def _binary_dilation(call: Call) -> Any:
    return _binary(call.image, call, "binary_dilation")


def _binary_opening(call: Call) -> Any:
    return _binary(_binary_erosion(call), call, "binary_dilation")


def _binary_closing(call: Call) -> Any:
    return _binary(_binary_dilation(call), call, "binary_erosion")


_FILTERS: Mapping[str, FunctionByPieces] = {
    **{name: FunctionByPieces("filters", _edges(1), reason=_edge_reason) for name in ("sobel", "prewitt", "scharr")},
    "farid": FunctionByPieces("filters", _edges(2), reason=_edge_reason),
    **{
        name: FunctionByPieces("filters", _edges(1), reason=_edge_reason)
        for name in (
            "sobel_h", "sobel_v", "prewitt_h", "prewitt_v", "scharr_h", "scharr_v", "roberts", "roberts_pos_diag",
            "roberts_neg_diag", "laplace",
        )
    },
    "farid_h": FunctionByPieces("filters", _edges(2), reason=_edge_reason),
    "farid_v": FunctionByPieces("filters", _edges(2), reason=_edge_reason),
    "gaussian": FunctionByPieces("filters", _gaussian),
    "difference_of_gaussians": FunctionByPieces("filters", _difference_of_gaussians),
    "unsharp_mask": FunctionByPieces("filters", _unsharp_mask, reason=_unsharp_reason),
    "median": FunctionByPieces("filters", _median, reason=_median_reason),
    "threshold_local": FunctionByPieces("filters", _threshold_local, reason=_threshold_reason),
    "gabor": FunctionByPieces("filters", _gabor),
    "correlate_sparse": FunctionByPieces("filters", _correlate_sparse, reason=_complex_reason),
}  # fmt: skip

_EXPOSURE: Mapping[str, FunctionByPieces] = {
    **{name: FunctionByPieces("exposure", _elements) for name in ("adjust_gamma", "adjust_log", "adjust_sigmoid")},
    "rescale_intensity": FunctionByPieces("exposure", _elements, reason=_range_reason),
}

_BY_PRODUCTS = (
    "hed2rgb", "lab2rgb", "lab2xyz", "lab2lch", "lch2lab", "luv2rgb", "luv2xyz", "rgb2hed", "rgb2lab", "rgb2luv",
    "rgb2rgbcie", "rgb2xyz", "rgb2ycbcr", "rgb2ydbdr", "rgb2yiq", "rgb2ypbpr", "rgb2yuv", "rgbcie2rgb", "xyz2lab",
    "xyz2luv", "xyz2rgb", "ycbcr2rgb", "ydbdr2rgb", "yiq2rgb", "ypbpr2rgb", "yuv2rgb", "separate_stains",
    "combine_stains", "convert_colorspace",
)  # fmt: skip

_DISTANCES = ("deltaE_cie76", "deltaE_ciede94", "deltaE_ciede2000", "deltaE_cmc")

_COLOR: Mapping[str, FunctionByPieces] = {
    **{name: FunctionByPieces("color", _pixels, channels=3) for name in ("rgb2hsv", "hsv2rgb", *_BY_PRODUCTS)},
    "rgba2rgb": FunctionByPieces("color", _pixels, channels=4),
    "rgb2gray": FunctionByPieces("color", _rgb2gray, channels=3),
    "gray2rgb": FunctionByPieces("color", _gray2rgb),
    "gray2rgba": FunctionByPieces("color", _gray2rgba, reason=_alpha_reason),
    **{name: FunctionByPieces("color", _delta_e, channels=3, reason=_distance_reason) for name in _DISTANCES},
}

_MORPHOLOGY: Mapping[str, FunctionByPieces] = {
    "erosion": FunctionByPieces("morphology", _erosion),
    "dilation": FunctionByPieces("morphology", _dilation),
    "opening": FunctionByPieces("morphology", _opening),
    "closing": FunctionByPieces("morphology", _closing),
    "binary_erosion": FunctionByPieces("morphology", _binary_erosion),
    "binary_dilation": FunctionByPieces("morphology", _binary_dilation),
    "binary_opening": FunctionByPieces("morphology", _binary_opening),
    "binary_closing": FunctionByPieces("morphology", _binary_closing),
    "white_tophat": FunctionByPieces("morphology", _tophat(_opening, is_image_first=True)),
    "black_tophat": FunctionByPieces("morphology", _tophat(_closing, is_image_first=False)),
}

TABLE: Mapping[str, FunctionByPieces] = {**_FILTERS, **_EXPOSURE, **_COLOR, **_MORPHOLOGY, **RANKS}
"""The functions that are understood."""

_HISTOGRAM = "it needs the histogram of the whole image"
_ALL = "each element depends on the whole image"
_REGIONS = "regions that are connected reach as far as they reach"

_FROM_THE_FIRST = "it adds from the first element of the image on"
_DISTANT = "distances reach as far as they reach"
_SCALED = "it is scaled by the largest element of the image"

_WHOLE: Mapping[str, Mapping[str, str]] = {
    "filters": {
        _HISTOGRAM: "threshold_isodata threshold_li threshold_mean threshold_minimum threshold_multiotsu "
        "threshold_otsu threshold_triangle threshold_yen",
        _FROM_THE_FIRST: "threshold_niblack threshold_sauvola",
        _REGIONS: "apply_hysteresis_threshold",
        _ALL: "butterworth wiener rank_order filter_forward filter_inverse",
        _SCALED: "frangi hessian meijering sato",
    },
    "exposure": {
        _HISTOGRAM: "equalize_hist equalize_adapthist match_histograms cumulative_distribution "
        "histogram is_low_contrast"
    },
    "color": {_ALL: "label2rgb"},
    "morphology": {
        _DISTANT: "isotropic_closing isotropic_dilation isotropic_erosion isotropic_opening remove_objects_by_distance",
        _REGIONS: "area_closing area_opening diameter_closing diameter_opening reconstruction skeletonize thin "
        "medial_axis remove_small_holes remove_small_objects label convex_hull_image "
        "convex_hull_object flood flood_fill h_maxima h_minima local_maxima local_minima max_tree "
        "max_tree_local_maxima",
    },
}

WHOLE: Mapping[str, tuple[str, str]] = {
    name: (module, reason) for module, own in _WHOLE.items() for reason, names in own.items() for name in names.split()
} | {"rank.windowed_histogram": (MODULE, "it gives an axis more than it is given")}
"""Functions that need the whole image: their modules, and why."""

PIECES: Mapping[str, Pieces] = {
    name: Pieces.NEAR
    if name in (*_BY_PRODUCTS, *_DISTANCES, "rgb2gray", "adjust_gamma", "adjust_log", "adjust_sigmoid")
    else Pieces.EXACT
    for name in sorted(TABLE)
}
"""What holds by pieces: products of matrices, powers and logarithms are rounded otherwise in other layouts."""

__all__ = ["PIECES", "TABLE", "WHOLE"]
