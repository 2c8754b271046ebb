"""Every message of usages.txt is printed, helps, and stands in docs/messages.md as it is printed.

GQAVERIFY_WRITE_MESSAGES=1 writes that page anew.
"""

import os
import re
import shlex
import subprocess
import unittest
from pathlib import Path

import usage_files
from command_line import CommandLine, program, project

INTRODUCTION = """\
# Messages

What the program says to command lines and files that are wrong or unlucky, and what to do next. Each is
run by the tests (`tests/cli/test_messages.py`), which write this page with
`GQAVERIFY_WRITE_MESSAGES=1` and compare it otherwise. The status is that of [every
command](../README.md#audit-your-own-kernel): 64 for a wrong command line, 3 for input that cannot be used.
"""


def read_usages():
    """[(heading, command line, status, pattern, what to do next)]"""
    heading, entries, entry = "", [], {}
    for line in (Path(__file__).parent / "usages.txt").read_text().splitlines()[2:]:
        mark, text = line[0], line[2:]
        if mark == "#":
            heading = text
            continue
        entry[mark] = text
        if mark == ">":
            entries.append((heading, entry["$"], int(entry["="]), re.compile(entry["~"]), text))
            entry = {}
    return entries


class Messages(CommandLine):
    maxDiff = None

    def printed(self, line, status):
        """What a command line prints, all of it."""
        words = shlex.split(line)
        self.assertEqual(words[0], "gqaverify")
        words[0] = str(program())
        result = subprocess.run(
            words, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )
        text = result.stdout + result.stderr
        self.assertEqual(result.returncode, status, f"{line}\n{text}")
        return text.replace(str(self.folder.resolve()), "...").replace(str(self.folder), "...")

    def test_every_message_helps_and_the_page_has_it(self):
        usages = read_usages()
        self.assertGreaterEqual(len(usages), 80)
        self.assertEqual(len({line for _, line, *_ in usages}), len(usages))
        usage_files.write_files(self.folder)
        page, last = INTRODUCTION, ""
        for heading, line, status, pattern, next_step in usages:
            with self.subTest(line):
                said = [text for text in self.printed(line, status).splitlines() if pattern.search(text)]
                self.assertTrue(said, f"{line}\n{self.printed(line, status)}")
                if heading != last:
                    page += f"\n## {heading}\n\n| command line | status | it says | next |\n|---|---|---|---|\n"
                    last = heading
                cells = (f"`{line}`", str(status), f"`{said[0].strip()}`", next_step)
                page += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
        target = project() / "docs/messages.md"
        if os.environ.get("GQAVERIFY_WRITE_MESSAGES"):
            target.write_text(page)
        self.assertEqual(target.read_text(), page)


if __name__ == "__main__":
    unittest.main()
