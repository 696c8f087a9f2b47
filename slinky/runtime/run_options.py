"""How a program is run: what `Pipeline.run` is told beside the arguments, as one immutable object."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from slinky.errors import ArgumentError, cited
from slinky.ir.given import is_flag
from slinky.runtime.statistics import Hooks

Checked: TypeAlias = bool | Literal["first"]
"""What is checked: everything, that the first call of each func writes its outputs, or nothing."""


@attrs.frozen(kw_only=True)
class RunOptions:
    """How to run.

    * `checked`: see `Checked`.
    * `hooks` are told of calls and allocations.
    * `threads`: how many threads a parallel loop uses that does not say it itself; None is as many as there are.
    * `timed`: whether the statistics say how long each func took.
    * `progress`: whether a bar shows the share of elements computed.

    Raises `ArgumentError` for hooks, checks and flags that are none.
    """

    checked: Checked = False
    hooks: Hooks = attrs.field(factory=Hooks)
    threads: int | None = None
    timed: bool = False
    progress: bool = False

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.hooks, Hooks):
            raise ArgumentError(f"hooks must be sl.Hooks, got {cited(self.hooks)}")
        if not _is_checked(self.checked):
            raise ArgumentError(f"checked must be False, True or 'first', got {cited(self.checked)}")
        for what, flag in (("timed", self.timed), ("progress", self.progress)):
            if not is_flag(flag):
                raise ArgumentError(f"{what} must be True or False, got {cited(flag)}")


def _is_checked(given: object) -> bool:
    return isinstance(given, bool) or (isinstance(given, str) and given == "first")
