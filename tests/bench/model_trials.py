#!/usr/bin/python3
"""What the precision models allow: never a healthy kernel's failure, always one that says nothing.

usage: model_trials.py PROGRAM calibrate|power|gradients|findings [--seconds N] [--seed N] [--heads N]
                       [--presets a,b] [--sizes TxSxd,...]

calibrate  emulated healthy kernels (rounded_kernels.py) audited under the model of their own arithmetic:
           the largest share of an element's allowance, and how many problems were accused.
power      wrong outputs, rounded as the preset stores them: the share of random problems (24 each) in
           which each is refuted: outputs that say nothing, a missing key, another KV head's rows.
gradients  the same for the backward pass: zeros for dQ, dK and dV, and delta = 0, with all keys visible
           and every tensor rounded as the preset stores it.
findings   healthy kernels with their diagnosis: how many passes have a finding that their errors look
           like a key too few or too many; and the same kernels without their newest key.

A problem is one head with its own operands. Exit status 1 if a healthy kernel is accused or has such a
finding, a null output passes in power, or delta = 0 does.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

import rounded_kernels as rk

SIZES = [(1, 16, 64), (1, 1024, 64), (16, 64, 64), (64, 64, 128), (16, 256, 128), (1, 4096, 128),
         (16, 1024, 64), (64, 256, 64), (16, 4096, 128), (64, 1024, 128), (1, 16384, 64),
         (1, 256, 128), (16, 16, 128)]
POWER_SIZES = [(1, 16, 64), (1, 256, 64), (1, 4096, 128), (16, 64, 64), (64, 256, 64),
               (256, 1024, 64), (64, 4096, 128), (1, 1, 64), (4, 4, 64)]
FINDING_SIZES = [(16, 64, 64), (64, 256, 64), (16, 1024, 64), (16, 4096, 128)]
HEADS = 8


def encoded(values, kind):
    if kind == "F32":
        return np.ascontiguousarray(values, np.float32).tobytes()
    if kind == "F16":
        return np.ascontiguousarray(values, np.float32).astype(np.float16).tobytes()
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any(), "not bfloat16"
    return (bits >> 16).astype(np.uint16).tobytes()


def write(path, kind, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        content = encoded(values, kind)
        header[name] = {"dtype": kind, "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Auditor:
    """Audits problems [H, T, d], [H, S, d], each head a batch entry of its own."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "case.safetensors"

    def audit(self, preset, q, k, v, output, flags=("--no-diagnosis",)):
        kind = rk.STORAGE[preset][1]
        tensors = {"query": q, "key": k, "value": v, "output": output}
        write(self.path, kind, {name: x[:, None] for name, x in tensors.items()})
        return self.judge(preset, flags)

    def judge(self, preset, flags):
        """The recording that was written last, under a preset."""
        done = subprocess.run(
            [self.program, "audit", str(self.path), "--model", preset, *flags, "--json", "-"],
            capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 2):
            raise SystemExit(f"{done.args}: {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["cases"][0]


def stored_operands(rng, preset, setting, heads, size):
    rows, keys, width = size
    store = rk.STORAGE[preset][0]
    return [np.ascontiguousarray(store(x.astype(np.float32)))
            for x in rk.operands(rng, setting, heads, rows, keys, width)]


def calibrate(auditor, options):
    table = rk.kernels()
    presets = options.presets or list(table)
    worst, counts, accused = {}, {}, []
    end = time.time() + options.seconds
    seed = options.seed
    while time.time() < end:
        for size in options.sizes or SIZES:
            for setting in options.settings or rk.SETTINGS:
                for preset in presets:
                    if time.time() > end:
                        break
                    rng = np.random.default_rng([seed, *size, rk.SETTINGS.index(setting)])
                    heads = options.heads if size[0] * size[1] <= 65536 else 2
                    q, k, v = stored_operands(rng, preset, setting, heads, size)
                    for name, run in table[preset].items():
                        output = run(q, k, v, np.float32(1 / np.sqrt(size[2])), rng)
                        case = auditor.audit(preset, q, k, v, output)
                        share = case["outputs"][0]["largest_share"]
                        if case["violations"]:
                            share = max(w["off_by"] / w["allowed"] for w in case["worst"])
                            accused.append((preset, name, size, setting, seed, share,
                                            case["strength"]))
                        key = (preset, name)
                        counts[key] = counts.get(key, 0) + heads
                        if share is not None and share > worst.get(key, (0,))[0]:
                            worst[key] = (share, setting, size)
        seed += 1
    print("| preset | kernel | problems | largest share | where |\n|---|---|---|---|---|")
    for key, (share, setting, size) in sorted(worst.items()):
        shape = "T={} S={} d={}".format(*size)
        print(f"| {key[0]} | {key[1]} | {counts[key]} | {share:.3f} | {setting}, {shape} |")
    print(f"\n{sum(counts.values())} problems, {len(accused)} recordings accused")
    for case in accused:
        print("accused:", *case)
    return 1 if accused else 0


def exact_attention(q, k, v, hidden=None):
    s = q.astype(np.float64) @ np.swapaxes(k.astype(np.float64), -1, -2) / np.sqrt(q.shape[-1])
    if hidden is not None:
        s[..., hidden] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v.astype(np.float64)


def wrong_outputs(q, k, v, right):
    keys = k.shape[1]
    wrong = {"zeros": 0 * right, "negated": -right, "doubled": 2 * right, "halved": right / 2,
             "another head": np.roll(right, 1, axis=0)}
    if keys > 1:
        wrong["missing key"] = exact_attention(q, k, v, keys - 1)
    return wrong


def power(auditor, options):
    presets = options.presets or ["f32", "f16-f32", "bf16-f32", "f16-stored", "bf16-stored"]
    nulls = {"zeros", "negated", "doubled"}
    missed = 0
    print("| preset | T x S x d | " + " | ".join(
        ["zeros", "negated", "doubled", "halved", "another head", "missing key"]) + " |")
    print("|---|---|" + "---|" * 6)
    for preset in presets:
        for size in options.sizes or POWER_SIZES:
            refuted = {}
            for problem in range(24):
                rng = np.random.default_rng([options.seed, problem, *size])
                setting = "normal" if problem % 2 == 0 else "uniform"
                q, k, v = stored_operands(rng, preset, setting, 2, size)
                right = exact_attention(q, k, v)
                for name, output in wrong_outputs(q, k, v, right).items():
                    stored = rk.STORAGE[preset][0] if preset != "fp8-weights" else rk.bf16
                    case = auditor.audit(preset, q, k, v, stored(output.astype(np.float32)))
                    refuted[name] = refuted.get(name, 0) + (case["verdict"] == "fail")
            missed += sum(24 - refuted[name] for name in nulls)
            cells = [f"{refuted[n]}/24" if n in refuted else "–" for n in
                     ["zeros", "negated", "doubled", "halved", "another head", "missing key"]]
            print(f"| {preset} | {size[0]} x {size[1]} x {size[2]} | " + " | ".join(cells) + " |",
                  flush=True)
    return 1 if missed else 0


def backward(q, k, v, g, delta_is_zero=False):
    """dQ, dK, dV of one query head per history in binary64."""
    q, k, v, g = [x.astype(np.float64) for x in (q, k, v, g)]
    scale = 1 / np.sqrt(q.shape[-1])
    s = q @ np.swapaxes(k, -1, -2) * scale
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    products = g @ np.swapaxes(v, -1, -2)
    delta = 0 if delta_is_zero else (p * products).sum(-1, keepdims=True)
    ds = p * (products - delta) * scale
    return {"grad_query": ds @ k, "grad_key": np.swapaxes(ds, -1, -2) @ q,
            "grad_value": np.swapaxes(p, -1, -2) @ g}


def gradient_power(auditor, options):
    missed = 0
    faults = ["grad_query zero", "grad_key zero", "grad_value zero", "delta = 0: grad_query",
              "delta = 0: grad_key"]
    print("| preset | T x S x d | " + " | ".join(faults) + " | right ones that pass |")
    print("|---|---|" + "---|" * (len(faults) + 1))
    for preset in options.presets or ["f32", "f16-f32", "bf16-f32", "f16-stored", "bf16-stored"]:
        store, kind = rk.STORAGE[preset]
        stored = lambda x: np.ascontiguousarray(store(x.astype(np.float32)))
        for size in options.sizes or POWER_SIZES:
            refuted = dict.fromkeys(faults, 0)
            healthy = 0
            for problem in range(24):
                rng = np.random.default_rng([options.seed, problem, *size])
                q, k, v = stored_operands(rng, preset, "normal" if problem % 2 == 0 else "uniform",
                                          2, size)
                g = stored(rng.standard_normal((2, size[0], size[2])))
                right = backward(q, k, v, g)
                no_delta = backward(q, k, v, g, True)
                output = stored(exact_attention(q, k, v))

                def verdicts(gradients):
                    tensors = {"query": q, "key": k, "value": v, "output": output, "grad_output": g}
                    tensors |= {name: stored(x) for name, x in gradients.items()}
                    write(auditor.path, kind, {name: x[:, None] for name, x in tensors.items()})
                    case = auditor.judge(preset, ("--no-diagnosis",))
                    return {output["name"]: output["verdict"] for output in case["outputs"]}

                healthy += all(v == "pass" for v in verdicts(right).values())
                zeros = verdicts({name: 0 * x for name, x in right.items()})
                wrong = verdicts(no_delta | {"grad_value": right["grad_value"]})
                for name in right:
                    refuted[name + " zero"] += zeros[name] == "fail"
                for name in ("grad_query", "grad_key"):
                    refuted["delta = 0: " + name] += wrong[name] == "fail"
            missed += sum(24 - refuted[fault] for fault in faults if "delta" in fault)
            cells = [f"{refuted[fault]}/24" for fault in faults] + [f"{healthy}/24"]
            print(f"| {preset} | {size[0]} x {size[1]} x {size[2]} | " + " | ".join(cells) + " |",
                  flush=True)
    return 1 if missed else 0


def key_findings(case):
    return [line for line in case.get("diagnosis", {}).get("findings", []) if "the errors look like" in line]


# Which healthy kernels have a finding, and which without their newest key have it with beta near 1.
def findings(auditor, options):
    table = rk.kernels()
    counts, wrong, found = {}, [], {}
    end = time.time() + options.seconds
    seed = options.seed
    while time.time() < end:
        for size in options.sizes or FINDING_SIZES:
            for setting in rk.SETTINGS:
                for preset in options.presets or list(table):
                    for name, run in table[preset].items():
                        if time.time() > end:
                            break
                        rng = np.random.default_rng([seed, *size, rk.SETTINGS.index(setting)])
                        q, k, v = stored_operands(rng, preset, setting, 2, size)
                        scale = np.float32(1 / np.sqrt(size[2]))
                        case = auditor.audit(preset, q, k, v, run(q, k, v, scale, rng), ())
                        counts[preset] = counts.get(preset, 0) + 1
                        if key_findings(case):
                            wrong.append((preset, name, size, setting, seed, key_findings(case)))
                        if setting not in ("normal", "uniform"):
                            continue
                        less = run(q, k[:, :-1], v[:, :-1], scale, rng)
                        case = auditor.audit(preset, q, k, v, less, ())
                        key = (preset, setting, size)
                        tally = found.setdefault(key, [0, 0, 0])
                        tally[0] += 1
                        tally[1] += case["verdict"] == "fail"
                        tally[2] += any("a missing newest key" in line for line in key_findings(case))
        seed += 1
    print("| preset | operands | T x S x d | without the newest key | fail | pass with the finding |")
    print("|---|---|---|---|---|---|")
    for (preset, setting, size), (all_of, failed, told) in sorted(found.items()):
        print(f"| {preset} | {setting} | {size[0]} x {size[1]} x {size[2]} | {all_of} | {failed} | {told} |")
    print("\nhealthy recordings:", ", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    print(f"{sum(counts.values())} in all, {len(wrong)} with such a finding")
    for case in wrong:
        print("finding:", *case)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=["calibrate", "power", "gradients", "findings"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--heads", type=int, default=HEADS, help="problems of one recording")
    parser.add_argument("--settings", type=lambda text: text.split(","))
    parser.add_argument("--presets", type=lambda text: text.split(","))
    parser.add_argument("--sizes", type=lambda text: [
        tuple(int(n) for n in size.split("x")) for size in text.split(",")])
    options = parser.parse_args()
    what = {"calibrate": calibrate, "power": power, "gradients": gradient_power,
            "findings": findings}[options.what]
    return what(Auditor(options.program), options)


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
