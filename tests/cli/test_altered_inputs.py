"""Mutated inputs through whole commands: whatever the file, an answer of ours.

$GQAVERIFY_MUTATIONS and $GQAVERIFY_MUTATION_SEED choose another number of mutants (per kind of input)
and another choice of them: python3 tests/cli/cli_test.py PROGRAM PROJECT 'test_altered_inputs.py'
"""

import json
import os
import random
import struct
import subprocess
import time

from command_line import CONTROL, CommandLine, program, project

# A light run (under sanitizers, where a process takes ten times as long to start) has fewer.
COUNT = int(os.environ.get("GQAVERIFY_MUTATIONS", "8" if os.environ.get("GQA_TEST_LIGHT") == "1" else "40"))
SEED = int(os.environ.get("GQAVERIFY_MUTATION_SEED", "1"))

# What people write where a value was expected.
LEAVES = [None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 1e308, 0.5, "", "0", "1/0",
          "1e20000", "1e-20000", "ln(2)", "ln(0)", "\x1b[2J", "\u202e", "nan", "inf", [], {}, [0], [[]], "F32",
          "BOOL", "F8_E4M3", "query", "bottom_right", "BSHD", "dialect"]


def paths_of(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    for key, part in items:
        yield from paths_of(part, (*path, key))


def mutate_json(document, choice):
    """One place of a document: another leaf, a neighbour, removed, doubled, or moved elsewhere."""
    path = choice.choice(list(paths_of(document)))
    if not path:
        return choice.choice(LEAVES)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    kind = choice.randrange(5)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent[key], int) and not isinstance(parent[key], bool):
        parent[key] += choice.choice([-1, 1, 4, 1 << 16, 1 << 40, -(1 << 40)])
    elif kind == 2 and isinstance(parent, dict):
        parent[choice.choice(list(parent)) + choice.choice(["", "x", "\x1b"])] = parent[key]
    elif kind == 3 and isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = choice.choice(LEAVES)
    return document


def mutate_bytes(content, choice):
    content = bytearray(content)
    for _ in range(choice.randrange(1, 5)):
        at = choice.randrange(len(content) + 1)
        kind = choice.randrange(4)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << choice.randrange(8)
        elif kind == 1:
            content[at:at] = choice.randbytes(choice.randrange(1, 9))
        elif kind == 2:
            del content[at : at + choice.randrange(1, 65)]
        else:
            content[at : at + 8] = choice.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7])
    return bytes(content)


def mutate_safetensors(content, choice):
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    kind = choice.randrange(4)
    if kind == 0:
        return mutate_bytes(content, choice)
    if kind == 1 and "attention" in header.get("__metadata__", {}):
        contract = mutate_json(json.loads(header["__metadata__"]["attention"]), choice)
        header["__metadata__"]["attention"] = json.dumps(contract)
    elif kind == 2:
        # Other bits in the tensors: NaN, infinities, subnormal numbers.
        data = mutate_bytes(data, choice)[: len(data)].ljust(len(data), b"\xff")
    else:
        header = mutate_json(header, choice)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def protobuf(field, value):
    """One field of a protocol buffer: an integer, bytes or text."""

    def varint(number):
        text = bytearray()
        while number > 127:
            text.append(number & 127 | 128)
            number >>= 7
        return bytes([*text, number])

    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def write_backend_test(folder):
    """ONNX's own layout: Attention of opset 23 on one row and two keys, which are alike."""
    names = ["Q", "K", "V", "Y"]
    node = b"".join(protobuf(1, name) for name in names[:3]) + protobuf(2, "Y")
    graph = protobuf(1, node + protobuf(4, "Attention")) + b"".join(
        protobuf(11, protobuf(1, name)) for name in names[:3]) + protobuf(12, protobuf(1, "Y"))
    model = protobuf(1, 10) + protobuf(7, graph) + protobuf(8, protobuf(2, 23))
    data_set = folder / "test_data_set_0"
    data_set.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model)
    tensors = {"input_0": ("Q", 1, [1, 2]), "input_1": ("K", 2, [0, 0, 0, 0]),
               "input_2": ("V", 2, [1, 2, 3, 4]), "output_0": ("Y", 1, [2, 3])}
    for file, (name, rows, values) in tensors.items():
        dims = b"".join(protobuf(1, extent) for extent in (1, 1, rows, 2))
        (data_set / f"{file}.pb").write_bytes(dims + protobuf(2, 1) + protobuf(8, name) +
                                              protobuf(9, struct.pack(f"<{len(values)}f", *values)))


class Mutations(CommandLine):
    def answer(self, words, note):
        start = time.monotonic()
        result = subprocess.run([str(program()), *map(str, words)], capture_output=True, timeout=120,
                                check=False)
        shown = f"{note}\n{words}\n{result.stdout[-2000:]!r}\n{result.stderr[-2000:]!r}"
        self.assertIn(result.returncode, (0, 1, 2, 3), shown)
        self.assertIsNone(CONTROL.search(result.stdout.decode(errors="replace")), shown)
        self.assertIsNone(CONTROL.search(result.stderr.decode(errors="replace")), shown)
        self.assertLess(time.monotonic() - start, 60, shown)
        return result

    def seeds(self, pattern, most):
        found = [p for p in sorted((project() / "fixtures").rglob(pattern)) if p.stat().st_size <= most]
        self.assertTrue(found, pattern)
        return found

    def run_mutants(self, pattern, mutate, commands, most=20000):
        seeds = self.seeds(pattern, most)
        target = self.folder / ("mutant" + pattern[pattern.rindex(".") :])
        for number in range(COUNT):
            choice = random.Random(f"{SEED} {pattern} {number}")
            seed = choice.choice(seeds)
            target.write_bytes(mutate(seed.read_bytes(), choice))
            words = choice.choice(commands)
            note = f"mutant {number} of {seed.name}, seed {SEED}; kept in {target}"
            self.answer([w if w != "FILE" else target for w in words], note)

    def test_recordings(self):
        self.run_mutants("*.safetensors", mutate_safetensors, [
            ["audit", "FILE"], ["audit", "FILE", "--json", "-"],
            ["audit", "FILE", "--causal", "--no-diagnosis"],
            ["audit", "FILE", "--sample", "3", "--max-ulp", "4", "--no-filter"],
            ["audit", "FILE", "--html", "-", "--no-diagnosis"], ["rank", "--recording", "FILE"],
            ["pool", "FILE"]], most=100000)

    def test_fixtures(self):
        def mutate(content, choice):
            if choice.randrange(4) == 0:
                return mutate_bytes(content, choice)
            return json.dumps(mutate_json(json.loads(content), choice)).encode()

        self.run_mutants("*.json", mutate, [["verify", "FILE"], ["verify", "-v", "FILE"],
                                            ["verify", "--json", "-", "FILE"], ["check", "FILE"],
                                            ["pool", "FILE"]])

    def test_certificates(self):
        certificates = self.folder / "certificates"
        heads = self.folder / "heads.json"
        heads.write_text(json.dumps({"key": [[["1"], ["2"]], [["1"], ["3"]]],
                                     "value": [[["1"], ["0"]], [["0"], ["1/2"]]]}))
        subprocess.run([str(program()), "pool", str(heads), "--certificates", str(certificates)],
                       capture_output=True, check=False)
        seeds = sorted(certificates.glob("*.json"))
        self.assertTrue(seeds)
        target = self.folder / "certificate.json"
        for number in range(COUNT):
            choice = random.Random(f"{SEED} certificate {number}")
            document = json.loads(choice.choice(seeds).read_text())
            target.write_text(json.dumps(mutate_json(document, choice)))
            self.answer(["check", target], f"certificate {number}, seed {SEED}")

    def test_backend_tests(self):
        source = self.folder / "seed"
        write_backend_test(source)
        self.assertEqual(self.answer(["audit", source], "the seed").returncode, 0)
        for number in range(COUNT):
            choice = random.Random(f"{SEED} onnx {number}")
            target = self.folder / f"onnx-{number}"
            files = [p for p in source.rglob("*") if p.is_file()]
            spoiled = choice.choice(files)
            for path in files:
                copy = target / path.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                content = path.read_bytes()
                copy.write_bytes(mutate_bytes(content, choice) if path == spoiled else content)
            self.answer(["audit", target, "--no-diagnosis"],
                        f"{spoiled} mutated, number {number}, seed {SEED}")

    def test_journals(self):
        recording = self.seeds("*.safetensors", 100000)[0]
        journal = self.folder / "journal"
        words = ["audit", recording, "--no-diagnosis", "--journal", journal]
        whole = self.answer(words, "the journal itself").stdout
        kept = journal.read_bytes()
        for number in range(COUNT):
            choice = random.Random(f"{SEED} journal {number}")
            # Cut anywhere, as a kill would: the same result. Changed: the same, or refused.
            is_cut = number % 2 == 0
            changed = kept[: choice.randrange(len(kept))] if is_cut else mutate_bytes(kept, choice)
            journal.write_bytes(changed)
            result = self.answer(words, f"journal {number}, seed {SEED}")
            if is_cut or result.returncode != 3:
                self.assertEqual(result.stdout, whole, f"journal {number}, seed {SEED}")
