"""Examples: integers that the symbols of a program may have at one of its places.

Most questions that take a prover long have the answer no: this clamp does something, that call may be empty. That there
is no proof takes a search to find out; an example in which it is not so takes no time. So facts get a few examples
before much is asked under them: outputs without elements, of one and of many; all loops in their first iteration, or
from one loop inwards in their last.

Invariant: an example has a value for every symbol that its facts speak of, and meets all of them. What it refutes has
no proof, so the source is the same with and without examples.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import attrs

from slinky.errors import ExpressionError
from slinky.ir.statements import Program
from slinky.runtime.codegen.origin import extents
from slinky.symbolic.expressions import (
    Condition,
    Expr,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Variable,
    linear,
    metadata,
    scalar,
)
from slinky.symbolic.proofs import Facts
from slinky.symbolic.traversal import evaluate, symbols

_EXTENTS = (1 << 32, 1, 0)
"""How long outputs are, so that the first example has room for any number of loops inside each other."""

_SCALAR = 2
_SLACK = 1 << 20
"""By how much the inputs are larger than they must be, for outputs of many elements."""

_MOST = 16
"""How many examples facts have: in deep nests, those that differ in the outermost and in the innermost loops."""

_LONG = 64
"""So many values are not copied any more."""

_WITNESSES = 4
"""How many examples the prover gets; it keeps only a few."""


class _Layer(dict[Expr, int]):
    """Values that add to others, which are not copied: there may be thousands."""

    def __init__(self, others: dict[Expr, int]) -> None:
        super().__init__()
        self._others = others

    def __missing__(self, symbol: Expr) -> int:
        return self._others[symbol]

    def __contains__(self, symbol: object) -> bool:
        return super().__contains__(symbol) or symbol in self._others

    def get(self, symbol: Any, default: Any = None, /) -> Any:
        """The value of a symbol, if it has one."""
        try:
            return self[symbol]
        except KeyError:
            return default

    def copy(self) -> _Layer:
        """The same values on top of the same others."""
        new = _Layer(self._others)
        new.update(self)
        return new


@attrs.frozen(eq=False)
class _Example:
    values: dict[Expr, int]
    is_late: bool
    """Whether the loops from here inwards are in their last iteration."""

    def value(self, node: Node) -> int:
        """The value of an expression, or 0 or 1 for a condition.

        Raises `ExpressionError` where a symbol has no value or a divisor is zero.
        """
        return evaluate(node, self.values)

    def agrees(self, conditions: Iterable[Condition]) -> bool:
        """Whether all conditions hold."""
        try:
            return all(self._holds(condition) for condition in conditions)
        except ExpressionError:
            return False

    def _holds(self, condition: Condition) -> bool:
        match condition:
            case NonNegative(expr=expr):
                return self.value(expr) >= 0
            case IsZero(expr=expr):
                return self.value(expr) == 0
            case Or(operands=operands):
                return any(self._holds(operand) for operand in operands)
        return self.value(condition) == 1

    def apart(self, *, is_late: bool) -> _Example:
        """An example with the same values, to which others may be added."""
        return _Example(_Layer(self.values) if len(self.values) > _LONG else self.values.copy(), is_late)


class Examples:
    """Gives facts their examples: those of the facts that they extend, as far as these can be extended, too."""

    def __init__(self, program: Program, at_origin: bool) -> None:
        self._known: dict[Facts, list[_Example]] = {}
        self._symbols = list(_symbols_of(program, at_origin))
        parameters = (*program.outputs, *program.inputs)
        self._extents = frozenset(e for p in parameters for e in extents(p)) if at_origin else frozenset()

    def illustrated(self, known: Facts) -> Facts:
        """The same facts, ready to be asked a lot of questions."""
        if known not in self._known:
            self._of(known)
        return known

    def of(self, known: Facts) -> Iterator[Mapping[Expr, int]]:
        """The values of the examples of facts."""
        return (example.values for example in self._of(known))

    def is_needed(self, choice: Min | Max, known: Facts) -> bool:
        """Whether no operand of a choice can be shown to be as good as another: simplifying would leave it as it is."""
        sign = 1 if isinstance(choice, Min) else -1
        rows = []
        for example in self._of(known):
            try:
                rows.append([sign * example.value(operand) for operand in choice.operands])
            except ExpressionError:
                continue
        places = range(len(choice.operands))
        return all(a == b or any(row[a] > row[b] for row in rows) for a in places for b in places)

    def _of(self, known: Facts) -> list[_Example]:
        waiting: list[Facts] = []
        facts: Facts | None = known
        while facts is not None and facts not in self._known:
            waiting.append(facts)
            facts = facts.parent
        for facts in reversed(waiting):
            examples = list(self._made(facts))
            if len(examples) > _MOST:
                examples = examples[: _MOST // 2] + examples[-_MOST // 2 :]
            self._known[facts] = examples
            if not facts.witnesses:
                for example in examples[:_WITNESSES]:
                    facts.remember_witness(example.values)
        return self._known[known]

    def _made(self, known: Facts) -> Iterator[_Example]:
        if known.parent is None:
            relations = _by_symbol(known.own)
            mentioned = [s for s in self._symbols if s in relations or _is_end(s) or s in self._extents]
            candidates = [new for n in _EXTENTS for new in _started(n, mentioned, self._extents, relations)]
        else:
            candidates = [new for old in self._known[known.parent] for new in _extended(old, known.own)]
        return (example for example in candidates if example.agrees(known.own))


def _symbols_of(program: Program, at_origin: bool) -> Iterable[Expr]:
    """The symbols of a program, those first that others depend on: inputs must be as large as outputs need."""
    for s in program.scalars:
        yield scalar(s.name)
    for p in (*program.outputs, *program.inputs):
        for d in range(p.rank):
            if at_origin:
                yield extents(p)[d]
            for field in ("stride", "fold_factor") if at_origin else ("min", "max", "stride", "fold_factor"):
                yield metadata(p.name, d, field)


def _is_end(symbol: Expr) -> bool:
    return isinstance(symbol, Metadata) and symbol.field in ("min", "max")


def _by_symbol(conditions: Iterable[Condition]) -> dict[Expr, list[Condition]]:
    """The conditions that speak of each symbol."""
    found: dict[Expr, list[Condition]] = {}
    for condition in conditions:
        for symbol in symbols(condition):
            found.setdefault(symbol, []).append(condition)
    return found


def _started(
    extent: int, wanted: Iterable[Expr], extents: Container[Expr], relations: Mapping[Expr, list[Condition]]
) -> Iterator[_Example]:
    """Values for symbols of a program, with outputs of this extent where the conditions leave a choice.

    `extents` are the symbols that stand for one. No extent is negative, and a fold factor is at least 1, whether
    conditions say so or not.
    """
    slack = min(extent - 1, _SLACK)
    example = _Example({}, False)
    values = example.values
    for symbol in wanted:
        lo, hi = _range_of(symbol, relations.get(symbol, ()), example)
        value = _SCALAR
        if symbol in extents:
            value = extent if lo is None else lo + slack
            lo = 0 if lo is None else max(lo, 0)
        elif isinstance(symbol, Metadata):
            if symbol.field == "min":
                value = 0 if hi is None else hi - slack
            elif symbol.field == "max":
                least = values[metadata(symbol.buffer, symbol.dim, "min")] - 1
                value = least + extent if lo is None else lo + slack
                lo = least if lo is None else max(least, lo)
            else:
                lo = 1 if lo is None else max(lo, 1)
        if lo is not None:
            value = max(value, lo)
        if hi is not None:
            value = min(value, hi)
        if lo is not None and value < lo:
            return
        values[symbol] = value
    yield example


def _extended(example: _Example, conditions: tuple[Condition, ...]) -> Iterator[_Example]:
    """Values for the symbols of more conditions, too: variables of loops, and symbols that stand for expressions."""
    values = example.values
    missing = dict.fromkeys(symbol for c in conditions for symbol in symbols(c) if symbol not in values)
    if not missing:
        yield example
        return
    if len(conditions) == 1 and len(missing) == 1 and isinstance(conditions[0], IsZero):
        # What a name stands for is the same under all facts of a plan, so examples of older facts may have it, too.
        (symbol,) = missing
        value, _ = _range_of(symbol, conditions, example)
        if isinstance(symbol, Variable) and value is not None:
            values[symbol] = value
            yield example
        return
    early, late = example.apart(is_late=False), example.apart(is_late=True)
    relations = _by_symbol(conditions)
    for symbol in missing:
        if not isinstance(symbol, Variable):
            return
        for extended, end in ((early, 0), (late, -1)):
            known = [at for at in _range_of(symbol, relations[symbol], extended) if at is not None]
            extended.values[symbol] = known[end] if known else 0
    if not example.is_late:
        yield early
    if example.is_late or any(early.values[symbol] != late.values[symbol] for symbol in missing):
        yield late


def _range_of(symbol: Expr, conditions: Iterable[Condition], example: _Example) -> tuple[int | None, int | None]:
    """The ends that conditions about a symbol give it, as far as all other symbols in them have values."""
    lows: list[int] = []
    highs: list[int] = []
    for condition in conditions:
        if not isinstance(condition, (NonNegative, IsZero)):
            continue
        rest, terms = linear(condition.expr)
        own = 0
        try:
            for atom, c in terms:
                if atom is symbol:
                    own = c
                else:
                    rest += c * example.value(atom)
        except ExpressionError:
            continue
        both = isinstance(condition, IsZero)
        if own > 0:
            lows.append(-(rest // own))
            highs += [-rest // own] * both
        elif own < 0:
            highs.append(rest // -own)
            lows += [-(-rest // -own)] * both
    return max(lows, default=None), min(highs, default=None)
