"""gqaverify rank: generic ranks, and the ranks of recorded groups."""

import struct

from command_line import BAD_INPUT, HOLDS, UNDECIDED, USAGE, CommandLine, recordings
from test_trained_model import trained_model_layers


class Rank(CommandLine):
    def ranks(self, *arguments, status=HOLDS):
        report = self.run_json("rank", *arguments, status=status)
        self.assertEqual(report["schema"], "gqaverify.rank/1")
        for rank in report["ranks"]:
            proved = rank["lower"] == rank["upper"]
            self.assertEqual(rank["verdict"], "proved" if proved else "undecided")
        return {rank["quantity"]: (rank["lower"], rank["upper"]) for rank in report["ranks"]}

    def test_the_three_numbers_of_eight_heads_of_sixteen(self):
        group = ["--group-size", 8, "--positions", 128, "--value-size", 16]
        ranks = self.ranks(*group)
        self.assertEqual(ranks["values, shared"], (16, 16))
        self.assertEqual(ranks["values, one history per head"], (128, 128))
        self.assertEqual(ranks["stacked output, shared values"], (128, 128))
        self.assertEqual(ranks["stacked output, one history per head"], (128, 128))
        tied = self.ranks(*group, "--tied")
        self.assertEqual(tied["stacked output, shared values"], (16, 16))
        for flags in (["--causal"], ["--window", 4], ["--softmax-reachable", "--key-size", 2]):
            ranks = self.ranks(*group, *flags)
            self.assertEqual(ranks["stacked output, shared values"], (128, 128), flags)

    def test_a_constant_column_leaves_five(self):
        group = ["--group-size", 4, "--positions", 12, "--value-size", 2]
        ranks = self.ranks(*group, "--constant-column")
        self.assertEqual(ranks["stacked output, shared values"], (5, 5))
        self.assertEqual(self.ranks(*group)["stacked output, shared values"], (8, 8))

    def test_the_sum_is_bounded_by_the_model(self):
        ranks = self.ranks("--group-size", 4, "--positions", 64, "--value-size", 8,
                           "--model-size", 20)
        self.assertEqual(ranks["summed output, shared values"], (20, 20))

    def test_text_says_proved_and_what_is_not(self):
        group = ["rank", "--group-size", 4, "--positions", 40, "--value-size", 5]
        self.assertIn("proved", self.run_program(*group, status=HOLDS).stdout)
        out = self.run_program(*group, "--window", 1, status=UNDECIDED).stdout
        self.assertIn("not decided", out)
        self.assertNotIn(": proved", out)

    def test_wrong_usage_and_bad_sizes(self):
        self.run_program("rank", status=USAGE)
        self.run_program("rank", "--group-size", 8, "--positions", 12, status=USAGE)
        self.run_program("rank", "--recording", "x.npz", "--tied", status=USAGE)
        sizes = ["rank", "--group-size", 0, "--positions", 12, "--value-size", 2]
        self.assertIn("rank.extent", self.run_program(*sizes, status=BAD_INPUT).stderr)
        sizes[2] = 2
        for flag, code in (("--key-size", "rank.extent"), ("--window", "rank.window")):
            self.assertIn(code, self.run_program(*sizes, flag, 0, status=BAD_INPUT).stderr)

    def test_recordings_with_a_wrong_window_or_contract_are_refused(self):
        path = recordings()[0]
        for flags, code in ((["--window", 0], "rank.window"),
                            (["--contract", '{"causual": true}'], "contract.unknown_field")):
            out = self.run_program("rank", *flags, "--recording", path, status=BAD_INPUT)
            self.assertIn(code, out.stderr)


class RecordedRanks(CommandLine):
    def setUp(self):
        super().setUp()
        self.layers = trained_model_layers()

    def groups(self, *flags):
        report = self.run_json("rank", "--causal", *flags, "--recording", *self.layers,
                               status=HOLDS)
        return [group for layer in report["recordings"] for group in layer["groups"]]

    def test_all_groups_of_the_trained_model_have_full_rank(self):
        checkpoint = self.layers[0].parent / "output_projections.safetensors"
        groups = self.groups("--checkpoint", checkpoint)
        self.assertEqual(len(groups), 20)
        for group in groups:
            self.assertEqual((group["rank"], group["recorded_rank"]), (16, 16))
            self.assertTrue(group["certified"])
        # Measured in binary64, with NumPy, as 3.0 to 6.7 and 1.8 to 3.9.
        ratios = [float(group["participation_ratio"]["digits"]) for group in groups]
        self.assertTrue(2.9 < min(ratios) < 3.05 and 6.65 < max(ratios) < 6.7, ratios)
        ranks = [float(group["stable_rank"]["digits"]) for group in groups]
        self.assertTrue(1.8 < min(ranks) < 1.85 and 3.9 < max(ranks) < 3.95, ranks)

    def test_without_the_projection_full_rank_too(self):
        self.assertEqual([group["rank"] for group in self.groups()], [16] * 20)

    def test_a_checkpoint_of_other_sizes_is_refused(self):
        path = self.folder / "short.bin"  # as stories260K.bin begins
        path.write_bytes(struct.pack("<7i", 64, 172, 5, 8, 4, 512, 512) + bytes(1000))
        out = self.run_program("rank", "--checkpoint", path, "--recording", *self.layers,
                               status=BAD_INPUT).stderr
        self.assertIn("checkpoint.size", out)
