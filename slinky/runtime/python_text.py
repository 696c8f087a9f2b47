"""Plan trees as Python: the source of one function, as a person would write it. Nothing else knows Python text.

Invariant: the text does what the tree says, in its order, and decides nothing but how to write it: where to break a
line that would be too long, and which brackets are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, assert_never

import attrs

from slinky.runtime.plan_tree import (
    Assign,
    At,
    BadFold,
    BadRegion,
    BadStep,
    BadWorkers,
    Boolean,
    CheckFailed,
    Choice,
    Comparison,
    Conjunction,
    Crop,
    Disjunction,
    Extents,
    Failure,
    Fetch,
    FetchWithin,
    GiveArena,
    Greatest,
    Guard,
    Integer,
    IsContiguous,
    LaidBytes,
    Least,
    Linear,
    Located,
    Loop,
    Name,
    Nest,
    Onward,
    ParallelLoop,
    Place,
    PlanTree,
    Portion,
    Quotient,
    Range,
    ReadOnly,
    RecordAllocation,
    RecordBlock,
    RecordCall,
    RecordFree,
    Remainder,
    Reserve,
    Rows,
    Run,
    Sealed,
    Seen,
    SiteRoom,
    Span,
    StagedLoop,
    Step,
    Steps,
    Stop,
    Stride,
    TakeArena,
    Times,
    Unpack,
    Value,
    Window,
)

LINE_LENGTH = 120
INDENT = "    "

HELPERS = (
    "bad_fold", "bad_region", "bad_step", "bad_workers", "buffer_at", "check_failed", "check_result", "laid_bytes",
    "read_only", "run_parallel", "run_stages", "sealed",
    "seen",
)  # fmt: skip
"""What the text calls beside the objects of the tree."""

_UNKNOWN_SIZE = "-1"

_LOOSE, _COMPARISON, _SUM, _TERM, _ATOM = range(5)
"""How tightly a text binds."""

_Text: TypeAlias = tuple[str, int]


def temporaries(most_operands: int) -> list[str]:
    """The names that the text uses by itself, for calls of so many operands: a tree must bind none of them."""
    numbers = range(1, most_operands + 1)
    return ["result", "written", *(f"written{n}" for n in numbers), *(f"operand{n}" for n in numbers)]


def _operand(position: int) -> str:
    """The temporary for an operand of a call."""
    return f"operand{position + 1}"


@attrs.frozen(eq=False)
class PythonText:
    """The source, and the places of its lines by number, beginning at 1."""

    source: str
    places: dict[int, Place]


def python_text(tree: PlanTree) -> PythonText:
    """Print a plan tree as a function of the tree's name, which takes its parameters.

    Its globals are the objects of the tree and the `HELPERS`.
    """
    page = _Page()
    page.write(f"# {_comment(tree.title)}")
    page.write(f"def {tree.function}({', '.join(tree.parameters)}):")
    page.depth = 1
    if tree.again is None:
        page.block(tree.body)
    else:
        page.steps(tree.body)
        page.write("")
        page.write(f"def {tree.again.name}({', '.join(tree.again.parameters)}):")
        page.margin = INDENT
        page.block(tree.again.body)
        page.margin = ""
        page.write("")
        page.write(f"return {tree.again.name}")
    return PythonText("\n".join(page.lines) + "\n", page.places)


class _Page:
    """Lines of text, and what the steps become. `margin` stands before lines beside their depth: it does not count for
    their length, so that a function reads the same wherever it stands."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: dict[int, Place] = {}
        self.depth = 0
        self.margin = ""

    def write(self, text: str, place: Place | None = None, deeper: int = 0) -> None:
        """Add a line, so much deeper than the others."""
        self.lines.append(f"{self.margin}{INDENT * (self.depth + deeper)}{text}" if text else "")
        if place is not None:
            self.places[len(self.lines)] = place

    def fits(self, line: str) -> bool:
        """Whether a line is short enough to stand here."""
        return len(line) + len(INDENT) * self.depth <= LINE_LENGTH

    def block(self, steps: Steps) -> None:
        """Steps that stand in a block of Python, which must not be empty."""
        if steps:
            self.steps(steps)
        else:
            self.write("pass")

    def inner(self, header: str, steps: Steps, place: Place | None = None) -> None:
        """A compound statement."""
        self.write(header, place)
        self.depth += 1
        self.block(steps)
        self.depth -= 1

    def steps(self, steps: Steps) -> None:
        """Some steps, one after the other."""
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """One step."""
        match step:
            case Assign(name=name, value=value):
                self.write(f"{name} = {text(value)}")
            case Run():
                self._run(step)
            case Nest(function=function, arguments=arguments, body=body, remark=remark):
                self.write(f"# {_comment(remark)}")
                self._write_long(f"if {function.text}(", [text(argument) for argument in arguments], "):")
                self.depth += 1
                self.block(body)
                self.depth -= 1
            case Unpack(names=names, value=value):
                self.write(f"{_targets(names)} = {text(value)}")
            case Stop(condition=condition, failure=failure, place=place):
                self.write(f"if {text(condition)}:")
                self.write(_failing(failure), place, deeper=1)
            case Guard(condition=condition, body=body, orelse=orelse):
                self.inner(f"if {text(condition)}:", body)
                if orelse:
                    self.inner("else:", orelse)
            case Loop():
                self._loop(step)
            case ParallelLoop(variable=variable, iterations=iterations, body=body, function=function, workers=workers):
                self.inner(f"def {function}({variable}):", body)
                self.write(f"run_parallel({text(iterations)}, {function}, {text(workers)})")
            case StagedLoop(variable=variable, iterations=iterations, stages=stages, depth=depth, workers=workers):
                for stage in stages:
                    self.inner(f"def {stage.function}({variable}):", stage.body)
                functions = _tuple([stage.function for stage in stages])
                self.write(f"run_stages({text(iterations)}, ({functions}), {depth}, {text(workers)})")
            case TakeArena(arena=arena, idle=idle):
                self.write(f"{arena} = {idle.text}.take()")
            case GiveArena(idle=idle, arena=given):
                self.write(f"{idle.text}.give({given.text})")
            case Reserve():
                self._reserve(step)
            case Fetch():
                self._fetch(step)
            case FetchWithin(name=name, part=part, is_contiguous=is_contiguous, site=site, extents=extents):
                self.write(f"{name} = {part.text} if {is_contiguous.text} else {site.text}[{_shape(extents)}]")
                if step.reading is not None:
                    self.write(f"{step.reading} = read_only({name})")
            case RecordBlock(recorder=recorder, name=name, body=body):
                self.inner(f"with {recorder.text}.block() as {name}:", body)
            case RecordAllocation(block=block, buffer=buffer, bytes=size):
                self.write(f"{block.text}.allocate({buffer!r}, {text(size)})")
            case RecordFree(block=block, buffer=buffer):
                self.write(f"{block.text}.free({buffer!r})")
            case RecordCall(recorder=recorder, func=func, box=box, body=body, place=place):
                spans = [f"({text(lo)}, {text(hi)})" for lo, hi in box]
                self.inner(f"with {recorder.text}.call({func!r}, ({_tuple(spans)})):", body, place)
            case _:
                assert_never(step)

    def _loop(self, loop: Loop) -> None:
        remark = f"  # {loop.remark}" if loop.remark else ""
        header = f"for {loop.variable} in {text(loop.iterations)}:{remark}"
        if loop.beside:
            self._zipped_loop(loop, remark)
            return
        if loop.function is None:
            self.inner(header, loop.body)
            return
        self.inner(f"def {loop.function}({loop.variable}):", loop.body)
        self.write(header)
        self.write(f"{loop.function}({loop.variable})", deeper=1)

    def _zipped_loop(self, loop: Loop, remark: str) -> None:
        """A loop whose windows come with its variable: an iterator gives them sooner than a call for each."""
        names = ", ".join([loop.variable, *(name for name, _ in loop.beside)])
        iterators = [text(loop.iterations), *(_onward(windows) for _, windows in loop.beside)]
        self._write_long(f"for {names} in zip(", iterators, f"):{remark}")
        self.depth += 1
        self.block(loop.body)
        self.depth -= 1

    # Memory -------------------------------------------------------------------------------------------------------

    def _reserve(self, step: Reserve) -> None:
        if step.heap:
            before = f"{_targets([room.site for room in step.heap])} = {step.arena.text}["
            self._write_long(before, [_room(room) for room in step.heap], "]")
        if step.rings:
            self.write(f"{_targets(step.rings)} = {step.arena.text}.rings")

    def _write_long(self, before: str, items: Sequence[str], after: str) -> None:
        """A line that ends with a list in brackets; an item a line where it would be too long."""
        line = f"{before}{', '.join(items)}{after}"
        if self.fits(line):
            self.write(line)
            return
        self.write(before)
        for item in items:
            self.write(f"{item},", deeper=1)
        self.write(after)

    def _fetch(self, step: Fetch) -> None:
        shape = f"[{_shape((*step.extents, *step.folds))}]"
        self.write(f"{step.name} = {step.site.text}{shape}")
        if step.reading is not None:
            # At once: later the site may have forgotten the array.
            source = f"{step.name}.read_only" if step.folds else f"{step.site.text}.read_only{shape}"
            self.write(f"{step.reading} = {source}")

    # Calls --------------------------------------------------------------------------------------------------------

    def _run(self, step: Run) -> None:
        inputs = [self._input(position, value) for position, value in enumerate(step.inputs)]
        outputs = [text(value) for value in step.outputs]
        arguments = [f"{key}={text(value)}" for key, value in step.arguments]
        if step.takes_out:
            out = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
            self._call(f"{step.callback.text}(", inputs, [f"out={out}", *arguments], ")", step.place)
            return
        written: list[str] = []
        passed: list[str] = []
        for value, output in zip(step.outputs, outputs, strict=True):
            if isinstance(value, Name):
                written.append(output)
                passed.append(output)
            else:
                written.append("written" if not written else f"written{len(written) + 1}")
                passed.append(f"{written[-1]} := {output}")
        before, after = f"if (result := {step.callback.text}(", ")) is not None:"
        self._call(before, [*inputs, *passed], arguments, after, step.place)
        self.write(f"check_result({', '.join(['result', *written])})", step.place, deeper=1)

    def _input(self, position: int, value: Value) -> str:
        """An input of a call. What is sealed for it is made before, which takes no call of a helper."""
        if not isinstance(value, Sealed):
            return text(value)
        name = _operand(position)
        self.write(f"{name} = {_new_view(value.array)}")
        self.write(f"{name}.setflags(False)")
        return name

    def _call(self, before: str, operands: list[str], keywords: Sequence[str], after: str, place: Place) -> None:
        """A call on one line, its operands in locals first where the line would be too long."""
        line = before + ", ".join([*operands, *keywords]) + after
        if not self.fits(line):
            for position, operand in enumerate(operands):
                if not operand.isidentifier() and ":=" not in operand:
                    name = _operand(position)
                    self.write(f"{name} = {operand}")
                    operands[position] = name
            line = before + ", ".join([*operands, *keywords]) + after
        self.write(line, place)


def _failing(failure: Failure) -> str:
    match failure:
        case BadRegion(operand=operand):
            return f"bad_region({operand})"
        case BadFold(dim=dim):
            return f"bad_fold({dim})"
        case BadStep():
            return "bad_step()"
        case BadWorkers():
            return "bad_workers()"
        case CheckFailed():
            return "check_failed()"
        case _:
            assert_never(failure)


def _room(room: SiteRoom) -> str:
    size = _UNKNOWN_SIZE if room.bytes is None else text(room.bytes)
    return f"{size} if {' and '.join(text(c) for c in room.conditions)} else 0" if room.conditions else size


# Values ---------------------------------------------------------------------------------------------------------------


def text(value: Value) -> str:
    """A value, to stand alone."""
    return value.text if isinstance(value, Name) else _written(value)[0]


def _atom(value: Value) -> str:
    """A value that may stand beside any operator."""
    written, strength = _written(value)
    return written if strength == _ATOM else f"({written})"


def _written(value: Value) -> _Text:
    match value:
        case Name(text=name):
            return name, _ATOM
        case Integer(value=number):
            return str(number), _ATOM if number >= 0 else _SUM
        case Linear():
            return _sum(value)
        case Crop(array=array, is_all=is_all):
            made = _crop(value)
            return (made, _ATOM) if is_all is None else (f"{text(array)} if {text(is_all)} else {made}", _LOOSE)
        case Comparison(left=left, relation=relation, right=right):
            return f"{text(left)} {relation} {text(right)}", _COMPARISON
        case Times(factors=factors):
            # The first may be a negative number: `-8 * n` needs no brackets.
            first = text(factors[0]) if isinstance(factors[0], Integer) else _atom(factors[0])
            return " * ".join([first, *map(_atom, factors[1:])]), _TERM
        case Quotient(numerator=numerator, denominator=denominator):
            return f"{_atom(numerator)} // {_atom(denominator)}", _TERM
        case Remainder(numerator=numerator, denominator=denominator):
            return f"{_atom(numerator)} % {_atom(denominator)}", _TERM
        case Least(values=values):
            return f"min({_list(values)})", _ATOM
        case Greatest(values=values):
            return f"max({_list(values)})", _ATOM
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return f"({text(then)} if {text(condition)} else {text(otherwise)})", _ATOM
        case Conjunction(conditions=conditions):
            return _junction(" and ", conditions), _LOOSE
        case Disjunction(conditions=conditions):
            return _junction(" or ", conditions), _LOOSE
        case Boolean(value=truth):
            return str(truth), _ATOM
        case Window(ring=ring, spans=spans):
            return f"{ring.text}({_list(end for span in spans for end in span)})", _ATOM
        case Rows(ring=ring, position=position):
            return f"{ring.text}.rows[{position}]", _ATOM
        case Located(array=array, minima=minima):
            return f"buffer_at({text(array)}, ({_tuple([text(m) for m in minima])}))", _ATOM
        case Seen(array=array, factors=factors, extents=extents):
            return f"seen({text(array)}, {factors}, ({_tuple([text(e) for e in extents])}))", _ATOM
        case Sealed(array=array):
            return f"sealed({_new_view(array)})", _ATOM
        case ReadOnly(array=array):
            return f"read_only({array.text})", _ATOM
        case Extents(array=array):
            return f"{array.text}.shape", _ATOM
        case Stride(array=array, dim=dim):
            return f"{array.text}.strides[{dim}]", _ATOM
        case IsContiguous(array=array):
            return f"{array.text}.flags.carray", _ATOM
        case LaidBytes(extents=extents, strides=strides):
            shape, apart = (f"({_tuple([text(v) for v in values])})" for values in (extents, strides))
            layout = f"{value.buffer!r}, {value.itemsize}, {value.alignment}, {value.dims}"
            return f"laid_bytes({layout}, {shape}, {apart})", _ATOM
        case Range(first=first, stop=stop, step=step):
            return _range(first, stop, step), _ATOM
        case Portion(range=whole, begin=begin, end=end):
            ends = (_atom(e) if e is not None else "" for e in (begin, end))
            return f"{whole.text}[{':'.join(ends)}]", _ATOM
        case _:
            assert_never(value)


def _crop(crop: Crop) -> str:
    """A crop that is made in any case."""
    return f"{_atom(crop.array)}[{', '.join(map(_index, crop.spans))}]"


def _new_view(crop: Crop) -> str:
    """A crop that nobody else has: never the array itself."""
    if crop.is_all is None:
        return _crop(crop)
    # NumPy makes a view of all in a third of the time that it takes to read slices.
    return f"{_atom(crop.array)}.view() if {text(crop.is_all)} else {_crop(crop)}"


def _sum(value: Linear) -> _Text:
    constant, written = value.constant, ""
    if constant > 0 and value.terms[0][0] < 0:
        written, constant = str(constant), 0
    for c, term in value.terms:
        factor = "" if abs(c) == 1 else f"{abs(c)} * "
        sign = ("-" if c < 0 else "") if not written else (" - " if c < 0 else " + ")
        inner, strength = _written(term)
        if strength < _TERM or (strength < _ATOM and (factor or c < 0)):
            inner = f"({inner})"
        written += f"{sign}{factor}{inner}"
    if constant:
        written += f" {'-' if constant < 0 else '+'} {abs(constant)}"
    return written, _SUM if " " in written or written.startswith("-") else _ATOM


def _junction(word: str, conditions: Iterable[Value]) -> str:
    written = [_written(condition) for condition in conditions]
    return word.join(inner if strength >= _COMPARISON else f"({inner})" for inner, strength in written)


def _range(first: Value, stop: Value, step: Value) -> str:
    items = [text(first), text(stop)]
    if step != Integer(1):
        items.append(text(step))
    elif first == Integer(0):
        del items[0]
    return f"range({', '.join(items)})"


def _index(span: Span | At | None) -> str:
    """What stands for a dimension between the brackets of an array."""
    match span:
        case None:
            return ":"
        case At(position=position):
            return text(position)
        case Span():
            return _slice(span)
        case _:
            assert_never(span)


def _slice(span: Span) -> str:
    """A slice as a formatter would write it."""
    first, stop = "" if span.first == Integer(0) else text(span.first), text(span.stop)
    if " " not in first + stop:
        return f"{first}:{stop}"
    return f"{first} : {stop}" if first else f": {stop}"


def _list(values: Iterable[Value]) -> str:
    return ", ".join([text(value) for value in values])


def _shape(values: Sequence[Value]) -> str:
    return _list(values) or "()"


def _tuple(items: Sequence[str]) -> str:
    """Items as they stand between the brackets of a tuple."""
    return ", ".join(items) + "," * (len(items) == 1)


def _onward(windows: Onward) -> str:
    ends = [windows.first, windows.count, *([windows.step] if windows.step != Integer(1) else [])]
    return f"{windows.ring.text}.onward({_list(ends)})"


def _targets(names: Sequence[str]) -> str:
    """Names to assign the items of a tuple to."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _comment(title: str) -> str:
    """A title that may stand behind a `#`: one line of ASCII."""
    return " ".join(title.encode("ascii", "backslashreplace").decode().splitlines())
