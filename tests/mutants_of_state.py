"""What is broken of how functions with a state are traced: effects, objects, classes, trials."""

from __future__ import annotations

from mutants import Mutant, mutants

MUTANTS: list[Mutant] = []

MUTANTS += mutants(
    "slinky/frontend/reading.py",
    ("tests/test_effects_of_functions.py",),
    ("reading: variables around", "for name in sorted(names_of(code).cells & around):", "for name in ():"),
    ("reading: own variables", "names_of(code).cells & around", "names_of(code).cells"),
)

MUTANTS += mutants(
    "slinky/frontend/sizes.py",
    ("tests/test_effects_of_functions.py",),
    ("sizes: of other calls", "and other.questions is not own.questions else", "and False else"),
)

MUTANTS += mutants(
    "slinky/frontend/seeing.py",
    ("tests/test_effects_of_functions.py",),
    (
        "seeing: what is set in there",
        "        self.live[name] = value\n",
        "        super().__setitem__(name, value)\n",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/effects.py",
    ("tests/test_effects_of_functions.py",),
    ("effects: garbage", "    gc.collect()  # what only garbage holds is kept by nobody\n", ""),
    ("effects: lists", "elif isinstance(holder, list):", "elif False:"),
    ("effects: dictionaries", "elif isinstance(holder, dict):", "elif False:"),
    ("effects: scalars", "value[()] if kept.is_scalar else _given_as", "_given_as"),
    (
        "effects: objects",
        'elif hasattr(holder, "__dict__"):',
        "elif False:",
        "the collector names the dictionary of an object where there is one",
    ),
    ("effects: what stays lazy", "kept._trace, kept._cell, kept._index, kept._shape = FREE", "_, _, _, _ = FREE"),
)

MUTANTS += mutants(
    "slinky/frontend/kept_traces.py",
    ("tests/test_effects_of_functions.py",),
    ("traces: what sets something", "effect = reads.effect if self._changes", "effect = None if self._changes"),
    (
        "traces: what changes what it reads",
        "+= not reads.hold()\n            self.give_up",
        "+= 0\n            self.give_up",
    ),
    ("traces: what is kept", "            if settle(trace):\n", "            if False:\n"),
    ("traces: so many kinds", "if key not in self.by_kind and len(self.by_kind) >= KEPT_TRACES:", "if False:"),
)

MUTANTS += mutants(
    "slinky/frontend/kept_traces.py",
    ("tests/test_floats_of_traces.py",),
    ("traces: who catches errors", "self.tells_floats &= takes_stand_ins", "takes_stand_ins"),
    ("traces: libraries", "= how.tells_floats and key is not None and reads.reason is None", "= how.tells_floats"),
)

MUTANTS += mutants(
    "slinky/frontend/jitting.py",
    ("tests/test_effects_of_functions.py",),
    (
        "jitting: twice",
        "            if is_kept:\n                return self._as_written(*given, **named)\n",
        "            if True:\n                return self._as_written(*given, **named)\n",
    ),
    (
        "jitting: twice, in columns",
        "if not (is_kept or traced.written) and isinstance",
        "if False and isinstance",
        "what is in columns and has a state is not in the tests",
    ),
    (
        "jitting: used again",
        "            trial.restart()\n",
        "            pass\n",
        "how long anything takes is not in the tests",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/reals.py",
    ("tests/test_floats_of_traces.py",),
    ("reals: what was asked", "if exactly(question.asked.of(values)) != question.answer:", "if False:"),
    (
        "reals: what stays a float",
        "if type(value) is not kind:\n                    return None",
        "if False:\n                    return None",
    ),
    (
        "reals: what is held",
        "            self.asked(float, (each,))\n        self._made",
        "            pass\n        self._made",
    ),
    (
        "reals: errors",
        "                if type(each) is Real:\n                    self._noted",
        "                if False:\n                    self._noted",
    ),
    ("reals: of other calls", "if value._reals is self else value._known()", "if True else value._known()"),
    ("reals: names of floats", "key = (function, exactly(asked.given))", "key = function"),
    ("reals: what warns", "        self.warns = True\n", "        pass\n"),
    (
        "reals: scalars that warn later",
        "        with _raising():\n            return self._values(leaves)",
        "        return self._values(leaves)",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/trees.py",
    ("tests/test_effects_of_functions.py",),
    (
        "trees: classes",
        'issubclass(type(tree), type) and tree.__module__ in ("builtins", *_MODULES)',
        "issubclass(type(tree), type)",
    ),
    ("trees: own numbers", "kind in _OF_PYTHON or", "isinstance(value, tuple(_OF_PYTHON)) or"),
    ("trees: keys", "(kind_of(key), kind_of(each, with_floats", "(key, kind_of(each, with_floats"),
)

MUTANTS += mutants(
    "slinky/frontend/lying.py",
    ("tests/test_columns.py", "tests/test_effects_of_functions.py"),
    ("lying: columns", "return bool(last >= CACHE_LINE > min(others))", "return False"),
    ("lying: rows", "return bool(last >= CACHE_LINE > min(others))", "return True"),
    (
        "lying: others",
        "any(map(is_in_columns, large)) and all(map(is_reversed, large))",
        "any(map(is_in_columns, large))",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/planned.py",
    ("tests/test_columns.py",),
    (
        "planned: sizes that no array tells",
        "self.untold = untold(nodes, outputs)",
        'self.untold = vars(self).get("untold") or untold(nodes, outputs)',
    ),
)

MUTANTS += mutants(
    "slinky/frontend/columns.py",
    ("tests/test_columns.py",),
    ("columns: C order that is asked for", "set() if rows.trace.asked_for_rows else ", ""),
    ("columns: results that may be in rows", "view.is_whole and view.result in known", "True"),
    ("columns: arguments that are written to", 'return "it writes to arguments"', "pass"),
    ("columns: copies that look at more", " and operation.name in _COPIES", ""),
    ("columns: other axes", "not view.is_woven and axes == list(range(len(view.shape)))", "True"),
    (
        "columns: functions that look at more",
        "isinstance(function, np.ufunc) or function in _IN_THE_SAME_ORDER",
        "True",
    ),
)

MUTANTS += mutants(
    "slinky/frontend/kernels_in_columns.py",
    ("tests/test_columns.py",),
    ("columns: windows", "windows = kernel.windows(rank)[::-1]", "windows = kernel.windows(rank)"),
    ("columns: places in windows", "at(place[::-1])", "at(place)"),
)

MUTANTS += mutants(
    "slinky/frontend/assembling.py",
    ("tests/test_columns.py",),
    ("columns: rules at the edges", "None if self.rules is None else self.rules[::-1])", "self.rules)"),
    ("columns: counts", "self.counts[::-1]", "self.counts"),
    ("columns: widths", "widths=self.widths[::-1]", "widths=self.widths"),
)

MUTANTS += mutants(
    "slinky/frontend/operations.py",
    ("tests/test_columns.py",),
    ("columns: axes that are wide", "wide=self._wide_in_reverse(shape)", "wide=self.wide"),
    ("columns: wide axes known", "d in self.wide if d > first else not are_same(1, shape[d])", "True"),
)

MUTANTS += mutants(
    "slinky/frontend/traced.py",
    ("tests/test_classes_of_containers.py",),
    ("traced: the class of containers", " or self.trace.asked_for_class or held", " or held"),
)

STATE, ALONE = "tests/test_state_of_objects.py", "tests/test_state_left_alone.py"
MUTANTS += mutants(
    "slinky/frontend/kept_traces.py",
    (STATE, ALONE),
    (
        "state: of what nothing stands for",
        "if effect is None and reads.sets and (key is None or reads.reason is not None):",
        "if False:",
    ),
    ("state: another in each call", "                reads.sets_anew(name)\n", ""),
    ("state: another constant", "if (name := changing(taken)) is not None:", "if (name := None) is not None:"),
    ("state: arrays that share memory", "if traced.shares_otherwise and isinstance", "if False and isinstance"),
    ("state: calls that fail", "is_undone = self._takes or bool(reads.sets)", "is_undone = False"),
    ("state: writes that fail", "is_undone = self._takes or bool(reads.sets)", "is_undone = bool(reads.sets)"),
    (
        "state: arrays of objects that are shared",
        "if not may_be_written(value, [*others, *reads.arrays()]):",
        "if not may_be_written(value, []):",
    ),
    (
        "state: arrays beside",
        "may_be_written(value, [*others, *reads.arrays()])",
        "may_be_written(value, others)",
    ),
)
MUTANTS += mutants(
    "slinky/frontend/stand_ins.py",
    (STATE, ALONE),
    ("state: classes that watch", "if not sets_plainly(kind, each)), None)", "if False), None)"),
    (
        "state: lists that are changed",
        "                if not is_same_tree(_content(found), before):\n",
        "                if False:\n",
    ),
    (
        "state: what is deleted",
        "if not old.keys() <= now.keys():",
        "if False:",
        "code that deletes something says so, and is called as it is",
    ),
    ("state: held by others", "            set_attributes(found, [(name, None) for name in new])\n", ""),
)
MUTANTS += mutants(
    "slinky/frontend/opened.py",
    (STATE, ALONE),
    ("state: classes that set", "if kind.__setattr__ is not object.__setattr__:", "if False:"),
    ("state: properties", 'or not hasattr(type(found), "__set__")', "or True"),
)
MUTANTS += mutants(
    "slinky/frontend/setting.py",
    (STATE, ALONE),
    ("state: arguments by name", "for name, each in named.items() if name != CAPTURED]", "for name, each in ()]"),
    (
        "state: what is captured",
        "captured = [named[CAPTURED]] if CAPTURED in named else []",
        "captured: list[Any] = []",
    ),
    ("state: all that is added", "+ sum(place.added)", "+ place.added[0]"),
    ("state: what is added", "if type(number) is not int:", "if False:"),
)
MUTANTS += mutants(
    "slinky/frontend/opening.py",
    (STATE, ALONE),
    ("state: integers alone", "if name in counted and type(each) is int:", "if name in counted:"),
    ("state: what others ask", "self._reads.counted - self._reads.said", "self._reads.counted"),
)
MUTANTS += mutants(
    "slinky/frontend/code_names.py",
    (STATE, ALONE),
    ("state: variables that are set", "return None if any(found in each", "return None if False and any(found in each"),
    ("state: what is not added", 'return added.argrepr == "+=" and', "return"),
)
MUTANTS += mutants(
    "slinky/frontend/reading.py",
    (STATE, ALONE),
    (
        "state: methods of classes",
        "is_own = function in self._methods and",
        "is_own = function is not None and",
    ),
)
MUTANTS += mutants(
    "slinky/frontend/traced.py",
    (STATE, ALONE),
    (
        "state: written when all is computed",
        "read = {*(number for number, _ in self.sources), *taken}",
        "read = {number for number, _ in self.sources}",
    ),
    ("state: arrays that are read", "*self.trace.copied, *self.trace.beside()]", "*self.trace.copied]"),
)
MUTANTS += mutants(
    "slinky/frontend/jitting.py",
    (STATE, ALONE),
    ("state: what was refused", "if effect is not None:  # for which", "if False:  # for which"),
    ("state: containers", "if self._donate or self._traces.reads_now().sets:", "if self._donate:"),
    (
        "state: what nothing stands for now",
        "        if reads.sets and reads.reason is not None:\n",
        "        if False:\n",
        "of no function it is known that it comes there: it is refused where it is read",
    ),
)
