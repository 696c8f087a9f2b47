"""How often random schedules apply each primitive and meet each refusal; and whether all of them are right.

    python tests/tally.py --rewrites 100000 --workers 2 --seed 0    # hours; the same numbers each time
    python tests/tally.py --seconds 120                             # what there is by then
    python tests/tally.py --seconds 600 --seed 1 --save one.json    # kept as it grows, to be added up
    python tests/tally.py --rewrites 0 --merge one.json two.json    # the table of those

Each rewrite comes before the second judge, and what a schedule ends in is compared with the callbacks run by hand, by
the interpreter in checked mode and by a plan; so is one of the versions on the way. Ctrl-C ends it with the table so
far. The status is 1 if anything was wrong: each such schedule is told by a line that tries it again.

Invariant: which schedules are tried follows from the seed, the number of workers and the number of rewrites alone.
(Graphs are drawn by hypothesis, which neither shrinks nor remembers anything here; schedules by `random`.)
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import json
import multiprocessing
import queue
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random_families import Made
    from random_graphs import Graph
    from random_schedules import Chain

    from slinky.pipeline import Pipeline

    Subject = Graph | Made
    """What is scheduled."""

BATCH, MADE = 13, 12
"""So many graphs, and programs of families, are drawn at a time, and reported when all of them were scheduled."""

LONGEST_CHAIN = 20

ASIDE = 3
"""So many of the programs are run that were made aside, of a schedule."""

LONGEST = 600
"""A schedule that takes more seconds hangs: its process ends, and says where all threads were."""

FEW_APPLIED, FEW_REFUSED = 500, 20
"""Less often than so in 100,000 rewrites, a primitive or a refusal is marked in the table."""


@dataclass
class Tally:
    """What came of schedules."""

    schedules: int = 0
    applied: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    """Refusals for reasons that `refusals` does not list."""

    def add(self, other: Tally) -> None:
        """Add what came of others."""
        self.schedules += other.schedules
        self.applied.update(other.applied)
        self.refused.update(other.refused)
        self.wrong += other.wrong
        self.unlisted += other.unlisted

    def as_data(self) -> dict[str, Any]:
        """All of it, for `of_data`."""
        refused = [[*pair, count] for pair, count in sorted(self.refused.items())]
        applied = dict(sorted(self.applied.items()))
        told = {"wrong": self.wrong, "unlisted": self.unlisted}
        return {"schedules": self.schedules, "applied": applied, "refused": refused, **told}

    @staticmethod
    def of_data(data: dict[str, Any]) -> Tally:
        """What `as_data` gave."""
        refused = Counter({(primitive, kind): count for primitive, kind, count in data["refused"]})
        return Tally(data["schedules"], Counter(data["applied"]), refused, data["wrong"], data["unlisted"])

    def text(self, primitives: Sequence[str], refusals: Sequence[tuple[str, str]]) -> str:
        """The table: of all these at least. A mark says what is rare, and whether it may be (see `rare_refusals`)."""
        from rare_refusals import GATE, HAND_MADE, IMPLIED

        total = self.applied.total()
        lines = [f"{self.schedules} schedules, {total} rewrites applied, {self.refused.total()} refused", ""]
        marks: Counter[str] = Counter()

        def line(count: int, few: int, what: str, mark: str = "!") -> str:
            mark = mark if count * 100_000 < few * total else " "
            marks[mark] += 1
            return f"{count:>8} {mark} {what}"

        names = sorted({*primitives, *self.applied}, key=lambda name: (-self.applied[name], name))
        lines += [line(self.applied[name], FEW_APPLIED, name) for name in names]
        checks = {check: sum(n for (_, kind), n in self.refused.items() if kind == check) for check in GATE}
        by_hand = {check for check in checks if all(pair in HAND_MADE for pair in refusals if pair[1] == check)}
        marks_of = {check: "h" if check in by_hand else "!" for check in checks}
        lines += ["", *(line(n, FEW_REFUSED, f"whatever is applied: {c}", marks_of[c]) for c, n in checks.items()), ""]
        for primitive, kind in (*refusals, *sorted(self.refused.keys() - set(refusals))):
            pair, count = (primitive, kind), self.refused[primitive, kind]
            mark = "i" if pair in IMPLIED else "h" if pair in HAND_MADE else "g" if kind in GATE else "!"
            lines.append(line(count, FEW_REFUSED, f"{primitive} refuses: {kind}", mark))
        lines += ["", f"{marks['!']} are rare (!): fewer than {FEW_APPLIED} and {FEW_REFUSED} in 100,000 rewrites"]
        lines += [f"{marks['g']} are rare of that primitive (g), where others are refused for the same reason"]
        lines += [f"{marks['h']} take programs made by hand (h): {'; '.join(dict.fromkeys(HAND_MADE.values()))}"]
        lines += [f"{marks['i']} are not met by any program (i): {'; '.join(dict.fromkeys(IMPLIED.values()))}"]
        lines += [f"met, though it is said to be implied: {a}: {b}" for a, b in self.refused if (a, b) in IMPLIED]
        lines += [f"not listed: {each}" for each in self.unlisted] + [f"wrong: {each}" for each in self.wrong]
        return "\n".join((*lines, f"{len(self.wrong)} wrong"))


# Schedules ------------------------------------------------------------------------------------------------------------


def follow(subject: Subject, seed: int, steps: int) -> Chain:
    """Schedule a graph, and compare what comes of it. Raises what says that something is wrong."""
    chain = chain_of(subject, seed)
    _follow(chain, subject, seed, steps)
    return chain


def chain_of(subject: Subject, seed: int) -> Chain:
    """A chain that begins with a graph, as it is."""
    from random_families import Made, example, wanted
    from random_graphs import arguments, build
    from random_schedules import Chain

    import slinky as sl

    if isinstance(subject, Made):
        own = example(subject)
        p, shapes, reasons = own.pipeline, own.shapes(), wanted(subject)
    else:
        reasons = ()
        p = build(subject, alias=seed % 2 == 0)
        outputs = zip(p.program.outputs, arguments(subject)[1], strict=True)
        shapes = {parameter.name: tuple(map(sl.interval, buffer.min, buffer.max)) for parameter, buffer in outputs}
    return Chain(p, random.Random(seed).choice, shapes=shapes, wanted=reasons, prepares=True, provokes=True)


def _run_and_compare(subject: Subject, p: Pipeline, **options: bool) -> None:
    import random_families
    import random_graphs

    if isinstance(subject, random_families.Made):
        random_families.run_and_compare(subject, p, **options)
    else:
        random_graphs.run_and_compare(subject, p, **options)


def _follow(chain: Chain, subject: Subject, seed: int, steps: int) -> None:
    from told_refusals import check_refusal

    from slinky.errors import ExecutionError

    for _ in range(steps):
        chain.step()
    draw = random.Random(seed)
    aside = [other.pipeline for other in chain.all_asides() if len(other.versions) > 1]
    ends = [chain.pipeline, draw.choice(chain.versions)[0], *draw.sample(aside, min(len(aside), ASIDE))]
    for p in ends:
        _run_and_compare(subject, p)
        try:
            _run_and_compare(subject, p, checked=False)
        except ExecutionError as error:  # the interpreter has no such limit
            if "nested too deeply for a plan" not in str(error):
                raise
    chain.check_old_versions()
    if chain.errors:
        check_refusal(draw.choice(chain.errors))


def try_schedules(subjects: Sequence[Subject], draw: random.Random, until: float) -> Tally:
    """Schedule graphs, as long as there is time, and say what came of it."""
    from refusals import UNLISTED, kinds_of

    found = Tally()
    for subject in subjects:
        if time.monotonic() > until:
            break
        seed, steps = draw.getrandbits(32), draw.randint(1, LONGEST_CHAIN)
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        again = f"tally.follow({subject!r}, {seed}, {steps})"
        chain: Chain | None = None
        try:
            chain = chain_of(subject, seed)
            _follow(chain, subject, seed, steps)
        except Exception:
            found.wrong.append(f"{again}\n{traceback.format_exc()}")
        faulthandler.cancel_dump_traceback_later()
        found.schedules += 1
        if chain is not None:
            found.applied.update(chain.applied)
            for error in chain.errors:
                kinds = kinds_of(error)
                found.refused.update((error.operation, kind) for kind in kinds)
                if UNLISTED in kinds:
                    found.unlisted.append(f"{error.operation}: {error.reason}")
    return found


def subjects_of(seed: int, batch: int) -> list[Subject]:
    """What is scheduled in a batch: graphs, and programs of families."""
    from random_families import WANTED, Made, all_families

    draw = random.Random(f"families {seed} {batch}")
    drawn = [*all_families(), *(family for families in WANTED.values() for family in families)]
    made = [Made(draw.choice(drawn), draw.getrandbits(32)) for _ in range(MADE)]
    return [*graphs_of(seed, batch), *made]


def graphs_of(seed: int, batch: int) -> list[Graph]:
    """The graphs of a batch."""
    import hypothesis
    from hypothesis import strategies as st
    from random_graphs import graphs, image_graphs, in_arithmetic, many_dimensions, sums_of_rows

    found: list[Graph] = []
    any_graph, few = graphs(max_stages=5), graphs(max_stages=3)
    in_place = image_graphs().filter(_works_in_place)
    sums = sums_of_rows()
    rare = (sums, sums, sums, few.filter(_has_a_reduction), few.filter(_stands_still), in_place, in_place, in_place)
    arithmetic = (strategy.map(in_arithmetic) for strategy in (image_graphs(), image_graphs(max_stages=3), few))
    kinds = (image_graphs(), image_graphs(), any_graph, any_graph, *rare, many_dimensions(), *arithmetic)

    @hypothesis.seed(f"{seed} {batch}")
    @hypothesis.settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    @hypothesis.given(st.one_of(*kinds))
    def draw(graph: Graph) -> None:
        found.append(graph)

    draw()
    return found


def _has_a_reduction(graph: Graph) -> bool:
    """Whether some stage can be taken to pieces along what it reads."""
    from random_graphs import build

    return any(call._call.func.reduction is not None for call in build(graph).find_all("_ = _"))


def _stands_still(graph: Graph) -> bool:
    """Whether some stage reads of what another one makes the same all along one of its dimensions."""
    made = {write.buffer for stage in graph.stages for write in stage.writes}
    return any(
        read.buffer in made and read.dims() < set(range(stage.rank)) for stage in graph.stages for read in stage.reads
    )


def _works_in_place(graph: Graph) -> bool:
    """Whether some stage may write an intermediate over another one, which nobody else reads."""
    from random_graphs import Window

    read = Counter(read.buffer for stage in graph.stages for read in stage.reads)
    made = {write.buffer for stage in graph.stages for write in stage.writes} - {*graph.outputs}
    return any(
        stage.in_place
        and len(stage.writes) == 1
        and {stage.writes[0].buffer, each.buffer} <= made
        and read[each.buffer] == 1
        and each.along == tuple(Window(d) for d in range(stage.rank))
        for stage in graph.stages
        for each in stage.reads
    )


# Workers --------------------------------------------------------------------------------------------------------------


def _work(seed: int, batches: Iterator[int], share: int, until: float, results: Queue[Any]) -> None:
    """Try schedules until so many rewrites were applied, and report each batch; in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    _prepare()
    applied = 0
    for batch in batches:
        if applied >= share or time.monotonic() > until:
            break
        found = try_schedules(subjects_of(seed, batch), random.Random(f"{seed} {batch}"), until)
        applied += found.applied.total()
        results.put(found.as_data())
    results.put(None)


def _prepare() -> None:
    """Let every rewrite be judged: before slinky is imported."""
    here = Path(__file__).resolve().parent
    for place in (here.parent, here):  # this slinky, and no other that may be installed
        if str(place) not in sys.path[:2]:
            sys.path.insert(0, str(place))
    import judge_hook

    judge_hook.install()


def tally(rewrites: int, workers: int, seed: int, seconds: float, file: Path | None = None) -> Tally:
    """What comes of schedules with so many rewrites, or for so many seconds; of fewer where Ctrl-C ends it. What there
    is so far is in the file all the time."""
    total = Tally()
    context = multiprocessing.get_context("spawn")
    results: Queue[Any] = context.Queue()
    until, share = time.monotonic() + seconds, -(-rewrites // workers)
    processes = [
        context.Process(target=_work, args=(seed, itertools.count(n, workers), share, until, results), daemon=True)
        for n in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        working = workers
        while working:
            try:
                data = results.get(timeout=1)
            except queue.Empty:
                died = [process.exitcode for process in processes if process.exitcode]
                if died:
                    total.wrong.append(f"a process ended with {died[0]}: its batches may lack")
                    break
                continue
            if data is None:
                working -= 1
            else:
                found = Tally.of_data(data)
                print(*(f"wrong: {each}\n" for each in found.wrong), sep="", end="", file=sys.stderr)
                total.add(found)
                save(total, file)
                print(f"{total.applied.total():>8} rewrites, {len(total.wrong)} wrong", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("ended by hand", file=sys.stderr)
    for process in processes:
        process.kill()
    return total


def save(total: Tally, file: Path | None) -> None:
    """Write the numbers, all at once: who reads the file finds all that there was, now or before."""
    if file is not None:
        new = file.with_name(f"{file.name}.new")
        new.write_text(json.dumps(total.as_data(), indent=1))
        new.replace(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rewrites", type=int, default=10_000_000, help="stop when so many were applied")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the work")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the numbers, as JSON, all the time")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], metavar="FILE", help="add what was saved")
    given = parser.parse_args(arguments)
    if given.workers < 1:
        parser.error("at least one worker is needed")
    earlier = [Tally.of_data(json.loads(file.read_text())) for file in given.merge]
    total = Tally()
    if given.rewrites > 0:
        total = tally(given.rewrites, given.workers, given.seed, given.seconds, given.save)
    for each in earlier:
        total.add(each)
    save(total, given.save)
    _prepare()
    from random_schedules import PRIMITIVES
    from refusals import REFUSALS

    pairs = [(primitive, kind) for primitive, kinds in REFUSALS.items() for kind in kinds]
    print(total.text([*PRIMITIVES], pairs))
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
