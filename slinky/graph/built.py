"""What a pipeline was made of, kept at the start of its history: for whoever wants to write it down again."""

from __future__ import annotations

import attrs

from slinky.graph.collecting import Graph
from slinky.ir.statements import Program
from slinky.symbolic.expressions import Condition


@attrs.frozen(eq=False)
class Built:
    """The graph, what was required of it, the name that was given, and the program as it was before any rewrite."""

    graph: Graph
    require: tuple[Condition, ...]
    name: str | None
    program: Program
