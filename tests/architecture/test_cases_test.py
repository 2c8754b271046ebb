#!/usr/bin/env python3
"""Every test case that is written in tests/FOLDER is in the program test_FOLDER.

usage: test_cases_test.py TESTS_DIR PROGRAMS_DIR
Exit status: 0 all are, 1 not (one line per breach), 64 wrong usage.
"""

import re
import subprocess
import sys
from pathlib import Path

# TEST_CASE("words" "more words") and TEST_CASE_TEMPLATE("words", T, ...).
CASE = re.compile(r'^\s*TEST_CASE(?:_TEMPLATE)?\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)[,)]', re.MULTILINE)


def written(folder):
    """Name -> file of every case below a folder."""
    cases = {}
    for path in sorted(folder.rglob("*.cpp")):
        for literals in CASE.findall(path.read_text(encoding="utf-8")):
            name = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))
            cases[name.replace('\\"', '"').replace("\\\\", "\\")] = path
    return cases


def compiled(program):
    done = subprocess.run([program, "--list-test-cases", "--no-colors"], capture_output=True,
                          text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    tests, programs = map(Path, arguments)
    breaches, count = [], 0
    for program in sorted(path for path in programs.glob("test_*") if path.is_file()):
        if program.name == "test_fuzz":
            continue  # no doctest: its targets are a list in their main function
        known = compiled(program)
        # A case of a template is listed with its type: name<float>.
        bare = {re.sub(r"<[^<>]*(?:<[^<>]*>)*[^<>]*>$", "", line) for line in known} | set(known)
        for name, path in written(tests / program.name.removeprefix("test_")).items():
            count += 1
            if name not in bare:
                breaches.append(f"{path.relative_to(tests)}: \"{name}\" is in no program")
    for breach in breaches:
        print(breach)
    print(f"{count} test cases are written, {len(breaches)} of them not compiled")
    return 1 if breaches or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
