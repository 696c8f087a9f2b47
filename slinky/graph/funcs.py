"""Funcs: one operation, the buffers that it consumes and the buffers that it produces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.errors import GraphError, cited
from slinky.graph.annotations import LoopAnnotation, LoopLike, LoopName, Placement, Root, loops_of, place_in
from slinky.graph.buffers import Access, BufferExpr, valid_name
from slinky.graph.reductions import Reduction, reduced_inputs
from slinky.graph.variants import DeclaredVariant, Variant, dtypes_of, orders_of, require_within
from slinky.ir.given import is_iterable
from slinky.ir.operations import Callback, Operation
from slinky.ir.operations import Reduction as LoweredReduction
from slinky.ir.returning import Returning
from slinky.ir.signatures import signature_of
from slinky.symbolic.expressions import Expr, Metadata, Node, Scalar, Variable
from slinky.symbolic.traversal import symbols

if TYPE_CHECKING:
    from slinky.graph.fusing import DeclaredFusion

_serial = itertools.count()


class Func:
    """One operation of a graph.

    Parameters:

    * `callback`: called with one array per input, then one per output, each a view of exactly the region of the
      access. It writes to the output arrays. A NumPy ufunc gets its outputs by `out=`.
    * `inputs`: accesses, `buffer[...]`, with an interval per dimension as a function of the output's variables.
    * `outputs`: accesses with plain variables, which thereby are the func's dimensions. A callback must compute any
      box of these dimensions, and each element must depend on nothing but what the accesses say.
    * `name`: for printing and finding; by default the callback's own.
    * `arguments`: further arguments, passed by name: pipeline scalars or expressions of scalars and buffer metadata
      (evaluated to an int), or any constant.
    * `pass_buffers`: give the callback `sl.Buffer` objects, which know their coordinates, instead of arrays.
    * `in_place`: whether the callback gives the same result where an output is the very memory of an input of that
      dtype that it reads at the same points. Plans then write an intermediate over one that nobody reads any more, or
      keep it in an output. By default this holds for elementwise ufuncs and for nothing else; checked mode tests what
      is declared.
    * `writable_inputs`: what the callback reads is read-only, so that it cannot destroy the caller's data. With this,
      it is writable, for what takes no other arrays, such as `torch.from_dlpack`. The callback must not write to it
      even so.
    * `whole`: the dimensions, by variable or name, of which the callback cannot compute a part, because each element
      depends on where the box ends: softmax along a row, an FFT, a filter that runs from one end to the other. Such a
      dimension is never split, and no rewrite makes a call compute less of it than all: the bounds of an output of the
      pipeline, as the arrays say; for an intermediate, all that its inputs allow, or the bounds assigned to it.
    * `reduction`: how the callback's work can be taken to pieces along dimensions of its inputs that its outputs have
      not, so that a sum needs no more of what it sums than a piece (see `Reduction`, `split_reduction`).
    * `variants`: other ways to compute the same, by name: `Variant` objects, or callbacks alone. `choose_variant` takes
      one of them for a call.

    Making a func makes it the producer of its outputs. Raises `GraphError`, naming func and buffer, for what can be
    no part of a pipeline; nothing is changed then.
    """

    def __init__(
        self,
        callback: Callable[..., Any],
        inputs: Iterable[Access] = (),
        outputs: Iterable[Access] = (),
        name: str | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        pass_buffers: bool = False,
        in_place: bool | None = None,
        writable_inputs: bool = False,
        whole: Iterable[Variable | str] = (),
        reduction: Reduction | None = None,
        variants: Mapping[str, Variant | Callable[..., Any]] | None = None,
    ) -> None:
        if not callable(callback):
            raise GraphError(f"a func needs a callable, got {cited(callback)}")
        self.named = name is not None
        self.name = valid_name(name, "a func") if name is not None else _default_name(callback)
        self.inputs = _accesses(inputs, self.name, "input")
        self.outputs = _accesses(outputs, self.name, "output")
        if isinstance(callback, Returning):
            callback = attrs.evolve(callback, outputs=len(self.outputs))
        self.callback = callback
        if arguments is not None and not isinstance(arguments, Mapping):
            raise GraphError(
                f"func {self.name!r}: arguments must be a dictionary, values by name, got {cited(arguments)}"
            )
        what = f"an argument of func {self.name!r}"
        self.arguments = {valid_name(each, what): value for each, value in (arguments or {}).items()}
        self.pass_buffers = self._flag(pass_buffers, "pass_buffers")
        self.writable_inputs = self._flag(writable_inputs, "writable_inputs")
        if in_place is not None and not isinstance(in_place, bool):
            raise GraphError(f"func {self.name!r}: in_place must be True, False or None, got {cited(in_place)}")
        self.in_place = _is_elementwise(callback) if in_place is None else in_place
        self.serial = next(_serial)
        if not self.outputs:
            raise GraphError(f"func {self.name!r} produces nothing: give at least one output access")
        counts = len(self.inputs), len(self.outputs)
        _check_ufunc(callback, self.arguments, counts, self.pass_buffers, f"func {self.name!r}")
        self._check_signature(callback, self.inputs, self.arguments, f"func {self.name!r}", {})
        self.dims = self._dims()
        self.whole = self._whole(whole)
        if reduction is not None and not isinstance(reduction, Reduction):
            raise GraphError(f"func {self.name!r}: reduction must be a Reduction, got {cited(reduction)}")
        self.declared_reduction = reduction
        self.reduction = self._lowered(reduction, self.inputs, self.arguments)
        self._check_outputs()
        self._check_symbols(self.inputs, self.arguments, f"func {self.name!r}")
        self.variants = self._variants(variants)
        self.fusions: list[DeclaredFusion] = []
        self.loop_annotations: tuple[LoopAnnotation, ...] = ()
        self.placement: Placement | None = None
        self._check_cycle()
        for access in self.inputs:
            access.buffer.is_read = True
        for access in self.outputs:
            access.buffer.producer = self

    def loops(self, loops: Iterable[LoopLike]) -> Func:
        """Run in loops over these dimensions, outermost first; see `docs/annotations.md`.

        `loops([(y, 64), (x, 256), sl.loop(y, step=8)])`: each is a variable (one coordinate at a time), a variable and
        a step, or `sl.loop(...)`, which says more. Takes the place of what was said before. Returns the func.
        """
        self.loop_annotations = loops_of(self, loops)
        return self

    def compute_at(self, other: Func, loop: LoopName) -> Func:
        """Compute in each iteration of a loop of another func what is needed there. Returns the func."""
        place = place_in(f"compute_at of func {self.name!r}", other, loop)
        if other is self:
            raise GraphError(f"func {self.name!r} cannot be computed in a loop of its own")
        self.placement = place
        return self

    def compute_root(self) -> Func:
        """Compute before all loops of other funcs. Returns the func."""
        self.placement = Root()
        return self

    @property
    def may_read_nothing(self) -> bool:
        """Whether there are elements for which nothing is read of an input. A callback is never given an empty view,
        but along dimensions of a constant size that it reduces: `Reduction` says what that is of none."""
        return False

    def lowered_operation(self) -> Operation:
        """What the func runs, for a program."""
        return Callback(
            self.callback,
            arguments=tuple(self.arguments.items()),
            pass_buffers=self.pass_buffers,
            in_place=self.in_place,
            writable_inputs=self.writable_inputs,
        )

    def _variants(self, given: object) -> tuple[DeclaredVariant, ...]:
        """The variants that are declared, checked as the func itself is."""
        if given is None:
            return ()
        if not isinstance(given, Mapping):
            raise GraphError(f"func {self.name!r}: variants must be a dictionary, variants by name, got {cited(given)}")
        found = []
        for name, each in given.items():
            name = valid_name(name, f"a variant of func {self.name!r}")
            found.append(self._variant(name, each if isinstance(each, Variant) else Variant(each)))
        return tuple(found)

    def _variant(self, name: str, given: Variant) -> DeclaredVariant:
        what = f"variant {name!r} of func {self.name!r}"
        arguments = self.arguments if given.arguments is None else given.arguments
        inputs = self.inputs if given.inputs is None else _accesses(given.inputs, self.name, "input")
        takes_buffers = self.pass_buffers and not isinstance(given.callback, np.ufunc)
        operation = callback_of(
            given.callback,
            arguments,
            (len(self.inputs), len(self.outputs)),
            what,
            takes_buffers if given.pass_buffers is None else given.pass_buffers,
            given.in_place,
            self.writable_inputs if given.writable_inputs is None else given.writable_inputs,
        )
        self._check_symbols(inputs, dict(operation.arguments), what)
        dtypes = dtypes_of(given.dtypes, (*self.inputs, *self.outputs), what)
        self._check_signature(operation.function, inputs, dict(operation.arguments), what, dtypes)
        require_within(inputs, self.inputs, what)
        reduction = given.reduction
        if reduction is not None and not isinstance(reduction, Reduction):
            raise GraphError(f"{what}: reduction must be a Reduction, got {cited(reduction)}")
        lowered = self._lowered(reduction, inputs, arguments)
        orders = orders_of(given.layouts, (*self.inputs, *self.outputs), what)
        return DeclaredVariant(name, inputs, operation, dtypes, reduction, lowered, orders)

    def _lowered(
        self, reduction: Reduction | None, inputs: Iterable[Access], arguments: Mapping[str, Any]
    ) -> LoweredReduction | None:
        """What is declared of how the func, or a variant of it, reduces."""
        return None if reduction is None else reduction.lowered(self.name, self.dims, reduced_inputs(inputs), arguments)

    def _check_signature(
        self,
        callback: Callable[..., Any],
        inputs: Iterable[Access],
        arguments: Mapping[str, Any],
        what: str,
        dtypes: Mapping[BufferExpr, np.dtype[Any]],
    ) -> None:
        """A callback that declares what it takes is given that."""
        signature = signature_of(callback)
        if signature is None:
            return
        reads, writes = (
            [(dtypes.get(access.buffer, access.buffer.dtype), access.buffer.rank) for access in accesses]
            for accesses in (inputs, self.outputs)
        )
        complaint = signature.complaint(reads, writes, arguments)
        if complaint is not None:
            raise GraphError(f"{what}: {getattr(callback, '__name__', callback)} {complaint}")

    def _flag(self, given: object, what: str) -> bool:
        if not isinstance(given, (bool, np.bool_)):
            raise GraphError(f"func {self.name!r}: {what} must be True or False, got {cited(given)}")
        return bool(given)

    def _dims(self) -> tuple[Variable, ...]:
        """The variables of the output accesses, in order of first appearance."""
        dims: dict[Variable, None] = {}
        for access in self.outputs:
            own: set[Variable] = set()
            for d, i in enumerate(access.box):
                plain = i is not None and i.min is i.max and isinstance(i.min, Variable)
                if i is None or not plain or isinstance(i.min, Scalar):
                    raise GraphError(
                        f"func {self.name!r}: dimension {d} of its output {access} must be a plain variable, "
                        f"such as y, got {':' if i is None else i}"
                    )
                assert isinstance(i.min, Variable)
                if i.min in own:
                    raise GraphError(f"func {self.name!r}: its output {access} uses variable {i.min} twice")
                own.add(i.min)
                dims[i.min] = None
        return tuple(dims)

    def _whole(self, given: Iterable[Variable | str]) -> tuple[Variable, ...]:
        """The dimensions of which a call computes all, in the order of the func's."""
        if isinstance(given, (str, Variable)) or not is_iterable(given):
            raise GraphError(
                f"func {self.name!r}: whole must be a list of dimensions, such as ['x'], got {cited(given)}"
            )
        chosen = set()
        for each in given:
            dim = next((dim for dim in self.dims if each is dim or (isinstance(each, str) and each == dim.name)), None)
            if dim is None:
                dims = ", ".join(map(str, self.dims)) or "none"
                what = str(each) if isinstance(each, (str, Variable)) else cited(each)
                raise GraphError(f"func {self.name!r} cannot compute {what} whole: its dimensions are {dims}")
            chosen.add(dim)
        return tuple(dim for dim in self.dims if dim in chosen)

    def _check_outputs(self) -> None:
        seen: set[BufferExpr] = set()
        for access in self.outputs:
            buffer = access.buffer
            if buffer.value is not None:
                raise GraphError(f"func {self.name!r} cannot write to {buffer.name!r}, which is a constant")
            if buffer.producer is not None:
                raise GraphError(
                    f"buffer {buffer.name!r} has two producers: func {buffer.producer.name!r} and func {self.name!r}"
                )
            if buffer in seen:
                raise GraphError(f"func {self.name!r} lists its output {buffer.name!r} twice")
            seen.add(buffer)

    def _check_symbols(self, inputs: Iterable[Access], arguments: Mapping[str, Any], what: str) -> None:
        known = set(self.dims)
        for access in inputs:
            for i in access.box:
                if i is not None:
                    self._check_expr(i.min, known, what, access)
                    self._check_expr(i.max, known, what, access)
        for name, value in arguments.items():
            valid_name(name, f"an argument of {what}")
            if isinstance(value, Node):
                if not isinstance(value, Expr):
                    raise GraphError(f"{what}: argument {name!r} must be an integer expression, got {value}")
                self._check_expr(value, set(), what, f"its argument {name!r}")

    def _check_expr(self, expr: Expr, known: set[Variable], what: str, place: Access | str) -> None:
        """Check the symbols of an expression that stands in an input, or in what `place` names."""
        wrong = [symbol for symbol in symbols(expr) if type(symbol) is not Scalar and symbol not in known]
        for symbol in sorted(wrong, key=str):
            where = place if isinstance(place, str) else f"its input {place}"
            if isinstance(symbol, Variable) and not isinstance(symbol, Scalar) and symbol not in known:
                dims = ", ".join(map(str, self.dims)) or "none"
                raise GraphError(
                    f"{what}: variable {symbol} in {where} is used by no output "
                    f"(variables of the outputs: {dims}); for a reduced dimension write : or sl.interval(lo, hi)"
                )
            if isinstance(symbol, Metadata) and symbol.field == "fold_factor":
                raise GraphError(f"{what}: {symbol} in {where} depends on the schedule")

    def _check_cycle(self) -> None:
        """Only an output that somebody reads already can close a cycle."""
        outputs = {access.buffer for access in self.outputs}
        for access in self.inputs:
            if access.buffer in outputs:
                raise GraphError(
                    f"func {self.name!r} reads its own output {access.buffer.name!r}: the graph has a cycle"
                )
        if not any(buffer.is_read for buffer in outputs):
            return
        waiting = [access.buffer for access in self.inputs]
        seen: set[BufferExpr] = set()
        while waiting:
            buffer = waiting.pop()
            if buffer in outputs:
                raise GraphError(
                    f"func {self.name!r} produces {buffer.name!r} and also depends on it: the graph has a cycle"
                )
            if buffer not in seen and buffer.producer is not None:
                waiting.extend(access.buffer for access in buffer.producer.inputs)
            seen.add(buffer)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return f"<Func {', '.join(map(str, self.outputs))} = {self.name}({inputs})>"


def callback_of(
    callback: Callable[..., Any],
    arguments: object,
    counts: tuple[int, int],
    what: str,
    pass_buffers: object,
    in_place: object,
    writable_inputs: object,
) -> Callback:
    """What a declaration beside a func says that is run, with so many inputs and outputs.

    `what` is what messages call it. Raises `GraphError` for what cannot be.
    """
    if not callable(callback):
        raise GraphError(f"{what} needs a callable, got {cited(callback)}")
    if isinstance(callback, Returning):
        callback = attrs.evolve(callback, outputs=counts[1])
    if not isinstance(arguments, Mapping):
        raise GraphError(f"{what}: arguments must be a dictionary, values by name, got {cited(arguments)}")
    arguments = {valid_name(each, f"an argument of {what}"): value for each, value in arguments.items()}
    own = {"pass_buffers": pass_buffers, "writable_inputs": writable_inputs}
    own["in_place"] = _is_elementwise(callback) if in_place is None else in_place
    for key, flag in own.items():
        if not isinstance(flag, (bool, np.bool_)):
            raise GraphError(f"{what}: {key} must be True or False, got {cited(flag)}")
    _check_ufunc(callback, arguments, counts, bool(pass_buffers), what)
    flags = {key: bool(flag) for key, flag in own.items()}
    return Callback(callback, arguments=tuple(arguments.items()), **flags)


def _check_ufunc(
    ufunc: Callable[..., Any], arguments: Mapping[str, Any], given: tuple[int, int], pass_buffers: bool, what: str
) -> None:
    """Of a ufunc it is known how it is called."""
    if not isinstance(ufunc, np.ufunc):
        return
    expected = (ufunc.nin, ufunc.nout)
    if given != expected:
        raise GraphError(
            f"{what}: the ufunc {ufunc.__name__} takes {expected[0]} inputs and {expected[1]} outputs, "
            f"got {given[0]} and {given[1]}"
        )
    if "out" in arguments:
        raise GraphError(f"{what}: the ufunc {ufunc.__name__} gets its outputs as its argument 'out'")
    if pass_buffers:
        raise GraphError(f"{what}: the ufunc {ufunc.__name__} takes arrays, it cannot have pass_buffers")


def _is_elementwise(callback: Callable[..., Any]) -> bool:
    """Whether it is a ufunc on elements. NumPy promises the same result for operands that share memory."""
    return isinstance(callback, np.ufunc) and callback.signature is None


def _default_name(callback: Callable[..., Any]) -> str:
    name = getattr(callback, "__name__", type(callback).__name__)
    return name if name.isidentifier() and name != "_" else "func"


def _accesses(given: Iterable[Access], func: str, what: str) -> tuple[Access, ...]:
    if isinstance(given, (Access, BufferExpr)):
        raise GraphError(f"func {func!r}: {what}s must be a list of accesses, such as [{given}], got one alone")
    if not is_iterable(given):
        raise GraphError(f"func {func!r}: {what}s must be a list of accesses, such as [b[...]], got {cited(given)}")
    accesses = tuple(given)
    for access in accesses:
        if isinstance(access, BufferExpr):
            raise GraphError(
                f"func {func!r}: {what} {access.name!r} needs an interval per dimension, such as {access.name}[...]"
            )
        if not isinstance(access, Access):
            raise GraphError(f"func {func!r}: an {what} must be an access, buffer[...], got {cited(access)}")
    return accesses
