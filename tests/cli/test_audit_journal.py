"""gqaverify audit --journal: killed, resumed, refused."""

import os
import subprocess

import journal_file
import long_problem
import safetensors_file
from command_line import BAD_INPUT, HOLDS, WRONG, CommandLine, program, recordings, without_times


class Journal(CommandLine):
    def setUp(self):
        super().setUp()
        self.journal = self.folder / "audit.journal"

    def audit(self, *words, status):
        """The reports of an audit with this journal: text, JSON, JUnit."""
        json_file, junit_file = self.folder / "report.json", self.folder / "report.xml"
        result = self.run_program(
            "audit", *words, "--json", json_file, "--junit", junit_file, status=status
        )
        return result.stdout, json_file.read_bytes(), without_times(junit_file)

    def kill_at(self, count, *words):
        words = [str(program()), "audit", "--journal", str(self.journal), *map(str, words)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            journal_file.wait_for_blocks(self.journal, count, process)
            process.kill()
            self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.returncode, -9)

    def test_killed_audits_go_on_and_tell_the_same(self):
        path = long_problem.write(self.folder / "case.safetensors", keys=96)
        flags = ["--no-filter", "--no-diagnosis", path]
        expected = self.audit(*flags, status=WRONG)
        kept = []
        for count in (1, 10):
            self.kill_at(len(kept) + count, *flags)
            self.assertGreater(len(journal_file.blocks(self.journal)), len(kept))
            self.assertEqual(journal_file.blocks(self.journal)[: len(kept)], kept)
            kept = journal_file.blocks(self.journal)
        self.assertEqual(self.audit(*flags, "--journal", self.journal, status=WRONG), expected)
        blocks = journal_file.blocks(self.journal)
        self.assertEqual(blocks[: len(kept)], kept)
        self.assertEqual(len(blocks), len(set(blocks)))
        # 4 heads of 160 rows in blocks of 16, for output and for lse.
        self.assertEqual(sorted(blocks), [(job, b) for job in range(2) for b in range(40)])
        # Once more: everything is there, nothing is added.
        before = self.journal.read_bytes()
        self.assertEqual(self.audit(*flags, "--journal", self.journal, status=WRONG), expected)
        self.assertEqual(self.journal.read_bytes(), before)

    def test_several_recordings_and_models_share_a_journal(self):
        words = [*recordings(), self.folder / "missing.npz", *recordings()[:2]]
        expected = self.audit(*words, status=BAD_INPUT)
        for _ in range(2):
            got = self.audit(*words, "--journal", self.journal, status=BAD_INPUT)
            self.assertEqual(got, expected)
        whole = self.journal.read_bytes()
        lines = whole.splitlines(keepends=True)
        for kept in (1, 2, len(lines) // 2, len(lines) - 1):
            self.journal.write_bytes(b"".join(lines[:kept]) + lines[kept][:-1])
            got = self.audit(*words, "--journal", self.journal, status=BAD_INPUT)
            self.assertEqual(got, expected)
            self.assertEqual(sorted(self.journal.read_bytes().splitlines()), sorted(whole.splitlines()))

    def refused(self, code, *words):
        before = self.journal.read_bytes()
        result = self.run_program(
            "audit", "--journal", self.journal, *words, status=BAD_INPUT
        )
        self.assertEqual(result.stdout, "")
        self.assertIn(f"[{code}]", result.stderr)
        self.assertIn(str(self.journal), result.stderr)
        self.assertEqual(self.journal.read_bytes(), before)
        return result.stderr

    def test_a_journal_of_something_else_is_refused_by_field(self):
        path, other = recordings()[:2]
        copy = self.folder / "case.safetensors"
        copy.write_bytes(path.read_bytes())
        self.audit("--journal", self.journal, copy, status=HOLDS)
        for words, field in (
            ([other], "path"),
            (["--scale", "1/8", copy], "contract"),
            (["--max-ulp", 8, copy], "tolerance"),
            (["--accept", "worst-case", copy], "tolerance"),
            (["--no-filter", copy], "filter"),
            (["--sample", 3, copy], "sample"),
        ):
            self.assertIn(f"{self.journal}: {field}: ", self.refused("journal.mismatch", *words))
        metadata, tensors = safetensors_file.read(copy)
        for name in ("query", "key", "value", "output"):
            shape, numbers = tensors[name]
            changed = [*numbers[:-1], numbers[-1] + 2.0**-20]
            safetensors_file.write(copy, metadata, tensors | {name: (shape, changed)})
            self.assertIn(f"{self.journal}: {name}: ", self.refused("journal.mismatch", copy))

    def test_another_version_is_refused(self):
        path = recordings()[0]
        self.audit("--journal", self.journal, path, status=HOLDS)
        first, *rest = self.journal.read_bytes().splitlines(keepends=True)
        header = journal_file.records(self.journal)[0]
        self.assertEqual(first, journal_file.line_of(header))
        for field, value in (("version", "0.0.1"), ("format", "gqaverify.journal/2")):
            changed = journal_file.line_of(header | {field: value})
            self.journal.write_bytes(changed + b"".join(rest))
            self.assertIn(f"{self.journal}: {field}: ", self.refused("journal.mismatch", path))

    def test_a_damaged_line_is_named_and_nothing_is_overwritten(self):
        path = recordings()[0]
        self.audit("--journal", self.journal, path, status=HOLDS)
        lines = self.journal.read_bytes().splitlines(keepends=True)
        for number in range(len(lines)):
            damaged = bytearray(lines[number])
            damaged[len(damaged) // 2] ^= 1
            self.journal.write_bytes(b"".join([*lines[:number], bytes(damaged), *lines[number + 1 :]]))
            self.assertIn(f": line {number + 1}: ", self.refused("journal.damaged", path))
        for content in (b"precious notes", b"precious notes\n", path.read_bytes()):
            self.journal.write_bytes(content)
            self.refused("journal.damaged", path)

    def test_places_that_cannot_be_written(self):
        path = recordings()[0]
        for place in (self.folder, self.folder / "no" / "audit.journal"):
            result = self.run_program("audit", "--journal", place, path, status=BAD_INPUT)
            self.assertIn("[journal.unwritable]", result.stderr)
            self.assertEqual(result.stdout, "")
        if os.path.exists("/dev/full"):
            result = self.run_program("audit", "--journal", "/dev/full", path, status=BAD_INPUT)
            self.assertIn("[journal.unwritable]", result.stderr)
