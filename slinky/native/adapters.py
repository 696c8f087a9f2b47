"""The text of a C function that calls another one as that wants to be called, given arrays as the texts have them.

Idea. Between a nest, which has arrays as small structs, and a function that somebody else wrote stands a function that
takes the one apart for the other. It is inlined; so where the other's source stands in the same file, a compiler sees
constant strides, and may do away with the call. Where an array has gaps that the function cannot know of, it is given a
copy.

Invariant: the function is called once, with what its parameters say; what it returns is 0 where it did what it should,
else the code that it returned beside `FAILED`, or one of the other two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from slinky.native.operators import C_TYPES
from slinky.native.parameters import Operand, Parameter, is_unsigned

if TYPE_CHECKING:
    from slinky.native.c_functions import CFunction

FAILED, NO_MEMORY, TOO_LARGE = 1 << 40, 1 << 41, 1 << 42
"""What an adapter returns: the first, plus a code that says that a function failed."""

BUFFER = """\
/* An array of the caller: where its first element is; by dimension, the coordinate of that element, how many there are,
   and how many bytes they lie apart. */
typedef struct {{ void *data; int64_t min[{rank}], extent[{rank}], stride[{rank}]; }} slinky_buffer;
"""

PACKING = """\
#include <stdlib.h>
#include <string.h>

/* Copy the elements of an array of so many dimensions from or to memory in which they follow each other. */
static inline void slinky_move(const array *a, int rank, int64_t size, char *memory, int to_memory)
{
    int64_t count = 1, index[{rank}] = {0};
    for (int d = 0; d < rank; d++) count *= a->extents[d];
    for (int64_t n = 0; n < count; n++, memory += size) {
        char *element = a->data;
        for (int d = 0; d < rank; d++) element += index[d] * a->strides[d];
        memcpy(to_memory ? memory : element, to_memory ? element : memory, (size_t)size);
        for (int d = rank - 1; d >= 0 && ++index[d] == a->extents[d]; d--) index[d] = 0;
    }
}

/* Have an array without gaps, of memory that is returned, for one with gaps; no memory: none. */
static inline char *slinky_pack(array *a, int rank, int64_t size, int is_read)
{
    int64_t count = size;
    for (int d = 0; d < rank; d++) count *= a->extents[d];
    char *made = malloc((size_t)(count ? count : 1));
    if (!made) return 0;
    if (is_read) slinky_move(a, rank, size, made, 1);
    a->data = made;
    for (int d = rank - 1; d >= 0; d--) {
        a->strides[d] = size;
        size *= a->extents[d];
    }
    return made;
}
"""
"""What adapters call, for arrays of at most so many dimensions."""


def adapter_text(function: CFunction, name: str, *, minima: bool, by_address: bool) -> str:
    """The adapter: called with the arrays; the address of the function, unless its source stands in the file; the
    coordinates of the first elements, where it asks for these; and its numbers.
    """
    arrays = [f"a{k}" for k in range(len(function.operands))]
    others = [("uintptr_t", "address")] if by_address else []
    others += [("uintptr_t", "user_data")] if by_address and function.takes_user_data else []
    if minima:
        others += [("int64_t", f"m{k}_{d}") for k, each in enumerate(function.operands) for d in range(each.rank)]
    others += [(C_TYPES[each.dtype], f"k{n}") for n, each in enumerate(function.scalars)]
    given = ", ".join([*(f"const array *{each}" for each in arrays), *(f"{of} {each}" for of, each in others)])
    is_packed = not all(each.is_strided for each in function.operands)
    lines = _by_address(function, minima) if by_address else _by_name(function, minima)
    inner = _function(f"{name}_packed" if is_packed else name, given, lines)
    inner = inner if by_address else _apart(inner, function.name)
    if not is_packed:
        return inner
    passed = [each for _, each in others]
    return inner + _function(name, given, _packing(function, f"{name}_packed", arrays, passed))


def _function(name: str, given: str, lines: Iterable[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"static inline int64_t {name}({given})\n{{\n{body}\n}}\n"


def prototype(function: CFunction) -> str:
    """How a source must declare its function."""
    given = [f"const slinky_buffer *{each.name}" for each in function.operands]
    given += [f"{C_TYPES[each.dtype]} {each.name}" for each in function.scalars]
    return f"int {function.name}({', '.join(given)})"


def flat_text(function: CFunction, name: str) -> str:
    """A function of the usual parameters that calls the one of a source: what others call it by."""
    given: list[str] = []
    lines: list[str] = []
    for k, each in enumerate(function.operands):
        given += [f"void *p{k}", f"const int64_t *m{k}", f"const int64_t *e{k}", f"const int64_t *s{k}"]
        items = [[f"{letter}{k}[{d}]" for d in range(each.rank)] for letter in "mes"]
        lines.append(_buffer(k, f"p{k}", items))
        lines += [f"(void)m{k}, (void)e{k}, (void)s{k};"] * (not each.rank)
    given += [f"{C_TYPES[each.dtype]} k{n}" for n, each in enumerate(function.scalars)]
    lines.append(f"return {_call_of(function)};")
    body = "\n".join(f"    {line}" for line in lines)
    text = f"int {name}({', '.join(given)});\nint {name}({', '.join(given)})\n{{\n{body}\n}}\n"
    return _apart(text, function.name)


def _buffer(k: int, data: str, items: Sequence[Sequence[str]]) -> str:
    minima, extents, strides = (f"{{{', '.join(each) or '0'}}}" for each in items)
    return f"const slinky_buffer b{k} = {{{data}, {minima}, {extents}, {strides}}};"


_CALLED = "@"
"""Stands for the function in lines that call it by name, until nothing in them has that name (`_apart`)."""


def _apart(text: str, name: str) -> str:
    """Lines that call a function of this name; what they call so themselves gets another one, for it would hide it."""
    other = f"{name}_"
    while re.search(rf"\b{other}\b", text):
        other += "_"
    return re.sub(rf"(?<!->)\b{name}\b", other, text).replace(_CALLED, name)


def _call_of(function: CFunction) -> str:
    given = [*(f"&b{k}" for k in range(len(function.operands))), *(f"k{n}" for n in range(len(function.scalars)))]
    return f"{_CALLED}({', '.join(given)})"


def _by_name(function: CFunction, minima: bool) -> Iterator[str]:
    """Call the function of a source in the same file."""
    for k, each in enumerate(function.operands):
        items = [[f"a{k}->{field}[{d}]" for d in range(each.rank)] for field in ("extents", "strides")]
        yield _buffer(k, f"a{k}->data", [_minima(k, each, minima), *items])
    yield f"const int code = {_call_of(function)};"
    yield _told(function)


def _by_address(function: CFunction, minima: bool) -> Iterator[str]:
    """Call a function that is somewhere else."""
    passed: list[str] = []
    for number, each in enumerate(function.parameters):
        text = _passed(function, each, minima)
        if each.dim is not None and each.type != "int64_t":
            yield f"const int64_t p{number} = {text};"
            text = f"({each.type})p{number}"
            sign = f"p{number} < 0 || " if is_unsigned(each.type) else ""
            yield f"if ({sign}(int64_t){text} != p{number}) return {TOO_LARGE}LL;"
        passed.append(text)
    types = ", ".join(each.type for each in function.parameters)
    returned = "void" if function.success is None else "int"
    called = f"(({returned} (*)({types}))address)({', '.join(passed)})"
    if function.success is None:
        yield f"{called};"
        yield "return 0;"
    else:
        yield f"const int code = {called};"
        yield _told(function)


def _told(function: CFunction) -> str:
    return f"return code == {function.success} ? 0 : {FAILED}LL + code;"


def _passed(function: CFunction, parameter: Parameter, minima: bool) -> str:
    """What is passed as a parameter."""
    position, dim = parameter.position, parameter.dim
    if parameter.item == "scalar":
        return f"k{position}"
    if parameter.item == "user_data":
        return "(void *)user_data"
    operand = function.operands[position]
    match parameter.item:
        case "data":
            return f"a{position}->data"
        case "min":
            found = _minima(position, operand, minima)
            return f"(const int64_t[]){{{', '.join(found) or '0'}}}" if dim is None else found[dim]
        case "step":
            return f"a{position}->strides[{dim}] / {operand.dtype.itemsize}"
    text = f"a{position}->{parameter.item}s"
    return text if dim is None else f"{text}[{dim}]"


def _minima(k: int, operand: Operand, minima: bool) -> list[str]:
    return [f"m{k}_{d}" if minima else "0" for d in range(operand.rank)]


def _packing(function: CFunction, name: str, arrays: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Call an adapter, with copies of arrays that have gaps where there must be none."""
    plain = {k: " && ".join(_without_gaps(k, each)) for k, each in enumerate(function.operands) if not each.is_strided}
    yield f"if ({' && '.join(plain.values())}) return {name}({', '.join([*arrays, *others])});"
    made, moved = [], []
    for k, each in enumerate(function.operands):
        if k in plain:
            yield f"array b{k} = *a{k};"
            yield f"char *made{k} = 0;"
            is_read = int(k < function.inputs)
            of = f"{each.rank}, {each.dtype.itemsize}"
            made.append(f"(({plain[k]}) || (made{k} = slinky_pack(&b{k}, {of}, {is_read})))")
            moved += [f"if (made{k}) slinky_move(a{k}, {of}, made{k}, 0);"] * (not is_read)
    yield f"int64_t result = {NO_MEMORY}LL;"
    yield f"if ({' && '.join(made)}) {{"
    given = [f"&b{k}" if k in plain else each for k, each in enumerate(arrays)]
    yield f"    result = {name}({', '.join([*given, *others])});"
    yield from (f"    {line}" for line in moved)
    yield "}"
    yield from (f"free(made{k});" for k in plain)
    yield "return result;"


def _without_gaps(k: int, operand: Operand) -> Iterator[str]:
    """Whether, along each dimension that may have none, an array has no gaps, or none but of whole elements."""
    yield from (f"a{k}->strides[{d}] % {operand.dtype.itemsize} == 0" for d in operand.counted_dims)
    expected = str(operand.dtype.itemsize)
    for d in reversed(range(operand.rank)):
        if operand.strided[d]:
            expected = f"a{k}->strides[{d}]"
        else:
            yield f"(a{k}->strides[{d}] == {expected} || a{k}->extents[{d}] <= 1)"
        expected = f"a{k}->extents[{d}] * {expected}"
