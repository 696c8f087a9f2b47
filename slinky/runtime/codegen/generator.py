"""From a program to the source of one Python function that does the same.

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

from collections.abc import Sequence
from typing import Any, assert_never

import attrs

from slinky.ir.layers import Layers
from slinky.ir.printer import program_header
from slinky.ir.scopes import Scope, program_scope
from slinky.ir.statements import SERIAL, Alloc, Block, Call, Check, For, If, LoweredFunc, Pass, Program, Statement, walk
from slinky.runtime.arena import SiteKind
from slinky.runtime.codegen.allocations import Allocations
from slinky.runtime.codegen.calls import Calls
from slinky.runtime.codegen.examples import Examples
from slinky.runtime.codegen.loops import Loops
from slinky.runtime.codegen.names import Globals, Names, comment
from slinky.runtime.codegen.origin import ends
from slinky.runtime.codegen.parameters import Parameters
from slinky.runtime.codegen.recording import Recording
from slinky.runtime.codegen.scopes import INDENT, CodeScope, Line
from slinky.runtime.codegen.sites import sites
from slinky.runtime.codegen.views import Views, buffers_given_read_only
from slinky.runtime.codegen.writer import Place, Writer, also
from slinky.runtime.in_place import in_outputs
from slinky.symbolic.bounds import decide
from slinky.symbolic.expressions import TRUE, Truth, negate
from slinky.symbolic.intervals import substitute_box
from slinky.symbolic.proofs import prove

HELPERS = (
    "bad_fold", "bad_region", "bad_step", "buffer_at", "check_failed", "check_result", "read_only", "run_parallel",
)  # fmt: skip
"""The globals of every plan: see `plan`."""


@attrs.frozen
class Kind:
    """What a variant does and relies on."""

    recorded: bool = False
    nonempty: bool = True
    at_origin: bool = False
    bound: bool = False
    guarded: bool = False


@attrs.frozen(eq=False)
class Generated:
    """The source of a variant, and what it needs to run.

    The function takes an arena, the recorder if `recorded`, the number of threads if `threaded`, per input and output
    the array and, unless `at_origin`, the coordinates of its first element, and the scalars. If `bound`, the function
    that it returns takes the number of threads instead, and the arena is its own. `objects` are the globals
    that it uses beside the helpers of the runtime, `callbacks` the funcs of those that are callbacks. `sites` are those
    of its arena, `arenas[name]` those of the body of a parallel loop.
    """

    source: str
    function: str
    places: dict[int, Place]
    objects: dict[str, Any]
    callbacks: dict[str, LoweredFunc]
    sites: tuple[SiteKind, ...]
    arenas: dict[str, tuple[SiteKind, ...]]
    threaded: bool


def generate(program: Program, kind: Kind) -> Generated:
    """Write a variant of a program; one `at_origin`, of a program of `origin.at_origin`.

    Raises `ExecutionError` for a statement that plans do not know.
    """
    return _Generator(program, kind).generated()


class _Generator:
    """Writes one variant: its statements, each by the part that knows its kind."""

    def __init__(self, program: Program, kind: Kind) -> None:
        self.program = program
        self.kind = kind
        self.threaded = any(isinstance(s, For) and s.mode != SERIAL for s in walk(program.body))
        names = Names()
        names.taken.update(HELPERS)
        names.taken.update(_temporaries(program))
        self.function = names.fresh(f"{'bind' if kind.bound else 'run'}_{program.name}")
        self.bound_function = names.fresh(f"run_{program.name}") if kind.bound else ""
        self.arena_name = names.fresh("arena")
        record_name = names.fresh("record") if kind.recorded else None
        threads_name = names.fresh("threads") if self.threaded else ""
        self.threads = [threads_name] if self.threaded else []
        self.first_parameters = [self.arena_name, *filter(None, [record_name])]
        self.writer = writer = Writer(
            CodeScope(None, 0, 1, 0, _known_at_start(program, kind)), names, Examples(program, kind.at_origin)
        )
        self.globals = Globals(names)
        dims = {p.name: p.dims for p in (*program.inputs, *program.outputs)}
        views = Views(writer, dims, buffers_given_read_only(program))
        self.parameters = Parameters(program, writer, views, self.globals, kind.at_origin)
        self.recording = Recording(writer, record_name)
        self.calls = Calls(writer, views, self.globals, self.recording)
        self.allocations = Allocations(writer, views, self.recording, in_outputs(program))
        self.loops = Loops(writer, self.allocations, threads_name, self._block)

    def generated(self) -> Generated:
        """The finished source."""
        checks = [s for s in self.program.body if isinstance(s, Check)]
        body = tuple(s for s in self.program.body if not isinstance(s, Check))
        for check in checks:
            if check.condition is TRUE:
                continue
            self.writer.fail_if(negate(check.condition), "check_failed", check)
        with self.allocations.arena(self.arena_name, body):
            self._block(body)
        source, places = self._assembled()
        return Generated(
            source,
            self.function,
            places,
            self.globals.objects,
            self.globals.callbacks,
            sites(body),
            self.loops.arenas,
            self.threaded,
        )

    def _assembled(self) -> tuple[str, dict[int, Place]]:
        """The source of the function around the lines that were written, and the places of its lines by number."""
        lines = self.writer.root.lines
        parameters = [*self.first_parameters, *([] if self.kind.bound else self.threads), *self.parameters.names]
        text = [f"# {comment(program_header(self.program))}"]
        text += [f"def {self.function}({', '.join(parameters)}):"]
        text += [INDENT + line for line in self.parameters.headers_used_by([line.text for line in lines])]
        places: dict[int, Place] = {}

        def add(some: Sequence[Line], deeper: int) -> None:
            for line in some:
                text.append(INDENT * (line.depth + deeper) + line.text)
                if line.place is not None:
                    places[len(text)] = line.place

        nothing = [Line(1, "pass")]
        if self.kind.bound:
            first = next((n for n, line in enumerate(lines) if line.acts), len(lines))
            add(lines[:first], 0)
            text += ["", f"{INDENT}def {self.bound_function}({', '.join(self.threads)}):"]
            add(lines[first:] or nothing, 1)
            text += ["", f"{INDENT}return {self.bound_function}"]
        else:
            add(lines or nothing, 0)
        return "\n".join(text) + "\n", places

    # Statements ---------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        self.recording.block(block, self._statement)

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
            self.writer.fail_if(negate(check.condition), "check_failed", check)
        self.writer.assume(check.condition)

    def _if(self, statement: If) -> None:
        writer = self.writer
        condition = decide(statement.condition, writer.known)
        if isinstance(condition, Truth):
            taken, field = (statement.body, "body") if condition.value else (statement.orelse, "orelse")
            with writer.inside("", writer.facts.enter(statement, field), blocks=0):
                self._block(taken)
            return
        outer, facts = writer.scope, writer.facts
        test = writer.text(condition)
        with writer.inside(f"if {test}:", facts.enter(statement, "body")) as body:
            self._block(statement.body)
            if not body.lines:
                body.write("pass")
            start = len(outer.lines)
        if statement.orelse:
            end = len(outer.lines)
            with writer.inside("else:", facts.enter(statement, "orelse")):
                self._block(statement.orelse)
                shared = outer.lines[end:]
            # What the second block put outside must not come between `if` and `else`.
            del outer.lines[end : end + len(shared)]
            outer.lines[start:start] = shared


def _temporaries(program: Program) -> list[str]:
    """The locals that hold a value only from one line to the next."""
    most = max((len(s.reads) + len(s.writes) for s in walk(program.body) if isinstance(s, Call)), default=0)
    numbers = range(1, most + 1)
    return ["result", "written", *(f"written{n}" for n in numbers), *(f"operand{n}" for n in numbers)]


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
