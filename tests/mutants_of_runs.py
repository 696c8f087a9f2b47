"""What is broken of runs and of proofs: storage, checked mode, plans, and the arithmetic of `slinky.symbolic`."""

# ruff: noqa: E501 (the texts are as long as they stand in the code)

from __future__ import annotations

from mutants import (
    AGREEMENT,
    ALONG,
    AT_WORK,
    CASES,
    CHAINS,
    CHECKED,
    COPY_PIECES,
    CORPUS,
    HOISTING,
    IN_PLACE,
    LAYOUTS,
    LIMITS,
    MOVING,
    MULTIPLES,
    OMITTED,
    PLAN,
    REMAINDERS,
    RESERVING,
    RINGS,
    SHARED,
    SHORT,
    SOLVING,
    SOURCE,
    STAGES,
    STORAGE,
    WORK,
    Mutant,
    mutants,
)

MUTANTS: list[Mutant] = []

# Storage: memory in place, lifetimes, rings, checked mode --------------------------------------------------------------

MUTANTS += mutants(
    "slinky/runtime/reserving.py",
    (RESERVING,),
    ("reserving: in outputs", "        if in_outputs(program):\n", "        if False:\n"),
    ("reserving: iterations at once", "heapq.nlargest(at_once, found)", "heapq.nlargest(1, found)"),
    ("reserving: rings of iterations", "everything = sum(size * min(times, at_once)", "everything = sum(size"),
    ("reserving: pipelines inside", "if any(isinstance(call.func.operation, Nested) for call in calls):", "if False:"),
    ("reserving: at the origin", "        program, values = _as_it_runs(program, values)\n", ""),
    ("reserving: not at the origin", "all(values[first] == 0 for _, _, first, _ in ends)", "True"),
    (
        "reserving: memory given back",
        "if len(sizes) > 1 and not alone and sum(sizes.values()) > SPARE",
        "if len(sizes) > 9 and not alone and sum(sizes.values()) > SPARE",
    ),
    ("reserving: room for tiles", "variables.isdisjoint(symbols(e)) for e in own)", "True for e in own)"),
    (
        "reserving: others beside tiles",
        "is_alone = not others and not _share_places(kinds)",
        "is_alone = True",
    ),
    ("reserving: branches", "if not site.is_certain or strided", "if strided"),
    ("reserving: layouts", "if not site.is_certain or strided(site.alloc) is not None:", "if not site.is_certain:"),
)
MUTANTS += mutants(
    "slinky/runtime/in_place.py",
    (IN_PLACE, LAYOUTS),
    ("in place: read last", "if read in dying and read in allocs", "if read in allocs"),
    ("in place: the same box", "a.dtype == b.dtype and a.box == b.box", "a.dtype == b.dtype"),
    ("in place: the same dtype", "a.dtype == b.dtype and a.box == b.box", "a.box == b.box"),
    ("in place: one output", "                    break  # one output only: a second one could be written before the first is read\n", ""),
    ("in place: not touched before", "                fresh.pop(name, None)\n", "                pass\n"),
    ("in place: no folds", "and all(fold is None for fold in alloc.folds)", ""),
    ("in place: no layouts", "return alloc.layout is None and", "return"),
    ("in place: an output of one call", "for p in program.outputs if touched[p.name] == 1}", "for p in program.outputs}"),
    ("in place: written alone", "or len(statement.writes) != 1:", "or not statement.writes:"),
    ("in place: an output's dtype", " or last.dtype != dtype or read not in", " or read not in"),
    ("in place: read last, output", " or read not in last_uses.get(position, ()):", ":"),
    ("in place: who sees an output", "c.func.operation.in_place for c in calls if not", "True for c in calls if not"),
    ("in place: iterations apart", ") and _iterations_are_apart(statement, scope.loops, before_loops):", "):"),
    ("in place: each parallel loop", "            return False\n    return True", "            return True\n    return True"),
    ("in place: loops inside", "reversed(loops[n + 1 :])", "()"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/ir/sharing.py",
    (IN_PLACE, LAYOUTS),
    ("in place: all dimensions", "if output.rank != len(func.dims) or not inputs:", "if not inputs:"),
    ("in place: every read", "return all(_same_points(func, port, output)", "return any(_same_points(func, port, output)"),
    ("in place: the same points", "i.min is dim and i.max is dim for", "i.min is dim for"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/lifetimes.py",
    (IN_PLACE, PLAN),
    ("lifetimes: the last use", "            last.update(dict.fromkeys(own.intersection(buffers_named_inside(statement)), position))\n",
     "            last = {**dict.fromkeys(own.intersection(buffers_named_inside(statement)), position), **last}\n"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/sites.py",
    (PLAN, IN_PLACE, "tests/test_memory_figures.py"),
    ("sites: until the last use", "dies[own[allocs[buffer]]] = end", "pass"),
)
MUTANTS += mutants(
    "slinky/runtime/storage.py",
    (STORAGE,),
    ("storage: rows", "first * stride % size)\n", "first * stride % (size - stride))\n"),
    ("storage: views", "return views[count][first % starts]", "return views[count][first % (starts + 1)]"),
    ("storage: few lengths", "len(views) >= _MOST_COUNTS", "False"),
    ("storage: few starts", "if self.starts <= MOST_STARTS else", "if True else"),
    ("storage: enough rows apart", "factor - 1, -1)", "0, -1)"),
    ("storage: one row", "        return size  # each row is alone in the ring\n", "        return row\n"),
    ("storage: out of bounds", "            if lo < first or hi > last:\n", "            if lo < first:\n"),
    ("storage: too long", "                if extent > self.place.rows:\n", "                if False:\n"),
    ("storage: from the first", "slice(lo - first, lo - first + extent)", "slice(lo, lo + extent)"),
    ("storage: bytes of a ring", "size = mirrored.whole_pages(factor * row)", "size = mirrored.whole_pages((factor - 1) * row)"),
    ("storage: never more", "    if size >= row * shape[dim]:\n", "    if size > 2 * row * shape[dim]:\n"),
    ("storage: by the program", "min(extent, factor)", "factor"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/shadow.py",
    (CHECKED, CASES),
    ("shadow: short folds", "f if f is not None and f < extent else None for", "f for",
     "with a fold that is longer than the buffer, every element has a place of its own all the same"),
    ("shadow: places", "along if fold is None else along % fold", "along"),
    ("shadow: what was never written", "np.argwhere(self.held < 0)", "np.argwhere(self.held < -1)"),
    ("shadow: what is held", "wrong = held != self._numbers(box)", "wrong = held < 0"),
    ("shadow: slices", "slice(lo - first, max(lo, hi + 1) - first)", "slice(lo - first, max(lo, hi) - first)"),
    ("shadow: what is written", "        self.held[places] = self._numbers(box)\n", "        self.held[places] = np.maximum(self.held[places], self._numbers(box))\n"),
    ("shadow: numbers", "numbers = numbers * self.shape[d] + along", "numbers = numbers + along"),
    ("shadow: races of writers", "        if race is not None:\n            raise self._error(race, f\"{writer} writes\", box)\n", ""),
    ("shadow: races of readers", "        if race is not None:\n            raise self._error(race, f\"{reader} reads\", box)\n", ""),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/ir/stages.py",
    (STAGES, AT_WORK),
    ("waits: for the last of the iteration so many before", "return done[0] - done[-1] < depth", "return True"),
    ("waits: one iteration more", "return done[0] - done[-1] < depth", "return done[0] - done[-1] <= depth"),
    ("waits: for the stage before", "return done[stage] < done[stage - 1]", "return done[stage] <= done[stage - 1]"),
    ("waits: in order", "return not 0 < i - j < depth", "return not 0 < i - j < depth - 1"),
)

MUTANTS += mutants(
    "slinky/runtime/overlaps.py",
    (STAGES, AT_WORK),
    ("overlaps: reads", "(writes or a.writes)", "a.writes"),
    ("overlaps: writes", "(writes or a.writes)", "writes"),
    ("overlaps: forgotten too early", "task[1] - 2 * self.depth", "task[1] - 1"),
)

MUTANTS += mutants(
    "slinky/runtime/threads.py",
    (STAGES, AT_WORK),
    ("stages: once at a time", "if not self._runs[stage] and ended", "if ended"),
    (
        "stages: what failed is not done",
        "            if not self._stopped:\n                self._ended",
        "            if True:\n                self._ended",
        "after an error nothing begins, so nobody asks what is done; it stands there so that it is true",
    ),
)

MUTANTS += mutants(
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

MUTANTS += mutants(
    "slinky/runtime/codegen/calls.py",
    (HOISTING, PLAN, SOURCE, CHECKED, AGREEMENT),
    ("plan: clamps", "effects.clamped_box(call, boxes.__getitem__)", "call.box"),
    ("plan: empty calls", "unsure = [i for i in box if not writer.is_at_most(i.min, i.max, writer.known)]\n        if any(", "unsure = []\n        if any("),
    ("plan: regions inside", "                    self._writer.stop_if(most < least, BadRegion(number), call)\n", "                    pass\n"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/calls.py",
    (STORAGE, "tests/test_windows_of_loops.py"),
    ("plan: longer than the fold", "            if not self._writer.is_at_most(extent, fold, self._writer.known):\n", "            if False:\n"),
    ("plan: as long as the fold", 'Comparison(self._writer.value(extent), ">"', 'Comparison(self._writer.value(extent - 1), ">"'),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/scopes.py",
    (HOISTING, PLAN, SOURCE, AGREEMENT),
    ("plan: early divisions", "return all(prove(q.denominator >= 1, known) for q in quotients(node, self._known_quotients))", "return True"),
    ("plan: homes", "                if own.level > home.level:\n", "                if own.level < home.level:\n"),
    ("plan: bound no longer", "                if self.homes.get(symbol) is inner:\n                    del self.homes[symbol]\n",
     "                pass\n",
     "a symbol stands only where it is bound, and is bound anew there; what is left over is never asked"),
    ("plan: less than", "strict = linear(expr)[0] == -1  #", "strict = linear(expr)[0] in (-1, 0)  #"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/views.py",
    (HOISTING, PLAN, SOURCE, AGREEMENT),
    ("plan: early windows", "            if not are_there:\n", "            if False:\n"),
    ("plan: windows too long", "            and writer.is_at_most(c.extent, fold, known)\n", ""),
    ("plan: whole dimensions", "is_whole = constant_value(offset) == 0 and constant_value(rest) == 0", "is_whole = constant_value(offset) == 0"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/views.py",
    (WORK,),
    ("plan: all to the end", "for a, b in ((i.min, j.min), (i.max, j.max))]", "for a, b in ((i.min, j.min),)]"),
    ("plan: all from the beginning", "for a, b in ((i.min, j.min), (i.max, j.max))]", "for a, b in ((i.max, j.max),)]"),
    ("plan: all of nothing", "return crop if isinstance(is_all, Truth) else attrs", "return crop if True else attrs"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/views.py",
    (ALONG,),
    ("along: of what is there", " = may_go_along and stored.scope.level < target.level", " = may_go_along"),
    ("along: windows that are shown", " = may_go_along and stored.scope.level < target.level", " = stored.scope.level < target.level"),
    ("along: what stays", "if any(writer.home(e).level > around.level or not", "if any(not"),
    ("along: from the first iteration", "first = substitute(crop.first, {course.variable: course.first})", "first = substitute(crop.first, {course.variable: course.step})"),
    ("along: by the step", "        step = rate * course.step\n", "        step = as_expr(rate)\n"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/storage.py",
    (ALONG,),
    ("along: no such windows", "            if not 0 <= count <= rows:\n", "            if False:\n"),
    (
        "along: places",
        "        key = first % starts, count, step % starts\n",
        "        key = first % starts, count, 1\n",
    ),
)
MUTANTS += mutants(
    "slinky/runtime/compacting.py",
    (MOVING,),
    ("moving: what may be read", "begin = first + count - fold if", "begin = first if"),
    (
        "moving: downwards",
        "else first + fold - rows\n",
        "else first\n",
        "there is room for what may be read either way; only the next window that goes down moves all again",
    ),
    ("moving: what stays", "            if low < high:\n", "            if low < high - 1:\n"),
    ("moving: longer than the fold", "            if count > fold:\n", "            if False:\n"),
    (
        "moving: one room for both",
        "                if not begin <= first <= begin + rows - count:\n",
        "                if not begin <= first:\n",
    ),
)
MUTANTS += mutants(
    "slinky/frontend/labels.py",
    (
        "tests/test_labelled_traces.py",
        "tests/test_names_of_containers.py",
        "tests/test_numbers_beside_tables.py",
        "tests/test_arrays_of_containers.py",
    ),
    ("labels: what meets whole", "        if not all(view.is_whole for view in met):\n            return None\n", ""),
    ("labels: functions that give arrays", "if origins.gives_arrays(node)", "if False"),
    (
        "labels: functions that nobody knows",
        "            case _ if not origins.keeps_containers(node):\n                return None\n",
        "",
    ),
    ("labels: given back as arrays", "if origins.arrays & labelled.keys():", "if False:"),
    ("labels: parts of results", "all(view.is_whole for view in found if view.result in labelled)", "True"),
    (
        "labels: reductions",
        "            case _:\n                return None\n",
        "            case _:\n                pass\n",
    ),
    ("labels: divided integers", "or operation.name in _OF_INTEGERS)", ")"),
    ("labels: floats made integers", 'view.dtype.kind not in "biu" or ', ""),
    ("labels: names of one", "labelled.get(view.result, ())) < 2", "labelled.get(view.result, ())) < 1"),
    ("labels: numbers by operators", "return dtypes == _dtypes(node, operation, _of_python)", "return True"),
    ("labels: numbers as arrays", "or dtypes == _dtypes(node, operation, np.asarray)", "or True"),
    ("labels: bounds in order", "and bounds == sorted(bounds)", ""),
    ("labels: truths", "(is_of_truths and operation.name in _NOT_OF_TRUTHS)", "False"),
)
MUTANTS += mutants(
    "slinky/frontend/tensors/equations.py",
    ("tests/test_tensor_views.py",),
    ("sizes: what fits comes last", "        if isinstance(equation, Fit):\n", "        if False:\n"),
)
MUTANTS += mutants(
    "slinky/sched/relations.py",
    ("tests/test_automatic_nests.py::test_a_reduction_of_what_is_seen_past_a_copy_has_no_strips_of_its_own",),
    (
        "relations: past a copy",
        "        if any(port.view is not None for port in call.func.ports):\n            return []\n",
        "",
    ),
)
MUTANTS += mutants(
    "slinky/runtime/codegen/moving.py",
    (MOVING,),
    (
        "moving: threads",
        "            if not is_read_only and buffer in buffers_named_inside(statement):\n",
        "            if False:\n",
    ),
    ("moving: several folds", "    if len(folds) != 1:\n", "    if not folds:\n"),
    ("moving: a single row", "    if constant_value(folds[0]) == 1:\n", "    if False:\n"),
    ("moving: read and written", "            if buffer in statement.reads and buffer in statement.writes:\n", "            if False:\n"),
    ("moving: only read", "            if not is_read_only and buffer", "            if buffer"),
    ("moving: loops in loops", "        elif any(_is_shared(inner, buffer) for _, inner in blocks_of(statement)):\n", "        elif False:\n"),
    ("moving: no room to try", "        return True  # there is no room", "        return False  # there is no room"),
    ("moving: where memory is mapped twice", "    return not is_mapped_twice() and", "    return"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/codegen/allocations.py",
    (HOISTING, PLAN, LIMITS, IN_PLACE),
    ("plan: early arrays", "or not all(prove(e >= 0, known) for e in extents):", ":"),
    ("plan: early memory", "            if not (is_reserved or scope.is_certain):\n                break\n", ""),
    ("plan: loops that never run", "tuple([self._writer.value(condition) for condition in self._unsure(loops)])", "()"),
    ("plan: the most of any iteration", "                extent = bounds(extent, {loop.variable: loop.range}, inner).max\n",
     "                extent = bounds(extent, {loop.variable: loop.range}, inner).min\n"),
    ("plan: just a part of an output", "        if not all(map(self._same, (*effect.box, *effect.box[1:]), (*alloc.box, *limits[1:]))):\n            return None\n", ""),
)  # fmt: skip

# Proofs, and the steady state of loops --------------------------------------------------------------------------------


MUTANTS += mutants(
    "slinky/runtime/codegen/peeling.py",
    (PLAN,),
    ("peeling: the fastest", "best = max((rate", "best = min((rate"),
)
MUTANTS += mutants(
    "slinky/runtime/codegen/pieces.py",
    (PLAN,),
    (
        "pieces: before",
        "minimum(maximum(first, *found.lower), stop)",
        "minimum(maximum(first, *(t - 1 for t in found.lower)), stop)",
    ),
    (
        "pieces: steps behind",
        "counted = [(t - first) // step + 1 for t in found.upper]",
        "counted = [(t - first) // step + 2 for t in found.upper]",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/inequalities.py",
    (CORPUS,),
    ("proofs: rows of one direction", "if known is None or offset < known:", "if known is None or offset > known:"),
    (
        "proofs: rows that contradict",
        "opposite + offset < 0:\n                raise",
        "opposite + offset <= 0:\n                raise",
    ),
    ("proofs: combined", "b * low_offset + a * high_offset)", "b * low_offset + a * high_offset - 1)"),
)
MUTANTS += mutants(
    "slinky/symbolic/search.py",
    (CORPUS,),
    (
        "proofs: all branches",
        "if self.budget < 0 or not self.refute(system.extended(rows, inner, case)):\n                return False",
        "if self.budget >= 0 and self.refute(system.extended(rows, inner, case)):\n                return True",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/chaining.py",
    (CORPUS,),
    ("chains: rounding", "multiple * offset + multiple - 1 - factor", "multiple * offset + multiple - factor"),
    ("chains: tightest", "if least is not None and least <= offset:", "if least is not None and least <= offset + 1:"),
    (
        "chains: the end",
        "        if not goal:\n            return offset >= 0",
        "        if not goal:\n            return offset >= -1",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/lower_bounds.py",
    (SHORT,),
    ("lower bounds: the least of them", "return min(ends, default=None)", "return max(ends, default=None)"),
)
MUTANTS += mutants(
    "slinky/symbolic/comparing.py",
    (CASES,),
    (
        "short look: maxima",
        "return _all_at_most(a.operands, (b,), known, deeper)",
        "return any(at_most(e, b, known, deeper) for e in a.operands)",
    ),
    (
        "short look: minima",
        "return _all_at_most((a,), b.operands, known, deeper)",
        "return any(at_most(a, e, known, deeper) for e in b.operands)",
    ),
    (
        "short look: choices",
        "return _all_at_most((a.then, a.otherwise), (b,), known, deeper)",
        "return at_most(a.then, b, known, deeper)",
    ),
    (
        "short look: choices above",
        "return _all_at_most((a,), (b.then, b.otherwise), known, deeper)",
        "return at_most(a, b.then, known, deeper)",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/conditions.py",
    (CASES,),
    (
        "conditions: negation",
        "        return nonnegative(plus(scale(condition.expr, -1), -1))\n    if not",
        "        return nonnegative(scale(condition.expr, -1))\n    if not",
    ),
    (
        "conditions: choices",
        "combine = all_of if isinstance(atom, Min) == (c > 0) else any_of",
        "combine = all_of if isinstance(atom, Min) else any_of",
    ),
    (
        "conditions: and",
        "            if operand is dominant:\n                return dominant\n",
        "            if operand is dominant:\n                continue\n",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/meaning.py",
    (CORPUS,),
    (
        "meaning: quotients",
        "difference(multiple + denominator - 1, numerator)",
        "difference(multiple + denominator - 2, numerator)",
    ),
)
MUTANTS += mutants(
    "slinky/symbolic/remainders.py",
    (REMAINDERS,),
    ("remainders: below", "            low -= share * (d - 1)\n", "            low -= share * (d - 2)\n"),
)
MUTANTS += mutants(
    "slinky/symbolic/differences.py",
    (CASES,),
    (
        "differences: one bound",
        "        found.append(minimum(*(list(filter(_is_of_scalars, bounded)) or bounded)))\n",
        "        found.append(minimum(*(list(filter(_is_of_scalars, bounded)) or bounded)) - 1)\n",
    ),
)
MUTANTS += mutants(
    "slinky/runtime/following.py",
    (OMITTED, MULTIPLES),
    ("omitted: one side", "directions.pop() if len(directions) == 1 else 0", "directions.pop()"),
    ("omitted: one end alone", "        if len(limited) != 1:\n", "        if not limited:\n"),
    ("omitted: in order", "all(s in ordered for s in symbols(value) if s in unknown)", "True"),
    ("omitted: multiples", "values[end] = self._rounded(end, limit, directions[end])", "values[end] = limit"),
)
MUTANTS += mutants(
    "slinky/runtime/strided.py",
    (LAYOUTS,),
    ("strided: apart", "        if stride < reach:\n            return False\n", ""),
    ("strided: aligned", "reach if reach == itemsize else -(-reach // alignment) * alignment", "reach"),
)
MUTANTS += mutants(
    "slinky/runtime/rings.py",
    (RINGS,),
    ("rings: both halves", "(-size, 0, size)", "(0,)"),
    ("rings: of the class", "isinstance(a, RingArray) or isinstance(b, RingArray)", "isinstance(a, RingArray)"),
)
MUTANTS += mutants(
    "slinky/runtime/copy_pieces.py",
    (COPY_PIECES,),
    ("copies: nothing within", "    if hi < first or lo > last or last < first:\n", "    if hi < first or lo > last:\n",
     "two pieces would overlap beyond edges of less than nothing, and get the same elements"),
    ("copies: within below", "    if first <= lo and hi <= last:\n        return form\n    if hi <", "    if hi <= last:\n        return form\n    if hi <"),
    ("copies: within above", "    if first <= lo and hi <= last:\n        return form\n    if hi <", "    if first <= lo:\n        return form\n    if hi <"),
    ("copies: within an axis", "(min(max(k, 0), extent) for k in _between(", "(k for k in _between("),
    ("copies: backward", "    if factor < 0:\n        constant, factor, first, last = -constant, -factor, -last, -first\n", ""),
    ("copies: the nearest", "return still.shifted(first if hi <= first else last)", "return still.shifted(first)"),
    ("copies: one element", "    if first == last:\n        return still.shifted(first)\n", ""),
    ("copies: nothing to extend", "    if last < first:\n        raise _TakenToPiecesError((), [space])\n    still", "    still"),
    ("copies: turned", "if boundary is Boundary.WRAP or turns % 2 == 0:", "if True:"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/symbolic/solving.py",
    (SOLVING,),
    ("solving: remainders", " and condition.expr in (remainder, -remainder):", ":"),
    ("solving: what moves with the symbol", "if symbol not in symbols(offset) | symbols(divisor) and", "if"),
    ("solving: a value that falls", " or (lo.side, hi.side) != (Side.AT_LEAST, Side.AT_MOST)", ""),
)
MUTANTS += mutants(
    "slinky/runtime/in_place.py",
    (SHARED,),
    ("shared: what lies there later", "and read not in followed", ""),
    ("shared: what lay there before", "and name not in preceded", ""),
    ("shared: an output", "                if read in followed:\n", "                if False:\n"),
    ("shared: alike", "_host_alike(s, allocs)) is not None}", "_host_alike(s, allocs)) is not None and False}"),
)
MUTANTS += mutants(
    "slinky/runtime/in_place.py",
    (CHAINS,),
    ("in place: one chain of several", "for other, at in first.items() if at == written}", "for other, at in first.items()}"),
    ("shared: where the program says", "if host_of(s) is None and name not in preceded}", "if name not in preceded}"),
    ("shared: any that lies there later", "if any((last, first) > (end, begin) for first, last in spans.values()):",
     "if len(spans) > 1 and all((last, first) >= (end, begin) for first, last in spans.values()):"),
    ("shared: any that lay there before", "if any((first, last) < (begin, end) for first, last in spans.values()):",
     "if len(spans) > 1 and all((first, last) <= (begin, end) for first, last in spans.values()):"),
    ("in place: no layouts in an output", "for s in block if isinstance(s, Alloc) and _is_plain(s)}\n        last_uses",
     "for s in block if isinstance(s, Alloc)}\n        last_uses"),
    ("in place: all folds", "alloc.layout is None and all(fold is None", "alloc.layout is None and any(fold is None"),
    ("in place: ifs in loops", "(*before_loops, scope.known) if isinstance(statement, For) else before_loops",
     "(*before_loops, scope.known)"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/ir/sharing.py",
    (IN_PLACE, CHAINS),
    ("in place: where regions begin", "i.min is dim and i.max is dim for", "i.max is dim for"),
    ("in place: the same along each dimension", "all(\n        i.min is dim", "any(\n        i.min is dim"),
    ("in place: what else is read", "for name, port in zip(call.reads, func.inputs, strict=True) if name == read]",
     "for name, port in zip(call.reads, func.inputs, strict=True)]"),
    ("in place: read at all", "len(func.dims) or not inputs:", "len(func.dims):",
     "all who ask do so of a buffer that the call reads; it says what is so of others"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/runtime/arena.py",
    (SHARED,),
    ("shared: one place", "is_alone = kind.place < 0", "is_alone = True"),
    ("shared: the largest", "pack([max(sizes[n] for n in group)", "pack([min(sizes[n] for n in group)"),
    (
        "shared: as long as any",
        "born=min(k.born for k in these), dies=max(k.dies for k in these)",
        "born=these[0].born, dies=these[0].dies",
    ),
)
MUTANTS += mutants(
    "slinky/runtime/interpreter.py",
    (SHARED,),
    ("shared: in memory", "            _check_in_memory(call, name, reads, writes, frame.shadows)\n", ""),
    ("shared: in place", "if not same or (read, written) not in in_place:", "if not same:"),
)
MUTANTS += mutants(
    "slinky/runtime/shadow.py",
    (SHARED,),
    ("shared: overwritten", "            self._check_shared(box, reader)\n", ""),
    ("shared: who wrote", "            self.shared.writers[self._bytes(box)] = self._number\n", "            pass\n"),
)
MUTANTS += mutants(
    "slinky/runtime/lifetimes.py",
    (SHARED,),
    ("shared: the last of them", "                last[host] = max(last[host], position)\n", "                pass\n"),
)
MUTANTS += mutants(
    "slinky/runtime/collector.py",
    ("tests/test_collector.py",),
    ("collector: what is frozen", "if not self._somebody_freezes:", "if True:"),
    ("collector: what is new", "if not self._somebody_freezes:", "if False:"),
    ("collector: what is old", "                gc.unfreeze()\n", ""),
)
MUTANTS += mutants(
    "slinky/runtime/codegen/sites.py",
    (SHARED,),
    ("shared: the first use of any", "for buffer in used} - begun:", "for buffer in used}:"),
)
MUTANTS += mutants(
    "slinky/runtime/transposing.py",
    ("tests/test_transposing.py",),
    ("transposing: shared memory", "None if np.may_share_memory(target, source) else axis", "axis"),
    ("transposing: what is stretched", "    if target.shape != source.shape:\n", "    if False:\n"),
    ("transposing: the same neighbours", "axis == other or ", ""),
    (
        "transposing: all blocks",
        "for start in range(0, target.shape[axis], BLOCK):",
        "for start in range(0, target.shape[axis] - BLOCK, BLOCK):",
    ),
)

# What traced functions see of memory -----------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/frontend/arrays.py",
    ("tests/test_views_of_traces.py", "tests/test_tracing.py"),
    (
        "views: gaps between elements",
        "        found = self.copied()\n        self._cell.uncertain = found",
        "        found = self\n        self._cell.uncertain = found",
    ),
    ("views: gaps in other orders", "            self._cell.by_layout = True\n", "            pass\n"),
    ("views: real arrays", "            self._cell.uncertain |= not self._trace.is_free\n", ""),
    (
        "views: real arrays of others",
        "            array.flags.writeable = False\n            self._cell.uncertain = True\n",
        "",
    ),
)

MUTANTS += mutants(
    "slinky/runtime/arena.py",
    (RESERVING,),
    ("arena: small rings", "> SPARE * max(self._last.values())", "> SPARE * size"),
)
