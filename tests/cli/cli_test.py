#!/usr/bin/env python3
"""Runs the program as a person would: every test_*.py beside this file.

usage: cli_test.py PROGRAM PROJECT_DIR [PATTERN...]
PATTERN chooses files, such as test_audit*.py.
Exit status: 0 there were tests and all of them pass, 77 all were skipped, otherwise 1; 64 wrong
usage.
"""

import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 64
    os.environ["GQAVERIFY_PROGRAM"] = str(Path(arguments[0]).resolve())
    os.environ["GQAVERIFY_PROJECT"] = str(Path(arguments[1]).resolve())
    here = str(Path(__file__).resolve().parent)
    sys.path.insert(0, here)
    tests = unittest.TestSuite(
        unittest.defaultTestLoader.discover(here, pattern=pattern)
        for pattern in arguments[2:] or ["test_*.py"])
    result = unittest.TextTestRunner(verbosity=1).run(tests)
    if result.wasSuccessful() and result.testsRun == len(result.skipped) > 0:
        return 77
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
