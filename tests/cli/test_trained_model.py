"""Recorded layers of a trained model."""

from command_line import HOLDS, WRONG, CommandLine, project


def trained_model_layers():
    """The recorded layers that are shipped."""
    return sorted((project() / "fixtures/recordings/stories260K").glob("layer*.safetensors"))


class TrainedModel(CommandLine):
    def setUp(self):
        super().setUp()
        self.layers = trained_model_layers()
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
