"""Every JSON output is as its schema says; the schemas refuse what is not; the docs link each."""

import copy
import json
import os
import unittest
from pathlib import Path

import schemas
import usage_files
from command_line import BAD_INPUT, HOLDS, UNDECIDED, WRONG, CommandLine, project, recordings


@unittest.skipIf(schemas.jsonschema is None, "no python3-jsonschema")
class Schemas(CommandLine):
    def setUp(self):
        super().setUp()
        self.seen = set()

    def see(self, *arguments, status):
        document = self.run_json(*arguments, status=status)
        self.seen.add(document["schema"])
        return document

    def check_file(self, path):
        document = json.loads(path.read_text())
        self.assertEqual(schemas.breaches(document), [], path)
        self.seen.add(document["schema"])

    def path(self, name):
        return self.folder / f"{name}.safetensors"

    def test_every_output_of_every_command(self):
        usage_files.write_files(self.folder)
        names = ("right", "tiled", "nan_key", "nan_output", "zeros", "one_wrong", "no_output")
        several = [self.path(name) for name in names]
        self.see("audit", "--causal", *several, status=BAD_INPUT)
        self.see("audit", "--causal", "--sample", 3, "--atol", "1/1000", self.path("right"), status=HOLDS)
        self.see("audit", *recordings(), "--head-map", "interleaved", "--max-ulp", 3, status=WRONG)
        self.see("identify", *several, status=BAD_INPUT)
        old = self.folder / "old.json"
        old.write_text(json.dumps(self.run_json("audit", "--causal", *several[:2], status=WRONG)))
        new = self.folder / "new.json"
        new.write_text(json.dumps(self.run_json("audit", "--causal", several[1], status=WRONG)))
        self.see("compare", old, new, status=WRONG)
        witness = self.folder / "witness.json"
        self.run_program("audit", "--causal", "--witness", witness, *several[:2], status=WRONG)
        self.check_file(witness)
        self.see("enumerate", "--max-heads", 3, status=HOLDS)
        self.see("verify", status=HOLDS)
        self.see("verify", self.folder / "odd.json", status=BAD_INPUT)
        certificates = self.folder / "certificates"
        self.see("claims", "--certificates", certificates, status=HOLDS)
        for path in sorted(certificates.iterdir()):
            self.check_file(path)
        self.see("check", *sorted(certificates.iterdir()), self.folder / "odd.json", status=BAD_INPUT)
        self.see("faults", status=HOLDS)
        probes = self.folder / "probes"
        self.run_program("probe", "write", probes, status=HOLDS)
        self.see("probe", "check", probes, status=UNDECIDED)
        self.see("probe", "check", probes, "--identify", status=UNDECIDED)
        group = ["--group-size", 8, "--positions", 12, "--value-size", 4]
        self.see("rank", *group, status=HOLDS)
        self.see("rank", "--causal", "--recording", self.path("right"), status=UNDECIDED)
        values = ["--values", "4,0;0,8", "--point"]
        self.see("attain", *values, "3,2", status=HOLDS)
        self.see("attain", *values, "9,2", status=WRONG)
        self.see("pool", "--smallest", 3, status=HOLDS)
        self.see("pool", self.path("right"), status=WRONG)
        model = ["--layers", 32, "--q-heads", 32, "--kv-heads", 8, "--head-size", 128, "--type", "float16"]
        self.see("ledger", *model, "--positions", 9, "--expect", "bytes_per_position=131072", status=HOLDS)
        if "GQAVERIFY_KERNELS_DIR" in os.environ:
            kernel = ["--kernel", Path(os.environ["GQAVERIFY_KERNELS_DIR"]) / "plain_kernel.so"]
            self.see("identify", *kernel, "--type", "binary32", status=HOLDS)
            self.see("audit", *kernel, "--type", "binary32", "--problems", 3, status=HOLDS)
        self.assertEqual(self.seen, set(schemas.validators()))

    def test_a_schema_refuses_what_is_missing_unknown_or_of_another_type(self):
        right = self.run_json("audit", *recordings()[:2], status=HOLDS)
        changes = {
            "a field is missing": lambda d: d["cases"][0].pop("tolerance"),
            "a summary has words": lambda d: d["summary"].update({"pass": "two"}),
            "a verdict is unknown": lambda d: d["cases"][0].update(verdict="fine"),
            "a field is unknown": lambda d: d["cases"][0].update(mood="good"),
            "a worst element has three axes": lambda d: d["cases"][0]["worst"][0]["index"].pop(),
            "a number is a text": lambda d: d["cases"][0]["worst"][0].update(allowed="much"),
            "nothing is left": lambda d: d.clear() or d.update(schema="gqaverify.audit/1"),
        }
        for name, change in changes.items():
            with self.subTest(name):
                wrong = copy.deepcopy(right)
                change(wrong)
                self.assertNotEqual(schemas.breaches(wrong), [])


class Documentation(CommandLine):
    def test_the_page_links_every_schema(self):
        page = (project() / "docs/json.md").read_text()
        paths = sorted(schemas.folder().glob("*.schema.json"))
        self.assertGreater(len(paths), 10)
        for path in paths:
            self.assertIn(f"](../verifier/schemas/{path.name})", page)


if __name__ == "__main__":
    unittest.main()
