#!/usr/bin/env python3
"""Runs every command of the documentation and compares what it prints.

usage: docs_test.py PROGRAM SOURCE_DIR [DOCUMENT...]     (default: every docs/*.md)

A document is followed from its first line to its last in an empty folder:

- a fenced block with a title, ```python title="kernel.py", is written to that file;
- in a ```console block each line that starts with "$ " is run by bash (a line that ends in a
  backslash goes on in the next), and the lines up to the next command are what it must print,
  standard output and standard error together. "..." stands for any text; alone on a line, for
  any lines. `echo $?` sees the status of the command before it.

A console block that starts with "# not run: REASON" is left out, and the reason is printed. So is
one that starts with "# needs: COMMAND" where bash fails at COMMAND.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\S*)(.*)$")
NEEDS = "# needs: "
TITLE = re.compile(r'title="([^"]+)"')


def blocks(text):
    """(language, title, line number, lines) of each fenced block."""
    found, current = [], None
    for number, line in enumerate(text.split("\n"), start=1):
        fence = FENCE.match(line)
        if current is None and fence:
            title = TITLE.search(fence.group(2))
            current = (fence.group(1), title.group(1) if title else None, number, [])
        elif current is not None and line == "```":
            found.append(current)
            current = None
        elif current is not None:
            current[3].append(line)
    if current is not None:
        raise ValueError(f"line {current[2]}: the block is not closed")
    return found


def commands(lines):
    """(command, expected lines) of each command of a console block."""
    found = []
    goes_on = False
    for line in lines:
        if goes_on:
            found[-1][0].append(line)
        elif line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise ValueError(f"a console block starts with its first command, not with {line!r}")
        else:
            found[-1][1].append(line)
            continue
        goes_on = line.endswith("\\")
    return [("\n".join(command), expected) for command, expected in found]


def pattern_of(expected):
    """A regular expression for what a command must print."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n")
    return "".join(parts)


def holds(command, environment):
    return subprocess.run(["bash", "-c", command], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=300, check=False).returncode == 0


def run_document(path, environment, given=None):
    """The failures, in words, and the number of commands that were run; in the folder `given`, or in one
    that is taken away again."""
    failures, count, status = [], 0, 0
    with contextlib.ExitStack() as stack:
        folder = given or stack.enter_context(tempfile.TemporaryDirectory(prefix="gqaverify-docs-"))
        for language, title, number, lines in blocks(path.read_text(encoding="utf-8")):
            if title is not None:
                file = pathlib.Path(folder, title)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            if language != "console":
                continue
            if lines and lines[0].startswith("# not run: "):
                print(f"{path.name}:{number}: {lines[0][2:]}")
                continue
            if lines and lines[0].startswith(NEEDS):
                needed = lines.pop(0)[len(NEEDS):]
                if not holds(needed, environment):
                    print(f"{path.name}:{number}: not run: needs {needed}")
                    continue
            for command, expected in commands(lines):
                # The status before, for `echo $?`.
                script = f"(exit {status})\n{command}\n"
                done = subprocess.run(
                    ["bash", "-c", script], cwd=folder, env=environment, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
                status = done.returncode
                count += 1
                printed = done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"
                if not re.fullmatch(pattern_of(expected), printed):
                    wanted = "\n".join(expected)
                    failures.append(f"{path.name}:{number}: $ {command}\n--- printed (status {status})\n"
                                    f"{printed}--- documented\n{wanted}\n---")
    return failures, count


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    source = pathlib.Path(sys.argv[2]).resolve()
    documents = [pathlib.Path(name) for name in sys.argv[3:]] or sorted((source / "docs").glob("*.md"))
    # The interpreter that the documents' commands find is the one that runs this.
    folders = [program.parent, pathlib.Path(sys.executable).parent, os.environ["PATH"]]
    environment = dict(os.environ, PATH=":".join(map(str, folders)), GQAVERIFY_SOURCE=str(source),
                       LC_ALL="C.UTF-8")
    failures, count = [], 0
    for path in documents:
        found, number = run_document(path, environment)
        failures += found
        count += number
    for failure in failures:
        print(failure)
    print(f"{count} commands of {len(documents)} documents, {len(failures)} failures")
    # A documentation without a command would pass without having been tried.
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
