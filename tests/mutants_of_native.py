"""What is broken of native plans: copies in C, calls that are joined; and of which funcs are made for C."""

from __future__ import annotations

from mutants import Mutant, mutants

_FILE = "tests/test_copies_in_c.py"
BEYOND, ORDERS = f"{_FILE}::test_what_is_beyond_edges", f"{_FILE}::test_elements_of_any_size_in_any_order"

APART = "tests/test_second_library.py"

MUTANTS: list[Mutant] = []

MUTANTS += mutants(
    "slinky/native/coordinates.py",
    (BEYOND, ORDERS),
    ("lines: the shorter one", "own.run < s.run ? own : s", "own"),
    ("lines: stretches that differ", "if (own.stretches < s.stretches) s.stretches = own.stretches;", ""),
    (
        "lines: the leap of others",
        "return a.stretches > 1 && s.run == a.run ? a.leap : a.slope * s.run;",
        "return a.slope * s.run;",
    ),
    ("lines: even stretches", "const int is_even = by % step == 0 && same == by / step;", "const int is_even = 1;"),
    (
        "lines: where a quotient changes",
        "(a.slope > 0 ? by - 1 - left : left) / step + 1",
        "(a.slope > 0 ? by - left : left) / step + 1",
    ),
    ("lines: how long inside", "slope > 0 ? (hi - value) / slope + 1", "slope > 0 ? (hi - value) / slope"),
    (
        "lines: how long inside, backward",
        "slope < 0 ? (value - lo) / -slope + 1 : INT64_MAX;\n}\n\n/* At how",
        "slope < 0 ? (value - lo) / -slope + 2 : INT64_MAX;\n}\n\n/* At how",
    ),
    ("lines: how long before", "(lo - value - 1) / slope + 1", "(lo - value) / slope + 1"),
    ("lines: how long behind", "(value - hi - 1) / -slope + 1", "(value - hi) / -slope + 1"),
    (
        "lines: nothing between edges",
        "if (*is_inside || lo > hi || highest < lo || hi < lowest) return a;",
        "if (*is_inside || highest < lo || hi < lowest) return a;",
        "whoever is beyond edges that hold nothing is beyond them at each place, too: it is only sooner",
    ),
    ("lines: the nearest one", "a.value < lo ? lo : hi", "a.value < lo ? hi : lo"),
    ("lines: whole turns", "if (period % step == 0 && stay == period / step)", "if (period % step == 0)"),
    ("lines: turns forward", "if (turns % 2 == 0)", "if (turns % 2 == 1)"),
    (
        "lines: one coordinate",
        "if (lo == hi) return slinky_same(lo, a.run * a.stretches);\n    const int64_t turns",
        "const int64_t turns",
    ),
)
MUTANTS += mutants(
    "slinky/native/moving.py",
    (ORDERS, BEYOND),
    (
        "sides: one behind the other",
        "if (n && last->to == sides[i].to * sides[i].extent && last->from",
        "if (n && last->from",
    ),
    ("sides: also whence", " && last->from == sides[i].from * sides[i].extent", ""),
    ("moving: as one piece", "if (row.to == @N && row.from == @N)", "if (row.to == @N)"),
    ("moving: each twice", "rows.extent == 2 && rows.to == @N && rows.from == 0", "rows.extent == 2 && rows.to == @N"),
    ("moving: the last block", "const int64_t few = slinky_min(8, rows.extent - k);", "const int64_t few = 8;"),
    ("moving: backward", "row.from == -@N)\n", "row.from < 0)\n"),
)

STRETCHES = f"{_FILE}::test_what_fills_a_row_of_several_stretches"
TURNS = f"{_FILE}::test_sources_that_alternate"
ANY, HELD = f"{_FILE}::test_any_copy", f"{_FILE}::test_a_source_that_does_not_hold_what_is_copied"
NO_TEXT, FAR, FILLS = (
    f"{_FILE}::{name}" for name in ("test_copies_without_a_text", "test_coordinates_far_away", "test_what_fills")
)

MUTANTS += mutants(
    "slinky/native/copying.py",
    (HELD, BEYOND, ORDERS, STRETCHES, TURNS, ANY, NO_TEXT, FILLS, FAR),
    ("copying: before a source", "if (f{j}{fall} < 0 || f{j}{rise}", "if (f{j}{rise}"),
    ("copying: behind a source", " || f{j}{rise} >= {at}->extents[{j}]) return 1;", ") return 1;"),
    ("copying: reflected", "{lo}, {hi}, {hi} - {lo} + 1)", "{lo}, {hi}, {hi} - {lo})"),
    ("copying: the nearest", 'f"slinky_nearest_line({{}}, {lo}, {hi})"', 'f"slinky_wrapped_line({{}}, {lo}, {hi})"'),
    (
        "copying: all stretches",
        "n{d} = s{d}.run * s{d}.stretches{",
        "n{d} = s{d}.run{",
        "what was moved is moved again: it only takes longer",
    ),
    (
        "copying: fill all stretches",
        "{{s{d}.run * s{d}.stretches, {self._apart(d)}, 0}}",
        "{{s{d}.run, {self._apart(d)}, 0}}",
    ),
    ("copying: what is left over", 'f"({left} + {step - 1}) / {step}"', 'f"{left} / {step}"'),
    ("copying: others that go together", 'heads[0].replace("= 0,", f"= w{d},", 1)', "heads[0]"),
    ("copying: one by one", "            if d not in self._single:\n", "            if True:\n"),
    ("copying: several stretches", "            if d in self._stretched:\n", "            if False:\n"),
    ("copying: factors", 'f"slinky_times({text}, {literal(c).text})" for', "text for"),
    ("copying: constants", "*([literal(constant).atom] if constant else [])", ""),
    ("copying: where a source begins", "= {values} - {at}_{j};", "= {values};"),
    ("copying: by functions", "    if copy.implementation is not None:\n", "    if False:\n"),
    ("copying: objects", "    if dtype.hasobject or not dtype.itemsize:\n", "    if False:\n"),
    (
        "copying: fills that are no numbers",
        "if takes_fill and (dtype not in C_TYPES or not dtype.isnative):",
        "if False:",
    ),
    ("copying: what nobody fills", "        if self._copy.fill is not None:\n", "        if False:\n"),
    ("copying: whose turn", '" && ".join(source.conditions)', '" || ".join(source.conditions)'),
)

MUTANTS += mutants(
    "slinky/native/joining.py",
    ("tests/test_joining.py",),
    ("joining: boxes", "            _box(each) == box\n            and all(", "            all("),
    (
        "joining: what the first writes",
        "all(self._memory.are_apart(each.outputs[0], other) for other in (*run.inputs, *run.outputs))",
        "True",
    ),
    (
        "joining: what the second writes",
        "all(self._memory.are_apart(run.outputs[0], other) for other in each.inputs)",
        "True",
    ),
    ("joining: errors", "if formula.ignored != formulas[0].ignored:", "if False:"),
    ("joining: the same place", "    if a.place == b.place:\n", "    if False:\n"),
    ("joining: at the same time", "a.born <= b.dies and b.born <= a.dies", "True"),
    ("joining: numbers", "setdefault((texts[name, dtype], dtype), f", "setdefault((name, dtype), f"),
    ("joining: something in common", "if read.isdisjoint(run.inputs) or len(", "if len("),
    ("joining: sizes of elements", "return len(sizes.union(operand_sizes(formula))) == 1", "return True"),
    ("joining: functions", " or function_of_step(step) is not None for step", " for step"),
    ("joining: coordinates", "any(isinstance(step, Coordinate) or ", "any("),
    ("joining: registers", "formula)) > MOST_STEPS:", "formula)) > 10 * MOST_STEPS:"),
    (
        "joining: rows",
        "if self._is_whole or any(array.rows for each in arrays for array in each):",
        "if self._is_whole:",
    ),
    ("joining: what has no text", "        if kernel is None:\n            return False\n", ""),
)

MUTANTS += mutants(
    "slinky/frontend/fusing.py",
    ("tests/test_fusing.py",),
    ("fusing: other readers", "heads[reader] is head and _is_aligned", "_is_aligned"),
    ("fusing: other places", "heads[reader] is head and _is_aligned(view, reader)", "heads[reader] is head"),
    ("fusing: results", "if not read or node.results[0] in outputs or", "if not read or"),
    ("fusing: long chains", "            steps[head] < LONGEST\n            and ", "            "),
    ("fusing: readers that are no arithmetic", "            and may_join(head)\n", ""),
    (
        "fusing: repeated results",
        "if node in inside or not read or node.results[0] in outputs or",
        "if node in inside or not read or",
    ),
    ("fusing: repeated by all", "all(may_join(reader) and _is_shifted(", "all(_is_shifted("),
    ("fusing: repeated at a shift", "i.terms == ((1, d),)", "len(i.terms) == 1"),
    ("fusing: of one size", "is_even = all(loop.is_even for loop in kept) and ", "is_even = "),
    ("fusing: repeated without end", " and all(loop.steps <= LONGEST for loop in repeated)", ""),
    (
        "fusing: what is cheaper",
        "is_cheaper = is_even and sum(loop.cost for loop in repeated) < sum(loop.cost for loop in kept)",
        "is_cheaper = is_even",
    ),
    (
        "fusing: conversions of one row",
        " and len(rows) == 1",
        "",
    ),
    ("fusing: where it is computed", "own = tuple(lowering.places(view, places))", "own = places"),
    ("fusing: numbers of arrays that are full", " if _takes_numbers(node) else []", " if False else []"),
    ("fusing: arrays that are full of several", "found is not None and found.tobytes() != number.tobytes()", "False"),
    (
        "fusing: nothing but numbers",
        "if not numbers or all(number is not None for number in numbers):",
        "if not numbers:",
    ),
)
MUTANTS += mutants(
    "slinky/frontend/lowering.py",
    ("tests/test_fusing.py",),
    ("fusing: funcs made twice", "        if node in self._lowered:", "        if False:"),
    (
        "fusing: steps of views",
        "return [sum((step * places[axis] for",
        "return [sum((places[axis] for",
        "only shifts are repeated so far",
    ),
)

MUTANTS += mutants(
    "slinky/native/functions/texts.py",
    ("tests/test_native_functions.py",),
    ("functions: none of none", "others |= !(@KNOWN);", "others |= !is_plain;"),
    ("functions: exceptions of edges", "if (told{k}) feraiseexcept({exception});", ""),
)

MUTANTS += mutants(
    "slinky/native/functions/logarithms.py",
    ("tests/test_native_functions.py",),
    ("functions: odd powers", " & -(int64_t)is_odd & INT64_MIN", " & INT64_MIN"),
    ("functions: products of twice the precision", "fma(low, a, fma(square, a, -power))", "0"),
    ("functions: powers that are roots", 'Edge("(b == 0.5) & !(a < 0)", "sqrt(a)"), ', ""),
)

MUTANTS += mutants(
    "slinky/frontend/calling.py",
    ("tests/test_traced_functions.py",),
    ("powers: of scalars that are truths", "if is_truth or (", "if ("),
    ("powers: ufuncs of their own", "        if own is not None:\n            return own(base)\n", ""),
)

MUTANTS += mutants(
    "slinky/native/operators.py",
    ("tests/test_native_functions.py",),
    (
        "shifts: by more bits to the left",
        "(uint64_t){1} < {bits} ? ({W}){0} << ({1} & ({bits} - 1)) : 0",
        "({W}){0} << {1}",
    ),
    ("shifts: by more bits to the right", "{0} >> ((uint64_t){1} < {bits} ? {1} : {bits} - 1)", "{0} >> {1}"),
    ("powers: roots of numbers", " or is_root or is_product)", " or is_product)"),
)

MUTANTS += mutants(
    "slinky/native/kernels.py",
    ("tests/test_moving_to_native.py",),
    ("powers: products that are not exact", "any(map(is_product_of_single, steps)) or not all(", "not all("),
)

STREAMING = "tests/test_streaming.py"
MUTANTS += mutants(
    "slinky/native/streaming.py",
    (STREAMING,),
    ("streaming: outputs that are read", "            found.difference_update(statement.reads)\n", ""),
    ("streaming: smaller arrays", "SLINKY_STREAMS && bytes >= @LEAST", "SLINKY_STREAMS"),
)
MUTANTS += mutants(
    "slinky/native/kernels.py",
    (STREAMING,),
    ("streaming: narrow results", "size == max([size, *sizes])", "True"),
    (
        "streaming: steps that note errors",
        "if rows is Rows.DENSE and self.streams and not notes and",
        "if rows is Rows.DENSE and self.streams and",
    ),
)

MUTANTS += mutants(
    "slinky/native/pairing.py",
    ("tests/test_native_pairing.py",),
    ("pairs: rows that are the same anyway", "array = array.moved(e, sums.number(row))", "pass"),
    ("pairs: other offsets", "array.base, tuple(array.offset(e) for e in range(rank))", "array.base, array.offset(0)"),
    ("pairs: the row that is left", "if (row == rows) return;", "return;"),
    ("pairs: functions", "or function_of_step(step) is not None", ""),
    ("pairs: elements that lie apart", 'asked = [f"{a}->strides[{e}] == {size}" for', 'asked = ["1" for'),
)
MUTANTS += mutants(
    "slinky/native/array_texts.py",
    ("tests/test_native_pairing.py",),
    ("arrays: where parts begin", "        offsets[d] += by\n", ""),
)

LANES = "tests/test_native_lanes.py"

MUTANTS += mutants(
    "slinky/native/lanes.py",
    (LANES,),
    ("lanes: bytes with a sign", 'slinky_widen(int8_t, "vpmovsxbd")', 'slinky_widen(int8_t, "vpmovzxbd")'),
    ("lanes: words without a sign", 'slinky_widen(uint16_t, "vpmovzxwd")', 'slinky_widen(uint16_t, "vpmovsxwd")'),
    ("lanes: ufuncs of several sizes", " or (isinstance(step, Apply) and step.ufunc not in UFUNCS)", ""),
    ("lanes: truths that are read", 'own.kind == "b" and to.kind == "b" and not is_read', 'own.kind == "b"'),
    ("lanes: few steps", "len(live) < FEWEST_STEPS or ", ""),
    ("lanes: elements alone", "for (; i < {stop}; i++) {{", "for (; i + 1 < {stop}; i++) {{"),
)
MUTANTS += mutants(
    "slinky/native/ahead.py",
    (LANES,),
    ("ahead: other arrays", "root not in outside or ", ""),
    ("ahead: once for an array", "if root not in found or not", "if not"),
)

FAR = "tests/test_arithmetic.py::test_coordinates_that_no_int64_holds_are_refused"

MUTANTS += mutants(
    "slinky/native/carriers.py",
    (FAR,),
    ("carriers: coordinates that no int64 holds", "        require_coordinates(operands[-1], asked)\n", ""),
)

MUTANTS += mutants(
    "slinky/runtime/formulas.py",
    (FAR,),
    ("formulas: coordinates that no int64 holds", "        require_coordinates(operands[-1], asked)\n", ""),
    (
        "formulas: coordinates before the first one",
        "if first < _LIMITS.min or last > _LIMITS.max:",
        "if last > _LIMITS.max:",
    ),
    ("formulas: coordinates behind the last one", "last = first + output.array.shape[d] - 1", "last = first"),
)
MUTANTS += mutants(
    "slinky/native/functions/single_exponentials.py",
    ("tests/test_native_functions.py::test_single_exponentials_are_numpys_where_all_of_a_strip_are_usual",),
    ("exponentials: whether all are usual", "if (most <= 0x42ae0000) {", "if (1) {"),
)
MUTANTS += mutants(
    "slinky/native/strips.py",
    ("tests/test_native_functions.py::test_a_formula_that_ends_in_a_function_may_write_where_it_reads",),
    (
        "strips: what a function writes by itself",
        "return all(slot in self._writes for slot in zip(step.operands, step.dtypes, strict=False))",
        "return True",
    ),
)
MUTANTS += mutants(
    "slinky/native/apart.py",
    (APART,),
    (
        "apart: steps",
        "if moving.step != 1 or (axis.stride != size and not is_last):",
        "if axis.stride != size and not is_last:",
    ),
    (
        "apart: what is known",
        "(axis.stride != size and not is_last)",
        "(axis.stride is None and not is_last)",
        "a stride is known in whole tiles; the same function is called at their edges, where it is not",
    ),
    (
        "apart: what cannot be asked",
        "if moving.step != 1 or (axis.stride != size and not is_last):",
        "if moving.step != 1:",
    ),
    ("apart: what is asked", "found.append((array.root, axis.origin, size))", "pass"),
)
MUTANTS += mutants(
    "slinky/native/joining.py",
    (APART,),
    ("apart: joined calls", "        self.ask_strides(whole.formula, operands)\n", ""),
)
MUTANTS += mutants(
    "slinky/native/arrivals.py",
    (APART,),
    ("apart: one element", "if (a->extents[d] < 2) a->strides[d] = size;", "if (a->extents[d] < 2) return 1;"),
)
MUTANTS += mutants(
    "slinky/native/kernel_sets.py",
    (APART,),
    ("apart: functions of everything", "apart or self._formulas.get(name) in self._apart", "apart"),
    ("apart: for what is asked", "apart or self._formulas.get(name) in self._apart", "True"),
)
MUTANTS += mutants(
    "slinky/native/apart.py",
    (APART,),
    ("apart: all at once", "        if self.made_by.makes_all:\n            self.make()\n", ""),
    ("apart: who waits", "waits or not made_by.makes_more", "True"),
    ("apart: without a compiler", "waits or not made_by.makes_more", "waits"),
    ("apart: lost in a fork", "(job is None or job.is_lost)", "job is None"),
    (
        "apart: failed once",
        "self._found, self._job, self._made = job.result, None, None",
        "self._found, self._job = job.result, None",
    ),
    ("apart: nothing else instead", "return self._is_wanted and self._found is None", "return self._job is not None"),
    (
        "apart: looked at by others",
        "            if self._job is not job:\n                return  # another thread has looked\n",
        "",
        "it takes two threads at once",
    ),
)
MUTANTS += mutants(
    "slinky/native/entering.py",
    (APART,),
    ("apart: whose failure", "told = ran.slinky_told()", "told = loaded.slinky_told()"),
    ("apart: strides that others see", 'if each.kind == "ring" or root in lines.handed:', 'if each.kind == "ring":'),
    ("apart: what is left", "result = DECLINED if ran is None", "result = 0 if ran is None"),
)
MUTANTS += mutants(
    "slinky/frontend/to_native.py",
    (APART,),
    ("apart: both at once", "            plan.make_second()\n", "            pass\n"),
    ("apart: one of both", "contextlib.suppress(CompilationError)", "contextlib.suppress()"),
)
