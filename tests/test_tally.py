"""The table of what random schedules apply and are refused: how it is counted, added up and told."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
import random_families
import random_schedules
import tally
from graphs_as_data import Array, Graph, Read, Stage, Window, Write
from random_chains import AnyChain, Primitive
from random_families import WANTED, Made, all_families, example
from random_graphs import build, run_and_compare
from random_provocations import ATTEMPTS, provoke
from random_situations import SITUATIONS, attempt
from rare_refusals import GATE, HAND_MADE, IMPLIED
from refusals import REFUSALS, UNLISTED, kind_of, kinds_of
from told_refusals import check_refusal

import slinky as sl

ROWS = Window(0, taps=3)
POINTS = Graph(
    {"in0": Array(((0, 9),), ((0, 0),), "C")},
    tuple(Stage(f"f{n}", 1, (Read(b, (Window(0),)),), (Write(f"b{n}", (0,)),)) for n, b in enumerate(("in0", "b0"))),
    {"b1": Array(((0, 9),), ((0, 0),), "C")},
)  # fmt: skip
"""The same element by element."""

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
    assert 0 < len(found.wrong) < 12
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
    assert "       0 ! whatever is applied: a step" in lines
    assert "       0 g cut_loop refuses: shared memory" in lines
    assert "       0 h fold_storage refuses: nothing is written" in lines
    assert "       0 i set_layout refuses: an access of several blocks" in lines
    assert "       0 ! split_loop refuses: a name that is taken" in lines
    assert lines[-3] == "not listed: that"
    assert lines[-2:] == ["wrong: this", "1 wrong"]
    assert tally.main(["--rewrites", "0", "--merge", str(saved)]) == 1
    assert capsys.readouterr().out.splitlines() == lines
    assert tally.main(["--rewrites", "0", "--merge", files[0]]) == 0


def test_what_is_said_to_be_rare_is_listed() -> None:
    """A refusal that is told under another name some day is not excused any more."""
    assert all(kind in REFUSALS[primitive] for primitive, kind in (*HAND_MADE, *IMPLIED))
    assert not HAND_MADE.keys() & IMPLIED.keys()
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


def test_what_is_scheduled_in_a_batch_follows_from_the_seed() -> None:
    assert tally.subjects_of(3, 0) == tally.subjects_of(3, 0) != tally.subjects_of(3, 1)


# Families and situations ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*all_families()])
def test_programs_of_families_compute_what_is_said(family: str) -> None:
    for seed in range(6):
        made = Made(family, seed)
        assert eval(repr(made)) == made
        p = example(made).pipeline
        random_families.run_and_compare(made, p)
        random_families.run_and_compare(made, p, checked=False)


@pytest.mark.parametrize("family", [*all_families()])
def test_programs_of_families_are_refused_as_they_are_made_for(family: str) -> None:
    """Each of them in some way; and each way by some programs of a family that is made for it."""
    pairs = [pair for pair, families in WANTED.items() if family in families]
    for pair in pairs:
        for seed in range(40):
            chain = tally.chain_of(Made(family, seed), seed)
            attempt(chain, pair)
            if any(error.operation == pair[0] and pair[1] in kinds_of(error) for error in chain.errors):
                break
        else:
            raise AssertionError(pair)


DRAWN = [
    ("split_loop", "too deep"),
    ("unroll_loop", "too many statements"),
    ("reorder_statements", "another of the same name"),
    ("unroll_buffer", "nobody uses it"),
    ("split_loop", "the stages of a pipelined loop"),
    ("cut_loop", "the stages of a pipelined loop"),
    ("clone_call", "the stages of a pipelined loop"),
    ("absorb_loop", "an access of several blocks"),
    ("align_dim", "an access of several blocks"),
    ("lift_alloc", "a divisor"),
    ("fission_loop", "a fold"),
]
"""Situations for which there is a place in the graph of this page: those of the others need other ones."""


@pytest.mark.parametrize("pair", DRAWN)
def test_situations_are_refused_and_leave_the_chain_as_it_was(pair: tuple[str, str]) -> None:
    met, graph = set(), POINTS if "blocks" in pair[1] else GRAPH
    for seed in range(6):
        chain = tally.chain_of(graph, seed)
        before = chain.pipeline
        assert attempt(chain, pair)
        assert chain.pipeline is before
        (aside,) = chain.asides
        met |= {(error.operation, kind) for error in aside.errors for kind in kinds_of(error)}
        run_and_compare(graph, aside.pipeline)
        chain.check_old_versions()
        for error in aside.errors:
            check_refusal(error)
    assert pair in met


def test_situations_are_of_refusals_that_are_listed() -> None:
    assert all(kind in REFUSALS[primitive] for primitive, kind in SITUATIONS)
    assert WANTED.keys() <= SITUATIONS.keys()
    assert not SITUATIONS.keys() & IMPLIED.keys()
