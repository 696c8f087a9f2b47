"""What threads find out about a function while another one traces it: none takes what was true before for what is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import jit

from slinky.frontend import kept_traces
from slinky.symbolic.expressions import variable
from slinky.symbolic.facts import facts

SECONDS = 60
factor = 1.0


def before(owner: Any, name: str, act: Callable[..., None]) -> None:
    """Act before a method of an object runs."""
    method = getattr(owner, name)

    def acts(*given: Any, **named: Any) -> Any:
        act(*given)
        return method(*given, **named)

    setattr(owner, name, acts)


def test_a_function_that_fails_in_one_thread_tells_floats_in_others() -> None:
    """One thread traces the function with the floats that they are, as it fails with others, when the trace of another
    thread is made, and ends before that is remembered."""

    def scaled(x: Any, by: float) -> Any:
        if x.shape[0] == 7:
            raise KeyError("seven")
        return x * by

    traced = jit(scaled)
    is_failing, is_made = threading.Event(), threading.Event()

    def fails_slowly(trace: Any, *_: Any) -> None:
        if threading.current_thread() is failing and not trace.tells_floats:
            is_failing.set()
            assert is_made.wait(SECONDS)

    def call() -> None:
        with pytest.raises(KeyError, match="seven"):
            traced(np.ones(7), 1.5)

    def made(*_: Any) -> None:
        is_made.set()
        failing.join(SECONDS)

    failing = threading.Thread(target=call)
    before(traced._traces, "_calls", fails_slowly)
    before(traced._chooser, "run_for", made)
    failing.start()
    assert is_failing.wait(SECONDS)
    assert traced(np.ones(5), 0.25).tolist() == [0.25] * 5
    assert traced(np.ones(5), 1.5).tolist() == [1.5] * 5
    assert len(traced._traces.by_kind) == 1


def test_threads_whose_calls_fail_now_and_then() -> None:
    def scaled(x: Any, by: float) -> Any:
        if x.shape[0] == 7:
            raise KeyError("seven")
        return x * by, (x * by).max()

    traced = jit(scaled)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(40):
            x = random.random((random.choice([2, 3, 7, 40]), 3)).astype(random.choice(["f4", "f8", "i4"]))
            by = float(random.choice([0.25, 1.5]))
            if len(x) == 7:
                with pytest.raises(KeyError, match="seven"):
                    traced(x, by)
            elif not all(map(np.array_equal, traced(x, by), scaled(x, by))):
                wrong.append((x.shape, x.dtype, by))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_global_that_changes_while_another_thread_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What that thread has traced is not remembered."""

    def scaled(x: Any) -> Any:
        return x * factor

    traced = jit(scaled)

    def change(*_: Any) -> None:
        if factor == 1:
            monkeypatch.setattr(sys.modules[__name__], "factor", 2.0)
            assert traced(np.ones(5)).tolist() == [2] * 5

    before(traced._chooser, "run_for", change)
    assert traced(np.ones(5)).tolist() == [1] * 5
    assert traced(np.ones(5)).tolist() == [2] * 5


def test_another_thread_finds_a_change_while_it_is_asked_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(x: Any) -> Any:
        return x * 2

    traced = jit(scaled)
    asked = kept_traces.takes_stand_ins

    def change(*given: Any) -> bool:
        traced._traces.reads = None
        return asked(*given)

    monkeypatch.setattr(kept_traces, "takes_stand_ins", change)
    traced._traces.reads_now()
    traced._traces.look_again()
    assert traced(np.ones(5)).tolist() == [2] * 5


def test_facts_that_another_thread_has_indexed() -> None:
    """Meanwhile: it was not there when it was asked for."""
    x = variable("x")
    known = facts(x >= 3, x <= 5)
    assert known.contradictory is False
    assert known.__getattr__("tightest") is known.tightest
    with pytest.raises(AttributeError, match="loosest"):
        _ = known.loosest  # type: ignore[attr-defined]
