"""The command line itself, and where results are written."""

import json
import os
import subprocess

from command_line import BAD_INPUT, HOLDS, USAGE, CommandLine, program


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
            words = [str(program()), "enumerate", "--max-heads", "1"]
            result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, BAD_INPUT)
