"""What primitives refuse: the message, the place that it shows, and the pipeline as it was."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import pytest
from handmade import over, with_body
from scheduled import by_rows, stencil, stencils, weigh

import examples
import slinky as sl

CHAIN = stencils(3)
ROWS, (LOOP, _, _) = sl.split_loop(CHAIN, "s3.y", 1, rc=True)
FUSED, ((FUSED_ALLOC,), _, FUSED_CALL) = sl.compute_at(ROWS, "s2", LOOP, rc=True)
INSIDE = sl.store_at(FUSED, FUSED_ALLOC, LOOP)
PARALLEL = sl.parallelize_loop(INSIDE, LOOP)
SLID = sl.slide_window(FUSED, FUSED_CALL, LOOP)
FOLDED = sl.fold_storage(SLID, FUSED_ALLOC, "y")
BRANCHES = examples.two_branches()
LEFT = sl.split_loop(BRANCHES, "left.x", 4)
NEST = sl.split_loop(sl.split_loop(examples.scale2d(), "scale.y", 8, names="tile"), "scale.y", 1)

TILES = sl.split_loop(sl.split_loop(CHAIN, "s3.y", 8, names="tile"), "s3.y", 1)
TILES = sl.compute_at(TILES, "s2", "for tile")


def row_sums() -> sl.Pipeline:
    """A func of two dimensions, one output of which has but one."""
    y, x = sl.variables("y x")
    inp, image, sums = (
        sl.BufferExpr("inp", np.int32, 2),
        sl.BufferExpr("m", np.int32, 2),
        sl.BufferExpr("s", np.int32, 1),
    )
    sl.Func(weigh(0), [inp[y, x]], [image[y, x], sums[y]], name="f")
    return sl.build_pipeline([inp], [image, sums])


def backwards() -> sl.Pipeline:
    """A signal that is read backwards, computed element by element in the loop that reads it."""
    (x,) = sl.variables("x")
    inp, m, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "m", "out"))
    sl.Func(weigh(0), [inp[x]], [m[x]], name="f")
    sl.Func(weigh(0), [m[-x]], [out[x]], name="g")
    return sl.compute_at(sl.split_loop(sl.build_pipeline([inp], [out]), "g.x", 1), "f", "for x")


def slid_backwards() -> sl.Pipeline:
    """A signal that is read backwards, two elements at a time, of which each iteration computes one."""
    (x,) = sl.variables("x")
    inp, m, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "m", "out"))
    sl.Func(weigh(0), [inp[x]], [m[x]], name="f")
    sl.Func(lambda source, target: None, [m[sl.interval(-x, 1 - x)]], [out[x]], name="g")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([inp], [out]), "g.x", 1), "f", "for x")
    loop = p.find("for x")._loop
    at = loop.variable
    new = over(loop.body[0], (sl.interval(-at, sl.select(sl.equal(at, loop.range.min), 1 - at, -at)),))
    p = with_body(p.program, (*p.program.body[:-1], attrs.evolve(loop, body=(new, *loop.body[1:]))))
    p.run(sl.Buffer(np.arange(9, dtype=np.int32), min=(-7,)), np.zeros(3, np.int32), checked=True)
    return p


def diagonal() -> sl.Pipeline:
    """A func both of whose dimensions move with the loop that it is computed in."""
    (x,) = sl.variables("x")
    v, u = sl.variables("v u")
    inp, m, out = sl.BufferExpr("inp", np.int32, 2), sl.BufferExpr("m", np.int32, 2), sl.BufferExpr("out", np.int32, 1)
    sl.Func(weigh(0), [inp[v, u]], [m[v, u]], name="f")
    sl.Func(weigh(0), [m[x, x]], [out[x]], name="g")
    return sl.compute_at(sl.split_loop(sl.build_pipeline([inp], [out]), "g.x", 1), "f", "for x")


def fixed() -> sl.Pipeline:
    """A func that reads the same four elements wherever it is, computed in its loop each time."""
    (x,) = sl.variables("x")
    inp, m, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "m", "out"))
    sl.Func(weigh(0), [inp[x]], [m[x]], name="f")
    sl.Func(weigh(0), [m[sl.interval(0, 3)]], [out[x]], name="g")
    return sl.compute_at(sl.split_loop(sl.build_pipeline([inp], [out]), "g.x", 1), "f", "for x")


def nothing_to_read() -> sl.Pipeline:
    """Two outputs that have nothing to do with each other."""
    (x,) = sl.variables("x")
    inp, a, b = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "a", "b"))
    sl.Func(weigh(0), [inp[x]], [a[x]], name="fa")
    sl.Func(weigh(0), [inp[x]], [b[x]], name="fb")
    return sl.split_loop(sl.build_pipeline([inp], [a, b]), "fb.x", 1)


def two_outputs() -> sl.Pipeline:
    """Two outputs that need the same intermediate."""
    (x,) = sl.variables("x")
    inp, b, left, right = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "b", "l", "r"))
    sl.Func(weigh(0), [inp[x]], [b[x]], name="before")
    sl.Func(weigh(0), [b[x]], [left[x]], name="left")
    sl.Func(weigh(0), [b[x]], [right[x]], name="right")
    return sl.split_loop(sl.build_pipeline([inp], [left, right]), "left.x", 4)


Refusal = tuple[sl.Pipeline, Callable[[sl.Pipeline], object], str, str]

REFUSALS: dict[str, Refusal] = {
    # split_loop
    "split a dimension that an output lacks": (
        row_sums(),
        lambda p: sl.split_loop(p, "f.x", 2),
        "split_loop: output s of f has no dimension x, so each piece would have to compute all of it",
        "m[:, :], s[m.y.min..m.y.max] = f(inp[:, :])",
    ),
    "split unevenly": (
        CHAIN,
        lambda p: sl.split_loop(p, "s3.y", 4, tail="perfect"),
        "split_loop: not shown that the pieces come out even\n"
        "not shown: out.y.max + 4*((out.y.min - out.y.max + 2) // 4) <= out.y.min - 1; it does not hold for "
        "out.y.min = -4, out.y.max = -3, inp.y.min = -7, inp.y.max = 0\n"
        "hint: use another tail, or let the pipeline require it (build_pipeline(..., require=[...])):\n"
        '  p = sl.split_loop(p, "s3.y", 4)',
        "out[:, :] = s3(b2[:, :])",
    ),
    "split by nothing": (
        CHAIN,
        lambda p: sl.split_loop(p, "s3.y", 0),
        "split_loop: the factor must be 1 or more, got 0",
        "",
    ),
    "split by what is never more than nothing": (
        CHAIN,
        lambda p: sl.split_loop(p, "s3.y", sl.minimum(sl.BufferExpr("out", np.int16, 2).dim(0).min, 0)),
        "split_loop: the factor must be 1 or more, got min(out.y.min, 0)",
        "",
    ),
    "split by what may be nothing": (
        CHAIN,
        lambda p: sl.split_loop(p, "s3.y", sl.BufferExpr("out", np.int16, 2).dim(0).extent),
        "split_loop: not shown that the factor is 1 or more\nnot shown: out.y.min <= out.y.max; "
        "it does not hold for out.y.min = -2, out.y.max = -3, inp.y.min = -5, inp.y.max = 0\n"
        "hint: sl.maximum(..., 1) is",
        "",
    ),
    "shift the pieces of a loop that steps": (
        sl.split_loop(CHAIN, "s3.y", 4),
        lambda p: sl.split_loop(p, "for y", 2, tail="shift"),
        "split_loop: pieces of a loop can be shifted only if its step is 1\n"
        "hint: use another tail:\n"
        '  p = sl.split_loop(p, "for y", 2)',
        "for y in out.y.min..out.y.max step 4:",
    ),
    "a name that is taken": (
        ROWS,
        lambda p: sl.split_loop(p, "s3.x", 4, names="y"),
        "split_loop: the name 'y' is taken here\n"
        "hint: take a name that is free:\n"
        '  p = sl.split_loop(p, "s3.x", 4, names="y_1")',
        "",
    ),
    "a name of a buffer": (
        CHAIN,
        lambda p: sl.split_loop(p, "s3.x", 4, names="b1"),
        "split_loop: the name 'b1' is taken here\n"
        "hint: take a name that is free:\n"
        '  p = sl.split_loop(p, "s3.x", 4, names="b1_1")',
        "",
    ),
    # reorder_loops
    "reorder a loop of several statements": (
        FUSED,
        lambda p: sl.reorder_loops(p, LOOP),
        "reorder_loops: the body of loop y is not just one loop\nhint: only perfectly nested loops swap",
        "for y in out.y.min..out.y.max:",
    ),
    "reorder dependent loops": (
        NEST,
        lambda p: sl.reorder_loops(p, "for tile"),
        "reorder_loops: the start of loop y depends on loop tile",
        "for tile in out.y.min..out.y.max step 8:",
    ),
    # parallelize_loop
    "share a folded buffer": (
        by_rows(stencil())[0],
        lambda p: sl.parallelize_loop(p, "for y"),
        "parallelize_loop: iterations of loop y share the folded buffer intm\n"
        "hint: let each iteration compute all that it needs of intm, in a buffer of its own (on small "
        "arrays, it computes 2.0 times as many elements):\n"
        '  p = sl.compute_root(p, "add")\n'
        '  p = sl.compute_at(p, "add", "for y")\n'
        '  p = sl.store_at(p, "alloc intm", "for y")\n'
        '  p = sl.parallelize_loop(p, "for y")',
        "for y in out.y.min - 2 .. out.y.max parallel:",
    ),
    "write the same elements": (
        FUSED,
        lambda p: sl.parallelize_loop(p, LOOP),
        "parallelize_loop: iterations of loop y write the same elements of b2\n"
        "for example: with out.y = 0..1, out.x = 0..1, in iteration y = 1, s2 writes b2[0, -1], which is "
        "also written in iteration y = 0\n"
        "hint: give each iteration its own b2 first:\n"
        '  p = sl.store_at(p, "alloc b2", "for y")\n'
        '  p = sl.parallelize_loop(p, "for y")',
        "for y in out.y.min..out.y.max parallel:",
    ),
    "read what earlier iterations wrote": (
        SLID,
        lambda p: sl.parallelize_loop(p, LOOP),
        "parallelize_loop: iterations of loop y depend on each other: one reads of b2 what another writes\n"
        "for example: with out.y = 0..0, out.x = 0..0, in iteration y = 0, s3 reads b2[-1, -1], which is "
        "written in iteration y = -2\n"
        "hint: let each iteration compute all that it needs of b2, in a buffer of its own (on small arrays, "
        "it computes 1.5 times as many elements):\n"
        '  p = sl.compute_root(p, "s2")\n'
        '  p = sl.compute_at(p, "s2", "for y")\n'
        '  p = sl.store_at(p, "alloc b2", "for y")\n'
        '  p = sl.parallelize_loop(p, "for y")',
        "for y in out.y.min - 2 .. out.y.max parallel:",
    ),
    # compute_at
    "a reader outside": (
        ROWS,
        lambda p: sl.compute_at(p, "add", LOOP),
        "compute_at: s1 reads it outside loop y\n"
        "hint: compute s1 there first (on small arrays, it computes 3.8 times as many elements):\n"
        '  p = sl.compute_at(p, "s2", "for y")\n'
        '  p = sl.compute_at(p, "s1", "for y")\n'
        '  p = sl.compute_at(p, "add", "for y")',
        "b1[:, :] = s1(b0[:, :])",
    ),
    "already there": (
        ROWS,
        lambda p: sl.compute_at(p, "s3", LOOP),
        "compute_at: the call of s3 already stands in loop y",
        "out[y, :] = s3(b2[y - 1 .. y + 1, :])",
    ),
    "behind the loop": (
        LEFT,
        lambda p: sl.compute_at(p, "right", "for x"),
        "compute_at: the call of right does not stand before loop x",
        "r[:] = right(inp[:])",
    ),
    "in a loop of its own": (
        sl.split_loop(ROWS, "s2.y", 2, names="z"),
        lambda p: sl.compute_at(p, "s2", LOOP),
        "compute_at: the call of s2 stands in a loop of its own, not in a block around loop y\n"
        "hint: move it out first (on small arrays, it computes 1.4 times as many elements):\n"
        '  p = sl.compute_root(p, "s2")\n'
        '  p = sl.compute_at(p, "s2", "for y")',
        "b2[z .. z + 1, :] = s2(b1[z - 1 .. z + 2, :])",
    ),
    "not read in the loop": (
        nothing_to_read(),
        lambda p: sl.compute_at(p, "fa", "for x"),
        "compute_at: nothing in loop x reads a",
        "for x in b.x.min..b.x.max:",
    ),
    "a reader in another loop": (
        two_outputs(),
        lambda p: sl.compute_at(p, "before", "for x"),
        "compute_at: right reads it outside loop x\n"
        "hint: its readers (left, right) are in no loop together, so it stays before them",
        "r[:] = right(b[:])",
    ),
    "a reader that was cut off": (
        sl.split_loop(examples.blur(), "blur.x", 8, tail="cut"),
        lambda p: sl.compute_at(p, "scale", "for x"),
        "compute_at: blur reads it outside loop x\n"
        "hint: there are 2 calls of blur: a split with another tail, or no cut, leaves one",
        "out[out.x.min - 8*((out.x.min - out.x.max + 6) // 8) .. out.x.max] = "
        "blur(scaled[out.x.min - 8*((out.x.min - out.x.max + 6) // 8) - 1 .. out.x.max + 1])",
    ),
    "write elements of the output twice": (
        sl.split_loop(examples.blur(), "blur.x", 8, tail="shift"),
        lambda p: sl.parallelize_loop(p, "for x"),
        "parallelize_loop: iterations of loop x write the same elements of out\n"
        "for example: with out.x = 0..8, in iteration x = 8, blur writes out[1], which is also written in "
        "iteration x = 0\n"
        "hint: a tail that shifts writes some elements twice: split with another tail",
        "for x in out.x.min..out.x.max step 8 parallel:",
    ),
    "overlapping parallel iterations": (
        sl.parallelize_loop(ROWS, LOOP),
        lambda p: sl.compute_at(p, "s2", LOOP),
        "compute_at: iterations of loop y write the same elements of b2\n"
        "for example: with out.y = 0..1, out.x = 0..1, in iteration y = 1, s2 writes b2[0, -1], which is "
        "also written in iteration y = 0\n"
        "hint: compute it there, and give each iteration its own buffer (store_at), before the loop is "
        "parallel",
        "for y in out.y.min..out.y.max parallel:",
    ),
    # compute_root
    "consumers before producers": (
        sl.compute_at(FUSED, "s1", LOOP),
        lambda p: sl.compute_root(p, "s2"),
        "compute_root: s2 does not find all of b1[out.y.min - 2 .. out.y.max + 2, out.x.min - 2 .. out.x.max "
        "+ 2], which it reads, written\n"
        "for example: with out.y = 0..0, out.x = 0..0, s2 reads b1[-2, -2], not written by then\n"
        "hint: compute s1 at the top first:\n"
        '  p = sl.compute_root(p, "s1")\n'
        '  p = sl.compute_root(p, "s2")',
        "b2[:, :] = s2(b1[:, :])",
    ),
    "a buffer of the loop": (
        INSIDE,
        lambda p: sl.compute_root(p, "s2"),
        "compute_root: b2 is allocated inside a loop\n"
        "hint: lift the allocation first:\n"
        '  p = sl.lift_alloc(p, "alloc b2", 1)\n'
        '  p = sl.compute_root(p, "s2")',
        "alloc b2: int16[y - 1 .. y + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    # slide_window
    "slide in a buffer of the loop": (
        INSIDE,
        lambda p: sl.slide_window(p, FUSED_CALL, LOOP),
        "slide_window: b2 is allocated inside loop y, so nothing of it lasts from one iteration to the next\n"
        "hint: lift the allocation first:\n"
        '  p = sl.lift_alloc(p, "alloc b2", 1)\n'
        '  p = sl.slide_window(p, "s2", "for y")',
        "alloc b2: int16[y - 1 .. y + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    "slide in a parallel loop": (
        PARALLEL,
        lambda p: sl.slide_window(p, FUSED_CALL, LOOP),
        "slide_window: loop y is parallel: its iterations do not come one after the other",
        "for y in out.y.min..out.y.max parallel:",
    ),
    "slide outside the loop": (
        ROWS,
        lambda p: sl.slide_window(p, "s2", LOOP),
        "slide_window: the call of s2 is not in loop y\n"
        "hint: compute it there first:\n"
        '  p = sl.compute_at(p, "s2", "for y")\n'
        '  p = sl.slide_window(p, "s2", "for y")',
        "b2[:, :] = s2(b1[:, :])",
    ),
    "slide what does not move": (
        fixed(),
        lambda p: sl.slide_window(p, "f", "for x"),
        "slide_window: no dimension of what f produces moves with loop x",
        "m[:] = f(inp[:])",
    ),
    "start tiles earlier": (
        TILES,
        lambda p: sl.slide_window(p, "s2", "for tile"),
        "slide_window: the range of loop y depends on loop tile, so that cannot be extended\n"
        "hint: leave the range of the loop as it is:\n"
        '  p = sl.slide_window(p, "s2", "for tile", warmup="first")',
        "for y in tile .. min(out.y.max, tile + 7):",
    ),
    "slide what moves twice": (
        diagonal(),
        lambda p: sl.slide_window(p, "f", "for x"),
        "slide_window: more than one dimension of what f produces moves with loop x",
        "m[x, x] = f(inp[x, x])",
    ),
    "slide what is folded": (
        FOLDED,
        lambda p: sl.slide_window(p, FUSED_CALL, LOOP),
        "slide_window: b2 is folded along the dimension that moves\n"
        "hint: store it in full first, and fold it after sliding:\n"
        '  p = sl.unfold_storage(p, "alloc b2", "y")\n'
        '  p = sl.slide_window(p, "s2", "for y")',
        "alloc b2: int16[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]",
    ),
    "slide backwards": (
        backwards(),
        lambda p: sl.slide_window(p, "f", "for x"),
        "slide_window: the start of what f produces does not move forward with loop x",
        "m[-x] = f(inp[-x])",
    ),
    # fold_storage
    "fold a second dimension": (
        FOLDED,
        lambda p: sl.fold_storage(p, FUSED_ALLOC, "x"),
        "fold_storage: b2 is already folded along y; only one dimension can be",
        "alloc b2: int16[out.y.min - 1 .. out.y.max + 1 fold 3, out.x.min - 1 .. out.x.max + 1]",
    ),
    "fold by less than is live": (
        SLID,
        lambda p: sl.fold_storage(p, FUSED_ALLOC, "y", 2),
        "fold_storage: a fold of 2 does not hold all that is live of b2.y at once\n"
        "for example: with out.y = 0..0, out.x = 0..0, in iteration y = 0, s3 reads b2[-1, -1], whose place "
        "another element has taken\n"
        "hint: it needs 3, the default:\n"
        '  p = sl.fold_storage(p, "alloc b2", "y")',
        "alloc b2: int16[out.y.min - 1 .. out.y.max + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    "fold what is not in one loop": (
        ROWS,
        lambda p: sl.fold_storage(p, "alloc b2", "y"),
        "fold_storage: the accesses of b2 do not stand in one loop\n"
        "hint: compute the producer in the loop of its readers first, and slide it:\n"
        '  p = sl.compute_at(p, "s2", "for y")\n'
        '  p = sl.slide_window(p, "s2", "for y")\n'
        '  p = sl.fold_storage(p, "alloc b2", "y")',
        "alloc b2: int16[out.y.min - 1 .. out.y.max + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    "fold by nothing": (
        FUSED,
        lambda p: sl.fold_storage(p, FUSED_ALLOC, "y", 0),
        "fold_storage: the factor must be 1 or more, got 0",
        "",
    ),
    "fold by a scalar, of which a check says that it is 1 or more": (
        FUSED,
        lambda p: sl.fold_storage(p, FUSED_ALLOC, "y", sl.scalar("n")),
        "fold_storage: a fold of n does not hold all that is live of b2.y at once\n"
        "for example: with out.y = 0..0, out.x = 0..0, n = 2, in iteration y = 0, s3 reads b2[-1, -1], whose place "
        "another element has taken\n"
        "hint: it needs 3, the default:\n"
        '  p = sl.fold_storage(p, "alloc b2", "y")',
        "alloc b2: int16[out.y.min - 1 .. out.y.max + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    "fold backwards": (
        slid_backwards(),
        lambda p: sl.fold_storage(p, "alloc m", "x"),
        "fold_storage: what is produced of m.x does not move forward with loop x",
        "alloc m: int32[-out.x.max .. -out.x.min + 1]",
    ),
    # store_at, lift_alloc
    "store inside, use outside": (
        FUSED,
        lambda p: sl.store_at(p, "alloc b1", LOOP),
        "store_at: b1 is used outside loop y\n"
        "hint: compute s1 there first (on small arrays, it computes 1.6 times as many elements):\n"
        '  p = sl.compute_at(p, "s1", "for y")\n'
        '  p = sl.store_at(p, "alloc b1", "for y")',
        "b1[:, :] = s1(b0[:, :])",
    ),
    "store inside what earlier iterations wrote": (
        SLID,
        lambda p: sl.store_at(p, FUSED_ALLOC, LOOP),
        "store_at: s3 does not find all of b2[max(out.y.min - 1, y - 1) .. min(out.y.max + 1, y + 1), "
        "out.x.min - 1 .. out.x.max + 1], which it reads, written\n"
        "for example: with out.y = 0..0, out.x = 0..0, in iteration y = 0, s3 reads b2[-1, -1], not written "
        "by then\n"
        "hint: an iteration needs what earlier ones wrote; let each compute all that it needs (on small "
        "arrays, it computes 1.5 times as many elements):\n"
        '  p = sl.compute_root(p, "s2")\n'
        '  p = sl.compute_at(p, "s2", "for y")\n'
        '  p = sl.store_at(p, "alloc b2", "for y")',
        "out[y, :] = s3(b2[y - 1 .. y + 1, :])",
    ),
    "store where it is": (
        INSIDE,
        lambda p: sl.store_at(p, FUSED_ALLOC, LOOP),
        "store_at: b2 is already allocated inside loop y",
        "alloc b2: int16[y - 1 .. y + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    "lift too far": (
        INSIDE,
        lambda p: sl.lift_alloc(p, FUSED_ALLOC, 2),
        "lift_alloc: b2 cannot be lifted out of 2 loops; there is 1 around it\n"
        "hint: lift it out of all of them:\n"
        '  p = sl.lift_alloc(p, "alloc b2", 1)',
        "alloc b2: int16[y - 1 .. y + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    "lift out of a parallel loop": (
        PARALLEL,
        lambda p: sl.lift_alloc(p, FUSED_ALLOC),
        "lift_alloc: the iterations of the parallel loop y would share b2\n"
        "for example: with out.y = 0..1, out.x = 0..1, in iteration y = 1, s2 writes b2[0, -1], which is also written "
        "in iteration y = 0",
        "for y in out.y.min..out.y.max parallel:",
    ),
    "lift one of two": (
        sl.cut_loop(INSIDE, LOOP, 5),
        lambda p: sl.lift_alloc(p, FUSED_ALLOC),
        "lift_alloc: another b2 is allocated in the same scope, in a copy of the loop",
        "alloc b2: int16[y - 1 .. y + 1, out.x.min - 1 .. out.x.max + 1]",
    ),
    # reorder_statements
    "reorder three": (
        BRANCHES,
        lambda p: sl.reorder_statements(p, p.find("left").expand(after=2)),
        "reorder_statements: two neighbouring statements swap, got 3",
        "l[:] = left(inp[:])|alloc r: float32[out.x.min..out.x.max]|r[:] = right(inp[:])",
    ),
    "read before it is written": (
        BRANCHES,
        lambda p: sl.reorder_statements(p, p.find("right").expand(after=1)),
        "reorder_statements: join does not find all of r[out.x.min..out.x.max], which it reads, written\n"
        "for example: with out.x = 0..0, join reads r[0], not written by then",
        "out[:] = join(l[:], r[:])",
    ),
    "use before it is allocated": (
        BRANCHES,
        lambda p: sl.reorder_statements(p, p.find("right").expand(before=1)),
        "reorder_statements: the second statement uses r, which the first one allocates",
        "alloc r: float32[out.x.min..out.x.max]|r[:] = right(inp[:])",
    ),
    "rely on a check before it": (
        sl.reorder_statements(CHAIN, CHAIN.find("alloc b0").expand(before=1)),
        lambda p: sl.reorder_statements(p, p.find("add").expand(before=1)),
        "reorder_statements: the second statement may rely on the check",
        "check out.x.max <= inp.x.max - 3|b0[:, :] = add(inp[:, :])",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal(name: str) -> None:
    p, rewrite, message, place = REFUSALS[name]
    before = str(p)
    with pytest.raises(sl.SchedulingError) as caught:
        rewrite(p)
    error = caught.value
    told, _, shown = str(error).partition("\nat:\n")
    assert told == message
    marked = [line[2:].strip() for line in shown.splitlines() if line.startswith("> ")]
    assert "|".join(marked) == place
    assert bool(error.place) == bool(place)
    assert str(p) == before


def test_the_parts_of_a_refusal() -> None:
    with pytest.raises(sl.SchedulingError) as caught:
        sl.fold_storage(SLID, FUSED_ALLOC, "y", 2)
    error = caught.value
    assert error.operation == "fold_storage"
    assert error.reason == "a fold of 2 does not hold all that is live of b2.y at once"
    assert error.place == SLID.forward(FUSED_ALLOC)
    assert str(error.condition).startswith("out.y.max <= out.y.min - 1 or ")
    assert error.example.startswith("with out.y = 0..0, out.x = 0..0, in iteration y = 0, s3 reads b2[-1, -1]")
    assert error.remedy == 'p = sl.fold_storage(p, "alloc b2", "y")'
    assert error.hint == f"it needs 3, the default:\n  {error.remedy}"
    assert error.within == []


def test_a_message_is_put_together_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that searches pays for no text, for no example, and for no trial of what may help."""
    work: list[str] = []

    def counted(name: str, result: object) -> None:
        monkeypatch.setattr(name, lambda *args: work.append(name) or result)

    counted("slinky.cursors.display.program_lines", [])
    counted("slinky.cursors.display.statement_line", "")
    counted("slinky.sched.legality.folds.brief", "(text)")
    counted("slinky.sched.small_runs._search", None)
    counted("slinky.sched.remedies._Search.solve", None)
    with pytest.raises(sl.SchedulingError) as caught:
        sl.fold_storage(SLID, FUSED_ALLOC, "y", 2)
    assert not work
    assert caught.value.reason == "not shown that a fold of (text) holds all that is live of b2.y at once"
    assert work == ["slinky.sched.legality.folds.brief", "slinky.sched.small_runs._search"]
    assert caught.value.hint == ""
    assert work.count("slinky.sched.remedies._Search.solve") >= 1
    with pytest.raises(StopIteration):
        str(sl.SchedulingError("no", place=SLID.find("s3").before()))
    assert work[-1] == "slinky.cursors.display.program_lines"


def test_a_refusal_can_be_pickled() -> None:
    import pickle

    with pytest.raises(sl.SchedulingError) as caught:
        sl.fold_storage(SLID, FUSED_ALLOC, "y", 2)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_refusal_in_a_long_program_shows_no_more_than_is_read() -> None:
    """The place is there, marked, and what is around it as far as that fits; of long lines, how they begin and end."""
    p = stencils(40)
    for _ in range(5):
        p = sl.split_loop(p, "s40.y", 4)
    for k in range(39, 31, -1):
        p = sl.compute_at(p, f"s{k}", "for y_4")
    for refused in (
        lambda: sl.fuse_calls(p, "s36", "s37", "both"),
        lambda: sl.reorder_statements(p, p.body()),
        lambda: sl.parallelize_loop(p, "for y"),
    ):
        with pytest.raises(sl.SchedulingError) as error:
            refused()
        message = str(error.value)
        shown = [line for line in str(error.value.place).splitlines() if line.startswith(">")]
        assert shown
        assert shown[0][:60] in message
        assert len(message) <= 1000
