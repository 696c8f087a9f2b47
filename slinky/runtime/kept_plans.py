"""Plans that processes share: the trees of programs, and the source that was printed of them.

Idea. To decide how a program runs takes several times as long as to read what was decided. So the plan tree of a
variant is kept, with its source, by the program and the variant. Funcs, statements and constants in it are those of the
program that is given; of a callback, a plan knows nothing but how it is called.

Invariant: what is read is what would be made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.ir import telling
from slinky.ir.nesting import funcs_in
from slinky.ir.packing import packed, unpacked
from slinky.ir.statements import Call, Program, walk
from slinky.kept_answers import Answers, is_on
from slinky.runtime.buffers import read_only
from slinky.runtime.codegen.generator import Kind
from slinky.runtime.codegen.moving import is_mapped_twice
from slinky.runtime.operations import function_of, only_reads, takes_out
from slinky.runtime.plan_tree import PlanTree
from slinky.runtime.python_text import PythonText

_ANSWERS = Answers("plans")

LEAST_CALLS = 4
"""Plans of programs with fewer calls are made each time: they take few milliseconds."""


@attrs.frozen(eq=False)
class Question:
    """What is asked: all that a plan depends on; the `things` in it that stand for themselves; and the constants of the
    program, as plans read them."""

    words: bytes
    things: Sequence[Any]
    constants: Sequence[Any]


def question(program: Program, kind: Kind) -> Question | None:
    """What to ask for the plan of a variant of a program; None where it is short, or cannot be kept."""
    if not is_on() or sum(isinstance(each, Call) for each in walk(program.body)) < LEAST_CALLS:
        return None
    calls = [(only_reads(func.operation), takes_out(func.operation)) for func in funcs_in(program)]
    return asked_about(program, (kind, calls), lambda thing: telling.told(thing) or ("thing", type(thing).__name__))


def asked_about(program: Program, further: Any, words_for: Callable[[Any], Any]) -> Question | None:
    """What to ask about a program, with whatever else matters; None where there are no words for a thing in it."""
    things: list[Any] = []
    words = telling.question((program, is_mapped_twice(), further), things, words_for)
    if words is None:
        return None
    own = {id(each): each for each in (*walk(program.body), *funcs_in(program))}
    constants = [read_only(each.array) for each in program.constants]
    return Question(words, [*things, *own.values()], constants)


def find(asked: Question) -> tuple[PlanTree, PythonText, Any] | None:
    """What is kept of a plan, if it is: its tree, its source, and whatever else was kept with it."""
    kept = _ANSWERS.find(asked.words)
    if kept is None:
        return None
    fields, numbers, constants, text, further = unpacked(kept, asked.things)
    objects = {name: function_of(func.operation) for name, func in fields["callbacks"].items()}
    objects |= {**numbers, **{name: asked.constants[number] for name, number in constants.items()}}
    return PlanTree(**fields, objects=objects), text, further


def keep(asked: Question, tree: PlanTree, text: PythonText, further: Any = None) -> None:
    """Keep what was found out of a plan, if it can be."""
    fields = {field.name: getattr(tree, field.name) for field in attrs.fields(PlanTree) if field.name != "objects"}
    values = {name: value for name, value in tree.objects.items() if name not in tree.callbacks}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    constants = {name: _number_of(value, asked.constants) for name, value in arrays.items()}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    things = list(asked.things)
    answer = packed((fields, numbers, constants, text, further), things)
    if answer is not None and len(things) == len(asked.things) and None not in constants.values():
        _ANSWERS.keep(asked.words, answer)


def _number_of(array: Any, constants: Sequence[Any]) -> int | None:
    """Which of the constants an array is."""
    places = [each.__array_interface__ for each in constants]
    return places.index(array.__array_interface__) if array.__array_interface__ in places else None
