"""gqaverify faults: the catalogue, and its page in docs/."""

import unittest

from command_line import BAD_INPUT, CommandLine, HOLDS, project


class Faults(CommandLine):
    def test_the_list_has_a_line_for_each_fault_and_a_family_gives_all_of_its_own(self):
        listed = self.run_program("faults", status=HOLDS).stdout.splitlines()
        self.assertGreaterEqual(len(listed), 67)
        self.assertTrue(any(line.startswith("head_map.tiled ") for line in listed))
        family = self.run_program("faults", "softcap", status=HOLDS).stdout
        self.assertIn("softcap.after_mask (catalogue", family)
        self.assertNotIn("head_map", family)

    def test_a_name_that_is_none_is_bad_input(self):
        result = self.run_program("faults", "head_map.tilde", status=BAD_INPUT)
        self.assertIn("head_map.tilde: no fault and no family has that name", result.stderr)

    def test_the_page_in_docs_is_up_to_date(self):
        made = self.folder / "faults.md"
        self.run_program("faults", "--markdown", made, status=HOLDS)
        kept = project() / "docs/faults.md"
        self.assertEqual(made.read_text(encoding="utf-8"), kept.read_text(encoding="utf-8"),
                         "gqaverify faults --markdown docs/faults.md makes it anew")


if __name__ == "__main__":
    unittest.main()
