"""The face that users hold: an immutable program, to print, to run, and to rewrite into new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from slinky.cursors.answers import text_in
from slinky.cursors.base import Cursor
from slinky.cursors.containment import are_same
from slinky.cursors.cursors import BlockCursor, block_cursor
from slinky.cursors.history import History, steps_of
from slinky.cursors.lineages import Lineage, origin
from slinky.cursors.parameters import ArgCursor
from slinky.cursors.patterns import find, the_match
from slinky.cursors.versions import Version
from slinky.errors import ArgumentError, InvalidCursorError, OperationError, cited
from slinky.graph.nested import PipelineFunc
from slinky.ir.equality import say_the_same
from slinky.ir.given import is_flag
from slinky.ir.printer import print_program
from slinky.ir.statements import Program
from slinky.ir.verifier import verify_program
from slinky.runtime.backends import Prepared, fast_backend, prepare, require_backend, written
from slinky.runtime.callbacks import is_debugging
from slinky.runtime.collector import collector_paused
from slinky.runtime.omitted import Completion
from slinky.runtime.run_options import Checked, RunOptions
from slinky.runtime.statistics import Hooks, Memory, RunStatistics

if TYPE_CHECKING:
    from slinky.graph.buffers import BufferExpr
    from slinky.graph.funcs import Func
    from slinky.runtime.bound import BoundPipeline
    from slinky.runtime.estimates import Estimate
    from slinky.runtime.plan import Plan
    from slinky.sched.diagnosis import Diagnosis

C = TypeVar("C", bound=Cursor)


class Pipeline:
    """An immutable program: parameters (inputs, outputs, scalars) and a body of statements.

    Make one with `build_pipeline`. Call it with arrays, inputs then outputs, to run it; print it to see its
    statements. Pipelines are compared and hashed by identity.
    """

    __slots__ = ("__weakref__", "_completion", "_others", "_plan", "_version")

    _completion: Completion | None
    _version: Version
    _plan: Plan | None
    _others: dict[str, Prepared]

    def __init__(self, program: Program | Version) -> None:
        if not isinstance(cast(object, program), (Program, Version)):
            raise OperationError(
                f"a pipeline is made by build_pipeline, or of the program of another, got {cited(program)}"
            )
        version = program if isinstance(program, Version) else Version(program, origin())
        put = object.__setattr__
        put(self, "_completion", None)
        put(self, "_version", version)
        put(self, "_plan", None)
        put(self, "_others", {})

    @property
    def _program(self) -> Program:
        return self._version.program

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a pipeline never changes; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a pipeline never changes; cannot delete {name}")

    def __copy__(self) -> Pipeline:
        return self

    def __deepcopy__(self, memo: object) -> Pipeline:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the version. Cursors of this version that are pickled with it point into it; older ones do not."""
        return Pipeline, (self._version,)

    @property
    def program(self) -> Program:
        """The statements and parameters."""
        return self._program

    @property
    def name(self) -> str:
        """The name that it prints with."""
        return self._program.name

    def __str__(self) -> str:
        return print_program(self._program)

    def __repr__(self) -> str:
        inputs = ", ".join(p.name for p in self._program.inputs)
        outputs = ", ".join(p.name for p in self._program.outputs)
        return f"<Pipeline {self.name}({inputs}) -> ({outputs})>"

    def __call__(self, /, *arrays: object, **scalars: float) -> Any:
        """Run on arrays, inputs then outputs, and scalars by name; return the output, or a tuple of the outputs.

        Arrays go by position or by name. Outputs that are omitted, all of them or those not given by name, are
        allocated, as large as the checks of the pipeline allow, and returned: as arrays, or as `sl.Buffer` where their
        first element is not at the origin. Raises `ArgumentError` where their bounds do not follow.

        Arrays are NumPy arrays, `sl.Buffer`, or anything that NumPy can see without copying; their dtype and rank must
        be those of the parameters. Raises `ArgumentError` before any callback has run and any output is touched. An
        exception of a callback propagates with a note that names the call and its box.
        """
        return (self._plan or self._planned()).enter(arrays, scalars)

    def bind(self, /, *arrays: object, **scalars: float) -> BoundPipeline:
        """Fix the arguments: what comes back runs on these arrays and scalars, called without any, as often as wanted.

        Takes what calling the pipeline takes, and raises what it raises before any callback has run. A run then costs
        no checks, and nothing that depends on the arguments alone is computed again: for runs of a few microseconds.
        Outputs that are omitted are allocated once, and written and returned by every run.
        """
        return self._planned().bind(*self._complete(arrays, scalars))

    def run(
        self,
        /,
        *arrays: object,
        backend: str = "python",
        checked: Checked = False,
        hooks: Hooks | None = None,
        threads: int | None = None,
        timed: bool = False,
        progress: bool = False,
        **scalars: float,
    ) -> RunStatistics:
        """Run as by calling, and return what was used, with the `outputs`.

        `backend` is `"python"`, the plan that `compile` makes, `"native"`, `"auto"` or `"native-exact"`, the same with
        arithmetic in C (see `docs/native.md`), or `"interpreter"`, the reference. With `checked=True`,
        the interpreter runs and checks every read to find what the program promises: slow, for tests. With
        `checked="first"`, the first call of each func must write all of its outputs, and nothing else is checked.
        `hooks` are told of calls and allocations. `threads` is how many threads a parallel loop uses that does not say
        it itself. With `timed=True`, the statistics say how many `seconds` each func took. With `progress`, a bar shows
        the share of elements computed (needs the extra `progress`).
        """
        require_backend(backend)
        hooks = Hooks() if hooks is None else hooks
        options = RunOptions(checked=checked, hooks=hooks, threads=threads, timed=timed, progress=progress)
        return self._run(arrays, scalars, backend, options)

    def _run(
        self, arrays: tuple[object, ...], scalars: dict[str, float], backend: str, options: RunOptions
    ) -> RunStatistics:
        if not options.checked and is_debugging():
            options = attrs.evolve(options, checked="first")
        if options.progress:
            from slinky.runtime.progress import progress_hooks

            total = sum(self._rehearse(arrays, scalars, options.threads).elements.values())
            with progress_hooks(total, self.name, options.hooks) as told:
                return self._run(arrays, scalars, backend, attrs.evolve(options, hooks=told, progress=False))
        prepared = self._prepared("interpreter" if options.checked is True else backend)
        complete, numbers = self._complete(arrays, scalars)
        statistics = prepared.record(complete, numbers, options)
        return attrs.evolve(statistics, outputs=complete[len(self._program.inputs) :])

    def _complete(
        self, arrays: tuple[object, ...], scalars: dict[str, float]
    ) -> tuple[tuple[object, ...], dict[str, Any]]:
        """All arrays, and the scalars: what completes them is made at the first use."""
        return self._completing().complete(arrays, scalars)

    def _completing(self) -> Completion:
        """What completes arguments, made at the first use."""
        if self._completion is None:
            object.__setattr__(self, "_completion", Completion(self._program))
        assert self._completion is not None
        return self._completion

    def _prepared(self, backend: str) -> Prepared:
        """The program made ready by a back end, at the first use of it."""
        if backend == "python":
            return self._planned()
        found = self._others.get(backend)
        if found is None:
            with collector_paused():
                found = self._others.setdefault(backend, prepare(backend, self._program))
        return found

    def compile(self, *, backend: str = "python", fast: bool = False) -> Plan:
        """The plan that runs this pipeline, made at the first use. It may run in many threads at once.

        `plan(...)` runs as the pipeline does that is called. `backend` is `"python"`, whose plan the pipeline itself
        uses; `"native"`, whose arithmetic is C; `"auto"`, where C does what it does faster, if there is a compiler; or
        `"native-exact"`, the same, where bits are those of `"python"` (`docs/native.md`). `plan.release()` gives back
        the memory that a plan keeps for its next run. With `fast`, C may round otherwise than NumPy does, which is the
        back end `"native-fast"`.

        Raises `ArgumentError` for a back end that has no plans, or that is not `"native"` and asked to be `fast`;
        `CompilationError` where a C compiler fails.
        """
        from slinky.runtime.plan import Plan

        require_backend(backend)
        if not is_flag(fast):
            raise ArgumentError(f"fast must be True or False, got {cited(fast)}")
        if fast:
            backend = fast_backend(backend)
        plan = self._prepared(backend)
        if not isinstance(plan, Plan):
            raise ArgumentError(f"the back end {backend!r} makes no plan: it looks at the program as it runs")
        plan.make_ready()
        return plan

    def _planned(self) -> Plan:
        """The plan, which makes what a run needs at the first run that needs it."""
        if self._plan is None:
            from slinky.runtime.plan import Plan

            with collector_paused():
                object.__setattr__(self, "_plan", Plan(self._program))
        assert self._plan is not None
        return self._plan

    def to_python(self) -> str:
        """The Python source of the plan: the function that runs when no input or output is empty."""
        return self._planned().source

    def to_c(self) -> str:
        """The pipeline as one C11 file that needs nothing but the C library, with what it takes in a comment.

        Where all calls are arithmetic (see `docs/native.md`) it is one function of all that the pipeline does; else a
        function for each part that is. Raises `CompilationError` where there is none.
        """
        return written("C", self._program)

    def memory(self, /, *arrays: object, threads: int | None = None, **scalars: float) -> Memory:
        """What the intermediates of a run on arrays like these take: the `program_bytes` and `peak_bytes` of `run`.

        Nothing runs. Instead of an array, its shape will do, a tuple of integers; outputs may be omitted. Where
        parallel loops allocate, it is the most that a run can take: how much their iterations overlap is chance. Of
        pipelines inside of funcs, and where a plan decides more than is known before (see `reserving`), all iterations
        are rehearsed, which takes longer the more there are; `estimate` has the `program_bytes` at once.
        """
        from slinky.runtime.reserving import estimated_memory

        found = estimated_memory(self._completing(), arrays, scalars, threads)
        if found is not None:
            return found
        rehearsed = self._rehearse(arrays, scalars, threads)
        return Memory(rehearsed.program_bytes, rehearsed.peak_bytes)

    def estimate(self, /, *arrays: object, threads: int | None = None, **scalars: float) -> Estimate:
        """What a run on arrays like these will count: calls, elements, bytes read and written, and memory.

        Nothing runs, and no plan is made. Takes what `memory` takes: instead of an array, its shape will do, a tuple of
        integers; outputs may be omitted. Raises what a run raises before any callback has run.
        """
        from slinky.runtime.estimates import estimate

        return estimate(self._completing(), arrays, scalars, threads)

    def diagnose(
        self, /, *arrays: object, threads: int | None = None, cache_bytes: int | None = None, **scalars: float
    ) -> Diagnosis:
        """What is wrong with the schedule, on arrays like these: findings, with figures and the lines that mend them.

        Takes what `memory` takes. With shapes, nothing runs; with arrays, the pipeline runs a few times, and so do some
        that compute longer or shorter pieces, to see how long callbacks take. `cache_bytes` is what a core has for
        itself; if it is not given, the system says (see `docs/diagnosis.md`).
        """
        diagnosis: Any = import_module("slinky.sched.diagnosis")  # a room further on, which is made of pipelines
        found: Diagnosis = diagnosis.diagnose(self, arrays, scalars, threads, cache_bytes)
        return found

    def trace(
        self,
        /,
        *arrays: object,
        path: str | PathLike[str],
        backend: str = "python",
        threads: int | None = None,
        **scalars: float,
    ) -> RunStatistics:
        """Run, and write what happened when, call by call, to a file that Perfetto opens (ui.perfetto.dev).

        `backend` and `threads` are as of `run`. If the run ends with an error, the file shows what happened before; it
        is not touched if nothing did. Raises what `run` raises, and `ArgumentError` before the run where the file
        cannot be written, as in a folder that is not there.
        """
        from slinky.runtime.traces import Tracer, require_writable

        require_backend(backend)
        require_writable(path)
        tracer = Tracer()
        statistics: RunStatistics | None = None
        try:
            statistics = self._run(arrays, scalars, backend, RunOptions(hooks=tracer.hooks(), threads=threads))
            return statistics
        finally:
            if statistics is not None or tracer.has_events:
                tracer.write(path, self.name)

    def auto(self, /, *arrays: object, **options: Any) -> Pipeline:
        """Scheduled by itself: for arrays like these, or without any, at the first run, for the arrays of that.

        With arrays or shapes it is `sl.auto_schedule(p, *arrays, **options)`. Without, what comes back runs by one
        schedule for each range of sizes, made when the first arrays of the range come. Raises what that raises.
        """
        from slinky.sched.auto_pipeline import scheduled_by_itself  # made of public names: it imports slinky itself

        return scheduled_by_itself(self, arrays, options)

    def scheduled_for(self, /, *arrays: object, **scalars: Any) -> Pipeline:
        """What runs on arrays like these, or of these shapes: this pipeline.

        What `p.auto()` returns has a schedule for each range of sizes, and returns that.
        """
        return self

    def _running_for(self, /, *arrays: object, **scalars: Any) -> Pipeline:
        """The same, of which nothing need be known but what runs."""
        return self

    def _rehearse(self, arrays: tuple[object, ...], scalars: dict[str, float], threads: int | None) -> RunStatistics:
        from slinky.runtime.rehearsal import rehearse

        return rehearse(self._planned(), arrays, scalars, threads)

    def find(self, pattern: str) -> Any:
        """The cursor to the first match of a pattern, such as `"for y"` or `"alloc intm"` (see `docs/cursors.md`).

        Raises `PatternError` if the pattern is not understood, matches nothing, or could mean several things.
        """
        return the_match(self._version, self._program.body, pattern, f"pipeline {self.name}")

    def find_all(self, pattern: str) -> tuple[Any, ...]:
        """The cursors to all matches of a pattern, in program order; none if nothing matches."""
        return find(self._version, self._program.body, pattern)

    def body(self) -> BlockCursor:
        """The cursor to all statements."""
        return block_cursor(self._version, self._program.body)

    def args(self) -> tuple[ArgCursor, ...]:
        """The cursors to the parameters: inputs, outputs, scalars and constants."""
        return tuple(ArgCursor(self._version, p.name) for p in self._program.parameters())

    def forward(self, cursor: C) -> C:
        """The same place in this version, for a cursor of this version or an earlier one.

        Raises `InvalidCursorError` if the place is gone (it says which primitive ended it), or if the cursor belongs
        to a pipeline that this one was not made from.
        """
        if not isinstance(cursor, Cursor):
            raise InvalidCursorError(f"forward() expects a cursor, got {cited(cursor)}")
        return cursor.forward_to(self._version)

    def same(self, a: Cursor, b: Cursor) -> bool:
        """Whether two cursors, of this version or of earlier ones, mean the same place in this version.

        Cursors are equal only if they are of one version, too. Gaps are the same if nothing stands between them,
        whatever their anchors. Raises `InvalidCursorError` if a place is gone or of another pipeline.
        """
        return are_same(self.forward(a), self.forward(b))

    def text(self, value: object) -> str:
        """An expression, a condition, an interval or a box as this program prints it.

        An expression alone does not know what the pipeline calls the dimensions of its buffers: it prints
        `out.dim(0).min` where the program prints `out.y.min`.
        """
        return text_in(self._program, value)

    def same_program(self, other: Pipeline) -> bool:
        """Whether both say the same, whatever their histories.

        Callbacks and arguments are compared as Python does: two lambdas are not the same. Numbers and arrays of NumPy
        are the same if they have the same bits.
        """
        if not isinstance(other, Pipeline):
            raise ArgumentError(f"same_program() expects a pipeline, got {cited(other)}")
        return say_the_same(self._program, other._program)

    def to_json(self, callbacks: Mapping[str, Callable[..., Any]] | None = None) -> str:
        """The program as JSON, from which `sl.Pipeline.from_json` makes it again (see `docs/json.md`).

        Callbacks are written by name: by the one that they have in `callbacks`, else by their own, such as `"blur"` of
        `def blur`. Raises `FormatError` where one has none (a lambda), where two have the same, and for arguments of
        callbacks that cannot be written.
        """
        from slinky.ir.serialisation import program_to_json

        return program_to_json(self._program, callbacks)

    @staticmethod
    def from_json(text: str | bytes, callbacks: Mapping[str, Callable[..., Any]] | None = None) -> Pipeline:
        """The pipeline that a text of `to_json` says, with these callbacks, by name.

        It prints the same and runs the same. It is the start of a history: cursors of the pipeline that was written do
        not point into it. Nothing that the text says is executed. Raises `FormatError`, which says where, for any other
        text and for programs that `verify` refuses, and `MissingCallbackError`, which names them, if callbacks are
        missing.
        """
        from slinky.ir.serialisation import program_from_json

        return Pipeline(program_from_json(text, callbacks))

    def history(self) -> History:
        """The schedule that made this pipeline: a sequence of steps, whose text is Python that runs.

        With `p` the pipeline as it was built, the text makes a program equal to this one. An operation of your own is
        one line where it can be imported; elsewhere its steps stand in its place, as `history().primitives()` shows
        them of every operation.
        """
        return History(f"pipeline {self.name}", steps_of(self._version))

    def to_graph_code(self, callbacks: Mapping[str, Callable[..., Any]] | None = None) -> str:
        """Python that makes this pipeline again: its buffers and funcs, and the schedule as `history` shows it.

        Callbacks go by name: by the one that they have in `callbacks`, by that of the module that has them, else by
        their own, such as `blur` of `def blur`; the first line lists those that have to be defined before.

        Raises `OperationError` for what has no code, for a pipeline that was not built in this process, and where the
        graph was changed since.
        """
        from slinky.graph.built import Built
        from slinky.graph.lowering import lower
        from slinky.graph_code import graph_code

        built = self._version.lineage.start.built
        if not isinstance(built, Built):
            raise OperationError("to_graph_code: this pipeline was read or unpickled, so its graph is not known")
        now = lower(built.graph, built.require, built.name)
        if not say_the_same(now, built.program):
            raise OperationError("to_graph_code: what is assigned to buffers was changed since the pipeline was built")
        return f"{graph_code(built, callbacks)}\n{self.history()}"

    def _continued(self, lineage: Lineage) -> Pipeline:
        """The same pipeline at the end of a longer history."""
        again = Pipeline(self._version.continued(lineage))
        object.__setattr__(again, "_plan", self._plan)
        return again

    def as_func(
        self,
        inputs: Iterable[BufferExpr],
        outputs: Iterable[BufferExpr],
        name: str | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> Func:
        """Make this pipeline a func of another graph, from buffers of that to buffers of that, in the order of the
        inputs and outputs here.

            >>> import slinky as sl, numpy as np, examples  # small pipelines, in the repository of slinky
            >>> inner = sl.line_buffer(examples.blur(), "blur", "x", 16)
            >>> image, soft, soft2 = (sl.BufferExpr(name, np.float32, 1) for name in ("image", "soft", "soft2"))
            >>> inner.as_func([image], [soft], "once")
            <Func soft[x] = once(image[x - 1..x + 1])>
            >>> _ = inner.as_func([soft], [soft2], "twice")
            >>> p = sl.build_pipeline([image], [soft2])
            >>> print(p)
            pipeline twice(image: float32[1]) -> (soft2: float32[1]):
              check image.x.min <= soft2.x.min - 2
              check soft2.x.max <= image.x.max - 2
              alloc soft: float32[soft2.x.min - 1 .. soft2.x.max + 1]
              soft[:] = once(image[soft2.x.min - 2 .. soft2.x.max + 2])
              soft2[:] = twice(soft[:])

        What the func reads follows from the statements. Its calls run them, on buffers that hold just the region that
        a call reads and the box that it computes; they can be split and moved like those of any func. Scalars are
        `arguments` by name; those that are not given are scalars of the same name in the other graph. Statistics
        count what runs inside with the rest.

        Raises `GraphError` for buffers or scalars that do not fit, and for a pipeline that requires more of its inputs
        than what it is given for a part of its outputs. What it requires of scalars is checked in each call.
        """
        return PipelineFunc(self._program, inputs, outputs, name, arguments)

    def verify(self) -> None:
        """Check that the program is well formed.

        Raises `ProgramError` naming the statement that is not.
        """
        verify_program(self._program)
