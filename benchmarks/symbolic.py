"""Expressions and proofs: construction, substitution, simplification, bounds and proof, at 1 to 1,000 terms.

The last column says how the time grows from 10 terms to the largest size, per factor of ten in size: 10 is linear.
"Cold" means that nothing is remembered from an earlier question, "warm" that the same question was asked before.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from slinky.symbolic.bounds import bounds, simplify
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    all_of,
    linear_sum,
    maximum,
    metadata,
    minimum,
    scalar,
    select,
    variable,
)
from slinky.symbolic.intervals import Interval, interval
from slinky.symbolic.proofs import Facts, facts, prove
from slinky.symbolic.traversal import substitute

SIZES = (1, 10, 100, 1000)

_numbers = itertools.count(1_000_000)  # a number that no node has yet: what is built with it is new


def _names(size: int) -> list[Expr]:
    return [variable(f"v{i}") for i in range(size)]


def _sum(size: int) -> Callable[[], object]:
    terms = [(name, i % 5 + 1) for i, name in enumerate(_names(size))]
    return lambda: linear_sum(next(_numbers), terms)


def _plus_known(size: int) -> Callable[[], object]:
    total = linear_sum(0, [(name, 1) for name in _names(size)])
    keep = total + 1
    return lambda: (total + 1, keep)


def _plus_symbol(size: int) -> Callable[[], object]:
    total = linear_sum(0, [(name, 1) for name in _names(size)])
    other = variable("w")
    return lambda: total + other * next(_numbers)


def _minimum(size: int) -> Callable[[], object]:
    operands = [name + 1 for name in _names(size)]
    return lambda: minimum(*operands, next(_numbers))


def _conditions(size: int) -> Callable[[], object]:
    names = _names(size)
    return lambda: all_of(*[name <= next(_numbers) for name in names])


def _substitution(size: int) -> Callable[[], object]:
    names = _names(size)
    expr = minimum(linear_sum(0, [(name // 2, 1) for name in names]), names[0])
    return lambda: substitute(expr, {names[-1]: names[0] + next(_numbers)})


def _simplification(size: int) -> Callable[[], object]:
    names = _names(size)
    condition = all_of(*[minimum(name, 5) >= 3 for name in names], *[name // 8 <= 7 for name in names])
    known = facts(*[name >= 3 for name in names])

    def run() -> object:
        known.answers.clear()
        return simplify(condition, known)

    return run


def _bounds(size: int) -> Callable[[], object]:
    names = _names(size)
    expr = linear_sum(0, [((name + 1) // 2 - name // 2, 1) for name in names])
    ranges: dict[Expr, Interval] = {name: interval(0, 100 + i) for i, name in enumerate(names)}
    return lambda: bounds(expr, ranges)


def _among_facts(size: int) -> Callable[[], object]:
    names = _names(size)
    known = facts(*[a <= b for a, b in itertools.pairwise(names)], names[0] >= 0)
    goal = names[min(3, size - 1)] >= -1
    return _cold(goal, known)


def _sum_of_terms(size: int) -> Callable[[], object]:
    names = _names(size)
    known = facts(*[name >= i % 3 for i, name in enumerate(names)])
    return _cold(linear_sum(0, [(name, 1) for name in names]) >= 0, known)


def _cold(goal: Condition, known: Facts) -> Callable[[], object]:
    def run() -> bool:
        known.answers.clear()
        known.witnesses.clear()
        return prove(goal, known)

    return run


def _warm(goal: Condition, known: Facts) -> Callable[[], object]:
    return lambda: prove(goal, known)


BY_SIZE: dict[str, Callable[[int], Callable[[], object]]] = {
    "construct a new sum": _sum,
    "add 1 to a sum": _plus_known,
    "add a new term to a sum": _plus_symbol,
    "construct a new minimum": _minimum,
    "construct new comparisons": _conditions,
    "substitute in a sum of quotients": _substitution,
    "simplify a condition (cold)": _simplification,
    "bounds of a sum of quotients": _bounds,
    "prove among facts (cold)": _among_facts,
    "prove a sum of terms (cold)": _sum_of_terms,
}


def _schedule_questions() -> tuple[Facts, dict[str, Condition]]:
    """A stencil in a loop over rows, and what its schedule asks."""
    y, s, r = variable("y"), scalar("s"), scalar("r")
    inp_min, inp_max = metadata("inp", 0, "min"), metadata("inp", 0, "max")
    out_min, out_max = metadata("out", 0, "min"), metadata("out", 0, "max")
    known = facts(inp_min <= out_min - 1, out_max + 1 <= inp_max, s >= 1, r >= 0).also(out_min <= y, y <= out_max)
    return known, {
        "a read stays in its buffer": inp_min <= y - 1,
        "a clamped read stays in its buffer": maximum(inp_min, minimum(y, inp_max)) <= inp_max,
        "a window does not run backwards": y - 1 <= y + s - 1,
        "a clamped window is not empty": maximum(y - 1, out_min - 1) <= minimum(y + 1, out_max + 1),
        "a downsampled window": (y + s - 1) // 2 - y // 2 <= s // 2,
        "the first iteration": select(y <= out_min, out_min - 1, y + 1) >= y - 1,
        "a symbolic warm-up": s * ((2 * r + s - 1) // s) >= 2 * r,
        "what does not hold": inp_min <= y - 3,
    }


def _microseconds(run: Callable[[], object], seconds: float) -> float:
    """The best time of a call, of about this many seconds of calls."""
    run()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            run()
        taken = time.perf_counter() - start
        if taken > seconds / 20:
            break
        count *= 2
    best = taken / count
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure; one row for each operation and size."""
    seconds = 0.02 if quick else 0.2
    rows: list[dict[str, Any]] = []
    for name, make in BY_SIZE.items():
        for size in SIZES[: 3 if quick else 4]:
            rows.append({"operation": name, "size": size, "microseconds": _microseconds(make(size), seconds)})
    known, questions = _schedule_questions()
    for name, goal in questions.items():
        for state, make_question in (("cold", _cold), ("warm", _warm)):
            taken = _microseconds(make_question(goal, known), seconds)
            rows.append({"operation": f"prove: {name}", "size": state, "microseconds": taken})
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as two tables: by size, and the proofs of a schedule."""
    found: dict[str, dict[Any, float]] = {}
    for row in rows:
        found.setdefault(row["operation"], {})[row["size"]] = row["microseconds"]
    sized = {name: times for name, times in found.items() if "cold" not in times}
    sizes = list(next(iter(sized.values())))
    lines = [f"{'microseconds at size':36}" + "".join(f"{size:>10}" for size in sizes) + "    growth"]
    for name, times in sized.items():
        growth = (times[sizes[-1]] / times[10]) ** (1 / (len(sizes) - 2))
        lines.append(f"{name:36}" + "".join(f"{times[size]:10.1f}" for size in sizes) + f"{growth:10.1f}")
    lines += ["", f"{'microseconds':50}{'cold':>10}{'warm':>10}"]
    for name, times in found.items():
        if "cold" in times:
            lines.append(f"{name:50}{times['cold']:10.1f}{times['warm']:10.2f}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print: `[--quick] [--json]`."""
    options = list(sys.argv[1:] if argv is None else argv)
    rows = run("--quick" in options)
    print(json.dumps(rows, indent=1) if "--json" in options else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
