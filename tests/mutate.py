#!/usr/bin/env python3
"""Breaks the code on purpose, and asks whether the test that should notice does.

usage: tests/mutate.py [--copy DIR] [--together] [--list] [WORD...]

tests/mutations.txt has a line for each: file, the text to find in it (once), what takes its place,
the test program and the test case that must fail. This script works in a copy of the tree (DIR,
default build/mutations; made and configured if it is not there), never in the tree itself. For each
line it changes the file, builds the one test program, runs the one test case, and takes the change
back. A mutation that no test sees SURVIVES, and that is a gap in the tests.

  --together   builds once with all mutations in place, each behind a switch that is an environment
               variable: an expression F becomes (mutated(n) ? (R) : (F)), a statement F;
               if (mutated(n)) { R } else { F }. Minutes instead of hours.
  --list       says what would be done, and checks that every text and every test case is there
  WORD         only lines that contain every WORD

Exit status: 0 every mutation was seen, 1 one survived or could not be tried, 64 wrong usage.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/architecture"))
from test_cases_test import written  # noqa: E402
SWITCH = "GQA_MUTATION"
HEADER = f"""#pragma once
#include <cstdlib>
#include <type_traits>
namespace gqa {{
inline const int chosen_mutation = [] {{
  const char* text = std::getenv("{SWITCH}");
  return text != nullptr ? std::atoi(text) : 0;
}}();
constexpr bool mutated(int number) {{
  return std::is_constant_evaluated() ? false : chosen_mutation == number;
}}
}}  // namespace gqa
"""


class Mutation:
    def __init__(self, number, fields):
        self.number = number
        self.file, self.find, self.replacement, test = fields
        self.program, _, self.case = test.partition(": ")

    def __str__(self):
        return f"{self.number:3} {self.file}: {self.find}  ->  {self.replacement or '(removed)'}"

    def why_not(self, text):
        if not self.program.startswith("test_") or not self.case:
            return "the fourth field is `test_PROGRAM: name of a test case`"
        count = text.count(self.find)
        return None if count == 1 else f"the text is there {count} times, not once"

    def applied(self, text):
        return text.replace(self.find, self.replacement)

    def switched(self, text):
        if self.find.endswith(";"):
            other = f"if (gqa::mutated({self.number})) {{ {self.replacement} }} else {{ {self.find} }}"
        else:
            other = f"(gqa::mutated({self.number}) ? ({self.replacement}) : ({self.find}))"
        return text.replace(self.find, other)


def read_mutations():
    mutations, number = [], 0
    for line in (ROOT / "tests/mutations.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        number += 1
        fields = [field.strip() for field in re.split(r"(?<=\s)\|(?=\s)", line)]
        if len(fields) != 4:
            sys.exit(f"mutations.txt: {len(fields)} fields instead of 4: {line}")
        mutations.append(Mutation(number, fields))
    return mutations


def run(command, **options):
    return subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)


class Copy:
    """A tree of its own, with a build folder."""

    def __init__(self, folder):
        self.folder = folder
        self.build_folder = folder / "build/dev"

    def prepare(self):
        if self.folder.resolve() == ROOT:
            sys.exit(f"{self.folder} is the tree itself, not a copy")
        listed = run(["git", "-C", ROOT, "ls-files", "-z"]).stdout.split("\0")
        for name in filter(None, listed):
            source, target = ROOT / name, self.folder / name
            if not source.is_file():
                continue
            # What has not changed keeps its time, so that it is not built again.
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        if not (self.build_folder / "build.ninja").exists():
            done = run(["cmake", "--preset", "dev"], cwd=self.folder)
            if done.returncode != 0:
                sys.exit(done.stdout)

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def build(self, programs):
        """The error, or None."""
        done = run(["cmake", "--build", self.build_folder, "--parallel", os.environ.get("JOBS", "2"),
                    "--target", *sorted(programs)])
        errors = [line for line in done.stdout.splitlines() if "error" in line]
        return None if done.returncode == 0 else "\n".join(errors[:6]) or done.stdout[-2000:]

    def outcome(self, mutation, number):
        """"passed", "failed", or why neither can be said."""
        # A comma would separate two filters.
        name = re.sub(r"[,\\]", "?", mutation.case)
        command = [self.build_folder / "tests" / mutation.program, f"-tc={name}", "--no-colors"]
        try:
            done = run(command, cwd=self.folder, timeout=900,
                       env=dict(os.environ, **{SWITCH: str(number)}))
        except subprocess.TimeoutExpired:
            return "failed (no end)"
        if done.returncode < 0:
            return f"failed (signal {-done.returncode})"
        ran = re.search(r"test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed", done.stdout)
        if not ran or ran[1] == "0":
            return "no such test case"
        return "failed" if int(ran[3]) else "passed"


def try_one_by_one(copy, mutations):
    for mutation in mutations:
        text = copy.read(mutation.file)
        why = mutation.why_not(text)
        if why:
            yield mutation, why
            continue
        try:
            why = copy.build([mutation.program])
            before = why or copy.outcome(mutation, 0)
            if before != "passed":
                yield mutation, f"before the change: {before}"
                continue
            copy.write(mutation.file, mutation.applied(text))
            why = copy.build([mutation.program])
            yield mutation, f"does not compile: {why}" if why else copy.outcome(mutation, 0)
        finally:
            copy.write(mutation.file, text)


def try_together(copy, mutations):
    texts = {mutation.file: copy.read(mutation.file) for mutation in mutations}
    changed = dict(texts)
    possible = []
    for mutation in mutations:
        why = mutation.why_not(texts[mutation.file])
        if not why and changed[mutation.file].count(mutation.find) != 1:
            why = "overlaps another one; try it alone"
        if why:
            yield mutation, why
            continue
        changed[mutation.file] = mutation.switched(changed[mutation.file])
        possible.append(mutation)
    copy.write("src/gqa/mutated.hpp", HEADER)
    try:
        for name, text in changed.items():
            copy.write(name, text.replace("#include", '#include "gqa/mutated.hpp"\n#include', 1))
        why = copy.build({mutation.program for mutation in possible})
        if why:
            sys.exit(f"the mutations together do not compile:\n{why}")
        healthy = {}
        for mutation in possible:
            key = (mutation.program, mutation.case)
            if key not in healthy:
                healthy[key] = copy.outcome(mutation, 0)
            if healthy[key] != "passed":
                yield mutation, f"before the change: {healthy[key]}"
            else:
                yield mutation, copy.outcome(mutation, mutation.number)
    finally:
        for name, text in texts.items():
            copy.write(name, text)
        (copy.folder / "src/gqa/mutated.hpp").unlink()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].removeprefix("usage: "))
    parser.add_argument("--copy", type=Path, default=ROOT / "build/mutations")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    try:
        arguments = parser.parse_args()
    except SystemExit as error:
        sys.exit(64 if error.code else 0)
    chosen = [mutation for mutation in read_mutations()
              if all(word in f"{mutation} {mutation.program} {mutation.case}" for word in arguments.words)]
    if not chosen:
        sys.exit("no line of mutations.txt contains that")
    if arguments.list:
        bad, cases = 0, {}
        for mutation in chosen:
            why = mutation.why_not((ROOT / mutation.file).read_text(encoding="utf-8"))
            folder = mutation.program.removeprefix("test_")
            cases[folder] = cases.get(folder) or written(ROOT / "tests" / folder)
            if not why and mutation.case not in cases[folder]:
                why = "there is no such test case"
            bad += why is not None
            print(mutation, f"\n    {mutation.program}: {mutation.case}", f"\n    {why}" if why else "")
        print(f"{len(chosen)} mutations, {bad} that cannot be tried")
        return 1 if bad else 0
    copy = Copy(arguments.copy)
    copy.prepare()
    seen = 0
    for mutation, outcome in (try_together if arguments.together else try_one_by_one)(copy, chosen):
        noticed = outcome.startswith("failed")
        seen += noticed
        word = "seen" if noticed else "SURVIVES" if outcome == "passed" else "NOT TRIED"
        print(f"{word:9} {mutation}", flush=True)
        if not noticed or outcome != "failed":
            print(f"          {mutation.program}: {mutation.case}: {outcome}", flush=True)
    print(f"{seen} of {len(chosen)} mutations were seen")
    return 0 if seen == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
