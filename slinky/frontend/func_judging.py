"""What is asked of a func's callback, and what is said of one that fails."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.errors import CallbackError
from slinky.frontend.foreign import RaisedError, foreign
from slinky.frontend.func_runs import LAYOUTS, FuncRun, Outcome, other_than, places, random_run, same_elements
from slinky.frontend.reports import FuncFinding, FuncReport, text_of_box
from slinky.ir.effects import NumericBox, numeric_writes
from slinky.runtime.buffers import Array

_Difference: TypeAlias = "tuple[str, tuple[int, ...], Any, Any]"
"""Of an output, the index of an element, and what it is and should be."""

_FAR = 40
"""How many pieces long a dimension is in the run that tells a wider window from a whole dimension."""

_WIDEST = 6
"""How many elements from the ends of a piece may differ for that to look like a wider window."""


_NEAR = 2
"""How far from the middle of a box it is asked what an element reads: phases are rarely more than five."""

_SOME = 24
"""How many pieces are computed that are cut along all axes."""


def _pieces(whole: FuncRun, rng: np.random.Generator) -> list[NumericBox]:
    """Pieces of the whole, small ones first."""
    multiples = dict(whole.call.func.multiples)
    along: list[list[tuple[int, int]]] = []
    single: set[NumericBox] = set()
    for d, (lo, hi) in enumerate(whole.box):
        n = multiples.get(d, 1)
        count = (hi - lo + 1) // n if d in whole.cuttable() else 1
        if count <= 1:
            along.append([(lo, hi)])
            continue
        cuts = {(k, k) for k in {0, count // 2, count - 1}} | {(0, count - 1), (0, count // 2 - 1)}
        cuts |= {(count // 2, count - 1), (0, count - 2), (1, count - 1), (count // 2 - 1, count // 2)}
        along.append([(lo + a * n, lo + (b + 1) * n - 1) for a, b in sorted(cuts)])
        places_along = (lo + n * int(k) for k in rng.permutation(count)[:_SOME])
        single |= {(*whole.box[:d], (at, at + n - 1), *whole.box[d + 1 :]) for at in places_along}
    found = {(*whole.box[:d], cut, *whole.box[d + 1 :]) for d, cuts in enumerate(along) for cut in cuts}
    combined = list(itertools.islice(itertools.product(*along), 4096))
    some = rng.permutation(len(combined))[:_SOME]
    found |= {combined[int(k)] for k in some}
    found |= {tuple(cuts[k] for cuts in along) for k in (0, -1)}
    if len(combined) < _SOME:  # along one axis only: what matters rarely, as to a median, is seen at more places
        found |= single
    return sorted(found, key=lambda box: (_volume(box), box))


def _around_the_middle(box: NumericBox) -> Iterator[tuple[int, ...]]:
    """The middle of a box, and what is near it along one dimension: elements at odd coordinates may read others than
    those at even ones."""
    middle = tuple((lo + hi) // 2 for lo, hi in box)
    yield middle
    for d, (lo, hi) in enumerate(box):
        for c in range(max(lo, middle[d] - _NEAR), min(hi, middle[d] + _NEAR) + 1):
            if c != middle[d]:
                yield (*middle[:d], c, *middle[d + 1 :])


def _volume(box: NumericBox) -> int:
    return math.prod(max(hi - lo + 1, 0) for lo, hi in box)


# ----------------------------------------------------------------------------------------------------------------
# What is asked of it
# ----------------------------------------------------------------------------------------------------------------


@attrs.define
class Judge:
    """Runs wholes and pieces, and writes down what is wrong."""

    func: str
    dims: Sequence[str]
    rtol: float
    atol: float
    findings: list[FuncFinding] = attrs.field(factory=list)
    notes: dict[str, bool] = attrs.field(factory=dict)
    unseen: dict[tuple[str, str], bool] = attrs.field(factory=dict)
    runs: int = 0

    def report(self) -> FuncReport:
        """All that was found."""
        notes = [note for note, holds in self.notes.items() if holds]
        for name in dict.fromkeys(name for name, _ in self.unseen):
            ends = [end for (own, end), holds in self.unseen.items() if own == name and holds]
            if ends:
                notes.append(
                    f"of the elements of {name} that it declares to read, the {', the '.join(ends)} never mattered"
                )
        return FuncReport(self.func, tuple(self.findings), tuple(notes), self.runs)

    def judge(self, whole: FuncRun, rng: np.random.Generator) -> None:
        """Ask everything of one whole; what makes all else meaningless ends it."""
        first = self._run(whole, whole.box)
        if first is None:
            return
        if first.inputs_changed is not None:
            self._note(
                "writes an input",
                f"it wrote to {first.inputs_changed}, which it reads",
                "Let it write to its outputs alone, or to a copy",
            )
        if not self._is_repeated(whole, first) or not self._is_complete(whole, first, rng):
            return
        self._is_checked(whole)
        if not self.findings:
            self._lies_anywhere(whole, first)
        if not self.findings:
            self._goes_by_pieces(whole, first, rng)
        if not self.findings:
            again = self._run(whole, whole.box)
            if again is not None and (found := self._first_difference(whole, first, again, whole.box)) is not None:
                self._differs(
                    "keeps state",
                    "computed again after pieces of it were, the whole is another",
                    "Let it keep nothing between calls: each element depends on the elements read for it alone",
                    whole,
                    whole.box,
                    found,
                )
        if not self.findings:
            self._reads_what_it_declares(whole, rng)

    def _is_repeated(self, whole: FuncRun, first: Outcome) -> bool:
        again = self._run(whole, whole.box)
        if again is None:
            return False
        found = self._first_difference(whole, first, again, whole.box)
        if found is not None:
            self._differs(
                "not deterministic",
                "called twice with the same, it gives two results",
                "It keeps state between calls, draws random numbers, or reads memory that nobody wrote; "
                "let each element depend on the elements read for it alone",
                whole,
                whole.box,
                found,
            )
        return found is None

    def _is_complete(self, whole: FuncRun, first: Outcome, rng: np.random.Generator) -> bool:
        """Whether all is written, and nothing made of what was there before."""
        fill = {name: other_than(array, rng) for name, array in whole.fill.items()}
        outcome = self._run(whole, whole.box, fill=fill)
        if outcome is None:
            return False
        for name, array in outcome.outputs.items():
            same = same_elements(array, first.outputs[name], self.rtol, self.atol)
            kept = same_elements(array, fill[name], 0, 0) & same_elements(first.outputs[name], whole.fill[name], 0, 0)
            for place in places(~same)[:1]:
                unwritten = bool(kept[place])
                self._differs(
                    "does not write all" if unwritten else "depends on what an output held",
                    "an element of the output still holds what was there before"
                    if unwritten
                    else "with other elements in the output before, it gives another result",
                    "Let it write each element of its outputs"
                    if unwritten
                    else "Let it write its outputs without reading them: what they hold before is undefined",
                    whole,
                    whole.box,
                    (name, place, array[place], first.outputs[name][place]),
                )
                return False
        return True

    def _is_checked(self, whole: FuncRun) -> None:
        """What checked mode asks of a call, above all whether it works in place where that is declared."""
        self.runs += 1
        try:
            whole.run(checked=True)
        except CallbackError as error:
            self._note("fails checked mode", str(error), "Declare what it does, or let it do what is declared")

    def _lies_anywhere(self, whole: FuncRun, first: Outcome) -> None:
        exact = whole.alone(whole.box)
        for name, layout in LAYOUTS.items():
            outcome = self._run(exact, exact.box, layout=layout, how=f" with arrays that lie {name}")
            if outcome is None:
                return
            found = self._first_difference(whole, first, outcome, whole.box)
            if found is None:
                continue
            if _is_rounding(found):
                note = f"with arrays that lie {name} it gives other bits, as by another order of a sum"
                self.notes[note] = True
                continue
            self._differs(
                "depends on the layout",
                f"with arrays that lie {name}, it gives another result than with others",
                "Let it go by the strides of the arrays that it is given, or copy them first (np.ascontiguousarray)",
                whole,
                whole.box,
                found,
            )
            return

    def _goes_by_pieces(self, whole: FuncRun, first: Outcome, rng: np.random.Generator) -> None:
        for box in _pieces(whole, rng):
            outcome = self._run(whole, box)
            if outcome is None:
                return
            found = self._first_difference(whole, first, outcome, box)
            if found is not None:
                self._wrong_piece(whole, box, found)
                return
            for name, array in outcome.outputs.items():
                outside = np.array(~same_elements(array, whole.fill[name], 0, 0))
                whole.of_piece(name, outside, box)[...] = False
                for place in places(outside)[:1]:
                    self._differs(
                        "writes beyond its piece",
                        "asked for a piece, it wrote beside it",
                        "Let it write to the elements of the arrays that it is given, and no others",
                        whole,
                        box,
                        (name, place, array[place], whole.fill[name][place]),
                    )
                    return
            if not self._reads_no_further(whole, first, box, rng):
                return

    def _reads_no_further(self, whole: FuncRun, first: Outcome, box: NumericBox, rng: np.random.Generator) -> bool:
        """Whether a piece is the same where all that it does not read is another."""
        inputs = {}
        regions = whole.regions_read(box)
        for name, buffer in whole.inputs.items():
            inputs[name] = np.array(other_than(buffer.array, rng))
            index: tuple[Any, ...] = tuple(
                slice(lo - start, hi - start + 1) for start, (lo, hi) in zip(buffer.min, regions[name], strict=True)
            )
            inputs[name][(*index, ...)] = buffer.array[(*index, ...)]
        outcome = self._run(whole, box, inputs=inputs)
        if outcome is None:
            return False
        found = self._first_difference(whole, first, outcome, box)
        if found is not None and not self._is_stateless(whole, first, box):
            return False
        if found is not None:
            self._differs(
                "reads beyond its regions",
                "with other elements outside of what it is given, it gives another result",
                "Declare wider intervals for its inputs; it must not look beyond the arrays that it is given",
                whole,
                box,
                found,
            )
        return found is None

    def _wrong_piece(self, whole: FuncRun, box: NumericBox, found: _Difference) -> None:
        """A piece is another than as a part of the whole: find out why."""
        again = self._run(whole, box)
        if again is None or not self._is_stateless(whole, again, box):
            return
        alone = whole.alone(box)
        outcome = self._run(alone, box)
        expected = {name: array for name, _, array in self._parts(whole, again, box)}
        if outcome is not None and not all(
            bool(np.all(same_elements(outcome.outputs[name], array, self.rtol, self.atol)))
            for name, array in expected.items()
        ):
            self._differs(
                "depends on the layout",
                "a piece in arrays of its own is another than in those of the whole",
                "Let it go by the strides of the arrays that it is given" + _of_rounding(found),
                whole,
                box,
                found,
            )
            return
        self._differs(
            "depends on the piece",
            "computed as a piece, an element is another than computed with the whole",
            self._what_to_declare(whole) + _of_rounding(found),
            whole,
            box,
            found,
        )

    def _is_stateless(self, whole: FuncRun, before: Outcome, box: NumericBox) -> bool:
        """Whether a piece comes out once more as it did before."""
        again = self._run(whole, box)
        if again is None:
            return False
        found = self._first_difference(whole, before, again, box)
        if found is not None:
            self._differs(
                "keeps state",
                "called twice for the same piece, it gives two results",
                "Let it keep nothing between calls: each element depends on the elements read for it alone",
                whole,
                box,
                found,
            )
        return found is None

    def _reads_what_it_declares(self, whole: FuncRun, rng: np.random.Generator) -> None:
        """Note where the ends of what is read for one element never matter to any: the func declares too much."""
        if not whole.cuttable() or len(whole.cuttable()) < len(whole.box) or whole.call.func.multiples:
            return
        for point in _around_the_middle(whole.box):
            self._reads_its_ends(whole, tuple((c, c) for c in point), rng)

    def _reads_its_ends(self, whole: FuncRun, box: NumericBox, rng: np.random.Generator) -> None:
        """Note which ends of what is read for an element matter to it, of those that never did."""
        before = None
        for name, region in whole.regions_read(box).items():
            buffer = whole.inputs[name]
            for d, (lo, hi) in enumerate(region):
                for end in (lo, hi) if lo < hi else ():
                    key = name, f"{'first' if end == lo else 'last'} along dimension {d}"
                    if not self.unseen.setdefault(key, True):
                        continue
                    array = buffer.array.copy()
                    index = [slice(a - m, b - m + 1) for (a, b), m in zip(region, buffer.min, strict=True)]
                    index[d] = slice(end - buffer.min[d], end - buffer.min[d] + 1)
                    array[tuple(index)] = other_than(array[tuple(index)], rng)
                    before = before or self._run(whole, box)
                    outcome = self._run(whole, box, inputs={name: array})
                    if before is None or outcome is None:
                        return
                    self.unseen[key] = self._first_difference(whole, before, outcome, box) is None

    # What to say ----------------------------------------------------------------------------------------------------

    def _what_to_declare(self, whole: FuncRun) -> str:
        """What the func should say of the dimensions along which its pieces differ."""
        advice = []
        for d in whole.cuttable():
            reach = self._reach(whole, d)
            if reach is None:
                continue
            name = self.dims[d]
            if reach == (0, 0):
                advice.append(f"along {name} only small pieces differ: let it compute these like large ones")
            elif max(reach) <= _WIDEST:
                advice.append(
                    f"along {name} only the {_elements(reach)} of a piece differ: it needs more than it declares, so "
                    f"let it read as many more of its inputs there, sl.interval(...) with wider ends"
                )
            else:
                advice.append(f"along {name} each element depends on where the piece ends: declare whole=[{name!r}]")
        if not advice:
            return "Let each element depend on the elements read for it alone, wherever the piece begins and ends"
        text = "; ".join(advice)
        if any("whole=" in each for each in advice):
            text += ", with all that it reads along that in its inputs (: or an interval)"
        return text[0].upper() + text[1:]

    def _reach(self, whole: FuncRun, d: int) -> tuple[int, int] | None:
        """How far from the first and the last element of a piece along a dimension elements differ; None: none does."""
        n = dict(whole.call.func.multiples).get(d, 1)
        long = (*whole.box[:d], (0, _FAR * n - 1), *whole.box[d + 1 :])
        inner = (*whole.box[:d], (_FAR // 4 * n, 3 * _FAR // 4 * n - 1), *whole.box[d + 1 :])
        outer = random_run(whole.pipeline, long, np.random.default_rng(_FAR), whole.scalars)
        try:
            with foreign():
                all_of_it, part = outer.run(), outer.run(inner)
        except RaisedError:  # in so long a piece; what it does in others has been noted
            return None
        self.runs += 2
        ends = [0, 0]
        differs = False
        for name, piece, expected in self._parts(outer, part, inner, all_of_it):
            wrong = ~same_elements(piece, expected, self.rtol, self.atol)
            port = dict(zip(outer.call.writes, outer.call.func.outputs, strict=True))[name]
            axis = port.dims.index(d)
            at = np.flatnonzero(wrong.any(axis=tuple(k for k in range(wrong.ndim) if k != axis)))
            if at.size:
                differs = True
                n = wrong.shape[axis]
                halves = at[at < n // 2], at[at >= n // 2]
                ends[0] = max([ends[0], *(int(k) + 1 for k in halves[0])])
                ends[1] = max([ends[1], *(n - int(k) for k in halves[1])])
        if differs:
            return ends[0], ends[1]
        return (0, 0) if self._any_along(whole, d) else None

    def _any_along(self, whole: FuncRun, d: int) -> bool:
        """Whether pieces differ that are cut along this dimension alone."""
        lo, hi = whole.box[d]
        n = dict(whole.call.func.multiples).get(d, 1)
        first = whole.run()
        for at in range(lo, hi + 1, n):
            box = (*whole.box[:d], (at, at + n - 1), *whole.box[d + 1 :])
            self.runs += 1
            if self._first_difference(whole, first, whole.run(box), box) is not None:
                return True
        return False

    # Running --------------------------------------------------------------------------------------------------------

    def _run(self, whole: FuncRun, box: NumericBox, how: str = "", **options: Any) -> Outcome | None:
        """Run; what the callback raises is a finding."""
        self.runs += 1
        try:
            with foreign():
                return whole.run(box, **options)
        except RaisedError as raised:
            error = raised.__cause__
            assert error is not None
            read_only = "read-only" in str(error) or "read only" in str(error)
            notes = "; ".join(getattr(error, "__notes__", ())[:1])
            where = f" {notes}" if notes else ""
            kind = "writes an input" if read_only else "raises"
            advice = (
                "Let it write to its outputs alone, or to a copy"
                if read_only
                else "It must compute any box of its dimensions, of one element, too, from arrays of just the regions "
                "that it declares"
            )
            if isinstance(error, CallbackError):
                advice = "See what it is called with: inputs, then outputs"
            self._note(kind, f"it raised {type(error).__name__}: {error}{how}{where}", advice, piece=box)
            return None

    def _parts(
        self, whole: FuncRun, outcome: Outcome, box: NumericBox, other: Outcome | None = None
    ) -> Iterator[tuple[str, Array, Array]]:
        """Of each output the piece, in one outcome and in another (or itself)."""
        for name, array in outcome.outputs.items():
            compared = array if other is None else other.outputs[name]
            yield name, whole.of_piece(name, array, box), whole.of_piece(name, compared, box)

    def _first_difference(self, whole: FuncRun, a: Outcome, b: Outcome, box: NumericBox) -> _Difference | None:
        """Where a piece in `b` is not what it is in `a`: output, index in it, and both values, `b`'s first."""
        for name, array in b.outputs.items():
            wrong = ~same_elements(array, a.outputs[name], self.rtol, self.atol)
            inside = np.zeros_like(wrong)
            whole.of_piece(name, inside, box)[...] = True
            for place in places(wrong & inside)[:1]:
                return name, place, array[place], a.outputs[name][place]
        return None

    def _differs(self, kind: str, text: str, advice: str, whole: FuncRun, box: NumericBox, found: _Difference) -> None:
        name, place, value, expected = found
        at = tuple(int(k) + lo for k, (lo, _) in zip(place, whole.outputs[name], strict=True))
        where = text_of_box(name, tuple((k, k) for k in at))
        region = text_of_box(name, dict(numeric_writes(whole.call, box))[name])
        text += f": where {region} is computed, {where} is {value}, and {expected} otherwise"
        self._note(kind, text, advice, output=name, piece=box, at=at, values=(value, expected))

    def _note(
        self,
        kind: str,
        text: str,
        advice: str,
        *,
        output: str | None = None,
        piece: NumericBox | None = None,
        at: tuple[int, ...] | None = None,
        values: tuple[Any, Any] | None = None,
    ) -> None:
        self.findings.append(FuncFinding(kind, text, advice, output, piece, at, values))


def _elements(reach: tuple[int, int]) -> str:
    """The elements at the ends of a piece, so many of them."""
    ends = [f"{which} {n}" for which, n in zip(("first", "last"), reach, strict=True) if n]
    return " and the ".join(ends)


def _is_rounding(found: _Difference) -> bool:
    """Whether two values are as near as sums of the same numbers in another order are."""
    _, _, a, b = found
    if not isinstance(a, (np.floating, np.complexfloating)) or not np.isfinite(a) or not np.isfinite(b):
        return False
    return bool(abs(a - b) <= 64 * np.finfo(a.dtype).eps * max(abs(a), abs(b)))


def _of_rounding(found: _Difference) -> str:
    return ". They differ as by rounding: if that does not matter, give rtol= or atol=" if _is_rounding(found) else ""
