#!/usr/bin/env python3
"""Every citation leads to a place that a reader has, and no count in prose goes unchecked.

usage: citations_test.py PROJECT_DIR
Exit status: 0 all is well, 1 not (one line per breach), 64 wrong usage.

In comments, docstrings, documents and the texts that the program prints:

- a cited document is there, and so is its section: docs/theory.md, "Ranks";
- a link of a document leads to a file of the project, and to a heading of it;
- a source file that is named exists, or is known as another project's;
- nothing cites by a name that only the author knew (a numbered fault, a design paper's word);
- documents and help texts count nothing that grows (faults, probes, claims, ...): a number is
  printed by a command that a test runs, or is a dated measurement.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Files of other projects that comments and documents name, with whose they are.
FOREIGN = {
    "arb.h": "FLINT",
    "dlpack.h": "DLPack",
    "flash_attn_interface.py": "FlashAttention",
    "foreach_target.h": "Highway",
    "highway.h": "Highway",
    "math-inl.h": "Highway",
    "ggml-common.h": "llama.cpp",
    "llama.cpp": "a project's name",
    "llama2.c": "a project's name",
    "run.c": "llama2.c",
    "op_attention.py": "ONNX",
    "ContribOperators.md": "ONNX Runtime",
    "dynamic.c": "OpenBLAS",
    "version.hpp": "made when building",
    "aten/src/ATen/native/transformers/attention.cpp": "PyTorch",
    "jax/_src/nn/functions.py": "JAX",
    "src/transformers/masking_utils.py": "transformers",
    "configuration_glm4.py": "transformers",
    "configuration_smollm3.py": "transformers",
    "src/llama-hparams.cpp": "llama.cpp",
    "kernel.py": "what an example calls a file of its own",
}

# Words of papers that readers do not have, and of tools that only the authors had.
UNKNOWN_PLACES = re.compile(
    r"\b(THEORY|CONTRACT|PRODUCT|ARCHITECTURE|STATEMENTS|FORWARD_BOUND|GRADIENT_BOUND)\b(?!_)"
    r"|\bcatalogue (number|[A-Z]\d)|\bfaults? [A-Z]\d|\bissue #?\d|shared/(design|faults)")

# What grows: a count of it in prose is out of date one day.
COUNT = (r"(?:[4-9]|\d{2,}|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|"
         r"eigh|nine)teen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?)")
COUNTED = re.compile(
    rf"(?<![\w.%])(?:all )?{COUNT} (?:small |known |named |public )?"
    r"(?:probes|faults|claims|fixtures|dialects|presets|certificates|kinds(?! of (?:kernel|input|operand)))\b",
    re.IGNORECASE)

CITED = re.compile(r"\b((?:docs|fixtures|tests/bench)/[\w/.-]+\.md)(?:, \"([^\"\n]+)\")?")
NAMED = re.compile(r"(?<![\w/.$*<>-])((?:[\w-]+/)*(?:[\w-]+\.)*[\w-]{2,}\.(?:hpp|cpp|h|c|py|sh|mjs|md))\b(?!\()")
# A place for a name: FORMAT_test.cpp, faults/FAMILY.cpp.
PLACEHOLDER = re.compile(r"\b(?:[A-Z]{2,}_?\w*|\w+_[A-Z]{2,})\.\w+$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

CODE = (".hpp", ".cpp", ".h", ".c", ".mjs")
SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt")


def tracked(root):
    done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                          cwd=root, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return [name for name in done.stdout.split("\0") if name and (root / name).exists()]
    return [str(path.relative_to(root)) for path in sorted(root.rglob("*"))
            if path.is_file() and "build" not in path.relative_to(root).parts]


def prose_of_code(text):
    """Comments, each as one line of words, and the strings, which readers may see."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/', re.DOTALL)
    for match in token.finditer(text):
        words = re.sub(r"\n?[ \t]*(?:///?<?|/\*|\*/|^[ \t]*\*)", " ", match[0], flags=re.MULTILINE)
        yield text.count("\n", 0, match.start()) + 1, re.sub(r"\s+", " ", words)


def prose_of_script(text):
    token = re.compile(r'"""(.*?)"""|(?:^|(?<=\s))#[^\n]*(?:\n[ \t]*#[^\n]*)*', re.DOTALL | re.MULTILINE)
    for match in token.finditer(text):
        words = re.sub(r"\n[ \t]*#", " ", match[0])
        yield text.count("\n", 0, match.start()) + 1, re.sub(r"\s+", " ", words)


def prose_of_document(text):
    """Paragraphs; fenced blocks stay out."""
    bare = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    for match in re.finditer(r"(?:[^\n]+\n?)+", bare):
        yield bare.count("\n", 0, match.start()) + 1, re.sub(r"\s+", " ", match[0])


def prose_of(name, text):
    if name.endswith(".md"):
        return prose_of_document(text)
    if name.endswith(CODE):
        return prose_of_code(text)
    return prose_of_script(text)


def headings(path):
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    return [re.sub(r"[`*]", "", heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Project:
    def __init__(self, root):
        self.root = root
        self.files = tracked(root)
        self.by_name = {}
        for name in self.files:
            self.by_name.setdefault(Path(name).name, []).append(name)

    def has(self, named):
        return any(f"/{name}".endswith(f"/{named}") for name in self.by_name.get(Path(named).name, []))

    def breaches_of_words(self, name, words, made_here):
        for place, section in CITED.findall(words):
            if not (self.root / place).exists():
                continue  # named below
            if section and section not in headings(self.root / place):
                yield f'{place} has no section "{section}"'
        for named in NAMED.findall(words):
            known = named in FOREIGN or Path(named).name in FOREIGN or named in made_here or PLACEHOLDER.search(named)
            if not known and not self.has(named):
                yield f"{named} is named and does not exist"
        match = UNKNOWN_PLACES.search(words)
        if match:
            yield f'"{match[0]}" is no place that a reader has'

    def breaches_of_links(self, name, text):
        for target in LINK.findall(FENCED.sub("", text)):
            if re.match(r"[a-z]+:", target):
                continue
            place, _, section = target.partition("#")
            path = (self.root / name).parent / place if place else self.root / name
            if not path.exists():
                yield f"the link {target} leads nowhere"
            elif section and section not in map(anchor, headings(path)):
                yield f"the link {target} leads to no heading"

    def breaches(self, name):
        text = (self.root / name).read_text(encoding="utf-8")
        made_here = set()  # files that a document's own blocks write
        if name.endswith(".md"):
            made_here = set(re.findall(r'title="([^"]+)"', text))
            yield from self.breaches_of_links(name, text)
        for line, words in prose_of(name, text):
            for breach in self.breaches_of_words(name, words, made_here):
                yield f"line {line}: {breach}"
            if counts_matter(name):
                for match in COUNTED.finditer(words):
                    if "measured" in words[max(0, match.start() - 120):match.end() + 120]:
                        continue
                    yield f'line {line}: "{match[0]}" is a count that nothing checks'


def counts_matter(name):
    """Tests name the counts that they check, and RESULTS.md is measurements with their dates."""
    return not name.startswith("tests/") and not name.startswith("fixtures/")


def read(name):
    """Is it read by this test? Itself not, since it holds what it forbids; nor data."""
    return (name.endswith((".md", *CODE, *SCRIPTS)) and not name.startswith("fixtures/exact/")
            and Path(name).name not in ("citations_test.py", "include_direction_test.py"))


def self_check():
    """A test that finds nothing must be shown to be able to find something."""
    files = {
        "docs/theory.md": "# The theory\n\n## Ranks, and more\n\nSee [there](#ranks-and-more).\n",
        "a.hpp": '// docs/theory.md,\n// "Ranks, and more"; a.hpp, llama2.c.\n',
        "bad1.hpp": "// Source: THEORY 3.1.\n",
        "bad2.hpp": '/// As docs/theory.md, "Pooling",\n/// says.\n',
        "bad3.hpp": "// Derived in nowhere.hpp.\n",
        "bad10.hpp": "// docs/gone.md\n",
        "bad4.md": "[gone](docs/theory.md#gone)\n",
        "bad5.md": "[gone](build/gone)\n",
        "bad6.md": "It puts 48 small\nprobes before it.\n",
        "bad7.cpp": 'auto help = "the smallest of seventy-one faults";\n',
        "bad8.py": "# fault T6\n",
        "bad9.cpp": 'auto text = "scale.missing (catalogue S1)";\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        project = Project(Path(folder))
        for name in files:
            found = list(project.breaches(name))
            if len(found) != (1 if name.startswith("bad") else 0):
                yield f"self-check: {name}: {found}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 64
    project = Project(Path(arguments[0]).resolve())
    names = [name for name in project.files if read(name)]
    found = list(self_check())
    for name in names:
        found += [f"{name}: {breach}" for breach in project.breaches(name)]
    for breach in found:
        print(breach)
    print(f"{len(names)} files were read: {len(found)} breaches")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
