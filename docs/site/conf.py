"""Sphinx: the site of the documentation, see build.sh."""

import os
import re
import sys
from pathlib import Path

root = os.environ["GQAVERIFY_SITE_SOURCE"]
sys.path.insert(0, os.path.join(root, "python"))

project = "gqaverify"
author = "the authors of gqaverify"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
language = "en"
exclude_patterns = []

# Headings of every level can be linked, by the same names that GitHub gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

# The reference of the module is read from its sources, without what it is compiled with.
autodoc_mock_imports = ["gqaverify._core", "numpy", "pytest", "hypothesis", "torch", "ml_dtypes"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_title = "gqaverify"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "native"
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}


def as_text(lines):
    """A docstring is plain text, no reStructuredText: paragraphs, and lines that keep their places."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    made = []
    for paragraph in paragraphs:
        rows = paragraph.split("\n")
        if all(row.startswith(" ") for row in rows):  # code
            made += ["::", "", *("    " + row for row in rows), ""]
            continue
        words = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", "\n".join(rows))
        parts = re.split(r"(``[^`]+``)", words)
        parts[::2] = [re.sub(r"([\\*|_])", r"\\\1", part) for part in parts[::2]]
        rows = "".join(parts).split("\n")
        if any(row.startswith(" ") for row in rows):  # a list of terms, each on a line
            rows = ["| " + row if not row.startswith(" ") else "  " + row.strip() for row in rows]
        made += [*rows, ""]
    return made


def complete_theme(app, error):
    """What Debian's package of the theme leaves out: its script is no module, yet imports one; its
    style imports one by an address of a web server; and nothing follows the system's dark scheme."""
    static = Path(app.outdir) / "_static"
    script, style = static / "scripts/furo.js", static / "styles/furo.css"
    if error is not None or not script.exists():
        return
    first = 'import Gumshoe from "./gumshoe-patched.js";'
    text = script.read_text(encoding="utf-8")
    if text.startswith(first):
        library = (static / "scripts/gumshoe-patched.js").read_text(encoding="utf-8")
        script.write_text(library + text[len(first):], encoding="utf-8")
    text = style.read_text(encoding="utf-8")
    imported = re.match(r"@import url\((/javascript/[\w./-]+)\);", text)
    if imported:
        base = Path("/usr/share") / imported.group(1).lstrip("/")
        text = (base.read_text(encoding="utf-8") if base.exists() else "") + text[imported.end():]
    dark = re.search(r'body\[data-theme="dark"\] \{([^}]*)\}', text)
    if dark and "prefers-color-scheme" not in text:
        text += ("\n@media not print { @media (prefers-color-scheme: dark) "
                 '{ body:not([data-theme="light"]) {' + dark.group(1) + "} } }\n")
    style.write_text(text, encoding="utf-8")


def setup(app):
    def process(app, what, name, object_, options, lines):
        lines[:] = as_text(lines)

    app.connect("autodoc-process-docstring", process)
    app.connect("build-finished", complete_theme)
