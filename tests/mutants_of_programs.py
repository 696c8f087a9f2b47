"""What is broken of programs: what makes one well formed, and how long buffers live."""

# ruff: noqa: E501 (the texts are as long as they stand in the code)

from __future__ import annotations

from mutants import OTHER_ORDERS, SHARED, STAGES, Mutant, mutants

MUTANTS: list[Mutant] = []

# The verifier ---------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/ir/verifier.py",
    ("tests/test_verifier_cases.py", "tests/test_verifier.py", OTHER_ORDERS, STAGES),
    ("verifier: parameters", "            if names.count(name) > 1:\n", "            if False:\n"),
    ("verifier: scalars are names", "[s.name for s in program.scalars] + [f.name", "[f.name"),
    ("verifier: floats are names", " + [f.name for f in program.floats]", ""),
    ("verifier: constants are names", " + [c.name for c in program.constants]\n", "\n"),
    ("verifier: twice", "            if statement.id in seen:\n", "            if False:\n"),
    (
        "verifier: outputs",
        "            if output.name not in self.written and not is_empty:\n",
        "            if False:\n",
    ),
    ("verifier: empty outputs", " and not is_empty:\n", ":\n"),
    (
        "verifier: constants are read only",
        "{p.name for p in program.inputs} | {c.name for c in program.constants}",
        "{p.name for p in program.inputs}",
    ),
    ("verifier: inputs are read only", "{p.name for p in program.inputs} | {c", "{c"),
    (
        "verifier: slid",
        "            if isinstance(statement, For) and is_in_order(statement):\n",
        "            if False:\n",
    ),
    ("verifier: slid parallel", " and is_in_order(statement):\n", ":\n"),
    (
        "verifier: conditions",
        "                self.in_scope(statement, symbols(condition), scope)\n            case Pass",
        "                pass\n            case Pass",
    ),
    ("verifier: buffer twice", "        if alloc.buffer in scope.boxes:\n", "        if False:\n"),
    (
        "verifier: lengths",
        "        if not len(alloc.box) == len(alloc.dims) == len(alloc.folds):\n",
        "        if False:\n",
    ),
    (
        "verifier: number of dimensions",
        "len(alloc.box) == len(alloc.dims) == len(alloc.folds):",
        "len(alloc.box) == len(alloc.folds):",
    ),
    (
        "verifier: number of folds",
        "len(alloc.box) == len(alloc.dims) == len(alloc.folds):",
        "len(alloc.box) == len(alloc.dims):",
    ),
    ("verifier: discard", "        self.written.discard(alloc.buffer)\n", ""),
    ("verifier: alloc box", "        self.in_scope(alloc, box_symbols(alloc.box), scope)\n", ""),
    ("verifier: folds in scope", "                self.in_scope(alloc, symbols(fold), scope)\n", ""),
    ("verifier: folds positive", "if prove(fold <= 0, scope.known) and", "if False and"),
    ("verifier: folds 0", "if prove(fold <= 0, scope.known) and", "if prove(fold <= -1, scope.known) and"),
    (
        "verifier: folds dead",
        "prove(fold <= 0, scope.known) and not impossible(scope.known)",
        "prove(fold <= 0, scope.known)",
    ),
    ("verifier: guest", "            self.guest(alloc, host, scope)\n", "            pass\n"),
    ("verifier: strides", "                self.in_scope(alloc, symbols(stride), scope)\n", "                pass\n"),
    (
        "verifier: layout fold",
        '            if any(fold is not None for fold in alloc.folds):\n                self.fail(alloc, "a buffer that is folded',
        '            if False:\n                self.fail(alloc, "a buffer that is folded',
    ),
    (
        "verifier: lengths of strides",
        "            if len(alloc.layout.strides) != len(alloc.dims):\n",
        "            if False:\n",
    ),
    ("verifier: blocks", "            self.blocks(alloc, alloc.layout)\n", ""),
    (
        "verifier: blocks length",
        "        if layout.blocks and len(layout.blocks) != len(alloc.dims):\n",
        "        if False:\n",
    ),
    ("verifier: blocks 1", "length is not None and length < 1:", "length is not None and length < 0:"),
    (
        "verifier: blocks and strides",
        "        if any(layout.blocks) and (layout.alignment > 1 or any(",
        "        if any(layout.blocks) and (layout.alignment > 1 and any(",
    ),
    ("verifier: blocks and alignment", "(layout.alignment > 1 or any(stride", "(False or any(stride"),
    (
        "verifier: blocks and small alignment",
        "(layout.alignment > 1 or any(stride",
        "(layout.alignment > 2 or any(stride",
    ),
    ("verifier: blocks and no strides", "or any(stride is not None for stride in layout.strides)):", "):"),
    ("verifier: guest no host", "        if other is None:\n", "        if False:\n"),
    ("verifier: guest of guest", "        if host_of(other) is not None:\n", "        if False:\n"),
    ("verifier: guest layouts", "            if each.layout is not None or any(fold", "            if any(fold"),
    (
        "verifier: guest folds",
        "            if each.layout is not None or any(fold is not None for fold in each.folds):\n",
        "            if each.layout is not None:\n",
    ),
    ("verifier: guest alone", "        for each in (alloc, other):\n", "        for each in (alloc,):\n"),
    ("verifier: host alone", "        for each in (alloc, other):\n", "        for each in (other,):\n"),
    (
        "verifier: loop var",
        "        if any(outer.variable is loop.variable for outer in scope.loops):\n",
        "        if False:\n",
    ),
    (
        "verifier: first of a loop",
        "symbols(loop.range.min) | symbols(loop.range.max) | symbols(loop.step)",
        "symbols(loop.range.max) | symbols(loop.step)",
    ),
    (
        "verifier: last of a loop",
        "symbols(loop.range.min) | symbols(loop.range.max) | symbols(loop.step)",
        "symbols(loop.range.min) | symbols(loop.step)",
    ),
    (
        "verifier: loop step",
        "symbols(loop.range.min) | symbols(loop.range.max) | symbols(loop.step)",
        "symbols(loop.range.min) | symbols(loop.range.max)",
    ),
    ("verifier: steps", "if prove(loop.step <= 0, scope.known) and", "if prove(loop.step <= -1, scope.known) and"),
    (
        "verifier: steps dead",
        "prove(loop.step <= 0, scope.known) and not impossible(scope.known)",
        "prove(loop.step <= 0, scope.known)",
    ),
    ("verifier: stages", "        if fault is not None:\n", "        if False:\n"),
    ("verifier: workers in scope", "            self.in_scope(loop, symbols(workers), scope)\n", ""),
    ("verifier: workers", "prove(workers <= 0, scope.known)", "prove(workers <= -1, scope.known)"),
    (
        "verifier: workers dead",
        "prove(workers <= 0, scope.known) and not impossible(scope.known)",
        "prove(workers <= 0, scope.known)",
    ),
    ("verifier: call box", "        if len(call.box) != len(func.dims):\n", "        if False:\n"),
    ("verifier: call box scope", "        self.in_scope(call, box_symbols(call.box), scope)\n", ""),
    ("verifier: operands", "            if len(operands) != len(ports):\n", "            if False:\n"),
    ("verifier: written buffers", "            self.buffer(call, buffer, output, scope)\n", ""),
    ("verifier: read only", "            if buffer in self.read_only:\n", "            if False:\n"),
    ("verifier: touches", "            if writes_what_it_touches(call, buffer):\n", "            if False:\n"),
    ("verifier: touches twice", "return call.writes.count(buffer) > 1 or not", "return not"),
    ("verifier: touches earlier", " or not _reads_earlier_ones(call, buffer, port)", ""),
    ("verifier: touches earlier bound", "prove(i.max < dim)", "prove(i.max <= dim)"),
    (
        "verifier: touches earlier all",
        "    return all(\n        any(prove(i.max",
        "    return any(\n        any(prove(i.max",
    ),
    ("verifier: read buffers", "            self.buffer(call, buffer, port, scope)\n", ""),
    ("verifier: port boxes", "            self.in_scope(call, box_symbols(port.box) - set(func.dims), scope)\n", ""),
    ("verifier: unwritten", "            if buffer not in self.written and not", "            if False and not"),
    ("verifier: nothing written", " and not self.reads_nothing(call, buffer, scope):", ":"),
    (
        "verifier: reads of nothing",
        "return all(impossible(known.also(not_empty(region))) for region in regions)",
        "return impossible(known)",
    ),
    ("verifier: func", "        self.func(call, scope)\n", ""),
    ("verifier: floats", "            if value.name not in self.floats:\n", "            if False:\n"),
    ("verifier: regions", "        self.regions(call, scope)\n", ""),
    ("verifier: written", "        self.written.update(call.writes)\n", ""),
    ("verifier: views", "            self.in_scope(call, box_symbols(view.box) - set(func.dims), scope)\n", ""),
    (
        "verifier: view indices",
        "            self.in_scope(call, union_of_symbols(view.index) - set(view.dims), scope)\n",
        "",
    ),
    (
        "verifier: parts",
        "        ends = [e for limit in func.part for e in (limit.first, limit.last) if e is not None]\n",
        "        ends = []\n",
    ),
    ("verifier: wholes", "        ends += [e for _, i in func.whole for e in (i.min, i.max)]\n", ""),
    ("verifier: func known", "(*ends, *func.known, *func.operation", "(*ends, *func.operation"),
    ("verifier: operation expressions", "*func.known, *func.operation.expressions()", "*func.known"),
    ("verifier: ends", "(*ends, *func.known", "(*func.known"),
    (
        "verifier: regions min",
        "for condition in (limit.min <= i.min, i.max <= limit.max):",
        "for condition in (i.max <= limit.max,):",
    ),
    (
        "verifier: regions max",
        "for condition in (limit.min <= i.min, i.max <= limit.max):",
        "for condition in (limit.min <= i.min,):",
    ),
    (
        "verifier: regions opposite",
        " and not prove(condition, known) and",
        " and",
        "facts of which both are shown are shown to contradict each other wherever a test has them; a proof may give up on that",
    ),
    ("verifier: regions of nothing", " and not impossible(known):", ":"),
    ("verifier: buffer scope", "        if box is None:\n", "        if False:\n"),
    ("verifier: rank", "        if len(box) != rank:\n", "        if False:\n"),
    ("verifier: dtype", "        if own != dtype:\n", "        if False:\n"),
    (
        "verifier: dtype of allocs",
        "self.dtypes.get(name) if name not in scope.allocs else scope.allocs[name].dtype",
        "scope.allocs[name].dtype if name in scope.allocs else dtype",
    ),
    (
        "verifier: dtype of globals",
        "self.dtypes.get(name) if name not in scope.allocs else scope.allocs[name].dtype",
        "self.dtypes.get(name, dtype)",
    ),
    ("verifier: order", "        if port.order is not None:\n", "        if False:\n"),
    ("verifier: order alloc", "if alloc is None or not lies_in_order", "if alloc is not None and not lies_in_order"),
    (
        "verifier: metadata",
        "                if parameter is None or symbol.dim >= parameter.rank:\n",
        "                if False:\n",
    ),
    (
        "verifier: metadata rank",
        "parameter is None or symbol.dim >= parameter.rank:",
        "parameter is None or symbol.dim > parameter.rank:",
    ),
    ("verifier: scalars", "                if symbol.name not in self.scalars:\n", "                if False:\n"),
    (
        "verifier: variables",
        "            elif isinstance(symbol, Variable) and symbol not in loops:\n",
        "            elif False:\n",
    ),
    ("verifier: hides buffers", "if name in scope.boxes or name", "if name"),
    ("verifier: hides scalars", "or name in self.scalars or", "or"),
    ("verifier: hides floats", "or name in self.floats or", "or"),
    ("verifier: hides loops", " or name in loops:", ":"),
    ("verifier: hides alloc", "        self.hides_nothing(alloc, alloc.buffer, scope)\n", ""),
    ("verifier: hides loop", "        self.hides_nothing(loop, loop.variable.name, scope)\n", ""),
)

# Lifetimes ------------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/runtime/lifetimes.py",
    ("tests/test_lifetimes.py", SHARED, "tests/test_plan.py"),
    (
        "lifetimes: blocks that are gone",
        "known[question] = (block, find(block))",
        "known[question] = ((), find(block))",
    ),
    ("lifetimes: so many blocks", "            if len(known) >= _REMEMBERED:\n                known.clear()\n", ""),
    ("lifetimes: empty blocks", "        if not block:\n            return find(block)\n", ""),
    (
        "lifetimes: own buffers",
        "last.update(dict.fromkeys(own.intersection(buffers_named_inside(statement)), position))",
        "last.update(dict.fromkeys(buffers_named_inside(statement), position))",
    ),
    (
        "lifetimes: guests of others",
        "    if not sharing and all(host_of(s) is None for s in own):\n",
        "    if not sharing:\n",
    ),
    (
        "lifetimes: own guests",
        "    if not sharing and all(host_of(s) is None for s in own):\n",
        "    if all(host_of(s) is None for s in own):\n",
    ),
    ("lifetimes: guests have none", "for s in own if host_of(s) is None}", "for s in own}"),
    ("lifetimes: the last of all", "last[host] = max(last[host], position)", "last[host] = position"),
    (
        "lifetimes: until the last of them",
        "            if not names.isdisjoint(buffers_named_inside(statement)):\n",
        "            if True:\n",
    ),
    (
        "lifetimes: several at once",
        "        found.setdefault(position, []).append(name)",
        "        found[position] = [name]",
    ),
    (
        "lifetimes: names inside",
        "    return [name for inner in walk((statement,)) for name in buffers_named(inner)]",
        "    return buffers_named(statement)",
    ),
)
MUTANTS += mutants(
    "slinky/ir/sharing.py",
    ("tests/test_lifetimes.py", SHARED),
    ("sharing: own hosts", "        if host in own:\n", "        if host is not None:\n"),
    ("sharing: loops", "inside = (*loops, statement) if isinstance(statement, For) else loops", "inside = loops"),
    ("sharing: at least nothing", "    return maximum(extent, 0)", "    return extent"),
    ("sharing: reversed", "for loop in reversed(tuple(loops)):", "for loop in tuple(loops):"),
)
