"""How often the situations of `random_situations` come off.

    python tests/situation_rates.py 40 [word ...]

tries each of them so many times, or those of which all words are part of what they are called, and prints how often
that was refused which should be, what else was, and what went wrong: in programs of the families that are made for it,
or where there are none, in such as `tally` draws.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import tally


def main(tries: int, words: list[str]) -> None:
    """Try situations, and tell of each."""
    tally._prepare()
    from random_families import WANTED, Made
    from random_situations import SITUATIONS, attempt
    from refusals import kinds_of

    drawn = [subject for batch in range(3) for subject in tally.subjects_of(17, batch)]
    for pair in SITUATIONS:
        if not all(word in " ".join(pair) for word in words):
            continue
        made = [Made(family, n) for n in range(len(drawn)) for family in WANTED.get(pair, ())]
        subjects = made or drawn
        met: Counter[tuple[str, str]] = Counter()
        wrong, applied, start = [], 0, time.process_time()
        for n in range(tries):
            subject = subjects[7 * n % len(subjects)]
            chain = tally.chain_of(subject, n)
            try:
                attempt(chain, pair)
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {str(error)[:600]}\n        {subject!r}, {n}")
            met.update((error.operation, kind) for error in chain.errors for kind in kinds_of(error))
            applied += len(chain.applied)
        seconds = time.process_time() - start
        others = "; ".join(f"{a}: {b} {count}" for (a, b), count in met.most_common(5) if (a, b) != pair)
        where = f" in programs made for it ({', '.join(WANTED[pair])})" if made else ""
        print(
            f"{met[pair]:>4} of {tries} {' '.join(pair)}{where} ({applied} applied, {seconds:.1f} s; {others})",
            flush=True,
        )
        for each in wrong[:2]:
            print("    wrong:", each)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:])
