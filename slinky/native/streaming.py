"""Results that go to memory past the caches: loops in C over lines that nobody reads soon.

Idea. To store into a line of 64 bytes that is in no cache, a processor reads it before: a third of what a copy moves.
So of an array that is larger than the caches, and that nothing in a program reads, whole lines are written by
instructions which do not. What is computed for a line has a loop of constant length, of which compilers keep all in
vectors; the elements before the first whole line and behind the last one are stored as ever.

Which arrays these are is found out at each call, when a nest is entered: their structs say that they `stream`, and so
do those of parts of them.

Invariant: each element is computed once, by the same lines of text; and what was written is there for whoever knows
that the function has ended (`slinky_streamed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slinky.ir.combined import formula_of
from slinky.ir.statements import Call, Program, walk
from slinky.native.ahead import ahead_text

LINE = 64
"""The bytes of a line."""

LEAST_BYTES = 1 << 24
"""Arrays of fewer bytes may still be in a cache when somebody reads them. With three rows added to one, of 4 MB arrays
either way took the same, and of 9 to 150 MB streaming took a fifth to a third less."""

MOST_STEPS = 32
"""Of more steps for each element, arithmetic takes longer than memory: nothing was gained with some eighty."""

_TEXT = """\
/* Lines of memory of @LINE bytes that are written without being read before, and the end of that. */
#if defined(__clang__)
#define SLINKY_STREAMS 1
#define slinky_stream(to, from) __builtin_nontemporal_store(*(const slinky_full_line *)(from), (slinky_full_line *)(to))
#define slinky_streamed() __sync_synchronize()
typedef long long slinky_full_line __attribute__((vector_size(@LINE), may_alias));
#elif defined(__GNUC__) && defined(__AVX512F__)
#define SLINKY_STREAMS 1
#define slinky_stream(to, from) __builtin_ia32_movntdq512((slinky_full_line *)(to), *(const slinky_full_line *)(from))
#define slinky_streamed() __builtin_ia32_sfence()
typedef long long slinky_full_line __attribute__((vector_size(@LINE), may_alias));
#elif defined(__GNUC__) && defined(__AVX__)
#define SLINKY_STREAMS 1
#define slinky_half(to, from, k) \\
    __builtin_ia32_movntdq256((slinky_full_line *)(to) + k, ((const slinky_full_line *)(from))[k])
#define slinky_stream(to, from) (slinky_half(to, from, 0), slinky_half(to, from, 1))
#define slinky_streamed() __builtin_ia32_sfence()
typedef long long slinky_full_line __attribute__((vector_size(@HALF), may_alias));
#else
#define SLINKY_STREAMS 0
#define slinky_stream(to, from) (void)(to), (void)(from)
#define slinky_streamed() (void)0
typedef long long slinky_full_line;
#endif

/* Whether an array, of elements of so many bytes, is written so. */
static inline int slinky_is_streamed(const object *a, int64_t bytes)
{
    for (int d = 0; d < a->rank; d++) bytes *= a->extents[d];
    return SLINKY_STREAMS && bytes >= @LEAST;
}

/* How many of so many elements stand before the first line. */
static inline intptr_t slinky_before_lines(const void *first, intptr_t size, intptr_t count)
{
    const intptr_t before = (intptr_t)(-(uintptr_t)first % @LINE) / size;
    return before < count ? before : count;
}
"""


def streaming() -> str:
    """The text that loops by lines, and entries of nests, need."""
    return _TEXT.replace("@HALF", str(LINE // 2)).replace("@LINE", str(LINE)).replace("@LEAST", str(LEAST_BYTES))


def unread_outputs(program: Program) -> frozenset[str]:
    """The outputs that formulas write, and nothing in a program reads."""
    found = {output.name for output in program.outputs}
    for statement in walk(program.body):
        if isinstance(statement, Call):
            found.difference_update(statement.reads)
            if formula_of(statement.func) is None:
                found.difference_update(statement.writes)
    return frozenset(found)


def by_lines(
    of: str, size: int, values: Mapping[str, str], steps: Sequence[str], stores: Sequence[str], ahead: Sequence[str]
) -> Iterator[str]:
    """A loop over `i`, from 0 to `n`, of lines that compute values, of a type and so many bytes, and store these in
    `v_o`, `v_o1` and so on, as they are named; or in whole lines of memory past the caches, where the array `o` streams
    and lines of all outputs begin at the same elements; what is `ahead` in inputs is asked for there."""
    count = LINE // size
    first, *others = values
    asked = [f"{first}->streams", *(f"((uintptr_t)v_{first} - (uintptr_t)v_{name}) % {LINE} == 0" for name in others)]
    yield "intptr_t begin = 0, end = n;"
    yield f"if ({' && '.join(asked)}) end = slinky_before_lines(v_{first}, {size}, n);"
    yield "for (;;) {"
    yield "    #pragma GCC ivdep"
    yield "    for (intptr_t i = begin; i < end; i++) {"
    yield from (f"        {line}" for line in [*steps, *stores])
    yield "    }"
    yield "    if (end == n) break;"
    yield f"    for (begin = end; begin + {count} <= n; begin += {count}) {{"
    for name in values:
        yield f"        _Alignas({LINE}) {of} line_{name}[{count}];"
    for name in ahead:
        yield f"        {ahead_text(name, 'begin')}"
    yield f"        slinky_vectors({count})"
    yield f"        for (intptr_t j = 0; j < {count}; j++) {{"
    yield "            const intptr_t i = begin + j;"
    yield from (f"            {line}" for line in steps)
    for name, value in values.items():
        yield f"            line_{name}[j] = {value};"
    yield "        }"
    for name in values:
        yield f"        slinky_stream(v_{name} + begin, line_{name});"
    yield "    }"
    yield "    end = n;"
    yield "}"
