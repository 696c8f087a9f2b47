"""Native plans that processes share: what a plan is printed as is kept beside the libraries that were compiled for it.

Idea. To decide what of a program is C, and to print that, takes longer than to load what a compiler made of it. So the
plan tree with its nests is kept, as that of a plan in Python is, with the C that was printed of it, by the compiler and
the kind of plan, too.

Invariant: what is kept stands for what would be printed. So a plan is kept only if all in it that is not slinky's own
can be told in words, and nothing in it stands at an address, as functions of others do.
"""

from __future__ import annotations

from slinky.ir.statements import Program
from slinky.ir.telling import told
from slinky.kept_answers import is_on
from slinky.native.compiling import Compiler
from slinky.native.entering import NestText
from slinky.native.nests import InNests
from slinky.runtime import kept_plans
from slinky.runtime.codegen.generator import Kind
from slinky.runtime.collector import collector_paused
from slinky.runtime.kept_plans import Question
from slinky.runtime.python_text import PythonText


def question(program: Program, kind: Kind, plan: str, made_by: Compiler) -> Question | None:
    """What to ask for the plan of a program; None where it depends on what cannot be told."""
    if not is_on() or type(made_by) is not Compiler:
        return None
    return kept_plans.asked_about(program, (kind, plan, made_by.command, made_by.version, made_by.flags), told)


def find(asked: Question) -> tuple[InNests, PythonText] | None:
    """What is kept of a plan, if it is: its nests, and its source."""
    with collector_paused():
        found = kept_plans.find(asked)
        if found is None:
            return None
        tree, source, (given, text, general) = found
        nests = tuple([NestText(name, remark, of, own, "", "") for name, remark, of, own in given])
    return InNests(tree, nests, text, lambda: general), source


def keep(asked: Question, found: InNests, source: PythonText) -> None:
    """Keep what was found out of a plan."""
    if any(nest.endings for nest in found.nests):  # functions of others have addresses
        return
    given = [(nest.name, nest.remark, nest.given, nest.text) for nest in found.nests]
    kept_plans.keep(asked, found.tree, source, (given, found.text, found.general()))
