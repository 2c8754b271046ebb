"""The program as the command-line tests run it: arguments in, text, JSON and status out.

$GQAVERIFY_PROGRAM and $GQAVERIFY_PROJECT name the program and the project's folder; cli_test.py
sets them.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HOLDS, WRONG, UNDECIDED, BAD_INPUT, USAGE = 0, 1, 2, 3, 64
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x1b]")


def program():
    return Path(os.environ["GQAVERIFY_PROGRAM"])


def project():
    return Path(os.environ["GQAVERIFY_PROJECT"])


def recordings():
    """The recorded kernel's five problems."""
    return sorted((project() / "fixtures/recordings").glob("*.safetensors"))


def without_times(junit_file):
    """A JUnit report but for how long each test took."""
    return re.sub(r' time="[0-9.]+"', "", junit_file.read_text())


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gqa-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, status):
        """Runs, checks the exit status and that a pipe gets plain text; returns the result."""
        words = [str(program()), *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        shown = f"{words}\nstdout: {result.stdout[-3000:]}\nstderr: {result.stderr[-3000:]}"
        self.assertEqual(result.returncode, status, shown)
        self.assertIsNone(CONTROL.search(result.stdout), shown)
        self.assertIsNone(CONTROL.search(result.stderr), shown)
        return result

    def run_json(self, *arguments, status):
        """Runs with --json -: the output must be one JSON value, as its schema says, and nothing else."""
        import schemas  # which needs this module

        result = self.run_program(*arguments, "--json", "-", status=status)
        self.assertTrue(result.stdout.startswith("{") and result.stdout.endswith("}\n"))
        document = json.loads(result.stdout)
        self.assertEqual(schemas.breaches(document), [], arguments)
        return document
