"""gqaverify ledger, run as a person would."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from command_line import program

PROGRAM = program()
HOLDS, WRONG, BAD_INPUT, USAGE = 0, 1, 3, 64


class Ledger(unittest.TestCase):
    LLAMA = ["--layers", 32, "--q-heads", 32, "--kv-heads", 8, "--head-size", 128]
    QWEN3 = {
        "model_type": "qwen3", "hidden_size": 5120, "num_attention_heads": 64,
        "num_hidden_layers": 64, "num_key_value_heads": 8, "head_dim": 128,
        "use_sliding_window": False, "sliding_window": None, "max_window_layers": 64,
        "torch_dtype": "bfloat16",
    }  # fmt: skip

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gqa-ledger-")
        self.addCleanup(folder.cleanup)
        self.config = Path(folder.name) / "config.json"

    def run_program(self, *arguments, status):
        words = [str(PROGRAM), "ledger", *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        shown = f"{words}\nstdout: {result.stdout}\nstderr: {result.stderr}"
        self.assertEqual(result.returncode, status, shown)
        return result

    def run_json(self, *arguments, status=HOLDS):
        return json.loads(self.run_program(*arguments, "--json", "-", status=status).stdout)

    def test_one_gibibyte(self):
        flags = [*self.LLAMA, "--type", "float16", "--batch", 2, "--positions", 4096]
        out = self.run_program(*flags, status=HOLDS).stdout
        self.assertIn("per position: 131,072 bytes (128 KiB)", out)
        self.assertIn("32 layers: 4096 positions kept, 33,554,432 bytes (32 MiB) each", out)
        self.assertIn("in all: 1,073,741,824 bytes (1 GiB)", out)
        self.assertIn("with 32 KV heads (MHA): 4,294,967,296 bytes (4 GiB)", out)
        self.assertIn("with 1 KV head (MQA): 134,217,728 bytes (128 MiB)", out)
        got = self.run_json(*flags)
        self.assertEqual(got["schema"], "gqaverify.ledger/1")
        self.assertEqual((got["bytes_per_position"], got["bytes"]), (131072, 1073741824))

    def test_a_configuration_with_an_explicit_head_size(self):
        self.config.write_text(json.dumps(self.QWEN3))
        for path in (self.config, self.config.parent):
            got = self.run_json(path)
            self.assertEqual(got["bytes_per_position"], 262144)
            self.assertEqual(got["model_type"], "qwen3")
        got = self.run_json(self.config, "--key-type", "q8_0", "--value-type", "34/32")
        self.assertEqual(got["bytes_per_position"], 64 * 8 * 2 * 4 * 34)

    def test_a_field_that_is_missing_names_file_and_field(self):
        document = dict(self.QWEN3)
        del document["num_key_value_heads"]
        self.config.write_text(json.dumps(document))
        error = self.run_program(self.config, status=BAD_INPUT).stderr
        self.assertIn(f"{self.config}: num_key_value_heads: is missing", error)
        self.assertIn("[model_config.missing_field]", error)

    def test_stated_figures_are_confirmed_or_refuted(self):
        flags = [*self.LLAMA, "--type", "float16", "--expect"]
        self.assertIn("right", self.run_program(*flags, "bytes_per_position=131072", status=HOLDS).stdout)
        out = self.run_program(*flags, "bytes_per_position=524288", status=WRONG).stdout
        self.assertIn("bytes_per_position = 524,288: WRONG, it is 131,072", out)
        for wrong in ("bytes=1", "parameters=1", "positions=1", "size=1", "bytes_per_position=1.5", "x"):
            self.run_program(*flags, wrong, status=BAD_INPUT)

    def test_projection_parameters(self):
        flags = ["--layers", 1, "--type", "float16", "--head-size"]
        small = [4, "--q-heads", 4, "--hidden-size", 16, "--kv-heads"]
        self.run_program(*flags, *small, 2, "--expect", "parameters=768", status=HOLDS)
        self.run_program(*flags, *small, 4, "--expect", "parameters=1024", status=HOLDS)
        large = [64, "--q-heads", 16, "--kv-heads", 4, "--hidden-size", 1024]
        self.run_program(*flags, *large, "--expect", "parameters=2621440", status=HOLDS)

    def test_saving_by_fewer_heads(self):
        flags = ["--layers", 1, "--q-heads", 32, "--kv-heads", 4, "--head-size", 128, "--type", "float16"]
        stated = "bytes_saved=29360128"
        self.run_program(*flags, "--positions", 2048, "--expect", stated, status=HOLDS)

    def test_ranks_windows_pages_and_budget(self):
        flags = ["--layers", 4, "--q-heads", 8, "--kv-heads", 2, "--head-size", 64, "--type", "float16"]
        got = self.run_json(*flags, "--ranks", 8, "--positions", 100, "--page-size", 16,
                            "--window", 40, "--windowed-layers", 3)  # fmt: skip
        self.assertEqual(got["tensor_parallel"]["kv_heads_per_rank"], 1)
        self.assertEqual(got["tensor_parallel"]["replicas"], 4)
        self.assertEqual([layer["kept_positions"] for layer in got["layers"]], [112, 48])
        self.assertEqual(got["bytes"], (112 + 3 * 48) * 512)
        self.assertEqual(got["tensor_parallel"]["bytes_per_rank"], (112 + 3 * 48) * 256)
        got = self.run_json(*flags, "--budget", 2**30)
        self.assertEqual(got["budget"]["positions"], 2**30 // 2048)
        got = self.run_json(*flags, "--window", 40, "--budget", 2**30)
        self.assertEqual(got["budget"]["positions"], "unbounded")
        self.run_program(*flags, "--ranks", 3, status=BAD_INPUT)

    def test_the_certificate_is_verified(self):
        path = self.config.parent / "certificate.json"
        flags = [*self.LLAMA, "--type", "q8_0", "--certificate", path]
        self.run_program(*flags, "--positions", 4096, status=HOLDS)
        words = [str(PROGRAM), "check", str(path)]
        checked = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        self.assertIn("the cache takes 285212672 bytes, 69632 for each position", checked.stdout)
        self.run_program(*flags, status=BAD_INPUT)

    def test_wrong_usage(self):
        self.run_program(status=USAGE)
        self.run_program("--layers", 4, status=USAGE)
        self.config.write_text(json.dumps(self.QWEN3))
        self.run_program(self.config, "--layers", 4, status=USAGE)
        self.run_program(*self.LLAMA, status=BAD_INPUT)  # no type
