"""Patterns: short texts that name places of a program.

    "for y"         loops over y                    "for _"        all loops
    "alloc intm"    allocations of intm             "alloc _"      all allocations
    "stencil"       calls of the func stencil       "intm = _"     calls that produce intm
    "_(intm)"       calls that consume intm         "_ = _"        all calls
    "stencil(_)"    the same, where the name alone  "stencil.y"    the dimension y of such calls
                    could mean something else       "stencil[fast]" calls of this variant alone
    "check _"       checks                          "if _"         ifs
    "pass"          passes                          "a .. b"       from a statement to a later one of its block

With ` #k` at the end, the k-th match in program order, from 0. A bare name means a func, or else a buffer (its
allocation) or a loop variable; where it means several of these, the pattern is refused, unless the kind of cursor that
is asked for decides. In `a .. b`, both are patterns of statements; the block ends at the first match of b that does not
stand before that of a.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from slinky.cursors.base import Cursor
from slinky.cursors.cursors import BlockCursor, DimCursor, GapCursor, StatementCursor, statement_cursor
from slinky.cursors.kinds import KEYWORDS, Key, name_of
from slinky.cursors.versions import Version
from slinky.errors import PatternError, cited
from slinky.ir.effects import read_by, written_by
from slinky.ir.identifiers import as_python_reads
from slinky.ir.statements import Alloc, Call, For, Pass, Statement, walk

_NAME = r"[^\W\d]\w*"
_SYNTAX = re.compile(
    rf"""\s*(?:
        (?P<keyword>{"|".join(KEYWORDS)})\s+(?P<what>{_NAME})
      | (?P<pass>pass)
      | (?P<produced>{_NAME})\s*=\s*_
      | _\s*\(\s*(?P<consumed>{_NAME})\s*\)
      | (?P<called>{_NAME})(?:\[\s*(?P<called_variant>{_NAME})\s*\])?\s*\(\s*_\s*\)
      | (?P<func>{_NAME})(?:\[\s*(?P<func_variant>{_NAME})\s*\])?\s*\.\s*(?P<dim>{_NAME})
      | (?P<bare>{_NAME})(?:\[\s*(?P<bare_variant>{_NAME})\s*\])?
    )\s*(?:\#\s*(?P<index>[0-9]+))?\s*""",
    re.VERBOSE,
)


def find_in(place: Cursor, pattern: str) -> tuple[Cursor, ...]:
    """All matches of a pattern at or inside a place, in program order.

    Raises `PatternError` for a pattern that is not understood, or a bare name that means several things.
    """
    match place:
        case BlockCursor():
            return find(place._version, [place._version.statement(i) for i in place._ids()], pattern)
        case StatementCursor() | DimCursor():
            return find(place._version, [place._version.statement(place._id)], pattern)
    _require_understood(pattern)
    return ()


def find_first_in(place: Cursor, pattern: str) -> Cursor:
    """The first match of a pattern at or inside a place.

    Raises `PatternError` that lists what there is, if nothing matches.
    """
    match place:
        case BlockCursor():
            inside = [place._version.statement(i) for i in place._ids()]
            return the_match(place._version, inside, pattern, repr(place))
        case StatementCursor() | DimCursor():
            return the_match(place._version, [place._version.statement(place._id)], pattern, repr(place))
    _require_understood(pattern)
    where = "look in its parent() or anchor()" if isinstance(place, GapCursor) else "look in the pipeline"
    raise PatternError(f"nothing matches {pattern!r} in {place!r}, which holds no statements; {where}")


def find(
    version: Version, statements: Sequence[Statement], pattern: str, kinds: tuple[type[Cursor], ...] = (Cursor,)
) -> tuple[Cursor, ...]:
    """All matches of a pattern among statements and what is inside them, in program order.

    With `kinds`, only cursors of these kinds, which also decides what a bare name means.
    """
    ends = _ends(pattern)
    if ends is not None:
        blocks = _blocks(version, statements, *ends)
        return tuple(block for block in blocks if isinstance(block, kinds))
    given = _understood(pattern)
    inside = _candidates(version, statements, given)
    found = tuple(c for c in _matches(version, inside, given, pattern, kinds) if isinstance(c, kinds))
    if given["index"] is None:
        return found
    index = int(given["index"])
    return found[index : index + 1]


def _understood(pattern: str) -> dict[str, str | None]:
    """The parts of a pattern of one place."""
    if not isinstance(pattern, str):
        raise PatternError(f"a pattern is a text such as 'for y', got {cited(pattern)}")
    match = _SYNTAX.fullmatch(as_python_reads(pattern))
    if match is None:
        raise PatternError(
            f"cannot understand the pattern {pattern!r}; write for instance 'for y', 'alloc b', 'f' (a call of f), "
            f"'f.y' (a dimension), 'b = _' (what produces b), '_(b)' (what consumes b), 'f .. g' (a block), with ' #1' "
            f"for the second match"
        )
    return match.groupdict()


def _require_understood(pattern: str) -> None:
    """Raise `PatternError` for what is no pattern, of one place or of a block."""
    if _ends(pattern) is None:
        _understood(pattern)


def _ends(pattern: object) -> tuple[str, str] | None:
    """The patterns of the first and the last statement, of a pattern of a block."""
    if not isinstance(pattern, str) or ".." not in pattern:
        return None
    first, _, last = pattern.partition("..")
    for end in (first, last):
        if _understood(end)["func"]:
            raise PatternError(f"a block is from one statement to another, and {end.strip()!r} is a dimension")
    return first.strip(), last.strip()


def _blocks(version: Version, statements: Sequence[Statement], first: str, last: str) -> Iterator[BlockCursor]:
    """The blocks from a match of one pattern to the first match of another that stands there or behind it."""
    ends: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for end in find(version, statements, last):
        assert isinstance(end, StatementCursor)
        ends.setdefault(_block_of(end), []).append((version.position(end._id), end._id))
    for start in find(version, statements, first):
        assert isinstance(start, StatementCursor)
        behind = ends.get(_block_of(start), [])
        at = bisect_left(behind, (version.position(start._id), 0))
        if at < len(behind):
            yield BlockCursor(version, start._id, behind[at][1])


def _block_of(cursor: StatementCursor) -> tuple[int, str]:
    """The block that a statement stands in: of which statement, and which of its blocks."""
    entry = cursor._version.entries[cursor._id]
    return entry.parent, entry.field


def stands_not_before(later: StatementCursor, earlier: StatementCursor) -> bool:
    """Whether a statement stands in the block of another of the same version, behind it or at its place."""
    position = later._version.position
    return _block_of(later) == _block_of(earlier) and position(later._id) >= position(earlier._id)


def _candidates(version: Version, statements: Sequence[Statement], given: dict[str, str | None]) -> list[Statement]:
    """The statements that a pattern could match: in the whole program, of a name the index knows, just those."""
    keys: tuple[Key, ...] = ()
    if statements is version.program.body:
        if given["keyword"] in ("for", "alloc"):
            keys = ((given["keyword"], given["what"] or "_"),)
        elif given["bare"]:
            keys = tuple((kind, given["bare"]) for kind in ("call", "alloc", "for"))
        else:
            func = given["func"] or given["called"]
            uses = (("write", given["produced"]), ("read", given["consumed"]), ("call", func))
            keys = tuple((use, name) for use, name in uses if name)
    if not keys or keys[0][1] == "_":
        return list(walk(tuple(statements)))
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
        kind, what = KEYWORDS[given["keyword"]], given["what"]
        return those(lambda s: isinstance(s, kind) and (what == "_" or name_of(s) == what))
    if given["pass"]:
        return those(lambda s: isinstance(s, Pass))
    if given["produced"]:
        buffer = given["produced"]
        return those(lambda s: buffer in written_by(s) or (buffer == "_" and bool(written_by(s))))
    if given["consumed"]:
        buffer = given["consumed"]
        return those(lambda s: buffer in read_by(s) or (buffer == "_" and isinstance(s, Call)))
    if given["called"]:
        called, variant = given["called"], given["called_variant"]
        return those(lambda s: isinstance(s, Call) and _is_call_of(s, called, variant))
    if given["func"]:
        func, dim, variant = given["func"], given["dim"], given["func_variant"]
        return tuple(
            DimCursor(version, s.id, d)
            for s in inside
            if isinstance(s, Call) and (func == "_" or _is_call_of(s, func, variant))
            for d, name in enumerate(s.func.dim_names())
            if dim in ("_", name)
        )
    name = given["bare"]
    if given["bare_variant"]:
        return those(lambda s: isinstance(s, Call) and _is_call_of(s, name, given["bare_variant"]))
    if name == "_":
        raise PatternError("the pattern '_' alone names no kind of statement; write 'for _', 'alloc _' or '_ = _'")
    groups = {kind: those(lambda s, k=kind: isinstance(s, k) and name_of(s) == name) for kind in (Call, Alloc, For)}  # type: ignore[misc]
    meanings = {kind: cursors for kind, cursors in groups.items() if cursors and isinstance(cursors[0], kinds)}
    if len(meanings) > 1:
        texts = {Call: f"'{name}(_)'", Alloc: f"'alloc {name}'", For: f"'for {name}'"}
        listed = "; ".join(f"{texts[kind]} ({len(cursors)})" for kind, cursors in meanings.items())
        raise PatternError(f"the name {pattern!r} could mean several things: {listed}; say which")
    return next(iter(meanings.values()), ())


def _is_call_of(call: Call, func: str | None, variant: str | None) -> bool:
    """Whether a call runs the func of a name, and the variant of a name if one is given."""
    return call.func.name == func and (variant is None or call.func.chosen == variant)


def the_match(version: Version, statements: Sequence[Statement], pattern: str, where: str) -> Cursor:
    """The first match of a pattern among statements and what is inside them; `where` says whose they are.

    Raises `PatternError` that lists what there is, if nothing matches.
    """
    found = find(version, statements, pattern)
    if found:
        return found[0]
    ends = _ends(pattern)
    if ends is None:
        there_is = _dimensions(statements, pattern) or _inventory(statements)
    else:
        first, last = (the_match(version, statements, end, where) for end in ends)
        there_is = (
            f"no {ends[1]!r} stands behind a {ends[0]!r} in the same block; the first ones are {first!r} and {last!r}"
        )
    raise PatternError(f"nothing matches {pattern!r} in {where}; {there_is}")


def _dimensions(statements: Sequence[Statement], pattern: str) -> str | None:
    """What dimensions the func of a pattern such as `"stencil.y"` has, if there is such a func."""
    func = _understood(pattern)["func"]
    for statement in walk(tuple(statements)) if func else ():
        if isinstance(statement, Call) and statement.func.name == func and statement.func.dim_names():
            return f"{statement.func.name} has the dimensions {', '.join(statement.func.dim_names())}"
    return None


def _inventory(statements: Sequence[Statement]) -> str:
    """What statements have, themselves and inside, that patterns can name."""
    names: dict[type, dict[str, None]] = {Call: {}, Alloc: {}, For: {}}
    for statement in walk(tuple(statements)):
        name = name_of(statement)
        if name is not None:
            names.setdefault(type(statement), {})[name] = None
    parts = [
        f"{what}: {', '.join(list(names[kind])[:12]) + (', ...' if len(names[kind]) > 12 else '')}"
        for kind, what in ((Call, "funcs"), (Alloc, "buffers"), (For, "loops"))
        if names[kind]
    ]
    return "it has " + ("; ".join(parts) or "nothing that has a name")
