#!/usr/bin/env python3
"""Counts what has to be believed for a pass, by three paths.

usage: trusted_lines.py PROJECT_DIR [--list PATH]     prints the table that the README holds
       trusted_lines.py PROJECT_DIR --check           compares it with the README, to within 3 %
       trusted_lines.py PROJECT_DIR --write           puts it into the README
Exit status: 0 done, or the README is up to date; 1 it is not; 64 wrong usage.

A unit is a header with the source files that implement it. What a verdict rests on are the units
that read a recording and decide on its outputs, and all that these include, directly or not. Lines
are those of code: neither blank nor comment. Libraries outside the project are not counted.
"""

import os
import re
import sys
from pathlib import Path

# What surely decides, on which path: a count that lost them would be too small.
DECIDES = {
    "default": ("audit/filter/filter_tile.cpp", "audit/filter/vector_exp.cpp"),
    "`--no-filter`": ("audit/enclose/row_auditor.cpp", "audit/enclose/rational_output.cpp",
                      "audit/outputs/weight_auditor.cpp", "audit/models/worst_bound.cpp",
                      "audit/decide/element_decision.cpp", "attention/row.hpp", "num/ball.cpp",
                      "io/safetensors.cpp"),
}

# Where a pass comes from: what reads the recording, and what audits each of its outputs.
ROOTS = ("io/recordings", "audit/audit_outputs")

INCLUDE = re.compile(r'^\s*#\s*include\s*"gqa/([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
PYTHON_COMMENT = re.compile(r'^\s*"""(?:.*?)"""\s*$|^\s*#[^\n]*$', re.DOTALL | re.MULTILINE)


def code(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return PYTHON_COMMENT.sub("", text)
    return COMMENT.sub(lambda m: m[0] if m[0][0] in "\"'" else "", text)


def code_lines(path):
    return sum(1 for line in code(path).splitlines() if line.strip())


class Library:
    """The units of src/gqa: which files each has, and which units these include."""

    def __init__(self, base):
        self.files = {}
        self.includes = {}
        paths = [p for suffix in ("*.hpp", "*.cpp", "*.h") for p in sorted(base.rglob(suffix))]
        headers = {self.name(p.relative_to(base)) for p in paths if p.suffix != ".cpp"}
        for path in paths:
            named = [self.name(Path(include)) for include in INCLUDE.findall(code(path))]
            unit = self.name(path.relative_to(base))
            if unit not in headers:
                unit = self.implemented(unit, named)
            self.files.setdefault(unit, []).append(path)
            self.includes.setdefault(unit, set()).update(named)

    @staticmethod
    def implemented(unit, included):
        """The header of the same folder that a further source is of: the one most like it by name."""
        beside = [name for name in included if Path(name).parent == Path(unit).parent]
        alike = lambda name: len(os.path.commonprefix([Path(name).name, Path(unit).name]))
        return max(beside, key=alike) if beside else unit

    @staticmethod
    def name(path):
        return str(path.parent / path.name.split(".")[0])

    def closure(self, roots, without=()):
        found, open_units = set(), list(roots)
        while open_units:
            unit = open_units.pop()
            if unit in found or unit.startswith(tuple(without)):
                continue
            found.add(unit)
            open_units += self.includes.get(unit, ())
        return sorted(path for unit in found for path in self.files.get(unit, ()))


def paths_of_trust(root):
    """(path, what decides there, its files), the smallest last."""
    library = Library(root / "src" / "gqa")
    for needed in ROOTS:
        if needed not in library.files:
            raise SystemExit(f"{needed} is no unit of src/gqa any more: say what decides a pass")
    outputs = library.closure(ROOTS, without=("audit/gradients/",))
    unfiltered = library.closure(ROOTS, without=("audit/gradients/", "audit/filter/"))
    gradients = library.closure(ROOTS)
    yield "default, with gradients", "recorded gradients, too", gradients
    yield "default", "a binary64 filter first, then balls, then exact arithmetic", outputs
    yield "`--no-filter`", "balls and exact arithmetic alone", unfiltered
    if (root / "recheck").is_dir():
        for path in sorted((root / "recheck").rglob("*")):
            if path.suffix in (".cpp", ".py") and "test" not in path.name:
                name = path.relative_to(root)
                yield f"[`{name}`]({name})", "one element again, on rationals", [path]


def table(root):
    lines = ["| path | what decides | lines of code |", "|---|---|---|"]
    for name, what, files in paths_of_trust(root):
        for needed in DECIDES.get(name, ()):
            if root / "src/gqa" / needed not in files:
                raise SystemExit(f"{name}: {needed} decides, and is not among the files counted")
        lines.append(f"| {name} | {what} | {sum(map(code_lines, files)):,} |")
    return lines


def is_near(made, kept):
    """The same rows, with numbers that differ by 3 % at most: not every line changes the README."""
    number = re.compile(r" ([\d,]+) \|$")
    if len(made) != len(kept):
        return False
    for new, old in zip(made, kept):
        if number.sub("", new) != number.sub("", old):
            return False
        counts = [int(found[1].replace(",", "")) for found in map(number.search, (new, old)) if found]
        if len(counts) == 2 and abs(counts[0] - counts[1]) > 0.03 * counts[0]:
            return False
    return True


def table_of_readme(root, head):
    lines = (root / "README.md").read_text(encoding="utf-8").split("\n")
    if head not in lines:
        return []
    start = lines.index(head)
    return lines[start:lines.index("", start)]


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"], ["--write"]) and arguments[1:2] != ["--list"]:
        print(__doc__, file=sys.stderr)
        return 64
    root = Path(arguments[0]).resolve()
    if arguments[1:2] == ["--list"]:
        for name, _, files in paths_of_trust(root):
            if name.strip("`") == (arguments[2:] or ["default"])[0].strip("`"):
                print(*(f"{code_lines(path):5} {path.relative_to(root)}" for path in files), sep="\n")
        return 0
    made = table(root)
    if arguments[1:] == ["--check"]:
        if is_near(made, table_of_readme(root, made[0])):
            print("the README's table of trusted lines is up to date")
            return 0
        print("README.md must hold this table of trusted lines (tests/trusted_lines.py . --write):")
    if arguments[1:] == ["--write"]:
        readme = root / "README.md"
        kept = table_of_readme(root, made[0])
        text = readme.read_text(encoding="utf-8")
        readme.write_text(text.replace("\n".join(kept), "\n".join(made)), encoding="utf-8")
    print("\n".join(made))
    return 1 if arguments[1:] == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
