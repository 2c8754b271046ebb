#!/usr/bin/python3
"""Faults in one place that are in no list: no name is right for them.

usage: random_local_faults.py PROGRAM [--faults N] [--seed N] [--type f32|bf16]

Binary32 kernels (operands and output rounded to --type) whose output is spoilt in a random region
(batch entries, heads, rows, columns, tiles of rows) with random contents: other numbers, noise, a
factor of its own for every element or row, another row's output plus noise, a smooth drift over the
columns, signs flipped at random. Prints how many were located, measured, named, unexplained, or passed
(too small to be seen), and every name, all of which are wrong. Contents of one number are no such
fault: rows of zeros are what the report says they are.

Exit status 1 if any was named.
"""

import argparse
import collections
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

F32 = np.float32
SIZES = {"batch": 2, "heads": 4, "kv_heads": 2, "rows": 64, "keys": 64, "width": 32}


def rounded(x, kind):
    x = np.ascontiguousarray(x, F32)
    if kind == "f32":
        return x
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(F32)


def save(path, kind, **tensors):
    header = {"__metadata__": {"attention": json.dumps({"causal": True})}}
    data = b""
    for name, tensor in tensors.items():
        raw = tensor.astype("<f4").tobytes()
        if kind == "bf16":
            raw = (tensor.view(np.uint32) >> 16).astype("<u2").tobytes()
        dtype = {"f32": "F32", "bf16": "BF16"}[kind]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def attention(q, k, v):
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = (q @ k.swapaxes(2, 3)) * F32(q.shape[-1] ** -0.5)
    rows, keys = scores.shape[2:]
    visible = np.arange(keys)[None, :] <= np.arange(rows)[:, None] + keys - rows
    weights = np.exp(np.where(visible, scores, -np.inf) - scores.max(3, keepdims=True))
    return (weights @ v) / weights.sum(3, keepdims=True)


def some(rng, extent):
    """All of an axis, one index, a range, or every second tile."""
    choice = rng.integers(4)
    chosen = np.zeros(extent, bool)
    if choice == 0:
        chosen[:] = True
    elif choice == 1:
        chosen[rng.integers(extent)] = True
    elif choice == 2:
        first, last = sorted(rng.integers(0, extent, 2))
        chosen[first : last + 1] = True
    else:
        tile = int(2 ** rng.integers(0, 5))
        chosen = np.arange(extent) // tile % 2 == rng.integers(2)
    return chosen


def spoilt(rng, right):
    axes = [some(rng, extent) for extent in right.shape]
    if not all(axis.any() for axis in axes):
        return None
    place = np.ix_(*axes)
    old = right[place]
    size = F32(np.abs(right).mean())
    kind = rng.integers(6)
    new = [
        lambda: rng.standard_normal(old.shape) * size,
        lambda: old + rng.standard_normal(old.shape) * size * 0.3,
        lambda: old * rng.uniform(0.2, 3, old.shape),
        lambda: np.roll(right, rng.integers(1, 9), 2)[place] + rng.standard_normal(old.shape) * size * 0.1,
        lambda: old + size * np.sin(np.arange(old.shape[3]) * rng.uniform(0.1, 1) + rng.uniform(0, 6)),
        lambda: old * rng.choice([-1, 1], old.shape),
    ][kind]()
    # A factor of a single element, or two flipped signs of one row, is one number after all.
    if kind in (2, 5) and old.size < 8:
        return None
    output = right.copy()
    output[place] = new
    return output


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--type", default="f32", choices=["f32", "bf16"])
    flags = parser.parse_args()
    rng = np.random.default_rng(flags.seed)
    s, kind = SIZES, flags.type
    counts, names = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.safetensors"
        while sum(counts.values()) < flags.faults:
            shape = lambda heads, rows: (s["batch"], heads, rows, s["width"])
            q = rounded(rng.standard_normal(shape(s["heads"], s["rows"])), kind)
            k, v = (rounded(rng.standard_normal(shape(s["kv_heads"], s["keys"])), kind) for _ in "kv")
            output = spoilt(rng, attention(q, k, v))
            if output is None:
                continue
            save(path, kind, query=q, key=k, value=v, output=rounded(output, kind))
            run = subprocess.run(
                [flags.program, "audit", str(path), "--model", {"f32": "f32", "bf16": "bf16-f32"}[kind], "--json", "-"],
                capture_output=True, text=True, check=False)
            case = json.loads(run.stdout[run.stdout.index("{") :])["cases"][0]
            if case["verdict"] != "fail":
                counts["passed"] += 1
                continue
            diagnosis = case.get("diagnosis") or {}
            status = diagnosis.get("status", "none")
            counts[status] += 1
            if status in ("named", "measured"):
                names.append(f"{sum(counts.values())}: {status}: " + diagnosis["explanations"][0]["sentence"])
    print(", ".join(f"{status} {count}" for status, count in sorted(counts.items())))
    print("\n".join(names))
    return 1 if counts["named"] else 0


if __name__ == "__main__":
    sys.exit(main())
