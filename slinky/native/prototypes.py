"""What packages say that a compiled function takes and returns, beside what is declared of it.

Idea. An address says nothing of what is behind it, but most objects that have one do: `ctypes` by `argtypes` and
`restype`, numba and `cffi` by the types that they compiled for, capsules by their name, which is a declaration of C as
a rule. A call that passes too few arguments, or addresses of other elements, ends in somebody else's memory, so what is
known is compared when the function is declared.

Invariant: what is refused would be undefined in C. Of what is not known (a type by a name of its own, say) nothing is
said; and nothing of signs, as integers of one size are passed alike.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Literal

import attrs
import numpy as np

from slinky.errors import GraphError
from slinky.native.operators import C_TYPES
from slinky.native.parameters import INTEGER_TYPES, Operand, Parameter, Scalar


@attrs.frozen
class Told:
    """A C type: an `integer` or a `float` of so many bytes, a `pointer` to something if that is known, `void` for
    nothing; or `unknown`."""

    kind: Literal["integer", "float", "pointer", "void", "unknown"]
    size: int = 0
    to: Told | None = None

    def __str__(self) -> str:
        if self.kind == "pointer":
            return f"{'void' if self.to is None or self.to.kind == 'unknown' else self.to} *"
        return {"integer": f"int{8 * self.size}_t", "float": "float" if self.size == 4 else "double"}.get(
            self.kind, self.kind
        )

    def may_be(self, other: Told) -> bool:
        """Whether one may be passed as the other, for all that is known. Bytes may be anything."""
        if "unknown" in (self.kind, other.kind):
            return True
        if self.kind != other.kind or self.size != other.size:
            return False
        to = (self.to, other.to)
        if None in to or any(each is not None and (each.kind == "void" or each.size == 1) for each in to):
            return True
        return to[0] is None or to[1] is None or to[0].may_be(to[1])


UNKNOWN, VOID, POINTER = Told("unknown"), Told("void"), Told("pointer")
_INT = ctypes.sizeof(ctypes.c_int)


@attrs.frozen
class Prototype:
    """What a function returns and takes; of one that takes any number of arguments besides, these `are_all` not."""

    result: Told
    parameters: tuple[Told, ...]
    are_all: bool = True

    def __str__(self) -> str:
        return f"{self.result} ({', '.join([*map(str, self.parameters), *([] if self.are_all else ['...'])])})"


def prototype_of(given: Any) -> Prototype | None:
    """What is known of a function; None if nothing is."""
    home = type(given).__module__.partition(".")[0]
    with suppress(Exception):  # whatever other packages do: nothing is known then
        if home == "numba":
            return _of_ctypes(given.ctypes)
        if home == "_cffi_backend":
            return _of_cffi(given)
        if home == "scipy":
            return _of_text(given.signature)
        if type(given).__name__ == "PyCapsule":
            name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
            return _of_text((name_of(given) or b"").decode())
        return _of_ctypes(given)
    return None


def require_prototype(
    told: Prototype, passed: Sequence[Parameter], operands: Sequence[Operand], scalars: Sequence[Scalar], fails: bool
) -> None:
    """Raises `GraphError`, without saying of what, where a function takes or returns something else than is declared;
    `fails` says that what it returns is looked at."""
    declared = [_declared(each, operands, scalars) for each in passed]
    count, most = len(declared), len(told.parameters)
    if count < most or (told.are_all and count > most):
        raise GraphError(f"takes {most} parameters, {told}, and is declared to be passed {count}")
    for n, (own, found) in enumerate(zip(told.parameters, declared, strict=False)):
        if not found.may_be(own):
            raise GraphError(f"takes {own} as its parameter {n}, {told}, and is declared to be passed {found}")
    result = told.result
    if fails and result.kind != "unknown" and not (result.kind == "integer" and result.size >= _INT):
        raise GraphError(f"returns {result}, {told}, and no int: declare success=None, if nothing of that matters")


def _declared(parameter: Parameter, operands: Sequence[Operand], scalars: Sequence[Scalar]) -> Told:
    """What is passed as a parameter."""
    if parameter.item == "user_data":
        return POINTER
    if parameter.item == "data":
        return Told("pointer", to=_of_dtype(operands[parameter.position].dtype))
    if parameter.item == "scalar":
        return _of_dtype(scalars[parameter.position].dtype)
    return Told("pointer", to=Told("integer", 8)) if parameter.dim is None else _of_name(parameter.type)


def _of_dtype(dtype: np.dtype[Any]) -> Told:
    kinds: Mapping[str, Literal["integer", "float"]] = {"b": "integer", "i": "integer", "u": "integer", "f": "float"}
    return Told(kinds[dtype.kind], dtype.itemsize) if dtype.kind in kinds and dtype in C_TYPES else UNKNOWN


def _of_ctypes(given: Any) -> Prototype | None:
    if getattr(given, "argtypes", None) is None:
        return None
    result = VOID if given.restype is None else _of_simple(given.restype)
    return Prototype(result, tuple(map(_of_simple, given.argtypes)))


def _of_simple(of: Any) -> Told:
    """A type of ctypes."""
    if isinstance(of, type) and issubclass(of, ctypes._Pointer):
        to: Any = of._type_
        return Told("pointer", to=_of_simple(to))
    if of in (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p):
        return POINTER
    if isinstance(of, type) and issubclass(of, ctypes._SimpleCData):
        code = str(getattr(of, "_type_", "?"))
        if code in "fd":
            return Told("float", ctypes.sizeof(of))
        if code in "?cbBhHiIlLqQ":
            return Told("integer", ctypes.sizeof(of))
    if isinstance(getattr(of, "_dtype_", None), np.dtype):  # np.ctypeslib.ndpointer
        return Told("pointer", to=_of_dtype(of._dtype_))
    return UNKNOWN


def _of_cffi(given: Any) -> Prototype:
    cffi: Any = import_module("_cffi_backend")
    kind = cffi.typeof(given)

    def told(of: Any) -> Told:
        match of.kind:
            case "void":
                return VOID
            case "pointer":
                return Told("pointer", to=told(of.item))
            case "function":
                return POINTER
            case "primitive" if of.cname in ("float", "double"):
                return Told("float", cffi.sizeof(of))
            case "primitive" if "complex" not in of.cname.lower() and of.cname != "long double":
                return Told("integer", cffi.sizeof(of))
            case _:
                return UNKNOWN

    return Prototype(told(kind.result), tuple(map(told, kind.args)), are_all=not kind.ellipsis)


_PROTOTYPE = re.compile(r"(?P<result>[\w ]+[\w *]*?)\s*\((?P<parameters>[\w *,]*)\)")


def _of_text(text: str | None) -> Prototype | None:
    """A declaration without names, such as `int (double *, intptr_t)`, which has no functions as parameters."""
    match = _PROTOTYPE.fullmatch((text or "").strip())
    if match is None:
        return None
    listed = match["parameters"].strip()
    parameters = [] if listed in ("", "void") else listed.split(",")
    return Prototype(_of_name(match["result"]), tuple(map(_of_name, parameters)))


def _of_name(text: str) -> Told:
    """A type of C by its name."""
    name = " ".join(word for word in text.replace("*", " * ").split() if word != "const")
    if name.endswith("*"):
        return Told("pointer", to=_of_name(name[:-1]))
    if name in ("void", "float", "double"):
        return VOID if name == "void" else Told("float", 4 if name == "float" else 8)
    found = INTEGER_TYPES.get({"npy_intp": "intptr_t", "Py_ssize_t": "ptrdiff_t", "char": "int8_t"}.get(name, name))
    return UNKNOWN if found is None else Told("integer", ctypes.sizeof(found))


__all__ = ["Prototype", "Told", "prototype_of", "require_prototype"]
