"""Names of plans as names of C.

Invariant: a name of a plan is always the same in C, and no two are; none is a word of C, a name that texts have for
themselves, or a function of the C library that they call.
"""

from __future__ import annotations

import re

_WORDS = """\
auto break case char const continue default do double else enum extern float for goto if inline int long main register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
array ended given object of
"""
"""What no variable may be called: words of C, and the names that the texts have for themselves."""
_MATHEMATICS = """\
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin
fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
"""Functions of `math.h`, each of which has one of floats beside it."""
_FUNCTIONS = """\
feclearexcept fegetenv fegetexceptflag fegetround feholdexcept feraiseexcept fesetenv fesetexceptflag fesetround
fetestexcept feupdateenv fpclassify isfinite isinf isnan isnormal signbit
abort calloc exit free malloc realloc memchr memcmp memcpy memmove memset
"""
"""And of the other headers that texts include: a variable called so would hide what they call."""


class CNames:
    """The names of a plan as names of C: the same, where these are none that C or its headers have."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._taken: set[str] = {*_WORDS.split(), *_FUNCTIONS.split()}
        self._taken.update(each + of for each in _MATHEMATICS.split() for of in ("", "f"))

    def of(self, name: str) -> str:
        """The name in C; always the same."""
        found = self._known.get(name)
        if found is None:
            is_plain = re.fullmatch(r"[a-z][a-z0-9_]*", name, re.ASCII) and not name.startswith("slinky")
            is_plain = is_plain and not name.endswith("_t")
            found = self._known[name] = self.fresh(name if is_plain else f"v_{name}")
        return found

    def fresh(self, wanted: str) -> str:
        """A name that nothing else has."""
        base = in_ascii(wanted)
        name, n = base, 0
        while name in self._taken:
            n += 1
            name = f"{base}_{n}"
        self._taken.add(name)
        return name


def in_ascii(name: str) -> str:
    """A name of letters, digits and underscores."""
    return re.sub(r"[^0-9A-Za-z_]", "_", name)
