"""What functions see in the place of NumPy while they are traced: the traced one, and those that it calls.

Idea. A function is called with globals in which NumPy is the namespace of lazy arrays (`namespaces`), real arrays may
be indexed by lazy ones (`indexed`), and builtins that ask for classes, and `math`, know what stands for something
(`kinds`, `reals`). What it calls is to see the same, wherever it stands: each function that was read of it is made
anew, and is what the others come to by its name, as an attribute of a module, in a closure, or where `sl.jit` made
something of it.

Invariant: nothing that people's modules hold is changed; where a function sets globals, it is called as it is.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import takewhile
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from slinky.frontend.code_names import names_of
from slinky.frontend.given import lazy_arrays
from slinky.frontend.indexed import indexed_array, is_indexed, own_array
from slinky.frontend.kinds import BUILTINS, is_just_called
from slinky.frontend.namespaces import TracedNumpy, is_replaced
from slinky.frontend.paths import all_code, passed_on
from slinky.frontend.places import instructions_of
from slinky.frontend.reading import function_of
from slinky.frontend.reals import MATH, OF_MATH, has_reals
from slinky.frontend.telling import goes_by_names, tells_apart
from slinky.frontend.tracing import Trace
from slinky.frontend.trusted import is_trusted
from slinky.ir.given import is_module


class Sight:
    """How functions see what they come to while they are traced."""

    def __init__(self, function: Callable[..., Any], read: Iterable[FunctionType], trace: Trace) -> None:
        """A function, and what was `read` of those that it calls."""
        self._function = function
        self._together = seeing_together(function, read) if type(function) is FunctionType else []
        self._trace = trace
        self._found: dict[FunctionType, FunctionType] = {}
        self._seen: list[Globals] = []
        self._others: Mapping[int, Any] = {}
        self._standing: dict[int, Any] = {}
        people_s = [each for each in read if _is_of_people(each)]
        passed = [value for value in passed_on(people_s) if is_module(value)]
        self.is_whole = set(people_s) <= set(self._together) and not any(_is_people_s(each.__name__) for each in passed)
        """Whether they come to nothing of people's own but what they see so."""

    def at(self, value: Any) -> Any:
        """What stands for a function that is given, or is held by an object."""
        inner = function_of(value)
        if not isinstance(inner, FunctionType) or inner not in self._found:
            return value
        return self._found[inner] if inner is value else _SeenJit(value, self._found[inner])

    def function(self, others: Mapping[int, Any], stand: Callable[[], dict[int, Any]]) -> Callable[..., Any]:
        """The function as it sees lazy arrays' NumPy; and, in the place of `others`, by their identities, what is made
        to `stand` there when functions are known."""
        if not self._together:
            stand()
            return self._function
        namespace = TracedNumpy.of(self._trace)
        self._seen = [_seen_globals(functions, namespace) for functions in _by_module(self._together)]
        self._others, self._standing = others, {}
        looks = _looks(self._together, self._seen, self._found, others, self._standing)
        _make(self._together, self._seen, self._found, looks)
        self._standing.update(stand())
        _fill(self._together, self._seen, self._found, looks)
        return self._found[self._function]  # type: ignore[index]

    def end(self) -> None:
        """Have functions that somebody keeps see what others stood for, arrays among them."""
        own = {id(standing): self._others[identity] for identity, standing in self._standing.items()}
        self._standing.clear()
        for names in self._seen:
            for name in [name for name, value in names.items() if id(value) in own or own_array(value) is not value]:
                dict.pop(names, name)
        for each in self._found.values():
            for cell in each.__closure__ or ():
                value = _contents(cell)
                if (found := own.get(id(value), own_array(value))) is not value:
                    cell.cell_contents = found


def _contents(cell: CellType) -> Any:
    """What a variable holds; None if it holds nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _by_module(functions: Iterable[FunctionType]) -> list[list[FunctionType]]:
    found: dict[int, list[FunctionType]] = {}
    for each in functions:
        found.setdefault(id(each.__globals__), []).append(each)
    return list(found.values())


def seeing_together(function: FunctionType, read: Iterable[FunctionType]) -> list[FunctionType]:
    """The functions that are to see what is put in the place of NumPy: one, and those that it calls, in whatever module
    of people's own; none if it sets globals, which must be those that all others see, or if one tells NumPy or another
    of them from what is put in its place."""
    own = called_by(function)
    if any(map(_writes, own)) or goes_by_names(function):
        return []
    others = [each for each in read if each not in own and _is_of_people(each) and not _writes(each)]
    found = [each for each in own + others[:MOST_FOLLOWED] if not goes_by_names(each)]
    names = frozenset(found)
    return [] if any(tells_apart(each, lambda value: _is_replaced(value, names)) for each in found) else found


def _is_replaced(value: Any, functions: Container[FunctionType]) -> bool:
    """Whether something else is seen for a value, where these functions are others."""
    inner = function_of(value)
    if inner is not None:
        return inner in functions
    return is_replaced(value) or is_indexed(value) or _of_math(value) is not None


MOST_FOLLOWED = 256
"""How many functions of other modules see it: more are those of a library."""


def _writes(function: FunctionType) -> bool:
    return any(names_of(code).writes for code in all_code(function.__code__))


def _is_of_people(function: FunctionType) -> bool:
    """Whether a function is of a module that is neither Python's nor trusted to hand over to lazy arrays."""
    return _is_people_s(str(function.__globals__.get("__name__", "")))


def _is_people_s(module: str) -> bool:
    return module.partition(".")[0] not in sys.stdlib_module_names and not is_trusted(module)


def _seen_globals(functions: Sequence[FunctionType], namespace: TracedNumpy) -> Globals:
    """What functions of one module see in the place of NumPy, of `math`, and of builtins."""
    live = functions[0].__globals__
    asked = names_spoken(functions) & BUILTINS.keys() - live.keys()
    own: dict[str, Any] = {name: BUILTINS[name] for name in asked if is_meant(name, functions)}
    return Globals(live, own, namespace)


_CLASSES = ("float", "type")
"""Builtins that are classes, of which something else may be asked than to be called."""


def is_meant(name: str, functions: Iterable[FunctionType]) -> bool:
    """Whether functions mean by a builtin's name what it is called for."""
    codes = (code for each in functions for code in all_code(each.__code__))
    return name not in _CLASSES or is_just_called(name, codes)


def _of_math(value: Any) -> Any:
    """What a traced function sees for `math`, or for a function of it; None for anything else."""
    if value is math:
        return MATH
    return OF_MATH.get(value) if type(value) is BuiltinFunctionType else None


class Globals(dict[str, Any]):
    """The globals that a traced function sees: some of its own, and for the others what its module has, now."""

    def __init__(self, live: dict[str, Any], own: dict[str, Any], namespace: TracedNumpy | None = None) -> None:
        super().__init__({**{name: value for name, value in live.items() if name.startswith("__")}, **own})
        self.live = live
        self.own = frozenset(own)
        self.namespace = namespace
        """The NumPy that is seen, also in modules that are."""

    def import_as(self, at: Callable[[Any], Any]) -> None:
        """Have functions that are made from now on see modules that they import `at` a look."""

        def importing(*given: Any, **named: Any) -> Any:
            return at(builtins.__import__(*given, **named))

        super().__setitem__("__builtins__", {**vars(builtins), "__import__": importing})

    def __missing__(self, name: str) -> Any:
        return self.live[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.live[name] = value


def may_catch(function: Callable[..., Any], read: Iterable[FunctionType]) -> bool:
    """Whether a function, or one that is `read` of those that it calls, goes on after errors of any kind."""
    functions = [function, *read] if type(function) is FunctionType else list(read)
    return any(_catches(code, ()) for each in functions for code in all_code(each.__code__))


def takes_stand_ins(function: Callable[..., Any], read: Iterable[FunctionType]) -> bool:
    """Whether a function may be given something that stands for a float, with all that is `read` of what it calls. Not
    where one goes on after errors of others than arithmetic: such may be raised where the float raises none. Nor where
    one asks for the `type`, and sees Python's, which tells them apart."""
    read = list(read)
    seen = _by_module(seeing_together(function, read)) if type(function) is FunctionType else []
    knowing = {each for functions in seen if is_meant("type", functions) for each in functions}
    for each in read:
        codes = list(all_code(each.__code__))
        asks = each not in knowing and any("type" in names_of(code).globals for code in codes)
        if asks or any(map(_catches, codes)):
            return False
    return True


_OF_ARITHMETIC = frozenset(["ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"])
_NAMING = ("BUILD_TUPLE", "LOAD_GLOBAL", "LOAD_NAME")


def _catches(code: CodeType, others: Iterable[str] = _OF_ARITHMETIC) -> bool:
    """Whether code catches errors but for those `others`."""
    names = names_of(code)
    if "suppress" in names.globals or "suppress" in names.attributes:
        return True
    done = [each for each in instructions_of(code) if each.opname != "CACHE"]
    for k, each in enumerate(done):
        if each.opname == "PUSH_EXC_INFO" and done[k + 1].opname == "POP_TOP":
            return True  # whatever it is
        if each.opname in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
            named = list(takewhile(lambda i: i.opname in _NAMING, reversed(done[:k])))
            if not named or {i.argval for i in named if i.opname != "BUILD_TUPLE"}.difference(others):
                return True
    return False


def called_by(function: FunctionType) -> list[FunctionType]:
    """A function, and those of its module that it calls by name, and so on."""
    found = {function: None}
    waiting = [function]
    while waiting:
        for name in sorted(_globals_of(waiting.pop())):
            value = function.__globals__.get(name)
            if type(value) is FunctionType and value.__globals__ is function.__globals__ and value not in found:
                found[value] = None
                waiting.append(value)
    return list(found)


def names_spoken(functions: Iterable[FunctionType]) -> frozenset[str]:
    """The globals that functions speak of."""
    return frozenset(name for each in functions for name in _globals_of(each))


def _globals_of(function: FunctionType) -> set[str]:
    return {name for code in all_code(function.__code__) for name in names_of(code).globals}


def rebuilt(functions: Collection[FunctionType], seen: Sequence[Globals]) -> dict[FunctionType, FunctionType]:
    """Functions with other globals, each with those of its module, by which they also see each other: by their names,
    as attributes of modules, and in closures."""
    found: dict[FunctionType, FunctionType] = {}
    looks = _looks(functions, seen, found, {}, {})
    _make(functions, seen, found, looks)
    _fill(functions, seen, found, looks)
    return found


_Looks = dict[int, "_Looking"]
"""How the functions of each module look at what they come to, by the identity of its globals."""


def _looks(
    functions: Collection[FunctionType],
    seen: Sequence[Globals],
    found: dict[FunctionType, FunctionType],
    others: Container[int],
    standing: Mapping[int, Any],
) -> _Looks:
    among = frozenset(functions)
    passed = frozenset(id(value) for value in passed_on(functions) if is_module(value))
    return {id(names.live): _Looking(among, found, passed, names.namespace, others, standing) for names in seen}


def _make(
    functions: Collection[FunctionType],
    seen: Sequence[Globals],
    found: dict[FunctionType, FunctionType],
    looks: _Looks,
) -> None:
    """Put functions into `found` whose globals and variables are still to be filled."""
    by_module = {id(names.live): names for names in seen}
    for each in functions:
        own_names, look = by_module[id(each.__globals__)], looks[id(each.__globals__)]
        if own_names.namespace is not None and any(names_of(code).imports for code in all_code(each.__code__)):
            own_names.import_as(look.at)
        found[each] = _with_cells(each, own_names, look)


def _fill(
    functions: Collection[FunctionType],
    seen: Sequence[Globals],
    found: dict[FunctionType, FunctionType],
    looks: _Looks,
) -> None:
    """Have functions see each other, and what stands for anything else."""
    for each, new in found.items():
        look = looks[id(each.__globals__)]
        for cell, own in zip(new.__closure__ or (), each.__closure__ or (), strict=True):
            if cell is not own:
                cell.cell_contents = look.at(own.cell_contents)
        vars(new).update({name: look.at(value) for name, value in vars(each).items()})
    for names in seen:
        look = looks[id(names.live)]
        own_functions = [each for each in functions if each.__globals__ is names.live]
        for name in names_spoken(own_functions) & names.live.keys() - names.own:
            value = names.live[name]
            if (other := look.at(value)) is not value:
                dict.__setitem__(names, name, other)


def _with_cells(function: FunctionType, names: Globals, look: _Looking) -> FunctionType:
    """A function with other globals, and other variables, of functions around it, for those that it sees otherwise."""
    closure = function.__closure__
    if closure is not None:
        closure = tuple(CellType() if look.changes(cell) else cell for cell in closure)
    new = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
    for name in _TOLD:
        setattr(new, name, getattr(function, name))
    return new


_TOLD = ("__annotations__", "__doc__", "__kwdefaults__", "__module__", "__qualname__")
"""What functions tell of themselves."""


class _Looking:
    """How functions see what they come to: those `among` them are others, which are put into `found`; `namespace` is
    their NumPy, if there is one. Modules that they have `passed` on, by their identity, they see as they are; for what
    is among `others`, by its identity, something is `standing` when all is made."""

    def __init__(
        self,
        among: frozenset[FunctionType],
        found: dict[FunctionType, FunctionType],
        passed: Container[int],
        namespace: TracedNumpy | None,
        others: Container[int],
        standing: Mapping[int, Any],
    ) -> None:
        self._others = others
        self._standing = standing
        self._among = among
        self._found = found
        self._passed = passed
        self._namespace = namespace
        self._modules: dict[int, ModuleType] = {}

    def changes(self, cell: CellType) -> bool:
        """Whether what a variable holds is seen otherwise. What a function sets is none of it: it shares that."""
        try:
            value = cell.cell_contents
        except ValueError:  # it has no value yet
            return False
        inner = function_of(value)
        if inner is not None:
            return inner in self._among
        return id(value) in self._others or self.at(value) is not value

    def at(self, value: Any) -> Any:
        """What is seen for a value: itself, but for functions, and for NumPy and what has such inside."""
        if type(value) is FunctionType:
            return self._found.get(value, value)
        if self._namespace is None:
            return value
        if id(value) in self._standing:
            return self._standing[id(value)]
        if is_module(value) and _is_people_s(value.__name__):
            is_passed = id(value) in self._passed
            return value if is_passed else self._modules.setdefault(id(value), _SeenModule(value, self.at))
        inner = function_of(value)
        if type(inner) is FunctionType and inner in self._found:
            return _SeenJit(value, self._found[inner])
        seen = _of_math(value) or self._namespace.in_place_of(value)
        return indexed_array(value) if seen is None else seen


class _SeenJit:
    """What `sl.jit` made of a function that a traced one calls: a part of its trace, if it is given part of it."""

    def __init__(self, jit: Any, function: FunctionType) -> None:
        self._jit = jit
        self._function = function

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        is_part = lazy_arrays((given, named)) or has_reals((given, named))
        return self._function(*given, **named) if is_part else self._jit(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jit, name)


class _SeenModule(ModuleType):
    """A module of people's own, as functions see it that are traced: what is in it they see `at` their own look."""

    def __init__(self, module: ModuleType, at: Callable[[Any], Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        vars(self).update({name: value for name, value in vars(module).items() if name.startswith("__")})
        self.__slinky_seen__ = module, at

    def __getattr__(self, name: str) -> Any:
        module, at = vars(self)["__slinky_seen__"]
        return at(getattr(module, name))
