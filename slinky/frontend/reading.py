"""What a function reads beside its arguments: globals, closures, defaults, and what the functions that it calls read.

Idea. A trace is good as long as all that is the same. The code says by which names a function reaches it. What cannot
be followed (objects with a state, modules that are not known to compute the same from the same) is a reason to trace at
each call.

Invariant: where `reason` is None and `hold()`, the function would do again what it did.
"""

from __future__ import annotations

import builtins
import copy
import sys
from abc import ABCMeta, get_cache_token
from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator
from enum import EnumMeta
from functools import cached_property, partial
from operator import getitem
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, cast

import attrs
import numpy as np

from slinky.errors import SlinkyError
from slinky.frontend.class_names import OF_CONSTRUCTION, spoken_of
from slinky.frontend.code_names import Names, all_attributes, asks_by_name, names_of
from slinky.frontend.contents import arrays_inside, content, has_content, is_immutable, is_told
from slinky.frontend.foreign import RaisedError, has_attribute
from slinky.frontend.kernels import Kernel
from slinky.frontend.opened import is_enumeration, is_plain, is_plain_tuple
from slinky.frontend.paths import all_code, passed_on
from slinky.frontend.randomness import random_numbers
from slinky.frontend.trusted import is_trusted
from slinky.ir.given import is_module
from slinky.unloaded import draws_numbers

_DRAWING = frozenset({"scipy", "skimage"})
"""Of these, some functions draw random numbers."""

_UNTRUSTED_BUILTINS = frozenset(
    ["open", "input", "print", "id", "globals", "locals", "vars", "eval", "exec", "setattr", "delattr", "__import__",
     "breakpoint", "compile", "dir"]
)  # fmt: skip

_STATES = frozenset(
    ["geterr", "geterrcall", "getbufsize", "get_printoptions", "array2string", "array_str", "array_repr",
     "format_float_positional", "format_float_scientific"]
)  # fmt: skip
"""Functions of NumPy's that tell what was set, or make texts as it was."""

MOST_CLASSES = 64
"""How many classes of people's are read; those of further ones are not followed."""

_OF_C = (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
    type(namedtuple("_Fields", "first").first),  # type: ignore[attr-defined]
)
"""What classes have of C's for attributes and methods, and for the entries of named tuples."""


@attrs.frozen(eq=False)
class _Attribute:
    """Reads an attribute of something."""

    owner: Any
    name: str

    def __call__(self) -> Any:
        return getattr(self.owner, self.name)


@attrs.frozen(eq=False)
class _Item:
    """Reads what has a name in a dictionary."""

    names: dict[str, Any]
    name: str

    def __call__(self) -> Any:
        return self.names[self.name]


@attrs.frozen
class Seen:
    """What is known of a class whose objects a function is given: whether all that they do is; which attributes they
    compute once, and keep; and how many names were spoken of then."""

    is_known: bool
    computed: frozenset[str]
    spoken: int


class Reads:
    """What a function reads beside its arguments, as it is now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.reason: str | None = None
        self.effect: str | None = None
        """What it does, as its code says, that is there when it has returned: then it must not be called twice."""
        self.sets: dict[str, None] = {}
        """The names of attributes that it sets of objects that it is given."""
        self.set_of: dict[str, None] = {}
        """Its own parameters of which it sets some."""
        self.counted: set[str] = set()
        """Those of them to which it adds integers; if nothing else speaks of them, it does not matter what they are."""
        self._methods: set[FunctionType] = set()
        """Functions of classes that are given an object of it first."""
        self._attributes: list[tuple[Any, str, Any]] = []
        self._items: list[tuple[dict[str, Any], str, Any]] = []
        self._absent: list[tuple[dict[str, Any], str]] = []
        """Globals that are not there, so that Python's own are meant."""
        self._stack: list[FunctionType] = []
        """The functions that are being read, the latest last."""
        self._calls: dict[FunctionType, set[FunctionType]] = {}
        self._capturing: set[FunctionType] = set()
        self._of_classes: set[FunctionType] = set()
        self.captured: list[tuple[Callable[[], Any], str]] = []
        """How to come to arrays and objects that it has beside its arguments, which are told at each call, by names."""
        self._same: list[tuple[Callable[[], Any], Any]] = []
        self._equal: list[tuple[Callable[[], Any], Hashable]] = []
        self._seen: set[int] = set()
        self._asked: set[tuple[int, str]] = set()
        """Modules, by their identity, with the attributes of them that were read."""
        self.functions: list[FunctionType] = []
        """The function, and those that it calls, whose code was read."""
        self.spoken: set[str] = set()
        """The names that they speak of."""
        self.said: set[str] = set()
        """Those that others than methods of Python's protocols (`__eq__`) speak of."""
        self._passed: dict[ModuleType, None] = {}
        """Modules that are handed to functions, which may ask them for all that any of them speaks of."""
        self._read = (0, 0, 0)
        """The extent of what all classes were read for."""
        self._unknown: set[type] = set()
        """Classes of which something cannot be followed."""
        self._made: set[type] = set()
        """Classes that it may make objects of."""
        self.given: dict[Any, bool] = {}
        """The functions and classes that came with arguments, and whether they can be followed."""
        self.classes: dict[type, dict[tuple[type, str], Any]] = {}
        """Of classes whose objects it is given, what was read: by the class that has it, and its name."""
        self.seen: dict[type, Seen] = {}
        """The same, in short."""
        self._lengths: list[tuple[Any, int]] = []
        """Dictionaries of classes and functions, which have as many names as they had."""
        self._lacking: dict[ModuleType, frozenset[str]] = {}
        """Which of the attributes that are spoken of modules have not: it may be asked whether they have."""
        self._function(function)
        self.see_classes()

    @property
    def extent(self) -> tuple[int, int, int]:
        """How much was read so far."""
        return len(self.functions), len(self.classes), len(self.spoken)

    def hold(self) -> bool:
        """Whether all that can be followed is as it was."""
        try:
            for owner, name, value in self._attributes:
                if getattr(owner, name) is not value:
                    return False
            for names, name, value in self._items:
                if names[name] is not value:
                    return False
            for names, name in self._absent:
                if name in names:
                    return False
            for read, value in self._same:
                if read() is not value:
                    return False
            for names, length in self._lengths:
                if len(names) != length:
                    return False
            for module, lacking in list(self._lacking.items()):  # other threads read, too
                if not vars(module).keys().isdisjoint(lacking):
                    return False
            for read, _ in self.captured:
                if not is_told(read()):
                    return False
            return not self._equal or all(content(read()) == value for read, value in self._equal)
        except (KeyError, ValueError, TypeError, AttributeError):
            return False

    def arrays(self) -> Iterator[Any]:
        """Those that are compared at each call."""
        for read, _ in self._equal:
            yield from arrays_inside(read())

    def _refuse(self, why: str) -> None:
        self.reason = self.reason or why

    def sets_anew(self, name: str) -> None:
        """It sets an attribute to something else in each call, for which it would have to be traced."""
        self._changes(f"it sets {name}")

    def _changes(self, what: str) -> None:
        self.effect = self.effect or what
        self._refuse(what)

    def _function(self, function: Callable[..., Any]) -> None:
        if self._stack and isinstance(function, FunctionType):
            self._calls.setdefault(self._stack[-1], set()).add(function)
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        if type(function) is not FunctionType:
            self._refuse(f"{function!r} is no Python function")
            called = _called_by(function)
            if called is not None:
                self._function(called)
            return
        self.functions.append(function)
        self._stack.append(function)
        try:
            self._code(function)
        finally:
            self._stack.pop()

    def _code(self, function: FunctionType) -> None:
        """Read what the code of a function speaks of."""
        self._note(_Attribute(function, "__code__"), function.__code__, "its code")
        self._lengths.append((vars(function), len(vars(function))))
        self._defaults(function)
        attributes = all_attributes(function.__code__)
        spoken = attributes.union(*(names_of(code).globals for code in all_code(function.__code__)))
        self.spoken |= spoken
        if function is self.functions[0] or not (function in self._methods and function.__name__.startswith("__")):
            self.said |= spoken
        around = frozenset(function.__code__.co_freevars)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._cell(name, cell, attributes)
        if asks_by_name(function) and any(_has_attributes(value) for value in passed_on([function])):
            self._refuse("it asks for attributes by their names")
        self._passed.update(dict.fromkeys(value for value in passed_on([function]) if is_module(value)))
        for code in all_code(function.__code__):
            self._names(names_of(code), function.__globals__, attributes)
            self._sets(names_of(code), function if code is function.__code__ else None)
            for name in sorted(names_of(code).cells & around):
                self._changes(f"it sets {name}")

    def _defaults(self, function: FunctionType) -> None:
        """Read what parameters are if nothing is given for them."""
        self._note(_Attribute(function, "__defaults__"), function.__defaults__, "a default")
        named: Any = function.__kwdefaults__
        self._note(_Attribute(function, "__kwdefaults__"), named, "defaults by name")
        if named is not None:
            self._lengths.append((named, len(named)))
        reads: list[tuple[Callable[[], Any], Any]] = [(_Item(named, name), named[name]) for name in named or ()]
        reads += [(partial(getitem, function.__defaults__, k), v) for k, v in enumerate(function.__defaults__ or ())]
        for read, value in reads:
            if is_module(value):
                self._passed[value] = None
            if is_module(value) or _is_called(value):
                self._value(read, value, "a default", frozenset())
            elif not is_immutable(value):
                self._content(read, value, "a default")
            elif named is not None:
                self._note(read, value, "a default")

    def see_function(self, value: Any) -> None:
        """Read a function that is given, or is one of an object's."""
        inner = function_of(value)
        if inner is None:
            self._value(lambda: value, value, getattr(value, "__name__", "a function"), frozenset())
        elif not _is_trusted(sys.modules.get(str(value.__module__))):
            self._function(inner)

    def see_class(self, kind: type) -> bool:
        """Read what objects of a class do that functions speak of; whether that is all that they do."""
        known = self.classes.get(kind)
        if known is None:
            known = self.classes[kind] = {}
            self._note(_Attribute(kind, "__mro__"), kind.__mro__, kind.__name__)
            self._lengths += [(vars(own), len(vars(own))) for own in kind.__mro__ if own is not object]
            if isinstance(kind, EnumMeta) and not all(map(self._is_known_member, kind.__members__.values())):
                self._unknown.add(kind)
        if kind in self._unknown:
            return False
        while True:  # what is read may speak of more
            made = OF_CONSTRUCTION if kind in self._made else frozenset()
            new = [each for own in kind.__mro__ for each in spoken_of(own, self.spoken, known, made)]
            if not new:
                return True
            for own, name, value in new:
                known[own, name] = value
                if not self._class_attribute(own, name, value):
                    self._unknown.add(kind)
                    return False

    def _is_known_member(self, member: Any) -> bool:
        """Read what a member of an enumeration has by itself; whether that is something that can be followed."""
        names = vars(member)
        self._lengths.append((names, len(names)))
        for name, value in names.items():
            inner = function_of(value)
            if name in ("__objclass__", "_name_", "_sort_order_"):
                continue
            if inner is not None or isinstance(value, (BuiltinFunctionType, np.ufunc)):
                self._value(_Item(names, name), value, name, frozenset())
            elif has_content(value):
                self._content(_Item(names, name), value, name)
            else:
                return False
        return True

    def see_classes(self) -> None:
        """Read what classes have, and modules that are passed on, by names that were spoken of after they were read."""
        while self._read != self.extent:
            self._read = self.extent
            for module in list(self._passed):
                self._module(module, frozenset(self.spoken))
            for kind in [each for each in list(self.classes) if not self.see_class(each)]:  # other threads read, too
                self.given.update(dict.fromkeys({kind} & self.given.keys(), False))
                if kind in self._made:
                    self._refuse(f"{kind.__name__} has what is not known")

    def _of_class(self, value: Any) -> None:
        """Read a function of a class."""
        if isinstance(function := function_of(value), FunctionType):
            self._of_classes.add(function)
        self.see_function(value)

    def _class_attribute(self, own: type, name: str, value: Any) -> bool:
        """Read what a class has by a name; whether that is something that can be followed."""
        read = _Item(cast("Any", vars(own)), name)
        if isinstance(value, (staticmethod, classmethod, property)):
            self._note(read, value, name)
            function = value.fget if isinstance(value, property) else value.__func__
            if function is not None:
                self._of_class(function)
        elif function_of(value) is not None:
            self._note(read, value, name)
            if isinstance(method := function_of(value), FunctionType) and not isinstance(own, EnumMeta):
                self._methods.add(method)
            self._of_class(value)
        elif isinstance(value, (*_OF_C, cached_property)):
            self._note(read, value, name)
        elif isinstance(own, EnumMeta) and name in own.__members__:
            return True  # no other takes its place
        elif isinstance(value, type) or hasattr(type(value), "__get__"):
            return False
        else:
            self._held(read, value, name)
        return True

    def _cell(self, name: str, cell: CellType, attributes: frozenset[str]) -> None:
        try:
            value = cell.cell_contents
        except ValueError:
            self._refuse(f"{name} has no value yet")
            return
        if name == "__class__" and isinstance(value, type):
            return  # for `super`: of objects that are given, all classes are read
        self._value(_Attribute(cell, "cell_contents"), value, name, attributes)

    def _sets(self, code: Names, function: FunctionType | None) -> None:
        """Note which attributes code sets of what it is given: the function itself of any argument, methods of their
        own object. What others are given may be a class."""
        for parameter, name in code.sets:
            is_own = function in self._methods and parameter == function.__code__.co_varnames[0]
            if function is not None and (is_own or function is self.functions[0]):
                self.sets[name] = None
                self.counted |= code.counted & {name}
                self.set_of.update({parameter: None} if function is self.functions[0] else {})
            else:
                self._changes(f"it sets {name}")

    def _names(self, code: Names, names: dict[str, Any], attributes: frozenset[str]) -> None:
        if code.writes is not None:
            self._changes(code.writes)
        parts = [name.split(".") for name in sorted(code.imports)]
        for name in dict.fromkeys(".".join(each[:count]) for each in parts for count in range(1, len(each) + 1)):
            module = sys.modules.get(name)
            if module is None:
                self._refuse(f"it imports {name}")
            else:
                self._note(_Item(sys.modules, name), module, name)
                self._module(module, attributes)
                self._passed[module] = None  # it is a variable then, which may be handed on
        for name in sorted(code.globals):
            if name in names:
                self._value(_Item(names, name), names[name], name, attributes)
            elif not hasattr(builtins, name) or name in _UNTRUSTED_BUILTINS:
                self._refuse(f"it uses {name}")
            else:
                self._absent.append((names, name))

    def _value(self, read: Callable[[], Any], value: Any, name: str, attributes: frozenset[str]) -> None:
        """Something that the function has by a name."""
        try:
            self._looked_at(read, value, name, attributes)
        except (SlinkyError, RecursionError):
            raise
        except Exception as error:  # it is asked for its class, and may do anything where it is
            self._refuse(f"{name} raises {type(error).__name__} where it is looked at")

    def _looked_at(self, read: Callable[[], Any], value: Any, name: str, attributes: frozenset[str]) -> None:
        inner = function_of(value)
        if value is copy.copy:
            self._refuse("it copies what it is given as it is")  # what stands for an object is none of these
        if draws_numbers(value):
            raise random_numbers(self._stack[-1].__qualname__, f"{name}, a generator of such")
        if is_module(value):
            self._note(read, value, name)
            self._module(value, attributes)
        elif inner is not None:
            self._note(read, value, name)
            if _draws(value.__name__) and value.__module__.partition(".")[0] in _DRAWING:
                self._refuse(f"{name} may draw random numbers")
            if value.__name__ in _STATES and value.__module__.partition(".")[0] == "numpy":
                self._refuse(f"{name} tells what was set")
            if not _is_trusted(sys.modules.get(value.__module__)):
                self._function(inner)
                for attribute in sorted(attributes & vars(value).keys()):  # functions may have some of the user's
                    if not attribute.startswith("_"):
                        self._value(_Attribute(value, attribute), vars(value)[attribute], attribute, attributes)
        elif isinstance(value, Kernel):
            self._note(read, value, name)
            self._value(_Attribute(value, "function"), value.function, name, attributes)
        elif isinstance(value, type) and self._is_followed(value):
            self._note(read, value, name)
            self._registers(value)
        elif isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, (ModuleType, type, type(None))):
            self._note(read, value, name)  # a method: it gives what its object holds
            self._content(lambda: read().__self__, value.__self__, f"the object of {name}")
        elif isinstance(value, (BuiltinFunctionType, np.ufunc, type)) or _is_dispatched(value):
            self._note(read, value, name)
            self._registers(value)
            if value is np.errstate:
                self._sets_errors()
            if not _is_trusted(sys.modules.get(str(getattr(value, "__module__", None) or "builtins"))):
                self._refuse(f"{name} is of a module that is not known")
        elif not self._capture(read, value, name):
            self._content(read, value, name)

    def _sets_errors(self) -> None:
        """Note what is done about floating-point errors around the function, which says otherwise in some places: what
        it says is seen by comparing, so that what it says again is not."""
        self._equal.append((np.geterr, content(np.geterr())))

    def _registers(self, value: Any) -> None:
        """Note that others may be told to be objects of a class from now on."""
        if isinstance(value, ABCMeta):
            self._content(get_cache_token, get_cache_token(), value.__name__)

    def _is_followed(self, kind: type) -> bool:
        """Whether what is done where a class is called, and what its objects do, can be followed, once it is read."""
        usual: Any = kind
        home = str(kind.__module__).partition(".")[0]
        if not (is_plain(usual) or is_plain_tuple(usual, home) or is_enumeration(usual)):
            return False
        if len(self.classes) >= MOST_CLASSES:
            return False
        self._made.add(kind)
        return self.see_class(kind)

    def _capture(self, read: Callable[[], Any], value: Any, name: str) -> bool:
        """Have something told at each call that is too large to be compared, or has attributes."""
        if not is_told(value) or has_content(value):
            return False
        self.captured.append((read, name))
        self._capturing.update(self._stack[-1:])
        return True

    def captures_unseen(self) -> bool:
        """Whether a function of a class comes to something that was captured: it may be called by the class, where
        nothing stands for that."""
        waiting, found = list(self._of_classes) if self.captured else [], set()
        while waiting:
            function = waiting.pop()
            if function not in found:
                found.add(function)
                waiting += list(self._calls.get(function, ()))
        return not found.isdisjoint(self._capturing)

    def refuse_captured(self) -> None:
        """Traces are not to be kept: something does not go where it is told what was captured."""
        for read, name in self.captured:
            self._refuse(f"{name} is a {type(read()).__name__}, which may change")
        self.captured.clear()

    def _module(self, module: ModuleType, attributes: frozenset[str]) -> None:
        if module.__name__ == "numpy" and "random" in attributes:
            self._refuse("numpy.random may draw random numbers")  # a traced function sees `Randomness` for it
        told = sorted(attributes & _STATES) if module.__name__ == "numpy" else []
        if told:
            self._refuse(f"numpy.{told[0]} tells what was set")
        if module.__name__ == "numpy" and "errstate" in attributes:
            self._sets_errors()
        if module is copy and "copy" in attributes:
            self._refuse("it copies what it is given as it is")
        if _is_trusted(module):
            drawn = sorted(filter(_draws, attributes)) if module.__name__.partition(".")[0] in _DRAWING else []
            if drawn:
                self._refuse(f"{module.__name__} may draw random numbers: {drawn[0]}")
            return
        if module.__name__.partition(".")[0] in sys.stdlib_module_names or module.__name__ == "numpy.random":
            self._refuse(f"it uses the module {module.__name__}")
            return
        for name in sorted(attributes):
            try:
                is_there = has_attribute(module, name)
            except RaisedError as error:
                self._refuse(f"{module.__name__}.{name} cannot be looked at: {error}")
                continue
            if is_there and (id(module), name) not in self._asked:
                self._asked.add((id(module), name))
                self._value(_Attribute(module, name), getattr(module, name), name, attributes)
            elif is_there:
                self._again(getattr(module, name))
            else:
                self._lacking[module] = self._lacking.get(module, frozenset()) | {name}

    def _again(self, value: Any) -> None:
        """Note that the function comes to something that was read before."""
        inner = function_of(value)
        if isinstance(inner, FunctionType) and inner in self.functions:
            self._function(inner)
        elif is_told(value):
            self._capturing.update(self._stack[-1:])

    def _note(self, read: Callable[[], Any], value: Any, name: str) -> None:
        match read:  # the usual ones are asked without a call
            case _Attribute(owner, attribute):
                self._attributes.append((owner, attribute, value))
            case _Item(names, key):
                self._items.append((names, key, value))
            case _:
                self._same.append((read, value))

    def _held(self, read: Callable[[], Any], value: Any, name: str) -> None:
        """Something that a class has, or a member of an enumeration: what can be called is followed."""
        if _is_called(value):
            self._value(read, value, name, frozenset())
        else:
            self._content(read, value, name)

    def _content(self, read: Callable[[], Any], value: Any, name: str) -> None:
        """Something with a content, which may change."""
        try:
            if is_immutable(value):
                self._note(read, value, name)
            elif is_enumeration(type(value)):
                self._member(read, value, name)
            else:
                self._equal.append((read, content(value)))
        except (SlinkyError, RecursionError):
            raise
        except Exception:  # of what cannot be compared, or raises an error of its own where it is looked at
            self._refuse(f"{name} is a {type(value).__name__}, which may change")

    def _member(self, read: Callable[[], Any], value: Any, name: str) -> None:
        """A member of an enumeration, which is what its class and its attributes are."""
        kind = type(value)
        is_few = kind in self.classes or len(self.classes) < MOST_CLASSES
        if not is_few or not self.see_class(kind):
            self._refuse(f"{name} is a {kind.__name__}, which may change")
        self._note(read, value, name)


def function_of(value: Any) -> Any:
    """A Python function itself, and the one of which `sl.jit` made something; None of anything else, which may do
    anything where it is asked for attributes, as for its class."""
    if type(value) is FunctionType:
        return value
    has_function = getattr(type(value), "__slinky_jit__", False)
    return value.__slinky_function__ if has_function else None


def _is_called(value: Any) -> bool:
    """Whether something is a function or a class, which holds nothing that changes by itself."""
    is_of_c = issubclass(type(value), (type, np.ufunc, BuiltinFunctionType))
    return is_of_c or function_of(value) is not None


def _has_attributes(value: Any) -> bool:
    """Whether something is a module or a function, with attributes that people may change."""
    if is_module(value):
        return not _is_trusted(value)
    inner = function_of(value)
    return inner is not None and not is_trusted(str(inner.__module__))


def _called_by(function: Any) -> Any:
    """What a call of something that is no Python function comes to; None where that is not known."""
    if isinstance(function, partial):
        return function.func
    if hasattr(function, "__wrapped__"):
        return function.__wrapped__
    own = getattr(function, "__func__", type(function).__call__)
    return own if type(own) is FunctionType else None


def _draws(name: str) -> bool:
    """Whether a function of this name draws random numbers."""
    return name.startswith("random") or name in ("rvs", "bootstrap", "permutation_test", "monte_carlo_test", "qmc")


def _is_dispatched(value: Any) -> bool:
    """Whether it is a function of NumPy's that hands over to lazy arrays."""
    return callable(value) and type(value).__module__.startswith("numpy")


def _is_trusted(module: ModuleType | None) -> bool:
    return module is not None and is_trusted(module.__name__)
