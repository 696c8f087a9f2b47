"""What is broken of how functions with a state are traced: effects, objects, classes, trials."""

from __future__ import annotations

from mutants import Mutant, mutants

MUTANTS: list[Mutant] = []

MUTANTS += mutants(
    "slinky/frontend/objects.py",
    ("tests/test_objects.py",),
    ("objects: operators", 'any(n[:2] == "__" and n not in _HARMLESS for n in vars(each))', "False"),
    ("objects: equality", "if not all(_is_of_data_class(each, name) for name in _OF_DATA_CLASSES):", "if False:"),
    ("objects: classes", "    return (kind, *found)\n", "    return tuple(found)\n"),
    (
        "objects: names",
        "found.append((name, content(own)))",
        'found.append(("", content(own)))',
        "values come in the order of names",
    ),
    ("objects: circles", "depth > _DEEPEST or not", "not"),
    ("objects: properties", "for each in (value.fget, value.fset, value.fdel):", "for each in ():"),
    ("objects: methods of classes", "yield from functions_in(value.__func__)", "return"),
    ("objects: traced methods", 'function = getattr(value, "__slinky_function__", value)', "function = value"),
)

MUTANTS += mutants(
    "slinky/frontend/reading.py",
    ("tests/test_objects.py", "tests/test_effects_of_functions.py"),
    (
        "reading: what stands in a class",
        "partial(tuple, vars(each)), _content(tuple(vars(each)))",
        "partial(tuple, ()), _content(())",
        "what a class has is looked at by name, too",
    ),
    ("reading: methods", "            self._methods()\n\n    def _methods", "\n    def _methods"),
    (
        "reading: objects in objects",
        "        for own in vars(value).values():\n            self.look_at(own)\n",
        "",
        "parts of the tests have no methods",
    ),
    ("reading: by text", "or (self._asks_by_text and", "or (False and"),
    (
        "reading: members that are data",
        "            self._content(read, value, name)\n\n    def _refuse",
        "            pass\n\n    def _refuse",
    ),
    ("reading: variables around", "for name in sorted(names_of(code).cells & around):", "for name in ():"),
    ("reading: own variables", "names_of(code).cells & around", "names_of(code).cells"),
    (
        "reading: attributes of numbers",
        "isinstance(value, _NUMBERS) and not has_attributes(value)",
        "isinstance(value, _NUMBERS)",
    ),
    (
        "reading: attributes of containers",
        "    if has_attributes(value):\n        raise",
        "    if False:\n        raise",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/effects.py",
    ("tests/test_effects_of_functions.py",),
    ("effects: garbage", "    gc.collect()  # what only garbage holds is kept by nobody\n", ""),
    ("effects: lists", "isinstance(holder, (list, deque))", "isinstance(holder, deque)"),
    ("effects: dictionaries", "elif isinstance(holder, dict):", "elif False:"),
    ("effects: scalars", "value[()] if kept.is_scalar else value", "value"),
    (
        "effects: objects",
        'elif hasattr(holder, "__dict__"):',
        "elif False:",
        "the collector names the dictionary of an object where there is one",
    ),
    ("effects: what stays lazy", "kept._trace, kept._cell, kept._index, kept._shape = FREE", "_, _, _, _ = FREE"),
)

MUTANTS += mutants(
    "slinky/frontend/jitting.py",
    ("tests/test_effects_of_functions.py", "tests/test_objects.py"),
    ("jitting: what sets something", "effect = reads.effect if self._changes", "effect = None if self._changes"),
    (
        "jitting: what changes what it reads",
        "+= not reads.hold()\n            self._give_up",
        "+= 0\n            self._give_up",
    ),
    ("jitting: what is kept", "            if settle(trace):\n", "            if False:\n"),
    (
        "jitting: twice",
        "return self._as_written(*given, **named) if is_kept else",
        "return self._as_written(*given, **named) if True else",
    ),
    (
        "jitting: twice, in columns",
        "if not (is_kept or traced.written) and isinstance",
        "if False and isinstance",
        "what is in columns and has a state is not in the tests",
    ),
    ("jitting: so many kinds", "if kind not in self._traces and len(self._traces) >= KEPT_TRACES:", "if False:"),
    ("jitting: classes of objects", "            reads.look_at(leaf)\n", "            pass\n"),
    (
        "jitting: used again",
        "            trial.restart()\n",
        "            pass\n",
        "how long anything takes is not in the tests",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/trees.py",
    ("tests/test_effects_of_functions.py",),
    ("trees: classes", 'isinstance(tree, type) and tree.__module__ in ("builtins", "numpy")', "isinstance(tree, type)"),
    (
        "trees: attributes",
        "isinstance(tree, (*CONSTANTS, np.dtype, slice)) and not has_attributes(tree)",
        "isinstance(tree, (*CONSTANTS, np.dtype, slice))",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/running.py",
    ("tests/test_effects_of_functions.py",),
    ("running: columns", "return bool(last >= _CACHE_LINE > min(others))", "return False"),
    ("running: rows", "return bool(last >= _CACHE_LINE > min(others))", "return True"),
)

MUTANTS += mutants(
    "slinky/frontend/traced.py",
    ("tests/test_classes_of_containers.py",),
    ("traced: the class of containers", " or self.trace.asked_for_class:", ":"),
)
