"""The one gate: here an edit becomes a pipeline, or is refused.

A primitive, of slinky or of a user, is an edit and its refusals. What the edit must leave true is not chosen by it: the
gate proves it of every statement that the edit touched and of who reads from it.

* names and scopes are in order, and each buffer is produced by the same funcs from the same sources (always);
* calls compute all of the dimensions that their funcs compute whole (always);
* the obligations of `legality.reasons`, unless the rewrite names a reason for which one is kept.

What an edit touched is what it put, changed or took away, with all that is inside. A statement that others passed is
not touched: what it reads of them is asked as the reads of what they write, what it writes for them as their reads, and
a fold that both use as the fold of what they touch. That is why obligations are keyed on buffers.

Invariant: if the program before was right, the one that `settle` returns is, and means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import made_by, written_by
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import SERIAL, Alloc, Call, Check, For
from slinky.pipeline import Pipeline
from slinky.sched.legality.folds import check_folds, check_folds_of
from slinky.sched.legality.positive import check_positive
from slinky.sched.legality.races import check_races
from slinky.sched.legality.reads import RemediesFor, check_inputs, check_outputs, check_readers_of, check_reads
from slinky.sched.legality.reasons import Kept, Obligation
from slinky.sched.legality.scopes import check_scopes
from slinky.sched.legality.values import check_values
from slinky.sched.legality.wholes import check_whole


def settle(
    edit: Edit,
    operation: str,
    *kept: Kept,
    remedies: RemediesFor | None = None,
    hint: str = "",
) -> Pipeline:
    """The pipeline that an edit ends in; `operation` is the name of the rewrite.

    `kept` are obligations that the rewrite keeps for a reason of its own. `remedies` says what may help where a call is
    not shown to find what it reads, `hint` what helps where iterations depend on each other.

    Raises `SchedulingError` for the first obligation that is not shown to be kept; nothing is changed then.
    """
    version = edit.finish(operation)
    _Gate(edit, version, kept, remedies, hint).pass_()
    return Pipeline(version)


class _Gate:
    """What is asked of one edit."""

    def __init__(
        self, edit: Edit, version: Version, kept: Iterable[Kept], remedies: RemediesFor | None, hint: str
    ) -> None:
        self.edit = edit
        self.old = edit.version
        self.version = version
        self.kept = {obligation: each for each in kept for obligation in each.obligations}
        self.remedies = remedies
        self.hint = hint

    def pass_(self) -> None:
        """Raise `SchedulingError` for what is not shown."""
        version, edit = self.version, self.edit
        check_scopes(self.old, version, edit.touched)
        users = [i for i in self._users_of_touched_allocations() if i not in edit.touched]
        check_values(self.old, version, (*self._touched(Call), *users), edit.copies)
        check_whole(version, edit.touched)
        for obligation, prove in self._proofs().items():
            kept = self.kept.get(obligation)
            if kept is None:
                prove(self._subjects(obligation))
            elif kept.but_for:
                prove(kept.but_for)

    def _proofs(self) -> dict[Obligation, Callable[[Iterable[int]], None]]:
        """How each obligation is proved, of statements given by identity; in the order in which it is done."""
        version = self.version
        return {
            Obligation.CHECKS: self._check_checks,
            Obligation.POSITIVE: lambda these: check_positive(version, these),
            Obligation.INPUTS: lambda these: self._each(check_inputs, these),
            Obligation.READS: lambda these: check_reads(version, these, self.remedies),
            Obligation.READERS: lambda these: check_readers_of(version, self._written(these), self.remedies),
            Obligation.OUTPUTS: lambda these: check_outputs(version, self._written(these)),
            Obligation.FOLDS: self._check_folds,
            Obligation.RACES: self._check_races,
        }

    def _each(self, check: Callable[[Version, int], None], these: Iterable[int]) -> None:
        for identity in these:
            check(self.version, identity)

    def _check_folds(self, these: Iterable[int]) -> None:
        these = list(these)
        for identity in these:
            alloc = self.version.statement(identity)
            if isinstance(alloc, Alloc):
                check_folds_of(self.version, alloc)
        check_folds(self.version, [s for i in these if isinstance(s := self.version.statement(i), Call)])

    def _check_races(self, these: Iterable[int]) -> None:
        for identity in these:
            check_races(self.version, identity, hint=self.hint)

    def _written(self, these: Iterable[int]) -> tuple[str, ...]:
        """What calls write; of calls that the edit took away or changed, also what they wrote."""
        entries = (self.version.entries.get(i) for i in these)
        before = (self.old.entries.get(i) for i in these)
        found = (buffer for entry in (*entries, *before) if entry is not None for buffer in written_by(entry.statement))
        return tuple(dict.fromkeys(found))

    # What is asked where no reason is named ---------------------------------------------------------------------

    def _subjects(self, obligation: Obligation) -> tuple[int, ...]:
        calls = (*self._touched(Call), *self._users_of_touched_allocations())
        match obligation:
            case Obligation.CHECKS:
                return tuple(self.edit.touched)
            case Obligation.POSITIVE:
                return self._touched(For, Alloc)
            case Obligation.READERS | Obligation.OUTPUTS:
                return tuple(dict.fromkeys((*calls, *self.edit.touched)))
            case Obligation.FOLDS:
                return tuple(dict.fromkeys((*self._touched(Alloc), *calls)))
            case Obligation.RACES:
                return self._parallel_loops(dict.fromkeys((*self.edit.touched, *calls)))
            case Obligation.INPUTS | Obligation.READS:
                return tuple(dict.fromkeys(calls))

    def _touched(self, *kinds: type) -> tuple[int, ...]:
        """The touched statements of some kinds that there are in the end, in program order."""
        entries = self.version.entries
        found = [i for i in self.edit.touched if i in entries and isinstance(entries[i].statement, kinds)]
        return tuple(sorted(found, key=self.version.place)) if len(found) > 1 else tuple(found)

    def _users_of_touched_allocations(self) -> tuple[int, ...]:
        """The calls that read or write a buffer whose allocation the edit touched: its bounds clamp them."""
        found: dict[int, None] = {}
        for identity in self.edit.touched:
            for entry in (self.old.entries.get(identity), self.version.entries.get(identity)):
                buffer = made_by(entry.statement) if entry is not None else None
                if buffer is not None:
                    found.update(dict.fromkeys((*self.version.writers(buffer), *self.version.readers(buffer))))
        return tuple(found)

    def _parallel_loops(self, these: Iterable[int]) -> tuple[int, ...]:
        """The parallel loops at and around statements."""
        found: dict[int, None] = {}
        for identity in these:
            if identity in self.version.entries:
                around = (identity, *self.version.ancestors(identity))
                loops = (s for i in around if isinstance(s := self.version.statement(i), For))
                found.update(dict.fromkeys(loop.id for loop in loops if loop.mode != SERIAL))
        return tuple(sorted(found, key=self.version.place))

    def _check_checks(self, these: Iterable[int]) -> None:
        """Check that no check is gone, changed, or stands elsewhere than before."""
        old, new = self.old, self.version
        before, after = leading_checks(old.program), {check.id for check in leading_checks(new.program)}
        moved = [check.id for check in before if check.id not in after]
        for identity in these:
            entry, now = old.entries.get(identity), new.entries.get(identity)
            if entry is not None and isinstance(entry.statement, Check) and identity not in after:
                if now is None or now != entry or (entry.parent, entry.field) in self.edit.reordered:
                    moved.append(identity)
        if moved:
            raise SchedulingError(
                "a check must stay as it is, where it is: statements may rely on it, and callers, too",
                place=statement_cursor(old, moved[0]),
            )
