"""The one gate: here an edit becomes a pipeline, or is refused.

A primitive, of slinky or of a user, is an edit and its refusals. What the edit must leave true is not chosen by it: the
gate proves it of every statement that the edit touched and of who reads from it.

* names and scopes are in order (always);
* calls compute all of the dimensions that their funcs compute whole, and whole pieces where they do that (always);
* buffers that lie in one memory are used one after the other (always, of all that there are: there are few);
* what calls touch of a buffer that is stored by blocks lies in one (always, of all that there are: there are few);
* buffers lie in the order of dimensions that calls take them in (always, of all that ask: there are few);
* stages of pipelined loops that overlap let each other be (always, of all that there are: there are few);
* the obligations of `legality.reasons`, unless the rewrite names a reason for which one is kept; first of all that each
  buffer is produced by the same funcs from the same sources.

What an edit touched is what it put, changed or took away, with all that is inside. (What is inside of a loop of which
but the head was changed is looked at where it may matter in which iterations it runs.) A statement that a moved one has
passed is not touched itself. It is asked about through the buffers that the two share: as a reader of what the moved
one writes, as a writer of what that reads, and as a user of the same fold.

Invariant: if the program before was right, the one that `settle` returns is, and means the same.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.kinds import BLOCKED, INSEPARABLE, ORDERED, PIPELINED, STRIDED
from slinky.cursors.versions import IDENTITY, ROOT, Touched, Version, changes_of
from slinky.errors import SchedulingError
from slinky.ir.effects import Touching, calls_in, made_by, written_by
from slinky.ir.statements import KINDS, Alloc, Check, For, blocks_of, is_in_order, walk
from slinky.pipeline import Pipeline
from slinky.sched.legality.blocks import check_blocks
from slinky.sched.legality.folds import check_folds_of
from slinky.sched.legality.memory import check_memory
from slinky.sched.legality.multiples import check_multiples
from slinky.sched.legality.orders import check_orders
from slinky.sched.legality.positive import RemediesOfRanges, check_divisors, check_positive
from slinky.sched.legality.races import check_races
from slinky.sched.legality.reads import RemediesFor, check_inputs, check_outputs, check_readers_of, check_reads
from slinky.sched.legality.reasons import Kept, Obligation
from slinky.sched.legality.room import check_room
from slinky.sched.legality.scopes import Elsewhere, check_fitting, check_scopes, check_sources
from slinky.sched.legality.stages import check_stages
from slinky.sched.legality.touches import allocs_touched
from slinky.sched.legality.unchanged import is_used_as_before
from slinky.sched.legality.values import check_values
from slinky.sched.legality.wholes import check_whole


def settle(
    edit: Edit,
    operation: str,
    *kept: Kept,
    remedies: RemediesFor | None = None,
    of_ranges: RemediesOfRanges | None = None,
    hint: str = "",
) -> Pipeline:
    """The pipeline that an edit ends in; `operation` is the name of the rewrite.

    `kept` are obligations that the rewrite keeps for a reason of its own. `remedies` says what may help where a call is
    not shown to find what it reads, `of_ranges` where a step or a divisor is not shown to be at least 1 in the
    iterations that a loop has now, `hint` what helps where iterations depend on each other.

    Raises `SchedulingError` for the first obligation that is not shown to be kept; nothing is changed then.
    """
    touched = edit.changes()
    version = edit.finish_with(operation, touched)
    if touched:  # of nothing, nothing is asked
        _Gate(edit, touched, version, kept, remedies, of_ranges, hint).pass_()
    return Pipeline(version)


@functools.cache
def _asked(kept: tuple[tuple[tuple[Obligation, ...], bool], ...]) -> tuple[Obligation, ...]:
    """The obligations that are proved of some statements at least, by what is kept, and whether of all: in any program,
    after `VALUES`.

    (Most rewrites keep most of them, and in few ways: they are not gone through one by one each time.)
    """
    settled = {obligation: of_all for obligations, of_all in kept for obligation in obligations}
    asked = [o for o in Obligation if o not in (Obligation.VALUES, Obligation.ROOM)]
    return tuple(o for o in asked if not settled.get(o, False))


class _Gate:
    """What is asked of one edit."""

    _elsewhere: Elsewhere = {}  # noqa: RUF012
    """The calls that may see other buffers than before."""

    def __init__(
        self,
        edit: Edit,
        touched: Touched,
        version: Version,
        kept: Sequence[Kept],
        remedies: RemediesFor | None,
        of_ranges: RemediesOfRanges | None,
        hint: str,
    ) -> None:
        self.edit = edit
        self.old = edit.version
        self.version = version
        self.kept: dict[Obligation, Kept] = {}
        for each in kept:
            self.kept.update(dict.fromkeys(each.obligations, each))
        self.asked = _asked(tuple([(each.obligations, not each.but_for) for each in kept]))
        self.remedies = remedies
        self.of_ranges = of_ranges
        self.hint = hint
        self.touched = touched
        self._used_as_before: dict[str, bool] = {}

    def pass_(self) -> None:
        """Raise `SchedulingError` for what is not shown."""
        version = self.version
        self._elsewhere = check_scopes(self.old, version, self.touched, self.edit.reordered)
        self._ask(Obligation.VALUES)  # by which it is known what a call is
        if Obligation.VALUES in self.kept:
            check_fitting(version, self._elsewhere)  # the names of their operands may stand for other buffers
        rare = version.rare()
        if INSEPARABLE in rare:
            check_whole(version, self._and_inside)
            check_multiples(version, self._and_inside)
        for obligation in self.asked:
            self._ask(obligation)
        check_sources(version, self._elsewhere)
        if not rare:
            return
        check_memory(version)
        if PIPELINED in rare:
            check_stages(version)
        if STRIDED in rare:
            self._ask(Obligation.ROOM)
        if BLOCKED in rare:
            check_blocks(version)
        if ORDERED in rare:
            check_orders(version)

    def _ask(self, obligation: Obligation) -> None:
        """Prove an obligation of all statements of which no reason says that it is kept."""
        kept = self.kept.get(obligation)
        if kept is None or kept.but_for:
            subjects, prove = _PROOFS[obligation]
            prove(self, subjects(self) if kept is None else kept.but_for)

    # How each obligation is proved of statements, given by identity ------------------------------------------------

    def _check_values(self, these: Sequence[int]) -> None:
        check_values(self.old, self.version, these, {**self.edit.copies, **self.edit.staged})

    def _check_positive(self, these: Sequence[int]) -> None:
        check_positive(self.version, these, self.of_ranges)
        check_divisors(self.version, self.old, these, self.of_ranges)

    def _check_inputs(self, these: Sequence[int]) -> None:
        for identity in these:
            check_inputs(self.version, identity)

    def _check_reads(self, these: Sequence[int]) -> None:
        check_reads(self.version, these, self.remedies)

    def _check_readers(self, these: Sequence[int]) -> None:
        check_readers_of(self.version, self._written(these), self.remedies)

    def _check_outputs(self, these: Sequence[int]) -> None:
        check_outputs(self.version, self._written(these))

    def _check_races(self, these: Sequence[int]) -> None:
        """Check those of some loops whose iterations may run at the same time."""
        for identity in these:
            loop = self.version.statement(identity)
            if isinstance(loop, For) and not is_in_order(loop):
                check_races(self.version, identity, hint=self.hint)

    def _check_folds(self, these: Iterable[int]) -> None:
        statements = [self.version.statement(identity) for identity in these]
        for statement in statements:
            if isinstance(statement, Alloc):
                check_folds_of(self.version, statement)
        for alloc in allocs_touched(self.version, [s for s in statements if isinstance(s, Touching)]):
            if any(fold is not None for fold in alloc.folds) and not self._is_used_as_before(alloc.buffer):
                check_folds_of(self.version, alloc)

    def _check_room(self, these: Sequence[int]) -> None:
        check_room(self.old, self.version, these, self.edit.copies)

    def _written(self, these: Iterable[int]) -> tuple[str, ...]:
        """What calls write, and what they wrote before: some may be gone. Not what is used as before."""
        found: dict[str, None] = {}
        for entries in (self.version.entries, self.old.entries):
            for entry in map(entries.get, these):
                if entry is not None:
                    found.update(dict.fromkeys(written_by(entry.statement)))
        return tuple([buffer for buffer in found if not self._is_used_as_before(buffer)])

    def _is_used_as_before(self, buffer: str) -> bool:
        if buffer not in self._used_as_before:
            self._used_as_before[buffer] = is_used_as_before(self.old, self.version, self.touched, buffer)
        return self._used_as_before[buffer]

    def _check_checks(self, these: Iterable[int]) -> None:
        """Check that no check is gone, changed, or stands elsewhere than before, and that nothing has passed one."""
        moved = _no_more_leading(self.old, self.version) if (ROOT, "body") in self.edit.reordered else []
        stirred: dict[tuple[int, str], None] = {}
        for identity in these:
            before, now = self.touched[identity]
            if before is None:
                continue
            is_reordered = (before.parent, before.field) in self.edit.reordered
            if isinstance(before.statement, Check):
                if now != before or is_reordered:
                    moved.append(identity)
            elif is_reordered and now is not None and now.parent == before.parent:
                stirred[before.parent, before.field] = None
        for block in stirred:
            moved += _passed(self.old, self.version, *block)
        if moved:
            raise SchedulingError(
                "a check must stay as it is, where it is: statements may rely on it, and callers, too",
                place=statement_cursor(self.old, moved[0]),
            )

    # What is asked where no reason is named ---------------------------------------------------------------------

    def _moved_calls(self) -> Sequence[int]:
        return tuple(self._elsewhere)

    def _touched_ones(self) -> Sequence[int]:
        """The statements among which checks may be gone, or stand elsewhere."""
        return tuple(self.touched)

    @property
    def _and_inside(self) -> Touched:
        """What was touched, and what is inside of loops that run in other iterations than before."""
        return self._of_headers if self.edit.headers else self.touched

    @functools.cached_property
    def _of_headers(self) -> Touched:
        entries = self.version.entries
        heads = [entries[i].statement for i in self.edit.headers if i in entries]
        blocks = [walk(block) for head in heads for _, block in blocks_of(head)]
        inside = set(map(IDENTITY, itertools.chain.from_iterable(blocks)))
        if inside <= self.touched.keys():
            return self.touched
        return changes_of(sorted(inside | self.touched.keys()), self.old, self.version)

    def _of_each_kind(self) -> Sequence[int]:
        return self._in_order(*KINDS)

    def _allocs(self) -> Sequence[int]:
        return self._in_order(Alloc)

    def _touched_calls(self) -> Sequence[int]:
        return self._calls

    def _calls_and_all(self) -> Sequence[int]:
        return tuple(dict.fromkeys((*self._calls, *self._and_inside)))

    def _allocs_and_calls(self) -> Sequence[int]:
        return (*self._in_order(Alloc), *self._no_more_written, *self._calls)

    def _all_loops_around(self) -> Sequence[int]:
        return self._loops_around((*self._and_inside, *self._users))

    @functools.cached_property
    def _calls(self) -> Sequence[int]:
        """The calls that were touched, or that read or write a buffer whose allocation was."""
        own = self._in_order(Touching)
        return tuple(dict.fromkeys((*own, *self._users))) if self._users else own

    @property
    def _no_more_written(self) -> list[int]:
        """The allocations that calls wrote which are gone: a fold may rest on what was written over what it let go."""
        found: dict[int, None] = {}
        for before, now in self.touched.values():  # nothing inside of a loop is gone that was not touched itself
            if before is not None and now is None:
                allocs = (self.old.alloc_of(buffer, before.statement.id) for buffer in written_by(before.statement))
                found.update((alloc.id, None) for alloc in allocs if alloc is not None)
        return [i for i in found if i in self.version.entries]

    def _in_order(self, *kinds: type | UnionType) -> Sequence[int]:
        """The touched statements of some kinds that there are in the end, in program order."""
        found = [i for i, (_, now) in self._and_inside.items() if now is not None and isinstance(now.statement, kinds)]
        return self.version.in_order(found)

    @functools.cached_property
    def _users(self) -> Sequence[int]:
        """The calls that read or write a buffer whose allocation the edit touched: its bounds clamp them."""
        found: dict[int, None] = {}
        for entries in self._and_inside.values():
            for entry in entries:
                buffer = made_by(entry.statement) if entry is not None else None
                if buffer is not None:
                    found.update(dict.fromkeys((*self.version.writers(buffer), *self.version.readers(buffer))))
        return tuple(found)

    def _loops_around(self, these: Iterable[int]) -> Sequence[int]:
        """The loops at and around statements."""
        version = self.version
        there = [i for i in these if i in version.entries]
        around = dict.fromkeys(outer for i in there for outer in (i, *version.ancestors(i)))
        return version.in_order([i for i in around if isinstance(version.statement(i), For)])


_PROOFS: Mapping[Obligation, tuple[Callable[[_Gate], Sequence[int]], Callable[[_Gate, Sequence[int]], None]]] = {
    Obligation.VALUES: (_Gate._moved_calls, _Gate._check_values),
    Obligation.CHECKS: (_Gate._touched_ones, _Gate._check_checks),
    Obligation.POSITIVE: (_Gate._of_each_kind, _Gate._check_positive),
    Obligation.INPUTS: (_Gate._touched_calls, _Gate._check_inputs),
    Obligation.READS: (_Gate._touched_calls, _Gate._check_reads),
    Obligation.READERS: (_Gate._calls_and_all, _Gate._check_readers),
    Obligation.OUTPUTS: (_Gate._calls_and_all, _Gate._check_outputs),
    Obligation.FOLDS: (_Gate._allocs_and_calls, _Gate._check_folds),
    Obligation.RACES: (_Gate._all_loops_around, _Gate._check_races),
    Obligation.ROOM: (_Gate._allocs, _Gate._check_room),
}
"""Of which statements an obligation is proved where no reason is named, and how."""


def _no_more_leading(old: Version, new: Version) -> list[int]:
    """The checks that stood before all other statements, and do so no more."""
    before = old.leading_checks()
    if new.is_led_by(before):
        return []
    after = {check.id for check in new.leading_checks()}
    return [check.id for check in before if check.id not in after]


def _passed(old: Version, new: Version, parent: int, field: str) -> list[int]:
    """The checks of a block, but for those that lead the program, between which and a call, or a statement with some
    inside, the order is another one than before."""
    before, after = old.block(parent, field), new.block(parent, field)
    if parent == ROOT:
        before = before[len(old.leading_checks()) :]
    if Check not in map(type, before):
        return []
    then, now = ({s.id: n for n, s in enumerate(block)} for block in (before, after))
    stayed = [s for s in before if s.id in now]
    doing = [s.id for s in stayed if any(calls_in((s,)))]
    checks = [s.id for s in stayed if isinstance(s, Check)]
    return [c for c in checks if any((then[i] < then[c]) != (now[i] < now[c]) for i in doing)]
