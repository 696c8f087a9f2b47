"""What traced functions leave to other processes: schedules and compiled code, for those that must not make any.

Idea. An export is a folder: schedules as JSON, libraries with their C text, both named by what they depend on, and for
each function a page of contents, which is written last and replaced as a whole. A process that loads it traces the
function as ever, which takes milliseconds, and finds by the *program* that comes of it, and by the range of the sizes,
what it would have scheduled and compiled. Callbacks are those of its own trace: nothing of the export but the libraries
is ever run, and these are loaded by the rules of the cache (`slinky.native.compiling`): as a whole text, from where
nobody else can write.

Invariant: a function gives what it gives without an export, if the folder has what `export` wrote; else `load` refuses.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from slinky.errors import CompilationError, ExportError, FormatError, SlinkyError, cited
from slinky.frontend.captures import captured, name_of, source_of
from slinky.frontend.to_native import Runs
from slinky.ir.serialisation import program_from_json, program_to_numbered_json
from slinky.ir.statements import Program
from slinky.kept import as_path, is_of, replace, this_user
from slinky.pipeline import Pipeline

FORMAT = "slinky export"
VERSION = 1

_CONTENTS = ".contents.json"

NATIVE_PLANS = {"native": "NativePlan", "native-fast": "FastNativePlan", "native-exact": "ExactPlan"}


@attrs.frozen(eq=False)
class Asked:
    """What a function was asked for: its program before it was scheduled, the arrays in words, the range of the sizes;
    and the schedule, or None where the function is called as it is."""

    program: Program
    words: str
    sizes: str
    scheduled: Pipeline | None


def asked(
    pipeline: Pipeline, shapes: Sequence[tuple[int, ...]], scalars: Mapping[str, Any], scheduled: Pipeline | None
) -> Asked:
    """What a pipeline was asked for, on arrays of some shapes and scalars."""
    own = (*pipeline.program.inputs, *pipeline.program.outputs)
    words = ", ".join(f"{p.name}: {p.dtype}{list(shape)}" for p, shape in zip(own, shapes, strict=True))
    return Asked(pipeline.program, words, _sizes(shapes, scalars), scheduled)


def _sizes(arrays: Sequence[Any], scalars: Mapping[str, Any]) -> str:
    """The range of sizes of which one schedule is made, as a text."""
    return json.dumps(import_module("slinky.sched.auto_pipeline").range_of(arrays, scalars))


@attrs.frozen
class Settings:
    """What a schedule and its plan depend on beside the program: how the function was decorated, and its code. What it
    `carries` beside that, such as a closure, is in the program; so it tells pages apart, and stands against nothing."""

    name: str
    source: str
    backend: str
    options: str
    carries: str = ""

    @property
    def contents(self) -> str:
        """The name of the page of contents: a function that is decorated otherwise, or carries something else, has one
        of its own."""
        return f"{self._function}-{_digest(f'{self.backend} {self.options}{self.carries}')[:12]}{_CONTENTS}"

    @property
    def _function(self) -> str:
        """Its name; functions without one of their own (`lambda`) are told apart by their source."""
        own = f"{self.name} {self.source}" if "<lambda>" in self.name else self.name
        return f"{re.sub('[^A-Za-z0-9_]', '_', self.name)[-80:]}-{_digest(own)[:12]}"

    def page(self, folder: Path) -> Path:
        """The page of contents in a folder; if there is none, the last one of the same function: what it carries may be
        told otherwise here, and else `load` says what is otherwise."""
        own = folder / self.contents
        if os.path.exists(own) or not os.path.isdir(folder):
            return own
        return max(folder.glob(f"{self._function}-*{_CONTENTS}"), default=own, key=lambda page: page.stat().st_mtime_ns)


def settings_of(
    function: Callable[..., Any],
    carrier: Callable[..., Any],
    backend: str,
    options: Mapping[str, Any],
    others: object,
) -> Settings:
    """The settings of a function, and of what carries it with some of its arguments, or is the same."""
    said = {key: str(value) for key, value in sorted(options.items())}
    carries = captured(carrier)
    source = _digest(source_of(function))
    return Settings(name_of(function), source, backend, f"{said} {others}", _digest(carries) if carries else "")


# ----------------------------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------------------------


_CALL_BEFORE = "call it before, with arrays for which its trace is kept (explain(...) says what stands against that)"


def export(
    directory: str | os.PathLike[str], settings: Settings, asked: Sequence[Asked], loaded: Loaded | None
) -> tuple[str, ...]:
    """Write what a function was asked for, and what was loaded of it, if the same compiler makes both; the arguments
    for which there is something, in words.

    Raises `ExportError` where there is nothing to write or no place for it, `CompilationError` where C is wanted and
    there is no compiler, or it fails.
    """
    made_by = loaded.made_by if loaded is not None and not asked else _noting_compiler(settings)
    writing = _Writing(_made(_folder(directory)), settings, made_by)
    left = [f"{each.words}: {why}" for each in asked if (why := writing.add(each)) is not None]
    if loaded is not None and _is_same(loaded.made_by, made_by):
        writing.take(loaded)
    if not writing.entries:
        raise ExportError(f"there is nothing to export of {settings.name}: " + ("; ".join(left) or _CALL_BEFORE))
    writing.finish()
    return tuple(entry["for"] for entry in writing.entries)


def _folder(directory: object) -> Path:
    try:
        return as_path(directory)
    except TypeError as error:
        raise ExportError(f"an export has the name of a folder, got {cited(directory)}: {error}") from None


def _made(folder: Path) -> Path:
    """The folder, made if it is not there, in which nobody else can write."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            folder.chmod(0o755)
        if not folder.is_dir():
            raise ExportError(f"{folder} is no folder of yours alone: it is a file")
        if not is_of(folder, this_user()):
            raise ExportError(f"{folder} is no folder of yours alone: others could put code there")
    except OSError as error:
        raise ExportError(f"{folder} cannot be written to: {error}") from None
    return folder


class _Writing:
    """An export that is written."""

    def __init__(self, folder: Path, settings: Settings, made_by: Any) -> None:
        self.entries: list[dict[str, Any]] = []
        self._folder = folder
        self._settings = settings
        self._files: dict[str, str] = {}
        self._compiler = made_by

    def add(self, asked: Asked) -> str | None:
        """Write what belongs to an entry; why there is none, if it cannot be written."""
        try:
            text, callbacks = program_to_numbered_json(asked.program)
            scheduled = None
            if asked.scheduled is not None:
                schedule, _ = program_to_numbered_json(asked.scheduled.program, callbacks)
                scheduled = self._put(f"{_digest(schedule)}.json", schedule.encode())
                self._compile(asked.scheduled.program)
        except FormatError as error:
            return str(error)
        entry = {"for": asked.words, "program": _digest(text), "sizes": asked.sizes, "schedule": scheduled}
        self.entries.append(entry)
        return None

    def take(self, loaded: Loaded) -> None:
        """Write what was loaded, but for what has an entry."""
        known = {(entry["program"], entry["sizes"]) for entry in self.entries}
        further = [entry for entry in loaded.entries if (entry["program"], entry["sizes"]) not in known]
        schedules = {entry["schedule"] for entry in further}
        for name, data in loaded.files():
            if name in schedules or not name.endswith(".json"):
                self._put(name, data)
        self.entries += further

    def _compile(self, program: Program) -> None:
        if self._compiler is None:
            return
        _native_plan(self._settings.backend, program, self._compiler)
        for text, path in self._compiler.files.items():
            name = self._compiler.digest(text)
            self._put(f"{name}.c", text.encode())
            self._put(f"{name}.so", path.read_bytes())

    def _put(self, name: str, data: bytes) -> str:
        if self._files.get(name) is None:
            self._files[name] = hashlib.sha256(data).hexdigest()
            _replace(self._folder / name, data)
        return name

    def finish(self) -> None:
        """Write the page of contents."""
        made_by = self._compiler
        contents = {
            "format": FORMAT,
            "version": VERSION,
            "slinky": _version(),
            "settings": attrs.asdict(self._settings),
            "processor": None if made_by is None else _processor(),
            "compiler": None
            if made_by is None
            else {"command": made_by.command, "version": made_by.version, "flags": made_by.flags},
            "entries": self.entries,
            "files": self._files,
        }
        _replace(self._folder / self._settings.contents, json.dumps(contents, indent=1).encode())


def _noting_compiler(settings: Settings) -> Any:
    """What compiles the libraries of an export; None where none are wanted. Raises `CompilationError`."""
    if settings.backend not in NATIVE_PLANS:
        return None
    compiling = import_module("slinky.native.compiling")
    found = compiling.compiler()
    if found is None:
        raise CompilationError("there is no C compiler to export with; sl.jit(native=False) exports schedules alone")
    found = found.fast() if settings.backend == "native-fast" else found
    return compiling.Noting(found.command, found.version, found.flags)


def _is_same(compiler: Any, other: Any) -> bool:
    """Whether two compilers make the same libraries; also where none are wanted."""
    if compiler is None or other is None:
        return compiler is other
    pair = [(each.command, each.version, each.flags) for each in (compiler, other)]
    return pair[0] == pair[1]


def _native_plan(backend: str, program: Program, made_by: Any) -> Any:
    """The native plan of a program, made by a compiler of its own, ready to run."""
    plan = getattr(import_module("slinky.native.plans"), NATIVE_PLANS[backend])(program, made_by)
    plan.make_ready()
    return plan


def _replace(path: Path, data: bytes) -> None:
    """Write a file, which is there as a whole or not at all."""
    try:
        replace(path, data, 0o755 if path.suffix == ".so" else 0o644)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error}") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _version() -> str:
    return str(import_module("slinky").__version__)


def _processor() -> str:
    return _digest(import_module("slinky.native.compiling").processor())


# ----------------------------------------------------------------------------------------------------------------
# Reading
# ----------------------------------------------------------------------------------------------------------------


class Loaded:
    """What was exported of a function, and fits this process."""

    def __init__(self, directory: str | os.PathLike[str], settings: Settings) -> None:
        """Raises `ExportError` for what does not fit, or is not as it was written."""
        self._folder = _folder(directory)
        self._settings = settings
        try:
            self._page = settings.page(self._folder)
        except OSError as error:
            raise ExportError(f"{self._folder} cannot be read: {error}") from None
        contents = self._contents()
        self._texts = self._checked_files(_of_type(contents, "files", dict))
        self._digests: dict[str, Any] = contents["files"]
        self.made_by = self._compiler(contents)
        self.entries: list[dict[str, Any]] = _of_type(contents, "entries", list)
        self._entries: dict[tuple[str, str], str | None] = {}
        for entry in self.entries:
            name = entry["schedule"] if isinstance(entry, dict) and "schedule" in entry else ""
            if name is not None and not (isinstance(name, str) and name in self._texts):
                raise ExportError(f"{self._page} is damaged: it names a schedule that is not there")
            _of_type(entry, "for", str)
            self._entries[_of_type(entry, "program", str), _of_type(entry, "sizes", str)] = name

    def _contents(self) -> dict[str, Any]:
        """The page of contents."""
        if not os.path.exists(self._page):
            raise ExportError(f"{self._folder} has no export of {self._settings.name}")
        _require_ours(self._folder)
        data = _bytes(self._page)
        try:
            contents = json.loads(data)
        except (ValueError, RecursionError):
            raise ExportError(f"{self._page} is damaged: it is no JSON") from None
        if not isinstance(contents, dict) or contents.get("format") != FORMAT or contents.get("version") != VERSION:
            raise ExportError(f"{self._page} is no export that this slinky reads")
        self._require("slinky", contents.get("slinky"), _version(), "another version of slinky wrote it")
        own, given = attrs.asdict(self._settings), _of_type(contents, "settings", dict)
        for key, why in (
            ("name", "it is of another function"),
            ("source", "the source of the function was another one"),
            ("backend", "the function was decorated otherwise"),
            ("options", "the function was decorated otherwise"),
        ):
            self._require(key, given.get(key), own[key], why)
        return contents

    def _require(self, what: str, given: object, own: object, why: str) -> None:
        if given != own:
            raise ExportError(f"{self._page} does not fit: {why} ({what} is {given!r} there, {own!r} here)")

    def _checked_files(self, digests: dict[str, Any]) -> dict[str, str]:
        """The schedules by the names of their files, all files having been looked at."""
        found = {}
        for name, digest in digests.items():
            if not re.fullmatch(r"[0-9a-f]{64}\.(json|c|so)", name):
                raise ExportError(f"{self._page} is damaged: it names the file {name!r}")
            data = self._bytes_of(name, digest)
            if name.endswith(".json"):
                found[name] = data.decode()
        return found

    def _bytes_of(self, name: str, digest: object) -> bytes:
        """What is in a file of the export. Raises `ExportError` where that is not what was written."""
        data = _bytes(self._folder / name)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ExportError(f"{self._folder / name} is not what was exported")
        return data

    def files(self) -> Iterator[tuple[str, bytes]]:
        """All files, by their names, as they were exported. Raises `ExportError` where they are not any more."""
        for name, digest in self._digests.items():
            yield name, self._bytes_of(name, digest)

    def _compiler(self, contents: dict[str, Any]) -> Any:
        """What the libraries were compiled by; None where there are none."""
        if contents.get("compiler") is None:
            return None
        self._require("processor", contents.get("processor"), _processor(), "it was compiled for another processor")
        given = _of_type(contents, "compiler", dict)
        command, flags = (tuple(map(str, _of_type(given, key, list))) for key in ("command", "flags"))
        libraries = frozenset(item for item in _of_type(contents, "files", dict).items() if item[0].endswith(".so"))
        shipped: Any = import_module("slinky.native.compiling").Shipped
        return shipped(command, _of_type(given, "version", str), flags, self._folder, libraries)

    def find(self, pipeline: Pipeline, arrays: Sequence[Any], scalars: Mapping[str, Any]) -> tuple[bool, Runs | None]:
        """Whether there is something for a pipeline and such arrays; and what runs it, None where the function is
        called as it is."""
        try:
            text, callbacks = program_to_numbered_json(pipeline.program)
        except FormatError:
            return False, None
        key = _digest(text), _sizes(arrays, scalars)
        if key not in self._entries:
            return False, None
        name = self._entries[key]
        if name is None:
            return True, None
        try:
            scheduled = Pipeline(program_from_json(self._texts[name], callbacks))
        except SlinkyError as error:
            raise ExportError(f"{self._folder / name} cannot be used: {error}") from None
        if self.made_by is None:
            return True, scheduled.compile()
        found: Runs = _native_plan(self._settings.backend, scheduled.program, self.made_by)
        return True, found


def _require_ours(path: Path) -> None:
    """Raises `ExportError` if somebody else than the user and the administrator can write to it."""
    if not is_of(path, this_user() | {0}):
        raise ExportError(f"{path} is not loaded: others than you can write to it")


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ExportError(f"{path} is missing")
        _require_ours(path)
        return path.read_bytes()
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error}") from None


def _of_type(given: Any, key: str, kind: type) -> Any:
    found = given.get(key) if isinstance(given, dict) else None
    if not isinstance(found, kind):
        raise ExportError(f"the contents of the export are damaged: {key} is {found!r:.60}")
    return found
