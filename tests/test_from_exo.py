"""The table for those who come from Exo is complete, and true of what there is here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import slinky as sl
from slinky.sched import returned

PAGE = Path(__file__).parent.parent / "docs" / "from-exo.md"

OPERATIONS = [
    "simplify", "rename", "make_instr", "insert_pass", "delete_pass", "reorder_stmts", "parallelize_loop",
    "commute_expr", "rewrite_expr", "bind_expr", "extract_subproc", "inline", "replace", "call_eqv",
    "set_precision", "set_window", "set_memory", "bind_config", "delete_config", "write_config", "resize_dim",
    "expand_dim", "rearrange_dim", "bound_alloc", "divide_dim", "mult_dim", "unroll_buffer", "lift_alloc",
    "sink_alloc", "autolift_alloc", "delete_buffer", "reuse_buffer", "inline_window", "stage_window", "stage_mem",
    "divide_with_recompute", "divide_loop", "mult_loops", "join_loops", "cut_loop", "shift_loop", "reorder_loops",
    "merge_writes", "inline_assign", "lift_reduce_constant", "fission", "autofission", "fuse", "remove_loop",
    "add_loop", "unroll_loop", "lift_scope", "eliminate_dead_code", "specialize", "add_unsafe_guard",
]  # fmt: skip
"""What the proposal for returned cursors lists; it calls `cut_loop` by the name of its inverse."""

HERE = "What is here and not there"


def rows() -> list[tuple[str, list[str]]]:
    """The cells of all tables, each row with the heading that it stands under."""
    found = []
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and not line.startswith(("| Exo", "| here")):
            found.append((heading, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]))
    return found


def names(cell: str) -> list[str]:
    """What stands in backquotes."""
    return re.findall(r"`([^`]*)`", cell)


def test_every_operation_of_the_proposal_stands_in_the_tables_once() -> None:
    listed = [name for heading, cells in rows() if heading != HERE for name in names(cells[0])]
    assert sorted(listed) == sorted(OPERATIONS)


def operations() -> list[tuple[str, list[str]]]:
    """What the page says to be here, each with the cursors that it says to be returned."""
    found = []
    for heading, cells in rows():
        here, records = cells[:2] if heading == HERE else cells[1:3]
        fields = [names(part) for part in records.split(";")]
        for k, name in enumerate(names(here)):
            found.append((name, fields[k] if len(fields) > 1 else fields[0]))
    return found


@pytest.mark.parametrize(("name", "fields"), operations(), ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_said_to_be_here_is_here_and_returns_these_cursors(name: str, fields: list[str]) -> None:
    assert name in sl.__all__
    record = getattr(returned, "".join(part.capitalize() for part in name.split("_")) + "Cursors")
    own: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        if kind.__module__ == returned.__name__:
            own = {**{k: v for k, v in own.items() if k not in kind.__annotations__}, **kind.__annotations__}
    assert sorted(own) == sorted(fields)


def test_everything_else_in_code_is_here_too() -> None:
    for _, cells in rows():
        for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", cells[-1]):
            assert name in sl.__all__ or name in OPERATIONS, name


def test_each_row_says_what_is_here_or_why_nothing_is() -> None:
    for heading, cells in rows():
        assert heading == HERE or cells[1] or len(cells[3]) > 20, cells
