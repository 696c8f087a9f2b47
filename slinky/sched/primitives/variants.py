"""Primitives on what calls run: another variant of their func.

That a variant computes the same is the word of the func's author, declared where the func is made. What it reads may be
less, never more; that it finds it is proved as for any call.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import CallCursor
from slinky.cursors.editing import Edit
from slinky.errors import SchedulingError
from slinky.ir.copies import with_func
from slinky.ir.families import names_of_variants, relative
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.operation import sched_op
from slinky.sched.returned import ChooseVariantCursors


@sched_op(ChooseVariantCursors)
def choose_variant(p: Pipeline, call: CallCursor, name: str | None) -> Any:
    """Let a call run a variant of its func, by the name that the func gives it; with None, the func itself.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, b = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "b"))
        >>> def slow(source, target):
        ...     for k in range(len(target)):
        ...         target[k] = source[k] + source[k + 2]
        >>> def fast(source, target):
        ...     np.add(source[:-2], source[2:], out=target)
        >>> window = a[sl.interval(x - 1, x + 1)]
        >>> blur = sl.Func(slow, [window], [b[x]], name="blur", variants={"fast": fast})
        >>> p = sl.build_pipeline([a], [b])
        >>> print(p)
        pipeline blur(a: float32[1]) -> (b: float32[1]):
          check a.x.min <= b.x.min - 1
          check b.x.max <= a.x.max - 1
          b[:] = blur(a[b.x.min - 1 .. b.x.max + 1])
        >>> print(choose_variant(p, "blur", "fast"))
        pipeline blur(a: float32[1]) -> (b: float32[1]):
          check a.x.min <= b.x.min - 1
          check b.x.max <= a.x.max - 1
          b[:] = blur[fast](a[b.x.min - 1 .. b.x.max + 1])

    Other calls of the func run what they ran. A variant may read less than its func (`sl.Variant`), so that producers
    need not compute the rest for it. `sl.verify_variant` tests whether both compute the same.

    Refused: a name under which the func declares nothing; a variant that does not work in place, where the call does
    (`compute_in_place`).

    Cursors:
        call: the call.
    """
    version, old = p._version, call._call
    func = relative(old.func, name)
    if func is None:
        names = names_of_variants(old.func)
        declared = f"declares {', '.join(names)}" if names else "declares none"
        raise SchedulingError(f"{old.func.name} has no variant {name!r}: it {declared}", place=call)
    edit = Edit(version)
    if func is not old.func:
        edit.update(with_func(old, func))
    new = settle(edit, "choose_variant")
    return new, (CallCursor(new._version, old.id),)
