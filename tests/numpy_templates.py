"""The lines that random programs of NumPy are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

HELPER = """\
def helper(q, s):
    return np.where(q > s, q, s) if q.ndim > 1 else q * 2
"""
"""A function that programs may call."""


@attrs.frozen
class Template:
    """A line of NumPy, with holes.

    Holes: `{a}` any value, `{n}` an array of rank 1 or more, `{m}` one of rank 2 or more, `{f}` floats, `{i}` integers,
    `{b}` bools, `{t}` a number that is no array, `{same}` a value of the shape of the first, `{own}` an array that the
    program has made; `{k}` an axis
    of the first, `{x}` an index of the first, `{s}` a number, `{d}` a dtype, `{u}` and `{v}` ufuncs of one and of two.
    With `rounds`, its result is rounded in an order that is nobody's business; `sharp` lines turn small differences of
    what they read into large ones.
    """

    text: str
    weight: int = 2
    rounds: bool = False
    sharp: bool = False


@attrs.frozen
class Material:
    """What programs are made of: the dtypes and sizes of arrays, how many elements a value has at most, what makes
    arrays of a dtype, a shape and a seed, the lines, and the numbers in these. They `are_extreme` where what is added
    up is rounded, or infinite. Where there are `scalars`, dtypes of numbers, some of these are given, too."""

    dtypes: tuple[str, ...]
    sizes: tuple[int, ...]
    most: int
    made: Callable[[str, Sequence[int], int], Any]
    templates: Sequence[Template]
    statements: Sequence[Template]
    numbers: tuple[str, ...]
    are_extreme: bool = False
    scalars: tuple[str, ...] = ()


def _lines(text: str, **options: Any) -> list[Template]:
    return [Template(line.strip(), **options) for line in text.strip().splitlines()]


TEMPLATES = [
    # Arithmetic
    *_lines("""
        {u}({a})
        {v}({a}, {a})
        {v}({a}, {same})
        {v}({a}, {s})
        {v}({s}, {a})
        {a} + {a}
        {a} - {same}
        {a} * {s}
        {s} - {a}
        {a} * {a} + {same}
        -{a}
        abs({a})
        {v}({a}, {same}, dtype={d})
        {v}({a}, {same}, out=np.zeros_like({a}))
        np.add({a}, {same}, where={b}, out=np.ones_like({a}))
        np.clip({a}, {s}, None)
        np.clip({a}, 0, 2)
        {a}.clip(-1, 1)
        {a}.astype({d})
        {a}.real
        np.conj({a})
        np.square({a})
    """, weight=4, sharp=False),
    *_lines("""
        {a} > {s}
        {a} == {same}
        {a} <= {same}
        {a} // 2
        {a} % 3
        np.floor({f})
        np.sign({a})
        np.rint({f})
        np.isfinite({a})
        np.signbit({f})
        {b} & {b}
        {b} | {b}
        ~{b}
        {i} & {i}
        {i} << 1
        {i} ^ 5
        np.where({a} > 0, {same}, {s})
        np.where({b}, {a}, {same})
        np.where({a} > {s}, {s}, {s})
        np.select([{b}, {b}], [1, 2], 0)
        np.select([{a} > 0, {same} > 1], [{same}, {s}], {s})
        np.digitize({n}, [-1, 0, 2])
        np.interp({f}, [-2.0, 0.0, 3.0], [0.0, 1.0, -1.0])
        np.interp({f}, [-2, 0, 3], [0, 1, -1], left=5, period=4)
        np.digitize({n}, np.sort({f}.reshape(-1)))
        np.isin({n}, [0, 1, 2])
        np.round({a}, 1)
        np.nan_to_num({f})
        np.maximum({a}, {same})
        np.heaviside({f}, 0.5)
        np.isclose({a}, {same})
        np.take(np.array([3, 1, 2]), {i}, mode="clip")
    """, sharp=True),
    *_lines("""
        {f} / {s}
        np.sqrt(abs({f}))
        np.exp(-abs({f}))
        np.sin({f})
        np.hypot({f}, {f})
        np.arctan2({f}, {f})
        {f} ** 2
        np.tanh({f})
        np.log1p(abs({f}))
        np.linspace(0, 1, {n}.shape[0])
    """, rounds=True),
    # What the tables list beside these
    *_lines("""
        np.abs({a})
        np.real({a})
        np.imag({a})
        {a}.imag
        {a}.conj()
        np.atleast_1d({a})
        np.broadcast_arrays({n}, {same})[1]
        np.broadcast_arrays({a}, {a})[0]
        np.flipud({n})
        np.rollaxis({m}, 1)
        np.rollaxis({m}, -1)
        {a}.astype(np.result_type({a}, np.float32))
        np.full_like(np.empty_like({a}), 3)
        np.ndim({a}) + {a}
        np.shape({n})[0] * {n}
        np.size({a}) - {a}
        {a} * np.iscomplexobj({a})
        {a} * np.isrealobj({a})
        np.ldexp({f}, 2)
        np.bitwise_count({i})
        np.gcd({i}, 6)
        np.lcm({i}, 4)
        np.nextafter({f}, 0)
        divmod({i}, 3)[1]
        np.pad({n}, 1, mode="maximum")
        np.pad({m}, 2, mode="minimum")
        np.pad({n}.reshape(-1), 1, mode="empty")[1:-1]
        np.pad({m}, ((1, 0), (0, 2)), mode="reflect", reflect_type="odd")
        np.linalg.matrix_transpose({m})
        np.diag({m})
        np.tril({m})
        np.triu({m}, 1)
        np.kron({n}, [1, 2])
        np.insert({n}, 1, 2, axis={k})
        np.swapaxes({m}, 0, 1)
        np.permute_dims({m})
        np.concat([{n}, {same}], axis={k})
        np.cumulative_sum({i}.reshape(-1), include_initial=True)
        np.resize({n}, 5)
        np.unstack({n}, axis={k})[0]
        np.hsplit({m}, 1)[0]
        {n}.ravel()
        {n}.flatten()
        {n}.repeat(2, axis={k})
        {n}.take([0, -1], axis={k})
        {m}.diagonal()
        {n}.squeeze()
        {a}.conjugate()
        np.diag({n}.reshape(-1)[:9], 1)
        np.diag({n}.reshape(-1)[:9], -2)
        np.diagflat({n}[:3])
        np.triu({n}, -1)
        np.tril({m}.T, 1)
        np.ediff1d({n})
        np.ediff1d({n}, 3, [1, 2])
        np.insert({n}, -1, {n}[0], axis=0)
        np.insert({n}, 0, 3)
        np.delete({n}, -1, axis={k})
        np.delete({n}, slice(1, 3), axis=0)
        np.delete({n}, [0, 2], axis={k})
        np.delete({n}, [-1, -2])
        np.append({n}, {same}, axis={k})
        np.meshgrid({n}[0], {n}[..., 0], indexing="ij")[1]
        np.meshgrid({n}.reshape(-1), np.arange(3), sparse=True)[1]
        np.kron({m}, {n})
        np.cross(np.resize({n}, (4, 3)), np.resize({same}, (4, 3)))
        np.linalg.cross({m}[..., :3], [1, 2, -1])
        np.linalg.outer({n}.reshape(-1), {n}.reshape(-1))
        np.fft.fftshift({n})
        np.fft.ifftshift({n}, axes={k})
        np.roll({n}, len({n}) // 2, 0)
        np.atleast_3d({a})
        np.astype({a}, np.float32)
        np.matrix_transpose({m})
        np.resize({n}, (3, 4))
        np.polyadd({n}.reshape(-1), [1, 2])
        np.polysub({n}.reshape(-1), [1, 2])
        np.polyder({n}.reshape(-1))
        np.polyval([1, -2, 3], {a})
        np.polyval({n}.reshape(-1)[:3], {a})
        np.cumulative_prod(np.sign({i}), axis={k})
        np.apply_over_axes(np.max, {m}, [0, 1])
        np.unstack({m}, axis=1)[-1]
    """, weight=1),
    *_lines("""
        np.fix({f})
        np.around({a}, 1)
        {a}.round()
        np.ceil({f})
        np.trunc({f})
        np.spacing({f})
        np.frexp({f})[0]
        np.frexp({f})[1]
        np.modf({f})[0]
        np.modf({f})[1]
        np.divmod({a}, 2.5)[0]
        np.isneginf({f})
        np.isposinf({f})
        np.amax({n}, axis={k})
        np.amin({n}, axis={k}, keepdims=True)
        np.nanargmax({n}, axis={k})
        np.nanargmin(np.where({n} > 100, np.nan, {n}), axis={k})
        np.nanmax(np.where({n} > 1, np.nan, {n}), axis={k})
        np.nanmin(np.where({n} > 1, np.nan, {n}))
        {n}.argsort(axis={k}, kind="stable")
        {n}.argmax(axis={k})
        {n}.argmin()
        {n}.ptp(axis={k}) if hasattr({n}, "ptp") else np.ptp({n}, axis={k})
        {n}.searchsorted([1]) if {n}.ndim == 1 else {n}
        {n}.nonzero()[0]
        {n}.compress([True, False, True], axis={k})
        np.maximum.outer({n}, [0, 1])
        np.argwhere({n})
        np.bincount(abs({i}).reshape(-1))
        np.compress([True, False, True], {n}, axis={k})
        np.delete({n}, 0, axis={k})
        np.extract({n} > 0, {n})
        np.intersect1d({n}, [0, 1])
        np.nonzero({n})[0]
        np.setdiff1d({n}, [0, 2])
        np.setxor1d({n}, [0, 2])
        np.trim_zeros({n}.reshape(-1))
        np.union1d({n}, [0, 2])
        np.unique_all({n}).counts
        np.unique_counts({n}).values
        np.unique_inverse({n}).inverse_indices
        np.sort(np.unique_values({n}))
        np.partition({n}, 0, axis={k})[:1]
        np.histogram({f}, bins=3, range=(-2, 2))[0]
        np.histogram({n}, [-2, 0, 1, 5])[0]
        np.histogram_bin_edges({n} * 2, 4, (-3, 3.5))
        np.histogram2d({n}.reshape(-1), {same}.reshape(-1), [[-1, 0, 2], 3], [None, (-2, 2)])[0]
        np.choose({b} * 1, [{s}, {s}])
        np.unravel_index(abs({i}) % 6, (2, 3))[1]
        np.unravel_index(np.argmax({n}), {n}.shape + (1,))[0]
        np.ravel_multi_index((abs({i}) % 3, abs({i}) % 2), (3, 2), order="F")
        np.sort_complex({n})
        np.piecewise({n}, [{same} > 0], [1, 2])
        np.piecewise({n}, [{same} > 0, {same} < -1], [lambda v: v + v, np.negative, 3])
        np.packbits({n} > 0, axis={k})
        np.unpackbits(np.packbits({n} > 0, axis={k}), count=-1)
        np.unpackbits(abs({i}).astype(np.uint8), axis=-1, bitorder="little")
        np.maximum.reduceat({n}, [0, 0], axis={k})
        np.add.reduceat({i}, np.arange(0, {i}.shape[0], 2), axis=0)
        np.lexsort(({n}, {same}), axis={k})
        np.apply_along_axis(np.ptp, {k}, {n} * 2)
        np.apply_along_axis(np.sort, {k}, {n})
        np.piecewise({n}, [{same} > 1, {same} < 0], [{s}, 2])
        np.vander({n}.reshape(-1)[:4] % 3, 4)
        np.vander({n}.reshape(-1) % 2, increasing=True)[:, :3]
        np.isreal({a})
        np.iscomplex({a})
    """, weight=1, sharp=True),
    *_lines("""
        np.nansum(np.where({n} > 1, np.nan, {n}), axis={k})
        np.nanprod(np.where(abs({n}) > 1, np.nan, {n}), axis={k})
        np.nanmean(np.where({n} > 1, np.nan, {n}), axis={k})
        np.nanvar(np.where({n} > 1, np.nan, {n}))
        np.nanstd(np.where({n} > 1, np.nan, {n}), axis={k})
        np.nanmedian(np.where({n} > 1, np.nan, {n}), axis={k})
        np.nancumsum(np.where({n} > 1, np.nan, {n}), axis={k})
        np.nancumprod(np.where(abs({n}) > 1, np.nan, {n}), axis={k})
        {n}.sum(axis={k}, where={b})
        {n}.cumsum(axis={k})
        {n}.cumprod(axis={k})
        {n}.var(axis={k}, ddof=1)
        {n}.prod()
        {m}.dot({n})
        {m}.trace()
        np.matmul({m}, {n})
        np.average({n}, axis={k}, weights=np.arange({n}.shape[{k}]) + 1)
        np.linalg.norm({m}, axis=-1)
        np.linalg.norm({m}, 1, axis={k})
        np.percentile({n}, 30, axis={k})
        np.quantile({n}, 0.3, axis={k})
        np.nanpercentile({n}, 70, axis={k})
        np.nanquantile({n}, 0.7)
        np.cov({m})
        np.cov({n}.reshape(-1), {same}.reshape(-1))
        np.corrcoef({m})
        np.trapezoid({n}, axis={k})
        np.trapezoid({n}, {n}[0])
        np.polyint({n}.reshape(-1))
        np.unwrap({f}, axis={k})
        np.unwrap({i}, period=5)
        np.average({n}, weights=abs({same}) + 1)
        np.average({n}, axis={k}, weights=abs({same}) + 1, returned=True)[1]
        np.average({n}, axis={k}, returned=True)[1]
        np.linalg.norm({m})
        np.linalg.norm({m}, np.inf)
        np.linalg.vector_norm({n}, axis={k}, ord=1, keepdims=True)
        np.linalg.matrix_norm({m}, ord=1)
        np.linalg.matrix_power({m} @ {m}.T, 2)
        np.linalg.matmul({m}, {m}.T)
        np.linalg.tensordot({m}, {m}, axes=([0], [0]))
        (lambda q: np.linalg.multi_dot([q, q.T, q]))({m})
        np.apply_over_axes(np.sum, {m}, [0, 1])
        np.fft.fft2({m})
        np.fft.ifft2({m})
        np.fft.rfft2({m})
        np.fft.irfft2({m})
        np.fft.fftn({n})
        np.fft.ifftn({n}, (4,), axes=({k},))
        np.fft.rfftn({n})
        np.fft.irfftn({n})
        np.pad({f}, 1, mode="linear_ramp")
        np.pad({n}, 1, mode="mean")
        np.pad({n}, 1, mode="median")
        np.divide({a}, 3)
        np.true_divide({a}, 4)
        np.float_power({a}, 2)
        np.power({a}, 2)
        np.pow({a}, 3)
        np.cbrt({f})
        np.cos({f})
        np.sinh(np.clip({f}, -3, 3))
        np.cosh(np.clip({f}, -3, 3))
        np.arctan({f})
        np.arcsinh({f})
        np.exp2(-abs({f}))
        np.expm1(-abs({f}))
        np.deg2rad({f})
        np.degrees({f})
        np.radians({f})
        np.rad2deg({f})
        np.logaddexp({f}, {f})
        np.logaddexp2({f}, 1)
        np.sinc({f})
        np.i0(np.clip({f}, -3, 3))
        np.exp(1j * np.clip({f}, -9, 9))
        np.fft.ifft({n}, axis={k})
        np.fft.hfft({n}, axis={k})
        np.fft.ihfft({f})
        np.linspace({n}[0], {n}[-1], 4)
    """, weight=1, rounds=True),
    *_lines("""
        np.arccos(np.clip({f}, -1, 1))
        np.arcsin(np.clip({f}, -1, 1))
        np.arctanh(np.clip({f}, -0.5, 0.5))
        np.arccosh(abs({f}) + 1)
        np.log(abs({f}) + 0.5)
        np.log2(abs({f}) + 0.5)
        np.log10(abs({f}) + 0.5)
        np.tan({f})
        np.angle({a})
        np.reciprocal(abs({f}) + 0.5)
        np.sqrt({a} + 0j)
        {a} / {a}
    """, weight=1, rounds=True, sharp=True),
    # Indexing and views
    *_lines("""
        {n}[{x}]
        {n}[{x}]
        {n}[{x}]
        {n}[1:]
        {n}[:-1]
        {n}[::2]
        {n}[::-1]
        {n}[..., 1:-1]
        {n}[None]
        {n}[..., None]
        {n}[1:] - {n}[:-1]
        {n}[0]
        {n}[-1]
        {m}[:, 0]
        {m}[1:, :-1]
        {m}[1:-1, 1:-1]
        {m}.T
        {m}.swapaxes(0, 1)
        np.transpose({n})
        np.moveaxis({m}, 0, -1)
        np.flip({n}, {k})
        np.flip({n})
        np.fliplr({m})
        np.rot90({m})
        np.expand_dims({a}, 0)
        np.squeeze({n})
        np.atleast_2d({a})
        np.broadcast_to({n}, (2, *{n}.shape))
        np.roll({n}, 1, axis={k})
        np.roll({n}, -2, axis={k})
        np.roll({n}, 3)
        {n}.reshape(-1)
        np.ravel({n})
        {n}.reshape(1, *{n}.shape)
        {n}.reshape({n}.shape[0], -1)
        {n}.copy()
        np.ascontiguousarray({n})
        np.array({n})
        np.take({n}, [0, -1], axis={k})
        np.take({n}, [[0, -1], [0, 0]], axis={k}, mode="wrap")
        {n}[[0, -1, 0]]
        {m}[:, [-1, 0]]
        {m}[[0, -1], ::-1]
        {m}[..., None, [0]]
        {m}[[0, -1], [0, 0]]
        {m}[[[0], [-1]], [0, -1]] * {s}
        {m}[np.argsort({m}, axis=0), [0]]
        np.choose(({n} > 0).astype(int), [{n}, {same}])
        {n}.reshape(2, -1)
        {n}.reshape(-1, 2)
        {m}.reshape(-1, {m}.shape[-1] // 2, 2)
        {m}.reshape({m}.shape[0] // 2, 2, -1)
        {m}.reshape(-1, *{m}.shape[2:])
        {m}.T.reshape(-1)
        {m}.reshape({m}.shape[::-1])
        np.split({n}, [1, 3])[1]
        np.array_split({n}, 2)[0]
        np.vsplit({m}, [1])[0]
        np.dsplit({m}[:, None], [1])[0]
    """, weight=3),
    *_lines("""
        {n}[{n} > 0]
        np.flatnonzero({n})
        {n}[np.argsort({n}.reshape(-1)) % {n}.shape[0]]
        np.take({n}, {i} % {n}.shape[0], axis=0, mode="wrap")
        np.argsort({n}, axis={k}, kind="stable")
        np.sort({n}, axis={k})
        np.argmax({n}, axis={k})
        np.argmin({n}, axis={k})
        np.searchsorted(np.array([0, 1, 2]), {n})
        np.unique({n})
    """, weight=1, sharp=True),
    # Putting together
    *_lines("""
        np.concatenate([{n}, {same}], axis={k})
        np.concatenate([{n}[1:], {n}[:1]])
        np.stack([{a}, {same}])
        np.stack([{n}, {same}], axis={k})
        np.vstack([{n}, {same}])
        np.hstack([{n}, {same}])
        np.dstack([{n}, {same}])
        np.block([{n}, {same}])
        np.block([[{m}, {same}], [{same}, {m}]])
        np.column_stack([{m}, {same}])
        np.multiply.outer({n}, {n})
        np.tile({n}, 2)
        np.repeat({n}, 2, axis={k})
        np.repeat({n}, 3, axis={k})
        np.pad({n}, 1)
        np.pad({n}, 2, mode="edge")
        np.pad({n}, 1, mode="reflect")
        np.pad({n}, 1, mode="symmetric")
        np.pad({n}, 2, mode="wrap")
        np.pad({n}, (1, 2), mode="constant", constant_values=3)
        np.append({n}, {n})
        np.zeros_like({a})
        np.ones({n}.shape)
        np.full_like({a}, 2)
        np.zeros({n}.shape, {d})
        np.arange({n}.shape[0])
        np.arange({n}.size).reshape({n}.shape)
        np.indices({n}.shape)[0]
        np.eye({n}.shape[0])
        np.meshgrid({n}.reshape(-1), np.arange(3))[0]
    """),
    # Windows and reductions
    *_lines("""
        np.diff({n}, axis={k})
        np.diff({n}, n=2, axis={k})
        np.diff({n}, axis={k}, prepend=0, append={s})
        np.lib.stride_tricks.sliding_window_view({n}, 2, axis={k})
        np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k}).max(axis=-1)
        np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k})[..., ::-2]
        np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k})[::2].T
        np.lib.stride_tricks.sliding_window_view({m}, (2, 3), axis=(0, 1)).min(axis=(-1, -2))
        np.lib.stride_tricks.sliding_window_view({n}, (2, 2), axis=({k}, -1))
        np.sort(np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k}), axis=-1)[..., 1]
        {m}.reshape({m}.shape[0] // 2, 2, *{m}.shape[1:]).max(axis=1)
        {a}.max()
        {n}.max(axis={k})
        {n}.min(axis={k}, keepdims=True)
        np.max({a}, initial=0)
        np.ptp({n}, axis={k})
        np.maximum.reduce({n}, axis={k})
        np.maximum.reduce([{n}, {same}, {s} * {n}])
        np.minimum.reduce([{n}, {same}], axis={k})
        np.logical_or.reduce(({a}, {same}))
        np.logical_and.reduce([{b}, {same}, {same}])
        np.maximum.accumulate({n}, axis={k})
        np.logical_or.reduce({n}, axis={k})
        np.diagonal({m}) * {s}
        np.diagonal({m}, -1, 1, 0) * {s}
        np.einsum("ii->i", {m}[:, :1] + {m}[:, :1].T) + 1
        np.partition({n}, 1, axis={k})
        {n}.argpartition(0, axis={k}) * 0
        {b}.choose([{a}, {s}])
        np.take_along_axis({n}, np.argsort({n}, axis={k}), {k})
        np.argsort(np.argpartition({n}, 0, axis={k}), axis={k})
        {a}.any()
        {n}.all(axis={k})
        np.any({a} > 100)
        np.count_nonzero({n}, axis={k})
    """, weight=3),
    *_lines("""
        {a}.sum()
        {n}.sum(axis={k})
        {n}.sum(axis={k}, keepdims=True)
        {m}.sum(axis=(0, 1))
        {a} - {a}.mean()
        {n}.mean(axis={k})
        {n} - {n}.mean(axis={k}, keepdims=True)
        {n}.prod(axis={k})
        np.var({n}, axis={k})
        np.std({a})
        np.add.reduce({n}, axis={k})
        np.add.reduce([{n}, {same}, {same}])
        np.add.accumulate({n}, axis={k})
        np.cumsum({n}, axis={k})
        np.cumsum({n})
        np.cumprod(np.sign({n}), axis={k})
        np.average({n}, axis={k})
        np.linalg.norm({f})
        np.median({n}, axis={k})
        np.gradient({n}, axis={k})
        np.gradient({n}, 0.5, axis={k}, edge_order=2)
        np.gradient({n}, np.arange({n}.shape[0]) ** 2.0, axis=0)
        np.gradient({m}, 2, 0.25)[1]
        np.convolve({n}.reshape(-1), [1, 2, 1], mode="same")
        np.convolve({n}.reshape(-1), [0.5, -1, 2, 1])
        np.correlate({n}.reshape(-1), [1, 2, -1, 3], mode="same")
        np.convolve({n}.reshape(-1), [1, 2], mode="valid")
        np.convolve([0.25, -1], {n}.reshape(-1), mode="same")
        np.convolve({n}.reshape(-1), {n}.reshape(-1)[:3])
        np.correlate({n}.reshape(-1), {n}.reshape(-1)[:4], mode="same")
        np.correlate({n}.reshape(-1), [1, 0, -1], mode="full")
        np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k}).mean(axis=-1)
        {m} @ {m}.T
        {m} @ {n}
        np.dot({n}, {n})
        np.dot({m}, np.swapaxes({m}, -1, -2))
        np.dot({m}, {m}[0].T)
        np.outer({n}, {n})
        np.einsum("ij->ji", {m})
        np.einsum("ij,ij->i", {m}, {same})
        np.einsum("ij,kj->ik", {m}, {m}, optimize=True)
        np.einsum("ij,kj", {m}, {m})
        np.einsum("i,i,i->", {n}, {same}, {same})
        np.einsum("ijkl,kl->ij", np.lib.stride_tricks.sliding_window_view({m}, (2, 2)), np.array([[1, 2], [3, -1]]))
        np.tensordot(np.lib.stride_tricks.sliding_window_view({m}, (2, 3)), np.arange(6).reshape(2, 3))
        np.lib.stride_tricks.sliding_window_view({m}, (3, 3), (0, 1)).sum((-1, -2))
        (np.lib.stride_tricks.sliding_window_view({n}, 3, axis={k}) * [1, -2, 1]).sum(axis=-1)
        {m}.reshape({m}.shape[0] // 2, 2, *{m}.shape[1:]).mean(axis=1)
        np.tensordot({m}, {m}, axes=0)
        {n} ** {s}
        np.arctan2({n}, 2)
        {n}.std(axis={k})
        np.tensordot({m}, {m}, axes=([-1], [-1]))
        np.trace({m})
        np.trace({m}, 1, 1, 0)
        np.linalg.trace({m})
        np.inner({m}, {m})
        np.inner({n}, {s})
        np.vdot({n}, {same})
        np.vecdot({n}, {same})
        np.vecdot({m}, {same}, axis=0)
        np.einsum("ii", {m}[:, :1] - {m}[:, :1].T + {m}[:1, :1])
        np.einsum("ij,jj->i", {m}[:, :1] + {m}[:, :1].T, {m}[:, :1] - {m}[:, :1].T)
        np.linalg.pinv(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))
        np.linalg.inv(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))
        np.linalg.det(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))
        np.linalg.slogdet(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))[1]
        np.linalg.solve(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2), {m}[..., :2, :1])
        np.linalg.cholesky(abs(np.arctan({m}[..., :1, :1])) + 1)
        np.linalg.eigh(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))[0]
        np.linalg.eigvalsh(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))
        np.linalg.svd(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))[1]
        np.linalg.svdvals(np.arctan({m}[..., :2, :3]))
        abs(np.linalg.qr(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2), mode="r"))
        np.linalg.matrix_rank(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))
        np.linalg.cond(np.arctan({m}[..., :2, :2]) + 5 * np.eye(2))
        np.linalg.diagonal({m}) * {s}
        np.matvec({m}, {m}[..., 0, :])
        np.vecmat({m}[..., 0], {m})
        np.fft.rfft({f}, axis={k})
        np.fft.irfft({n}, axis={k})
        np.fft.fft({f})
    """, rounds=True),
]  # fmt: skip

STATEMENTS = [
    *_lines("""
        {own} += {s}
        {own} *= {same}
        {own} -= {a}
        {own}[{x}] = {s}
        {own}[{x}] = {a}
        {own}[1:] = {own}[:-1]
        {own}[...] = {same}
        {own}[{x}] += {s}
        np.add({own}, {same}, out={own})
        np.negative({own}, out={own})
        np.multiply({own}[1:], 2, out={own}[1:])
        {own}.fill({s})
        np.copyto({own}, {a})
        for j in range(3): {own} = {own} + j
        for j in range(min(len({own}), 9)): {own}[j] = {own}[j] + j
        for part in ({a}, {same}): {own} = {own} + part
        for q, m in [({same}, {own} > 0)]: {own}[m] = q[m]
        for q, m in [({same}, {own} > 1)]: {own}[~m] = np.maximum(q[~m], {s}) - {own}[~m]
        {own}[np.arange(len({own})) % 3 == 1] = {s}
        {own}[np.arange(len({own}))[::-2]] = {same}[np.arange(len({own})) % 2 == (len({own}) - 1) % 2]
        for j in range(2): {own}[np.arange(len({own})) % 2 == j] = {same}[j:][::2] - {own}[j:][::2]
        {own}[..., np.arange(int({own}.shape[-1])) % 2 == 0] = {own}[..., ::2].max(axis=0)
        {own}[[0, -1, 0]] = {own}[[-1, 0, 0]]
        if {own}.shape[0] > 3: {own} = {own} * 2
        if {own}.ndim == 2: {own} = {own}[::-1]
        {own} = sum([{own}, {own}[::-1], 1])
        {own} = helper({own}, {s})
        {own} = (lambda q: q[::-1] - q)({own})
        {own} = np.stack([row * 2 for row in {own}[:9]])
    """),
    *_lines("""
        np.fill_diagonal({own}, {s})
        np.place({own}, {own} == 1, [2, 3])
        np.put({own}, [0, -1], {s})
        np.putmask({own}, {own} > 1, 1)
        np.put_along_axis({own}, np.zeros_like({own}, int)[:1], 1, axis=0)
        np.add.at({own}, [0, 0], 1)
        {own}.sort(axis=-1)
        {own}.partition(0)
    """, weight=1, sharp=True),
    *_lines("""
        {own}[{own} > 1] = 0
        {own}[{own} > 0] += {s}
        {own}[{own} != 1] = {own}[{own} != 1] * 2 - {s}
        if {own}.any(): {own} = -{own}
        if np.array_equal({own}, {same}): {own} = {own} + 1
        {own} = {own} * np.allclose({own}, {a})
        {own} = {own} + np.array_equiv({own}, {a})
        {own} = {own} if {own}.size == 0 or {own}.max() > 1 else {own} + 1
        {own} = {own} * int({own}.size > 4)
        {own} = {own} + float(abs({own}).max() > 2 if {own}.size else 0)
    """, weight=1, sharp=True),
]  # fmt: skip

NUMBERS_AMONG_ARRAYS = [
    *_lines("""
        {t} + {t}
        {t} * {t} - 1
        {t} - {s}
        {s} * {t}
        -{t}
        abs({t})
        {t} / 4
        {t} ** 2
        float({t})
        int({t})
        round({t})
        round({t}, 1)
        {t} == {t}
        {t} > {s}
        not {t}
        bool({t})
        type({t}) is float
        isinstance({t}, float)
        isinstance({t}, (int, np.integer))
        isinstance({t}, np.floating)
        max({t}, {t})
        min({t}, {s})
        sum([{t}, {t}])
        divmod({t}, 2)[0]
        {t} if {t} > 0 else {t}
        {t} and {t}
        {t} or 1
        [{t}, {t}, 1][1]
        (lambda q, r=2: q * r)({t})
        math.floor({t}) + 1
        math.hypot({t}, 0)
        math.isfinite({t})
        np.float32({t})
        np.float64({t})
        np.int64({t})
        np.array({t})
        np.asarray({t})
        np.array([{t}, {t}])
        np.stack([{t}, {t}])
        {u}({t})
        {v}({t}, {t})
        {v}({t}, {s})
        np.add({t}, {t}, dtype=np.float32)
        np.subtract({t}, {t}, out=np.zeros(()))
        np.add({t}, {t}, out=np.zeros_like({t}), casting="unsafe")
        np.equal({t}, {t}, out=np.ones(3))
        np.multiply({t}, 2, where={t} > 0, out=np.ones(2))
        np.maximum.reduce([{t}, {t}])
        np.sum([{t}, {t}])
        np.max(({t}, {s}))
        np.where({t} > 0, {t}, {s})
        np.clip({t}, 0, 1)
        np.isclose({t}, 1.5)
        np.nan_to_num({t})
        np.shape({t}) == ()
        np.result_type({t}, np.float32) == np.float32
        {n}.shape[0] * {t}
        {n}.size + {t}
        len({n}) // 2 + {t}
        {t} * {n}.shape[-1] / 2
    """, weight=4),
    *_lines("""
        {a} * {t}
        {a} + {t}
        {t} - {a}
        {a} / (abs({t}) + 1)
        {a} > {t}
        {t} <= {a}
        {a} * {t} + {t}
        {v}({a}, {t})
        {v}({t}, {a})
        {v}({a}, {t}, dtype={d})
        {v}({a}, {t}, out=np.zeros_like({a}))
        np.where({a} > {t}, {a}, {t})
        np.where({t} > 0, {a}, {same})
        np.clip({a}, {t}, None)
        np.clip({a}, -abs({t}), abs({t}))
        {a}.clip({t}, {t} + 2)
        np.maximum({a}, {t})
        np.full({n}.shape, {t})
        np.full_like({a}, {t})
        np.full({n}.shape, {t}, dtype={d})
        {a}.astype(np.result_type({a}, {t}))
        ({a} if {t} > 0 else {same})
        {a}.astype(type({t}))
        {n}[int({t}):]
        {n}[: int(abs({t})) + 1]
        {n}[int({t}) :: 2]
        {n}[::int(abs({t})) + 1]
        np.roll({n}, int({t}), {k})
        np.pad({n}, 1, constant_values={t})
        np.pad({n}, int(abs({t})), mode="edge")
        np.concatenate([{n}.ravel(), [{t}]])
        np.append({n}, {t})
        np.insert({n}.ravel(), 0, {t})
        np.arange({t}, {t} + 4)
        np.linspace({t}, {t} + 2, 5)
        np.array([{t}, 1]) * {n}[..., :1]
        np.isin({n}, [{t}, 2])
        np.diff({n}, prepend={t}, axis=0)
        np.diff({n}, n=int(abs({t})), axis={k}) + 0
        np.repeat({n}, int(abs({t})), axis={k})
        np.tile({n}, int(abs({t})))
        np.sum({a}, initial={t})
        np.max({n}, initial={t})
        np.select([{a} > {t}, {a} < {t}], [{same}, {t}], {t})
        np.heaviside({f}, {t})
        helper({n}, {t})
        sum([{same} * {t} for _ in range(2)], {a})
        {n}.sum() + {t}
        {a} * (1 if {t} > 1 else 2)
        {a} * {t} if {t} != 1 else {a}
        np.zeros((len({n}), int(abs({t})) + 1)) + {t}
        np.full(int(abs({t})) + 2, {t}) * {t}
        {n}.reshape(-1, 1)[:, 0] * {t}
        np.take({n}.ravel(), [int({t})], mode="clip")
    """, weight=3),
    *_lines("""
        np.sqrt(abs({t}))
        math.sqrt(abs({t}))
        math.exp(-abs({t}))
        np.exp(-abs({a}) * {t})
        np.power(abs({f}) + 1, {t})
        (abs({f}) + 1) ** {t}
        {n}.mean() * {t}
        np.interp({t}, [0, 1], [1, 3])
        np.hypot({f}, {t})
        np.logaddexp({f}, {t})
        np.std({n}, ddof={t}) if {n}.size > 5 else {t}
        np.linspace({t}, 1, 4) * 0.1
    """, weight=2, rounds=True),
    *_lines("""
        {t} // 2
        {t} % 2
        2 // (abs({t}) + 1)
        np.floor_divide({t}, 0.75)
        np.digitize({a}, [{t}])
        np.searchsorted(np.arange(5), {t})
        np.round({a}, int(abs({t})))
        np.isclose({a}, {t})
        np.floor({a} * {t})
        {a} // (abs({t}) + 1)
    """, weight=2, sharp=True),
]  # fmt: skip
"""Lines of numbers, and of numbers and arrays, for functions that are given some."""

NUMBERS_IN_STATEMENTS = [
    *_lines("""
        {own} += {t}
        {own} *= {t}
        {own} = {own} - {t}
        {own}[0] = {t}
        {own}[...] = {t}
        {own}[{x}] = {t}
        {own}[{x}] += {t}
        {own}[int({t}):] = 1
        {own}[:, :int(abs({t}))] *= 2
        {own}.fill({t})
        np.copyto({own}, {t})
        np.add({own}, {t}, out={own})
        np.multiply({own}, {t}, out={own}, casting="unsafe")
        if {t} > 0: {own} = {own} + {t}
        if {own}.shape[0] > {t}: {own} = {own} * 2
        for j in range(int(abs({t})) % 4): {own} = {own} + j * {t}
        while {own}.ndim < {t}: {own} = {own}[None]
        {own} = helper({own}, {t})
        {own} = (lambda q, w: q * w)({own}, {t})
        {own} = {own} * {t} if {t} else {own} + 1
    """, weight=4),
    *_lines("""
        {own}[{own} > {t}] = 0
        {own}[{own} > {t}] = {t}
        {own}[{own} < {t}] += {t}
        if {own}.any() and {t} > 0: {own} = -{own}
        {own} = {own} * float({own}.size > {t})
        np.putmask({own}, {own} > {t}, {t})
    """, weight=2, sharp=True),
]  # fmt: skip

UNARY = ["negative", "absolute", "square", "sign", "conjugate", "positive", "logical_not", "isnan", "isfinite",
         "isinf", "fabs", "signbit", "invert", "ceil", "trunc"]  # fmt: skip
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "logical_and", "logical_or", "not_equal", "less", "fmin",
          "fmax", "logical_xor", "equal", "greater", "greater_equal", "less_equal", "copysign", "floor_divide",
          "remainder", "fmod", "heaviside", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
          "right_shift"]  # fmt: skip
ROUNDED_COMPLEX = (
    "abs",
    "*",
    "/",
    "cross",
    "divide",
    "kron",
    "multiply",
    "outer",
    "polyval",
    "reciprocal",
    "sqrt",
    "square",
)
"""What rounds complex numbers in one way where arrays are contiguous, and in another way elsewhere."""

SHARP_UFUNCS = {"sign", "logical_not", "logical_and", "logical_or", "not_equal", "less", "isnan", "isinf", "signbit",
                "ceil", "trunc", "logical_xor", "equal", "greater", "greater_equal", "less_equal", "copysign",
                "floor_divide", "remainder", "fmod", "heaviside"}  # fmt: skip
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "1.5", "-0.25", "2.0", "True", "1j", "np.float32(1.25)", "np.int16(3)",
           "np.float64(0.125)", "np.uint8(2)")  # fmt: skip
