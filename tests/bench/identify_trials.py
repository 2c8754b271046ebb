#!/usr/bin/python3
"""Recordings with rules that nobody declared: does `gqaverify identify` find them?

usage: identify_trials.py PROGRAM [--problems N] [--seed N] [--queries T] [--keys S] [--q-heads N]
                          [--size D]

Each recording is a NumPy binary64 attention, stored in binary32, with one to three rules drawn from:
causal (either alignment), window, scale, softcap, interleaved heads, sinks, lengths, ALiBi with the
standard slopes, BSHD layout. What is found counts as exact if the contract and tensors that it names
also pass on a second recording with the same rules and other operands: that answers for the rules and
not for their spelling. Prints one line for each that is not exact, and the counts.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

RULES = ["causal", "window", "scale", "softcap", "heads", "sink", "lengths", "alibi", "layout"]


def slopes(heads):
    """The standard ones (Press et al., 2022): 2^(-8 h / H) for a power of two."""
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)


def draw(rng, options):
    keys, queries = options.keys, options.queries
    rules = {}
    for name in rng.choice(RULES, int(rng.integers(1, 4)), replace=False):
        rules[str(name)] = {
            "causal": lambda: str(rng.choice(["top_left", "bottom_right"])),
            "window": lambda: [int(rng.integers(1, keys // 2)), int(rng.choice([-1, 0, 3]))],
            "scale": lambda: float(rng.choice([1.0, 0.1, 0.5, 1 / options.size, 0.2])),
            "softcap": lambda: float(rng.choice([1.0, 2.0, 5.0, 30.0])),
            "heads": lambda: "interleaved",
            "sink": lambda: rng.normal(0, 1, options.q_heads).astype(np.float32),
            "lengths": lambda: rng.integers(min(queries, keys * 3 // 4), keys, 2),
            "alibi": lambda: slopes(options.q_heads),
            "layout": lambda: "BSHD",
        }[str(name)]()
    return rules


def attention(q, k, v, rules):
    batch, heads, queries, size = q.shape
    kv_heads, keys = k.shape[1:3]
    head = np.arange(heads)
    of = head % kv_heads if "heads" in rules else head // (heads // kv_heads)
    k, v = k[:, of].astype(float), v[:, of].astype(float)
    s = q.astype(float) @ np.swapaxes(k, -1, -2) * rules.get("scale", size ** -0.5)
    if "softcap" in rules:
        s = rules["softcap"] * np.tanh(s / rules["softcap"])
    lengths = rules.get("lengths", np.full(batch, keys))[:, None, None, None]
    row, column = np.indices((queries, keys))
    p = row + lengths - queries if rules.get("causal") != "top_left" else row + 0 * lengths
    if "alibi" in rules:
        s = s - rules["alibi"][:, None, None] * abs(p - column)
    hidden = column >= lengths
    if "causal" in rules:
        hidden = hidden | (column > p)
    if "window" in rules:
        left, right = rules["window"]
        hidden = hidden | (column < p - left)
        if right >= 0:
            hidden = hidden | (column > p + right)
    s = np.where(hidden, -np.inf, s)
    sink = rules.get("sink", np.full(heads, -np.inf)).astype(float)[:, None, None]
    top = np.maximum(s.max(-1, keepdims=True), sink)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True) + np.exp(sink - top)
    return np.where(total > 0, e @ v / np.where(total > 0, total, 1), 0)


def record(rng, rules, options, path):
    shape = lambda heads, rows: (2, heads, rows, options.size)
    q = rng.standard_normal(shape(options.q_heads, options.queries)).astype(np.float32)
    k, v = (rng.standard_normal(shape(options.q_heads // 2, options.keys)).astype(np.float32)
            for _ in range(2))
    tensors = {"query": q, "key": k, "value": v, "output": attention(q, k, v, rules).astype(np.float32)}
    if "layout" in rules:
        tensors = {name: np.ascontiguousarray(x.swapaxes(1, 2)) for name, x in tensors.items()}
    np.savez(path, **tensors)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].removeprefix("usage: "))
    parser.add_argument("program")
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=24)
    parser.add_argument("--keys", type=int, default=40)
    parser.add_argument("--q-heads", type=int, default=4)
    parser.add_argument("--size", type=int, default=16)
    options = parser.parse_args()
    counts, seconds = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        first, second = (pathlib.Path(folder) / name for name in ("first.npz", "second.npz"))
        for problem in range(options.problems):
            rng = np.random.default_rng([options.seed, problem])
            rules = draw(rng, options)
            record(rng, rules, options, first)
            record(rng, rules, options, second)
            start = time.monotonic()
            run = subprocess.run([options.program, "identify", str(first), "--json", "-"],
                                 capture_output=True, text=True, check=False)
            seconds.append(time.monotonic() - start)
            found = json.loads(run.stdout)["recordings"][0]
            word = found.get("fit", found.get("code"))
            if word == "found":
                check = subprocess.run(
                    [options.program, "audit", str(second), "--no-diagnosis", "--quiet",
                     *found["flags"].split()], capture_output=True, text=True, check=False)
                word = "exact" if check.returncode == 0 else "WRONG"
            counts[word] += 1
            if word != "exact":
                told = {name: x if isinstance(x, str) else np.asarray(x).tolist()
                        for name, x in rules.items()}
                print(f"{word}: problem {problem}: {told}: {found.get('flags')} {found.get('message', '')}",
                      flush=True)
    print(f"{options.problems} recordings: "
          + ", ".join(f"{n} {word}" for word, n in counts.most_common())
          + f"; seconds: median {np.median(seconds):.2f}, most {max(seconds):.2f}")
    return 1 if counts["WRONG"] or counts["exact"] < 0.95 * options.problems else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
