"""From a program to the plan tree of one function that does the same.

The function is what a person would write by hand: loops over local integers, slices of the dimensions that are
cropped, the callbacks called directly. Whatever the facts of the program decide is not asked again at run time: a
clamp that never does anything, a region that is shown to be inside its buffer, a call that is never empty. What they
do not decide is computed where it changes and no further inside. An innermost loop is cut where it enters and leaves
its steady state (see `peeling`).

There are variants of the function. `recorded` tells a recorder of every call and allocation; without, counting costs
nothing. `nonempty` relies on every input and output having at least one element, which decides many questions.
`at_origin` relies on all of them beginning at coordinate 0, which makes most sums shorter. `bound` is for arguments
that are used again and again: the function does what comes before the first callback and returns a function that does
the rest, any number of times. `guarded` is the same source, run with callbacks that are tested (see `plan`).

Invariant: on arguments that meet the program's checks, a variant calls the same callbacks on the same elements in the
same order as the interpreter (order within a parallel loop aside), and fails where it fails.
"""

from __future__ import annotations

from typing import assert_never

import attrs

from slinky.ir.printer import program_header
from slinky.ir.scopes import Scope, program_scope
from slinky.ir.statements import SERIAL, Alloc, Block, Call, Check, For, If, Pass, Program, Statement, walk
from slinky.runtime.codegen.allocations import Allocations
from slinky.runtime.codegen.calls import Calls
from slinky.runtime.codegen.carried import without_carried_folds
from slinky.runtime.codegen.examples import Examples
from slinky.runtime.codegen.loops import Loops
from slinky.runtime.codegen.names import Globals, TakenNames
from slinky.runtime.codegen.origin import ends
from slinky.runtime.codegen.parameters import Parameters
from slinky.runtime.codegen.recording import Recording
from slinky.runtime.codegen.scopes import CodeScope
from slinky.runtime.codegen.sites import sites
from slinky.runtime.codegen.views import Views, buffers_given_read_only, buffers_read_once
from slinky.runtime.codegen.writer import Writer, also
from slinky.runtime.in_place import in_outputs
from slinky.runtime.plan_tree import Again, CheckFailed, Guard, PlanTree, Steps, acts
from slinky.runtime.python_text import HELPERS, temporaries
from slinky.symbolic.bounds import decide
from slinky.symbolic.expressions import TRUE, Truth, negate
from slinky.symbolic.intervals import substitute_box
from slinky.symbolic.layers import Layers
from slinky.symbolic.proofs import prove

_NO_STEPS: Steps = ()


@attrs.frozen
class Kind:
    """What a variant does and relies on."""

    recorded: bool = False
    nonempty: bool = True
    at_origin: bool = False
    bound: bool = False
    guarded: bool = False


def plan_tree(program: Program, kind: Kind) -> PlanTree:
    """Decide how to run a variant of a program; one `at_origin`, of a program of `origin.at_origin`.

    The function takes an arena, the recorder if
    `recorded`, the number of threads if `threaded`, per input and output the array and, unless `at_origin`, the
    coordinates of its first element, and the scalars. If `bound`, the function that it returns takes the number of
    threads instead, and the arena is its own.
    """
    return _Maker(program if kind.recorded else without_carried_folds(program), kind).tree()


class _Maker:
    """Makes the tree of one variant: its statements, each by the part that knows its kind."""

    def __init__(self, program: Program, kind: Kind) -> None:
        self.program = program
        self.kind = kind
        self.threaded = any(isinstance(s, For) and s.mode != SERIAL for s in walk(program.body))
        names = TakenNames()
        names.taken.update(HELPERS)
        names.taken.update(temporaries(_most_operands(program)))
        self.function = names.fresh(f"{'bind' if kind.bound else 'run'}_{program.name}")
        self.bound_function = names.fresh(f"run_{program.name}") if kind.bound else ""
        self.arena_name = names.fresh("arena")
        record_name = names.fresh("record") if kind.recorded else None
        threads_name = names.fresh("threads") if self.threaded else ""
        self.threads = [threads_name] if self.threaded else []
        self.first_parameters = [self.arena_name, *filter(None, [record_name])]
        self.writer = writer = Writer(
            CodeScope(None, 0, 0, _known_at_start(program, kind)), names, Examples(program, kind.at_origin)
        )
        self.globals = Globals(names)
        dims = {p.name: p.dims for p in (*program.inputs, *program.outputs)}
        # A function that runs again and again had better crop what is read-only already.
        read_once = frozenset[str]() if kind.bound else buffers_read_once(program)
        views = Views(writer, dims, buffers_given_read_only(program), read_once)
        self.parameters = Parameters(program, writer, views, self.globals, kind.at_origin)
        self.recording = Recording(writer, record_name)
        self.calls = Calls(writer, views, self.globals, self.recording, self.parameters.floats)
        self.allocations = Allocations(writer, views, self.recording, in_outputs(program))
        self.loops = Loops(writer, self.allocations, threads_name, self._block)

    def tree(self) -> PlanTree:
        """The finished tree."""
        body = self.program.body
        for check in body:
            if isinstance(check, Check) and check.condition is not TRUE:
                self.writer.stop_if(negate(check.condition), CheckFailed(), check)
        with self.allocations.arena(self.arena_name, body):
            self.recording.block(body, self._behind_checks)
        steps = self.writer.root.done()
        headers = self.parameters.headers_used_by(steps)
        again: Again | None = None
        if self.kind.bound:
            first = next((n for n, step in enumerate(steps) if acts(step)), len(steps))
            again = Again(self.bound_function, tuple(self.threads), steps[first:])
            steps = steps[:first]
        return PlanTree(
            program_header(self.program),
            self.function,
            (*self.first_parameters, *([] if self.kind.bound else self.threads), *self.parameters.names),
            (*headers, *steps),
            again,
            self.globals.objects,
            self.globals.callbacks,
            sites(body),
            self.loops.arenas,
            self.threaded,
        )

    # Statements ---------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        self.recording.block(block, self._statement)

    def _behind_checks(self, statement: Statement) -> None:
        """A statement of the program itself, whose checks come before all others."""
        if not isinstance(statement, Check):
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Alloc():
                self.allocations.write(statement)
            case Call():
                self.calls.write(statement)
            case For():
                self.loops.write(statement)
            case If():
                self._if(statement)
            case Check():
                self._check(statement)
            case Pass():
                pass
            case _:
                assert_never(statement)

    def _check(self, check: Check) -> None:
        if not prove(check.condition, self.writer.known):
            self.writer.stop_if(negate(check.condition), CheckFailed(), check)
        self.writer.assume(check.condition)

    def _if(self, statement: If) -> None:
        writer = self.writer
        condition = decide(statement.condition, writer.known)
        if isinstance(condition, Truth):
            taken, field = (statement.body, "body") if condition.value else (statement.orelse, "orelse")
            with writer.inside(writer.facts.enter(statement, field), blocks=0, is_certain=True) as inner:
                self._block(taken)
            writer.scope.steps.extend(inner.steps)
            return
        facts, test, orelse = writer.facts, writer.value(condition), _NO_STEPS
        with writer.inside(facts.enter(statement, "body")) as body:
            self._block(statement.body)
        if statement.orelse:
            with writer.inside(facts.enter(statement, "orelse")) as other:
                self._block(statement.orelse)
            orelse = other.done()
        writer.scope.add(Guard(test, body.done(), orelse))


def _most_operands(program: Program) -> int:
    """The most operands that a call of a program has."""
    return max((len(s.reads) + len(s.writes) for s in walk(program.body) if isinstance(s, Call)), default=0)


def _known_at_start(program: Program, kind: Kind) -> Scope:
    """The scope behind the checks of a program."""
    scope = program_scope(program)
    if kind.at_origin:
        known = ends(program)
        boxes = {name: substitute_box(box, known) for name, box in scope.boxes.items()}
        scope = attrs.evolve(scope, boxes=Layers(boxes))
    conditions = [s.condition for s in program.body if isinstance(s, Check)]
    if kind.nonempty:
        for p in (*program.inputs, *program.outputs):
            conditions += [i.min <= i.max for i in scope.boxes[p.name]]
    return also(scope, *conditions)
