"""Random programs of NumPy: functions of arrays, drawn operation by operation, to compare traced with plain runs.

A program is a list of steps that are all ordinary NumPy code. Drawing looks at real arrays, so that most steps fit.
"""

# ruff: noqa: E501 (code that is drawn stands on one line)

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

DTYPES = ("bool", "uint8", "int16", "int64", "float32", "float64", "complex64")

Step = Callable[[list[Any]], Any]


@attrs.frozen
class Program:
    """Steps, each of which adds a value to those that are there, or changes them; the last values are returned."""

    steps: tuple[tuple[str, Step], ...]
    rounded: bool

    def __call__(self, *arrays: Any) -> Any:
        values = list(arrays)
        for _, step in self.steps:
            values.append(step(values))
        return tuple(values[len(arrays) :][-3:])

    def __repr__(self) -> str:
        return "; ".join(text for text, _ in self.steps)


def arrays_of(dtype: str, shape: Sequence[int], seed: int) -> Any:
    """An array of small numbers, also negative ones, of a layout of its own."""
    random = np.random.default_rng(seed)
    values = random.integers(-4 if np.dtype(dtype).kind in "ifc" else 0, 5, size=shape)
    array = values.astype(dtype)
    if np.dtype(dtype).kind in "fc":
        array = (array * 0.75).astype(dtype)
    return array


def _unary(draw: Any) -> tuple[str, Callable[[Any], Any]]:
    name = draw(
        st.sampled_from(
            [
                "negative",
                "absolute",
                "square",
                "sqrt",
                "sign",
                "floor",
                "rint",
                "isfinite",
                "logical_not",
                "invert",
                "conjugate",
                "positive",
                "exp",
                "signbit",
            ]
        )
    )
    return name, getattr(np, name)


def _number(draw: Any) -> Any:
    return draw(
        st.sampled_from([2, -1, 3, 0.5, 1.5, True, 2.0, np.float32(1.25), np.int16(3), np.float64(0.1), 1, np.uint8(2)])
    )


def _binary(draw: Any) -> tuple[str, Callable[[Any, Any], Any]]:
    names = (
        "add subtract multiply maximum minimum less equal logical_and true_divide fmax arctan2 remainder floor_divide"
    )
    name = draw(st.sampled_from(names.split()))
    return name, getattr(np, name)


def _slice(draw: Any, extent: int) -> Any:
    ends = st.one_of(st.none(), st.integers(-extent - 1, extent + 1))
    return slice(draw(ends), draw(ends), draw(st.sampled_from([None, None, 1, 2, -1, -2, 3])))


def _index(draw: Any, shape: Sequence[int]) -> Any:
    entries: list[Any] = []
    for extent in shape:
        kind = draw(st.sampled_from(["slice", "slice", "slice", "all", "integer", "new"]))
        if kind == "new":
            entries.append(None)
        if kind == "integer" and extent:
            entries.append(draw(st.integers(-1, 0)))
        else:
            entries.append(_slice(draw, extent) if kind == "slice" else slice(None))
    if draw(st.integers(0, 4)) == 0:
        entries.insert(draw(st.integers(0, len(entries))), Ellipsis)
        if len(entries) > 2 and draw(st.booleans()):
            entries.pop(next(k for k, e in enumerate(entries) if e is not Ellipsis))
    return tuple(entries)


def draw_program(draw: Any, arrays: Sequence[Any], length: int) -> Program:
    """A program that some arrays can run, most of the time."""
    steps: list[tuple[str, Step]] = []
    values = list(arrays)
    rounded = False
    for _ in range(length):
        made = _draw_step(draw, values, len(arrays))
        if made is None:
            continue
        text, step, is_rounded = made
        tried = [np.array(v) if isinstance(v, np.ndarray) else v for v in values]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step(tried)
                result = step(values)
        except (TypeError, ValueError, OverflowError, IndexError, ZeroDivisionError):
            continue
        if not isinstance(result, (np.ndarray, np.generic)) or np.size(result) > 4000:
            continue
        rounded = rounded or is_rounded
        values.append(result)
        steps.append((f"v{len(values) - 1} = {text}", step))
    return Program(tuple(steps), rounded)


def _draw_step(draw: Any, values: list[Any], given: int) -> tuple[str, Step, bool] | None:
    a = draw(st.integers(max(0, len(values) - 4), len(values) - 1))
    b = draw(st.integers(0, len(values) - 1))
    array, rank = values[a], np.ndim(values[a])
    shape = np.shape(array)
    kind = draw(st.sampled_from(KINDS))
    axis = draw(st.integers(-rank, rank - 1)) if rank else None
    match kind:
        case "unary":
            name, function = _unary(draw)
            return f"np.{name}(v{a})", lambda v: function(v[a]), name == "exp"
        case "binary":
            name, of_two = _binary(draw)
            return f"np.{name}(v{a}, v{b})", lambda v: of_two(v[a], v[b]), name == "arctan2"
        case "number":
            name, of_two = _binary(draw)
            n = _number(draw)
            if draw(st.booleans()):
                return f"np.{name}({n!r}, v{a})", lambda v: of_two(n, v[a]), name == "arctan2"
            return f"np.{name}(v{a}, {n!r})", lambda v: of_two(v[a], n), name == "arctan2"
        case "operator":
            sign = draw(st.sampled_from(["+", "-", "*", "/", "//", "%", "<", ">=", "==", "&", "|", "^", "**"]))
            n = _number(draw)
            code = draw(st.sampled_from([f"a {sign} b", f"a {sign} n", f"n {sign} a"]))
            compiled = compile(code, "step", "eval")
            is_power = sign == "**" and "a ** n" not in code
            return f"{code} of v{a}, v{b}, {n!r}", lambda v: eval(compiled, {"a": v[a], "b": v[b], "n": n}), is_power
        case "index":
            index = _index(draw, shape)
            return f"v{a}[{index}]", lambda v: v[a][index], False
        case "assign":
            if a < given or not rank:
                return None
            index = _index(draw, shape)
            n = _number(draw)
            if draw(st.booleans()):
                return f"v{a}[{index}] = {n!r}", lambda v: _assigned(v, a, index, n), False
            return f"v{a}[{index}] = v{b}", lambda v: _assigned(v, a, index, v[b]), False
        case "in place":
            if a < given or not isinstance(array, np.ndarray):
                return None
            name = draw(st.sampled_from(["__iadd__", "__imul__", "__isub__", "__ior__"]))
            n = _number(draw)
            other = draw(st.booleans())
            return f"v{a}.{name}", lambda v: getattr(v[a], name)(v[b] if other else n), False
        case "view":
            if not rank:
                return None
            code = draw(
                st.sampled_from(["a.T", "np.flip(a, k)", "np.moveaxis(a, 0, -1)", "a[..., None]", "np.atleast_2d(a)",
                                 "np.expand_dims(a, 0)", "a.copy()", "np.squeeze(a)", "a.swapaxes(0, -1)", "np.rot90(a)"])
            )  # fmt: skip
            return _code(code, a, b, axis), _of_code(code, a, b, axis), False
        case "reduce":
            code = draw(
                st.sampled_from(["a.sum(axis=k)", "a.max(axis=k)", "np.min(a)", "a.any(axis=k, keepdims=True)", "np.all(a)",
                                 "a.mean(axis=k)", "a.sum(keepdims=True)", "np.argmax(a, axis=k)", "a.prod(axis=k)",
                                 "np.add.reduce(a)", "a.std(axis=k)", "np.ptp(a, axis=k)", "np.count_nonzero(a, axis=k)",
                                 "np.logical_or.reduce(a, axis=k)"])
            )  # fmt: skip
            is_rounded = any(word in code for word in ("sum", "mean", "prod", "std", "add"))
            return _code(code, a, b, axis), _of_code(code, a, b, axis), is_rounded
        case "along":
            if not rank:
                return None
            code = draw(st.sampled_from(["np.cumsum(a, axis=k)", "np.sort(a, axis=k)", "np.diff(a, axis=k)", "np.roll(a, 1, k)",
                                         "np.maximum.accumulate(a, axis=k)"]))  # fmt: skip
            return _code(code, a, b, axis), _of_code(code, a, b, axis), "cumsum" in code
        case "join":
            if not rank:
                return None
            code = draw(
                st.sampled_from(["np.concatenate([a, b], axis=k)", "np.concatenate([a[1:], a])", "np.stack([a, a], axis=k)",
                                 "np.vstack([a, a])", "np.pad(a, 1)", "np.pad(a, 2, mode='edge')", "np.pad(a, 1, mode='symmetric')",
                                 "np.pad(a, 1, mode='reflect')", "np.pad(a, 1, mode='wrap')", "np.hstack([a, a])"])
            )  # fmt: skip
            return _code(code, a, b, axis), _of_code(code, a, b, axis), False
        case "choose":
            code = draw(
                st.sampled_from(["np.where(a > 0, a, b)", "np.clip(a, 0, 2)", "np.where(a, 1.5, b)", "a.astype('f4')", "a.astype(int)",
                                 "np.zeros_like(a)", "np.full_like(b, 2)", "np.round(a, 1)", "a.real", "np.add(a, 1, where=b > 0, out=a.copy())",
                                 "np.isclose(a, b)", "a.clip(max=1)", "np.square(a, dtype='f8')", "np.multiply.outer(a, b)"])
            )  # fmt: skip
            return _code(code, a, b, axis), _of_code(code, a, b, axis), False
        case _:
            code = draw(st.sampled_from(["a @ b", "np.dot(a, b.T)", "np.matmul(a, a.T)"]))
            return _code(code, a, b, axis), _of_code(code, a, b, axis), True


KINDS = ("unary", "binary", "binary", "number", "operator", "operator", "index", "index", "assign", "in place", "view", "reduce",
         "along", "join", "choose", "choose", "product")  # fmt: skip


def _code(code: str, a: int, b: int, axis: int | None) -> str:
    return f"{code} of a=v{a}, b=v{b}, k={axis}"


def _of_code(code: str, a: int, b: int, axis: int | None) -> Step:
    compiled = compile(code, "step", "eval")
    return lambda v: eval(compiled, {"np": np, "a": v[a], "b": v[b], "k": axis})


def _assigned(values: list[Any], at: int, index: Any, value: Any) -> Any:
    values[at][index] = value
    return values[at]
