"""gqaverify audit: outputs beside output, dialects, packed layouts and JUnit."""

import math
import subprocess
import xml.etree.ElementTree

import safetensors_file
from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine, program


class Outputs(CommandLine):
    """The outputs beside output, dialects, packed layouts and the JUnit report."""

    def recording(self, name="case.safetensors", metadata=None, **more):
        """Equal scores on (4, 0) and (0, 8), as Audit.recording; more tensors by name."""
        path = self.folder / name
        tensors = {
            "query": ([1, 1, 1, 2], [0, 0]),
            "key": ([1, 1, 2, 2], [1, 0, 0, 1]),
            "value": ([1, 1, 2, 2], [4, 0, 0, 8]),
            "output": ([1, 1, 1, 2], [2, 4]),
        }
        safetensors_file.write(path, metadata, tensors | more)
        return path

    def test_every_output_is_listed_and_the_worst_counts(self):
        good = {"present_key": ([1, 1, 2, 2], [1, 0, 0, 1]), "lse": ([1, 1, 1], [math.log(2)])}
        path = self.recording(**good)
        case = self.run_json("audit", path, status=HOLDS)["cases"][0]
        names = [(output["name"], output["verdict"]) for output in case["outputs"]]
        self.assertEqual(names, [("output", "pass"), ("present_key", "pass"), ("lse", "pass")])
        out = self.run_program("audit", path, status=HOLDS).stdout
        self.assertIn("present_key: pass, 4 elements", out)
        path = self.recording(**good, qk_matmul_output=([1, 1, 1, 2], [0, 1]))
        case = self.run_json("audit", path, status=WRONG)["cases"][0]
        self.assertEqual((case["verdict"], case["violations"]), ("fail", 0))
        last = case["outputs"][2]
        self.assertEqual((last["name"], last["violations"]), ("qk_matmul_output", 1))
        self.assertEqual(last["worst"][0]["index"], [0, 0, 0, 1])
        out = self.run_program("audit", path, status=WRONG).stdout
        self.assertIn("qk_matmul_output: fail, 2 elements", out)
        self.assertIn("1 violation, proved: beyond the worst case of", out)

    def test_dialects_differ_and_stated_fields_win(self):
        # One query on two keys: top left sees the first key only.
        first = {"output": ([1, 1, 1, 2], [4, 0])}
        path = self.recording(**first)
        self.run_program("audit", "--causal", "--dialect", "pytorch", path, status=HOLDS)
        self.run_program("audit", "--dialect", "flash-attention", "--causal", path, status=WRONG)
        self.run_program("audit", "--causal=top_left", "--dialect", "llama.cpp", path, status=HOLDS)
        self.run_program("audit", "--causal", path, status=WRONG)
        path = self.recording(metadata={"attention": '{"dialect": "jax", "causal": true}'}, **first)
        self.run_program("audit", path, status=HOLDS)
        self.run_program("audit", "--dialect", "transformers", path, status=WRONG)

    def test_window_words(self):
        last = {"output": ([1, 1, 1, 2], [0, 8])}
        path = self.recording(**last)
        flags = ["audit", "--causal", "--local-window-size", 1]
        self.run_program(*flags, "--dialect", "onnxruntime-gqa", path, status=HOLDS)
        self.run_program(*flags, "--dialect", "onnxruntime-gqa@old", path, status=WRONG)
        for more in ([], ["--dialect", "transformers"]):
            result = self.run_program(*flags, *more, path, status=BAD_INPUT)
            self.assertIn("[contract.window_word]", result.stdout)
        self.run_program(*flags, "--window=0,0", path, status=USAGE)
        words = ["--contract", '{"sliding_window": 1, "causal": true}', "--dialect", "transformers"]
        self.run_program("audit", *words, path, status=HOLDS)
        result = self.run_program("audit", "--contract", '{"dialect": "tf"}', path, status=BAD_INPUT)
        self.assertIn("[contract.unknown_value]", result.stdout)

    def test_the_mean_of_empty_rows(self):
        path = self.recording(attn_mask=([1, 2], [-math.inf, -math.inf]))
        for tolerance in (["--atol", 0], ["--model", "f32"]):
            self.run_program("audit", *tolerance, "--dialect", "jax", path, status=HOLDS)
            self.run_program("audit", *tolerance, "--empty-row", "mean", path, status=HOLDS)
            self.run_program("audit", *tolerance, path, status=WRONG)
        path = self.recording(
            attn_mask=([1, 2], [-math.inf, -math.inf]), output=([1, 1, 1, 2], [2.001, 4])
        )
        self.run_program("audit", "--dialect", "jax", path, status=WRONG)

    def test_packed_documents_are_cases_of_their_own(self):
        # Two documents of one query and two keys each; the second output is wrong.
        more = {
            "query": ([2, 1, 2], [0, 0, 0, 0]),
            "key": ([4, 1, 2], [1, 0, 0, 1, 1, 0, 0, 1]),
            "value": ([4, 1, 2], [4, 0, 0, 8, 10, 2, -2, 6]),
            "output": ([2, 1, 2], [2, 4, 4, 5]),
            "cu_seqlens_q": ([3], [0, 1, 2], "I32"),
            "cu_seqlens_k": ([3], [0, 2, 4], "I32"),
        }
        path = self.recording(metadata={"attention": '{"layout": "THD"}'}, **more)
        cases = self.run_json("audit", path, status=WRONG)["cases"]
        self.assertEqual(
            [(case["path"], case["verdict"]) for case in cases],
            [(f"{path}: document 0", "pass"), (f"{path}: document 1", "fail")],
        )
        self.assertEqual(cases[1]["worst"][0]["index"], [0, 0, 0, 1])
        more["output"] = ([2, 1, 2], [2, 4, 4, 4])
        path = self.recording(**more)
        self.run_program("audit", "--layout", "THD", path, status=HOLDS)
        result = self.run_program("audit", path, status=BAD_INPUT)
        self.assertIn("[contract.packed_layout]", result.stdout)
        more["cu_seqlens_k"] = ([3], [0, 2, 3], "I32")
        result = self.run_program("audit", "--layout=THD", self.recording(**more), status=BAD_INPUT)
        self.assertIn("[contract.packed_offsets]", result.stdout)

    def test_junit(self):
        name = 'a <b> & "c" \t\x01 \u00e4.safetensors'
        good = self.recording(name, present_key=([1, 1, 2, 2], [1, 0, 0, 1]))
        bad = self.recording(output=([1, 1, 1, 2], [2, 5]))
        missing = self.folder / "missing.npz"
        target = self.folder / "report.xml"
        words = [str(program()), "audit", "--junit", str(target), str(good), str(bad), str(missing)]
        result = subprocess.run(words, capture_output=True, timeout=300, check=False)
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        suite = xml.etree.ElementTree.parse(target).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("4", "1", "1"))
        cases = [(case.get("classname"), case.get("name"), len(case)) for case in suite]
        self.assertEqual(
            cases,
            [
                (str(good).replace("\x01", "\ufffd"), "output", 0),
                (str(good).replace("\x01", "\ufffd"), "present_key", 0),
                (str(bad), "output", 1),
                (str(missing), "audit", 1),
            ],
        )
        failure = suite[2].find("failure")
        self.assertIn("1 of 2 elements violate", failure.get("message"))
        self.assertIn("batch 0, head 0, row 0, column 1: got 5, exact 4", failure.text)
        self.assertIn("[file.not_found]", suite[3].find("error").get("message"))
        # A place that cannot be written is not success.
        result = self.run_program(
            "audit", "--junit", self.folder / "no" / "report.xml", bad, status=BAD_INPUT
        )
        self.assertIn("[file.unwritable]", result.stderr)
