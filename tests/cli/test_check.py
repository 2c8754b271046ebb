"""gqaverify check, run as a person would."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from command_line import program

PROGRAM = program()
HOLDS, WRONG, BAD_INPUT, USAGE = 0, 1, 3, 64


class Check(unittest.TestCase):
    POINT = {
        "schema": "gqaverify.certificate/1", "kind": "attainable_point",
        "values": [["4", "0"], ["0", "8"]], "point": ["3", "2"], "weights": ["3/4", "1/4"],
    }  # fmt: skip

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gqa-check-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def certificate(self, name, **changes):
        path = self.folder / name
        path.write_text(json.dumps({**self.POINT, **changes}))
        return path

    def run_program(self, *arguments, status):
        words = [str(PROGRAM), "check", *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        shown = f"{words}\nstdout: {result.stdout}\nstderr: {result.stderr}"
        self.assertEqual(result.returncode, status, shown)
        return result.stdout

    def test_a_valid_certificate(self):
        path = self.certificate("good.json")
        out = self.run_program(path, status=HOLDS)
        self.assertIn("verified attainable_point: (3, 2) is attainable", out)
        self.assertIn("1 of 1 certificates: verified", out)

    def test_one_rejected_certificate_among_good_ones(self):
        good = self.certificate("good.json")
        bad = self.certificate("bad.json", weights=["1/2", "1/2"])
        out = self.run_program(good, bad, good, status=WRONG)
        self.assertIn(f"{bad}: rejected attainable_point: the weights do not reach the point", out)
        self.assertIn("2 of 3 certificates: NOT VERIFIED", out)
        got = json.loads(self.run_program(good, bad, "--json", "-", status=WRONG))
        self.assertEqual(got["schema"], "gqaverify.check/1")
        self.assertEqual([c["verdict"] for c in got["certificates"]], ["verified", "rejected"])
        self.assertEqual(got["summary"], {"certificates": 2, "verified": 1})

    def test_a_file_that_is_no_certificate_is_named_and_the_others_are_checked(self):
        good = self.certificate("good.json")
        other = self.certificate("other.json", kind="something")
        out = self.run_program(other, self.folder / "missing.json", good, status=BAD_INPUT)
        self.assertIn(f"error: {other}: kind", out)
        self.assertIn("[certificate.unknown_kind]", out)
        self.assertIn("[file.not_found]", out)
        self.assertIn("1 of 3 certificates: NOT VERIFIED", out)

    def test_nothing_to_check_is_wrong_usage(self):
        self.run_program(status=USAGE)
