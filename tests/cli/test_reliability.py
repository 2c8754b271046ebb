"""What a caller, a file system or a file may do to the program, and what it says then."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import safetensors_file
from command_line import (
    BAD_INPUT, HOLDS, UNDECIDED, USAGE, WRONG, CommandLine, program, project, recordings,
)


def skip_under_sanitizers(test):
    """The address sanitizer's own memory is beyond every limit (its preset sets GQA_TEST_LIGHT)."""
    if os.environ.get("GQA_TEST_LIGHT") == "1":
        test.skipTest("memory is not measured under sanitizers")


class Descriptors(CommandLine):
    def run_closed(self, closed, *words):
        """The program with some of descriptors 0 to 2 closed, as `>&-` in a shell."""

        def close():
            for descriptor in closed:
                os.close(descriptor)

        return subprocess.run(
            [str(program()), *map(str, words)], stdin=None, stdout=None if 1 in closed else
            subprocess.PIPE, stderr=None if 2 in closed else subprocess.PIPE, preexec_fn=close,
            timeout=300, check=False)

    def test_a_report_never_lands_in_another_file(self):
        recording = recordings()[0]
        for closed in ((1,), (0, 1), (0, 1, 2), (1, 2)):
            journal = self.folder / f"journal-{len(closed)}-{closed[0]}"
            result = self.run_closed(closed, "audit", recording, "--journal", journal)
            self.assertEqual(result.returncode, BAD_INPUT, closed)
            for line in journal.read_text().splitlines():
                self.assertRegex(line, r'^[0-9a-f]{8} \{"')
        # And the journal is whole: the next run goes on with it.
        self.run_program("audit", recording, "--journal", journal, status=HOLDS)

    def test_a_closed_standard_input_or_error_changes_nothing(self):
        for closed in ((0,), (2,), (0, 2)):
            self.assertEqual(self.run_closed(closed, "enumerate", "--max-heads", 2).returncode, HOLDS)
            status = self.run_closed(closed, "audit", self.folder / "missing.npz").returncode
            self.assertEqual(status, BAD_INPUT)

    def test_a_full_standard_error_ends_nothing(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for words, status in (
            (["audit", "--journal", str(self.folder), str(recordings()[0])], BAD_INPUT),
            (["pool", str(self.folder / "missing.json")], BAD_INPUT),
            (["conjure"], USAGE),
        ):
            with open("/dev/full", "w", encoding="ascii") as full:
                result = subprocess.run([str(program()), *words], stdout=subprocess.DEVNULL,
                                        stderr=full, timeout=300, check=False)
            self.assertEqual(result.returncode, status, words)

    def test_probes_for_a_full_device_are_not_success(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="ascii") as full:
            words = [str(program()), "probe", "write", str(self.folder / "probes")]
            result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, BAD_INPUT)


class Outputs(CommandLine):
    def setUp(self):
        super().setUp()
        self.recording = self.folder / "in.safetensors"
        shutil.copy(recordings()[0], self.recording)
        self.contract = self.folder / "contract.json"
        self.contract.write_text("{}")

    def refuse(self, code, *words):
        before = {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        result = self.run_program("audit", self.recording, *words, status=BAD_INPUT)
        self.assertIn(f"[{code}]", result.stderr)
        self.assertEqual(result.stdout, "")
        after = {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        self.assertEqual(before, after)

    def test_an_input_is_never_an_output(self):
        (self.folder / "link").symlink_to("in.safetensors")
        os.link(self.recording, self.folder / "hard link")
        (self.folder / "folder").mkdir()
        for name in ("in.safetensors", "folder/../in.safetensors", "link", "hard link"):
            for flag in ("--json", "--html", "--junit"):
                self.refuse("output.is_input", flag, self.folder / name)
        self.refuse("output.is_input", "--contract", self.contract, "--json", self.contract)

    def test_two_outputs_are_two_files(self):
        one = self.folder / "report"
        for words in (("--json", one, "--html", one), ("--html", one, "--junit", one),
                      ("--json", one, "--journal", one),
                      ("--json", one, "--junit", self.folder / "." / "report")):
            self.refuse("output.stated_twice", *words)

    def test_a_recording_in_a_folder_of_inputs_is_an_input(self):
        result = self.run_program("audit", self.folder, "--json", self.recording, status=BAD_INPUT)
        self.assertIn("[output.is_input]", result.stderr)
        # A report beside the recordings is none, also the second time.
        for _ in range(2):
            report = self.folder / "report.json"
            self.run_program("audit", self.folder, "--json", report, status=HOLDS)
            self.assertEqual(json.loads(report.read_text())["summary"]["pass"], 1)

    def test_a_place_that_cannot_be_written_is_told_before_the_work(self):
        for name in ("no/report", "contract.json/report"):
            self.refuse("file.unwritable", "--json", self.folder / name)
        self.refuse("file.unwritable", "--html", "/dev/full")

    def test_links_are_followed_and_rights_kept(self):
        target = self.folder / "target.json"
        target.write_text("old")
        target.chmod(0o640)
        link = self.folder / "report.json"
        link.symlink_to("target.json")
        self.run_program("audit", self.recording, "--json", link, status=HOLDS)
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(target.read_text())["summary"]["pass"], 1)
        self.assertEqual(target.stat().st_mode & 0o777, 0o640)


class Texts(CommandLine):
    """run_program checks that no control character comes out."""

    escape = "\x1b[31mX\x9b2J\u202e\nfake line\x07"

    def test_metadata_names_and_flags(self):
        _, tensors = safetensors_file.read(recordings()[0])
        path = self.folder / "a.safetensors"
        for metadata in ({"attention": json.dumps({self.escape: 1})},
                         {"attention": json.dumps({"layout": self.escape})},
                         {"attention": self.escape}):
            safetensors_file.write(path, metadata, tensors)
            out = self.run_program("audit", path, status=BAD_INPUT).stdout
            self.assertNotIn("\u202e", out)
            self.assertNotIn("\nfake line", out)
        safetensors_file.write(path, {}, {self.escape: ([1], [0.0])})
        self.assertNotIn("\nfake line", self.run_program("audit", path, status=BAD_INPUT).stdout)
        for words in (("--layout", self.escape), ("--scale", self.escape),
                      ("--contract", "{" + self.escape)):
            result = subprocess.run([str(program()), "audit", str(path), *words],
                                    capture_output=True, text=True, check=False)
            self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_paths(self):
        for name in (self.escape.replace("/", ""), "\udcff\udcfe"):
            path = self.folder / f"{name}.safetensors"
            shutil.copy(recordings()[0], path)
            out = self.run_program("audit", path, status=HOLDS).stdout
            self.assertNotIn("\nfake line", out)
            path.write_bytes(b"{")
            self.run_program("audit", path, status=BAD_INPUT)
            self.run_program("check", path, status=BAD_INPUT)
            self.run_program("verify", path, status=BAD_INPUT)
            self.run_program("pool", path, status=BAD_INPUT)

    def test_fixtures_and_certificates(self):
        path = self.folder / "a.json"
        path.write_text(json.dumps({"schema": "gqaverify.fixture/1", "name": self.escape,
                                    "statement": self.escape, "value": [[[["1"]]]],
                                    "equal_scores": {"query_heads": 1, "queries": 1},
                                    "expect": {"output": [[[["2"]]]]}}))
        self.run_program("verify", "-v", path, status=WRONG)
        path.write_text(json.dumps({"schema": "gqaverify.certificate/1", "kind": self.escape}))
        self.run_program("check", path, status=BAD_INPUT)


class SmallThings(CommandLine):
    def test_numbers_on_the_command_line_are_decimal(self):
        path = recordings()[0]
        for words in (("--seed", "-1"), ("--seed", "010"), ("--seed", "0x10"), ("--seed", "1e3"),
                      ("--seed", "18446744073709551616"), ("--seed", ""), ("--seed", "+1")):
            self.run_program("audit", path, "--sample", 1, *words, status=USAGE)
        self.run_program("audit", path, "--sample", "01", status=USAGE)
        self.run_program("audit", path, "--q-heads", "010", status=USAGE)
        self.run_program("audit", path, "--sample", 1, "--seed", "18446744073709551615",
                         status=HOLDS)
        for seconds in ("nan", "-nan", "inf", "0", "-1"):
            self.run_program("audit", "--kernel", "x.so", "--timeout", seconds, status=USAGE)

    def test_a_contract_from_a_pipe_serves_every_recording(self):
        read_end, write_end = os.pipe()
        os.write(write_end, b'{"dialect": "onnx"}')
        os.close(write_end)
        try:
            result = subprocess.run(
                [str(program()), "audit", *map(str, recordings()[:2]), "--contract",
                 f"/dev/fd/{read_end}"], pass_fds=[read_end], capture_output=True, text=True,
                check=False)
        finally:
            os.close(read_end)
        self.assertNotIn("json.syntax", result.stdout + result.stderr)

    def test_one_bad_path_does_not_hide_the_others(self):
        folder = self.folder / "recordings"
        folder.mkdir()
        shutil.copy(recordings()[0], folder / "A.SAFETENSORS")
        (folder / "b.safetensors").symlink_to("nowhere")
        (folder / "c.npz").symlink_to("c.npz")
        report = self.run_json("audit", folder, self.folder / "missing", status=BAD_INPUT)
        self.assertEqual(report["summary"]["pass"], 1)
        self.assertEqual(report["summary"]["error"], 3)

    def test_probes_without_a_query(self):
        probes = self.folder / "probes"
        self.run_program("probe", "write", probes, status=HOLDS)
        for path in probes.glob("*.safetensors"):
            metadata, tensors = safetensors_file.read(path)
            tensors.pop("query", None)
            safetensors_file.write(path, metadata, {n: t for n, t in tensors.items() if t[1]})
            break
        everything = list(probes.glob("*.safetensors"))
        for path in everything:
            content = path.read_bytes()
            length = struct.unpack("<Q", content[:8])[0]
            header = json.loads(content[8 : 8 + length])
            if "query" in header:
                safetensors_file.write(path, header.get("__metadata__", {}), {})
        result = self.run_program("probe", "check", probes, status=BAD_INPUT)
        self.assertIn("[contract.missing_tensor]", result.stdout)

    def test_memory_that_there_is_not_is_an_error_of_one_case(self):
        import resource

        skip_under_sanitizers(self)

        big = self.folder / "big.safetensors"
        header = json.dumps({"query": {"dtype": "F32", "shape": [1, 1, 1 << 28, 1],
                                       "data_offsets": [0, 1 << 30]}}).encode()
        big.write_bytes(struct.pack("<Q", len(header)) + header)
        os.truncate(big, 8 + len(header) + (1 << 30))  # a hole
        limit = 1 << 30

        def bound():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        result = subprocess.run(
            [str(program()), "audit", str(big), str(recordings()[0])], capture_output=True,
            text=True, preexec_fn=bound, timeout=120, check=False)
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        self.assertIn("[memory.exhausted]", result.stdout)
        self.assertIn("1 of 2 passed", result.stdout)

    def test_a_limit_on_addresses_is_an_error_and_no_endless_loop(self):
        import resource

        skip_under_sanitizers(self)
        answers = set()
        # Below some 300 OpenBLAS asks for its first buffers without end while it is loaded, before main.
        for mebibytes in range(400, 900, 100):

            def bound(limit=mebibytes << 20):
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

            result = subprocess.run([str(program()), "audit", str(recordings()[0])],
                                    capture_output=True, preexec_fn=bound, timeout=60, check=False)
            answers.add(result.returncode)
        # 127: not even the libraries can be loaded.
        self.assertLessEqual(answers, {HOLDS, BAD_INPUT, 70, 127}, answers)
        self.assertIn(HOLDS, answers)


class SmallInputs(CommandLine):
    """A file of n bytes costs time in proportion to n and at most 64 n + 64 MiB."""

    def setUp(self):
        super().setUp()
        skip_under_sanitizers(self)

    def cost(self, *words):
        # A process starts with the peak of the one that it was forked from: a small one.
        small = ("import os, subprocess, sys\n"
                 "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
                 "_, status, usage = os.wait4(p.pid, 0)\n"
                 "p.returncode = os.waitstatus_to_exitcode(status)\n"
                 "print(p.returncode, usage.ru_maxrss * 1024)\n")
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-S", "-c", small, str(program()), *map(str, words)],
                              capture_output=True, text=True, check=True)
        status, memory = map(int, done.stdout.split())
        return status, time.monotonic() - start, memory

    def safetensors(self, name, entries, data=b""):
        path = self.folder / name
        header = json.dumps(entries).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header + data)
        return path

    def check(self, path, command="audit", seconds=20):
        status, taken, memory = self.cost(command, path)
        size = sum(p.stat().st_size for p in path.rglob("*")) if path.is_dir() else \
            path.stat().st_size
        self.assertIn(status, (HOLDS, WRONG, BAD_INPUT), path)
        self.assertLess(taken, seconds, path)
        self.assertLess(memory, 64 * size + (64 << 20), path)

    def test_shapes_without_elements(self):
        for name, query, key in (("b26", [1 << 26, 1, 0, 4], None), ("bigb", [1 << 40, 1, 0, 4], None),
                                 ("bighq", [1, 1 << 40, 0, 4], [1, 1, 0, 4]),
                                 ("all", [1 << 40, 1 << 40, 0, 1 << 40], None),
                                 ("dv", [1, 1, 0, 1 << 62], None)):
            shapes = {"query": query, "key": key or query, "value": key or query, "output": query}
            self.check(self.safetensors(f"{name}.safetensors", {
                tensor: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}
                for tensor, shape in shapes.items()}))

    def test_headers_of_many_tensors(self):
        entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        self.check(self.safetensors("many.safetensors", {f"{i}": entry for i in range(100000)}))
        self.check(self.safetensors("metadata.safetensors",
                                    {"__metadata__": {f"{i}": "" for i in range(200000)}}))

    def test_json_of_all_forms(self):
        for name, text in (("arrays", "[" + "[]," * 300000 + "[]]"),
                           ("objects", "[" + "{}," * 300000 + "{}]"),
                           ("numbers", "[" + "0," * 500000 + "0]"),
                           ("keys", "{" + ",".join(f'"{i}":0' for i in range(200000)) + "}"),
                           ("deep", "[" * 1000000)):
            path = self.folder / f"{name}.json"
            path.write_text(text)
            for command in ("check", "verify", "pool"):
                self.check(path, command)

    def test_numbers_of_a_few_digits(self):
        fixture = {"schema": "gqaverify.fixture/1", "name": "a", "statement": "",
                   "expect": {"output": [[[["1"]]]]}}
        huge = [[[["1e20000"] * 1000]]]
        for name, change in (
            ("rows", {"value": [[[["1"]]]],
                      "equal_scores": {"query_heads": 1 << 20, "queries": 1 << 20}}),
            ("heads", {"value": [[[["1"]]]],
                       "equal_scores": {"query_heads": 1 << 60, "queries": 1 << 60}}),
            ("values", {"value": huge, "equal_scores": {"query_heads": 1, "queries": 1}}),
        ):
            path = self.folder / f"{name}.json"
            path.write_text(json.dumps({**fixture, **change}))
            self.check(path, "verify")
        certificate = {"schema": "gqaverify.certificate/1", "kind": "counterexample",
                       "identity": "mean_pooled_output", "head": 0, "key_scale": "1",
                       "left": ["1"], "right": ["1/2"]}
        for base in ("1e20000", "3e200", "1/3"):
            for keys in ([[["1000000"]], [["0"]]], [[["1000000"], ["1"]], [["0"], ["2"]]],
                         [[["1e9"], ["1"]], [["0"], ["2"]]]):
                path = self.folder / "certificate.json"
                values = [[["1"]] * len(keys[0]), [["0"]] * len(keys[0])]
                path.write_text(json.dumps({**certificate, "bases": [base], "keys": keys,
                                            "values": values}))
                self.check(path, "check")

    def test_a_sparse_file_of_any_size(self):
        path = self.folder / "sparse.safetensors"
        path.write_bytes(b"")
        try:
            os.truncate(path, 1 << 43)
        except OSError:
            self.skipTest("no sparse files here")
        status, taken, memory = self.cost("audit", path)
        self.assertEqual(status, BAD_INPUT)
        self.assertLess(taken, 20)
        self.assertLess(memory, 256 << 20)


class Signals(CommandLine):
    def test_what_a_kernel_started_ends_with_the_auditor(self):
        kernels = os.environ.get("GQAVERIFY_KERNELS_DIR")
        if not kernels:
            self.skipTest("no kernels were built")
        library = self.folder / "kernel.so"
        shutil.copy(f"{kernels}/misbehaving_kernel.so", library)

        def processes():
            found = []
            for entry in os.listdir("/proc"):
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as line:
                        if entry.isdigit() and str(library).encode() in line.read():
                            found.append(int(entry))
                except OSError:
                    pass
            return found

        def wait_for(holds):
            for _ in range(200):
                if holds(processes()):
                    return True
                time.sleep(0.02)
            return False

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            process = subprocess.Popen(
                [str(program()), "audit", "--kernel", str(library), "--kernel-options", "hang",
                 "--timeout", "60", "--type", "binary32"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertTrue(wait_for(lambda found: len(found) >= 3), "it did not start")
            process.send_signal(number)
            process.wait(timeout=20)
            # An audit that is asked to end tells what it knows, which is nothing.
            expected = -number if number == signal.SIGKILL else UNDECIDED
            self.assertEqual(process.returncode, expected)
            self.assertTrue(wait_for(lambda found: not found), processes())
