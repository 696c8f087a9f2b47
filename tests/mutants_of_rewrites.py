"""What is broken of rewrites: the gate, legality, what primitives claim to keep, what effects and scopes say."""

# ruff: noqa: E501 (the texts are as long as they stand in the code)

from __future__ import annotations

from mutants import (
    BLOCKS,
    CASES,
    EDITING,
    EXTENTS,
    FOLDS,
    FUSED_CALLS,
    GATE,
    LAYOUTS,
    LEGALITY,
    LONGER,
    MULTIPLES,
    NOT_RUN,
    OF_STAGES,
    OTHER_DTYPES,
    OTHER_ORDERS,
    PRIMITIVES,
    REDUCING_VARIANTS,
    REFUSALS,
    REFUSED_EDITS,
    REWRITE_WORK,
    RISING,
    SET_LAYOUT,
    SHARED_CALLS,
    SOUNDNESS,
    STAGES,
    STAGING,
    STRUCTURE,
    VARIANTS,
    WHOLE,
    WORKERS,
    Mutant,
    mutants,
)

MUTANTS: list[Mutant] = []

# The gate -------------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/gate.py",
    (EDITING, GATE, LEGALITY, WHOLE, REFUSED_EDITS, STAGES),
    ("gate: scopes", "self._elsewhere = check_scopes(self.old, version, self.touched, self.edit.reordered)", "pass"),
    ("gate: sources", "        check_sources(version, self._elsewhere)\n", "",
     "a read of what is not there is not found, either, and that is said first; this is for rewrites that keep their reads"),
    ("gate: values", "        check_values(self.old, self.version, these, {**self.edit.copies, **self.edit.staged})\n", "        pass\n"),
    ("gate: what fits where values are kept", "        if Obligation.VALUES in self.kept:\n", "        if False:\n"),
    ("gate: whole dimensions", "            check_whole(version, self._and_inside)\n", ""),
    ("gate: stages", "            check_stages(version)\n", "            pass\n"),
    ("gate: but for", "if kept is None or kept.but_for:", "if kept is None:"),
    ("gate: checks", "(_Gate._touched_ones, _Gate._check_checks)", "(lambda gate: (), _Gate._check_checks)"),
    ("gate: positive", "        check_positive(self.version, these, self.of_ranges)\n", "        pass\n"),
    ("gate: inputs", "            check_inputs(self.version, identity)\n", "            pass\n"),
    ("gate: reads", "        check_reads(self.version, these, self.remedies)\n", "        pass\n"),
    ("gate: readers", "        check_readers_of(self.version, self._written(these), self.remedies)\n", "        pass\n"),
    ("gate: outputs", "        check_outputs(self.version, self._written(these))\n", "        pass\n"),
    ("gate: folds", "(_Gate._allocs_and_calls, _Gate._check_folds)", "(lambda gate: (), lambda gate, these: None)"),
    (
        "gate: folds of each buffer",
        "for alloc in allocs_touched(self.version, [s for s in statements if isinstance(s, Touching)]):",
        "for alloc in allocs_touched(self.version, [s for s in statements if isinstance(s, Touching)])[:1]:",
    ),
    ("gate: races", "            check_races(self.version, identity, hint=self.hint)\n", "            pass\n"),
    ("gate: what is kept for some only", "not settled.get(o, False))", "o not in settled)"),
    ("gate: who is gone", "for entries in (self.version.entries, self.old.entries):", "for entries in (self.version.entries,):"),
    ("gate: who is gone, readers", "tuple(dict.fromkeys((*self._calls, *self._and_inside)))", "self._calls"),
    ("gate: leading checks", 'if (ROOT, "body") in self.edit.reordered else []', "if False else []"),
    (
        "gate: checks that move",
        "if now != before or is_reordered:",
        "if now != before:",
    ),
    ("gate: calls that pass a check", "            moved += _passed(self.old, self.version, *block)\n", "            pass\n"),
    ("gate: what does nothing may pass a check", " if any(calls_in((s,)))]", "]"),
    ("gate: what goes elsewhere", "elif is_reordered and now is not None and now.parent == before.parent:", "elif is_reordered:"),
    ("gate: checks that are gone", "    stayed = [s for s in before if s.id in now]\n", "    stayed = list(before)\n"),
    ("gate: what a check says", "if now != before or is_reordered:", "if is_reordered:"),
    ("gate: what runs in other iterations", "return self._of_headers if self.edit.headers else self.touched", "return self.touched"),
    ("gate: all that is inside", "        if inside <= self.touched.keys():\n", "        if True:\n"),
    ("gate: loops that are gone", "for i in self.edit.headers if i in entries]", "for i in self.edit.headers]"),
    ("gate: loops in order", "if isinstance(loop, For) and not is_in_order(loop):", "if isinstance(loop, For):"),
    ("gate: calls of an alloc", "if self._users else own", "if False else own"),
    ("gate: races of an alloc", "self._loops_around((*self._and_inside, *self._users))", "self._loops_around(self._and_inside)"),
    ("gate: races around", "for outer in (i, *version.ancestors(i)))", "for outer in (i,))"),
    (
        "gate: folds of an alloc",
        "return (*self._in_order(Alloc), *self._no_more_written, *self._calls)",
        "return self._calls",
        "who reads or writes the buffer is among the calls, and its folds are asked for them; without any, none matter",
    ),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/gate.py",
    (SHARED_CALLS,),
    ("gate: folds of what is written no more", "*self._no_more_written, ", ""),
)

# Legality: names, values, whole dimensions ----------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/legality/values.py",
    (EDITING, GATE, REFUSED_EDITS),
    (
        "values: func",
        "if isinstance(before, Touching) and before.func is call.func:",
        "if isinstance(before, Touching):",
    ),
    ("values: sources", "if before.reads == call.reads and before.writes", "if before.writes"),
    ("values: targets", "before.reads == call.reads and before.writes == call.writes:", "before.reads == call.reads:"),
    ("values: one allocation", "if candidates == others and len(others) < 2:", "if candidates == others:"),
    (
        "values: which allocation",
        "if _source(new, buffer, call.id, copies) != _source(old, buffer, before, {}):",
        "if False:",
    ),
    ("values: production", "if not _is_production(old, _production(new, call, copies)):", "if False:"),
)
MUTANTS += mutants(
    "slinky/sched/legality/values.py",
    (SHARED_CALLS, VARIANTS, FUSED_CALLS, STAGING),
    ("values: copies of one buffer", "if reads == writes and is_plain_copy(func):", "if is_plain_copy(func):"),
    ("values: declared fusions", "any(func is fused for fused in second.fusions)", "func.fused is not None"),
    ("values: what is fused", "    if first is not fused.first:\n", "    if False:\n"),
    ("values: targets of what is fused", "if targets == writes and any(func is fused", "if any(func is fused"),
    ("values: what nobody makes", "if expected is not None and _firsts(expected", "if _firsts(expected"),
    ("values: one maker", "made is None or len(made) != 1:\n", "made is None:\n"),
    ("values: one buffer between", "    if more or made is None or len(made) != 1:\n", "    if made is None or len(made) != 1:\n"),
    ("values: sources of what is fused", "_firsts(expected, same) == _firsts(reads, same)", "True"),
    ("values: equal sources", "frozenset((func, port, _firsts(sources, same))", "frozenset((func, port)"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/values.py",
    (GATE,),
    ("values: plain copies", "if reads == writes and is_plain_copy(func):", "if reads == writes:"),
    ("values: functions of users", "operation.implementation is None\n        and ", ""),
    ("values: elements elsewhere", "        and source.index == operation.dims\n", ""),
    ("values: copies under conditions", "        and not source.where\n", ""),
    ("values: edges", "        and all(each is None for each in (*source.edges, *source.boundaries))\n", ""),
    ("values: copies past others", "        and read.view is None\n", ""),
    ("values: copies into others", "        and written.view is None\n", ""),
)
MUTANTS += mutants(
    "slinky/sched/legality/values.py",
    (OTHER_DTYPES,),
    (
        "values: other dtypes",
        "firsts.setdefault((key, _dtype(version, alloc)), alloc)",
        "firsts.setdefault(key, alloc)",
    ),
)
MUTANTS += mutants(
    "slinky/sched/legality/scopes.py",
    (OTHER_DTYPES,),
    ("scopes: variants that move", "if is_other or (is_moved and statement.func.family is not None):", "if is_other:"),
    ("scopes: what does not fit a variant", "    check_fitting(new, unlike)\n", ""),
)
MUTANTS += mutants(
    "slinky/sched/passing.py",
    (OTHER_DTYPES,),
    ("passing: read in another dtype", "if any(member.inputs[k].dtype != func.inputs[k].dtype or member", "if any(member"),
    ("passing: written in another dtype", "_writing_through(member, passage, parts) if is_alike else None",
     "_writing_through(member, passage, parts)"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/variants.py",
    (OTHER_DTYPES,),
    ("variants: what callers hold", "        if given != port.dtype:\n", "        if False:\n"),
    ("variants: strides in bytes", "alloc.layout is not None and not is_stored_by_blocks(alloc):", "False:"),
    ("variants: who was asked already", "            if user in self.funcs:\n", "            if False:\n"),
    ("variants: what was chosen already", "if not self._takes(_call(self._version, identity), func, buffer, alloc):",
     "if False:"),
    ("variants: all ports", "return all(takes_as_stored(port, alloc, known) for",
     "return any(takes_as_stored(port, alloc, known) for"),
    ("variants: the same name", "        if self._name in able:\n", "        if False:\n"),
    ("variants: several", "        if len(able) == 1:\n", "        if able:\n"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/variants.py",
    (OTHER_ORDERS,),
    ("variants: order of what callers hold", "        if port.order is not None:\n            words", "        if False:\n            words"),
    ("variants: folds in an order", "        if folded is not None:\n", "        if False:\n"),
    ("variants: blocks in an order", "        if blocked is not None:\n", "        if False:\n"),
    ("variants: who takes it as it is", "            elif not self._takes(call, call.func, buffer, new):\n", "            else:\n"),
    ("variants: strides that are said", "constant(n) for n in order.strides] or None", "constant(n) for n in ()] or None"),
)  # fmt: skip
MUTANTS += mutants("slinky/sched/gate.py", (OTHER_ORDERS,), ("gate: orders", "if ORDERED in rare:", "if False:"))
MUTANTS += mutants(
    "slinky/ir/orders.py",
    (OTHER_ORDERS,),
    ("orders: alignment", " or layout.alignment % order.alignment:", ":"),
    ("orders: the last dimension", "        wanted[-1] = alloc.dtype.itemsize\n", "        pass\n"),
    ("orders: from the outermost in", "return all(_is_shown_at_least(outer, inner, known) for", "return all(True for"),
    ("orders: products", "prove(product(others) >= 1, known)", "False"),
)
MUTANTS += mutants(
    "slinky/sched/primitives/simplification.py",
    (OTHER_ORDERS,),
    ("orders: simplified away", "not shows_as_much(new, statement, known)", "False"),
    ("orders: never simplified", "not shows_as_much(new, statement, known)", "True"),
)
MUTANTS += mutants(
    "slinky/ir/sharing.py", (OTHER_ORDERS,), ("sharing: orders", " and not asks_for_an_order(call.func):", ":")
)
MUTANTS += mutants(
    "slinky/sched/passing.py",
    (OTHER_ORDERS,),
    ("passing: read in an order", " or member.inputs[k].order is not None for k in ports):", " for k in ports):"),
)
MUTANTS += mutants(
    "slinky/sched/primitives/sliding.py",
    (NOT_RUN,),
    ("sliding: the range as it is", 'of_ranges=None if warmup == "first" else _first_at_once,', ""),
)
MUTANTS += mutants(
    "slinky/sched/primitives/other_stages.py",
    (REDUCING_VARIANTS,),
    ("stages: who shares states", "                if user not in calls:\n", "                if False:\n"),
    ("stages: others", "if not _is_stage_of(other, stage) or not _uses_as(other, alloc.buffer, number):", "if False:"),
    ("stages: dtypes of states", "        if alloc.dtype != dtype:\n", "        if False:\n"),
    ("stages: states in a layout", "            if alloc.layout is not None:\n", "            if False:\n"),
    ("stages: as many states", "[s.dims for s in other.states] != [s.dims for s in reduction.states] or member", "member"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/ir/families.py",
    (VARIANTS,),
    ("families: members", "func.family.members.get(func.variant) is func", "True"),
    ("families: one family", "first.family is func.family", "True"),
)
MUTANTS += mutants(
    "slinky/sched/legality/scopes.py",
    (EDITING, GATE, REFUSED_EDITS),
    ("scopes: depth", "if len(version.ancestors(identity)) >= DEEPEST_NEST:", "if False:"),
    (
        "scopes: loops of one name",
        "if any(around.variable.name == name for around in version.loops_around(loop.id)):",
        "if False:",
    ),
    ("scopes: a loop like a buffer", "if version.is_allocated(name) or version", "if version"),
    ("scopes: a loop like a parameter", " or version.has_parameter(name):", ":"),
    ("scopes: a buffer like a parameter", "if version.has_parameter(buffer) or any(", "if any("),
    ("scopes: hidden by an outer one", "_is_in_scope(version, alloc, other) or", ""),
    ("scopes: hidden by an inner one", " or _is_in_scope(version, other, alloc) for", " for"),
    ("scopes: dimensions", "is_known = box is not None and symbol.dim < len(box)", "is_known = True"),
    ("scopes: scalars", "is_known = any(p.name == symbol.name for p in version.program.scalars)", "is_known = True"),
    ("scopes: variables", "is_known = symbol in around or not isinstance(symbol, Variable)", "is_known = True"),
    (
        "scopes: allocated",
        "if version.global_box(buffer) is None and version.alloc_of(buffer, identity) is None:",
        "if False:",
    ),
    (
        "scopes: users of what is gone",
        "                _ask_users(new, gone, asked)\n            continue",
        "                pass\n            continue",
    ),
    (
        "scopes: users of what moves",
        "                _ask_users(new, buffer, asked)\n",
        "                pass\n",
    ),
    (
        "scopes: users of what was called so",
        "                    _ask_users(new, name, asked)\n",
        "                    pass\n",
    ),
    ("scopes: calls that move", "if is_other or is_moved:", "if is_other:"),
    ("scopes: calls of other funcs", "return before.func is now.func and", "return"),
    ("scopes: calls on other buffers", " and before.reads == now.reads and before.writes == now.writes", ""),
    ("scopes: other elements", "before.dtype == now.dtype and ", ""),
    ("scopes: what does not fit", "    check_fitting(new, unlike)\n", ""),
    ("scopes: variables of loops that were left", "if type(symbol) is Variable]", "if False]"),
    (
        "scopes: symbols of what moves",
        "if before is None or is_moved or type(before)",
        "if before is None or type(before)",
    ),
    ("scopes: symbols that are new", "return changed - symbols_of(before) if changed else ()", "return ()"),
    (
        "scopes: another block",
        "if before.parent != parent or before.field",
        "if before.field",
        "a statement that stands in another block stands in one that was changed",
    ),
    ("scopes: another order", "or (reordered and (parent, field) in reordered):", ":"),
    ("scopes: another variable", "if _variable(before.statement) is not _variable(now.statement):", "if False:"),
    ("scopes: around", "found = outer is None or _is_moved(old", "found = outer is None or False and _is_moved(old"),
)
MUTANTS += mutants(
    "slinky/sched/legality/scopes.py",
    (REWRITE_WORK,),
    ("scopes: names that may mean another buffer", "names is not None and buffer not in names:", "names is not None:"),
    ("scopes: from a loop to the top", "before.parent == ROOT and entry.parent == ROOT:", "entry.parent == ROOT:"),
)
MUTANTS += mutants(
    "slinky/sched/primitives/ranges.py",
    (REWRITE_WORK,),
    ("extend: one of two buffers", "    if any(len(version.allocations(buffer)) > 1 for", "    if any(False for"),
    ("extend: bounds as they were", " or entry.statement.box is not box:", ":"),
    ("extend: calls as they were", "found.call is call and", ""),
)
MUTANTS += mutants(
    "slinky/sched/legality/wholes.py",
    (WHOLE,),
    ("wholes: all of it", "if not (inside(all_of_it, box[d], known) and inside(", "if not (inside("),
    ("wholes: allocations", "for writer in version.writers(statement.buffer):", "for writer in ():"),
)
MUTANTS += mutants(
    "slinky/sched/legality/positive.py",
    (EDITING, GATE, REFUSED_EDITS, WORKERS, NOT_RUN),
    ("positive: divisors elsewhere", "if old is not None and _says_of(before, identity) <= _says_of(version, identity):",
     "if old is not None:"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/ir/statements.py",
    (EDITING, GATE, REFUSED_EDITS, WORKERS, NOT_RUN),
    ("positive: steps", 'own = ((f"the step of loop {variable}", step),)', "own: tuple[tuple[str, Expr], ...] = ()"),
    ("positive: workers", "return own if workers is None else (*own,", "return own if True else (*own,"),
    ("positive: folds", "in zip(dims, folds, strict=True) if fold is not None\n", "in ()\n"),
)

# Legality: whole pieces, layouts --------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/gate.py", (MULTIPLES,), ("gate: whole pieces", "            check_multiples(version, self._and_inside)\n", ""),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/cursors/kinds.py",
    (MULTIPLES, WHOLE),
    ("kinds: whole dimensions", "if func.whole or func.multiples else", "if func.multiples else"),
    ("kinds: whole pieces", "if func.whole or func.multiples else", "if func.whole else"),
)
MUTANTS += mutants(
    "slinky/sched/legality/multiples.py",
    (MULTIPLES,),
    ("multiples: ends", " and is_multiple(box[d].max + 1, n, loops, known)", ""),
    ("multiples: steps", " and factor * step % n == 0:", ":"),
    ("multiples: allocations", "found.update((i, s) for i, s in writers if isinstance(s, Touching))", "pass"),
    ("multiples: loops", "found.update((call.id, call) for call in calls_inside(version, identity))", "pass"),
    ("multiples: offsets", "return offset % n == 0", "return True"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/gate.py", (BLOCKS,), ("gate: blocks", "if BLOCKED in rare:", "if False:"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/blocks.py",
    (BLOCKS,),
    ("blocks: longer ones", "if prove(i.max - i.min < length, known) and ", "if "),
    ("blocks: others than begin one", " and is_multiple(low, length, loops, known)", ""),
    ("blocks: readers", "found += touches(version, alloc.buffer, version.readers_of(alloc), writing=False)", "pass"),
)
MUTANTS += mutants(
    "slinky/sched/gate.py", (SET_LAYOUT,), ("gate: room", "if STRIDED in rare:", "if False:"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/room.py",
    (SET_LAYOUT, LAYOUTS),
    ("room: pairs", "prove(one >= other * count, known) or prove(other >= one * own_count, known)", "True"),
    ("room: elements", "prove(stride >= size, known) and prove", "prove"),
    ("room: alignments", " and prove(equal(stride % alignment, 0), known) for", " for"),
    ("room: others than before", "(before.layout, before.dtype) != (alloc.layout, alloc.dtype)", "False"),
    ("room: larger elements", "(before.layout, before.dtype) != (alloc.layout, alloc.dtype)", "before.layout != alloc.layout"),
    ("room: more elements", "return all(prove(i.extent <= j.extent, known) for i, j in", "return all(True for i, j in"),
    ("room: conditions", "return before.condition == now.condition", "return True"),
    ("room: iterations", "return before.variable not in speaks_of and prove(before.range.min <= before.range.max, known)",
     "return before.variable not in speaks_of"),
    ("room: out of loops", "fields.get(entry.parent) == entry.field", "True"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/extents.py",
    (EXTENTS,),
    ("extents: clamps", "        keep_clamped(edit, identity, old, box)\n", "        pass\n"),
    ("extents: more where it may be less", "*_kept(is_more)", "*_kept(True)"),
    ("extents: regions of no elements", "    if not is_more:\n", "    if False:\n"),
)
MUTANTS += mutants(
    "slinky/sched/legality/folds.py",
    (LAYOUTS,),
    ("folds: layouts", "    if alloc.layout is not None:\n", "    if False:\n"),
)  # fmt: skip

# Legality: coverage ---------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/legality/containing.py",
    (CASES, LEGALITY, REFUSALS, REWRITE_WORK),
    ("containing: inside below", "return shown(outer.min, inner.min, known) and shown(", "return shown("),
    ("containing: inside above", " and shown(inner.max, outer.max, known)\n", "\n"),
    ("containing: told below", "told_at_most(a.min, b.min, known) and ", ""),
    ("containing: told above", " and told_at_most(b.max, a.max, known)", ""),
)
MUTANTS += mutants(
    "slinky/symbolic/comparing.py",
    (SOUNDNESS, STRUCTURE),
    (
        "told: all that is compared",
        "            else:\n                return False\n",
        "            else:\n                return bool(uppers)\n",
    ),
    (
        "told: choices of the lower",
        "for lower in a.operands if type(a) is Max else (a,):\n        for upper in b.operands if type(b) is Min else (b,):\n            if exceeds_at_most(lower, upper, 0):",
        "for lower in a.operands[:1] if type(a) is Max else (a,):\n        for upper in b.operands if type(b) is Min else (b,):\n            if exceeds_at_most(lower, upper, 0):",
    ),
    (
        "told: choices of the upper",
        "for upper in b.operands if type(b) is Min else (b,):\n            if exceeds_at_most(lower, upper, 0):",
        "for upper in b.operands[:1] if type(b) is Min else (b,):\n            if exceeds_at_most(lower, upper, 0):",
    ),
    (
        "told: by how much",
        "known.tightest.get(terms, offset + 1) <= offset",
        "known.tightest.get(terms, offset + 2) <= offset + 1",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/rising.py",
    (RISING,),
    ("rising: divisors", "if d is second.denominator and at_least(d, 1, known):", "if d is second.denominator:"),
    ("rising: factors", "        if at_least(factor, 0, known):\n", "        if True:\n"),
    ("rising: the rest", "yield part, rest\n", "yield (part,)\n"),
    ("rising: how far", "+ (offset // c) * d,)", "- (-offset // c) * d,)"),
)
MUTANTS += mutants(
    "slinky/symbolic/bounds.py",
    (RISING,),
    ("bounds: quotients one apart", "floor_divide(by + d - 1, d)", "floor_divide(by, d)"),
    (
        "bounds: divisors of a difference",
        " or not at_least(d, 1, self.known):\n                continue\n            if self",
        ":\n                continue\n            if self",
        "with a negative divisor the bound holds, too, and is wider; nothing is claimed of such",
    ),
    (
        "bounds: factors of a sum",
        "if symbols(factor).isdisjoint(self.names) and at_least(factor, 0, self.known):",
        "if symbols(factor).isdisjoint(self.names):",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/arithmetic.py",
    (STRUCTURE,),
    ("difference: two terms in order", "        terms.reverse()\n", "        pass\n"),
    (
        "shifted: in order",
        "    moved = sorted([plus(operand, offset) for operand in choice.operands], key=order_key)\n",
        "    moved = [plus(operand, offset) for operand in choice.operands]\n",
    ),
    (
        "shifted: how far",
        "[plus(operand, offset) for operand in choice.operands]",
        "[plus(operand, offset - 1) for operand in choice.operands]",
    ),
    ("difference: more terms in order", "        terms.sort(key=_term_key)\n", "        pass\n"),
)
MUTANTS += mutants(
    "slinky/sched/legality/coverage.py",
    (REWRITE_WORK,),
    ("coverage: loops of one iteration", "if plainly_at_most(loop.range.max, loop.range.min):", "if False:"),
    ("coverage: so many cases", "if self.cases > _MOST_CASES:", "if False:"),
)
MUTANTS += mutants(
    "slinky/sched/legality/coverage.py",
    (CASES, LEGALITY, REFUSALS),
    ("coverage: branches", "if here.field == there.field and version.position(own", "if version.position(own"),
    ("coverage: before", "version.position(own[common]) < version.position(path[common]):", "True:"),
    (
        "coverage: parallel iterations",
        "isinstance(loop, For) and is_in_order(loop):",
        "isinstance(loop, For):",
        "a read of what another iteration wrote is refused as a race, too; this stands guard",
    ),
    ("coverage: since it was allocated", "if path[depth] in shared and isinstance", "if isinstance"),
    ("coverage: this buffer", "if alloc is None or version.alloc_of(buffer, identity) is alloc:", "if True:"),
    ("coverage: else", "return statement.condition if in_body else negate(statement.condition)",
     "return statement.condition"),
    ("coverage: no later iterations", "if plainly_at_most(loop.range.max, loop.range.min):", "if True:"),
    ("coverage: a second iteration", "if plainly_at_most(loop.range.max, loop.range.min):",
     "if plainly_at_most(loop.range.max, loop.range.min, 1):"),
    ("coverage: last iteration", "last = range_.min + step * ((range_.max - range_.min) // step)", "last = range_.max"),
    ("coverage: under a condition", "                if narrowed is None:\n                    return None\n",
     "                if narrowed is None:\n                    continue\n"),
    (
        "coverage: earlier iterations",
        "Sweep(self._fresh(prior), prior.range.min, prior.variable - prior.step, prior.step)",
        "Sweep(self._fresh(prior), prior.range.min, prior.variable, prior.step)",
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
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/sweeps.py",
    (CASES, LEGALITY, REFUSALS),
    ("sweeps: what moves back", "if all(c > 0 if atom is v", "if all(True if atom is v"),
    ("sweeps: idle loops", "return covered if any(prove(i.max < i.min, idle) for i in covered) else None",
     "return covered"),
    ("sweeps: gaps", "if not prove(next_low <= minimum(*high) + 1, following):",
     "if not prove(next_low <= minimum(*high) + 2, following):"),
    ("sweeps: ends that stand still", "        if low and high:\n            following", "        if False:\n            following"),
    ("sweeps: diagonals",
     "Interval(bounds(box[k].min, ranges, known).max, bounds(box[k].max, ranges, known).min)",
     "Interval(bounds(box[k].min, ranges, known).min, bounds(box[k].max, ranges, known).max)"),
    ("sweeps: floors", "maximum(*(substitute(e, at_first) for e in low), *floors)",
     "maximum(*(substitute(e, at_first) for e in low))"),
    ("sweeps: caps", "minimum(*(substitute(e, at_last) for e in high), *caps)",
     "minimum(*(substitute(e, at_last) for e in high))"),
    # Conditions that narrow a loop
    ("narrowed: a multiple", "if factor not in (1, -1) or not symbols", "if not symbols",
     "with any other factor the bound still holds the variable itself, which stands inside"),
    ("narrowed: what moves inside", "if factor not in (1, -1) or not symbols(bound).isdisjoint(inside):",
     "if factor not in (1, -1):",
     "an end that names a variable which is gone is shown to cover nothing; this stands guard"),
    ("narrowed: onto the grid", "(bound - self.first + self.step - 1) // self.step", "(bound - self.first) // self.step"),
    ("narrowed: from the first", "first=maximum(self.first, self.first + self.step * steps)",
     "first=self.first + self.step * steps"),
    ("narrowed: up to the last", "last=minimum(self.last, self.first + self.step * steps)",
     "last=self.first + self.step * steps"),
    ("narrowed: by steps", "        steps = (bound - self.first) // self.step\n", "        steps = bound - self.first\n"),
    ("narrowed: by whom", "inside: set[Expr] = {inner.variable for inner in sweeps[n:]}",
     "inside: set[Expr] = {inner.variable for inner in sweeps[n : n + 1]}",
     "an end that names a variable which is gone is shown to cover nothing; this stands guard"),
    ("narrowed: not clear", "        else:\n            return None\n    return sweeps, known",
     "        else:\n            continue\n    return sweeps, known"),
    ("narrowed: every part", "    for part in condition.operands if isinstance(condition, And) else (condition,):\n        if prove",
     "    for part in condition.operands[:1] if isinstance(condition, And) else (condition,):\n        if prove"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/cutting.py",
    ("tests/test_cutting.py", CASES, LEGALITY, REFUSALS),
    ("cutting: a short look, one box", "            if not (low and high):\n", "            if not low:\n"),
    ("cutting: a short look, one dimension", "        if len(short) == 1:", "        if short:"),
    ("cutting: a short look, the same dimension", "if d == e and (", "if ("),
    ("cutting: a short look, gaps", "maximum(a.max + 1, region[d].min), known)", "maximum(a.max + 2, region[d].min), known)"),
    ("cutting: a short look, the end", "            elif high:\n                above", "            else:\n                above"),
    ("cutting: proofs, one dimension", "        if len(outside) > 1:\n            continue\n", ""),
    ("cutting: proofs, left above", "left = Interval(maximum(need.min, have.max + 1)", "left = Interval(maximum(need.min, have.max + 2)"),
    ("cutting: proofs, left below", "minimum(need.max, have.min - 1)", "minimum(need.max, have.min - 2)"),
    ("cutting: proofs, what is open", "append((box, outside))", "append((box, outside[:1]))"),
    ("cutting: tiles behind", "behind = Interval(maximum(need.min, have.max + 1)", "behind = Interval(maximum(need.min, have.max + 2)"),
    ("cutting: tiles before", "before = Interval(need.min, minimum(need.max, have.max))", "before = Interval(need.max, need.max)"),
    ("cutting: proofs, what is reached", "        if shown(have.min, need.min, known):\n", "        if True:\n"),
)  # fmt: skip

# Legality: stages -----------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/legality/stages.py",
    (STAGES,),
    ("stages: all that overlap", "            if not _are_apart(overlap, loop):", "            if False:"),
    ("stages: writes of the one behind", "(ahead.writes or behind.writes)", "ahead.writes"),
    ("stages: writes of the one ahead", "(ahead.writes or behind.writes)", "behind.writes"),
    ("stages: all distances", "range(1, mode.depth)", "range(1, 2)"),
    ("stages: as deep as that", "range(1, mode.depth)", "range(1, mode.depth - 1)"),
    ("stages: folds", "return fold is None or fits(high.max, low.min, fold, ranges, known)", "return True"),
    ("stages: one before the other", "    end = low.max + 1\n", "    end = low.max\n"),
    ("stages: what a stage allocates", "    if fault is None:\n", "    if True:\n"),
)
MUTANTS += mutants(
    "slinky/sched/legality/stages.py",
    (OF_STAGES,),
    ("stages: loops inside", "for n, other in enumerate(around) if other.id == loop.id)", "for n, other in enumerate(around))"),
    ("stages: the last iteration", "onward <= loop.range.max)", "onward < loop.range.max)"),
    ("stages: buffers of their own", "if alloc is None or loop.id not in version.ancestors(alloc.id):", "if True:"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/ir/stages.py",
    (OF_STAGES,),
    (
        "stages: any statement",
        "any(_uses(s, alloc.buffer) for s in walk(block))",
        "all(_uses(s, alloc.buffer) for s in walk(block))",
    ),
    ("stages: hosts", "    if isinstance(statement, Alloc) and host_of(statement) == buffer:\n", "    if False:\n"),
)

# Legality: reads, folds, races ----------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/legality/reads.py",
    (CASES, EDITING, GATE, LEGALITY, REFUSED_EDITS),
    ("reads: inputs", "if limits is not None and not contains(limits, touch.region, touch.known):", "if False:"),
    ("reads: outputs", "if not Coverage(version, name, None, None).covers(box, known):", "if False:"),
    ("reads: which read", 'key = ("gap", buffer, touch.call.id, touch.region)', 'key = ("gap", buffer, touch.call.id)'),
    (
        "reads: out of scope",
        "    if alloc is None and version.global_box(buffer) is None:\n",
        "    if False:\n",
        "the gate asks afterwards whether what is read is in scope; coverage says it first, in better words",
    ),
    ("reads: no writers", "if alloc is None and not writers:", "if not writers:"),
    ("reads: outputs that are read", "if alloc is None and not writers:", "if alloc is None:"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/folds.py",
    (CASES, LEGALITY, FOLDS, REFUSALS),
    (
        "folds: writes over writes",
        "    pairs += [(write, other, when) for write, when in window.writes for other, _ in window.writes]\n",
        "",
    ),
    (
        "folds: what the reader knows",
        "[(write, read, when) for write, _ in window.writes for read, when in window.reads]",
        "[(write, read, when) for write, when in window.writes for read, _ in window.reads]",
    ),
    ("folds: one more", "if at_most(high, low + (factor - 1), known):", "if at_most(high, low + factor, known):"),
    ("folds: one more, by difference", "prove(most + 1 <= factor, known)", "prove(most <= factor, known)"),
    ("folds: one more, by proof", "prove(high - low + 1 <= factor, known)", "prove(high - low <= factor, known)"),
    ("folds: places of their own", "        if _has_own_places(version, alloc, dim, factor, loop):\n", "        if True:\n"),
    ("folds: no places of their own", "        if _has_own_places(version, alloc, dim, factor, loop):\n", "        if False:\n"),
    ("folds: loops around a parallel one", "clamped=True, home=loop.id)", "clamped=True)"),
    ("folds: parallel loops", "    if not is_in_order(loop):\n", "    if False:\n"),
    ("folds: beginnings go on", "for end in (write.min, write.max):", "for end in (write.max,):"),
    ("folds: ends go on", "for end in (write.min, write.max):", "for end in (write.min,):"),
    ("folds: one loop around", "    if len(outermost) == 1:", "    if outermost:"),
    ("folds: beginnings go on in turn", "        if turn.loop is not None and _moving_back(version, turn) is not None:\n", "        if False:\n"),
    ("folds: room for all in a parallel loop", "    if window.loop is None:\n        return\n    loop = window.loop\n", "    loop = window.loop\n"),
    ("folds: parallel loops in turn", "if isinstance(statement, For) and is_in_order(statement) else None", "if isinstance(statement, For) else None"),
    ("folds: loops inside", "over_loops(region, inner, touch.known) if inner else region", "region"),
    (
        "folds: facts of loops inside",
        "forget(self.touch.known, self.inner)",
        "self.touch.known",
        "such facts speak of variables that no longer occur, and of what holds whenever the access happens at all",
    ),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/races.py",
    (CASES, LEGALITY, REFUSALS, FOLDS),
    ("races: folds", "if alloc is not None and not have_own_places(version, alloc, loop):", "if False:"),
    (
        "races: folds that hold all",
        "not have_own_places(version, alloc, loop):",
        "any(fold is not None for fold in alloc.folds):",
    ),
    ("races: writes", "        _check_disjoint_writes(version, loop, buffer, writers, hint)\n", ""),
    ("races: reads", "if name == buffer and not OwnIteration(", "if False and not OwnIteration("),
    ("races: loops inside", "over_loops(touch.region[d], inner, touch.known)", "touch.region[d]"),
    (
        "races: buffers of the loop itself",
        "        if alloc is not None and loop_id in version.ancestors(alloc.id):\n            continue\n",
        "",
    ),
    ("races: reads of this buffer", "if name == buffer and not OwnIteration(", "if not OwnIteration("),
    (
        "races: any dimension",
        "    for d in range(rank):\n        intervals = []",
        "    for d in range(1):\n        intervals = []",
    ),
    ("races: all writers", "in writers), writing=True)\n    rank", "in writers[:1]), writing=True)\n    rank"),
)
MUTANTS += mutants(
    "slinky/sched/legality/coverage.py",
    (CASES, LEGALITY, REFUSALS),
    ("races: own iteration", "if loop.id in version.ancestors(c.call.id)]", "]"),
    (
        "coverage: what slides is right in its loop",
        "        if not any(each.call is call and not each.around for each in self.prior[loop.id]):\n            return False\n",
        "",
    ),
    ("races: loops around", "[inner for inner in self.loops if inner.id not in outer]", "self.loops"),
)
MUTANTS += mutants(
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
        "all checks at the top are made before anything runs, so those behind other statements hold everywhere, too",
    ),
)  # fmt: skip
MUTANTS += mutants(
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

MUTANTS += mutants(
    "slinky/sched/primitives/loops.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES, WHOLE, NOT_RUN),
    ("reorder: steps", "(Obligation.POSITIVE,), but_for=(new_outer.id,))", "(Obligation.POSITIVE,))"),
    ("split: folds of a shift", "Kept(SAME_ORDER_TWICE, (Obligation.FOLDS,), but_for=inside)",
     "Kept(SAME_ORDER_TWICE, (Obligation.FOLDS,))"),
    ("split: races of a shift", "but_for=(outer.id,) if outer.mode != SERIAL else ()", "but_for=()"),
    ("split: shift by steps", "            if not is_one(loop.step):\n", "            if False:\n"),
    ("split: perfect calls", "            _require_perfect(version, call.id, whole.extent, factor, known)\n", ""),
    ("split: perfect loops", "            _require_perfect(version, loop.id, _count(loop), factor, known)\n", ""),
    ("split: cut before it begins", "return count if prove(count >= 0, known) else maximum(count, 0)", "return count"),
    ("split: shift before it begins", "lo = start if prove(whole.min <= limit.min, known) else maximum(start, whole.min)",
     "lo = start"),
    ("split: clamp at the end", "hi = last if prove(limit.max <= whole.max, known) else minimum(last, call.box[d].max)",
     "hi = last"),
    ("reorder: start", '"start": inner.range.min, ', ""),
    ("reorder: end", '"end": inner.range.max, ', ""),
    ("reorder: step", ', "step": inner.step}', "}"),
    ("reorder: readers and folds", "Kept(SAME_ITERATIONS, proved, but_for=inside)", "Kept(SAME_ITERATIONS, proved)"),
    ("reorder: races", "but_for=tuple(swapped.id for swapped in (new_outer, new_inner) if swapped.mode != SERIAL)",
     "but_for=()"),
    ("cut: below", "    if not prove(low <= start, known):\n        start = maximum(start, low)\n", ""),
    ("cut: above", "    if not prove(end <= high, known):\n        end = minimum(at - 1, high)\n", ""),
    ("parallelize: races", "Kept(RACES_SAY_MORE, (Obligation.RACES,), but_for=(loop._id,))",
     "Kept(RACES_SAY_MORE, (Obligation.RACES,))"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/placement.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES, GATE, WHOLE, LONGER, NOT_RUN),
    ("compute_at: divisors", "*shown_inside(version, target)) if is_output else (moved.id,)",
     "*shown_inside(version, target)) if is_output else ()"),
    ("compute_at: steps in a loop that runs longer", "*shown_inside(version, target)) if is_output", ") if is_output"),
    ("compute_at: inputs", "(Obligation.INPUTS,), but_for=working[_is_part(version, old, moved) :])", "(Obligation.INPUTS,))"),
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
    ("compute_at: loops inside", "box = tuple(over_loops(i, around, known) for i in effect.box)", "box = effect.box"),
    ("compute_root: inputs and reads", "(Obligation.INPUTS, Obligation.READS), but_for=(moved.id,))",
     "(Obligation.INPUTS, Obligation.READS))"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/placement.py",
    (STAGING,),
    ("compute_root: what others wrote beside", "Obligation.OUTPUTS), but_for=replaced)",
     "Obligation.OUTPUTS), but_for=(moved.id,))"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/legality/scopes.py",
    (SHARED_CALLS,),
    (
        "scopes: written and touched",
        "            if writes_what_it_touches(call, buffer):\n",
        "            if False:\n",
    ),
)
MUTANTS += mutants(
    "slinky/sched/primitives/sliding.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES, GATE, LONGER, NOT_RUN),
    ("slide: inputs", "(Obligation.INPUTS,), but_for=reading),", "(Obligation.INPUTS,)),"),
    ("slide: reads and folds", "(Obligation.READS, Obligation.FOLDS), but_for=working),",
     "(Obligation.READS, Obligation.FOLDS)),"),
    ("slide: steps and divisors inside", ", *shown_inside(version, around))", ")"),
    ("slide: readers and outputs", "(Obligation.READERS, Obligation.OUTPUTS), but_for=(old.id,))",
     "(Obligation.READERS, Obligation.OUTPUTS))"),
    ("slide: races", "(Obligation.RACES,), but_for=working_in_parallel(version, working))",
     "(Obligation.RACES,))"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/ranges.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES, GATE, FOLDS, LONGER, NOT_RUN),
    (
        "extend: parallel loops inside",
        "around = {loop.id: loop for identity in working for loop in version.loops_around(identity)}",
        "around = {loop.id: loop for identity in working for loop in version.loops_around(identity)[:-1]}",
    ),
    ("extend: steady loops", "    _require_steady_inner_loops(version, loop)\n", ""),
    ("extend: nothing behind", "            _require_nothing_behind(version, call, loop)\n", "            pass\n"),
    ("extend: clamps", "    return Interval(maximum(i.min, floor), i.max)\n", "    return i\n"),
    ("extend: forward", "    if not shown(floor, i.min, known):\n", "    if False:\n"),
    (
        "extend: who works",
        "            if not _is_idle(version, call, box, loop, in_added):\n",
        "            if False:\n",
    ),
    ("extend: folds", "    _keep_folds_positive(edit, version, loop, wider)\n", ""),
    ("extend: whole steps", "steps = (missing + each - 1) // each", "steps = missing // each"),
    (
        "extend: a quotient",
        "- d * ((first_low - offset - 1) // m) - d + 1",
        "- d * ((first_low - offset - 1) // m) - d",
        "a step fewer is refused, wherever it does not suffice, by the proof of that which follows",
    ),
)
MUTANTS += mutants(
    "slinky/sched/primitives/storage.py",
    (LEGALITY, REFUSALS, PRIMITIVES, CASES, NOT_RUN),
    ("storage: divisors", "(Obligation.POSITIVE,), but_for=(alloc.id,))", "(Obligation.POSITIVE,))"),
    ("store_at: readers", "Kept(LESS_LIFE, (Obligation.READERS,), but_for=writing)",
     "Kept(LESS_LIFE, (Obligation.READERS,))"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/sched/primitives/rewriting.py",
    (REFUSALS, PRIMITIVES, CASES),
    ("within: below", "lo = i.min if prove(limit.min <= i.min, known) else intersection(i, limit).min", "lo = i.min"),
    ("within: above", "hi = i.max if prove(i.max <= limit.max, known) else intersection(i, limit).max", "hi = i.max"),
)
MUTANTS += mutants(
    "slinky/sched/primitives/blocks.py",
    (REFUSALS, PRIMITIVES, CASES),
    ("swap: reads and folds", "Kept(SWAPPED, _PROVED, but_for=inside)", "Kept(SWAPPED, _PROVED)"),
)  # fmt: skip

EFFORTS = "tests/test_efforts.py"
MUTANTS += mutants(
    "slinky/sched/efforts/counting.py",
    (EFFORTS,),
    ("efforts: in place", "sizes.setdefault(result.storage, 2 * result", "sizes[result.storage] = (2 * result"),
    ("efforts: what is reached", "        _collect(self.reached, found, 0)\n", ""),
    ("efforts: turns", "self._times = self._times, self._times * times", "self._times = self._times, self._times"),
    ("efforts: at hand in a turn", "sum(self._turn.values())", "self._made"),
    ("efforts: long loops", "self.calls if self._longest <= FEW else None", "self.calls"),
)
MUTANTS += mutants(
    "slinky/sched/efforts/python_values.py",
    (EFFORTS,),
    (
        "efforts: lists of others",
        "return kind(value) if len(value) <= _MOST_COPIED",
        "return value if len(value) <= _MOST_COPIED",
    ),
    ("efforts: numbers of others", "        return int.__index__(value)\n", "        return value\n"),
)
MUTANTS += mutants(
    "slinky/sched/efforts/arrays.py",
    (EFFORTS,),
    (
        "efforts: lines",
        "if any(strides[axis] != extent * strides[inner]",
        "if all(strides[axis] != extent * strides[inner]",
    ),
    ("efforts: steps", "strides.append(self.strides[axis] * step)", "strides.append(self.strides[axis])"),
)
