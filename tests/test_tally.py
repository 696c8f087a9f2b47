"""The table of what random schedules apply and are refused: how it is counted, added up and told."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
import random_schedules
import tally
from graphs_as_data import Array, Graph, Read, Stage, Window, Write
from random_chains import AnyChain, Primitive

import slinky as sl

ROWS = Window(0, taps=3)
GRAPH = Graph(
    {"in0": Array(((0, 9),), ((0, 0),), "C")},
    tuple(Stage(f"f{n}", 1, (Read(name, (ROWS,)),), (Write(f"b{n}", (0,)),)) for n, name in enumerate(("in0", "b0"))),
    {"b1": Array(((0, 5),), ((0, 0),), "C")},
)  # fmt: skip
"""Two stencils, one of the other."""


def some_schedules(count: int = 12) -> tally.Tally:
    return tally.try_schedules([GRAPH] * count, random.Random(1), float("inf"))


def test_the_same_schedules_are_counted_each_time() -> None:
    one, other = some_schedules(), some_schedules()
    assert one == other
    assert not one.wrong
    assert not one.unlisted
    assert one.schedules == 12
    assert one.applied.total() > 12
    assert one.applied.keys() <= random_schedules.PRIMITIVES.keys()


def test_no_time_is_no_schedule() -> None:
    assert tally.try_schedules([GRAPH], random.Random(1), float("-inf")) == tally.Tally()


def test_a_schedule_that_is_wrong_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by a line that tries it again."""

    def fail(chain: AnyChain) -> sl.Pipeline:
        raise ZeroDivisionError(chain.pipeline.program.name)

    broken: dict[str, tuple[Primitive, int]] = {**random_schedules.PRIMITIVES, "simplify": (fail, 5)}
    monkeypatch.setattr(random_schedules, "PRIMITIVES", broken)
    found = some_schedules()
    assert found.schedules == 12
    assert found.wrong
    for each in found.wrong:
        line, *trace = each.splitlines()
        assert trace[-1] == "ZeroDivisionError: f1"
        with pytest.raises(ZeroDivisionError):
            eval(line, {**vars(sys.modules["graphs_as_data"]), "tally": tally})


def test_tables_are_added_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "_prepare", lambda: None)  # the tests have their judge already
    one = tally.Tally(3, Counter({"cut_loop": 600}), Counter({("cut_loop", "a fold"): 1}))
    other = tally.Tally(
        4, Counter({"cut_loop": 100, "simplify": 2}), Counter({("cut_loop", "a fold"): 2}), ["this"], ["that"]
    )
    files = []
    for each in (one, other):
        files.append(str(tmp_path / f"{each.schedules}.json"))
        Path(files[-1]).write_text(json.dumps(each.as_data()))
    saved = tmp_path / "both.json"
    assert tally.main(["--rewrites", "0", "--merge", *files, "--save", str(saved)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "7 schedules, 702 rewrites applied, 3 refused"
    assert lines[2:4] == ["     700   cut_loop", "       2 ! simplify"]
    assert "       0 ! store_at" in lines
    assert "       3   cut_loop refuses: a fold" in lines
    assert lines[-3] == "not listed: that"
    assert lines[-2:] == ["wrong: this", "1 wrong"]
    assert tally.main(["--rewrites", "0", "--merge", str(saved)]) == 1
    assert capsys.readouterr().out.splitlines() == lines
    assert tally.main(["--rewrites", "0", "--merge", files[0]]) == 0


def test_the_graphs_of_a_batch_follow_from_the_seed() -> None:
    assert tally.graphs_of(3, 0) == tally.graphs_of(3, 0) != tally.graphs_of(3, 1)
