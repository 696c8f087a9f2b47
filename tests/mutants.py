"""What is broken to see whether tests notice: one place of the code at a time (see `mutations`).

The lists `mutants_of_programs`, `mutants_of_rewrites`, `mutants_of_copies`, `mutants_of_reductions`,
`mutants_of_native`, `mutants_of_runs`, `mutants_of_state`, `mutants_of_traces` and `mutants_of_kept` have one for each
condition that keeps slinky right.
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


def mutants(file: str, tests: tuple[str, ...], *given: tuple[str, ...]) -> list[Mutant]:
    """Mutants of one file: of each its name, the old text, the new text, and why it survives if it must."""
    return [Mutant(name, file, old, new, tests, *why) for name, old, new, *why in given]


EDITING, GATE = "tests/test_editing.py", "tests/test_gate.py"
REFUSED_EDITS, REWRITE_WORK = "tests/test_editing_refusals.py", "tests/test_rewrite_work.py"
CASES, LEGALITY = "tests/test_legality_cases.py", "tests/test_legality.py"
LONGER, NOT_RUN = "tests/test_legality_longer_loops.py", "tests/test_legality_where_nothing_runs.py"
REFUSALS, WHOLE, CHECKED = "tests/test_refusals.py", "tests/test_whole.py", "tests/test_checked_mode.py"
FOLDS, PRIMITIVES = "tests/test_folds.py", "tests/test_primitives.py"
IN_PLACE, STORAGE, AGREEMENT = "tests/test_in_place.py", "tests/test_storage.py", "tests/test_plan_properties.py"
PLAN, HOISTING, LIMITS = "tests/test_plan.py", "tests/test_plan_hoisting.py", "tests/test_plan_limits.py"
SOURCE, WORK = "tests/test_plan_source.py", "tests/test_plan_work.py"
OMITTED, LAYOUTS, MULTIPLES = "tests/test_omitted.py", "tests/test_layouts.py", "tests/test_multiples.py"
BLOCKS, EXTENTS = "tests/test_blocks.py", "tests/test_extents.py"
SET_LAYOUT = "tests/test_set_layout.py"
ALIASING, NO_ALIAS = "tests/test_aliasing.py", "tests/test_aliasing_refusals.py"
STAY = "tests/test_copies_that_stay.py"
CALLS, STEADY = "tests/test_calls.py", "tests/test_steady_state.py"
SHARED_CALLS, VARIANTS = "tests/test_shared_calls.py", "tests/test_variants.py"
OTHER_DTYPES, RESERVING = "tests/test_variant_dtypes.py", "tests/test_reserving.py"
OTHER_ORDERS, FUSED_REDUCTIONS = "tests/test_variant_layouts.py", "tests/test_fused_reductions.py"
FUSED_CALLS, STAGING = "tests/test_fused_calls.py", "tests/test_staging.py"
BORDERS = "tests/test_copies.py::test_borders_of_less_than_nothing_do_not_overlap"
DEPTHS, SHORT = "tests/test_depths.py", "tests/symbolic/test_short_proofs.py"
COPY_PIECES = "tests/test_copy_pieces.py"
FOLLOWED, SOLVING = "tests/symbolic/test_followed.py", "tests/symbolic/test_solving.py"
REDUCTIONS, REDUCING_VARIANTS = "tests/test_reductions.py", "tests/test_variant_reductions.py"
RINGS, WORKERS = "tests/test_rings.py", "tests/test_workers.py"
SHARED, NOT_SHARED = "tests/test_shared_memory.py", "tests/test_shared_memory_refusals.py"
CORPUS, SOUNDNESS = "tests/symbolic/test_corpus.py", "tests/symbolic/test_soundness.py"
STRUCTURE, RISING = "tests/symbolic/test_structure.py", "tests/symbolic/test_rising.py"
STAGES = "tests/test_pipelining.py"
ALONG, MOVING = "tests/test_windows_of_loops.py", "tests/test_compacting.py"
AT_WORK = "tests/test_stages.py"
REMAINDERS = "tests/symbolic/test_remainders.py"
CHAINS, OF_STAGES = "tests/test_in_place_chains.py", "tests/test_legality_of_stages.py"
