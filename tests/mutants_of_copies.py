"""What is broken of rewrites of copies, of single calls and of shared memory."""

# ruff: noqa: E501 (the texts are as long as they stand in the code)

from __future__ import annotations

from mutants import (
    ALIASING,
    BORDERS,
    CALLS,
    DEPTHS,
    FOLLOWED,
    GATE,
    NO_ALIAS,
    NOT_SHARED,
    PRIMITIVES,
    REFUSALS,
    SHARED,
    SHARED_CALLS,
    STAY,
    STEADY,
    WHOLE,
    Mutant,
    mutants,
)

MUTANTS: list[Mutant] = []

# Copies that are read or written past, or taken to pieces -----------------------------------------------------------------

MUTANTS += mutants(
    "slinky/symbolic/followed.py",
    (FOLLOWED,),
    ("followed: by more than a sign", "if len(moving) != 1 or abs(moving[0][1]) != 1:", "if len(moving) != 1:"),
    ("followed: what is divided, too", "if symbols(rest).isdisjoint(dims) else None", ""),
    ("followed: backward", "return (i.min, i.max) if self.sign > 0 else (i.max, i.min)", "return (i.min, i.max)"),
)
MUTANTS += mutants(
    "slinky/sched/passing.py",
    (NO_ALIAS, ALIASING),
    ("passing: what no array shows", "    if not passage.is_affine():\n", "    if False:\n"),
    ("passing: the lower edges", "prove(limit.min <= taken.min, known) and ", ""),
    ("passing: the upper edges", " and prove(taken.max <= limit.max, known)", ""),
    ("passing: one source", "    if len(operation.sources) != 1:\n", "    if False:\n"),
    ("passing: written past already", "    if output.view is not None:\n        coordinates", "    if False:\n        coordinates"),
    ("passing: written past already, each dimension", "        if len(dims) != len(operation.dims):\n", "        if False:\n",
     "who writes past a copy has a coordinate for each of its dimensions; this stands guard"),
    ("passing: read past already", "    if view is not None:\n", "    if False:\n"),
    ("passing: parts are followed", "        *((places[limit.dim], limit.first, limit.last) for limit in copy.part),\n", ""),
    ("passing: bounds of the caller's", "    if box is None:\n        return tuple(ranges)\n", "    if box is None:\n        return ()\n"),
    ("passing: what bounds imply", "last = None if last is None or prove(taken.max <= last, known) else last", "last = last"),
    ("passing: what bounds do not imply", "last = None if last is None or prove(taken.max <= last, known) else last", "last = None"),
    ("passing: one place each", "if which is None or found[which.dim] is not None:", "if which is None:"),
    ("passing: elements that stand for several", "(i.min is not i.max or _depends_on_loops(i.min))",
     "_depends_on_loops(i.min)"),
    ("passing: a place that a loop says", "(i.min is not i.max or _depends_on_loops(i.min))", "i.min is not i.max"),
    ("passing: a place that a scalar says", " and not isinstance(s, Scalar) for s", " for s"),
    ("passing: parts of the copy", "    found = [attrs.evolve(limit, dim=output.dims.index(limit.dim)) for limit in copy.part]\n",
     "    found = []\n"),
    ("passing: parts at the edges", "        found.append(Limit(which.dim, limit.min, limit.max))\n", "        pass\n",
     "all of the source is shown to lie within the edges, and its bounds clamp who writes it; this stands guard"),
    ("passing: parts that are no boxes", "        if which is None:\n            return None\n        limit",
     "        if which is None:\n            continue\n        limit",
     "there is no way back then, either, and that is said first; this stands guard"),
    ("passing: parts that stay", "            *(_moved(limit, new_dims[limit.dim]) for limit in func.part),\n", ""),
    ("passing: parts of the target", "            *(Limit(positions[limit.dim], limit.first, limit.last) for limit in parts),\n", ""),
    ("passing: parts that are turned", "first, last = (limit.first, limit.last) if by.sign > 0 else (limit.last, limit.first)",
     "first, last = (limit.first, limit.last)"),
    ("passing: one output", "    if len(func.outputs) != 1:\n        return None\n    (output,)", "    output, *_"),
    ("passing: every dimension", "    if len(followers) != len(func.dims) or any(", "    if any(",
     "on the way back each dimension of the source has its coordinate; this stands guard"),
    ("passing: whole dimensions, backward", " or any(followers[d].sign < 0 for d, _ in func.whole):", ":"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/values.py",
    (NO_ALIAS, SHARED_CALLS),
    ("values: equal funcs", "return f is g and _firsts(mine, same)", "return _firsts(mine, same)"),
    (
        "values: equal sources of calls",
        "return f is g and _firsts(mine, same) == _firsts(yours, same)",
        "return f is g",
    ),
)
MUTANTS += mutants(
    "slinky/sched/primitives/copies.py",
    (NO_ALIAS, ALIASING),
    ("past: layouts", "    if alloc.layout is not None:\n", "    if False:\n"),
    ("past: who else writes", "if not all(are_equal_productions(version, w, call) for w in writers):", "if False:"),
    ("past: another source of that name", "        _require_equal_source(version, call, reader, source)\n", ""),
    ("past: another target of that name", "if found is not None and (home is None or found.id != home.id):", "if False:",
     "who reads the target would not find it; this stands guard"),
    ("past: edges, reading", "            if not passage.holds_in(touch.region, touch.known):\n", "            if False:\n"),
    ("past: edges, writing", "    if not passage.holds_in(box, known):\n", "    if False:\n"),
    ("past: what others write, one copy", "len(places) == 1 and contains(places[0], box, known)",
     "contains(places[0], box, known)",
     "where one copy alone has a place for all of the source, so have several; this stands guard"),
    ("past: what others write, a place", "len(places) == 1 and contains(places[0], box, known)", "len(places) == 1"),
    ("past: what others write, no box", "    if parts is None:\n", "    if False:\n",
     "there is no way back then, either, and that is said first; this stands guard"),
    ("past: what is read at the place of a part", "    ranges = ranges_back(ranges, passage, back)\n", "    ranges = ()\n"),
    ("past: whole pieces", "    if producer.func.multiples:\n", "    if False:\n"),
    ("past: readers that write the target", "    if target in reader.writes:\n", "    if False:\n"),
    ("past: bounds of the source", "own[d] = within(own[d], limit, version.facts_at(producer.id))", "pass",
     "the bounds of the target, or the limits of a part, clamp the producer there, too; this stands guard"),
    ("past: the target is there", "        _move_before(edit, home, alloc)\n", "        pass\n"),
    ("borders: seen by views", "        if any(port.view is not None for port in call.func.ports):\n", "        if False:\n"),
    ("borders: what nobody gives", "            if operation.fill is None:\n", "            if False:\n",
     "pipelines check that the sources of an assembly give all of it; this stands guard"),
    ("borders: limits", "piece = attrs.evolve(func, operation=operation, inputs=tuple(ports), part=(*func.part, *limits))",
     "piece = attrs.evolve(func, operation=operation, inputs=tuple(ports))"),
    ("borders: limits of outputs, below", "limit.first is not None and prove(limit.first <= bound.min, known)", "True"),
    ("borders: limits of outputs, above", "limit.last is not None and prove(bound.max <= limit.last, known)", "True"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/copies.py",
    (BORDERS,),
    ("borders: less than empty", "return behind if prove(limit.min <= behind, self.known) else maximum(limit.min, behind)",
     "return behind"),
)  # fmt: skip
# Single calls, and what an edit leaves alone ------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/primitives/rewriting.py",
    (CALLS, REFUSALS, WHOLE, PRIMITIVES),
    ("pieces: lacking dimensions", "        if d not in dims:\n", "        if False:\n"),
    ("pieces: whole dimensions", "    if d in whole:\n", "    if False:\n"),
)
MUTANTS += mutants(
    "slinky/sched/primitives/calls.py",
    (CALLS,),
    ("clone: what a reader needs", "known_needed is None else hull(known_needed, i)", "known_needed is None else i"),
    ("clone: outputs", "        if alloc is None:\n", "        if False:\n"),
    ("clone: what is in scope", "    if gone is not None:\n", "    if False:\n"),
    ("clone: other readers", "    if len(readers) == 1:\n", "    if False:\n"),
    (
        "cut: the first part",
        "within(whole, Interval(whole.min, at - 1), known)",
        "within(whole, Interval(whole.min, at - 2), known)",
    ),
)
MUTANTS += mutants(
    "slinky/sched/primitives/all_copies.py",
    (STAY,),
    ("keep: what is written past", "source.buffer in kept and source.id not in", "False and source.id not in"),
    ("keep: what is read past", " and source.id not in found._version.entries:", ":"),
    ("keep: room", "if place.min is not place.max and not inside(place, limit, known):", "if False:"),
)
MUTANTS += mutants(
    "slinky/sched/small_runs.py",
    (NOT_SHARED,),
    ("examples: who has written last", "        self.last[written] = lodger.number\n", ""),
    (
        "examples: in place",
        "if source is not memory and not self._works_in_place(",
        "if source is not memory and not (lambda *_: True)(",
    ),
    (
        "examples: other bytes",
        "reads_where_it_writes(call, *names) and np.array_equal(read, written)",
        "reads_where_it_writes(call, *names)",
    ),
)
MUTANTS += mutants(
    "slinky/sched/primitives/steady_state.py",
    (STEADY,),
    ("steady: the first edge", "yield taken.min - edges.min", "yield taken.min - edges.min + 1"),
    ("steady: the last edge", "yield edges.max - taken.max", "yield edges.max - taken.max + 1"),
    ("steady: what a call makes", "return source is None and target is not None", "return target is not None"),
    ("steady: the later loop", "CallCursor(p._version, after[before.index(copy._id)])", "p.forward(copy)"),
    ("steady: which of the calls", "after[before.index(copy._id)]", "after[0]"),
    ("steady: the other dimensions of the call", "margin = bounds(margin, others, known).min", "del others"),
    ("steady: cut for another copy", "if _is_beyond(call.box[dims[0]], steady, known):", "if False:"),
)
MUTANTS += mutants(
    "slinky/sched/legality/unchanged.py",
    (GATE, STEADY),
    ("unchanged: the order of users", " and new.in_order(users) == old.in_order(users)", ""),
    ("unchanged: loops around", " or any(outer in touched for outer in path[:-1])", ""),
    ("unchanged: sides of ifs", "if new.entries[user].field != old.entries[user].field:", "if False:"),
    ("unchanged: the regions", "return _use(old, before, buffer) == _use(new, now, buffer)", "return True"),
    ("unchanged: allocations", "    return before is now\n", "    return True\n"),
)

# Memory ---------------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/gate.py",
    (SHARED, NOT_SHARED),
    ("gate: memory", "        check_memory(version)\n", ""),
)
MUTANTS += mutants(
    "slinky/sched/legality/memory.py",
    (SHARED, NOT_SHARED),
    ("memory: hosts of hosts", "    if host_of(host) is not None:\n", "    if False:\n"),
    ("memory: folds", "        if fold is not None:\n", "        if False:\n"),
    ("memory: layouts", "    if alloc.layout is not None:\n", "    if False:\n"),
    ("memory: branches", "        if not isinstance(statement, For):\n", "        if False:\n"),
    ("memory: parallel loops", "statement.mode != SERIAL", "False"),
    ("memory: sizes", "    _require_known_size(version, guest, host, between)\n", ""),
    ("memory: order", "    if one.last == other.first:\n", "    if True:\n"),
    ("memory: uses at the same time", "    if one.last < other.first:\n", "    if True:\n"),
    ("memory: other users", "if len(users) != 1 or writers != users:", "if writers != users[:1]:"),
    ("memory: twice in place", "if len(users) != 1 or writers != users:", "if writers != users:"),
    ("memory: nobody", "    if not calls:\n", "    if False:\n"),
    ("memory: loops around the host", "if statement in (loop.id, *version.ancestors(loop.id))]", "]"),
    ("memory: one dimension", "if not any(one_before_the_other(", "if not all(one_before_the_other("),
    ("memory: other writers", "if len(users) != 1 or writers != users:", "if len(users) != 1:"),
    ("memory: declared", "    if not func.operation.in_place:\n", "    if False:\n"),
    ("memory: several outputs", "    if len(func.outputs) != 1:\n", "    if False:\n"),
    ("memory: the same points", "    if not reads_where_it_writes(call, a, b):\n", "    if False:\n"),
    ("memory: one block", "    if (here.parent, here.field) != (there.parent, there.field):\n", "    if False:\n"),
    ("memory: dtypes", "    if one.dtype != other.dtype:\n", "    if False:\n"),
    ("memory: bounds", "if not all(x is y or prove(equal(x, y), known) for x, y in ends):", "if False:"),
    ("memory: iterations", "if not any(one_before_the_other(", "if False and not any(one_before_the_other("),
)

# How deep mirrored edges are read -----------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/graph/copying.py",
    (DEPTHS,),
    ("depths: behind the last element", "hi + twice - behind", "hi + twice - behind + 1"),
    ("depths: before the first element", "lo - twice + before", "lo - twice + before - 1"),
    ("depths: nothing behind", "at if behind == 0 else minimum(at, first)", "at"),
    ("depths: nothing before", "at if before == 0 else maximum(at, last)", "at"),
)
MUTANTS += mutants(
    "slinky/graph/depths.py",
    (DEPTHS,),
    (
        "depths: what is asked first",
        "largest_difference(own.min, asked.min, {}, known)",
        "largest_difference(own.min, asked.max, {}, known)",
    ),
    ("depths: deep edges", " and found.value <= most else None", " else None"),
    ("depths: wide windows", "most = max(_SHALLOW, widest)", "most = _SHALLOW"),
)
