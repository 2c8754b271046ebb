"""gqaverify compare: two reports of the same audits."""

import copy
import json

from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine, recordings


class Compare(CommandLine):
    def setUp(self):
        super().setUp()
        self.report = self.run_json("audit", *recordings(), status=HOLDS)

    def written(self, name, report):
        path = self.folder / name
        path.write_text(json.dumps(report))
        return path

    def compared(self, change, status):
        changed = copy.deepcopy(self.report)
        change(changed["cases"])
        words = [self.written("old.json", self.report), self.written("new.json", changed)]
        out = self.run_program("compare", *words, status=status).stdout
        return out, self.run_json("compare", *words, status=status)

    def test_the_same_report_has_no_regression(self):
        out, report = self.compared(lambda cases: None, HOLDS)
        self.assertEqual(out, "5 of 5 cases as before: no regression\n")
        self.assertEqual(report["summary"], {"cases": 5, "same": 5, "regression": False})

    def test_another_folder_is_the_same_case(self):
        def move(cases):
            for case in cases:
                case["path"] = "/elsewhere/" + case["path"].rpartition("/")[2]

        self.compared(move, HOLDS)

    def test_what_failed_now_is_named_with_its_fault(self):
        def fail(cases):
            cases[1]["verdict"] = cases[1]["outputs"][0]["verdict"] = "fail"
            cases[1]["diagnosis"]["explanations"] = [{"faults": ["head_map.tiled"]}]

        out, report = self.compared(fail, WRONG)
        self.assertIn(": pass -> fail (head_map.tiled)\n", out)
        self.assertIn(": output: pass -> fail\n", out)
        self.assertIn("4 of 5 cases as before: REGRESSED\n", out)
        self.assertEqual([c["change"] for c in report["changes"]], ["worse", "worse"])

    def test_what_is_better_is_told_and_no_regression(self):
        changed = copy.deepcopy(self.report)
        changed["cases"][0]["verdict"] = "undecided"
        words = [self.written("old.json", changed), self.written("new.json", self.report)]
        out = self.run_program("compare", *words, status=HOLDS).stdout
        self.assertIn("undecided -> pass", out)

    def test_a_share_that_grows_counts_from_the_stated_growth_on(self):
        def grow(cases):
            cases[0]["outputs"][0]["largest_share"] += 0.2

        out, report = self.compared(grow, WRONG)
        self.assertRegex(out, r"larger .*: output: \d+ % of what is allowed, \d+ % before")
        self.assertEqual(report["changes"][0]["change"], "larger")
        words = [self.folder / "old.json", self.folder / "new.json"]
        self.run_program("compare", *words, "--share-growth", "0.25", status=HOLDS)
        self.run_program("compare", *words, "--share-growth", "nan", status=USAGE)

    def test_cases_that_are_gone_and_new_ones_that_fail_are_regressions(self):
        out, _ = self.compared(lambda cases: cases.pop(2), WRONG)
        self.assertRegex(out, r"missing +\S+: pass before\n")

        def add(cases, verdict):
            cases.append(copy.deepcopy(cases[0]))
            folder = cases[0]["path"].rpartition("/")[0]
            cases[-1] |= {"path": f"{folder}/new.safetensors", "verdict": verdict}

        self.compared(lambda cases: add(cases, "pass"), HOLDS)
        out, _ = self.compared(lambda cases: add(cases, "undecided"), WRONG)
        self.assertRegex(out, r"added +new.safetensors: undecided\n")

    def test_other_documents_are_refused_by_field(self):
        good = self.written("good.json", self.report)
        for content, message in (
            ({"schema": "gqaverify.claims/1"}, "is no report of gqaverify audit --json"),
            ([], "expected an object"),
            ({"schema": "gqaverify.audit/1"}, "cases"),
            ({"schema": "gqaverify.audit/1", "cases": [{"path": 1}]}, "case 0: path"),
            ({"schema": "gqaverify.audit/1", "cases": [{"path": "a"}]}, "case 0: verdict"),
            ({"schema": "gqaverify.audit/1", "cases": [{"path": "a", "verdict": "pass"}] * 2},
             "has two cases a"),
        ):
            bad = self.written("bad.json", content)
            for words in ([good, bad], [bad, good]):
                err = self.run_program("compare", *words, status=BAD_INPUT).stderr
                self.assertIn(str(bad), err)
                self.assertIn(message, err)
