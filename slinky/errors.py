"""Every exception that slinky raises on purpose, in one hierarchy, and the categories of its warnings.

A message says what was expected, what was given, and where. Several classes also derive from the built-in
exception that a Python programmer would expect (`TypeError`, `ValueError`), so that ordinary handlers work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Protocol


def cited(value: object) -> str:
    """What a user gave, as a message cites it: by its `repr`, or, where it has none, by its class.

    So lists in thousands of lists and integers of thousands of digits, which Python does not write, have messages, too.
    """
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


class SlinkyError(Exception):
    """The root of all slinky errors. What it says quotes no more of a huge value than its beginning and its end."""

    def __str__(self) -> str:
        return _in_short(super().__str__())


class ExpressionError(SlinkyError, ValueError):
    """An integer expression cannot be evaluated: a symbol has no value, or a divisor is zero."""


class GraphError(SlinkyError, ValueError):
    """A graph of funcs and buffers is not a pipeline. Raised when it is built, before anything runs."""


class DeclarationError(SlinkyError, ValueError):
    """What the author of a func declares of it is shown not to hold; the message says where."""


class UnusedInputWarning(UserWarning):
    """A pipeline has inputs that no output needs: their arrays are asked for, checked, and not looked at."""


class TuningWarning(UserWarning):
    """`tune` was interrupted, and keeps the fastest schedule so far; or what it chose cannot be written to its file."""


class TracingError(SlinkyError, ValueError):
    """A function cannot be traced as asked: it writes to its arguments, draws random numbers, or, where this was to be
    refused, does what is not understood. The message names the operation and its line."""


class TensorError(SlinkyError, ValueError):
    """An operation on tensors cannot be written as asked. Raised when it is written, before anything runs."""


class TensorSizeError(TensorError):
    """Sizes of tensors do not fit, or are not determined; the message has the equations, and what was given."""


class DimensionError(TensorError, AttributeError):
    """A dimension is asked for by a name that none has."""


class ForcedValueWarning(UserWarning):
    """A traced function asks for values while it is traced, so that it is traced again at each call."""


class ProgramError(SlinkyError, ValueError):
    """A program is not well formed. Raised by `verify`."""


class FormatError(SlinkyError, ValueError):
    """A text is no pipeline as `to_json` writes them, or a pipeline cannot be written so.

    `where` is the place: in a text, such as `program.body[3].box`; in a pipeline, such as `func blur`.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.where = where

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str]]:
        return (FormatError, (str(self), self.where))


class MissingCallbackError(SlinkyError, LookupError):
    """A text names callbacks that were not given; `names` are all of these."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.names = tuple(names)

    def __str__(self) -> str:
        given = ", ".join(f"{name!r}: ..." for name in self.names)
        callbacks = f"{len(self.names)} more callback{'' if len(self.names) == 1 else 's'}"
        return f"from_json() needs {callbacks}, by name: callbacks={{{given}}}"


class ArgumentError(SlinkyError, ValueError):
    """The arguments given to a pipeline do not fit its parameters. No callback has run."""


class CheckFailedError(ArgumentError):
    """A `check` of the program does not hold for the arguments given. No callback has run."""


class NumberError(ArgumentError, OverflowError):
    """A number of a run is not among the values of the dtype that arithmetic takes it as. No callback has run, if it is
    a scalar as it was given."""


class ExecutionError(SlinkyError, RuntimeError):
    """A statement cannot be carried out as written, for example because a region leaves its buffer."""


class StorageError(ExecutionError, MemoryError):
    """There is no memory for an intermediate, or the system cannot map it; the message says which, and how much."""


class UninitializedReadError(ExecutionError):
    """Checked mode only: a call reads an element that was never written."""


class OverwrittenReadError(ExecutionError):
    """Checked mode only: a call reads an element whose storage now holds another coordinate (a fold too small)."""


class RaceError(ExecutionError):
    """Checked mode only: iterations of a parallel loop, or overlapping stages of a pipelined one, touch the same
    element, and one of them writes it."""


class MissingExtraError(SlinkyError, ImportError):
    """Something needs a package that is not installed; the message names the extra that brings it."""

    def __init__(self, what: str, extra: str, package: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install 'slinky[{extra}]'")


class CompilationError(SlinkyError):
    """A C compiler failed, or what it made cannot be loaded; the message has what the compiler says, all of it."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class MissingCompilerWarning(UserWarning):
    """A native plan found no C compiler, and runs as a Python plan does."""


class CompilationFailedWarning(UserWarning):
    """A C compiler failed in the background: what was to move to C stays with NumPy's loops."""


class ExportError(SlinkyError, ValueError):
    """What a function was exported to cannot be used here, or something cannot be exported; the message says why."""


class CallbackError(ExecutionError):
    """A callback broke its contract, for example by returning an array instead of writing to its output."""


class RewritingError(SlinkyError):
    """What operations on pipelines raise: it says which operation, and which ones that one was used in.

    `operation` is the name of the operation, an empty string outside of all; `within` names the operations around it,
    innermost first.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.operation = ""
        self.within: list[str] = []

    def leave(self, operation: str) -> None:
        """Take note that the error leaves an operation."""
        if self.operation:
            self.within.append(operation)
        else:
            self.operation = operation

    def __str__(self) -> str:
        return self._text(super().__str__())

    def _text(self, what: str, details: str = "") -> str:
        what = _in_short(what)
        head = f"{self.operation}: {what}" if self.operation else what
        return head + details + (f"\nin {', in '.join(self.within)}" if self.within else "")


class InvalidCursorError(RewritingError, ValueError):
    """A cursor cannot be used here: its statement is gone, or it belongs to a version that is no ancestor."""


class NoPlaceError(InvalidCursorError, AttributeError):
    """An `InvalidCursor` was asked for what only a place has, such as its name."""


class PatternError(RewritingError, LookupError):
    """A pattern is not understood, finds nothing, or could mean several things."""


class Attempt(Protocol):
    """The operation that was refused, with its pipeline and arguments: who can try what may help."""

    @property
    def pipeline(self) -> object:
        """The pipeline that it was given."""

    def advice(self, remedies: Sequence[object]) -> tuple[str, str]:
        """Words on the first remedy that is accepted, and its code; empty if none is."""


class SchedulingError(RewritingError, ValueError):
    """A primitive refused to rewrite a pipeline, which is as it was.

    `operation` is the name of the primitive, `reason` why it refused, `place` the cursor at the place (or None), in the
    pipeline given or in the one that it would have become, `condition` what could not be proved (or None), `example` a
    small run in which it goes wrong, `hint` what would help and `remedy` the code of that (or empty strings).

    The parts are put together only when somebody reads them, so that a refusal is cheap for a schedule that searches.
    A remedy has then been tried on the pipeline that was refused, `attempt.pipeline`: the code of a hint works there.
    That is the pipeline which an operation of slinky was given that is made of others, such as `strips`; in one of a
    user's own, it is what the step in it was given.
    """

    def __init__(
        self,
        reason: str | Callable[[], str],
        *,
        place: object = None,
        condition: object = None,
        example: Callable[[], str] | None = None,
        hint: str | Callable[[], str] = "",
        remedies: Callable[[], Sequence[object]] | None = None,
    ) -> None:
        super().__init__()
        self._reason = reason
        self._example: str | Callable[[], str] = "" if example is None else example
        self._hint = hint
        self._remedies = remedies
        self._advice: tuple[str, str] | None = None
        self.place = place
        self.condition = condition
        self.attempt: Attempt | None = None

    @property
    def reason(self) -> str:
        """Why the primitive refused."""
        if not isinstance(self._reason, str):
            self._reason = self._reason()
        return self._reason

    @property
    def example(self) -> str:
        """A run on small arrays in which what the primitive would have made goes wrong, if one is found."""
        if not isinstance(self._example, str):
            self._example = self._example()
        return self._example

    @property
    def hint(self) -> str:
        """What would help: words, and code if a remedy is known and accepted."""
        words, code = self._advised()
        if code:
            return f"{words}:\n{indent(code, '  ')}"
        return self._hint if isinstance(self._hint, str) else self._hint()

    @property
    def remedy(self) -> str:
        """The code of the hint, for the pipeline `p` that was refused and slinky as `sl`; it has been tried."""
        return self._advised()[1]

    def remedies(self) -> Sequence[object]:
        """What may help, best first; not tried yet."""
        return () if self._remedies is None else self._remedies()

    def _advised(self) -> tuple[str, str]:
        if self._advice is None:
            self._advice = ("", "") if self.attempt is None else self.attempt.advice(self.remedies())
        return self._advice

    def __str__(self) -> str:
        condition = "" if self.condition is None else str(self.condition)
        # Where it is known to go wrong, or a condition never holds, nothing is left to show.
        is_open = condition not in ("", "False") and not self.example
        details = f"\nnot shown: {condition}" if is_open else ""
        details += f"\nfor example: {self.example}" if self.example else ""
        details += f"\nhint: {self.hint}" if self.hint else ""
        text = self._text(self.reason, details)
        if self.place is None:
            return text
        return f"{text}\nat:\n{_quoted(str(self.place), max(_LONGEST_MESSAGE - len(text), _SHORTEST_QUOTE))}"

    def __reduce__(self) -> tuple[type[SlinkyError], tuple[str]]:
        return (SchedulingError, (str(self),))


_LONGEST_MESSAGE, _SHORTEST_QUOTE = 1000, 250
"""How long a message may be for its place to be shown with all that is around it, and what a place has in any case."""

_LONGEST_LINE = 160
"""How long a line is at most where not all of what is around a place is shown."""


def _quoted(place: str, most: int) -> str:
    """The place as it is shown, and no more of what is around it than fits: lines by turns before and behind it.

    Lines that do not begin with blanks are the place: those of its statements, and what it is of the statement.
    """
    if len(place) <= most:
        return place
    lines = [_shortened(line) for line in place.split("\n")]
    marked = [n for n, line in enumerate(lines) if not line.startswith("  ")] or [0]
    shown = {0, marked[0], marked[-1]}
    left = most - sum(len(lines[n]) + 1 for n in shown) - 3 * (len(_LEFT_OUT) + 1)
    for distance in range(1, len(lines)):
        for n in {marked[0] - distance, marked[0] + distance} & set(range(len(lines))) - shown:
            left -= len(lines[n]) + 1
            if left >= 0:
                shown.add(n)
        if left < 0:
            break
    text: list[str] = []
    for n, line in enumerate(lines):
        if n in shown:
            text.append(line)
        elif text[-1] != _LEFT_OUT:
            text.append(_LEFT_OUT)
    return "\n".join(text)


_LEFT_OUT = "    ..."


_MOST_SHOWN, _FIRST_SHOWN, _LAST_SHOWN = 2000, 1500, 400
"""How long a message is at most, and how much is shown of the beginning and of the end of a longer one."""


def _in_short(text: str) -> str:
    """A message that quotes no long values: of one that does, how it begins and how it ends."""
    if len(text) <= _MOST_SHOWN:
        return text
    left = len(text) - _FIRST_SHOWN - _LAST_SHOWN
    return f"{text[:_FIRST_SHOWN]} ... ({left:,} characters left out) ... {text[-_LAST_SHOWN:]}"


def _shortened(line: str) -> str:
    """A line that is not too long: of a longer one, how it begins and how it ends."""
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE * 2 // 3]} ... {line[-_LONGEST_LINE // 4 :]}"


class AnnotationError(SchedulingError):
    """What a user wrote on a func or buffer of how it shall run is refused when a pipeline is built.

    `subject` is the func or buffer, as in "func 'add'", `annotation` what was written on it, as in
    "compute_at(stencil, y)"; `reason` says why it is refused, and the rest what the primitive that refused it said.
    """

    def __init__(self, subject: str, annotation: str, refused: str | RewritingError) -> None:
        self.subject, self.annotation = subject, annotation
        of = refused if isinstance(refused, SchedulingError) else None
        why = of.reason if of is not None else str(refused)
        super().__init__(
            f"{subject}: {annotation} is refused: {why}",
            place=None if of is None else of.place,
            condition=None if of is None else of.condition,
            example=None if of is None else lambda: of.example,
        )


class OperationError(RewritingError, TypeError):
    """An operation on pipelines was given arguments of the wrong kind, or is itself not written as one."""
