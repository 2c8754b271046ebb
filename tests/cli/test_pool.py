"""gqaverify pool, run as a person would; its certificates go through gqaverify check."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command_line import program

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import safetensors_file  # noqa: E402

PROGRAM = program()
HOLDS, WRONG, BAD_INPUT, USAGE = 0, 1, 3, 64


class Pool(unittest.TestCase):
    # Two heads with one key each position alike; values (2,0),(2,0) and (0,6),(0,6).
    LOSING = {"key": [[[1, 0], [0, 1]]] * 2, "value": [[[2, 0], [2, 0]], [[0, 6], [0, 6]]]}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gqa-pool-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *arguments, status):
        words = [str(PROGRAM), *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        shown = f"{words}\nstdout: {result.stdout}\nstderr: {result.stderr}"
        self.assertEqual(result.returncode, status, shown)
        return result

    def pool(self, document, *arguments, status):
        path = self.folder / "heads.json"
        path.write_text(json.dumps(document))
        return self.run_program("pool", path, *arguments, status=status)

    def test_the_known_counterexample(self):
        certificates = self.folder / "certificates"
        out = self.pool(self.LOSING, "--certificates", certificates, status=WRONG).stdout
        self.assertIn("(2, 0) becomes (1, 3)", out)
        self.assertIn("at equal scores head 1 loses (-1, 3)", out)
        self.assertIn("NOT lossless", out)
        checked = self.run_program("check", certificates / "batch-0-kv-0.json", status=HOLDS).stdout
        self.assertIn("verified pooling_loss", checked)
        self.assertIn("lossless", self.pool(self.LOSING, "--kv-heads", 2, status=HOLDS).stdout)

    def test_order_matters_only_while_the_cache_grows(self):
        document = {"key": [[[0], [0]], [[0], [0]]], "value": [[[1], [3]], [[3], [1]]]}
        self.pool(document, status=HOLDS)
        self.pool(document, "--causal", status=WRONG)

    def test_a_safetensors_file_is_taken_bit_by_bit(self):
        path = self.folder / "heads.safetensors"
        tensors = {
            "key": ([1, 2, 2, 1], [0, 1, 5, 6]),
            "value": ([1, 2, 2, 1], [3, 7, 3, 7]),
            "something": ([1], [0]),
        }
        safetensors_file.write(path, None, tensors)
        self.run_program("pool", path, status=HOLDS)
        tensors["key"] = ([1, 2, 2, 1], [0, 1, 5, 6 + 2**-20])
        safetensors_file.write(path, None, tensors)
        self.run_program("pool", path, status=WRONG)

    def test_conversions_are_told_apart(self):
        heads = [[0], [2], [4], [8]]
        rules = {"contiguous_mean": [1, 6], "strided_mean": [2, 5], "contiguous_sum": [2, 12],
                 "first_of_group": [0, 4]}  # fmt: skip
        for rule, pooled in rules.items():
            document = {"heads": heads, "pooled": [[x] for x in pooled]}
            status = HOLDS if rule == "contiguous_mean" else WRONG
            got = json.loads(self.pool(document, "--json", "-", status=status).stdout)
            self.assertEqual([r["rule"] for r in got["rules"] if r["matches"]], [rule])

    def test_weights(self):
        same, other = [[1, 0], [0, 1]], [[1, 1], [0, 1]]
        self.pool({"key_weight": [same, same], "value_weight": [other, other]}, status=HOLDS)
        out = self.pool({"key_weight": [same, other], "value_weight": [same, same]}, status=WRONG)
        self.assertIn("scores_differ", out.stdout)

    def test_the_decision_on_weights_is_certified(self):
        same, other = [[1, 0], [0, 1]], [[1, 1], [0, 1]]
        folder = self.folder / "certificates"
        values = {"key_weight": [same, same], "value_weight": [same, other]}
        out = self.pool(values, "--certificates", folder, status=WRONG).stdout
        self.assertIn("on the one position (0, 1) the output (0, 1) becomes (1/2, 1)", out)
        checked = self.run_program("check", folder / "kv-0.json", status=HOLDS).stdout
        self.assertIn("verified weight_pooling_loss", checked)
        keys = {"key_weight": [same, other], "value_weight": [same, same],
                "query_weight": [same, same]}  # fmt: skip
        self.pool(keys, "--certificates", folder, status=WRONG)
        self.run_program("check", folder / "kv-0.json", status=HOLDS)
        keys["query_weight"] = [[[0, 0], [1, 1]]] * 2
        self.pool(keys, "--certificates", folder, status=HOLDS)
        checked = self.run_program("check", folder / "kv-0.json", status=HOLDS).stdout
        self.assertIn("verified weight_pooling_lossless", checked)

    def test_smallest_counterexamples(self):
        out = self.run_program("pool", "--smallest", 12, status=HOLDS).stdout
        self.assertIn("12 query heads on 4 KV heads: one position, value 1 in one head, 0 in the "
                      "others: 1 becomes 1/3", out)  # fmt: skip
        self.assertEqual(out.count("becomes"), 23)
        self.assertEqual(out.count("lossless"), 12)

    def test_bad_input_and_wrong_usage(self):
        self.run_program("pool", status=USAGE)
        error = self.pool(self.LOSING, "--kv-heads", 3, status=BAD_INPUT).stderr
        self.assertIn("[pooling.heads_not_divisible]", error)
        self.pool({"key": [[[1]]]}, status=BAD_INPUT)
        self.pool({"key": [[[1]]], "values": [[[1]]]}, status=BAD_INPUT)
        self.pool({"key": [[[1]]], "value": [[[1], [2]]]}, status=BAD_INPUT)
        self.pool({"key": [[[]]], "value": [[[]]]}, status=BAD_INPUT)
        self.pool(self.LOSING, "--kv-heads", 0, status=BAD_INPUT)
