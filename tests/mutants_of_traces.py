"""What is broken of traced graphs on their way to pipelines: rolls, assignments, the classes that functions ask for."""

from __future__ import annotations

from mutants import Mutant, mutants

MUTANTS: list[Mutant] = []

MUTANTS += mutants(
    "slinky/frontend/halos.py",
    ("tests/test_halos.py",),
    ("halos: what others see", " and result not in self.returned and not is_seen", " and not is_seen"),
    ("halos: parts of arrays", "return node.operands[0].is_whole and result", "return result"),
    (
        "halos: readers that see how it lies",
        "is_seen = any(not is_arithmetic(each) and not isinstance(each.operation, Assembled) for each in readers)",
        "is_seen = False",
    ),
    ("halos: wide for others", "node.results[0] not in self.returned and all(map(is_arithmetic, readers))", "True"),
    ("halos: too far", "            and max(map(max, ends)) <= FARTHEST\n", ""),
    ("halos: of other lengths", " or not are_same(extent, result.shape[axis])", ""),
    (
        "halos: readers that are wide",
        "return max(0, before + more[0]), max(0, behind + more[1])",
        "return max(0, before), max(0, behind)",
    ),
    (
        "halos: places of readers that are wide",
        "offset=i.offset + (first - before - more)",
        "offset=i.offset + (first - before)",
    ),
    ("halos: many arrays", "len(reach.leaves(node)) > MOST_COPIED", "False"),
    ("halos: rows", "not _is_along_rows(n) or not is_arithmetic", "True or not is_arithmetic"),
    ("halos: rows in C", "if in_loops or not _is_along_rows(n)", "if not _is_along_rows(n)"),
    (
        "halos: copied once more",
        "    more |= {node for node in others if node.results[0] in copied}",
        "    more |= set()",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/overlapping.py",
    ("tests/test_overlapping_windows.py",),
    ("overlapping: steps", " and all(step == 1 for step, _ in terms)", ""),
    ("overlapping: other windows", "if found is not None and found != windows:", "if False:"),
    ("overlapping: other readers", "if seen and not self._may_see(node):", "if False:"),
)

MUTANTS += mutants(
    "slinky/frontend/grids.py",
    ("tests/test_grids.py",),
    (
        "grids: large arguments",
        "return trace.makes_grids and is_made(shape, dtype, trace)",
        "return is_made(shape, dtype, trace)",
    ),
    ("grids: ends of lines", "    if found is None or not endpoint:", "    if True:"),
    ("grids: steps of lines", "(num - 1 if endpoint else num)", "(num - 1)"),
    ("grids: signs of zero", "if start == 0 and math.copysign(1, start) < 0:", "if False:"),
    ("grids: steps of floats", "float(start + step) - float(start)", "step"),
    ("grids: short lines", "numbers.size >= LINE and", ""),
)

MUTANTS += mutants(
    "slinky/frontend/making.py",
    ("tests/test_grids.py",),
    ("making: short calls", "        if seconds < LONG_SECONDS:\n            return False\n", ""),
    ("making: one call", "_CALLS = 2\n", "_CALLS = 1\n"),
    ("making: what is changed", " or not reads.hold():", ":"),
    ("making: what was said", "0 if is_given else LOOKS", "LOOKS"),
    (
        "making: random numbers",
        "with contextlib.suppress(RaisedError), foreign():  # what cannot be",
        "if True:  # what cannot be",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/making.py",
    ("tests/test_forced_traces.py",),
    ("making: looks", "and self._looks and self._traces", "and self._traces"),
)

MUTANTS += mutants(
    "slinky/frontend/kept_traces.py",
    ("tests/test_grids.py",),
    ("made: again", "return has_arrays and any(trace.has_made for trace in traces)", "return False and any(())"),
    ("made: many objects", "if has_many(held, MOST_LEAVES):", "if False:"),
    ("made: errors", "        self._makes_arrays &= made is None\n", "        self._makes_arrays = False\n"),
)

MUTANTS += mutants(
    "slinky/frontend/tracing.py",
    ("tests/test_grids.py",),
    (
        "made: operations",
        "if self.has_made and not self.makes_grids and self._operations",
        "if False and self._operations",
        "they are too many when the trace has ended, too: it takes seconds to see that",
    ),
    ("made: many values", "if self._constants > MOST_CONSTANTS:", "if False:"),
    ("made: what is known", "        if not self.has_made:\n            return False\n", "        return False\n"),
)

MUTANTS += mutants(
    "slinky/frontend/placed_rows.py",
    ("tests/test_placed_rows.py",),
    (
        "placed: other readers",
        " or readers[old.result] > 1 or",
        " or",
        "what others read is made of what was there before, then, and both copy the rows",
    ),
    ("placed: other axes", " or _function(before).axis != axis:", ":"),
    (
        "placed: parts",
        "(is_rows(before) and old.is_whole)",
        "is_rows(before)",
        "an array that is written to by a view of it reads what was there before, too",
    ),
    ("placed: which row", "their_rows[rows[is_old]]\n", "their_rows[is_old]\n"),
    ("placed: which array", "last + their_numbers[rows[is_old]]", "last + their_numbers[is_old]"),
)

MUTANTS += mutants(
    "slinky/frontend/gathering.py",
    ("tests/test_placed_rows.py",),
    ("gathering: backwards", "if step > 0 and (steps", "if (steps"),
    ("gathering: uneven", "if step > 0 and (steps == step).all() else places", "if step > 0 else places"),
    ("gathering: one row", "    if not steps.any():\n        return slice(first, first + 1)\n", ""),
)

MUTANTS += mutants(
    "slinky/frontend/fancy_indexing.py",
    ("tests/test_placed_rows.py",),
    ("placed: as long", "if _is_mask(entry) and not same(entry.shape[0], extent):", "if False:"),
    ("placed: outside", "if len(places) and not (-count <=", "if False and not (-count <="),
    (
        "placed: what does not fit",
        "    if not _fits(each, (*array._shape[:axis], len(places), *after)):",
        "    if False:",
    ),
    ("placed: all rows", "    if numbers.any():\n", "    if numbers.all():\n"),
)

MUTANTS += mutants(
    "slinky/frontend/assignments.py",
    ("tests/test_assignments.py",),
    ("assignments: apart", "(seen[1] < taken[0] or taken[1] < seen[0])", "(seen[1] <= taken[0] or taken[1] < seen[0])"),
    ("assignments: within", "taken[0] <= seen[0] and seen[1] <= taken[1]", "taken[0] <= seen[0]"),
    ("assignments: steps", " or abs(at.step) != 1:", ":"),
    (
        "assignments: backwards",
        "index_of((i.offset - at.offset) * at.step, [(s * at.step, a)",
        "index_of((i.offset - at.offset), [(s, a)",
    ),
    (
        "assignments: how arrays lie",
        "made.followed if _sees_elements_alone(node) else made.mapped",
        "made.followed",
        "sums of which that matters are told in which order arrays lie",
    ),
    ("assignments: other readers", " or readers[old.result] > 1 or", " or"),
    (
        "assignments: all of the other axes",
        "    return all(part.index[k].is_plain and are_same",
        "    return any(part.index[k].is_plain and are_same",
    ),
    ("assignments: all places", "        if len(places) == extent:\n", "        if places:\n"),
)

MUTANTS += mutants(
    "slinky/sched/legality/side_by_side.py",
    ("tests/test_side_by_side.py",),
    ("side by side: gaps", "following.pop(i.max + 1, ())", "following.pop(i.max + 2, ())"),
    ("side by side: the end", "        if at_most(needed.max, i.max, known):\n", "        if not following:\n"),
    ("side by side: the beginning", "begin in following if at_most(begin, needed.min, known)]", "begin in following]"),
    ("side by side: one of each beginning", "        following[i.min].append(i)\n", "        following[i.min] = [i]\n"),
    (
        "side by side: other dimensions",
        "        if all(e == d or _contains(box[e], region[e], known) for e in own)\n",
        "",
    ),
    ("side by side: limits below", "type(e) is not Constant and at_most(e, needed.min, known)", "True"),
    ("side by side: limits above", "type(e) is not Constant and at_most(needed.max, e, known)", "True"),
)

MUTANTS += mutants(
    "slinky/native/reducing.py",
    ("tests/test_bytes_of_bools.py",),
    ("bools: sums", ' or (is_number and "b" in (given.kind, result.kind))', ""),
    ("bools: extrema", " or given == result == np.bool_:", ":"),
)
MUTANTS += mutants(
    "slinky/native/operators.py",
    ("tests/test_bytes_of_bools.py",),
    ("bools: elements", '    return f"{text} != 0" if dtype.kind == "b" else text\n', "    return text\n"),
)

MUTANTS += mutants(
    "slinky/frontend/stacks.py",
    ("tests/test_stacks.py",),
    ("stacks: vectors", "return found[..., 0] if is_vector else found", "return found"),
    ("stacks: the smaller side", "    least = m if m <= n else n\n    left, right", "    least = n\n    left, right"),
    ("stacks: other axes", "(*common[:d], array._shape[d], *common[d:])", "array._shape"),
)
MUTANTS += mutants(
    "slinky/frontend/diagonals.py",
    ("tests/test_stacks.py",),
    (
        "diagonals: turned",
        "rows, columns, offset = columns, rows, -offset",
        "rows, columns, offset = columns, rows, offset",
    ),
    ("diagonals: the order of sums", "found.ndim - 1 if rows == last else 0", "found.ndim - 1"),
)
MUTANTS += mutants(
    "slinky/frontend/kept_traces.py",
    ("tests/test_stacks.py",),
    (
        "traces: errors that are caught",
        "return is_undone or may_catch(self._function, reads.functions)",
        "return is_undone",
    ),
)
MUTANTS += mutants(
    "slinky/sched/grouping.py",
    ("tests/test_grouping.py",),
    (
        "grouping: one of several writers",
        "    def _beside_of(self, group: Group, of: Mapping[int, Group]) -> dict[int, Group]:\n",
        "    def _beside_of(self, group: Group, of: Mapping[int, Group]) -> dict[int, Group]:\n        return {}\n",
    ),
)

MUTANTS += mutants(
    "slinky/sched/legality/elsewhere.py",
    ("tests/test_parts_of_buffers.py",),
    ("elsewhere: beside each other", "shown(one.max + 1, other.min, known)", "shown(one.max, other.min, known)"),
    ("elsewhere: to the other side", "_ends_before(i, j, moving, known) or ", ""),
)
MUTANTS += mutants(
    "slinky/sched/grouping.py",
    ("tests/test_parts_of_buffers.py",),
    ("grouping: those that read other parts", "len(writers) == 1 or is_read_by", "True or is_read_by"),
)
MUTANTS += mutants(
    "slinky/sched/tracks.py",
    ("tests/test_parts_of_buffers.py",),
    ("tracks: edges", "    return extents == [1] and position not in call.wholes", "    return False"),
)


MUTANTS += mutants(
    "slinky/frontend/following.py",
    ("tests/test_following.py",),
    ("following: errors that are caught", '        why = ATTEMPTS.refused or ""\n', '        why = ""\n'),
    (
        "following: what is written",
        "            cell.result, cell.uncertain, cell.by_layout = result, ",
        "            _, ",
    ),
    ("following: what is kept", "            while len(each) > count:\n", "            while False:\n"),
    ("following: warnings", "        if value is warnings:\n", "        if False:\n"),
    ("following: names", "            trace.name_of(node)\n", "            pass\n"),
)

MUTANTS += mutants(
    "slinky/frontend/tracing.py",
    ("tests/test_following.py",),
    (
        "following: values",
        "        if ATTEMPTS.depth:\n            raise ATTEMPTS.refusal(what)\n        if self.is_free:\n",
        "        if self.is_free:\n",
    ),
    ("following: fences", "            raise ATTEMPTS.refusal(name)\n", "            pass\n"),
)

MUTANTS += mutants(
    "slinky/frontend/abandoning.py",
    ("tests/test_following.py",),
    ("following: threads", "class Attempts(threading.local):", "class Attempts:"),
)

MUTANTS += mutants(
    "slinky/frontend/layouts.py",
    ("tests/test_exact_traces.py",),
    (
        "layouts: parts of complex numbers",
        "        if is_near and any(map(_has_gaps, node.operands)):\n",
        "        if False:\n",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/placing.py",
    ("tests/test_composed_functions.py",),
    ("placing: triangles", "_whole_number(k) - 1), array.dtype", "_whole_number(k)), array.dtype"),
    ("placing: what is left out from behind", "each if each >= 0 else extent + each", "each"),
    ("placing: diagonals below", "((above, below),)", "((above + below, 0),)"),
)

MUTANTS += mutants(
    "slinky/frontend/composed.py",
    ("tests/test_composed_functions.py",),
    ("composed: sums of weights that are zero", "        if not np.any(total == 0):\n", "        if True:\n"),
    ("composed: kinds of weights", '[np.dtype(np.float64)] if array.dtype.kind in "biu"', "[] if True"),
)

IGNORED = "tests/test_ignored_errors.py"
MUTANTS += mutants(
    "slinky/frontend/fusing.py",
    (IGNORED,),
    ("fusing: errors", "            and ignored_by(head) == ignored_by(node)\n", ""),
    ("fusing: errors in C", "ignored_by(head) != ignored_by(node) for head in heads):", "False for head in heads):"),
)
MUTANTS += mutants(
    "slinky/frontend/fusing.py",
    ("tests/test_moving_to_native.py",),
    ("fusing: apart", "            and (head in apart) == (node in apart)\n", ""),
)
MUTANTS += mutants(
    "slinky/frontend/operations.py",
    (IGNORED,),
    ("errors: more than before", 'if all(how == "ignore" for _, how in errors):', "if True:"),
)
MUTANTS += mutants(
    "slinky/native/kernels.py",
    (IGNORED,),
    ("kernels: errors of others", "fetestexcept({errors}) & ~noted;", "fetestexcept({errors});"),
    ("kernels: errors in place", "if self.functions or self.formula.ignored:", "if self.functions:"),
)
MUTANTS += mutants(
    "slinky/frontend/operations.py",
    ("tests/test_traced_windows.py",),
    ("fused: rows that begin in the middle", "if at == 0 and high - low >= inner:", "if high - low >= inner:"),
    ("fused: whole rows", "end = min(high, begin + inner)", "end = begin + inner"),
)
MUTANTS += mutants(
    "slinky/frontend/operations.py",
    ("tests/test_running_sums.py",),
    ("running sums: calls", "each_turn=1 if self.goes_by_steps else 0", "each_turn=0"),
    ("running sums: axes", "in RUNNING and rank - 1 not in self.axes", "in RUNNING"),
)
MUTANTS += mutants(
    "slinky/frontend/rearranging.py",
    ("tests/test_traced_windows.py",),
    ("shapes: an extent of none", "(*before[:first], *after[:last], others)", "(others,)"),
    ("shapes: axes of none", " or (len(one) + len(other) > 2 and have < 1)", ""),
    ("shapes: as they are written", "        if are_same(product, goal):\n", "        if same(product, goal):\n"),
    ("shapes: now", "return value_of(a) == value_of(b) and same(a, b)", "return same(a, b)"),
)

MUTANTS += mutants(
    "slinky/frontend/repeating.py",
    ("tests/test_repeated_steps.py",),
    ("repeating: where least goes on", "key=lambda at: crossing[at]", "key=lambda at: at"),
    ("repeating: other places than the middle", "for part in _PLACES:", "for part in _PLACES[:1]:"),
    ("repeating: in the order of making", "key=lambda node: node.serial", "key=lambda node: 0"),
    ("repeating: sizes found equal", "given.questions.canonical(given.expr) if type", "given.expr if type"),
    ("repeating: which of those outside", "outside.setdefault(result, len(outside))", "0"),
    ("repeating: what is read inside", "if k is None else (k, result.number))", "if k is None else (0, 0))"),
    (
        "repeating: what is outside",
        "return tuple(map(sign_of.__getitem__, piece)), tuple(read), kinds",
        "return tuple(map(sign_of.__getitem__, piece)), tuple(read)",
    ),
    ("repeating: what ends up in results", "needed = self._kept | self._last.keys()", "needed = self._last.keys()"),
    ("repeating: what later legs need", "self._last |= dict.fromkeys", "_ = dict.fromkeys"),
    ("repeating: what is over", "self._last.get(each, -1) <= k and each", "self._last.get(each, -1) < 0 and each"),
    ("repeating: too soon", "self._last.get(each, -1) <= k and each", "each"),
    ("repeating: results are kept", " and each not in self._kept]", "]"),
    ("repeating: numbers that are told", "legs(*_told(nodes, outputs, floats)) if", "legs(nodes, outputs, floats) if"),
    ("repeating: integers among floats", "is_exact = is_of_floats and type", "is_exact = type"),
    ("repeating: their dtypes", "dtype = None if is_exact else np.dtype(type(value))", "dtype = None"),
    ("repeating: functions that look at numbers", "operation.function not in _PLAIN or", ""),
    (
        "repeating: so many funcs",
        "for each in stretches.values()) > MOST_FUNCS:",
        "for each in stretches.values()) < 0:",
    ),
    ("repeating: so often", ", default=0) < LEAST_LEGS:", ", default=0) < 1:"),
)

MUTANTS += mutants(
    "slinky/frontend/legs.py",
    ("tests/test_repeated_steps.py",),
    ("legs: results that are views", "if view.is_whole and number in made and", "if number in made and"),
    ("legs: arguments as results", " and number in made and ", " and "),
    ("legs: the same result twice", " and number not in self._places:", ":"),
    ("legs: buffers of others", "        if id(array) in self._own:\n", "        if True:\n"),
    ("legs: without a plan", "self.plan or self.lowered.unscheduled.compile()", "self.plan"),
    ("legs: where it has moved", "return not self.moves and any(", "return any("),
)

MUTANTS += mutants(
    "slinky/frontend/forced.py",
    ("tests/test_asked_values.py", "tests/test_repeated_steps.py"),
    ("forced: known again", "            self._known[kind] = known\n", "            pass\n"),
    ("forced: of such sizes", "(what, shapes, tuple(sizes))", "(what, tuple(sizes))"),
    (
        "forced: no arrays",
        "found, stands = apart(made, ",
        "return Stretch(list(nodes), list(views), 1)\n    found, stands = apart(made, ",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/tracing.py",
    ("tests/test_asked_values.py", "tests/test_repeated_steps.py"),
    (
        "tracing: held in order",
        "return sorted(found, key=lambda r: r.node.serial)",
        "return sorted(found, key=lambda r: hash(r))",
    ),
    ("tracing: nodes of loops", "        self.made.clear()\n", ""),
    ("tracing: arrays of loops", "        self.sources.clear()\n", ""),
    ("tracing: origins of loops", "        self.origins.forget()\n", ""),
    ("tracing: what is over", "            del values[result]\n", "            pass\n"),
    ("tracing: what nobody reads", " if result in last or result in kept)", ")"),
    ("tracing: very many operations", "if self._operations >= MOST_OPERATIONS:", "if False:"),
    ("tracing: for these sizes", "self.is_abandoned_here = True", "self.is_abandoned_here = False"),
    ("tracing: small arrays", "if self.chooses and self._operations >= MANY", "if self._operations >= MANY"),
)

MUTANTS += mutants(
    "slinky/frontend/views.py",
    ("tests/test_views_of_traces.py", "tests/test_sizes_of_traces.py"),
    ("views: slices of other lengths", "(extent.expr, *_ends_of(given))", "_ends_of(given)"),
)

MUTANTS += mutants(
    "slinky/frontend/trials.py",
    ("tests/test_effects_of_functions.py",),
    ("trials: what it learned", " and not learned):", "):"),
)

MUTANTS += mutants(
    "slinky/frontend/following.py",
    ("tests/test_following.py",),
    ("following: slices that are known", "questions.roots, questions.known]", "questions.roots]"),
)

ASSIGNING, SUSPECTED = "tests/test_assigning_at_once.py", "tests/test_suspected_pieces.py"

MUTANTS += mutants(
    "slinky/frontend/fancy_indexing.py",
    (ASSIGNING,),
    ("assigning at once: what others see", "or sys.getrefcount(cell.result) > _ALONE:", "or False:"),
    (
        "assigning at once: whose array",
        "or not source.is_own or",
        "or",
        "others are arguments, which are held elsewhere, copies, or read-only: then the function is called as it is",
    ),
    (
        "assigning at once: traces that are kept",
        "is_kept = trace.is_free or not trace.reasons",
        "is_kept = trace.is_free",
        "arrays are a node's own only where values were asked for: this saves computing them to see that",
    ),
    ("assigning at once: parts", "    if not array._view.is_whole:\n        return False\n", ""),
)
MUTANTS += mutants(
    "slinky/frontend/fences.py",
    (ASSIGNING,),
    ("fences: what comes of small arguments", "        _know_as_small(found, own, trace)\n", ""),
    (
        "fences: what comes of others",
        "    if all(behind):\n",
        "    if True:\n",
        "who asked for the others has said that the trace is good for one call",
    ),
    ("fences: computed again", "elif trace.reasons and not trace.is_free", "elif not trace.is_free"),
)
MUTANTS += mutants(
    "slinky/frontend/contests.py",
    (SUSPECTED,),
    (
        "contests: rounds before a suspicion",
        "len(self.pieces) <= _SUSPECTED_ROUNDS",
        "len(self.pieces) < _SUSPECTED_ROUNDS",
    ),
    ("contests: what is clear", "self.is_over = is_clear or", "self.is_over ="),
    ("contests: who lost", "self.is_lost = self.is_over and pieces > _AS_FAST * plain", "self.is_lost = self.is_over"),
)
MUTANTS += mutants(
    "slinky/frontend/choosing.py",
    (SUSPECTED,),
    (
        "contests: the memory of the machine",
        "if most > SHARE_OF_MEMORY * memory_bytes():",
        "if False:",
    ),
    ("contests: what is said of trusted pieces", "is_large and not found.plain else found", "False else found"),
)
MUTANTS += mutants(
    "slinky/graph/copying.py",
    ("tests/test_assignments.py", "tests/test_copies.py"),
    ("copies: rows in between", "(numerator - wanted + (step - 1)) // step", "(numerator - wanted) // step"),
    ("copies: which remainder", "return (numerator - wanted) // step, (", "return numerator // step, ("),
    ("copies: backwards", "first.append((above if factor > 0 else below, factor))", "first.append((above, factor))"),
)
MUTANTS += mutants(
    "slinky/frontend/functions.py",
    ("tests/test_exact_traces.py",),
    ("rows: of one column", "is_plain and rank - 1 in wide and adds_rows(", "is_plain and adds_rows("),
    ("rows: under a mask", "is_plain = mask is None and array._view", "is_plain = array._view"),
    (
        "rows: of turned arrays",
        "is_plain = mask is None and array._view.is_turned_nowhere",
        "is_plain = mask is None",
        "what is turned is one piece for that already; this keeps it from being compared with NumPy",
    ),
)
MUTANTS += mutants(
    "slinky/frontend/tables.py",
    ("tests/test_exact_traces.py",),
    ("rows: of what is converted", "name in _OF_ROWS and of == into and of in", "name in _OF_ROWS and of in"),
    ("rows: of complex numbers", " and of in (np.float32, np.float64)", ""),
    ("rows: of other functions", "return name in _OF_ROWS and of == into", "return of == into"),
)
