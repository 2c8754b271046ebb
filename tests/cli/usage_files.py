"""Small files of every kind that people hand to the program, for test_messages.py.

One problem (B=1, Hq=4, Hkv=2, T=6, S=9, d=8, binary32), attention by plain loops, and what goes wrong
with recordings of it. Seeded: the same bytes everywhere, so that messages can be compared.
"""

import math
import random
import struct

import safetensors_file

B, HQ, HKV, T, S, D = 1, 4, 2, 6, 9, 8


def binary32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def draw(generator, heads, positions):
    # Multiples of 1/64: the same everywhere, whatever the last bit of a logarithm is.
    return [[[generator.randrange(-128, 129) / 64 for _ in range(D)] for _ in range(positions)]
            for _ in range(heads)]


class Problem:
    def __init__(self):
        generator = random.Random(7)
        self.query = draw(generator, HQ, T)
        self.key = draw(generator, HKV, S)
        self.value = draw(generator, HKV, S)

    def output(self, causal=True, tiled=False):
        """[Hq][T][D]; causal is aligned to the bottom right."""
        heads = []
        for h in range(HQ):
            g = h % HKV if tiled else h // (HQ // HKV)
            rows = []
            for i in range(T):
                keys = range(i + S - T + 1) if causal else range(S)
                dots = [sum(a * b for a, b in zip(self.query[h][i], self.key[g][j])) for j in keys]
                weights = [math.exp(x / math.sqrt(D)) for x in dots]
                total = sum(weights)
                rows.append([sum(w * self.value[g][j][c] for w, j in zip(weights, keys)) / total
                             for c in range(D)])
            heads.append(rows)
        return heads


def bhsd(tensor):
    return ([B, len(tensor), len(tensor[0]), D], [x for head in tensor for row in head for x in row])


def bshd(tensor):
    flat = [x for i in range(len(tensor[0])) for head in tensor for x in head[i]]
    return ([B, len(tensor[0]), len(tensor), D], flat)


def write_files(folder):
    """Writes all of them."""
    problem = Problem()
    parts = {"query": problem.query, "key": problem.key, "value": problem.value, "output": problem.output()}
    right = {name: bhsd(tensor) for name, tensor in parts.items()}

    def write(name, tensors):
        safetensors_file.write(folder / f"{name}.safetensors", None, tensors)

    def with_element(name, index, number):
        shape, values = right[name]
        return right | {name: (shape, values[:index] + [number] + values[index + 1:])}

    def without(name):
        return {other: tensor for other, tensor in right.items() if other != name}

    write("right", right)
    write("bshd", {name: bshd(tensor) for name, tensor in parts.items()})
    write("inf_query", with_element("query", 3 * T * D + 3 * D + 2, math.inf))
    write("nan_key", with_element("key", 5, math.nan))
    write("nan_output", with_element("output", 5, math.nan))
    write("one_wrong", with_element("output", 5, 9.0))
    write("no_output", without("output"))
    write("no_value", without("value"))
    write("own_names", without("output") | {"my_result": right["output"]})
    shape, values = right["query"]
    write("integers", right | {"query": (shape, [int(x) for x in values], "I32")})
    shape, values = right["output"]
    write("short_output", right | {"output": ([B, HQ, T - 1, D], values[: HQ * (T - 1) * D])})
    third = {name: ([B, 3, S, D], right[name][1] + right[name][1][: S * D]) for name in ("key", "value")}
    write("three_kv_heads", right | third)
    write("three_axes", {name: (shape[1:], values) for name, (shape, values) in right.items()})
    write("tiled", right | {"output": bhsd(problem.output(tiled=True))})
    write("not_causal", right | {"output": bhsd(problem.output(causal=False))})
    write("zeros", right | {"output": ([B, HQ, T, D], [0.0] * (HQ * T * D))})
    whole = (folder / "right.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[:-40])
    (folder / "SHOUTED.SAFETENSORS").write_bytes(whole)
    for name in ("empty.safetensors", "empty.npz", "empty.so"):
        (folder / name).write_bytes(b"")
    for name, content in {
        "notes.txt": "hello",
        "bad.json": '{"causal": tru',
        "odd.json": '{"is_causal": true}',
        "quoted.json": '{"causal": "yes"}',
        "slanted.json": '{"layout": "BDSH"}',
        "model.pt": "PK",
        "model.gguf": "GGUF",
        "query.npy": "\x93NUMPY",
    }.items():
        (folder / name).write_text(content)
    (folder / "dangling.safetensors").symlink_to("nowhere")
    for name in ("folder", "hollow"):
        (folder / name).mkdir()
    (folder / "folder" / "notes.txt").write_text("hello")
