#!/usr/bin/env python3
"""Makes the reports of docs/gallery.md and shows each below the command that makes it.

usage: gallery.py PROJECT_DIR PROGRAM PAGES_DIR OUTPUT_DIR

The document's own commands are run, as the documentation test runs them; each page that they write
goes to OUTPUT_DIR, and the gallery.md of PAGES_DIR shows it. Exit status 1 if a command prints something
else than the document says.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path


def main():
    root, program, pages, output = (Path(word).resolve() for word in sys.argv[1:])
    sys.path.insert(0, str(root / "tests/docs"))
    import docs_test  # of this project

    environment = dict(os.environ, GQAVERIFY_SOURCE=str(root), LC_ALL="C.UTF-8")
    # The interpreter that has NumPy is Debian's, whatever runs this.
    environment["PATH"] = f"{program.parent}:/usr/bin:{environment['PATH']}"
    with tempfile.TemporaryDirectory(prefix="gqaverify-gallery-") as folder:
        failures, _ = docs_test.run_document(root / "docs/gallery.md", environment, Path(folder))
        for failure in failures:
            print(failure, file=sys.stderr)
        if failures:
            raise SystemExit(1)
        output.mkdir(parents=True, exist_ok=True)
        made = sorted(path.name for path in Path(folder).glob("*.html"))
        for name in made:
            shutil.copyfile(Path(folder) / name, output / name)

    page = pages / "docs/gallery.md"
    text = page.read_text(encoding="utf-8")
    for name in made:
        shown = (f'<p><a href="../gallery/{name}">{name} on a page of its own</a></p>\n'
                 f'<iframe src="../gallery/{name}" title="The report {name}" loading="lazy" '
                 'style="width:100%;height:34rem;border:1px solid"></iframe>\n')
        block = re.search(rf"^```console\n(?:(?!^```$).)*--html {re.escape(name)}\b.*?^```$", text,
                          re.MULTILINE | re.DOTALL)
        if block is None:
            raise SystemExit(f"docs/gallery.md: no block makes {name}")
        text = f"{text[:block.end()]}\n\n{shown}{text[block.end():]}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
