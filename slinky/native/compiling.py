"""Compiling C: which compiler, how, and where what it made is kept.

Idea. A library is named by a digest of all that it depends on (its text, the compiler and its version, the flags, the
processor), so one that is there is right, and is found without starting a compiler. The text is kept beside it, with
the size and the digest of the library, and both are compared before a library is loaded: one that was cut short by a
full disk or a loss of power would end the process. What does not fit is compiled again.

Invariants: a library is there as a whole or not at all, also where several processes make it at the same time; and it
is loaded from no folder that somebody else can write to, as it is asked before each. Threads that want the same library
compile it once, and while they do, no lock is held that a fork waits for.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from slinky.errors import CompilationError
from slinky.kept import cache_folder, is_of, this_user
from slinky.native import commands
from slinky.native.background import BACKGROUND
from slinky.runtime import forks

FLAGS = (
    "-std=c11",
    "-O3",
    "-march=native",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=default",
    "-fwrapv",
    "-fopenmp-simd",
    "-DSLINKY_SIMD",
)
"""No contraction and integers that wrap, as NumPy computes; functions that can be found, whatever `$CC` asks for; loops
of known length are vectors (see `array_texts`)."""
WIDE_FLAGS = ("-mprefer-vector-width=512",)
"""What is asked for beside these where `has_wide_vectors`: compilers take half of that by themselves."""
FAST_FLAGS = ("-DSLINKY_FAST", "-ffp-contract=fast")
"""What is asked for beside these where results may be rounded otherwise: contraction."""
FAST_GCC_FLAGS = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-fno-trapping-math")
"""And sums in another order: of the compiler that the text can tell where not to do that."""
MOST_LIBRARIES = 1000
"""How many the folder keeps; those that have not been used for longest leave."""
ROOM = 1 << 20
"""Where there is room for so many bytes, a compiler that fails did not fail for want of it."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""What a disk says that is full, or is not to be written to, whatever folders and files there are."""
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
"""What it says where somebody has removed a folder meanwhile."""
LONGEST = 24 * 60 * 60
"""Nobody compiles one library for more seconds."""


@attrs.frozen
class Compiler:
    """A C compiler: the words by which it is called, what it says of its version, and the flags that it is given."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...] = attrs.field(factory=lambda: (*FLAGS, *(WIDE_FLAGS if has_wide_vectors() else ())))

    def fast(self) -> Compiler:
        """The same, asked for code that may round otherwise than NumPy does."""
        is_gcc = "gcc" in self.version.lower() or "free software foundation" in self.version.lower()
        return attrs.evolve(self, flags=(*self.flags, *FAST_FLAGS, *(FAST_GCC_FLAGS if is_gcc else ())))

    @property
    def makes_more(self) -> bool:
        """Whether it compiles what nobody has compiled before."""
        return True

    @property
    def makes_all(self) -> bool:
        """Whether what may be wanted some time is compiled, too."""
        return False

    def digest(self, text: str) -> str:
        """What a library of a text is named by: all that it depends on."""
        words = "\0".join([text, *self.command, self.version, *self.flags, processor(), *_sanitizers()])
        return hashlib.sha256(_in_bytes(words)).hexdigest()

    def file(self, text: str) -> Path:
        """The library of a text, which is compiled if it is not kept. Raises `CompilationError`."""
        folder, name = _folder(os.environ.get("SLINKY_CACHE")), f"{self.digest(text)}.so"
        path = folder / name
        if folder not in _full or _is_kept(text, path):
            try:
                _under_way.compiled(text, self, path)
                return path
            except NoRoomError:
                if folder == _usable_own_folder():
                    raise
                if folder.exists():
                    _full.add(folder)
        path = _usable_own_folder() / name
        _under_way.compiled(text, self, path)
        return path


@attrs.frozen(eq=False)
class Noting(Compiler):
    """A compiler that notes what it is asked for: the libraries by their texts. It is like no other one, so that it is
    asked for what another one has made, too."""

    files: dict[str, Path] = attrs.field(factory=dict)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def makes_all(self) -> bool:
        """At once, so that it is noted."""
        return True

    def file(self, text: str) -> Path:
        """The library of a text, which is noted."""
        path = self.files[text] = super().file(text)
        return path


@attrs.frozen
class Shipped(Compiler):
    """What a compiler has made elsewhere, in a folder: nothing more is compiled. The libraries have their names and
    digests of their own, by which one that was replaced since, by whoever can, is told before it is loaded."""

    folder: Path = Path()
    libraries: frozenset[tuple[str, str]] = frozenset()

    @property
    def makes_more(self) -> bool:
        """Never."""
        return False

    def file(self, text: str) -> Path:
        """The library of a text. Raises `NotShippedError` where there is none."""
        name = f"{self.digest(text)}.so"
        path = self.folder / name
        try:
            is_there = path.with_suffix(".c").read_bytes() == _in_bytes(text)
            is_there = is_there and (name, hashlib.sha256(path.read_bytes()).hexdigest()) in self.libraries
            if is_there and all(is_of(each, this_user() | {0}) for each in (self.folder, path)):
                return path
        except OSError:
            pass
        raise NotShippedError(f"{self.folder} has no library for what is to be computed")


class NotShippedError(CompilationError):
    """A library is asked for that was not compiled before."""


class NotKeptError(CompilationError):
    """Who asks for a library waits for no compiler, and none has made it before."""


class NoRoomError(CompilationError):
    """A folder takes no more."""


_full: set[Path] = set()
"""Folders that took no more: what is kept there is used, and nothing is compiled there in this process."""


def compiler() -> Compiler | None:
    """The C compiler of this machine: `$CC`, else `cc`, `gcc` or `clang`, else that of the extra `native`; None where
    there is none. Raises `CompilationError` where `$CC` is none."""
    return _compiler(os.environ.get("CC", "").strip())


@cache
def _compiler(asked: str) -> Compiler | None:
    if asked:
        return _compiler_asked_for(asked)
    candidates: list[tuple[str, ...]] = [("cc",), ("gcc",), ("clang",)]
    if importlib.util.find_spec("ziglang") is not None:
        candidates.append((sys.executable, "-m", "ziglang", "cc"))
    for command in candidates:
        if shutil.which(command[0]):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                return Compiler(command, _version(command))
    return None


def _compiler_asked_for(asked: str) -> Compiler:
    """The compiler that `$CC` says. Raises `CompilationError`, with what the command says, if it is none."""
    what = f"CC says {asked!r}, which is no C compiler that can be run"
    try:
        command = tuple(shlex.split(asked))
        return Compiler(command, _version(command))
    except subprocess.CalledProcessError as error:
        told = "\n".join(each.strip() for each in (error.stderr, error.stdout) if each.strip())
        raise CompilationError(f"{what}: {shlex.join(error.cmd)} failed ({error.returncode}):\n{told}") from None
    except (OSError, ValueError, subprocess.SubprocessError) as error:  # or words that no shell would take
        raise CompilationError(f"{what}: {error}") from None


def _version(command: tuple[str, ...]) -> str:
    """What a compiler says of its version."""
    words = [*command, "--version"]
    done = commands.run(words, seconds=60)
    if done.code:
        raise subprocess.CalledProcessError(done.code, words, done.stdout, done.stderr)
    return done.stdout


def library(text: str, made_by: Compiler) -> ctypes.CDLL:
    """The library of a C file: compiled, or as it was kept.

    Raises `CompilationError`, with what the compiler says, if it does not compile the text or what it made cannot be
    loaded; its functions do so where it does not show them.
    """
    path = made_by.file(text)
    if made_by.makes_more:
        with contextlib.suppress(OSError):
            os.utime(path)
        with contextlib.suppress(OSError):
            return _Library(str(path))
        _forget(path)  # it was compiled where other libraries are installed, perhaps, in a folder that machines share
        path = made_by.file(text)
    try:
        return _Library(str(path))
    except OSError as error:
        missing = re.search(r"undefined symbol: (\w+)", str(error))
        why = f"nothing in it defines {missing[1]!r}, which it uses" if missing else str(error)
        raise CompilationError(f"what {made_by.command[0]} compiled cannot be loaded: {why}") from None


class _Library(ctypes.CDLL):
    """One whose functions may be missing: `$CC` may ask for other names, or to leave out what nothing uses."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            if name.startswith("__"):
                raise
            raise CompilationError(f"what was compiled shows no function {name!r}: {error}") from None


_waits_for_none = ContextVar("slinky_waits_for_no_compiler", default=False)


@contextlib.contextmanager
def waiting_for_none() -> Iterator[None]:
    """Libraries are loaded that are kept, for others `NotKeptError` is raised."""
    before = _waits_for_none.set(True)
    try:
        yield
    finally:
        _waits_for_none.reset(before)


class _UnderWay:
    """The libraries that threads of this process compile now."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._ends: dict[Path, threading.Event] = {}

    def compiled(self, text: str, made_by: Compiler, path: Path) -> None:
        """Compile a library, or wait for another thread that does. Raises `CompilationError`."""
        while not _is_kept(text, path):
            if _waits_for_none.get():
                raise NotKeptError(f"{path} is not there")
            with self._lock:
                other = self._ends.get(path)
                if other is None:
                    own = self._ends[path] = threading.Event()
            if other is not None:
                other.wait()  # if it fails there, it is tried here, and says so
                continue
            try:
                if path.is_dir() or path.with_suffix(".c").is_dir():
                    _forget(path)
                _compile(text, made_by, path)
                _forget_old(path.parent)
                return
            finally:
                with self._lock:
                    self._ends.pop(path, None)
                own.set()

    def in_child(self) -> None:
        """In a forked child, no other thread compiles."""
        self._ends.clear()


_under_way = _UnderWay()
forks.after_fork_in_child(_under_way.in_child)


def _is_kept(text: str, path: Path) -> bool:
    """Whether a library is there, as it was compiled from this text, and nobody else can have written to it."""
    try:
        beside = path.with_suffix(".c")
        is_there = path.is_file() and beside.is_file() and is_of(path, this_user())  # of a pipe, reading has no end
        return is_there and beside.read_bytes() == _kept_text(text, path.read_bytes())
    except OSError:
        return False


def _kept_text(text: str, made: bytes) -> bytes:
    """What is kept beside a library: the text that it was made of, and in one file with it, so that the one is not
    there without the other, what is told of the library itself."""
    told = f"\n/* the library: {len(made)} bytes, SHA-256 {hashlib.sha256(made).hexdigest()} */\n"
    return _in_bytes(text + told)


def _in_bytes(text: str) -> bytes:
    """A text as it is in files, wherever the process runs."""
    return text.encode(errors="surrogatepass")


_REQUIRED = """
#ifdef __cplusplus
#error this is C, and the compiler is one of C++: it would give functions other names
#endif
#if defined __FAST_MATH__ || defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__
#error the compiler is asked for -ffast-math or a part of it, by which results are others, here and elsewhere
#elif !defined SLINKY_FAST && (defined __ASSOCIATIVE_MATH__ || defined __RECIPROCAL_MATH__ \
                               || defined __NO_SIGNED_ZEROS__ || defined __NO_TRAPPING_MATH__)
#error the compiler is asked for a part of -ffast-math, by which results are others, here and elsewhere
#endif
#if __FLT_EVAL_METHOD__ < 0 || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2
#error the compiler is asked to compute with other numbers than the text says, by which results are others
#endif
_Static_assert(sizeof 1.0 == sizeof(double), "the compiler is asked to read numbers of the text as shorter ones");
_Static_assert(sizeof(struct { char *a; int b; char *c; }) % sizeof(char *) == 0,
               "the compiler is asked to pack structs, which arrays of NumPy are not");
#if defined __GNUC__ && !defined __clang__ && defined __x86_64__ && !defined _WIN32
_Static_assert(__builtin_types_compatible_p(void (*)(int), void (__attribute__((sysv_abi)) *)(int)),
               "the compiler is asked to call functions as another system does, and not as this one");
#endif
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
"""
"""Stands behind each text that is compiled: who asks for faster results says `fast=True`."""

_SANITIZERS = {"asan": "ADDRESS", "tsan": "THREAD"}
"""Those whose runtime ends a process that did not begin with it: its name, and that of what is asked for."""


@cache
def _sanitizers() -> tuple[str, ...]:
    """Those whose runtimes this process began with, as `LD_PRELOAD` lets it."""
    process = ctypes.CDLL(None) if os.name == "posix" else None
    return tuple([name for name in _SANITIZERS if hasattr(process, f"__{name}_init")])


def _required() -> str:
    """What a compiler must not be asked for, in its own words."""
    others = [what for name, what in _SANITIZERS.items() if name not in _sanitizers()]
    return _REQUIRED + "".join(
        f"#if defined __SANITIZE_{what}__ || __has_feature({what.lower()}_sanitizer)\n"
        f"#error the compiler is asked for -fsanitize={what.lower()}, whose runtime ends processes "
        "that began without it\n"
        "#endif\n"
        for what in others
    )


def _compile(text: str, made_by: Compiler, path: Path) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=path.parent.absolute(), prefix="making-") as making:
            source, made = Path(making) / "kernel.c", Path(making) / "kernel.so"
            source.write_bytes(_in_bytes(text + _required()))
            try:
                _run([*made_by.command, *made_by.flags, "-o", str(made), str(source), "-lm"], made)
            except CompilationError:
                _require_room(Path(making))  # compilers have words of their own for that
                raise
            source.write_bytes(_kept_text(text, made.read_bytes()))
            for each, mode in ((source, 0o600), (made, 0o700)):
                _write_through(each, mode)
            os.replace(source, path.with_suffix(".c"))
            os.replace(made, path)
    except OSError as error:
        kind = NoRoomError if error.errno in _NO_ROOM | _GONE else CompilationError
        raise kind(f"what is compiled cannot be kept in {path.parent}: {error}") from None


def _require_room(folder: Path) -> None:
    """Raises `OSError` where a folder takes no library."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(ROOM))
        file.flush()
        os.fsync(file.fileno())


def _run(command: list[str], made: Path) -> None:
    """Make a library by a command. Raises `CompilationError`."""
    try:
        done = BACKGROUND.run(command) if BACKGROUND.is_here() else commands.run(command)
    except OSError as error:
        raise CompilationError(f"{shlex.join(command)} cannot be run: {error}") from None
    if done.code or not made.exists():
        raise CompilationError(f"{shlex.join(command)} failed:\n{done.words()}")


def _write_through(path: Path, mode: int) -> None:
    """Let a file be on the disk before it gets its name; with this mode, whatever the process gives to files."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
    path.chmod(mode)


def _forget(path: Path) -> None:
    """Keep a library no longer. Who has loaded it goes on with it."""
    for each in (path, path.with_suffix(".c")):
        _remove(each)


def _remove(path: Path) -> None:
    """Remove a file, or a folder with what is in it, as far as that can be."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _forget_old(folder: Path) -> None:
    """Keep no more than so many libraries, and nothing of processes that ended while they compiled: neither what they
    made, nor a text beside which there is no library yet."""
    with contextlib.suppress(OSError):
        made = set(folder.glob("*.so"))
        alone = [each for each in folder.glob("*.c") if each.with_suffix(".so") not in made]
        for each in (*folder.glob("making-*"), *alone):
            if each.stat().st_mtime < time.time() - LONGEST:
                _remove(each)
    with contextlib.suppress(OSError):
        libraries = sorted(folder.glob("*.so"), key=lambda each: each.stat().st_mtime)
        for each in libraries[:-MOST_LIBRARIES]:
            _forget(each)


def _folder(given: str | None) -> Path:
    """A folder that only this user can write to, as is asked each time: the cache folder's, or where that is not to be
    had, one of this process."""
    folder = cache_folder(given) / "native"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder if _is_ours(folder) else _usable_own_folder()


def _usable_own_folder() -> Path:
    """The folder of this process, anew where somebody has removed it."""
    if not _is_ours(_own_folder()):
        _own_folder.cache_clear()
    return _own_folder()


def _is_ours(folder: Path) -> bool:
    """Whether this user alone can write to a folder, and libraries can be loaded from it."""
    with contextlib.suppress(OSError):
        is_writable = folder.is_dir() and os.access(folder, os.W_OK)
        return is_writable and is_of(folder, this_user()) and not _is_for_data_alone(folder)
    return False


def _is_for_data_alone(folder: Path) -> bool:
    """Whether nothing on the disk of a folder may be run, as administrators can say."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


@cache
def _own_folder() -> Path:
    """A folder of this process, which is there until that ends. Raises `NoRoomError`."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="slinky-native-"))
    except OSError as error:
        raise NoRoomError(
            f"what is compiled cannot be kept: neither in {cache_folder(os.environ.get('SLINKY_CACHE'))}, nor in a "
            f"temporary folder: {error}"
        ) from None
    atexit.register(_remove_at_exit, folder, os.getpid())
    return folder


def _remove_at_exit(folder: Path, process: int) -> None:
    """Remove the folder of a process that ends; not in a forked child, which shares it."""
    if os.getpid() == process:
        BACKGROUND.end()  # what still compiles would write to it
        shutil.rmtree(folder, ignore_errors=True)


def has_wide_vectors() -> bool:
    """Whether this processor runs vectors of 64 bytes as fast as it can: those before, whose AVX-512 lacks VBMI2, run
    slower while there are any."""
    return not {"avx512f", "avx512vl", "avx512_vbmi2"}.difference(processor().split())


@cache
def processor() -> str:
    """What tells processors apart that share a folder: what they can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    told = next(([line] for line in lines if line.startswith(("flags", "Features"))), [])
    return " ".join([platform.machine(), *(told or [platform.processor()])])  # the last one starts a process
