"""Programs with copies that cannot be done without, or not in every way (see `random_families`).

What is copied is made by a func or given, and who reads the copy takes windows of it, sums it, or scans it. Where an
element of the copy comes from is drawn: shifted, turned, repeated, some of them only, from beyond the edges.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from random_families import Array, Example, X, Y, buffers, integers, negated, negative, sums_of

import slinky as sl
from slinky.ir.copies import with_fields, with_names

LOW = -20
"""Inputs begin here, and are as long as twice that: enough for whatever is read."""


def _given(draw: random.Random) -> Array:
    return integers(draw, -2 * LOW, -2 * LOW)


def _at(values: Array, rows: Array, columns: Array) -> Array:
    """The elements at these coordinates of what begins at `LOW`."""
    return np.asarray(values[rows - LOW, columns - LOW])


Index = Callable[[Any, Any], tuple[Any, Any]]

PLACES: dict[str, Index] = {
    "shifted": lambda y, x: (y + 1, x - 2),
    "turned": lambda y, x: (x, y),
    "upside down": lambda y, x: (3 - y, x),
    "every other": lambda y, x: (2 * y, x),
    "repeated": lambda y, x: (y // 2, x),
    "a remainder": lambda y, x: (y, x % 3),
    "a row": lambda y, x: (0 * y + 2, x),
    "the diagonal": lambda y, x: (x, x),
}
"""Which element of the source a copy gives."""


TOGETHER: list[Callable[[Any], tuple[Any, Any]]] = [
    lambda x: (x, x),
    lambda x: (x, 2 - x),
    lambda x: (x // 4, x % 4),
    lambda x: (x // 2, x + 1),
]
"""Coordinates that go along one dimension together."""


def _turns(first: str, second: str) -> tuple[Index, Index]:
    return PLACES[first], PLACES[second]


def _target(draw: random.Random) -> tuple[sl.Buffer, Array, Array]:
    """An output of two dimensions, and the two coordinates of each of its elements."""
    shape = (draw.choice([3, 1, 4]), draw.choice([2, 3, 5]))
    low = (draw.randint(-2, 2), draw.randint(-2, 2))
    rows, columns = np.meshgrid(*(np.arange(m, m + n) for m, n in zip(low, shape, strict=True)), indexing="ij")
    return sl.Buffer(np.zeros(shape, np.int64), min=low), rows, columns


def _read_or_not(
    a: sl.BufferExpr, copied: sl.BufferExpr, out: sl.BufferExpr, values: Array, target: sl.Buffer, expected: Array
) -> Example:
    """The pipeline from an input to what is copied of it, or to the squares of that."""
    if copied is not out:
        sl.Func(np.square, [copied[Y, X]], [out[Y, X]], name="squares")
        expected = np.square(expected)
    p = sl.build_pipeline([a], [out], alias=False)
    return Example(p, [sl.Buffer(values, min=(LOW, LOW))], [target], [expected])


def _of_places(draw: random.Random) -> Example:
    """A copy of what a func makes or of an input, or a copy of a copy, and who reads it, or nobody but the caller."""
    a, s, t, u, out = buffers("a s t u out", 2, 2, 2, 2, 2)
    values = _given(draw)
    made, source = values, a
    if draw.random() < 0.7:
        negated(a[Y, X], s[Y, X], "make")
        made, source = -values, s
    one, other = _turns(draw.choice([*PLACES]), draw.choice([*PLACES]))
    target, rows, columns = _target(draw)
    twice, is_read = draw.random() < 0.4, draw.random() < 0.6
    places = other(rows, columns) if twice else (rows, columns)
    expected = _at(made, *np.broadcast_arrays(*one(*places)))
    copied = t if twice or is_read else out
    sl.copies.copy(source[one(Y, X)], copied[Y, X], name="copy")
    if twice:
        again = u if is_read else out
        sl.copies.copy(copied[other(Y, X)], again[Y, X], name="again")
        copied = again
    return _read_or_not(a, copied, out, values, target, expected)


def _within_edges(draw: random.Random) -> Example:
    """Elements of an input, some of them several times; there would be something else beyond its edges."""
    a, t, out = buffers("a t out", 2, 2, 2)
    values = _given(draw)
    place = PLACES[draw.choice(["repeated", "a remainder", "a remainder", "every other", "the diagonal"])]
    target, rows, columns = _target(draw)
    expected = _at(values, *np.broadcast_arrays(*place(rows, columns)))
    is_read = draw.random() < 0.6
    outside: Any = draw.choice([5, "nearest", "wrap"])
    copied = t if is_read else out
    sl.copies.copy(a[place(Y, X)], copied[Y, X], name="copy", outside=outside)
    return _read_or_not(a, copied, out, values, target, expected)


def _of_repeated(draw: random.Random) -> Example:
    """One element each of the rows of what is repeated along them; which one does not matter, within the edges."""
    (a, s, out), (t,) = buffers("a s out", 1, 1, 1), buffers("t", 2)
    count, first, most = draw.randint(1, 6), draw.randint(0, 5), draw.randint(12, 30)
    values = integers(draw, count)
    negated(a[X], s[X], "make")
    t.dim(1).domain = sl.interval(draw.randint(-3, 0), 2 * most + draw.randint(0, 3))
    sl.copies.copy(s[Y], t[Y, X], name="repeat")
    which: list[Any] = [X // 2, X // 3, X % 3, 2 * X, X - 2 * (X // 2)]
    sl.copies.copy(t[X, draw.choice(which)], out[X], outside=5, name="copy")
    known = [out.dim(0).min >= 0, out.dim(0).max <= most]
    p = sl.build_pipeline([a], [out], alias=False, require=known)
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(first,))], outputs, [-values])


def _in_parts(draw: random.Random) -> Example:
    """What is put together of parts, each made by a func, of which some are read by others, too."""
    rank = 1
    a, t, u, out, more = buffers("a t u out more", *([rank] * 5))
    values = integers(draw, -2 * LOW)
    first, second = draw.randint(1, 4), draw.randint(1, 4)
    t.dim(0).domain, u.dim(0).domain = sl.interval(0, first - 1), sl.interval(0, second - 1)
    negated(a[X], t[X], "make")
    of_it = draw.random() < 0.4
    sl.Func(np.square, [t[X] if of_it else a[X]], [u[X]], name="again")
    sl.copies.concatenate([t, u], out, name="copy")

    def part(lo: int, n: int) -> Array:
        return values[lo - LOW : lo - LOW + n]

    one = -part(0, first)
    other = np.square(part(0, second))
    outputs, expected = [out], [np.concatenate([one, other])]
    arrays = [sl.Buffer(np.zeros(first + second, np.int64))]
    if draw.random() < 0.5:
        window = t[sl.interval(X - 1, X + 1)]
        sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [window], [more[X]], name="rows")
        count = draw.randint(1, 4)
        begin = draw.randint(-3, 3)
        given = -part(begin - 1, count + 2)
        outputs.append(more)
        expected.append(given[:-2] + given[2:])
        arrays.append(sl.Buffer(np.zeros(count, np.int64), min=(begin,)))
    p = sl.build_pipeline([a], outputs, alias=False)
    return Example(p, [sl.Buffer(values, min=(LOW,))], arrays, expected)


def _padded(draw: random.Random) -> Example:
    """What is extended or padded, of something that is turned, shifted or made, for windows that reach beyond."""
    a, s, t, out = buffers("a s t out", 2, 2, 2, 2)
    rows, columns = draw.randint(2, 5), draw.randint(2, 5)
    values = integers(draw, rows, columns)
    source, made = a, values
    if draw.random() < 0.4:
        negated(a[Y, X], s[Y, X], "make")
        source, made = s, -values
    if draw.random() < 0.4:
        ways: list[tuple[Any, Any]] = [(sl.copies.transpose, np.transpose), (sl.copies.flip, np.flip)]
        turn, turned = draw.choice(ways)
        turn(source, t, name="turn")
        source, made = t, turned(made)
        if turn is sl.copies.flip:  # as far as it came from the origin, it goes to the other side
            source, made = a, values
    rule = draw.choice(["nearest", "mirror", "reflect", "wrap", "constant"])
    mode = {"nearest": "edge", "mirror": "reflect", "reflect": "symmetric", "wrap": "wrap", "constant": "constant"}[
        rule
    ]
    extended = source.extended(rule, **({"value": 0} if rule == "constant" else {}))
    reach = 1
    window = extended[sl.interval(Y - reach, Y + reach), X]
    sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [window], [out[Y, X]], name="rows")
    wide = np.pad(made, ((reach, reach), (0, 0)), mode=mode)  # type: ignore[call-overload]
    p = sl.build_pipeline([a], [out], alias=False)
    expected = wide[:-2] + wide[2:]
    return Example(p, [sl.Buffer(values)], [sl.Buffer(np.zeros(made.shape, np.int64))], [expected])


def _beyond_edges(draw: random.Random) -> Example:
    """What is read beyond the edges of an input, element by element or by windows, along one of its dimensions."""
    a, out = buffers("a out", 1, 1)
    count, first, low = draw.randint(2, 6), draw.randint(-4, 2), draw.randint(-2, 2)
    values = integers(draw, count)
    rule = draw.choice(["nearest", "wrap", "mirror", "reflect", "constant"])
    modes = {"nearest": "edge", "mirror": "reflect", "reflect": "symmetric", "wrap": "wrap", "constant": "constant"}
    taps = draw.choice([1, 1, 2, 3])
    extended = a.extended(rule, **({"value": 0} if rule == "constant" else {}))
    sl.Func(sums_of(taps), [extended[sl.interval(X, X + taps - 1)]], [out[X]], name="sums")
    wide = np.pad(values, (20, 20), mode=modes[rule])  # type: ignore[call-overload]
    length = draw.randint(1, 7)
    begin = first - low + 20
    found = np.convolve(wide, np.ones(taps, np.int64), "valid")[begin : begin + length]
    p = sl.build_pipeline([a], [out], alias=False)
    outputs = [sl.Buffer(np.zeros(length, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(low,))], outputs, [found])


def _sums_of_copies(draw: random.Random) -> Example:
    """Sums of rows of a copy, turned or shifted, of what a func makes."""
    a, s, t, sums, out = buffers("a s t sums out", 2, 2, 2, 1, 1)
    rows, columns = draw.randint(1, 4), draw.randint(1, 4)
    values = integers(draw, rows, columns)
    negated(a[Y, X], s[Y, X], "make")
    turned = draw.random() < 0.5
    sl.copies.copy(s[X, Y] if turned else s[Y, X], t[Y, X], name="copy")
    t.dim(1).bounds = a.dim(0).bounds if turned else a.dim(1).bounds
    result = sums if draw.random() < 0.5 else out
    sl.reductions.sum(t[Y, :], result[Y], name="total")
    total = (-values.T if turned else -values).sum(axis=1)
    if result is sums:
        sl.Func(np.square, [sums[Y]], [out[Y]], name="squares")
        total = np.square(total)
    p = sl.build_pipeline([a], [out], alias=False)
    return Example(p, [sl.Buffer(values)], [sl.Buffer(np.zeros(len(total), np.int64))], [total])


def _scans(draw: random.Random) -> Example:
    """Running sums along rows, which are computed whole, of what a func makes, for windows, copies and rows."""
    a, s, t, u, out = buffers("a s t u out", 2, 2, 2, 2, 2)
    rows, columns = draw.randint(1, 5), draw.randint(3, 6)
    values = integers(draw, rows + 2, columns)
    source, made = a, values
    if draw.random() < 0.5:
        negated(a[Y, X], s[Y, X], "make")
        source, made = s, -values
    whole: Callable[..., Any] = negative if draw.random() < 0.3 else _running
    scanned = -made if whole is negative else np.cumsum(made, axis=1)
    sl.Func(whole, [source[Y, X]], [t[Y, X]], whole=[X], name="scan", in_place=draw.random() < 0.5)
    t.dim(1).bounds = a.dim(1).bounds
    read, found, first = t, scanned, 0
    way = draw.choice(["window", "copy", "rows", "rows", "turned", "turned"])
    if way == "turned":
        sl.copies.copy(t[Y, -X], out[Y, X], name="copy")
        p = sl.build_pipeline([a], [out], alias=False)
        outputs = [sl.Buffer(np.zeros(scanned.shape, np.int64), min=(0, 1 - columns))]
        return Example(p, [sl.Buffer(values)], outputs, [scanned[:, ::-1]])
    if way == "copy":
        sl.copies.copy(t[Y, X + 1], u[Y, X], name="copy")
        read, found = u, scanned[:, 1:]
    if way == "window":
        sl.Func(
            lambda s, o: np.add(s[:, :-2], s[:, 2:], out=o),
            [read[Y, sl.interval(X - 1, X + 1)]],
            [out[Y, X]],
            name="sums",
        )
        found, first = found[:, :-2] + found[:, 2:], 1
    else:
        window = read[sl.interval(Y - 1, Y + 1), X]
        sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [window], [out[Y, X]], name="sums")
        found = found[:-2] + found[2:]
    top = 1 if way != "window" else 0
    count = rows if way != "window" else rows + 2
    p = sl.build_pipeline([a], [out], alias=False)
    found = found[:count]
    outputs = [sl.Buffer(np.zeros(found.shape, np.int64), min=(top, first))]
    return Example(p, [sl.Buffer(values)], outputs, [found])


def _running(source: Array, sums: Array) -> None:
    np.cumsum(source, axis=1, out=sums)


def _stacks(draw: random.Random) -> Example:
    """A stack of what a func makes and of what another one makes of that."""
    a, t, u, out = buffers("a t u out", 1, 1, 1, 2)
    values, count, first = integers(draw, -2 * LOW), draw.randint(1, 5), draw.randint(-3, 3)
    negated(a[X], t[X], "make")
    sl.Func(np.square, [t[X]], [u[X]], name="again")
    parts = draw.choice([[t, u], [u, t]])
    sl.copies.stack(parts, out, name="copy")
    made = -values[first - LOW : first - LOW + count]
    rows = {t: made, u: np.square(made)}
    p = sl.build_pipeline([a], [out], alias=False)
    outputs = [sl.Buffer(np.zeros((2, count), np.int64), min=(0, first))]
    return Example(p, [sl.Buffer(values, min=(LOW,))], outputs, [np.stack([rows[part] for part in parts])])


def _of_windows(draw: random.Random) -> Example:
    """Windows, or tiles, that are copies of one dimension, and who reads them at places that go together: a diagonal,
    or the parts of a tile."""
    (a, out), (t,) = buffers("a out", 1, 1), buffers("t", 2)
    rows, columns = draw.choice([(1, 1), (1, -2), (2, 1), (-1, 1), (4, 1), (2, -1), (-3, -1)])
    values, low = integers(draw, 160), -80
    sl.copies.copy(a[rows * Y + columns * X + 1], t[Y, X], name="copy")
    at = draw.choice(TOGETHER)
    start, count = draw.randint(-3, 5), draw.randint(1, 9)
    places = np.arange(start, start + count)
    y, x = at(places)
    expected = values[rows * y + columns * x + 1 - low]
    if draw.random() < 0.3:
        y, x = places, places
        expected = values[rows * y + columns * x + 1 - low]
        sl.Func(lambda source, target: np.copyto(target, source.diagonal()), [t[X, X]], [out[X]], name="diagonal")
    else:
        sl.copies.copy(t[at(X)], out[X], name="read")
    p = sl.build_pipeline([a], [out], alias=draw.random() < 0.3)
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(start,))]
    return Example(p, [sl.Buffer(values, min=(low,))], outputs, [expected])


def _of_one_name(draw: random.Random) -> Example:
    """A copy in one loop, of a buffer that has the name of another one in the loop where the copy is read."""
    a, s, more, t, u, out = buffers("a s more t u out", *([1] * 6))
    count, first = draw.randint(1, 6), draw.randint(-3, 3)
    values = integers(draw, count)

    def negatives(source: Array, *targets: Array) -> None:
        for target in targets:
            negative(source, target)

    sl.Func(negatives, [a[X]], [s[X], more[X]][: draw.choice([2, 2, 1])], name="make")
    sl.copies.copy(s[X], t[X], name="copy")
    sl.Func(np.square, [a[X]], [u[X]], name="other")
    sl.Func(np.add, [t[X], u[X]], [out[X]], name="add")
    p = sl.build_pipeline([a], [out], alias=False)
    for func in ("add.x", "copy.x"):
        p = sl.split_loop(p, func, draw.choice([1, 2, 3]))
    for func, loop in (("make", "for x #0"), ("other", "for x #1")):
        p, at = sl.compute_at(p, func, loop, rc=True)
        for alloc in at.allocs:
            p = sl.store_at(p, alloc, at.loop)
    edit = sl.edit(p)
    edit.replace("alloc u", with_fields(edit.statement(p.find("alloc u")), buffer="s"))
    for func in ("other", "add"):
        edit.replace(func, with_names(edit.statement(p.find(func)), {"u": "s"}))
    p = edit.finish("rename_a_buffer")
    outputs = [sl.Buffer(np.zeros(count, np.int64), min=(first,))]
    return Example(p, [sl.Buffer(values, min=(first,))], outputs, [np.square(values) - values])


FAMILIES: dict[str, Callable[[random.Random], Example]] = {
    "copies of places": _of_places,
    "within edges": _within_edges,
    "of repeated": _of_repeated,
    "copies in parts": _in_parts,
    "stacks": _stacks,
    "of one name": _of_one_name,
    "of windows": _of_windows,
    "padded": _padded,
    "beyond edges": _beyond_edges,
    "sums of copies": _sums_of_copies,
    "scans": _scans,
}
"""What makes programs, by the name of their family."""
