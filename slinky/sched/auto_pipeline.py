"""Pipelines that are scheduled for the arrays they are given: `p.auto()`, or `build_pipeline(..., schedule="auto")`.

One is the program as it was, to print and to rewrite; what runs is what `auto_schedule` makes of it at the first run.
Sizes are counted in ranges, from one power of two to the next, and a schedule is kept for each range that a run came
in: what is good for 1,000 rows is good for 1,023. The first run of a range decides. Each back
end that runs ask for has schedules of its own.

Invariant: runs give what the program gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import slinky as sl
from slinky.errors import cited
from slinky.sched.kept_schedules import kept_or_made, made
from slinky.sched.options import require_options

_Key = tuple[object, ...]


class AutoPipeline(sl.Pipeline):
    """A pipeline that is scheduled by itself at the first run on arrays of each range of sizes.

    `options` are those of `auto_schedule`. Everything but running is that of the program as it was; rewriting it gives
    an ordinary pipeline. `scheduled_for` is what runs.
    """

    __slots__ = ("_found", "_made", "_options")

    _options: dict[str, Any]
    _found: dict[_Key, sl.Pipeline]
    _made: dict[_Key, sl.Pipeline]

    def __init__(self, p: sl.Pipeline, **options: Any) -> None:
        if not isinstance(p, sl.Pipeline):
            raise sl.OperationError(f"a Pipeline is scheduled by itself, got {cited(p)}")
        super().__init__(p._version)
        object.__setattr__(self, "_options", options)
        object.__setattr__(self, "_found", {})
        object.__setattr__(self, "_made", {})

    def __repr__(self) -> str:
        return super().__repr__().replace("<Pipeline", "<AutoPipeline", 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._version, self._options)

    @property
    def _backend(self) -> str:
        """What it runs by where nobody says otherwise."""
        return str(self._options.get("backend", "python"))

    def scheduled_for(self, /, *arrays: object, **scalars: Any) -> sl.Pipeline:
        """The pipeline that runs on arrays like these, or of these shapes. Raises what `auto_schedule` raises."""
        key = (self._backend, *range_of(arrays, scalars))
        found = self._made.get(key)
        if found is None:
            options = {**self._options, "backend": self._backend}
            found = self._made.setdefault(key, made(sl.Pipeline(self._version), arrays, scalars, options))
        return found

    def _running_for(self, /, *arrays: object, **scalars: Any) -> sl.Pipeline:
        """The same, of which nothing may be known but what runs: another process may have found it."""
        return self._scheduled(self._backend, arrays, scalars)

    def _scheduled(self, backend: str, arrays: tuple[object, ...], scalars: dict[str, Any]) -> sl.Pipeline:
        """The same for a back end."""
        key = (backend, *range_of(arrays, scalars))
        found = self._found.get(key, self._made.get(key))
        if found is None:
            options = {**self._options, "backend": backend}
            scheduled, is_made = kept_or_made(sl.Pipeline(self._version), arrays, scalars, options)
            found = self._found.setdefault(key, scheduled)
            if is_made:
                self._made.setdefault(key, found)
        return found

    def __call__(self, /, *arrays: object, **scalars: float) -> Any:
        """Run as `Pipeline` does, by the schedule for arrays like these, and by the back end that it was made for."""
        found = self._running_for(*arrays, **scalars)
        run = found if self._backend == "python" else found.compile(backend=self._backend)
        return run(*arrays, **scalars)

    def bind(self, /, *arrays: object, **scalars: float) -> Any:
        """Fix the arguments, as `Pipeline.bind` does, of the schedule for arrays like these."""
        found = self._running_for(*arrays, **scalars)
        if self._backend == "python":
            return found.bind(*arrays, **scalars)
        return found.compile(backend=self._backend).bind(arrays, scalars)

    def run(self, /, *arrays: object, **options: Any) -> Any:
        """Run and count as `Pipeline.run` does, by the schedule for arrays like these and for the back end."""
        options.setdefault("backend", self._backend)
        return self._for(arrays, options).run(*arrays, **options)

    def trace(self, /, *arrays: object, **options: Any) -> Any:
        """Run and write what happened when, as `Pipeline.trace` does, by the schedule for arrays like these."""
        return self._for(arrays, options).trace(*arrays, **options)

    def memory(self, /, *arrays: object, threads: int | None = None, **scalars: float) -> Any:
        """What the intermediates of a run on arrays like these take."""
        return self._running_for(*arrays, **scalars).memory(*arrays, threads=threads, **scalars)

    def estimate(self, /, *arrays: object, threads: int | None = None, **scalars: float) -> Any:
        """What a run on arrays like these will count."""
        return self._running_for(*arrays, **scalars).estimate(*arrays, threads=threads, **scalars)

    def _for(self, arrays: tuple[object, ...], options: dict[str, Any]) -> sl.Pipeline:
        """The schedule for a run with these options, among which are the scalars."""
        names = {p.name for p in self.program.parameters()}
        backend = options.get("backend", self._backend)
        require_options(None, None, None, backend)
        return self._scheduled(backend, arrays, {name: value for name, value in options.items() if name in names})


def scheduled_by_itself(p: sl.Pipeline, arrays: tuple[object, ...], options: dict[str, Any]) -> sl.Pipeline:
    """What `p.auto(...)` returns. With arrays, names that are no options are those of scalars.

    Raises `OperationError` for names that are no options where there are no arrays.
    """
    if arrays:
        return made(p, arrays, {}, options)
    given = {"max_bytes": None, "workers": None, "machine": None, "backend": "python", **options}
    known = ("max_bytes", "workers", "machine", "backend")
    for name in options:
        if name not in known:
            raise sl.OperationError(
                f"auto: without arrays it takes {', '.join(known)}, got {name}={cited(options[name])}"
            )
    require_options(given["max_bytes"], given["workers"], given["machine"], given["backend"])
    return AutoPipeline(p, **options)


def _again(version: Any, options: dict[str, Any]) -> AutoPipeline:
    return AutoPipeline(sl.Pipeline(version), **options)


def range_of(arrays: Sequence[object], scalars: Mapping[str, object]) -> _Key:
    """In which range of sizes arguments lie, all of which have one schedule."""
    return tuple(map(_range, arrays)), tuple((name, _range(scalars[name])) for name in sorted(scalars))


def _range(given: object) -> object:
    """In which range of sizes an argument lies: each extent from one power of two to the next."""
    if isinstance(given, bool | int):
        return int(given).bit_length()
    shape = given if isinstance(given, tuple) else getattr(given, "shape", None)
    if shape is None:
        shape = getattr(getattr(given, "array", None), "shape", ())
    if not isinstance(shape, tuple):
        return None  # no array: who looks at it more closely refuses it
    return tuple(n.bit_length() if type(n) is int else None for n in shape)
