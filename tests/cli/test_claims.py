"""gqaverify claims: the ledger of claims with verdicts and certificates."""

import json

from command_line import BAD_INPUT, HOLDS, UNDECIDED, CommandLine
from test_trained_model import trained_model_layers

LETTERS = [chr(ord("a") + k) for k in range(26)] + [2 * chr(ord("a") + k) for k in range(26)]
REFUTED = {"u", "w", "y", "z", "hh", "ii", "jj", "oo", "pp", "tt", "ww"}


class Claims(CommandLine):
    def test_every_claim_has_its_verdict(self):
        report = self.run_json("claims", status=HOLDS)
        self.assertEqual(report["schema"], "gqaverify.claims/1")
        self.assertEqual([claim["id"] for claim in report["claims"]], LETTERS)
        for claim in report["claims"]:
            if claim["id"] in REFUTED:
                self.assertEqual(claim["verdict"], "refuted", claim)
            else:
                self.assertEqual(claim["verdict"], "proved", claim)
            self.assertTrue(claim["certificates"], claim["id"])
            self.assertEqual(claim["failures"], [])
            self.assertTrue(claim["statement"] and claim["scope"] and claim["certificate"])

    def test_the_trained_model_settles_the_last(self):
        shipped = self.run_program("claims", "gg", status=HOLDS).stdout
        self.assertIn("20 of 20 groups", shipped)
        folder = trained_model_layers()[0].parent
        named = self.run_program("claims", "gg", "--trained-model", folder, status=HOLDS).stdout
        self.assertEqual(shipped, named)

    def test_a_folder_without_the_model_is_bad_input(self):
        for name in (), ("gg",):
            out = self.run_program("claims", *name, "--trained-model", self.folder, status=BAD_INPUT)
            self.assertIn("stories260K.bin", out.stderr)

    def test_another_model_leaves_the_claim_open(self):
        layers = trained_model_layers()
        (self.folder / "output_projections.safetensors").write_bytes(
            (layers[0].parent / "output_projections.safetensors").read_bytes())
        # Layer 0 in the place of each other: the groups are 20, and the ratios are not those.
        for layer in layers:
            (self.folder / layer.name).write_bytes(layers[0].read_bytes())
        found = self.run_json("claims", "gg", "--trained-model", self.folder, status=UNDECIDED)
        self.assertTrue(found["claims"][0]["failures"])

    def test_help_says_where_the_trained_model_is_looked_for_and_how_to_name_another(self):
        out = " ".join(self.run_program("claims", "--help", status=HOLDS).stdout.split())
        self.assertIn("--trained-model FOLDER", out)
        self.assertIn("default: the recordings shipped", out)

    def test_a_name_prints_the_argument_with_its_numbers(self):
        out = self.run_program("claims", "y", "u", status=HOLDS).stdout
        self.assertIn("sum q_i.K_i = 1, (sum q_i).mean K = 1/2", out)
        self.assertIn("has rank 5, not 8", out)
        self.assertIn("2,621,440", self.run_program("claims", "l", status=HOLDS).stdout)
        wrong = self.run_program("claims", "zzz", status=BAD_INPUT).stderr
        self.assertIn("claims.unknown", wrong)

    def test_the_counterexamples_are_certificates(self):
        target = self.folder / "found"
        self.run_program("claims", "u", "w", "y", "--certificates", target, status=HOLDS)
        files = sorted(target.iterdir())
        self.assertEqual(
            [file.name for file in files],
            ["claim-u-1.json", "claim-w-1.json", "claim-w-2.json", "claim-y-1.json",
             "claim-y-2.json", "claim-y-3.json"],
        )
        kinds = [json.loads(file.read_text())["kind"] for file in files]
        self.assertEqual(
            kinds, 3 * ["stacked_output_rank"] + ["counterexample"] + 2 * ["polynomial_identity"]
        )

    def test_the_checker_accepts_every_certificate(self):
        if "\n  check " not in self.run_program("--help", status=HOLDS).stdout:
            self.skipTest("this program has no checker")
        target = self.folder / "found"
        self.run_program("claims", "--certificates", target, status=HOLDS)
        files = sorted(target.iterdir())
        self.assertGreater(len(files), 20)
        self.run_program("check", *files, status=HOLDS)
