"""gqaverify verify."""

import json

from command_line import BAD_INPUT, HOLDS, WRONG, CommandLine, project


class Verify(CommandLine):
    FIXTURES = property(lambda self: project() / "fixtures" / "exact")

    def test_shipped_fixtures(self):
        out = self.run_program("verify", status=HOLDS).stdout
        self.assertIn("168 of 168 fixtures right: verified", out)
        self.assertEqual(out.count("210 of 210 within"), 3)
        got = self.run_json("verify", status=HOLDS)
        self.assertEqual(got["summary"], {"pass": 168, "fail": 0, "verified": True})
        self.assertEqual(len(got["fixtures"]), 168)

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

    def test_fixtures_are_told_in_the_order_of_their_numbers(self):
        document = json.loads((self.FIXTURES / "two-queries-one-history.json").read_text())
        names = ["case-1", "case-2", "case-10", "case-10b", "case-20", "single"]
        for name in reversed(names):
            document["name"] = name
            (self.folder / f"{name}.json").write_text(json.dumps(document))
        got = self.run_json("verify", self.folder, status=HOLDS)
        self.assertEqual([entry["name"] for entry in got["fixtures"]], names)

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
        self.assertIn(f"{path}: value[0][0][0][0]", result.stdout)
        self.assertIn("[rational.zero_denominator]", result.stdout)

    def test_a_file_that_is_no_fixture_does_not_hide_the_others(self):
        good = project() / "fixtures/exact/two-queries-one-history.json"
        bad = self.folder / "bad.json"
        bad.write_text("{")
        missing = self.folder / "missing.json"
        result = self.run_program("verify", missing, bad, good, status=BAD_INPUT)
        self.assertIn("1 of 3 fixtures right: NOT VERIFIED", result.stdout)
        self.assertIn("[file.not_found]", result.stdout)
        self.assertIn("[json.syntax]", result.stdout)

    def test_values_beyond_a_format_are_not_compared_in_it(self):
        # One key gives its value, whatever it is. 1e310 is beyond binary64, 1e-320 below its normal
        # numbers; a long double must not be read through one.
        for digits, text in (("1" + "0" * 310, "1e310"), ("1/1" + "0" * 320, "1e-320")):
            path = self.folder / "one-key.json"
            path.write_text(json.dumps({
                "schema": "gqaverify.fixture/1", "name": "one-key",
                "statement": "One key gives its value.",
                "equal_scores": {"query_heads": 1, "queries": 1}, "value": [[[[text]]]],
                "expect": {"output": [[[[digits]]]]}}))
            report = self.run_json("verify", path, status=HOLDS)
            floats = report["fixtures"][0]["float"]
            self.assertEqual([f["format"] for f in floats if f.get("within")],
                             ["long double", "50-digit"] if text == "1e310" else
                             ["binary64", "long double", "50-digit"])

    def test_nothing_to_check_is_never_verified(self):
        self.run_program("verify", self.folder, status=BAD_INPUT)
        empty = self.folder / "empty.json"
        empty.write_text("")
        self.assertIn(str(empty), self.run_program("verify", empty, status=BAD_INPUT).stdout)
        missing = self.folder / "missing.json"
        self.assertIn(str(missing), self.run_program("verify", missing, status=BAD_INPUT).stderr)
