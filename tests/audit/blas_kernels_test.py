#!/usr/bin/env python3
"""No verdict depends on the BLAS kernel, the number of threads or the filter.

usage: blas_kernels_test.py GQAVERIFY PROJECT_DIR

Audits one recording, right and with single elements off by about the tolerance, under every
kernel that OpenBLAS can be told to use on this processor (OPENBLAS_CORETYPE), with 1, 2 and 3
threads, and compares what the reports say about every element: all but the digits of certified
ranges and the rung that decided. Standard library only.
"""

import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, PROJECT = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(PROJECT / "tests" / "cli"))
import safetensors_file  # noqa: E402

# From the oldest that every x86-64 runs on. OpenBLAS falls back, with a warning, where the
# processor lacks the instructions or the library the kernel.
CORE_TYPES = ["Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX"]
TOLERANCES = [["--atol", "1e-3"], ["--max-ulp", "64"], ["--model", "f32"], ["--model", "bf16-f32"]]


def numbers(seed, count, factor=1.0):
    source = random.Random(seed)
    return [factor * source.gauss(0, 1) for _ in range(count)]


def attention(query, key, value, width, keys):
    """Exact enough to be right under every tolerance above: binary64, one head."""
    output = []
    for i in range(len(query) // width):
        row = query[i * width : (i + 1) * width]
        scores = [
            sum(a * b for a, b in zip(row, key[j * width : (j + 1) * width])) / math.sqrt(width)
            for j in range(keys)
        ]
        largest = max(scores)
        weights = [math.exp(s - largest) for s in scores]
        total = math.fsum(weights)
        for c in range(width):
            output.append(math.fsum(w * value[j * width + c] for j, w in enumerate(weights)) / total)
    return output


def as_binary32(values):
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


class BlasKernels(unittest.TestCase):
    ROWS, KEYS, WIDTH = 20, 700, 24

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def recording(self):
        rows, keys, width = self.ROWS, self.KEYS, self.WIDTH
        query = as_binary32(numbers(1, rows * width))
        key = as_binary32(numbers(2, keys * width))
        value = as_binary32(numbers(3, keys * width))
        output = attention(query, key, value, width, keys)
        for at, off in enumerate([1e-3, -1e-3, 1.001e-3, 0.999e-3, 1e-6, 1e-2, 3e-7, -2e-8]):
            output[at * 37] += off
        path = pathlib.Path(self.folder.name) / "case.safetensors"
        tensors = {
            "query": ([1, 1, rows, width], query),
            "key": ([1, 1, keys, width], key),
            "value": ([1, 1, keys, width], value),
            "output": ([1, 1, rows, width], output),
        }
        safetensors_file.write(path, None, tensors)
        return path

    def findings(self, path, flags, core_type=None, threads=0):
        environment = dict(os.environ)
        environment.pop("OPENBLAS_CORETYPE", None)
        if core_type:
            environment["OPENBLAS_CORETYPE"] = core_type
        command = [PROGRAM, "audit", "--no-diagnosis", *flags, "--threads", str(threads)]
        command += ["--json", "-", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        case = json.loads(done.stdout)["cases"][0]
        worst = [str(w["index"]) for w in case["worst"][: case["violations"]]]
        kept = ("verdict", "strength", "elements", "violations", "undecided", "where")
        return {name: case[name] for name in kept}, sorted(worst)

    def test_every_kernel_and_number_of_threads_finds_the_same(self):
        path = self.recording()
        violations = set()
        for flags in TOLERANCES:
            expected = self.findings(path, [*flags, "--no-filter"])
            violations.add(expected[0]["violations"])
            self.assertGreater(expected[0]["violations"], 0)
            for core_type in [None, *CORE_TYPES]:
                for threads in (1, 2, 3):
                    with self.subTest(flags=flags, core_type=core_type, threads=threads):
                        self.assertEqual(self.findings(path, flags, core_type, threads), expected)
        # The tolerances differ in what they forgive.
        self.assertGreater(len(violations), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
