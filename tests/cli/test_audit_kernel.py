"""gqaverify audit --kernel on recorded inputs; skipped where no kernels were built."""

import os
import unittest
from pathlib import Path

import safetensors_file
from command_line import BAD_INPUT, HOLDS, CommandLine, recordings


@unittest.skipUnless("GQAVERIFY_KERNELS_DIR" in os.environ, "no kernels were built")
class AuditKernel(CommandLine):
    KERNEL = ["--kernel", Path(os.environ.get("GQAVERIFY_KERNELS_DIR", "")) / "plain_kernel.so"]

    def test_one_bad_recording_is_one_case_and_the_rest_goes_on(self):
        good = recordings()[0]
        metadata, tensors = safetensors_file.read(good)
        without_query = self.folder / "without_query.safetensors"
        safetensors_file.write(
            without_query, metadata, {n: t for n, t in tensors.items() if n != "query"}
        )
        truncated = self.folder / "truncated.safetensors"
        truncated.write_bytes(good.read_bytes()[:-1])
        missing = self.folder / "missing.safetensors"
        paths = [without_query, truncated, missing, good]
        got = self.run_json("audit", *self.KERNEL, *paths, status=BAD_INPUT)
        verdicts = [case["verdict"] for case in got["cases"]]
        self.assertEqual(verdicts, ["error", "error", "error", "pass"])
        codes = [case["code"] for case in got["cases"][:3]]
        self.assertEqual(codes, ["contract.missing_tensor", "safetensors.truncated", "file.not_found"])
        self.assertIn("query", got["cases"][0]["message"])
        # In a folder, too.
        (self.folder / good.name).write_bytes(good.read_bytes())
        out = self.run_program("audit", *self.KERNEL, self.folder, status=BAD_INPUT).stdout
        self.assertIn("1 of 3 passed, 2 could not be read", out)
        self.run_program("audit", *self.KERNEL, good, status=HOLDS)
