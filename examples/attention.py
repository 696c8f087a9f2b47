"""Attention by blocks of queries and of keys: `softmax(q k^T) v`, whose scores are never there in full.

How a softmax goes on from one block of keys to the next is declared, as a reduction: what is known so far are the
largest score of each query, the sum of the weights, and the sum of the values by their weights. Weights are relative to
the largest score, and what there is is scaled when a larger one comes.

NumPy's matrix products run on one thread here: heads run on all cores, and where each of their products asked for all
cores once more, they would wait for each other most of the time.

Prints the schedule, checks it against plain NumPy, and prints time and memory of both.

    python examples/attention.py [HEADS] [TOKENS] [DIMENSIONS]
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from measure import compare

import slinky as sl

Array = np.ndarray[Any, Any]

QUERIES, KEYS = 256, 512
"""As many are in a block; the scores of one take 512 KB, and stay in the cache."""


def score(queries: Array, keys: Array, result: Array) -> None:
    """How much each query has to do with each key."""
    np.matmul(queries, keys.swapaxes(1, 2), out=result)


def attend(scores: Array, values: Array, out: Array) -> None:
    """All keys at once."""
    weights = np.subtract(scores, scores.max(axis=2, keepdims=True))
    np.exp(weights, out=weights)
    np.matmul(weights, values, out=out)
    out /= weights.sum(axis=2, keepdims=True)


def start(total: Array, largest: Array, weight: Array) -> None:
    """No keys."""
    total.fill(0)
    largest.fill(-np.inf)
    weight.fill(0)


def go_on(
    total: Array,
    largest: Array,
    weight: Array,
    scores: Array,
    values: Array,
    new_total: Array,
    new_largest: Array,
    new_weight: Array,
) -> None:
    """A block of keys more."""
    np.maximum(largest, scores.max(axis=2), out=new_largest)
    scale = np.exp(largest - new_largest)
    weights = np.subtract(scores, new_largest[:, :, None])
    np.exp(weights, out=weights)
    np.matmul(weights, values, out=new_total)
    new_total += total * scale[:, :, None]
    np.multiply(weight, scale, out=new_weight)
    new_weight += weights.sum(axis=2)


def finish(total: Array, largest: Array, weight: Array, out: Array) -> None:
    """No more keys."""
    np.divide(total, weight[:, :, None], out=out)


def build() -> sl.Pipeline:
    """Two funcs: the scores of all heads, and the means of the values.

    What runs when is written on the second: one head after the other, on all cores; in each, blocks of queries, and of
    keys in these. A block of scores is then computed where it is read, which needs no more words.
    """
    h, i, j, key = sl.variables("h i j key")
    q, k, v, scores, total, out = (
        sl.BufferExpr(name, np.float32, 3) for name in ("q", "k", "v", "scores", "total", "out")
    )
    largest, weight = (sl.BufferExpr(name, np.float32, 2) for name in ("largest", "weight"))
    sl.Func(score, [q[h, i, :], k[h, j, :]], [scores[h, i, j]])
    state = [total[h, i, j], largest[h, i], weight[h, i]]
    by_keys = sl.Reduction({"key": (2, 1)}, state, start, go_on, finish, exact=False, reassociate=True)
    means = sl.Func(attend, [scores[h, i, :], v[h, :, j]], [out[h, i, j]], reduction=by_keys)
    means.loops([sl.loop(h, workers=0), (i, QUERIES), (key, KEYS)])
    return sl.build_pipeline([q, k, v], [out], name="attention", require=[sl.equal(k.dim(1).extent, v.dim(1).extent)])


def plain(q: Array, k: Array, v: Array) -> Array:
    """The same with plain NumPy."""
    scores = q @ k.swapaxes(1, 2)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.asarray(weights @ v / weights.sum(axis=2, keepdims=True))


def main() -> None:
    """Run on random heads of the sizes given."""
    parser = argparse.ArgumentParser(description="softmax(q k^T) v, for each head.")
    for name, default in (("heads", 16), ("tokens", 4096), ("dimensions", 64)):
        parser.add_argument(name, metavar=name.upper(), nargs="?", type=int, default=default)
    sizes = parser.parse_args()
    shape = (sizes.heads, sizes.tokens, sizes.dimensions)
    if min(shape) < 1:
        parser.error("sizes must be 1 or more")
    pipeline = build()
    print(pipeline, end="\n\n")
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal(shape, np.float32) for _ in range(3))
    q /= np.float32(np.sqrt(sizes.dimensions))
    out = np.empty(shape, np.float32)
    pipeline(q, k, v, out)
    if not np.allclose(out, plain(q, k, v), rtol=1e-5, atol=1e-5):
        raise SystemExit("attention: the pipeline and plain NumPy differ")
    print(f"{sizes.heads} heads, {sizes.tokens} tokens, {sizes.dimensions} dimensions: equal to plain NumPy")
    print(compare(lambda: plain(q, k, v), out.nbytes, lambda: pipeline.run(q, k, v, out), repeats=2))


if __name__ == "__main__":
    main()
