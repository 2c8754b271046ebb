"""gqaverify identify on recordings: names of tensors, the contract that fits, flags that can be copied."""

import json
import math
import random
import shlex
import unittest

import safetensors_file
from command_line import BAD_INPUT, HOLDS, WRONG, CommandLine

B, HQ, HKV, T, S, D = 1, 4, 2, 6, 9, 8


class Recorded:
    """Attention by plain loops; rules by keyword."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.query = [[[draw.gauss(0, 1) for _ in range(D)] for _ in range(T)] for _ in range(HQ)]
        self.key = [[[draw.gauss(0, 1) for _ in range(D)] for _ in range(S)] for _ in range(HKV)]
        self.value = [[[draw.gauss(0, 1) for _ in range(D)] for _ in range(S)] for _ in range(HKV)]
        for tensor in (self.query, self.key, self.value):
            for head in tensor:
                for row in head:
                    row[:] = [binary32(x) for x in row]

    def output(self, causal=False, scale=1 / math.sqrt(D), tiled=False):
        heads = []
        for h in range(HQ):
            g = h % HKV if tiled else h // (HQ // HKV)
            rows = []
            for i in range(T):
                keys = range(i + S - T + 1) if causal else range(S)
                dots = [sum(a * b for a, b in zip(self.query[h][i], self.key[g][j])) for j in keys]
                weights = [math.exp(scale * x) for x in dots]
                total = sum(weights)
                rows.append([sum(w * self.value[g][j][c] for w, j in zip(weights, keys)) / total
                             for c in range(D)])
            heads.append(rows)
        return heads


def binary32(x):
    import struct
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bhsd(tensor):
    flat = [x for head in tensor for row in head for x in row]
    return ([B, len(tensor), len(tensor[0]), D], flat)


def bshd(tensor):
    flat = [x for i in range(len(tensor[0])) for head in tensor for x in head[i]]
    return ([B, len(tensor[0]), len(tensor), D], flat)


class IdentifyRecording(CommandLine):
    def write(self, name="r.safetensors", metadata=None, **tensors):
        path = self.folder / name
        safetensors_file.write(path, metadata or {}, tensors)
        return path

    def tensors(self, seed=1, axes=bhsd, output_axes=None, **rules):
        r = Recorded(seed)
        return {"query": axes(r.query), "key": axes(r.key), "value": axes(r.value),
                "output": (output_axes or axes)(r.output(**rules))}

    def fits(self, path, *flags):
        got = self.run_json("identify", path, *flags, status=HOLDS)
        self.assertEqual(got["schema"], "gqaverify.identify/1")
        (recording,) = got["recordings"]
        return recording

    def test_the_flags_that_are_told_make_the_audit_pass(self):
        for rules in ({"causal": True}, {"scale": 0.1}, {"causal": True, "scale": 0.1}, {"tiled": True},
                      {"axes": bshd}, {"output_axes": bshd}, {"axes": bshd, "causal": True, "scale": 0.25}):
            path = self.write(**self.tensors(**rules))
            # 6 rows and 9 keys as heads are no problem at all.
            plain = BAD_INPUT if "axes" in rules or "output_axes" in rules else WRONG
            told = self.run_program("audit", path, status=plain).stdout
            found = self.fits(path)
            self.assertEqual(found["fit"], "found", rules)
            self.run_program("audit", path, *shlex.split(found["flags"]), status=HOLDS)
            # The contract alone says the same.
            contract = json.dumps(found["contract"])
            self.run_program("audit", path, "--contract", contract, status=HOLDS)
            if plain == WRONG:
                self.assertIn(f"    fits with {found['flags']}", told)
            else:
                self.assertIn("the shapes fit with --layout", told)

    def test_words(self):
        path = self.write(**self.tensors(causal=True, scale=0.1))
        out = self.run_program("identify", path, status=HOLDS).stdout
        self.assertIn("    fits: --causal --scale 0.1\n", out)
        self.assertIn("192 elements pass against precision model f32", out)
        self.assertIn('    contract: {"layout":"BHSD"', out)
        out = self.run_program("identify", path, "--causal", "--scale", "0.1", status=HOLDS).stdout
        self.assertIn("    the declared contract: 192 elements pass", out)

    def test_what_no_contract_gives_is_not_fitted(self):
        tensors = self.tensors()
        draw = random.Random(3)
        tensors["output"] = (tensors["output"][0], [draw.gauss(0, 1) for _ in tensors["output"][1]])
        got = self.run_json("identify", self.write(**tensors), status=WRONG)
        self.assertEqual(got["recordings"][0]["fit"], "none")

    def test_tensors_under_other_names(self):
        whole = self.tensors(causal=True)
        for names in ("Q K V O", "q_proj k_proj v_proj attn_output", "query_states key_states value_states out",
                      "xq xk xv context_layer", "Qcur-3 Kcur-3 Vcur-3 kqv_out-3"):
            path = self.write(**dict(zip(names.split(), whole.values())))
            self.run_program("audit", path, "--causal", status=HOLDS)
        path = self.write(**dict(zip("a b c d".split(), whole.values())))
        out = self.run_program("audit", path, status=BAD_INPUT).stdout
        self.assertIn("the file holds a [1, 4, 6, 8] binary32, b [1, 2, 9, 8] binary32, c", out)
        self.assertIn("[recording.unknown_tensor]", out)
        flags = [word for pair in ("query=a", "key=b", "value=c", "output=d") for word in ("--tensor", pair)]
        self.run_program("audit", path, "--causal", *flags, status=HOLDS)
        out = self.run_program("audit", path, *flags, "--tensor", "none=e", status=BAD_INPUT).stdout
        self.assertIn("--tensor none=e: the file holds a [1, 4, 6, 8] binary32", out)
        self.run_program("audit", path, "--tensor", "nonsense", status=BAD_INPUT)

    def test_what_is_left_out_is_not_read(self):
        whole = self.tensors(causal=True)
        path = self.write(**whole, extra=([1], [0.0]), q=whole["query"])
        out = self.run_program("audit", path, "--causal", "--tensor", "none=extra", status=BAD_INPUT).stdout
        self.assertIn("[recording.tensor_stated_twice]", out)
        flags = ["--tensor", "none=extra", "--tensor", "none=q"]
        self.run_program("audit", path, "--causal", *flags, status=HOLDS)

    def test_several_recordings_in_one_file(self):
        tensors = {}
        for layer in (2, 10):
            for name, tensor in self.tensors(seed=layer, causal=True).items():
                tensors[f"layers.{layer}.{name}"] = tensor
        path = self.write(**tensors)
        got = self.run_json("audit", path, "--causal", status=HOLDS)
        self.assertEqual([case["path"] for case in got["cases"]],
                         [f"{path}: layers.2", f"{path}: layers.10"])
        del tensors["layers.10.output"]
        out = self.run_program("audit", self.write(**tensors), "--causal", status=BAD_INPUT).stdout
        self.assertIn("layers.10: output: is needed and absent; the file holds layers.10.key", out)
        # A tensor without a prefix belongs to all.
        tensors = {f"{layer}/{name}": tensor for layer in ("a", "b")
                   for name, tensor in self.tensors(seed=1).items()}
        tensors["nonpad_kv_seqlen"] = ([1], [S], "I32")
        self.run_program("audit", self.write(**tensors), status=HOLDS)

    def test_a_shape_that_does_not_fit_says_which_layout_would(self):
        r = Recorded(1)
        path = self.write(query=bshd(r.query), key=bshd(r.key), value=bshd(r.value), output=bhsd(r.output()))
        out = self.run_program("audit", path, status=BAD_INPUT).stdout
        self.assertIn("the shapes fit with --layout BSHD,output=BHSD", out)
        self.run_program("audit", path, "--layout", "BSHD,output=BHSD", status=HOLDS)
        path = self.write(metadata={"attention": '{"layout": "BHSD,query=BSHD"}'},
                          query=bshd(r.query), key=bhsd(r.key), value=bhsd(r.value), output=bhsd(r.output()))
        self.run_program("audit", path, status=HOLDS)

    def test_operands_that_the_recording_lacks(self):
        path = self.write(**self.tensors())
        self.run_program("audit", path, "--lengths", str(S), status=HOLDS)
        self.run_program("audit", path, "--lengths", str(S - 1), "--no-diagnosis", status=WRONG)
        self.run_program("audit", path, "--sink=-100", status=HOLDS)
        self.run_program("audit", path, "--sink", "0", "--no-diagnosis", status=WRONG)
        self.run_program("audit", path, "--alibi", "0", status=HOLDS)
        self.run_program("audit", path, "--alibi", "standard", "--no-diagnosis", status=WRONG)
        out = self.run_program("audit", path, "--sink", "1,2", status=BAD_INPUT).stdout
        self.assertIn("sink: 2 numbers for 4 query heads; write one for each, or one for all [contract.operand_count]", out)


if __name__ == "__main__":
    unittest.main()
