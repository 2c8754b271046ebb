#!/usr/bin/python3
"""A kernel that obeys a precision model is never *proved* wrong under it.

usage: proved_trials.py PROGRAM [--problems N] [--seed N] [--presets a,b]

Random problems (4 heads each, every head counted as one) with an output, lse and scores or weights
(qk_matmul_output, modes 0 to 3) as a kernel leaves them that rounds after every single step as the
model says, sums strictly one after the other: softcap or not, float mask or ALiBi or none, sink keys,
up to 1500 keys. For each preset of 16-bit tensors. What is beyond the likely bound is counted too: it
is allowed for sums in 16 bits, which the likely bound takes to be independent roundings.

Exit status 1 if anything was proved wrong, which it is not.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

import rounded_kernels as rk

F32 = np.float32
HEADS = 4
# What the preset rounds to: inner steps, stored scores, weights.
PRESETS = {
    "f16": (rk.f16, rk.f16, rk.f16, rk.f16), "bf16": (rk.bf16, rk.bf16, rk.bf16, rk.bf16),
    "f16-stored": (rk.f16, rk.f32, rk.f16, rk.f16), "bf16-stored": (rk.bf16, rk.f32, rk.bf16, rk.bf16),
    "f16-f32": (rk.f16, rk.f32, rk.f32, rk.f16), "bf16-f32": (rk.bf16, rk.f32, rk.f32, rk.bf16),
}


def chain(inner, a, b):
    """sum_t a[.., t] b[t, ..], rounded after each product and each sum."""
    total = np.zeros(a.shape[:-1] + (b.shape[-1],), F32)
    for t in range(a.shape[-1]):
        total = inner(total + inner(a[..., t, None] * b[..., None, t, :]))
    return total


def chain_of(inner, weights):
    total = np.zeros(weights.shape[:-1], F32)
    for t in range(weights.shape[-1]):
        total = inner(total + weights[..., t])
    return total[..., None]


def kernel(preset, q, k, v, scale, softcap, bias, biases_are_two):
    """The output, lse and the four kinds of scores."""
    store, inner, kept, weight = PRESETS[preset]
    exact = lambda f, x: inner(f(x.astype(np.float64)).astype(F32))  # noqa: E731
    raw = kept(chain(inner, q, np.swapaxes(k, -1, -2)))
    scores = [kept(inner(raw * F32(scale)))]
    capped = scores[0]
    if softcap:
        capped = inner(F32(softcap) * exact(np.tanh, inner(scores[0] / F32(softcap))))
        capped = kept(capped)
    scores.append(capped)
    biased = capped
    for part in bias if biases_are_two else bias[:1]:
        biased = inner(biased + part)
    biased = kept(biased) if bias else biased
    scores.append(biased)
    largest = biased.max(-1, keepdims=True)
    numerators = exact(np.exp, inner(biased - largest))
    total = chain_of(inner, numerators)
    weights = weight(inner(numerators / total))
    scores.append(weights)
    output = store(chain(inner, weights, v))
    lse = store(inner(exact(np.log, total) + largest)[..., 0])
    return output, lse, [store(x) for x in scores]


def bits(values, kind):
    if kind == "F16":
        return np.asarray(values, F32).astype(np.float16).tobytes()
    return (np.ascontiguousarray(values, F32).view(np.uint32) >> 16).astype(np.uint16).tobytes()


def write(path, kind, tensors, contract, mode):
    header, data = {"__metadata__": {"attention": json.dumps(contract)}}, b""
    blobs = {name: (kind, values.shape, bits(values, kind)) for name, values in tensors.items()}
    blobs["qk_matmul_output_mode"] = ("I64", (), struct.pack("<q", mode))
    for name, (dtype, shape, content) in blobs.items():
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def problem(rng, preset):
    """Tensors as recorded, and the contract."""
    store = PRESETS[preset][0]
    rows, keys = int(rng.integers(1, 5)), int(rng.choice([1, 3, 17, 64, 200, 500, 1500]))
    width = int(rng.choice([4, 16, 64]))
    setting = str(rng.choice(rk.SETTINGS))
    q, k, v = [store(x.astype(F32)) for x in rk.operands(rng, setting, HEADS, rows, keys, width)]
    scale = float(rng.choice([0.125, 0.25, 1 / 8]))
    softcap = float(rng.choice([0, 0, 2, 30, 50]))
    bias, tensors = [], {}
    kind_of_bias = str(rng.choice(["none", "none", "mask", "mask and slopes"]))
    if kind_of_bias != "none":
        mask = store((rng.standard_normal((HEADS, 1, rows, keys)) * 3).astype(F32))
        tensors["attn_mask"] = mask
        bias.append(mask[:, 0])
    if kind_of_bias == "mask and slopes":
        # dyadic slopes and distances that 16 bits hold: the bias itself is exact
        slopes = 2.0 ** -rng.integers(1, 6)
        distance = -np.abs(np.arange(keys)[None, None] - (np.arange(rows)[None, :, None] + keys - rows))
        bias.append(store((F32(slopes) * distance.astype(F32)) * np.ones((HEADS, 1, 1), F32)))
        tensors["alibi_slopes"] = np.full((1,), slopes, F32)
        if not (bias[1] == F32(slopes) * distance).all():
            bias.pop()
            tensors.pop("alibi_slopes")
    contract = {"scale": str(scale)}
    if softcap:
        contract["softcap"] = softcap
    output, lse, scores = kernel(preset, q, k, v, scale, softcap, bias, len(bias) > 1)
    mode = int(rng.integers(0, 4))
    named = {"query": q, "key": k, "value": v, "output": output, "lse": lse,
             "qk_matmul_output": scores[mode]}
    tensors.update({name: x[:, None] for name, x in named.items()})
    return tensors, contract, mode, f"{setting}, T={rows} S={keys} d={width}, {kind_of_bias}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--problems", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--presets", type=lambda text: text.split(","), default=list(PRESETS))
    options = parser.parse_args()
    counts = {}
    proved, done, seed = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.safetensors"
        while done < options.problems:
            for preset in options.presets:
                rng = np.random.default_rng([options.seed, seed, list(PRESETS).index(preset)])
                tensors, contract, mode, words = problem(rng, preset)
                write(path, "F16" if preset.startswith("f16") else "BF16", tensors, contract, mode)
                run = subprocess.run(
                    [options.program, "audit", str(path), "--model", preset, "--no-diagnosis", "--json",
                     "-"], capture_output=True, text=True, check=False)
                if run.returncode not in (0, 1, 2):
                    raise SystemExit(f"{words}: {run.returncode}\n{run.stderr}")
                done += HEADS
                for output in json.loads(run.stdout)["cases"][0]["outputs"]:
                    name = output["name"] + (f" mode {mode}" if output["name"].startswith("qk") else "")
                    verdict = counts.setdefault((preset, name), {})
                    word = output["verdict"]
                    if word == "fail":
                        word = output.get("strength", "fail")
                    verdict[word] = verdict.get(word, 0) + HEADS
                    if word == "proved":
                        proved.append((preset, name, seed, words))
            seed += 1
    words = ["pass", "undecided", "statistical", "proved"]
    print("| preset | output | " + " | ".join(words) + " |\n|---|---|" + "---|" * len(words))
    for (preset, name), verdict in sorted(counts.items()):
        print(f"| {preset} | {name} | " + " | ".join(str(verdict.get(w, 0)) for w in words) + " |")
    print(f"\n{done} problems, proved wrong: {len(proved)}")
    for case in proved[:40]:
        print("proved:", *case)
    return 1 if proved or done == 0 else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
