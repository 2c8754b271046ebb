"""What a person sees while and after the program works: colour, progress, -q, -v, Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import safetensors_file
import usage_files
from command_line import HOLDS, UNDECIDED, USAGE, WRONG, CommandLine, program

GREEN_PASS = "\x1b[1;32mpass\x1b[0m"
RED_FAIL = "\x1b[1;31mfail\x1b[0m"


def wide_problem(rows, keys, size):
    """A recording that takes a while: one head, values that wander."""
    numbers = [((i * 7919) % 1009) / 1009 - 0.5 for i in range((rows + 2 * keys) * size)]
    query, key, value = (numbers[: rows * size], numbers[rows * size : (rows + keys) * size],
                         numbers[(rows + keys) * size :])
    return {
        "query": ([1, 1, rows, size], query),
        "key": ([1, 1, keys, size], key),
        "value": ([1, 1, keys, size], value),
        "output": ([1, 1, rows, size], query),
    }


class Console(CommandLine):
    def setUp(self):
        super().setUp()
        usage_files.write_files(self.folder)

    def path(self, name):
        return self.folder / f"{name}.safetensors"

    def on_terminal(self, *arguments, stream, environment=None):
        """What the program writes to a terminal as standard output (1) or standard error (2)."""
        ours, theirs = pty.openpty()
        streams = {1: subprocess.DEVNULL, 2: subprocess.DEVNULL} | {stream: theirs}
        process = subprocess.Popen(
            [str(program()), *map(str, arguments)], stdout=streams[1], stderr=streams[2],
            env=os.environ | {"TERM": "xterm"} | (environment or {}),
        )
        os.close(theirs)
        written = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not chunk:
                break
            written += chunk
        os.close(ours)
        process.wait(timeout=120)
        return written.decode()

    def test_verdicts_are_coloured_on_a_terminal_alone(self):
        words = ["audit", "--causal", self.path("right"), self.path("tiled")]
        text = self.on_terminal(*words, stream=1)
        self.assertIn(GREEN_PASS, text)
        self.assertIn(RED_FAIL, text)
        self.assertNotIn("\x1b", self.on_terminal(*words, stream=1, environment={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.on_terminal(*words, stream=1, environment={"TERM": "dumb"}))
        # An empty NO_COLOR asks for nothing.
        self.assertIn(GREEN_PASS, self.on_terminal(*words, stream=1, environment={"NO_COLOR": ""}))
        self.run_program(*words, status=WRONG)  # checks that a pipe gets no control characters

    def test_progress_has_a_share_and_a_rate(self):
        path = self.folder / "long.safetensors"
        safetensors_file.write(path, None, wide_problem(rows=256, keys=256, size=16))
        text = self.on_terminal("audit", "--no-filter", "--no-diagnosis", path, stream=2)
        self.assertRegex(text, r"\[#+\.*\] \d+ %, \d+/256")
        self.assertRegex(text, r"[\d.]+ rows/s")
        self.assertTrue(text.endswith("\r\x1b[K"), text[-80:])

    def test_quiet_says_nothing_and_writes_what_was_asked_for(self):
        report = self.folder / "report.json"
        for name, status in (("right", HOLDS), ("tiled", WRONG)):
            result = self.run_program(
                "audit", "-q", "--causal", self.path(name), "--json", report, status=status
            )
            self.assertEqual(result.stdout + result.stderr, "")
            self.assertEqual(len(json.loads(report.read_text())["cases"]), 1)
        self.assertEqual(self.run_program("enumerate", "--max-heads", 2, "--quiet", status=HOLDS).stdout, "")
        found = self.run_json("enumerate", "--max-heads", 2, "-q", status=HOLDS)
        self.assertEqual(found["cases"], 18)

    def many(self, count):
        folder = self.folder / "many"
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:03}.safetensors").symlink_to(self.path("right"))
        return folder

    def test_many_passes_are_told_in_ten_lines_and_each_with_verbose(self):
        folder = self.many(400)
        text = self.run_program("audit", "--causal", folder, status=HOLDS).stdout
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 10, text)
        self.assertRegex(lines[0], r"^pass      400 cases, 76800 elements: .*000\.safetensors, .* and 397 more$")
        self.assertRegex(text, r"largest errors: at most \d+ % of what is allowed, in ")
        self.assertIn("zeros would fail in 9600 of 9600 rows", text)
        self.assertIn("inputs that cannot show a fault, by fault: ", text)
        self.assertIn("against precision model f32 (400)", text)
        self.assertEqual(lines[-1], "400 of 400 passed")
        self.assertEqual(len(self.run_json("audit", "--causal", folder, status=HOLDS)["cases"]), 400)
        verbose = self.run_program("audit", "-v", "--causal", folder, status=HOLDS).stdout
        self.assertEqual(len(re.findall(r"^pass      ", verbose, re.M)), 400)
        # What fails is told in full and first.
        (folder / "200.safetensors").unlink()
        (folder / "200.safetensors").symlink_to(self.path("tiled"))
        text = self.run_program("audit", "--causal", folder, status=WRONG).stdout
        self.assertRegex(text, r"^fail      .*200\.safetensors\n    diagnosis:\n      head_map\.tiled")
        self.assertIn("399 of 400 passed, 1 failed\n", text)

    def test_junit_on_standard_output_has_times_types_and_the_diagnosis_first(self):
        words = ["audit", "--causal", "--junit", "-"]
        paths = [self.path(name) for name in ("right", "tiled", "nan_key", "cut")]
        suites = ElementTree.fromstring(self.run_program(*words, *paths, status=3).stdout)
        cases = list(suites.iter("testcase"))
        self.assertEqual(len(cases), 4)
        for case in cases:
            self.assertRegex(case.get("time"), r"^\d+\.\d{3}$")
        self.assertEqual(list(cases[0]), [])
        failure = cases[1].find("failure")
        self.assertEqual(failure.get("type"), "head_map.tiled")
        self.assertTrue(failure.get("message").startswith("head_map.tiled"), failure.get("message"))
        self.assertIn("fits with --head-map interleaved", failure.get("message"))
        undecided = cases[2].find("error")
        self.assertEqual(undecided.get("type"), "undecided")
        self.assertIn("they read NaN or infinity; key[0,0,0,5] is nan", undecided.get("message"))
        self.assertEqual(cases[3].find("error").get("type"), "safetensors.truncated")
        self.run_program(*words, "--json", "-", paths[0], status=USAGE)

    def interrupted(self, *arguments, wait, number=signal.SIGINT):
        """(status, standard output, seconds from the signal to the end); the signal after `wait()`."""
        process = subprocess.Popen(
            [str(program()), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait(process)
        start = time.monotonic()
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out, time.monotonic() - start

    def test_an_interrupted_identification_tells_what_is_known(self):
        path = self.folder / "long.safetensors"
        # No contract fits: every stage of the search is tried.
        safetensors_file.write(path, None, wide_problem(rows=512, keys=1024, size=64))
        report = self.folder / "report.json"
        status, out, seconds = self.interrupted(
            "identify", self.path("right"), path, "--json", report, wait=lambda _: time.sleep(1.5)
        )
        self.assertEqual(status, UNDECIDED, out)
        self.assertLess(seconds, 5)
        self.assertRegex(out, r"found +" + str(self.path("right")))
        self.assertIn("interrupted by Ctrl-C; what follows it was not identified [identify.interrupted]", out)
        found = json.loads(report.read_text())["recordings"]
        self.assertEqual([recording.get("code") for recording in found], [None, "identify.interrupted"])

    def test_an_interruption_tells_what_is_known_and_the_journal_goes_on(self):
        path = self.folder / "long.safetensors"
        safetensors_file.write(path, None, wide_problem(rows=4096, keys=1024, size=16))
        journal, report = self.folder / "journal", self.folder / "report.json"
        words = ["audit", "--no-filter", "--no-diagnosis", "--journal", journal, "--atol", "8"]

        def first_blocks(process):
            # The short recording's blocks are there at once; then those of the long one come, one by one.
            sizes, deadline = set(), time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline and len(sizes) < 6:
                sizes.add(journal.stat().st_size if journal.exists() else 0)
                time.sleep(0.01)

        before = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                status, out, seconds = self.interrupted(
                    *words, self.path("right"), path, "--json", report, wait=first_blocks, number=number
                )
                self.assertEqual(status, UNDECIDED, out)
                # A second on a machine of its own; others may be working here.
                self.assertLess(seconds, 5)
                self.assertIn("pass      " + str(self.path("right")), out)
                self.assertRegex(out, r"undecided .*long\.safetensors\n    interrupted by .* after \d+ % of its rows")
                self.assertIn("goes on from the journal [audit.interrupted]", out)
                found = json.loads(report.read_text())
                self.assertEqual([case["verdict"] for case in found["cases"]], ["pass", "undecided"])
                self.assertEqual(found["cases"][1]["code"], "audit.interrupted")
                kept = journal.stat().st_size
                self.assertGreater(kept, before)
                before = kept


