"""The names that a C source gives at file scope: what it cannot share a file with another one that gives them, too.

Idea. Comments, literals and lines of the preprocessor are left out, brackets are counted, and a word outside of all of
them that stands before `(`, `;`, `=`, `[`, `,` or `{` is given there; so is what an `enum` lists. What a source says to
the preprocessor and the compiler holds to its end: what stands behind it is compiled as if it were not there.

Invariant: names may be found that are not given. What is not found is an error of the compiler, not a wrong program.
"""

from __future__ import annotations

import re
from itertools import pairwise

import attrs

_LEFT_OUT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_CHANGED_MACRO = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.MULTILINE)
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma\b|\b_Pragma\b", re.MULTILINE)
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
    for token, after in pairwise([*tokens, ""]):
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


def bounds_of(source: str) -> tuple[str, str]:
    """The lines before and behind a source between which its macros and pragmas hold.

    They are those that there were before: `NAN`, which a source may have for itself, is that of `math.h` again, and
    who asks for other optimizations asks for those of his own functions.
    """
    plain = _LEFT_OUT.sub(" ", source)
    macros = sorted(set(_CHANGED_MACRO.findall(plain)))
    before = "".join(f'#pragma push_macro("{name}")\n' for name in macros)
    behind = "".join(f'#undef {name}\n#pragma pop_macro("{name}")\n' for name in macros)
    if _PRAGMA.search(plain):
        before, behind = before + _PRAGMAS_BEGIN, _PRAGMAS_END + behind
    return before, behind


_PRAGMAS_BEGIN = """\
#if defined __clang__
#pragma float_control(push)
#elif defined __GNUC__
#pragma GCC push_options
#endif
#if defined __GNUC__
#pragma GCC visibility push(default)
#endif
"""
_PRAGMAS_END = """\
#if defined __GNUC__
#pragma GCC visibility pop
#endif
#if defined __clang__
#pragma float_control(pop)
#elif defined __GNUC__
#pragma GCC pop_options
#endif
"""
