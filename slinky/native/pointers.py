"""The addresses of functions that other packages have compiled.

Idea. Each package has objects of its own for a function in C. What they are is seen by their types, without importing
the package: who has such an object has imported it.

Invariant: an address is kept together with the object that it was taken of, which keeps the function there.
"""

from __future__ import annotations

import ctypes
import operator
from _ctypes import FUNCFLAG_PYTHONAPI, CFuncPtr
from importlib import import_module
from typing import Any

import attrs

from slinky.errors import GraphError
from slinky.symbolic.expressions import is_integer

_ADDRESSES = 1 << 8 * ctypes.sizeof(ctypes.c_void_p)
"""How many addresses there are."""


@attrs.frozen(eq=False)
class Pointer:
    """Where a function is, what it is called, and what keeps it there. One with user data has its address.

    A function of numba's that is compiled for no types yet has no address; `python` is what it is made of.
    """

    address: int
    user_data: int = 0
    has_user_data: bool = False
    name: str | None = None
    kept: object = None
    python: object = None


def pointer_of(given: Any, what: str) -> Pointer:
    """Where a function is. Raises `GraphError` for what is none that is compiled."""
    of = type(given)
    home = of.__module__.partition(".")[0]
    name = getattr(given, "__name__", None)
    if is_integer(given):
        return _at(Pointer(operator.index(given)), what)
    if isinstance(given, CFuncPtr):
        if _needs_the_lock(given):
            raise GraphError(
                f"{what} is of a library whose functions need the lock of Python's interpreter, as ctypes.PyDLL and "
                f"ctypes.PYFUNCTYPE say: it would be called without"
            )
        address = ctypes.cast(given, ctypes.c_void_p).value or 0
        return _at(Pointer(address, name=name, kept=given), what)
    if home == "numba" and hasattr(given, "py_func"):
        return Pointer(0, name=given.py_func.__name__, kept=given, python=given.py_func)
    if home == "numba" and hasattr(given, "address"):
        return _at(Pointer(given.address, name=name, kept=given), what)
    if home == "scipy" and of.__name__ == "LowLevelCallable":
        capsule = tuple.__getitem__(given, 0)
        return attrs.evolve(_of_capsule(capsule, what), has_user_data=True, kept=given)
    if of.__name__ == "PyCapsule":
        return _of_capsule(given, what)
    if home == "_cffi_backend":
        return _of_cffi(given, what)
    raise GraphError(
        f"{what} is no compiled function: expected one of ctypes, cffi or numba, a LowLevelCallable of SciPy, "
        f"a capsule, or an address"
    )


def _needs_the_lock(given: Any) -> bool:
    """Whether a function of `ctypes` says that it is to be called with the interpreter's lock, and takes it not itself,
    as functions of Python's do."""
    takes_it = any(type(each).__name__ == "CThunkObject" for each in (given._objects or {}).values())
    return bool(given._flags_ & FUNCFLAG_PYTHONAPI) and not takes_it


def _at(pointer: Pointer, what: str) -> Pointer:
    if not 0 < pointer.address < _ADDRESSES:
        raise GraphError(f"{what} is at address {pointer.address}, where no function is")
    return pointer


def _of_capsule(capsule: Any, what: str) -> Pointer:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    context_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetContext", api))
    address = pointer_in(capsule, name_of(capsule)) or 0
    return _at(Pointer(address, context_of(capsule) or 0, kept=capsule), what)


def _of_cffi(given: Any, what: str) -> Pointer:
    cffi: Any = import_module("_cffi_backend")
    kind = cffi.typeof(given)
    if kind.kind != "function":
        raise GraphError(f"{what} is of the C type {kind.cname!r}, which is no function")
    address = int(cffi.FFI().cast("uintptr_t", given))
    return _at(Pointer(address, kept=given), what)
