"""gqaverify attain, run as a person would; its certificates go through gqaverify check."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from command_line import program

PROGRAM = program()
HOLDS, WRONG, UNDECIDED, BAD_INPUT, USAGE = 0, 1, 2, 3, 64


class Attain(unittest.TestCase):
    SEGMENT = ["--values", "4,0;0,8"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gqa-attain-")
        self.addCleanup(folder.cleanup)
        self.certificate = Path(folder.name) / "certificate.json"

    def run_program(self, *arguments, status):
        words = [str(PROGRAM), *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        shown = f"{words}\nstdout: {result.stdout}\nstderr: {result.stderr}"
        self.assertEqual(result.returncode, status, shown)
        return result

    def attain(self, *arguments, status, kind):
        """Runs, and has the certificate checked by the other command."""
        out = self.run_program("attain", *arguments, "--certificate", self.certificate, status=status)
        checked = self.run_program("check", self.certificate, status=HOLDS).stdout
        self.assertIn(f"verified {kind}:", checked)
        return out.stdout

    def test_inside_and_at_the_end_of_a_segment(self):
        out = self.attain(*self.SEGMENT, "--point", "3,2", status=HOLDS, kind="attainable_point")
        self.assertIn("(3, 2) is reachable by finite scores", out)
        self.assertIn("weights (3/4, 1/4)", out)
        out = self.attain(*self.SEGMENT, "--point", "4,0", status=WRONG, kind="separating_hyperplane")
        self.assertIn("(4, 0) is unreachable", out)

    def test_with_keys(self):
        keys = ["--keys", "1,5;1,5"]
        self.attain(*self.SEGMENT, *keys, "--point", "2,4", status=HOLDS, kind="reachable_with_keys")
        self.attain(*self.SEGMENT, *keys, "--point", "3,2", status=WRONG, kind="unreachable_with_keys")
        self.attain("--values", "0;5;0", "--keys", "0;1;2", "--point", "1", status=HOLDS,
                    kind="reachable_between_weights")  # fmt: skip
        out = self.run_program("attain", "--values", "0;5;0", "--keys", "0;1;2", "--point", "1",
                               status=HOLDS).stdout  # fmt: skip
        self.assertIn("is at most 1 for the former and at least 1 for the latter", out)
        self.assertNotIn("not here", out)
        self.attain("--values", "0;1;2", "--keys", "1;1;1", "--point", "3/2", status=WRONG,
                    kind="unreachable_along_line")  # fmt: skip
        self.attain("--values", "0;1;0", "--keys", "0;1;2", "--point", "1/2", status=WRONG,
                    kind="unreachable_along_line")  # fmt: skip
        self.attain("--values", "0;1;2;3", "--keys", "0;1;2;3", "--point", "1", status=HOLDS,
                    kind="reachable_by_moments")  # fmt: skip
        self.attain("--values", "0;5;0;0", "--keys", "0;1;2;5", "--point", "1", status=HOLDS,
                    kind="reachable_along_direction")  # fmt: skip
        # Exponents beyond the stated limit.
        out = self.run_program("attain", "--values", "0,0;7,0;0,7", "--keys", "0;1;3000017", "--point",
                               "2,2", "--certificate", self.certificate, status=UNDECIDED)  # fmt: skip
        self.assertIn("undecided", out.stdout)

    def test_a_question_in_a_file_and_its_json(self):
        path = self.certificate.parent / "question.json"
        path.write_text('{"values": [[4, 0], ["0", 8]], "point": ["3", 2]}')
        got = json.loads(self.run_program("attain", path, "--json", "-", status=HOLDS).stdout)
        self.assertEqual((got["schema"], got["verdict"]), ("gqaverify.attain/1", "reachable"))
        self.assertEqual(got["certificate"]["weights"], ["3/4", "1/4"])
        path.write_text('{"values": [[4, 0], [0]], "point": [3, 2]}')
        error = self.run_program("attain", path, status=BAD_INPUT).stderr
        self.assertIn(f"{path}: values[1]", error)
        path.write_text('{"values": [[4, 0]], "points": [3, 2]}')
        self.assertIn("[fixture.unknown_field]", self.run_program("attain", path, status=BAD_INPUT).stderr)

    def test_wrong_usage(self):
        self.run_program("attain", status=USAGE)
        self.run_program("attain", *self.SEGMENT, status=USAGE)
        self.run_program("attain", *self.SEGMENT, "--point", "1", status=BAD_INPUT)
