#!/usr/bin/env python3
"""Enforces which folder may include which, and what the library may never do.

usage: include_direction_test.py PROJECT_DIR
Exit status: 0 all rules hold, 1 not (one line per breach), 64 wrong usage.
"""

import re
import sys
from pathlib import Path

# What each folder of src/gqa may include besides itself and the headers beside the folders
# (error.hpp, version.hpp). A folder that is not listed here is a breach: decide, then list it.
MAY_INCLUDE = {
    "num": set(),
    "attention": {"num"},
    "kernel": {"num", "attention"},
    "io": {"num", "attention"},
    "audit": {"num", "attention", "kernel"},
    "exact": {"num", "attention", "io"},
    "theory": {"num", "attention", "exact", "io"},
    "diagnose": {"num", "attention", "audit", "kernel"},
    "report": {"num", "attention", "audit", "exact", "theory", "diagnose", "io"},
}

# The rooms of large folders, lowest first: a file may include those of its own room and of rooms
# before it. "" are the files beside the rooms. A room that is not listed here is a breach.
ROOMS = {
    "audit": ["models", "decide", "work", "enclose", "filter", "outputs", "gradients", ""],
    "diagnose": ["evaluate", "faults", "explain", "measure", "local", "", "tensors", "probes", "arithmetic", "identify",
                 "cases"],
}

# A library reports by value and by exception; only the program writes and ends.
FORBIDDEN = {
    r"std::c(out|err|log)\b": "writes to a stream",
    r"#\s*include\s*<iostream>": "includes <iostream>",
    r"\b(f|v|vf)?printf\s*\(": "prints",
    r"\bputs\s*\(": "prints",
    r"\bfmt::print(ln)?\s*\(": "prints",
    r"\b(std::)?(_Exit|quick_exit|exit|abort|terminate)\s*\(": "ends the process",
    r"\bassert\s*\(": "ends the process",
    r"\bfesetround\s*\(": "changes the rounding mode",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def without_comments(text):
    """Comments become spaces; strings stay, so that // inside one is kept."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
    blank = lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0]
    return pattern.sub(blank, text)


def without_strings(text):
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def sources(folder):
    return sorted(p for suffix in ("*.hpp", "*.cpp", "*.h") for p in folder.rglob(suffix))


def room_of(parts):
    """The room of audit/work/a.hpp is "work"; that of audit/a.hpp is ""."""
    return parts[1] if len(parts) > 2 else ""


def breach_of_rooms(folder, own, included):
    rooms = ROOMS[folder]
    for room in (own, included):
        if room not in rooms:
            return f"room {folder}/{room} is not known to this test"
    if rooms.index(included) > rooms.index(own):
        return f"{folder}/{own} may not include what is in {folder}/{included}"
    return None


def unit_of(path):
    """x.hpp, x.cpp and x.detail.hpp are one unit, x."""
    return str(path.parent / path.name.split(".")[0])


def circles(paths, root):
    """Groups of units that include each other, as lists of names."""
    base = root / "src"
    uses = {}
    for path in paths:
        own = unit_of(path.relative_to(base))
        named = INCLUDE.findall(without_comments(path.read_text(encoding="utf-8")))
        uses.setdefault(own, set()).update(unit_of(Path(n)) for n in named if n.startswith("gqa/"))

    def reachable(start):
        found, open_units = set(), [start]
        while open_units:
            for unit in uses.get(open_units.pop(), ()):
                if unit not in found:
                    found.add(unit)
                    open_units.append(unit)
        return found - {start} if start not in uses.get(start, ()) else found

    below = {unit: reachable(unit) for unit in uses}
    told = set()
    for unit in sorted(uses):
        circle = {unit} | {other for other in below[unit] if unit in below.get(other, ())}
        if len(circle) > 1 and unit not in told:
            told |= circle
            yield sorted(circle)


def breaches_of_library_file(path, root):
    code = without_comments(path.read_text(encoding="utf-8"))
    inside = path.relative_to(root / "src" / "gqa").parts
    folder = inside[0] if len(inside) > 1 else None
    if folder is not None and folder not in MAY_INCLUDE:
        yield f"folder {folder} is not known to this test"
        return
    for include in INCLUDE.findall(code):
        parts = include.split("/")
        if parts[0] != "gqa":
            if include.startswith(".") or (path.parent / include).exists():
                yield f"includes {include}; write it as gqa/..."
            if parts[0] in ("tests", "verifier", "oracle", "support"):
                yield f"includes {include} from outside the library"
            continue
        if len(parts) == 2 or folder is None:
            continue  # a header beside the folders
        if parts[1] != folder and parts[1] not in MAY_INCLUDE[folder]:
            yield f"{folder} may not include {include}"
        if parts[1] == folder and folder in ROOMS:
            breach = breach_of_rooms(folder, room_of(inside), room_of(parts[1:]))
            if breach:
                yield breach
    for pattern, sin in FORBIDDEN.items():
        for match in re.finditer(pattern, without_strings(code)):
            line = code.count("\n", 0, match.start()) + 1
            yield f"line {line} {sin}: {match[0]}"


def breaches_of_oracle_file(path):
    for include in INCLUDE.findall(without_comments(path.read_text(encoding="utf-8"))):
        if include.startswith("gqa/") or include.startswith(".") or "src/" in include:
            yield f"an oracle shares nothing with the library, yet includes {include}"


# What the checkers of witnesses may use: nothing that whoever doubts the library would have to trust.
CHECKER_MODULES = {"json", "math", "sys", "fractions", "types"}


def breaches_of_checker(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for module in re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.MULTILINE):
            if module not in CHECKER_MODULES:
                yield f"a checker needs nothing but {sorted(CHECKER_MODULES)}, yet imports {module}"
        return
    for include in INCLUDE.findall(without_comments(text)):
        if "/" in include or "." in include and include != "gmpxx.h":
            yield f"a checker needs nothing but GMP and the standard library, yet includes {include}"


def self_check(tmp):
    """A test that finds nothing must be shown to be able to find something."""
    bad = {
        "num/a.cpp": ('#include "gqa/attention/tensor.hpp"', "may not include"),
        "attention/a.cpp": ('#include "gqa/io/json.hpp"', "may not include"),
        "io/a.cpp": ('#include "gqa/audit/audit.hpp"', "may not include"),
        "audit/a.cpp": ("void f() { std::abort(); }", "ends the process"),
        "exact/a.cpp": ('void f() { fmt::print("x"); }', "prints"),
        "report/a.cpp": ("void f() { std::cout << 1; }", "writes to a stream"),
        "theory/a.cpp": ("void f() { exit (1); }", "ends the process"),
        "elsewhere/a.cpp": ("", "not known"),
        "audit/work/a.cpp": ('#include "gqa/audit/filter/filter.hpp"', "may not include"),
        "audit/decide/a.cpp": ('#include "gqa/audit/audit.hpp"', "may not include"),
        "diagnose/attic/a.cpp": ('#include "gqa/diagnose/diagnosis.hpp"', "not known"),
    }
    good = {
        "num/b.cpp": '// std::cout, exit(1)\n#include "gqa/error.hpp"\nconst char* s = "printf(";',
        "report/b.cpp": '#include "gqa/io/json.hpp"\nauto s = fmt::format("{}", 1);',
    }
    for name, text in {**{k: v[0] for k, v in bad.items()}, **good}.items():
        path = tmp / "src" / "gqa" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        found = list(breaches_of_library_file(path, tmp))
        if name in bad and not any(bad[name][1] in breach for breach in found):
            yield f"self-check: {name} was not caught"
        if name in good and found:
            yield f"self-check: {name}: {found}"
    for name, text in {"a.py": "import numpy", "b.cpp": '#include "gqa/num/ball.hpp"', "c.cpp": "#include <arb.h>"}.items():
        (tmp / name).write_text(text + "\n", encoding="utf-8")
        if not list(breaches_of_checker(tmp / name)):
            yield f"self-check: the checker {name} was not caught"
    ring = {"num/c.hpp": "num/d.hpp", "num/d.hpp": "num/e.hpp", "num/e.cpp": "num/c.hpp",
            "num/f.cpp": "num/f.hpp", "num/f.hpp": "num/c.hpp"}
    for name, included in ring.items():
        path = tmp / "src" / "gqa" / name
        path.write_text(f'#include "gqa/{included}"\n', encoding="utf-8")
    found = list(circles([tmp / "src" / "gqa" / name for name in ring], tmp))
    if found != [["gqa/num/c", "gqa/num/d", "gqa/num/e"]]:
        yield f"self-check: the circle of three units was seen as {found}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 64
    import tempfile

    root = Path(arguments[0])
    library = sources(root / "src" / "gqa")
    oracles = sources(root / "tests" / "oracle")
    with tempfile.TemporaryDirectory() as tmp:
        found = list(self_check(Path(tmp)))
    for path in library:
        found += [f"{path.relative_to(root)}: {b}" for b in breaches_of_library_file(path, root)]
    found += ["a circle of units: " + ", ".join(circle) for circle in circles(library, root)]
    for path in oracles:
        found += [f"{path.relative_to(root)}: {b}" for b in breaches_of_oracle_file(path)]
    checkers = sorted(path for path in (root / "recheck").iterdir() if path.suffix in (".py", ".cpp"))
    for path in checkers:
        found += [f"{path.relative_to(root)}: {b}" for b in breaches_of_checker(path)]
    for breach in found:
        print(breach)
    if not library or not oracles or len(checkers) != 2:
        print("there was nothing to check")
        return 1
    print(f"{len(library)} library files, {len(oracles)} oracles, {len(checkers)} checkers: {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
