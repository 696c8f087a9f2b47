"""What is broken of reductions by pieces, and of folds that calls and loops use in turn."""

# ruff: noqa: E501 (the texts are as long as they stand in the code)

from __future__ import annotations

from mutants import FOLDS, FUSED_REDUCTIONS, REDUCING_VARIANTS, REDUCTIONS, SHARED_CALLS, Mutant, mutants

MUTANTS: list[Mutant] = []

# The rewrite ----------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/primitives/reductions.py",
    (REDUCTIONS,),
    ("reductions: other bits", "    if not (reduction.is_exact or reduction.may_reassociate):\n", "    if False:\n"),
    ("reductions: past copies", "    if any(port.view is not None for port in func.ports):\n", "    if False:\n"),
    ("reductions: another dimension", "    if not is_one_of(dim, over):\n", "    if False:\n"),
    ("reductions: a factor that moves", "    if not {loop.variable for loop in version.loops_around(call.id)}.isdisjoint(symbols(e)):\n", "    if False:\n"),
    ("reductions: positive factors", '    require_positive(edit, e, what, known)\n', ""),
    ("reductions: inputs of other lengths", "            if not prove(same, self.known):\n", "            if False:\n"),
    ("reductions: less than nothing", "return extent if prove(extent >= 0, self.known) else maximum(extent, 0)", "return extent"),
    ("reductions: less than nothing elsewhere", "math.prod(map(self._at_least_none, extents), start", "math.prod(extents, start"),
    ("reductions: all dimensions count", "            if name != dim\n", "            if False\n"),
    ("reductions: the last piece", "self.last = (self.extent - 1) // factor", "self.last = self.extent // factor"),
    ("reductions: what is left of the last piece", "minimum(begin + self.factor - 1, whole.max))\n            inputs", "begin + self.factor - 1)\n            inputs"),
    ("reductions: pieces side by side", "begin = whole.min + self.factor * piece", "begin = whole.min + (self.factor - 1) * piece"),
    ("reductions: the piece before", "InputPort((point(piece - 1), ", "InputPort((point(piece), "),
    ("reductions: the last state", "        return self.last\n", "        return maximum(self.last - 1, -1)\n"),
    ("reductions: two steps", "                (constant(2), *(None for _ in state.dims)),\n", "                (constant(1), *(None for _ in state.dims)),\n"),
    ("reductions: what a call computes", "box = effective_box(self.version, self.call)", "box = self.call.box"),
    ("reductions: names of states", "free_name(self.version, self.call.id, state.name, found)", "state.name"),
    ("reductions: parts of the first", "part = Limit(0, None, constant(-1))", "part = Limit(0, None, None)"),
    ("reductions: counts", '(("count", self.extent * self.each),)', '(("count", self.extent),)'),
)  # fmt: skip

MUTANTS += mutants(
    "slinky/sched/primitives/reductions.py",
    (REDUCING_VARIANTS,),
    ("reductions: variants of other dtypes", "        if [port.dtype for port in first.ports] != [port.dtype for port in call.func.ports]:\n", "        if False:\n"),
    ("reductions: variants that say nothing", "        call = with_func(call, first)\n", ""),
    ("reductions: variants that say it", "if call.func.reduction is None and first.reduction", "if first.reduction"),
)  # fmt: skip

MUTANTS += mutants(
    "slinky/graph/fusing.py",
    (FUSED_REDUCTIONS,),
    ("fusing: reductions", "        reduction=fusion.reduction,\n", "        reduction=None,\n"),
    ("fusing: what moves with the second", "for d in own & along.keys() if (v", "for d in () if (v"),
)

# Runs -----------------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/runtime/reductions.py",
    (REDUCTIONS,),
    ("reductions: where pieces start", "(first + piece) * piece_extent * each\n            given", "first * piece_extent * each\n            given"),
    ("reductions: how many start before", "(first + piece) * piece_extent * each\n            given", "(first + piece) * piece_extent\n            given"),
    ("reductions: one piece of several", "given = inputs if pieces == 1 else _pieces_of(", "given = inputs if True else _pieces_of("),
    ("reductions: which piece of several", "slice(piece * extent, (piece + 1) * extent)", "slice(0, extent)"),
    ("reductions: pieces of nothing", "            if _has_elements(over, given):\n                call_callback(function, name, [*before, *given], after, arguments)\n            else:\n                _change_nothing(before, after)\n\n    return update\n\n\ndef _has", "            call_callback(function, name, [*before, *given], after, arguments)\n\n    return update\n\n\ndef _has"),
    ("reductions: states of nothing", "        state[...] = was\n", "        pass\n"),
)  # fmt: skip

# What is declared, and the funcs that slinky has ----------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/graph/reductions.py",
    (REDUCTIONS,),
    ("reductions: what moves with outputs", "            if each.moving[axis] is not None:\n", "            if False:\n"),
    ("reductions: an axis of some input", "        if all(axis is None for axis in found):\n", "        if False:\n"),
    ("reductions: reserved arguments", "            if name in arguments:\n", "            if False:\n"),
    ("reductions: states of the graph", "if buffer.producer is not None or buffer", "if buffer"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/reductions.py",
    (REDUCTIONS,),
    ("reductions: rounded sums", 'is_rounded = dtype.kind in "fc" and not is_extremum', "is_rounded = False"),
)  # fmt: skip
MUTANTS += mutants(
    "slinky/reducing_stages.py",
    (REDUCTIONS,),
    ("reductions: NaN comes first", "(taken | np.isnan(other)) & ~np.isnan(best)", "taken & ~np.isnan(best)"),
    ("reductions: NaN stays", "(taken | np.isnan(other)) & ~np.isnan(best)", "(taken | np.isnan(other))"),
    ("reductions: the first of equals", "taken = self.is_better(other, best)", "taken = ~self.is_better(best, other)"),
    ("reductions: no place of nothing", "        if not count:\n            raise ValueError(f\"{self.what} of", "        if False:\n            raise ValueError(f\"{self.what} of"),
    ("reductions: no extremum of nothing", "        if not count:\n            raise ValueError(f\"{self.ufunc", "        if False:\n            raise ValueError(f\"{self.ufunc"),
    ("reductions: weights of nothing", "base = np.where(nothing, 0, new_largest)", "base = new_largest"),
)  # fmt: skip

# Folds ----------------------------------------------------------------------------------------------------------------

MUTANTS += mutants(
    "slinky/sched/legality/folds.py",
    (FOLDS, SHARED_CALLS),
    ("folds in turn: each by itself", "        if _unfitting(version, turn, factor) is not None:\n", "        if False:\n"),
    ("folds in turn: forward", "        if turn.loop is not None and _moving_back(version, turn) is not None:\n", "        if False:\n"),
    ("folds in turn: what was written before", "        for before in turns[:n]:\n", "        for before in ():\n"),
    ("folds in turn: all before", "        for before in turns[:n]:\n", "        for before in turns[max(n - 1, 0) : n]:\n"),
    ("folds in turn: one more", "shown(end, other.min + factor - 1, w.known)", "shown(end, other.min + factor, w.known)"),
    ("folds in turn: what is read", "for other, w in (*turn.reads, *turn.writes)", "for other, w in turn.writes"),
    ("folds in turn: what is written", "for other, w in (*turn.reads, *turn.writes)", "for other, w in turn.reads"),
    ("folds in turn: all iterations before", "() if before.loop is None else (before.loop,)", "()"),
    ("folds in turn: parallel loops", "loop = statement if isinstance(statement, For) and is_in_order(statement) else None", "loop = statement if isinstance(statement, For) else None"),
)  # fmt: skip
