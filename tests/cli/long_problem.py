"""A problem whose audit takes some seconds with --no-filter, in many blocks."""

import random

import safetensors_file

Q_HEADS, KV_HEADS, WIDTH = 4, 2, 16


def write(path, queries=160, keys=256, seed=1):
    """Normal operands and an output that has nothing to do with them: every head violates."""
    source = random.Random(seed)

    def normal(heads, rows):
        numbers = [source.gauss(0, 1) for _ in range(heads * rows * WIDTH)]
        return [1, heads, rows, WIDTH], numbers

    tensors = {
        "query": normal(Q_HEADS, queries),
        "key": normal(KV_HEADS, keys),
        "value": normal(KV_HEADS, keys),
        "output": normal(Q_HEADS, queries),
    }
    tensors["lse"] = ([1, Q_HEADS, queries], [5.5] * (Q_HEADS * queries))
    safetensors_file.write(path, None, tensors)
    return path
