"""The Python that makes a graph, from the graph: buffers, what is assigned to them, funcs, and the pipeline of them.

What has a name of its own in the graph keeps it where Python allows; a buffer that is called like a variable, say, gets
another one in the text. Callbacks go by names: NumPy's by theirs, one that a module has by that, any other one by the
name that it is given, or its own, which the reader of the text has to define.

Invariant: the text, run where these names mean what they meant here, makes an equal graph.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from slinky.cursors.writing import Code, expression_code, is_named, quoted, written
from slinky.errors import OperationError, cited
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.built import Built
from slinky.graph.collecting import Graph
from slinky.graph.copying import CopyFunc, Extension, Source
from slinky.graph.formulas import ExpressionFunc
from slinky.graph.funcs import Func
from slinky.graph.reductions import Reduction
from slinky.graph.variants import DeclaredVariant
from slinky.ir.formulas import (
    CLIP,
    Apply,
    Argument,
    Choose,
    Constant,
    Convert,
    Coordinate,
    Element,
    Operand,
    Result,
)
from slinky.ir.operations import Callback
from slinky.ir.reducing import Reducing
from slinky.ir.returning import Returning
from slinky.ir.statements import Order
from slinky.symbolic.expressions import Expr, Metadata, Node, Scalar, Variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import symbols

_LONGEST_ARRAY = 16
"""The most elements of a constant that are written one by one."""


def graph_code(built: Built, callbacks: Mapping[str, Callable[..., Any]] | None) -> str:
    """The Python that makes the pipeline of a graph as `p`, without a schedule.

    Raises `OperationError` for what has no code, such as a callback without a name.
    """
    return _Writer(built, callbacks).text()


class _Writer:
    """A text on its way: the lines, and by which names it calls things."""

    def __init__(self, built: Built, callbacks: Mapping[str, Callable[..., Any]] | None) -> None:
        if callbacks is not None and not isinstance(callbacks, Mapping):
            raise OperationError(f"to_graph_code: callbacks must be a dictionary, by name, got {cited(callbacks)}")
        self.built = built
        self.given = dict(callbacks or {})
        self.modules: set[str] = set()
        self.needed: dict[str, Callable[..., Any]] = {}
        self.taken = {"np", "sl", "p", *self.given}
        self.buffers: dict[BufferExpr, str] = {}
        self.named: dict[str, str] = {}
        """Those of the graph, by their own names; states of reductions may be called alike."""
        self.lines: list[str] = []

    def text(self) -> str:
        graph = self.built.graph
        made = [access.buffer for func in graph.funcs for access in (*func.inputs, *func.outputs)]
        states = [a.buffer for func in graph.funcs for reduction in _reductions(func) for a in reduction.state]
        buffers = list(dict.fromkeys((*graph.inputs, *made, *states)))
        names = self._variables(graph.funcs)
        for func in graph.funcs:
            for callback in _callbacks(func):
                self._callback(callback, f"func {func.name!r}")  # these names come first
        for buffer in buffers:
            self.buffers[buffer] = self._identifier(buffer.name, "buffer")
            self.named.setdefault(buffer.name, self.buffers[buffer])
        funcs = {func: self._identifier(func.name, "func") for func in graph.funcs}
        if names:
            self.lines.append(
                f"{', '.join(names)}{',' if len(names) == 1 else ''} = sl.variables({quoted(' '.join(names))})"
            )
        for buffer in buffers:
            self._buffer(buffer)
        for buffer in buffers:
            if not isinstance(buffer, Extension):
                self._assigned(buffer)
        for func, name in funcs.items():
            self._func(func, name)
        for func in graph.funcs:
            self._fusions(func, funcs)
        self._pipeline(graph)
        imports = [
            *(f"import {module}" for module in sorted(self.modules)),
            "import numpy as np",
            "import slinky as sl",
        ]
        needed = [f"# {', '.join(self.needed)}: callbacks, to be defined before this"] if self.needed else []
        return "\n".join([*needed, *imports, "", *self.lines])

    # Names ------------------------------------------------------------------------------------------------------

    def _variables(self, funcs: Iterable[Func]) -> list[str]:
        """The variables that accesses name, which go by their names."""
        found: set[Expr] = set()
        for func in funcs:
            found.update(func.dims)
            for access in func.inputs:
                for i in access.box:
                    found |= symbols(i.min) | symbols(i.max) if i is not None else set()
        names = sorted({v.name for v in found if isinstance(v, Variable) and not isinstance(v, Scalar)})
        self.taken.update(names)
        return names

    def _identifier(self, wanted: str, kind: str) -> str:
        """A name for a buffer or func in the text that nothing else has."""
        name, count = wanted, 1
        while name in self.taken or keyword.iskeyword(name):
            name, count = f"{wanted}_{kind}{'' if count == 1 else count}", count + 1
        self.taken.add(name)
        return name

    def _callback(self, callback: Callable[..., Any], owner: str) -> str:
        """The name of a callback."""
        named = next((name for name, each in self.given.items() if each is callback), None)
        if named is not None:
            self.needed[named] = callback
            return named
        if isinstance(callback, Returning):
            return f"sl.returns({self._callback(callback.function, owner)})"
        if isinstance(callback, np.ufunc) and getattr(np, callback.__name__, None) is callback:
            return f"np.{callback.__name__}"
        owner_of = getattr(callback, "__self__", None)
        if isinstance(owner_of, np.ufunc):
            return f"{self._callback(owner_of, owner)}.{callback.__name__}"
        if _is_of_reductions(owner_of):
            return f"{self._made(owner_of, owner)}.{callback.__name__}"
        if _is_of_reductions(callback):
            return self._made(callback, owner)
        module, name = getattr(callback, "__module__", None), getattr(callback, "__qualname__", None)
        if (
            isinstance(module, str)
            and isinstance(name, str)
            and module != "__main__"
            and is_named(callback, module, name)
        ):
            self.modules.add(module)
            return f"{module}.{name}"
        own = getattr(callback, "__name__", "")
        if own.isidentifier() and not keyword.iskeyword(own) and self.needed.get(own, callback) is callback:
            if own in self.taken and own not in self.needed:
                raise OperationError(
                    f"to_graph_code: the callback of {owner} is called {own!r}, as something of the graph is; "
                    f"give it another name: callbacks={{'{own}_callback': {own}}}"
                )
            self.taken.add(own)
            self.needed[own] = callback
            return own
        raise OperationError(
            f"to_graph_code: the callback of {owner}, {callback!r}, has no name of its own; give it one: "
            f"callbacks={{'name': callback}}"
        )

    # Values -----------------------------------------------------------------------------------------------------

    def _node(self, node: Node) -> str:
        """An expression or condition."""
        code = expression_code(node, self._metadata, self.modules)
        for symbol in symbols(node):
            if isinstance(symbol, Variable) and not isinstance(symbol, Scalar):
                code = code.replace(f"sl.variables({quoted(symbol.name)})[0]", symbol.name)
        return code

    def _metadata(self, buffer: str, dim: int, field: str) -> str:
        if buffer not in self.named:
            raise OperationError(
                f"to_graph_code: {Metadata(buffer, dim, field)} names a buffer that is not in the graph"
            )
        return f"{self.named[buffer]}.dim({dim}).{field.replace('domain_', 'domain.')}"

    def _interval(self, i: Interval) -> str:
        return f"sl.interval({self._node(i.min)}, {self._node(i.max)})"

    def _access(self, access: Access) -> str:
        items = [":" if i is None else self._node(i.min) if i.min is i.max else self._interval(i) for i in access.box]
        return f"{self.buffers[access.buffer]}[{', '.join(items) or '()'}]"

    def _accesses(self, accesses: Iterable[Access]) -> str:
        return f"[{', '.join(map(self._access, accesses))}]"

    def _made(self, made: Any, owner: str) -> str:
        """What makes an object of slinky's that reduces, with all that it was made with."""
        module, name = type(made).__module__, type(made).__qualname__
        self.modules.add(module)
        fields = [self._part(getattr(made, field.name), owner) for field in attrs.fields(type(made))]
        if isinstance(made, Reducing):
            return f"{module}.{name}({', '.join(fields)})"
        return f"{module}.kept({', '.join([f'{module}.{name}', *fields])})"

    def _part(self, value: Any, owner: str) -> str:
        """One of these."""
        if isinstance(value, tuple):
            return _tuple([self._part(each, owner) for each in value])
        if isinstance(value, np.dtype):
            return f"np.dtype({_dtype_code(value)})"
        if isinstance(value, str):
            return quoted(value)
        return self._callback(value, owner) if callable(value) else self._value(value, owner)

    def _value(self, value: object, owner: str) -> str:
        """An argument of a callback, or the like."""
        if isinstance(value, Node):
            return self._node(value)
        if isinstance(value, np.generic) and isinstance(value.item(), (bool, int, float, complex)):
            kind = "bool_" if value.dtype.kind == "b" else value.dtype.name  # what it is added to depends on it
            return f"np.{kind}({self._value(value.item(), owner)})"
        if isinstance(value, np.generic):
            value = value.item()
        code = written(value, self.built.program)
        if not isinstance(code, Code) and callable(value):
            return self._callback(value, owner)
        if not isinstance(code, Code):
            raise OperationError(f"to_graph_code: {owner} has {value!r}, which has no code")
        self.modules |= code.modules
        return code.text

    # Lines ------------------------------------------------------------------------------------------------------

    def _buffer(self, buffer: BufferExpr) -> None:
        if isinstance(buffer, Extension):
            return  # made where its source is extended
        name = self.buffers[buffer]
        if buffer.value is not None:
            lo = tuple(buffer.assigned[(d, "min")] for d in range(buffer.rank))
            origin = f", min=({', '.join(map(str, lo))}{',' if len(lo) == 1 else ''})" if any(map(str, lo)) else ""
            self.lines.append(f"{name} = sl.constant({quoted(buffer.name)}, {_array_code(buffer.value)}{origin})")
        else:
            self.lines.append(
                f"{name} = sl.BufferExpr({quoted(buffer.name)}, {_dtype_code(buffer.dtype)}, {buffer.rank})"
            )

    def _assigned(self, buffer: BufferExpr) -> None:
        """What was assigned to a buffer, and to its dimensions."""
        if buffer.value is not None:
            return
        name = self.buffers[buffer]
        self.lines += [f"{name}.dim({d}).{f} = {self._node(e)}" for (d, f), e in buffer.assigned.items()]
        self.lines += [f"{name}.dim({d}).multiple = {n}" for d, n in buffer.multiples.items()]
        self.lines += [f"{name}.alignment = {buffer.alignment}"] if buffer.alignment != 1 else []
        if not isinstance(buffer.producer, CopyFunc):
            self._domains(buffer)

    def _domains(self, buffer: BufferExpr) -> None:
        name = self.buffers[buffer]
        self.lines += [f"{name}.dim({d}).domain = {self._interval(i)}" for d, i in buffer.domains.items()]

    def _func(self, func: Func, name: str) -> None:
        if isinstance(func, CopyFunc):
            self._copy(func, name)
            return
        if isinstance(func, ExpressionFunc):
            self._expression(func, name)
            return
        owner = f"func {func.name!r}"
        if not isinstance(func.lowered_operation(), Callback):
            raise OperationError(f"to_graph_code: {owner} is a pipeline of its own, which has no code here")
        parts = [self._callback(func.callback, owner), self._accesses(func.inputs), self._accesses(func.outputs)]
        parts += [f"name={quoted(func.name)}"] if func.named else []
        parts += self._settings(func.lowered_operation(), owner)
        parts += [f"whole=[{', '.join(quoted(v.name) for v in func.whole)}]"] if func.whole else []
        if func.declared_reduction is not None:
            parts.append(f"reduction={self._reduction(func.declared_reduction, owner)}")
        if func.variants:
            variants = (f"{quoted(each.name)}: {self._variant(func, each)}" for each in func.variants)
            parts.append(f"variants={{{', '.join(variants)}}}")
        self.lines.append(f"{name} = sl.Func({', '.join(parts)})")

    def _settings(self, operation: Any, owner: str) -> list[str]:
        """How a callback is called, where that is not the default."""
        assert isinstance(operation, Callback)
        parts = []
        if operation.arguments:
            arguments = (f"{quoted(key)}: {self._value(value, owner)}" for key, value in operation.arguments)
            parts.append(f"arguments={{{', '.join(arguments)}}}")
        parts += ["pass_buffers=True"] if operation.pass_buffers else []
        parts.append(f"in_place={operation.in_place}")
        parts += ["writable_inputs=True"] if operation.writable_inputs else []
        return parts

    def _variant(self, func: Func, variant: DeclaredVariant) -> str:
        owner = f"variant {variant.name!r} of func {func.name!r}"
        operation = variant.operation
        parts = [self._callback(operation.function, owner), self._accesses(variant.inputs)]
        arguments = (f"{quoted(key)}: {self._value(value, owner)}" for key, value in operation.arguments)
        parts.append(f"arguments={{{', '.join(arguments)}}}")
        flags = ("pass_buffers", "in_place", "writable_inputs")
        parts += [f"{flag}={getattr(operation, flag)}" for flag in flags]
        if variant.dtypes:
            dtypes = (f"{self.buffers[each]}: {_dtype_code(dtype)}" for each, dtype in variant.dtypes.items())
            parts.append(f"dtypes={{{', '.join(dtypes)}}}")
        if variant.orders:
            layouts = (f"{self.buffers[each]}: {_order_code(order)}" for each, order in variant.orders.items())
            parts.append(f"layouts={{{', '.join(layouts)}}}")
        if variant.declared_reduction is not None:
            parts.append(f"reduction={self._reduction(variant.declared_reduction, owner)}")
        return f"sl.Variant({', '.join(parts)})"

    def _reduction(self, given: Reduction, owner: str) -> str:
        over = {key: axes if isinstance(axes, int) else tuple(axes) for key, axes in given.over.items()}
        parts = [repr(over), self._accesses(given.state)]
        parts += [self._callback(each, owner) for each in (given.init, given.update, given.finish)]
        further = (("merge", given.merge), ("combine", given.combine))
        parts += [f"{what}={self._callback(each, owner)}" for what, each in further if each is not None]
        parts += [f"{flag}={getattr(given, flag)}" for flag in ("positions", "exact", "reassociate")]
        return f"sl.Reduction({', '.join(parts)})"

    def _copy(self, func: CopyFunc, name: str) -> None:
        """A func that copies: an extended buffer, or what `sl.copies` makes."""
        target = func.outputs[0].buffer
        owner = f"copy {func.name!r}"
        if isinstance(target, Extension):
            source = func.sources[0].access.buffer
            rules = target.rules
            modes = ", ".join("None" if rule is None else quoted(rule) for rule in rules)
            value = f", value={self._value(func.fill, owner)}" if func.fill is not None else ""
            extended = self.buffers[target]
            self.lines.append(f"{extended} = {self.buffers[source]}.extended([{modes}]{value})")
            default = "_".join(dict.fromkeys(rule.replace("-", "_") for rule in rules if rule is not None))
            self.lines += [f"{extended}.producer.name = {quoted(func.name)}"] if func.name != default else []
            self._assigned(target)
            return
        self.modules |= {"slinky.graph.copying", "slinky.ir.operations"}
        sources = ", ".join(self._source(source) for source in func.sources)
        parts = [f"[{sources}]", self._access(func.outputs[0]), quoted(func.name), f"named={func.named}"]
        parts += [f"fill={self._value(func.fill, owner)}"] if func.fill is not None else []
        if func.implementation is not None:
            parts.append(f"implementation={self._callback(func.implementation, owner)}")
        if func.given:
            parts.append(f"given={{{', '.join(f'{d}: {self._interval(i)}' for d, i in func.given.items())}}}")
        if func.requires:
            requires = (f"{self._node(condition)}: {quoted(words)}" for condition, words in func.requires.items())
            parts.append(f"requires={{{', '.join(requires)}}}")
        self.lines.append(f"{name} = slinky.graph.copying.CopyFunc({', '.join(parts)})")
        self._domains(target)

    def _expression(self, func: ExpressionFunc, name: str) -> None:
        """A func that is arithmetic: a line for each step."""
        formula, owner = func.formula, f"arithmetic {func.name!r}"
        steps: list[str] = []

        def code(operand: Operand) -> str:
            match operand:
                case Element(input=number):
                    return self._access(func.inputs[number])
                case Result(step=number, output=output):
                    step = formula.steps[number]
                    return f"{steps[number]}[{output}]" if len(step.results) > 1 else steps[number]
                case Argument(name=key, dtype=dtype):
                    self.modules.add("slinky.graph.terms")
                    value = self._value(func.arguments[key], owner)
                    return f"slinky.graph.terms.Known({value}, np.dtype({_dtype_code(dtype)}))"
                case Constant(value=value):
                    return f"{_array_code(np.asarray(value))}[()]"

        for step in formula.steps:
            given = [code(operand) for operand in step.operands]
            match step:
                case Apply(ufunc=ufunc, dtypes=dtypes):
                    text = "np.clip" if ufunc is CLIP else self._callback(ufunc, owner)
                    asked = dtypes[ufunc.nin :] if not formula.is_resolved(step) else ()
                    given += [f"dtype={_dtype_code(dtype)}" for dtype in dict.fromkeys(asked)]
                    value = f"{text}({', '.join(given)})"
                case Convert(dtype=dtype):
                    value = f"{given[0]}.astype({_dtype_code(dtype)})"
                case Choose():
                    value = f"np.where({', '.join(given)})"
                case Coordinate(dim=d):
                    value = f"sl.coordinate({func.dims[d].name})"
            steps.append(self._identifier(f"{func.name}_{len(steps)}", "step"))
            self.lines.append(f"{steps[-1]} = {value}")
        named = f", name={quoted(func.name)}" if func.named else ""
        named += f", ignored={formula.ignored!r}" if formula.ignored else ""
        self.lines.append(f"{name} = sl.arithmetic({code(formula.result)}, {self._access(func.outputs[0])}{named})")

    def _source(self, source: Source) -> str:
        edges = [("None" if i is None else self._interval(i)) for i in source.edges]
        boundaries = [
            "None" if each is None else f"slinky.ir.operations.Boundary.{each.name}" for each in source.boundaries
        ]
        where = [f"({self._node(e)}, {self._interval(i)})" for e, i in source.where]
        parts = [self._access(source.access), *(_tuple(each) for each in (edges, boundaries, where))]
        return f"slinky.graph.copying.Source({', '.join(parts)})"

    def _fusions(self, func: Func, names: Mapping[Func, str]) -> None:
        for fusion in func.fusions:
            if fusion.first not in names:
                continue
            owner = f"the fused func {fusion.name!r}"
            parts = [names[fusion.first], names[func], self._callback(fusion.operation.function, owner)]
            parts += [quoted(fusion.name), *self._settings(fusion.operation, owner)]
            if fusion.declared_reduction is not None:
                parts.append(f"reduction={self._reduction(fusion.declared_reduction, owner)}")
            self.lines.append(f"sl.fuse({', '.join(parts)})")

    def _pipeline(self, graph: Graph) -> None:
        lists = [f"[{', '.join(self.buffers[b] for b in group)}]" for group in (graph.inputs, graph.outputs)]
        parts = [*lists]
        if self.built.require:
            parts.append(f"require=[{', '.join(map(self._node, self.built.require))}]")
        parts += [f"name={quoted(self.built.name)}"] if self.built.name is not None else []
        self.lines.append(f'p = sl.build_pipeline({", ".join(parts)}, alias=False, schedule="none")')


def _is_of_reductions(value: object) -> bool:
    """Whether something is an object of `sl.reductions`, whose methods pipelines call."""
    return isinstance(value, Reducing) or type(value).__module__ == "slinky.reducing_stages"


def _callbacks(func: Func) -> list[Callable[..., Any]]:
    """All functions of the user's that a func may run."""
    if isinstance(func, CopyFunc):
        return [] if func.implementation is None else [func.implementation]
    if isinstance(func, ExpressionFunc):
        return [step.ufunc for step in func.formula.steps if isinstance(step, Apply) and step.ufunc is not CLIP]
    operations = [*(each.operation for each in func.variants), *(each.operation for each in func.fusions)]
    stages: list[Callable[..., Any]] = []
    for reduction in _reductions(func):
        further = (each for each in (reduction.merge, reduction.combine) if each is not None)
        stages += [reduction.init, reduction.update, reduction.finish, *further]
    return [func.callback, *(operation.function for operation in operations), *stages]


def _reductions(func: Func) -> list[Reduction]:
    """How a func reduces, its variants, and what it is fused to."""
    others = [each.declared_reduction for each in func.variants] + [each.declared_reduction for each in func.fusions]
    declared = (func.declared_reduction, *others)
    return [reduction for reduction in declared if reduction is not None]


def _order_code(order: Order) -> str:
    """How a buffer is to lie in memory."""
    dims = _tuple([str(d) for d in order.dims])
    parts = [f"strides={_tuple([str(stride) for stride in order.strides])}"] if order.strides else []
    parts += [f"alignment={order.alignment}"] if order.alignment > 1 else []
    return f"sl.StorageOrder({', '.join([dims, *parts])})" if parts else dims


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _dtype_code(dtype: np.dtype[Any]) -> str:
    if dtype.names is None and dtype.isnative and dtype.name in np.sctypeDict:
        return f"np.{dtype.name}" if hasattr(np, dtype.name) else quoted(dtype.name)
    return f"np.dtype({dtype.descr!r})" if dtype.names is not None else f"np.dtype({quoted(dtype.str)})"


def _array_code(array: np.ndarray[Any, Any]) -> str:
    """An array of just these bits."""
    finite = array.dtype.kind in "iub" or (array.dtype.kind == "f" and array.itemsize <= 8 and np.isfinite(array).all())
    if array.size <= _LONGEST_ARRAY and finite:
        return f"np.array({array.tolist()!r}, dtype={_dtype_code(array.dtype)})"
    held = f"bytes.fromhex({quoted(array.tobytes().hex())})"
    return f"np.frombuffer({held}, dtype={_dtype_code(array.dtype)}).reshape({array.shape!r})"
