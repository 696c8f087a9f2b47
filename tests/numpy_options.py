"""Functions of NumPy with their options, one at a time, on arrays of several dtypes and ranks: what `sl.jit` makes of
them is what NumPy gives, of the same kind, dtype and shape, or an error of the same type.

Idea. `numpy_programs` draws long programs of common calls; here each call stands alone, and what is rare is tried as
well: every function that the tables know, every other one of NumPy's that takes an array, and every method of arrays,
with each value that an option of its name may have. Where NumPy refuses, so must a traced function.

`python tests/numpy_options.py [NAME ...] [--pieces]` tries all of them, which takes minutes.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from traced import MACHINE, PIECES, jit

from slinky.errors import TracingError
from slinky.frontend import composed as composed  # the table is filled there
from slinky.frontend import functions as functions
from slinky.frontend import rearranging as rearranging
from slinky.frontend.tables import TABLE, name_of

_AXES = [None, 0, -1, 1, (0, 1), (1,), [0], np.int64(0)]
_PLACES: list[Any] = [0, [0, 1], -1, [[0, 1], [1, 0]]]
OPTIONS: dict[str, Sequence[Any]] = {
    "UPLO": ["U"],
    "a_max": [2, None],
    "a_min": [0, None, 1],
    "append": [0],
    "assume_unique": [True],
    "axes": [None, (1, 0), (0, 1), [1, 0], 1],
    "axis": _AXES,
    "axis1": [0, 1],
    "axis2": [1, 0],
    "axisa": [0],
    "bins": [3, [0, 1, 2]],
    "casting": ["unsafe"],
    "constant_values": [1],
    "copy": [False, True],
    "correction": [1],
    "ddof": [1, 0.5],
    "decimals": [1, -1],
    "deg": [True],
    "destination": [-1],
    "discont": [1.0],
    "dtype": [np.float32, np.int64, np.complex128, "f8", bool],
    "dx": [2.0],
    "edge_order": [2],
    "endpoint": [False],
    "equal_nan": [True],
    "fill_value": [2, 2.5, np.float32(1)],
    "fp": [[1, 2, 4]],
    "full_matrices": [False],
    "indexing": ["ij", "xy"],
    "indices": _PLACES,
    "indices_or_sections": [2, 3, [1, 3]],
    "initial": [0, 10],
    "invert": [True],
    "k": [0, 1, -1, 2],
    "keepdims": [True],
    "kind": ["stable"],
    "max": [2],
    "method": ["linear", "nearest"],
    "min": [0],
    "mode": ["wrap", "clip", "reflect", "edge", "constant", "full", "same", "valid", "raise"],
    "n": [1, 2, 3],
    "nan": [1.0],
    "newshape": [(-1,), (2, -1)],
    "norm": ["ortho", "forward"],
    "num": [5],
    "obj": [0, [0, 1], slice(0, 2)],
    "offset": [1, -1],
    "optimize": [True],
    "ord": [None, 1, 2, np.inf, -1, "fro"],
    "order": ["C", "F", "K", "A"],
    "out": ["like the first"],
    "pad_width": [1, (1, 2), ((0, 1), (2, 0)), 0],
    "period": [3.0],
    "prepend": [0],
    "q": [0.5, 50, [0.25, 0.75]],
    "repeats": [0, 1, 2, [1, 2, 3, 1]],
    "reps": [2, (2, 1)],
    "returned": [True],
    "right": [True],
    "rtol": [0.1],
    "shape": [(4, 6), (2, 4, 6), (-1,), (1, 4, 6), 24],
    "shift": [1, -2, (1, 1), 100],
    "side": ["left", "right"],
    "source": [0],
    "sparse": [True],
    "start": [0],
    "subok": [True],
    "subscripts": ["ij->ji"],
    "unique": [True],
    "values": [0, 1.5],
    "varargs": [1.0],
    "weights": [None, "like the first"],
    "where": [True, False, "a mask"],
    "window_shape": [2, (2, 2)],
    "xp": [[0, 1, 2]],
}
"""Values of options, by their names."""

UNKNOWN = {"empty", "empty_like", "show_config", "info", "save", "savetxt", "savez", "savez_compressed", "load", "test"}


@attrs.frozen
class Case:
    """A function of NumPy's, what it is given, and one of its options."""

    name: str
    function: Callable[..., Any] = attrs.field(repr=False)
    array: str
    given: str
    arguments: Callable[[Any], tuple[Any, ...]] = attrs.field(repr=False)
    option: tuple[str, Any] | None

    def program(self) -> Callable[[Any], Any]:
        """A function of an array that calls it."""

        def program(x: Any) -> Any:
            return self.function(*self.arguments(x), **self._keywords(x))

        return program

    def _keywords(self, x: Any) -> dict[str, Any]:
        match self.option:
            case None:
                return {}
            case ("out", _):
                return {"out": x * 1}
            case ("weights", str()):
                return {"weights": abs(x)}
            case ("where", value):
                own = {"where": x > 0 if isinstance(value, str) else value}
                return {**own, "out": x * 1} if isinstance(self.function, np.ufunc) else own  # else anything comes back
            case (name, value):
                return {name: value}


def arrays() -> dict[str, Any]:
    """What functions are tried on."""
    draw = np.random.default_rng(0)
    return {
        "float64": draw.random((4, 6)) * 8 - 4,
        "int64": draw.integers(-5, 9, (4, 6)),
        "bool": draw.random((4, 6)) > 0.5,
        "one axis": draw.random(6) * 8 - 4,
        "float32": draw.random(6).astype(np.float32),
        "complex64": (draw.random((4, 6)) + 1j * draw.random((4, 6))).astype(np.complex64),
        "square": draw.random((4, 4)),
        "three axes": draw.random((2, 3, 4)),
        "uint8": draw.integers(0, 9, 6).astype(np.uint8),
        "float16": draw.random((3, 4)).astype(np.float16),
        "no rows": np.zeros((0, 3)),
    }


_GIVEN: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "one": lambda x: (x,),
    "two": lambda x: (x, x),
    "a list": lambda x: ([x, x],),
    "two others": lambda x: (x, x + 1),
    "a sum": lambda x: (x.sum(),),
    "a row": lambda x: (x[0],),
}


def known_functions() -> dict[str, Callable[..., Any]]:
    """What the tables of the front end know."""
    return {name_of(f): f for f in sorted(TABLE, key=name_of) if f.__name__ not in UNKNOWN}


def methods() -> dict[str, Callable[..., Any]]:
    """The methods of arrays that compute something."""
    names = [name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))]
    writing = {"byteswap", "dump", "fill", "partition", "put", "resize", "setfield", "setflags", "sort", "tofile"}

    def method(name: str) -> Callable[..., Any]:
        return lambda x, *given, **keywords: getattr(x, name)(*given, **keywords)

    return {f".{name}": method(name) for name in names if name not in writing}


def cases(chosen: dict[str, Callable[..., Any]]) -> Iterator[Case]:
    """Every function with all that it may be given, and each of its options."""
    for name, function in chosen.items():
        required, optional = _parameters(name, function)
        for array in arrays():
            for given, arguments in _given(required):
                for option in [None, *((each, value) for each in optional for value in OPTIONS.get(each, ()))]:
                    yield Case(name, function, array, given, arguments, option)


def _parameters(name: str, function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The names of what a function must be given, and of its options."""
    if isinstance(function, np.ufunc):
        return ["x"] * function.nin, ["out", "dtype", "where", "casting"]
    try:
        found = list(
            inspect.signature(getattr(np, name[1:], function) if name[0] == "." else function).parameters.values()
        )
    except ValueError:
        return ["x"], ["axis", "out", "dtype", "where", "keepdims"]
    by_position = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [p.name for p in by_position if p.default is p.empty], [p.name for p in found[1:]]


def _given(required: list[str]) -> list[tuple[str, Callable[[Any], tuple[Any, ...]]]]:
    found = list(_GIVEN.items())
    for value in OPTIONS.get(required[1], ())[:6] if len(required) > 1 else ():
        found.append((f"{required[1]}={value}", lambda x, value=value: (x, value)))
        for other in OPTIONS.get(required[2], ())[:3] if len(required) > 2 else ():
            both = value, other
            found.append((f"{required[1]}={value}, {required[2]}={other}", lambda x, both=both: (x, *both)))
    return found


def fault(case: Case, **options: Any) -> str | None:
    """What is different from NumPy, if anything is."""
    array = arrays()[case.array]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want, failed = _outcome(case.program(), array.copy())
        got, refused = _outcome(jit(case.program(), **options), array.copy())
    if failed is None and isinstance(refused, TracingError) and "writes to its argument" in str(refused):
        return None  # so it does, and it is said
    if refused is None and (isinstance(failed, TypeError) or "Unable to avoid copy" in str(failed)):
        return None  # what can be taken for nothing else may be taken for what it is
    if (failed is None) != (refused is None) or (refused is not None and not isinstance(refused, _ERRORS)):
        return f"{refused!r} in place of {failed!r}"
    return None if failed is not None or is_same(want, got) else f"{got!r} in place of {want!r}"


_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What NumPy raises for calls that make no sense, now one of them, now another."""


def _outcome(function: Callable[..., Any], *given: Any) -> tuple[Any, Exception | None]:
    try:
        return function(*given), None
    except Exception as error:
        return None, error


def is_same(want: Any, got: Any) -> bool:
    """Whether something is of the same kind, dtype and shape, and the same within what is rounded."""
    if type(want) is not type(got):
        return False
    if isinstance(want, (tuple, list)):
        return len(want) == len(got) and all(map(is_same, want, got))
    if isinstance(want, (np.ndarray, np.generic)):
        if want.dtype != got.dtype or want.shape != got.shape:
            return False
        near = 1e-9 if want.dtype.char not in "eFf" else 1e-2
        return want.dtype.kind not in "biufc" or np.allclose(want, got, rtol=near, atol=near, equal_nan=True)
    return bool(want == got or want != want)


def main() -> int:
    """Try functions with all of their options; the status is 1 if any differs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="functions, or methods such as .mean; all, if none is given")
    parser.add_argument("--pieces", action="store_true", help="by pieces")
    parser.add_argument("--others", action="store_true", help="also what the tables do not know")
    asked = parser.parse_args()
    chosen = known_functions() | methods()
    if asked.others:
        chosen = {
            n: f for n, f in vars(np).items() if callable(f) and not isinstance(f, type) and n not in UNKNOWN
        } | chosen
    if asked.names:
        chosen = {name: chosen[name] for name in asked.names}
    found: dict[tuple[Any, ...], str] = {}
    count = 0
    for case in cases(chosen):
        count += 1
        what = fault(case, machine=PIECES if asked.pieces else MACHINE)
        key = (case.name, case.option and case.option[0], (what or "")[:20])
        if what is not None and key not in found:
            found[key] = what
            print(f"{case}: {what}", flush=True)
    print(f"{count} calls, {len(found)} kinds of them differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
