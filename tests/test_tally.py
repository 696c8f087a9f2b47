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
from random_graphs import build, run_and_compare
from random_provocations import ATTEMPTS, provoke
from rare_refusals import GATE, HAND_MADE
from refusals import REFUSALS, UNLISTED, kind_of

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
    assert "       3   whatever is applied: a fold" in lines
    assert "       0 ! whatever is applied: a race" in lines
    assert "       0 g cut_loop refuses: shared memory" in lines
    assert "       0 h split_loop refuses: too deep" in lines
    assert "       0 ! split_loop refuses: a name that is taken" in lines
    assert lines[-3] == "not listed: that"
    assert lines[-2:] == ["wrong: this", "1 wrong"]
    assert tally.main(["--rewrites", "0", "--merge", str(saved)]) == 1
    assert capsys.readouterr().out.splitlines() == lines
    assert tally.main(["--rewrites", "0", "--merge", files[0]]) == 0


def test_what_is_said_to_be_rare_is_listed() -> None:
    """A refusal that is told under another name some day is not excused any more."""
    assert all(kind in REFUSALS[primitive] for primitive, kind in HAND_MADE)
    assert all(any(kind in kinds for kinds in REFUSALS.values()) for kind in GATE)


def test_the_numbers_are_in_the_file_all_the_time(tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    for rewrites in (5, 7):
        one = tally.Tally(rewrites, Counter(cut_loop=rewrites))
        tally.save(one, file)
        assert tally.Tally.of_data(json.loads(file.read_text())) == one
    assert [*tmp_path.iterdir()] == [file]
    tally.save(one, None)


def provoked(seed: int) -> random_schedules.Chain:
    chain = random_schedules.Chain(build(GRAPH), random.Random(seed).choice, prepares=True, provokes=True)
    for _ in range(4):
        provoke(chain)
    return chain


def test_refusals_are_provoked() -> None:
    """By careless arguments, most of which are refused, for reasons that are listed; what is accepted is right."""
    assert ATTEMPTS.keys() <= random_schedules.PRIMITIVES.keys()
    chains = [provoked(seed) for seed in range(6)]
    assert sum(len(chain.errors) for chain in chains) > sum(len(chain.applied) for chain in chains)
    assert len({error.operation for chain in chains for error in chain.errors}) > 20
    assert all(kind_of(error) != UNLISTED for chain in chains for error in chain.errors)
    for chain in chains:
        run_and_compare(GRAPH, chain.pipeline)
        chain.check_old_versions()


def test_the_graphs_of_a_batch_follow_from_the_seed() -> None:
    assert tally.graphs_of(3, 0) == tally.graphs_of(3, 0) != tally.graphs_of(3, 1)
