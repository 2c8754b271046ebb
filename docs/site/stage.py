#!/usr/bin/env python3
"""Lays out the sources of the site: every document that a reader comes to, and what it links to.

usage: stage.py PROJECT_DIR OUTPUT_DIR

Documents keep their places in the project, so that their links stay as they are. A link to a file
that is no document gives that file to download; a link to a folder of sources becomes its name.
"""

import re
import shutil
import sys
from pathlib import Path

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
# Pages of the site itself, laid beside the project's own.
OWN = ("index.md", "python.md", "cpp.md")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def listed(root):
    """The pages in the site's contents, in their order."""
    text = (root / "docs/site/index.md.in").read_text(encoding="utf-8")
    lines = [line for tree in TOCTREE.findall(text) for line in tree.splitlines()]
    return [re.sub(r"^.*<(.*)>$", r"\1", line) for line in lines if line and not line.startswith(":")]


def target_of(root, document, address):
    """The file of the project that a link leads to, or None where it leads elsewhere."""
    path = address.partition("#")[0]
    if re.match(r"[a-z]+:", address) or not path:
        return None
    target = (root / document).parent.joinpath(path).resolve()
    if not target.is_relative_to(root) or not target.exists():
        raise SystemExit(f"{document}: the link {address} leads nowhere")
    return target


def staged(root, document, seen):
    """The document's text as the site has it; adds what it leads to to `seen`."""

    def link(match):
        image, words, address = match.groups()
        target = target_of(root, document, address)
        if target is None:
            return match.group(0)
        if target.is_dir():
            readme = target / "README.md"
            if not readme.exists():
                return f"`{target.relative_to(root)}`" if words.strip("`") == words else words
            target, address = readme, address.rstrip("/") + "/README.md"
        seen.setdefault(target.relative_to(root))
        return f"{image}[{words}]({address})"

    text = (root / document).read_text(encoding="utf-8")
    parts = FENCED.split(text)
    for i, part in enumerate(parts):
        if not part.startswith("```"):
            parts[i] = LINK.sub(link, part)
    # A title of a block is for the test that runs it; here it is the name of the file.
    return re.sub(r'^```(\w+) title="([^"]+)"$', r"`\2`:\n\n```\1", "".join(parts), flags=re.MULTILINE)


def main():
    root, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    site = Path("docs/site")
    seen = dict.fromkeys(path.relative_to(root) for path in sorted((root / "docs").glob("*.md")))
    for name in OWN:
        output.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / site / f"{name}.in", output / name)
    contents = listed(root)
    done = set()
    while len(done) < len(seen):
        for document in [path for path in seen if path not in done]:
            done.add(document)
            place = output / document
            place.parent.mkdir(parents=True, exist_ok=True)
            if document.suffix == ".md":
                # What others only link to is in no table of contents.
                head = "" if str(document) in contents else "---\norphan: true\n---\n\n"
                place.write_text(head + staged(root, document, seen), encoding="utf-8")
            else:
                shutil.copyfile(root / document, place)
        for extra in ("README.md", "CONTRIBUTING.md"):
            seen.setdefault(Path(extra))


if __name__ == "__main__":
    main()
