#!/usr/bin/env python3
"""The site is whole: every page is in its contents, and every link and place in them is there.

usage: site_test.py PROJECT_DIR [PROGRAM]
Exit status: 0 all is well, 1 not (one line per breach), 77 PROGRAM is given and the packages that make the
site are not installed, 64 wrong usage.

Without PROGRAM the site's sources are looked at, which needs no package. With it the site is made by
docs/site/build.sh, which follows every link of its pages, and its search is asked.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SKIPPED = 77


def places_of(text):
    """The names that GitHub and MyST give to a document's headings."""
    headings = re.findall(r"^#+ +(.*)$", FENCED.sub("", text), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def breaches(root):
    """What is wrong with the site's sources, a sentence each, and the number of links."""
    sys.path.insert(0, str(root / "docs/site"))
    import stage  # of this project

    found, count = [], 0
    with tempfile.TemporaryDirectory(prefix="gqaverify-site-") as folder:
        pages = Path(folder) / "pages"
        command = [sys.executable, str(root / "docs/site/stage.py"), str(root), str(pages)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [done.stderr.strip()], 0
        contents = stage.listed(root)
        for page in contents:
            if not (pages / page).is_file():
                found.append(f"the contents name {page}, which is not there")
        for page in sorted((root / "docs").glob("*.md")):
            if f"docs/{page.name}" not in contents:
                found.append(f"docs/{page.name} is not in the contents of docs/site/index.md.in")
        for page in sorted(pages.rglob("*.md")):
            text = page.read_text(encoding="utf-8")
            for address in LINK.findall(FENCED.sub("", text)):
                if re.match(r"[a-z]+:", address):
                    continue
                count += 1
                path, _, place = address.partition("#")
                target = page.parent / path if path else page
                name = f"{page.relative_to(pages)}: {address}"
                if not target.exists():
                    found.append(f"{name} leads nowhere")
                elif place and place not in places_of(target.read_text(encoding="utf-8")):
                    found.append(f"{name}: no heading of that name")
    return found, count


def breaches_in_a_browser(root, site):
    """Pages that complain or scroll sideways, as wide and as narrow screens show them; none without a
    Chromium."""
    sys.path.insert(0, str(root / "tests/cli"))
    import browser  # of this project

    if browser.find_browser() is None:
        print("no Chromium: the site's pages were not opened")
        return []
    found = []
    shown = browser.Browser()
    try:
        for page in [site / "index.html", *sorted((site / "docs").glob("*.html")), site / "python.html"]:
            for width, scheme in ((1200, "light"), (375, "dark")):
                shown.open(page, width=width, scheme=scheme)
                name = f"{page.relative_to(site)} at {width}, {scheme}"
                found += [f"{name}: {str(said)[:300]}" for said in shown.complaints()]
                if shown.evaluate("document.documentElement.scrollWidth") > width:
                    found.append(f"{name} scrolls sideways")
                ground = shown.evaluate("getComputedStyle(document.body).backgroundColor")
                is_dark = sum(map(int, re.findall(r"\d+", ground)[:3])) < 200
                if is_dark != (scheme == "dark"):
                    found.append(f"{name}: the ground is {ground}")
        # The index of the search is a script of the site's own, which a file's page may load.
        shown.open(site / "search.html")
        query = "Search.performSearch('softcap'); document.querySelector('#search-results') !== null"
        if not shown.evaluate(query):
            found.append("the search does not start")
    finally:
        shown.close()
    return found


def breaches_of_the_site(root, program):
    with tempfile.TemporaryDirectory(prefix="gqaverify-site-") as folder:
        site = Path(folder) / "site"
        command = [str(root / "docs/site/build.sh"), "--program", str(program), str(site)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        print(done.stdout + done.stderr, end="")
        if done.returncode != 0:
            return SKIPPED if done.returncode == SKIPPED else ["the site could not be made"]
        found = []
        # What a reader would look for, and where it must be found.
        index = (site / "searchindex.js").read_text(encoding="utf-8")
        for word in ("softcap", "certif", "recheck"):
            if not re.search(rf'\b"?{word}\w*"?:', index):
                found.append(f"the search does not know {word}")
        for page, words in {
            "docs/gallery.html": "../gallery/fail.html",
            "gallery/fail.html": "head_map.",
            "python.html": "gqaverify.assert_attention",
            "cpp/files.html": "audit.hpp",
        }.items():
            if not (site / page).is_file() or words not in (site / page).read_text(encoding="utf-8"):
                found.append(f"{page} does not show {words}")
        return found + breaches_in_a_browser(root, site)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 64
    root = Path(sys.argv[1]).resolve()
    found, count = breaches(root)
    if len(sys.argv) == 3 and not found:
        found = breaches_of_the_site(root, Path(sys.argv[2]).resolve())
        if found == SKIPPED:
            return SKIPPED
    for breach in found:
        print(breach)
    print(f"{count} links of the site's sources, {len(found)} breaches")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
