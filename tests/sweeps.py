"""Which cases of a sweep the usual suite runs.

A sweep says the same of every case of a product of parameters: modes times sizes times splits. Its test is marked with
`sweep`, and of its cases the usual suite runs a covering selection: every value of every parameter is in one of them,
or, with `sweep(2)`, every two values of two parameters. What one `parametrize` gives together is one value, but for
the parameters that `sweep("name", "number")` names: these count one by one, and no others. `--long` runs all.

What may be left out is repetition, and nothing else: every function of a test, every check in it, and every branch of
a refusal stays in the usual suite. A parameter whose values are tests of their own, such as a table of wrong programs,
keeps them all, as each is a value; one of which the *combinations* are the point is no sweep, or one of strength 2.

The selection follows from the order of the parameters alone: nobody chooses cases, and those that are slow or hard are
as likely in it as others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

import pytest

Case: TypeAlias = Sequence[Hashable]
"""The value of each parameter, in the same order for all cases."""


def covering(cases: Sequence[Case], strength: int = 1) -> list[int]:
    """The numbers of cases that have, of every so many parameters, all values together that any case has.

    Always the case that adds most is taken next; of equals, the one whose values were taken least, so that a parameter
    of few values goes round with one of many; of those, the first. Where there are fewer parameters, all are taken.
    """
    parts = [frozenset(_parts(case, strength)) for case in cases]
    missing = frozenset[Hashable]().union(*parts)
    taken: Counter[Hashable] = Counter()
    chosen = []
    while missing:
        best = max(
            range(len(cases)),
            key=lambda i: (len(parts[i] & missing), -sum(taken[value] for value in enumerate(cases[i])), -i),
        )
        chosen.append(best)
        missing -= parts[best]
        taken.update(enumerate(cases[best]))
    return sorted(chosen)


def _parts(case: Case, strength: int) -> Iterable[Hashable]:
    """What of a case is to be covered: values of so many parameters, by their places."""
    return combinations(enumerate(case), min(strength, len(case)))


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The cases of sweeps that are not selected."""
    sweeps: defaultdict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sweep") and isinstance(item, pytest.Function):
            sweeps[item.nodeid.partition("[")[0]].append(item)
    skipped: set[pytest.Item] = set()
    for cases in sweeps.values():
        (mark,) = cases[0].iter_markers("sweep")
        names = [name for name in mark.args if isinstance(name, str)]
        (strength,) = [number for number in mark.args if isinstance(number, int)] or [1]
        selected = {*covering([values_of(case, names) for case in cases], strength)}
        skipped.update(case for number, case in enumerate(cases) if number not in selected)
    return skipped


def values_of(case: pytest.Function, names: Sequence[str]) -> Case:
    """The values of these parameters; if there are none, of all, those together that are given together."""
    if names:
        return [case.callspec.params[name] for name in names]
    together = [_names(mark.args[0]) for mark in case.iter_markers("parametrize")]
    return [tuple(id(case.callspec.params[name]) for name in given) for given in together]


def _names(given: str | Sequence[str]) -> Sequence[str]:
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else given
