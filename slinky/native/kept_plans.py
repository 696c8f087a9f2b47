"""Native plans that processes share: what a plan is printed as is kept beside the libraries that were compiled for it.

Idea. To decide how a program runs, and to print that, takes longer than to load what a compiler made of it. So the plan
tree with its nests is kept, with the texts that were printed of it, by the program, the compiler and the kind of plan.
Funcs and statements in it are those of the program that is given.

Invariant: what is kept stands for what would be printed. So a plan is kept only if all in it that is not slinky's own
can be told in words, and nothing in it stands at an address, as functions of others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from slinky.ir.nesting import funcs_in
from slinky.ir.packing import packed, unpacked
from slinky.ir.statements import Program, walk
from slinky.ir.telling import told
from slinky.kept_answers import Answers
from slinky.native.compiling import Compiler
from slinky.native.entering import NestText
from slinky.native.nests import InNests
from slinky.runtime.buffers import read_only
from slinky.runtime.codegen.generator import Kind
from slinky.runtime.collector import collector_paused
from slinky.runtime.operations import function_of
from slinky.runtime.plan_tree import PlanTree
from slinky.runtime.python_text import PythonText

_ANSWERS = Answers("plans")


@attrs.frozen(eq=False)
class Question:
    """What is asked: all that a plan depends on; the `things` in it that stand for themselves; and the constants of the
    program, as plans read them."""

    words: bytes
    things: Sequence[Any]
    constants: Sequence[Any]


def question(program: Program, kind: Kind, plan: str, made_by: Compiler | None) -> Question | None:
    """What to ask for the plan of a program; None where it depends on what cannot be told."""
    if type(made_by) is not Compiler:
        return None
    things: list[Any] = []
    asked = packed((program, kind, plan, made_by.command, made_by.version, made_by.flags), things)
    words = [told(thing) for thing in things]
    if asked is None or None in words:
        return None
    own = {id(each): each for each in (*walk(program.body), *funcs_in(program))}
    constants = [read_only(each.array) for each in program.constants]
    return Question(b"\0".join([asked, *(repr(each).encode() for each in words)]), [*things, *own.values()], constants)


def find(asked: Question) -> tuple[InNests, PythonText] | None:
    """What is kept of a plan, if it is: its nests, and its source."""
    kept = _ANSWERS.find(asked.words)
    if kept is None:
        return None
    with collector_paused():
        fields, numbers, constants, given, text, general, source = unpacked(kept, asked.things)
        objects = {name: function_of(func.operation) for name, func in fields["callbacks"].items()}
        objects |= {**numbers, **{name: asked.constants[number] for name, number in constants.items()}}
        nests = tuple([NestText(name, remark, of, own, "", "") for name, remark, of, own in given])
    return InNests(PlanTree(**fields, objects=objects), nests, text, lambda: general), source


def keep(asked: Question, found: InNests, source: PythonText) -> None:
    """Keep what was found out of a plan."""
    if any(nest.endings for nest in found.nests):  # functions of others have addresses
        return
    tree = found.tree
    fields = {field.name: getattr(tree, field.name) for field in attrs.fields(PlanTree) if field.name != "objects"}
    values = {name: value for name, value in tree.objects.items() if name not in tree.callbacks}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    constants = {name: _number_of(value, asked.constants) for name, value in arrays.items()}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    given = [(nest.name, nest.remark, nest.given, nest.text) for nest in found.nests]
    things = list(asked.things)
    answer = packed((fields, numbers, constants, given, found.text, found.general(), source), things)
    if answer is not None and len(things) == len(asked.things) and None not in constants.values():
        _ANSWERS.keep(asked.words, answer)


def _number_of(array: Any, constants: Sequence[Any]) -> int | None:
    """Which of the constants an array is."""
    places = [each.__array_interface__ for each in constants]
    return places.index(array.__array_interface__) if array.__array_interface__ in places else None
