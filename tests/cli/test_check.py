"""gqaverify check, run as a person would."""

import json
import resource
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

    def test_the_work_of_a_check_is_bounded(self):
        """Some 100 KB that ask for the signs of a long polynomial on many intervals; powers of large bases."""
        long = {"schema": "gqaverify.certificate/1", "kind": "unreachable_along_line", "point": ["1/3"],
                "values": [["1"], ["1"], ["0"]], "keys": [["0"], ["1024"], ["513"]], "direction": ["1"],
                "cofactors": [[str(10**60 + 7 * k) for k in range(1500)]],
                "breaks": [f"{k + 1}/7" for k in range(400)]}  # fmt: skip
        path = self.folder / "long.json"
        path.write_text(json.dumps(long))
        start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.assertIn("more work than it may", self.run_program(path, status=WRONG))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start, 40)
        powers = {"schema": "gqaverify.certificate/1", "kind": "counterexample", "identity": "mean_pooled_output",
                  "keys": [[["1000000"]], [["0"]]], "values": [[["1"]], [["0"]]], "head": 0,
                  "key_scale": "1", "left": ["1"], "right": ["1/2"]}  # fmt: skip
        for base in ("1e20000", "3e200"):
            path.write_text(json.dumps({**powers, "bases": [base]}))
            self.assertIn("verified", self.run_program(path, status=HOLDS))
        powers["keys"] = [[["1000000"], ["0"]], [["0"], ["0"]]]
        powers["values"] = [[["1"], ["0"]], [["0"], ["1"]]]
        path.write_text(json.dumps({**powers, "bases": ["1e20000"]}))
        self.assertIn("a power is too large", self.run_program(path, status=WRONG))

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
