"""gqaverify probe: probes as files, answered by a few lines of Python."""

import json
import math

import safetensors_file
from command_line import BAD_INPUT, HOLDS, UNDECIDED, USAGE, WRONG, CommandLine


def attention(query, key, value, kv_head, scale):
    """One plain output [Hq][T][dv] of nested lists; kv_head gives the KV head of a query head."""
    output = []
    for head, rows in enumerate(query):
        kv = kv_head(head)
        for row in rows:
            scores = [scale * sum(q * k for q, k in zip(row, other)) for other in key[kv]]
            largest = max(scores)
            weights = [math.exp(score - largest) for score in scores]
            total = sum(weights)
            for column in range(len(value[kv][0])):
                summed = sum(w * v[column] for w, v in zip(weights, value[kv]))
                output.append(summed / total)
    return output


def nested(shape, numbers):
    """Batch entry 0 of [1, H, S, D] as lists."""
    _, heads, rows, width = shape
    assert len(numbers) == heads * rows * width
    starts = [[(h * rows + s) * width for s in range(rows)] for h in range(heads)]
    return [[numbers[start : start + width] for start in of_head] for of_head in starts]


class Probe(CommandLine):
    # Probes without any rule but the head map and the scale.
    PLAIN = ("head_map", "head_map_values", "head_map_keys", "scale", "rising_scores")

    def setUp(self):
        super().setUp()
        self.probes = self.folder / "probes"
        out = self.run_program("probe", "write", self.probes, status=HOLDS).stdout
        self.written = sorted(path.stem for path in self.probes.glob("*.safetensors"))
        self.assertIn(f"{len(self.written)} probes in binary32 written to", out)

    def answer(self, names, kv_head):
        for name in names:
            path = self.probes / f"{name}.safetensors"
            metadata, tensors = safetensors_file.read(path)
            shape, numbers = tensors["query"]
            heads, kv_heads = shape[1], tensors["key"][0][1]
            output = attention(
                nested(shape, numbers),
                nested(*tensors["key"]),
                nested(*tensors["value"]),
                lambda head: kv_head(head, heads, kv_heads),
                1 / math.sqrt(shape[3]),
            )
            tensors["output"] = ([*shape[:3], tensors["value"][0][3]], output)
            safetensors_file.write(path, metadata, tensors)

    def test_written_files_say_what_they_are(self):
        # Of 48 probes all but the one of strided rows.
        self.assertEqual(len(self.written), 47)
        self.assertTrue(set(self.PLAIN) <= set(self.written))
        # Strides are not in files.
        self.assertNotIn("strided_keys", self.written)
        metadata, _ = safetensors_file.read(self.probes / "head_map.safetensors")
        self.assertEqual(metadata["probe"], "head_map")
        self.assertFalse(json.loads(metadata["attention"])["causal"])

    def test_right_answers_pass_and_absent_ones_are_not_verified(self):
        self.answer(self.PLAIN, lambda head, heads, kv_heads: head // (heads // kv_heads))
        got = self.run_json("probe", "check", self.probes, status=UNDECIDED)
        self.assertEqual(got["schema"], "gqaverify.probe/1")
        passed = {probe["name"] for probe in got["probes"] if probe["verdict"] == "pass"}
        self.assertEqual(passed, set(self.PLAIN))
        self.assertEqual(got["summary"]["unsupported"], len(self.written) - len(self.PLAIN))
        self.assertEqual(got["diagnosis"]["status"], "none")

    def test_a_tiled_head_map_is_named(self):
        self.answer(self.PLAIN, lambda head, heads, kv_heads: head % kv_heads)
        out = self.run_program("probe", "check", self.probes, status=WRONG).stdout
        self.assertIn("fail      head_map: ", out)
        self.assertIn("head_map.tiled: the KV heads are tiled", out)
        got = self.run_json("probe", "check", self.probes, "--identify", status=WRONG)
        self.assertEqual(got["schema"], "gqaverify.identify/1")
        found = {rule["rule"]: rule["found"] for rule in got["rules"]}
        self.assertEqual(found["head map of K"], "tiled, h mod Hkv")
        # The rest is read with the named fault allowed for.
        self.assertEqual(found["default scale at dk = 4"], "0.5")
        self.assertEqual([entry["faults"] for entry in got["diagnosis"]["explanations"]], [["head_map.tiled"]])

    def test_no_answer_at_all_is_undecided(self):
        self.run_program("probe", "check", self.probes, status=UNDECIDED)

    def bad_answer(self, name):
        """The error of that probe's file; the other answers are judged all the same."""
        got = self.run_json("probe", "check", self.probes, status=BAD_INPUT)
        verdicts = {probe["name"]: probe["verdict"] for probe in got["probes"]}
        self.assertEqual(verdicts["scale"], "pass")
        self.assertEqual(verdicts[name], "error")
        self.assertEqual(got["summary"]["error"], 1)
        error = [probe["error"] for probe in got["probes"] if probe["name"] == name][0]
        out = self.run_program("probe", "check", self.probes, status=BAD_INPUT).stdout
        self.assertIn(f"error     {name}: ", out)
        self.assertIn(f"    {error}\n", out)
        return error

    def test_a_probe_file_that_cannot_be_read_or_has_no_query_is_one_error(self):
        self.answer(["scale"], lambda head, heads, kv_heads: head // (heads // kv_heads))
        # The first of all: its type is asked before anything else.
        first = self.written[0] if self.written[0] != "scale" else self.written[1]
        path = self.probes / f"{first}.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[:-1])
        self.assertIn("[safetensors.truncated]", self.bad_answer(first))
        path.write_bytes(content)
        for name in ("head_map", "softcap"):
            path = self.probes / f"{name}.safetensors"
            content = path.read_bytes()
            metadata, tensors = safetensors_file.read(path)
            del tensors["query"]
            safetensors_file.write(path, metadata, tensors)
            self.assertIn(f"{path}: query: is needed and absent", self.bad_answer(name))
            path.write_bytes(content)

    def test_a_changed_probe_is_refused(self):
        self.answer(["scale"], lambda head, heads, kv_heads: head // (heads // kv_heads))
        path = self.probes / "head_map.safetensors"
        metadata, tensors = safetensors_file.read(path)
        tensors["value"][1][0] += 1
        safetensors_file.write(path, metadata, tensors)
        error = self.bad_answer("head_map")
        self.assertIn(f"{path}: value", error)
        self.assertIn("[probe.changed]", error)

    def test_an_output_of_another_shape_is_refused(self):
        self.answer(["head_map", "scale"], lambda head, heads, kv_heads: head // (heads // kv_heads))
        path = self.probes / "head_map.safetensors"
        metadata, tensors = safetensors_file.read(path)
        shape, numbers = tensors["output"]
        tensors["output"] = ([shape[0], shape[2], shape[1], shape[3]], numbers)
        safetensors_file.write(path, metadata, tensors)
        error = self.bad_answer("head_map")
        self.assertIn(f"{path}: output", error)
        self.assertIn("[probe.output_shape]", error)

    def test_wrong_usage_and_an_empty_folder(self):
        self.run_program("probe", status=USAGE)
        self.run_program("probe", "write", self.folder / "x", "--type", "int8", status=USAGE)
        empty = self.folder / "empty"
        empty.mkdir()
        result = self.run_program("probe", "check", empty, status=BAD_INPUT)
        self.assertIn(str(empty), result.stderr)
        self.assertIn("[probe.none_found]", result.stderr)
