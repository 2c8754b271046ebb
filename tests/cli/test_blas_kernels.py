"""The kernels that OpenBLAS multiplies matrices with: what it says of them with OPENBLAS_VERBOSE=2."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from command_line import CommandLine, program, recordings

WITHOUT_AVX = {"Katmai", "Coppermine", "Northwood", "Prescott", "Banias", "Atom", "Core2", "Penryn",
               "Dunnington", "Nehalem", "Athlon", "Opteron", "Barcelona", "generic"}


class BlasKernels(CommandLine):
    def cores(self, *arguments, chosen=None):
        """The kernels of every start, in order."""
        environment = {**os.environ, "OPENBLAS_VERBOSE": "2"}
        environment.pop("OPENBLAS_CORETYPE", None)
        if chosen:
            environment["OPENBLAS_CORETYPE"] = chosen
        done = subprocess.run([program(), *arguments], capture_output=True, text=True, env=environment,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        cores = re.findall(r"^Core: (\w+)", done.stdout + done.stderr, re.MULTILINE)
        if not cores:
            self.skipTest("this BLAS does not tell its kernels")
        return cores

    def audit(self):
        return ["audit", str(recordings()[0])]

    def test_kernels_without_avx_are_replaced_where_the_processor_has_it(self):
        cpu = Path("/proc/cpuinfo")
        if not cpu.exists() or not {"avx2", "fma"} <= set(cpu.read_text(encoding="utf-8").split()):
            raise unittest.SkipTest("no AVX2")
        self.assertNotIn(self.cores(*self.audit())[-1], WITHOUT_AVX)

    def test_what_the_user_chose_stays(self):
        self.assertEqual(self.cores(*self.audit(), chosen="Prescott"), ["Prescott"])

    def test_commands_that_multiply_no_matrices_start_once(self):
        self.assertEqual(len(self.cores("enumerate", "--max-heads", "1")), 1)
