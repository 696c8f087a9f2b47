"""Programs as JSON, and back. `docs/json.md` describes the format.

Idea. A document has tables of expressions and of funcs, each written once, and a program that names them by their
positions. Callbacks stand in it by name: whoever reads it gives a dictionary. What is read is a program that `verify`
accepts, whoever wrote the text, or a `FormatError` says what is wrong, and where.

Invariant: writing, reading and writing again gives the same text. Identities are not written: what is read is a
program of its own, without a history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from slinky.errors import FormatError, MissingCallbackError
from slinky.ir.statements import Program
from slinky.ir.stored.expressions import read_table
from slinky.ir.stored.reading import Reading
from slinky.ir.stored.records import read_funcs, read_program, write_program
from slinky.ir.stored.requirements import require_program, require_that_it_runs
from slinky.ir.stored.writing import Numbering, Writing, checked_names

FORMAT = "slinky pipeline"
VERSION = 1


def program_to_json(program: Program, callbacks: object) -> str:
    """The text of a program. `callbacks` names some of its callbacks; the others go by their own names."""
    return _written(Writing(checked_names(callbacks, "to_json()")), program)


def program_to_numbered_json(
    program: Program, known: Mapping[str, Callable[..., Any]] | None = None
) -> tuple[str, dict[str, Callable[..., Any]]]:
    """The text of a program whose callbacks are numbered, and these by their names; `known` have names already.

    Raises `FormatError` for arguments of callbacks that cannot be written.
    """
    writing = Numbering(known)
    return _written(writing, program), writing.numbered


def _written(writing: Writing, program: Program) -> str:
    written = write_program(writing, program)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "callbacks": sorted(writing.callbacks),
        "expressions": writing.expressions,
        "funcs": writing.funcs,
        "program": written,
    }
    try:
        return _text(document)
    except RecursionError:
        raise FormatError("the program nests too deep to be written") from None


def _text(document: dict[str, Any]) -> str:
    """JSON with a line for each key of the document, for each entry of its tables, and for each outermost statement."""

    def lines(values: list[Any]) -> str:
        return "[\n  " + ",\n  ".join(map(_line, values)) + "\n ]" if values else "[]"

    program = document["program"]
    parts = {key: lines(value) if isinstance(value, list) else _line(value) for key, value in document.items()}
    parts["program"] = _line({**program, "body": None}).replace('"body": null', f'"body": {lines(program["body"])}')
    return "{\n" + ",\n".join(f' "{key}": {part}' for key, part in parts.items()) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def program_from_json(text: object, callbacks: object) -> Program:
    """The program of a text, which `verify` accepts.

    Raises `FormatError` for what is no such text, and `MissingCallbackError` if callbacks are missing.
    """
    given = checked_names(callbacks, "from_json()")
    document = _document(text)
    reading = Reading(_named(document, given))
    reading.at("expressions", lambda entries: read_table(reading, entries), document["expressions"])
    reading.at("funcs", lambda funcs: read_funcs(reading, funcs), document["funcs"])
    program = reading.at("program", lambda value: read_program(reading, value), document["program"])
    reading.at("program", lambda given: require_program(reading, given), program)
    reading.at("program", lambda given: require_that_it_runs(reading, given), program)
    return program


def _document(text: object) -> dict[str, Any]:
    """The tables and the program of a text, not looked at yet."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise FormatError(f"from_json() expects the text that to_json() wrote, got {type(text).__name__}")
    try:
        document = json.loads(text, parse_constant=_no_number, object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"this is no JSON: {error.msg}, at {where}", where=where) from None
    except RecursionError:
        raise FormatError("the text nests too deep") from None
    except ValueError as error:  # bytes of no text, or a number of too many digits
        raise FormatError(f"this is no JSON: {error}") from None
    reading = Reading({})
    if type(document) is not dict or document.get("format") != FORMAT:
        reading.fail(f"it is no pipeline of slinky: it does not say 'format': {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        reading.fail(f"it has version {version!r} of the format; this slinky reads version {VERSION}")
    return reading.object(document, ("format", "version", "callbacks", "expressions", "funcs", "program"))


def _no_number(text: str) -> NoReturn:
    raise FormatError(f"this is no JSON: {text} is no number")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise FormatError(f"an object has the key {double[:60]!r} twice")
    return found


def _named(document: Mapping[str, Any], given: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The callbacks that a text needs."""
    reading = Reading({})
    names = reading.at("callbacks", lambda names: reading.each(names, reading.text), document["callbacks"])
    missing = [name for name in dict.fromkeys(names) if name not in given]
    if missing:
        raise MissingCallbackError(missing)
    return {name: given[name] for name in names}
