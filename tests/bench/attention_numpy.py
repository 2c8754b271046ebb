#!/usr/bin/env python3
"""The binary64 reference as people write it in NumPy, timed, for comparison with filter_bench.

usage: attention_numpy.py QUERIES KEYS [causal] [--repeats N]

Inputs are binary32, Hq=32, Hkv=8, d=128; every query head is one pair of products. Prints
the fastest time in seconds. NumPy's own BLAS threads are left as they are.
"""
import argparse
import time

import numpy as np


def attention(query, key, value, causal):
    q_heads, queries, width = query.shape
    kv_heads, keys, _ = key.shape
    group = q_heads // kv_heads
    output = np.empty((q_heads, queries, value.shape[2]))
    hidden = None
    if causal:
        hidden = np.arange(keys)[None, :] > np.arange(queries)[:, None] + (keys - queries)
    for h in range(q_heads):
        k = key[h // group].astype(np.float64)
        v = value[h // group].astype(np.float64)
        scores = query[h].astype(np.float64) @ k.T / np.sqrt(width)
        if hidden is not None:
            scores[hidden] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        output[h] = (scores @ v) / scores.sum(axis=1, keepdims=True)
    return output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("queries", type=int)
    parser.add_argument("keys", type=int)
    parser.add_argument("causal", nargs="?", choices=["causal"])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    query = random.standard_normal((32, arguments.queries, 128), dtype=np.float32)
    key = random.standard_normal((8, arguments.keys, 128), dtype=np.float32)
    value = random.standard_normal((8, arguments.keys, 128), dtype=np.float32)
    fastest = float("inf")
    for _ in range(arguments.repeats):
        start = time.perf_counter()
        attention(query, key, value, arguments.causal is not None)
        fastest = min(fastest, time.perf_counter() - start)
    print(f"{fastest:.4f}")


if __name__ == "__main__":
    main()
