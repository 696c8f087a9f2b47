"""Arrays to rows of which is assigned: each row along an axis is a row of one of the operands.

Idea. `out[month == k] = rows` writes some rows, which are known. Said as a choice for each element it would read and
write all of `out`, for each month. So it is said which row of which operand each row is, and assignments one after the
other that nobody reads in between are one (`in_a_row`): without what was there before, if nothing of that is left.

Invariant: each operand has its rows along the same axis, and all of the other axes of the result; of each operand, some
row is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from slinky.frontend.gathering import Rows
from slinky.frontend.nodes import Node, Result, View
from slinky.frontend.operations import Contraction


def is_rows(node: Node) -> bool:
    """Whether a node gives an array to rows of which is assigned."""
    return isinstance(node.operation, Contraction) and isinstance(node.operation.function, Rows)


def share_assigned(node: Node) -> float:
    """Of the rows of an array, the share that is assigned to: what is not read of the last operand."""
    numbers = np.frombuffer(_function(node).numbers, np.intp)
    return float(np.count_nonzero(numbers != len(node.operands) - 1) / len(numbers))


def _function(node: Node) -> Rows:
    assert isinstance(node.operation, Contraction)
    assert isinstance(node.operation.function, Rows)
    return node.operation.function


def in_a_row(node: Node, readers: Counter[Result], most: int) -> tuple[Node, list[Node]]:
    """An assignment with those before it that nobody else reads, of `most` operands together; and these."""
    function = _function(node)
    axis, operands, inside = function.axis, list(node.operands), list[Node]()
    numbers, rows = (np.frombuffer(each, np.intp).copy() for each in (function.numbers, function.rows))
    while len(operands) < most:
        old, last = operands[-1], len(operands) - 1
        before = old.result.node
        if not (is_rows(before) and old.is_whole) or readers[old.result] > 1 or _function(before).axis != axis:
            break
        their_numbers, their_rows = (
            np.frombuffer(each, np.intp) for each in (_function(before).numbers, _function(before).rows)
        )
        is_old = numbers == last
        numbers[is_old], rows[is_old] = last + their_numbers[rows[is_old]], their_rows[rows[is_old]]
        operands[-1:] = before.operands
        inside.append(before)
    return _with_rows(node, operands, axis, numbers, rows), inside


def _with_rows(
    node: Node, operands: Sequence[View], axis: int, numbers: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]
) -> Node:
    """An assignment of other operands: of those of which rows are left."""
    used, numbers = np.unique(numbers, return_inverse=True)
    left = [operands[k] for k in used]
    operation = node.operation
    assert isinstance(operation, Contraction)
    labels = (operation.labels[0],) * len(left)
    return node.again(left, attrs.evolve(operation, labels=labels, function=Rows.of(axis, numbers, rows)))
