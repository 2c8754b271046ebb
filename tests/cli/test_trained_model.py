"""Recorded layers of a trained model, where they are at hand."""

import os
from pathlib import Path

from command_line import HOLDS, WRONG, CommandLine, project


def trained_model_layers():
    """The five recorded layers: under $GQAVERIFY_DATA, or in shared/data beside the project."""
    for place in filter(None, (os.environ.get("GQAVERIFY_DATA"), project().parent / "shared/data")):
        layers = sorted(Path(place, "llama2c-stories260k").glob("layer*.safetensors"))
        if layers:
            return layers
    return []


class TrainedModel(CommandLine):
    def setUp(self):
        super().setUp()
        self.layers = trained_model_layers()
        if not self.layers:
            print("skipped: no data")
            self.skipTest("no data")
        self.assertEqual(len(self.layers), 5)

    def test_all_layers_pass_causally(self):
        out = self.run_program("audit", "--causal", *self.layers, status=HOLDS).stdout
        self.assertIn("5 of 5 passed", out)
        contract = self.folder / "contract.json"
        contract.write_text('{"causal": true}')
        out = self.run_program("audit", "--contract", contract, *self.layers, status=HOLDS).stdout
        self.assertIn("5 of 5 passed", out)

    def test_all_layers_fail_under_another_contract(self):
        for flags in (["--causal", "--head-map", "interleaved"], []):
            out = self.run_program("audit", *flags, *self.layers, status=WRONG).stdout
            self.assertIn("0 of 5 passed, 5 failed", out)
