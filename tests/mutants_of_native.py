"""What is broken of native plans: copies in C."""

from __future__ import annotations

from mutants import Mutant, mutants

_FILE = "tests/test_copies_in_c.py"
BEYOND, ORDERS = f"{_FILE}::test_what_is_beyond_edges", f"{_FILE}::test_elements_of_any_size_in_any_order"

MUTANTS: list[Mutant] = []

MUTANTS += mutants(
    "slinky/native/coordinates.py",
    (BEYOND, ORDERS),
    ("lines: the shorter one", "own.run < s.run ? own : s", "own"),
    ("lines: stretches that differ", "if (own.stretches < s.stretches) s.stretches = own.stretches;", ""),
    (
        "lines: the leap of others",
        "return a.stretches > 1 && s.run == a.run ? a.leap : a.slope * s.run;",
        "return a.slope * s.run;",
    ),
    ("lines: even stretches", "const int is_even = by % step == 0 && same == by / step;", "const int is_even = 1;"),
    (
        "lines: where a quotient changes",
        "(a.slope > 0 ? by - 1 - left : left) / step + 1",
        "(a.slope > 0 ? by - left : left) / step + 1",
    ),
    ("lines: how long inside", "slope > 0 ? (hi - value) / slope + 1", "slope > 0 ? (hi - value) / slope"),
    (
        "lines: how long inside, backward",
        "slope < 0 ? (value - lo) / -slope + 1 : INT64_MAX;\n}\n\n/* At how",
        "slope < 0 ? (value - lo) / -slope + 2 : INT64_MAX;\n}\n\n/* At how",
    ),
    ("lines: how long before", "(lo - value - 1) / slope + 1", "(lo - value) / slope + 1"),
    ("lines: how long behind", "(value - hi - 1) / -slope + 1", "(value - hi) / -slope + 1"),
    (
        "lines: nothing between edges",
        "if (*is_inside || lo > hi || highest < lo || hi < lowest) return a;",
        "if (*is_inside || highest < lo || hi < lowest) return a;",
        "whoever is beyond edges that hold nothing is beyond them at each place, too: it is only sooner",
    ),
    ("lines: the nearest one", "a.value < lo ? lo : hi", "a.value < lo ? hi : lo"),
    ("lines: whole turns", "if (period % step == 0 && stay == period / step)", "if (period % step == 0)"),
    ("lines: turns forward", "if (turns % 2 == 0)", "if (turns % 2 == 1)"),
    (
        "lines: one coordinate",
        "if (lo == hi) return slinky_same(lo, a.run * a.stretches);\n    const int64_t turns",
        "const int64_t turns",
    ),
)
MUTANTS += mutants(
    "slinky/native/moving.py",
    (ORDERS, BEYOND),
    (
        "sides: one behind the other",
        "if (n && last->to == sides[i].to * sides[i].extent && last->from",
        "if (n && last->from",
    ),
    ("sides: also whence", " && last->from == sides[i].from * sides[i].extent", ""),
    ("moving: as one piece", "if (row.to == @N && row.from == @N)", "if (row.to == @N)"),
    ("moving: each twice", "rows.extent == 2 && rows.to == @N && rows.from == 0", "rows.extent == 2 && rows.to == @N"),
    ("moving: the last block", "const int64_t few = slinky_min(8, rows.extent - k);", "const int64_t few = 8;"),
    ("moving: backward", "row.from == -@N)\n", "row.from < 0)\n"),
)
