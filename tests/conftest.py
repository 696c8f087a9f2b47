"""Settings for all tests, and the second judge on every rewrite that they make.

The usual suite has every check, on a covering selection of the cases of sweeps (see `sweeps`) and some examples of each
property. `--long` is for the rest, which repeats: all cases, and many examples.

Property tests try the same examples on every run, so that a change of the code is the only thing that can turn a test
red. `HYPOTHESIS_PROFILE=thorough` tries very many, and other ones each time; `--fuzz` goes on for as long as it is told
to (`fuzzing`). How many a property needs is said as a multiple of the profile's.

Many tests collect garbage, to see that memory is given back. That takes as long as there are objects to look at, so
what stays anyway is not looked at: what importing has made, and what a module leaves, once its caches are empty and its
garbage is collected. By itself, Python looks for garbage less often than usual.

Every operation on pipelines, whether of the package or made by a test, is judged wherever it is applied
(`second_judge`). `--judge` prints what was judged, and what it cost; `--refusals` which refusals of the primitives were
met. Where several processes share the tests, the numbers of all are added up.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import fuzzing
import judge_hook
import pytest
from hypothesis import HealthCheck, settings
from sweeps import left_out

# ----------------------------------------------------------------------------------------------------------------
# Property tests
# ----------------------------------------------------------------------------------------------------------------

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("default", derandomize=True, database=None, max_examples=20, **_COMMON)
settings.register_profile("long", derandomize=True, database=None, max_examples=240, **_COMMON)
settings.register_profile("fuzz", derandomize=False, max_examples=fuzzing.ROUND, print_blob=True, **_COMMON)
settings.register_profile("thorough", derandomize=False, max_examples=3000, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# ----------------------------------------------------------------------------------------------------------------
# Importing
# ----------------------------------------------------------------------------------------------------------------

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""What is imported is compiled once, and not by each of the processes that run the tests, or that tests start."""


def pytest_collection(session: pytest.Session) -> None:
    """Where several processes collect all tests, each imports another part of them first: what one compiles, which
    takes long for the sake of assertions, the others find. What cannot be imported is told when it is collected."""
    given = getattr(session.config, "workerinput", None)
    if given is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, count = int(given["workerid"].removeprefix("gw")), given["workercount"]
    for file in sorted(Path(__file__).parent.glob("test_*.py"))[number::count]:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(file.stem)


# ----------------------------------------------------------------------------------------------------------------
# Compilers
# ----------------------------------------------------------------------------------------------------------------

os.environ.setdefault("SLINKY_NATIVE", "0")
"""Traced functions start no compilers by themselves, but in the tests of that."""

os.environ.setdefault("SLINKY_KEPT", "0")
"""Nothing is read that other tests have found out, or other runs of them, but in the tests of that."""

# ----------------------------------------------------------------------------------------------------------------
# What runs, and in which order
# ----------------------------------------------------------------------------------------------------------------


IN_ONE_PROCESS = ("test_typing.py", "test_examples.py", "test_benchmarks.py")
"""The files whose tests share what takes long to make: all of a file run in one process."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what was asked for, leave out what only `--long` runs. What takes longest comes first: where several processes
    share the tests, none waits for it at the end."""
    if config.getoption("--fuzz") is not None:
        config.hook.pytest_deselected(items=[item for item in items if not fuzzing.is_property(item)])
        items[:] = filter(fuzzing.is_property, items)
    elif not config.getoption("--long"):
        skipped = left_out(items)
        config.hook.pytest_deselected(items=[item for item in items if item in skipped])
        items[:] = [item for item in items if item not in skipped]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Go on with a property for as long as was asked for."""
    seconds = pyfuncitem.config.getoption("--fuzz")
    if seconds is None:
        return None
    pyfuncitem.user_properties.append(("rounds", fuzzing.run_in_rounds(pyfuncitem, seconds)))
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of `--dist loadgroup`, which takes the files that stay together for groups, too.

    It reads groups off the names of tests, where processes of pytest 9.2 do not write them.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0].rpartition("/")[2]
            return file if file in IN_ONE_PROCESS else str(super()._split_scope(nodeid))

        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            """How many tests a process has yet to run. It runs groups in the order in which it is given them, so these
            are behind the last one that is done: to count in all would take the longer the more are."""
            groups = (list(group.values()).count(False) for group in reversed(workload.values()))
            return sum(itertools.takewhile(bool, groups))

    return ByFile(config, log)


# ----------------------------------------------------------------------------------------------------------------
# Garbage
# ----------------------------------------------------------------------------------------------------------------


def pytest_collection_finish() -> None:
    """What importing has made is no garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def forget() -> Iterator[None]:
    """Empty the caches of slinky's modules when the tests of a module have run; not those without a limit, which make
    one object of each kind. What stays then is looked at no more."""
    yield
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "slinky":
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper) and value.cache_info().maxsize is not None:
                    value.cache_clear()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def own_libraries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a module compiles is no other's, and no other run's: in a folder of its own, where the processes that share
    its tests find what one of them has made. They are linked quickly: see `_linked_quickly`."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of the folders of the processes
    with pytest.MonkeyPatch.context() as patch, _flags(lambda flags: (*flags, *_linked_quickly())):
        patch.setenv("SLINKY_CACHE", str(base / f"compiled-{request.module.__name__}"))
        yield


@pytest.fixture(scope="module")
def quick_libraries(own_libraries: None) -> Iterator[None]:
    """The same, made quickly: no test of these asks how fast they are."""
    with _flags(lambda flags: tuple("-O1" if flag == "-O3" else flag for flag in flags)):
        yield


def _linked_quickly() -> tuple[str, ...]:
    """What GCC is told on Linux, where a linker takes a third of the time that a small library takes: not to look into
    the C library, which the process has loaded already, nor for what is to be optimized now, of which there is nothing.
    The machine code is the same; a function that is missing then is an error when the library is loaded."""
    from slinky.native import compiling

    found = compiling.compiler()
    is_gcc = found is not None and "Free Software Foundation" in found.version
    return ("-nostdlib", "-fno-use-linker-plugin") if is_gcc and sys.platform == "linux" else ()


@contextlib.contextmanager
def _flags(changed: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Iterator[None]:
    """Let other flags be given to the compiler."""
    from slinky.native import compiling

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "FLAGS", changed(compiling.FLAGS))
        compiling._compiler.cache_clear()
        found = compiling.compiler()
        assert found is None or found.flags[: len(compiling.FLAGS)] == compiling.FLAGS
        yield
    compiling._compiler.cache_clear()


# ----------------------------------------------------------------------------------------------------------------
# The second judge
# ----------------------------------------------------------------------------------------------------------------

judge_hook.install()


@pytest.fixture
def keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Schedules and plans are kept in a folder of the test's own, which is this one."""
    monkeypatch.setenv("SLINKY_KEPT", "1")
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def moves_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced functions move to C after their first call, and pipelines and libraries are nobody else's."""
    from slinky.frontend import choosing, to_native, tracing
    from slinky.native.background import BACKGROUND

    if (thread := BACKGROUND._thread) is not None:
        thread.join(60)  # what other tests have left to compile is theirs
    monkeypatch.setenv("SLINKY_NATIVE", "1")
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(to_native, "PATIENCE", 0.0)
    monkeypatch.setattr(choosing, "PLANS", tracing.Plans())
    monkeypatch.setattr(to_native, "_progress", WeakKeyDictionary())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for what is run, and for what is reported at the end."""
    parser.addoption("--long", action="store_true", help="run all cases of sweeps, and many examples of properties")
    parser.addoption("--fuzz", type=float, metavar="SECONDS", help="run properties alone, so long each")
    parser.addoption("--judge", action="store_true", help="report what the second judge has judged")
    parser.addoption("--refusals", action="store_true", help="report which refusals were met")


def pytest_configure(config: pytest.Config) -> None:
    """Draw many examples, and count refusals, where that is asked for."""
    if config.getoption("--fuzz") is not None:
        settings.load_profile("fuzz")
    elif config.getoption("--long"):
        settings.load_profile("long")
    judge_hook.notes_refusals = config.getoption("--refusals")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process that ran a share of the tests tells what it counted."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        from refusals import MET
        from second_judge import TALLY

        output["judged"] = TALLY.numbers()
        output["met"] = [[*pair, count] for pair, count in MET.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up what the processes have counted."""
    output = getattr(node, "workeroutput", {})
    if "judged" in output:
        from refusals import MET
        from second_judge import TALLY

        TALLY.add(output["judged"])
        MET.update(Counter({(primitive, kind): count for primitive, kind, count in output["met"]}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report what was asked for."""
    if config.getoption("--fuzz") is not None:
        terminalreporter.section(f"{fuzzing.ROUND} examples a round, or a multiple of that")
        reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
        for report in sorted(reports, key=lambda report: report.nodeid):
            rounds = dict(report.user_properties).get("rounds", "it failed")
            terminalreporter.line(f"{rounds!s:>10}  {report.nodeid}")
    if config.getoption("--judge"):
        from second_judge import TALLY

        terminalreporter.section("second judge")
        terminalreporter.line(TALLY.text())
    if config.getoption("--refusals"):
        from refusals import report

        terminalreporter.section("refusals")
        terminalreporter.line(report())


# ----------------------------------------------------------------------------------------------------------------
# Plan trees
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="session")
def _plan_trees_are_checked() -> Iterator[None]:
    """Every plan tree that a test makes keeps to what all trees keep to."""
    from plan_invariants import check_tree

    from slinky.runtime import plan
    from slinky.runtime.codegen import generator

    def checked(program: Any, kind: Any) -> Any:
        tree = generator.plan_tree(program, kind)
        check_tree(tree)
        return tree

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "plan_tree", checked)
        yield
