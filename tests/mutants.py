"""The lines that `mutations` breaks, and the tests that ought to notice.

One for each condition that keeps slinky right: every obligation of the gate, every statement of which a rewrite does
not claim to keep one (`but_for`), each condition in coverage, folds, races, values and scopes, the arithmetic of proofs,
what plans take as proved, and where elements are stored.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Mutant:
    """A change of one place of the code; `explained` says why no test can notice it, where that is so."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    explained: str = ""


MUTANTS: list[Mutant] = []

EDITING, CASES, LEGALITY = "tests/test_editing.py", "tests/test_legality_cases.py", "tests/test_legality.py"
REFUSALS, WHOLE, CHECKED = "tests/test_refusals.py", "tests/test_whole.py", "tests/test_checked_mode.py"
FOLDS, PRIMITIVES, LONGER = "tests/test_folds.py", "tests/test_primitives.py", "tests/test_legality_longer_loops.py"
IN_PLACE, STORAGE = "tests/test_in_place.py", "tests/test_storage.py"
PLAN, HOISTING = "tests/test_plan.py", "tests/test_plan_hoisting.py"
CLAMPS, CORPUS = "tests/symbolic/test_clamps.py", "tests/symbolic/test_corpus.py"
SOUNDNESS, REMAINDERS = "tests/symbolic/test_soundness.py", "tests/symbolic/test_remainders.py"


def _add(file: str, tests: tuple[str, ...], *mutants: tuple[str, str, str] | tuple[str, str, str, str]) -> None:
    """Mutations of one file: name, old text, new text, and why it survives if it must."""
    MUTANTS.extend(Mutant(name, file, old, new, tests, *why) for name, old, new, *why in mutants)


# The gate -------------------------------------------------------------------------------------------------------------

_add(
    "slinky/sched/gate.py",
    (EDITING, CASES, LEGALITY, WHOLE),
    ("gate: scopes", "        check_scopes(self.old, version, edit.touched, edit.reordered)\n", ""),
    ("gate: values", "        check_values(self.old, version, (*sorted(calls), *self.users), edit.copies)\n", ""),
    ("gate: values of users", "(*sorted(calls), *self.users), edit.copies", "tuple(sorted(calls)), edit.copies"),
    ("gate: whole dimensions", "        check_whole(version, edit.touched)\n", ""),
    ("gate: but for", "elif kept.but_for:", "elif False:"),
    ("gate: checks", "                self._check_checks(these)\n", "                pass\n"),
    ("gate: positive", "                check_positive(version, these)\n", "                pass\n"),
    ("gate: inputs", "                    check_inputs(version, identity)\n", "                    pass\n"),
    ("gate: reads", "                check_reads(version, these, self.remedies)\n", "                pass\n"),
    (
        "gate: readers",
        "                check_readers_of(version, self._written(these), self.remedies)\n",
        "                pass\n",
    ),
    ("gate: outputs", "                check_outputs(version, self._written(these))\n", "                pass\n"),
    ("gate: folds", "                self._check_folds(these)\n", "                pass\n"),
    (
        "gate: races",
        "                    check_races(version, identity, hint=self.hint)\n",
        "                    pass\n",
    ),
    ("gate: who is gone", "in (self.version.entries, self.old.entries) for", "in (self.version.entries,) for"),
    ("gate: who is gone, readers", "tuple(dict.fromkeys((*self._calls(), *self.touched)))", "self._calls()"),
    ("gate: leading checks", '        if (ROOT, "body") in self.edit.reordered:\n', "        if False:\n"),
    (
        "gate: checks that move",
        "if now != before or (before.parent, before.field) in self.edit.reordered:",
        "if now != before:",
    ),
    ("gate: calls of an alloc", "if self.users else own", "if False else own"),
    ("gate: races of an alloc", "self._parallel_loops((*self.touched, *self.users))", "self._parallel_loops(self.touched)"),
    ("gate: races around", "for outer in (i, *version.ancestors(i)))", "for outer in (i,))"),
    (
        "gate: folds of an alloc",
        "return (*self._in_order(Alloc), *self._calls())",
        "return self._calls()",
        "who reads or writes the buffer is among the calls, and its folds are asked for them; without any, none matter",
    ),
)  # fmt: skip

# Legality: names, values, whole dimensions ----------------------------------------------------------------------------

_add(
    "slinky/sched/legality/values.py",
    (EDITING,),
    ("values: func", "if before.func is call.func and before.reads", "if before.reads"),
    ("values: sources", "and before.reads == call.reads and", "and"),
    ("values: targets", "before.reads == call.reads and before.writes == call.writes:", "before.reads == call.reads:"),
    ("values: allocations", "return copies.get(candidates[0], candidates[0]) == others[0]", "return True"),
    (
        "values: which allocation",
        "return _source(new, buffer, after, copies) == _source(old, buffer, before, {})",
        "return True",
    ),
    ("values: production", "if not any(_production(old, other, {}) == wanted for other in those):", "if False:"),
)
_add(
    "slinky/sched/legality/scopes.py",
    (EDITING,),
    ("scopes: depth", "if len(around) >= DEEPEST_NEST:", "if False:"),
    ("scopes: loops of one name", "    if name in around:", "    if False:"),
    ("scopes: a loop like a buffer", "if version.is_allocated(name) or any(", "if any("),
    ("scopes: a loop like a parameter", "or any(p.name == name for p in version.program.parameters())", ""),
    ("scopes: a buffer like a parameter", "if version.global_box(alloc.buffer) is not None or any(", "if any("),
    ("scopes: hidden by an outer one", "_is_in_scope(version, alloc.id, other) or", ""),
    ("scopes: hidden by an inner one", " or _is_in_scope(version, other, alloc.id) for", " for"),
    ("scopes: dimensions", "is_known = box is not None and dim < len(box)", "is_known = True"),
    ("scopes: scalars", "is_known = any(p.name == name for p in version.program.scalars)", "is_known = True"),
    ("scopes: variables", "is_known = around.get(name) is symbol", "is_known = True"),
    (
        "scopes: allocated",
        "if new.global_box(buffer) is None and new.alloc_of(buffer, identity) is None:",
        "if False:",
    ),
    (
        "scopes: users of what is gone",
        "                asked.update(dict.fromkeys((*new.writers(gone), *new.readers(gone))))\n            continue",
        "                pass\n            continue",
    ),
    ("scopes: users of what moves", "                asked.update(dict.fromkeys(users))\n", "                pass\n"),
    ("scopes: another block", "            or before.parent != now.parent\n", ""),
    ("scopes: another order", "            or (now.parent, now.field) in reordered\n", ""),
    ("scopes: another variable", "            or _variable(before.statement) is not _variable(now.statement)\n", ""),
    ("scopes: around", "            or _is_moved(old, new, now.parent, reordered, known)\n", ""),
)
_add(
    "slinky/sched/legality/wholes.py",
    (WHOLE,),
    ("wholes: all of it", "if not (inside(all_of_it, box[d], known) and inside(", "if not (inside("),
    ("wholes: allocations", "for writer in version.writers(statement.buffer):", "for writer in ():"),
)
_add(
    "slinky/sched/legality/positive.py",
    (EDITING,),
    ("positive: steps", "case For(step=step, variable=variable):", "case For(step=step, variable=variable) if False:"),
    ("positive: folds", "if fold is not None:\n                        _require", "if False:\n                        _require"),
)  # fmt: skip

# Legality: coverage ---------------------------------------------------------------------------------------------------

_add(
    "slinky/sched/legality/coverage.py",
    (CASES, LEGALITY),
    ("coverage: branches", "if here.field == there.field and version.position(own", "if version.position(own"),
    ("coverage: before", "version.position(own[common]) < version.position(path[common]):", "True:"),
    (
        "coverage: parallel iterations",
        "isinstance(loop, For) and loop.mode == SERIAL:",
        "isinstance(loop, For):",
        "a read of what another iteration wrote is refused as a race, too; this stands guard",
    ),
    ("coverage: since it was allocated", "if path[depth] in shared and isinstance", "if isinstance"),
    ("coverage: this buffer", "if alloc is None or version.alloc_of(buffer, identity) is alloc:", "if True:"),
    ("coverage: else", "return statement.condition if in_body else negate(statement.condition)",
     "return statement.condition"),
    ("coverage: last iteration", "last = range_.min + step * ((range_.max - range_.min) // step)", "last = range_.max"),
    ("coverage: under a condition", "                if narrowed is None:\n                    return None\n",
     "                if narrowed is None:\n                    continue\n"),
    (
        "coverage: earlier iterations",
        "_Sweep(self._fresh(prior), prior.range.min, prior.variable - prior.step, prior.step)",
        "_Sweep(self._fresh(prior), prior.range.min, prior.variable, prior.step)",
    ),
    (
        "coverage: first iteration",
        "            if not self._cover_by_cases(needed, started, first, inner):\n                return False\n",
        "            pass\n",
    ),
    ("coverage: later iterations", "return self._cover_by_cases(region, [*boxes, *earlier], later, inner)", "return True"),
    ("coverage: both ways", "return all(self._covers_whether_or_not", "return any(self._covers_whether_or_not"),
    ("coverage: fresh names", "return variable(f\"{loop.variable.name}'{self.serial}\")", "return loop.variable"),
    ("coverage: hidden dimensions", "if hidden and not prove(not_empty(hidden), context):", "if False:"),
    ("coverage: idle loops", "return covered if any(prove(i.max < i.min, idle) for i in covered) else None",
     "return covered"),
    ("coverage: gaps", "if not prove(next_low <= minimum(*high) + 1, following):",
     "if not prove(next_low <= minimum(*high) + 2, following):"),
    ("coverage: ends that stand still", "        if low and high:\n            following", "        if False:\n            following"),
    ("coverage: diagonals",
     "Interval(bounds(box[k].min, ranges, known).max, bounds(box[k].max, ranges, known).min)",
     "Interval(bounds(box[k].min, ranges, known).min, bounds(box[k].max, ranges, known).max)"),
    ("coverage: floors", "maximum(*(substitute(e, at_first) for e in low), *floors)",
     "maximum(*(substitute(e, at_first) for e in low))"),
    ("coverage: caps", "minimum(*(substitute(e, at_last) for e in high), *caps)",
     "minimum(*(substitute(e, at_last) for e in high))"),
    ("coverage: inside below", "return shown(outer.min, inner.min, known) and shown(", "return shown("),
    ("coverage: inside above", " and shown(inner.max, outer.max, known)\n", "\n"),
    ("coverage: a short look, one box", "if not (low and high)]", "if not low]"),
    ("coverage: a short look, one dimension", "        if len(short) == 1:", "        if short:"),
    ("coverage: a short look, the same dimension", "        d == e and at_most(b.min", "        at_most(b.min"),
    ("coverage: a short look, gaps", "maximum(a.max + 1, region[d].min), known)", "maximum(a.max + 2, region[d].min), known)"),
    ("coverage: a short look, the end", " and at_most(region[d].max, b.max, known)\n", "\n"),
    ("coverage: proofs, one dimension", "        if len(outside) > 1:\n            continue\n", ""),
    ("coverage: proofs, left above", "maximum(need.min, have.max + 1)", "maximum(need.min, have.max + 2)"),
    ("coverage: proofs, left below", "minimum(need.max, have.min - 1)", "minimum(need.max, have.min - 2)"),
    ("coverage: proofs, what is reached", "        if shown(have.min, need.min, known):\n", "        if True:\n"),
    # Conditions that narrow a loop
    ("narrowed: a multiple", "if factor not in (1, -1) or not symbols", "if not symbols"),
    ("narrowed: what moves inside", "if factor not in (1, -1) or not symbols(bound).isdisjoint(inside):",
     "if factor not in (1, -1):"),
    ("narrowed: onto the grid", "(bound - self.first + self.step - 1) // self.step", "(bound - self.first) // self.step"),
    ("narrowed: from the first", "first=maximum(self.first, self.first + self.step * steps)",
     "first=self.first + self.step * steps"),
    ("narrowed: up to the last", "last=minimum(self.last, self.first + self.step * steps)",
     "last=self.first + self.step * steps"),
    ("narrowed: by steps", "        steps = (bound - self.first) // self.step\n", "        steps = bound - self.first\n"),
    ("narrowed: by whom", "inside: set[Expr] = {inner.variable for inner in sweeps[n:]}",
     "inside: set[Expr] = {inner.variable for inner in sweeps[n : n + 1]}"),
    ("narrowed: not clear", "        else:\n            return None\n    return sweeps, known",
     "        else:\n            continue\n    return sweeps, known"),
    ("narrowed: every part", "    for part in condition.operands if isinstance(condition, And) else (condition,):\n        if prove",
     "    for part in condition.operands[:1] if isinstance(condition, And) else (condition,):\n        if prove"),
)  # fmt: skip

# Legality: reads, folds, races ----------------------------------------------------------------------------------------

_add(
    "slinky/sched/legality/reads.py",
    (CASES, LEGALITY),
    ("reads: inputs", "if limits is not None and not contains(limits, touch.region, touch.known):", "if False:"),
    ("reads: outputs", "if not Coverage(version, name, None, None).covers(box, known):", "if False:"),
    ("reads: which read", 'key = ("gap", buffer, touch.call.id, touch.region)', 'key = ("gap", buffer, touch.call.id)'),
    (
        "reads: out of scope",
        "    if alloc is None and version.global_box(buffer) is None:\n",
        "    if False:\n",
        "the scopes refuse a call of a buffer that is not allocated there before coverage is asked",
    ),
    ("reads: no writers", "if alloc is None and not writers:", "if not writers:"),
)  # fmt: skip
_add(
    "slinky/sched/legality/folds.py",
    (CASES, LEGALITY, FOLDS, REFUSALS),
    (
        "folds: writes over writes",
        "    pairs += [(write, other, known) for write, known in window.writes for other, _ in window.writes]\n",
        "",
    ),
    (
        "folds: what the reader knows",
        "[(write, read, known) for write, _ in window.writes for read, known in window.reads]",
        "[(write, read, known) for write, known in window.writes for read, _ in window.reads]",
    ),
    ("folds: one more", "if at_most(write.max, other.min + factor - 1, known):", "if at_most(write.max, other.min + factor, known):"),
    ("folds: one more, by difference", "prove(most + 1 <= factor, known)", "prove(most <= factor, known)"),
    ("folds: one more, by proof", "fits = write.max - other.min + 1 <= factor", "fits = write.max - other.min <= factor"),
    ("folds: parallel loops", "    if loop.mode != SERIAL:\n", "    if False:\n"),
    ("folds: beginnings go on", "for end in (write.min, write.max):", "for end in (write.max,):"),
    ("folds: ends go on", "for end in (write.min, write.max):", "for end in (write.min,):"),
    ("folds: one loop around", "    if len(outermost) == 1:", "    if outermost:"),
    ("folds: loops inside", "over_loops(touch.region[dim], inner, touch.known), _forget", "touch.region[dim], _forget"),
    ("folds: each buffer", "for alloc in allocs_touched(version, calls):", "for alloc in allocs_touched(version, calls)[:1]:"),
    (
        "folds: facts of loops inside",
        "_forget(touch.known, inner)",
        "touch.known",
        "such facts speak of variables that no longer occur, and of what holds whenever the access happens at all",
    ),
)  # fmt: skip
_add(
    "slinky/sched/legality/races.py",
    (CASES, LEGALITY, REFUSALS),
    ("races: folds", "if alloc is not None and any(fold is not None for fold in alloc.folds):", "if False:"),
    ("races: writes", "        _check_disjoint_writes(version, loop, buffer, writers, hint)\n", ""),
    ("races: reads", "if name == buffer and not _OwnIteration(", "if False and not _OwnIteration("),
    ("races: own iteration", "if loop.id in version.ancestors(c.call.id)]", "]"),
    ("races: loops around", "[inner for inner in self.loops if inner.id not in outer]", "self.loops"),
    ("races: loops inside", "over_loops(touch.region[d], inner, touch.known)", "touch.region[d]"),
    ("races: all writers", "in writers), writing=True)\n    rank", "in writers[:1]), writing=True)\n    rank"),
)
_add(
    "slinky/ir/scopes.py",
    (CASES, LEGALITY, REFUSALS),
    ("scope: else", 'return (condition if block == "body" else negate(condition),)', "return (condition,)"),
    ("scope: apart", "prove(a.max < substitute(b.min, onward), known)", "prove(a.max <= substitute(b.min, onward), known)"),
    ("scope: go on", " and prove(b.min <= substitute(b.min, onward), known)\n", "\n"),
    ("scope: each with each", "        for b in intervals\n    )", "        for b in [a]\n    )"),
    (
        "scope: all loops",
        "        i = Interval(bounds(i.min, ranges, known).min, bounds(i.max, ranges, known).max)\n    return i",
        "        return Interval(bounds(i.min, ranges, known).min, bounds(i.max, ranges, known).max)\n    return i",
    ),
    ("scope: ranges", "return (range_.min <= variable, variable <= range_.max, step >= 1)",
     "return (range_.min <= variable, variable < range_.max, step >= 1)"),
    (
        "scope: leading checks",
        "        if not isinstance(statement, Check):\n            return\n",
        "        if not isinstance(statement, Check):\n            continue\n",
    ),
)  # fmt: skip
_add(
    "slinky/ir/effects.py",
    (CASES, LEGALITY, REFUSALS),
    ("effects: clamps", "clamped[dim] = intersection(clamped[dim], i)", "pass"),
    (
        "effects: each clamp",
        "found = bound if found is None else intersection(found, bound)\n    assert",
        "found = bound\n    assert",
    ),
    ("effects: numbers", "box[dim] = (max(lo, first), min(hi, last))", "box[dim] = (max(lo, first), hi)"),
)

# Primitives -----------------------------------------------------------------------------------------------------------

_add(
    "slinky/sched/primitives/loops.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES),
    ("split: folds of a shift", "Kept(SAME_ORDER_TWICE, (Obligation.FOLDS,), but_for=inside)",
     "Kept(SAME_ORDER_TWICE, (Obligation.FOLDS,))"),
    ("split: races of a shift", "but_for=(outer.id,) if outer.mode != SERIAL else ()", "but_for=()"),
    ("split: shift by steps", "            if not is_one(loop.step):\n", "            if False:\n"),
    ("split: lacking dimensions", "        if d not in dims:\n", "        if False:\n"),
    ("split: whole dimensions", "if any(d == whole for whole, _ in call.func.whole):", "if False:"),
    ("split: perfect calls", "            _require_perfect(version, call.id, whole.extent, factor, known)\n", ""),
    ("split: perfect loops", "            _require_perfect(version, loop.id, count, factor, known)\n", ""),
    ("split: cut before it begins", "return count if prove(count >= 0, known) else maximum(count, 0)", "return count"),
    ("split: shift before it begins", "lo = start if prove(whole.min <= limit.min, known) else maximum(start, whole.min)",
     "lo = start"),
    ("split: clamp at the end", "hi = last if prove(limit.max <= whole.max, known) else minimum(last, call.box[d].max)",
     "hi = last"),
    ("reorder: start", '("start", inner.range.min), ', ""),
    ("reorder: end", '("end", inner.range.max), ', ""),
    ("reorder: step", ', ("step", inner.step)', ""),
    ("reorder: readers and folds", "Kept(SAME_ITERATIONS, proved, but_for=inside)", "Kept(SAME_ITERATIONS, proved)"),
    ("reorder: races", "but_for=tuple(swapped.id for swapped in (new_outer, new_inner) if swapped.mode != SERIAL)",
     "but_for=()"),
    ("cut: below", "    if not prove(low <= start, known):\n        start = maximum(start, low)\n", ""),
    ("cut: above", "    if not prove(end <= high, known):\n        end = minimum(at - 1, high)\n", ""),
    ("parallelize: races", "Kept(RACES_SAY_MORE, (Obligation.RACES,), but_for=(loop._id,))",
     "Kept(RACES_SAY_MORE, (Obligation.RACES,))"),
)  # fmt: skip
_add(
    "slinky/sched/primitives/placement.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES),
    ("compute_at: inputs", "(Obligation.INPUTS,), but_for=working[1:])", "(Obligation.INPUTS,))"),
    ("compute_at: reads and folds", "(Obligation.READS, Obligation.FOLDS), but_for=working)",
     "(Obligation.READS, Obligation.FOLDS))"),
    (
        "compute_at: readers",
        "(Obligation.READERS,), but_for=(moved.id,))",
        "(Obligation.READERS,))",
        "the call computes the hull of what its readers ask for in the iterations that there were; this stands guard",
    ),
    ("compute_at: outputs", "but_for=(moved.id,) if is_output else ())", "but_for=())"),
    ("compute_at: races", "(Obligation.RACES,), but_for=parallel)", "(Obligation.RACES,))"),
    ("compute_at: readers outside", "    if outside is not None:\n", "    if False:\n"),
    ("compute_at: the other branch", "if not same_block or version.position", "if version.position"),
    ("compute_at: behind", " or version.position(call._id) > version.position(sibling):", ":"),
    ("compute_at: every read", "needed[d] = ranged if earlier is None else hull(earlier, ranged)", "needed[d] = ranged"),
    ("compute_at: loops inside", "ranged = over_loops(i, around, known)", "ranged = i"),
    ("compute_at: lacking dimensions", "if i is None or d not in everywhere or (is_output and not moves):",
     "if i is None or (is_output and not moves):"),
    ("compute_at: all of an output", " or (is_output and not moves):", ":"),
    ("compute_at: part of a whole", "            _require_no_part(version, call, d, i, loop)\n", ""),
    ("compute_root: inputs and reads", "Kept(ONLY_SOME_CHANGED, proved, but_for=(moved.id,))",
     "Kept(ONLY_SOME_CHANGED, proved)"),
    ("compute_root: folds", "edit.update(with_folds(alloc, (None,) * len(alloc.folds)))", "pass"),
)  # fmt: skip
_add(
    "slinky/sched/primitives/sliding.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES),
    ("slide: inputs", "(Obligation.INPUTS,), but_for=working[1:])", "(Obligation.INPUTS,))"),
    ("slide: reads and folds", "(Obligation.READS, Obligation.FOLDS), but_for=working)",
     "(Obligation.READS, Obligation.FOLDS))"),
    ("slide: readers and outputs", "(Obligation.READERS, Obligation.OUTPUTS), but_for=(old.id,))",
     "(Obligation.READERS, Obligation.OUTPUTS))"),
    ("slide: races", "(Obligation.RACES,), but_for=outside)", "(Obligation.RACES,))"),
    ("slide: forward", "    _require_forward(version, call, loop, window, known.also(step >= 1))\n", ""),
    ("slide: beginnings go on", '(("start", window.min), ("end", window.max))', '(("end", window.max),)'),
    ("slide: where it starts", "        if not prove(condition, ranges):\n", "        if False:\n"),
    ("slide: what is folded", "alloc.folds[dims.index(d)] is not None:", "False:"),
    ("slide: allocated inside", "if alloc is not None and loop._id in version.ancestors(alloc.id):", "if False:"),
    ("slide: parallel loops", "    if around.mode != SERIAL:\n", "    if False:\n"),
    ("slide: lacking dimensions", "        if d not in dims:\n", "        if False:\n"),
)  # fmt: skip
_add(
    "slinky/sched/primitives/ranges.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES),
    ("extend: steady loops", "    _require_steady_inner_loops(version, loop)\n", ""),
    ("extend: nothing behind", "            _require_nothing_behind(version, call, loop)\n", "            pass\n"),
    ("extend: clamps", "    return Interval(maximum(i.min, floor), i.max)\n", "    return i\n"),
    ("extend: forward", "    if not shown(floor, i.min, known):\n", "    if False:\n"),
    ("extend: who works", "            if not _is_idle(version, call, box, loop, before):\n", "            if False:\n"),
    ("extend: idle", "            last = i.max + 1\n", "            last = i.max\n"),
    ("extend: folds", "    _keep_folds_positive(edit, version, loop, wider)\n", ""),
    ("extend: whole steps", "steps = (missing + each - 1) // each", "steps = missing // each"),
    ("extend: a quotient", "- d * ((first_low - offset - 1) // m) - d + 1", "- d * ((first_low - offset - 1) // m) - d"),
)
_add(
    "slinky/sched/primitives/storage.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES),
    ("fold_storage: the fold", "    check_fold(version, old, d, factor)\n", ""),
    ("fold_storage: a second one", "        if fold is not None and other != d:\n", "        if False:\n"),
    ("store_at: readers", "Kept(LESS_LIFE, (Obligation.READERS,), but_for=writing)",
     "Kept(LESS_LIFE, (Obligation.READERS,))"),
    ("store_at: other outputs", "    touched += touches(version, old.buffer, together, writing=True)\n", ""),
    ("store_at: bounds", "            needed = intersection(needed, bound)\n", "            pass\n"),
    ("store_at: used outside", "        if target.id not in version.ancestors(identity):\n", "        if False:\n"),
    ("store_at: whole dimensions", "if needed is None or d in whole:", "if needed is None:"),
    ("lift: parallel loops", "        if passed.mode != SERIAL:\n", "        if False:\n"),
    ("lift: folds of a loop", "if fold is not None and passed.variable in symbols(fold):", "if False:"),
    ("lift: names", "    _require_free_name(version, old, outermost)\n", ""),
    ("lift: clamps", "            _keep_clamped(edit, version, identity, old, box)\n", "            pass\n"),
    ("lift: positive folds", "None if f is None else at_least_one(f, outside) for f", "f for f"),
)  # fmt: skip
_add(
    "slinky/sched/primitives/rewriting.py",
    (REFUSALS, PRIMITIVES, CASES),
    ("within: below", "lo = i.min if prove(limit.min <= i.min, known) else intersection(i, limit).min", "lo = i.min"),
    ("within: above", "hi = i.max if prove(i.max <= limit.max, known) else intersection(i, limit).max", "hi = i.max"),
    ("factors: checked", '    edit.add_check(value >= 1, f"{what} must be 1 or more")\n', ""),
)
_add(
    "slinky/sched/primitives/blocks.py",
    (REFUSALS, PRIMITIVES, CASES),
    ("swap: reads and folds", "Kept(SWAPPED, proved, but_for=inside)", "Kept(SWAPPED, proved)"),
    ("swap: allocations", "    if isinstance(first, Alloc) and first.buffer in used:\n", "    if False:\n",
     "the scopes refuse a call before the allocation of its buffer, with other words"),
    ("swap: checks", "    if isinstance(first, Check) and not isinstance(second, (Check, Alloc)):\n", "    if False:\n"),
)  # fmt: skip

# Storage: memory in place, lifetimes, rings, checked mode --------------------------------------------------------------

_add(
    "slinky/runtime/in_place.py",
    (IN_PLACE,),
    ("in place: read last", "if read in dying and read in allocs", "if read in allocs"),
    ("in place: the same box", "a.dtype == b.dtype and a.box == b.box", "a.dtype == b.dtype"),
    ("in place: the same dtype", "a.dtype == b.dtype and a.box == b.box", "a.box == b.box"),
    ("in place: one output", "                    break  # one output only: a second one could be written before the first is read\n", ""),
    ("in place: not touched before", "                    fresh.pop(name, None)\n", "                    pass\n"),
    ("in place: no folds", "return all(fold is None for fold in alloc.folds)", "return True"),
    ("in place: an output of one call", "for p in program.outputs if touched[p.name] == 1}", "for p in program.outputs}"),
    ("in place: written alone", "or len(statement.writes) != 1:", "or not statement.writes:"),
    ("in place: an output's dtype", " or last.dtype != dtype or read not in", " or read not in"),
    ("in place: read last, output", " or read not in last_uses.get(position, ()):", ":"),
    ("in place: who sees an output", "c.func.operation.in_place for c in calls if not", "True for c in calls if not"),
    ("in place: iterations apart", ") and _iterations_are_apart(statement, scope.loops, before_loops):", "):"),
    ("in place: each parallel loop", "            return False\n    return True", "            return True\n    return True"),
    ("in place: loops inside", "reversed(loops[n + 1 :])", "()"),
    ("in place: all dimensions", "        if output.rank == len(func.dims):\n", "        if True:\n"),
    ("in place: every read", "if all(_same_points(func, port, output)", "if any(_same_points(func, port, output)"),
    ("in place: the same points", "i.min is dim and i.max is dim for", "i.min is dim for"),
)  # fmt: skip
_add(
    "slinky/runtime/lifetimes.py",
    (IN_PLACE, PLAN),
    ("lifetimes: the last use", "                last.update(dict.fromkeys(own.intersection(buffers_named(inner)), position))\n",
     "                last = {**dict.fromkeys(own.intersection(buffers_named(inner)), position), **last}\n"),
)  # fmt: skip
_add(
    "slinky/runtime/codegen/sites.py",
    (PLAN, IN_PLACE, "tests/test_memory_figures.py"),
    ("sites: until the last use", "kinds[site] = attrs.evolve(kinds[site], dies=dies)", "pass"),
)
_add(
    "slinky/runtime/storage.py",
    (STORAGE,),
    ("storage: rows", "first * row % size)\n", "first * row % (size - row))\n"),
    ("storage: rows inside", "first * row % size, strides)", "first % size * row, strides)"),
    ("storage: out of bounds", "            if lo < first or hi > last:\n", "            if lo < first:\n"),
    ("storage: too long", "                if extent > self.place.rows:\n", "                if False:\n"),
    ("storage: from the first", "slice(lo - first, lo - first + extent)", "slice(lo, lo + extent)"),
    ("storage: bytes of a ring", "size = mirrored.whole_pages(factor * row)", "size = mirrored.whole_pages((factor - 1) * row)"),
    ("storage: never more", "    if size >= row * shape[dim]:\n", "    if size > 2 * row * shape[dim]:\n"),
    ("storage: by the program", "min(extent, factor)", "factor"),
)  # fmt: skip
_add(
    "slinky/runtime/shadow.py",
    (CHECKED, CASES),
    ("shadow: short folds", "f if f is not None and f < extent else None for", "f for"),
    ("shadow: places", "coordinates - first if fold is None else coordinates % fold", "coordinates - first"),
    ("shadow: what was never written", "np.argwhere(self.held < 0)", "np.argwhere(self.held < -1)"),
    ("shadow: what is held", "wrong = np.argwhere(held != expected)", "wrong = np.argwhere(held < 0)"),
    ("shadow: what is written", "        self.held[places] = self._numbers(box)\n", "        self.held[places] = np.maximum(self.held[places], self._numbers(box))\n"),
    ("shadow: numbers", "numbers = numbers * self.shape[d] + along", "numbers = numbers + along"),
    ("shadow: races of writers", "        if race is not None:\n            raise self._error(race, f\"{writer} writes\", box)\n", ""),
    ("shadow: races of readers", "        if race is not None:\n            raise self._error(race, f\"{reader} reads\", box)\n", ""),
)  # fmt: skip
_add(
    "slinky/runtime/races.py",
    (CHECKED, CASES),
    ("iterations: of one run", "        if run is not other_run:\n            return None\n", ""),
    ("iterations: other values", "        if value != other_value:\n", "        if value > other_value:\n"),
    ("iterations: readers", '            verbs = ("written", "read", "read")\n            found = (self._race(kept[places], v, iteration) for kept, v in zip(self._noted, verbs, strict=True))',
     '            verbs = ("written", "read", "read")\n            found = (self._race(kept[places], v, iteration) for kept, v in zip(self._noted[:1], verbs, strict=False))'),
    ("iterations: two readers", "zip(self._noted, verbs, strict=True))", "zip(self._noted[:2], verbs, strict=False))"),
    ("iterations: the other reader", "last[places], other[places] = self._number(now), kept", "last[places] = self._number(now)"),
    ("iterations: the outermost", "return min(((level, n)", "return max(((level, n)"),
)  # fmt: skip

# Plans ----------------------------------------------------------------------------------------------------------------

HANDMADE_PLANS = "tests/test_plan_limits.py::test_an_allocation_in_a_loop_that_does_nothing"
AGREEMENT = "tests/test_plan_properties.py"

_add(
    "slinky/runtime/codegen/calls.py",
    (HOISTING, PLAN, CHECKED, AGREEMENT),
    ("plan: clamps", "lows[dim].append(boxes[buffer][position].min)\n", "pass\n"),
    ("plan: empty calls", "unsure = [i for i in box if not prove(i.min <= i.max, writer.known)]\n        if any(", "unsure = []\n        if any("),
    ("plan: regions inside", "                    self._writer.stop_if(negate(condition), BadRegion(number), call)\n", "                    pass\n"),
    ("plan: longer than the fold", "            if not prove(extent <= fold, self._writer.known):\n", "            if False:\n"),
)  # fmt: skip
_add(
    "slinky/runtime/codegen/scopes.py",
    (HOISTING, PLAN, AGREEMENT),
    ("plan: early divisions", "return all(prove(q.denominator >= 1, known) for q in quotients(node, self._known_quotients))", "return True"),
    ("plan: homes", "                if own.level > home.level:\n", "                if own.level < home.level:\n"),
    ("plan: bound no longer", "                if self.homes.get(symbol) is inner:\n                    del self.homes[symbol]\n",
     "                pass\n"),
    ("plan: less than", "strict = linear(expr)[0] == -1  #", "strict = linear(expr)[0] in (-1, 0)  #"),
)  # fmt: skip
_add(
    "slinky/runtime/codegen/views.py",
    (HOISTING, PLAN, AGREEMENT),
    ("plan: early windows", "            if not self._there_are_such_windows(buffer, folded, base.facts.known):\n", "            if False:\n"),
    ("plan: windows of no length", "            prove(c.extent >= 0, known) and (fold", "            (fold"),
    ("plan: windows too long", " is not None and prove(c.extent <= fold, known)\n", " is not None\n"),
    ("plan: whole dimensions", "is_whole = constant_value(offset) == 0 and constant_value(rest) == 0", "is_whole = constant_value(offset) == 0"),
    ("plan: crops of no length", "            extent = maximum(extent, 0)\n", "            pass\n"),
)  # fmt: skip
_add(
    "slinky/runtime/codegen/allocations.py",
    (HOISTING, PLAN, "tests/test_plan_limits.py", IN_PLACE),
    ("plan: early arrays", "or not all(prove(e >= 0, known) for e in extents):", ":"),
    ("plan: early folds", "            if not all(prove(fold >= 1, known) for fold in folds):\n                break\n", ""),
    ("plan: early memory", "            if not (is_reserved or scope.is_certain):\n                break\n", ""),
    ("plan: loops that never run", "tuple([self._writer.value(condition) for condition in self._unsure(loops)])", "()"),
    ("plan: the most of any iteration", "                extent = bounds(extent, {loop.variable: loop.range}, inner).max\n",
     "                extent = bounds(extent, {loop.variable: loop.range}, inner).min\n"),
    ("plan: folds below one", "                writer.stop_if(fold <= 0, BadFold(d), given)\n", "                pass\n"),
    ("plan: just a part of an output", "        if not all(map(self._same, (*effect.box, *effect.box[1:]), (*alloc.box, *limits[1:]))):\n            return None\n", ""),
)  # fmt: skip
_add(
    "slinky/runtime/codegen/loops.py",
    (PLAN, HOISTING, AGREEMENT),
    ("plan: steps below one", "            writer.stop_if(step <= 0, BadStep(), loop)\n", "            pass\n"),
    ("plan: certain loops", "is_certain = len(parts) == 1 and prove(lo <= hi, writer.known)", "is_certain = True"),
)
_add(
    "slinky/runtime/codegen/peeling.py",
    (PLAN, HOISTING, AGREEMENT),
    ("peeling: rounded up", "return (-(rest // rate), True) if rate > 0", "return (-rest // rate, True) if rate > 0"),
    ("peeling: rounded down", "else (rest // -rate, False)", "else (-(-rest // -rate), False)"),
    ("peeling: the strongest", "if any(prove(sign * (other - threshold) >= 0, known) for other in others):",
     "if any(prove(sign * (other - threshold) <= 0, known) for other in others):"),
    ("peeling: the fastest", "best = max((rate", "best = min((rate"),
)  # fmt: skip
_add(
    "slinky/runtime/codegen/pieces.py",
    (PLAN, HOISTING, AGREEMENT),
    ("pieces: the first alone", "once = constant_value(begin - first) == 1", "once = constant_value(begin - first) is not None"),
    ("pieces: not the steady state", "return (negate(conditions[0]),) if len(conditions) == 1 else ()", "return tuple(map(negate, conditions))"),
    ("pieces: behind", "minimum(*(t + 1 for t in found.upper), stop)", "minimum(*(t + 2 for t in found.upper), stop)"),
    ("pieces: before", "minimum(maximum(first, *found.lower), stop)", "minimum(maximum(first, *(t - 1 for t in found.lower)), stop)"),
    ("pieces: steps before", "maximum(0, *(-((first - t) // step) for t in found.lower))", "maximum(0, *((t - first) // step for t in found.lower))"),
    ("pieces: steps behind", "counted = [(t - first) // step + 1 for t in found.upper]", "counted = [(t - first) // step + 2 for t in found.upper]"),
    ("pieces: early divisions", "lower, upper = (tuple(t for t in ts if writer.is_safe(t, writer.known)) for ts", "lower, upper = (tuple(ts) for ts"),
)  # fmt: skip

# Proofs ---------------------------------------------------------------------------------------------------------------

_add(
    "slinky/symbolic/inequalities.py",
    (CORPUS, SOUNDNESS),
    ("proofs: rows of one direction", "if known is None or offset < known:", "if known is None or offset > known:"),
    ("proofs: rows that contradict", "opposite + offset < 0:\n            raise", "opposite + offset <= 0:\n            raise"),
    ("proofs: combined", "b * low_offset + a * high_offset)", "b * low_offset + a * high_offset - 1)"),
    ("proofs: splits", "return (*[-a for a in row], k), (*row, -k - 1)", "return (*[-a for a in row], k), (*row, -k - 2)"),
)
_add(
    "slinky/symbolic/search.py",
    (CORPUS, SOUNDNESS, CASES),
    ("proofs: all branches", "if self.budget < 0 or not self.refute(system.extended(rows, inner, case)):\n                return False",
     "if self.budget >= 0 and self.refute(system.extended(rows, inner, case)):\n                return True"),
    ("proofs: given up", "        if self.work.left < 0:\n            return False\n", ""),
)  # fmt: skip
_add(
    "slinky/symbolic/chaining.py",
    (CORPUS, SOUNDNESS),
    ("chains: rounding", "multiple * offset + multiple - 1 - factor", "multiple * offset + multiple - factor"),
    ("chains: tightest", "if least is not None and least <= offset:", "if least is not None and least <= offset + 1:"),
    ("chains: the end", "        if not goal:\n            return offset >= 0", "        if not goal:\n            return offset >= -1"),
)
_add(
    "slinky/symbolic/comparing.py",
    (CORPUS, SOUNDNESS, CASES),
    ("short look: maxima", "return all(at_most(e, b, known, deeper) for e in operands)", "return any(at_most(e, b, known, deeper) for e in operands)"),
    ("short look: minima", "return all(at_most(a, e, known, deeper) for e in operands)", "return any(at_most(a, e, known, deeper) for e in operands)"),
    ("short look: selects", "return at_most(then, b, known, deeper) and at_most(otherwise, b, known, deeper)", "return at_most(then, b, known, deeper)"),
    ("short look: remainders", "return range_[0] >= 0 if range_", "return range_[1] >= 0 if range_"),
)  # fmt: skip
_add(
    "slinky/symbolic/conditions.py",
    (CORPUS, SOUNDNESS, CASES),
    ("conditions: negation", "        return nonnegative(plus(scale(condition.expr, -1), -1))\n    if not", "        return nonnegative(scale(condition.expr, -1))\n    if not"),
    ("conditions: choices", "combine = all_of if isinstance(atom, Min) == (c > 0) else any_of", "combine = all_of if isinstance(atom, Min) else any_of"),
    ("conditions: and", "            if operand is dominant:\n                return dominant\n", "            if operand is dominant:\n                continue\n"),
)  # fmt: skip
_add(
    "slinky/symbolic/products.py",
    (CORPUS, SOUNDNESS),
    ("products: positive divisors", "    if not at_least(denominator, 1, known):\n        return\n", ""),
    ("products: factors below zero", "                if bound is None or bound < 0:\n", "                if bound is None:\n"),
    ("products: quotients", "yield difference(multiple + denominator - 1, numerator)", "yield difference(multiple + denominator - 2, numerator)"),
)  # fmt: skip
_add(
    "slinky/symbolic/meaning.py",
    (CORPUS, SOUNDNESS),
    ("meaning: quotients", "difference(multiple + denominator - 1, numerator)", "difference(multiple + denominator - 2, numerator)"),
)
_add(
    "slinky/symbolic/remainders.py",
    (REMAINDERS,),
    ("remainders: below", "            low -= share * (d - 1)\n", "            low -= share * (d - 2)\n"),
    ("remainders: rounding", "return -(-low // common), high // common", "return -(-low // common), high // common - 1"),
)
_add(
    "slinky/symbolic/bounds.py",
    (CORPUS, CASES, FOLDS, SOUNDNESS),
    ("bounds: signs", "                low.append((i.min if c > 0 else i.max, c))\n", "                low.append((i.min, c))\n"),
    ("bounds: products", "    if prove(a.min >= 0, known) and prove(b.min >= 0, known):\n", "    if prove(a.min >= 0, known):\n"),
    ("bounds: quotients", "    if d is denominator.max and prove(d >= 1, known):\n", "    if d is denominator.max:\n"),
    ("bounds: one end", "if prove(end <= both if isinstance(both, Min) else end >= both, self.known):", "if True:"),
)  # fmt: skip
_add(
    "slinky/symbolic/differences.py",
    (FOLDS, CASES, "tests/test_sched_figures.py"),
    ("differences: clauses", "                return None\n        found.append(minimum(*bounded))", "                continue\n        found.append(minimum(*bounded))"),
    ("differences: one bound", "        found.append(minimum(*bounded))\n", "        found.append(minimum(*bounded) - 1)\n"),
    ("differences: all cases", "            return None\n        found.append(most)", "            continue\n        found.append(most)"),
)  # fmt: skip
