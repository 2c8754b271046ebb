"""Pages of --html as the tests read them, standard library only."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"


class Page:
    """A page parsed as XML, which fails on everything that is not well-formed."""

    def __init__(self, text):
        self.source = text
        declaration, _, rest = text.partition("\n")
        assert declaration == "<!DOCTYPE html>", declaration
        self.root = ElementTree.fromstring(rest)

    def all(self, name):
        return [element for element in self.root.iter() if element.tag in (name, SVG + name)]

    def text(self, element=None):
        element = self.root if element is None else element
        return re.sub(r"\s+", " ", "".join(element.itertext()))

    def sections(self):
        """Those that the report is made of; how the page was made is told after them."""
        sections = {element.get("id"): self.text(element) for element in self.all("section")}
        sections.pop("origin", None)
        return sections

    def rows_below(self, caption):
        """Rows of the first table whose caption begins so, a list of texts each, without the head."""
        for table in self.all("table"):
            if self.text(table[0]).startswith(caption):
                rows = [[self.text(cell).strip() for cell in row] for row in table.iter("tr")]
                return rows[1:]
        raise AssertionError(f"no table {caption}")

    def verdict(self):
        return self.text(next(e for e in self.all("p") if e.get("class") == "verdict")).lstrip("✓✗?!")


def digest_of(script):
    """How a content security policy names a script: 'sha256-' and base64 of its digest."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def without_origin(page):
    """The page but for its date and its command."""
    return re.sub(r'<section id="origin".*?</section>', "", page.source, flags=re.DOTALL)


def faults_of(page):
    """What a page of any kind must not have, one sentence each."""
    found = []
    policy = next(
        (e.get("content") for e in page.all("meta") if e.get("http-equiv") == "Content-Security-Policy"), ""
    )
    if not policy.startswith("default-src 'none'") or "unsafe" in policy.partition("script-src")[2]:
        found.append(f"the policy is {policy}")
    identifiers = [e.get("id") for e in page.root.iter() if e.get("id")]
    for name in {name for name in identifiers if identifiers.count(name) > 1}:
        found.append(f"the id {name} is there twice")
    for element in page.root.iter():
        tag = element.tag.removeprefix(SVG)
        if tag == "script" and digest_of(element.text or "") in policy and not element.attrib:
            continue  # the page's own, allowed by its digest
        if tag in ("script", "iframe", "object", "embed", "img", "form", "base"):
            found.append(f"there is a <{tag}>")
        for name, value in element.attrib.items():
            if name.startswith("on"):
                found.append(f"{tag} has a handler {name}")
            if name in ("href", "src") and not value.startswith(("#", "data:,")):
                found.append(f"{tag} refers to {value}")
            if name == "href" and value.startswith("#") and value[1:] not in identifiers:
                found.append(f"the link {value} leads nowhere")
            if name in ("aria-labelledby", "aria-describedby"):
                found += [f"{n} names nothing" for n in value.split() if n not in identifiers]
    for table in page.all("table"):
        if [child.tag for child in table][:1] != ["caption"]:
            found.append("a table has no caption")
    found += ["a <th> has no scope" for th in page.all("th") if th.get("scope") not in ("col", "row")]
    for svg in page.all("svg"):
        children = [child.tag.removeprefix(SVG) for child in svg][:2]
        if svg.get("role") != "img" or children != ["title", "desc"]:
            found.append("a picture is not named and described")
        if not all((child.text or "").strip() for child in list(svg)[:2]):
            found.append("a picture's name or description is empty")
    for name, count in {"main": 1, "header": 1, "footer": 1, "h1": 1, "title": None}.items():
        if count and len(page.all(name)) != count:
            found.append(f"{len(page.all(name))} <{name}>")
    levels = [int(e.tag[1]) for e in page.root.iter() if re.fullmatch(r"h[1-6]", e.tag)]
    for above, below in zip(levels, levels[1:]):
        if below > above + 1:
            found.append(f"a heading of level {below} follows one of level {above}")
    return found
