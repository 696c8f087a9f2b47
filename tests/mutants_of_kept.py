"""What is broken of what processes keep for each other: answers, programs as bytes, schedules and plans."""

from __future__ import annotations

from mutants import Mutant, mutants

ANSWERS, PACKING = "tests/test_kept_answers.py", "tests/test_packing.py"
SCHEDULES, PLANS, NATIVE = (f"tests/test_kept_{name}.py" for name in ("schedules", "python_plans", "plans"))
CONVERTING = "tests/test_native_converting.py"

MUTANTS: list[Mutant] = []

MUTANTS += mutants(
    "slinky/kept_answers.py",
    (ANSWERS,),
    (
        "answers: the question as a whole",
        "return told[end:] if told[_LENGTH:end] == asked else None",
        "return told[end:]",
    ),
    ("answers: what was cut short", "if hashlib.sha256(told).digest() != digest:", "if False:"),
    ("answers: files of others", "path.is_file() and is_of(path, this_user())", "path.is_file()"),
    ("answers: folders of others", "if is_of(path.parent, this_user()) and path.is_file()", "if path.is_file()"),
    ("answers: pipes", "and path.is_file() and", "and"),
    (
        "answers: written to folders of others",
        "            if is_of(path.parent, this_user()):\n",
        "            if True:\n",
    ),
    (
        "answers: the switch",
        'return os.environ.get(SWITCH) != "0" and _code() is not None',
        "return _code() is not None",
    ),
    ("answers: which code", "        return code + question if is_on()", "        return question if is_on()"),
    ("answers: sizes of files", "{found.st_size} {found.st_mtime_ns}", "{found.st_mtime_ns}"),
    ("answers: times of files", "{found.st_size} {found.st_mtime_ns}", "{found.st_size}"),
    ("answers: code that came later", "if max(found.st_mtime_ns, found.st_ctime_ns) >= _BEGAN:", "if False:"),
    ("answers: NumPy's version", "[sys.version, np.__version__, *sorted(files)]", "[sys.version, *sorted(files)]"),
    ("answers: rooms of the code", "waiting.append(entry.path)", "pass"),
    ("answers: those that are asked for stay", "                os.utime(path)\n", ""),
    ("answers: no more than so many", "for each in kept[:-MOST]:", "for each in ():"),
)

MUTANTS += mutants(
    "slinky/ir/packing.py",
    (PACKING,),
    ("packing: things that are there", "number = self._numbers.get(id(given))", "number = None"),
    ("packing: texts by what they say", "if kind is str:", "if False:"),
    ("packing: dtypes by name", "return (np.dtype, (dtype.str,)) if is_named else", "return"),
    ("packing: dtypes of fields", "is_named = dtype.names is None and", "is_named ="),
    (
        "packing: callables are things",
        'if _is_of(kind.__module__, "slinky") and not callable(given):',
        'if _is_of(kind.__module__, "slinky"):',
    ),
    ("packing: other packages", 'if root in ("slinky", "numpy") or', "if True or"),
    (
        "packing: names that say nothing",
        "is_known and getattr(sys.modules.get(module), name, None) is given",
        "is_known",
    ),
)

MUTANTS += mutants(
    "slinky/ir/telling.py",
    (PACKING, NATIVE),
    (
        "telling: what somebody else has written",
        "    return None if None in found else (name, *found)",
        "    return (name, *found)",
    ),
    (
        "telling: names that are others'",
        "return (module, name) if found is thing else None",
        "return (module, name)",
    ),
    ("telling: other packages", "if not isinstance(module, str) or not _is_known(module):", "if False:"),
    ("telling: words in questions", "*(repr(each).encode() for each in words)]", "]"),
    ("telling: things without words", "if asked is None or None in words:", "if asked is None:"),
    ("telling: zeros", 'return "float", thing.hex()', 'return "float", thing + 0.0'),
    ("telling: shapes", "return type(thing).__name__, thing.shape, str", "return type(thing).__name__, str"),
    ("telling: large arrays", "or thing.nbytes > MOST_BYTES", ""),
    ("telling: expressions", 'return "expression", packed(thing, [])', 'return "expression", str(thing)'),
)

MUTANTS += mutants(
    "slinky/sched/kept_schedules.py",
    (SCHEDULES,),
    (
        "schedules: sizes",
        "question((p.program, sizes, numbers, limits), others, _told)",
        "question((p.program, numbers, limits), others, _told)",
    ),
    (
        "schedules: scalars",
        "question((p.program, sizes, numbers, limits), others, _told)",
        "question((p.program, sizes, limits), others, _told)",
    ),
    (
        "schedules: limits",
        "question((p.program, sizes, numbers, limits), others, _told)",
        "question((p.program, sizes, numbers), others, _told)",
    ),
    ("schedules: what is called", "code.co_code, code.co_names, inner", "code.co_names, inner"),
    ("schedules: back ends of others", "or not is_own(backend) or None in sizes", "or None in sizes"),
    ("schedules: what is no array", "return given if is_shape else None", "return ()"),
)

MUTANTS += mutants(
    "slinky/runtime/kept_plans.py",
    (PLANS, NATIVE),
    ("kept plans: how callbacks are called", "(only_reads(func.operation), takes_out(func.operation))", "()"),
    (
        "kept plans: memory mapped twice",
        "question((program, is_mapped_twice(), further), things, words_for)",
        "question((program, further), things, words_for)",
    ),
    (
        "kept plans: whatever else",
        "question((program, is_mapped_twice(), further), things, words_for)",
        "question((program, is_mapped_twice()), things, words_for)",
    ),
    ("kept plans: which constants", "asked.constants[number] for name", "asked.constants[0] for name"),
)

MUTANTS += mutants(
    "slinky/native/kept_plans.py",
    (NATIVE,),
    (
        "kept native plans: compilers",
        "made_by.command, made_by.version, made_by.flags), told",
        "made_by.command), told",
    ),
    ("kept native plans: the kind", "(kind, plan, made_by.command", "(kind, made_by.command"),
)

MUTANTS += mutants(
    "slinky/frontend/to_native.py",
    (NATIVE,),
    ("moves: what is called", "lambda thing: told(thing) or type(thing).__name__)", "lambda thing: 1)"),
    ("moves: without a compiler", "if compiler() is not None and (asked :=", "if (asked :="),
    (
        "moves: nobody waits",
        "        with waiting_for_none():\n            return True,",
        "        if True:\n            return True,",
    ),
)

MUTANTS += mutants(
    "slinky/native/converting.py",
    (CONVERTING,),
    (
        "converting: integers as such",
        "is_one = len(set(narrow.values())) == 1 and not others & set(narrow)",
        "is_one = True",
    ),
    ("converting: places that are far", "&& high - low <= {NEAREST * size}) {{", ") {{"),
    (
        "converting: short rows",
        "if (n >= {SHORTEST} && high",
        "if (high",
        "five short arrays that lie so near to each other lie in one block of memory, and so does what is between them",
    ),
    ("converting: before the first", "strip + (d_{name} - low) / {size};", "strip + d_{name} / {size};"),
    ("converting: what is around", "stop - begin + (high - low) / {size};", "stop - begin;"),
    ("converting: few places", "if is_one and len(narrow) >= FEWEST else ()", "if is_one and narrow else ()"),
)
