"""A callback's source, gone through once with arrays that have no elements.

Names of modules, numbers, shapes and what is computed of these are known, so that slices, loops and conditions mostly
are, too. What is done in a loop counts as often as that goes, and is looked at once; where there are loops or
conditions in it, which may go otherwise each time, in each of a few turns. Of a condition that is not known, both sides
count. Functions that a callback calls are gone through as it is.

Invariant: no function of the user's is run, no attribute of an object of theirs is asked for; whatever the source says,
this ends soon.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType, ModuleType
from weakref import WeakKeyDictionary

import attrs
import numpy as np

from slinky.sched.callbacks import is_of_numpy
from slinky.sched.efforts.arrays import UNKNOWN, BufferOnly, ShapeOnly, Storage, broadcast
from slinky.sched.efforts.counting import BY_INDEX, FEW, OF_A_NUMBER, OF_A_TURN, OF_AN_INDEX, SLOW, Counting, joined
from slinky.sched.efforts.numpy_functions import (
    Given,
    Named,
    Value,
    call_of_numpy,
    product,
    ufunc_called,
    ufunc_method_called,
    unknown,
)
from slinky.sched.efforts.python_values import (
    BUILT_IN,
    TURNS_OF_WHAT_IS_UNKNOWN,
    compared,
    computed,
    distinct,
    first_of,
    is_key,
    is_number,
    item_of,
    items_of,
    known,
    method_called,
)
from slinky.sched.efforts.sources import Definition, Names, NamesAround, bound, source_of

_DEEPEST = 6
"""How many functions deep calls are followed."""

_MOST_LOOKED_AT = 10_000
"""How many expressions of a callback are looked at, those of functions that it calls anew for each call."""

_MOST_TURNS = 32
"""Of no more turns that vary each is looked at."""


class UnclearError(Exception):
    """Nothing can be said of a callback."""


@attrs.frozen(eq=False)
class _Method:
    """A method of an array, a ufunc, a list or a dictionary."""

    owner: Value
    name: str


@attrs.frozen(eq=False)
class _Closure:
    """A function that a callback makes, and what names mean there."""

    definition: Definition
    names: Mapping[str, Value]


class Reading:
    """One that goes through the source of a callback, and counts."""

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self._around: list[FunctionType] = []
        self._depth = 0
        self._looked_at = 0

    def look(self) -> None:
        """At one expression more. Raises `UnclearError` where these are too many."""
        self._looked_at += 1
        if self._looked_at > _MOST_LOOKED_AT:
            raise UnclearError

    @contextmanager
    def keeping(self, *values: Value) -> Iterator[None]:
        """Some values can be reached meanwhile."""
        reached = self.counting.reached
        before = len(reached)
        reached += values
        try:
            yield
        finally:
            del reached[before:]

    def called(self, function: Value, given: Given, named: Named) -> Value:
        """What a call gives. Raises `UnclearError` where the first function has no source."""
        while isinstance(function, functools.partial):
            given = [*map(known, function.args), *given]
            named = {**{name: known(value) for name, value in function.keywords.items()}, **named}
            function = function.func
        if isinstance(function, _Method):
            return self._method(function, given, named)
        if isinstance(function, _Closure):
            return self._run(function.definition, bound(function.definition.args, given, named), function.names)
        if isinstance(function, np.ufunc):
            return ufunc_called(self.counting, function, given, named)
        if isinstance(function, type) and issubclass(function, np.generic):
            array = given[0] if given else UNKNOWN
            return self.counting.cast(array, np.dtype(function)) if isinstance(array, ShapeOnly) else UNKNOWN
        if _is_numpys(function):
            return call_of_numpy(self.counting, function.__name__, given, named)
        if isinstance(function, FunctionType):
            return self._followed(function, given, named)
        if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
            return self._followed(function.__func__, [UNKNOWN, *given], named)
        if function is sum:
            return self._sum(given)
        if id(function) in BUILT_IN:
            return BUILT_IN[id(function)](given)
        return unknown(self.counting, given, named)

    def _followed(self, function: FunctionType, given: Given, named: Named) -> Value:
        """What a function of Python's gives."""
        definition = source_of(function)
        if definition is None and not self._around:
            raise UnclearError
        if definition is None or function in self._around:
            return unknown(self.counting, given, named)
        frame = bound(definition.args, given, named, function.__defaults__ or (), function.__kwdefaults__)
        self._around.append(function)
        try:
            return self._run(definition, frame, Names(function))
        finally:
            self._around.pop()

    def _run(self, definition: Definition, frame: dict[str, Value], names: Mapping[str, Value]) -> Value:
        """What a function gives whose parameters are these."""
        if self._depth >= _DEEPEST:
            return UNKNOWN
        self._depth += 1
        self.counting.call(OF_A_TURN)
        scope = _Scope(self, frame, names)
        try:
            with self.keeping(frame):
                if isinstance(definition, ast.Lambda):
                    return scope.value(definition.body)
                scope.all_of(definition.body)
                return scope.returned
        finally:
            self._depth -= 1

    def _method(self, method: _Method, given: Given, named: Named) -> Value:
        owner = method.owner
        if isinstance(owner, np.ufunc):
            return ufunc_method_called(self.counting, method.name, given, named)
        if isinstance(owner, (list, dict)):
            return method_called(owner, method.name, given)
        return call_of_numpy(self.counting, method.name, [owner, *given], named)

    def _sum(self, given: Given) -> Value:
        """Python's `sum`: of arrays, one after the other."""
        times, first = first_of(given[0]) if given else (0.0, UNKNOWN)
        return self.counting.elementwise((first, first), times=times) or UNKNOWN if times else UNKNOWN


class _Scope:
    """The statements and expressions of one function."""

    def __init__(self, reading: Reading, frame: dict[str, Value], names: Mapping[str, Value]) -> None:
        self.reading = reading
        self.counting = reading.counting
        self.frame = frame
        self.names = names
        self.returned: Value = None
        self.is_over = False

    # -- statements --------------------------------------------------------------------------------------------

    def all_of(self, statements: Sequence[ast.stmt]) -> None:
        """One after the other, until one returns."""
        for statement in statements:
            if self.is_over:
                return
            self._one(statement)

    def _one(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=targets, value=node):
                value = self.value(node)
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=node) if node is not None:
                self._assign(target, self.value(node))
            case ast.AugAssign(target=target, op=op, value=node):
                self._augment(target, op, self.value(node))
            case ast.Return(value=node):
                self.returned = None if node is None else self.value(node)
                self.is_over = True
            case ast.Expr(value=node):
                self.value(node)
            case ast.If(test=test, body=body, orelse=orelse):
                self._branch(self.value(test), body, orelse)
            case ast.For(target=target, iter=iterated, body=body):
                self._turns(target, self.value(iterated), lambda: self.all_of(body), _varies(body))
            case ast.While(test=test, body=body):
                self.value(test)
                with self.counting.repeated(TURNS_OF_WHAT_IS_UNKNOWN):
                    self.all_of(body)
            case ast.With(items=items, body=body):
                for item in items:
                    self.value(item.context_expr)
                self.all_of(body)
            case ast.Try(body=body, orelse=orelse, finalbody=final):
                self.all_of([*body, *orelse, *final])
            case ast.FunctionDef(name=name):
                self.frame[name] = _Closure(statement, NamesAround(self.frame, self.names))
            case _:
                pass  # it computes nothing

    def _branch(self, test: Value, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        """What is known to hold; else both, though one returns."""
        if isinstance(test, (bool, int)):
            self.all_of(body if test else orelse)
            return
        self.all_of(body)
        self.is_over = False
        self.all_of(orelse)

    def _turns(self, target: ast.expr, iterated: Value, body: Callable[[], None], varies: bool) -> None:
        """The turns of a loop, of which the first is looked at; of a few that vary, each."""
        times, first = first_of(iterated)
        items = items_of(iterated) if varies and not isinstance(first, ShapeOnly) else None
        each = items if items is not None and 0 < len(items) <= _MOST_TURNS else [first]
        if times <= 0:
            return
        with self.counting.repeated(times / len(each)):
            for item in each:
                self._assign(target, item)
                body()

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.frame[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for one, each in zip(targets, _unpacked(value, targets), strict=False):
                    self._assign(one, each)
            case ast.Starred(value=inner):
                self._assign(inner, value)
            case ast.Subscript(value=node, slice=index):
                whole, where = self.value(node), self.value(index)
                if isinstance(whole, ShapeOnly):
                    self._store(whole, where, value)
                elif isinstance(whole, dict) and is_key(where):
                    whole[where] = value
            case _:
                pass  # an attribute

    def _store(self, array: ShapeOnly, index: Value, value: Value) -> None:
        """Write a part of an array."""
        chosen = _indices(index)
        if chosen:
            count = max([each.size for each in chosen if isinstance(each, ShapeOnly)], default=FEW)
            self.counting.over(*chosen, value, computed=BY_INDEX * count)
        else:
            self.counting.over(value, result=array.taken(_as_tuple(index)), calls=0.5)

    def _augment(self, target: ast.expr, op: ast.operator, value: Value) -> None:
        old = self.value(target)
        if isinstance(old, ShapeOnly):
            self.counting.elementwise((old, value), old.dtype, old, slow=SLOW * isinstance(op, ast.Pow))
        elif isinstance(target, ast.Name):
            self.frame[target.id] = self._operated(op, old, value)

    # -- expressions -------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """What an expression gives."""
        self.reading.look()
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.frame[name] if name in self.frame else known(self.names[name])
            case ast.Attribute(value=owner, attr=name):
                return _attribute(self.value(owner), name)
            case ast.Subscript(value=whole, slice=index):
                return self._part(self.value(whole), self.value(index))
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*[None if each is None else self.value(each) for each in (lower, upper, step)])
            case ast.BinOp(left=left, op=op, right=right):
                one, other = self._several((left, right))
                return self._operated(op, one, other)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.value(operand))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compared(ops, self._several((left, *comparators)))
            case ast.BoolOp(values=values):
                return self._several(values)[-1]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                tested = self.value(test)
                return self.value(body if not isinstance(tested, (bool, int)) or tested else orelse)
            case ast.Call():
                return self._call(node)
            case ast.Tuple(elts=elements):
                return tuple(self._several(elements))
            case ast.List(elts=elements):
                return self._several(elements)
            case ast.Set(elts=elements):
                return distinct(self._several(elements))
            case ast.Dict(keys=keys, values=values):
                pairs = [(self.value(k), self.value(v)) for k, v in zip(keys, values, strict=True) if k is not None]
                return {key: value for key, value in pairs if is_key(key)}
            case ast.ListComp(elt=elt, generators=generators) | ast.GeneratorExp(elt=elt, generators=generators):
                return self._comprehended(elt, generators)
            case ast.Lambda():
                return _Closure(node, NamesAround(self.frame, self.names))
            case ast.NamedExpr(target=target, value=inner):
                value = self.value(inner)
                self._assign(target, value)
                return value
            case ast.Starred(value=inner):
                return self.value(inner)
            case _:
                return UNKNOWN

    def _several(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """What expressions give, one after the other; each is kept until the last is there."""
        found: list[Value] = []
        with self.reading.keeping(found):
            for node in nodes:
                value = self.value(node)
                if isinstance(node, ast.Starred) and isinstance(value, (list, tuple)):
                    found += map(known, value)
                else:
                    found.append(value)
        return found

    def _part(self, whole: Value, index: Value) -> Value:
        """What a subscript gives."""
        if not isinstance(whole, ShapeOnly):
            return item_of(whole, index)
        items, chosen = _as_tuple(index), _indices(index)
        if not chosen:
            self.counting.call(OF_AN_INDEX * len(items))
            return whole.taken(items)
        fetched = broadcast([each.shape if isinstance(each, ShapeOnly) else (len(each),) for each in chosen])
        at = [k for k, each in enumerate(items) if any(each is one for one in chosen)]
        others = [0 if k in at else each for k, each in enumerate(items)]
        rest = whole.taken(others).shape
        before = 0  # indices that do not follow on each other give the first axes
        if at[-1] - at[0] + 1 == len(at):
            said = sum([each is not None and each is not Ellipsis for each in items])
            first = items[: at[0]]
            before = sum([each is None or isinstance(each, slice) for each in first])
            before += any(each is Ellipsis for each in first) * max(len(whole.shape) - said, 0)
        return self.counting.fetched(whole, (*rest[:before], *fetched, *rest[before:]), chosen[0])

    def _operated(self, op: ast.operator, one: Value, other: Value) -> Value:
        """What an operator gives."""
        if isinstance(one, ShapeOnly) or isinstance(other, ShapeOnly):
            with self.reading.keeping(one, other):
                if isinstance(op, ast.MatMult):
                    return product(self.counting, (one, other))
                dtype = joined((one, other), divides=isinstance(op, ast.Div))
                return self.counting.elementwise((one, other), dtype, slow=SLOW * isinstance(op, ast.Pow))
        self.counting.call(OF_A_NUMBER)
        return computed(op, one, other)

    def _unary(self, op: ast.unaryop, operand: Value) -> Value:
        if isinstance(operand, ShapeOnly):
            return self.counting.elementwise((operand,))
        if not is_number(operand):
            return UNKNOWN
        return -operand if isinstance(op, ast.USub) else not operand if isinstance(op, ast.Not) else UNKNOWN

    def _compared(self, ops: Sequence[ast.cmpop], values: list[Value]) -> Value:
        if any(isinstance(value, ShapeOnly) for value in values):
            return self.counting.elementwise(values, np.dtype(bool))
        return compared(ops[0], *values) if len(ops) == 1 else UNKNOWN

    def _call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        owner = function.owner if isinstance(function, _Method) else None
        with self.reading.keeping(owner):
            given = self._several(node.args)
            named: dict[str, Value] = {}
            with self.reading.keeping(given, named):
                for keyword in node.keywords:
                    value = self.value(keyword.value)
                    if keyword.arg is not None:
                        named[keyword.arg] = value
                    elif isinstance(value, dict):
                        named.update({name: each for name, each in value.items() if isinstance(name, str)})
                return self.reading.called(function, given, named)

    def _comprehended(self, element: ast.expr, generators: Sequence[ast.comprehension]) -> Value:
        """What a comprehension gives: as many as the first of them, with memory of its own each."""
        made: list[Value] = []
        many = 1.0

        def along(left: Sequence[ast.comprehension]) -> None:
            nonlocal many
            if not left:
                made.append(self.value(element))
                return
            iterated = self._filtered(left[0])
            many *= first_of(iterated)[0]
            self._turns(left[0].target, iterated, lambda: along(left[1:]), varies=False)

        before = dict(self.frame)
        along(generators)
        self.frame.clear()
        self.frame.update(before)
        return [_another(each) for each in made[:1] for _ in range(max(int(min(many, FEW)), 1))]

    def _filtered(self, generator: ast.comprehension) -> Value:
        """What a comprehension goes over, without what it leaves out, where that is known."""
        iterated = self.value(generator.iter)
        items = items_of(iterated) if generator.ifs else None
        if items is None:
            return iterated
        left = list[Value]()
        for item in items:
            self._assign(generator.target, item)
            if all(self.value(test) is not False for test in generator.ifs):
                left.append(item)
        return left


def _attribute(owner: Value, name: str) -> Value:
    """An attribute of a value."""
    match owner:
        case ModuleType():
            return known(vars(owner).get(name, UNKNOWN))
        case BufferOnly(array=array):
            simple = {
                "array": array,
                "min": owner.min,
                "max": owner.max,
                "shape": array.shape,
                "rank": len(array.shape),
            }
            return simple.get(name, UNKNOWN)
        case ShapeOnly():
            simple = {"shape": owner.shape, "ndim": len(owner.shape), "size": owner.size, "dtype": owner.dtype}
            if name in simple:
                return simple[name]
            if name == "T":
                return owner.reordered(range(len(owner.shape))[::-1])
            return owner if name in ("real", "imag", "flat") else _Method(owner, name)
        case list() | dict() | np.ufunc():
            return _Method(owner, name)
        case _:
            return UNKNOWN


def _unpacked(value: Value, targets: Sequence[ast.expr]) -> list[Value]:
    """What each of several targets is given."""
    items = items_of(value) or []
    stars = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if stars and len(items) >= len(targets) - 1:
        begin, end = stars[0], len(items) - (len(targets) - 1 - stars[0])
        items = [*items[:begin], items[begin:end], *items[end:]]
    return [*items, *[UNKNOWN] * (len(targets) - len(items))]


def _as_tuple(index: Value) -> tuple[Value, ...]:
    return index if isinstance(index, tuple) else (index,)


def _indices(index: Value) -> list[Value]:
    """The arrays and lists of an index, by which elements are fetched."""
    return [each for each in _as_tuple(index) if isinstance(each, (ShapeOnly, list))]


def _another(value: Value) -> Value:
    """The same with memory of its own, where it was made."""
    if isinstance(value, ShapeOnly) and value.storage.bytes:
        return attrs.evolve(value, storage=Storage(value.storage.bytes))
    return value


def _is_numpys(function: Value) -> bool:
    """Whether it is a function of NumPy's or SciPy's."""
    if isinstance(function, FunctionType):
        return is_of_numpy(function)
    module = getattr(function, "__module__", None) if type(function).__module__ in ("builtins", "numpy") else None
    return callable(function) and isinstance(module, str) and module.split(".")[0] in ("numpy", "scipy")


_VARYING: WeakKeyDictionary[ast.AST, bool] = WeakKeyDictionary()


def _varies(body: Sequence[ast.stmt]) -> bool:
    """Whether there are loops or conditions in the body of a loop."""
    first = body[0]
    if first not in _VARYING:
        inside = (node for statement in body for node in ast.walk(statement))
        _VARYING[first] = any(isinstance(node, (ast.For, ast.If, ast.IfExp, ast.comprehension)) for node in inside)
    return _VARYING[first]
