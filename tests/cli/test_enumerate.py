"""gqaverify enumerate."""

from command_line import HOLDS, USAGE, CommandLine


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
            result = self.run_program("enumerate", "--max-heads", maximum, status=USAGE)
            self.assertIn("is not an integer from 1 to 512", result.stderr)
            self.assertEqual(result.stdout, "")
        self.run_program("enumerate", "--max-heads", "many", status=USAGE)
        self.run_program("enumerate", "--engine", "python", status=USAGE)
        self.run_program("enumerate", "--threads", -1, status=USAGE)
