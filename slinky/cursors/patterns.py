"""Patterns: short texts that name places of a program.

    "for y"         loops over y                    "for _"        all loops
    "alloc intm"    allocations of intm             "alloc _"      all allocations
    "stencil"       calls of the func stencil       "intm = _"     calls that produce intm
    "_(intm)"       calls that consume intm         "_ = _"        all calls
    "stencil.y"     the dimension y of such calls   "check _"      checks
    "if _"          ifs                             "pass"         passes

With ` #k` at the end, the k-th match in program order, from 0. A bare name means a func, or else a buffer (its
allocation) or a loop variable; where it means several of these, the pattern is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import BlockCursor, DimCursor, StatementCursor, place_of, statement_cursor
from slinky.cursors.names import Key
from slinky.cursors.versions import Version, walk_statements
from slinky.errors import PatternError
from slinky.ir.statements import Alloc, Call, Check, For, If, Pass, Statement

_NAME = r"[^\W\d]\w*"
_SYNTAX = re.compile(
    rf"""\s*(?:
        (?P<keyword>for|alloc|check|if)\s+(?P<what>{_NAME})
      | (?P<pass>pass)
      | (?P<produced>{_NAME})\s*=\s*_
      | _\s*\(\s*(?P<consumed>{_NAME})\s*\)
      | (?P<func>{_NAME})\s*\.\s*(?P<dim>{_NAME})
      | (?P<bare>{_NAME})
    )\s*(?:\#\s*(?P<index>[0-9]+))?\s*""",
    re.VERBOSE,
)

_KEYWORDS: dict[str, type] = {"for": For, "alloc": Alloc, "check": Check, "if": If}


def find_in(place: Cursor, pattern: str) -> tuple[Cursor, ...]:
    """All matches of a pattern at or inside a place, in program order.

    Raises `PatternError` for a pattern that is not understood, or a bare name that means several things.
    """
    where = place_of(place)
    if where is None:
        return ()
    version = where[0]
    if isinstance(place, BlockCursor):
        return find(version, [version.statement(i) for i in place._ids()], pattern)
    if isinstance(place, (StatementCursor, DimCursor)):
        return find(version, [version.statement(where[1])], pattern)
    return ()


def find(
    version: Version, statements: Iterable[Statement], pattern: str, kinds: tuple[type[Cursor], ...] = (Cursor,)
) -> tuple[Cursor, ...]:
    """All matches of a pattern among statements and what is inside them, in program order.

    With `kinds`, only cursors of these kinds, which also decides what a bare name means.
    """
    if not isinstance(pattern, str):
        raise PatternError(f"a pattern is a text such as 'for y', got {pattern!r}")
    match = _SYNTAX.fullmatch(pattern)
    if match is None:
        raise PatternError(
            f"cannot understand the pattern {pattern!r}; write for instance 'for y', 'alloc b', 'f' (a call of f), "
            f"'f.y' (a dimension), 'b = _' (what produces b), '_(b)' (what consumes b), with ' #1' for the second match"
        )
    given = match.groupdict()
    inside = _candidates(version, statements, given)
    found = tuple(c for c in _matches(version, inside, given, pattern, kinds) if isinstance(c, kinds))
    if given["index"] is None:
        return found
    index = int(given["index"])
    return found[index : index + 1]


def _candidates(version: Version, statements: Iterable[Statement], given: dict[str, str | None]) -> list[Statement]:
    """The statements that a pattern could match: in the whole program, of a name the index knows, just those."""
    keys: tuple[Key, ...] = ()
    if statements is version.program.body:
        if given["keyword"] in ("for", "alloc"):
            keys = ((given["keyword"], given["what"] or "_"),)
        elif given["bare"]:
            keys = tuple((kind, given["bare"]) for kind in ("call", "alloc", "for"))
        else:
            uses = (("write", given["produced"]), ("read", given["consumed"]), ("call", given["func"]))
            keys = tuple((use, name) for use, name in uses if name)
    if not keys or keys[0][1] == "_":
        return list(walk_statements(tuple(statements)))
    return [version.statement(identity) for identity in version.named(*keys)]


def _matches(
    version: Version,
    inside: list[Statement],
    given: dict[str, str | None],
    pattern: str,
    kinds: tuple[type[Cursor], ...],
) -> tuple[Cursor, ...]:
    def those(accept: Callable[[Statement], bool]) -> tuple[Cursor, ...]:
        return tuple(statement_cursor(version, s.id) for s in inside if accept(s))

    if given["keyword"]:
        kind, what = _KEYWORDS[given["keyword"]], given["what"]
        return those(lambda s: isinstance(s, kind) and (what == "_" or _name(s) == what))
    if given["pass"]:
        return those(lambda s: isinstance(s, Pass))
    if given["produced"]:
        buffer = given["produced"]
        return those(
            lambda s: isinstance(s, Call) and (buffer == "_" or any(o.buffer == buffer for o in s.func.outputs))
        )
    if given["consumed"]:
        buffer = given["consumed"]
        return those(
            lambda s: isinstance(s, Call) and (buffer == "_" or any(a.buffer == buffer for a in s.func.inputs))
        )
    if given["func"]:
        func, dim = given["func"], given["dim"]
        return tuple(
            DimCursor(version, s.id, d)
            for s in inside
            if isinstance(s, Call) and func in ("_", s.func.name)
            for d, name in enumerate(s.func.dim_names())
            if dim in ("_", name)
        )
    name = given["bare"]
    if name == "_":
        raise PatternError("the pattern '_' alone names no kind of statement; write 'for _', 'alloc _' or '_ = _'")
    groups = {kind: those(lambda s, k=kind: isinstance(s, k) and _name(s) == name) for kind in (Call, Alloc, For)}  # type: ignore[misc]
    meanings = {kind: cursors for kind, cursors in groups.items() if cursors and isinstance(cursors[0], kinds)}
    if len(meanings) > 1:
        texts = {Call: f"calls of func {name}", Alloc: f"'alloc {name}'", For: f"'for {name}'"}
        listed = "; ".join(f"{texts[kind]} ({len(cursors)})" for kind, cursors in meanings.items())
        raise PatternError(f"the name {pattern!r} could mean several things: {listed}; say which")
    return next(iter(meanings.values()), ())


def _name(statement: Statement) -> str | None:
    match statement:
        case Call(func=func):
            return func.name
        case Alloc(buffer=buffer):
            return buffer
        case For(variable=variable):
            return variable.name
    return None


def the_match(version: Version, pattern: str) -> Cursor:
    """The first match of a pattern in a version.

    Raises `PatternError` that lists what there is, if nothing matches.
    """
    found = find(version, version.program.body, pattern)
    if found:
        return found[0]
    there_is = _dimensions(version, pattern) or _inventory(version)
    raise PatternError(f"nothing matches {pattern!r} in pipeline {version.program.name}; {there_is}")


def _dimensions(version: Version, pattern: str) -> str | None:
    """What dimensions the func of a pattern such as `"stencil.y"` has, if there is such a func."""
    given = _SYNTAX.fullmatch(pattern)
    calls = version.named(("call", given["func"])) if given is not None and given["func"] else []
    for statement in map(version.statement, calls):
        if isinstance(statement, Call) and statement.func.dim_names():
            return f"{statement.func.name} has the dimensions {', '.join(statement.func.dim_names())}"
    return None


def _inventory(version: Version) -> str:
    """What a program has that patterns can name."""
    names: dict[type, dict[str, None]] = {Call: {}, Alloc: {}, For: {}}
    for statement in walk_statements(version.program.body):
        name = _name(statement)
        if name is not None:
            names[type(statement)][name] = None
    parts = [
        f"{what}: {', '.join(list(names[kind])[:12]) + (', ...' if len(names[kind]) > 12 else '')}"
        for kind, what in ((Call, "funcs"), (Alloc, "buffers"), (For, "loops"))
        if names[kind]
    ]
    return "it has " + "; ".join(parts)
