"""What the README shows of the main job and of a first audit is what the program prints."""

import re
import shutil
import sys

from command_line import CommandLine, HOLDS, WRONG, project

sys.path.insert(0, str(project() / "tests/docs"))
from docs_test import blocks, commands, pattern_of  # noqa: E402


class Readme(CommandLine):
    def shown(self, start):
        """The commands, and what they print, of the console block that starts so."""
        text = (project() / "README.md").read_text(encoding="utf-8")
        for language, _, _, lines in blocks(text):
            if language == "console" and lines[0].startswith(start):
                return commands(lines)
        self.fail(f"README.md has no console block that starts with {start!r}")

    def test_the_main_job(self):
        recordings = sorted((project() / "fixtures/recordings").glob("*.safetensors"))
        layers = sorted((project() / "fixtures/recordings/stories260K").glob("layer*.safetensors"))
        printed = ""
        for job in (["enumerate"], ["verify"], ["audit", *recordings],
                    ["audit", "--causal", *layers]):
            printed += self.run_program(*job, status=HOLDS).stdout
        printed = printed.replace(f"{project()}/", "")
        (_, expected), *_ = self.shown("$ verifier/run.sh")
        expected = [line for line in expected if line.strip()]
        self.assertTrue(re.fullmatch(pattern_of([*expected, "..."]), printed), printed)

    def test_the_first_audit(self):
        name = "layer0.safetensors"
        shutil.copy(project() / "fixtures/recordings/stories260K" / name, self.folder)
        right, wrong = self.shown(f"$ gqaverify audit {name} --causal")
        for (command, expected), status in ((right, HOLDS), (wrong, WRONG)):
            words = command.split()[1:]
            printed = self.run_program(
                *(self.folder / word if word == name else word for word in words), status=status).stdout
            printed = printed.replace(f"{self.folder}/", "")
            expected = [line for line in expected if line.strip()]
            self.assertTrue(re.fullmatch(pattern_of([*expected, "..."]), printed), printed)
