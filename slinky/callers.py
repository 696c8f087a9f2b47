"""Who has called slinky: warnings are ascribed to the first line that is neither slinky's nor printed by it.

Invariant: nothing is counted unless somebody is to be warned.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PRINTED = ("<plan ", "<entry of a plan>", "<formula>", "<nest>", "<C function>")
"""How the names of files begin that nobody has written."""


def level() -> int:
    """The `stacklevel` at which a function that warns finds whoever has called slinky."""
    frame: FrameType | None = sys._getframe(1)
    count = 1
    while frame is not None and frame.f_code.co_filename.startswith((_HERE, *_PRINTED)):
        frame, count = frame.f_back, count + 1
    return count
