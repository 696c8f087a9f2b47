"""Values as Python that makes them: what a schedule was given, written down.

`remembered` turns an argument into something small that outlives the version it points into; `written` turns that into
code, when somebody reads. The code is meant to stand where `p` is the pipeline that the argument was given with and
`sl` is slinky.

Invariant: code that is written here, run there, makes an equal value: of places, the same place.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable

import attrs
import numpy as np

from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.cursors import (
    BlockCursor,
    DimCursor,
    ExprCursor,
    GapCursor,
    StatementCursor,
)
from slinky.cursors.kinds import KEYWORDS, Key, Names, keys_of
from slinky.cursors.lineages import origin
from slinky.cursors.parameters import ArgCursor
from slinky.cursors.patterns import find
from slinky.cursors.versions import Version
from slinky.errors import InvalidCursorError
from slinky.ir.operations import FloatScalar
from slinky.ir.statements import Call, Program, Statement
from slinky.symbolic.expressions import (
    Expr,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Product,
    Scalar,
    Select,
    Sum,
    Truth,
    Variable,
    constant,
    linear,
)
from slinky.symbolic.intervals import Interval
from slinky.symbolic.text import ATOM, COMPARISON, JUNCTION, SUM, Dialect, Piece, Pieces, sides
from slinky.symbolic.text import written as text_of
from slinky.symbolic.traversal import fold

# ----------------------------------------------------------------------------------------------------------------
# Remembering
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class RememberedPlace:
    """A place of a program, to be found again when somebody asks: a kind of cursor and all but its version."""

    program: Program
    kind: type[Cursor]
    fields: tuple[object, ...]
    is_pattern: bool
    """Whether a pattern will do where the place was given."""

    def cursor(self) -> Cursor:
        """The cursor, in a version of its own."""
        return self.kind(Version(self.program, origin()), *self.fields)  # type: ignore[call-arg]


@attrs.frozen
class Unwritable:
    """An argument that has no code: what it was, in a few words."""

    words: str


def remembered(version: Version, value: object, is_pattern: bool) -> object:
    """An argument as it is remembered. `is_pattern`: a pattern will do where it was given."""
    if isinstance(value, Cursor):
        return _remembered_place(version, value, is_pattern)
    if value is None or isinstance(value, (str, int, float, Node, FloatScalar, Interval)):
        return value
    if isinstance(value, (tuple, list)):
        items = [remembered(version, item, is_pattern) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: remembered(version, v, is_pattern) for key, v in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return _Named.of(value) or Unwritable(f"{type(value).__name__}")


def _remembered_place(version: Version, cursor: Cursor, is_pattern: bool) -> object:
    """A pattern where one name says it all; else the place, so that nothing is searched before somebody reads."""
    if isinstance(cursor, InvalidCursor):
        return cursor
    try:
        cursor = cursor.forward_to(version)
    except InvalidCursorError:
        return Unwritable(repr(cursor))
    if is_pattern:
        pattern = plain_pattern(version, cursor)
        if pattern is not None:
            return pattern
    fields = attrs.fields(type(cursor))[1:]
    return RememberedPlace(version.program, type(cursor), tuple(getattr(cursor, f.name) for f in fields), is_pattern)


def plain_pattern(version: Version, cursor: object) -> str | None:
    """The pattern of a statement or dimension whose name nothing else has; of a block whose ends are such.

    None for all else, and for what is no cursor; a cursor must be of this version.
    """
    if isinstance(cursor, StatementCursor):
        return _plain_name(version, cursor._id)
    if isinstance(cursor, BlockCursor):
        first, last = _plain_name(version, cursor._first), _plain_name(version, cursor._last)
        return None if first is None or last is None else f"{first} .. {last}"
    if isinstance(cursor, DimCursor):
        call = version.statement(cursor._id)
        assert isinstance(call, Call)
        func = call.func
        dims = func.dim_names()
        if len(version.names()["call", func.name]) == 1 and dims.count(dims[cursor._dim]) == 1:
            return f"{func.name}.{dims[cursor._dim]}"
    return None


def _plain_name(version: Version, identity: int) -> str | None:
    """The pattern of a statement whose name nothing else has."""
    keys = keys_of(version.entries[identity].statement)
    if not keys:
        return None
    key, names = keys[0], version.names()
    return _named(names, key) if len(names[key]) == 1 else None


def _base(version: Version, statement: Statement) -> str:
    """The pattern of all statements that are called as one is, or that have no name either and are of its kind."""
    keys = keys_of(statement)
    if keys:
        return _named(version.names(), keys[0])
    word = next((word for word, kind in KEYWORDS.items() if isinstance(statement, kind)), None)
    return "pass" if word is None else f"{word} _"


def _named(names: Names, key: Key) -> str:
    """The pattern of all statements that have a key."""
    kind, name = key
    if kind != "call":
        return f"{kind} {name}"
    for word in KEYWORDS:
        if (word, name) in names:  # the name alone would mean these, too
            return f"{name}(_)"
    return name


# ----------------------------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Named:
    """Something that a module has by name: a function, a class."""

    module: str
    name: str

    @staticmethod
    def of(value: object) -> _Named | None:
        """Where a value is found; None if no module has it."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and is_named(value, module, name):
            return _Named(module, name)
        return None


def is_named(value: object, module: str, name: str) -> bool:
    """Whether a value is what a module has by a name, or what that is wrapped around (as `functools.wraps` does it)."""
    try:
        found: object = operator.attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        return False
    while found is not value and found is not None:
        found = getattr(found, "__wrapped__", None)
    return found is value


@attrs.frozen
class Code:
    """Python that makes a value, and the modules that it needs, beside slinky."""

    text: str
    modules: frozenset[str] = frozenset()


def written(value: object, program: Program) -> Code | None:
    """The code of a remembered argument; None if it has none. `program` is any of those before or after."""
    modules: set[str] = set()

    def write(value: object) -> str:
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, RememberedPlace):
            return _place_code(value)
        if isinstance(value, InvalidCursor):
            return "sl.InvalidCursor()"
        if isinstance(value, Interval):
            return f"sl.interval({write(value.min)}, {write(value.max)})"
        if isinstance(value, FloatScalar):
            return f"sl.scalar({quoted(value.name)}, float)"
        if isinstance(value, Node):
            return expression_code(value, lambda *which: _metadata_code(program, *which), modules)
        if isinstance(value, Interval):
            return f"sl.interval({write(value.min)}, {write(value.max)})"
        if isinstance(value, float) and not np.isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, (bool, int, float)):
            return repr(value)
        if isinstance(value, tuple):
            return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(write, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{write(key)}: {write(v)}' for key, v in value.items())}}}"
        if isinstance(value, _Named):
            if value.module == "builtins":
                return value.name
            modules.add(value.module)
            return f"{value.module}.{value.name}"
        raise _NoCodeError

    try:
        return Code(write(value), frozenset(modules))
    except _NoCodeError:
        return None


class _NoCodeError(Exception):
    """A value has no code."""


def quoted(text: str) -> str:
    """A text as Python, in double quotes where it has none inside."""
    plain = repr(text)
    return plain if '"' in text or plain[0] == '"' else f'"{plain[1:-1]}"'


def _place_code(place: RememberedPlace) -> str:
    """What finds a place: a pattern, or a cursor where a pattern will not do."""
    cursor = place.cursor()
    if isinstance(cursor, ArgCursor):
        return f"p.args()[{[p.name for p in place.program.parameters()].index(cursor.name())}]"
    if isinstance(cursor, GapCursor):
        return f"{_found(cursor.anchor())}.{'before' if cursor.is_before() else 'after'}()"
    if isinstance(cursor, ExprCursor):
        return f"{_found(cursor.parent())}.expression({quoted(cursor.role())})"
    return quoted(pattern_of(cursor)) if place.is_pattern else _found(cursor)


def _found(cursor: Cursor) -> str:
    return f"p.find({quoted(pattern_of(cursor))})"


def pattern_of(cursor: Cursor) -> str:
    """The pattern that means just the place of a cursor to a statement, a block or a dimension, whatever kind is asked
    for."""
    if isinstance(cursor, BlockCursor):
        return f"{pattern_of(cursor[0])} .. {pattern_of(cursor[-1])}"
    assert isinstance(cursor, (StatementCursor, DimCursor))
    version = cursor._version
    if isinstance(cursor, DimCursor):
        base = f"{cursor.call().name()}.{cursor.name()}"
    else:
        base = _base(version, version.statement(cursor._id))
    matches = find(version, version.program.body, base)
    return base if len(matches) == 1 else f"{base} #{matches.index(cursor)}"


def _metadata_code(program: Program, buffer: str, dim: int, field: str) -> str:
    """A dimension of a buffer: of a parameter, asked of the pipeline, as a user would."""
    names = [parameter.name for parameter in program.parameters()]
    if field in ("min", "max") and buffer in names:
        parameter = program.parameters()[names.index(buffer)]
        dims: tuple[str, ...] = getattr(parameter, "dims", ())
        which = quoted(dims[dim]) if dims.count(dims[dim]) == 1 else str(dim)
        return f"p.args()[{names.index(buffer)}].bounds({which}).{field}"
    return f'sl.BufferExpr({quoted(buffer)}, "uint8", {dim + 1}).dim({dim}).{field}'


def expression_code(node: Node, metadata: Callable[[str, int, str], str], modules: set[str]) -> str:
    """An expression or condition as Python that makes it; `metadata` writes the fields of dimensions.

    Adds to the modules that it needs. Python reads brackets only so deep, so of a deeper expression the inner parts
    come first, each with a name.
    """
    dialect = _python(metadata, modules)
    named: dict[Node, str] = {}
    steps: list[str] = []
    for part in _deep_parts(node):
        steps.append(f"inner{len(steps) + 1} := {text_of(part, dialect, named)}")
        named[part] = f"inner{len(steps)}"
    code = text_of(node, dialect, named)
    return f"[{', '.join(steps)}, {code}][-1]" if steps else code


_DEEPEST = 30
"""How deep parts stand in each other in one text. Python reads brackets up to 200 deep; a part brings up to four."""


def _deep_parts(root: Node) -> list[Node]:
    """The parts of an expression that are written before it, for it is too deep: each after its own parts."""
    found: list[Node] = []

    def depth(node: Node, parts: list[int]) -> int:
        deep = 1 + max(parts, default=0)
        if deep < _DEEPEST or node is root:
            return deep
        found.append(node)
        return 0

    fold(root, depth, {})
    return found


def _python(metadata: Callable[[str, int, str], str], modules: set[str]) -> Dialect:
    """Python that makes expressions of slinky, by its public names wherever these make just that."""

    def simple(node: Truth | Variable | Metadata) -> str:
        match node:
            case Truth(value=value):
                return "sl.equal(0, 0)" if value else "sl.equal(0, 1)"
            case Scalar(name=name):
                return f"sl.scalar({quoted(name)})"
            case Variable(name=name):
                return f"sl.variables({quoted(name)})[0]"
            case Metadata(buffer=buffer, dim=dim, field=field):
                return metadata(buffer, dim, field)

    def sum_(node: Sum) -> Pieces | None:
        if _is_plain(node):
            return None
        modules.add(_SUMS)
        pieces: list[Piece] = [f"{_SUMS}.linear_sum({node.constant}, ["]
        for n, (atom, c) in enumerate(node.terms):
            pieces += [", (" if n else "(", (atom, JUNCTION), f", {c})"]
        return ATOM, [*pieces, "])"]

    def comparison(node: NonNegative | IsZero) -> Pieces:
        is_plain = _is_plain(node.expr)
        if isinstance(node, NonNegative):
            left, right = sides(node.expr) if is_plain else (constant(0), node.expr)
            return COMPARISON, [(left, SUM), " <= ", (right, SUM)]
        left, right = sides(node.expr) if is_plain else (node.expr, constant(0))
        return ATOM, ["sl.equal(", (left, JUNCTION), ", ", (right, JUNCTION), ")"]

    return Dialect(
        simple, comparison, sum_, minimum="sl.minimum", maximum="sl.maximum", select="sl.select", times=" * ",
        conjunction=" & ", disjunction=" | ", joined=SUM,
    )  # fmt: skip


_SUMS = "slinky.symbolic.expressions"

_LONGEST_SUM = 500
"""The most terms that are written with signs: for Python each stands inside the next one, and that only so deep."""


def _is_plain(expr: Expr) -> bool:
    """Whether the terms of an expression may be added in any order: what is added to a choice may go inside of it."""
    terms = linear(expr)[1]
    factors = (factor for atom, _ in terms for factor in (atom.factors if isinstance(atom, Product) else (atom,)))
    return len(terms) <= _LONGEST_SUM and not any(isinstance(factor, (Min, Max, Select)) for factor in factors)
