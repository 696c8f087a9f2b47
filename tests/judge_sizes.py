"""Small concrete sizes on which the second judge runs a program: bounds of all arrays, and values of all scalars.

Outputs get extents from 0 to 7 and minima that are odd in both senses; inputs what the checks of the program ask for,
or more. The checks are met by a small search on numbers, which knows nothing of how the checks were derived.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeAlias
from weakref import WeakKeyDictionary

from judge_evaluation import Values, evaluation, metadata_key, scalar_key, symbols_of

from slinky.ir.statements import BufferParameter, Check, Program
from slinky.symbolic.expressions import Condition
from slinky.symbolic.nodes import And, IsZero, Node, NonNegative, Or

PATTERNS: tuple[tuple[tuple[int, ...], tuple[int, ...], int, bool], ...] = (
    ((4, 5, 3), (-3, 1, 5), 2, False),
    ((7, 6, 2), (3, -1, -7), 1, True),
    ((1, 3, 1), (-5, 7, 3), 3, True),
    ((5, 0, 2), (1, -3, 9), 1, False),
    ((1,), (1,), 1, False),
)
"""Extents and minima of the outputs' dimensions (over and over again), the scalars, and whether inputs are larger than
needed."""

LAST_RESORT = 4
"""The pattern for programs that are too large with all others."""

HIGH_RANK_EXTENTS = (2, 1, 2, 1, 3, 1, 1, 2)
"""What dimensions have where there are more than three."""

LONG_LINE = 17
"""The extent of the second pattern where no output has more than one dimension: there it costs little."""

MOST_ELEMENTS = 40_000
KEPT_SIZES = 200
"""For how many parameters and checks, which are all that the search looks at, the sizes that were found are kept."""

_APART = None
_GUESSES = (_APART, 0, 4, -4, 1, 16)
"""How outputs are guessed to lie: each in another place, or each that much further out than the one behind it."""

_ROUNDS = 60
_MOVES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
_FAR = 10_000

Distance: TypeAlias = Callable[[Values], float]

_distances: WeakKeyDictionary[Node, Distance] = WeakKeyDictionary()
"""The functions from values to how far conditions are from holding."""

_found: dict[Hashable, list[Values]] = {}


def sizes_of(program: Program) -> list[Values]:
    """Sizes with which all checks at the top of a program pass: the first two patterns, and one of the next two, or
    both if there are several outputs, of which then one may be empty and others not.

    Fewer, or none, where the search does not find them.
    """
    given = (tuple((p.name, p.rank, p.dtype) for p in each) for each in (program.outputs, program.inputs))
    asked = (*given, tuple(s.name for s in program.scalars), tuple(top_checks(program)))
    found = _found.get(asked)
    if found is None:
        if len(_found) >= KEPT_SIZES:
            _found.clear()
        found = _found[asked] = _search(program)
    return [dict(values) for values in found]


def _search(program: Program) -> list[Values]:
    conditions = top_checks(program)
    small = 2 + len(conditions) // 2 % 2
    enough = 3 if len(program.outputs) == 1 else 4
    found: list[Values] = []
    for number in (0, 1, small, 5 - small, LAST_RESORT):
        values = _sizes(program, conditions, number) if len(found) < enough else None
        if values is not None and values not in found:
            found.append(values)
        if number == 5 - small and found:
            break
    return found


def top_checks(program: Program) -> list[Condition]:
    """The conditions that must hold before anything runs."""
    return [s.condition for s in program.body if isinstance(s, Check)]


def holds(condition: Condition, values: Values) -> bool:
    """Whether a condition holds; not, where it cannot be evaluated."""
    try:
        return bool(evaluation(condition)(values))
    except ZeroDivisionError:
        return False


def with_new_scalars(values: Values, program: Program) -> Values | None:
    """Values that also have the scalars which a rewrite has added, or None if no small ones pass the checks."""
    missing = [s.name for s in program.scalars if scalar_key(s.name) not in values]
    if not missing:
        return values
    new = {scalar_key(name) for name in missing}
    conditions = [c for c in top_checks(program) if new & symbols_of(c)]
    offset = sum(values.values())  # other ones for other sizes, the same for the same
    for attempt in range(5):
        trial = dict(values)
        for n, name in enumerate(missing):
            trial[scalar_key(name)] = 1 + (offset + n + attempt) % 4
        if all(holds(c, trial) for c in conditions):
            return trial
    return None


def _sizes(program: Program, conditions: Sequence[Condition], number: int) -> Values | None:
    guesses = _GUESSES if len(program.outputs) > 1 else (_APART,)
    for way, guess in itertools.product(Way, guesses):
        values = _first_guess(program, number, guess)
        if not _meet(program, conditions, values, way):
            continue
        if PATTERNS[number][3]:
            _enlarge_inputs(program, conditions, values)
        _complete(program, values)
        if all(holds(c, values) for c in conditions) and _elements(program, values) <= MOST_ELEMENTS:
            return values
    return None


def _first_guess(program: Program, number: int, guess: int | None) -> Values:
    """The sizes of a pattern, where outputs lie as they are guessed to; inputs are as large as the outputs."""
    extents, minima, scalars, _ = PATTERNS[number]
    ranks = [p.rank for p in (*program.inputs, *program.outputs)]
    if max(ranks, default=0) > 3 and number != LAST_RESORT:
        extents = HIGH_RANK_EXTENTS[number:] + HIGH_RANK_EXTENTS[:number]
    elif number == 1 and max(ranks, default=0) <= 1:
        extents = (LONG_LINE,)
    values: Values = {}
    for n, parameter in enumerate((*program.outputs, *program.inputs)):
        is_output = n < len(program.outputs)
        shift = n if is_output and guess is _APART else 0
        outside = _outside(guess or 0, n, len(program.outputs)) if is_output else 0
        for d in range(parameter.rank):
            lo = minima[d % len(minima)]
            extent = extents[(d + shift) % len(extents)]
            values[metadata_key(parameter.name, d, "min")] = lo - outside
            values[metadata_key(parameter.name, d, "max")] = lo + extent - 1 + outside
    values.update((scalar_key(s.name), scalars) for s in program.scalars)
    _complete(program, values)
    return values


def _outside(step: int, n: int, count: int) -> int:
    """By how much the n-th output lies around those furthest in."""
    return step * (count - 1 - n) if step > 0 else -step * n


def _complete(program: Program, values: Values) -> None:
    """What follows from the bounds: strides of arrays in C order, and folds that are none."""
    for parameter in (*program.inputs, *program.outputs):
        stride = parameter.dtype.itemsize
        for d in reversed(range(parameter.rank)):
            extent = max(_extent(parameter, d, values), 0)
            values[metadata_key(parameter.name, d, "stride")] = stride
            values[metadata_key(parameter.name, d, "fold_factor")] = max(extent, 1)
            stride *= max(extent, 1)


def _extent(parameter: BufferParameter, d: int, values: Values) -> int:
    lo, hi = (values[metadata_key(parameter.name, d, end)] for end in ("min", "max"))
    return hi - lo + 1


def _elements(program: Program, values: Values) -> int:
    return sum(
        math.prod(max(_extent(p, d, values), 0) for d in range(p.rank)) for p in (*program.inputs, *program.outputs)
    )


# ----------------------------------------------------------------------------------------------------------------
# Meeting the checks
# ----------------------------------------------------------------------------------------------------------------


class Way(enum.Enum):
    """What is moved so that conditions come to hold."""

    INPUTS = "of each condition in turn, ends of inputs rather than of outputs"
    OUTPUTS = "of each condition in turn, ends of outputs rather than of inputs"
    TOGETHER = "whatever brings all conditions that it is in nearer, taken together"


def _meet(program: Program, conditions: Sequence[Condition], values: Values, way: Way) -> bool:
    """Change values until all conditions hold. Returns whether that succeeded: not, if they come round in a circle."""
    ends = [(p, d) for p in (*program.inputs, *program.outputs) for d in range(p.rank)]
    movable = [
        [metadata_key(p.name, d, end) for p in program.inputs for d in range(p.rank) for end in ("min", "max")],
        [metadata_key(p.name, d, end) for p in program.outputs for d in range(p.rank) for end in ("max", "min")],
        [scalar_key(s.name) for s in program.scalars],
    ]
    if way is Way.OUTPUTS:
        movable[:2] = movable[1::-1]
    elif way is Way.TOGETHER:
        movable = [[symbol for symbols in movable for symbol in symbols]]
    seen: set[tuple[int, ...]] = set()
    for _ in range(_ROUNDS):
        for parameter, d in ends:  # an extent of less than 0 is 0
            if _extent(parameter, d, values) < 0:
                hi = metadata_key(parameter.name, d, "max")
                values[hi] = values[metadata_key(parameter.name, d, "min")] - 1
        failing = [c for c in conditions if _distance_of(c)(values) > 0]
        if not failing:
            return all(_extent(p, d, values) >= 0 for p, d in ends)
        now = tuple(values.values())
        if now in seen:
            return False
        seen.add(now)
        _complete(program, values)
        if way is Way.TOGETHER:
            _improve(conditions, frozenset[str]().union(*map(symbols_of, failing)), movable, values)
            continue
        for condition in failing:
            _improve((condition,), symbols_of(condition), movable, values)
    return False


def _improve(
    conditions: Sequence[Condition], own: frozenset[str], movable: Sequence[Sequence[str]], values: Values
) -> None:
    """Move one of these symbols so that conditions come nearer to holding; of the first that are movable rather than of
    later ones."""
    for symbols in movable:
        chosen: tuple[str, int] | None = None
        most = (0.0, 0)
        for symbol in own.intersection(symbols):
            distances = [_distance_of(c) for c in conditions if symbol in symbols_of(c)]
            now, was = sum([distance(values) for distance in distances]), values[symbol]
            for move in (*_moves(now), *_MOVES):
                for number in (was - move, was + move):
                    values[symbol] = number
                    gain = now - sum([distance(values) for distance in distances])
                    if gain <= 0:
                        continue
                    found = (gain, -move)
                    if found > most or (found == most and (symbol, number) < (chosen or ("", 0))):
                        most, chosen = found, (symbol, number)
            values[symbol] = was
        if chosen is not None:
            values[chosen[0]] = chosen[1]
            return


def _moves(distance: float) -> Iterator[int]:
    if distance < _FAR:
        yield int(distance)


def _distance_of(condition: Node) -> Distance:
    """The function that says how far a condition is from holding; 0 where it does."""
    found = _distances.get(condition)
    if found is None:
        exact = _exact_distance_of(condition)

        def found(values: Values) -> float:
            try:
                return exact(values)
            except ZeroDivisionError:
                return math.inf

        _distances[condition] = found
    return found


def _exact_distance_of(condition: Node) -> Distance:
    match condition:
        case NonNegative(expr=expr):
            number = evaluation(expr)
            return lambda values: max(0, -number(values))
        case IsZero(expr=expr):
            number = evaluation(expr)
            return lambda values: abs(number(values))
        case And(operands=operands):
            parts = [_distance_of(c) for c in operands]
            return lambda values: sum([part(values) for part in parts])
        case Or(operands=operands):
            parts = [_distance_of(c) for c in operands]
            return lambda values: min([part(values) for part in parts])
    truth = evaluation(condition)
    return lambda values: 0 if truth(values) else math.inf


def _enlarge_inputs(program: Program, conditions: Sequence[Condition], values: Values) -> None:
    """Give inputs more than is needed where the checks allow it."""
    for n, parameter in enumerate(program.inputs):
        for d in range(parameter.rank):
            for end, delta in (("min", -1 - n % 2), ("max", 1 + d % 2)):
                symbol = metadata_key(parameter.name, d, end)
                own = [c for c in conditions if symbol in symbols_of(c)]
                values[symbol] += delta
                if not all(holds(c, values) for c in own):
                    values[symbol] -= delta
