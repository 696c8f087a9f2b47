"""Back ends: registered under names, loaded when they are asked for, all to be used in the same way."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest
from scheduled import by_rows, picture, stencil

import slinky as sl
from slinky.ir.statements import Program
from slinky.runtime import backends
from slinky.runtime.interpreter import Interpreted
from slinky.runtime.run_options import RunOptions


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The registered back ends, in which a test may change what it wants."""
    own = dict(backends._registered)
    monkeypatch.setattr(backends, "_registered", own)
    return own


class Counting(Interpreted):
    """The interpreter, which notes what it is asked to run."""

    made: ClassVar[list[Program]] = []

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.made.append(program)


@pytest.mark.parametrize("name", ["python", "interpreter"])
def test_all_do_the_same(name: str) -> None:
    p = by_rows(stencil(), 2)[0]
    inp, out = picture(7, 9, margin=2)
    _, expected = picture(7, 9, margin=2)
    stencil()(inp, expected)
    prepared = backends.prepare(name, p.program)
    statistics = prepared.record([inp, out], {}, RunOptions())
    assert statistics.elements == {"add": 99, "stencil": 63}
    assert np.array_equal(out.array, expected.array)
    for run in (lambda: prepared.enter([inp, out], {}), prepared.bind([inp, out], {})):
        out.array[...] = 0
        assert run() is out
        assert np.array_equal(out.array, expected.array)
    prepared.release()
    assert "stencil" in prepared.source
    with pytest.raises(sl.ArgumentError, match="takes 2 arrays"):
        prepared.bind([inp], {})


def test_one_can_be_registered(names: dict[str, str]) -> None:
    backends.register("counting", f"{__name__}:Counting")
    backends.register("counting", f"{__name__}:Counting")  # the same one once more
    p = stencil()
    inp, out = picture(3, 4, margin=2)
    Counting.made.clear()
    for _ in range(2):
        assert p.run(inp, out, backend="counting").calls == {"add": 1, "stencil": 1}
    assert Counting.made == [p.program]
    with pytest.raises(
        sl.ArgumentError,
        match="there are 'python', 'native', 'native-fast', 'native-exact', 'auto', 'interpreter' and 'counting'",
    ):
        p.run(inp, out, backend="fortran")


def test_what_cannot_be_registered(names: dict[str, str]) -> None:
    with pytest.raises(sl.ArgumentError, match=r"'module:attribute', got 'slinky.native'"):
        backends.register("native", "slinky.native")
    with pytest.raises(sl.ArgumentError, match=r"the back end 'python' is slinky.runtime.plan:Plan; mine:Plan needs"):
        backends.register("python", "mine:Plan")


@pytest.mark.parametrize("given", [{"checked": "all"}, {"hooks": print}])
def test_options_are_checked_whatever_the_back_end(given: dict[str, Any]) -> None:
    with pytest.raises(sl.ArgumentError, match=f"^{next(iter(given))} must be"):
        stencil().run(backend="interpreter", **given)


def test_options_never_change() -> None:
    options = RunOptions(threads=2)
    with pytest.raises(AttributeError):
        options.threads = 3  # type: ignore[misc]


def test_importing_loads_no_plan() -> None:
    code = "import sys, slinky; print([m for m in sys.modules if 'codegen' in m or 'plan_tree' in m])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
