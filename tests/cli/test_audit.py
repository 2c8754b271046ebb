"""gqaverify audit: contracts, tolerances and what cannot be read."""

import safetensors_file
from command_line import BAD_INPUT, HOLDS, UNDECIDED, USAGE, WRONG, CommandLine, project


class Audit(CommandLine):
    RECORDINGS = property(lambda self: sorted((project() / "fixtures/recordings").glob("*.safetensors")))

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

    def test_a_window_of_any_size_says_what_a_wide_one_says(self):
        # T=16, N=16 at most: beyond that a side hides nothing, in the audit and in its diagnosis.
        path = project() / "fixtures/recordings/gqa_window.safetensors"
        said = []
        for side in ("1000", "9223372036854775807"):
            for window in (f"5,{side}", f"{side},5", f"{side},{side}"):
                flags = ["--head-map", "interleaved", f"--window={window}", path]
                out = self.run_program("audit", *flags, status=WRONG).stdout
                said.append(out.replace(side, "WIDE"))
        self.assertIn("head_map", said[0])
        self.assertEqual(said[:3], said[3:])

    def test_a_bias_of_many_bits_leaves_no_tie_open(self):
        # ALiBi at distances 2, 1 and 0 on the mask: scores -2^e - 2^-59, 0 and 0. The output is 1/2,
        # exactly 1/4 away from what is recorded.
        for exponent in (0, 60, 70, 80):
            path = self.folder / f"tie_{exponent}.safetensors"
            tensors = {
                "query": ([1, 1, 1, 1], [0]),
                "key": ([1, 1, 3, 1], [1, 1, 1]),
                "value": ([1, 1, 3, 1], [0.5, 0.25, 0.75]),
                "attn_mask": ([1, 1, 1, 3], [-(2.0**exponent), 2.0**-60, 0]),
                "alibi_slopes": ([1], [2.0**-60]),
                "output": ([1, 1, 1, 1], [0.75]),
            }
            safetensors_file.write(path, None, tensors)
            self.run_program("audit", "--atol", "1/4", "--rtol", 0, path, status=HOLDS)
            below = "1152921504606846975/4611686018427387904"  # 1/4 - 2^-62
            self.run_program("audit", "--atol", below, "--rtol", 0, path, status=WRONG)

    def test_rows_of_the_filter_are_asked_again_and_the_report_says_how_many(self):
        path = project() / "fixtures/recordings/gqa_prefill.safetensors"
        for flags, rows in (([], 4), (["--sample", 2], 2), (["--no-self-check"], 0), (["--no-filter"], 0)):
            case = self.run_json("audit", *flags, path, status=HOLDS)["cases"][0]
            self.assertEqual(case["self_check"], {"rows": rows, "contradictions": 0}, flags)

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

    def test_a_row_that_must_be_nan_is_told_so(self):
        # One query row that sees neither key.
        path = self.recording((0.0, float("nan")))
        metadata, tensors = safetensors_file.read(path)
        tensors["nonpad_kv_seqlen"] = ([1], [0], "I32")
        safetensors_file.write(path, metadata, tensors)
        result = self.run_program("audit", "--empty-row", "nan", path, status=WRONG)
        self.assertIn("batch 0, head 0, row 0, column 0: got 0, the contract demands NaN\n", result.stdout)
        self.assertNotIn("[nan, nan]", result.stdout)
        self.assertIn("scale 1/sqrt(2), empty rows nan, cache lengths\n", result.stdout)

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
            (["--head-map", "0,1"], "contract.head_map_length"),
            (["--scale", "0"], "contract.scale_not_positive"),
            (["--window", "1"], "contract.window"),
            (["--softcap=-1"], "contract.softcap_negative"),
            (["--contract", "{"], "json.syntax"),
            (["--contract", self.folder / "none.json"], "file.not_found"),
        ):
            result = self.run_program("audit", *flags, path, status=BAD_INPUT)
            self.assertIn(f"[{code}]", result.stdout + result.stderr, flags)

    def test_a_word_that_nothing_could_make_right_is_wrong_usage_and_told_once(self):
        path = self.recording()
        for flags, known in (
            (["--dialect", "nowhere"], "onnx, pytorch, flash-attention, jax"),
            (["--layout", "DBHS"], "BHSD, BSHD, SBHD, BSH, THD"),
            (["--empty-row", "none"], "zero, nan, any, mean"),
            (["--causal=sideways"], "top_left, bottom_right, onnx"),
            (["--model", "f99"], "f64, f32, bf16x3"),
        ):
            result = self.run_program("audit", *flags, path, path, status=USAGE)
            said = result.stdout + result.stderr
            word = flags[-1].split("=")[-1]
            self.assertEqual(said.count(f'"{word}" is not known; write one of {known}'), 1, said)
            self.assertNotIn(str(path), said)
        # Said in a file, it is that file's error.
        text = '{"dialect": "nowhere"}'
        self.run_program("audit", "--contract", text, path, status=BAD_INPUT)
