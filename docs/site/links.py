#!/usr/bin/env python3
"""Follows every link of a folder of pages that stays within it.

usage: links.py DIR
Exit status: 0 every one leads to a file and, where it says so, to a place in it; 1 not (a line each).
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        for name in ("id", "name"):
            if attributes.get(name):
                self.places.add(attributes[name])
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])


def broken(folder):
    """[(page, link, what is wrong)]; the number of links that were followed."""
    pages = {path: Page(path.read_text(encoding="utf-8", errors="replace"))
             for path in sorted(folder.rglob("*.html"))}
    found, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("javascript"):
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append((path, link, "no such file"))
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                # Doxygen's own scripts make the places of its indexes.
                if "cpp" not in path.relative_to(folder).parts:
                    found.append((path, link, "no such place in it"))
    return found, count


def main():
    folder = Path(sys.argv[1]).resolve()
    found, count = broken(folder)
    for path, link, why in found:
        print(f"{path.relative_to(folder)}: {link}: {why}")
    print(f"{count} links, {len(found)} lead nowhere")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
