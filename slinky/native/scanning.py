"""The names that a C source gives at file scope: what it cannot share a file with another one that gives them, too.

Idea. Comments, literals and lines of the preprocessor are left out, brackets are counted, and a word outside of all of
them that stands before `(`, `;`, `=`, `[`, `,` or `{` is given there; so is what an `enum` lists.

Invariant: names may be found that are not given. What is not found is an error of the compiler, not a wrong program.
"""

from __future__ import annotations

import re

import attrs

_LEFT_OUT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_]\w*|[^\s\w]")
_NO_NAMES = {
    *("__attribute__", "__asm__", "__declspec", "_Alignas", "_Static_assert", "_Pragma", "sizeof"),
    *(
        "struct",
        "union",
        "enum",
        "void",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "_Bool",
    ),
}


@attrs.frozen
class FileScope:
    """The names of functions, variables and types, and those of macros."""

    names: frozenset[str]
    macros: frozenset[str]


def file_scope(source: str) -> FileScope:
    """The names that a source gives."""
    plain = _LEFT_OUT.sub(" ", source)
    macros = frozenset(_MACRO.findall(plain))
    tokens = _TOKEN.findall(_DIRECTIVE.sub("", plain))
    found: set[str] = set()
    braces: list[bool] = []  # of those around, whether names inside are of the file
    brackets = 0
    follows_enum = False
    before = "", ""
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == "{":
            braces.append(follows_enum)
            follows_enum = False
        elif token == "}":
            del braces[-1:]
        elif token in "([":
            brackets += 1
        elif token in ")]":
            brackets -= 1
        elif token == "enum":
            follows_enum = True
        elif token == ";":
            follows_enum = False
        elif re.match(r"\w", token) and all(braces) and token not in _NO_NAMES:
            is_pointer = brackets == 1 and before == ("(", "*") and after == ")"  # int (*name)(int)
            is_listed = bool(braces) and after in ("}", ",", "=")
            if (not brackets and after in ("(", ";", "=", "[", ",", "{", ":")) or is_pointer or is_listed:
                found.add(token)
        before = before[1], token
    return FileScope(frozenset(found), macros)


def without_macros(source: str) -> str:
    """The lines that end the macros of a source, behind which these are what they were not."""
    return "".join(f"#undef {name}\n" for name in sorted(file_scope(source).macros))
