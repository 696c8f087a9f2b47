"""Random programs of tensors are those of NumPy, as they are and by random schedules."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import given, note, settings
from hypothesis import strategies as st
from named_tensors import Array
from random_schedules import Chain
from random_tensors import Drawn, TensorProgram

import slinky as sl
from slinky.frontend.tensors.equations import Sizes

SEEDS = st.integers(0, 1 << 32)


def compare(found: Array, expected: Array) -> None:
    """They have the same elements of the same dtype."""
    np.testing.assert_array_equal(found, expected, strict=True)


def drawn(seed: int) -> Drawn:
    """The last tensor of a program."""
    program = TensorProgram(seed)
    note("\n".join(program.said))
    return program.drawn[-1]


def run(t: sl.Tensor, p: sl.Pipeline, **options: Any) -> Array:
    """What a pipeline of a tensor computes."""
    scalars = {name: Sizes([size]).of([size])[0] for name, size in t._lowering().scalars.items()}
    found = np.zeros(t.shape, t.dtype)
    p.run(*(each.numpy() for each in t.inputs), found, **options, **scalars)
    return found


@settings(max_examples=settings().max_examples * 4)
@given(SEEDS)
def test_programs_are_those_of_numpy(seed: int) -> None:
    t, array, dims = drawn(seed)
    assert tuple(dim.name for dim in t.symbolic_shape) == dims
    assert t.dtype == array.dtype
    assert t.shape == array.shape
    with np.errstate(all="ignore"):
        compare(t.numpy(), array)
        compare(run(t, t.pipeline, checked=True), array)
        compare(pickle.loads(pickle.dumps(t)).numpy(), array)


@pytest.mark.long
@settings(max_examples=settings().max_examples * 2)
@given(SEEDS)
def test_schedules_of_programs_compute_the_same(seed: int) -> None:
    t, array, _ = drawn(seed)
    chain = Chain(t.pipeline, random.Random(seed).choice)
    for _ in range(6):
        chain.step()
    note(" -> ".join(chain.applied))
    with np.errstate(all="ignore"):
        compare(run(t, chain.pipeline, checked=True), array)
        compare(run(t, chain.pipeline), array)


@needs_compiler
@pytest.mark.long
@settings(max_examples=settings().max_examples // 2)
@given(SEEDS)
def test_programs_in_c_are_those_of_numpy(seed: int) -> None:
    t, array, _ = drawn(seed)
    with np.errstate(all="ignore"):
        compare(t.numpy(backend="native"), array)
