"""gqaverify identify on the example kernels; skipped where they were not built."""

import os
import unittest
from pathlib import Path

from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine


def kernel(name):
    return Path(os.environ["GQAVERIFY_KERNELS_DIR"]) / f"{name}_kernel.so"


@unittest.skipUnless("GQAVERIFY_KERNELS_DIR" in os.environ, "no kernels were built")
class Identify(CommandLine):
    def identify(self, *flags, name="faulty", status):
        flags = ["identify", "--kernel", kernel(name), "--type", "binary32", *flags]
        got = self.run_json(*flags, status=status)
        self.assertEqual(got["schema"], "gqaverify.identify/1")
        self.assertEqual(len(got["types"]), 1)
        return got["types"][0]

    def test_healthy_kernels_agree_with_every_rule(self):
        for name in ("plain", "online", "faulty"):
            got = self.identify(name=name, status=HOLDS)
            self.assertEqual({rule["agreement"] for rule in got["rules"]}, {"agrees"})
            self.assertEqual(got["summary"]["pass"], len(got["probes"]))
            self.assertEqual(got["diagnosis"]["status"], "none")

    def test_every_type_that_the_kernel_takes_by_default(self):
        got = self.run_json("identify", "--kernel", kernel("plain"), status=HOLDS)
        self.assertEqual([entry["element_type"] for entry in got["types"]],
                         ["binary64", "binary32", "binary16", "bfloat16"])

    def test_the_arithmetic_of_a_kernel_stands_beside_its_contract(self):
        options = "tile=32,keys=pairwise,splits=4,tree=1,stored=bf16,scale=query,accumulator=f32z"
        flags = ["identify", "--kernel", kernel("arithmetic"), "--type", "bfloat16"]
        flags += ["--kernel-options", options]
        got = self.run_json(*flags, status=HOLDS)["types"][0]["arithmetic"]
        self.assertEqual(got["reason"], "")
        self.assertEqual(got["query_rows"], [1, 64])
        read = {entry["entry"]: entry["values"] for entry in got["entries"]}
        self.assertEqual(read["sums over keys"], ["pairwise"])
        self.assertEqual(read["tile of keys"], ["32 keys"])
        self.assertEqual(read["splits of the keys"], ["4"])
        self.assertEqual(read["merge of the splits"], ["as a tree"])
        self.assertEqual(read["rounding over keys"], ["toward zero"])
        self.assertEqual(read["stored weights"], ["bfloat16"])
        self.assertEqual(read["place of the scale"], ["on q"])
        out = self.run_program(*flags, status=HOLDS).stdout
        self.assertRegex(out, r"\n  arithmetic +read off in \d+ calls of 1 and of 64 query rows\n")
        self.assertRegex(out, r"\n  stored weights +bfloat16\n")

    def test_no_arithmetic_is_read_of_a_kernel_that_is_wrong_without_any_rule(self):
        got = self.identify("--kernel-options", "scale.twice", status=WRONG)["arithmetic"]
        self.assertEqual(got["entries"], [])
        self.assertEqual(got["query_rows"], [])
        self.assertEqual(
            got["reason"],
            "it can be read only of a kernel that is right where no rule is stated: see probe "
            "head_map",
        )

    def test_the_tiled_head_map_is_found_and_named(self):
        got = self.identify("--kernel-options", "head_map.tiled", status=WRONG)
        wrong = {rule["rule"]: rule["found"] for rule in got["rules"] if rule["agreement"] == "differs"}
        self.assertEqual(wrong, {"head map of K": "tiled, h mod Hkv", "head map of V": "tiled, h mod Hkv"})
        self.assertEqual([entry["faults"] for entry in got["diagnosis"]["explanations"]], [["head_map.tiled"]])

    def test_two_faults_are_told_apart_in_words(self):
        flags = ["--type", "binary32", "--kernel-options", "window.one_wide,scale.twice"]
        out = self.run_program("identify", "--kernel", kernel("faulty"), *flags, status=WRONG).stdout
        self.assertIn("diagnosis, 2 faults together:", out)
        self.assertIn("window.one_wide: the window is one key too wide", out)
        self.assertIn("scale.twice: the scale is applied twice", out)
        self.assertRegex(out, r"! default scale at dk = 4 +0\.5 +0\.25\n")
        self.assertRegex(out, r"! window \(3, -1\), T = 1, S = 8 +4-7 +3-7\n")
        self.assertRegex(out, r"  head map of K +contiguous, .* the same\n")

    def test_a_kernel_that_crashes_is_a_finding_and_never_holds(self):
        flags = ["identify", "--kernel", kernel("misbehaving"), "--type", "binary32"]
        out = self.run_program(*flags, "--kernel-options", "abort 0", status=WRONG).stdout
        self.assertRegex(out, r"finding   head_map: .*signal 6")
        self.assertNotRegex(out, "the same")

    def test_what_cannot_be_run_is_refused_with_its_place(self):
        missing = self.folder / "none.so"
        result = self.run_program("identify", "--kernel", missing, status=BAD_INPUT)
        self.assertIn(str(missing), result.stderr)
        self.assertIn("[kernel.not_loadable]", result.stderr)
        flags = ["identify", "--kernel", kernel("faulty")]
        result = self.run_program(*flags, "--kernel-options", "no.such", status=BAD_INPUT)
        self.assertIn("[kernel.options_refused]", result.stderr)
        self.run_program(*flags, "--type", "int64", status=USAGE)
        self.run_program("identify", status=USAGE)
