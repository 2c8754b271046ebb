"""gqaverify faults: the names that a report can print, and their page in docs/."""

import re
import unittest

from command_line import BAD_INPUT, CommandLine, HOLDS, project

# A kind of fault where it is defined, alone or in a table: FaultKind{"scale.twice", ...}.
DEFINITION = re.compile(r'\bFaultKind\b\s*\w*\s*\{\s*"([a-z_0-9]+\.[a-z_0-9]+)"')
# What documents give as a name: `scale.twice`, `scale.output (36.9)`.
WRITTEN = re.compile(r"`([a-z_0-9]+\.[a-z_0-9]+)(?: \([^`]*\))?`")
FILES = (".py", ".md", ".hpp", ".cpp")


class Faults(CommandLine):
    def entries(self, *names):
        return self.run_json("faults", *names, status=HOLDS)["faults"]

    def test_every_name_that_the_code_can_print_has_an_entry(self):
        sources = sorted((project() / "src/gqa").rglob("*.cpp"))
        defined = {name for source in sources
                   for name in DEFINITION.findall(source.read_text(encoding="utf-8"))}
        self.assertIn("head_map.other", defined)
        self.assertIn("gradient.not_summed", defined)
        self.assertEqual({entry["name"] for entry in self.entries()}, defined)
        # No kind is made where the pattern does not see it.
        made = sum(len(re.findall(r"\bFaultKind\b\s*\w*\s*\{", source.read_text(encoding="utf-8")))
                   for source in sources)
        self.assertEqual(made, len(defined))

    def test_every_name_that_documents_give_has_an_entry(self):
        known = {entry["name"]: entry["family"] for entry in self.entries()}
        pages = [project() / "README.md", project() / "CHANGELOG.md",
                 *sorted((project() / "docs").glob("*.md"))]
        for page in pages:
            for name in WRITTEN.findall(page.read_text(encoding="utf-8")):
                if name.split(".")[0] in known.values() and not name.endswith(FILES):
                    self.assertIn(name, known, f"{page.name} gives `{name}`")

    def test_the_list_has_a_line_for_each_and_a_family_gives_all_of_its_own(self):
        listed = self.run_program("faults", status=HOLDS).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed],
                         [entry["name"] for entry in self.entries()])
        family = self.run_program("faults", "softcap", status=HOLDS).stdout
        self.assertIn("softcap.after_mask\n", family)
        self.assertNotIn("head_map", family)

    def test_a_name_read_off_the_data_says_what_is_in_parentheses(self):
        text = self.run_program("faults", "head_map.other", status=HOLDS).stdout
        self.assertIn("in parentheses: the KV head of each query head", text)
        (entry,) = self.entries("gradient.not_summed")
        self.assertTrue(entry["measured"])
        self.assertNotIn("example", entry)

    def test_a_part_of_a_name_finds_it(self):
        names = [entry["name"] for entry in self.entries("tiled")]
        self.assertIn("head_map.tiled", names)
        self.assertTrue(all("tiled" in name for name in names), names)
        # A family is not searched for as a part of others.
        self.assertTrue(all(entry["family"] == "scale" for entry in self.entries("scale")))

    def test_a_name_that_is_none_is_bad_input_with_the_nearest(self):
        result = self.run_program("faults", "head_map.tilde", status=BAD_INPUT)
        self.assertIn("head_map.tilde: no fault and no family has that name; "
                      "did you mean head_map.tiled", result.stderr)
        result = self.run_program("faults", "softmx", status=BAD_INPUT)
        self.assertIn("did you mean softmax?", result.stderr)
        result = self.run_program("faults", "kangaroo", status=BAD_INPUT)
        self.assertIn('"gqaverify faults" lists all', result.stderr)
        self.assertNotIn("did you mean", result.stderr)

    def test_the_page_in_docs_is_up_to_date(self):
        made = self.folder / "faults.md"
        self.run_program("faults", "--markdown", made, status=HOLDS)
        kept = project() / "docs/faults.md"
        self.assertEqual(made.read_text(encoding="utf-8"), kept.read_text(encoding="utf-8"),
                         "gqaverify faults --markdown docs/faults.md makes it anew")


if __name__ == "__main__":
    unittest.main()
