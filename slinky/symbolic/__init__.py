"""Integer expressions, intervals and boxes, with canonical forms and sound proofs. Knows nothing of programs."""

from slinky.symbolic import nodes as nodes  # first: the nodes and their constructors need each other
