"""The second judge: does a rewrite leave the meaning of a program alone?

It shares nothing with `slinky.sched`, nor with the proofs of `slinky.symbolic` (but what calls of pipelines say that
they hand over, which it tests: see `judge_nested`): it runs the program before and the program after on small concrete
sizes, with callbacks that are not interpreted (see `judge_running`), and compares

* every element of every output: its hash, or that nothing has written it;
* how often each func was called, and for how many elements, as far as the primitive says (`COUNTS`);
* that the program after asks for the checks of the one before.

A program that reads outside of a buffer, or what nothing has written, is wrong by itself. If that holds of the program
*before* on some sizes, nothing is said about the rewrite on these. Programs are immutable, so that what a run has found
is kept with the program (and ends with it): in a chain of rewrites, each program runs once.

The whole suite is judged by the wrapper of `judge_hook`.
"""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from judge_evaluation import Values
from judge_geometry import Coordinates, Hashes, NumericBox, TooMuchWorkError, WrongProgramError
from judge_memory import points_of
from judge_running import ORDERS, Origin, Run
from judge_scripts import Step, script_of, step_of
from judge_sizes import sizes_of, top_checks, with_new_scalars

from slinky.ir.printer import print_program
from slinky.ir.statements import Program


class WrongRewriteError(AssertionError):
    """A rewrite has changed what a program means. The message says how, and gives a script that shows it."""


@dataclass
class Tally:
    """What was judged, and what it cost."""

    rewrites: Counter[str] = field(default_factory=Counter)
    """How many rewrites were judged, by operation."""
    unjudged: Counter[str] = field(default_factory=Counter)
    """How many could not be, by the reason."""
    runs: int = 0
    seconds: float = 0.0

    def numbers(self) -> list[Any]:
        """All of it as plain data, for another process to `add`."""
        return [dict(self.rewrites), dict(self.unjudged), self.runs, self.seconds]

    def add(self, numbers: list[Any]) -> None:
        """Add what another process has counted."""
        rewrites, unjudged, runs, seconds = numbers
        self.rewrites.update(rewrites)
        self.unjudged.update(unjudged)
        self.runs += runs
        self.seconds += seconds

    def text(self) -> str:
        """A report."""
        judged = ", ".join(f"{name} {count}" for name, count in self.rewrites.most_common())
        unjudged = ", ".join(f"{count} because {reason}" for reason, count in self.unjudged.most_common())
        return (
            f"{self.rewrites.total()} rewrites judged in {self.runs} runs, "
            f"{self.seconds:.1f} s of processor time: {judged}\n"
            f"not judged: {unjudged or 'none'}"
        )


TALLY = Tally()

# ----------------------------------------------------------------------------------------------------------------
# What a run finds, kept with the program
# ----------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Outcome:
    """What a run on some sizes has found; or why it has found nothing."""

    outputs: dict[str, Hashes] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    elements: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    """The elements that pipelines compute in calls of them."""
    idle: Counter[str] = field(default_factory=Counter)
    """How often a call had nothing to compute."""
    boxes: dict[str, list[NumericBox]] = field(default_factory=dict)
    """What the calls of each func compute."""
    wrong: str = ""
    """What the program did that no program may do."""
    is_too_long: bool = False

    def is_sound(self) -> bool:
        """Whether something can be compared with it."""
        return not self.wrong and not self.is_too_long


class Known:
    """What is known of a program: sizes to run it on, what came of it, and how it was made."""

    __slots__ = ("outcomes", "program", "sizes", "steps")

    def __init__(self, program: Program, sizes: list[Values | None], steps: Step | None) -> None:
        self.program = weakref.ref(program, functools.partial(_forget, id(program)))
        self.sizes = sizes
        self.outcomes: list[Outcome | None] = [None] * len(sizes)
        self.steps = steps

    def outcome(self, program: Program, number: int) -> Outcome:
        """What came of a run on the sizes of this number."""
        found = self.outcomes[number]
        if found is None:
            values = self.sizes[number]
            assert values is not None
            found = self.outcomes[number] = run(program, values, ORDERS[number % len(ORDERS)])
        return found


_known: dict[int, Known] = {}


def _forget(identity: int, reference: weakref.ref[Program]) -> None:
    if identity in _known and _known[identity].program is reference:
        del _known[identity]


def known(program: Program) -> Known:
    """What is known of a program that came from anywhere."""
    found = _known.get(id(program))
    if found is None or found.program() is not program:
        found = _known[id(program)] = Known(program, [*sizes_of(program)], None)
    return found


def run(program: Program, values: Values, order: str) -> Outcome:
    """Run a program, and say what came of it."""
    TALLY.runs += 1
    machine = Run(program, values, order)
    try:
        machine.follow()
    except WrongProgramError as error:
        return Outcome(wrong=str(error))
    except (TooMuchWorkError, RecursionError):
        return Outcome(is_too_long=True)
    return Outcome(
        {p.name: machine.output(p.name) for p in program.outputs},
        machine.calls,
        machine.elements,
        machine.inside,
        machine.idle,
        machine.boxes,
    )


# ----------------------------------------------------------------------------------------------------------------
# How often funcs may be called
# ----------------------------------------------------------------------------------------------------------------

Arguments: TypeAlias = Mapping[str, Any]
CountRule: TypeAlias = Callable[[Outcome, Outcome, Arguments], str]
"""Says what is wrong with the counts after a rewrite, if anything is."""


def same_calls(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Each func is called as often, for as many elements."""
    return same_elements(before, after, arguments) or _differing("calls", before.calls, after.calls)


def same_elements(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Each func computes as many elements."""
    return _differing("elements", before.elements, after.elements)


def no_more_elements(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """No func computes more elements."""
    return _differing("elements", before.elements, after.elements, after.elements - before.elements)


def no_fewer_elements(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """No func computes fewer elements."""
    return _differing("elements", before.elements, after.elements, before.elements - after.elements)


def same_of_others(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Each func but the one that moves computes as many elements."""
    others = before.elements.keys() | after.elements.keys()
    changed = [name for name in others if before.elements[name] != after.elements[name]]
    return _differing("elements", before.elements, after.elements) if len(changed) > 1 else ""


def no_more_of_others(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """No func but the one that moves computes more elements: calls are gone whose place it takes."""
    more = after.elements - before.elements
    return _differing("elements", before.elements, after.elements) if len(more) > 1 else ""


def three_changed(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Two funcs compute fewer elements, one more, and all others as many."""
    fewer, more = before.elements - after.elements, after.elements - before.elements
    is_so = len(fewer) <= 2 and len(more) <= 1
    return "" if is_so else _differing("elements", before.elements, after.elements)


def same_of_what_there_was(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Each func that there was computes as many elements; there may be others."""
    others = Counter({name: count for name, count in after.elements.items() if name in before.elements})
    return _differing("elements", before.elements, others)


def same_taken_in(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Each func computes as many elements, whether in a pipeline or not, but for the one that is a pipeline now. Where
    that has nothing to give, nothing in it runs, though the statements that it is made of might have."""
    were, are = (outcome.elements + outcome.inside for outcome in (before, after))
    changed = are - were if after.idle - before.idle else (are - were) | (were - are)
    return _differing("elements", were, are) if len(changed) > 1 else ""


def same_taken_out(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """The same the other way round."""
    is_wrong = same_taken_in(after, before, arguments)
    return _differing("elements", before.elements + before.inside, after.elements + after.inside) if is_wrong else ""


def as_the_tail_says(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Pieces that are shifted overlap; all others do not."""
    rule = no_fewer_elements if arguments.get("tail") == "shift" else same_elements
    return rule(before, after, arguments)


def others_in_other_pieces(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Each func computes as many elements, unless it is called for pieces that overlap."""
    funcs = before.calls.keys() | after.calls.keys()
    apart = [name for name in funcs if not any(_overlap(each.boxes.get(name, ())) for each in (before, after))]
    return _differing("elements", before.elements, after.elements, apart)


def _overlap(boxes: Iterable[NumericBox]) -> bool:
    """Whether some element is in two boxes."""
    points = [point for box in boxes for point in points_of(box)]
    return len(set(points)) < len(points)


def any_number(before: Outcome, after: Outcome, arguments: Arguments) -> str:
    """Nothing is said."""
    return ""


COUNTS: dict[str, CountRule] = {
    "split_loop": as_the_tail_says,
    "reorder_loops": same_calls,
    "cut_loop": same_elements,
    "cut_call": same_elements,
    "fuse_loops": others_in_other_pieces,
    "fission_loop": same_calls,
    "unroll_loop": same_calls,
    "vectorize": same_elements,
    "remove_loop": no_more_elements,
    "absorb_loop": no_more_elements,
    "lift_call": same_of_others,
    "compute_once": no_more_elements,
    "unslide_window": any_number,
    "serialize_loop": same_calls,
    "assume_shape": same_calls,
    "lift_if": same_calls,
    "specialize": same_calls,
    "clone_call": any_number,
    "split_reduction": any_number,
    "split_reduction_in_parts": any_number,
    "share_calls": same_of_others,
    "remove_call": no_more_elements,
    "choose_variant": same_calls,
    "extract_pipeline": same_taken_in,
    "inline_pipeline": same_taken_out,
    "fuse_calls": three_changed,
    "stage_buffer": same_of_what_there_was,
    "parallelize_loop": same_calls,
    "pipeline_loop": same_calls,
    "prefetch": same_calls,
    "compute_at": same_of_others,
    "compute_root": no_more_of_others,
    "slide_window": any_number,
    "fold_storage": same_calls,
    "unfold_storage": same_calls,
    "store_at": no_more_elements,
    "lift_alloc": same_calls,
    "resize_dim": no_more_elements,
    "align_dim": same_calls,
    "unroll_buffer": same_calls,
    "reorder_statements": same_calls,
    "simplify": same_calls,
    "rename": same_calls,
    "alias_copy": no_more_elements,
    "alias_copies": no_more_elements,
    "split_boundary": any_number,
    "set_layout": same_calls,
    "divide_dim": same_calls,
    "merge_dims": same_calls,
    "compute_in_place": same_calls,
    "reuse_buffer": same_calls,
}
"""What each primitive says about how often funcs are called; of other operations nothing is known."""


NARROWING = ("assume_shape",)
"""Primitives whose results refuse some of the arrays that were taken before: both are run on sizes of those left."""


def _differing(what: str, before: Counter[str], after: Counter[str], among: Iterable[str] | None = None) -> str:
    funcs = before.keys() | after.keys() if among is None else among
    changed = [name for name in sorted(funcs) if before[name] != after[name]]
    return "; ".join(f"{name}: {before[name]} {what} became {after[name]}" for name in changed)


# ----------------------------------------------------------------------------------------------------------------
# Judging
# ----------------------------------------------------------------------------------------------------------------


def judge(before: Program, after: Program, operation: str = "a rewrite", arguments: Arguments | None = None) -> int:
    """Judge a rewrite; returns on how many sizes.

    Raises `WrongRewriteError` if the programs do not mean the same.
    """
    arguments = arguments or {}
    old = Known(before, [*sizes_of(after)], known(before).steps) if operation in NARROWING else known(before)
    sizes = [None if values is None else with_new_scalars(values, after) for values in old.sizes]
    step = Step(old.steps, step_of(before, operation, arguments))
    new = _known.get(id(after))
    if new is None or new.program() is not after or new.sizes != sizes:
        steps = new.steps if new is not None and new.program() is after and new.steps is not None else step
        new = _known[id(after)] = Known(after, sizes, steps)
    reasons: Counter[str] = Counter()
    count = 0
    for number, values in enumerate(sizes):
        if values is None:
            reasons["no sizes found"] += 1
            continue
        expected = old.outcome(before, number)
        found = new.outcome(after, number) if expected.is_sound() else expected
        if expected.wrong:
            reasons["the program before is wrong"] += 1
        elif found.is_too_long:
            reasons["runs take too long"] += 1
        else:
            count += 1
            problem = compare(before, after, expected, found, COUNTS.get(operation, any_number), arguments)
            if problem:
                raise WrongRewriteError(_report(problem, before, after, number, step, new))
    if not sizes:
        reasons["no sizes found"] += 1
    if count:
        TALLY.rewrites[operation] += 1
    else:
        TALLY.unjudged[reasons.most_common(1)[0][0]] += 1
    return count


def compare(
    before: Program, after: Program, expected: Outcome, found: Outcome, rule: CountRule, arguments: Arguments
) -> str:
    """What is wrong with a program after a rewrite, on some sizes, or nothing."""
    missing = set(top_checks(before)) - set(top_checks(after))
    if missing:
        return f"the check {', '.join(sorted(map(str, missing)))} is gone"
    if found.wrong:
        return f"the program after the rewrite is wrong: {found.wrong}"
    if expected.outputs.keys() != found.outputs.keys():
        return f"the outputs were {[*expected.outputs]}, and are {[*found.outputs]}"
    for name, hashes in expected.outputs.items():
        offset = _first_difference(hashes, found.outputs[name])
        if offset is not None:
            return f"an element of output {name} is not what it was"
    counts = rule(expected, found, arguments)
    return f"counts changed in a way that the primitive does not say: {counts}" if counts else ""


def _first_difference(before: Hashes, after: Hashes) -> Coordinates | None:
    """Where two outputs differ; junk (odd) is like any other junk."""
    if before.shape != after.shape:
        return (0,) * (before.ndim - 1)
    junk = np.uint64(1)
    same = (before == after) | ((before & junk).astype(bool) & (after & junk).astype(bool))
    return None if same.all() else tuple(int(k) for k in np.argwhere(~same)[0][:-1])


# ----------------------------------------------------------------------------------------------------------------
# What a failure shows
# ----------------------------------------------------------------------------------------------------------------


def _report(problem: str, before: Program, after: Program, number: int, step: Step, new: Known) -> str:
    values, order = new.sizes[number], ORDERS[number % len(ORDERS)]
    assert values is not None
    lines = [problem, "", f"by {step.text}", "", "The program before:", "", print_program(before), ""]
    lines += ["The program after:", "", print_program(after), ""]
    lines += [f"Run with parallel iterations {order}, and with", "", _sizes_text(values), ""]
    lines += _element_text(before, after, values, order)
    lines += ["A script:", "", script_of(before, step, values, order)]
    return "\n".join(lines)


def _sizes_text(values: Values) -> str:
    shown = {key: value for key, value in values.items() if not key.endswith((".stride", ".fold_factor"))}
    return "\n".join(f"  {key} = {value}" for key, value in shown.items())


def _element_text(before: Program, after: Program, values: Values, order: str) -> list[str]:
    """The first element that is not what it was, and what both programs compute it from."""
    machines = [Run(program, values, order, origins={}) for program in (before, after)]
    try:
        for machine in machines:
            machine.follow()
    except (WrongProgramError, TooMuchWorkError):
        return []
    for parameter in before.outputs:
        first, second = (machine.memories[parameter.name] for machine in machines)
        offset = _first_difference(first.values, second.values)
        if offset is not None and len(offset) == len(first.box):
            element = tuple(lo + k for k, (lo, _) in zip(offset, first.box, strict=True))
            lines = [f"The first element that differs is {parameter.name}{list(element)}:", ""]
            return [*lines, *_descend(machines, parameter.name, element), ""]
    return []


_DEEPEST = 30


def _descend(machines: list[Run], buffer: str, element: Coordinates) -> Iterator[str]:
    """From an element that differs to the first one, on the way to the inputs, that is computed differently."""
    hashes = [machine.memories[buffer].at(element) for machine in machines]
    for depth in range(_DEEPEST):
        origins = [(machine.origins or {}).get(h) for machine, h in zip(machines, hashes, strict=True)]
        indent = "  " * (depth + 1)
        for title, origin, h in zip(("before", "after"), origins, hashes, strict=True):
            yield f"{indent}{title}: {_origin_text(origin, h)}"
        first, second = origins
        if first is None or second is None:
            return
        if (first.buffer, first.element) != (second.buffer, second.element):
            return
        pairs = zip(first.reads, second.reads, strict=False)
        pair = next(((a, b) for a, b in pairs if a[3] != b[3] and a[:1] == b[:1]), None)
        if pair is None:
            return
        read = [f"{buffer}{[*at]}" for _, buffer, at, _ in pair]
        yield f"{indent}of port {pair[0][0]} it reads {read[0]}, and {read[1]}"
        hashes = [pair[0][3], pair[1][3]]


def _origin_text(origin: Origin | None, element: int) -> str:
    if origin is None:
        return "nothing has written it" if element & 1 else "an element of an input"
    reads = ", ".join(f"{name}{list(at)}={h:x}" for _, name, at, h in origin.reads[:6])
    more = ", ..." if len(origin.reads) > 6 else ""
    return f"{element:x} is {origin.buffer}{list(origin.element)}, by {origin.call} from {reads}{more}"
