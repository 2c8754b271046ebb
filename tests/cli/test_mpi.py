"""gqaverify under an MPI launcher: 1, 2 and 4 ranks, errors of one rank, and a rank that dies."""

import functools
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import journal_file
import long_problem
from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine, program, recordings, without_times

MPIRUN = shutil.which("mpirun")
# Root and more ranks than cores are what a test machine has; no network is needed.
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    # In a build with the address sanitizer: MPI libraries leave memory behind at their end.
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
}


@functools.cache
def why_not():
    """Why there is no MPI to test with; None if there is."""
    if MPIRUN is None:
        return "no mpirun"
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=False)
    if "Open MPI" not in version.stdout:
        return "mpirun is not Open MPI's"
    words = [MPIRUN, "--oversubscribe", "-n", "2", str(program()), "--version"]
    result = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return "gqaverify was built without MPI" if "[cluster.no_mpi]" in result.stderr else None


def own_messages(text):
    """What gqaverify wrote to standard error; mpirun adds its own."""
    return [line for line in text.splitlines() if line.startswith("gqaverify: ")]


class Ranks(CommandLine):
    def setUp(self):
        super().setUp()
        reason = why_not()
        if reason:
            print(f"skipped: {reason}")
            self.skipTest(reason)
        # mpirun's own files: a long path would not fit into the name of a socket.
        self.sessions = Path("/tmp") / f"gqa-mpi-{os.getpid()}"
        self.sessions.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, self.sessions, ignore_errors=True)

    def run_ranks(self, words, status):
        environment = ENVIRONMENT | {"TMPDIR": str(self.sessions)}
        result = subprocess.run(
            [MPIRUN, "--oversubscribe", *map(str, words)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=environment,
        )
        shown = f"{words}\nstdout: {result.stdout[-3000:]}\nstderr: {result.stderr[-3000:]}"
        self.assertEqual(result.returncode, status, shown)
        return result

    def reports(self, launcher, words, status):
        json_file, junit_file = self.folder / "report.json", self.folder / "report.xml"
        for stale in (json_file, junit_file):
            stale.unlink(missing_ok=True)
        words = [*words, "--json", json_file, "--junit", junit_file]
        if launcher:
            out = self.run_ranks([*launcher, program(), "audit", *words], status).stdout
        else:
            out = self.run_program("audit", *words, status=status).stdout
        return out, json_file.read_bytes(), without_times(junit_file)

    def test_the_report_is_that_of_one_process(self):
        problem = long_problem.write(self.folder / "case.safetensors", queries=100, keys=20)
        good = recordings()
        for words, status in (
            (good, HOLDS),
            ([*good, problem], WRONG),
            ([*good, self.folder / "missing.npz"], BAD_INPUT),
            (["--no-filter", "--no-diagnosis", problem], WRONG),
            (["--sample", 50, "--seed", 3, problem, *good], WRONG),
            (["--model", "f16", *good], HOLDS),
        ):
            expected = self.reports([], words, status)
            for ranks in (1, 2, 4):
                self.assertEqual(self.reports(["-n", ranks], words, status), expected)

    def test_a_journal_is_shared_with_runs_of_one_process(self):
        problem = long_problem.write(self.folder / "case.safetensors", queries=100, keys=20)
        expected = self.reports([], [problem], WRONG)
        journal = self.folder / "audit.journal"
        words = ["--journal", journal, problem]
        self.assertEqual(self.reports(["-n", 4], words, WRONG), expected)
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:3]))
        self.assertEqual(self.reports([], words, WRONG), expected)
        journal.write_bytes(b"".join(lines[: len(lines) - 1]))
        self.assertEqual(self.reports(["-n", 2], words, WRONG), expected)
        self.assertEqual(sorted(journal.read_bytes().splitlines(keepends=True)), sorted(lines))

    def test_the_page_is_that_of_one_process(self):
        problem = long_problem.write(self.folder / "case.safetensors", queries=100, keys=20)
        page = self.folder / "page.html"
        self.reports([], ["--html", page, problem], WRONG)
        expected = page.read_bytes()
        page.unlink()
        self.reports(["-n", 3], ["--html", page, problem], WRONG)
        self.assertEqual(page.read_bytes(), expected)

    def test_other_commands_and_wrong_usage_tell_once(self):
        out = self.run_ranks(["-n", 3, program(), "enumerate", "--max-heads", 2], HOLDS).stdout
        self.assertEqual(out.count("18 of 18 cases equal"), 1)
        result = self.run_ranks(["-n", 3, program(), "enumerate", "--max-heads", 0], USAGE)
        self.assertEqual(result.stderr.count("is not an integer from 1 to 512"), 1, result.stderr)
        result = self.run_ranks(["-n", 3, program(), "audit"], USAGE)
        self.assertEqual(result.stderr.count("PATH or --kernel is required"), 1, result.stderr)
        out = self.run_ranks(["-n", 3, program(), "--version"], HOLDS).stdout
        self.assertRegex(out, r"^\d+\.\d+\.\d+\n$")

    def test_an_error_of_one_rank_ends_all_with_one_message(self):
        path, other = recordings()[:2]
        missing = self.folder / "missing.npz"
        one, audit = ["-n", 1, program(), "audit"], ["-n", 2, program(), "audit"]
        for words, expected in (
            ([*audit, path, ":", *one, missing], "rank 2: is at the refusal of"),
            ([*one, missing, ":", *audit, path], "rank 1: is at the audit of output; rank 0"),
            ([*audit, path, ":", *one, other], f"rank 2: is at the audit of output, with path {other}"),
            ([*audit, path, ":", *one, path, path], "rank 2: is at the audit of output; rank 0"),
            ([*one, "--journal", missing.parent, path, ":", *audit, path], "[journal.unwritable]"),
        ):
            result = self.run_ranks(words, BAD_INPUT)
            messages = own_messages(result.stderr)
            self.assertEqual(len(messages), 1, result.stderr)
            self.assertIn(expected, messages[0])
            self.assertEqual(result.stdout, "")

    def test_a_journal_that_is_refused_is_refused_once(self):
        path, other = recordings()[:2]
        journal = self.folder / "audit.journal"
        self.run_program("audit", "--journal", journal, path, status=HOLDS)
        before = journal.read_bytes()
        words = ["-n", 2, program(), "audit", "--journal", journal, other]
        messages = own_messages(self.run_ranks(words, BAD_INPUT).stderr)
        self.assertEqual(len(messages), 1, messages)
        self.assertIn(f"{journal}: path: ", messages[0])
        self.assertEqual(journal.read_bytes(), before)

    def rank_process(self, launcher, rank):
        """The process of that rank: a child of mpirun with the rank in its environment."""
        for place in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
                environment = (place / "environ").read_bytes().split(b"\0")
            except (OSError, ValueError, IndexError):
                continue
            if parent == launcher and f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
                return int(place.name)
        raise AssertionError(f"mpirun has no rank {rank}")

    def test_a_rank_that_dies_ends_all_and_the_journal_goes_on(self):
        path = long_problem.write(self.folder / "case.safetensors")
        expected = self.reports([], ["--no-filter", "--no-diagnosis", path], WRONG)
        journal = self.folder / "audit.journal"
        kept = []
        for rank in (1, 0):
            words = ["-n", 2, program(), "audit", "--no-filter", "--no-diagnosis", "--journal", journal, path]
            with subprocess.Popen(
                [MPIRUN, "--oversubscribe", *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=ENVIRONMENT | {"TMPDIR": str(self.sessions)},
            ) as launcher:
                journal_file.wait_for_blocks(journal, len(kept) + 4, launcher)
                os.kill(self.rank_process(launcher.pid, rank), signal.SIGKILL)
                killed = time.monotonic()
                out, messages = launcher.communicate(timeout=60)
            self.assertNotEqual(launcher.returncode, 0)
            self.assertLess(time.monotonic() - killed, 60)
            self.assertEqual(out, b"")
            self.assertIn(b"signal 9 (Killed)", messages)
            blocks = journal_file.blocks(journal)
            self.assertEqual(blocks[: len(kept)], kept)
            self.assertGreater(len(blocks), len(kept))
            kept = blocks
        words = ["--no-filter", "--no-diagnosis", "--journal", journal, path]
        self.assertEqual(self.reports(["-n", 2], words, WRONG), expected)
        blocks = journal_file.blocks(journal)
        self.assertEqual(blocks[: len(kept)], kept)
        self.assertEqual(sorted(blocks), [(job, b) for job in range(2) for b in range(40)])

    def test_a_plain_start_knows_nothing_of_mpi(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI", "PMI"))}
        environment["OMPI_MCA_pml"] = "no_such_component"  # MPI could not be initialised
        result = subprocess.run(
            [str(program()), "audit", str(recordings()[0])],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        self.assertEqual((result.returncode, result.stderr), (HOLDS, ""))
