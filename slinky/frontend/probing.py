"""Find out what a function of arrays reads for each element of its result, and draft how to declare it.

Idea. What was seen to be read (`axis_reads`) is a guess: windows that hold it, a rule at the edges that gives the same
when the array is padded by it. The guess is drafted as a func, and the func is run: on the whole, which must give what
the function gives, and by pieces (`verify_func`). What does not hold is given up, axis by axis, until what is left
does: at last, that the function needs all of its arrays, which is true of any.

Invariant: a report says of its draft whether it holds, and never more than was tried.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from slinky.build import build_pipeline
from slinky.errors import ArgumentError, SlinkyError, cited
from slinky.frontend.axis_reads import AxisReads, reads_along
from slinky.frontend.drafting import OWN, Draft, Reads, is_usable
from slinky.frontend.foreign import RaisedError
from slinky.frontend.perturbing import KINDS, Experiment, backgrounds_of
from slinky.frontend.probe_reports import ProbeReport
from slinky.frontend.reports import FuncReport
from slinky.frontend.result_sizes import resized, result_dtypes, sizes_along
from slinky.frontend.verifying_funcs import dtype_of_arrays, verify_func
from slinky.graph.boundaries import CONSTANT, NUMPY_RULES, RULES
from slinky.graph.buffers import BufferExpr
from slinky.graph.funcs import Func
from slinky.runtime.buffers import Array, Buffer
from slinky.symbolic.expressions import is_integer

_RULES = ("reflect", "nearest", "mirror", "wrap", "constant")
"""The rules that are tried, in this order: where windows are small, several give the same."""

_MOST_ROUNDS = 1_000_000

MOST_BYTES = 1 << 30
"""What all arrays before which elements are changed may take."""
"""More rounds than that would not end while anybody waits."""

_NUMPY_NAMES = {
    rule: next(name for name, of in NUMPY_RULES.items() if of is RULES[rule]) for rule in _RULES if rule != CONSTANT
} | {CONSTANT: CONSTANT}


def probe(
    function: Callable[..., Any],
    *shapes_or_arrays: object,
    dtype: npt.DTypeLike = np.float64,
    rounds: int = 12,
    seed: int = 0,
) -> ProbeReport:
    """Find out which elements of its arrays a function reads for each element of its result, and draft a declaration.

    >>> import numpy as np, slinky as sl
    >>> def smooth(image):
    ...     rows = np.pad(image, ((1, 1), (0, 0)), mode="edge")
    ...     return (rows[:-2] + rows[1:-1] + rows[2:]) / 3
    >>> report = sl.probe(smooth, (30, 20))
    >>> report.halo
    ((1, 1), (0, 0))
    >>> print(report.decorator)
    @sl.stencil(halo=((1, 1), (0, 0)), boundary="reflect")

    The function takes arrays and returns one. It is run, again and again, with some elements changed: what differs
    depends on them. What a function reads but seldom goes by may be missed; see `docs/probe.md` for how it is done, and
    what it can and cannot find.

    Parameters:

    * `shapes_or_arrays`: for each array that the function takes, an array like those that it will be given, or a shape,
      for which random ones are made. Windows must be smaller than a third of the axes, or look like all of them.
    * `dtype`: of the random arrays.
    * `rounds`: how often each element is changed. More rounds find more, and take longer.
    * `seed`: of all that is random.

    What the function raises for the arrays passes through. Raises `ArgumentError` if it returns anything but an array,
    of a shape that goes by shapes alone, or another one when called again, for arrays that take more than `MOST_BYTES`
    with all that is put in their place, and for options that make no sense.
    """
    if not callable(function):
        raise ArgumentError(f"probe takes a function, got {cited(function)}")
    if not shapes_or_arrays:
        raise ArgumentError("probe needs an array or a shape for each array that the function takes, got none")
    if not is_integer(rounds) or not 1 <= rounds <= _MOST_ROUNDS:
        raise ArgumentError(
            f"probe: rounds must be an integer, 1 or more and at most {_MOST_ROUNDS:,}, got {cited(rounds)}"
        )
    if not is_integer(seed) or seed < 0:
        raise ArgumentError(f"probe: seed must be an integer, 0 or more, got {cited(seed)}")
    rng = np.random.default_rng(int(seed))
    backgrounds = _backgrounds(shapes_or_arrays, dtype_of_arrays(dtype, "probe"), rng)
    experiment = Experiment(function, backgrounds, rng, int(rounds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it does with strange values is its own affair
        return _probed(function, experiment)


def _probed(function: Callable[..., Any], experiment: Experiment) -> ProbeReport:
    experiment.prepare()
    arrays = experiment.backgrounds[0]
    seen = tuple(tuple(reads_along(experiment, i, d) for d in range(array.ndim)) for i, array in enumerate(arrays))
    return _Prober(function, experiment, seen).report()


def _of_shape(shape: Any, dtype: np.dtype[Any]) -> Array:
    try:
        return np.empty(tuple(shape), dtype)
    except (ValueError, MemoryError) as error:
        raise ArgumentError(f"probe: there is no array of shape {shape!r}: {error}") from None


def _backgrounds(given: Sequence[object], dtype: np.dtype[Any], rng: np.random.Generator) -> list[tuple[Array, ...]]:
    """The arrays before which elements are changed: those given, also in another order, or random ones."""
    is_shape = [
        isinstance(each, (tuple, list)) and all(isinstance(n, (int, np.integer)) for n in each) for each in given
    ]
    shapes, dtypes = [], []
    arrays: list[Array | None] = []
    for each, shaped in zip(given, is_shape, strict=True):
        array: Array = _of_shape(each, dtype) if shaped else Buffer(each).array
        arrays.append(None if shaped else array)
        shapes.append(tuple(array.shape))
        dtypes.append(array.dtype)
    for k, shape in enumerate(shapes):
        if 0 in shape:
            raise ArgumentError(f"probe needs elements that it can change: array {k} has shape {shape}")
    needed = KINDS * sum(math.prod(shape) * max(d.itemsize, 8) for shape, d in zip(shapes, dtypes, strict=True))
    if needed > MOST_BYTES:
        raise ArgumentError(
            f"probe computes with {KINDS} sets of arrays of these shapes, {cited(shapes)}, which would take {needed:,} "
            f"bytes; at most {MOST_BYTES:,} are allowed. Give it smaller ones, or parts: windows are the same in them"
        )
    if all(array is None for array in arrays):
        return backgrounds_of(shapes, dtypes, rng)
    random = [np.dtype(np.float64) if array is not None else d for array, d in zip(arrays, dtypes, strict=True)]
    found = []
    for k, made in enumerate(backgrounds_of(shapes, random, rng)):
        mixed = []
        for own, other in zip(arrays, made, strict=True):
            if own is None:
                mixed.append(other)
            elif k == 0:
                mixed.append(np.array(own))
            else:
                mixed.append(rng.permutation(own.reshape(-1)).reshape(own.shape))
        found.append(tuple(mixed))
    return found


@attrs.define
class _Prober:
    """Makes drafts of what was seen, and tries them."""

    function: Callable[..., Any]
    experiment: Experiment
    seen: tuple[Reads, ...]
    notes: list[str] = attrs.field(factory=list)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Those that the function was given first."""
        return self.experiment.backgrounds[0]

    @property
    def result(self) -> Array:
        """What the function made of these."""
        return self.experiment.results[0]

    def report(self) -> ProbeReport:
        """The draft that holds and says most."""
        sizes, alike = sizes_along(self.experiment, self.arrays, self.result)
        failed: list[str] = []
        tried: set[tuple[Reads, ...]] = set()
        for kept in self._choices():
            reads = self._with_boundaries(self._joined(kept))
            if reads in tried:
                continue
            tried.add(reads)
            draft = self._draft(reads, sizes, alike)
            exact, wrong, verified = self._tried(draft)
            if wrong is None:
                return self._made(self._with_decorator(draft), exact, verified, failed, sizes)
            failed.append(f"{_axes(draft)}: {wrong}")
        return self._made(draft, exact, verified, failed, sizes)

    def _made(
        self,
        draft: Draft,
        exact: bool,
        verified: FuncReport | None,
        failed: Sequence[str],
        sizes: dict[int, str | None],
    ) -> ProbeReport:
        notes = [*dict.fromkeys(self.notes), *failed]
        if not exact:
            notes.append("pieces differ from the whole as by rounding: verify with a tolerance")
        if self.experiment.failures:
            n, why = len(self.experiment.failures), self.experiment.failures[0]
            notes.append(f"it raised {n} times when elements were changed, such as {why}")
        for i, axes in enumerate(self.seen):
            if axes and all(each is None for each in axes):
                notes.append(f"nothing depends on array {i}: no change of its elements changed the result")
            for d, each in enumerate(axes):
                n = self.arrays[i].shape[d]
                if each is not None and each.whole and n < 16:
                    notes.append(f"axis {d} of array {i} has {n} elements: too few to tell a window from all of them")
        dtypes = result_dtypes(self.experiment, self.arrays)
        return ProbeReport(
            self.function,
            draft,
            tuple(array.shape for array in self.arrays),
            self.result.shape,
            self.seen,
            dtypes,
            tuple(notes),
            self.experiment.calls,
            exact,
            verified,
        )

    # What to draft --------------------------------------------------------------------------------------------------

    def _choices(self) -> Iterator[frozenset[int]]:
        """Sets of axes of the result along which to go by pieces, the largest first."""
        seen = self._guessed()
        local = sorted({each.moves_with for axes in seen for each in axes if each and each.moves_with is not None})
        for count in range(len(local), -1, -1):
            yield from map(frozenset, itertools.combinations(local, count))

    def _guessed(self) -> tuple[Reads, ...]:
        """What was seen to be read; where nothing matters, the function may go by the shape: as if by the element."""
        shape = self.result.shape
        return tuple(
            tuple(AxisReads(d) if each is None and array.shape == shape else each for d, each in enumerate(axes))
            for axes, array in zip(self.seen, self.arrays, strict=True)
        )

    def _joined(self, kept: frozenset[int]) -> tuple[Reads, ...]:
        """What is read, with all of it along other axes, and the same window along an axis in all arrays."""
        reads = [list(axes) for axes in self._guessed()]
        for e in range(self.result.ndim):
            own = _moving(reads, e)
            found = [reads[i][d] for i, d in own]
            joined = self._window_of([each for each in found if each is not None], own) if e in kept and own else None
            for i, d in own:
                reads[i][d] = AxisReads() if joined is None else joined
        return tuple(map(tuple, reads))

    def _window_of(self, found: Sequence[AxisReads], own: Sequence[tuple[int, int]]) -> AxisReads | None:
        """One window for an axis of the result, in which the function makes what is asked for."""
        e = found[0].moves_with
        assert e is not None
        extents = {self.arrays[i].shape[d] for i, d in own}
        if len({each.rate for each in found}) > 1 or len(extents) > 1:
            return None
        (n,), m, rate = extents, self.result.shape[e], found[0].rate
        p, q = abs(rate.numerator), rate.denominator
        if rate < 0 and (rate != -1 or n != m):
            return None
        before = -(-max(0, *(each.before for each in found), 0) // q) * q
        lost = -(-(n * p - m * q) // p) - (q - 1)
        after = max(lost, -(q - 1), *(each.after for each in found))
        return AxisReads(e, before, max(after, 0) if p > 1 else after, rate)

    def _with_boundaries(self, reads: tuple[Reads, ...]) -> tuple[Reads, ...]:
        """What is read, with the rule at the edges along each axis that gives the same."""
        for e in range(self.result.ndim):
            own = _moving(reads, e)
            if not own:
                continue
            window = reads[own[0][0]][own[0][1]]
            assert window is not None
            rule = self._rule(window, own)
            if rule is not None:
                changed = [list(axes) for axes in reads]
                for i, d in own:
                    changed[i][d] = attrs.evolve(window, boundary=rule)
                reads = tuple(map(tuple, changed))
        if any(each is not None and each.boundary == OWN for axes in reads for each in axes):
            # Windows that end at the edges do for the other rules, too, and one array has not both.
            reads = tuple(tuple(map(_with_own_edges, axes)) for axes in reads)
        return reads

    def _rule(self, window: AxisReads, own: Sequence[tuple[int, int]]) -> str | None:
        e = window.moves_with
        assert e is not None
        m, n = self.result.shape[e], self.arrays[own[0][0]].shape[own[0][1]]
        first, last = reach(window, m)
        if first >= 0 and last <= n - 1:
            return None
        fitting = [rule for rule in _RULES if all(self._is_like(rule, window, own, k) for k in range(2))]
        if len(fitting) > 1:
            self.notes.append(f"at the edges of axis {e} of the result, {' and '.join(fitting)} give the same")
        return fitting[0] if fitting else OWN

    def _is_like(self, rule: str, window: AxisReads, own: Sequence[tuple[int, int]], background: int) -> bool:
        """Whether the function gives the same for arrays that are padded by a rule, where these are not."""
        e, p, q = window.moves_with, window.made, window.taken
        arrays = list(self.experiment.backgrounds[background])
        expected = self.experiment.results[background]
        assert e is not None
        m = expected.shape[e]
        after = -(-max(window.after, 0) // q) * q
        pads = (window.before, after) if window.rate > 0 else (after, window.before)
        for i, d in own:
            widths = [(0, 0)] * arrays[i].ndim
            widths[d] = pads
            arrays[i] = np.pad(arrays[i], widths, mode=_NUMPY_NAMES[rule])  # type: ignore[call-overload]
        try:
            result = self.experiment.attempt(*arrays)
        except (RaisedError, ArgumentError):
            return False
        start = window.before // q * p if window.rate > 0 else pads[1]
        if result.ndim != expected.ndim or result.shape[e] < start + m:
            return False
        part = result[(*(slice(None),) * e, slice(start, start + m))]
        return part.shape == expected.shape and agree(part, expected) is not None

    # Trying ---------------------------------------------------------------------------------------------------------

    def _draft(self, reads: tuple[Reads, ...], sizes: dict[int, str | None], alike: tuple[int, ...]) -> Draft:
        local = {each.moves_with for axes in reads for each in axes if each is not None}
        lengths = {}
        for axes, array in zip(reads, self.arrays, strict=True):
            for each, n in zip(axes, array.shape, strict=True):
                if each is not None and each.moves_with is not None:
                    lengths[each.moves_with] = n, self.result.shape[each.moves_with]
        whole = [e for e in range(self.result.ndim) if e not in local]
        name = getattr(self.function, "__name__", "function")
        return Draft(
            name if is_usable(name) else "function",
            reads,
            tuple(array.dtype for array in self.arrays),
            self.result.dtype,
            self.result.ndim,
            sizes,
            tuple(e for e in whole if e in alike and all(_is_whole_at(axes, e, self.result.ndim) for axes in reads)),
            lengths,
        )

    def _tried(self, draft: Draft) -> tuple[bool, str | None, FuncReport | None]:
        """Whether a draft gives what the function gives, to the last bit; else what is wrong; what its test said."""
        exact = True
        tries = list(zip(self.experiment.backgrounds, self.experiment.results, strict=True))
        for arrays, expected in [*tries, *self._larger()]:
            try:
                func, inputs, out = made_func(draft.func(), self._counted, draft.name)
                found = np.empty(expected.shape, expected.dtype)
                build_pipeline(inputs, [out])(*arrays, found)
            except Exception as error:
                return exact, f"its draft raised {type(error).__name__}: {str(error).splitlines()[0]}", None
            same = agree(found, expected)
            if same is None:
                place = tuple(int(k) for k in np.argwhere(~_near(found, expected))[0])
                return exact, f"its draft gives {found[place]} at {place}, the function {expected[place]}", None
            exact &= same
        func, *_ = made_func(draft.func(), self._counted, draft.name)
        outputs = np.empty(self.result.shape, self.result.dtype)
        given = [self._around(draft.reads[i], i) for i in range(len(self.arrays))]
        report = verify_func(func, *given, outputs, seeds=[0])
        if not report and self._is_inexact:
            tolerance = 1e4 * float(np.finfo(self.result.dtype).eps)
            report, exact = verify_func(func, *given, outputs, seeds=[0], rtol=tolerance, atol=tolerance * 10), False
        if not report:
            finding = report.findings[0]
            return exact, f"{finding.kind}: {finding.text}", report
        return exact, None, report

    def _with_decorator(self, draft: Draft) -> Draft:
        """A draft, without its decorator if the kernel that this makes gives something else."""
        text = draft.decorator()
        if text is None:
            return draft
        kernel = eval(text, {"sl": import_module("slinky")})(self._counted)
        tries = list(zip(self.experiment.backgrounds, self.experiment.results, strict=True))
        for arrays, expected in [*tries, *self._larger()]:
            try:
                right = agree(kernel(*arrays), expected) is not None
            except SlinkyError:
                right = False
            if not right:
                self.notes.append(f"@{text} would be the same, but for the ends of arrays of some sizes")
                return attrs.evolve(draft, is_decorated=False)
        return draft

    def _larger(self) -> list[tuple[tuple[Array, ...], Array]]:
        """Larger arrays, and what the function makes of them; none if it takes none."""
        for more in (3, 0):
            arrays = tuple(self._resized(array, more) for array in self.arrays)
            try:
                return [(arrays, self.experiment.attempt(*arrays))]
            except (RaisedError, ArgumentError):
                continue
        return []

    def _resized(self, array: Array, more: int) -> Array:
        """An array more than twice as large, with the same elements in another order."""
        shape = [2 * n + more if n > 1 else n for n in array.shape]
        return self.experiment.rng.permutation(resized(array, shape).reshape(-1)).reshape(shape)

    @property
    def _is_inexact(self) -> bool:
        return self.result.dtype.kind in "fc"

    def _counted(self, *arrays: Array, **options: Any) -> Any:
        self.experiment.calls += 1
        return self.function(*arrays, **options)

    def _around(self, reads: Reads, number: int) -> Buffer:
        """An array with what stands beyond its edges, as far as it is read."""
        array = self.arrays[number]
        start = [0] * array.ndim
        for d, each in enumerate(reads):
            if each is None or each.moves_with is None or each.boundary in (None, OWN):
                continue
            first, last = reach(each, self.result.shape[each.moves_with])
            n = array.shape[d]
            pads = [(0, 0)] * array.ndim
            pads[d] = max(-first, 0), max(last - n + 1, 0)
            if each.rate < 0:
                pads[d] = pads[d][1], pads[d][0]
            start[d] = -pads[d][0]
            array = np.pad(array, pads, mode=_NUMPY_NAMES[str(each.boundary)])  # type: ignore[call-overload]
        return Buffer(array, min=start)


def _moving(reads: Sequence[Sequence[AxisReads | None]], e: int) -> list[tuple[int, int]]:
    """The arrays and the axes of them of which a window moves with an axis of the result."""
    return [
        (i, d)
        for i, axes in enumerate(reads)
        for d, each in enumerate(axes)
        if each is not None and each.moves_with == e
    ]


def _with_own_edges(each: AxisReads | None) -> AxisReads | None:
    return each if each is None or each.boundary is None else attrs.evolve(each, boundary=OWN)


def _is_whole_at(axes: Reads, e: int, rank: int) -> bool:
    each = axes[e] if len(axes) == rank else None
    return each is not None and each.whole


def reach(window: AxisReads, m: int) -> tuple[int, int]:
    """The first and the last coordinate that are read for a result of so many elements, if it went forwards."""
    p, q = window.made, window.taken
    return -window.before, max(q * ((m - 1) // p) + q - 1 + window.after, 0)


def agree(a: Array, b: Array) -> bool | None:
    """Whether two arrays have the same elements (True), the same but for rounding (False), or others (None)."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return None
    if bool(np.all((a == b) | ((a != a) & (b != b)))):
        return True
    return False if a.dtype.kind in "fc" and bool(np.all(_near(a, b))) else None


def _near(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "fc":
        return np.asarray(a == b)
    eps = 1e4 * float(np.finfo(a.dtype).eps)
    finite = b[np.isfinite(b)]
    scale = float(np.max(np.abs(finite))) if finite.size else 0.0
    return np.asarray(np.isclose(a, b, rtol=eps, atol=eps * scale, equal_nan=True))


def made_func(
    text: str, function: Callable[..., Any], name: str, buffers: Mapping[str, BufferExpr] | None = None
) -> tuple[Func, list[BufferExpr], BufferExpr]:
    """The func that a draft makes, with the buffers that it reads and the one that it writes."""
    namespace: dict[str, Any] = {**(buffers or {}), name: function}
    exec(compile(text, f"<draft of {name}>", "exec"), namespace)
    func, out = namespace["func"], namespace["out"]
    inputs = [each for each in namespace.values() if isinstance(each, BufferExpr) and each is not out]
    return func, inputs, out


def _axes(draft: Draft) -> str:
    names = [str(e) for e in sorted(draft.local)]
    return f"by pieces along axis {' and '.join(names)} of the result" if names else "run whole"
