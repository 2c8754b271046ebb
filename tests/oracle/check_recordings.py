#!/usr/bin/python3
"""Checks the recordings against a NumPy reference that shares no code with gqaverify.

Each file must agree in binary64 with the contract that it declares, and must not
agree with any other contract that its inputs can tell apart: the interleaved head
map, the other causal alignment, a window one key wider or narrower, and so on.

usage: check_recordings.py FILE.safetensors...
Exit status: 0 all agree and all others are told apart, 1 not, 3 a bad file.
"""

import json
import math
import sys
from fractions import Fraction

import numpy

# binary32 sums of a few dozen terms of size 1 stay well below this; any fault that
# is looked for moves some output by thousands of times more.
AGREES_WITHIN = 2e-6
DIFFERS_BEYOND = 1e-3


def read_safetensors(path):
    """Returns the metadata and the tensors; ValueError if the bytes do not add up."""
    with open(path, "rb") as file:
        content = file.read()
    header_length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + header_length])
    data = content[8 + header_length :]
    metadata = header.pop("__metadata__")
    tensors, used = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F32" or begin != used or end - begin != 4 * math.prod(entry["shape"]):
            raise ValueError(f"tensor {name}: bad type, offset or size")
        flat = numpy.frombuffer(data[begin:end], dtype="<f4").astype(numpy.float64)
        tensors[name] = flat.reshape(entry["shape"])
        used = end
    if used != len(data):
        raise ValueError(f"{len(data) - used} bytes after the last tensor")
    return metadata, tensors


def head_map(contract):
    query_heads, kv_heads = contract["q_num_heads"], contract["kv_num_heads"]
    if contract["head_map"] == "interleaved":
        return [h % kv_heads for h in range(query_heads)]
    return [h // (query_heads // kv_heads) for h in range(query_heads)]


def visible(contract, rows, keys):
    """Boolean [rows, keys]: which key each query row sees."""
    offset = keys - rows if contract["causal_alignment"] == "bottom_right" else 0
    position = numpy.arange(rows)[:, None] + offset
    key = numpy.arange(keys)[None, :]
    left, right = contract["window"]
    allowed = numpy.ones((rows, keys), dtype=bool)
    if contract["causal"]:
        allowed &= key <= position
    if left >= 0:
        allowed &= key >= position - left
    if right >= 0:
        allowed &= key <= position + right
    return allowed


def reference(contract, query, key, value):
    """output [B, Hq, T, dv] in binary64, as the contract defines it."""
    scale = 1 / math.sqrt(query.shape[-1])
    if contract["scale"] != "default":
        scale = float(Fraction(contract["scale"]))
    allowed = visible(contract, query.shape[2], key.shape[2])
    mapped = head_map(contract)
    scores = scale * numpy.einsum("bhid,bhjd->bhij", query, key[:, mapped])
    if contract["softcap"] > 0:
        scores = contract["softcap"] * numpy.tanh(scores / contract["softcap"])
    scores = numpy.where(allowed, scores, -numpy.inf)
    with numpy.errstate(invalid="ignore"):
        weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
    weights = numpy.where(allowed.any(axis=-1)[:, None], weights, 0)  # empty row: zero
    return numpy.einsum("bhij,bhjc->bhic", weights, value[:, mapped])


def other_contracts(contract, rows, keys):
    """(name, contract) for every other contract that differs on these shapes."""
    left, _ = contract["window"]
    changes = {
        "interleaved head map": {"head_map": "interleaved"},
        "not causal": {"causal": False, "window": [left, -1]},
        "scale 1": {"scale": "1"},
        "softcap 3": {"softcap": 3},
    }
    if rows != keys:
        changes["top-left alignment"] = {"causal_alignment": "top_left"}
    if left >= 0:
        changes["window one key wider"] = {"window": [left + 1, 0]}
        changes["window one key narrower"] = {"window": [left - 1, 0]}
        changes["no window"] = {"window": [-1, -1]}
    if contract["softcap"] > 0:
        changes["no softcap"] = {"softcap": 0}
    for name, change in changes.items():
        other = {**contract, **change}
        same_keys = numpy.array_equal(visible(other, rows, keys), visible(contract, rows, keys))
        if not (set(change) <= {"causal", "window", "causal_alignment"} and same_keys):
            yield name, other


def check(path):
    """Prints one line per comparison; returns whether all came out as they should."""
    metadata, tensors = read_safetensors(path)
    contract = json.loads(metadata["attention"])
    query, key, value, output = (tensors[n] for n in ("query", "key", "value", "output"))
    if not numpy.isfinite(output).all():
        print(f"{path}: FAIL: the recorded output is not finite")
        return False

    def distance(candidate):
        return float(numpy.abs(reference(candidate, query, key, value) - output).max())

    declared = distance(contract)
    good = declared <= AGREES_WITHIN  # NaN is not
    print(f"{path}: {'ok' if good else 'FAIL'}: declared contract, max difference {declared:.3g}")
    for name, other in other_contracts(contract, query.shape[2], key.shape[2]):
        other_distance = distance(other)
        told_apart = other_distance > DIFFERS_BEYOND
        good = good and told_apart
        print(f"  {'ok' if told_apart else 'FAIL'}: {name}, max difference {other_distance:.3g}")
    return good


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 64
    status = 0
    for path in paths:
        try:
            if not check(path):
                status = max(status, 1)
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
            status = 3
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
