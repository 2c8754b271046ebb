#!/usr/bin/env python3
"""Runs the program as a person would: arguments in, text, JSON and exit status out.

usage: cli_test.py PROGRAM PROJECT_DIR
Exit status: 0 all tests pass, otherwise 1.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import safetensors_file  # noqa: E402

PROGRAM = Path()
PROJECT = Path()
HOLDS, WRONG, UNDECIDED, BAD_INPUT, USAGE = 0, 1, 2, 3, 64
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x1b]")


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gqa-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, status):
        """Runs, checks the exit status and that a pipe gets plain text; returns the result."""
        words = [str(PROGRAM), *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        shown = f"{words}\nstdout: {result.stdout[-3000:]}\nstderr: {result.stderr[-3000:]}"
        self.assertEqual(result.returncode, status, shown)
        self.assertIsNone(CONTROL.search(result.stdout), shown)
        self.assertIsNone(CONTROL.search(result.stderr), shown)
        return result

    def run_json(self, *arguments, status):
        """Runs with --json -: the output must be one JSON value and nothing else."""
        result = self.run_program(*arguments, "--json", "-", status=status)
        self.assertTrue(result.stdout.startswith("{") and result.stdout.endswith("}\n"))
        return json.loads(result.stdout)


class Enumerate(CommandLine):
    def test_counts_as_text_under_both_engines(self):
        for engine in ("gmp", "boost"):
            out = self.run_program("enumerate", "--engine", engine, status=HOLDS).stdout
            self.assertIn("35 pairs, 6 weight fixtures each", out)
            self.assertIn("210 of 210 cases equal", out)
            self.assertIn("72 of 72 controls detected", out)
            self.assertIn("138 cases where both maps coincide: no false alarm", out)
            self.assertIn("verified in", out)

    def test_counts_as_json(self):
        got = self.run_json("enumerate", status=HOLDS)
        self.assertEqual(got["schema"], "gqaverify.enumerate/1")
        counts = {key: got[key] for key in ("max_heads", "pairs", "fixtures", "cases", "equal")}
        self.assertEqual(
            counts, {"max_heads": 12, "pairs": 35, "fixtures": 6, "cases": 210, "equal": 210}
        )
        self.assertEqual(
            got["controls"], {"map_differs": 72, "map_coincides": 138, "detected": 72}
        )
        self.assertEqual(got["failures"], [])

    def test_another_maximum_and_one_thread(self):
        got = self.run_json("enumerate", "--max-heads", 3, "--threads", 1, status=HOLDS)
        self.assertEqual((got["pairs"], got["cases"]), (5, 30))

    def test_bad_values(self):
        for maximum in (0, -3, 513):
            result = self.run_program("enumerate", "--max-heads", maximum, status=BAD_INPUT)
            self.assertIn("[enumerate.max_heads]", result.stderr)
            self.assertEqual(result.stdout, "")
        self.run_program("enumerate", "--max-heads", "many", status=USAGE)
        self.run_program("enumerate", "--engine", "python", status=USAGE)
        self.run_program("enumerate", "--threads", -1, status=USAGE)


class Verify(CommandLine):
    FIXTURES = property(lambda self: PROJECT / "fixtures" / "exact")

    def test_shipped_fixtures(self):
        out = self.run_program("verify", status=HOLDS).stdout
        self.assertIn("129 of 129 fixtures right: verified", out)
        self.assertEqual(out.count("210 of 210 within"), 3)
        got = self.run_json("verify", status=HOLDS)
        self.assertEqual(got["summary"], {"pass": 129, "fail": 0, "verified": True})
        self.assertEqual(len(got["fixtures"]), 129)

    def test_one_fixture_shows_its_outputs(self):
        path = self.FIXTURES / "two-queries-one-history.json"
        out = self.run_program("verify", "-v", path, status=HOLDS).stdout
        self.assertIn("(3,2) (1,6)", out)
        self.assertIn("1 of 1 fixtures right: verified", out)

    def broken(self, change):
        document = json.loads((self.FIXTURES / "two-queries-one-history.json").read_text())
        change(document)
        path = self.folder / "two-queries-one-history.json"
        path.write_text(json.dumps(document))
        return path

    def test_a_wrong_expectation_fails_and_names_the_place(self):
        def change(document):
            document["expect"]["output"][0][1][0][0] = "1/2"

        out = self.run_program("verify", self.broken(change), status=WRONG).stdout
        self.assertIn("output[0, 1, 0, 0]: 1, expected 1/2", out)
        self.assertIn("0 of 1 fixtures right: NOT VERIFIED", out)

    def test_a_malformed_fixture_names_file_and_field(self):
        def change(document):
            document["value"][0][0][0][0] = "1/0"

        path = self.broken(change)
        result = self.run_program("verify", path, status=BAD_INPUT)
        self.assertIn(f"{path}: value[0][0][0][0]", result.stderr)
        self.assertIn("[rational.zero_denominator]", result.stderr)

    def test_nothing_to_check_is_never_verified(self):
        self.run_program("verify", self.folder, status=BAD_INPUT)
        empty = self.folder / "empty.json"
        empty.write_text("")
        self.assertIn(str(empty), self.run_program("verify", empty, status=BAD_INPUT).stderr)
        missing = self.folder / "missing.json"
        self.assertIn(str(missing), self.run_program("verify", missing, status=BAD_INPUT).stderr)


class Audit(CommandLine):
    RECORDINGS = property(lambda self: sorted((PROJECT / "fixtures/recordings").glob("*.safetensors")))

    def recording(self, output=(2.0, 4.0), metadata=None):
        """Equal scores on (4, 0) and (0, 8): the output is exactly (2, 4)."""
        path = self.folder / "case.safetensors"
        tensors = {
            "query": ([1, 1, 1, 2], [0, 0]),
            "key": ([1, 1, 2, 2], [1, 0, 0, 1]),
            "value": ([1, 1, 2, 2], [4, 0, 0, 8]),
            "output": ([1, 1, 1, 2], list(output)),
        }
        safetensors_file.write(path, metadata, tensors)
        return path

    def test_recorded_kernel_passes(self):
        self.assertEqual(len(self.RECORDINGS), 5)
        out = self.run_program("audit", *self.RECORDINGS, status=HOLDS).stdout
        self.assertIn("5 of 5 passed", out)
        got = self.run_json("audit", *self.RECORDINGS, status=HOLDS)
        self.assertEqual(got["schema"], "gqaverify.audit/1")
        self.assertEqual(got["summary"], {"pass": 5, "fail": 0, "undecided": 0, "error": 0})
        for case in got["cases"]:
            self.assertEqual((case["verdict"], case["violations"]), ("pass", 0))

    def test_the_interleaved_map_fails_and_the_heads_are_named(self):
        flags = ["audit", "--head-map", "interleaved", *self.RECORDINGS]
        out = self.run_program(*flags, status=WRONG).stdout
        self.assertIn("0 of 5 passed, 5 failed", out)
        for case in self.run_json(*flags, status=WRONG)["cases"]:
            # (0,0,0,0,1,1,1,1) against (0,1,0,1,0,1,0,1)
            self.assertIn("query heads 1, 3, 4 and 6", case["where"])
            self.assertEqual(case["verdict"], "fail")

    def test_flags_win_over_the_file_and_over_the_metadata(self):
        path = self.recording(metadata={"attention": '{"window": [0, 0]}'})
        self.run_program("audit", "--atol", 0, path, status=WRONG)
        self.run_program("audit", "--atol", 0, "--window=-1,-1", path, status=HOLDS)
        self.run_program("audit", "--atol", 0, "--contract", '{"window": [-1, -1]}', path, status=HOLDS)
        contract = self.folder / "contract.json"
        contract.write_text('{"window": [0, 0]}')
        self.run_program(
            "audit", "--atol", 0, "--contract", contract, "--window=-1,-1", path, status=HOLDS
        )

    def test_ties_are_decided(self):
        self.run_program("audit", "--atol", 0, self.recording(), status=HOLDS)
        self.run_program("audit", "--atol", "1/8", self.recording((2.125, 3.875)), status=HOLDS)
        result = self.run_program("audit", "--atol", "1/9", self.recording((2.125, 4)), status=WRONG)
        self.assertIn("column 0", result.stdout)
        self.run_program("audit", "--max-ulp", 1, self.recording((2 + 2**-22, 4)), status=HOLDS)
        self.run_program("audit", "--max-ulp", 1, self.recording((2 + 2**-21, 4)), status=WRONG)

    def test_nan_and_infinity_fail(self):
        for poison in (float("nan"), float("inf"), float("-inf")):
            path = self.recording((poison, 4))
            for tolerance in (["--atol", "1e30"], ["--max-ulp", "1e30"], ["--model", "f32"], []):
                self.run_program("audit", *tolerance, path, status=WRONG)
        got = self.run_json("audit", self.recording((float("nan"), 4)), status=WRONG)
        self.assertEqual(got["cases"][0]["strength"], "proved")
        self.assertEqual(got["cases"][0]["worst"][0]["output"], "nan")

    def test_without_a_tolerance_the_models_of_the_types_are_tried(self):
        got = self.run_json("audit", self.recording(), status=HOLDS)["cases"][0]["tolerance"]
        self.assertEqual((got["kind"], got["model"], got["tried"]), ("model", "f32", ["f32"]))
        got = self.run_json("audit", "--accept", "worst-case", self.recording(), status=HOLDS)
        self.assertEqual(got["cases"][0]["tolerance"]["accept"], "worst-case")
        # One part in 1024 off: what binary16 may do, and binary32 never.
        path = self.recording((2 * (1 + 2**-10), 4))
        self.run_program("audit", path, status=WRONG)
        for model in ("f64", "f32"):
            self.run_program("audit", "--model", model, path, status=WRONG)
        for model in ("f16-f32", "bf16-f32", "f16", "bf16"):
            got = self.run_json("audit", "--model", model, path, status=HOLDS)
            self.assertEqual(got["cases"][0]["tolerance"]["model"], model)
            self.assertNotIn("tried", got["cases"][0]["tolerance"])

    def test_an_operand_that_is_not_finite_is_undecided(self):
        path = self.recording()
        metadata, tensors = safetensors_file.read(path)
        tensors["value"][1][0] = float("nan")
        safetensors_file.write(path, metadata, tensors)
        result = self.run_program("audit", "--atol", "1e30", path, status=UNDECIDED)
        self.assertIn("read NaN or infinity", result.stdout)

    def test_files_that_cannot_be_read_name_themselves(self):
        truncated = self.folder / "truncated.safetensors"
        truncated.write_bytes(self.recording().read_bytes()[:-1])
        empty = self.folder / "empty.safetensors"
        empty.write_bytes(b"")
        folder = self.folder / "folder.safetensors"
        folder.mkdir()
        missing = self.folder / "missing.safetensors"
        codes = {
            truncated: "safetensors.truncated",
            empty: "safetensors.truncated",
            folder: "recording.none_found",
            missing: "file.not_found",
        }
        for path, code in codes.items():
            result = self.run_program("audit", path, status=BAD_INPUT)
            self.assertIn(str(path), result.stdout)
            self.assertIn(f"[{code}]", result.stdout)
            got = self.run_json("audit", path, self.recording(), status=BAD_INPUT)
            self.assertEqual([case["verdict"] for case in got["cases"]], ["error", "pass"])
            self.assertEqual(got["cases"][0]["code"], code)

    def test_a_problem_without_output_or_elements_never_passes(self):
        path = self.recording()
        metadata, tensors = safetensors_file.read(path)
        del tensors["output"]
        safetensors_file.write(path, metadata, tensors)
        out = self.run_program("audit", path, status=BAD_INPUT).stdout
        self.assertIn("[contract.missing_tensor]", out)
        tensors["query"] = ([1, 1, 0, 2], [])
        tensors["output"] = ([1, 1, 0, 2], [])
        safetensors_file.write(path, metadata, tensors)
        out = self.run_program("audit", path, status=BAD_INPUT).stdout
        self.assertIn("[audit.nothing_to_audit]", out)

    def test_bad_flag_values(self):
        path = self.recording()
        for flags, code in (
            (["--atol", "x"], "rational.syntax"),
            (["--atol", "nan"], "rational.syntax"),
            (["--atol=-1"], "tolerance.negative"),
            (["--max-ulp=-1"], "tolerance.negative"),
            (["--model", "f99"], "tolerance.unknown_model"),
            (["--head-map", "0,1"], "contract.head_map_length"),
            (["--scale", "0"], "contract.scale_not_positive"),
            (["--causal=sideways"], "contract.unknown_value"),
            (["--window", "1"], "contract.window"),
            (["--softcap=-1"], "contract.softcap_negative"),
            (["--contract", "{"], "json.syntax"),
            (["--contract", self.folder / "none.json"], "file.not_found"),
        ):
            result = self.run_program("audit", *flags, path, status=BAD_INPUT)
            self.assertIn(f"[{code}]", result.stdout + result.stderr, flags)


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
        self.assertIn("1 violations, proved: 1 of 2 elements in batch 0", out)

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
        result = self.run_program("audit", "--dialect", "tf", path, status=BAD_INPUT)
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
        words = [str(PROGRAM), "audit", "--junit", str(target), str(good), str(bad), str(missing)]
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
        self.assertIn("[0, 0, 0, 1] is 5", failure.text)
        self.assertIn("[file.not_found]", suite[3].find("error").get("message"))
        # A place that cannot be written is not success.
        result = self.run_program(
            "audit", "--junit", self.folder / "no" / "report.xml", bad, status=BAD_INPUT
        )
        self.assertIn("[file.unwritable]", result.stderr)


class Usage(CommandLine):
    def test_wrong_usage(self):
        self.run_program(status=USAGE)
        self.run_program("audit", status=USAGE)
        self.run_program("conjure", status=USAGE)
        self.run_program("audit", "--no-such-flag", "x", status=USAGE)
        self.run_program("audit", "--atol", "1", "--max-ulp", "1", "x", status=USAGE)
        self.run_program("verify", "--no-such-flag", status=USAGE)

    def test_help_and_version(self):
        for command in ("enumerate", "verify", "audit"):
            self.assertIn("Example:", self.run_program(command, "--help", status=HOLDS).stdout)
        self.assertIn("Exit status:", self.run_program("--help", status=HOLDS).stdout)
        self.assertRegex(self.run_program("--version", status=HOLDS).stdout, r"^\d+\.\d+\.\d+\n$")


class JsonFile(CommandLine):
    def test_the_file_is_replaced_in_one_step_and_text_still_printed(self):
        target = self.folder / "result.json"
        target.write_text("old")
        before = target.stat().st_ino
        out = self.run_program("enumerate", "--max-heads", 2, "--json", target, status=HOLDS).stdout
        self.assertIn("18 of 18 cases equal", out)
        self.assertEqual(json.loads(target.read_text())["cases"], 18)
        self.assertNotEqual(target.stat().st_ino, before)  # a new file was moved over the old one
        self.assertEqual(os.listdir(self.folder), ["result.json"])

    def test_a_place_that_cannot_be_written_is_not_success(self):
        for target in (self.folder / "no" / "folder.json", self.folder):
            result = self.run_program(
                "enumerate", "--max-heads", 1, "--json", target, status=BAD_INPUT
            )
            self.assertIn("[file.unwritable]", result.stderr)

    def test_a_full_standard_output_is_not_success(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="ascii") as full:
            words = [str(PROGRAM), "enumerate", "--max-heads", "1"]
            result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, BAD_INPUT)


def trained_model_layers():
    """The five recorded layers: under $GQAVERIFY_DATA, or in shared/data beside the project."""
    for place in filter(None, (os.environ.get("GQAVERIFY_DATA"), PROJECT.parent / "shared/data")):
        layers = sorted(Path(place, "llama2c-stories260k").glob("layer*.safetensors"))
        if layers:
            return layers
    return []


class TrainedModel(CommandLine):
    def setUp(self):
        super().setUp()
        self.layers = trained_model_layers()
        if not self.layers:
            print("skipped: no data")
            self.skipTest("no data")
        self.assertEqual(len(self.layers), 5)

    def test_all_layers_pass_causally(self):
        out = self.run_program("audit", "--causal", *self.layers, status=HOLDS).stdout
        self.assertIn("5 of 5 passed", out)
        contract = self.folder / "contract.json"
        contract.write_text('{"causal": true}')
        out = self.run_program("audit", "--contract", contract, *self.layers, status=HOLDS).stdout
        self.assertIn("5 of 5 passed", out)

    def test_all_layers_fail_under_another_contract(self):
        for flags in (["--causal", "--head-map", "interleaved"], []):
            out = self.run_program("audit", *flags, *self.layers, status=WRONG).stdout
            self.assertIn("0 of 5 passed, 5 failed", out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(64)
    PROGRAM, PROJECT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=1)
