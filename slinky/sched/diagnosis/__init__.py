"""What is wrong with a schedule, and what mends it: findings, as a good profiler gives them.

A rule (`work`, `memory`, `pieces`, `measured`) spots a place by a figure, and proposes steps that may mend it. Each
step is applied at once, to see whether the primitives allow it and whether the rule spots the place no more.

Invariant: a finding has a mend, lines that run; whoever runs them has a pipeline in which it is not found again, that
computes at most a little more, and whose memory fits into the cache if it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import attrs

import slinky as sl
from slinky.errors import cited
from slinky.sched.diagnosis.evidence import Evidence, Rule, Spot, Trials, cache_size
from slinky.sched.diagnosis.measured import MEASURED_RULES, measure
from slinky.sched.diagnosis.memory import MEMORY_RULES
from slinky.sched.diagnosis.pieces import PIECE_RULES
from slinky.sched.diagnosis.work import WORK_RULES
from slinky.symbolic.expressions import is_integer

RULES: tuple[Rule, ...] = (*WORK_RULES, *MEMORY_RULES, *PIECE_RULES)
"""The rules that look at what an estimate says."""

MORE_WORK = 1.1
"""So many times the elements may a mend compute: smaller pieces share more of their edges, and save less than that."""


@attrs.frozen
class Finding:
    """Something that could be better.

    * `rule`: the name of the rule that found it.
    * `place`: a cursor to the statement, and `line`, how the program prints it.
    * `figure`: what was found, in numbers.
    * `mend`: Python that mends it, run with `p` the pipeline and `sl` slinky.
    * `mended`: the pipeline that it makes.
    * `bytes_wasted`: about how many bytes are moved, or held, for nothing. Findings are sorted by it.
    """

    rule: str
    place: sl.StatementCursor
    line: str
    figure: str
    mend: str
    mended: sl.Pipeline = attrs.field(repr=False)
    bytes_wasted: int = attrs.field(repr=False)

    def __str__(self) -> str:
        mend = self.mend.replace("\n", "\n        ")
        return f"{self.rule}: {self.figure}\n  at:   {self.line}\n  mend: {mend}"


class Diagnosis(Sequence[Finding]):
    """The findings, what wastes most first. Falsy, and printed as "nothing to mend", if there are none.

    `is_complete` is false where the program is so large that not all was tried that may mend something.
    """

    def __init__(self, findings: Sequence[Finding], *, is_complete: bool = True) -> None:
        self._findings = tuple(findings)
        self.is_complete = is_complete

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self._findings[index]

    def __repr__(self) -> str:
        return f"<Diagnosis: {', '.join(finding.rule for finding in self) or 'nothing to mend'}>"

    def __str__(self) -> str:
        lines = [f"{number}. {finding}" for number, finding in enumerate(self, 1)]
        if not self.is_complete:
            lines.append(f"{len(lines) or 'no'} found: the program is too large to try all that may mend something")
        return "\n".join(lines) or "nothing to mend"


def diagnose(
    p: sl.Pipeline,
    arguments: Sequence[object],
    scalars: Mapping[str, object],
    threads: int | None = None,
    cache_bytes: int | None = None,
) -> Diagnosis:
    """The findings of a pipeline on these arrays, or arrays of these shapes. Raises `ArgumentError` as a run does."""
    if cache_bytes is not None and (not is_integer(cache_bytes) or cache_bytes < 1):
        raise sl.ArgumentError(f"cache_bytes must be an integer of at least 1, or None, got {cited(cache_bytes)}")
    known = Evidence(p, arguments, scalars, threads, int(cache_bytes or cache_size()))
    _ = known.estimate  # arguments that a run refuses, this refuses
    found = [finding for rule in RULES for spot in rule(known) for finding in _mended(known, rule, spot)]
    is_complete = not known.trials.gave_up
    known.trials = Trials()  # what was timed is no more than a few steps
    measured = measure(known) if known.can_run() else None
    if measured is not None:
        for measured_rule in MEASURED_RULES:
            for spot in measured_rule(known, measured):
                found += _mended(known, None, spot)
    return Diagnosis(sorted(found, key=lambda finding: -finding.bytes_wasted), is_complete=is_complete)


def _mended(known: Evidence, rule: Rule | None, spot: Spot) -> list[Finding]:
    """The finding of a spot with the first step that mends it; none if no step does.

    What was measured is not measured again: whoever spots it has seen what the step gives.
    """
    p = known.p
    for step in spot.steps:
        after = known.after(step)
        q = after.p
        if q is p:
            continue
        if not _as_good(known, after) or (rule is not None and _is_spotted(rule(after.about(spot.subject)), spot)):
            continue
        if known.trials.gave_up:
            break  # not all was looked at that may speak against the step
        place = spot.place
        return [Finding(spot.rule, place, place.describe(), spot.figure, after.code, q, spot.bytes_wasted)]
    return []


def _as_good(before: Evidence, after: Evidence) -> bool:
    """Whether a mend costs little elsewhere: what copies that it makes take, whoever spotted it has seen."""
    names = before.estimate.funcs.keys()
    works = [sum(e.funcs[name].elements for name in names & e.funcs.keys()) for e in (before.estimate, after.estimate)]
    more_work = works[1] > MORE_WORK * works[0]
    return not more_work and after.estimate.program_bytes <= max(before.estimate.program_bytes, before.cache_bytes)


def _is_spotted(spots: Iterator[Spot], spot: Spot) -> bool:
    return any(other.rule == spot.rule and other.subject == spot.subject for other in spots)
